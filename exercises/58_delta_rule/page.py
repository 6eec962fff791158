# ---
# workbook:
#   title: A memory that corrects itself
#   minutes: 55
#   needs: interpreter
#   requires: [53_scan]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - decode a token with the gated delta rule, its state updated in place
#     - solve the tokens of a chunk together, with a triangular inverse made of tile products
#     - carry a state that fades from chunk to chunk, with no exponential above 1
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 53 keeps a text in a state S of D × D numbers. A token adds $k^Tv$, a query reads $qS$. Here that
# addition writes under **one** key twice:


# %%
@triton.jit
def add_kernel(k_ptr, v_ptr, state_ptr, D: tl.constexpr):
    """state += k^T v.

    One program = the whole state.
    """
    offs = tl.arange(0, D)
    k, v = tl.load(k_ptr + offs), tl.load(v_ptr + offs)
    state_ptrs = state_ptr + offs[:, None] * D + offs[None, :]
    tl.store(state_ptrs, tl.load(state_ptrs) + k[:, None] * v[None, :])


k = torch.tensor([0.6, 0.8, 0, 0], device=DEVICE)  # its length is 1
state = torch.zeros(4, 4, device=DEVICE)
for value in (5.0, 7.0):
    add_kernel[(1,)](k, torch.full_like(k, value), state, D=4)
k @ state

# %% [markdown]
# The memory answers 12: the sum. It cannot correct anything, and it fills up.
#
# The **delta rule** reads before it writes. It asks what the state holds under k, and writes the
# *difference* to v:
#
# $$u_t = \beta_t\,(v_t - k_t\, a_t S_{t-1}), \qquad S_t = a_t S_{t-1} + k_t^T u_t, \qquad o_t = q_t S_t$$

# %%
draw = pictures("delta_rule")
draw.draw_step()

# %% [markdown]
# $\beta$ says how much of the difference is written, from 0 to 1. The **gate** $a$ lets the whole state
# fade. Keys have length 1: so with $\beta = 1$ the next read under k gives v. Without gates, a = 1, this
# is DeltaNet; with them, Gated DeltaNet.
#
# ## The contract
#
# | arguments | shape | dtype |
# |---|---|---|
# | `q`, `k`, `v` | (B, H, T, D); for `delta_step` (B, H, D) | float32, float16, bfloat16; rows of k have length 1 |
# | `g` | (B, H, T); (B, H) | float32: log a, finite, 0 or less |
# | `beta` | (B, H, T); (B, H) | float32, 0 to 1 |
# | `state` | (B, H, D, D) | float32, the state to begin with; `delta_step` **changes it in place** |
#
# | function | result |
# |---|---|
# | `delta_step` | none: it writes the new state over `state`, and its last argument `o`, as `q` |
# | `within_chunks` | `inverse` and `scores` of Task 2: (B, H, chunks, chunk, chunk), dtype of k |
# | `delta_rule` | `o`: as q; the last state: (B, H, D, D), float32, new |
#
# All contiguous. D is 16, 32, 64 or 128, T is 1 or more, `chunk` 16, 32 or 64. Heads count in
# 64 bits, and B × H may pass 65,535: more than go along axis 1 of a grid.
# The state is carried in **float32**. float32 inputs are not cut to TF32: without tensor cores, their large
# tiles spill. `delta_step` and `within_chunks` are one launch each, `delta_rule` is two launches.

# %% tags=["reference"]
def delta_rule_ref(q, k, v, g, beta, state):
    """Token after token."""
    outs, dtype, (q, k, v) = [], q.dtype, (x.to(g.dtype) for x in (q, k, v))
    for t in range(q.shape[2]):
        now = (slice(None), slice(None), t, None)
        state = g[now][..., None].exp() * state
        u = beta[now][..., None] * (v[now] - k[now] @ state)
        state = state + k[now].transpose(-2, -1) @ u
        outs.append(q[now] @ state)
    return torch.cat(outs, dim=2).to(dtype), state


def require(state, g, beta, *vectors):
    B, H, *tokens, D = vectors[0].shape
    fits = all(x.shape == (B, H, *tokens, D) for x in vectors) and D in (16, 32, 64, 128)
    fits = fits and g.shape == beta.shape == (B, H, *tokens) and state.shape == (B, H, D, D)
    if not fits or not all(x.is_contiguous() for x in (state, g, beta, *vectors)):
        raise ValueError("the contract's shapes are needed, contiguous, D 16, 32, 64 or 128")

# %% [markdown]
# ## Task 1. One token
#
# Columns of the state do not meet, as on page 53: a program takes one head and BLOCK_E columns.
#
# 5 lines: the faded state, u, the new state, and two stores. `a` and `beta` are single numbers; k times
# the state is a `tl.sum` down its columns.

# %% tags=["answer"] key="delta_step"
@triton.jit
def delta_step_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, state_ptr, o_ptr,
    D: tl.constexpr, BLOCK_E: tl.constexpr,
):
    """u = beta (v - k a state); state = a state + k^T u; o = q state.

    One program = one head and BLOCK_E columns of its state.
    Assumes contiguous tensors.
    """
    head = tl.program_id(0).to(tl.int64)
    offs_d = tl.arange(0, D)
    offs_e = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
    state_ptrs = state_ptr + (head * D + offs_d[:, None]) * D + offs_e[None, :]
    o_ptrs = o_ptr + head * D + offs_e

    q = tl.load(q_ptr + head * D + offs_d).to(tl.float32)
    k = tl.load(k_ptr + head * D + offs_d).to(tl.float32)
    v = tl.load(v_ptr + head * D + offs_e).to(tl.float32)
    a, beta = tl.exp(tl.load(g_ptr + head)), tl.load(beta_ptr + head)
    # TODO: the faded state, u, the new state, its store and that of o (5 lines)
    ### BEGIN SOLUTION
    state = a * tl.load(state_ptrs)
    u = beta * (v - tl.sum(k[:, None] * state, axis=0))
    state += k[:, None] * u[None, :]
    tl.store(state_ptrs, state)
    tl.store(o_ptrs, tl.sum(q[:, None] * state, axis=0))
    ### END SOLUTION


def delta_step(q, k, v, g, beta, state, o):
    """One token: writes o [B, H, D], and the new state over `state` [B, H, D, D]."""
    require(state, g, beta, q, k, v, o)
    B, H, D = q.shape
    BLOCK_E = min(D, 32)
    delta_step_kernel[(B * H, D // BLOCK_E)](q, k, v, g, beta, state, o, D=D, BLOCK_E=BLOCK_E)

# %% [markdown] tags=["hint"] key="delta_step"
# #### Hints for delta_step
#
# <details><summary>Hint 1: a question</summary>
#
# Three times the state is used: by k, by the sum, by q. Before or after it fades? Before or after u is
# added?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `add_kernel` adds $k^Tv$; here u takes the place of v. `k[:, None] * state` gives row d of the state
# the factor k[d]. Which axis does the product k S sum over?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# state = ...  # loaded, and faded
# u = beta * (v - tl.sum(..., axis=...))
# state += ...
# # store the state, then o
# ```
#
# </details>

# %% tags=["check"] key="delta_step" points=3
check(delta_step)

# %% [markdown]
# ## A chunk of tokens at once
#
# Let S be the state when a chunk of C tokens begins, and $G_t$ the running sum of g in the chunk. From
# token s to t memory fades by $a_{s+1} \cdots a_t = e^{G_t - G_s}$. Token t reads S and what the chunk's
# earlier tokens wrote:
#
# $$u_t = \beta_t\,(v_t - e^{G_t} k_t S) - \sum_{s<t} L_{ts}\, u_s, \qquad L_{ts} = \beta_t\, e^{G_t - G_s}\, k_t \cdot k_s$$
#
# These are C linear equations: $(I + L)\,U = R$ with
# $R_t = \beta_t (v_t - e^{G_t} k_t S)$, and L is **strictly lower triangular**: 0 on the diagonal and
# above. So $U = (I + L)^{-1} R$, a product of tiles. L knows nothing of v or S: **the inverses of all
# chunks can be made at the same time**. So can the scores of o, $P_{ts} = e^{G_t - G_s}\, q_t \cdot k_s$
# for s ≤ t.
#
# **Predict.** $e^{G_t - G_s}$ is also $e^{G_t} \cdot e^{-G_s}$: factors for q and k, before their
# product. What happens when memory fades fast?
#
# <details><summary>Answer</summary>
#
# G falls and falls, and $e^{-G}$ overflows: beyond $e^{88}$ float32 has infinity only. Subtract
# first. For s ≤ t the exponent is 0 or less.
#
# </details>
#
# ## The inverse, by doubling
#
# Row after row it would take C steps. But a triangle of two blocks has this inverse:
#
# $$\begin{pmatrix} A & 0 \\ M & B \end{pmatrix}^{-1} = \begin{pmatrix} A^{-1} & 0 \\ -B^{-1} M A^{-1} & B^{-1} \end{pmatrix}$$
#
# Let X hold the inverses of all diagonal blocks of n × n, and M the parts of L that join two
# neighbours, a **pair**. Then $X - X M X$ holds the inverses of the blocks of 2n × 2n. Begin with
# X = I, blocks of one number. For C = 8:

# %%
draw.draw_doubling(size=8)

# %% [markdown]
# Lane t lies in block `t // size`. Blocks 0 and 1 are a pair, 2 and 3 too: their numbers differ in the
# last bit alone. So M is L where `(t // size) ^ (s // size) == 1`; `^` is exclusive or.
#
# ## Task 2. Within chunks
#
# About 13 lines. The loads are there, and `g` holds G; masked lanes hold 0, and so do their rows of L.
#
# 1. **One tile for mask and fading.** $G_t - G_s$ where s ≤ t, minus infinity elsewhere, by
#    `tl.where`. Its `tl.exp` is 0 there.
# 2. **Two products** with k transposed, of q and of k, times that tile, with
#    `input_precision="ieee"`. The first is P. The second, times beta, is L but for
#    the diagonal, where M does not look.
# 3. **The inverse** in float32: a loop, `while size < CHUNK`, with two products and
#    `input_precision=PRECISION`.
# 4. **Store** both tiles, without a mask, chunk after chunk, head after head.

# %% tags=["answer"] key="within_chunks"
@triton.jit
def within_chunks_kernel(
    q_ptr, k_ptr, g_ptr, beta_ptr, inverse_ptr, scores_ptr, T,
    D: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
):
    """inverse = (I + L)^-1, scores[t, s] = exp(G[t] - G[s]) q[t] . k[s] for s <= t.

    One program = one chunk of one head.
    Assumes contiguous tensors; D and CHUNK are powers of 2, at least 16.
    """
    head, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lanes, offs_d = tl.arange(0, CHUNK), tl.arange(0, D)
    rows, mask = head * T + chunk * CHUNK + lanes, chunk * CHUNK + lanes < T
    t, s = lanes[:, None], lanes[None, :]

    tile = rows[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + tile, mask=mask[:, None], other=0.0)
    k = tl.load(k_ptr + tile, mask=mask[:, None], other=0.0)
    g = tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=0.0), axis=0)
    beta = tl.load(beta_ptr + rows, mask=mask, other=0.0)

    # TODO: fade, scores, lower, the inverse, and two stores (about 13 lines)
    ### BEGIN SOLUTION
    fade = tl.exp(tl.where(s <= t, g[:, None] - g[None, :], float("-inf")))
    scores = fade * tl.dot(q, tl.trans(k), input_precision="ieee")
    lower = beta[:, None] * fade * tl.dot(k, tl.trans(k), input_precision="ieee")
    inverse = tl.where(s == t, 1.0, 0.0)
    size = 1
    while size < CHUNK:
        pairs = tl.where((t // size) ^ (s // size) == 1, lower, 0.0)
        product = tl.dot(inverse, pairs, input_precision=PRECISION)
        inverse -= tl.dot(product, inverse, input_precision=PRECISION)
        size *= 2

    tile = ((head * tl.num_programs(1) + chunk) * CHUNK + t) * CHUNK + s
    tl.store(inverse_ptr + tile, inverse)
    tl.store(scores_ptr + tile, scores)
    ### END SOLUTION


def within_chunks(q, k, g, beta, chunk):
    """(I + L)^-1 and the scores of each chunk: two (B, H, chunks, chunk, chunk), dtype of k."""
    B, H, T, D = k.shape
    require(k.new_empty((B, H, D, D)), g, beta, q, k)
    chunks = triton.cdiv(T, chunk)
    inverse, scores = k.new_empty((2, B, H, chunks, chunk, chunk))
    within_chunks_kernel[(B * H, chunks)](
        q, k, g, beta, inverse, scores, T, D=D, CHUNK=chunk,
        PRECISION="ieee" if k.dtype == torch.float32 else "tf32",
    )
    return inverse, scores

# %% [markdown] tags=["hint"] key="within_chunks"
# #### Hints for within_chunks
#
# <details><summary>Hint 1: a question</summary>
#
# Take C = 2 by hand: L has one number, l. What is $(I + L)^{-1}$? And what does one turn of the loop
# make of I?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `t` stands upright and `s` lies: `s <= t` is the mask of a tile. So `g` of token t is `g[:, None]`, and
# that of token s is `g[None, :]`. The tile that comes before this one: `head * tl.num_programs(1) + chunk`
# of them.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# fade = tl.exp(tl.where(..., ..., float("-inf")))  # [CHUNK, CHUNK]
# scores = ...
# lower = ...  # with beta of row t
# inverse = ...  # 1 on the diagonal
# size = 1
# while size < CHUNK:
#     pairs = tl.where(..., lower, 0.0)
#     inverse -= ...  # two products
#     size *= 2
# # store both
# ```
#
# </details>

# %% tags=["check"] key="within_chunks" points=6
check(within_chunks)

# %% [markdown]
# ## Task 3. From chunk to chunk
#
# What is left needs the state, and walks:
#
# $$U = (I + L)^{-1} R, \qquad O_t = e^{G_t} q_t S + (P\,U)_t, \qquad S \leftarrow e^{G_C} S + \sum_t e^{G_C - G_t}\, k_t^T u_t$$
#
# $G_C$ is `total`, and `g` holds G. About 7 lines, five dots. As on page 53 each has
# `input_precision="ieee"`, and what is float32 is rounded to the dtype of k **to enter a dot, and
# nowhere else**. `g` and `beta` stand upright, [CHUNK, 1].

# %% tags=["answer"] key="delta_rule"
from tritonbook import target_arch


@triton.jit
def delta_rule_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, inverse_ptr, scores_ptr, state_ptr,
    o_ptr, last_ptr, T,
    D: tl.constexpr, CHUNK: tl.constexpr, BLOCK_E: tl.constexpr,
):
    """The delta rule, chunk by chunk: o, and the state after the last token.

    One program = one head and BLOCK_E columns of v, o and state.
    Assumes contiguous tensors; D, CHUNK and BLOCK_E are powers of 2, at least 16.
    """
    head = tl.program_id(0).to(tl.int64)
    lanes, offs_d = tl.arange(0, CHUNK), tl.arange(0, D)
    offs_e = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
    states = (head * D + offs_d[:, None]) * D + offs_e[None, :]
    tiles = (head * tl.cdiv(T, CHUNK) * CHUNK + lanes[:, None]) * CHUNK + lanes[None, :]

    q_ptr += head * T * D
    k_ptr += head * T * D
    state = tl.load(state_ptr + states)
    for start in range(0, T, CHUNK):
        rows, mask = head * T + start + lanes, start + lanes < T
        g = tl.load(g_ptr + rows, mask=mask, other=0.0)
        g, total = tl.cumsum(g, axis=0)[:, None], tl.sum(g)
        rows, mask = rows[:, None], mask[:, None]
        # offsets of 32 bits: fewer registers
        tile = (start + lanes[:, None]) * D + offs_d[None, :]
        q = tl.load(q_ptr + tile, mask=mask, other=0.0)
        k = tl.load(k_ptr + tile, mask=mask, other=0.0)
        v = tl.load(v_ptr + rows * D + offs_e[None, :], mask=mask, other=0.0)
        beta = tl.load(beta_ptr + rows, mask=mask, other=0.0)
        inverse = tl.load(inverse_ptr + tiles + start * CHUNK)
        scores = tl.load(scores_ptr + tiles + start * CHUNK)
        o_ptrs = o_ptr + rows * D + offs_e[None, :]
        # TODO: U, o and its store, and the state for the next chunk (about 7 lines)
        ### BEGIN SOLUTION
        old = tl.exp(g) * tl.dot(k, state.to(k.dtype), input_precision="ieee")
        u = tl.dot(inverse, (beta * (v - old)).to(k.dtype), input_precision="ieee")
        o = tl.exp(g) * tl.dot(q, state.to(k.dtype), input_precision="ieee")
        o = tl.dot(scores, u.to(k.dtype), o, input_precision="ieee")
        tl.store(o_ptrs, o, mask=mask)
        u = (u * tl.exp(total - g)).to(k.dtype)
        state = tl.dot(tl.trans(k), u, tl.exp(total) * state, input_precision="ieee")
        ### END SOLUTION
    tl.store(last_ptr + states, state)


def delta_rule(q, k, v, g, beta, state, chunk=64):
    """The gated delta rule over q, k, v [B, H, T, D] from `state`: o, and the last state."""
    require(state, g, beta, q, k, v)
    B, H, T, D = q.shape
    inverse, scores = within_chunks(q, k, g, beta, chunk)
    o, last = torch.empty_like(q), torch.empty_like(state)
    BLOCK_E = min(D, 32)
    warps = 4 if D < 128 or target_arch() >= 90 else 8  # 4 would spill on an A100
    delta_rule_kernel[(B * H, D // BLOCK_E)](
        q, k, v, g, beta, inverse, scores, state, o, last, T,
        D=D, CHUNK=chunk, BLOCK_E=BLOCK_E, num_warps=warps,
        num_stages=3 if k.element_size() == 2 else 2,
    )
    return o, last

# %% [markdown] tags=["hint"] key="delta_rule"
# #### Hints for delta_rule
#
# <details><summary>Hint 1: a question</summary>
#
# R reads the state that the chunk begins with. How far has it faded when token t reads it? And how far has
# u of token t faded when the chunk ends?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Compare with page 53: scores and the product with the state are there. New are `inverse`, three
# exponentials, and u in the place of v. `tl.dot(a, b, acc)` adds to `acc`, which may be
# `tl.exp(total) * state`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# old = ...  # exponential times a dot: what the state holds under k
# u = tl.dot(inverse, ..., input_precision="ieee")
# o = ...  # from the state
# o = tl.dot(scores, ..., o, input_precision="ieee")
# # store o
# u = ...  # faded until the chunk's end
# state = tl.dot(..., u, ..., input_precision="ieee")
# ```
#
# </details>

# %% tags=["check"] key="delta_rule" points=5
check(delta_rule)

# %% [markdown]
# ## Predict, then measure
#
# A dot of (m × k) and (k × n) has 2mnk *flops*.


# %%
def text(B, H, T, D, dtype=torch.float32):
    q, k, v = torch.randn(3, B, H, T, D, device=DEVICE)
    k = torch.nn.functional.normalize(k, dim=-1)
    g, beta = -0.1 * torch.rand(B, H, T, device=DEVICE), torch.rand(B, H, T, device=DEVICE)
    return *(x.to(dtype) for x in (q, k, v)), g, beta, torch.zeros(B, H, D, D, device=DEVICE)


q, k, v, g, beta, state = text(1, 1, 32, 16)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {"flops of within_chunks: 32 tokens, D = 16, chunks of 16": None},
    measured=[lambda: traffic(within_chunks, q, k, g, beta, 16).flops],
    hints=["Two products of keys, and two in each turn of the loop. How many turns for 16?"],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# 2 + 4 × 2 = 10 products of 2 × 16³ flops, for two chunks: 163,840. Chunks of 64 have 12
# products in the loop, each 64 times as large, for four times the tokens: long chunks cost.
#
# </details>
#
# Now one token of 64 sequences with 32 heads, bfloat16, D = 128.

# %%
one = text(64, 32, 1, 128, torch.bfloat16) if DEVICE == "cuda" else text(1, 2, 1, 16)
token, state = [x[:, :, 0].contiguous() for x in one[:5]], one[5]
o = torch.empty_like(token[0])
bench(
    {"PyTorch": lambda: delta_rule_ref(*one), "delta_step": lambda: delta_step(*token, state, o)},
    bytes=2 * state.nbytes, baseline="PyTorch",
    title="One token, 2048 heads of D = 128", stored="delta_step",
)

# %% [markdown]
# **Read it.** A state has 64 KiB, a token's q, k, v and o have 1 KiB: a step is a copy of the state.

# %%
from tritonbook.timing import bench_sweep


def by_length(T):
    given = text(4, 16, T, 128, torch.bfloat16) if DEVICE == "cuda" else text(1, 1, T, 16)
    tokens = [[x[:, :, t].contiguous() for x in given[:5]] for t in range(T)]
    o = torch.empty_like(tokens[0][0])

    def step_by_step(*_):
        for token in tokens:
            delta_step(*token, given[5], o)

    fns = {"delta_step, token by token": step_by_step, "delta_rule": delta_rule}
    return {"fns": fns, "args": given, "bytes": 4 * given[0].nbytes}


lengths = [512, 1024, 2048, 4096, 8192] if DEVICE == "cuda" else [16, 64]
lengths = bench_sweep(
    "tokens", lengths, by_length, title="Delta rule, 64 heads, D 128", stored="delta_rule"
)
lengths.plot("ms")

# %%
lengths

# %% [markdown]
# **Read it**, in the lines *GPU alone*. Token by token, each moves 128 KiB of state a head. In chunks the
# state stays with its program, and a token brings 1 KiB of q, k, v and o, and its rows of the two tiles.
#
# ## Recap
#
# - The delta rule writes the difference to what the memory holds.
# - In a chunk the differences are C equations. Their inverse needs keys, gates and beta alone, so all
#   chunks have theirs before the walk.
# - Gates are logarithms: summed, subtracted, and then an exponential of at most 1.
#
# <details><summary>Common mistakes</summary>
#
# - The old value read before the state has faded.
# - $e^{-G}$ by itself: it overflows where memory fades fast.
# - $(I - L)(I + L^2)(I + L^4) \cdots$: equal on paper. But if one key comes again and again, the powers
#   of L grow beyond $10^{17}$ in a chunk of 64 and cancel; float32 has seven digits.
# - L with beta of the column: beta belongs to the token that reads.
# - The state in half precision: small corrections vanish.
#
# </details>
#
# Qwen3-Next keeps such states in most of its layers; vLLM and SGLang serve it with kernels from
# flash-linear-attention. There blocks of 16 are inverted row after row, and joined as here.
#
# Next: [59_same_bits](59_same_bits.ipynb).

# %%
progress()
