"""What the checks of 00_start_here try: cases and references."""

import torch
import triton

from tritonbook.checking import SAME_BITS, Check, case, tensor
from tritonbook.checking.asks import launches, starts_at_most

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


def add_one_ref(x):
    return x + 1


def large_integers(generator, shape):
    return torch.randint(2**24, 2**31, shape, generator=generator)


ADDED = [
    case("the picture", x=tensor(10)),
    case("tiles that fit exactly", x=tensor(12)),
    case("less than a tile", x=tensor(3)),
    case("half precision", dtype="float16", x=tensor(21)),
    case("integers that float32 cannot hold", dtype="int32", x=tensor(17, values=large_integers)),
    case("nothing to do", x=tensor(0)),
]

HIDDEN_ADDED = [
    case("one element", x=tensor(1)),
    case("a prime number of elements", x=tensor(97)),
    case("bfloat16", dtype="bfloat16", x=tensor(33)),
    case("two dimensions", x=tensor(5, 7)),
]


def few_programs(x):
    """Tiles have 256 elements: with more programs, some have nothing to do."""
    return triton.cdiv(x.numel(), 256)


ODD = {0: float("nan"), 7: float("inf"), 8: float("-inf"), 257: -0.0}

COPIES = [
    case("one tile", x=tensor(256)),
    case("three tiles and a bit", x=tensor(800)),
    case("less than a tile", x=tensor(77)),
    case("one element more than a tile", x=tensor(257)),
    case("half precision", dtype="float16", x=tensor(5001)),  # more than any tile
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
    "add_one": Check(add_one_ref, ADDED, HIDDEN_ADDED),
    "tile_ranges": Check(tile_ranges_ref, RANGES, HIDDEN_RANGES, triton=False),
    "copy": Check(
        copy_ref,
        COPIES,
        HIDDEN_COPIES,
        asks=[launches(1), starts_at_most(few_programs)],
        tolerance=SAME_BITS,
    ),
}
