"""What the exercise of LayerNorm would otherwise have to show its reader: cases, and a cut."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..checking.cases import TensorSpec, tensor
from ..port.device import DEVICE

# After ..port.device, which decides between GPU and interpreter before Triton is imported.
import triton  # isort: skip

LARGE_MEAN, EPS = 10_000.0, 1e-6


def parts(
    size: int, a: tuple[int, int] = (1, 50), b: tuple[int, int] = (1, 50), mean: float = 0.0
) -> dict[str, TensorSpec]:
    """The six arguments of `welford_combine` for a case, each float32 of shape (size,).

    a, b: lowest count of that side's parts, and one more than the highest; (0, 1): all are empty,
    and then so are their mean and M2. mean: about which the means lie.
    """
    sides = {}
    for side, (low, high) in (("a", a), ("b", b)):
        means, squares = ("zeros", "zeros") if high == 1 else ("normal", "positive")
        sides[f"n_{side}"] = tensor(size, dtype="float32", values=_counts(low, high))
        sides[f"mean_{side}"] = tensor(size, dtype="float32", values=means, mean=mean)
        sides[f"m2_{side}"] = tensor(size, dtype="float32", values=squares)
    return sides


def _counts(low: int, high: int) -> Callable[..., torch.Tensor]:
    return lambda generator, shape: torch.randint(low, high, shape, generator=generator).double()


@functools.cache  # 10 us of Python, at each call of LayerNorm
def pieces(N: int, num_splits: int) -> tuple[int, int]:
    """Columns of each piece when N columns are cut in num_splits, and the tile that holds one.

    As the function of this name in notebook 11. Raises ValueError for a piece of over 65536.
    """
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    BLOCK_N = triton.next_power_of_2(piece_size)
    if BLOCK_N > 65536:
        raise ValueError(f"a piece of {piece_size} columns does not fit one program: cut finer")
    return piece_size, BLOCK_N


def backward_of(M: int, N: int, num_programs: int, **dy: Any) -> dict[str, Any]:
    """A case's arguments and options for `layernorm_backward`; rstd is positive. dy: its tensor's
    layout, scale and so on."""
    return {
        "dy": tensor(M, N, **dy),
        "x": tensor(M, N, mean=2),
        "w": tensor(N),
        "mean": tensor(M, dtype="float32"),
        "rstd": tensor(M, dtype="float32", values="positive"),
        "options": {"num_programs": num_programs},
    }


def rms_backward_of(
    M: int, N: int, num_programs: int, eps: float = 1e-6, scale: float = 1.0, **dy: Any
) -> dict[str, Any]:
    """The same for `rmsnorm_backward`. scale: of x."""
    return {
        "dy": tensor(M, N, **dy),
        "x": tensor(M, N, scale=scale),
        "w": tensor(N),
        "eps": eps,
        "options": {"num_programs": num_programs},
    }


def survives_a_large_mean(fn: Callable[..., Any], *knob: int) -> None:
    """Assert that `fn(x, w, b, eps, *knob)` normalises rows around 10,000.

    float32 has steps of 0.001 there, so an error of 0.01 is allowed.
    """
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(3, 1000, generator=generator) + LARGE_MEAN
    w, b = torch.ones(1000, device=DEVICE), torch.zeros(1000, device=DEVICE)
    variance, mean = torch.var_mean(x.double(), dim=-1, keepdim=True, correction=0)
    wanted = (x.double() - mean) * torch.rsqrt(variance + EPS)
    error = (fn(x.to(DEVICE), w, b, EPS, *knob).double().cpu() - wanted).abs().max().item()
    assert error < 0.01, (
        f"Rows around 10,000 come out wrong by {error:.2g}. A variance from E[x^2] - E[x]^2 "
        "subtracts two large numbers and keeps no digits: subtract the mean before you square."
    )
