"""Functions that a check goes `through`: given ones, which stand in the student's own cell.

They report what a student's function does, so they must be the course's. Whatever a cell makes of
their names, the course's own definitions are put below it.
"""

from __future__ import annotations

import functools

from tritonbook.words import later

from ..judge.course import Course, GivenCell
from ..judge.statements import reached, statements
from .cells import defined
from .matching import solution_text, stub_text

ABOVE = "\n\n\n# What the check goes through, as the course gives it.\n"


def as_given(course: Course, cell: GivenCell, text: str, notes: list[str]) -> str:
    """An answer's cell with what its check goes through, and what that calls, as the course has
    it."""
    name, below = _below(course, cell.name)
    if not below:
        return text
    own = defined(solution_text(cell)).get(name)
    if defined(text).get(name, own) != own:
        notes.append(later(f"{cell.name}: {name} was changed; the course's own is used"))
    return text + ABOVE + below


@functools.lru_cache(maxsize=64)
def _below(course: Course, answer: str) -> tuple[str, str]:
    """The function that the check of an answer goes through, and the text of all that it needs;
    empty where there is none."""
    key = answer.removeprefix("answer-")
    through = course.through(key)
    if not through:
        return "", ""
    above = course.above(f"check-{key}")
    cells = [cell for cell in above if cell.role in ("setup", "reference", "answer")]
    texts = [solution_text(cell) if cell.role == "answer" else cell.source for cell in cells]
    found = reached(texts, [through])
    kept = [each for text in texts for each in statements(text) if each in found and each.defines]
    kept = [each for each in kept if not each.gives & _students(course)]
    return through, "\n\n\n".join(each.text for each in kept) + "\n"


def _students(course: Course) -> set[str]:
    """What students write: functions that differ from what is given out."""
    found = set()
    for cell in course.answers():
        given = defined(stub_text(cell))
        found |= {n for n, own in defined(solution_text(cell)).items() if given.get(n) != own}
    return found
