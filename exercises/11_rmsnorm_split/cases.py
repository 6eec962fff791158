"""What the checks of 11_rmsnorm_split try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import by_hand, launches, starts, tiles_of_at_most

from ..shared.norms import FULL, HALF, NAN, as_x
from .page import pieces, rmsnorm_ref

EPS = 1e-6


def rows(note, *shape, splits, eps=EPS, w=None, dtype="float32", raises=None, **how):
    """A case: x of this shape, w as long as its rows, in `splits` pieces a row."""
    return case(
        note,
        dtype=dtype,
        raises=raises,
        x=tensor(*shape, **how),
        w=w or tensor(shape[-1]),
        eps=eps,
        options={"num_splits": splits},
    )


CASES = [
    rows("pieces that do not fit their tiles", 4, 101, splits=3),
    rows("pieces that do", 3, 256, splits=4),
    rows("rows with gaps", 3, 300, splits=2, layout="strided"),
    rows("transposed", 5, 90, splits=2, layout="transposed"),
    rows("tiny numbers", 2, 200, splits=3, scale=1e-3, eps=3e-6),
    rows("half precision, large", 2, 700, splits=5, dtype="float16", scale=300),
    rows("bfloat16, w in float32", 2, 700, splits=5, dtype="bfloat16", w=tensor(700, **FULL)),
    rows("three dimensions, w in float16", 2, 2, 130, splits=3, w=tensor(130, **HALF)),
    rows("more pieces than there is work", 2, 17, splits=5),
    rows(
        "a NaN in x and one in w",
        *(3, 90),
        splits=2,
        planted={(1, 70): NAN},
        w=tensor(90, planted={40: NAN}),
    ),
    rows("no rows", 0, 64, splits=2),
    rows("a weight too short", 3, 64, splits=2, w=tensor(63), raises=ValueError),
    rows("a piece that fits no program", 1, 70_000, splits=1, raises=ValueError),
]

HIDDEN = [
    rows("one element", 1, 1, splits=1),
    rows("one column", 4, 1, splits=2),
    rows("one row of 17", 1, 17, splits=3),
    rows("one piece", 3, 255, splits=1),
    rows("seven pieces", 3, 1000, splits=7, dtype="bfloat16"),
    rows("tiny numbers", 2, 255, splits=2, scale=1e-3, eps=3e-6),
    rows("a large mean", 2, 1000, splits=4, mean=50),
    rows("rising rows", 2, 333, splits=3, values="rising", scale=9),
    rows("transposed", 7, 80, splits=3, layout="transposed"),
    rows("zeros", 2, 50, splits=2, values="zeros"),
    rows("three dimensions", 3, 1, 65, splits=2),
    rows("a very long row", 1, 262_144, splits=8),
]


def a_piece_each(x, w, eps, num_splits=4):
    """Programs of each launch."""
    return x.shape[:-1].numel() * num_splits


def a_piece(x, w, eps, num_splits=4):
    """Lanes of the widest tile."""
    return pieces(x.shape[-1], num_splits)[1]


def same_bits(fn):
    """On a GPU: programs come in another order each time, and the result is the same."""
    if DEVICE != "cuda":
        return
    x = torch.randn(2, 5000, device=DEVICE)
    w = torch.randn(5000, device=DEVICE)
    first = fn(x, w, EPS, 16)
    same = all(torch.equal(fn(x, w, EPS, 16), first) for _ in range(20))
    assert same, "20 calls on the same data do not agree to the last bit."


RULES = dict(tolerance=rounded_once(terms=4096), timeout=10)
ASKS = [launches(2), starts(a_piece_each), tiles_of_at_most(a_piece)]

CHECKS = {
    "rmsnorm_split": Check(
        as_x(rmsnorm_ref), CASES, HIDDEN, asks=ASKS, deterministic=DEVICE == "cpu", **RULES
    ),
    "rmsnorm_split_det": Check(
        as_x(rmsnorm_ref), CASES, HIDDEN, asks=[by_hand("atomic_add"), *ASKS, same_bits], **RULES
    ),
}
