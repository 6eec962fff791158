# ---
# workbook:
#   title: LayerNorm, a mean and a variance you can trust
#   minutes: 60
#   needs: interpreter
#   requires: [11_rmsnorm_split]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - subtract a mean without letting masked lanes back in
#     - compute a variance that survives large numbers, in one pass over the data
#     - merge the statistics of tiles and of programs, in any order
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
# LayerNorm is the older sibling of RMSNorm. It first moves each row so that its mean is zero, then
# scales it so that its variance is one. Then come a weight and a bias:
#
# $$\mu = \frac{1}{N}\sum_k x_k, \qquad \sigma^2 = \frac{1}{N}\sum_k (x_k - \mu)^2, \qquad
# y_n = \frac{x_n - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot w_n + b_n$$
#
# Two sums over the row, and the second needs the result of the first. That brings two new troubles:
# masked lanes, and lost digits.
#
# ## A smaller kernel first
#
# This kernel subtracts the mean of each row. It has a bug that you cannot see in its result. To
# show it, the kernel also writes what stands in *all* lanes, the masked ones too.

# %%
@triton.jit
def centre_kernel(x_ptr, lanes_ptr, N, stride_xm, BLOCK_N: tl.constexpr):
    """lanes[m] = x[m] - mean(x[m]), all BLOCK_N lanes of it.

    One program = one row.
    Assumes BLOCK_N >= N and that rows are contiguous.
    """
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask_n, other=0.0)

    mean = tl.sum(x, axis=0) / N
    centred = x - mean

    tl.store(lanes_ptr + row * BLOCK_N + offs_n, centred)


def centred_lanes(x):
    lanes = torch.empty(x.shape[0], 8, device=x.device)
    centre_kernel[(x.shape[0],)](x, lanes, x.shape[1], x.stride(0), BLOCK_N=8)
    return lanes


x = torch.tensor([[4.0, 5.0, 6.0, 5.0, 5.0]], device=DEVICE)
centred_lanes(x)

# %% [markdown]
# Five elements, eight lanes. The masked lanes held 0, as `other=0.0` says. But 0 minus the mean is
# not 0. It is -5.
#
# **Predict.** The next line of the kernel squares the lanes and sums them. What is the variance
# then? What should it be?
#
# <details><summary>Answer</summary>
#
# It should be (1 + 0 + 1 + 0 + 0) / 5 = 0.4. With three lanes of -5 it becomes (2 + 75) / 5 = 15.4.
# After the subtraction you must set the masked lanes to 0 *again*: `tl.where(mask_n, ..., 0.0)`.
# With a mean near zero you would hardly see it.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed; M rows in all |
# | `w`, `b` | (N,), contiguous | as `x` | weight and bias |
# | `eps` | | float | added to the variance, inside the root |
# | `block` | | int, a power of two | columns of a tile, Task 3 |
# | `num_splits` | | int | pieces of a row, Task 4 |
# | result | as `x`, contiguous | as `x` | a new tensor |
#
# The variance is the *biased* one: divided by N, not by N - 1. All arithmetic is done in float32.
#
# **Memory traffic.** As RMSNorm's: x once and y once, 4 bytes an element in bfloat16.

# %% tags=["reference"]
from tritonbook.cache_hint import cache_hint
from tritonbook.cooperative import arrival_counters, can_launch_cooperatively, wait_for_all
from tritonbook.course.norm_cases import backward_of, parts, pieces, rms_backward_of
from tritonbook import multiprocessors


def layernorm_ref(x, w, b, eps, *knobs):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps) * w + b


def prepare(x, w, b):
    """x and an empty result as rows [M, N]. Raises ValueError for w or b that do not fit."""
    N = x.shape[-1]
    for name, value in (("w", w), ("b", b)):
        if value.shape != (N,) or not value.is_contiguous():
            raise ValueError(f"{name} must be contiguous with shape ({N},), got {value.shape}")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return (x, y) if x.dim() == 2 else (x.reshape(-1, N), y.view(-1, N))


def warps_for(BLOCK_N):
    """Warps that share a tile: 16 elements for each thread, 32 in tiles of 8192 or more."""
    return min(max(BLOCK_N // (512 if BLOCK_N < 8192 else 1024), 1), 32)


EPS = 1e-6

# %% [markdown]
# ## Task 1. The row in one tile
#
# Fill the gap, about 10 lines: load, mean, centre, mask again, variance, scale, store. Call the two
# statistics `mean` and `rstd` (one over the root): the lines below the gap keep them for the
# backward pass, if somebody asks for them.

# %% tags=["answer"] key="layernorm"
@triton.jit
def layernorm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    KEEP: tl.constexpr = "",
):
    """y = (x - mean(x)) / sqrt(var(x) + eps) * w + b for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N.
    """
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    # TODO: load x, w, b; mean; centred, masked again; rstd; y; store (about 10 lines)
    ### BEGIN SOLUTION
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0, eviction_policy=KEEP).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / N
    # masked lanes hold 0 - mean now: back to 0, or the variance counts them
    centred = tl.where(mask_n, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + eps)
    y = centred * rstd * w + b

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION

    if mean_ptr is not None:
        tl.store(mean_ptr + row, mean)
        tl.store(rstd_ptr + row, rstd)


def layernorm(x, w, b, eps=1e-5, stats=False):
    """LayerNorm over the last dimension of x [..., N]; with `stats` also mean and rstd [M]."""
    x_rows, y_rows = prepare(x, w, b)
    M, N = x_rows.shape
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit one program")
    mean = rstd = None
    if stats:
        mean, rstd = torch.empty((2, M), dtype=torch.float32, device=x.device).unbind(0)
    BLOCK_N = triton.next_power_of_2(N)
    layernorm_kernel[(M,)](
        x_rows, w, b, y_rows, mean, rstd, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, KEEP=cache_hint(x), num_warps=warps_for(BLOCK_N),
    )
    y = y_rows.view(x.shape)
    return (y, mean, rstd) if stats else y

# %% [markdown] tags=["hint"] key="layernorm"
# #### Hints for layernorm
#
# <details><summary>Hint 1: a question</summary>
#
# Which steps of the kernel look at all lanes at once? What must the masked lanes hold at each of
# these steps?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Begin with the row kernel of notebook 10. There is one more load and one more sum. `centre_kernel`
# above has the first half. `tl.where(condition, a, b)` chooses lane by lane.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mean = tl.sum(..., axis=0) / ...
# centred = tl.where(..., x - ..., ...)
# rstd = tl.rsqrt(tl.sum(...) / ... + ...)
# y = ... * rstd * ... + ...
# ```
#
# </details>

# %% tags=["check"] key="layernorm" points=4
check(layernorm)

# %% [markdown]
# ## Lost digits
#
# A long row does not fit one tile. You would like to read it only once for both sums. There is a
# well-known formula for that, and it is right, on paper:
#
# $$\sigma^2 = \frac{1}{N}\sum_k x_k^2 - \mu^2$$
#
# Try it on numbers around 10,000 whose variance is 1:

# %%
x = torch.randn(1000) + 10_000
on_paper = x.pow(2).mean() - x.mean().pow(2)
mean_first = (x - x.mean()).pow(2).mean()
exact = x.double().var(correction=0)
print(f"E[x^2] - E[x]^2: {on_paper:.4f}   subtract first: {mean_first:.4f}   exact: {exact:.4f}")

# %% [markdown]
# The squares are near 100,000,000. Float32 numbers of that size lie 8 apart. The difference of two
# of them cannot show a variance of 1. It may even be negative, and its root is NaN.
#
# ## Merging statistics
#
# The way out is to keep three numbers for each part of the row: the count $n$, the mean $\mu$, and
# $M_2$, the sum of squared distances *from that part's own mean*. None of them grows with the mean.
# Two parts are merged like this (Welford 1962; Chan, Golub and LeVeque 1979):
#
# $$n = n_a + n_b, \qquad \delta = \mu_b - \mu_a, \qquad
# \mu = \mu_a + \delta\,\frac{n_b}{n}, \qquad
# M_2 = M_{2a} + M_{2b} + \delta^2\,\frac{n_a n_b}{n}$$
#
# In the end the variance is $M_2 / n$. Merge parts in any order.
# An empty part has $n = 0$, and two of them make 0 / 0. Your function has to survive that, because
# the last piece of a row can be empty.
#
# ## Task 2. `welford_combine`
#
# This one is no kernel but a function that kernels call, with numbers or with whole tiles. Fill
# the gap, about 6 lines. For two empty parts it returns zeros. A small kernel below calls it, so
# that you can call it from here: its launch is your second gap.

# %% tags=["reference"]
def combine_ref(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    n = n_a + n_b
    share = n_b / torch.where(n == 0, 1.0, n)
    delta = mean_b - mean_a
    return n, mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share

# %% tags=["answer"] key="welford_combine"
@triton.jit
def welford_combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    """(n, mean, M2) of two parts together, from (n, mean, M2) of each.

    Called by kernels, with scalars or tiles.
    Assumes that an empty part is (0, 0, 0).
    """
    # TODO: n, delta, the share of b (0 if both are empty), return n, mean, m2 (6 lines)
    ### BEGIN SOLUTION
    n = n_a + n_b
    delta = mean_b - mean_a
    # counts are whole numbers: only for two empty parts does the maximum change n
    share_b = n_b / tl.maximum(n, 1.0)
    mean = mean_a + delta * share_b
    m2 = m2_a + m2_b + delta * delta * n_a * share_b
    return n, mean, m2
    ### END SOLUTION


@triton.jit
def combine_kernel(
    n_a_ptr, mean_a_ptr, m2_a_ptr,
    n_b_ptr, mean_b_ptr, m2_b_ptr,
    n_ptr, mean_ptr, m2_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
):
    """(n, mean, m2) = welford_combine of the two sides, element by element.

    One program = one tile.
    Assumes contiguous memory.
    """
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    n_a = tl.load(n_a_ptr + offs, mask=mask, other=0.0)
    mean_a = tl.load(mean_a_ptr + offs, mask=mask, other=0.0)
    m2_a = tl.load(m2_a_ptr + offs, mask=mask, other=0.0)
    n_b = tl.load(n_b_ptr + offs, mask=mask, other=0.0)
    mean_b = tl.load(mean_b_ptr + offs, mask=mask, other=0.0)
    m2_b = tl.load(m2_b_ptr + offs, mask=mask, other=0.0)

    n, mean, m2 = welford_combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b)

    tl.store(n_ptr + offs, n, mask=mask)
    tl.store(mean_ptr + offs, mean, mask=mask)
    tl.store(m2_ptr + offs, m2, mask=mask)


def combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    """`welford_combine` on whole tensors: three results of the same shape."""
    out = [torch.empty_like(n_a) for _ in range(3)]
    grid = (triton.cdiv(n_a.numel(), 64),)
    # TODO: launch combine_kernel with BLOCK_SIZE=64, return the three results as a tuple (2 lines)
    ### BEGIN SOLUTION
    combine_kernel[grid](
        n_a, mean_a, m2_a, n_b, mean_b, m2_b, *out, n_a.numel(), BLOCK_SIZE=64
    )
    return tuple(out)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="welford_combine"
# #### Hints for welford_combine
#
# <details><summary>Hint 1: a question</summary>
#
# Part a has 3 elements with mean 1, part b has 1 element with mean 5. Where is the common mean? How
# far from a's mean, as a share of the way to b's?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The four formulas above, line by line. `n_b / n` occurs in two of them: give it a name. When is it
# 0 / 0, and which divisor would do no harm there? `tl.maximum` may help.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# n = ...
# delta = ...
# share_b = ... / tl.maximum(..., ...)
# mean = mean_a + ... * ...
# m2 = m2_a + ... + ... * ... * n_a * ...
# return n, mean, m2
# ```
#
# </details>

# %% tags=["check"] key="welford_combine" points=3
check(welford_combine)

# %% [markdown]
# ## Task 3. A long row, one program
#
# The program walks through its row, tile by tile. For each it computes count, mean
# and M2 (the tile is in registers: subtract its mean first) and merges them. A second walk
# normalises. Fill both gaps, about 8 lines each.
#
# The last tile has fewer elements than lanes. Which count belongs to it?

# %% tags=["answer"] key="layernorm_loop"
@triton.jit
def layernorm_loop_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = (x - mean(x)) / sqrt(var(x) + eps) * w + b for each row.

    One program = one row, BLOCK_N elements at a time, read twice.
    Assumes nothing about N.
    """
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)

    n = 0.0
    mean = 0.0
    m2 = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + offs
        mask_n = offs_n < N
        # TODO: load this tile of x; count, mean, M2; merge into n, mean, m2 (8 lines)
        ### BEGIN SOLUTION
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        n_tile = tl.sum(mask_n.to(tl.float32), axis=0)
        mean_tile = tl.sum(x, axis=0) / n_tile
        centred = tl.where(mask_n, x - mean_tile, 0.0)
        m2_tile = tl.sum(centred * centred, axis=0)
        n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile)
        ### END SOLUTION
    rstd = tl.rsqrt(m2 / N + eps)

    for start in range(0, N, BLOCK_N):
        offs_n = start + offs
        mask_n = offs_n < N
        # TODO: load this tile of x, w and b, normalise, store (about 7 lines)
        ### BEGIN SOLUTION
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
        tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
        ### END SOLUTION


def layernorm_loop(x, w, b, eps=1e-5, block=4096):
    """LayerNorm over the last dimension of x [..., N], `block` elements at a time."""
    x_rows, y_rows = prepare(x, w, b)
    M, N = x_rows.shape
    layernorm_loop_kernel[(M,)](
        x_rows, w, b, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=block, num_warps=warps_for(block),
    )
    return y_rows.view(x.shape)

# %% [markdown] tags=["hint"] key="layernorm_loop"
# #### Hints for layernorm_loop
#
# <details><summary>Hint 1: a question</summary>
#
# A row of 10 in tiles of 4: how many elements has each tile? Could you count them with the mask?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# For one tile you did all of this in Task 1. Divide by the tile's own count instead of N, and leave
# out the last division: M2 is a sum. `mask_n.to(tl.float32)` turns true and false into 1 and 0.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# n_tile = tl.sum(...)
# mean_tile = tl.sum(...) / ...
# centred = tl.where(..., x - ..., 0.0)
# m2_tile = ...
# n, mean, m2 = welford_combine(n, mean, m2, ..., ..., ...)
# ```
#
# </details>

# %% tags=["check"] key="layernorm_loop" points=4
check(layernorm_loop)

# %% [markdown]
# ## Task 4. A long row, many programs
#
# Few long rows again, as in notebook 11: several programs must share a row. Atomics add
# one number, not three that must change together. So each program writes its three numbers to
# places of its own, and a small launch in the middle merges them.

# %%
from tritonbook.seeing.pictures_norms import draw_three_launches

draw_three_launches()

# %% [markdown]
# Fill the gaps of the first two kernels, about 9 and 6 lines, and the last two launches of the
# wrapper. New is `tl.reduce`: it merges a tile by *your* function, two parts at a time, in a tree.
# Here it takes a tuple of three tiles, because your function takes three numbers for each side.
#
# `pieces` cuts a row as in notebook 11. The last pieces can be empty.

# %% tags=["answer"] key="layernorm_welford"
@triton.jit
def layernorm_stats_kernel(
    x_ptr, n_ptr, mean_ptr, m2_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """n, mean, m2 [row, piece] = count, mean and M2 of one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    # TODO: load the piece; count, mean, M2 (all 0 if empty); store at pid (9 lines)
    ### BEGIN SOLUTION
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    n = tl.sum(mask_n.to(tl.float32), axis=0)
    mean = tl.sum(x, axis=0) / tl.maximum(n, 1.0)
    centred = tl.where(mask_n, x - mean, 0.0)

    tl.store(n_ptr + pid, n)
    tl.store(mean_ptr + pid, mean)
    tl.store(m2_ptr + pid, tl.sum(centred * centred, axis=0))
    ### END SOLUTION


@triton.jit
def layernorm_merge_kernel(
    n_ptr, mean_ptr, m2_ptr, row_mean_ptr, row_rstd_ptr,
    num_splits,
    eps,
    BLOCK_S: tl.constexpr,
):
    """Mean and 1 / root of a row from the statistics of its pieces.

    One program = one row.
    Assumes BLOCK_S >= num_splits.
    """
    row = tl.program_id(0)
    offs_s = tl.arange(0, BLOCK_S)
    mask_s = offs_s < num_splits
    places = row * num_splits + offs_s

    # TODO: load three tiles (masked lanes are empty parts), merge, store two (6 lines)
    ### BEGIN SOLUTION
    n = tl.load(n_ptr + places, mask=mask_s, other=0.0)
    mean = tl.load(mean_ptr + places, mask=mask_s, other=0.0)
    m2 = tl.load(m2_ptr + places, mask=mask_s, other=0.0)

    n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)

    tl.store(row_mean_ptr + row, mean)
    tl.store(row_rstd_ptr + row, tl.rsqrt(m2 / n + eps))
    ### END SOLUTION


@triton.jit
def layernorm_scale_kernel(
    x_ptr, w_ptr, b_ptr, row_mean_ptr, row_rstd_ptr, y_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    BLOCK_N: tl.constexpr,
):
    """y = (x - mean) * rstd * w + b on one piece of a row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)
    b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0)

    y = x.to(tl.float32) - tl.load(row_mean_ptr + row)
    y = y * tl.load(row_rstd_ptr + row) * w.to(tl.float32) + b.to(tl.float32)

    y_out = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_out, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def layernorm_welford(x, w, b, eps=1e-5, num_splits=4):
    """LayerNorm of the rows of x [..., N] in three launches; num_splits programs share a row."""
    x_rows, y_rows = prepare(x, w, b)
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    n, mean, m2 = torch.empty((3, M * num_splits), dtype=torch.float32, device=x.device).unbind(0)
    row_mean, row_rstd = torch.empty((2, M), dtype=torch.float32, device=x.device).unbind(0)
    grid = (M * num_splits,)
    cut = (N, num_splits, piece_size)
    layernorm_stats_kernel[grid](
        x_rows, n, mean, m2, *cut, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    # TODO: launch the other two kernels, return the result in the shape of x (about 9 lines)
    ### BEGIN SOLUTION
    layernorm_merge_kernel[(M,)](
        n, mean, m2, row_mean, row_rstd, num_splits, eps,
        BLOCK_S=triton.next_power_of_2(num_splits), num_warps=1,
    )
    layernorm_scale_kernel[grid](
        x_rows, w, b, row_mean, row_rstd, y_rows, *cut, *x_rows.stride(), *y_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return y_rows.view(x.shape)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="layernorm_welford"
# #### Hints for layernorm_welford
#
# <details><summary>Hint 1: a question</summary>
#
# A row of 33 in 4 pieces of 16: how many elements has the last piece? What is its mean, if you
# divide by the count? What would a harmless divisor be?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The first gap is the loop body of Task 3 without a loop. Its three results go to
# `n_ptr + pid`, and so on. In the second, a lane past the last piece is an empty part: which three
# numbers is that?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# n = tl.load(n_ptr + places, mask=..., other=...)
# ...
# n, mean, m2 = tl.reduce((n, ..., ...), 0, ...)
# tl.store(row_mean_ptr + row, ...)
# tl.store(row_rstd_ptr + row, tl.rsqrt(... / ... + ...))
# ```
#
# </details>

# %% tags=["check"] key="layernorm_welford" points=4
check(layernorm_welford)

# %% [markdown]
# ## Predict, then measure
#
# RMSNorm became popular because it has less to compute: one sum instead of two. **Predict:** on
# 16,384 rows of 4,096 in bfloat16, how much faster is RMSNorm on a GPU? Think of the bytes, and
# write your numbers into the box below before you run the cells above it.

# %%
SHAPES = [(16384, 4096), (8, 262144)]
NAMES = ("layernorm", "layernorm_loop", "layernorm_welford", "rmsnorm")
one, loop, welford, rms = (mine(name, quiet=True) for name in NAMES)  # not while timing
results = {}
for M, N in SHAPES:
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w, b = torch.randn(2, N, device=DEVICE, dtype=torch.bfloat16).unbind(0)
    candidates = {
        "torch": lambda x=x, w=w, b=b: torch.nn.functional.layer_norm(x, w.shape, w, b),
        "layernorm_loop": lambda x=x, w=w, b=b: loop(x, w, b),
        "rmsnorm": lambda x=x, w=w: rms(x, w),
    }
    if N <= 65536:
        candidates["layernorm"] = lambda x=x, w=w, b=b: one(x, w, b)
    else:
        candidates["layernorm_welford"] = lambda x=x, w=w, b=b: welford(x, w, b, EPS, 128)
    size = 2 * x.numel() * x.element_size()
    stored = f"layernorm_{M}x{N}"
    results[M, N] = bench(candidates, bytes=size, baseline="torch", stored=stored)
    print(f"{M} rows of {N}")
    print(results[M, N].table())

# %%
results[SHAPES[0]].plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "ms of layernorm, 16,384 rows of 4,096 in bfloat16": None,
        "times as long: layernorm over rmsnorm": None,
    },
    measured=[
        lambda: time_of(results[SHAPES[0]], "layernorm"),
        lambda: time_of(results[SHAPES[0]], "layernorm", over="rmsnorm"),
    ],
    hints=[
        "4 bytes for each element, at the speed of a copy.",
        "Compare their bytes, not their arithmetic.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# 16,384 × 4,096 × 4 bytes = 268 MB, at an H100's 2,966 GB/s 0.091 ms. It took 0.093, and so did
# RMSNorm. The ratio is 1.
#
# </details>
#
# **Read the table.** While the row is in registers, a second sum is nearly free: both norms
# wait for the same bytes. RMSNorm saves a bias, and trouble.
#
# 8 long rows, one program each, leave most of the GPU idle, as in notebook 11. Three launches
# that fill it take 0.009 ms of the GPU instead of 0.28.

# %% [markdown]
# ## Stretch: one launch fewer
#
# The launch in the middle has almost nothing to do, but it costs more than a microsecond. Let every
# program of the last launch merge the pieces itself: they are few. No tree is needed:
# with the counts $n_i$ known from N and `piece_size`, the formulas become two plain sums,
#
# $$\mu = \frac{1}{N}\sum_i n_i \mu_i, \qquad
# M_2 = \sum_i \left( M_{2i} + n_i (\mu_i - \mu)^2 \right)$$
#
# Fill the gap, about 13 lines. Load x, w and b first, so that they travel while you merge. (The lines
# above the gap are for `cooperative=True`, by which one launch does everything, as in notebook 11.)

# %% tags=["answer", "stretch"] key="layernorm_split"
@triton.jit
def layernorm_join_kernel(
    x_ptr, w_ptr, b_ptr, n_ptr, mean_ptr, m2_ptr, y_ptr, arrived_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """y = (x - mean) * rstd * w + b on one piece; mean and rstd from all pieces.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size and BLOCK_S >= num_splits.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)
    offs_s = tl.arange(0, BLOCK_S)
    mask_s = offs_s < num_splits
    # elements of piece s: all of it, a part, or nothing
    n_s = tl.minimum(tl.maximum(N - offs_s * piece_size, 0), piece_size).to(tl.float32)
    if arrived_ptr is not None:  # a cooperative launch: both kernels in one
        layernorm_stats_kernel(
            x_ptr, n_ptr, mean_ptr, m2_ptr,
            N, num_splits, piece_size, stride_xm, stride_xn, BLOCK_N,
        )
        wait_for_all(arrived_ptr + row, num_splits)

    # TODO: load x, w, b, the means and M2s; merge; normalise; store (13 lines)
    ### BEGIN SOLUTION
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    places = row * num_splits + offs_s
    mean_s = tl.load(mean_ptr + places, mask=mask_s, other=0.0)
    m2_s = tl.load(m2_ptr + places, mask=mask_s, other=0.0)

    mean = tl.sum(n_s * mean_s, axis=0) / N
    delta = mean_s - mean
    m2 = tl.sum(tl.where(mask_s, m2_s + n_s * delta * delta, 0.0), axis=0)
    y = (x - mean) * tl.rsqrt(m2 / N + eps) * w + b

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def layernorm_split(x, w, b, eps=1e-5, num_splits=4, cooperative=False):
    """As layernorm_welford, in two launches, or in a cooperative one where the GPU has it."""
    x_rows, y_rows = prepare(x, w, b)
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    n, mean, m2 = torch.empty((3, M * num_splits), dtype=torch.float32, device=x.device).unbind(0)
    grid = (M * num_splits,)
    cut = (N, num_splits, piece_size)
    num_warps, arrived, how = warps_for(BLOCK_N), None, {}
    if cooperative and can_launch_cooperatively():
        arrived, how = arrival_counters(x.device, M, num_splits), {"launch_cooperative_grid": True}
    else:
        layernorm_stats_kernel[grid](
            x_rows, n, mean, m2, *cut, *x_rows.stride(), BLOCK_N=BLOCK_N, num_warps=num_warps
        )
    layernorm_join_kernel[grid](
        x_rows, w, b, n, mean, m2, y_rows, arrived, *cut, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, BLOCK_S=triton.next_power_of_2(num_splits), num_warps=num_warps, **how,
    )
    return y_rows.view(x.shape)

# %% [markdown] tags=["hint"] key="layernorm_split"
# #### Hints for layernorm_split
#
# <details><summary>Hint 1: a question</summary>
#
# Each program computes the mean of the same row again. How many numbers does it read for that,
# compared with its piece of x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `layernorm_scale_kernel` has the loads and the store, `layernorm_merge_kernel` the places of the
# statistics. `n_s` is given.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mean = tl.sum(n_s * ..., axis=0) / ...
# delta = ... - mean
# m2 = tl.sum(tl.where(mask_s, ... + n_s * ..., 0.0), axis=0)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="layernorm_split" points=0
check(layernorm_split)

# %% [markdown]
# ## Stretch: the way back
#
# Training needs gradients. With $\hat x = (x - \mu) \cdot r$, where r is one over the root, and
# with dy coming from above, the chain rule gives for each row
#
# $$dx = r\left( w\,dy - \hat x \cdot \mathrm{mean}(\hat x\, w\, dy)
# - \mathrm{mean}(w\,dy) \right)$$
#
# and, summed over all rows, $dw = \sum \hat x\, dy$ and $db = \sum dy$. The first needs sums along
# a row, as before. The other two are sums down the columns, across programs. With locks
# the order of addition would change from run to run. So take two stages: each program takes every
# `num_programs`-th row and keeps its sums in registers; then `column_sums` adds what they wrote.
#
# Fill the gap, about 10 lines. The sums live across the loop over rows.

# %% tags=["reference"]
def programs_for(M, num_programs):
    """How many programs share M rows: two for each processor, unless a number is given."""
    return min(num_programs or 2 * multiprocessors(), M)


@triton.jit
def column_sums_kernel(
    partials_ptr, out_ptr,
    G, N,
    BLOCK_G: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """out[k, n] = sum over g of partials[k, g, n].

    One program = BLOCK_N columns of one k.
    Assumes contiguous memory.
    """
    k = tl.program_id(1)
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    acc = tl.zeros([BLOCK_G, BLOCK_N], dtype=tl.float32)
    for start in range(0, G, BLOCK_G):
        offs_g = start + tl.arange(0, BLOCK_G)
        mask = (offs_g < G)[:, None] & mask_n[None, :]  # [BLOCK_G, BLOCK_N]
        partials_ptrs = partials_ptr + (k * G + offs_g)[:, None] * N + offs_n[None, :]
        acc += tl.load(partials_ptrs, mask=mask, other=0.0)

    out = tl.sum(acc, axis=0).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + k * N + offs_n, out, mask=mask_n)


def column_sums(partials, dtype):
    """partials [K, G, N] in float32, summed over G: a tuple of K tensors [N] of this dtype."""
    K, G, N = partials.shape
    out = torch.empty((K, N), dtype=dtype, device=partials.device)
    column_sums_kernel[(triton.cdiv(N, 16), K)](partials, out, G, N, BLOCK_G=64, BLOCK_N=16)
    return out.unbind(0)

# %% tags=["answer", "stretch"] key="layernorm_backward"
@triton.jit
def layernorm_backward_kernel(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr,
    M, N, num_programs,
    stride_dym, stride_dyn,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """dx of each row, and this program's share of dw and db.

    One program = the rows pid, pid + num_programs, pid + 2 num_programs, ...
    Assumes BLOCK_N >= N and that dx is contiguous.
    """
    pid = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    dw = tl.zeros([BLOCK_N], dtype=tl.float32)
    db = tl.zeros([BLOCK_N], dtype=tl.float32)
    # num_stages: the next rows are on their way before this one is done
    for row in tl.range(pid, M, num_programs, num_stages=3):
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        dy_ptrs = dy_ptr + row * stride_dym + offs_n * stride_dyn
        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        # TODO: x_hat, w dy, two means, dx and its store; add to dw and db (10 lines)
        ### BEGIN SOLUTION
        # where dy is masked it is 0, so masked lanes of x_hat reach no sum
        x_hat = (x - mean) * rstd
        wdy = w * dy
        mean_x_hat_wdy = tl.sum(x_hat * wdy, axis=0) / N
        mean_wdy = tl.sum(wdy, axis=0) / N
        dx = rstd * (wdy - x_hat * mean_x_hat_wdy - mean_wdy)
        tl.store(dx_ptr + row * N + offs_n, dx.to(dx_ptr.dtype.element_ty), mask=mask_n)
        dw += dy * x_hat
        db += dy
        ### END SOLUTION

    tl.store(dw_ptr + pid * N + offs_n, dw, mask=mask_n)
    tl.store(db_ptr + pid * N + offs_n, db, mask=mask_n)


def layernorm_backward(dy, x, w, mean, rstd, num_programs=None):
    """(dx, dw, db) of LayerNorm: dy and x [M, N], w [N], mean and rstd [M] in float32."""
    M, N = x.shape
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit one program")
    programs = programs_for(M, num_programs)
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    partials = torch.empty((2, programs, N), dtype=torch.float32, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    layernorm_backward_kernel[(programs,)](
        dy, x, w, mean, rstd, dx, partials[0], partials[1], M, N, programs,
        *dy.stride(), *x.stride(), BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return (dx, *column_sums(partials, w.dtype))

# %% [markdown] tags=["hint"] key="layernorm_backward"
# #### Hints for layernorm_backward
#
# <details><summary>Hint 1: a question</summary>
#
# `x_hat` is not 0 in the masked lanes. Which of your sums would that spoil? What is `dy` there?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Each formula above is one line. Both means are sums along the row, divided by N. `dw` and `db` are
# not summed here at all: the tiles are added, lane by lane.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x_hat = ...
# wdy = ...
# dx = rstd * (wdy - x_hat * ... - ...)
# tl.store(dx_ptr + row * N + offs_n, dx.to(dx_ptr.dtype.element_ty), mask=...)
# dw += ...
# db += ...
# ```
#
# </details>

# %% tags=["check", "stretch"] key="layernorm_backward" points=0
check(layernorm_backward)

# %% [markdown]
# **RMSNorm's way back** is shorter. There is no mean, so one term and `db` disappear. And x is read
# anyway, so you can compute its root again instead of keeping it from the forward pass.

# %% tags=["answer", "stretch"] key="rmsnorm_backward"
@triton.jit
def rmsnorm_backward_kernel(
    dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr,
    M, N, num_programs,
    stride_dym, stride_dyn,
    stride_xm, stride_xn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """dx of each row, and this program's share of dw.

    One program = the rows pid, pid + num_programs, pid + 2 num_programs, ...
    Assumes BLOCK_N >= N and that dx is contiguous.
    """
    pid = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    dw = tl.zeros([BLOCK_N], dtype=tl.float32)
    for row in tl.range(pid, M, num_programs, num_stages=3):
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        dy_ptrs = dy_ptr + row * stride_dym + offs_n * stride_dyn
        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        # TODO: 1 / root, x_hat, w dy, one mean, dx and its store; dw (about 8 lines)
        ### BEGIN SOLUTION
        rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
        x_hat = x * rstd
        wdy = w * dy
        mean_x_hat_wdy = tl.sum(x_hat * wdy, axis=0) / N
        dx = rstd * (wdy - x_hat * mean_x_hat_wdy)
        tl.store(dx_ptr + row * N + offs_n, dx.to(dx_ptr.dtype.element_ty), mask=mask_n)
        dw += dy * x_hat
        ### END SOLUTION

    tl.store(dw_ptr + pid * N + offs_n, dw, mask=mask_n)


def rmsnorm_backward(dy, x, w, eps=1e-6, num_programs=None):
    """(dx, dw) of RMSNorm: dy and x [M, N], w [N]."""
    M, N = x.shape
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit one program")
    programs = programs_for(M, num_programs)
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    partials = torch.empty((1, programs, N), dtype=torch.float32, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    rmsnorm_backward_kernel[(programs,)](
        dy, x, w, dx, partials, M, N, programs, *dy.stride(), *x.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return (dx, *column_sums(partials, w.dtype))

# %% [markdown] tags=["hint"] key="rmsnorm_backward"
# #### Hints for rmsnorm_backward
#
# <details><summary>Hint 1: a question</summary>
#
# Set the mean to 0 in the formulas of LayerNorm. Which terms remain?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Your `layernorm_backward_kernel`. The root comes from `rmsnorm_row_kernel` of notebook 10.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# rstd = tl.rsqrt(tl.sum(...) / ... + ...)
# x_hat = ...
# dx = rstd * (... - x_hat * ...)
# dw += ...
# ```
#
# </details>

# %% tags=["check", "stretch"] key="rmsnorm_backward" points=0
check(rmsnorm_backward)

# %% [markdown]
# **Into autograd.** A `torch.autograd.Function` ties the two directions together. The cell compares
# all three gradients with PyTorch's own in float64.

# %%
my_layernorm, my_backward = (mine(name, quiet=True) for name in ("layernorm", "layernorm_backward"))


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        y, mean, rstd = my_layernorm(x, w, b, eps, stats=True)
        ctx.save_for_backward(x, w, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        return (*my_backward(dy, *ctx.saved_tensors), None)


shapes = ((20, 300), (300,), (300,))
inputs = [torch.randn(shape, device=DEVICE, requires_grad=True) for shape in shapes]
dy = torch.randn(20, 300, device=DEVICE)
ours = torch.autograd.grad(LayerNorm.apply(*inputs, EPS), inputs, dy)

exact_y = layernorm_ref(*(value.double() for value in inputs), EPS)  # in float64
exact = torch.autograd.grad(exact_y, inputs, dy.double())
for name, got, want in zip(("dx", "dw", "db"), ours, exact, strict=True):
    print(f"{name}: largest error {(got - want).abs().max().item():.1e}")

# %% [markdown]
# ## Recap
#
# - Masked lanes come back to life when you subtract something from them. Mask again.
# - E[x²] - E[x]² loses its digits when the mean is large. Subtract first, then square.
# - Count, mean and M2 can be merged in any order: tiles of a loop, pieces of a row, programs.
# - Sums down the columns, across programs, take two stages and no lock.
# - One more sum over registers is nearly free; one more walk over memory is not.
#
# Next: [20_matmul](20_matmul.ipynb), where a tile is used more than once.
#
# Source: J. L. Ba, J. R. Kiros, G. E. Hinton, *Layer Normalization*, 2016.

# %%
progress()
