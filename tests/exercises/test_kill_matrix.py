"""Every graded answer of the course: wrong ones refused for their reason, right ones accepted.

Rows that were good are kept until something changes. Where `make kill-matrix` never ran, a sample
is tried, drawn by `--seed`. `--thorough` shortens nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tritonbook.build import matrix
from tritonbook.build.kept import FEW
from tritonbook.checking import Check
from tritonbook.course.exercises import Exercise, exercises
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import checks

ROOT = Path(__file__).parents[2]
GRADED = [
    pytest.param(exercise, key, id=f"{exercise.slug}-{key}")
    for exercise in exercises()
    if exercise.header.needs in ("interpreter", "gluon")
    for key in exercise.answers()
]


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "key"), GRADED)
def test_kill_matrix(
    exercise: Exercise, key: str, worker: matrix.CheckProcess, pytestconfig: pytest.Config
):
    """Names the mutants that survive, those killed for another reason, and variants refused."""
    if pytestconfig.getoption("thorough"):
        wanted, kept = matrix.attempts(exercise, key), None
    else:
        kept, seed = ROOT / matrix.KEPT, pytestconfig.getoption("seed")
        few = {} if matrix.tried_whole(exercise, key, kept) else {"one_in": FEW, "seed": seed}
        wanted = matrix.shortened(exercise, key, ROOT / matrix.KNOWN, **few)
    rows = list(matrix.run(wanted, seconds=600, worker=worker, kept=kept))
    bad = [
        f"{row.attempt.kind} {row.attempt.name}: {row.verdict}, got {row.answer.code}"
        for row in rows
        if not row.good
    ]
    assert bad == []


def notes_seen(check: Check) -> set[str]:
    """Notes of the cases that learners have, those of a helper that the task asks for too."""
    asked = [notes_seen(each) for each in check.asks if isinstance(each, Check)]
    return {case.note for case in check.cases}.union(*asked)


@pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.slug)
def test_what_breaks_a_promise_is_refused_by_a_case_that_learners_have(exercise: Exercise):
    known = json.loads((ROOT / matrix.KNOWN).read_text()).get(exercise.slug, {})
    seen = {key: notes_seen(check) for key, check in checks(exercise).items()}
    late = [
        mutant
        for mutant in wrong_answers(exercise).promises
        for key, refused_by in known.items()
        if mutant in refused_by and refused_by[mutant] not in seen[key]
    ]
    assert late == []
