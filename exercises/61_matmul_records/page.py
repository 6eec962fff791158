# ---
# workbook:
#   title: Records, the matrix product
#   minutes: 70
#   needs: interpreter
#   requires: [22_autotune]
#   limits: {sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - count waves, and say where a product of any size loses its time
#     - write programs that stay for many tiles, which the copy engine brings
#     - cut the last wave into parts along K, and choose tile and parts by a formula
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 22's `matmul_tuned` keeps up with cuBLAS at 4,096 and 8,192. Those sizes are kind. A
# multiprocessor works on one tile at a time (page 21), so tiles go in **waves**: as many at once as there are
# multiprocessors. The last wave is seldom full.

# %%
draw = pictures("matmul_records")
draw.draw_waves(tiles=10, programs=4)

# %% tags=["reference"]
from tritonbook import matmul_tile, multiprocessors, shared_memory_limit
from tritonbook.kernels.descriptors import can_describe, describe


def matmul_ref(a, b):
    return a @ b


def require_product(a, b):
    """Raise ValueError unless a @ b is a product of two matrices of one dtype."""
    known = a.dtype == b.dtype and a.dtype in (torch.float16, torch.bfloat16, torch.float32)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not known:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")

# %%
programs = multiprocessors()
print(f"tiles of 128 x 256 on {programs} multiprocessors")
for size in (1000, 2048, 3072, 4096, 8192):
    tiles = triton.cdiv(size, 128) * triton.cdiv(size, 256)
    waves = triton.cdiv(tiles, programs)
    print(f"{size}: {tiles:5} tiles, {waves:3} waves, {1 - tiles / waves / programs:4.0%} idle")

# %% [markdown]
# Smaller tiles fill a wave better, but load A and B more often. So a record needs a better idea: **cut
# the tiles of the last wave into parts along K**.

# %%
draw.draw_waves(tiles=10, programs=4, parts=2)

# %% [markdown]
# There is a second loss. A program starts, waits for its first tiles, multiplies, stores, ends. While it
# waits or stores, the tensor cores stand still. A program that **stays** for many tiles starts and ends
# once.
#
# ## Tiles that come by themselves
#
# Such a loop is busy with addresses: each thread computes its own for every tile. An H100 has a *copy
# engine* (TMA). A **descriptor** tells it shape and strides of a matrix, once. Then one thread orders a
# whole tile, and past an edge the engine brings zeros and stores nothing: no pointers, no masks.
#
# | in Python | in the kernel |
# |---|---|
# | `describe(a, [BLOCK_M, BLOCK_K])` | `a.load([row, column])` |
# | `describe(c, [BLOCK_M, BLOCK_N])` | `c.store([row, column], acc.to(c.dtype))` |
#
# The engine asks that a row's numbers lie side by side, and that each row begins at a multiple of 16
# bytes. The interpreter plays it. Here is page 20's product with it, one program a tile.

# %%
@triton.jit
def described_kernel(
    a, b, c, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c.
    Assumes descriptors of a, b and c.
    """
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        acc = tl.dot(a.load([m, k]), b.load([k, n]), acc)
    c.store([m, n], acc.to(c.dtype))


def matmul_described(a, b):
    """a @ b for half-precision matrices that descriptors can describe."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    described_kernel[(triton.cdiv(M, 128), triton.cdiv(N, 256))](
        describe(a, [128, 64]), describe(b, [64, 256]), describe(c, [128, 256]), K,
        BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3,
    )
    return c


if can_describe():
    a, b = torch.randn(2, 200, 200, device=DEVICE).half()
    print("largest error:", f"{(matmul_described(a, b) - a.float() @ b.float()).abs().max():.0e}")

# %% [markdown]
# ## Task 1. Programs that stay
#
# Start only as many programs as there are multiprocessors. Program `pid` takes tile `pid`, then
# `pid + num_programs`, and so on, in one launch. Given are three functions for kernels:
#
# - `corner(tile, M, N, BLOCK_M, BLOCK_N)` gives m and n, the first row and column of a tile, in groups of
#   8 rows of tiles.
# - `fetch(x, row, column, rows, columns, strides, tile's sides, HOW)` gives the tile of x that begins at
#   (row, column), zeros past the edges: by descriptor, of x or of its transpose, else by pointers.
# - `put` stores a tile.
#
# In the kernel a matrix is a descriptor or a pointer: `operands` asks `how_to_read` which of the three ways
# it can have. Write the loop, about 8 lines: for each tile its corner, the walk along K with
# `input_precision=PRECISION` (explained below), the store.

# %% tags=["answer"] key="matmul_staying"
@triton.jit
def corner(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """First row and first column of a tile of c; tiles go in groups of 8 rows."""
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = tile // (8 * grid_n) * 8
    rows = tl.minimum(grid_m - first_m, 8)
    inside = tile % (8 * grid_n)
    return (first_m + inside % rows) * BLOCK_M, inside // rows * BLOCK_N


@triton.jit
def fetch(
    x, row, column, rows, columns, stride_xr, stride_xc,
    HIGH: tl.constexpr, WIDE: tl.constexpr, HOW: tl.constexpr,
):
    """Tile [HIGH, WIDE] of x [rows, columns] at (row, column); zeros past the edges."""
    if HOW == "rows":
        tile = x.load([row, column])
    elif HOW == "columns":
        tile = x.load([column, row]).T
    else:
        offs_r = (row + tl.arange(0, HIGH)).to(tl.int64)[:, None]
        offs_c = (column + tl.arange(0, WIDE)).to(tl.int64)[None, :]
        ptrs = x + offs_r * stride_xr + offs_c * stride_xc
        tile = tl.load(ptrs, mask=(offs_r < rows) & (offs_c < columns), other=0.0)
    return tile


@triton.jit
def put(
    c, acc, row, column, M, N, stride_cm,
    HIGH: tl.constexpr, WIDE: tl.constexpr, HOW: tl.constexpr,
):
    """Store the tile acc in c [M, N] from (row, column) on; nothing past the edges."""
    if HOW == "rows":
        c.store([row, column], acc.to(c.dtype))
    else:
        offs_m, offs_n = tl.arange(0, HIGH)[:, None], tl.arange(0, WIDE)[None, :]
        ptrs = c + row.to(tl.int64) * stride_cm + column + offs_m * stride_cm + offs_n
        mask = (offs_m < M - row) & (offs_n < N - column)
        tl.store(ptrs, acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def matmul_staying_kernel(
    a, b, c, M, N, K, tiles,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    A_HOW: tl.constexpr, B_HOW: tl.constexpr, C_HOW: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The first `tiles` tiles of c = a @ b.

    One program = the tiles pid, pid + num_programs, pid + 2 num_programs, ... of c.
    Assumes any M, N, K; a, b and c as `operands` makes them.
    """
    pid, num_programs = tl.program_id(0), tl.num_programs(0)
    # TODO: for each tile of this program: corner, walk along K, store (about 8 lines)
    ### BEGIN SOLUTION
    for tile in range(pid, tiles, num_programs):
        m, n = corner(tile, M, N, BLOCK_M, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)
            y = fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW)
            acc = tl.dot(x, y, acc, input_precision=PRECISION)
        put(c, acc, m, n, M, N, stride_cm, BLOCK_M, BLOCK_N, C_HOW)
    ### END SOLUTION


def how_to_read(x):
    """How to fetch tiles of x: the first of three ways that x allows."""
    if can_describe() and x.numel() and x.data_ptr() % 16 == 0:
        for how, (step, beside) in ("rows", x.stride()), ("columns", x.stride()[::-1]):
            if beside == 1 and step and step * x.element_size() % 16 == 0:
                return how
    return "pointers"


def for_kernel(x, *block):
    """x as a kernel takes it, for tiles of shape `block`, and how it fetches them."""
    how = how_to_read(x)
    if how == "columns":
        return describe(x.T, list(block[::-1])), how
    return describe(x, list(block)) if how == "rows" else x, how


def operands(a, b, tile):
    """What the kernels of this page get: a and b as they take them, and keywords."""
    a, A_HOW = for_kernel(a, tile["BLOCK_M"], tile["BLOCK_K"])
    b, B_HOW = for_kernel(b, tile["BLOCK_K"], tile["BLOCK_N"])
    return a, b, tile | dict(A_HOW=A_HOW, B_HOW=B_HOW, PRECISION="tf32x3")


def matmul_staying(a, b, tile=None, programs=None):
    """a @ b, [M, N]; tile: as `matmul_tile` gives it. programs: how many stay at most."""
    require_product(a, b)
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty(M, N)
    tile = tile or matmul_tile(a.dtype)
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    x, y, told = operands(a, b, tile)
    z, C_HOW = for_kernel(c, tile["BLOCK_M"], tile["BLOCK_N"])
    matmul_staying_kernel[(min(tiles, programs or multiprocessors()),)](
        x, y, z, M, N, K, tiles, *a.stride(), *b.stride(), c.stride(0), C_HOW=C_HOW, **told
    )
    return c

# %% [markdown] tags=["hint"] key="matmul_staying"
# #### Hints for matmul_staying
#
# <details><summary>Hint 1: a question</summary>
#
# With 4 programs and 10 tiles, which tiles does program 1 take? Which first number, which step?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `described_kernel` has the body of your loop, for one tile, with `.load` and `.store` for `fetch` and
# `put`. A tile of A is [BLOCK_M, BLOCK_K], from row
# m and column k on, in a matrix of M rows and K columns. And a tile of B?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for tile in range(..., ..., ...):
#     m, n = ...
#     # acc begins anew
#     for k in range(...):
#         x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)
#         # y, the product with input_precision=PRECISION
#     put(c, acc, m, n, M, N, stride_cm, BLOCK_M, BLOCK_N, C_HOW)
# ```
#
# </details>

# %% tags=["check"] key="matmul_staying" points=4
check(matmul_staying)

# %%
from tritonbook.timing import bench_sweep

matmul_tuned = mine("matmul_tuned")


def squares(**ways):
    """A function for bench_sweep: products of square float16 matrices."""

    def at(size):
        a, b = torch.randn(2, size, size, device=DEVICE).half()
        return {"fns": ways, "args": (a, b), "flops": 2 * size**3, "baseline": next(iter(ways))}

    return at


large = [2048, 4096, 8192] if DEVICE == "cuda" else [32]
described = {"matmul_described": matmul_described} if can_describe() else {}
ways = {"matmul_tuned": matmul_tuned, **described, "matmul_staying": matmul_staying}
title = "Products of square float16 matrices"
bench_sweep("size", large, squares(**ways), title=title, stored="matmul_record_staying")

# %% [markdown]
# **Read it** for 2,048 in the line *GPU alone*, without Python. No program gets a second tile, and the loop
# costs 2 %. At 4,096 the new ones are 3 and 6 % faster than page 22's. At 8,192 each program stays for 15
# or 16 tiles, and is 4 % faster than without staying.
#
# ## Task 2. The last wave in parts
#
# Where the last wave holds `tail` tiles, each is cut along K into `parts`: one program walks through
# one part, and its sum is float32, not yet a result. So it goes to memory, `parts_of_c`, of shape
# [tail, parts, BLOCK_M, BLOCK_N]. A second kernel adds the parts, always in the same order: the result
# is the same to the last bit each time, which atomics could not promise (page 11).
#
# Three gaps:
#
# 1. **A part**, about 8 lines: which steps along K? K has `steps` of them, and `parts` need not divide
#    `steps`. Every step belongs to exactly one part. `offs` are places within one part.
# 2. **The sum**, about 4 lines: `ROWS` rows of one tile.
# 3. **The wrapper**, 2 lines: how many tiles are left for the last wave, and how many go before. In 1
#    part none is cut: all go before.

# %% tags=["answer"] key="matmul_split"
@triton.jit
def part_kernel(
    a, b, parts_ptr, M, N, K, whole, parts,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    A_HOW: tl.constexpr, B_HOW: tl.constexpr, PRECISION: tl.constexpr,
):
    """parts_of_c[t, p] = the sum over part p of the steps along K, for tile whole + t.

    One program = one part of one tile: t = pid // parts, p = pid % parts.
    """
    pid = tl.program_id(0)
    part, steps = pid % parts, tl.cdiv(K, BLOCK_K)
    m, n = corner(whole + pid // parts, M, N, BLOCK_M, BLOCK_N)
    offs = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    # TODO 1: the walk along the steps of this part, stored in float32 (about 8 lines)
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(steps * part // parts, steps * (part + 1) // parts):
        k = step * BLOCK_K
        x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)
        y = fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW)
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(parts_ptr + pid * (BLOCK_M * BLOCK_N) + offs, acc)
    ### END SOLUTION


@triton.jit
def sum_kernel(
    parts_ptr, c_ptr, M, N, whole, parts, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
):
    """c's tile whole + t = the sum of parts_of_c[t].

    One program = ROWS rows of one tile.
    """
    t, row = tl.program_id(0), tl.program_id(1) * ROWS
    m, n = corner(whole + t, M, N, BLOCK_M, BLOCK_N)
    offs_m, offs_n = row + tl.arange(0, ROWS), tl.arange(0, BLOCK_N)
    offs = offs_m[:, None] * BLOCK_N + offs_n[None, :]
    acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
    # TODO 2: add the parts of these rows, and put the sum in c (about 4 lines)
    ### BEGIN SOLUTION
    for part in range(0, parts):
        place = (t * parts + part) * (BLOCK_M * BLOCK_N)
        acc += tl.load(parts_ptr + place + offs)
    put(c_ptr, acc, m + row, n, M, N, stride_cm, ROWS, BLOCK_N, "pointers")
    ### END SOLUTION


def matmul_split(a, b, parts, tile=None, programs=None):
    """a @ b, [M, N], each tile of the last wave in `parts` parts; 1: none is cut."""
    require_product(a, b)
    (M, K), N = a.shape, b.shape[1]
    c = a.new_empty(M, N)
    tile, programs = tile or matmul_tile(a.dtype), programs or multiprocessors()
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    # TODO 3: tail, the tiles that are cut, and whole, those that go before (2 lines)
    ### BEGIN SOLUTION
    tail = tiles % programs if parts > 1 else 0
    whole = tiles - tail
    ### END SOLUTION
    (x, y, told), (BLOCK_M, BLOCK_N) = operands(a, b, tile), (tile["BLOCK_M"], tile["BLOCK_N"])
    if whole:
        z, C_HOW = for_kernel(c, BLOCK_M, BLOCK_N)
        matmul_staying_kernel[(min(whole, programs),)](
            x, y, z, M, N, K, whole, *a.stride(), *b.stride(), c.stride(0), C_HOW=C_HOW, **told
        )
    if tail:
        parts_of_c = a.new_empty(tail, parts, BLOCK_M, BLOCK_N, dtype=torch.float32)
        part_kernel[(tail * parts,)](
            x, y, parts_of_c, M, N, K, whole, parts, *a.stride(), *b.stride(), **told
        )
        sum_kernel[(tail, BLOCK_M // 8)](
            parts_of_c, c, M, N, whole, parts, c.stride(0),
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, ROWS=8,
        )
    return c

# %% [markdown] tags=["hint"] key="matmul_split"
# #### Hints for matmul_split
#
# <details><summary>Hint 1: a question</summary>
#
# 10 steps in 4 parts: at which steps could the parts begin, so that they end with step 9? What do
# `10 * part // 4` and `10 * (part + 1) // 4` give for part 0, 1, 2, 3?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The walk is that of Task 1, with another first and last step. Program `pid` has the pid-th of all parts,
# and each has `BLOCK_M * BLOCK_N` numbers. `put` takes the
# row where it begins: that of the tile and `row` within it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = ...
# for step in range(..., ...):
#     # k, fetch twice, multiply
# tl.store(parts_ptr + ..., acc)
# ```
#
# ```python
# for part in range(...):
#     acc += tl.load(...)  # part `part` of tile t
# put(c_ptr, acc, ..., n, M, N, stride_cm, ROWS, BLOCK_N, "pointers")
# ```
#
# </details>

# %% tags=["check"] key="matmul_split" points=4
check(matmul_split)

# %%
def split(a, b):
    """As many parts as there is room for."""
    tiles = triton.cdiv(a.shape[0], 128) * triton.cdiv(b.shape[1], 256)
    return matmul_split(a, b, max(1, multiprocessors() // max(1, tiles % multiprocessors())))


bad = [1000, 3072, 5120] if DEVICE == "cuda" else [32]
ways = squares(cuBLAS=torch.matmul, matmul_staying=matmul_staying, matmul_split=split)
bench_sweep("size", bad, ways, title=title, stored="matmul_record_split")

# %% [markdown]
# **Read it.** 5,120 is 800 tiles: six full waves, and 8 tiles left for a seventh. There parts save a third
# of a wave. At 3,072 there are two waves and 24 tiles: parts would save more, if Python launched three
# kernels in time. At 1,000 there are 32 tiles in all, all of them cut, and on the GPU the second launch and
# the sums cost more than the parts save. So parts must be chosen. cuBLAS is ahead at all three sizes.
#
# ## What the engine cannot read
#
# Rows of 1,001 halves begin at odd multiples of 2 bytes. Such **odd rows**, which do not begin at multiples
# of 16 bytes, have no descriptor, and pointers load 2 bytes at a time. A copy with a gap behind each row costs one read and one write of the matrix. The product needs
# each element many times.

# %% tags=["reference"]
def with_gaps(x):
    """A copy of x whose rows, or columns, begin at multiples of 128 bytes."""
    if x.stride(0) == 1 and x.stride(1) != 1:
        return with_gaps(x.T).T
    (rows, columns), width = x.shape, triton.cdiv(x.shape[1], 64) * 64
    return torch.empty(rows, width, dtype=x.dtype, device=x.device)[:, :columns].copy_(x)

# %%
def copied(a, b):
    return matmul_staying(with_gaps(a), with_gaps(b))


def pointers(a, b):
    tile = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, num_warps=4, num_stages=3)
    return matmul_staying(a, b, tile)


odd = [301, 1001, 3001] if DEVICE == "cuda" else [33]
ways = squares(cuBLAS=torch.matmul, pointers=pointers, copies=copied)
bench_sweep("size", odd, ways, title=title, stored="matmul_record_odd")

# %% [markdown]
# **Read it.** A small product is over before two copies are: there pointers are the better way.
#
# ## float32 in three products
#
# `PRECISION` was `"tf32x3"`. Tensor cores cut a float32 to TF32 (page 20). So cut twice: `hi` is the
# first cut, `lo` the cut of what was left. Then
#
# `a @ b = hi_a @ hi_b + hi_a @ lo_b + lo_a @ hi_b + ...`
#
# and what is left out is about as small as float32's own rounding: three products on tensor cores, in
# place of one on the ordinary units.


# %%
def as_tf32(x):
    """x without its last 13 binary digits."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


a, b = torch.randn(64, 1000), torch.randn(1000, 64)
exact = a.double() @ b.double()
(hi_a, lo_a), (hi_b, lo_b) = ((as_tf32(x), as_tf32(x - as_tf32(x))) for x in (a, b))
three = hi_a @ hi_b + (hi_a @ lo_b + lo_a @ hi_b)
for name, c in {"float32": a @ b, "TF32": hi_a @ hi_b, "three": three}.items():
    print(f"{name:7} largest error {(c - exact).abs().max().item():.6f}")


def float32s(size):
    a, b = torch.randn(2, size, size, device=DEVICE)
    tile = dict(BLOCK_M=256, BLOCK_N=64, BLOCK_K=32, num_warps=8, num_stages=3)
    ways = {"cuBLAS": torch.matmul, "matmul_tuned": matmul_tuned}
    ways["three products"] = lambda a, b: matmul_staying(a, b, tile)
    return {"fns": ways, "args": (a, b), "flops": 2 * size**3, "baseline": "cuBLAS"}


sizes = [1000, 4096] if DEVICE == "cuda" else [32]
bench_sweep(
    "size", sizes, float32s, title="Products of square float32 matrices",
    stored="matmul_record_float32",
)

# %% [markdown]
# **Read it.** At 4,096 three products take 38 % less time than `matmul_tuned`, and 10 % less than cuBLAS. At
# 1,000 this tile is too large.
#
# ## Task 3. Which tile, how many parts?
#
# What remains is to choose, for sizes that nobody has measured: estimate the time with each tile of a
# table, and take the least. Two numbers of each tile come from times on Hopper GPUs: `step`, nanoseconds
# of a step along K, and `ends`, those of a wave's beginning and end. Programs of small tiles may share a
# multiprocessor: where `together` is 4, a wave has four times as many.
#
# - A full wave takes `steps * step + ends`.
# - So does the last wave of `tail` tiles, uncut. If no tile is left, there is no last wave, and parts is 1.
# - In p parts, p from 2 on, it takes as many steps as the longest part has, and `ends`, and `CUT` for two
#   more launches. And the `BLOCK_M * BLOCK_N` numbers of every part, each counted once, go to memory and back,
#   `SUMMED` of them a nanosecond. The parts of all `tail` tiles must fit one wave.
#
# Write `estimate`, about 11 lines: the least time, and with how many parts. Of equal times take fewer
# parts. `plan` asks it about each tile, and `matmul_record`, given, about copies too.

# %% tags=["answer"] key="matmul_record"
from functools import cache

NAMES = "BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"
# Bytes of an element, and are there odd rows for a copy engine? -> tile, together, step, ends
TILES = {
    (2, False): [((128, 256, 64, 8, 3), 1, 800, 3000), ((128, 128, 64, 4, 4), 1, 450, 2500),
                 ((64, 128, 64, 4, 4), 1, 310, 2600), ((64, 64, 128, 4, 4), 1, 420, 2200),
                 # the rest: for less shared memory
                 ((128, 128, 32, 8, 3), 1, 300, 3000), ((64, 64, 64, 4, 3), 1, 300, 2200)],
    (2, True): [((64, 64, 64, 4, 3), 1, 1200, 1400), ((64, 64, 64, 4, 3), 4, 2200, 1400),
                ((64, 64, 32, 4, 4), 4, 1150, 1800), ((32, 32, 64, 4, 4), 1, 740, 1000)],
    (4, False): [((256, 64, 32, 8, 3), 1, 2300, 4000), ((128, 32, 32, 4, 3), 3, 1400, 2800),
                 ((32, 64, 32, 4, 3), 1, 680, 2200), ((32, 64, 32, 2, 3), 4, 1150, 2800)],
    (4, True): [((32, 64, 32, 4, 3), 1, 920, 2500), ((32, 64, 16, 4, 3), 4, 1050, 3100),
                ((64, 16, 32, 4, 3), 1, 920, 2000)],
}
CUT, SUMMED = 2500, 500
COPY, COPIED = 2300, 2200  # nanoseconds of a copy's launch; bytes a nanosecond


def estimate(M, N, K, tile, step, ends, programs):
    """(nanoseconds, parts) of a product: full waves, then the last wave in the best parts."""
    BLOCK_M, BLOCK_N, BLOCK_K = tile[:3]
    # TODO: full waves, tiles left, steps; then the best number of parts (about 11 lines)
    ### BEGIN SOLUTION
    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    waves, tail = divmod(tiles, programs)
    steps = triton.cdiv(K, BLOCK_K)
    before = waves * (steps * step + ends)
    if tail == 0:
        return before, 1
    found = []
    for parts in range(1, programs // tail + 1):
        last = triton.cdiv(steps, parts) * step + ends
        if parts > 1:
            last += CUT + tail * parts * BLOCK_M * BLOCK_N / SUMMED
        found.append((before + last, parts))
    return min(found)
    ### END SOLUTION


@cache  # a call must not pay for the search again
def plan(M, N, K, element_size, odd=False):
    """(nanoseconds, parts, tile, programs) with the smallest estimate, of what fits this GPU."""
    found = []
    for tile, together, step, ends in TILES[element_size, odd]:
        numbers = together * (tile[0] + tile[1]) * tile[2] * tile[4] + tile[0] * tile[1]
        if numbers * element_size <= shared_memory_limit():
            programs = together * multiprocessors()
            found.append((*estimate(M, N, K, tile, step, ends, programs), tile, programs))
    return min(found)


def is_odd(x):
    """Is there a copy engine that cannot read x?"""
    return can_describe() and x.numel() > 0 and how_to_read(x) == "pointers"


def matmul_record(a, b):
    """a @ b, [M, N], for a [M, K], b [K, N] in half precision or float32, of any strides."""
    require_product(a, b)
    (M, K), N, size = a.shape, b.shape[1], a.element_size()
    ns, *how = plan(M, N, max(K, 1), size)
    if is_odd(a) or is_odd(b):
        copies = sum(COPY + 2 * size * x.numel() / COPIED for x in (a, b) if is_odd(x))
        by_pointers = plan(M, N, max(K, 1), size, odd=True)
        if by_pointers[0] < ns + copies:
            how = by_pointers[1:]
        else:
            a, b = (with_gaps(x) if is_odd(x) else x for x in (a, b))
    parts, tile, programs = how
    return matmul_split(a, b, parts, dict(zip(NAMES, tile, strict=True)), programs)

# %% [markdown] tags=["hint"] key="matmul_record"
# #### Hints for matmul_record
#
# <details><summary>Hint 1: a question</summary>
#
# 10 tiles, 4 programs: `divmod(10, 4)` is (2, 2). What are the two numbers? In how many parts may each
# of the 2 tiles be cut?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `triton.cdiv(steps, parts)` is the length of the longest part. Collect pairs (time, parts) in a list:
# `min` takes the least time, and of equal times the fewest parts.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # tiles, then full waves and tail, then steps
# before = ...  # all full waves
# if tail == 0:
#     return ...
# found = []
# for parts in range(1, ...):
#     last = ...
#     if parts > 1:
#         last += ...
#     found.append(...)
# return min(found)
# ```
#
# </details>

# %% tags=["check"] key="matmul_record" points=4
check(matmul_record)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "parts of each tile of the last wave: M = N = K = 3072, the first of TILES": None,
        "nanoseconds of the whole product, by `estimate`": None,
    },
    measured=[
        lambda: estimate(3072, 3072, 3072, (128, 256, 64), 800, 3000, 132)[1],
        lambda: estimate(3072, 3072, 3072, (128, 256, 64), 800, 3000, 132)[0],
    ],
    hints=[
        "24 x 12 tiles, 132 at a time. How many are left, and how many parts of them fit?",
        "Two full waves of 48 steps, then a part of 10, and what the cut adds.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Parts.** 288 tiles: 2 full waves are 264, and 24 are left. 132 / 24 = 5.5, so 5 parts fit.
#
# **Nanoseconds.** A full wave: 48 × 800 + 3,000 = 41,400. The last: 10 × 800 + 3,000, and 2,500 + 24 × 5 ×
# 128 × 256 / 500 = 10,364 for the cut. Together 104,164, where three full waves take 124,200.
#
# </details>
#
# ## Sizes that nobody chose
#
# These are drawn: M, N, K from 64 to 8,192, each octave
# as likely as the next, two thirds of them rounded up to multiples of 8, with transposed matrices and three
# dtypes.

# %%
import math
import random

random.seed(61)


def draw_product(number):
    """A product that nobody chose: M, N, K, dtype, and which matrix is transposed."""
    step = 1 if number % 3 == 2 else 8
    M, N, K = (round(math.exp(random.uniform(math.log(64), math.log(8192)))) for _ in range(3))
    M, N, K = (triton.cdiv(size, step) * step for size in (M, N, K))
    dtype = torch.float16, torch.bfloat16, torch.float32
    return M, N, K, dtype[number // 3 % 3], random.choice(["", "a", "b", "ab"])


def drawn(label):
    M, N, K, dtype, turned = products[label]
    a, b = (torch.randn(s, device=DEVICE).to(dtype) for s in ((M, K), (K, N)))
    a, b = (x.T.contiguous().T if n in turned else x for n, x in (("a", a), ("b", b)))
    ways = {"cuBLAS": torch.matmul, "matmul_record": matmul_record}
    return {"fns": ways, "args": (a, b), "flops": 2 * M * N * K, "baseline": "cuBLAS"}


products = {}
for number in range(24 if DEVICE == "cuda" else 1):
    M, N, K, dtype, turned = draw_product(number)
    name = f"{M} {N} {K} {str(dtype)[6:]} {turned}".strip()
    products[name] = (M, N, K, dtype, turned) if DEVICE == "cuda" else (32, 32, 32, dtype, turned)
sweep = bench_sweep(
    "M, N, K", list(products), drawn, title="24 products that were drawn",
    stored="matmul_record_drawn",
)
sweep

# %%
def gpu_ms(result, name):  # its share of a call, where that was measured
    return result[name].device_ms or result[name].ms


ratios = sorted(gpu_ms(of, "cuBLAS") / gpu_ms(of, "matmul_record") for of in sweep.results)
mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
if len(ratios) > 1:
    print(f"speed over cuBLAS: {mean:.2f} in the geometric mean, {ratios[0]:.2f} at the least")

# %% [markdown]
# **Read it.** As called, cuBLAS is ahead nearly everywhere: Python takes longer than a small product. On the
# GPU alone the record reaches 1.01 of cuBLAS, in half precision 0.97, in float32 1.14. Its best are odd rows
# in half precision, up to 2.5 times as fast. It is weak on products of a few microseconds.
#
# ## Recap
#
# - Tiles go in waves. The last one is cut into parts, so that it is as short as the others are full.
# - Programs stay, and a copy engine computes the addresses: threads are free for the product.
# - A formula with two measured numbers for each tile chooses for sizes that nobody has seen.
#
# <details><summary>Common mistakes</summary>
#
# - `acc` made once, before the loop over tiles: sums go on from tile to tile.
# - `steps // parts` steps for each part: the last steps belong to none.
# - Parts rounded to half precision before they are added.
# - As many parts as possible: each is written and read once more, and that costs.
#
# </details>
#
# *Stream-K* (Osama et al., 2023) cuts all tiles, not only the last wave's.
#
# Next: [62_attention_records](62_attention_records.ipynb).

# %%
progress()
