# ---
# workbook:
#   title: Below Triton, attention in Gluon
#   minutes: 50
#   needs: interpreter
#   requires: [14_flash_attention]
#   you_will:
#     - see what Triton decides for you, and decide it yourself in Gluon
#     - hand tiles from one group of warps to another through a ring with barriers
#     - share long and short causal tiles evenly among programs that stay
#     - read an attention kernel that keeps up with cuDNN on an H100
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, case, check, facts, mine, progress, reference, setup, show_tiles, tensor, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# Your `flash_fwd` of notebook 14 is within reach of NVIDIA's own cuDNN, and stays behind it. At
# 16,384 tokens it had 0.84 to 0.89 of its speed on an H100. Why? All its warps work alike. They
# multiply together, and then they compute a softmax together. In that time the tensor cores wait.
#
# The cure is to give warps different jobs. Triton can do some of it by itself (the stretch of
# notebook 14). The rest it does not let you say. It decides which warp does what, what lies in
# shared memory, and who waits for whom.
#
# *Gluon* is the level below. It is part of Triton, with the same Python and the same compiler, but
# these decisions are yours. You pay for it: the kernel of this notebook runs on an H100 (sm_90) and
# on no other GPU, and nothing interprets it.
#
# So your two tasks are plain Python, and run anywhere. The very same lines are compiled into the
# kernel afterwards. You need a GPU only to run that kernel: to compile it and look inside, you
# need none.
#
# ## Three jobs
#
# An H100 multiplies with four warps at a time, a *warp group*. Here is who does what:
#
# - One warp loads tiles of K and V, and nothing else.
# - Two warp groups compute. Each owns 64 of the program's 128 queries.

# %%
from tritonbook.seeing.pictures_attention import draw_warp_jobs
from tritonbook.seeing.pictures_gluon import draw_ring, draw_shares

draw_warp_jobs()

# %% [markdown]
# Look at the bottom line. While one group computes exponentials, the other one multiplies.
#
# ## A ring of tiles
#
# Loaded tiles lie in shared memory until both groups have used them. There is room for a few: the
# *slots* of a ring. Tile 0 goes to slot 0, tile 1 to slot 1, and after the last slot comes slot 0
# again. So two questions arise. Has the tile arrived? And may its slot be overwritten?
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
# | `empty` | each group, when it has used the tile | the loading warp |
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
# Write `ring_slot`. Tiles are numbered from 0 in the order of their loads.
#
# | name | meaning |
# |---|---|
# | `number` | number of the tile, from 0 |
# | `slots` | how many slots the ring has |
# | returned | the pair `(slot, phase)`, two ints |
#
# - `slot`: where the tile lies.
# - `phase`: 0 or 1, the phase of the slot's `full` barrier that its arrival ends. The first tile in
#   a slot ends phase 0.
#
# Use `+ - * // %` only: these lines will be compiled for the GPU. About 1 line.

# %% tags=["reference"]
def ring_slot_ref(number, slots):
    """The ring walked tile by tile: after the last slot the next round begins."""
    slot = phase = 0
    for _ in range(number):
        slot += 1
        if slot == slots:
            slot, phase = 0, 1 - phase
    return slot, phase


RING_SUSPECTS = {
    "never-flips": (
        lambda number, slots: (number % slots, 0),
        "The phase is always 0. Each time a slot is used again, its barrier is in the other phase.",
    ),
    "flips-with-every-tile": (
        lambda number, slots: (number % slots, number % 2),
        "The phase changes from tile to tile. It changes from round to round: each slot has a "
        "barrier of its own.",
    ),
    "counts-rounds": (
        lambda number, slots: (number % slots, number // slots),
        "The phase is the number of the round. Barriers know two phases only, 0 and 1.",
    ),
    "other-phase": (
        lambda number, slots: (number % slots, 1 - number // slots % 2),
        "The phases are the wrong way round. The first tile in a slot ends phase 0.",
    ),
    "swapped": (
        lambda number, slots: (number // slots % 2, number % slots),
        "The pair is (phase, slot); the slot comes first.",
    ),
}
RING_CASES = [
    case("the third round", number=10, slots=4),
    case("the first tile", number=0, slots=4),
    case("the last slot", number=3, slots=4),
    case("the second round", number=4, slots=4),
    case("three slots", number=11, slots=3),
]

# %% tags=["answer"] key="ring_slot"
def ring_slot(number, slots):
    """Slot of tile `number`, and the phase of the slot's barrier that its arrival ends."""
    # TODO: the slot, and whether it is used for an even or an odd time (about 1 line)
    ### BEGIN SOLUTION
    return number % slots, number // slots % 2
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="ring_slot"
# #### Hints for ring_slot
#
# <details><summary>Hint 1: a question</summary>
#
# With 4 slots, in which slot lie the tiles 0, 4 and 8? What do these numbers have in common?
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
check(ring_slot, ring_slot_ref, RING_CASES, triton=False, suspects=RING_SUSPECTS)
### BEGIN HIDDEN TESTS
HIDDEN_RING_CASES = [
    case("one slot, an even round", number=6, slots=1),
    case("one slot, an odd round", number=7, slots=1),
    case("two slots", number=3, slots=2),
    case("five slots", number=14, slots=5),
    case("eight slots, far on", number=100_003, slots=8),
    case("the end of a round", number=15, slots=8),
]
check(ring_slot, ring_slot_ref, HIDDEN_RING_CASES, triton=False, suspects=RING_SUSPECTS)
### END HIDDEN TESTS

# %% [markdown]
# Your ring, drawn. A colour is a phase.

# %%
draw_ring(ring_slot, tiles=14, slots=4)

# %% [markdown]
# ## Programs that stay
#
# There are as many programs as the GPU has multiprocessors, 132 on an H100. Each takes many tiles of
# queries, one in each *turn*. So it can load the next tile while it still stores the last result.
#
# But causal tiles are not alike. The last queries of a head see all keys, the first see few. Number
# the tiles so that each head begins with its longest. If the programs take them in the same order
# in every turn, this happens (the bars count tiles of keys):

# %% tags=["reference"]
def same_order(turn, pid, programs):
    return turn * programs + pid

# %%
draw_shares({"every turn in the same order": same_order}, tiles=8, heads=4, programs=8)

# %% [markdown]
# Program 0 gets the longest tile in each turn. At the end all others wait for it.
#
# ## Task 2: every second turn backwards
#
# Write `next_tile`. In the turns 0, 2, 4, ... the programs take the tiles in their own order:
# program 0 the first, program 1 the second. In the turns 1, 3, 5, ... they take them backwards: the
# *last* program takes the first tile.
#
# | name | meaning |
# |---|---|
# | `turn` | number of the turn, from 0 |
# | `pid` | number of the program, 0 to `programs - 1` |
# | `programs` | how many programs there are |
# | returned | number of the tile that this program takes in this turn, an int |
#
# Every tile is taken exactly once. Again, `+ - * // %`, comparisons and `... if ... else ...` only.
# About 2 lines.

# %% tags=["reference"]
def next_tile_ref(turn, pid, programs):
    """All turns written out one after another."""
    order = []
    for number in range(turn + 1):
        row = range(number * programs, (number + 1) * programs)
        order = list(reversed(row)) if number % 2 else list(row)
    return order[pid]


def takes_every_tile_once(fn):
    for programs in (1, 2, 5, 8):
        got = sorted(fn(turn, pid, programs) for turn in range(4) for pid in range(programs))
        missing = sorted(set(range(4 * programs)) - set(got))
        assert not missing, f"With {programs} programs nobody takes tile {missing[0]} in 4 turns."


SHARE_SUSPECTS = {
    "forwards": (
        same_order,
        "This turn goes forwards. The turns 1, 3, 5 go backwards, or program 0 gets the longest "
        "tile every time.",
    ),
    "backwards": (
        lambda turn, pid, programs: turn * programs + programs - 1 - pid,
        "This turn goes backwards. The turns 0, 2, 4 go forwards.",
    ),
    "off-by-one": (
        lambda turn, pid, programs: turn * programs + (programs - pid if turn % 2 else pid),
        "Backwards, program 0 takes number `programs`, which belongs to the next turn. The last "
        "of a turn is `programs - 1`.",
    ),
    "side-by-side": (
        lambda turn, pid, programs: 2 * programs * (turn // 2) + 2 * pid + turn % 2,
        "Two turns give a program two tiles side by side. The second turn should go backwards.",
    ),
}
SHARE_CASES = [
    case("the first turn", turn=0, pid=2, programs=8),
    case("the second turn, program 0", turn=1, pid=0, programs=8),
    case("the second turn, the last program", turn=1, pid=7, programs=8),
    case("the third turn", turn=2, pid=5, programs=8),
    case("an odd number of programs", turn=3, pid=1, programs=5),
]

# %% tags=["answer"] key="next_tile"
def next_tile(turn, pid, programs):
    """Number of the tile of program `pid` in turn `turn`; every second turn goes backwards."""
    # TODO: the place within the turn, then the number (about 2 lines)
    ### BEGIN SOLUTION
    place = pid if turn % 2 == 0 else programs - 1 - pid
    return turn * programs + place
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="next_tile"
# #### Hints for next_tile
#
# <details><summary>Hint 1: a question</summary>
#
# With 8 programs, turn 1 has the tiles 8 to 15. Which one does program 7 take? And program 0?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# All turns before this one have used up `turn * programs` tiles. Add the place within the turn. It
# is `pid`, or counted from the other end.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# place = pid if ... else programs - ...
# return turn * ... + ...
# ```
#
# </details>

# %% tags=["check"] key="next_tile" points=3
check(next_tile, next_tile_ref, SHARE_CASES, triton=False, suspects=SHARE_SUSPECTS,
      also=[takes_every_tile_once])
### BEGIN HIDDEN TESTS
HIDDEN_SHARE_CASES = [
    case("one program, turn 0", turn=0, pid=0, programs=1),
    case("one program, turn 3", turn=3, pid=0, programs=1),
    case("two programs", turn=5, pid=1, programs=2),
    case("an H100, backwards", turn=31, pid=17, programs=132),
    case("an H100, forwards", turn=30, pid=131, programs=132),
    case("the middle of an odd number", turn=1, pid=2, programs=5),
]
check(next_tile, next_tile_ref, HIDDEN_SHARE_CASES, triton=False, suspects=SHARE_SUSPECTS,
      also=[takes_every_tile_once])
### END HIDDEN TESTS

# %%
draw_shares({"in the same order": same_order, "yours": next_tile}, tiles=8, heads=4, programs=8)

# %% [markdown]
# ## The kernel
#
# Nothing to write from here on. Read the kernel in four parts. First the ring: your `ring_slot`,
# compiled for the GPU by `gluon.jit`, and three things to do with a ring.
#
# - `put` belongs to the loading warp. It waits until the slot is empty. It tells the `full` barrier
#   how many bytes will come, and orders them from the GPU's *copy engine*. That is all: one
#   instruction for a whole tile, by a *tensor descriptor* that knows base, shape and strides.
# - `take` waits for a tile. `release` says that this group needs it no longer.

# %% tags=["reference"]
from tritonbook.device import multiprocessors
from tritonbook.gluon import (
    TensorDescriptor,
    fence_async_shared,
    gl,
    gluon,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from tritonbook.warp_jobs import can_run_gluon

LOG2_E = tl.constexpr(1.4426950408889634)  # exp(x) = exp2(x * LOG2_E)
LN_2 = tl.constexpr(0.6931471805599453)

slot_of = gluon.jit(ring_slot)
tile_of = gluon.jit(next_tile)


@gluon.jit
def new_ring(desc, SLOTS: gl.constexpr, READERS: gl.constexpr):
    """SLOTS tiles in shared memory, two barriers each; READERS groups use each tile."""
    tiles = gl.allocate_shared_memory(desc.dtype, [SLOTS] + desc.block_type.shape, desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=READERS)
    return tiles, full, empty


@gluon.jit
def put(desc, row, ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    mbarrier.wait(empty.index(slot), phase ^ 1)
    mbarrier.expect(full.index(slot), desc.block_type.nbytes)
    tma.async_copy_global_to_shared(desc, [row, 0], full.index(slot), tiles.index(slot))


@gluon.jit
def take(ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    mbarrier.wait(full.index(slot), phase)
    return tiles.index(slot)


@gluon.jit
def release(ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    mbarrier.arrive(empty.index(slot), count=1)

# %% [markdown]
# The loading warp. It takes the tiles of keys from the diagonal down to the first: the only one
# that needs a mask comes first. q has a ring of two slots, one for each group. K and V share a ring:
# K of a tile, then its V.

# %% tags=["reference"]
@gluon.jit
def load_tiles(q_desc, k_desc, v_desc, q_ring, ring, num_tiles, all_tiles, IS_CAUSAL: gl.constexpr):
    """The loading warp's job: q, k and v of each turn, in the order in which they are used."""
    ROWS: gl.constexpr = q_desc.block_type.shape[0]
    BLOCK: gl.constexpr = k_desc.block_type.shape[0]
    number = 0
    for turn in range(gl.cdiv(all_tiles, gl.num_programs(0))):
        mine = tile_of(turn, gl.program_id(0), gl.num_programs(0))
        if mine < all_tiles:
            tile = num_tiles - 1 - mine % num_tiles
            head_row = mine // num_tiles * num_tiles * BLOCK
            for group in gl.static_range(2):
                put(q_desc, head_row + tile * BLOCK + group * ROWS, q_ring, 2 * turn + group)
            last = tile if IS_CAUSAL else num_tiles - 1
            for back in range(last + 1):
                row = head_row + (last - back) * BLOCK
                put(k_desc, row, ring, number)
                put(v_desc, row, ring, number + 1)
                number += 2

# %% [markdown]
# The job of a warp group. Three things are new.
#
# 1. *Layouts*. They say which thread holds which element of a tile. `NVMMADistributedLayout` is the
#    form in which tensor cores leave a result. `DotOperandLayout` is the form in which they take p.
# 2. `warpgroup_mma(..., is_async=True)` returns at once, and the tensor cores work on. They finish
#    in order. `warpgroup_mma_wait(1, ...)` waits until at most one product is unfinished.
# 3. So the loop is shifted by one. It orders the scores of the *next* tile and the product of the
#    *last* p with its values, both at once. While the second is computed, the first is turned into
#    the next p.
#
# Last, the *baton*: a barrier for each group. A group orders its two products only when it has the
# baton, and passes it on right after. Without it both groups would want the tensor cores at the
# same time, and both would compute exponentials at the same time.

# %% tags=["reference"]
@gluon.jit
def softmax_step(s, m, l, qk_scale):
    """p of a tile of scores, the factor for what was before, the new m and l; as notebook 14."""
    m_new = gl.maximum(m, gl.max(s, axis=1) * qk_scale)
    alpha = gl.exp2(m - m_new)
    p = gl.exp2(s * qk_scale - m_new[:, None])
    return p, alpha, m_new, l * alpha + gl.sum(p, axis=1)


@gluon.jit
def attend(
    GROUP: gl.constexpr, o_desc, lse_ptr, q_ring, ring, o_tiles, baton,
    num_tiles, all_tiles, qk_scale, IS_CAUSAL: gl.constexpr,
):
    """A warp group's job: attention of its ROWS queries of each tile of BLOCK."""
    ROWS: gl.constexpr = o_desc.block_type.shape[0]
    BLOCK: gl.constexpr = 2 * ROWS
    D: gl.constexpr = o_desc.block_type.shape[1]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    P: gl.constexpr = gl.DotOperandLayout(0, OUT, 2)
    SCORE_ROWS: gl.constexpr = gl.SliceLayout(1, SCORES)
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, OUT)
    zeros = gl.zeros([ROWS, BLOCK], gl.float32, SCORES)

    number = 0  # of k in the ring; its v is the next
    beat = 0
    for turn in range(gl.cdiv(all_tiles, gl.num_programs(0))):
        mine = tile_of(turn, gl.program_id(0), gl.num_programs(0))
        if mine < all_tiles:
            tile = num_tiles - 1 - mine % num_tiles
            head_row = mine // num_tiles * num_tiles * BLOCK
            offs_m = tile * BLOCK + GROUP * ROWS + gl.arange(0, ROWS, SCORE_ROWS)
            last = tile if IS_CAUSAL else num_tiles - 1

            # the first tile of keys: the only one with a mask
            q = take(q_ring, 2 * turn + GROUP)
            k = take(ring, number)
            s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
            s = warpgroup_mma_wait(0, deps=[s])
            release(ring, number)
            if IS_CAUSAL:
                offs_n = last * BLOCK + gl.arange(0, BLOCK, gl.SliceLayout(0, SCORES))
                s = gl.where(offs_n[None, :] <= offs_m[:, None], s, float("-inf"))
            m = gl.full([ROWS], float("-inf"), gl.float32, SCORE_ROWS)
            l = gl.zeros([ROWS], gl.float32, SCORE_ROWS)
            p_next, alpha, m, l = softmax_step(s, m, l, qk_scale)
            acc = gl.zeros([ROWS, D], gl.float32, OUT)
            p = gl.convert_layout(p_next.to(o_desc.dtype), P)

            for _ in range(last):
                k = take(ring, number + 2)
                mbarrier.wait(baton.index(GROUP), (beat & 1) ^ (1 - GROUP))
                s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
                v = take(ring, number + 1)
                acc = warpgroup_mma(p, v, acc, is_async=True)
                mbarrier.arrive(baton.index(1 - GROUP), count=1)
                beat += 1
                s = warpgroup_mma_wait(1, deps=[s])
                release(ring, number + 2)
                p_next, alpha, m, l = softmax_step(s, m, l, qk_scale)
                acc, p = warpgroup_mma_wait(0, deps=[acc, p])
                release(ring, number + 1)
                acc = acc * gl.convert_layout(alpha, OUT_ROWS)[:, None]
                p = gl.convert_layout(p_next.to(o_desc.dtype), P)
                number += 2

            release(q_ring, 2 * turn + GROUP)
            v = take(ring, number + 1)
            acc = warpgroup_mma(p, v, acc, is_async=True)
            acc = warpgroup_mma_wait(0, deps=[acc])
            release(ring, number + 1)
            number += 2

            gl.store(lse_ptr + (head_row + offs_m).to(gl.int64), (m + gl.log2(l)) * LN_2)
            out = acc / gl.convert_layout(l, OUT_ROWS)[:, None]
            tma.store_wait(0)  # the copy engine must have read the last result
            o = o_tiles.index(GROUP)
            o.store(out.to(o_desc.dtype))
            fence_async_shared()  # the copy engine must see what the threads wrote
            tma.async_copy_shared_to_global(
                o_desc, [head_row + tile * BLOCK + GROUP * ROWS, 0], o
            )
    tma.store_wait(0)

# %% [markdown]
# The kernel gives out the jobs. `warp_specialize` takes a list of functions with their arguments.
# The first runs in the program's own four warps, each other one in warps of its own: four, and one.
# They share one file of registers. A computing thread gets 240, a loading one 24: it holds next to
# nothing.
#
# The wrapper makes the descriptors. It takes only what the kernel was written for. Odd lengths,
# strides, shared heads: all that `flash_fwd` does, this kernel leaves out.

# %% tags=["reference"]
@gluon.jit
def flash_gluon_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, num_tiles, all_tiles, scale,
    IS_CAUSAL: gl.constexpr, SLOTS: gl.constexpr,
):
    """As flash_fwd_kernel of notebook 14.

    One program = one tile of queries in each turn.
    Assumes contiguous memory, scale > 0, and that the tile divides L.
    """
    q_ring = new_ring(q_desc, 2, 1)
    ring = new_ring(k_desc, SLOTS, 2)
    o_tiles = gl.allocate_shared_memory(o_desc.dtype, [2] + o_desc.block_type.shape, o_desc.layout)
    baton = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for group in gl.static_range(2):
        mbarrier.init(baton.index(group), count=1)

    shared = (q_ring, ring, o_tiles, baton, num_tiles, all_tiles, scale * LOG2_E, IS_CAUSAL)
    loads = (q_desc, k_desc, v_desc, q_ring, ring, num_tiles, all_tiles, IS_CAUSAL)
    gl.warp_specialize(
        [
            (attend, (0, o_desc, lse_ptr) + shared),
            (attend, (1, o_desc, lse_ptr) + shared),
            (load_tiles, loads),
        ],
        [4, 1],
        [240, 24],
    )


def flash_gluon(q, k, v, causal=False):
    """flash_fwd of contiguous q, k, v of one shape (B, H, L, D), D 64 or 128, L a multiple of 128.

    float16 or bfloat16. On another GPU than an H100, and in the interpreter, it is flash_fwd.
    """
    B, H, L, D = q.shape
    if not q.shape == k.shape == v.shape or L % 128 or D not in (64, 128):
        raise ValueError("q, k and v must have one shape, with L a multiple of 128, D 64 or 128")
    if not all(x.is_contiguous() for x in (q, k, v)):
        raise ValueError("q, k and v must be contiguous")
    if not can_run_gluon() or q.dtype == torch.float32:
        return mine("flash_fwd", quiet=True)(q, k, v, causal)
    o = torch.empty_like(q)
    lse = torch.empty((B, H, L), dtype=torch.float32, device=q.device)
    dtype = gl.bfloat16 if q.dtype == torch.bfloat16 else gl.float16
    layout = gl.NVMMASharedLayout.get_default_for([128, D], dtype)

    def desc(x, rows):
        return TensorDescriptor(x, [B * H * L, D], [D, 1], [rows, D], layout)

    grid = (min(B * H * L // 128, multiprocessors()),)
    flash_gluon_kernel[grid](
        desc(q, 64), desc(k, 128), desc(v, 128), desc(o, 64), lse,
        L // 128, B * H * L // 128, D**-0.5, causal, SLOTS=512 // D, num_warps=4, maxnreg=168,
    )  # fmt: skip
    return o, lse

# %% [markdown]
# ## What does the compiler make of it?
#
# This cell compiles the kernel for an H100, with or without one. (It needs Triton 3.6.) Look for
# three things: 12 warps instead of 4, because the loading warp brings three idle companions; tensor
# core instructions of a whole warp group (`wgmma`); no spills.

# %%
from tritonbook.compat import triton_version

q, k, v = torch.randn(3, 1, 2, 256, 128, dtype=torch.float16).unbind(0)
compiled = facts(flash_gluon, q, k, v, True, arch=90) if triton_version() >= (3, 6) else None
compiled

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "slots in the ring of K and V, heads of 128": None,
        "KB (1024 bytes) of shared memory that one program uses": None,
    },
    measured=[
        lambda: 512 // 128,
        lambda: compiled[0].shared_bytes // 1024 if compiled else None,
    ],
    hints=[
        "Look at the launch in flash_gluon.",
        "A slot holds 128 rows of 128 elements of 2 bytes. q and o need two tiles of 64 rows each.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Slots**: `512 // D` is 4, so two tiles of K and two of V.
#
# **Shared memory**: a tile of 128 × 128 elements of 2 bytes has 32 KB. Four slots have 128, q and o
# 32 each: 192 KB. The barriers add a few bytes. An H100 allows 227, so one program fits on a
# multiprocessor, and one is enough: its two groups take turns.
#
# </details>
#
# ## Does it pay?

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

B, H, L, D = (1, 32, 16384, 128) if DEVICE == "cuda" else (1, 2, 128, 64)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)


def cudnn():
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION if DEVICE == "cuda" else SDPBackend.MATH):
        return scaled_dot_product_attention(q, k, v, is_causal=True)


o = flash_gluon(q, k, v, True)[0]
torch.testing.assert_close(o, mine("flash_fwd")(q, k, v, True)[0], rtol=1e-2, atol=1e-2)
ways = {
    "flash_fwd": lambda: mine("flash_fwd", quiet=True)(q, k, v, True),
    "flash_gluon": lambda: flash_gluon(q, k, v, True),
    "PyTorch": cudnn,
}
bench(ways, flops=2 * B * H * L * L * D, baseline="flash_fwd", stored="flash_gluon")

# %% [markdown]
# On an H100 the rows are your `flash_fwd`, this kernel, and cuDNN through PyTorch. Same formula, same
# tiles, same tensor cores: all that differs is who waits for whom.
#
# **What did it cost?** `flash_fwd` has 60 lines and runs on every GPU from a T4 on, for any length
# and any strides. This one has 150 lines for one GPU and friendly shapes. Write the first kind first.
# Go below when you have measured that waiting is what is left, and when the kernel is worth it.
#
# ## Recap
#
# - Gluon is Triton with the decisions left to you: jobs of warps, shared memory, layouts, barriers.
# - A ring with a full and an empty barrier for each slot hands tiles from one group to another.
# - Asynchronous products let one group compute exponentials while the tensor cores work.
# - Programs that stay need a fair order, because causal tiles are long and short.
#
# <details><summary>Common mistakes</summary>
#
# - A phase that is wrong once. Nothing fails: everyone waits, for ever.
# - `release` before the product has read the tile. The values are wrong now and then.
# - A copy of a result that the copy engine cannot see yet: the fence is missing.
# - Two groups that ask for different numbers of tiles: the ring runs out of step.
#
# </details>

# %%
progress()
