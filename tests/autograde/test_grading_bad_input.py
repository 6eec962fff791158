"""Bad input to the instructor's commands: one sentence on standard error, exit code 2, no more."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from grading import NAME

from autograde.classroom import cli
from autograde.judge.course import instructor_secret


def _one_sentence(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code = cli.main(list(arguments))
    said = capsys.readouterr()
    assert (code, said.out) == (2, ""), said.err
    (line,) = said.err.splitlines()
    assert line.endswith((".", "?")) and "Errno" not in line
    return line


@pytest.mark.parametrize(
    "line",
    """|nope|grade|grade 90_doubling --nope|grade nope|grade ../source/90_doubling|grade .
    grade 90_doubling --workers 0|grade 90_doubling --workers x|run 90_doubling --call-seconds nan
    retry 90_doubling --wall-seconds 0|run 90_doubling --sandbox nope|run 90_doubling --runner nope
    run 90_doubling --slurm chunk=3|run 90_doubling --runner slurm --slurm chunk=x|verify nope
    grade 90_doubling --sandbox apptainer --image none.sif""".replace("\n", "|").split("|"),
)
def test_arguments(line, course, capsys, monkeypatch) -> None:
    """Kills: a traceback, a page of usage, a class that is run with limits that end every item."""
    monkeypatch.chdir(course)
    _one_sentence(capsys, *line.split())
    assert not (course / "work" / NAME / "ledger.jsonl").exists()


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
        (_unknown, "No such assignment"),
    ],
)
def test_course_folders(change, word, course, capsys, monkeypatch) -> None:
    """Kills: a run that ends in a traceback; seeds without a secret, which anybody can guess."""
    change(course)
    monkeypatch.chdir(course)
    name = "91_new" if change is _unknown else NAME
    assert word in _one_sentence(capsys, "ingest", name)


def test_brackets_are_no_markup(course, capsys, monkeypatch) -> None:
    """Kills: a file name of a student's that vanishes from a message, or ends the command."""
    folder = course / "submitted" / "s1_right" / NAME
    (folder / f"{NAME}.ipynb").rename(folder / "mine [bold] [ ].ipynb")
    monkeypatch.chdir(course)
    assert cli.main(["ingest", NAME]) == 0
    assert "renamed to 'mine [bold] [ ].ipynb'" in capsys.readouterr().err


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
