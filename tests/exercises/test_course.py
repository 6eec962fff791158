"""The course as committed: every rule kept, every generated notebook up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonbook.build import contract, stubs, sync
from tritonbook.build.release import read_release
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[2]
COURSE = exercises(ROOT / "exercises")


@pytest.mark.parametrize("exercise", COURSE, ids=lambda exercise: exercise.slug)
def test_an_exercise_keeps_every_rule(exercise: Exercise):
    assert [str(error) for error in contract.problems(exercise, read_release(ROOT))] == []


def test_the_exercises_fit_together():
    assert [str(error) for error in contract.course_problems(COURSE)] == []


@pytest.mark.slow
def test_open_gaps_compile():
    assert [str(error) for error in stubs.problems(COURSE)] == []


def test_generated_notebooks_are_up_to_date():
    built = sync.build(ROOT)
    assert [str(error) for error in built.broken] == []
    stale = [str(path.relative_to(ROOT)) for path in [*built.differing(), *built.left_over()]]
    assert stale == [], "run make sync"
