"""What a learner meets on a page, and how much of it there may be.

Words are those of the visible text, without folded parts and code blocks. Lines are non-blank ones
of code cells; plumbing is the set-up, the reference and the check cells; to write is what the gaps
hold, comments apart. The estimate of the minutes was fitted to readers who worked through pages:
words at 200 a minute, folded ones at 400, lines read at 12, and 0.8 of a minute a line to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .. import style
from ..course import gaps
from ..course.exercises import Exercise
from ..course.source import Cell, SourceError
from . import views
from .release import Release

SEARCH = 2  # minutes to find what ails a patient of the clinic, beside reading and writing
MINUTES = (0.8, 1.25)  # the estimate over what the page states
SLACK = 7  # minutes by which it may be off all the same: short pages are somebody's first ones

_FOLDED = re.compile(r"<details.*?</details>", re.DOTALL)
_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def size(exercise: Exercise, release: Release) -> dict[str, int]:
    """The counts of a page as the learner meets it."""
    notebook = views.learner(exercise, release)
    text = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    given = [cell for cell in code if cell.id.partition("-")[0] in ("setup", "reference", "check")]
    tasks = exercise.answers().values()
    blank = [_written(cell) for cell in tasks if _is_blank(cell)]
    filled = [cell for cell in tasks if not _is_blank(cell)]
    kernels = [lines for cell in filled for lines, kernel in _gap_lines(cell.source) if kernel]
    return {
        "words": sum(len(_BLOCK.sub("", _FOLDED.sub("", part)).split()) for part in text),
        "folded": sum(
            len(_BLOCK.sub("", fold).split()) for part in text for fold in _FOLDED.findall(part)
        ),
        "code": sum(len(_lines(cell.source.splitlines())) for cell in code),
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
    """Where a page is over its budget. Pages of records, part 6, are only counted."""
    if (part := exercise.number // 10) == 6:
        return
    page = size(exercise, release)
    for name, limit in most(page, part).items():
        if page[name] > limit:
            problem = f"{name}: {page[name]}, and {limit} is the most"
            yield SourceError(exercise.path, 1, problem, "cut, fold, or make two pages of it")
    stated, needed = exercise.header.minutes, _minutes(page, part)
    off = abs(needed - stated) > SLACK
    if off and not MINUTES[0] <= needed / stated <= MINUTES[1]:
        problem = f"it states {stated} minutes, and looks like {needed:.0f}"
        yield SourceError(exercise.path, 1, problem, "state what readers needed")


def _minutes(page: dict[str, int], part: int) -> float:
    """How long a page takes, stretch tasks included."""
    minutes = page["words"] / 200 + page["folded"] / 400 + page["code"] / 12
    return minutes + 0.8 * page["to write"] + (SEARCH * page["tasks"] if part == 9 else 0)


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
        minutes = f"{_minutes(page, exercise.number // 10):.0f} of {exercise.header.minutes}"
        if exercise.header.stretch:
            minutes += f" + {exercise.header.stretch}"
        if not rows:
            rows.append(("page", *page, "minutes", ""))
        rows.append((exercise.slug, *map(str, page.values()), minutes, "; ".join(over)))
    return "\n".join(style.columns(rows))
