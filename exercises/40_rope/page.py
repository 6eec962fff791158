# ---
# workbook:
#   title: RoPE
#   minutes: 40
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - turn queries and keys by their position, for any memory layout and number of heads
#     - tell the two pairings apart that are both called RoPE
#     - write a backward pass that needs nothing but the forward kernel and a sign
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Attention compares a query with a key by their dot product, which does not know where in the text
# the two stand. *Rotary position embedding* (RoPE, by Su and others, 2021) tells it.
#
# Take the numbers of a query two at a time. Each pair is an arrow in a plane. At position p it is
# turned by the angle p × θ, and each pair has a θ of its own. Keys are turned in the same way. Then a
# query at position 7 and a key at position 4 are turned against each other by 3 × θ, and so are those
# at 107 and 104. *Only the distance counts.*
#
# In the picture two pairs turn with their position, the second with a smaller θ.

# %%
from tritonbook.seeing.pictures_attention import draw_rotation

draw_rotation(positions=6, thetas=(0.5, 0.12))

# %% [markdown]
# Turning the arrow (a, b) by an angle takes four products:
#
# $$a' = a \cos - b \sin \qquad b' = b \cos + a \sin$$
#
# Try the claim before you believe it:

# %%
def turn_pair(pair, angle):
    a, b = pair
    cos, sin = torch.cos(angle), torch.sin(angle)
    return torch.stack((a * cos - b * sin, b * cos + a * sin))


query, key, theta = torch.randn(2), torch.randn(2), torch.tensor(0.3)
for p, s in [(7, 4), (107, 104), (7, 5)]:
    score = turn_pair(query, p * theta) @ turn_pair(key, s * theta)
    print(f"query at {p:3}, key at {s:3}: score {score:.4f}")

# %% [markdown]
# **How large is θ?** A query has D numbers, so D/2 pairs. Pair i takes θ = base^(−2i/D): 1 for the
# first pair, and less for each one after it. The base is 10,000 in the paper and 500,000 in Llama 3.

# %%
def angles(L, D, base=500_000.0):
    theta = base ** (-torch.arange(0, D, 2, device=DEVICE) / D)  # of each pair, [D/2]
    return torch.arange(L, device=DEVICE)[:, None] * theta  # of each position, [L, D/2]


for pair in (0, 16, 32, 63):
    theta = float(angles(2, 128)[1, pair])
    print(f"pair {pair:2}: theta {theta:.7f}, once round in {6.2832 / theta:,.0f} tokens")

# %% [markdown]
# In a hundred tokens the first pair goes round many times: it tells near places apart, not far ones.
# The last pairs do that. A larger base makes them slower, for longer texts.
#
# ## Which two numbers are a pair?
#
# Two answers are in use, both called RoPE.
#
# - **Half-split** (Llama in Hugging Face, GPT-NeoX): element i goes with element i + D/2.
# - **Interleaved** (the original paper, Meta's own Llama code): element 2i goes with 2i + 1.
#
# Weights trained with one give nonsense with the other, and nothing crashes. You will support both:
# only the columns of the two partners differ.
#
# ## A smaller kernel first
#
# This kernel turns every arrow of a row by 90 degrees: (a, b) becomes (−b, a). The partners are half a
# row apart. So there are *two* tiles of columns for one row, `first` and `second`.


# %%
@triton.jit
def quarter_turn_kernel(
    x_ptr, y_ptr,
    stride_xm, stride_xd,
    stride_ym, stride_yd,
    HALF: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """y[m] = x[m] with each pair (x[i], x[i + HALF]) turned by 90 degrees.

    One program = one row of 2 * HALF elements.
    Assumes BLOCK_P >= HALF.
    """
    row = tl.program_id(0)

    offs_p = tl.arange(0, BLOCK_P)  # the number of the pair
    mask_p = offs_p < HALF
    first = offs_p
    second = offs_p + HALF

    x_row = x_ptr + row * stride_xm
    a = tl.load(x_row + first * stride_xd, mask=mask_p)
    b = tl.load(x_row + second * stride_xd, mask=mask_p)

    y_row = y_ptr + row * stride_ym
    tl.store(y_row + first * stride_yd, -b, mask=mask_p)
    tl.store(y_row + second * stride_yd, a, mask=mask_p)


def quarter_turn(x):
    M, D = x.shape
    y = torch.empty_like(x)
    BLOCK_P = triton.next_power_of_2(D // 2)
    quarter_turn_kernel[(M,)](x, y, *x.stride(), *y.stride(), HALF=D // 2, BLOCK_P=BLOCK_P)
    return y


quarter_turn(torch.arange(12.0, device=DEVICE).reshape(2, 6))

# %%
show_tiles(quarter_turn, torch.arange(12.0, device=DEVICE).reshape(2, 6))

# %% [markdown]
# **Predict.** You turn by 90 degrees four times. What do you get? And what do you get if the second
# store reads `b` instead of `a`?
#
# <details><summary>Answer</summary>
#
# Four quarter turns give back what you began with. With `b` in the second store the first half
# becomes −b and the second half stays b: the `a` is lost. A rotation never loses anything. That
# makes a good test: turn, turn back, compare.
#
# </details>

# %% [markdown]
# ## The contract
#
# There are B ≤ 65,535 texts of L tokens. Each token has H queries and HK keys, one for each *head*, of D numbers.
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, L, D), any strides, D even | floating | queries, not changed |
# | `k` | (B, HK, L, D), any strides | as `q` | keys, not changed; HK may be less than H |
# | `cos`, `sin` | (P, D/2) or (P, D) | floating | a row for each position, P ≥ `pos_offset` + L |
# | `pos_offset` | | int | position of the first token |
# | `out` | None, or two tensors as `q` and `k` | as `q` | where the results go; (q, k) itself writes over them |
# | results | as `q` and as `k` | as `q` | `out`, or new tensors |
#
# - Token l has the position `pos_offset + l`. The offset is 0 while a text is read. While a model writes,
#   L is 1 and the offset grows.
# - A table D wide holds each angle twice: again after D/2 columns (half-split), or right beside it
#   (interleaved). `one_copy` takes one of them.
# - `q` often comes as `x.view(B, L, H, D).transpose(1, 2)`: the heads of a token lie side by side. With
#   strides you need not care.
# - Arithmetic is float32, rounded once at the store. One launch, no copy.
#
# **Memory traffic.** Every element of q and k is read once and written once. The tables are small, and
# all heads of a token share a row of them. So one program takes **one token with all its heads**, and
# loads that row once.

# %% tags=["reference"]
def one_copy(table, D, interleaved):
    """The columns to use, (P, D/2), of a table that may hold each angle twice."""
    return table[:, :: table.shape[1] * 2 // D] if interleaved else table[:, : D // 2]


def rope_ref(q, k, cos, sin, interleaved=False, pos_offset=0):
    L, D = q.shape[2:]
    c, s = (one_copy(t, D, interleaved)[pos_offset : pos_offset + L] for t in (cos, sin))
    rows, dim = ((D // 2, 2), -1) if interleaved else ((2, D // 2), -2)  # D/2 pairs, two halves
    pairs = [x.unflatten(-1, rows).unbind(dim) for x in (q, k)]
    return tuple(torch.stack((a * c - b * s, b * c + a * s), dim).flatten(-2) for a, b in pairs)


def check_rope_inputs(q, k, cos, sin, pos_offset, out=None):
    """Raise ValueError unless shapes fit together; see the contract."""
    shapes = [tuple(x.shape) for x in (q, k, *(out or (q, k)), cos, sin)]
    (B, _, L, D), (P, width) = q.shape, cos.shape
    fits = D % 2 == 0 and k.shape == (B, k.shape[1], L, D) and width in (D, D // 2)
    fits = fits and shapes[:2] == shapes[2:4] and cos.shape == sin.shape
    if not fits or not 0 <= pos_offset <= P - L:
        raise ValueError(f"q, k, results, cos, sin: {shapes}, positions from {pos_offset} on")

# %% [markdown]
# ## Task 1. Turn one token
#
# The kernel and its wrapper are given. A kernel may call another function with `@triton.jit`: this one
# calls `turn_heads` for the heads of q, then for those of k. Fill its gap, about 8 lines. You have:
#
# - `x_rows` and `y_rows`: where each head of the token begins, in the input and in the output,
#   `[BLOCK_H, 1]`,
# - `offs_p`: the number of each pair, `[1, BLOCK_P]`, and `mask` for the whole tile,
# - `cos` and `sin`: one number for each pair, `[1, BLOCK_P]`, already in float32.
#
# An `if` on a constexpr such as `INTERLEAVED` costs nothing: Triton compiles one branch only.

# %% tags=["answer"] key="rope"
@triton.jit
def turn_heads(
    x_ptr, y_ptr, cos, sin,
    stride_xh, stride_xd,
    stride_yh, stride_yd,
    H: tl.constexpr, HALF: tl.constexpr, INTERLEAVED: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """y = x, the pairs of one token's H heads turned by the angles of cos and sin."""
    offs_h = tl.arange(0, BLOCK_H)[:, None]
    offs_p = tl.arange(0, BLOCK_P)[None, :]  # the number of the pair
    mask = (offs_h < H) & (offs_p < HALF)
    x_rows = x_ptr + offs_h * stride_xh  # where each head begins
    y_rows = y_ptr + offs_h * stride_yh

    # TODO: the columns of both partners (4 lines); load both, store both (4 lines)
    ### BEGIN SOLUTION
    if INTERLEAVED:
        first, second = 2 * offs_p, 2 * offs_p + 1
    else:
        first, second = offs_p, offs_p + HALF

    a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)
    b = tl.load(x_rows + second * stride_xd, mask=mask).to(tl.float32)

    tl.store(y_rows + first * stride_yd, a * cos - b * sin, mask=mask)
    tl.store(y_rows + second * stride_yd, b * cos + a * sin, mask=mask)
    ### END SOLUTION


@triton.jit
def rope_kernel(
    q_ptr, k_ptr, q_out_ptr, k_out_ptr, cos_ptr, sin_ptr,
    pos_offset,
    stride_qb, stride_qh, stride_ql, stride_qd,
    stride_kb, stride_kh, stride_kl, stride_kd,
    stride_ob, stride_oh, stride_ol, stride_od,
    stride_pb, stride_ph, stride_pl, stride_pd,
    stride_cl, stride_cd,
    stride_sl, stride_sd,
    SIGN: tl.constexpr, H: tl.constexpr, HK: tl.constexpr, HALF: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_HK: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """(a, b) -> (a cos - b SIGN sin, b cos + a SIGN sin), each pair.

    One program = one token, with all heads of q and of k.
    Assumes BLOCK_H >= H, BLOCK_HK >= HK, BLOCK_P >= HALF.
    """
    # int64: with many tokens, number times stride passes 2^31
    token, b = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)

    offs_p = tl.arange(0, BLOCK_P)[None, :]
    mask_p = offs_p < HALF
    cos_row = cos_ptr + (pos_offset + token) * stride_cl
    sin_row = sin_ptr + (pos_offset + token) * stride_sl
    cos = tl.load(cos_row + offs_p * stride_cd, mask=mask_p).to(tl.float32)
    sin = tl.load(sin_row + offs_p * stride_sd, mask=mask_p).to(tl.float32) * SIGN

    turn_heads(
        q_ptr + b * stride_qb + token * stride_ql,
        q_out_ptr + b * stride_ob + token * stride_ol,
        cos, sin,
        stride_qh, stride_qd, stride_oh, stride_od,
        H, HALF, INTERLEAVED, BLOCK_H, BLOCK_P,
    )
    turn_heads(
        k_ptr + b * stride_kb + token * stride_kl,
        k_out_ptr + b * stride_pb + token * stride_pl,
        cos, sin,
        stride_kh, stride_kd, stride_ph, stride_pd,
        HK, HALF, INTERLEAVED, BLOCK_HK, BLOCK_P,
    )


def launch_rope(q, k, q_out, k_out, cos, sin, interleaved, pos_offset, sign):
    """Turn q into q_out and k into k_out, forwards (sign 1.0) or backwards (sign -1.0)."""
    (B, H, L, D), HK = q.shape, k.shape[1]
    cos, sin = one_copy(cos, D, interleaved), one_copy(sin, D, interleaved)
    BLOCK_H, BLOCK_P = triton.next_power_of_2(H), triton.next_power_of_2(D // 2)
    rope_kernel[(L, B)](
        q, k, q_out, k_out, cos, sin,
        pos_offset,
        *q.stride(), *k.stride(), *q_out.stride(), *k_out.stride(),
        *cos.stride(), *sin.stride(),
        SIGN=sign, H=H, HK=HK, HALF=D // 2, INTERLEAVED=interleaved,
        BLOCK_H=BLOCK_H, BLOCK_HK=triton.next_power_of_2(HK), BLOCK_P=BLOCK_P,
        num_warps=min(8, max(1, BLOCK_H * BLOCK_P // 256)),  # few heads need few threads
    )  # fmt: skip


def rope(q, k, cos, sin, interleaved=False, pos_offset=0, out=None):
    """q and k turned by their positions: two new tensors, or `out`, which may be (q, k).

    No two elements of a tensor in `out` may share their memory.
    """
    check_rope_inputs(q, k, cos, sin, pos_offset, out)
    q_out, k_out = out or (torch.empty_like(q), torch.empty_like(k))
    launch_rope(q, k, q_out, k_out, cos, sin, interleaved, pos_offset, 1.0)
    return q_out, k_out

# %% [markdown] tags=["hint"] key="rope"
# #### Hints for rope
#
# <details><summary>Hint 1: a question</summary>
#
# D is 8, so there are 4 pairs. In which two columns does pair number 3 lie in the half-split form?
# And in the interleaved form?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `quarter_turn_kernel` above has the two column tiles, the two loads and the two stores. New is that
# the addresses are `[BLOCK_H, 1]` plus `[1, BLOCK_P]`: a tile of heads × pairs. And that there are four
# products.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if INTERLEAVED:
#     first, second = ...
# else:
#     first, second = ...
#
# # load a and b, in float32: which stride leads from column to column of x?
# # store a' and b': which one in y?
# ```
#
# </details>

# %% tags=["check"] key="rope" points=6
check(rope)

# %% [markdown]
# **Look at what you wrote.** One text, 3 heads, 4 tokens, D = 8. In memory the tensor is (heads, tokens,
# D), so program 1 touches rows 1, 5 and 9.

# %%
x = torch.randn(1, 3, 4, 8, device=DEVICE)
tables = torch.randn(2, 4, 4, device=DEVICE).unbind(0)
show_tiles(rope, x, x.clone(), *tables)

# %% [markdown]
# **In place.** `out=(q, k)` turns q and k where they lie. That is safe: a program loads both partners
# before it stores one, and no other program touches them. No new tensor is needed, but the old q and k
# are gone.
#
# ## Predict, then measure
#
# For B = 2, L = 4096, 32 heads of q and 8 of k, D = 128 in bfloat16 there are 2 × 4096 × 40 × 128 elements,
# with 4 bytes each for one read and one write: 168 MB. In the interleaved form each load takes every second
# element. Does that matter? The cell shows nothing yet. Without a GPU it fetches an H200's times. That GPU
# copies 4,150 GB/s.

# %%
B, L, H, HK, D = 2, 4096, 32, 8, 128
q = torch.randn(B, L, H, D, device=DEVICE, dtype=torch.bfloat16).transpose(1, 2)
k = torch.randn(B, L, HK, D, device=DEVICE, dtype=torch.bfloat16).transpose(1, 2)
cos, sin = angles(L, D).cos().bfloat16(), angles(L, D).sin().bfloat16()
copies = q.clone(), k.clone()

ways = {
    "torch": rope_ref,
    "rope": rope,
    "rope, interleaved": lambda *given: rope(*given, interleaved=True),
    "rope, in place": lambda q, k, *tables: rope(*copies, *tables, out=copies),
    "torch.compile": torch.compile(rope_ref, dynamic=False),
}
timed = bench(
    ways,
    q, k, cos, sin,
    bytes=4 * B * L * (H + HK) * D,
    baseline="rope",
    title="RoPE, 2 x 4096, 32 and 8 heads of 128, bfloat16",
    stored="rope",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that rope reads from q, 1 x 4 x 16 x 32 float32": None,
        "ms of rope for the 168 MB": None,
        "times as long: rope, interleaved over rope": None,
    },
    measured=[
        lambda: traffic(
            rope,
            torch.randn(1, 4, 16, 32, device=DEVICE),
            torch.randn(1, 2, 16, 32, device=DEVICE),
            *torch.randn(2, 16, 16, device=DEVICE),
        )["q"],
        lambda: time_of(timed, "rope"),
        lambda: time_of(timed, "rope, interleaved", over="rope"),
    ],
    hints=[
        "Each element of q is read once, and has 4 bytes.",
        "168 MB at the speed of a copy. 1 GB/s is 1,000,000 bytes in a millisecond.",
        "A thread can load 16 bytes at once, if they lie side by side.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 4 × 16 × 32 elements of 4 bytes: 8,192.
#
# **Milliseconds.** 168 MB at an H200's 4,150 GB/s: 0.040. It took 0.047.
#
# **Interleaved.** A thread has 8 pairs of q. Half-split, their first partners lie side by side: one load
# of 16 bytes. Interleaved, they lie two apart: eight loads of 2 bytes. If the time goes with the number
# of loads and stores, the ratio is 8. It was 12.
#
# </details>

# %%
timed

# %% [markdown]
# **Read it.** On an H200 `rope` runs at 86 % of the speed of a copy, since every byte is moved once.
# Together the operators of `rope_ref` read or write nine whole tensors, your kernel two: `a * c` reads half
# a tensor and writes half a tensor, and so on. That is 4.5 times the bytes. It took eleven times as long.
#
# The interleaved form moves the same bytes and takes more than ten times as long. Ask the compiler why:

# %%
for interleaved in (False, True):
    (kernel,) = facts(rope, q, k, cos, sin, interleaved=interleaved, arch=80)
    print(f"interleaved={interleaved}: {kernel.loads} loads, {kernel.stores} stores,", end=" ")
    print(f"of several elements at once {kernel.vector_loads} and {kernel.vector_stores}")

# %% [markdown]
# Where the elements lie two apart, no load takes several at once. The way out is to load whole rows,
# and to take the pairs apart in registers: `tl.reshape` to [..., 2], then `tl.split`, and `tl.join` on
# the way back. Page 66 does it: twelve times as fast.

# %% [markdown]
# ## Task 2. Backwards
#
# Training has the gradient of the loss for the turned q, and needs it for q itself. A rotation is a
# matrix R. Gradients go back through its transpose, and that of a rotation is *the rotation back*.
# Written out for one pair:
#
# $$a' = a \cos - b \sin, \quad b' = b \cos + a \sin \quad\Rightarrow\quad
# da = da' \cos + db' \sin, \quad db = db' \cos - da' \sin$$
#
# So nothing has to be kept from the forward pass but the tables. Write the wrapper, about 3 lines:
# `launch_rope` does the work. The gradients you are given stay as they are.

# %% tags=["answer"] key="rope_backward"
def rope_backward(dq, dk, cos, sin, interleaved=False, pos_offset=0):
    """Gradients of q and k, from those of the turned q and k (shapes as in `rope`)."""
    check_rope_inputs(dq, dk, cos, sin, pos_offset)
    # TODO: two new tensors, one launch, the result (3 lines)
    ### BEGIN SOLUTION
    dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)
    launch_rope(dq, dk, dq_in, dk_in, cos, sin, interleaved, pos_offset, -1.0)
    return dq_in, dk_in
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rope_backward"
# #### Hints for rope_backward
#
# <details><summary>Hint 1: a question</summary>
#
# Compare the formula for da with the one for a'. Which single sign differs? And for db?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `rope` itself has three lines. Its last argument to `launch_rope` is a sign.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# dq_in, dk_in = ...  # two new tensors: nothing may be written into dq and dk
# launch_rope(...)  # which way round?
# return ...
# ```
#
# </details>

# %% tags=["check"] key="rope_backward" points=3
check(rope_backward)

# %% [markdown]
# ## Recap
#
# - RoPE turns pairs of numbers by their position. Scores then depend on distances only.
# - Half-split and interleaved differ in the addresses of the partners, in nothing else.
# - One program takes one token with all its heads, so the angles are loaded once.
# - The gradient of a rotation is the rotation back: the same kernel, another sign.
#
# <details><summary>Common mistakes</summary>
#
# - The sign of the sine: the two products with sin have *different* signs.
# - b' computed from the new a. Both formulas need the old a and b: load both, then store.
# - `offs_p + BLOCK_P` for the second partner. It is right only where D/2 is a power of two.
# - A stride left out, or that of x used for y. Many tensors forgive it, since both are 1.
# - Positions that start at 0 in a decode step. The text reads fluently and makes no sense.
#
# </details>
#
# Next: [41_flash_attention](41_flash_attention.ipynb), where the turned queries meet the keys.

# %%
progress()
