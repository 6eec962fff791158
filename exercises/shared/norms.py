"""What the checks of norms have in common: cases, and LayerNorm with a large mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import case, tensor
from tritonbook.words import later

EPS = 1e-6
LARGE_MEAN = 10_000.0
NAN = float("nan")
OWN: Mapping[str, Any] = MappingProxyType({})  # nothing to say: a tensor of the case's own dtype
# w and b have dtypes of their own. Whoever rounds them to that of x loses digits in the first case,
# whoever rounds x to theirs in the second.
FULL, HALF = {"dtype": "float32"}, {"dtype": "float16"}


def rows(
    *shape: int,
    eps: float = EPS,
    w: Mapping[str, Any] = OWN,
    b: Mapping[str, Any] = OWN,
    **how: Any,
) -> dict[str, Any]:
    """The arguments x, w, b, eps of a case: x of this shape, w and b as long as its rows.

    w, b: what else is to be said of these two.
    """
    weight, bias = tensor(shape[-1], **w), tensor(shape[-1], **b)
    return {"x": tensor(*shape, **how), "w": weight, "b": bias, "eps": eps}


def weighted(note, *shape, options=None, eps=EPS, w=None, dtype="float32", raises=None, **how):
    """A case of x, w and eps: x of this shape, w as long as its rows; how: the rest of x."""
    x, w = tensor(*shape, **how), w or tensor(shape[-1])
    return case(note, dtype=dtype, raises=raises, options=options, x=x, w=w, eps=eps)


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
    found = later("become NaN") if error == torch.inf else f"come out wrong by {error:.2g}"
    assert error < 0.01, (
        f"Rows around 10,000 {found}, smaller numbers are right. That is how a difference of two "
        "large squares loses its digits: sum the squares of x - mean, and nothing else."
    )


def as_x(reference: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The reference with its result in the dtype of x, whatever that of w is."""
    return lambda x, *others: reference(x, *others).to(x.dtype)


def mean_of(x):
    return x.mean(dim=-1, keepdim=True)


def variance_of(x):
    return x.var(dim=-1, keepdim=True, correction=0)


def in_pieces(x: torch.Tensor, num_splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows [..., N] as [..., num_splits, piece], and which of these are in the row."""
    N = x.shape[-1]
    size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    padded = torch.nn.functional.pad(x, (0, num_splits * size - N))
    there = torch.arange(num_splits * size) < N
    return padded.reshape(*x.shape[:-1], num_splits, size), there.view(num_splits, size)


def parts_of(values: torch.Tensor, there: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Count, mean and M2 along the last dimension of what is there; an empty part is (0, 0, 0)."""
    n = there.sum(-1).double().expand(values.shape[:-1])
    mean = torch.where(there, values, 0.0).sum(-1) / n.clamp_min(1)
    apart = torch.where(there, values - mean.unsqueeze(-1), 0.0)
    return n, mean, apart.pow(2).sum(-1)
