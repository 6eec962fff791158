# ---
# workbook:
#   title: Scans, and attention with a state
#   minutes: 60
#   needs: interpreter
#   requires: [41_flash_attention]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - compute running sums of rows of any length, with a carry from tile to tile
#     - turn a loop in which each step needs the one before into a scan
#     - run attention without a softmax in linear time, with a state from chunk to chunk
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A **cumulative sum** keeps every total on the way:
#
# $$y_n = x_0 + x_1 + \dots + x_n$$
#
# Each total needs the one before. It looks like one thread's work. Addition is
# **associative**: (a + b) + c = a + (b + c), so group the sums as you like. Eight lanes need
# three steps, not seven:

# %%
draw = pictures("scan")
draw.draw_steps(lanes=8)

# %% [markdown]
# In each step a lane adds what another lane holds: 1, then 2, then 4 places to its left. What it holds
# covers 1, 2, 4, 8 inputs. A tile of 1,024 needs ten steps. That is a **scan**; each y contains its own
# x, so this one is *inclusive*.
#
# `tl.cumsum(x, axis=0)` is the scan with +. `tl.associative_scan` takes a function of your own.
#
# ## A smaller kernel first
#
# The largest number so far, for rows that fit in one tile. The maximum is associative too.


# %%
@triton.jit
def larger(left, right):
    return tl.maximum(left, right)


@triton.jit
def running_max_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    """y[m, n] = max(x[m, 0], ..., x[m, n]).

    One program = one row.
    Assumes contiguous rows and BLOCK_N >= N.
    """
    row = tl.program_id(axis=0).to(tl.int64) * N
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row + offs_n, mask=offs_n < N, other=float("-inf"))
    y = tl.associative_scan(x, axis=0, combine_fn=larger)
    tl.store(y_ptr + row + offs_n, y, mask=offs_n < N)


x = torch.tensor([[3.0, 1, 4, 1, 5, 9, 2], [2.0, 7, 1, 8, 2, 8, 1]], device=DEVICE)
y = torch.empty_like(x)
running_max_kernel[(2,)](x, y, 7, BLOCK_N=8)
y

# %% [markdown]
# `other=` is the **neutral element**: combined with anything, it changes nothing. Minus infinity for
# the maximum, 0 for the sum.
#
# **Predict.** Masked lanes stand at the end here. Would another `other=` spoil y?
#
# <details><summary>Answer</summary>
#
# No. What a lane holds goes to lanes on its right, and there only masked ones follow. It would spoil
# the last lane, though, and in Task 2 you need that one.
#
# </details>
#
# ## The contract
#
# | arguments | shape | result |
# |---|---|---|
# | `x` | (M, N), the numbers of a row side by side | `y`: new and contiguous, dtype of x |
# | `a`, `b` | (M, T), contiguous | `h`: as b; `last`: (M,), float32, h after the last step |
# | `q`, `k`, `v` | (B, H, T, D), contiguous | `o`: as q; `state`: (B, H, D, D), float32 |
#
# Any floating dtype. N, T ≥ 1, D is 16, 32, 64 or 128, B × H may pass 65,535. What is carried is **float32**, not
# cut to TF32. One launch each. What does not fit raises `ValueError`.

# %% tags=["reference"]
def cumsum_ref(x):
    return x.cumsum(dim=1)


def gated_scan_ref(a, b):
    """Step after step."""
    steps, h = [], torch.zeros_like(b[:, 0])
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        steps.append(h)
    return torch.stack(steps, dim=1), h.to(torch.float32)


def linear_attention_ref(q, k, v):
    """All T x T scores at once; those of the future are 0."""
    scores = (q @ k.transpose(-2, -1)).tril()
    return scores @ v, (k.transpose(-2, -1) @ v).to(torch.float32)

# %% [markdown]
# ## Task 1. Rows of any length
#
# A program walks through its row. Every tile gets a scan of its own. Then it needs the total of all
# tiles before it: the **carry**.

# %%
draw.draw_carry()

# %% [markdown]
# 4 lines: load the tile in float32, its running sums plus `carry`, store, and the carry
# for the next tile.

# %% tags=["answer"] key="cumsum_rows"
@triton.jit
def cumsum_kernel(x_ptr, y_ptr, N, stride_xm, stride_ym, BLOCK_N: tl.constexpr):
    """y[m, n] = x[m, 0] + ... + x[m, n].

    One program = one row, in tiles.
    Assumes that the numbers of a row lie side by side.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    x_row, y_row = x_ptr + pid_m * stride_xm, y_ptr + pid_m * stride_ym

    carry = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        # TODO: load, scan, store, and the next carry (4 lines)
        ### BEGIN SOLUTION
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        y = carry + tl.cumsum(x, axis=0)
        tl.store(y_row + offs_n, y, mask=offs_n < N)
        carry += tl.sum(x, axis=0)
        ### END SOLUTION


def cumsum_rows(x, block=2048):
    """Cumulative sums along the rows of x [M, N]: new, contiguous, in x's dtype."""
    if x.ndim != 2 or x.stride(1) != 1:
        raise ValueError("x must be (M, N), the numbers of a row side by side")
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    BLOCK_N = min(block, triton.next_power_of_2(N))
    if M > 0:
        cumsum_kernel[(M,)](x, y, N, x.stride(0), y.stride(0), BLOCK_N=BLOCK_N)
    return y

# %% [markdown] tags=["hint"] key="cumsum_rows"
# #### Hints for cumsum_rows
#
# <details><summary>Hint 1: a question</summary>
#
# The tiles have the sums 5, 2 and 4. What is the carry when the third tile begins?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 04 walks through a row in the same way. `tl.sum` gives a tile's total, without its carry.
# When may the carry change: before or after the tile has used it?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = ...  # to float32
# y = ...  # what came before, and the tile's own running sums
# # store
# carry += ...
# ```
#
# </details>

# %% tags=["check"] key="cumsum_rows" points=3
check(cumsum_rows)

# %% [markdown]
# ## A memory that fades
#
# Now a loop that is no sum:
#
# $$h_t = a_t\, h_{t-1} + b_t, \qquad h_{-1} = 0$$
#
# The **gate** a says how much of the past is kept, b is what is new. Mamba and its relatives put
# such memories in the place of attention.
#
# A step is a function, h → a h + b: a **pair** of numbers. Two steps, one after the other, are again
# such a function. And with functions, grouping never matters: *(f, then g), then h* does the same as
# *f, then (g, then h)*. So steps can be scanned.
#
# **Predict.** Step one is h → 2h + 1, step two h → 3h + 4. Which pair are both together? And in the
# other order?
#
# <details><summary>Answer</summary>
#
# 3(2h + 1) + 4 = 6h + 7: the pair (6, 7). In the other order 2(3h + 4) + 1 = 6h + 9. Grouping is free,
# the order is not.
#
# </details>
#
# ## Task 2. A scan of your own, from a blank page
#
# Three pieces, about 30 lines.
#
# 1. **`then(a1, b1, a2, b2)`**, with `@triton.jit`: the pair of step 1, then step 2. It returns two
#    values. `A, B = tl.associative_scan((a, b), axis=0, combine_fn=then)` calls it with the
#    *earlier* pair first.
# 2. **The kernel.** One program = one row, in tiles, all in float32. After the scan lane t holds the
#    pair of all steps of its tile up to t. It gets the carry, as any step gets an h. The next carry is
#    the **last lane** of h. A kernel cannot write `h[-1]`: put 0 in all other lanes with `tl.where`,
#    and take the sum. Masked lanes must hold a step that changes nothing. When all tiles are done the
#    carry is `last`.
# 3. **The wrapper**, as in Task 1. `block` is the tile's largest length.

# %% tags=["answer"] key="gated_scan"
# TODO: then, and the kernel (about 19 lines)
### BEGIN SOLUTION
@triton.jit
def then(a1, b1, a2, b2):
    return a2 * a1, a2 * b1 + b2


@triton.jit
def gated_scan_kernel(a_ptr, b_ptr, h_ptr, last_ptr, T, BLOCK_T: tl.constexpr):
    """h[m, t] = a[m, t] * h[m, t - 1] + b[m, t]; last[m] = h[m, T - 1].

    One program = one row, in tiles.
    Assumes contiguous tensors.
    """
    row = tl.program_id(axis=0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_T)

    carry = 0.0
    for start in range(0, T, BLOCK_T):
        offs, mask = row * T + start + lanes, start + lanes < T
        a = tl.load(a_ptr + offs, mask=mask, other=1.0).to(tl.float32)
        b = tl.load(b_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        A, B = tl.associative_scan((a, b), axis=0, combine_fn=then)
        h = A * carry + B
        tl.store(h_ptr + offs, h, mask=mask)
        carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0), axis=0)
    tl.store(last_ptr + row, carry)
### END SOLUTION


def gated_scan(a, b, block=2048):
    """h[t] = a[t] * h[t - 1] + b[t] along the rows of a, b [M, T]; returns h [M, T], last [M].

    ValueError where the shapes differ, or where a or b is not contiguous.
    """
    # TODO: check, allocate, grid, launch (about 10 lines)
    ### BEGIN SOLUTION
    if a.shape != b.shape or not a.is_contiguous() or not b.is_contiguous():
        raise ValueError("a and b must be contiguous, and of one shape (M, T)")
    M, T = b.shape
    h = torch.empty_like(b)
    last = torch.empty(M, dtype=torch.float32, device=b.device)
    BLOCK_T = min(block, triton.next_power_of_2(T))
    if M > 0:
        gated_scan_kernel[(M,)](a, b, h, last, T, BLOCK_T=BLOCK_T)
    return h, last
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="gated_scan"
# #### Hints for gated_scan
#
# <details><summary>Hint 1: a question</summary>
#
# Do the prediction above with letters: what comes out of a2 (a1 h + b1) + b2, and which factor stands
# before h?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `cumsum_kernel` has the walk. Three things differ: two loads with two neutral elements, the scan, and
# what follows from it. `1.0 * h + 0.0` is h. `last` needs a `tl.store` behind the loop, at the row's
# number.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# carry = 0.0
# for start in range(...):
#     # offsets, mask, then a and b in float32
#     A, B = ...  # the scan
#     h = ...  # the pair (A, B) is a step: from carry to h
#     # store h
#     carry = tl.sum(tl.where(..., h, 0.0), axis=0)
# # store last
# ```
#
# </details>

# %% tags=["check"] key="gated_scan" points=5
check(gated_scan)

# %% [markdown]
# **Is yours associative?** A GPU groups lanes much as in the first picture. So does the interpreter here:
# a `then` that is right only step after step gives wrong values.
#
# ## Attention without a softmax
#
# Leave the softmax out of causal attention:
#
# $$o_t = \sum_{s \le t} (q_t \cdot k_s)\, v_s = q_t \sum_{s \le t} k_s^T v_s = q_t\, S_t$$
#
# With nothing between the two products, the brackets may move. $S_t$ is a **state**: a matrix of D × D
# numbers, and each token adds $k^Tv$ to it. So it is a cumulative sum again, of matrices. However long
# the text, the state does not grow, and a token costs the same.
#
# But one token at a time is no work for tensor cores. So take **chunks** of C tokens:

# %%
draw.draw_chunks(chunks=4)

# %% [markdown]
# - **Inside the chunk:** the C × C scores of its own tokens, masked, times v. As on page 41, less
#   the softmax.
# - **All chunks before it:** q times the state, in one product.
# - **For the chunks after it:** the state grows by $k^Tv$ of the whole chunk.
#
# ## Task 3. From chunk to chunk
#
# Columns of the state do not meet: column e of o needs column e of v and S only. So a program takes one
# head and BLOCK_E columns, which makes more programs.
#
# Fill the gap, about 6 lines: four dots, the mask, and the store of o. Give each dot
# `input_precision="ieee"` and factors of one dtype. Scores and state are float32, so they are rounded
# **to enter a dot, and nowhere else**: `state.to(q.dtype)`.

# %% tags=["answer"] key="linear_attention"
@triton.jit
def linear_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, state_ptr, T,
    D: tl.constexpr, CHUNK: tl.constexpr, BLOCK_E: tl.constexpr,
):
    """o[t] = q[t] @ (sum over s <= t of k[s]^T v[s]); state = that sum over all s.

    One program = one head and BLOCK_E columns of v, o and state, chunk by chunk.
    Assumes contiguous tensors; D, CHUNK and BLOCK_E are powers of 2, at least 16.
    """
    head = tl.program_id(0).to(tl.int64)
    offs_t, offs_d = tl.arange(0, CHUNK), tl.arange(0, D)
    offs_e = tl.program_id(1) * BLOCK_E + tl.arange(0, BLOCK_E)
    causal = offs_t[:, None] >= offs_t[None, :]

    state = tl.zeros([D, BLOCK_E], tl.float32)
    for start in range(0, T, CHUNK):
        tokens = (start + offs_t)[:, None]
        rows, mask = (head * T + tokens) * D, tokens < T
        q = tl.load(q_ptr + rows + offs_d[None, :], mask=mask, other=0.0)
        k = tl.load(k_ptr + rows + offs_d[None, :], mask=mask, other=0.0)
        v = tl.load(v_ptr + rows + offs_e[None, :], mask=mask, other=0.0)
        o_ptrs = o_ptr + rows + offs_e[None, :]
        # TODO: o of this chunk, its store, and the state for the next (about 6 lines)
        ### BEGIN SOLUTION
        scores = tl.dot(q, tl.trans(k), input_precision="ieee")
        scores = tl.where(causal, scores, 0.0)
        o = tl.dot(scores.to(v.dtype), v, input_precision="ieee")
        o = tl.dot(q, state.to(q.dtype), o, input_precision="ieee")
        tl.store(o_ptrs, o, mask=mask)
        state = tl.dot(tl.trans(k), v, state, input_precision="ieee")
        ### END SOLUTION
    state_ptrs = state_ptr + (head * D + offs_d[:, None]) * D + offs_e[None, :]
    tl.store(state_ptrs, state)


def linear_attention(q, k, v, chunk=64):
    """Causal linear attention of q, k, v [B, H, T, D]: o as q, and the state [B, H, D, D].

    ValueError for other shapes, tensors that are not contiguous, and a D that is not supported.
    """
    B, H, T, D = q.shape
    if not q.shape == k.shape == v.shape or D not in (16, 32, 64, 128):
        raise ValueError("q, k and v must be of one shape (B, H, T, D), D 16, 32, 64 or 128")
    if not all(x.is_contiguous() for x in (q, k, v)):
        raise ValueError("q, k and v must be contiguous")
    o = torch.empty_like(q)
    state = torch.empty((B, H, D, D), dtype=torch.float32, device=q.device)
    BLOCK_E = min(D, 32)
    if B * H > 0:
        linear_attention_kernel[(B * H, D // BLOCK_E)](
            q, k, v, o, state, T, D=D, CHUNK=chunk, BLOCK_E=BLOCK_E
        )
    return o, state

# %% [markdown] tags=["hint"] key="linear_attention"
# #### Hints for linear_attention
#
# <details><summary>Hint 1: a question</summary>
#
# When a chunk begins, which tokens are in the state? Where do the others that token t may see come
# from, t itself among them?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 41 has the scores, `tl.trans(k)`, and `tl.dot(a, b, acc)`, which adds to `acc`. `causal` is True
# where row t may see column s. The state that o needs is the one from before this chunk.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# scores = ...  # [CHUNK, CHUNK], of the tokens of this chunk
# scores = tl.where(..., ..., 0.0)
# o = ...  # from inside the chunk, [CHUNK, BLOCK_E]
# o = ...  # and from all chunks before, on top
# # store o
# state = ...  # [D, BLOCK_E]: which of k and v is transposed?
# ```
#
# </details>

# %% tags=["check"] key="linear_attention" points=5
check(linear_attention)

# %% [markdown]
# ## Predict, then measure
#
# A dot of (m × k) and (k × n) has 2mnk floating point operations, *flops*. This cell counts them.


# %%
def flops(T):
    q, k, v = torch.randn(3, 1, 1, T, 16, device=DEVICE)
    return traffic(linear_attention, q, k, v, chunk=16).flops


# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bytes that cumsum_rows reads: 4 rows of 1,000, float32": None,
        "flops of linear_attention: 16 tokens, D = 16, chunks of 16": None,
        "flops for 64 tokens": None,
        "bytes of state: one head, D = 64": None,
    },
    measured=[
        lambda: traffic(cumsum_rows, torch.randn(4, 1000, device=DEVICE), block=256).read,
        lambda: flops(16),
        lambda: flops(64),
        lambda: linear_attention(*torch.randn(3, 1, 1, 16, 64, device=DEVICE))[1].nbytes,
    ],
    hints=[
        "How often is each number read?",
        "Four dots, and all their sides are 16.",
        "How many chunks?",
        "D times D, in float32.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 4 × 1,000 × 4 = 16,000: once each, also across tiles.
#
# **Flops.** 4 × 2 × 16³ = 32,768 for a chunk. 64 tokens are four chunks: 131,072. The scores of all
# tokens at once take 4 T² D: 262,144 for 64 tokens, and 16 times as many for 256.
#
# **State.** 64 × 64 × 4 = 16,384, after ten tokens or a million.
#
# </details>
#
# The first two kernels, in float32. Without a GPU you see an H200's times.

# %%
M, T = (8192, 8192) if DEVICE == "cuda" else (2, 20)
a, b = torch.rand(M, T, device=DEVICE), torch.randn(M, T, device=DEVICE)
sums = {"torch.cumsum": cumsum_ref, "cumsum_rows": cumsum_rows}
bench(
    sums, b, bytes=8 * M * T, baseline="torch.cumsum",
    title="Cumulative sums, 8192 rows of 8192 numbers", stored="scan_cumsum",
)

# %%
gates = {"PyTorch, step by step": gated_scan_ref, "gated_scan": gated_scan}
bench(
    gates, a, b, bytes=12 * M * T, baseline="PyTorch, step by step",
    title="Gated scan, 8192 rows of 8192 steps", stored="scan_gated",
)

# %% [markdown]
# **Read it.** Both scans read and write each number once. In the table that goes at 91 and 98 % of the
# speed of a copy. The loop launches two kernels for each step, and takes 1,400 times as long.
#
# Now attention, 64 heads of D = 64, bfloat16, over the length. *All scores* is the contract's
# reference. *Softmax attention* is PyTorch's fused kernel: another function, the one that this replaces.

# %%
from tritonbook.timing import bench_sweep

ways = {
    "all scores": linear_attention_ref,
    "softmax attention": lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=True
    ),
    "linear_attention": linear_attention,
}
chunk_linear_attn = None
if DEVICE == "cuda":
    try:
        from fla.ops.linear_attn import chunk_linear_attn
    except ImportError:
        print("flash-linear-attention is not installed: its row is missing")


def by_length(T):
    B, H, dtype = (4, 16, torch.bfloat16) if DEVICE == "cuda" else (1, 1, torch.float32)
    q, k, v = torch.randn(3, B, H, T, 64, device=DEVICE, dtype=dtype)
    fns = dict(ways)
    if chunk_linear_attn:
        theirs = [x.transpose(1, 2).contiguous() for x in (q, k, v)]  # (B, T, H, D)
        fns["flash-linear-attention"] = lambda *_: chunk_linear_attn(
            *theirs, scale=1.0, normalize=False, output_final_state=True
        )
    return {"fns": fns, "args": (q, k, v), "bytes": 4 * q.nbytes}


lengths = [512, 1024, 2048, 4096, 8192] if DEVICE == "cuda" else [64, 128]
lengths = bench_sweep(
    "tokens", lengths, by_length, title="Attention of 64 heads", stored="scan_attention"
)
lengths.plot("ms")

# %%
lengths

# %% [markdown]
# **Read it.** Twice the tokens: with scores there is four times as much to do, with a state twice as
# much. In the table that shows from 1,024 tokens on. At 8,192 the state is nine times as fast as the
# softmax.
#
# Yours has 64 × 2 programs, each with a long walk, whatever the length: with fewer heads, most of a GPU
# is idle. flash-linear-attention stores the chunks' states first, then works on all chunks at once.
# Its 0.17 to 0.37 ms are mostly launches from Python: without those, 512 tokens take 0.010 ms, as yours.
#
# The chunk is a dial. C = 1 is a loop over tokens, C = T is all scores.
#
# ## Recap
#
# - A scan needs an associative function, a neutral element, and a carry from tile to tile.
# - A step h → a h + b is a pair, and pairs can be scanned.
# - Linear attention: scores inside a chunk, a state between chunks, carried in float32.
#
# <details><summary>Common mistakes</summary>
#
# - The carry overwritten by the tile's total, or changed before the tile has used it.
# - `carry += ` the last lane of y: the old carry is in there already.
# - The arguments of `then` in the wrong order.
# - $h = A \sum b / A$ with A by `tl.cumprod`: A becomes 0 after some hundred gates, and 0 / 0
#   is NaN.
# - The state updated before o: the chunk counts twice, and its tokens see the future.
# - The carry or the state in half precision: small additions vanish.
#
# </details>
#
# Mamba-2 and gated linear attention join all three tasks: a gate on the state, and cumulative sums of
# the gates' logarithms inside a chunk. vLLM serves Mamba-2 and Qwen3-Next with chunk kernels in Triton;
# vLLM and SGLang took many of theirs from flash-linear-attention. FlagGems' `cumsum` shares a long row
# among programs: it scans their totals, and adds them in a second pass.
#
# Next: [54_linear_cross_entropy](54_linear_cross_entropy.ipynb).

# %%
progress()
