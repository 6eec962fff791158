"""What the checks of 31_op_library try: cases, references, and mistakes that have a name."""

import torch

from tritonbook.checking import Check, Tolerance, case, promotion, replacement, tensor

from .page import block_expected, laid_out


def merge_ref(sizes, strides):
    kept = [d for d in range(len(sizes)) if sizes[d] != 1]
    sizes = [sizes[d] for d in kept]
    strides = [[s[d] for d in kept] for s in strides]
    d = 0
    while d + 1 < len(sizes):
        if all(s[d] == sizes[d + 1] * s[d + 1] for s in strides):
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
            for s in strides:
                del s[d]
        else:
            d += 1
    return (sizes, strides) if sizes else ([1], [[0] for _ in strides])


MERGE_CASES = [
    case("contiguous", sizes=[2, 3, 4], strides=[[12, 4, 1]]),
    case("two tensors, one broadcast", sizes=[2, 3, 4], strides=[[12, 4, 1], [0, 4, 1]]),
    case("a dimension of size 1", sizes=[5, 1, 7], strides=[[14, 9, 2]]),
    case("a scalar", sizes=[], strides=[[], []]),
    case("rows with gaps", sizes=[6, 10], strides=[[16, 1]]),
]

MERGE_SUSPECTS = {
    "nothing-merged": (
        lambda sizes, strides: (list(sizes), [list(s) for s in strides]),
        "Nothing is merged. Neighbouring dimensions that are one in memory must become one.",
    ),
}


def promotion_case(operands):
    return case(operands, operands=operands)


TORCH = {
    "axpy": lambda alpha, x, y: torch.mul(x, alpha) + y,
    "silu": lambda x: (
        x.double()
        .mul(torch.sigmoid(x.double()))
        .to(x.dtype if x.is_floating_point() else torch.float32)
    ),
    "multiply": torch.mul,
}

CLOSE = Tolerance(2e-3, because="float16 results are rounded once")


def pointwise_ref(name, layout, *arguments):
    out = TORCH[name](*laid_out(layout, arguments))
    return out, str(out.dtype), 1


def formula_case(note, what, *shapes, layout="plain", alpha=None, dtypes=()):
    """One case: a formula, its tensors' shapes and dtypes, and how the first one lies in memory."""
    arguments = {} if alpha is None else {"alpha": alpha}
    for k, shape in enumerate(shapes):
        dtype = dtypes[k] if dtypes else "float32"
        values = "normal" if dtype.startswith(("float", "bf")) else "integers"
        arguments["xy"[k]] = tensor(*shape, dtype=dtype, values=values, high=100)
    return case(note, what=what, layout=layout, **arguments)


HALF, WHOLE = "float16", "int32"

POINTWISE_CASES = [
    formula_case("contiguous", "multiply", (40, 30), (40, 30)),
    formula_case("a row for all rows", "multiply", (6, 200), (200,)),
    formula_case("transposed and not", "multiply", (33, 40), (33, 40), layout="transposed"),
    formula_case("every second element", "silu", (20, 60), layout="every second"),
    formula_case("a number and two tensors", "axpy", (1500,), (1500,), alpha=0.5),
    formula_case("half stays half", "axpy", (300,), (300,), alpha=0.5, dtypes=(HALF, HALF)),
    formula_case("int32 and float32", "multiply", (99,), (99,), dtypes=(WHOLE, "float32")),
    formula_case("three dimensions", "multiply", (3, 5, 7), (3, 5, 7), layout="transposed"),
]

HIDDEN_MERGE_CASES = [
    case("four into two", sizes=[2, 3, 4, 5], strides=[[100, 20, 5, 1]]),
    case("broadcast in the middle", sizes=[2, 3, 4], strides=[[12, 4, 1], [4, 0, 1]]),
    case("all broadcast", sizes=[3, 4], strides=[[0, 0]]),
    case("only ones", sizes=[1, 1], strides=[[7, 3]]),
    case("the second forbids it", sizes=[4, 6], strides=[[6, 1], [12, 1]]),
    case("ones at both ends", sizes=[1, 8, 1], strides=[[99, 2, 5], [1, 1, 1]]),
    case("no tensors but sizes", sizes=[2, 2], strides=[[2, 1], [2, 1], [0, 0]]),
]

PROMOTION_CASES = [
    promotion_case("float32 [70], float32 [70]"),
    promotion_case("float16 [70], 0.5"),
    promotion_case("int32 [70], 0.5"),
    promotion_case("float16 [70], float32 []"),
    promotion_case("int32 [70], float64 []"),
    promotion_case("int32 [70], int64 [70]"),
]

HIDDEN_PROMOTION_CASES = [
    promotion_case("int64 [70], float16 [70]"),
    promotion_case("0.5, float16 [70], float16 [70]"),
    promotion_case("3, int32 [70], float32 []"),
    promotion_case("int32 [], 3"),
    promotion_case("int32 [], int32 []"),
    promotion_case("bool [70], 3"),
    promotion_case("bool [70], True"),
    promotion_case("uint8 [70], int8 [70]"),
    promotion_case("float16 [70], bfloat16 [70]"),
    promotion_case("bool [70], int16 [], 0.5"),
]

HIDDEN_POINTWISE_CASES = [
    formula_case("four, reversed", "multiply", (2, 3, 4, 5), (2, 3, 4, 5), layout="reversed"),
    formula_case("a column by a row", "multiply", (9, 1), (1, 130)),
    formula_case("stride 0", "multiply", (6, 50), (6, 50), layout="stride 0"),
    formula_case("stride 0 alone", "silu", (6, 50), layout="stride 0"),
    formula_case("rank 5", "multiply", (2, 1, 3, 1, 4), (1, 5, 1, 2, 1)),
    formula_case("a 0-d tensor", "multiply", (70,), (), dtypes=(HALF, "float32")),
    formula_case("0-d and integers", "multiply", (70,), (), dtypes=(WHOLE, "float32")),
    formula_case("int32 and int64", "multiply", (70,), (70,), dtypes=(WHOLE, "int64")),
    formula_case("integers through silu", "silu", (99,), dtypes=(WHOLE,)),
    formula_case("the number 1", "axpy", (2000,), (2000,), alpha=1),
    formula_case("all integers", "axpy", (70,), (70,), alpha=3, dtypes=(WHOLE, WHOLE)),
    formula_case("a scalar result", "multiply", (), ()),
    formula_case("bytes", "multiply", (70,), (70,), dtypes=("uint8", "int8")),
    formula_case("yes and no", "multiply", (70,), (70,), dtypes=("bool", "bool")),
    formula_case("float64 and a number", "axpy", (70,), (70,), alpha=0.1, dtypes=("float64",) * 2),
]

CHECKS = {
    "merge": Check(
        merge_ref,
        MERGE_CASES,
        HIDDEN_MERGE_CASES,
        triton=False,
        mistakes=MERGE_SUSPECTS,
    ),
    "result_dtype": Check(
        promotion.promoted,
        PROMOTION_CASES,
        HIDDEN_PROMOTION_CASES,
        through="promotion_says",
        triton=False,
        mistakes=promotion.SUSPECTS,
    ),
    "kernel_source": Check(
        pointwise_ref,
        POINTWISE_CASES,
        HIDDEN_POINTWISE_CASES,
        through="run_pointwise",
        triton=False,
        tolerance=CLOSE,
        timeout=120,
    ),
    "use_workbook_ops": Check(
        block_expected,
        [
            case("replaced inside the block", question="inside"),
            case("restored after it", question="after"),
            case("restored after an error", question="after an error"),
            case("the list of names", question="names"),
            case("an unmodified model", question="model"),
        ],
        [
            case("only the ones that are asked for", question="some"),
            case("an unknown name", question="unknown"),
            case("a block in a block", question="nested"),
            case("used twice", question="twice"),
            case("numbers and dtypes", question="numbers"),
            case("gradients of an unmodified model", question="gradients"),
            case("an unmodified model in bfloat16", question="bfloat16"),
        ],
        through="block_says",
        triton=False,
        mistakes=replacement.suspects(),
        timeout=120,
    ),
}
