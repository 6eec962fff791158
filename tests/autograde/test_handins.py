"""Odd but honest hand-ins are taken where it is plain what is meant, else named in a note."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import corpus
import pytest
from grading import NAME, Grader
from test_ingest import ANSWER, Book, _cell, _ingested

from autograde.classroom import handins
from autograde.judge.course import Course
from autograde.judge.work import Item

KERNEL = corpus.KERNEL.format(value="x + x").strip()
WRAPPER = corpus.WRAPPER.format(first="", last="").strip()
DOUBLE = f"{KERNEL}\n\n\n{WRAPPER}"


@pytest.fixture(scope="module")
def course(grader: Grader) -> Course:
    return grader.course


@pytest.fixture
def solved(blank: Book) -> Book:
    _cell(blank, "answer-double")["source"] = DOUBLE
    _cell(blank, "answer-halves")["source"] = ANSWER
    return blank


def _as_lost(book: Book) -> Book:
    """As Colab may save it: no metadata, other ids."""
    for number, cell in enumerate(book["cells"]):
        cell["metadata"], cell["id"] = {"id": f"x{number}"}, f"x{number}"
    return book


def _code(source: str, name: str = "") -> Book:
    meta = {"nbgrader": {"grade_id": name, "solution": True}} if name else {}
    return {"cell_type": "code", "metadata": meta, "source": source, "outputs": []}


def _two_cells_lost(book: Book) -> None:
    at = book["cells"].index(_cell(book, "answer-double"))
    _as_lost(book)
    book["cells"][at : at + 1] = [_code(KERNEL), _code(WRAPPER)]


def _two_cells_kept(book: Book) -> None:
    """As JupyterLab splits a cell: both halves keep the metadata."""
    at = book["cells"].index(_cell(book, "answer-double"))
    book["cells"][at : at + 1] = [_code(KERNEL, "answer-double"), _code(WRAPPER, "answer-double")]


def _merged(text: str) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        _as_lost(book)
        sources = ["".join(cell["source"]) for cell in book["cells"]]
        book["cells"] = [c for c, s in zip(book["cells"], sources, strict=True) if s != DOUBLE]
        sources.remove(DOUBLE)
        book["cells"][sources.index(ANSWER)] = _code(text)

    return change


def _merged_into_the_last(book: Book) -> None:
    book["cells"].remove(_cell(book, "answer-double"))
    _cell(book, "answer-halves")["source"] = f"{ANSWER}\n\n\n{DOUBLE}"


def _beside_the_stub(book: Book) -> None:
    at = book["cells"].index(_cell(book, "answer-halves"))
    stub = 'def halves(n):\n    raise NotImplementedError("TODO: fill in halves")'
    _cell(book, "answer-halves")["source"] = stub
    book["cells"].insert(at, _code(ANSWER))


def _in_the_check(book: Book) -> None:
    book["cells"].remove(_cell(book, "answer-halves"))
    cell = _cell(book, "check-halves")
    cell["source"] = ANSWER + "\n\n\n" + "".join(cell["source"])


def _question(book: Book) -> None:
    _as_lost(book)
    for cell in book["cells"]:
        if cell["source"] == ANSWER:
            cell["source"] = f"tl.load?\n{ANSWER}"


CELLS = {
    "kernel and wrapper apart, metadata lost": _two_cells_lost,
    "kernel and wrapper apart, metadata doubled": _two_cells_kept,
    "merged, metadata lost": _merged(f"{DOUBLE}\n\n\n{ANSWER}"),
    "merged in another order, with a helper": _merged(
        f"EVEN = 4\n{ANSWER}\ncheck(halves, halves_ref, [case('mine', n=EVEN)], triton=False)\n"
        f"FIRST = [halves(n) for n in range(EVEN)]\n\n{DOUBLE}"
    ),
    "merged into the last answer": _merged_into_the_last,
    "written beside the stub": _beside_the_stub,
    "written into the check's cell": _in_the_check,
    "metadata lost, and a question to the notebook": _question,
}


@pytest.mark.parametrize("change", CELLS.values(), ids=CELLS)
def test_answers_are_found_in_other_cells(
    change: Callable[[Book], None], solved: Book, course: Course, folder: Path, grader: Grader
) -> None:
    """Kills: an answer that is MISSING, or loses its kernel, because a tool dropped metadata or
    somebody split or merged cells."""
    change(solved)
    answers, submission = _ingested(course, folder, solved)
    assert submission.missing == ()
    assert submission.notes
    pairs = ("double", "double_kernel"), ("double", "double"), ("halves", "halves")
    for name, function in pairs:
        assert f"def {function}(" in answers[f"answer-{name}"]
    assert "check(" not in "".join(c.source for c in submission.cells if c.role != "given")
    for exercise in submission.exercises:
        verdict = grader.executor.run(Item(grader.course, submission, exercise))
        assert verdict.status == "PASS", verdict.sentence


def _write(path: Path, book: Book, when: float = 0.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(book))
    os.utime(path, (when, when))


def _as_script(book: Book) -> str:
    """As Colab saves a notebook: text as strings, code without marks between the cells."""
    parts = ['# -*- coding: utf-8 -*-\n"""90_doubling.ipynb\n\nGenerated by Colab."""']
    for cell in book["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "code" else '"""' + text + '"""')
    return "\n\n".join(parts) + "\n"


def _as_version_3(book: Book) -> Book:
    cells = []
    for cell in book["cells"]:
        made = {"cell_type": cell["cell_type"], "metadata": cell["metadata"]}
        made["input" if cell["cell_type"] == "code" else "source"] = cell["source"]
        cells.append(made)
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}


def _zipped(folder: Path, book: Book) -> None:
    with zipfile.ZipFile(folder / "homework.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"__MACOSX/hw/._{NAME}.ipynb", "no notebook")
        archive.writestr(f"hw/{NAME}.ipynb", json.dumps(book))


FILES: dict[str, tuple[Callable[[Path, Book], object], str]] = {
    "Copy1": (lambda f, b: _write(f / f"{NAME}-Copy1.ipynb", b), "renamed to"),
    "capitals": (lambda f, b: _write(f / f"{NAME}.IPYNB", b), ""),
    "a subfolder": (lambda f, b: _write(f / "my work" / f"{NAME}.ipynb", b), "'my work/"),
    "a zip": (_zipped, "homework.zip/hw/"),
    "a script": (lambda f, b: (f / f"{NAME}.py").write_text(_as_script(b)), f"{NAME}.py"),
    "a byte order mark": (
        lambda f, b: (f / f"{NAME}.ipynb").write_bytes(b"\xef\xbb\xbf" + json.dumps(b).encode()),
        "",
    ),
    "UTF-16": (lambda f, b: (f / f"{NAME}.ipynb").write_text(json.dumps(b), "utf-16"), ""),
    "nbformat 3": (lambda f, b: _write(f / f"{NAME}.ipynb", _as_version_3(b)), ""),
}


@pytest.mark.parametrize(("write", "note"), FILES.values(), ids=FILES)
def test_other_files_are_taken(
    write: Callable[[Path, Book], object], note: str, solved: Book, course: Course, folder: Path
) -> None:
    """Kills: a notebook that is MISSING because of its name, its place or how it was saved."""
    write(folder, solved)
    answers, submission = _ingested(course, folder)
    assert submission.missing == ()
    assert answers["answer-halves"].strip() == ANSWER
    assert "def double_kernel(" in answers["answer-double"]
    assert note in " ".join(submission.notes)


def test_a_script_is_graded(
    solved: Book, course: Course, folder: Path, grader: Grader, tmp_path: Path
) -> None:
    """Kills: checks and plots of a script that run in the student's name."""
    (folder / "mine.py").write_text(_as_script(solved) + "\nfor n in range(3):\n    print(n)\n")
    _, submission = _ingested(course, folder)
    own = "".join(cell.source for cell in submission.cells if cell.role == "answer")
    assert "check(" not in own and "double_ref" not in own and "a worked example" not in own
    statuses = [
        grader.executor.run(Item(grader.course, submission, each)).status
        for each in submission.exercises
    ]
    assert statuses == ["PASS", "PASS"]


def _with(book: Book, answer: str) -> Book:
    made = json.loads(json.dumps(book))
    _cell(made, "answer-halves")["source"] = answer
    return made


@pytest.mark.parametrize(("second", "newest"), [(50.0, 10), (60.0, 2)])
def test_the_newest_of_several_counts(
    second: float, newest: int, blank: Book, course: Course, folder: Path
) -> None:
    """Kills: the last by name taken for the last by time; `-Copy2` for later than `-Copy10` where
    an upload made the times equal; the others left out in silence."""
    times = {1: 30.0, 2: second, 10: 50.0, 3: 20.0}
    for number, when in times.items():
        text = f"def halves(n):\n    return {number}"
        _write(folder / f"{NAME}-Copy{number}.ipynb", _with(blank, text), when)
    answers, submission = _ingested(course, folder)
    assert f"return {newest}" in answers["answer-halves"]
    notes = " ".join(submission.notes)
    assert f"renamed to '90_doubling-Copy{newest}.ipynb'" in notes
    for number in {*times} - {newest}:
        assert f"-Copy{number}.ipynb' was handed in too" in notes


def test_the_name_that_was_asked_for_counts_if_it_holds_work(
    blank: Book, course: Course, folder: Path
) -> None:
    """Kills: an untouched notebook graded beside the copy that holds the work; a copy graded in
    place of the notebook that was asked for."""
    _write(folder / f"{NAME}.ipynb", blank, 10.0)
    _write(folder / f"{NAME}-Copy1.ipynb", _with(blank, "def halves(n):\n    return 1"), 20.0)
    answers, submission = _ingested(course, folder)
    assert "return 1" in answers["answer-halves"]
    assert f"'{NAME}.ipynb' was handed in too, and not graded: it has no answer" in submission.notes
    _write(folder / f"{NAME}.ipynb", _with(blank, "def halves(n):\n    return 0"), 10.0)
    answers, submission = _ingested(course, folder)
    assert "return 0" in answers["answer-halves"]
    (note,) = submission.notes
    assert "Copy1" in note and "newer" in note


def test_what_cannot_be_taken_is_named(blank: Book, course: Course, folder: Path) -> None:
    """Kills: MISSING in silence, with the file that was meant lying beside."""
    (folder / "photo.pdf").write_bytes(b"x")
    (folder / "broken.py").write_text("def halves(:")
    (folder / "broken.zip").write_bytes(b"PK no zip")
    _write(folder / "other.ipynb", {"cells": [_code("def relu(x):\n    return x")]})
    _, submission = _ingested(course, folder)
    assert submission.missing == ("answer-double", "answer-halves")
    notes = " ".join(submission.notes)
    for name in ("photo.pdf", "broken.py", "broken.zip", "other.ipynb"):
        assert repr(name) in notes
    assert "no notebook was handed in" in notes


def test_an_answer_that_is_not_there_is_named(solved: Book, course: Course, folder: Path) -> None:
    """Kills: one answer MISSING of a notebook that is there, without a word."""
    solved["cells"].remove(_cell(solved, "answer-halves"))
    _, submission = _ingested(course, folder, solved)
    assert submission.missing == ("answer-halves",)
    assert submission.notes == ("answer-halves: not found; no cell defines halves",)


@pytest.mark.parametrize("name", ["n.ipynb", "n.zip", "n.py", "timestamp.txt"])
def test_a_pipe_hangs_nothing(name: str, course: Course, folder: Path) -> None:
    """Kills: one student's FIFO that a class waits for."""
    os.mkfifo(folder / name)
    notes: list[str] = []
    assert handins.find(folder, course, notes) is None
    assert "no plain file" in notes[0], notes


def test_links_are_not_followed(solved: Book, course: Course, folder: Path) -> None:
    """Kills: another student's notebook, or the instructor's, handed in as a link to it: as a
    file, as a folder, as the whole hand-in, in a zip."""
    other = folder.parents[1] / "bob" / NAME
    _write(other / f"{NAME}.ipynb", solved)
    (folder / f"{NAME}.ipynb").symlink_to(other / f"{NAME}.ipynb")
    (folder / "sub").symlink_to(other)
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        member = zipfile.ZipInfo(f"{NAME}.ipynb")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, str(other / f"{NAME}.ipynb"))
    _, submission = _ingested(course, folder)
    assert len(submission.missing) == 2
    assert " ".join(submission.notes).count("is a link") == 3
    shutil.rmtree(folder)
    folder.symlink_to(other)
    _, submission = _ingested(course, folder)
    assert len(submission.missing) == 2 and "link" in submission.notes[0]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_not_unpacked_without_end(
    method: int, solved: Book, course: Course, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a few kilobytes that become gigabytes in the grader."""
    with zipfile.ZipFile(folder / "x.zip", "w", method) as archive:
        archive.writestr(f"{NAME}.ipynb", json.dumps(solved | {"x": "0" * 5_000_000}))
    monkeypatch.setattr(handins, "MAX_NOTEBOOK_BYTES", 1 << 20)
    _, submission = _ingested(course, folder)
    assert len(submission.missing) == 2
    assert ("too large" if method == zipfile.ZIP_DEFLATED else "packed in a rare way") in (
        submission.notes[0]
    )


def test_a_zip_writes_nothing(solved: Book, course: Course, folder: Path, tmp_path: Path) -> None:
    """Kills: a name that leads out of the folder, and a file of the grader's overwritten."""
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr(f"../../../../{NAME}.ipynb", json.dumps(solved))
        archive.writestr("/etc/x.ipynb", "{}")
    before = sorted(tmp_path.rglob("*"))
    answers, _ = _ingested(course, folder)
    assert answers["answer-halves"] == ANSWER
    assert sorted(tmp_path.rglob("*")) == before


def test_counts_are_bounded(blank: Book, course: Course, folder: Path) -> None:
    """Kills: a student who fills the grader's time with files, folders or an archive of names."""
    for number in range(handins.MAX_FILES + 50):
        (folder / f"a{number}.ipynb").write_text("{}")
    deep = folder / "/".join("d" * 8)
    deep.mkdir(parents=True)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for number in range(handins.MAX_FILES + 50):
            archive.writestr(f"{number}.txt", "")
    _, submission = _ingested(course, folder)
    assert len(submission.notes) <= 30
    assert all(len(note) < 300 for note in submission.notes)
