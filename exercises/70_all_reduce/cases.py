"""What the checks of 70_all_reduce try: cases of 2 to 8 ranks, and the same bits on all of them."""

import torch

from tritonbook.checking import Check, Finding, case, tensor
from tritonbook.checking.asks import LAUNCHES, METER, Ask

from .page import all_reduce_ref

_OTHER_BITS = (
    "Rank {rank} has other bits than rank 0: the ranks add in orders of their own. Let all of "
    "them begin with rank 0's part."
)
_LAUNCHES = "Kernel launches of one rank in one call: {found}. This task asks for one."


def _same_bits(call):
    first, *others = call.trial.result
    for rank, other in enumerate(others, 1):
        if not all(torch.equal(a, b) for a, b in zip(first, other, strict=True)):
            return Finding("property", _OTHER_BITS.format(rank=rank))
    return None


def _one_launch_a_rank(call):
    ranks = len(call.trial.values["x"])
    found = len(call.launched) / (2 * ranks)  # the function is called twice on each
    if found == 1:
        return None
    return Finding("wrong-launch-count", _LAUNCHES.format(found=f"{found:g}"))


SAME_BITS = Ask(METER, _same_bits, "same bits")
ONE_LAUNCH = Ask(LAUNCHES, _one_launch_a_rank, "one launch")


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

# What it is for: sums of as many summands as there are ranks, squared by the second call.
HOW = {"hidden": HIDDEN, "ranks": True, "terms": 64, "timeout": 120.0}

CHECKS = {
    "sum_ranks": Check(all_reduce_ref, CASES, through="summed_twice", asks=[SAME_BITS], **HOW),
    "all_reduce": Check(
        all_reduce_ref, CASES, through="reduced_twice", asks=[ONE_LAUNCH, SAME_BITS], **HOW
    ),
    "all_reduce_large": Check(
        all_reduce_ref, CASES, through="reduced_large_twice", asks=[ONE_LAUNCH, SAME_BITS], **HOW
    ),
}
