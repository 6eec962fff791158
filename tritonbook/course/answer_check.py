"""`check` and `show_cases`: what the cell below a gap calls. Which page asks is found by name."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from ..checking import CheckFailed, run_check
from ..checking.card import show
from ..checking.runner import called
from . import progress
from .cases import find_check
from .exercises import LOADING
from .gaps import solved_text


def check(fn: Callable[..., Any], *, hidden: bool = False) -> None:
    """Check an answer on the cases of its page; show a card; raise CheckFailed unless it passed.

    fn: the function that a page asks for; the check is found by its name. hidden: the hidden cases
    in place of the visible ones. Raises NotAsked, one sentence with the nearest name, where no
    page asks for a function of that name.
    """
    name = _name(fn)
    exercise, asked = find_check(name)
    report = run_check(fn, asked, name, hidden=hidden)
    if not LOADING.get():
        reason = report.finding.sentence if report.finding else ""
        progress.record(name, report.state, called(fn, asked), reason=reason)
        show(report, solved_text(exercise.answers()[name].source) if report.passed else "")
    if not report.passed:
        raise CheckFailed(report)


class NotPassed(AssertionError):
    """An answer that does not pass: one sentence, in a notebook too."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def verdict(fn: Callable[..., Any], *, hidden: bool = False) -> None:
    """Say whether an answer passes its check, and no more: what exams call `check`.

    It shows no card and keeps no progress, because what an exam gives out is nearly right. Raises
    NotPassed, and NotAsked as `check` does.
    """
    name = _name(fn)
    _, asked = find_check(name)
    if not run_check(fn, asked, name, hidden=hidden).passed:
        raise NotPassed(f"{name}: not passed")
    print(f"{name}: passed")


def show_cases(fn: Callable[..., Any]) -> None:
    """Print what the check of an answer tries: each visible case, and how many are hidden."""
    _, asked = find_check(_name(fn))
    rows = [(case.note, case.describe() or "no arguments") for case in asked.cases]
    width = max((len(note) for note, _ in rows), default=0)
    for note, description in rows:
        line = f"{note:<{width}}  {description}"
        print(textwrap.fill(line, 100, subsequent_indent=" " * (width + 2)))
    if asked.hidden:
        print(f"A grader tries {len(asked.hidden)} more, of other sizes and with other numbers.")


def _name(fn: Any) -> str:
    """The name that a function was defined with; that of the kernel where it is a kernel."""
    found = getattr(fn, "__name__", None) or getattr(getattr(fn, "fn", None), "__name__", None)
    if not isinstance(found, str):
        raise TypeError(f"It takes a function of yours, as in check(add), not {type(fn).__name__}.")
    return found
