# ---
# workbook:
#   title: Flash attention for a model
#   minutes: 60
#   needs: interpreter
#   requires: [41_flash_attention]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - walk over full tiles without a mask, and say exactly where they end
#     - take tensors as a model hands them over, with any strides and heads of any size
#     - let several query heads share one load of their keys, also from a cache
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Your kernel of page 41 is right, but not yet as fast as it can be. And no model could use it:
# models hand over tensors that are not contiguous, let heads share their keys, and keep a cache.
#
# **Speed first.** Page 41 masks every tile. A mask costs a comparison and a selection for each
# score, and only few tiles need one: those on the diagonal, and the last one if the keys do not
# fill it. All others are *full*: each query of the tile sees each of their keys. So let a program
# walk in **two phases**, first all full tiles without a mask, then the rest with one.

# %%
from tritonbook.seeing.pictures_attention import draw_tile_walk

draw_tile_walk(queries=160, keys=160, block_m=32, block_n=32)

# %% [markdown]
# **The cache.** When a model writes a text, it keeps the keys and values of all earlier tokens. New
# queries come at the end: there are Lq of them and Lk keys, and the *last* query sees the last key.
# Query i sees key j if j ≤ i + Lk − Lq, so it sees i + 1 + Lk − Lq keys. Here are 64 queries at the
# end of 112 keys.

# %%
draw_tile_walk(queries=64, keys=112, block_m=32, block_n=16)

# %% [markdown]
# **Predict.** How many keys does query 0 see in this picture, and how many query 31? How many full
# tiles does program 0 walk, and where does its walk end?
#
# <details><summary>Answer</summary>
#
# Query 0 sees 0 + 1 + 112 − 64 = 49 keys, query 31 sees 80. What query 0 sees, all queries of the
# tile see: 49 keys are 3 full tiles of 16. The walk ends at key 80, after 5 tiles: two of them need
# a mask.
#
# </details>
#
# ## Task 1. Where do the phases end?
#
# `first` and `last` are the first and the last query of a tile. Full tiles are the keys 0 to full − 1,
# the masked walk goes from full to end − 1. Without `causal` each query sees what the last one sees,
# as the given lines say. Write the rest, 3 lines.
#
# - `full` is a multiple of BLOCK_N, as large as possible.
# - Both lie between 0 and Lk: `last` may be past the last query. Where Lq is larger than Lk, the first
#   queries see nothing. `max(0, min(Lk, ...))` brings a number between 0 and Lk.
#
# It is plain Python, and `triton.jit` makes it part of a kernel: so no `int(...)`, no comprehension.

# %% tags=["answer"] key="walk_bounds"
def walk_bounds(first, last, Lq, Lk, causal, BLOCK_N):
    """(full, end): where the full tiles of the queries first to last end, and where all keys."""
    if not causal:
        first, last = Lq - 1, Lq - 1
    # TODO: the keys that the first and the last query see, and the result (3 lines)
    ### BEGIN SOLUTION
    fewest = max(0, min(Lk, first + 1 + Lk - Lq))
    most = max(0, min(Lk, last + 1 + Lk - Lq))
    return fewest // BLOCK_N * BLOCK_N, most
    ### END SOLUTION


bounds = triton.jit(walk_bounds)  # the same function, for kernels

# %% [markdown] tags=["hint"] key="walk_bounds"
# #### Hints for walk_bounds
#
# <details><summary>Hint 1: a question</summary>
#
# Of the queries in a tile, which one sees the fewest keys? Which one the most? Which of them
# decides about a tile that needs no mask?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The answer of the box above does it for one tile: 49 and 80, then 49 in whole tiles of 16.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# fewest = ...  # keys that `first` sees, between 0 and Lk
# most = ...
# return ..., most
# ```
#
# </details>

# %% tags=["check"] key="walk_bounds" points=3
check(walk_bounds)

# %% [markdown]
# ## Task 2. Two phases
#
# `attend` is the loop of page 41 as a function of its own. `tl.static_range` makes two copies of
# the loop when the kernel is compiled: in the first MASKED is 0, in the second 1. An `if MASKED`
# costs nothing at run time. `limit[m]` is the number of keys that row m sees.
#
# Three things differ from page 41.
#
# - **m starts at −1e38**, as on page 04. A row that has seen nothing then meets no −∞ − (−∞).
# - **The scale comes late.** The largest score is scaled, once for a row, and `s * qk_scale - m` is
#   one instruction, a multiply-add. One multiplication less for each score.
# - **The longest walks start first.** The last programs see the most keys, and work that is long
#   should not begin at the end.
#
# Write the update for one tile: 8 lines, around the load of v. The kernel is given: that of
# page 41, with `attend` for its loop. One launch, no copy; float32 is not cut to TF32.

# %% tags=["reference"]
from tritonbook import target_arch

LOG2_E, LN_2 = 1.4426950408889634, tl.constexpr(0.6931471805599453)  # log2(e), ln(2)


def attention_ref(q, k, v, causal=True, scale=None):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        later = torch.ones_like(s).triu(1 + s.shape[-1] - s.shape[-2]) > 0
        s = s.masked_fill(later, float("-inf"))
    return torch.softmax(s, dim=-1).nan_to_num(0.0) @ v, torch.logsumexp(s, dim=-1).float()


def attention_tile(q, rows):
    """BLOCK_M for so many rows, BLOCK_N, num_warps, num_stages; for q's dtype on this GPU."""
    if q.dtype == torch.float32 or target_arch() < 80:  # no tensor cores: small tiles
        return dict(BLOCK_M=32, BLOCK_N=32, num_warps=8, num_stages=1)
    tall = min(128, max(16, triton.next_power_of_2(rows)))
    wide = 64 if target_arch() >= 90 else 32  # with 64, registers of an A100 would spill
    return dict(BLOCK_M=tall, BLOCK_N=wide, num_warps=8, num_stages=3)

# %% tags=["answer"] key="flash_two_phases"
@triton.jit
def attend(
    q, k_ptr, v_ptr, full, end, limit, qk_scale,
    stride_kn, stride_kd, stride_vn, stride_vd,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """acc, m_i, l_i of the rows q, after the keys 0 to end - 1 of one head.

    All rows see the first `full` keys. Row m sees the keys below limit[m].
    Assumes BLOCK_D >= D; k_ptr and v_ptr point at the first key of the head.
    """
    offs_n, offs_d = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)[None, :]
    k_tile = offs_n[:, None] * stride_kn + offs_d * stride_kd
    v_tile = offs_n[:, None] * stride_vn + offs_d * stride_vd
    m_i = tl.full([BLOCK_M], -1e38, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for MASKED in tl.static_range(2):
        begin = full if MASKED else 0
        stop = end if MASKED else full
        for start in range(begin, stop, BLOCK_N):
            cols = start + offs_n
            inside = offs_d < D
            if MASKED:
                inside = inside & (cols[:, None] < end)
            k = tl.load(k_ptr + k_tile, mask=inside, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee")
            # TODO 1: minus infinity where MASKED; m_new, p, alpha and l_i (6 lines)
            ### BEGIN SOLUTION
            if MASKED:
                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
            p = tl.exp2(s * qk_scale - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(p, axis=1)
            ### END SOLUTION
            v = tl.load(v_ptr + v_tile, mask=inside, other=0.0)
            # TODO 2: acc and m_i (2 lines)
            ### BEGIN SOLUTION
            acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
            m_i = m_new
            ### END SOLUTION
            # step by step: a row number times a stride could pass 2^31
            k_ptr += BLOCK_N * stride_kn
            v_ptr += BLOCK_N * stride_vn
    return acc, m_i, l_i


@triton.jit
def flash_two_phases_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, L, qk_scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """o = softmax(q k^T / sqrt(D)) v.

    One program = BLOCK_M queries of one head.
    Assumes contiguous (B, H, L, D).
    """
    pid_m = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest walks first
    head = tl.program_id(1).to(tl.int64)
    k_ptr += head * L * D
    v_ptr += head * L * D
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rows = head * L * D + offs_m[:, None] * D + tl.arange(0, D)[None, :]
    q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=0.0)

    first = pid_m * BLOCK_M
    full, end = bounds(first, first + BLOCK_M - 1, L, L, CAUSAL, BLOCK_N)
    limit = offs_m + 1 if CAUSAL else offs_m * 0 + L
    acc, m_i, l_i = attend(
        q, k_ptr, v_ptr, full, end, limit, qk_scale, D, 1, D, 1, D, BLOCK_M, BLOCK_N, D
    )
    tl.store(lse_ptr + head * L + offs_m, (m_i + tl.log2(l_i)) * LN_2, mask=offs_m < L)
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)


def flash_two_phases(q, k, v, causal=True):
    """(o, lse) of attention; q, k, v contiguous (B, H, L, D), D a power of two from 16 to 128."""
    B, H, L, D = q.shape
    o, lse = torch.empty_like(q), q.new_empty(B, H, L, dtype=torch.float32)
    tile = attention_tile(q, L)
    grid = (triton.cdiv(L, tile["BLOCK_M"]), B * H)
    flash_two_phases_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5, causal, D, **tile)
    return o, lse

# %% [markdown] tags=["hint"] key="flash_two_phases"
# #### Hints for flash_two_phases
#
# <details><summary>Hint 1: a question</summary>
#
# Page 41 had the scaled scores in `s`. Here `s` is the bare product. In which two lines of the update
# does that show?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The lines are those of your page 41, with the mask under `if MASKED:` and `qk_scale` where m_new and
# p are computed. m_i is in units of scaled scores, so the largest score of a row must be too. A masked
# score is `float("-inf")`: a number, however low, could become the m of a row that sees no key.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if MASKED:
#     s = ...  # cols against limit, as tiles of one shape
# m_new = ...  # the largest score of the row, scaled
# p = tl.exp2(...)  # a product and a difference
# # alpha, l_i, acc and m_i as on page 41
# ```
#
# </details>

# %% tags=["check"] key="flash_two_phases" points=5
check(flash_two_phases)

# %% [markdown]
# ## What models hand over
#
# **Strides.** A layer computes q as (B, L, H × D) and looks at it as `x.view(B, L, H,
# D).transpose(1, 2)`: shape (B, H, L, D), but the heads of one token lie side by side. A kernel
# that uses the strides of each tensor copies nothing. As constants they cost nothing.
#
# **Heads of any size.** A tile has a power of two of columns. Heads of 80 get tiles of 128 columns,
# `BLOCK_D`, and masked lanes hold 0: they add nothing to the product of q and k, and the columns of
# o past D are not stored.
#
# **Shared heads.** In *grouped-query attention* (GQA) several query heads share one head of K and
# V. Llama 3 has 32 query heads and 8 key heads: query head h reads key head h // 4. To read a key
# once for all four, let *one program do all four heads*. Its rows are then (position, head) pairs:

# %%
pictures("flash_gqa").draw_group_tile(group=4, rows=12, keys=8, offset=3)

# %% [markdown]
# Row r of a group is position r // 4 and head r % 4. The diagonal is a staircase now: it depends on
# the position, never on the row. A tile with the rows 16 to 31 has the positions 4 to 7: those are
# `first` and `last`.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, Lq, D), any strides | float32, float16, bfloat16 | queries; D from 1 to 128 |
# | `k`, `v` | (B, HK, Lk, D), any strides | as `q` | keys and values; H is a multiple of HK |
# | `causal` | | bool | query i sees key j only if j ≤ i + Lk − Lq |
# | `scale` | | float > 0 or None | None: 1/√D |
# | `o` | as `q`, new | as `q` | the result |
# | `lse` | (B, H, Lq), contiguous, new | float32 | natural log of the sum of exp(scores) |
#
# A query that sees no key has o = 0 and lse = −∞. B × H ≤ 65,535. Shapes that do not fit raise ValueError.
#
# ## Task 3. Rows of a group
#
# The kernel of Task 2 for rows of a group, about 17 lines. Given: which key head, its first key, the
# rows of the tile. Yours: position and head of each row, q, the bounds and `limit` by position, and
# both stores. `pid_m * BLOCK_M` is a row. A row that saw nothing has l_i = 0: mind the division and the
# logarithm. lse is contiguous: query i of query head h in batch b has element (b × H + h) × Lq + i.

# %% tags=["answer"] key="flash_gqa"
@triton.jit
def flash_gqa_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, HK, Lq, Lk, qk_scale,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, STRIDE_KN: tl.constexpr, STRIDE_KD: tl.constexpr,
    stride_vb, stride_vh, STRIDE_VN: tl.constexpr, STRIDE_VD: tl.constexpr,
    stride_ob, stride_oh, stride_om, stride_od,
    CAUSAL: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """o = softmax(scale q k^T) v, where GROUP query heads share a head of k and v.

    One program = BLOCK_M rows, (position, head) pairs of one group.
    Assumes qk_scale > 0, BLOCK_D >= D.
    """
    pid_m = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest walks first
    b, hk = tl.program_id(1).to(tl.int64) // HK, tl.program_id(1).to(tl.int64) % HK
    k_ptr += b * stride_kb + hk * stride_kh
    v_ptr += b * stride_vb + hk * stride_vh
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)[None, :]
    mask_m = offs_m < Lq * GROUP

    # TODO: position, head, q; full, end, limit; attend; lse and o (about 17 lines)
    ### BEGIN SOLUTION
    position, head = offs_m // GROUP, hk * GROUP + offs_m % GROUP
    at = position.to(tl.int64)
    q_rows = q_ptr + b * stride_qb + head * stride_qh + at * stride_qm
    mask = mask_m[:, None] & (offs_d < D)
    q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0)

    first, last = pid_m * BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP
    full, end = bounds(first, last, Lq, Lk, CAUSAL, BLOCK_N)
    limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk
    acc, m_i, l_i = attend(
        q, k_ptr, v_ptr, full, end, limit, qk_scale,
        STRIDE_KN, STRIDE_KD, STRIDE_VN, STRIDE_VD, D, BLOCK_M, BLOCK_N, BLOCK_D,
    )

    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = tl.where(l_i == 0.0, float("-inf"), (m_i + tl.log2(l_safe)) * LN_2)
    tl.store(lse_ptr + (b * HK * GROUP + head) * Lq + position, lse, mask=mask_m)
    o_rows = o_ptr + b * stride_ob + head * stride_oh + at * stride_om
    tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)
    ### END SOLUTION


def flash_gqa(q, k, v, causal=False, scale=None):
    """(o, lse) of attention where q has a multiple of the heads of k and v."""
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1:3]
    if k.shape != v.shape or k.shape != (B, HK, Lk, D) or HK == 0 or H % HK or D > 128:
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}")
    if scale is not None and scale <= 0:
        raise ValueError(f"scale is {scale}, must be positive")
    o, lse = torch.empty_like(q), q.new_empty(B, H, Lq, dtype=torch.float32)
    tile = attention_tile(q, Lq * (H // HK))
    grid = (triton.cdiv(Lq * (H // HK), tile["BLOCK_M"]), B * HK)
    flash_gqa_kernel[grid](
        q, k, v, o, lse, HK, Lq, Lk, LOG2_E * (D**-0.5 if scale is None else scale),
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=causal, GROUP=H // HK, D=D, BLOCK_D=max(16, triton.next_power_of_2(D)), **tile,
    )  # fmt: skip
    return o, lse

# %% [markdown] tags=["hint"] key="flash_gqa"
# #### Hints for flash_gqa
#
# <details><summary>Hint 1: a question</summary>
#
# GROUP is 4 and BLOCK_M is 16. Which positions and which heads have the rows of tile 1? Which of
# these numbers decide about the mask, and which about the addresses?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# In an address a row becomes b, head and position, each times its stride. At the diagonal it
# becomes the position: `limit`, and the first and the last position of the tile, which are numbers,
# not tiles. In `mask_m` it stays a row. `hk * GROUP` is the first query head of this group. A position
# times its stride can pass 2^31, as in `attend`: `position.to(tl.int64)` in the addresses.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# position, head = ...  # each [BLOCK_M], by // and %
# q_rows = q_ptr + ...  # where each row of q begins, [BLOCK_M]
# q = tl.load(q_rows[:, None] + ..., ...)
#
# first, last = ...  # positions of the tile's first and last row
# full, end = bounds(...)
# limit = ...  # by position
# acc, m_i, l_i = attend(...)
#
# # lse, minus infinity where l_i is 0; o, 0 there
# # both stores: one for each row, by b, head and position
# ```
#
# </details>

# %% tags=["check"] key="flash_gqa" points=6
check(flash_gqa)

# %% [markdown]
# **Count what you read.** One new token, 8 query heads, 2 key heads, a cache of 64 tokens. First
# with shared heads, then with K and V repeated for each query head.

# %%
q = torch.randn(1, 8, 1, 16, device=DEVICE)
k, v = torch.randn(2, 1, 2, 64, 16, device=DEVICE).unbind(0)
for keys in (k, v), [x.repeat_interleave(4, dim=1) for x in (k, v)]:
    read = traffic(flash_gqa, q, *keys, True)["k"].read
    print(f"{keys[0].shape[1]} key heads: {read:,} bytes of k")

# %% [markdown]
# ## Predict, then measure
#
# One row for each step. All have as many key heads as query heads, as FlashAttention-2 and cuDNN do
# here. `flash_gqa, strides` gets q, k and v as a layer hands them over. A second table has one new
# token for each of 32 texts. The cell shows nothing yet.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

B, H, L, D, texts = (2, 32, 4096, 128, 32) if DEVICE == "cuda" else (1, 4, 64, 16, 1)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)
layer = torch.randn(3, B, L, H, D, device=DEVICE, dtype=dtype).transpose(2, 3).unbind(0)
flash_fwd = mine("flash_fwd", quiet=True)


def native(backend):
    def run():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    return run


ways = {
    "flash_fwd": lambda: flash_fwd(q, k, v, True),
    "flash_two_phases": lambda: flash_two_phases(q, k, v, True),
    "flash_gqa": lambda: flash_gqa(q, k, v, True),
    "flash_gqa, strides": lambda: flash_gqa(*layer, True),
}
if DEVICE == "cuda":
    ways["FlashAttention-2"] = native(SDPBackend.FLASH_ATTENTION)
    ways["cuDNN"] = native(SDPBackend.CUDNN_ATTENTION)
steps = bench(
    ways,
    flops=2 * B * H * L * L * D,
    baseline="flash_gqa",
    title="Causal attention, 2 x 32 x 4096 x 128, float16",
    stored="flash_steps",
)

new = torch.randn(texts, H, 1, D, device=DEVICE, dtype=dtype)
cache = torch.randn(2, texts, H // 4, 2 * L, D, device=DEVICE, dtype=dtype).unbind(0)
repeated = [x.repeat_interleave(4, dim=1) for x in cache]
timed = bench(
    {
        "heads share": lambda: flash_gqa(new, *cache, True),
        "keys repeated": lambda: flash_gqa(new, *repeated, True),
    },
    bytes=2 * cache[0].numel() * cache[0].element_size(),
    baseline="heads share",
    title="One new token for 32 texts of 8192, 32 heads to 8, float16",
    stored="flash_shared_heads",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "full tiles of 64 keys for the last 128 of 4096 causal queries": None,
        "bytes read from k: one token, 32 heads to 8, 256 keys of 64 float32": None,
        "times as long: keys repeated over heads share": None,
    },
    measured=[
        lambda: walk_bounds(3968, 4095, 4096, 4096, True, 64)[0] / 64,
        lambda: traffic(
            flash_gqa,
            torch.randn(1, 32, 1, 64, device=DEVICE),
            *torch.randn(2, 1, 8, 256, 64, device=DEVICE),
            True,
        )["k"],
        lambda: time_of(timed, "keys repeated", over="heads share", stored="flash_shared_heads"),
    ],
    hints=[
        "How many keys does the first of these queries see?",
        "Each key head is read once, by one program.",
        "The work is to read the cache. How many times as large is it?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Tiles.** The first of these queries, number 3968, sees 3,969 keys: 62 full tiles. The last one
# ends the walk at 4,096, after 64 tiles. So only two in 64 need a mask.
#
# **Bytes.** 8 heads × 256 keys × 64 × 4 bytes = 524,288.
#
# **Ratio.** Four times the bytes, so four times as long where memory is what limits both.
#
# </details>

# %%
steps

# %%
timed

# %% [markdown]
# **Read the first table** from the top. From the first row to the second the masks, the
# multiplication and the order of the programs change: 16 % of the time. `flash_gqa` takes any
# group and any strides, and loses nothing by it. All four rows stay ahead of FlashAttention-2.
#
# **In the second** the products hardly matter: the cache is read, once or four times.
#
# ## Recap
#
# - A tile is full if its *first* query sees all of its keys. The walk ends where its *last* query
#   ends.
# - The last query sees the last key: i + 1 + Lk − Lq keys for query i.
# - Two copies of a loop, with and without mask, leave no `if` at run time.
# - With shared heads, rows are (position, head) pairs. Addresses need both; the diagonal needs the
#   position, and so do the bounds of the tile.
#
# <details><summary>Common mistakes</summary>
#
# - The bounds of a tile in rows where positions are meant, without `// GROUP`. Full tiles then
#   reach into the future, and only a group shows it.
# - The diagonal from the top left when Lq and Lk differ. With a cache the text falls apart.
# - `full` from the last query: the first ones see keys that come after them.
# - The largest score unscaled in a maximum of scaled ones.
# - q, k and v with one stride between them. A layer hands over others.
#
# </details>
#
# Sources: Ainslie and others, *GQA* (2023); Dao (2023).
#
# Next: [43_flash_backward](43_flash_backward.ipynb), where gradients walk the same tiles.

# %%
progress()
