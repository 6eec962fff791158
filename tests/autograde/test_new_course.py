"""`autograde new-course` makes a folder that nbgrader and `autograde` work in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from autograde.classroom import cli, demo


def test_a_new_course_has_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kills: a folder that lacks something, that others can read, or that holds the workbook;
    the secret, the gradebook or students' work in a commit of the course folder."""
    course = tmp_path / "deep" / "course"
    assert cli.main(["new-course", str(course), "01", "04_softmax"]) == 0
    files = sorted(str(p.relative_to(course)) for p in course.rglob("*") if p.is_file())
    assert files == [
        ".gitignore",
        "nbgrader_config.py",
        "source/01_vector_add/01_vector_add.ipynb",
        "source/04_softmax/04_softmax.ipynb",
    ]
    assert course.stat().st_mode & 0o077 == 0
    told = capsys.readouterr().out.splitlines()[-1].split()
    made = demo.nbgrader(course, *told[1:])
    assert made.returncode == 0, made.stdout
    target = course / "submitted" / "ann" / "01_vector_add"
    shutil.copytree(course / "release" / "01_vector_add", target)
    assert cli.main(["ingest", "01_vector_add", "--course", str(course)]) == 0
    assert "Notebooks: 1. " in capsys.readouterr().err
    made = {path.name for path in course.iterdir()}
    assert {"secret", "gradebook.db", "submitted", "release", "work"} <= made
    subprocess.run(["git", "init", "-q"], cwd=course, check=True)
    listing = ["git", "ls-files", "--others", "--exclude-standard"]
    assert subprocess.check_output(listing, cwd=course, text=True).split() == files


def test_a_course_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kills: settings or sources of a running course replaced."""
    (tmp_path / "nbgrader_config.py").write_text("mine")
    assert cli.main(["new-course", str(tmp_path)]) == 2
    assert "name a new folder" in capsys.readouterr().err
    assert (tmp_path / "nbgrader_config.py").read_text() == "mine"
