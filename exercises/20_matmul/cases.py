"""What the checks of 20_matmul try: cases, references, and mistakes that have a name."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor

from .page import matmul_ref, swizzle_ref


def terms(a, b, *rest):
    """Products that are added up in one element: the tolerance grows with its square root."""
    return a.shape[1]


def as_tf32(x):
    return (x.to(torch.float32).view(torch.int32) & ~0x1FFF).view(torch.float32).to(x.dtype)


def keeps_a_float32_sum(fn):
    """8192 products of one sign: a float16 sum stands still or drifts long before the end."""
    a = (torch.rand(16, 8192, generator=torch.Generator().manual_seed(0)) + 0.5).half()
    b = (torch.rand(8192, 16, generator=torch.Generator().manual_seed(1)) + 0.5).half()
    want = a.double() @ b.double()
    got = fn(a.to(DEVICE), b.to(DEVICE)).cpu().double()
    error = ((got - want).abs() / want).max().item()
    assert error < 1e-3, (
        f"With K=8192 and positive inputs the result is off by {error:.1%}. The error grows "
        "with K: the accumulator has to be float32, not float16."
    )


SUSPECTS = {
    "k-tail": (
        lambda a, b: a[:, : a.shape[1] // 32 * 32] @ b[: a.shape[1] // 32 * 32],
        "The last columns of A never entered the sum: K is not a multiple of BLOCK_K here. "
        "Loop over `range(0, K, BLOCK_K)` and mask the last step.",
    ),
    "only-first-k-tile": (
        lambda a, b: a[:, :32] @ b[:32],
        "Only the first step of the K loop counts. Is the product added to the accumulator?",
    ),
    "only-last-k-tile": (
        lambda a, b: a[:, (a.shape[1] - 1) // 32 * 32 :] @ b[(a.shape[1] - 1) // 32 * 32 :],
        "Only the last step of the K loop counts. `tl.dot(a, b, acc, ...)` adds to acc; without "
        "acc it starts from zero.",
    ),
    "a-stands-still": (
        lambda a, b: sum(
            a[:, : len(b[k : k + 32])] @ b[k : k + 32] for k in range(0, a.shape[1], 32)
        ),
        "Every step uses the first tile of A. Advance its pointers along K.",
    ),
    "b-stands-still": (
        lambda a, b: sum(
            a[:, k : k + 32] @ b[: min(32, a.shape[1] - k)] for k in range(0, a.shape[1], 32)
        ),
        "Every step uses the first tile of B. Advance its pointers along K.",
    ),
    "tf32": (
        lambda a, b: as_tf32(a) @ as_tf32(b),
        "These are TF32 digits: float32 inputs were cut to 10 bits of mantissa. Ask for "
        'input_precision="ieee".',
    ),
}

CASES = [
    case("whole tiles", a=tensor(64, 64), b=tensor(64, 128)),
    case("K is no multiple of the tile", a=tensor(40, 70), b=tensor(70, 50)),
    case("several tiles, all ragged", dtype="float16", a=tensor(150, 31), b=tensor(31, 200)),
    case("A transposed", a=tensor(70, 33, layout="transposed"), b=tensor(33, 40)),
    case("B transposed", dtype="float16", a=tensor(33, 30), b=tensor(30, 40, layout="transposed")),
    case("one row", a=tensor(1, 100), b=tensor(100, 65)),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
]


def takes_every_tile_once(fn):
    for grid_m, grid_n, group in [(1, 1, 8), (5, 3, 2), (3, 7, 8), (9, 4, 4), (8, 8, 1)]:
        got = sorted(tuple(fn(pid, grid_m, grid_n, group)) for pid in range(grid_m * grid_n))
        want = [(m, n) for m in range(grid_m) for n in range(grid_n)]
        missing = sorted(set(want) - set(got))
        assert not missing, (
            f"With {grid_m} x {grid_n} tiles and group {group}, no program takes tile {missing[0]}."
        )


ORDER_SUSPECTS = {
    "no-groups": (
        lambda pid, grid_m, grid_n, group: (pid // grid_n, pid % grid_n),
        "This is row by row: the group makes no difference.",
    ),
    "short-last-group": (
        lambda pid, grid_m, grid_n, group: (
            pid // (group * grid_n) * group + pid % (group * grid_n) % group,
            pid % (group * grid_n) // group,
        ),
        "Right until the last group: it may have fewer rows than the others. How many are left?",
    ),
    "row-and-column-swapped": (
        lambda pid, grid_m, grid_n, group: swizzle_ref(pid, grid_m, grid_n, group)[::-1],
        "The pair is (pid_n, pid_m); the row comes first.",
    ),
    "across-first": (
        lambda pid, grid_m, grid_n, group: (
            (
                pid // grid_n,
                pid % grid_n,
            )
            if group >= grid_m
            else (
                pid // (group * grid_n) * group + pid % (group * grid_n) // grid_n,
                pid % grid_n,
            )
        ),
        "Inside a group you go along the row first. Go down the column first: neighbours in time "
        "then share the strip of B.",
    ),
}

ORDER_CASES = [
    case("the second column", pid=6, grid_m=8, grid_n=8, group=4),
    case("the second program", pid=1, grid_m=8, grid_n=8, group=4),
    case("the second group", pid=35, grid_m=8, grid_n=8, group=4),
    case("the short last group", pid=14, grid_m=5, grid_n=3, group=4),
    case("the short last group begins", pid=12, grid_m=5, grid_n=3, group=4),
    case("fewer rows than the group", pid=5, grid_m=3, grid_n=6, group=8),
]


def goes_in_groups(fn, tile_order):
    for grid_m, grid_n, group in [(8, 5, 4), (5, 4, 3)]:
        got = [tuple(pair) for pair in tile_order(grid_m, grid_n, group).tolist()]
        want = [swizzle_ref(pid, grid_m, grid_n, group) for pid in range(grid_m * grid_n)]
        wrong = next((pid for pid in range(len(want)) if got[pid] != want[pid]), None)
        assert wrong is None, (
            "The product is right, but the tiles are not taken in groups: with "
            f"{grid_m} x {grid_n} tiles and GROUP_M={group}, program {wrong} takes tile "
            f"{got[wrong]}; the rule of Task 2 gives it {want[wrong]}."
        )


ACTIVATIONS = {
    "none": lambda y: y,
    "relu": torch.relu,
    "gelu": lambda y: torch.nn.functional.gelu(y, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


def linear_act_ref(x, w, bias, act):
    return ACTIVATIONS[act](x @ w + bias)


def linear_tolerance(dtype):
    """Of a sum of 128 products and more; where GELU is near zero the error is that of the sum."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 2e-6
    return Tolerance(eps + 2e-6, 2e-5, 1e-6, "one rounding at the store, and a float32 sum")


LINEAR_SUSPECTS = {
    "no-bias": (lambda x, w, bias, act: ACTIVATIONS[act](x @ w), "The bias is missing."),
    "no-activation": (lambda x, w, bias, act: x @ w + bias, "The activation was not applied."),
    "bias-after-activation": (
        lambda x, w, bias, act: ACTIVATIONS[act](x @ w) + bias,
        "The bias was added after the activation. It belongs inside.",
    ),
    "gelu-as-silu": (
        lambda x, w, bias, act: torch.nn.functional.silu(x @ w + bias),
        "This is SiLU for every activation. Which branch does `ACT` take?",
    ),
    "relu-always": (
        lambda x, w, bias, act: torch.relu(x @ w + bias),
        "This is ReLU for every activation. Which branch does `ACT` take?",
    ),
    "bias-by-row": (
        lambda x, w, bias, act: ACTIVATIONS[act](x @ w + bias[: x.shape[0], None]),
        "The bias was added along the wrong axis: one number for each row, not for each column.",
    ),
}

LINEAR_CASES = [
    case("relu", x=tensor(40, 70), w=tensor(70, 50), bias=tensor(50), act="relu"),
    case("gelu", x=tensor(40, 70), w=tensor(70, 50), bias=tensor(50), act="gelu"),
    case("silu", x=tensor(40, 70), w=tensor(70, 50), bias=tensor(50), act="silu"),
    case("no activation", x=tensor(30, 40), w=tensor(40, 40), bias=tensor(40), act="none"),
    case(
        "a weight as nn.Linear keeps it",
        dtype="float16",
        x=tensor(50, 96),
        w=tensor(96, 200, layout="transposed", scale=0.1),
        bias=tensor(200),
        act="gelu",
    ),
    case(
        "unknown activation",
        x=tensor(16, 16),
        w=tensor(16, 16),
        bias=tensor(16),
        act="tanh",
        raises=ValueError,
    ),
]

LONG_SUM = [keeps_a_float32_sum]

HIDDEN_CASES = [
    case("a single element", a=tensor(1, 1), b=tensor(1, 1)),
    case("one column", a=tensor(70, 130), b=tensor(130, 1)),
    case("K of one", a=tensor(80, 1), b=tensor(1, 70)),
    case("prime sizes", a=tensor(131, 67), b=tensor(67, 139)),
    case("rows with gaps", a=tensor(40, 48, layout="strided"), b=tensor(48, 40, layout="strided")),
    case("odd addresses", a=tensor(40, 48, layout="offset"), b=tensor(48, 40, layout="offset")),
    case(
        "both transposed",
        dtype="float16",
        a=tensor(50, 70, layout="transposed"),
        b=tensor(70, 90, layout="transposed"),
    ),
    case("one row repeated", a=tensor(32, 40, layout="expanded"), b=tensor(40, 32)),
    case("one sign", dtype="float16", a=tensor(33, 300, values="positive"), b=tensor(300, 17)),
    case("bfloat16", dtype="bfloat16", a=tensor(65, 100), b=tensor(100, 70)),
    case("large and small", a=tensor(40, 50, scale=1e4), b=tensor(50, 40, scale=1e-4)),
    case("no rows", a=tensor(0, 16), b=tensor(16, 8)),
    case("inner sizes differ by a tile", a=tensor(16, 64), b=tensor(32, 16), raises=ValueError),
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

GROUPED_CASES = [
    case("K is no multiple of the tile", a=tensor(40, 70), b=tensor(70, 50)),
    case("more rows of tiles than a group", a=tensor(520, 20), b=tensor(20, 130)),
    case(
        "B transposed",
        dtype="float16",
        a=tensor(150, 45),
        b=tensor(45, 200, layout="transposed"),
    ),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
]

GROUPED = dict(terms=terms, launches=1, mistakes=SUSPECTS)

HIDDEN_GROUPED_CASES = [
    case("one row", a=tensor(1, 100), b=tensor(100, 300)),
    case("one column of tiles", a=tensor(530, 33), b=tensor(33, 8)),
    case("prime sizes", dtype="float16", a=tensor(257, 67), b=tensor(67, 263)),
    case("rows with gaps", a=tensor(40, 48, layout="strided"), b=tensor(48, 40, layout="strided")),
    case("bfloat16", dtype="bfloat16", a=tensor(65, 100), b=tensor(100, 70)),
    case("no columns", a=tensor(8, 16), b=tensor(16, 0)),
]

LINEAR = dict(launches=1, mistakes=LINEAR_SUSPECTS, tolerance=linear_tolerance)

HIDDEN_LINEAR_CASES = [
    case("one row", x=tensor(1, 100), w=tensor(100, 65), bias=tensor(65), act="silu"),
    case("square", x=tensor(48, 33), w=tensor(33, 48), bias=tensor(48), act="gelu"),
    case(
        "a bias with gaps",
        x=tensor(33, 20),
        w=tensor(20, 40),
        bias=tensor(40, layout="strided"),
        act="relu",
    ),
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
        bias=tensor(260),
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
        "rows with gaps",
        x=tensor(40, 48, layout="strided"),
        w=tensor(48, 40),
        bias=tensor(40),
        act="none",
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

CHECKS = {
    "matmul": Check(
        matmul_ref,
        CASES,
        HIDDEN_CASES,
        terms=terms,
        launches=1,
        mistakes=SUSPECTS,
        also=LONG_SUM,
    ),
    "swizzle": Check(
        swizzle_ref,
        ORDER_CASES,
        HIDDEN_ORDER_CASES,
        triton=False,
        mistakes=ORDER_SUSPECTS,
        also=[takes_every_tile_once],
    ),
    "matmul_grouped": Check(
        matmul_ref,
        GROUPED_CASES,
        HIDDEN_GROUPED_CASES,
        beside=("tile_order",),
        also=[goes_in_groups],
        **GROUPED,
    ),
    "linear_act": Check(
        linear_act_ref,
        LINEAR_CASES,
        HIDDEN_LINEAR_CASES,
        **LINEAR,
    ),
}
