"""Rebuild submissions from the released notebook, without running anything.

Only the sources of the student's answers, and cells that the student added, come from what was
handed in. Locked cells, metadata, tags, outputs and attachments come from the course or are
dropped. A notebook is data of unknown quality here: every read is bounded and typed.
"""

from __future__ import annotations

from pathlib import Path

from tritonbook.words import later

from ..judge.course import Course
from ..judge.work import Cell, GradedCheck, Submission
from .cells import HandedCell, definitions_only, parsed
from .handins import find
from .matching import match, stub_text
from .notes import Costly, ordered
from .places import Place, shown
from .through import as_given
from .times import read_time

TIME = "timestamp.txt"


class NothingHandedIn(Exception):
    """None of the student's files has this assignment."""


def ingest(root: Path, course: Course, student: str, place: Place | None = None) -> Submission:
    """The student's submission of one notebook, rebuilt. A notebook that is missing or unreadable
    gives a submission without answers, with a note that says why.

    Raises NothingHandedIn where it lies in no folder of its name, and nothing else holds it;
    PermissionError where it may not be read here.
    """
    place = place or Place(root / "submitted" / student / course.assignment, sure=True)
    notes: list[str] = []
    parsed.cache_clear()
    handed = find(place.folder, course, notes, place.beside)
    if handed is None and not place.sure:
        raise NothingHandedIn(student)
    folders = [place.folder, *filter(Path.is_dir, place.beside), place.folder.parent]
    with_time = next((each for each in folders if (each / TIME).is_file()), place.folder)
    told = _told_time(with_time)
    timestamp = told if told and read_time(told) is not None else None
    untimed = told is not None and timestamp is None
    if untimed:
        said = repr(shown(told or "")[:60])
        note = later(
            f"timestamp.txt holds {said}, which is no time with its zone: the hand-in counts as in "
            "time, without a late penalty, until the instructor writes one there, such as "
            "2026-11-30T23:30+01:00"
        )
        notes.append(Costly(note))
    return rebuild(course, student, handed, notes, timestamp, untimed)


def _told_time(folder: Path) -> str | None:
    """What is said about when it was handed in; None: nothing. It comes from the student's side."""
    path = folder / TIME
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(200).strip()
    except OSError:
        return ""


def rebuild(
    course: Course,
    student: str,
    handed: list[HandedCell] | None,
    notes: list[str],
    timestamp: str | None = None,
    untimed: bool = False,
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
        untimed=untimed,
        cells=tuple(cells),
        exercises=tuple(exercises),
        missing=tuple(missing),
        notes=ordered(notes),
    )


def _extra(number: int, source: str) -> Cell:
    return Cell(name=f"extra-{number}", role="extra", source=source)
