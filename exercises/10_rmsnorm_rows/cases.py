"""What the checks of 10_rmsnorm_rows try: cases and references."""

from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import launches, starts, stores_once, tiles_of_at_most

from .page import rmsnorm_ref

EPS = 1e-6

CASES = [
    case("a row that fills its tile", x=tensor(4, 128), w=tensor(128), eps=EPS),
    case("a row that does not", x=tensor(5, 100), w=tensor(100), eps=EPS),
    case("tiny numbers", x=tensor(4, 200, scale=1e-3), w=tensor(200), eps=3e-6),
    case(
        "a row with a NaN", x=tensor(3, 40, planted={(1, 7): float("nan")}), w=tensor(40), eps=EPS
    ),
    case("rows with gaps", x=tensor(6, 70, layout="strided"), w=tensor(70), eps=EPS),
    case("transposed", x=tensor(6, 40, layout="transposed"), w=tensor(40), eps=EPS),
    case("half precision", dtype="float16", x=tensor(4, 700), w=tensor(700), eps=EPS),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 700), w=tensor(700), eps=EPS),
    case(
        "half precision, large",
        dtype="float16",
        x=tensor(3, 300, scale=400),
        w=tensor(300),
        eps=EPS,
    ),
    case("three dimensions", x=tensor(2, 3, 65), w=tensor(65), eps=EPS),
    case("no rows", x=tensor(0, 64), w=tensor(64), eps=EPS),
    case("a weight of another length", x=tensor(2, 8), w=tensor(9), eps=EPS, raises=ValueError),
]


HIDDEN_ROWS = [
    case("one element", x=tensor(1, 1), w=tensor(1), eps=EPS),
    case("one row of 17", x=tensor(1, 17), w=tensor(17), eps=EPS),
    case("tiny numbers", x=tensor(4, 255, scale=1e-3), w=tensor(255), eps=3e-6),
    case("a large mean", x=tensor(3, 1000, mean=50), w=tensor(1000), eps=EPS),
    case("transposed", x=tensor(7, 33, layout="transposed"), w=tensor(33), eps=EPS),
    case("a long row", x=tensor(2, 4097), w=tensor(4097), eps=EPS),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 200), w=tensor(200), eps=EPS),
    case(
        "half x, full w", x=tensor(3, 90, dtype="float16"), w=tensor(90, dtype="float16"), eps=EPS
    ),
    case("zeros", x=tensor(2, 50, values="zeros"), w=tensor(50), eps=EPS),
]

PIECES = [
    case("pieces that fit", x=tensor(3, 256), w=tensor(256), eps=EPS, options={"block": 64}),
    case("a last piece of 4", x=tensor(3, 100), w=tensor(100), eps=EPS, options={"block": 32}),
    case(
        "rows with gaps",
        x=tensor(4, 90, layout="strided"),
        w=tensor(90),
        eps=EPS,
        options={"block": 64},
    ),
    case(
        "a row with a NaN",
        x=tensor(3, 90, planted={(1, 70): float("nan")}),
        w=tensor(90),
        eps=EPS,
        options={"block": 32},
    ),
    case("less than a piece", x=tensor(2, 50), w=tensor(50), eps=EPS, options={"block": 128}),
    case(
        "transposed",
        x=tensor(6, 40, layout="transposed"),
        w=tensor(40),
        eps=EPS,
        options={"block": 32},
    ),
    case(
        "tiny numbers", x=tensor(3, 200, scale=1e-3), w=tensor(200), eps=3e-6, options={"block": 64}
    ),
    case("three dimensions", x=tensor(2, 3, 65), w=tensor(65), eps=EPS, options={"block": 32}),
    case(
        "bfloat16, many pieces",
        dtype="bfloat16",
        x=tensor(2, 2000),
        w=tensor(2000),
        eps=EPS,
        options={"block": 16},
    ),
    case(
        "half precision, large",
        dtype="float16",
        x=tensor(3, 300, scale=400),
        w=tensor(300),
        eps=EPS,
        options={"block": 128},
    ),
    case("no rows", x=tensor(0, 64), w=tensor(64), eps=EPS),
]

HIDDEN_PIECES = [
    case("one element", x=tensor(1, 1), w=tensor(1), eps=EPS, options={"block": 16}),
    case("one more than a piece", x=tensor(4, 65), w=tensor(65), eps=EPS, options={"block": 64}),
    case(
        "tiny numbers", x=tensor(3, 255, scale=1e-3), w=tensor(255), eps=3e-6, options={"block": 64}
    ),
    case(
        "a large mean", x=tensor(2, 1000, mean=50), w=tensor(1000), eps=EPS, options={"block": 256}
    ),
    case(
        "rising rows",
        x=tensor(2, 500, values="rising", scale=9),
        w=tensor(500),
        eps=EPS,
        options={"block": 128},
    ),
    case(
        "transposed",
        x=tensor(5, 77, layout="transposed"),
        w=tensor(77),
        eps=EPS,
        options={"block": 32},
    ),
    case(
        "bfloat16",
        dtype="bfloat16",
        x=tensor(3, 200),
        w=tensor(200),
        eps=EPS,
        options={"block": 64},
    ),
    case("three dimensions", x=tensor(2, 2, 130), w=tensor(130), eps=EPS, options={"block": 64}),
    case("a long row", x=tensor(1, 9000), w=tensor(9000), eps=EPS),
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
        rmsnorm_ref,
        CASES,
        HIDDEN_ROWS,
        asks=[launches(1), starts(one_a_row)],
        tolerance=rounded_once(terms=4096),
    ),
    "rmsnorm_loop": Check(
        rmsnorm_ref,
        PIECES,
        HIDDEN_PIECES,
        asks=[launches(1), starts(one_a_row), tiles_of_at_most(a_piece), stores_once(STORED_AGAIN)],
        tolerance=rounded_once(terms=4096),
    ),
}
