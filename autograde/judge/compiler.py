"""An exercise's compiler: a process behind walls, forked from one that has all loaded (`ahead`).

A kernel can be written so that the compiler works on it for hours. It gets so much of the
processor's time and no more: that is the kernel's own, however busy the machine is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing.util
import select
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tritonbook.words import later

from ..walls import sandbox
from ..walls.wire import Line, PeerGone, PeerSlow, WireError
from .watch import cpu_seconds, family

SECONDS = 40.0  # of the processor's time, for all kernels of one request
WAIT_SECONDS = 1800.0  # for the processor, and for torch on a disk that others use
TAKE_SECONDS = 60.0  # for a message that has begun to come
POLL_SECONDS = 0.25
MOST_KEPT = 1 << 16  # characters of one answer
_NO_MEMORY = ("bad_alloc", "out of memory", "allocate memory")  # the last words of a process


class Busy(Exception):
    """The compiler came to no answer, and the kernel is not the reason: one sentence."""


def place() -> str:
    """Where a process is to be had: of this driver's own, in a folder that is nobody else's."""
    return f"{multiprocessing.util.get_temp_dir()}/compiler"


class Compiler:
    """Starts its process when it is first asked, and anew where that has ended.

    kept: answers to whole requests, shared by a class. Only those are kept that let a kernel by and
    that a process gave which had met nothing else: what a student wrote decides about itself alone.
    """

    def __init__(
        self,
        seconds: float = SECONDS,
        wait: float = WAIT_SECONDS,
        kept: dict[bytes, str] | None = None,
    ):
        self.seconds, self.wait = seconds, wait
        self._kept = {} if kept is None else kept
        self._line: Line | None = None
        self._process: psutil.Process | None = None
        self._room: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process and self._process.is_running():  # its number is no other's by now
            for each in family(self._process.pid):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        if self._line:
            self._line.close()
        if self._room:
            self._room.cleanup()
        self._line = self._process = self._room = None

    def ask(
        self, request: dict[str, Any], wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """The worker's answer; {"too_long": seconds} for a kernel that does not get done,
        {"too_large": True} for one that takes too much memory, and {"unanswered": why} where this
        machine cannot compile.

        wanted: whether somebody still waits for it. Raises Busy.
        """
        key = hashlib.sha256(json.dumps(request).encode()).digest()
        if key in self._kept:
            return json.loads(self._kept[key])
        new = self._line is None
        answer = self._asked(request, wanted)
        if new and answer.keys() == {"kernels"}:
            text = json.dumps(answer)
            if len(text) < MOST_KEPT:
                self._kept[key] = text
        return answer

    def _asked(self, request: dict[str, Any], wanted: Callable[[], bool]) -> dict[str, Any]:
        end = time.monotonic() + self.wait
        for _ in range(2):
            try:
                line = self._line or self._begun(wanted, end)
                line.send(request, (), TAKE_SECONDS)
                answer = self._next(line, wanted, end)
            except (PeerGone, PeerSlow, WireError, psutil.NoSuchProcess):
                answer = {"too_large": True} if self._was_short_of_memory() else {}
            except BaseException:
                self.__exit__()
                raise
            if "crash" in answer:  # an error of its own, not of the kernel's
                return {
                    "unanswered": later(
                        f"The compiler failed ({answer['crash']}): see `tritonbook doctor`, then "
                        "run `autograde retry`."
                    )
                }
            if answer:
                return answer
        raise Busy(
            later(
                "The compiler's process ended twice while it worked on this kernel: is memory "
                "short? Run `autograde retry` with fewer --workers."
            )
        )

    def _begun(self, wanted: Callable[[], bool], end: float) -> Line:
        """A process, and the line to it."""
        self._room = tempfile.TemporaryDirectory(prefix="compiler-", ignore_cleanup_errors=True)
        Path(self._room.name).chmod(0o755)
        door = socket.socket(socket.AF_UNIX)
        self._line = line = Line(door)
        while True:
            try:
                door.connect(place())
                break
            except OSError as problem:  # it is not there yet, where torch is still loaded
                late = time.monotonic() > end or not wanted()
                if late or not isinstance(problem, FileNotFoundError):
                    raise Busy(
                        later(
                            f"The compiler does not run ({problem}): see `tritonbook doctor`, then "
                            "run `autograde retry`."
                        )
                    ) from None
            time.sleep(POLL_SECONDS)
        line.send({"room": self._room.name, "walls": sandbox.works("namespaces")}, (), TAKE_SECONDS)
        self._process = psutil.Process(self._next(line, wanted, end)["process"])
        return line

    def _next(self, line: Line, wanted: Callable[[], bool], end: float) -> dict[str, Any]:
        """The next message; {"too_long": seconds} and no process any more. Raises Busy."""
        process = self._process.pid if self._process else None
        before = cpu_seconds(process) if process else 0.0
        while not select.select([line.socket], [], [], POLL_SECONDS)[0]:
            if process and cpu_seconds(process) - before > self.seconds:
                self.__exit__()
                return {"too_long": self.seconds}
            if not wanted() or time.monotonic() > end:
                raise Busy(
                    later(
                        f"The compiler had no answer within {self.wait:g} s: run `autograde retry` "
                        "with fewer --workers."
                    )
                )
        return line.receive(TAKE_SECONDS).body

    def _was_short_of_memory(self) -> bool:
        """By the last words of a process that ended."""
        said = Path(self._room.name, "said") if self._room else Path()
        words = said.read_bytes()[-4000:].decode(errors="replace") if said.is_file() else ""
        self.__exit__()
        return any(word in words for word in _NO_MEMORY)
