"""What the checks of 43_flash_backward try: cases and references."""

import ast
import inspect
import math
import textwrap
from dataclasses import dataclass

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


# --- the walks of both kernels, tile by tile, with any step of them replaced


@dataclass
class Tile:
    """One tile of queries and keys, all heads at once; `seen` says which pairs count.

    first, start: where the owner's tile and the walked one begin. q, do: [..., BLOCK_M, D]; k, v:
    [..., BLOCK_N, D]; lse, delta: [..., BLOCK_M]. acc: what the tiles before have added up.
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    do: torch.Tensor
    lse: torch.Tensor
    delta: torch.Tensor
    rows: torch.Tensor  # numbers of the queries, [BLOCK_M, 1]
    cols: torch.Tensor  # numbers of the keys, [1, BLOCK_N]
    start: int
    limit: torch.Tensor  # keys that each query sees, [BLOCK_M, 1]
    since: torch.Tensor  # the first query that sees each key, [1, BLOCK_N]
    scale: float
    steps: dict
    acc: dict
    round: int = 0  # how many rounds the owner has done
    earlier: int = 0  # the sum of `start` over them

    def __getattr__(self, name):
        return self.steps[name](self)


STEPS = {
    "s": lambda t: t.q @ t.k.mT * t.scale,
    "seen": lambda t: t.cols < t.limit,
    "p": lambda t: torch.where(t.seen, torch.exp(t.s - t.lse[..., None]), 0.0),
    "dp": lambda t: t.do @ t.v.mT,
    "ds": lambda t: t.p * (t.dp - t.delta[..., None]),
    "dq": lambda t: t.acc["dq"] + t.ds @ t.k,
    "dk": lambda t: t.acc["dk"] + t.ds.mT @ t.q,
    "dv": lambda t: t.acc["dv"] + t.p.mT @ t.do,
}


def padded(x, block):
    """x with rows of zeros up to a multiple of `block`, and a block of them behind."""
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[-2] % block + block))


def rows_of(x, start, size):
    """Rows of x from `start` on, with zeros past its end."""
    part = x[..., start : start + size, :]
    return torch.nn.functional.pad(part, (0, 0, 0, size - part.shape[-2]))


def tiles_of(do, q, k, v, lse, delta, causal, scale, tile, steps):
    """A function (first query, first key) -> Tile, for tensors of equally many heads."""
    M, N = tile
    Lq, Lk = q.shape[-2], k.shape[-2]
    q, do = (padded(x, M) for x in (q, do))
    k, v = (padded(x, N) for x in (k, v))
    lse, delta = (padded(x[..., None], M)[..., 0] for x in (lse.to(q.dtype), delta.to(q.dtype)))

    def at(m, n, acc, start):
        rows, cols = torch.arange(m, m + M)[:, None], torch.arange(n, n + N)[None, :]
        limit = rows + 1 + Lk - Lq if causal else torch.full_like(rows, Lk)
        since = cols - (Lk - Lq) if causal else torch.zeros_like(cols)
        a, b = (rows_of(x, m, M) for x in (q, do))
        c, d = (rows_of(x, n, N) for x in (k, v))
        numbers = (rows_of(x[..., None], m, M)[..., 0] for x in (lse, delta))
        return Tile(a, c, d, b, *numbers, rows, cols, start, limit, since, scale, steps, acc)

    return at, M, N


def unchanged(*given):
    return given


@dataclass(frozen=True)
class Walk:
    """What a walk goes by: its ends, the tile's side along it and the other one, where the owner's
    tile begins, and the length of the tensor that the owner's tile is part of."""

    begin: int
    end: int
    size: int
    other: int
    first: int
    length: int


def tile_by_tile(w):
    return range(w.begin, w.end, w.size)


def walk_keys(given, causal, scale, tile, steps, result, stale, own, walk):
    """dq as the dQ kernel adds it up."""
    do, q, k, v, lse, delta = given
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    at, M, N = tiles_of(do, q, k, v, lse, delta, causal, scale, tile, STEPS | steps)
    Lq, Lk = q.shape[2], k.shape[2]
    parts = [torch.zeros_like(q[:, :, :0])]
    for m in range(0, Lq, M):
        acc = {"dq": torch.zeros(*q.shape[:2], M, q.shape[3], dtype=q.dtype)}
        end = min(Lk, m + M + Lk - Lq) if causal else Lk
        starts = list(walk(Walk(0, end, N, M, m, Lq)))
        for i, n in enumerate(starts):
            now = at(m, n, acc, n)
            vars(now).update({name: vars(at(m, 0, acc, n))[name] for name in stale})
            vars(now).update({name: vars(at(m, m, acc, n))[name] for name in own})
            now.round, now.earlier = i, sum(starts[:i])
            acc = {"dq": now.dq}
        parts.append(result(acc["dq"], scale))
    return torch.cat(parts, dim=2)[:, :, :Lq]


def walk_queries(given, causal, scale, tile, steps, result, stale, own, walk, heads):
    """(dk, dv) as the dK/dV kernel adds them up. heads: those of each group that count."""
    do, q, k, v, lse, delta = given
    group = q.shape[1] // k.shape[1]
    do, q, lse, delta = (x.unflatten(1, (k.shape[1], group)) for x in (do, q, lse, delta))
    Lq, Lk = q.shape[3], k.shape[2]
    ats = []
    for g in range(group)[heads]:
        queries, numbers = (x[:, :, g] for x in (do, q)), (x[:, :, g] for x in (lse, delta))
        at, M, N = tiles_of(*queries, k, v, *numbers, causal, scale, tile, STEPS | steps)
        ats.append(at)
    parts = [(torch.zeros_like(k[:, :, :0]),) * 2]
    for n in range(0, Lk, N):
        nothing = torch.zeros(*k.shape[:2], N, k.shape[3], dtype=k.dtype)
        acc = {"dk": nothing, "dv": nothing}
        begin = max(0, n - (Lk - Lq)) // M * M if causal else 0
        starts = list(walk(Walk(begin, Lq, M, N, n, Lk)))
        rounds = [(at, m) for at in ats for m in starts]
        for i, (at, m) in enumerate(rounds):
            now = at(m, n, acc, m)
            vars(now).update({name: vars(at(0, n, acc, m))[name] for name in stale})
            vars(now).update({name: vars(at(n, n, acc, m))[name] for name in own})
            now.round, now.earlier = i, sum(start for _, start in rounds[:i])
            acc = {"dk": now.dk, "dv": now.dv}
        parts.append(result(acc["dk"], acc["dv"], scale))
    return tuple(torch.cat(part, dim=2)[:, :, :Lk] for part in zip(*parts, strict=True))


def dq_like(
    result=lambda dq, scale: dq * scale,
    default_scale=False,
    stale=(),
    own=(),
    walk=tile_by_tile,
    before=unchanged,
    **steps,
):
    """What flash_bwd_dq gives if some of its steps are other ones.

    default_scale: `scale` is ignored. stale: of these, each round takes the first tile; own: of
    these, the one where the owner's tile begins. walk: where its tiles begin. before: (do, q, k,
    v, lse, delta) -> what is taken for them.
    """

    def formula(do, q, k, v, lse, delta, causal=False, scale=None, *, tile=None):
        scale = q.shape[-1] ** -0.5 if scale is None or default_scale else scale
        given = before(do, q, k, v, lse, delta)
        how = steps, result, stale, own, walk
        return walk_keys(given, causal, scale, shape_of(tile), *how)

    return formula


def dkdv_like(
    result=lambda dk, dv, scale: (dk * scale, dv),
    default_scale=False,
    stale=(),
    own=(),
    walk=tile_by_tile,
    before=unchanged,
    heads=slice(None),
    **steps,
):
    """What flash_bwd_dkdv gives if some of its steps are other ones; see `dq_like`."""

    def formula(do, q, k, v, lse, delta, causal=False, scale=None, *, tile=None):
        scale = q.shape[-1] ** -0.5 if scale is None or default_scale else scale
        given = before(do, q, k, v, lse, delta)
        how = steps, result, stale, own, walk, heads
        return walk_queries(given, causal, scale, shape_of(tile), *how)

    return formula


def shape_of(tile):
    """Queries and keys of a tile; without one, as many as a product's tile has at the most."""
    return (tile["BLOCK_M"], tile["BLOCK_N"]) if tile else (128, 64)


dq_ref, dkdv_ref = dq_like(), dkdv_like()


# --- mistakes of both kernels


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


def never_above_the_diagonal(what, later, gradients, mine):
    """NaN where no query sees a key: 0 times NaN would show in a program that comes near it.

    later: the tensor that gets NaN, and where. mine: the rows of the gradients that it is far from.
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
        assert all(bool(x[:, :, mine].isfinite().all()) for x in found), (
            f"{gradients} come out as NaN where {name} holds NaN far above the diagonal. {what}"
        )

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
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
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
        delta_ref,
        DELTA_CASES,
        HIDDEN_DELTA_CASES,
        asks=[launches(1)],
        terms=64,
    ),
    "flash_bwd_dq": Check(
        dq_ref,
        CASES,
        HIDDEN_CASES,
        asks=[
            launches(1),
            asks_for_exact_products,
            never_above_the_diagonal(
                "A program's walk ends at `end`: none of its queries sees a key from there on.",
                ("v", slice(32, None)),
                "The first queries' dq",
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
                "A program's walk begins at `begin`: no query before that sees its keys.",
                ("do", slice(32)),
                "The last keys' dk and dv",
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
