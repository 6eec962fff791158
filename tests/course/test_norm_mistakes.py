"""The known mistakes of LayerNorm are mistakes, each another one, on data like the checks'."""

from __future__ import annotations

import pytest
import torch

from tritonbook.course.norm_mistakes import COMBINE_MISTAKES, LAYERNORM_MISTAKES


def _rows():
    generator = torch.Generator().manual_seed(3)
    x, w, b = (
        torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape in ((4, 17), (17,), (17,))
    )
    return 0.05 * x + 0.1, w, b, 1e-4


@pytest.mark.parametrize("code", LAYERNORM_MISTAKES)
def test_layernorm_mistakes_differ_from_the_truth_and_each_other(code):
    # Kills: a formula that is right after all, and two names for one mistake.
    arguments = _rows()
    x, w, b, eps = arguments
    value = LAYERNORM_MISTAKES[code][0](*arguments)
    assert value.shape == x.shape
    right = torch.nn.functional.layer_norm(x, (17,), w, b, eps)
    others = {c: f(*arguments) for c, (f, _) in LAYERNORM_MISTAKES.items() if c != code}
    for other in (right, *others.values()):
        assert (value - other).abs().max() > 1e-6


def test_padding_is_what_unmasked_lanes_would_add():
    x, w, b, eps = _rows()
    lanes = torch.nn.functional.pad(x - x.mean(-1, keepdim=True), (0, 0))
    padded = torch.cat((lanes, -x.mean(-1, keepdim=True).expand(4, 15)), dim=1)  # 32 lanes
    variance = padded.pow(2).sum(-1, keepdim=True) / 17
    expected = lanes * torch.rsqrt(variance + eps) * w + b
    got = LAYERNORM_MISTAKES["padding-counted"][0](x, w, b, eps)
    assert torch.allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("code", COMBINE_MISTAKES)
def test_merging_mistakes_change_one_of_three_results(code):
    a, b = torch.tensor([1.0, 2.0, 6.0]).double(), torch.tensor([9.0, 3.0]).double()
    parts = (a.numel(), a.mean(), (a - a.mean()).pow(2).sum())
    others = (b.numel(), b.mean(), (b - b.mean()).pow(2).sum())
    arguments = [torch.as_tensor(v, dtype=torch.float64) for v in (*parts, *others)]
    both = torch.cat((a, b))
    right = (5.0, both.mean(), (both - both.mean()).pow(2).sum())
    got = COMBINE_MISTAKES[code][0](*arguments)
    wrong = [abs(float(g) - float(r)) > 1e-9 for g, r in zip(got, right, strict=True)]
    assert sum(wrong) == 1
