"""What the course lends to a notebook: functions of other pages that its own cells ask for.

A page's cells may call `mine("rope")`, which is the workbook's own function while they are graded.
The candidate's process has no exercises to read it from. It gets the text of exactly those
functions that the cells of its page name, each with what it needs and without the solutions that
stand beside it there; nothing of its own page.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from tritonbook.course import exercises
from tritonbook.course.exercises import defined
from tritonbook.export.writer import export

from .course import Course
from .statements import reached, statements


@dataclass(frozen=True)
class Lending:
    """What a notebook's cells above a check get. texts: a file of its own for each function.
    borrowed: those whose kernels the course's own answer launches, so that a student's may."""

    texts: dict[str, str]
    borrowed: frozenset[str]


def lending(course: Course, check: str) -> Lending:
    """What the course's own cells above a check ask for."""
    above = [cell for cell in course.above(check) if cell.kind == "code" and cell.role != "check"]
    own = {name for cell in course.answers() for name in defined(cell.source)}
    asked = {name for cell in above for part in statements(cell.source) for name in part.asked}
    lent = {}
    for function in sorted(asked - own):
        with contextlib.suppress(LookupError):  # the course has none: the cell that asks says so
            lent[function] = export(exercises.reference(function)).text
    texts = [cell.source for cell in above if cell.role != "example"]
    answer = check.replace("check-", "answer-", 1)
    roots = {name for cell in above if cell.name == answer for name in defined(cell.source)}
    used = {name for part in reached(texts, roots) for name in part.asked}
    return Lending(lent, frozenset(used - own))
