"""What the checks of 21_matmul_grouped try: cases and references."""

import ast
import functools

import torch

from tritonbook import INTERPRET
from tritonbook.checking import Check, Tolerance, asks, case, tensor
from tritonbook.checking.cases import arguments
from tritonbook.checking.diagnose import parsed
from tritonbook.seeing.tiles import watch
from tritonbook.words import later

from ..shared import products
from ..shared.looking import where_shown
from ..shared.products import product
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
    inputs = arguments(product("", 170, 16, 90))
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


grouped = functools.partial(product, tile=TILE)


GROUPED_CASES = [
    # Each grid with a mistake that has a name leaves out other tiles here.
    grouped("six by three small tiles", 81, 7, 33, tile=SMALL),
    grouped("more rows of tiles than a group", 150, 20, 70),
    grouped("wider than high", 40, 20, 150),
    grouped("B transposed", 50, 70, 70, b="transposed", dtype="float16"),
    product("the default tile", 70, 33, 70),
    product("inner sizes differ", 16, 32, 16, short=1, raises=ValueError),
    product("no columns", 8, 16, 0),
]

HIDDEN_GROUPED_CASES = [
    product("one row", 1, 100, 300),
    grouped("one column of tiles", 300, 33, 8),
    grouped("prime sizes", 137, 67, 113, dtype="float16"),
    grouped("gaps", 40, 48, 40, a="strided", b="strided"),
    grouped("bfloat16", 65, 100, 70, dtype="bfloat16"),
]


# --- linear_act


def linear_tolerance(dtype):
    """Of a float32 sum and one rounding; where GELU is near zero the error is that of the sum."""
    half = 0.0 if dtype == torch.float32 else torch.finfo(dtype).eps / 2
    because = "one rounding at the store, and a float32 sum"
    return Tolerance(half + 4e-6, 2e-5, 1e-6, because)


def linear(note, M, K, N, act, x=None, w=None, short=0, **more):
    """A case of linear_act, whose bias lacks `short` numbers. x, w, bias: how they are drawn."""
    bias = tensor(N - short, **more.pop("bias", {}))
    x, w = tensor(M, K, **x or {}), tensor(K, N, **w or {})
    return case(note, x=x, w=w, bias=bias, act=act, **more)


GAPS, TURNED = {"layout": "strided"}, {"layout": "transposed"}
POSITIVE, LARGE, SMALLER = {"values": "positive"}, {"scale": 30.0}, {"scale": 0.2}
LINEAR_CASES = [
    linear("less than a tile", 5, 9, 12, "relu"),
    linear("ragged tiles", 140, 70, 90, "silu"),
    linear("wide", 20, 33, 200, "none"),
    linear("high", 520, 10, 70, "relu"),
    linear("a bias with gaps, rows with gaps", 33, 40, 70, "gelu", x=GAPS, bias=GAPS),
    linear("x transposed, w as nn.Linear keeps it", 40, 70, 80, "silu", x=TURNED, w=TURNED),
    linear("half precision", 50, 96, 60, "gelu", dtype="float16"),
    linear("bfloat16", 40, 70, 30, "silu", dtype="bfloat16"),
    linear("a long sum of one sign", 4, 500, 20, "none", POSITIVE, POSITIVE, dtype="float16"),
    linear("no rows", 0, 16, 8, "relu"),
    linear("unknown activation", 16, 16, 16, "tanh", raises=ValueError),
    linear("bias too short", 16, 16, 17, "none", short=1, raises=ValueError),
]

HIDDEN_LINEAR_CASES = [
    linear("one row", 1, 100, 65, "silu"),
    linear("square", 48, 33, 48, "gelu"),
    linear("a low bias", 20, 30, 70, "silu", bias={"mean": -3.0}),
    linear("far from zero", 20, 64, 33, "gelu", x=LARGE, w=LARGE),
    linear("several tiles", 140, 50, 260, "silu", w=SMALLER, bias=GAPS, dtype="float16"),
    linear("bfloat16", 40, 40, 40, "gelu", w=SMALLER, dtype="bfloat16"),
    linear("no sum", 7, 0, 9, "relu"),
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
            asks.launches(1),
            asks.starts_at_most(
                lambda a, b, tile=None: products.programs(a.shape[0], b.shape[1], tile)
            ),
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
            asks.launches(1),
            asks.starts_at_most(lambda x, w, bias, act: products.programs(x.shape[0], w.shape[1])),
            asks.exact_float32(),
            asks.no_copies(),
            asks.offsets_of_64_bits("x", "w"),
            asks.stores_once(),
            asks.shares_work(210_000),  # of the high one; fewer rows may be a single large tile
        ],
        tolerance=linear_tolerance,
    ),
}
