# ---
# workbook:
#   title: Flash attention, backwards
#   minutes: 60
#   needs: interpreter
#   requires: [41_flash_attention]
#   # On sm_90 the tiles chosen on an H100 spill a little at D = 128.
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 64}
#   you_will:
#     - derive the gradient of attention and compute the scores again instead of keeping them
#     - divide one backward pass between programs that own keys and programs that own queries
#     - add up the gradients of heads that share their keys
#     - plug two kernels into autograd, and train with them
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
# Training needs the gradients of q, k and v. The usual backward pass reads P, the softmaxed scores.
# You never stored P, and will not start now. For 32 heads and 16,384 tokens it would be 17 GB in
# half precision.
#
# You compute it again, from the scaled scores s. `lse`, the log of the sum of their exponentials, is
# there from the forward pass. So it takes no second softmax:
#
# $$P_{ij} = e^{s_{ij} - \mathrm{lse}_i}$$
#
# A tile of P needs a tile of Q, a tile of K and a few numbers of lse. That is one matrix product
# more, and no memory. On a GPU the trade is a good one: products are cheap, memory is not.
#
# From P come the gradients. Let dO be the gradient of the output. Take them one at a time:
#
# $$dV = P^T dO \qquad dP = dO\, V^T \qquad dS = P \circ (dP - \delta) \qquad
# dQ = \mathrm{scale} \cdot dS\, K \qquad dK = \mathrm{scale} \cdot dS^T Q$$
#
# The small circle is multiplication element by element. δ is one number for each row. It comes from
# the softmax: a row of P sums to one, so if one weight grows the others shrink.
#
# $$\delta_i = \sum_j P_{ij}\, dP_{ij}$$
#
# As written, δ needs a whole row of P before the first dS can be computed: two walks over the keys.
# But look what the sum is. dP is dO times V, and the sum over j of P times V is the output. So
#
# $$\delta_i = \sum_d O_{id}\, dO_{id}$$
#
# and that needs no P at all. Check it before you build on it.

# %%
q, k, v, do = torch.randn(4, 5, 8, dtype=torch.float64).unbind(0)
p = torch.softmax(q @ k.T, dim=-1)
print((p * (do @ v.T)).sum(dim=-1))
print(((p @ v) * do).sum(dim=-1))

# %% [markdown]
# ## Who owns what?
#
# dV and dK are sums over *queries*. dQ is a sum over *keys*. No division of the work suits both.
#
# - A program that **owns a tile of keys** walks down the queries and adds up its dK and dV.
# - A program that **owns a tile of queries** walks along the keys and adds up its dQ.
#
# You write two kernels, one of each kind. Both compute the tiles of P again, so P is computed
# twice. One kernel could do everything, if it added its share of dQ to memory with atomics. That
# saves two of seven products. It costs the guarantee that the same call gives the same bits,
# because atomics come in any order.
#
# The picture shows the causal walk of the first kind: program n owns the column n of tiles. Above
# the diagonal there is nothing to do. The tiles on it are masked, those below are full.

# %%
from tritonbook.seeing.pictures_attention import draw_tile_walk

draw_tile_walk(queries=80, keys=80, block_m=16, block_n=16, by_keys=True)

# %% [markdown]
# **Predict.** In the forward pass the *last* program had the most work. Which one here?
#
# <details><summary>Answer</summary>
#
# Program 0. All queries see the first keys. So the programs start in their natural order, and long
# work still comes first.
#
# </details>
#
# ## A smaller kernel first
#
# The backward pass of a softmax alone, for rows that fit in one tile. It is dS = P ∘ (dP − δ), with
# δ computed the long way.


# %%
@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N,
    stride_pm, stride_dpm, stride_dsm,
    BLOCK_N: tl.constexpr,
):
    """ds[m] = p[m] * (dp[m] - sum(p[m] * dp[m])).

    One program = one row.
    Assumes contiguous rows and BLOCK_N >= N.
    """
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    p = tl.load(p_ptr + row * stride_pm + offs_n, mask=mask_n, other=0.0)
    dp = tl.load(dp_ptr + row * stride_dpm + offs_n, mask=mask_n, other=0.0)

    delta = tl.sum(p * dp, axis=0)

    tl.store(ds_ptr + row * stride_dsm + offs_n, p * (dp - delta), mask=mask_n)


def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty_like(p)
    BLOCK_N = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, p.stride(0), dp.stride(0), ds.stride(0), BLOCK_N=BLOCK_N
    )
    return ds


s = torch.randn(3, 6, device=DEVICE, requires_grad=True)
p, dp = torch.softmax(s, dim=-1), torch.randn(3, 6, device=DEVICE)
p.backward(dp)
softmax_backward(p.detach(), dp), s.grad

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `do` | (B, H, Lq, D), any strides | as `q` | gradient of the output |
# | `q`, `k`, `v` | as in notebook 41 | | inputs of the forward pass |
# | `o`, `lse` | as in notebook 41 | `lse` float32 | results of the forward pass |
# | `delta` | (B, H, Lq) | float32 | sum over d of o × do |
# | `dq`, `dk`, `dv` | as `q`, `k`, `v` | as `q` | new tensors |
#
# - Nothing is recomputed that `o` and `lse` already say. The check hands you an `lse` of its own
#   choice, and expects P to be made from it.
# - With GQA, dK and dV are sums over the query heads of the group.
# - A query that saw no key has lse = −∞. It adds nothing to any gradient.
# - All sums are float32. P and dS are rounded to the dtype of q before they enter a product.

# %% tags=["reference"]
from tritonbook import target_arch
LOG2_E = tl.constexpr(1.4426950408889634)


def delta_ref(o, do):
    return (o * do).sum(dim=-1).to(torch.promote_types(o.dtype, torch.float32))


def bwd_tiles(D, dtype, block=None):
    """Tile sizes and launch options: those of the dK/dV kernel, then those of the dQ kernel.

    Measured on an H100. Elsewhere, and in float32, tiles are as large as the registers hold.
    """
    arch = target_arch()
    if arch < 80:
        both = (16, 16, 4, 1), (16, 16, 4, 1)
    elif dtype == torch.float32:
        both = (32, 32, 8, 1), (32, 32, 8, 1)
    elif arch // 10 in (9, 10):
        both = (64, 128, 8, 2), (128, 64, 8, 3)
    else:
        both = (32, 64, 4, 2), (64, 32, 4, 2)
    names = ("BLOCK_M", "BLOCK_N", "num_warps", "num_stages")
    options = tuple(dict(zip(names, sizes, strict=True)) for sizes in both)
    if block:
        for chosen in options:
            chosen.update(BLOCK_M=block, BLOCK_N=block, num_warps=4)
    return options

# %% [markdown]
# ## Task 1. Delta
#
# δ is a row sum of a product, float32, one number for each query. It is a kernel like the one for
# several rows in notebook 11, for two tensors at a time. About 5 lines.

# %% tags=["answer"] key="attention_delta"
@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr,
    H, Lq,
    stride_ob, stride_oh, stride_om, stride_od,
    stride_gb, stride_gh, stride_gm, stride_gd,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """delta[i] = sum over d of o[i, d] * do[i, d].

    One program = BLOCK_M queries of one head.
    Assumes BLOCK_D >= D.
    """
    num_tiles = tl.cdiv(Lq, BLOCK_M)
    bh = (tl.program_id(0) // num_tiles).to(tl.int64)
    offs_m = tl.program_id(0) % num_tiles * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask = (offs_m[:, None] < Lq) & (offs_d[None, :] < D)
    rows = offs_m.to(tl.int64)[:, None]
    o_ptr += bh // H * stride_ob + bh % H * stride_oh
    do_ptr += bh // H * stride_gb + bh % H * stride_gh
    # TODO: load both tiles in float32, sum their product, store BLOCK_M numbers
    ### BEGIN SOLUTION
    o_ptrs = o_ptr + rows * stride_om + offs_d[None, :] * stride_od
    do_ptrs = do_ptr + rows * stride_gm + offs_d[None, :] * stride_gd
    o = tl.load(o_ptrs, mask=mask, other=0.0).to(tl.float32)
    do = tl.load(do_ptrs, mask=mask, other=0.0).to(tl.float32)

    tl.store(delta_ptr + bh * Lq + offs_m, tl.sum(o * do, axis=1), mask=offs_m < Lq)
    ### END SOLUTION


def attention_delta(o, do):
    """sum over d of o * do: (B, H, Lq), float32."""
    if o.shape != do.shape:
        raise ValueError(f"o is {tuple(o.shape)}, do is {tuple(do.shape)}")
    B, H, Lq, D = o.shape
    delta = torch.empty((B, H, Lq), dtype=torch.float32, device=o.device)
    BLOCK_M = 32
    delta_kernel[(triton.cdiv(Lq, BLOCK_M) * B * H,)](
        o, do, delta, H, Lq, *o.stride(), *do.stride(),
        D=D, BLOCK_M=BLOCK_M, BLOCK_D=triton.next_power_of_2(D),
    )  # fmt: skip
    return delta

# %% [markdown] tags=["hint"] key="attention_delta"
# #### Hints for attention_delta
#
# <details><summary>Hint 1: a question</summary>
#
# `o` has shape [BLOCK_M, BLOCK_D] in your kernel, delta has [BLOCK_M]. Over which axis do you sum?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The pointers already stand at the right head. `rows` is a column of row numbers, `offs_d` a row of
# column numbers. Masked lanes enter a sum, so they must be 0.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# o_ptrs = o_ptr + rows * ... + offs_d[None, :] * ...
# do_ptrs = ...
# o = tl.load(o_ptrs, mask=mask, other=...).to(tl.float32)
# ...
# tl.store(delta_ptr + bh * Lq + ..., tl.sum(..., axis=...), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="attention_delta" points=2
check(attention_delta)

# %% [markdown]
# ## Task 2. Two kernels
#
# Four gaps: in each kernel the heart of the loop, about 7 lines, and the store, 1 or 2.
#
# **The dK/dV kernel** owns BLOCK_N keys. It computes everything *transposed*: `st` has shape
# [BLOCK_N, BLOCK_M], keys down and queries across. So dV and dK are plain products with the tile of
# queries that has just been loaded, and the accumulators never need to be turned.
#
# $$S^T = K Q^T \qquad dV \mathrel{+}= P^T dO \qquad dP^T = V\, dO^T \qquad
# dK \mathrel{+}= dS^T Q$$
#
# **The dQ kernel** owns BLOCK_M queries, not transposed: S = Q Kᵀ, dP = dO Vᵀ, dQ += dS K.
#
# Three things to know.
#
# - `qk_scale` is scale × log2(e), and `lse2` is lse × log2(e). So P is `tl.exp2(s * qk_scale -
#   lse2)`.
# - Where a query may not see a key, P must become 0. Set it *after* the exponential, with
#   `tl.where`. There may be an infinity under it.
# - Queries past the end are loaded with lse = +∞. Their P is 0, and nothing else is needed.
#
# Remember the scale at the end: the loops add up dS Q and dS K, without it.

# %% tags=["answer"] key="flash_bwd"
@triton.jit
def load_rows(
    x_ptr, start, end, stride_xn, stride_xd,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Rows start, start + 1, ... of an (end, D) matrix, with zeros outside."""
    offs_n = tl.arange(0, BLOCK_N)[:, None]
    offs_d = tl.arange(0, BLOCK_D)[None, :]
    # int64: a row number times a stride can pass 2^31
    x_ptr += start.to(tl.int64) * stride_xn
    # the brackets matter: these offsets stay the same from tile to tile
    x_ptrs = x_ptr + (offs_n * stride_xn + offs_d * stride_xd)
    if MASKED:
        return tl.load(x_ptrs, mask=(start + offs_n < end) & (offs_d < D), other=0.0)
    elif BLOCK_D != D:
        return tl.load(x_ptrs, mask=(offs_n >= 0) & (offs_d < D), other=0.0)
    else:
        return tl.load(x_ptrs)


@triton.jit
def add_dkdv(
    dk, dv, k, v, q_ptr, do_ptr, lse_ptr, delta_ptr, offs_n, begin, end, Lq, Lk,
    stride_qm, stride_qd, stride_gm, stride_gd, qk_scale,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
    DIAGONAL: tl.constexpr, RAGGED: tl.constexpr,
):
    """What queries begin to end - 1 of one head add to dk (without scale) and dv.

    k, v, dk, dv: [BLOCK_N, BLOCK_D]. DIAGONAL: some of the queries do not see all keys.
    """
    for start in range(begin, end, BLOCK_M):
        start = tl.multiple_of(start, BLOCK_M)
        offs_m = start + tl.arange(0, BLOCK_M)
        q = load_rows(
            q_ptr, start, Lq, stride_qm, stride_qd, D, BLOCK_M, BLOCK_D, RAGGED
        )
        do = load_rows(
            do_ptr, start, Lq, stride_gm, stride_gd, D, BLOCK_M, BLOCK_D, RAGGED
        )
        lse = tl.load(lse_ptr + offs_m, mask=offs_m < Lq, other=float("inf"))
        delta = tl.load(delta_ptr + offs_m, mask=offs_m < Lq, other=0.0)
        lse2 = lse * LOG2_E
        seen = offs_n[:, None] <= offs_m[None, :] + Lk - Lq  # [BLOCK_N, BLOCK_M]
        # TODO: st, pt (0 where not seen, if DIAGONAL), dv, dpt, dst, dk
        ### BEGIN SOLUTION
        st = tl.dot(k, tl.trans(q), input_precision="ieee")  # [BLOCK_N, BLOCK_M]
        pt = tl.exp2(st * qk_scale - lse2[None, :])
        if DIAGONAL:
            pt = tl.where(seen, pt, 0.0)
        dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")
        dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
        dst = pt * (dpt - delta[None, :])
        dk = tl.dot(dst.to(q.dtype), q, dk, input_precision="ieee")
        ### END SOLUTION
    return dk, dv


@triton.jit
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    H, Lq, Lk,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_gb, stride_gh, stride_gm, stride_gd,
    stride_yb, stride_yh, stride_yn, stride_yd,
    stride_zb, stride_zh, stride_zn, stride_zd,
    scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr,
    RAGGED: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """dv = p^T do, dk = scale ds^T q, summed over the GROUP heads that share k and v.

    One program = BLOCK_N keys of one key head; it walks over the queries of its group.
    Assumes BLOCK_D >= D; strides y are those of dk, z those of dv, g those of do.
    """
    num_tiles, HK = tl.cdiv(Lk, BLOCK_N), H // GROUP
    pid_n, bh = tl.program_id(0) % num_tiles, tl.program_id(0) // num_tiles
    b, hk = (bh // HK).to(tl.int64), (bh % HK).to(tl.int64)

    first_key = pid_n * BLOCK_N
    offs_n = first_key + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    k_head = k_ptr + b * stride_kb + hk * stride_kh
    v_head = v_ptr + b * stride_vb + hk * stride_vh
    k = load_rows(
        k_head, first_key, Lk, stride_kn, stride_kd, D, BLOCK_N, BLOCK_D, True
    )
    v = load_rows(
        v_head, first_key, Lk, stride_vn, stride_vd, D, BLOCK_N, BLOCK_D, True
    )
    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)

    # queries before `begin` see none of these keys, those from `full` on see all
    begin, full = first_key * 0, first_key * 0  # of the type that the branch gives
    if IS_CAUSAL:
        see_first = tl.maximum(0, first_key - (Lk - Lq))
        see_last = tl.maximum(0, first_key + BLOCK_N - 1 - (Lk - Lq))
        begin = see_first // BLOCK_M * BLOCK_M
        full = tl.cdiv(tl.minimum(see_last, Lq), BLOCK_M) * BLOCK_M
    for g in range(GROUP):
        h = hk * GROUP + g
        q_head = q_ptr + b * stride_qb + h * stride_qh
        do_head = do_ptr + b * stride_gb + h * stride_gh
        row = (b * H + h) * Lq
        if IS_CAUSAL:
            dk, dv = add_dkdv(
                dk, dv, k, v, q_head, do_head, lse_ptr + row, delta_ptr + row,
                offs_n, begin, full, Lq, Lk,
                stride_qm, stride_qd, stride_gm, stride_gd, scale * LOG2_E,
                D, BLOCK_M, BLOCK_D, True, RAGGED,
            )
        dk, dv = add_dkdv(
            dk, dv, k, v, q_head, do_head, lse_ptr + row, delta_ptr + row,
            offs_n, full, Lq, Lq, Lk,
            stride_qm, stride_qd, stride_gm, stride_gd, scale * LOG2_E,
            D, BLOCK_M, BLOCK_D, False, RAGGED,
        )

    mask = (offs_n[:, None] < Lk) & (offs_d[None, :] < D)
    rows = offs_n.to(tl.int64)[:, None]
    dk_ptrs = dk_ptr + b * stride_yb + hk * stride_yh + rows * stride_yn
    dv_ptrs = dv_ptr + b * stride_zb + hk * stride_zh + rows * stride_zn
    # TODO: store dk, with the scale, and dv (2 lines)
    ### BEGIN SOLUTION
    tl.store(dk_ptrs + offs_d[None, :] * stride_yd, dk * scale, mask=mask)
    tl.store(dv_ptrs + offs_d[None, :] * stride_zd, dv, mask=mask)
    ### END SOLUTION


@triton.jit
def add_dq(
    dq, q, do, lse2, delta, k_ptr, v_ptr, limit, begin, end,
    stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr,
):
    """What the keys begin to end - 1 add to dq (without scale).

    q, do, dq: [BLOCK_M, BLOCK_D]; lse2, delta, limit: [BLOCK_M].
    MASKED as in `attend` of notebook 41.
    """
    for start in range(begin, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        cols = start + tl.arange(0, BLOCK_N)
        k = load_rows(
            k_ptr, start, end, stride_kn, stride_kd, D, BLOCK_N, BLOCK_D, MASKED
        )
        v = load_rows(
            v_ptr, start, end, stride_vn, stride_vd, D, BLOCK_N, BLOCK_D, MASKED
        )
        # TODO: s, p (0 where a row sees less than `cols`, if MASKED), dp, ds, dq
        ### BEGIN SOLUTION
        s = tl.dot(q, tl.trans(k), input_precision="ieee")  # [BLOCK_M, BLOCK_N]
        p = tl.exp2(s * qk_scale - lse2[:, None])
        if MASKED:
            p = tl.where(cols[None, :] < limit[:, None], p, 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
        ### END SOLUTION
    return dq


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
    H, Lq, Lk,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_gb, stride_gh, stride_gm, stride_gd,
    stride_xb, stride_xh, stride_xm, stride_xd,
    scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """dq = scale ds k.

    One program = BLOCK_M queries of one head; the last tiles see most and come first.
    Assumes BLOCK_D >= D; strides x are those of dq, g those of do.
    """
    num_tiles = tl.cdiv(Lq, BLOCK_M)
    pid_m = num_tiles - 1 - tl.program_id(0) % num_tiles
    bh = (tl.program_id(0) // num_tiles).to(tl.int64)
    b, h = bh // H, bh % H
    k_ptr += b * stride_kb + h // GROUP * stride_kh
    v_ptr += b * stride_vb + h // GROUP * stride_vh

    first = pid_m * BLOCK_M
    offs_m = first + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    q_head = q_ptr + b * stride_qb + h * stride_qh
    do_head = do_ptr + b * stride_gb + h * stride_gh
    q = load_rows(q_head, first, Lq, stride_qm, stride_qd, D, BLOCK_M, BLOCK_D, True)
    do = load_rows(do_head, first, Lq, stride_gm, stride_gd, D, BLOCK_M, BLOCK_D, True)
    mask_m = offs_m < Lq
    lse = tl.load(lse_ptr + bh * Lq + offs_m, mask=mask_m, other=float("inf"))
    delta = tl.load(delta_ptr + bh * Lq + offs_m, mask=mask_m, other=0.0)
    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)

    limit = tl.full([BLOCK_M], 0, tl.int32) + Lk
    fewest, most = Lk, Lk
    if IS_CAUSAL:
        limit = tl.minimum(limit, offs_m + 1 + Lk - Lq)
        fewest = tl.maximum(0, tl.minimum(Lk, first + 1 + Lk - Lq))
        most = tl.maximum(0, tl.minimum(Lk, first + BLOCK_M + Lk - Lq))
    full = fewest // BLOCK_N * BLOCK_N
    dq = add_dq(
        dq, q, do, lse * LOG2_E, delta, k_ptr, v_ptr, limit, 0, full,
        stride_kn, stride_kd, stride_vn, stride_vd, scale * LOG2_E,
        D, BLOCK_N, BLOCK_D, False,
    )
    dq = add_dq(
        dq, q, do, lse * LOG2_E, delta, k_ptr, v_ptr, limit, full, most,
        stride_kn, stride_kd, stride_vn, stride_vd, scale * LOG2_E,
        D, BLOCK_N, BLOCK_D, True,
    )

    mask = mask_m[:, None] & (offs_d[None, :] < D)
    rows = offs_m.to(tl.int64)[:, None]
    dq_ptrs = dq_ptr + b * stride_xb + h * stride_xh + rows * stride_xm
    # TODO: store dq, with the scale (1 line)
    ### BEGIN SOLUTION
    tl.store(dq_ptrs + offs_d[None, :] * stride_xd, dq * scale, mask=mask)
    ### END SOLUTION


def flash_bwd(do, q, k, v, o, lse, causal=False, scale=None, block=None):
    """(dq, dk, dv) of attention. block: a tile size to try."""
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1], k.shape[2]
    if do.shape != q.shape or o.shape != q.shape or H % HK or k.shape != v.shape:
        raise ValueError(f"do {tuple(do.shape)}, q {tuple(q.shape)}, k {tuple(k.shape)}")
    delta = attention_delta(o, do)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    for_keys, for_queries = bwd_tiles(D, q.dtype, block)
    shared = {
        "scale": D**-0.5 if scale is None else scale,
        "GROUP": H // HK,
        "IS_CAUSAL": causal,
        "D": D,
        "BLOCK_D": max(16, triton.next_power_of_2(D)),
    }
    dkdv_kernel[(triton.cdiv(Lk, for_keys["BLOCK_N"]) * B * HK,)](
        q, k, v, do, lse, delta, dk, dv, H, Lq, Lk,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        RAGGED=Lq % for_keys["BLOCK_M"] != 0, **shared, **for_keys,
    )  # fmt: skip
    dq_kernel[(triton.cdiv(Lq, for_queries["BLOCK_M"]) * B * H,)](
        q, k, v, do, lse, delta, dq, H, Lq, Lk,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        **shared, **for_queries,
    )  # fmt: skip
    return dq, dk, dv

# %% [markdown] tags=["hint"] key="flash_bwd"
# #### Hints for flash_bwd
#
# <details><summary>Hint 1: a question</summary>
#
# In the transposed kernel, `lse2` belongs to queries. Queries run across. So how do you write
# `lse2` to subtract it from a [BLOCK_N, BLOCK_M] tile: `[None, :]` or `[:, None]`? And in the other
# kernel?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Each line of the two gaps is one of the formulas above, in their order. `tl.trans` turns a tile.
# `tl.dot(a, b, acc, ...)` adds to acc. Accumulators stay float32; what goes *into* a product is
# cast to the dtype of the tile it meets.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# st = tl.dot(k, tl.trans(q), input_precision="ieee")
# pt = tl.exp2(... - lse2[...])
# if DIAGONAL:
#     pt = tl.where(seen, ..., 0.0)
# dv = tl.dot(pt.to(...), ..., dv, input_precision="ieee")
# dpt = tl.dot(v, ..., input_precision="ieee")
# dst = ... * (... - delta[...])
# dk = ...
# ```
#
# The dQ kernel has the same lines without the transposition.
#
# </details>

# %% tags=["check"] key="flash_bwd" points=8
check(flash_bwd)

# %% [markdown]
# ## Task 3. Into autograd
#
# `torch.autograd.Function` connects the two. `forward` computes and keeps what `backward` will
# need; `backward` gets the gradient of each output and returns one gradient for each input, None
# for those that have none. The forward kernel is the one of notebook 41.
#
# Fill both methods, about 7 lines. Keep tensors with `ctx.save_for_backward`, so that autograd can
# tell when one of them was changed in between. Plain values go on `ctx` itself.

# %% tags=["reference"]
flash_gqa = mine("flash_gqa", quiet=True)  # (o, lse); notebook 41

# %% tags=["answer"] key="flash_attention"
class FlashAttention(torch.autograd.Function):
    """Attention with a gradient: o, from q (B, H, Lq, D) and k, v (B, HK, Lk, D)."""

    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        # TODO: o and lse; keep the five tensors and the two values (4 lines)
        ### BEGIN SOLUTION
        o, lse = flash_gqa(q, k, v, causal, scale)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.scale = causal, scale
        return o
        ### END SOLUTION

    @staticmethod
    def backward(ctx, do):
        # TODO: three gradients, and None for causal and scale (3 lines)
        ### BEGIN SOLUTION
        q, k, v, o, lse = ctx.saved_tensors
        dq, dk, dv = flash_bwd(do, q, k, v, o, lse, ctx.causal, ctx.scale)
        return dq, dk, dv, None, None
        ### END SOLUTION


def flash_attention(q, k, v, causal=False, scale=None):
    """Attention that autograd can differentiate."""
    return FlashAttention.apply(q, k, v, causal, scale)


def attention_gradients(q, k, v, do, causal=False, scale=None):
    """The output of flash_attention and its three gradients, as autograd finds them."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o = flash_attention(*leaves, causal, scale)
    return o.detach(), *torch.autograd.grad(o, leaves, do)

# %% [markdown] tags=["hint"] key="flash_attention"
# #### Hints for flash_attention
#
# <details><summary>Hint 1: a question</summary>
#
# `forward` has five inputs after `ctx`. How many values must `backward` return?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The arguments of `flash_bwd` tell you what to keep. `ctx.saved_tensors` gives the tensors back in
# the order in which they were saved.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# o, lse = flash_gqa(...)
# ctx.save_for_backward(...)
# ctx.causal, ... = ...
# return o
# # and back
# q, k, ... = ctx.saved_tensors
# dq, dk, dv = flash_bwd(do, ..., ctx.causal, ...)
# return ..., ..., ..., None, None
# ```
#
# </details>

# %% tags=["check"] key="flash_attention" points=4
check(flash_attention)

# %% [markdown]
# ## Does it train?
#
# The gradients agree with those of torch. The proof that matters is a loss that falls. One
# attention layer with a matrix before it and one behind learns to copy: at each place of a sequence
# it shall give out the symbol that stood one place earlier. Only attention can look there.

# %%
torch.manual_seed(0)
symbols, width, length = 8, 16, 24
table = torch.nn.Embedding(symbols + length, width, device=DEVICE)  # symbols, then positions
into, out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, symbols)
parameters = [*table.parameters(), *into.to(DEVICE).parameters(), *out.to(DEVICE).parameters()]
optimiser = torch.optim.Adam(parameters, lr=0.02)
places = torch.arange(length, device=DEVICE)
losses = []
for _ in range(80 if DEVICE == "cuda" else 30):
    text = torch.randint(symbols, (8, length), device=DEVICE)
    hidden = table(text) + table(symbols + places)
    q, k, v = into(hidden)[:, None].chunk(3, dim=-1)
    seen = flash_attention(q, k, v, True)[:, 0]
    loss = torch.nn.functional.cross_entropy(out(seen)[:, 1:].flatten(0, 1), text[:, :-1].flatten())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
print(f"loss before: {losses[0]:.2f}, after {len(losses)} steps: {losses[-1]:.2f}")

# %% [markdown]
# ## Predict, then measure
#
# The forward pass has two products, your backward pass has seven: five that any backward pass
# needs, and two because P and dP are computed in both kernels. How much longer than the forward
# pass should it take? And a library that has only five: by how much can it be faster? Write your
# numbers into the box below *before* you run the cell above it. Without a GPU, predict for an H100,
# whose forward pass took 0.61 ms in notebook 41.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

B, H, L, D = (2, 32, 4096, 128) if DEVICE == "cuda" else (1, 1, 32, 16)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q, k, v, do = torch.randn(4, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)
leaves = [x.detach().requires_grad_() for x in (q, k, v)]


def native(backend):
    def run():
        with sdpa_kernel(backend):
            o = scaled_dot_product_attention(*leaves, is_causal=True)
            torch.autograd.grad(o, leaves, do)

    return run


ways = {"flash_attention": lambda: attention_gradients(q, k, v, do, True)}
if DEVICE == "cuda":
    ways["FlashAttention-2"] = native(SDPBackend.FLASH_ATTENTION)
    if torch.cuda.get_device_capability() >= (9, 0):
        ways["cuDNN"] = native(SDPBackend.CUDNN_ATTENTION)
timed = bench(ways, flops=7 * B * H * L * L * D, baseline="flash_attention")
timed

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that flash_bwd writes into dk: 64 keys, D = 16, float32": None,
        "ms of your forward and backward pass together": None,
        "times as long: FlashAttention-2 over yours": None,
    },
    measured=[
        lambda: traffic(
            flash_bwd,
            *torch.randn(5, 1, 1, 64, 16, device=DEVICE),
            torch.randn(1, 1, 64, device=DEVICE),
        )["dk"],
        lambda: time_of(timed, "flash_attention", stored="flash_attention"),
        lambda: time_of(
            timed, "FlashAttention-2", over="flash_attention", stored="flash_attention"
        ),
    ],
    hints=[
        "Keys own dk: each element is stored once, by one program.",
        "Nine products of 137e9 operations each, at the rate that your forward pass reached.",
        "It needs fewer products, but it was written for the GPU before an H100.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 64 × 16 × 4 = 4,096. No atomics, no second write.
#
# **Milliseconds.** A product is 2 × B × H × L² × D operations, halved by causality: 137e9. Two in
# the forward pass and seven in yours make nine, 1,237e9. At the 453 TFLOP/s of the forward pass on an
# H100 that is 2.73 ms. It took 2.74. So the backward pass alone takes about 7 / 2 times the forward.
#
# **The ratio.** By products alone FlashAttention-2 should need 7 / 9 = 0.78 of your time. It needed
# 1.3 on an H100: it does less work, at a lower rate. On an A100, its own GPU, expect it below 1.
#
# </details>

# %% [markdown]
# **Read the table.** The operations are counted as the five products that are needed plus the two
# of the forward pass. Yours does nine, and still passes FlashAttention-2 on an H100. cuDNN shows
# what five products on this GPU can do.
#
# ## Recap
#
# - P is made again from lse, tile by tile. Nothing with L × L elements is ever stored.
# - δ is the row sum of o × do. It replaces a second walk over the keys.
# - Keys own dK and dV, queries own dQ: two kernels, no atomics, the same bits every time.
# - With GQA a program walks over all heads of its group and adds up in registers.
#
# <details><summary>Common mistakes</summary>
#
# - δ left out: the loss may still fall. A gradient check finds it, a training curve need not.
# - The scale forgotten in dQ or dK, or log2(e) left in it.
# - The mask set before the exponential is taken: −∞ minus an lse of −∞ is NaN.
# - dK of one head written over that of another, when heads share keys.
#
# </details>
#
# Sources: Dao and others (2022), appendix B; Dao (2023).
#
# Next: [44_llama_block](44_llama_block.ipynb), where all your kernels meet.

# %%
progress()
