# ---
# workbook:
#   title: Windows, sinks and a soft cap
#   minutes: 55
#   needs: interpreter
#   requires: [42_flash_gqa]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - let a query see its last keys alone, and never visit a tile before them
#     - give a head a sink, a logit that takes weight and has no value
#     - cap scores by a tanh that is right for arguments of any size
#     - decode one token from the last keys of a long cache
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 42's kernel lets a query look at all keys before it. Many models change that in three ways, each a
# few lines.
#
# **A sliding window.** A query sees its own key and the window − 1 keys before it. Mistral 7B takes 4,096,
# gpt-oss 128 in every other layer. L queries then need about L × window scores, not L × L / 2, if
# tiles before the window are never visited. Here the window is 50:

# %%
from tritonbook.seeing.pictures_attention import draw_tile_walk

draw_tile_walk(queries=160, keys=160, block_m=32, block_n=16, window=50)

# %% [markdown]
# A walk has three phases now: masked tiles at the window's **left edge**, full tiles, masked tiles at the
# diagonal.
#
# **A sink.** A softmax gives all of its weight away, even if no key is worth any. So models
# heap it on the first token, and a window loses that token. gpt-oss gives each head a learned number, the
# **sink's logit**. Its exponential joins the sum, and nothing else:
#
# $$o_i = \sum_j \frac{e^{s_{ij}}}{e^{\mathrm{sink}} + \sum_k e^{s_{ik}}}\; v_j$$

# %%
pictures("window_sinks").draw_sink(scores=[1.0, 0.0, 2.0, 0.5], sink=1.5)

# %% [markdown]
# **A soft cap.** Gemma 2 keeps scores between −50 and 50: cap × tanh(s / cap). 10 becomes 9.9, 50 becomes
# 38.1, 500 becomes 50.
#
# ## A smaller kernel first
#
# A softmax with a sink. The maximum includes the sink: else its exponential may overflow.


# %%
@triton.jit
def sink_softmax_kernel(s_ptr, sink_ptr, p_ptr, N: tl.constexpr):
    """p = exp(s) / (exp(sink) + sum of exp(s)).

    One program = all N scores.
    Assumes that N is a power of two.
    """
    offs_n = tl.arange(0, N)
    s, sink = tl.load(s_ptr + offs_n), tl.load(sink_ptr)
    m = tl.maximum(tl.max(s, axis=0), sink)
    p = tl.exp(s - m)
    l = tl.exp(sink - m) + tl.sum(p, axis=0)
    tl.store(p_ptr + offs_n, p / l)


s, sink = torch.tensor([1.0, 0.0, 2.0, 0.5], device=DEVICE), torch.tensor([1.5], device=DEVICE)
p = torch.empty_like(s)
sink_softmax_kernel[(1,)](s, sink, p, N=4)
print("weights", [round(x, 2) for x in p.tolist()], "sum", round(p.sum().item(), 2))

# %% [markdown]
# **Predict.** An online softmax carries m, l and acc. What would the three be when the sink alone has been
# seen?
#
# <details><summary>Answer</summary>
#
# The sink is a key whose value is 0: m is its logit, l is exp(sink − m) = 1, and acc is 0. Let it come
# first, and the loop needs no change.
#
# </details>
#
# ## Task 1. Where do the phases begin and end?
#
# Query i's **own key** is i + Lk − Lq, as on page 42: the last query's is the last key. With
# own key j it sees the keys j − window + 1 to j. The given line turns `first` and `last`, a tile's
# first and last query, into their own keys. Yours are four bounds, 5 lines:
#
# | bound | what it is |
# |---|---|
# | `begin` | of the walk: the oldest key that the first query sees, rounded **down** to a multiple of BLOCK_N |
# | `inner` | full tiles begin: the oldest key that the **last** query sees, rounded **up** |
# | `full` | full tiles end: by the **first** query, rounded down, as on page 42; at least `inner` |
# | `end` | of the walk: by the last query |
#
# None is below 0. Masked tiles lie from begin to inner and from full to end. Kernels run this too: no
# `int(...)`, no comprehension, and no division of a negative number, which rounds otherwise there.

# %% tags=["answer"] key="window_bounds"
def window_bounds(first, last, Lq, Lk, window, BLOCK_N):
    """(begin, inner, full, end) of the walk that the queries first to last take together."""
    first, last = first + Lk - Lq, min(last, Lq - 1) + Lk - Lq  # own keys; last: of a real query
    # TODO: begin, inner, full, end, and the result (5 lines)
    ### BEGIN SOLUTION
    begin = max(0, first + 1 - window) // BLOCK_N * BLOCK_N
    inner = (max(0, last + 1 - window) + BLOCK_N - 1) // BLOCK_N * BLOCK_N
    full = max(inner, max(0, first + 1) // BLOCK_N * BLOCK_N)
    end = max(0, last + 1)
    return begin, inner, full, end
    ### END SOLUTION


bounds = triton.jit(window_bounds)  # the same function, for kernels

# %% [markdown] tags=["hint"] key="window_bounds"
# #### Hints for window_bounds
#
# <details><summary>Hint 1: a question</summary>
#
# In the picture program 2 has the queries 64 to 95. Which is the oldest key that query 64 sees, and which
# that query 95 sees? In which tiles of 16 do they lie?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# They are 15 and 46. So the walk begins with tile 0, and from key 48 on each key is in everybody's window. x
# rounded up is `(x + BLOCK_N - 1) // BLOCK_N * BLOCK_N`. With a small window `inner` may pass the diagonal:
# then no tile is full, and the second masked part begins where the first one ends.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# begin = max(0, ...) // BLOCK_N * BLOCK_N  # by first and window
# inner = ...  # by last and window, rounded up
# full = max(inner, ...)
# end = ...
# return begin, inner, full, end
# ```
#
# </details>

# %% tags=["check"] key="window_bounds" points=4
check(window_bounds)

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, Lq, D), contiguous | float32, float16, bfloat16 | queries; D is 16, 32, 64 or 128 |
# | `k`, `v` | (B, HK, Lk, D), contiguous | as `q` | query head h reads key head h // (H // HK) |
# | `sinks` | (H,), contiguous | float32 | a logit for each query head; minus infinity: no sink |
# | `window` | | int, at least 1 | keys that a query sees at most |
# | `cap` | | float > 0 or None | of scores, not of sinks; None: no cap |
# | result | as `q`, new | as `q` | a query that sees no key gets 0 |
#
# - One launch; float32 is not cut to TF32. What does not fit raises ValueError.
# - **Tiles before the window and behind the diagonal are never visited**: one of a program's queries sees a key
#   of each tile that it loads.
# - B × H may pass 65,535, so it is not on axis 1 of the grid.

# %% tags=["reference"]
from tritonbook import shared_memory_limit, target_arch

LOG2_E = tl.constexpr(1.4426950408889634)  # log2(e)


def window_ref(q, k, v, sinks, window, cap=None):
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    s = q @ k.mT * q.shape[-1] ** -0.5
    s = s if cap is None else cap * torch.tanh(s / cap)
    own = k.shape[2] - q.shape[2]  # query 0's own key
    s = s.masked_fill(torch.ones_like(s).tril(own).triu(own + 1 - window) == 0, float("-inf"))
    s = torch.cat((s, sinks.to(s).view(1, -1, 1, 1).expand(*s.shape[:3], 1)), dim=-1)
    return torch.softmax(s, dim=-1).nan_to_num(0.0)[..., :-1] @ v


def require_heads(q, k, v, sinks, window, cap):
    """Raise ValueError unless all fit the contract."""
    fits = k.shape == v.shape and q.shape[1] % k.shape[1] == 0 and q.shape[-1] in (16, 32, 64, 128)
    fits = fits and window >= 1 and (cap is None or cap > 0) and sinks.shape == q.shape[1:2]
    if not fits or not all(x.is_contiguous() for x in (q, k, v, sinks)):
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, window {window}, cap {cap}")

# %% [markdown]
# ## Task 2. A window, a sink, a cap
#
# `attend` takes one tile now. Four small gaps:
#
# 1. **`capped`**, about 2 lines. Triton has no `tl.tanh`. From one exponential it is
#    $\tanh u = 1 - 2 / (e^{2u} + 1)$: for a large u the power is infinite, and 2 / ∞ = 0. The textbook's
#    $(e^{2u} - 1) / (e^{2u} + 1)$ is ∞ / ∞ there.
# 2. **In `attend`**, 4 lines: `if CAP > 0:` the cap of the *scaled* scores, `if MASKED:` the mask. In this
#    order: the cap of minus infinity is −cap, a score like others.
# 3. **The start**, 2 lines: m_i and l_i, given as on page 42, after the sink has been seen. m is in base 2: the
#    sink times LOG2_E. It stays a number, at least −1e38, also without a sink.
# 4. **In the loop**, about 3 lines: `seen`, a tile [BLOCK_M, BLOCK_N], from `own` and `cols`; then the call of
#    `attend`. Phase 1 has no mask.
#
# A row that sees nothing keeps that l = 1, and 0 / 1 = 0.

# %% tags=["answer"] key="flash_window"
@triton.jit
def capped(s, CAP: tl.constexpr):
    """CAP * tanh(s / CAP)."""
    # TODO 1: from one exponential, right for every s (about 2 lines)
    ### BEGIN SOLUTION
    power = tl.exp(s * (2 / CAP))
    return CAP - 2 * CAP / (power + 1)
    ### END SOLUTION


@triton.jit
def attend(
    q, k, v, seen, m_i, l_i, acc, scale, MASKED: tl.constexpr, CAP: tl.constexpr
):
    """m_i, l_i, acc after one more tile of keys: q [M, D], k and v [N, D], seen [M, N].

    CAP is 0 where there is none. m_i is in base 2.
    """
    s = tl.dot(q, tl.trans(k), input_precision="ieee")
    # TODO 2: cap and mask (4 lines)
    ### BEGIN SOLUTION
    if CAP > 0:
        s = capped(s * scale, CAP)
    if MASKED:
        s = tl.where(seen, s, float("-inf"))
    ### END SOLUTION
    to_base_2 = LOG2_E if CAP > 0 else scale * LOG2_E  # capped ones are scaled
    m_new = tl.maximum(m_i, tl.max(s, axis=1) * to_base_2)
    p = tl.exp2(s * to_base_2 - m_new[:, None])
    alpha = tl.exp2(m_i - m_new)
    l_i = l_i * alpha + tl.sum(p, axis=1)
    acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
    return m_new, l_i, acc


@triton.jit
def flash_window_kernel(
    q_ptr, k_ptr, v_ptr, sinks_ptr, o_ptr, H, Lq, Lk, window, scale,
    CAP: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """o = softmax(scores in the window, beside a sink) v.

    One program = BLOCK_M queries of one head.
    Assumes contiguous tensors, D a power of two.
    """
    tiles = tl.cdiv(Lq, BLOCK_M)
    first = tl.program_id(0) % tiles * BLOCK_M
    last = first + BLOCK_M - 1
    head = (tl.program_id(0) // tiles).to(tl.int64)  # counted over all batches
    offs_m, offs_n = first + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)[None, :]
    k_ptr += head // GROUP * Lk * D
    v_ptr += head // GROUP * Lk * D
    rows = head * Lq * D + offs_m[:, None] * D + offs_d
    q = tl.load(q_ptr + rows, mask=offs_m[:, None] < Lq, other=0.0)
    sink = tl.load(sinks_ptr + head % H)
    m_i, l_i = tl.full([BLOCK_M], -1e38, tl.float32), tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)

    # TODO 3: m_i and l_i when the sink alone has been seen (2 lines)
    ### BEGIN SOLUTION
    m_i = tl.maximum(m_i, sink * LOG2_E)
    l_i += 1.0
    ### END SOLUTION
    begin, inner, full, end = bounds(first, last, Lq, Lk, window, BLOCK_N)
    own = offs_m + Lk - Lq  # [BLOCK_M]
    for PHASE in tl.static_range(3):
        begins = begin if PHASE == 0 else (inner if PHASE == 1 else full)
        ends = inner if PHASE == 0 else (full if PHASE == 1 else end)
        for start in range(begins, ends, BLOCK_N):
            cols = start + offs_n
            tile = cols[:, None] * D + offs_d
            k = tl.load(k_ptr + tile, mask=cols[:, None] < end, other=0.0)
            v = tl.load(v_ptr + tile, mask=cols[:, None] < end, other=0.0)
            # TODO 4: seen, and one more tile (about 3 lines)
            ### BEGIN SOLUTION
            age = own[:, None] - cols[None, :]
            seen = (age >= 0) & (age < window)
            m_i, l_i, acc = attend(q, k, v, seen, m_i, l_i, acc, scale, PHASE != 1, CAP)
            ### END SOLUTION
    tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < Lq)


def window_tile(q):
    """BLOCK_M, BLOCK_N, num_warps and num_stages for q's dtype on this GPU."""
    large = q.element_size() == 2 and target_arch() >= 80  # else no tensor cores
    return (128, 64 if target_arch() >= 90 else 32, 8, 3) if large else (32, 16, 8, 1)


def flash_window(q, k, v, sinks, window, cap=None):
    """Attention of each query to its last `window` keys, and to its head's sink; a new tensor."""
    B, H, Lq, D = q.shape
    require_heads(q, k, v, sinks, window, cap)
    o = torch.empty_like(q)
    BLOCK_M, BLOCK_N, warps, stages = window_tile(q)
    flash_window_kernel[(triton.cdiv(Lq, BLOCK_M) * B * H,)](
        q, k, v, sinks, o, H, Lq, k.shape[2], window, D**-0.5,
        CAP=cap or 0.0, GROUP=H // k.shape[1], D=D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return o

# %% [markdown] tags=["hint"] key="flash_window"
# #### Hints for flash_window
#
# <details><summary>Hint 1: a question</summary>
#
# A query's own key is 40, its window 16. What is own − col for the newest key that it sees, and what for
# the oldest?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# 0 and 15: two comparisons of one difference, joined by `&`. `own` stands upright, `cols` lies flat. In the
# formula of tanh u is s / CAP, and everything is multiplied by CAP. Where m is the sink, its own exponential is 1.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# power = tl.exp(...)  # 2 u, with u = s / CAP
# return ...
# ```
#
# ```python
# if CAP > 0:
#     s = ...  # scaled first
# if MASKED:
#     s = ...
# ```
#
# ```python
# m_i = ...  # the sink in base 2, or what m_i was if that is more
# l_i = ...
# ```
#
# ```python
# age = ...  # [BLOCK_M, BLOCK_N]
# seen = ...
# m_i, l_i, acc = attend(..., PHASE != 1, CAP)
# ```
#
# </details>

# %% tags=["check"] key="flash_window" points=6
check(flash_window)

# %% [markdown]
# **Count what you read**: 512 queries in tiles of 32, and the rows of k that their programs load.

# %%
q, k, v = torch.randn(3, 1, 1, 512, 16, device=DEVICE).unbind(0)
for window in (1, 64, 512):
    rows = traffic(flash_window, q, k, v, sink, window)["k"].read // (16 * 4)
    print(f"window {window:3}: {rows:5,} rows of k")

# %% [markdown]
# ## One token, the last keys
#
# A model that writes has one query for each sequence and head, and needs the last `window` keys of its cache.
# So a step costs the same after 10,000 tokens and after 100,000.
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, D), contiguous | as above | one query a head |
# | `k_cache`, `v_cache` | (B, HK, T, D), contiguous | as `q` | room for T tokens |
# | `lengths` | (B,), contiguous | int32 | tokens of each sequence, 0 to T; behind them lies anything |
# | `sinks`, `window`, `cap` | | | as above |
# | result | (B, H, D), new | as `q` | attention to the last keys of each sequence |
#
# One launch. **The last `window` keys are loaded once each, and no others.** Query heads that share a key head, at
# most 16, are one program's tile of 16 rows. B × HK may pass 65,535.
#
# ## Task 3. Decode with a window
#
# About 13 lines: the start, with a sink for each *row*; the walk over the last keys, with `attend`; the
# store. A walk may begin at any key, not only at a multiple of BLOCK_N.

# %% tags=["answer"] key="window_decode"
@triton.jit
def window_decode_kernel(
    q_ptr, k_ptr, v_ptr, lengths_ptr, sinks_ptr, o_ptr, HK, T, window, scale,
    CAP: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr,
    BLOCK_G: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """o = softmax(scores of the last keys, beside a sink) v, for one query a head.

    One program = the GROUP query heads that share one key head of one sequence.
    Assumes contiguous tensors, GROUP <= BLOCK_G, D a power of two.
    """
    row = tl.program_id(0).to(tl.int64)  # the key head, counted over all sequences
    length = tl.load(lengths_ptr + row // HK)
    offs_g, offs_n = tl.arange(0, BLOCK_G), tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)[None, :]
    heads, mask_g = row * GROUP + offs_g, offs_g < GROUP
    q_tile = heads[:, None] * D + offs_d
    q = tl.load(q_ptr + q_tile, mask=mask_g[:, None], other=0.0)
    sinks = tl.load(sinks_ptr + heads % (HK * GROUP), mask=mask_g, other=0.0)
    k_ptr, v_ptr = k_ptr + row * T * D, v_ptr + row * T * D

    # TODO: the start, the walk over the last keys, the store (about 13 lines)
    ### BEGIN SOLUTION
    m_i = tl.maximum(sinks * LOG2_E, -1e38)
    l_i = tl.full([BLOCK_G], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_G, D], tl.float32)
    for start in range(tl.maximum(length - window, 0), length, BLOCK_N):
        cols = start + offs_n
        tile, mask = cols[:, None] * D + offs_d, cols[:, None] < length
        k = tl.load(k_ptr + tile, mask=mask, other=0.0)
        v = tl.load(v_ptr + tile, mask=mask, other=0.0)
        seen = cols[None, :] < length
        m_i, l_i, acc = attend(q, k, v, seen, m_i, l_i, acc, scale, True, CAP)
    tl.store(o_ptr + q_tile, acc / l_i[:, None], mask=mask_g[:, None])
    ### END SOLUTION


def window_decode(q, k_cache, v_cache, lengths, sinks, window, cap=None):
    """Attention of one query a head, q (B, H, D), to the last keys of each cache; a new tensor."""
    (B, H, D), (HK, T) = q.shape, k_cache.shape[1:3]
    require_heads(q, k_cache, v_cache, sinks, window, cap)
    if lengths.shape != (B,) or H // HK > 16:
        raise ValueError(f"lengths {tuple(lengths.shape)}; {H} heads share {HK}")
    o, roomy = torch.empty_like(q), window_tile(q)[0] == 128
    most = (2**14 if shared_memory_limit() > 2**17 else 2**13) // max(D, 64)  # two of k and of v
    BLOCK_N = min(max(64, triton.next_power_of_2(window) // 4), most) if roomy else 32
    window_decode_kernel[(B * HK,)](
        q, k_cache, v_cache, lengths, sinks, o, HK, T, window, D**-0.5,
        CAP=cap or 0.0, GROUP=H // HK, D=D,
        BLOCK_G=16, BLOCK_N=BLOCK_N, num_warps=4, num_stages=3 if roomy else 1,
    )  # fmt: skip
    return o

# %% [markdown] tags=["hint"] key="window_decode"
# #### Hints for window_decode
#
# <details><summary>Hint 1: a question</summary>
#
# A cache holds 100 tokens, the window is 16. Which keys does the walk visit, and at which one may its first
# tile begin? And with 10 tokens?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# 84 to 99: from `length - window` on, or from 0 where that is more. Begin the walk right there, and the left
# edge needs no mask. The right one does, in both loads and in `seen`, which may be [1, BLOCK_N]. The start and
# the store are Task 2's, but `sinks` is a tile already. The last line of the walk is its call of `attend`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# m_i = ...  # [BLOCK_G]
# l_i, acc = ...
# for start in range(..., length, BLOCK_N):
#     cols = ...
#     # k and v, [BLOCK_N, D]: keys of this tile, masked from length on
#     m_i, l_i, acc = attend(..., True, CAP)
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="window_decode" points=5
check(window_decode)

# %% [markdown]
# ## Predict, then measure
#
# A text of 16,384 tokens. *SDPA with a mask* is PyTorch's attention with a matrix of booleans; *flex
# attention* is compiled for a mask, and told which tiles are empty. The cell shows nothing yet.

# %%
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa
from tritonbook.timing import bench_sweep

B, H, HK, L, D = (1, 32, 8, 16384, 128) if DEVICE == "cuda" else (1, 4, 1, 128, 16)
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
q = torch.randn(B, H, L, D, device=DEVICE, dtype=dtype)
k, v = torch.randn(2, B, HK, L, D, device=DEVICE, dtype=dtype).unbind(0)
no_sinks = torch.full((H,), float("-inf"), device=DEVICE)


def ways_of(window):
    def sees(b, h, i, j):
        return (i >= j) & (i - j < window)

    at = torch.arange(L, device=DEVICE)
    mask = sees(0, 0, at[:, None], at)
    ways = {
        "flash_window": lambda: flash_window(q, k, v, no_sinks, window),
        "a cap of 50": lambda: flash_window(q, k, v, no_sinks, window, 50.0),
        "SDPA with a mask": lambda: sdpa(q, k, v, attn_mask=mask, enable_gqa=True),
    }
    if DEVICE == "cuda":
        tiles = create_block_mask(sees, None, None, L, L, device=DEVICE)
        flex = torch.compile(flex_attention, dynamic=False)
        ways["flex attention"] = lambda: flex(q, k, v, block_mask=tiles, enable_gqa=True)
    return {"fns": ways, "flops": 4 * B * H * D * mask.sum().item()}


windows = bench_sweep(
    "window",
    [512, 1024, 4096, 16384] if DEVICE == "cuda" else [16, 128],
    ways_of,
    title="16,384 tokens, 32 heads to 8 of 128, float16",
    stored="window_lengths",
)
begin, inner, full, end = window_bounds(8192, 8319, 16384, 16384, 1024, 64)
one = torch.randn(1, 8, 32, device=DEVICE), *torch.randn(2, 1, 2, 100, 32, device=DEVICE)
one += torch.tensor([100], device=DEVICE, dtype=torch.int32), torch.zeros(8, device=DEVICE)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "tiles of 64 keys that the queries 8,192 to 8,319 visit, window 1,024": None,
        "of these, full ones": None,
        "bytes read from k_cache: 100 tokens, 2 key heads of 32 float32, window 16": None,
    },
    measured=[
        lambda: (end - begin) / 64,
        lambda: (full - inner) / 64,
        lambda: traffic(window_decode, *one, 16)["k_cache"],
    ],
    hints=[
        "From the oldest key of query 8,192 to the own key of query 8,319, in tiles.",
        "From the oldest key of the last query, rounded up, to the first query's own.",
        "16 keys of 2 heads, each once. Query heads share them.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Tiles.** Query 8,192 sees the keys from 7,169 on: the walk begins at 7,168. It ends at 8,320, 1,152 keys
# further: 18 tiles. Without a window it would be 130.
#
# **Full ones.** Query 8,319 sees the keys from 7,296 on, a multiple of 64. Query 8,192 sees 8,193 keys, 128
# full tiles: they end at 8,192. 8,192 − 7,296 = 896 keys, 14 tiles.
#
# **Bytes.** 16 × 2 × 32 × 4 = 4,096.
#
# </details>

# %%
windows

# %% [markdown]
# **Read it downwards.** From 512 to 4,096 there are seven times as many scores. At 16,384 the window is the
# whole text. *SDPA with a mask* computes every score, whatever the window. **Read it across.** The cap adds an
# exponential and a division to each score.
#
# ## Recap
#
# - A window gives the walk a left edge: masked tiles, full ones, masked ones. A mask alone saves nothing.
# - A sink is a key without a value, seen first: m is its logit, l is 1. Rows that see nothing are 0 then.
# - tanh u is 1 − 2 / (exp(2u) + 1), right where the power is infinite. Cap first, then mask.
#
# <details><summary>Common mistakes</summary>
#
# - Full tiles from the first query's oldest key on: the last query then sees too much.
# - A window of `age <= window`: one key too many.
# - A row that sees nothing in its first tile, with m at minus infinity: NaN for good.
# - A sink in base e where m is in base 2.
# - The cap after the mask, or of scores that are not scaled.
#
# </details>
#
# Sources: Beltagy and others, *Longformer* (2020); Xiao and others, *StreamingLLM* (2023); OpenAI, *gpt-oss*
# (2025); Gemma Team, *Gemma 2* (2024).
#
# Next: [50_split_kv_decode](50_split_kv_decode.ipynb). It cuts a long cache into pieces, where a sink is one more
# piece, with o = 0 and its logit for lse.

# %%
progress()
