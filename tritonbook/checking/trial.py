"""One call of the learner's function on guarded inputs, with everything observed."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..port import device
from .cases import Case, TensorSpec
from .diagnose import gap_left
from .guard import Guarded, fresh
from .launches import Watch, watching

# Seconds of a processor's time that a call may take in the interpreter, where a page does not ask
# for a longer limit. On a GPU a call may have a compiler's work to do.
WORK = 5.0


PATIENCE = 3.0  # so many times a limit is waited at most for processes that get no processor


def nobody_waits() -> float:
    return 0.0


# Seconds for which those who work for a call have waited for a processor so far: a limit of time
# does not count them. The grader knows who they are.
waiting: Callable[[], float] = nobody_waits


class CheckTimeout(BaseException):
    """The learner's code ran too long. Not an Exception, so that `except Exception` lets it by."""


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
    began, granted = waiting(), 0.0

    def stop(signum: int, frame: Any) -> None:
        nonlocal granted
        if signum == signal.SIGALRM and not stopped:
            late = min(waiting() - began, PATIENCE * seconds) - granted
            if late > 0.1:
                granted += late
                signal.setitimer(signal.ITIMER_REAL, late, 1.0)
                return
        spent = seconds if signum == signal.SIGALRM else work
        stopped.append(CheckTimeout(f"Stopped after {spent:g} s."))
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
            raise stopped[-1] from error
        raise
    finally:
        for _, timer, _ in timers:
            signal.setitimer(timer, 0)
        for (number, _, _), handler in zip(timers, old, strict=True):
            signal.signal(number, handler)


@contextlib.contextmanager
def captured_stderr() -> Iterator[list[str]]:
    """Collect what Python and C++ code write to stderr: a warning is no reason to lose a point.

    (nbgrader gives no points to a cell that wrote anything to stderr.)
    """
    collected: list[str] = []
    text = io.StringIO()
    with tempfile.TemporaryFile(mode="w+b") as sink:
        try:
            sys.stderr.flush()
            saved = os.dup(2)
            os.dup2(sink.fileno(), 2)
        except OSError:  # stderr is closed: nothing to capture below Python
            saved = None
        try:
            with contextlib.redirect_stderr(text):
                yield collected
        finally:
            if saved is not None:
                os.dup2(saved, 2)
                os.close(saved)
            sink.seek(0)
            below = sink.read(20_000).decode(errors="replace")
            collected.extend(part for part in (text.getvalue()[:20_000], below) if part)


@contextlib.contextmanager
def fence() -> Iterator[Callable[[], list[tuple[str, str]]]]:
    """In the interpreter, keep kernels from memory that is nobody's; yields a call that tells of
    the lanes that went there: (code, sentence) each."""
    if not device.INTERPRET:
        yield list
        return
    from ..seeing.findings import find
    from ..seeing.meter import fenced

    with fenced() as seen:
        yield functools.partial(find, seen)


@dataclass
class Trial:
    """What one call did. `inputs` keep their margins; `result` is what the function returned."""

    case: Case
    draw: int
    fill: str
    values: dict[str, torch.Tensor]  # pristine, on the CPU
    inputs: dict[str, Guarded]
    watch: Watch
    plain: dict[str, Any] = field(default_factory=dict)  # the other arguments
    result: Any = None
    error: BaseException | None = None
    stderr: str = ""


def run_trial(
    fn: Any,
    case: Case,
    values: dict[str, torch.Tensor],
    *,
    draw: int = 0,
    fill: str = "nan",
    large: bool = False,
    mode: str = "record",
    allow: Sequence[str] = (),
    timeout: float = 60.0,
    reuse: dict[str, Guarded] | None = None,
) -> Trial:
    """Call `fn` once on copies of `values`, which are those of `draw`, margins filled with `fill`.

    large: fresh memory holds large numbers, not NaN.
    reuse: put the new values at the addresses of an earlier trial's inputs, so that a result
    remembered by address is stale.
    """
    inputs: dict[str, Guarded] = {}
    for name, spec in case.specs().items():
        if reuse and name in reuse:
            inputs[name] = reuse[name]
            inputs[name].rewrite(values[name], fill)
        else:
            inputs[name] = Guarded.place(name, values[name], spec.layout, device.DEVICE, fill)
    plain = {n: fresh(v) for n, v in case.arguments.items() if not isinstance(v, TensorSpec)}
    arguments = [inputs[n].view if n in inputs else plain[n] for n in case.arguments]
    with captured_stderr() as noise, watching(allow, mode, large) as watch:
        trial = Trial(case, draw, fill, values, inputs, watch, plain)
        if not device.INTERPRET:  # there an open gap between barriers waits for ever
            watch.forbids = lambda kernel: bool(gap_left([kernel]))
        try:
            with time_limit(timeout, WORK * max(1.0, timeout / 20) if device.INTERPRET else 0.0):
                trial.result = fn(*arguments, **case.options)
                if not device.INTERPRET:
                    torch.cuda.synchronize()
        except (Exception, CheckTimeout, SystemExit) as error:
            trial.error = error
    trial.stderr = "".join(noise)
    return trial
