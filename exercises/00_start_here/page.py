# ---
# workbook:
#   title: Start here
#   minutes: 25
#   needs: interpreter
#   requires: []
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - see whether this machine is ready, and what to do if it is not
#     - learn four words that the whole course uses, program, tile, grid and mask
#     - find three bugs that almost every first kernel has
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# The line above says where your kernels will run. With a GPU they are compiled for it. Without one
# they run in Triton's interpreter, which is slow but gives the same numbers. You can do most of this
# course either way.
#
# ## Is this machine ready?
#
# The doctor looks at everything that a kernel needs. It says what it found, and what to do about it.
# A *note* can wait, a *problem* cannot.

# %%
from tritonbook import doctor

doctor()

# %% [markdown]
# ## How these notebooks work
#
# 1. Run the cells from top to bottom, with Shift+Enter, and read as you go.
# 2. A cell with `# YOUR CODE HERE` has a **gap**. The comment above the gap says what is missing,
#    and about how many lines. The line below it (`pass`, or one that begins with `raise`) only keeps
#    the gap open: put your lines in its place. As long as a `raise` stands there, the check says
#    that the gap is open.
# 3. The next code cell is the **check**. Its card says *passed*, or what is wrong and where.
#    `show_cases(tile_ranges)` prints what the check of `tile_ranges` tries.
# 4. Stuck? Under each gap are three hints. Open them one at a time.
# 5. `progress()`, at the end, shows how far you are. It stays on this machine.
#
# Checks try your function on several inputs: odd sizes, other dtypes, no element at all. They also
# look at *how* you got the result. A function that calls PyTorch instead of launching your kernel does
# not pass.
#
# ## The idea of the whole course
#
# A processor with one core runs a loop: element 0, element 1, element 2. A GPU has about a hundred
# processors (NVIDIA calls one a *streaming multiprocessor*, SM), and each works on many
# pieces of data at once. So we turn the loop around. We write the code for **one piece**, and the
# GPU runs that code many times at once.
#
# Four words are enough for this:
#
# - A **tile** is a piece of the data, for example 1024 neighbouring elements. Its places are its
#   *lanes*.
# - A **program** is one run of that code. It usually works on one tile. (CUDA and the literature
#   call it a *thread block* or *CTA*. We say program.)
# - The **grid** says how many programs run. Each gets a number, its program id or `pid`.
# - A **mask** switches off the lanes of a tile that have no element.

# %%
from tritonbook.seeing.pictures import draw_mask, draw_tiling

draw_tiling(n=10, block=4)

# %% [markdown]
# Ten elements, tiles of four, three programs. The last tile reaches two places too far.

# %% [markdown]
# ## Task 1. Who owns what?
#
# No kernel yet. Write the rule in plain Python: for `n` elements in tiles of `block`, give the range
# of elements that each program owns, as pairs `(first, end)`. `end` is one past the last element,
# as in Python's `range`.
#
# `triton.cdiv(n, block)` divides and rounds up.
#
# The picture above is `tile_ranges(10, 4)`: `[(0, 4), (4, 8), (8, 10)]`. Note the last pair: it
# stops where the elements stop. For `n = 0` there is no program, and the list is empty.

# %% tags=["answer"] key="tile_ranges"
def tile_ranges(n, block):
    """Ranges (first, end) that the programs own, in order of their program id."""
    # TODO: how many programs? and for each one, where does its range begin and end? (about 4 lines)
    ### BEGIN SOLUTION
    num_programs = (n + block - 1) // block  # rounds up
    ranges = []
    for pid in range(num_programs):
        ranges.append((pid * block, min((pid + 1) * block, n)))
    return ranges
    ### END SOLUTION

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
# ranges = []
# for pid in range(triton.cdiv(..., ...)):
#     ranges.append((pid * ..., min(..., n)))
# return ranges
# ```
#
# </details>

# %% tags=["check"] key="tile_ranges" points=2
check(tile_ranges)

# %% [markdown]
# ## How a kernel is written
#
# A **kernel** is the code that all programs run. A **wrapper** is an ordinary Python function that
# allocates the result, chooses the grid and launches the kernel. Here are the six things that you
# will meet in both:
#
# - `@triton.jit` above a function makes it a kernel.
# - `kernel[grid](...)` launches it. The grid is a tuple, `(3,)` for three programs.
# - `tl.program_id(axis=0)` is the number of this program: 0, 1 or 2.
# - `tl.arange(0, BLOCK_SIZE)` is the row of numbers from 0 to `BLOCK_SIZE - 1`. Its length has to be
#   known before the kernel runs, so `BLOCK_SIZE` is marked `tl.constexpr`.
# - `x_ptr` is the address of the first element of `x`. `x_ptr + offs` are the addresses of a tile.
# - `tl.load(addresses, mask=mask)` fetches a tile from memory, and `tl.store(addresses, values,
#   mask=mask)` writes one. Lanes whose mask is false touch no memory.
#
# These are the numbers that program 2 of the picture computes, lane by lane:

# %%
draw_mask(n=10, block=4)

# %% [markdown]
# ## A kernel with three bugs
#
# This one should copy a vector. It has three bugs, and each of them is a classic. Read it, and try
# to find them before you run the cell below it.


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

# %% [markdown]
# - How many programs run on ten elements? How many should it be?
# - Which elements does program 1 take? Which should it take?
# - What does the store do with lanes that have no element?
#
# `show_tiles` runs a function and draws what each program really touched. See if you were right.

# %%
show_tiles(broken_copy, torch.arange(1.0, 11.0, device=DEVICE))

# %% [markdown]
# <details><summary>Answers</summary>
#
# Two programs run, and ten elements in tiles of four need three. Program 1 takes the elements 1 to 4
# instead of 4 to 7, so the tiles overlap. And the store has no mask. In this run no tile reaches the
# end; if one did, it would write past the end of `out`, into memory that belongs to something else.
#
# </details>
#
# ## Task 2. Repair it
#
# Write the repaired kernel into the gap, about 4 lines. You may copy the broken lines and change
# them. The wrapper has a gap too, 1 line. One launch. A copy has the same bits, whatever the dtype: store
# what was loaded, as it is.

# %% tags=["reference"]
def copy_ref(x):
    return x.clone()

# %% tags=["answer"] key="copy"
@triton.jit
def copy_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """out = x.

    One program = one tile of BLOCK_SIZE elements.
    Assumes contiguous memory.
    """
    pid = tl.program_id(axis=0)

    # TODO: offsets, mask, load, store, each of them right (about 4 lines)
    ### BEGIN SOLUTION
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements

    x = tl.load(x_ptr + offs, mask=mask)

    tl.store(out_ptr + offs, x, mask=mask)
    ### END SOLUTION


def copy(x):
    """A copy of the contiguous tensor x."""
    out = torch.empty_like(x)
    n_elements = out.numel()
    # TODO: the grid, with tiles of 256 elements (1 line)
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
# Compare `tl.load` and `tl.store` in the broken kernel, word by word. For the grid, use the division
# of Task 1.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# offs = pid * ... + tl.arange(0, BLOCK_SIZE)
# mask = offs < n_elements
#
# x = tl.load(x_ptr + offs, mask=mask)
#
# tl.store(out_ptr + offs, x, ...)
# ```
#
# The grid is `(triton.cdiv(..., 256),)`. The comma makes it a tuple.
#
# </details>

# %% tags=["check"] key="copy" points=3
check(copy)

# %% [markdown]
# Now look at the repaired kernel. Every element has one owner, and nothing is written past the end.

# %%
show_tiles(copy, torch.arange(600.0, device=DEVICE))

# %% [markdown]
# ## What the GPU does that the interpreter does not
#
# The interpreter runs programs one after another, in order. A GPU runs them in any order, many at
# once. Two programs that write to the same place are a *race*: the result changes from run to run.
# The interpreter never shows that by itself, so the check watches each store and says which elements
# have two owners.
#
# A GPU also reads memory that is not yours without complaint, as long as it belongs to your process.
# The check surrounds every tensor with NaN and with large numbers. So a kernel that reads past an end
# gets a result that is plainly wrong.
#
# ## Recap
#
# - A kernel is what happens to one tile. Programs run it, each with its own `pid`.
# - `pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)` are the elements of program `pid`.
# - The grid rounds up, and the mask switches off the lanes that are too many.
# - A result can be right by luck. Checks use sizes that leave no room for luck.
#
# <details><summary>Common mistakes</summary>
#
# - `pid + tl.arange(...)`: the tiles overlap.
# - A grid that rounds down: the end is never written.
# - A mask on the load but not on the store.
#
# </details>
#
# Next: [01_vector_add](01_vector_add.ipynb), your first kernel from an empty gap.

# %%
progress()
