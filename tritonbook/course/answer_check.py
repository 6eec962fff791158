"""`check` and `show_cases`: what the cell below a gap calls. Which page asks is found by name."""

from __future__ import annotations

import ast
import dis
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from .. import style
from ..checking import CheckFailed
from ..checking.card import laid_out, show
from ..checking.runner import called
from ..limits import interruptible
from ..notebook import LOADING, is_stale
from ..words import say
from . import records
from .attempts import said_first
from .causes import judged
from .exercises import Exercise
from .gaps import solved_text
from .page_checks import NotAsked, find_check


def check(fn: Callable[..., Any], *, hidden: bool = False) -> None:
    """Check an answer on the cases of its page; show a card; raise CheckFailed unless it passed.

    fn: the function that a page asks for; the check is found by its name. hidden: the hidden cases
    in place of the visible ones. Raises NotAsked, one sentence with the nearest name, where no
    page asks for a function of that name, where it is none, or where its cell failed.
    """
    name = _name(fn)
    exercise, asked = find_check(name)
    if is_stale(name, fn):
        raise NotAsked(
            f"The cell of {name!r} was not run to its end, and what it was before is not what you "
            "want to check. Mend that cell, run it, then check again."
        )
    if left := _left_over(exercise, fn):
        raise NotAsked(
            f"{name!r} takes `{left}` from another cell of this page, by accident: set it in the "
            "function, from its arguments."
        )
    with interruptible():
        report = judged(exercise, name, fn, asked, hidden)
    if not LOADING.get():
        reason = report.finding.sentence if report.finding else ""
        records.record(name, report.state, called(fn, asked), reason=reason)
        answer = solved_text(exercise.answers()[name].source) if report.passed else ""
        show(report, answer, said_first(name, fn, report, exercise))
    if not report.passed:
        raise CheckFailed(report)


class NotPassed(AssertionError):
    """An answer that does not pass: one sentence, in a notebook too."""

    def _render_traceback_(self) -> list[str]:
        return [say(str(self))]


def verdict(fn: Callable[..., Any], *, hidden: bool = False) -> None:
    """Say whether an answer passes its check, and no more: what exams call `check`.

    It shows no card and keeps no progress, because what an exam gives out is nearly right. Raises
    NotPassed, and NotAsked as `check` does.
    """
    name = _name(fn)
    exercise, asked = find_check(name)
    if not judged(exercise, name, fn, asked, hidden).passed:
        raise NotPassed(say("{name}: not passed", name=name))
    print(say("{name}: passed", name=name))


def show_cases(fn: Callable[..., Any]) -> None:
    """Print what the check of an answer tries: each visible case, and how many are hidden."""
    _, asked = find_check(_name(fn))
    notes = [say(case.note) for case in asked.cases]
    told = [laid_out(case.describe()) or say("no arguments") for case in asked.cases]
    width = max(map(style.columns_of, notes), default=0)
    for line in style.columns(list(zip(notes, told, strict=True))):
        print(textwrap.fill(line, 100, subsequent_indent=" " * (width + 2)))
    if asked.hidden:
        more = "A grader tries {number} more, of other sizes and with other numbers."
        print(say(more, number=len(asked.hidden)))


PLAIN = (int, float, str, tuple, list, torch.Tensor, torch.dtype)


def _left_over(exercise: Exercise, fn: Any) -> str | None:
    """A value that an answer reads, and that only cells which show something have left behind. On
    a fresh page, and for whoever grades, it does not exist."""
    code = [cell for cell in exercise.cells if cell.kind == "code"]
    shown = [cell.source for cell in code if cell.role in (None, "predict")]
    own = [cell.source for cell in code if cell.role in ("setup", "reference", "answer")]
    left = _bound(shown) - _bound(own)
    for function, name in _globals_read(fn) if left else ():
        if name in left and isinstance(function.__globals__.get(name), PLAIN):
            return name
    return None


def _bound(cells: Sequence[str]) -> set[str]:
    """Names that cells set at their top level."""
    return {
        node.id
        for cell in cells
        for statement in ast.parse(cell).body
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _globals_read(fn: Any) -> Iterator[tuple[types.FunctionType, str]]:
    """The global names that a function reads, and the functions of its cells that it calls."""
    waiting, seen = [fn], set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for step in dis.get_instructions(function.__code__):
            if step.opname == "LOAD_GLOBAL":
                yield function, step.argval
                value = function.__globals__.get(step.argval)
                if getattr(value, "__globals__", None) is function.__globals__:
                    waiting.append(value)


def _name(fn: Any) -> str:
    """The name that a function was defined with; that of the kernel where it is a kernel."""
    found = getattr(fn, "__name__", None) or getattr(getattr(fn, "fn", None), "__name__", None)
    if isinstance(fn, str):
        name = fn.split("(")[0]
        raise NotAsked(f"It takes the function itself: check({name}), without quotation marks.")
    if not isinstance(found, str):
        what = f"a function itself, as in check(add), and got a value of type {type(fn).__name__}"
        raise NotAsked(f"It takes {what}: is it the result of a call? Leave the brackets out.")
    return found
