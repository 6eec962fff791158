"""Items on this machine, some at once. `slurm.py` has the other runner, for a cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..judge.execute import Executor, Setting
from ..judge.work import Item, Verdict

# Takes items, yields their verdicts in any order, and cleans up when it is left.
Runner = Callable[[Iterable[Item]], Generator[Verdict, None, None]]


def local_runner(setting: Setting, workers: int) -> Runner:
    """Runs items on this machine, `workers` at a time. Each thread only waits for processes."""
    executor = Executor(setting)

    def run(items: Iterable[Item]) -> Generator[Verdict, None, None]:
        """Verdicts as they come. Left early, running items are stopped and have none."""
        pool = ThreadPoolExecutor(workers)
        try:
            for done in as_completed([pool.submit(executor.run, item) for item in items]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            executor.close()
            # `multiprocessing` prints a traceback where a thread ends its process as we leave.
            pool.shutdown()

    return run
