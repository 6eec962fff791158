"""This machine's compiler process, which all exercises share: one request at a time.

A kernel can be written so that the compiler works on it for hours. It gets so much of the
processor's time and no more: that is the kernel's own, however busy the machine is. Who waits for
the process meanwhile is charged nothing, and not for long: a request that takes more than its share
keeps the process, and the others get a new one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil

from tritonbook.seeing.process import Worker, WorkerError

from ..walls import sandbox
from .watch import cpu_seconds, family

SECONDS = 40.0  # of the processor's time, for all kernels of one request
SHARED_SECONDS = 8.0  # of them, while others wait
WAIT_SECONDS = 1800.0  # for the requests of others, and for the processor
POLL_SECONDS = 0.25
_NO_MEMORY = ("bad_alloc", "out of memory", "allocate memory")  # the last words of a process


class Busy(Exception):
    """The compiler came to no answer, and the kernel is not the reason: one sentence."""


class Compiler:
    """Asks the compiler process, which is started anew when it has ended."""

    def __init__(
        self,
        seconds: float = SECONDS,
        wait: float = WAIT_SECONDS,
        shared_seconds: float = SHARED_SECONDS,
    ):
        self.seconds, self.wait, self.shared_seconds = seconds, wait, shared_seconds
        self._worker = _Room()
        self._free = threading.Lock()

    def start(self) -> None:
        """Start the process; returns at once. Whoever asks later need not wait for it."""
        if self._free.acquire(blocking=False):
            with contextlib.suppress(WorkerError):  # whoever asks is told
                self._worker.start()
            self._free.release()

    def ask(
        self, request: dict[str, Any], wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """The worker's answer; {"too_long": seconds} for a kernel that does not get done,
        {"too_large": True} for one that takes too much memory, and {"unanswered": why} where this
        machine cannot compile.

        wanted: whether somebody still waits for it. Raises Busy.
        """
        deadline = time.monotonic() + self.wait
        for _ in range(2):
            while not self._free.acquire(timeout=POLL_SECONDS):
                if not wanted() or time.monotonic() > deadline:
                    raise Busy(f"The compiler was not free for {self.wait:g} s.")
            answer = self._ask(request, wanted)
            if answer is not None:
                return answer
        raise Busy("The compiler's process ended twice while it worked on this kernel.")

    def _ask(self, request: dict[str, Any], wanted: Callable[[], bool]) -> dict[str, Any] | None:
        """None where the process ended, for whatever reason: the next one starts afresh. Whoever
        asks has the process, and gives it back here."""
        worker, kept = self._worker, threading.Event()
        try:
            process = worker.ready(300.0)
        except WorkerError as problem:
            self._free.release()
            return {"unanswered": f"the compiler does not start: {problem}"}
        done, spent = threading.Event(), threading.Event()
        before = cpu_seconds(process)

        def watch() -> None:
            while not done.wait(POLL_SECONDS):
                used = cpu_seconds(process) - before
                if used > self.shared_seconds and not kept.is_set():
                    self._worker = _Room()
                    kept.set()
                    self._free.release()
                if used > self.seconds:
                    spent.set()
                if spent.is_set() or not wanted():
                    for each in family(process):
                        with contextlib.suppress(psutil.NoSuchProcess):
                            each.kill()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        began = time.monotonic()
        try:
            return worker.ask(request, self.wait)
        except WorkerError as problem:
            if spent.is_set():
                return {"too_long": self.seconds}
            if not wanted() or time.monotonic() - began >= self.wait:
                raise Busy(f"The compiler had no answer within {self.wait:g} s.") from None
            if any(word in str(problem) for word in _NO_MEMORY):
                return {"too_large": True}
            if psutil.pid_exists(process):  # it answered: an error of its own, not of the kernel's
                return {"unanswered": f"the compiler did not answer: {problem}"}
            return None
        finally:
            done.set()
            watcher.join()
            if kept.is_set():
                worker.stop()
            else:
                self._free.release()


class _Room(Worker):
    """A compiler process behind walls, and the folder of its kernels, which is gone with it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="compiler-", ignore_cleanup_errors=True)
        os.chmod(self._folder.name, 0o755)
        super().__init__(
            False,
            "autograde.walls.compiling:answer",
            AUTOGRADE_ROOM=self._folder.name,
            AUTOGRADE_WALLS="yes" if sandbox.works("namespaces") else "no",
        )


@functools.cache
def shared() -> Compiler:
    """The one of this process."""
    return Compiler()
