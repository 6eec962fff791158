# ---
# workbook:
#   title: LayerNorm, a mean and a variance you can trust
#   minutes: 60
#   needs: interpreter
#   requires: [12_rmsnorm_choose]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - subtract a mean without letting masked lanes back in
#     - see how a variance loses its digits, and compute one that keeps them
#     - merge the statistics of parts, and normalise rows of any length
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# LayerNorm is the older sibling of RMSNorm. It shifts each row so that its mean is zero, and scales it
# so that its variance is one. Then come a weight and a bias:
#
# $$\mu = \frac{1}{N}\sum_k x_k, \qquad \sigma^2 = \frac{1}{N}\sum_k (x_k - \mu)^2, \qquad
# y_n = \frac{x_n - \mu}{\sqrt{\sigma^2 + \varepsilon}} \cdot w_n + b_n$$
#
# There are two sums, and the second needs the result of the first. That is no trouble while the row
# stands in registers: you walk over your tile twice, and read memory once. But two things go wrong
# easily: masked lanes and lost digits.
#
# ## A smaller kernel first
#
# This kernel subtracts the mean of each row. So that you can see what happens, it stores *all* lanes,
# the masked ones too.


# %%
@triton.jit
def centre_kernel(x_ptr, lanes_ptr, N, stride_xm, BLOCK_N: tl.constexpr):
    """lanes[m] = x[m] - mean(x[m]), all BLOCK_N lanes of it.

    One program = one row.
    Assumes BLOCK_N >= N and that a row's elements lie side by side.
    """
    pid_m = tl.program_id(axis=0)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + pid_m * stride_xm + offs_n, mask=mask_n, other=0.0)
    centred = x - tl.sum(x, axis=0) / N

    tl.store(lanes_ptr + pid_m * BLOCK_N + offs_n, centred)


x = torch.tensor([[4.0, 5.0, 6.0, 5.0, 5.0]], device=DEVICE)
lanes = torch.empty(1, 8, device=DEVICE)
centre_kernel[(1,)](x, lanes, 5, x.stride(0), BLOCK_N=8)
pictures("layernorm").draw_lanes(
    {"loaded": [*x[0].tolist(), 0, 0, 0], "minus the mean": lanes[0].tolist()}, elements=5
)

# %% [markdown]
# Five elements, eight lanes. The masked lanes held 0, as `other=0.0` says. But 0 minus the mean is
# not 0. It is -5.
#
# **Predict.** The next step squares the lanes and sums them. What is the variance then, and what
# should it be?
#
# <details><summary>Answer</summary>
#
# It should be (1 + 0 + 1 + 0 + 0) / 5 = 0.4. Three lanes of -5 make it (2 + 75) / 5 = 15.4. So you
# set the masked lanes to 0 **again**, after the subtraction: `tl.where(mask_n, a, 0.0)` takes `a` where
# the mask is true, and 0 elsewhere. In rows with a mean near zero you would hardly notice.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed |
# | `w`, `b` | (N,), contiguous | floating | weight and bias |
# | `eps` | | float | added to the variance, inside the root |
# | result | as `x`, contiguous | as `x` | new |
#
# - The variance is divided by N, not by N - 1. (PyTorch's `x.var()` divides by N - 1.)
# - Arithmetic is float32, rounded once at the store. One launch.
# - `layernorm` takes rows of up to 16,384 elements: a row has to stand in one program's registers.
#   `layernorm_welford` takes rows of any length.
# - With `stats=True` `layernorm` also returns the mean of each row and one over its root, `rstd`, as
#   float32 vectors. Training needs them (page 15).
#
# **Memory traffic** is that of RMSNorm: x once and y once.

# %% tags=["reference"]
def layernorm_ref(x, w, b, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps) * w + b


def require_vectors(x, w, b):
    """Raise ValueError unless w and b are contiguous vectors as long as a row of x."""
    for name, vector in (("w", w), ("b", b)):
        if vector.shape != x.shape[-1:] or not vector.is_contiguous():
            raise ValueError(f"{name} must be contiguous with shape {tuple(x.shape[-1:])}")


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 04, at most 32."""
    return min(max(block // 512, 1), 32)

# %% [markdown]
# ## Task 1. The row in one tile
#
# A program takes BLOCK_M short rows, as on page 12, or one long one. What belongs to a row stands upright,
# [BLOCK_M, 1]: `offs_m` and `mask_m`. What belongs to a column is flat, [1, BLOCK_N]: `offs_n`, `mask_n`,
# w and b. With `keep_dims=True` a sum over `axis=1` stands upright too, so `x - mean` takes from each row
# its own mean.
#
# Fill both gaps, 4 lines each. First load x, then mean, x without its mean (masked lanes 0 again, with
# `tl.where`), one over the root. At the end y, and three stores: y, and the rows' two statistics at
# `mean_ptr + offs_m` and `rstd_ptr + offs_m`. Those are columns: their mask is `mask_m`.

# %% tags=["answer"] key="layernorm"
@triton.jit
def layernorm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr,
    M, N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """y = (x - mean(x)) / sqrt(var(x) + eps) * w + b for each row.

    One program = BLOCK_M rows, held whole in registers.
    Assumes BLOCK_N >= N.
    """
    first_m = tl.program_id(axis=0).to(tl.int64) * BLOCK_M
    offs_m = first_m + tl.arange(0, BLOCK_M)[:, None]
    offs_n = tl.arange(0, BLOCK_N)[None, :]
    mask_m, mask_n = offs_m < M, offs_n < N
    x_ptrs = x_ptr + offs_m * stride_xm + offs_n * stride_xn
    y_ptrs = y_ptr + offs_m * stride_ym + offs_n * stride_yn

    # TODO 1: load x; mean; centre, mask again; rstd (4 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptrs, mask=mask_m & mask_n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1, keep_dims=True) / N
    # masked lanes hold 0 - mean now: back to 0, or the variance counts them
    centred = tl.where(mask_n, x - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=1, keep_dims=True) / N + eps)
    ### END SOLUTION

    # only now: loaded above, they would hold registers all along
    w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask_n).to(tl.float32)

    # TODO 2: y, and three stores (4 lines)
    ### BEGIN SOLUTION
    y = centred * rstd * w + b
    tl.store(y_ptrs, y, mask=mask_m & mask_n)
    tl.store(mean_ptr + offs_m, mean, mask=mask_m)
    tl.store(rstd_ptr + offs_m, rstd, mask=mask_m)
    ### END SOLUTION


def layernorm(x, w, b, eps=1e-5, stats=False):
    """LayerNorm over the last dimension of x [..., N], N <= 16384; w and b [N].

    With stats=True also the mean and 1 / root of the M rows, two float32 vectors [M].
    """
    require_vectors(x, w, b)
    N = x.shape[-1]
    if N > 16384:
        raise ValueError(f"a row of {N} elements does not fit one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    mean = torch.empty(M, dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    BLOCK_N = triton.next_power_of_2(N)
    BLOCK_M = max(1, 1024 // BLOCK_N)
    layernorm_kernel[(triton.cdiv(M, BLOCK_M),)](
        x_rows, w, b, y_rows, mean, rstd, M, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        num_warps=max(1, BLOCK_M * BLOCK_N // 1024),  # measured: 1,024 lanes a warp
    )
    return (y, mean, rstd) if stats else y

# %% [markdown] tags=["hint"] key="layernorm"
# #### Hints for layernorm
#
# <details><summary>Hint 1: a question</summary>
#
# Which steps of the kernel look at all lanes at once? What must the masked lanes hold at each of
# these steps?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 12's kernel has the same mask, the same root and the same store.
# `centre_kernel` has the first sum. In between, something has to happen to three lanes of the picture.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # load the rows, in float32: which lanes are inside in both directions?
# mean = ...
# centred = ...  # what would be right in the picture's last three cells?
# rstd = tl.rsqrt(...)  # a mean of squares, as in page 10: squares of what?
# y = ...
# # a store of a tile, two stores of a column
# ```
#
# </details>

# %% tags=["check"] key="layernorm" points=4
check(layernorm)

# %% [markdown]
# ## Lost digits
#
# A longer row has to be taken in pieces. You would like to read it only once for both sums. There is
# a well-known formula, right on paper:
#
# $$\sigma^2 = \frac{1}{N}\sum_k x_k^2 - \mu^2$$
#
# Here it meets the same thousand numbers, shifted to larger and larger means. A shift changes no
# variance.

# %%
torch.manual_seed(0)
noise = torch.randn(1000)
print("   mean  mean(x²) - mean²  subtract first     exact")
for shift in (0, 100, 1_000, 10_000):
    x = noise + shift  # float32
    on_paper = x.pow(2).mean() - x.mean().pow(2)
    first, exact = (x - x.mean()).pow(2).mean(), x.double().var(correction=0)
    print(f"{shift:7,} {on_paper:16.4f} {first:15.4f} {exact:9.4f}")

# %% [markdown]
# At 100 the fourth digit is wrong, at 1,000 the third, at 10,000 all of them. The squares are near
# 100,000,000 there, and float32 numbers of that size lie 8 apart: 24 binary digits do not reach
# further. The difference of two such numbers is a multiple of 8. It may be 0, or even negative, and
# then its root is NaN.
#
# **Subtract first, then square.** Your kernel of Task 1 does, because it has the whole row. What can
# somebody do who has only a part of it?
#
# ## Merge what the parts know
#
# Keep three numbers for each part of a row: the count $n$, the mean $\mu$, and $M_2$, the sum of
# squared distances *from that part's own mean*. None of them holds the square of a large number. Two
# parts are merged like this (Welford 1962; Chan, Golub and LeVeque 1979):
#
# $$n = n_a + n_b, \qquad \delta = \mu_b - \mu_a, \qquad
# \mu = \mu_a + \delta\,\frac{n_b}{n}, \qquad
# M_2 = M_{2a} + M_{2b} + \delta^2\,\frac{n_a n_b}{n}$$
#
# At the end the variance is $M_2 / n$. In the picture part b has a quarter of the elements. So the
# common mean lies a quarter of the way from $\mu_a$ to $\mu_b$.

# %%
pictures("layernorm").draw_merge([1.0, 2.0, 6.0], [9.0])

# %% [markdown]
# **Predict.** A part without elements is (0, 0, 0). What do the formulas give for a full part and an
# empty one? And for two empty ones?
#
# <details><summary>Answer</summary>
#
# Full and empty: $n_b / n = 0$, so nothing moves, and the result is the full part. Empty and full:
# $n_b / n = 1$, the mean goes all the way. Both are right. But two empty parts give 0 / 0, which is
# NaN. A NaN stays: whatever is merged with it becomes NaN too.
#
# </details>
#
# ## Task 2. `welford_combine`
#
# This is no kernel but a function that kernels call, with numbers or with whole tiles. Fill the gap,
# about 6 lines. Two empty parts give an empty part. (Two of them meet on page 14, where a row is cut in
# pieces and the last ones may get nothing.)
#
# `combine`, below it, is there so that you can call yours from Python: it takes P parts on each side,
# as tensors of three rows (counts, means, M2). Its launch is your second gap, 2 lines.
# `out.unbind(0)` gives the rows of `out` one by one.

# %% tags=["answer"] key="welford_combine"
@triton.jit
def welford_combine(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    """(n, mean, M2) of two parts together, from (n, mean, M2) of each.

    Called by kernels, with numbers or tiles in float32.
    Assumes that an empty part is (0, 0, 0).
    """
    # TODO: n, delta, the share of b, mean, M2; return the three (about 6 lines)
    ### BEGIN SOLUTION
    n = n_a + n_b
    delta = mean_b - mean_a
    # counts are whole numbers: only for two empty parts does the maximum change n
    share_b = n_b / tl.maximum(n, 1.0)
    mean = mean_a + delta * share_b
    m2 = m2_a + m2_b + delta * delta * n_a * share_b
    return n, mean, m2
    ### END SOLUTION


@triton.jit
def combine_kernel(a_ptr, b_ptr, out_ptr, P, BLOCK_P: tl.constexpr):
    """out[:, p] = welford_combine of a[:, p] and b[:, p].

    One program = all P pairs.
    Assumes contiguous tensors [3, P] and BLOCK_P >= P.
    """
    offs_n = tl.arange(0, BLOCK_P)  # of the counts
    offs_mean = offs_n + P  # a row further on
    offs_m2 = offs_mean + P
    mask = offs_n < P

    n, mean, m2 = welford_combine(
        tl.load(a_ptr + offs_n, mask=mask, other=0.0),
        tl.load(a_ptr + offs_mean, mask=mask, other=0.0),
        tl.load(a_ptr + offs_m2, mask=mask, other=0.0),
        tl.load(b_ptr + offs_n, mask=mask, other=0.0),
        tl.load(b_ptr + offs_mean, mask=mask, other=0.0),
        tl.load(b_ptr + offs_m2, mask=mask, other=0.0),
    )

    tl.store(out_ptr + offs_n, n, mask=mask)
    tl.store(out_ptr + offs_mean, mean, mask=mask)
    tl.store(out_ptr + offs_m2, m2, mask=mask)


def combine(a, b):
    """`welford_combine` of P pairs of parts, float32 [3, P]: counts, means and M2, [P] each."""
    P = a.shape[1]
    out = torch.empty((3, P), dtype=torch.float32, device=a.device)
    BLOCK_P = triton.next_power_of_2(P)
    # TODO: launch combine_kernel with one program, return the three rows of out (2 lines)
    ### BEGIN SOLUTION
    combine_kernel[(1,)](a, b, out, P, BLOCK_P=BLOCK_P)
    return out.unbind(0)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="welford_combine"
# #### Hints for welford_combine
#
# <details><summary>Hint 1: a question</summary>
#
# The formulas divide by n. For which counts is that a trouble, and what is the least n that is none?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# $n_b / n$ stands in two of the formulas: give it a name. A count is a whole number. So there is a
# divisor that equals n whenever n is not 0, and is harmless when it is: `tl.maximum` may help. An
# `if` does not work here, because the arguments may be tiles.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# n = ...
# delta = ...
# share_b = n_b / ...  # never a division by 0
# # the two other formulas, with share_b
# return n, mean, m2
# ```
#
# </details>

# %% tags=["check"] key="welford_combine" points=3
check(welford_combine)

# %% [markdown]
# Now the numbers around 10,000 again, in two parts that your function merges.


# %%
def part(values):
    """(n, mean, M2) of a vector, as a column [3, 1] for `combine`."""
    m2 = (values - values.mean()).pow(2).sum()
    return torch.tensor([[len(values)], [values.mean()], [m2]], device=DEVICE)


n, mean, m2 = combine(part(x[:300]), part(x[300:]))
print(f"merged: {(m2 / n).item():.4f}   exact: {x.double().var(correction=0):.4f}")

# %% [markdown]
# ## Task 3. Rows of any length
#
# One program takes one row, tile by tile, as in page 10. A tile is in registers: so you take its count,
# its mean and its $M_2$ as in Task 1, but over `axis=0`, without `keep_dims` (`n_tile`, `mean_tile`,
# `m2_tile`), and merge them into `n, mean, m2`, which begin as an empty part.
# A second walk normalises.
#
# Fill both gaps, about 7 and 5 lines. The last tile has fewer elements than lanes. Which count is its
# own? (`mask_n.to(tl.float32)` turns true and false into 1 and 0.)

# %% tags=["answer"] key="layernorm_welford"
@triton.jit
def layernorm_welford_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = (x - mean(x)) / sqrt(var(x) + eps) * w + b for each row.

    One program = one row, BLOCK_N elements at a time, read twice.
    Assumes nothing about N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    x_row_ptr = x_ptr + pid_m * stride_xm
    y_row_ptr = y_ptr + pid_m * stride_ym

    n, mean, m2 = 0.0, 0.0, 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        # TODO: load this tile of x; its count, mean and M2; merge (about 7 lines)
        ### BEGIN SOLUTION
        x_ptrs = x_row_ptr + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
        n_tile = tl.sum(mask_n.to(tl.float32), axis=0)
        mean_tile = tl.sum(x, axis=0) / n_tile
        centred = tl.where(mask_n, x - mean_tile, 0.0)
        m2_tile = tl.sum(centred * centred, axis=0)
        n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile)
        ### END SOLUTION
    rstd = tl.rsqrt(m2 / N + eps)

    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < N
        # TODO: load this tile of x, w and b, normalise, store (about 5 lines)
        ### BEGIN SOLUTION
        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)
        w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)
        b = tl.load(b_ptr + offs_n, mask=mask_n).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n)
        ### END SOLUTION


def layernorm_welford(x, w, b, eps=1e-5, block=4096):
    """LayerNorm over the last dimension of x [..., N], `block` (a power of 2) at a time."""
    require_vectors(x, w, b)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    BLOCK_N = min(block, triton.next_power_of_2(N))
    layernorm_welford_kernel[(x_rows.shape[0],)](
        x_rows, w, b, y_rows, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return y

# %% [markdown] tags=["hint"] key="layernorm_welford"
# #### Hints for layernorm_welford
#
# <details><summary>Hint 1: a question</summary>
#
# A row of 10 in tiles of 4: how many elements has each tile? What do N and `BLOCK_N` have to do with
# the mean of a tile?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# For one tile you did all of this in Task 1. Divide by the tile's own count, and leave out the last
# division: $M_2$ is a sum. The second walk is that of `rmsnorm_loop_kernel`, with a mean and a bias.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # load this tile, in float32
# n_tile = ...  # what knows how many lanes are elements?
# mean_tile = ...
# # centre, mask again, and sum the squares
# n, mean, m2 = welford_combine(...)  # what is so far, and this tile
#
# # second walk: which of n, mean, m2 and rstd does y need?
# ```
#
# </details>

# %% tags=["check"] key="layernorm_welford" points=4
check(layernorm_welford)

# %% [markdown]
# ## Predict, then measure
#
# RMSNorm became popular because it computes less: one sum instead of two, and no bias. How much
# faster is it on a GPU? The next cell times two shapes and shows nothing yet. Without a GPU it
# fetches the times of an H200, which copies 4,157 GB/s.


# %%
def torch_layernorm(x, w, b):
    return torch.nn.functional.layer_norm(x, w.shape, w, b)


def timed_rows(M, N, stored, **more):
    M, N = (M, N) if DEVICE == "cuda" else (1, 32)  # small, unless a GPU runs it
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w, b = torch.randn(2, N, device=DEVICE, dtype=torch.bfloat16).unbind(0)
    ways = {"torch": torch_layernorm, "layernorm_welford": layernorm_welford}
    ways |= more
    title = f"LayerNorm of {M:,} rows of {N:,}, bfloat16"
    return bench(ways, x, w, b, bytes=4 * M * N, baseline="torch", title=title, stored=stored)


rms = mine("rmsnorm_row", quiet=True)  # yours of page 10, if it passed
timed = timed_rows(
    16384, 4096, "layernorm_rows", layernorm=layernorm, rmsnorm_row=lambda x, w, b: rms(x, w)
)
timed_long = timed_rows(1024, 131072, "layernorm_long_rows")

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "ms of layernorm for 16,384 rows of 4,096 in bfloat16": None,
        "times as long: layernorm over rmsnorm_row": None,
    },
    measured=[
        lambda: time_of(timed, "layernorm"),
        lambda: time_of(timed, "layernorm", over="rmsnorm_row"),
    ],
    hints=[
        "4 bytes for each element, at the speed of a copy.",
        "Compare their bytes, not their arithmetic.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Milliseconds.** 16,384 × 4,096 elements × 4 bytes = 268 MB, at 4,157 GB/s 0.0646 ms. An H200
# took 0.0734.
#
# **The ratio.** Both read x and write y. The bias is 8 kB for all rows. The arithmetic hides
# behind the memory, so the ratio is 1. An H200 took 1.03 times as long.
#
# </details>

# %%
timed

# %%
timed_long

# %% [markdown]
# **Read it.** On the H200 `layernorm` takes 3 % longer than `rmsnorm_row`, at 88 % of the speed of a
# copy: while the row is in registers, a second sum nearly hides behind the memory. `layernorm_welford` reads
# each row a second time, and finds it in the cache.
#
# Your kernel loads w and b after the sums. Loaded first, they hold registers: with rows of 8,192 a thread
# needs 85 instead of 64, two programs share a multiprocessor instead of four, and 16,384 rows took
# an H100 0.204 ms, not 0.183, beside this page.
#
# The second table has rows of 131,072, which fit no tile. GB/s counts x once and y once, and
# `layernorm_welford` asks for x twice. Three trips for two: where the second one comes from memory,
# two thirds of the ceiling are left. On the H200 it reaches 53 %, PyTorch 38 %.
#
# ## Recap
#
# - Masked lanes come back to life when you subtract something from them. Mask again.
# - The mean of x² minus the squared mean subtracts two large numbers. Subtract the mean first, then square.
# - Count, mean and $M_2$ can be merged, in any order. Guard the case of two empty parts.
# - A tile's count is what its mask counts.
#
# <details><summary>Common mistakes</summary>
#
# - `other=0.0` at the load, and no mask after the subtraction: right for rows that fill their tile.
# - Dividing by `BLOCK_N`, or by N - 1.
# - Testing with numbers around zero: they forgive a lost mean and lost digits.
# - `BLOCK_N` for the count of the last tile: right for rows of full tiles.
# - Averaging means. A part of 3 elements does not weigh as much as one of 300.
#
# </details>
#
# Next: [14_layernorm_split](14_layernorm_split.ipynb), where many programs share one very long row.
#
# Source: J. L. Ba, J. R. Kiros, G. E. Hinton, *Layer Normalization*, 2016.

# %%
progress()
