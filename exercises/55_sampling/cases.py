"""What the checks of 55_sampling try: cases, references, mistakes that have a name."""

import dataclasses

import numpy as np
import torch
import triton

from tritonbook.checking import SAME_BITS, Check, case, rounded_once, tensor

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


def swapped(x, seed):
    """tl.rand(element, seed)."""
    return uniform_at(np.arange(x.numel()), seed & 0xFFFFFFFF).view(x.shape)


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


def width(V, block):
    """How many lanes a tile has."""
    return min(block, triton.next_power_of_2(V))


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


def dropped(keep, scale=lambda p: 1 / (1 - p)):
    """A mistake: x times scale(p) where keep(u of each element, p) holds."""

    def wrong(x, p, seed):
        u = uniform_as(x, seed)
        return torch.where(keep(u, p), x * scale(p), 0)

    return wrong


def by_counters(counters):
    """A mistake: dropout with the counters counters(element, block)."""

    def wrong(x, p, seed, *, block=1024):
        at = counters(torch.arange(x.numel()), block)
        u = uniform(seed, int(at.max()) + 1)[at].view(x.shape)
        return torch.where(u >= p, x / (1 - p), 0)

    return wrong


def seed_for_each_tile(x, p, seed, *, block=1024):
    tiles = range(triton.cdiv(x.numel(), block))
    u = torch.cat([uniform(seed + tile, block) for tile in tiles])[: x.numel()]
    return torch.where(u.view(x.shape) >= p, x / (1 - p), 0)


def stays(u, p):
    return u >= p


NUMBER_MISTAKES = {
    "counters-of-a-tile": (
        by_counters(lambda n, block: n % block),
        "Every tile got the same random numbers. The counter is the element's number, not its "
        "lane.",
    ),
    "counters-overlap": (
        by_counters(lambda n, block: n // block + n % block),
        "Neighbouring tiles share random numbers: their counters begin 1 apart, not BLOCK.",
    ),
    "number-of-a-program": (
        by_counters(lambda n, block: n // block),
        "A whole tile stays or goes: it has one random number. Each element needs its own.",
    ),
    "seed-for-each-tile": (
        seed_for_each_tile,
        "The seed changes from tile to tile, so another block would give another mask. Keep the "
        "seed, and count elements.",
    ),
    "seed-ignored": (
        lambda x, p, seed: exact_dropout(x, p, 0),
        "These are the numbers of seed 0. Give `tl.rand` the seed.",
    ),
    "seed-and-counter-swapped": (
        lambda x, p, seed: torch.where(swapped(x, seed) >= p, x / (1 - p), 0),
        "The seed and the counters are swapped: `tl.rand(seed, offsets)`.",
    ),
    "mask-inverted": (
        dropped(lambda u, p: u < p),
        "The mask is the wrong way round: u < p has probability p, and those go.",
    ),
    "mask-inverted-and-scale": (
        dropped(lambda u, p: u < p, lambda p: 1 / p if p else 1.0),
        "p is the probability to go to 0, not to stay.",
    ),
    "mask-inverted-no-scale": (
        dropped(lambda u, p: u < p, lambda p: 1.0),
        "The mask is the wrong way round, and the factor 1 / (1 - p) is missing.",
    ),
    "scale-forgotten": (
        dropped(stays, lambda p: 1.0),
        "The numbers that stay are as they were. Divide them by 1 - p.",
    ),
    "scale-by-p": (
        dropped(stays, lambda p: 1 / p if p else 1e30),
        "Divided by p. What stays has probability 1 - p: divide by that.",
    ),
    "scale-multiplied": (
        dropped(stays, lambda p: 1 - p),
        "Multiplied by 1 - p. Divide: fewer numbers must make up for the others.",
    ),
    "brackets-missing": (
        lambda x, p, seed: torch.where(uniform_as(x, seed) >= p, x - p, 0),
        "p was subtracted from x: `x / 1 - p` divides by 1. Brackets around 1 - p.",
    ),
    "against-1-minus-p": (
        dropped(lambda u, p: u >= 1 - p),
        "u >= 1 - p has the probability p. What stays has u >= p.",
    ),
    "x-compared": (
        lambda x, p, seed: torch.where(x >= p, x / (1 - p), 0),
        "x was compared with p. It is the random number that decides.",
    ),
    "dropped-to-minus-infinity": (
        lambda x, p, seed: torch.where(uniform_as(x, seed) >= p, x / (1 - p), -INFINITY),
        "What is dropped is minus infinity here. It becomes 0.",
    ),
    "scale-one-plus-p": (
        dropped(stays, lambda p: 1 / (1 + p)),
        "Divided by 1 + p instead of 1 - p.",
    ),
    "dropped-not-zero": (
        lambda x, p, seed: torch.where(uniform_as(x, seed) >= p, x / (1 - p), x),
        "What should be dropped is still there. It becomes 0.",
    ),
    "from-the-other-end": (
        dropped(lambda u, p: u < 1 - p),
        "u < 1 - p is as likely, but the contract keeps the numbers with u >= p.",
    ),
    "nothing-dropped": (
        lambda x, p, seed: x / (1 - p),
        "No number became 0. Is the mask used?",
    ),
    "u-of-p": (
        dropped(lambda u, p: u > p),
        "With p = 0 nothing may go, but u can be 0, and 0 > 0 is false. Use >=.",
    ),
}


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


# All words but one forbidden.
ONE_WORD = forbidden(0, range(6)) | {(0, 3): 5.0}
# The noise of word 0 is 0.68. That of word 3 is -3.14 for a u of 1e-10, and -2.91 for one of 1e-8.
TWO_WORDS = forbidden(0, range(6)) | {(0, 0): 0.0, (0, 3): 3.625}
# The highest logit is there twice: in one tile, and in two.
TWICE = {(0, 2): 12.0, (0, 5): 12.0, (1, 4): 12.0, (1, 20): 12.0}

DRAWS = [
    draw_case(
        "37 words in tiles of 16",
        12,
        37,
        temperature=0.5,
        seed=7,
        scale=1.0,
        fixed={(11, 34): 9.0},
    ),
    draw_case("one tile", 4, 16),
    draw_case("equal logits: noise alone decides", 5, 24, scale=0.0),
    draw_case("temperature 0, the same logit twice", 4, 40, temperature=0.0, mean=5.0, fixed=TWICE),
    draw_case("temperature 1/4", 6, 20, temperature=0.25),
    draw_case("temperature 3", 6, 33, temperature=3.0, seed=2**40 + 3),
    draw_case("logits around -300", 4, 20, mean=-300.0),
    draw_case(
        "logits of -2e30, but for one a row",
        *(2, 37),
        scale=0.0,
        mean=-2e30,
        fixed={(0, 36): -1e30, (1, 5): -1e30},
    ),
    draw_case("the first tile forbidden", 3, 40, fixed=forbidden(1, range(16))),
    draw_case("one word allowed, and its u is 0", 1, 6, seed=ZERO_AT_3, fixed=ONE_WORD),
    draw_case("two words allowed, and one's u is 0", 1, 6, seed=ZERO_AT_3, fixed=TWO_WORDS),
    draw_case(
        "temperature 0, and a u that is 0",
        1,
        12,
        temperature=0.0,
        seed=ZERO_AT_3,
        fixed={(0, 3): 9.0},
    ),
    draw_case("half precision", 4, 50, block=32, dtype="float16"),
    # Numbers around 60 are 1/4 apart in bfloat16: scores that are rounded to it are often equal.
    draw_case("bfloat16, logits around 60", 8, 40, dtype="bfloat16", mean=60.0),
    draw_case("rows with gaps", 3, 21, layout="strided"),
    seeded("temperature below 0", 1, logits=tensor(2, 8), temperature=-1.0, raises=ValueError),
    seeded(
        "words that do not lie side by side",
        1,
        logits=tensor(8, 4, layout="transposed"),
        temperature=1.0,
        raises=ValueError,
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


def gumbel(u):
    return -torch.log(-torch.log(u.double().clamp(min=1e-10)))


def by_scores(scores):
    """A mistake: the argmax of scores(z, temperature, u)."""

    def wrong(logits, temperature, seed):
        u = uniform_as(logits, seed).double().clamp(min=1e-10)
        return scores(logits, temperature, u).nan_to_num(-1e30).argmax(-1)

    return wrong


def with_counters(counters):
    """A mistake: the counters are counters(b, v, V, width of a tile)."""

    def wrong(logits, temperature, seed, *, block=4096):
        B, V = logits.shape
        at = counters(torch.arange(B)[:, None], torch.arange(V), V, width(V, block))
        at = at.expand(B, V)
        u = uniform(seed, int(at.max()) + 1)[at]
        return (logits + temperature * gumbel(u)).argmax(-1)

    return wrong


def seed_for_each_row(logits, temperature, seed):
    u = torch.stack([uniform(seed + b, logits.shape[1]) for b in range(len(logits))])
    return (logits + temperature * gumbel(u)).argmax(-1)


def from_tile(which, whole_number=True):
    """A mistake: the best word of one tile, which(best scores of the tiles) says of which."""

    def wrong(logits, temperature, seed, *, block=4096):
        wide = width(logits.shape[1], block)
        tiles = scores_of(logits, temperature, seed).split(wide, dim=1)
        tops = torch.stack([tile.amax(1) for tile in tiles], dim=1)
        lanes = torch.stack([tile.argmax(1) for tile in tiles], dim=1)
        tile = which(tops)
        lane = lanes.gather(1, tile[:, None])[:, 0]
        return lane + tile * wide if whole_number else lane

    return wrong


def padded(logits, temperature, seed, *, block=4096):
    """Lanes past the end hold the logit 0, and counters that go on."""
    B, V = logits.shape
    wide = -(-V // width(V, block)) * width(V, block)
    at = torch.arange(B)[:, None] * V + torch.arange(wide)
    z = torch.nn.functional.pad(logits, (0, wide - V))
    return (z + temperature * gumbel(uniform(seed, int(at.max()) + 1)[at])).argmax(-1)


def later_of_equals(logits, temperature, seed, *, block=4096):
    """>= between tiles: the last of the tiles that have the best score."""

    def last(tops):
        best = tops == tops.amax(1, keepdim=True)
        return (best * torch.arange(tops.shape[1])).amax(1)

    return from_tile(last)(logits, temperature, seed, block=block)


def higher_than_before(logits, temperature, seed, *, block=4096):
    """The best of the last tile that is better than the tile before it."""

    def last_rise(tops):
        before = torch.cat((torch.full_like(tops[:, :1], -INFINITY), tops[:, :-1]), dim=1)
        return ((tops > before) * torch.arange(tops.shape[1])).amax(1)

    return from_tile(last_rise)(logits, temperature, seed, block=block)


def scores_in_half(logits, temperature, seed, *, dtype=torch.float32):
    return scores_of(logits, temperature, seed).to(dtype).double().argmax(-1)


def replaced_by_lower(logits, temperature, seed, *, block=4096):
    """The word is replaced where the tile's score is no higher than the best so far."""
    wide = width(logits.shape[1], block)
    best = torch.full((len(logits),), -INFINITY, dtype=torch.float64)
    word = torch.zeros(len(logits), dtype=torch.int64)
    for at, tile in enumerate(scores_of(logits, temperature, seed).split(wide, dim=1)):
        top, lane = tile.max(1)
        word = torch.where(top > best, word, at * wide + lane)
        best = best.maximum(top)
    return word


def start_times_block(logits, temperature, seed, *, block=4096):
    wide = width(logits.shape[1], block)
    word = exact_sample(logits, temperature, seed)
    return word // wide * wide * wide + word % wide


def last_lane_of_equals(logits, temperature, seed, *, block=4096):
    """Of equal scores in a tile the last one."""
    scores = scores_of(logits, temperature, seed)
    wide = width(logits.shape[1], block)
    tile = scores.argmax(1) // wide
    best = scores == scores.amax(1, keepdim=True)
    words = torch.arange(logits.shape[1])
    return (best & (words // wide == tile[:, None])).mul(words).amax(1)


def zero_as_it_is(logits, temperature, seed):
    """u = 0 is not avoided: its score is minus infinity or NaN, and higher than nothing."""
    lost = (uniform_as(logits, seed) == 0).any(1)
    return torch.where(lost, 0, exact_sample(logits, temperature, seed))


def best_from_zero(logits, temperature, seed):
    """Scores below 0 never win, so the word stays 0."""
    scores = scores_of(logits, temperature, seed)
    return torch.where(scores.amax(1) > 0, scores.argmax(1), 0)


def divided(logits, temperature, seed):
    """Logits over the temperature; over 0 they are infinite, and the first positive one wins."""
    if temperature:
        return (logits / temperature + scores_of(torch.zeros_like(logits), 1.0, seed)).argmax(-1)
    return (logits > 0).int().argmax(-1)


DRAW_MISTAKES = {
    "u-cut-too-high": (
        by_scores(lambda z, T, u: z + T * gumbel(u.clamp(min=1e-3))),
        "u was cut off too high: `tl.rand` gives smaller numbers too. Only 0 is to be avoided.",
    ),
    "same-in-each-row": (
        with_counters(lambda b, v, V, wide: v),
        "Every row has the same random numbers. Word v of row b has the counter b V + v.",
    ),
    "same-in-each-tile": (
        with_counters(lambda b, v, V, wide: b * V + v % wide),
        "The tiles of a row have the same random numbers. Use the word's number in the whole row.",
    ),
    "same-in-all-tiles": (
        with_counters(lambda b, v, V, wide: v % wide),
        "All tiles of all rows have the same random numbers. Word v of row b has the counter "
        "b V + v.",
    ),
    "counters-overlap": (
        with_counters(lambda b, v, V, wide: b + v),
        "The counters are b + v, so neighbouring rows share them. A row begins V later: b V + v.",
    ),
    "counters-from-padding": (
        with_counters(lambda b, v, V, wide: b * wide + v),
        "The rows' counters are a tile apart. They are V apart: b V + v.",
    ),
    "start-twice": (
        with_counters(lambda b, v, V, wide: b * V + v + v // wide * wide),
        "The counters have `start` in them twice. Word v of row b has the counter b V + v.",
    ),
    "counters-by-words": (
        with_counters(lambda b, v, V, wide: b + v * (int(b.max()) + 1)),
        "The counters go down the columns. Word v of row b has b V + v.",
    ),
    "seed-for-each-row": (
        seed_for_each_row,
        "Each row has a seed of its own. The contract keeps the seed, and counts: b V + v.",
    ),
    "seed-ignored": (
        lambda logits, temperature, seed: exact_sample(logits, temperature, 0),
        "These are the numbers of seed 0. Give `tl.rand` the seed.",
    ),
    "seed-and-counter-swapped": (
        lambda logits, temperature, seed: (
            logits + temperature * gumbel(swapped(logits, seed))
        ).argmax(-1),
        "The seed and the counters are swapped: `tl.rand(seed, offsets)`.",
    ),
    "no-noise": (
        by_scores(lambda z, T, u: z),
        "This is the most likely word, whatever the temperature. Add the noise, which is another "
        "number for each word.",
    ),
    "noise-alone": (
        by_scores(lambda z, T, u: u),
        "The noise decides alone: the logits are missing.",
    ),
    "temperature-ignored": (
        by_scores(lambda z, T, u: z + gumbel(u)),
        "The temperature does nothing. Multiply the noise by it.",
    ),
    "temperature-inverted": (
        by_scores(lambda z, T, u: z * T + gumbel(u)),
        "The temperature acts the wrong way round: a high one must make the noise count for more. "
        "Multiply the noise by it.",
    ),
    "divided-by-zero": (
        divided,
        "Divided by the temperature, which may be 0. Multiply the noise by it instead.",
    ),
    "noise-backwards": (
        by_scores(lambda z, T, u: z - T * gumbel(u)),
        "The noise has the wrong sign. It is the negative logarithm of a waiting time.",
    ),
    "waiting-time-added": (
        by_scores(lambda z, T, u: z - T * torch.log(u)),
        "-log(u) was added, a waiting time. The noise is -log of that.",
    ),
    "waiting-time-subtracted": (
        by_scores(lambda z, T, u: z + T * torch.log(u)),
        "log(u) was added, a negative waiting time. The noise is -log of the waiting time.",
    ),
    "u-mirrored": (
        by_scores(lambda z, T, u: z + T * gumbel(1 - u)),
        "1 - u is as random as u, but the contract takes u.",
    ),
    "uniform-added": (
        by_scores(lambda z, T, u: z + T * u),
        "u was added as it is. The noise is -log(-log(u)).",
    ),
    "log-base-two": (
        by_scores(lambda z, T, u: z - T * torch.log2(-torch.log2(u))),
        "Logarithms of base 2. `tl.log` is the natural one.",
    ),
    "exponentials": (
        by_scores(lambda z, T, u: z.exp() + T * gumbel(u)),
        "The noise was added to exponentials. It belongs to logits.",
    ),
    "probabilities": (
        by_scores(lambda z, T, u: (z / max(T, 1e-30)).softmax(-1) + gumbel(u)),
        "The noise was added to probabilities. It belongs to logits.",
    ),
    "higher-than-before": (
        higher_than_before,
        "Each tile is compared with the one before it. `best` is the highest score of all so far.",
    ),
    "start-times-block": (
        start_times_block,
        "`start` counts words already. The word's number is start + lane.",
    ),
    "first-tile-only": (
        from_tile(lambda tops: 0 * tops[:, 0].long()),
        "The word is the best of the first tile. Later tiles may be better.",
    ),
    "last-tile-only": (
        from_tile(lambda tops: tops[:, 0].long() * 0 + tops.shape[1] - 1),
        "The word is the best of the last tile. Replace the word only by a higher score, and keep "
        "the best score.",
    ),
    "lane-for-word": (
        from_tile(lambda tops: tops.argmax(1), whole_number=False),
        "This is the lane in its tile. The word's number needs `start`.",
    ),
    "later-of-equals": (
        later_of_equals,
        "Of equal scores the first word wins: replace it only by a score that is higher.",
    ),
    "last-lane-of-equals": (
        last_lane_of_equals,
        "Of equal scores the first word wins, inside a tile too.",
    ),
    "padding-wins": (
        padded,
        "A lane past the end of the row won. What must `other=` be under a maximum?",
    ),
    "starts-at-zero": (
        best_from_zero,
        "`best` starts at a number that no score of the row reaches, and so it has no word. Start "
        "below all of them, at minus infinity.",
    ),
    "zero-as-it-is": (
        zero_as_it_is,
        "u was 0. Its noise is minus infinity, and 0 times that is NaN: keep u above 0.",
    ),
    "never-replaced": (
        lambda logits, temperature, seed: torch.zeros(len(logits), dtype=torch.int64),
        "The word stays 0: no score was higher than `best`. Does `best` change before it is "
        "compared, or is a score NaN, as the logarithm of a negative number is?",
    ),
    "replaced-by-lower": (
        replaced_by_lower,
        "The word is replaced by lower scores, and kept before higher ones. Turn the `tl.where` "
        "round.",
    ),
    "word-of-all-rows": (
        lambda logits, temperature, seed: (
            exact_sample(logits, temperature, seed) + torch.arange(len(logits)) * logits.shape[1]
        ),
        "This is the word's counter, b V + v. The result is v, its number in its own row.",
    ),
    "scores-in-half": (
        scores_in_half,
        "The scores were rounded to half precision, and the highest ones became equal. Compute "
        "them in float32.",
    ),
    "tile-for-word": (
        lambda logits, temperature, seed, *, block=4096: (
            exact_sample(logits, temperature, seed)
            // width(logits.shape[1], block)
            * width(logits.shape[1], block)
        ),
        "This is the first word of the tile that has the best one. Its lane is missing.",
    ),
}


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

FILTERS = [
    filter_case("one tile", 5, 16, p=0.7, mean=-0.75, scale=0.75, fixed=FAR),
    filter_case("40 words in tiles of 16", 6, 40, p=0.25),
    filter_case("37 words in tiles of 16", 3, 37),
    filter_case("p of 0.98", 3, 40, p=0.98),
    filter_case("p of 0.001: one word stays, or its equals", 3, 21, p=0.001),
    filter_case("equal logits stay together", 3, 40, scale=0.125, p=0.55),
    filter_case("logits around 300: exponentials overflow", 3, 20, mean=300.0),
    filter_case("logits around -300: exponentials vanish", 3, 20, mean=-300.0),
    filter_case(
        "forbidden words",
        2,
        40,
        fixed=forbidden(0, range(16)) | forbidden(1, range(20, 30)),
    ),
    filter_case("a word that towers above the others", 2, 20, scale=30.0),
    filter_case("half precision", 3, 50, block=32, dtype="float16"),
    filter_case("rows with gaps", 3, 21, layout="strided"),
    case("p = 1", logits=tensor(2, 8), p=1.0, raises=ValueError),
    case(
        "words that do not lie side by side",
        logits=tensor(8, 4, layout="transposed"),
        p=0.5,
        raises=ValueError,
    ),
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


def kept(z, keep, other=-INFINITY):
    return torch.where(keep, z, other)


def bisected(enough, start=32.0, upper=False):
    """A mistake: bisection by enough(z, mid, p), which says in which rows mid becomes `lo`."""

    def wrong(logits, p):
        hi = logits.amax(1, keepdim=True)
        lo = hi - start
        for _ in range(24):
            mid = (lo + hi) / 2
            moved = enough(logits, mid, p)
            lo, hi = torch.where(moved, mid, lo), torch.where(moved, hi, mid)
        return kept(logits, logits >= (hi if upper else lo))

    return wrong


def mass(z, mid):
    """Probability of the words from mid on."""
    return torch.where(z >= mid, z.softmax(-1), 0).sum(1, keepdim=True)


def raw_mass(z, mid):
    """Sum of e^(z - maximum) over the words from mid on."""
    e = torch.exp(z - z.amax(1, keepdim=True))
    return torch.where(z >= mid, e, 0).sum(1, keepdim=True)


def without_maximum(z, mid, p):
    e = torch.exp(z.float()).double()
    total = raw_mass(z, -INFINITY)
    return torch.where(z >= mid, e, 0).sum(1, keepdim=True) >= p * total


def compared(left):
    """A mistake: mid is compared with left(z, the maximum, e) instead of z."""

    def enough(z, mid, p):
        highest = z.amax(1, keepdim=True)
        e = torch.exp(z - highest)
        counted = torch.where(left(z, highest, e) >= mid, e, 0)
        return counted.sum(1, keepdim=True) >= p * e.sum(1, keepdim=True)

    return bisected(enough)


def mass_from_lo(logits, p):
    """The mass is taken from `lo` on, and not from mid."""
    hi = logits.amax(1, keepdim=True)
    lo = hi - 32
    for _ in range(24):
        mid = (lo + hi) / 2
        moved = mass(logits, lo) >= p
        lo, hi = torch.where(moved, mid, lo), torch.where(moved, hi, mid)
    return kept(logits, logits >= lo)


def hi_stands_still(logits, p):
    hi = logits.amax(1, keepdim=True)
    lo = hi - 32
    for _ in range(24):
        mid = (lo + hi) / 2
        lo = torch.where(mass(logits, mid) >= p, mid, lo)
    return kept(logits, logits >= lo)


def moved_after_each_tile(logits, p, *, block=8192):
    probability, wide = logits.softmax(-1), width(logits.shape[1], block)
    hi = logits.amax(1, keepdim=True)
    lo = hi - 32
    for _ in range(24):
        mid = (lo + hi) / 2
        counted = torch.where(logits >= mid, probability, 0)
        for tile in range(0, logits.shape[1], wide):
            enough = counted[:, : tile + wide].sum(1, keepdim=True) >= p
            lo, hi = torch.where(enough, mid, lo), torch.where(enough, hi, mid)
    return kept(logits, logits >= lo)


def steps_of_one(logits, p, *, block=8192):
    """Word v is in every tile that begins at it or up to a tile's width before it."""
    times = (torch.arange(logits.shape[1]) + 1).clamp(max=width(logits.shape[1], block))

    def enough(z, mid, p):
        return torch.where(z >= mid, times * z.softmax(-1), 0).sum(1, keepdim=True) >= p

    return bisected(enough)(logits, p)


def of_tile(which):
    """A mistake: the mass of one tile of each walk."""

    def wrong(logits, p, *, block=8192):
        wide = width(logits.shape[1], block)
        in_tile = torch.arange(logits.shape[1]) // wide
        counted = in_tile == (0 if which == "first" else int(in_tile.max()))

        def enough(z, mid, p):
            return torch.where(counted & (z >= mid), z.softmax(-1), 0).sum(1, keepdim=True) >= p

        return bisected(enough)(logits, p)

    return wrong


def padding_counted(logits, p, *, block=8192):
    lanes = -logits.shape[1] % width(logits.shape[1], block)

    def enough(z, mid, p):
        extra = lanes * torch.where(mid <= 0, torch.exp(-z.amax(1, keepdim=True)), 0)
        return raw_mass(z, mid) + extra >= p * raw_mass(z, -INFINITY)

    return bisected(enough)(logits, p)


def lowest_kept(logits, p):
    stays = top_p_ref(logits, p) > -INFINITY
    return torch.where(stays, logits, INFINITY).amin(-1, keepdim=True)


def next_lower(logits, lowest):
    below = torch.where(logits < lowest, logits, -INFINITY).amax(1, keepdim=True)
    return torch.where(below > -INFINITY, below, lowest)


def right_keep(logits, p):
    return logits >= lowest_kept(logits, p)


FILTER_MISTAKES = {
    "upper-end": (
        bisected(lambda z, mid, p: mass(z, mid) >= p, upper=True),
        "The word that reaches p is missing. `hi` may be too high for it, `lo` never is: words "
        "with z >= lo stay.",
    ),
    "hi-moves-always": (
        bisected(lambda z, mid, p: mass(z, mid) < 0),
        "Every word stays, or nearly, as if the mass were never enough: does `hi` move in every "
        "step? `mass` is one number, the sum over all words from mid on. Where it reaches p times "
        "`l_i`, `lo` becomes mid. The last walk compares with `lo`.",
    ),
    "only-the-best": (
        bisected(lambda z, mid, p: mass(z, mid) > 0),
        "Only the most likely word stays: the mass was enough in every step. It has to reach p "
        "times `l_i`, starts at 0 in each step, and leaves out the words below mid.",
    ),
    "hi-stands-still": (
        hi_stands_still,
        "`lo` moves, and `hi` never does. Where the mass is not enough, `hi` becomes mid.",
    ),
    "moved-after-each-tile": (
        moved_after_each_tile,
        "`lo` and `hi` move after each tile of a row. First add up the whole row, then move one.",
    ),
    "steps-of-one": (
        steps_of_one,
        "The walk steps by 1, so words are counted many times. Step by BLOCK_V.",
    ),
    "e-for-z": (
        compared(lambda z, highest, e: e),
        "e was compared with mid. mid is a logit: compare z.",
    ),
    "distance-for-z": (
        compared(lambda z, highest, e: z - highest),
        "z - m_i was compared with mid. mid is a logit: compare z.",
    ),
    **{
        f"{value:g}-for-the-others": (
            lambda logits, p, value=value: kept(logits, right_keep(logits, p), value),
            f"The words that go have {value:g}. The contract asks for minus infinity.",
        )
        for value in (-1e4, -1e9, -1e10, -1e30, -1e38, -3.4e38)
    },
    "mass-from-lo": (
        mass_from_lo,
        "The mass is that of the words from `lo` on. It decides about mid: take the words from "
        "mid on.",
    ),
    "turned-round": (
        lambda logits, p: kept(logits, logits <= lowest_kept(logits, p)),
        "The comparison of the last walk is turned round: words with z >= lo stay.",
    ),
    "both-moved": (
        lambda logits, p: kept(logits, logits >= logits.amax(1, keepdim=True) - 16),
        "`lo` and `hi` became mid in the same step. One of them stays where it is.",
    ),
    "l-i-without-p": (
        bisected(lambda z, mid, p: mass(z, mid) >= 1 - 1e-7),
        "Every word with any probability stays: the mass is compared with `l_i`, not p times that.",
    ),
    "maximum-not-subtracted": (
        bisected(without_maximum),
        "The maximum was not subtracted from the exponent, but `l_i` was taken with it.",
    ),
    "complement": (
        bisected(lambda z, mid, p: mass(z, mid) >= 1 - p),
        "The words that stay have 1 - p. They need p.",
    ),
    "words-counted": (
        bisected(lambda z, mid, p: (z >= mid).double().mean(1, keepdim=True) >= p),
        "Words were counted. Add up their exponentials: a likely word weighs more.",
    ),
    "last-tile-only": (
        of_tile("last"),
        "The mass is that of the last tile of the row. Add up all of them.",
    ),
    "first-tile-only": (
        of_tile("first"),
        "The mass is that of the first tile of the row. Does the walk reach the end?",
    ),
    "words-counted-against-the-mass": (
        bisected(
            lambda z, mid, p: (z >= mid).double().sum(1, keepdim=True) >= p * raw_mass(z, -INFINITY)
        ),
        "Words were counted. Add up their exponentials: a likely word weighs more.",
    ),
    "mid-subtracted": (
        bisected(
            lambda z, mid, p: (
                raw_mass(z, mid) * torch.exp(z.amax(1, keepdim=True) - mid)
                >= p * raw_mass(z, -INFINITY)
            )
        ),
        "mid was subtracted from the exponent. Subtract `m_i`, as in `l_i`.",
    ),
    "one-word-too-many": (
        lambda logits, p: kept(logits, logits >= next_lower(logits, lowest_kept(logits, p))),
        "One more word stays than must, or several that are equal.",
    ),
    "padding-counted": (
        padding_counted,
        "Lanes past the end of the row count as words with the logit 0. What must `other=` be?",
    ),
    "exp2": (
        bisected(
            lambda z, mid, p: (
                torch.where(z >= mid, torch.exp2(z - z.amax(1, keepdim=True)), 0).sum(
                    1, keepdim=True
                )
                >= p * raw_mass(z, -INFINITY)
            )
        ),
        "The exponentials have base 2, but `l_i` has base e: `tl.exp`.",
    ),
    "zeros-for-the-others": (
        lambda logits, p: kept(logits, right_keep(logits, p), 0.0),
        "The words that go have the logit 0, which is not unlikely. Minus infinity forbids them.",
    ),
    "the-others-kept": (
        lambda logits, p: kept(logits, ~right_keep(logits, p)),
        "The most likely words are out, and the others stay. Turn the comparison round.",
    ),
    "own-probability": (
        lambda logits, p: kept(logits, logits.softmax(-1) >= p),
        "Each word was compared with p alone. Add up the words from mid on.",
    ),
    "share-of-the-best": (
        lambda logits, p: kept(
            logits, logits >= logits.amax(1, keepdim=True) + torch.tensor(p).log()
        ),
        "These are the words with p times the probability of the best. Add up probabilities.",
    ),
    "maximum-subtracted": (
        lambda logits, p: kept(logits - logits.amax(1, keepdim=True), right_keep(logits, p)),
        "The logits of the words that stay have lost the maximum. They stay as they are.",
    ),
    "exponentials-stored": (
        lambda logits, p: kept(
            torch.exp(logits - logits.amax(1, keepdim=True)), right_keep(logits, p)
        ),
        "Exponentials were stored. The words that stay keep their logits.",
    ),
    "probabilities-stored": (
        lambda logits, p: kept(logits.softmax(-1), right_keep(logits, p)),
        "Probabilities were stored. The words that stay keep their logits.",
    ),
}


CHECKS = {
    "dropout": Check(
        exact_dropout,
        NUMBERS,
        HIDDEN_NUMBERS,
        launches=1,
        tolerance=rounded_once(1),
        programs=lambda x, p, seed, block=1024: triton.cdiv(x.numel(), block),
        max_tile=lambda x, p, seed, block=1024: block,
        mistakes=NUMBER_MISTAKES,
    ),
    "sample": Check(
        exact_sample,
        DRAWS,
        HIDDEN_DRAWS,
        launches=1,
        programs=lambda logits, temperature, seed, block=4096: logits.shape[0],
        max_tile=lambda logits, temperature, seed, block=4096: block,
        mistakes=DRAW_MISTAKES,
        also=[whole_tiles(DRAWS[0])],
    ),
    "top_p_filter": Check(
        top_p_ref,
        FILTERS,
        HIDDEN_FILTERS,
        launches=1,
        programs=lambda logits, p, block=8192: logits.shape[0],
        max_tile=lambda logits, p, block=8192: block,
        tolerance=SAME_BITS,
        mistakes=FILTER_MISTAKES,
    ),
}
