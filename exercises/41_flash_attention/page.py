# ---
# workbook:
#   title: Flash attention
#   minutes: 60
#   needs: interpreter
#   requires: [04_softmax, 20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 64}
#   you_will:
#     - compute attention tile by tile, without ever holding all scores
#     - rescale what you have when a larger score turns up, and know what happens if you forget
#     - walk the full tiles without a mask, and only the ragged ones with it
#     - let several query heads share one load of their keys
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
# Attention lets each query look at all keys:
#
# $$S = \frac{Q K^T}{\sqrt{D}}, \qquad P = \mathrm{softmax}(S), \qquad O = P V$$
#
# For L tokens, S has L × L numbers. With 32 heads and 16,384 tokens that is 8.6 billion scores, 17
# GB in half precision. Writing them and reading them back costs far more time than computing them.
#
# *Flash attention* (Dao and others, 2022) never writes them. A program takes a tile of queries and
# walks over the keys, tile by tile. The scores of one tile live in registers, and are gone when the
# next tile comes. There is one difficulty. A softmax needs the largest score and the sum over the
# *whole* row, and the row arrives in pieces. You solved that in notebook 04: keep a running maximum
# m and a running sum l, and multiply what you have by exp(m_old − m_new) when m grows.
#
# Here is one row of scores in tiles of 2. The last line under each tile is the sum so far.

# %%
from tritonbook.seeing.pictures_attention import draw_running_max, draw_tile_walk

draw_running_max([0.5, -1.0, 1.2, 0.0, 2.5, 0.3, 3.5, 1.0], block=2)

# %% [markdown]
# New is that the *output* is a running thing too. It is a weighted sum of rows of V, and its
# weights were computed with the old m. So it is multiplied by the same factor. Three lines carry
# the whole method:
#
# $$m' = \max(m, \max_j s_j) \qquad l' = l\,e^{m-m'} + \sum_j e^{s_j-m'}
# \qquad acc' = acc\,e^{m-m'} + \sum_j e^{s_j-m'} v_j$$
#
# At the end, O = acc / l.
#
# **Predict.** You forget the factor for `acc`, but not for `l`. The largest score of a row happens
# to lie in the first tile. Is the result wrong?
#
# <details><summary>Answer</summary>
#
# No. m never grows after the first tile, all factors are 1, and the mistake stays hidden. It shows
# in rows whose maximum comes late. The check has a case for that: keys that grow from left to
# right.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, Lq, D), any strides | float32, float16, bfloat16 | queries |
# | `k`, `v` | (B, HK, Lk, D), any strides | as `q` | keys and values; H is a multiple of HK |
# | `causal` | | bool | query i sees key j only if j ≤ i + Lk − Lq |
# | `scale` | | float > 0 or None | None: 1/√D |
# | `o` | as `q` | as `q` | the result |
# | `lse` | (B, H, Lq) | float32 | log of the sum of exp(scores), natural log |
#
# - Where Lq and Lk differ, the *last* query sees the last key. So one new query with 100 keys in a
#   cache sees all 100.
# - A query that sees no key at all has o = 0 and lse = −∞. It must not become NaN.
# - `lse` is m + log(l): all that a backward pass needs to know about the softmax.
# - Scores and sums are float32. P is rounded to the dtype of V for the second product, because that
#   is what tensor cores take.

# %% tags=["reference"]
from tritonbook import target_arch
from tritonbook.descriptors import can_describe, describe
from tritonbook.warp_jobs import gluon_attention
LOG2_E = tl.constexpr(1.4426950408889634)  # exp(x) = exp2(x * LOG2_E)
LN_2 = tl.constexpr(0.6931471805599453)


def check_attention_inputs(q, k, v, scale):
    """Raise ValueError unless the shapes fit together; see the contract."""
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        raise ValueError(f"{q.shape[1]} query heads do not share {k.shape[1]} key heads evenly")
    if scale is not None and scale <= 0:
        raise ValueError(f"scale is {scale}, must be positive")


def tiles(k, v, rows, block_m=None, block_n=None):
    """Tile sizes and launch options for `rows` queries of the keys k and values v.

    Found by measuring on an H100. A program may use 227 KB of shared memory there, and less
    elsewhere. Below sm_80, and in float32, the products run without tensor cores: small tiles.
    DESCRIBED: k and v come through tensor descriptors, see "Three programs instead of one".
    """
    D, arch = k.shape[3], target_arch()
    usual = arch // 10 == 9 and rows >= 64 and not (block_m or block_n)
    asked = (block_m, block_n) in ((64, 128), (16, 32))  # the usual, and small ones for the check
    described = (usual or asked) and D in (64, 128) and can_describe(k, v)
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
    chosen = block_m or min(M, max(16, triton.next_power_of_2(rows)))
    if chosen < M:
        warps = max(4, min(warps, chosen // 16))
    if (chosen, N) == (128, 128):
        # a thread may have 255 registers; with 240 the compiler orders the loop better
        options["maxnreg"] = 240
    return options | {
        "BLOCK_M": chosen, "BLOCK_N": block_n or N, "num_warps": warps, "num_stages": stages
    }


def block_d(D):
    """Columns of a tile for heads of D."""
    return max(16, triton.next_power_of_2(D))


def described_or_not(k, v, options):
    """What the kernel gets for k and v: descriptors of their tiles where `tiles` chose that."""
    if not options["DESCRIBED"]:
        return k, v
    block = [1, 1, options["BLOCK_N"], block_d(k.shape[3])]
    return describe(k, block), describe(v, block)


HAND_OVER_FROM = None  # tokens; see "Two kernels behind one name"


def heads_at_once(Lk, D, itemsize):
    """How many heads' K and V take 8 MB together: so many stay in the L2 cache of a large GPU."""
    return max(1, 2**23 // max(1, 2 * Lk * D * itemsize))

# %% [markdown]
# The next cell holds what the checks need: cases, and the mistakes that they can name. You can come
# back to it later.

# %% tags=["reference"]
SMALL_TILES = {"block_m": 16, "block_n": 16}

# %% [markdown]
# ## Task 1. In plain torch
#
# First without a kernel. Write attention over tiles of `block` keys, with all queries at once,
# about 12 lines. There is no mask and no causality. Torch operations are allowed here. What is
# *not* allowed is a tensor with all scores: the check watches the size of everything you make.

# %% tags=["answer"] key="attention_tiled_torch"
def attention_tiled_torch(q, k, v, block=16):
    """softmax(q k^T / sqrt(D)) v, for q (B, H, Lq, D) and k, v (B, H, Lk, D)."""
    scale = q.shape[-1] ** -0.5
    # TODO: m, l and acc to begin with (3 lines); for each tile of keys the scores, the new m,
    # the factor, l and acc (about 8 lines); the result (1 line)
    ### BEGIN SOLUTION
    m = torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)
    l = torch.zeros_like(m)
    acc = torch.zeros_like(q)
    for start in range(0, k.shape[2], block):
        k_tile, v_tile = k[:, :, start : start + block], v[:, :, start : start + block]
        s = q @ k_tile.transpose(-1, -2) * scale
        m_new = torch.maximum(m, s.amax(dim=-1))
        alpha = torch.exp(m - m_new)
        p = torch.exp(s - m_new[..., None])
        l = l * alpha + p.sum(dim=-1)
        acc = acc * alpha[..., None] + p @ v_tile
        m = m_new
    return acc / l[..., None]
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="attention_tiled_torch"
# #### Hints for attention_tiled_torch
#
# <details><summary>Hint 1: a question</summary>
#
# Before the first tile nothing has been seen. What is the largest of no scores? What is exp of
# that, minus any number?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The three formulas above, in this order: m', then the factor, then l' and acc'. A slice
# `k[:, :, start : start + block]` ends by itself where the tensor ends.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# m = torch.full(q.shape[:-1], float("-inf"), ...)
# ...
# for start in range(0, ..., block):
#     s = q @ ... * scale
#     m_new = torch.maximum(m, s.amax(dim=...))
#     alpha = torch.exp(...)
#     ...
# return acc / ...
# ```
#
# </details>

# %% tags=["check"] key="attention_tiled_torch" points=3
check(attention_tiled_torch)

# %% [markdown]
# ## Which tiles need a mask?
#
# With `causal=True` a query sees only what came before it. Of the tiles of S, those above the
# diagonal are never touched: half of the work is saved. Those well below it are *full*: every query
# sees every key, and no mask is needed. Only the tiles on the diagonal need one, and the last tile
# of a row if Lk is not a multiple of its width.
#
# So a program walks in **two phases**: first all full tiles, then the rest with a mask. A mask
# costs a comparison and a selection for every score. With 4,096 tokens and tiles of 128 × 128 the
# last program saves that in 31 of its 32 tiles.

# %%
draw_tile_walk(queries=80, keys=80, block_m=16, block_n=16)

# %% [markdown]
# **Predict.** 40 queries, 72 keys, causal, tiles of 16 × 16. Which keys does the first query see?
# How many full tiles does program 0 walk?
#
# <details><summary>Answer</summary>
#
# j ≤ 0 + 72 − 40, so keys 0 to 32: 33 of them. Program 0 has queries 0 to 15, and the first of them
# sees the fewest. 33 keys are 2 full tiles, 0 to 15 and 16 to 31. The picture below agrees.
#
# </details>

# %%
draw_tile_walk(queries=40, keys=72, block_m=16, block_n=16)

# %% [markdown]
# ## Task 2. The kernel
#
# Two gaps. The first is the loop in `attend`: one tile of keys, about 14 lines. The second is the
# rest of the kernel: where the two phases end, one call of `attend` for each, the division and the
# stores, about 20 lines.
#
# Four things to know.
#
# - **exp2.** The GPU has an instruction for 2^x, none for e^x. `qk_scale` is the scale times
#   log2(e). So `tl.exp2(s * qk_scale - m)` is e to the power of the scaled score, with m in the
#   same unit. The product and the subtraction become one instruction, for free.
# - **limit.** `limit[m]` is the number of keys that row m may see. One comparison covers both the
#   diagonal and the end of the keys.
# - **Nothing seen yet.** A row that has not seen any key has m = −∞, and −∞ − (−∞) is NaN. In the
#   masked phase subtract 0 instead of −∞ there. In the full phase every row has a finite maximum.
# - **b, h, DESCRIBED.** Hand them on to `attend` as they are: batch and head of K and V. They say
#   which keys to fetch where an H100 fetches by descriptor, as a later section explains.
#
# `input_precision="ieee"` makes float32 products exact to float32. For half precision it changes
# nothing.

# %% tags=["answer"] key="flash_fwd"
@triton.jit
def load_rows(
    x_ptr, b, h, start, end, stride_xn, stride_xd,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    MASKED: tl.constexpr, DESCRIBED: tl.constexpr,
):
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
    acc, m_i, l_i, q, k_ptr, v_ptr, b, h, limit, begin, end,
    stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
    D: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    DESCRIBED: tl.constexpr, MASKED: tl.constexpr,
):
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
        )
        # TODO: scores, mask, new maximum, p, alpha; l_i; rescale acc; add p v; m_i
        ### BEGIN SOLUTION
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
        )
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_new
        ### END SOLUTION
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
def flash_fwd_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    num_heads, H, Lq, Lk,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    scale,
    IS_CAUSAL: tl.constexpr, D: tl.constexpr, HEADS_AT_ONCE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """o = softmax(scale q k^T) v, and the log of the sum of exp of the scores.

    One program = BLOCK_M queries of one head.
    Assumes scale > 0, BLOCK_D >= D, and as many heads in k and v as in q; with
    DESCRIBED, that k_ptr and v_ptr are descriptors.
    """
    pid_m, bh = my_tile(tl.cdiv(Lq, BLOCK_M), num_heads, HEADS_AT_ONCE)
    b, h = (bh // H).to(tl.int64), (bh % H).to(tl.int64)
    q_ptr += b * stride_qb + h * stride_qh
    if not DESCRIBED:
        k_ptr += b * stride_kb + h * stride_kh
        v_ptr += b * stride_vb + h * stride_vh
    o_ptr += b * stride_ob + h * stride_oh

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    mask_q = (offs_m[:, None] < Lq) & (offs_d[None, :] < D)
    rows = offs_m.to(tl.int64)[:, None]
    q_ptrs = q_ptr + rows * stride_qm + offs_d[None, :] * stride_qd
    q = tl.load(q_ptrs, mask=mask_q, other=0.0)

    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    qk_scale = scale * LOG2_E
    # keys that a row may see; where it is negative the row sees none
    limit = tl.full([BLOCK_M], 0, tl.int32) + Lk
    if IS_CAUSAL:
        limit = tl.minimum(limit, offs_m + 1 + Lk - Lq)

    # TODO: the end of the full tiles and of all tiles (4 lines), two calls of attend,
    # o and lse with a safe sum (3 lines), both stores
    ### BEGIN SOLUTION
    fewest, most = Lk, Lk
    if IS_CAUSAL:
        fewest = tl.maximum(0, tl.minimum(Lk, pid_m * BLOCK_M + 1 + Lk - Lq))
        most = tl.maximum(0, tl.minimum(Lk, pid_m * BLOCK_M + BLOCK_M + Lk - Lq))
    full = fewest // BLOCK_N * BLOCK_N
    acc, m_i, l_i = attend(
        acc, m_i, l_i, q, k_ptr, v_ptr, b, h, limit, 0, full,
        stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
        D, BLOCK_N, BLOCK_D, DESCRIBED, False,
    )
    acc, m_i, l_i = attend(
        acc, m_i, l_i, q, k_ptr, v_ptr, b, h, limit, full, most,
        stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
        D, BLOCK_N, BLOCK_D, DESCRIBED, True,
    )

    # a row that saw no key has l_i = 0: o becomes 0 / 1, and lse stays -inf
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = (m_i + tl.log2(l_safe)) * LN_2
    o = acc / l_safe[:, None]
    tl.store(lse_ptr + bh.to(tl.int64) * Lq + offs_m, lse, mask=offs_m < Lq)
    tl.store(o_ptr + rows * stride_om + offs_d[None, :] * stride_od, o, mask=mask_q)
    ### END SOLUTION


def flash_fwd(q, k, v, causal=False, scale=None, block_m=None, block_n=None):
    """(o, lse) of attention with equal head counts. block_m, block_n: tile sizes to try."""
    check_attention_inputs(q, k, v, scale)
    B, H, Lq, D = q.shape
    Lk = k.shape[2]
    if k.shape[1] != H:
        raise ValueError(f"{H} query heads and {k.shape[1]} key heads: use flash_gqa")
    if other := gluon_attention(q, k, v, HAND_OVER_FROM, block_m or block_n):
        return other(q, k, v, causal, scale)
    o = torch.empty_like(q)
    lse = torch.empty((B, H, Lq), dtype=torch.float32, device=q.device)
    options = tiles(k, v, Lq, block_m, block_n)
    k_tiles, v_tiles = described_or_not(k, v, options)
    grid = (triton.cdiv(Lq, options["BLOCK_M"]) * B * H,)
    flash_fwd_kernel[grid](
        q, k_tiles, v_tiles, o, lse,
        B * H, H, Lq, Lk,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        D**-0.5 if scale is None else scale,
        IS_CAUSAL=causal, D=D, HEADS_AT_ONCE=heads_at_once(Lk, D, q.element_size()),
        BLOCK_D=block_d(D),
        **options,
    )  # fmt: skip
    return o, lse

# %% [markdown] tags=["hint"] key="flash_fwd"
# #### Hints for flash_fwd
#
# <details><summary>Hint 1: a question</summary>
#
# In a tile of queries, which row sees the fewest keys when `causal` is set? Everything it sees, all
# rows see: so many keys are safe without a mask, rounded *down* to whole tiles. And which row
# decides where the walk ends?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The loop is your torch loop of Task 1, line by line. `s.amax(dim=-1)` becomes `tl.max(s, axis=1)`,
# `@` becomes `tl.dot`, and `[..., None]` becomes `[:, None]`. Two additions: the mask on `s`, and
# the row maximum in units of `qk_scale`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # in attend
# s = tl.dot(q, tl.trans(k), input_precision="ieee")
# if MASKED:
#     s = tl.where(... < limit[:, None], s, float("-inf"))
# m_new = tl.maximum(m_i, ... * qk_scale)
# base = m_new
# if MASKED:
#     base = tl.where(..., 0.0, m_new)
# p = tl.exp2(... - base[:, None])
# alpha = ...
# ...
# # in the kernel
# full = ... // BLOCK_N * BLOCK_N
# acc, m_i, l_i = attend(..., 0, full, ..., False)
# acc, m_i, l_i = attend(..., full, ..., True)
# l_safe = tl.where(l_i == 0.0, 1.0, l_i)
# lse = (m_i + ...) * LN_2
# ```
#
# </details>

# %% tags=["check"] key="flash_fwd" points=8
check(flash_fwd)

# %% [markdown]
# **Look at what you wrote.** Each program reads its queries once. But every program reads the keys
# again: K and V of this head, 48 × 16 elements each, are read by three programs. The ledger counts.

# %%
q, k, v = torch.randn(3, 1, 1, 48, 16, device=DEVICE).unbind(0)
traffic(flash_fwd, q, k, v, True, None, **SMALL_TILES)

# %% [markdown]
# This is why tiles of queries should be large: with 128 queries to a tile, K and V are read once
# for every 128 queries. Most of these reads never leave the L2 cache, because `my_tile` keeps the
# programs of one head together.
#
# ## Memory
#
# The naive version needs memory for L × L scores, yours for the result. The cell measures the peak
# on a GPU. Without one it draws what follows from the formulas: two bytes for each score against
# two bytes for each element of o, and four for each lse.

# %%
from matplotlib import pyplot


def peak_megabytes(fn, L, H=8, D=64):
    """Memory that fn(q, k, v) needs at its peak, beside its inputs."""
    q, k, v = torch.randn(3, 1, H, L, D, device=DEVICE, dtype=torch.float16).unbind(0)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    fn(q, k, v)
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


lengths = [512, 1024, 2048, 4096, 8192]
if DEVICE == "cuda":
    naive = [peak_megabytes(lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v, L) for L in lengths]
    flash = [peak_megabytes(flash_fwd, L) for L in lengths]
else:
    naive = [8 * L * L * 2 / 2**20 for L in lengths]
    flash = [8 * L * (64 * 2 + 4) / 2**20 for L in lengths]
figure, axes = pyplot.subplots(figsize=(6, 3.2))
axes.loglog(lengths, naive, "s--", label="naive")
axes.loglog(lengths, flash, "o-", label="flash_fwd")
axes.set(xlabel="tokens", ylabel="MB", title="Peak memory, 8 heads of 64, " +
         ("measured" if DEVICE == "cuda" else "from the formulas"))
axes.minorticks_off()
axes.set_xticks(lengths, [f"{L:,}" for L in lengths])
axes.legend()
pyplot.show()

# %% [markdown]
# Read the slopes. Twice the tokens cost the naive version four times the memory, and yours twice.
#
# ## Predict, then measure
#
# Attention is *compute-bound*: two products of 2 × L × L × D operations each, halved by causality.
# For B = 2, H = 32, L = 4096, D = 128 that is 275 billion operations. Divide by what your GPU
# reached in notebook 20 for a large matrix product, and you have the floor. Kernels stay above it,
# because the exponentials take turns with the products. Write your numbers into the box below
# *before* you run the cell above it. Without a GPU, take an H100 with 680 TFLOP/s.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

B, H, L, D = (2, 32, 4096, 128) if DEVICE == "cuda" else (1, 1, 64, 16)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)


def native(backend):
    def run():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    return run


ways = {"flash_fwd": lambda: flash_fwd(q, k, v, True)}
if DEVICE == "cuda":
    ways["FlashAttention-2"] = native(SDPBackend.FLASH_ATTENTION)
    if torch.cuda.get_device_capability() >= (9, 0):
        ways["cuDNN"] = native(SDPBackend.CUDNN_ATTENTION)
else:
    ways["torch"] = lambda: scaled_dot_product_attention(q, k, v, is_causal=True)
timed = bench(ways, flops=2 * B * H * L * L * D, baseline="flash_fwd")
timed

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that flash_fwd reads from k: 64 tokens, 64 keys, D = 16, float32, tiles of 16": None,
        "ms of flash_fwd, B = 2, H = 32, L = 4096, D = 128, causal": None,
    },
    measured=[
        lambda: traffic(
            flash_fwd, *torch.randn(3, 1, 1, 64, 16, device=DEVICE), False, None, **SMALL_TILES
        )["k"],
        lambda: time_of(timed, "flash_fwd", stored="flash_fwd"),
    ],
    hints=[
        "How many programs are there, and how much of k does each of them read?",
        "Operations over TFLOP/s is the floor. Then leave time for the exponentials.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 64 queries in tiles of 16 are 4 programs. Without a causal mask each of them reads all of
# k, 64 × 16 × 4 = 4,096 bytes: 16,384 together.
#
# **Milliseconds.** 275e9 operations at the 680 TFLOP/s that an H100 reached for a matrix product are
# 0.40 ms, the floor. It took 0.61 to 0.69: at most 450 TFLOP/s. cuDNN took 0.53 to 0.57.
#
# </details>

# %% [markdown]
# **Read the table.** On an H100 your kernel passes FlashAttention-2, which was written for the GPU
# before it, and takes 1.1 to 1.2 times as long as cuDNN. Two steps on the way, measured at this size:
# addresses computed from `start` instead of carried from tile to tile, 1.10 times as fast; four
# heads at a time instead of all, 1.11 times. A third is explained below.
#
# ## Task 3. Heads that share their keys
#
# In *grouped-query attention* (GQA) several query heads share one head of K and V. Llama 3 has 32
# query heads and 8 key heads: a group of 4. Repeating K four times in memory would work, and waste
# what GQA was invented for: a small *KV cache*, the keys and values of all earlier tokens.
#
# The plain way: query head h reads key head h // 4. There is a better one. The four heads of a
# group read the *same* keys, so let one program do all four. Its tile of rows is then made of
# (position, head) pairs, four heads for each position:
#
# | row of the tile | 0 | 1 | 2 | 3 | 4 | 5 | ... |
# |---|---|---|---|---|---|---|---|
# | position | 0 | 0 | 0 | 0 | 1 | 1 | ... |
# | head in the group | 0 | 1 | 2 | 3 | 0 | 1 | ... |
#
# When a model writes a text, there is one query per head. The plain way starts 32 programs with one
# row each, and reads the whole cache four times. Packed, 8 programs read it once.
#
# Copy the body of your kernel and change what has to change: rows become positions and heads, and
# positions take the place of `offs_m` wherever the diagonal is meant. About 30 lines, of which 8
# are new. `attend` stays as it is; the head that it gets is `hk`.

# %% tags=["answer"] key="flash_gqa"
@triton.jit
def flash_gqa_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    num_heads, HK, Lq, Lk,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr,
    HEADS_AT_ONCE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
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

    # TODO: position and head of each row; q; acc, m_i, l_i, limit; two phases; stores
    ### BEGIN SOLUTION
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
    )
    acc, m_i, l_i = attend(
        acc, m_i, l_i, q, k_ptr, v_ptr, b, hk, limit, full, most,
        stride_kn, stride_kd, stride_vn, stride_vd, qk_scale,
        D, BLOCK_N, BLOCK_D, DESCRIBED, True,
    )

    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = (m_i + tl.log2(l_safe)) * LN_2
    lse_rows = (b * HK * GROUP + head) * Lq + position
    tl.store(lse_ptr + lse_rows, lse, mask=offs_m < Lq * GROUP)
    o_rows = o_ptr + b * stride_ob + head * stride_oh + at * stride_om
    o = acc / l_safe[:, None]
    tl.store(o_rows[:, None] + offs_d[None, :] * stride_od, o, mask=mask_q)
    ### END SOLUTION


def flash_gqa(q, k, v, causal=False, scale=None, block_m=None, block_n=None):
    """(o, lse) of attention where q has a multiple of the heads of k and v."""
    check_attention_inputs(q, k, v, scale)
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1], k.shape[2]
    if other := gluon_attention(q, k, v, HAND_OVER_FROM, block_m or block_n):
        return other(q, k, v, causal, scale)
    o = torch.empty_like(q)
    lse = torch.empty((B, H, Lq), dtype=torch.float32, device=q.device)
    options = tiles(k, v, Lq * (H // HK), block_m, block_n)
    k_tiles, v_tiles = described_or_not(k, v, options)
    grid = (triton.cdiv(Lq * (H // HK), options["BLOCK_M"]) * B * HK,)
    flash_gqa_kernel[grid](
        q, k_tiles, v_tiles, o, lse,
        B * HK, HK, Lq, Lk,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        D**-0.5 if scale is None else scale,
        GROUP=H // HK, IS_CAUSAL=causal, D=D,
        HEADS_AT_ONCE=heads_at_once(Lk, D, q.element_size()),
        BLOCK_D=block_d(D),
        **options,
    )  # fmt: skip
    return o, lse

# %% [markdown] tags=["hint"] key="flash_gqa"
# #### Hints for flash_gqa
#
# <details><summary>Hint 1: a question</summary>
#
# GROUP is 4. Which position and which head of the group is row 6 of the tile that `pid_m` = 0 has?
# And row 6 of the tile of `pid_m` = 1, when BLOCK_M is 16?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `//` and `%` by GROUP turn a row into a position and a head. In the kernel of Task 2 rows were
# positions, so look at every use of `offs_m`. In addresses it becomes a position times the row
# stride, plus a head times the head stride. At the diagonal it becomes the position. In masks it
# stays.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# position = offs_m // ...
# head = hk * GROUP + ...
# q_rows = q_ptr + b * stride_qb + head * ... + position.to(tl.int64) * ...
# q = tl.load(q_rows[:, None] + ..., mask=mask_q, other=0.0)
# ...
# limit = tl.minimum(limit, position + 1 + ...)
# first, last = ..., ...     # positions of the tile's first and last row
# ...
# lse_rows = (b * HK * GROUP + head) * Lq + ...
# ```
#
# </details>

# %% tags=["check"] key="flash_gqa" points=5
check(flash_gqa)

# %% [markdown]
# ## What is in the machine code?
#
# `facts` compiles for an A100 without one. Look at four numbers. *Spills* must be 0: registers that
# do not fit go to memory, and the inner loop waits for them. *Tensor cores* must be used. *Shared
# memory* decides how many programs fit on one processor. *Registers* near 255 mean that larger
# tiles would spill.

# %%
q, k, v = torch.randn(3, 1, 2, 256, 128, dtype=torch.float16).unbind(0)
facts(flash_fwd, q, k, v, True, arch=80)

# %% [markdown]
# ## Three programs instead of one
#
# Nothing to write here. While your warps compute exponentials, the tensor cores wait. Another
# program on the same multiprocessor could use them. But with tiles of 128 × 128 in three stages a
# program needs 224 KB of shared memory, so it is alone there.
#
# For heads of 64 and 128 `tiles` does better on an H100. It takes 64 queries, 4 warps, and *tensor
# descriptors* for K and V. A descriptor knows base, shape and strides of a tensor. With it, one
# thread orders a whole tile from the GPU's copy engine.
#
# 1. Threads keep no addresses, so 168 registers are enough. Three programs fit.
# 2. While one waits for its tile, the others compute. So it may wait: one stage is enough (two for
#    heads of 64), and one tile of K or V at a time lies in shared memory.
# 3. What lies outside the tensor arrives as zero. The load needs no mask.
#
# The price: a program reads all its keys for 64 queries instead of 128, twice as much from L2.
# Milliseconds on an H100, Triton 3.6, after a second of work:
#
# | | addresses | descriptors | cuDNN |
# |---|---|---|---|
# | B = 2, L = 4,096, D = 128 | 0.648 | 0.615 | 0.566 |
# | B = 1, L = 16,384, D = 128 | 4.65 | 4.53 | 3.95 |
# | B = 4, L = 4,096, D = 64 | 0.758 | 0.725 | 0.703 |
#
# Small tiles alone do not help: through addresses they took 0.89 ms where the large ones took 0.66.

# %%
half = torch.empty(3, 1, 2, 256, 128, dtype=torch.float16).unbind(0)
for way, sizes in {"descriptors": (), "addresses": (128, 128)}.items():
    kernel = facts(flash_fwd, *half, True, None, *sizes, arch=90)[0]
    print(f"{way}: {kernel.registers} registers, {kernel.shared_bytes:,} bytes shared, "
          f"{kernel.programs_per_sm} at a time on a multiprocessor")

# %%
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)
block = min(L, 128)  # sizes that you choose yourself: addresses
ways["addresses"] = lambda: flash_fwd(q, k, v, True, None, block, block)
bench(ways, flops=2 * B * H * L * L * D, baseline="flash_fwd", stored="flash_descriptors")

# %% [markdown]
# ## Two kernels behind one name
#
# Nothing to write here either. Libraries keep a kernel for every GPU, and a faster one for the GPU
# that matters most, behind one name. Notebook 65 writes attention for the H100 one level below
# Triton, and passes cuDNN. With this number set, `flash_fwd` and `flash_gqa` give it what it takes,
# from so many tokens on (heads of 64: twice as many). All else stays with your kernels, and so do
# tile sizes of your own.
#
# Your kernels were kept when they passed, before this cell ran. So later notebooks run on yours
# alone, unless you run the check of `flash_gqa` again.

# %% tags=["reference"]
HAND_OVER_FROM = 1024

# %% [markdown]
# ## Recap
#
# - Attention over tiles needs a running m, l and acc. When m grows, l *and* acc are rescaled.
# - Full tiles come first and need no mask. The diagonal and the ragged end come last.
# - exp2 with a scale that includes log2(e) costs one instruction less per score than exp.
# - lse = m + log(l) is all that the backward pass will need.
# - With GQA, rows of a tile are (position, head) pairs, and a group reads its keys once.
#
# <details><summary>Common mistakes</summary>
#
# - −∞ − (−∞) in a row that sees nothing: NaN, and it spreads.
# - The causal diagonal from the top left when Lq and Lk differ. With a KV cache the text falls
#   apart.
# - Keys past Lk get score 0 instead of −∞: they take part in the softmax. With random scores the
#   error is small, which makes it worse.
# - m in natural units and scores in units of qk_scale, or the other way round.
#
# </details>
#
# Sources: Milakov and Gimelshein (2018) for the online softmax; Dao and others (2022); Dao (2023).
#
# Next: [43_flash_backward](43_flash_backward.ipynb), where gradients walk the same tiles.

# %%
progress()
