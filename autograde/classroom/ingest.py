"""Rebuild submissions from the released notebook, without running anything.

Only the sources of the student's answers, and cells that the student added, come from what was
handed in. Locked cells, metadata, tags, outputs and attachments come from the course or are
dropped. A notebook is data of unknown quality here: every read is bounded and typed.
"""

from __future__ import annotations

from pathlib import Path

from ..judge.course import Course
from ..judge.work import Cell, GradedCheck, Submission
from .cells import HandedCell, definitions_only
from .handins import find
from .matching import match, stub_text
from .through import as_given

MAX_NOTES = 15  # from the beginning, and as many from the end, of a longer list


def find_submissions(root: Path, assignment: str) -> list[str]:
    """Students who handed in something for an assignment."""
    folders = (root / "submitted").glob(f"*/{assignment}")
    return sorted(folder.parent.name for folder in folders if folder.is_dir())


def ingest(root: Path, course: Course, student: str) -> Submission:
    """The student's submission of one notebook, rebuilt. A notebook that is missing or unreadable
    gives a submission without answers, with a note that says why."""
    folder = root / "submitted" / student / course.assignment
    notes: list[str] = []
    handed = find(folder, course, notes)
    return rebuild(course, student, handed, notes, _timestamp(folder, notes))


def _timestamp(folder: Path, notes: list[str]) -> str | None:
    """When it was handed in. The file comes from the student's side: what is no time is noted."""
    path = folder / "timestamp.txt"
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    from nbgrader.utils import parse_utc

    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(200).strip()
        parse_utc(text)
    except (OSError, ValueError, OverflowError, TypeError, AttributeError):
        notes.append("timestamp.txt holds no time: a late penalty cannot be decided")
        return None
    return text


def rebuild(
    course: Course,
    student: str,
    handed: list[HandedCell] | None,
    notes: list[str],
    timestamp: str | None = None,
) -> Submission:
    """Splice answers and added cells into the course's own cells."""
    answers, extras = match(course, handed or [], notes)
    cells: list[Cell] = []
    exercises: list[GradedCheck] = []
    missing: list[str] = []
    for source in extras.get("", []):
        cells.append(_extra(len(cells), source))
    for given in course.cells:
        if given.kind == "code" and given.role in ("setup", "reference"):
            cells.append(Cell(name=given.name, role="given", source=given.source))
        elif given.role == "example":
            cells.append(Cell(name=given.name, role="given", source=definitions_only(given.source)))
        elif given.role == "answer":
            text = answers.get(given.name)
            if text is None:
                missing.append(given.name)
                text = stub_text(given)
            text = as_given(course, given, text, notes)
            cells.append(Cell(name=given.name, role="answer", source=text))
        elif given.role == "check":
            key = given.name.removeprefix("check-")
            exercises.append(
                GradedCheck(
                    key=key, check=given.name, points=given.points or 0.0, before=len(cells)
                )
            )
        for source in extras.get(given.name, []):
            cells.append(_extra(len(cells), source))
    return Submission(
        student=student,
        assignment=course.assignment,
        notebook=course.notebook,
        timestamp=timestamp,
        cells=tuple(cells),
        exercises=tuple(exercises),
        missing=tuple(missing),
        notes=tuple(
            notes if len(notes) <= 2 * MAX_NOTES else notes[:MAX_NOTES] + notes[-MAX_NOTES:]
        ),
    )


def _extra(number: int, source: str) -> Cell:
    return Cell(name=f"extra-{number}", role="extra", source=source)
