"""What the checks of 50_split_kv_decode try: cases, references, mistakes that have a name."""

import dataclasses
import math

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, derive_tolerance, tensor

from ..shared.attention import all_scores, attention_ref, method_mistakes, shared, softmax_of
from .page import paged_decode_ref, scaled_dot_product_attention

INFINITY = float("inf")
NEVER = 1e30  # no answer holds it: where a mistake would read what is unknown


# --- merge_states


def merge_ref(parts, lses, dtype):
    return torch.einsum("rs,rsd->rd", torch.softmax(lses, -1), parts).to(dtype)


def merge_case(note, R, S, D, dtype=torch.float32, empty=(), **lses):
    """empty: (row, piece) pairs without a key: zeros, and an lse of minus infinity."""

    def states(generator, shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        for row, piece in empty:
            drawn[row, piece] = 0
        return drawn

    return case(
        note,
        parts=tensor(R, S, D, dtype="float32", values=states),
        lses=tensor(R, S, dtype="float32", planted=dict.fromkeys(empty, -INFINITY), **lses),
        out=dtype,
    )


def the_third_alone(generator, shape):
    """Numbers below what a careless minus infinity is: the largest counts alone."""
    lses = torch.full(shape, -2e30, dtype=torch.float64)
    lses[:, 2] = -1e30
    return lses


def merged_by(weights):
    return lambda parts, lses, dtype: torch.einsum("rs,rsd->rd", weights(lses), parts).to(dtype)


def padded_weights(lses):
    """Masked lanes took part in the softmax with an lse of 0."""
    S = lses.shape[1]
    wide = 1 << (S - 1).bit_length()
    return torch.nn.functional.pad(lses, (0, wide - S)).softmax(-1)[:, :S]


def around_the_mean(lses):
    """The softmax, with the mean subtracted in place of the maximum."""
    e = torch.exp(lses - lses.mean(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def of_the_first_row(parts, lses, dtype):
    """The mask counts through all rows: it lets pieces of row 0 pass alone."""
    R, S = lses.shape
    rows = torch.arange(R * S).view(R, S)
    return merge_ref(parts, lses.masked_fill(rows >= S, -INFINITY), dtype)


def parts_apart(step):
    """A mistake: parts begin step(S) elements apart."""

    def wrong(parts, lses, dtype):
        R, S, D = parts.shape
        begins = torch.arange(R * S)[:, None] * step(S) + torch.arange(D)
        found = parts.flatten()[begins.clamp_max(R * S * D - 1)].view(R, S, D)
        return merge_ref(found, lses, dtype)

    return wrong


MERGES = [
    merge_case("four pieces", 3, 4, 16),
    merge_case("five pieces, the tile has eight", 4, 5, 32),
    merge_case("very different lse", 3, 6, 16, scale=8.0),
    merge_case("lse around 120: exponentials overflow", 3, 3, 16, mean=120.0),
    merge_case("lse around -150: exponentials vanish", 3, 3, 16, mean=-150.0),
    merge_case("lse of -2e30, but for one", 2, 5, 16, values=the_third_alone),
    merge_case("empty pieces", 2, 4, 16, empty=((0, 0), (1, 2), (1, 3))),
    merge_case("one piece", 2, 1, 64),
    merge_case("result in half precision", 2, 3, 32, dtype=torch.float16),
    case(
        "lses of another shape",
        parts=tensor(2, 3, 16, dtype="float32"),
        lses=tensor(2, 4, dtype="float32"),
        out=torch.float32,
        raises=ValueError,
    ),
]

HIDDEN_MERGES = [
    merge_case("33 pieces", 2, 33, 128, scale=4.0),
    merge_case("bfloat16", 3, 7, 64, dtype=torch.bfloat16, mean=30.0),
    merge_case("first piece empty", 2, 5, 16, empty=((0, 0), (1, 0))),
    merge_case("one row", 1, 9, 32, mean=100.0, scale=3.0),
]


def of_states(dtype):
    """A weight may be e^(lse - total), with the total's lse rounded to float32: half a step of it
    is |total| / 2^24 at most, and |total| is below 160 here."""
    whole = derive_tolerance(dtype, 8)
    return dataclasses.replace(
        whole,
        relative=whole.relative + 160 * 2.0**-24,
        because=f"{whole.because}, a float32 rounding of an lse up to 160",
    )


def started_at(number):
    """A mistake: the maximum starts at a number."""

    def weights(lses):
        e = torch.exp(lses - lses.amax(-1, keepdim=True).clamp_min(number))
        return e / e.sum(-1, keepdim=True)

    return merged_by(weights)


MERGE_MISTAKES = {
    "starts-too-high": (
        started_at(-1e9),
        "The maximum starts at a number that is above all lse of a row, and all exponentials are "
        "0. Start at minus infinity.",
    ),
    "infinity-subtracted": (
        merged_by(around_the_mean),
        "What is subtracted is infinite where a piece is empty. Subtract the maximum of the lse.",
    ),
    "mean-of-pieces": (
        merged_by(lambda lses: torch.full_like(lses, 1 / lses.shape[1])),
        "This is the mean of the pieces. Each counts by its share of the whole sum, e to its lse.",
    ),
    "not-normalised": (
        merged_by(lambda lses: torch.exp(lses - lses.amax(-1, keepdim=True))),
        "The weights are not divided by their sum.",
    ),
    "weights-are-lses": (
        merged_by(lambda lses: lses / lses.sum(-1, keepdim=True)),
        "The weights are the lse themselves. Their exponentials count.",
    ),
    "maximum-not-subtracted": (
        lambda parts, lses, dtype: merged_by(
            lambda lses: torch.exp(lses.float()) / torch.exp(lses.float()).sum(-1, keepdim=True)
        )(parts.float(), lses, dtype),
        "Exponentials overflow or vanish. Is the maximum of the lse subtracted, and is it that of "
        "the pieces alone? What masked lanes hold (`other=`) must not count in it.",
    ),
    "padding-counted": (
        merged_by(padded_weights),
        "Masked lanes took part. The lse of nothing is minus infinity: that is their `other=`.",
    ),
    "masked-by-rows": (
        of_the_first_row,
        "The mask compares `rows`, which count through all rows, with S. A piece is `offs_s`.",
    ),
    "parts-s-apart": (
        parts_apart(lambda S: S),
        "Parts were looked for S elements apart. Each has D.",
    ),
    "parts-one-apart": (
        parts_apart(lambda S: 1),
        "Parts were looked for one element apart. Each has D.",
    ),
    "one-sum-for-all-columns": (
        lambda parts, lses, dtype: (
            merge_ref(parts, lses, dtype).sum(1, keepdim=True).expand(-1, parts.shape[2])
        ),
        "All columns of a row hold one sum. Sum along the pieces alone: `axis=0`.",
    ),
    "base-two": (
        merged_by(lambda lses: torch.softmax(lses * 0.6931471805599453, -1)),
        "The weights have base 2. An lse in natural logarithms goes with `tl.exp`.",
    ),
    "logarithms-of-weights": (
        merged_by(lambda lses: lses.log_softmax(-1)),
        "These are the logarithms of the weights. Take `tl.exp` of them.",
    ),
    "of-minus-lse": (
        merged_by(lambda lses: torch.softmax(-lses, -1)),
        "Pieces with a small lse count most: a sign is turned round.",
    ),
    "sum-of-pieces": (
        lambda parts, lses, dtype: parts.sum(1).to(dtype),
        "This is the sum of the pieces, without weights.",
    ),
}


# --- paged_decode: caches whose free slots hold what is no number


def paged_case(note, lengths, H, HK, D, PAGE, pieces=2, spare=2, dtype="float32", scale=1.0, **how):
    """Sequences of `lengths` tokens in a cache with `spare` pages that nobody owns.

    columns: of the table, beyond the longest sequence; entries without a page are 2**30. free: what
    a slot without a token holds, else large numbers. first: a factor for the first 20 tokens;
    first_head: for the first query of each sequence. negative: all scores are far below 0.
    pages_apart: the table names so many entries more than it needs, all of them pages.
    """
    B, width = len(lengths), -(-max(lengths) // PAGE) + how.get("columns", 0)
    width += how.get("pages_apart", 0)
    owned = [-(-length // PAGE) for length in lengths]
    total = sum(owned) + spare
    order = torch.randperm(total, generator=torch.Generator().manual_seed(total))
    table, at = torch.full((B, width), 2**30), 0
    for b, count in enumerate(owned):
        table[b, :count] = order[at : at + count]
        at += count
    if how.get("pages_apart"):
        table = torch.where(table < 2**30, table, (5 * torch.arange(width) + 3) % total)

    def queries(generator, shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        drawn = drawn.abs() if how.get("negative") else drawn
        drawn[:, 0] *= how.get("first_head", 1.0)
        return drawn

    def slots(generator, shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
        drawn = -drawn.abs() if how.get("negative") else drawn
        drawn = -scale + drawn / scale if how.get("nearly") else drawn
        filled = 5 * drawn if "free" not in how else torch.full_like(drawn, how["free"])
        for b, length in enumerate(lengths):
            token = torch.arange(length)
            page, slot = table[b, token // PAGE], token % PAGE
            factor = torch.where(token < 20, how.get("first", 1.0), 1.0)
            filled[page, slot] = drawn[page, slot] * factor[:, None, None]
        return filled

    return case(
        note,
        q=tensor(B, H, D, values=queries),
        k_cache=tensor(total, PAGE, HK, D, values=slots),
        v_cache=tensor(total, PAGE, HK, D, values=slots),
        table=tensor(B, width, dtype="int32", values=lambda *_: table),
        lengths=tensor(B, dtype="int32", planted=dict(enumerate(lengths)), values="zeros"),
        options={"pieces": pieces},
        dtype=dtype,
    )


DECODES = [
    # first, with room in the table for mistakes that would leave it
    paged_case("three pages of a table of twelve", [11], 2, 1, 16, 4, 1, spare=29, pages_apart=9),
    paged_case("one page, one piece", [16], 2, 2, 16, 16, pieces=1),
    paged_case("pages in any order", [32], 2, 1, 16, 8, pieces=1),
    paged_case("two key heads, a last page that is not full", [29], 4, 2, 32, 16, pieces=1),
    paged_case("free slots are not numbers", [21], 2, 1, 16, 16, pieces=1, free=float("nan")),
    paged_case("more keys than one tile has", [48], 2, 1, 16, 16, pieces=1, spare=3),
    paged_case("two pieces", [110], 4, 2, 16, 16),
    paged_case("sequences of different lengths", [81, 3, 130], 4, 2, 16, 8, pieces=3),
    paged_case("pages of 5 tokens", [90], 2, 1, 16, 5, pieces=1),
    paged_case("more pieces than tokens", [2, 5], 2, 1, 16, 4, pieces=4),
    # page 0, which masked lanes read where the table is masked, belongs to nobody
    paged_case(
        "two pieces, free slots are not numbers", [101], 2, 1, 16, 16, spare=1, free=float("nan")
    ),
    paged_case("large keys first, then small ones", [100], 2, 1, 16, 16, pieces=1, first=100.0),
    paged_case("keys so large that exponentials overflow", [140], 2, 1, 16, 16, scale=60.0),
    paged_case(
        "all scores far below zero", [134], 2, 1, 16, 16, scale=200.0, negative=True, first=0.8
    ),
    paged_case(
        "scores below any number", [40], 2, 1, 16, 16, scale=1e12, negative=True, nearly=True
    ),
    paged_case("one head with large scores", [40], 3, 1, 16, 16, first_head=400.0),
    paged_case("half precision", [150], 4, 1, 32, 16, dtype="float16"),
    paged_case("large scores, float16", [160], 2, 1, 64, 16, 1, dtype="float16", first_head=12.0),
    paged_case("scores that compete", [300], 2, 1, 128, 16, 1, dtype="float16", first_head=30.0),
    paged_case("large scores, bfloat16", [160], 2, 1, 64, 16, 1, dtype="bfloat16", first_head=12.0),
    case(
        "heads that cannot be shared",
        q=tensor(1, 3, 16),
        k_cache=tensor(2, 16, 2, 16),
        v_cache=tensor(2, 16, 2, 16),
        table=tensor(1, 2, dtype="int32", values="zeros"),
        lengths=tensor(1, dtype="int32", values="ones"),
        raises=ValueError,
    ),
]

HIDDEN_DECODES = [
    paged_case("sixteen heads share one", [133], 16, 1, 64, 16, pieces=3),
    paged_case("pages of 7", [163, 21], 6, 3, 16, 7, pieces=2),
    paged_case("a wide table", [30, 12], 4, 2, 16, 8, pieces=5, columns=3),
    paged_case("large keys in half precision", [260], 2, 2, 64, 16, dtype="float16", scale=5.0),
    paged_case("bfloat16, one token", [1, 40], 4, 2, 128, 16, dtype="bfloat16"),
    paged_case("the number of pieces left open", [20], 2, 1, 16, 16, pieces=None),
]


def changed(**how):
    """The reference with arguments replaced; pages that are none hold what is no number."""

    def wrong(q, k_cache, v_cache, table, lengths):
        given = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "table": table, "lengths": lengths}
        given |= {name: new(given) for name, new in how.items()}
        given["table"] = given["table"].clamp_max(len(k_cache))
        for name in "k_cache", "v_cache":
            none = torch.full_like(given[name][:1], torch.nan)
            given[name] = torch.cat([given[name], none])
        return paged_decode_ref(**given).nan_to_num(NEVER)

    return wrong


def every_length(change):
    return changed(lengths=lambda g: change(g["lengths"]).clamp_min(1))


def one_more(given):
    """A token more in each sequence, where the table has room for it."""
    room = given["table"].shape[1] * given["k_cache"].shape[1]
    return (given["lengths"] + 1).clamp_max(room)


def heads_in_turn(q, k_cache, v_cache, table, lengths):
    """Query head h with key head h % HK."""
    H, HK = q.shape[1], k_cache.shape[2]
    order = [h for k in range(HK) for h in range(k, H, HK)]
    back = torch.tensor(order).argsort()
    return paged_decode_ref(q[:, order], k_cache, v_cache, table, lengths)[:, back].nan_to_num(
        NEVER
    )


def pages_in_order(given):
    """The table not used: page i of a sequence is page i of the cache."""
    return torch.arange(given["table"].shape[1]).expand(given["table"].shape).clone()


BLOCK_N = 32  # of float32, on the page


def addressed(begin):
    """A mistake in the offsets: begin(page, p, head, b, PAGE, HK, D) is where a token's numbers
    begin, p its position. What lies outside the cache is no number."""

    def wrong(q, k_cache, v_cache, table, lengths):
        _, PAGE, HK, D = k_cache.shape
        outs = []
        for b, length in enumerate(lengths.tolist()):
            p = torch.arange(length)[:, None]
            page, head = table[b, p // PAGE].long(), torch.arange(HK)
            places = {"of_tile": p % BLOCK_N, "entries": table[b], "GROUP": q.shape[1] // HK}
            first = begin(page=page, p=p, head=head, b=b, PAGE=PAGE, HK=HK, D=D, **places)
            at = first.expand(length, HK)[..., None] + torch.arange(D)
            inside = at < k_cache.numel()
            at = at.clamp_max(k_cache.numel() - 1)
            k, v = (
                cache.flatten()[at].where(inside, torch.nan).transpose(0, 1)
                for cache in (k_cache, v_cache)
            )
            outs.append(scaled_dot_product_attention(q[b].view(HK, -1, D), k, v))
        return torch.stack(outs).view(q.shape).nan_to_num(NEVER)

    return wrong


def walked(formula):
    """A mistake in the walk over a piece: formula(q, k, v), as on page 41, gives o and lse of each
    piece, which are merged.
    """

    def wrong(q, k_cache, v_cache, table, lengths, *, pieces=None):
        PAGE, D = k_cache.shape[1], q.shape[2]
        outs = []
        for b, length in enumerate(lengths.tolist()):
            p = torch.arange(length)
            k, v = (
                cache[table[b, p // PAGE].long(), p % PAGE].transpose(0, 1)[None]
                for cache in (k_cache, v_cache)
            )
            of_pieces = [p[p // BLOCK_N % (pieces or 1) == piece] for piece in range(pieces or 1)]
            states = [
                formula(q[b][None, :, None], k[:, :, mine], v[:, :, mine])
                for mine in of_pieces
                if len(mine)
            ]
            parts, lses = (torch.stack(side, -1)[0].double() for side in zip(*states, strict=True))
            outs.append((parts[:, 0] * lses.softmax(-1)).sum(-1).view(-1, D))
        return torch.stack(outs).view(q.shape)

    return wrong


def free_slots_counted(q, k_cache, v_cache, table, lengths):
    """0 times what is no number, where a free slot holds that."""
    right = paged_decode_ref(q, k_cache, v_cache, table, lengths)
    return right * torch.nan if v_cache.isnan().any() else right


def looked_up(page_of, slot_of=lambda p, **_: p):
    """A mistake in which entry of the table, PAGE positions each, or which slot: functions of the
    position p and of its number in the tile, of_tile."""

    def begin(entries, head, PAGE, HK, D, **places):
        at = page_of(PAGE=PAGE, **places) // PAGE
        page = entries[at.clamp_max(len(entries) - 1)].long()
        return ((page * PAGE + slot_of(**places) % PAGE) * HK + head) * D

    return addressed(begin)


def masked_keys(most):
    """At most so many keys past the end count, with scores of 0, to the tile's end."""

    def formula(q, k, v):
        more = min(most, -k.shape[2] % BLOCK_N)
        return attention_ref(q, *(torch.nn.functional.pad(x, (0, 0, 0, more)) for x in (k, v)))

    return formula


def maximum_of_more(top_of):
    """The maximum also of lanes or rows that are nothing, whose scores are 0, in float32."""
    return lambda q, k, v: below(top_of(all_scores(q, k)), q, k, v)


def below(top, q, k, v):
    """o and lse with `top` for the maximum."""
    s = all_scores(q, k)
    p = torch.exp((s - top[..., None]).float())
    total = p.sum(-1)
    o = p @ shared(v, s.shape[1]).float() / torch.where(total > 0, total, 1.0)[..., None]
    return o.double(), top + total.log()


def of_masked_keys(s):
    """Each row's maximum, and 0 where a piece ends within a tile."""
    top = s.amax(-1)
    return top.clamp_min(0) if s.shape[-1] % BLOCK_N else top


def of_all_rows(s):
    return s.amax().clamp_min(0).expand(s.shape[:-1])


def unscaled_in_lse(q, k, v):
    """m_i in scores that are not scaled, which p and the factor scale."""
    s = all_scores(q, k)
    o, lse = softmax_of(s, v)
    m = s.amax(-1)
    return o, lse - m + m * q.shape[-1] ** 0.5


def by_tiles(base, new_acc):
    """A walk over tiles with another base of the factor, or new_acc(acc, alpha, p @ v) for acc."""

    def formula(q, k, v):
        s, v = all_scores(q, k), shared(v, q.shape[1])
        m, l, acc = -1e38, 0.0, 0.0
        for start in range(0, s.shape[-1], BLOCK_N):
            now = s[..., start : start + BLOCK_N]
            m_new = now.amax(-1, keepdim=True).clamp_min(m)
            alpha, p = base ** (m - m_new), torch.exp(now - m_new)
            l = l * alpha + p.sum(-1, keepdim=True)
            acc, m = new_acc(acc, alpha, p @ v[:, :, start : start + BLOCK_N]), m_new
        return acc / l, (m + torch.log(l))[..., 0]

    return formula


def in_base_two(q, k, v):
    """exp2 for exp in the walk, and a natural logarithm after it."""
    s = all_scores(q, k)
    m, base = s.amax(-1), 0.6931471805599453
    o, lse = softmax_of(s * base, v)
    return o, m + lse - m * base


def mixed_bases(q, k, v):
    """All of page 41's walk in powers of 2, and a natural logarithm after it."""
    o, lse = attention_ref(q, k, v)
    m = all_scores(q, k).amax(-1)
    return o, lse - m + m * 1.4426950408889634


def last_tile_alone(q, k, v):
    """m stays -1e38: the next factor is 0, and lse is -1e38 whatever l is."""
    first = (k.shape[2] - 1) // BLOCK_N * BLOCK_N
    o, lse = attention_ref(q, k[:, :, first:], v[:, :, first:])
    return o, torch.full_like(lse, -1e38)


# Before the others: where every score is far below 0, a result of NaN has several causes.
MAXIMUM_MISTAKES = {
    "maximum-of-more": (
        walked(maximum_of_more(of_all_rows)),
        "The maximum is too large where all scores are far below 0. It is that of one row, over "
        "its keys: make masked scores minus infinity first, then `tl.max(s, axis=1)`.",
    ),
    "maximum-before-the-mask": (
        walked(maximum_of_more(of_masked_keys)),
        "Masked positions count in the maximum, with scores of 0. Make masked scores minus "
        "infinity first, then take the maximum.",
    ),
}

WALK_MISTAKES = {
    code: (walked(formula), sentence)
    for code, (formula, sentence) in method_mistakes(BLOCK_N).items()
    if not code.startswith(("scale", "m-starts", "not-divided", "multiplied"))
} | {
    "maximum-never-kept": (
        walked(last_tile_alone),
        "m_i stays -1e38, so the next factor, exp(m_i - m_new), is 0. Keep the new maximum at the "
        "end of the loop.",
    ),
    "masked-keys-count": (
        walked(masked_keys(BLOCK_N)),
        "Positions from `length` on count. Their score is minus infinity: no real score is below "
        "it.",
    ),
    "position-length-counts": (
        walked(masked_keys(1)),
        "Position `length` counts, with a score of 0. The last one is `length` - 1.",
    ),
    "factor-on-the-new-acc": (
        walked(by_tiles(math.e, lambda acc, alpha, more: (acc + more) * alpha)),
        "The factor meets what this tile adds to acc. It belongs to the old acc alone.",
    ),
    "unscaled-in-lse": (
        walked(unscaled_in_lse),
        "Each piece is right, and its lse is not: m_i is in scores without qk_scale. Scale s at "
        "once, before the maximum.",
    ),
    "factor-in-base-two": (
        walked(by_tiles(2.0, lambda acc, alpha, more: acc * alpha + more)),
        "The factor alpha has base 2, and p has not. Natural exponentials in both: `tl.exp`.",
    ),
    "base-two": (
        walked(in_base_two),
        "The weights have base 2. Natural exponentials are asked for: `tl.exp`.",
    ),
    "lse-of-mixed-bases": (
        walked(mixed_bases),
        "Each piece is right, and its lse is not: m_i is in powers of 2, and what is given adds a "
        "natural logarithm. Natural exponentials: `tl.exp`, and no log2(e).",
    ),
}

DECODE_MISTAKES = {
    **MAXIMUM_MISTAKES,
    **WALK_MISTAKES,
    "nan": (
        free_slots_counted,
        "Does an exponential overflow? p is exp(s - m_new), the factor exp(m_i - m_new). Is l_i 0 "
        "at the end? The factor belongs to the old l_i alone. Or is a free slot read, which may "
        "hold NaN, and 0 · NaN is NaN? Mask the load of v (`other=0.0`) and the scores.",
    ),
    "slot-forgotten": (
        addressed(lambda page, head, PAGE, HK, D, **_: (page * PAGE * HK + head) * D),
        "Only the first slot of a page counts. Is the remainder, `offs_n % PAGE`, in the address? "
        "Or does a mask hide the other positions?",
    ),
    "position-for-slot": (
        addressed(lambda page, p, head, PAGE, HK, D, **_: ((page * PAGE + p) * HK + head) * D),
        "A slot lies past its page's end. It is the remainder, `offs_n % PAGE`.",
    ),
    "page-of-the-tile": (
        looked_up(lambda p, of_tile, **_: p - of_tile),
        "All positions of a tile were read from one page. Each position has a page of its own: "
        "entry `offs_n // PAGE` of the table, a tile of numbers.",
    ),
    "page-counted-from-the-tile": (
        looked_up(lambda of_tile, **_: of_tile),
        "Pages were counted from where the tile begins. `offs_n` are positions in the sequence, "
        "and so are the table's entries.",
    ),
    "slot-counted-anew": (
        looked_up(lambda p, **_: p, lambda of_tile, **_: of_tile),
        "Slots were counted from where the tile begins, which need not be where a page begins. "
        "Positions in the sequence count: `offs_n % PAGE`.",
    ),
    "page-number-for-slot": (
        addressed(
            lambda page, p, head, PAGE, HK, D, **_: ((page * PAGE + p // PAGE) * HK + head) * D
        ),
        "The slot is the remainder, `offs_n % PAGE`. `offs_n // PAGE` says which entry of the "
        "table.",
    ),
    "pages-one-slot-apart": (
        addressed(lambda page, p, head, PAGE, HK, D, **_: ((page + p % PAGE) * HK + head) * D),
        "Pages were looked for one slot apart. Each has PAGE slots.",
    ),
    "table-by-position": (
        looked_up(lambda p, PAGE, **_: p * PAGE),
        "Entry `offs_n` of the table was taken. It has one entry for each page: `offs_n // PAGE`.",
    ),
    "table-by-slot": (
        looked_up(lambda p, PAGE, **_: p % PAGE * PAGE),
        "Entry `offs_n % PAGE` of the table was taken. That is the slot; the page is that of entry "
        "`offs_n // PAGE`.",
    ),
    "heads-before-slots": (
        addressed(
            lambda page, p, head, PAGE, HK, D, **_: ((page * HK + head) * PAGE + p % PAGE) * D
        ),
        "The cache was read as (pages, HK, PAGE, D). Slots come before heads.",
    ),
    "pages-without-heads": (
        addressed(
            lambda page, p, head, PAGE, HK, D, **_: (page * PAGE + (p % PAGE) * HK + head) * D
        ),
        "Pages were looked for too close together. Each has PAGE slots of HK heads.",
    ),
    "head-times-group": (
        addressed(
            lambda page, p, head, PAGE, HK, D, GROUP, **_: (
                ((page * PAGE + p % PAGE) * HK + head * GROUP) * D
            )
        ),
        "`head` is the number of a key head already: no GROUP.",
    ),
    "slots-without-heads": (
        addressed(lambda page, p, head, PAGE, D, **_: (page * PAGE + p % PAGE + head) * D),
        "Slots were looked for too close together. Each holds HK heads of D numbers.",
    ),
    "head-by-one-number": (
        addressed(lambda page, p, head, PAGE, HK, D, **_: (page * PAGE + p % PAGE) * HK * D + head),
        "Heads were looked for one number apart. Each has D numbers.",
    ),
    "heads-first": (
        addressed(lambda page, p, head, PAGE, D, **_: (head * PAGE + page * PAGE + p % PAGE) * D),
        "A whole page of a head was looked for. In the cache, a slot holds all its heads: "
        "(pages, PAGE, HK, D).",
    ),
    "one-number-apart": (
        addressed(lambda page, p, head, PAGE, HK, **_: (page * PAGE + p % PAGE) * HK + head),
        "Heads and slots were looked for one number apart. Each head has D numbers.",
    ),
    "table-of-the-first": (
        changed(table=lambda g: g["table"][:1].expand(g["table"].shape)),
        "Every sequence uses the block table of the first one.",
    ),
    "pages-in-order": (
        changed(table=lambda g: pages_in_order(g).clamp_max(len(g["k_cache"]) - 1)),
        "Position p was read from slot p of the cache. Ask the table for its page.",
    ),
    "heads-in-turn": (
        heads_in_turn,
        "Query head h used key head h % HK. Neighbouring query heads share a key head.",
    ),
    "one-token-more": (
        changed(lengths=one_more),
        "Position `length` counts. The last one is `length` - 1.",
    ),
    "one-token-short": (
        every_length(lambda lengths: lengths - 1),
        "The last token is left out. `lengths` includes the new one.",
    ),
    "scale-forgotten": (
        changed(q=lambda g: g["q"] * g["q"].shape[2] ** 0.5),
        "The scores were not scaled: multiply by qk_scale.",
    ),
    "scale-for-base-two": (
        changed(q=lambda g: g["q"] * 1.4426950408889634),
        "The scores were multiplied by log2(e). That goes with `tl.exp2`, and here with natural "
        "exponentials: no factor.",
    ),
    "scale-upside-down": (
        changed(q=lambda g: g["q"] * g["q"].shape[2]),
        "The scores were divided by qk_scale. Multiply by it.",
    ),
    "scale-twice": (
        changed(q=lambda g: g["q"] * g["q"].shape[2] ** -0.5),
        "The scores were multiplied by qk_scale twice.",
    ),
    "keys-and-values-swapped": (
        changed(k_cache=lambda g: g["v_cache"], v_cache=lambda g: g["k_cache"]),
        "k was read from v_cache, and v from k_cache.",
    ),
    "keys-for-values": (
        changed(v_cache=lambda g: g["k_cache"]),
        "The values were read from k_cache.",
    ),
    "values-for-keys": (
        changed(k_cache=lambda g: g["v_cache"]),
        "The keys were read from v_cache.",
    ),
    "first-key-head": (
        changed(
            k_cache=lambda g: g["k_cache"][:, :, :1].expand(g["k_cache"].shape),
            v_cache=lambda g: g["v_cache"][:, :, :1].expand(g["v_cache"].shape),
        ),
        "Every query head used key head 0. Is `head` in the offsets?",
    ),
    "page-left-out": (
        addressed(lambda p, head, PAGE, HK, D, **_: ((p % PAGE) * HK + head) * D),
        "Every position was read from page 0. A slot of the cache is `pages * PAGE` further on.",
    ),
}


def sums_keep_their_digits(fn):
    """Refuses sums in half precision, which many tiles of values of one sign show."""
    torch.manual_seed(0)
    q, cache = 0.1 * torch.randn(1, 2, 16), torch.rand(2, 128, 16, 1, 16)
    q, k, v = (x.half() for x in (q, 0.1 * cache[0], 0.5 + cache[1]))
    table = torch.arange(128, dtype=torch.int32)[None]
    lengths = torch.tensor([2048], dtype=torch.int32)
    given = [x.to(DEVICE) for x in (q, k, v, table, lengths)]
    exact = paged_decode_ref(q.double(), k.double(), v.double(), table, lengths)
    error = float(((fn(*given, pieces=1).cpu().double() - exact) / exact).abs().max())
    assert error < 7.5e-4, (
        f"With 2,048 keys and values of one sign the result is off by {error:.1e}. One rounding to "
        "float16 makes 5e-04 at most: acc or l_i is rounded on the way. Both are float32."
    )


def of_the_cache(dtype):
    """P is rounded to the dtype of v; float32 sums of some hundred terms otherwise."""
    small = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype, 1e-5)
    return Tolerance(relative=small, of_row_max=small, because="P is rounded to the dtype of v")


CHECKS = {
    "merge_states": Check(
        merge_ref,
        MERGES,
        HIDDEN_MERGES,
        launches=1,
        tolerance=of_states,
        programs=lambda parts, lses, dtype: parts.shape[0],
        mistakes=MERGE_MISTAKES,
    ),
    "paged_decode": Check(
        paged_decode_ref,
        DECODES,
        HIDDEN_DECODES,
        launches=2,
        no_tf32=True,
        int64=("k_cache", "v_cache"),
        tolerance=of_the_cache,
        mistakes=DECODE_MISTAKES,
        also=(sums_keep_their_digits,),
    ),
}
