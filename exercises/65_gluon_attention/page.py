# ---
# workbook:
#   title: Below Triton, attention in Gluon
#   minutes: 45
#   needs: interpreter
#   requires: [41_flash_attention, 44_llama_block, 64_gluon_matmul]
#   you_will:
#     - let two groups of warps take turns on the tensor cores
#     - share long and short causal tiles evenly among programs that stay
#     - read an attention kernel that keeps up with cuDNN on an H100
#     - put it into the Llama layer, and see what the whole gains
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
# Your `flash_gqa` of page 42 is within reach of NVIDIA's own cuDNN, and stays behind it: the table
# below has both, at 16,384 tokens on an H100. Why? All its warps work alike. They
# multiply together, and then they compute a softmax together. In that time the tensor cores wait.
#
# The cure is to give warps different jobs, in Gluon, as in notebook 64. It is the same deal: the
# kernel runs on an H100 and nowhere else. Your task is plain Python, and its lines are compiled into
# the kernel.
#
# - One warp loads tiles of K and V, and nothing else.
# - Two warp groups compute. Each owns 64 of the program's 128 queries.

# %%
from tritonbook.seeing.pictures_attention import draw_warp_jobs
from tritonbook.seeing.pictures_gluon import draw_shares

draw_warp_jobs(names=("warp 8", "warps 0 to 3", "warps 4 to 7"))

# %% [markdown]
# Look at the bottom line. While one group computes exponentials, the other one multiplies.

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
# ## Task: every second turn backwards
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
check(next_tile)

# %%
draw_shares({"in the same order": same_order, "yours": next_tile}, tiles=8, heads=4, programs=8)

# %% [markdown]
# ## The kernel
#
# Nothing to write from here on. Read the kernel in four parts. First the ring of notebook 64, with
# your `ring_slot` in it, and three things to do with a ring:
#
# - `put` belongs to the loading warp. It waits until the slot is empty, tells the `full` barrier how
#   many bytes will come, and orders the tile from the copy engine.
# - `take` waits for a tile. `release` says that this group needs it no longer.

# %% tags=["reference"]
import functools

from tritonbook import multiprocessors
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

flash_gqa = mine("flash_gqa")
slot_of = gluon.jit(mine("ring_slot"))
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
def put(desc, batch, head, row, ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    arrived = full.index(slot)
    mbarrier.wait(empty.index(slot), phase ^ 1)
    mbarrier.expect(arrived, desc.block_type.nbytes)
    tma.async_copy_global_to_shared(desc, [batch, head, row, 0], arrived, tiles.index(slot))


@gluon.jit
def take(ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    mbarrier.wait(full.index(slot), phase)
    return tiles.index(slot).reshape([tiles.shape[3], tiles.shape[4]])


@gluon.jit
def release(ring, number):
    tiles, full, empty = ring
    slot, phase = slot_of(number, tiles.shape[0])
    mbarrier.arrive(empty.index(slot), count=1)

# %% [markdown]
# The loading warp. It takes the tiles of keys from the last down to the first: the only one that
# needs a mask comes first. q has a ring of two slots, one for each group. K and V share a ring: K of
# a tile, then its V. Heads may be shared, as in `flash_gqa`: SHARE query heads read one head of K
# and V.
#
# `place_of` numbers the tiles. With many heads it takes one after the other, as in the picture, and
# their K and V stay in the L2 cache. With few heads, shares would be uneven all the same: 8 heads of
# 8,192 tokens are 512 tiles, not four for each of 132 programs. So it takes all heads at once,
# longest tiles first. On an H100 that took 0.247 ms instead of 0.347.

# %% tags=["reference"]
@gluon.jit
def place_of(number, num_tiles, num_heads, all_tiles, at_once):
    """(batch, head, tile) of a number: `at_once` heads at a time, their longest tiles first."""
    first = number // (at_once * num_tiles) * at_once
    size = gl.minimum(at_once, all_tiles // num_tiles - first)
    rest = number - first * num_tiles
    head = first + rest % size
    return head // num_heads, head % num_heads, num_tiles - 1 - rest // size


@gluon.jit
def load_tiles(
    q_desc, k_desc, v_desc, q_ring, ring, num_heads, num_tiles, all_tiles, at_once,
    SHARE: gl.constexpr, IS_CAUSAL: gl.constexpr,
):
    """The loading warp's job: q, k and v of each turn, in the order in which they are used."""
    ROWS: gl.constexpr = q_desc.block_type.shape[2]
    BLOCK: gl.constexpr = k_desc.block_type.shape[2]
    number = 0
    for turn in range(gl.cdiv(all_tiles, gl.num_programs(0))):
        taken = tile_of(turn, gl.program_id(0), gl.num_programs(0))
        if taken < all_tiles:
            batch, head, tile = place_of(taken, num_tiles, num_heads, all_tiles, at_once)
            for group in gl.static_range(2):
                row = tile * BLOCK + group * ROWS
                put(q_desc, batch, head, row, q_ring, 2 * turn + group)
            last = tile if IS_CAUSAL else num_tiles - 1
            for back in range(last + 1):
                row = (last - back) * BLOCK
                put(k_desc, batch, head // SHARE, row, ring, number)
                put(v_desc, batch, head // SHARE, row, ring, number + 1)
                number += 2

# %% [markdown]
# The job of a warp group. Two things are new.
#
# 1. p is an operand of the second product, and it never leaves the registers. `DotOperandLayout` is
#    the form in which tensor cores take it from there. It is the form in which they left the scores,
#    so nothing moves.
# 2. The loop is shifted by one. It orders the scores of the *next* tile and the product of the
#    *last* p with its values, both at once. While the second is computed, the first is turned into
#    the next p.
#
# Last, the *baton*: a barrier for each group. A group orders its two products only when it has the
# baton, and passes it on right after. Without it both groups would want the tensor cores at the
# same time, and both would compute exponentials at the same time.

# %% tags=["reference"]
@gluon.jit
def softmax_step(s, m, l, qk_scale):
    """p of a tile of scores, the factor for what was before, the new m and l; as page 42."""
    m_new = gl.maximum(m, gl.max(s, axis=1) * qk_scale)
    alpha = gl.exp2(m - m_new)
    p = gl.exp2(s * qk_scale - m_new[:, None])
    return p, alpha, m_new, l * alpha + gl.sum(p, axis=1)


@gluon.jit
def attend(
    GROUP: gl.constexpr, o_desc, lse_ptr, q_ring, ring, o_tiles, baton,
    num_heads, L, num_tiles, all_tiles, at_once, qk_scale, IS_CAUSAL: gl.constexpr,
):
    """A warp group's job: attention of its ROWS queries of each tile of BLOCK."""
    ROWS: gl.constexpr = o_desc.block_type.shape[2]
    BLOCK: gl.constexpr = 2 * ROWS
    D: gl.constexpr = o_desc.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, BLOCK, 16])
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    P: gl.constexpr = gl.DotOperandLayout(0, OUT, 2)
    SCORE_ROWS: gl.constexpr = gl.SliceLayout(1, SCORES)
    OUT_ROWS: gl.constexpr = gl.SliceLayout(1, OUT)
    zeros = gl.zeros([ROWS, BLOCK], gl.float32, SCORES)

    number = 0  # of k in the ring; its v is the next
    beat = 0
    for turn in range(gl.cdiv(all_tiles, gl.num_programs(0))):
        taken = tile_of(turn, gl.program_id(0), gl.num_programs(0))
        if taken < all_tiles:
            batch, head, tile = place_of(taken, num_tiles, num_heads, all_tiles, at_once)
            offs_m = tile * BLOCK + GROUP * ROWS + gl.arange(0, ROWS, SCORE_ROWS)
            last = tile if IS_CAUSAL else num_tiles - 1

            # the first tile of keys: the only one with a mask
            q = take(q_ring, 2 * turn + GROUP)
            k = take(ring, number)
            s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
            s = warpgroup_mma_wait(0, deps=[s])
            release(ring, number)
            limit = gl.minimum(offs_m + 1, L) if IS_CAUSAL else offs_m * 0 + L
            offs_n = last * BLOCK + gl.arange(0, BLOCK, gl.SliceLayout(0, SCORES))
            s = gl.where(offs_n[None, :] < limit[:, None], s, float("-inf"))
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

            lse_rows = (batch * num_heads + head).to(gl.int64) * L + offs_m
            gl.store(lse_ptr + lse_rows, (m + gl.log2(l)) * LN_2, mask=offs_m < L)
            out = acc / gl.convert_layout(l, OUT_ROWS)[:, None]
            tma.store_wait(0)  # the copy engine must have read the last result
            o = o_tiles.index(GROUP)
            o.reshape([ROWS, D]).store(out.to(o_desc.dtype))
            fence_async_shared()  # the copy engine must see what the threads wrote
            o_place = [batch, head, tile * BLOCK + GROUP * ROWS, 0]
            tma.async_copy_shared_to_global(o_desc, o_place, o)
    tma.store_wait(0)

# %% [markdown]
# The kernel gives out the jobs. Its descriptors have four dimensions, so they know all strides: q, k
# and v may lie in memory as a model leaves them. The last tile may be ragged. Behind the edge zeros
# arrive, and nothing is stored there. What no descriptor can describe goes to your `flash_gqa`. So
# does a head size other than 64 or 128, and every other GPU.

# %% tags=["reference"]
@gluon.jit
def flash_gluon_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, num_heads, L, num_tiles, all_tiles, at_once, scale,
    SHARE: gl.constexpr, IS_CAUSAL: gl.constexpr, SLOTS: gl.constexpr,
):
    """As flash_gqa_kernel of page 42, for as many queries as keys.

    One program = one tile of queries in each turn.
    Assumes scale > 0.
    """
    q_ring = new_ring(q_desc, 2, 1)
    ring = new_ring(k_desc, SLOTS, 2)
    o_tiles = gl.allocate_shared_memory(o_desc.dtype, [2] + o_desc.block_type.shape, o_desc.layout)
    baton = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for group in gl.static_range(2):
        mbarrier.init(baton.index(group), count=1)

    qk_scale = scale * LOG2_E
    gl.warp_specialize(
        [
            (attend, (
                0, o_desc, lse_ptr, q_ring, ring, o_tiles, baton,
                num_heads, L, num_tiles, all_tiles, at_once, qk_scale, IS_CAUSAL,
            )),
            (attend, (
                1, o_desc, lse_ptr, q_ring, ring, o_tiles, baton,
                num_heads, L, num_tiles, all_tiles, at_once, qk_scale, IS_CAUSAL,
            )),
            (load_tiles, (
                q_desc, k_desc, v_desc, q_ring, ring, num_heads, num_tiles, all_tiles, at_once,
                SHARE, IS_CAUSAL,
            )),
        ],
        [4, 1],
        [240, 24],
    )


@functools.cache
def layout_of(D, dtype):
    """How a tile of rows of D elements lies in shared memory. Kept: it takes 10 us of Python."""
    half = gl.bfloat16 if dtype == torch.bfloat16 else gl.float16
    return gl.NVMMASharedLayout.get_default_for([1, 1, 128, D], half)


def describable(x):
    """Can a tensor descriptor say where the elements of this (B, H, L, D) tensor lie?"""
    aligned = all(step > 0 and step % 8 == 0 for step in x.stride()[:3])  # 8 halves: 16 bytes
    return aligned and x.stride(3) == 1 and x.data_ptr() % 16 == 0


def gluon_takes(q, k, v):
    """Is this an H100, and are these tensors what the kernel was written for?"""
    B, H, L, D = q.shape
    HK = k.shape[1]
    return (
        can_run_gluon()
        and q.dtype == k.dtype == v.dtype in (torch.float16, torch.bfloat16)
        and k.shape == v.shape == (B, HK, L, D)
        and D in (64, 128)
        and q.numel() > 0
        and HK > 0
        and H % HK == 0
        and all(describable(x) for x in (q, k, v))
    )


def heads_at_once(heads, kv_heads, causal):
    """How many heads are shared out at a time; found by measuring on an H100."""
    return heads if causal and kv_heads <= 24 else 1


def flash_gluon(q, k, v, causal=False, scale=None):
    """flash_gqa of page 42: (o, lse) for q (B, H, L, D), k and v (B, HK, L, D)."""
    if scale is not None and scale <= 0:
        raise ValueError(f"scale is {scale}, must be positive")
    if not gluon_takes(q, k, v):
        return flash_gqa(q, k, v, causal, scale)
    B, H, L, D = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((B, H, L), dtype=torch.float32, device=q.device)
    layout = layout_of(D, q.dtype)

    def desc(x, rows):
        return TensorDescriptor(x, x.shape, x.stride(), [1, 1, rows, D], layout)

    num_tiles = -(-L // 128)
    flash_gluon_kernel[(min(B * H * num_tiles, multiprocessors()),)](
        desc(q, 64), desc(k, 128), desc(v, 128), desc(o, 64), lse,
        H, L, num_tiles, B * H * num_tiles, heads_at_once(B * H, B * k.shape[1], causal),
        D**-0.5 if scale is None else scale,
        SHARE=H // k.shape[1], IS_CAUSAL=causal, SLOTS=512 // D, num_warps=4, maxnreg=168,
    )  # fmt: skip
    return o, lse

# %% [markdown]
# ## What does the compiler make of it?
#
# This cell compiles the kernel for an H100, with or without one. (It needs Triton 3.6, 3.7 or 3.8.) Look for
# 12 warps, for instructions of the tensor cores, and for no spills. The stores are those of lse.
# Tiles of o go by the copy engine.

# %%
from tritonbook.warp_jobs import triton_has_gluon

q, k, v = torch.randn(3, 1, 2, 256, 128, dtype=torch.float16).unbind(0)
compiled = facts(flash_gluon, q, k, v, True, arch=90) if triton_has_gluon() else None
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
torch.testing.assert_close(o, flash_gqa(q, k, v, True)[0], rtol=1e-2, atol=1e-2)
ways = {
    "flash_gqa": lambda: flash_gqa(q, k, v, True),
    "flash_gluon": lambda: flash_gluon(q, k, v, True),
    "PyTorch": cudnn,
}
bench(ways, flops=2 * B * H * L * L * D, baseline="flash_gqa", stored="flash_gluon")

# %% [markdown]
# On an H100 the rows are your `flash_gqa`, this kernel, and cuDNN through PyTorch. Same formula, same
# tensor cores. What differs most is who waits for whom.
#
# **What did it cost?** `flash_gqa` fits two screens and runs on every GPU from a T4 on, with heads of
# any size up to 128. This one has 218 lines, for one GPU and two sizes of heads.
#
# ## The layer, once more
#
# Notebook 44 ended with a layer of Llama on your kernels. Two of its parts have a faster kernel now:
# attention, and the gated product of the MLP, `gate_up_gluon` of notebook 64. Here is the layer with
# both. The rest is as it was.

# %% tags=["reference"]
from tritonbook.course.exercises import given

rmsnorm, rope, llama_block = mine("rmsnorm"), mine("rope"), mine("llama_block")
gate_up_gluon = given("gate_up_gluon")


def llama_gluon(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=1e-5
):
    """llama_block of notebook 44: (B, L, D) to (B, L, D)."""
    B, L, D = x.shape
    normed = rmsnorm(x, norm_attn, eps).view(-1, D)
    parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
    q, k = rope(q, k, cos, sin, out=(q, k))
    o, _ = flash_gluon(q, k, v, True)
    h = torch.addmm(x.reshape(-1, D), o.transpose(1, 2).reshape(B * L, -1), w_o)

    hidden = gate_up_gluon(rmsnorm(h, norm_mlp, eps), w_gate, w_up)
    return h.addmm_(hidden, w_down).view(B, L, D)

# %%
if DEVICE == "cuda":
    B, L, D, F, H, HK, d, dtype = 1, 8192, 4096, 14336, 32, 8, 128, torch.bfloat16
else:
    B, L, D, F, H, HK, d, dtype = 1, 16, 32, 64, 2, 1, 16, torch.float32


def weight(rows, columns):
    """As nn.Linear keeps it: (out, in), seen through .t()."""
    return (torch.randn(columns, rows, device=DEVICE) * rows**-0.5).to(dtype).t()


angle = torch.arange(L)[:, None] * 500_000.0 ** (-torch.arange(0, d, 2) / d)
tables = (table.to(DEVICE, dtype) for table in (angle.cos(), angle.sin()))
ones = torch.ones(D, device=DEVICE, dtype=dtype)
arguments = (
    torch.randn(B, L, D, device=DEVICE, dtype=dtype),
    ones, weight(D, (H + 2 * HK) * d), weight(H * d, D),
    ones, weight(D, F), weight(D, F), weight(F, D), *tables, H, HK,
)  # fmt: skip
ways = {
    "llama_block": lambda: llama_block(*arguments),
    "llama_gluon": lambda: llama_gluon(*arguments),
}
torch.testing.assert_close(ways["llama_gluon"](), ways["llama_block"](), rtol=5e-2, atol=5e-2)
bench(ways, baseline="llama_block", warmup=1000, rep=300, stored="llama_gluon")

# %% [markdown]
# **Read the table.** Three of the five products are still cuBLAS's, and it is good at them. The gain
# has two sources. Attention took a sixth of the time. Now it takes 0.91 ms instead of 1.14. And gate
# and up are not written to memory any more: 2.80 ms instead of 3.04. (Where `llama_block` is the
# workbook's, it has the first gain already, and the table shows the second alone.)
#
# Against others, in the benchmarks: at 8,192 tokens `torch.compile`'s layer takes 1.07 times as long,
# and one on Liger-Kernel's kernels 1.10 times.
#
# **Use it.** `GluonLlamaBlock` wraps a `TritonLlamaBlock` of notebook 44, so it takes the weights of a
# real model: `GluonLlamaBlock(TritonLlamaBlock.from_hugging_face(layer, config))`. While you train, it
# runs the layer inside: the kernels in Gluon have no backward pass.

# %% tags=["reference"]
class GluonLlamaBlock(torch.nn.Module):
    """A TritonLlamaBlock on two kernels in Gluon. forward(x, cos, sin): (B, L, D) to (B, L, D)."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x, cos, sin):
        block = self.block
        if torch.is_grad_enabled():
            return block(x, cos, sin)
        weights = [getattr(block, name) for name in block.NAMES]
        return llama_gluon(x, *weights, cos, sin, block.heads, block.kv_heads, block.eps)

# %% [markdown]
# ## Recap
#
# - Products that are asynchronous let a group compute exponentials while the tensor cores work.
# - A baton keeps two groups from wanting the same unit at the same time.
# - Programs that stay need a fair order, because causal tiles are long and short.
#
# <details><summary>Common mistakes</summary>
#
# - p is overwritten while the tensor cores still read it: the wait must come first.
# - A factor for acc from the wrong tile, because the loop is shifted by one.
# - Two groups that pass the baton an unequal number of times. Nothing fails: both wait, for ever.
#
# </details>
#
# This is the end of the course. The [course map](../README.md) has the stretch tasks that you left
# out.

# %%
progress()
