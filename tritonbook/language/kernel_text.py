"""A kernel as the text of a file of its own, with nothing in it but Triton's language.

The grader runs what is written here, and only that. The check in the notebook asks the same, so
that what the grader refuses is refused there too, with the same sentence.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import linecache
import math
import re
import textwrap
from types import FunctionType
from typing import Any, cast

from ..port.numbers_only import walk_body
from .allowed import (
    AT_COMPILE_TIME,
    BUILTINS,
    Refused,
    allow_path,
    is_literal,
    is_module,
    vet,
)
from .meanings import RECURSIVE, chains, free_names, place

_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
_JIT_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug")
_GLUON_LINE = "@gluon.jit"
_NO_MEANING = "What the kernel's names mean was not told in numbers and names."


def refusal(fn: FunctionType) -> Refused | None:
    """Why the grader would not run this kernel or a helper of it; None where it would."""
    try:
        _vet_place(place(fn))
    except Refused as refused:
        return refused
    return None


def _vet_place(told: list[Any]) -> None:
    text = "".join(linecache.getlines(told[0]))
    node = definitions(text).get(told[1])
    if node is not None:  # a kernel without a source: Triton itself has said so
        module_text(text, node, told)
    for helper in told[3].values():
        _vet_place(helper)


def language_names(fn: FunctionType) -> frozenset[str]:
    """Last parts of the dotted and of the imported names in a kernel and its helpers: `softmax` for
    `tl.softmax`."""
    return _names_told(place(fn))


def _names_told(told: list[Any]) -> frozenset[str]:
    file, line, meanings, helpers, _ = told
    dotted = _dotted_names("".join(linecache.getlines(file)), line)
    paths = {str(each.get("path")).rpartition(".")[2] for each in meanings.values()}
    return dotted.union(paths, *map(_names_told, helpers.values()))


@functools.lru_cache(maxsize=64)
def _dotted_names(text: str, line: int) -> frozenset[str]:
    """Last parts of the dotted names in the function that begins at a line of a text."""
    node = definitions(text).get(line)
    parts = walk_body(node) if node is not None else ()
    return frozenset(part.attr for part in parts if isinstance(part, ast.Attribute))


@functools.lru_cache(maxsize=8)
def definitions(text: str) -> dict[int, ast.FunctionDef]:
    """The functions in a text by line, from the first decorator's to that of `def`.

    Compiler and interpreter disagree on which line a function starts.
    """
    found: dict[int, ast.FunctionDef] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # a cell that does not run, which is said elsewhere
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found |= dict.fromkeys(range(first, node.lineno + 1), node)
    return found


def module_text(text: str, node: ast.FunctionDef, told: list[Any]) -> str:
    """The text of a module that defines the kernel at `node` of `text`, checked by `vet`.

    told: what `place` told of it; its helpers are the module's reader's to put in by name. Raises
    Refused.
    """
    _, _, meanings, helpers, signature = told
    own = _function_text(text, node, meanings, signature)
    jit = _jit_line(node)
    lines, function = ["import triton"], cast(ast.FunctionDef, ast.parse(own).body[0])
    if node.name == "triton" or "triton" in helpers:
        raise Refused("policy", "A kernel is called triton: give it another name.")
    if jit == _GLUON_LINE:
        lines.append("from tritonbook.kernels.gluon import gluon")
    for name in free_names(function):
        if name in helpers:
            continue
        if name == "triton" and meanings.get(name) != {"path": "triton"}:
            raise Refused("policy", "The kernel gives triton another meaning.")
        if name in meanings:
            lines.append(_line(name, meanings[name]))
        elif name not in BUILTINS and not hasattr(builtins, name) and _is_somewhere(name):
            raise Refused("raised", f"The kernel uses {name}, which no cell above defines.")
    whole = "\n".join(lines) + f"\n\n\n{jit}\n{own}\n"
    vet(ast.parse(whole), frozenset(helpers))
    return whole


def _is_somewhere(name: str) -> bool:
    """Whether a name that the notebook does not know could mean something where the kernel runs:
    the interpreter lends a kernel its own. Any other is an error where it is read, and may stand in
    a branch that is never compiled."""
    from triton.runtime import interpreter

    return name.startswith("_") or hasattr(interpreter, name)


def _line(name: str, meaning: Any) -> str:
    """The line of a module that gives a name its meaning."""
    kind, value = _only_item(meaning)
    if kind == "path" and isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.]*", value):
        allow_path(value)
        if is_module(value):
            return f"import {value} as {name}"
        module, _, last = value.rpartition(".")
        if not is_module(module):  # a member of an enum
            return f"{name} = triton.language.constexpr({value})"
        return f"from {module} import {last} as {name}"
    if kind == "value":
        return f"{name} = {_literal(value)}"
    if kind == "constexpr":
        return f"{name} = triton.language.constexpr({_literal(value)})"
    if kind == "other" and value == "function":
        raise Refused(
            "does-not-compile",
            f"The kernel calls {name}, a plain Python function: put @triton.jit above it.",
        )
    if kind == "other" and value == RECURSIVE:
        raise Refused("does-not-compile", f"The kernel {name} calls itself: Triton cannot.")
    raise Refused(
        "does-not-compile",
        f"The kernel uses {name}, an object of type {str(value)[:80]}. From outside it a kernel "
        "knows Triton's language, other kernels, and numbers in tl.constexpr(...).",
    )


def _only_item(meaning: Any) -> tuple[str, Any]:
    if not (isinstance(meaning, dict) and len(meaning) == 1):
        raise Refused("policy", _NO_MEANING)
    return next(iter(meaning.items()))


def _literal(value: Any) -> str:
    """A constant that `place` told, as Python text."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, float, str)):
        return repr(value)
    if isinstance(value, int) and abs(value) < 1 << 64:
        return repr(value)
    if isinstance(value, dict):
        kind, inner = _only_item(value)
        if kind == "tuple" and isinstance(inner, list):
            return "(" + "".join(f"{_literal(part)}, " for part in inner) + ")"
        if kind == "dtype" and isinstance(inner, str) and inner.isidentifier():
            return f"triton.language.{_DTYPES.get(inner, inner)}"
    raise Refused("policy", _NO_MEANING)


def _function_text(
    text: str, node: ast.FunctionDef, meanings: dict[str, Any], signature: dict[str, Any]
) -> str:
    """The function with numbers in place of dotted names that lead to one, and a plain signature.

    Its lines keep their distance from `def`: errors name them.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    spots = [(part, meanings[name]) for name, part in chains(node) if name in meanings]
    for part, meaning in sorted(spots, key=lambda spot: -spot[0].col_offset):
        lines[part.lineno - 1] = _put(lines[part.lineno - 1], part, meaning)
    header = _header(node, signature)
    first = node.body[0]
    blank = lines[first.lineno - 1].encode()[: first.col_offset].isspace()
    if blank and first.lineno > node.lineno:
        body = "\n".join(lines[first.lineno - 1 : node.end_lineno])
        body = textwrap.indent(textwrap.dedent(body), "    ") if node.col_offset else body
        own = header + "\n" * (first.lineno - node.lineno) + body
        with contextlib.suppress(SyntaxError):  # continuation lines to the left of their function
            ast.parse(own)
            return own
    return header + "\n" + textwrap.indent("\n".join(map(ast.unparse, node.body)), "    ")


def _put(line: str, part: ast.Attribute, meaning: Any) -> str:
    """A line with a number in place of a dotted name, where the name stands whole on it."""
    kind, value = _only_item(meaning)
    raw = line.encode()
    old = raw[part.col_offset : part.end_col_offset].decode(errors="replace")
    if old.replace(" ", "") != ast.unparse(part) or kind not in ("value", "constexpr"):
        return line  # over several lines, or in an f-string before Python 3.12
    new = f"({_literal(value)})".encode()
    return (raw[: part.col_offset] + new + raw[part.end_col_offset :]).decode()


def _header(node: ast.FunctionDef, signature: dict[str, Any]) -> str:
    """The `def` line with annotations that Triton reads and defaults that are constants."""
    given = copy.deepcopy(node.args)
    plain = [*given.posonlyargs, *given.args]
    pairs = list(zip(reversed(plain), reversed(given.defaults), strict=False))
    pairs += [(a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d]
    told = {argument.arg: signature.get(argument.arg, ["", None]) for argument, _ in pairs}
    new = {id(default): _default(*told[argument.arg]) for argument, default in pairs}
    given.defaults = [new[id(default)] for default in given.defaults]
    given.kw_defaults = [default and new[id(default)] for default in given.kw_defaults]
    for argument in [*plain, *given.kwonlyargs, given.vararg, given.kwarg]:
        if argument is not None:
            kind = signature.get(argument.arg, [""])[0]
            argument.annotation = _annotation(kind)
    function = copy.copy(node)
    function.args, function.returns, function.decorator_list = given, None, []
    function.body = [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(function)).rpartition("\n")[0]


def _default(kind: str, meaning: Any) -> ast.expr:
    name, value = _only_item(meaning)
    if name == "path" and re.fullmatch(r"triton(\.\w+)+", str(value)):
        allow_path(value)
        return ast.parse(value, mode="eval").body
    if name not in ("value", "constexpr"):
        raise Refused("does-not-compile", "A default of the kernel's arguments is no constant.")
    return ast.parse(_literal(value), mode="eval").body


def _annotation(kind: Any) -> ast.expr | None:
    if kind == "constexpr":
        return ast.parse("triton.language.constexpr", mode="eval").body
    if isinstance(kind, str) and re.fullmatch(r"\w{2,12}", kind):
        return ast.Constant(kind)
    return None


def _jit_line(node: ast.FunctionDef) -> str:
    """The decorator line of a kernel: `triton.jit` with its literal options, no other decorator.

    What `autotune` and `heuristics` chose is in the recorded launch already.
    """
    for decorator in node.decorator_list:
        if ast.unparse(decorator) == "gluon.jit":
            return _GLUON_LINE
        last = ast.unparse(decorator).rpartition(".")[2]
        for each in AT_COMPILE_TIME:
            if last == each.rpartition(".")[2]:
                return f"@{each}"
        if isinstance(decorator, ast.Call):
            options = [
                f"{k.arg}={ast.unparse(k.value)}"
                for k in decorator.keywords
                if k.arg in _JIT_OPTIONS and is_literal(k.value)
            ]
            if options:
                return f"@triton.jit({', '.join(options)})"
    return "@triton.jit"
