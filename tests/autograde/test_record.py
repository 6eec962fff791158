"""What goes into the gradebook and into feedback: marks by hand stay, names of files stay text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from grading import NAME, Grader, by_status, exported, graded, ingested, keep, solutions

from autograde.classroom import demo
from autograde.classroom.record import _notes_cell, open_gradebook
from autograde.judge.work import Item
from tritonbook.words import speaking


@pytest.fixture
def course(course: Path) -> Path:
    """Two students: right answers, and wrong ones."""
    keep(course, "s1_right", "s4_no_mask")
    return course


@by_status
def judge(item: Item) -> str:
    return "PASS" if item.submission.student.startswith("s1") else "FAIL"


def test_notes_reach_the_student_as_text(course: Path) -> None:
    """Kills: a hand-in whose repair only the instructor hears of; a file's name that is markup in
    the page that the instructor opens."""
    folder = course / "submitted" / "s1_right" / NAME
    evil = "<img src=x onerror=alert(1)> [a](b) `c` ${d}$.ipynb"
    (folder / f"{NAME}.ipynb").rename(folder / evil)
    graded(course, judge)
    done = demo.nbgrader(course, "generate_feedback", NAME)
    assert done.returncode == 0, done.stdout
    pages = {path.parts[-3]: path.read_text() for path in course.glob("feedback/*/*/*.html")}
    assert "How your hand-in was read" in pages["s1_right"]
    assert "&lt;img src=x onerror=alert(1)&gt; [a](b) `c` ${d}$.ipynb" in pages["s1_right"]
    assert "<img src=x" not in pages["s1_right"]
    assert "How your hand-in was read" not in pages["s4_no_mask"]


def test_notes_are_in_the_readers_language() -> None:
    """Kills: an English list above a feedback in Chinese; signs that are shown as `\\：`."""
    note = "the notebook was renamed to 'my_`x`.ipynb', and taken all the same"
    with speaking("zh"):
        (line,) = _notes_cell((note,)).source.splitlines()[2:]
    assert line == r"- 笔记本改名为 \'my_\`x\`\.ipynb\'，仍然采用"


def test_marks_by_hand_stay(course: Path) -> None:
    """Kills: a score, a comment or extra points that a person gave, lost when the assignment is
    recorded again, or graded again; a student who is asked about twice."""
    graded(course, judge)
    with open_gradebook(course) as book:
        notebook = book.find_submission_notebook(NAME, NAME, "s4_no_mask")
        grade = book.find_grade("check-double", NAME, NAME, "s4_no_mask")
        grade.manual_score, grade.extra_credit = 3.0, 0.5
        for comment in notebook.comments:
            comment.manual_comment = "A good idea."
        book.db.commit()
    session = ingested(course)
    session.reopen()
    assert len(session.open_items()) == 4
    session.run(judge)
    session.record()
    assert exported(course)["s4_no_mask"] == 3.5
    with open_gradebook(course) as book:
        notebook = book.find_submission_notebook(NAME, NAME, "s4_no_mask")
        assert not notebook.needs_manual_grade
        assert {comment.comment for comment in notebook.comments} == {"A good idea."}


WRONG = {
    "double": [
        ("out = torch.empty_like(x)", "out = torch.empty_like(y)", "out = torch.empty_like(y)"),
        ("out = torch.empty_like(x)", "out = torch.svd(x)", "out = torch.svd(x)"),
        ("x + x, mask", "x + zzz, mask", None),
        ("BLOCK_SIZE=64", "BLOCK_SIZE=63", None),
    ],
    "halves": [("return [n // 2,", "return [1 / 0,", "return [1 / 0, n - n // 2]")],
}


def test_feedback_has_the_students_lines_and_none_of_the_graders(grader: Grader) -> None:
    """Kills: a card that shows where the grader stood in place of where the answer failed."""
    right = solutions(grader.exercise)
    for key, changes in WRONG.items():
        for old, new, line in changes:
            assert old in right[key]
            verdict = grader.grade(key, **{key: right[key].replace(old, new)})
            assert verdict.status == "FAIL"
            shown = [told["text/plain"] for told in verdict.reports]
            lines = re.findall(r"line \d+, in \S+: (.*)", "\n".join(shown))
            assert set(lines) == ({line} if line else set())
