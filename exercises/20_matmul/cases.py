"""What the checks of 20_matmul try: cases and references."""

from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import exact_float32, launches, no_copies, starts_at_most, stores_once

from ..shared import products
from .page import matmul_ref

TILE = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}
SMALL = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}


def tiled(note, tile=TILE, **more):
    return case(note, options={"tile": tile}, **more)


WHOLE_CASES = [
    case("two by three tiles, three steps", a=tensor(128, 48), b=tensor(48, 96)),
    case("one step", dtype="bfloat16", a=tensor(64, 16), b=tensor(16, 64)),
    case(
        "a long sum of one sign",
        dtype="float16",
        a=tensor(64, 480, values="positive"),
        b=tensor(480, 32, values="positive"),
    ),
    case("half a tile", a=tensor(32, 16), b=tensor(16, 32), raises=ValueError),
    case("transposed", a=tensor(64, 16, layout="transposed"), b=tensor(16, 32), raises=ValueError),
    case("inner sizes differ", a=tensor(64, 32), b=tensor(16, 32), raises=ValueError),
]

HIDDEN_WHOLE_CASES = [
    case("three by one tiles", a=tensor(192, 64), b=tensor(64, 32)),
    case("one tile, many steps", dtype="float16", a=tensor(64, 320), b=tensor(320, 32)),
    case("large and small", a=tensor(64, 32, scale=1e4), b=tensor(32, 64, scale=1e-4)),
    case("bfloat16", dtype="bfloat16", a=tensor(128, 80), b=tensor(80, 64)),
]

CASES = [
    tiled("less than a tile", a=tensor(5, 7), b=tensor(7, 9)),
    tiled("two by three tiles, five steps", a=tensor(64, 80), b=tensor(80, 192)),
    tiled("ragged everywhere", a=tensor(70, 40), b=tensor(40, 150)),
    tiled("A transposed", a=tensor(40, 70, layout="transposed"), b=tensor(70, 90)),
    tiled("B transposed", dtype="float16", a=tensor(33, 30), b=tensor(30, 80, layout="transposed")),
    tiled(
        "rows with gaps",
        SMALL,
        dtype="bfloat16",
        a=tensor(40, 48, layout="strided"),
        b=tensor(48, 20, layout="strided"),
    ),
    tiled(
        "a long sum of one sign",
        dtype="float16",
        a=tensor(8, 500, values="positive"),
        b=tensor(500, 40, values="positive"),
    ),
    tiled("a row with a NaN", a=tensor(20, 40, planted={(1, 7): float("nan")}), b=tensor(40, 32)),
    case("one row, the default tile", a=tensor(1, 100), b=tensor(100, 65)),
    case("no rows", a=tensor(0, 16), b=tensor(16, 8)),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
    case("inner sizes differ by a tile", a=tensor(16, 64), b=tensor(32, 16), raises=ValueError),
    tiled("one row repeated", a=tensor(32, 40, layout="expanded"), b=tensor(40, 32)),
]

HIDDEN_CASES = [
    case("a single element", a=tensor(1, 1), b=tensor(1, 1)),
    tiled("one column", a=tensor(70, 130), b=tensor(130, 1)),
    case("K of one", a=tensor(80, 1), b=tensor(1, 70)),
    tiled("prime sizes", SMALL, a=tensor(67, 71), b=tensor(71, 41)),
    case("several default tiles", a=tensor(131, 67), b=tensor(67, 139)),
    case(
        "the default tile in half precision", dtype="float16", a=tensor(150, 70), b=tensor(70, 300)
    ),
    tiled("odd addresses", a=tensor(40, 48, layout="offset"), b=tensor(48, 40, layout="offset")),
    tiled(
        "both transposed",
        dtype="float16",
        a=tensor(50, 70, layout="transposed"),
        b=tensor(70, 90, layout="transposed"),
    ),
    tiled("one sign", dtype="float16", a=tensor(33, 300, values="positive"), b=tensor(300, 17)),
    tiled("bfloat16", dtype="bfloat16", a=tensor(65, 100), b=tensor(100, 70)),
    tiled("large and small", a=tensor(40, 50, scale=1e4), b=tensor(50, 40, scale=1e-4)),
    case("no columns", a=tensor(8, 16), b=tensor(16, 0)),
    case("no sum", a=tensor(8, 0), b=tensor(0, 8)),
]


CHECKS = {
    "matmul_whole": Check(
        matmul_ref,
        WHOLE_CASES,
        HIDDEN_WHOLE_CASES,
        asks=[launches(1), exact_float32(), stores_once()],
        tolerance=products.tolerance,
    ),
    "matmul": Check(
        matmul_ref,
        CASES,
        HIDDEN_CASES,
        asks=[
            launches(1),
            no_copies(),
            starts_at_most(lambda a, b, tile=None: products.programs(a.shape[0], b.shape[1], tile)),
            exact_float32(),
            products.uses_the_tile(CASES[5]),
            stores_once(),
        ],
        tolerance=products.tolerance,
    ),
}
