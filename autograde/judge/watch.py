"""What the processes of one exercise use together: memory, and the processor's time; and how long
they wait for a processor, which no limit of theirs counts.

Limits of a process hold each by itself, and a student's code may start more. Memory counts that is
resident or swapped out, shared memory included; what a process shares with the one that it was
forked from counts for both.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import psutil

from tritonbook.limits import scheduled

from ..walls.confine import MOST_FILES, Limits

POLL_SECONDS = 0.5
_MEMORY = ("RssAnon:", "RssShmem:", "VmSwap:")
_LISTED = os.path.exists("/proc/thread-self/children")  # not by every kernel


class Watch:
    """While the block runs: ends a submission's processes that use too much together.

    roots: the numbers of the first of them. `found`: "memory", "files" or "time" where it had to.
    `most`: bytes that it saw them use at once; on a GPU, whose driver's maps count, without bound.
    """

    def __init__(self, roots: Iterable[int | None], limits: Limits, gpu: bool):
        self.found, self.most = "", math.inf if gpu else 0
        self._roots = [root for root in roots if root is not None]
        self._limits = limits
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(POLL_SECONDS):
            processes = [each for root in self._roots for each in family(root)]
            self.most = max(self.most, sum(map(_memory, processes)))
            if self._limits.memory < self.most < math.inf:
                self.found = "memory"
            elif any(_files(each.pid) > MOST_FILES for each in processes):
                self.found = "files"
            elif sum(map(_seconds, processes)) > self._limits.wall_seconds:
                self.found = "time"
            if self.found:
                for each in processes:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
                return


class Queue:
    """How long processes have waited for a processor, all together.

    roots: the numbers of the first of them. Of what each has started at the time of `look` the
    eldest counts, and so on: the walls, and what stands behind them. What a student's code starts
    waits for itself.
    """

    def __init__(self, roots: Iterable[int]):
        self._roots, self._processes = list(roots), [os.getpid()]

    def look(self) -> None:
        self._processes = [os.getpid()]
        for root in self._roots:
            line = [root]
            while line:
                self._processes.append(line[0])
                line = children(line[0])

    def seconds(self) -> float:
        return sum(scheduled(each)[1] for each in self._processes)

    def worked(self) -> float:
        """How long they have had a processor, all together."""
        return sum(scheduled(each)[0] for each in self._processes)

    def seconds_now(self) -> float:
        """Of those that there are by now."""
        self.look()
        return self.seconds()


def memory_kills() -> int:
    """How many processes the kernel of this machine has ended because memory was short."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/vmstat").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("oom_kill ")).split()[1])
    return 0


def children(process: int) -> list[int]:
    """The numbers of what a process has started, the eldest first; nothing: it is gone.

    To read of every process on the machine, as psutil does, was a tenth of the grader's work.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        if not _LISTED:
            found = psutil.Process(process).children()
            return [each.pid for each in sorted(found, key=psutil.Process.create_time)]
    found = []
    with contextlib.suppress(OSError):
        for thread in sorted(map(int, os.listdir(f"/proc/{process}/task"))):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                told = Path(f"/proc/{process}/task/{thread}/children").read_text()
                found += map(int, told.split())
    return found


def family(process: int) -> list[psutil.Process]:
    """A process and what it started, itself last; nothing: it is gone."""
    found: list[psutil.Process] = []
    waiting = [process]
    while waiting:
        number = waiting.pop()
        with contextlib.suppress(psutil.NoSuchProcess):
            found.insert(0, psutil.Process(number))
            waiting += children(number)
    return found


def cpu_seconds(process: int) -> float:
    """Processor time of a process, of its children, and of those that have ended; 0.0: it is gone.

    ptxas, which does part of a compiler's work, is a child.
    """
    return sum(map(_seconds, family(process)))


def _seconds(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return times.user + times.system + times.children_user + times.children_system
    return 0.0


def _files(process: int) -> int:
    """How many files lie in the temporary folders that a process has behind its walls; those of
    this machine, where it sees them, are not its own."""
    number = 0
    with contextlib.suppress(OSError):
        for name in ("tmp", "dev/shm"):
            place = f"/proc/{process}/root/{name}"
            if os.stat(place).st_dev != os.stat(f"/{name}").st_dev:
                held = os.statvfs(place)
                number = max(number, held.f_files - held.f_ffree)
    return number


def _memory(process: psutil.Process) -> int:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_MEMORY))
    return 0
