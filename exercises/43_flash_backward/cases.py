"""What the checks of 43_flash_backward try: cases and references."""

import ast
import inspect
import math
import textwrap

import torch

from tritonbook import DEVICE, hook_launch
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import launches

SMALL, WIDE = {"BLOCK_M": 16, "BLOCK_N": 16}, {"BLOCK_M": 16, "BLOCK_N": 32}
TALL = {"BLOCK_M": 32, "BLOCK_N": 16}


# --- delta


def delta_ref(o, do):
    return (o * do).sum(dim=-1).to(torch.promote_types(o.dtype, torch.float32))


def delta_case(note, *shape, do="contiguous", layout="contiguous", **more):
    return case(note, o=tensor(*shape, layout=layout), do=tensor(*shape, layout=do), **more)


DELTA_CASES = [
    delta_case("one tile", 1, 1, 32, 32),
    delta_case("ragged rows and columns", 2, 2, 35, 20),
    delta_case("half precision", 1, 2, 9, 40, dtype="float16"),
    delta_case("a gradient with gaps", 1, 2, 9, 16, do="strided"),
    delta_case("a gradient that was transposed", 1, 2, 9, 24, do="transposed"),
    case("shapes that differ", o=tensor(1, 1, 4, 8), do=tensor(1, 1, 8, 4), raises=ValueError),
    delta_case("no queries", 2, 2, 0, 16),
    delta_case("a gradient that was expanded", 2, 3, 40, 8, do="expanded"),
]

HIDDEN_DELTA_CASES = [
    delta_case("one row", 1, 1, 1, 1),
    delta_case("transposed memory", 1, 2, 10, 24, layout="transposed"),
    delta_case("large values", 1, 1, 33, 64, dtype="float16", layout="offset"),
]


# --- both kernels


def p_and_ds(do, q, k, v, lse, delta, causal, scale):
    """P and dS of all scores, with a head of k and v for each of q."""
    Lq, Lk = q.shape[2], k.shape[2]
    rows, cols = torch.arange(Lq)[:, None], torch.arange(Lk)
    seen = cols <= rows + Lk - Lq if causal else cols < Lk
    p = torch.where(seen, torch.exp(q @ k.mT * scale - lse[..., None].to(q.dtype)), 0.0)
    return p, p * (do @ v.mT - delta[..., None].to(q.dtype))


def for_each_head(q, *given):
    return [x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in given]


def dq_ref(do, q, k, v, lse, delta, causal=False, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    k, v = for_each_head(q, k, v)
    return p_and_ds(do, q, k, v, lse, delta, causal, scale)[1] @ k * scale


def dkdv_ref(do, q, k, v, lse, delta, causal=False, scale=None):
    scale, kv_heads = q.shape[-1] ** -0.5 if scale is None else scale, k.shape[1]
    p, ds = p_and_ds(do, q, *for_each_head(q, k, v), lse, delta, causal, scale)
    found = ds.mT @ q * scale, p.mT @ do
    return tuple(x.unflatten(1, (kv_heads, -1)).sum(2) for x in found)


def asks_for_exact_products(answer):
    """Without a GPU float32 products are always exact, so the kernels' text has to say it."""
    kernels = []

    def note(call, fn, grid, args, kwargs):
        kernels.append(fn)
        return call()

    q, k, v, do = torch.randn(4, 1, 1, 16, 16, device=DEVICE)
    lse, delta = torch.randn(2, 1, 1, 16, device=DEVICE)
    with hook_launch(note):
        answer(do, q, k, v, lse, delta, tile=SMALL)
    for kernel in kernels:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(kernel)))
        except (OSError, SyntaxError):
            continue  # no text is known: a GPU's result tells
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.dot"):
                continue
            said = {keyword.arg for keyword in node.keywords}
            assert said & {"input_precision", "allow_tf32"}, (
                f"`{ast.unparse(node)}` lets a GPU round float32 factors to 11 binary digits. That "
                'does not show here. Add input_precision="ieee".'
            )


# --- cases of both kernels


def never_above_the_diagonal(told, later, mine):
    """NaN where no query sees a key: 0 times NaN would show in a program that comes near it.

    told: to whom it shows. later: the tensor that gets NaN, and where. mine: the rows of the
    gradients that it is far from.
    """

    def stays_below(fn):
        generator = torch.Generator().manual_seed(3)
        made = torch.randn(4, 1, 1, 64, 16, generator=generator).to(DEVICE).unbind(0)
        do, q, k, v = made
        name, rows = later
        {"v": v, "do": do}[name][:, :, rows] = float("nan")
        lse, delta = torch.ones(2, 1, 1, 64, device=DEVICE).unbind(0)
        found = fn(do, q, k, v, lse, delta, True, tile=SMALL)
        found = found if isinstance(found, tuple) else (found,)
        assert all(bool(x[:, :, mine].isfinite().all()) for x in found), told

    return stays_below


def close_enough(dtype):
    """P and dS are rounded to the dtype of q before they enter a product."""
    step = {torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}.get(dtype, 5e-5)
    because = f"two rounding steps, {step:.1e}"
    return Tolerance(step, of_row_max=step, absolute=2 * step, because=because)


def backward_case(note, B, H, HK, Lq, Lk, D, causal=False, scale=None, tile=SMALL, **more):
    """lse, q, k: how these are drawn; layout: that of do, q, k and v."""
    layout = {"layout": more.pop("layout", "contiguous")}
    drawn = {name: more.pop(name, {}) for name in ("q", "k", "lse")}
    return case(
        note,
        do=tensor(B, H, Lq, D, **layout),
        q=tensor(B, H, Lq, D, **layout, **drawn["q"]),
        k=tensor(B, HK, Lk, D, **layout, **drawn["k"]),
        v=tensor(B, HK, Lk, D, **layout),
        lse=tensor(B, H, Lq, dtype="float32", **({"mean": 3.0} | drawn["lse"])),
        delta=tensor(B, H, Lq, dtype="float32"),
        causal=causal,
        scale=scale,
        options={"tile": tile} if tile else {},
        **more,
    )


NOTHING_SEEN = {"planted": {(0, 0, i): -math.inf for i in range(27)}}
# Scores of about -95: past the end of K exp(0 - lse) is infinite.
FAR_BELOW_ZERO = {
    "q": {"mean": 4.87, "scale": 0.05},
    "k": {"mean": -4.87, "scale": 0.05},
    "lse": {"mean": -93.0},
}

CASES = [
    backward_case("one tile", 1, 1, 1, 16, 16, 16),
    backward_case("two heads, three tiles, ragged", 1, 2, 2, 35, 37, 16),
    backward_case("another scale, fewer keys", 1, 1, 1, 37, 18, 16, scale=0.6),
    backward_case("causal", 1, 1, 1, 35, 35, 16, causal=True),
    backward_case("causal, two heads share one", 2, 2, 1, 18, 18, 16, causal=True),
    backward_case("causal, fewer queries, wide tiles", 1, 1, 1, 20, 45, 16, True, tile=WIDE),
    backward_case("causal, tall tiles", 1, 1, 1, 45, 45, 16, True, tile=TALL),
    backward_case("causal, queries that saw nothing", 1, 1, 1, 36, 9, 16, True, lse=NOTHING_SEEN),
    backward_case("scores far below zero", 1, 1, 1, 18, 21, 16, **FAR_BELOW_ZERO),
    backward_case("half precision, D = 40", 1, 1, 1, 18, 18, 40, dtype="float16"),
    backward_case("transposed memory", 1, 2, 1, 6, 10, 16, layout="transposed"),
    case(
        "keys of another width",
        **{name: tensor(1, 1, 8, 16) for name in ("do", "q")},
        **{name: tensor(1, 1, 8, 32) for name in ("k", "v")},
        **{name: tensor(1, 1, 8, dtype="float32") for name in ("lse", "delta")},
        raises=ValueError,
    ),
    backward_case("no queries", 1, 1, 1, 0, 9, 16),
]

HIDDEN_CASES = [
    backward_case("one query, one key", 1, 1, 1, 1, 1, 16),
    backward_case("three heads share one, two groups", 1, 6, 2, 5, 18, 16, causal=True),
    backward_case("another scale, wide tiles", 1, 1, 1, 17, 40, 16, True, 0.6, WIDE),
    backward_case("tall tiles", 2, 2, 1, 33, 20, 16, True, tile=TALL),
    backward_case("tiles as they come", 1, 2, 1, 17, 50, 64, True, tile=None, dtype="float16"),
    backward_case("memory with gaps", 1, 2, 2, 6, 10, 16, layout="strided"),
    backward_case("transposed, causal", 1, 2, 1, 6, 10, 16, True, layout="transposed"),
    backward_case("scores far below zero", 1, 1, 1, 16, 35, 16, **FAR_BELOW_ZERO),
]


# --- attention with its gradient


def gradients_ref(q, k, v, do, causal=False, scale=None):
    """The output of attention and its three gradients, by autograd on all scores."""
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        o, _ = attention(*leaves, causal, scale)
        return o.detach(), *torch.autograd.grad(o, leaves, do)


def attention(q, k, v, causal, scale):
    """(o, lse) by way of all scores."""
    k, v = for_each_head(q, k, v)
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        Lq, Lk = s.shape[-2:]
        rows, cols = (torch.arange(n, device=s.device) for n in (Lq, Lk))
        s = s.masked_fill(cols > rows[:, None] + Lk - Lq, -math.inf)
    return torch.softmax(s, dim=-1) @ v, torch.logsumexp(s, dim=-1)


def notices_changes(attention_gradients, flash_attention):
    """Tensors kept with save_for_backward have versions; those kept on ctx have none."""
    for name, number in (("q", 0), ("k", 1), ("v", 2)):
        leaf = torch.randn(3, 1, 1, 16, 16, device=DEVICE, requires_grad=True)
        inputs = [x * 1 for x in leaf.unbind(0)]
        o = flash_attention(*inputs)
        if not o.requires_grad:  # as a grader sees it, from another process
            return
        with torch.no_grad():
            inputs[number].add_(1)
        try:
            o.sum().backward()
        except RuntimeError as error:
            assert "inplace" in str(error).replace("-", ""), str(error)
        else:
            raise AssertionError(
                f"{name} was changed after the forward pass, and the gradient is silently wrong. "
                "Keep tensors with ctx.save_for_backward: then autograd refuses."
            )


def gradient_case(note, B, H, HK, Lq, Lk, D, causal=False, scale=None, **more):
    layout, sizes = more.pop("layout", "contiguous"), ((H, Lq), (HK, Lk), (HK, Lk), (H, Lq))
    q, k, v, do = (tensor(B, heads, L, D, layout=layout) for heads, L in sizes)
    return case(note, q=q, k=k, v=v, do=do, causal=causal, scale=scale, **more)


GRADIENT_CASES = [
    gradient_case("not causal", 1, 2, 2, 9, 9, 16),
    gradient_case("causal, two heads share one", 1, 2, 1, 18, 18, 16, causal=True),
    gradient_case("another scale", 1, 1, 1, 9, 12, 16, scale=0.7),
    gradient_case("half precision", 1, 2, 1, 9, 9, 16, causal=True, dtype="float16"),
    gradient_case("transposed memory", 1, 2, 1, 7, 10, 16, layout="transposed"),
]

HIDDEN_GRADIENT_CASES = [
    gradient_case("one token, three batches", 3, 1, 1, 1, 1, 16, causal=True),
    gradient_case("causal, fewer queries", 2, 2, 1, 5, 40, 16, causal=True),
    gradient_case("causal, another scale", 1, 4, 2, 10, 10, 32, causal=True, scale=0.4),
    gradient_case("memory with gaps", 2, 2, 1, 9, 17, 16, causal=True, layout="strided"),
]

CHECKS = {
    "attention_delta": Check(
        delta_ref, DELTA_CASES, HIDDEN_DELTA_CASES, asks=[launches(1)], terms=64
    ),
    "flash_bwd_dq": Check(
        dq_ref,
        CASES,
        HIDDEN_CASES,
        asks=[
            launches(1),
            asks_for_exact_products,
            never_above_the_diagonal(
                "The first queries' dq come out as NaN where `v` holds NaN far above the diagonal. "
                "A program's walk ends at `end`: none of its queries sees a key from there on.",
                ("v", slice(32, None)),
                slice(16),
            ),
        ],
        tolerance=close_enough,
    ),
    "flash_bwd_dkdv": Check(
        dkdv_ref,
        CASES,
        HIDDEN_CASES,
        results=("dk", "dv"),
        asks=[
            launches(1),
            asks_for_exact_products,
            never_above_the_diagonal(
                "The last keys' dk and dv come out as NaN where `do` holds NaN far above the "
                "diagonal. A program's walk begins at `begin`: no query before that sees its keys.",
                ("do", slice(32)),
                slice(48, None),
            ),
        ],
        tolerance=close_enough,
    ),
    "flash_attention": Check(
        gradients_ref,
        GRADIENT_CASES,
        HIDDEN_GRADIENT_CASES,
        through="attention_gradients",
        beside=("flash_attention",),
        results=("o", "dq", "dk", "dv"),
        asks=[launches(4), notices_changes],
        tolerance=close_enough,
    ),
}
