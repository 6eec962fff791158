"""What the checks of 55_sampling try: cases and references."""

import dataclasses

import numpy as np
import torch
import triton

from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import launches, starts, tiles_of_at_most

from ..shared.walks import whole_tiles
from . import page
from .page import top_p_ref

INFINITY = float("inf")
# Found by search: with these seeds tl.rand is 0 for counter 0, and for counter 3.
ZERO_AT_0, ZERO_AT_3 = 1352247272, 632961658


LOW = np.uint64(0xFFFFFFFF)


def uniform_at(seed, counters):
    """tl.rand of a seed and counters, each a number or an array.

    Philox 4x32-10 (J. Salmon and others, Parallel random numbers: as easy as 1, 2, 3, 2011), then
    Triton's way from 32 bits to a float.
    """
    half = np.uint64(32)
    c0, seed = np.asarray(counters, dtype=np.uint64), np.asarray(seed, dtype=np.uint64)
    c1, c2, c3 = (np.zeros_like(c0) for _ in range(3))
    k0, k1 = seed & LOW, seed >> half
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (b >> half) ^ c1 ^ k0, b & LOW, (a >> half) ^ c3 ^ k1, a & LOW
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & LOW, (k1 + np.uint64(0xBB67AE85)) & LOW
    bits = c0.astype(np.uint32).view(np.int32)
    bits = np.where(bits < 0, -bits - 1, bits)
    return torch.from_numpy(bits.astype(np.float32) * np.float32(4.6566127342e-10))


def uniform(seed, count):
    """tl.rand of the counters 0 to count - 1."""
    return uniform_at(seed, np.arange(count))


def uniform_as(x, seed):
    return uniform(seed, x.numel()).view(x.shape)


def exact_dropout(x, p, seed):
    return page.dropout_ref(x, p, uniform_as(x, seed))


def exact_sample(logits, temperature, seed):
    return page.sample_ref(logits, temperature, uniform_as(logits, seed).double())


def seeded(note, seed, **more):
    """A case whose last argument is called seed, which `case` has another use for."""
    made = case(note, **more)
    return dataclasses.replace(made, arguments=made.arguments | {"seed": seed})


def forbidden(row, words):
    return {(row, v): -INFINITY for v in words}


def drawn(doubtful, scale, mean, fixed):
    """A sampler of logits: rows that are `doubtful` by a rounding error are drawn again.

    fixed: {index: logit}. Logits are eighths, which half precision holds too.
    """

    def draw(generator, shape):
        z = torch.randn(shape, generator=generator, dtype=torch.float64) * scale + mean
        z = (z * 8).round() / 8
        for index, logit in fixed.items():
            z[index] = logit
        return z

    def values(generator, shape):
        z = draw(generator, shape)
        while (again := doubtful(z)).any():
            z = torch.where(again[:, None], draw(generator, shape), z)
        return z

    return values


# --- dropout


def dropout_case(note, *shape, p=0.25, seed=42, block=16, **x):
    dtype = x.pop("dtype", "float32")
    return seeded(note, seed, x=tensor(*shape, **x), p=p, options={"block": block}, dtype=dtype)


NUMBERS = [
    dropout_case("100 numbers in tiles of 16", 100, seed=7),
    dropout_case("one tile", 16, p=0.5),
    dropout_case("three dimensions", 3, 5, 7, p=0.75, block=32),
    dropout_case("p = 0, and a u that is 0", 20, p=0.0, seed=ZERO_AT_0),
    dropout_case("a seed of 41 bits", 50, seed=2**40 + 3),
    dropout_case("half precision", 90, p=0.3, block=64, dtype="float16"),
    seeded("p = 1", 1, x=tensor(8), p=1.0, raises=ValueError),
    seeded("x with gaps", 1, x=tensor(4, 8, layout="strided"), p=0.5, raises=ValueError),
    dropout_case("no numbers", 0),
    seeded("p below 0", 1, x=tensor(8), p=-0.5, raises=ValueError),
]

HIDDEN_NUMBERS = [
    dropout_case("a thousand numbers", 1000, p=0.1, seed=3, block=128),
    dropout_case("one number", 1),
    dropout_case("the block as it is", 2100, p=0.6, seed=0, block=1024),
    dropout_case("bfloat16", 7, 30, p=0.4, seed=99, block=32, dtype="bfloat16"),
]


# --- sample


def scores_of(z, temperature, seed):
    u = uniform_as(z, seed).double().clamp(min=1e-10)
    return z - temperature * torch.log(-torch.log(u))


def close(temperature, seed):
    """Rows whose two highest scores are nearly equal, but not quite."""

    def doubtful(z):
        if z.shape[1] < 2:
            return torch.zeros(z.shape[0], dtype=torch.bool)
        first, second = scores_of(z, temperature, seed).topk(2, dim=1).values.unbind(1)
        return (first - second < 1e-3) & (first > second)

    return doubtful


def draw_case(note, B, V, temperature=1.0, seed=42, block=16, layout="contiguous", **more):
    dtype = more.pop("dtype", "float32")
    scale, mean = more.pop("scale", 1.5), more.pop("mean", 0.0)
    values = drawn(close(temperature, seed), scale, mean, more.pop("fixed", {}))
    return seeded(
        note,
        seed,
        logits=tensor(B, V, layout=layout, values=values, **more),
        temperature=temperature,
        options={"block": block},
        dtype=dtype,
    )


TURNED = tensor(8, 4, layout="transposed")
# Below what a careless "minus infinity" is, but for one word of each row.
DEEP = {"scale": 0.0, "mean": -2e30, "fixed": {(0, 36): -1e30, (1, 5): -1e30}}
# All words but one forbidden.
ONE_WORD = forbidden(0, range(6)) | {(0, 3): 5.0}
# The noise of word 0 is 0.68. That of word 3 is -3.14 for a u of 1e-10, and -2.91 for one of 1e-8.
TWO_WORDS = forbidden(0, range(6)) | {(0, 0): 0.0, (0, 3): 3.625}
# The highest logit is there twice: in one tile, and in two.
TWICE = {(0, 2): 12.0, (0, 5): 12.0, (1, 4): 12.0, (1, 20): 12.0}

DRAWS = [
    draw_case(
        "37 words in tiles of 16", 12, 37, temperature=0.5, seed=7, scale=1.0, fixed={(11, 34): 9.0}
    ),
    draw_case("one tile", 4, 16),
    draw_case("equal logits: noise alone decides", 5, 24, scale=0.0),
    draw_case("temperature 0, the same logit twice", 4, 40, temperature=0.0, mean=5.0, fixed=TWICE),
    draw_case("temperature 1/4", 6, 20, temperature=0.25),
    draw_case("temperature 3", 6, 33, temperature=3.0, seed=2**40 + 3),
    draw_case("logits around -300", 4, 20, mean=-300.0),
    draw_case("logits of -2e30, but for one a row", 2, 37, **DEEP),
    draw_case("the first tile forbidden", 3, 40, fixed=forbidden(1, range(16))),
    draw_case("one word allowed, and its u is 0", 1, 6, seed=ZERO_AT_3, fixed=ONE_WORD),
    draw_case("two words allowed, and one's u is 0", 1, 6, seed=ZERO_AT_3, fixed=TWO_WORDS),
    draw_case("temperature 0, and a u that is 0", 1, 12, 0.0, seed=ZERO_AT_3, fixed={(0, 3): 9.0}),
    draw_case("half precision", 4, 50, block=32, dtype="float16"),
    # Numbers around 60 are 1/4 apart in bfloat16: scores that are rounded to it are often equal.
    draw_case("bfloat16, logits around 60", 8, 40, dtype="bfloat16", mean=60.0),
    draw_case("rows with gaps", 3, 21, layout="strided"),
    seeded("temperature below 0", 1, logits=tensor(2, 8), temperature=-1.0, raises=ValueError),
    seeded(
        "words that do not lie side by side", 1, logits=TURNED, temperature=1.0, raises=ValueError
    ),
    draw_case("no rows", 0, 20),
    seeded("three dimensions", 1, logits=tensor(2, 3, 4), temperature=1.0, raises=ValueError),
]

HIDDEN_DRAWS = [
    draw_case("1,000 words", 3, 1000, block=256, seed=5),
    draw_case("one word", 2, 1),
    draw_case("the block as it is", 2, 300, block=4096, seed=0),
    draw_case("bfloat16", 4, 45, block=32, dtype="bfloat16", temperature=0.75),
    draw_case("temperature 0", 5, 60, temperature=0.0, scale=3.0),
    draw_case("another seed of 41 bits", 4, 30, seed=2**40 + 11),
]


# --- top_p_filter


def touchy(p):
    """Rows in which some words have nearly p together."""

    def doubtful(z):
        mass = z.softmax(-1).sort(-1, descending=True).values.cumsum(-1)
        return ((mass - p).abs() < 1e-4).any(-1)

    return doubtful


def filter_case(note, B, V, p=0.8, block=16, layout="contiguous", **more):
    dtype = more.pop("dtype", "float32")
    scale, mean = more.pop("scale", 1.5), more.pop("mean", 0.0)
    values = drawn(touchy(p), scale, mean, more.pop("fixed", {}))
    return case(
        note,
        logits=tensor(B, V, layout=layout, values=values, **more),
        p=p,
        options={"block": block},
        dtype=dtype,
    )


# Words as unlikely as that: each wrong threshold leaves in others of them.
UNLIKELY = ((0, 0.5), (3, -12.0), (4, -15.125), (5, -22.0), (6, -28.0))
FAR = {(b, v): z for b in (0, 1) for v, z in UNLIKELY}
# With 3.0 one of the four zeros is enough, and they are equal.
ZEROS = {(0, 2): 3.0, (0, 4): -0.0, (0, 7): 0.0, (0, 9): -0.0, (0, 12): 0.0}

# One row, each logit 0.00002 below the one before, not in this order: more than what is equal.
NEAR = {(0, v): -0.00002 * (11 * v % 40) for v in range(40)}

FILTERS = [
    filter_case("one tile", 5, 16, p=0.7, mean=-0.75, scale=0.75, fixed=FAR),
    filter_case("40 words in tiles of 16", 6, 40, p=0.25),
    filter_case("37 words in tiles of 16", 3, 37),
    filter_case("p of 0.98", 3, 40, p=0.98),
    filter_case("p of 0.001: one word stays, or its equals", 3, 21, p=0.001),
    filter_case("equal logits stay together", 3, 40, scale=0.125, p=0.55),
    filter_case("logits around 300: exponentials overflow", 3, 20, mean=300.0),
    filter_case("logits around -300: exponentials vanish", 3, 20, mean=-300.0),
    filter_case("logits of -2e30, but for one a row", 2, 37, **DEEP),
    filter_case("0.0 and -0.0 stay together", 1, 16, p=0.83, scale=0.0, mean=-3.0, fixed=ZEROS),
    filter_case(
        "forbidden words", 2, 40, fixed=forbidden(0, range(16)) | forbidden(1, range(20, 30))
    ),
    filter_case("a word that towers above the others", 2, 20, scale=30.0),
    filter_case("logits 0.00002 apart", 2, 40, p=0.56, fixed=NEAR),
    filter_case("half precision", 3, 50, block=32, dtype="float16"),
    filter_case("rows with gaps", 3, 21, layout="strided"),
    case("p = 1", logits=tensor(2, 8), p=1.0, raises=ValueError),
    case("words that do not lie side by side", logits=TURNED, p=0.5, raises=ValueError),
    filter_case("no rows", 0, 20),
    case("p = 0", logits=tensor(2, 8), p=0.0, raises=ValueError),
]

HIDDEN_FILTERS = [
    filter_case("1,000 words", 2, 1000, block=256, p=0.9),
    filter_case("one word", 2, 1),
    filter_case("the block as it is", 2, 300, p=0.7, block=8192),
    filter_case("bfloat16", 3, 45, block=32, dtype="bfloat16"),
    filter_case("flat", 2, 30, scale=0.0, p=0.31),
    filter_case("p of 0.995", 2, 60, p=0.995, scale=0.5),
]


CHECKS = {
    "dropout": Check(
        exact_dropout,
        NUMBERS,
        HIDDEN_NUMBERS,
        asks=[
            launches(1),
            starts(lambda x, p, seed, block=1024: triton.cdiv(x.numel(), block)),
            tiles_of_at_most(lambda x, p, seed, block=1024: block),
        ],
        tolerance=rounded_once(1),
    ),
    "sample": Check(
        exact_sample,
        DRAWS,
        HIDDEN_DRAWS,
        asks=[
            launches(1),
            starts(lambda logits, temperature, seed, block=4096: logits.shape[0]),
            tiles_of_at_most(lambda logits, temperature, seed, block=4096: block),
            whole_tiles(DRAWS[0]),
        ],
    ),
    "top_p_filter": Check(
        top_p_ref,
        FILTERS,
        HIDDEN_FILTERS,
        asks=[
            launches(1),
            starts(lambda logits, p, block=8192: logits.shape[0]),
            tiles_of_at_most(lambda logits, p, block=8192: block),
        ],
        tolerance=Tolerance(0.0, because="a word that stays keeps its logit"),
    ),
}
