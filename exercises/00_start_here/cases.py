"""What the checks of 00_start_here try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook.checking import SAME_BITS, Check, case, tensor

from .page import copy_ref


def tile_ranges_ref(n, block):
    return [(first, min(first + block, n)) for first in range(0, n, block)]


RANGES = [
    case("the picture", n=10, block=4),
    case("tiles that fit exactly", n=12, block=4),
    case("less than a tile", n=3, block=1024),
    case("one element too many", n=1025, block=1024),
    case("no element", n=0, block=16),
]

RANGE_SUSPECTS = {
    "last-tile-missing": (
        lambda n, block: [(i * block, (i + 1) * block) for i in range(n // block)],
        "The number of programs is rounded down, so the last elements have no owner. Round up.",
    ),
    "past-the-end": (
        lambda n, block: [(i * block, (i + 1) * block) for i in range(-(-n // block))],
        "The last range goes past the end: it must stop at `n`.",
    ),
    "program-without-elements": (
        lambda n, block: tile_ranges_ref(n, block) or [(0, 0)],
        "For `n = 0` there is no program: the list is empty.",
    ),
    "one-program-too-many": (
        lambda n, block: [(i * block, min((i + 1) * block, n)) for i in range(n // block + 1)],
        "There is one program too many when the tiles fit exactly, and when there is no element. "
        "`n // block + 1` is not the same as rounding up.",
    ),
    "last-inclusive": (
        lambda n, block: [(i, min(i + block, n) - 1) for i in range(0, n, block)],
        "Each range stops one element early: `end` is one past the last element.",
    ),
    "begins-at-pid": (
        lambda n, block: [(i, min(i + block, n)) for i in range(-(-n // block))],
        "Program `pid` begins at `pid` here. It should begin where the program before it ends.",
    ),
    "first-and-length": (
        lambda n, block: [(i, min(block, n - i)) for i in range(0, n, block)],
        "These are the first element and the number of elements. `end` is one past the last.",
    ),
    "first-and-block": (
        lambda n, block: [(i, block) for i in range(0, n, block)],
        "These are the first element and the size of a tile. `end` is one past the last element.",
    ),
    "first-range-only": (
        lambda n, block: tile_ranges_ref(n, block)[:1],
        "Only the range of program 0 is there. Does the loop go over all programs, and does "
        "`return` stand after the loop, not in it?",
    ),
}


def few_programs(x):
    """Tiles have 256 elements: with more programs, some have nothing to do."""
    return triton.cdiv(x.numel(), 256)


def large_integers(generator, shape):
    return torch.randint(2**24, 2**31, shape, generator=generator)


ODD = {0: float("nan"), 7: float("inf"), 8: float("-inf"), 257: -0.0}

COPIES = [
    case("one tile", x=tensor(256)),
    case("three tiles and a bit", x=tensor(800)),
    case("less than a tile", x=tensor(77)),
    case("one element more than a tile", x=tensor(257)),
    case("half precision", dtype="float16", x=tensor(1000)),
    case("integers that float32 cannot hold", dtype="int32", x=tensor(300, values=large_integers)),
    case("NaN, infinity and -0.0", x=tensor(300, planted=ODD)),
    case("nothing to copy", x=tensor(0)),
]

HIDDEN_RANGES = [
    case("nothing to own", n=0, block=8),
    case("one element each", n=5, block=1),
    case("a prime number of elements", n=8209, block=1024),
    case("exactly one tile", n=64, block=64),
]

HIDDEN_COPIES = [
    case("one element", x=tensor(1)),
    case("one element more than a tile", x=tensor(257)),
    case("one element less than a tile", x=tensor(255)),
    case("two dimensions", x=tensor(31, 37)),
    case("bfloat16", dtype="bfloat16", x=tensor(999)),
    case("integers", dtype="int32", x=tensor(511, values="integers")),
    case("infinite and huge values", x=tensor(300, scale=1e30, planted={7: float("inf")})),
    case("memory that starts at an odd place", x=tensor(1021, layout="offset")),
]

CHECKS = {
    "tile_ranges": Check(
        tile_ranges_ref,
        RANGES,
        HIDDEN_RANGES,
        triton=False,
        mistakes=RANGE_SUSPECTS,
    ),
    "copy": Check(
        copy_ref,
        COPIES,
        HIDDEN_COPIES,
        launches=1,
        max_programs=few_programs,
        tolerance=SAME_BITS,
    ),
}
