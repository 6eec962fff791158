# ---
# workbook:
#   title: Matrix multiplication
#   minutes: 60
#   needs: interpreter
#   requires: [01_vector_add]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - address any matrix by two strides, so that transposed and sliced inputs just work
#     - write a tiled matrix product on tensor cores, with a float32 accumulator
#     - choose the order of the tiles so that more of them share what the L2 cache holds
#     - finish a linear layer (bias and activation) before it ever leaves the registers
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# Most of the time of a language model is spent in one operation: `C = A @ B`. In this notebook you
# write it. At the end your kernel also adds a bias and applies an activation, almost for free.
#
# **Scope.** Two matrices, any strides, float16, bfloat16 and float32. Tile sizes are given here.
# Choosing them is the next notebook.
#
# ## Strides first
#
# A matrix in memory is one long row of numbers. Two strides say where an element sits:
#
# `address of a[i, k] = a_ptr + i * stride_am + k * stride_ak`
#
# Nothing else is needed. A transposed matrix is the same memory with the two strides
# swapped. A slice is the same memory with a larger stride, or with a later start. A kernel
# that uses both strides of each matrix handles all of these, and copies nothing.

# %%
a = torch.arange(12.0).reshape(3, 4)
for name, view in {"a": a, "a.T": a.T, "a[:, ::2]": a[:, ::2], "a[1:]": a[1:]}.items():
    where = f"strides {view.stride()!s:7} starts at {view.storage_offset()}"
    print(f"{name:10} shape {tuple(view.shape)!s:7} {where}")

# %% [markdown]
# ## One tile of C
#
# Cut C into tiles of `BLOCK_M` by `BLOCK_N`. One program computes one tile. It needs a strip
# of A (its rows) and a strip of B (its columns), and it walks along K in steps of `BLOCK_K`.

# %%
from tritonbook.seeing.pictures_matmul import draw_k_loop

draw_k_loop(M=96, N=128, K=160, block_m=32, block_n=32, block_k=64, pid_m=1, pid_n=2)

# %% [markdown]
# Here is the step that is done at each position of the loop: two small tiles are loaded and
# multiplied by `tl.dot`. This worked kernel has a single step, so M, N and K may be 16 at
# most. `[:, None]` turns a row of offsets into a column: rows times one stride plus columns
# times the other gives a whole tile of addresses.


# %%
@triton.jit
def one_step_kernel(
    a_ptr, b_ptr, c_ptr,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK: tl.constexpr,
):
    offs = tl.arange(0, BLOCK)
    rows, columns = offs[:, None], offs[None, :]
    a = tl.load(a_ptr + rows * stride_am + columns * stride_ak)  # [BLOCK, BLOCK]
    b = tl.load(b_ptr + rows * stride_bk + columns * stride_bn)  # [BLOCK, BLOCK]
    c = tl.dot(a, b)
    tl.store(c_ptr + rows * stride_cm + columns * stride_cn, c)


a, b = torch.randn(16, 16, device=DEVICE), torch.randn(16, 16, device=DEVICE)
c = torch.empty_like(a)
one_step_kernel[(1,)](a, b.T, c, *a.stride(), *b.T.stride(), *c.stride(), BLOCK=16)
print("A @ B.T, largest error:", (c - a @ b.T).abs().max().item())

# %% [markdown]
# `tl.dot` runs on **tensor cores**: units that multiply small matrices in one instruction.
# They take float16, bfloat16 or TF32 and can add up in float32. Tiles must be at least 16 in
# each dimension.
#
# ### What about float32 inputs?
# Tensor cores of an A100 have no float32 mode. Triton's default for float32 tiles is
# **TF32**: it keeps 10 of the 23 mantissa bits of each input, so about three decimal digits.
# That is fast, and often not what you meant: on an H100 the largest error above is 0.008, in the
# interpreter it is that of float32. `input_precision` says which one you want:
#
# | `input_precision=` | what happens to float32 inputs | relative error of a product |
# |---|---|---|
# | `"tf32"` (default) | rounded to 10 mantissa bits, tensor cores | about 1e-3 |
# | `"tf32x3"` | split into two TF32 parts, three products | about 1e-6 |
# | `"ieee"` | exact float32, no tensor cores | about 1e-7 |
#
# In this workbook a float32 product means float32: we write `input_precision="ieee"`. It has
# no effect on float16 and bfloat16. PyTorch makes the same choice for `a @ b`.

# %% [markdown]
# **Predict.** C is 4096 by 4096, with tiles of 128 by 128. How many programs run? How many
# times is each element of A loaded?
#
# <details><summary>Answer</summary>
#
# 32 x 32 = 1024 programs. Every program in a row of tiles loads the same rows of A. So each element
# of A is loaded 32 times (4096 / 128). The same holds for B. Larger tiles mean fewer loads. That is
# the reason for tiles.
# </details>

# %% [markdown]
# ## Task 1: the tiled product
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `a` | (M, K), any strides | float16, bfloat16, float32 | input |
# | `b` | (K, N), any strides | as `a` | input |
# | returned | (M, N), contiguous | as `a` | `c[m, n] = sum over k of a[m, k] * b[k, n]` |
#
# The sum is kept in float32 whatever the inputs are, and cast once, at the store. K need not
# be a multiple of the tile. Inner sizes that do not match raise `ValueError`.


# %% tags=["reference"]
from tritonbook import target_arch


def tile(dtype):
    """Tile sizes that fit this GPU and this dtype. The next notebook shows how to choose."""
    if target_arch() < 80:  # no tensor cores for Triton here: small tiles, or registers spill
        return dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, num_warps=4, num_stages=2)
    if dtype == torch.float32:  # input_precision="ieee" runs on the ordinary units
        return dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=8, num_stages=2)
    return dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, num_warps=4, num_stages=4)


def matmul_ref(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError("inner sizes differ")
    return a @ b

# %% [markdown]
# Fill the gap in `matmul_kernel` (about 14 lines). The tile's offsets and the masks of M and N
# are given. You write the pointers, the loop over K, and the store.


# %% tags=["answer"] key="matmul"
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.
    One program = one tile of c, [BLOCK_M, BLOCK_N].
    Any strides, any M, N, K; the sum is float32.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    # int64: a row number times a stride can pass 2**31
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N

    # TODO 1: pointers to the first tile of A, [BLOCK_M, BLOCK_K],
    #         and of B, [BLOCK_K, BLOCK_N]
    # TODO 2: a float32 accumulator; each step along K: load both tiles, add their dot
    # TODO 3: store the accumulator, cast to the dtype of c
    ### BEGIN SOLUTION
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptrs, c, mask=mask_m[:, None] & mask_n[None, :])
    ### END SOLUTION


def matmul(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    blocks = tile(a.dtype)
    grid = (triton.cdiv(M, blocks["BLOCK_M"]), triton.cdiv(N, blocks["BLOCK_N"]))
    matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **blocks
    )
    return c

# %% [markdown] tags=["hint"] key="matmul"
# #### Hints for matmul
#
# <details><summary>Hint 1: a question</summary>
#
# Look at the picture of the K loop. Which of the two tiles of pointers moves along a row when K
# advances, and which along a column? By how many addresses is one step?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `one_step_kernel` has the addresses and the dot. Add the masks: rows past M, columns past N, and
# in the last step the part of the tile that lies past K. `tl.dot(a, b, acc, ...)` adds to `acc`.
# Masked lanes must be 0 (`other=0.0`), because they enter a sum.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# a_ptrs = a_ptr + offs_m[:, None] * ... + offs_k[None, :] * ...
# b_ptrs = b_ptr + offs_k[:, None] * ... + offs_n[None, :] * ...
#
# acc = tl.zeros((..., ...), dtype=...)
# for k in range(0, K, BLOCK_K):
#     mask_k = offs_k < K - ...
#     a = tl.load(a_ptrs, mask=... & ..., other=0.0)
#     b = tl.load(b_ptrs, mask=... & ..., other=0.0)
#     acc = tl.dot(a, b, ..., input_precision=...)
#     a_ptrs += BLOCK_K * ...
#     b_ptrs += BLOCK_K * ...
#
# c_ptrs = c_ptr + ...
# tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=... & ...)
# ```
#
# </details>

# %% tags=["check"] key="matmul" points=6
check(matmul)

# %% [markdown]
# ## Why the sum is float32
#
# Half precision has 11 bits of mantissa. Above 2048 it cannot count in ones any more. Add up 8192
# positive products in float16 and the sum stops growing long before the end. Run it and see.

# %%
products = torch.rand(8192, dtype=torch.float64) + 0.5
running = torch.zeros((), dtype=torch.float16)
for product in products.to(torch.float16):
    running = running + product
print(f"exact {products.sum():.1f}")
off = abs(running - products.sum()) / products.sum()
print(f"float16 sum {running.item():.1f}, off by {off:.1%}")
print(f"float32 sum {products.float().sum().item():.1f}")

# %% [markdown]
# Tensor cores add in float32 at full speed. There is no reason to do otherwise. The cast to the
# dtype of C comes once, at the store.
#
# ## What the compiler made of it
#
# You need no GPU to compile for one. `facts` compiles your kernel for an A100 (`sm_80`) and reads
# the result. Look for three things: `mma` instructions (tensor cores), registers, and shared
# memory. In shared memory the next tiles wait while this one is multiplied: `num_stages` of them.

# %%
a = torch.randn(512, 512, device=DEVICE, dtype=torch.float16)
facts(matmul, a, a)

# %% [markdown]
# Shared memory is what limits the tile. One stage holds a tile of A and one of B, so
# `(BLOCK_M + BLOCK_N) * BLOCK_K * 2` bytes. On an A100 one stage less than `num_stages` lies there:
# the tiles in use are in registers. On an H100, whose tensor cores read from shared memory, all do.
#
# An A100 gives one program 163 KiB. With tiles of 128 by 256 by 64 and 5 stages you ask for
# 192 KiB. The next cell asks. Triton answers with `OutOfResources`, and the sentence names the
# need and the limit. Smaller tiles or fewer stages mend it.

# %%
def too_large(a, b):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    sizes = dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=5)
    matmul_kernel[(4, 2)](
        a, b, c, 512, 512, 512, *a.stride(), *b.stride(), *c.stride(), **sizes
    )
    return c


facts(too_large, a, a)

# %% [markdown]
# ## The order of the tiles
#
# An A100 runs about 108 tiles at a time, an H100 132. The programs that run together share the L2
# cache. If they need the same strips of A and B, each strip comes from memory once. So the order
# of the tiles decides how much is shared.
#
# The picture shows the first 16 programs on a grid of 8 by 8 tiles, in two orders. Count the
# strips: rows of A on the left, columns of B at the top.

# %%
from tritonbook.seeing.pictures_matmul import draw_tile_order

draw_tile_order(
    {
        "row by row": lambda pid, grid_m, grid_n: (pid // grid_n, pid % grid_n),
        "groups of 4 rows": lambda pid, grid_m, grid_n: (pid // 32 * 4 + pid % 4, pid // 4 % 8),
    },
    grid_m=8,
    grid_n=8,
    running=16,
)

# %% [markdown]
# Row by row, 16 programs need 2 strips of A and all 8 of B: 10. In groups they need 4 and 4: 8. On
# a real matrix the gap is wider. For 64 by 64 tiles and 128 programs it is 66 strips against 24
# with groups of 8.
#
# ## Task 2: the order in plain Python
#
# | name | meaning |
# |---|---|
# | `pid` | number of the program, 0 to `grid_m * grid_n - 1` |
# | `grid_m`, `grid_n` | tiles of C in a column, in a row |
# | `group` | tile rows in a group |
# | returned | the pair `(pid_m, pid_n)` of the program's tile, two ints |
#
# The rule: take `group` rows of tiles together. Inside a group go down the first column of tiles,
# then down the second, and so on. When the group is finished, start the next. The last group may
# have fewer rows. Every tile is taken exactly once. About 6 lines.


# %% tags=["reference"]
def swizzle_ref(pid, grid_m, grid_n, group):
    """The rule spelt out: list all tiles in order, take number pid."""
    order = []
    for first in range(0, grid_m, group):
        for pid_n in range(grid_n):
            for pid_m in range(first, min(first + group, grid_m)):
                order.append((pid_m, pid_n))
    return order[pid]

# %% tags=["answer"] key="swizzle"
def swizzle(pid, grid_m, grid_n, group):
    """Tile (pid_m, pid_n) of program pid: groups of `group` tile rows, column by column."""
    # TODO: which group? how many rows has it? where inside the group? (about 6 lines)
    ### BEGIN SOLUTION
    per_group = group * grid_n
    first_m = pid // per_group * group
    rows = min(grid_m - first_m, group)
    inside = pid % per_group
    return first_m + inside % rows, inside // rows
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="swizzle"
# #### Hints for swizzle
#
# <details><summary>Hint 1: a question</summary>
#
# A whole group holds `group * grid_n` tiles. So in which group is program `pid`, and which row of
# tiles is the group's first?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Inside the group, number the tiles from 0. Going down first means: the row is the remainder by the
# number of rows, the column is the quotient. Only the last group has other than `group` rows.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# per_group = ...
# first_m = pid // ... * ...
# rows = min(grid_m - ..., ...)
# inside = pid % ...
# return ... + inside % ..., inside // ...
# ```
#
# </details>

# %% tags=["check"] key="swizzle" points=3
check(swizzle)

# %% [markdown]
# Your order, drawn. The number of strips is the number to make small.

# %%
draw_tile_order(
    {
        "yours, groups of 4": lambda pid, grid_m, grid_n: swizzle(pid, grid_m, grid_n, 4),
        "yours, groups of 2": lambda pid, grid_m, grid_n: swizzle(pid, grid_m, grid_n, 2),
    },
    grid_m=8,
    grid_n=8,
    running=16,
)

# %% [markdown]
# ## Task 3: the grouped product
#
# Now the same rule in a kernel. The grid has one dimension, because programs start in the order of
# their number. Two gaps:
#
# - In `tile_of`, about 6 lines. It goes row by row so far. Make it your `swizzle`, with
#   `tl.minimum` in place of `min`. A `@triton.jit` function can be called from a kernel.
# - In the wrapper, the grid, 1 line.
#
# The loop over K is the one of Task 1. `tile_order` asks your `tile_of` for the order itself, so
# that the check can see it: the values alone do not show it.

# %% tags=["answer"] key="matmul_grouped"
@triton.jit
def tile_of(pid, grid_m, grid_n, GROUP_M: tl.constexpr):
    """Tile (pid_m, pid_n) of program pid: groups of GROUP_M rows, column by column."""
    pid_m = pid // grid_n
    pid_n = pid % grid_n
    # TODO 1: not row by row, but in groups (about 6 lines)
    ### BEGIN SOLUTION
    per_group = GROUP_M * grid_n
    first_m = pid // per_group * GROUP_M
    rows = tl.minimum(grid_m - first_m, GROUP_M)
    inside = pid % per_group
    pid_m = first_m + inside % rows
    pid_n = inside // rows
    ### END SOLUTION
    return pid_m, pid_n


@triton.jit
def tile_order_kernel(
    order_ptr, grid_m, grid_n, stride_on, stride_op, GROUP_M: tl.constexpr
):
    pid = tl.program_id(0)
    pid_m, pid_n = tile_of(pid, grid_m, grid_n, GROUP_M)
    tl.store(order_ptr + pid * stride_on, pid_m)
    tl.store(order_ptr + pid * stride_on + stride_op, pid_n)


def tile_order(grid_m, grid_n, group):
    """The tile of each program: int32, [grid_m * grid_n, 2]."""
    order = torch.empty((grid_m * grid_n, 2), dtype=torch.int32, device=DEVICE)
    tile_order_kernel[(grid_m * grid_n,)](
        order, grid_m, grid_n, *order.stride(), GROUP_M=group
    )
    return order


@triton.jit
def matmul_grouped_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c; programs go in groups of GROUP_M tile rows.
    Any strides, any M, N, K; the sum is float32.
    """
    pid_m, pid_n = tile_of(
        tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M
    )
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N

    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    c = acc.to(c_ptr.dtype.element_ty)
    tl.store(c_ptrs, c, mask=mask_m[:, None] & mask_n[None, :])


def matmul_grouped(a, b):
    """a @ b, [M, N]; tiles in groups of 8 rows."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    blocks = tile(a.dtype)
    # TODO 2: a grid of one dimension, one program for each tile (1 line)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)
    ### END SOLUTION
    matmul_grouped_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), GROUP_M=8, **blocks
    )
    return c

# %% [markdown] tags=["hint"] key="matmul_grouped"
# #### Hints for matmul_grouped
#
# <details><summary>Hint 1: a question</summary>
#
# How many programs did the grid of Task 1 start, its two numbers taken together?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tile_of` is `swizzle` line by line. Assign to `pid_m` and `pid_n`; the `return` is there already.
# `//` and `%` work on numbers in a kernel as they do in Python.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# per_group = ...
# first_m = pid // ... * ...
# rows = tl.minimum(..., GROUP_M)
# ...
# pid_m = first_m + ...
# pid_n = ...
# ```
#
# And the grid: `(triton.cdiv(M, ...) * triton.cdiv(N, ...),)`. The comma makes it a tuple.
#
# </details>

# %% tags=["check"] key="matmul_grouped" points=3
check(matmul_grouped)

# %% [markdown]
# ## Finish the layer before it leaves
#
# A linear layer is `act(x @ w + bias)`. As three operators the product is written to memory, read
# for the bias, written, read for the activation, written. In your kernel the product lies in
# registers when the loop ends. Add the bias and apply the activation there. That is an
# **epilogue**. It saves four trips through memory and costs almost nothing.
#
# ## Task 4: linear_act
#
# | name | shape | role |
# |---|---|---|
# | `x` | (M, K) | input |
# | `w` | (K, N) | weight; for a `torch.nn.Linear` pass `layer.weight.T` |
# | `bias` | (N,), any stride | one number for each **column** of the result |
# | `act` | `"none"`, `"relu"`, `"gelu"`, `"silu"` | activation; anything else raises `ValueError` |
# | returned | (M, N), dtype of `x` | `act(x @ w + bias)` |
#
# `gelu` is the tanh form, as in notebook 03. Bias and activation are computed in float32, before
# the cast. `ACT` is a `tl.constexpr`, so the `if` is decided by the compiler and costs nothing.
# Write the epilogue, about 10 lines. `gelu_tanh` is given.


# %% tags=["reference"]
@triton.jit
def gelu_tanh(x):
    """GELU, tanh form, of float32: 0.5 (1 + tanh(z)) is sigmoid(2 z)."""
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))

# %% tags=["answer"] key="linear_act"
@triton.jit
def linear_act_kernel(
    x_ptr, w_ptr, bias_ptr, out_ptr,
    M, N, K,
    stride_xm, stride_xk,
    stride_wk, stride_wn,
    stride_bn,
    stride_om, stride_on,
    ACT: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out = act(x @ w + bias).

    One program = one tile of out, [BLOCK_M, BLOCK_N].
    Any strides, any M, N, K; the sum, the bias and the activation are float32.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N

    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk
    w_ptrs = w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - k
        x = tl.load(x_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk

    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    # TODO: load these columns' bias, add in float32, apply ACT, cast, store (10 lines)
    ### BEGIN SOLUTION
    bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n, other=0.0)
    y = acc + bias.to(tl.float32)[None, :]
    if ACT == "relu":
        y = tl.maximum(y, 0.0)
    elif ACT == "gelu":
        y = gelu_tanh(y)
    elif ACT == "silu":
        y = y * tl.sigmoid(y)
    out = y.to(out_ptr.dtype.element_ty)
    tl.store(out_ptrs, out, mask=mask_m[:, None] & mask_n[None, :])
    ### END SOLUTION


def linear_act(x, w, bias, act):
    """act(x @ w + bias), [M, N]."""
    if act not in ("none", "relu", "gelu", "silu"):
        raise ValueError(f"{act!r} is none of none, relu, gelu, silu")
    if x.shape[1] != w.shape[0] or bias.shape != w.shape[1:]:
        raise ValueError("x is (M, K), w is (K, N), bias is (N,)")
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    blocks = tile(x.dtype)
    grid = (triton.cdiv(M, blocks["BLOCK_M"]), triton.cdiv(N, blocks["BLOCK_N"]))
    linear_act_kernel[grid](
        x, w, bias, out, M, N, K, *x.stride(), *w.stride(), *bias.stride(), *out.stride(),
        ACT=act, **blocks,
    )
    return out

# %% [markdown] tags=["hint"] key="linear_act"
# #### Hints for linear_act
#
# <details><summary>Hint 1: a question</summary>
#
# The accumulator is `[BLOCK_M, BLOCK_N]`, the bias of this tile is `[BLOCK_N]`. Which gives each
# column its own number, `[:, None]` or `[None, :]`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The columns of this tile are `offs_n`, and so are the elements of the bias. `ACT` is a string: you
# can compare it with `==`. SiLU is `y * tl.sigmoid(y)`; `tl.maximum` takes a number as well.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# bias = tl.load(bias_ptr + ... * stride_bn, mask=..., other=0.0)
# y = acc + ...
# if ACT == "relu":
#     y = ...
# elif ...
# tl.store(out_ptrs, y.to(...), mask=...)
# ```
#
# </details>

# %% tags=["check"] key="linear_act" points=4
check(linear_act)

# %% [markdown]
# ## Predict, then measure
#
# A product of 8192 by 8192 matrices takes 2 × 8192³ = 1.1 TFLOP. Its three matrices hold 403 MB in
# float16. On an A100 (312 TFLOP/s, 1.6 TB/s) arithmetic alone takes 3.5 ms, memory alone 0.26 ms.
# Such a kernel is *compute-bound*: what counts is how busy the tensor cores are.
#
# **Predict.** Which is faster, `matmul` or `matmul_grouped`? And how far is each from cuBLAS, the
# library behind `a @ b`? Would the order of tiles matter as much at 2048, where all three matrices
# together fit into the L2 cache?
#
# And how many milliseconds does cuBLAS take? Write your numbers into the box below *before* you run
# the cells above it. Without a GPU, predict for an H100 with 680 TFLOP/s. If you come back to the box
# later, run those cells again first.

# %%
size = 8192 if DEVICE == "cuda" else 128
a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
b = torch.randn(size, size, device=DEVICE, dtype=torch.float16)

timed = bench(
    {"cuBLAS (a @ b)": torch.matmul, "matmul": matmul, "matmul_grouped": matmul_grouped},
    a,
    b,
    bytes=3 * a.numel() * a.element_size(),
    flops=2 * size**3,
    baseline="cuBLAS (a @ b)",
    title=f"{size} x {size} x {size}, float16",
    stored="matmul_order",
)
timed

# %%
timed.plot()

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that matmul reads from a: a 256 x 64, b 64 x 256, float16": None,
        "ms of cuBLAS for 8192 x 8192 x 8192 in float16": None,
    },
    measured=[
        lambda: traffic(
            matmul,
            torch.randn(256, 64, device=DEVICE).half(),
            torch.randn(64, 256, device=DEVICE).half(),
        )["a"],
        lambda: time_of(timed, "cuBLAS (a @ b)"),
    ],
    hints=[
        "Each element of a is loaded once for every column of tiles. How wide is a tile of c?",
        "2 x 8192 x 8192 x 8192 operations over the TFLOP/s of your GPU; 1 TFLOP/s is 1e9 in a ms.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** a holds 256 × 64 × 2 = 32,768 bytes. Tiles of c are 128 wide (`tile` says so), so there
# are 256 / 128 = 2 columns of tiles, and a is read twice: 65,536. (On a GPU before the A100, tiles
# are 32 wide, and a is read 8 times.)
#
# **Milliseconds.** 1.1e12 operations. An H100 reached 678 TFLOP/s on its best product: 1.62 ms. This
# one took 1.63. The data sheet's 989 TFLOP/s would give 1.11 ms, and no product gets there: the
# tensor cores draw so much power that the GPU slows its clock.
#
# </details>

# %% [markdown]
# Now the whole layer: three operators in PyTorch, one kernel here.

# %%
bias = torch.randn(size, device=DEVICE, dtype=torch.float16)

whole_layer = bench(
    {
        "PyTorch, three operators": lambda: torch.relu(a @ b + bias),
        "linear_act": lambda: linear_act(a, b, bias, "relu"),
    },
    bytes=3 * a.numel() * a.element_size(),
    flops=2 * size**3,
    baseline="PyTorch, three operators",
)
whole_layer

# %% [markdown]
# **Read the tables.** On an H100, in November 2026, grouping took 14 % off the time at 8192. At 4096
# it took nothing off: there A and B nearly fit into the L2 cache together, and any order finds them.
#
# Both kernels are right for every shape and stride, and at 47 to 54 % of cuBLAS. What is missing is
# not a trick but a choice: the size of the tile, the number of warps, the number of stages. You have
# fixed them blindly. The next notebook measures.
#
# ## Recap
#
# - Two strides address any matrix. A transposed or sliced operand costs no copy and no extra code.
# - One program computes one tile of C: it walks along K and adds `tl.dot` to a float32 accumulator.
# - Mask K as well as M and N: the masked lanes enter the sum, so they must be 0.
# - float32 inputs mean TF32 by default. Say `input_precision="ieee"` when you mean float32.
# - Programs that run together should share strips of A and B: group the tiles.
# - What follows a product belongs in its epilogue, before the store.
#
# <details><summary>Common mistakes</summary>
#
# - `for k in range(K // BLOCK_K)`: the last, partial step is dropped.
# - No mask along K: the kernel reads the next row of A, or memory of somebody else.
# - `acc = tl.dot(a, b)` in the loop: only the last step counts.
# - The strides of A used for C: right for square, contiguous matrices, wrong for all others.
# - A float16 accumulator: right on small tests, wrong for a long K.
#
# </details>
#
# Next: [22_autotune](22_autotune.ipynb), where you choose the tile by measuring.

# %%
progress()
