# ---
# workbook:
#   title: Below Triton, a matrix product in Gluon
#   minutes: 50
#   needs: interpreter
#   requires: [20_matmul, 22_autotune, 23_fused_mlp]
#   you_will:
#     - see what Triton decides for you, and decide it yourself in Gluon
#     - hand tiles from a loading warp to multiplying ones, through a ring with barriers
#     - count what fits into shared memory, and choose the length of the ring
#     - read a matrix product and a gated MLP that keep up with cuBLAS on an H100
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
# In notebook 20 all warps of a program work alike. Each loads a part of the next tiles of A and B,
# computes addresses for it, and then multiplies. That costs instructions and registers, in the very
# warps that should keep the tensor cores busy. At the end of a tile it is worse. The result is
# stored, and while that lasts, nobody multiplies.
#
# The cure is to give warps different jobs. But Triton decides by itself which warp does what, what
# lies in shared memory, and who waits for whom.
#
# *Gluon* is the level below. It is part of Triton, with the same Python and the same compiler, but
# these decisions are yours. You pay for it: the kernels of this notebook run on an H100 (sm_90) and
# on no other GPU, and nothing interprets them.
#
# So your two tasks are plain Python, and run anywhere. The very same lines are compiled into the
# kernel afterwards. You need a GPU only to run that kernel: to compile it and look inside, you
# need none.
#
# ## Two jobs
#
# An H100 multiplies with four warps at a time, a *warp group*. Here is who does what in a program:
#
# - One warp loads tiles of A and B, and nothing else.
# - Two warp groups multiply. A tile of C has 128 rows, and each group owns 64 of them.
#
# ## A ring of tiles
#
# Loaded tiles lie in shared memory until both groups have used them. There is room for a few: the
# *slots* of a ring. The tiles of step 0 go to slot 0, those of step 1 to slot 1, and after the last
# slot comes slot 0 again. So two questions arise. Have the tiles arrived? And may their slot be
# overwritten?
#
# Both are answered by *barriers*, 8 bytes each in shared memory. A barrier counts arrivals. When as
# many have arrived as it was told to expect, its *phase* ends, and it counts from zero again. Phases
# have the numbers 0, 1, 0, 1, and so on. `wait(barrier, phase)` returns as soon as the phase of that
# number has ended.
#
# Each slot has two barriers:
#
# | barrier | who arrives | who waits |
# |---|---|---|
# | `full` | the copy engine, when all bytes are there | the two groups |
# | `empty` | each group, when it has used the tiles | the loading warp |
#
# **Predict.** A new barrier is in phase 0. The loading warp waits for the slot to be empty, before
# it has loaded anything. Nobody has arrived. Why does it not wait for ever?
#
# <details><summary>Answer</summary>
#
# It waits for phase 1. On a new barrier that is the phase *before* the first, and it counts as
# ended. In the next round the loader waits for phase 0, which ends when both groups have arrived.
# So the loader's phase is always the other one: `phase ^ 1`.
#
# </details>
#
# ## Task 1: where in the ring?
#
# Write `ring_slot`. Loads are numbered from 0, one for each step along K, tile of C after tile of C.
#
# | name | meaning |
# |---|---|
# | `number` | number of the load, from 0 |
# | `slots` | how many slots the ring has |
# | returned | the pair `(slot, phase)`, two ints |
#
# - `slot`: where its tiles lie.
# - `phase`: 0 or 1, the phase of the slot's `full` barrier that its arrival ends. The first load
#   into a slot ends phase 0.
#
# Use `+ - * // %` only: these lines will be compiled for the GPU. About 1 line.

# %% tags=["reference"]
def ring_slot_ref(number, slots):
    """The ring walked load by load: after the last slot the next round begins."""
    slot = phase = 0
    for _ in range(number):
        slot += 1
        if slot == slots:
            slot, phase = 0, 1 - phase
    return slot, phase

# %% tags=["answer"] key="ring_slot"
def ring_slot(number, slots):
    """Slot of load `number`, and the phase of the slot's barrier that its arrival ends."""
    # TODO: the slot, and whether it is used for an even or an odd time (about 1 line)
    ### BEGIN SOLUTION
    return number % slots, number // slots % 2
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="ring_slot"
# #### Hints for ring_slot
#
# <details><summary>Hint 1: a question</summary>
#
# With 4 slots, in which slot end the loads 0, 4 and 8? What do these numbers have in common?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The slot is a remainder. The quotient says how often that slot has been used before. Of that you
# need only whether it is even or odd.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# return number % ..., number // ... % ...
# ```
#
# </details>

# %% tags=["check"] key="ring_slot" points=3
check(ring_slot)

# %% [markdown]
# Your ring, drawn. A colour is a phase.

# %%
from tritonbook.seeing.pictures_gluon import draw_ring

draw_ring(ring_slot, loads=14, slots=4)

# %% [markdown]
# ## How long may the ring be?
#
# The longer the ring, the further ahead the loading warp can be. Shared memory sets the limit. A
# program on an H100 may use 227 KB of it, 232,448 bytes. Three things lie there:
#
# - in each slot a tile of A, `block_m` × `block_k`, and a tile of B, `block_k` × `block_n`;
# - the two barriers of each slot, 8 bytes each;
# - the finished tile of C, `block_m` × `out_n`, until the copy engine has stored it. This is why the
#   groups can go on at once. `out_n` is `block_n` for a product. It is half of it for the gate of an
#   MLP, which makes one number of two.
#
# **Predict.** Tiles of 128 × 256 with steps of 64: how many slots fit? Guess before you compute.
#
# ## Task 2: as many slots as fit
#
# Write `ring_length`. Elements have 2 bytes.
#
# | name | meaning |
# |---|---|
# | `block_m`, `block_n`, `block_k` | the tile of C, and the step along K, in elements |
# | `out_n` | columns of the finished tile |
# | `limit` | bytes of shared memory that a program may use |
# | returned | how many slots fit, an int |
# | raises | ValueError where fewer than 2 fit: nothing could be loaded ahead |
#
# About 6 lines.

# %% tags=["reference"]
def ring_length_ref(block_m, block_n, block_k, out_n, limit=232_448):
    """Slots are added one by one, as long as all bytes fit."""
    slots = 0
    while True:
        a = (slots + 1) * block_m * block_k * 2
        b = (slots + 1) * block_k * block_n * 2
        if a + b + (slots + 1) * 16 + block_m * out_n * 2 > limit:
            break
        slots += 1
    if slots < 2:
        raise ValueError(f"only {slots} slots fit")
    return slots

# %% tags=["answer"] key="ring_length"
def ring_length(block_m, block_n, block_k, out_n, limit=232_448):
    """How many slots fit into `limit` bytes of shared memory beside the finished tile."""
    # TODO: bytes of a slot, bytes of the finished tile, how often the one fits (about 6 lines)
    ### BEGIN SOLUTION
    slot = (block_m * block_k + block_k * block_n) * 2 + 2 * 8
    finished = block_m * out_n * 2
    slots = (limit - finished) // slot
    if slots < 2:
        raise ValueError(f"{slots} slots of {slot} bytes fit, and nothing could be loaded ahead")
    return slots
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="ring_length"
# #### Hints for ring_length
#
# <details><summary>Hint 1: a question</summary>
#
# What lies in shared memory once, and what once for each slot?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Take the finished tile off the limit. Divide what is left by the bytes of one slot: two tiles and
# two barriers. Round down.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# slot = (... + ...) * 2 + 2 * ...
# finished = ...
# slots = (... - ...) // ...
# if slots < ...:
#     raise ValueError(...)
# return slots
# ```
#
# </details>

# %% tags=["check"] key="ring_length" points=3
check(ring_length)

# %% [markdown]
# ## First, all warps alike
#
# Nothing to write from here on. `gluon.jit` compiles your `ring_slot` for the GPU, and the `swizzle`
# of notebook 20, both as they stand.
#
# To load a tile is one instruction: an order to the GPU's *copy engine*. A *tensor descriptor* knows
# base, shape and strides of the matrix. What lies beyond its edge arrives as zeros, so there is no
# mask. The `full` barrier is told how many bytes will come.

# %% tags=["reference"]
import functools
from tritonbook import multiprocessors
from tritonbook.gluon import (
    TensorDescriptor,
    barrier,
    fence_async_shared,
    gl,
    gluon,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from tritonbook.warp_jobs import can_run_gluon
matmul_tuned = mine("matmul_tuned")
slot_of = gluon.jit(ring_slot)
tile_of = gluon.jit(reference("swizzle"))


@gluon.jit
def order_step(
    a_desc, b_desc, up_desc, a_tile, b_tile, arrived, pid_m, pid_n, step, there,
    B_BY_COLUMNS: gl.constexpr,
):
    """Order the tiles of one step along K; they end a phase of the barrier `arrived`.

    there: whether K has this step. If not, nothing is ordered.
    up_desc: None, or the tile of B is one of b and one of up, side by side.
    B_BY_COLUMNS: b lies in memory column after column, as nn.Linear keeps its weight.
    """
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    ALONG_N: gl.constexpr = 0 if B_BY_COLUMNS else 1
    WIDTH: gl.constexpr = b_desc.block_type.shape[ALONG_N]
    B_TILES: gl.constexpr = 1 if up_desc is None else 2
    BYTES: gl.constexpr = a_desc.block_type.nbytes + B_TILES * b_desc.block_type.nbytes
    mbarrier.expect(arrived, BYTES, pred=there)
    a_place = [pid_m * BLOCK_M, step * BLOCK_K]
    tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tile, pred=there)
    b_place = [pid_n * WIDTH, step * BLOCK_K] if B_BY_COLUMNS else [step * BLOCK_K, pid_n * WIDTH]
    first = b_tile.slice(0, WIDTH, dim=ALONG_N)
    tma.async_copy_global_to_shared(b_desc, b_place, arrived, first, pred=there)
    if up_desc is not None:
        second = b_tile.slice(WIDTH, WIDTH, dim=ALONG_N)
        tma.async_copy_global_to_shared(up_desc, b_place, arrived, second, pred=there)

# %% [markdown]
# The first kernel has the ring, but not yet the two jobs. All eight warps wait for tiles, order a
# product, and go on to the next. Two things are new.
#
# 1. *Layouts*. They say which thread holds which element of a tile. `NVMMADistributedLayout` is the
#    form in which tensor cores leave a result.
# 2. `warpgroup_mma(..., is_async=True)` takes A and B from shared memory. It returns at once, and the
#    tensor cores work on. They finish in order: `warpgroup_mma_wait(1, ...)` waits until at most one
#    product is unfinished. Then the step *before* is done. When all warps agree on that (`barrier`),
#    its slot gets the tiles that are SLOTS - 1 steps ahead.
#
# The copy engine stores the result, too. The *fence* makes sure that it sees what the threads wrote.
#
# One line above looks odd: `pred=there`. It makes the same instructions do nothing. Why not `if`? With
# `if` around the first orders, the compiler no longer knew who touches acc between two products, and
# waited after each: 34 µs instead of 29 for 2048 × 2048 × 2048 on an H100. Keep branches away from
# products that are under way.

# %% tags=["reference"]
@gluon.jit
def matmul_ring_kernel(
    a_desc, b_desc, c_desc, grid_m, grid_n, steps,
    SLOTS: gl.constexpr, B_BY_COLUMNS: gl.constexpr, GROUP_M: gl.constexpr,
):
    """C = A @ B.

    One program = one tile of C.
    """
    dtype: gl.constexpr = a_desc.dtype
    BLOCK_M: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + b_desc.block_type.shape, b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for one in gl.static_range(SLOTS):
        mbarrier.init(full.index(one), count=1)

    pid_m, pid_n = tile_of(gl.program_id(0), grid_m, grid_n, GROUP_M)
    for early in gl.static_range(SLOTS - 1):
        order_step(
            a_desc, b_desc, None, a_tiles.index(early), b_tiles.index(early), full.index(early),
            pid_m, pid_n, early, early < steps, B_BY_COLUMNS,
        )

    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [8, 1], [16, BLOCK_N, 16])
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)
    for step in range(steps):
        slot, phase = slot_of(step, SLOTS)
        mbarrier.wait(full.index(slot), phase)
        b = b_tiles.index(slot)
        if B_BY_COLUMNS:
            b = b.permute((1, 0))
        acc = warpgroup_mma(a_tiles.index(slot), b, acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        barrier()
        ahead = step + SLOTS - 1
        used, _ = slot_of(ahead, SLOTS)
        order_step(
            a_desc, b_desc, None, a_tiles.index(used), b_tiles.index(used), full.index(used),
            pid_m, pid_n, ahead, ahead < steps, B_BY_COLUMNS,
        )
    acc = warpgroup_mma_wait(0, deps=[acc])

    barrier()  # nobody reads the ring any more: c may lie in its place
    c = gl.allocate_shared_memory(dtype, c_desc.block_type.shape, c_desc.layout)
    c.store(acc.to(dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [pid_m * BLOCK_M, pid_n * BLOCK_N], c)
    tma.store_wait(0)

# %% [markdown]
# This is the kernel for products in which each program has one tile, such as 2048 × 2048 × 2048 on an
# H100. With more tiles it shows the weakness of the beginning: at the end of a tile nobody loads, and
# nobody multiplies.
#
# ## Then, two jobs
#
# So now the second kernel, in three parts. There are as many programs as multiprocessors, and each
# takes many tiles of C. First the loading warp. It waits until a slot is empty, and orders tiles. That
# is all.

# %% tags=["reference"]
@gluon.jit
def load_steps(
    a_desc, b_desc, up_desc, ring, grid_m, grid_n, steps,
    B_BY_COLUMNS: gl.constexpr, GROUP_M: gl.constexpr,
):
    """The loading warp's job: the tiles of each step, tile of C after tile of C."""
    a_tiles, b_tiles, full, empty = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        pid_m, pid_n = tile_of(tile, grid_m, grid_n, GROUP_M)
        for step in range(steps):
            slot, phase = slot_of(number, SLOTS)
            mbarrier.wait(empty.index(slot), phase ^ 1)
            order_step(
                a_desc, b_desc, up_desc, a_tiles.index(slot), b_tiles.index(slot), full.index(slot),
                pid_m, pid_n, step, True, B_BY_COLUMNS,
            )
            number += 1

# %% [markdown]
# The job of a warp group. It tells the `empty` barrier which slot it has used. The copy engine stores
# its result while the next tile is being multiplied.

# %% tags=["reference"]
@gluon.jit
def multiply_steps(
    GROUP: gl.constexpr, c_desc, ring, c_tiles, grid_m, grid_n, steps,
    B_BY_COLUMNS: gl.constexpr, GATED: gl.constexpr, GROUP_M: gl.constexpr,
):
    """A warp group's job: its ROWS rows of each tile of C."""
    a_tiles, b_tiles, full, empty = ring
    SLOTS: gl.constexpr = a_tiles.shape[0]
    ROWS: gl.constexpr = c_desc.block_type.shape[0]
    WIDTH: gl.constexpr = c_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = 2 * WIDTH if GATED else WIDTH
    ACC: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK_N, 16])
    number = 0
    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):
        pid_m, pid_n = tile_of(tile, grid_m, grid_n, GROUP_M)
        acc = gl.zeros([ROWS, BLOCK_N], gl.float32, ACC)
        for step in range(steps):
            slot, phase = slot_of(number, SLOTS)
            mbarrier.wait(full.index(slot), phase)
            a = a_tiles.index(slot).slice(GROUP * ROWS, ROWS)
            b = b_tiles.index(slot)
            if B_BY_COLUMNS:
                b = b.permute((1, 0))
            acc = warpgroup_mma(a, b, acc, is_async=True)
            acc = warpgroup_mma_wait(1, deps=[acc])
            used, _ = slot_of(number + SLOTS - 1, SLOTS)
            mbarrier.arrive(empty.index(used), count=1, pred=step > 0)
            number += 1
        acc = warpgroup_mma_wait(0, deps=[acc])
        used, _ = slot_of(number + SLOTS - 1, SLOTS)
        mbarrier.arrive(empty.index(used), count=1)

        if GATED:
            gate, up = acc.reshape([ROWS, 2, WIDTH]).permute((0, 2, 1)).split()
            c = gate / (1.0 + gl.exp(-gate)) * up
        else:
            c = acc
        tma.store_wait(0)  # the copy engine must have read the last result
        c_tile = c_tiles.index(GROUP)
        c_tile.store(c.to(c_desc.dtype))
        fence_async_shared()
        c_place = [(2 * pid_m + GROUP) * ROWS, pid_n * WIDTH]
        tma.async_copy_shared_to_global(c_desc, c_place, c_tile)
    tma.store_wait(0)

# %% [markdown]
# The kernel gives out the jobs. `warp_specialize` takes a list of functions with their arguments.
# The first runs in the program's own four warps, each other one in warps of its own: four, and one.
# They share one file of registers. A multiplying thread gets 240, a loading one 24: it holds next to
# nothing.

# %% tags=["reference"]
@gluon.jit
def matmul_gluon_kernel(
    a_desc, b_desc, up_desc, c_desc, grid_m, grid_n, steps,
    BLOCK_N: gl.constexpr, SLOTS: gl.constexpr, B_BY_COLUMNS: gl.constexpr,
    GATED: gl.constexpr, GROUP_M: gl.constexpr,
):
    """C = A @ B, or silu(A @ B) * (A @ Up).

    One program = every num_programs-th tile of C.
    """
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    B_ROWS: gl.constexpr = BLOCK_N if B_BY_COLUMNS else BLOCK_K
    B_COLUMNS: gl.constexpr = BLOCK_K if B_BY_COLUMNS else BLOCK_N
    dtype: gl.constexpr = a_desc.dtype
    a_tiles = gl.allocate_shared_memory(dtype, [SLOTS] + a_desc.block_type.shape, a_desc.layout)
    b_tiles = gl.allocate_shared_memory(dtype, [SLOTS, B_ROWS, B_COLUMNS], b_desc.layout)
    c_tiles = gl.allocate_shared_memory(dtype, [2] + c_desc.block_type.shape, c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)  # the loading warp's order
        mbarrier.init(empty.index(slot), count=2)  # two groups

    ring = (a_tiles, b_tiles, full, empty)
    gl.warp_specialize(  # each list of arguments stands here: kept in a variable, flags are lost
        [
            (multiply_steps, (
                0, c_desc, ring, c_tiles,
                grid_m, grid_n, steps, B_BY_COLUMNS, GATED, GROUP_M,
            )),
            (multiply_steps, (
                1, c_desc, ring, c_tiles,
                grid_m, grid_n, steps, B_BY_COLUMNS, GATED, GROUP_M,
            )),
            (load_steps, (
                a_desc, b_desc, up_desc, ring, grid_m, grid_n, steps, B_BY_COLUMNS, GROUP_M,
            )),
        ],
        [4, 1],
        [240, 24],
    )

# %% [markdown]
# The wrappers make the descriptors. A descriptor wants neighbours in memory along one dimension, and
# multiples of 16 bytes along the other. What does not fit, and every other GPU, gets your Triton
# kernels.
#
# A product with one tile for each program takes the GPU some 20 µs, so the host has to be quick.
# Before each launch, Triton looks at all arguments to find what it has compiled for them. What a
# launch returns is that compiled kernel. `launch_ring` keeps it, and launches it itself next time.

# %% tags=["reference"]
BLOCK_M, BLOCK_N, BLOCK_K = 128, 256, 64


def describable(x):
    """Can a tensor descriptor say where the rows of this matrix of halves lie?"""
    rows, columns = x.stride()
    return columns == 1 and rows > 0 and rows % 8 == 0 and x.data_ptr() % 16 == 0  # 8 halves


def gluon_takes(a, *weights):
    """Is this an H100, and are these matrices of half precision that descriptors can describe?"""
    by_columns = weights[0].stride(0) == 1
    return (
        can_run_gluon()
        and a.dtype in (torch.float16, torch.bfloat16)
        and all(w.dtype == a.dtype for w in weights)
        and min(*a.shape, weights[0].shape[1]) > 0
        and describable(a)
        and all(describable(w.T if by_columns else w) for w in weights)
    )


@functools.cache
def layout_of(rows, columns, dtype):
    """How a tile of this shape lies in shared memory. Kept: it takes 10 us of Python."""
    half = gl.bfloat16 if dtype == torch.bfloat16 else gl.float16
    return gl.NVMMASharedLayout.get_default_for([rows, columns], half)


def describe(x, rows, columns):
    """A descriptor of the matrix x, in tiles of rows x columns."""
    layout = layout_of(rows, columns, x.dtype)
    return TensorDescriptor(x, x.shape, x.stride(), [rows, columns], layout)


compiled_rings = {}


def launch_ring(key, tiles, *arguments):
    """matmul_ring_kernel[(tiles,)](*arguments); another key, another compiled kernel."""
    if key in compiled_rings:
        compiled_rings[key][(tiles, 1, 1)](*arguments)
    else:
        compiled_rings[key] = matmul_ring_kernel[(tiles,)](*arguments, num_warps=8)


def launch_gluon(a, b, up=None):
    """Launch on (M, K) and (K, N) matrices that gluon_takes; a new (M, N) matrix.

    With `up`, (K, N) as b: silu(a @ b) * (a @ up).
    """
    (M, K), N = a.shape, b.shape[1]
    by_columns, gated = b.stride(0) == 1, up is not None
    width = BLOCK_N // 2 if gated else BLOCK_N

    def weight(x):
        return describe(x.T, width, BLOCK_K) if by_columns else describe(x, BLOCK_K, width)

    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    a_desc, b_desc = describe(a, BLOCK_M, BLOCK_K), weight(b)
    cut = -(-M // BLOCK_M), -(-N // width), -(-K // BLOCK_K)  # triton.cdiv would take 3 us
    tiles, programs = cut[0] * cut[1], multiprocessors()
    if tiles <= programs and not gated:
        launch_ring(
            (*cut, by_columns, a.dtype, a.device), tiles,
            a_desc, b_desc, describe(c, BLOCK_M, width), *cut,
            ring_length(BLOCK_M, BLOCK_N, BLOCK_K, 0), by_columns, 8,
        )  # fmt: skip
    else:
        matmul_gluon_kernel[(min(tiles, programs),)](
            a_desc, b_desc, weight(up) if gated else None, describe(c, BLOCK_M // 2, width), *cut,
            BLOCK_N=BLOCK_N, SLOTS=ring_length(BLOCK_M, BLOCK_N, BLOCK_K, width),
            B_BY_COLUMNS=by_columns, GATED=gated, GROUP_M=8, num_warps=4, maxnreg=168,
        )  # fmt: skip
    return c


def matmul_gluon(a, b):
    """a @ b: (M, K) by (K, N)."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    return launch_gluon(a, b) if gluon_takes(a, b) else matmul_tuned(a, b)


gate_up_swiglu, mlp_swiglu = mine("gate_up_swiglu"), mine("mlp_swiglu")


def gate_up_gluon(x, w_gate, w_up):
    """silu(x @ w_gate) * (x @ w_up), as gate_up_swiglu of notebook 23."""
    if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:
        raise ValueError("x is (M, D), w_gate and w_up are (D, H)")
    if not gluon_takes(x, w_gate, w_up):
        return gate_up_swiglu(x, w_gate, w_up)
    return launch_gluon(x, w_gate, w_up)


def mlp_gluon(x, w_gate, w_up, w_down):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, as mlp_swiglu of notebook 23."""
    if not (gluon_takes(x, w_gate, w_up) and gluon_takes(x, w_down)):
        return mlp_swiglu(x, w_gate, w_up, w_down)
    return matmul_gluon(gate_up_gluon(x, w_gate, w_up), w_down)

# %% [markdown]
# ## What does the compiler make of it?
#
# These cells compile both kernels for an H100, with or without one. (They need Triton 3.6, 3.7 or 3.8.)
# Look for four things: 8 warps, and 12 where warps have jobs, because the loading warp brings three
# idle companions; few instructions for the tensor cores, since each is for a whole warp group; no
# spills; not a single load or store in the program text, because the copy engine moves everything.

# %%
from tritonbook.warp_jobs import triton_has_gluon

a, b = torch.randn(2, 2048, 2048, dtype=torch.float16)
one_tile = facts(matmul_gluon, a, b, arch=90) if triton_has_gluon() else None
one_tile

# %%
a, b = torch.randn(4096, 64, dtype=torch.float16), torch.randn(64, 2048, dtype=torch.float16)
many_tiles = facts(matmul_gluon, a, b, arch=90) if triton_has_gluon() else None
many_tiles

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "slots in the ring, tiles of 128 x 256 and steps of 64": None,
        "KB (1024 bytes, rounded down) of shared memory of a program with many tiles": None,
    },
    measured=[
        lambda: ring_length(128, 256, 64, 256),
        lambda: many_tiles[0].shared_bytes // 1024 if many_tiles else None,
    ],
    hints=[
        "A slot has 48 KB, the finished tile 64.",
        "All slots, and the finished tile.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Slots**: a slot has (128 × 64 + 64 × 256) × 2 = 49,152 bytes, and 16 for its barriers. The
# finished tile has 128 × 256 × 2 = 65,536. (232,448 − 65,536) / 49,168 = 3.4, so 3.
#
# **Shared memory**: 3 × 48 + 64 = 208 KB, and a few bytes for barriers. One program fits on a
# multiprocessor, and one is enough: its two groups keep the tensor cores busy. With one tile only, the
# finished tile lies where the ring was, so a fourth slot fits: 192 KB.
#
# </details>
#
# ## Does it pay?

# %%
def compare(n, stored):
    """Three ways to the product of two n x n matrices."""
    dtype = torch.float16 if DEVICE == "cuda" else torch.float32
    a, b = torch.randn(2, n, n, device=DEVICE, dtype=dtype)
    torch.testing.assert_close(matmul_gluon(a, b), a @ b, rtol=1e-2, atol=1e-1)
    ways = {
        "matmul_tuned": lambda: matmul_tuned(a, b),
        "matmul_gluon": lambda: matmul_gluon(a, b),
        "cuBLAS" if DEVICE == "cuda" else "torch": lambda: a @ b,
    }
    return bench(ways, flops=2 * n**3, baseline="matmul_tuned", stored=stored)


compare(8192 if DEVICE == "cuda" else 64, "matmul_gluon")

# %%
compare(2048 if DEVICE == "cuda" else 32, "matmul_gluon_2048")

# %% [markdown]
# **Read the tables.** Same tiles, same order, same tensor cores. All that differs is who waits for
# whom.
#
# The second product takes the GPU less than 30 µs. The call takes a slow host longer, 64 µs: three
# descriptors are made in Python and encoded for the GPU. As long as the GPU has other work to do,
# nobody waits for that.
#
# **What did it cost?** `matmul_tuned` runs on every GPU from a T4 on, in float32 too, with any
# strides. This one is for one GPU. Write the first kind first. Go below when you have measured that
# waiting is what is left, and when the kernel is worth it.
#
# ## Recap
#
# - Gluon is Triton with the decisions left to you: jobs of warps, shared memory, layouts, barriers.
# - A ring with a full and an empty barrier for each slot hands tiles from one group to another.
# - The copy engine moves whole tiles, in both directions, while the tensor cores work.
# - Shared memory sets the length of the ring.
#
# <details><summary>Common mistakes</summary>
#
# - A phase that is wrong once. Nothing fails: everyone waits, for ever.
# - A slot that is released before the product has read it. The values are wrong now and then.
# - A result that the copy engine cannot see yet: the fence is missing.
# - Groups that ask for different numbers of tiles: the ring runs out of step.
#
# </details>
#
# Next: [65_gluon_attention](65_gluon_attention.ipynb), where two groups take turns.

# %%
progress()
