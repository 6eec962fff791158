"""The text of one function of an answer: its statements, and what its names stand for.

Nothing is run: whether a name is a tile or a stride, and how many dimensions it has, is guessed
from how it is made and used.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator
from typing import Any

_REDUCE = ("sum", "max", "min", "argmax", "argmin", "reduce")
_ADDRESSED = ("load", "store", "atomic_add", "make_block_ptr", "advance")


class FunctionText:
    """A function in a file. given: lines that a page gives, squeezed: they are not looked at."""

    def __init__(self, text: str, function: ast.FunctionDef, given: Collection[str]):
        self.text, self.function, self.given = text, function, given
        self.rows = text.splitlines()
        self.starts = [0, *itertools.accumulate(len(row) + 1 for row in self.rows)]
        self.kernel = any("jit" in ast.unparse(each) for each in function.decorator_list)
        self.statements = list(self._statements())
        self.kinds: dict[
            str, str
        ] = {}  # by its name: pointer, constexpr, number, index, mask, tile
        self.ranks: dict[str, int] = {}
        self._know_names()
        nodes = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
        self.read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
        self.addressed, self.valued = self._roles()
        self.carried = {
            target.id
            for node in self.statements
            for target in getattr(node, "targets", [getattr(node, "target", None)])
            if isinstance(target, ast.Name) and self.goes_on(node, target.id)
        }

    # --- the text

    def source(self, node: Any) -> str:
        begin, end = self.span(node)
        return self.text[begin:end]

    def operand(self, node: Any) -> str:
        """Its text as a part of a larger term."""
        loose = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp)
        return f"({self.source(node)})" if isinstance(node, loose) else self.source(node)

    def span(self, node: Any) -> tuple[int, int]:
        return (
            self._at(node.lineno, node.col_offset),
            self._at(node.end_lineno, node.end_col_offset),
        )

    def _at(self, row: int, column: int) -> int:
        line = self.rows[row - 1]
        column = column if line.isascii() else len(line.encode()[:column].decode())
        return self.starts[row - 1] + column

    def _statements(self) -> Iterator[Any]:
        """What the learner wrote, but for what refuses arguments or allocates."""
        for node in ast.walk(self.function):
            if not isinstance(node, ast.stmt) or node is self.function:
                continue
            document = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            refuses = isinstance(node, (ast.Raise, ast.Assert)) or (
                isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
            )
            body: Any = getattr(node, "body", None)
            last: Any = body[0].lineno - 1 if body else node.end_lineno
            rows = [
                " ".join(r.split()) for r in self.rows[node.lineno - 1 : max(last, node.lineno)]
            ]
            given = all(row in self.given for row in rows)
            apart = rows[0].startswith("BLOCK") or "torch.empty" in rows[0]
            if not (document or refuses or given or apart):
                yield node

    def expressions(self, statement: Any) -> Iterator[Any]:
        """The expressions of a statement, without those of statements within, and without what a
        wrapper makes of tile sizes: with a tile for all, no loop can be wrong."""
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                yield from self._within(child)

    def _within(self, node: Any) -> Iterator[Any]:
        if isinstance(node, ast.expr):
            yield node
        for child in ast.iter_child_nodes(node):
            size = isinstance(child, ast.keyword) and (child.arg or "").isupper()
            if self.kernel or not size:
                yield from self._within(child)

    # --- what names stand for

    def _know_names(self) -> None:
        arguments = self.function.args
        self.parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for each in self.parameters:
            constexpr = each.annotation and "constexpr" in ast.unparse(each.annotation)
            self.kinds[each.arg] = "constexpr" if constexpr else "number"
            self.ranks[each.arg] = 0
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call) and last_name(node) in _ADDRESSED and node.args:
                base = node.args[0]
                while isinstance(base, ast.BinOp):
                    base = base.left
                if isinstance(base, ast.Name) and base.id in self.kinds:
                    self.kinds[base.id] = "pointer"
        kinds = (ast.Assign, ast.AugAssign, ast.For)
        made = [node for node in ast.walk(self.function) if isinstance(node, kinds)]
        # Twice: a sum that begins with 0 is a tile where tiles are added to it further down.
        self.first_set = dict.fromkeys(self.kinds, 0)  # the row in which a name gets a value
        for node in sorted(made, key=lambda each: each.lineno) * 2:
            value = ast.Constant(0) if isinstance(node, ast.For) else node.value
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for name, each in pairs_of(target, value):
                self.first_set.setdefault(name, node.lineno)
                if self.kinds.get(name, "number") == "number":
                    self.kinds[name] = self.kind(each)
                self.ranks[name] = max(self.ranks.get(name, 0), self.rank(each))

    def kind(self, value: Any) -> str:
        nodes = list(ast.walk(value))
        held = {self.kinds.get(node.id) for node in nodes if isinstance(node, ast.Name)}
        calls = {last_name(node) for node in nodes if isinstance(node, ast.Call)}
        if "load" in calls:
            return "tile"
        if "pointer" in held or "make_block_ptr" in calls:
            return "pointer"
        compares = any(isinstance(node, ast.Compare) for node in nodes)
        if (compares and "where" not in calls) or ("mask" in held and not calls):
            return "mask"
        if "tile" in held or calls & {"zeros", "full", "dot", "sum", "exp", "exp2", "rand"}:
            return "tile"
        return "index" if "arange" in calls or "index" in held else "number"

    def rank(self, node: Any) -> int:
        """How many dimensions a value has, as far as the text tells."""
        if isinstance(node, ast.Name):
            return self.ranks.get(node.id, 0)
        if isinstance(node, ast.Subscript):
            return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 0
        if isinstance(node, ast.Call):
            name, args = last_name(node), node.args
            if name in ("zeros", "full") and args and isinstance(args[0], (ast.Tuple, ast.List)):
                return len(args[0].elts)
            if name in ("arange", "dot", "join"):
                return 1 if name == "arange" else 2
            rank = max((self.rank(each) for each in args), default=0)
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "tl":
                rank = max(rank, self.rank(node.func.value))
            kept = any(keyword.arg == "keep_dims" for keyword in node.keywords)
            return max(0, rank - 1) if name in _REDUCE and not kept else rank
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        return max(map(self.rank, parts), default=0)

    def _roles(self) -> tuple[set[str], set[str]]:
        """Names of numbers that addresses are made of, and of those that values are."""
        roles: tuple[set[str], set[str]] = (set(), set())
        for statement in ast.walk(self.function):
            value = getattr(statement, "value", None)
            parts = [value] if isinstance(value, ast.expr) else []
            if isinstance(statement, ast.Call):
                parts = statement.args[:1] if last_name(statement) in _ADDRESSED else []
            for part in parts:
                names = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                loads = any(
                    isinstance(n, ast.Call) and last_name(n) == "load" for n in ast.walk(part)
                )
                if not loads:
                    roles[self.kind(part) == "tile"].update(names)
        return roles

    def alike(self, name: str) -> list[str]:
        """Names that may be meant in the place of one, the nearest first."""
        kind, scalar = self.kinds.get(name), self.is_scalar(name)
        same = {n for n, k in self.kinds.items() if k == kind or (scalar and self.is_scalar(n))}
        found = [n for n in self.kinds if n != name and n in same]
        if self.kernel and scalar:
            mine = [role for role in (self.addressed, self.valued) if name in role]
            found = [n for n in found if n not in self.read or any(n in role for role in mine)]
        return sorted(found, key=lambda n: (n in self.read, self.ranks[n] != self.ranks[name]))

    def is_set(self, name: str, node: Any) -> bool:
        """Whether a name has a value where a node stands."""
        return self.first_set.get(name, 0) < node.lineno

    def is_scalar(self, name: str, *kinds: str) -> bool:
        """Whether a name stands for one number: given, of these kinds, loaded or summed up."""
        kind = self.kinds.get(name)
        one = kind == "tile" and not self.ranks.get(name, 0)
        return one or kind in (kinds or ("number", "constexpr"))

    def goes_on(self, statement: Any, name: str) -> bool:
        """Whether a name that a loop sets was set before it."""
        loops = [n for n in ast.walk(self.function) if isinstance(n, (ast.For, ast.While))]
        first = min(
            (n.lineno for n in ast.walk(self.function) if isinstance(n, ast.Name) and n.id == name),
            default=0,
        )
        return any(first < loop.lineno < statement.lineno <= loop.end_lineno for loop in loops)


def last_name(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def pairs_of(target: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The names that an assignment makes, with what each gets."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        several = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        values = value.elts if several else [value] * len(target.elts)
        for one, other in zip(target.elts, values, strict=True):
            yield from pairs_of(one, other)
