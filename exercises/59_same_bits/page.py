# ---
# workbook:
#   title: The same bits in any batch
#   minutes: 50
#   needs: interpreter
#   requires: [11_rmsnorm_split, 20_matmul, 50_split_kv_decode]
#   limits: {sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 8}
#   you_will:
#     - see why a row's result changes with its neighbours
#     - fix which numbers are added in which order, and leave open who adds them
#     - multiply and attend with the same bits in any batch, and time what that costs
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Ask a language model the same question twice, at temperature 0, and you may get two answers. No atomics
# are needed for that (page 11). A server puts your question into a **batch** with whatever others ask at
# the moment. And many kernels choose by the size of the batch in how many pieces they cut a sum. Few rows:
# many pieces, so that all multiprocessors have work. Many rows: one piece. Other pieces are another order
# of additions, and so other last bits. One bit may decide which word comes next.
#
# Here is page 11's norm, with as many pieces as its rule takes on an H100. The same row, alone and with
# 15 neighbours:

# %%
rmsnorm_split_det = mine("rmsnorm_split_det", quiet=True)


def norm_by_batch(x, w):
    num_splits = min(264 // len(x), 64)
    return rmsnorm_split_det(x, w, 1e-6, num_splits=num_splits)


def show_differing(norm):
    alone = torch.cat([norm(row, w) for row in x.split(1)])
    differ = (alone != norm(x, w)).any(dim=1).sum()
    print(f"{differ} of {len(x)} rows have other bits alone than in the batch")


x, w = torch.randn(16, 8192, device=DEVICE), torch.randn(8192, device=DEVICE)
show_differing(norm_by_batch)

# %% [markdown]
# A kernel is **batch-invariant** if a row's bits depend on this row alone. There is one rule:
#
# > Which numbers are added to which, and in which order, follows from the row itself: from N, from K,
# > from a sequence's own length. The batch may decide only *who* does it.
#
# So cut into pieces of a **fixed size**. Each piece has a partial sum of its own. With few rows there is a
# program for each piece; with many rows one program takes all pieces, one after the other. The partial
# sums are the same, and they are added up in the same order.

# %%
pictures("same_bits").draw_pieces(pieces=4)

# %% [markdown]
# For the norm this is one line: the number of pieces comes from N.


# %%
def norm_same(x, w):
    return rmsnorm_split_det(x, w, 1e-6, num_splits=triton.cdiv(x.shape[1], 4096))


show_differing(norm_same)

# %% [markdown]
# **Predict.** In float32, what is 2²⁴ + 1 + 1, added from left to right? And 1 + 1 + 2²⁴?
#
# <details><summary>Answer</summary>
#
# float32 has 24 binary digits. 2²⁴ + 1 lies halfway between 2²⁴ and 2²⁴ + 2, and is rounded to the even one,
# 2²⁴. Twice. So the first sum is 16,777,216. In the other order 1 + 1 = 2 comes first, and 2 + 2²⁴ is exact:
# 16,777,218.
#
# </details>
#
# ## A smaller kernel first: a sum in fixed pieces
#
# One program sums every `splits`-th piece of a row of x and keeps each piece's sum. The sums are added from
# first to last, in a loop. (`tl.sum` over a tile of pieces has a fixed order too, but one that depends on the
# width of the tile. A loop depends on nothing.)


# %%
@triton.jit
def piece_sums_kernel(x_ptr, sums_ptr, N, pieces, PIECE: tl.constexpr):
    """sums[m, piece] = the sum of a piece of row m.

    One program = of one row each `splits`-th piece.
    Assumes contiguous rows.
    """
    row, split, splits = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    for piece in range(split, pieces, splits):
        offs_n = piece * PIECE + tl.arange(0, PIECE)
        x = tl.load(x_ptr + row * N + offs_n, mask=offs_n < N, other=0.0)
        tl.store(sums_ptr + row * pieces + piece, tl.sum(x, axis=0))


def row_sums(x, splits):
    sums = torch.empty(len(x), triton.cdiv(x.shape[1], 256), device=x.device)
    piece_sums_kernel[(len(x), splits)](x, sums, x.shape[1], sums.shape[1], PIECE=256)
    return sum(sums.T)  # one piece after the other


for splits in (1, 2, 5, 32):
    print(f"{splits:2} programs a row: {row_sums(x[:2], splits).tolist()}")

# %% [markdown]
# ## The contract of matmul_same
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `a`, `b` | (M, K) and (K, N), contiguous | float16, bfloat16 | inputs |
# | `splits` | | int or None | programs that share a tile's sum; None: `splits_for` chooses |
# | result | (M, N) | as `a` | a @ b, summed in float32 |
#
# - K is cut into chunks of 512, whatever `splits` is. Of the chunks, program `split` takes number `split`,
#   `split + splits`, and so on.
# - There are `splits` programs for each tile of 64 × 128.
# - Each chunk is summed from zero, in steps of 64. The sums of the chunks are added from first to last.
# - **A row of the result has the same bits in any batch, at any place, and for any `splits`.** The check
#   compares them bit for bit.
#
# The tile's size is part of the order too: a tensor core adds in the way of its instruction, and the
# compiler takes the instruction by the tile. So one tile serves all batches, large and small.

# %% tags=["reference"]
from tritonbook import multiprocessors

CHUNK, PIECE = 512, 256  # of K, and of the tokens of a sequence
TILE = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8, "num_stages": 3}


def matmul_same_ref(a, b):
    return a @ b


def decode_same_ref(q, k, v, lengths):
    outs = []
    for b, n in enumerate(lengths.tolist()):
        s = torch.einsum("hd,lhd->hl", q[b], k[b, :n]) * q.shape[2] ** -0.5
        outs.append(torch.einsum("hl,lhd->hd", s.softmax(-1), v[b, :n]))
    return torch.stack(outs)


def splits_for(programs, most, each=2):
    """How many share a sum, so that each multiprocessor has `each` programs; at most `most`."""
    return max(1, min(each * multiprocessors() // programs, most))

# %% [markdown]
# ## Task 1. The product
#
# Two gaps. In the first, the sum of one chunk: start at zero, walk through the chunk in steps of BLOCK_K,
# 7 lines. `a_ptrs` points at a tile [BLOCK_M, BLOCK_K] at k = 0, `b_ptrs` at [BLOCK_K, BLOCK_N]. The last
# chunk may be ragged: mask along K.
#
# The second gap keeps the sum, 4 lines. If the program has **all** chunks (`WHOLE`), they are added right
# here, to `total`. Else each goes into memory, to `parts[chunk]`, and `sum_parts_kernel` adds them.
#
# Why not go on adding to one `acc` if the program has all chunks anyway? Because then there is one long sum,
# where with more programs there are several short ones, added up.

# %% tags=["answer"] key="matmul_same"
@triton.jit
def sum_parts_kernel(parts_ptr, out_ptr, S, n, BLOCK_SIZE: tl.constexpr):
    """out = parts[0] + parts[1] + ... + parts[S - 1], in this order.

    One program = one tile of BLOCK_SIZE numbers.
    Assumes contiguous memory.
    """
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    total = tl.zeros((BLOCK_SIZE,), tl.float32)
    parts_ptrs = parts_ptr + offs
    for _ in range(S):
        total += tl.load(parts_ptrs, mask=mask, other=0.0)
        parts_ptrs += n
    tl.store(out_ptr + offs, total, mask=mask)


def sum_parts(parts, dtype):
    out = torch.empty(parts.shape[1:], dtype=dtype, device=parts.device)
    S, n = len(parts), out.numel()
    sum_parts_kernel[(triton.cdiv(n, 4096),)](parts, out, S, n, BLOCK_SIZE=4096)
    return out


@triton.jit
def chunks_kernel(
    a_ptr, b_ptr, out_ptr,
    M, N, K,
    CHUNK: tl.constexpr, WHOLE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out[chunk] = a[:, chunk] @ b[chunk]; their sum, if WHOLE.

    One program = of a tile of the result each `splits`-th chunk of K.
    Assumes contiguous tensors.
    """
    tiles_m = tl.cdiv(M, BLOCK_M)
    pid_m, pid_n = tl.program_id(0) % tiles_m, tl.program_id(0) // tiles_m
    split, splits = tl.program_id(1), tl.num_programs(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for chunk in range(split, tl.cdiv(K, CHUNK), splits):
        # parts[chunk]
        out_ptrs = out_ptr + (chunk * M + offs_m[:, None]) * N + offs_n[None, :]
        # TODO 1: acc, the sum of this chunk alone (about 7 lines)
        ### BEGIN SOLUTION
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(chunk * CHUNK, chunk * CHUNK + CHUNK, BLOCK_K):
            mask_k = offs_k < K - k
            a = tl.load(a_ptrs + k, mask=mask_m & mask_k[None, :], other=0.0)
            b = tl.load(b_ptrs + k * N, mask=mask_k[:, None] & mask_n, other=0.0)
            acc = tl.dot(a, b, acc)
        ### END SOLUTION
        # TODO 2: into total, or into memory (4 lines)
        ### BEGIN SOLUTION
        if WHOLE:
            total += acc
        else:
            tl.store(out_ptrs, acc, mask=mask_m & mask_n)
        ### END SOLUTION
    if WHOLE:
        tl.store(out_ptr + offs_m[:, None] * N + offs_n, total, mask=mask_m & mask_n)


def matmul_same(a, b, splits=None):
    """a [M, K] @ b [K, N]; a row has the same bits in any batch and for any splits."""
    (M, K), N = a.shape, b.shape[1]
    if b.shape[0] != K or not a.is_contiguous() or not b.is_contiguous():
        raise ValueError("a (M, K) and b (K, N) must be contiguous")
    chunks = triton.cdiv(K, CHUNK)
    tiles = triton.cdiv(M, TILE["BLOCK_M"]) * triton.cdiv(N, TILE["BLOCK_N"])
    splits = splits or splits_for(tiles, chunks)
    shape, dtype = ((M, N), a.dtype) if splits == 1 else ((chunks, M, N), torch.float32)
    out = torch.empty(shape, dtype=dtype, device=a.device)
    chunks_kernel[(tiles, splits)](
        a, b, out, M, N, K, CHUNK=CHUNK, WHOLE=splits == 1, **TILE
    )
    return out if splits == 1 else sum_parts(out, a.dtype)

# %% [markdown] tags=["hint"] key="matmul_same"
# #### Hints for matmul_same
#
# <details><summary>Hint 1: a question</summary>
#
# Chunk 2 of 512: which k does it begin with, and where does it end? Does either depend on `splits`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The inner loop is page 20's, with other ends. One step along k is k elements in a, and k rows of N elements
# in b.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = tl.zeros(...)
# for k in range(..., ..., BLOCK_K):
#     mask_k = ...
#     # load a and b, k further on
#     acc = ...
# ```
#
# ```python
# if WHOLE:
#     ...  # one addition
# else:
#     ...  # one store
# ```
#
# </details>

# %% tags=["check"] key="matmul_same" points=5
check(matmul_same)

# %% [markdown]
# ## Attention for one token
#
# Page 50 cuts the keys into `pieces`, as many as the batch leaves room for. There the batch decides over the
# order of an online softmax. Here pieces have a fixed size of 256 tokens, counted from the sequence's start.
# `attend` goes through the tokens from `start` to `end` of one head, and gives m, l and acc as on page 41
# (base e). It is given, as you wrote it twice. Its loop loads ahead (`num_stages=3`, page 15).
#
# ## The contract of decode_same
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, D), contiguous | float32, float16, bfloat16 | one query a head |
# | `k`, `v` | (B, L, H, D), contiguous | as `q` | caches with room for L tokens |
# | `lengths` | (B,), contiguous | int32 | tokens of each sequence, 1 to L |
# | `splits` | | int or None | programs that share a head; None: `splits_for` chooses |
# | result | (B, H, D) | as `q` | attention over the first `lengths[b]` tokens |
#
# - There are `splits` programs for each head of each sequence, and B × H may pass 65,535. Of the pieces of 256 tokens, program `split`
#   takes number `split`, `split + splits`, and so on.
# - Each piece begins an online softmax of its own. The pieces are merged from first to last, **as many as
#   the sequence has**, not as many as there is room for.
# - A sequence's result has the same bits in any batch, for any room L, and for any `splits`. The check
#   compares them bit for bit.
#
# ## Task 2. Pieces, and their merge
#
# Two gaps. In `pieces_kernel`: the loop over this program's pieces, and for each of them its result
# acc / l and its lse, m + log(l), stored at its `state`. About 6 lines. In `merge_in_order_kernel`: the merge
# of one piece with what came before, about 8 lines. It is an online softmax over the lse, one at a time.
# `m` starts at -1e38, `l` at 0.

# %% tags=["answer"] key="decode_same"
@triton.jit
def attend(
    q, k_ptr, v_ptr, start, end, stride_l, D: tl.constexpr, BLOCK_L: tl.constexpr
):
    """m, l and acc of an online softmax over the tokens start to end - 1."""
    offs_d, m_i, l_i = tl.arange(0, D)[None, :], -1e38, 0.0
    acc = tl.zeros((BLOCK_L, D), tl.float32)  # added up at the end
    for first in tl.range(start, end, BLOCK_L, num_stages=3):
        offs_l = first + tl.arange(0, BLOCK_L)
        mask, tile = offs_l < end, offs_l[:, None] * stride_l + offs_d
        k = tl.load(k_ptr + tile, mask=mask[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + tile, mask=mask[:, None], other=0.0).to(tl.float32)
        s = tl.where(mask, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        p, alpha = tl.exp(s - m_new), tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=0)
        acc = acc * alpha + p[:, None] * v
        m_i = m_new
    return m_i, l_i, tl.sum(acc, axis=0)


@triton.jit
def pieces_kernel(
    q_ptr, k_ptr, v_ptr, lengths_ptr, parts_ptr, lses_ptr, L, pieces, qk_scale,
    H: tl.constexpr, D: tl.constexpr, PIECE: tl.constexpr, BLOCK_L: tl.constexpr,
):
    """parts, lses = attention of one query over each piece of its keys.

    One program = one head of one sequence; of its pieces each `splits`-th.
    """
    row, split, splits = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    b, head = (row // H).to(tl.int64), row % H
    length = tl.load(lengths_ptr + b)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + row * D + offs_d).to(tl.float32) * qk_scale
    first = (b * L * H + head) * D  # this head's token 0
    k_ptr, v_ptr = k_ptr + first, v_ptr + first

    # TODO 1: for each piece its state: acc / l and its lse (about 6 lines)
    ### BEGIN SOLUTION
    for piece in range(split, tl.cdiv(length, PIECE), splits):
        end = tl.minimum(piece * PIECE + PIECE, length)
        m, l, acc = attend(q, k_ptr, v_ptr, piece * PIECE, end, H * D, D, BLOCK_L)
        state = row * pieces + piece
        tl.store(parts_ptr + state * D + offs_d, acc / l)
        tl.store(lses_ptr + state, m + tl.log(l))
    ### END SOLUTION


@triton.jit
def merge_in_order_kernel(
    parts_ptr, lses_ptr, lengths_ptr, out_ptr, pieces,
    H: tl.constexpr, D: tl.constexpr, PIECE: tl.constexpr,
):
    """out[row] = the merge of the row's parts by their lse, from first to last.

    One program = one head of one sequence.
    """
    row, offs_d = tl.program_id(0), tl.arange(0, D)
    length = tl.load(lengths_ptr + row // H)
    m, l, acc = -1e38, 0.0, tl.zeros((D,), tl.float32)
    for piece in range(tl.cdiv(length, PIECE)):
        state = row * pieces + piece
        # TODO 2: load lse and part; update m, l and acc (about 8 lines)
        ### BEGIN SOLUTION
        lse = tl.load(lses_ptr + state)
        part = tl.load(parts_ptr + state * D + offs_d)
        m_new = tl.maximum(m, lse)
        alpha, weight = tl.exp(m - m_new), tl.exp(lse - m_new)
        l = l * alpha + weight
        acc = acc * alpha + part * weight
        m = m_new
        ### END SOLUTION
    tl.store(out_ptr + row * D + offs_d, acc / l)


def decode_same(q, k, v, lengths, splits=None):
    """Attention of q [B, H, D] over k, v [B, L, H, D]; the same bits in any batch."""
    (B, H, D), L = q.shape, k.shape[1]
    if k.shape != v.shape or k.shape != (B, L, H, D) or lengths.shape != (B,):
        raise ValueError("(B, H, D), (B, L, H, D) twice, and (B,) are needed")
    pieces, sizes = triton.cdiv(L, PIECE), {"H": H, "D": D, "PIECE": PIECE}
    splits = splits or splits_for(B * H, pieces, each=8)
    parts = torch.empty((B * H, pieces, D), dtype=torch.float32, device=q.device)
    lses = torch.empty((B * H, pieces), dtype=torch.float32, device=q.device)
    pieces_kernel[(B * H, splits)](
        q, k, v, lengths, parts, lses, L, pieces, D**-0.5, BLOCK_L=32, num_warps=4, **sizes
    )
    out = torch.empty_like(q)
    merge_in_order_kernel[(B * H,)](parts, lses, lengths, out, pieces, **sizes)
    return out

# %% [markdown] tags=["hint"] key="decode_same"
# #### Hints for decode_same
#
# <details><summary>Hint 1: a question</summary>
#
# A sequence of 600 tokens, 2 programs. Which pieces has program 1? Where does the last piece end?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The outer loop is that of `chunks_kernel`. The merge is the update of `attend`, where a tile of scores is a
# single number, the lse, and p times v is its weight times the part.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for piece in range(..., tl.cdiv(length, PIECE), ...):
#     end = ...  # the piece's, or the sequence's
#     m, l, acc = attend(q, k_ptr, v_ptr, ..., end, H * D, D, BLOCK_L)
#     state = ...  # row by row
#     # two stores
# ```
#
# ```python
# # load lse and part
# m_new = ...
# alpha, weight = ...
# # l, acc, m
# ```
#
# </details>

# %% tags=["check"] key="decode_same" points=5
check(decode_same)

# %% [markdown]
# ## Predict, then measure
#
# What does it cost? For few rows a split is what a fast kernel would do anyway. The next cell multiplies by
# a matrix of 4,096 × 4,096 in float16, from 1 row to 4,096. *torch* is free to choose another kernel for
# each. Without a GPU it shows a GPU's times, if some are kept with the page.

# %%
from torch.nn.functional import scaled_dot_product_attention

from tritonbook.timing import bench_sweep


def by_rows(M):
    N = 4096 if DEVICE == "cuda" else 128
    a, b = torch.randn(M, N, device=DEVICE).half(), torch.randn(N, N, device=DEVICE).half()
    sizes = {"bytes": 2 * (N * N + 2 * M * N), "flops": 2 * M * N * N, "baseline": "torch"}
    return {"fns": {"torch": torch.matmul, "matmul_same": matmul_same}, "args": (a, b), **sizes}


def by_batch(B):
    L = 8192 if DEVICE == "cuda" else 300
    q, k, v = (torch.randn(B, n, 32, 128, device=DEVICE).half() for n in (1, L, L))
    lengths = torch.full((B,), L, device=DEVICE, dtype=torch.int32)
    heads = [t.transpose(1, 2).contiguous() for t in (q, k, v)]
    ways = {
        "torch": lambda: scaled_dot_product_attention(*heads),
        "decode_same": lambda: decode_same(q[:, 0], k, v, lengths),
    }
    return {"fns": ways, "baseline": "torch", "bytes": 2 * k.nbytes}


rows = bench_sweep(
    "rows", [1, 64, 512, 4096] if DEVICE == "cuda" else [1], by_rows, stored="same_bits_matmul",
    title="Rows of 4,096 by a matrix of 4,096 x 4,096, float16",
)  # fmt: skip
batches = bench_sweep(
    "sequences", [1, 4, 16] if DEVICE == "cuda" else [1], by_batch, stored="same_bits_decode",
    title="One token, 8,192 in the cache, 32 heads of 128, float16",
)  # fmt: skip

# %% tags=["predict"]
from tritonbook import predict

predict(
    {"bytes of partial sums that matmul_same stores: 1 row, K = 2,048, N = 256": None},
    measured=[
        lambda: traffic(
            matmul_same, torch.ones(1, 2048, device=DEVICE), torch.ones(2048, 256, device=DEVICE)
        )["out"].written,
    ],
    hints=["A float32 number for each chunk and each column. How many chunks has K?"],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Partial sums.** 2,048 / 512 = 4 chunks, 256 columns, 4 bytes: 4,096. Where K = N = 4,096, each row has
# 131,072, and 64 rows have 8,388,608, a quarter of the matrix's 33,554,432 bytes. They are written and read.
# That is why `splits` falls to 1 as rows become many: then there is nothing to write.
#
# </details>

# %%
rows

# %%
batches

# %% [markdown]
# **Read it downwards.** With few rows all wait for the matrix's bytes, and what you lose is the launch of the
# sum. With many rows the one tile for all has to compete with tiles that were made for this size: that is
# where the same bits are paid for. For attention the pieces cost nothing that page 50's did not: the number
# of states grows with the tokens instead of with the free multiprocessors.
#
# ## Recap
#
# - Same call, same bits: no atomics (page 11). Same row, same bits in any batch: no order that the batch
#   chooses.
# - Pieces of a fixed size; the batch decides who computes them.
# - Whoever has all pieces adds their sums as all others do, one after the other.
# - Tile, chunk and their order belong to the result. Autotuning them by M changes bits (page 22).
#
# <details><summary>Common mistakes</summary>
#
# - One long sum if there is one program, and several short ones else.
# - Pieces of K / splits.
# - A merge over as many places as the longest sequence needs.
# - A test with one batch size, or with a tolerance.
#
# </details>
#
# vLLM and SGLang have a batch-invariant mode of such kernels. It makes training by reinforcement exact: the
# probabilities that were sampled are those that are trained.
#
# Next: [60_norm_records](60_norm_records.ipynb), the last tenth of speed.

# %%
progress()
