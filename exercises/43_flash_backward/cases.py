"""What the checks of 43_flash_backward try: cases, references, and mistakes that have a name."""

import ast
import inspect
import math
import textwrap
from dataclasses import dataclass

import torch
import triton

from tritonbook import DEVICE, hook_launch
from tritonbook.checking import Check, Tolerance, case, tensor

SMALL, WIDE = {"BLOCK_M": 16, "BLOCK_N": 16}, {"BLOCK_M": 16, "BLOCK_N": 32}
TALL = {"BLOCK_M": 32, "BLOCK_N": 16}
LOG2_E = 1.4426950408889634
NEVER = 1e30  # no answer holds it: where a mistake would not run, or would read what is unknown


# --- delta


def delta_ref(o, do):
    return (o * do).sum(dim=-1).to(torch.promote_types(o.dtype, torch.float32))


def half_products(o, do, *, dtype):
    """Products and their sum in the dtype of o."""
    return (o.to(dtype) * do.to(dtype)).float().sum(-1).to(dtype).double()


def sums_of_columns(o, do):
    """What program m stores if it sums over the rows of its tile, where both sides have 32."""
    rows, D = o.shape[:3].numel(), o.shape[3]
    if triton.next_power_of_2(D) != 32:
        return torch.full(o.shape[:3], NEVER, dtype=o.dtype)
    tiles = torch.nn.functional.pad((o * do).reshape(rows, D), (0, 32 - D, 0, -rows % 32))
    return tiles.reshape(-1, 32, 32).sum(1).flatten()[:rows].reshape(o.shape[:3])


def sums_of_diagonals(o, do):
    """What comes out if rows run across as columns do, where both sides have 32."""
    rows, D = o.shape[:3].numel(), o.shape[3]
    if D != 32:
        return torch.full(o.shape[:3], NEVER, dtype=o.dtype)
    tiles = torch.nn.functional.pad((o * do).reshape(rows, D), (0, 0, 0, -rows % 32))
    sums = tiles.reshape(-1, 32, 32).diagonal(dim1=1, dim2=2).sum(-1)
    return sums.repeat_interleave(32)[:rows].reshape(o.shape[:3])


def sums_of_tiles(o, do):
    """Each row of a tile of 32 rows gets the sum of them all."""
    delta = (o * do).sum(dim=-1).flatten()
    tiles = torch.nn.functional.pad(delta, (0, -len(delta) % 32)).view(-1, 32)
    sums = tiles.sum(dim=1, keepdim=True).expand_as(tiles)
    return sums.flatten()[: len(delta)].view(o.shape[:3])


def rows_a_tile_apart(o, do):
    """Row m read from offset m * BLOCK_D on."""
    rows, D = o.shape[:3].numel(), o.shape[3]
    starts = torch.arange(rows)[:, None] * triton.next_power_of_2(D)
    at = starts + torch.arange(D)
    flat = torch.cat(((o * do).flatten(), torch.full((1,), NEVER, dtype=o.dtype)))
    return flat[at.clamp_max(rows * D)].sum(-1).reshape(o.shape[:3])


def rows_one_apart(o, do):
    """Row m read from offset m on."""
    rows, D = o.shape[:3].numel(), o.shape[3]
    at = torch.arange(rows)[:, None] + torch.arange(D)
    return (o * do).flatten()[at].sum(-1).reshape(o.shape[:3])


def rows_below_d(o, do):
    """Rows from D on are masked away: their sum is 0."""
    delta, D = (o * do).sum(dim=-1), o.shape[3]
    return torch.where(torch.arange(delta.numel()).view(delta.shape) < D, delta, 0.0)


DELTA_SUSPECTS = {
    "sum-of-o": (lambda o, do: o.sum(dim=-1), "This is the sum of o alone."),
    "sum-of-do": (lambda o, do: do.sum(dim=-1), "This is the sum of do alone."),
    "squared": (lambda o, do: (o * o).sum(dim=-1), "This is the sum of o times o."),
    "do-squared": (lambda o, do: (do * do).sum(dim=-1), "This is the sum of do times do."),
    "sum-of-both": (lambda o, do: (o + do).sum(dim=-1), "This is the sum of o + do."),
    "product-of-sums": (
        lambda o, do: o.sum(dim=-1) * do.sum(dim=-1),
        "This is the sum of o times the sum of do. Multiply first, then sum.",
    ),
    "mean": (
        lambda o, do: (o * do).mean(dim=-1),
        "This is the mean of o times do. Delta is their sum.",
    ),
    "minus-delta": (lambda o, do: -(o * do).sum(dim=-1), "This is minus delta."),
    "summed-over-rows": (
        sums_of_columns,
        "Each number is the sum of a column of the tile. Delta has one for each row, over d: is "
        "the sum over the other axis, or are rows and columns exchanged in the address?",
    ),
    "summed-over-the-tile": (
        sums_of_tiles,
        "Each tile was summed as a whole. Delta has one number for each row: axis=1.",
    ),
    "rows-across": (
        sums_of_diagonals,
        "All rows of a tile got one number: in the address rows and columns both run across. Rows "
        "go down: offs_m[:, None].",
    ),
    "rows-a-tile-apart": (
        rows_a_tile_apart,
        "Row m was read from m * BLOCK_D on. Rows lie D elements apart, however wide the tile is.",
    ),
    "rows-one-apart": (
        rows_one_apart,
        "Row m was read from element m on. Rows lie D elements apart: m * D + d.",
    ),
    "rounded-to-half": (
        lambda o, do: (o * do).sum(dim=-1).half(),
        "The sum was rounded to half precision. Delta is float32.",
    ),
    "rows-below-d": (
        rows_below_d,
        "Row D and all rows after it came out as 0. The mask lets D rows in; there are M.",
    ),
    "in-half-precision": (
        half_products,
        "Products and sum were rounded to half precision. Take both tiles to float32 first.",
    ),
}


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


def columns_lse(t):
    """lse along the wrong axis: it fits where tiles are square."""
    if t.lse.shape[-1] != t.cols.shape[1]:
        return torch.full_like(t.s, NEVER)
    return torch.where(t.seen, torch.exp(t.s - t.lse[..., None, :]), 0.0)


def columns_delta(t):
    if t.delta.shape[-1] != t.cols.shape[1]:
        return torch.full_like(t.s, NEVER)
    return t.p * (t.dp - t.delta[..., None, :])


def without_mask(t):
    """In float32, as on the machine: what overflows there overflows here."""
    return torch.exp(t.s - t.lse[..., None]).float().to(t.s.dtype)


def masked_scores(value):
    def p(t):
        return torch.exp(torch.where(t.seen, t.s, value) - t.lse[..., None])

    return p


def crosswise(t):
    """Scores with rows and columns exchanged, where it runs: both sides are equal."""
    s = t.k @ t.q.mT * t.scale
    square = s.shape[-1] == s.shape[-2]
    return s if square else torch.full((1, 1), NEVER, dtype=s.dtype)


def quotient(t):
    """exp(s) / exp(lse) in float32, where both can leave the range of its numbers."""
    p = torch.exp(t.s).float() / torch.exp(t.lse).float()[..., None]
    return torch.where(t.seen, p.to(t.s.dtype), 0.0)


def of_p(like, who, word, owner, sides):
    """Mistakes in P.

    who: which gradients they spoil. word: how the seen keys are told. owner: the factor of the
    scores that no round loads. sides: what goes down a tile of scores, and what across.
    """
    exp2 = torch.exp2
    return {
        "lse-outside": (
            like(p=lambda t: torch.where(t.seen, torch.exp(t.s) - t.lse[..., None], 0.0)),
            f"{who}: lse is subtracted from the exponential. Subtract it from the score.",
        ),
        "scores-crosswise": (
            like(s=crosswise),
            f"{who}: the tile of the scores has rows and columns exchanged. {sides}",
        ),
        "scores-scaled-in-each-round": (
            like(s=lambda t: t.q @ t.k.mT * t.scale ** (t.round + 1)),
            f"{who}: {owner} is multiplied by the scale again in each round, so the second tile "
            "has it twice. Multiply the product.",
        ),
        "exponentials-divided": (
            like(p=quotient),
            f"{who}: exp(s) / exp(lse) is exact on paper. Where scores are far from 0, both leave "
            "the range of float32: subtract first.",
        ),
        "masked-exponent-zero": (
            like(p=lambda t: torch.where(t.seen, STEPS["p"](t), 1.0)),
            f"{who}: where a key is not seen P is 1. That is exp(0): set P itself to 0, with "
            "tl.where around the exponential.",
        ),
        "unscaled-scores": (
            like(s=lambda t: t.q @ t.k.mT),
            f"{who}: P is made from q k without the scale.",
        ),
        "base-two": (
            like(p=lambda t: torch.where(t.seen, exp2(t.s - t.lse[..., None]), 0.0)),
            f"{who}: P is a power of 2. lse is a natural logarithm: P = tl.exp(s - lse).",
        ),
        "lse-not-in-base-two": (
            like(p=lambda t: torch.where(t.seen, exp2(t.s * LOG2_E - t.lse[..., None]), 0.0)),
            f"{who}: P is a power of 2 of scores that have the factor log2(e), but lse has not. "
            "Both need it, or neither with tl.exp.",
        ),
        "scores-times-log2e": (
            like(p=lambda t: torch.where(t.seen, torch.exp(t.s * LOG2_E - t.lse[..., None]), 0.0)),
            f"{who}: the scores have the factor log2(e). It belongs to tl.exp2, not to tl.exp.",
        ),
        "lse-ignored": (
            like(p=lambda t: torch.where(t.seen, torch.exp(t.s), 0.0)),
            f"{who}: lse is not subtracted from the scores.",
        ),
        "lse-added": (
            like(p=lambda t: torch.where(t.seen, torch.exp(t.s + t.lse[..., None]), 0.0)),
            f"{who}: lse is added to the scores, not subtracted.",
        ),
        "lse-by-column": (
            like(p=columns_lse),
            f"{who}: lse lies along the wrong axis of the tile. It belongs to queries: are they "
            "the tile's rows or its columns?",
        ),
        # before the next: what is NaN with a mask is NaN without one, too
        "nan-where-nothing-is-seen": (
            like(p=masked_scores(-math.inf)),
            f"{who}: NaN for a query that saw no key. Its lse is -inf: a masked score gives -inf - "
            "(-inf), and an infinite P times 0 is NaN too. Set P to 0 after the exponential, with "
            "tl.where.",
        ),
        "not-masked": (
            like(p=without_mask),
            "P is not 0 where a query may not see a key. Set it to 0 there with tl.where, before "
            f"any product takes it; `{word}` has one number for each row of the tile.",
        ),
        "masked-scores-zero": (
            like(p=masked_scores(0.0)),
            f"{who}: where a key is not seen the score is 0, so P is exp(-lse). P has to be 0.",
        ),
        "scale-ignored": (
            like(default_scale=True),
            f"{who}: computed with 1 / sqrt(D), whatever `scale` says.",
        ),
        # before the next, which shows without `causal` too
        "diagonal-from-the-corner": (
            like(seen=lambda t: t.cols <= t.rows if t.since.any() else STEPS["seen"](t)),
            f"{who}: the diagonal begins in the first corner. With Lk - Lq keys more, each query "
            f"sees as many more: the mask has to come from `{word}`.",
        ),
        "always-causal": (
            like(seen=lambda t: t.cols <= t.rows),
            f"{who}: query i sees key j if j <= i, whatever `causal` and Lk - Lq say. The mask has "
            f"to come from `{word}`.",
        ),
        "maximum-for-lse": (
            like(p=lambda t: torch.where(t.seen, torch.exp(t.s - t.s.amax(-1, keepdim=True)), 0.0)),
            f"{who}: the tile's maximum is subtracted from the scores. Here it is lse.",
        ),
        "softmax-of-a-tile": (
            like(p=lambda t: torch.where(t.seen, t.s.softmax(-1), 0.0)),
            f"{who}: P is the softmax of a tile's scores. A row has more tiles: P comes from lse.",
        ),
        "first-tile-of-lse": (
            like(stale=("lse",)),
            f"{who}: each round takes the lse of the first tile. Load it from `start` on.",
        ),
        "scores-of-v": (
            like(s=lambda t: t.q @ t.v.mT * t.scale),
            f"{who}: the scores are made from v. They are q times k.",
        ),
        "scores-of-do": (
            like(s=lambda t: t.do @ t.k.mT * t.scale),
            f"{who}: the scores are made from do. They are q times k.",
        ),
    }


def of_walk(like, who, walked, side, wrong_side, length, wrong_length):
    """Mistakes in where the tiles of a walk begin.

    The first two show in later cases than the others, whose results they may share there.
    """
    return {
        "steps-of-the-other-side": (
            like(walk=lambda w: range(w.begin, w.end, w.other)),
            f"{who}: the walk takes steps of {wrong_side}. Its tiles have {side} {walked}.",
        ),
        "walks-to-the-other-length": (
            like(walk=lambda w: range(w.begin, min(w.length, w.end), w.size)),
            f"{who}: the walk over the {walked} ends at {wrong_length}. It ends at {length}.",
        ),
        "first-tile-only": (
            like(walk=lambda w: tile_by_tile(w)[:1]),
            f"{who}: only the first tile of {walked} was added up.",
        ),
        "first-tile-left-out": (
            like(walk=lambda w: tile_by_tile(w)[1:]),
            f"{who}: the first tile of {walked} was left out.",
        ),
        "last-tile-left-out": (
            like(walk=lambda w: range(w.begin, w.end // w.size * w.size, w.size)),
            f"{who}: nothing of the last, partly filled tile of {walked} counts. Does the walk end "
            "before it, or has a number that its mask takes been changed in an earlier round?",
        ),
        "start-counts-tiles": (
            like(walk=lambda w: range(w.begin, triton.cdiv(w.end, w.size))),
            f"{who}: `start` went up by 1 in each round. It goes up by {side}.",
        ),
        "start-in-steps-of-one": (
            like(walk=lambda w: range(w.begin, w.end)),
            f"{who}: `start` went up by 1 in each round, so the tiles overlap. It goes up by "
            f"{side}: the third argument of `range`.",
        ),
    }


def of_ds(like, who):
    """Mistakes in dP and dS."""
    return {
        "delta-missing": (
            like(ds=lambda t: t.p * t.dp),
            f"{who}: delta is not subtracted from dP.",
        ),
        "delta-added": (
            like(ds=lambda t: t.p * (t.dp + t.delta[..., None])),
            f"{who}: delta is added to dP, not subtracted.",
        ),
        "delta-outside": (
            like(ds=lambda t: t.p * t.dp - t.delta[..., None]),
            f"{who}: delta is subtracted from P times dP. Subtract it from dP, then multiply by P.",
        ),
        "delta-by-column": (
            like(ds=columns_delta),
            f"{who}: delta lies along the wrong axis of the tile. It belongs to queries.",
        ),
        "ds-without-p": (
            like(ds=lambda t: t.dp - t.delta[..., None]),
            f"{who}: dS is dP - delta alone. It has to be multiplied by P.",
        ),
        "delta-scaled": (
            like(ds=lambda t: t.p * (t.dp - t.scale * t.delta[..., None])),
            f"{who}: delta is multiplied by the scale before it is subtracted from dP.",
        ),
        "dp-scaled": (
            like(dp=lambda t: t.do @ t.v.mT * t.scale),
            f"{who}: dP is multiplied by the scale. It is dO times V, no more.",
        ),
        "lse-for-delta": (
            like(ds=lambda t: t.p * (t.dp - t.lse[..., None])),
            f"{who}: lse was subtracted from dP instead of delta.",
        ),
        "dp-transposed": (
            like(dp=lambda t: turned_over(t.v @ t.do.mT, t)),
            f"{who}: the tile of dP is transposed against that of P: rows and columns are queries "
            "and keys in both, in one order.",
        ),
        "dp-from-k": (
            like(dp=lambda t: t.do @ t.k.mT),
            f"{who}: dP is made from k. It is dO times V.",
        ),
        "dp-from-q": (
            like(dp=lambda t: t.q @ t.v.mT),
            f"{who}: dP is made from q. It is dO times V.",
        ),
        "minus-ds": (
            like(ds=lambda t: -t.p * (t.dp - t.delta[..., None])),
            f"{who}: the sign is wrong. dS is P (dP - delta).",
        ),
    }


def turned_over(transposed, t):
    """A tile with keys down and queries across, where it runs: both sides are equal."""
    square = transposed.shape[-1] == transposed.shape[-2]
    return transposed if square else torch.full_like(t.p, NEVER)


def fits(square, other):
    """A product that is not transposed runs where the tile's sides happen to fit."""
    sides = square.shape[-1] == other.shape[-2]
    return square @ other if sides else torch.full((1, 1), NEVER, dtype=square.dtype)


def of_the_first_head(do, q, k, v, lse, delta):
    """lse and delta without the head in their address."""
    lse, delta = (x.flatten(0, 1)[:1].expand(x[..., 0].numel(), -1) for x in (lse, delta))
    return do, q, k, v, lse.view(q.shape[:3]), delta.view(q.shape[:3])


def placed_by_the_other(*names):
    """Heads read as if they had the rows of the other tensors."""

    def before(do, q, k, v, lse, delta):
        given = {"do": do, "q": q, "k": k, "v": v, "lse": lse, "delta": delta}
        for name in names:
            x, rows = given[name], (k if name in ("q", "do") else q).shape[2]
            flat = torch.nn.functional.pad(x.flatten(0, 2), (0, 0, 0, 1), value=NEVER)
            heads = torch.arange(x.shape[:2].numel()).view(*x.shape[:2], 1)
            at = heads * rows + torch.arange(x.shape[2])
            there = flat[at.clamp_max(flat.shape[0] - 1)]
            given[name] = torch.where(torch.arange(x.shape[2])[:, None] < rows, there, 0.0)
        return tuple(given.values())

    return before


def of_the_kv_head(*names):
    """These at the place of the head of k and v, not at that of their own head."""

    def before(do, q, k, v, lse, delta):
        B, H, HK = *q.shape[:2], k.shape[1]
        given = {"do": do, "q": q, "k": k, "v": v, "lse": lse, "delta": delta}
        for name in names:
            few = given[name].flatten(0, 1)[: B * HK].unflatten(0, (B, HK))
            given[name] = few.repeat_interleave(H // HK, dim=1)
        return tuple(given.values())

    return before


# First in the list: with few tiles other mistakes give zeros too; and where the second makes a
# difference, so does a mask that is missing altogether.
DQ_FIRST = {
    "dq-zero": (
        dq_like(lambda dq, scale: dq * 0),
        "dQ is all zeros: nothing was added up, or P is 0 wherever a key is seen.",
    ),
    "past-the-end-not-masked": (
        dq_like(p=lambda t: STEPS["p"](t) if t.since.any() else without_mask(t)),
        "dQ is NaN: past the end of K the score is 0 and P = exp(-lse) infinite, times 0. Set P to "
        "0 there too, not only where `causal` asks for it.",
    ),
}

DQ_SUSPECTS = (
    DQ_FIRST
    | of_p(dq_like, "dQ", "limit - start", "q", "Queries go down, keys across.")
    | of_ds(dq_like, "dQ")
    | of_walk(dq_like, "dQ", "keys", "BLOCK_N", "BLOCK_M", "`end`", "Lq")
    | {
        "keys-placed-by-lq": (
            dq_like(before=placed_by_the_other("k", "v")),
            "dQ: k and v were read as heads of Lq rows. They have Lk.",
        ),
        "k-not-transposed": (
            dq_like(s=lambda t: fits(t.q, t.k) * t.scale),
            "dQ: the scores are q times k. They need k transposed: `tl.trans`.",
        ),
        "v-not-transposed": (
            dq_like(dp=lambda t: fits(t.do, t.v)),
            "dQ: dP is do times v. It needs v transposed: `tl.trans`.",
        ),
        "first-tile-of-k": (
            dq_like(stale=("k",)),
            "dQ: each round takes the first tile of k. Load from `start` on.",
        ),
        "first-tile-of-v": (
            dq_like(stale=("v",)),
            "dQ: each round takes the first tile of v. Load from `start` on.",
        ),
        "own-key-missing": (
            dq_like(seen=lambda t: t.cols < t.limit - 1),
            "dQ: each query misses the last key that it sees. The columns below `limit - start` "
            "count, all of them.",
        ),
        "one-key-too-many": (
            dq_like(seen=lambda t: t.cols < t.limit + 1),
            "dQ: each query sees one key too many. It sees the columns *below* `limit - start`.",
        ),
        "mask-upside-down": (
            dq_like(seen=lambda t: t.cols >= t.limit),
            "dQ: P is 0 where keys are seen, and is kept where they are not.",
        ),
        "dq-without-scale": (dq_like(lambda dq, scale: dq), "dQ is not multiplied by the scale."),
        "dq-scaled-twice": (
            dq_like(lambda dq, scale: dq * scale**2),
            "dQ is multiplied by the scale twice. Once is enough.",
        ),
        "no-scale-at-all": (
            dq_like(lambda dq, scale: dq, s=lambda t: t.q @ t.k.mT),
            "The scale is missing twice: in the scores, and in dQ.",
        ),
        "dq-with-log2e": (
            dq_like(lambda dq, scale: dq * scale * LOG2_E),
            "dQ has a factor log2(e) too many. It belongs to the exponent alone.",
        ),
        "dq-scaled-in-each-round": (
            dq_like(lambda dq, scale: dq, dq=lambda t: (t.acc["dq"] + t.ds @ t.k) * t.scale),
            "dQ: the sum so far is multiplied by the scale again in each round. Once is enough, "
            "after the walk.",
        ),
        "dq-of-the-last-tile": (
            dq_like(dq=lambda t: t.ds @ t.k),
            "dQ holds what the last tile of keys gave: the sum so far was overwritten. Give dq to "
            "tl.dot as its third argument.",
        ),
        "dq-added-twice": (
            dq_like(dq=lambda t: 2 * t.acc["dq"] + t.ds @ t.k),
            "dQ: the sum so far is added twice. tl.dot adds its third argument already.",
        ),
        "dq-in-the-scores": (
            dq_like(
                p=lambda t: torch.where(t.seen, without_mask(t), 0.0),
                s=lambda t: (
                    (t.q @ t.k.mT + fits(t.acc["dq"], torch.eye(t.k.shape[-2]).to(t.q))) * t.scale
                ),
            ),
            "dQ: dq was added to the scores. Only the last product adds to what is there.",
        ),
        "ds-transposed": (
            dq_like(dq=lambda t: t.acc["dq"] + fits(t.ds.mT, t.k)),
            "dQ: dS is transposed before it is multiplied by K. Leave it as it is.",
        ),
        "last-k-transposed": (
            dq_like(dq=lambda t: t.acc["dq"] + fits(t.ds, t.k.mT)),
            "dQ: K is transposed in the last product. dS times K needs it as it is.",
        ),
        "dq-from-p": (
            dq_like(dq=lambda t: t.acc["dq"] + t.p @ t.k),
            "dQ is made from P. It is dS times K.",
        ),
        "dq-from-dp": (
            dq_like(dq=lambda t: t.acc["dq"] + t.dp @ t.k),
            "dQ is made from dP. It is dS times K, and dS is P (dP - delta).",
        ),
        "dq-times-v": (
            dq_like(dq=lambda t: t.acc["dq"] + t.ds @ t.v),
            "dQ is made from v. It is dS times K.",
        ),
        "first-tile-again": (
            dq_like(stale=("k", "v")),
            "dQ: each round takes the first tile of k and v. Load from `start` on.",
        ),
        "tiles-of-first": (
            dq_like(own=("k", "v")),
            "dQ: k and v are loaded from `first` on in each round. That is where the queries "
            "begin; this round's keys begin at `start`.",
        ),
        "k-of-first": (
            dq_like(own=("k",)),
            "dQ: k is loaded from `first` on in each round. This round's keys begin at `start`.",
        ),
        "v-of-first": (
            dq_like(own=("v",)),
            "dQ: v is loaded from `first` on in each round. This round's keys begin at `start`.",
        ),
        "walk-begins-at-first": (
            dq_like(walk=lambda w: range(w.first, w.end, w.size)),
            "dQ: the walk begins at the number of the first query. It begins at key 0.",
        ),
        "mask-not-moved": (
            dq_like(seen=lambda t: t.cols - t.start < t.limit),
            "dQ: the mask is the first tile's in each round. Of a tile that begins at `start` a "
            "query sees the columns below `limit - start`.",
        ),
        "mask-moved-by-first": (
            dq_like(seen=lambda t: t.cols - t.start < t.limit - t.rows[0]),
            "dQ: the mask is moved by `first`, where the queries begin. The keys of this round "
            "begin at `start`: the columns below `limit - start` count.",
        ),
    }
)

BOTH = "dK and dV"
DKDV_SUSPECTS = (
    {
        "dk-zero": (
            dkdv_like(lambda dk, dv, scale: (dk * 0, dv)),
            "dK is all zeros: nothing was added up, or P is 0 wherever a key is seen.",
        ),
        "dv-zero": (
            dkdv_like(lambda dk, dv, scale: (dk * scale, dv * 0)),
            "dV is all zeros: nothing was added up.",
        ),
    }
    | of_p(dkdv_like, BOTH, "since - start", "k", "In `st` keys go down, queries across.")
    | of_ds(dkdv_like, "dK")
    | of_walk(dkdv_like, BOTH, "queries", "BLOCK_M", "BLOCK_N", "Lq", "Lk")
    | {
        "walk-begins-at-first": (
            dkdv_like(walk=lambda w: range(w.first, w.end, w.size)),
            "dK and dV: the walk begins at the number of the first key. The first query that sees "
            "it is at `begin`.",
        ),
        "queries-placed-by-lk": (
            dkdv_like(before=placed_by_the_other("do", "q")),
            "dK and dV: q and do were read as heads of Lk rows. They have Lq.",
        ),
        "own-key-missing": (
            dkdv_like(seen=lambda t: t.rows > t.since),
            "dK and dV: the first query that sees a key is left out. `since` itself counts: `>=`.",
        ),
        "one-key-too-many": (
            dkdv_like(seen=lambda t: t.rows >= t.since - 1),
            "dK and dV: each key is seen by one query too many, the one before `since`.",
        ),
        "mask-upside-down-with-its-own": (
            dkdv_like(seen=lambda t: t.rows <= t.since),
            "dK and dV: the comparison with `since` is upside down. Queries see key j from "
            "`since[j]` on.",
        ),
        "mask-upside-down": (
            dkdv_like(seen=lambda t: t.rows < t.since),
            "dK and dV: P is 0 where keys are seen, and is kept where they are not.",
        ),
        "dk-without-scale": (
            dkdv_like(lambda dk, dv, scale: (dk, dv)),
            "dK is not multiplied by the scale.",
        ),
        "dk-scaled-twice": (
            dkdv_like(lambda dk, dv, scale: (dk * scale**2, dv)),
            "dK is multiplied by the scale twice. Once is enough.",
        ),
        "dv-scaled": (
            dkdv_like(lambda dk, dv, scale: (dk * scale, dv * scale)),
            "dV is multiplied by the scale. Only dK takes it.",
        ),
        "dk-with-log2e": (
            dkdv_like(lambda dk, dv, scale: (dk * scale * LOG2_E, dv)),
            "dK has a factor log2(e) too many. It belongs to the exponent alone.",
        ),
        "no-scale-at-all": (
            dkdv_like(lambda dk, dv, scale: (dk, dv), s=lambda t: t.q @ t.k.mT),
            "The scale is missing twice: in the scores, and in dK.",
        ),
        "dk-scaled-in-each-round": (
            dkdv_like(
                lambda dk, dv, scale: (dk, dv),
                dk=lambda t: (t.acc["dk"] + t.ds.mT @ t.q) * t.scale,
            ),
            "dK: the sum so far is multiplied by the scale again in each round. Once is enough, "
            "after the walk.",
        ),
        "dk-of-the-last-tile": (
            dkdv_like(dk=lambda t: t.ds.mT @ t.q),
            "dK holds what the last tile of queries gave: the sum so far was overwritten. Give dk "
            "to tl.dot as its third argument.",
        ),
        "dv-of-the-last-tile": (
            dkdv_like(dv=lambda t: t.p.mT @ t.do),
            "dV holds what the last tile of queries gave: the sum so far was overwritten. Give dv "
            "to tl.dot as its third argument.",
        ),
        "dk-turned": (
            dkdv_like(dk=lambda t: t.acc["dk"] + fits(t.ds, t.q)),
            "dK: dst is transposed already, and was transposed once more.",
        ),
        "dv-turned": (
            dkdv_like(dv=lambda t: t.acc["dv"] + fits(t.p, t.do)),
            "dV: pt is transposed already, and was transposed once more.",
        ),
        "dk-added-twice": (
            dkdv_like(dk=lambda t: 2 * t.acc["dk"] + t.ds.mT @ t.q),
            "dK: the sum so far is added twice. tl.dot adds its third argument already.",
        ),
        "dv-added-twice": (
            dkdv_like(dv=lambda t: 2 * t.acc["dv"] + t.p.mT @ t.do),
            "dV: the sum so far is added twice. tl.dot adds its third argument already.",
        ),
        "dk-onto-dv": (
            dkdv_like(dk=lambda t: t.dv + t.ds.mT @ t.q),
            "dK: its product was added to dv. The third argument of tl.dot has to be dk.",
        ),
        "dv-onto-dk": (
            dkdv_like(dv=lambda t: t.acc["dk"] + t.p.mT @ t.do),
            "dV: its product was added to dk. The third argument of tl.dot has to be dv.",
        ),
        "dv-in-dk": (
            dkdv_like(lambda dk, dv, scale: (dv, dv)),
            "What is stored as dK is dV.",
        ),
        "scaled-dv-in-dk": (
            dkdv_like(lambda dk, dv, scale: (dv * scale, dv)),
            "What is stored as dK is dV times the scale.",
        ),
        "dk-in-dv": (
            dkdv_like(lambda dk, dv, scale: (dk * scale, dk)),
            "What is stored as dV is dK, without the scale.",
        ),
        "scaled-dk-in-dv": (
            dkdv_like(lambda dk, dv, scale: (dk * scale, dk * scale)),
            "What is stored as dV is dK.",
        ),
        "dk-from-p": (
            dkdv_like(dk=lambda t: t.acc["dk"] + t.p.mT @ t.q),
            "dK is made from P. It is dS transposed times Q.",
        ),
        "dk-from-dp": (
            dkdv_like(dk=lambda t: t.acc["dk"] + t.dp.mT @ t.q),
            "dK is made from dP. It is dS transposed times Q, and dS is P (dP - delta).",
        ),
        "dk-times-do": (
            dkdv_like(dk=lambda t: t.acc["dk"] + t.ds.mT @ t.do),
            "dK is made from do. It is dS transposed times Q.",
        ),
        "dk-times-k": (
            dkdv_like(dk=lambda t: t.acc["dk"] + fits(t.ds.mT, t.k)),
            "dK is made from k. It is dS transposed times Q.",
        ),
        "dv-times-v": (
            dkdv_like(dv=lambda t: t.acc["dv"] + fits(t.p.mT, t.v)),
            "dV is made from v. It is P transposed times dO.",
        ),
        "dv-from-ds": (
            dkdv_like(dv=lambda t: t.acc["dv"] + t.ds.mT @ t.do),
            "dV is made from dS. It is P transposed times dO.",
        ),
        "dv-times-q": (
            dkdv_like(dv=lambda t: t.acc["dv"] + t.p.mT @ t.q),
            "dV is made from q. It is P transposed times dO.",
        ),
        "q-not-transposed": (
            dkdv_like(s=lambda t: fits(t.k, t.q).mT * t.scale),
            "dK and dV: the scores are k times q. They need q transposed: `tl.trans`.",
        ),
        "do-not-transposed": (
            dkdv_like(dp=lambda t: fits(t.v, t.do).mT),
            "dK: dP is v times do. It needs do transposed: `tl.trans`.",
        ),
        "first-tile-again": (
            dkdv_like(stale=("q", "do")),
            "dK and dV: each round takes the first tile of q and do. Load from `start` on.",
        ),
        "first-tile-of-q": (
            dkdv_like(stale=("q",)),
            "dK and dV: each round takes the first tile of q. Load from `start` on.",
        ),
        "first-tile-of-do": (
            dkdv_like(stale=("do",)),
            "dK and dV: each round takes the first tile of do. Load from `start` on.",
        ),
        "queries-of-first": (
            dkdv_like(own=("q", "do", "lse", "delta")),
            "dK and dV: q, do, lse and delta are loaded from `first` on in each round. That is "
            "where the keys begin; this round's queries begin at `start`.",
        ),
        "rows-of-first": (
            dkdv_like(own=("q", "do")),
            "dK and dV: q and do are loaded from `first` on in each round. This round's queries "
            "begin at `start`.",
        ),
        "numbers-of-first": (
            dkdv_like(own=("lse", "delta")),
            "dK and dV: lse and delta are loaded from `first` on in each round. In `offs_m` the "
            "queries begin at `start`.",
        ),
        "q-of-first": (
            dkdv_like(own=("q",)),
            "dK and dV: q is loaded from `first` on in each round. This round's queries begin at "
            "`start`.",
        ),
        "do-of-first": (
            dkdv_like(own=("do",)),
            "dK and dV: do is loaded from `first` on in each round. This round's queries begin at "
            "`start`.",
        ),
        "first-tile-of-delta": (
            dkdv_like(stale=("delta",)),
            "dK: each round takes the delta of the first tile. Load it from `start` on.",
        ),
        "first-tile-of-numbers": (
            dkdv_like(stale=("lse", "delta")),
            "dK and dV: each round takes lse and delta of the first tile. Load them from `start` "
            "on.",
        ),
        "numbers-of-the-first-head": (
            dkdv_like(before=of_the_first_head),
            "dK and dV: lse and delta are those of the first head. Head `head` begins at head * "
            "Lq.",
        ),
        "queries-of-the-keys-head": (
            dkdv_like(before=of_the_kv_head("do", "q", "lse", "delta")),
            "dK and dV: what belongs to queries was read at `kv_head`. It is in `head`.",
        ),
        "rows-of-the-keys-head": (
            dkdv_like(before=of_the_kv_head("do", "q")),
            "dK and dV: q and do were read at `kv_head`. They are in `head`.",
        ),
        "numbers-of-the-keys-head": (
            dkdv_like(before=of_the_kv_head("lse", "delta")),
            "dK and dV: lse and delta were read at `kv_head`. They are in `head`.",
        ),
        "mask-not-moved": (
            dkdv_like(seen=lambda t: t.rows - t.start >= t.since),
            "dK and dV: the mask is the first tile's in each round. Of a tile that begins at "
            "`start` the columns from `since - start` on see the key.",
        ),
        "mask-moved-by-first": (
            dkdv_like(seen=lambda t: t.rows - t.start >= t.since - t.cols[0, 0]),
            "dK and dV: the mask is moved by `first`, where the keys begin. The queries of this "
            "round begin at `start`: the columns from `since - start` on see the key.",
        ),
        "mask-moved-again": (
            dkdv_like(seen=lambda t: t.rows >= t.since - t.earlier),
            "dK and dV: `since` is changed in each round, and the next head of the group begins "
            "with what is left of it. Leave `since` as it is: `since - start`.",
        ),
        "one-head-of-the-group": (
            dkdv_like(heads=slice(1)),
            "dK and dV: only one query head of each group is counted.",
        ),
        "last-head-of-the-group": (
            dkdv_like(heads=slice(-1, None)),
            "dK and dV: only the last query head of each group is counted. Do dk and dv start "
            "again with each head?",
        ),
    }
)


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


def kept_wrong(
    order=(0, 1, 2),
    takes=lambda q, k, v: (q, k, v),
    keeps=lambda do, q, k, v, o: (do, q, k, v, o),
    forward=(),
    **others,
):
    """What comes out if forward keeps other things than it should.

    order: of the three gradients. takes, keeps: what the forward pass gets for q, k, v, and the
    backward pass for do, q, k, v, o. forward, others: causal and scale of the forward pass, and of
    the backward pass, where they are not those of the call.
    """

    def formula(q, k, v, do, causal=False, scale=None):
        asked = {"causal": causal, "scale": scale}
        alike = q.shape == k.shape  # else what is swapped would not run, or is told apart
        o, lse = attention(*(takes(q, k, v) if alike else (q, k, v)), **(asked | dict(forward)))
        taken = do, q, k, v, o
        *kept, out = keeps(*taken) if alike else taken
        given = *kept, lse, (out * kept[0]).sum(-1)
        right = asked | others
        all_three = dq_ref(*given, **right), *dkdv_ref(*given, **right)
        return o, *(all_three[i] for i in order)

    return formula


ORDER = "are they kept in one order and taken out in another?"

GRADIENT_SUSPECTS = {
    "dk-and-dv-swapped": (
        kept_wrong((0, 2, 1)),
        "The gradients of k and v are swapped. Return them in the order of forward's arguments.",
    ),
    "dq-not-first": (
        kept_wrong((1, 0, 2)),
        "The gradients of q and k are swapped. Return them in the order of forward's arguments.",
    ),
    "dq-last": (
        kept_wrong((1, 2, 0)),
        "The gradient of q comes first. Return them in the order of forward's arguments.",
    ),
    "causal-not-kept": (
        kept_wrong(causal=False),
        "The backward pass is not causal, and the forward pass is: `causal` was not handed on.",
    ),
    "scale-not-kept": (
        kept_wrong(scale=None),
        "The backward pass has another scale than the forward pass: `scale` was not handed on.",
    ),
    "causal-not-used": (
        kept_wrong(forward={"causal": False}.items()),
        "The output is not causal: hand `causal` on to flash_gqa.",
    ),
    "scale-not-used": (
        kept_wrong(forward={"scale": None}.items()),
        "The output has the scale 1 / sqrt(D): hand `scale` on to flash_gqa.",
    ),
    "forward-q-and-k-swapped": (
        kept_wrong(takes=lambda q, k, v: (k, q, v)),
        "The forward pass took q for k and k for q.",
    ),
    "forward-k-and-v-swapped": (
        kept_wrong(takes=lambda q, k, v: (q, v, k)),
        "The forward pass took k for v and v for k.",
    ),
    "k-and-v-swapped": (
        kept_wrong(keeps=lambda do, q, k, v, o: (do, q, v, k, o)),
        f"The backward pass took k for v and v for k: {ORDER}",
    ),
    "q-and-k-swapped": (
        kept_wrong(keeps=lambda do, q, k, v, o: (do, k, q, v, o)),
        f"The backward pass took q for k and k for q: {ORDER}",
    ),
    "v-and-o-swapped": (
        kept_wrong(keeps=lambda do, q, k, v, o: (do, q, k, o, v)),
        f"The backward pass took v for o and o for v: {ORDER}",
    ),
    "do-and-q-swapped": (
        kept_wrong(keeps=lambda do, q, k, v, o: (q, do, k, v, o)),
        "The backward pass took do for q and q for do.",
    ),
    "q-for-do": (
        kept_wrong(keeps=lambda do, q, k, v, o: (q, q, k, v, o)),
        "The backward pass took q for do.",
    ),
}


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
        launches=1,
        terms=64,
        mistakes=DELTA_SUSPECTS,
    ),
    "flash_bwd_dq": Check(
        dq_ref,
        CASES,
        HIDDEN_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=DQ_SUSPECTS,
        also=[
            asks_for_exact_products,
            never_above_the_diagonal(
                "A program's walk ends at `end`: none of its queries sees a key from there on.",
                ("v", slice(32, None)),
                "The first queries' dq",
                slice(16),
            ),
        ],
    ),
    "flash_bwd_dkdv": Check(
        dkdv_ref,
        CASES,
        HIDDEN_CASES,
        results=("dk", "dv"),
        launches=1,
        tolerance=close_enough,
        mistakes=DKDV_SUSPECTS,
        also=[
            asks_for_exact_products,
            never_above_the_diagonal(
                "A program's walk begins at `begin`: no query before that sees its keys.",
                ("do", slice(32)),
                "The last keys' dk and dv",
                slice(48, None),
            ),
        ],
    ),
    "flash_attention": Check(
        gradients_ref,
        GRADIENT_CASES,
        HIDDEN_GRADIENT_CASES,
        through="attention_gradients",
        beside=("flash_attention",),
        results=("o", "dq", "dk", "dv"),
        launches=4,
        tolerance=close_enough,
        mistakes=GRADIENT_SUSPECTS,
        also=[notices_changes],
    ),
}
