"""On a real GPU: every solution, wrong answer and variant, compiled, in three dtypes."""

from __future__ import annotations

import pytest

from tritonbook.build import matrix
from tritonbook.course.exercises import Exercise, exercises
from tritonbook.port.device import INTERPRET

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here"),
]
# Its check compares measured times, which other tests on the same GPU would spoil.
TIMED = {"rmsnorm"}
GRADED = [
    pytest.param(
        exercise,
        key,
        id=f"{exercise.slug}-{key}",
        marks=[pytest.mark.timed] if key in TIMED else [],
    )
    for exercise in exercises()
    for key in exercise.answers()
]


def _bad(rows: list[matrix.Row]) -> list[str]:
    return [
        f"{row.kind} {row.name}: {row.verdict}, got {row.got}. {row.message}"
        for row in rows
        if not row.good
    ]


@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_kill_matrix_compiled(exercise: Exercise, key: str):
    """Cases in the dtypes that they name; wrong answers get their diagnosis on the GPU too."""
    assert _bad(list(matrix.run(matrix.attempts(exercise, key)))) == []


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_right_answers_in_every_dtype(exercise: Exercise, key: str, dtype: str):
    right = [t for t in matrix.attempts(exercise, key) if t.kind in ("solution", "variant")]
    assert _bad(list(matrix.run(right, dtype=dtype))) == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_wrong_answers_in_half_precision(exercise: Exercise, key: str, dtype: str):
    """Each mutant is refused, for whatever reason, unless this dtype alone cannot show it."""
    wrong = [t for t in matrix.attempts(exercise, key) if t.kind == "mutant"]
    survivors = [row for row in matrix.run(wrong, dtype=dtype) if row.got == "passed"]
    shown_elsewhere = {"wrong-dtype", "should-raise", "no-eps", "eps-outside-root"}
    shown_elsewhere |= {"squares-overflow"}  # bfloat16 has float32's range
    assert [r.name for r in survivors if not set(r.expected) & shown_elsewhere] == []
