"""Cut regions out of cells: solutions become gaps, hidden tests get a region of their own.

A region is what stands between two marker lines. The learner's text of an answer keeps the comments
above the gap (`# TODO ...`) and gets `# YOUR CODE HERE` and one line that can stay there: `pass` in
a Triton kernel, because a kernel with a `raise` in it does not compile, and in any other function
an error that names the function. A gap outside every function holds whole functions, which the
learner writes from nothing: nothing stands in their place.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

BEGIN_SOLUTION, END_SOLUTION = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
YOUR_CODE = "# YOUR CODE HERE"


class GapError(ValueError):
    """A region cannot be cut. `line` counts from the first line of the cell's source, from 1."""

    def __init__(self, line: int, problem: str, mend: str):
        super().__init__(f"{problem}; {mend}")
        self.line, self.problem, self.mend = line, problem, mend


@dataclass(frozen=True)
class Gap:
    """One solution region: its marker lines (from 1), indentation and the function around it.

    Around a gap that holds whole functions there is none: `function` is empty.
    """

    begin: int
    end: int
    indent: str
    function: str
    in_kernel: bool
    last: int  # the last line of the function around it
    returns: bool  # that function ends with a return

    @property
    def stub(self) -> list[str]:
        """The line that stands in the gap, if any does."""
        if not self.function:
            return []
        if self.in_kernel:
            return [f"{self.indent}pass"]
        return [f'{self.indent}raise NotImplementedError("TODO: fill in {self.function}")']


def regions(text: str, begin: str, end: str) -> list[tuple[int, int]]:
    """The line numbers, from 1, of each pair of markers. Raises GapError where they do not pair."""
    found: list[tuple[int, int]] = []
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == begin:
            if opened is not None:
                raise GapError(number, f"'{begin}' inside a region", f"close it with '{end}' first")
            opened = number
        elif line.strip() == end:
            if opened is None:
                raise GapError(number, f"'{end}' without its beginning", f"add '{begin}' above")
            found.append((opened, number))
            opened = None
        elif begin.strip("# ") in line or end.strip("# ") in line:
            raise GapError(number, "a marker is misspelt", f"write '{begin}' or '{end}', alone")
    if opened is not None:
        raise GapError(opened, f"'{begin}' is never closed", f"add '{end}' below")
    return found


def gaps(text: str) -> list[Gap]:
    """The solution regions of an answer cell, in order."""
    pairs = regions(text, BEGIN_SOLUTION, END_SOLUTION)
    lines = text.splitlines()
    tree = ast.parse(text)
    return [_gap(tree, lines, begin, end) for begin, end in pairs]


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
            raise GapError(begin, problem, "move it into one")
        return Gap(begin, end, "", "", False, end, True)
    owner = max(inside, key=lambda node: node.lineno)  # the innermost
    whole = [
        node
        for node in ast.walk(owner)
        if isinstance(node, ast.stmt) and begin < node.lineno and (node.end_lineno or end) < end
    ]
    if not whole:
        problem = f"the gap in {owner.name} holds no whole statement"
        raise GapError(begin, problem, "put the markers around complete statements")
    first = min(whole, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    marker = lines[begin - 1]
    indent = marker[: len(marker) - len(marker.lstrip())]
    if len(indent) != first.col_offset:
        raise GapError(begin, "the marker is indented unlike its code", "align it with the code")
    kernel = is_kernel(owner)
    if not kernel and first not in owner.body:
        problem = f"the gap in {owner.name} stands inside a block of that function"
        raise GapError(
            begin, problem, "let it hold the whole block (only kernels may do otherwise)"
        )
    last = owner.body[-1]
    return Gap(begin, end, indent, owner.name, kernel, last.end_lineno or end, _leaves(last))


def _leaves(statement: ast.stmt) -> bool:
    """Does a function always end at this statement?"""
    return isinstance(statement, (ast.Return, ast.Raise))


def is_kernel(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
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
        lines[gap.begin - 1 : gap.end] = [gap.indent + YOUR_CODE, *gap.stub]
        try:
            ast.parse("\n".join(lines))
        except SyntaxError:
            problem = f"the gap in {gap.function} cuts a statement in two"
            mend = "put the markers around complete statements"
            raise GapError(gap.begin, problem, mend) from None
    return "\n".join(lines)


def solved_text(text: str) -> str:
    """An answer cell as solved, without the marker lines and the TODO comments above them."""
    lines = text.splitlines()
    for begin, end in reversed(regions(text, BEGIN_SOLUTION, END_SOLUTION)):
        del lines[end - 1]
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
    for gap in reversed(gaps(text)):
        below = gap.stub
        if gap.function and not gap.in_kernel:
            rest = "\n".join(text.splitlines()[gap.end : gap.last])
            solved = solved_text(rest).splitlines()
            if not gap.returns:
                solved.append(f"{gap.indent}return")
            below = [*solved, lines[gap.end - 1], *below]
            lines[gap.end - 1 : gap.end] = below
        else:
            lines[gap.end : gap.end] = below
    return "\n".join(lines)


def with_hidden(text: str) -> str:
    """A check cell with the hidden tests' region below it; an instructor may add lines there.

    The call of `check` is asked for the hidden cases. A cell that has such a region keeps it.
    """
    if BEGIN_HIDDEN in text:
        return text
    hidden = re.sub(r"^check\((\w+)\)$", r"check(\1, hidden=True)", text, flags=re.MULTILINE)
    return "\n".join([text, BEGIN_HIDDEN, hidden, END_HIDDEN])


def without_hidden(text: str) -> str:
    """A check cell without its hidden tests."""
    lines = text.splitlines()
    for begin, end in reversed(regions(text, BEGIN_HIDDEN, END_HIDDEN)):
        del lines[begin - 1 : end]
    return "\n".join(lines).rstrip()
