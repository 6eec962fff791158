# ---
# workbook:
#   title: Below Triton, a matrix product in Gluon
#   minutes: 60
#   needs: gluon
#   requires: [21_matmul_grouped, 22_autotune, 63_gluon_pipeline]
#   limits: {sm_90: no spills}
#   you_will:
#     - order whole tiles from an H100's copy engine, and wait for them at a barrier
#     - give warps different jobs, and hand tiles from one to the others through a ring
#     - multiply without ever waiting for a store, and keep up with cuBLAS
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

# %% tags=["reference"]
from tritonbook import multiprocessors
from tritonbook.gluon import barrier, describe, fence_async_shared, gl, gluon, mbarrier, tma
from tritonbook.gluon import warpgroup_mma, warpgroup_mma_wait

# %%
@gluon.jit
def one_tile_kernel(a_desc, b_desc, c_desc, ORDER: gl.constexpr):
    """c = a @ b, all three of them one tile.

    One program, one warp group.
    """
    a_tile = gl.allocate_shared_memory(a_desc.dtype, a_desc.block_shape, a_desc.layout)
    b_tile = gl.allocate_shared_memory(b_desc.dtype, b_desc.block_shape, b_desc.layout)
    c_tile = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)

    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(a_desc, [0, 0], full, a_tile)
    tma.async_copy_global_to_shared(b_desc, [0, 0], full, b_tile)
    mbarrier.wait(full, 0)

    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, c_desc.block_shape[1], 16])
    acc = gl.zeros(c_desc.block_shape, gl.float32, ACC)
    acc = warpgroup_mma(a_tile, b_tile, acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])

    c_tile.store(acc.to(c_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [0, 0], c_tile)
    tma.store_wait(0)

# %% tags=["reference"]
def matmul_ref(a, b):
    return a @ b


def new_product(a, b, tile):
    """c, not yet computed, and how many tiles it has down and across, with steps of how many."""
    (M, K), N = a.shape, b.shape[1]
    if K != b.shape[0] or a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError("a and b must be (M, K) and (K, N), both float16 or both bfloat16")
    if any(n % 8 for n in (K, N, a.stride(0), b.stride(0))) or a.stride(1) != 1 != b.stride(1):
        raise ValueError("K, N and the strides of rows must be multiples of 8")
    cut = triton.cdiv(M, tile[0]), triton.cdiv(N, tile[1]), triton.cdiv(K, tile[2])
    return torch.empty((M, N), dtype=a.dtype, device=a.device), cut

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
    """Order load `number` of the ring: tiles of A and B of one step along K, if it is there."""
    a_tiles, b_tiles, full = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = b_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    BYTES: gl.constexpr = a_desc.block_type.nbytes + b_desc.block_type.nbytes
    # TODO: the slot's barrier expects the bytes; order both tiles, each with pred=there (about 6 lines)
    ### BEGIN SOLUTION
    slot = number % SLOTS
    arrived, a_place, b_place = full.index(slot), [tile_m * BLOCK_M, step * BLOCK_K], [step * BLOCK_K, tile_n * BLOCK_N]
    mbarrier.expect(arrived, BYTES, pred=there)
    tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there)
    tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there)
    ### END SOLUTION


@gluon.jit
def matmul_ring_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = one tile of c, with two warp groups.
    """
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_N, 16])
    dtype: gl.constexpr = c_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for one in gl.static_range(SLOTS):
        mbarrier.init(full.index(one), count=1)
    ring = (a_tiles, b_tiles, full)
    tile_m, tile_n = tile_of(gl.program_id(0), grid_m, grid_n)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)
    # TODO: fill the ring; in each step wait, multiply, order the step that is ahead (about 12 lines)
    ### BEGIN SOLUTION
    for early in gl.static_range(SLOTS - 1):
        order_step(a_desc, b_desc, ring, early, tile_m, tile_n, early, early < steps)
    for step in range(steps):
        slot, phase = step % SLOTS, step // SLOTS % 2
        mbarrier.wait(full.index(slot), phase)
        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        barrier()
        ahead = step + SLOTS - 1
        order_step(a_desc, b_desc, ring, ahead, tile_m, tile_n, ahead, ahead < steps)
    acc = warpgroup_mma_wait(0, deps=[acc])
    ### END SOLUTION
    barrier()  # nobody reads the ring any more: c may lie in its place
    c_tile = gl.allocate_shared_memory(dtype, c_desc.block_type.shape, c_desc.layout)
    c_tile.store(acc.to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [tile_m * BLOCK_M, tile_n * BLOCK_N], c_tile)
    tma.store_wait(0)


def matmul_ring(a, b, tile=(128, 256, 64), slots=4):
    """a @ b for (M, K) and (K, N) of halves. tile: BLOCK_M, BLOCK_N, BLOCK_K."""
    c, cut = new_product(a, b, tile)
    matmul_ring_kernel[(cut[0] * cut[1],)](
        describe(a, [tile[0], tile[2]]), describe(b, tile[1:][::-1]), describe(c, tile[:2]),
        *cut, SLOTS=slots, num_warps=8,
    )  # fmt: skip
    return c

# %% tags=["check"] key="matmul_ring" points=4
check(matmul_ring)

# %% tags=["answer"] key="matmul_two_jobs"
@gluon.jit
def load_steps(a_desc, b_desc, ring, empty, grid_m, grid_n, steps):
    """The loading warp's job: the tiles of each step, tile of C after tile of C."""
    SLOTS: gl.constexpr = ring[0].shape[0]
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, grid_m, grid_n)
        # TODO
        ### BEGIN SOLUTION
        for step in range(steps):
            phase = number // SLOTS % 2
            mbarrier.wait(empty.index(number % SLOTS), phase ^ 1)
            order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, True)
            number += 1
        ### END SOLUTION


@gluon.jit
def multiply_at_once(c_desc, ring, empty, c_tile, grid_m, grid_n, steps):
    """The job of eight warps: each product is waited for, and so is each result."""
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
def two_jobs_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = every num_programs-th tile of c.
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
            (multiply_at_once, (c_desc, ring, empty, c_tile, grid_m, grid_n, steps)),
            (load_steps, (a_desc, b_desc, ring, empty, grid_m, grid_n, steps)),
        ],
        [1],
        [24],
    )


def matmul_two_jobs(a, b, tile=(128, 256, 64), slots=3, programs=None):
    c, cut = new_product(a, b, tile)
    two_jobs_kernel[(min(cut[0] * cut[1], programs or multiprocessors()),)](
        describe(a, [tile[0], tile[2]]), describe(b, tile[1:][::-1]), describe(c, tile[:2]),
        *cut, SLOTS=slots, num_warps=8, maxnreg=168,
    )  # fmt: skip
    return c

# %% tags=["check"] key="matmul_two_jobs" points=4
check(matmul_two_jobs)

# %% tags=["answer"] key="matmul_three_jobs"
@gluon.jit
def multiply_steps(GROUP: gl.constexpr, c_desc, ring, empty, c_tiles, grid_m, grid_n, steps):
    """The job of a warp group: its ROWS rows of each tile of C."""
    a_tiles, b_tiles, full = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    ROWS: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        tile_m, tile_n = tile_of(tile, grid_m, grid_n)
        acc = gl.zeros([ROWS, BLOCK_N], gl.float32, ACC)
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
        c_tiles.index(GROUP).store(acc.to(c_desc.dtype))
        fence_async_shared()
        c_place = [(2 * tile_m + GROUP) * ROWS, tile_n * BLOCK_N]
        tma.async_copy_shared_to_global(c_desc, c_place, c_tiles.index(GROUP))
        ### END SOLUTION
    tma.store_wait(0)


@gluon.jit
def three_jobs_kernel(a_desc, b_desc, c_desc, grid_m, grid_n, steps, SLOTS: gl.constexpr):
    """c = a @ b.

    One program = every num_programs-th tile of c.
    """
    dtype: gl.constexpr = c_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    c_tiles = gl.allocate_shared_memory(dtype, [2] + c_desc.block_type.shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)
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


def matmul_three_jobs(a, b, tile=(128, 256, 64), slots=3, programs=None):
    c, cut = new_product(a, b, tile)
    three_jobs_kernel[(min(cut[0] * cut[1], programs or multiprocessors()),)](
        describe(a, [tile[0], tile[2]]), describe(b, tile[1:][::-1]), describe(c, [tile[0] // 2, tile[1]]),
        *cut, SLOTS=slots, num_warps=4, maxnreg=168,
    )  # fmt: skip
    return c

# %% tags=["check"] key="matmul_three_jobs" points=4
check(matmul_three_jobs)

# %%
progress()
