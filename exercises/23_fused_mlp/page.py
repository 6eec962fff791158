# ---
# workbook:
#   title: Fused MLP
#   minutes: 45
#   needs: interpreter
#   requires: [22_autotune]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - fuse the gate of a SwiGLU layer, first as a small kernel of its own
#     - compute two products as one wide product, with the gate in the epilogue
#     - say how much a fusion can save before you write it, for many tokens and for few
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Four fifths of the weights of a Llama 3 layer are in its MLP, which is called **SwiGLU**:
#
# `out = (silu(x @ w_gate) * (x @ w_up)) @ w_down`, with $\mathrm{silu}(g) = g \cdot \sigma(g) =
# g / (1 + e^{-g})$
#
# x has M rows of D features, one row for each token. The **hidden** values between the products have
# H columns, 3.5 times as many as x in Llama 3 8B: D = 4096 and H = 14336.
#
# In PyTorch these are five kernels, and between them whole matrices go to memory and come back.
# **Fusing** means to do several steps in one kernel, so that what lies between them stays in
# registers. You will fuse in two steps. First the gate alone. Then the gate with the two products
# before it, as in the picture: they read the same x.

# %%
pictures("fused_mlp").draw_gate_up()

# %% [markdown]
# **Predict.** M is 4096, in bfloat16. How many bytes of hidden values does each plan move, until
# `w_down` has read them? One matrix [M, H] has 117 MB.
#
# 1. five PyTorch operators: product, SiLU, product, `*`, product
# 2. the gate fused: product, product, `silu_mul`, product
# 3. the gate and two products fused: `gate_up_swiglu`, product
#
# <details><summary>Answer</summary>
#
# 1. gate written; read, SiLU written; up written; both read, hidden written; hidden read: 8 matrices,
#    940 MB.
# 2. gate and up written; both read, hidden written; hidden read: 6 matrices, 705 MB.
# 3. hidden written; hidden read: 2 matrices, 235 MB.
#
# At 4.1 TB/s, what an H200 copies, the 235 MB that plan 2 saves are 0.06 ms, and the 705 MB that plan 3
# saves 0.17. The three products take 1.44e12 operations, so at 700 TFLOP/s 2.1 ms. **With 4096 tokens no
# fusion of the gate can save more than about 8 %.**
#
# </details>
#
# ## A smaller kernel first
#
# It multiplies each row of a matrix by a number of its own. Look at the grid. It has one dimension,
# and neighbouring programs take neighbouring columns of the same row.


# %%
@triton.jit
def scale_rows_kernel(
    x_ptr, s_ptr, out_ptr,
    N,
    stride_xm, stride_xn,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):
    """out[m, n] = s[m] x[m, n].

    One program = BLOCK_N columns of one row.
    Any strides for x and out; s is contiguous.
    """
    pid = tl.program_id(0)
    tiles_in_row = tl.cdiv(N, BLOCK_N)
    pid_m = (pid // tiles_in_row).to(tl.int64)
    offs_n = pid % tiles_in_row * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask_n)
    s = tl.load(s_ptr + pid_m)

    tl.store(out_ptr + pid_m * stride_om + offs_n * stride_on, x * s, mask=mask_n)


x, s = torch.randn(3, 50, device=DEVICE), torch.tensor([1.0, 2.0, 3.0], device=DEVICE)
out = torch.empty_like(x)
grid = (3 * triton.cdiv(50, 32),)
scale_rows_kernel[grid](x, s, out, 50, *x.stride(), *out.stride(), BLOCK_N=32)
print("largest error:", (out - x * s[:, None]).abs().max().item())

# %% [markdown]
# ## Task 1. The gate
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `gate`, `up` | (M, N), any strides, each its own | the same, floating | inputs |
# | returned | (M, N), contiguous | as `gate` | `silu(gate) * up` |
#
# Everything between load and store is float32: one rounding, at the store. Shapes that differ raise
# `ValueError`. One launch. Fill the gap, about 6 lines. `tl.sigmoid` takes float32.

# %% tags=["answer"] key="silu_mul"
@triton.jit
def silu_mul_kernel(
    gate_ptr, up_ptr, out_ptr,
    N,
    stride_gm, stride_gn,
    stride_um, stride_un,
    stride_om, stride_on,
    BLOCK_N: tl.constexpr,
):
    """out = silu(gate) * up.

    One program = BLOCK_N columns of one row.
    Any strides; computes in float32.
    """
    pid = tl.program_id(0)
    tiles_in_row = tl.cdiv(N, BLOCK_N)
    pid_m = (pid // tiles_in_row).to(tl.int64)
    offs_n = pid % tiles_in_row * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    # TODO: load both to float32, compute, store (about 6 lines)
    ### BEGIN SOLUTION
    gate_ptrs = gate_ptr + pid_m * stride_gm + offs_n * stride_gn
    up_ptrs = up_ptr + pid_m * stride_um + offs_n * stride_un
    gate = tl.load(gate_ptrs, mask=mask_n).to(tl.float32)
    up = tl.load(up_ptrs, mask=mask_n).to(tl.float32)

    out = gate * tl.sigmoid(gate) * up

    tl.store(out_ptr + pid_m * stride_om + offs_n * stride_on, out, mask=mask_n)
    ### END SOLUTION


def silu_mul(gate, up):
    """silu(gate) * up, [M, N]."""
    if gate.shape != up.shape:
        raise ValueError(f"gate is {tuple(gate.shape)}, up is {tuple(up.shape)}")
    M, N = gate.shape
    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)
    if gate.is_contiguous() and up.is_contiguous():  # then all rows are one long row
        gate, up, M, N = gate.view(1, M * N), up.view(1, M * N), 1, M * N
    grid = (M * triton.cdiv(N, 512),)
    silu_mul_kernel[grid](
        gate, up, out, N, *gate.stride(), *up.stride(), *out.view(M, N).stride(), BLOCK_N=512
    )
    return out

# %% [markdown] tags=["hint"] key="silu_mul"
# #### Hints for silu_mul
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the two inputs goes through the SiLU? And in which dtype is the sigmoid computed?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `scale_rows_kernel` has the addresses. Here are two matrices, each with strides of its own. A store
# rounds to the dtype of `out` by itself.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # the addresses of this piece in gate, and in up
# # load both, go to float32
# out = ...  # the SiLU of one of them, times the other
# # store
# ```
#
# </details>

# %% tags=["check"] key="silu_mul" points=2
check(silu_mul)

# %% [markdown]
# ## Task 2. Two products and the gate
#
# | name | shape | role |
# |---|---|---|
# | `x` | (M, D), any strides | input |
# | `w_gate`, `w_up` | (D, H), any strides, **each its own** | weights |
# | returned | (M, H), contiguous, dtype of `x` | `silu(x @ w_gate) * (x @ w_up)`, in one launch |
#
# float32 is not cut to TF32.
#
# Put the columns of `w_up` beside those of `w_gate`: x @ [w_gate | w_up] is **one** product, twice as
# wide. So the loop is that of a single product. A program takes BLOCK_N columns of `w_gate` and the same
# ones of `w_up` as one tile, `2 * BLOCK_N` wide. After the loop the sum's left half is gate, its right half
# up, both in registers, in float32. What follows is the **epilogue**: `silu(gate) * up`, rounded once, stored.
# The matrices gate and up never exist in memory.
#
# Two things are given. The weights stay where they are, without copies: `tl.where` picks for each column
# of the tile which matrix it comes from, and by which strides. And `tl.swizzle2d` takes programs in groups
# of 16 rows of tiles, Triton's own form of page 21's `swizzle`.
#
# Weights are laid out so that `x @ w` works. A `torch.nn.Linear` keeps the transpose: pass
# `layer.weight.T`, and the strides do the rest. A model may keep one weight so and the other not.
#
# `gate_up_tile` takes the tile of `matmul_tile`: BLOCK_N along H, BLOCK_K along D. With at most 64 rows in half
# precision the weights are nearly all that
# moves. Then the tile is low, and narrow, so that many programs divide the weights among them.
#
# Fill the gap, about 10 lines: the loop, the epilogue, the store. `halves(both, BLOCK_M, BLOCK_N)` takes the
# wide sum apart. `input_precision="ieee"` in `tl.dot`, so that float32 stays float32.

# %% tags=["reference"]
from tritonbook import matmul_tile

matmul_tuned = mine("matmul_tuned", quiet=True)


def mlp_swiglu_ref(x, w_gate, w_up, w_down):
    return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down


def gate_up_tile(M, dtype):
    """Sizes from matmul_tile, low for few rows; BLOCK_N is half of the wide tile."""
    tile = matmul_tile(dtype)
    if M <= 64 < tile["BLOCK_N"]:  # where shared memory has room for a wide one
        low = max(16, triton.next_power_of_2(M))
        tile |= dict(BLOCK_M=low, BLOCK_N=128, BLOCK_K=64, num_warps=4, num_stages=4)
    return tile | dict(BLOCK_N=tile["BLOCK_N"] // 2)


@triton.jit
def halves(both, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Left and right half of a tile [BLOCK_M, 2 BLOCK_N]."""
    return tl.split(both.reshape(BLOCK_M, 2, BLOCK_N).permute(0, 2, 1))

# %% tags=["answer"] key="gate_up_swiglu"
@triton.jit
def gate_up_kernel(
    x_ptr, gate_ptr, up_ptr, out_ptr,
    M, H, D,
    stride_xm, stride_xd,
    stride_gd, stride_gh,
    stride_ud, stride_uh,
    stride_om, stride_oh,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out = silu(x @ w_gate) * (x @ w_up).

    One program = one tile of out, [BLOCK_M, BLOCK_N].
    Any strides, any M, H, D; sums and gate are float32.
    """
    pid_m, pid_h = tl.swizzle2d(
        tl.program_id(1), tl.program_id(0), tl.num_programs(1), tl.num_programs(0), 16
    )
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_h = pid_h.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_K)
    mask_m, mask_h = offs_m[:, None] < M, offs_h[None, :] < H
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_d[None, :] * stride_xd
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_h[None, :] * stride_oh

    # the wide tile: columns of w_gate, then the same ones of w_up
    side = tl.arange(0, 2 * BLOCK_N)
    of_gate = side[None, :] < BLOCK_N
    offs_w = pid_h.to(tl.int64) * BLOCK_N + side % BLOCK_N
    mask_w = offs_w[None, :] < H
    w_ptr = tl.where(of_gate, gate_ptr, up_ptr)
    stride_wd = tl.where(of_gate, stride_gd, stride_ud)
    stride_wh = tl.where(of_gate, stride_gh, stride_uh)
    w_ptrs = w_ptr + offs_d[:, None] * stride_wd + offs_w[None, :] * stride_wh

    both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32)
    # TODO: walk along D: load x and w, one dot, advance; then halves, SiLU, store
    # (about 10 lines)
    ### BEGIN SOLUTION
    for d in range(0, D, BLOCK_K):
        rest = d + offs_d < D
        w = tl.load(w_ptrs, mask=rest[:, None] & mask_w, other=0.0)
        x = tl.load(x_ptrs, mask=mask_m & rest[None, :], other=0.0)
        both = tl.dot(x, w, both, input_precision="ieee")
        x_ptrs += BLOCK_K * stride_xd
        w_ptrs += BLOCK_K * stride_wd

    gate, up = halves(both, BLOCK_M, BLOCK_N)
    out = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(out_ptrs, out, mask=mask_m & mask_h)
    ### END SOLUTION


def gate_up_swiglu(x, w_gate, w_up):
    """silu(x @ w_gate) * (x @ w_up), [M, H]."""
    if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:
        raise ValueError("x must be (M, D), w_gate and w_up (D, H)")
    M, D = x.shape
    H = w_gate.shape[1]
    out = torch.empty((M, H), dtype=x.dtype, device=x.device)
    tile = gate_up_tile(M, x.dtype)
    grid = (triton.cdiv(H, tile["BLOCK_N"]), triton.cdiv(M, tile["BLOCK_M"]))
    gate_up_kernel[grid](
        x, w_gate, w_up, out, M, H, D,
        *x.stride(), *w_gate.stride(), *w_up.stride(), *out.stride(), **tile,
    )
    return out

# %% [markdown] tags=["hint"] key="gate_up_swiglu"
# #### Hints for gate_up_swiglu
#
# <details><summary>Hint 1: a question</summary>
#
# Say that `w_ptrs` were the addresses of one matrix, twice as wide. Which loop would you write? Which
# lanes of its tile lie outside?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `matmul_tiles_kernel` of page 22 has the loop, with the mask along K. The mask of a wide row is
# `mask_w`. After the loop you have the gate of Task 1, on tiles that are float32 already, and the
# result is as wide as one half.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for d in range(0, D, BLOCK_K):
#     # load a tile of x and a tile of w: which lanes lie past D?
#     both = tl.dot(...)
#     # two pointers move on, each by its own stride
#
# gate, up = halves(...)
# out = ...
# # store
# ```
#
# </details>

# %% tags=["check"] key="gate_up_swiglu" points=4
check(gate_up_swiglu)

# %% [markdown]
# ## Task 3. The layer
#
# `mlp_swiglu(x, w_gate, w_up, w_down)` takes `w_down` as (H, D) and returns (M, D), in **two
# launches**: the kernel above, then a product. The hidden matrix is rounded to the dtype of x between
# them, as in PyTorch. Take `matmul_tuned` of page 22 for the product: yours if it passed there, else
# the workbook's. About 2 lines.

# %% tags=["answer"] key="mlp_swiglu"
def mlp_swiglu(x, w_gate, w_up, w_down):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, [M, D], in two launches."""
    # TODO: the hidden values, then the last product (about 2 lines)
    ### BEGIN SOLUTION
    hidden = gate_up_swiglu(x, w_gate, w_up)
    return matmul_tuned(hidden, w_down)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="mlp_swiglu"
# #### Hints for mlp_swiglu
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the three weights is not in `gate_up_swiglu`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Both functions take tensors and return a tensor in the right dtype. Nothing is to be allocated here.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Two calls, the second one with the result of the first.
#
# </details>

# %% tags=["check"] key="mlp_swiglu" points=2
check(mlp_swiglu)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times the layer of Llama 3 8B in three ways, for 4096 tokens and for 16, and shows
# nothing yet. Without a GPU it fetches the times of an H200, which copies about 4,150 GB/s.


# %%
def gate_fused(x, w_gate, w_up, w_down):
    return silu_mul(x @ w_gate, x @ w_up) @ w_down


def timed_layer(M, stored):
    D, H = (4096, 14336) if DEVICE == "cuda" else (32, 64)
    shapes = [(M, D), (D, H), (D, H), (H, D)]
    args = [torch.randn(*shape, device=DEVICE).bfloat16() * 0.02 for shape in shapes]
    ways = {"torch": mlp_swiglu_ref, "gate fused": gate_fused, "mlp_swiglu": mlp_swiglu}
    needs = {"bytes": 2 * (2 * M * D + 3 * D * H), "flops": 6 * M * D * H}
    title = f"The MLP of Llama 3 8B for {M:,} tokens, bfloat16"
    return bench(ways, *args, **needs, baseline="torch", title=title, stored=stored)


many = timed_layer(4096 if DEVICE == "cuda" else 32, "mlp_4096_tokens")
timed = timed_layer(16, "mlp_16_tokens")

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that silu_mul moves for 64 x 500 float32": None,
        "ms of torch's layer for 16 tokens": None,
        "times as long: torch over gate fused, 4096 tokens": None,
    },
    measured=[
        lambda: traffic(silu_mul, *torch.randn(2, 64, 500, device=DEVICE)),
        lambda: time_of(timed, "torch"),
        lambda: time_of(many, "torch", over="gate fused"),
    ],
    hints=[
        "Two matrices are read, one is written.",
        "For 16 tokens the three weights are nearly all that moves: 2 bytes each, read once.",
        "The answer to the first prediction has the time saved, and that of the products.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 3 × 64 × 500 × 4 = 384,000.
#
# **Milliseconds.** Three weights of 4096 × 14336 in bfloat16 are 352 MB. At 4,147 GB/s that is 0.085
# ms. An H200 took 0.112. The 5.6 GFLOP take 0.008 ms. So 16 tokens are bound by memory, and 4096 tokens, with 256 times
# the operations on the same weights, by arithmetic.
#
# **The ratio.** 0.06 ms of torch's 2.2: about 1.03. Here all products are cuBLAS's. An H200 gained 1.01.
#
# </details>

# %%
many

# %%
timed

# %% [markdown]
# **Read the two tables.** They have the same code and two bounds.
#
# - 4096 tokens: compare `gate fused` with `torch`, then `mlp_swiglu` with `gate fused`. The first
#   step saves bytes and leaves the products to cuBLAS: 1.01 times as fast on an H200. The second saves
#   more bytes, but its products are yours: 1.01 times as fast as `torch`. That is due to the wide tile,
#   which keeps tensor cores busy. Another GPU, an H100, gained 1.05 with it. With two sums, each half as
#   wide, in one loop, it reached 0.93 of the speed of `torch`.
# - 4096 tokens, and weights as `torch.nn.Linear` keeps them, transposed: measured apart, `mlp_swiglu` took 19 %
#   longer, and `torch` as long as before.
# - 16 tokens: a hidden matrix is 0.1 % of the bytes. Nothing is left to save but launches. `torch` reaches
#   76 % of the speed of a copy; the others take longer, and their times spread more.
#
# ## Recap
#
# - Count before you fuse: bytes saved, and the share of the time that they are.
# - Two products of the same input are one product, twice as wide: a tile of x is loaded once for both.
# - An epilogue works on float32 accumulators and rounds once.
# - Few rows need another tile than many.
#
# <details><summary>Common mistakes</summary>
#
# - SiLU on `up` instead of `gate`: the two are easily swapped.
# - The step of `w_gate` taken for both weights: right until a model keeps one of them transposed.
# - x not advanced: every step multiplies the first columns of x again.
# - The sums rounded to half precision before the gate.
#
# </details>
#
# Next: [24_mlp_one_kernel](24_mlp_one_kernel.ipynb), where not even the hidden values go to memory.
#
# Source: N. Shazeer, *GLU Variants Improve Transformer*, 2020.

# %%
progress()
