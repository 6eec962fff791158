# ---
# workbook:
#   title: An operator library
#   minutes: 60
#   needs: interpreter
#   requires: [11_register_op]
#   you_will:
#     - generate a kernel from a formula, for any rank, strides and mix of dtypes
#     - replace PyTorch's own operators inside a block, and restore them exactly
#     - run an unmodified model on your kernels, forward and backward
#     - measure where the microseconds of a small call go
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, case, check, facts, mine, progress, reference, setup, show_tiles, tensor, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# PyTorch has hundreds of elementwise operators. Nobody writes hundreds of kernels. You write the
# *formula* of one element, and a program writes the kernel around it. That is how PyTorch's own
# compiler works, and how libraries of Triton operators work.
#
# Three things stand between a formula and an operator:
#
# 1. **Layout.** Tensors have any rank and any strides, and are broadcast against each other.
# 2. **Dtypes.** An int32 tensor plus 0.5 is float32; a float16 tensor plus 0.5 stays float16.
# 3. **The framework.** `x + y` must reach your kernel without a change in the model.
#
# **Scope.** You write the layout (Task 1), the generator (Task 2) and the replacement (Task 3).
#
# ## Source that writes source
#
# Here is a generator for one special case: one contiguous tensor. It returns text. `compile_source`
# turns text into a kernel. It writes the text to a file first, because Triton reads a kernel's source
# from its file.

# %% tags=["reference"]
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import math
import tempfile
from pathlib import Path

from tritonbook import Tolerance
from tritonbook.compat import hook_launch

FOLDER = Path(tempfile.mkdtemp(prefix="pointwise-"))


def compile_source(source, name, formula):
    """The kernel `name` that `source` defines; the text calls `formula` by that name."""
    path = FOLDER / f"{name}_{hashlib.sha256(source.encode()).hexdigest()[:12]}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    module.formula, module.triton, module.tl = formula, triton, tl
    spec.loader.exec_module(module)
    return getattr(module, name)


# %%
def contiguous_source(name):
    return f"""
@triton.jit
def {name}(a0_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    a0 = tl.load(a0_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, formula(a0), mask=mask)
"""


@triton.jit
def square_formula(x):
    return x * x


square_kernel = compile_source(contiguous_source("square"), "square", square_formula)
x = torch.arange(6.0, device=DEVICE)
out = torch.empty_like(x)
square_kernel[(1,)](x, out, 6, BLOCK_SIZE=8)
out

# %% [markdown]
# ## Task 1. Fewer dimensions
#
# A kernel for rank 4 divides three times for each element, to get four indices from one number. Most
# tensors do not need it: a contiguous one of rank 4 is a vector, as far as memory goes.
#
# Two neighbouring dimensions are **one** if a step of the outer one is the whole inner one: the
# outer stride is the inner size times the inner stride. With several tensors it must hold for all of
# them. A dimension of size 1 can always go.
#
# | sizes | strides | merged |
# |---|---|---|
# | (2, 3, 4) | (12, 4, 1) | (24) with (1) |
# | (2, 3, 4) | (12, 4, 1) and (0, 4, 1) | (2, 12) with (12, 1) and (0, 1) |
# | (5, 1, 7) | (14, 9, 2) | (35) with (2): the 9 never counts |
#
# Write `merge(sizes, strides)`, about 12 lines. `strides` is a list with the strides of each tensor;
# a broadcast dimension has stride 0. Return `(sizes, strides)` as lists. At least one dimension
# stays: for a scalar return sizes `[1]`, with stride 0 for each tensor.

# %% tags=["reference"]
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

# %% tags=["answer"] key="merge"
def merge(sizes, strides):
    """The same elements in the same order with as few dimensions as possible.

    sizes: list of ints. strides: for each tensor a list of ints. Returns (sizes, strides).
    """
    # TODO: drop dimensions of size 1, merge neighbours, keep at least one (about 12 lines)
    ### BEGIN SOLUTION
    new_sizes = []
    new_strides = [[] for _ in strides]
    for d in range(len(sizes)):
        if sizes[d] == 1:
            continue
        one = bool(new_sizes) and all(
            new[-1] == sizes[d] * old[d] for new, old in zip(new_strides, strides, strict=True)
        )
        if one:
            new_sizes[-1] *= sizes[d]
        else:
            new_sizes.append(sizes[d])
        for new, old in zip(new_strides, strides, strict=True):
            if one:
                new[-1] = old[d]
            else:
                new.append(old[d])
    if not new_sizes:
        return [1], [[0] for _ in strides]
    return new_sizes, new_strides
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="merge"
# #### Hints for merge
#
# <details><summary>Hint 1: a question</summary>
#
# Sizes (3, 4) with strides (4, 1): a step in the first dimension is 4 elements. How many elements has
# the second dimension? What are size and stride of the merged one?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Walk from the outermost dimension inwards and keep a growing result. Either the next dimension
# joins the last one of the result, or it is appended. The merged stride is the inner one.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for d in range(len(sizes)):
#     if sizes[d] == 1:
#         continue
#     one = bool(new_sizes) and all(... == sizes[d] * ... for new, old in zip(new_strides, strides, strict=True))
#     ...
# ```
#
# </details>

# %% tags=["check"] key="merge" points=3
check(merge, merge_ref, MERGE_CASES, triton=False, suspects=MERGE_SUSPECTS)
### BEGIN HIDDEN TESTS
HIDDEN_MERGE_CASES = [
    case("four into two", sizes=[2, 3, 4, 5], strides=[[100, 20, 5, 1]]),
    case("broadcast in the middle", sizes=[2, 3, 4], strides=[[12, 4, 1], [4, 0, 1]]),
    case("all broadcast", sizes=[3, 4], strides=[[0, 0]]),
    case("only ones", sizes=[1, 1], strides=[[7, 3]]),
    case("the second forbids it", sizes=[4, 6], strides=[[6, 1], [12, 1]]),
    case("ones at both ends", sizes=[1, 8, 1], strides=[[99, 2, 5], [1, 1, 1]]),
    case("no tensors but sizes", sizes=[2, 2], strides=[[2, 1], [2, 1], [0, 0]]),
]
check(merge, merge_ref, HIDDEN_MERGE_CASES, triton=False, suspects=MERGE_SUSPECTS)
### END HIDDEN TESTS

# %% [markdown]
# ## Task 2. The generator
#
# Write `kernel_source(name, kinds, ndim)`. It returns the text of a kernel that computes
# `formula(a0, a1, ...)` for each element. `kinds` has one word for each argument: `"tensor"` or
# `"scalar"`. The kernel's arguments, in order:
#
# | argument | for |
# |---|---|
# | `a0_ptr` or `a0`, ... | each operand: a tensor's pointer, or a number |
# | `out_ptr`, `n_elements` | the result, contiguous in this order of dimensions |
# | `size_0` ... | each dimension |
# | `stride_a0_0`, `stride_a0_1` ... | each dimension of each **tensor**; scalars have none |
# | `COMPUTE: tl.constexpr` | dtype in which the formula is computed |
# | `BLOCK_SIZE: tl.constexpr` | |
#
# The head and the end are given. The middle has two parts for you to write, about 10 lines:
#
# - From `offs` the index of each dimension, the last one first: `i_1 = rest % size_1`, then
#   `rest = rest // size_1`. The first one needs no `%`: what is left is the index.
# - One line for each operand. A tensor is loaded and converted to COMPUTE. A scalar becomes a tile:
#   `tl.full([BLOCK_SIZE], a1, COMPUTE)`.
#
# `pointwise` below is given. It broadcasts, sorts the dimensions by stride, calls `merge`, finds the
# dtypes and keeps each kernel under its **signature**: kinds and rank. Read it.

# %% tags=["reference"]
COMPUTE_IN = {
    torch.float16: tl.float32, torch.bfloat16: tl.float32, torch.float32: tl.float32,
    torch.float64: tl.float64, torch.int64: tl.int64, torch.int32: tl.int32,
}




def promoted_dtype(arguments):
    """PyTorch's rule: tensors decide, then 0-d tensors, then numbers.

    A later group counts only if it is of a higher kind: bool < integer < floating. For two
    arguments PyTorch says it itself; it also knows numbers that are wrapped as 0-d tensors.
    """
    if len(arguments) == 2:
        return torch.result_type(*arguments)

    def dtype_of(a):
        if isinstance(a, torch.Tensor):
            return a.dtype
        return {bool: torch.bool, int: torch.int64}.get(type(a), torch.get_default_dtype())

    def group_of(a):
        return (0 if a.ndim else 1) if isinstance(a, torch.Tensor) else 2

    def kind(dtype):
        return 2 if dtype.is_floating_point else int(dtype != torch.bool)

    found = torch.bool
    for group in range(3):
        dtypes = [dtype_of(a) for a in arguments if group_of(a) == group]
        if dtypes:
            own = functools.reduce(torch.promote_types, dtypes)
            found = own if group == 0 or kind(own) > kind(found) else found
    return found


class Pointwise:
    """A formula of one element, made into a function of tensors and numbers.

    integers_to_float: integers become float32 first, as for exp or sigmoid.
    """

    def __init__(self, formula, integers_to_float=False):
        self.formula, self.integers_to_float = formula, integers_to_float
        self.name = formula.fn.__name__
        self.kernels = {}  # (kinds, ndim) -> (kernel, source)

    def kernel(self, kinds, ndim):
        if (kinds, ndim) not in self.kernels:
            source = kernel_source(self.name, list(kinds), ndim)
            self.kernels[kinds, ndim] = compile_source(source, self.name, self.formula), source
        return self.kernels[kinds, ndim][0]

    def source(self):
        """Everything generated so far."""
        return "\n".join(source for _, source in self.kernels.values())

    def dtype(self, arguments):
        """The dtype that PyTorch would give the result."""
        found = promoted_dtype(arguments)
        if not found.is_floating_point and self.integers_to_float:
            found = torch.float32
        if found not in COMPUTE_IN:
            raise TypeError(f"no kernels for {found}")
        return found

    def __call__(self, *arguments):
        dtype = self.dtype(arguments)
        device = next(
            (a.device for a in arguments if isinstance(a, torch.Tensor) and a.ndim),
            next(a.device for a in arguments if isinstance(a, torch.Tensor)),
        )
        arguments = [
            a.item() if isinstance(a, torch.Tensor) and a.device != device and a.ndim == 0 else a
            for a in arguments
        ]
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        for a in tensors:
            if a.device != device:
                raise ValueError(f"tensors on {device} and {a.device}")
        shape = torch.broadcast_shapes(*(a.shape for a in tensors))
        wide = [a.expand(shape) for a in tensors]
        # Dimensions in the order of memory, so that neighbours in memory stay neighbours.
        model = max(wide, key=lambda a: sum(s != 0 for s in a.stride()))
        order = sorted(range(len(shape)), key=lambda d: -model.stride(d))
        out = torch.empty([shape[d] for d in order], dtype=dtype, device=device)
        if out.numel() >= 2**31:
            raise ValueError("offsets would pass 32 bits")
        if out.numel():
            sizes, strides = merge(
                list(out.shape), [[a.stride(d) for d in order] for a in wide]
            )
            kinds = tuple("tensor" if isinstance(a, torch.Tensor) else "scalar" for a in arguments)
            self.kernel(kinds, len(sizes))[(triton.cdiv(out.numel(), 1024),)](
                *arguments, out, out.numel(), *sizes, *sum(strides, []),
                COMPUTE=COMPUTE_IN[dtype], BLOCK_SIZE=1024,
            )
        back = sorted(range(len(shape)), key=lambda d: order[d])
        return out.permute(back) if len(shape) > 1 else out


@triton.jit
def axpy_formula(alpha, x, y):
    return alpha * x + y


@triton.jit
def add_formula(x, y):
    return x + y


@triton.jit
def multiply_formula(x, y):
    return x * y


@triton.jit
def silu_formula(x):
    return x * tl.sigmoid(x)


@contextlib.contextmanager
def counted_launches():
    """A list that grows by one name with every kernel launch inside the block."""
    names = []

    def around(call, fn, grid, args, kwargs):
        names.append(fn.__name__)
        return call()

    with hook_launch(around):
        yield names


TORCH = {
    "axpy": lambda alpha, x, y: torch.mul(x, alpha) + y,
    "silu": lambda x: x.double().mul(torch.sigmoid(x.double())).to(
        x.dtype if x.is_floating_point() else torch.float32
    ),
    "multiply": torch.mul,
}
CLOSE = Tolerance(2e-3, because="float16 results are rounded once")


LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "reversed": lambda x: x.permute(*reversed(range(x.ndim))).contiguous().permute(
        *reversed(range(x.ndim))
    ),
    "every second": lambda x: torch.stack([x, x + 99], dim=-1).flatten(-2)[..., ::2],
    "stride 0": lambda x: x[:1].expand_as(x),
}


def laid_out(layout, arguments):
    """The arguments on this machine's device; the first tensor lies in memory in its own way."""
    arguments = [a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in arguments]
    first = next(k for k, a in enumerate(arguments) if isinstance(a, torch.Tensor))
    arguments[first] = LAYOUTS[layout](arguments[first])
    return arguments


def pointwise_ref(name, layout, *arguments):
    out = TORCH[name](*laid_out(layout, arguments))
    return out, str(out.dtype), 1


def formula_case(note, what, *shapes, layout="plain", alpha=None, dtypes=()):
    """One case: a formula, its tensors' shapes and dtypes, and how the first one lies in memory."""
    arguments = {} if alpha is None else {"alpha": alpha}
    for k, shape in enumerate(shapes):
        dtype = dtypes[k] if dtypes else "float32"
        values = "integers" if dtype.startswith("int") else "normal"
        arguments["xy"[k]] = tensor(*shape, dtype=dtype, values=values)
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

# %% tags=["answer"] key="kernel_source"
def kernel_source(name, kinds, ndim):
    """Text of a kernel for operands of these kinds and `ndim` dimensions."""
    operands = [f"a{k}_ptr" if kind == "tensor" else f"a{k}" for k, kind in enumerate(kinds)]
    sizes = [f"size_{d}" for d in range(ndim)]
    strides = [
        f"stride_a{k}_{d}"
        for k, kind in enumerate(kinds)
        if kind == "tensor"
        for d in range(ndim)
    ]
    arguments = [*operands, "out_ptr", "n_elements", *sizes, *strides]
    lines = [
        "@triton.jit",
        f"def {name}({', '.join(arguments)}, COMPUTE: tl.constexpr, BLOCK_SIZE: tl.constexpr):",
        "    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)",
        "    mask = offs < n_elements",
        "    rest = offs",
    ]
    # TODO: add lines for the index of each dimension, and for each operand (about 10 lines)
    ### BEGIN SOLUTION
    for d in reversed(range(1, ndim)):
        lines.append(f"    i_{d} = rest % size_{d}")
        lines.append(f"    rest = rest // size_{d}")
    lines.append("    i_0 = rest")
    for k, kind in enumerate(kinds):
        if kind == "tensor":
            place = " + ".join(f"i_{d} * stride_a{k}_{d}" for d in range(ndim))
            lines.append(f"    v{k} = tl.load(a{k}_ptr + {place}, mask=mask).to(COMPUTE)")
        else:
            lines.append(f"    v{k} = tl.full([BLOCK_SIZE], a{k}, COMPUTE)")
    ### END SOLUTION
    values = ", ".join(f"v{k}" for k in range(len(kinds)))
    lines.append(f"    out = formula({values})")
    lines.append("    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)")
    return "\n".join(lines) + "\n"

pointwise = {
    "axpy": Pointwise(axpy_formula),
    "silu": Pointwise(silu_formula, integers_to_float=True),
    "add": Pointwise(add_formula),
    "multiply": Pointwise(multiply_formula),
}


def run_pointwise(name, layout, *arguments):
    """The result, its dtype in words, and how many kernels were launched (given)."""
    arguments = laid_out(layout, arguments)
    with counted_launches() as launches:
        out = pointwise[name](*arguments)
    return out, str(out.dtype), len(launches)

# %% [markdown] tags=["hint"] key="kernel_source"
# #### Hints for kernel_source
#
# <details><summary>Hint 1: a question</summary>
#
# Write the kernel for two tensors of rank 2 by hand, on paper. Which lines would be there twice for
# rank 3? Which lines belong to an operand?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `lines.append(f"    ...")`, with four blanks in front. The last dimension comes first:
# `reversed(range(1, ndim))`. Print the text while you write it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for d in reversed(range(1, ndim)):
#     lines.append(f"    i_{d} = rest % ...")
#     lines.append(f"    rest = ...")
# lines.append("    i_0 = ...")
# for k, kind in enumerate(kinds):
#     if kind == "tensor":
#         place = " + ".join(f"... * stride_a{k}_{d}" for d in range(ndim))
#         lines.append(f"    v{k} = tl.load(... + {place}, mask=mask).to(COMPUTE)")
#     else:
#         ...
# ```
#
# </details>

# %% tags=["check"] key="kernel_source" points=5
check(
    run_pointwise, pointwise_ref, POINTWISE_CASES,
    key="kernel_source", triton=False, tolerance=CLOSE, timeout=120,
)
### BEGIN HIDDEN TESTS
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
]
check(
    run_pointwise, pointwise_ref, HIDDEN_POINTWISE_CASES,
    key="kernel_source", triton=False, tolerance=CLOSE, timeout=120,
)
### END HIDDEN TESTS

# %% [markdown]
# **Look at what you generated.** Each rank and mix of operands has a kernel of its own. It is
# compiled once and kept.

# %%
x = torch.randn(3, 40, device=DEVICE)
pointwise["axpy"](0.5, x, x[0])
print(pointwise["axpy"].source())

# %% [markdown]
# ## Task 3. Behind PyTorch's back
#
# `x * y` calls the operator `aten::mul.Tensor`. The dispatcher looks up who computes it for this
# device. A `Library("aten", "IMPL")` lets you put a function of your own in that place:
#
# ```python
# lib = torch.library.Library("aten", "IMPL")
# lib.impl("mul.Tensor", my_multiply, "CUDA")
# ...
# lib._destroy()        # PyTorch's own kernel is back
# ```
#
# Autograd sits above that place. It keeps working: the gradient of `mul` calls `mul`, and finds your
# kernel again.
#
# Write `use_workbook_ops(names=None)` as a context manager, about 10 lines. Inside the block the
# operators in `REPLACEMENTS` (or those of them that `names` lists) run on your kernels, on this
# machine's device. The block gets the list of their names. Afterwards everything is as before,
# whatever happened inside. An unknown name raises `KeyError` and replaces nothing.
#
# `implement(lib, name, function)` is given. It is `lib.impl` for this device, and it says that the
# override is intended.

# %% tags=["reference"]
softmax_kernel_of_04 = mine("softmax")
matmul_of_08 = mine("matmul")


def workbook_add(x, y, *, alpha=1):
    return pointwise["axpy"](alpha, y, x) if alpha != 1 else pointwise["add"](x, y)


def workbook_softmax(x, dim, half_to_float):
    if half_to_float or dim not in (-1, x.ndim - 1):
        raise NotImplementedError("softmax along the last dimension, in the dtype of x")
    return softmax_kernel_of_04(x)


REPLACEMENTS = {
    "add.Tensor": workbook_add,
    "mul.Tensor": lambda x, y: pointwise["multiply"](x, y),
    "silu": lambda x: pointwise["silu"](x),
    "_softmax": workbook_softmax,
    "mm": lambda a, b: matmul_of_08(a, b),
}


OPEN = []  # every library that got a replacement


def implement(lib, name, function):
    """Put `function` in the place of the operator aten::`name` on this machine's device."""
    known = inspect.signature(lib.impl).parameters
    intended = {"allow_override": True} if "allow_override" in known else {}
    OPEN.append(lib)
    lib.impl(name, function, DEVICE.upper(), **intended)


class PlainBlock(torch.nn.Module):
    """A Llama block as anybody would write it: one head, no Triton anywhere."""

    def __init__(self, width=32, hidden=64):
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def weight(rows, columns):
            value = torch.randn(rows, columns, generator=generator) / rows**0.5
            return torch.nn.Parameter(value.to(DEVICE))

        self.q, self.k, self.v, self.o = (weight(width, width) for _ in range(4))
        self.gate, self.up = weight(width, hidden), weight(width, hidden)
        self.down = weight(hidden, width)
        self.norm1 = torch.nn.Parameter(torch.ones(width, device=DEVICE))
        self.norm2 = torch.nn.Parameter(torch.ones(width, device=DEVICE))

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    def forward(self, x):
        h = self.norm(x, self.norm1)
        scores = (h @ self.q) @ (h @ self.k).t() * x.shape[1] ** -0.5
        x = x + torch.softmax(scores, dim=-1) @ (h @ self.v) @ self.o
        h = self.norm(x, self.norm2)
        return x + (torch.nn.functional.silu(h @ self.gate) * (h @ self.up)) @ self.down


def sample(rows=5, columns=32):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(1)).to(DEVICE)


def launches_of(call):
    with counted_launches() as launches:
        call()
    return len(launches)


def probes():
    """A call that reaches each replaced operator."""
    x = sample()
    return {
        "add.Tensor": lambda: x + x,
        "mul.Tensor": lambda: x * x,
        "silu": lambda: torch.nn.functional.silu(x),
        "_softmax": lambda: torch.softmax(x, -1),
        "mm": lambda: x @ x.t(),
    }


def replaced_now():
    """Names of the operators that run on the workbook's kernels at this moment."""
    return [name for name, call in probes().items() if launches_of(call)]


def ask_inside(block):
    with block():
        return "ok" if replaced_now() == list(REPLACEMENTS) else "not-replaced"


def ask_after(block):
    with block():
        pass
    return "leaks" if replaced_now() else "ok"


def ask_after_an_error(block):
    try:
        with block():
            raise ZeroDivisionError
    except ZeroDivisionError:
        return "leaks-after-error" if replaced_now() else "ok"
    return "swallows-errors"


def ask_names(block):
    with block() as names:
        return "ok" if names is not None and list(names) == list(REPLACEMENTS) else "no-names"


def ask_some(block):
    with block(["silu", "mm"]) as names:
        if list(names) != ["silu", "mm"]:
            return "no-names"
        return "ok" if replaced_now() == ["silu", "mm"] else "replaces-others"


def ask_unknown(block):
    try:
        with block(["mul.Tensor", "no such operator"]):
            return "unknown-accepted"
    except KeyError:
        return "leaks-after-error" if replaced_now() else "ok"


def ask_nested(block):
    with block(["mul.Tensor"]):
        with block(["silu"]):
            if replaced_now() != ["mul.Tensor", "silu"]:
                return "nested"
        if replaced_now() != ["mul.Tensor"]:
            return "nested"
    return "leaks" if replaced_now() else "ok"


def ask_twice(block):
    for _ in range(2):
        if ask_inside(block) != "ok":
            return "second-use"
    return "leaks" if replaced_now() else "ok"


def ask_numbers(block):
    """Numbers, broadcasting and dtypes as before: 3 * integers, integers + 0.5, a row."""
    whole, x = torch.arange(6, device=DEVICE), sample(5, 6)

    def results():
        return [3 * whole, whole + 0.5, x + 1, x.half() * 0.5, x + whole, (x + 2.0).t() * x[0, 0]]

    want = results()
    with block():
        got = results()
    same = all(
        g.dtype == w.dtype and torch.allclose(g, w, atol=1e-3)
        for g, w in zip(got, want, strict=True)
    )
    return "ok" if same else "model-differs"


def ask_model(block):
    model, x = PlainBlock(), sample()
    want = model(x)
    with block(), counted_launches() as launches:
        got = model(x)
    if len(launches) < 12:
        return "not-replaced"
    return "ok" if torch.allclose(got, want, atol=1e-3, rtol=1e-3) else "model-differs"


def ask_gradients(block):
    model, x = PlainBlock(), sample()
    parameters = list(model.parameters())
    want = torch.autograd.grad(model(x).pow(2).mean(), parameters)
    with block():
        got = torch.autograd.grad(model(x).pow(2).mean(), parameters)
    same = all(torch.allclose(g, w, atol=1e-3, rtol=1e-2) for g, w in zip(got, want, strict=True))
    return "ok" if same else "model-differs"


BLOCK_QUESTIONS = {
    "inside": ask_inside, "after": ask_after, "after an error": ask_after_an_error,
    "names": ask_names, "some": ask_some, "unknown": ask_unknown, "nested": ask_nested,
    "twice": ask_twice, "model": ask_model, "numbers": ask_numbers,
    "gradients": ask_gradients,
}


def block_expected(question):
    return "ok"


BLOCK_SENTENCES = {
    "not-replaced": "Inside the block some operators still run on PyTorch's own kernels.",
    "leaks": "After the block operators still run on your kernels. Restore them.",
    "leaks-after-error": "After an error in the block the operators are not restored.",
    "swallows-errors": "An error inside the block vanished. Let it through.",
    "no-names": "The block must yield the list of the names that were replaced, in order.",
    "replaces-others": "With `names` given, exactly these operators are replaced.",
    "unknown-accepted": "An unknown name must raise KeyError.",
    "nested": "A block inside a block: leaving the inner one must leave the outer one as it was.",
    "second-use": "The first block works, the second one does not.",
    "model-differs": "The model gives other numbers than with PyTorch's operators.",
}
BLOCK_SUSPECTS = {
    code: (lambda question, code=code: code, sentence)
    for code, sentence in BLOCK_SENTENCES.items()
}

# %% tags=["answer"] key="use_workbook_ops"
@contextlib.contextmanager
def use_workbook_ops(names=None):
    """Inside the block, PyTorch's operators run on the workbook's kernels."""
    # TODO: choose, put the replacements in place, yield their names, restore (about 10 lines)
    ### BEGIN SOLUTION
    chosen = list(REPLACEMENTS) if names is None else list(names)
    functions = [REPLACEMENTS[name] for name in chosen]
    lib = torch.library.Library("aten", "IMPL")
    try:
        for name, function in zip(chosen, functions, strict=True):
            implement(lib, name, function)
        yield chosen
    finally:
        lib._destroy()
    ### END SOLUTION


def block_says(question):
    """Put one question to your context manager (given)."""
    try:
        return BLOCK_QUESTIONS[question](use_workbook_ops)
    finally:  # a block that leaks must not spoil the next question
        while OPEN:
            OPEN.pop()._destroy()

# %% [markdown] tags=["hint"] key="use_workbook_ops"
# #### Hints for use_workbook_ops
#
# <details><summary>Hint 1: a question</summary>
#
# An error leaves the block. Which of your lines still run?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# A context manager made by `contextlib.contextmanager` is a function with one `yield`. What stands
# in a `finally` after it runs in every case.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# chosen = ...
# lib = torch.library.Library(..., ...)
# try:
#     for name in chosen:
#         implement(...)
#     yield ...
# finally:
#     ...
# ```
#
# </details>

# %% tags=["check"] key="use_workbook_ops" points=4
check(
    block_says, block_expected,
    [
        case("replaced inside the block", question="inside"),
        case("restored after it", question="after"),
        case("restored after an error", question="after an error"),
        case("the list of names", question="names"),
        case("an unmodified model", question="model"),
    ],
    key="use_workbook_ops", triton=False, suspects=BLOCK_SUSPECTS, timeout=120,
)
### BEGIN HIDDEN TESTS
check(
    block_says, block_expected,
    [
        case("only the ones that are asked for", question="some"),
        case("an unknown name", question="unknown"),
        case("a block in a block", question="nested"),
        case("used twice", question="twice"),
        case("numbers and dtypes", question="numbers"),
        case("gradients of an unmodified model", question="gradients"),
    ],
    key="use_workbook_ops", triton=False, suspects=BLOCK_SUSPECTS, timeout=120,
)
### END HIDDEN TESTS

# %% [markdown]
# **For the whole program.** The same by a switch. An `ExitStack` keeps the block open until you close
# it.

# %%
switch = contextlib.ExitStack()


def enable(names=None):
    """Replace operators from now on; returns their names."""
    return switch.enter_context(use_workbook_ops(names))


print("replaced:", enable())
print("now:", replaced_now())
switch.close()
print("after:", replaced_now())

# %% [markdown]
# ## A model that does not know
#
# `PlainBlock` above is a Llama block with no Triton in it. Train it twice from the same start, once
# on PyTorch's operators and once on yours. Neither the model nor the training loop changes.

# %%
import matplotlib.pyplot as plt


def train(steps):
    model, x = PlainBlock(), sample(16)
    goal = torch.roll(x, 1, dims=0)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        loss = (model(x) - goal).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


steps = 200 if DEVICE == "cuda" else 6
eager = train(steps)
with use_workbook_ops(), counted_launches() as launches:
    ours = train(steps)
difference = max(abs(a - b) / abs(a) for a, b in zip(eager, ours, strict=True))
print(f"{steps} steps, {len(launches)} launches: {', '.join(sorted(set(launches)))}")
print(f"largest relative difference of the loss: {difference:.1e}")
plt.plot(eager, label="PyTorch's operators", linewidth=4, alpha=0.4)
plt.plot(ours, label="the workbook's operators", linestyle="--")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown]
# ## Where the microseconds go
#
# A small call is not slow because of its kernel. **Predict:** of dtype, layout, allocation and launch,
# which takes longest? Then look. On a GPU these are host times; in the interpreter the launch is the
# interpreter's own walk through the kernel, so compare the first three only.

# %%
import time


def microseconds(call, calls=1000 if DEVICE == "cuda" else 20):
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return 1e6 * (time.perf_counter() - start) / calls


x, y = sample(8, 32), sample(8, 32)
out = torch.empty_like(x)
kernel = pointwise["multiply"].kernel(("tensor", "tensor"), 1)
parts = {
    "dtype": lambda: promoted_dtype((x, y)),
    "layout": lambda: merge(list(x.shape), [list(x.stride()), list(y.stride())]),
    "allocation": lambda: torch.empty_like(x),
    "launch": lambda: kernel[(1,)](
        x, y, out, 256, 256, 1, 1, COMPUTE=tl.float32, BLOCK_SIZE=1024
    ),
    "whole call": lambda: pointwise["multiply"](x, y),
    "PyTorch": lambda: x * y,
}
for name, call in parts.items():
    print(f"{name:12} {microseconds(call):8.1f} us")

# %% [markdown]
# **Cut it.** Dtype and layout depend on nothing but shapes, strides and dtypes. In a model these
# are the same in every step. So compute them once for each signature and keep the answer. `remembered`
# does that for contiguous tensors of one shape: a dictionary look-up, an allocation, a launch.
#
# What remains is the launch. A CUDA graph removes that too: it records the launches of a whole step
# and replays them with one call. `bench` shows that time in the column `device` for short calls.

# %%
plans = {}


def remembered(x, y):
    """x * y for contiguous tensors of one shape, with everything but the launch looked up."""
    signature = (x.shape, x.dtype, y.shape, y.dtype, x.stride(), y.stride())
    plan = plans.get(signature)
    if plan is None:
        if x.shape != y.shape or not (x.is_contiguous() and y.is_contiguous()):
            raise ValueError("remembered takes contiguous tensors of one shape")
        n = x.numel()
        kernel = pointwise["multiply"].kernel(("tensor", "tensor"), 1)
        dtype = promoted_dtype((x, y))
        plan = plans[signature] = kernel[(triton.cdiv(n, 1024),)], n, dtype, COMPUTE_IN[dtype]
    launch, n, dtype, compute = plan
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    launch(x, y, out, n, n, 1, 1, COMPUTE=compute, BLOCK_SIZE=1024)
    return out


from tritonbook.timing import bench_sweep


def size_case(n):
    x = torch.randn(n, device=DEVICE)
    fns = {
        "torch": torch.mul,
        "pointwise": pointwise["multiply"],
        "remembered": remembered,
    }
    return dict(fns=fns, args=(x, x), bytes=3 * 4 * n)


sweep = bench_sweep(
    "elements",
    [2**k for k in (range(8, 25, 2) if DEVICE == "cuda" else (8, 12))],
    size_case,
    baseline="torch",
)
sweep.plot()

# %% [markdown]
# **Read the plot.** On a GPU look for the flat part on the left: it is the cost of a call, whatever
# its size. On the right memory decides. The size where a curve leaves its floor
# is the size from which your library is worth calling.
#
# ## Recap
#
# - A formula, a layout and a dtype rule make an operator. The kernel is text that you generate.
# - Merging dimensions removes divisions. A contiguous tensor of any rank is a vector.
# - PyTorch's dispatcher is a table. You may put your function in it, and must take it out again.
# - Autograd sits above: replaced operators are differentiated as before.
# - A small call costs Python and a launch. Remember the first, record the second in a graph.
#
# <details><summary>Common mistakes</summary>
#
# - Merging by the first tensor alone: a broadcast second one reads the wrong elements.
# - The result's dtype from the first argument: integers times 0.5 become integers.
# - No `finally`: one error in a test, and every later test runs on your kernels.
# - A replacement that calls the operator it replaces: it calls itself without end.
#
# </details>

# %%
progress()
