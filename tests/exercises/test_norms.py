"""What the checks of notebooks 11 and 13 cannot say: gradients, and the same bits on a GPU."""

from __future__ import annotations

import needs
import pytest
import torch

from tritonbook import DEVICE, reference
from tritonbook.course.exercises import load

NORMS = torch.nn.functional


def _relative(got: torch.Tensor, want: torch.Tensor) -> float:
    return ((got.double() - want).abs().max() / want.abs().max()).item()


def test_layernorm_gradients_match_float64():
    # Kills: stats of the forward pass that the backward pass cannot use (rstd without eps).
    forward, backward = reference("layernorm"), reference("layernorm_backward")
    x, dy = torch.randn(2, 9, 70, device=DEVICE).unbind(0)
    w, b = torch.randn(2, 70, device=DEVICE).unbind(0)
    x = 0.01 * x + 3  # eps counts
    _, mean, rstd = forward(x, w, b, 1e-4, stats=True)
    leaves = [value.double().requires_grad_() for value in (x, w, b)]
    exact = NORMS.layer_norm(leaves[0], (70,), leaves[1], leaves[2], 1e-4)
    wanted = torch.autograd.grad(exact, leaves, dy.double())
    got = backward(dy, x, w, mean, rstd, num_programs=4)
    assert [_relative(g, want) < 1e-4 for g, want in zip(got, wanted, strict=True)] == [True] * 3


@pytest.mark.gpu
@needs.gpu
@pytest.mark.parametrize("N", [5000, 262_144])
def test_atomics_agree_within_noise_and_partials_to_the_bit(N):
    # Kills: atomics in the version that must repeat; a race that costs more than rounding.
    split, repeatable = reference("rmsnorm_split"), reference("rmsnorm_split_det")
    x, w = torch.randn(4, N, device=DEVICE), torch.randn(N, device=DEVICE)
    first = repeatable(x, w, 1e-6, 32)
    assert all(torch.equal(repeatable(x, w, 1e-6, 32), first) for _ in range(20))
    for _ in range(20):
        assert torch.allclose(split(x, w, 1e-6, 32), first, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize(("N", "splits"), [(100, 3), (17, 5), (1, 2), (262_144, 33), (255, 1)])
def test_pieces_cover_a_row(N, splits):
    # Kills: columns in no piece, a tile that is too narrow for its piece.
    size, block = load("11_rmsnorm_split").pieces(N, splits)
    assert size * splits >= N and size % 16 == 0
    assert block >= size and block & (block - 1) == 0
