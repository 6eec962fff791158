"""What the checks of 70_all_reduce try: cases of 2 to 8 ranks, and the same bits on all of them."""

import torch

from tritonbook.checking import Check, case, tensor
from tritonbook.simulating import watch_foreign
from tritonbook.words import later

from ..shared.ranks import SAME_BITS, launches_a_rank
from .page import all_reduce_ref


def ranks(note, count, N, dtype="float32", **how):
    return case(note, x=tensor(count, N), dtype=dtype, **how)


CASES = [
    ranks("2 ranks, one tile", 2, 700),
    ranks("2 ranks, three tiles, the last ragged", 2, 2500),
    ranks("4 ranks", 4, 1200),
    ranks("3 ranks, bfloat16", 3, 900, "bfloat16"),
    ranks("1 rank", 1, 300),
]
HIDDEN = [
    ranks("2 ranks, 5 elements", 2, 5),
    ranks("5 ranks, float16", 5, 900, "float16"),
    ranks("8 ranks", 8, 130),
]

_ALL = later(
    "The values are right, but rank {rank} loads {found} elements of the others where {due} do: "
    "that is one shot. In two a rank adds its own share alone, and stores the sum at every rank."
)


def loads_its_share(fn):
    """A rank loads from each other one its own share of the elements."""
    R, share = 3, 32
    with watch_foreign() as foreign:
        fn(torch.ones(R, R * share))
    for rank, loaded in foreign.items():
        due, found = (R - 1) * share, len(loaded)
        assert found <= due, _ALL.format(rank=rank, due=due, found=found)


# What it is for: sums of as many summands as there are ranks, squared by the second call.
HOW = {"hidden": HIDDEN, "ranks": True, "terms": 64, "timeout": 120.0}

CHECKS = {
    "sum_ranks": Check(all_reduce_ref, CASES, through="summed_twice", asks=[SAME_BITS], **HOW),
    "all_reduce": Check(
        all_reduce_ref, CASES, through="reduced_twice", asks=[launches_a_rank(1), SAME_BITS], **HOW
    ),
    "all_reduce_large": Check(
        all_reduce_ref,
        CASES,
        through="reduced_large_twice",
        asks=[launches_a_rank(1), SAME_BITS, loads_its_share],
        **HOW,
    ),
}
