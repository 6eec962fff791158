"""A course of one small exercise, so that grading is tested apart from the notebooks."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grading import NAME, Grader

from autograde.classroom import demo
from autograde.classroom.samples import sample_class
from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course.exercises import Exercise

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="session", autouse=True)
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The course's pages and those that only these tests grade, in one folder."""
    folder = tmp_path_factory.mktemp("pages")
    for source in (ROOT / "exercises", HERE / "exercises"):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITONBOOK_EXERCISES", str(folder))
        yield folder


@pytest.fixture(scope="session")
def exercise(pages: Path) -> Exercise:
    """Doubling: one kernel (4 points, one hidden case) and one plain function (2 points)."""
    return Exercise(pages / "90_doubling" / "page.py")


@pytest.fixture
def blank(exercise: Exercise) -> dict[str, Any]:
    """The learner's notebook of it as it is given out, as JSON."""
    return json.loads(views.to_bytes(views.learner(exercise, read_release(ROOT))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where ann hands it in."""
    target = tmp_path / "submitted" / "ann" / NAME
    target.mkdir(parents=True)
    return target


@pytest.fixture(scope="session")
def released(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder with the sample class handed in, not graded. Copy it before use.

    Workers of one run share it: the first that asks makes it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "class"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            course = demo.prepare(shared, [exercise])
            demo.release(course, exercise.slug)
            demo.submit(course, exercise.slug, sample_class(exercise))
            (shared / "made").touch()
    return shared / "course"


@pytest.fixture
def course(released: Path, tmp_path: Path) -> Path:
    """The same, for a test's own use."""
    return Path(shutil.copytree(released, tmp_path / "course"))


@pytest.fixture(scope="session")
def grader(exercise: Exercise) -> Grader:
    return Grader(exercise)
