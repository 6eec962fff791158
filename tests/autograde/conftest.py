"""A course of one small exercise, so that grading is tested apart from the notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonbook.course.exercises import Exercise

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def exercise() -> Exercise:
    """Doubling: one kernel (4 points, one hidden case) and one plain function (2 points)."""
    return Exercise(HERE / "exercises" / "90_doubling.py")
