"""The mistakes of pages 13 to 15 that have a name: each is a mistake, and not another's."""

from __future__ import annotations

import itertools

import pytest
import torch

from tritonbook.checking.cases import arguments
from tritonbook.checking.judge import _told
from tritonbook.course.cases import checks

LAYER, SPLIT, BACKWARD = "13_layernorm", "14_layernorm_split", "15_norm_backward"
KEYS = [
    (LAYER, "layernorm"),
    (LAYER, "welford_combine"),
    (LAYER, "layernorm_welford"),
    (SPLIT, "piece_stats"),
    (SPLIT, "layernorm_split"),
    (BACKWARD, "layernorm_backward"),
    (BACKWARD, "rmsnorm_backward"),
]


def _results(formula, case):
    """What a formula gives for a case, in float64: a tuple of tensors."""
    given = [
        value.double() if isinstance(value, torch.Tensor) else value for value in arguments(case)
    ]
    found = formula(*given, **_told(formula, case))
    return tuple(each.double() for each in (found if isinstance(found, tuple) else (found,)))


def _same(one, other):
    return all(
        torch.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize(("page", "key"), KEYS)
def test_no_two_mistakes_are_the_same_and_none_is_the_truth(page, key):
    """Kills: two names for one result in every case, of which a learner would read either; a
    formula that is right after all, and one that no case can tell from the truth."""
    check = checks(page)[key]
    formulas = {"the truth": check.reference}
    formulas |= {code: formula for code, (formula, _) in check.mistakes.items()}
    found = {
        code: [_results(formula, case) for case in check.usable()]
        for code, formula in formulas.items()
    }
    for (one, ours), (other, theirs) in itertools.combinations(found.items(), 2):
        assert not all(map(_same, ours, theirs)), (one, other)
