# ---
# workbook:
#   title: RoPE, whole rows and full programs
#   minutes: 60
#   needs: interpreter
#   requires: [12_rmsnorm_choose, 40_rope]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - take neighbours apart in registers, and put them together again
#     - load everything before you store anything
#     - fill a program with as many tokens as it takes
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 40 gives each token a program of its own. For a large call that is nearly as fast as a copy, if
# partners are half a head apart. What about fewer and smaller heads? And the other pairing, which took
# twelve times as long? Without a GPU the tables show the times of an H200.

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
    """Raise ValueError unless shapes fit together, as on page 40."""
    shapes = [tuple(x.shape) for x in (q, k, *(out or (q, k)), cos, sin)]
    (B, _, L, D), (P, width) = q.shape, cos.shape
    fits = D % 2 == 0 and k.shape == (B, k.shape[1], L, D) and width in (D, D // 2)
    fits = fits and shapes[:2] == shapes[2:4] and cos.shape == sin.shape
    if not fits or not 0 <= pos_offset <= P - L:
        raise ValueError(f"q, k, results, cos, sin: {shapes}, positions from {pos_offset} on")


# %%
from tritonbook.timing import bench_sweep

GPU = DEVICE == "cuda"


def call(B, L, H, HK, D):
    """q, k, cos and sin in bfloat16; the heads of a token lie side by side."""
    q, k = (
        torch.randn(B, L, n, D, device=DEVICE, dtype=torch.bfloat16).transpose(1, 2)
        for n in (H, HK)
    )
    return q, k, *torch.randn(2, L, D // 2, device=DEVICE, dtype=torch.bfloat16).unbind(0)


def timed(ways, stored, shapes):
    """A line for each shape (B, L, H, HK, D); the results go over q and k."""

    def case(name):
        given = call(*shapes[names.index(name)]) if GPU else call(1, 3, 2, 1, 8)
        return {"fns": {way: lambda fn=fn: fn(*given) for way, fn in ways.items()}}

    names = [f"{B} x {L:,}, {H} and {HK} of {D}" for B, L, H, HK, D in shapes]
    title = "texts x tokens, heads of q and k of D numbers, bfloat16"
    return bench_sweep("call", names, case, title=title, stored=stored)


def in_place(rope, **options):
    return lambda q, k, cos, sin: rope(q, k, cos, sin, out=(q, k), **options)


rope = mine("rope", quiet=True)  # yours of page 40, if it passed
SHAPES = [(2, 4096, 32, 8, 128), (4, 1712, 28, 4, 128), (2, 7486, 2, 2, 64), (8, 577, 1, 1, 128)]
ways = {"copy": lambda q, k, *tables: (q.clone(), k.clone()), "page 40": in_place(rope)}
ways["page 40, interleaved"] = in_place(rope, interleaved=True)
timed(ways, "rope_records_left", SHAPES)

# %% [markdown]
# **Read it** against the copy; for the two small calls read the lines *GPU alone*, without Python. The first
# call is as fast as a copy. With 28 heads page 40 takes 8 % longer. With 2 heads of 64 it takes 1.6 times as
# long as a copy, itself two launches. With one head it is slower too. Interleaved, large heads take ten times
# as long as a copy. The three steps begin with that.
#
# ## Step 1: neighbours, taken apart in registers
#
# Interleaved, partners are neighbours: 2i and 2i + 1. Page 40 loads every second element, 2 bytes at a time.
# Load the row **whole** instead. Then take it apart without memory:
#
# - `tl.reshape(x, (BLOCK_P, 2))` makes a table of it, a pair in each line.
# - `tl.split` takes a tile whose last dimension is 2, and gives two tiles without that dimension.
# - `tl.join` is the way back: two tiles become one, with a new last dimension of 2.

# %%
draw = pictures("rope_records")
draw.draw_split(pairs=3)

# %% [markdown]
# This kernel exchanges the neighbours of a row.


# %%
@triton.jit
def exchange_kernel(x_ptr, y_ptr, N, BLOCK_P: tl.constexpr):
    """y[2i] = x[2i + 1] and y[2i + 1] = x[2i].

    One program = all N elements.
    Assumes N <= 2 * BLOCK_P, N even.
    """
    offs = tl.arange(0, 2 * BLOCK_P)
    x = tl.load(x_ptr + offs, mask=offs < N)
    first, second = tl.split(tl.reshape(x, (BLOCK_P, 2)))
    y = tl.reshape(tl.join(second, first), (2 * BLOCK_P,))
    tl.store(y_ptr + offs, y, mask=offs < N)


x = torch.arange(6.0, device=DEVICE)
y = torch.empty_like(x)
exchange_kernel[(1,)](x, y, 6, BLOCK_P=4)
y

# %% [markdown]
# ## Task 1. From one pairing to the other
#
# Weights that were trained with interleaved pairs run in a half-split model, if the columns of their heads
# are put in another order: first all first partners, then all second ones. Write it for a matrix, in one
# launch.
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (M, D), any strides, D even | floating | rows of neighbours |
# | result | (M, D), contiguous | as `x` | `x[:, 0::2]`, then `x[:, 1::2]` |
#
# A tile is [BLOCK_M, 2 BLOCK_P]. Load it whole, take it apart, store two halves. As a table of pairs it has
# three dimensions, and the 2 comes last. About 7 lines.

# %% tags=["answer"] key="to_halves"
@triton.jit
def to_halves_kernel(
    x_ptr, y_ptr, M, stride_xm, stride_xd,
    HALF: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """y[:, i] = x[:, 2i] and y[:, HALF + i] = x[:, 2i + 1].

    One program = BLOCK_M rows.
    Assumes BLOCK_P >= HALF, y contiguous.
    """
    first_m = tl.program_id(0).to(tl.int64) * BLOCK_M
    offs_m = first_m + tl.arange(0, BLOCK_M)[:, None]
    offs_d = tl.arange(0, 2 * BLOCK_P)[None, :]  # columns of x
    offs_p = tl.arange(0, BLOCK_P)[None, :]  # pairs
    # TODO: load whole rows, take neighbours apart, store two halves (about 7 lines)
    ### BEGIN SOLUTION
    mask = (offs_m < M) & (offs_d < 2 * HALF)
    x = tl.load(x_ptr + offs_m * stride_xm + offs_d * stride_xd, mask=mask)
    first, second = tl.split(tl.reshape(x, (BLOCK_M, BLOCK_P, 2)))
    y_ptrs = y_ptr + offs_m * 2 * HALF + offs_p
    mask = (offs_m < M) & (offs_p < HALF)
    tl.store(y_ptrs, first, mask=mask)
    tl.store(y_ptrs + HALF, second, mask=mask)
    ### END SOLUTION


def to_halves(x):
    """The columns of x [M, D] with all even ones first; a new tensor."""
    M, D = x.shape
    if D % 2 == 1:
        raise ValueError(f"{D} columns do not make pairs")
    y = torch.empty((M, D), dtype=x.dtype, device=x.device)
    BLOCK_P = triton.next_power_of_2(D // 2)
    BLOCK_M = max(1, 512 // BLOCK_P)
    to_halves_kernel[(triton.cdiv(M, BLOCK_M),)](
        x, y, M, *x.stride(), HALF=D // 2, BLOCK_M=BLOCK_M, BLOCK_P=BLOCK_P,
        num_warps=min(16, max(1, BLOCK_M * BLOCK_P // 256)),
    )
    return y

# %% [markdown] tags=["hint"] key="to_halves"
# #### Hints for to_halves
#
# <details><summary>Hint 1: a question</summary>
#
# Row 0 is 0 1 2 3 4 5. What must lie at y[0, 3]? Of which pair is it which partner?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `exchange_kernel` has the load and the split. Its tile had one dimension. Yours has two, and the new one,
# of 2, still comes last.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mask = ...  # of rows and columns of x
# x = tl.load(...)
# first, second = tl.split(...)  # [BLOCK_M, BLOCK_P] each
# y_ptrs = ...  # a row of y has 2 * HALF elements
# mask = ...  # of rows and pairs
# tl.store(...)
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="to_halves" points=3
check(to_halves)

# %% [markdown]
# ## Step 2: all loads first
#
# Page 40 turns the heads of q, stores them, and only then loads k. A compiler must not move a load up
# across a store: for all it knows, both mean the same memory. So the load of k does not start before q has
# arrived, and the program waits for memory twice.

# %%
draw.draw_orders()

# %% [markdown]
# ## Step 3: several tokens a program
#
# A token with one head of 128 has 64 pairs: two for each thread of one warp, and the program ends.
# Starting and ending it costs as much as for a large one. So let a program take BLOCK_T tokens: as many as make
# 512 pairs of q, and at least one. Heads and pairs count as their tile does, rounded up.
#
# **Predict.** How many tokens does a program take of 2 heads of 64 numbers? And of 28 heads of 128?
#
# <details><summary>Answer</summary>
#
# 2 heads of 32 pairs are 64: 8 tokens make 512. 28 heads stand in a tile of 32, with 64 pairs each:
# 2,048. That is more than 512 already, so one token.
#
# </details>
#
# ## The contract
#
# That of page 40's `rope`: any strides, tables of width D/2 or D, positions from `pos_offset` on, results
# into `out` or new tensors. New is `pairs`, a power of two, in place of 512. One launch.
#
# ## Task 2. `rope_record`
#
# Tiles have three dimensions: tokens, heads, pairs. `rows` and `mask_rows` are [BLOCK_T, BLOCK_H, 1]:
# where each head of each token begins, counted from `x_ptr`, and which of them exist. Four gaps, about 26
# lines.
#
# 1. `load_pairs` gives both partners, each [BLOCK_T, BLOCK_H, BLOCK_P], in float32. Interleaved, it loads
#    whole heads, [BLOCK_T, BLOCK_H, 2 BLOCK_P]; else two halves. It serves q and k, and knows no BLOCK_T
#    or BLOCK_H: the sizes of a tile x are `x.shape[0]` and `x.shape[1]`.
# 2. `store_pairs` is the way back.
# 3. The kernel: cos and sin of each token, [BLOCK_T, 1, BLOCK_P], in float32. Then all loads, all stores.
# 4. The wrapper: `BLOCK_T`, by the rule of step 3.

# %% tags=["answer"] key="rope_record"
@triton.jit
def load_pairs(
    x_ptr, rows, mask_rows, stride_xd,
    HALF: tl.constexpr, INTERLEAVED: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """(first, second): the partners of each pair, [tokens, heads, BLOCK_P], float32."""
    offs_p = tl.arange(0, BLOCK_P)[None, None, :]
    offs_d = tl.arange(0, 2 * BLOCK_P)[None, None, :]
    # TODO 1: interleaved whole heads, taken apart; else two halves (about 7 lines)
    ### BEGIN SOLUTION
    if INTERLEAVED:
        mask = mask_rows & (offs_d < 2 * HALF)
        x = tl.load(x_ptr + rows + offs_d * stride_xd, mask=mask)
        first, second = tl.split(tl.reshape(x, (x.shape[0], x.shape[1], BLOCK_P, 2)))
    else:
        mask = mask_rows & (offs_p < HALF)
        first = tl.load(x_ptr + rows + offs_p * stride_xd, mask=mask)
        second = tl.load(x_ptr + rows + (offs_p + HALF) * stride_xd, mask=mask)
    ### END SOLUTION
    return first.to(tl.float32), second.to(tl.float32)


@triton.jit
def store_pairs(
    y_ptr, rows, mask_rows, first, second, stride_yd,
    HALF: tl.constexpr, INTERLEAVED: tl.constexpr, BLOCK_P: tl.constexpr,
):
    """Store both partners of each pair, [tokens, heads, BLOCK_P]."""
    offs_p = tl.arange(0, BLOCK_P)[None, None, :]
    offs_d = tl.arange(0, 2 * BLOCK_P)[None, None, :]
    # TODO 2: interleaved put together to whole heads; else two halves (about 8 lines)
    ### BEGIN SOLUTION
    if INTERLEAVED:
        mask = mask_rows & (offs_d < 2 * HALF)
        pairs = tl.join(first, second)
        y = tl.reshape(pairs, (first.shape[0], first.shape[1], 2 * BLOCK_P))
        tl.store(y_ptr + rows + offs_d * stride_yd, y, mask=mask)
    else:
        mask = mask_rows & (offs_p < HALF)
        tl.store(y_ptr + rows + offs_p * stride_yd, first, mask=mask)
        tl.store(y_ptr + rows + (offs_p + HALF) * stride_yd, second, mask=mask)
    ### END SOLUTION


@triton.jit
def rope_tokens_kernel(
    q_ptr, k_ptr, q_out_ptr, k_out_ptr, cos_ptr, sin_ptr,
    L, pos_offset,
    stride_qb, stride_qh, stride_ql, stride_qd,
    stride_kb, stride_kh, stride_kl, stride_kd,
    stride_ob, stride_oh, stride_ol, stride_od,
    stride_pb, stride_ph, stride_pl, stride_pd,
    stride_cl, stride_cd,
    stride_sl, stride_sd,
    H: tl.constexpr, HK: tl.constexpr, HALF: tl.constexpr, INTERLEAVED: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_HK: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """(first, second) -> (first cos - second sin, second cos + first sin), each pair.

    One program = BLOCK_T tokens, with all heads of q and of k.
    Assumes BLOCK_H >= H, BLOCK_HK >= HK, BLOCK_P >= HALF.
    """
    b = tl.program_id(1).to(tl.int64)
    first_l = tl.program_id(0).to(tl.int64) * BLOCK_T
    offs_l = first_l + tl.arange(0, BLOCK_T)[:, None, None]
    offs_h = tl.arange(0, BLOCK_H)[None, :, None]
    offs_hk = tl.arange(0, BLOCK_HK)[None, :, None]
    offs_p = tl.arange(0, BLOCK_P)[None, None, :]
    mask_l = offs_l < L
    mask_q, mask_k = mask_l & (offs_h < H), mask_l & (offs_hk < HK)
    q_rows = b * stride_qb + offs_l * stride_ql + offs_h * stride_qh
    k_rows = b * stride_kb + offs_l * stride_kl + offs_hk * stride_kh
    o_rows = b * stride_ob + offs_l * stride_ol + offs_h * stride_oh
    p_rows = b * stride_pb + offs_l * stride_pl + offs_hk * stride_ph

    # TODO 3: cos and sin; load q, load k; turn and store both (about 9 lines)
    ### BEGIN SOLUTION
    mask_p = mask_l & (offs_p < HALF)
    cos_ptrs = cos_ptr + (pos_offset + offs_l) * stride_cl + offs_p * stride_cd
    sin_ptrs = sin_ptr + (pos_offset + offs_l) * stride_sl + offs_p * stride_sd
    cos = tl.load(cos_ptrs, mask=mask_p).to(tl.float32)
    sin = tl.load(sin_ptrs, mask=mask_p).to(tl.float32)

    q_a, q_b = load_pairs(q_ptr, q_rows, mask_q, stride_qd, HALF, INTERLEAVED, BLOCK_P)
    k_a, k_b = load_pairs(k_ptr, k_rows, mask_k, stride_kd, HALF, INTERLEAVED, BLOCK_P)

    q_a, q_b = q_a * cos - q_b * sin, q_b * cos + q_a * sin
    k_a, k_b = k_a * cos - k_b * sin, k_b * cos + k_a * sin
    store_pairs(
        q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od, HALF, INTERLEAVED, BLOCK_P
    )
    store_pairs(
        k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P
    )
    ### END SOLUTION


def rope_record(q, k, cos, sin, interleaved=False, pos_offset=0, out=None, pairs=512):
    """q and k turned by their positions: two new tensors, or `out`, which may be (q, k).

    pairs: of q in a program, a power of two. No two elements of a tensor in `out` may share
    their memory.
    """
    check_rope_inputs(q, k, cos, sin, pos_offset, out)
    (B, H, L, D), HK = q.shape, k.shape[1]
    cos, sin = one_copy(cos, D, interleaved), one_copy(sin, D, interleaved)
    q_out, k_out = out or (torch.empty_like(q), torch.empty_like(k))
    BLOCK_H, BLOCK_P = triton.next_power_of_2(H), triton.next_power_of_2(D // 2)
    # TODO 4: BLOCK_T (1 line)
    ### BEGIN SOLUTION
    BLOCK_T = max(1, pairs // (BLOCK_H * BLOCK_P))
    ### END SOLUTION
    rope_tokens_kernel[(triton.cdiv(L, BLOCK_T), B)](
        q, k, q_out, k_out, cos, sin, L, pos_offset,
        *q.stride(), *k.stride(), *q_out.stride(), *k_out.stride(),
        *cos.stride(), *sin.stride(),
        H=H, HK=HK, HALF=D // 2, INTERLEAVED=interleaved,
        BLOCK_T=BLOCK_T, BLOCK_H=BLOCK_H, BLOCK_HK=triton.next_power_of_2(HK), BLOCK_P=BLOCK_P,
        num_warps=min(8, max(1, BLOCK_T * BLOCK_H * BLOCK_P // 256)),
    )  # fmt: skip
    return q_out, k_out

# %% [markdown] tags=["hint"] key="rope_record"
# #### Hints for rope_record
#
# <details><summary>Hint 1: a question</summary>
#
# D is 6. Which elements of a head does a lane of the pair 2 hold, half-split and interleaved? Which lanes of
# offs_p and of offs_d have to be switched off?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Task 1 has the load and the split, `exchange_kernel` the join. The two halves and the four products are those
# of page 40. Tiles [BLOCK_T, heads, BLOCK_P] and [BLOCK_T, 1, BLOCK_P] multiply as they are.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if INTERLEAVED:
#     x = tl.load(...)
#     first, second = tl.split(...)  # where does the 2 stand?
# else:
#     first = ...
#     second = ...
# ```
#
# ```python
# cos = tl.load(...)  # whose row is that of a token's position?
# q_a, q_b = load_pairs(...)
# k_a, k_b = ...
# store_pairs(...)
# store_pairs(...)  # which strides?
# ```
#
# </details>

# %% tags=["check"] key="rope_record" points=7
check(rope_record)

# %% [markdown]
# ## Predict, then measure
#
# The shapes from the beginning again. The cell shows nothing yet.

# %%
ways |= {"record": in_place(rope_record)}
ways["record, interleaved"] = in_place(rope_record, interleaved=True)
now = timed(ways, "rope_records_now", SHAPES)
small = call(1, 1000, 4, 1, 64)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "programs for 1 text of 1,000 tokens, 4 and 1 heads of 64": None,
        "times as long, interleaved: page 40 over the record, first shape": None,
    },
    measured=[
        lambda: facts(rope_record, *small)[0].grid[0],
        lambda: time_of(now.results[0], "page 40, interleaved", over="record, interleaved"),
    ],
    hints=[
        "4 heads of 32 pairs are 128 pairs for a token.",
        "How many bytes does a load take, there and here?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Programs.** 128 pairs a token, so 4 tokens make 512: 1,000 / 4 = 250.
#
# **The ratio.** Both move each byte once. Yours takes 16 of them with each load, page 40 takes 2. If the
# time goes with the number of loads and stores, the ratio is 8. It was 12.6.
#
# </details>

# %%
now

# %% [markdown]
# **Read it.**
#
# - **Interleaved** is as fast as half-split, on every line: a pair's order in memory costs nothing any more.
# - **28 heads** fill a program by themselves, so step 3 changes nothing for them. They take 0.034 ms
#   instead of 0.040, less than a copy, by the order of loads and stores. Measured apart: with the load
#   of k below the store of q the record is as slow as page 40.
# - **2 heads of 64** take 0.0041 instead of 0.0108 ms, *GPU alone*, and **one head** 0.0028 instead of
#   0.0045: less than the two launches of a copy.
# - **32 heads** gain nothing. They had reached the speed of a copy.
#
# ## Was 512 the right number?


# %%
def by_pairs(pairs):
    fns = {}
    for B, L, H, HK, D in [SHAPES[0], SHAPES[2]]:
        given = call(B, L, H, HK, D) if GPU else call(1, 3, 2, 1, 8)
        fns[f"{H} heads of {D}"] = lambda given=given: rope_record(
            *given, out=given[:2], pairs=pairs
        )
    return {"fns": fns}


numbers = [32, 128, 512, 2048, 8192] if GPU else [8]
title = "RoPE, bfloat16, by pairs"
bench_sweep("pairs", numbers, by_pairs, title=title, stored="rope_records_pairs")

# %% [markdown]
# **Read it.** 32 heads of 128 are 2,048 pairs: up to that a program has one token. With 2 heads of 64 it has
# one at 32 pairs, and takes as long as page 40. So small heads gain from more tokens, not from the
# order of loads. With 8,192 pairs, 128 tokens, it is slower again: 2 × 59 programs are fewer than the GPU has
# multiprocessors.
#
# ## Recap
#
# - Whole rows first, pairs in registers: `tl.reshape`, `tl.split`, `tl.join`.
# - No load waits for a store that stands below it.
# - A program should have enough to do. Several small things make one that is worth starting.
#
# <details><summary>Common mistakes</summary>
#
# - `tl.split` of a tile that was reshaped to (2, BLOCK_P): it takes the last dimension.
# - `offs_p + BLOCK_P` for the second half.
# - One mask for whole heads and for pairs.
# - A position without `pos_offset`, or the same for all tokens of a program.
# - The load of k below the store of q: right values, slower, and refused.
#
# </details>
#
# Liger-Kernel's RoPE takes a token a program, with all loads first. vLLM's, in CUDA, knows both pairings.
#
# Next: [67_short_calls](67_short_calls.ipynb): what Python costs.

# %%
progress()
