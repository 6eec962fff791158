"""The notebook's side of the helper process: start it once, ask it, replace it when it dies."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from ..child import Child, Ended, TooSlow
from ..home import triton_cache
from ..limits import not_counted
from ..words import later

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


class WorkerError(RuntimeError):
    """The worker gave no answer. The text says why: it timed out, died, or could not start."""


class Worker:
    """One child process in the mode `interpret`; requests are answered one after another.

    function: answers them there. environment: what differs there besides.
    """

    def __init__(
        self,
        interpret: bool,
        function: str = "tritonbook.seeing.worker:answer",
        **environment: str,
    ):
        self.interpret, self.function = interpret, function
        self._more = environment
        self._child: Child | None = None
        self._owner = 0  # the process that started it; a fork must not share its pipes,
        self._lent = False  # unless it has them alone
        self._log: Any = None
        self._served = 0
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process if there is none; returns at once, it gets ready by itself."""
        mine = self._owner == os.getpid() and self._child is not None and self._child.alive
        if self._lent or mine:
            return
        self.stop()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed in stop)
        try:
            self._child = Child(
                self.function,
                output=self._log,
                folder=Path(tempfile.gettempdir()),
                **self._environment(),
            )
        except OSError as problem:
            raise WorkerError(f"the helper process could not start: {problem}") from problem
        self._owner, self._served = os.getpid(), 0
        atexit.register(self.stop)

    def _environment(self) -> dict[str, str]:
        """What differs from ours."""
        paths = [str(_PACKAGE_PARENT), *(place for place in sys.path if place)]
        found = {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
            "TRITON_INTERPRET": "1" if self.interpret else "0",
            "CUDA_VISIBLE_DEVICES": "",  # compiles for a GPU by name, and uses none
            "TRITONBOOK_PROGRESS": "off",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }
        return found | triton_cache() | self._more

    def take_over(self) -> None:
        """In a copy of the process that started it, and waits: ask the one that is there."""
        if self._child is not None:
            self._owner, self._served, self._lent = os.getpid(), 1, True

    def stop(self) -> None:
        """End the process. The next request starts another."""
        child, self._child, self._lent = self._child, None, False
        if child is not None and self._owner == os.getpid():
            child.close()
            self._log.close()

    def ready(self, seconds: float) -> int:
        """The process's number, once it can be asked. Raises WorkerError."""
        self.start()
        try:
            self._child.wait(seconds)
        except Ended as reason:
            raise self._no_answer(reason) from reason
        return self._child.pid

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The worker's answer to one request. Raises WorkerError; the next call works again."""
        with self._lock, not_counted():
            answer = self._ask(request, timeout)
            if self._served > 1 and _spoilt(answer):
                self.stop()
                answer = self._ask(request, timeout)
        if "crash" in answer:
            raise WorkerError(answer["crash"])
        return answer

    def _ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.start()
        self._served += 1
        try:
            return self._child.ask(request, seconds=timeout)
        except Ended as reason:
            raise self._no_answer(reason) from reason

    def _no_answer(self, reason: Ended) -> WorkerError:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 4000))
        said = self._log.read().decode(errors="replace").strip().splitlines()
        self.stop()
        if isinstance(reason, TooSlow):
            return WorkerError(later(f"the helper process was {reason}"))
        last = said[-1] if said else later("silent")
        return WorkerError(later(f"the helper process died ({reason}): {last}"))


def _spoilt(answer: dict[str, Any]) -> bool:
    """An operator that an earlier request registered cannot be registered again in one process."""
    text = answer.get("crash") or answer.get("error", {}).get("message", "")
    return "regist" in text.lower()


@functools.cache
def worker(interpret: bool) -> Worker:
    """The process-wide worker for compiling (False) or interpreting (True)."""
    return Worker(interpret)
