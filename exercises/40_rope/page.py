# ---
# workbook:
#   title: RoPE
#   minutes: 45
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - turn queries and keys by their position, for any memory layout and number of heads
#     - tell the two pairings apart that are both called RoPE
#     - write a backward pass that needs nothing but the forward kernel and a sign
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# Attention compares a query with a key by their dot product. The dot product does not know where in
# the text the two stand. *Rotary position embedding* (RoPE, Su and others, 2021) tells it.
#
# Take the numbers of a query two at a time. Each pair is an arrow in a plane. A query at position p
# has its arrows turned by an angle of p × θ, and each pair has a θ of its own. Keys are turned in
# the same way. Then a query at position 7 and a key at position 4 are turned against each other by
# 3 × θ, and so are those at 107 and 104. *Only the distance counts.*
#
# In the picture one pair turns with its position. Beside it a second pair, with a smaller θ.

# %%
from tritonbook.seeing.pictures_attention import draw_rotation

draw_rotation(positions=6, thetas=(0.5, 0.12))

# %% [markdown]
# Turning the arrow (a, b) by an angle is four multiplications:
#
# $$a' = a \cos - b \sin \qquad b' = b \cos + a \sin$$
#
# Try the claim before you believe it. The cell turns one query and one key, both by torch.

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
# ## Which two numbers are a pair?
#
# Two answers are in use, and both are called RoPE.
#
# - **Half-split** (Llama in Hugging Face, GPT-NeoX): element i goes with element i + D/2.
# - **Interleaved** (the original paper, Meta's own Llama code): element 2i goes with 2i + 1.
#
# Both are right. But weights trained with one give nonsense with the other, and nothing crashes.
# You will support both. They differ in one line: in which columns the two partners lie.
#
# ## A smaller kernel first
#
# This kernel turns every arrow of a row by 90 degrees: (a, b) becomes (−b, a). Here the partners
# are half a row apart. Note that it has *two* tiles of columns for one row, `first` and `second`.


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
# makes a good test, and you will use it: turn, turn back, compare.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, L, D), any strides, D even | floating | queries, not changed |
# | `k` | (B, HK, L, D), any strides | as `q` | keys, not changed; HK may be less than H |
# | `cos`, `sin` | (P, D/2) or (P, D) | floating | one row for each position, P ≥ `pos_offset` + L |
# | `pos_offset` | | int | position of the first token |
# | `out` | None, or tensors as `q` and as `k` | | where the results go; (q, k) itself writes over them |
# | results | as `q` and as `k` | as `q` | `out`, or new tensors |
#
# - Token l of the L tokens has the position `pos_offset + l`. While a text is being read, the
#   offset is 0. While a model writes token after token, L is 1 and the offset grows.
# - A table that is D wide holds each angle twice. The half-split form repeats it after D/2 columns,
#   the interleaved form right beside it. You need only one copy: the wrapper sees to that with
#   the stride it passes.
# - `q` usually comes as `x.view(B, L, H, D).transpose(1, 2)`. Then the heads of one token lie side
#   by side in memory, and the tokens of one head do not. Use the strides and you need not care.
#
# **Memory traffic.** Every element of q and k is read once and written once: 4 bytes an element in
# bfloat16. The tables are small, and all heads of a token share one row of them. So one program
# takes **one token with all its heads**: it loads its row of the tables once.

# %% tags=["reference"]
def rope_ref(q, k, cos, sin, interleaved=False, pos_offset=0):
    turned = []
    for x in (q, k):
        L, half = x.shape[2], x.shape[3] // 2
        step = 2 if interleaved and cos.shape[1] > half else 1
        c = cos[pos_offset : pos_offset + L, ::step][:, :half]
        s = sin[pos_offset : pos_offset + L, ::step][:, :half]
        if interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            turned.append(torch.stack((a * c - b * s, b * c + a * s), dim=-1).flatten(-2))
        else:
            a, b = x[..., :half], x[..., half:]
            turned.append(torch.cat((a * c - b * s, b * c + a * s), dim=-1))
    return tuple(turned)


def check_rope_inputs(q, k, cos, sin, pos_offset, out=None):
    """Raise ValueError unless shapes fit together; see the contract."""
    B, H, L, D = q.shape
    if D % 2 or k.shape[0] != B or tuple(k.shape[2:]) != (L, D):
        raise ValueError(f"q is {tuple(q.shape)}, k is {tuple(k.shape)}")
    if out is not None and [t.shape for t in out] != [q.shape, k.shape]:
        raise ValueError(f"out is {[tuple(t.shape) for t in out]}, not as q and k")
    if cos.shape != sin.shape or cos.shape[1] not in (D, D // 2):
        raise ValueError(f"the tables are {tuple(cos.shape)} and {tuple(sin.shape)}, D is {D}")
    if pos_offset < 0 or pos_offset + L > cos.shape[0]:
        raise ValueError(f"no row for position {pos_offset + L - 1} in {cos.shape[0]} rows")

# %% [markdown]
# ## Task 1. Turn one token
#
# The kernel and its wrapper are given. They call your function twice, once for the heads of q and
# once for those of k. Fill the gap in `turn_heads`, about 10 lines. You have:
#
# - `x_ptr` and `y_ptr`: where the token begins in the input and in the output,
# - `cos` and `sin`: one number for each pair, shape `[BLOCK_P]`, already in float32,
# - a tile of heads × pairs, `[BLOCK_H, BLOCK_P]`. A mask for it is given.
#
# `INTERLEAVED` is a constexpr, so an `if` on it costs nothing: Triton compiles one branch only.

# %% tags=["answer"] key="rope"
@triton.jit
def turn_heads(
    x_ptr, y_ptr, cos, sin,
    stride_xh, stride_xd,
    stride_yh, stride_yd,
    H: tl.constexpr, HALF: tl.constexpr, INTERLEAVED: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """Turn all pairs of one token's H heads by the angles of cos and sin, [BLOCK_P]."""
    offs_h = tl.arange(0, BLOCK_H)[:, None]
    offs_p = tl.arange(0, BLOCK_P)[None, :]  # the number of the pair
    mask = None  # nothing to compare where the tile has no element too many
    if BLOCK_H != H or BLOCK_P != HALF:
        mask = (offs_h < H) & (offs_p < HALF)
    # TODO: the columns of both partners (4 lines); load, turn, store (6 lines)
    ### BEGIN SOLUTION
    if INTERLEAVED:
        first, second = 2 * offs_p, 2 * offs_p + 1
    else:
        first, second = offs_p, offs_p + HALF

    x_rows = x_ptr + offs_h * stride_xh  # [BLOCK_H, 1]
    a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)
    b = tl.load(x_rows + second * stride_xd, mask=mask).to(tl.float32)

    y_rows = y_ptr + offs_h * stride_yh
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

    offs_p = tl.arange(0, BLOCK_P)
    mask_p = offs_p < HALF
    cos_row = cos_ptr + (pos_offset + token) * stride_cl
    sin_row = sin_ptr + (pos_offset + token) * stride_sl
    cos = tl.load(cos_row + offs_p * stride_cd, mask=mask_p).to(tl.float32)
    sin = tl.load(sin_row + offs_p * stride_sd, mask=mask_p).to(tl.float32) * SIGN

    turn_heads(
        q_ptr + b * stride_qb + token * stride_ql,
        q_out_ptr + b * stride_ob + token * stride_ol,
        cos[None, :], sin[None, :],
        stride_qh, stride_qd, stride_oh, stride_od,
        H, HALF, INTERLEAVED, BLOCK_H, BLOCK_P,
    )
    turn_heads(
        k_ptr + b * stride_kb + token * stride_kl,
        k_out_ptr + b * stride_pb + token * stride_pl,
        cos[None, :], sin[None, :],
        stride_kh, stride_kd, stride_ph, stride_pd,
        HK, HALF, INTERLEAVED, BLOCK_HK, BLOCK_P,
    )


def launch_rope(q, k, q_out, k_out, cos, sin, interleaved, pos_offset, sign):
    """Turn q into q_out and k into k_out, forwards (sign 1.0) or backwards (sign -1.0)."""
    B, H, L, D = q.shape
    HK = k.shape[1]
    # of a table D wide only one copy is read: the first half, or every second column
    step = 2 if interleaved and cos.shape[1] == D else 1
    rope_kernel[(L, B)](
        q, k, q_out, k_out, cos, sin,
        pos_offset,
        *q.stride(), *k.stride(), *q_out.stride(), *k_out.stride(),
        cos.stride(0), cos.stride(1) * step,
        sin.stride(0), sin.stride(1) * step,
        SIGN=sign, H=H, HK=HK, HALF=D // 2, INTERLEAVED=interleaved,
        BLOCK_H=triton.next_power_of_2(H),
        BLOCK_HK=triton.next_power_of_2(HK),
        BLOCK_P=triton.next_power_of_2(D // 2),
        num_warps=8,
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
# `quarter_turn_kernel` above has the two column tiles, the two loads and the two stores. Two
# things are new. There is a row for each head, so addresses are `[BLOCK_H, 1]` plus `[1, BLOCK_P]`.
# And there are four products.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if INTERLEAVED:
#     first, second = ..., ...
# else:
#     first, second = offs_p, ...
#
# x_rows = x_ptr + offs_h * ...
# a = tl.load(x_rows + first * ..., mask=mask).to(tl.float32)
# b = ...
#
# tl.store(..., a * cos - ..., mask=mask)
# tl.store(..., ..., mask=mask)
# ```
#
# </details>

# %% tags=["check"] key="rope" points=6
check(rope)

# %% [markdown]
# **Look at what you wrote.** One batch, 3 heads, 4 tokens, D = 8. In memory the tensor is
# (heads, tokens, D). Which elements does one program touch?

# %%
x = torch.randn(1, 3, 4, 8, device=DEVICE)
tables = torch.randn(2, 4, 4, device=DEVICE).unbind(0)
show_tiles(rope, x, x.clone(), *tables)

# %% [markdown]
# **In place.** `rope` takes tensors to write into, as `out`, and they may be q and k themselves. That is
# safe inside the kernel: a program loads both partners before it stores them, and no other program
# touches them. Liger-Kernel, a library of Triton kernels, turns q and k like this. No byte less is
# moved, but no new tensor is needed: 84 MB less in the example below. On an H100 it took 0.056 to
# 0.063 ms, by where in memory q and k happened to lie, and Liger-Kernel 0.057 to 0.064. Do so only
# where nobody needs the old q and k again.
#
# **Predict, then measure.** For B = 2, L = 4096, 32 heads of q and 8 of k, D = 128 in bfloat16:
# 2 × 4096 × 40 × 128 elements, 4 bytes each for one read and one write. That makes 168 MB. Divide
# by the copy bandwidth of your GPU.
#
# Three more rows to guess. PyTorch eager runs the formula operator by operator: how much slower?
# `torch.compile` fuses it. And the interleaved form of your own kernel reads every second element
# with each load: does that matter? Write your numbers into the box below *before* you run the cell
# above it. Without a GPU, predict for an H100, which copies 2,966 GB/s.

# %%
B, L, H, HK, D = (2, 4096, 32, 8, 128) if DEVICE == "cuda" else (1, 4, 4, 2, 32)
dtype = torch.bfloat16 if DEVICE == "cuda" else torch.float32
q = torch.randn(B, L, H, D, device=DEVICE, dtype=dtype).transpose(1, 2)
k = torch.randn(B, L, HK, D, device=DEVICE, dtype=dtype).transpose(1, 2)
theta = 500_000.0 ** (-torch.arange(0, D, 2, device=DEVICE) / D)
angle = torch.arange(L, device=DEVICE)[:, None] * theta
cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
copies = q.clone(), k.clone()

ways = {
    "torch": lambda: rope_ref(q, k, cos, sin),
    "rope": lambda: rope(q, k, cos, sin),
    "rope, interleaved": lambda: rope(q, k, cos, sin, interleaved=True),
    "rope, in place": lambda: rope(*copies, cos, sin, out=copies),
}
if DEVICE == "cuda":
    compiled = torch.compile(rope_ref)
    ways["torch.compile"] = lambda: compiled(q, k, cos, sin)
timed = bench(ways, bytes=2 * (q.numel() + k.numel()) * q.element_size(), baseline="torch")
timed

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that rope reads from q, 1 x 4 x 16 x 32 float32": None,
        "ms of rope for the 168 MB": None,
        "times as long: torch over rope": None,
    },
    measured=[
        lambda: traffic(
            rope,
            torch.randn(1, 4, 16, 32, device=DEVICE),
            torch.randn(1, 2, 16, 32, device=DEVICE),
            *torch.randn(2, 16, 16, device=DEVICE),
        )["q"],
        lambda: time_of(timed, "rope", stored="rope"),
        lambda: time_of(timed, "torch", over="rope", stored="rope"),
    ],
    hints=[
        "Each element of q is read once, and has 4 bytes.",
        "168 MB at the speed of a copy. 1 GB/s is 1,000,000 bytes in a millisecond.",
        "Count the operators of rope_ref: each reads and writes all of q or k, or half of it.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 4 × 16 × 32 elements of 4 bytes: 8,192.
#
# **Milliseconds.** 168 MB at an H100's 2,966 GB/s: 0.057. It took 0.063.
#
# **The ratio** was 9 in one run and 10 in another. Count what the operators of `rope_ref` move, not
# what they compute: products, a difference, a sum and a concatenation. Each reads its tensors from
# memory and writes a new one.
#
# </details>

# %% [markdown]
# **Read the table.** The half-split kernel runs at the speed of a copy. There is nothing left to
# win: every byte is moved once. Eager moves the same elements many times, once for each operator.
#
# The interleaved form is a surprise. It moves the same bytes, and takes ten times as long (0.66 ms
# against 0.063 on an H100). Partners lie side by side, so the elements that one load asks for lie
# two apart. A thread can no longer fetch 16 bytes with one instruction. It fetches 2, skips 2, and
# so on, and it stores in the same way. The bytes are few, the instructions are many. The way out is
# to load whole rows, and to take the pairs apart in registers: `tl.reshape` to [..., 2], then
# `tl.split`, and `tl.join` on the way back. Try it once the check has passed.

# %% [markdown]
# ## Task 2. Backwards
#
# Training needs the gradient. You have the gradient of the loss for the turned q, and want it for q
# itself. A rotation is a matrix R. Its gradient is the transpose of R, and the transpose of a
# rotation is *the rotation back*. Write the pair out once to see it:
#
# $$a' = a \cos - b \sin, \quad b' = b \cos + a \sin \quad\Rightarrow\quad
# da = da' \cos + db' \sin, \quad db = db' \cos - da' \sin$$
#
# So nothing has to be kept from the forward pass but the tables. Write the wrapper, about 4 lines.
# `launch_rope` of Task 1 does the rest. The gradients you are given stay as they are: write to new
# tensors.

# %% tags=["answer"] key="rope_backward"
def rope_backward(dq, dk, cos, sin, interleaved=False, pos_offset=0):
    """Gradients of q and k, from those of the turned q and k (shapes as in `rope`)."""
    check_rope_inputs(dq, dk, cos, sin, pos_offset)
    # TODO: two new tensors, one launch, the result (about 4 lines)
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
# dq_in, dk_in = torch.empty_like(...), ...
# launch_rope(dq, dk, ..., ..., cos, sin, ..., ..., ...)
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
# - Writing the first result before the second partner is loaded, into the input itself: the second
#   formula then uses the new a. Load both, then store.
# - Positions that start at 0 in a decode step. The text reads fluently and makes no sense.
# - One mask for q and k. They may have different numbers of heads.
#
# </details>
#
# Sources: Su and others, *RoFormer* (2021).
#
# Next: [41_flash_attention](41_flash_attention.ipynb), where the turned queries meet the keys.

# %%
progress()
