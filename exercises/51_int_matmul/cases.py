"""What the checks of 51_int_matmul try: cases and references."""

from concurrent.futures import ThreadPoolExecutor

import torch

from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import launches, starts_at_most, stores_once, tiles_of_at_most
from tritonbook.checking.cases import arguments
from tritonbook.limits import CheckTimeout
from tritonbook.seeing.compiled import compile_gate

from ..shared import products

# --- quantize_rows


def whole_steps(scales, zeros=()):
    """Rows of numbers q + u in steps of a scale, |q| < 127 and u far from a tie, and one of 127.

    All digits fit half precision, times a power of 2. The largest number of a row is in its last
    column, its first, or the middle, and every second one is negative. scales: one for each row,
    over and over. zeros: rows of zeros.
    """

    def drawn(generator, shape):
        M, K = shape
        q = torch.randint(-126, 127, shape, generator=generator).double()
        u = torch.randint(-3, 4, shape, generator=generator).double() / 8
        x = (q + u).bfloat16().double()
        x = torch.where(x - x.floor() == 0.5, q, x)
        for row in range(M):
            x[row, (K - 1, 0, K // 2)[row % 3]] = 127 * (-1) ** row
            x[row] *= scales[row % len(scales)]
        x[list(zeros)] = 0
        return x

    return drawn


POWERS = (0.0625, 2.0, 2.0**-9, 8.0, 0.25)
OTHERS = (0.0123, 3.7, 0.0031, 21.0, 1.9e6)  # the last: beyond float16


def row_case(note, M, K, scales=POWERS, zeros=(), block=16, layout="contiguous", dtype="float32"):
    x = tensor(M, K, layout=layout, values=whole_steps(scales, zeros))
    return case(note, x=x, options={"block": block}, dtype=dtype)


ROWS = [
    row_case("one tile", 4, 16),
    row_case("37 numbers in tiles of 16", 6, 37),
    row_case("scales that are no powers of 2", 5, 50, OTHERS),
    row_case("a row of zeros", 4, 40, zeros=(1,)),
    row_case("half precision", 4, 70, block=32, dtype="float16"),
    row_case("rows with gaps", 3, 33, layout="strided"),
    case("rows that lie down", x=tensor(8, 16, layout="transposed"), raises=ValueError),
    row_case("no rows", 0, 20),
    case("one dimension", x=tensor(16), raises=ValueError),
]

HIDDEN_ROWS = [
    row_case("1,000 numbers", 3, 1000, OTHERS, block=256),
    row_case("one number", 3, 1),
    row_case("the block as it is", 2, 300, OTHERS, block=8192),
    row_case("bfloat16", 5, 130, block=64, dtype="bfloat16"),
    row_case("small numbers", 4, 45, (2.0**-60, 2.0**-90)),
    row_case("zeros alone", 3, 20, zeros=(0, 1, 2)),
]


def largest_of(x):
    return x.abs().amax(dim=1, keepdim=True)


def quantized(x, scales, rounded=lambda x: torch.floor(x + 0.5)):
    """q and scales that come out with these scales [M, 1]; what int8 cannot hold wraps round."""
    q = rounded(x / scales).nan_to_num(0.0, 0.0, 0.0).to(torch.int64)
    return ((q + 128) % 256 - 128).to(torch.int8), scales[:, 0].to(torch.float32)


def scale_of(largest):
    return torch.where(largest > 0, largest / 127, 1.0)


def quantize_ref(x):
    return quantized(x, scale_of(largest_of(x)))


# --- matmul_w8a8

# three sizes: one block is not taken for another
TILE = {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32}
LONG = TILE | {"BLOCK_K": 128}


def w8a8_ref(xq, sx, wq, sw, dtype):
    return scaled(product(xq, wq), sx, sw).to(dtype)


def product(xq, wq):
    return xq.double() @ wq.double().T


def scaled(sums, sx, sw):
    return sums * sx.double()[:, None] * sw.double()


def cancelling(generator, shape):
    """Half a row near 127, the other half near -127: sums go up, and come down again."""
    drawn = torch.randint(119, 128, shape, generator=generator).double()
    drawn[:, shape[1] // 2 :] *= -1
    return drawn


def powers(generator, shape):
    return 2.0 ** -torch.randint(1, 6, shape, generator=generator).double()


def int_case(note, M, N, K, tile=TILE, dtype=torch.float32, x=None, w=None, scales=None, **more):
    every = {"dtype": "int8", "values": "integers", "low": -127, "high": 128}
    scale = {"dtype": "float32", "values": scales or "positive", "scale": 0.02}
    arguments = {
        "xq": tensor(M, K, **(every | (x or {}))),
        "sx": tensor(M, **scale),
        "wq": tensor(N, K, **(every | (w or {}))),
        "sw": tensor(N, **scale),
        "y": dtype,
    }
    options = {"tile": tile} if tile else {}
    return case(note, **(arguments | more), options=options)


PRODUCTS = [
    int_case("less than a tile", 5, 7, 9),
    int_case("two by two tiles, three steps", 32, 128, 96),
    int_case("ragged everywhere", 37, 45, 70),
    int_case("as many rows as outputs", 40, 40, 40),
    int_case(
        "sums beyond 2^24 that cancel",
        3, 4, 4096, LONG,
        x={"values": "integers", "low": 120, "high": 128},
        w={"values": cancelling},
        scales=powers,
    ),
    int_case("result in half precision", 20, 33, 50, dtype=torch.float16),
    int_case("the tile of few tokens", 1, 40, 200, None),
    int_case("no rows", 0, 8, 16),
    int_case("inner sizes differ", 4, 8, 16, wq=tensor(8, 17, dtype="int8"), raises=ValueError),
    int_case(
        "a scale too few", 4, 8, 16, sw=tensor(7, dtype="float32"), raises=ValueError
    ),
    int_case(
        "weights transposed", 4, 16, 16, wq=tensor(16, 16, dtype="int8", layout="transposed"),
        raises=ValueError,
    ),
]  # fmt: skip

HIDDEN_PRODUCTS = [
    int_case("one number", 1, 1, 1),
    int_case("prime sizes", 31, 67, 131),
    int_case("the tile of many tokens", 40, 30, 150, None),
    int_case("bfloat16", 17, 40, 64, dtype=torch.bfloat16),
    int_case("long rows", 4, 4, 3000, LONG, scales=powers, w={"values": cancelling}),
    int_case("K of one", 33, 20, 1),
]  # fmt: skip


# --- matmul_w4a16


def nibbles(packed):
    """Low and high nibbles with their signs, from int8."""
    low, high = packed.long() & 15, packed.long() >> 4
    return torch.where(low > 7, low - 16, low), high


def woven(low, high):
    return torch.stack((low, high), dim=-1).flatten(1).double()


def by_group(scales, group):
    return scales.double().repeat_interleave(group, dim=1)


def w4a16_ref(x, packed, scales, group):
    return x @ (woven(*nibbles(packed)) * by_group(scales, group)).T


BYTES = {"values": "integers", "low": -128, "high": 128}


def positive_nibbles(generator, shape):
    low, high = torch.randint(0, 8, (2, *shape), generator=generator)
    return high * 16 + low


def packed_case(note, M, N, K, group, tile=TILE, **more):
    arguments = {
        "x": tensor(M, K, values=more.pop("values", "normal")),
        "packed": tensor(N, K // 2, dtype="int8", **BYTES),
        "scales": tensor(N, K // group, values=powers),  # so that scaled weights are exact
        "group": group,
    }
    options = {"tile": tile} if tile else {}
    return case(note, dtype="float16", **(arguments | more), options=options)


PACKED = [
    packed_case("one tile", 5, 9, 32, 32),
    packed_case("three groups, a step each", 20, 40, 96, 32),
    packed_case("two groups of four steps", 18, 35, 256, 128),
    packed_case("a whole row is one group", 4, 33, 128, 128),
    packed_case(
        "a long sum of one sign", 4, 12, 4096, 128,
        values="positive",
        packed=tensor(12, 2048, dtype="int8", values=positive_nibbles),
    ),
    packed_case("the tile of few tokens", 3, 40, 256, 64, None),
    packed_case("no rows", 0, 8, 64, 32),
    packed_case("K that is no multiple of the group", 4, 8, 96, 64, raises=ValueError),
    packed_case("a group of 16", 4, 8, 32, 16, raises=ValueError),
    packed_case(
        "x in float32", 4, 8, 64, 32, x=tensor(4, 64, dtype="float32"), raises=ValueError
    ),
]  # fmt: skip

HIDDEN_PACKED = [
    packed_case("one token, one output", 1, 1, 64, 64),
    packed_case("the tile of many tokens", 33, 50, 128, 32, None),
    packed_case("prime sizes", 17, 37, 192, 64),
    packed_case("groups of 256", 6, 20, 512, 256),
]  # fmt: skip


def programs(x, w, tile):
    return products.programs(x.shape[0], w.shape[0], tile)


def waited_for(call):
    """The result of a call that has a time limit of its own: that of the answer's code is not
    meant for the compiler, which may have to be started first."""
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(call)
        while True:
            try:
                return answer.result()
            except CheckTimeout:
                continue


def stays_int8(fn):
    """int8 goes into the dot: values cannot tell, as float16 holds all of int8."""
    of = PRODUCTS[1]
    found = waited_for(lambda: compile_gate(fn, arguments(of), of.options, arch=80, ptx=True))
    assert not found.kernels or any(".s8.s8" in kernel.ptx for kernel in found.kernels), (
        "The values are right, but compiled for an A100 no int8 goes into the tensor cores. Give "
        "`tl.dot` the tiles as they are, int8 by int8."
    )


CHECKS = {
    "quantize_rows": Check(
        quantize_ref,
        ROWS,
        HIDDEN_ROWS,
        asks=[
            launches(1),
            starts_at_most(lambda x, block=8192: x.shape[0]),
            tiles_of_at_most(lambda x, block=8192: block, max),
        ],
        results=("q", "scales"),
    ),
    "matmul_w8a8": Check(
        w8a8_ref,
        PRODUCTS,
        HIDDEN_PRODUCTS,
        asks=[
            launches(1),
            starts_at_most(lambda xq, sx, wq, sw, dtype, tile=None: programs(xq, wq, tile)),
            products.uses_the_tile(PRODUCTS[1]),
            stores_once(),
            stays_int8,
        ],
        tolerance=rounded_once(1),
    ),
    "matmul_w4a16": Check(
        w4a16_ref,
        PACKED,
        HIDDEN_PACKED,
        asks=[
            launches(1),
            starts_at_most(lambda x, packed, scales, group, tile=None: programs(x, packed, tile)),
            products.uses_the_tile(PACKED[2]),
        ],
        tolerance=products.tolerance,
    ),
}
