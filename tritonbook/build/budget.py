"""What a learner meets on a page, and how much of it there may be.

Words are those of the visible text, without folded parts and code blocks. Lines are non-blank ones
of code cells; plumbing is the set-up, the reference and the check cells; to write is what the gaps
hold, comments apart.

The minutes are those of the required tasks, for somebody who reads 200 words a minute (folded ones
twice as fast) and 12 lines of code, the set-up apart. A line to write takes 0.8 of a minute, and
half a minute more for what goes wrong first, up to 2 minutes a task. In the first part of the
course, where every word is new, all this takes half as long again. Of thirteen pages that readers
worked through, eleven took 0.75 to 1.25 times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .. import style
from ..course import gaps
from ..course.exercises import Exercise
from ..course.source import Cell, SourceError
from . import views
from .release import Release

SEARCH = 2  # minutes to find what ails a patient of the clinic, beside reading and writing
MISTAKES = 0.5, 2  # minutes a line to write, and at most for one task
FIRST = 1.5  # how much longer the pages of the first part take
MOST = 1.5  # what a page states over what it looks like; readers of some needed that much

_FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def size(exercise: Exercise, release: Release) -> dict[str, int]:
    """The counts of a page as the learner meets it."""
    cells = views.learner(exercise, release).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    given = [cell for cell in code if cell.id.partition("-")[0] in ("setup", "reference", "check")]
    tasks = exercise.answers().values()
    blank = [_written(cell) for cell in tasks if _is_blank(cell)]
    filled = [cell for cell in tasks if not _is_blank(cell)]
    kernels = [lines for cell in filled for lines, kernel in _gap_lines(cell.source) if kernel]
    return {
        **_read(cells),
        "plumbing": sum(len(_lines(cell.source.splitlines())) for cell in given),
        "to write": sum(_written(cell) for cell in tasks),
        "largest gap": max((_written(cell) for cell in filled), default=0),
        "first kernel gap": kernels[0] if kernels else 0,
        "blank page": max(blank, default=0),
        "tasks": sum("stretch" not in cell.tags for cell in tasks),
    }


def most(page: dict[str, int], part: int) -> dict[str, int]:
    """How much of what a page of a part of the course may have."""
    return {
        "words": 1300,
        "code": 230,
        "plumbing": 30,
        "to write": 50 if page["blank page"] else 40,
        "largest gap": 18,
        "first kernel gap": 8,
        "blank page": 35,  # what is written from its signature alone: kernel, grid and wrapper
        "tasks": 6 if part == 9 else 3,  # in the clinic a patient is a task of a line or two
    }


def problems(exercise: Exercise, release: Release) -> Iterator[SourceError]:
    """Where a page is over its budget, or states other minutes than readers need. Words and lines
    of records, part 6, are only counted."""
    stated, needed = exercise.header.minutes, minutes(exercise, release)
    if not 5 * round(needed / 5) <= stated <= MOST * needed + 5:
        problem = f"it states {stated} minutes, and looks like {needed:.0f}"
        yield SourceError(exercise.path, 1, problem, "state what readers need")
    if (part := exercise.number // 10) == 6:
        return
    page = size(exercise, release)
    for name, limit in most(page, part).items():
        if page[name] > limit:
            problem = f"{name}: {page[name]}, and {limit} is the most"
            yield SourceError(exercise.path, 1, problem, "cut, fold, or make two pages of it")


def minutes(exercise: Exercise, release: Release) -> float:
    """How long the required tasks of a page take, with all that is to be read around them."""
    stretch = {key for key, cell in exercise.answers().items() if "stretch" in cell.tags}
    cells = [
        cell
        for cell in views.learner(exercise, release).cells
        if cell.id.partition("-")[2] not in stretch and cell.id != "setup"
    ]
    written = [_written(cell) for key, cell in exercise.answers().items() if key not in stretch]
    return estimate(exercise.number // 10, written=written, **_read(cells))


def estimate(part: int, *, words: int, folded: int, code: int, written: list[int]) -> float:
    """Minutes for a page of a part of the course. written: the lines to write of each task."""
    needed = words / 200 + folded / 400 + code / 12 + 0.8 * sum(written)
    if part == 9:
        needed += SEARCH * len(written)
    else:
        needed += sum(min(MISTAKES[0] * lines, MISTAKES[1]) for lines in written)
    return needed * FIRST if part == 0 else needed


def _read(cells: list[Any]) -> dict[str, int]:
    """Words, folded words and lines of code in cells of a notebook."""
    text = [cell.source for cell in cells if cell.cell_type == "markdown"]
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return {
        "words": sum(len(_BLOCK.sub("", _FOLDED.sub("", part)).split()) for part in text),
        "folded": sum(
            len(_BLOCK.sub("", fold).split()) for part in text for fold in _FOLDED.findall(part)
        ),
        "code": sum(len(_lines(source.splitlines())) for source in code),
    }


def _is_blank(answer: Cell) -> bool:
    """Whether the learner writes whole functions in it."""
    return any(not gap.function for gap in gaps.gaps(answer.source))


def _written(answer: Cell) -> int:
    """Lines to write in an answer cell."""
    return sum(lines for lines, _ in _gap_lines(answer.source))


def _gap_lines(source: str) -> list[tuple[int, bool]]:
    """For each gap of an answer cell: its lines without comments, and whether a kernel holds it."""
    lines = source.splitlines()
    return [
        (
            sum(not line.lstrip().startswith("#") for line in _lines(lines[gap.begin : gap.end])),
            gap.function is not None and gaps.is_kernel(gap.function),
        )
        for gap in gaps.gaps(source)
    ]


def _lines(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def table(course: list[Exercise], release: Release) -> str:
    """One line a page; what is over the limits is named at its end."""
    rows: list[tuple[str, ...]] = []
    for exercise in course:
        page = size(exercise, release)
        over = [error.problem for error in problems(exercise, release)]
        stated = f"{minutes(exercise, release):.0f} of {exercise.header.minutes}"
        if exercise.header.stretch:
            stated += f" + {exercise.header.stretch}"
        if not rows:
            rows.append(("page", *page, "minutes", ""))
        rows.append((exercise.slug, *map(str, page.values()), stated, "; ".join(over)))
    return "\n".join(style.columns(rows))
