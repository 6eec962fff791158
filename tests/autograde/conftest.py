"""A course of one small exercise, so that grading is tested apart from the notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograde import demo
from autograde.samples import material_of, sample_class
from tritonbook.course.exercises import Exercise

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def exercise() -> Exercise:
    """Doubling: one kernel (4 points, one hidden case) and one plain function (2 points)."""
    return Exercise(HERE / "exercises" / "90_doubling.py")


@pytest.fixture(scope="session")
def released(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder with the sample class handed in, not graded. Copy it before use."""
    course = demo.prepare(tmp_path_factory.mktemp("class"), [exercise])
    demo.release(course, [exercise.slug], 1)
    demo.submit(course, exercise.slug, sample_class(material_of(exercise)))
    return course
