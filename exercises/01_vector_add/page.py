# ---
# workbook:
#   title: Vector add
#   minutes: 45
#   stretch: 25
#   needs: interpreter
#   requires: [00_start_here]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - write a whole kernel, and say which program touches which element
#     - divide the same work in two ways, one tile per program and k tiles per program
#     - count the bytes a kernel moves, and know from that how fast it can be
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# You have two vectors of a million numbers and add them, element by element. A GPU cuts both into **tiles**
# of, say, 1024 elements and starts one **program** for each tile. All programs run the same code and differ
# in one number only, their program id.
#
# So a kernel answers a single question, once for every program: *I am program number `pid`. Which
# elements are mine?*
#
# `add` is `copy` of page 00 with one more tensor to load, and this time you write all of it. What is new:
#
# - Triton compiles a kernel for the GPU when it is launched for the first time. Then it must know
#   `BLOCK_SIZE`, which has to be a power of two.
# - What `tl.load` gives in lanes whose mask is false is not defined. So the store needs the same mask.
#
# <details><summary>The kernel of page 00</summary>
#
# ```python
# @triton.jit
# def copy_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
#     pid = tl.program_id(axis=0)
#
#     offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
#     mask = offs < n_elements
#
#     x = tl.load(x_ptr + offs, mask=mask)
#
#     tl.store(out_ptr + offs, x, mask=mask)
# ```
#
# </details>
#
# **Predict.** A vector has 1,000 elements, and tiles have 256. How many programs start? How many
# lanes of the last one does the mask switch off?
#
# <details><summary>Answer</summary>
#
# `triton.cdiv(1000, 256)` rounds 3.9 up to 4 programs. They have 4 × 256 = 1,024 lanes for 1,000
# elements. The last program masks 24 of its lanes.
#
# </details>

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x`, `y` | any, both the same, contiguous | any, both the same | inputs, never changed |
# | result | as `x` | as `x` | a new tensor, `x + y` |
# | `block_size` | | int | elements of a tile; the kernel gets it as `BLOCK_SIZE` |
#
# *Contiguous* means that the elements lie side by side in memory, row after row. Anything else is
# refused by `check_inputs`, which is given.
#
# **Memory traffic.** Two loads and one store for each element. In float32 that is 12 bytes an
# element, and one addition.

# %% tags=["reference"]
def add_ref(x, y):
    return x + y


def check_inputs(x, y):
    """Raise ValueError unless x and y have one shape, one dtype, and are contiguous."""
    if x.shape != y.shape:
        raise ValueError(f"x has shape {tuple(x.shape)}, y has {tuple(y.shape)}")
    if x.dtype != y.dtype:
        raise ValueError(f"x is {x.dtype}, y is {y.dtype}")
    if not (x.is_contiguous() and y.is_contiguous()):
        raise ValueError("x and y must be contiguous")

# %% [markdown]
# ## Task 1. One tile per program
#
# Fill the gap in `add_kernel`, about 5 lines. The wrapper below it is given: every wrapper in this
# workbook has its five steps.
#
# **One launch**, here and on every page that names no other number. Around it PyTorch may allocate and make
# views; a conversion (`x.float()`) is work, which belongs in the kernel. A NaN stays one, as in PyTorch: what
# depends on it is NaN too.

# %% tags=["answer"] key="add"
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x + y.

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    # TODO: which elements are mine? load both tiles, add, store (about 5 lines)
    ### BEGIN SOLUTION
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)

    tl.store(out_ptr + offs, x + y, mask=mask)
    ### END SOLUTION


def add(x, y, block_size=1024):
    """x + y, one tile of block_size elements per program."""
    check_inputs(x, y)  # 1. check
    out = torch.empty_like(x)  # 2. allocate, on the input's device
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, block_size),)  # 3. how many programs
    add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)  # 4. launch
    return out  # 5. return

# %% [markdown] tags=["hint"] key="add"
# #### Hints for add
#
# <details><summary>Hint 1: a question</summary>
#
# With tiles of 1024, program 0 owns the elements 0 to 1023. Which does program 1 own? And program `pid`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The kernel of page 00 has all you need: offsets, mask, load, store. You have one more tensor to
# load, so there is one more `tl.load`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs = ... * BLOCK_SIZE + tl.arange(0, ...)
# mask = offs < ...
#
# x = tl.load(... + offs, mask=...)
# y = tl.load(... + offs, mask=...)
#
# tl.store(... + offs, ..., mask=...)
# ```
#
# </details>

# %% tags=["check"] key="add" points=5
check(add)

# %% [markdown]
# **Look at what you wrote.** The kernel runs on 2,500 elements, and every lane is recorded.

# %%
show_tiles(add, torch.randn(2500, device=DEVICE), torch.randn(2500, device=DEVICE))

# %% [markdown]
# ## The other way to divide the work
#
# Start half as many programs, and let each one work through two neighbouring tiles. In the picture,
# 10 elements lie in tiles of 2.

# %%
from tritonbook.seeing.pictures import draw_tiling

draw_tiling(n=10, block=2, tiles_per_program=2)

# %% [markdown]
# Starting a program costs a little: the GPU has to find room for it, and it computes its addresses
# anew. With several tiles per program that is paid once. But there are fewer programs, and a GPU needs
# many to keep busy. The times below show which of them wins.
#
# ## Task 2. k tiles per program
#
# Write the loop of `add_tiled_kernel`, about 7 lines, and the grid of its wrapper, 1 line. Program
# `pid` owns the tiles `pid * k` up to `pid * k + k - 1`, where k is `TILES_PER_PROGRAM`.
#
# Mind the end: the last program may have tiles with no element at all. The mask takes care of
# them, if you compute it for each tile.

# %% tags=["answer"] key="add_tiled"
@triton.jit
def add_tiled_kernel(
    x_ptr,
    y_ptr,
    out_ptr,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
    TILES_PER_PROGRAM: tl.constexpr,
):
    """out = x + y.

    One program = TILES_PER_PROGRAM neighbouring tiles of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    # TODO: loop over this program's tiles; for each one offsets, mask, loads and store
    # (about 7 lines)
    ### BEGIN SOLUTION
    for i in range(TILES_PER_PROGRAM):
        tile = pid * TILES_PER_PROGRAM + i
        offs = tile * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements

        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)

        tl.store(out_ptr + offs, x + y, mask=mask)
    ### END SOLUTION


def add_tiled(x, y, tiles_per_program=2):
    """x + y, tiles_per_program tiles of 1024 elements per program."""
    check_inputs(x, y)
    out = torch.empty_like(x)
    n_elements = out.numel()
    # TODO: the grid; each program covers tiles_per_program * 1024 elements (1 line)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(n_elements, tiles_per_program * 1024),)
    ### END SOLUTION
    add_tiled_kernel[grid](
        x, y, out, n_elements, BLOCK_SIZE=1024, TILES_PER_PROGRAM=tiles_per_program
    )
    return out

# %% [markdown] tags=["hint"] key="add_tiled"
# #### Hints for add_tiled
#
# <details><summary>Hint 1: a question</summary>
#
# With k = 3, which tiles does program 0 own? And program 1? Write the first tile number of program
# `pid` as a formula. Then add `i`.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Inside the loop stands your kernel of Task 1, with the tile's number where `pid` was. A plain
# `for i in range(TILES_PER_PROGRAM):` works in a kernel.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for i in range(...):
#     tile = pid * ... + i
#     offs = ... * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
#     mask = ...
#     ...
# ```
#
# And the grid: `triton.cdiv(n_elements, ...)`, where the second number is what one program covers.
#
# </details>

# %% tags=["check"] key="add_tiled" points=5
check(add_tiled)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times both kernels on 16,777,216 elements beside PyTorch's own addition, and shows
# nothing yet. Without a GPU it fetches the times of the workbook's kernels on an H200 instead.

# %%
x, y = torch.randn(2, 2**24, device=DEVICE)
timed = bench(
    {
        "torch": lambda: x + y,
        "add": lambda: add(x, y),
        "add_tiled, k=2": lambda: add_tiled(x, y, 2),
        "add_tiled, k=8": lambda: add_tiled(x, y, 8),
    },
    bytes=3 * x.numel() * x.element_size(),
    baseline="torch",
    title="The sum of two vectors of 16,777,216 float32 elements",
    stored="vector_add",
)

# %% [markdown]
# Guess before you look. A GPU can move only so many bytes a second, and that limit, not the
# addition, decides how long `add` takes. When the H200 of the stored run copies a tensor, it moves
# 4,151 GB a second: bytes read plus bytes written. `print(timed.peaks)` says what your own GPU does.

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes that add moves for 40,000 float16 elements": None,
        "ms that add takes for 16,777,216 float32 elements": None,
    },
    measured=[
        lambda: traffic(add, *torch.randn(2, 40_000, device=DEVICE).half()),
        lambda: time_of(timed, "add"),
    ],
    hints=[
        "Two loads and one store for each element. How many bytes has a float16?",
        "Bytes over bandwidth: 1 GB/s moves 1,000,000 bytes in a millisecond.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** Three times 40,000 elements of 2 bytes: 3 × 40,000 × 2 = 240,000.
#
# **Milliseconds.** 16,777,216 × 12 bytes = 201,326,592. At 4,151 GB/s, what an H200 copies, that is
# 0.0485 ms. It took 0.0532 ms: 91 % of a plain copy's speed.
#
# </details>

# %%
timed

# %%
timed.plot()

# %% [markdown]
# **Read it.** Each row is the median of many calls; six in ten of them lie between the times under
# *20-80 %*. The dashed line is how long a plain copy of as many bytes takes, and *% of ceiling* how near a row
# comes to the copy's speed. (*device ms* leaves out what a launch costs; page 02 explains it, and the lines
# below the table.) All four come near. `add` does one addition for 12 bytes, so it waits for memory whatever you do: it is *memory-bound*.
# How the work is divided matters little here, as long as enough programs ask for memory at the same time.
#
# ## Below a program: warps and threads
#
# The GPU has no tiles. It has **threads**, each with a few *registers* (places for a number each), and
# runs them 32 at a time: such a group of 32 is a **warp**. Triton shares the lanes of a tile out among the
# threads of the program's warps, four by default (`kernel[grid](..., num_warps=8)` asks for eight).
#
# In float32 a tile of 512 elements lies like this. Each thread takes four neighbours, 16 bytes, at once. Of
# your tile of 1024 it takes two such groups.

# %%
pictures("vector_add").draw_warps(block=512, num_warps=4)

# %% [markdown]
# ## Stretch: as many programs as you like
#
# These two are worth no points.
#
# **Grid-stride.** Start a fixed number of programs, say two for each processor of the GPU. Each one
# takes a tile, then jumps over all tiles that the others take, and goes on until the end. The grid no
# longer depends on the size of the vector.

# %%
draw_tiling(n=20, block=2, programs=3, order="grid-stride")

# %% tags=["answer", "stretch"] key="add_grid_stride"
@triton.jit
def add_grid_stride_kernel(
    x_ptr, y_ptr, out_ptr, n_elements, num_programs, BLOCK_SIZE: tl.constexpr
):
    """out = x + y.

    One program = every num_programs-th tile, from tile number pid on.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    # TODO: loop from the first element of tile pid to n_elements; what is the step?
    # (about 6 lines)
    ### BEGIN SOLUTION
    for start in range(pid * BLOCK_SIZE, n_elements, num_programs * BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements

        x = tl.load(x_ptr + offs, mask=mask)
        y = tl.load(y_ptr + offs, mask=mask)

        tl.store(out_ptr + offs, x + y, mask=mask)
    ### END SOLUTION


def add_grid_stride(x, y, num_programs=4):
    """x + y with num_programs programs, whatever the size."""
    check_inputs(x, y)
    out = torch.empty_like(x)
    add_grid_stride_kernel[(num_programs,)](
        x, y, out, out.numel(), num_programs, BLOCK_SIZE=1024
    )
    return out

# %% [markdown] tags=["hint"] key="add_grid_stride"
# #### Hints for add_grid_stride
#
# <details><summary>Hint 1: a question</summary>
#
# With 3 programs, program 1 takes the tiles 1, 4, 7, ... How far apart are their first elements?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `range(first, end, step)` works in a kernel, with numbers that are known only at run time.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(pid * ..., n_elements, ... * BLOCK_SIZE):
#     offs = start + tl.arange(0, BLOCK_SIZE)
#     ...
# ```
#
# </details>

# %% tags=["check", "stretch"] key="add_grid_stride" points=0
check(add_grid_stride)

# %% [markdown]
# **Strides.** Until now, neighbours in the tensor were neighbours in memory. A transposed matrix or
# a slice breaks that. PyTorch describes such a tensor by its *strides*: element `[m, n]` lies
# `m * stride_m + n * stride_n` places after the first one.
#
# Write an `add` for matrices that may lie in memory in any way. Number the elements from 0 to
# M × N - 1. From the number you get the row and the column, and from these the address: a
# different one for each tensor, because each tensor has strides of its own. What the card may say of more
# than `2**31` elements waits for page 04.

# %% tags=["answer", "stretch"] key="add_strided"
@triton.jit
def add_strided_kernel(
    x_ptr, y_ptr, out_ptr,
    M, N,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    stride_om, stride_on,
    BLOCK_SIZE: tl.constexpr,
):
    """out = x + y for matrices with any strides.

    One program = BLOCK_SIZE elements in row-major order.
    Assumes nothing about the memory layout.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < M * N
    # TODO: row and column of each element, the addresses, loads, store (about 5 lines)
    ### BEGIN SOLUTION
    offs_m = offs // N
    offs_n = offs % N

    x = tl.load(x_ptr + offs_m * stride_xm + offs_n * stride_xn, mask=mask)
    y = tl.load(y_ptr + offs_m * stride_ym + offs_n * stride_yn, mask=mask)

    tl.store(out_ptr + offs_m * stride_om + offs_n * stride_on, x + y, mask=mask)
    ### END SOLUTION


def add_strided(x, y):
    """x + y for two matrices of one shape and dtype, contiguous or not."""
    if x.ndim != 2 or x.shape != y.shape or x.dtype != y.dtype:
        raise ValueError("x and y must be matrices of one shape and dtype")
    M, N = x.shape
    out = torch.empty_like(y)  # transposed in memory where y is
    grid = (triton.cdiv(M * N, 1024),)
    add_strided_kernel[grid](
        x, y, out, M, N, *x.stride(), *y.stride(), *out.stride(), BLOCK_SIZE=1024
    )
    return out

# %% [markdown] tags=["hint"] key="add_strided"
# #### Hints for add_strided
#
# <details><summary>Hint 1: a question</summary>
#
# A matrix has 5 columns. In which row and column is element number 13?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `//` and `%` work on a whole tile of numbers at once.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs_m = offs // ...
# offs_n = offs % ...
#
# x = tl.load(x_ptr + offs_m * stride_xm + ... * ..., mask=mask)
# ```
#
# </details>

# %% tags=["check", "stretch"] key="add_strided" points=0
check(add_strided)

# %% [markdown]
# ## Recap
#
# - A kernel is one piece of code that many programs run. `tl.program_id(0)` tells them apart.
# - Offsets say which elements a program owns. The mask says which of them exist.
# - The grid rounds up, so the last tile may reach past the end. Every load and store there needs
#   the mask.
# - `add` moves 12 bytes for each addition in float32. Memory decides its speed, not arithmetic.
#
# <details><summary>Common mistakes</summary>
#
# - `n // 1024` for the grid: the last tile is never written.
# - No mask on the store: the kernel writes into memory that belongs to somebody else. On a small
#   example that often goes unnoticed.
# - `pid + tl.arange(...)` without `* BLOCK_SIZE`: the tiles overlap, and most are never reached.
# - `BLOCK_SIZE=1000`: `tl.arange` wants a power of two. Round up and mask.
#
# </details>
#
# Next: [02_measure](02_measure.ipynb), where you find out what a millisecond is worth.

# %%
progress()
