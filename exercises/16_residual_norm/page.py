# ---
# workbook:
#   title: Residual and RMSNorm in one pass
#   minutes: 45
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - count the bytes of neighbouring kernels, before and after they become one
#     - add a residual, round the sum, and normalise exactly what was rounded
#     - hand a row on as int8 with a scale of its own, while it is still in registers
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A layer of Llama is two halves, attention and MLP. What a half computes, x, is added to what came into
# it. The sum runs through the whole model, from half to half. It is called the **residual**. Before each
# half the residual is normalised:
#
# $$s = x + \mathrm{residual}, \qquad y = \mathrm{RMSNorm}(s)$$
#
# y goes into the next product. s is the next half's residual. A model whose products are of int8 numbers
# does a third thing: it rounds each row of y to whole numbers q and one scale (the page's second half).
#
# None of the three computes much. Their time is bytes. As three kernels they write s to memory and read
# it back, then y. In one kernel the row stays in registers. The picture counts the bytes of one element
# in bfloat16.

# %%
pictures("residual_norm").draw_bytes()

# %% [markdown]
# ## A smaller kernel first: what does a sum become?
#
# This kernel adds. The new word is `s_ptr.dtype.element_ty`, the dtype of what `s_ptr` points at. A store
# rounds to this dtype by itself. Here the kernel does it before, so that it holds in its hands what
# memory will hold.


# %%
@triton.jit
def add_kernel(x_ptr, residual_ptr, s_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """s = x + residual, in float32, rounded once.

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    residual = tl.load(residual_ptr + offs, mask=mask).to(tl.float32)
    s = (x + residual).to(s_ptr.dtype.element_ty)
    tl.store(s_ptr + offs, s, mask=mask)


def add(x, residual):
    s = torch.empty_like(x)
    grid = (triton.cdiv(s.numel(), 1024),)
    add_kernel[grid](x, residual, s, s.numel(), BLOCK_SIZE=1024)
    return s


residual = torch.full((5,), 256.0, dtype=torch.bfloat16, device=DEVICE)
x = torch.tensor([0.5, 0.75, 1.25, 2.0, 3.5], dtype=torch.bfloat16, device=DEVICE)
exact = x.float() + residual.float()
for total, s in zip(exact.tolist(), add(x, residual).tolist(), strict=True):
    print(f"{total} is stored as {s}")

# %% [markdown]
# bfloat16 has 8 binary digits. From 256 on, neighbours are 2 apart: the first two additions are lost.
#
# So there are two sums: the exact one, for a moment, in registers, and the rounded one, which lasts.
# Which of them should be normalised?
#
# - *The exact one* has more digits.
# - *The rounded one* is what the next half gets as its residual, and what a backward pass will find in
#   memory. It is also what the two kernels one after the other would normalise.
#
# We take the rounded one: making one kernel of two must not change what is computed. vLLM's and
# Liger-Kernel's kernels do the same. `torch.compile` may take the exact one.
#
# **Predict.** How large is the difference in y, for bfloat16?
#
# <details><summary>Answer</summary>
#
# Rounding moves an element of s by 1 part in 256 at most, and y as much. y is rounded too. So a number of
# y may change by one in its last digit. A check with a loose tolerance cannot see it. This page's can.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed |
# | `residual` | as `x`, any strides | as `x` | input, never changed |
# | `w` | (N,), contiguous | floating | weight; N is at most 16,384 |
# | `eps` | | float | inside the root |
# | `y` | as `x`, contiguous | as `x` | new: RMSNorm of `s` |
# | `s` | as `x`, contiguous | as `x` | new: x + residual |
#
# - The result is the tuple `(y, s)`.
# - s is the sum in float32, rounded once. y is the norm **of this rounded s**, computed in float32, and
#   rounded once too.
# - Nothing is changed in place. (vLLM's kernel writes y over x and s over the residual. It moves as many
#   bytes.)
# - One launch, with one program for each row. x and residual are read once; s is not read back.

# %% tags=["reference"]
def add_rmsnorm_ref(x, residual, w, eps):
    s = x + residual
    y = s * torch.rsqrt(s.pow(2).mean(dim=-1, keepdim=True) + eps) * w
    return y.to(x.dtype), s


def require_rows(x, residual, w):
    """Raise ValueError unless residual is like x, and w a contiguous vector as long as a row."""
    if residual.shape != x.shape or residual.dtype != x.dtype:
        raise ValueError(f"residual must be {x.dtype} with shape {tuple(x.shape)}")
    if w.shape != x.shape[-1:] or not w.is_contiguous() or len(w) > 16384:
        raise ValueError(f"w must be contiguous with shape {tuple(x.shape[-1:])}, 16384 at most")


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 10, at most 16."""
    return min(max(block // 512, 1), 16)

# %% [markdown]
# ## Task 1. Add, round, normalise
#
# Addresses, mask and weight are given. `out` are the places of this row in `y` and in `s`, which are both
# contiguous. Fill the gap, about 8 lines: load both inputs, add, round, store s, and go on in float32 with
# what was stored.

# %% tags=["answer"] key="add_rmsnorm"
@triton.jit
def add_rmsnorm_kernel(
    x_ptr, residual_ptr, w_ptr, y_ptr, s_ptr,
    N,
    stride_xm, stride_xn,
    stride_rm, stride_rn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """s = x + residual; y = s / sqrt(mean(s^2) + eps) * w for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N and contiguous y and s.
    """
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    residual_ptrs = residual_ptr + row * stride_rm + offs_n * stride_rn
    out = row * N + offs_n

    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    # TODO: both inputs, s, its store; the norm of what was stored (about 8 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    s = (x + residual).to(s_ptr.dtype.element_ty)
    tl.store(s_ptr + out, s, mask=mask_n)

    s = s.to(tl.float32)
    mean_square = tl.sum(s * s, axis=0) / N
    y = s * tl.rsqrt(mean_square + eps) * w
    tl.store(y_ptr + out, y, mask=mask_n)
    ### END SOLUTION


def add_rmsnorm(x, residual, w, eps=1e-6):
    """(y, s): s = x + residual, y = RMSNorm of s; x and residual [..., N], w [N]."""
    require_rows(x, residual, w)
    N = x.shape[-1]
    y, s = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in range(2))
    x_rows, r_rows = x.reshape(-1, N), residual.reshape(-1, N)
    BLOCK_N = triton.next_power_of_2(N)
    add_rmsnorm_kernel[(x_rows.shape[0],)](
        x_rows, r_rows, w, y, s, N, *x_rows.stride(), *r_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return y, s

# %% [markdown] tags=["hint"] key="add_rmsnorm"
# #### Hints for add_rmsnorm
#
# <details><summary>Hint 1: a question</summary>
#
# In which dtype is the addition, in which is the store, and in which is the sum of squares? Where does s
# change from one to the other, and back?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The first half is `add_kernel`, above. The second is `rmsnorm_row_kernel` of page 10, with s for x.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # x and residual, both to float32
# s = (...).to(...)  # the dtype of memory
# # store s
# s = s.to(...)  # its rounded values
# mean_square = ...
# y = ...
# # store y
# ```
#
# </details>

# %% tags=["check"] key="add_rmsnorm" points=5
check(add_rmsnorm)

# %% [markdown]
# Here is your kernel beside the two that it replaces: page 10's, after `add`. The bytes are those that
# the programs ask for.

# %%
rmsnorm_row = mine("rmsnorm_row", quiet=True)


def two_launches(x, residual, w):
    s = add(x, residual)
    return rmsnorm_row(s, w), s


x, residual = torch.randn(2, 8, 1000, device=DEVICE).bfloat16().unbind(0)
w = torch.randn(1000, device=DEVICE).bfloat16()
differ = (add_rmsnorm(x, residual, w)[0] != two_launches(x, residual, w)[0]).sum()
print(f"{int(differ)} of {x.numel()} results differ from those of two launches")
traffic(add_rmsnorm, x, residual, w)

# %% [markdown]
# ## int8 on the way out
#
# To **quantise** a row is to write it as $y_n \approx c\,q_n$ with whole numbers q and one **scale** c.
# An int8 goes from -128 to 127. With
#
# $$c = \max_n |y_n| \; / \; 127$$
#
# the largest number becomes 127 or -127, and all others fit. A product of two such matrices is then a
# product of integers (page 51).
#
# The scale is a maximum over the row of y. y depends on the sum over the row of s. So there are two
# reductions, one after the other, before the first q. That sounds like a third pass, and is none: all of
# the row is in registers.
#
# Three functions that you need: `tl.abs(y)`, the size of each number; `tl.max(y, axis=0)`; and
# `tl.floor(v)`, the next whole number below. `.to(tl.int8)` alone cuts off what is behind the point:
# 26.7 becomes 26, and -26.7 becomes -26. The nearest whole number is `tl.floor(v + 0.5)`.
#
# ## Task 2. One pass, int8 out
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x`, `residual`, `w`, `eps` | as before | | finite numbers |
# | `q` | as `x`, contiguous | int8 | new: y / scale, rounded to the nearest |
# | `scales` | as `x` without its last dimension | float32 | new: max abs(y) / 127 of each row |
# | `s` | as `x`, contiguous | as `x` | new: x + residual, as before |
#
# - The result is the tuple `(q, scales, s)`.
# - y is the norm of the rounded s, in float32. It is **not** rounded to the dtype of x before it is
#   quantised.
# - A row whose y is all zeros has the scale 1.
# - Halfway between two whole numbers, either is right. (`tl.floor(v + 0.5)` takes the upper one,
#   `torch.round` the even one.)
# - One launch, one program for each row. x and residual are read once; nothing is read back.
#
# The gap has about 12 lines. The first seven are those of Task 1.

# %% tags=["answer"] key="add_rmsnorm_int8"
@triton.jit
def add_rmsnorm_int8_kernel(
    x_ptr, residual_ptr, w_ptr, q_ptr, scales_ptr, s_ptr,
    N,
    stride_xm, stride_xn,
    stride_rm, stride_rn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """s = x + residual; y = RMSNorm(s); scale = max |y| / 127, or 1; q = y / scale.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N and contiguous q, scales and s.
    """
    row = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    residual_ptrs = residual_ptr + row * stride_rm + offs_n * stride_rn
    out = row * N + offs_n

    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    # TODO: s and y as in Task 1; the scale, q, and three stores (about 12 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    s = (x + residual).to(s_ptr.dtype.element_ty)
    tl.store(s_ptr + out, s, mask=mask_n)

    s = s.to(tl.float32)
    mean_square = tl.sum(s * s, axis=0) / N
    y = s * tl.rsqrt(mean_square + eps) * w

    largest = tl.max(tl.abs(y), axis=0)
    scale = tl.where(largest > 0, largest / 127, 1.0)
    q = tl.floor(y / scale + 0.5)
    tl.store(q_ptr + out, q.to(tl.int8), mask=mask_n)
    tl.store(scales_ptr + row, scale)
    ### END SOLUTION


def add_rmsnorm_int8(x, residual, w, eps=1e-6):
    """(q, scales, s): RMSNorm of s = x + residual is about scales[..., None] * q."""
    require_rows(x, residual, w)
    N = x.shape[-1]
    q = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    scales = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device)
    s = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, r_rows = x.reshape(-1, N), residual.reshape(-1, N)
    BLOCK_N = triton.next_power_of_2(N)
    add_rmsnorm_int8_kernel[(x_rows.shape[0],)](
        x_rows, r_rows, w, q, scales, s, N, *x_rows.stride(), *r_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return q, scales, s

# %% [markdown] tags=["hint"] key="add_rmsnorm_int8"
# #### Hints for add_rmsnorm_int8
#
# <details><summary>Hint 1: a question</summary>
#
# How many scales does one program store, and where? What would 0 / 0 be, and in which rows does it lurk?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.where(condition, a, b)` takes single numbers too. Masked lanes of y are 0, since w is 0 there: they
# change neither the sum nor the maximum.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # seven lines of Task 1, up to y
# largest = ...  # of the sizes
# scale = tl.where(..., ..., 1.0)
# q = ...  # a whole number of steps, still float32
# # store q as int8
# # store the scale: one number, at this row's place
# ```
#
# </details>

# %% tags=["check"] key="add_rmsnorm_int8" points=5
check(add_rmsnorm_int8)

# %% [markdown]
# What does int8 cost? Here is the error of scale times q, for normal rows, and for rows in which one
# number is 100 times as large as the others.

# %%
x, residual = torch.randn(2, 8, 1000, device=DEVICE).unbind(0)
for name, first in (("normal", 1.0), ("one outlier", 100.0)):
    x[:, 0] *= first
    y, _ = add_rmsnorm(x, residual, torch.ones(1000, device=DEVICE))
    q, scales, _ = add_rmsnorm_int8(x, residual, torch.ones(1000, device=DEVICE))
    error = (scales[:, None] * q - y)[:, 1:].norm() / y[:, 1:].norm()
    print(f"{name:12} error of the other numbers: {error:.1%}")

# %% [markdown]
# The scale follows the largest number. What is small beside it is left with few steps.
#
# ## Predict, then measure
#
# The next cell times 16,384 rows of 4,096 in bfloat16, and shows nothing yet. *torch* is
# `x + residual`, then `rms_norm`. The int8 rows begin with two or three launches that do the same: `add`,
# page 10's `rmsnorm_row`, and page 51's `quantize_rows`.

# %%
M, N = (16384, 4096) if DEVICE == "cuda" else (4, 64)  # small, unless a GPU runs it
x, residual = torch.randn(2, M, N, device=DEVICE).bfloat16().unbind(0)
w = torch.randn(N, device=DEVICE).bfloat16()
quantize_rows = reference("quantize_rows")


def torch_add_rmsnorm(x, residual, w):
    s = x + residual
    return torch.nn.functional.rms_norm(s, w.shape, w, 1e-6), s


def three_launches(x, residual, w):
    y, s = two_launches(x, residual, w)
    return *quantize_rows(y), s


def norm_then_int8(x, residual, w):
    y, s = add_rmsnorm(x, residual, w)
    return *quantize_rows(y), s


ways = {"torch": torch_add_rmsnorm, "two launches": two_launches, "add_rmsnorm": add_rmsnorm}
ways_int8 = {
    "three launches": three_launches,
    "add_rmsnorm, then int8": norm_then_int8,
    "add_rmsnorm_int8": add_rmsnorm_int8,
}
timed = bench(
    ways, x, residual, w, bytes=8 * M * N, baseline="torch", stored="residual_norm",
    title="Sum and norm of 16,384 rows of 4,096, bfloat16",
)  # fmt: skip
timed_int8 = bench(
    ways_int8, x, residual, w,
    bytes=7 * M * N, baseline="three launches", stored="residual_norm_int8",
    title="Sum, norm and int8 of 16,384 rows of 4,096",
)  # fmt: skip
ones = torch.ones(1024, device=DEVICE, dtype=torch.bfloat16)
small = (*torch.randn(2, 8, 1024, device=DEVICE).bfloat16(), ones)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes that two_launches asks for, 8 x 1024 in bfloat16": None,
        "bytes that add_rmsnorm asks for": None,
        "bytes that add_rmsnorm_int8 asks for": None,
    },
    measured=[
        lambda: traffic(two_launches, *small),
        lambda: traffic(add_rmsnorm, *small),
        lambda: traffic(add_rmsnorm_int8, *small),
    ],
    hints=[
        "x and residual in, s out; s in, y out. And w, 2 bytes an element, for each of 8 rows.",
        "Who reads s now?",
        "y is 1 byte now, and is called q. One scale of 4 bytes for each row.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# There are 8,192 elements. w is asked for by 8 programs, 2,048 bytes each: 16,384.
#
# **Two launches.** 6 bytes an element to add, 4 to normalise: 81,920, and w: 98,304.
#
# **add_rmsnorm.** 8 bytes an element: 65,536, and w: 81,920.
#
# **add_rmsnorm_int8.** 2 + 2 in, 2 + 1 out: 57,344. With w and 8 scales 73,760.
#
# </details>

# %%
timed

# %%
timed_int8

# %% [markdown]
# **Read it.** If bytes are all that counts, one launch is 10 / 8 = 1.25 times as fast as two in the first
# table. In the second, three launches move 13 bytes an element, two 8 + 3 = 11, and one 7: up to 1.86 times
# as fast. (`quantize_rows` walks through its row twice, but finds it in the cache the second time.) Where
# the times gain less than the bytes, something besides bytes takes time. GB/s is computed from the least
# bytes of the task, so a row near the ceiling has nothing left to gain.
#
# ## Recap
#
# - Neighbouring kernels over the same rows meet in memory. In one kernel they meet in registers.
# - Count bytes an element before you write anything: 10 become 8, and 13 become 7.
# - Say which value is normalised: the one in registers, or the one in memory. Round first, then go on with
#   what was rounded.
# - Two reductions over a row that is in registers are still one pass.
#
# <details><summary>Common mistakes</summary>
#
# - Normalising x, and adding the residual afterwards.
# - Reading s back in the same kernel: nobody has promised that another thread's store has arrived.
# - A scale of 0 for a row of zeros.
# - A scale from max(y) instead of max |y|.
# - Cutting instead of rounding: an error of up to one step instead of half of one.
#
# </details>
#
# Next: [20_matmul](20_matmul.ipynb), where a tile is used more than once.

# %%
progress()
