"""What the checks of 11_rmsnorm_split try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor

from .page import EPS, SCHEMES, fits, measured_us, pieces, rmsnorm_ref, rows, rows_for, splits_for


def split_ref(x, w, eps, num_splits):
    return rmsnorm_ref(x, w, eps)


def multirow_ref(x, w, eps, rows_per_program):
    return rmsnorm_ref(x, w, eps)


def row_length(x, *rest):
    """How many squares are summed: sets the tolerance of the check."""
    return x.shape[-1]


def _with_square(x, w, eps, mean_square):
    return x * torch.rsqrt(mean_square + eps) * w


def _by_piece(x, num_splits, first, last):
    """Sum of squares of columns first(p) to last(p) of each piece p: a list, [..., 1] each."""
    size, block = pieces(x.shape[-1], num_splits)
    squares = x.pow(2)
    spans = [(first(p, size, block), last(p, size, block)) for p in range(num_splits)]
    return [squares[..., begin:end].sum(-1, keepdim=True) for begin, end in spans]


def _own_pieces(x, num_splits):
    return _by_piece(x, num_splits, lambda p, size, _: p * size, lambda p, size, _: (p + 1) * size)


def _own_piece_only(x, w, eps, num_splits):
    size, _ = pieces(x.shape[-1], num_splits)
    sums = torch.cat([s.expand(*s.shape[:-1], size) for s in _own_pieces(x, num_splits)], dim=-1)
    return _with_square(x, w, eps, sums[..., : x.shape[-1]] / x.shape[-1])


def _overlapping(x, w, eps, num_splits):
    ends = _by_piece(x, num_splits, lambda p, n, _: p * n, lambda p, n, block: p * n + block)
    return _with_square(x, w, eps, sum(ends) / x.shape[-1])


def _rounded_down(x, w, eps, num_splits):
    whole = x.shape[-1] // num_splits * num_splits
    return _with_square(x, w, eps, x[..., :whole].pow(2).sum(-1, keepdim=True) / x.shape[-1])


ROW_SUSPECTS = {
    "no-weight": (
        lambda x, w, eps, *knob: rmsnorm_ref(x, torch.ones_like(w), eps),
        "The row is normalised, but not multiplied by the weight.",
    ),
    "sum-not-mean": (
        lambda x, w, eps, *knob: _with_square(x, w, eps, x.pow(2).sum(-1, keepdim=True)),
        "The sum of squares is not divided by N: the formula has their mean.",
    ),
    "eps-outside-root": (
        lambda x, w, eps, *knob: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * w,
        "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    ),
    "no-eps": (
        lambda x, w, eps, *knob: rmsnorm_ref(x, w, 0.0),
        "`eps` is missing. Rows of tiny numbers tell the difference.",
    ),
    "no-root": (
        lambda x, w, eps, *knob: x / (x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "This divides by the mean square, not by its root.",
    ),
    "whole-matrix": (
        lambda x, w, eps, *knob: _with_square(x, w, eps, x.pow(2).mean()),
        "One mean for the whole matrix. Each row has its own.",
    ),
    "first-row-for-all": (
        lambda x, w, eps, *knob: _with_square(
            x, w, eps, x.reshape(-1, x.shape[-1])[:1].pow(2).mean()
        ),
        "All rows are scaled by the root of the first row. Each row has its own sum.",
    ),
    "squares-overflow": (
        lambda x, *rest: x * 0.0,
        "All results are zero: the squares overflowed to infinity in half precision. Convert to "
        "float32 before you square.",
    ),
}

SPLIT_SUSPECTS = {
    **ROW_SUSPECTS,
    "own-piece-only": (
        _own_piece_only,
        "Each piece is normalised by its own sum. The root is taken over the whole row: all its "
        "pieces must be added up first.",
    ),
    "last-piece-only": (
        lambda x, w, eps, num_splits: _with_square(
            x, w, eps, _own_pieces(x, num_splits)[-1] / x.shape[-1]
        ),
        "The row's sum holds its last piece only: the programs overwrite each other.",
    ),
    "first-piece-only": (
        lambda x, w, eps, num_splits: _with_square(
            x, w, eps, _own_pieces(x, num_splits)[0] / x.shape[-1]
        ),
        "The row's sum holds its first piece only.",
    ),
    "counted-twice": (
        _overlapping,
        "Some columns are counted twice. A tile can reach past its piece, into the next program's: "
        "mask these lanes too.",
    ),
    "divided-by-piece": (
        lambda x, w, eps, num_splits: _with_square(
            x, w, eps, x.pow(2).sum(-1, keepdim=True) / pieces(x.shape[-1], num_splits)[0]
        ),
        "The sum is divided by the size of a piece. The mean is over the N elements of the row.",
    ),
    "tail-lost": (
        _rounded_down,
        "The last columns of the row are missing from its sum: N is not always a multiple of "
        "`num_splits`.",
    ),
}

SPLIT_CASES = [
    case("four pieces that fit", **rows(3, 256), num_splits=4),
    case("three pieces that do not", **rows(4, 100), num_splits=3),
    case("rows with gaps", **rows(3, 300, layout="strided"), num_splits=2),
    case("half precision, large", dtype="float16", **rows(2, 700, scale=300), num_splits=5),
    case("a long row", **rows(1, 20_000), num_splits=4),
]

SPLIT_RULES = dict(launches=2, terms=row_length, mistakes=SPLIT_SUSPECTS, timeout=20)

# How often each scheme touches an element of the matrix, reads and writes: counted by `traffic`.
PASSES = {"row": 2, "loop": 3, "split": 3, "multirow": 2}


def model_us(scheme, M, N, num_sms=132):
    """Microseconds of a scheme in bfloat16, from programs and bytes: a model of an H100."""
    launches = 2 if scheme == "split" else 1
    programs = {
        "row": M,
        "loop": M,
        "split": M * splits_for(N),
        "multirow": triton.cdiv(M, rows_for(N)),
    }[scheme]
    size = 2 * M * N  # bytes of x, and of y
    # The second read of x comes from memory only where x is large and another launch reads it.
    from_memory = 3 * size if scheme == "split" and size > 25e6 else 2 * size
    of_one_program = PASSES[scheme] * size / programs
    memory = from_memory / 2.9e6
    busiest_sm = triton.cdiv(programs, num_sms) * of_one_program / 40e3
    return 1.6 * launches + max(memory, busiest_sm, programs * launches * 0.62e-3)


def regret(choose, sizes):
    """Worst and mean (geometric) regret of `choose` on sizes (M, N); measured, or by the model."""
    time_us = measured_us if DEVICE == "cuda" else model_us
    how = "measured here" if DEVICE == "cuda" else "by the model of an H100: no GPU here"
    worst, product = (0.0, None), 1.0
    for M, N in sizes:
        chosen = choose(M, N)
        assert chosen in SCHEMES, f"choose({M}, {N}) returns {chosen!r}, not one of {SCHEMES}."
        assert fits(chosen, N), f"choose({M}, {N}) is {chosen!r}, but no program holds such a row."
        times = {scheme: time_us(scheme, M, N) for scheme in SCHEMES if fits(scheme, N)}
        ratio = times[chosen] / min(times.values())
        product *= ratio
        worst = max(worst, (ratio, (M, N, chosen)))
    mean = product ** (1 / len(sizes))
    print(f"regret ({how}): mean {mean:.2f}, worst {worst[0]:.2f} at {worst[1]}")
    return worst, mean


def small_regret(choose, sizes):
    """Raise AssertionError unless `choose` is nearly as good as the best scheme for each size."""
    (ratio, size), mean = regret(choose, sizes)
    assert ratio < 2.0, f"{size[2]!r} for M={size[0]}, N={size[1]} takes {ratio:.1f}x the best."
    assert mean < 1.25, f"Your choices take {mean:.2f}x the time of the best, on average."


HIDDEN_SPLITS = [
    case("more pieces than there is work", **rows(2, 17), num_splits=5),
    case("one column", **rows(4, 1), num_splits=2),
    case("one piece", **rows(3, 255), num_splits=1),
    case("seven pieces", dtype="bfloat16", **rows(3, 1000), num_splits=7),
    case("tiny numbers", **rows(2, 200, scale=1e-3, eps=1e-5), num_splits=2),
    case("rising rows", **rows(2, 333, values="rising", scale=9), num_splits=3),
    case("transposed", **rows(5, 90, layout="transposed"), num_splits=2),
    case("three dimensions", **rows(2, 2, 130), num_splits=3),
    case("no rows", **rows(0, 64), num_splits=2),
    case("a very long row", **rows(1, 262_144), num_splits=8),
    case("a weight too short", **rows(3, 64) | {"w": tensor(63)}, num_splits=2, raises=ValueError),
    case("a piece that fits no program", **rows(1, 70_000), num_splits=1, raises=ValueError),
]


def same_bits(fn):
    x = torch.randn(2, 5000, device=DEVICE)
    w = torch.randn(5000, device=DEVICE)
    first = fn(x, w, EPS, 16)
    calls = 20 if DEVICE == "cuda" else 2
    same = all(torch.equal(fn(x, w, EPS, 16), first) for _ in range(calls))
    assert same, f"{calls} calls on the same data do not agree to the last bit."


HIDDEN_DET = [
    case("more pieces than there is work", **rows(2, 17), num_splits=5),
    case("one column", **rows(4, 1), num_splits=2),
    case("one piece", **rows(3, 255), num_splits=1),
    case("seven pieces", dtype="bfloat16", **rows(3, 1000), num_splits=7),
    case("tiny numbers", **rows(2, 200, scale=1e-3, eps=1e-5), num_splits=2),
    case("rising rows", **rows(2, 333, values="rising", scale=9), num_splits=3),
    case("transposed", **rows(5, 90, layout="transposed"), num_splits=2),
    case("three dimensions", **rows(2, 2, 130), num_splits=3),
    case("no rows", **rows(0, 64), num_splits=2),
    case("a very long row", **rows(1, 262_144), num_splits=4),
    case("a weight too short", **rows(3, 64) | {"w": tensor(63)}, num_splits=2, raises=ValueError),
]

MULTIROW_CASES = [
    case("rows that fill the programs", **rows(8, 64), rows_per_program=4),
    case("rows that do not", **rows(10, 50), rows_per_program=4),
    case("rows with gaps", **rows(9, 33, layout="strided"), rows_per_program=2),
    case("half precision, large", dtype="float16", **rows(5, 300, scale=400), rows_per_program=4),
    case("fewer rows than a program takes", **rows(3, 40), rows_per_program=16),
]

MULTIROW_RULES = dict(launches=1, terms=row_length, mistakes=ROW_SUSPECTS, timeout=20)

HIDDEN_MULTIROW = [
    case("one row", **rows(1, 17), rows_per_program=8),
    case("one column", **rows(37, 1), rows_per_program=8),
    case("one row each", **rows(3, 255), rows_per_program=1),
    case("a square tile", **rows(64, 64), rows_per_program=64),
    case("tiny numbers", **rows(6, 100, scale=1e-3, eps=1e-5), rows_per_program=4),
    case("bfloat16", dtype="bfloat16", **rows(70, 128), rows_per_program=32),
    case("transposed", **rows(13, 21, layout="transposed"), rows_per_program=8),
    case("three dimensions", **rows(3, 5, 48), rows_per_program=4),
    case("no rows", **rows(0, 64), rows_per_program=4),
    case("rows that fit no program", **rows(2, 9000), rows_per_program=8, raises=ValueError),
    case("a short weight", **rows(3, 64) | {"w": tensor(1)}, rows_per_program=2, raises=ValueError),
]

DISPATCH_CASES = [
    case("short rows", **rows(40, 64)),
    case("a Llama layer's row", **rows(3, 4096)),
    case("one long row", **rows(1, 40_000)),
    case("half precision", dtype="float16", **rows(5, 3000, layout="strided")),
]

SEEN_SIZES = [(1 << 20, 64), (16384, 4096), (8, 262144)]

HIDDEN_DISPATCH = [
    case("one element", **rows(1, 1)),
    case("many rows of 17", **rows(100, 17)),
    case("three dimensions", **rows(2, 3, 1000)),
    case("bfloat16", dtype="bfloat16", **rows(2, 20_000)),
    case("tiny numbers", **rows(2, 5000, scale=1e-3, eps=1e-5)),
    case("no rows", **rows(0, 64)),
    case("a longer row", **rows(2, 70_000)),
    case("a weight of another length", x=tensor(3, 64), w=tensor(65), eps=EPS, raises=ValueError),
]

UNSEEN_SIZES = [
    (500_000, 100),
    (30_000, 500),
    (3000, 5120),
    (20_000, 12_288),
    (700, 40_000),
    (3, 50_000),
    (40, 100_000),
    (12, 200_000),
    (2, 700_000),
    (5, 1000),
    (2000, 2048),
    (1, 30_000),
]

CHECKS = {
    "rmsnorm_split": Check(
        split_ref,
        SPLIT_CASES,
        HIDDEN_SPLITS,
        deterministic=DEVICE == "cpu",
        **SPLIT_RULES,
    ),
    "rmsnorm_split_det": Check(
        split_ref,
        SPLIT_CASES,
        HIDDEN_DET,
        by_hand=("atomic_add",),
        also=[same_bits],
        **SPLIT_RULES,
    ),
    "rmsnorm_multirow": Check(
        multirow_ref,
        MULTIROW_CASES,
        HIDDEN_MULTIROW,
        **MULTIROW_RULES,
    ),
    "rmsnorm": Check(
        rmsnorm_ref,
        DISPATCH_CASES,
        HIDDEN_DISPATCH,
        terms=row_length,
        mistakes=ROW_SUSPECTS,
        beside=("choose",),
        also=[lambda fn, choose: small_regret(choose, SEEN_SIZES)],
        hidden_also=[lambda fn, choose: small_regret(choose, UNSEEN_SIZES)],
    ),
}
