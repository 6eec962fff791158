"""Hand-ins in odd places, by odd names and at odd times: taken where it is plain, else named."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from grading import NAME, by_status, graded, ingested, keep, scores

from autograde.classroom import cli, progress
from autograde.classroom.notes import Costly, in_a_line, ordered
from autograde.classroom.record import open_gradebook
from autograde.classroom.report import as_csv, as_text, class_report
from autograde.classroom.run import Session
from autograde.classroom.times import read_time
from autograde.judge.course import BadCourse
from autograde.judge.work import Submission

TAKEN = {
    "2026-11-30 23:30:00.000000 UTC": "2026-11-30T23:30:00",
    "2026-11-30T23:30+01:00": "2026-11-30T22:30:00",
    "2026-11-30 23:30:00+0100": "2026-11-30T22:30:00",
    "20261130T233000Z": "2026-11-30T23:30:00",
    "2026-11-30 23:30:00 +0000": "2026-11-30T23:30:00",
    "2026-11-30 23:30:00.5 Europe/Berlin": "2026-11-30T22:30:00.500000",
}
NAMED = [
    "2026-11-30 23:30:00 +0100",
    "2026-11-30 23:30:00 +01:00",
    "01.12.2026 23:10",
    "12/01/2026 23:10 UTC",
    "2026-11-30 23:30:00",
    "2026-11-30",
    "2026-11-30 11:30 PM",
    "2026-07-30 23:30:00 XYZT",
    "",
]


@pytest.mark.parametrize("text", TAKEN)
def test_a_time_is_taken(text: str) -> None:
    """Kills: a time that `nbgrader submit` writes, or ISO 8601 says, and that is not read."""
    found = read_time(text)
    assert found is not None and found.isoformat() == TAKEN[text]


@pytest.mark.parametrize("text", NAMED)
def test_a_time_that_may_be_another_is_named_and_in_time(text: str, course: Path) -> None:
    """Kills: all points lost to a zone that nbgrader takes for seconds; a late hand-in that is in
    time in silence; a time of an earlier reading that stays in the gradebook."""
    keep(course, "s1_right")
    path = course / "submitted" / "s1_right" / NAME / "timestamp.txt"
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    with open_gradebook(course) as book:
        book.update_or_create_assignment(NAME, duedate="2020-11-01T13:00+01:00")
    path.write_text("2026-11-30T23:30Z")
    session = ingested(course)
    path.write_text(text)
    session.ingest()
    session.run(by_status(lambda item: "PASS"))
    session.record()
    found = class_report(session)
    assert found.marks["s1_right"].score == 6.0
    assert "timestamp.txt" in found.notes[0] and "in time" in found.notes[0]


def _move(course: Path, to: str) -> None:
    target = course / "submitted" / to
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(course / "submitted" / "s1_right" / NAME, target)


def _file(course: Path, to: str) -> None:
    shutil.move(course / "submitted/s1_right" / NAME / f"{NAME}.ipynb", course / "submitted" / to)
    shutil.rmtree(course / "submitted/s1_right" / NAME)


OTHER_PLACES: dict[str, Callable[[Path], None]] = {
    "a second download": lambda course: _move(course, f"s1_right/{NAME} (1)"),
    "capitals": lambda course: _move(course, f"s1_right/{NAME.title()}"),
    "a copy": lambda course: _move(course, f"s1_right/{NAME}-copy"),
    "blanks": lambda course: _move(course, f"s1_right/{NAME.replace('_', ' ')}"),
    "another word": lambda course: _move(course, "s1_right/homework"),
    "no folder": lambda course: _file(course, f"s1_right/{NAME}.ipynb"),
    "no folder, another word": lambda course: _file(course, "s1_right/mine.ipynb"),
}


@pytest.mark.parametrize("move", OTHER_PLACES.values(), ids=OTHER_PLACES)
def test_other_places_are_taken(move: Callable[[Path], None], course: Path) -> None:
    """Kills: a hand-in that nobody sees, because its folder has another name or there is none."""
    keep(course, "s1_right", "s4_no_mask")
    move(course)
    session = ingested(course)
    assert [each.student for _, each in session.submissions] == ["s1_right", "s4_no_mask"]
    assert session.submissions[0][1].missing == ()


@pytest.mark.parametrize(
    "copy", [f"{NAME} (1)", f"{NAME} - Copy (2)", f"{NAME}-2", f"{NAME} Kopie"]
)
def test_a_copy_bears_the_assignments_name(copy: str, course: Path) -> None:
    """Kills: a notebook in a copy of the assignment's folder that cannot be read, and so is no
    hand-in; one of another assignment's copy that is taken for this one's."""
    keep(course, "s1_right")
    _move(course, f"s1_right/{copy}")
    broken = course / "submitted/s1_right" / copy / f"{NAME}.ipynb"
    whole = broken.read_text()
    broken.write_text("{}")
    session = ingested(course)
    assert len(session.submissions) == 1 and not session.strays
    broken.write_text(whole)
    other = copy.replace(NAME, "91_other")
    (course / "source/91_other").mkdir()
    broken.parent.rename(course / "submitted/s1_right" / other)
    with pytest.raises(BadCourse, match="Nobody handed in"):
        ingested(course)


LEFT: dict[str, Callable[[Path], object]] = {
    f"submitted/{NAME}.ipynb": lambda course: _file(course, f"{NAME}.ipynb"),
    f"submitted/{NAME}.tar.gz": lambda course: _file(course, f"{NAME}.tar.gz"),
    f"submitted/s1_right/{NAME}.tar.xz": lambda course: _file(course, f"s1_right/{NAME}.tar.xz"),
    "submitted/s1_right/homework.7z": lambda course: _file(course, "s1_right/homework.7z"),
    "submitted/s1_right": lambda course: (
        _move(course, "s1_right/x"),
        (course / f"submitted/s1_right/x/{NAME}.ipynb").write_text("{}"),
    ),
    "submitted/s1_right is a link": lambda course: (
        shutil.rmtree(course / "submitted/s1_right"),
        (course / "submitted/s1_right").symlink_to(course / "submitted/s4_no_mask"),
    ),
    r"submitted/M\udcfcller": lambda course: os.rename(
        os.fsencode(course / "submitted/s1_right"),
        os.fsencode(course / "submitted") + b"/M\xfcller",
    ),
    r"submitted/a\nb": lambda course: _move(course, f"a\nb/{NAME}"),
    r"submitted/\x1b[2Jx": lambda course: _move(course, f"\x1b[2Jx/{NAME}"),
    r"submitted/a\u2028b": lambda course: _move(course, f"a\u2028b/{NAME}"),
    r"submitted/\u202eb": lambda course: _move(course, f"\u202eb/{NAME}"),
    r"submitted/\t=1+1": lambda course: _move(course, f"\t=1+1/{NAME}"),
}


@pytest.mark.parametrize("place", LEFT)
def test_what_is_not_taken_is_named(
    place: str, course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a hand-in that vanishes without a word; a class that ends for one name."""
    keep(course, "s1_right", "s4_no_mask")
    LEFT[place](course)
    monkeypatch.setattr(progress, "make_runner", lambda *arguments: by_status(lambda item: "PASS"))
    assert cli.main(["grade", NAME, "--course", str(course)]) == 0
    said = capsys.readouterr().err
    assert place in said and "\x1b[2J" not in said
    assert place in (course / "work" / NAME / "report.md").read_text()
    assert "s4_no_mask" in as_csv(class_report(_read(course)))


def _read(course: Path) -> Session:
    session = Session(course, NAME)
    session.read()
    return session


@pytest.mark.parametrize("named", [True, False])
def test_who_is_not_on_the_roster_is_asked_about(named: bool, course: Path) -> None:
    """Kills: a new student "None, None" beside the real one, who then has handed nothing in."""
    keep(course, "s1_right", "s4_no_mask")
    names = {"first_name": "Ada", "last_name": "L"} if named else {}
    with open_gradebook(course) as book:
        book.add_student("s1_rig", **names)
        book.add_student("s4_no_mask", **names)
    session = ingested(course)
    assert [each.student for _, each in session.submissions] == ["s4_no_mask"]
    (line,) = session.strays
    assert "submitted/s1_right is no student" in line and "s1_rig handed nothing in" in line
    with open_gradebook(course) as book:
        assert {student.id for student in book.students} == {"s1_rig", "s4_no_mask"}
        book.add_student("s1_right")
    assert len(ingested(course).submissions) == 2


def test_two_spellings_of_one_name_are_one_student(course: Path) -> None:
    """Kills: an umlaut that macOS takes apart, and that makes another student."""
    keep(course, "s1_right")
    one, other = (unicodedata.normalize(form, "Jörg") for form in ("NFC", "NFD"))
    with open_gradebook(course) as book:
        book.add_student(one, first_name="Jörg", last_name="M")
    (course / "submitted/s1_right").rename(course / "submitted" / other)
    session = ingested(course)
    assert [each.student for _, each in session.submissions] == [one]
    assert session.absent == [] and session.submissions[0][1].missing == ()


# Of the first two Python makes a tree that is too deep to be told, of the others none.
DEEP = ["+".join("1" * 1500), "a" + ".b" * 1200, "+".join("1" * 5000), "-" * 9000 + "1"]


def test_a_deep_cell_ends_no_class(course: Path) -> None:
    """Kills: RecursionError or MemoryError of one student's that leaves a class without grades."""
    keep(course, "s1_right", "s4_no_mask")
    path = course / "submitted/s1_right" / NAME / f"{NAME}.ipynb"
    book = json.loads(path.read_text())
    cell = {"cell_type": "code", "metadata": {}, "outputs": []}
    # Below all answers nobody asks what they define.
    book["cells"][:0] = [{**cell, "source": f"x = {text}"} for text in DEEP]
    path.write_text(json.dumps(book))
    session = ingested(course)
    assert len(session.submissions) == 2 and not session.strays
    assert session.submissions[0][1].missing == ()


def test_what_cannot_be_read_is_named_and_the_class_goes_on(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: any error about one hand-in that ends a class, or costs points in silence."""
    from autograde.classroom import run

    keep(course, "s1_right", "s4_no_mask")
    whole = run.ingest

    def fails(root: Path, given: object, student: str, place: object) -> object:
        if student == "s1_right":
            raise MemoryError
        return whole(root, given, student, place)

    monkeypatch.setattr(run, "ingest", fails)
    session = ingested(course)
    assert [each.student for _, each in session.submissions] == ["s4_no_mask"]
    text = as_text(class_report(session))
    assert "submitted/s1_right could not be read (MemoryError)" in text
    assert session.absent == []


@pytest.mark.parametrize("closed", ["", NAME, f"{NAME}/{NAME}.ipynb"])
def test_what_is_closed_to_the_instructor_costs_no_student_points(
    closed: str, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: MISSING, or a student who handed nothing in, for a file whose rights are wrong."""
    keep(course, "s1_right", "s4_no_mask")
    path = course / "submitted" / "s1_right" / closed
    scan, open_file = os.scandir, os.open

    def refuse(whole: Callable[..., object], at: object, *more: object) -> object:
        if str(at).startswith(str(path)):
            raise PermissionError(13, "Permission denied", str(at))
        return whole(at, *more)

    monkeypatch.setattr(os, "scandir", lambda at, *more: refuse(scan, at, *more))
    monkeypatch.setattr(os, "open", lambda at, *more: refuse(open_file, at, *more))
    session = ingested(course)
    assert [submission.student for _, submission in session.submissions] == ["s4_no_mask"]
    (line,) = session.strays
    assert line.startswith(str(path))
    assert "cannot be read (Permission denied), so s1_right is not graded" in line
    assert "s1_right" not in session.absent


def test_what_cannot_be_written_is_named_and_the_class_goes_on(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a class without scores, because one student's notebook cannot be written."""
    from autograde.classroom import run

    keep(course, "s1_right", "s4_no_mask")
    whole = run.write_notebook

    def fails(root: Path, given: object, submission: Submission, verdicts: object) -> None:
        if submission.student == "s1_right":
            raise RecursionError
        whole(root, given, submission, verdicts)

    monkeypatch.setattr(run, "write_notebook", fails)
    session = graded(course, by_status(lambda item: "PASS"))
    assert "autograded/s1_right/90_doubling could not be written" in session.unwritten[0]
    assert not session.strays  # what is listed there was not graded
    session.read()  # as for a report about the whole class
    assert dict(class_report(session).lists)["Graded, and without feedback"] == session.unwritten
    assert (course / "autograded" / "s4_no_mask" / NAME / f"{NAME}.ipynb").is_file()
    assert set(scores(course).values()) == {2.0, 4.0}


def test_an_instructor_reads_one_line_a_student() -> None:
    """Kills: what cost points below a line for each task."""
    notes = ordered(["renamed", "older", Costly("newer, not graded"), "left out"])
    assert in_a_line(notes) == "newer, not graded; renamed; and 2 more, above the feedback"


def test_exercises_that_were_not_run_are_no_failure(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: "the grader failed" about what nobody asked for; `retry` that grades a class."""
    monkeypatch.setattr(progress, "make_runner", lambda *arguments: by_status(lambda item: "PASS"))
    assert cli.main(["retry", NAME, "--course", str(course)]) == 2
    assert cli.main(["grade", NAME, "--course", str(course), "--exercise", "double"]) == 0
    text = (course / "work" / NAME / "report.md").read_text()
    assert "the grader failed" not in text and "- halves: 8 students" in text
    before = (course / "work" / NAME / "ledger.jsonl").read_bytes()
    assert cli.main(["retry", NAME, "--course", str(course)]) == 0
    assert (course / "work" / NAME / "ledger.jsonl").read_bytes() == before
