"""What the checks of 50_split_kv_decode try: cases and references."""

import dataclasses
import math

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, derive_tolerance, tensor
from tritonbook.checking.asks import exact_float32, launches, offsets_of_64_bits, starts

from .page import paged_decode_ref, pieces_for

INFINITY = float("inf")


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
        lses=tensor(R, S, dtype="float32", **{"planted": dict.fromkeys(empty, -INFINITY)} | lses),
        out=dtype,
    )


def the_third_alone(generator, shape):
    """Numbers below what a careless minus infinity is: the largest counts alone."""
    lses = torch.full(shape, -2e30, dtype=torch.float64)
    lses[:, 2] = -1e30
    return lses


MERGES = [
    merge_case("four pieces", 3, 4, 16),
    merge_case("five pieces, the tile has eight", 4, 5, 32),
    merge_case("very different lse", 3, 6, 16, scale=8.0),
    merge_case("lse around 120: exponentials overflow", 3, 3, 16, mean=120.0),
    merge_case("lse around -150: exponentials vanish", 3, 3, 16, mean=-150.0),
    merge_case("lse of -2e30, but for one", 2, 5, 16, values=the_third_alone),
    merge_case("empty pieces", 2, 4, 16, empty=((0, 0), (1, 2), (1, 3))),
    merge_case("a piece with a NaN", 2, 4, 16, planted={(0, 1): float("nan")}),
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
    paged_case("large keys, float16", [230], 2, 2, 64, 16, dtype="float16", scale=5.0),
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


def weights_sum_in_float32(fn):
    """Refuses weights that are summed in half precision: there those just below 2**-11, half of
    them, vanish beside as many ones. All values are one number, so the result is too."""
    q, value = torch.zeros(1, 1, 16), 2 - 2.0**-9
    cache = torch.zeros(2, 16, 16, 1, 16)
    q[..., 0], cache[1] = 1, value
    cache[0, :, 1::2, 0, 0] = 4 * math.log(0.99 * 2.0**-11)
    table = torch.arange(16, dtype=torch.int32)[None]
    lengths = torch.tensor([256], dtype=torch.int32)
    given = [x.to(DEVICE) for x in (q.half(), *cache.half(), table, lengths)]
    got = fn(*given, pieces=1).cpu().float()
    off = got[got != value]
    assert not len(off), (
        f"The weights add up to 1, so where all values are {value:.4f} the result is too. Here it "
        f"is {float(off[0]):.4f}: the weights were summed in half precision, where small ones "
        "vanish beside large ones. Sum p in float32: it is rounded for its product with v alone."
    )


def decode_programs(q, k_cache, v_cache, table, lengths, pieces=None):
    heads = len(q) * k_cache.shape[2]
    pieces = pieces or pieces_for(heads, table.shape[1] * k_cache.shape[1])
    return max(heads * pieces, len(q) * q.shape[1])  # of the pieces, or of the merge


def of_the_cache(dtype):
    """P is rounded to the dtype of v; float32 sums of some hundred terms otherwise."""
    small = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype, 1e-5)
    return Tolerance(relative=small, of_row_max=small, because="P is rounded to the dtype of v")


CHECKS = {
    "merge_states": Check(
        merge_ref,
        MERGES,
        HIDDEN_MERGES,
        asks=[launches(1), starts(lambda parts, lses, dtype: parts.shape[0])],
        tolerance=of_states,
    ),
    "paged_decode": Check(
        paged_decode_ref,
        DECODES,
        HIDDEN_DECODES,
        wide=[paged_case("65,536 heads", [1] * 8, 8192, 8192, 16, 1)],
        asks=[
            launches(2),
            starts(decode_programs),
            offsets_of_64_bits("k_cache", "v_cache"),
            exact_float32(),
            sums_keep_their_digits,
            weights_sum_in_float32,
        ],
        tolerance=of_the_cache,
        nan=(
            "Does an exponential overflow? p is exp(s - m_new), the factor exp(m_i - m_new). "
            "Is l_i 0 at the end? The factor belongs to the old l_i alone. Or is a free slot "
            "read, which may hold NaN, and 0 · NaN is NaN? Mask the load of v (`other=0.0`) "
            "and the scores."
        ),
    ),
}
