"""Items on this machine, some at once. `slurm.py` has the other runner, for a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

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
        try:
            for done in as_completed([pool.submit(self.executor.run, item) for item in items]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        self.executor.close()
