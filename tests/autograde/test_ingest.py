"""Submissions are rebuilt from the released notebook: only answers and added cells come through."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from grading import NAME, course_of

from autograde.classroom.ingest import definitions_only, ingest
from autograde.judge.course import Course, asked_of
from autograde.judge.work import Submission
from tritonbook.course.exercises import Exercise

Book = dict[str, Any]
ANSWER = "def halves(n):\n    return [n // 2, n - n // 2]"


@pytest.fixture(scope="module")
def course(exercise: Exercise) -> Course:
    return course_of(exercise)


@pytest.fixture
def released(blank: Book) -> Book:
    """The learner's notebook, with an answer to `halves`."""
    _cell(blank, "answer-halves")["source"] = ANSWER
    return blank


def _cell(book: Book, name: str) -> Book:
    return next(
        cell
        for cell in book["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id", cell.get("id")) == name
    )


def _ingested(
    course: Course, folder: Path, book: Book | str | None = None
) -> tuple[dict[str, str], Submission]:
    """The answers of what lies in the folder, or of this notebook; and the whole submission."""
    if book is not None:
        text = book if isinstance(book, str) else json.dumps(book)
        (folder / f"{NAME}.ipynb").write_text(text, encoding="utf-8")
    submission = ingest(folder.parents[2], course, "ann")
    return {c.name: c.source for c in submission.cells if c.role == "answer"}, submission


def _delete(name: str) -> Callable[[Book], None]:
    return lambda book: book["cells"].remove(_cell(book, name))


def _strip(name: str) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        cell = _cell(book, name)
        cell["metadata"] = {}
        cell["id"] = "somebody"

    return change


def _retype(name: str, kind: str) -> Callable[[Book], None]:
    return lambda book: _cell(book, name).update(cell_type=kind)


def _double(book: Book) -> None:
    cell = _cell(book, "answer-halves")
    older = copy.deepcopy(cell)
    older["source"] = "def halves(n):\n    return []"
    book["cells"].insert(book["cells"].index(cell), older)


def _flip(book: Book) -> None:
    settings = _cell(book, "check-halves")["metadata"]["nbgrader"]
    settings.update(grade=False, solution=True, points=99)


def _tag(book: Book) -> None:
    for cell in book["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "raises-exception"]


def _edit_locked(book: Book) -> None:
    _cell(book, "check-halves")["source"] = "pass"
    _cell(book, "reference-1")["source"] = "def double_ref(x):\n    return x"


def _one_string(book: Book) -> None:
    for cell in book["cells"]:
        cell["source"] = "".join(cell["source"])


def _junk(book: Book) -> None:
    book["cells"] += [{}, 7, None, {"cell_type": "code", "source": 3, "metadata": []}]
    book["metadata"] = "gone"


CHANGES: dict[str, Callable[[Book], None]] = {
    "as released": lambda book: None,
    "test cell deleted": _delete("check-halves"),
    "test cell without metadata": _strip("check-halves"),
    "answer cell without metadata": _strip("answer-halves"),
    "test and another answer deleted": lambda b: (_delete("check-double")(b), _delete("setup")(b)),
    "test cell turned raw": _retype("check-halves", "raw"),
    "answer cell turned raw": _retype("answer-halves", "raw"),
    "answer cell turned markdown": _retype("answer-halves", "markdown"),
    "answer doubled": _double,
    "test flipped to solution": _flip,
    "tags that skip": _tag,
    "locked cells edited": _edit_locked,
    "cells in another order": lambda book: book["cells"].reverse(),
    "sources as one string": _one_string,
    "cells that are no cells": _junk,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_faults_of_notebooks_are_repaired(
    change: Callable[[Book], None], released: Book, course: Course, folder: Path
) -> None:
    """Kills: an answer lost, a test changed or dropped, a point value taken from a submission."""
    change(released)
    answers, submission = _ingested(course, folder, released)
    assert answers["answer-halves"].rstrip("\n") == ANSWER
    assert [(e.key, e.points) for e in submission.exercises] == [("double", 4.0), ("halves", 2.0)]
    given = {c.name: c.source for c in submission.cells if c.role == "given"}
    trusted = {cell.name: cell.source for cell in course.cells}
    for name in ("setup", "reference-1"):
        assert given[name] == trusted[name]
    assert "halves" not in str([c.source for c in submission.cells if c.role == "extra"])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', "[" * 100_000, "\0" * 100])
def test_an_unreadable_notebook_is_missing(text: str, course: Course, folder: Path) -> None:
    """Kills: one broken file that ends the run of a class."""
    _, submission = _ingested(course, folder, text)
    assert submission.missing == ("answer-double", "answer-halves")
    assert submission.notes


def test_added_cells_run_where_they_stood(released: Book, course: Course, folder: Path) -> None:
    """Kills: a helper in a cell of the student's own that the answer then lacks; magics that
    break a cell; text that is run."""
    at = released["cells"].index(_cell(released, "answer-halves"))
    added = [
        {"cell_type": "code", "metadata": {}, "source": "%matplotlib inline\nHALF = 2\n!ls"},
        {"cell_type": "markdown", "metadata": {}, "source": "# mine"},
        {"cell_type": "code", "metadata": {}, "source": "%%bash\nrm -rf /"},
    ]
    released["cells"][at:at] = added
    _, submission = _ingested(course, folder, released)
    names = [cell.name for cell in submission.cells]
    extras = [cell for cell in submission.cells if cell.role == "extra"]
    assert [cell.source for cell in extras] == ["pass\nHALF = 2\npass", ""]
    assert names.index(extras[0].name) < names.index("answer-halves")


PERCENT = 'def halves(n):\n    """\n    % of n\n    """\n    return [n // 2, (n + n\n    % 2) // 2]'


@pytest.mark.parametrize(
    ("text", "taken"),
    [(PERCENT, PERCENT), (f"tl.load?\n?print\n{ANSWER}", f"pass\npass\n{ANSWER}")],
)
def test_only_magics_are_taken_out(
    text: str, taken: str, released: Book, course: Course, folder: Path
) -> None:
    """Kills: an honest line that begins with % inside brackets, or in a text, taken for a magic; an
    answer that is lost for `tl.load?` in its cell."""
    _cell(released, "answer-halves")["source"] = text
    answers, _ = _ingested(course, folder, released)
    assert answers["answer-halves"] == taken


@pytest.mark.parametrize("text", ["yesterday or so", "9" * 300, "2026-11-21 10:00 1 2", "\0"])
def test_a_time_that_is_none_ends_no_run(
    text: str, released: Book, course: Course, folder: Path
) -> None:
    """Kills: a class that cannot be graded because one student wrote into timestamp.txt."""
    (folder / "timestamp.txt").write_text(text)
    _, submission = _ingested(course, folder, released)
    assert submission.timestamp is None and "late penalty" in submission.notes[0]


def test_a_link_for_a_time_is_not_followed(
    released: Book, course: Course, folder: Path, tmp_path: Path
) -> None:
    """Kills: a file of the grader's whose text comes back beside the feedback."""
    (tmp_path / "own").write_text("2026-11-21 10:00:00 UTC")
    (folder / "timestamp.txt").symlink_to(tmp_path / "own")
    assert _ingested(course, folder, released)[1].timestamp is None


def test_where_a_cell_stands_changes_the_digest(
    released: Book, course: Course, folder: Path
) -> None:
    """Kills: an added cell moved above its check, and the old verdict stays."""
    added = {"cell_type": "code", "metadata": {}, "source": "x = 1"}
    found = []
    for name in ("answer-double", "check-double"):
        book = copy.deepcopy(released)
        book["cells"].insert(book["cells"].index(_cell(book, name)) + 1, added)
        found.append(_ingested(course, folder, book)[1])
    first, second = found
    assert first.cells == second.cells and first.digest != second.digest


def test_points_change_the_digest_of_a_course(course: Course) -> None:
    """Kills: scores of an older maximum that stay when a task's points change."""
    cells = tuple(
        dataclasses.replace(cell, points=9.0) if cell.role == "check" else cell
        for cell in course.cells
    )
    assert dataclasses.replace(course, cells=cells).digest != course.digest


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("90_doubling/cases.py", True),
        ("90_doubling/page.py", True),
        ("shared/sizes.py", True),
        ("90_doubling/wrong.py", False),
        ("00_start_here/cases.py", False),
    ],
)
def test_the_cases_of_a_page_change_the_digest_of_a_course(
    file: str, counts: bool, course: Course, pages: Path, tmp_path: Path, monkeypatch
) -> None:
    """Kills: grades of before kept for checks that try something else now, and a class that is
    graded again because of another page."""
    folder = shutil.copytree(pages, tmp_path / "pages")
    (folder / "shared").mkdir(exist_ok=True)
    monkeypatch.setenv("TRITONBOOK_EXERCISES", str(folder))
    assert asked_of(course.notebook) == course.asked
    with (folder / file).open("a") as changed:
        changed.write("# another case\n")
    assert (asked_of(course.notebook) != course.asked) is counts
    assert dataclasses.replace(course, asked="another").digest != course.digest


def test_sizes_are_capped(released: Book, course: Course, folder: Path) -> None:
    """Kills: a submission that fills the grader's memory or disk."""
    _cell(released, "answer-halves")["source"] = ANSWER + "\n#" + "x" * 5_000_000
    released["cells"] += [
        {"cell_type": "code", "metadata": {}, "source": f"x = {n}"} for n in range(2000)
    ]
    _, submission = _ingested(course, folder, released)
    assert sum(len(cell.source) for cell in submission.cells) < 500_000
    assert len(submission.cells) < 120
    assert any("added cells were kept" in note for note in submission.notes)


def test_half_a_character_ends_no_run(released: Book, course: Course, folder: Path) -> None:
    """Kills: one notebook whose text no file can hold, and the whole class waits."""
    _cell(released, "answer-halves")["source"] = ANSWER + "\n# \ud800"
    _, submission = _ingested(course, folder, released)
    again = Submission.model_validate_json(submission.model_dump_json())
    assert again == submission and again.digest == submission.digest


def test_a_worked_example_gives_its_definitions() -> None:
    """Kills: plots and measurements run again for every student; line numbers that move."""
    text = "import os\n\nbench(f)\n\n\n@jit\ndef f(x):\n    return x\n\n\nN = 3\nT = f(3)\nshow(N)"
    kept = definitions_only(text)
    assert kept.splitlines()[6] == "def f(x):"
    assert "N = 3" in kept
    assert "bench" not in kept and "show" not in kept and "T =" not in kept
