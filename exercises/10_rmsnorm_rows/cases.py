"""What the checks of 10_rmsnorm_rows try: cases and references."""

from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import launches, starts, stores_once, tiles_of_at_most

from ..shared.norms import EPS, FULL, HALF, NAN, as_x, weighted
from .page import rmsnorm_ref


def rows(note, *shape, block=None, **how):
    return weighted(note, *shape, options={"block": block} if block else {}, **how)


CASES = [
    rows("a row that fills its tile", 4, 128),
    rows("a row that does not", 5, 100),
    rows("tiny numbers", 4, 200, scale=0.001, eps=3e-06),
    rows("a NaN in x and one in w", 3, 40, planted={(1, 7): NAN}, w=tensor(40, planted={5: NAN})),
    rows("rows with gaps", 6, 70, layout="strided"),
    rows("transposed", 6, 40, layout="transposed"),
    rows("half precision", 4, 700, dtype="float16"),
    rows("bfloat16, w in float32", 4, 700, dtype="bfloat16", w=tensor(700, **FULL)),
    rows("half precision, large", 3, 300, scale=400, dtype="float16"),
    rows("three dimensions, w in float16", 2, 3, 65, w=tensor(65, **HALF)),
    rows("no rows", 0, 64),
    rows("a weight of another length", 2, 8, w=tensor(9), raises=ValueError),
]


HIDDEN_ROWS = [
    rows("one element", 1, 1),
    rows("one row of 17", 1, 17),
    rows("tiny numbers", 4, 255, scale=0.001, eps=3e-06),
    rows("a large mean", 3, 1000, mean=50),
    rows("transposed", 7, 33, layout="transposed"),
    rows("a long row", 2, 4097),
    rows("bfloat16", 4, 200, dtype="bfloat16"),
    case("full x, half w", x=tensor(3, 90), w=tensor(90, dtype="float16"), eps=EPS),
    rows("zeros", 2, 50, values="zeros"),
]

PIECES = [
    rows("pieces that fit", 3, 256, block=64),
    rows("a last piece of 4", 3, 100, block=32),
    rows("rows with gaps", 4, 90, layout="strided", block=64),
    rows(
        "a NaN in x and one in w",
        *(3, 90),
        planted={(1, 70): NAN},
        w=tensor(90, planted={40: NAN}),
        block=32,
    ),
    rows("less than a piece", 2, 50, block=128),
    rows("transposed", 6, 40, layout="transposed", block=32),
    rows("tiny numbers", 3, 200, scale=0.001, eps=3e-06, block=64),
    rows("three dimensions, w in float16", 2, 3, 65, w=tensor(65, **HALF), block=32),
    rows(
        "bfloat16, many pieces, w in float32",
        *(2, 2000),
        dtype="bfloat16",
        w=tensor(2000, **FULL),
        block=16,
    ),
    rows("half precision, large", 3, 300, scale=400, dtype="float16", block=128),
    rows("no rows", 0, 64),
]

HIDDEN_PIECES = [
    rows("one element", 1, 1, block=16),
    rows("one more than a piece", 4, 65, block=64),
    rows("tiny numbers", 3, 255, scale=0.001, eps=3e-06, block=64),
    rows("a large mean", 2, 1000, mean=50, block=256),
    rows("rising rows", 2, 500, values="rising", scale=9, block=128),
    rows("transposed", 5, 77, layout="transposed", block=32),
    rows("bfloat16", 3, 200, dtype="bfloat16", block=64),
    rows("three dimensions", 2, 2, 130, block=64),
    rows("a long row", 1, 9000),
]


def one_a_row(x, w, eps, block=4096):
    """Programs of both schemes; several rows a program is another one."""
    return x.shape[:-1].numel()


def a_piece(x, w, eps, block=4096):
    """Elements that a loop holds at once."""
    return block


STORED_AGAIN = (
    "The values are right, but each element is stored {times:.3g} times. A walk goes from piece to "
    "piece: `range(0, N, BLOCK_N)`."
)

CHECKS = {
    "rmsnorm_row": Check(
        as_x(rmsnorm_ref),
        CASES,
        HIDDEN_ROWS,
        asks=[launches(1), starts(one_a_row)],
        tolerance=rounded_once(terms=4096),
    ),
    "rmsnorm_loop": Check(
        as_x(rmsnorm_ref),
        PIECES,
        HIDDEN_PIECES,
        asks=[launches(1), starts(one_a_row), tiles_of_at_most(a_piece), stores_once(STORED_AGAIN)],
        tolerance=rounded_once(terms=4096),
    ),
}
