"""How long the learner's code may run, and at which of its lines it was stopped."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .words import say

# This package, the grader that runs the same checks, and Python's own library; an installed copy is
# in site-packages.
_ROOT = Path(__file__).resolve().parents[1]
_OURS = tuple(
    str(place) + os.sep
    for place in (_ROOT / "tritonbook", _ROOT / "autograde", Path(os.__file__).parent)
)
# Seconds of a processor's time that a call may take in the interpreter, where a page does not ask
# for a longer limit. On a GPU a call may have a compiler's work to do.
WORK = 5.0


PATIENCE = 3.0  # so many times a limit is waited at most for processes that get no processor


def nobody_waits() -> float:
    return 0.0


# Seconds for which those who work for a call have waited for a processor so far: a limit of time
# does not count them. The grader knows who they are.
waiting: Callable[[], float] = nobody_waits
# Seconds of a processor's time that they have had. Who has had twice what a notebook gives a call
# is waited for no longer than the limit says: beside neighbours, an endless loop would cost them
# minutes.
working: Callable[[], float] = nobody_waits


def scheduled(process: int | str) -> tuple[float, float]:
    """For how many seconds a process has had a processor, and has waited for one; "self": this."""
    told = f"/proc/{process}/schedstat"  # read before each message: by the shortest way
    # It is gone; a kernel that does not count.
    with contextlib.suppress(OSError, ValueError, IndexError), open(told, "rb", 0) as file:
        had, waited = file.read(64).split()[:2]
        return int(had) / 1e9, int(waited) / 1e9
    return 0.0, 0.0


class CheckTimeout(BaseException):
    """The learner's code ran too long. Not an Exception, so that `except Exception` lets it by.

    seconds: how long it was let run.
    """

    seconds = 0.0


@contextlib.contextmanager
def time_limit(seconds: float, work: float = 0.0) -> Iterator[None]:
    """Raise CheckTimeout in the block after `seconds`, and again every second after that.

    work: seconds of a processor's time after which it is raised too (0: no such limit): whoever
    spins is stopped soon, and whoever waits for a busy machine is not.
    Works in the main thread only (notebooks, tests); elsewhere the caller has its own limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    stopped: list[CheckTimeout] = []
    began, granted, had = waiting(), 0.0, working()
    enough = 2 * WORK * max(1.0, seconds / 20)

    def stop(signum: int, frame: Any) -> None:
        nonlocal granted
        if signum == signal.SIGALRM and not stopped:
            late = min(waiting() - began, PATIENCE * seconds) - granted
            if late > 0.1 and working() - had < enough:
                step = min(late, 1.0)
                granted += step
                signal.setitimer(signal.ITIMER_REAL, step, 1.0)
                return
        spent = seconds if signum == signal.SIGALRM else work
        stopped.append(CheckTimeout(f"Stopped after {spent:g} s."))
        stopped[-1].seconds = spent
        raise stopped[-1]

    timers = [(signal.SIGALRM, signal.ITIMER_REAL, seconds)]
    if work:
        timers.append((signal.SIGPROF, signal.ITIMER_PROF, work))
    old = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit, 1.0)
    try:
        yield
    except Exception as error:
        if stopped:  # numpy, where it asks for a number, turns what is raised into its own error
            raise stopped[-1].with_traceback(error.__traceback__) from error
        raise
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (number, _, _), handler in zip(timers, old, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def not_counted() -> Iterator[None]:
    """Inside, a limit of time stands still: a compiler works, or another process, and not the
    answer."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)


class Interrupted(KeyboardInterrupt):
    """The learner stopped a check or a picture: one line in a notebook."""

    def _render_traceback_(self) -> list[str]:
        return [say(str(self))]


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """An interrupt inside the block is told in one line."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("Interrupted. What had been found by then is not kept.") from None


def last_lines(error: BaseException) -> str:
    """Where it happened, in the learner's code: library frames and our own are left out. An error
    that comes from another process says it itself, in `where`."""
    if hasattr(error, "where"):
        return str(error.where)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.line  # what Python writes itself, as a dataclass's functions, has none
        and not re.search("site-packages|<frozen", frame.filename)
        and not frame.filename.startswith(_OURS)
    ]
    lines = [f"line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[-2:]]
    return "\n".join(lines)


def last_code(lines: str) -> str:
    """The code in the last of `last_lines`."""
    return lines.splitlines()[-1].partition(": ")[2] if lines else ""


def said_of_timeout(error: CheckTimeout) -> str:
    """One sentence: how long it ran, at which line it was, and what to look for."""
    lines = last_lines(error)
    where = f" It was at `{last_code(lines)}`." if lines else ""
    return (
        f"{error}{where} Does every loop end, in no more steps than there are tiles? And is the "
        "grid small enough?"
    )
