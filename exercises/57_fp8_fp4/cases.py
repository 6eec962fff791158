"""What the checks of 57_fp8_fp4 try: every code, groups and their scales, products."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, asks, case, tensor
from tritonbook.words import later

from ..shared import products
from .page import decode_e4m3_ref, dequantize_mxfp4_ref, matmul_mxfp4_ref

EXACT = Tolerance(0.0, because="decoding is exact")
BYTES = {"dtype": "uint8", "values": "integers", "high": 256}
OWN_NAN = "Where is the condition of the `tl.where` true that puts NaN in?"
MINUS_ZERO = (
    "The values are right, but -0 lost its sign: {code} came out as 0. `-x` is 0 - x, which is 0. "
    "Put the sign's bit to its place before the bitcast, or multiply by -1."
)


def every(*codes):
    """These codes, over and over."""

    def drawn(generator, shape):
        wanted, size = torch.tensor(codes), torch.Size(shape).numel()
        return wanted.repeat(size // len(codes) + 1)[:size].view(shape)

    return drawn


def in_rows(*codes):
    """Row n holds the code number n alone, over and over."""
    return lambda generator, shape: every(*codes)(generator, shape[:1])[:, None].expand(shape)


# --- decode_e4m3


def byte_case(note, *shape, block=64, **described):
    codes = tensor(*shape, **(BYTES | described))
    return case(note, codes=codes, options={"block": block} if block else {})


CODES = [
    byte_case("powers of two", 15, values=every(*range(8, 127, 8))),
    byte_case("positive normal numbers", 119, values=every(*range(8, 127))),
    byte_case("with their negatives", 238, values=every(*range(8, 127), *range(136, 255))),
    byte_case("0 and subnormal numbers", 16, values=every(*range(8), *range(128, 136))),
    byte_case("NaN", 4, values=every(127, 8, 255, 136)),
    byte_case("all 256 bytes", 256, values=every(*range(256))),
    byte_case("a ragged tail", 1000),
    byte_case("three dimensions", 3, 5, 7, block=None),
    byte_case("no bytes", 0),
    case("int8", codes=tensor(8, dtype="int8", values="integers"), raises=ValueError),
    case("not contiguous", codes=tensor(8, 8, layout="transposed", **BYTES), raises=ValueError),
]

HIDDEN_CODES = [
    byte_case("one byte", 1),
    byte_case("a prime length", 4099, block=None),
    byte_case("all 256 bytes backwards", 16, 16, values=every(*range(255, -1, -1))),
]


def keeps_minus_zero_of_a_byte(fn):
    got = fn(torch.tensor([128, 0], dtype=torch.uint8, device=DEVICE))
    assert got.signbit().tolist() == [True, False], MINUS_ZERO.format(code="0x80")


# --- dequantize_mxfp4


def group_case(note, N, K, dtype=torch.float32, scales=None, block=16, **more):
    arguments = {
        "packed": tensor(N, K // 2, **(BYTES | more.pop("packed", {}))),
        "scales": tensor(N, K // 32, dtype="uint8", values=scales or every(127)),
        "w": dtype,
    }
    return case(note, **(arguments | more), options={"block": block} if block else {})


SOME = every(120, 127, 131, 125, 128, 118, 124)
POSITIVE = {"values": every(*(high << 4 | low for high in range(8) for low in range(8)))}
WITHOUT_HALVES = {
    "values": every(*(a << 4 | b for a in (0, 2, 3, 5, 7) for b in (7, 4, 0, 2, 6, 3)))
}

GROUPS = [
    group_case("scale 1, without 0.5 and signs", 4, 32, packed=WITHOUT_HALVES),
    group_case("scale 1, no signs", 4, 32, packed=POSITIVE),
    group_case("scale 1, every byte", 16, 32, packed={"values": every(*range(256))}),
    group_case("groups with scales of their own", 5, 96, scales=SOME),
    group_case("scales 1 to 250", 250, 32, scales=in_rows(*range(1, 251)), block=64),
    group_case("the scale 2**-127, code 0", 3, 64, scales=every(0, 127)),
    group_case("the scale NaN, code 255", 3, 64, scales=every(255, 127)),
    group_case("result in float16", 7, 64, torch.float16, SOME),
    group_case("result in bfloat16, large and small", 6, 64, torch.bfloat16, every(3, 250, 127)),
    group_case("the block as it is", 9, 64, scales=SOME, block=None),
    group_case("no rows", 0, 64),
    group_case("K = 48", 4, 48, scales=SOME, raises=ValueError),
    case(
        "a scale too few",
        packed=tensor(4, 32, **BYTES), scales=tensor(4, 1, **BYTES), w=torch.float32,
        raises=ValueError,
    ),
    case(
        "packed as int8",
        packed=tensor(4, 16, dtype="int8"), scales=tensor(4, 1, **BYTES), w=torch.float32,
        raises=ValueError,
    ),
]  # fmt: skip

HIDDEN_GROUPS = [
    group_case("one group", 1, 32, scales=SOME),
    group_case("prime sizes", 13, 32 * 7, torch.float16, SOME),
    group_case("every scale but the largest", 253, 32, scales=in_rows(*range(253)), block=None),
]


def keeps_minus_zero_of_four_bits(fn):
    packed = torch.full((1, 16), 0x08, dtype=torch.uint8, device=DEVICE)
    got = fn(packed, torch.full_like(packed[:, :1], 127), torch.float16)
    assert got.signbit()[0, :2].tolist() == [True, False], MINUS_ZERO.format(code=later("code 8"))


# --- matmul_mxfp4

TILE = {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32}
LONG = TILE | {"BLOCK_K": 128}


def product_case(note, M, N, K, tile=TILE, dtype="float16", **more):
    arguments = {
        "x": tensor(M, K, values=more.pop("values", "normal")),
        "packed": tensor(N, K // 2, **(BYTES | more.pop("packed", {}))),
        "scales": tensor(N, K // 32, dtype="uint8", values="integers", low=120, high=128),
    }
    return case(note, dtype=dtype, **(arguments | more), options={"tile": tile} if tile else {})


PRODUCTS = [
    product_case("one tile, one group", 5, 9, 32),
    product_case("three steps of one group", 20, 40, 96),
    product_case("two steps of four groups", 18, 35, 256, LONG),
    product_case("two by two tiles, one step of two groups", 30, 100, 64, TILE | {"BLOCK_K": 64}),
    product_case("bfloat16", 20, 33, 128, dtype="bfloat16"),
    product_case("bfloat16, scales too large for float16", 4, 16, 64, dtype="bfloat16",
        scales=tensor(16, 2, dtype="uint8", values=in_rows(*range(95, 159, 4)))),
    product_case(
        "a long sum of one sign", 4, 12, 4096, LONG, values="positive", packed=POSITIVE
    ),
    product_case("a step and a half, by groups of 32", 18, 35, 192, LONG),
    product_case("the tile of few tokens, K = 96", 3, 40, 96, None),
    product_case("no rows", 0, 8, 64),
    product_case("K = 48", 4, 8, 48, scales=tensor(8, 1, **BYTES), raises=ValueError),
    product_case("x in float32", 4, 8, 64, dtype="float32", raises=ValueError),
    product_case("a scale too few", 4, 8, 64, scales=tensor(8, 1, **BYTES), raises=ValueError),
]  # fmt: skip

HIDDEN_PRODUCTS = [
    product_case("one token, one output", 1, 1, 64, None),
    product_case("the tile of some tokens", 33, 50, 192, None),
    product_case("the tile of many tokens", 70, 70, 96, None),
    product_case("prime sizes", 17, 37, 224, LONG),
    product_case("bfloat16, long rows", 4, 20, 1024, LONG, dtype="bfloat16"),
]


def programs(x, packed, scales, tile=None):
    return products.programs(x.shape[0], packed.shape[0], tile)


CHECKS = {
    "decode_e4m3": Check(
        decode_e4m3_ref,
        CODES,
        HIDDEN_CODES,
        asks=[
            asks.launches(1),
            asks.starts_at_most(lambda codes, block=16: products.ceil_div(codes.numel(), block)),
            asks.tiles_of_at_most(lambda codes, block=8192: block),
            asks.by_hand("float8e4nv"),
            asks.by_hand("exp2"),
            keeps_minus_zero_of_a_byte,
        ],
        tolerance=EXACT,
        nan=OWN_NAN,
    ),
    "dequantize_mxfp4": Check(
        dequantize_mxfp4_ref,
        GROUPS,
        HIDDEN_GROUPS,
        asks=[
            asks.launches(1),
            asks.starts_at_most(
                lambda packed, scales, dtype, block=4: products.ceil_div(scales.numel(), block)
            ),
            asks.tiles_of_at_most(lambda packed, scales, dtype, block=1024: 32 * block),
            asks.by_hand("exp2"),
            asks.stores_once(),
            keeps_minus_zero_of_four_bits,
        ],
        tolerance=EXACT,
        nan=OWN_NAN,
    ),
    "matmul_mxfp4": Check(
        matmul_mxfp4_ref,
        PRODUCTS,
        HIDDEN_PRODUCTS,
        asks=[
            asks.launches(1),
            asks.starts_at_most(programs),
            products.uses_the_tile(PRODUCTS[2]),
            asks.stores_once(),
        ],
        tolerance=products.tolerance,
    ),
}
