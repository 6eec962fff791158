"""What the checks of 50_split_kv_decode try: cases, references, mistakes that have a name."""

import torch

from tritonbook.checking import Check, Tolerance, case, tensor

from .page import paged_decode_ref

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


def merged_by(weights):
    return lambda parts, lses, dtype: torch.einsum("rs,rsd->rd", weights(lses), parts).to(dtype)


def padded_weights(lses):
    """Masked lanes took part in the softmax with an lse of 0."""
    S = lses.shape[1]
    wide = 1 << (S - 1).bit_length()
    return torch.nn.functional.pad(lses, (0, wide - S)).softmax(-1)[:, :S]


MERGES = [
    merge_case("four pieces", 3, 4, 16),
    merge_case("five pieces, the tile has eight", 4, 5, 32),
    merge_case("very different lse", 3, 6, 16, scale=8.0),
    merge_case("lse around 120: exponentials overflow", 3, 3, 16, mean=120.0),
    merge_case("lse around -150: exponentials vanish", 3, 3, 16, mean=-150.0),
    merge_case("empty pieces", 2, 4, 16, empty=((0, 1), (1, 2), (1, 3))),
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

MERGE_MISTAKES = {
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
        "0 was subtracted from the lse, not their maximum: exponentials overflow or vanish.",
    ),
    "padding-counted": (
        merged_by(padded_weights),
        "Masked lanes took part with an lse of 0. Minus infinity is the lse of nothing.",
    ),
    "base-two": (
        merged_by(lambda lses: torch.softmax(lses * 0.6931471805599453, -1)),
        "The weights have base 2. An lse in natural logarithms goes with `tl.exp`.",
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
    """
    B, width = len(lengths), -(-max(lengths) // PAGE) + how.get("columns", 0)
    owned = [-(-length // PAGE) for length in lengths]
    total = sum(owned) + spare
    order = torch.randperm(total, generator=torch.Generator().manual_seed(total))
    table, at = torch.full((B, width), 2**30), 0
    for b, count in enumerate(owned):
        table[b, :count] = order[at : at + count]
        at += count

    def queries(generator, shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        drawn = drawn.abs() if how.get("negative") else drawn
        drawn[:, 0] *= how.get("first_head", 1.0)
        return drawn

    def slots(generator, shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
        drawn = -drawn.abs() if how.get("negative") else drawn
        filled = 20 * drawn if "free" not in how else torch.full_like(drawn, how["free"])
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
    paged_case("one page, one piece", [16], 2, 2, 16, 16, pieces=1),
    paged_case("pages in any order", [48], 2, 1, 16, 16, pieces=1),
    paged_case("a last page that is not full", [37], 4, 2, 32, 16, pieces=1),
    paged_case("free slots are not numbers", [21], 2, 1, 16, 16, pieces=1, free=float("nan")),
    paged_case("two pieces", [70], 4, 2, 16, 16),
    paged_case("sequences of different lengths", [41, 3, 90], 4, 2, 16, 8, pieces=3),
    paged_case("more pieces than tokens", [2, 5], 2, 1, 16, 4, pieces=4),
    paged_case("large keys first, then small ones", [100], 2, 1, 16, 16, pieces=1, first=100.0),
    paged_case("keys so large that exponentials overflow", [90], 2, 1, 16, 16, scale=60.0),
    paged_case("all scores far below zero", [40], 2, 1, 16, 16, scale=60.0, negative=True),
    paged_case("one head with large scores", [40], 3, 1, 16, 16, first_head=400.0),
    paged_case("half precision", [75], 4, 1, 32, 16, dtype="float16"),
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
    paged_case("sixteen heads share one", [33], 16, 1, 64, 16, pieces=3),
    paged_case("pages of 5", [63, 21], 6, 3, 16, 5, pieces=2),
    paged_case("a wide table", [30, 12], 4, 2, 16, 8, pieces=5, columns=3),
    paged_case("large keys in half precision", [100], 2, 2, 64, 16, dtype="float16", scale=5.0),
    paged_case("bfloat16, one token", [1, 40], 4, 2, 128, 16, dtype="bfloat16"),
    paged_case("the number of pieces left open", [20], 2, 1, 16, 16, pieces=None),
]


def changed(**how):
    """The reference with arguments replaced; NaN where it would read a free slot."""

    def wrong(q, k_cache, v_cache, table, lengths):
        given = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "table": table, "lengths": lengths}
        given |= {name: new(given) for name, new in how.items()}
        return paged_decode_ref(**given).nan_to_num(NEVER)

    return wrong


def every_length(change):
    return changed(lengths=lambda g: change(g["lengths"]).clamp_min(1))


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


DECODE_MISTAKES = {
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
    "one-token-short": (
        every_length(lambda lengths: lengths - 1),
        "The last token is left out. `lengths` includes the new one.",
    ),
    "scale-forgotten": (
        changed(q=lambda g: g["q"] * g["q"].shape[2] ** 0.5),
        "The scores were not scaled: multiply by qk_scale.",
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
        "Every query head used key head 0. Is `head` in rows?",
    ),
}


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
        terms=lambda parts, lses, dtype: parts.shape[1],
        programs=lambda parts, lses, dtype: parts.shape[0],
        mistakes=MERGE_MISTAKES,
    ),
    "paged_decode": Check(
        paged_decode_ref,
        DECODES,
        HIDDEN_DECODES,
        launches=2,
        no_tf32=True,
        tolerance=of_the_cache,
        mistakes=DECODE_MISTAKES,
    ),
}
