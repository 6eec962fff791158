"""What the checks of 14_layernorm_split try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import launches, starts

from ..shared.norms import (
    FULL,
    HALF,
    NAN,
    as_x,
    in_pieces,
    parts_of,
    rows,
    survives_a_large_mean,
)
from .page import layernorm_ref


def as_rows(x):
    return x.reshape(-1, x.shape[-1])


def piece_stats_ref(x, num_splits):
    return tuple(part.float() for part in parts_of(*in_pieces(as_rows(x), num_splits)))


def exactly(x, num_splits):
    """The same in float64, for the formulas below."""
    return parts_of(*in_pieces(as_rows(x), num_splits))


ZEROS = {(0, 3): 0.0, (2, 20): 0.0}  # elements too
ZEROS_AND_NAN = {**ZEROS, (1, 20): NAN}

PIECES = [
    case("four pieces that fit", x=tensor(2, 64, mean=2), num_splits=4),
    case("three pieces that do not", x=tensor(3, 100, mean=2), num_splits=3),
    case(
        "an empty piece, zeros and a NaN",
        x=tensor(3, 33, mean=-2, planted=ZEROS_AND_NAN),
        num_splits=4,
    ),
    case("rows with gaps", x=tensor(3, 70, mean=2, layout="strided"), num_splits=2),
    case("transposed", x=tensor(5, 40, mean=2, layout="transposed"), num_splits=2),
    case(
        "half precision, large", dtype="float16", x=tensor(2, 90, mean=300, scale=300), num_splits=2
    ),
    case("three dimensions", x=tensor(2, 2, 50, mean=2), num_splits=3),
    case("no rows", x=tensor(0, 64), num_splits=2),
    case("a piece too long", x=tensor(1, 40_000), num_splits=2, raises=ValueError),
]

HIDDEN_PIECES = [
    case("one element", x=tensor(3, 1, mean=2), num_splits=2),
    case("one piece", x=tensor(2, 255, mean=2), num_splits=1),
    case("seven pieces", dtype="bfloat16", x=tensor(2, 400, mean=2), num_splits=7),
    case("tiny numbers", x=tensor(2, 200, scale=1e-3), num_splits=3),
    case("mostly empty", x=tensor(2, 17, mean=2), num_splits=9),
    case("transposed", x=tensor(7, 50, mean=2, layout="transposed"), num_splits=3),
]


def keep_the_digits(fn):
    """Pieces around 10,000 have an M2 that the squares of x cannot show."""
    x = torch.randn(2, 100, generator=torch.Generator().manual_seed(5)) + 10_000
    _, _, m2 = fn(x.to(DEVICE), 2)
    _, _, wanted = exactly(x.double(), 2)
    error = ((m2.double().cpu() - wanted).abs() / wanted).nan_to_num(torch.inf).max().item()
    assert error < 0.01, (
        f"M2 of pieces around 10,000 is wrong by {error:.0%}, that of smaller numbers is right: "
        "its digits are lost. Subtract the mean before you square."
    )


# --- y


def split_rows(*shape, num_splits, **how):
    return rows(*shape, **how) | {"options": {"num_splits": num_splits}}


SPLITS = [
    case("four pieces that fit", **split_rows(3, 64, mean=2, num_splits=4)),
    case("three pieces that do not", **split_rows(3, 100, mean=2, num_splits=3)),
    case(
        "an empty piece, a NaN in x, w and b",
        **split_rows(
            *(3, 33),
            mean=2,
            num_splits=4,
            planted={(1, 20): NAN},
            w={"planted": {5: NAN}},
            b={"planted": {30: NAN}},
        ),
    ),
    case("tiny numbers", **split_rows(3, 50, mean=2e-3, scale=1e-3, eps=3e-6, num_splits=3)),
    case("rows with gaps", **split_rows(3, 70, mean=2, layout="strided", num_splits=2)),
    case("transposed", **split_rows(5, 40, mean=2, layout="transposed", num_splits=2)),
    case("pieces far apart", **split_rows(2, 80, values="rising", scale=50, num_splits=5)),
    case(
        "half precision, w and b in float32",
        dtype="float16",
        **split_rows(2, 90, scale=400, num_splits=4, w=FULL, b=FULL),
    ),
    case(
        "three dimensions, w and b in float16",
        **split_rows(2, 2, 50, mean=2, num_splits=3, w=HALF, b=HALF),
    ),
    case("transposed matrices", **split_rows(2, 3, 50, mean=2, layout="transposed", num_splits=3)),
    case("more pieces than lanes in one", **split_rows(1, 310, values="rising", num_splits=20)),
    case("no rows", **split_rows(0, 64, num_splits=2)),
    case(
        "a short weight", **(split_rows(2, 64, num_splits=2) | {"w": tensor(63)}), raises=ValueError
    ),
    case(
        "a short bias", **(split_rows(2, 64, num_splits=2) | {"b": tensor(63)}), raises=ValueError
    ),
]

HIDDEN_SPLITS = [
    case("one element", **split_rows(2, 1, mean=2, num_splits=3)),
    case("one piece", **split_rows(2, 255, mean=2, num_splits=1)),
    case("seven pieces", dtype="bfloat16", **split_rows(2, 400, mean=2, num_splits=7)),
    case("tiny numbers", **split_rows(2, 200, scale=1e-3, eps=1e-4, num_splits=2)),
    case("rising rows", **split_rows(2, 333, values="rising", scale=9, num_splits=3)),
    case("transposed", **split_rows(3, 50, mean=2, layout="transposed", num_splits=2)),
    case("three dimensions", **split_rows(2, 2, 70, mean=2, num_splits=3)),
    case("a very long row", **split_rows(1, 100_000, mean=2, num_splits=8)),
]

CHECKS = {
    "piece_stats": Check(
        piece_stats_ref,
        PIECES,
        HIDDEN_PIECES,
        results=("n", "mean", "M2"),
        asks=[
            launches(1),
            starts(lambda x, num_splits: as_rows(x).shape[0] * num_splits),
            keep_the_digits,
        ],
        terms=4096,
    ),
    "layernorm_split": Check(
        as_x(layernorm_ref),
        SPLITS,
        HIDDEN_SPLITS,
        asks=[
            launches(3),
            starts(lambda x, w, b, eps, num_splits: as_rows(x).shape[0] * num_splits),
            lambda fn: survives_a_large_mean(fn, 3),
        ],
        tolerance=rounded_once(terms=4096),
    ),
}
