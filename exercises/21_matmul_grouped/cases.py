"""What the checks of 21_matmul_grouped try: cases and references."""

import ast

import torch

from tritonbook import INTERPRET
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import (
    exact_float32,
    launches,
    no_copies,
    offsets_of_64_bits,
    starts_at_most,
    stores_once,
)
from tritonbook.checking.cases import arguments
from tritonbook.checking.diagnose import parsed
from tritonbook.seeing.tiles import watch
from tritonbook.words import later

from ..shared import products
from ..shared.looking import where_shown
from .page import linear_act_ref

TILE = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16}
SMALL = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 16}
GROUP = 8  # of the page's wrapper


def swizzle_ref(pid, grid_m, grid_n, group):
    """The rule spelt out: list all tiles in order, take number pid."""
    order = []
    for first in range(0, grid_m, group):
        for pid_n in range(grid_n):
            for pid_m in range(first, min(first + group, grid_m)):
                order.append((pid_m, pid_n))
    return order[pid]


# --- swizzle


def takes_every_tile_once(fn):
    for grid_m, grid_n, group in [(1, 1, 8), (5, 3, 2), (3, 7, 8), (9, 4, 4), (8, 8, 1)]:
        got = sorted(tuple(fn(pid, grid_m, grid_n, group)) for pid in range(grid_m * grid_n))
        want = [(m, n) for m in range(grid_m) for n in range(grid_n)]
        missing = sorted(set(want) - set(got))
        assert not missing, (
            f"With {grid_m} x {grid_n} tiles and group {group}, no program takes tile {missing[0]}."
        )


def can_stand_in_a_kernel(fn):
    """Looked at where its text is: in a notebook, and not where a grader calls another process."""
    tree = parsed(fn)
    if [getattr(node, "name", "") for node in tree.body] != ["swizzle"]:
        return
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and ast.unparse(node.func) not in (
            "min",
            "max",
            "range",
        )
        assert not called and not isinstance(node, (ast.ListComp, ast.GeneratorExp)), (
            f"The tiles are right, but a kernel knows no `{ast.unparse(node)}`, and Task 2 makes "
            "this function a part of one. Use +, -, *, //, % and min."
        )


# Each mistake that has a name gives a tile of its own in the first of these two, or in the second.
ORDER_CASES = [
    case("inside a whole group", pid=56, grid_m=11, grid_n=6, group=2),
    case("inside the short last group", pid=19, grid_m=5, grid_n=4, group=2),
    case("the second program", pid=1, grid_m=8, grid_n=8, group=4),
    case("the second column", pid=6, grid_m=8, grid_n=8, group=4),
    case("the second group", pid=35, grid_m=8, grid_n=8, group=4),
    case("a wide grid", pid=50, grid_m=6, grid_n=11, group=3),
    case("the short last group begins", pid=12, grid_m=5, grid_n=3, group=4),
    case("the short last group", pid=14, grid_m=5, grid_n=3, group=4),
    case("fewer rows than the group", pid=5, grid_m=3, grid_n=6, group=8),
]

HIDDEN_ORDER_CASES = [
    case("one tile", pid=0, grid_m=1, grid_n=1, group=8),
    case("group of one", pid=11, grid_m=4, grid_n=5, group=1),
    case("one row of tiles", pid=6, grid_m=1, grid_n=9, group=8),
    case("one column of tiles", pid=6, grid_m=9, grid_n=1, group=4),
    case("two rows left", pid=45, grid_m=10, grid_n=5, group=4),
    case("wide", pid=100, grid_m=7, grid_n=40, group=3),
    case("large", pid=123456, grid_m=1000, grid_n=300, group=8),
]


# --- matmul_grouped


def _program_of_each_tile(fn):
    """Tiles in the order of their programs: (row, column) each, on 11 x 3 tiles."""
    inputs = arguments(case("", a=tensor(170, 16), b=tensor(16, 90)))
    seen = watch(fn, inputs, {"tile": TILE})
    stores = [access for access in seen.accesses if access.kind == "store"]
    start = min(int(access.active.min()) for access in stores if access.active.size)
    found = {}
    for access in stores:
        place = (int(access.active.min()) - start) // access.itemsize
        found[access.program] = place // 90 // TILE["BLOCK_M"], place % 90 // TILE["BLOCK_N"]
    return [found[program] for program in sorted(found, key=lambda p: p[::-1])]


@where_shown
def goes_in_groups(fn):
    if not INTERPRET:
        return
    got = _program_of_each_tile(fn)
    swapped = [swizzle_ref(pid, 3, 11, GROUP)[::-1] for pid in range(33)]
    assert got != swapped, (
        "The product is right, but the groups are of columns of tiles: `grid_m` and `grid_n` have "
        "changed places, and so have `pid_m` and `pid_n`."
    )
    named = {
        later("row by row"): [divmod(pid, 3) for pid in range(33)],
        later("column by column"): [divmod(pid, 11)[::-1] for pid in range(33)],
    }
    for name, order in named.items():
        assert got != order, (
            f"The product is right, but the programs go {name}: the tile has to come from "
            "`tile_of`, with GROUP_M."
        )
    rules = [[swizzle_ref(pid, 11, 3, group) for pid in range(33)] for group in range(2, 11)]
    wrong = next((pid for pid in range(33) if got[pid] != rules[GROUP - 2][pid]), None)
    assert got in rules, (
        "The product is right, but the programs do not go in groups: of 11 x 3 tiles, program "
        f"{wrong} takes {got[wrong]}, and the rule of Task 1 gives it {rules[GROUP - 2][wrong]}."
    )


def grouped(note, tile=TILE, **more):
    return case(note, options={"tile": tile}, **more)


GROUPED_CASES = [
    # Each grid with a mistake that has a name leaves out other tiles here.
    grouped("six by three small tiles", SMALL, a=tensor(81, 7), b=tensor(7, 33)),
    grouped("more rows of tiles than a group", a=tensor(150, 20), b=tensor(20, 70)),
    grouped("wider than high", a=tensor(40, 20), b=tensor(20, 150)),
    grouped(
        "B transposed", dtype="float16", a=tensor(50, 70), b=tensor(70, 70, layout="transposed")
    ),
    case("the default tile", a=tensor(70, 33), b=tensor(33, 70)),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
    case("no columns", a=tensor(8, 16), b=tensor(16, 0)),
]

HIDDEN_GROUPED_CASES = [
    case("one row", a=tensor(1, 100), b=tensor(100, 300)),
    grouped("one column of tiles", a=tensor(300, 33), b=tensor(33, 8)),
    grouped("prime sizes", dtype="float16", a=tensor(137, 67), b=tensor(67, 113)),
    grouped("gaps", a=tensor(40, 48, layout="strided"), b=tensor(48, 40, layout="strided")),
    grouped("bfloat16", dtype="bfloat16", a=tensor(65, 100), b=tensor(100, 70)),
]


# --- linear_act


def linear_tolerance(dtype):
    """Of a float32 sum and one rounding; where GELU is near zero the error is that of the sum."""
    half = 0.0 if dtype == torch.float32 else torch.finfo(dtype).eps / 2
    because = "one rounding at the store, and a float32 sum"
    return Tolerance(half + 4e-6, 2e-5, 1e-6, because)


LINEAR_CASES = [
    case("less than a tile", x=tensor(5, 9), w=tensor(9, 12), bias=tensor(12), act="relu"),
    case("ragged tiles", x=tensor(140, 70), w=tensor(70, 90), bias=tensor(90), act="silu"),
    case("wide", x=tensor(20, 33), w=tensor(33, 200), bias=tensor(200), act="none"),
    case("high", x=tensor(520, 10), w=tensor(10, 70), bias=tensor(70), act="relu"),
    case(
        "a bias with gaps, rows with gaps",
        x=tensor(33, 40, layout="strided"),
        w=tensor(40, 70),
        bias=tensor(70, layout="strided"),
        act="gelu",
    ),
    case(
        "x transposed, w as nn.Linear keeps it",
        x=tensor(40, 70, layout="transposed"),
        w=tensor(70, 80, layout="transposed"),
        bias=tensor(80),
        act="silu",
    ),
    case(
        "half precision",
        dtype="float16",
        x=tensor(50, 96),
        w=tensor(96, 60),
        bias=tensor(60),
        act="gelu",
    ),
    case(
        "bfloat16",
        dtype="bfloat16",
        x=tensor(40, 70),
        w=tensor(70, 30),
        bias=tensor(30),
        act="silu",
    ),
    case(
        "a long sum of one sign",
        dtype="float16",
        x=tensor(4, 500, values="positive"),
        w=tensor(500, 20, values="positive"),
        bias=tensor(20),
        act="none",
    ),
    case("no rows", x=tensor(0, 16), w=tensor(16, 8), bias=tensor(8), act="relu"),
    case(
        "unknown activation",
        x=tensor(16, 16),
        w=tensor(16, 16),
        bias=tensor(16),
        act="tanh",
        raises=ValueError,
    ),
    case(
        "bias too short",
        x=tensor(16, 16),
        w=tensor(16, 17),
        bias=tensor(16),
        act="none",
        raises=ValueError,
    ),
]

HIDDEN_LINEAR_CASES = [
    case("one row", x=tensor(1, 100), w=tensor(100, 65), bias=tensor(65), act="silu"),
    case("square", x=tensor(48, 33), w=tensor(33, 48), bias=tensor(48), act="gelu"),
    case("a low bias", x=tensor(20, 30), w=tensor(30, 70), bias=tensor(70, mean=-3.0), act="silu"),
    case(
        "far from zero",
        x=tensor(20, 64, scale=30.0),
        w=tensor(64, 33, scale=30.0),
        bias=tensor(33),
        act="gelu",
    ),
    case(
        "several tiles",
        dtype="float16",
        x=tensor(140, 50),
        w=tensor(50, 260, scale=0.2),
        bias=tensor(260, layout="strided"),
        act="silu",
    ),
    case(
        "bfloat16",
        dtype="bfloat16",
        x=tensor(40, 40),
        w=tensor(40, 40, scale=0.2),
        bias=tensor(40),
        act="gelu",
    ),
    case("no sum", x=tensor(7, 0), w=tensor(0, 9), bias=tensor(9), act="relu"),
]


CHECKS = {
    "swizzle": Check(
        swizzle_ref,
        ORDER_CASES,
        HIDDEN_ORDER_CASES,
        triton=False,
        asks=[takes_every_tile_once, can_stand_in_a_kernel],
    ),
    "matmul_grouped": Check(
        torch.matmul,
        GROUPED_CASES,
        HIDDEN_GROUPED_CASES,
        asks=[
            launches(1),
            starts_at_most(lambda a, b, tile=None: products.programs(a.shape[0], b.shape[1], tile)),
            products.uses_the_tile(GROUPED_CASES[0]),
            goes_in_groups,
        ],
        tolerance=products.tolerance,
    ),
    "linear_act": Check(
        linear_act_ref,
        LINEAR_CASES,
        HIDDEN_LINEAR_CASES,
        asks=[
            launches(1),
            starts_at_most(lambda x, w, bias, act: products.programs(x.shape[0], w.shape[1])),
            exact_float32(),
            no_copies(),
            offsets_of_64_bits("x", "w"),
            stores_once(),
        ],
        tolerance=linear_tolerance,
    ),
}
