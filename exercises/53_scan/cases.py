"""What the checks of 53_scan try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import exact_float32, launches, starts, tiles_of_at_most
from tritonbook.checking.compare import derive_tolerance

from ..shared.walks import whole_tiles
from .page import cumsum_ref, gated_scan_ref, linear_attention_ref


def all_of(value):
    """A sampler: the same number everywhere."""
    return lambda generator, shape: torch.full(shape, value, dtype=torch.float64)


# --- cumsum_rows


def row_case(note, M, N, block=8, **x):
    dtype = x.pop("dtype", "float32")
    return case(note, x=tensor(M, N, **x), options={"block": block}, dtype=dtype)


# A large number first, then numbers that half precision cannot add to it one by one.
LOUD = {"values": all_of(1 / 16), "planted": {(0, 0): 4096.0, (1, 0): -4096.0}}

ROWS = [
    row_case("one tile", 3, 8),
    row_case("37 numbers in tiles of 8", 4, 37),
    row_case("numbers around 5", 3, 30, mean=5.0),
    row_case("a row that begins with NaN", 2, 21, planted={(0, 0): float("nan")}),
    row_case("rows with gaps", 3, 21, layout="strided"),
    row_case("half precision, a large number first", 2, 640, block=16, dtype="float16", **LOUD),
    row_case("half precision, one tile", 2, 300, block=512, dtype="float16", mean=4.0),
    row_case("fewer numbers than a tile", 2, 5, block=64),
    row_case("the block as it is", 1, 2100, block=2048),
    case("columns side by side", x=tensor(6, 4, layout="transposed"), raises=ValueError),
    row_case("no rows", 0, 20),
    case("three dimensions", x=tensor(2, 3, 4), raises=ValueError),
]

HIDDEN_ROWS = [
    row_case("a thousand numbers", 3, 1000, block=64),
    row_case("one number", 1, 1),
    row_case("the block as it is, 3000 numbers", 2, 3000, block=2048),
    row_case("bfloat16", 3, 130, block=32, dtype="bfloat16", mean=1.0),
    row_case("bfloat16, a large number first", 2, 400, block=16, dtype="bfloat16", **LOUD),
]


# --- gated_scan


def gates(generator, shape):
    """Between 0.3 and 1.1, some below zero: the past matters, and the order of steps too."""
    drawn = 0.3 + 0.8 * torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.where(torch.rand(shape, generator=generator) < 0.2, -drawn, drawn)


def gated_case(note, M, T, block=8, **more):
    a = tensor(M, T, **more.pop("a", {"values": gates}))
    b = tensor(M, T, **more.pop("b", {}))
    return case(note, a=a, b=b, options={"block": block}, **more)


# Closed gates: a product of gates is 0 from there on, and so is what is divided by it.
SHUT = {"values": gates, "planted": {(0, 3): 0.0, (0, 13): 0.0, (1, 0): 0.0}}
LOUD_STEP = {"a": {"values": "ones"}, "b": {"values": all_of(1 / 8), "planted": {(0, 0): 2048.0}}}

BY_COLUMNS = tensor(4, 6, layout="transposed")
GATES = [
    gated_case("one tile", 2, 8),
    gated_case("three tiles of 8", 2, 24),
    gated_case("21 steps in tiles of 8", 2, 21),
    gated_case("closed gates", 2, 18, a=SHUT),
    gated_case("a row that begins with NaN", 2, 21, b={"planted": {(0, 0): float("nan")}}),
    gated_case("fewer steps than a tile", 2, 5, block=32),
    gated_case("half precision, a large number first", 1, 200, dtype="float16", **LOUD_STEP),
    gated_case("bfloat16", 2, 21, dtype="bfloat16"),
    case("two shapes", a=tensor(2, 8), b=tensor(2, 9), raises=ValueError),
    case("a row too many", a=tensor(3, 8), b=tensor(2, 8), raises=ValueError),
    case("a with gaps", a=tensor(2, 8, layout="strided"), b=tensor(2, 8), raises=ValueError),
    case("b with gaps", a=tensor(2, 8), b=tensor(2, 8, layout="strided"), raises=ValueError),
    gated_case("no rows", 0, 12),
    case("columns side by side", a=tensor(4, 6), b=BY_COLUMNS, raises=ValueError),
    case("as many numbers", a=tensor(4, 6), b=tensor(3, 8), raises=ValueError),
]

HIDDEN_GATES = [
    gated_case("37 steps in tiles of 16", 2, 37, block=16),
    gated_case("one step", 1, 1),
    gated_case("the block as it is", 1, 70, block=2048),
    gated_case("half precision", 2, 27, dtype="float16"),
    gated_case("gates of 1/100", 1, 40, block=32, a={"values": all_of(0.01)}),
]


# --- linear_attention


def heads(note, B, H, T, D, chunk=16, **more):
    drawn = {name: tensor(B, H, T, D, **more.pop(name, {})) for name in ("q", "k", "v")}
    return case(note, **drawn, options={"chunk": chunk}, **more)


# The first token makes the state large. What a chunk adds later is less than bfloat16 keeps of it.
LOUD_TOKEN = {
    name: {"values": all_of(0.25), "planted": {(0, 0, 0, d): 16.0 for d in range(16)}}
    for name in ("k", "v")
} | {"q": {"values": "ones"}}


def unfit(note, q=None, v=20):
    q, k, v = tensor(1, 2, 20, 16, **q or {}), tensor(1, 2, 20, 16), tensor(1, 2, v, 16)
    return case(note, q=q, k=k, v=v, raises=ValueError)


HEADS = [
    # As many tokens as columns would let a product turned the wrong way fit.
    heads("one chunk", 1, 2, 32, 16, chunk=32),
    heads("three chunks and a rest", 2, 2, 55, 32),
    heads("fewer tokens than a chunk", 1, 2, 5, 16, chunk=32),
    heads("two slices of columns", 1, 1, 70, 64, chunk=32),
    heads("bfloat16, a large first token", 1, 1, 320, 16, dtype="bfloat16", **LOUD_TOKEN),
    heads("a query with a NaN", 1, 1, 20, 16, q={"planted": {(0, 0, 3, 0): float("nan")}}),
    heads("half precision", 1, 2, 60, 32, dtype="float16"),
    heads("the chunk as it is", 1, 1, 80, 64, chunk=64, dtype="float16"),
    heads("no sequences", 0, 2, 20, 16),
    heads("D of 24", 1, 1, 20, 24, raises=ValueError),
    unfit("memory with gaps", q={"layout": "strided"}),
    unfit("v longer than k", v=24),
]

HIDDEN_HEADS = [
    heads("one token", 1, 1, 1, 16),
    heads("100 tokens in chunks of 32", 2, 1, 100, 32, chunk=32),
    heads("D of 128", 1, 1, 40, 128),
    heads("bfloat16", 1, 3, 50, 64, chunk=32, dtype="bfloat16"),
]


def factors_rounded(dtype):
    """Scores and state are rounded once to the dtype before they enter a dot, and o once more.

    A first token has one score, which may be almost 0 by chance: hence the absolute part.
    """
    if dtype == torch.float32:
        return Tolerance(2e-5, 2e-5, 1e-5, because="a float32 sum of up to 320 x 128 products")
    eps = torch.finfo(dtype).eps
    because = "scores and state are rounded to enter a dot, o once at its store"
    return Tolerance(1.5 * eps, of_row_max=1.5 * eps, absolute=1e-5, because=because)


def running_sum(dtype):
    """A float32 sum of up to 3,000 numbers, rounded once at the store."""
    return derive_tolerance(dtype, 3000) if dtype == torch.float32 else rounded_once(3000)(dtype)


def early_sums_keep_their_digits(scan):
    """An assertion on a scan in one tile: `scan(fn, x)` gives the sums of x, with numbers that come
    later and are 1e8 times as large."""

    def keeps(fn):
        x = torch.ones(1, 32, device=DEVICE)
        x[:, 16:] = 1e8
        got = scan(fn, x)[0, :16].tolist()
        assert got == list(range(1, 17)), (
            f"Sixteen ones, then numbers of 1e8: the sums begin with {got[0]:g}, {got[1]:g}, and "
            "not 1, 2. What comes later takes part in them: was it added, and subtracted again?"
        )

    return keeps


def gates_of_one(fn, x):
    return fn(torch.ones_like(x), x, block=32)[0]


CHECKS = {
    "cumsum_rows": Check(
        cumsum_ref,
        ROWS,
        HIDDEN_ROWS,
        asks=[
            launches(1),
            starts(lambda x, block=2048: x.shape[0]),
            tiles_of_at_most(lambda x, block=2048: block),
            whole_tiles(ROWS[1]),
            early_sums_keep_their_digits(lambda fn, x: fn(x, block=32)),
        ],
        tolerance=running_sum,
    ),
    "gated_scan": Check(
        gated_scan_ref,
        GATES,
        HIDDEN_GATES,
        asks=[
            launches(1),
            starts(lambda a, b, block=2048: b.shape[0]),
            tiles_of_at_most(lambda a, b, block=2048: block),
            whole_tiles(GATES[1]),
            early_sums_keep_their_digits(gates_of_one),
        ],
        results=("h", "last"),
        terms=200,
    ),
    "linear_attention": Check(
        linear_attention_ref,
        HEADS,
        HIDDEN_HEADS,
        wide=[heads("65,536 heads", 1, 65_536, 1, 16)],
        asks=[launches(1), exact_float32()],
        results=("o", "state"),
        tolerance=factors_rounded,
    ),
}
