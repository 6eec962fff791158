"""Every graded answer of the course: wrong ones refused for their reason, right ones accepted."""

from __future__ import annotations

import pytest

from tritonbook.build import matrix
from tritonbook.course.exercises import Exercise, exercises

GRADED = [
    pytest.param(exercise, key, id=f"{exercise.slug}-{key}")
    for exercise in exercises()
    if exercise.needs == "interpreter"
    for key in exercise.answers()
]


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_kill_matrix(exercise: Exercise, key: str, worker: matrix.Worker):
    """Names the mutants that survive, those killed for another reason, and variants refused."""
    rows = list(matrix.run(matrix.trials(exercise, key), worker=worker))
    bad = [f"{row.kind} {row.name}: {row.verdict}, got {row.got}" for row in rows if not row.good]
    assert bad == []
