# ---
# workbook:
#   title: LayerNorm, one row for many programs
#   minutes: 50
#   needs: interpreter
#   requires: [11_rmsnorm_split, 13_layernorm]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - share a very long row among programs, and merge what each of them found
#     - pass results from one launch to the next through a buffer
#     - reduce a tile by a function of your own, with `tl.reduce`
#     - predict the bytes and milliseconds of three launches
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Networks for images and sound sometimes normalise a whole feature map at once: 128 channels of
# 512 × 512 numbers are a row of 33,554,432, and a batch has 8 of them. With one program for each row,
# 8 of an H100's 132 processors have work. As in page 11, several programs have to share a row.
#
# RMSNorm needed one number of each row, and an atomic could add up the programs' shares. LayerNorm
# needs three numbers that belong together, and an atomic changes one. So each program writes its
# count, mean and $M_2$ to **a place of its own**. Later somebody merges them.
#
# When is later? Programs of one launch run in any order, and none may wait for another. But when a
# launch begins, everything that the launch before it stored is there. So there are three launches:
#
# 1. **statistics**: each program takes one piece of a row and stores its three numbers,
# 2. **merge**: one program a row merges them to a mean and one over a root,
# 3. **normalise**: each program takes one piece again.

# %%
pictures("layernorm_split").draw_three_launches()

# %% [markdown]
# ## A smaller kernel first: who has how many elements?
#
# A row of N elements is cut into `num_splits` pieces of `piece_size` each. The helper `pieces` rounds
# the size up to a multiple of 16, so that every piece begins at an address that wide loads can use
# (page 03). A tile is a power of two, and may be wider than a piece. So the mask has two parts: not
# past the end of the *piece*, and not past the end of the *row*.
#
# This kernel only counts. Its first five lines come back in every kernel of this page.

# %% tags=["reference"]
def pieces(N, num_splits):
    """Elements of a piece when N elements are cut in num_splits, and the tile that holds one."""
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    if piece_size > 16384:
        raise ValueError(f"a piece of {piece_size} elements does not fit one program: cut finer")
    return piece_size, triton.next_power_of_2(piece_size)


# %%
@triton.jit
def count_kernel(n_ptr, M, N, num_splits, piece_size, BLOCK_N: tl.constexpr):
    """n[m, s] = how many elements piece s of row m has.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(axis=0)
    pid_m, pid_s = pid % M, pid // M
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid_s * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    tl.store(n_ptr + pid_m * num_splits + pid_s, tl.sum(mask_n.to(tl.int32), axis=0))


n = torch.empty(2, 4, dtype=torch.int32, device=DEVICE)
piece_size, BLOCK_N = pieces(33, num_splits=4)
count_kernel[(2 * 4,)](n, 2, 33, 4, piece_size, BLOCK_N=BLOCK_N)
print(f"pieces of {piece_size}:", n.tolist())

# %% [markdown]
# Two rows of 33 in four pieces of 16. The third piece has one element. **The fourth has none**, and
# its program runs all the same.
#
# `pid % M` is the row, `pid // M` the piece. So neighbouring programs take the same piece of
# *different* rows. They need the same part of the weight and of the bias, and all but the first find
# it in the cache.
#
# **Predict.** What does the fourth program get, if it divides its sum by its count? And what becomes
# of the row, when somebody merges that?
#
# <details><summary>Answer</summary>
#
# 0 / 0 is NaN. `welford_combine` multiplies it by a share of 0, and NaN · 0 is NaN again: all of the
# row is lost. An empty piece must be stored as (0, 0, 0). Any divisor will do, but 0.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed; M rows in all |
# | `w`, `b` | (N,), contiguous | floating | weight and bias |
# | `eps` | | float | added to the variance, inside the root |
# | `num_splits` | | int | pieces of a row, of at most 16,384 elements |
# | `piece_stats(x, num_splits)` | three times (M, num_splits) | float32 | count, mean, $M_2$ |
# | `layernorm_split(...)` | as `x`, contiguous | as `x` | new |
#
# An empty piece has count, mean and $M_2$ 0. `welford_combine` is that of page 13.

# %% tags=["reference"]
def layernorm_ref(x, w, b, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps) * w + b


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 04, at most 32."""
    return min(max(block // 512, 1), 32)

# %% [markdown]
# ## Task 1. What each program finds
#
# Fill the gap, about 8 lines: load the piece, then count, mean and $M_2$, then three stores. The piece
# is in one tile, so subtract its mean first, as in Task 1 of page 13. `place` is where this piece's
# numbers go.

# %% tags=["answer"] key="piece_stats"
@triton.jit
def piece_stats_kernel(
    x_ptr, n_ptr, mean_ptr, m2_ptr,
    M, N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """n, mean, m2 [m, s] = count, mean and M2 of piece s of row m.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size and contiguous n, mean, m2.
    """
    pid = tl.program_id(axis=0)
    pid_m, pid_s = (pid % M).to(tl.int64), pid // M
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid_s * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)
    place = pid_m * num_splits + pid_s

    # TODO: load x; n, mean, centred; store n, mean and M2 at place (about 8 lines)
    ### BEGIN SOLUTION
    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    n = tl.sum(mask_n.to(tl.float32), axis=0)
    # an empty piece has the sum 0: any divisor but 0 gives its mean
    mean = tl.sum(x, axis=0) / tl.maximum(n, 1.0)
    centred = tl.where(mask_n, x - mean, 0.0)

    tl.store(n_ptr + place, n)
    tl.store(mean_ptr + place, mean)
    tl.store(m2_ptr + place, tl.sum(centred * centred, axis=0))
    ### END SOLUTION


def piece_stats(x, num_splits):
    """Count, mean and M2 of each piece of each row of x [..., N]: three of [M, num_splits]."""
    x_rows = x.reshape(-1, x.shape[-1])
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    n, mean, m2 = torch.empty((3, M, num_splits), dtype=torch.float32, device=x.device).unbind(0)
    piece_stats_kernel[(M * num_splits,)](
        x_rows, n, mean, m2, M, N, num_splits, piece_size, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return n, mean, m2

# %% [markdown] tags=["hint"] key="piece_stats"
# #### Hints for piece_stats
#
# <details><summary>Hint 1: a question</summary>
#
# How many elements has this piece? Three numbers are near: `BLOCK_N`, `piece_size`, and what the mask
# knows. Which of them is right for the third piece of 33?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `count_kernel` has the count: it needs float32 here. Load, mean and centring are those of
# `layernorm_kernel`, with another divisor. $M_2$ is a sum: nothing divides it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # address and load of the piece, in float32
# n = ...
# mean = ...  # what happens here when n is 0?
# centred = ...
# # three stores at place: the third one of a sum
# ```
#
# </details>

# %% tags=["check"] key="piece_stats" points=4
check(piece_stats)

# %%
x = torch.arange(33.0, device=DEVICE)[None]  # the numbers 0 to 32
for name, found in zip(("n", "mean", "M2"), piece_stats(x, 4), strict=True):
    print(f"{name:4}", found.tolist())

# %% [markdown]
# The numbers 0 to 15 have the mean 7.5, and 16 to 31 have the mean 23.5. Both have the same $M_2$.
#
# ## `tl.reduce`: a reduction by your own function
#
# The merge kernel loads a row's statistics as tiles, a piece in each lane, and has to merge the lanes.
# `tl.sum` and `tl.max` do so two by two, in a tree. `tl.reduce(tiles, axis,
# combine_fn)` does so with *your* function. `tiles` may be a tuple of tiles. Then `combine_fn` gets
# one number of each tile for one side, then one of each for the other side. It returns as many
# numbers as a side has. Here is the largest element of a row together with its place:


# %%
@triton.jit
def larger(value_a, place_a, value_b, place_b):
    """The larger of two values, and its place."""
    a_wins = value_a >= value_b
    return tl.where(a_wins, value_a, value_b), tl.where(a_wins, place_a, place_b)


@triton.jit
def largest_kernel(x_ptr, value_ptr, place_ptr, N, BLOCK_N: tl.constexpr):
    """value = max of x, place = where it stands.

    One program = the whole vector.
    Assumes BLOCK_N >= N and contiguous memory.
    """
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs_n, mask=offs_n < N, other=float("-inf"))

    value, place = tl.reduce((x, offs_n), 0, larger)

    tl.store(value_ptr, value)
    tl.store(place_ptr, place)


values = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0], device=DEVICE)
value, place = torch.zeros(1, device=DEVICE), torch.zeros(1, device=DEVICE, dtype=torch.int32)
largest_kernel[(1,)](values, value, place, 5, BLOCK_N=8)
print("largest:", value.item(), "at place", place.item())

# %% [markdown]
# Two rules. The tree's shape is Triton's choice, so the result must not depend on who is merged with
# whom first. And masked lanes take part: they must hold what changes nothing. For `larger` that is
# minus infinity. For `welford_combine` it is an empty part. In a tree of eight lanes with five pieces
# two empty parts do meet: that is what its guard is for.
#
# ## Task 2. Merge, then normalise
#
# Two gaps.
#
# - **The merge kernel**, about 6 lines. One program a row: load the three numbers of all pieces as
#   tiles of `BLOCK_S` lanes, let `tl.reduce` merge them, store the mean and one over the root. What
#   must a lane hold that belongs to no piece?
# - **The wrapper**: launch this kernel and the next one, about 8 lines. `layernorm_scale_kernel`
#   normalises a piece, and is given.

# %% tags=["answer"] key="layernorm_split"
@triton.jit
def welford_combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    """(n, mean, M2) of two parts together, from (n, mean, M2) of each."""
    n = n_a + n_b
    delta = mean_b - mean_a
    share_b = n_b / tl.maximum(n, 1.0)
    return n, mean_a + delta * share_b, m2_a + m2_b + delta * delta * n_a * share_b


@triton.jit
def layernorm_merge_kernel(
    n_ptr, mean_ptr, m2_ptr, row_mean_ptr, row_rstd_ptr,
    num_splits,
    eps,
    BLOCK_S: tl.constexpr,
):
    """Mean and 1 / root of a row from the statistics of its pieces.

    One program = one row.
    Assumes BLOCK_S >= num_splits and contiguous memory.
    """
    pid_m = tl.program_id(axis=0)
    offs_s = tl.arange(0, BLOCK_S)
    mask_s = offs_s < num_splits
    places = pid_m * num_splits + offs_s

    # TODO: load three tiles, merge them, store the row's two numbers (about 6 lines)
    ### BEGIN SOLUTION
    n = tl.load(n_ptr + places, mask=mask_s, other=0.0)
    mean = tl.load(mean_ptr + places, mask=mask_s, other=0.0)
    m2 = tl.load(m2_ptr + places, mask=mask_s, other=0.0)

    n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)

    tl.store(row_mean_ptr + pid_m, mean)
    tl.store(row_rstd_ptr + pid_m, tl.rsqrt(m2 / n + eps))
    ### END SOLUTION


@triton.jit
def layernorm_scale_kernel(
    x_ptr, w_ptr, b_ptr, row_mean_ptr, row_rstd_ptr, y_ptr,
    M, N, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    BLOCK_N: tl.constexpr,
):
    """y = (x - mean) * rstd * w + b on one piece of a row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(axis=0)
    pid_m, pid_s = (pid % M).to(tl.int64), pid // M
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid_s * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    y = (x - tl.load(row_mean_ptr + pid_m)) * tl.load(row_rstd_ptr + pid_m) * w + b

    tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n)


def layernorm_split(x, w, b, eps=1e-5, num_splits=64):
    """LayerNorm over the last dimension of x [..., N]; num_splits programs share a row."""
    if not w.shape == b.shape == x.shape[-1:] or not (w.is_contiguous() and b.is_contiguous()):
        raise ValueError(f"w and b must be contiguous with shape {tuple(x.shape[-1:])}")
    N = x.shape[-1]
    piece_size, BLOCK_N = pieces(N, num_splits)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    row_mean, row_rstd = torch.empty((2, M), dtype=torch.float32, device=x.device).unbind(0)
    BLOCK_S = triton.next_power_of_2(num_splits)

    n, mean, m2 = piece_stats(x_rows, num_splits)
    # TODO: launch the other two kernels (about 8 lines)
    ### BEGIN SOLUTION
    layernorm_merge_kernel[(M,)](
        n, mean, m2, row_mean, row_rstd, num_splits, eps, BLOCK_S=BLOCK_S, num_warps=4
    )
    layernorm_scale_kernel[(M * num_splits,)](
        x_rows, w, b, row_mean, row_rstd, y_rows, M, N, piece_size,
        *x_rows.stride(), *y_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    ### END SOLUTION
    return y

# %% [markdown] tags=["hint"] key="layernorm_split"
# #### Hints for layernorm_split
#
# <details><summary>Hint 1: a question</summary>
#
# How many programs has each of the three launches, for 2 rows in 3 pieces? Which part of the row does
# a lane of the merge kernel stand for?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `largest_kernel` shows `tl.reduce` with a tuple. The merged $M_2$ and count give the
# variance, and page 13 made one over the root of it. For the launches read the argument lists: a
# kernel's arguments come in the order of its signature, and blocks and `num_warps` by their names.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# n = tl.load(n_ptr + places, ...)  # which other= makes a lane an empty part?
# # the same for mean and m2
# # three tiles become three numbers
# # two stores at pid_m
# ```
#
# The grid of the third launch is that of the first. A few thousand pieces are little work: 4 warps
# do for the merge.
#
# </details>

# %% tags=["check"] key="layernorm_split" points=4
check(layernorm_split)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times 8 feature maps of 33,554,432, in pieces of 8,192, and shows nothing yet.
# Beside `layernorm_split` runs `layernorm_welford` of page 13, one program a row. The second shape is
# 16,384 rows of 4,096. Without a GPU the cell fetches the times of an H200, which copies 4,156 GB/s.


# %%
def torch_layernorm(x, w, b):
    return torch.nn.functional.layer_norm(x, w.shape, w, b)


def timed_rows(M, N, stored, names):
    M, N = (M, N) if DEVICE == "cuda" else (1, 32)  # small, unless a GPU runs it
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w, b = torch.randn(2, N, device=DEVICE, dtype=torch.bfloat16).unbind(0)
    num_splits = triton.cdiv(N, 8192)
    ways = {"torch": torch_layernorm} | {name: mine(name, quiet=True) for name in names}
    ways["layernorm_split"] = lambda x, w, b: layernorm_split(x, w, b, 1e-5, num_splits)
    title = f"LayerNorm of {M:,} rows of {N:,}, bfloat16"
    moved = 4 * (M + 1) * N
    return bench(ways, x, w, b, bytes=moved, baseline="torch", title=title, stored=stored)


timed = timed_rows(8, 33554432, "layernorm_split_maps", ["layernorm_welford"])
timed_rows_of_4096 = timed_rows(16384, 4096, "layernorm_split_rows", ["layernorm"])

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that layernorm_split asks for, x 2 x 4096, w and b in float32": None,
        "ms of layernorm_split for 8 rows of 33,554,432 in bfloat16": None,
    },
    measured=[
        lambda: traffic(
            layernorm_split,
            torch.randn(2, 4096, device=DEVICE),
            *torch.randn(2, 4096, device=DEVICE).unbind(0),
            num_splits=4,
        ),
        lambda: time_of(timed, "layernorm_split"),
    ],
    hints=[
        "Which launches read x, w and b, and how many rows read the same weight?",
        "x twice, y once, w and b once; 2 bytes each, at the speed of a copy.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** x has 2 × 4096 × 4 = 32,768 bytes. It is read twice and y is written once: 98,304. Each
# row reads w and b, 16,384 each: 65,536 more. The statistics are a few hundred. Together about
# 164,000.
#
# **Milliseconds.** x and y have 268 million elements, w and b 33.6 million each. (3 × 268 + 2 × 33.6)
# million × 2 bytes = 1,745 MB, at 4,156 GB/s 0.420 ms. An H200 took 0.532.
#
# </details>

# %%
timed

# %%
timed_rows_of_4096

# %% [markdown]
# **Read it.** In the first table all processors have work, and only `layernorm_split` is near what
# the bytes allow. GB/s counts x once. The second reading of x, in the third launch, comes from memory
# too: 537 MB do not fit in a cache of 60 MB. So two thirds of the ceiling are the most it can reach.
# On the H200 it reaches 55 %, and takes a 25th of the time of one program a row.
#
# The second table shows the price: 1.7 times as long as `layernorm`, which keeps its row in registers
# and reads it once. To cut a row that fits costs a second reading, two more launches and a buffer.
#
# **How many pieces?** Enough that M × `num_splits` programs fill all processors several times. And
# pieces no smaller than a few thousand elements, so that a program loads more than it takes to start
# it. With long rows pieces of 4,096 to 16,384 do both.
#
# ## Recap
#
# - Few long rows need more programs than rows. Pieces give them.
# - What programs must tell each other goes through a buffer, from one launch to the next.
# - Each program has a place of its own: no atomics, and the same bits each time.
# - The last pieces may be short or empty. Count with the mask.
# - Cut a row only if you have to.
#
# <details><summary>Common mistakes</summary>
#
# - `piece_size` or `BLOCK_N` for the count: right while all pieces are full.
# - Averaging the pieces' means. A piece of 1 element is no piece of 16.
# - Adding up the $M_2$. Pieces with different means have more variance together than each alone.
# - A mask against the row's end only: then a piece reads into the next one.
#
# </details>
#
# Next: [15_norm_backward](15_norm_backward.ipynb), the way back: gradients.

# %%
progress()
