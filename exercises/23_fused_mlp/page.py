# ---
# workbook:
#   title: Fused MLP
#   minutes: 60
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - fuse the gate of a SwiGLU layer, first as one small kernel, then into two products
#     - count bytes and operations of a fused layer honestly, weights and recomputation included
#     - keep the hidden values of an MLP out of memory, and say when that pays and when it does not
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
# Four fifths of the weights of a Llama 3 layer are in its MLP:
#
# `out = (silu(x @ w_gate) * (x @ w_up)) @ w_down`
#
# As PyTorch operators this is five kernels. Between them the hidden values go to memory and come
# back. **Fusing** means to do several steps in one kernel, so that what lies between them stays in
# registers.
#
# How far should one go? You will fuse in three steps: the gate alone, the gate with both products,
# and at last everything. Each step saves bytes. The last one also costs something, and you will
# find out what.
#
# **Scope.** Weights are laid out so that `x @ w` works: (in, out). For a `torch.nn.Linear` pass
# `layer.weight.T`; strides do the rest. Forward only.

# %%
from tritonbook.seeing.pictures_matmul import draw_mlp

draw_mlp(fused=False)

# %%
draw_mlp(fused=True)

# %% [markdown]
# ## A smaller kernel first
#
# This kernel multiplies each row of a matrix by a number of its own. Look at how it finds its
# place. The grid has one dimension: neighbouring programs work on neighbouring columns of the same
# row, so what they load lies side by side in memory. With the row as the fast axis, neighbours
# would read places far apart.


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
# **Predict.** `silu(gate) * up` on two matrices of 4096 by 14336 in bfloat16. As two PyTorch
# operators, how many bytes move? As one kernel?
#
# <details><summary>Answer</summary>
#
# One matrix holds 117 MB. Two operators: read gate, write silu(gate); read it, read up, write the
# result. Five trips, 587 MB. One kernel: two reads, one write, 352 MB. That is 40 % less, and since
# the operation is memory-bound, about 40 % less time.
#
# </details>
#
# ## Task 1: the gate
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `gate`, `up` | (M, N), any strides | the same, floating | inputs |
# | returned | (M, N), contiguous | as `gate` | `silu(gate) * up` |
#
# `silu(g)` is `g * sigmoid(g)`. Load, go to float32, compute, cast at the store. Shapes that differ
# raise `ValueError`. Fill the gap, about 6 lines.

# %% tags=["reference"]
def silu_mul_ref(gate, up):
    if gate.shape != up.shape:
        raise ValueError("gate and up differ in shape")
    return torch.nn.functional.silu(gate) * up

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

    # TODO: load both to float32, compute, cast, store (about 6 lines)
    ### BEGIN SOLUTION
    gate = tl.load(gate_ptr + pid_m * stride_gm + offs_n * stride_gn, mask=mask_n)
    up = tl.load(up_ptr + pid_m * stride_um + offs_n * stride_un, mask=mask_n)

    gate = gate.to(tl.float32)
    out = gate * tl.sigmoid(gate) * up.to(tl.float32)

    out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask_n)
    ### END SOLUTION


def silu_mul(gate, up):
    """silu(gate) * up, [M, N]."""
    if gate.shape != up.shape:
        raise ValueError(f"gate is {tuple(gate.shape)}, up is {tuple(up.shape)}")
    M, N = gate.shape
    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)
    grid = (M * triton.cdiv(N, 512),)
    silu_mul_kernel[grid](
        gate, up, out, N, *gate.stride(), *up.stride(), *out.stride(),
        BLOCK_N=512, num_warps=4,
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
# `scale_rows_kernel` has the addresses. You have two tensors, each with strides of its own. The
# dtype of the output is `out_ptr.dtype.element_ty`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# gate = tl.load(gate_ptr + pid_m * ... + offs_n * ..., mask=...)
# up = tl.load(..., mask=...)
#
# gate = gate.to(...)
# out = gate * ... * up.to(...)
#
# tl.store(..., out.to(...), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="silu_mul" points=2
check(silu_mul)

# %% [markdown]
# ## Two products and the gate
#
# Next step: `silu(x @ w_gate) * (x @ w_up)` in one kernel. Both products have the same x. So one
# program takes columns of w_gate and the same columns of w_up as **one wide tile**. Then it is the
# loop of a single product. When it ends, gate and up lie side by side in registers. The two hidden
# matrices never exist in memory.
#
# ## Task 2: gate_up_swiglu
#
# | name | shape | role |
# |---|---|---|
# | `x` | (M, D) | input |
# | `w_gate`, `w_up` | (D, H), any strides | weights |
# | returned | (M, H), dtype of `x` | `silu(x @ w_gate) * (x @ w_up)` |
#
# Write the loop over D and the epilogue, about 13 lines. Pointers and masks are given, and `halves`
# takes the two sums apart. Rows and columns past the end wrap around, as in notebook 22: in the loop
# only D needs a mask.


# %% tags=["reference"]
from tritonbook import shared_memory_limit, target_arch, triton_version


@triton.jit
def tile_of(pid, grid_m, grid_n, GROUP_M: tl.constexpr):
    """Tile (pid_m, pid_n) of program pid, in groups of GROUP_M rows (notebook 20)."""
    first_m = pid // (GROUP_M * grid_n) * GROUP_M
    rows = tl.minimum(grid_m - first_m, GROUP_M)
    inside = pid % (GROUP_M * grid_n)
    return first_m + inside % rows, inside // rows


SIZES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")


def sizes(*numbers):
    """Tile and launch options, in the order of SIZES."""
    return dict(zip(SIZES, numbers, strict=True), GROUP_M=16)


def gate_up_tile(M, dtype):
    """Tile of gate_up_swiglu: half as wide as for one product."""
    arch = target_arch()
    if arch < 80 or dtype == torch.float32:
        return sizes(32, 32, 32, 4, 2)
    roomy = shared_memory_limit() > 160_000  # A100, H100
    if M <= 16:
        return sizes(16, 128, 128, 4, 3) if roomy else sizes(16, 32, 128, 4, 4)
    if M <= 64:
        return sizes(64, 64, 64, 4, 4 if roomy else 3)
    return sizes(128, 128, 64, 8, 3) if arch == 90 else sizes(128, 64, 32, 8, 4)


def down_tile(M, dtype):
    """Tile of the product that follows."""
    if target_arch() < 80 or dtype == torch.float32:
        return sizes(32, 32, 32, 4, 2)
    roomy = shared_memory_limit() > 160_000
    if M <= 16:
        return sizes(16, 64, 256, 4, 4) if roomy else sizes(16, 32, 128, 4, 6)
    if M <= 64:
        return sizes(64, 64, 64, 4, 4 if roomy else 3)
    return sizes(128, 256, 64, 8, 3) if roomy else sizes(128, 128, 32, 8, 4)


def neighbours(w_gate, w_up):
    """Along D and along H: how many weights follow each other, from an aligned address on."""

    def follow(w, axis):
        aligned = w.shape[axis] % 8 == w.stride(1 - axis) % 8 == w.data_ptr() % 16 == 0
        return aligned and w.stride(axis) == 1

    return tuple(8 if follow(w_gate, axis) and follow(w_up, axis) else 1 for axis in (0, 1))


@triton.jit
def halves(both, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Left and right half of a tile [BLOCK_M, 2 * BLOCK_N]."""
    return tl.split(both.reshape(BLOCK_M, 2, BLOCK_N).permute(0, 2, 1))


def gate_up_ref(x, w_gate, w_up):
    return torch.nn.functional.silu(x @ w_gate) * (x @ w_up)

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
    GROUP_M: tl.constexpr, EVEN_D: tl.constexpr,
    ALONG_D: tl.constexpr, ALONG_H: tl.constexpr,
):
    """out = silu(x @ w_gate) * (x @ w_up).

    One program = one tile of out, [BLOCK_M, BLOCK_N].
    Any strides, any M, H, D; EVEN_D promises that D is a multiple of BLOCK_K;
    ALONG_D, ALONG_H that so many weights follow each other.
    """
    pid_m, pid_h = tile_of(
        tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(H, BLOCK_N), GROUP_M
    )
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_h = pid_h * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_K)
    row = (offs_m % M).to(tl.int64)[:, None]
    x_ptrs = x_ptr + row * stride_xm + offs_d[None, :] * stride_xd

    # BLOCK_N columns of w_gate, to their right those of w_up
    side = tl.arange(0, 2 * BLOCK_N)
    left = (side < BLOCK_N)[None, :]
    column = ((pid_h * BLOCK_N + side % BLOCK_N) % H).to(tl.int64)[None, :]
    gate_ptrs = gate_ptr + offs_d[:, None] * stride_gd + column * stride_gh
    up_ptrs = up_ptr + offs_d[:, None] * stride_ud + column * stride_uh
    w_ptrs = tl.where(left, gate_ptrs, up_ptrs)
    # in this mixture the compiler sees no neighbours, and would load them one by one
    w_ptrs = tl.multiple_of(w_ptrs, [2 * ALONG_D, 2 * ALONG_H])
    w_ptrs = tl.max_contiguous(w_ptrs, [ALONG_D, ALONG_H])
    w_step = BLOCK_K * tl.where(left, stride_gd, stride_ud)

    out_row = offs_m.to(tl.int64)[:, None]
    out_ptrs = out_ptr + out_row * stride_om + offs_h[None, :] * stride_oh
    mask = (offs_m < M)[:, None] & (offs_h < H)[None, :]

    both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32)
    # TODO: walk along D: load x and w, one dot, advance; then halves, gate and store.
    # With EVEN_D the loads need no mask (`if EVEN_D:` is decided by the compiler).
    ### BEGIN SOLUTION
    for d in range(0, D, BLOCK_K):
        if EVEN_D:
            x = tl.load(x_ptrs)
            w = tl.load(w_ptrs)
        else:
            x = tl.load(x_ptrs, mask=offs_d[None, :] < D - d, other=0.0)
            w = tl.load(w_ptrs, mask=offs_d[:, None] < D - d, other=0.0)
        both = tl.dot(x, w, both, input_precision="ieee")
        x_ptrs += BLOCK_K * stride_xd
        w_ptrs += w_step

    gate, up = halves(both, BLOCK_M, BLOCK_N)
    out = gate * tl.sigmoid(gate) * up
    tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask)
    ### END SOLUTION


def gate_up_swiglu(x, w_gate, w_up):
    """silu(x @ w_gate) * (x @ w_up), [M, H]."""
    if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:
        raise ValueError("x is (M, D), w_gate and w_up are (D, H)")
    M, D = x.shape
    H = w_gate.shape[1]
    out = torch.empty((M, H), dtype=x.dtype, device=x.device)
    blocks = gate_up_tile(M, x.dtype)
    along_d, along_h = neighbours(w_gate, w_up)
    grid = (triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(H, blocks["BLOCK_N"]),)
    gate_up_kernel[grid](
        x, w_gate, w_up, out, M, H, D,
        *x.stride(), *w_gate.stride(), *w_up.stride(), *out.stride(),
        EVEN_D=D % blocks["BLOCK_K"] == 0, ALONG_D=along_d, ALONG_H=along_h, **blocks,
    )
    return out


# %% [markdown] tags=["hint"] key="gate_up_swiglu"
# #### Hints for gate_up_swiglu
#
# <details><summary>Hint 1: a question</summary>
#
# The loop of a product loads two tiles and has one dot. `w_ptrs` has the addresses of both weights.
# How many loads and dots are there here?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `matmul_tiles_kernel` of notebook 22 has this loop for one product, with and without the mask.
# After the loop you have the gate of Task 1, on accumulators that are float32 already.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for d in range(0, D, BLOCK_K):
#     if EVEN_D:
#         x = tl.load(...)
#         ...
#     else:
#         x = tl.load(..., mask=offs_d[None, :] < ..., other=0.0)
#         ...
#     both = tl.dot(x, ..., both, input_precision="ieee")
#     x_ptrs += ...
#     ...
#
# gate, up = halves(both, ...)
# out = gate * ... * up
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="gate_up_swiglu" points=4
check(gate_up_swiglu)

# %% [markdown]
# ## Task 3: the layer
#
# `mlp_swiglu(x, w_gate, w_up, w_down)` is two launches: your `gate_up_swiglu`, then a product with
# `w_down`, which is (H, D). `product` is given: it is the kernel of notebook 22 with tiles from
# `down_tile`. The gap is about 2 lines.
#
# The hidden matrix, (M, H), is now the only thing between the two kernels. It is rounded to the
# dtype of x there, as it is in PyTorch.


# %% tags=["reference"]
@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr, EVEN_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c, [BLOCK_M, BLOCK_N].
    Any strides, any M, N, K; EVEN_K promises that K is a multiple of BLOCK_K.
    """
    pid_m, pid_n = tile_of(
        tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M
    )
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    row = (offs_m % M).to(tl.int64)[:, None]
    column = (offs_n % N).to(tl.int64)[None, :]
    a_ptrs = a_ptr + row * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + column * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    row_of_c = offs_m.to(tl.int64)[:, None]
    c_ptrs = c_ptr + row_of_c * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def product(a, b):
    """a @ b, [M, N]. Raises ValueError where the inner sizes differ."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    blocks = down_tile(M, a.dtype)
    grid = (triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)
    product_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        EVEN_K=K % blocks["BLOCK_K"] == 0, **blocks,
    )
    return c


def mlp_swiglu_ref(x, w_gate, w_up, w_down):
    return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down

# %% tags=["answer"] key="mlp_swiglu"
def mlp_swiglu(x, w_gate, w_up, w_down):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, [M, D], in two launches."""
    # TODO: gate_up_swiglu, then product (about 2 lines)
    ### BEGIN SOLUTION
    hidden = gate_up_swiglu(x, w_gate, w_up)
    return product(hidden, w_down)
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
# Both functions are ready: one is yours, one stands above. Their results have the right dtype.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# hidden = gate_up_swiglu(...)
# return ...(hidden, ...)
# ```
#
# </details>

# %% tags=["check"] key="mlp_swiglu" points=2
check(mlp_swiglu)

# %% [markdown]
# ## Why not everything in one kernel?
#
# The hidden matrix is still written once and read once: 4 × M × H bytes in float16. Many articles
# stop their arithmetic here: "one more fusion, 4 M H bytes saved". Let us finish it, for the
# simpler MLP with two weights, `gelu(x @ w1) @ w2`.
#
# In a single kernel, one program owns a tile of the **output**: 128 rows and, because of its
# accumulator, at most 256 columns. To compute its tile it needs all H hidden values of its rows,
# and for these all of x's rows and **all of w1**. So:
#
# - Every column of output tiles computes the hidden values again. With D = 4096 there are 16 such
#   columns, so the first product is done 16 times.
# - The programs ask for all weights again and again. What the L2 cache cannot answer comes from
#   memory.
#
# ## Task 4: the ledger
#
# Write `traffic_ledger(M, D, H)`. It compares three plans for 2-byte elements. x and out are
# (M, D), w1 is (D, H), w2 is (H, D). Each plan is a dict of four whole numbers:
#
# | entry | counts |
# |---|---|
# | `activations` | bytes of x, out and the hidden values, each read or write counted |
# | `weights` | bytes of w1 and w2, each once |
# | `asked` | bytes of weights that the programs ask for (see below) |
# | `flops` | 2 for each multiplication of a product, recomputation included |
#
# | plan | what it does |
# |---|---|
# | `"separate"` | product, GELU, product: three kernels |
# | `"epilogue"` | GELU in the first product's epilogue: two kernels |
# | `"fused"` | one kernel; columns of output tiles: D / 256, rounded up |
#
# For `asked`: a **row of tiles** is 128 rows, the last may be shorter. Each row of tiles asks for
# each weight once. In the fused plan it asks for w1 once for each column of output tiles.
#
# About 18 lines. No kernel, just honest counting.


# %% tags=["reference"]
ROWS_OF_A_TILE = 128
COLUMNS_OF_A_TILE = 256

# %% tags=["answer"] key="traffic_ledger"
def traffic_ledger(M, D, H):
    """Bytes and operations of three plans for gelu(x @ w1) @ w2, 2 bytes an element."""
    rows = triton.cdiv(M, ROWS_OF_A_TILE)  # rows of tiles
    columns = triton.cdiv(D, COLUMNS_OF_A_TILE)  # columns of output tiles
    # TODO: the three plans, each a dict(activations=, weights=, asked=, flops=) (about 18 lines)
    ### BEGIN SOLUTION
    x = out = 2 * M * D
    hidden = 2 * M * H
    w1 = w2 = 2 * D * H
    one_product = 2 * M * D * H
    separate = dict(
        activations=x + 4 * hidden + out,
        weights=w1 + w2,
        asked=rows * (w1 + w2),
        flops=2 * one_product,
    )
    epilogue = dict(separate, activations=x + 2 * hidden + out)
    fused = dict(
        activations=x + out,
        weights=w1 + w2,
        asked=rows * (columns * w1 + w2),
        flops=columns * one_product + one_product,
    )
    return {"separate": separate, "epilogue": epilogue, "fused": fused}
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="traffic_ledger"
# #### Hints for traffic_ledger
#
# <details><summary>Hint 1: a question</summary>
#
# In the first plan, how often do the hidden values cross the border of a kernel? Follow them: out
# of the product, into the GELU, out of the GELU, into the second product.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# x is (M, D), the hidden values (M, H), each weight D × H elements of 2 bytes. A product of (M, D)
# by (D, H) takes 2 M D H operations. The fused plan does the first one `columns` times.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = out = 2 * ...
# hidden = ...
# w1 = w2 = ...
# separate = dict(activations=x + ... * hidden + out, weights=..., asked=..., flops=...)
# epilogue = dict(separate, activations=...)
# fused = dict(activations=..., weights=..., asked=rows * (... * w1 + w2), flops=...)
# return {"separate": separate, ...}
# ```
#
# </details>

# %% tags=["check"] key="traffic_ledger" points=4
check(traffic_ledger)

# %% [markdown]
# **Find the border.** The best that the hardware allows is the larger of two times: bytes over
# bandwidth, and operations over arithmetic speed. If the L2 cache answers every repeated question,
# the bytes are `activations + weights`. Up to which M is the fused plan then no slower than the
# epilogue plan? The cell takes an A100 (1.6 TB/s, 312 TFLOP/s) and walks through M.

# %%
def best_ms(plan, bandwidth=1.6e12, speed=312e12):
    """The least time of a plan, in ms, when every repeated request is answered by the L2 cache."""
    return 1e3 * max((plan["activations"] + plan["weights"]) / bandwidth, plan["flops"] / speed)


for D in (128, 256, 512, 1024, 4096):
    border = None
    for M in range(1, 4097):
        ledger = traffic_ledger(M, D, 4 * D)
        if best_ms(ledger["fused"]) > best_ms(ledger["epilogue"]):
            border = M
            break
    ledger = traffic_ledger(64, D, 4 * D)
    saved = 1 - best_ms(ledger["fused"]) / best_ms(ledger["epilogue"])
    ratio = ledger["fused"]["asked"] / ledger["epilogue"]["asked"]
    print(
        f"D={D:5}: fused wins {'at every M tried' if border is None else f'below M={border}'}; at "
        f"M=64 it saves {saved:6.1%} and asks for {ratio:.1f} times the weights"
    )

# %% [markdown]
# So the answer has two parts.
#
# - **A narrow layer** (D up to 256): one column of output tiles holds the whole row. Nothing is
#   computed twice, and the hidden values cost nothing. More rows save more, until arithmetic is the
#   bound.
# - **A wide layer**: below the border the saving is small, the wider the layer the smaller, because
#   weights dominate and both plans read them. Above the border recomputation costs more than
#   memory did. And the table is kind to the fused plan: it believes that the L2 cache answers 8.5
#   times the requests at no cost, and that a handful of programs keep a GPU busy.
#
# Predictions are worth checking. So build it.
#
# ## Stretch: the whole MLP in one kernel
#
# `mlp_gelu_fused(x, w1, w2)` is `gelu(x @ w1) @ w2`: x (M, D), w1 (D, H), w2 (H, N). The kernel
# walks along H. At each step it computes a tile of hidden values, `[BLOCK_M, BLOCK_H]`. It applies
# the GELU and casts to the dtype of w2. The product with a tile of w2 goes to the accumulator.
# Two `tl.dot` in a row, and what lies between them never goes to memory.
#
# When D fits into one tile (`ONE_D`), x is loaded once, before the loop. Else an inner loop walks
# along D. Write the loop over H and the store, about 20 lines. The GELU is given: `gelu_tanh`.


# %% tags=["reference"]
@triton.jit
def gelu_tanh(x):
    """GELU, tanh form, of float32: x sigmoid(2 z), with exp2 and one division."""
    z = 2.302208198 * (x + 0.044715 * x * x * x)  # 2 sqrt(2 / pi) log2(e)
    return x / (1.0 + tl.exp2(-z))


def mlp_gelu_ref(x, w1, w2):
    return torch.nn.functional.gelu(x @ w1, approximate="tanh") @ w2


def mlp_tile(M, D, dtype):
    """Tiles of the fused MLP; one tile along D where D is narrow enough."""

    def choose(block_m, block_d, block_h, block_n, num_warps, num_stages):
        return dict(
            BLOCK_M=block_m,
            BLOCK_D=block_d,
            BLOCK_H=block_h,
            BLOCK_N=block_n,
            ONE_D=block_d >= D,
            num_warps=num_warps,
            num_stages=num_stages,
        )

    arch, width = target_arch(), max(16, triton.next_power_of_2(D))
    if arch < 80 or dtype == torch.float32:
        return choose(32, 32, 32, 32, 4, 2)
    if width <= 128:
        return choose(64, width, 32, width, 4, 3)
    if width == 256 and arch == 90 and M > 16384:
        return choose(128, 256, 64, 256, 8, 2)
    if width == 256 and shared_memory_limit() > 160_000:
        return choose(64, 256, 32, 256, 4 if arch == 90 else 8, 3)
    # older compilers give up on two products in a row with eight warps
    if arch == 90 and triton_version() >= (3, 6):
        return choose(64, 64, 128, 256, 8, 3)
    return choose(64, 64, 64, 128, 4, 2)

# %% tags=["answer", "stretch"] key="mlp_gelu_fused"
@triton.jit
def mlp_gelu_kernel(
    x_ptr, w1_ptr, w2_ptr, out_ptr,
    M, D, H, N,
    stride_xm, stride_xd,
    stride_1d, stride_1h,
    stride_2h, stride_2n,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr,
    ONE_D: tl.constexpr,
):
    """out = gelu(x @ w1) @ w2; the hidden values stay in registers.

    One program = one tile of out; it computes all hidden values of its rows.
    Any strides and sizes; ONE_D promises that D is at most BLOCK_D.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_h, offs_d = tl.arange(0, BLOCK_H), tl.arange(0, BLOCK_D)
    mask_m, mask_n, mask_d = offs_m < M, offs_n < N, offs_d < D
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_d[None, :] * stride_xd
    w1_ptrs = w1_ptr + offs_d[:, None] * stride_1d + offs_h[None, :] * stride_1h
    w2_ptrs = w2_ptr + offs_h[:, None] * stride_2h + offs_n[None, :] * stride_2n
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # loaded here once when all of D fits into a tile
    x = tl.load(x_ptrs, mask=mask_m[:, None] & mask_d[None, :], other=0.0)
    # TODO: for each step along H: hidden tile (ONE_D, or a loop over D), GELU, cast,
    # second dot, advance both weights; after the loop the store
    ### BEGIN SOLUTION
    for h in range(0, H, BLOCK_H):
        mask_h = offs_h < H - h
        if ONE_D:
            w1 = tl.load(w1_ptrs, mask=mask_d[:, None] & mask_h[None, :], other=0.0)
            hidden = tl.dot(x, w1, input_precision="ieee")
        else:
            hidden = tl.zeros((BLOCK_M, BLOCK_H), dtype=tl.float32)
            for d in range(0, D, BLOCK_D):
                rest = offs_d < D - d
                x_now, w1_now = x_ptrs + d * stride_xd, w1_ptrs + d * stride_1d
                x = tl.load(x_now, mask=mask_m[:, None] & rest[None, :], other=0.0)
                w1 = tl.load(w1_now, mask=rest[:, None] & mask_h[None, :], other=0.0)
                hidden = tl.dot(x, w1, hidden, input_precision="ieee")
        act = gelu_tanh(hidden).to(w2_ptr.dtype.element_ty)
        w2 = tl.load(w2_ptrs, mask=mask_h[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(act, w2, acc, input_precision="ieee")
        w1_ptrs += BLOCK_H * stride_1h
        w2_ptrs += BLOCK_H * stride_2h

    out = acc.to(out_ptr.dtype.element_ty)
    tl.store(out_ptrs, out, mask=mask_m[:, None] & mask_n[None, :])
    ### END SOLUTION


def mlp_gelu_fused(x, w1, w2):
    """gelu(x @ w1) @ w2, [M, N], in one launch."""
    if x.shape[1] != w1.shape[0] or w1.shape[1] != w2.shape[0]:
        raise ValueError("x is (M, D), w1 is (D, H), w2 is (H, N)")
    M, D = x.shape
    H, N = w2.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    blocks = mlp_tile(M, D, x.dtype)
    grid = (triton.cdiv(M, blocks["BLOCK_M"]), triton.cdiv(N, blocks["BLOCK_N"]))
    mlp_gelu_kernel[grid](
        x, w1, w2, out, M, D, H, N,
        *x.stride(), *w1.stride(), *w2.stride(), *out.stride(), **blocks,
    )
    return out


# %% [markdown] tags=["hint"] key="mlp_gelu_fused"
# #### Hints for mlp_gelu_fused
#
# <details><summary>Hint 1: a question</summary>
#
# Which loop is outside, the one over H or the one over D? What has to start at zero for each step
# of the outer loop, and what only once?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The inner loop is the product of notebook 20 with a fresh accumulator. After it comes an epilogue,
# then a dot with `acc`. Both operands of a dot have the same dtype, so cast the activation.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for h in range(0, H, BLOCK_H):
#     mask_h = ...
#     if ONE_D:
#         w1 = tl.load(...)
#         hidden = tl.dot(x, w1, ...)
#     else:
#         hidden = tl.zeros(...)
#         for d in range(0, D, BLOCK_D):
#             ...
#     act = gelu_tanh(...).to(...)
#     w2 = tl.load(...)
#     acc = tl.dot(...)
#     w1_ptrs += ...
#     w2_ptrs += ...
# tl.store(...)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="mlp_gelu_fused" points=0
check(mlp_gelu_fused)

# %% [markdown]
# **Check the ledger by counting.** The meter runs your kernel and counts every byte that it asks
# for. Here D is 300 and a tile of the output has 128 columns, so there are three columns of tiles.
# Find w1: it is read three times, w2 once.

# %%
half = dict(device=DEVICE, dtype=torch.float16)
x, w1, w2 = (torch.randn(*shape, **half) * 0.1 for shape in [(64, 300), (300, 64), (64, 300)])
traffic(mlp_gelu_fused, x, w1, w2)

# %% [markdown]
# ## Predict, then measure
#
# First the layer of a Llama model, D = 4096 and H = 14336: once with many tokens, once with 16.
# **Predict** for both: is it bound by arithmetic or by memory? And write your numbers into the box
# below, before you run the cell above it.

# %%
def llama_mlp(x, w_gate, w_up, w_down):
    return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down


D, H = (4096, 14336) if DEVICE == "cuda" else (64, 128)
options = dict(device=DEVICE, dtype=torch.bfloat16 if DEVICE == "cuda" else torch.float32)
weights = [torch.randn(D, H, **options) * D**-0.5 for _ in range(2)]
weights.append(torch.randn(H, D, **options) * H**-0.5)

for M in (4096, 16) if DEVICE == "cuda" else (32,):
    x = torch.randn(M, D, **options)
    element = x.element_size()
    timed = bench(
        {"PyTorch": llama_mlp, "mlp_swiglu": mlp_swiglu}, x, *weights,
        bytes=element * (2 * M * D + 3 * D * H), flops=6 * M * D * H,
        baseline="PyTorch", warmup=1000,
        title=f"SwiGLU layer, {M} x {D} x {H}",
    )
    print(timed)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that silu_mul moves for 64 x 500 float32": None,
        "ms of PyTorch's layer for 16 tokens": None,
    },
    measured=[
        lambda: traffic(silu_mul, *torch.randn(2, 64, 500, device=DEVICE)),
        lambda: time_of(timed, "PyTorch"),
    ],
    hints=[
        "Two matrices are read, one is written.",
        "For 16 tokens the three weights are all that counts: 2 bytes each, read once.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 3 × 64 × 500 × 4 = 384,000.
#
# **Milliseconds.** Three weights of 4096 × 14336 in bfloat16 are 352 MB. Divide by the copy rate of
# your GPU, printed below the table: at 2,966 GB/s that is 0.119 ms. The 5.6 GFLOP would take 0.008
# ms. So with 16 tokens the layer is bound by memory, and with 4096 tokens, 256 times the operations
# for the same weights, by arithmetic.
#
# </details>

# %% [markdown]
# Now the question of the ledger: everything in one kernel, narrow and wide, few rows and many. The
# ratio is the time of PyTorch's three operators over yours; above 1 the fused kernel wins.

# %%
def plain_mlp(x, w1, w2):
    return torch.nn.functional.gelu(x @ w1, approximate="tanh") @ w2


widths = (64, 128, 256, 512, 1024) if DEVICE == "cuda" else (32,)
for D in widths:
    w1 = torch.randn(D, 4 * D, **options) * D**-0.5
    w2 = torch.randn(4 * D, D, **options) * (4 * D) ** -0.5
    for M in (128, 8192, 65536) if DEVICE == "cuda" else (32,):
        x = torch.randn(M, D, **options)
        pair = bench(
            {"PyTorch": plain_mlp, "mlp_gelu_fused": mlp_gelu_fused}, x, w1, w2,
            baseline="PyTorch", rep=30,
        )
        slow, fast = (row.ms for row in pair.rows)
        ratio = slow / fast
        print(f"D={D:5} M={M:6}: PyTorch {slow:.4f} ms, fused {fast:.4f} ms, ratio {ratio:.2f}")
if DEVICE != "cuda":
    print("These are times of the interpreter: they say nothing about a GPU.")

# %% [markdown]
# **Read the tables.** On an H100, in November 2026, `torch.compile` took 1.02 times as long as
# `mlp_swiglu` at 4096 tokens (0.99 with two accumulators) and 1.11 times at 16.
#
# Full fusion wins where the ledger said, in narrow layers with many rows: 2.4 times at D = 64, 2.1
# at D = 128, 1.3 at D = 256, each with 65,536 rows. For D = 512 and more it loses, by a factor of 2
# to 14, and the wider the layer, the more. With 128 rows it wins at D = 64 alone, although the
# ledger promised 44 % less at D = 128 and 19 % at D = 512: there 128 rows make two to four programs,
# and the rest of the GPU has nothing to do. A bound says what is possible, not what happens.
#
# ## Recap
#
# - Fusing what is memory-bound saves time in proportion to the bytes. Count them first.
# - Two products of the same input share its tiles: one wide tile of weights, one loop.
# - To fuse a product with the product after it, every program needs the whole row between them. If
#   the row is wider than a tile, it is computed again and again.
# - Bytes saved mean nothing without the bytes and operations added.
#
# <details><summary>Common mistakes</summary>
#
# - SiLU on `up` instead of `gate`: the two are easily swapped.
# - The activation in half precision: cast at the store, or right before the next dot, not earlier.
# - The hidden accumulator not reset for each step along H.
# - Arithmetic that counts activations only. Weights are the larger part up to M = D H / (D + H):
#   3,277 rows with D = 4096 and H = 16384.
#
# </details>
#
# Next: [30_register_op](30_register_op.ipynb), where a kernel becomes an operator of PyTorch.

# %%
progress()
