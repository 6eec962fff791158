"""Cut regions out of cells: solutions become gaps, hidden tests get a region of their own.

A region is what stands between two marker lines. The learner's text of an answer keeps the comments
above the gap (`# TODO ...`) and gets `# YOUR CODE HERE` and one line that can stay there: `pass` in
a Triton kernel, because a kernel with a `raise` in it does not compile, and in any other function
an error that names the function. A gap outside every function holds whole functions, which the
learner writes from nothing: nothing stands in their place.

Where a learner mends what is there, a region says both: below a line `### BROKEN`, as comments,
stand the lines that the learner gets in its place, without a word of where they begin or end.

A region that cannot be cut raises Slip with a line of the cell's source.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass

from .source import Slip

Function = ast.FunctionDef | ast.AsyncFunctionDef
LEAVING = (ast.Return, ast.Raise)  # statements at which a function always ends
BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
BROKEN = "### BROKEN"
YOUR_CODE = "# YOUR CODE HERE"


@dataclass(frozen=True)
class Gap:
    """One solution region: its marker lines (from 1), indentation and the function around it.

    Around a gap that holds whole functions there is none. broken: the lines that the learner gets
    in its place, where there is something to mend.
    """

    begin: int
    end: int
    indent: str
    function: Function | None
    broken: tuple[str, ...] | None

    @property
    def stub(self) -> list[str]:
        """The line that stands in the gap, if any does."""
        if self.function is None:
            return []
        return [stub_of(self.function, self.indent)]


def stub_of(function: Function, indent: str) -> str:
    """The line that stands in an open gap of a function."""
    if is_kernel(function):
        return f"{indent}pass"
    return f'{indent}raise NotImplementedError("TODO: fill in {function.name}")'


def regions(text: str, begin: str, end: str) -> list[tuple[int, int]]:
    """The line numbers, from 1, of each pair of markers. Raises Slip where they do not pair."""
    found: list[tuple[int, int]] = []
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == begin:
            if opened is not None:
                raise Slip(number, f"'{begin}' inside a region", f"close it with '{end}' first")
            opened = number
        elif line.strip() == end:
            if opened is None:
                raise Slip(number, f"'{end}' without its beginning", f"add '{begin}' above")
            found.append((opened, number))
            opened = None
        elif begin.strip("# ") in line or end.strip("# ") in line:
            raise Slip(number, "a marker is misspelt", f"write '{begin}' or '{end}', alone")
    if opened is not None:
        raise Slip(opened, f"'{begin}' is never closed", f"add '{end}' below")
    return found


@functools.cache
def gaps(text: str) -> tuple[Gap, ...]:
    """The solution regions of an answer cell, in order."""
    pairs = regions(text, BEGIN_SOLUTION, END_SOLUTION)
    tree, lines = ast.parse(text), text.splitlines()
    return tuple(_gap(tree, lines, begin, end) for begin, end in pairs)


def _mended_until(lines: list[str], begin: int, end: int) -> int:
    """The line that ends what a region holds as solved: `### BROKEN`, or the region's own end."""
    return next((n for n in range(begin + 1, end) if lines[n - 1].strip() == BROKEN), end)


def _broken(lines: list[str], begin: int, end: int, indent: str) -> tuple[str, ...] | None:
    """The lines below `### BROKEN` without their `# `; None where a region has none."""
    start = _mended_until(lines, begin, end)
    if start == end:
        return None
    found = []
    for number, line in enumerate(lines[start : end - 1], start + 1):
        if line.strip() not in ("", "#") and not line.startswith(f"{indent}# "):
            raise Slip(number, "a broken line is no comment", "begin it with '# '")
        found.append((indent + line[len(indent) + 2 :]).rstrip())
    return tuple(found)


def _gap(tree: ast.Module, lines: list[str], begin: int, end: int) -> Gap:
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno < begin <= (node.end_lineno or 0)
    ]
    if not inside:
        held = [
            node for node in tree.body if begin < node.lineno and (node.end_lineno or end) < end
        ]
        if not held or not all(isinstance(node, ast.FunctionDef) for node in held):
            problem = "a gap outside every function holds something else than functions"
            raise Slip(begin, problem, "move it into one")
        return Gap(begin, end, "", None, _broken(lines, begin, end, ""))
    owner = max(inside, key=lambda node: node.lineno)  # the innermost
    whole = [
        node
        for node in ast.walk(owner)
        if isinstance(node, ast.stmt) and begin < node.lineno and (node.end_lineno or end) < end
    ]
    if not whole:
        problem = f"the gap in {owner.name} holds no whole statement"
        raise Slip(begin, problem, "put the markers around complete statements")
    first = min(whole, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    marker = lines[begin - 1]
    indent = marker[: len(marker) - len(marker.lstrip())]
    if len(indent) != first.col_offset:
        raise Slip(begin, "the marker is indented unlike its code", "align it with the code")
    broken = _broken(lines, begin, end, indent)
    if not is_kernel(owner) and broken is None and first not in owner.body:
        problem = f"the gap in {owner.name} stands inside a block of that function"
        raise Slip(begin, problem, "let it hold the whole block (only kernels may do otherwise)")
    return Gap(begin, end, indent, owner, broken)


def is_kernel(function: Function) -> bool:
    """Is the function decorated with `triton.jit` or `gluon.jit` (with or without arguments)?"""
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(target) in ("triton.jit", "jit", "gluon.jit"):
            return True
    return False


def learner_text(text: str) -> str:
    """An answer cell as the learner gets it: each solution is a gap that can stay unfilled."""
    lines = text.splitlines()
    for gap in reversed(gaps(text)):
        given = [gap.indent + YOUR_CODE, *gap.stub] if gap.broken is None else gap.broken
        lines[gap.begin - 1 : gap.end] = given
        try:
            ast.parse("\n".join(lines))
        except SyntaxError:
            problem = "the gap cuts a statement in two"
            mend = "put the markers around complete statements"
            raise Slip(gap.begin, problem, mend) from None
    return "\n".join(lines)


def solved_text(text: str) -> str:
    """An answer cell as solved, without the marker lines and the TODO comments above them."""
    lines = text.splitlines()
    for begin, end in reversed(regions(text, BEGIN_SOLUTION, END_SOLUTION)):
        del lines[_mended_until(lines, begin, end) - 1 : end]
        del lines[_first_todo(lines, begin - 1) : begin]
    return "\n".join(lines)


def _first_todo(lines: list[str], marker: int) -> int:
    """Where the `# TODO` comments right above the marker line begin (the marker where none are)."""
    first = top = marker
    while top > 0 and lines[top - 1].lstrip().startswith("#"):
        top -= 1
        if lines[top].lstrip().startswith("# TODO"):
            first = top
    return first


def instructor_text(text: str) -> str:
    """An answer cell for nbgrader's source notebook, with markers, solutions and stubs.

    `nbgrader generate_assignment` puts one and the same comment in place of every region. The stub
    that the learner gets, and whatever the learner keeps of the function, stand below the region.
    In a kernel that stub is a `pass`, which does the solution no harm. In another function it is an
    error, so there the region goes on to the function's end and returns before it.
    """
    lines = text.splitlines()
    found = gaps(text)
    if any(gap.broken is not None for gap in found):
        return _mended_at_the_end(text, found)
    for gap in reversed(found):
        below = gap.stub
        if gap.function and not is_kernel(gap.function):
            rest = "\n".join(text.splitlines()[gap.end : gap.function.end_lineno])
            solved = solved_text(rest).splitlines()
            if not isinstance(gap.function.body[-1], LEAVING):
                solved.append(f"{gap.indent}return")
            below = [*solved, lines[gap.end - 1], *below]
            lines[gap.end - 1 : gap.end] = below
        else:
            lines[gap.end : gap.end] = below
    return "\n".join(lines)


def _mended_at_the_end(text: str, found: list[Gap]) -> str:
    """An instructor's text of an answer that is to be mended.

    A region where the mistake sits would show the learner its place. So the broken cell stands as
    the learner gets it, and the region in its last function goes on with the whole cell mended.
    """
    *others, last = found
    lines = text.splitlines()
    top = last.function.lineno - 1 if last.function else 0
    above = solved_text("\n".join(lines[:top])).rstrip()
    body = ast.parse(above).body
    wrapper = body[-1] if body else None
    plain = isinstance(wrapper, ast.FunctionDef) and not is_kernel(wrapper)
    if last.broken is not None or any(gap.broken is None for gap in others) or not plain:
        problem = "an answer that is to be mended has no last function with a gap of its own"
        mend = "end the cell with one, below the wrapper"
        raise Slip(last.begin, problem, mend)
    if not isinstance(wrapper.body[-1], LEAVING):
        above += f"\n{last.indent}return"  # the stub of the gap stands below it
    given = learner_text(text).splitlines()
    at = given.index(last.indent + YOUR_CODE)
    region = [*lines[last.begin - 1 : last.end - 1], "", "", above, lines[last.end - 1]]
    return "\n".join([*given[:at], *region, *given[at + 1 :]])


def with_hidden(text: str) -> str:
    """A check cell with the hidden tests' region below it; an instructor may add lines there.

    The call of `check`, which is all that such a cell holds, is asked for the hidden cases.
    """
    hidden = re.sub(r"^check\((\w+)\)$", r"check(\1, hidden=True)", text)
    return "\n".join([text, BEGIN_HIDDEN, hidden, END_HIDDEN])


def without_hidden(text: str) -> str:
    """A check cell without its hidden tests."""
    lines = text.splitlines()
    for begin, end in reversed(regions(text, BEGIN_HIDDEN, END_HIDDEN)):
        del lines[begin - 1 : end]
    return "\n".join(lines).rstrip()
