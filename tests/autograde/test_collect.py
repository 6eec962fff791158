"""`nbgrader collect` under the course's settings takes plain files, and follows nothing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from grading import NAME

from autograde.classroom import demo

WHEN = "2026-11-01 12:00:00.000000 UTC"


def test_links_and_pipes_stay_where_they_are(course: Path, tmp_path: Path) -> None:
    """Kills: a link of a student's to source/ or to the gradebook, followed with the instructor's
    rights; a pipe or an unreadable file that ends the collection of a class."""
    inbound = tmp_path / "exchange" / "triton-workbook" / "inbound"
    inbound.mkdir(parents=True)
    shutil.rmtree(course / "submitted")
    source = course / "source" / NAME
    bad = inbound / f"ann+{NAME}+{WHEN}"
    bad.mkdir()
    (bad / f"{NAME}.ipynb").symlink_to(source / f"{NAME}.ipynb")
    (bad / "more").symlink_to(source)
    (bad / "book.py").symlink_to(course / "gradebook.db")
    os.mkfifo(bad / "pipe.ipynb")
    (bad / "timestamp.txt").write_text(WHEN)
    (inbound / f"bob+{NAME}+{WHEN}").symlink_to(source)
    good = inbound / f"cem+{NAME}+{WHEN}"
    shutil.copytree(course / "release" / NAME, good / "sub")
    (good / "timestamp.txt").write_text(WHEN)
    done = demo.nbgrader(course, "collect", NAME, f"--Exchange.root={inbound.parents[1]}")
    assert done.returncode == 0, done.stdout
    files = sorted(p for p in (course / "submitted").rglob("*") if not p.is_dir())
    assert [str(path.relative_to(course / "submitted")) for path in files] == [
        f"ann/{NAME}/timestamp.txt",
        f"cem/{NAME}/sub/{NAME}.ipynb",
        f"cem/{NAME}/timestamp.txt",
    ]
    assert "pipe.ipynb is no plain file" in done.stdout and "is a link" in done.stdout
    handed_in = (good / "sub" / f"{NAME}.ipynb").stat().st_mtime_ns
    assert files[1].stat().st_mtime_ns == handed_in  # the newest of several is still the newest
