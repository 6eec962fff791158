"""One call of the learner's function on guarded inputs, with everything observed."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..limits import WORK, CheckTimeout, time_limit
from ..port import device
from .cases import Case, TensorSpec
from .diagnose import gap_left
from .guard import Guarded, fresh
from .host_memory import default_device
from .launches import Watch, watching


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


_PRINTED = 20_000  # characters that are kept of what one call prints
_DEBUGGERS = ("pdb", "bdb", "cmd", "IPython")


class _Aside(io.StringIO):
    """Keeps what is printed; what a debugger says goes to `shown`, where it can be answered."""

    def __init__(self, shown: Any):
        super().__init__()
        self.shown = shown

    def write(self, text: str) -> int:
        asks = str(sys._getframe(1).f_globals.get("__name__"))
        if asks.partition(".")[0] in _DEBUGGERS:
            return int(self.shown.write(text))
        return super().write(text) if self.tell() < _PRINTED else len(text)


def printed_aside() -> contextlib.AbstractContextManager[io.StringIO]:
    """Inside, what Python prints is kept: a kernel prints in each program of each call."""
    return contextlib.redirect_stdout(_Aside(sys.stdout))


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
    printed: str = ""


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
    watched = watching(allow, mode, large)
    with captured_stderr() as noise, printed_aside() as printed, watched as watch:
        trial = Trial(case, draw, fill, values, inputs, watch, plain)
        if not device.INTERPRET:  # there an open gap between barriers waits for ever
            watch.forbids = lambda kernel: bool(gap_left([kernel]))
        try:
            with time_limit(timeout, WORK * max(1.0, timeout / 20) if device.INTERPRET else 0.0):
                with default_device():
                    trial.result = fn(*arguments, **case.options)
                if not device.INTERPRET:
                    torch.cuda.synchronize()
        except (Exception, CheckTimeout, SystemExit) as error:
            trial.error = error
    trial.stderr, trial.printed = "".join(noise), printed.getvalue()
    return trial
