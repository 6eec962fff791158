"""Attention for records: page 42's rows, with what an H100 gives to those who ask for it.

- K and V come through tensor descriptors for heads of 64 and 128: one thread orders a whole tile
  from the GPU's copy engine. Threads keep no addresses, so 168 registers are enough and three
  programs fit on a multiprocessor: while one waits for its tile, the others compute. The price is
  tiles of 64 queries, so all keys are read twice as often from the L2 cache.
- A few heads at a time, so that their keys and values stay in the L2 cache.
- Tile sizes were found by measuring, one GPU and head dimension at a time.

Page 65 goes a level deeper, into Gluon, and is faster still.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tritonbook import target_arch
from tritonbook.descriptors import can_describe, describe

LOG2_E = tl.constexpr(1.4426950408889634)  # exp(x) = exp2(x * LOG2_E)
LN_2 = tl.constexpr(0.6931471805599453)


def check_attention_inputs(q, k, v):
    """Raise ValueError unless the shapes fit together; see the contract."""
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ValueError(f"{q.shape[1]} query heads do not share {k.shape[1]} key heads evenly")


def tiles(k, v, rows):
    """Tile sizes and launch options for `rows` queries of the keys k and values v.

    Found by measuring on an H100. A program may use 227 KB of shared memory there, and less
    elsewhere. Below sm_80, and in float32, the products run without tensor cores: small tiles.
    DESCRIBED: k and v come through tensor descriptors.
    """
    D, arch = k.shape[3], target_arch()
    described = arch // 10 == 9 and rows >= 64 and D in (64, 128) and can_describe(k, v)
    options = {"DESCRIBED": described}
    if arch < 80:
        M, N, warps, stages = 16, 16, 4, 1
    elif k.dtype == torch.float32:
        M, N, warps, stages = 64, 32, 8, 2
    elif described:
        M, N, warps, stages = 64, 128, 4, 1 if D == 128 else 2
        options["maxnreg"] = 168  # 65,536 registers // (168 * 128 threads): three programs
    elif arch // 10 in (9, 10):
        M, N, warps, stages = (128, 128, 8, 3) if D > 64 else (128, 64, 8, 3)
    else:
        # with 64 keys the other head dimensions spill registers on an A100
        M, N, warps, stages = 128, 64 if D in (16, 32, 64) else 32, 8, 2
    chosen = min(M, max(16, triton.next_power_of_2(rows)))
    if chosen < M:
        warps = max(4, min(warps, chosen // 16))
    if (chosen, N) == (128, 128):
        # a thread may have 255 registers; with 240 the compiler orders the loop better
        options["maxnreg"] = 240
    return options | {"BLOCK_M": chosen, "BLOCK_N": N, "num_warps": warps, "num_stages": stages}


def block_d(D):
    """Columns of a tile for heads of D."""
    return max(16, triton.next_power_of_2(D))


def described_or_not(k, v, options):
    """What the kernel gets for k and v: descriptors of their tiles where `tiles` chose that."""
    if not options["DESCRIBED"]:
        return k, v
    block = [1, 1, options["BLOCK_N"], block_d(k.shape[3])]
    return describe(k, block), describe(v, block)


def heads_at_once(Lk, D, itemsize):
    """How many heads' K and V take 8 MB together: so many stay in the L2 cache of a large GPU."""
    return max(1, 2**23 // max(1, 2 * Lk * D * itemsize))


@triton.jit
def load_rows(
    x_ptr, b, h, start, end, stride_xn, stride_xd,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr, DESCRIBED: tl.constexpr,
):  # fmt: skip
    """Rows start, start + 1, ... of an (end, D) matrix, with zeros outside.

    x_ptr: where it begins, or with DESCRIBED a descriptor of all; it is (b, h) of them.
    """
    offs_n = tl.arange(0, BLOCK_N)[:, None]
    offs_d = tl.arange(0, BLOCK_D)[None, :]
    if not DESCRIBED:
        # int64: a row number times a stride can pass 2^31
        x_ptr += start.to(tl.int64) * stride_xn
        # the brackets matter: these offsets stay the same from tile to tile
        x_ptrs = x_ptr + (offs_n * stride_xn + offs_d * stride_xd)
    if DESCRIBED:
        tile = x_ptr.load([b.to(tl.int32), h.to(tl.int32), start, 0])
        return tile.reshape(BLOCK_N, BLOCK_D)
    elif MASKED:
        return tl.load(x_ptrs, mask=(start + offs_n < end) & (offs_d < D), other=0.0)
    elif BLOCK_D != D:
        return tl.load(x_ptrs, mask=(offs_n >= 0) & (offs_d < D), other=0.0)
    else:
        return tl.load(x_ptrs)


@triton.jit
def attend(
    acc, m_i, l_i,
    q, k_ptr, v_ptr, b, h,
    limit, begin, end,
    stride_kn, stride_kd, stride_vn, stride_vd,
    qk_scale,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    DESCRIBED: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Let the queries q see the keys begin to end - 1; returns the new acc, m_i, l_i.

    q, acc: [BLOCK_M, BLOCK_D]; m_i (in units of qk_scale), l_i, limit: [BLOCK_M].
    MASKED=False promises that every row sees all of these keys.
    """
    for start in range(begin, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        cols = start + tl.arange(0, BLOCK_N)
        k = load_rows(
            k_ptr, b, h, start, end, stride_kn, stride_kd,
            D, BLOCK_N, BLOCK_D, MASKED, DESCRIBED,
        )  # fmt: skip
        s = tl.dot(q, tl.trans(k), input_precision="ieee")  # [BLOCK_M, BLOCK_N]
        if MASKED:
            s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
        base = m_new
        if MASKED:
            base = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp2(s * qk_scale - base[:, None])
        alpha = tl.exp2(m_i - base)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None]
        v = load_rows(
            v_ptr, b, h, start, end, stride_vn, stride_vd,
            D, BLOCK_N, BLOCK_D, MASKED, DESCRIBED,
        )  # fmt: skip
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_new
    return acc, m_i, l_i


@triton.jit
def my_tile(num_tiles, num_heads, HEADS_AT_ONCE: tl.constexpr):
    """(tile, head) of this program.

    A few heads at a time, so that their keys and values stay in the L2 cache. The last
    tiles come first: they see the most keys, and long work is no good at the end.
    """
    pid = tl.program_id(0)
    first = pid // (HEADS_AT_ONCE * num_tiles) * HEADS_AT_ONCE
    size = min(num_heads - first, HEADS_AT_ONCE)
    rest = pid % (HEADS_AT_ONCE * num_tiles)
    return num_tiles - 1 - rest // size, first + rest % size


@triton.jit
def attention_record_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    num_heads, HK, Lq, Lk,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr, HEADS_AT_ONCE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    DESCRIBED: tl.constexpr,
):  # fmt: skip
    """o = softmax(scale q k^T) v, where GROUP query heads share a head of k and v.

    One program = BLOCK_M (position, head) pairs of one group.
    Assumes scale > 0, BLOCK_D >= D.
    """
    pid_m, bh = my_tile(tl.cdiv(Lq * GROUP, BLOCK_M), num_heads, HEADS_AT_ONCE)
    b, hk = (bh // HK).to(tl.int64), (bh % HK).to(tl.int64)
    if not DESCRIBED:
        k_ptr += b * stride_kb + hk * stride_kh
        v_ptr += b * stride_vb + hk * stride_vh

    # rows of the tile: (position, head in the group)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_q = (offs_m[:, None] < Lq * GROUP) & (offs_d[None, :] < D)
    qk_scale = scale * LOG2_E

    position = offs_m // GROUP
    head = hk * GROUP + offs_m % GROUP
    at = position.to(tl.int64)
    q_rows = q_ptr + b * stride_qb + head * stride_qh + at * stride_qm
    q = tl.load(q_rows[:, None] + offs_d[None, :] * stride_qd, mask=mask_q, other=0.0)

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    limit = tl.full([BLOCK_M], 0, tl.int32) + Lk
    fewest, most = Lk, Lk
    if IS_CAUSAL:
        limit = tl.minimum(limit, position + 1 + Lk - Lq)
        first, last = pid_m * BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP
        fewest = tl.maximum(0, tl.minimum(Lk, first + 1 + Lk - Lq))
        most = tl.maximum(0, tl.minimum(Lk, last + 1 + Lk - Lq))
    full = fewest // BLOCK_N * BLOCK_N
    acc, m_i, l_i = attend(
        acc, m_i, l_i, q, k_ptr, v_ptr, b, hk, limit, 0, full,
        stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
        D, BLOCK_N, BLOCK_D, DESCRIBED, False,
    )  # fmt: skip
    acc, m_i, l_i = attend(
        acc, m_i, l_i, q, k_ptr, v_ptr, b, hk, limit, full, most,
        stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
        D, BLOCK_N, BLOCK_D, DESCRIBED, True,
    )  # fmt: skip

    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = (m_i + tl.log2(l_safe)) * LN_2
    lse_rows = (b * HK * GROUP + head) * Lq + position
    tl.store(lse_ptr + lse_rows, lse, mask=offs_m < Lq * GROUP)
    o_rows = o_ptr + b * stride_ob + head * stride_oh + at * stride_om
    o = acc / l_safe[:, None]
    tl.store(o_rows[:, None] + offs_d[None, :] * stride_od, o, mask=mask_q)


def attention_record(q, k, v, causal=False):
    """(o, lse) of attention where q has a multiple of the heads of k and v."""
    check_attention_inputs(q, k, v)
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1], k.shape[2]
    o = torch.empty_like(q)
    lse = torch.empty((B, H, Lq), dtype=torch.float32, device=q.device)
    options = tiles(k, v, Lq * (H // HK))
    k_tiles, v_tiles = described_or_not(k, v, options)
    grid = (triton.cdiv(Lq * (H // HK), options["BLOCK_M"]) * B * HK,)
    attention_record_kernel[grid](
        q, k_tiles, v_tiles, o, lse,
        B * HK, HK, Lq, Lk,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        D**-0.5,
        GROUP=H // HK, IS_CAUSAL=causal, D=D,
        HEADS_AT_ONCE=heads_at_once(Lk, D, q.element_size()),
        BLOCK_D=block_d(D),
        **options,
    )  # fmt: skip
    return o, lse
