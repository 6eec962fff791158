# ---
# workbook:
#   title: RMSNorm, a program per row
#   minutes: 45
#   needs: interpreter
#   requires: [04_softmax]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - see why sums are float32, by the digits that a half-precision sum loses
#     - normalise rows in one tile each, whatever their strides
#     - handle rows that are too long for one tile, and say what the second pass costs
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Every layer of Llama begins with RMSNorm. It takes a row of numbers, one token's features, and
# scales it so that its mean square is one. Then it multiplies by a learned weight:
#
# $$y_n = \frac{x_n}{\sqrt{\frac{1}{N}\sum_k x_k^2 + \varepsilon}} \cdot w_n$$
#
# As in a softmax, somebody has to see all of a row before anybody can write one element of it. *How
# rows are divided among programs* is the subject of this part. There are four schemes:
#
# 1. one program per row, the whole row in one tile (here, Task 1),
# 2. one program per row, the row in several tiles (here, Task 2),
# 3. several programs per row (page 11),
# 4. several rows per program (page 12).
#
# In the picture 4 rows of 10 elements go to 4 programs. The tile is 16 wide, since it must be a
# power of two. Six of its lanes are masked.

# %%
from tritonbook.seeing.pictures import draw_rows

draw_rows(M=4, N=10, block=16, scheme="row")

# %% [markdown]
# ## A smaller kernel first: which dtype for a sum?
#
# Page 04 demanded float32 sums. Here is why. This kernel sums rows in tiles of 8. Each lane keeps a
# running sum of its own in the tile `acc`, and `tl.sum` adds up the eight after the loop. What is
# new: `tl.zeros([BLOCK_N], dtype=...)` makes a tile of zeros, and `ACC` says in which dtype the lanes
# add. Without a GPU this takes some seconds.


# %%
@triton.jit
def row_sum_kernel(
    x_ptr, out_ptr, N, stride_xm, ACC: tl.constexpr, BLOCK_N: tl.constexpr
):
    """out[m] = sum over n of x[m, n].

    One program = one row, with a running sum in dtype ACC for each lane.
    Assumes that a row's elements lie side by side.
    """
    pid_m = tl.program_id(axis=0)

    acc = tl.zeros([BLOCK_N], dtype=ACC)
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + pid_m * stride_xm + offs_n, mask=offs_n < N, other=0.0)
        acc += x.to(ACC)

    tl.store(out_ptr + pid_m, tl.sum(acc.to(tl.float32), axis=0))


def row_sum(x, acc):
    M, N = x.shape
    out = torch.empty(M, device=x.device)
    row_sum_kernel[(M,)](x, out, N, x.stride(0), ACC=acc, BLOCK_N=8)
    return out


x = torch.ones(2, 32768, device=DEVICE)
x[1] = torch.rand(32768)  # row 0: ones; row 1: random numbers from 0 to 1
exact = x.double().sum(dim=1).tolist()
for acc in (tl.float32, tl.float16, tl.bfloat16):
    for row, total in enumerate(row_sum(x, acc).tolist()):
        print(f"{acc!s:5} row {row}: {total:8.1f}, off by {abs(total / exact[row] - 1):.2%}")

# %% [markdown]
# Nothing overflowed and nothing warned you, and yet half of the ones are gone in float16 (`fp16`),
# and 15 of 16 in bfloat16 (`bf16`). A float16 number has 11 binary digits. From 2,048 on,
# neighbours are 2 apart, so 2,048 + 1 is rounded to 2,048 again: the lane stands still. bfloat16
# has 8 digits, and its lanes stop at 256. The random numbers lose digits in the same way. float32
# has 24 digits. So: load, go to float32, compute, and round **once**, at the store.
#
# **Two more things** that you will need:
#
# - `x * x` squares a tile. A kernel has no `x**2`.
# - `tl.rsqrt(v)` is $1 / \sqrt{v}$ in one instruction, for a number or a tile.
#
# **Predict.** The mean square of a row of 10 elements is computed in a tile of 16 lanes. You sum
# the squares of all 16 lanes and divide. By 10 or by 16?
#
# <details><summary>Answer</summary>
#
# By 10, the number of elements. The six masked lanes hold 0 and add nothing to the sum, but they
# are no elements. Dividing by `BLOCK_N` stays hidden in rows of 16, 32 or 64.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed |
# | `w` | (N,), contiguous | floating | weight |
# | `eps` | | float | *inside* the root, beside the mean |
# | result | as `x`, contiguous | as `x` | new |
#
# - All arithmetic is float32, rounded once at the store. (Llama's own code rounds a second time,
#   before it multiplies by the weight. The check holds you to one rounding.)
# - One launch, with one program for each row.
# - `eps` keeps a row of zeros from 0 / 0. It counts whenever numbers are small, as the cell below
#   shows for numbers around 0.001.
#
# **Memory traffic.** At best x is read once and y written once: in bfloat16, 4 bytes an element.
# The weight is N elements for all rows together, and stays in the cache.

# %%
x, eps = 0.001 * torch.randn(4096), 1e-5
mean_square = x.pow(2).mean()
print(f"the root without eps: {mean_square.sqrt():.5f}")
print(f"eps outside the root: {mean_square.sqrt() + eps:.5f}")
print(f"eps inside the root:  {(mean_square + eps).sqrt():.5f}")

# %% [markdown]
# The mean square is about 0.000001, and `eps` ten times that. Inside, it makes the root
# $\sqrt{11}$ = 3.3 times as large. Outside, it changes the root by 1 %. The two are different
# functions, and models are trained with the first.

# %% tags=["reference"]
def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def require_weight(x, w):
    """Raise ValueError unless w is a contiguous vector as long as a row of x."""
    if w.shape != x.shape[-1:] or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape {tuple(x.shape[-1:])}")


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 04, at most 16."""
    return min(max(block // 512, 1), 16)

# %% [markdown]
# ## Task 1. Scheme 1: the row in one tile
#
# Fill the gap, about 8 lines: offsets and mask, load x and w, compute in float32, store. `x_ptr` and
# `y_ptr` point at the whole matrix, so the row number is yours to add. It is an int64 already:
# 70,000 rows of 32,768 elements have more than an int32 can count.

# %% tags=["answer"] key="rmsnorm_row"
@triton.jit
def rmsnorm_row_kernel(
    x_ptr, w_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = x / sqrt(mean(x^2) + eps) * w for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)

    # TODO: offsets and mask, load x and w, compute in float32, store (about 8 lines)
    ### BEGIN SOLUTION
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.sum(x * x, axis=0) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n)
    ### END SOLUTION


def rmsnorm_row(x, w, eps=1e-6):
    """RMSNorm over the last dimension of x [..., N] with the weight w [N], N <= 65536."""
    require_weight(x, w)
    N = x.shape[-1]
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    BLOCK_N = triton.next_power_of_2(N)
    rmsnorm_row_kernel[(x_rows.shape[0],)](
        x_rows, w, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return y

# %% [markdown] tags=["hint"] key="rmsnorm_row"
# #### Hints for rmsnorm_row
#
# <details><summary>Hint 1: a question</summary>
#
# Which lanes take part in the sum of squares? What must the masked ones hold, so that the sum does
# not change? And where is the weight of column n, in whichever row?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `softmax_kernel`, which you wrote in page 04, has the same addresses, mask and store. A number
# times a tile works as you expect, and so does a tile times a tile.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # offsets and mask of the row
# # load x and w, both to float32
# mean_square = tl.sum(..., axis=0) / ...
# y = ...  # x, one over the root, the weight
# # store
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_row" points=5
check(rmsnorm_row)

# %%
slice_of_16 = torch.randn(4, 16, device=DEVICE)[:, :10]  # rows of 10 that lie 16 apart
show_tiles(rmsnorm_row, slice_of_16, torch.ones(10, device=DEVICE))

# %% [markdown]
# **How long may a row be?** A program keeps its row in registers, at most 255 for each thread.
# `facts` compiles your kernel for an A100, here and now, GPU or not, and counts them. *Spills* are
# values that found no register and went to slow memory.

# %%
for N in (1024, 8192, 65536):
    x, w = torch.randn(2, N, device=DEVICE), torch.randn(N, device=DEVICE)
    for kernel in facts(rmsnorm_row, x.bfloat16(), w.bfloat16(), 1e-6, arch=80):
        print(f"N = {N:6}: {kernel.registers} registers, {kernel.spills} bytes of spills")

# %% [markdown]
# Why 128 and not 255? The 65,536 elements are shared by 16 warps, 512 threads: 128 for each thread.
# Their processor has 65,536 registers, 128 for each thread too. A thread needs some more, for
# addresses and the weight, and those spill.
#
# ## Scheme 2: the row in several tiles
#
# For longer rows the program takes the row piece by piece, in tiles. It cannot keep them, so it walks
# through the row twice: once to sum the squares, once to normalise. The second walk reads x again.

# %%
draw_rows(M=3, N=10, block=4, scheme="loop")

# %% [markdown]
# ## Task 2. Sum first, then normalise
#
# Two gaps. In the first, walk through the row and add up the squares, with one running sum *for each
# lane* (about 6 lines). In the second, read each piece again, normalise it and store it (about 7
# lines). The pointers are given, and `x_row_ptr` and `y_row_ptr` **already point at your row**.

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
    pid_m = tl.program_id(axis=0).to(tl.int64)
    x_row_ptr = x_ptr + pid_m * stride_xm
    y_row_ptr = y_ptr + pid_m * stride_ym

    squares = tl.zeros([BLOCK_N], dtype=tl.float32)
    # TODO: walk through the row, add the squares of each piece (about 6 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x_ptrs = x_row_ptr + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        squares += x * x
    ### END SOLUTION
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)

    # TODO: walk again; load each piece of x and of w, normalise, store (about 7 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)
        w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)
        y = x * rstd * w
        tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n)
    ### END SOLUTION


def rmsnorm_loop(x, w, eps=1e-6, block=4096):
    """RMSNorm over the last dimension of x [..., N], `block` (a power of 2) at a time."""
    require_weight(x, w)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    rmsnorm_loop_kernel[(x_rows.shape[0],)](
        x_rows, w, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=block, num_warps=warps_for(block),
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
# `row_sum_kernel` adds up a row piece by piece. Your row kernel of Task 1 loads, multiplies and
# stores. What does the weight of a piece begin with?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(...):
#     # this piece's offsets and mask, load x in float32
#     squares += ...
#
# for start in range(...):
#     # this piece's offsets and mask, load x and w
#     y = ...
#     # store into y's row
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_loop" points=5
check(rmsnorm_loop)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times two shapes, 16,384 rows of 4,096 as in a Llama layer and 8 very long rows, and
# shows nothing yet. Without a GPU it fetches the times of an H200, which copies 4,151 GB/s.


# %%
def torch_rmsnorm(x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)


def timed_rows(M, N, stored, **more):
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
    ways = {"torch": torch_rmsnorm, "rmsnorm_loop": rmsnorm_loop, **more}
    title = f"RMSNorm of {M:,} rows of {N:,}, bfloat16"
    return bench(ways, x, w, bytes=4 * M * N, baseline="torch", title=title, stored=stored)


timed = timed_rows(16384, 4096, "rmsnorm_rows", rmsnorm_row=rmsnorm_row)
timed_long = timed_rows(8, 262144, "rmsnorm_long_rows")

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
        lambda: time_of(timed, "rmsnorm_row"),
        lambda: time_of(timed, "rmsnorm_loop", over="rmsnorm_row"),
    ],
    hints=[
        "How often is x read, by how many programs is w read, and what is written?",
        "One read and one write of 2 bytes for each element, at the speed of a copy.",
        "It asks for 1.33 times the bytes. But who answers the second reading of a row?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** x has 4 × 1024 × 4 = 16,384 bytes. It is read twice and y written once. w is read by 4
# programs, 4,096 bytes each: as much again. 4 × 16,384 = 65,536.
#
# **Milliseconds.** 16,384 × 4,096 elements × 4 bytes = 268 MB, at 4,151 GB/s 0.065 ms. An H200 took
# 0.0710.
#
# **The ratio.** Scheme 1 asks for x, w and y, scheme 2 for x, x, w and y: 4 / 3 = 1.33 times the
# bytes. An H200 took 1.05 times as long.
#
# </details>

# %%
traffic(rmsnorm_row, torch.randn(8, 512, device=DEVICE), torch.randn(512, device=DEVICE))

# %%
timed

# %%
timed_long

# %% [markdown]
# **Read it.** The meter counts w for each of the 8 rows, although it lies in the cache after the
# first. GB/s in the tables is computed from what *has* to move, x once and y once.
#
# With rows of 4,096, scheme 2 loses 5 %, not 33 %: when a program comes back to its row of 8 kB, the
# row is still in the cache. Bytes that are asked for are not always bytes that come from memory.
#
# The 8 long rows reach 2 % of the ceiling. (4 % by the GPU's own clock, `device ms`: without the
# time that Python takes to launch.) Eight programs keep 8 of an H200's 132 processors busy, and
# those are 6 % of them. No loop mends that. You need more programs than rows: page 11.
#
# ## Recap
#
# - A half-precision sum loses digits long before it overflows. Sum in float32, round once.
# - Masked lanes take part in sums. `other=0.0` makes them harmless, and you divide by N.
# - `eps` stands inside the root. Small numbers tell the difference.
# - A second pass asks for more bytes, but costs little while the row is in the cache.
#
# <details><summary>Common mistakes</summary>
#
# - Dividing by `BLOCK_N`: right for 64, 128, 256, wrong for 100.
# - Testing with a weight of ones: a forgotten weight goes unnoticed.
# - `pid_m * N` for the address: right until somebody passes a slice.
# - Reusing the first piece's mask for the others.
#
# </details>
#
# Next: [11_rmsnorm_split](11_rmsnorm_split.ipynb), where several programs share a row.
#
# Source: B. Zhang and R. Sennrich, *Root Mean Square Layer Normalization*, 2019.

# %%
progress()
