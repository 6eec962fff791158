"""Attention as pages of part 4 and 62 check it: references, cases, and keys that are hard."""

from __future__ import annotations

import contextlib
import dataclasses

import torch

from tritonbook import INTERPRET
from tritonbook.checking import Tolerance, case, tensor
from tritonbook.seeing.meter import fenced

NEVER = float("-inf")


# --- cases


def attention(note, B, H, HK, Lq, Lk, D, causal=True, scale=None, **more):
    """A case of q, k, v, causal and scale. queries, keys, values: how they are drawn, or what draws
    them. layouts: one for all, or for each."""
    layouts = more.pop("layouts", "contiguous").split()
    sizes = {"queries": (H, Lq), "keys": (HK, Lk), "values": (HK, Lk)}
    tensors = []
    for name, layout in zip(sizes, layouts * (3 // len(layouts)), strict=True):
        how = more.pop(name, {})
        drawn = how if isinstance(how, dict) else {"values": how}
        tensors.append(tensor(B, *sizes[name], D, layout=layout, **drawn))
    given = dict(zip("qkv", tensors, strict=True))
    return case(note, **given, causal=causal, scale=scale, **more)


def heads(note, B, H, L, D, causal=True, Lk=None, **more):
    """The same with as many keys as queries, if it does not say Lk, and without a scale."""
    made = attention(note, B, H, H, L, Lk or L, D, causal, **more)
    arguments = {name: value for name, value in made.arguments.items() if name != "scale"}
    return dataclasses.replace(made, arguments=arguments)


# --- references


def shared(k, heads):
    """Keys or values with one head for each of `heads` query heads."""
    return k.repeat_interleave(heads // k.shape[1], dim=1)


def scale_of(q, scale):
    return q.shape[-1] ** -0.5 if scale is None else scale


def keys_seen(q, k, causal):
    """How many keys each query sees, [Lq]."""
    Lq, Lk = q.shape[2], k.shape[2]
    position = torch.arange(Lq, device=q.device)
    return (position + 1 + Lk - Lq if causal else position * 0 + Lk).clamp(0, Lk)


def all_scores(q, k, scale=None):
    return q @ shared(k, q.shape[1]).transpose(-1, -2) * scale_of(q, scale)


def softmax_of(s, v):
    """(o, lse) for scores s, forbidden ones -inf. A query that sees nothing: 0 and -inf."""
    lse = torch.logsumexp(s, dim=-1)
    seen = torch.where(lse == NEVER, 0.0, lse)[..., None]
    o = torch.exp(s - seen) @ shared(v, s.shape[1])
    return o, lse.to(torch.promote_types(s.dtype, torch.float32))


def scores_ref(q, k, causal, scale=None):
    """All scores, (B, H, Lq, Lk); the forbidden ones are -inf."""
    keys = torch.arange(k.shape[2], device=q.device)
    seen = keys < keys_seen(q, k, causal)[:, None]
    return all_scores(q, k, scale).masked_fill(~seen, NEVER)


def attention_ref(q, k, v, causal=False, scale=None):
    """(o, lse). The last query sees the last key; H is a multiple of the heads of k and v."""
    return softmax_of(scores_ref(q, k, causal, scale), v)


def is_right_for(fn, q, k, v):
    """Whether causal attention of these is right. A wrong stride may leave the tensors."""
    want = attention_ref(q, k, v, True)[0]
    with fenced() if INTERPRET else contextlib.nullcontext():
        return torch.allclose(fn(q, k, v, True)[0], want, rtol=1e-3, atol=1e-4)


def close_enough(dtype):
    """P is rounded to the dtype of V before the second product; float32 scores may be large."""
    step = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}.get(dtype, 5e-5)
    return Tolerance(step, of_row_max=step, absolute=1e-6, because=f"a rounding step of {step:.1e}")


# --- keys


def lone(number, step=0.0):
    """Rows of one number, then zeros: in whatever order, their products are exact. step: from row
    to row."""

    def rows(generator, shape):
        made = torch.zeros(shape, dtype=torch.float64)
        made[..., 0] = number + step * torch.arange(shape[-2])
        return made

    return rows


# A number that stands for minus infinity has to lie below the scores of these: from -2^30 on, in
# rows of 16, and each 2^22 above the one before, which is more than a careless number takes off. Of
# log2(e) times the size, float32 is still right to 64, and an exponential of that is finite.
DEEP = {"queries": {"values": lone(2.0**16)}, "keys": {"values": lone(-(2.0**16), 2.0**8)}}


def by_token(drawn):
    """A sampler of rows, (H, T, D), where the heads of a token lie together: (T, H, D)."""

    def values(generator, shape):
        *batch, T, H, D = shape
        return drawn(generator, (*batch, H, T, D)).transpose(-2, -3)

    return values


def growing(height):
    """Keys whose scores grow from left to right: the largest, about `height`, comes late."""

    def keys(generator, shape):
        size = torch.linspace(0.1, height, shape[-2], dtype=torch.float64)[:, None]
        return torch.randn(shape, generator=generator, dtype=torch.float64) * size

    return keys


def hill(height):
    """Keys with scores near 0 at both ends and of about `height` in between."""

    def keys(generator, shape):
        place = torch.linspace(-3, 3, shape[-2], dtype=torch.float64)[:, None]
        size = 0.2 + height * torch.exp(-(place**2))
        return torch.randn(shape, generator=generator, dtype=torch.float64) * size

    return keys
