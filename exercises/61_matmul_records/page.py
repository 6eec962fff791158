# ---
# workbook:
#   title: Records, the matrix product
#   minutes: 60
#   needs: interpreter
#   requires: [22_autotune]
#   limits: {sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - count waves, and say where a product of any size loses its time
#     - write programs that stay for many tiles, which the copy engine brings
#     - cut the last wave into parts along K, and choose tile and parts by a formula
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
# Page 22's `matmul_tuned` keeps up with cuBLAS at 4,096 and 8,192. Those sizes are kind. Each
# multiprocessor takes one tile at a time, so tiles go in **waves**: as many at once as there are
# multiprocessors. The last wave is seldom full.

# %%
draw = pictures("matmul_records")
draw.draw_waves(tiles=10, programs=4)

# %% tags=["reference"]
from tritonbook import matmul_tile, multiprocessors, shared_memory_limit
from tritonbook.descriptors import can_describe, describe


def matmul_ref(a, b):
    return a @ b


def require_product(a, b):
    """Raise ValueError unless a @ b is a product of two matrices of one dtype."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype:
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
# waits or stores, the tensor cores stand still, once for **each** tile. A program that **stays** for
# many tiles can load the next one while it stores the last.
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
    print("largest error:", (matmul_described(a, b) - a.float() @ b.float()).abs().max().item())

# %% [markdown]
# ## Task 1. Programs that stay
#
# Start only as many programs as there are multiprocessors. Program `pid` takes tile `pid`, then
# `pid + num_programs`, and so on. Given are three functions for kernels:
#
# - `corner(tile, M, N, BLOCK_M, BLOCK_N)` gives m and n, the first row and column of a tile, in groups of
#   8 rows of tiles.
# - `fetch(x, row, column, rows, columns, strides, tile's sides, HOW)` gives a tile of x, zeros past the
#   edges: by descriptor, of x or of its transpose, or, where there is none, by pointers.
# - `put` stores a tile.
#
# `operands` asks `how_to_read` which of the three ways each matrix can have. Write the loop, about 8
# lines: for each tile its corner, the walk along K, the store. With `flatten=True` in
# `tl.range(first, end, step, flatten=True)` Triton makes one loop of the two: that lets the next tile's
# loads begin before this one is stored.

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
    """Tile [HIGH, WIDE] of x [rows, columns] from (row, column) on; zeros past the edges."""
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
        offs_m = (row + tl.arange(0, HIGH)).to(tl.int64)[:, None]
        offs_n = (column + tl.arange(0, WIDE))[None, :]
        ptrs = c + offs_m * stride_cm + offs_n
        tl.store(ptrs, acc.to(c.dtype.element_ty), mask=(offs_m < M) & (offs_n < N))


@triton.jit
def matmul_staying_kernel(
    a, b, c, M, N, K, tiles,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    A_HOW: tl.constexpr, B_HOW: tl.constexpr, C_HOW: tl.constexpr, PRECISION: tl.constexpr,
):
    """The first `tiles` tiles of c = a @ b.

    One program = the tiles pid, pid + num_programs, pid + 2 num_programs, ... of c.
    Assumes any M, N, K; a, b and c as `operands` makes them.
    """
    pid, num_programs = tl.program_id(0), tl.num_programs(0)
    # TODO: for each tile of this program: corner, the walk along K, the store (about 8 lines)
    ### BEGIN SOLUTION
    for tile in tl.range(pid, tiles, num_programs, flatten=True):
        m, n = corner(tile, M, N, BLOCK_M, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)
            y = fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW)
            acc = tl.dot(x, y, acc, input_precision=PRECISION)
        put(c, acc, m, n, M, N, stride_cm, BLOCK_M, BLOCK_N, C_HOW)
    ### END SOLUTION


def how_to_read(x, *block):
    """x for a kernel, and how to fetch a tile from it: the first of three ways that x allows."""
    for how, view in ("rows", x), ("columns", x.T):
        row_bytes = view.stride(0) * x.element_size()
        aligned = row_bytes % 16 == 0 and x.data_ptr() % 16 == 0
        if can_describe() and aligned and row_bytes and view.stride(1) == 1 and x.numel():
            return describe(view, list(block if how == "rows" else block[::-1])), how
    return x, "pointers"


def operands(a, b, c, tile):
    """What both kernels of this page get: a, b and c as they take them, and keywords."""
    BLOCK_M, BLOCK_N, BLOCK_K = (tile[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    a, A_HOW = how_to_read(a, BLOCK_M, BLOCK_K)
    b, B_HOW = how_to_read(b, BLOCK_K, BLOCK_N)
    c, C_HOW = how_to_read(c, BLOCK_M, BLOCK_N)
    return a, b, c, tile | dict(A_HOW=A_HOW, B_HOW=B_HOW, C_HOW=C_HOW, PRECISION="tf32x3")


def matmul_staying(a, b, tile=None, programs=None):
    """a @ b, [M, N]; tile: as `matmul_tile` gives it. programs: how many stay at most."""
    require_product(a, b)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    tile = tile or matmul_tile(a.dtype)
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    x, y, z, told = operands(a, b, c, tile)
    matmul_staying_kernel[(min(tiles, programs or multiprocessors()),)](
        x, y, z, M, N, K, tiles, *a.stride(), *b.stride(), c.stride(0), **told
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
# `described_kernel` has the body of your loop, for one tile. A tile of A is [BLOCK_M, BLOCK_K], from row
# m and column k on, in a matrix of M rows and K columns. And a tile of B?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for tile in tl.range(..., ..., ..., flatten=True):
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

# %% [markdown]
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
#    `steps`. Every step belongs to exactly one part.
# 2. **The sum**, about 4 lines: `ROWS` rows of one tile.
# 3. **The wrapper**, 2 lines: how many tiles are left for the last wave, and how many go before.

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
    offs = (row + tl.arange(0, ROWS))[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
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
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    tile, programs = tile or matmul_tile(a.dtype), programs or multiprocessors()
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    # TODO 3: tail, the tiles that are cut, and whole, those that go before (2 lines)
    ### BEGIN SOLUTION
    tail = tiles % programs if parts > 1 else 0
    whole = tiles - tail
    ### END SOLUTION
    x, y, z, told = operands(a, b, c, tile)
    if whole:
        matmul_staying_kernel[(min(whole, programs),)](
            x, y, z, M, N, K, whole, *a.stride(), *b.stride(), c.stride(0), **told
        )
    if tail:
        BLOCK_M, BLOCK_N, _ = told.pop("C_HOW") and list(tile.values())[:3]
        parts_of_c = torch.empty(
            (tail, parts, BLOCK_M, BLOCK_N), dtype=torch.float32, device=a.device
        )
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
# The walk is that of Task 1, with another first and last step. `offs` are places within one tile of
# parts. Program `pid` has the pid-th of them, and each has `BLOCK_M * BLOCK_N` numbers. `put` takes the
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
progress()
