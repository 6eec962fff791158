"""What tasks of several ranks ask for: the same bits on all, and so many launches of each."""

import torch

from tritonbook.checking import Finding
from tritonbook.checking.asks import LAUNCHES, METER, Ask
from tritonbook.words import later

_OTHER_BITS = later(
    "Rank {rank} has other bits than rank 0: the ranks add in orders of their own. Let all of "
    "them begin with rank 0's part."
)
_LAUNCHES = later("Kernel launches of one rank in one call: {found}. This task asks for {asked}.")
_NAMES = {1: "one launch", 2: "two launches", 3: "three launches"}


def _same_bits(call):
    first, *others = call.trial.result
    for rank, other in enumerate(others, 1):
        if not all(torch.equal(a, b) for a, b in zip(first, other, strict=True)):
            return Finding("property", _OTHER_BITS.format(rank=rank))
    return None


SAME_BITS = Ask(METER, _same_bits, "same bits")


def launches_a_rank(asked):
    """So many launches of each rank in each of the two calls that the function makes."""

    def finds(call):
        ranks = len(call.trial.values["x"])
        found = len(call.launched) / (2 * ranks)
        if found == asked:
            return None
        said = _LAUNCHES.format(found=f"{found:g}", asked=asked)
        return Finding("wrong-launch-count", said)

    return Ask(LAUNCHES, finds, _NAMES[asked])
