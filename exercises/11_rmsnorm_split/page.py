# ---
# workbook:
#   title: RMSNorm, four ways to divide the work
#   minutes: 60
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - let several programs share one row, with atomics and without
#     - let one program take many short rows at once
#     - measure which division wins for which shape, and write the function that chooses
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
# In notebook 10 each row of the matrix had one program. That is fine for 16,384 rows of 4,096
# numbers. It is wasteful at both ends:
#
# - **Few long rows.** 8 rows of 262,144 numbers start 8 programs. An H100 has 132 processors
#   (streaming multiprocessors, SMs), so 124 of them have nothing to do.
# - **Many short rows.** A million rows of 64 numbers start a million programs. Each one loads 128
#   bytes. Starting it costs more than its work.
#
# The formula stays the same. Only the division of the work changes. Below, the number in a tile
# is the program that takes it.

# %%
from tritonbook.seeing.pictures_norms import draw_occupancy, draw_schemes

draw_schemes()

# %% [markdown]
# Schemes 1 and 2 are yours already. Scheme 3 cuts a row into pieces, one program for each. Scheme
# 4 gives several rows to one program. See how many SMs have work for 8 rows of 262,144:

# %%
draw_occupancy(M=8, N=262144, num_sms=132, num_splits=32)

# %% [markdown]
# ## A smaller kernel first
#
# Programs cannot talk to each other. But they can all add to one number in memory. If two of them
# load it, add, and store, one may overwrite what the other has just stored. `tl.atomic_add` does
# the three steps as one, and nobody comes between.
#
# This kernel sums a vector. Every program adds its tile's sum to the same place. Note who sets
# that place to zero: the wrapper, before each launch.


# %%
@triton.jit
def total_kernel(x_ptr, total_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """total += sum(x).

    One program = one tile of BLOCK_SIZE elements.
    Assumes that total is 0 before the launch.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)

    tl.atomic_add(total_ptr, tl.sum(x, axis=0))


def total(x):
    result = torch.zeros(1, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(x.numel(), 1024),)
    total_kernel[grid](x, result, x.numel(), BLOCK_SIZE=1024)
    return result


total(torch.ones(5000, device=DEVICE))

# %% [markdown]
# **Predict.** You forget to set the buffer to zero, and use one buffer for all calls. The first
# call is right. What does the second call return?
#
# <details><summary>Answer</summary>
#
# 10,000: the old sum and the new one. Such a *stale* sum is the classic bug of this notebook. The
# check calls your function more than once.
#
# </details>
#
# ## Why one row needs two launches
#
# Before any program can divide by the root, *all* pieces of the row must be summed. So somebody
# has to wait. The end of a launch is the safe place to wait:
#
# 1. First launch: each program adds the squares of its piece to the row's sum.
# 2. Second launch: each program reads the finished sum and normalises its piece.
#
# Why not one launch, in which each program waits in a loop until all others have added? This is
# called a *spin barrier*. It works only if all programs run at the same time. Start more programs
# than the GPU has room for, and the waiting ones hold the places of those they wait for. It never
# ends. In the interpreter the programs run one after another, so there the first one waits for
# ever. The check refuses a spin barrier with a time limit.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed; M rows in all |
# | `w` | (N,), contiguous | as `x` | weight |
# | `eps` | | float | inside the root |
# | `num_splits` | | int | pieces of each row, scheme 3 |
# | `rows_per_program` | | int, a power of two | scheme 4 |
# | result | as `x`, contiguous | as `x` | a new tensor |
#
# All arithmetic is done in float32, and rounded once at the store. Partial sums are float32 too.
#
# **Memory traffic.** Schemes 1 and 4 read x once and write y once: 4 bytes an element in bfloat16.
# Schemes 2 and 3 read x twice: 6 bytes. Does the second read cost time? That depends on whether x
# still lies in the L2 cache.

# %% tags=["reference"]
from tritonbook.cache_hint import cache_hint
from tritonbook.checking import tensor


def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def prepare(x, w):
    """x and an empty result as rows [M, N]. Raises ValueError for a weight that does not fit."""
    N = x.shape[-1]
    if w.shape != (N,) or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape ({N},), got {tuple(w.shape)}")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    return x.reshape(-1, N), y.view(-1, N)


def pieces(N, num_splits):
    """Columns of each piece when N columns are cut in num_splits, and the tile that holds one.

    A piece has a multiple of 16 columns, so that each begins at an aligned address. The last ones
    may be short, or empty.
    """
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    BLOCK_N = triton.next_power_of_2(piece_size)
    if BLOCK_N > 65536:
        raise ValueError(f"a piece of {piece_size} columns does not fit one program: cut finer")
    return piece_size, BLOCK_N


EPS = 1e-6


def rows(*shape, eps=EPS, **how):
    """The arguments x, w, eps of a case: x of this shape, w as long as its rows."""
    return {"x": tensor(*shape, **how), "w": tensor(shape[-1]), "eps": eps}

# %% [markdown]
# ## Task 1. Scheme 3: several programs share a row
#
# There are `M * num_splits` programs. Program `pid` takes piece `pid % num_splits` of row
# `pid // num_splits`. Fill three gaps: the sum (about 5 lines), the normalisation (about 9), and
# the end of the wrapper (about 10).
#
# `pieces(N, num_splits)` above says how many columns a piece has, and how wide the tile is that
# holds it. The tile is a power of two, so it may be wider than the piece. A lane counts only if it
# lies inside its piece **and** inside the row. What goes wrong without the first condition? And
# without the second?

# %% tags=["answer"] key="rmsnorm_split"
@triton.jit
def rmsnorm_sums_kernel(
    x_ptr, sums_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """sums[row] += sum of x^2 over one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size, and that sums is 0 before the launch.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)

    # TODO: columns and mask of this piece, load x, add its squares up (5 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    # inside the piece (what follows is another program's) and inside the row
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))
    ### END SOLUTION


@triton.jit
def rmsnorm_scale_kernel(
    x_ptr, w_ptr, sums_ptr, y_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = x / sqrt(sums[row] / N + eps) * w on one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size, and that sums holds the sums of whole rows.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)

    # TODO: columns and mask, load x, w, the row's sum, normalise, store (9 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.load(sums_ptr + row) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def rmsnorm_split(x, w, eps=1e-6, num_splits=4):
    """RMSNorm of the rows of x [..., N]; num_splits programs share each row."""
    x_rows, y_rows = prepare(x, w)
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    grid = (M * num_splits,)
    num_warps = min(max(BLOCK_N // 512, 1), 16)
    # TODO: a float32 buffer for the sums, two launches, return the result (about 10 lines)
    ### BEGIN SOLUTION
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    rmsnorm_sums_kernel[grid](
        x_rows, sums, N, num_splits, piece_size, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=num_warps,
    )
    rmsnorm_scale_kernel[grid](
        x_rows, w, sums, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=num_warps,
    )
    return y_rows.view(x.shape)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rmsnorm_split"
# #### Hints for rmsnorm_split
#
# <details><summary>Hint 1: a question</summary>
#
# N is 100 and there are 3 pieces. `pieces(100, 3)` gives 48 columns a piece and a tile of 64 lanes.
# Which columns do the 64 lanes of piece 0 touch? Which of them belong to piece 1? And which
# columns do the lanes of piece 2 touch?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Both kernels are `rmsnorm_row_kernel` of notebook 10, cut in two. The first ends with the sum, and
# `total_kernel` above shows how to add to it. The second begins with the sum. What must the wrapper
# do with the buffer before the first launch?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_n = piece * ... + offs
# mask_n = (offs < ...) & (offs_n < ...)
# x_ptrs = x_ptr + row * ... + offs_n * ...
# x = tl.load(x_ptrs, mask=..., other=...).to(tl.float32)
# tl.atomic_add(... + row, ...)          # first kernel
# mean_square = tl.load(... + row) / ... # second kernel
# ```
#
# In the wrapper: one float32 number for each row. Then both kernels, `[grid]`, with their arguments
# in order. `*x_rows.stride()` gives two strides. The result has the shape of x:
# `y_rows.view(...)`.
#
# </details>

# %% tags=["check"] key="rmsnorm_split" points=4
check(rmsnorm_split)

# %% [markdown]
# ## The last bits
#
# Add the same numbers in another order, and float32 may give you other last bits. With atomics the
# order is "whoever comes first", and that changes from run to run. The cell takes one row in 64
# pieces and adds the pieces up in 200 random orders:

# %%
sums_of_pieces = torch.randn(64, 4096).pow(2).sum(dim=1)


def add_up(numbers):
    acc = torch.zeros(())
    for number in numbers:
        acc = acc + number
    return float(acc)


results = sorted({add_up(sums_of_pieces[torch.randperm(64)]) for _ in range(200)})
print(f"{len(results)} different sums, from {results[0]:.4f} to {results[-1]:.4f}")

# %% [markdown]
# All of them are right, as far as float32 goes. But a training run that cannot be repeated has cost
# many people many days. If you want the same bits every time, you must fix the order. On a GPU the
# next cell counts how many different results 20 calls of your kernel give. (The interpreter runs
# one program after another, so there you always see 1.)

# %%
x = torch.randn(4, 262_144, device=DEVICE)
w = torch.randn(262_144, device=DEVICE)
calls = [mine("rmsnorm_split", quiet=True)(x, w, EPS, 32) for _ in range(20)]
distinct = {call.cpu().numpy().tobytes() for call in calls}
spread = max((call - calls[0]).abs().max().item() for call in calls)
print(f"{len(distinct)} different results in 20 calls, at most {spread:.1e} apart")

# %% [markdown]
# ## Task 2. The same bits every time
#
# Give every program a place of its own. The buffer `partials` has `M * num_splits` float32 numbers.
# The first kernel stores its sum there, without atomics. In the second kernel each program loads
# *all* partial sums of its row and adds them up with `tl.sum`, whose order never changes.
#
# There is a bonus. Every place is written before it is read, so nothing has to be set to zero.
#
# Copy your two kernels of Task 1. Change the end of the first and one line of the second. `BLOCK_S`
# is `num_splits`, rounded up to a power of two.

# %% tags=["answer"] key="rmsnorm_split_det"
@triton.jit
def rmsnorm_partials_kernel(
    x_ptr, partials_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """partials[row, piece] = sum of x^2 over the piece.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)

    # TODO: as in rmsnorm_sums_kernel, but store in this program's own place (5 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    # pid is row * num_splits + piece: the pieces of a row lie side by side
    tl.store(partials_ptr + pid, tl.sum(x * x, axis=0))
    ### END SOLUTION


@triton.jit
def rmsnorm_join_kernel(
    x_ptr, w_ptr, partials_ptr, y_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """y = x / sqrt(sum(partials[row]) / N + eps) * w on one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size and BLOCK_S >= num_splits.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)
    offs_s = tl.arange(0, BLOCK_S)

    # TODO: as in rmsnorm_scale_kernel, but add up the row's partial sums (12 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    # x and w first: while they travel, the partial sums are added up
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    partials_ptrs = partials_ptr + row * num_splits + offs_s
    partials = tl.load(partials_ptrs, mask=offs_s < num_splits, other=0.0)

    mean_square = tl.sum(partials, axis=0) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def rmsnorm_split_det(x, w, eps=1e-6, num_splits=4):
    """As rmsnorm_split, but with the same bits at every call."""
    x_rows, y_rows = prepare(x, w)
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    BLOCK_S = triton.next_power_of_2(num_splits)
    grid = (M * num_splits,)
    num_warps = min(max(BLOCK_N // 512, 1), 16)
    # TODO: a float32 buffer for all partial sums, two launches, return the result (about 10 lines)
    ### BEGIN SOLUTION
    partials = torch.empty(M * num_splits, dtype=torch.float32, device=x.device)
    rmsnorm_partials_kernel[grid](
        x_rows, partials, N, num_splits, piece_size, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=num_warps,
    )
    rmsnorm_join_kernel[grid](
        x_rows, w, partials, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, BLOCK_S=BLOCK_S, num_warps=num_warps,
    )
    return y_rows.view(x.shape)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rmsnorm_split_det"
# #### Hints for rmsnorm_split_det
#
# <details><summary>Hint 1: a question</summary>
#
# Row 2 has 4 pieces. Which four places of the buffer belong to it, if rows follow each other? Which
# of them is yours, if you are program `pid`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Only one line changes in each kernel. `tl.atomic_add` becomes `tl.store`, at another place. And
# the load of one sum becomes a load of a whole tile of them, `BLOCK_S` wide. Masked lanes of that
# tile take part in a sum: what must they hold?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tl.store(partials_ptr + ..., tl.sum(..., axis=0))             # first kernel
#
# partials_ptrs = partials_ptr + row * ... + offs_s             # second kernel
# partials = tl.load(partials_ptrs, mask=offs_s < ..., other=...)
# mean_square = tl.sum(...) / ...
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_split_det" points=3
check(rmsnorm_split_det)

# %% [markdown]
# ## Task 3. Scheme 4: several rows for one program
#
# Now the other end: a million rows of 64. One program takes `BLOCK_M` rows at once, as a tile with
# two dimensions. Addresses are sums of a column of row offsets and a row of column offsets:
# `offs_m[:, None]` stands upright, `offs_n[None, :]` lies flat, and together they make a matrix.
#
# Fill the kernel's gap (about 10 lines) and the grid of the wrapper with its launch (about 6).

# %% tags=["answer"] key="rmsnorm_multirow"
@triton.jit
def rmsnorm_multirow_kernel(
    x_ptr, w_ptr, y_ptr,
    M, N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    KEEP: tl.constexpr = "",
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = BLOCK_M neighbouring rows.
    Assumes BLOCK_N >= N.
    """
    pid = tl.program_id(0).to(tl.int64)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)

    # TODO: mask and addresses [BLOCK_M, BLOCK_N], load, row means, store (10 lines)
    ### BEGIN SOLUTION
    mask_n = offs_n < N
    mask = (offs_m < M)[:, None] & mask_n[None, :]  # [BLOCK_M, BLOCK_N]

    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptrs, mask=mask, other=0.0, eviction_policy=KEEP).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.sum(x * x, axis=1) / N  # [BLOCK_M]
    y = x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]

    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    """RMSNorm of the rows of x [..., N]; one program takes rows_per_program rows."""
    x_rows, y_rows = prepare(x, w)
    M, N = x_rows.shape
    BLOCK_N = triton.next_power_of_2(N)
    if rows_per_program * BLOCK_N > 65536:
        raise ValueError(f"{rows_per_program} rows of {N} do not fit one program")
    num_warps = min(max(rows_per_program * BLOCK_N // 512, 1), 16)
    # TODO: the grid, the launch, return the result (about 6 lines)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(M, rows_per_program),)
    rmsnorm_multirow_kernel[grid](
        x_rows, w, y_rows, M, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_M=rows_per_program, BLOCK_N=BLOCK_N, KEEP=cache_hint(x), num_warps=num_warps,
    )
    return y_rows.view(x.shape)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rmsnorm_multirow"
# #### Hints for rmsnorm_multirow
#
# <details><summary>Hint 1: a question</summary>
#
# 10 rows, 4 rows a program. How many programs? Which rows of the last one do not exist? You have
# two reasons to mask a lane now. Which?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Write the row kernel of notebook 10 with one more dimension. A tile is `[BLOCK_M, BLOCK_N]`. Which
# axis has the elements of *one* row? Sum over that one. You get `BLOCK_M` numbers. To multiply a
# matrix by them they must stand upright: `[:, None]`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mask_n = ...
# mask = (offs_m < ...)[:, None] & mask_n[None, :]
# x_ptrs = x_ptr + offs_m[:, None] * ... + offs_n[None, :] * ...
# x = tl.load(x_ptrs, mask=..., other=...).to(tl.float32)
# mean_square = tl.sum(..., axis=...) / ...
# y = x * tl.rsqrt(...)[:, None] * w[None, :]
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_multirow" points=3
check(rmsnorm_multirow)

# %% [markdown]
# ## Who reads what
#
# `show_tiles` runs your kernels and records every address. Compare scheme 3 with scheme 4:

# %%
x, w = torch.randn(2, 96, device=DEVICE), torch.randn(96, device=DEVICE)
show_tiles(mine("rmsnorm_split_det", quiet=True), x, w, EPS, 3)

# %%
x, w = torch.randn(8, 12, device=DEVICE), torch.randn(12, device=DEVICE)
show_tiles(mine("rmsnorm_multirow", quiet=True), x, w, EPS, 4)

# %% [markdown]
# **Predict.** How many bytes does scheme 3 read from x, if scheme 4 reads 24,000?
#
# <details><summary>Answer</summary>
#
# 48,000: each of the two launches reads x once. The meter says so too. (The buffer of partial sums
# adds a little, and w is read by every program anew.)
#
# </details>

# %%
x = torch.randn(10, 600, device=DEVICE)
w = torch.randn(600, device=DEVICE)
traffic(mine("rmsnorm_split_det", quiet=True), x, w, EPS, 4)

# %% [markdown]
# ## The map
#
# Which scheme is the fastest? That depends on M and N. The next cell lets all four run on many
# sizes and draws the winner of each. The number is the winning scheme. The factor says how much
# faster it is than the better of schemes 1 and 2.
#
# **Predict** before you run it: where in the map will 3 stand, and where 4?
#
# On a GPU the cell times the workbook's four kernels on it, in half a minute. Without one it
# shows a map that was measured before, and says on which GPU.

# %% tags=["reference"]
from tritonbook.seeing.pictures_norms import Regimes, stored_regimes
from tritonbook.timing.clock import clock

# Below this much traffic a busy host may take longer over two launches than the GPU. It is twice
# an H100's L2 cache as well: what is larger gains nothing from warm caches.
LAUNCH_BOUND_BYTES = 100e6

# Scheme 1, scheme 2, scheme 3 in its repeatable form, scheme 4.
SCHEMES = ("row", "loop", "split", "multirow")
rmsnorm_row, rmsnorm_loop = reference("rmsnorm_row"), reference("rmsnorm_loop")


def runner(scheme):
    """The workbook's function for a scheme, as f(x, w), with the knobs that suit an H100."""
    split, multirow = reference("rmsnorm_split_det"), reference("rmsnorm_multirow")
    return {
        "row": lambda x, w: rmsnorm_row(x, w, EPS),
        "loop": lambda x, w: rmsnorm_loop(x, w, EPS, block=block_for(w.numel())),
        "split": lambda x, w: split(x, w, EPS, num_splits=splits_for(w.numel())),
        "multirow": lambda x, w: multirow(x, w, EPS, rows_per_program=rows_for(w.numel())),
    }[scheme]


def block_for(N):
    """Tiles of 8192 elements, or as short as the row."""
    return min(8192, triton.next_power_of_2(N))


def splits_for(N):
    """Pieces of 8192 columns."""
    return triton.cdiv(N, 8192)


def rows_for(N):
    """As many rows as make a tile of 1024 elements, but at least one."""
    return max(1, 1024 // triton.next_power_of_2(N))


def fits(scheme, N):
    """Schemes 1 and 4 hold whole rows, and a program can hold 65536 elements."""
    return scheme in ("loop", "split") or N <= 65536


def measured_us(scheme, M, N):
    """Microseconds of a scheme in bfloat16 on this GPU; small shapes without the host's share."""
    x = torch.randn(M, N, dtype=torch.bfloat16, device=DEVICE)
    w = torch.randn(N, dtype=torch.bfloat16, device=DEVICE)
    run = runner(scheme)
    timer = clock()
    if 4 * M * N < LAUNCH_BOUND_BYTES:
        return 1e3 * timer.device_time(lambda: run(x, w))
    return 1e3 * timer.time(lambda: run(x, w), warmup=5, rep=20).median


def measure_map(sizes):
    """The four schemes on each size (M, N)."""
    rows = []
    for M, N in sizes:
        us = {s: round(measured_us(s, M, N), 2) for s in SCHEMES if fits(s, N)}
        rows.append({"M": M, "N": N, "us": us})
    where = f"bfloat16, {torch.cuda.get_device_name()}, torch {torch.__version__}"
    return Regimes(f"{where}, Triton {triton.__version__}", tuple(rows))

# %%
if DEVICE == "cuda":
    sizes = [
        (4**i, 4**j)
        for i in range(11)
        for j in range(3, 11)
        if 2**14 <= 4 ** (i + j) <= 2**26
    ]
    regimes = measure_map(sizes)
else:
    regimes = stored_regimes()
regimes.plot()

# %% [markdown]
# **Read the map.** Along each diagonal the matrix has the same size, so the same bytes have to
# move. Yet the times differ widely:
#
# - At the lower left (many short rows) scheme 1 pays for starting a program for every row. Scheme 4
#   pays once for many.
# - At the upper right (few long rows) schemes 1 and 2 leave most SMs without work.
# - In the middle all schemes that read x once from memory are alike, and near the ceiling. There
#   scheme 3 loses: it reads x a second time, and a large x has left the cache by then.
#
# ## Scheme 3 in one launch
#
# A spin barrier is safe if all programs run at the same time. A *cooperative launch* (from Triton 3.3
# on) promises that, or raises an error. Then x is read once, by one launch:
#
# 1. Each program stores its partial sum and adds 1 to the row's counter.
# 2. It reads the counter again and again, until all programs of the row have come.
# 3. It adds the partial sums up, and normalises its piece, still in registers.
#
# `wait_for_all` does the counting. Each call takes a counter from one multiple of `num_splits` to the
# next, so it is never set back.

# %% tags=["reference"]
from tritonbook.cooperative import arrival_counters, can_launch_cooperatively, wait_for_all

HAS_GPU = torch.cuda.is_available()
NUM_SMS = torch.cuda.get_device_properties(0).multi_processor_count if HAS_GPU else 132


@triton.jit
def rmsnorm_cooperative_kernel(
    x_ptr, w_ptr, partials_ptr, arrived_ptr, y_ptr, N, eps,
    BLOCK_N: tl.constexpr, BLOCK_S: tl.constexpr,
):
    """y = x / sqrt(mean(x^2) + eps) * w on one piece of the row.

    One program = one piece (axis 0) of one row (axis 1).
    Assumes a cooperative launch, and contiguous memory.
    """
    piece, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    num_splits = tl.num_programs(0)
    offs_n = piece * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    x = tl.load(x_ptr + row * N + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    partials_ptr += row * num_splits
    tl.store(partials_ptr + piece, tl.sum(x * x, axis=0))
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)  # comes during the wait

    wait_for_all(arrived_ptr + row, num_splits)
    offs_s = tl.arange(0, BLOCK_S)
    # .cg: from L2, where all stores arrive
    partials = tl.load(
        partials_ptr + offs_s, mask=offs_s < num_splits, other=0.0, cache_modifier=".cg"
    )
    y = x * tl.rsqrt(tl.sum(partials, axis=0) / N + eps) * w.to(tl.float32)
    tl.store(y_ptr + row * N + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def one_piece_for_each_sm(M, N):
    """Columns of a piece, and pieces of a row, for at most NUM_SMS programs."""
    BLOCK_N = 256
    while M * -(-N // BLOCK_N) > max(M, NUM_SMS):  # triton.cdiv: 3 us
        BLOCK_N *= 2
    return BLOCK_N, -(-N // BLOCK_N)


def rmsnorm_cooperative(x, w, eps=1e-6):
    """RMSNorm of few long rows [..., N]: in one launch if it can, else by rmsnorm_split_det."""
    N = x.shape[-1]
    M = x.numel() // N
    BLOCK_N, num_splits = one_piece_for_each_sm(M, N)
    fits = M * num_splits <= NUM_SMS and BLOCK_N <= 32768 and w.shape == (N,)
    together = fits and x.is_contiguous() and w.is_contiguous() and can_launch_cooperatively()
    if not together:
        return rmsnorm_split_det(x, w, eps, splits_for(N))
    y = torch.empty_like(x)
    partials = torch.empty(M * num_splits, dtype=torch.float32, device=x.device)
    rmsnorm_cooperative_kernel[(num_splits, M)](
        x, w, partials, arrival_counters(x.device, M, num_splits), y, N, eps,
        BLOCK_N=BLOCK_N, BLOCK_S=1 << (num_splits - 1).bit_length(),
        num_warps=min(max(BLOCK_N // 512, 1), 16), launch_cooperative_grid=True,
    )
    return y

# %%
M, N = (8, 262_144) if DEVICE == "cuda" else (2, 16_384)
x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
in_turn, splits = mine("rmsnorm_split_det", quiet=True), splits_for(N)
torch.testing.assert_close(rmsnorm_cooperative(x, w, EPS), in_turn(x, w, EPS, splits))
bench(
    {
        "two launches": lambda: in_turn(x, w, EPS, splits),
        "one, cooperative": lambda: rmsnorm_cooperative(x, w, EPS),
    },
    bytes=2 * x.numel() * x.element_size(),
    baseline="two launches",
    stored="rmsnorm_cooperative",
)

# %% [markdown]
# ## Task 4. The one that chooses
#
# Write `choose(M, N)`. It returns one of `"row"`, `"loop"`, `"split"`, `"multirow"`. Below it,
# `rmsnorm` runs the scheme that you chose (for `"split"` in one launch, if it can). It is the
# RMSNorm of all later notebooks.
#
# Read your rules from the map. `NUM_SMS` is the number of SMs of this GPU (132, an H100's, where
# there is none).
#
# **How it is graded.** Your choice is compared with the best of the four on sizes that are not in
# the map. The *regret* is the time of your choice divided by the time of the best. 1.00 is perfect.
# The worst size must stay below 2, and the average (geometric mean) below 1.25.
#
# With a GPU these times are measured. Without one they come from a model, printed as such. It
# knows three things about an H100, all of them in the map: a launch takes 1.6 µs, a program start
# 0.62 ns of the whole GPU's time, memory brings 2.9 TB/s (and one SM no more than 40 GB/s).

# %% tags=["answer"] key="rmsnorm"
def choose(M, N):
    """The scheme for M rows of N elements: "row", "loop", "split" or "multirow"."""
    # TODO: three or four rules, read from the map (about 7 lines)
    ### BEGIN SOLUTION
    if N <= 2048:
        return "multirow"
    if N <= 16384:
        return "row"
    if M < 2 * NUM_SMS:
        return "split"
    return "loop"
    ### END SOLUTION


def rmsnorm(x, w, eps=1e-6):
    """RMSNorm over the last dimension of x [..., N], by the scheme that suits its shape."""
    N = x.shape[-1]
    scheme = choose(x.numel() // N, N)
    if scheme == "row":
        return rmsnorm_row(x, w, eps)
    if scheme == "loop":
        return rmsnorm_loop(x, w, eps, block=block_for(N))
    if scheme == "split":
        return rmsnorm_cooperative(x, w, eps)
    return rmsnorm_multirow(x, w, eps, rows_per_program=rows_for(N))

# %% [markdown] tags=["hint"] key="rmsnorm"
# #### Hints for rmsnorm
#
# <details><summary>Hint 1: a question</summary>
#
# Go through the map row by row. Up to which N does 4 win or lose by a hair? From which N on does 3
# win, and for how many rows at most?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Two ideas decide everything. Short rows: does a program have enough work to be worth its start?
# Long rows: are there at least as many rows as SMs? Between the two, scheme 1 reads x once and is
# hard to beat. A row longer than 65,536 has only schemes 2 and 3.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if N <= ...:
#     return "multirow"
# if N <= ...:
#     return "row"
# if M < ... * NUM_SMS:
#     return "..."
# return "..."
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm" points=4
check(rmsnorm)

# %% [markdown]
# ## Predict, then measure
#
# Your `rmsnorm` against PyTorch's own, on the three shapes that this notebook began with. Which of
# them will show the greatest difference? Write your numbers into the box below *before* you run the
# cells above it. Without a GPU, predict for an H100, which copies 2,966 GB/s.

# %%
SHAPES = [(1 << 20, 64), (16384, 4096), (8, 262144)]


def torch_rmsnorm(x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, EPS)


my_rmsnorm = mine("rmsnorm", quiet=True)  # looked up once, not inside what is timed
results = {}
for M, N in SHAPES:
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
    candidates = {
        "torch": lambda x=x, w=w: torch_rmsnorm(x, w),
        "scheme 2": lambda x=x, w=w: rmsnorm_loop(x, w, EPS),
        "rmsnorm": lambda x=x, w=w: my_rmsnorm(x, w, EPS),
    }
    size = 2 * x.numel() * x.element_size()
    stored = f"rmsnorm_{M}x{N}"  # without a GPU, figures from another machine, labelled so
    results[M, N] = bench(candidates, bytes=size, baseline="torch", stored=stored)
    print(f"{M} rows of {N}")
    print(results[M, N].table())

# %%
results[SHAPES[-1]].plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that scheme 3 reads from x, 6 x 2000 float32": None,
        "ms of your rmsnorm, 1,048,576 rows of 64 in bfloat16": None,
        "ms of your rmsnorm, 8 rows of 262,144 in bfloat16": None,
    },
    measured=[
        lambda: traffic(
            mine("rmsnorm_split_det", quiet=True),
            torch.randn(6, 2000, device=DEVICE),
            torch.randn(2000, device=DEVICE),
            EPS,
            4,
        )["x"],
        lambda: time_of(results[SHAPES[0]], "rmsnorm"),
        lambda: time_of(results[SHAPES[2]], "rmsnorm"),
    ],
    hints=[
        "Each of the two launches reads x once.",
        "However many programs there are, 268 MB have to move: 4 bytes for each element.",
        "8.4 MB are nothing here. Count launches: each costs the host some microseconds.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 6 × 2000 × 4 = 48,000 for one reading, and there are two: 96,000.
#
# **Milliseconds.** 1,048,576 × 64 elements × 4 bytes = 268 MB, at an H100's 2,966 GB/s 0.091 ms. It
# took 0.093. The 8 long rows hold 8.4 MB: memory alone would need 0.003 ms. The GPU
# took 0.006, in one launch. The call took 0.009, and two launches 0.080: below 0.02 ms you time the
# host, not the kernel.
#
# </details>

# %% [markdown]
# **Read the table.** The middle shape is near the ceiling with every scheme. At the two ends the
# division of the work makes most of the difference, with the same bytes and the same formula.
#
# The last shape takes so little time that the launch shows. Then two figures count (notebook 02):
# what the GPU needs, and what your program waits for.

# %% [markdown]
# ## Recap
#
# - A grid should have enough programs for all SMs, and enough work in each program.
# - Programs that share a result need atomics, or places of their own and a second launch.
# - Atomics need a buffer that is zero at every call. Their order changes the last bits.
# - There is no best kernel, only a best kernel for a shape. Measure, then choose.
#
# <details><summary>Common mistakes</summary>
#
# - A buffer of sums that is not set to zero before every call.
# - Partial sums in half precision: with a long row they stop growing.
# - A mask for the end of the row, but none for the end of the piece.
# - `tl.sum(x * x, axis=0)` on a tile of several rows: that mixes rows.
# - A choice by M or N alone.
#
# </details>
#
# Next: [13_layernorm](13_layernorm.ipynb), where a mean has to be subtracted first.

# %%
progress()
