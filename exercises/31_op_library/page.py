# ---
# workbook:
#   title: An operator library
#   minutes: 60
#   needs: interpreter
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   requires: [30_register_op]
#   you_will:
#     - generate a kernel from a formula, for any rank, strides and mix of dtypes
#     - give a result the dtype that PyTorch would give it
#     - replace PyTorch's own operators inside a block, and restore them exactly
#     - run an unmodified model on your kernels, forward and backward
#     - measure where the microseconds of a small call go
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

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
# 1. **Layout.** Tensors have any rank (number of dimensions) and any strides, and are broadcast
#    against each other.
# 2. **Dtypes.** An int32 tensor plus 0.5 is float32; a float16 tensor plus 0.5 stays float16.
# 3. **The framework.** `x + y` must reach your kernel without a change in the model.
#
# **Scope.** You write the layout (Task 1), the dtypes (Task 2), the generator (Task 3) and the
# replacement (Task 4).
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
import tempfile
import uuid
from collections import Counter
from pathlib import Path
from tritonbook.seeing.dispatcher import (
    called_operators, implement, launches_by_operator, listed,
)

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
# Write `merge(sizes, strides)`, 12 to 20 lines. `strides` is a list with the strides of each tensor;
# a broadcast dimension has stride 0. Return `(sizes, strides)` as lists. At least one dimension
# stays: for a scalar return sizes `[1]`, with stride 0 for each tensor.

# %% tags=["answer"] key="merge"
def merge(sizes, strides):
    """The same elements in the same order with as few dimensions as possible.

    sizes: list of ints. strides: for each tensor a list of ints. Returns (sizes, strides).
    """
    # TODO: drop dimensions of size 1, merge neighbours, keep at least one (about 19 lines)
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
check(merge)

# %% [markdown]
# ## Task 2. The dtype of the result
#
# **Predict** the dtype of three sums: an int32 tensor plus 0.5; a float16 tensor plus a float32 tensor
# that has no dimensions; an int64 tensor plus a float16 tensor.
#
# <details><summary>Answer</summary>
#
# float32, float16, float16. Not the widest dtype wins: who has it counts as well.
#
# </details>
#
# PyTorch sorts the operands into three groups: tensors with dimensions, tensors without (rank 0), and
# numbers. Within a group `torch.promote_types` joins two dtypes. Between groups the earlier one decides,
# unless a later one is of a **higher kind**: bool < integer < floating.
#
# | operands | groups | result |
# |---|---|---|
# | float16 [70], 0.5 | float16; number of the same kind | float16 |
# | int32 [70], 0.5 | int32; number of a higher kind | float32, the default |
# | int32 [70], float64 [] | int32; rank 0 of a higher kind | float64 |
# | int32 [], 3 | rank 0; number of the same kind | int32 |
#
# Write `result_dtype(arguments)`, about 10 lines. `kind` and `NUMBER` are given.

# %% tags=["reference"]
from tritonbook.checking import promotion
NUMBER = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}


def kind(dtype):
    """0 for bool, 1 for integers, 2 for floating dtypes."""
    return 2 if dtype.is_floating_point else int(dtype != torch.bool)

# %% tags=["answer"] key="result_dtype"
def result_dtype(arguments):
    """The dtype that PyTorch gives a result of these tensors and numbers."""
    # TODO: dtypes of each of the three groups; join within a group, compare kinds between them
    # (about 10 lines)
    ### BEGIN SOLUTION
    groups = [[], [], []]
    for a in arguments:
        if isinstance(a, torch.Tensor):
            groups[0 if a.ndim else 1].append(a.dtype)
        else:
            groups[2].append(NUMBER[type(a)])
    found = None
    for dtypes in groups:
        own = functools.reduce(torch.promote_types, dtypes) if dtypes else None
        if own is not None and (found is None or kind(own) > kind(found)):
            found = own
    return found
    ### END SOLUTION


def promotion_says(operands):
    """Put one question to your function (given)."""
    return str(result_dtype(promotion.operands_of(operands)))

# %% [markdown] tags=["hint"] key="result_dtype"
# #### Hints for result_dtype
#
# <details><summary>Hint 1: a question</summary>
#
# An int32 tensor times 0.5: which group is the 0.5 in, and which of the two kinds is higher?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `a.ndim` is 0 for a tensor of rank 0. `NUMBER[type(a)]` is the dtype of a number.
# `functools.reduce(torch.promote_types, dtypes)` joins a list that is not empty.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# groups = [[], [], []]
# for a in arguments:
#     ...
# found = None
# for dtypes in groups:
#     own = functools.reduce(...) if dtypes else None
#     if own is not None and (found is None or ...):
#         found = own
# return found
# ```
#
# </details>

# %% tags=["check"] key="result_dtype" points=3
check(result_dtype)

# %% [markdown]
# ## Task 3. The generator
#
# Write `kernel_source(name, kinds, ndim)`. It returns the text of a kernel that computes
# `formula(v0, v1, ...)` for each element. `kinds` has one word for each argument: `"tensor"` or
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
# - One line for each operand, which makes `v0`, `v1` and so on. A tensor is loaded and converted to
#   COMPUTE. A scalar becomes a tile: `tl.full([BLOCK_SIZE], a1, COMPUTE)`.
#
# `pointwise` is given: it makes an operator of a function of one element. Its `__call__` broadcasts,
# sorts the dimensions by stride, calls your `merge` and `result_dtype`, and keeps each kernel under
# its **signature**: kinds and rank. Read it. Without Tasks 1 and 2 it cannot be right.

# %% tags=["reference"]
# The formula is computed in one of four dtypes; the store rounds, or drops the upper bits.
COMPUTE_IN = {
    torch.float16: tl.float32, torch.bfloat16: tl.float32, torch.float32: tl.float32,
    torch.float64: tl.float64, torch.int64: tl.int64, torch.int32: tl.int32,
    torch.int16: tl.int32, torch.int8: tl.int32, torch.uint8: tl.int32, torch.bool: tl.int32,
}


def memory_order(shape, tensors):
    """Dimensions from the outermost in memory to the innermost, as PyTorch sorts them.

    Then the result has the strides that PyTorch would give it, and a model's `.view` still works.
    """

    def compare(inner, outer):
        """Positive: `inner` has to lie outside of `outer`. 0: nobody can tell."""
        for a in tensors:
            one, two = a.stride(inner), a.stride(outer)
            if one and two and (one != two or shape[inner] > shape[outer]):
                return 1 if one >= two else -1
        return 0

    order = list(reversed(range(len(shape))))  # innermost first, sorted by insertion
    for start in range(1, len(order)):
        moving = start
        for d in reversed(range(start)):
            verdict = compare(order[d], order[moving])
            if verdict < 0:
                break
            if verdict > 0:
                order[d], order[moving] = order[moving], order[d]
                moving = d
    return order[::-1]


class Pointwise:
    """A formula of one element as an operator of tensors and numbers; made by `pointwise`."""

    def __init__(self, formula, integers_to_float):
        self.formula, self.integers_to_float = formula, integers_to_float
        self.name = formula.fn.__name__
        self.kernels = {}  # (generator, kinds, ndim) -> (kernel, source)

    def kernel(self, kinds, ndim):
        signature = (kernel_source, kinds, ndim)  # your generator too: you may write a new one
        if signature not in self.kernels:
            source = kernel_source(self.name, list(kinds), ndim)
            self.kernels[signature] = compile_source(source, self.name, self.formula), source
        return self.kernels[signature][0]

    def source(self):
        """Everything generated so far."""
        return "\n".join(source for _, source in self.kernels.values())

    def __call__(self, *arguments, dtype=None):
        """The result, in `dtype` or in the dtype that PyTorch would give it."""
        dtype = dtype or result_dtype(arguments)
        if self.integers_to_float and not dtype.is_floating_point:
            dtype = torch.get_default_dtype()
        if dtype not in COMPUTE_IN:
            raise TypeError(f"no kernels for {dtype}")
        tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
        device = next((a.device for a in tensors if a.ndim), tensors[0].device)
        arguments = [self.operand(a, device, dtype) for a in arguments]
        kinds = tuple("tensor" if isinstance(a, torch.Tensor) else "scalar" for a in arguments)
        shape = torch.broadcast_shapes(*(a.shape for a in tensors))
        wide = [a.expand(shape) for a in arguments if isinstance(a, torch.Tensor)]
        order = memory_order(shape, wide)
        ordered = [shape[d] for d in order]
        sizes, strides = merge(ordered, [[a.stride(d) for d in order] for a in wide])
        reach = [sum((n - 1) * s for n, s in zip(sizes, own, strict=True)) for own in strides]
        n_elements = shape.numel()
        if max(n_elements, *reach) >= 2**31:
            raise ValueError("offsets would pass 32 bits")
        out = torch.empty(ordered, dtype=dtype, device=device)
        # Reading across rows uses a part of each sector; after short tiles the rest is used soon.
        across = len(sizes) > 1 and any(own[-1] > 1 for own in strides)
        BLOCK_SIZE = 128 if across else 1024
        if n_elements:
            self.kernel(kinds, len(sizes))[(triton.cdiv(n_elements, BLOCK_SIZE),)](
                *arguments, out, n_elements, *sizes, *sum(map(list, strides), []),
                COMPUTE=COMPUTE_IN[dtype], BLOCK_SIZE=BLOCK_SIZE,
            )
        return out.permute([order.index(d) for d in range(len(shape))])

    def operand(self, a, device, dtype):
        """What the kernel gets for the argument `a`."""
        if isinstance(a, torch.Tensor) and a.device != device:
            if a.ndim or a.device.type != "cpu":
                raise ValueError(f"tensors on {device} and {a.device}")
            a = a.item()  # rank 0 on the CPU: a number, read without waiting for the GPU
        if isinstance(a, float) and dtype == torch.float64:
            return torch.full((), a, dtype=dtype, device=device)  # kernels take float32 numbers
        return a


def pointwise(fn=None, *, integers_to_float=False):
    """Decorator: an operator from a function of one element, written as in a kernel.

    integers_to_float: integers become the default floating dtype first, as for exp or sigmoid.
    """
    if fn is None:
        return functools.partial(pointwise, integers_to_float=integers_to_float)
    return Pointwise(triton.jit(fn), integers_to_float)


@pointwise
def axpy(alpha, x, y):
    return alpha * x + y


@pointwise
def add(x, y):
    return x + y


@pointwise
def multiply(x, y):
    return x * y


@pointwise(integers_to_float=True)
def silu(x):
    return x * tl.sigmoid(x)


OPERATORS = {"axpy": axpy, "multiply": multiply, "silu": silu}

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

def run_pointwise(name, layout, *arguments):
    """The result, its dtype in words, and how many kernels were launched (given)."""
    arguments = laid_out(layout, arguments)
    with launches_by_operator() as launches:
        out = OPERATORS[name](*arguments)
    return out, str(out.dtype), launches.total()

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
check(kernel_source)

# %% [markdown]
# **Look at what you generated.** Each rank and mix of operands has a kernel of its own. It is
# compiled once and kept.

# %%
x = torch.randn(3, 40, device=DEVICE)
axpy(0.5, x, x[0])
print(axpy.source())

# %% [markdown]
# ## Task 4. Behind PyTorch's back
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

# %%
from tritonbook.seeing.pictures_operators import draw_floors

draw_floors(
    "A call goes down the floors of the dispatcher",
    [
        ("Autograd", "notes how to go back", "rms_norm: replaced here, with its gradient"),
        ("CPU or CUDA", "computes", "add, mul, silu, gelu, _softmax, mm: replaced here"),
    ],
)

# %% [markdown]
# Autograd sits above your functions. It keeps working: the gradient of `mul` calls `mul`, and finds
# your kernel again. `silu` has a backward operator of its own, `silu_backward`. That one is one more
# formula. `gelu_backward`, `_softmax_backward_data` and `bmm` stay PyTorch's here, and so do in-place
# operators such as `add_`.
#
# `rms_norm` is different. PyTorch has no kernel under that name: the operator is *composite*, it calls
# others. On a CPU, and on a GPU in older versions, these are `pow`, `mean`, `rsqrt` and `mul`; in newer
# versions a GPU has one fused operator. The gradient comes from them, not from `rms_norm`. So it is
# replaced one floor higher, where the operator of [30_register_op](30_register_op.ipynb) brings its
# own gradient. That works in all versions.
#
# Write `use_workbook_ops(names=None)` as a context manager, about 10 lines. Inside the block the
# operators in `REPLACEMENTS` (or those of them that `names` lists) run on your kernels, on this
# machine's device. The block gets the list of their names. Afterwards everything is as before,
# whatever happened inside, and blocks may be nested. An unknown name raises `KeyError` and replaces
# nothing.
#
# `implement(lib, name, function)` is given. It is `lib.impl` for this device, and it says that the
# override is intended. After `_destroy()` you may call `aten::mul` again, because PyTorch's own kernel
# is back. An operator that a library *defined* is gone then: never call it again.

# %% tags=["reference"]
from tritonbook.checking import replacement
from tritonbook.checking.replacement import block_and_tokens, replaced_now

softmax_of_04 = mine("softmax")
matmul_of_08 = mine("matmul")
# A namespace for each run of this cell: nobody can hold an operator that was replaced since.
rmsnorm_of_11 = mine("register_custom")(f"workbook_{uuid.uuid4().hex[:8]}")


@pointwise(integers_to_float=True)
def silu_backward(dy, x):
    s = tl.sigmoid(x)
    return dy * s * (1 + x * (1 - s))


@pointwise(integers_to_float=True)
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))  # 1 / sqrt(2)


@pointwise(integers_to_float=True)
def gelu_tanh(x):
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))  # 2 sqrt(2 / pi)


def workbook_add(x, y, *, alpha=1):
    # Numbers come wrapped as tensors of rank 0. Only torch.result_type can tell them from others.
    dtype = torch.result_type(x, y)
    return add(x, y, dtype=dtype) if alpha == 1 else axpy(alpha, y, x, dtype=dtype)


def workbook_mul(x, y):
    return multiply(x, y, dtype=torch.result_type(x, y))


def workbook_gelu(x, *, approximate="none"):
    return gelu_tanh(x) if approximate == "tanh" else gelu(x)


def workbook_softmax(x, dim, half_to_float):
    moved = (x.float() if half_to_float else x).movedim(dim, -1)
    rows = softmax_of_04(moved.reshape(-1, moved.shape[-1]))
    return rows.view(moved.shape).movedim(-1, dim).contiguous()


def workbook_rms_norm(x, shape, weight=None, eps=None):
    if len(shape) != 1 or weight is None or eps is None or weight.dtype != x.dtype:
        raise NotImplementedError("rms_norm over one dimension, with eps and a weight like x")
    return rmsnorm_of_11(x.reshape(-1, *shape), weight, eps).view(x.shape)


def workbook_mm(a, b):
    if a.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise NotImplementedError(f"no tiles for {a.dtype}")
    return matmul_of_08(a, b)


REPLACEMENTS = {
    "add.Tensor": workbook_add,
    "mul.Tensor": workbook_mul,
    "silu": lambda x: silu(x),
    "silu_backward": lambda dy, x: silu_backward(dy, x),
    "gelu": workbook_gelu,
    "_softmax": workbook_softmax,
    "rms_norm": workbook_rms_norm,
    "mm": workbook_mm,
}


def block_expected(question):
    return "ok"

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
    return replacement.examine(use_workbook_ops, question, list(REPLACEMENTS))

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
check(use_workbook_ops)

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
# `PlainLlamaBlock` has no Triton in it: four heads that share two pairs of keys and values, RoPE, two
# norms, SwiGLU. Read it. **Predict:** how many of its matrix products end in `mm`, forward and backward?

# %%
from tritonbook.plain_llama import PlainLlamaBlock

print(inspect.getsource(PlainLlamaBlock))

# %%
model, x = block_and_tokens()
with use_workbook_ops() as replaced, launches_by_operator() as counts, called_operators() as called:
    model(x).pow(2).mean().backward()
rest = Counter({name: n for name, n in called.items() if name not in replaced})
print("launches of your kernels:", listed(counts))
print("\nleft to PyTorch:", listed(rest))

# %% [markdown]
# The second list comes from a *dispatch mode*, which sees every operator that is called. Views are left
# out. Seven products with weights, and each one has two in its gradient: 21. The products of attention have
# four dimensions and go to `bmm`. The name that starts with `workbook_` is the operator of the last
# notebook, in the place of `rms_norm`.
#
# Now train the block twice from the same start, once on PyTorch's operators and once on yours. Neither
# the model nor the training loop changes. On a GPU these are 200 steps of a wider block; the
# interpreter gets a few steps of a tiny one.

# %%
import matplotlib.pyplot as plt

GPU = DEVICE == "cuda"
STEPS = 200 if GPU else 12
RATE = 2.0 if GPU else 0.5  # wider means smaller gradients of a mean
SIZES = dict(width=512, heads=8, kv_heads=2, hidden=1376, length=256) if GPU else {}


def train(steps):
    model, x = block_and_tokens(**SIZES)
    goal = torch.roll(x, 1, dims=1)
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for _ in range(steps):
        loss = (model(x) - goal).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


eager = train(STEPS)
with use_workbook_ops(), launches_by_operator() as counts:
    ours = train(STEPS)
difference = max(abs(a - b) / abs(a) for a, b in zip(eager, ours, strict=True))
print(f"{STEPS} steps; launches of your kernels: {listed(counts)}")
print(f"loss from {eager[0]:.3f} to {eager[-1]:.3f}")
print(f"largest relative difference of the loss: {difference:.1e}")
plt.plot(eager, label="PyTorch's operators", linewidth=4, alpha=0.4)
plt.plot(ours, label="the workbook's operators", linestyle="--")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown]
# Two right programs need not give the same bits: they add in another order. float32 keeps 24 bits, so
# one step differs by about $2^{-24} = 6 \cdot 10^{-8}$, and training adds the differences up. A wrong
# gradient shows as a curve of its own.
#
# Does it hold in bfloat16, with its 8 bits? One forward and backward pass, against the same in
# float64: an operator library may err as much as PyTorch's own, and not much more.


# %%
def gradients(dtype):
    model, x = block_and_tokens(dtype, **SIZES)
    loss = model(x).double().pow(2).mean()
    return [g.double() for g in torch.autograd.grad(loss, list(model.parameters()))]


exact = gradients(torch.float64)
with use_workbook_ops():
    rounded = {"yours": gradients(torch.bfloat16)}
rounded["PyTorch's"] = gradients(torch.bfloat16)
for name, found in rounded.items():
    worst = max(float((g - e).norm() / e.norm()) for g, e in zip(found, exact, strict=True))
    print(f"bfloat16 gradients on {name:9} operators: error {worst:.1e} of the gradient's size")

# %% [markdown]
# ## Large tensors that are not contiguous
#
# A large call is bound by memory. Each element of x * y moves three times 4 bytes. **Predict:** which
# of these four layouts of x costs more traffic than that? y is always contiguous. Write your numbers
# into the box below *before* you run the cell above it.

# %%
from tritonbook.timing import bench_sweep

SIDE = 8192 if GPU else 32  # 64 Mi elements on a GPU
FORMS = {
    "contiguous": lambda n: torch.randn(n, n, device=DEVICE),
    "rows with gaps": lambda n: torch.randn(n, n + 64, device=DEVICE)[:, :n],
    "every second": lambda n: torch.randn(n, 2 * n, device=DEVICE)[:, ::2],
    "transposed": lambda n: torch.randn(n, n, device=DEVICE).t(),
}


def layout_case(form):
    x, y = FORMS[form](SIDE), torch.randn(SIDE, SIDE, device=DEVICE)
    fns = {"torch": torch.mul, "pointwise": multiply}
    return dict(fns=fns, args=(x, y), bytes=3 * 4 * SIDE**2)


layouts = bench_sweep("layout of x", list(FORMS), layout_case, baseline="torch")
layouts

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that multiply moves for 100 x 100 float32": None,
        "ms of torch for 8192 x 8192 float32, x contiguous": None,
    },
    measured=[
        lambda: traffic(multiply, *torch.randn(2, 100, 100, device=DEVICE)),
        lambda: time_of(layouts.results[0], "torch"),
    ],
    hints=[
        "Two tensors are read, one is written.",
        "12 bytes for each element, at the speed of a copy.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# 3 × 100 × 100 × 4 = 120,000 bytes.
#
# 8192 × 8192 × 12 bytes = 805 MB. Divide by the copy rate of your GPU: at an H100's 2,966 GB/s that is
# 0.27 ms.
#
# </details>

# %% [markdown]
# **Read the table** (on a GPU). A gap between rows costs nothing. Memory comes in sectors of 32 bytes,
# so every second element costs the whole sector: x counts twice, four transfers instead of three. With
# the transposed x the result takes its order from x, and y is read along its columns: neighbours in a
# warp hit other sectors, and the caches must keep each until the rest of it is asked for. PyTorch's
# own kernel does so too. On an H100, tiles of 1024 took 1.05 times as long.
#
# ## Where the microseconds go
#
# A small call is not slow because of its kernel. **Predict:** of dtype, order of dimensions, merging,
# allocation and launch, which takes longest? Then look. On a GPU these are host times; in the
# interpreter the launch is the interpreter's own walk through the kernel, so compare the first four.

# %%
import time


def microseconds(call, calls=1000 if GPU else 5):
    """Time of one call in a row of calls, until the last one is done."""
    wait = torch.cuda.synchronize if GPU else lambda: None
    for _ in range(3):
        call()
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    wait()
    return 1e6 * (time.perf_counter() - start) / calls


x, y = torch.randn(2, 8, 32, device=DEVICE)
out = torch.empty_like(x)
kernel = multiply.kernel(("tensor", "tensor"), 1)
parts = {
    "dtype": lambda: result_dtype((x, y)),
    "order": lambda: memory_order(x.shape, [x, y]),
    "merging": lambda: merge([8, 32], [[32, 1], [32, 1]]),
    "allocation": lambda: torch.empty_like(x),
    "launch": lambda: kernel[(1,)](
        x, y, out, 256, 256, 1, 1, COMPUTE=tl.float32, BLOCK_SIZE=1024
    ),
    "whole call": lambda: multiply(x, y),
    "PyTorch": lambda: x * y,
}
for name, call in parts.items():
    print(f"{name:12} {microseconds(call):8.1f} us")

# %% [markdown]
# **Cut it, first step.** Dtype and layout depend on nothing but shapes, strides and dtypes. In a model
# these are the same in every step. So compute them once for each signature and keep the answer.
# `remembered` does that for contiguous tensors of one shape: a look-up, an allocation, a launch.
#
# **Second step.** What remains is mostly the launch. A *CUDA graph* records the launches of a whole
# step and replays them with one call. Its tensors are fixed: new data is copied into them. On a GPU the
# curve `CUDA graph` is a step of 20 calls, recorded once. All curves show the time of one call.

# %%
CALLS = 20
plans = {}


def remembered(x, y):
    """x * y for contiguous tensors of one shape, with everything but the launch looked up."""
    signature = (x.shape, x.dtype, y.dtype, y.shape, x.stride(), y.stride())
    plan = plans.get(signature)
    if plan is None:
        if x.shape != y.shape or not (x.is_contiguous() and y.is_contiguous()):
            raise ValueError("remembered takes contiguous tensors of one shape")
        n, dtype = x.numel(), result_dtype((x, y))
        kernel = multiply.kernel(("tensor", "tensor"), 1)
        plan = plans[signature] = kernel[(triton.cdiv(n, 1024),)], n, dtype, COMPUTE_IN[dtype]
    launch, n, dtype, compute = plan
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    launch(x, y, out, n, n, 1, 1, COMPUTE=compute, BLOCK_SIZE=1024)
    return out


def step_of(fn, x):
    """A step of the model: CALLS calls in a row, each on the result of the last one."""

    def step():
        y = x
        for _ in range(CALLS):
            y = fn(y, x)
        return y

    return step


def recorded(step):
    """The step as a CUDA graph: a function that replays it."""
    aside = torch.cuda.Stream()  # recording must not start with work of its own: warm up first
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


ways = {"torch": torch.mul, "pointwise": multiply, "remembered": remembered}
sizes = [2**k for k in (range(8, 25, 2) if GPU else (8, 10))]
curves = {name: [] for name in [*ways, *(["CUDA graph"] if GPU else [])]}
for n in sizes:
    x = torch.ones(n, device=DEVICE)
    steps = {name: step_of(fn, x) for name, fn in ways.items()}
    if GPU:
        steps["CUDA graph"] = recorded(steps["remembered"])
    for name, step in steps.items():
        curves[name].append(microseconds(step, calls=50 if GPU else 1) / CALLS)
print("elements  " + "".join(f"{name:>12}" for name in curves))
for k, n in enumerate(sizes):
    print(f"{n:<10}" + "".join(f"{curve[k]:9.1f} us" for curve in curves.values()))
if GPU:
    for (name, curve), mark in zip(curves.items(), "os^d", strict=True):
        plt.loglog(sizes, curve, marker=mark, label=name)
    plt.xlabel("elements")
    plt.ylabel("microseconds of one call")
    plt.legend()
    plt.show()
else:
    print("(wall clock of the interpreter: the plot needs a GPU)")

# %% [markdown]
# **Read the plot.** On a GPU look for the flat part on the left: it is the cost of a call, whatever
# its size. On the right memory decides, and the curves meet. Left of the bend you pay for the call,
# right of it for the bytes. The graph's floor is lower than any Python: it is what the GPU itself
# needs to start a kernel.
#
# ## Recap
#
# - A formula, a layout and a dtype rule make an operator. The kernel is text that you generate.
# - Merging dimensions removes divisions. A contiguous tensor of any rank is a vector.
# - Who has a dtype counts as well: dimensions before rank 0 before numbers, unless the kind is higher.
# - PyTorch's dispatcher is a table. You may put your function in it, and must take it out again.
# - Autograd sits above: replaced operators are differentiated as before. A composite operator needs a
#   gradient of its own.
# - A small call costs Python and a launch. Remember the first, record the second in a graph.
#
# <details><summary>Common mistakes</summary>
#
# - Merging by the first tensor alone: a broadcast second one reads the wrong elements.
# - The result's dtype from the first argument: integers times 0.5 become integers.
# - A result that keeps stride 0: all of its elements are one and the same.
# - No `finally`: one error in a test, and every later test runs on your kernels.
# - A replacement that calls the operator it replaces: it calls itself without end.
# - Calling an operator whose library was closed: PyTorch has freed it, and the result is random.
#
# </details>
#
# Next: [40_rope](40_rope.ipynb), where positions turn into angles.

# %%
progress()
