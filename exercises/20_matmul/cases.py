"""What the checks of 20_matmul try: cases and references."""

import functools

from tritonbook.checking import Check
from tritonbook.checking.asks import exact_float32, launches, no_copies, starts_at_most, stores_once

from ..shared import products
from ..shared.products import product
from .page import matmul_ref

TILE = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}
SMALL = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}
POSITIVE = {"values": "positive"}


tiled = functools.partial(product, tile=TILE)


WHOLE_CASES = [
    product("two by three tiles, three steps", 128, 48, 96),
    product("one step", 64, 16, 64, dtype="bfloat16"),
    product("a long sum of one sign", 64, 480, 32, a=POSITIVE, b=POSITIVE, dtype="float16"),
    product("half a tile", 32, 16, 32, raises=ValueError),
    product("transposed", 64, 16, 32, a="transposed", raises=ValueError),
    product("inner sizes differ", 64, 32, 32, short=16, raises=ValueError),
]

HIDDEN_WHOLE_CASES = [
    product("three by one tiles", 192, 64, 32),
    product("one tile, many steps", 64, 320, 32, dtype="float16"),
    product("large and small", 64, 32, 64, a={"scale": 1e4}, b={"scale": 1e-4}),
    product("bfloat16", 128, 80, 64, dtype="bfloat16"),
]

CASES = [
    tiled("less than a tile", 5, 7, 9),
    tiled("two by three tiles, five steps", 64, 80, 192),
    tiled("ragged everywhere", 70, 40, 150),
    tiled("A transposed", 40, 70, 90, a="transposed"),
    tiled("B transposed", 33, 30, 80, b="transposed", dtype="float16"),
    tiled("rows with gaps", 40, 48, 20, tile=SMALL, a="strided", b="strided", dtype="bfloat16"),
    tiled("a long sum of one sign", 8, 500, 40, a=POSITIVE, b=POSITIVE, dtype="float16"),
    tiled("a row with a NaN", 20, 40, 32, a={"planted": {(1, 7): float("nan")}}),
    product("one row, the default tile", 1, 100, 65),
    product("no rows", 0, 16, 8),
    product("inner sizes differ", 16, 32, 16, short=1, raises=ValueError),
    product("inner sizes differ by a tile", 16, 64, 16, short=32, raises=ValueError),
    tiled("one row repeated", 32, 40, 32, a="expanded"),
]

HIDDEN_CASES = [
    product("a single element", 1, 1, 1),
    tiled("one column", 70, 130, 1),
    product("K of one", 80, 1, 70),
    tiled("prime sizes", 67, 71, 41, tile=SMALL),
    product("several default tiles", 131, 67, 139),
    product("the default tile in half precision", 150, 70, 300, dtype="float16"),
    tiled("odd addresses", 40, 48, 40, a="offset", b="offset"),
    tiled("both transposed", 50, 70, 90, a="transposed", b="transposed", dtype="float16"),
    tiled("one sign", 33, 300, 17, a=POSITIVE, dtype="float16"),
    tiled("bfloat16", 65, 100, 70, dtype="bfloat16"),
    tiled("large and small", 40, 50, 40, a={"scale": 1e4}, b={"scale": 1e-4}),
    product("no columns", 8, 16, 0),
    product("no sum", 8, 0, 8),
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
