"""What the checks of 12_rmsnorm_choose try: cases, and a model of times."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, rounded_once, tensor
from tritonbook.checking.asks import at_first, launches, offsets_of_64_bits, on_hidden, starts

from ..shared.norms import FULL, HALF, NAN, as_x, weighted
from .page import rmsnorm_ref, rows_for, splits_for
from .pictures import stored_regimes


def rows(note, *shape, each=None, **how):
    """each: rows of one program."""
    return weighted(note, *shape, options={"rows_per_program": each} if each else {}, **how)


# --- several rows a program


MULTIROW_CASES = [
    rows("rows that do not fill the programs", 10, 50, each=4),
    rows("rows that do", 8, 64, each=4),
    rows("as many rows as columns", 21, 8, each=8),
    rows("rows with gaps", 9, 33, each=2, layout="strided"),
    rows("transposed", 13, 21, each=8, layout="transposed"),
    rows("tiny numbers", 6, 100, each=4, scale=1e-3, eps=3e-6),
    rows("half precision, large", 5, 300, each=4, dtype="float16", scale=400),
    rows("bfloat16, w in float32", 7, 700, each=2, dtype="bfloat16", w=tensor(700, **FULL)),
    rows("three dimensions, transposed", 3, 5, 48, layout="transposed"),
    rows("fewer rows than a program takes, w in float16", 3, 40, each=16, w=tensor(40, **HALF)),
    rows("the largest tile", 1, 8192, each=8),
    rows(
        "a NaN in x and one in w",
        *(9, 40),
        each=4,
        planted={(2, 7): NAN},
        w=tensor(40, planted={5: NAN}),
    ),
    rows("no rows", 0, 64),
    rows("a weight too short", 3, 64, w=tensor(63), raises=ValueError),
    rows("rows that fit no program", 2, 9000, each=8, raises=ValueError),
    rows("a weight of one element", 3, 64, w=tensor(1), raises=ValueError),
    rows("a weight with gaps", 3, 64, w=tensor(64, layout="strided"), raises=ValueError),
]

MULTIROW_HIDDEN = [
    rows("one row", 1, 17, each=8),
    rows("one element", 1, 1),
    rows("one column", 37, 1, each=8),
    rows("one row each", 3, 255, each=1),
    rows("a long row", 3, 1000, each=2),
    rows("a square tile", 64, 64, each=64),
    rows("tiny numbers", 6, 130, each=8, scale=1e-3, eps=3e-6),
    rows("bfloat16", 70, 128, each=32, dtype="bfloat16"),
    rows("a large mean", 9, 90, each=4, mean=50),
    rows("transposed", 11, 30, each=4, layout="transposed"),
    rows("four dimensions", 2, 3, 2, 24, each=8),
    rows("one dimension", 60, each=2),
    rows("no rows", 2, 0, 33),
    rows("the largest tile", 1, 8000, each=8),
    rows("rows that fit no program", 40, 5000, each=16, raises=ValueError),
]


def as_few_as_it_takes(x, w, eps, rows_per_program=4):
    """Programs for all rows."""
    return triton.cdiv(x.shape[:-1].numel(), rows_per_program)


def contiguous(fn):
    x, w = torch.randn(6, 10, device=DEVICE).t(), torch.randn(6, device=DEVICE)
    try:
        y = fn(x, w)
    except Exception:  # the cases find words for it
        return
    assert not isinstance(y, torch.Tensor) or y.is_contiguous(), (
        "x is transposed, and so is the result: it has to be contiguous. (`torch.empty_like` keeps "
        "the order of x's strides.)"
    )


# --- which scheme when

SCHEMES = ("row", "loop", "split", "multirow")
LAUNCHES = {"row": 1, "loop": 1, "split": 2, "multirow": 1}
WORST, TIE = 1.25, 1.05
LEAST = {"row": 1.8, "loop": 2.0, "split": 3.1, "multirow": 1.8}  # microseconds of no work


def fits(scheme, N):
    """Schemes 1 and 4 hold whole rows, and a program can hold 65,536 elements."""
    return scheme in ("loop", "split") or N <= 65536


def time_us(scheme, M, N, num_sms=132):
    """Microseconds of a scheme in bfloat16: a model of an H100, or of one with fewer SMs.

    Whatever takes longest: bytes from memory, starts of programs, or what one program moves. Fitted
    to the stored map.
    """
    share = num_sms / 132
    size = 2 * M * N  # bytes of x, and of y
    pieces = splits_for(M, N, num_sms)
    programs = {
        "row": M,
        "loop": M,
        "split": 2 * M * pieces,
        "multirow": triton.cdiv(M, rows_for(N)),
    }[scheme]
    trips, own, rate, crowded = 2, 2 * size / max(programs, 1), 60e3, 1.0
    if scheme == "split":
        trips, own = 3, 6 * N / pieces
    elif scheme == "loop":  # rows under way, four for each SM: what the L2 cache cannot hold
        own, rate = 6 * N, 26e3 if N > 65536 and size > 12e6 else 53e3
        trips = 2 + min(max(min(M, 4 * num_sms) * 2 * N / 50e6 - 0.3, 0), 1)
    elif triton.next_power_of_2(N) == 65536:  # registers spill
        rate, crowded = 38e3, 1.65
    bytes_per_us = (5e6 if 2 * size < 25e6 else 2.85e6) * share
    memory, starts = trips * size / bytes_per_us * crowded, 0.6e-3 * programs / share
    return LEAST[scheme] + max(memory, starts, own / rate)


# M rows, N elements, SMs. Nowhere are there about as many long rows as SMs: there both are right.
SEEN = [
    (1 << 20, 64, 132),
    (200_000, 200, 132),
    (30, 200, 132),
    (16384, 4096, 132),
    (40, 2000, 132),
    (4, 16384, 132),
    (8, 262_144, 132),
    (40, 70_000, 132),
    (30, 1_000_000, 132),
    (5000, 24_000, 132),
    (120, 262_144, 16),
    (64, 262_144, 16),
    (4, 100_000, 16),
]
UNSEEN = [
    (500_000, 100, 132),
    (300_000, 33, 108),
    (1, 17, 132),
    (30_000, 700, 108),
    (5, 1000, 40),
    (2000, 2048, 40),
    (20, 6000, 132),
    (3000, 5120, 132),
    (20_000, 12_288, 108),
    (2, 12_000, 132),
    (3, 50_000, 108),
    (40, 100_000, 132),
    (12, 200_000, 40),
    (2, 700_000, 132),
    (40, 800_000, 108),
    (1000, 100_000, 132),
    (2000, 100_000, 108),
    (4000, 30_000, 40),
    (100, 400_000, 24),
]


def good_choices(choose, sizes):
    """Raise AssertionError unless `choose` is nearly as good as the best scheme for each size."""
    for M, N, num_sms in sizes:
        us = {s: time_us(s, M, N, num_sms) for s in SCHEMES if fits(s, N)}
        _good_choice(choose, M, N, num_sms, us)


def as_on_the_map(choose):
    """Raise AssertionError unless `choose` is nearly as good as the best measured time of each
    size of the stored map. What the map leaves out is scheme 1 by another name."""
    for row in stored_regimes().rows:
        us = {s: row["us"].get(s, row["us"].get("row")) for s in SCHEMES if fits(s, row["N"])}
        _good_choice(choose, row["M"], row["N"], 132, us)


def _good_choice(choose, M, N, num_sms, us):
    """us: microseconds of each scheme that can run."""
    asked = f"choose({M}, {N}, {num_sms})"
    chosen = choose(M, N, num_sms)
    assert chosen in SCHEMES, f"{asked} returns {chosen!r}, which is none of {SCHEMES}."
    assert chosen in us, f"{asked} is {chosen!r}, but no program holds so long a row."
    best = min(us.values())
    ratio = us[chosen] / best
    assert ratio < WORST, (
        f"{asked} is {chosen!r}: that takes {ratio:.2g} times as long as another scheme. "
        f"{_why(M, N, num_sms)}"
    )
    enough = [s for s in us if LAUNCHES[s] == 1 and us[s] < TIE * best]
    assert LAUNCHES[chosen] == 1 or not enough, (
        f"{asked} is {chosen!r}: a scheme with one launch is as fast."
    )


def _why(M, N, num_sms):
    """What to think of for a size, without the answer."""
    if N <= 512:
        return "How much work has a program that takes one such row?"
    if N <= 16384:
        return "How long does one program take for such a row, and what would more launches cost?"
    if num_sms > M:
        return f"How many of the {num_sms} SMs have work if each row has one program?"
    return f"{M} rows keep {num_sms} SMs busy. How often is x read from memory?"


DISPATCH_CASES = [
    rows("short rows", 40, 64),
    rows("a Llama layer's row", 3, 4096),
    rows("one long row of tiny numbers", 1, 33_000, scale=1e-3, eps=3e-6),
    rows("short rows of tiny numbers", 4, 70, scale=1e-3, eps=3e-6),
    rows("half precision", 5, 3000, dtype="float16", layout="strided"),
    rows("three dimensions", 2, 3, 200),
    rows("tiny numbers", 2, 700, scale=1e-3, eps=3e-6),
    rows("no rows", 0, 64),
    rows("a weight of another length", 3, 64, w=tensor(65), raises=ValueError),
]

DISPATCH_HIDDEN = [
    rows("one element", 1, 1),
    rows("rows of 17", 100, 17),
    rows("rows of 255", 3, 255),
    rows("three dimensions", 2, 3, 1000),
    rows("one dimension", 900),
    rows("transposed", 7, 90, layout="transposed"),
    rows("bfloat16", 2, 20_000, dtype="bfloat16"),
    rows("tiny numbers", 2, 5000, scale=1e-3, eps=3e-6),
    rows("no long rows", 0, 70_000),
    rows("a very long row", 1, 262_144),
]

CHECKS = {
    "rmsnorm_multirow": Check(
        as_x(rmsnorm_ref),
        MULTIROW_CASES,
        MULTIROW_HIDDEN,
        asks=[
            at_first(contiguous),
            launches(1),
            starts(as_few_as_it_takes),
            offsets_of_64_bits("x"),
        ],
        tolerance=rounded_once(terms=4096),
    ),
    "rmsnorm": Check(
        rmsnorm_ref,
        DISPATCH_CASES,
        DISPATCH_HIDDEN,
        tolerance=rounded_once(terms=4096),
        beside=("choose",),
        asks=[
            lambda fn, choose: as_on_the_map(choose),
            lambda fn, choose: good_choices(choose, SEEN),
            on_hidden(lambda fn, choose: good_choices(choose, UNSEEN)),
        ],
    ),
}
