"""Two right Gluon kernels for small tiles, to be broken line by line, and how they are launched."""

from types import SimpleNamespace

import torch

from tritonbook.kernels.gluon import (
    async_copy,
    fence_async_shared,
    gl,
    gluon,
    mbarrier,
    mma_v2,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from tritonbook.simulating import simulate


@gluon.jit
def load_tiles(a_desc, b_desc, ring, steps):
    a_tiles, b_tiles, full, empty = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    for number in range(steps):
        slot, phase = number % SLOTS, number // SLOTS % 2
        mbarrier.wait(empty.index(slot), phase ^ 1)
        mbarrier.expect(full.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(
            a_desc, [0, number * 16], full.index(slot), a_tiles.index(slot)
        )
        tma.async_copy_global_to_shared(
            b_desc, [number * 16, 0], full.index(slot), b_tiles.index(slot)
        )


@gluon.jit
def multiply(GROUP: gl.constexpr, c_desc, ring, c_tiles, steps):
    a_tiles, b_tiles, full, empty = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    acc = gl.zeros([8, 16], gl.float32, gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 16, 16]))
    for number in range(steps):
        slot, phase = number % SLOTS, number // SLOTS % 2
        mbarrier.wait(full.index(slot), phase)
        a = a_tiles.index(slot).slice(GROUP * 8, 8)
        acc = warpgroup_mma(a, b_tiles.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(empty.index(slot), count=1)
    c_tile = c_tiles.index(GROUP)
    for half in gl.static_range(2):
        tma.store_wait(0)
        c_tile.store(acc.to(c_desc.dtype))
        fence_async_shared()
        tma.async_copy_shared_to_global(c_desc, [GROUP * 8, half * 16], c_tile)
    tma.store_wait(0)


@gluon.jit
def jobs_kernel(a_desc, b_desc, c_desc, steps, SLOTS: gl.constexpr):
    """c = [A @ B, A @ B], by two groups of 8 rows and a loading warp."""
    a_tiles = gl.allocate_shared_memory(a_desc.dtype, [SLOTS, 16, 16], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(b_desc.dtype, [SLOTS, 16, 16], b_desc.layout)
    c_tiles = gl.allocate_shared_memory(c_desc.dtype, [2, 8, 16], c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)
    ring = (a_tiles, b_tiles, full, empty)
    gl.warp_specialize(
        [
            (multiply, (0, c_desc, ring, c_tiles, steps)),
            (multiply, (1, c_desc, ring, c_tiles, steps)),
            (load_tiles, (a_desc, b_desc, ring, steps)),
        ],
        [4, 1],
        [240, 24],
    )


@gluon.jit
def pipeline_kernel(a_ptr, b_ptr, c_ptr, K, SLOTS: gl.constexpr):
    """c = A @ B, one warp group whose threads copy ahead."""
    ROWS: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    ACC: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
    SHARED: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    a_tiles = gl.allocate_shared_memory(a_ptr.dtype.element_ty, [SLOTS, 16, 16], SHARED)
    b_tiles = gl.allocate_shared_memory(b_ptr.dtype.element_ty, [SLOTS, 16, 16], SHARED)
    rows = gl.arange(0, 16, gl.SliceLayout(1, ROWS))[:, None]
    columns = gl.arange(0, 16, gl.SliceLayout(0, ROWS))[None, :]
    steps = gl.cdiv(K, 16)
    for early in gl.static_range(SLOTS - 1):
        a_there, b_there = columns + early * 16 < K, rows + early * 16 < K
        async_copy.async_copy_global_to_shared(
            a_tiles.index(early), a_ptr + rows * K + early * 16 + columns, mask=a_there
        )
        async_copy.async_copy_global_to_shared(
            b_tiles.index(early), b_ptr + (early * 16 + rows) * 16 + columns, mask=b_there
        )
        async_copy.commit_group()
    acc = gl.zeros([16, 16], gl.float32, ACC)
    for step in range(steps):
        async_copy.wait_group(SLOTS - 2)
        slot, ahead = step % SLOTS, step + SLOTS - 1
        a = a_tiles.index(slot).load(gl.DotOperandLayout(0, ACC, 2))
        b = b_tiles.index(slot).load(gl.DotOperandLayout(1, ACC, 2))
        a_there, b_there = columns + ahead * 16 < K, rows + ahead * 16 < K
        async_copy.async_copy_global_to_shared(
            a_tiles.index(ahead % SLOTS), a_ptr + rows * K + ahead * 16 + columns, mask=a_there
        )
        async_copy.async_copy_global_to_shared(
            b_tiles.index(ahead % SLOTS), b_ptr + (ahead * 16 + rows) * 16 + columns, mask=b_there
        )
        async_copy.commit_group()
        acc = mma_v2(a, b, acc)
    async_copy.wait_group(0)
    gl.store(c_ptr + rows * 16 + columns, acc.to(c_ptr.dtype.element_ty))


def described(x: torch.Tensor, *block: int):
    """A descriptor without the requirements of the hardware: these tiles are tiny."""
    layout = gl.NVMMASharedLayout(32, 16, 2)
    return SimpleNamespace(
        base=x,
        shape=list(x.shape),
        strides=list(x.stride()),
        block_shape=list(block),
        layout=layout,
    )


def run_jobs(kernel, orders, steps: int = 7, slots: int = 3) -> float:
    """The largest error of jobs_kernel's form of a product."""
    torch.manual_seed(0)
    a, b = torch.randn(16, steps * 16 - 3), torch.randn(steps * 16 - 3, 16)
    a, b, c = a.half(), b.half(), torch.zeros(16, 32)
    given = described(a, 16, 16), described(b, 16, 16), described(c, 8, 16), steps
    simulate(kernel, 1, *given, SLOTS=slots, orders=orders)
    return float((c - (a.float() @ b.float()).repeat(1, 2)).abs().max())


def run_pipeline(kernel, orders, steps: int = 7, slots: int = 3) -> float:
    torch.manual_seed(0)
    K = steps * 16 - 3
    a, b, c = torch.randn(16, K).half(), torch.randn(K, 16).half(), torch.zeros(16, 16)
    simulate(kernel, 1, a, b, c, K, SLOTS=slots, orders=orders)
    return float((c - a.float() @ b.float()).abs().max())
