"""From an error of Triton's compiler to the few lines that help, and one plain sentence."""

from __future__ import annotations

import functools
import inspect
import re
from typing import Any

from ..port.compat import causes
from ..port.machine_faults import machines_fault
from ..port.plain_words import out_of, own_words, said_of, said_of_error, said_of_lines
from ..words import later
from .occupancy import LIMITS

MACHINE = "machine"  # the code where it is no kernel's fault
MOST = 4000  # characters: a message may hold what the kernel computes at compile time
NEEDS_MEMORY = (
    "The compiler does not get by with its memory. Does a `tl.constexpr` grow very large, or has a "
    "`tl.static_range` very many turns?"
)


def explain(error: BaseException, launched: bool, arch: int) -> dict[str, Any]:
    """{code, message, caret}: code "" when the error came from the wrapper, not from a launch."""
    kind = type(error).__name__
    if launched and (fault := machines_fault(error)):
        return _told(fault, MACHINE)
    if kind == "OutOfResources":
        return _told(_resources(error, arch), "out-of-resources")
    if _find(error, "MemoryError") is not None:
        return _told(NEEDS_MEMORY, "does-not-compile")
    compilation = _find(error, "CompilationError")
    if compilation is not None:
        innermost = causes(compilation)[-1]
        caret = _caret(compilation, innermost)
        code = "\n".join(caret.splitlines()[:2])
        return _told(said_of_lines(code) or _sentence(innermost), "does-not-compile", caret)
    first = (str(error).strip().splitlines() or ["no message"])[0]
    if launched:
        message = said_of_error(error)
        raw = f"Triton cannot compile this launch for sm_{arch}: {kind}: {first}"
        return _told(message or raw, "does-not-compile", raw if message else "")
    if re.search(r"cuda|CUDA|NVIDIA driver|is_cuda", f"{kind} {error}"):
        return _told(
            "the wrapper insists on a CUDA device, and none is here; allocate on the "
            f"input's device ({kind}: {first})"
        )
    return _told(f"the wrapper stopped before or between its launches ({kind}: {first})")


def _told(message: str, code: str = "", caret: str = "") -> dict[str, Any]:
    return {"code": code, "message": message[:MOST], "caret": caret[:MOST]}


def _find(error: BaseException, name: str) -> Any:
    """The outermost error in the chain whose class is, or derives from, `name`."""
    kinds = ((each, type(each).__mro__) for each in causes(error))
    return next((e for e, bases in kinds if any(b.__name__ == name for b in bases)), None)


def _words(error: BaseException) -> str:
    text = str(getattr(error, "error_message", None) or own_words(error))[:MOST].strip()
    wrapped = re.fullmatch(r"(\w+(?:Error|Failure))\((['\"])(.*)\2\)", text, re.DOTALL)
    return f"{wrapped[1]}: {wrapped[3]}" if wrapped else text


def _sentence(innermost: BaseException) -> str:
    words = _words(innermost)
    raw = words if getattr(innermost, "error_message", None) else repr(innermost)[:MOST]
    if found := said_of(f"compiling {words}") or said_of(f"compiling {raw}"):
        return found
    if type(innermost).__name__ == "CompileTimeAssertionFailure":
        said = [line.strip() for line in words.splitlines() if line.strip(" ^")]
        return f"A `tl.static_assert` does not hold: {said[-1] if said else ''}"
    return (
        f"Triton cannot compile the kernel: {words.splitlines()[0] if words else 'no reason given'}"
    )


@functools.cache
def _tritons_text() -> tuple[str, ...]:
    """What Triton itself has written in its own language."""
    from triton.language import random, standard

    return tuple(map(inspect.getsource, (standard, random)))


def _caret(compilation: Any, innermost: BaseException) -> str:
    """The learner's line with a caret under the spot, a line right before it, and Triton's words:
    the innermost line of the chain that is none of Triton's own functions."""
    chain = [each for each in causes(compilation) if getattr(each, "src", None)]
    own = [each for each in chain if not any(each.src in text for text in _tritons_text())]
    error: Any = (own or [compilation])[-1]
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    lines = []
    if source and hasattr(node, "lineno"):
        before = source.split("\n")[: node.lineno]
        shown = [line for line in before[-2:] if line.strip()]
        shift = min((len(line) - len(line.lstrip()) for line in shown), default=0)
        lines = [line[shift:] for line in shown] + [" " * (node.col_offset - shift) + "^"]
    words = _words(innermost).splitlines()
    return "\n".join([*lines, *(word[:160] for word in words[-1:])])


def _resources(error: Any, arch: int) -> str:
    gpu = LIMITS[arch].gpu if arch in LIMITS else f"sm_{arch}"
    what = {"shared memory": "bytes of shared memory", "threads": later("threads")}
    needs = what.get(error.name, error.name)
    return (
        f"One program needs {error.required:,} {needs}; the {gpu} (sm_{arch}) has {error.limit:,}. "
        f"{out_of(error.name)}"
    )
