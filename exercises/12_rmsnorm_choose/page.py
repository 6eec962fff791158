# ---
# workbook:
#   title: RMSNorm, which scheme when
#   minutes: 60
#   needs: interpreter
#   requires: [11_rmsnorm_split]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - give many short rows to one program, as a tile with two dimensions
#     - write a kernel, its grid and its wrapper from a blank page
#     - derive from a map of measured times which scheme suits which shape, and write the choice
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 11 had few long rows, and too few programs. Some models also normalise short rows: 64 or 128
# elements, one row for each token and attention head. A million rows of 64 start a million programs,
# and each of them moves 256 bytes. An H200 needs 0.6 nanoseconds to start a program. It copies 256
# bytes in a tenth of that.
#
# Scheme 4 gives several neighbouring rows to one program. In the picture the number in a tile is the
# program that takes it.

# %%
from tritonbook.seeing.pictures_norms import draw_schemes

draw_schemes()

# %% [markdown]
# ## A tile with two dimensions
#
# A program of scheme 4 holds a table: `BLOCK_M` rows, `BLOCK_N` columns. Its addresses are sums, each
# row's offset plus each column's. `offs_m[:, None]` makes an upright tile, one column wide, and
# `offs_n[None, :]` a flat one. Add an upright tile to a flat one, and Triton repeats both: the sum is a
# table.

# %%
draw = pictures("rmsnorm_choose")
draw.draw_addresses(pid=2, M=10, N=6, BLOCK_M=4, BLOCK_N=8)

# %% [markdown]
# Masks meet in the same way, an upright one for the rows and a flat one for the columns. The worked
# kernel sums each row. Note `axis=1`: it adds up along the rows and leaves one number for each.


# %%
@triton.jit
def row_sums_kernel(
    x_ptr, out_ptr, M, N, stride_xm, stride_xn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """out[m] = sum over n of x[m, n].

    One program = BLOCK_M neighbouring rows.
    Assumes BLOCK_N >= N.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)  # as on page 10

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]  # [BLOCK_M, BLOCK_N]

    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptrs, mask=mask, other=0.0)

    tl.store(out_ptr + offs_m, tl.sum(x, axis=1), mask=offs_m < M)  # [BLOCK_M]


def row_sums(x, rows_per_program):
    M, N = x.shape
    out = torch.empty(M, device=x.device)
    row_sums_kernel[(triton.cdiv(M, rows_per_program),)](
        x, out, M, N, *x.stride(),
        BLOCK_M=rows_per_program, BLOCK_N=triton.next_power_of_2(N),
    )
    return out


row_sums(torch.arange(60.0, device=DEVICE).view(10, 6), 4)

# %% [markdown]
# **Predict.** You want to divide every element of the table by its row's sum. Why is
# `x / tl.sum(x, axis=1)` wrong, and what is right?
#
# <details><summary>Answer</summary>
#
# The sums are `BLOCK_M` numbers without an orientation. Beside a table Triton takes them for a flat
# tile, one number for each column: it does not compile, or with as many columns as rows divides by the
# wrong sums. `tl.sum(x, axis=1)[:, None]` stands upright, one number for each row.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (..., N), any strides | float32, float16, bfloat16 | input, never changed; M rows in all |
# | `w` | (N,), contiguous | floating | weight |
# | `eps` | | float | inside the root |
# | `rows_per_program` | | int, a power of two | rows of one program |
# | result | as `x`, contiguous | as `x` | new |
#
# - One launch, with as many programs as it takes for M rows, and no more.
# - All arithmetic is float32, rounded once at the store. Offsets of rows have 64 bits.
# - `ValueError` for a weight that does not fit, and for a tile of more than 65,536 elements.

# %% tags=["reference"]
from tritonbook import multiprocessors


def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def require_weight(x, w):
    if w.shape != x.shape[-1:] or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape {tuple(x.shape[-1:])}")


def warps_for(block):
    return min(max(block // 512, 1), 16)  # 512 elements a warp, as on page 10


def rows_for(N):
    """Rows of N elements that make a tile of 1,024, but at least one."""
    return max(1, 1024 // triton.next_power_of_2(N))


def splits_for(M, N, num_sms):
    """Two programs for each SM, in pieces of 1,024 to 8,192 elements, as in page 11."""
    piece = triton.cdiv(M * N, 2 * num_sms)
    return triton.cdiv(N, min(max(piece, 1024), 8192))


rmsnorm_row, rmsnorm_loop = mine("rmsnorm_row", quiet=True), mine("rmsnorm_loop", quiet=True)
rmsnorm_split_det = mine("rmsnorm_split_det", quiet=True)

# %% [markdown]
# ## Task 1. A blank page
#
# This time you get the signature and the contract, and write the rest: the kernel (about 19 lines) and
# the body of the wrapper (about 14). `require_weight` and `warps_for` are there to be used. Begin with
# the kernel's docstring: what does one program do?

# %% tags=["answer"] key="rmsnorm_multirow"
# TODO: the kernel, one program for several rows (about 19 lines)
### BEGIN SOLUTION
@triton.jit
def rmsnorm_multirow_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_xm, stride_xn, stride_ym, stride_yn, eps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """One program = BLOCK_M neighbouring rows. Assumes BLOCK_N >= N."""
    pid_m = tl.program_id(axis=0).to(tl.int64)

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    mask = (offs_m < M)[:, None] & mask_n[None, :]  # [BLOCK_M, BLOCK_N]

    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn
    x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.sum(x * x, axis=1) / N  # [BLOCK_M]
    y = x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]

    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn
    tl.store(y_ptrs, y, mask=mask)
### END SOLUTION


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    """RMSNorm over the last dimension of x [..., N]; a program takes rows_per_program rows.

    Returns a new contiguous tensor in the shape and dtype of x. Raises ValueError for a weight that
    does not fit, and where rows_per_program rows make a tile of more than 65,536 elements.
    """
    # TODO: check, allocate, rows, launch (about 14 lines)
    ### BEGIN SOLUTION
    require_weight(x, w)
    N = x.shape[-1]
    BLOCK_N = triton.next_power_of_2(N)
    if rows_per_program * BLOCK_N > 65536:
        raise ValueError(f"{rows_per_program} rows of {N} do not fit one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    rmsnorm_multirow_kernel[(triton.cdiv(M, rows_per_program),)](
        x_rows, w, y_rows, M, N, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_M=rows_per_program, BLOCK_N=BLOCK_N,
        num_warps=warps_for(rows_per_program * BLOCK_N),
    )
    return y
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="rmsnorm_multirow"
# #### Hints for rmsnorm_multirow
#
# <details><summary>Hint 1: a question</summary>
#
# 10 rows, 4 rows a program. How many programs? Which rows of the last one do not exist? You have two
# reasons to mask an element. Which?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `row_sums_kernel` has the addresses, the mask and the sum. `rmsnorm_row_kernel` of page 10 has the
# formula. The wrapper of page 10 has everything but the number of programs. Which tiles of your kernel
# are tables, which upright, which flat?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# @triton.jit
# def rmsnorm_multirow_kernel(...):  # pointers, sizes, strides of x and of y, eps, two blocks
#     # rows and columns of this program; a mask for the table
#     # load x, a table, and w: is it upright or flat? Both in float32
#     mean_square = ...  # one number for each row
#     y = ...  # make the three factors fit each other
#     # store the table
# ```
#
# In the wrapper: the checks, a new tensor, x and y as rows (`x.reshape(-1, N)`), the launch.
#
# </details>

# %% tags=["check"] key="rmsnorm_multirow" points=6
check(rmsnorm_multirow)

# %%
x, w = torch.randn(10, 6, device=DEVICE), torch.randn(6, device=DEVICE)
show_tiles(rmsnorm_multirow, x, w, 1e-6, 4)

# %% [markdown]
# ## How many rows for one program?
#
# The next cell times a million rows of 64 with 1 to 1,024 rows a program, and shows nothing yet.
# Without a GPU it fetches the times of an H200, which copies 4,156 GB/s.


# %%
def timed_rows(M, N, ways, stored):
    M, N = (M, N) if DEVICE == "cuda" else (64, 64)  # little work for the interpreter
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
    title = f"RMSNorm of {M:,} rows of {N:,}, bfloat16"
    return bench(ways, x, w, bytes=4 * M * N, baseline=[*ways][0], title=title, stored=stored)


def with_rows(count):
    return lambda x, w: rmsnorm_multirow(x, w, 1e-6, count)


ways = {f"{n} a program": with_rows(n) for n in (1, 2, 4, 8, 16, 64, 256, 1024)}
timed = timed_rows(1 << 20, 64, ways, "rmsnorm_rows_per_program")

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes of w that rmsnorm_multirow reads, x 64 x 128 in float32, 16 rows a program": None,
        "ms for 1,048,576 rows of 64 in bfloat16, 16 rows a program": None,
        "times as long: 1 row a program over 16": None,
    },
    measured=[
        lambda: traffic(
            rmsnorm_multirow,
            torch.randn(64, 128, device=DEVICE),
            torch.randn(128, device=DEVICE),
            rows_per_program=16,
        )["w"],
        lambda: time_of(timed, "16 a program"),
        lambda: time_of(timed, "1 a program", over="16 a program"),
    ],
    hints=[
        "Every program reads w once, however many rows it has.",
        "One read and one write of 2 bytes for each element, at the speed of a copy.",
        "A million programs, 0.6 nanoseconds each, against the time of the bytes.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 64 / 16 = 4 programs read 128 × 4 bytes each: 2,048. A program per row reads w 64 times.
#
# **Milliseconds.** 1,048,576 × 64 elements × 4 bytes = 268 MB, at 4,156 GB/s 0.0646 ms. An H200
# took 0.0694.
#
# **The ratio.** 1,048,576 programs × 0.6 ns = 0.63 ms, and 0.63 / 0.0646 = 9.8. An H200 took 9.2 times
# as long.
#
# </details>

# %%
timed

# %% [markdown]
# **Read it downwards.** On an H200 each doubling of the rows halves the time, from 0.636 ms with one
# row to 0.085 with eight. With 16, 0.069 ms, the bytes take longer than the starts, and up to 256
# rows little changes. `rows_for` above fills a tile of 1,024 elements: 16 rows of 64. (1,024 rows make
# a tile of 65,536 elements, and take 0.074 ms.)
#
# ## Which scheme when?
#
# Four schemes, and every shape has its own best one. The map shows it. M grows downwards, N to the
# right, and a cell has the number of the fastest scheme. **Times within 5 % are a tie**: then the cell
# has several numbers. (Scheme 2 with one tile and scheme 4 with one row would be scheme 1. They are
# left out.) On a GPU the cell times your own kernels, which takes a minute. Without one it shows the
# times of an H100.

# %%
schemes = {
    "row": rmsnorm_row,
    "loop": lambda x, w: rmsnorm_loop(x, w, block=8192),
    "split": lambda x, w: rmsnorm_split_det(
        x, w, num_splits=splits_for(*x.shape, multiprocessors())
    ),
    "multirow": lambda x, w: rmsnorm_multirow(x, w, rows_per_program=rows_for(len(w))),
}
regimes = draw.regimes(schemes)
regimes.plot()

# %%
short = [(1 << 20, 64), (16384, 256), (16384, 1024), (256, 64)]
few = [(4, 4096), (4, 16384), (4, 65536), (64, 262144)]
many = [(4096, 16384), (1024, 32768), (1024, 65536), (256, 262144)]
print(regimes.table(short + few + many))

# %% [markdown]
# **Read the map** with the table beside it. The times quoted are the stored map's, an H100's.
#
# *Short rows, at the lower left.* A million programs take 635 µs, 0.6 ns each. In 0.6 ns the memory
# moves 1,800 bytes: a row of 450 elements, read and written. A shorter row is done before the next
# program has started, so a program should have several. With only 1,024 rows of 64 that saves a quarter
# of a microsecond, 2.1 µs for 2.4. With 256 rows it saves nothing.
#
# *Few long rows, at the upper right.* With fewer rows than SMs, some SMs are idle, and scheme 3 puts
# them to work: 64 rows of 262,144 take 38 instead of 71 µs. But its second launch costs about a
# microsecond, whatever the size. 4 rows of 16,384 take one program each 3.1 µs, too little to gain that
# back. With rows of 65,536 it is 9.0 µs, and scheme 3 takes 4.2. At 32,768 it is 4.4 and 4.0, but with 64
# rows 5.3 and 6.0.
#
# *Many rows, not short.* With at least as many rows as SMs, all SMs have work without scheme 3. It
# gains little more, and where x is larger than the cache it loses: 144 instead of 95 µs for 4,096 rows
# of 16,384, since it fetches x twice. A row that fits one tile goes to scheme 1. (65,536 elements fit,
# but spill: page 04 again. With 32,768 scheme 1 is still ahead, 52 to 68 µs.) A longer row goes to
# scheme 2. It reads x from memory twice as well, and is within 6 % of scheme 3.
#
# **In a tie the fewer launches win**: less for the host to do, and no buffer.
#
# The border between "few" and "many" is the number of SMs: 132 lies between the map's 64 and 256. A GPU
# with 40 SMs has all of them at work with 40 rows.
#
# ## Task 2. The one that chooses
#
# Write `choose(M, N, num_sms)`, about 7 lines: the name of the scheme for M rows of N elements on a GPU
# with `num_sms` SMs. `rmsnorm` below it runs your choice on your GPU, whose SMs `multiprocessors()`
# counts (132 without a GPU). It is the RMSNorm of all later pages.
#
# **How it is graded.** Wrong is a choice that takes more than 1.25 times as long as the best of the
# four. And wrong is `"split"` where a scheme with one launch is within 5 % of it. The check asks for each
# size of the stored map, an H100's, and for other sizes and GPUs with fewer SMs. Their times come from a
# model that was fitted to the map: nine of ten measured times lie within 20 % of it.

# %% tags=["answer"] key="rmsnorm"
def choose(M, N, num_sms):
    """The scheme for M rows of N elements: "row", "loop", "split" or "multirow"."""
    # TODO: three or four rules, read from the map (about 7 lines)
    ### BEGIN SOLUTION
    if N <= 512:
        return "multirow"
    if N <= 32768:
        return "row"
    if M < num_sms:
        return "split"
    return "loop"
    ### END SOLUTION


def rmsnorm(x, w, eps=1e-6):
    """RMSNorm over the last dimension of x [..., N], by the scheme that suits its shape."""
    N = x.shape[-1]
    M = x.shape[:-1].numel()
    scheme = choose(M, N, multiprocessors())
    if scheme == "row":
        return rmsnorm_row(x, w, eps)
    if scheme == "loop":
        return rmsnorm_loop(x, w, eps, block=8192)
    if scheme == "split":
        return rmsnorm_split_det(x, w, eps, splits_for(M, N, multiprocessors()))
    if scheme == "multirow":
        return rmsnorm_multirow(x, w, eps, rows_for(N))
    raise ValueError(f"there is no scheme {scheme!r}")

# %% [markdown] tags=["hint"] key="rmsnorm"
# #### Hints for rmsnorm
#
# <details><summary>Hint 1: a question</summary>
#
# Which two numbers decide whether a program has enough work to be worth its start? And which two
# decide whether all SMs have work?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Each of the three paragraphs about the map holds a rule, and each rule has a border in N, in M, or in
# both. A border in M is the number of SMs. In which order do the rules come, so that the simple
# one at the end is left for the rest?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if ...:  # short rows
#     return "..."
# if ... and ...:  # long rows, and too few of them
#     return "..."
# # what is left has rows enough: does one fit a tile?
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm" points=4
check(rmsnorm)

# %% [markdown]
# ## Your RMSNorm and PyTorch's
#
# One function, three shapes. How many programs does your choice start for each, and how many does
# PyTorch? Its RMSNorm has one block of threads for each row.


# %%
def torch_rmsnorm(x, w):
    return torch.nn.functional.rms_norm(x, w.shape, w, 1e-6)


ways = {"torch": torch_rmsnorm, "rmsnorm": rmsnorm}
print(timed_rows(1 << 20, 64, ways, "rmsnorm_short_rows").table())
print(timed_rows(16384, 4096, ways, "rmsnorm_llama_rows").table())
timed_rows(8, 262_144, ways, "rmsnorm_few_rows")

# %% [markdown]
# Yours starts 65,536 programs, then one for each row, then 264 for 8 rows. On an H200 PyTorch takes 9.2
# times as long in the first table and, by `device ms`, 32 times in the last: that is the division of the
# work. In the second, where both give each program a row, it is 1.2.
#
# ## Recap
#
# - A grid needs enough programs for all SMs, and enough work in each program.
# - An upright tile and a flat one make a table: `[:, None]` and `[None, :]`, for addresses and masks.
# - `axis=1` reduces each row of a table, and the result has to be set upright again.
# - There is no best kernel, only a best one for a shape and a GPU. Measure, call ties ties, then choose.
#
# <details><summary>Common mistakes</summary>
#
# - `axis=0` in a tile of several rows: it mixes the rows.
# - A grid of M programs, though each takes several rows.
# - A mask for the columns and none for the rows of the last program.
# - A result that has lost its first dimensions: `y_rows` instead of `y`.
# - A choice by M alone or by N alone, or with 132 written into it.
#
# </details>
#
# Next: [13_layernorm](13_layernorm.ipynb), where a mean has to be subtracted first.

# %%
progress()
