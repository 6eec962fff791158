"""Items on this machine, some at once. `slurm.py` has the other runner, for a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from ..judge.execute import Executor, Setting
from ..judge.work import Item, Verdict


class LocalRunner:
    """Runs items on this machine, `workers` at a time. Each thread only waits for processes."""

    def __init__(self, setting: Setting, workers: int):
        self.executor = Executor(setting)
        self.workers = workers
        self.on_state: Callable[[str], None] = lambda text: None  # nothing to tell of here

    def __call__(self, items: Iterable[Item]) -> Iterator[Verdict]:
        """Verdicts as they come. On an interrupt, running items are stopped and have none."""
        pool = ThreadPoolExecutor(self.workers)
        waiting = iter(items)
        running: set[Future[Verdict]] = set()
        try:
            while True:
                # A few more than run at once: a long list is not handed over before it is needed.
                while len(running) < 2 * self.workers and (item := next(waiting, None)):
                    running.add(pool.submit(self.executor.run, item))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        self.executor.close()
