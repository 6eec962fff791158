"""The course as committed: every rule kept, every generated notebook up to date."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from known_good import KnownGood, stands_on

from tritonbook.build import contract, stubs, sync
from tritonbook.build.release import read_release
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[2]
COURSE = exercises(ROOT / "exercises")
OPEN = KnownGood("open")


@pytest.mark.parametrize("exercise", COURSE, ids=lambda exercise: exercise.slug)
def test_an_exercise_keeps_every_rule(exercise: Exercise):
    assert [str(error) for error in contract.problems(exercise, read_release(ROOT))] == []


def test_the_exercises_fit_together():
    assert [str(error) for error in contract.course_problems(COURSE)] == []


@pytest.mark.slow
def test_open_gaps_compile(pytestconfig: pytest.Config):
    on = {page: functools.partial(stands_on, page) for page in COURSE}
    due = [page for page in COURSE if OPEN.is_tried(page, on[page], pytestconfig)]
    assert [str(error) for error in stubs.problems(due)] == []
    for page in due:
        OPEN.keep(page, on[page])


def test_generated_notebooks_are_up_to_date():
    built = sync.build(ROOT)
    assert [str(error) for error in built.broken] == []
    stale = [str(path.relative_to(ROOT)) for path in [*built.differing(), *built.left_over()]]
    assert stale == [], "run make sync"
