# ---
# workbook:
#   title: Norms, the last tenth
#   minutes: 75
#   stretch: 12
#   needs: interpreter
#   requires: [12_rmsnorm_choose, 13_layernorm]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - tell the compiler what it can use, and choose tiles and warps by measuring
#     - let programs of one launch wait for each other
#     - write rules that meet shapes nobody has measured
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A norm does next to no arithmetic: its bytes have to be moved, once. So PyTorch's copy of x is the
# yardstick. How near does page 12 come, for shapes that nobody chose? Without a GPU the tables show the
# times of an H200.

# %% tags=["reference"]
from tritonbook import multiprocessors
from tritonbook.kernels.cache_hint import cache_hint
from tritonbook.kernels.cooperative import arrival_counters, can_launch_cooperatively, wait_for_all


def norm_ref(x, w, b, eps):
    x = x if b is None else x - x.mean(dim=-1, keepdim=True)
    y = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w
    return y if b is None else y + b


def as_rows(x, *vectors):
    """x as M rows whose elements lie side by side; ValueError for a vector that does not fit."""
    for vector in vectors:
        if vector is not None and (vector.shape != x.shape[-1:] or not vector.is_contiguous()):
            raise ValueError(f"w and b must be contiguous with shape {tuple(x.shape[-1:])}")
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.stride(1) == 1 else rows.contiguous()


rmsnorm, layernorm_welford = mine("rmsnorm", quiet=True), mine("layernorm_welford", quiet=True)

# %%
from tritonbook.timing import bench_sweep

GPU = DEVICE == "cuda"
title = "RMSNorm, bfloat16"


def timed(ways, stored, shapes, title=title):
    """A line for each shape (M, N), in bfloat16; every way gets x and w."""

    def case(shape):
        M, N = (int(n.replace(",", "")) for n in shape.split(" x ")) if GPU else (2, 64)
        x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
        w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
        return {"fns": {name: lambda way=way: way(x, w) for name, way in ways.items()}}

    names = [f"{M:,} x {N:,}" for M, N in shapes]
    return bench_sweep("rows x width", names, case, title=title, stored=stored)


def formula(x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)


SHAPES = [(200_000, 96), (300_000, 33), (20_000, 1000), (16_384, 4096), (6001, 10_001)]
SHAPES += [(1000, 131_072), (8, 262_144)]
peers = {"copy": lambda x, w: x.clone(), "page 12": rmsnorm}
peers["torch.compile"] = torch.compile(formula, dynamic=False) if GPU else formula
timed(peers, "norm_records_left", SHAPES)

# %% [markdown]
# **Read it** against the copy. Rows of 96 and of 4,096 are done: nothing is left. Rows of 33 and of 10,001
# are far from it, and with 1,000 `torch.compile` is ahead. None of these three is a multiple of 16, and
# two fill little more than half of their tile. Rows of 131,072 fit no program: page 12 reads them twice.
# *GPU alone*: without the host, and with x in the cache.
#
# ## Step 1: tell the compiler the width
#
# `torch.compile` makes a kernel for *one* width. You may, too: declare `N: tl.constexpr`.
#
# A load of 16 bytes must begin at a multiple of 16. Rows of 1,000 do: 2,000 bytes are 125 × 16. But of a
# plain argument Triton knows only whether it is a multiple of 16, and 1,000 is not. So it loads 2
# bytes at a time, and stores 2. Of a constant it knows everything. A copy, both ways:

# %%
@triton.jit
def copy_kernel(
    x_ptr, y_ptr, M, N,
    KNOWN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """y = x, of width KNOWN, or of width N where KNOWN is 0.

    One program = BLOCK_M rows.
    """
    if KNOWN > 0:
        N = KNOWN
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    places = offs_m[:, None] * N + offs_n[None, :]
    tl.store(y_ptr + places, tl.load(x_ptr + places, mask=mask), mask=mask)


def copy(x, w, known=True):
    M, N = x.shape
    y, rows = torch.empty_like(x), max(1, 4096 // triton.next_power_of_2(N))
    copy_kernel[(triton.cdiv(M, rows),)](
        x, y, M, N, KNOWN=N if known else 0,
        BLOCK_M=rows, BLOCK_N=triton.next_power_of_2(N),
    )
    return y


ways = {"width known": copy, "width an argument": lambda x, w: copy(x, w, known=False)}
timed(ways, "norm_records_width", [(20_000, 1000), (20_000, 1024)])

# %% [markdown]
# **Read it.** 1,024 is a multiple of 16, and nothing changes. With 1,000 a call takes 8 % less. The price:
# each width is compiled anew. A model has few.
#
# ## Step 2: two tiles a row
#
# A tile's width is a power of two. A row of 33 stands in 64 lanes, and 31 hold nothing. They cost no
# bytes, but registers and instructions: that counts where a load moves a single number.
#
# Give the row two tiles: BLOCK_A is half the next power of two, BLOCK_B the rest, rounded up.

# %%
draw = pictures("norm_records")
draw.draw_widths([33, 96, 100, 128])

# %% [markdown]
# ## The contract
#
# One launch for both norms: `b` decides.
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input; M rows in all |
# | `w` | (N,), contiguous | floating | weight |
# | `b` | (N,), contiguous, or None | floating | bias; with it LayerNorm, without it RMSNorm |
# | result | as `x`, contiguous | as `x` | new |
#
# All arithmetic is float32.
#
# ## Task 1. Rows in two tiles
#
# Fill two gaps:
#
# - **The kernel**, about 8 lines: load both tiles in float32, with `eviction_policy=KEEP` (step 3). With
#   a bias subtract the mean of the *row* from both, masked lanes 0 again. Then `rstd`, one over the
#   root, for each row.
# - **`tile_widths`**, about 2 lines: `BLOCK_A` and `BLOCK_B`, each at least 1.

# %% tags=["answer"] key="norm_rows"
@triton.jit
def load_scales(w_ptr, b_ptr, offs_n, N: tl.constexpr):
    """w and b of one tile, lying flat; b is 0 where there is none."""
    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)[None, :]
    b = 0.0
    if b_ptr is not None:
        b = tl.load(b_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)[None, :]
    return w, b


@triton.jit
def scale_and_store(x, rstd, w, b, y_ptr, offs_m, offs_n, mask, N: tl.constexpr):
    """One tile of y = x * rstd * w + b. Assumes that y is contiguous."""
    y = x * rstd[:, None] * w + b
    tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], y, mask=mask)


@triton.jit
def norm_rows_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, M, eps,
    N: tl.constexpr, STRIDE_XM: tl.constexpr, KEEP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr,
    EARLY: tl.constexpr,
):
    """y = RMSNorm of each row, or LayerNorm where b_ptr is not None.

    One program = BLOCK_M rows, in tiles of BLOCK_A and of BLOCK_B columns.
    Assumes BLOCK_A + BLOCK_B >= N, and that a row's elements lie side by side.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_a = tl.arange(0, BLOCK_A)
    offs_b = BLOCK_A + tl.arange(0, BLOCK_B)
    mask_a = (offs_m < M)[:, None] & (offs_a < N)[None, :]
    mask_b = (offs_m < M)[:, None] & (offs_b < N)[None, :]
    rows = x_ptr + offs_m[:, None] * STRIDE_XM
    a_ptrs, b_ptrs = rows + offs_a[None, :], rows + offs_b[None, :]
    if EARLY:  # few rows: nobody else works while a program waits, so let it wait once
        w_a, b_a = load_scales(w_ptr, b_ptr, offs_a, N)
        w_b, b_b = load_scales(w_ptr, b_ptr, offs_b, N)
    # TODO: load both tiles; with a bias subtract the row's mean; rstd (about 8 lines)
    ### BEGIN SOLUTION
    x_a = tl.load(a_ptrs, mask=mask_a, other=0.0, eviction_policy=KEEP).to(tl.float32)
    x_b = tl.load(b_ptrs, mask=mask_b, other=0.0, eviction_policy=KEEP).to(tl.float32)
    if b_ptr is not None:
        mean = (tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1)) / N
        x_a = tl.where(mask_a, x_a - mean[:, None], 0.0)
        x_b = tl.where(mask_b, x_b - mean[:, None], 0.0)
    squares = tl.sum(x_a * x_a, axis=1) + tl.sum(x_b * x_b, axis=1)
    rstd = tl.rsqrt(squares / N + eps)
    ### END SOLUTION
    if not EARLY:  # many rows: w and b would take registers all the time
        w_a, b_a = load_scales(w_ptr, b_ptr, offs_a, N)
        w_b, b_b = load_scales(w_ptr, b_ptr, offs_b, N)
    scale_and_store(x_a, rstd, w_a, b_a, y_ptr, offs_m, offs_a, mask_a, N)
    scale_and_store(x_b, rstd, w_b, b_b, y_ptr, offs_m, offs_b, mask_b, N)


def tile_widths(N):
    """(BLOCK_A, BLOCK_B): lanes of the two tiles of a row of N elements."""
    # TODO: each a power of two, at least 1 (about 2 lines)
    ### BEGIN SOLUTION
    BLOCK_A = max(triton.next_power_of_2(N) // 2, 1)
    return BLOCK_A, triton.next_power_of_2(max(N - BLOCK_A, 1))
    ### END SOLUTION


def norm_rows(x, w, b=None, eps=1e-6, rows=4, num_warps=4, keep=""):
    """RMSNorm of the rows of x [..., N], with b LayerNorm; rows: of a program, a power of two."""
    x_rows = as_rows(x, w, b)
    M, N = x_rows.shape
    y = x.new_empty(x.shape)
    BLOCK_A, BLOCK_B = tile_widths(N)
    norm_rows_kernel[(-(-M // rows),)](
        x_rows, w, b, y, M, eps, N=N, STRIDE_XM=x_rows.stride(0), KEEP=keep,
        BLOCK_M=rows, BLOCK_A=BLOCK_A, BLOCK_B=BLOCK_B,
        EARLY=M <= 2 * multiprocessors(), num_warps=num_warps,
    )
    return y

# %% [markdown] tags=["hint"] key="norm_rows"
# #### Hints for norm_rows
#
# <details><summary>Hint 1: a question</summary>
#
# Which numbers belong to the row, and which to a tile? What must masked lanes hold when squares are
# summed?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 12's kernel has the load and the root, page 13's the mean and the second mask. Each sum over a
# row is now a sum of two. 33 gives 32 and 1, 96 gives 64 and 32, 128 gives 64 twice. What gives 1?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x_a = tl.load(a_ptrs, ...).to(tl.float32)
# x_b = ...
# if b_ptr is not None:
#     mean = ...  # one for each row: it stands upright when it meets a tile
#     # both tiles, their masked lanes 0
# rstd = ...
# ```
#
# </details>

# %% tags=["check"] key="norm_rows" points=5
check(norm_rows)

# %%
def two_tiles(x, w):
    lanes = triton.next_power_of_2(x.shape[1])
    rows = max(1, 2048 // lanes)  # 2,048 lanes for a program, or a row
    return norm_rows(x, w, rows=rows, num_warps=max(4, lanes // 1024))


padded = [(300_000, 33), (200_000, 96), (20_000, 1000), (6001, 10_001)]
timed({"page 12": rmsnorm, "two tiles": two_tiles}, "norm_records_two_tiles", padded)

# %% [markdown]
# **Read it.** 33 and 10,001 gain most: they had the most lanes without a number, and loads of single
# numbers. 1,000 gains by its known width. Rows of 96 load 16 bytes at a time: empty lanes cost nothing.
#
# ## Registers and warps
#
# How many warps? A multiprocessor has room for 64 of them, and for 65,536 registers. While one program
# waits for memory, another computes. The filled share of the 64 warps is the **occupancy**.

# %%
def facts_of(N, rows, num_warps):
    x, w = torch.empty(5000, N, dtype=torch.bfloat16), torch.empty(N, dtype=torch.bfloat16)
    return facts(norm_rows, x, w, rows=rows, num_warps=num_warps, arch=90)[0]


for num_warps in (4, 8, 16, 32):
    found = facts_of(5120, 1, num_warps)
    held = f"{found.programs_per_sm} programs, {found.occupancy:.0%}"
    print(f"5,120 wide, {num_warps:2} warps: {found.registers:3} registers a thread, {held}")
eight = facts_of(5120, 1, 8)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "lanes of both tiles, rows of 5,120": None,
        "lanes for each thread, on 8 warps": None,
        "bytes on their way to one multiprocessor, if all its programs load at once": None,
    },
    measured=[
        lambda: sum(tile_widths(5120)),
        lambda: sum(tile_widths(5120)) // (8 * 32),
        lambda: eight.programs_per_sm * 2 * 5120,
    ],
    hints=[
        "Half of 8,192, and the rest rounded up.",
        "A warp has 32 threads.",
        "A row has 2 x 5,120 bytes. How many programs share a multiprocessor on 8 warps?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Lanes.** 4,096 + 1,024 = 5,120. One tile would have 8,192. **A thread's.** 5,120 / 256 = 20.
#
# **Bytes.** 10,240 for each program that fits. How many keep a memory busy? As many as it delivers while
# one of them travels. An H200 delivers 4,170 bytes a nanosecond, 32 for each of its 132 multiprocessors. If
# the way takes 700 ns, that is 22,000: eight warps have enough.
#
# </details>

# %%
def on_warps(num_warps):
    return lambda x, w: norm_rows(x, w, rows=1, num_warps=num_warps)


warps = {f"{n} warps": on_warps(n) for n in (4, 8, 16, 32)}
timed(warps, "norm_records_warps", [(16_384, 2880), (5000, 5120), (6001, 10_001)])

# %% [markdown]
# **Read it** along the lines. On many warps a program loads its whole row at the same time, and then all
# its warps compute and wait for each other. The least times have 24, 40 and 40 lanes a thread. We take 4
# warps, doubled as long as a thread keeps 32 lanes.
#
# ## Step 3: a hint to the cache
#
# `eviction_policy="evict_last"` asks the cache to let other lines go first. Each x is loaded once: it
# should not matter. `cache_hint(x)` gives it for x far larger than the cache.

# %%
def plain(x, w):
    return norm_rows(x, w, rows=1, num_warps=4)


def hinted(x, w):
    return norm_rows(x, w, rows=1, num_warps=4, keep=cache_hint(x))


timed({"no hint": plain, "hint": hinted}, "norm_records_hint", [(16_384, 4096)])

# %% [markdown]
# **Read it.** It brings some percent.
#
# ## Step 4: programs that wait for each other
#
# Few long rows have to be shared. On page 11 the programs of a row met at the end of a launch, and the
# second launch read x again. If programs could wait for each other, one launch would do.
#
# They may wait if **all of them run at the same time**. A **cooperative launch**,
# `launch_cooperative_grid=True`, promises it, or fails.

# %%
draw.draw_meeting([0.0, 1.2, 0.4])

# %% [markdown]
# `wait_for_all(arrived_ptr + row, count)` returns when `count` programs have called it. Each adds 1 to
# the row's counter and looks until the counter is full:
#
# ```python
# tl.debug_barrier()  # all lanes have stored
# arrived = tl.atomic_add(arrived_ptr, 1) + 1
# goal = (arrived + count - 1) // count * count
# while arrived < goal:
#     arrived = tl.atomic_add(arrived_ptr, 0, sem="acquire")
# ```
#
# The counters come from `arrival_counters`, and are never set back: each launch adds `count`, and `goal`
# is the next multiple of it. Who has waited sees all that was stored before an arrival.
# Without a GPU a program that waits lets the others run first.
#
# **Predict.** Store, wait, load. What goes wrong in the orders wait, store, load and store, load, wait?
#
# <details><summary>Answer</summary>
#
# Who stores after the wait may come too late: the others have gone on to load. Who loads before
# the wait finds what happens to lie there. Both may go well a thousand times.
#
# </details>
#
# ## Task 2. One launch
#
# A program holds one piece of a row. `mean` and `m2` are its statistics as on page 13: its mean (0 for
# RMSNorm), and the sum of its squared distances from that mean. Fill the gap, about 12 lines:
#
# - Store both at place `pid`: row by row, piece by piece. Then load w, which comes during the wait.
# - Wait for the row's PIECES programs.
# - Load the PIECES means and m2 of the row, with `cache_modifier=".cg"`: from the L2 cache, where
#   all stores arrive. `n_s` says how many elements each piece has.
# - Merge: the row's mean is the sum of n_s × mean_s over N. To its variance each piece adds m2, and n_s
#   times the squared distance of its mean from the row's. Then y; b is loaded.

# %% tags=["answer"] key="norm_together"
@triton.jit
def norm_together_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, m2_ptr, arrived_ptr, eps,
    N: tl.constexpr, STRIDE_XM: tl.constexpr, PIECES: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_S: tl.constexpr,
):
    """y = RMSNorm of each row, or LayerNorm where b_ptr is not None.

    One program = one piece of BLOCK_N elements, held while it waits for the others.
    Assumes a cooperative launch, BLOCK_S >= PIECES, and what norm_rows_kernel assumes.
    """
    pid = tl.program_id(axis=0)
    row = (pid // PIECES).to(tl.int64)
    start = pid % PIECES * BLOCK_N
    offs_n = start + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    offs_s = tl.arange(0, BLOCK_S)
    mask_s = offs_s < PIECES
    n_s = tl.minimum(tl.maximum(N - offs_s * BLOCK_N, 0), BLOCK_N).to(tl.float32)

    x = tl.load(x_ptr + row * STRIDE_XM + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    mean, b = 0.0, 0.0
    if b_ptr is not None:
        mean = tl.sum(x, axis=0) / tl.minimum(N - start, BLOCK_N)
        b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    centred = tl.where(mask_n, x - mean, 0.0)
    m2 = tl.sum(centred * centred, axis=0)
    # TODO: store, load w, wait; load what all stored; merge; y (about 12 lines)
    ### BEGIN SOLUTION
    tl.store(mean_ptr + pid, mean)
    tl.store(m2_ptr + pid, m2)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    wait_for_all(arrived_ptr + row, PIECES)
    places = row * PIECES + offs_s
    mean_s = tl.load(mean_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")
    m2_s = tl.load(m2_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")
    mean = tl.sum(n_s * mean_s, axis=0) / N
    apart = mean_s - mean
    variance = tl.sum(m2_s + n_s * apart * apart, axis=0) / N
    y = (x - mean) * tl.rsqrt(variance + eps) * w + b
    tl.store(y_ptr + row * N + offs_n, y, mask=mask_n)
    ### END SOLUTION


def norm_loop(x, w, b, eps):
    """By the pages' kernels."""
    return rmsnorm(x, w, eps) if b is None else layernorm_welford(x, w, b, eps)


def norm_together(x, w, b=None, eps=1e-6, piece=1024, num_warps=4):
    """As norm_rows, for few long rows: each program has `piece` elements, a power of two."""
    x_rows = as_rows(x, w, b)
    if not can_launch_cooperatively():  # Triton has it from 3.3 on
        return norm_loop(x, w, b, eps)
    M, N = x_rows.shape
    pieces = -(-N // piece)
    y = x.new_empty(x.shape)
    stats = torch.empty((2, M * pieces), dtype=torch.float32, device=x.device)
    norm_together_kernel[(M * pieces,)](
        x_rows, w, b, y, stats[0], stats[1], arrival_counters(x.device, M, pieces), eps,
        N=N, STRIDE_XM=x_rows.stride(0), PIECES=pieces,
        BLOCK_N=piece, BLOCK_S=triton.next_power_of_2(pieces),
        num_warps=num_warps, launch_cooperative_grid=True,
    )
    return y

# %% [markdown] tags=["hint"] key="norm_together"
# #### Hints for norm_together
#
# <details><summary>Hint 1: a question</summary>
#
# What does a program know before the wait, and what do all programs of the row know after it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 11's `rmsnorm_partials_kernel` ends where the gap begins, and `rmsnorm_join_kernel` goes on after
# the wait. The merge is page 13's, for many parts at once.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # two stores of one number, w
# wait_for_all(...)
# mean_s = tl.load(..., mask=mask_s, other=0.0, cache_modifier=".cg")  # where does the row begin?
# m2_s = ...
# mean = ...
# variance = ...  # of the row: over N
# # y of this piece, x is still there
# ```
#
# </details>

# %% tags=["check"] key="norm_together" points=5
check(norm_together)

# %% [markdown]
# One launch, and x is read once: is it faster?

# %%
def in_pieces(piece):
    return lambda x, w: norm_together(x, w, piece=piece, num_warps=min(piece // 512, 16))


M, N = (8, 262_144) if GPU else (1, 2048)
x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
few = {"page 12": rmsnorm} | {f"pieces of {n:,}": in_pieces(n) for n in (16_384, 32_768)}
bench(
    few, x, w, bytes=4 * M * N, baseline="page 12",
    title="RMSNorm of 8 rows of 262,144, bfloat16", stored="norm_records_together",
)

# %% [markdown]
# **Read it.** On the GPU (`device ms`) pieces of 16,384 tie: 4 MB stay in the cache, where reading twice
# is cheap. Pieces of 32,768 leave half of the multiprocessors idle.
#
# ## Step 5: choose
#
# A **row that fits** goes to `norm_rows`: 1,024 lanes make a program worth its start. **Few long rows**
# are shared. For **many long rows** everybody has work.
#
# ## Task 3. The record
#
# Write `norm_plan`, about 11 lines: how M rows of N elements are normalised.
#
# - `("rows", rows, num_warps)`: by `norm_rows`. Rows of up to 16,384, and of up to 32,768 if there are
#   at least `num_sms` of them. `rows`: `1024 // one_tile`, at least 1. Warps: 4, doubled as long as a
#   thread then still has 32 lanes of both tiles; but 1 for rows of 129 to 1,024, whose sums wait for no
#   other warp.
# - `("together", piece, num_warps)`: by `norm_together`. `piece` is the smallest power of two from 256 to
#   32,768 with which there are at most `num_sms` programs, one for each multiprocessor. 512 elements a
#   warp, on 1 to 16 warps.
# - `("loop",)`: the pages' kernels, for the rest.
#
# The check tries no M or N near a border.

# %% tags=["answer"] key="rmsnorm_record"
from functools import cache


@cache  # asked at each call
def norm_plan(M, N, num_sms):
    """How M rows of N are normalised: ("rows", rows, num_warps), ("together", piece, num_warps)
    or ("loop",)."""
    one_tile, two_tiles = triton.next_power_of_2(N), sum(tile_widths(N))  # lanes of a row
    # TODO: three rules (about 11 lines)
    ### BEGIN SOLUTION
    if N <= 16384 or (N <= 32768 and M >= num_sms):
        num_warps = 1 if 128 < one_tile <= 1024 else 4
        while two_tiles // (2 * num_warps * 32) >= 32:
            num_warps *= 2
        return "rows", max(1, 1024 // one_tile), num_warps
    if M * -(-N // 32768) <= num_sms:  # pieces of 32,768 can run together
        piece = 256
        while M * -(-N // piece) > num_sms:
            piece *= 2
        return "together", piece, min(max(piece // 512, 1), 16)
    return ("loop",)
    ### END SOLUTION


def norm_record(x, w, b, eps):
    way, *how = norm_plan(x.shape[:-1].numel(), x.shape[-1], multiprocessors())
    if way == "rows":
        return norm_rows(x, w, b, eps, *how, cache_hint(x))
    if way == "together":
        return norm_together(x, w, b, eps, *how)
    return norm_loop(x, w, b, eps)


def rmsnorm_record(x, w, eps=1e-6):
    """RMSNorm over the last dimension of x [..., N], each shape by `norm_plan`."""
    return norm_record(x, w, None, eps)


def layernorm_record(x, w, b, eps=1e-5):
    """LayerNorm over the last dimension of x [..., N], likewise; w and b [N]."""
    return norm_record(x, w, b, eps)

# %% [markdown] tags=["hint"] key="rmsnorm_record"
# #### Hints for rmsnorm_record
#
# <details><summary>Hint 1: a question</summary>
#
# What limits a tile, and what limits the number of programs that wait for each other?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The tables of steps 2 and 4. A piece of what size lets M rows have at most `num_sms` programs? Begin
# with a small one, and double it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if ...:  # the row fits
#     num_warps = 4
#     while ...:  # on twice as many, lanes for each thread
#         num_warps *= 2
#     return "rows", ..., num_warps
# if ...:  # all pieces can run together
#     piece = 256
#     while ...:
#         piece *= 2
#     return "together", piece, ...
# return ("loop",)
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_record" points=5
check(rmsnorm_record)

# %%
last = peers | {"record": rmsnorm_record}
timed(last, "norm_records_last", SHAPES)

# %% [markdown]
# **Read it** against the first table. 33 is now at 0.69 of a copy, *GPU alone*, and 10,001 at 0.72; many
# long rows are still read twice.
#
# ## Stretch: softmax
#
# Page 4's `softmax` starts a program for each row. Give it rows in two tiles, by the same plan (about 7
# lines).

# %% tags=["answer", "stretch"] key="softmax_record"
softmax_online = mine("softmax_online", quiet=True)


@triton.jit
def softmax_rows_kernel(
    x_ptr, y_ptr, M,
    N: tl.constexpr, STRIDE_XM: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr,
):
    """y = softmax of each row.

    One program = BLOCK_M rows, in tiles of BLOCK_A and of BLOCK_B columns.
    Assumes what norm_rows_kernel assumes.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_a = tl.arange(0, BLOCK_A)
    offs_b = BLOCK_A + tl.arange(0, BLOCK_B)
    mask_a = (offs_m < M)[:, None] & (offs_a < N)[None, :]
    mask_b = (offs_m < M)[:, None] & (offs_b < N)[None, :]
    x_rows, y_rows = x_ptr + offs_m[:, None] * STRIDE_XM, y_ptr + offs_m[:, None] * N
    a_ptrs, b_ptrs = x_rows + offs_a[None, :], x_rows + offs_b[None, :]
    # TODO: load; the row's largest number, exponentials, sum; store (about 7 lines)
    ### BEGIN SOLUTION
    x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf")).to(tl.float32)
    x_b = tl.load(b_ptrs, mask=mask_b, other=float("-inf")).to(tl.float32)
    largest = tl.maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1))
    e_a, e_b = tl.exp(x_a - largest[:, None]), tl.exp(x_b - largest[:, None])
    scale = 1.0 / (tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1))
    tl.store(y_rows + offs_a[None, :], e_a * scale[:, None], mask=mask_a)
    tl.store(y_rows + offs_b[None, :], e_b * scale[:, None], mask=mask_b)
    ### END SOLUTION


def softmax_record(x):
    """Softmax over the last dimension of x [..., N], any strides."""
    x_rows = as_rows(x)
    M, N = x_rows.shape
    num_sms = multiprocessors()
    way, *how = norm_plan(max(M, num_sms), N, num_sms)  # rows are not shared, be they few
    if way != "rows":
        return softmax_online(x_rows).view(x.shape)
    y, (rows, num_warps) = x.new_empty(x.shape), how
    if 64 < N <= 128 and M >= 64 * num_sms:  # so many rows keep the GPU busy on one warp each
        num_warps = 1
    BLOCK_A, BLOCK_B = tile_widths(N)
    softmax_rows_kernel[(-(-M // rows),)](
        x_rows, y, M, N=N, STRIDE_XM=x_rows.stride(0),
        BLOCK_M=rows, BLOCK_A=BLOCK_A, BLOCK_B=BLOCK_B, num_warps=num_warps,
    )
    return y

# %% [markdown] tags=["hint"] key="softmax_record"
# #### Hints for softmax_record
#
# <details><summary>Hint 1: a question</summary>
#
# What must a masked lane hold, so that neither the largest number nor the sum of exponentials notices?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 4 has the formula, task 1 the rows in two tiles. A number of the row meets a tile upright:
# `[:, None]`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x_a = tl.load(a_ptrs, ...).to(tl.float32)
# x_b = ...
# largest = ...  # of the row
# # exponentials of both tiles, one over their sum, two stores
# ```
#
# </details>

# %% tags=["check", "stretch"] key="softmax_record" points=0
check(softmax_record)

# %%
softmax = mine("softmax", quiet=True)
short = {"copy": lambda x, w: x.clone(), "page 4": lambda x, w: softmax(x)}
short["record"] = lambda x, w: softmax_record(x)
shapes = [(300_000, 33), (200_000, 100), (20_000, 1000)]
timed(short, "norm_records_softmax", shapes, title="softmax, bfloat16")

# %% [markdown]
# **Read it.** Rows of 33 take a fifth of the time. With 1,000 the start of a program hardly counts.
#
# ## Recap
#
# - A width that the compiler knows: aligned loads.
# - Two tiles waste fewer lanes.
# - Programs of one launch may wait for each other, if all of them run at the same time.
#
# <details><summary>Common mistakes</summary>
#
# - Sums of one tile where the row has two.
# - A load before the wait, or a store after it: right a thousand times.
# - More programs that wait than can run: the launch fails. Without a cooperative launch it hangs.
# - Rules for the shapes of a table: the next shape is none.
#
# </details>
#
# Next: [61_matmul_records](61_matmul_records.ipynb).

# %%
progress()
