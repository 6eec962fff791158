"""What a task needs of Triton is shown before it: on its own page, or on an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..course import gaps
from ..course.exercises import Exercise
from ..course.source import Cell, SourceError

_NAME = re.compile(r"\b(?:tl|gl|triton)\.[a-z]\w*")
_FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)


def problems(course: Iterable[Exercise]) -> Iterator[SourceError]:
    """Names of Triton in solutions and hints that no learner has seen by then.

    What a hint, a fold or a task that may be left out shows does not count on later pages.
    """
    seen: set[str] = set()
    for exercise in course:
        for cell in exercise.cells:
            shown = _names(_visible(cell))
            needed = _names(cell.source) if cell.role in ("answer", "hint") else set()
            if new := sorted(needed - seen - shown):
                problem = f"the {cell.role} {cell.key!r} needs {', '.join(new)}, shown nowhere yet"
                mend = "name it above the gap, with what it does, or use it in a worked kernel"
                yield SourceError(exercise.path, cell.line, problem, mend)
            if cell.role != "hint" and "stretch" not in cell.tags:
                seen |= shown


def _visible(cell: Cell) -> str:
    """What a learner reads of a cell without opening anything."""
    if cell.role == "answer":
        return gaps.learner_text(cell.source)
    return _FOLDED.sub("", cell.source) if cell.kind == "markdown" else cell.source


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))
