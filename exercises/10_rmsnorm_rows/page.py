# ---
# workbook:
#   title: RMSNorm, a program per row
#   minutes: 50
#   needs: interpreter
#   requires: [01_vector_add]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - reduce a row to one number inside a program, with the mask in the right place
#     - walk through rows by their strides, whatever the memory looks like
#     - handle rows that are too long for one tile, and say what the second pass costs
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
# Every layer of Llama begins with RMSNorm. It takes a row of numbers, one token's features, and
# scales it so that its mean square is one. Then it multiplies by a learned weight:
#
# $$y_n = \frac{x_n}{\sqrt{\frac{1}{N}\sum_k x_k^2 + \varepsilon}} \cdot w_n$$
#
# The root is taken over a whole row. So the programs can no longer be cut as you please: somebody
# has to see all of a row before anybody can write one element of it. *How the rows are divided among
# programs* is the subject of this notebook and the next. There are four schemes:
#
# 1. one program per row, the whole row in one tile (here, Task 1),
# 2. one program per row, the row in several tiles (here, Task 2),
# 3. several programs per row (notebook 11),
# 4. several rows per program (notebook 11).
#
# In the picture 4 rows of 10 elements go to 4 programs. The tile is 16 wide, since it must be a
# power of two. Six of its lanes are masked.

# %%
from tritonbook.seeing.pictures import draw_rows

draw_rows(M=4, N=10, block=16, scheme="row")

# %% [markdown]
# ## A smaller kernel first
#
# This kernel sums each row. Three things in it are new:
#
# - The address of a row is `x_ptr + row * stride_xm`. The stride is how far apart two rows lie in
#   memory. For a matrix that was cut out of a larger one it is *not* the row's length.
# - `other=0.0` says what the masked lanes hold. They take part in the sum, so they must hold
#   something that a sum does not notice. Without `other` they hold anything at all.
# - `tl.sum(x, axis=0)` turns a tile into one number.


# %%
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, N, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """out[m] = sum over n of x[m, n].

    One program = one row.
    Assumes BLOCK_N >= N.
    """
    row = tl.program_id(0)

    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0)

    total = tl.sum(x.to(tl.float32), axis=0)

    tl.store(out_ptr + row, total)


def row_sum(x):
    M, N = x.shape
    out = torch.empty(M, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    row_sum_kernel[(M,)](x, out, N, *x.stride(), BLOCK_N=BLOCK_N)
    return out


x = torch.arange(40.0, device=DEVICE).reshape(4, 10)
row_sum(x), row_sum(x[:, :3])  # the second has 3 columns, and rows that lie 10 apart

# %%
show_tiles(row_sum, x[:, :3])

# %% [markdown]
# **Predict.** The mean square of a row of 10 elements is computed in a tile of 16 lanes. You sum
# the squares of all 16 lanes and divide. By 10 or by 16?
#
# <details><summary>Answer</summary>
#
# By 10, the number of elements. The six masked lanes hold 0 and add nothing to the sum, but they
# are no elements. Dividing by `BLOCK_N` is the most common mistake here, and with rows of 16, 32 or
# 64 it stays hidden.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any row stride | float32, float16, bfloat16 | input, never changed |
# | `w` | (N,), contiguous | floating | weight |
# | `eps` | | float | keeps the root away from zero; *inside* the root |
# | result | as `x`, contiguous | as `x` | |
#
# All arithmetic is done in float32, and rounded once at the store. (Llama's own code rounds twice,
# before and after the weight. In float32 you cannot tell the two apart.)
#
# **Memory traffic.** At best x is read once and y written once: in bfloat16, 4 bytes an element.
# The weight is N elements for all rows together, and stays in the cache.

# %% tags=["reference"]
from tritonbook.cache_hint import cache_hint


def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w

# %% [markdown]
# ## Task 1. Scheme 1: the row in one tile
#
# Fill the gap, about 9 lines: addresses and mask, load x and w, compute in float32, store in the
# dtype of y. `y_ptr.dtype.element_ty` is that dtype.
#
# `eviction_policy=KEEP` on the load of x is a hint to the cache: more about it below. Without it
# your kernel is just as right.
#
# The row number is converted to 64 bits first. A row number times a stride can pass 2³¹, where
# 32-bit numbers end: 70,000 rows of 32,768 elements are enough.

# %% tags=["answer"] key="rmsnorm_row"
@triton.jit
def rmsnorm_row_kernel(
    x_ptr, w_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    KEEP: tl.constexpr = "",
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N. KEEP is a hint to the cache, for the load of x.
    """
    row = tl.program_id(0).to(tl.int64)

    # TODO: addresses and mask of this row, load x and w, compute in float32, store
    # (about 9 lines)
    ### BEGIN SOLUTION
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0, eviction_policy=KEEP).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.sum(x * x, axis=0) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def rmsnorm_row(x, w, eps=1e-6):
    """RMSNorm over the last dimension of x [..., N] with the weight w [N]."""
    N = x.shape[-1]
    if w.shape != (N,) or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape ({N},), got {tuple(w.shape)}")
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    BLOCK_N = triton.next_power_of_2(N)
    rmsnorm_row_kernel[(x_rows.shape[0],)](
        x_rows, w, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N,
        KEEP=cache_hint(x),
        num_warps=min(max(BLOCK_N // 512, 1), 16),
    )
    return y

# %% [markdown] tags=["hint"] key="rmsnorm_row"
# #### Hints for rmsnorm_row
#
# <details><summary>Hint 1: a question</summary>
#
# Which lanes take part in the sum of squares? What must the masked ones hold, so that the sum does
# not change?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `row_sum_kernel` has the addresses, the mask and the sum. You need `tl.rsqrt`, which is one over
# the root, and `.to(tl.float32)` right after each load.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_n = tl.arange(0, BLOCK_N)
# mask_n = ...
#
# x_ptrs = x_ptr + row * ... + offs_n * ...
# x = tl.load(x_ptrs, mask=mask_n, other=...).to(tl.float32)
# w = tl.load(w_ptr + ..., mask=mask_n, other=...).to(tl.float32)
#
# mean_square = tl.sum(..., axis=0) / ...
# y = x * tl.rsqrt(...) * w
#
# tl.store(y_ptr + row * ... + offs_n * ..., y.to(y_ptr.dtype.element_ty), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_row" points=5
check(rmsnorm_row)

# %% [markdown]
# **How long may a row be?** A program keeps its row in registers, the fastest memory there is, and
# the smallest. Each program has 255 registers of 4 bytes for each of its threads, at most. `facts`
# compiles your kernel for an A100, here and now, GPU or not, and reads how many it takes. *Spills*
# are values that found no register and went to slow memory instead.

# %%
for N in (1024, 8192, 65536):
    x = torch.randn(2, N, dtype=torch.bfloat16, device=DEVICE)
    w = torch.randn(N, dtype=torch.bfloat16, device=DEVICE)
    for kernel in facts(rmsnorm_row, x, w, 1e-6, arch=80):
        print(f"N = {N:6}: {kernel.registers} registers, {kernel.spills} bytes of spills")

# %% [markdown]
# **A hint to the cache.** Whatever comes from memory passes through the L2 cache (50 MB on an H100)
# and pushes something older out. `eviction_policy="evict_last"` asks the GPU to keep these elements
# longest. `cache_hint` asks for it from 134 MB on, several times the cache.
#
# What is it worth? On an H100, 0.5 to 1.5 % of the time for one-pass norms of 134 and 268 MB. At
# 67 MB it *costs* 2 %. The GPU's counters show the same bytes from memory with and without the
# hint, so it saves none. Why it helps they do not show. Such a hint comes last, and only after you
# have measured it.

# %% [markdown]
# ## Scheme 2: the row in several tiles
#
# For longer rows the program takes the row piece by piece. It cannot keep the pieces, so it walks
# through the row twice: once to sum the squares, once to normalise. The second walk reads x again.

# %%
draw_rows(M=3, N=10, block=4, scheme="loop")

# %% [markdown]
# ## Task 2. Sum first, then normalise
#
# Two gaps. In the first, add up the squares: keep one running sum *for each lane*, in float32, and
# reduce once after the loop (about 3 lines). In the second, read each piece again, normalise it and
# store it (about 6 lines). The mask belongs to the piece, so each piece makes its own.

# %% tags=["answer"] key="rmsnorm_loop"
@triton.jit
def rmsnorm_loop_kernel(
    x_ptr, w_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = one row, BLOCK_N elements at a time, read twice.
    Assumes nothing about N.
    """
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)

    squares = tl.zeros([BLOCK_N], dtype=tl.float32)  # one running sum for each lane
    for start in range(0, N, BLOCK_N):
        offs_n = start + offs
        # TODO: load this piece of x and add its squares to `squares` (about 3 lines)
        ### BEGIN SOLUTION
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=offs_n < N, other=0.0).to(tl.float32)
        squares += x * x
        ### END SOLUTION
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)

    for start in range(0, N, BLOCK_N):
        offs_n = start + offs
        # TODO: load this piece of x and of w, normalise, store (about 6 lines)
        ### BEGIN SOLUTION
        mask_n = offs_n < N
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
        tl.store(y_ptrs, (x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask_n)
        ### END SOLUTION


def rmsnorm_loop(x, w, eps=1e-6, block=4096):
    """RMSNorm over the last dimension of x [..., N], `block` (a power of 2) at a time."""
    N = x.shape[-1]
    if w.shape != (N,) or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape ({N},), got {tuple(w.shape)}")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    rmsnorm_loop_kernel[(x_rows.shape[0],)](
        x_rows, w, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=block,
        num_warps=min(max(block // 512, 1), 16),
    )
    return y

# %% [markdown] tags=["hint"] key="rmsnorm_loop"
# #### Hints for rmsnorm_loop
#
# <details><summary>Hint 1: a question</summary>
#
# A row of 10 in pieces of 4: which elements does the third piece have? Which of its lanes are
# masked? Is the mask of the first piece the same?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Inside each loop stands your row kernel, with `offs_n = start + offs`. Only the sum has moved out:
# `squares += x * x` in the loop, `tl.sum` after it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # first gap
# x = tl.load(x_ptr + row * ... + offs_n * ..., mask=offs_n < ..., other=...).to(tl.float32)
# squares += ...
#
# # second gap
# mask_n = ...
# x = tl.load(..., mask=mask_n, other=0.0).to(tl.float32)
# w = tl.load(..., mask=mask_n, other=0.0).to(tl.float32)
# tl.store(..., (x * ... * w).to(y_ptr.dtype.element_ty), mask=mask_n)
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_loop" points=5
check(rmsnorm_loop)

# %% [markdown]
# ## Predict, then measure
#
# Scheme 2 reads x twice. So how many bytes does it move for each byte that scheme 1 moves? Predict,
# then let the meter count. The box below asks for three numbers. Write them down before you run the
# cells above it. Without a GPU it compares with an H100, which copies 2,965 GB/s.

# %%
x = torch.randn(8, 512, device=DEVICE)
w = torch.randn(512, device=DEVICE)
traffic(rmsnorm_row, x, w, 1e-6)

# %%
traffic(rmsnorm_loop, x, w, 1e-6, block=128)

# %% [markdown]
# Three passes over the row instead of two: 1.5 times the bytes. Does it take 1.5 times as long?
# Predict, then look. The table has two shapes: 16,384 rows of 4,096 as in a Llama layer, and 8 very
# long rows.

# %%
SHAPES = [(16384, 4096), (8, 262144)] if DEVICE == "cuda" else [(16, 512)]


def torch_rmsnorm(x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)


results = {}
for M, N in SHAPES:
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
    candidates = {
        "torch": lambda x=x, w=w: torch_rmsnorm(x, w),
        "rmsnorm_loop": lambda x=x, w=w: rmsnorm_loop(x, w, 1e-6),
    }
    if N <= 65536:
        candidates["rmsnorm_row"] = lambda x=x, w=w: rmsnorm_row(x, w, 1e-6)
    results[M, N] = bench(candidates, bytes=2 * x.numel() * x.element_size(), baseline="torch")
    print(f"{M} rows of {N}")
    print(results[M, N].table())

# %%
results[SHAPES[0]].plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that rmsnorm_loop asks for, x 4 x 1024 and w in float32": None,
        "ms of rmsnorm_row for 16,384 rows of 4,096 in bfloat16": None,
        "times as long: rmsnorm_loop over rmsnorm_row": None,
    },
    measured=[
        lambda: traffic(
            rmsnorm_loop,
            torch.randn(4, 1024, device=DEVICE),
            torch.randn(1024, device=DEVICE),
            block=256,
        ),
        lambda: time_of(results[SHAPES[0]], "rmsnorm_row", stored="rmsnorm_rows"),
        lambda: time_of(
            results[SHAPES[0]], "rmsnorm_loop", over="rmsnorm_row", stored="rmsnorm_rows"
        ),
    ],
    hints=[
        "x twice, y once, and each of the 4 programs reads all of w.",
        "x once and y once, 2 bytes each. w is small and stays in the cache.",
        "It asks for 1.5 times the bytes. But who answers the second reading of a row?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** One trip over x is 4 × 1024 × 4 = 16,384 bytes. x twice and y once make three, and w
# is read by 4 programs, 4,096 bytes each: 4 × 16,384 = 65,536.
#
# **Milliseconds.** 16,384 × 4,096 elements × 4 bytes = 268 MB, at 2,965 GB/s 0.091 ms. An H100 took
# 0.094.
#
# **The ratio** is not 1.5 but 1.02 on an H100. When a program comes back to its row of 8 kB, the row
# is still in the cache. Bytes that are asked for are not always bytes that come from memory.
#
# </details>

# %% [markdown]
# **Read the table.** GB/s is computed from the bytes that *have* to move, x once and y once. With
# 4,096 elements, the second reading of x comes from the cache: the row is still there, and scheme 2
# loses little. Compare the figures for the 16,384 rows on your GPU.
#
# Now the 8 long rows. There are 8 programs, and a GPU has about a hundred processors. Most of them
# have nothing to do, whatever you write in the kernel. The bandwidth that you see is a small part of
# the ceiling. No loop mends that. You need more programs than rows, and that is notebook 11.
#
# ## Recap
#
# - A reduction ties elements together. Here a program must see a whole row.
# - Masked lanes take part in sums. `other=0.0` makes them harmless, and you divide by N.
# - Strides, not lengths, lead from row to row.
# - Square in float32: in half precision, 300 squared is infinite.
# - A second pass costs bytes, but less than you would think while the row fits the cache.
#
# <details><summary>Common mistakes</summary>
#
# - Dividing by `BLOCK_N`: right for 64, 128, 256, wrong for 100.
# - Testing with a weight of ones: a forgotten weight goes unnoticed.
# - `row * N` for the address: right until somebody passes a slice.
# - Reusing the first pass's mask in the second.
#
# </details>
#
# Next: [11_rmsnorm_split](11_rmsnorm_split.ipynb), with few long rows and many short ones.
#
# Source: B. Zhang and R. Sennrich, *Root Mean Square Layer Normalization*, 2019.

# %%
progress()
