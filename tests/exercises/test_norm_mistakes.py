"""The mistakes of pages 13 to 15 that have a name: each is a mistake, and not another's."""

from __future__ import annotations

import itertools

import pytest
import torch

from tritonbook.checking.cases import arguments
from tritonbook.checking.judge import _told
from tritonbook.course.cases import checks, load_cases

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


@pytest.mark.parametrize("key", ["layernorm", "rmsnorm"])
def test_the_gradients_are_those_of_autograd(key):
    """Kills: a slip in the formulas that the checks compare with."""
    cases = load_cases(BACKWARD)
    x, dy, w = (torch.randn(shape).double() for shape in [(5, 30), (5, 30), (30,)])
    b = torch.zeros(30).double()
    leaves = [t.requires_grad_() for t in ((x, w, b) if key == "layernorm" else (x, w))]
    function = getattr(torch.nn.functional, "layer_norm" if key == "layernorm" else "rms_norm")
    y = function(x, (30,), *leaves[1:], 1e-3)
    wanted = torch.autograd.grad(y, leaves, dy)
    with torch.no_grad():
        if key == "layernorm":
            rstd = torch.rsqrt(x.var(-1, correction=0) + 1e-3)
            found = cases.layernorm_backward_ref(dy, x, w, x.mean(-1), rstd)
        else:
            found = cases.rmsnorm_backward_ref(dy, x, w, 1e-3)
    assert all(torch.allclose(got, want) for got, want in zip(found, wanted, strict=True))
