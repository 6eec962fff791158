"""RoPE as pages 40 and 66 check it: cases, and what holds of every call."""

from __future__ import annotations

import torch

from tritonbook import DEVICE
from tritonbook.checking import case, tensor
from tritonbook.port.tuners import choosing
from tritonbook.words import later

# --- cases


def halves_alike(generator, shape):
    """A table D wide for the half-split form: the second half repeats the first."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return torch.cat((half, half), dim=1)


def neighbours_alike(generator, shape):
    """A table D wide for the interleaved form: each column stands twice."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return half.repeat_interleave(2, dim=1)


def rope_case(note, B, H, HK, L, D, positions=None, wide=None, **more):
    """A case with tables half as wide as D; wide: of so many positions, and as wide as D.

    layout: of q, and of k unless k_layout is another. cos, sin: how they are drawn.
    """
    layout = more.pop("layout", "contiguous")
    k_layout = more.pop("k_layout", layout)
    known = {"interleaved": more.pop("interleaved", False), "pos_offset": more.pop("offset", 0)}
    alike = {"values": neighbours_alike if known["interleaved"] else halves_alike} if wide else {}
    size = (wide, D) if wide else (positions or L, D // 2)
    table = {name: tensor(*size, **alike, **more.pop(name, {})) for name in ("cos", "sin")}
    q, k = tensor(B, H, L, D, layout=layout), tensor(B, HK, L, D, layout=k_layout)
    return case(note, q=q, k=k, **table, **known, **more)


# --- what holds of every call


def right(q, k, cos, sin, interleaved=False, pos_offset=0):
    """q and k turned; the tables may hold each angle twice."""
    L, D = q.shape[2:]
    pairs = torch.arange(D // 2, device=q.device)
    first, second = (2 * pairs, 2 * pairs + 1) if interleaved else (pairs, pairs + D // 2)
    copies = slice(None, None, cos.shape[1] * 2 // D) if interleaved else slice(D // 2)
    c, s = (table[pos_offset : pos_offset + L, copies] for table in (cos, sin))
    turned = torch.empty_like(q), torch.empty_like(k)
    for x, y in zip((q, k), turned, strict=True):
        a, b = x[..., first], x[..., second]
        y[..., first], y[..., second] = a * c - b * s, b * c + a * s
    return turned


def agree(got, wanted):
    pairs = zip(got, wanted, strict=True)
    return all(torch.allclose(one, two, rtol=1e-5, atol=1e-5) for one, two in pairs)


def heads_behind_tokens(fn):
    """q and k as a model hands them over: (B, L, H, D) in memory."""
    q = torch.randn(2, 3, 4, 8, device=DEVICE).transpose(1, 2)
    k = torch.randn(2, 3, 2, 8, device=DEVICE).transpose(1, 2)
    cos, sin = torch.randn(2, 3, 4, device=DEVICE).unbind(0)
    assert agree(fn(q, k, cos, sin), right(q, k, cos, sin)), (
        "Wrong for q = x.transpose(1, 2): use the strides of each tensor."
    )


OF_LOADS_AND_STORES = later("the loads need `stride_xd`, the stores `stride_yd`")


def into_other_memory(fn, *interleaved, need=OF_LOADS_AND_STORES):
    """Elements of q and k lie side by side, those of `out` two apart. Rows have room for both, so
    that a stride taken for the other stays inside. need: of the loads and stores, for the card."""
    q, k, q_out, k_out = (torch.randn(1, H, 3, 24, device=DEVICE) for H in (4, 2, 4, 2))
    cos, sin = torch.randn(2, 3, 6, device=DEVICE).unbind(0)
    q, k, out = q[..., :12], k[..., :12], (q_out[..., ::2], k_out[..., ::2])
    wanted = right(q, k, cos, sin, *interleaved)
    fn(q, k, cos, sin, *interleaved, out=out)
    assert agree(out, wanted), (
        f"Wrong where the elements of q lie side by side and those of `out` two apart: {need}."
    )


def over_its_inputs(fn, *interleaved):
    """out=(q, k): the results lie where q and k lay."""

    def turned():
        q, k = torch.randn(2, 5, 4, 12, device=DEVICE), torch.randn(2, 2, 4, 12, device=DEVICE)
        cos, sin = torch.randn(2, 4, 6, device=DEVICE).unbind(0)
        wanted = right(q.clone(), k.clone(), cos, sin, *interleaved)
        q_out, k_out = fn(q, k, cos, sin, *interleaved, out=(q, k))
        assert q_out is q and k_out is k, "The tensors that came as `out` have to be returned."
        return agree((q, k), wanted)

    if turned():
        return
    with choosing(0):  # a tuner's trials aside
        once = turned()
    assert not once, (
        "Wrong over its inputs: the tuner tries its configs on them, and each trial turns them "
        "once more. `restore_value=[...]` with the parameters of both results puts them back."
    )
    raise AssertionError("Wrong over its inputs: load both partners before you store one.")
