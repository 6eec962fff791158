# ---
# workbook:
#   title: Texts of any length
#   minutes: 60
#   needs: interpreter
#   requires: [40_rope, 42_flash_gqa]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - lay texts of any length on one axis, without padding
#     - find the text of a token or of a tile by a binary search, and count its loads
#     - write causal attention in which no tile crosses from one text into the next
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# The texts of a batch have different lengths; a tensor (B, L, D) has one. *Padding* makes all as long
# as the longest. A **ragged batch** lays them on one axis of T tokens instead:

# %%
draw = pictures("ragged_batches")
draw.draw_batch([5, 2, 0, 7])

# %% [markdown]
# A *sequence* is one text. `cu_seqlens` (*cumulative sequence lengths*) holds the prefix sums of the
# lengths, from 0 to T: B + 1 numbers. Sequence s has the tokens `cu_seqlens[s]` to
# `cu_seqlens[s + 1] - 1`. Sequence 2 is empty, so 7 stands there twice.
#
# What does each operation of a layer need of it?
#
# - **RMSNorm** works on each token by itself. It needs *nothing*: your kernels of part 1 take T rows.
# - **RoPE** needs each token's *position*: its number less that of its sequence's first token.
# - **Attention** needs positions and *bounds*: a token sees earlier tokens of its own sequence, no others.
#
# ## A smaller kernel first
#
# To which sequence does token t belong? Count the sequences that end at or before t: the count is its
# number.


# %%
@triton.jit
def count_kernel(cu_ptr, sequence_ptr, B, BLOCK_B: tl.constexpr):
    """sequence[t] = how many sequences end at or before token t.

    One program = one token.
    Assumes BLOCK_B >= B.
    """
    t = tl.program_id(0)

    offs_b = tl.arange(0, BLOCK_B)
    mask_b = offs_b < B
    ends = tl.load(cu_ptr + 1 + offs_b, mask=mask_b, other=0)

    tl.store(sequence_ptr + t, tl.sum(((ends <= t) & mask_b).to(tl.int32), axis=0))


def count_ends(cu_seqlens, T):
    B, sequence = len(cu_seqlens) - 1, cu_seqlens.new_empty(T)
    count_kernel[(T,)](cu_seqlens, sequence, B, BLOCK_B=triton.next_power_of_2(B))
    return sequence


cu_seqlens = torch.tensor([0, 5, 7, 7, 14], dtype=torch.int32, device=DEVICE)
print(count_ends(cu_seqlens, 14).tolist())
print(traffic(count_ends, cu_seqlens, 14)["cu_seqlens"].read // 4, "numbers read for 14 tokens")

# %% [markdown]
# That is right, and takes B loads for each token: 10,000, where there are so many sequences.
#
# **A binary search** takes 14. It keeps two numbers `lo` and `hi` with
#
# $$cu[lo] \le t < cu[hi]$$
#
# At first lo = 0 and hi = B. Look at the middle, `mid`. If `cu[mid] <= t`, it becomes the new lo, else
# the new hi: the line above still holds. Once hi = lo + 1, it says that t lies in sequence lo. Each step
# halves what lies between, so ⌈log₂ B⌉ steps are enough, with one load each.
#
# **Predict.** In the picture, cu[2] and cu[3] are both 7. Where does the search for token 7 end?
#
# <details><summary>Answer</summary>
#
# lo = 0, hi = 4. mid = 2: 7 ≤ 7, so lo = 2. mid = 3: 7 ≤ 7, so lo = 3. hi is 4: sequence 3. Of
# several sequences that begin at 7 it finds the last, the one that is not empty. With `<` for `<=` it
# would find sequence 1.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `cu_seqlens` | (B + 1,), contiguous | int32 | prefix sums of B ≥ 1 lengths, 0 included; the last is T |
# | `sequence` | (T,), new | int32 | the sequence of each token |
# | `position` | (T,), new | int32 | the token's number less its sequence's first |
#
# - One launch. A program takes a tile of `block` tokens, and each lane searches for its own. It loads at
#   most ⌈log₂ B⌉ + 3 numbers.
# - Any of the sequences may be empty.
#
# ## Task 1. Whose token am I?
#
# 1. **The search**, about 4 lines. `n` is a number, or a tile of them, and so are `lo` and `hi`. Lanes
#    decide differently, so no `if`: `tl.where(condition, x, y)`. `steps` is ⌈log₂ B⌉; a lane that is done
#    early has mid = lo, and stays. No load needs a mask: mid lies between 0 and B − 1, whatever n is.
# 2. **The kernel**, about 4 lines. `cu_ptr + sequence` is a tile of addresses.

# %% tags=["reference"]
def locate_tokens_ref(cu_seqlens, T):
    sequence = torch.repeat_interleave(cu_seqlens.diff())
    position = torch.arange(T, device=cu_seqlens.device) - cu_seqlens[sequence]
    return sequence.to(torch.int32), position.to(torch.int32)

# %% tags=["answer"] key="locate_tokens"
@triton.jit
def find(n, cu_ptr, B, steps):
    """The s with cu[s] <= n < cu[s + 1], where cu holds B + 1 prefix sums, from 0 on.

    n: a number, or a tile of them. Whatever is not below cu[B] gets B - 1.
    """
    lo = n * 0
    hi = lo + B
    for _ in range(steps):
        # TODO 1: the middle, its number, the new lo and hi (4 lines)
        ### BEGIN SOLUTION
        mid = (lo + hi) // 2
        begun = tl.load(cu_ptr + mid) <= n
        lo = tl.where(begun, mid, lo)
        hi = tl.where(begun, hi, mid)
        ### END SOLUTION
    return lo


@triton.jit
def locate_kernel(
    cu_ptr, sequence_ptr, position_ptr, B, T, steps, BLOCK_T: tl.constexpr
):
    """sequence[t], position[t] = where token t stands.

    One program = BLOCK_T tokens.
    Assumes 2**steps >= B.
    """
    offs_t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    mask_t = offs_t < T
    # TODO 2: sequence and position of each token; store both (about 4 lines)
    ### BEGIN SOLUTION
    sequence = find(offs_t, cu_ptr, B, steps)
    position = offs_t - tl.load(cu_ptr + sequence)
    tl.store(sequence_ptr + offs_t, sequence, mask=mask_t)
    tl.store(position_ptr + offs_t, position, mask=mask_t)
    ### END SOLUTION


def locate_tokens(cu_seqlens, T, block=1024):
    """(sequence, position) of T tokens; cu_seqlens int32, contiguous, else ValueError."""
    B, steps = len(cu_seqlens) - 1, (len(cu_seqlens) - 2).bit_length()
    if B < 1 or cu_seqlens.dtype != torch.int32 or not cu_seqlens.is_contiguous():
        raise ValueError("cu_seqlens must be contiguous int32, with two numbers or more")
    sequence, position = cu_seqlens.new_empty(T), cu_seqlens.new_empty(T)
    grid = (triton.cdiv(T, block),)
    locate_kernel[grid](cu_seqlens, sequence, position, B, T, steps, BLOCK_T=block)
    return sequence, position

# %% [markdown] tags=["hint"] key="locate_tokens"
# #### Hints for locate_tokens
#
# <details><summary>Hint 1: a question</summary>
#
# Follow the tokens 4, 6 and 13 of the picture by hand, two steps each. Which of lo and hi changes, and
# what happens to the other one?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The text above the contract has all of the search: one load, one comparison. Both lo and hi need a
# `tl.where` with the same condition. A position is counted from the first token of the sequence, and
# that is `cu[sequence]`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mid = ...
# begun = ... <= n  # has sequence mid begun at n?
# lo = tl.where(begun, ..., ...)
# hi = tl.where(begun, ..., ...)
# ```
#
# ```python
# sequence = find(...)  # of a tile of tokens
# position = ...
# # two stores
# ```
#
# </details>

# %% tags=["check"] key="locate_tokens" points=4
check(locate_tokens)

# %% [markdown]
# **So RoPE is done.** That of page 40 takes tables with a row for each token: `cos[position]`. Compare
# the last sequence with itself alone:

# %%
sequence, position = locate_tokens(cu_seqlens, 14)
print("position:", position.tolist())

rope = mine("rope", quiet=True)
q = torch.randn(1, 4, 14, 16, device=DEVICE)  # one batch, 4 heads, all tokens
cos, sin = torch.randn(2, 7, 8, device=DEVICE).unbind(0)  # a row for each position
turned, _ = rope(q, q, cos[position], sin[position])
alone, _ = rope(q[:, :, 7:], q[:, :, 7:], cos, sin)
print("largest difference:", (turned[:, :, 7:] - alone).abs().max().item())

# %% [markdown]
# ## Tiles of sequences
#
# A tile with queries of two sequences would read the keys of both, and compute scores that nobody
# wants. So **no tile crosses a sequence**: each is cut into tiles of its own. Here are all scores:

# %%
draw.draw_scores([5, 2, 0, 7], BLOCK_M=3)

# %% [markdown]
# Tiles have prefix sums too, `cu_tiles`: here 0, 2, 3, 3, 6. So `find` also says **whose tile** p is. If
# that is sequence s, p is its tile number `p - cu_tiles[s]`, and the first query of the tile has the
# position `(p - cu_tiles[s]) * BLOCK_M`. `tiles_of` makes `cu_tiles` once for a batch, for all layers.
#
# **The grid.** How many tiles there are stands on the GPU, and if the CPU asks, it has to wait. So it takes
# a bound, as on page 52. T tokens fill at most `T // BLOCK_M` tiles, and each sequence has at most one that
# is not full. Empty sequences have none, so those are at most `min(B, T)`. A program without a tile
# returns.
#
# ## The second contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (T, H, D), contiguous | float32, float16, bfloat16 | queries; D is 16, 32, 64 or 128 |
# | `k`, `v` | (T, HK, D), contiguous | as `q` | H is a multiple of HK |
# | `cu_seqlens` | (B + 1,) | int32 | as above |
# | `cu_tiles` | (B + 1,) | int32 | prefix sums of the tiles of BLOCK_M tokens |
# | `o` | (T, H, D), new | as `q` | causal attention in each sequence; scale 1/√D |
#
# - Query head h reads the key head `h // (H // HK)`, as on page 42.
# - One launch. A program takes one tile of one head, and at most `T // BLOCK_M + min(B, T)` start for
#   each head. Float32 is not cut to TF32.
# - A program reads no key of another sequence, and none after its last query.
# - Offsets into q, k and v can pass 2³¹: 64-bit numbers. Neither heads nor tiles pass 65,535.

# %% tags=["reference"]
def flash_ragged_ref(q, k, v, cu_seqlens, cu_tiles, BLOCK_M):
    sequence, _ = locate_tokens_ref(cu_seqlens, len(q))
    seen = (sequence[:, None] == sequence).tril()  # one sequence, and no later key
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    s = torch.einsum("ihd,jhd->hij", q, k) * q.shape[2] ** -0.5
    return torch.einsum("hij,jhd->ihd", s.masked_fill(~seen, float("-inf")).softmax(2), v)


def tiles_of(cu_seqlens, BLOCK_M):
    tiles = (cu_seqlens.diff() + BLOCK_M - 1) // BLOCK_M
    return torch.nn.functional.pad(tiles.cumsum(0), (1, 0)).to(torch.int32)

# %% [markdown]
# ## Task 2. A blank page
#
# `attend` is the loop of page 42. It knows of no batch: it gets the address of a first key, and
#
# - `full`: keys that *all* queries of the tile see, a multiple of BLOCK_N. That is the position of its first
#   query: a multiple of BLOCK_M, which BLOCK_N divides.
# - `end`: keys that its last query sees. The tile may reach beyond its sequence; keys do not.
# - `limit[m]`: keys that query m sees, itself included.
#
# What is left is the batch: which tile, which sequence, which addresses. Write the kernel (about 25
# lines) and the rest of the wrapper (about 6).

# %% tags=["answer"] key="flash_ragged"
from tritonbook import target_arch

LOG2_E = 1.4426950408889634  # log2(e)


@triton.jit
def attend(
    q, k_ptr, v_ptr, full, end, limit, qk_scale, stride_n,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """softmax(q k^T / sqrt(D)) v for the rows q [BLOCK_M, D] and the keys below end.

    k_ptr, v_ptr: the first key and value; the next ones stride_n elements further on.
    qk_scale: log2(e) / sqrt(D), since the exponentials are to base 2.
    All rows see the keys below full, row m those below limit[m].
    """
    offs_n = tl.arange(0, BLOCK_N)
    tile = offs_n[:, None] * stride_n + tl.arange(0, D)[None, :]
    m_i = tl.full([BLOCK_M], -1e38, tl.float32)
    l_i, acc = tl.zeros([BLOCK_M], tl.float32), tl.zeros([BLOCK_M, D], tl.float32)
    for MASKED in tl.static_range(2):
        for start in range(full if MASKED else 0, end if MASKED else full, BLOCK_N):
            cols = start + offs_n
            inside = cols[:, None] < end if MASKED else None
            zero = 0.0 if MASKED else None
            k = tl.load(k_ptr + tile, mask=inside, other=zero)
            s = tl.dot(q, tl.trans(k), input_precision="ieee")
            if MASKED:
                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
            p = tl.exp2(s * qk_scale - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(p, axis=1)
            v = tl.load(v_ptr + tile, mask=inside, other=zero)
            acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
            m_i = m_new
            k_ptr += BLOCK_N * stride_n
            v_ptr += BLOCK_N * stride_n
    return acc / l_i[:, None]


# TODO: the kernel. Return if there is no such tile; whose it is, where that begins, its length, the
# first position; load q, call attend, store o (about 25 lines)
### BEGIN SOLUTION
@triton.jit
def flash_ragged_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, cu_seqlens_ptr, cu_tiles_ptr, B, steps, qk_scale,
    H: tl.constexpr, HK: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """Causal attention. One program = BLOCK_M queries of one sequence and head."""
    tile, head = tl.program_id(0), tl.program_id(1)
    if tile >= tl.load(cu_tiles_ptr + B):
        return
    sequence = find(tile, cu_tiles_ptr, B, steps)
    begin = tl.load(cu_seqlens_ptr + sequence)
    L = tl.load(cu_seqlens_ptr + sequence + 1) - begin
    first = (tile - tl.load(cu_tiles_ptr + sequence)) * BLOCK_M

    position = first + tl.arange(0, BLOCK_M)
    rows = (begin + position).to(tl.int64) * H + head
    offsets = rows[:, None] * D + tl.arange(0, D)[None, :]
    mask = position[:, None] < L
    q = tl.load(q_ptr + offsets, mask=mask, other=0.0)

    key = (begin.to(tl.int64) * HK + head // (H // HK)) * D
    end = tl.minimum(L, first + BLOCK_M)
    o = attend(
        q, k_ptr + key, v_ptr + key, first, end, position + 1, qk_scale, HK * D,
        D, BLOCK_M, BLOCK_N,
    )
    tl.store(o_ptr + offsets, o, mask=mask)
### END SOLUTION


def blocks_of(q, BLOCK_M):
    """BLOCK_M, BLOCK_N, which divides it, and num_warps and num_stages, for q's dtype."""
    half = q.dtype != torch.float32 and target_arch() >= 80
    BLOCK_N = min(BLOCK_M, 64 if half and target_arch() >= 90 else 32)
    return dict(BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=8, num_stages=3 if half else 1)


def flash_ragged(q, k, v, cu_seqlens, cu_tiles, BLOCK_M):
    """o (T, H, D): causal attention in each sequence; see the contract, else ValueError."""
    (T, H, D), HK, B = q.shape, k.shape[1], len(cu_seqlens) - 1
    alike = k.shape == v.shape == (T, HK, D) and len(cu_tiles) == B + 1 and H % HK == 0
    if not alike or not all(x.is_contiguous() for x in (q, k, v)):
        raise ValueError("q (T, H, D), k and v (T, HK, D), contiguous, and B + 1 prefix sums")
    # TODO: allocate, grid, launch with blocks_of(q, BLOCK_M), return (about 6 lines)
    ### BEGIN SOLUTION
    o = torch.empty_like(q)
    grid = (T // BLOCK_M + min(B, T), H)
    flash_ragged_kernel[grid](
        q, k, v, o, cu_seqlens, cu_tiles, B, (B - 1).bit_length(), LOG2_E / D**0.5,
        H=H, HK=HK, D=D, **blocks_of(q, BLOCK_M),
    )  # fmt: skip
    return o
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="flash_ragged"
# #### Hints for flash_ragged
#
# <details><summary>Hint 1: a question</summary>
#
# Tile 4 of the picture: which sequence is it of, which number has it there, and which positions have its
# queries? Which tokens of the batch are that? Which of these numbers go into addresses, and which are
# compared with a length or a limit?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `find` takes a single number too: the tile's, in `cu_tiles`. `steps` is made as in `locate_tokens`. In
# memory token t has H rows of D numbers for q, HK rows for k: element (t, h, d) of q is number
# (t × H + h) × D + d. A token's number is its sequence's begin plus its position. Each key is HK × D
# elements after the one before. `attend` gets one address for k, the sequence's first key in this head.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @triton.jit
# def flash_ragged_kernel(
#     ...  # pointers; B, steps and scale; sizes and blocks, which are tl.constexpr
# ):
#     tile, head = ...
#     if tile >= ...:  # the last entry of cu_tiles
#         return
#     sequence = ...
#     begin = ...
#     L = ...
#     first = ...  # a position
#
#     position = ...  # of each query, [BLOCK_M]
#     # offsets [BLOCK_M, D], a mask by position; q, with zeros where there is none
#
#     key = ...  # offset of the sequence's first key, in 64 bits
#     o = attend(...)
#     # store o: where q lay
# ```
#
# </details>

# %% tags=["check"] key="flash_ragged" points=8
check(flash_ragged)

# %% [markdown]
# **10,000 sequences**, of which 40 have a token. How many programs start, and how many numbers of
# `cu_tiles` are loaded for each tile?

# %%
lengths = torch.zeros(10_000, dtype=torch.int32, device=DEVICE)
lengths[::250] = 1
cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
q, k, v = torch.randn(3, 40, 1, 16, device=DEVICE).unbind(0)
seen = traffic(flash_ragged, q, k, v, cu_seqlens, tiles_of(cu_seqlens, 32), 32)
print(f"{seen.programs} programs, {seen['cu_tiles'].read // 4 // 40} loads for each tile")

# %% [markdown]
# ## Predict, then measure
#
# What does padding cost? First count, for texts of 32, 0 and 64 tokens. Padded they are 3 texts of 64.
# Causal attention needs no mask for them: what is added comes last, and no token sees it.

# %%
cu_seqlens = torch.tensor([0, 32, 32, 96], dtype=torch.int32, device=DEVICE)
q, k, v = torch.randn(3, 96, 1, 16, device=DEVICE).unbind(0)
ragged = traffic(flash_ragged, q, k, v, cu_seqlens, tiles_of(cu_seqlens, 32), 32)
padded = traffic(mine("flash_gqa", quiet=True), *torch.randn(3, 3, 1, 64, 16, device=DEVICE), True)
one_each = torch.arange(1001, dtype=torch.int32, device=DEVICE)  # 1,000 sequences of one token

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes of k that flash_ragged reads: tiles of 32, one head of 16 float32": None,
        "times as many flops with padding": None,
        "numbers a search reads to place one token among 1,000 sequences": None,
    },
    measured=[
        lambda: ragged["k"],
        lambda: padded.flops / ragged.flops,
        lambda: traffic(locate_tokens, one_each, 1, 1)["cu_seqlens"].read // 4 - 1,
    ],
    hints=[
        "Three tiles. How many keys does the walk of each of them read?",
        "How many tiles of scores does one text of 64 have? And one of 32?",
        "How often can you halve 1,000?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** The text of 32 has one tile, which reads 32 keys. That of 64 has two, which read 32 and 64.
# 128 keys of 16 × 4 bytes: 8,192.
#
# **Flops.** In tiles of 32 by 32 the ragged batch computes 1 + 1 + 2 = 4 tiles of scores. Each padded
# text has 3, the empty one too: 9. That is 2.25 times as many.
#
# **Numbers.** 2¹⁰ = 1,024: ten.
#
# </details>

# %% [markdown]
# Now 64 texts of 16 to 4,096 tokens, most of them short. *Padded* leaves out the copy into longer rows.
# *Nested tensors* are PyTorch's ragged batches: FlashAttention-2 takes them. TFLOP/s count
# the flops that are needed.

# %%
from torch.nn.functional import scaled_dot_product_attention

texts, longest, H, D = (64, 4096, 16, 128) if DEVICE == "cuda" else (4, 64, 2, 16)
BLOCK_M = 128 if DEVICE == "cuda" and target_arch() >= 80 else 32  # small without tensor cores
dtype = torch.float16 if DEVICE == "cuda" else torch.float32
lengths = (16 * (longest / 16) ** (torch.arange(texts) * 29 % texts / (texts - 1))).int()
ends = lengths.to(DEVICE).cumsum(0)
cu_seqlens, T = torch.nn.functional.pad(ends, (1, 0)).to(torch.int32), lengths.sum().item()
q, k, v = torch.randn(3, T, H, D, device=DEVICE, dtype=dtype).unbind(0)
cu_tiles = tiles_of(cu_seqlens, BLOCK_M)
rows = torch.randn(3, texts, H, longest, D, device=DEVICE, dtype=dtype).unbind(0)
print(f"{T:,} tokens, padded {texts * longest:,}: {texts * longest / T:.1f} times as many")
print(f"flops of attention: {texts * longest**2 / (lengths.double() ** 2).sum():.1f} times as many")

ways = {
    "padded": lambda: scaled_dot_product_attention(*rows, is_causal=True),
    "flash_ragged": lambda: flash_ragged(q, k, v, cu_seqlens, cu_tiles, BLOCK_M),
}
if DEVICE == "cuda":
    parts = [list(x.split(lengths.tolist())) for x in (q, k, v)]
    nested = [torch.nested.as_nested_tensor(x, layout=torch.jagged).transpose(1, 2) for x in parts]
    ways["nested tensors"] = lambda: scaled_dot_product_attention(*nested, is_causal=True)
timed = bench(
    ways,
    flops=2 * H * D * (lengths.double() ** 2).sum().item(),
    baseline="flash_ragged",
    title="Causal attention, 64 texts of 16 to 4096 tokens, 16 heads of 128, float16",
    stored="ragged_attention",
)
timed

# %% [markdown]
# **Read it.** Norms and products of a layer go with the tokens, attention with the squares of the lengths:
# so padding costs attention most. The two ragged rows do the same flops from the same tensors. The time
# of nested tensors has what PyTorch prepares for each call in it.
#
# vLLM's Triton kernel does without `cu_tiles`. It searches for the last s with
# `cu_seqlens[s] // BLOCK_M + s <= p`: these numbers rise too, but empty sequences get a program as well.
# flash-linear-attention writes down each tile's sequence, once for a batch.
#
# ## Recap
#
# - Texts of any length lie on one axis; prefix sums say where each begins.
# - A binary search keeps `cu[lo] <= n < cu[hi]`, with ⌈log₂ B⌉ loads. Lanes search side by side.
# - Norms need nothing, RoPE positions, attention the bounds of its sequence too.
# - No tile crosses a sequence. Tiles have prefix sums of their own, and the grid is a bound.
#
# <details><summary>Common mistakes</summary>
#
# - `<` for `<=` in the search: a sequence's first token belongs to the one before, or to an empty one.
# - A tile masked by T, the number of all tokens: it stores into the next sequence's rows.
# - The token's number in the causal mask, where the position is meant: later tokens are seen.
# - Keys from token 0 on: those of other sequences.
# - A grid of `cdiv(T, BLOCK_M)`: right while there is one sequence, too small for many.
#
# </details>
#
# Next: [57_fp8_fp4](57_fp8_fp4.ipynb).

# %%
progress()
