"""On a real GPU: solutions, wrong answers and variants, compiled, in three dtypes.

Each solution meets every case in every dtype, each variant some cases, and of the wrong answers one
in `ONE_IN` its case, with all those that show on a GPU alone. `--thorough`: all on all, the wrong
ones in half precision too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from tritonbook.build import matrix
from tritonbook.course.exercises import Exercise, exercises
from tritonbook.course.page_checks import checks
from tritonbook.port.device import INTERPRET

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here")]
ROOT = Path(__file__).parents[2]
ONE_IN = 4
# Its check compares measured times, which other tests on the same GPU would spoil.
TIMED = {"rmsnorm"}
GRADED = [
    pytest.param(
        exercise,
        key,
        id=f"{exercise.slug}-{key}",
        # Products of tiles take the compiler longest, and long tests come first.
        marks=[pytest.mark.timed] * (key in TIMED)
        + [pytest.mark.slow] * ("dot(" in exercise.path.read_text(encoding="utf-8")),
    )
    for exercise in exercises()
    for key in exercise.answers()
]


@pytest.fixture(scope="session")
def run():
    """Rows of these attempts, from one process for the session: its imports take seconds."""
    with contextlib.closing(matrix.CheckProcess()) as worker:
        yield lambda wanted, dtype=None: list(matrix.run(wanted, dtype, worker=worker))


@pytest.fixture
def thorough(pytestconfig):
    return pytestconfig.getoption("thorough")


def _takes(exercise: Exercise, key: str, dtype: str) -> None:
    """Skip where the contract does not have this dtype, or no kernel."""
    check = checks(exercise)[key]
    if not check.triton:
        pytest.skip("what launches no kernel has no dtype but that of its cases")
    if dtype not in {case.dtype for case in (*check.cases, *check.hidden) if not case.raises}:
        pytest.skip("its contract does not have this dtype")


def _tried_here(exercise: Exercise, wanted: Iterable[matrix.Attempt]) -> list[matrix.Attempt]:
    """All but wrong answers in Gluon: in a race a GPU may be right by luck, or wait for ever. The
    simulator names them."""
    in_gluon = exercise.header.needs == "gluon"
    return [each for each in wanted if not (in_gluon and each.kind == "mutant")]


def _bad(rows: list[matrix.Row]) -> list[str]:
    return [
        f"{row.attempt.kind} {row.attempt.name}: {row.verdict}, got {row.answer.code}. "
        f"{row.answer.message}"
        for row in rows
        if not row.good
    ]


@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_kill_matrix_compiled(exercise: Exercise, key: str, run, thorough):
    """Cases in the dtypes that they name; wrong answers get their diagnosis on the GPU too."""
    wanted = _tried_here(exercise, matrix.attempts(exercise, key))
    if not thorough:
        short = matrix.shortened(exercise, key, ROOT / matrix.KNOWN, one_in=ONE_IN)
        solution = [each for each in wanted if each.kind == "solution"]
        wanted = solution + _tried_here(exercise, short)
    assert _bad(run(wanted)) == []


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_right_answers_in_every_dtype(exercise: Exercise, key: str, dtype: str, run, thorough):
    _takes(exercise, key, dtype)
    kinds = ("solution", "variant") if thorough else ("solution",)
    right = [each for each in matrix.attempts(exercise, key) if each.kind in kinds]
    assert _bad(run(right, dtype)) == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_wrong_answers_in_half_precision(exercise: Exercise, key: str, dtype: str, run, thorough):
    """Each mutant is refused, for whatever reason, unless this dtype alone cannot show it."""
    if not thorough:
        pytest.skip("with --thorough")
    _takes(exercise, key, dtype)
    tried = _tried_here(exercise, matrix.attempts(exercise, key))
    wrong = [each for each in tried if each.kind == "mutant"]
    survivors = [row.attempt for row in run(wrong, dtype) if row.answer.code == "passed"]
    shown_elsewhere = {"wrong-dtype", "should-raise", "no-eps", "eps-outside-root"}
    shown_elsewhere |= {"squares-overflow"}  # bfloat16 has float32's range
    assert [r.name for r in survivors if not set(r.expected) & shown_elsewhere] == []
