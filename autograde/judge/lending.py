"""What the course lends to a notebook: functions of other pages that its own cells ask for.

A page's cells may call `mine("rope")`, which is the workbook's own function while they are graded.
The candidate's process has no exercises to read it from. It gets the text of exactly those
functions that the cells of its page name, without the solutions that stand beside them there;
nothing of its own page.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from tritonbook.course import exercises, gaps
from tritonbook.course.exercises import Exercise

from .course import Course
from .statements import defined, reached, statements


@dataclass(frozen=True)
class Lent:
    """A module of the course with one function in it to lend."""

    function: str
    name: str  # of the module, and of its file without the ending
    text: str


@dataclass(frozen=True)
class Lending:
    """What a notebook's cells above a check get. `borrowed`: names of the modules whose kernels the
    course's own answer launches, so that a student's may."""

    modules: tuple[Lent, ...] = ()
    borrowed: frozenset[str] = frozenset()

    def body(self) -> dict[str, list[str]]:
        """For the candidate: module and text by function."""
        return {lent.function: [lent.name, lent.text] for lent in self.modules}

    def find(self, name: str) -> Lent | None:
        return next((lent for lent in self.modules if lent.name == name), None)


# Threads that parse at the same time can meet in Python 3.11: "AST constructor recursion depth".
_parsing = threading.Lock()


def lending(course: Course, check: str) -> Lending:
    """What the course's own cells above a check ask for. Kept: a class asks the same each time."""
    with _parsing:
        return _lending(course, check)


@functools.lru_cache(maxsize=256)
def _lending(course: Course, check: str) -> Lending:
    above = [cell for cell in course.above(check) if cell.kind == "code" and cell.role != "check"]
    own = {name for cell in course.answers() for name in defined(cell.source)}
    asked = {
        name for cell in above for part in statements(cell.source) for name in part.asked
    } - own
    if not asked:
        return Lending()
    modules = _modules(asked)
    texts = [cell.source for cell in above if cell.role != "example"]
    answer = check.replace("check-", "answer-", 1)
    roots = {n for cell in above if cell.name == answer for n in defined(cell.source)}
    used = {name for part in reached(texts, roots) for name in part.asked}
    return Lending(modules, frozenset(lent.name for lent in _modules(used - own)))


def _modules(asked: Iterable[str]) -> tuple[Lent, ...]:
    """The functions asked for, and those that their modules ask for in turn."""
    found: dict[str, Lent] = {}
    waiting = sorted(asked)
    while waiting:
        function = waiting.pop()
        if function in found or (home := _home(function)) is None:
            continue  # the course has none: the cell that asks says so
        found[function] = _lent(home, function)
        waiting += [name for part in statements(found[function].text) for name in part.asked]
    return tuple(found[name] for name in sorted(found))


def _home(function: str) -> Exercise | None:
    for exercise in exercises.exercises():
        for cell in exercise.cells:
            if cell.role in ("answer", "reference") and function in defined(cell.source):
                return exercise
    return None


def _lent(exercise: Exercise, function: str) -> Lent:
    """The exercise's module with those solutions alone that the function needs."""
    answers = exercise.answers()
    texts = [cell.source for cell in exercise.cells if cell.role in ("reference", "answer")]
    # What runs when the module is loaded is needed too.
    given = [cell.source for cell in exercise.cells if cell.role == "reference"]
    loading = {
        name for text in given for part in statements(text) if part.runs for name in part.names
    }
    needed = {name for part in reached(texts, {function} | loading) for name in part.gives}
    cut = {
        key: gaps.learner_text(cell.source)
        for key, cell in answers.items()
        if not needed & defined(cell.source)
    }
    text = exercise.module_text(cut)
    return Lent(function, exercises.module_name(exercise.slug, text), text)
