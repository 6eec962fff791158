"""What the checks of 31_op_library try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import launches, no_copies, tiles_of_at_most

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


def in_memory(x, layout):
    """The memory of x as it lies there, from its first element on."""
    if layout == "reversed":
        return x.permute(*reversed(range(x.dim()))).contiguous().flatten()
    if layout == "every second":
        return torch.stack([x, x + 1], dim=-1).flatten()
    return x.flatten()


def strides_of(x, layout):
    if layout == "reversed":
        turned = x.permute(*reversed(range(x.dim()))).contiguous()
        return turned.permute(*reversed(range(x.dim()))).stride()
    if layout == "every second":
        return torch.stack([x, x + 1], dim=-1).flatten(-2)[..., ::2].stride()
    return x.stride()


def read(memory, places):
    """memory[places]; NaN where there is nothing."""
    inside = (places >= 0) & (places < memory.numel())
    found = memory.double()[places.clamp(0, memory.numel() - 1)]
    return torch.where(inside, found, float("nan"))


def broadcast(x, strides, shape):
    """Strides of x as a tensor of this shape."""
    missing = len(shape) - x.dim()
    sizes = [1] * missing + list(x.shape)
    own = [0] * missing + list(strides)
    return [0 if n == 1 and m != 1 else s for n, m, s in zip(sizes, shape, own, strict=True)]


def generated(place, operand=lambda k: k):
    """What comes out if operand k is read at place(k, indices, strides, sizes) in the memory of
    operand(k). indices: those of each dimension, for all elements in order; strides: each
    operand's."""

    def formula(what, layout, *tensors):
        dtype = torch.result_type(tensors[0], tensors[-1])
        shape = torch.broadcast_shapes(*(x.shape for x in tensors))
        layouts = [layout, *("plain" for _ in tensors[1:])]
        if layout == "plain" and all(x.shape == shape for x in tensors):
            sizes, strides = [shape.numel()], [[1] for _ in tensors]
        else:
            sizes = list(shape)
            strides = [
                broadcast(x, strides_of(x, how), shape)
                for x, how in zip(tensors, layouts, strict=True)
            ]
        element, indices = torch.arange(shape.numel()), []
        for n in reversed(sizes):
            indices.insert(0, element % n)
            element = element // n
        memory = [in_memory(x, how) for x, how in zip(tensors, layouts, strict=True)]
        values = [
            read(memory[operand(k)], place(k, indices, strides, sizes)) for k in range(len(tensors))
        ]
        return FORMULAS[what](*values).to(dtype).reshape(shape)

    return formula


def address(indices, strides):
    return sum(i * s for i, s in zip(indices, strides, strict=True))


def in_order(dimensions):
    """Places of a walk that divides by the sizes of dimensions(rank) in this order."""

    def place(k, indices, strides, shape):
        element = torch.arange(torch.Size(shape).numel())
        found = [None] * len(shape)
        for d in dimensions(len(shape)):
            found[d] = element % shape[d]
            element = element // shape[d]
        return address(found, strides[k])

    return place


def quotient_first(k, indices, strides, shape):
    """Each index taken of the quotient, not of what it was divided from."""
    rest = torch.arange(torch.Size(shape).numel())
    found = [None] * len(shape)
    for d in reversed(range(1, len(shape))):
        rest = rest // shape[d]
        found[d] = rest % shape[d]
    found[0] = rest
    return address(found, strides[k])


def of_the_element(k, indices, strides, shape):
    """Each remainder taken of the element's number, not of what is left of it."""
    element = torch.arange(torch.Size(shape).numel())
    found = [indices[0], *(element % n for n in shape[1:])]
    return address(found, strides[k])


def first_index_by_the_last_size(k, indices, strides, shape):
    """What is left for the first dimension, divided by the size of another."""
    return address([indices[0] % shape[-1], *indices[1:]], strides[k])


def sizes_of_the_dimension_before(k, indices, strides, shape):
    """Each remainder by the size of the dimension before."""
    rest = torch.arange(torch.Size(shape).numel())
    found = [None] * len(shape)
    for d in reversed(range(1, len(shape))):
        found[d] = rest % shape[d - 1]
        rest = rest // shape[d]
    found[0] = rest
    return address(found, strides[k])


def in_half(what, layout, *tensors):
    """The formula in the dtype of the operands: each step is rounded."""
    return FORMULAS[what](*tensors).to(torch.result_type(tensors[0], tensors[-1])).contiguous()


SOURCE_MISTAKES = {
    "first-dimension-first": (
        generated(in_order(lambda rank: range(rank))),
        "The first dimension's index changes fastest. It is the last one's that does: divide by "
        "the last size first.",
    ),
    "not-the-last-dimension-first": (
        generated(in_order(lambda rank: [*range(1, rank), 0])),
        "Right with two dimensions, and with three it divides by the sizes in another order: the "
        "last one comes first.",
    ),
    "quotient-first": (
        generated(quotient_first),
        "The quotient was taken before the remainder. An index is the remainder of what was "
        "there before.",
    ),
    "remainder-of-the-element": (
        generated(of_the_element),
        "Each index is a remainder of the element's number. After the first one it is that of "
        "`rest`, the quotient.",
    ),
    "one-operand-for-all": (
        generated(lambda k, i, strides, shape: address(i, strides[k]), operand=lambda k: 0),
        "Every operand was read from the memory of x.",
    ),
    "whole-numbers-in-float32": (
        lambda what, layout, *tensors: FORMULAS[what](*(x.float() for x in tensors)).to(
            torch.result_type(tensors[0], tensors[-1])
        ),
        "Whole numbers were computed in float32, which has 24 binary digits. Convert what you load "
        "to COMPUTE.",
    ),
    "strides-ignored": (
        generated(lambda k, indices, strides, shape: torch.arange(torch.Size(shape).numel())),
        "An operand was read one element after the other. Its address is made of its indices and "
        "its own strides.",
    ),
    "strides-of-the-first": (
        generated(lambda k, indices, strides, shape: address(indices, strides[0])),
        "The second operand was read with the strides of the first.",
    ),
    "last-dimension-only": (
        generated(lambda k, indices, strides, shape: indices[-1] * strides[k][-1]),
        "Only the last dimension's index entered the address.",
    ),
    "first-index-is-zero": (
        generated(lambda k, i, strides, shape: address([0 * i[0], *i[1:]], strides[k])),
        "The first dimension's index is 0 everywhere. What is left in `rest` when its turn comes?",
    ),
    "first-index-by-the-last-size": (
        generated(first_index_by_the_last_size),
        "The first dimension's index starts again too early: its remainder is by the size of the "
        "last dimension. What is left in `rest` is the index itself.",
    ),
    "size-of-the-dimension-before": (
        generated(sizes_of_the_dimension_before),
        "The index of a dimension is the remainder by the size of the one before it.",
    ),
    "not-in-compute": (
        in_half,
        "The formula was computed in the operands' dtype, and each step rounded to it. Convert "
        "what you load to COMPUTE.",
    ),
}


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
    rows("rows with a ragged end", 7, 300),
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


def follow(
    story,
    restored="always",
    one_library=False,
    one_name=False,
    swallows=False,
    refuses=False,
    replaces=slice(None),
):
    """What a story tells: which of sin, cos and exp are replaced at each "look".

    restored: "always", "never", "unless an error" comes, "unless refused" before the block began.
    one_library: of all blocks, so that the end of one ends them all. one_name: a global name holds
    the library of the latest block, which each block closes at its end. swallows: errors stay
    inside. refuses: no function can be put in its place. replaces: which of the names.
    """
    seen, now = [], []  # now: names replaced, with repetitions
    latest = [0]  # how many blocks have begun

    def look():
        seen.append([name for name in ("sin", "cos", "exp") if name in now])

    def replace(names):
        for name in names:
            if refuses or "::" in name:
                raise RuntimeError
            if name in names[replaces]:
                now.append(name)

    def block(names, inside):
        before = [] if one_library else list(now)
        latest[0] += 1
        number = latest[0]
        try:
            replace(names)
            steps(inside)
        except (ZeroDivisionError, RuntimeError) as error:
            refused = isinstance(error, RuntimeError)
            if restored == "always" or (restored == "unless refused" and not refused):
                now[:] = before
            if not swallows:
                raise
        else:
            if restored != "never" and not (one_name and number != latest[0]):
                now[:] = before

    def steps(some):
        for step in some:
            if step == "look":
                look()
            elif step == "raise":
                raise ZeroDivisionError
            else:
                try:
                    block(*step)
                except (ZeroDivisionError, RuntimeError) as error:
                    seen.append(type(error).__name__)
                    look()

    steps(story)
    return seen


BLOCK_MISTAKES = {
    "not-replaced": (
        lambda story: follow(story, replaces=slice(0)),
        "Inside the block PyTorch's own operators run. Is each function put in its place before "
        'the `yield`, by `implement` and in the library of "aten", and is that still open there?',
    ),
    "not-restored-after-a-refusal": (
        lambda story: follow(story, restored="unless refused"),
        "One function could not be put in its place, and the ones before it stayed in theirs. "
        "What can fail stands in `try`, what must happen in every case in `finally`.",
    ),
    "not-restored-after-an-error": (
        lambda story: follow(story, restored="unless an error"),
        "After an error in the block the operators are still replaced. What must happen in every "
        "case stands in `finally`.",
    ),
    "never-restored": (
        lambda story: follow(story, restored="never"),
        "After the block the operators are still replaced. Close the library with `_destroy()`: it "
        "stays open as long as anybody holds it.",
    ),
    "one-of-several": (
        lambda story: follow(story, replaces=slice(-1, None)),
        "Of several operators only the last one is replaced. Is each put in its place inside the "
        "loop? A library that nobody holds any more may be gone.",
    ),
    "first-of-several": (
        lambda story: follow(story, replaces=slice(1)),
        "Of several operators only the first one is replaced. Does the loop go through all?",
    ),
    "refused-from-the-start": (
        lambda story: follow(story, refuses=True),
        'A RuntimeError comes before the block begins. Is the library of the kind "IMPL" and of '
        '"aten"? Does `implement` get library, name and function, in this order?',
    ),
    "library-of-a-global-name": (
        lambda story: follow(story, one_name=True),
        "After a block in a block the outer one stays replaced: the inner one took its library's "
        "name. Keep the library in a local variable.",
    ),
    "one-library-for-all": (
        lambda story: ["a closed library was used again"],
        "A block uses a library that an earlier block has closed. Each block opens one of its own.",
    ),
    "inner-end-restores-all": (
        lambda story: follow(story, one_library=True),
        "The end of an inner block restored what the outer one had replaced.",
    ),
    "yields-more-than-once": (
        lambda story: ["it yields more than once"],
        "The function yields more than once. One `yield` comes after all replacements, in no loop. "
        "An error of the block comes out at it, and there is no second block to yield to.",
    ),
    "error-swallowed": (
        lambda story: follow(story, swallows=True),
        "An error inside the block vanished. It has to come out.",
    ),
}

STORIES = [
    case("replaced inside, restored after", story=["look", [["sin"], ["look"]], "look"]),
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
        mistakes=SOURCE_MISTAKES,
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
        ],
        tolerance=rounded_once(terms=4096),
    ),
    "use_kernels": Check(
        follow, STORIES, HIDDEN_STORIES, through="block_told", triton=False, mistakes=BLOCK_MISTAKES
    ),
}
