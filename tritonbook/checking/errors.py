"""From an exception in the learner's code to one plain sentence."""

from __future__ import annotations

import contextlib
import linecache
import re
import traceback
from collections.abc import Iterator

from triton import OutOfResources

from ..limits import CheckTimeout, last_code, last_lines, said_of_timeout, time_limit
from ..port.compat import causes
from ..port.device import NO_GPU
from ..port.machine_faults import machines_fault
from ..port.plain_words import (
    out_of,
    own_words,
    said_of_error,
    said_of_lines,
    said_of_module,
)
from ..seeing.compile_errors import explain
from ..simulating.machine import Fault
from .report import Finding

_REFUSED = {
    "NotInAKernel": "does-not-compile",
    "OnTheHost": "raised",
    "TruthOfATile": "truth-of-a-tile",
    "NotOfThisDtype": "does-not-compile",
    "NotInterpreted": "not-interpreted",
}
_STOPPED = (
    (
        "device-side assert",
        "An assertion on the GPU does not hold: a `tl.device_assert`, or an index of PyTorch's is "
        "out of range.",
    ),
    (
        "misaligned address",
        "The GPU stopped the kernel: an address is no multiple of what is loaded or stored there. "
        "Does the kernel promise more than holds (`tl.multiple_of`, `tl.max_contiguous`)?",
    ),
    (
        "illegal memory access|CUDA error",
        "The GPU stopped the kernel: it touched memory that is not there. Check the mask and the "
        "strides.",
    ),
)
# On a GPU a launch compiles: what a tool or a disk refuses there is no fault of the kernel's.
_COMPILING = re.compile(r"triton/(compiler|backends|knobs|runtime/(build|cache|driver))")
# After a cause that is certain.
STOPPED = (
    "The GPU stopped the kernel at it: restart the notebook's kernel, this one can no longer use "
    "the GPU."
)
_RESTART = "Then restart the notebook's kernel: this one can no longer use the GPU."


def _in_which(lines: str) -> str:
    """In which function, where it is another than the one that was called."""
    names = re.findall(r"^line \d+, in (\w+):", lines, re.MULTILINE)
    if len(set(names)) < 2:
        return ""
    return f" (It was in `{names[-1]}`.)"


def _holds_a_blank_gap(filename: str) -> bool:
    """Whether a gap that holds whole functions is as the page left it."""
    text = "".join(linecache.getlines(filename))
    return re.search(r"^# YOUR CODE HERE\n\s*(?=def |\Z)", text, re.MULTILINE) is not None


def explain_error(error: BaseException) -> Finding:
    """One finding for an exception raised while the learner's function ran."""
    if isinstance(error, CheckTimeout):
        return Finding("timeout", said_of_timeout(error), last_lines(error))
    cause = causes(error)[-1]
    text = own_words(cause)
    if isinstance(cause, NotImplementedError) and text[:4] in ("", "TODO"):
        stub = last_code(last_lines(cause)) or text
        said = (
            f"The gap is still open: its line `{stub}` is still there. Put your own in its place."
        )
        return Finding("not-attempted", said)
    if isinstance(cause, Fault):
        name = re.match(r"\w*_\w*|\w+\[[^\]]*\]", text)  # a name stays as it is written
        said = f"`{name[0]}`{text[name.end() :]}" if name else f"{text[0].upper()}{text[1:]}"
        return Finding(cause.kind, f"{said}.")
    # By its name: it may come from another process.
    if code := _REFUSED.get(type(cause).__name__):
        return Finding(code, text, last_lines(cause))
    if any(each.__name__ == "CompilationError" for each in type(error).__mro__):  # on a GPU
        told = explain(error, launched=True, arch=0)
        return Finding("does-not-compile", told["message"], told["caret"])
    if isinstance(error, OutOfResources):
        said = (
            f"One program needs {error.required} of {error.name}, the GPU has {error.limit}. "
            f"{out_of(error.name)}"
        )
        return Finding("out-of-resources", said, str(error))
    if isinstance(cause, SystemExit):
        return Finding("raised", "The function ended the program (SystemExit).")
    if stopped := next((said for pattern, said in _STOPPED if re.search(pattern, text)), ""):
        return Finding("crashed", f"{stopped} {_RESTART}", text.splitlines()[0])
    frames = traceback.extract_tb(cause.__traceback__)
    compiling = any(_COMPILING.search(frame.filename) for frame in frames)
    if compiling and (fault := machines_fault(error)):
        return Finding("not-run", f"This machine cannot compile: {fault}.")
    if isinstance(cause, NameError) and frames and _holds_a_blank_gap(frames[-1].filename):
        said = f"The gap above is still open: `{cause.name}` is not defined yet."
        return Finding("not-attempted", said)
    if re.search(NO_GPU, text) and any(frame.name == "synchronize" for frame in frames):
        sentence = "`torch.cuda.synchronize()` needs a GPU, and there is none here."
        if any("gpu" in frame.f_globals for frame, _ in traceback.walk_tb(cause.__traceback__)):
            return Finding("raised", f"{sentence} Wait with the page's own `gpu.synchronize()`.")
        return Finding("raised", f"{sentence} Leave it out: who reads a result waits for it.")
    if re.search(NO_GPU, text):
        sentence = "The function asks for a GPU, and there is none here."
        return Finding("raised", f"{sentence} Allocate on the input's device.", text)
    lines = last_lines(cause) or last_lines(error)
    in_kernel = any("interpreter.py" in frame.filename for frame in frames)
    named = cause.name if isinstance(cause, NameError) and not in_kernel else None
    found = said_of_module(named, last_code(lines)) or said_of_lines(f"{lines}\n{text}")
    if found := found or said_of_error(cause):
        return Finding("raised", found + ("" if in_kernel else _in_which(lines)), lines)
    if isinstance(cause, SyntaxError) and cause.text:
        said = f"What is run as Python is none, at its line `{cause.text.strip()}`: {cause.msg}."
        return Finding("raised", said, lines)
    first = text.splitlines()[0] if text else "no message"
    return Finding("raised", f"The call raised {type(cause).__name__}: {first}", lines)


@contextlib.contextmanager
def stop_after(seconds: float) -> Iterator[None]:
    """Stop the block after so many seconds, and print at which line it was.

    It stops Python and the interpreter. A kernel that runs on a GPU cannot be stopped.
    """
    try:
        with time_limit(seconds):
            yield
    except CheckTimeout as error:
        print(explain_error(error).sentence)
