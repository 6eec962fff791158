"""What the names in a kernel mean, as data: Triton's own names, numbers, other kernels.

A kernel is its text and what its names mean where it stands. The text alone does not say it: `tl`
may have another name, a constant may come from numpy, a helper from a function that made it. Here
the running program is asked, and the answer is JSON: the grader puts a submission's kernels
together again from text and numbers, without running a line of the submission's Python.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..export import texts
from ..export.values import ExportError
from ..port.numbers_only import bound_names, walk_body
from .allowed import COURSE_FUNCTIONS

DEEPEST = 16  # helpers of helpers
RECURSIVE = "kernel that calls itself"
_LONGEST = 200  # characters of a text, items of a tuple
_MISSING = object()


def place(fn: FunctionType, around: tuple[FunctionType, ...] = ()) -> list[Any]:
    """A kernel's Python function as JSON: [file, line, meanings, helpers, signature].

    meanings: by name {"path": dotted}, {"value": v}, {"constexpr": v} or {"other": type}; a dotted
    name that leads to a number, such as `torch.inf`, stands there whole. helpers: by name the place
    of each kernel that it calls. signature: by argument [type or "", default's meaning or None].
    """
    fn = inspect.unwrap(fn)  # the interpreter rewrites what was written
    home = texts.namespace(fn)
    meanings: dict[str, Any] = {}
    helpers: dict[str, Any] = {}
    names, dotted = _mentions(fn)
    for name in names:
        if name not in home:
            continue  # Python's own, or nothing: whoever reads this sees which
        inner = kernel_function(home[name])
        if inner is None:
            meanings[name] = _meaning(home[name])
        elif inner in (*around, fn) or len(around) > DEEPEST:
            meanings[name] = {"other": RECURSIVE}
        else:
            helpers[name] = place(inner, (*around, fn))
    for chain in dotted:
        root, *rest = chain.split(".")
        if root in meanings and not is_triton(meanings[root]):
            value = home[root]
            for part in rest:
                value = getattr(value, part, _MISSING)
            told = _plain(value)
            if told is not None:
                meanings[chain] = told
    code = fn.__code__
    return [code.co_filename, code.co_firstlineno, meanings, helpers, _signature(fn)]


def is_triton(meaning: dict[str, Any]) -> bool:
    """Whether a name stands for Triton or `math`, whose parts kernels may name themselves."""
    return str(meaning.get("path")).partition(".")[0] in ("triton", "math")


@functools.lru_cache(maxsize=256)
def _mentions(fn: FunctionType) -> tuple[list[str], list[str]]:
    """Names, and whole dotted names, in a kernel that it does not bind itself."""
    try:
        node: Any = ast.parse(texts.definition(fn).text).body[0]
    except ExportError:  # no source is known: whoever needs it will say so
        return [], []
    return free_names(node), list(dict.fromkeys(text for text, _ in chains(node)))


def free_names(node: ast.FunctionDef) -> list[str]:
    """Names that a function's body reads and does not bind itself."""
    bound = bound_names(node)
    inside = [n.id for n in walk_body(node) if isinstance(n, ast.Name) and n.id not in bound]
    return list(dict.fromkeys(inside))


def chains(node: ast.FunctionDef) -> Iterator[tuple[str, ast.Attribute]]:
    """Each whole dotted name in a body, such as `tl.math.exp`, whose root it does not bind."""
    bound, inner = bound_names(node), set()
    for part in walk_body(node):
        if not isinstance(part, ast.Attribute) or id(part) in inner:
            continue
        value: ast.expr = part
        names: list[str] = []
        while isinstance(value, ast.Attribute):
            inner.add(id(value))
            names.insert(0, value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id not in bound:
            yield ".".join([value.id, *names]), part


def kernel_function(value: Any) -> FunctionType | None:
    """The Python function of a jitted kernel, or of what is called while one is compiled, that is
    not Triton's or the workbook's own."""
    if type(value).__name__ == "constexpr":
        value = getattr(value, "value", value)
        if isinstance(value, FunctionType) and not hasattr(value, "fn"):
            return None if value.__module__.startswith("triton.") else value
    fn = getattr(value, "fn", None)
    if not type(value).__module__.startswith("triton.") or not isinstance(fn, FunctionType):
        return None
    own = fn.__module__.startswith("triton.") or _path(fn) in COURSE_FUNCTIONS
    return None if own else fn


def _path(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


@functools.cache
def _known() -> dict[int, str]:
    """Dotted names of what kernels may name, by the object's id. None of these objects ever goes.

    Numbers are left out: a small number is one object wherever it stands.
    """
    import triton
    import triton.language as tl

    owners = {"math": math, "triton.language.math": tl.math, "triton.language": tl}
    found = {id(value): f"triton.{name}" for name, value in vars(triton).items() if callable(value)}
    for path, owner in owners.items():
        for name, value in vars(owner).items():
            if callable(value) or isinstance(value, tl.dtype):
                found[id(value)] = f"{path}.{name}"
            if isinstance(value, type):  # an enum
                members = getattr(value, "__members__", {})
                found |= {id(each): f"{path}.{name}.{key}" for key, each in members.items()}
    return found


def _meaning(value: Any) -> dict[str, Any]:
    if isinstance(value, ModuleType):
        return {"path": value.__name__}
    if id(value) in _known():
        return {"path": _known()[id(value)]}
    held = getattr(value, "value", None) if type(value).__name__ == "constexpr" else None
    if id(held) in _known() and not callable(held):
        return {"path": _known()[id(held)]}
    told = _plain(value)
    if told is not None:
        return told
    inner = getattr(value, "fn", value)
    path = _path(inner)
    if hasattr(inner, "__qualname__") and path.startswith("triton.") or path in COURSE_FUNCTIONS:
        return {"path": path}
    return {"other": type(value).__name__[:80]}


def _plain(value: Any) -> dict[str, Any] | None:
    """A constant as {"value": ...} or {"constexpr": ...}; None where it is not one."""
    wrapped = type(value).__name__ == "constexpr" and hasattr(value, "value")
    found = _number(value.value if wrapped else value)
    return None if found is _MISSING else {"constexpr" if wrapped else "value": found}


def _number(value: Any) -> Any:
    if isinstance(value, int) and abs(value) >> 64:
        return _MISSING  # beyond what any kernel can hold
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, str):
        return str(value) if len(value) <= _LONGEST else _MISSING
    if isinstance(value, (int, float)):  # numpy's float64, an IntEnum
        return int(value) if isinstance(value, int) else float(value)
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return _number(value.item())  # a number of numpy's
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton.language"):
        return {"dtype": value.name}
    if isinstance(value, (tuple, list)) and len(value) <= _LONGEST:
        parts = [_number(getattr(part, "value", part)) for part in value]
        return _MISSING if any(part is _MISSING for part in parts) else {"tuple": parts}
    return _MISSING


def _signature(fn: FunctionType) -> dict[str, list[Any]]:
    found = {}
    for name, parameter in inspect.signature(fn).parameters.items():
        given = parameter.default is not parameter.empty
        kind = _type_name(parameter.annotation)
        found[name] = [kind, _meaning(parameter.default) if given else None]
    return found


def _type_name(annotation: Any) -> str:
    """What Triton reads in an annotation: "constexpr", a dtype's name, or nothing."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if "constexpr" in str(text):
        return "constexpr"
    is_type = type(annotation).__module__.startswith("triton.language")
    return str(getattr(annotation, "name", "")) if is_type else ""
