"""This machine's compiler process, which all exercises share: one request at a time.

A kernel can be written so that the compiler works on it for hours. It gets so much of the
processor's time and no more: that is the kernel's own, however busy the machine is. Who waits for
the process meanwhile is charged nothing.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil

from tritonbook.seeing.process import Worker, WorkerError

SECONDS = 40.0  # of the processor's time, for all kernels of one request
WAIT_SECONDS = 1800.0  # for the requests of others, and for the processor
POLL_SECONDS = 0.25


class Busy(Exception):
    """The compiler came to no answer, and the kernel is not the reason: one sentence."""


class Compiler:
    """Asks the compiler process, which is started anew when it has ended."""

    def __init__(self, seconds: float = SECONDS, wait: float = WAIT_SECONDS):
        self.seconds, self.wait = seconds, wait
        self._worker = Worker(interpret=False)
        self._free = threading.Lock()

    def ask(
        self, request: dict[str, Any], wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """The worker's answer; {"too_long": seconds} for a kernel that does not get done, and
        {"unanswered": why} where this machine cannot compile.

        wanted: whether somebody still waits for it. Raises Busy.
        """
        deadline = time.monotonic() + self.wait
        while not self._free.acquire(timeout=POLL_SECONDS):
            if not wanted() or time.monotonic() > deadline:
                raise Busy(f"The compiler was not free for {self.wait:g} s.")
        try:
            for _ in range(2):
                answer = self._ask(request, wanted)
                if answer is not None:
                    return answer
        finally:
            self._free.release()
        raise Busy("The compiler's process ended twice while it worked on this kernel.")

    def _ask(self, request: dict[str, Any], wanted: Callable[[], bool]) -> dict[str, Any] | None:
        """None where the process ended, for whatever reason: the next one starts afresh."""
        try:
            process = self._worker.ready(300.0)
        except WorkerError as problem:
            return {"unanswered": f"the compiler does not start: {problem}"}
        done, spent = threading.Event(), threading.Event()
        limit = cpu_seconds(process) + self.seconds

        def watch() -> None:
            while not done.wait(POLL_SECONDS):
                if cpu_seconds(process) > limit:
                    spent.set()
                if spent.is_set() or not wanted():
                    for each in _family(process):
                        with contextlib.suppress(psutil.NoSuchProcess):
                            each.kill()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        began = time.monotonic()
        try:
            return self._worker.ask(request, self.wait)
        except WorkerError as problem:
            if spent.is_set():
                return {"too_long": self.seconds}
            if not wanted() or time.monotonic() - began >= self.wait:
                raise Busy(f"The compiler had no answer within {self.wait:g} s.") from None
            if psutil.pid_exists(process):  # it answered: an error of its own, not of the kernel's
                return {"unanswered": f"the compiler did not answer: {problem}"}
            return None
        finally:
            done.set()
            watcher.join()


@functools.cache
def shared() -> Compiler:
    """The one of this process."""
    return Compiler()


def cpu_seconds(process: int) -> float:
    """Processor time of a process, of its children, and of those that have ended; 0.0: it is gone.

    ptxas, which does part of the work, is a child.
    """
    spent = 0.0
    for each in _family(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def _family(process: int) -> list[psutil.Process]:
    """A process and what it started; nothing: it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process)
        return [*parent.children(recursive=True), parent]
    return []
