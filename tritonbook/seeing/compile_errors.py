"""From an error of Triton's compiler to the few lines that help, and one plain sentence."""

from __future__ import annotations

import re
from typing import Any

from ..port.compat import causes
from .occupancy import LIMITS

# Triton's words -> ours. The first match wins; \1, \2 stand for the groups.
_PLAIN = (
    (
        r"unsupported AST node type: (?:ListComp|DictComp|SetComp|GeneratorExp)|comprehensions",
        "A kernel cannot contain a comprehension. Write a loop, or compute with tiles.",
    ),
    (r"unsupported AST node type: (\w+)", r"A kernel cannot contain this kind of Python (\1)."),
    (
        r"Cannot access global variable (\w+) from within",
        r"A kernel cannot read the global `\1`. Pass it as an argument, or make it a "
        r"`tl.constexpr`.",
    ),
    (
        r"NameError(?:: |\([\"'])(\w+) is not defined",
        r"`\1` is not defined where the kernel uses it.",
    ),
    (
        r"arange's (?:range must|arguments).*",
        "`tl.arange` takes compile-time constants whose distance is a power of two.",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (\S+) but is re-assigned to (\S+)",
        r"`\1` changes its type inside the loop, from \2 to \3. Start it as \3.",
    ),
    (
        r"Mismatched type for (\w+) between then block \((\S+)\) and else block \((\S+)\)",
        r"`\1` is \2 in one branch and \3 in the other.",
    ),
    (
        r"shape.* (?:\d+ )?must be (?:a )?power of 2|Shape element \d+ must be a power of 2",
        "Every tile dimension must be a power of two.",
    ),
    (
        r"(?:M|N|K) >= 16|must be at least 16|lower than 16|minimum dot size|Input shapes should",
        "`tl.dot` needs tiles of at least 16 in every dimension.",
    ),
    (r"incompatible dimensions|Cannot make_shape_compatible|broadcast", "Two shapes do not fit."),
    (
        r"(?:numel|number of elements).*exceed\w* .*maximum",
        "A tile is too large: Triton allows 1,048,576 elements.",
    ),
    (
        r"Unsupported ptr type|unsupported tensor index|Pointer argument",
        "The kernel uses a value as a pointer that is not one.",
    ),
    (
        r"not defined in both|is not defined in (?:then|else)",
        "A variable is set in one branch only.",
    ),
)


def explain(error: BaseException, launched: bool, arch: int) -> dict[str, Any]:
    """{code, message, caret}: code "" when the error came from the wrapper, not from a launch."""
    kind = type(error).__name__
    if kind == "OutOfResources":
        return {"code": "out-of-resources", "message": _resources(error, arch), "caret": ""}
    compilation = _find(error, "CompilationError")
    if compilation is not None:
        innermost = causes(compilation)[-1]
        return {
            "code": "does-not-compile",
            "message": _sentence(innermost),
            "caret": _caret(compilation, innermost),
        }
    first = (str(error).strip().splitlines() or ["no message"])[0]
    if launched:
        return {
            "code": "does-not-compile",
            "message": f"Triton cannot compile this launch for sm_{arch}: {kind}: {first}",
            "caret": "",
        }
    if re.search(r"cuda|CUDA|NVIDIA driver|is_cuda", f"{kind} {error}"):
        return {
            "code": "",
            "message": "the wrapper insists on a CUDA device, and none is here; allocate on the "
            f"input's device ({kind}: {first})",
            "caret": "",
        }
    return {
        "code": "",
        "message": f"the wrapper stopped before or between its launches ({kind}: {first})",
        "caret": "",
    }


def _find(error: BaseException, name: str) -> Any:
    """The outermost error in the chain whose class is, or derives from, `name`."""
    kinds = ((each, type(each).__mro__) for each in causes(error))
    return next((e for e, bases in kinds if any(b.__name__ == name for b in bases)), None)


def _words(error: BaseException) -> str:
    text = str(getattr(error, "error_message", None) or error).strip()
    wrapped = re.fullmatch(r"(\w+(?:Error|Failure))\((['\"])(.*)\2\)", text, re.DOTALL)
    return f"{wrapped[1]}: {wrapped[3]}" if wrapped else text


def _sentence(innermost: BaseException) -> str:
    words = _words(innermost)
    raw = words if getattr(innermost, "error_message", None) else repr(innermost)
    for text in (words, raw):
        for pattern, sentence in _PLAIN:
            found = re.search(pattern, text)
            if found:
                return found.expand(sentence) if "\\" in sentence else sentence
    if type(innermost).__name__ == "CompileTimeAssertionFailure":
        return f"A `tl.static_assert` does not hold: {words.splitlines()[-1] if words else ''}"
    return (
        f"Triton cannot compile the kernel: {words.splitlines()[0] if words else 'no reason given'}"
    )


def _caret(error: Any, innermost: BaseException) -> str:
    """The kernel's line with a caret under the spot, the line before it, and Triton's words."""
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    lines = []
    if source and hasattr(node, "lineno"):
        before = source.split("\n")[: node.lineno]
        shift = min((len(x) - len(x.lstrip()) for x in before[-2:] if x.strip()), default=0)
        lines = [x[shift:] for x in before[-2:]] + [" " * (node.col_offset - shift) + "^"]
    words = _words(innermost).splitlines()
    return "\n".join([*lines, *(word[:160] for word in words[-1:])])


def _resources(error: Any, arch: int) -> str:
    gpu = LIMITS[arch].gpu if arch in LIMITS else f"sm_{arch}"
    what = {"shared memory": "bytes of shared memory", "threads": "threads"}
    needs = what.get(error.name, error.name)
    return (
        f"One program needs {error.required:,} {needs}; the {gpu} (sm_{arch}) has {error.limit:,}. "
        "Use smaller tiles or fewer stages."
    )
