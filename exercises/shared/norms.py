"""What the checks of LayerNorm have in common (pages 13 and 14): cases, mistakes, a large mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import tensor

EPS = 1e-6
LARGE_MEAN = 10_000.0


def rows(*shape: int, eps: float = EPS, **how: Any) -> dict[str, Any]:
    """The arguments x, w, b, eps of a case: x of this shape, w and b as long as its rows."""
    return {"x": tensor(*shape, **how), "w": tensor(shape[-1]), "b": tensor(shape[-1]), "eps": eps}


def survives_a_large_mean(fn: Callable[..., Any], *knob: int) -> None:
    """Assert that `fn(x, w, b, eps, *knob)` normalises rows around 10,000.

    float32 has steps of 0.001 there, so an error of 0.01 is allowed.
    """
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(2, 500, generator=generator) + LARGE_MEAN
    w, b = torch.ones(500, device=DEVICE), torch.zeros(500, device=DEVICE)
    variance, mean = torch.var_mean(x.double(), dim=-1, keepdim=True, correction=0)
    wanted = (x.double() - mean) * torch.rsqrt(variance + EPS)
    got = fn(x.to(DEVICE), w, b, EPS, *knob).double().cpu()
    error = (got - wanted).abs().nan_to_num(torch.inf).max().item()
    found = "become NaN" if error == torch.inf else f"come out wrong by {error:.2g}"
    assert error < 0.01, (
        f"Rows around 10,000 {found}, smaller numbers are right. That is how a difference of two "
        "large squares loses its digits: sum the squares of x - mean, and nothing else."
    )


def mean_of(x):
    return x.mean(dim=-1, keepdim=True)


def variance_of(x):
    return x.var(dim=-1, keepdim=True, correction=0)


def scaled(x, w, b, eps, mean, variance):
    """LayerNorm with a mean and a variance of somebody's choice."""
    return (x - mean) * torch.rsqrt(variance + eps) * w + b


def layernorm(x, w, b, eps):
    return scaled(x, w, b, eps, mean_of(x), variance_of(x))


def _row_added_twice(x, w, b, eps):
    """Program m takes row 2 m of x; where there is none, it reads what is no number."""
    found = x.reshape(-1, x.shape[-1])
    wanted = 2 * torch.arange(found.shape[0])
    inside = (wanted < found.shape[0])[:, None]
    read = torch.where(inside, found[wanted.clamp_max(found.shape[0] - 1)], float("nan"))
    return layernorm(read, w, b, eps).reshape(x.shape)


def _rounded_twice(x, w, b, eps, *, dtype):
    one, zero = torch.ones_like(w), torch.zeros_like(b)
    return (layernorm(x, one, zero, eps).to(dtype).double() * w + b).to(dtype)


# Formulas of a wrong y, for rows in one tile, in several or in pieces.
MISTAKES = {
    "unbiased": (
        lambda x, w, b, eps: scaled(
            x, w, b, eps, mean_of(x), variance_of(x) * x.shape[-1] / max(x.shape[-1] - 1, 1)
        ),
        "The variance is divided by N - 1. LayerNorm divides by N.",
    ),
    "mean-not-subtracted": (
        lambda x, w, b, eps: scaled(x, w, b, eps, 0.0, variance_of(x)),
        "The row is scaled by its deviation, but its mean is not subtracted.",
    ),
    "rmsnorm": (
        lambda x, w, b, eps: scaled(x, w, b, eps, 0.0, mean_of(x.pow(2))),
        "The mean is never subtracted: this is RMSNorm.",
    ),
    "only-the-mean-scaled": (
        lambda x, w, b, eps: x - mean_of(x) * torch.rsqrt(variance_of(x) + eps) * w + b,
        "The root and the weight meet the mean alone: brackets around `x - mean`.",
    ),
    "mean-square-for-variance": (
        lambda x, w, b, eps: scaled(x, w, b, eps, mean_of(x), mean_of(x.pow(2))),
        "The mean square of x stands in for the variance: square the distances from the mean.",
    ),
    "no-weight": (
        lambda x, w, b, eps: layernorm(x, torch.ones_like(w), b, eps),
        "The row is normalised, but not multiplied by the weight.",
    ),
    "no-bias": (
        lambda x, w, b, eps: layernorm(x, w, torch.zeros_like(b), eps),
        "The bias is missing.",
    ),
    "bias-subtracted": (
        lambda x, w, b, eps: layernorm(x, w, -b, eps),
        "The bias is subtracted. Add it.",
    ),
    "bias-before-weight": (
        lambda x, w, b, eps: layernorm(x, w, b * w, eps),
        "The bias is added before the weight is multiplied. It comes last.",
    ),
    "bias-in-the-factor": (
        lambda x, w, b, eps: layernorm(x, w + b, torch.zeros_like(b), eps),
        "The row is multiplied by w + b. Multiply by the weight, then add the bias.",
    ),
    "weight-for-bias": (
        lambda x, w, b, eps: layernorm(x, b, w, eps),
        "Weight and bias have changed places.",
    ),
    "eps-outside-root": (
        lambda x, w, b, eps: (x - mean_of(x)) / (variance_of(x).sqrt() + eps) * w + b,
        "`eps` is added outside the root. It belongs inside: tiny numbers tell the difference.",
    ),
    "eps-before-the-mean": (
        lambda x, w, b, eps: layernorm(x, w, b, eps / x.shape[-1]),
        "`eps` is added to the sum of squares. Add it to the variance, after the division by N.",
    ),
    "no-eps": (
        lambda x, w, b, eps: layernorm(x, w, b, 0.0),
        "`eps` makes no difference: it is missing, or it is added outside the root.",
    ),
    "fixed-eps": (
        lambda x, w, b, eps: layernorm(x, w, b, 1e-5),
        "`eps` is always 1e-5 here, whatever the caller passes.",
    ),
    "no-root": (
        lambda x, w, b, eps: (x - mean_of(x)) / (variance_of(x) + eps) * w + b,
        "This divides by the variance, not by its root.",
    ),
    "not-scaled": (
        lambda x, w, b, eps: (x - mean_of(x)) * w + b,
        "The mean is subtracted, but the row is not divided by the root of its variance.",
    ),
    "root-for-its-inverse": (
        lambda x, w, b, eps: (x - mean_of(x)) * (variance_of(x) + eps).sqrt() * w + b,
        "The row is multiplied by the root. It has to be divided by it: `tl.rsqrt`.",
    ),
    "sum-not-mean": (
        lambda x, w, b, eps: scaled(x, w, b, eps, mean_of(x), variance_of(x) * x.shape[-1]),
        "The squares are summed, but not divided by N.",
    ),
    "sum-for-mean": (
        lambda x, w, b, eps: scaled(
            x, w, b, eps, x.sum(-1, True), (x - x.sum(-1, True)).pow(2).mean(-1, True)
        ),
        "The sum of the row is subtracted. Divide it by N: that is the mean.",
    ),
    "mean-of-magnitudes": (
        lambda x, w, b, eps: scaled(x, w, b, eps, mean_of(x), mean_of((x - mean_of(x)).abs())),
        "The variance is a mean of |x - mean|. Take the squares.",
    ),
    "squares-overflow": (
        lambda x, w, b, eps: x * 0.0 + b,
        "All that is left is the bias: the normalised row is 0. Did the squares overflow, in half "
        "precision or by masked lanes of minus infinity? Or is the mask the wrong way round?",
    ),
    "row-added-twice": (
        _row_added_twice,
        "Program m took row 2 m: the row number is added to the address twice.",
    ),
    "rounded-twice": (
        _rounded_twice,
        "Some step was rounded to half precision. Compute in float32, round once, at the store.",
    ),
}


def _tile(x):
    return triton.next_power_of_2(x.shape[-1])


def _mean_over_the_tile(x, w, b, eps):
    mean = x.sum(-1, keepdim=True) / _tile(x)
    return scaled(x, w, b, eps, mean, mean_of((x - mean).pow(2)))


# Rows that stand in one tile of the next power of two.
ONE_TILE_MISTAKES = MISTAKES | {
    "padding-counted": (
        lambda x, w, b, eps: scaled(
            x,
            w,
            b,
            eps,
            mean_of(x),
            variance_of(x) + (_tile(x) - x.shape[-1]) / x.shape[-1] * mean_of(x).pow(2),
        ),
        "The masked lanes are counted in the variance: after the subtraction they hold minus the "
        "mean. Set them to 0 again.",
    ),
    "mean-over-tile": (
        _mean_over_the_tile,
        "The mean is taken over the lanes of the tile. Divide by N, the number of elements.",
    ),
    "variance-over-tile": (
        lambda x, w, b, eps: scaled(
            x, w, b, eps, mean_of(x), variance_of(x) * x.shape[-1] / _tile(x)
        ),
        "The variance is taken over the lanes of the tile. Divide by N, the number of elements.",
    ),
}


def in_tiles(x: torch.Tensor, block: int, fill: float = float("nan")) -> torch.Tensor:
    """Rows [..., N] as [..., tiles, block]; lanes past the end of the row hold `fill`."""
    width = triton.cdiv(x.shape[-1], block) * block
    padded = torch.nn.functional.pad(x, (0, width - x.shape[-1]), value=fill)
    return padded.reshape(*x.shape[:-1], -1, block)


def in_pieces(x: torch.Tensor, num_splits: int) -> torch.Tensor:
    """Rows [..., N] as [..., num_splits, piece]; what is past the end of the row is NaN."""
    size = triton.cdiv(triton.cdiv(x.shape[-1], num_splits), 16) * 16
    padded = torch.nn.functional.pad(x, (0, num_splits * size - x.shape[-1]), value=float("nan"))
    return padded.reshape(*x.shape[:-1], num_splits, size)


def parts_of(values: torch.Tensor, dim: int) -> tuple[torch.Tensor, ...]:
    """Count, mean and M2 along `dim` of what is not NaN; an empty part is (0, 0, 0)."""
    there = ~values.isnan()
    n = there.sum(dim).double()
    mean = torch.where(there, values, 0.0).sum(dim) / n.clamp_min(1)
    apart = torch.where(there, values - mean.unsqueeze(dim), 0.0)
    return n, mean, apart.pow(2).sum(dim)


def whole(
    n: torch.Tensor, mean: torch.Tensor, m2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and M2 of all parts along the last dimension together, which stays with size 1."""
    both = (n * mean).sum(-1, keepdim=True) / n.sum(-1, keepdim=True)
    return both, (m2 + n * (mean - both).pow(2)).sum(-1, keepdim=True)
