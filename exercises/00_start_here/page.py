# ---
# workbook:
#   title: Start here
#   minutes: 25
#   stretch: 5
#   needs: interpreter
#   requires: []
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - write a line of a kernel, and see what it touched
#     - learn the words program, tile, grid, mask and address
#     - find three bugs that almost every first kernel has
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## Task 1. One line
#
# Run the cells from the top, each with Shift+Enter. This *kernel* adds 1 to each number of `x`. One line is
# missing: put it in the place of `pass`. Run the cell, then the check below it.

# %% tags=["answer"] key="add_one"
@triton.jit
def add_one_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x + 1.

    One program = one tile of BLOCK_SIZE elements.
    Assumes that the elements lie side by side in memory.
    """
    pid = tl.program_id(axis=0)

    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask)

    # TODO: add 1 to x (1 line)
    ### BEGIN SOLUTION
    x = x + 1
    ### END SOLUTION

    tl.store(out_ptr + offs, x, mask=mask)


def add_one(x):
    """A new tensor: x, with 1 added to each element."""
    out = torch.empty_like(x)
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, 4),)
    add_one_kernel[grid](x, out, n_elements, BLOCK_SIZE=4)
    return out

# %% [markdown] tags=["hint"] key="add_one"
# #### Hints for add_one
#
# <details><summary>Hint 1: a question</summary>
#
# The line below the gap stores `x`. What has `x` to be by then?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `x` is a row of four numbers. You compute with it as with a tensor, or with one number.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# `x = ... + ...`
#
# </details>

# %% tags=["check"] key="add_one" points=2
check(add_one)

# %%
show_tiles(add_one, torch.arange(10.0, device=DEVICE))

# %% [markdown]
# Passed? Then the picture shows your kernel at work on ten numbers. If not, the card says what is wrong;
# run both cells again after each change.
#
# ## What you have just run
#
# A processor with one core runs a loop: element 0, element 1, element 2. A GPU has about a hundred
# processors, and each works on many numbers at once. So we turn the loop around: we write the code for
# **one piece**, and the GPU runs it many times at once.
#
# - The **kernel** is that code, a function below `@triton.jit`. The **wrapper** below it, `add_one`, is
#   ordinary Python. It makes room for the result and launches the kernel: `kernel[grid](...)`.
# - A **program** is one run of the kernel. (CUDA calls it a *thread block* or *CTA*.) Here three ran.
# - The **grid** says how many programs run, as a tuple: `(3,)`. `triton.cdiv(10, 4)` divides and rounds up.
# - `tl.program_id(axis=0)` is the number of this program, its `pid`: 0, 1 or 2. A grid may have up to three
#   axes, as a tensor has dimensions; this one has only axis 0.
# - A **tile** is the piece that a program works on, here four neighbours. Its places are its *lanes*.
# - `offs` are the numbers of the tile's elements. Program 1 has 1 × 4 + (0, 1, 2, 3) = (4, 5, 6, 7).
#   `tl.arange` needs a length that is known before the kernel runs: that is what `tl.constexpr` says.
# - An **address** says where in memory something lies. You pass the tensor `x`; the kernel gets the address
#   of its first element, `x_ptr`. `x_ptr + 1` is the address of the next *element*, whatever the dtype. So
#   `x_ptr + offs` are four addresses, and `tl.load` fetches what lies there.
# - The **mask** is false in lanes that have no element. There, `tl.load` and `tl.store` touch nothing.
#
# This is what program 2 computes, lane by lane:

# %%
from tritonbook.seeing.pictures import draw_mask

draw_mask(n=10, block=4)

# %% [markdown]
# **Look inside.** `print` works in a kernel too: one text first, then tiles. Put `print("offs", offs)` below
# the line of `mask`, run that cell, then this one. Take the line out again when you have seen it.

# %%
add_one(torch.arange(10.0, device=DEVICE))

# %% [markdown]
# ## How these pages work
#
# - The comment above a **gap** says what is missing, and about how many lines. `pass`, or a line that
#   begins with `raise`, only keeps the gap open: your lines take its place.
# - The **check** tries several inputs: odd sizes, other dtypes, no element at all. It also looks at *how*
#   you got the result: where a kernel is asked for, calling PyTorch instead does not pass.
# - `show_cases(add_one)` prints what it tries. Type it into a cell of your own: press Esc, then B.
# - Stuck? Under each gap are three **hints**. Open one at a time.
#
# ## Task 2. A kernel with three bugs
#
# This one should copy a vector. It has three bugs, each of them a classic. Try to find them before you
# run the cell: its last line draws what each program touched.


# %%
@triton.jit
def broken_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)

    offs = pid + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask)

    tl.store(out_ptr + offs, x)


def broken_copy(x):
    out = torch.zeros_like(x)
    n_elements = out.numel()
    grid = (n_elements // 4,)
    broken_kernel[grid](x, out, n_elements, BLOCK_SIZE=4)
    return out


show_tiles(broken_copy, torch.arange(1.0, 11.0, device=DEVICE))

# %% [markdown]
# How many programs run? Which elements does program 1 take? What does the store do in lanes that have no
# element?
#
# <details><summary>Answers</summary>
#
# Two programs run, and ten elements in tiles of four need three. Program 1 takes the elements 1 to 4
# instead of 4 to 7, so the tiles overlap. And the store has no mask. In this run no tile reaches the
# end; if one did, it would write past the end of `out`, into memory that belongs to something else.
#
# </details>
#
# Mend it: three lines, one for each bug. The name is `copy` now, and tiles have 256 elements. `copy` makes
# one launch. A copy has the same bits, whatever the dtype: store what was loaded, as it is.

# %% tags=["reference"]
def copy_ref(x):  # what the check compares yours with
    return x.clone()

# %% tags=["answer"] key="copy"
@triton.jit
def copy_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x.

    One program = one tile of BLOCK_SIZE elements.
    Assumes that the elements lie side by side in memory.
    """
    pid = tl.program_id(axis=0)

    # TODO: offs, the elements of this program (1 line)
    ### BEGIN SOLUTION
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ### END SOLUTION
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask)

    # TODO: store the tile (1 line)
    ### BEGIN SOLUTION
    tl.store(out_ptr + offs, x, mask=mask)
    ### END SOLUTION


def copy(x):
    """A copy of x, whose elements lie side by side in memory."""
    out = torch.empty_like(x)
    n_elements = out.numel()
    # TODO: grid, with tiles of 256 elements (1 line)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(n_elements, 256),)
    ### END SOLUTION
    copy_kernel[grid](x, out, n_elements, BLOCK_SIZE=256)
    return out

# %% [markdown] tags=["hint"] key="copy"
# #### Hints for copy
#
# <details><summary>Hint 1: a question</summary>
#
# Program 0 owns elements 0 to 255. What has to be added for program 1, and what for program `pid`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The kernel and the wrapper of Task 1 have all three lines. Compare them with the broken ones, word by word.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs = pid * ... + tl.arange(0, BLOCK_SIZE)
#
# tl.store(out_ptr + offs, x, ...)
#
# grid = (triton.cdiv(..., 256),)
# ```
#
# The comma makes the grid a tuple.
#
# </details>

# %% tags=["check"] key="copy" points=3
check(copy)

# %%
show_tiles(copy, torch.arange(600.0, device=DEVICE))

# %% [markdown]
# Every element has one owner, and nothing is written past the end.
#
# ## Your machine
#
# With a GPU (`DEVICE` is `"cuda"`) your kernels are compiled for it. Without one they run in Triton's
# *interpreter*, on the processor: slow, but the numbers are the same. Every check of the course works either way.
#
# The interpreter runs one program after another. A GPU runs many at once, in any order: two programs that
# write to the same place are a *race*, and the result changes from run to run. Also, a GPU may read past
# the end of a tensor without complaint. So the check watches each store, and surrounds each tensor with
# NaN.
#
# Something does not run? The doctor looks at everything that a kernel needs. A *note* can wait, a
# *problem* cannot.

# %%
from tritonbook import doctor

doctor()

# %% [markdown]
# ## Stretch: who owns what?
#
# Plain Python, no kernel: for `n` elements in tiles of `block`, give the range that each program owns, as
# pairs `(first, end)`. `end` is one past the last element. Three lines.

# %%
from tritonbook.seeing.pictures import draw_tiling

draw_tiling(n=10, block=4)

# %% [markdown]
# This is `tile_ranges(10, 4)`: `[(0, 4), (4, 8), (8, 10)]`. The last pair stops where the elements stop.
# For `n = 0` no program is needed, and the list is empty.

# %% tags=["answer", "stretch"] key="tile_ranges"
def tile_ranges(n, block):
    """Ranges (first, end) that the programs own, in order of their program id."""
    ranges = []
    # TODO: how many programs? for each one, append where its range begins and ends (3 lines)
    ### BEGIN SOLUTION
    num_programs = (n + block - 1) // block  # rounds up
    for pid in range(num_programs):
        ranges.append((pid * block, min((pid + 1) * block, n)))
    ### END SOLUTION
    return ranges

# %% [markdown] tags=["hint"] key="tile_ranges"
# #### Hints for tile_ranges
#
# <details><summary>Hint 1: a question</summary>
#
# 10 elements in tiles of 4 need 3 programs, 12 elements also need 3, and 13 need 4. Which division
# is that?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `triton.cdiv(n, block)` divides and rounds up. Program `pid` begins at `pid * block`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for pid in range(triton.cdiv(..., ...)):
#     ranges.append((pid * ..., min(..., n)))
# ```
#
# </details>

# %% tags=["check", "stretch"] key="tile_ranges" points=0
check(tile_ranges)

# %% [markdown]
# ## Recap
#
# - A kernel is what happens to one tile. Programs run it, each with its own `pid`.
# - `pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)` are the elements of program `pid`.
# - The grid rounds up, and the mask switches off the lanes that are too many.
#
# <details><summary>Common mistakes</summary>
#
# - `pid + tl.arange(...)`: the tiles overlap.
# - A grid that rounds down: the end is never written.
# - A mask on the load but not on the store.
#
# </details>
#
# `progress()` shows how far you are. Required tasks have points, by which a course may grade. Your progress is
# kept in a file where this notebook runs (in Colab that is lost with the machine: download the notebook to
# keep your answers).
#
# Next: [01_vector_add](01_vector_add.ipynb), a kernel from an empty gap.

# %%
progress()
