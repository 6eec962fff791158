# ---
# workbook:
#   title: GELU and fusion
#   minutes: 60
#   stretch: 20
#   needs: interpreter
#   requires: [01_vector_add, 02_measure]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - turn nine operators into one kernel, and say beforehand what that saves
#     - compute in float32 whatever the tensors hold, and keep large inputs from becoming NaN
#     - predict the bytes and milliseconds of a fused kernel
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# GELU is the activation between the two matrix products of a transformer's MLP. Its common form is
#
# $$\mathrm{gelu}(x) = \tfrac12\,x\,\bigl(1 + \tanh u\bigr), \qquad
# u = \sqrt{2/\pi}\,\bigl(x + 0.044715\,x^3\bigr)$$
#
# Write that in PyTorch, and each `*`, `+` and `tanh` becomes an operator of its own. PyTorch's
# tracer lists them.


# %%
def gelu_formula(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


graph = torch.fx.symbolic_trace(gelu_formula).graph
[node.name for node in graph.nodes if node.op == "call_function"]

# %% [markdown]
# Nine operators, one after another. Each reads a tensor or two from memory and writes one
# back.

# %%
pictures("gelu_fusion").draw_fusion()

# %% [markdown]
# Four operators read two tensors, so nine move (13 + 9) × 4 = 88 bytes for each element. One kernel
# moves 8. The arithmetic is the same, and it is cheap. Putting all steps into one kernel is called
# **fusion**. The values between them stay in *registers*, the small and fast memory in which a
# thread computes. You may hope for 88 / 8 = 11 times the speed.
#
# ## A smaller kernel first
#
# This kernel computes $\mathrm{relu}(x) = \max(x, 0)$. Between load and store you compute with
# whole tiles, as if they were numbers.
#
# - `.to(tl.float32)` converts a tile.
# - `tl.maximum(a, b)` compares element by element. (`tl.max` is another function: it reduces a whole
#   tile to one number.) Of NaN and 0 it takes 0, where PyTorch's `relu` keeps the NaN.
# - `tl.store` converts to the dtype of the output by itself.


# %%
@triton.jit
def relu_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = max(x, 0).

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    out = tl.maximum(x, 0.0)

    tl.store(out_ptr + offs, out, mask=mask)


def relu(x):
    out = torch.empty_like(x)
    n_elements = x.numel()
    grid = (triton.cdiv(n_elements, 1024),)
    relu_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)
    return out


relu(torch.arange(-2.0, 3.0, device=DEVICE, dtype=torch.float16))

# %% [markdown]
# The tensor holds float16, yet the kernel computes in float32. This is the **house rule** of the
# workbook: load, `.to(tl.float32)`, compute, store. It costs nothing, because the values travel
# through memory in 2 bytes all the same. And it saves you from three troubles: results rounded at
# each step, squares above 65,504 that become infinite, and `tl.exp`, which the compiler refuses for
# float16 and for *bfloat16* (2 bytes too, with the range of float32 but fewer digits). Both are
# called *half precision*.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` of `silu`, `gelu_tanh` | any, contiguous | floating | input, never changed |
# | `x` of `bias_gelu` | `[M, N]`, any strides | floating | input |
# | `bias` | `[N]`, any stride | as `x` | input |
# | result | as `x` | as `x` | new, contiguous |
#
# Inputs may be large, as ±10,000. The given wrappers refuse what does not fit. One launch. A kernel loads and
# stores each element once, and computes in float32, not in float64.

# %% tags=["reference"]
import torch.nn.functional as F

SQRT_2_OVER_PI = tl.constexpr(0.7978845608028654)  # a constant that kernels can see


def silu_ref(x):
    return F.silu(x)


def gelu_tanh_ref(x):
    return F.gelu(x, approximate="tanh")


def bias_gelu_ref(x, bias):
    return F.gelu(x + bias, approximate="tanh")


def require_contiguous(x):
    """Raise ValueError unless the elements of x lie side by side in memory."""
    if not x.is_contiguous():
        raise ValueError("x must be contiguous")


# %% [markdown]
# ## Task 1. SiLU
#
# $\mathrm{silu}(x) = x\,\sigma(x)$ with the sigmoid $\sigma(x) = 1 / (1 + e^{-x})$. About 3 lines:
# load, compute, store. `tl.sigmoid` gives σ of a float32 tile.
#
# For x = -10,000 the exponential $e^{-x}$ is infinite,
# and $1 / (1 + \infty) = 0$ is still right. The form $x\,e^x / (1 + e^x)$ looks the same on paper.
# For x = +10,000 it is $\infty / \infty$: NaN.


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

    # TODO: load, compute in float32, store (about 3 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)

    out = x * tl.sigmoid(x)

    tl.store(out_ptr + offs, out, mask=mask)
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
# Which lines of `relu_kernel` can you keep as they are? Only one step changes.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.sigmoid` wants float32. Did you convert after the load?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# One line that loads and converts, one line of arithmetic, one line that stores. Load and store
# both need the offsets and the mask that stand above the gap.
#
# </details>

# %% tags=["check"] key="silu" points=3
check(silu)

# %% [markdown]
# ## Task 2. GELU
#
# Now the whole formula in one kernel, about 4 lines. There is one obstacle: Triton has no
# `tl.tanh`. The textbook way out is $\tanh u = (e^{2u} - 1) / (e^{2u} + 1)$. Try it on paper with
# u = 100 in float32, where everything above $3.4 \cdot 10^{38}$ is infinite. You know the ending
# from Task 1.
#
# There is a way that stays finite: $\tanh u = 2\,\sigma(2u) - 1$. Put that into
# $\tfrac12\,x\,(1 + \tanh u)$.
#
# `SQRT_2_OVER_PI` is defined for you. A kernel sees a name from outside only if it is a
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

    tl.store(out_ptr + offs, out, mask=mask)
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
# $1 + \tanh u = 2\,\sigma(2u)$, so the 2 and the ½ cancel: GELU has the form of SiLU, with another
# argument in the sigmoid. Mind the cube: there is no `x ** 3` in a kernel, so multiply.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = ...
#
# u = SQRT_2_OVER_PI * (...)
# out = x * tl.sigmoid(...)
#
# ...
# ```
#
# </details>

# %% tags=["check"] key="gelu_tanh" points=4
check(gelu_tanh)

# %% [markdown]
# ## Task 3. Bias and GELU together
#
# In the MLP a bias is added just before the activation: $\mathrm{gelu}(x_{mn} + b_n)$. As an
# operator it would read and write a whole tensor once more. In your kernel it costs one more load.
#
# Now `x` is a matrix, and it may have gaps between its rows, as the slice of a larger one does, or
# be transposed. So the kernel gets *strides*, the distances in memory between neighbours: element
# `[m, n]` lies at `x_ptr + m * stride_xm + n * stride_xn`. Each tensor has its own.
#
# One program takes one tile of one row. The grid has two axes: `pid_m` is the row, `pid_n` the tile
# within it. About 9 lines. (What the card may say of more than `2**31` elements waits for page 04.)


# %% tags=["answer"] key="bias_gelu"
@triton.jit
def bias_gelu_kernel(
    x_ptr,
    bias_ptr,
    out_ptr,
    N,
    stride_xm,
    stride_xn,
    stride_bn,
    stride_om,
    stride_on,
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
    tl.store(out_ptrs, out, mask=mask_n)
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
# The arithmetic is that of Task 2. The address of the bias knows nothing of `pid_m`. The mask
# concerns columns only, because the grid has exactly M rows.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_n = ...  # the columns of this program
# mask_n = ...
#
# x = ...  # row pid_m, with the strides of x
# bias = ...  # one stride
#
# ...  # as in Task 2
#
# tl.store(...)  # row pid_m, with the strides of out
# ```
#
# </details>

# %% tags=["check"] key="bias_gelu" points=5
check(bias_gelu)

# %% [markdown]
# ## What the compiler made of it
#
# You need no GPU to see the machine code: `facts` compiles the kernel for an A100 (sm_80) and reads
# the result. Look at three of its rows; the others come later.
#
# - **registers per thread.** With 1,024 elements and 4 warps, a thread has 8 elements to hold. Programs
#   that run on one processor of the GPU share its registers: fewer for each leave room for more programs.
# - **spilled to memory**: values that found no register. There should be none.
# - **loads.** One instruction of a thread fetches up to 16 bytes, here four float32 that lie side by
#   side: a *vector* load. Its 8 elements take two.

# %%
facts(gelu_tanh, torch.randn(2**20, device=DEVICE))

# %% [markdown]
# **Predict.** Now one element more: 1,048,577. Triton looks at each integer that you pass. If 16
# divides it, Triton compiles the kernel with that knowledge; if not, without it. A mask that may end
# anywhere cannot guard four elements at once. What happens to the vector loads?

# %%
facts(gelu_tanh, torch.randn(2**20 + 1, device=DEVICE))

# %% [markdown]
# They are gone: the 8 elements of a thread take 8 loads instead of 2.
#
# ## The ladder, measured
#
# **eager** is the formula in PyTorch. **torch.compile** finds the fusion itself and writes a Triton
# kernel. **native** is `F.gelu`, a CUDA kernel inside PyTorch. The cell takes some seconds, and shows
# nothing yet.

# %%
n_elements = 2**26 if DEVICE == "cuda" else 2**10
x = torch.randn(n_elements, device=DEVICE)

rungs = bench(
    {
        "eager": gelu_formula,
        "Triton": gelu_tanh,
        "torch.compile": torch.compile(gelu_formula, dynamic=False),
        "native": gelu_tanh_ref,
    },
    x,
    bytes=8 * n_elements,
    baseline="native",
    title=f"GELU of {n_elements:,} float32 elements",
    stored="gelu_ladder",
)

# %% [markdown]
# Guess before you look. An H200 copies about 4,150 GB/s, an A100 about 1,400.

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
        "88 bytes for each element: 13 tensors read, 9 written.",
        "8 bytes for each element, at the speed of a copy. 1 GB/s is 1,000,000 bytes in a ms.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 10,000 × (2 + 2) = 40,000.
#
# **Milliseconds**, at the 4,145 GB/s that an H200 copies. Nine operators: 67,108,864 × 88 bytes =
# 5,906 MB, so 1.42 ms. It took 1.40. One kernel: 67,108,864 × 8 = 537 MB, so 0.130 ms. It took 0.132.
#
# </details>

# %%
rungs

# %%
rungs.plot()

# %% [markdown]
# **Read it.** The dashed line is the floor: 8 bytes for each element at the speed of a plain copy.
# Eager takes about eleven times as long, as you counted. Triton, torch.compile and native stand at
# the floor.
#
# <details><summary>The same kernel in CUDA C++</summary>
#
# One *thread* computes one element. There is no tile, the mask is an `if`, and what the program id is
# for you is `blockIdx.x` here.
#
# ```cpp
# __global__ void gelu_kernel(const float* x, float* out, int64_t n) {
#     int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
#     if (i < n) {
#         float v = x[i];
#         float u = 0.7978845608f * (v + 0.044715f * v * v * v);
#         out[i] = 0.5f * v * (1.0f + tanhf(u));
#     }
# }
# ```
#
# With blocks of 256 threads it took another GPU, an H100, 0.238 ms, where the Triton kernel took 0.183:
# measured beside this page. It loads one float at a time, where yours loads four, and `tanhf` computes
# longer than an exponential. How much each of them costs was not measured.
#
# </details>
#
# **How large a tile, how many warps?** On an H100 tiles of 256 to 8,192 elements, on 4 or 8 warps, are
# within about two per cent of each other wherever a thread has four elements to load at once. So start
# with 1,024 elements and 4 warps. Page 22 lets Triton search.
#
# <details><summary>When a kernel goes wrong: three tools</summary>
#
# - **Which element goes wrong?** With `TRITON_INTERPRET=1` a kernel runs as plain Python, one program
#   after another, and may hold `breakpoint()` as well as `print`. Without a GPU this page does that.
# - **Which launch fails?** A launch returns at once, so an illegal memory access is reported by some
#   innocent line later on. With `CUDA_LAUNCH_BLOCKING=1` every launch waits for its kernel.
# - **Which address?** `compute-sanitizer python my_script.py`.
#
# Set the variables before Python starts, and take them away again: both make everything slow.
#
# </details>
#
# ## Stretch: backward
#
# Training needs the derivative. With $s = \sigma(2u)$ GELU is $x\,s$, and the product rule gives
#
# $$\frac{d}{dx}\,x\,s = s + x\,s\,(1 - s) \cdot 2\,\frac{du}{dx}, \qquad
# \frac{du}{dx} = \sqrt{2/\pi}\,\bigl(1 + 3 \cdot 0.044715\,x^2\bigr)$$
#
# Your kernel gets `dy`, the gradient of the output, and returns `dx`: `dy` times that. It computes
# `u` and `s` again from `x` instead of storing them in the forward pass: arithmetic is cheaper than
# memory.


# %% tags=["reference"]
def gelu_backward_ref(dy, x):
    return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")


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

    tl.store(dx_ptr + offs, dx, mask=mask)
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
# `s` holds the u of Task 2. For `du` the polynomial is differentiated: what becomes of $x^3$? Then
# put both into the product rule. `dy` multiplies the whole sum.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# s = tl.sigmoid(...)
# du = SQRT_2_OVER_PI * (...)
# dx = dy * (... + ...)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="gelu_backward" points=0
check(gelu_backward)

# %% [markdown]
# ## Recap
#
# - Each PyTorch operator reads and writes whole tensors. Fusion keeps the values between in registers.
# - Count bytes before you write a kernel, and after: 88 against 8 for each element here.
# - Choose the form of a formula that cannot overflow. tanh through the sigmoid is one.
# - 16-byte loads come when addresses and sizes are divisible by 16. An odd size loses them.
#
# <details><summary>Common mistakes</summary>
#
# - `(e^{2u} - 1) / (e^{2u} + 1)`: NaN for large x, and no test with small numbers shows it.
# - PyTorch's default GELU, made with the function erf, where the tanh form is asked. They differ by up to
#   0.0005, enough to fail a comparison with another model's weights.
# - A bias indexed with the row, or with the position in the flattened matrix.
# - One stride used for two tensors. It works until somebody passes a slice.
#
# </details>
#
# Next: [04_softmax](04_softmax.ipynb), where a program needs a whole row before it can write any
# of it.

# %%
progress()
