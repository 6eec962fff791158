# ---
# workbook:
#   title: An operator library
#   minutes: 65
#   needs: interpreter
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   requires: [30_register_op]
#   you_will:
#     - generate kernels from formulas, for tensors of any rank and strides
#     - write a kernel, its grid and its wrapper from a blank page
#     - replace PyTorch's own operators inside a block, and restore them whatever happens
#     - run an unmodified model on your kernels, and say what a small call costs
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# PyTorch has hundreds of elementwise operators, and nobody writes hundreds of kernels. You write the
# *formula* of one element, and Python writes the kernel around it. Then
# `x + y` in somebody's model shall reach your kernel, without a change to the model.
#
# ## Source that writes source
#
# This generator returns text, for one contiguous tensor. `compile_source` makes a kernel of it. The
# text goes to a file first, because Triton reads a kernel's source from its file.

# %% tags=["reference"]
import contextlib
import re
import runpy
import tempfile
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory(prefix="pointwise-")  # removed when Python ends


def compile_source(name, source):
    """The kernel `name` that `source` defines."""
    path = Path(tempfile.mkdtemp(dir=FOLDER.name)) / f"{name}.py"
    path.write_text(f"import triton\nimport triton.language as tl\n\n\n{source}\n")
    return runpy.run_path(str(path))[name]

# %%
def contiguous_source(name, formula):
    return f"""
@triton.jit
def {name}(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    out = {formula}
    tl.store(out_ptr + offs, out, mask=mask)"""


square = compile_source("square", contiguous_source("square", "x * x"))
x = torch.arange(6.0, device=DEVICE)
out = torch.empty_like(x)
square[(1,)](x, out, 6, BLOCK_SIZE=8)
out

# %% [markdown]
# ## Any rank, any strides
#
# A transposed tensor, a slice, or a row that is used again for each row (*broadcast*: stride 0): they
# differ in their strides alone. So from the number of an element a kernel computes its **index in each
# dimension**, and from these, for each tensor, an **address**. Here for the sizes (2, 3):
#
# | element | 0 | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|---|
# | `i_1 = element % 3` | 0 | 1 | 2 | 0 | 1 | 2 |
# | `i_0 = element // 3` | 0 | 0 | 0 | 1 | 1 | 1 |
# | address, strides (3, 1) | 0 | 1 | 2 | 3 | 4 | 5 |
# | address, strides (1, 2): transposed | 0 | 2 | 4 | 1 | 3 | 5 |
# | address, strides (0, 1): one row for all | 0 | 1 | 2 | 0 | 1 | 2 |
#
# With more dimensions you divide again, from the last dimension to the first: the remainder is the
# index, the quotient goes on. How many lines that takes depends on the **rank**, the number of
# dimensions. So a loop in the generator writes them.
#
# ## Task 1. The generator
#
# `kernel_source("f", ["x", "y"], "x * y", 2)` returns the text of a kernel `f` for two operands of rank
# 2 with these arguments:
#
# | argument | for |
# |---|---|
# | `x_ptr`, `y_ptr` | each operand |
# | `out_ptr`, `n_elements` | the result, contiguous |
# | `size_0`, `size_1` | each dimension |
# | `stride_x_0`, `stride_x_1`, `stride_y_0`, ... | each dimension of each operand |
# | `COMPUTE` | the dtype in which the formula is computed |
#
# Head and end are given. Write the middle, about 7 lines. For this kernel it must append
#
# ```python
#     i_1 = rest % size_1
#     rest = rest // size_1
#     i_0 = rest
#     x = tl.load(x_ptr + i_0 * stride_x_0 + i_1 * stride_x_1, mask=mask).to(COMPUTE)
#     y = tl.load(y_ptr + i_0 * stride_y_0 + i_1 * stride_y_1, mask=mask).to(COMPUTE)
# ```
#
# and the like for other ranks and operands.
#
# `pointwise`, below it, makes an operator of a formula: it broadcasts, asks PyTorch for the result's
# dtype, and keeps one kernel for each rank. Contiguous tensors are a vector as far as memory goes: for
# them the rank is 1, and nothing is divided.

# %% tags=["answer"] key="kernel_source"
def kernel_source(name, operands, formula, ndim):
    """Text of a kernel that computes `formula` for operands of `ndim` dimensions, at least 1."""
    sizes = [f"size_{d}" for d in range(ndim)]
    strides = [f"stride_{x}_{d}" for x in operands for d in range(ndim)]
    arguments = [*(f"{x}_ptr" for x in operands), "out_ptr", "n_elements", *sizes, *strides]
    lines = [
        "@triton.jit",
        f"def {name}({', '.join(arguments)}, COMPUTE: tl.constexpr, BLOCK_SIZE: tl.constexpr):",
        "    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)",
        "    mask = offs < n_elements",
        "    rest = offs",
    ]
    # TODO: append the lines for each index, last dimension first, and for each operand
    # (about 7 lines)
    ### BEGIN SOLUTION
    for d in reversed(range(1, ndim)):
        lines.append(f"    i_{d} = rest % size_{d}")
        lines.append(f"    rest = rest // size_{d}")
    lines.append("    i_0 = rest")
    for x in operands:
        address = " + ".join(f"i_{d} * stride_{x}_{d}" for d in range(ndim))
        lines.append(f"    {x} = tl.load({x}_ptr + {address}, mask=mask).to(COMPUTE)")
    ### END SOLUTION
    lines.append(f"    out = {formula}")
    lines.append("    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)")
    return "\n".join(lines)


def pointwise(name, formula):
    """An operator of tensors x, or x and y, from the formula of one element (given)."""
    operands = sorted(set(re.findall(r"\b[xy]\b", formula)))
    kernels = {}  # rank -> kernel

    def operator(*tensors):
        dtype = torch.result_type(tensors[0], tensors[-1])  # a number counts less than a tensor
        tensors = [torch.as_tensor(x) for x in tensors]
        shape = torch.broadcast_shapes(*(x.shape for x in tensors))
        out = torch.empty(shape, dtype=dtype, device=max(tensors, key=torch.Tensor.dim).device)
        wide = [x.to(out.device).expand(shape) for x in tensors]
        if out.numel() >= 2**31 or dtype in (torch.bool, torch.float64):
            raise ValueError(f"no kernel for {out.numel()} elements of {dtype}")
        compute = tl.float32 if dtype.is_floating_point else tl.int64
        if all(x.is_contiguous() for x in wide):
            wide = [x.view(-1) for x in wide]
        rank = wide[0].dim()
        if rank not in kernels:
            kernels[rank] = compile_source(name, kernel_source(name, operands, formula, rank))
        strides = [stride for x in wide for stride in x.stride()]
        kernels[rank][(triton.cdiv(out.numel(), 1024),)](
            *wide, out, out.numel(), *wide[0].shape, *strides, COMPUTE=compute, BLOCK_SIZE=1024
        )
        return out

    return operator


add, multiply = pointwise("add", "x + y"), pointwise("multiply", "x * y")


def pointwise_result(formula, layout, *tensors):
    """The formula of tensors that lie in memory in their own way, for the check (given)."""
    x, *rest = [x.to(DEVICE) for x in tensors]
    if layout == "reversed":
        x = x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))
    if layout == "every second":
        x = torch.stack([x, x + 1], dim=-1).flatten(-2)[..., ::2]
    return pointwise("checked", formula)(x, *rest).cpu()

# %% [markdown] tags=["hint"] key="kernel_source"
# #### Hints for kernel_source
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the five lines above are there once for each dimension, which once for each operand? Which
# dimension is different from the others?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# With rank 3 the lines of `i_2` come first. Each line of text begins with four blanks. `" + ".join(...)` puts an address together. Print the text while you write.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for d in ...:  # all dimensions but the first, the last one first
#     lines.append(f"    i_{d} = ...")
#     lines.append(f"    rest = ...")
# lines.append(f"    i_0 = ...")
# for x in operands:
#     # the address of this operand, then one line with load and conversion
# ```
#
# </details>

# %% tags=["check"] key="kernel_source" points=5
check(kernel_source)

# %%
print(kernel_source("add_row", ["x", "y"], "x + y", 2))
silu_mul = pointwise("silu_mul", "x * tl.sigmoid(x) * y")
x = torch.randn(3, 40, device=DEVICE)
torch.testing.assert_close(silu_mul(x, x[0]), torch.nn.functional.silu(x) * x[0])

# %% [markdown]
# A formula may be long: `silu_mul` is one kernel where PyTorch launches two.
#
# ## A model that does not know
#
# One head of attention after an RMSNorm, as anybody writes it. Its operators are `rms_norm`, four
# products of matrices (`mm`), `mul`, `add` and a softmax.


# %%
class Attention(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.RMSNorm(width, eps=1e-5)
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)

    def forward(self, x):  # [tokens, width]
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = q @ k.T * q.shape[-1] ** -0.5
        return x + self.out(torch.softmax(scores, dim=-1) @ v)

# %% [markdown]
# You have `rms_norm` (page 30), `mm` (page 20), softmax (page 04) and now `mul` and `add`. For the way
# back one is missing: a softmax's gradient is an operator of its own, `_softmax_backward_data`. It gets
# the gradient `dy` of the result and the result $y$ itself. The derivative of $y_k$ by $x_n$ is
# $y_n\,(1 - y_n)$ for $k = n$, else $-y_k\,y_n$. Each times $dy_k$, added up over $k$:
#
# $$dx_n = y_n \Bigl(dy_n - \sum_k y_k\,dy_k\Bigr)$$
#
# ## Task 2. A blank page: the gradient of softmax
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `dy`, `y` | `[M, N]` each, any strides | floating, the same | inputs, never changed |
# | result | `[M, N]`, contiguous | as `y` | new |
#
# One launch, and no copy. Arithmetic is float32. Rows have up to 16,384 elements, M may be 0. Other
# shapes and wider rows raise `ValueError`.
#
# Kernel, grid and wrapper are yours. A program takes one row, in one tile, with one warp for 512 lanes as
# on page 04: `num_warps=min(max(BLOCK_N // 512, 1), 16)`. dy and y have two strides each.

# %% tags=["answer"] key="softmax_backward"
def softmax_backward_ref(dy, y):
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))


# TODO: the kernel (about 14 lines)
### BEGIN SOLUTION
@triton.jit
def softmax_backward_kernel(
    dy_ptr, y_ptr, dx_ptr,
    N,
    stride_dm, stride_dn,
    stride_ym, stride_yn,
    BLOCK_N: tl.constexpr,
):
    """dx = y * (dy - sum(y * dy)) for each row.

    One program = one row.
    Assumes N <= BLOCK_N, and that dx is contiguous.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    dy_ptrs = dy_ptr + pid_m * stride_dm + offs_n * stride_dn
    dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    y_ptrs = y_ptr + pid_m * stride_ym + offs_n * stride_yn
    y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    dx = y * (dy - tl.sum(y * dy, axis=0))

    tl.store(dx_ptr + pid_m * N + offs_n, dx, mask=mask_n)
### END SOLUTION


def softmax_backward(dy, y):
    """Gradient of a softmax of rows: dy that of its result y, both [M, N]; like y, contiguous."""
    # TODO: check, allocate, grid, launch (about 9 lines)
    ### BEGIN SOLUTION
    if y.dim() != 2 or dy.shape != y.shape or y.shape[1] > 16384:
        raise ValueError(f"dy {tuple(dy.shape)} and y {tuple(y.shape)} are no rows of one softmax")
    M, N = y.shape
    dx = torch.empty((M, N), dtype=y.dtype, device=y.device)
    BLOCK_N = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        dy, y, dx, N, *dy.stride(), *y.stride(),
        BLOCK_N=BLOCK_N, num_warps=min(max(BLOCK_N // 512, 1), 16),
    )
    return dx
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="softmax_backward"
# #### Hints for softmax_backward
#
# <details><summary>Hint 1: a question</summary>
#
# Which numbers does a program need to find its row of `dy` and of `y`, and are they the same?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Your `softmax` of page 04 has the wrapper: the grid, the tile's width, the warps. What do the masked
# lanes have to hold, so that the sum does not change?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @triton.jit
# def softmax_backward_kernel(...):  # pointers, N, strides of dy and of y, the width of the tile
#     # the row, its columns and their mask
#     # load dy and y, in float32
#     dx = ...
#     # store
#
# def softmax_backward(dy, y):
#     # refuse what the contract refuses
#     # allocate; a program for each row; the smallest power of two that holds a row
# ```
#
# </details>

# %% tags=["check"] key="softmax_backward" points=6
check(softmax_backward)

# %% [markdown]
# ## Behind PyTorch's back
#
# `x * y` calls the operator `aten::mul.Tensor`; `aten` is the namespace of PyTorch's own operators. The
# **dispatcher** is the table that says who computes it on a device. A library of the kind `"IMPL"`
# (page 30) puts your function into that table:
#
# ```python
# lib = torch.library.Library("aten", "IMPL")
# implement(lib, "mul.Tensor", multiply)
# ...
# lib._destroy()  # PyTorch's own kernel is back
# ```
#
# `implement` is given: `lib.impl` for this machine's device, without a warning. A misspelt name is
# accepted in silence, since somebody may define it later. So look at what ran.

# %%
pictures("register_op").draw_floors(
    "Where your functions stand, on the floors of page 30",
    [
        ("Autograd", "notes how to go back", "rms_norm: replaced here, with its own gradient"),
        ("CPU or CUDA", "computes", "mul, add, mm and both of softmax: replaced here"),
    ],
)

# %% [markdown]
# Autograd stands above your functions: the gradient of `mul` calls `mul`, and finds yours. `rms_norm`
# is different. It is **composite**: in most versions it has no kernel and calls `pow`, `mean`, `rsqrt`
# and `mul`. So `implement` replaces it one floor higher, where a function needs a gradient of its own.
# Your operator of page 30 has one.
#
# ## Task 3. Replace, and restore
#
# Write `use_kernels(replacements)`, about 6 lines. Inside a `with` block each operator of the dictionary
# runs on its function, put there by `implement`. Afterwards everything is as before, **whatever happened**: an error in the
# block, or in `implement`, comes out, and nothing stays replaced. Blocks may be nested.
#
# `@contextlib.contextmanager` makes a context manager of a function with one `yield`. What stands before
# it runs at the beginning of the block, what stands after it at the end. An error in the block appears
# at the `yield`.

# %% tags=["reference"]
from tritonbook.seeing.blocks import told
from tritonbook.seeing.dispatcher import implement

# %% tags=["answer"] key="use_kernels"
@contextlib.contextmanager
def use_kernels(replacements):
    """Inside, PyTorch's operators run on functions: {"mul.Tensor": multiply, ...}."""
    # TODO: open a library, put each function in its place, yield, restore (about 6 lines)
    ### BEGIN SOLUTION
    lib = torch.library.Library("aten", "IMPL")
    try:
        for name, function in replacements.items():
            implement(lib, name, function)
        yield
    finally:
        lib._destroy()
    ### END SOLUTION


def block_told(story):
    """What is replaced at each step of a story, for the check (given)."""
    return told(use_kernels, story)

# %% [markdown] tags=["hint"] key="use_kernels"
# #### Hints for use_kernels
#
# <details><summary>Hint 1: a question</summary>
#
# `implement` fails for the second of three names. Which of your lines still run, and what has to be
# undone?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Python runs what stands in `finally` in every case. Which of your lines can fail?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# One library for each block, so that an inner block ends without the outer one. It is opened first.
# Then `try`, with all that can fail, the `yield` among it. What stands in `finally`?
#
# </details>

# %% tags=["check"] key="use_kernels" points=4
check(use_kernels)

# %% [markdown]
# ## The model on your kernels
#
# Each replacement takes its operator's arguments. These are enough for matrices; a library for
# everybody would look at `dim` too.

# %%
from tritonbook.seeing.dispatcher import called_operators, launches_by_operator, listed

rmsnorm = mine("register_custom", quiet=True)("page31")
softmax, matmul = mine("softmax", quiet=True), mine("matmul", quiet=True)
KERNELS = {
    "add.Tensor": lambda x, y, alpha=1: add(x, y if alpha == 1 else alpha * y),
    "mul.Tensor": multiply,
    "mm": matmul,
    "_softmax": lambda x, dim, half_to_float: softmax(x),
    "_softmax_backward_data": lambda dy, y, dim, dtype: softmax_backward(dy, y),
    "rms_norm": lambda x, shape, w, eps: rmsnorm(x, w, eps),
}


def gradients(model, x):
    loss = (model(x) - x.roll(1, dims=0)).pow(2).mean()
    return torch.autograd.grad(loss, list(model.parameters()))


def counted():
    """What one forward and backward launches, and which operators it calls."""
    with use_kernels(KERNELS), launches_by_operator() as launches, called_operators() as called:
        gradients(model, x)
    return launches, called


torch.manual_seed(0)
model, x = Attention(32).to(DEVICE), torch.randn(48, 32, device=DEVICE)
theirs = gradients(model, x)
with use_kernels(KERNELS):
    ours = gradients(model, x)
errors = [float((a - b).norm() / b.norm()) for a, b in zip(ours, theirs, strict=True)]
print(f"largest relative difference of a gradient: {max(errors):.1e}")

# %% [markdown]
# The gradients agree up to the last digits of float32, where
# another order of additions shows.

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "products (mm) that one forward and one backward launch": None,
        "bytes that multiply asks for: 64 x 100 float32 times one row of 100": None,
    },
    measured=[
        lambda: counted()[0]["mm"],
        lambda: traffic(
            multiply, torch.ones(64, 100, device=DEVICE), torch.ones(100, device=DEVICE)
        ),
    ],
    hints=[
        "Four in the forward. How many has the gradient of one product?",
        "A program takes 1,024 elements. How many are there, and what does each need of the row?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Products.** A product $C = AB$ has two gradients, $dA = dC\,B^T$ and $dB = A^T dC$: two products.
# Four forward and eight backward are 12.
#
# **Bytes.** x and the result have 6,400 elements, 25,600 bytes each. There are 7 programs, and each
# needs all 100 numbers of the row: 2,800 bytes. Together 54,000.
#
# </details>

# %%
launches, called = counted()
rest = type(called)({name: n for name, n in called.items() if name not in KERNELS})
print("launches of your kernels:", listed(launches))
print("left to PyTorch:", listed(rest))

# %% [markdown]
# What is left: the loss, and the backward of page 30's operator, which consists of PyTorch's operators.
#
# ## What a call costs
#
# **Predict.** A large product, element by element, waits for memory, yours as PyTorch's. What does a
# small one wait for?
#
# First large tensors, contiguous and with gaps between rows. Then a thousand small calls:
# read those milliseconds as microseconds of one call. Without a GPU you see an H200's times.

# %%
side = 8192 if DEVICE == "cuda" else 32
x, y = torch.randn(2, side, side, device=DEVICE)
gaps = torch.randn(side, side + 64, device=DEVICE)[:, :side]
ways = {
    "torch": lambda: x * y,
    "multiply": lambda: multiply(x, y),
    "torch, gaps": lambda: gaps * y,
    "multiply, gaps": lambda: multiply(gaps, y),
}
bench(
    ways, bytes=12 * side**2, baseline="torch",
    title="x * y, 8192 x 8192, float32", stored="pointwise_large",
)

# %%
from tritonbook.timing import bench_sweep
from tritonbook.timing.clock import captured


def small(n):
    x = torch.ones(n, device=DEVICE)
    calls = {"torch": lambda: x * x, "multiply": lambda: multiply(x, x)}
    if DEVICE != "cuda":
        return {"fns": calls}
    ways = {name: lambda call=call: [call() for _ in range(1000)] for name, call in calls.items()}
    return {"fns": ways | {"CUDA graph": captured(calls["multiply"], calls=1000).replay}}


sizes = [2**k for k in range(8, 25, 4)] if DEVICE == "cuda" else [256]
bench_sweep("elements", sizes, small, title="1,000 calls", stored="pointwise_calls")

# %% [markdown]
# **Read it.** In the first table `multiply` is as fast as `torch`, and with gaps 23 % faster. In the
# second, go down a column. While the time hardly changes you pay for the call: some 8 µs in PyTorch's
# C++, 60 in your wrapper and Triton's launch. Where it grows, memory
# counts: in its last row `multiply` needs about the sum of both.
#
# `CUDA graph` recorded a thousand launches of `multiply` and replays them with one call. What is left is
# what the GPU needs to start a kernel. So small calls get cheaper in two ways: record them, or make
# fewer, with longer formulas.
#
# ## Recap
#
# - A formula and an address for each operand make an elementwise kernel. Where a kernel needs a line for
#   each dimension, the generator has a loop.
# - A broadcast dimension has stride 0. A contiguous tensor of any rank is a vector.
# - The dispatcher is a table: put your function in it, and take it out in `finally`.
# - Autograd stands above. A composite operator needs a replacement with a gradient of its own.
# - A small call costs Python and a launch, whatever the kernel does.
#
# <details><summary>Common mistakes</summary>
#
# - The first dimension first: `rest % size_0` gives the index of the last dimension.
# - One address for all operands: a broadcast one reads the wrong elements, or past its end.
# - A sum in half precision, or masked lanes in it.
# - No `finally`: whether operators stay replaced after an error depends on who still holds the library.
# - A function that calls the operator it replaces calls itself without end.
#
# </details>
#
# Next: [40_rope](40_rope.ipynb), where positions turn into angles.

# %%
progress()
