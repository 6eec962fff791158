"""Attention as pages 41 and 42 check it: references, keys that are hard, mistakes with a name."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from tritonbook.checking import Tolerance

LOG2_E, LN_2 = 1 / math.log(2), math.log(2)
NEVER = float("-inf")


def with_a_text(fn):
    """The learner's function itself, for a kernel to call; None where a grader has a stand-in for
    it, whose text says nothing."""
    fn = inspect.unwrap(fn)
    own = getattr(getattr(fn, "__code__", None), "co_name", None)
    return fn if own == getattr(fn, "__name__", "") else None


# --- references


def shared(k, heads):
    """Keys or values with one head for each of `heads` query heads."""
    return k.repeat_interleave(heads // k.shape[1], dim=1)


def scale_of(q, scale):
    return q.shape[-1] ** -0.5 if scale is None else scale


def keys_seen(q, k, causal, shift=0):
    """How many keys each query sees, [Lq]; shift: by how many the diagonal is off."""
    Lq, Lk = q.shape[2], k.shape[2]
    position = torch.arange(Lq, device=q.device)
    return (position + 1 + Lk - Lq + shift if causal else position * 0 + Lk).clamp(0, Lk)


def all_scores(q, k, scale=None):
    return q @ shared(k, q.shape[1]).transpose(-1, -2) * scale_of(q, scale)


def softmax_of(s, v):
    """(o, lse) for scores s, forbidden ones -inf. A query that sees nothing: 0 and -inf."""
    lse = torch.logsumexp(s, dim=-1)
    seen = torch.where(lse == NEVER, 0.0, lse)[..., None]
    o = torch.exp(s - seen) @ shared(v, s.shape[1])
    return o, lse.to(torch.promote_types(s.dtype, torch.float32))


def careless_softmax_of(s, v):
    """The same where a query that sees nothing comes out as NaN."""
    o, lse = softmax_of(s, v)
    nothing = lse == NEVER
    return o.masked_fill(nothing[..., None], math.nan), lse.masked_fill(nothing, math.nan)


def scores_ref(q, k, causal, scale=None, shift=0):
    """All scores, (B, H, Lq, Lk); the forbidden ones are -inf."""
    keys = torch.arange(k.shape[2], device=q.device)
    seen = keys < keys_seen(q, k, causal, shift)[:, None]
    return all_scores(q, k, scale).masked_fill(~seen, NEVER)


def attention_ref(q, k, v, causal=False, scale=None):
    """(o, lse). The last query sees the last key; H is a multiple of the heads of k and v."""
    return softmax_of(scores_ref(q, k, causal, scale), v)


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


# --- mistakes: what a wrong kernel computes. All take (q, k, v, causal, scale).

Formula = Callable[..., tuple[torch.Tensor, torch.Tensor]]
Mistakes = dict[str, tuple[Formula, str]]


class Tile(NamedTuple):
    """Rows of a tile of queries, and its keys."""

    M: int
    N: int

    def rounded_up(self, keys):
        return (keys + self.N - 1) // self.N * self.N


class Walk(NamedTuple):
    """For each query, [H, Lq, 1] each: the bounds of its program's walk."""

    full: torch.Tensor  # where its full tiles end
    first: torch.Tensor  # how many keys the first query of the tile sees
    end: torch.Tensor  # and its last: where the walk ends


def walk(q, k, causal, tile, positions=True):
    """Where the programs' walks end. positions=False: rows of the tile are taken for positions."""
    H, Lq, Lk = q.shape[1], q.shape[2], k.shape[2]
    group = H // k.shape[1]
    row = torch.arange(Lq)[None, :] * group + torch.arange(H)[:, None] % group
    first = row // tile.M * tile.M
    last = first + tile.M - 1
    if positions:
        first, last = first // group, last // group

    def seen(position):
        return (position + 1 + Lk - Lq if causal else position * 0 + Lk).clamp(0, Lk)[..., None]

    return Walk(seen(first) // tile.N * tile.N, seen(first), seen(last))


def without(part, block, work=torch.float32):
    """The walk over tiles of `block` keys, with one part of the method left out or done wrong.

    work: the dtype of the walk, so that here overflows what overflows in a kernel; None: that of q.
    """

    def wrong(q, k, v, causal=False, scale=None):
        dtype = work if work and part in _OVERFLOWS else q.dtype
        s, v = scores_ref(q, k, causal, scale).to(dtype), shared(v, q.shape[1]).to(dtype)
        total, acc = torch.zeros_like(s[..., :1].sum(-1)), torch.zeros_like(q, dtype=dtype)
        m = total * 0 if part == "start" else torch.full_like(total, NEVER)
        for start in range(0, s.shape[-1], block):
            here = slice(start, start + block)
            late = LOG2_E * scale_of(q, scale)  # what scales scores again that are scaled
            units = _UNITS.get(part, 1) / (scale_of(q, scale) if part in _UNITS else 1)
            units = late if part.startswith("scaled") else units
            m, total, acc = _step(part, m, total, acc, s[..., here], v[:, :, here], units)
        divisor = {"division": 1, "each": 1, "product": 1 / total[..., None]}
        o = acc / divisor.get(part, total[..., None])
        return o, (m + torch.log(total)).to(torch.promote_types(q.dtype, torch.float32))

    return wrong


_OVERFLOWS = ("maximum", "running", "start", "units", "bare maximum", "p", "sign", "scaled m")
# Where a number of the walk is a bare product of q and k, what it is times the scale: in base 2 it
# counts LN_2 of that in the exponent, in base e all of it.
_UNITS = {"units": LN_2, "bare maximum": 1, "bare factor": 1, "bare factor in base 2": LN_2}


def _step(part, m, total, acc, s, v, units):
    """One tile of the walk: the new m, l and acc."""
    again = {part: units} if part.startswith("scaled") else {}
    top = s.amax() if part == "top of all" else s.amax(dim=-1)
    top = top * units if part in ("units", "bare maximum") else top
    m_new = top if part == "running" else torch.maximum(m * again.get("scaled m", 1), top)
    m_new = torch.where(top == NEVER, m, m_new)  # a tile that no program visits
    m_new = torch.zeros_like(m) if part == "maximum" else m_new
    base = torch.where(m_new == NEVER, 0.0, m_new)
    p = torch.exp(s - {"p": 0, "sign": -1, "scaled p": units}.get(part, 1) * base[..., None])
    p = p**LOG2_E if part == "natural p" else p
    late = units if part.startswith("bare factor") else again.get("scaled alpha", 1)
    alpha = torch.exp((m - base) * (LOG2_E if part == "base" else late))
    alpha = torch.ones_like(alpha) if part in ("maximum", "both") else alpha
    old, old_acc = total, acc
    added = {"sum": 0 * total, "sum of all": p.sum()}.get(part, p.sum(dim=-1))
    total = (total if part == "l" else total * alpha) + added
    acc = (acc if part == "acc" else acc * alpha[..., None]) + p @ v
    visited = top != NEVER
    if part == "l twice":
        total = total + visited * old
    if part == "acc twice":
        acc = acc + visited[..., None] * old_acc
    if part == "each":
        acc = torch.where(visited[..., None], acc / total[..., None], acc)
    if part == "new l":
        total = torch.where(visited, added, old)
    if part == "new acc":
        acc = torch.where(visited[..., None], p @ v, old_acc)
    return m_new, total, acc


def queries_for_keys(q, k, v, causal=False, scale=None):
    alike = q.shape == k.shape
    return attention_ref(*((k, q) if alike else (q, k)), v, causal, scale)


def by_programs(tile, top=None, spread=None, added=None):
    """The walk of each program in float32, for heads of one length and square tiles.

    top: the largest scores of a step, of (scores, the same with the mask). spread: m over the rows
    of a tile. added: to l, of p.
    """
    top = top or (lambda bare, s: s.amax(dim=-1))
    spread = spread or (lambda m: m[..., None])
    added = added or (lambda p: p.sum(dim=-1))

    def wrong(q, k, v, causal=False, scale=None):
        if q.shape != k.shape or tile.M != tile.N:
            return attention_ref(q, k, v, causal, scale)
        L, parts = q.shape[2], []
        queries, keys = -(-L // tile.M) * tile.M - L, tile.rounded_up(L) - L
        q = torch.nn.functional.pad(q, (0, 0, 0, queries))
        k, v = (torch.nn.functional.pad(x, (0, 0, 0, keys)).float() for x in (k, v))
        bare = all_scores(q.float(), k, scale)
        last = torch.arange(L + queries)[:, None] if causal else L - 1
        seen = bare.masked_fill(torch.arange(L + keys) > last, NEVER)
        for row in range(0, L, tile.M):
            rows = slice(row, row + tile.M)
            m = torch.full_like(bare[:, :, rows, 0], NEVER)
            total, acc = torch.zeros_like(m), torch.zeros_like(q[:, :, rows], dtype=v.dtype)
            for start in range(0, min(L, row + tile.M) if causal else L, tile.N):
                here = (..., rows, slice(start, start + tile.N))
                m_new = torch.maximum(m, top(bare[here], seen[here]))
                p, alpha = torch.exp(seen[here] - spread(m_new)), torch.exp(m - m_new)
                total = total * alpha + added(p)
                acc = acc * alpha[..., None] + p @ v[:, :, start : start + tile.N]
                m = m_new
            parts.append((acc / total[..., None], m + torch.log(total)))
        o, lse = (torch.cat(part, dim=2)[:, :, :L] for part in zip(*parts, strict=True))
        return o.to(q.dtype), lse

    return wrong


def other_scale(factor):
    """factor: a function of D."""

    def wrong(q, k, v, causal=False, scale=None):
        return attention_ref(q, k, v, causal, scale_of(q, scale) * factor(q.shape[-1]))

    return wrong


def other_arguments(change):
    """change: (q, k, v, causal) to those that attention gets."""
    return lambda q, k, v, causal=False, scale=None: attention_ref(*change(q, k, v, causal), scale)


def other_diagonal(shift, softmax=softmax_of):
    """The causal diagonal in another place. shift: by how many keys, from Lq and Lk."""

    def wrong(q, k, v, causal=False, scale=None):
        return softmax(scores_ref(q, k, causal, scale, shift(q.shape[2], k.shape[2])), v)

    return wrong


def other_lse(change):
    """change: (right lse, m, log of l) to the wrong one."""

    def wrong(q, k, v, causal=False, scale=None):
        o, lse = attention_ref(q, k, v, causal, scale)
        m = scores_ref(q, k, causal, scale).amax(dim=-1)
        return o, change(lse, m, lse - m)

    return wrong


def in_visited_tiles(tile, score, softmax=softmax_of):
    """Among the tiles that a program visits, scores are what score(s, keys, seen) says.

    Past the last key there are rows of zeros up to the end of the tile.
    """

    def wrong(q, k, v, causal=False, scale=None):
        seen, end = keys_seen(q, k, causal)[:, None], walk(q, k, causal, tile).end
        rest = tile.rounded_up(k.shape[2]) - k.shape[2]
        k, v = (torch.nn.functional.pad(x, (0, 0, 0, rest)) for x in (k, v))
        keys = torch.arange(k.shape[2])
        s = score(all_scores(q, k, scale), keys, seen)
        return softmax(s.masked_fill(keys >= tile.rounded_up(end), NEVER), v)

    return wrong


def in_steps(x, row, column):
    """Contiguous heads of x read with other strides; x itself where that would lead past a head."""
    L, D = x.shape[2:]
    at = torch.arange(L)[:, None] * row + torch.arange(D) * column
    return x.flatten(2)[:, :, at] if not at.numel() or int(at.max()) < L * D else x


def counted(tile, times, softmax=softmax_of):
    """Each key counts times(keys, seen, walk of q and k) times: 0, 1, or 2."""

    def wrong(q, k, v, causal=False, scale=None):
        keys, seen = torch.arange(k.shape[2]), keys_seen(q, k, causal)[:, None]
        number = times(keys, seen, lambda **how: walk(q, k, causal, tile, **how))
        return softmax(all_scores(q, k, scale) + torch.log(number.to(q.dtype)), v)

    return wrong


def ends_causally(tile):
    """Without causal too, the walk ends at the last query of the tile."""

    def wrong(q, k, v, causal=False, scale=None):
        end = walk(q, k, True, tile).end
        formula = counted(tile, lambda keys, seen, _: (keys < tile.rounded_up(end)) & (keys < seen))
        return (attention_ref if causal else formula)(q, k, v, causal, scale)

    return wrong


def right_lse(formula):
    """For a mistake that always shows in o, so that it is not blamed for a wrong lse."""
    return lambda *given: (formula(*given)[0], attention_ref(*given)[1])


def with_lse(formula, lse):
    """The o of a formula; lse: a function of the formula's own."""

    def wrong(q, k, v, causal=False, scale=None):
        o, own = formula(q, k, v, causal, scale)
        return o, lse(own)

    return wrong


def method_mistakes(block: int, work=torch.float32) -> Mistakes:
    """The mistakes of the method itself, for a walk over tiles of `block` keys."""
    return {
        "acc-not-rescaled": (
            without("acc", block),
            "When m grows, what is in acc was weighted with the old m: multiply it by "
            "exp(m_old - m_new).",
        ),
        "sum-not-rescaled": (
            without("l", block),
            "When m grows, l was summed with the old m: multiply it by exp(m_old - m_new).",
        ),
        "nothing-rescaled": (
            without("both", block),
            "Neither l nor acc is rescaled. Is m overwritten before the factor exp(m_old - m_new) "
            "is computed? Then the factor is always 1.",
        ),
        "maximum-of-the-tile": (
            without("running", block, work),
            "The factor overflows where a tile has smaller scores than the one before it. m is the "
            "largest score so far, not that of this tile: take the maximum with the old m.",
        ),
        "m-starts-at-zero": (
            without("start", block, work),
            "m starts at a number (0?), as if such a score had been seen. Where all scores are far "
            "below it, all exponentials are 0. The largest of no scores is minus infinity.",
        ),
        "no-maximum": (
            without("maximum", block, work),
            "An exponential overflows where scores are large. Is the running maximum subtracted in "
            "each: exp(s - m_new) for the weights, exp(m_old - m_new) for the factor?",
        ),
        "weights-without-maximum": (
            without("p", block, work),
            "The weights exp(s) lack the maximum that the factor uses: exp(s - m_new).",
        ),
        "not-divided": (without("division", block), "The result is not divided by the sum l."),
        "multiplied-by-the-sum": (
            without("product", block),
            "The result is multiplied by the sum l. Divide by it.",
        ),
        "nothing-summed": (
            right_lse(without("sum", block)),
            "l is 0 at the end, and the result is divided by it. Each tile adds the sum of its "
            "weights p to l. The factor, 0 in the first tile, is for what was there before.",
        ),
        "sum-starts-again": (
            without("new l", block),
            "l holds the sum of the last tile alone: add to what was there, times the factor.",
        ),
        "acc-starts-again": (
            without("new acc", block),
            "acc holds what the last tile adds, alone: add to what was there, times the factor.",
        ),
        "sum-counted-twice": (
            without("l twice", block),
            "The old l is added twice, once with the factor and once without (`+=`).",
        ),
        "acc-counted-twice": (
            without("acc twice", block),
            "The old acc is added twice, once with the factor and once without (`+=`).",
        ),
        "maximum-added": (
            without("sign", block, work),
            "The weights are exp(s + m_new). The maximum is subtracted: exp(s - m_new).",
        ),
        "divided-in-every-tile": (
            without("each", block),
            "acc is divided by l in every tile. Divide once, after the last one.",
        ),
        "scale-missing": (
            other_scale(lambda D: D**0.5),
            "The scores are not multiplied by the scale, 1 / sqrt(D).",
        ),
        "scale-upside-down": (
            other_scale(lambda D: D),
            "The scores are multiplied by sqrt(D). The scale is one over it.",
        ),
        "scale-twice": (
            other_scale(lambda D: D**-0.5),
            "The scores are multiplied by the scale twice.",
        ),
    }


def kernel_mistakes(tile: Tile, empty=careless_softmax_of, start=NEVER) -> Mistakes:
    """The method's, and those of units, masks, addresses and lse, for programs that take `tile`.

    empty: what a query comes to that sees nothing. start: of m.
    """
    found = (
        _less_than_masked(tile)
        | method_mistakes(tile.N)
        | _units(tile)
        | _masks(tile, empty)
        | _walks(tile, empty, start)
    )
    return found | _INPUTS | _LSE


def _less_than_masked(tile: Tile) -> Mistakes:
    """It comes first: where scores are DEEP, the wrong sides of a mask give the same."""
    return {
        "too-little-taken-off": (
            in_visited_tiles(tile, lambda s, keys, seen: torch.where(keys < seen, s, s - 1e6)),
            "A number is taken off the scores that a query must not see, and with it they may "
            "still be the largest. Put minus infinity in their place.",
        ),
    }


def _units(tile: Tile) -> Mistakes:
    return {
        "log2e-missing": (
            other_scale(lambda D: LN_2),
            "exp2 was given natural scores. The scale must include log2(e).",
        ),
        "log2e-twice": (
            other_scale(lambda D: LOG2_E),
            "log2(e) counts twice: in the scale, and in an exp that is not exp2 or in a second "
            "factor.",
        ),
        "no-scale-at-all": (
            other_scale(lambda D: D**0.5 * LN_2),
            "The bare product of q and k goes into exp2. Multiply it by log2(e) / sqrt(D).",
        ),
        "factor-in-another-base": (
            without("base", tile.N),
            "The factor for l and acc is to base e, and m is in base 2: both exponentials have to "
            "be exp2.",
        ),
        "maximum-in-other-units": (
            without("units", tile.N),
            "m is the largest bare product of q and k, and is subtracted from scaled scores: the "
            "weights become 0, or infinite. Scale it too.",
        ),
    }


def _masks(tile: Tile, empty: Callable) -> Mistakes:
    return {
        "causal-ignored": (
            other_arguments(lambda q, k, v, causal: (q, k, v, False)),
            "Queries see keys that come after them: causal is ignored.",
        ),
        "always-causal": (
            other_arguments(lambda q, k, v, causal: (q, k, v, True)),
            "With causal=False a query sees all keys. Here it sees those up to its own.",
        ),
        "last-key-missing": (
            in_visited_tiles(
                tile, lambda s, keys, seen: s.masked_fill(keys >= seen - 1, NEVER), empty
            ),
            "Each query misses the last key that it should see: its own position counts, and "
            "without causal so does the last key of all.",
        ),
        "causal-strict": (
            other_diagonal(lambda Lq, Lk: -1, empty),
            "The diagonal is one key too far to the left: a query may see its own position.",
        ),
        "causal-one-too-far": (
            in_visited_tiles(tile, lambda s, keys, seen: s.masked_fill(keys >= seen + 1, NEVER)),
            "The limit is one key too far to the right: a query sees its own position and those "
            "before it, and past the last key there is none.",
        ),
        "mask-upside-down": (
            in_visited_tiles(tile, lambda s, keys, seen: s.masked_fill(keys < seen - 1, NEVER)),
            "The mask is upside down: queries see the keys from their last one on, not those up to "
            "it.",
        ),
        "score-zero": (
            in_visited_tiles(tile, lambda s, keys, seen: torch.where(keys < seen, s, 0.0)),
            "Scores that a query must not see take part in the softmax: they are 0 (exp(0) is 1), "
            "or another number that is not far below the others. They have to be minus infinity.",
        ),
        "no-mask-on-scores": (
            in_visited_tiles(tile, lambda s, keys, seen: s),
            "In the tiles that a program visits, its queries see all keys, those after their own "
            "and those past the last one too. Is there a mask on the scores, and does it compare "
            "the keys' positions with the queries'?",
        ),
        "no-diagonal-mask": (
            counted(tile, lambda keys, seen, walk: keys < tile.rounded_up(walk().end)),
            "In the tile at the diagonal, queries see the keys after them: the mask covers the end "
            "of the keys only.",
        ),
    }


def _walks(tile: Tile, empty: Callable, start: float) -> Mistakes:
    last_tile = counted(
        tile, lambda keys, seen, walk: (keys >= (walk().end - 1) // tile.N * tile.N) & (keys < seen)
    )
    return {
        "last-tile-only": (
            last_tile,
            "Only the last tile of the walk counts. Do l and acc start again with each tile, or "
            "does the walk begin at the program's own queries, not at key 0?",
        ),
        "maximum-not-kept": (
            with_lse(last_tile, lambda lse: torch.full_like(lse, start * LN_2)),
            "m_i stays what it was at the start, so the factor is always 0 and the last tile alone "
            "counts. Keep the new maximum at the end of the loop.",
        ),
        "walk-ends-before-the-diagonal": (
            counted(
                tile,
                lambda keys, seen, walk: (keys < walk().full) & (keys < seen),
                empty,
            ),
            "The keys of the tile that holds the diagonal, or of the last one, never take part: "
            "either the walk ends before it, or its mask shuts them out. Row i sees i + 1 + Lk - "
            "Lq keys.",
        ),
        "walk-ends-at-the-first-query": (
            counted(
                tile,
                lambda keys, seen, walk: (keys < tile.rounded_up(walk().first)) & (keys < seen),
            ),
            "The walk of a program ends where its first query ends. Its last query sees the most "
            "keys.",
        ),
        "first-tile-only": (
            counted(tile, lambda keys, seen, walk: (keys < tile.N) & (keys < seen), empty),
            "Only the keys of the first tile take part. Does each step take its own, from `start` "
            "on? And is `end` a number of keys, that of the tile's last query?",
        ),
        "start-counts-steps": (
            counted(
                tile,
                lambda keys, seen, walk: (
                    times_visited(keys, -(-walk().end // tile.N), tile.N) * (keys < seen)
                ),
            ),
            "`start` counts 0, 1, 2 ... up to the number of tiles, so the tiles overlap. It is a "
            "number of keys: range(0, end, BLOCK_N).",
        ),
        "start-in-steps-of-one": (
            counted(
                tile,
                lambda keys, seen, walk: times_visited(keys, walk().end, tile.N) * (keys < seen),
            ),
            "Each step of the walk goes on by one key, so the tiles overlap: range(0, end, "
            "BLOCK_N).",
        ),
        "start-in-steps-of-queries": (
            counted(tile, lambda keys, seen, walk: (keys % tile.M < tile.N) & (keys < seen)),
            "The walk goes on by BLOCK_M keys, and a tile holds BLOCK_N of them: some keys are "
            "left out.",
        ),
        "walk-ends-causally": (
            ends_causally(tile),
            "Without causal the walk goes on to the last key. Here it ends at the tile's last "
            "query.",
        ),
        "first-tile-always": (
            other_arguments(
                lambda q, k, v, causal: (
                    q,
                    *(x[:, :, torch.arange(x.shape[2]) % tile.N] for x in (k, v)),
                    causal,
                )
            ),
            "Every step of the walk reads the first tile of K and V. Its rows begin at `start`.",
        ),
    } | _axes(tile)


def times_visited(keys, starts, width):
    """How many of the tiles that begin at 0, 1, ... starts - 1 hold each key."""
    return (torch.minimum(keys, starts - 1) - (keys - width).clamp(min=-1)).clamp(min=0)


def _axes(tile: Tile) -> Mistakes:
    def along_queries(bare, s):
        return s.amax(dim=-2)

    return {
        "sum-along-queries": (
            by_programs(tile, added=lambda p: p.sum(dim=-2)),
            "l is summed along the queries. It is a sum over keys: axis=1.",
        ),
        "maximum-along-queries": (
            by_programs(tile, along_queries),
            "The maximum runs along the queries. It runs over keys: axis=1.",
        ),
        "reduced-along-queries": (
            by_programs(tile, along_queries, added=lambda p: p.sum(dim=-2)),
            "Maximum and sum run along the queries. Both run over keys: axis=1.",
        ),
        "sum-of-the-whole-tile": (
            by_programs(tile, added=lambda p: p.sum(dim=(-2, -1))[..., None]),
            "l adds the weights of all queries of the tile. Each query has a sum of its own: "
            "axis=1.",
        ),
        "maximum-of-the-whole-tile": (
            by_programs(tile, lambda bare, s: s.amax(dim=(-2, -1))[..., None]),
            "The maximum is one number for the whole tile, and the weights of a query whose scores "
            "are far smaller are all 0. Each query has its own: axis=1.",
        ),
        "maximum-of-another-query": (
            by_programs(tile, spread=lambda m: m[..., None, :]),
            "m_new[None, :] lays the maxima along the keys. Each belongs to a query, a row of the "
            "tile: m_new[:, None].",
        ),
        "maximum-before-the-mask": (
            by_programs(tile, lambda bare, s: bare.amax(dim=-1)),
            "The maximum is taken before the mask: where a score that a query must not see is far "
            "larger, all its weights are 0. Mask first.",
        ),
    }


_INPUTS: Mistakes = {
    "keys-for-values": (
        lambda q, k, v, causal=False, scale=None: (
            attention_ref(q, k, k, causal, scale)[0],
            attention_ref(q, k, v, causal, scale)[1],
        ),
        "The weights are right, and what they weight is K instead of V.",
    ),
    "values-for-keys": (
        other_arguments(lambda q, k, v, causal: (q, v, k, causal)),
        "K and V are swapped. Compare the order of the arguments in the launch with that in the "
        "kernel.",
    ),
    "queries-and-keys-swapped": (
        queries_for_keys,
        "Q and K are swapped. Compare the order of the arguments in the launch with that in the "
        "kernel.",
    ),
    "first-head-only": (
        other_arguments(
            lambda q, k, v, causal: (
                q,
                *(x[:1, :1].expand(q.shape[0], x.shape[1], -1, -1) for x in (k, v)),
                causal,
            )
        ),
        "All heads read the keys and values of the first one: k and v begin at the program's own "
        "head.",
    ),
}

_LSE: Mistakes = {
    "lse-in-base-2": (
        other_lse(lambda lse, m, log_l: lse * LOG2_E),
        "lse is in base 2. Multiply by ln(2).",
    ),
    "lse-without-sum": (
        other_lse(lambda lse, m, log_l: m),
        "lse is the maximum alone. The log of the sum is missing.",
    ),
    "lse-maximum-in-base-2": (
        other_lse(lambda lse, m, log_l: m * LOG2_E),
        "lse is the maximum alone, in base 2. The log of the sum is missing, and then ln(2).",
    ),
    "lse-without-max": (
        other_lse(lambda lse, m, log_l: log_l),
        "lse is the log of the sum alone. The maximum is missing.",
    ),
    "lse-of-mixed-bases": (
        other_lse(lambda lse, m, log_l: m * LOG2_E + log_l),
        "lse adds m in base 2 to a natural log of l. Bring both to one base: (m + log2(l)) * "
        "ln(2).",
    ),
    "lse-log-scaled-twice": (
        other_lse(lambda lse, m, log_l: m + log_l * LN_2),
        "lse is (m + log(l)) * ln(2): m is in base 2, the log is natural. Use tl.log2(l).",
    ),
    "lse-log2-of-the-sum": (
        other_lse(lambda lse, m, log_l: m + log_l * LOG2_E),
        "lse adds a natural m to log2(l). Bring both to one base.",
    ),
    "lse-divided-by-ln2": (
        other_lse(lambda lse, m, log_l: lse * LOG2_E**2),
        "lse is divided by ln(2) where it should be multiplied by it.",
    ),
    "lse-without-logarithm": (
        other_lse(lambda lse, m, log_l: m + torch.exp(log_l)),
        "lse is m + l: the logarithm of l is missing.",
    ),
    "lse-log-subtracted": (
        other_lse(lambda lse, m, log_l: m - log_l),
        "lse is m minus the log of l. It is their sum.",
    ),
    "lse-is-the-sum": (
        other_lse(lambda lse, m, log_l: torch.exp(log_l)),
        "lse holds l, the sum itself. It is m plus the log of l.",
    ),
    "lse-heads-behind-tokens": (
        other_lse(lambda lse, m, log_l: lse.transpose(1, 2).contiguous().view(lse.shape)),
        "The numbers of lse are right and lie in another order. Query i of head h (counted over "
        "all batches) has element h * L + i.",
    ),
}
