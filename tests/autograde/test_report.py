"""What the instructor is told: nobody left out, each exercise's own sentences, the gradebook's
marks; and pages that show what students wrote as text."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from grading import NAME, exported, graded, hand_in, verdict

from autograde.classroom import cli, demo, progress
from autograde.classroom.record import open_gradebook
from autograde.classroom.report import ClassReport, as_csv, as_text, class_report
from autograde.classroom.report_page import as_html
from autograde.judge.work import Item, Verdict
from tritonbook import words

EVIL = "<script>alert(1)</script> & \"x\" 'y' \x1b[2J \u202e 𠮷"


OWN = """\
def double(x):
    parts = []
    for piece in x.split(7):
        twice = torch.stack([piece, piece], dim=1)
        parts.append(twice.sum(dim=1).reshape(-1))
    assert len(parts) > 0, "empty"
    return torch.cat(parts).contiguous()
"""


def _judge(items: Iterable[Item]) -> Iterator[Verdict]:
    """s1 to s3 pass, s5 comes without its answer, others make a mistake."""
    for item in items:
        status = "PASS" if item.submission.student < "s4" else "FAIL"
        if item.submission.student.startswith("s5"):
            status = "MISSING"
        code, sentence = {
            "PASS": ("passed", "Passed."),
            "MISSING": ("missing", "No cell that could be read defines it."),
            "FAIL": ("wrong-values", f"In {item.exercise.key}: {EVIL}"),
        }[status]
        yield verdict(item, status, code=code, sentence=sentence)


def _report(course: Path) -> ClassReport:
    return class_report(graded(course, _judge))


def test_mistakes_are_told_by_exercise(course: Path) -> None:
    """Kills: the sentence of one exercise shown for another with the same code; MISSING that is
    no mistake and that nobody looks at."""
    text = as_text(_report(course))
    assert "- double: wrong-values, 4 students: In double: " in text
    assert "- halves: wrong-values, 4 students: In halves: " in text
    assert "- double: missing, 1 student: No cell that could be read" in text
    assert "- s5_torch 90_doubling double: No cell" in text.partition("## To look at yourself")[2]
    assert not {"\x1b", "\u202e"} & set(text) and "𠮷" in text


def test_an_example_is_called_one(course: Path) -> None:
    """Kills: one student's mistake told of all that have its code; a student whose work was not run
    listed with those who need help."""

    def judge(items: Iterable[Item]) -> Iterator[Verdict]:
        for item in items:
            name = item.submission.student
            if name == "s1_right":
                yield verdict(item, "INFRA", code="infra", sentence='Traceback\nKeyError: "x"')
            else:
                yield verdict(item, "FAIL", code="raised", sentence=f"{name} is not defined.")

    report = class_report(graded(course, judge))
    text = as_text(report)
    assert ": for example: " in text and "- double: raised, 7 students: s" not in text
    assert "s1_right" not in report.need_help and "s4_no_mask" in report.need_help
    assert 'a fault of the grader\'s (KeyError: "x"): give points by hand' in report.open[0]


def test_who_handed_nothing_in_appears(course: Path) -> None:
    """Kills: a student of the roster whom no report mentions."""
    with open_gradebook(course) as book:
        book.add_student("zoe")
    report = _report(course)
    assert report.absent == ["zoe"]
    assert "- zoe" in as_text(report).partition("## Nothing handed in")[2]
    rows = {row["student"]: row for row in csv.DictReader(io.StringIO(as_csv(report)))}
    assert rows["zoe"]["ABSENT"] == "1" and rows["zoe"]["maximum"] == "6"
    assert rows["s1_right"]["ABSENT"] == "0"
    assert sum(report.distribution) == 8


def test_the_csv_has_what_the_gradebook_adds(course: Path) -> None:
    """Kills: a mark by hand, extra points or a penalty that `report --csv` does not know, so that
    its scores are not those of `nbgrader export`."""
    folder = course / "submitted" / "s2_other_blocks" / NAME
    (folder / "timestamp.txt").write_text("2026-11-02 12:00:00 UTC")
    due = demo.nbgrader(course, "db", "assignment", "add", NAME, "--duedate=2026-11-01T12:00Z")
    assert due.returncode == 0, due.stdout
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    session = graded(course, _judge)
    with open_gradebook(course) as book:
        grade = book.find_grade("check-double", NAME, NAME, "s4_no_mask")
        grade.manual_score, grade.extra_credit = 1.5, 0.25
        book.db.commit()
    rows = {r["student"]: r for r in csv.DictReader(io.StringIO(as_csv(class_report(session))))}
    names = ("points", "by_hand", "extra_credit", "late_penalty", "score")
    assert [rows["s2_other_blocks"][n] for n in names] == ["6", "", "0", "6", "0"]
    assert [rows["s4_no_mask"][n] for n in names] == ["0", "1.5", "0.25", "0", "1.75"]
    ours = {student: float(row["score"]) for student, row in rows.items()}
    assert ours == exported(course)


def test_the_page_needs_nothing_and_runs_nothing(course: Path) -> None:
    """Kills: a student's text, or the name of a file, that becomes markup; a page that asks the
    network for anything, or that is white in the dark."""
    folder = course / "submitted" / "s1_right" / NAME
    (folder / f"{NAME}.ipynb").rename(folder / "<img src=x onerror=alert(1)>.ipynb")
    text = as_html(_report(course))
    page = BeautifulSoup(text, "html.parser")
    assert not page.find_all(["script", "img", "link", "iframe"])
    assert not page.select("[src], [href]") and "http" not in text and "url(" not in text
    assert "color-scheme:light dark" in text
    assert "<script>alert(1)</script>" in page.text and "<img src=x" in page.text


def test_the_page_has_a_histogram_of_each_task(course: Path) -> None:
    """Kills: bars that do not follow the counts; mistakes without their sentence and students."""
    text = as_html(_report(course))
    tasks = dict(re.findall(r"(?s)<h2>(double|halves) .*?</h2>(.*?)</table>", text))
    assert list(tasks) == ["double", "halves"]
    for key, task in tasks.items():
        row = r'name">([^<]+)</td><td class="count">(\d+)</td>.*?value="(\d+)" max="(\d+)"'
        assert re.findall(row, task) == [
            ("passed", "3", "3", "4"),
            ("wrong-values", "4", "4", "4"),
            ("missing", "1", "1", "4"),
        ]
        assert f"In {key}: &lt;script" in task
        assert "s4_no_mask, s6_untouched, s7_exit, s8_endless" in task


def test_copies_are_listed_without_a_grade(course: Path) -> None:
    """Kills: copies that the report does not name, or that cost points."""
    for student in ("s2_other_blocks", "s4_no_mask"):
        shutil.rmtree(course / "submitted" / student)
        hand_in(course, {student: {"double": OWN}})
    report = _report(course)
    alike = as_text(report).partition("## Answers that are alike")[2]
    assert "- double: s2_other_blocks and s4_no_mask, 1.00, word for word" in alike
    assert "- double: the published solution and 5 students: s1_right 1.00 (word for word)" in alike
    assert "s6_untouched" not in alike
    assert report.rows["s2_other_blocks"][0] == 6
    with words.speaking("zh"):
        said, page = as_text(report), as_html(report)
    assert "- double：s2_other_blocks 和 s4_no_mask，1.00，一字不差" in said
    for english in ("points", "student", "Answers", "word for word", "renamed"):
        assert english not in said and english not in BeautifulSoup(page, "html.parser").text


def test_grade_tells_ingests_notes_and_who_is_absent(
    course: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: repairs that only `ingest` tells of; a file name of a student's that vanishes from a
    message, or ends the command; a report about one student in place of the class's; a
    `regrade` that runs nothing and says nothing."""
    with open_gradebook(course) as book:
        book.add_student("zoe")
    folder = course / "submitted" / "s1_right" / NAME
    (folder / f"{NAME}.ipynb").rename(folder / "mine [bold] [ ].ipynb")
    monkeypatch.setattr(progress, "make_runner", lambda *arguments: _judge)
    arguments = ["regrade", NAME, "--course", str(course), "--student", "s1_right"]
    assert cli.main(arguments) == 2
    assert f"Nothing of {NAME} was graded" in capsys.readouterr().err
    assert cli.main(["grade", NAME, "--course", str(course)]) == 0
    said = capsys.readouterr().err
    assert "renamed to 'mine [bold] [ ].ipynb'" in said
    assert "Nothing handed in by 1: zoe" in said
    lines = (course / "work" / NAME / "ledger.jsonl").read_text().splitlines()
    assert cli.main([*arguments, "--exercise", "halves"]) == 0
    more = (course / "work" / NAME / "ledger.jsonl").read_text().splitlines()[len(lines) :]
    assert [(json.loads(v)["item"]["student"], json.loads(v)["item"]["key"]) for v in more] == [
        ("s1_right", "halves")
    ]
    assert cli.main(["grade", NAME, "--course", str(course), "--student", "s1_right"]) == 0
    assert "8 students" in (course / "work" / NAME / "report.md").read_text()
    assert "8 students" in (course / "work" / NAME / "report.html").read_text()


@pytest.mark.parametrize("head", ["=", "+", "-", "@", " =", "\t", "\x1b", "\r"])
def test_a_spreadsheet_takes_no_name_for_a_formula(head: str) -> None:
    """Kills: a student's name that a spreadsheet runs."""
    report = ClassReport("x", rows={f"{head}1+1": (0.0, 1.0, Counter())})
    found = list(csv.reader(io.StringIO(as_csv(report))))
    assert found[1][0] == f"'{head}1+1"
