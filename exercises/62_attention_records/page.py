# ---
# workbook:
#   title: Records of attention
#   minutes: 55
#   needs: interpreter
#   requires: [42_flash_gqa]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - let the GPU's copy engine fetch tiles, so that three programs share a multiprocessor
#     - number programs so that heads share the L2 cache and the longest walks start first
#     - cut heads of 80 and 96 into two tiles, and choose tiles for short texts
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
# `flash_gqa` of page 42 takes what any model hands over. It reaches two thirds of cuDNN, NVIDIA's
# own attention. Where is the last third? Ask the compiler what it made for an H100:

# %%
flash_gqa = mine("flash_gqa", quiet=True)
q, k, v = torch.empty(3, 2, 32, 4096, 128, device="meta", dtype=torch.float16).unbind(0)
facts(flash_gqa, q, k, v, True, arch=90)

# %% [markdown]
# Read the line *occupancy*: **one** program on a multiprocessor. Its warps work alike. They multiply
# together, and in the time of the softmax the tensor cores have nothing to do.

# %%
draw = pictures("attention_records")
draw.draw_residents(programs=1, tiles=3)

# %% [markdown]
# With three programs on a multiprocessor, one multiplies while another computes exponentials. Nobody
# has to plan it: whoever is ready goes on.

# %%
draw.draw_residents(programs=3, tiles=3)

# %% [markdown]
# This page takes four steps, each measured against the one before: more programs, a better order,
# heads of any size, short texts.
#
# ## Step 1. Three programs
#
# A multiprocessor has 65,536 registers. Three programs of 4 warps, 128 threads each, may take 170
# registers a thread. The accumulator of 64 queries and 128 columns takes 64 of them, 64 × 128 scores
# another 64. What about the rest? In `flash_gqa` it holds **addresses**: one for each 16 bytes that a
# thread loads.
#
# Since Hopper, GPUs have a *copy engine*. It is told once what a tensor looks like, by a
# **descriptor**: address, shape, strides, and the shape of a tile. Then one thread orders a whole
# tile by its first indices. No addresses, no masks: what lies outside arrives as zero. Here is one,
# for tiles of 4 × 8:

# %% tags=["reference"]
from tritonbook import target_arch
from tritonbook.descriptors import can_describe, describe

# %%
@triton.jit
def corner_kernel(x_ptr, y_ptr, first):
    """y = the 4 x 8 numbers of x from row and column `first` on; x_ptr is a descriptor.

    One program.
    """
    tile = x_ptr.load([0, first, first])
    offs = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(y_ptr + offs, tile.reshape(4, 8))


x = torch.arange(64.0, device=DEVICE).view(1, 8, 8).to(torch.float16)
y = torch.empty(4, 8, device=DEVICE)
if can_describe(x):
    corner_kernel[(1,)](describe(x, [1, 4, 8]), y, 6)
    print(y)

# %% [markdown]
# The tile has as many dimensions as the tensor, so `reshape` drops the 1. The engine wants numbers of
# 2 bytes, side by side in the last dimension, and strides that are multiples of 16 bytes. `can_describe`
# says whether it takes a tensor; everything else comes through addresses, as before.
#
# `maxnreg=168` tells the compiler how many registers a thread may have. Now the table: `flash_gqa`,
# then the kernel that you will write in task 3, in tiles of `flash_gqa`'s size and in smaller ones.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

record = mine("flash_gqa", record=True, quiet=True)
HALF = torch.float16 if DEVICE == "cuda" else torch.float32


def inputs(B, H, L, D, HK=None, dtype=HALF):
    """q, k and v, small ones without a GPU."""
    B, H, L = (B, H, L) if DEVICE == "cuda" else (1, 2, 64)
    return [torch.randn(B, n, L, D, device=DEVICE, dtype=dtype) for n in (H, HK or H, HK or H)]


def native(backend, q, k, v, causal=True):
    def run():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


B, H, L, D = 2, 32, 4096, 128
given = inputs(B, H, L, D)
record_steps = bench(
    {
        "flash_gqa": lambda: flash_gqa(*given, True),
    },
    stored="record_attention_programs",
)

# %% tags=["reference"]
LOG2_E, LN_2 = 1.4426950408889634, tl.constexpr(0.6931471805599453)  # log2(e), ln(2)

bounds = triton.jit(mine("walk_bounds", quiet=True))  # of page 42


def attention_ref(q, k, v, causal=False, scale=None):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        later = torch.ones_like(s).triu(1 + s.shape[-1] - s.shape[-2]) > 0
        s = s.masked_fill(later, float("-inf"))
    return torch.softmax(s, dim=-1).nan_to_num(0.0) @ v, torch.logsumexp(s, dim=-1).float()


def which_tile_ref(pid, tiles, heads, at_once):
    order = [
        (tile, head)
        for first in range(0, heads, at_once)
        for tile in reversed(range(tiles))
        for head in range(first, min(first + at_once, heads))
    ]
    return order[pid]


def column_parts_ref(D):
    sizes = (16, 32, 64, 128, 256)
    ways = [(one, 0) for one in sizes] + [(a, b) for a in sizes for b in sizes if b < a]
    return min((way for way in ways if sum(way) >= D), key=lambda way: (sum(way), way[1]))


def chosen(q, k, v):
    """What flash_gqa_record does with these tensors: described, parts, at_once, tile."""
    described = can_describe(k, v)
    D = q.shape[3]
    heads_in_8_mb = 2**23 // max(1, 2 * k.shape[2] * D * k.element_size())
    if not described:
        tile = dict(BLOCK_M=32, BLOCK_N=32, num_warps=8, num_stages=1)
    else:
        tile = dict(BLOCK_M=64, BLOCK_N=128 if D <= 128 else 64, num_warps=4, num_stages=1)
    return dict(
        described=described, parts=column_parts(D), at_once=max(1, heads_in_8_mb), tile=tile
    )

# %% tags=["answer"] key="which_tile"
def which_tile(pid, tiles, heads, at_once):
    """(tile, head) of program `pid`: `at_once` heads at a time, their last tiles first."""
    # TODO: the first head of the group, how many heads it has, the place in it (about 4 lines)
    ### BEGIN SOLUTION
    first = pid // (at_once * tiles) * at_once
    size = min(at_once, heads - first)
    place = pid - first * tiles
    return tiles - 1 - place // size, first + place % size
    ### END SOLUTION


tile_and_head = triton.jit(which_tile)  # the same function, for kernels

# %% tags=["check"] key="which_tile" points=3
check(which_tile)

# %% tags=["answer"] key="column_parts"
def column_parts(D):
    """(D1, D2): the widths of the two tiles that hold D columns; D2 is 0 where one will do."""
    # TODO: one power of two, or the next smaller one and a rest (about 4 lines)
    ### BEGIN SOLUTION
    whole = max(16, triton.next_power_of_2(D))
    half = whole // 2
    rest = max(16, triton.next_power_of_2(D - half))
    return (half, rest) if half + rest < whole else (whole, 0)
    ### END SOLUTION

# %% tags=["check"] key="column_parts" points=2
check(column_parts)

# %% tags=["answer"] key="flash_gqa_record"
@triton.jit
def load_tile(
    x_ptr, b, h, start, Lk, stride_xn, stride_xd,
    FIRST: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """[BLOCK_N, WIDTH] of head (b, h): rows from `start`, columns from FIRST; zeros outside.

    x_ptr: with DESCRIBED a descriptor of all (B, HK, Lk, D), else where the head begins.
    """
    # TODO: with DESCRIBED one load and a reshape; else offsets, mask, load (about 7 lines)
    ### BEGIN SOLUTION
    if DESCRIBED:
        return x_ptr.load([b, h, start, FIRST]).reshape(BLOCK_N, WIDTH)
    else:
        offs_n = tl.arange(0, BLOCK_N)[:, None]
        offs_d = FIRST + tl.arange(0, WIDTH)[None, :]
        x_ptr += start.to(tl.int64) * stride_xn
        mask = (start + offs_n < Lk) & (offs_d < D)
        return tl.load(x_ptr + (offs_n * stride_xn + offs_d * stride_xd), mask=mask, other=0.0)
    ### END SOLUTION


@triton.jit
def flash_gqa_record_kernel(
    q_ptr, k_ptr, k_rest_ptr, v_ptr, v_rest_ptr, o_ptr, lse_ptr,
    heads, at_once, HK, Lq, Lk, qk_scale,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    CAUSAL: tl.constexpr, GROUP: tl.constexpr,
    D: tl.constexpr, D1: tl.constexpr, D2: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DESCRIBED: tl.constexpr,
):
    """o = softmax(scale q k^T) v, where GROUP query heads share a head of k and v.

    One program = BLOCK_M rows, (position, head) pairs of one group.
    Assumes qk_scale > 0, D1 + D2 >= D.
    """
    tiles = tl.cdiv(Lq * GROUP, BLOCK_M)
    pid_m, bh = tile_and_head(tl.program_id(0), tiles, heads, at_once)
    b, hk = bh // HK, bh % HK
    b64, hk64 = b.to(tl.int64), hk.to(tl.int64)
    if not DESCRIBED:
        k_ptr += b64 * stride_kb + hk64 * stride_kh
        v_ptr += b64 * stride_vb + hk64 * stride_vh
        k_rest_ptr, v_rest_ptr = k_ptr, v_ptr

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m < Lq * GROUP
    position, head = offs_m // GROUP, hk64 * GROUP + offs_m % GROUP
    at = position.to(tl.int64)
    q_rows = q_ptr + b64 * stride_qb + head * stride_qh + at * stride_qm
    offs_d = tl.arange(0, D1)[None, :]
    mask = mask_m[:, None] & (offs_d < D)
    q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0)
    acc = tl.zeros([BLOCK_M, D1], tl.float32)
    if D2 > 0:
        offs_e = D1 + tl.arange(0, D2)[None, :]
        mask_e = mask_m[:, None] & (offs_e < D)
        q_rest = tl.load(q_rows[:, None] + offs_e * stride_qd, mask=mask_e, other=0.0)
        acc_rest = tl.zeros([BLOCK_M, D2], tl.float32)
    m_i = tl.full([BLOCK_M], -1e38, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)

    first, last = pid_m * BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP
    full, end = bounds(first, last, Lq, Lk, CAUSAL, BLOCK_N)
    limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk
    for MASKED in tl.static_range(2):
        begin = full if MASKED else 0
        stop = end if MASKED else full
        for start in range(begin, stop, BLOCK_N):
            start = tl.multiple_of(start, BLOCK_N)
            cols = start + tl.arange(0, BLOCK_N)
            k = load_tile(
                k_ptr, b, hk, start, Lk, stride_kn, stride_kd,
                0, D1, D, BLOCK_N, DESCRIBED,
            )
            if D2 > 0:
                k_rest = load_tile(
                    k_rest_ptr, b, hk, start, Lk, stride_kn, stride_kd,
                    D1, D2, D, BLOCK_N, DESCRIBED,
                )
            # TODO: s, of both parts, masked; m_new, p, alpha and l_i of page 42 (about 9 lines)
            ### BEGIN SOLUTION
            s = tl.dot(q, tl.trans(k), input_precision="ieee")
            if D2 > 0:
                s = tl.dot(q_rest, tl.trans(k_rest), s, input_precision="ieee")
            if MASKED:
                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
            p = tl.exp2(s * qk_scale - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(p, axis=1)
            ### END SOLUTION
            v = load_tile(
                v_ptr, b, hk, start, Lk, stride_vn, stride_vd,
                0, D1, D, BLOCK_N, DESCRIBED,
            )
            if D2 > 0:
                v_rest = load_tile(
                    v_rest_ptr, b, hk, start, Lk, stride_vn, stride_vd,
                    D1, D2, D, BLOCK_N, DESCRIBED,
                )
            # TODO: acc, acc_rest where there is one, m_i (about 5 lines)
            ### BEGIN SOLUTION
            p = p.to(v.dtype)
            acc = tl.dot(p, v, acc * alpha[:, None], input_precision="ieee")
            if D2 > 0:
                acc_rest = tl.dot(p, v_rest, acc_rest * alpha[:, None], input_precision="ieee")
            m_i = m_new
            ### END SOLUTION

    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = tl.where(l_i == 0.0, float("-inf"), (m_i + tl.log2(l_safe)) * LN_2)
    tl.store(lse_ptr + (b64 * HK * GROUP + head) * Lq + position, lse, mask=mask_m)
    o_rows = o_ptr + b64 * stride_ob + head * stride_oh + at * stride_om
    # TODO: divide by l_safe and store, both parts (about 4 lines)
    ### BEGIN SOLUTION
    tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)
    if D2 > 0:
        o_rest = acc_rest / l_safe[:, None]
        tl.store(o_rows[:, None] + offs_e * stride_od, o_rest, mask=mask_e)
    ### END SOLUTION


def flash_gqa_record(q, k, v, causal=False, scale=None, **steps):
    """(o, lse) of attention where q has a multiple of the heads of k and v.

    steps: for measuring, what takes the place of what `chosen` says.
    """
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1:3]
    if k.shape != v.shape or k.shape != (B, HK, Lk, D) or HK == 0 or H % HK or D > 256:
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}")
    if scale is not None and scale <= 0:
        raise ValueError(f"scale is {scale}, must be positive")
    o, lse = torch.empty_like(q), q.new_empty(B, H, Lq, dtype=torch.float32)
    use = chosen(q, k, v) | steps
    tile, (D1, D2) = use["tile"], use["parts"]
    tiles = [k, k, v, v]
    if use["described"]:
        block = [1, 1, tile["BLOCK_N"]]
        tiles = [
            describe(x, [*block, width]) if width else None for x in (k, v) for width in (D1, D2)
        ]
    grid = (triton.cdiv(Lq * (H // HK), tile["BLOCK_M"]) * B * HK,)
    flash_gqa_record_kernel[grid](
        q, *tiles, o, lse, B * HK, use["at_once"], HK, Lq, Lk,
        LOG2_E * (D**-0.5 if scale is None else scale),
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=causal, GROUP=H // HK, D=D, D1=D1, D2=D2,
        DESCRIBED=use["described"], **tile,
    )  # fmt: skip
    return o, lse

# %% tags=["check"] key="flash_gqa_record" points=6
check(flash_gqa_record)

# %%
progress()
