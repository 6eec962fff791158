"""What the checks of 51_int_matmul try: cases, references, mistakes that have a name."""

from concurrent.futures import ThreadPoolExecutor

import torch
import triton

from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.cases import arguments
from tritonbook.limits import CheckTimeout
from tritonbook.seeing.compiled import compile_gate

from ..shared import products
from .page import tile_for

NEVER = 1e30  # no answer holds it: where a mistake would read what is unknown


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


def with_scale(formula):
    return lambda x: quantized(x, formula(x))


def rounded_by(formula):
    return lambda x: quantized(x, scale_of(largest_of(x)), formula)


def clamped(x):
    return torch.floor(x + 0.5).clamp(-128, 127)


def width(x, block):
    return min(block, triton.next_power_of_2(x.shape[1]))


def of_one_tile(which):
    def wrong(x, *, block=8192):
        return quantized(x, scale_of(largest_of(x.split(width(x, block), dim=1)[which])))

    return wrong


def each_tile_its_own(x, *, block=8192):
    parts = [quantize_ref(tile) for tile in x.split(width(x, block), dim=1)]
    return torch.cat([q for q, _ in parts], dim=1), parts[-1][1]


def last_tile_again(x, *, block=8192):
    """q of the last tile, masked lanes included, for every tile."""
    wide, K = width(x, block), x.shape[1]
    q, scales = quantize_ref(x)
    last = q[:, (K - 1) // wide * wide :]
    last = torch.nn.functional.pad(last, (0, wide - last.shape[1]))
    return last.repeat(1, -(-K // wide))[:, :K], scales


def sum_of_tiles(x, *, block=8192):
    return quantized(x, scale_of(sum(map(largest_of, x.split(width(x, block), dim=1)))))


ROW_MISTAKES = {
    "scale-plus-epsilon": (
        with_scale(lambda x: largest_of(x) / 127 + 1e-8),
        "The scale is max |x| / 127 alone, and 1 for a row of zeros. Nothing is added to it, and "
        "no small number stands in for 0.",
    ),
    "half-added-afterwards": (
        rounded_by(lambda x: torch.trunc(torch.floor(x) + 0.5)),
        "Half a step was added after `tl.floor`. It comes before: `tl.floor(x / scale + 0.5)`.",
    ),
    "half-added-after-the-cut": (
        rounded_by(lambda x: torch.trunc(torch.trunc(x) + 0.5)),
        "The digits behind the point were cut off, and half a step was added to what was left. "
        "It comes before: `tl.floor(x / scale + 0.5)`.",
    ),
    "sign-lost": (
        rounded_by(lambda x: torch.floor(x.abs() + 0.5)),
        "q has no signs. `tl.abs` is for the largest number; q is x / scale, rounded.",
    ),
    "rounded-before-division": (
        lambda x: quantized(
            torch.floor(x), scale_of(largest_of(x)), lambda x: torch.trunc(x + 0.5)
        ),
        "x was rounded, and then divided. Divide first: steps of the scale are counted.",
    ),
    "half-added-to-x": (
        lambda x: quantized(x + 0.5, scale_of(largest_of(x)), torch.floor),
        "0.5 was added to x. It is half a step: add it to x / scale.",
    ),
    "x-stored": (
        lambda x: (
            quantized(x, torch.ones_like(largest_of(x)), torch.trunc)[0],
            quantize_ref(x)[1],
        ),
        "x itself was stored, cut to a whole number. Store q.",
    ),
    "steps-of-128": (
        with_scale(lambda x: scale_of(largest_of(x)) * 127 / 128),
        "The largest number becomes 128, and int8 ends at 127. Divide by 127.",
    ),
    "steps-of-128-clamped": (
        lambda x: (
            quantized(x, scale_of(largest_of(x)) * 127 / 128, clamped)[0],
            (scale_of(largest_of(x)) * 127 / 128)[:, 0].to(torch.float32),
        ),
        "The largest number becomes 128, and is cut to 127. Divide by 127: then nothing is cut.",
    ),
    "scale-of-255": (
        with_scale(lambda x: scale_of(largest_of(x)) * 127 / 255),
        "The scale is max |x| / 255 here: the largest number becomes 255, and int8 ends at 127.",
    ),
    "steps-of-255": (
        with_scale(lambda x: scale_of(largest_of(x)) * 254 / 255),
        "The scale is too small: the largest number must become 127.",
    ),
    "cut-off": (
        rounded_by(torch.trunc),
        "q was cut, not rounded: `.to(tl.int8)` drops what is behind the point. Round first.",
    ),
    "half-added-and-cut": (
        rounded_by(lambda x: torch.trunc(x + 0.5)),
        "Right for positive numbers. Below 0, adding 0.5 and cutting rounds the wrong way: it is "
        "`tl.floor(x + 0.5)`.",
    ),
    "rounded-down": (
        rounded_by(torch.floor),
        "q was rounded down. The nearest whole number is `tl.floor(x + 0.5)`.",
    ),
    "rounded-up": (rounded_by(torch.ceil), "q was rounded up. The nearest one is asked for."),
    "one-added": (
        rounded_by(lambda x: torch.floor(x + 1)),
        "q is the next whole number above. Add half a step before `tl.floor`, not a whole one.",
    ),
    "largest-of-the-last-tile": (
        of_one_tile(-1),
        "The scale knows the last tile of the row alone: `largest` forgets what it was before.",
    ),
    "largest-of-the-first-tile": (
        of_one_tile(0),
        "The scale knows the first tile of the row alone.",
    ),
    "scale-of-each-tile": (
        each_tile_its_own,
        "Each tile was quantised by its own largest number. The contract has one scale for a row.",
    ),
    "last-tile-again": (
        last_tile_again,
        "Every tile of q is the last tile of x. The second walk has to load x again.",
    ),
    "largest-added": (
        sum_of_tiles,
        "`largest` is the sum of the tiles' largest numbers. Keep the larger of the two.",
    ),
    "without-sign-lost": (
        with_scale(lambda x: scale_of(x.amax(dim=1, keepdim=True).clamp_min(0))),
        "The largest number may be negative: take `tl.abs` before the maximum.",
    ),
    "zero-scale": (
        with_scale(lambda x: largest_of(x) / 127),
        "A row of zeros has the scale 0 here, and 0 / 0 is NaN. Its scale is 1.",
    ),
    "scale-of-zeros-divided": (
        with_scale(lambda x: torch.where(largest_of(x) > 0, largest_of(x), 1.0) / 127),
        "A row of zeros has the scale 1 / 127 here. It is 1: divide inside `tl.where`.",
    ),
    "largest-at-least-one": (
        with_scale(lambda x: largest_of(x).clamp_min(1) / 127),
        "Rows whose numbers are all smaller than 1 got the scale 1 / 127. Only a row of zeros has "
        "a scale of its own, which is 1; any other row divides its largest number by 127.",
    ),
    "scale-at-least-one": (
        with_scale(lambda x: scale_of(largest_of(x)).clamp_min(1)),
        "No scale is below 1 here. Only a row of zeros has the scale 1 for its own sake; any other "
        "row divides its largest number by 127, however small that is.",
    ),
    "tiny-scale": (
        with_scale(lambda x: largest_of(x).clamp_min(1e-10) / 127),
        "A row of zeros has the scale 1 by contract.",
    ),
    "scale-is-the-largest": (
        with_scale(lambda x: scale_of(largest_of(x)) * 127),
        "The scale is the largest number itself. One step is a 127th of it.",
    ),
    "scale-of-one": (
        with_scale(lambda x: torch.ones_like(largest_of(x))),
        "q is x itself, rounded: in steps of 1. Divide by the row's scale, which is max |x| / 127, "
        "and 1 for a row of zeros only.",
    ),
    "scale-of-one-and-clamped": (
        lambda x: (
            quantized(x.clamp(-127, 127), torch.ones_like(largest_of(x)))[0],
            quantize_ref(x)[1],
        ),
        "q is x itself, rounded and cut to what int8 holds. Divide by the row's scale first; then "
        "nothing is out of range.",
    ),
    "scale-upside-down": (
        lambda x: (quantize_ref(x)[0], 1 / quantize_ref(x)[1].double()),
        "The scale is upside down: x is about s q, so s is max |x| / 127.",
    ),
    "multiplied-by-the-scale": (
        lambda x: (
            quantized(x * scale_of(largest_of(x)), torch.ones_like(largest_of(x)))[0],
            quantize_ref(x)[1],
        ),
        "q is x times the scale. In steps of the scale, x is x / s.",
    ),
}


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


def with_sums(formula):
    """A mistake in the sums; formula(xq, wq) or, with the block, formula(xq, wq, block)."""

    def wrong(xq, sx, wq, sw, dtype, *, tile=None):
        block = tile["BLOCK_K"] if tile else 128
        return scaled(formula(xq.double(), wq.double(), block), sx, sw)

    return wrong


def with_scales(formula):
    """A mistake in the scales: formula(sums, sx, sw)."""

    def wrong(xq, sx, wq, sw, dtype):
        return formula(product(xq, wq), sx.double(), sw.double())

    return wrong


def stored_across(y):
    """y as a store at offs_n * M + offs_m leaves it."""
    return y.T.reshape(y.shape)


ACROSS = (
    "Rows and columns of y are swapped in the store's addresses: y[m, n] is at "
    "`offs_m * N + offs_n`."
)


def wrapped(bits):
    half = 2 ** (bits - 1)
    return with_sums(lambda x, w, block: (x @ w.T + half) % (2 * half) - half)


def steps_of(x, w, block):
    return [a @ b.T for a, b in zip(x.split(block, 1), w.split(block, 1), strict=True)]


def float32_sum(x, w, block):
    acc = torch.zeros(x.shape[0], w.shape[0])
    for part in steps_of(x, w, block):
        acc = acc + part.float()
    return acc.double()


def scaled_in_the_loop(xq, sx, wq, sw, dtype, *, tile=None):
    acc = torch.zeros(len(sx), len(sw))
    for part in steps_of(xq.double(), wq.double(), tile["BLOCK_K"] if tile else 128):
        acc = acc + part.float() * sx.float()[:, None] * sw.float()
    return acc.double()


def standing(x, w, block, x_moves=False, w_moves=False):
    """Where pointers stay at the first tile; the mask along K goes on."""
    total = 0
    for k in range(0, x.shape[1], block):
        lanes = min(block, x.shape[1] - k)
        a, b = k * x_moves, k * w_moves
        total = total + x[:, a : a + lanes] @ w[:, b : b + lanes].T
    return total


def starting_at(starts):
    """The walk's tiles begin at starts(K, block)."""
    return with_sums(
        lambda x, w, block: sum(
            x[:, k : k + block] @ w[:, k : k + block].T for k in starts(x.shape[1], block)
        )
    )


def other_block(name):
    """The walk's step is another block's size."""

    def wrong(xq, sx, wq, sw, dtype, *, tile=None):
        tile = tile or tile_for(len(xq), 128)
        steps = starting_at(lambda K, block: range(0, K, tile[name]))
        return steps(xq, sx, wq, sw, dtype, tile=tile)

    return wrong


def all_but_the_last(x, w, block):
    parts = steps_of(x, w, block)
    return sum(parts) - parts[-1]


def doubled(x, w, block):
    """The sum so far is added to itself in each step."""
    acc = 0
    for part in steps_of(x, w, block):
        acc = 2 * acc + part
    return acc


def swapped(sums, sx, sw):
    if len(sx) != len(sw):
        return torch.full_like(sums, NEVER)
    return scaled(sums, sw, sx)


def lane_scales(xq, sx, wq, sw, dtype, *, tile=None):
    """Scales of the first tile for all tiles."""
    tile = tile or TILE
    m, n = torch.arange(len(sx)), torch.arange(len(sw))
    return scaled(product(xq, wq), sx[m % tile["BLOCK_M"]], sw[n % tile["BLOCK_N"]])


def whole_product(xq, sx, wq, sw, dtype):
    return scaled(product(xq, wq), sx, sw).half().double()


PRODUCT_MISTAKES = {
    "stored-across": (
        lambda *given: stored_across(w8a8_ref(*given)),
        ACROSS,
    ),
    "scales-swapped": (
        with_scales(swapped),
        "The scales are swapped: sx belongs to the rows, `sx[:, None]`, and sw to the columns.",
    ),
    "no-scales": (
        with_scales(lambda sums, sx, sw: sums),
        "These are the sums of integers. Multiply them by both scales.",
    ),
    "only-scales-of-x": (
        with_scales(lambda sums, sx, sw: sums * sx[:, None]),
        "The weights' scales are missing.",
    ),
    "only-scales-of-w": (
        with_scales(lambda sums, sx, sw: sums * sw),
        "The scales of x are missing.",
    ),
    "scales-twice": (
        with_scales(lambda sums, sx, sw: scaled(scaled(sums, sx, sw), sx, sw)),
        "Both scales were applied twice.",
    ),
    "scales-of-x-twice": (
        with_scales(lambda sums, sx, sw: scaled(sums * sx[:, None], sx, sw)),
        "The scales of x were applied twice.",
    ),
    "scales-of-w-twice": (
        with_scales(lambda sums, sx, sw: scaled(sums * sw, sx, sw)),
        "The scales of w were applied twice.",
    ),
    "scales-added": (
        with_scales(lambda sums, sx, sw: sums * (sx[:, None] + sw)),
        "The scales were added to each other. They are factors.",
    ),
    "divided-by-scales": (
        with_scales(lambda sums, sx, sw: scaled(sums, 1 / sx, 1 / sw)),
        "The sums were divided by the scales. x is about s q: multiply.",
    ),
    "scales-of-the-first-tile": (
        lane_scales,
        "Every tile got the scales of the first one. Load them at `offs_m` and `offs_n`.",
    ),
    "first-scales": (
        with_scales(lambda sums, sx, sw: sums * sx[:1, None] * sw[:1]),
        "All rows and columns got the first scale. Load a vector of them.",
    ),
    "int8-sum": (
        wrapped(8),
        "The sums were cut to 8 bits on the way. Keep `acc` in int32.",
    ),
    "int16-sum": (
        wrapped(16),
        "The sums were cut to 16 bits on the way: after a few products int16 is full. int32.",
    ),
    "float-sum": (
        with_sums(float32_sum),
        "Large sums lost digits: float32 is exact up to 2^24 only. Sum in int32, and apply the "
        "scales after the loop.",
    ),
    "scales-in-the-loop": (
        scaled_in_the_loop,
        "Each step was scaled, and the sum of the steps is rounded each time. Sum the integers, "
        "and apply the scales once, after the loop.",
    ),
    "steps-of-rows": (
        other_block("BLOCK_M"),
        "The loop goes on by BLOCK_M, and its tiles have BLOCK_K numbers along K: "
        "`range(0, K, BLOCK_K)`.",
    ),
    "steps-of-columns": (
        other_block("BLOCK_N"),
        "The loop goes on by BLOCK_N, and its tiles have BLOCK_K numbers along K: "
        "`range(0, K, BLOCK_K)`.",
    ),
    "one-element-a-step": (
        starting_at(lambda K, block: range(K)),
        "The loop goes on by one element, and its tiles overlap: `range(0, K, BLOCK_K)`.",
    ),
    "k-counts-steps": (
        starting_at(lambda K, block: range(-(-K // block))),
        "k counts steps here, and was used as a number of elements. `range(0, K, BLOCK_K)` counts "
        "elements.",
    ),
    "both-stand-still": (
        with_sums(standing),
        "Every step multiplies the first two tiles. Go on along K: `x_ptrs + k`.",
    ),
    "x-stands-still": (
        with_sums(lambda x, w, block: standing(x, w, block, w_moves=True)),
        "Every step uses the first tile of x.",
    ),
    "w-stands-still": (
        with_sums(lambda x, w, block: standing(x, w, block, x_moves=True)),
        "Every step uses the first tile of w.",
    ),
    "only-last-step": (
        with_sums(lambda x, w, block: steps_of(x, w, block)[-1]),
        "Only the last step counts. Does the dot add to acc?",
    ),
    "only-first-step": (
        with_sums(lambda x, w, block: steps_of(x, w, block)[0]),
        "Only the first step along K counts: does the loop go on, and does the mask let it?",
    ),
    "last-step-left-out": (
        with_sums(all_but_the_last),
        "The last step along K is missing.",
    ),
    "sum-added-twice": (
        with_sums(doubled),
        "The sum so far is added twice in each step. `tl.dot(x, w, acc, ...)` adds acc already: "
        "assign, no `+=`.",
    ),
    "always-float16": (
        whole_product,
        "The result was rounded to float16, whatever dtype it has. The store rounds by itself.",
    ),
}


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


def with_weights(formula):
    """A mistake in the weights: formula(packed) -> [N, K], scaled by group all the same."""

    def wrong(x, packed, scales, group):
        return x @ (formula(packed) * by_group(scales, group)).T

    return wrong


def of_steps(formula):
    """A mistake in the walk: formula(parts, scales by step [steps, N]) with parts unscaled."""

    def wrong(x, packed, scales, group, *, tile=None):
        block = min(tile["BLOCK_K"] if tile else 128, group)
        w = woven(*nibbles(packed))
        parts = steps_of(x, w, block)
        return formula(parts, by_group(scales, group)[:, ::block].T)

    return wrong


def halves(x, packed, scales, group, *, tile=None):
    """Low nibbles of a tile first, then its high ones."""
    block = min(tile["BLOCK_K"] if tile else 128, group)
    low, high = nibbles(packed)
    tiles = zip(low.split(block // 2, 1), high.split(block // 2, 1), strict=True)
    w = torch.cat([nibble for pair in tiles for nibble in pair], dim=1).double()
    return x @ (w * by_group(scales, group)).T


def scaled_again(parts, scales):
    acc = 0
    for part, scale in zip(parts, scales, strict=True):
        acc = (acc + part) * scale
    return acc


def added_and_scaled(parts, scales):
    acc = 0
    for part, scale in zip(parts, scales, strict=True):
        acc = acc + (acc + part) * scale
    return acc


def towards_zero(packed):
    """% and // of a kernel."""
    packed = packed.long()
    return packed.fmod(16), torch.div(packed, 16, rounding_mode="trunc")


def one_step_a_group(x, packed, scales, group, *, tile=None):
    block = min(tile["BLOCK_K"] if tile else 128, group)
    w = woven(*nibbles(packed)) * by_group(scales, group)
    return sum(steps_of(x, w, block)[:: group // block])


def half_acc(parts, scales):
    acc = torch.zeros_like(parts[0])
    for part, scale in zip(parts, scales, strict=True):
        acc = (acc + (part * scale).half().double()).half().double()
    return acc


def step_for_group(x, packed, scales, group, *, tile=None):
    """The step's number, not its group's: scales of groups further on, and of the next row."""
    block = min(tile["BLOCK_K"] if tile else 128, group)
    N, groups = scales.shape
    memory = torch.nn.functional.pad(scales.double().flatten(), (0, x.shape[1]), value=NEVER)
    parts = steps_of(x, woven(*nibbles(packed)), block)
    rows = torch.arange(N) * groups
    return sum(part * memory[rows + step] for step, part in enumerate(parts))


def standing_still(x_moves, w_moves):
    def wrong(x, packed, scales, group, *, tile=None):
        block = min(tile["BLOCK_K"] if tile else 128, group)
        w = woven(*nibbles(packed))
        total = 0
        for k in range(0, x.shape[1], block):
            a, b = k * x_moves, k * w_moves
            part = x[:, a : a + block] @ w[:, b : b + block].T
            total = total + part * scales.double()[:, k // group]
        return total

    return wrong


def at_bytes(x, packed, scales, group, *, tile=None):
    """x goes on by k // 2, as packed does."""
    block = min(tile["BLOCK_K"] if tile else 128, group)
    w = woven(*nibbles(packed)) * by_group(scales, group)
    return sum(
        x[:, k // 2 : k // 2 + block] @ w[:, k : k + block].T for k in range(0, x.shape[1], block)
    )


def group_of_bytes(x, packed, scales, group, *, tile=None):
    block = min(tile["BLOCK_K"] if tile else 128, group)
    parts = steps_of(x, woven(*nibbles(packed)), block)
    scales = scales.double()
    return sum(part * scales[:, step * block // 2 // group] for step, part in enumerate(parts))


def reshaped(x, packed, scales, group, *, tile=None):
    """A step's tile [BLOCK_N, BLOCK_K] read line by line as [BLOCK_K, BLOCK_N]."""
    tile = tile or tile_for(len(x), 64)
    block, wide = min(tile["BLOCK_K"], group), tile["BLOCK_N"]
    w, N = woven(*nibbles(packed)), len(packed)
    w = torch.nn.functional.pad(w, (0, 0, 0, -N % wide))
    columns = []
    for n in range(0, len(w), wide):
        parts = (
            x[:, k : k + block] @ w[n : n + wide, k : k + block].reshape(block, wide)
            for k in range(0, x.shape[1], block)
        )
        columns.append(torch.stack(list(parts)))  # [steps, M, BLOCK_N]
    steps = torch.cat(columns, dim=2)[:, :, :N]
    return (steps * by_group(scales, group)[:, ::block].T[:, None]).sum(0)


PACKED_MISTAKES = {
    "x-cut-to-int8": (
        lambda x, packed, scales, group: w4a16_ref(x.trunc(), packed, scales, group),
        "x was cut to int8, and its fractions are lost. The dot wants one dtype: give the weights "
        "that of x, `w.to(x.dtype)`.",
    ),
    "reshaped": (
        reshaped,
        "The tile of weights was reshaped, not turned: `tl.reshape` reads it on line by line. "
        "`tl.trans` swaps rows and columns.",
    ),
    "x-moves-by-bytes": (
        at_bytes,
        "x goes on by k // 2. That is packed's step, in bytes. x has a number for each weight: k.",
    ),
    "group-of-bytes": (
        group_of_bytes,
        "The group's number was counted in bytes, and moves half as fast. k counts weights: "
        "`k // GROUP`.",
    ),
    "stored-across": (
        lambda *given: stored_across(w4a16_ref(*given)),
        ACROSS,
    ),
    "nibbles-swapped": (
        with_weights(lambda packed: woven(*nibbles(packed)[::-1])),
        "The nibbles are swapped: the low one holds the even k, and comes first.",
    ),
    "halves": (
        halves,
        "The low nibbles stand before all high ones. They take turns along k: `tl.interleave`.",
    ),
    "low-without-sign": (
        with_weights(lambda packed: woven(packed.long() & 15, nibbles(packed)[1])),
        "The low nibble lost its sign: 13 stands for -3. Push it to the top of the byte first.",
    ),
    "high-without-sign": (
        with_weights(lambda packed: woven(nibbles(packed)[0], packed.long() >> 4 & 15)),
        "The high nibble lost its sign. `packed >> 4` alone keeps it.",
    ),
    "both-without-sign": (
        with_weights(lambda packed: woven(packed.long() & 15, packed.long() >> 4 & 15)),
        "The nibbles lost their signs: 8 to 15 stand for -8 to -1.",
    ),
    "eight-subtracted": (
        with_weights(lambda packed: woven((packed.long() & 15) - 8, (packed.long() >> 4 & 15) - 8)),
        "8 was subtracted from the nibbles. Here they are signed: 15 stands for -1.",
    ),
    "low-not-shifted-back": (
        with_weights(lambda packed: woven(nibbles(packed)[0] * 16, nibbles(packed)[1])),
        "The low nibbles are 16 times too large: after `<< 4` they need `>> 4`.",
    ),
    "low-is-the-byte": (
        with_weights(lambda packed: woven(packed.long(), nibbles(packed)[1])),
        "The even weights are whole bytes. Take the low nibble alone.",
    ),
    "high-is-the-byte": (
        with_weights(lambda packed: woven(nibbles(packed)[0], packed.long())),
        "The odd weights are whole bytes. Take the high nibble alone: `packed >> 4`.",
    ),
    "shifts-in-another-order": (
        with_weights(lambda packed: woven(nibbles(packed)[1] * 16, nibbles(packed)[1])),
        "`>> 4 << 4` clears the low nibble. To keep it, push it up first: `<< 4 >> 4`.",
    ),
    "remainder-and-quotient": (
        with_weights(lambda packed: woven(*towards_zero(packed))),
        "In a kernel `%` and `//` of negative numbers go towards 0, so these are not the nibbles. "
        "Shift.",
    ),
    "low-nibbles-only": (
        with_weights(lambda packed: woven(nibbles(packed)[0], nibbles(packed)[0])),
        "Every weight is a low nibble. The odd ones are in the high nibbles.",
    ),
    "high-nibbles-only": (
        with_weights(lambda packed: woven(nibbles(packed)[1], nibbles(packed)[1])),
        "Every weight is a high nibble. The even ones are in the low nibbles.",
    ),
    "no-scales": (
        of_steps(lambda parts, scales: sum(parts)),
        "These are products with unscaled weights. Multiply each step by its scales.",
    ),
    "scales-twice": (
        of_steps(lambda parts, scales: sum(p * s * s for p, s in zip(parts, scales, strict=True))),
        "The scales were applied twice: to the weights, and to the product.",
    ),
    "first-group": (
        of_steps(lambda parts, scales: sum(parts) * scales[0]),
        "All steps got the scales of the first group. Which group is k in?",
    ),
    "last-group": (
        of_steps(lambda parts, scales: sum(parts) * scales[-1]),
        "The whole sum got the scales of the last group. Each step has scales of its own.",
    ),
    "step-for-group": (
        step_for_group,
        "The step's number was taken for the group's. A group may have several steps: "
        "`k // GROUP`.",
    ),
    "sum-scaled-again": (
        of_steps(scaled_again),
        "Each step scales the whole sum so far again. Scale the new product alone, then add.",
    ),
    "added-and-scaled": (
        of_steps(added_and_scaled),
        "The dot adds acc, and so does `+=`. Leave acc out of the dot: it is not scaled again.",
    ),
    "half-the-row": (
        of_steps(
            lambda parts, scales: sum(
                p * s for p, s in zip(parts[: (len(parts) + 1) // 2], scales, strict=False)
            )
        ),
        "Only the first half of the row was multiplied. K counts weights, not bytes.",
    ),
    "one-step-a-group": (
        one_step_a_group,
        "The loop goes on by GROUP, and each step takes BLOCK_K: `range(0, K, BLOCK_K)`.",
    ),
    "half-sum": (
        of_steps(half_acc),
        "The sum was rounded to float16 on the way. Keep `acc` in float32.",
    ),
    "only-last-step": (
        of_steps(lambda parts, scales: parts[-1] * scales[-1]),
        "Only the last step counts. Add to acc.",
    ),
    "only-first-step": (
        of_steps(lambda parts, scales: parts[0] * scales[0]),
        "Only the first step along K counts.",
    ),
    "x-stands-still": (
        standing_still(0, 1),
        "Every step uses the first tile of x. It moves on by k.",
    ),
    "packed-stands-still": (
        standing_still(1, 0),
        "Every step uses the first tile of packed. It moves on by k // 2 bytes.",
    ),
    "both-stand-still": (
        standing_still(0, 0),
        "Every step uses the first tiles of x and packed. Go on along K.",
    ),
}


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
        launches=1,
        results=("q", "scales"),
        max_tile=lambda x, block=8192: block,
        max_programs=lambda x, block=8192: x.shape[0],
        mistakes=ROW_MISTAKES,
    ),
    "matmul_w8a8": Check(
        w8a8_ref,
        PRODUCTS,
        HIDDEN_PRODUCTS,
        launches=1,
        max_programs=lambda xq, sx, wq, sw, dtype, tile=None: programs(xq, wq, tile),
        tolerance=rounded_once(1),
        mistakes=PRODUCT_MISTAKES,
        also=[products.uses_the_tile(PRODUCTS[1]), products.stores_once(PRODUCTS[1]), stays_int8],
    ),
    "matmul_w4a16": Check(
        w4a16_ref,
        PACKED,
        HIDDEN_PACKED,
        launches=1,
        max_programs=lambda x, packed, scales, group, tile=None: programs(x, packed, tile),
        tolerance=products.tolerance,
        mistakes=PACKED_MISTAKES,
        also=[products.uses_the_tile(PACKED[2])],
    ),
}
