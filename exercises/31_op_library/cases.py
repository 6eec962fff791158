"""What the checks of 31_op_library try: cases and references."""

import torch
import triton

from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import launches, no_copies, shares_work, tiles_of_at_most

from .page import softmax_backward_ref

# --- the generator

FORMULAS = {
    "x + y": lambda x, y: x + y,
    "x * y": lambda x, y: x * y,
    "x * tl.sigmoid(x)": lambda x: x * torch.sigmoid(x),
    "x - y": lambda x, y: x - y,
    "(x + y) - x": lambda x, y: (x + y) - x,
}


def pointwise_ref(formula, layout, *tensors):
    dtype = torch.result_type(tensors[0], tensors[-1])
    wide = torch.float64 if dtype.is_floating_point else dtype
    return FORMULAS[formula](*(x.to(wide) for x in tensors)).to(dtype).contiguous()


def formula_case(note, formula, *shapes, layout="plain", dtypes=(), **values):
    """One case: a formula, its tensors, and how the first of them lies in memory."""
    arguments = {}
    for k, shape in enumerate(shapes):
        dtype = dtypes[k] if dtypes else "float32"
        drawn = (
            {"values": "integers", "low": 2**25, "high": 2**25 + 10} if "int" in dtype else values
        )
        arguments["xy"[k]] = tensor(*shape, dtype=dtype, **drawn)
    return case(note, formula=formula, layout=layout, **arguments)


SOURCE_CASES = [
    formula_case("contiguous", "x * y", (40, 30), (40, 30)),
    formula_case("a row for all rows", "x + y", (6, 200), (200,)),
    formula_case("a column and a row", "x * y", (9, 1), (1, 130)),
    formula_case("transposed and not", "x + y", (33, 40), (33, 40), layout="reversed"),
    formula_case("more rows than columns", "x * y", (70, 6), (6,)),
    formula_case("three dimensions", "x + y", (3, 5, 7), (3, 5, 7), layout="reversed"),
    formula_case("every second element", "x * tl.sigmoid(x)", (20, 60), layout="every second"),
    formula_case(
        "half precision, computed in float32",
        "(x + y) - x",
        (11, 30),
        (11, 30),
        layout="reversed",
        dtypes=("float16", "float16"),
        scale=30.0,
    ),
    formula_case("large whole numbers", "x - y", (70,), (70,), dtypes=("int32", "int32")),
    formula_case("no elements", "x + y", (0, 3), (3,)),
]

HIDDEN_SOURCE_CASES = [
    formula_case("four dimensions", "x * y", (2, 3, 4, 5), (2, 3, 4, 5), layout="reversed"),
    formula_case("a column for all columns", "x + y", (50, 7), (50, 1)),
    formula_case("rank 5", "x * y", (2, 1, 3, 1, 4), (1, 5, 1, 2, 1)),
    formula_case("a scalar", "x * y", (), ()),
    formula_case("a scalar and a vector", "x + y", (70,), ()),
    formula_case("two dtypes", "x * y", (70, 3), (3,), dtypes=("float16", "float32")),
    formula_case("long", "x * tl.sigmoid(x)", (5000,)),
    formula_case("bfloat16", "(x + y) - x", (90,), (90,), dtypes=("bfloat16", "bfloat16")),
]

# --- the blank page


def rows(note, M, N, dy="contiguous", y="contiguous", dtype="float32", **how):
    """dy around a mean, so that the sum counts; y as of a softmax: positive."""
    return case(
        note,
        dtype=dtype,
        dy=tensor(M, N, layout=dy, mean=1.0),
        y=tensor(M, N, layout=y, values="positive", scale=0.1),
        **how,
    )


BACKWARD_CASES = [
    rows("rows with a ragged end", 70, 300),
    rows("rows of exactly one tile", 5, 256),
    rows("dy transposed", 6, 40, dy="transposed"),
    rows("y transposed", 6, 40, y="transposed"),
    rows("rows with gaps", 5, 90, dy="strided", y="strided"),
    rows("half precision", 4, 700, dtype="float16"),
    rows("no rows", 0, 16),
    rows("as wide as a row may be", 1, 16_384),
    case("two shapes, as many elements", dy=tensor(4, 6), y=tensor(6, 4), raises=ValueError),
    case("no matrix", dy=tensor(8), y=tensor(8), raises=ValueError),
    case("too wide", dy=tensor(1, 16_385), y=tensor(1, 16_385), raises=ValueError),
    case("three dimensions", dy=tensor(2, 3, 4), y=tensor(2, 3, 4), raises=ValueError),
    case("two widths", dy=tensor(4, 8), y=tensor(4, 9), raises=ValueError),
]

HIDDEN_BACKWARD_CASES = [
    rows("one column", 9, 1),
    rows("one row", 1, 1000),
    rows("both transposed", 33, 20, dy="transposed", y="transposed"),
    rows("gaps in y", 6, 77, y="strided"),
    rows("bfloat16", 5, 300, dtype="bfloat16"),
    rows("wide", 2, 9000),
]

# --- the block


def follow(story):
    """What a story tells: which of sin, cos and exp are replaced at each "look"."""
    seen = []

    def look(now):
        seen.append([name for name in ("sin", "cos", "exp") if name in now])

    def steps(some, now):
        for step in some:
            if step == "look":
                look(now)
            elif step == "raise":
                raise ZeroDivisionError
            else:
                block(*step, now)

    def block(names, inside, now):
        try:
            if any("::" in name for name in names):  # PyTorch refuses it
                raise RuntimeError
            steps(inside, {*now, *names})
        except (ZeroDivisionError, RuntimeError) as error:
            seen.append(type(error).__name__)
            look(now)

    steps(story, set())
    return seen


STORIES = [
    # Twice: what a first block leaves behind is seen in the same case.
    case(
        "replaced inside, restored after",
        story=["look", [["sin"], ["look"]], "look", [["sin"], ["look"]], "look"],
    ),
    case("several at once", story=[[["exp", "sin"], ["look"]], "look"]),
    case("an error in the block", story=[[["sin"], ["look", "raise", "look"]], "look"]),
    case("a block in a block", story=[[["sin"], [[["cos"], ["look"]], "look"]], "look"]),
    case("one block after another", story=[[["sin"], ["look"]], [["cos"], ["look"]], "look"]),
    case("a name that PyTorch refuses", story=[[["cos", "other::sin"], ["look"]], "look"]),
]

HIDDEN_STORIES = [
    case("nothing to replace", story=[[[], ["look"]], "look"]),
    case(
        "an error in the inner block",
        story=[[["exp"], [[["sin", "cos"], ["look", "raise"]], "look"]], "look"],
    ),
    case("a refused name first", story=[[["other::exp", "sin"], ["look"]], "look"]),
]

CHECKS = {
    "kernel_source": Check(
        pointwise_ref,
        SOURCE_CASES,
        HIDDEN_SOURCE_CASES,
        through="pointwise_result",
        triton=False,
        tolerance=Tolerance(2e-3, because="float16 results are rounded once"),
        timeout=60,
    ),
    "softmax_backward": Check(
        softmax_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        asks=[
            launches(1),
            no_copies(),
            tiles_of_at_most(lambda dy, y: max(4096, 4 * triton.next_power_of_2(y.shape[1]))),
            shares_work(250_000),  # a few wide rows may be one program's
        ],
        tolerance=rounded_once(terms=4096),
    ),
    "use_kernels": Check(follow, STORIES, HIDDEN_STORIES, through="block_told", triton=False),
}
