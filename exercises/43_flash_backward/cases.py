"""What the checks of 43_flash_backward try: cases, references, and mistakes that have a name."""

import torch

from tritonbook.checking import Check, Tolerance, case, tensor

from .page import delta_ref


def backward_ref(do, q, k, v, o, lse, causal=False, scale=None, delta_sign=1.0, heads=None):
    """delta_sign and heads are for the known mistakes: 0.0 leaves delta out; heads picks some."""
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1], k.shape[2]
    scale = D**-0.5 if scale is None else scale
    k_all, v_all = (x.repeat_interleave(H // HK, dim=1) for x in (k, v))
    s = q @ k_all.transpose(-1, -2) * scale
    p = torch.exp(s - lse[..., None].to(s.dtype))
    if causal:
        row = torch.arange(Lq, device=s.device)[:, None]
        p = p.masked_fill(torch.arange(Lk, device=s.device) > row + Lk - Lq, 0.0)
    delta = (o * do).sum(dim=-1, keepdim=True)
    ds = p * (do @ v_all.transpose(-1, -2) - delta_sign * delta)
    dv = (p.transpose(-1, -2) @ do).reshape(B, HK, H // HK, Lk, D)
    dk = (ds.transpose(-1, -2) @ q * scale).reshape(B, HK, H // HK, Lk, D)
    return ds @ k_all * scale, *(x[:, :, slice(heads)].sum(dim=2) for x in (dk, dv))


def gradients_ref(q, k, v, do, causal=False, scale=None):
    """The output of attention and its three gradients, by autograd on all scores."""
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        H, HK, D = q.shape[1], k.shape[1], q.shape[3]
        k_all, v_all = (x.repeat_interleave(H // HK, dim=1) for x in leaves[1:])
        s = leaves[0] @ k_all.transpose(-1, -2) * (D**-0.5 if scale is None else scale)
        if causal:
            Lq, Lk = s.shape[-2:]
            row = torch.arange(Lq, device=s.device)[:, None]
            s = s.masked_fill(torch.arange(Lk, device=s.device) > row + Lk - Lq, -1e30)
        o = torch.softmax(s, dim=-1) @ v_all
        return o.detach(), *torch.autograd.grad(o, leaves, do)


def close_enough(dtype):
    """P and dS are rounded to the dtype of q before they enter a product."""
    step = {torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}.get(dtype, 5e-5)
    because = f"two rounding steps, {step:.1e}"
    return Tolerance(step, of_row_max=step, absolute=2 * step, because=because)


def backward_case(note, B, H, HK, Lq, Lk, D, causal=False, scale=None, **more):
    """A case with tiles of 16. lse= changes how lse is drawn."""
    layout, lse = more.pop("layout", "contiguous"), more.pop("lse", {})
    queries = {name: tensor(B, H, Lq, D, layout=layout) for name in ("do", "q", "o")}
    keys = {name: tensor(B, HK, Lk, D, layout=layout) for name in ("k", "v")}
    arguments = {"do": queries["do"], "q": queries["q"], **keys, "o": queries["o"]}
    arguments["lse"] = tensor(B, H, Lq, dtype="float32", mean=3.0, **lse)
    options = more.pop("options", {"block": 16})
    return case(note, **arguments, causal=causal, scale=scale, options=options, **more)


def instead(**changes):
    """The reference with some arguments changed by functions of all arguments."""

    def wrong(do, q, k, v, o, lse, causal=False, scale=None):
        given = {"do": do, "q": q, "k": k, "v": v, "o": o, "lse": lse, "causal": causal}
        given["scale"] = q.shape[-1] ** -0.5 if scale is None else scale
        return backward_ref(**(given | {name: new(given) for name, new in changes.items()}))

    return wrong


def times(*factors):
    """The right gradients, each times a factor that depends on the scale."""

    def wrong(do, q, k, v, o, lse, causal=False, scale=None):
        right = backward_ref(do, q, k, v, o, lse, causal, scale)
        used = q.shape[-1] ** -0.5 if scale is None else scale
        return tuple(x * factor(used) for x, factor in zip(right, factors, strict=True))

    return wrong


LN2 = 0.6931471805599453

SUSPECTS = {
    "delta-missing": (instead(delta_sign=lambda g: 0.0), "delta is not subtracted from dP."),
    "delta-added": (instead(delta_sign=lambda g: -1.0), "delta is added to dP, not subtracted."),
    "scale-missing": (
        times(lambda s: 1 / s, lambda s: 1 / s, lambda s: 1.0),
        "dQ and dK are not multiplied by the scale.",
    ),
    "dq-without-scale": (
        times(lambda s: 1 / s, lambda s: 1.0, lambda s: 1.0),
        "dQ is not multiplied by the scale.",
    ),
    "dk-without-scale": (
        times(lambda s: 1.0, lambda s: 1 / s, lambda s: 1.0),
        "dK is not multiplied by the scale.",
    ),
    "log2e-in-gradient": (
        times(lambda s: 1 / LN2, lambda s: 1 / LN2, lambda s: 1.0),
        "log2(e) belongs to the exponent alone. The gradients take the plain scale.",
    ),
    "log2e-missing": (
        instead(scale=lambda g: g["scale"] * LN2, lse=lambda g: g["lse"] * LN2),
        "exp2 was given natural scores: scores and lse both need log2(e).",
    ),
    "causal-ignored": (
        instead(causal=lambda g: False),
        "Queries send gradients to keys that come after them: causal is ignored.",
    ),
    "one-head-of-the-group": (
        instead(heads=lambda g: 1),
        "Only one query head of each group is counted in dK and dV.",
    ),
    "lse-ignored": (
        instead(
            lse=lambda g: torch.logsumexp(
                g["q"]
                @ g["k"]
                .repeat_interleave(g["q"].shape[1] // g["k"].shape[1], dim=1)
                .transpose(-1, -2)
                * g["scale"],
                dim=-1,
            )
        ),
        "P is made from a softmax of its own. Use lse.",
    ),
}


def delta_case(note, *shape, do="contiguous", layout="contiguous", **more):
    return case(note, o=tensor(*shape, layout=layout), do=tensor(*shape, layout=do), **more)


DELTA_SUSPECTS = {
    "sum-of-o": (lambda o, do: o.sum(dim=-1), "This is the sum of o alone."),
    "sum-of-do": (lambda o, do: do.sum(dim=-1), "This is the sum of do alone."),
    "squared": (lambda o, do: (o * o).sum(dim=-1), "This is the sum of o times o."),
}

DELTA_CASES = [
    delta_case("one tile", 1, 1, 32, 16),
    delta_case("ragged rows and columns", 2, 2, 35, 20),
    delta_case("half precision", 1, 2, 9, 40, dtype="float16"),
    delta_case("a gradient with gaps", 1, 2, 9, 16, do="strided"),
]

HIDDEN_DELTA_CASES = [
    delta_case("one row", 1, 1, 1, 1),
    delta_case("transposed memory", 1, 2, 10, 24, layout="transposed"),
    delta_case("a gradient that was expanded", 2, 3, 40, 8, do="expanded"),
    delta_case("large values", 1, 1, 33, 64, dtype="float16", layout="offset"),
]

nothing_seen = {"planted": {(0, 0, 0): float("-inf"), (0, 0, 5): float("-inf")}}

CASES = [
    backward_case("one tile", 1, 1, 1, 16, 16, 16),
    backward_case("odd lengths", 1, 1, 1, 18, 21, 16),
    backward_case("causal", 2, 1, 1, 18, 18, 16, causal=True),
    backward_case("two heads share one", 1, 2, 1, 18, 18, 16, causal=True),
    backward_case("causal, fewer queries", 1, 1, 1, 7, 35, 16, causal=True),
    backward_case(
        "causal, queries that saw nothing", 1, 1, 1, 20, 9, 16, causal=True, lse=nothing_seen
    ),
    backward_case("half precision, D = 40", 1, 1, 1, 18, 18, 40, dtype="float16"),
]

HIDDEN_CASES = [
    backward_case("one query, one key", 1, 1, 1, 1, 1, 16),
    backward_case("three heads share one, two groups", 1, 6, 2, 5, 18, 16, causal=True),
    backward_case("another scale, three tiles", 1, 1, 1, 17, 40, 16, causal=True, scale=0.6),
    backward_case(
        "tiles as they come", 1, 2, 1, 17, 50, 64, causal=True, options={}, dtype="float16"
    ),
    backward_case("memory with gaps", 1, 2, 2, 6, 10, 16, layout="strided"),
    backward_case("transposed memory", 1, 2, 1, 6, 10, 16, layout="transposed", causal=True),
]


def gradient_case(note, B, H, HK, Lq, Lk, D, causal=False, scale=None, **more):
    q, k, v, do = (tensor(B, h, L, D) for h, L in ((H, Lq), (HK, Lk), (HK, Lk), (H, Lq)))
    return case(note, q=q, k=k, v=v, do=do, causal=causal, scale=scale, **more)


GRADIENT_CASES = [
    gradient_case("not causal", 1, 2, 2, 9, 20, 16),
    gradient_case("causal, two heads share one", 1, 2, 1, 18, 18, 16, causal=True),
    gradient_case("half precision", 1, 2, 1, 9, 9, 16, causal=True, dtype="float16"),
    gradient_case("another scale", 1, 1, 1, 9, 12, 16, scale=0.7),
]

HIDDEN_GRADIENT_CASES = [
    gradient_case("one token, three batches", 3, 1, 1, 1, 1, 16, causal=True),
    gradient_case("causal, fewer queries", 2, 2, 1, 5, 40, 16, causal=True),
    gradient_case("causal, another scale", 1, 4, 2, 10, 10, 32, causal=True, scale=0.4),
]

CHECKS = {
    "attention_delta": Check(
        delta_ref,
        DELTA_CASES,
        HIDDEN_DELTA_CASES,
        launches=1,
        terms=64,
        mistakes=DELTA_SUSPECTS,
    ),
    "flash_bwd": Check(
        backward_ref,
        CASES,
        HIDDEN_CASES,
        launches=3,
        tolerance=close_enough,
        mistakes=SUSPECTS,
    ),
    "flash_attention": Check(
        gradients_ref,
        GRADIENT_CASES,
        HIDDEN_GRADIENT_CASES,
        through="attention_gradients",
        launches=4,
        tolerance=close_enough,
    ),
}
