"""A kernel as the text of a file of its own, with nothing in it but Triton's language.

The grader runs what is written here, and only that. The check in the notebook asks the same, so
that what the grader refuses is refused there too, with the same sentence.
"""

from __future__ import annotations

import ast
import builtins
import copy
import linecache
import math
import re
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .language import BUILTINS, Refused, allow_path, is_literal, is_module, vet, walk_body
from .meanings import RECURSIVE, chains, free_names, place

_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
_JIT_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug")
_TRITON = {"path": "triton"}
_NO_MEANING = "What the kernel's names mean was not told in numbers and names."


# Where the text around a kernel is found: (file, line) -> that text and the function at the line.
Finder = Callable[[str, int], tuple[str, ast.FunctionDef]]


def refusal(fn: FunctionType) -> Refused | None:
    """Why the grader would not run this kernel; None where it would."""

    def find(file: str, line: int) -> tuple[str, ast.FunctionDef]:
        text = "".join(linecache.getlines(file))
        return text, definitions(text)[line]

    try:
        module_text(place(fn), find)
    except Refused as refused:
        return refused
    except KeyError:
        return None  # a kernel without a source: Triton itself says so
    return None


def definitions(text: str) -> dict[int, ast.FunctionDef]:
    """The functions in a text by line, from the first decorator's to that of `def`.

    Compiler and interpreter disagree on which line a function starts.
    """
    found = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # a cell that does not run, which is said elsewhere
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found |= dict.fromkeys(range(first, node.lineno + 1), node)
    return found


def module_text(told: list[Any], find: Finder) -> str:
    """The text of a module that defines a kernel, its helpers and constants, checked by `vet`.

    told: what `place` told of the kernel. Raises Refused, and what `find` raises.
    """
    module = _Module(find)
    file, line, *_ = told
    module.add(told, find(file, line)[1].name)
    whole = "\n".join(["import triton", *module.lines, *module.functions]) + "\n"
    vet(ast.parse(whole))
    return whole


class _Module:
    """What a kernel's module holds. Two helpers of one name are told apart by a number."""

    def __init__(self, find: Finder):
        self.find = find
        self.lines: list[str] = []
        self.functions: list[str] = []
        self._names: dict[str, Any] = {"triton": _TRITON}

    def add(self, told: list[Any], wanted: str) -> str:
        """Add a kernel with everything that it needs; its name in the module. Raises Refused."""
        name = self._free(wanted, told)
        if name in self._names:
            return name
        self._names[name] = told
        file, line, meanings, helpers, signature = told
        text, node = self.find(file, line)
        if name == "triton" or meanings.get("triton", _TRITON) != _TRITON:
            raise Refused("policy", "The name triton means something else here: leave it be.")
        own = _function_text(text, node, name, meanings, signature)
        new = {}
        for used in free_names(ast.parse(own).body[0]):
            if used in helpers:
                new[used] = self.add(helpers[used], used)
            elif used in meanings:
                new[used] = self._constant(used, meanings[used])
            elif used not in BUILTINS and not hasattr(builtins, used):
                raise Refused("raised", f"The kernel uses {used}, which no cell above defines.")
        own = _renamed(own, {old: name for old, name in new.items() if old != name})
        self.functions.append(f"\n\n{_jit_line(node)}\n{own}")
        return name

    def _constant(self, wanted: str, meaning: Any) -> str:
        name = self._free(wanted, meaning)
        if name not in self._names:
            self._names[name] = meaning
            self.lines.append(_line(name, meaning))
        return name

    def _free(self, wanted: str, meaning: Any) -> str:
        name, number = wanted, 2
        while name in self._names and self._names[name] != meaning:
            name, number = f"{wanted}__{number}", number + 1
        return name


def _line(name: str, meaning: Any) -> str:
    """The line of a module that gives a name its meaning."""
    kind, value = _only_item(meaning)
    if kind == "path" and isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.]*", value):
        allow_path(value)
        if is_module(value):
            return f"import {value} as {name}"
        module, _, last = value.rpartition(".")
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
    text: str,
    node: ast.FunctionDef,
    name: str,
    meanings: dict[str, Any],
    signature: dict[str, Any],
) -> str:
    """The function under a name, with numbers for dotted names that lead to one, and a plain
    signature.

    Its lines keep their distance from `def`: errors name them.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    spots = [(part, meanings[chain]) for chain, part in chains(node) if chain in meanings]
    for part, meaning in sorted(spots, key=lambda spot: -spot[0].col_offset):
        lines[part.lineno - 1] = _put(lines[part.lineno - 1], part, _number(meaning))
    header = _header(node, name, signature)
    first = node.body[0]
    blank = lines[first.lineno - 1].encode()[: first.col_offset].isspace()
    if blank and first.lineno > node.lineno:
        body = "\n".join(lines[first.lineno - 1 : node.end_lineno])
        body = textwrap.indent(textwrap.dedent(body), "    ") if node.col_offset else body
        own = header + "\n" * (first.lineno - node.lineno) + body
    else:
        own = header + "\n" + textwrap.indent("\n".join(map(ast.unparse, node.body)), "    ")
    try:
        ast.parse(own)
    except SyntaxError:  # continuation lines to the left of their function
        own = header + "\n" + textwrap.indent("\n".join(map(ast.unparse, node.body)), "    ")
    return own


def _renamed(own: str, names: dict[str, str]) -> str:
    """A function with other names for what stands around it."""
    lines = own.split("\n")
    node = ast.parse(own).body[0]
    parts = [part for part in walk_body(node) if isinstance(part, ast.Name) and part.id in names]
    for part in sorted(parts, key=lambda part: -part.col_offset):
        lines[part.lineno - 1] = _put(lines[part.lineno - 1], part, names[part.id])
    return "\n".join(lines)


def _put(line: str, part: ast.Attribute | ast.Name, new: str | None) -> str:
    """A line with `new` in place of a name, where the name stands whole on it."""
    raw = line.encode()
    old = raw[part.col_offset : part.end_col_offset].decode(errors="replace")
    if old.replace(" ", "") != ast.unparse(part) or new is None:
        return line  # over several lines, or in an f-string before Python 3.12
    return (raw[: part.col_offset] + new.encode() + raw[part.end_col_offset :]).decode()


def _number(meaning: Any) -> str | None:
    kind, value = _only_item(meaning)
    return f"({_literal(value)})" if kind in ("value", "constexpr") else None


def _header(node: ast.FunctionDef, name: str, signature: dict[str, Any]) -> str:
    """The `def` line with annotations that Triton reads and defaults that are constants."""
    given = copy.deepcopy(node.args)
    plain = [*given.posonlyargs, *given.args]
    pairs = list(zip(reversed(plain), reversed(given.defaults), strict=False))
    pairs += [p for p in zip(given.kwonlyargs, given.kw_defaults, strict=True) if p[1]]
    told = {argument.arg: signature.get(argument.arg, ["", None]) for argument, _ in pairs}
    new = {id(default): _default(*told[argument.arg]) for argument, default in pairs}
    given.defaults = [new[id(default)] for default in given.defaults]
    given.kw_defaults = [default and new[id(default)] for default in given.kw_defaults]
    for argument in [*plain, *given.kwonlyargs, given.vararg, given.kwarg]:
        if argument is not None:
            kind = signature.get(argument.arg, [""])[0]
            argument.annotation = _annotation(kind)
    function = copy.copy(node)
    function.name, function.args = name, given
    function.returns, function.decorator_list = None, []
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
        if isinstance(decorator, ast.Call):
            options = [
                f"{k.arg}={ast.unparse(k.value)}"
                for k in decorator.keywords
                if k.arg in _JIT_OPTIONS and is_literal(k.value)
            ]
            if options:
                return f"@triton.jit({', '.join(options)})"
    return "@triton.jit"
