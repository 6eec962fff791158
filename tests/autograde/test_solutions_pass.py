"""The grader gives the course's own solutions full marks, under a secret that no page has seen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from grading import Grader, solutions

from tritonbook.course.exercises import Exercise, exercises

GRADED = [pytest.param(one, id=one.slug) for one in exercises() if one.answers()]


@pytest.mark.slow
@pytest.mark.parametrize("exercise", GRADED)
def test_every_solution_passes(exercise: Exercise) -> None:
    """Kills: torch operators and launch arguments that a page teaches and the grader does not
    know; kernels of two pages that get in each other's way."""
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(Grader(exercise).grade, solutions(exercise)))
    assert [(f.status, f.sentence) for f in found if f.status != "PASS"] == []
