"""What the checks of 04_softmax try: cases, references, and mistakes that have a name."""

import functools

import torch
import triton

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.seeing.tiles import CannotShow

from .page import softmax_ref


def softmax_masked_ref(x, lengths):
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    shares = torch.where(counts, x, NEGATIVE_INFINITY).softmax(-1)
    return torch.where(counts, shares, 0.0)


def row_length(x, *others, **options):
    """How many terms each sum has, for the tolerance."""
    return x.shape[-1]


def padded_softmax(x, *, block=None, value=0.0):
    """What comes out when masked lanes of the last tile count as zeros, or as `value`."""
    N = x.shape[-1]
    width = triton.next_power_of_2(N) if block is None else triton.cdiv(N, block) * block
    return torch.nn.functional.pad(x, (0, width - N), value=value).softmax(-1)[:, :N]


def row_added_twice(x):
    """Program m takes row 2 m of x; where there is none, it reads what is no number."""
    rows = 2 * torch.arange(x.shape[0])
    inside = (rows < x.shape[0])[:, None]
    return torch.where(inside, x[rows.clamp_max(x.shape[0] - 1)].softmax(-1), float("nan"))


def half_sum(x, *, dtype):
    """Exponentials and their sum rounded to half precision: to float16, unless x is bfloat16."""
    kind = dtype if dtype == torch.bfloat16 else torch.float16
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return (e / e.to(kind).double().sum(-1, keepdim=True).to(kind)).to(dtype)


def not_shifted(x):
    """The exponentials of x itself, in float32."""
    e = torch.exp(x.float())
    return e / e.sum(-1, keepdim=True)


NEGATIVE_INFINITY = float("-inf")
CARELESS = -1e9  # what often stands for it

EITHER_FORM = {
    "padding-too-high": (
        functools.partial(padded_softmax, value=CARELESS),
        "Masked lanes hold a number that is not below all of the row's, and wins the maximum. Give "
        'them minus infinity, `float("-inf")`.',
    ),
    "padding-counted": (
        padded_softmax,
        "Masked lanes took part as zeros. Which `other=` leaves a maximum and a sum of "
        "exponentials unchanged?",
    ),
    "not-normalised": (
        lambda x: torch.exp(x - x.amax(-1, keepdim=True)),
        "The exponentials are right, but they were not divided by their sum.",
    ),
    "maximum-not-subtracted": (
        not_shifted,
        "0 was subtracted here, not the row's maximum, and the exponentials left float32. Is a "
        "maximum subtracted, and can a zero win it: a masked lane, or a start of 0?",
    ),
    "sum-in-half-precision": (
        half_sum,
        "The sum of exponentials was rounded to half precision. Sum in float32.",
    ),
    "row-added-twice": (
        row_added_twice,
        "Program m took row 2 m: the row number is added to the address twice.",
    ),
    "over-columns": (lambda x: x.softmax(0), "This is the softmax of each column, not each row."),
    "base-two": (
        lambda x: (x * 0.6931471805599453).softmax(-1),
        "This is a softmax to base 2. With `tl.exp2` the exponent needs the factor log2(e).",
    ),
    "logarithm": (lambda x: x.log_softmax(-1), "This is the logarithm of the softmax."),
    "of-minus-x": (lambda x: (-x).softmax(-1), "This is the softmax of -x."),
}

SUSPECTS = EITHER_FORM | {
    "divided-by-n": (
        lambda x: torch.exp(x - x.amax(-1, keepdim=True)) / x.shape[-1],
        "The exponentials were divided by the number of columns, not by their sum.",
    ),
    "divided-by-tile": (
        lambda x: torch.exp(x - x.amax(-1, keepdim=True)) / triton.next_power_of_2(x.shape[-1]),
        "The exponentials were divided by the number of lanes, not by their sum.",
    ),
}


def walked(step, start=-1e38, tiles=lambda N, block: triton.cdiv(N, block)):
    """What comes out if the first walk does step(m_i, l_i, tile) -> (m_i, l_i) with so many tiles.

    In float32, as the kernel computes: what overflows there overflows here.
    """

    def formula(x, *, block=16384):
        N = x.shape[-1]
        padded = torch.nn.functional.pad(x.float(), (0, -N % block), value=NEGATIVE_INFINITY)
        m_i, l_i = torch.full((x.shape[0], 1), start), torch.zeros(x.shape[0], 1)
        for tile in padded.split(block, dim=-1)[: tiles(N, block)]:
            m_i, l_i = step(m_i, l_i, tile)
        return torch.exp(x.float() - m_i) * (1.0 / l_i)

    return formula


def largest(m_i, tile):
    return torch.maximum(m_i, tile.amax(-1, keepdim=True))


def exponentials(tile, m_i):
    return torch.exp(tile - m_i).sum(-1, keepdim=True)


def rescaled(m_i, l_i, tile, m_new):
    return m_new, l_i * torch.exp(m_i - m_new) + exponentials(tile, m_new)


def in_order(m_i, l_i, tile):
    return rescaled(m_i, l_i, tile, largest(m_i, tile))


def not_rescaled(m_i, l_i, tile):
    m_new = largest(m_i, tile)
    return m_new, l_i + exponentials(tile, m_new)


def last_sum(m_i, l_i, tile):
    m_new = largest(m_i, tile)
    return m_new, exponentials(tile, m_new)


def last_maximum(m_i, l_i, tile):
    return rescaled(m_i, l_i, tile, tile.amax(-1, keepdim=True))


def old_maximum(m_i, l_i, tile):
    m_new = largest(m_i, tile)
    return m_new, l_i * torch.exp(m_i - m_new) + exponentials(tile, m_i)


def tile_by_tile(x, *, block=16384):
    return torch.cat([tile.softmax(-1) for tile in x.split(block, dim=-1)], dim=-1)


def written_too_early(x, *, block=16384):
    """Each tile with the maximum and the sum so far."""
    starts = range(0, x.shape[-1], block)
    return torch.cat([x[:, : at + block].softmax(-1)[:, at:] for at in starts], dim=-1)


def wrong_way(m_i, l_i, tile):
    m_new = largest(m_i, tile)
    return m_new, l_i * torch.exp(m_new - m_i) + exponentials(tile, m_new)


ONLINE_SUSPECTS = {
    "starts-too-high": (
        walked(in_order, start=CARELESS),
        "`m_i` starts above all numbers of the row, and all exponentials are 0. Start it below "
        "what a row may hold, at -1e38.",
    ),
}
ONLINE_SUSPECTS |= EITHER_FORM | {
    # One result, two causes: with m_i = m_new too early the factor is exp(0).
    "not-rescaled": (
        walked(not_rescaled),
        "The sum of the earlier tiles was added as it is. Is `l_i` multiplied by "
        "exp(m_i - m_new), and is `m_i` still the old maximum in that line?",
    ),
    "rescaled-the-wrong-way": (
        walked(wrong_way),
        "Old and new sum do not belong to one maximum. The old sum is multiplied by "
        "exp(m_i - m_new), and the new tile's exponentials are taken from m_new.",
    ),
    "exponentials-of-the-old-maximum": (
        walked(old_maximum),
        "Every share is 0. Either `l_i` is infinite, as when a tile's exponentials are taken from "
        "the old `m_i`, or a factor is 0.",
    ),
    "tile-by-tile": (
        tile_by_tile,
        "Each tile is divided by its own sum. `l_i` is the sum of the whole row.",
    ),
    "written-too-early": (
        written_too_early,
        "Each tile got the maximum and the sum so far. Write in a second walk, when both are "
        "those of the whole row.",
    ),
    "sum-of-the-last-tile": (
        walked(last_sum),
        "`l_i` holds the sum of the last tile alone: the sum so far was overwritten.",
    ),
    "starts-at-minus-infinity": (
        walked(in_order, start=NEGATIVE_INFINITY),
        "A tile of minus infinity made the row NaN: -inf - (-inf). Start `m_i` at a finite number.",
    ),
    "maximum-of-the-last-tile": (
        walked(last_maximum),
        "`m_i` holds the maximum of the last tile, not the largest so far: compare with the old "
        "`m_i`.",
    ),
    "first-tile-only": (
        walked(in_order, tiles=lambda N, block: 1),
        "Maximum and sum are those of the first tile. Does the first walk reach the row's end?",
    ),
    "last-tile-left-out": (
        walked(in_order, tiles=lambda N, block: N // block),
        "The last, partly filled tile took no part in maximum and sum. Where does the walk end?",
    ),
}

# A number that stands for minus infinity, or that a maximum starts with, has to lie below these.
AT_THE_BOTTOM = tensor(2, 100, values="zeros", mean=-1e30)

CASES = [
    case("rows with a ragged end", x=tensor(7, 1000)),
    case("rows of exactly one tile", x=tensor(5, 1024)),
    case("narrow rows", x=tensor(20, 7)),
    case("all values far below zero", x=tensor(4, 100, mean=-500.0)),
    case("all values at -1e30", x=AT_THE_BOTTOM),
    case("large values", x=tensor(4, 300, scale=3000.0)),
    case("rows with gaps between them", x=tensor(6, 90, layout="strided")),
    case("transposed", x=tensor(6, 40, layout="transposed")),
    case("half precision", dtype="float16", x=tensor(4, 700)),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 700)),
    case("one row repeated", x=tensor(2, 50, layout="expanded")),
    case("a wide row", x=tensor(1, 40_000)),
    case("no rows", x=tensor(0, 8)),
    case("not a matrix", x=tensor(8), raises=ValueError),
    case("too wide", x=tensor(1, 65_537), raises=ValueError),
]

# the rows of a matrix x, any strides
SOFTMAX_ROWS = [
    case("one column", x=tensor(9, 1)),
    case("one element more than a power of two", x=tensor(3, 1025)),
    case("one row", x=tensor(1, 333)),
    case("many short rows", x=tensor(40, 3)),
    case("transposed", x=tensor(17, 40, layout="transposed")),
    case("one row repeated", x=tensor(6, 50, layout="expanded")),
    case("memory that starts at an odd place", x=tensor(5, 129, layout="offset")),
    case(
        "some entries are minus infinity",
        x=tensor(3, 40, planted={(0, 0): NEGATIVE_INFINITY, (1, 39): NEGATIVE_INFINITY}),
    ),
    case(
        "a whole row of minus infinity",
        x=tensor(2, 4, planted={(1, i): NEGATIVE_INFINITY for i in range(4)}),
    ),
    case("half precision, large", dtype="float16", x=tensor(3, 500, scale=5000.0)),
    case("half precision, many small shares", dtype="float16", x=tensor(2, 4000, scale=0.1)),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 600)),
    case("all values alike", x=tensor(3, 1000, values="zeros", mean=-7.0)),
    case("far above zero", x=tensor(3, 77, mean=800.0)),
    case("sorted, rising", x=tensor(3, 500, values="rising", scale=20.0)),
]

WIDE_CASES = [
    case("wide rows", x=tensor(2, 9000)),
    case("three dimensions", x=tensor(2, 3, 4), raises=ValueError),
]

FIRST_TILE = {(1, i): NEGATIVE_INFINITY for i in range(64)}

ONLINE_CASES = [
    case("one tile", x=tensor(4, 256), options={"block": 256}),
    case("four tiles, the last ragged", x=tensor(4, 900), options={"block": 256}),
    case("falling", x=tensor(3, 500, values="falling", scale=9.0), options={"block": 64}),
    case("rising", x=tensor(3, 500, values="rising", scale=9.0), options={"block": 64}),
    case(
        "falling steeply",
        x=tensor(3, 300, values="falling", scale=900.0),
        options={"block": 64},
    ),
    case("all values far below zero", x=tensor(3, 300, mean=-500.0), options={"block": 128}),
    case("all values at -1e30", x=AT_THE_BOTTOM, options={"block": 64}),
    case("a tile of minus infinity", x=tensor(3, 200, planted=FIRST_TILE), options={"block": 64}),
    case("rows with gaps between them", x=tensor(4, 300, layout="strided"), options={"block": 128}),
    case("transposed", x=tensor(6, 130, layout="transposed"), options={"block": 64}),
    case("half precision", dtype="float16", x=tensor(3, 700), options={"block": 128}),
    case("bfloat16", dtype="bfloat16", x=tensor(3, 700), options={"block": 128}),
    case("one row repeated", x=tensor(2, 50, layout="expanded"), options={"block": 64}),
    case("two tiles of the block as it is", x=tensor(1, 20_000)),
    case("no rows", x=tensor(0, 8)),
]


def some_lengths(M, N):
    """Lengths between 0 and N for M rows."""
    return tensor(M, dtype="int32", values="integers", low=0, high=N + 1)


def full_lengths(M, N):
    return tensor(M, dtype="int32", values="integers", low=N, high=N + 1)


ONE_EMPTY = tensor(3, dtype="int32", values="integers", low=1, high=20, planted={1: 0})


def two_walks(fn):
    """In the interpreter, where every load and store is seen."""
    x = torch.randn(2, 200, device=DEVICE)
    try:
        moved = traffic(fn, x, block=64).tensors
    except CannotShow:
        return
    written = sum(each.written for each in moved) / sum(each.written_distinct for each in moved)
    assert written <= 1, (
        f"The values are right, but each element is stored {written:.3g} times. A walk goes from "
        "tile to tile: `range(0, N, BLOCK_N)`."
    )
    read = sum(tensor.read for tensor in moved) / x.nbytes
    assert read <= 2, (
        f"The values are right, but x is read {read:.3g} times. One walk finds maximum and sum "
        "together, a second one writes."
    )


def above_the_row(x, lengths):
    """The maximum is CARELESS where the row's numbers are all below that."""
    counts = torch.arange(x.shape[1]) < lengths[:, None]
    m = torch.where(counts, x, CARELESS).amax(-1, keepdim=True).clamp_min(CARELESS)
    e = torch.where(counts, torch.exp(x - m), 0.0)
    return e / e.sum(-1, keepdim=True).clamp_min(1.0)


MASKED_SUSPECTS = {
    "padding-too-high": (above_the_row, EITHER_FORM["padding-too-high"][1]),
    "length-of-row-0": (
        lambda x, lengths: softmax_masked_ref(x, lengths[:1].expand_as(lengths)),
        "Every row used lengths[0]. The address of the length needs the row.",
    ),
    "one-column-too-many": (
        lambda x, lengths: softmax_masked_ref(x, (lengths + 1).clamp_max(x.shape[1])),
        "Column lengths[m] took part. The last one that counts is lengths[m] - 1.",
    ),
    "lengths-ignored": (
        lambda x, lengths: x.softmax(-1),
        "All columns took part. `lengths` was not used.",
    ),
    "uniform-when-empty": (
        lambda x, lengths: torch.where(
            lengths[:, None] > 0, softmax_masked_ref(x, lengths), 1 / x.shape[1]
        ),
        "An empty row must be zeros, not equal shares.",
    ),
}

NO_NUMBERS = {(0, i): float("nan") for i in range(5, 12)}
FIVE_OF_12 = tensor(2, dtype="int32", values="zeros", planted={0: 5, 1: 12})

MASKED_CASES = [
    case("different lengths", x=tensor(9, 60), lengths=some_lengths(9, 60)),
    case("an empty row", x=tensor(3, 20), lengths=ONE_EMPTY),
    case("full rows", x=tensor(4, 32), lengths=full_lengths(4, 32)),
    case("far below zero", x=tensor(5, 50, mean=-400.0), lengths=some_lengths(5, 50)),
    case("all values at -1e30", x=AT_THE_BOTTOM, lengths=some_lengths(2, 100)),
    case("NaN where it does not count", x=tensor(2, 12, planted=NO_NUMBERS), lengths=FIVE_OF_12),
    case("transposed", x=tensor(9, 30, layout="transposed"), lengths=some_lengths(9, 30)),
    case("lengths that do not fit", x=tensor(4, 8), lengths=full_lengths(5, 0), raises=ValueError),
]

HIDDEN_MASKED_CASES = [
    case("all rows empty", x=tensor(4, 17), lengths=full_lengths(4, 0)),
    case("one column", x=tensor(6, 1), lengths=some_lengths(6, 1)),
    case("rows with gaps", x=tensor(7, 70, layout="strided"), lengths=some_lengths(7, 70)),
    case("transposed", x=tensor(12, 33, layout="transposed"), lengths=some_lengths(12, 33)),
    case("half precision", dtype="float16", x=tensor(8, 300), lengths=some_lengths(8, 300)),
    case("bfloat16", dtype="bfloat16", x=tensor(8, 130), lengths=some_lengths(8, 130)),
    case("large values", x=tensor(6, 90, scale=3000.0), lengths=some_lengths(6, 90)),
]

CHECKS = {
    "softmax": Check(
        softmax_ref,
        CASES,
        SOFTMAX_ROWS + WIDE_CASES,
        launches=1,
        by_hand=("softmax",),
        tolerance=rounded_once(terms=4096),
        mistakes=SUSPECTS,
    ),
    "softmax_online": Check(
        softmax_ref,
        ONLINE_CASES,
        [
            *SOFTMAX_ROWS,
            case("the tile is the row", x=tensor(3, 128), options={"block": 128}),
            case("one element in the last tile", x=tensor(3, 129), options={"block": 128}),
            case("steep", x=tensor(2, 400, values="rising", scale=900.0), options={"block": 64}),
            case(
                "transposed, in tiles",
                x=tensor(20, 130, layout="transposed"),
                options={"block": 32},
            ),
            case("wide", x=tensor(1, 70_000)),
        ],
        launches=1,
        by_hand=("softmax",),
        max_tile=lambda x, block=16384: block,
        also=[two_walks],
        tolerance=rounded_once(terms=4096),
        mistakes=ONLINE_SUSPECTS,
    ),
    "softmax_masked": Check(
        softmax_masked_ref,
        MASKED_CASES,
        HIDDEN_MASKED_CASES,
        launches=1,
        by_hand=("softmax",),
        terms=row_length,
        mistakes=MASKED_SUSPECTS,
    ),
}
