# ---
# workbook:
#   title: GELU and fusion
#   minutes: 55
#   needs: interpreter
#   requires: [01_vector_add, 02_measure]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - turn nine trips through memory into one, and say beforehand what that saves
#     - compute in float32 whatever the tensors hold, and keep large inputs from becoming NaN
#     - read registers and vector loads off a compiled kernel, without a GPU
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
# GELU is the activation between the two matrix products of a transformer's MLP. Its common form is
#
# $$\mathrm{gelu}(x) = \tfrac12\,x\,\bigl(1 + \tanh u\bigr), \qquad
# u = \sqrt{2/\pi}\,\bigl(x + 0.044715\,x^3\bigr)$$
#
# Write that in PyTorch, and each `*`, `+` and `tanh` becomes an operator of its own. Each one reads
# a tensor from memory and writes a tensor back. The next cell asks the profiler which operators
# run.

# %%
from tritonbook.timing import record_trace

SQRT_2_OVER_PI = tl.constexpr(0.7978845608028654)


def gelu_formula(x):
    return 0.5 * x * (1 + torch.tanh(SQRT_2_OVER_PI.value * (x + 0.044715 * x * x * x)))


x = torch.randn(2**16, device=DEVICE)
gelu_formula(x)  # once before: the first call sets things up
operators = [e["name"] for e in record_trace(lambda: gelu_formula(x)) if e["cat"] == "cpu_op"]
print(len(operators), "operators:", " ".join(operators))

# %% [markdown]
# Nine operators. Five read one tensor and write one: those with a number in them, and `tanh`. Four
# read two and write one: twice `* x` in the cube, the sum with `x`, and the last product. Count 4
# bytes for each float32:
#
# | | reads | writes | bytes per element |
# |---|---|---|---|
# | nine operators | 13 | 9 | 88 |
# | one kernel | 1 | 1 | 8 |
#
# The arithmetic is the same, and it is cheap. The bytes are what costs. Putting all nine steps into
# one kernel, where the values between them stay in *registers*, is called **fusion**. Registers are
# the small and fast memory in which a processor computes. You may hope for 88 / 8 = 11 times the
# speed. At the end you will measure it.
#
# **Predict.** The tensor has 67,108,864 float32 elements, and a GPU copies 3,000 GB/s. How long
# do the nine operators take, how long the fused kernel?
#
# <details><summary>Answer</summary>
#
# Nine operators move 67,108,864 × 88 bytes = 5.9 GB, so 1.97 ms. The fused kernel moves 0.54 GB, so
# 0.18 ms. Both figures count memory only, and both will turn out close.
#
# </details>

# %% [markdown]
# ## A smaller kernel first
#
# This kernel fuses three operators: `(2 * x + 1) ** 2`. Between load and store you compute with
# whole tiles, as if they were numbers. Nothing in between touches memory.


# %%
@triton.jit
def square_line_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = (2 x + 1)^2.

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    line = 2 * x + 1
    out = line * line

    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)


def square_line(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    square_line_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)
    return out


square_line(torch.arange(5.0, device=DEVICE, dtype=torch.float16))

# %% [markdown]
# The tensor holds float16, yet the kernel computes in float32. This is the **house rule** of the
# workbook: load, `.to(tl.float32)`, compute, cast at the store. It costs nothing, because the
# values travel through memory in 2 bytes all the same. And it saves you from three troubles: sums
# that lose digits, squares above 65,504 that become infinite, and `tl.exp`, which the compiler
# refuses for float16. (You will also meet bfloat16: 2 bytes too, with the range of float32 and only 8
# bits for the digits.)
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | any, contiguous | floating | input, never changed |
# | `x` of `bias_gelu` | `[M, N]`, any strides | floating | input |
# | `bias` | `[N]`, any stride | as `x` | input |
# | result | as `x` | as `x` | new, contiguous |
#
# The three functions of one tensor raise `ValueError` when it is not contiguous. You may assume
# that no input is NaN. You may not assume that inputs are small: ±10,000 must give the right
# answer too.
#
# **Memory traffic**: one read and one write for each element. `bias_gelu` reads the bias on top,
# which is small and stays in the cache.

# %% tags=["reference"]
import torch.nn.functional as F

# sqrt(2 / pi), a constant that kernels can see.
SQRT_2_OVER_PI = tl.constexpr(0.7978845608028654)


def relu_ref(x):
    return torch.relu(x)


def silu_ref(x):
    return x * torch.sigmoid(x)


def gelu_tanh_ref(x):
    return F.gelu(x, approximate="tanh")


def bias_gelu_ref(x, bias):
    return F.gelu(x + bias, approximate="tanh")


def gelu_backward_ref(dy, x):
    return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")


def require_contiguous(x):
    """Raise ValueError unless the elements of x lie side by side in memory."""
    if not x.is_contiguous():
        raise ValueError("x must be contiguous")

# %% [markdown]
# ## Task 1. ReLU
#
# $\mathrm{relu}(x) = \max(x, 0)$. About 3 lines, as a warm-up: load, compute, store. `tl.maximum`
# takes two tiles, or a tile and a number.

# %% tags=["answer"] key="relu"
@triton.jit
def relu_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = max(x, 0).

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load in float32, compute, store in the output's dtype (about 3 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    out = tl.maximum(x, 0.0)

    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def relu(x):
    """max(x, 0) for a contiguous tensor."""
    require_contiguous(x)
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    relu_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)
    return out

# %% [markdown] tags=["hint"] key="relu"
# #### Hints for relu
#
# <details><summary>Hint 1: a question</summary>
#
# Which lines of `square_line_kernel` can you keep as they are? Only one step changes.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.maximum(a, b)` compares element by element. (`tl.max` is another function: it reduces a whole
# tile to one number.)
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = tl.load(..., mask=...).to(...)
#
# out = tl.maximum(...)
#
# tl.store(..., out.to(...), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="relu" points=2
check(relu)

# %% [markdown]
# ## Task 2. SiLU
#
# $\mathrm{silu}(x) = x\,\sigma(x)$ with the sigmoid $\sigma(x) = 1 / (1 + e^{-x})$. About 3 lines.
# `tl.sigmoid` exists. It is also a good moment to think about large inputs: for x = -10,000 the
# exponential $e^{-x}$ is infinite, and $1 / (1 + \infty) = 0$ is still right. The form
# $x\,e^x / (1 + e^x)$ looks the same on paper. For x = +10,000 it is $\infty / \infty$: NaN.

# %% tags=["answer"] key="silu"
@triton.jit
def silu_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x sigmoid(x).

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load in float32, compute, store in the output's dtype (about 3 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    out = x * tl.sigmoid(x)

    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def silu(x):
    """x sigmoid(x) for a contiguous tensor."""
    require_contiguous(x)
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    silu_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)
    return out

# %% [markdown] tags=["hint"] key="silu"
# #### Hints for silu
#
# <details><summary>Hint 1: a question</summary>
#
# Your ReLU has one line of arithmetic. What stands there now?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.sigmoid` wants float32. Did you cast after the load?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = tl.load(..., mask=mask).to(...)
#
# out = ... * tl.sigmoid(...)
#
# tl.store(..., out.to(...), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="silu" points=2
check(silu)

# %% [markdown]
# ## Task 3. GELU
#
# Now the whole formula in one kernel, about 4 lines. There is one obstacle: Triton has no
# `tl.tanh`. The textbook way out is $\tanh u = (e^{2u} - 1) / (e^{2u} + 1)$. Try it on paper with
# u = 100 in float32, where everything above $3.4 \cdot 10^{38}$ is infinite. You know the ending
# from Task 2.
#
# There is a way that stays finite. Put $\tanh u = 2\,\sigma(2u) - 1$ into the formula of GELU, and
# simplify. Almost everything cancels.
#
# `SQRT_2_OVER_PI` is defined for you. A kernel can see a global value only when it is a
# `tl.constexpr`.

# %% tags=["answer"] key="gelu_tanh"
@triton.jit
def gelu_tanh_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3).

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: load in float32, u, the result without overflow, store (about 4 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    u = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)
    # x/2 (1 + tanh u) = x sigmoid(2u), which is finite for every finite x.
    out = x * tl.sigmoid(2 * u)

    tl.store(out_ptr + offs, out.to(out_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def gelu_tanh(x):
    """GELU in its tanh form, for a contiguous tensor."""
    require_contiguous(x)
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    gelu_tanh_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)
    return out

# %% [markdown] tags=["hint"] key="gelu_tanh"
# #### Hints for gelu_tanh
#
# <details><summary>Hint 1: a question</summary>
#
# What is $1 + \tanh u$ when $\tanh u = 2\,\sigma(2u) - 1$? And half of it, times x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# It ends in the same `tl.sigmoid` as Task 2, with another argument. Mind the cube: there is no
# `x ** 3` in a kernel, so multiply three times.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = ...
#
# u = SQRT_2_OVER_PI * (... + 0.044715 * ...)
# out = x * tl.sigmoid(...)
#
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="gelu_tanh" points=4
check(gelu_tanh)

# %% [markdown]
# ## Task 4. Bias and GELU together
#
# In the MLP a bias is added just before the activation: $\mathrm{gelu}(x_{mn} + b_n)$. As two
# operators that costs a trip of its own. In your kernel it costs one more load.
#
# Now `x` is a matrix, and it may have gaps between its rows, as the slice of a larger one does.
# So the kernel gets strides: element `[m, n]` lies at `x_ptr + m * stride_xm + n * stride_xn`. Each
# tensor has its own.
#
# One program takes one tile of one row. The grid has two axes: `pid_m` is the row, `pid_n` the tile
# within it. About 9 lines.

# %% tags=["answer"] key="bias_gelu"
@triton.jit
def bias_gelu_kernel(
    x_ptr, bias_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    stride_bn,
    stride_om, stride_on,
    BLOCK_SIZE: tl.constexpr,
):
    """out[m, n] = gelu(x[m, n] + bias[n]).

    One program = one tile of BLOCK_SIZE columns of row pid_m.
    Assumes a grid of exactly M rows.
    """
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)

    # TODO: columns and mask, both loads in float32, add, GELU, store (about 9 lines)
    ### BEGIN SOLUTION
    offs_n = pid_n * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n).to(tl.float32)
    bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n).to(tl.float32)

    x += bias
    u = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)
    out = x * tl.sigmoid(2 * u)

    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def bias_gelu(x, bias):
    """gelu(x + bias) for a matrix x [M, N] with any strides, and bias [N]."""
    if x.ndim != 2 or bias.shape != x.shape[1:] or x.dtype != bias.dtype:
        raise ValueError("x must be [M, N] and bias [N], of one dtype")
    M, N = x.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    grid = (M, triton.cdiv(N, 1024))
    bias_gelu_kernel[grid](
        x, bias, out, N, *x.stride(), *bias.stride(), *out.stride(), BLOCK_SIZE=1024
    )
    return out

# %% [markdown] tags=["hint"] key="bias_gelu"
# #### Hints for bias_gelu
#
# <details><summary>Hint 1: a question</summary>
#
# Two programs in the same column of tiles but different rows: which of the three tensors do they
# read at the same place?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The arithmetic is that of Task 3. The address of the bias knows nothing of `pid_m`. The mask
# concerns columns only, because the grid has exactly M rows.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_n = pid_n * ... + tl.arange(0, ...)
# mask_n = ...
#
# x = tl.load(x_ptr + pid_m * ... + offs_n * ..., mask=...).to(...)
# bias = tl.load(bias_ptr + ..., mask=...).to(...)
#
# ...  # as in Task 3
#
# tl.store(out_ptr + pid_m * ... + offs_n * ..., ..., mask=...)
# ```
#
# </details>

# %% tags=["check"] key="bias_gelu" points=4
check(bias_gelu)

# %% [markdown]
# ## What the compiler made of it
#
# You need no GPU to see the machine code: `facts` compiles the kernel for an A100 (sm_80) and reads
# the result. Look at three of its columns.
#
# - **registers** for each thread. Threads come in groups of 32 that run in step, the *warps*. A
#   program of 1,024 elements and 4 warps gives each thread 8 elements. Registers are shared out among
#   the programs that run on one multiprocessor, so fewer registers leave room for more programs.
# - **spills**: values that found no register and went to memory. There should be none.
# - **vector loads**: `ld.global.v4` fetches four float32, 16 bytes, in one instruction.

# %%
facts(gelu_tanh, torch.randn(2**20, device=DEVICE))

# %% [markdown]
# Now one element more. 1,048,577 is odd, so the compiler no longer knows that the number of
# elements is divisible by 16. A mask that may end anywhere cannot guard four elements at once.
#
# **Predict.** What happens to the vector loads?

# %%
facts(gelu_tanh, torch.randn(2**20 + 1, device=DEVICE))

# %% [markdown]
# The next cell prints the lines of PTX, the assembler of NVIDIA GPUs, that matter here. `%ctaid.x`
# is your `tl.program_id(0)`. CUDA and most books call a program a *CTA* or *thread block*. The
# loads are `ld.global`, with `v4` where four values come at once. `@%p1` before an instruction is
# your mask: the instruction runs only where the predicate is true.

# %%
import re

for n in (2**20, 2**20 + 1):
    (kernel,) = facts(gelu_tanh, torch.randn(n, device=DEVICE))
    print(f"{n} elements")
    for line in kernel.ptx.splitlines():
        if re.search(r"%ctaid\.x|ld\.global|st\.global", line):
            print("   ", line.strip())

# %% [markdown]
# **Change it.** Give one program more elements and the same 4 warps: each thread then has 16 or 32
# of them (*thread coarsening*). Or take 8 warps. What happens to the registers, and to the number
# of vector loads?

# %%
for block, warps in ((1024, 4), (2048, 4), (4096, 4), (4096, 8)):

    def coarser(x, block=block, warps=warps):
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), block),)
        gelu_tanh_kernel[grid](x, out, x.numel(), BLOCK_SIZE=block, num_warps=warps)
        return out

    (kernel,) = facts(coarser, torch.randn(2**20, device=DEVICE))
    each = block // warps // 32
    print(f"{block} elements, {warps} warps, {each} elements per thread:", end=" ")
    print(f"{kernel.registers} registers, {kernel.vector_loads} vector loads")

# %% [markdown]
# ## The ladder, measured
#
# Five ways to the same GELU of 67 million numbers:
#
# 1. **eager**: the formula in PyTorch, nine kernels
# 2. **CUDA C++**: one kernel by hand, compiled by nvcc when you load it
# 3. **Triton**: yours
# 4. **torch.compile**: PyTorch finds the fusion itself, and writes a Triton kernel
# 5. **native**: `F.gelu`, a CUDA kernel inside PyTorch
#
# The CUDA kernel is worth reading. One *thread* computes one element. There is no tile, the mask is
# an `if`, and what the program id is for you is `blockIdx.x` here.

# %%
CUDA_SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void gelu_kernel(const float* x, float* out, int64_t n) {
    int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float u = 0.7978845608f * (v + 0.044715f * v * v * v);
        out[i] = 0.5f * v * (1.0f + tanhf(u));
    }
}

torch::Tensor gelu_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.scalar_type() == torch::kFloat);
    auto out = torch::empty_like(x);
    int64_t n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    int64_t blocks = (n + 255) / 256;
    gelu_kernel<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""


def load_cuda_gelu():
    """The CUDA kernel as a Python function, or None with one sentence why not."""
    import shutil

    from torch.utils.cpp_extension import CUDA_HOME, load_inline

    if DEVICE != "cuda" or not (CUDA_HOME or shutil.which("nvcc")):
        print("The CUDA C++ rung is left out: there is no GPU with CUDA's compiler nvcc here.")
        return None
    module = load_inline(
        name="workbook_gelu",
        cpp_sources="torch::Tensor gelu_cuda(torch::Tensor x);",
        cuda_sources=CUDA_SOURCE,
        functions=["gelu_cuda"],
    )
    return module.gelu_cuda


n_elements = 2**26 if DEVICE == "cuda" else 2**14
x = torch.randn(n_elements, device=DEVICE)

ladder = {"eager": gelu_formula}
gelu_cuda = load_cuda_gelu()
if gelu_cuda:
    ladder["CUDA C++"] = gelu_cuda
ladder["Triton"] = gelu_tanh
if DEVICE == "cuda":
    ladder["torch.compile"] = torch.compile(gelu_formula, dynamic=False)
ladder["native"] = gelu_tanh_ref

for fn in ladder.values():
    torch.testing.assert_close(fn(x), gelu_tanh_ref(x), atol=1e-5, rtol=1e-5)

rungs = bench(
    ladder,
    x,
    bytes=8 * n_elements,
    baseline="native",
    title=f"GELU of {n_elements:,} float32 elements",
    stored="gelu_ladder",
)
rungs

# %%
rungs.plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that gelu_tanh moves for 10,000 float16 elements": None,
        "ms of the nine operators, 67,108,864 float32 elements": None,
        "ms of your kernel, the same elements": None,
    },
    measured=[
        lambda: traffic(gelu_tanh, torch.randn(10_000, device=DEVICE).half()),
        lambda: time_of(rungs, "eager"),
        lambda: time_of(rungs, "Triton"),
    ],
    hints=[
        "One read and one write for each element, and 2 bytes for a float16.",
        "88 bytes for each element: five operators make two trips, four make three.",
        "8 bytes for each element, at the speed of a copy. 1 GB/s is 1,000,000 bytes in a ms.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 10,000 × (2 + 2) = 40,000.
#
# **Milliseconds**, at the 2,966 GB/s that an H100 copies. Nine operators: 67,108,864 × 88 bytes =
# 5,906 MB, so 1.99 ms. It took 1.97. One kernel: 67,108,864 × 8 = 537 MB, so 0.181 ms. It took 0.183.
#
# </details>

# %% [markdown]
# **Read the plot.** The dashed line is the floor: 8 bytes for each element at the speed of a plain
# copy. Eager takes about eleven times as long, as you predicted from the bytes. Triton, the compiler
# and the native kernel stand at the floor. Once a kernel is bound by memory and moves no byte too
# many, there is nothing left to win in it. There is only the next thing to fuse.
#
# On an H100 the CUDA kernel above reaches three quarters of that. It loads one float at a time,
# where the PTX of yours loads four, and `tanhf` computes longer than an exponential. Which of the
# two is it? Change one of them and measure: a good exercise in CUDA C++.
#
# Does the size of the tile matter? The next plot runs your kernel with tiles of several sizes.

# %%
from tritonbook.timing import bench_sweep


def with_block(block):
    grid = (triton.cdiv(n_elements, block),)
    out = torch.empty_like(x)
    run = gelu_tanh_kernel[grid]
    return {
        "fns": {
            f"{warps} warps": lambda warps=warps: run(
                x, out, n_elements, BLOCK_SIZE=block, num_warps=warps
            )
            for warps in (4, 8)
        },
        "bytes": 8 * n_elements,
    }


tiles = bench_sweep(
    "BLOCK_SIZE",
    [256, 512, 1024, 2048, 4096, 8192] if DEVICE == "cuda" else [1024, 2048],
    with_block,
    title=f"GELU of {n_elements:,} float32 elements: how large a tile?",
    stored="gelu_tiles",
)
tiles.plot()

# %% [markdown]
# ## When it goes wrong
#
# Kernels fail in ways that Python does not. Two tools help most.
#
# **The interpreter.** With `TRITON_INTERPRET=1` a kernel runs as plain Python, one program after
# another. You may put `print` and `breakpoint()` into it and look at whole tiles. It is what this
# notebook uses when there is no GPU. Take it away again before you compile.
#
# **CUDA_LAUNCH_BLOCKING=1.** A launch returns at once, so an illegal memory access is reported by
# some innocent line later on. With this variable, set before Python starts, every launch waits for
# its kernel, and the traceback points at the right line. It makes everything slow, so take it away
# as well.
#
# ```bash
# CUDA_LAUNCH_BLOCKING=1 python my_script.py     # which launch fails?
# TRITON_INTERPRET=1 python my_script.py         # which element goes wrong?
# compute-sanitizer python my_script.py          # which address is out of bounds?
# ```
#
# ## Stretch: backward
#
# Training needs the derivative. With $s = \sigma(2u)$ GELU is $x\,s$, and the product rule gives
#
# $$\frac{d}{dx}\,x\,s = s + x\,s\,(1 - s) \cdot 2\,\frac{du}{dx}, \qquad
# \frac{du}{dx} = \sqrt{2/\pi}\,\bigl(1 + 3 \cdot 0.044715\,x^2\bigr)$$
#
# Your kernel gets `dy`, the gradient of the output, and returns `dx`: `dy` times that. It computes
# `u` and `s` again from `x` instead of storing them in the forward pass. Arithmetic is cheaper than
# memory. You will meet this trick again in flash attention.

# %% tags=["answer", "stretch"] key="gelu_backward"
@triton.jit
def gelu_backward_kernel(dy_ptr, x_ptr, dx_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """dx = dy (s + x s (1 - s) 2 du/dx), s = sigmoid(2u).

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    # TODO: two loads in float32, s, du/dx, the derivative, store (about 7 lines)
    ### BEGIN SOLUTION
    dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32)
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    s = tl.sigmoid(2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))
    du = SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)
    dx = dy * (s + x * s * (1 - s) * 2 * du)

    tl.store(dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def gelu_backward(dy, x):
    """Gradient of GELU (tanh form) with respect to x; dy and x contiguous, of one shape."""
    require_contiguous(x)
    require_contiguous(dy)
    if dy.shape != x.shape:
        raise ValueError("dy and x must have one shape")
    dx = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    gelu_backward_kernel[grid](dy, x, dx, n_elements, BLOCK_SIZE=1024)
    return dx

# %% [markdown] tags=["hint"] key="gelu_backward"
# #### Hints for gelu_backward
#
# <details><summary>Hint 1: a question</summary>
#
# For large x, GELU is x itself. What must the derivative be there? And for very negative x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Compute `s` first, then `du`, then put them together. Each is one line.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# s = tl.sigmoid(2 * ...)
# du = SQRT_2_OVER_PI * (1 + ...)
# dx = dy * (... + x * ... * (1 - ...) * 2 * ...)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="gelu_backward" points=0
check(gelu_backward)

# %% [markdown]
# ## Recap
#
# - Each PyTorch operator is a trip through memory. Fusion keeps the values between in registers.
# - Count bytes before you write a kernel, and after: 88 against 8 for each element here.
# - Load, `.to(tl.float32)`, compute, cast at the store.
# - Choose the form of a formula that cannot overflow. tanh through the sigmoid is one.
# - 16-byte loads come when addresses and sizes are divisible by 16. An odd size loses them.
#
# <details><summary>Common mistakes</summary>
#
# - `(e^{2u} - 1) / (e^{2u} + 1)`: NaN for large x, and no test with small numbers shows it.
# - The erf form of GELU where the tanh form is asked. They differ by up to 0.0005, enough to fail
#   a comparison with another model's weights.
# - A bias indexed with the row, or with the position in the flattened matrix.
# - One stride used for two tensors. It works until somebody passes a slice.
#
# </details>
#
# Next: [04_softmax](04_softmax.ipynb), where a program needs a whole row before it can write any
# of it.

# %%
progress()
