"""What may mend a wrong answer: small changes of its own text, the likeliest first.

A mistake in another form than the solution's has no mutant that gives its results. But where one
change of the answer makes every case right, what it changes is the cause, in the learner's line.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..words import later
from .function_text import FunctionText, last_name, pairs_of

# What is said of a change: what is wrong, and never what mends it.
SAYS = {
    "operation": later("In `{line}` another operation or sign belongs in `{part}`."),
    "comparison": later("In `{line}` another comparison belongs in `{part}`."),
    "name": later("In `{line}` something else belongs in the place of `{part}`."),
    "names": later("In `{line}` `{part}` and `{other}` have changed places."),
    "number": later("In `{line}` another number than `{part}` belongs there."),
    "function": later("In `{line}` another function than `{part}` belongs there."),
    "axis": later("In `{line}` the axis of `{part}` is the wrong one."),
    "too much": later("In `{line}` `{part}` is too much."),
    "missing": later("In `{line}` a factor, a term or a divisor is missing at `{part}`."),
    "unapplied": later("In `{line}` a function or a power is missing at `{part}`."),
    "unmasked": later("In `{line}` lanes count in `{part}` that must be shut out."),
    "overwritten": later(
        "In `{line}` `{part}` forgets what it was before: it has to go on from it."
    ),
    "added": later("In `{line}` `{part}` goes on from what it was before: it has to begin anew."),
    "stale": later("In the loop that ends with `{line}`, `{part}` never gets its new value."),
    "cast": later("In `{line}` the type of `{part}` is the wrong one: digits get lost."),
    "range": later("In `{line}` the loop begins or ends at the wrong place."),
    "strides": later("In `{line}` `{part}` and `{other}` are the strides of another tensor."),
    "mask": later("In `{line}` `{part}` is not the mask that belongs there."),
    "grouped": later("In `{line}` the parentheses of `{part}` hold too much or too little."),
    "order": later("`{line}` stands too early or too late: look at the lines around it."),
}
MOST = 100  # characters of a line

_SIGNS = {
    ast.Add: "-*", ast.Sub: "+", ast.Mult: "/+", ast.Div: "*", ast.FloorDiv: "%", ast.Mod: ("//",),
    ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: (">>",), ast.RShift: ("<<",),
}  # fmt: skip
_COMPARED = {
    ast.Lt: ("<=", ">=", ">"), ast.LtE: ("<", ">", ">="),
    ast.Gt: (">=", "<=", "<"), ast.GtE: (">", "<", "<="),
    ast.Eq: ("!=",), ast.NotEq: ("==",),
}  # fmt: skip
_TURNED = {ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
_WRITTEN = {**_TURNED, ast.Add: "+", ast.Mult: "*"}
_SUMS = (ast.Add, ast.Sub)
_LANES = re.compile(r"(?:\w+\.)*arange\(0, (\w+)\)")
_STRIDE = re.compile(r"stride_(\w+)(\w)")
_FUNCTIONS = {
    "exp": ("exp2",), "exp2": ("exp",), "log": ("log2",), "log2": ("log",),
    "rsqrt": ("sqrt",), "sqrt": ("rsqrt",), "max": ("sum", "min"), "min": ("max", "sum"),
    "sum": ("max",), "maximum": ("minimum",), "minimum": ("maximum",),
    "floor": ("ceil",), "ceil": ("floor",), "argmax": ("argmin",), "argmin": ("argmax",),
}  # fmt: skip
_EXPONENTS = ("exp", "exp2", "sigmoid")
_RESTS = ("0.0", "1.0", 'float("-inf")', 'float("inf")')  # what a sum, product or maximum keeps
_BOUNDS = ("maximum", "minimum")
_REDUCED = ("sum", "max", "min", "dot")
_DROPPED = ("maximum", "minimum", "sqrt", "exp", "abs", "log", "rsqrt", "sigmoid", "trans")
_ROUND = ("tl.sqrt({})", "tl.exp({})", "tl.abs({})", "tl.log({})", "({0}) * ({0})")


@dataclass(frozen=True)
class Mend:
    """A changed text, the line in which it is, and what is said of that."""

    text: str
    line: str
    kind: str
    part: str
    other: str = ""

    @property
    def says(self) -> str:
        """What a learner is told of it."""
        return SAYS[self.kind].format(line=self.line, part=self.part, other=self.other)


def mends(
    text: str, given: Collection[str], lines: Collection[str], said: str = ""
) -> Iterator[Mend]:
    """Changes of one place in a file, each text once.

    given: names of functions that are not the learner's; lines: those that a page gives, squeezed.
    said: the finding; what it quotes, and what makes the names in that, comes first.
    """
    found = [
        _Function(text, node, lines)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name not in given
    ]
    found.sort(key=lambda each: not each.kernel)  # kernels before what launches them
    seen = {text}
    # By how often each change was the mend of a mistake, for one that was tried.
    first = (
        _Function.likely,
        _Function.unread,
        _Function.too_much,
        _Function.regrouped,
        _Function.numbers,
    )
    then = (
        _Function.exchanged,
        _Function.unscaled,
        _Function.gone,
        _Function.renamed,
        _Function.by_one,
        _Function.masked,
    )
    last = (
        _Function.unapplied,
        _Function.counted,
        _Function.moved,
        _Function.missing,
    )
    near = [part for each in found for part in each.near(said)]
    order = [*itertools.product(near, first), *itertools.product(near, then)]
    order += [(each, rank) for rank, each in itertools.product(first, found)]
    order += itertools.product(near, last)
    order += [(each, rank) for rank, each in itertools.product((*then, *last), found)]
    for each, rank in order:
        for mend in rank(each):
            if mend.text not in seen:
                seen.add(mend.text)
                yield mend


class _Function(FunctionText):
    """One function of an answer, and what may be changed in it."""

    def _line(self, node: Any) -> str:
        line = " ".join(self.rows[node.lineno - 1].split("  #")[0].split())
        return line if len(line) <= MOST else f"{line[: MOST - 3]}..."

    def _instead(self, node: Any, text: str, kind: str, part: str = "") -> Mend:
        begin, end = self.span(node)
        changed = self.text[:begin] + text + self.text[end:]
        part = " ".join((part or self.source(node)).split())
        return Mend(changed, self._line(node), kind, part)

    def _swapped(self, one: Any, two: Any, kind: str = "names") -> Mend:
        (a, b), (c, d) = self.span(one), self.span(two)
        text = self.text
        changed = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        return Mend(changed, self._line(one), kind, text[a:b], text[c:d])

    @functools.cached_property
    def lanes(self) -> dict[str, str]:
        """Names of lanes that are counted from 0, with how many there are."""
        made = (node for node in ast.walk(self.function) if isinstance(node, ast.Assign))
        pairs = (pair for node in made for pair in pairs_of(node.targets[0], node.value))
        found = ((name, _LANES.fullmatch(self.source(value))) for name, value in pairs)
        return {name: counted[1] for name, counted in found if counted}

    def near(self, said: str) -> Iterator[_Function]:
        """The statements that a sentence quotes, then those that make their names, and theirs."""
        quoted = [each.removesuffix("...") for each in re.findall(r"`([^`]+)`", said)]
        rows = {node: " ".join(self.rows[node.lineno - 1].split()) for node in self.statements}
        quoted = [each for each in quoted if len(each) > 9]  # lines, not names
        part = [node for node, row in rows.items() if any(map(row.startswith, quoted))]
        seen: list[Any] = []
        for _ in range(4):
            if not part:
                return
            alone = copy.copy(self)
            alone.statements = part
            yield alone
            seen += part
            read = {node.id for node in _names(part) if isinstance(node.ctx, ast.Load)}
            part = [n for n in self.statements if n not in seen and read & _made(n)]

    def likely(self) -> Iterator[Mend]:
        """One sign, comparison, function, axis, `=` for `+=`, or number."""
        source = self.source
        for statement in self.statements:
            yield from self._whole(statement)
        nodes = [node for each in self.statements for node in self.expressions(each)]
        for node in nodes:
            if isinstance(node, ast.BinOp):
                left, right = self.operand(node.left), self.operand(node.right)
                for sign in _SIGNS.get(type(node.op), ()):
                    if right != "1" or sign not in "*/":  # that is: `1` is too much
                        yield self._instead(node, f"({left} {sign} {right})", "operation")
                if isinstance(node.op, ast.FloorDiv):
                    cdiv = "tl.cdiv" if self.kernel else "triton.cdiv"
                    yield self._instead(node, f"{cdiv}({left}, {right})", "operation")
                if isinstance(node.right, ast.Constant):
                    yield self._instead(node, left, "too much", right)
                yield from self._first_lane(node)
                name = node.right.id if isinstance(node.right, ast.Name) else ""
                if self.kernel and isinstance(node.op, _SUMS) and self.is_scalar(name):
                    yield self._instead(node.right, "1", "name")
                size = ast.unparse(node.right)
                if self.kernel and isinstance(node.op, ast.Mult) and size.isupper():
                    for step in "+-":  # the tile before or behind
                        changed = f"(({source(node.left)} {step} 1) * {right})"
                        yield self._instead(node, changed, "number", left)
            elif isinstance(node, ast.Compare) and len(node.ops) == 1:
                for sign in _COMPARED.get(type(node.ops[0]), ()):
                    changed = f"{source(node.left)} {sign} {source(node.comparators[0])}"
                    yield self._instead(node, changed, "comparison")
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.Subscript) and source(node.slice) in (":, None", "None, :"):
                turned = "None, :" if source(node.slice) == ":, None" else ":, None"
                yield self._instead(node, f"{source(node.value)}[{turned}]", "axis")
            elif isinstance(node, ast.Constant) and type(node.value) is float:
                yield from self._numbers(node)

    def _first_lane(self, node: ast.BinOp) -> Iterator[Mend]:
        """The number of a tile, where that of its first lane belongs."""
        lanes, first = self.source(node.right), self.source(node.left)
        counted = _LANES.search(lanes)
        size = counted[1] if counted else self.lanes.get(lanes, "")
        if isinstance(node.op, ast.Add) and size and not re.search(rf"\b{size}\b", first):
            yield self._instead(node, f"({first}) * {size} + {lanes}", "missing", first)

    def regrouped(self) -> Iterator[Mend]:
        """Parentheses around more or less of a sum; two neighbouring lines that change places."""
        for statement in self.statements:
            for node in self.expressions(statement):
                if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
                    yield from self._closed_earlier(node)
                terms = isinstance(node, ast.BinOp) and type(node.op) in _WRITTEN
                if terms and self.kind(node.left) != "pointer":
                    for text in self._otherwise_grouped(node):
                        yield self._instead(node, f"({text})", "grouped")
        for one, two in itertools.pairwise(self.statements):
            plain = all(isinstance(each, (ast.Assign, ast.AugAssign)) for each in (one, two))
            beside = one.end_lineno + 1 == two.lineno and one.col_offset == two.col_offset
            if plain and beside and _depend(one, two):
                yield self._swapped(one, two, "order")

    def _closed_earlier(self, call: ast.Call) -> Iterator[Mend]:
        """`f(a) - b` in the place of `f(a - b)`; what stands before it binds as it is written."""
        part = call.args[0]
        if isinstance(part, ast.BinOp) and type(part.op) in _WRITTEN:
            (begin, _), (_, end) = self.span(call), self.span(part.left)
            rest = self.text[end : self.span(part)[1]]
            if rest.count("(") == rest.count(")"):
                yield self._instead(call, f"{self.text[begin:end]}){rest}", "grouped")

    def _otherwise_grouped(self, node: ast.BinOp) -> Iterator[str]:
        sign, left, right = _WRITTEN[type(node.op)], node.left, node.right
        a, b = self.operand(left), self.operand(right)
        sums = isinstance(node.op, _SUMS)
        for side in (left, right):
            if not isinstance(side, ast.BinOp) or type(side.op) not in _WRITTEN:
                continue
            if isinstance(side.op, _SUMS) == sums:
                continue
            inner = _WRITTEN[type(side.op)]
            c, d = self.operand(side.left), self.operand(side.right)
            if side is left:
                yield f"{c} {inner} ({d} {sign} {b})"
            else:
                yield f"({a} {sign} {c}) {inner} {d}"
        if sums and isinstance(left, ast.Call) and left.args:
            begin, end = self.span(left.args[0])
            first, last = self.span(left)
            inside = f"{self.text[begin:end]} {sign} {b}"
            yield self.text[first:begin] + inside + self.text[end:last]

    def numbers(self) -> Iterator[Mend]:
        """Another number, or its sign."""
        for node in (node for each in self.statements for node in self.expressions(each)):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                yield from self._numbers(node)
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                yield self._instead(node, self.source(node.operand), "operation")
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and self.kernel:
                yield self._instead(node, f"({self.source(node)} * 2)", "missing")

    def _whole(self, statement: Any) -> Iterator[Mend]:
        source = self.source
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name, value = statement.targets[0].id, source(statement.value)
            if self.goes_on(statement, name):
                for form in ("{0} + {1}", "tl.maximum({0}, {1})"):
                    changed = f"{name} = {form.format(name, value)}"
                    yield self._instead(statement, changed, "overwritten", name)
        elif isinstance(statement, ast.AugAssign):
            target = source(statement.target)
            yield self._instead(statement, f"{target} = {source(statement.value)}", "added", target)
        elif isinstance(statement, ast.For):
            yield from self._loop(statement)

    def _loop(self, loop: ast.For) -> Iterator[Mend]:
        call = loop.iter
        if isinstance(call, ast.Call) and last_name(call) == "range" and not call.keywords:
            parts = [self.source(arg) for arg in call.args]
            parts = ["0", *parts] if len(parts) == 1 else parts
            begin, end, step = [*parts, "1"][:3]
            changes = [(begin, f"{end} + {step}"), ("0", end), (begin, f"{end} + 1")]
            changes += [
                (begin, f"{end} - {step}"),
                (begin, f"{end} - 1"),
                (f"{begin} + {step}", end),
            ]
            changes += [(name, end) for name in self._unread()]
            if self.kernel and begin != "0":
                changes += [(begin, f"{begin} + {size}") for size in self._sizes() if size != step]
            if self.kernel and "-" in begin:
                changes.append((f"tl.maximum({begin}, 0)", end))
            for first, final in changes:
                text = f"{self.source(call.func)}({first}, {final}, {step})"
                yield self._instead(call, text, "range")
        names = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        fixed = {each.arg for each in self.parameters}
        last: Any = loop.body[-1]
        for name, new in itertools.product(sorted(read - made - fixed), sorted(made)):
            kind = self.kinds.get(name, "")
            same = self.ranks.get(name) == self.ranks.get(new)
            if same and kind in ("tile", "number") and self.kinds.get(new) in ("tile", "number"):
                line = f"{self.source(last)}\n{' ' * last.col_offset}{name} = {new}"
                yield self._instead(last, line, "stale", name)

    def _numbers(self, node: ast.Constant) -> Iterator[Mend]:
        value: Any = node.value
        if type(value) is int:
            near: list[Any] = [value + 1, value - 1, value * 2, value // 2]
        else:
            near = [value * 2, value / 2, value * 10, value / 10, value + 1, value - 1, -value]
        for other in dict.fromkeys(near):
            other = float(f"{other:.12g}") if type(value) is float else other
            if other != value and (self.kernel or type(value) is float):
                yield self._instead(node, repr(other), "number")

    def _call(self, node: ast.Call) -> Iterator[Mend]:
        source, name = self.source, last_name(node)
        if self.kernel and name in _BOUNDS and self.kind(node) != "tile":
            return  # with a bound that is too wide no loop can be wrong
        function, args = source(node.func), [source(each) for each in node.args]
        prefix = function[: len(function) - len(name)]
        if other := _FUNCTIONS.get(name) if self.kernel else ():
            _, end = self.span(node.func)
            rest = self.text[end : self.span(node)[1]]
            for each in other:
                yield self._instead(node, f"{prefix}{each}{rest}", "function", function)
        if name in _EXPONENTS and self.kernel and len(args) == 1:
            yield self._instead(node, f"{function}(-({args[0]}))", "operation")
        if name == "to" and isinstance(node.func, ast.Attribute):
            yield self._instead(node, source(node.func.value), "cast")
        elif name == "cdiv" and len(args) == 2:
            yield self._instead(node, f"({args[0]} // {args[1]})", "operation")
        elif name == "where" and len(args) == 3:
            yield self._instead(node, f"{function}({args[0]}, {args[2]}, {args[1]})", "operation")
            yield self._instead(node, args[1], "too much")
            for each in node.args[1:]:
                if isinstance(each, ast.Constant) or source(each) in _RESTS:
                    yield from self._rest(each, source(each))
        elif name == "full" and len(args) > 1:
            yield from self._rest(node.args[1], args[1])
        elif name == "zeros" and args and self.kernel:
            rest = "".join(f", {source(each)}" for each in [*node.args[1:], *node.keywords])
            for value in _RESTS[1:3]:
                full = f"{prefix}full({args[0]}, {value}{rest})"
                yield self._instead(node, full, "number", function)
        elif name in _DROPPED and self.kernel:
            for each in args:
                yield self._instead(node, each, "too much", function)
        elif name == "load":
            yield self._instead(node, f"{source(node)}.to(tl.float32)", "cast")
        for keyword in node.keywords:
            text = source(keyword.value)
            if keyword.arg == "other":
                yield from self._rest(keyword.value, f"other={text}")
            elif keyword.arg in ("axis", "dim") and text in ("0", "1"):
                yield self._instead(keyword.value, "10"[int(text)], "axis", source(node))

    def _rest(self, node: Any, part: str) -> Iterator[Mend]:
        """What stands for nothing, in the place of another such number."""
        for value in _RESTS:
            if value != self.source(node):
                yield self._instead(node, value, "number", part)

    def exchanged(self) -> Iterator[Mend]:
        """Two names that have changed places, or the strides of another tensor."""
        for statement in self.statements:
            found = [
                node
                for node in self.expressions(statement)
                if isinstance(node, ast.Name) and node.id in self.kinds
            ]
            found.sort(key=lambda node: (node.lineno, node.col_offset))
            for at, one in enumerate(found):
                for two in found[at + 1 : at + 5]:
                    if two.id in self.alike(one.id) or self._in_addresses(one, two):
                        yield self._swapped(one, two)
        for one, two in zip(self.statements, self.statements[1:], strict=False):
            both = isinstance(one, ast.Assign) and isinstance(two, ast.Assign)
            if both and one.col_offset == two.col_offset and one.end_lineno + 1 == two.lineno:
                yield self._swapped(one.targets[0], two.targets[0])
        for statement in self.statements:
            yield from self._strides(statement)

    def _in_addresses(self, one: ast.Name, two: ast.Name) -> bool:
        kinds = {self.kinds[one.id], self.kinds[two.id]}
        return self.kernel and "index" in kinds and kinds <= {"index", "number", "constexpr"}

    def _strides(self, statement: Any) -> Iterator[Mend]:
        """All strides of a tensor in a statement, as those of another one."""
        nodes = [n for n in self.expressions(statement) if isinstance(n, ast.Name)]
        found = [(node, match) for node in nodes if (match := _STRIDE.fullmatch(node.id))]
        found.sort(key=lambda each: self.span(each[0]))
        tensors = {match[1] for name in self.kinds if (match := _STRIDE.fullmatch(name))}
        for tensor in dict.fromkeys(match[1] for _, match in found):
            mine = [(node, match[2]) for node, match in found if match[1] == tensor]
            for other in sorted(tensors - {tensor}) if len(mine) > 1 else ():
                if all(f"stride_{other}{axis}" in self.kinds for _, axis in mine):
                    text = self.text
                    for node, axis in reversed(mine):
                        begin, end = self.span(node)
                        text = f"{text[:begin]}stride_{other}{axis}{text[end:]}"
                    first, last = mine[0][0], mine[-1][0]
                    yield Mend(text, self._line(first), "strides", first.id, last.id)

    def unread(self) -> Iterator[Mend]:
        """A name that nothing reads, in the place of another or of a number, or missing."""
        for node in (node for each in self.statements for node in self.expressions(each)):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                for other in self._unread():
                    if self.is_set(other, node):
                        yield self._instead(node, other, "number")
        for node, other in self._renamings():
            if other not in self.read:
                yield self._instead(node, other, "name")
        for value in self._all_places():
            for name, signs in self._terms(value):
                if name not in self.read:
                    yield from self._with(value, name, signs)
                    if self.kind(value) in ("index", "number") and self.kernel:
                        yield from self._with(value, name, ("//", "%"))

    def _renamings(self) -> Iterator[tuple[ast.Name, str]]:
        for node in (node for each in self.statements for node in self.expressions(each)):
            read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            if read and not (self.kernel and self.kinds.get(node.id) == "mask"):
                names = (other for other in self.alike(node.id) if self.is_set(other, node))
                yield from ((node, other) for other in names)

    def renamed(self) -> Iterator[Mend]:
        """Another name; lanes that have one already."""
        for node, other in self._renamings():
            yield self._instead(node, other, "name")
        for node in (node for each in self.statements for node in self.expressions(each)):
            square = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
            if square and isinstance(node.left, ast.Name) and self.kernel:
                name = node.left.id
                for other in self.alike(name) if self.source(node.right) == name else ():
                    yield self._instead(node, f"{other} * {other}", "name", name)
            elif isinstance(node, ast.Call) and last_name(node) == "arange":
                for other in (n for n, k in self.kinds.items() if k == "index"):
                    if self.ranks[other] == 1:
                        yield self._instead(node, other, "name")

    def _unread(self) -> list[str]:
        """Numbers that were given or made for something, and serve for nothing."""
        return [n for n in self.kinds if self.is_scalar(n, "number") and n not in self.read]

    def _sizes(self) -> list[str]:
        return [n for n, kind in self.kinds.items() if kind == "constexpr" and n.isupper()]

    def masked(self) -> Iterator[Mend]:
        """Another mask, or one that asks more of the lanes."""
        if not self.kernel:
            return
        compared = [
            (node.left.id, node.comparators[0].id)
            for node in ast.walk(self.function)
            if isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Name)
            and isinstance(node.comparators[0], ast.Name)
        ]
        indices = [name for name, kind in self.kinds.items() if kind == "index"]
        pairs = dict.fromkeys([*itertools.product(indices, self._unread()), *compared])
        for statement in self.statements:
            for value, shaped in self._masks(statement):
                text = self.source(value)
                for index, most in pairs:
                    shapes = self._shapes(index, shaped) if index in self.kinds else ()
                    for shape in shapes:
                        asked = f"({index} < {most}){shape}"
                        yield self._instead(value, asked, "mask")
                        yield self._instead(value, f"({text}) & {asked}", "mask")
                for name in (n for n, k in self.kinds.items() if k == "mask" and n not in text):
                    for shape in self._shapes(name, shaped):
                        yield self._instead(value, f"({text}) & {name}{shape}", "mask")

    def _masks(self, statement: Any) -> Iterator[tuple[Any, Any]]:
        """The masks in a statement, and what has the same shape."""
        made = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        if made and self.kinds.get(statement.targets[0].id) == "mask":
            yield statement.value, statement.value
        for node in self.expressions(statement):
            if isinstance(node, ast.Call) and node.args:
                masks = [each.value for each in node.keywords if each.arg == "mask"]
                yield from ((mask, node.args[0]) for mask in masks)

    def gone(self) -> Iterator[Mend]:
        """A factor of a sum that goes on through a loop."""
        for value in self._all_places():
            if isinstance(value, ast.Name) and value.id in self.carried:
                for name, _ in self._terms(value):
                    if self.kinds[name] == "tile":
                        yield from self._with(value, name, "*")
        for statement in self.statements:
            name = getattr(getattr(statement, "target", None), "id", "")
            if isinstance(statement, ast.AugAssign) and name in self.carried and self.kernel:
                value = self.source(statement.value)
                for factor in (n for n, k in self.kinds.items() if k == "tile" and n != name):
                    for shape in self._shapes(factor, statement.target):
                        changed = f"{name} = {name} * {factor}{shape} + {value}"
                        yield self._instead(statement, changed, "missing", name)

    def by_one(self) -> Iterator[Mend]:
        """One more or one less in an index, a bound or a number of elements."""
        for statement in self.statements:
            for value in self._wholes(statement):
                if self.kind(value) in ("index", "number"):
                    for sign in "+-":
                        changed = f"({self.source(value)} {sign} 1)"
                        yield self._instead(value, changed, "missing")

    def _wholes(self, statement: Any) -> Iterator[Any]:
        """Whole sums in a statement, what it compares, and what it gives to functions."""
        inner = set()
        for node in self.expressions(statement):
            if isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS):
                if node not in inner:
                    yield node
                inner |= {node.left, node.right}
            elif isinstance(node, ast.Compare):
                yield from (each for each in node.comparators if isinstance(each, ast.Name))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from (each for each in node.args if isinstance(each, ast.Name))

    def moved(self) -> Iterator[Mend]:
        """A line that belongs two to four lines further up or down."""
        for at, one in enumerate(self.statements):
            for step in (2, 3, 4):
                run = self.statements[at : at + step + 1]
                if len(run) == step + 1 and self._in_a_row(run):
                    first, last = run[1], run[-1]
                    depends = any(_depend(one, each) for each in run[1:])
                    if depends:
                        yield self._rolled(one, first, last, one)
                    if any(_depend(last, each) for each in run[:-1]):
                        yield self._rolled(one, last, last, last)

    def _in_a_row(self, run: list[Any]) -> bool:
        plain = all(isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr)) for each in run)
        column = {each.col_offset for each in run}
        rising = all(a.end_lineno < b.lineno for a, b in itertools.pairwise(run))
        return plain and len(column) == 1 and rising

    def _rolled(self, one: Any, cut: Any, last: Any, line: Any) -> Mend:
        """What stands from `cut` to `last`, put before what begins with `one`."""
        (begin, _), (at, _), (_, end) = self.span(one), self.span(cut), self.span(last)
        text, indent = self.text, " " * one.col_offset
        upper, lower = text[begin:at].rstrip(), text[at:end]
        changed = f"{text[:begin]}{lower}\n{indent}{upper}{text[end:]}"
        return Mend(changed, self._line(line), "order", "")

    def missing(self) -> Iterator[Mend]:
        """A factor or a term that is missing."""
        for sign, value in itertools.product("*+/-", self._all_places()):
            for name, signs in self._terms(value):
                if sign in signs:
                    yield from self._with(value, name, sign)

    def unscaled(self) -> Iterator[Mend]:
        """A size or a stride by which an index is multiplied."""
        for value in self._all_places() if self.kernel else ():
            if self.kind(value) in ("index", "number"):
                for name, signs in self._terms(value):
                    if "*" in signs:
                        yield from self._with(value, name, "*")

    def _with(self, value: Any, name: str, signs: Sequence[str]) -> Iterator[Mend]:
        text = self.source(value)
        for shape, sign in itertools.product(self._shapes(name, value), signs):
            if text != name and self.is_set(name, value):
                yield self._instead(value, f"({text} {sign} {name}{shape})", "missing")

    def _all_places(self) -> list[Any]:
        return [value for each in self.statements for value in self._places(each)]

    def _places(self, statement: Any) -> Iterator[Any]:
        """What a statement makes, the parts of its sums and products, what its calls take."""
        made = isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)) and statement.value
        bare = (ast.Tuple,) if isinstance(statement, ast.AugAssign) else (ast.Tuple, ast.Name)
        if made and not isinstance(made, bare):
            yield made
        for node in self.expressions(statement):
            if isinstance(node, ast.Call) and self.kernel:
                if last_name(node) == "to" and isinstance(node.func, ast.Attribute):
                    yield node.func.value
                elif isinstance(node.func, ast.Name):  # another kernel of the answer's
                    yield from node.args
                else:
                    yield from node.args[:2] if last_name(node) == "store" else node.args[:1]
            elif isinstance(node, ast.BinOp):
                yield from (node.left, node.right)

    def _terms(self, value: Any) -> Iterator[tuple[str, str]]:
        """Names that may be missing in an expression, and with which signs."""
        kind = self.kind(value)
        if not self.kernel:
            kind = "wrapper"
        for name, other in self.kinds.items():
            number = other in ("number", "constexpr")
            unread = name not in self.read
            if kind == "tile" and other == "tile":
                yield name, "*-/+"
            elif kind == "tile" and number and (unread or name in self.valued):
                yield name, "*/+"
            elif kind in ("index", "number", "pointer") and number:
                if unread or name in self.addressed:
                    yield name, "*+" if kind != "pointer" else "+"
            elif kind in ("index", "pointer") and other == "index":
                yield name, "+"
            elif kind == "wrapper" and number:
                yield name, "*"

    def _shapes(self, name: str, value: Any) -> tuple[str, ...]:
        mine, its = self.ranks.get(name, 0), self.rank(value)
        if mine == 1 and its == 2:
            return "[:, None]", "[None, :]"
        return ("",) if mine in (0, its) else ()

    def too_much(self) -> Iterator[Mend]:
        """One side of a sum, product or quotient alone, or the two the other way round."""
        for node in (node for each in self.statements for node in self.expressions(each)):
            if isinstance(node, ast.BinOp):
                left, right = self.source(node.left), self.source(node.right)
                yield self._instead(node, left, "too much", right)
                yield self._instead(node, right, "too much", left)
                if sign := _TURNED.get(type(node.op)):
                    turned = f"({self.operand(node.right)} {sign} {self.operand(node.left)})"
                    yield self._instead(node, turned, "operation")

    def unapplied(self) -> Iterator[Mend]:
        """A root, a square or another function that is missing."""
        for value in self._all_places() if self.kernel else ():
            if self.kind(value) == "tile":
                for form in _ROUND:
                    yield self._instead(value, form.format(self.source(value)), "unapplied")
            elif self.kind(value) == "number" and isinstance(getattr(value, "op", None), ast.Sub):
                yield self._instead(value, f"tl.maximum({self.source(value)}, 0)", "unapplied")

    def counted(self) -> Iterator[Mend]:
        """A mask that has to shut lanes out."""
        masks = [name for name, kind in self.kinds.items() if kind == "mask"]
        values = []
        for statement in self.statements if masks and self.kernel else ():
            if isinstance(statement, ast.Assign):
                values.append(statement.value)
            calls = (node for node in self.expressions(statement) if isinstance(node, ast.Call))
            values += [call.args[0] for call in calls if last_name(call) in _REDUCED and call.args]
        for value in values:
            if self.kind(value) == "tile":
                for mask, rest in itertools.product(masks, ("0.0", 'float("-inf")')):
                    for shape in self._shapes(mask, value):
                        changed = f"tl.where({mask}{shape}, {self.source(value)}, {rest})"
                        yield self._instead(value, changed, "unmasked")


def _names(statements: Iterable[Any]) -> Iterator[ast.Name]:
    nodes = (node for each in statements for node in ast.walk(each))
    return (node for node in nodes if isinstance(node, ast.Name))


def _made(statement: Any) -> set[str]:
    """The names that a statement sets, without those that statements within set."""
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return {node.id for node in _names(filter(None, targets))}


def _depend(one: Any, two: Any) -> bool:
    """Whether one of two statements reads what the other sets."""
    return bool(_made(one) & set(_loaded(two)) or _made(two) & set(_loaded(one)))


def _loaded(statement: Any) -> Iterator[str]:
    return (node.id for node in _names([statement]) if isinstance(node.ctx, ast.Load))
