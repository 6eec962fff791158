# ---
# workbook:
#   title: Softmax
#   minutes: 50
#   needs: interpreter
#   requires: [03_gelu_fusion]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - reduce a whole row inside one program, with masked lanes that do not count
#     - keep an exponential from overflowing, and say why the trick changes nothing
#     - compute a softmax of rows that no program can hold, with one rescaled running sum
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
# Softmax turns each row of a matrix into shares that add up to 1:
#
# $$\mathrm{softmax}(x)_{mn} = \frac{e^{x_{mn} - \mu_m}}{\sum_k e^{x_{mk} - \mu_m}}, \qquad
# \mu_m = \max_k x_{mk}$$
#
# The maximum $\mu_m$ cancels out, since $e^{x - \mu} = e^x e^{-\mu}$ above and below the line. It
# is there for the computer: $e^{89}$ is infinite in float32, and with $\mu$ subtracted no exponent
# is above 0.
#
# Until now every output element depended on one place in memory. Here it depends on a whole row,
# for the sum. So the work is divided by rows: **one program takes one whole row**. It loads the
# row once and holds it in registers, all lanes at the same time.

# %%
from tritonbook.seeing.pictures import draw_rows

draw_rows(M=4, N=10, block=16, scheme="row")

# %% [markdown]
# ## Count the bytes first
#
# This is the formula in PyTorch, line by line. Count what each line reads and writes, in units of
# the matrix (M N elements). The short columns of maxima and sums do not matter.
#
# | line | reads | writes |
# |---|---|---|
# | `mu = x.amax(dim=-1, keepdim=True)` | 1 | 0 |
# | `z = x - mu` | 1 | 1 |
# | `e = torch.exp(z)` | 1 | 1 |
# | `s = e.sum(dim=-1, keepdim=True)` | 1 | 0 |
# | `out = e / s` | 1 | 1 |
#
# Five reads and three writes. One kernel that keeps the row needs one read and one write. The next
# cell does not believe the table. It watches every operator and adds up the bytes.

# %%
from torch.utils._python_dispatch import TorchDispatchMode


class CountBytes(TorchDispatchMode):
    """Adds up the bytes of the tensors that go into and come out of each operator."""

    moved = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for value in (*args, result):
            if isinstance(value, torch.Tensor):
                self.moved += value.numel() * value.element_size()
        return result


def softmax_lines(x):
    mu = x.amax(dim=-1, keepdim=True)
    z = x - mu
    e = torch.exp(z)
    s = e.sum(dim=-1, keepdim=True)
    return e / s


x = torch.randn(64, 1000, device=DEVICE)
with CountBytes() as counter:
    softmax_lines(x)
print(f"{counter.moved / (x.numel() * 4):.2f} times the matrix; the least possible is 2")

# %% [markdown]
# ## A smaller kernel first
#
# The maximum of each row. Two things are new.
#
# `tl.max(x, axis=0)` **reduces** a tile of `BLOCK_N` values to a single one. All lanes take part,
# the masked ones too. So a masked lane must hold a value that cannot win. That is what `other=` is
# for: for a maximum it is minus infinity, for a sum it is 0.
#
# `BLOCK_N` is the row's length rounded up to a power of two. It is chosen in the wrapper, at run
# time, and the kernel is compiled once for each value.


# %%
@triton.jit
def row_max_kernel(
    x_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    FILL: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """out[m] = max over n of x[m, n].

    One program = one whole row.
    Assumes N <= BLOCK_N.
    """
    pid_m = tl.program_id(axis=0)

    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask_n, other=FILL)

    tl.store(out_ptr + pid_m, tl.max(x, axis=0))


def row_max(x, fill):
    M, N = x.shape
    out = torch.empty(M, dtype=x.dtype, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    row_max_kernel[(M,)](x, out, N, *x.stride(), FILL=fill, BLOCK_N=BLOCK_N)
    return out


x = torch.tensor([[3.0, 1.0, 2.0], [-3.0, -1.0, -2.0]], device=DEVICE)
print("other=-inf:", row_max(x, float("-inf")))
print("other=0:   ", row_max(x, 0.0))

# %% [markdown]
# Three columns are padded to four lanes. With `other=0` the padding wins in the second row, where
# all numbers are negative. With random numbers around 0 you would hardly ever notice.
#
# **Predict.** You write a softmax with `other=0` and forget about the padding. Rows have 1,000
# columns. How far off is the sum under the line, for a row of zeros?
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
# - Entries may be minus infinity (their share is 0). A row of nothing else gives NaN, as in
#   PyTorch. Entries are never plus infinity or NaN.
# - Exponentials and sums are computed in float32.
#
# **Memory traffic**: one read and one write of the matrix. In bfloat16 that is 4 bytes an element.

# %% tags=["reference"]
def softmax_ref(x):
    return torch.softmax(x, dim=-1)


def require_matrix(x):
    """Raise ValueError unless x has two dimensions."""
    if x.ndim != 2:
        raise ValueError(f"x has {x.ndim} dimensions instead of 2")


def warps_for(block):
    """Warps for a tile of `block` elements: about 16 elements a thread, at most 32 warps."""
    return min(max(block // 512, 1), 32)

# %% [markdown]
# ## Task 1. A row per program
#
# Fill the gap, about 8 lines: addresses, load, the three steps of the formula, store. The row
# number is cast to int64 for you. A matrix of 65,536 × 65,536 has more elements than an int32 can
# count, and `pid_m * stride_xm` would wrap round.

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

    # TODO: columns, mask, load in float32, the formula's three steps, store (8 lines)
    ### BEGIN SOLUTION
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32)

    e = tl.exp(x - tl.max(x, axis=0))
    # One division for the row instead of one for each element.
    out = e * (1.0 / tl.sum(e, axis=0))

    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask_n)
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
# `tl.max` and `tl.sum` give one number. A tile minus one number works as you expect. The store has
# strides of its own, those of `out`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_n = tl.arange(0, ...)
# mask_n = ...
#
# x = tl.load(x_ptr + pid_m * ... + offs_n * ..., mask=..., other=...).to(...)
#
# e = tl.exp(x - ...)
# out = e / ...
#
# tl.store(out_ptr + ... , ..., mask=...)
# ```
#
# </details>

# %% tags=["check"] key="softmax" points=5
check(softmax)

# %%
show_tiles(softmax, torch.randn(4, 10, device=DEVICE))

# %%
traffic(softmax, torch.randn(8, 1000, device=DEVICE))

# %% [markdown]
# ## Rows that do not fit
#
# A program holds its row in registers. A processor of an H100 has 65,536 registers of 4 bytes, so
# a row of 131,072 elements cannot be there at once. You have to walk through it in tiles.
#
# The straightforward way takes three walks: one for the maximum, one for the sum, one to write. The
# **online** form needs two, because it finds maximum and sum in the same walk. Keep two numbers:
#
# - `m_i`, the largest element so far
# - `l_i`, the sum of $e^{x - m_i}$ over the elements so far
#
# When a new tile brings a larger maximum, `l_i` was computed with the old one. Put it right by one
# multiplication: $e^{x - m_\mathrm{new}} = e^{x - m_\mathrm{old}} \cdot e^{m_\mathrm{old} -
# m_\mathrm{new}}$. Here is the recurrence in plain Python, on tiles of 3 elements.

# %%
import math

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
# **Predict.** Why does `m_i` start at a huge negative number and not at minus infinity? Think of a
# row whose first tile holds nothing but minus infinity.
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
# Write both walks, about 7 and 6 lines. The second one reads the row again and writes the result.
# Let it go **backwards**: what the first walk read last is most likely still in the cache, so take
# it first. (Forwards is right too, only slower.) If you like, tell the cache what you know: a load
# or store takes `eviction_policy="evict_last"` for data that you will need again, and
# `"evict_first"` for data that you will not.

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
    x_ptr += pid_m * stride_xm
    out_ptr += pid_m * stride_om
    num_tiles = tl.cdiv(N, BLOCK_N)

    m_i = -1e38
    l_i = 0.0
    # TODO: for each tile from left to right update m_i and l_i (about 9 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x_ptrs = x_ptr + offs_n * stride_xn
        x = tl.load(x_ptrs, mask_n, other=float("-inf"), eviction_policy="evict_last")
        x = x.to(tl.float32)

        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    ### END SOLUTION

    # TODO: walk again, from the last tile to the first, and write (about 8 lines)
    ### BEGIN SOLUTION
    for i in range(0, num_tiles):
        offs_n = (num_tiles - 1 - i) * BLOCK_N + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        x = tl.load(x_ptr + offs_n * stride_xn, mask_n, eviction_policy="evict_first")
        out = tl.exp(x.to(tl.float32) - m_i) * (1.0 / l_i)
        out = out.to(out_ptr.dtype.element_ty)
        out_ptrs = out_ptr + offs_n * stride_on
        tl.store(out_ptrs, out, mask_n, eviction_policy="evict_first")
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
# `max(a, b)` of two numbers is `tl.maximum`, the maximum of a tile is `tl.max`. The order matters:
# `l_i` needs the old `m_i`. In the second walk, tile number `num_tiles - 1 - i` comes when i counts
# from 0.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, N, ...):
#     offs_n = start + ...
#     x = tl.load(..., mask=..., other=...)
#     x = x.to(...)
#
#     m_new = tl.maximum(..., tl.max(...))
#     l_i = l_i * tl.exp(...) + tl.sum(...)
#     m_i = ...
#
# for i in range(0, num_tiles):
#     offs_n = (...) * BLOCK_N + ...
#     ...
#     out = tl.exp(...) / ...
#     tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="softmax_online" points=5
check(softmax_online)

# %% [markdown]
# ## Predict, then measure
#
# `traffic` counts what your kernel asks for: the row twice, the output once. On the GPU the second
# reading often comes from the L2 cache. An H100 runs 132 programs or so at a time. Rows of 131,072
# bfloat16 numbers have 256 KB, so 132 of them have 34 MB: less than its cache of 50 MB.

# %%
traffic(softmax_online, torch.randn(4, 1000, device=DEVICE), block=256)

# %% [markdown]
# **Predict.** Up to which width is the kernel with one row per program the faster one? What does
# PyTorch do beyond?

# %%
from tritonbook.timing import bench_sweep


def by_width(N):
    M = 2**27 // N if DEVICE == "cuda" else 4
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    ways = {"torch": softmax_ref, "softmax_online": softmax_online}
    if N <= 65536:
        ways["softmax"] = softmax
    return {"fns": ways, "args": (x,), "bytes": 4 * M * N}


widths = bench_sweep(
    "columns",
    [2**i for i in range(9, 19)] if DEVICE == "cuda" else [512, 1024],
    by_width,
    title="Softmax of 134 million bfloat16 numbers, by width of the row",
    stored="softmax_widths",
)
widths.plot("gbps")

# %%
widths

# %% [markdown]
# **Read the plot.** The dashed line is the copy. As long as the row fits, one read and one write
# are enough, and your first kernel stays close to it. With 65,536 columns the row still fits, but
# only just: each of 1,024 threads holds 64 elements and has 64 registers. `facts` counts 144 bytes
# for each thread that spill to memory, and the speed collapses.
#
# The online form reads twice, and yet it keeps up from the start: its second reading finds the row
# in the cache. Beyond 65,536 columns the cache holds less and less of the rows in flight.
#
# What the small print is worth was measured too, on an H100 with 1,024 rows of 131,072 columns.
# With the second walk backwards the kernel is 1.06 times as fast as with both forwards, and with the
# hints to the cache 1.18 times. PyTorch's takes 1.6 times as long as that.
#
# And against the line-by-line formula, a compiler, and PyTorch's own softmax:

# %%
M, N = (8192, 4096) if DEVICE == "cuda" else (8, 512)
x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
ways = {"line by line": softmax_lines, "torch": softmax_ref}
if DEVICE == "cuda":
    ways["torch.compile"] = torch.compile(softmax_lines, dynamic=False)
ways |= {"softmax": softmax, "softmax_online": softmax_online}

rows = bench(
    ways,
    x,
    bytes=4 * M * N,
    baseline="torch",
    title=f"Softmax of {M} x {N} bfloat16",
    stored="softmax_ways",
)
rows

# %%
rows.plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that softmax_online moves for 6 x 2000 float32": None,
        "ms of your softmax for 8192 x 4096 bfloat16": None,
    },
    measured=[
        lambda: traffic(softmax_online, torch.randn(6, 2000, device=DEVICE), block=512),
        lambda: time_of(rows, "softmax"),
    ],
    hints=[
        "It walks through each row twice, and writes it once: three trips.",
        "One read and one write of 2 bytes for each element, at the speed of a copy.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 6 × 2000 × 4 bytes = 48,000 for one trip. Two readings and one writing: 144,000.
#
# **Milliseconds.** 8192 × 4096 elements × 4 bytes (2 read, 2 written) = 134 MB. An H100 copies
# 2,967 GB/s: 0.045 ms. It took 0.047. The exponentials hide behind the memory.
#
# </details>

# %% [markdown]
# ## Stretch: rows of different lengths
#
# In a batch of sentences, row m has `lengths[m]` words and the rest is padding. The softmax is
# taken over the first `lengths[m]` columns, and all further columns are 0. A length of 0 is
# allowed, and the contract says what it gives: **a row of zeros**, not NaN. Such a definition has
# to be made. In attention a query with no key to look at is not an error.
#
# `lengths` is a contiguous int32 tensor `[M]`, between 0 and N. You may assume that `x` is finite
# where it counts. Elsewhere it can hold anything, NaN too, so do not let it into the sum.

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

    # TODO: the length, load what counts, softmax without 0 / 0, store all N (9 lines)
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
# - A reduction needs the whole row, so one program takes one row.
# - Masked lanes take part in reductions. `other=` gives them a value that changes nothing.
# - Subtract the maximum: the result is the same, and no exponential overflows.
# - A running maximum and a rescaled running sum give the softmax of rows of any length. Flash
#   attention is built on this.
#
# <details><summary>Common mistakes</summary>
#
# - `other=0` under a maximum. Rows of negative numbers show it, random numbers do not.
# - A running sum that is not rescaled. Falling rows come out right, rising rows do not.
# - Starting the maximum at minus infinity: one tile of minus infinity makes the row NaN.
# - `x`'s row stride used for the output. It works until somebody passes a slice.
#
# </details>
#
# Next: [10_rmsnorm_rows](10_rmsnorm_rows.ipynb), another reduction over rows, and the first two of
# four ways to divide them.

# %%
progress()
