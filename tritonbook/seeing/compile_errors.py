"""From an error of Triton's compiler to the few lines that help, and one plain sentence."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import re
from typing import Any

from ..port.compat import causes
from ..port.machine_faults import machines_fault
from ..port.plain_words import (
    out_of,
    own_words,
    said_of,
    said_of_error,
    said_of_lines,
    said_of_truth,
)
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
        source, node = _where(compilation)
        if _FLOAT_AND_ADDRESS.search(_words(innermost)) and isinstance(node, ast.BinOp):
            said, *spot = _of_float_and_address(source, node)
            if said:
                return _told(said, "does-not-compile", _place(source, *spot))
        at = (node.lineno, node.col_offset) if hasattr(node, "lineno") else None
        place = _place(source, *at) if at else ""
        line = source.split("\n")[at[0] - 1].strip() if at else ""
        unknown = _NO_NAME.search(_words(innermost))
        if unknown and at and (below := _set_below(unknown[1], source, at[0])):
            said = f"`{unknown[1]}` is used here, and gets its value only further down: `{below}`."
            return _told(said, "does-not-compile", place)
        if unknown and at and (near := _near(unknown[1], source, at[0])):
            said = f"`{unknown[1]}` is not defined where the kernel uses it. Is it to be `{near}`?"
            return _told(said, "does-not-compile", place)
        words = "\n".join(word[:160] for word in _words(innermost).splitlines()[-1:])
        caret = f"{place}\n{words}".strip("\n")
        if said := said_of_lines(caret) or _plainly(innermost, line):
            return _told(said, "does-not-compile", place)
        return _told(_sentence(innermost), "does-not-compile", caret)
    first = (str(error).strip().splitlines() or ["no message"])[0]
    if launched:
        message = said_of_error(error)
        raw = f"Triton cannot compile this launch for sm_{arch}: {kind}: {first}"
        return _told(message or raw, "does-not-compile")
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


_TRUTH = re.compile("Boolean value of Tensor")


def _plainly(innermost: BaseException, line: str) -> str | None:
    """One sentence for an error of the compiler at a line, or None."""
    words = _words(innermost)
    raw = words if getattr(innermost, "error_message", None) else repr(innermost)[:MOST]
    if _TRUTH.search(words) and (said := said_of_truth(line)):
        return said
    return said_of(f"compiling {words}") or said_of(f"compiling {raw}")


def _sentence(innermost: BaseException) -> str:
    words = _words(innermost)
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


def _where(compilation: Any) -> tuple[str, Any]:
    """A kernel's text and the part of it that fails: the innermost of the chain that is none of
    Triton's own functions."""
    chain = [each for each in causes(compilation) if getattr(each, "src", None)]
    own = [each for each in chain if not any(each.src in text for text in _tritons_text())]
    error: Any = (own or [compilation])[-1]
    source = getattr(error, "src", None) or ""
    return source, getattr(error, "node", None) if source else None


def _place(source: str, row: int, column: int) -> str:
    """A line of a kernel with a caret under the spot, and the line right before it."""
    shown = [line for line in source.split("\n")[:row][-2:] if line.strip()]
    shift = min((len(line) - len(line.lstrip()) for line in shown), default=0)
    return "\n".join([*(line[shift:] for line in shown), " " * (column - shift) + "^"])


_FLOAT_AND_ADDRESS = re.compile(
    r"operands of type pointer<\w+> and triton\.language\.(?:fp|float|bf)"
)
_ADDRESS = re.compile(r"(?:^|_)ptrs?$")  # what a kernel calls its pointers


def _of_float_and_address(source: str, node: ast.BinOp) -> tuple[str, int, int]:
    """What is wrong where a float meets an address, and where: an address that is not loaded, a
    store's comma that is missing, or a `/`. Nothing where the text does not show which."""
    tree, at = ast.parse(source), (node.lineno, node.col_offset)
    before = [
        each
        for each in ast.walk(tree)
        if isinstance(each, (ast.Assign, ast.AugAssign)) and (each.end_lineno or 0) < node.lineno
    ]
    left, right = (
        any(isinstance(part, ast.Name) and _ADDRESS.search(part.id) for part in parts)
        for parts in (_made_of(side, before, calls=False) for side in (node.left, node.right))
    )
    if left == right:
        return "", *at
    address, number = (node.left, node.right) if left else (node.right, node.left)
    parts = _made_of(number, before)
    called = {_last_name(part.func) for part in parts if isinstance(part, ast.Call)}
    access, slash = _access_at(tree, at), _slash(source, parts)
    added = isinstance(node.op, (ast.Add, ast.Sub))
    if access and _last_name(access.func) == "store" and len(access.args) == 1:
        return (
            f"`{ast.unparse(address)}` is an address, and values are added to it. In `tl.store` a "
            "comma stands before the values: `tl.store(out_ptr + offs, values, mask=mask)`.",
            *at,
        )
    if not access and (not added or ("load" in called and not slash)):
        return (
            f"`{ast.unparse(address)}` is an address. To compute with what lies there, load it "
            "first, with `tl.load`.",
            *at,
        )
    pointer = isinstance(address, ast.Name) and _ADDRESS.search(address.id)
    counted = pointer or called & {"arange", "program_id"}
    if slash and (access or (counted and "load" not in called)):
        return "`/` makes a float, and an offset is a whole number: use `//`.", *slash
    return "", *at


def _made_of(node: ast.AST, before: list[Any], calls: bool = True) -> list[ast.AST]:
    """The parts of an expression, and of what the assignments before it set the names in it to.
    calls: those within a call's brackets too."""
    found, names = [node], set()
    for part in found:  # grows meanwhile
        if isinstance(part, ast.Name) and part.id not in names:
            names.add(part.id)
            for each in before:
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                if any(isinstance(name, ast.Name) and name.id == part.id for name in targets):
                    found += [each, each.value]
        elif not isinstance(part, ast.stmt) and (calls or not isinstance(part, ast.Call)):
            found += ast.iter_child_nodes(part)
    return found


def _last_name(node: ast.AST) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _access_at(tree: ast.AST, at: tuple[int, int]) -> ast.Call | None:
    """The load, store or atomic operation in whose address a spot is."""
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and call.args):
            continue
        if not re.match("load|store|atomic_", _last_name(call.func)):
            continue
        spots = [
            (part.lineno, part.col_offset)
            for part in ast.walk(call.args[0])
            if isinstance(part, ast.expr)
        ]
        if at in spots:
            return call
    return None


def _slash(source: str, parts: list[ast.AST]) -> tuple[int, int] | None:
    """Row and column of the first `/` in these."""
    for each in parts:
        if isinstance(getattr(each, "op", None), ast.Div):
            left = each.left if isinstance(each, ast.BinOp) else each.target
            line = source.split("\n")[left.end_lineno - 1]
            if "/" in line[left.end_col_offset :]:
                return left.end_lineno, line.index("/", left.end_col_offset)
    return None


_NO_NAME = re.compile(r"NameError: (\w+) is not defined")


def _set_below(name: str, source: str, row: int) -> str:
    """The line that is the first to set a name, where it stands below the one that uses it."""
    rows = [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
    ]
    return source.split("\n")[min(rows) - 1].strip() if rows and min(rows) > row else ""


def _near(name: str, source: str, row: int) -> str:
    """The name that was meant, of those that a kernel has before a line: `x_ptr` for x, `BLOCK` for
    block, `mask` for msk."""
    known = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg):
            known.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < row:
            known.append(node.id)
    longer = [each for each in known if each.startswith(f"{name}_") or each.lower() == name.lower()]
    close = longer or difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return close[0] if close and name not in known else ""


def _resources(error: Any, arch: int) -> str:
    gpu = LIMITS[arch].gpu if arch in LIMITS else f"sm_{arch}"
    what = {"shared memory": "bytes of shared memory", "threads": later("threads")}
    needs = what.get(error.name, error.name)
    return (
        f"One program needs {error.required:,} {needs}; the {gpu} (sm_{arch}) has {error.limit:,}. "
        f"{out_of(error.name)}"
    )
