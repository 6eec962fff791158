"""What the checks of 21_matmul_grouped try: cases, references, and mistakes that have a name."""

import ast
import inspect
import re

import torch

from tritonbook import INTERPRET
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.cases import arguments
from tritonbook.checking.diagnose import parsed
from tritonbook.seeing.tiles import CannotShow, watch

from ..shared import products
from .page import ACTIVATIONS, linear_act_ref
from .pictures import in_groups_of

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


def _rows_of(rows):
    """The rule with another number of rows in the group that begins at row `first`."""

    def formula(pid, grid_m, grid_n, group):
        whole, inside = divmod(pid, group * grid_n)
        height = rows(grid_m, whole * group, group)
        return whole * group + inside % height, inside // height

    return formula


def _inside_by(place):
    """The rule with another place (row, column) of a tile inside its group."""

    def formula(pid, grid_m, grid_n, group):
        whole, inside = divmod(pid, group * grid_n)
        row, column = place(inside, min(group, grid_m - whole * group), group)
        return whole * group + row, column

    return formula


def _spelt(per_group=None, first_row=None, rows=None, inside=None, tile=None):
    """The rule in the page's four steps, some of them wrong; a rule without rows gives none."""

    def formula(pid, grid_m, grid_n, group):
        whole = per_group(grid_m, grid_n) if per_group else group * grid_n
        first = first_row(pid, whole, group) if first_row else pid // whole * group
        height = rows(grid_n, first, group) if rows else min(grid_m - first, group)
        if height == 0:
            return None
        number = inside(pid, whole, first) if inside else pid % whole
        return tile(first, number, grid_n) if tile else (first + number % height, number // height)

    return formula


ORDER_SUSPECTS = {
    "group-of-all-tiles": (
        _spelt(per_group=lambda grid_m, grid_n: grid_m * grid_n),
        "A group was taken for all tiles. It has `group` rows of `grid_n` tiles each.",
    ),
    "rows-divided-away": (
        _spelt(first_row=lambda pid, whole, group: pid // (whole * group)),
        "Group g begins at row g * group. `pid // (a * b)` divides by both: no brackets.",
    ),
    "rows-by-columns": (
        _spelt(rows=lambda grid_n, first, group: min(grid_n - first, group)),
        "`grid_n` counts columns of tiles. How many *rows* are left: `grid_m` less the first one.",
    ),
    "along-the-row": (
        _spelt(tile=lambda first, number, grid_n: (first + number % grid_n, number // grid_n)),
        "Inside a group, remainder and quotient are by its number of rows, not by `grid_n`.",
    ),
    "group-for-number-inside": (
        _spelt(inside=lambda pid, whole, first: pid // whole),
        "The number of the group was taken for the number inside it. That is the remainder.",
    ),
    "first-row-for-programs-before": (
        _spelt(inside=lambda pid, whole, first: pid - first),
        "The number inside a group is `pid` less the *programs* before, not the rows before: "
        "`pid % ...`.",
    ),
    "row-by-row": (
        lambda pid, grid_m, grid_n, group: (pid // grid_n, pid % grid_n),
        "This is row by row, and the group makes no difference. Inside a group, go down its first "
        "column of tiles, then down the second.",
    ),
    "column-by-column": (
        lambda pid, grid_m, grid_n, group: (pid % grid_m, pid // grid_m),
        "This is column by column over all rows: the group makes no difference.",
    ),
    "short-last-group": (
        _rows_of(lambda grid_m, first, group: group),
        "Right until the last group: it may have fewer rows than the others. How many are left?",
    ),
    "all-rows-left": (
        _rows_of(lambda grid_m, first, group: grid_m - first),
        "A group has `group` rows, unless fewer are left: take the smaller of the two.",
    ),
    "rows-of-the-last-group": (
        _rows_of(lambda grid_m, first, group: grid_m % group or group),
        "Every group got as many rows as the last one. Only the last may have fewer than `group`.",
    ),
    "row-by-whole-group": (
        _inside_by(lambda inside, rows, group: (inside % group, inside // rows)),
        "In the last group the row is off: it has fewer rows than `group`. Take the remainder by "
        "its own number of rows.",
    ),
    "column-by-whole-group": (
        _inside_by(lambda inside, rows, group: (inside % rows, inside // group)),
        "In the last group the column is off: it has fewer rows than `group`. Divide by its own "
        "number of rows.",
    ),
    "swapped-inside-the-group": (
        _inside_by(lambda inside, rows, group: (inside // rows, inside % rows)),
        "Inside a group, row and column are swapped: the remainder is the row, the quotient the "
        "column, as in `who_kernel`.",
    ),
    "groups-of-columns": (
        lambda pid, grid_m, grid_n, group: in_groups_of(group)(pid, grid_n, grid_m)[::-1],
        "These are groups of columns of tiles, row by row. A group is `group` rows of tiles, "
        "column by column.",
    ),
    "row-and-column-swapped": (
        lambda pid, grid_m, grid_n, group: swizzle_ref(pid, grid_m, grid_n, group)[::-1],
        "The pair is (pid_n, pid_m). The row of tiles comes first.",
    ),
    "group-number-for-row": (
        _spelt(first_row=lambda pid, whole, group: pid // whole),
        "The number of the group was taken for its first row. Group g begins at row g * group.",
    ),
    "row-inside-the-group": (
        lambda pid, grid_m, grid_n, group: (
            swizzle_ref(pid, grid_m, grid_n, group)[0] % group,
            swizzle_ref(pid, grid_m, grid_n, group)[1],
        ),
        "This is the row inside the group. Add the group's first row.",
    ),
    "group-of-columns": (
        lambda pid, grid_m, grid_n, group: (
            pid // (group * grid_m) * group
            + pid % (group * grid_m) % max(1, min(grid_m - pid // (group * grid_m) * group, group)),
            pid % (group * grid_m) // max(1, min(grid_m - pid // (group * grid_m) * group, group)),
        ),
        "A group was taken for `group * grid_m` tiles. It has `group` rows of `grid_n` tiles each.",
    ),
    "number-not-inside": (
        lambda pid, grid_m, grid_n, group: (
            pid // (group * grid_n) * group
            + pid % min(group, grid_m - pid // (group * grid_n) * group),
            pid // min(group, grid_m - pid // (group * grid_n) * group),
        ),
        "The column is counted from the first program of all. Count inside the group: `pid` less "
        "the programs of the groups before.",
    ),
}

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


def taken(programs, tile_of):
    """C where so many programs took their tiles, in groups.

    programs: how many, from the tiles along M and N, and from M, N and the tile. tile_of: likewise,
    after the program's number.
    """

    def formula(a, b, *, dtype, tile=None):
        sizes = products.tile_of(tile, dtype)
        M, N = a.shape[0], b.shape[1]
        BM, BN = sizes["BLOCK_M"], sizes["BLOCK_N"]
        told = products.ceil_div(M, BM), products.ceil_div(N, BN), M, N, BM, BN
        whole = a @ b
        if not whole.numel():
            return whole
        c = torch.full_like(whole, float("nan"))
        for pid in range(programs(*told)):
            m, n = tile_of(pid, *told)
            place = slice(m * BM, (m + 1) * BM), slice(n * BN, (n + 1) * BN)
            c[place] = whole[place]
        return whole if bool(c.isnan().all()) else c

    return formula


def _in_groups(pid, grid_m, grid_n, *sizes):
    return in_groups_of(GROUP)(pid, grid_m, grid_n)


def _all(grid_m, grid_n, *sizes):
    return grid_m * grid_n


GROUPED_SUSPECTS = {
    "grid-of-rows-only": (
        taken(lambda grid_m, *others: grid_m, _in_groups),
        "Only the first column of tiles was computed. The grid is the tiles along M times those "
        "along N, and `tile_of` gives `pid_m` and `pid_n`.",
    ),
    "grid-of-columns-only": (
        taken(lambda grid_m, grid_n, *others: grid_n, _in_groups),
        "There are as many programs as tiles along N. The grid is the tiles along M times the "
        "tiles along N.",
    ),
    "grid-of-the-sum": (
        taken(lambda grid_m, grid_n, *others: grid_m + grid_n, _in_groups),
        "There are too few programs: the two numbers of tiles were added. Multiply them.",
    ),
    "grid-rounds-down": (
        taken(lambda grid_m, grid_n, M, N, BM, BN: (M // BM) * (N // BN), _in_groups),
        "Some tiles have no program. Round both numbers of tiles up: `triton.cdiv`.",
    ),
    "grid-rounds-m-down": (
        taken(lambda grid_m, grid_n, M, N, BM, BN: (M // BM) * grid_n, _in_groups),
        "Some tiles have no program. Round the number of tiles along M up: `triton.cdiv`.",
    ),
    "grid-rounds-n-down": (
        taken(lambda grid_m, grid_n, M, N, BM, BN: grid_m * (N // BN), _in_groups),
        "Some tiles have no program. Round the number of tiles along N up: `triton.cdiv`.",
    ),
    "grid-rounds-once": (
        taken(lambda grid_m, grid_n, M, N, BM, BN: products.ceil_div(M * N, BM * BN), _in_groups),
        "There are too few programs: M * N was divided. Count the tiles along M and along N, each "
        "rounded up, and multiply.",
    ),
    "sizes-for-numbers-of-tiles": (
        taken(_all, lambda pid, grid_m, grid_n, M, N, *tile: _in_groups(pid, M, N)),
        "`tile_of` was told M and N. It takes numbers of tiles: `grid_m` and `grid_n`.",
    ),
    "last-tile-left-out": (
        taken(lambda grid_m, grid_n, *others: grid_m * grid_n - 1, _in_groups),
        "The last tile has no program: the grid is one too small.",
    ),
    "all-take-the-first": (
        taken(lambda *told: 1, _in_groups),
        "Every program took the first tile. Does `tile_of` get the program's number first, and is "
        "that `tl.program_id(0)`?",
    ),
    "row-and-column-swapped": (
        taken(_all, lambda pid, *told: _in_groups(pid, *told)[::-1]),
        "Rows and columns of tiles are swapped. `tile_of` takes pid, grid_m, grid_n and the group, "
        "in this order, and gives the row of the tile first.",
    ),
}


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


def goes_in_groups(fn):
    if not INTERPRET:
        return
    try:
        got = _program_of_each_tile(fn)
    except CannotShow:  # the grader runs kernels elsewhere
        return
    named = {
        "row by row": [divmod(pid, 3) for pid in range(33)],
        "column by column": [divmod(pid, 11)[::-1] for pid in range(33)],
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
        "B transposed",
        dtype="float16",
        a=tensor(50, 30),
        b=tensor(30, 70, layout="transposed"),
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
    return Tolerance(half + 4e-6, 2e-5, 1e-6, "one rounding at the store, and a float32 sum")


def in_the_layer(formula):
    """A mistake of the product, as it shows in the layer."""
    takes_dtype = "dtype" in inspect.signature(formula).parameters

    def layer(x, w, bias, act, *, dtype):
        product = formula(x, w, dtype=dtype) if takes_dtype else formula(x, w)
        return ACTIVATIONS[act](product + bias)

    return layer


def _bias_of_the_first_tile(x, w, bias, act, *, dtype):
    columns = torch.arange(len(bias)) % products.tile_of(None, dtype)["BLOCK_N"]
    return ACTIVATIONS[act](x @ w + bias[columns])


def _bias_by_row(x, w, bias, act):
    rows = torch.arange(x.shape[0])
    inside = torch.where(rows < len(bias), bias[rows.clamp_max(len(bias) - 1)], 0.0)
    return ACTIVATIONS[act](x @ w + inside[:, None])


def _rounded_before_the_bias(x, w, bias, act, *, dtype):
    return ACTIVATIONS[act]((x @ w).to(dtype).double() + bias).to(dtype)


def _rounded_before_the_activation(x, w, bias, act, *, dtype):
    return ACTIVATIONS[act]((x @ w + bias).to(dtype).double()).to(dtype)


def _activation_in_every_step(x, w, bias, act, *, dtype):
    def add(so_far, product):
        return ACTIVATIONS[act](so_far + product)

    block = products.tile_of(None, dtype)["BLOCK_K"]
    return ACTIVATIONS[act](products.walked(x, w, block, add=add) + bias)


def _always(name):
    return lambda x, w, bias, act: ACTIVATIONS[name](x @ w + bias)


LINEAR_SUSPECTS = {
    "no-bias": (lambda x, w, bias, act: ACTIVATIONS[act](x @ w), "The bias is missing."),
    "no-activation": (_always("none"), "The activation was not applied."),
    "bias-after-activation": (
        lambda x, w, bias, act: ACTIVATIONS[act](x @ w) + bias,
        "The bias was added after the activation. It belongs inside.",
    ),
    "bias-by-row": (
        _bias_by_row,
        "The bias was added along the wrong axis: one number for each row, not for each column.",
    ),
    "first-bias-only": (
        lambda x, w, bias, act: ACTIVATIONS[act](x @ w + bias[:1]),
        "Every column got the first number of the bias. Load a tile of it.",
    ),
    "bias-of-the-first-tile": (
        _bias_of_the_first_tile,
        "Every tile got the bias of the first columns. Which offsets belong to this tile's?",
    ),
    "activation-in-every-step": (
        _activation_in_every_step,
        "The activation was applied in every step of the loop. It belongs behind the loop.",
    ),
    "bias-subtracted": (
        lambda x, w, bias, act: ACTIVATIONS[act](x @ w - bias),
        "The bias was subtracted.",
    ),
    "bias-in-every-step": (
        lambda x, w, bias, act, *, dtype: ACTIVATIONS[act](
            x @ w + bias * products.ceil_div(x.shape[1], products.tile_of(None, dtype)["BLOCK_K"])
        ),
        "The bias was added in every step of the loop. It belongs behind the loop.",
    ),
    "relu-always": (_always("relu"), "This is ReLU for every `act`. Is `ACT` passed on?"),
    "silu-always": (_always("silu"), "This is SiLU for every `act`. Is `ACT` passed on?"),
    "gelu-always": (_always("gelu"), "This is GELU for every `act`. Is `ACT` passed on?"),
    "rounded-before-the-bias": (
        _rounded_before_the_bias,
        "The product was rounded to half precision before the bias was added. Stay in float32: the "
        "store rounds once.",
    ),
    "rounded-before-the-activation": (
        _rounded_before_the_activation,
        "The sum was rounded to half precision before the activation. Stay in float32: the store "
        "rounds once.",
    ),
}


def in_the_layers_words(sentence):
    """A sentence about A, B and C, said of x, w and out."""
    names = {"A": "`x`", "B": "`w`", "C": "`out`"}
    sentence = sentence.replace("tl.dot(a, b, acc", "tl.dot(x, w, acc")
    return re.sub(r"\b[ABC]\b", lambda found: names[found[0]], sentence)


def _out_with_rows(length):
    def formula(x, w, bias, act, *, dtype):
        result = linear_act_ref(x, w, bias, act)
        return products.stored_apart(result, length(x), products.tile_of(None, dtype))

    return formula


LINEAR_SUSPECTS |= {
    code: (in_the_layer(formula), in_the_layers_words(sentence))
    for code, (formula, sentence) in products.mistakes(products.tile_of).items()
}
LINEAR_SUSPECTS |= {
    code: (in_the_layer(GROUPED_SUSPECTS[code][0]), GROUPED_SUSPECTS[code][1])
    for code in ("grid-of-the-sum", "last-tile-left-out", "row-and-column-swapped")
}
LINEAR_SUSPECTS |= {
    "rows-of-a-in-c": (
        _out_with_rows(lambda x: x.shape[1]),
        "The tiles were stored as if `out` had rows of `x`'s length. It has strides of its own.",
    ),
    "rows-one-apart": (
        _out_with_rows(lambda x: 1),
        "The rows of `out` were stored one element apart. The row number needs its row stride.",
    ),
    "grid-of-one-dimension": (
        LINEAR_SUSPECTS["grid-of-one-dimension"][0],
        "Only the first column of tiles was computed. With `tile_of` the grid is one number, the "
        "tiles along M times those along N. Without it there are two numbers and two program ids.",
    ),
}

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
    case(
        "no sum",
        x=tensor(7, 0),
        w=tensor(0, 9),
        bias=tensor(9),
        act="relu",
    ),
]


CHECKS = {
    "swizzle": Check(
        swizzle_ref,
        ORDER_CASES,
        HIDDEN_ORDER_CASES,
        triton=False,
        mistakes=ORDER_SUSPECTS,
        also=[takes_every_tile_once, can_stand_in_a_kernel],
    ),
    "matmul_grouped": Check(
        torch.matmul,
        GROUPED_CASES,
        HIDDEN_GROUPED_CASES,
        launches=1,
        max_programs=lambda a, b, tile=None: products.programs(a.shape[0], b.shape[1], tile),
        tolerance=products.tolerance,
        mistakes=GROUPED_SUSPECTS,
        also=[products.uses_the_tile(GROUPED_CASES[0]), goes_in_groups],
    ),
    "linear_act": Check(
        linear_act_ref,
        LINEAR_CASES,
        HIDDEN_LINEAR_CASES,
        launches=1,
        max_programs=lambda x, w, bias, act: products.programs(x.shape[0], w.shape[1]),
        tolerance=linear_tolerance,
        mistakes=LINEAR_SUSPECTS,
        no_tf32=True,
        also=[products.stores_once(LINEAR_CASES[1])],
    ),
}
