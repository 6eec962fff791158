# ---
# workbook:
#   title: Matrix multiplication, order and epilogue
#   minutes: 60
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 8}
#   you_will:
#     - order programs so that those that run together share what they load, and count it
#     - turn a function of plain Python into a part of a kernel
#     - write a linear layer from an empty cell, with bias and activation in one kernel
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Your `matmul` starts one program for each tile of C, thousands of them. An H100 has 132
# multiprocessors, and shared memory in each for one program with your tile of 128 × 256. So 132
# programs run at a time, and walk along K side by side.
#
# When two of them need the same strip of A, it comes from memory once: the second program finds it in
# the *L2 cache*, 50 MB that all multiprocessors share. So **the fewer different strips the running
# programs need, the better**. Which programs run together? They start in the order of their number.
# That order is yours to choose.
#
# ## A smaller kernel first: who takes which tile?
#
# Here the grid has one number. Each program computes from its `pid` which tile is its own, and stores
# its number there.


# %%
@triton.jit
def who_kernel(who_ptr, grid_m, grid_n):
    """who[pid_m, pid_n] = the program of that tile.

    One program = one tile, column by column.
    Assumes as many programs as tiles.
    """
    pid = tl.program_id(0)
    pid_m = pid % grid_m
    pid_n = pid // grid_m
    tl.store(who_ptr + pid_m * grid_n + pid_n, pid)


def who(grid_m, grid_n):
    out = torch.empty(grid_m, grid_n, dtype=torch.int32, device=DEVICE)
    who_kernel[(grid_m * grid_n,)](out, grid_m, grid_n)
    return out


who(4, 6)

# %% [markdown]
# Down the first column of tiles, then down the second. In page 20 the grid had two numbers, and there
# it was the same: of two numbers, the first counts fastest.
#
# The picture has 8 × 8 tiles, and 16 programs that run at a time. Bars are strips of A, at the left,
# and of B, at the top. On the right the programs go in groups of 4 rows of tiles: down the first
# column *of the group*, then down its second. When the group is finished, the next begins.

# %%
orders = pictures("matmul_grouped")
orders.draw_tile_order(
    {"column by column": orders.by_column, "in groups of 4 rows": orders.in_groups_of(4)},
    grid_m=8,
    grid_n=8,
    running=16,
)

# %% [markdown]
# The nearer the running tiles are to a square, the fewer strips they need.
#
# ## Task 1. The order in plain Python
#
# | name | meaning |
# |---|---|
# | `pid` | number of the program, 0 to `grid_m * grid_n - 1` |
# | `grid_m`, `grid_n` | tiles of C in a column, in a row |
# | `group` | rows of tiles in a group |
# | result | `(pid_m, pid_n)`, the program's tile: its row, its column |
#
# Every tile is taken exactly once. The last group has fewer rows where `group` does not divide
# `grid_m`. Use nothing but `+`, `-`, `*`, `//`, `%` and `min`: the function becomes part of a kernel.

# %% tags=["answer"] key="swizzle"
def swizzle(pid, grid_m, grid_n, group):
    """Tile (pid_m, pid_n) of program pid: groups of `group` rows of tiles, column by column."""
    # TODO: which group? how many rows has it? where inside the group? (about 5 lines)
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
# How many tiles does a whole group hold? So in which group is program `pid`, and which row of tiles
# is that group's first?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Number the tiles inside a group from 0. Then a group is a small grid, walked through column by
# column, as in `who_kernel`. Only the last group has other than `group` rows.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # tiles of a whole group; the first row of this program's group
# rows = min(..., ...)  # of this group
# inside = ...  # the program's number inside its group
# return ..., ...  # two lines of who_kernel, with other names
# ```
#
# </details>

# %% tags=["check"] key="swizzle" points=4
check(swizzle)

# %%
orders.draw_tile_order(
    {
        "yours, groups of 4": lambda pid, grid_m, grid_n: swizzle(pid, grid_m, grid_n, 4),
        "yours, groups of 3": lambda pid, grid_m, grid_n: swizzle(pid, grid_m, grid_n, 3),
    },
    grid_m=8,
    grid_n=8,
    running=16,
)

# %% [markdown]
# **How large a group?** Count again, for float16 matrices of 8,192 × 8,192 on an H100: 64 × 32 tiles,
# 132 programs. A strip of A is 128 × 8,192 numbers, 2.1 MB, and one of B is twice as wide.

# %%
for group in (1, 2, 4, 8, 16, 32, 64):
    of_a, of_b = orders.strips(lambda pid, m, n: swizzle(pid, m, n, group), 64, 32, running=132)
    megabytes = of_a * 2.1 + of_b * 4.2
    print(f"groups of {group:2}: {of_a:2} strips of A, {of_b:2} of B, {megabytes:4.0f} MB")

# %% [markdown]
# A group of 1 goes row by row, one of 64 column by column. From 8 to 32 it is about half as much. We
# take 8 for all sizes: a matrix with fewer rows of tiles than a group is walked column by column. (The L2 cache need not hold all that: side by side, the
# programs need only a part of each strip at a time.)
#
# ## Task 2. The order in a kernel
#
# `triton.jit` is a function: `@triton.jit` above a `def` calls it. Called by hand, it makes of your
# `swizzle` a function that kernels can call, here by the name of `tile_of`.
#
# `matmul_grouped` has the contract of `matmul`: one launch, in tiles of the sizes in `tile`. Two gaps: in the kernel the tile of this program, about
# 2 lines, and in the wrapper the grid, 1 line.

# %% tags=["answer"] key="matmul_grouped"
from tritonbook import matmul_tile

tile_of = triton.jit(swizzle)


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

    One program = one tile of c; programs go in groups of GROUP_M rows of tiles.
    Assumes nothing: any strides, any M, N, K.
    """
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    # TODO: pid_m, pid_n: the tile of this program, from tile_of (about 2 lines)
    ### BEGIN SOLUTION
    pid = tl.program_id(0)
    pid_m, pid_n = tile_of(pid, grid_m, grid_n, GROUP_M)
    ### END SOLUTION

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
    tl.store(c_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])


def matmul_grouped(a, b, tile=None):
    """a @ b for any matrices, tiles in groups of 8 rows. tile: as in `matmul`."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype:
        raise ValueError("a is [M, K], b is [K, N], of one dtype")
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    tile = tile or matmul_tile(a.dtype)
    # TODO: a grid of one number (1 line)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    ### END SOLUTION
    matmul_grouped_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), GROUP_M=8, **tile
    )
    return c

# %% [markdown] tags=["hint"] key="matmul_grouped"
# #### Hints for matmul_grouped
#
# <details><summary>Hint 1: a question</summary>
#
# How many programs did the grid of `matmul` start, its two numbers taken together? And how does a
# program learn its number where the grid has only one?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `who_kernel` and `who` have a grid of one number. `tile_of` takes what `swizzle` takes, and gives what
# it gives. The group's size has a name of its own in this kernel.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# One line asks for the program's number. One line calls `tile_of` and unpacks its pair. In the wrapper,
# both numbers of page 20's grid are there again, in a tuple with one element: `(..., )`.
#
# </details>

# %% tags=["check"] key="matmul_grouped" points=3
check(matmul_grouped)

# %% [markdown]
# ## Finish the layer before it leaves
#
# A linear layer is `act(x @ w + bias)`. As three operators it goes to memory between them. In units of
# the result:
#
# | operator | reads of it | writes of it |
# |---|---|---|
# | `y = x @ w` | 0 | 1 |
# | `y = y + bias` | 1 | 1 |
# | `y = act(y)` | 1 | 1 |
#
# In your kernel the product lies in registers when the loop ends. Add the bias and apply the activation
# *there*, before the store: four of five trips are gone. What stands between loop and store is called
# the **epilogue**.
#
# **Predict.** 4,096 × 4,096 × 4,096 in float16 on an H200, with 685 TFLOP/s and 4,158 GB/s: how long
# does the product take, and how long do the four trips?
#
# <details><summary>Answer</summary>
#
# 2 × 4096³ operations take 0.201 ms. A result has 33.6 MB, and four trips are 134 MB: 0.032 ms, a
# sixth of the product.
#
# </details>
#
# The activation is chosen by a string, a `tl.constexpr`. So the compiler decides each `if`, and only
# one branch is left in the kernel.

# %% tags=["reference"]
@triton.jit
def activate(y, ACT: tl.constexpr):
    """The activation ACT of a float32 tile."""
    if ACT == "relu":
        y = tl.maximum(y, 0.0)
    elif ACT == "silu":
        y = y * tl.sigmoid(y)
    elif ACT == "gelu":  # the tanh form: 0.5 (1 + tanh(z)) is sigmoid(2 z)
        y = y * tl.sigmoid(1.5957691216057308 * (y + 0.044715 * y * y * y))
    return y


ACTIVATIONS = {
    "none": lambda y: y, "relu": torch.relu, "silu": torch.nn.functional.silu,
    "gelu": lambda y: torch.nn.functional.gelu(y, approximate="tanh"),
}


def linear_act_ref(x, w, bias, act):
    return ACTIVATIONS[act](x @ w + bias)

# %% [markdown]
# ## Task 3. An empty cell
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | [M, K], any strides | float16, bfloat16, float32 | input, never changed |
# | `w` | [K, N], any strides | as `x` | weight; of a `torch.nn.Linear`, `weight.T` |
# | `bias` | [N], any stride | as `x` | one number for each **column** of the result |
# | `act` | | str | `"none"`, `"relu"`, `"silu"` or `"gelu"` |
# | result | [M, N], contiguous | as `x` | new |
#
# - Sum, bias and activation are float32, and the store rounds once. float32 is not cut to TF32.
# - One launch, a program for each tile, no copy, offsets of 64 bits as in `matmul_grouped_kernel`.
#   `activate` is there for your kernel, `matmul_tile` for your wrapper. `tile_of` is too: the order of the
#   tiles is up to you.
#
# You write the kernel, its arguments, the grid and the launch. What does your kernel need that
# `matmul_grouped_kernel` has, what more, and what can go?

# %% tags=["answer"] key="linear_act"
# TODO: the kernel (about 24 lines)
### BEGIN SOLUTION
@triton.jit
def linear_act_kernel(
    x_ptr, w_ptr, bias_ptr, out_ptr, M, N, K,
    stride_xm, stride_xk, stride_wk, stride_wn, stride_bn, stride_om, stride_on,
    ACT: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """act(x @ w + bias). One program = one tile of out, [BLOCK_M, BLOCK_N]."""
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        # addresses from k: pointers that move would keep more registers busy
        offs_k = k + tl.arange(0, BLOCK_K).to(tl.int64)
        x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk
        w_ptrs = w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn
        x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0)
        w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")

    bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0)
    y = activate(acc + bias.to(tl.float32)[None, :], ACT)
    tl.store(out_ptrs, y, mask=mask_m & mask_n)
### END SOLUTION


def linear_act(x, w, bias, act):
    """act(x @ w + bias), [M, N], for x [M, K], w [K, N] and bias [N]."""
    if act not in ACTIVATIONS or x.shape[1:] != w.shape[:1] or bias.shape != w.shape[1:]:
        raise ValueError(f"x is [M, K], w [K, N], bias [N], act one of {', '.join(ACTIVATIONS)}")
    (M, K), N = x.shape, w.shape[1]
    # TODO: allocate, grid, launch, return (about 8 lines)
    ### BEGIN SOLUTION
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    tile = matmul_tile(x.dtype)
    grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)
    linear_act_kernel[grid](
        x, w, bias, out, M, N, K, *x.stride(), *w.stride(), *bias.stride(), *out.stride(),
        ACT=act, **tile,
    )
    return out
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="linear_act"
# #### Hints for linear_act
#
# <details><summary>Hint 1: a question</summary>
#
# `acc` is [BLOCK_M, BLOCK_N] and the bias of a tile [BLOCK_N]. Which of `[:, None]` and `[None, :]`
# gives each column its own number? Which offsets, which mask and which stride does its load have?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Write the launch first: it says which arguments the kernel has, and in which order. Everything up to
# the end of the loop stands in `matmul_grouped_kernel`. Strides of a vector: `*bias.stride()` is one
# number.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @triton.jit
# def linear_act_kernel(...):  # pointers, sizes, strides, ACT and the blocks
#     # which tile: offsets and masks
#     # pointers of x and w, acc, the loop
#     # the bias of these columns
#     y = activate(..., ACT)
#     # store y
# ```
#
# `ACT` and the sizes of the tile are passed by keyword.
#
# </details>

# %% tags=["check"] key="linear_act" points=6
check(linear_act)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times two things and shows nothing yet: products of three sizes, and the layer of
# 4,096. `mine` gives your `matmul` of page 20, if it passed. Without a GPU the cell fetches an H200's times.

# %%
from tritonbook.timing import bench_sweep

matmul = mine("matmul", quiet=True)


def square_product(size):
    a, b = torch.randn(2, size, size, device=DEVICE, dtype=torch.float16)
    ways = {"cuBLAS": torch.matmul, "matmul": matmul, "matmul_grouped": matmul_grouped}
    return {"fns": ways, "args": (a, b), "flops": 2 * size**3, "bytes": 6 * size**2}


sizes = bench_sweep(
    "size",
    [2048, 4096, 8192] if DEVICE == "cuda" else [64, 128],
    square_product,
    title="Products of square float16 matrices",
    stored="matmul_groups",
)

size = 4096 if DEVICE == "cuda" else 128
x, w = torch.randn(2, size, size, device=DEVICE, dtype=torch.float16)
bias = torch.randn(size, device=DEVICE, dtype=torch.float16)
layer = bench(
    {
        "three operators": lambda: torch.relu(x @ w + bias),
        "linear_act": lambda: linear_act(x, w, bias, "relu"),
    },
    flops=2 * size**3,
    bytes=6 * size**2,
    baseline="three operators",
    title="relu(x @ w + bias), 4096 x 4096 x 4096, float16",
    stored="linear_act_ways",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "strips that 108 programs need in groups of 6 rows, 48 x 48 tiles (an A100 runs 108)": None,
        "times as long: linear_act over the three operators": None,
    },
    measured=[
        lambda: sum(
            pictures("matmul_grouped").strips(lambda pid, m, n: swizzle(pid, m, n, 6), 48, 48, 108)
        ),
        lambda: time_of(layer, "linear_act", over="three operators"),
    ],
    hints=[
        "How many columns of the group do 108 programs fill?",
        "The product alone over product and four trips, if your product is as fast as cuBLAS.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Strips.** 108 / 6 = 18 columns of tiles: 6 strips of A and 18 of B, 24 in all.
#
# **The ratio.** 0.201 ms over 0.201 + 0.032 is 0.86, if your product is as fast as cuBLAS and every
# trip goes to memory. That is a bound. The H200 of the table says 1.07: the workbook's gained nothing.
#
# </details>

# %%
sizes

# %%
layer

# %% [markdown]
# **Read it.** At 2,048 there are 16 × 8 = 128 tiles, and an H200 runs them all at once: there is no
# order to choose. At 4,096 `matmul_grouped` took 0.92 of `matmul`'s time there, at 8,192 0.96 of it. It
# had three pairs of tiles under way, and `matmul` four: what lies in L2 arrives sooner. The
# strips change only what comes from memory. Where that was not what a program waited for, a better
# order gains nothing.
#
# The layer is another matter. The four trips are gone for certain, but they had cost less than you
# counted: a matrix of 34 MB fits an H200's L2 cache of 60 MB, and after cuBLAS's 0.24 ms the other two
# operators took 0.03. The `linear_act` of that table is the workbook's. It computes its addresses anew
# in each step, and took 0.29 ms where `matmul_grouped` took 0.22. Yours may do better. What is saved
# for certain is a matrix in memory, and two launches.
#
# ## Recap
#
# - Programs that run together should share strips. Groups of rows make the running tiles nearly square.
# - With a grid of one number, the program decides which tile it takes.
# - `triton.jit` makes a part of a kernel from a plain function of numbers.
# - What follows a product belongs in its epilogue, before the store.
#
# <details><summary>Common mistakes</summary>
#
# - A last group that is treated as a full one: tiles below C, and others that nobody takes.
# - A grid of two numbers left in place: every tile of the first column is computed many times.
# - The bias along the wrong axis. In a square test nothing looks strange but the values.
# - The activation before the bias, or in half precision.
#
# </details>
#
# Next: [22_autotune](22_autotune.ipynb), where the tile is chosen by measuring.

# %%
progress()
