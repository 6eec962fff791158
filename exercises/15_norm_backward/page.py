# ---
# workbook:
#   title: The way back, gradients of the norms
#   minutes: 50
#   needs: interpreter
#   requires: [12_rmsnorm_choose, 13_layernorm]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - derive the gradient of a norm, and see what it must be at right angles to
#     - sum down the columns, across programs, in two stages and without atomics
#     - put your kernels behind `torch.autograd.Function`
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# In training, `dy` comes back: how much the loss changes with each element of y. Your kernel has to
# say how much it changes with x, w and b. With $\hat x = (x - \mu) \cdot r$, where r is one over the
# root, LayerNorm is $y = \hat x \cdot w + b$.
#
# **The weight and the bias** touch every row, so their gradients are sums over all rows:
#
# $$dw_n = \sum_m dy_{mn}\, \hat x_{mn}, \qquad db_n = \sum_m dy_{mn}$$
#
# **The row itself.** Let $g = w \cdot dy$, the gradient of $\hat x$. One element $x_k$ moves each
# $\hat x_n$ in three ways: directly (if n = k), through the mean, and through r. The bracket
# $[n = k]$ is 1 if n = k, and 0 otherwise.
#
# $$\frac{\partial \mu}{\partial x_k} = \frac{1}{N}, \qquad
# \frac{\partial r}{\partial x_k} = -\frac{r^2\,\hat x_k}{N}, \qquad
# \frac{\partial \hat x_n}{\partial x_k}
# = r \left( [n = k] - \frac{1}{N} - \frac{\hat x_n\, \hat x_k}{N} \right)$$
#
# Multiply by $g_n$ and sum over n:
#
# $$dx_k = r \left( g_k - \mathrm{mean}(g) - \hat x_k \cdot \mathrm{mean}(g\,\hat x) \right)$$
#
# <details><summary>The second of the three, step by step</summary>
#
# $r = (\sigma^2 + \varepsilon)^{-1/2}$, so its derivative is $-\frac{1}{2} r^3$ times that of
# $\sigma^2$. The variance is the mean of $(x_n - \mu)^2$, and its derivative by $x_k$ is
# $\frac{2}{N}(x_k - \mu)$. (What $\mu$ adds cancels, as distances from the mean add up to 0.) Together
# $-r^3 (x_k - \mu) / N$, and $(x_k - \mu)\, r$ is $\hat x_k$.
#
# </details>
#
# **What it means.** LayerNorm forgets two things about a row: where its mean is, and how wide it is.
# Shift a row, and y stays the same; stretch it, and y stays the same too, but for `eps`. So the loss
# cannot change in these two directions, and the two means take exactly these parts out of $g$. You can
# test it: **dx adds up to 0, and so does $dx \cdot \hat x$**, nearly.
#
# ## Sums down the columns
#
# dx needs sums along a row, as before. dw and db need sums *down the columns*, over rows of different
# programs. Atomics would do, but tens of thousands of rows would queue for the same N numbers, and
# the bits would change from run to run. So there are two stages:
#
# 1. Program p takes the rows p, p + G, p + 2G, ... of G programs in all. It computes dx of each, and
#    keeps its sums for dw and db **in registers** from row to row. At the end it writes them to a row of
#    its own in a buffer, `partials`.
# 2. A second launch adds up the G rows of the buffer.

# %%
pictures("norm_backward").draw_two_stages(rows=7, programs=3)

# %% [markdown]
# ## A smaller kernel first: a loop over rows
#
# This kernel does stage one for db alone. The tile `db` lives through the loop. What is new is
# `tl.range`: it counts as `range` does, and `num_stages=3` lets the loads of the next two rows start
# before this row is done.


# %%
@triton.jit
def partial_db_kernel(
    dy_ptr, partials_ptr, M, N, num_programs, stride_dym, BLOCK_N: tl.constexpr
):
    """partials[p] = sum of the rows p, p + num_programs, ... of dy.

    One program = so many rows.
    Assumes BLOCK_N >= N, and rows whose elements lie side by side.
    """
    pid = tl.program_id(axis=0)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    db = tl.zeros([BLOCK_N], dtype=tl.float32)
    for row in tl.range(pid, M, num_programs, num_stages=3):
        dy_ptrs = dy_ptr + row * stride_dym + offs_n
        db += tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    tl.store(partials_ptr + pid * N + offs_n, db, mask=mask_n)


dy = torch.arange(7.0, device=DEVICE)[:, None].expand(7, 4).contiguous()  # row m holds m
partials = torch.empty(3, 4, device=DEVICE)
partial_db_kernel[(3,)](dy, partials, 7, 4, 3, dy.stride(0), BLOCK_N=4)
partials.tolist()

# %% [markdown]
# Program 0 took the rows 0, 3 and 6: 0 + 3 + 6 = 9. Program 1 took 1 and 4, program 2 took 2 and 5.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `dy`, `x` | (..., N), any strides | as each other | inputs; M rows of at most 16 kB |
# | `w` | (N,), contiguous | as `x` | weight |
# | `mean`, `rstd` | (M,) | float32 | as the forward pass gave them |
# | `eps` | | float | RMSNorm's, inside the root |
# | `num_programs` | | int | G, for stage one; None: two for each processor |
# | `dx` | as `x`, contiguous | as `x` | new |
# | `dw`, `db` | (N,) | as `w` | new |
#
# - `column_sums(partials, dtype)` takes a contiguous float32 matrix (G, N) and returns the N sums of its
#   columns in this dtype.
# - `column_sums` is one launch, each gradient two launches.
# - All arithmetic is float32, rounded once at the store. The same call gives the same bits: no `tl.atomic_add`.

# %% tags=["reference"]
from tritonbook import multiprocessors


def layernorm_ref(x, w, b, eps):
    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)


def programs_for(x_rows, num_programs):
    """How many programs share the rows. Raises ValueError for a row that fits none of them."""
    M, N = x_rows.shape
    if N * x_rows.element_size() > 16384:
        raise ValueError(f"a row of {N} elements does not fit one program")
    return min(num_programs or 2 * multiprocessors(), M)


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 04."""
    return max(block // 512, 1)

# %% [markdown]
# ## Task 1. Stage two
#
# Fill the gap, about 6 lines. One program takes `BLOCK_N` columns, and walks down the matrix in tiles of
# `BLOCK_G` rows. Its tiles have two axes, as in page 12: `offs_g[:, None]` stands upright,
# `offs_n[None, :]` lies flat, and their sum has all places. The running sums `acc` are a tile too.
# `tl.sum(acc, axis=0)` adds up each column.

# %% tags=["answer"] key="column_sums"
@triton.jit
def column_sums_kernel(
    partials_ptr, out_ptr,
    G, N,
    BLOCK_G: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """out[n] = sum over g of partials[g, n].

    One program = BLOCK_N columns, BLOCK_G rows at a time.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    acc = tl.zeros([BLOCK_G, BLOCK_N], dtype=tl.float32)
    # TODO: walk down the rows, add each tile to acc; store the sums (about 6 lines)
    ### BEGIN SOLUTION
    for start in range(0, G, BLOCK_G):
        offs_g = start + tl.arange(0, BLOCK_G)
        mask = (offs_g < G)[:, None] & mask_n[None, :]  # [BLOCK_G, BLOCK_N]
        partials_ptrs = partials_ptr + offs_g[:, None] * N + offs_n[None, :]
        acc += tl.load(partials_ptrs, mask=mask, other=0.0)

    tl.store(out_ptr + offs_n, tl.sum(acc, axis=0), mask=mask_n)
    ### END SOLUTION


def column_sums(partials, dtype):
    """The sums [N] of the columns of a contiguous float32 matrix [G, N], in this dtype."""
    G, N = partials.shape
    out = torch.empty(N, dtype=dtype, device=partials.device)
    column_sums_kernel[(triton.cdiv(N, 16),)](partials, out, G, N, BLOCK_G=64, BLOCK_N=16)
    return out

# %% [markdown] tags=["hint"] key="column_sums"
# #### Hints for column_sums
#
# <details><summary>Hint 1: a question</summary>
#
# A matrix of 70 rows and 20 columns, tiles of 64 × 16. Which programs are there, how many tiles does
# each of them take, and which lanes of its last tile are masked?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The loop is that of `rmsnorm_loop_kernel` in page 10, down instead of along. A lane counts if its row
# *and* its column exist: `&` of an upright mask and a flat one. Neighbouring rows are N apart.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(...):
#     offs_g = ...
#     mask = (...)[:, None] & (...)[None, :]
#     acc += ...  # which lanes reach the sum?
#
# # one store, of a tile that lies flat
# ```
#
# </details>

# %% tags=["check"] key="column_sums" points=3
check(column_sums)

# %% [markdown]
# ## Task 2. LayerNorm backward
#
# The loop and the loads are given. Fill the gap, about 8 lines: $\hat x$, $g$, the two means, dx and its
# store, and what this row adds to dw and db. Both have N numbers in one row of the buffer: the 2N
# columns of `partials`.

# %% tags=["answer"] key="layernorm_backward"
@triton.jit
def layernorm_backward_kernel(
    dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, partials_ptr,
    M, N, num_programs,
    stride_dym, stride_dyn,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """dx of each row; partials[p] = this program's share of dw, then of db.

    One program = the rows pid, pid + num_programs, pid + 2 num_programs, ...
    Assumes BLOCK_N >= N and that dx and partials are contiguous.
    """
    pid = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    dw = tl.zeros([BLOCK_N], dtype=tl.float32)
    db = tl.zeros([BLOCK_N], dtype=tl.float32)
    for row in tl.range(pid, M, num_programs, num_stages=3):
        dy_ptrs = dy_ptr + row * stride_dym + offs_n * stride_dyn
        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
        # TODO: x_hat, g, two means, dx, its store; add to dw and db (about 8 lines)
        ### BEGIN SOLUTION
        # masked lanes of x_hat are not 0, but dy and g are 0 there: they reach no sum
        x_hat = (x - mean) * rstd
        g = w * dy
        mean_g = tl.sum(g, axis=0) / N
        mean_gx = tl.sum(g * x_hat, axis=0) / N
        dx = rstd * (g - mean_g - x_hat * mean_gx)
        tl.store(dx_ptr + row * N + offs_n, dx, mask=mask_n)
        dw += dy * x_hat
        db += dy
        ### END SOLUTION

    place = partials_ptr + pid * 2 * N + offs_n
    tl.store(place, dw, mask=mask_n)
    tl.store(place + N, db, mask=mask_n)


def layernorm_backward(dy, x, w, mean, rstd, num_programs=None):
    """(dx, dw, db) of LayerNorm: dy and x [..., N], w [N], mean and rstd [M] in float32."""
    N = x.shape[-1]
    dy_rows, x_rows = dy.reshape(-1, N), x.reshape(-1, N)
    G = programs_for(x_rows, num_programs)
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    partials = torch.empty((G, 2 * N), dtype=torch.float32, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    layernorm_backward_kernel[(G,)](
        dy_rows, x_rows, w, mean, rstd, dx, partials, x_rows.shape[0], N, G,
        *dy_rows.stride(), *x_rows.stride(), BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    dw, db = column_sums(partials, w.dtype).view(2, N).unbind(0)
    return dx, dw, db

# %% [markdown] tags=["hint"] key="layernorm_backward"
# #### Hints for layernorm_backward
#
# <details><summary>Hint 1: a question</summary>
#
# $\hat x$ is not 0 in the masked lanes. Which of your sums could that spoil, and what stands beside
# it in each of them?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Each formula of the first section is one line. The two means are sums along the row, divided by N.
# dw and db are not summed here at all: tiles are added to tiles, as in `partial_db_kernel`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x_hat = ...
# g = ...
# # two numbers: the mean of g, and a mean with x_hat in it
# dx = rstd * (...)
# # store dx: its rows are N apart
# # dw and db grow by this row's share, without the weight: where does w stand in y?
# ```
#
# </details>

# %% tags=["check"] key="layernorm_backward" points=5
check(layernorm_backward)

# %% [markdown]
# Does dx stand at right angles to what LayerNorm forgets? Here is yours, on rows far from 0.

# %%
x, dy = 3 * torch.randn(4, 500, device=DEVICE) + 7, torch.randn(4, 500, device=DEVICE)
w, b = torch.randn(2, 500, device=DEVICE).unbind(0)
_, mean, rstd = mine("layernorm", quiet=True)(x, w, b, 1e-5, stats=True)
dx, dw, db = layernorm_backward(dy, x, w, mean, rstd)
x_hat = (x - mean[:, None]) * rstd[:, None]
for name, terms in (("dx", dx), ("dx * x_hat", dx * x_hat)):
    largest, sizes = terms.sum(1).abs().max(), terms.abs().sum(1).max()
    print(f"{name:10} adds up to {largest:.0e} at most, its absolute values to {sizes:.0f}")

# %% [markdown]
# ## Task 3. RMSNorm backward
#
# RMSNorm has $\hat x = x \cdot r$ without a mean, and no bias. So one of the three ways is gone, and
# with it one term of dx; there is no db. And since the kernel reads x anyway, it can compute r again:
# no statistics have to be kept from the forward pass. That is what `eps` is for.
#
# Fill the gap, about 7 lines.

# %% tags=["answer"] key="rmsnorm_backward"
@triton.jit
def rmsnorm_backward_kernel(
    dy_ptr, x_ptr, w_ptr, dx_ptr, partials_ptr,
    M, N, num_programs,
    stride_dym, stride_dyn,
    stride_xm, stride_xn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """dx of each row; partials[p] = this program's share of dw.

    One program = the rows pid, pid + num_programs, pid + 2 num_programs, ...
    Assumes BLOCK_N >= N and that dx and partials are contiguous.
    """
    pid = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    dw = tl.zeros([BLOCK_N], dtype=tl.float32)
    for row in tl.range(pid, M, num_programs, num_stages=3):
        dy_ptrs = dy_ptr + row * stride_dym + offs_n * stride_dyn
        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        # TODO: 1 / root, x_hat, g, one mean, dx, its store; dw (about 7 lines)
        ### BEGIN SOLUTION
        rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
        x_hat = x * rstd
        g = w * dy
        mean_gx = tl.sum(g * x_hat, axis=0) / N
        dx = rstd * (g - x_hat * mean_gx)
        tl.store(dx_ptr + row * N + offs_n, dx, mask=mask_n)
        dw += dy * x_hat
        ### END SOLUTION

    tl.store(partials_ptr + pid * N + offs_n, dw, mask=mask_n)


def rmsnorm_backward(dy, x, w, eps=1e-6, num_programs=None):
    """(dx, dw) of RMSNorm: dy and x [..., N], w [N]."""
    N = x.shape[-1]
    dy_rows, x_rows = dy.reshape(-1, N), x.reshape(-1, N)
    G = programs_for(x_rows, num_programs)
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    partials = torch.empty((G, N), dtype=torch.float32, device=x.device)
    BLOCK_N = triton.next_power_of_2(N)
    rmsnorm_backward_kernel[(G,)](
        dy_rows, x_rows, w, dx, partials, x_rows.shape[0], N, G,
        *dy_rows.stride(), *x_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return dx, column_sums(partials, w.dtype)

# %% [markdown] tags=["hint"] key="rmsnorm_backward"
# #### Hints for rmsnorm_backward
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the two directions, shift and stretch, does RMSNorm forget?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Your `layernorm_backward_kernel`, without what came from the mean. One over the root is that of
# `rmsnorm_row_kernel`, page 10.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # one over the root of this row, from x
# x_hat = ...
# # g, one mean, dx and its store
# # dw grows
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_backward" points=4
check(rmsnorm_backward)

# %% [markdown]
# ## Into autograd
#
# A `torch.autograd.Function` ties the two directions together. `forward` saves what `backward` needs,
# and `backward` returns one gradient for each argument of `forward` (None for `eps`). The cell compares
# all three with PyTorch's own in float64.


# %%
my_layernorm = mine("layernorm", quiet=True)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        y, mean, rstd = my_layernorm(x, w, b, eps, stats=True)
        ctx.save_for_backward(x, w, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        return (*layernorm_backward(dy, *ctx.saved_tensors), None)


inputs = [t.requires_grad_() for t in (x, w, b)]
ours = torch.autograd.grad(LayerNorm.apply(*inputs, 1e-5), inputs, dy)
exact_y = layernorm_ref(*(t.double() for t in inputs), 1e-5)
exact = torch.autograd.grad(exact_y, inputs, dy.double())
for name, got, want in zip(("dx", "dw", "db"), ours, exact, strict=True):
    print(f"{name}: largest error {(got - want).abs().max().item():.1e}")

# %% [markdown]
# ## Predict, then measure
#
# The next cell times the backward passes alone, for 16,384 rows of 4,096 in bfloat16, and shows
# nothing yet. Without a GPU it fetches the times of an H200: 132 processors, 4,139 GB/s.

# %%
M, N = (16384, 4096) if DEVICE == "cuda" else (4, 32)  # small, unless a GPU runs it
x, dy = torch.randn(2, M, N, device=DEVICE, dtype=torch.bfloat16).unbind(0)
w, b = torch.randn(2, N, device=DEVICE, dtype=torch.bfloat16).unbind(0)
_, *stats = torch.native_layer_norm(x, w.shape, w, b, 1e-5)
mean, rstd = (each.flatten().float() for each in stats)


def torch_backward(dy, x, w, mean, rstd):
    """PyTorch's own kernels, called without autograd."""
    three = [True, True, True]
    return torch.ops.aten.native_layer_norm_backward(dy, x, w.shape, *stats, w, b, three)


timed = bench(
    {
        "torch": torch_backward,
        "layernorm_backward": layernorm_backward,
        "rmsnorm_backward": lambda dy, x, w, mean, rstd: rmsnorm_backward(dy, x, w),
    },
    *(dy, x, w, mean, rstd),
    bytes=6 * M * N,
    baseline="torch",
    title="Gradients of the norms, 16,384 rows of 4,096, bfloat16",
    stored="norm_backward",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes of layernorm_backward: 8 x 1024 float32, 4 programs": None,
        "ms of layernorm_backward, 16,384 rows of 4,096 in bfloat16": None,
    },
    measured=[
        lambda: traffic(
            layernorm_backward,
            *torch.randn(2, 8, 1024, device=DEVICE).unbind(0),
            torch.randn(1024, device=DEVICE),
            *torch.rand(2, 8, device=DEVICE).unbind(0),
            num_programs=4,
        ),
        lambda: time_of(timed, "layernorm_backward"),
    ],
    hints=[
        "dy, x and dx, then w for each program, and the buffer: written once, read once.",
        "6 bytes for each element, and the buffer of 264 programs: 8 bytes a column, twice.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** dy, x and dx are 8 × 1024 × 4 = 32,768 each. The buffer has 4 rows of 2,048: 32,768, written
# and read. w is read by 4 programs: 16,384. dw and db are 8,192. Together 188,416, and 64 for the
# statistics.
#
# **Milliseconds.** 67.1 million elements × 6 bytes = 403 MB. The buffer is 264 × 8,192 × 4 = 8.7 MB, twice
# 17 MB. 420 MB at 4,139 GB/s take 0.101 ms: that is the floor. An H200 took 0.110.
#
# </details>

# %%
timed

# %% [markdown]
# **Read it.** Both passes wait for the same three matrices, so compare their rows: the second sum of
# LayerNorm is nearly free again, 0.110 ms for 0.108. PyTorch takes 0.236. More programs would make the
# buffer larger, fewer would leave processors without work.
#
# ## Recap
#
# - dx is g without its parts along the directions that the norm forgets, times r.
# - dw and db are sums over rows: in registers first, through a buffer, then a small launch.
# - Two stages give the same bits each time. Atomics do not.
# - Computing something again may be cheaper than keeping it.
#
# <details><summary>Common mistakes</summary>
#
# - Testing with a weight of ones, or with rows around 0: a lost w or mean goes unnoticed.
# - `dw = ` for `dw += `: right as long as each program has one row.
# - The weight in dw or db. It stands after $\hat x$, not in it.
# - Dividing by `BLOCK_N`, or not at all.
# - `eps` left out where the root is computed again.
#
# </details>
#
# Next: [16_residual_norm](16_residual_norm.ipynb), where neighbouring kernels become one.

# %%
progress()
