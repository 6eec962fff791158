# ---
# workbook:
#   title: Softmax
#   minutes: 65
#   stretch: 15
#   needs: interpreter
#   requires: [03_gelu_fusion]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - reduce a whole row inside one program, with masked lanes that do not count
#     - choose BLOCK and num_warps for a row, and say why
#     - compute a softmax of rows that no program can hold, with one walk for maximum and sum
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Softmax turns each row of a matrix into shares that add up to 1:
#
# $$\mathrm{softmax}(x)_{mn} = \frac{e^{x_{mn} - \mu_m}}{\sum_k e^{x_{mk} - \mu_m}}, \qquad
# \mu_m = \max_k x_{mk}$$
#
# The maximum $\mu_m$ cancels out, since $e^{x - \mu} = e^x e^{-\mu}$. It is there for the computer:
# $e^{89}$ is infinite in float32, and with $\mu$ subtracted no exponent is above 0.
#
# Every output element depends on a whole row. So **one program takes one whole row**. It loads the
# row once and keeps it in registers.

# %%
from tritonbook.seeing.pictures import draw_rows

draw_rows(M=4, N=10, block=16, scheme="row")

# %% [markdown]
# ## Count the bytes first
#
# The formula in PyTorch, line by line, with what each line reads and writes in units of the matrix.
#
# | line | reads | writes |
# |---|---|---|
# | `mu = x.amax(-1)` | 1 | 0 |
# | `z = x - mu` | 1 | 1 |
# | `e = torch.exp(z)` | 1 | 1 |
# | `s = e.sum(-1)` | 1 | 0 |
# | `out = e / s` | 1 | 1 |
#
# Five reads and three writes, not counting `mu` and `s`, one number a row. One kernel that keeps the row needs one read and one write: a quarter
# of the bytes.
#
# ## A smaller kernel first
#
# The maximum of each row. Three things are new.
#
# - **The row's address.** `x_ptr` points at the first element of the whole matrix. Two rows lie
#   `stride_xm` elements apart, two neighbours in a row `stride_xn`; `x.stride()` gives both. So row
#   `pid_m` begins at `x_ptr + pid_m * stride_xm`. In a slice of a larger matrix that is not N.
# - **A reduction.** `tl.max(x, axis=0)` turns a tile into one number, and `tl.sum(x, axis=0)` does
#   so with a sum. All lanes take part, the masked ones too.
# - **`other=`** says what the masked lanes hold. Under a maximum it must be a value that cannot win:
#   minus infinity, written `float("-inf")`.


# %%
@triton.jit
def row_max_kernel(x_ptr, out_ptr, N, stride_xm, stride_xn, BLOCK_N: tl.constexpr):
    """out[m] = max over n of x[m, n].

    One program = one whole row.
    Assumes N <= BLOCK_N.
    """
    pid_m = tl.program_id(axis=0)

    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))

    tl.store(out_ptr + pid_m, tl.max(x, axis=0))


def row_max(x):
    M, N = x.shape
    out = torch.empty(M, dtype=x.dtype, device=x.device)
    row_max_kernel[(M,)](x, out, N, *x.stride(), BLOCK_N=triton.next_power_of_2(N))
    return out


row_max(torch.tensor([[3.0, 1.0, 2.0], [-3.0, -1.0, -2.0]], device=DEVICE))

# %% [markdown]
# Three columns are padded to four lanes. With `other=0` the padding would win in the second row.
#
# **Minus infinity** follows three rules, in Python as in a kernel.

# %%
import math

infinity = float("inf")
print("max(-inf, -3)   =", max(-infinity, -3.0))  # it never wins
print("exp(-inf)       =", math.exp(-infinity))  # it adds nothing to a sum of exponentials
print("(-inf) - (-inf) =", -infinity - (-infinity))  # not a number

# %% [markdown]
# **Predict.** A softmax has `other=0`. How far off is its sum of exponentials, for 1,000 zeros?
#
# <details><summary>Answer</summary>
#
# The tile has 1,024 lanes. Each of the 24 padded ones adds $e^{0 - 0} = 1$. The sum is 1,024
# instead of 1,000, so every share is 2.3 % too small. With `other=-inf` a padded lane adds
# $e^{-\infty} = 0$.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | `[M, N]`, any strides | floating | input, never changed |
# | result | `[M, N]`, contiguous | as `x` | new |
#
# - `softmax` takes rows of up to 65,536 elements, `softmax_online` of any length. Anything but a
#   matrix raises `ValueError`.
# - Entries lie between -1e38 and 1e38, or are minus infinity (their share is 0). A row of nothing
#   but minus infinity gives NaN.
# - Exponentials **and sums** are float32. The result is rounded once, by the store. No
#   `tl.softmax`.
# - One launch, however wide the row.

# %% tags=["reference"]
def softmax_ref(x):
    return torch.softmax(x, dim=-1)


def require_matrix(x):
    """Raise ValueError unless x has two dimensions."""
    if x.ndim != 2:
        raise ValueError(f"x has {x.ndim} dimensions instead of 2")


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, 16 a thread; at most 32 warps."""
    return min(max(block // 512, 1), 32)

# %% [markdown]
# ## Task 1. A row per program
#
# Fill the gap, about 8 lines: addresses, load, the formula, store. A program id has
# 32 bits. `.to(tl.int64)` makes `pid_m` wider: in a matrix of 65,536 × 65,536, `pid_m * stride_xm`
# passes the largest int32.

# %% tags=["answer"] key="softmax"
@triton.jit
def softmax_kernel(
    x_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):
    """out[m, n] = exp(x[m, n] - mu) / sum over k of exp(x[m, k] - mu).

    One program = one whole row.
    Assumes N <= BLOCK_N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)

    # TODO: columns, mask, load in float32, the formula, store (about 8 lines)
    ### BEGIN SOLUTION
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32)

    e = tl.exp(x - tl.max(x, axis=0))
    # One division for the row instead of one for each element.
    out = e * (1.0 / tl.sum(e, axis=0))

    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, out, mask=mask_n)
    ### END SOLUTION


def softmax(x):
    """Softmax of each row of a matrix [M, N] with N <= 65536, any strides."""
    require_matrix(x)
    M, N = x.shape
    if N > 65536:
        raise ValueError(f"a row of {N} elements does not fit in one program")
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    softmax_kernel[(M,)](
        x, out, N, *x.stride(), *out.stride(), BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N)
    )
    return out

# %% [markdown] tags=["hint"] key="softmax"
# #### Hints for softmax
#
# <details><summary>Hint 1: a question</summary>
#
# Which lines of `row_max_kernel` can you keep? And where do you still need the row itself, after
# you know its maximum?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# A tile minus one number works as you expect. `tl.load(...).to(tl.float32)` gives float32 tiles.
# The store has strides of its own, those of `out`, and rounds to the dtype of `out` by itself.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # offsets and mask, as in row_max_kernel
# # load the row in float32
# e = tl.exp(...)
# out = ...  # which number is every e divided by?
# # store at the address of row pid_m in out
# ```
#
# </details>

# %% tags=["check"] key="softmax" points=5
check(softmax)

# %%
traffic(softmax, torch.randn(8, 1000, device=DEVICE))

# %% [markdown]
# ## Choose BLOCK and num_warps
#
# `BLOCK_N` leaves no choice: the tile must hold the row, and its width is a power of two. So it is N
# rounded up. How many warps share its lanes is up to you.
#
# - Too few warps, and each thread holds many lanes. A thread has at most 255 registers. What finds
#   no register *spills*: it goes to memory, which is slow.
# - Too many, and each thread has little to do, while `tl.max` and `tl.sum` must bring together the
#   numbers of more warps.
#
# The cell times your kernel with 1 to 32 warps.

# %%
from tritonbook.timing import bench_sweep


def on_warps(x, num_warps):
    M, N = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(M,)](x, out, N, *x.stride(), *out.stride(), BLOCK_N=N, num_warps=num_warps)


def with_warps(num_warps):
    fns = {}
    for N in (1024, 4096, 16384, 65536):
        x = torch.randn(2**27 // N, N, device=DEVICE, dtype=torch.bfloat16)
        fns[f"{N:,} columns"] = lambda x=x: on_warps(x, num_warps)
    return {"fns": fns, "bytes": 2**29}


bench_sweep(
    "num_warps", [1, 2, 4, 8, 16, 32], with_warps,
    title="Softmax of 134 million bfloat16 numbers, by warps", stored="softmax_warps",
)  # fmt: skip

# %% [markdown]
# **Read each column downwards.** 16,384 columns on one warp are 512 lanes a thread: six times as slow.
# 1,024 columns on 32 warps are one lane a thread: six times as slow too. In between lies a wide valley.
# With 16 lanes a thread, 512 a warp, you are in it at 1,024, 4,096 and 16,384 columns: that is
# `warps_for`. At 65,536 it would ask for 128 warps, and 32 is the limit.
#
# ## Rows that do not fit
#
# A processor of an H100 has 65,536 registers. A row of 131,072 elements cannot be there at once, so
# you walk through it in tiles: once for the maximum, once for the sum, once to write. The **online**
# form finds maximum and sum in the same walk. It keeps two numbers:
#
# - `m_i`, the largest element so far
# - `l_i`, the sum of $e^{x - m_i}$ over the elements so far
#
# When a tile brings a larger maximum, `l_i` was computed with the old one. One multiplication puts it
# right: $e^{x - m_\mathrm{new}} = e^{x - m_\mathrm{old}} \cdot e^{m_\mathrm{old} -
# m_\mathrm{new}}$. Here it is in plain Python, on tiles of 3 elements.

# %%
row = [1.0, 5.0, 2.0, 0.0, 4.0, 9.0, 8.0, 3.0]
m_i, l_i = -1e38, 0.0
for start in range(0, len(row), 3):
    tile = row[start : start + 3]
    m_new = max(m_i, *tile)
    l_i = l_i * math.exp(m_i - m_new) + sum(math.exp(x - m_new) for x in tile)
    m_i = m_new
    print(f"after {start + len(tile)} elements: maximum {m_i}, sum {l_i:.6f}")

print(f"all at once:      maximum {max(row)}, sum {sum(math.exp(x - max(row)) for x in row):.6f}")

# %% [markdown]
# **Predict.** Why does `m_i` not start at minus infinity? Think of a row whose first tile holds
# nothing else.
#
# <details><summary>Answer</summary>
#
# Then `m_new` would be minus infinity as well, and $-\infty - (-\infty)$ is NaN. The sum becomes
# NaN and stays NaN, though the rest of the row is fine. With a finite start the exponent of each
# such element is $-\infty$ minus a finite number, and $e^{-\infty} = 0$ is right.
#
# </details>
#
# ## Task 2. Online softmax
#
# Write both walks, about 7 and 6 lines. The pointers are given: `x_row_ptr` **already points at your
# row**. Add columns to it, and no row number again.

# %% tags=["answer"] key="softmax_online"
@triton.jit
def softmax_online_kernel(
    x_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):
    """out[m, n] = exp(x[m, n] - mu) / sum over k of exp(x[m, k] - mu).

    One program = one whole row, in tiles of BLOCK_N columns, walked through twice.
    Assumes nothing about N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    x_row_ptr = x_ptr + pid_m * stride_xm
    out_row_ptr = out_ptr + pid_m * stride_om

    m_i = -1e38
    l_i = 0.0
    # TODO: for each tile of the row, update m_i and l_i (about 7 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x_ptrs = x_row_ptr + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32)

        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    ### END SOLUTION

    # TODO: walk through the row again and write the result (about 6 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n)
        out = tl.exp(x.to(tl.float32) - m_i) * (1.0 / l_i)
        tl.store(out_row_ptr + offs_n * stride_on, out, mask=mask_n)
    ### END SOLUTION


def softmax_online(x, block=16384):
    """Softmax of each row of a matrix [M, N], any N and strides, in tiles of `block` columns."""
    require_matrix(x)
    M, N = x.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_N = min(block, triton.next_power_of_2(N))
    softmax_online_kernel[(M,)](
        x, out, N, *x.stride(), *out.stride(), BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N)
    )
    return out

# %% [markdown] tags=["hint"] key="softmax_online"
# #### Hints for softmax_online
#
# <details><summary>Hint 1: a question</summary>
#
# In the Python cell above, which of the four lines in the loop changes when a tile is loaded from
# memory instead of cut from a list?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The larger of two numbers is `tl.maximum(a, b)`, the largest of a tile `tl.max(tile, axis=0)`. The
# order matters: `l_i` needs the old `m_i`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, N, BLOCK_N):
#     # offsets of this tile, their mask, load in float32
#     m_new = tl.maximum(..., ...)
#     l_i = ...  # the old sum put right, plus the sum of this tile
#     m_i = m_new
#
# # the same loop again, with a store instead of the three last lines
# ```
#
# </details>

# %% tags=["check"] key="softmax_online" points=5
check(softmax_online)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times five ways and shows nothing yet.


# %%
def line_by_line(x):
    mu = x.amax(dim=-1, keepdim=True)
    z = x - mu
    e = torch.exp(z)
    s = e.sum(dim=-1, keepdim=True)
    return e / s


x = torch.randn(8192, 4096, device=DEVICE, dtype=torch.bfloat16)
timed = bench(
    {
        "line by line": line_by_line,
        "torch": softmax_ref,
        "torch.compile": torch.compile(line_by_line, dynamic=False),
        "softmax": softmax,
        "softmax_online": softmax_online,
    },
    x,
    bytes=2 * x.numel() * x.element_size(),
    baseline="torch",
    title="Softmax of 8192 x 4096 bfloat16",
    stored="softmax_ways",
)

# %% [markdown]
# Guess. An H200 copies about 4,150 GB/s.

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that softmax_online moves for 6 x 2000 float32": None,
        "ms of softmax for 8192 x 4096 bfloat16": None,
    },
    measured=[
        lambda: traffic(softmax_online, torch.randn(6, 2000, device=DEVICE), block=512),
        lambda: time_of(timed, "softmax"),
    ],
    hints=[
        "How often does it walk through each row to read, and how often to write?",
        "One read and one write of 2 bytes for each element, at the speed of a copy.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 6 × 2000 × 4 bytes = 48,000 for the whole matrix once. Two readings and one writing:
# 144,000.
#
# **Milliseconds.** 8192 × 4096 elements × 4 bytes (2 read, 2 written) = 134 MB. At
# 4,150 GB/s, what an H200 copies, that is 0.0323 ms. It took 0.0382. Four times as many numbers, in the last
# table, reach 96 % of a copy's speed: the exponentials hide behind the memory.
#
# </details>

# %%
timed

# %%
timed.plot()

# %% [markdown]
# **Read it.** On the H200 `softmax` takes a seventh of the time of the five lines. The bytes alone
# would have made it a quarter. `softmax_online` asks for three trips over the matrix and not two,
# but takes only 1.10 times as long: its second reading finds the row in the L2 cache.
#
# ## From which width on is the online form faster?

# %%
def by_width(N):
    x = torch.randn(2**27 // N, N, device=DEVICE, dtype=torch.bfloat16)
    ways = {"torch": softmax_ref, "softmax": softmax, "softmax_online": softmax_online}
    if N > 65536:
        del ways["softmax"]
    return {"fns": ways, "args": (x,), "bytes": 2**29}


widths = bench_sweep(
    "columns",
    [2**i for i in range(9, 19)],
    by_width,
    title="Softmax of 134 million bfloat16 numbers, by width of the row",
    stored="softmax_widths",
)
widths.plot("gbps")

# %%
widths

# %% [markdown]
# **Read it.** On the H200 the whole row in one tile is as fast or faster up to 32,768 columns. At
# 65,536 it does not fit any more: each of 1,024 threads has 64 lanes and 64 registers, and spills. The
# online form is 1.23 times as fast.
#
# Beyond, the online form takes three quarters of PyTorch's time. But 0.218 ms are 1.5 times the
# 0.149 of narrow rows: three trips for two. The rows of all programs that run at a time no longer fit in
# the L2 cache, so the second reading comes from memory.

# %% [markdown]
# ## Stretch: rows of different lengths
#
# In a batch of sentences, row m has `lengths[m]` words and the rest is padding. The softmax is
# taken over the first `lengths[m]` columns, and all further columns are 0. A length of 0 gives **a
# row of zeros**, not NaN.
#
# `lengths` is a contiguous int32 tensor `[M]`, between 0 and N. Elsewhere `x` can hold
# anything, NaN too. `tl.where(condition, a, b)` takes a where the condition holds, else b.

# %% tags=["answer", "stretch"] key="softmax_masked"
@triton.jit
def softmax_masked_kernel(
    x_ptr, lengths_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):
    """out[m, n] = softmax of x[m, :lengths[m]], 0 from column lengths[m] on.

    One program = one whole row.
    Assumes N <= BLOCK_N and 0 <= lengths[m] <= N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)

    # TODO: the length, load what counts, softmax without 0 / 0, store all N
    # (about 8 lines)
    ### BEGIN SOLUTION
    length = tl.load(lengths_ptr + pid_m)
    counts = offs_n < length

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=counts, other=float("-inf")).to(tl.float32)

    # In an empty row the maximum is -inf and x - maximum is NaN: `where` puts 0 there.
    e = tl.where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0)
    out = e / tl.maximum(tl.sum(e, axis=0), 1.0)

    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=offs_n < N)
    ### END SOLUTION


def softmax_masked(x, lengths):
    """Softmax of the first lengths[m] columns of each row m of x [M, N]; zeros in the others."""
    require_matrix(x)
    M, N = x.shape
    if lengths.shape != (M,) or not lengths.is_contiguous():
        raise ValueError("lengths must be a contiguous tensor [M]")
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    softmax_masked_kernel[(M,)](
        x, lengths, out, N, *x.stride(), *out.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return out

# %% [markdown] tags=["hint"] key="softmax_masked"
# #### Hints for softmax_masked
#
# <details><summary>Hint 1: a question</summary>
#
# There are two masks here. Which one belongs to the load, and which one to the store?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# When at least one column counts, the sum is at least 1, because the largest element contributes
# $e^0$. So `tl.maximum(sum, 1.0)` changes it only in an empty row.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# length = tl.load(...)
# counts = offs_n < ...
#
# x = tl.load(..., mask=counts, other=...)
#
# e = tl.where(counts, tl.exp(...), ...)
# out = e / tl.maximum(..., 1.0)
#
# tl.store(..., mask=...)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="softmax_masked" points=0
check(softmax_masked)

# %% [markdown]
# ## Recap
#
# - Masked lanes take part in reductions. `other=` gives them a value that changes nothing.
# - Subtract the maximum: the result is the same, and no exponential overflows.
# - Begin with 512 lanes a warp, then measure.
# - A running maximum and a rescaled running sum give the softmax of rows of any length. Flash
#   attention is built on this.
#
# <details><summary>Common mistakes</summary>
#
# - `other=0` under a maximum. Rows of negative numbers show it, random numbers do not.
# - A running sum that is not rescaled, or rescaled after `m_i` was overwritten. Falling rows come
#   out right, rising rows do not.
# - Starting the maximum at minus infinity: one tile of minus infinity makes the row NaN.
# - `x`'s row stride used for the output. It works until somebody passes a slice.
#
# </details>
#
# Next: [10_rmsnorm_rows](10_rmsnorm_rows.ipynb), another reduction over rows.

# %%
progress()
