# ---
# workbook:
#   title: One token, a long cache
#   minutes: 50
#   needs: interpreter
#   requires: [42_flash_gqa, 45_llama_decode_train]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - give one query enough programs, by cutting its keys into pieces
#     - merge the results of the pieces by their lse, exactly
#     - read keys and values from a cache in pages, through a block table
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A model that writes has **one** query for each sequence and head, and a cache with the keys and
# values of all tokens so far. Page 42's kernel starts one program for each tile of queries and each
# key head. Here that is a single tile. Llama 3 has 8 key heads: for one sequence 8 programs, on an H100
# with 132 multiprocessors. And each of the 8 walks through all tokens.
#
# The work is all reading: each key is used for one product per query head, and thrown away. So what
# counts is how many multiprocessors ask for bytes at the same time. The way out: **cut the keys
# into pieces**, one program for each piece and head. Tiles of keys are dealt to the pieces like cards:
# one to each in turn. Each program
# finds the attention over its own piece. A second kernel merges the results.

# %%
draw = pictures("split_kv_decode")
draw.draw_pieces(heads=2, pieces=4)

# %% [markdown]
# ## How results are merged
#
# Piece s gives $o_s$, its softmax times its values, and $\mathrm{lse}_s = \log \sum_k e^{x_k}$ over
# the scores $x_k$ of its keys. $e^{\mathrm{lse}_s}$ is the piece's denominator. So the whole
# sum is $\sum_s e^{\mathrm{lse}_s}$, and each piece has to count by its share of it:
#
# $$o = \sum_s \frac{e^{\mathrm{lse}_s}}{\sum_r e^{\mathrm{lse}_r}}\; o_s$$
#
# That is a softmax, of the lse. The merge is exact. Like any softmax it needs the maximum subtracted.
#
# **Predict.** Two pieces hold 3 keys and 1 key, and all scores are 0. Which weights do the pieces get?
#
# <details><summary>Answer</summary>
#
# lse is log 3 and log 1 = 0. The weights are 3/4 and 1/4: each key counts the same. A mean of the two
# results would count the single key half.
#
# </details>
#
# ## Task 1. Merge
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `parts` | (R, S, D), contiguous | float32 | results of S pieces for R rows |
# | `lses` | (R, S), contiguous | float32 | their lse; minus infinity: an empty piece |
# | `dtype` | | floating | of the result |
# | result | (R, D) | `dtype` | the merged rows |
#
# One launch. At least one piece of a row is not empty. An empty piece holds zeros in `parts`. One program
# merges one row, with all pieces in one tile. About 7 lines.

# %% tags=["answer"] key="merge_states"
@triton.jit
def merge_kernel(
    parts_ptr, lses_ptr, out_ptr, S,
    D: tl.constexpr, BLOCK_S: tl.constexpr,
):
    """out[r] = sum over s of softmax(lses[r])[s] parts[r, s].

    One program = one row.
    Assumes S <= BLOCK_S, D a power of two.
    """
    pid_r = tl.program_id(axis=0).to(tl.int64)
    offs_s, offs_d = tl.arange(0, BLOCK_S), tl.arange(0, D)
    rows = pid_r * S + offs_s  # of parts and of lses

    # TODO: lses, their shares, the parts, the weighted sum, store (about 7 lines)
    ### BEGIN SOLUTION
    lses = tl.load(lses_ptr + rows, mask=offs_s < S, other=float("-inf"))
    e = tl.exp(lses - tl.max(lses, axis=0))
    weights = e / tl.sum(e, axis=0)
    parts_ptrs = parts_ptr + rows[:, None] * D + offs_d[None, :]
    parts = tl.load(parts_ptrs, mask=offs_s[:, None] < S, other=0.0)
    out = tl.sum(weights[:, None] * parts, axis=0)
    tl.store(out_ptr + pid_r * D + offs_d, out)
    ### END SOLUTION


def merge_states(parts, lses, dtype):
    """Merge the results [R, S, D] of S pieces by their lse [R, S]; returns [R, D]."""
    R, S, D = parts.shape
    if lses.shape != (R, S) or not parts.is_contiguous() or not lses.is_contiguous():
        raise ValueError("parts (R, S, D) and lses (R, S) must be contiguous")
    out = torch.empty((R, D), dtype=dtype, device=parts.device)
    merge_kernel[(R,)](parts, lses, out, S, D=D, BLOCK_S=triton.next_power_of_2(S))
    return out

# %% [markdown] tags=["hint"] key="merge_states"
# #### Hints for merge_states
#
# <details><summary>Hint 1: a question</summary>
#
# Which page had the softmax of a row that fits one tile? Which `other=` did it need?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The weights are a tile of S numbers, the parts a table [S, D]. `weights[:, None]` stands upright.
# Summed along the pieces, a table leaves D numbers.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# lses = tl.load(..., other=...)
# weights = ...  # a softmax, in two lines
# parts = tl.load(...)  # at rows * D + columns
# out = tl.sum(..., axis=...)
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="merge_states" points=4
check(merge_states)

# %% [markdown]
# ## A cache in pages
#
# How long will a sequence become? Nobody knows. A server that reserves memory for the longest one
# wastes most of it. So it cuts memory into **pages** of, say, 16 tokens, and gives a sequence one page
# after the other, from wherever one is free. A **block table** remembers which: `table[b, i]` is the
# page that holds tokens 16 i to 16 i + 15 of sequence b.

# %%
draw.draw_table(lengths=[6, 3], page=2)

# %% [markdown]
# The worked kernel writes a new token's keys into the cache. Position p lies in page
# `table[b, p // PAGE]`, slot `p % PAGE`.


# %%
@triton.jit
def write_token_kernel(
    x_ptr, cache_ptr, table_ptr, positions_ptr, stride_tb,
    PAGE: tl.constexpr, HK: tl.constexpr, D: tl.constexpr,
):
    """cache[table[b, p // PAGE], p % PAGE] = x[b], with p = positions[b].

    One program = one key head of one sequence.
    """
    b, head = tl.program_id(0), tl.program_id(1)
    position = tl.load(positions_ptr + b)
    page = tl.load(table_ptr + b * stride_tb + position // PAGE).to(tl.int64)
    slot = page * PAGE + position % PAGE  # of the whole cache
    offs_d = head * D + tl.arange(0, D)
    tl.store(cache_ptr + slot * HK * D + offs_d, tl.load(x_ptr + b * HK * D + offs_d))


def write_token(x, cache, table, positions):
    """Write x (B, HK, D) into cache (pages, PAGE, HK, D) at `positions` (B,)."""
    B, HK, D = x.shape
    write_token_kernel[(B, HK)](
        x, cache, table, positions, table.stride(0), PAGE=cache.shape[1], HK=HK, D=D
    )


cache = torch.zeros(4, 2, 1, 16, device=DEVICE)  # 4 pages of 2 tokens, 1 head, D = 16
table = torch.tensor([[3, 0], [2, 1]], device=DEVICE, dtype=torch.int32)
new = torch.ones(2, 1, 16, device=DEVICE)
write_token(new, cache, table, torch.tensor([2, 1], device=DEVICE, dtype=torch.int32))
cache[:, :, 0, 0]  # rows are pages, columns are slots

# %% [markdown]
# Token 2 of sequence 0 went to page 0, slot 0; token 1 of sequence 1 to page 2, slot 1.
#
# ## The contract of paged_decode
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, D), contiguous | float32, float16, bfloat16 | one query a head |
# | `k_cache`, `v_cache` | (pages, PAGE, HK, D), contiguous | as `q` | the caches |
# | `table` | (B, pages a sequence), contiguous | int32 | the block table |
# | `lengths` | (B,), contiguous | int32 | tokens of each sequence, the new one included; at least 1 |
# | `pieces` | | int or None | how many; None: `pieces_for` chooses |
# | result | (B, H, D) | as `q` | attention over the first `lengths[b]` tokens |
#
# Two launches, of pieces and of their merge; float32 is not cut to TF32. H is a multiple of HK; query head h uses key head `h // (H // HK)`, as on page 42, and at most 16 query
# heads share one. B × HK may pass 65,535. D is 16, 32, 64 or 128. Entries of `table` beyond a sequence's pages may hold
# anything. So may a cache beyond a sequence's tokens.

# %% tags=["reference"]
from torch.nn.functional import scaled_dot_product_attention

from tritonbook import multiprocessors, shared_memory_limit


def paged_decode_ref(q, k_cache, v_cache, table, lengths):
    outs = []
    for b, length in enumerate(lengths.tolist()):
        at = torch.arange(length, device=q.device)
        page, slot = table[b, at // k_cache.shape[1]].long(), at % k_cache.shape[1]
        k, v = (cache[page, slot].transpose(0, 1) for cache in (k_cache, v_cache))
        outs.append(scaled_dot_product_attention(q[b].view(len(k), -1, q.shape[2]), k, v))
    return torch.stack(outs).view(q.shape)


def require_cache(q, k_cache, v_cache, table, lengths):
    fits = k_cache.shape == v_cache.shape and k_cache.shape[3] == q.shape[2]
    fits = fits and q.shape[1] % k_cache.shape[2] == 0 and len(table) == len(lengths) == len(q)
    if not fits or not all(x.is_contiguous() for x in (q, k_cache, v_cache, table, lengths)):
        raise ValueError("(B, H, D), (pages, PAGE, HK, D) twice, (B, pages) and (B,) are needed")


def pieces_for(programs, tokens):
    return max(1, min(2 * multiprocessors() // programs, triton.cdiv(tokens, 128)))

# %% [markdown]
# `pieces_for` takes as many as give each multiprocessor two programs, as on page 11, but at most
# one for each 128 tokens that the table has room for.

# %%
pieces_for(programs=64, tokens=32768)

# %% [markdown]
# ## Task 2. One piece of one head
#
# One program takes **all** query heads that share a key head, as a tile of 16 rows (`tl.dot` wants at
# least 16). Tiles of BLOCK_N keys go to the pieces in turn: of 4 pieces, piece 1 takes the tiles 1, 5, 9
# and so on. Each key is read once. All programs read side by side. Two gaps.
#
# 1. **Where the keys are**, about 5 lines. `offs_n` are positions in the sequence. Load the number of
#    the page of each (a tile of numbers); `table_ptrs` points at the sequence's row of the table. Find
#    the offsets of each position's D numbers. Then load `k` and `v`, both `[BLOCK_N, D]`;
#    `offs_d` is a row, [1, D].
# 2. **The online softmax**, about 8 lines: the updates of m, alpha, l and acc of page 41, but with
#    natural exponentials. s, m, l and acc are float32; p goes into its product in the dtype of v.
#    Positions from `length` on must not count.
#
# Two things that a GPU punishes and a small test may not: entries of `table` past the sequence's end
# must not be used as pages, and a page's number times the size of a page can pass 2³¹.

# %% tags=["answer"] key="paged_decode"
@triton.jit
def decode_kernel(
    q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, parts_ptr, lses_ptr,
    stride_tb, qk_scale,
    HK: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
    BLOCK_G: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """Attention of GROUP queries over one piece of the keys, and its lse.

    One program = one key head of one sequence; of its tiles of keys, each `pieces`-th.
    """
    b, head = tl.program_id(0) // HK, tl.program_id(0) % HK
    piece, pieces = tl.program_id(1), tl.num_programs(1)
    length = tl.load(lengths_ptr + b)

    offs_g, offs_d = tl.arange(0, BLOCK_G), tl.arange(0, D)[None, :]
    heads = (b * HK + head) * GROUP + offs_g  # of q, in all sequences
    mask_g = offs_g < GROUP
    q = tl.load(q_ptr + heads[:, None] * D + offs_d, mask=mask_g[:, None], other=0.0)
    table_ptrs = table_ptr + b * stride_tb

    m_i = tl.full((BLOCK_G,), -1e38, tl.float32)
    l_i, acc = tl.zeros((BLOCK_G,), tl.float32), tl.zeros((BLOCK_G, D), tl.float32)
    for start in range(piece * BLOCK_N, length, pieces * BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < length
        # TODO 1: the pages, the offsets, and the tiles k and v (about 5 lines)
        ### BEGIN SOLUTION
        pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=0)
        slots = pages.to(tl.int64) * PAGE + offs_n % PAGE
        tile = ((slots * HK + head) * D)[:, None] + offs_d
        k = tl.load(k_ptr + tile, mask=mask_n[:, None], other=0.0)
        v = tl.load(v_ptr + tile, mask=mask_n[:, None], other=0.0)
        ### END SOLUTION
        # TODO 2: scores, and the updates of m_i, l_i and acc (about 8 lines)
        ### BEGIN SOLUTION
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale
        s = tl.where(mask_n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m_i = m_new
        ### END SOLUTION

    state = heads * pieces + piece
    out = acc / tl.where(l_i > 0, l_i, 1.0)[:, None]  # an empty piece: zeros, lse -inf
    tl.store(parts_ptr + state[:, None] * D + offs_d, out, mask=mask_g[:, None])
    tl.store(lses_ptr + state, m_i + tl.log(l_i), mask=mask_g)


def paged_decode(q, k_cache, v_cache, table, lengths, pieces=None):
    """Attention of one query a head, q [B, H, D], over a cache in pages; returns [B, H, D]."""
    require_cache(q, k_cache, v_cache, table, lengths)
    B, H, D = q.shape
    PAGE, HK = k_cache.shape[1:3]
    pieces = pieces or pieces_for(B * HK, table.shape[1] * PAGE)
    roomy = q.element_size() == 2 and shared_memory_limit() > 80_000  # not so on a T4
    parts = torch.empty((B * H, pieces, D), dtype=torch.float32, device=q.device)
    lses = torch.empty((B * H, pieces), dtype=torch.float32, device=q.device)
    decode_kernel[(B * HK, pieces)](
        q, k_cache, v_cache, table, lengths, parts, lses, table.stride(0), D**-0.5,
        HK=HK, GROUP=H // HK, D=D, PAGE=PAGE,
        BLOCK_G=16, BLOCK_N=128 if roomy else 32, num_warps=4, num_stages=2,
    )
    return merge_states(parts, lses, q.dtype).view(B, H, D)

# %% [markdown] tags=["hint"] key="paged_decode"
# #### Hints for paged_decode
#
# <details><summary>Hint 1: a question</summary>
#
# The worked kernel found the slot of **one** position. What changes when `position` is a tile of
# positions?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.load` takes a tile of addresses in any order, so `table_ptrs + offs_n // PAGE` may ask for the
# same number many times. The four updates are those of page 41; the last `tl.dot` adds to
# `acc * alpha[:, None]`. P goes into it in the dtype of v.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# pages = tl.load(..., mask=mask_n, other=...)
# slots = ...  # 64 bits, as in the worked kernel
# tile = ...  # which head, and how many numbers lie between two slots?
# k = tl.load(...)
# v = tl.load(...)
# ```
#
# ```python
# s = tl.dot(..., input_precision=...) * qk_scale  # [16, BLOCK_N], as on page 41
# s = tl.where(...)
# m_new, p, alpha = ...  # one line each
# # l_i, acc, m_i
# ```
#
# </details>

# %% tags=["check"] key="paged_decode" points=7
check(paged_decode)

# %% [markdown]
# ## Predict, then measure
#
# A small call, in four pieces: 8 query heads share 2 key heads, D = 32 in float32, and 100 tokens lie in
# pages of 16.

# %%
k_cache, v_cache = torch.randn(2, 12, 16, 2, 32, device=DEVICE).unbind(0)
table = torch.randperm(12, device=DEVICE)[:7].view(1, 7).to(torch.int32)
lengths = torch.tensor([100], device=DEVICE, dtype=torch.int32)
small = torch.randn(1, 8, 32, device=DEVICE), k_cache, v_cache, table, lengths, 4

# %% [markdown]
# And a large one. The cell takes one layer of Llama 3 8B: 32 query heads, 8 key heads, D = 128, float16, a cache of
# 32,768 tokens for each sequence. It shows nothing yet. *SDPA* is PyTorch's attention, and it gets the
# cache in one contiguous block. *Reading alone* is a sum over the cache. Without a GPU the cell fetches a
# GPU's times.

# %%
from tritonbook.timing import bench_sweep


def cache_of(B, tokens, H=32, HK=8, D=128, PAGE=16):
    """q, both caches with pages in random order, table and lengths."""
    dtype = torch.float16 if DEVICE == "cuda" else torch.float32
    pages = triton.cdiv(tokens, PAGE)
    caches = torch.randn(2, B * pages, PAGE, HK, D, device=DEVICE, dtype=dtype)
    table = torch.randperm(B * pages, device=DEVICE).view(B, pages).to(torch.int32)
    lengths = torch.full((B,), tokens, device=DEVICE, dtype=torch.int32)
    return torch.randn(B, H, D, device=DEVICE, dtype=dtype), *caches, table, lengths


def sdpa(q, k, v):
    return scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def by_batch(B):
    tokens = 32768 if DEVICE == "cuda" else 64
    given = cache_of(B, tokens)
    q, k, v = given[0], *(
        cache.view(B, tokens, *cache.shape[2:]).transpose(1, 2).contiguous() for cache in given[1:3]
    )
    cache = torch.stack(given[1:3]).view(torch.float32)  # fewer additions than in halves
    ways = {
        "one piece": lambda: paged_decode(*given, pieces=1),
        "paged_decode": lambda: paged_decode(*given),
        "SDPA": lambda: sdpa(q, k, v),
        "reading alone": lambda: cache.sum(),
    }
    return {"fns": ways, "bytes": k.nbytes + v.nbytes}


batches = bench_sweep(
    "sequences",
    [1, 4, 16, 32] if DEVICE == "cuda" else [1],
    by_batch,
    title="One token, 32,768 in the cache, 32 heads sharing 8",
    stored="decode_batches",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes read from k_cache in the small call": None,
        "ms of paged_decode for four sequences of 32,768 tokens, 8 key heads of 128, float16": None,
    },
    measured=[
        lambda: traffic(reference("paged_decode"), *small)["k_cache"].read,
        lambda: time_of(batches.results[1], "paged_decode"),
    ],
    hints=[
        "100 tokens, 2 heads, 32 numbers of 4 bytes. How often is each read?",
        "Bytes of keys and values, at an H200's 4,150 GB/s.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 100 × 2 × 32 × 4 = 25,600: each byte once, as the next table says. The four query heads of
# a group share the load.
#
# **Milliseconds.** 2 × 32,768 × 8 × 128 × 2 bytes = 134 MB, for **one** layer and one token of one
# sequence. Four are 537 MB: at 4,150 GB/s 0.129 ms, a floor. `pieces_for` takes enough pieces to come near
# it.
#
# </details>

# %%
traffic(paged_decode, *small)

# %%
batches

# %% [markdown]
# **Read it.** *One piece* for one sequence keeps 8 multiprocessors busy. Cut into 33, all 132 share the
# reading. *GPU alone*, without Python, that is 14 times as fast: 0.041 ms, where reading takes 0.039. With
# 32 sequences a piece is 256 programs: one is enough. 32 × 134 MB in 0.994 ms are 4,320 GB/s, as fast as
# reading alone.
#
# *SDPA* is about as fast as reading. It has no table to look into, and its keys lie side by side, where your
# pages lie anywhere: you are up to 5 % behind.
#
# ## Was it the right number?

# %%
def by_pieces(pieces):
    given = cache_of(1, 32768 if DEVICE == "cuda" else 512)
    return {"fns": {"paged_decode": lambda: paged_decode(*given, pieces=pieces)}}


bench_sweep(
    "pieces",
    [1, 4, 16, 33, 66, 256] if DEVICE == "cuda" else [1, 2],
    by_pieces,
    title="One sequence, 32,768 tokens",
    stored="decode_pieces",
)

# %% [markdown]
# **Read it downwards.** Four pieces take 28 % of the time of one. At 33 each multiprocessor has two
# programs, and nothing is left to gain: 256 pieces are 6 % slower, and need eight times the memory for
# their states, D + 1 float32 numbers each.
#
# ## Recap
#
# - One query leaves a GPU idle. Cut the keys, and each piece is a program.
# - o and lse of a piece are all that is needed to merge it, exactly: a softmax over the lse.
# - A block table is one more load: page from the table, slot from the remainder.
# - Queries that share a key head share a tile, so each key is read once.
#
# <details><summary>Common mistakes</summary>
#
# - A mean over the pieces, or weights without the maximum subtracted.
# - Keys past the length: the last page is seldom full, and what lies there is from another sequence.
# - `offs_n % PAGE` without the page, or the table indexed by the token instead of by its page.
# - A number of pieces that depends on the lengths: the CPU would have to wait for the GPU to read them.
#
# </details>
#
# vLLM's and SGLang's Triton decode kernels have these two stages, and FlashAttention calls it split-KV.
# FlashInfer plans pieces of equal size for sequences of different lengths.
#
# Next: [51_int_matmul](51_int_matmul.ipynb).

# %%
progress()
