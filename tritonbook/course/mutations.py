"""Machine-made mistakes: every small change of what a learner writes in an answer's gaps.

The operators are those of kernels (a mask, an `other=`, an axis, a stride, a cast), which libraries
of mutation testing do not know; those work on files and run a process for each change besides.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from . import gaps
from .source import Slip

_SWAPS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "%",
    ast.Mod: "//",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
_COMPARED = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<",),
    ast.Gt: (">=", "<"),
    ast.GtE: (">",),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
}
_CALLED = {
    "exp": ("exp2",),
    "exp2": ("exp",),
    "log": ("log2",),
    "log2": ("log",),
    "rsqrt": ("sqrt",),
    "sqrt": ("rsqrt",),
    "max": ("min", "sum"),
    "min": ("max",),
    "sum": ("max",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "atomic_add": ("store",),
}
# Right either way, and a matter of speed: how many threads, how many stages, what a cache keeps.
_SPEED = ("num_warps", "num_stages", "cache_modifier", "eviction_policy", "warmup", "rep")


_EITHER_WAY = ("maximum", "minimum", "max", "min")  # the order of two arguments does not matter


@dataclass(frozen=True)
class _Edit:
    """Text for a stretch of a source, given by lines (from 1) and columns (in characters)."""

    begin: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True)
class Change:
    """One change of an answer. name: `line => line` (with a number where a line stands several
    times); text: the answer that has it."""

    name: str
    text: str


def mutations(answer: str) -> list[Change]:
    """All changes of an answer cell's gaps, each once. answer: the cell with its markers."""
    tree, lines = ast.parse(answer), answer.splitlines()
    inside = [range(gap.begin + 1, gap.end) for gap in gaps.gaps(answer)]
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    strides = {name for name in names if name.startswith("stride_")}
    found: dict[str, Change] = {}  # by the answer that has it
    solved, names = gaps.solved_text(answer), []
    keywords = [node for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    speed = [node.value for node in keywords if node.arg in _SPEED]
    for edit in _edits(tree, lines, strides):
        if any(_within(edit, node) for node in speed):
            continue
        if not any(edit.begin[0] in gap and edit.end[0] in gap for gap in inside):
            continue
        changed = _apply(lines, edit)
        before = _squeezed(lines[edit.begin[0] - 1 : edit.end[0]])
        rows = edit.end[0] - edit.begin[0] + 1 + len(changed) - len(lines)
        after = _squeezed(changed[edit.begin[0] - 1 : edit.begin[0] - 1 + rows])
        whole = "\n".join(changed)
        first, last = _around(tree, edit)
        try:
            ast.parse("\n".join(changed[first - 1 : last + len(changed) - len(lines)]))
            text = gaps.solved_text(whole)
        except (SyntaxError, Slip):
            continue
        if before != after and text != solved and text not in found:
            name = f"{before} => {after}"
            times = names.count(name)
            names.append(name)
            name = f"{name} ({times + 1})" if times else name
            found[text] = Change(name, text)
    return list(found.values())


def _around(tree: ast.Module, edit: _Edit) -> tuple[int, int]:
    """The lines of the function that an edit is in: enough to ask whether it is still Python."""
    for node in tree.body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or node.lineno
        if first <= edit.begin[0] and edit.end[0] <= last:
            return first, last
    return 1, tree.body[-1].end_lineno or 1


def _place(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where a node begins and ends, as an _Edit has it."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _within(edit: _Edit, node: ast.AST) -> bool:
    begin, end = _place(node)
    return begin <= edit.begin and edit.end <= end


def _squeezed(lines: list[str]) -> str:
    return " ".join(" ".join(line.split("  #")[0].split()) for line in lines if line.strip())


def _apply(lines: list[str], edit: _Edit) -> list[str]:
    (first, left), (last, right) = edit.begin, edit.end
    text = lines[first - 1][:left] + edit.text + lines[last - 1][right:]
    return [*lines[: first - 1], *text.split("\n"), *lines[last:]]


def segment(lines: list[str], node: ast.AST) -> str:
    """What `ast.get_source_segment` gives, which splits the whole text anew for each node: with
    thousands of nodes in a course that is most of the time. Columns count bytes of UTF-8."""
    if getattr(node, "end_lineno", None) is None:
        return ast.unparse(node)
    first, last = node.lineno, node.end_lineno
    kept = [line.encode() for line in lines[first - 1 : last]]
    kept[-1] = kept[-1][: node.end_col_offset]
    kept[0] = kept[0][node.col_offset :]
    return b"\n".join(kept).decode()


def _edits(tree: ast.Module, lines: list[str], strides: set[str]) -> Iterator[_Edit]:
    def source(node: ast.AST) -> str:
        return segment(lines, node)

    def instead(node: ast.AST, text: str) -> _Edit:
        return _Edit(*_place(node), text)

    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            left, right = source(node.left), source(node.right)
            yield instead(node, left)
            yield instead(node, right)
            if type(node.op) in _SWAPS:
                yield instead(node, f"{left} {_SWAPS[type(node.op)]} {right}")
            if isinstance(node.op, ast.FloorDiv):
                yield instead(node, f"triton.cdiv({left}, {right})")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            for sign in _COMPARED.get(type(node.ops[0]), ()):
                yield instead(node, f"{source(node.left)} {sign} {source(node.comparators[0])}")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            near = node.value + 1
            for value in dict.fromkeys((0, 1, near) if near < 1e6 else (0, 1)):
                if value != node.value:
                    yield instead(node, repr(type(node.value)(value)))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
            yield instead(node, source(node.operand))
        elif isinstance(node, ast.IfExp):
            yield instead(node, source(node.body))
            yield instead(node, source(node.orelse))
        elif isinstance(node, ast.Name) and node.id in strides:
            for other in sorted(strides - {node.id}):
                yield instead(node, other)
        elif isinstance(node, ast.Subscript) and source(node.slice) in (":, None", "None, :"):
            flipped = "None, :" if source(node.slice) == ":, None" else ":, None"
            yield instead(node, f"{source(node.value)}[{flipped}]")
        elif isinstance(node, ast.Call):
            yield from (instead(node, text) for text in _calls(node, source))
        elif isinstance(node, ast.If):
            yield instead(node.test, "True")
            yield instead(node.test, "False")
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list):
                yield from _statements(body, source, instead)


def _calls(node: ast.Call, source) -> Iterator[str]:
    """Other calls in place of one: without a keyword, with two arguments swapped, another name."""
    function = source(node.func)
    name = function.rpartition(".")[2]
    plain = [source(arg) for arg in node.args]
    named = {keyword.arg: source(keyword.value) for keyword in node.keywords if keyword.arg}
    double = [f"**{source(keyword.value)}" for keyword in node.keywords if not keyword.arg]

    def written(fn: str = function, args: list[str] = plain, kept: dict[str, str] = named) -> str:
        parts = [*args, *(f"{key}={value}" for key, value in kept.items()), *double]
        return f"{fn}({', '.join(parts)})"

    if name == "float":
        yield "0.0"
        return
    for key in named:
        if key not in _SPEED:
            yield written(kept={k: v for k, v in named.items() if k != key})
    if named.get("axis") in ("0", "1"):
        yield written(kept=named | {"axis": "10"[int(named["axis"])]})
    for i in range(0 if name in _EITHER_WAY else len(plain) - 1):
        if not any(text.startswith("*") for text in plain[i : i + 2]):
            yield written(args=[*plain[:i], plain[i + 1], plain[i], *plain[i + 2 :]])
    for other in _CALLED.get(name, ()):
        yield written(fn=function[: len(function) - len(name)] + other)
    if name == "cdiv" and len(plain) == 2:
        yield f"({plain[0]} // {plain[1]})"
    elif name == "to" and isinstance(node.func, ast.Attribute):
        yield source(node.func.value)
    elif name in ("where", "maximum", "minimum"):
        yield from plain[-2:]
    elif name in ("trans", "next_power_of_2"):
        yield plain[0]


_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)


def _order_matters(one: ast.stmt, two: ast.stmt) -> bool:
    """Whether one of two neighbours needs what the other makes, or both are calls."""
    if isinstance(one, ast.Expr) and isinstance(two, ast.Expr):
        return not all(".store(" in ast.unparse(each) for each in (one, two))  # to other places
    read, made = [set(), set()], [set(), set()]
    for at, statement in enumerate((one, two)):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                (made if isinstance(node.ctx, ast.Store) else read)[at].add(node.id)
    return bool(made[0] & (read[1] | made[1]) or made[1] & read[0])


def _statements(body: list[ast.stmt], source, instead) -> Iterator[_Edit]:
    """A statement left out, a sum made an assignment, two neighbours in the other order."""
    for at, node in enumerate(body):
        simple = isinstance(node, _SIMPLE)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if simple and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield instead(node, "pass")
        if isinstance(node, ast.AugAssign):
            yield instead(node, f"{source(node.target)} = {source(node.value)}")
        after = body[at + 1] if at + 1 < len(body) else None
        if simple and isinstance(after, _SIMPLE) and _order_matters(node, after):
            swapped = f"{source(after)}\n{' ' * node.col_offset}{source(node)}"
            yield _Edit(_place(node)[0], _place(after)[1], swapped)
