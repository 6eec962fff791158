"""What the checks of 04_softmax try: cases and references."""

import torch

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import by_hand, launches, stores_once, tiles_of_at_most

from ..shared.looking import where_shown
from .page import softmax_ref

NEGATIVE_INFINITY = float("-inf")


def softmax_masked_ref(x, lengths):
    counts = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    shares = torch.where(counts, x, NEGATIVE_INFINITY).softmax(-1)
    return torch.where(counts, shares, 0.0)


# A number that stands for minus infinity, or that a maximum starts with, has to lie below these.
AT_THE_BOTTOM = tensor(2, 100, values="zeros", mean=-1e30)

CASES = [
    case("rows with a ragged end", x=tensor(7, 1000)),
    case("rows of exactly one tile", x=tensor(5, 1024)),
    case("narrow rows", x=tensor(20, 7)),
    case("all values far below zero", x=tensor(4, 100, mean=-500.0)),
    case("all values at -1e30", x=AT_THE_BOTTOM),
    case("large values", x=tensor(4, 300, scale=3000.0)),
    case("a row with a NaN", x=tensor(3, 40, planted={(1, 7): float("nan")})),
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
    case("falling steeply", x=tensor(3, 300, values="falling", scale=900.0), options={"block": 64}),
    case("all values far below zero", x=tensor(3, 300, mean=-500.0), options={"block": 128}),
    case("all values at -1e30", x=AT_THE_BOTTOM, options={"block": 64}),
    case(
        "a row with a NaN", x=tensor(3, 200, planted={(1, 7): float("nan")}), options={"block": 64}
    ),
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


STORED_AGAIN = (
    "The values are right, but each element is stored {times:.3g} times. A walk goes from tile to "
    "tile: `range(0, N, BLOCK_N)`."
)


@where_shown
def two_walks(fn):
    """In the interpreter, where every load and store is seen."""
    x = torch.randn(2, 200, device=DEVICE)
    moved = traffic(fn, x, block=64).tensors
    read = sum(tensor.read for tensor in moved) / x.nbytes
    assert read <= 2, (
        f"The values are right, but x is read {read:.3g} times. One walk finds maximum and sum "
        "together, a second one writes."
    )


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
        asks=[by_hand("softmax"), launches(1)],
        tolerance=rounded_once(terms=4096),
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
        asks=[
            by_hand("softmax"),
            launches(1),
            tiles_of_at_most(lambda x, block=16384: block, max),
            stores_once(STORED_AGAIN),
            two_walks,
        ],
        tolerance=rounded_once(terms=4096),
    ),
    "softmax_masked": Check(
        softmax_masked_ref,
        MASKED_CASES,
        HIDDEN_MASKED_CASES,
        asks=[by_hand("softmax"), launches(1)],
        terms=lambda x, lengths: x.shape[1],
    ),
}
