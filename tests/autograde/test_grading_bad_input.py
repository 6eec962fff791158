"""Bad input to the instructor's commands: one sentence on standard error, exit code 2, no more."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from grading import NAME

from autograde.classroom import cli, exam_sheet
from autograde.judge.course import instructor_secret
from autograde.walls import visible
from tritonbook import words


def _one_sentence(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = cli.main(list(arguments))
    said = capsys.readouterr()
    assert (code, said.out) == (2, ""), said.err
    (line,) = said.err.splitlines()
    assert line.endswith((".", "?", "。", "？")) and "Errno" not in line
    return line


LINES = """|nope|grade|grade 90_doubling --nope|grade nope|grade ../source/90_doubling|grade .
    grade 90_doubling --workers 0|grade 90_doubling --workers x|run 90_doubling --call-seconds nan
    retry 90_doubling --wall-seconds 0|run 90_doubling --sandbox nope|run 90_doubling --runner nope
    run 90_doubling --slurm chunk=3|run 90_doubling --runner slurm --slurm chunk=x|verify nope
    grade 90_doubling --sandbox apptainer --image none.sif""".replace("\n", "|").split("|")
SAID = {
    "grade 90_doubling --student nobody": "nobody",
    "grade nope": f"name one of the assignments {NAME}.",
    "grad 90_doubling": "? See autograde --help.",
    "run 90_doubling --exercise triple": "it has double, halves",
    "sign exam_7 --course source": "has no gradebook.db",
    "sign 90_doubling": "is a page of the course, no exam",
    "grade 90_doubling --course submitted": "submitted is no course folder",
    "new-course c nope": "'nope'",
    "new-course c ..": "'..'",
    "new-course c 01_vec": "'01_vec'",
    "exam 7 --pages 77 --course c": "There is no page '77'",
    "exam 7 --pages softmx --course c": "did you mean '04_softmax'?",
    "exam 7 --pages 04 --tasks 3 --course c": "for a sheet of 2 tasks, not of 3",
    "exam 7 --pages 02 --course c": "for a sheet of 0 tasks",
    "exam ../7 --course c": "is no seed",
    f"exam 7 --course {exam_sheet.COURSE}": "is no course folder",
}


@pytest.mark.parametrize("line", [*LINES, *SAID])
def test_arguments(line, course, capsys, monkeypatch) -> None:
    """Kills: a traceback, a page of usage, a class that is run with limits that end every item; a
    misspelt name that grades nothing and says nothing; an empty or a half-made course; a sheet, and
    its key, in the public repository."""
    monkeypatch.chdir(course)
    assert SAID.get(line, "") in _one_sentence(capsys, *line.split())
    assert not (course / "work" / NAME / "ledger.jsonl").exists()
    assert not (course / "c").exists()


def test_each_sentence_is_chinese_where_chinese_is_spoken(course, capsys, monkeypatch) -> None:
    """Kills: an error, or a page of help, that an instructor gets in English."""
    monkeypatch.chdir(course)
    with words.speaking("zh"):
        said = [_one_sentence(capsys, *line.split()) for line in [*LINES, *SAID]]
        for command in "", "grade", "exam":
            assert cli.main([*command.split(), "--help"]) == 0
            said += capsys.readouterr().out.splitlines()
    plain = [re.sub(r"`[^`]*`|--\S+|^  \S+|可用的设置：.*", "", line) for line in said]
    assert [line for line in plain if re.search(r"(?:\b[a-z]+ ){2}[a-z]+", line)] == []


ODD = '{"cells": [{"cell_type": "code", "metadata": {"nbgrader": {"grade": true}}}]}'


def _unknown(course: Path) -> None:
    for folder in ("source", "release"):
        (course / folder / NAME).rename(course / folder / "91_new")
    for folder in (course / "submitted").glob(f"*/{NAME}"):
        folder.rename(folder.with_name("91_new"))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda course: (course / "gradebook.db").unlink(), "generate_assignment"),
        (lambda course: (course / "gradebook.db").write_text("no database"), "not a database"),
        (lambda course: (course / "secret").touch(), "is empty"),
        (lambda course: (course / "source" / NAME / f"{NAME}.ipynb").write_text("{"), "notebook"),
        (lambda course: (course / "source" / NAME / f"{NAME}.ipynb").write_text("[]"), "notebook"),
        (lambda course: shutil.rmtree(course / "release"), "generate_assignment"),
        (lambda course: (course / "gradebook.db").write_text("no database"), "a copy of it back"),
        (lambda course: (course / "release" / NAME / f"{NAME}.ipynb").write_text("{"), "--force"),
        (lambda course: (course / "source" / NAME / f"{NAME}.ipynb").write_text(ODD), "whole copy"),
        (_unknown, "No such assignment"),
    ],
)
def test_course_folders(change, word, course, capsys, monkeypatch) -> None:
    """Kills: a run that ends in a traceback; seeds without a secret, which anybody can guess."""
    change(course)
    monkeypatch.chdir(course)
    name = "91_new" if change is _unknown else NAME
    assert word in _one_sentence(capsys, "ingest", name)


def test_a_config_is_read_before_a_class_is_run(course, capsys, monkeypatch) -> None:
    """Kills: hours of grading that end in a traceback of nbgrader's, and in no grade."""
    (course / "nbgrader_config.py").write_text("c.A =")
    monkeypatch.chdir(course)
    assert "nbgrader_config.py cannot be used (SyntaxError" in _one_sentence(capsys, "grade", NAME)
    assert not (course / "work" / NAME / "ledger.jsonl").exists()


def test_an_exchange_that_students_code_can_read(course, tmp_path, capsys, monkeypatch) -> None:
    """Kills: hand-ins of the whole class, read by the code of one student."""
    (tmp_path / "usr" / "exchange").mkdir(parents=True)
    monkeypatch.setattr(visible, "visible_folders", lambda: [tmp_path / "usr"])
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.Exchange.root = {str(tmp_path / 'usr' / 'exchange')!r}\n")
    monkeypatch.chdir(course)
    assert cli.main(["run", NAME]) == 2
    assert "exchange lies in" in capsys.readouterr().err
    assert not (course / "work" / NAME / "ledger.jsonl").exists()


@pytest.mark.parametrize("command", ["grade", "ingest", "run", "record", "regrade", "report"])
def test_an_empty_class_is_an_error(command, course, capsys, monkeypatch) -> None:
    """Kills: 'done' where nobody's work was found, because it lay in another folder."""
    shutil.rmtree(course / "submitted")
    monkeypatch.chdir(course)
    line = _one_sentence(capsys, command, NAME)
    assert "Nobody handed in" in line and "nbgrader collect" in line


def test_looking_writes_nothing(course, capsys, monkeypatch) -> None:
    """Kills: `status` and `report` that write to the gradebook beside a run."""
    monkeypatch.chdir(course)
    instructor_secret(course)
    before = {p: p.stat().st_mtime_ns for p in course.rglob("*") if p.is_file()}
    assert cli.main(["status", NAME]) == 0
    assert cli.main(["report", NAME]) == 0
    assert "8 students" in capsys.readouterr().out
    assert {p: p.stat().st_mtime_ns for p in course.rglob("*") if p.is_file()} == before


def test_a_secret_is_made_once(tmp_path, monkeypatch) -> None:
    """Kills: a second process that writes another secret over the first one's; hidden cases that
    change between two runs, or that others can read."""
    first = instructor_secret(tmp_path)
    monkeypatch.setattr(Path, "exists", lambda path: False)  # as it was a moment ago
    assert instructor_secret(tmp_path) == first and len(first) == 64
    assert os.stat(tmp_path / "secret").st_mode & 0o777 == 0o600
