# ---
# workbook:
#   title: Flash attention
#   minutes: 60
#   needs: interpreter
#   requires: [04_softmax, 20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - compute attention tile by tile, without ever holding all scores
#     - rescale what you have when a larger score turns up, and know what happens if you forget
#     - write a whole kernel, its grid and its wrapper from a contract alone
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Attention lets each query look at all keys:
#
# $$S = \frac{Q K^T}{\sqrt{D}}, \qquad P = \mathrm{softmax}(S), \qquad O = P V$$
#
# Q, K, V and O hold L rows of D numbers, one row for each token. The scores S hold L × L. With 32
# heads of D = 128 and L = 16,384 tokens that is 8.6 billion scores: 17 GB in half precision, beside
# 0.5 GB for Q, K, V and O. Operator by operator, PyTorch writes S, reads it for the softmax, writes P
# and reads P. That is 69 GB, over 20 ms at 3,000 GB/s. Both products are 4.4 trillion operations, 6 ms
# at 700 TFLOP/s.
#
# *Flash attention* (Dao and others, 2022) never writes S. One program takes a tile of queries and
# walks over the keys, tile by tile. The scores of one tile live in registers.

# %%
pictures("flash_attention").draw_one_step(tiles=5, step=2)

# %% [markdown]
# But a softmax needs the largest score and the sum over the *whole* row, and
# the row arrives in pieces. You solved that on page 04: keep a running maximum m and a running sum
# l, and multiply l by exp(m_old − m_new) when m grows. Here is one row of scores in tiles of 2.

# %%
pictures("flash_attention").draw_running_max([0.5, -1.0, 1.2, 0.0, 2.5, 0.3, 3.5, 1.0], block=2)

# %% [markdown]
# New is that the *output* is a running thing too. It is a weighted sum of rows of V, and its
# weights were computed with the old m. So it is multiplied by the same factor. For one query with
# the scores s of a tile:
#
# $$m' = \max(m, \max_j s_j) \qquad l' = l\,e^{m-m'} + \sum_j e^{s_j-m'}
# \qquad acc' = acc\,e^{m-m'} + \sum_j e^{s_j-m'} v_j$$
#
# After the last tile, O = acc / l.
#
# **Predict.** You forget the factor for `acc`, but not for `l`. The largest score of a row happens
# to lie in the first tile. Is the result wrong?
#
# <details><summary>Answer</summary>
#
# No. m never grows after the first tile, all later factors are 1, and the mistake stays hidden. It shows
# in rows whose maximum comes late. The check has such keys.
#
# </details>
#
# ## Task 1. In plain torch
#
# First without a kernel: attention over tiles of `block` keys, all queries at once, no mask, for B texts
# of H heads. Given are m, l and acc before the first tile, and the division at the end. Write the walk,
# about 9 lines. Any torch operation is allowed, except ready-made attention. No tensor may hold all
# scores.

# %% tags=["answer"] key="attention_tiled_torch"
def attention_tiled_torch(q, k, v, block=16):
    """softmax(q k^T / sqrt(D)) v, for q (B, H, Lq, D) and k, v (B, H, Lk, D)."""
    scale = q.shape[-1] ** -0.5
    m = torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)
    l = torch.zeros_like(m)
    acc = torch.zeros_like(q)
    # TODO: for each tile of keys the scores, the new m, the factor, the exponentials, then
    # l, acc and m (about 9 lines)
    ### BEGIN SOLUTION
    for start in range(0, k.shape[2], block):
        k_tile, v_tile = k[:, :, start : start + block], v[:, :, start : start + block]
        s = q @ k_tile.transpose(-1, -2) * scale
        m_new = torch.maximum(m, s.amax(dim=-1))
        alpha = torch.exp(m - m_new)
        p = torch.exp(s - m_new[..., None])
        l = l * alpha + p.sum(dim=-1)
        acc = acc * alpha[..., None] + p @ v_tile
        m = m_new
    ### END SOLUTION
    return acc / l[..., None]

# %% [markdown] tags=["hint"] key="attention_tiled_torch"
# #### Hints for attention_tiled_torch
#
# <details><summary>Hint 1: a question</summary>
#
# At the first tile m is minus infinity. What is the factor then, and what does it do to l and acc?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The three formulas above, in this order: m', then the factor, then l' and acc'. `s.amax(dim=-1)`
# has one dimension less than `s`; `[..., None]` gives it back. A slice `k[:, :, start : start + block]`
# ends by itself where the tensor ends.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, ..., block):
#     k_tile, v_tile = ...
#     s = ...  # (B, H, Lq, block)
#     m_new = torch.maximum(...)
#     # alpha and p: both are exponentials of a difference with m_new
#     # l, then acc: what was there times alpha, plus what this tile adds
#     m = m_new
# ```
#
# </details>

# %% tags=["check"] key="attention_tiled_torch" points=3
check(attention_tiled_torch)

# %% [markdown]
# ## A smaller kernel first
#
# Now Triton: one head, and all keys in one tile.


# %%
@triton.jit
def one_tile_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, L: tl.constexpr, D: tl.constexpr
):
    """o = softmax(scale q k^T) v.

    One program = all L queries and L keys.
    Assumes contiguous [L, D], L and D powers of two from 16 on.
    """
    offs_l, offs_d = tl.arange(0, L), tl.arange(0, D)
    tile = offs_l[:, None] * D + offs_d[None, :]  # [L, D]
    q, k, v = tl.load(q_ptr + tile), tl.load(k_ptr + tile), tl.load(v_ptr + tile)

    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # [L, L]
    m = tl.max(s, axis=1)  # [L]: one number for each query
    p = tl.exp(s - m[:, None])
    l = tl.sum(p, axis=1)
    acc = tl.dot(p.to(v.dtype), v, input_precision="ieee")  # [L, D]

    tl.store(o_ptr + tile, acc / l[:, None])


q, k, v = torch.randn(3, 32, 16, device=DEVICE).unbind(0)
o = torch.empty_like(q)
one_tile_kernel[(1,)](q, k, v, o, 16**-0.5, L=32, D=16)
print("largest error:", f"{(o - torch.softmax(q @ k.T / 4, dim=-1) @ v).abs().max():.0e}")

# %% [markdown]
# - `tl.trans(k)` is the tile transposed: K is loaded by rows, as it lies in memory.
# - `axis=1` runs along the keys. What is left has one number for each query, and `[:, None]`
#   spreads it over a row again.
# - `p.to(v.dtype)`: a product takes two tiles of one dtype, so in half precision P is rounded here.
#   m, l and acc stay in float32.
#
# ## Three things to add
#
# **1. Heads.** A contiguous tensor (B, H, L, D) is B × H matrices of L × D, one behind the other.
# The grid has two axes: tiles of queries, and heads (at most 65,535). Head number h begins at element h × L × D. That number can pass 2^31, so take
# `tl.program_id(1).to(tl.int64)`.
#
# **2. The diagonal.** A language model is *causal*: query i sees key j only if j ≤ i. A forbidden
# score becomes minus infinity, and its exponential 0. Tiles wholly above the diagonal are not
# visited: the walk of a program ends where its last query ends.

# %%
from tritonbook.seeing.pictures_attention import draw_tile_walk

draw_tile_walk(queries=160, keys=160, block_m=32, block_n=32)

# %% [markdown]
# **3. exp2.** A GPU has an instruction for 2^x and none for e^x. Since $e^x = 2^{x \log_2 e}$, give
# the kernel the scale $\log_2(e)/\sqrt D$ and use `tl.exp2` for both exponentials. Then m is in
# other units as well: it is the largest score times log2(e).
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q`, `k`, `v` | (B, H, L, D), contiguous | float32, float16, bfloat16 | any L; D is 16, 32, 64 or 128 |
# | `causal` | | bool | query i sees keys 0 to i; otherwise all |
# | `o` | as `q`, new | as `q` | the result |
# | `lse` | (B, H, L), contiguous, new | float32 | log of the sum of $e^{s}$ over the keys of a query |
#
# - `lse` (*log-sum-exp*) is all that a backward pass needs of the softmax: m + log(l),
#   in natural logarithms. `LN_2` brings you back from base 2, and kernels can see it.
#   `LOG2_E` is for the wrapper.
# - `require_heads` raises ValueError for anything else.
# - One launch; float32 is not cut to TF32.
# - A program for every BLOCK_M queries. A causal one reads no tile of keys wholly above the diagonal.

# %% tags=["reference"]
from tritonbook import target_arch

LOG2_E, LN_2 = 1.4426950408889634, tl.constexpr(0.6931471805599453)  # log2(e), ln(2)


def attention_ref(q, k, v, causal=True):
    s = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.ones_like(s).triu(1) > 0, float("-inf"))
    return torch.softmax(s, dim=-1) @ v, torch.logsumexp(s, dim=-1).float()


def require_heads(q, k, v):
    """Raise ValueError unless q, k and v fit the contract."""
    alike = all(x.shape == q.shape and x.dtype == q.dtype and x.is_contiguous() for x in (q, k, v))
    if not alike or q.shape[-1] not in (16, 32, 64, 128):
        raise ValueError("q, k, v: contiguous (B, H, L, D), of one shape, D 16, 32, 64 or 128")


def attention_tile(q):
    """BLOCK_M, BLOCK_N, num_warps and num_stages for the dtype of q on this GPU."""
    if q.dtype == torch.float32 or target_arch() < 80:  # no tensor cores: small tiles
        return dict(BLOCK_M=32, BLOCK_N=32, num_warps=8, num_stages=1)
    return dict(BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3)

# %% [markdown]
# ## Task 2. A blank page
#
# Write the kernel (about 30 lines) and the rest of the wrapper (5). The loop is your torch loop, with the names of the worked kernel. Its shapes:
#
# - `q` and `acc` are [BLOCK_M, D], `k` and `v` of one step [BLOCK_N, D], `s` and `p` [BLOCK_M, BLOCK_N].
# - `m_i`, `l_i` and `alpha` are [BLOCK_M]: one number for each query.
#
# Three functions are new. `tl.full([BLOCK_M], float("-inf"), tl.float32)` makes a tile of one number,
# `tl.where(condition, x, y)` takes x where the condition holds and else y, and `tl.log2` is the logarithm
# to base 2. m may start at minus infinity: every query sees key 0, so m is a number from the first tile on.
#
# Rows of q and o are `pid_m * BLOCK_M + ...`, those of k and v `start + ...`. `attention_tile(q)` has the
# blocks, for the grid and for the launch.

# %% tags=["answer"] key="flash_fwd"
# TODO: the kernel. Which tile and head, the queries, m_i, l_i and acc, the walk over the
# keys, both stores (about 30 lines)
### BEGIN SOLUTION
@triton.jit
def flash_fwd_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, L, qk_scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """o = softmax(q k^T / sqrt(D)) v. One program = BLOCK_M queries of one head."""
    pid_m, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)[None, :]
    rows = head * L * D + offs_m[:, None] * D + offs_d
    q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=0.0)

    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i, acc = tl.zeros([BLOCK_M], tl.float32), tl.zeros([BLOCK_M, D], tl.float32)
    end = tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else L
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        tile = cols[:, None] * D + offs_d
        k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0)
        v = tl.load(v_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale
        last = offs_m[:, None] if CAUSAL else L - 1
        s = tl.where(cols[None, :] <= last, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m_i = m_new

    tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)
    tl.store(lse_ptr + head * L + offs_m, (m_i + tl.log2(l_i)) * LN_2, mask=offs_m < L)
### END SOLUTION


def flash_fwd(q, k, v, causal=True):
    """(o, lse) of attention; q, k, v (B, H, L, D) as in the contract, else ValueError."""
    require_heads(q, k, v)
    B, H, L, D = q.shape
    # TODO: allocate, grid, launch, return (about 5 lines)
    ### BEGIN SOLUTION
    o, lse = torch.empty_like(q), q.new_empty(B, H, L, dtype=torch.float32)
    tile = attention_tile(q)
    grid = (triton.cdiv(L, tile["BLOCK_M"]), B * H)
    flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5, causal, D, **tile)
    return o, lse
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="flash_fwd"
# #### Hints for flash_fwd
#
# <details><summary>Hint 1: a question</summary>
#
# The loop multiplies `acc` by `alpha` and subtracts a maximum from `s`. How does a tile [BLOCK_M] meet
# one with columns? And which names change in the loop, so that they must exist before it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The addresses are those of `one_tile_kernel`, once each pointer is `head * L * D` further on. The loop is your Task 1,
# line by line: `s.amax(dim=-1)` becomes
# `tl.max(s, axis=1)`, `@` becomes `tl.dot`, `[..., None]` becomes `[:, None]`. `tl.dot(a, b, c)`
# adds to c. One comparison can serve both masks of the scores: which is the last key that a query
# sees?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # which queries, which head; the tile q
# m_i, l_i, acc = ...  # float32, as at the start of Task 1
# end = ...  # L, or where the last query of this tile ends; tl.minimum takes the smaller
# for start in range(0, end, BLOCK_N):
#     cols = start + tl.arange(0, BLOCK_N)
#     # tiles k and v, with zeros past the end
#     # scores, minus infinity where a query does not see a key
#     # the four updates
# # o: acc over l_i. lse: from l_i, a plain sum, and m_i, which is in base 2
# ```
#
# The wrapper's grid is `(tiles of queries, B * H)`.
#
# </details>

# %% tags=["check"] key="flash_fwd" points=8
check(flash_fwd)

# %% [markdown]
# **Count what you read.** 96 queries in tiles of 32 are three programs. Where each sees all keys, they
# read three times 96 rows of K; causally 32 + 64 + 96.

# %%
q, k, v = torch.randn(3, 1, 1, 96, 16, device=DEVICE).unbind(0)
for causal in (False, True):
    rows = traffic(flash_fwd, q, k, v, causal)["k"].read // (16 * 4)
    print(f"causal={causal}: {rows} rows of k")

# %% [markdown]
# Larger tiles read K less often.
#
# ## Memory as L grows
#
# All scores, beside what `flash_fwd` stores:

# %%
print(" tokens   all scores     o and lse   (32 heads of 128, float16)")
for L in (1024, 4096, 16384, 65536):
    scores, results = 32 * L * L * 2, 32 * L * (128 * 2 + 4)
    print(f"{L:7,} {scores / 1e6:9,.0f} MB {results / 1e6:10,.0f} MB")

# %% [markdown]
# ## Predict, then measure
#
# All ways compute the same two products: 2 × L × L × D operations each, halved by
# causality. For B = 2, H = 32, L = 4096, D = 128 that is 275 billion. *Three operators* is the
# formula in PyTorch. FlashAttention-2 and cuDNN are inside PyTorch.
# Without a GPU the cell fetches an H200's times.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

B, H, L, D = (2, 32, 4096, 128) if DEVICE == "cuda" else (1, 1, 64, 16)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE, dtype=dtype).unbind(0)
later = torch.full((L, L), float("-inf"), device=DEVICE, dtype=dtype).triu(1)


def three_operators(q, k, v):
    return torch.softmax(later + q * D**-0.5 @ k.mT, dim=-1) @ v


def native(backend):
    def run(q, k, v):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=True)

    return run


ways = {"three operators": three_operators, "flash_fwd": flash_fwd}
if DEVICE == "cuda":
    ways["FlashAttention-2"] = native(SDPBackend.FLASH_ATTENTION)
    ways["cuDNN"] = native(SDPBackend.CUDNN_ATTENTION)
timed = bench(
    ways,
    q, k, v,
    flops=2 * B * H * L * L * D,
    baseline="flash_fwd",
    title="Causal attention, 2 x 32 x 4096 x 128, float16",
    stored="flash_one_screen",
)

# %% [markdown]
# Guess, for an H200 with 4,150 GB/s and 700 TFLOP/s.

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes read from k: 64 causal queries, D = 16, float32, tiles of 32": None,
        "ms of flash_fwd, B = 2, H = 32, L = 4096, D = 128": None,
    },
    measured=[
        lambda: traffic(flash_fwd, *torch.randn(3, 1, 1, 64, 16, device=DEVICE))["k"],
        lambda: time_of(timed, "flash_fwd", stored="flash_one_screen"),
    ],
    hints=[
        "Two programs. How many rows of k does each of them read?",
        "Operations over TFLOP/s is the floor. Then leave time for the exponentials.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 32 + 64 rows of 16 × 4 bytes: 6,144.
#
# **flash_fwd.** 275e9 operations at 700 TFLOP/s are 0.39 ms, the floor. Each of the 0.54e9 scores
# needs an exponential too. An H200's 132 multiprocessors make 16 a clock each, 3.7e12 a second in
# all: 0.15 ms. If they take turns with the products, 0.54. Masks, maxima and sums come on top.
#
# </details>

# %%
timed

# %% [markdown]
# **Read the table.** `flash_fwd` needs a tenth of the time of the first row, which writes and reads all
# scores three times. FlashAttention-2 was written for the GPU before the H100 and H200, cuDNN for these: it
# needs two thirds of your kernel's time.
#
# What did the compiler make of it? `facts` compiles for an A100 without one. The products must run on
# *tensor cores*. *Spills* are registers that do not fit: they go to memory, and the loop waits. Has yours
# any? Add the head's offset to each pointer once, before the loop.

# %%
facts(flash_fwd, *torch.empty(3, 1, 2, 256, 128, dtype=torch.float16), arch=80)

# %% [markdown]
# ## Recap
#
# - Attention over tiles needs a running m, l and acc. When m grows, l *and* acc are rescaled.
# - The scores never leave the registers: memory grows with L, not with its square.
# - Causal programs stop at the diagonal, which saves almost half of the work.
# - exp2 takes scores times log2(e): m + log2(l) is in base 2, and lse that times ln 2.
#
# <details><summary>Common mistakes</summary>
#
# - m_i is overwritten before alpha is computed. alpha is then 1, always.
# - A maximum of the tile instead of all so far, or none at all. Random numbers forgive it, large
#   scores do not.
# - Keys past the end get score 0 instead of minus infinity: they take part in the softmax.
# - No `other=0.0` for v: a weight of 0 times NaN is NaN.
# - acc in half precision: what a late tile adds is small beside it, and gets lost.
# - A grid of `cdiv(L, BLOCK_N)`: programs without queries walk over all keys.
# - lse = m + log(l) with m in base 2 and log to base e.
#
# </details>
#
# Sources: Milakov and Gimelshein (2018) for the online softmax; Dao and others (2022); Dao (2023).
#
# Next: [42_flash_gqa](42_flash_gqa.ipynb), where the same kernel learns to be fast, and to take
# what models hand it.

# %%
progress()
