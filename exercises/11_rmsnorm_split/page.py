# ---
# workbook:
#   title: RMSNorm, several programs per row
#   minutes: 55
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - let several programs share one row, in two launches
#     - see why atomic additions change the last bits of a sum, and get the same bits every time
#     - count how often a row is read, and predict from it how long that takes
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# On page 10 each row had one program. Eight rows of 262,144 elements reached 2 % of what the memory
# of an H200 can do. A program runs on one of the GPU's 132 processors (*streaming
# multiprocessors*, SMs). Eight programs keep eight SMs busy, and 124 have nothing to do.
#
# Scheme 3 cuts every row into pieces, with a program for each piece.

# %%
draw = pictures("rmsnorm_split")
draw.draw_occupancy(M=8, num_splits=16, num_sms=132)

# %% [markdown]
# There is one difficulty. Every element is divided by the root of the mean of its **whole** row, and
# now nobody sees a whole row. All pieces must be summed before the first result is written, so
# somebody has to wait. The end of a launch is the safe place: a kernel starts when the one before it
# is complete.

# %%
draw.draw_two_launches(M=2, num_splits=3)

# %% [markdown]
# <details><summary>Why not one launch, in which the programs wait for each other?</summary>
#
# A program that waits in a loop keeps its place on an SM. With more programs than places, those it
# waits for cannot start, and the loop never ends. In the interpreter, where programs run one after
# the other, the first one would wait for ever.
#
# </details>
#
# ## A smaller kernel first: many programs, one sum
#
# Several programs add to the same number in memory. With a load, an addition and a store, two of them
# may load the same old value, and then one of the two additions is lost.
# `tl.atomic_add(pointer, value)` does the three steps as one: nobody comes between.
#
# This kernel sums a vector. Each program adds the sum of its tile to the one element of `total`.


# %%
@triton.jit
def total_kernel(x_ptr, total_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """total += sum of x.

    One program = one tile of BLOCK_SIZE elements.
    Assumes that total is 0 before the launch.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n_elements, other=0.0)

    tl.atomic_add(total_ptr, tl.sum(x, axis=0))


def total(x):
    result = torch.zeros(1, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(x.numel(), 1024),)
    total_kernel[grid](x, result, x.numel(), BLOCK_SIZE=1024)
    return result


total(torch.ones(5000, device=DEVICE))

# %% [markdown]
# **Predict.** You make `result` once and use it for all calls. The first call returns 5,000. And the
# second?
#
# <details><summary>Answer</summary>
#
# 10,000: the old sum and the new one. Whoever adds to memory must set it to zero first, at **every**
# call. So `total` calls `torch.zeros`, not `torch.empty`.
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
# | `num_splits` | | int | pieces of each row |
# | result | as `x`, contiguous | as `x` | new |
#
# - Two launches of `M * num_splits` programs each. Program `pid` has piece `pid % num_splits` of row
#   `pid // num_splits`.
# - All arithmetic and all sums are float32, rounded once at the store.
#
# `pieces` says how many columns a piece has, and how wide the tile is that holds it. A piece is a
# multiple of 16 columns, because then a thread can load several elements at once (page 03).

# %% tags=["reference"]
def rmsnorm_ref(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def require_weight(x, w):
    """Raise ValueError unless w is a contiguous vector as long as a row of x."""
    if w.shape != x.shape[-1:] or not w.is_contiguous():
        raise ValueError(f"w must be contiguous with shape {tuple(x.shape[-1:])}")


def warps_for(block):
    """Warps for a tile of `block` lanes: 512 lanes a warp, as in page 10, at most 16."""
    return min(max(block // 512, 1), 16)


def pieces(N, num_splits):
    """Columns of each of num_splits pieces of N columns, and the tile that holds a piece."""
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    BLOCK_N = triton.next_power_of_2(piece_size)
    if BLOCK_N > 65536:
        raise ValueError(f"a piece of {piece_size} columns does not fit one program: cut finer")
    return piece_size, BLOCK_N

# %%
draw.draw_pieces(100, *pieces(100, 3))

# %% [markdown]
# A lane counts if it lies inside its piece **and** inside the row. In the picture lanes 48 to 63 of
# piece 0 reach into piece 1: whoever forgets the first condition counts columns 48 to 63 twice.
#
# ## Task 1. Add up with atomics
#
# Fill three gaps: the sum (about 5 lines), the result (about 8), and in the wrapper the row sums and
# the grid (2 lines).

# %% tags=["answer"] key="rmsnorm_split"
@triton.jit
def rmsnorm_sums_kernel(
    x_ptr, sums_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """sums[row] += sum of x^2 over one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size, and that sums is 0 before the launch.
    """
    pid = tl.program_id(axis=0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)  # lanes, counted from the start of the piece

    # TODO: columns and mask of this piece, load x, add its squares up (about 5 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))
    ### END SOLUTION


@triton.jit
def rmsnorm_scale_kernel(
    x_ptr, w_ptr, sums_ptr, y_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
):
    """y = x / sqrt(sums[row] / N + eps) * w on one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size, and that sums holds the sums of whole rows.
    """
    pid = tl.program_id(axis=0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)

    # TODO: columns, mask, load x, w and the row's sum, normalise, store (about 8 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    mean_square = tl.load(sums_ptr + row) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n)
    ### END SOLUTION


def rmsnorm_split(x, w, eps=1e-6, num_splits=4):
    """RMSNorm over the last dimension of x [..., N]; num_splits programs share each row."""
    require_weight(x, w)
    N = x.shape[-1]
    piece_size, BLOCK_N = pieces(N, num_splits)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    # TODO: `sums`, a buffer for the row sums, and the grid (2 lines)
    ### BEGIN SOLUTION
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    grid = (M * num_splits,)
    ### END SOLUTION
    rmsnorm_sums_kernel[grid](
        x_rows, sums, N, num_splits, piece_size, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    rmsnorm_scale_kernel[grid](
        x_rows, w, sums, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    return y

# %% [markdown] tags=["hint"] key="rmsnorm_split"
# #### Hints for rmsnorm_split
#
# <details><summary>Hint 1: a question</summary>
#
# Which of a tile's lanes belong to another program, and which to nobody? One comparison keeps out
# the first kind, another the second.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Both kernels together are `rmsnorm_row_kernel` of page 10, cut after the sum. Where the row kernel
# has the sum at hand, the second kernel loads it. And what must be in `sums` before the first launch?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # first kernel: columns of the piece, from `piece`, `piece_size` and `offs`
# # a mask with two conditions; x_ptrs; x in float32
# tl.atomic_add(..., tl.sum(...))  # which element of sums is this row's?
#
# # second kernel: the same columns, mask and x, then
# mean_square = ...  # load one number
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_split" points=5
check(rmsnorm_split)

# %% [markdown]
# ## The last bits
#
# Float32 rounds after every addition. Add the same numbers in another order, and the last bits may
# differ. With atomics the order is "whoever comes first". In the interpreter that is always program
# 0, then 1, then 2, so the cell below shuffles the tiles of a vector instead.

# %%
tiles = torch.randn(64, 1024, device=DEVICE)
sums = sorted(total(tiles[torch.randperm(64)]).item() for _ in range(20))
print(f"{len(set(sums))} different sums of the same numbers: {sums[0]:.6f} to {sums[-1]:.6f}")

# %% [markdown]
# All of them are right, as far as float32 goes. Here is your own kernel, with the same input each
# time. On a GPU it gives several results, in the interpreter one.

# %%
x, w = torch.randn(4, 262_144, device=DEVICE), torch.randn(262_144, device=DEVICE)
calls = [rmsnorm_split(x, w, num_splits=32) for _ in range(20 if DEVICE == "cuda" else 2)]
distinct = {call.cpu().numpy().tobytes() for call in calls}
apart = max((call - calls[0]).abs().max().item() for call in calls)
print(f"{len(calls)} calls, different results: {len(distinct)}, at most {apart:.1e} apart")

# %% [markdown]
# An H200 gave five different results in one run of this cell, an H100 eight in another. A training run
# that gives other numbers each time is hard to debug. If you want the same bits every time, you have
# to fix the order of the additions.
#
# ## Task 2. The same bits every time
#
# Give every program a place of its own. `partials` holds `M * num_splits` float32 numbers, row by
# row. The first kernel stores its sum there, without atomics. In the second kernel every program loads
# **all** partial sums of its row as a tile, and adds them up with `tl.sum`: its order never changes.
# And since every place is written before it is read, nothing has to be set to zero.
#
# Copy your kernels of Task 1, then change what has to change. `BLOCK_S` is `num_splits` rounded up to
# a power of two.

# %% tags=["answer"] key="rmsnorm_split_det"
@triton.jit
def rmsnorm_partials_kernel(
    x_ptr, partials_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):
    """partials[row, piece] = sum of x^2 over the piece.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(axis=0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)

    # TODO: as in Task 1, but store the sum in this program's own place (about 5 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)

    # pid is row * num_splits + piece: the pieces of a row lie side by side
    tl.store(partials_ptr + pid, tl.sum(x * x, axis=0))
    ### END SOLUTION


@triton.jit
def rmsnorm_join_kernel(
    x_ptr, w_ptr, partials_ptr, y_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """y = x / sqrt(sum(partials[row]) / N + eps) * w on one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size and BLOCK_S >= num_splits.
    """
    pid = tl.program_id(axis=0)
    row = (pid // num_splits).to(tl.int64)
    piece = pid % num_splits
    offs = tl.arange(0, BLOCK_N)
    offs_s = tl.arange(0, BLOCK_S)  # pieces of the row

    # TODO: as in Task 1, but add up the row's partial sums (about 10 lines)
    ### BEGIN SOLUTION
    offs_n = piece * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)

    partials_ptrs = partials_ptr + row * num_splits + offs_s
    partials = tl.load(partials_ptrs, mask=offs_s < num_splits, other=0.0)
    mean_square = tl.sum(partials, axis=0) / N
    y = x * tl.rsqrt(mean_square + eps) * w

    tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n)
    ### END SOLUTION


def rmsnorm_split_det(x, w, eps=1e-6, num_splits=4):
    """As rmsnorm_split, with the same bits at every call."""
    require_weight(x, w)
    N = x.shape[-1]
    piece_size, BLOCK_N = pieces(N, num_splits)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    grid = (x_rows.shape[0] * num_splits,)
    # TODO: `partials`, a buffer for all partial sums (1 line)
    ### BEGIN SOLUTION
    partials = torch.empty(grid, dtype=torch.float32, device=x.device)
    ### END SOLUTION
    rmsnorm_partials_kernel[grid](
        x_rows, partials, N, num_splits, piece_size, *x_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
    rmsnorm_join_kernel[grid](
        x_rows, w, partials, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, BLOCK_S=triton.next_power_of_2(num_splits),
        num_warps=warps_for(BLOCK_N),
    )
    return y

# %% [markdown] tags=["hint"] key="rmsnorm_split_det"
# #### Hints for rmsnorm_split_det
#
# <details><summary>Hint 1: a question</summary>
#
# There are 4 pieces a row. Which four places of `partials` belong to row 2? Which one of them is
# yours, if you are program 9?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# In each kernel one line of Task 1 changes. `tl.atomic_add` becomes `tl.store`, at another place. And
# the load of one number becomes the load of a tile. Its masked lanes take part in a sum: what must
# they hold?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tl.store(partials_ptr + ..., tl.sum(...))  # first kernel: a place for each program
#
# partials = tl.load(...)  # second kernel: from where do the sums of this row begin?
# mean_square = ...
# ```
#
# </details>

# %% tags=["check"] key="rmsnorm_split_det" points=4
check(rmsnorm_split_det)

# %%
x, w = torch.randn(2, 96, device=DEVICE), torch.randn(96, device=DEVICE)
show_tiles(rmsnorm_split_det, x, w, 1e-6, 3)

# %% [markdown]
# ## How many pieces?
#
# Three thoughts lead to a number.
#
# - **At least one program for each SM**, or some SMs are idle: M × `num_splits` ≥ 132 on an H100.
#   Better are two for each. While one waits for its loads, the other can compute.
# - **No tiny pieces.** Starting a program costs time too, and in the second kernel each program of a
#   row reads the sums of all the others. So a piece has 1,024 elements or more.
# - **No huge pieces.** `warps_for` keeps 512 lanes a warp up to 8,192 lanes. So a piece has no more.
#
# In code, for M rows of N elements:


# %%
def splits_for(M, N, num_sms):
    """Two programs for each SM, in pieces of 1,024 to 8,192 elements."""
    piece = triton.cdiv(M * N, 2 * num_sms)
    return triton.cdiv(N, min(max(piece, 1024), 8192))


for M, N in [(8, 262_144), (1, 262_144), (100, 262_144), (8, 4096)]:
    print(f"{M:3} rows of {N:7,}: {splits_for(M, N, 132):3} pieces each")

# %% [markdown]
# The next cell times two shapes and shows nothing yet. Without a GPU it fetches the times of an
# H200, which copies 4,154 GB/s.

# %%
rmsnorm_loop = mine("rmsnorm_loop", quiet=True)


def timed_rows(M, N, ways, stored):
    M = M if DEVICE == "cuda" else 1  # little work for the interpreter
    x = torch.randn(M, N, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(N, device=DEVICE, dtype=torch.bfloat16)
    title = f"{M} rows of {N:,}, bfloat16"
    return bench(ways, x, w, bytes=4 * M * N, baseline="rmsnorm_loop", title=title, stored=stored)


def in_pieces(num_splits):
    return lambda x, w: rmsnorm_split_det(x, w, 1e-6, num_splits)


counts = (4, 8, 16, 33, 64, 128, 256, 1024)
ways = {"rmsnorm_loop": rmsnorm_loop} | {f"{n} pieces": in_pieces(n) for n in counts}
timed_pieces = timed_rows(8, 262_144, ways, "rmsnorm_pieces")

ways = {"rmsnorm_loop": rmsnorm_loop, "rmsnorm_split_det": in_pieces(512)}
timed = timed_rows(16, 4_194_304, ways, "rmsnorm_huge_rows")

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes of x that rmsnorm_split_det reads, x 6 x 2000 in float32": None,
        "ms of rmsnorm_split_det, 16 rows of 4,194,304 in bfloat16": None,
    },
    measured=[
        lambda: traffic(
            rmsnorm_split_det,
            torch.randn(6, 2000, device=DEVICE),
            torch.randn(2000, device=DEVICE),
        )["x"],
        lambda: time_of(timed, "rmsnorm_split_det"),
    ],
    hints=[
        "How many launches read x?",
        "x has 134 MB, and an H200's cache holds 60. How often does x come from memory?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 6 × 2000 × 4 = 48,000 for one reading. Each of the two launches reads x: 96,000.
#
# **Milliseconds.** x is read twice and y written once, 134 MB each: 403 MB. At 4,154 GB/s that takes
# 0.097 ms at least. An H200 took 0.117.
#
# </details>

# %%
timed_pieces

# %%
timed

# %% [markdown]
# **Read the first table** in its column `device ms`, the GPU's own time. (`ms` is what your code
# pays. For so little work that is mostly Python, which launches two kernels, and jumps about.) On an H200 scheme 2 takes
# 46 µs. From 4 to 16 pieces, as more and more SMs get work, scheme 3 falls from 8.3 to 6.1 µs. From 33
# to 256 pieces it stays near 6: a wide valley, and the 33 of `splits_for` lie in it. With 1,024
# pieces it takes 13. There a program has 256 elements of its own and reads 1,024 partial sums.
#
# **The second table.** Scheme 2 has 16 programs for 132 SMs again: scheme 3 is twelve times as fast. Yet
# it reaches only 55 % of the ceiling. The rows have 134 MB, far more than the cache, so the second
# launch fetches x from memory again: three trips, where one program for each row would need two.
# Whoever has rows enough to keep all SMs busy does better without scheme 3. Page 12 measures that.
#
# ## Recap
#
# - Few long rows leave SMs idle. Cut the rows until each SM has a program or two.
# - Programs that need each other's results meet at the end of a launch.
# - Atomics need a buffer that is zero at every call, and their order changes the last bits.
# - A place for each program, and a sum in a fixed order: the same bits every time.
#
# <details><summary>Common mistakes</summary>
#
# - A buffer for atomics that is not zero at every call.
# - A mask for the end of the row, but none for the end of the piece.
# - The weights of the first piece for all pieces.
# - Sums in the dtype of x: in half precision they overflow, or stop growing.
#
# </details>
#
# Next: [12_rmsnorm_choose](12_rmsnorm_choose.ipynb), where a program takes many short rows, and you
# choose among the four schemes.

# %%
progress()
