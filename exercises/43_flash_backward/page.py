# ---
# workbook:
#   title: Flash attention, backwards
#   minutes: 60
#   stretch: 10
#   needs: interpreter
#   requires: [42_flash_gqa]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 8}
#   you_will:
#     - know the gradients of attention, and check them against autograd
#     - make P again, tile by tile, from one number for each row
#     - add up dQ in one kernel and dK and dV in another, so that nobody writes where others do
#     - plug your kernels into autograd
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Training needs the gradients of Q, K and V. They depend on P, the softmaxed scores, and your forward
# kernel threw P away, tile by tile. To store it would take 17 GB for 32 heads and 16,384 tokens in
# half precision.
#
# So you make P again. The forward pass kept one number for each query: `lse`, the log of the sum of
# the exponentials of its scores. With it the softmax of the scaled scores S is a single step:
#
# $$P_{ij} = e^{S_{ij}} / \sum_k e^{S_{ik}} = e^{S_{ij}-\mathrm{lse}_i}$$
#
# A tile of P takes a tile of Q, a tile of K, and one lse for each row.
#
# ## The gradients
#
# dX is the gradient of the loss with respect to X, and has its shape. Autograd gives you dO. Go back
# through the three steps of attention, the last one first. Why the formulas hold is folded: you can
# take them as they are.
#
# **O = P V** is a product of matrices:
#
# $$dV = P^TdO \qquad dP = dO\,V^T$$
#
# **The softmax** of a row: a score makes its own P larger and the others smaller.
#
# $$dS_{ij} = P_{ij}(dP_{ij}-\delta_i) \qquad \delta_i = \sum_k P_{ik}\,dP_{ik} =
# \sum_d dO_{id}\,O_{id}$$
#
# The second form of δ needs no P: it is known before the first tile.
#
# **S = scale · Q Kᵀ** is a product again:
#
# $$dQ = \mathrm{scale}\cdot dS\,K \qquad dK = \mathrm{scale}\cdot dS^TQ$$
#
# <details><summary>Why?</summary>
#
# **Products.** $O_{id} = \sum_j P_{ij}V_{jd}$. So $V_{jd}$ is in $O_{id}$ with the factor $P_{ij}$, and
# $P_{ij}$ with the factor $V_{jd}$. Add up over all places where each of them acts.
#
# **Softmax.** $S_{ij}$ acts on all of row i of P, which sums to 1: $\partial P_{ik} / \partial S_{ij} =
# P_{ik} ([k = j] - P_{ij})$, where the bracket is 1 if k is j, else 0. Times $dP_{ik}$, summed over k.
#
# **δ without P.** Put in what dP is, and sum over k first:
#
# $$\delta_i = \sum_k P_{ik}\sum_d dO_{id}V_{kd} = \sum_d dO_{id}\sum_k P_{ik}V_{kd} =
# \sum_d dO_{id}\,O_{id}$$
#
# </details>
#
# Here is one head in PyTorch, against autograd:


# %%
def by_hand(q, k, v, o, do, scale):
    p = torch.softmax(q @ k.T * scale, dim=-1)
    delta = (o * do).sum(dim=-1, keepdim=True)
    ds = p * (do @ v.T - delta)
    return scale * ds @ k, scale * ds.T @ q, p.T @ do


q, k, v, do = (torch.randn(5, 8, dtype=torch.float64, requires_grad=True) for _ in range(4))
o = torch.softmax(q @ k.T * 0.5, dim=-1) @ v
pairs = zip(torch.autograd.grad(o, (q, k, v), do), by_hand(q, k, v, o, do, 0.5), strict=True)
print("largest difference in dQ, dK, dV:", *(f"{(a - b).abs().max():.0e}" for a, b in pairs))

# %% [markdown]
# ## A smaller kernel first
#
# P again, for a head that fits in one tile. lse is a natural logarithm: hence `tl.exp`, not `tl.exp2`.
# `input_precision="ieee"` keeps a GPU from rounding float32 factors to 11 binary digits.


# %%
@triton.jit
def p_kernel(q_ptr, k_ptr, lse_ptr, p_ptr, scale, L: tl.constexpr, D: tl.constexpr):
    """p[i, j] = exp(scale * q[i] k[j] - lse[i]).

    One program = a head with L queries and L keys.
    Assumes contiguous rows; L and D are powers of 2, and at least 16.
    """
    offs, offs_d = tl.arange(0, L), tl.arange(0, D)

    q = tl.load(q_ptr + offs[:, None] * D + offs_d[None, :])
    k = tl.load(k_ptr + offs[:, None] * D + offs_d[None, :])
    lse = tl.load(lse_ptr + offs)

    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    p = tl.exp(s - lse[:, None])

    tl.store(p_ptr + offs[:, None] * L + offs[None, :], p)


q, k = torch.randn(2, 16, 32, device=DEVICE)
s = 0.2 * q @ k.T
p = torch.empty_like(s)
p_kernel[(1,)](q, k, torch.logsumexp(s, dim=1), p, 0.2, L=16, D=32)
print(f"rows sum to {p.sum(dim=1).min():.6f} at least, {p.sum(dim=1).max():.6f} at most")

# %% [markdown]
# **Predict.** lse belongs to queries. With `lse[None, :]` for `lse[:, None]`, does this kernel still
# run?
#
# <details><summary>Answer</summary>
#
# Yes. The tile is square, so both shapes fit, and the result is wrong: each *column* gets the lse of
# another query.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `do` | [B, H, Lq, D] | as `q` | gradient of `o` |
# | `q`; `k`, `v` | [B, H, Lq, D]; [B, HK, Lk, D] | floating | as in the forward pass |
# | `lse`, `delta` | [B, H, Lq] | float32 | one number for each query |
# | `dq`; `dk`, `dv` | as `q`; as `k`, `v` | as `q` | results, new and contiguous |
#
# - H is a multiple of HK: H / HK query heads share a head of K and V, and **dK and dV are sums over
#   them**. B × H is at most 65,535.
# - `causal`: query i sees key j if j ≤ i + Lk − Lq. `scale` is 1/√D where it is None.
# - lse and δ are taken as given: the checks hand you their own.
# - A query that sees no key has lse = −∞. It adds nothing to any gradient.
# - Each task is one launch; `flash_attention`, there and back, is four launches.
# - Sums are float32. P and dS are rounded to the dtype of q only to enter a product.
#
# Strides would only be in the way here. So the wrappers call `contiguous()`, which copies a tensor
# whose rows do not lie one behind the other. Shapes that do not fit raise `ValueError`.

# %% tags=["reference"]
from tritonbook import matmul_tile


def prepared(do, q, k, v, lse, delta, causal, scale):
    """What both kernels take: (tensors, numbers, flags). Raises ValueError."""
    (B, H, Lq, D), (HK, Lk) = q.shape, k.shape[1:3]
    if do.shape != q.shape or H % HK or not k.shape == v.shape == (B, HK, Lk, D):
        raise ValueError(f"do {do.shape}, q {q.shape}, k {k.shape}, v {v.shape} do not fit")
    flags = {"GROUP": H // HK, "IS_CAUSAL": causal}
    flags |= {"D": D, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    tensors = [x.contiguous() for x in (q, k, v, do, lse, delta)]
    return tensors, (Lq, Lk, D**-0.5 if scale is None else scale), flags


def tile_of(dtype, queries, keys, part):
    """Tile and launch options: the sides named of a product's tile, and its warps, over `part`."""
    size = matmul_tile(dtype)
    tile = {"BLOCK_M": size[queries] // part, "BLOCK_N": size[keys] // part}
    return tile | {"num_warps": size["num_warps"] // part, "num_stages": size["num_stages"]}

# %% [markdown]
# ## Task 1. δ
#
# One number for each of M = B · H · Lq rows: the sum over d of o · do, in float32. Fill the gap, about
# 6 lines. Element d of row m is at m · D + d, and the mask has two conditions: m < M and d < D.

# %% tags=["answer"] key="attention_delta"
@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr, M,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """delta[m] = sum over d of o[m, d] * do[m, d].

    One program = BLOCK_M rows.
    Assumes that rows of D elements lie one behind the other, and BLOCK_D >= D.
    """
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)

    # TODO: load both tiles in float32, sum their product, store (about 6 lines)
    ### BEGIN SOLUTION
    offsets = offs_m[:, None] * D + offs_d[None, :]
    mask = (offs_m[:, None] < M) & (offs_d[None, :] < D)
    o = tl.load(o_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    delta = tl.sum(o * do, axis=1)
    tl.store(delta_ptr + offs_m, delta, mask=offs_m < M)
    ### END SOLUTION


def attention_delta(o, do):
    """Sum over d of o * do, both [B, H, Lq, D]: [B, H, Lq] in float32."""
    if o.shape != do.shape:
        raise ValueError(f"o is {tuple(o.shape)}, do is {tuple(do.shape)}")
    delta = torch.empty(o.shape[:3], dtype=torch.float32, device=o.device)
    M, sizes = delta.numel(), {"BLOCK_M": 32, "BLOCK_D": triton.next_power_of_2(o.shape[3])}
    grid = (triton.cdiv(M, 32),)
    delta_kernel[grid](o.contiguous(), do.contiguous(), delta, M, D=o.shape[3], **sizes)
    return delta

# %% [markdown] tags=["hint"] key="attention_delta"
# #### Hints for attention_delta
#
# <details><summary>Hint 1: a question</summary>
#
# Two tiles go into one product and one sum. What must the lanes hold that the mask switches off?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `p_kernel` has the addresses of a tile. `tl.sum(x, axis=...)` removes that axis: which one must go?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # offsets and mask of the tile, both [BLOCK_M, BLOCK_D]
# o = tl.load(...).to(tl.float32)
# do = ...
# delta = ...  # [BLOCK_M]
# # store: which mask has this shape?
# ```
#
# </details>

# %% tags=["check"] key="attention_delta" points=2
check(attention_delta)

# %% [markdown]
# ## Who owns what?
#
# dQ is a sum over *keys*, dK and dV are sums over *queries*. So there are two walks over the tiles.

# %%
pictures("flash_backward").draw_owners(tiles=5)

# %% [markdown]
# In the dQ kernel a program owns a tile of queries and walks along the keys, to the diagonal. In the dK/dV
# kernel it owns a tile of keys and walks down the queries, from the diagonal on.
#
# Both compute the tiles of P. In return each result has one owner, who adds it up in registers and
# stores it once. A single kernel would have to add its shares of dQ to memory with atomics: two products
# of seven less, and the order of the additions left to chance.
#
# ## Task 2. dQ
#
# Fill the gap: the walk and the store of dq, about 10 lines. It is `by_hand`, tile by tile: load k and
# v; then P as in `p_kernel`, dP, dS and dQ, one line each. Given are:
#
# - `load_rows(x_ptr, head, start, L, D, ROWS, BLOCK_D)`: ROWS rows of a head, from row `start` on, with
#   zeros outside; `store_rows` stores such a tile. Keys are in `kv_head`.
# - `q`, `do`, `lse`, `delta` of your queries, and `dq`, all zeros.
# - `limit[i]`: query i sees the keys 0 to `limit[i]` − 1. So of a tile that begins at `start` it sees the
#   columns below `limit[i] - start`. **Set P to 0 elsewhere, after the exponential**: `tl.where(seen, p,
#   0.0)`. Not only where `causal` asks for it: past the end of K the score is 0, and P is
#   $e^{-\mathrm{lse}}$. That can be infinite, and infinity times 0 is NaN.
#
# `tl.dot(a, b, acc, input_precision="ieee")` gives acc + a b, for factors of one dtype. The scale stands
# in two places: in the scores, and once in dQ.

# %% tags=["answer"] key="flash_bwd_dq"
@triton.jit
def load_rows(
    x_ptr, head, start, L, D: tl.constexpr, ROWS: tl.constexpr, BLOCK_D: tl.constexpr
):
    """ROWS rows of a head of L rows, from row `start` on; zeros outside."""
    offs, offs_d = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK_D)[None, :]
    mask = (start + offs < L) & (offs_d < D)
    x_ptrs = x_ptr + (head * L + start) * D + (offs * D + offs_d)
    return tl.load(x_ptrs, mask=mask, other=0.0)


@triton.jit
def store_rows(
    x_ptr, head, start, L, x, D: tl.constexpr, ROWS: tl.constexpr, BLOCK_D: tl.constexpr
):
    """The tile x into rows `start`, `start` + 1, ... of a head of L rows."""
    offs, offs_d = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK_D)[None, :]
    mask = (start + offs < L) & (offs_d < D)
    x_ptrs = x_ptr + (head * L + start) * D + (offs * D + offs_d)
    tl.store(x_ptrs, x, mask=mask)


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, Lq, Lk, scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """dq = scale * ds k.

    One program = BLOCK_M queries of one head; the last ones see most and come first.
    Assumes contiguous tensors and BLOCK_D >= D.
    """
    num_tiles = tl.cdiv(Lq, BLOCK_M)
    first = (num_tiles - 1 - tl.program_id(0) % num_tiles) * BLOCK_M
    head = (tl.program_id(0) // num_tiles).to(tl.int64)
    kv_head = head // GROUP

    offs_m = first + tl.arange(0, BLOCK_M)
    q = load_rows(q_ptr, head, first, Lq, D, BLOCK_M, BLOCK_D)
    do = load_rows(do_ptr, head, first, Lq, D, BLOCK_M, BLOCK_D)
    lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0)
    delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0)
    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)

    limit = offs_m + 1 + Lk - Lq if IS_CAUSAL else tl.full([BLOCK_M], Lk, tl.int32)
    end = tl.minimum(Lk, tl.max(limit, axis=0))
    cols = tl.arange(0, BLOCK_N)[None, :]
    # TODO: for each tile of keys before `end` p, dp, ds, dq; store dq (about 10 lines)
    ### BEGIN SOLUTION
    for start in range(0, end, BLOCK_N):
        k = load_rows(k_ptr, kv_head, start, Lk, D, BLOCK_N, BLOCK_D)
        v = load_rows(v_ptr, kv_head, start, Lk, D, BLOCK_N, BLOCK_D)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = cols < (limit - start)[:, None]
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    store_rows(dq_ptr, head, first, Lq, dq * scale, D, BLOCK_M, BLOCK_D)
    ### END SOLUTION


def flash_bwd_dq(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    """dq of attention. tile: BLOCK_M queries, BLOCK_N keys (and launch options) to try."""
    tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, scale)
    tile = tile or tile_of(q.dtype, "BLOCK_M", "BLOCK_K", 1)
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    grid = (triton.cdiv(q.shape[2], tile["BLOCK_M"]) * q.shape[0] * q.shape[1],)
    dq_kernel[grid](*tensors, dq, *numbers, **flags, **tile)
    return dq

# %% [markdown] tags=["hint"] key="flash_bwd_dq"
# #### Hints for flash_bwd_dq
#
# <details><summary>Hint 1: a question</summary>
#
# Which quantities of `by_hand` exist tile by tile, which one grows during the walk, and which does not
# change?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `lse`, `delta` and `limit` have one number for each *row* of a tile. ds is float32, k may not be: `ds.to(k.dtype)`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, end, BLOCK_N):
#     # k and v of this tile
#     s = ...  # the scaled scores
#     seen = cols < ...  # [BLOCK_M, BLOCK_N]
#     p = ...
#     dp = ...
#     ds = ...
#     dq = tl.dot(..., ..., dq, input_precision="ieee")
# store_rows(...)  # what is still missing in dq?
# ```
#
# </details>

# %% tags=["check"] key="flash_bwd_dq" points=5
check(flash_bwd_dq)

# %% [markdown]
# ## Task 3. dK and dV
#
# A program owns BLOCK_N keys and walks down the queries. It computes every tile *transposed*: `st` has
# keys down and queries across. Then both results are plain products with a tile just loaded:
#
# $$S^T = \mathrm{scale}\cdot KQ^T \qquad dV\mathrel{+}=P^TdO \qquad dP^T = V\,dO^T \qquad
# dK\mathrel{+}=dS^TQ$$
#
# Two gaps: the walk, about 13 lines, and the stores. The walk begins with the lines for `offs_m`, q, do,
# lse and δ of your dQ kernel: copy them, with `start` for `first`. `since[j]` is the first query that
# sees key j. Rows past the end of Q and dO are zeros, and so is what they add: no mask.

# %% tags=["answer"] key="flash_bwd_dkdv"
@triton.jit
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, Lq, Lk, scale,
    GROUP: tl.constexpr, IS_CAUSAL: tl.constexpr, D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """dk = scale * ds^T q, dv = p^T do, summed over the heads that share k and v.

    One program = BLOCK_N keys of one head of k and v.
    Assumes contiguous tensors and BLOCK_D >= D.
    """
    num_tiles = tl.cdiv(Lk, BLOCK_N)
    first = tl.program_id(0) % num_tiles * BLOCK_N
    kv_head = (tl.program_id(0) // num_tiles).to(tl.int64)

    k = load_rows(k_ptr, kv_head, first, Lk, D, BLOCK_N, BLOCK_D)
    v = load_rows(v_ptr, kv_head, first, Lk, D, BLOCK_N, BLOCK_D)
    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)

    offs_n = first + tl.arange(0, BLOCK_N)
    since = offs_n - (Lk - Lq) if IS_CAUSAL else tl.zeros([BLOCK_N], tl.int32)
    begin = tl.maximum(0, tl.min(since, axis=0)) // BLOCK_M * BLOCK_M
    cols = tl.arange(0, BLOCK_M)[None, :]
    for g in range(GROUP):
        head = kv_head * GROUP + g
        # TODO: for each tile of queries from `begin` on: pt, dv, dst, dk (13 lines)
        ### BEGIN SOLUTION
        for start in range(begin, Lq, BLOCK_M):
            offs_m = start + tl.arange(0, BLOCK_M)
            q = load_rows(q_ptr, head, start, Lq, D, BLOCK_M, BLOCK_D)
            do = load_rows(do_ptr, head, start, Lq, D, BLOCK_M, BLOCK_D)
            lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0)
            delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0)
            st = tl.dot(k, tl.trans(q), input_precision="ieee") * scale
            seen = cols >= (since - start)[:, None]
            pt = tl.where(seen, tl.exp(st - lse[None, :]), 0.0)
            dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")
            dpt = tl.dot(v, tl.trans(do), input_precision="ieee")
            dst = pt * (dpt - delta[None, :])
            dk = tl.dot(dst.to(q.dtype), q, dk, input_precision="ieee")
        ### END SOLUTION

    # TODO: store dk and dv (2 lines)
    ### BEGIN SOLUTION
    store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)
    store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D)
    ### END SOLUTION


def flash_bwd_dkdv(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    """(dk, dv) of attention. tile: BLOCK_M queries, BLOCK_N keys (and launch options) to try."""
    tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, scale)
    # two sums stay in registers here: half of dq's tile, each way
    tile = tile or tile_of(q.dtype, "BLOCK_K", "BLOCK_M", 2)
    dk, dv = torch.empty((2, *k.shape), dtype=k.dtype, device=k.device)
    grid = (triton.cdiv(k.shape[2], tile["BLOCK_N"]) * k.shape[0] * k.shape[1],)
    dkdv_kernel[grid](*tensors, dk, dv, *numbers, **flags, **tile)
    return dk, dv


def flash_bwd(do, q, k, v, o, lse, causal=False, scale=None):
    """(dq, dk, dv) of attention."""
    do, q, k, v = (x.contiguous() for x in (do, q, k, v))
    given = do, q, k, v, lse, attention_delta(o, do), causal, scale
    return flash_bwd_dq(*given), *flash_bwd_dkdv(*given)

# %% [markdown] tags=["hint"] key="flash_bwd_dkdv"
# #### Hints for flash_bwd_dkdv
#
# <details><summary>Hint 1: a question</summary>
#
# In `st` queries run across. How do you write lse to subtract it from such a tile: `lse[:, None]` or
# `lse[None, :]`? And δ?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Your dQ kernel, line by line, with queries and keys exchanged. Query `start + cols` sees key j from `since[j]` on. Which of the two results takes the scale?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(begin, Lq, BLOCK_M):
#     # q, do, lse and delta of these queries of `head`
#     st = ...
#     seen = cols >= ...
#     pt = ...
#     dv = tl.dot(..., do, dv, input_precision="ieee")
#     # dP transposed, dS transposed, dk
# ```
#
# </details>

# %% tags=["check"] key="flash_bwd_dkdv" points=6
check(flash_bwd_dkdv)

# %% [markdown]
# ## Predict, then measure
#
# `flash_bwd` puts your three kernels together. The next cell times it after the forward pass and shows
# nothing. Without a GPU it fetches an H200's times.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel

flash_gqa = mine("flash_gqa", quiet=True)
B, H, L, D = (2, 32, 4096, 128) if DEVICE == "cuda" else (1, 1, 32, 16)
q, k, v, do = torch.randn(4, B, H, L, D, device=DEVICE, dtype=torch.float16).unbind(0)
leaves = [x.detach().requires_grad_() for x in (q, k, v)]


def of_flash():
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        o = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
        return torch.autograd.grad(o, leaves, do)


ways = {"forward": lambda: flash_gqa(q, k, v, True)}
ways["forward and backward"] = lambda: flash_bwd(do, q, k, v, *flash_gqa(q, k, v, True), True)
ways |= {"FlashAttention-2": of_flash} if DEVICE == "cuda" else {}
title = "Causal attention, 2 x 32 x 4096 x 128, float16"
timed = bench(ways, title=title, baseline=[*ways][1], warmup=1000, stored="flash_backward")

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that flash_bwd_dkdv reads from q: 64 tokens, causal, D = 16, float32": None,
        "times as long: forward and backward together over the forward pass alone": None,
    },
    measured=[
        lambda: traffic(
            flash_bwd_dkdv, *torch.randn(4, 1, 1, 64, 16, device=DEVICE),
            *torch.randn(2, 1, 1, 64, device=DEVICE), True, tile={"BLOCK_M": 16, "BLOCK_N": 16},
        )["q"],
        lambda: time_of(timed, "forward and backward", over="forward"),
    ],
    hints=[
        "Tiles of 16: four programs. Which queries does each of them need?",
        "Count the products of matrices in each of the three kernels.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** Program n owns the keys from 16 n on, and only the queries from there on see them: 64, 48,
# 32 and 16 rows of 64 bytes. 160 × 64 = 10,240.
#
# **The ratio.** The forward pass has two products, Q Kᵀ and P V. dQ takes three, dK and dV four: nine
# in all, and 9 / 2 = 4.5 if every product takes as long.
#
# </details>

# %%
timed

# %% [markdown]
# **Read it.** On the H200 the ratio is 4.6, nearly that of the products: they decide. FlashAttention-2
# has five products for your seven, and takes 1.14 times as long. It was written for the A100.
#
# ## Stretch: into autograd
#
# A `torch.autograd.Function` takes your kernels into training. `forward` keeps what `backward` will
# need. `backward` gets the gradient of the output and returns one value for **each argument** of
# `forward`, None for those without a gradient. Keep tensors with `ctx.save_for_backward`: then autograd
# notices if one was changed in between. Other values go on `ctx` itself: `ctx.scale = scale`.

# %% tags=["answer", "stretch"] key="flash_attention"
flash_gqa = mine("flash_gqa", quiet=True)  # (o, lse)


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        # TODO: o and lse, keep what backward needs, return o (4 lines)
        ### BEGIN SOLUTION
        o, lse = flash_gqa(q, k, v, causal, scale)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.scale = causal, scale
        return o
        ### END SOLUTION

    @staticmethod
    def backward(ctx, do):
        # TODO: take out what was kept, return five values (3 lines)
        ### BEGIN SOLUTION
        q, k, v, o, lse = ctx.saved_tensors
        dq, dk, dv = flash_bwd(do, q, k, v, o, lse, ctx.causal, ctx.scale)
        return dq, dk, dv, None, None
        ### END SOLUTION


def flash_attention(q, k, v, causal=False, scale=None):
    """Attention that autograd can differentiate: o, from q and k, v as in the contract."""
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
# `flash_bwd` takes eight arguments. One comes from autograd. Where do the other seven come from?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `ctx.save_for_backward(a, b)` keeps tensors, `ctx.saved_tensors` gives them back as a tuple in the
# same order. `forward` has five arguments after `ctx`: two of them are no tensors.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # forward
# o, lse = flash_gqa(...)
# ctx.save_for_backward(...)
# ...  # what is no tensor
# return o
#
# # backward: unpack, call flash_bwd, and return as many values as forward has arguments
# ```
#
# </details>

# %% tags=["check", "stretch"] key="flash_attention" points=0
check(flash_attention)

# %% [markdown]
# ## Recap
#
# - P is made again from lse, tile by tile. Nothing with Lq × Lk elements is stored.
# - δ, the row sum of o · do, replaces a first walk over the keys.
# - Queries own dQ, keys own dK and dV: no atomics, the same bits at every call.
# - Who owns keys walks over the queries of all heads that share them.
#
# <details><summary>Common mistakes</summary>
#
# - δ left out: dQ and dK are wrong, dV is right.
# - The scale forgotten in dQ or dK, or given to dV.
# - Scores masked with −∞ *before* the exponential. For a query that sees nothing lse is −∞ too, and −∞ −
#   (−∞) is NaN.
# - lse or δ along the wrong axis. In a square tile nothing complains.
# - `limit`, `since`, q or k changed in the walk: the next round begins with what is left.
# - In the copied lines of Task 3, `first` where this round's queries begin at `start`.
#
# </details>
#
# Sources: T. Dao and others, *FlashAttention*, 2022, appendix B; T. Dao, *FlashAttention-2*, 2023.
#
# Next: [44_llama_block](44_llama_block.ipynb), where all your kernels meet.

# %%
progress()
