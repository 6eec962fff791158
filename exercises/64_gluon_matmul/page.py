# ---
# workbook:
#   title: Below Triton, a matrix product in Gluon
#   minutes: 65
#   stretch: 25
#   needs: gluon
#   requires: [22_autotune, 61_matmul_records, 63_gluon_pipeline]
#   limits: {sm_90: no spills}
#   you_will:
#     - order whole tiles from an H100's copy engine, and wait for them at a barrier
#     - give warps different jobs, and hand tiles from one job to the other through a ring
#     - find out what still keeps the tensor cores waiting, and compare with cuBLAS
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# On page 63 all warps of a program worked alike. Each ordered copies, thread by thread, and each
# multiplied. An H100 has better: a **copy engine** that fetches a whole tile on one order, and tensor
# cores that read it straight from shared memory. So one warp can order all copies, and the others only
# multiply. They have different **jobs**:

# %%
draw = pictures("gluon_matmul")
draw.draw_jobs()

# %% [markdown]
# You build that step by step: a ring with the copy engine, a warp of its own for loading and, as a
# stretch, two groups that multiply.
#
# This page's kernels are for an H100 (sm_90). Without a GPU they are simulated, as on page 63, and
# compiled all the same. With one, start Jupyter with `TRITON_INTERPRET=1` until your checks pass: the
# simulator names a deadlock, and a GPU just hangs.
#
# ## New words
#
# - **Descriptor**: what the copy engine knows of a matrix: base, shape, strides, and shape of a tile.
#   `describe` makes one. Beyond the matrix's edge zeros arrive, and nothing is stored. No masks.
# - **Barrier**: 8 bytes in shared memory that count arrivals. `mbarrier.init(barrier, count=n)`: when n
#   have arrived, a **phase** ends, and it counts afresh. Phases are called 0, 1, 0, 1, ...
# - `mbarrier.expect(barrier, nbytes)` arrives once, and the phase does not end before so many bytes
#   have come. `mbarrier.wait(barrier, phase)` waits while the running phase has that name.
# - `tma.async_copy_global_to_shared(descriptor, [row, column], barrier, tile)` orders a tile. The
#   barrier counts its bytes.
# - `warpgroup_mma(a, b, acc, is_async=True)`: acc + a @ b, a and b in shared memory. It returns at
#   once. `acc = warpgroup_mma_wait(n, deps=[acc])` waits until at most n products are unfinished. A
#   **warp group** is four warps; they multiply together.

# %% tags=["reference"]
from tritonbook import multiprocessors
from tritonbook.kernels.gluon import describe, fence_async_shared, gl, gluon, gluon_takes
from tritonbook.kernels.gluon import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

# %% [markdown]
# One tile of each, with all of these words:


# %%
@gluon.jit
def one_tile_kernel(a_desc, b_desc, c_desc, PHASE: gl.constexpr):
    """c = a @ b, all three of them one tile.

    One program, one warp group.
    """
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])  # how acc lies
    a_tile = gl.allocate_shared_memory(gl.float16, [64, 64], a_desc.layout)
    b_tile = gl.allocate_shared_memory(gl.float16, [64, 64], b_desc.layout)
    c_tile = gl.allocate_shared_memory(gl.float16, [64, 64], c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)

    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(a_desc, [0, 0], full, a_tile)
    tma.async_copy_global_to_shared(b_desc, [0, 0], full, b_tile)
    mbarrier.wait(full, PHASE)
    acc = gl.zeros([64, 64], gl.float32, ACC)
    acc = warpgroup_mma(a_tile, b_tile, acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])

    c_tile.store(acc.to(gl.float16))
    fence_async_shared()  # the copy engine sees what threads wrote
    tma.async_copy_shared_to_global(c_desc, [0, 0], c_tile)
    tma.store_wait(0)  # at most 0 stores are unfinished


a, b = torch.randn(2, 64, 64, device=DEVICE).to(torch.float16)
c = torch.empty_like(a)
tiles = [describe(x, [64, 64]) for x in (a, b, c)]
one_tile_kernel[(1,)](*tiles, PHASE=0, num_warps=4)
(c - a @ b).abs().max().item()

# %% [markdown]
# **Predict.** Nothing has arrived at a new barrier. What does `mbarrier.wait(full, 1)` do?
#
# <details><summary>Answer</summary>
#
# It returns at once. Before the first phase 0 there was a phase 1, so to say, and it has ended. Here
# that is a race. In task 2 it is what you want.
#
# </details>

# %%
if DEVICE == "cpu":
    try:
        one_tile_kernel[(1,)](*tiles, PHASE=1, num_warps=4)
    except RuntimeError as fault:
        print(fault)

# %% [markdown]
# ## The contract
#
# | arguments | shape | result |
# |---|---|---|
# | `a`, `b` | (M, K) and (K, N), float16 or bfloat16, a row's numbers side by side | `a @ b`, dtype of a |
#
# M and K are 1 or more. N and the strides of rows are multiples of 8 numbers, 16 bytes: the copy engine asks
# for that. What does not fit raises `ValueError`. One launch each. Give a ring 2 slots or more.

# %% tags=["reference"]
def new_product(a, b, tile):
    """c, empty, and how many tiles it has down and across, of how many steps along K."""
    (M, K), N = a.shape, b.shape[1]
    if K != b.shape[0] or a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError("a and b must be (M, K) and (K, N), both float16 or both bfloat16")
    cut = [-(-n // size) for n, size in zip((M, N, K), tile, strict=True)]  # rounded up
    return torch.empty((M, N), dtype=a.dtype, device=a.device), cut

# %% [markdown]
# ## Task 1. A ring with barriers
#
# As on page 63, load number n goes to slot `n % SLOTS`. Now each slot has a barrier `full`, which
# counts for itself. The first load into a slot ends its phase 0, the second its phase 1, the third its
# phase 0 again. A colour is a phase:

# %%
draw.draw_ring(loads=14, slots=4)

# %% [markdown]
# Fill two gaps.
#
# 1. **`order_step`**, about 4 lines: the slot's barrier expects the bytes of both tiles, and both are
#    ordered. All three calls take `pred=there`: where it is False, they do nothing.
# 2. **The kernel**, about 10 lines: order the first SLOTS − 1 steps, as far as they exist. Then in each
#    step wait for its tiles, multiply, wait until the product *before* is done, and order the step that
#    is SLOTS − 1 ahead. At last wait for all products.
#
# `number` counts loads, `step` is a place along K: equal here, not in task 2.

# %% tags=["answer"] key="matmul_ring"
@gluon.jit
def tile_of(number, grid_m, grid_n):
    """Row and column of tile `number`: eight rows of tiles at a time, as on page 21."""
    first = number // (8 * grid_n) * 8
    rows = gl.minimum(grid_m - first, 8)
    inside = number % (8 * grid_n)
    return first + inside % rows, inside // rows


@gluon.jit
def order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, there):
    """Order load `number` of the ring: the tiles of A and B of one step along K."""
    a_tiles, b_tiles, full = ring
    slot = number % a_tiles.shape[0]
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = b_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    a_place = [tile_m * BLOCK_M, step * BLOCK_K]
    b_place = [step * BLOCK_K, tile_n * BLOCK_N]
    # TODO 1: the slot's barrier expects the bytes, then both copies; pred=there (about 4 lines)
    ### BEGIN SOLUTION
    arrived = full.index(slot)
    mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there)
    tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there)
    tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there)
    ### END SOLUTION


@gluon.jit
def matmul_ring_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = one tile of c, with eight warps that work alike.
    """
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_N, 16])
    dtype: gl.constexpr = c_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for each in gl.static_range(SLOTS):
        mbarrier.init(full.index(each), count=1)
    ring = (a_tiles, b_tiles, full)
    tile_m, tile_n = tile_of(gl.program_id(0), grid_m, grid_n)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)
    # TODO 2: fill the ring; in each step wait, multiply, order; wait for all (about 10 lines)
    ### BEGIN SOLUTION
    for early in gl.static_range(SLOTS - 1):
        order_step(a_desc, b_desc, ring, early, tile_m, tile_n, early, early < steps)
    for step in range(steps):
        slot = step % SLOTS
        mbarrier.wait(full.index(slot), step // SLOTS % 2)
        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        ahead = step + SLOTS - 1
        order_step(a_desc, b_desc, ring, ahead, tile_m, tile_n, ahead, ahead < steps)
    acc = warpgroup_mma_wait(0, deps=[acc])
    ### END SOLUTION
    c_tile = gl.allocate_shared_memory(dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [tile_m * BLOCK_M, tile_n * BLOCK_N], c_tile)
    tma.store_wait(0)


def matmul_ring(a, b, tile=(128, 256, 64), slots=4):
    """a @ b for (M, K) and (K, N) of halves. tile: BLOCK_M (128 or more), BLOCK_N, BLOCK_K."""
    c, cut = new_product(a, b, tile)
    matmul_ring_kernel[(cut[0] * cut[1],)](
        describe(a, tile[::2]), describe(b, [tile[2], tile[1]]), describe(c, tile[:2]),
        *cut, SLOTS=slots, num_warps=8,
    )  # fmt: skip
    return c

# %% [markdown] tags=["hint"] key="matmul_ring"
# #### Hints for matmul_ring
#
# <details><summary>Hint 1: a question</summary>
#
# With 4 slots, which loads go to slot 1? Which phase of its barrier does each of them end?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `one_tile_kernel` has all the calls. `number // SLOTS` says how often the slot was used before. In
# step s the product of step s − 1 is known to be done after `warpgroup_mma_wait(1, ...)`. Its slot is
# that of load s + SLOTS − 1.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for early in gl.static_range(...):
#     order_step(..., early < steps)
# for step in range(steps):
#     slot = ...
#     mbarrier.wait(full.index(slot), ...)
#     acc = warpgroup_mma(...)
#     acc = warpgroup_mma_wait(..., deps=[acc])
#     # order the step that is ahead, if there is one
# # wait for all
# ```
#
# </details>

# %% tags=["check"] key="matmul_ring" points=4
check(matmul_ring)

# %% [markdown]
# ### What the copy engine brings

# %%
def compare(stored, *functions):
    """Products of two n x n matrices, and cuBLAS's."""
    n = 8192 if DEVICE == "cuda" else 64
    a, b = torch.randn(2, n, n, device=DEVICE).to(torch.float16)
    ways = {fn.__name__: lambda fn=fn: fn(a, b) for fn in functions}
    ways["cuBLAS" if DEVICE == "cuda" else "torch"] = lambda: a @ b
    return bench(
        ways, flops=2 * n**3, baseline=functions[0].__name__,
        title="Product, 8192 x 8192 x 8192, float16", stored=stored,
    )


matmul_tuned = mine("matmul_tuned")
compare("gluon_ring", matmul_tuned, matmul_ring)

# %% [markdown]
# **Read it.** Same tiles, same tensor cores as `matmul_tuned`, and one tile for each program. What differs
# most is who fetches. (`matmul_tuned` moves by 10 % from run to run.)
#
# ## Task 2. A warp that only loads
#
# With more tiles than multiprocessors the end of a tile hurts: it is stored, and nobody loads. So the
# programs **stay**. There are as many as multiprocessors. Program p takes the tiles p, p + programs,
# p + 2 · programs, and so on, and a warp with nothing else to do loads ahead, across the end of a tile.
#
# Loads are now numbered through, from tile to tile. The loader must not overwrite what is still being
# read, so each slot gets a second barrier:
#
# | barrier | who arrives | who waits |
# |---|---|---|
# | `full` | the loader, with the bytes | the multiplying warps |
# | `empty` | the multiplying warps, when the product has read the slot | the loader |
#
# Write the job `load_steps`, about 8 lines: for each of the program's tiles and each step wait until
# the slot is empty, and order. In the first round the slots are empty already: which phase lets the
# loader through?
#
# The other job is given. It waits for each product before it arrives at `empty`. `warp_specialize`
# starts the jobs: the first in the program's own warps, the other in one more. `maxnreg` and the last list
# share out registers: a loading thread needs 24.

# %% tags=["answer"] key="matmul_jobs"
@gluon.jit
def load_steps(a_desc, b_desc, ring, empty, grid_m, grid_n, steps):
    """The loader's job: both tiles of each step, tile of c after tile of c."""
    SLOTS: gl.constexpr = ring[0].shape[0]
    # TODO: number the loads through; wait for the empty slot, order (about 8 lines)
    ### BEGIN SOLUTION
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, grid_m, grid_n)
        for step in range(steps):
            mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1)
            order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, True)
            number += 1
    ### END SOLUTION


@gluon.jit
def multiply_all(c_desc, ring, empty, c_tile, grid_m, grid_n, steps):
    """The job of eight warps: multiply, and store each tile of c."""
    a_tiles, b_tiles, full = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_N, 16])
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, grid_m, grid_n)
        acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)
        for _ in range(steps):
            slot = number % SLOTS
            mbarrier.wait(full.index(slot), number // SLOTS % 2)
            acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)
            acc = warpgroup_mma_wait(0, deps=[acc])
            mbarrier.arrive(empty.index(slot), count=1)
            number += 1
        c_tile.store(acc.to(c_desc.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c_desc, [tile_m * BLOCK_M, tile_n * BLOCK_N], c_tile)
        tma.store_wait(0)


@gluon.jit
def matmul_jobs_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = every num_programs-th tile of c; eight warps multiply, one loads.
    """
    dtype: gl.constexpr = c_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    c_tile = gl.allocate_shared_memory(dtype, c_desc.block_type.shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    ring = (a_tiles, b_tiles, full)
    gl.warp_specialize(
        [
            (multiply_all, (c_desc, ring, empty, c_tile, grid_m, grid_n, steps)),
            (load_steps, (a_desc, b_desc, ring, empty, grid_m, grid_n, steps)),
        ],
        [1],
        [24],
    )


def matmul_jobs(a, b, tile=(128, 256, 64), slots=3, programs=None):
    """matmul_ring by `programs` programs that stay: as many as the GPU has multiprocessors."""
    c, cut = new_product(a, b, tile)
    matmul_jobs_kernel[(min(cut[0] * cut[1], programs or multiprocessors()),)](
        describe(a, tile[::2]), describe(b, [tile[2], tile[1]]), describe(c, tile[:2]),
        *cut, SLOTS=slots, num_warps=8, maxnreg=168,
    )  # fmt: skip
    return c

# %% [markdown] tags=["hint"] key="matmul_jobs"
# #### Hints for matmul_jobs
#
# <details><summary>Hint 1: a question</summary>
#
# `multiply_all` walks over the tiles as well. What must be the same in both jobs, so that a tile is
# used for what it was loaded for?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `number` grows with every step and is never set back. The phase of `empty` that the loader waits for
# is always the other one than that of `full` which its load will end: `^ 1` turns 0 and 1 round.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# number = 0
# for tile in range(...):  # as in multiply_all
#     # where the tile is
#     for step in range(steps):
#         mbarrier.wait(empty.index(...), ...)
#         # order, count on
# ```
#
# </details>

# %% tags=["check"] key="matmul_jobs" points=4
check(matmul_jobs)

# %% [markdown]
# **Predict.** The loader never stops, but `multiply_all` waits for each product before it orders the
# next one. Is that faster than the ring?

# %%
compare("gluon_jobs", matmul_ring, matmul_jobs)

# %% [markdown]
# **Read it.** In the table it is slower. The ring always had a product under way. Here the tensor cores
# run dry in each step, and a full ring does not help them.
#
# ## What the compiler made of it
#
# Look for 12 warps (the loading warp brings three idle ones; the stages beside it mean nothing here), for no
# spills, and for not a single load: the copy engine moves everything.

# %%
a, b = torch.randn(2, 4096, 4096, device=DEVICE).to(torch.float16)
compiled = facts(matmul_jobs, a, b, arch=90)
compiled

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "KB (1,024 bytes) of shared memory in a program: 3 slots and a tile of c": None,
    },
    measured=[lambda: compiled[0].shared_bytes // 1024],
    hints=["A slot has 128 x 64 and 64 x 256 halves, the tile of c 128 x 256."],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **A slot.** (128 × 64 + 64 × 256) × 2 = 49,152 bytes, 48 KB.
#
# **A program.** The tile of c has 128 × 256 × 2 = 65,536 bytes, 64 KB; 3 × 48 + 64 = 208.
#
# **Slots.** (227 − 64) / 48 = 3.4, so 3. `matmul_ring` has four: the compiler lays its tile of c where the ring was.
#
# </details>
#
# ## Stretch: two groups that go on
#
# `multiply_all` waits twice: for each product, and for each tile of c to be stored. The cure:
#
# - **Two jobs that multiply**, a warp group each. A slot's tiles are shared: group 0 takes the upper
#   ROWS rows of the tile of a, group 1 the lower (`x.slice(start, length)`), both the tile of b.
# - **A product is always under way.** Order the product of this step, and then wait for the one
#   before. So the slot that is empty now is that of load `number - 1`.
# - **The store runs on.** Wait for it only when the next tile of c wants its memory.
#
# Fill two gaps.
#
# 1. **`multiply_steps`**, about 14 lines: the walk along K, and the store. In step 0 there is no product
#    before; `mbarrier.arrive` takes `pred` too. After the last step one slot is still to be released.
# 2. **The barriers**, about 3 lines: who arrives at each, and how often?

# %% tags=["answer", "stretch"] key="matmul_groups"
@gluon.jit
def multiply_steps(GROUP: gl.constexpr, c_desc, ring, empty, c_tiles, grid_m, grid_n, steps):
    """The job of a warp group: its ROWS rows of each tile of c."""
    a_tiles, b_tiles, full = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    ROWS: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    c_tile = c_tiles.index(GROUP)
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, grid_m, grid_n)
        c_place = [(2 * tile_m + GROUP) * ROWS, tile_n * BLOCK_N]
        acc = gl.zeros([ROWS, BLOCK_N], gl.float32, ACC)
        # TODO 1: walk along K, release slots; store acc at c_place (about 14 lines)
        ### BEGIN SOLUTION
        for step in range(steps):
            slot = number % SLOTS
            mbarrier.wait(full.index(slot), number // SLOTS % 2)
            a = a_tiles.index(slot).slice(GROUP * ROWS, ROWS)
            acc = warpgroup_mma(a, b_tiles.index(slot), acc, is_async=True)
            acc = warpgroup_mma_wait(1, deps=[acc])
            mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0)
            number += 1
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1)
        tma.store_wait(0)
        c_tile.store(acc.to(c_desc.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c_desc, c_place, c_tile)
        ### END SOLUTION
    tma.store_wait(0)


@gluon.jit
def matmul_groups_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = every num_programs-th tile of c; two groups multiply, one warp loads.
    """
    dtype: gl.constexpr = c_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    c_tiles = gl.allocate_shared_memory(dtype, [2] + c_desc.block_type.shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    # TODO 2: both barriers of each slot (about 3 lines)
    ### BEGIN SOLUTION
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)
    ### END SOLUTION
    ring = (a_tiles, b_tiles, full)
    gl.warp_specialize(
        [
            (multiply_steps, (0, c_desc, ring, empty, c_tiles, grid_m, grid_n, steps)),
            (multiply_steps, (1, c_desc, ring, empty, c_tiles, grid_m, grid_n, steps)),
            (load_steps, (a_desc, b_desc, ring, empty, grid_m, grid_n, steps)),
        ],
        [4, 1],
        [240, 24],
    )


def matmul_groups(a, b, tile=(128, 256, 64), slots=3, programs=None):
    """As matmul_jobs, with two groups of warps that multiply half of each tile."""
    c, cut = new_product(a, b, tile)
    matmul_groups_kernel[(min(cut[0] * cut[1], programs or multiprocessors()),)](
        describe(a, tile[::2]), describe(b, [tile[2], tile[1]]),
        describe(c, [tile[0] // 2, tile[1]]), *cut, SLOTS=slots, num_warps=4, maxnreg=168,
    )  # fmt: skip
    return c

# %% [markdown] tags=["hint"] key="matmul_groups"
# #### Hints for matmul_groups
#
# <details><summary>Hint 1: a question</summary>
#
# After `warpgroup_mma_wait(1, ...)` in step s: which products have read their tiles, and which may
# still read?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Load `number - 1` lies in slot `(number + SLOTS - 1) % SLOTS`, which is right for number 0 as well.
# Both groups arrive at `empty`; the copy engine only adds bytes to the loader's one arrival at `full`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for step in range(steps):
#     # wait for the slot
#     a = a_tiles.index(slot).slice(...)
#     # multiply, wait for the product before
#     mbarrier.arrive(empty.index(...), count=1, pred=...)
#     # count on
# # the last product, its slot
# tma.store_wait(0)
# # as in multiply_all, but go on after the order
# ```
#
# </details>

# %% tags=["check", "stretch"] key="matmul_groups" points=0
check(matmul_groups)

# %% [markdown]
# ## What it brings

# %%
matmul_groups = mine("matmul_groups", quiet=True)  # the workbook's, if yours has not passed
compare("gluon_groups", matmul_jobs, matmul_groups, matmul_tuned)

# %% [markdown]
# **Read it.** The groups are ahead of cuBLAS at this size. They have what the jobs have, and what the ring
# had: a product that is always under way.
#
# A small product does not gain: the host makes three descriptors for it (page 61).
#
# Where each program has one tile the ring will do. So the benchmarks call this:

# %% tags=["reference"]
def matmul_gluon(a, b):
    """a @ b by the kernel that suits; matmul_tuned's where the copy engine cannot help."""
    if not gluon_takes(a, b) or a.dtype != b.dtype or b.shape[1] % 8:
        return reference("matmul_tuned")(a, b)
    tiles = -(-a.shape[0] // 128) * -(-b.shape[1] // 256)
    return (matmul_ring if tiles <= multiprocessors() else matmul_groups)(a, b)

# %% [markdown]
# **What did it cost?** `matmul_tuned` runs on every GPU, in float32 too. This is for one. Go below Triton when
# you have measured that waiting is what is left.
#
# ## Recap
#
# - The copy engine moves whole tiles in both directions; a barrier tells when they are there.
# - A ring with a full and an empty barrier for each slot hands tiles from job to job.
# - Loads are numbered through. Slot and phase follow from the number, in every job for itself.
#
# <details><summary>Common mistakes</summary>
#
# - A phase that is wrong once: everybody waits for ever, or somebody does not wait at all.
# - A slot that is released before its product has read it. The values are wrong now and then.
# - A result that the copy engine may not see yet: the fence is missing.
# - An arrival too few or too many: the jobs fall out of step.
# - A store that is waited for at once: right, and its group stands still meanwhile.
#
# </details>
#
# Next: [65_gluon_attention](65_gluon_attention.ipynb), where two groups take turns.

# %%
progress()
