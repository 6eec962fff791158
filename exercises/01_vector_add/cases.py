"""What the checks of 01_vector_add try: cases and references."""

import triton

from tritonbook import INTERPRET
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches, starts, starts_at_most
from tritonbook.checking.cases import arguments
from tritonbook.seeing.tiles import watch

from ..shared.looking import where_shown
from .page import add_ref

CASES = [
    case("exactly one tile", x=tensor(1024), y=tensor(1024)),
    case("less than a tile", x=tensor(98), y=tensor(98)),
    case("half precision", dtype="float16", x=tensor(3000), y=tensor(3000)),
    case("one element more than a tile", x=tensor(1025), y=tensor(1025)),
    case(
        "large integers",
        x=tensor(300, dtype="int32", values="integers", low=2**24, high=2**30),
        y=tensor(300, dtype="int32", values="integers"),
    ),
    case("smaller tiles", x=tensor(1000), y=tensor(1000), options={"block_size": 256}),
    case("larger tiles", x=tensor(3000), y=tensor(3000), options={"block_size": 2048}),
    case("two dimensions", x=tensor(5, 300), y=tensor(5, 300)),
    case("shapes that differ", x=tensor(8), y=tensor(9), raises=ValueError),
    case("nothing to do", x=tensor(0), y=tensor(0)),
    case("dtypes that differ", x=tensor(8), y=tensor(8, dtype="float16"), raises=ValueError),
    case("not contiguous", x=tensor(8, 8, layout="transposed"), y=tensor(8, 8), raises=ValueError),
]


HIDDEN_CASES = [
    case("one element", x=tensor(1), y=tensor(1)),
    case("one element less than a tile", x=tensor(1023), y=tensor(1023)),
    case("a prime number of elements", x=tensor(8209), y=tensor(8209)),
    case("two dimensions", x=tensor(37, 61), y=tensor(37, 61)),
    case("memory that starts at an odd place", x=tensor(5000, layout="offset"), y=tensor(5000)),
    case("bfloat16", dtype="bfloat16", x=tensor(2049), y=tensor(2049)),
    case(
        "integers",
        dtype="int32",
        x=tensor(999, values="integers", low=-9),
        y=tensor(999, values="integers"),
    ),
    case("large values", x=tensor(2500, scale=1e6), y=tensor(2500, scale=1e-3)),
]


def few_programs(x, y, tiles_per_program=2):
    """More programs than this, and the tiles are not shared out k at a time."""
    return triton.cdiv(x.numel(), tiles_per_program * 1024)


TILED_CASES = [
    case("two tiles, one program", x=tensor(2048), y=tensor(2048)),
    case("the last program has one tile", x=tensor(5000), y=tensor(5000)),
    case("one element more", x=tensor(2049), y=tensor(2049)),
    case("five tiles each", x=tensor(7000), y=tensor(7000), options={"tiles_per_program": 5}),
    case("one tile each", x=tensor(1500), y=tensor(1500), options={"tiles_per_program": 1}),
    case("nothing to do", x=tensor(0), y=tensor(0)),
]

HIDDEN_TILED_CASES = [
    case("one element, four tiles", x=tensor(1), y=tensor(1), options={"tiles_per_program": 4}),
    case("three tiles each", x=tensor(6145), y=tensor(6145), options={"tiles_per_program": 3}),
    case("a prime number of elements", x=tensor(8209), y=tensor(8209)),
    case("half precision", dtype="float16", x=tensor(4097), y=tensor(4097)),
    case("bfloat16", dtype="bfloat16", x=tensor(4095), y=tensor(4095)),
    case("two dimensions", x=tensor(61, 67), y=tensor(61, 67)),
    case("memory that starts at an odd place", x=tensor(5000, layout="offset"), y=tensor(5000)),
]

STRIDE_CASES = [
    case("more tiles than programs", x=tensor(10_000), y=tensor(10_000)),
    case("fewer tiles than programs", x=tensor(1500), y=tensor(1500)),
    case("one program", x=tensor(2500), y=tensor(2500), options={"num_programs": 1}),
    case("seven programs", x=tensor(8209), y=tensor(8209), options={"num_programs": 7}),
]

HIDDEN_STRIDE_CASES = [
    case("half precision", dtype="float16", x=tensor(9001), y=tensor(9001)),
    case("one element", x=tensor(1), y=tensor(1)),
    case("two dimensions", x=tensor(89, 97), y=tensor(89, 97), options={"num_programs": 3}),
]

MATRIX_CASES = [
    case("contiguous", x=tensor(30, 50), y=tensor(30, 50)),
    case("rows with gaps", x=tensor(30, 50, layout="strided"), y=tensor(30, 50)),
    case("y transposed", x=tensor(40, 31), y=tensor(40, 31, layout="transposed")),
    case("x transposed", x=tensor(40, 31, layout="transposed"), y=tensor(40, 31)),
    case("gaps in both", x=tensor(21, 34, layout="strided"), y=tensor(21, 34, layout="spaced")),
    case("one row repeated", x=tensor(20, 60, layout="expanded"), y=tensor(20, 60)),
]

HIDDEN_MATRIX_CASES = [
    case("one column", x=tensor(1100, 1, layout="strided"), y=tensor(1100, 1)),
    case(
        "half precision", dtype="float16", x=tensor(33, 65, layout="transposed"), y=tensor(33, 65)
    ),
]


@where_shown
def takes_neighbours(fn):
    """In the interpreter, where every store is seen: does each program take the tiles it owns?"""
    if not INTERPRET:
        return
    seen = watch(fn, arguments(TILED_CASES[3]), {"tiles_per_program": 3})
    stores = [access for access in seen.accesses if access.kind == "store" and access.active.size]
    start = min(int(access.active.min()) for access in stores)
    taken = {}
    for access in stores:
        tiles = (access.active - start) // access.itemsize // 1024
        taken.setdefault(access.program[0], set()).update(tiles.tolist())
    for pid, tiles in sorted(taken.items()):
        owned = set(range(3 * pid, 3 * pid + 3))
        assert tiles <= owned, (
            f"The sum is right, but with 3 tiles for each program, program {pid} takes the tiles "
            f"{', '.join(map(str, sorted(tiles)))}. It owns {', '.join(map(str, sorted(owned)))}: "
            "neighbours, from pid * k on."
        )


CHECKS = {
    "add": Check(add_ref, CASES, HIDDEN_CASES, asks=[launches(1)]),
    "add_tiled": Check(
        add_ref,
        TILED_CASES,
        HIDDEN_TILED_CASES,
        asks=[launches(1), starts_at_most(few_programs), takes_neighbours],
    ),
    "add_grid_stride": Check(
        add_ref,
        STRIDE_CASES,
        HIDDEN_STRIDE_CASES,
        asks=[launches(1), starts(lambda x, y, num_programs=4: num_programs)],
    ),
    "add_strided": Check(add_ref, MATRIX_CASES, HIDDEN_MATRIX_CASES, asks=[launches(1)]),
}
