# ---
# workbook:
#   title: Below Triton, copies that run ahead
#   minutes: 55
#   needs: gluon
#   requires: [20_matmul, 22_autotune]
#   limits: {sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - write the pipeline that num_stages stands for, in Gluon, for an A100 and newer
#     - keep a ring of tiles in shared memory, and wait for the right copy
#     - let a simulator find the orders in which a kernel goes wrong
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A tile takes longer to come from memory than the tensor cores take to multiply it. A loop that
# loads, waits and multiplies lets them stand still. White is a copy, a colour its product:

# %%
draw = pictures("gluon_pipeline")
draw.draw_pipeline(steps=5, slots=1)

# %% [markdown]
# So the copies must run **ahead**: while one tile is multiplied, the next ones are on their way, or
# have arrived and wait.

# %%
draw.draw_pipeline(steps=5, slots=4)

# %% [markdown]
# Tiles that have arrived lie in *shared memory* until they are used. There is room for a few: the
# **slots** of a **ring**. Tile 0 goes to slot 0, tile 1 to slot 1. After the last slot comes slot 0
# again: tile t lies in slot `t % SLOTS`.
#
# On page 22 you wrote `num_stages=4`, and Triton's compiler built such a ring. Now you build it.
#
# ## Gluon
#
# **Gluon** is the level below Triton, with the same Python and the same compiler. Three things that
# Triton decides are yours here:
#
# - **Shared memory**: `gl.allocate_shared_memory(dtype, shape, layout)`. `tiles.index(slot)` is one slot.
# - **Copies**: `async_copy.async_copy_global_to_shared(slot, pointers, mask=...)` orders a copy and
#   returns at once. Where the mask is False, zeros arrive.
# - **Layouts**: which thread holds which elements of a tile. `BlockedLayout([1, 4], [1, 32], [4, 1],
#   [1, 0])` reads from small to large: a thread has 1 × 4 neighbours, a warp 1 × 32 threads, a program
#   4 × 1 warps, and neighbours are counted along axis 1 first. 4 floats are 16 bytes, the largest copy
#   that a thread can order.
#
# The names are those of `tl`, after `gl`: `gl.arange`, `gl.sum`, `gl.cdiv`. A loop over
# `gl.static_range(n)` is written out by the compiler: its numbers are constants.

# %%
draw.draw_layout()

# %% [markdown]
# Layouts are given on this page. `SliceLayout(1, ROWS)` is that of row numbers, which lack axis 1, and
# `SliceLayout(0, ROWS)` that of column numbers. `SwizzledSharedLayout(1, 1, 1, [1, 0])` is shared memory
# row after row.
#
# Copies are waited for in **groups**. `commit_group()` closes a group: all copies since the last
# one. `wait_group(n)` waits until at most n groups are unfinished, the oldest finishing first.

# %% tags=["reference"]
from tritonbook.kernels.gluon import async_copy, gl, gluon, mma_v2

# %% [markdown]
# One tile, one slot, and one wait:

# %%
@gluon.jit
def double_kernel(x_ptr, y_ptr, N, WAIT: gl.constexpr):
    """y = 2 * x, 16 x N in one slot.

    One program. Assumes N <= 128.
    """
    ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])  # 4 floats a thread
    PLAIN: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    tile = gl.allocate_shared_memory(x_ptr.dtype.element_ty, [16, 128], PLAIN)
    offs_m = gl.arange(0, 16, gl.SliceLayout(1, ROWS))[:, None]
    offs_n = gl.arange(0, 128, gl.SliceLayout(0, ROWS))[None, :]
    mask = (offs_m < 16) & (offs_n < N)
    async_copy.async_copy_global_to_shared(tile, x_ptr + offs_m * N + offs_n, mask=mask)
    async_copy.commit_group()
    if WAIT:
        async_copy.wait_group(0)
    x = tile.load(ROWS)
    gl.store(y_ptr + offs_m * N + offs_n, 2 * x, mask=mask)


x = torch.arange(64.0, device=DEVICE).view(16, 4)
y = torch.empty_like(x)
double_kernel[(1,)](x, y, 4, WAIT=True)
y[:2]

# %% [markdown]
# **Predict.** Without the wait: what does `tile.load` find?
#
# <details><summary>Answer</summary>
#
# Whatever lay there before, or the tile, or a part of it: nobody knows. That is a **race**. It may go
# well a thousand times.
#
# </details>
#
# ## A simulator
#
# Triton's interpreter knows no copies that finish late. So without a GPU this workbook *simulates*
# Gluon. Each launch runs in several orders: copies finish at once, at the last moment, or any time
# between. The simulator also notes who has waited for whom, so it names a race even when the values
# are right, and says in which program and order. Layouts are left to the compiler, in the second half
# of each check.

# %%
if DEVICE == "cpu":
    try:
        double_kernel[(1,)](x, y, 4, WAIT=False)
    except RuntimeError as fault:
        print(fault)

# %% [markdown]
# ## The contract
#
# | arguments | shape | result |
# |---|---|---|
# | `x` | (M, N) float32, the numbers of a row side by side | `sums`: (M,), float32 |
# | `a`, `b` | (M, K) and (K, N), float16 or bfloat16, rows as above | `c`: (M, N), dtype of a |
#
# M and N are 1 or more. For the product K, N and the strides of rows are multiples of 16, because a
# copy has 4 to 16 bytes and starts at a multiple of that. What does not fit raises `ValueError`. One launch
# each. All inputs come through a ring of asynchronous copies: with `slots` slots, `slots` − 1 tiles are
# ordered ahead, and no wait asks for more than the tile that is used next.

# %% tags=["reference"]
def row_sums_ref(x):
    return x.sum(dim=1)


def matmul_pipeline_ref(a, b):
    return a @ b

# %% [markdown]
# ## Task 1. A ring
#
# Sums of long rows. A program has 16 rows and walks along them, 128 columns at a time. `order_tile`
# is given: it orders one tile, as one group. Past the end of the row all that arrives is zeros, so
# you may call it too often.
#
# Fill the gap, about 8 lines:
#
# - Before the loop, order SLOTS − 1 tiles. One slot is left over: the one that is being read.
# - In the loop, a step for each tile: wait until *this* tile has arrived, load it, order the tile that
#   is SLOTS − 1 ahead, add.
# - Store the sums of acc's rows. `offs_m` is there, in the layout that `gl.sum` gives them.

# %% tags=["answer"] key="row_sums"
@gluon.jit
def order_tile(x_ptr, tiles, number, M, N, stride_xm):
    """Order tile `number` of this program's rows, as one group."""
    ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])  # 4 floats a thread
    SLOTS: gl.constexpr = tiles.shape[0]
    offs_m = gl.program_id(0) * 16 + gl.arange(0, 16, gl.SliceLayout(1, ROWS))[:, None]
    offs_n = number * 128 + gl.arange(0, 128, gl.SliceLayout(0, ROWS))[None, :]
    ptrs = x_ptr + offs_m.to(gl.int64) * stride_xm + offs_n
    slot, mask = tiles.index(number % SLOTS), (offs_m < M) & (offs_n < N)
    async_copy.async_copy_global_to_shared(slot, ptrs, mask=mask)
    async_copy.commit_group()


@gluon.jit
def row_sums_kernel(x_ptr, sums_ptr, M, N, stride_xm, SLOTS: gl.constexpr):
    """sums[m] = x[m, 0] + ... + x[m, N - 1].

    One program = 16 rows.
    Assumes that the numbers of a row lie side by side.
    """
    ROWS: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    PLAIN: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    tiles = gl.allocate_shared_memory(gl.float32, [SLOTS, 16, 128], PLAIN)
    acc = gl.zeros([16, 128], gl.float32, ROWS)
    offs_m = gl.program_id(0) * 16 + gl.arange(0, 16, gl.SliceLayout(1, ROWS))
    # TODO: fill the ring; wait, load, order, add; store the sums (about 8 lines)
    ### BEGIN SOLUTION
    for early in gl.static_range(SLOTS - 1):
        order_tile(x_ptr, tiles, early, M, N, stride_xm)
    for number in range(gl.cdiv(N, 128)):
        async_copy.wait_group(SLOTS - 2)
        x = tiles.index(number % SLOTS).load(ROWS)
        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)
        acc += x
    gl.store(sums_ptr + offs_m, gl.sum(acc, axis=1), mask=offs_m < M)
    ### END SOLUTION


def row_sums(x, slots=4):
    """Sums of the rows of x [M, N], float32; `slots` is the length of the ring, 2 or more."""
    if x.ndim != 2 or x.stride(1) != 1 or x.dtype != torch.float32:
        raise ValueError("x must be (M, N) float32, the numbers of a row side by side")
    M, N = x.shape
    sums = torch.empty(M, dtype=torch.float32, device=x.device)
    row_sums_kernel[(triton.cdiv(M, 16),)](x, sums, M, N, x.stride(0), SLOTS=slots)
    return sums

# %% [markdown] tags=["hint"] key="row_sums"
# #### Hints for row_sums
#
# <details><summary>Hint 1: a question</summary>
#
# With 4 slots, three groups are ordered before the loop. In step 0 you need the first of them. How
# many may still be unfinished?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `wait_group(n)` names how many may be left over, not which one you want. In each step one group is
# added and one is used, so n stays the same. The tile that is ordered in the loop goes to the slot
# that was read one step ago.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for early in gl.static_range(...):
#     # order tile `early`
# for number in range(...):
#     async_copy.wait_group(...)
#     x = tiles.index(...).load(ROWS)
#     # order the tile that many steps ahead
#     # add
# # store the sums, masked
# ```
#
# </details>

# %% tags=["check"] key="row_sums" points=4
check(row_sums)

# %% [markdown]
# ## Task 2. A product with a pipeline
#
# The same ring twice, for tiles of A and of B. `mma_v2(a, b, acc)` is the tensor core instruction of
# an A100, which every later GPU understands: acc + a @ b. `ACC` is the layout of its result: 2 × 2 warps,
# tiles of 16 × 8. It takes a and b from registers:
# `a = a_tiles.index(slot).load(gl.DotOperandLayout(0, ACC, 2))`. 0 is the place of a in the product (that
# of b is 1), and 2 halves share a register.
#
# Shared memory has 32 *banks*, each of which serves one thread at a time. `SHARED` is *swizzled*: in 8
# rows, groups of 8 numbers are shifted against each other, so that threads that read one column meet
# different banks.
#
# Fill three gaps:
#
# 1. **`order_step`**: both copies of one step, each with its mask, in **one** group.
# 2. **The kernel**: fill the ring, walk along K.
# 3. **The wrapper**: the launch.

# %% tags=["answer"] key="matmul_pipeline"
@gluon.jit
def order_step(a_ptr, b_ptr, a_tiles, b_tiles, step, M, N, K, stride_am, stride_bk):
    """Order the tiles of A and B of one step along K, as one group."""
    A_COPY: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    B_COPY: gl.constexpr = gl.BlockedLayout([1, 8], [2, 16], [4, 1], [1, 0])
    SLOTS: gl.constexpr = a_tiles.shape[0]
    BLOCK_M: gl.constexpr = a_tiles.shape[1]
    BLOCK_K: gl.constexpr = a_tiles.shape[2]
    BLOCK_N: gl.constexpr = b_tiles.shape[2]
    offs_m = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, gl.SliceLayout(1, A_COPY))[:, None]
    offs_ak = step * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(0, A_COPY))[None, :]
    offs_bk = step * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(1, B_COPY))[:, None]
    offs_n = gl.program_id(1) * BLOCK_N + gl.arange(0, BLOCK_N, gl.SliceLayout(0, B_COPY))[None, :]
    a_rows, b_rows = offs_m.to(gl.int64) * stride_am, offs_bk.to(gl.int64) * stride_bk
    a_slot, b_slot = a_tiles.index(step % SLOTS), b_tiles.index(step % SLOTS)
    # TODO: two masks, two copies, one group (about 5 lines)
    ### BEGIN SOLUTION
    a_mask = (offs_m < M) & (offs_ak < K)
    b_mask = (offs_bk < K) & (offs_n < N)
    async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask)
    async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask)
    async_copy.commit_group()
    ### END SOLUTION


@gluon.jit
def matmul_pipeline_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: gl.constexpr, BLOCK_N: gl.constexpr, BLOCK_K: gl.constexpr, SLOTS: gl.constexpr,
):
    """c = a @ b.

    One program = one tile of c, with 4 warps.
    Assumes rows side by side; K, N and strides are multiples of 16.
    """
    SHARED: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    ACC: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    dtype: gl.constexpr = c_ptr.dtype.element_ty
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS, BLOCK_M, BLOCK_K], SHARED)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS, BLOCK_K, BLOCK_N], SHARED)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)
    # TODO: fill the ring, walk along K (about 8 lines)
    ### BEGIN SOLUTION
    for early in gl.static_range(SLOTS - 1):
        order_step(a_ptr, b_ptr, a_tiles, b_tiles, early, M, N, K, stride_am, stride_bk)
    for step in range(gl.cdiv(K, BLOCK_K)):
        async_copy.wait_group(SLOTS - 2)
        a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2))
        b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2))
        ahead = step + SLOTS - 1
        order_step(a_ptr, b_ptr, a_tiles, b_tiles, ahead, M, N, K, stride_am, stride_bk)
        acc = mma_v2(a, b, acc)
    ### END SOLUTION
    offs_m = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, gl.SliceLayout(1, ACC))[:, None]
    offs_n = gl.program_id(1) * BLOCK_N + gl.arange(0, BLOCK_N, gl.SliceLayout(0, ACC))[None, :]
    c_ptrs = c_ptr + offs_m.to(gl.int64) * stride_cm + offs_n
    gl.store(c_ptrs, acc.to(dtype), mask=(offs_m < M) & (offs_n < N))


def matmul_pipeline(a, b, tile=(128, 128, 32), slots=4):
    """a @ b for (M, K) and (K, N) of float16 or bfloat16. tile: BLOCK_M, BLOCK_N, BLOCK_K."""
    (M, K), N = a.shape, b.shape[1]
    if K != b.shape[0] or a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError("a and b must be (M, K) and (K, N), both float16 or both bfloat16")
    if any(n % 16 for n in (K, N, a.stride(0), b.stride(0))) or a.stride(1) != 1 != b.stride(1):
        raise ValueError("K, N and the strides of rows must be multiples of 16")
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = triton.cdiv(M, tile[0]), triton.cdiv(N, tile[1])
    # TODO: the launch, with num_warps=4 (about 4 lines)
    ### BEGIN SOLUTION
    matmul_pipeline_kernel[grid](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2], SLOTS=slots, num_warps=4,
    )  # fmt: skip
    ### END SOLUTION
    return c

# %% [markdown] tags=["hint"] key="matmul_pipeline"
# #### Hints for matmul_pipeline
#
# <details><summary>Hint 1: a question</summary>
#
# A step needs both tiles. How many groups are ordered for it, and how many may be unfinished when you
# load them?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `order_tile` has the form of `order_step`, `row_sums_kernel` that of the loop. In a tile of A
# `a_rows` chooses the row, and `offs_ak` the column. Its rows must be below M, its columns below K.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# a_mask = (... < M) & (... < K)
# async_copy.async_copy_global_to_shared(..., a_ptr + ... + ..., mask=a_mask)
# # the same for b, then close the group
#
# # order the first steps
# for step in range(...):
#     # wait
#     a = ....load(gl.DotOperandLayout(0, ACC, 2))
#     b = ....load(gl.DotOperandLayout(1, ACC, 2))
#     # order the step that is ahead, multiply
# ```
#
# </details>

# %% tags=["check"] key="matmul_pipeline" points=5
check(matmul_pipeline)

# %% [markdown]
# ## Did it become a pipeline?
#
# The compiler says, with or without a GPU. Look for tensor core instructions, for no spills, and for
# 16-byte copies: all loads are vectors. `stages` is a number for Triton's own pipelines, not your ring.

# %%
a, b = torch.randn(2, 4096, 4096, device=DEVICE).to(torch.float16)
compiled = facts(matmul_pipeline, a, b, arch=80)
compiled

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes of shared memory: 4 slots, tiles of 128 x 32 and 32 x 128 halves": None,
        "slots of this size that fit an A100's 166,912 bytes": None,
        "bytes under way in a program while it multiplies": None,
    },
    measured=[
        lambda: compiled[0].shared_bytes,
        lambda: 166_912 // (compiled[0].shared_bytes // 4),
        lambda: compiled[0].shared_bytes // 4 * 3,
    ],
    hints=[
        "Slots times two tiles times 2 bytes.",
        "How many bytes has a slot?",
        "All slots but the one that is read.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Shared memory.** A slot has 2 × 128 × 32 × 2 = 16,384 bytes, four have 65,536.
#
# **Slots.** 166,912 / 16,384 = 10.2, so 10. But two programs share a multiprocessor here, and so its
# shared memory.
#
# **Under way.** Three slots: 49,152 bytes, times two programs.
#
# </details>
#
# How many bytes must be under way to keep a memory busy? As many as it delivers while one of them
# travels. An A100's data sheet says 1,555 GB/s: 14 bytes a nanosecond for each of its 108
# multiprocessors. If the way takes 500 ns, that is 7,000 bytes.
#
# ## What it brings

# %%
matmul_tuned = mine("matmul_tuned")


def with_slots(slots):
    shape = (4096, 4096) if DEVICE == "cuda" else (32, 32)
    dtype = torch.float16
    a, b = torch.randn(2, *shape, device=DEVICE).to(dtype)
    tile = (128, 128, 32) if DEVICE == "cuda" else (32, 32, 16)
    return {
        "fns": {
            "matmul_pipeline": lambda: matmul_pipeline(a, b, tile, slots),
            "matmul_tuned": lambda: matmul_tuned(a, b),
            "torch": lambda: a @ b,
        }
    }


from tritonbook.timing import bench_sweep

bench_sweep(
    "slots",
    [2, 3, 4, 5] if DEVICE == "cuda" else [2],
    with_slots,
    title="Product, 4096 x 4096 x 4096, float16",
    stored="gluon_pipeline_slots",
)

# %% [markdown]
# **Read it downwards.** A third slot saves a seventh of the time here, a fourth a little more, a fifth
# nothing. `matmul_tuned` has its ring from the compiler, and newer instructions besides. It takes half
# of the time: pages 64 and 65 are about those.
#
# ## Recap
#
# - Copies are ordered, run by themselves, and are waited for in groups.
# - A ring of slots holds what has arrived. Tile t lies in slot t % SLOTS.
# - A race may give right values. What counts is who waited for whom.
#
# <details><summary>Common mistakes</summary>
#
# - `wait_group(SLOTS - 1)`: nothing is waited for.
# - `wait_group(0)` in the loop: the values are right, and each step waits for all copies. The pipeline
#   is gone.
# - The tile that is ahead goes to the slot that is still being read.
# - A group for each copy: right, and it waits for copies that could still run.
# - No new group at the end of a row: then the last tiles are not waited for.
#
# </details>
#
# Next: [64_gluon_matmul](64_gluon_matmul.ipynb).

# %%
progress()
