# ---
# workbook:
#   title: Find the bug that hides
#   minutes: 50
#   needs: interpreter
#   requires: [90_debug, 50_split_kv_decode]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - find bugs that a test does not show, because they need a GPU, a long run or bad luck
#     - make such a bug show up every time
#     - mend five kernels and name what ailed them
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## First make it show
#
# The patients of page 90 were ill whenever you looked. These five are well when you look. They fail on
# the GPU alone, after a thousand tokens, in one run out of three, in somebody else's kernel, or not at
# all: they just never end.
#
# Such a bug cannot be found as long as it comes and goes. So the first step is another one: **change the
# surroundings until it fails every time.** Nearly always one of these will do.
#
# | surroundings | how | it shows |
# |---|---|---|
# | the order of programs | `with backwards():`, in the interpreter | who needs another program's work |
# | what fresh memory holds | `torch.use_deterministic_algorithms(True)` | who reads what nobody wrote |
# | the neighbours in memory | cut the tensors out of one large one | who writes outside |
# | the length | go on until it breaks, then halve | what grows, and where it ends |
# | the time | `with stop_after(2):`, in the interpreter | where a loop spins |
#
# The second line needs a word. PyTorch then fills each `torch.empty` with NaN, on every device. It does
# so to make results repeatable, and it is the cheapest detector of unwritten memory that there is.
# `compute-sanitizer --tool initcheck` looks for the same on a GPU, without PyTorch.
#
# The first line matters most, if you work without a GPU. The interpreter runs program 0 to its end, then
# program 1, and so on. A GPU runs many at once, and promises no order at all.

# %%
from tritonbook import backwards, stop_after

pictures("debug_hard").draw_orders()

# %% [markdown]
# `backwards()` runs the last program first. A kernel that is right in both orders may still have a race.
# One that is right in one order only has one for sure.
#
# ## The causes
#
# | name | cause |
# |---|---|
# | `"race"` | two programs meet at one address, and one of them writes |
# | `"infinity"` | an infinity is subtracted from an infinity, or multiplied by 0 |
# | `"uninitialised"` | memory is read that nobody has written |
# | `"unchecked index"` | an index that comes from memory is taken as it is |
# | `"endless loop"` | a loop steps over its end |
# | `"grid"` | part of the work has no program |
# | `"padding"` | lanes past the end take part in a sum or a maximum |
# | `"stale buffer"` | a buffer that is kept still holds what the last call left there |
# | `"narrow sum"` | a running sum has too few digits |
# | `"overflow"` | a number is too large for its dtype |
# | `"deadlock"` | a program waits for another one that cannot go on |
# | `"stride"` | an address goes by the stride of another tensor or dimension |

# %% tags=["reference"]
def require_contiguous(*tensors):
    """Raise ValueError unless the tensors have no gaps and their own order in memory."""
    if not all(each.is_contiguous() for each in tensors):
        raise ValueError("the tensors must be contiguous")

# %% [markdown]
# ## Patient 6: only on a GPU
#
# *"The gradient of a token shift: each row gets `a` times the row after it. In place, to save memory. In
# the interpreter every test passes. On the GPU some rows are wrong."* The right result is
# `dy[:-1] + a * dy[1:]`, and the last row stays.

# %% tags=["answer"] key="shift_gradient"
@triton.jit
def shift_gradient_kernel(
    x_ptr, y_ptr,
    a,
    T, D,
    BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
):
    """y[t] = x[t] + a * x[t + 1], and y[T - 1] = x[T - 1].

    One program = BLOCK_T rows, one after the other.
    Assumes contiguous tensors and BLOCK_D >= D.
    """
    first = tl.program_id(axis=0).to(tl.int64) * BLOCK_T
    offs_d = tl.arange(0, BLOCK_D)
    mask_d = offs_d < D
    offs = first * D + offs_d

    row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)
    for t in range(first, tl.minimum(first + BLOCK_T, T)):
        after = tl.load(x_ptr + offs + D, mask=mask_d & (t + 1 < T), other=0.0)
        tl.store(y_ptr + offs, row + a * after, mask=mask_d)
        row = after
        offs += D


def shift_gradient(dy, a, block=16):
    """dy [T, D] becomes the gradient, where it lies. Nothing is returned."""
    require_contiguous(dy)
    T, D = dy.shape
    ### BEGIN SOLUTION
    x, y = dy.clone(), dy
    ### BROKEN
    # x, y = dy, dy
    ### END SOLUTION
    grid = (triton.cdiv(T, block),)
    shift_gradient_kernel[grid](
        x, y, a, T, D, BLOCK_T=block, BLOCK_D=triton.next_power_of_2(D)
    )


def shift_gradient_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "race"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="shift_gradient"
# #### Hints for shift_gradient
#
# <details><summary>Hint 1: a question</summary>
#
# Which rows does the program with rows 0 to 15 read, and which does it write? And which of the rows that
# it reads does somebody else write?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Below, rows 15 and 31 are wrong if the last program runs first. What have they in common? In the usual
# order, when is row 16 read, and when is it written? `traffic(shift_gradient, dy, 0.5)` names a cell at
# which two programs meet.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Nothing makes a program wait for another one. So nobody may write what another one still has to read.
# Give them two tensors, or give all rows of some columns to one program.
#
# </details>

# %%
given = torch.arange(40.0, device=DEVICE)[:, None].repeat(1, 4)
want = given.clone()
want[:-1] += 0.5 * given[1:]
for order in ("first to last", "last to first"):
    dy = given.clone()
    if order == "first to last":
        shift_gradient(dy, 0.5)
    else:
        with backwards():
            shift_gradient(dy, 0.5)
    print(f"{order}: wrong rows {[int(t) for t in (dy != want).any(1).nonzero()]}")

# %% tags=["check"] key="shift_gradient" points=2
check(shift_gradient)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# "In place" is safe if each program reads nothing but what it writes itself: ask for it by name in a
# review. And run kernels backwards in the tests, since it costs one line.
#
# `compute-sanitizer --tool racecheck` is no help with this one. It watches shared memory alone, and dy
# lies in global memory. Of this patient, as it came, with 4,096 rows on an H100, it said:
#
# ```text
# $ compute-sanitizer --tool racecheck python patient.py
# wrong rows: 203 of 4096
# ========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
# ```
#
# Where threads of one program share memory it is strong. A Gluon kernel (part 6) ordered a copy to shared
# memory and did not wait for it. The values were right in this run, and the race was found:
#
# ```text
# ========= Error: Race reported between Write access at double_kernel+0x210 in patient.py:15
# =========     and Read access at double_kernel+0xbe0 in patient.py:19 [16 hazards]
# =========     ...
# wrong: 0 of 16384
# ========= RACECHECK SUMMARY: 32 hazards displayed (32 errors, 0 warnings)
# ```
#
# With the wait it found 0. But it does not follow `mbarrier`, by which the jobs of pages 64 and 65 wait
# for each other: a small and right kernel of two such jobs got 2 errors.
#
# </details>
#
# ## Patient 7: NaN after a thousand tokens
#
# *"Attention with a sliding window, one query at a time. The model writes a thousand good tokens, then
# NaN for ever. The window is 1,024."* Each query sees the last `window` keys.

# %% tags=["answer"] key="window_attend"
@triton.jit
def window_attend_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr,
    T, window,
    scale,
    D: tl.constexpr, BLOCK_T: tl.constexpr,
):
    """o = softmax(q k scale) v over the last `window` of T keys.

    One program = the one query; its keys in tiles.
    Assumes contiguous tensors, and that D is a power of two.
    """
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_d).to(tl.float32) * scale
    acc = tl.zeros((D,), dtype=tl.float32)
    ### BEGIN SOLUTION
    m_i, l_i = -1e38, 0.0
    ### BROKEN
    # m_i, l_i = float("-inf"), 0.0
    ### END SOLUTION

    for start in range(0, T, BLOCK_T):
        offs_t = start + tl.arange(0, BLOCK_T)
        seen = (offs_t < T) & (offs_t >= T - window)
        offs = offs_t[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + offs, mask=seen[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offs, mask=seen[:, None], other=0.0).to(tl.float32)

        s = tl.where(seen, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        p = tl.exp(s - m_new)
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(p, axis=0)
        acc = acc * tl.exp(m_i - m_new) + tl.sum(p[:, None] * v, axis=0)
        m_i = m_new

    tl.store(o_ptr + offs_d, acc / l_i)


def window_attend(q, k, v, window, block=16):
    """Attention of q [D] to the last `window` of the keys k, v [T, D]: a new tensor [D]."""
    require_contiguous(q, k, v)
    T, D = k.shape
    if window < 1 or T < 1 or D & (D - 1):
        raise ValueError("it takes a key, a window of 1 or more, and a power of two for D")
    o = torch.empty_like(q)
    window_attend_kernel[(1,)](q, k, v, o, T, window, D**-0.5, D=D, BLOCK_T=block)
    return o


def window_attend_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "infinity"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="window_attend"
# #### Hints for window_attend
#
# <details><summary>Hint 1: a question</summary>
#
# Below, with a window of 48 and tiles of 16, the first NaN comes at 64 keys. Which keys of the first
# tile does the query see with 63 of them, and which with 64?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Put `print(start, m_i, m_new, p)` behind the line of `p`, and call it with 64 keys. One tile is enough
# to spoil all the rest.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Let the maximum begin at a number that is smaller than any score, and still a number. Or do not visit
# tiles that nobody sees: then they cost no time either.
#
# </details>

# %%
q, keys, values = (torch.randn(*shape, 8, device=DEVICE) for shape in ((), (100,), (100,)))
spoilt = [T for T in range(1, 100) if window_attend(q, keys[:T], values[:T], 48).isnan().any()]
print("NaN at these numbers of keys:", f"{spoilt[0]} to {spoilt[-1]}" if spoilt else "none")

# %% tags=["check"] key="window_attend" points=2
check(window_attend)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Wherever minus infinity marks what does not count, ask what happens if nothing counts. A test of a loop
# needs a first, a middle and a last tile that are empty.
#
# </details>
#
# ## Patient 8: another result in every run
#
# *"The sum of the squares of each row, with `num_splits` programs a row. Mostly right. Some days a
# validation run gives 0.31, then 0.28, then NaN, from the same checkpoint."* The right result is
# `x.pow(2).sum(1)`. There are no atomics here that could come in another order.

# %% tags=["answer"] key="row_squares"
@triton.jit
def row_partials_kernel(x_ptr, partials_ptr, N, piece_size, BLOCK_N: tl.constexpr):
    """partials[row, piece] = sum of x^2 over the piece.

    One program = one piece of one row; a piece behind the row's end has nothing to do.
    Assumes contiguous tensors and BLOCK_N >= piece_size.
    """
    row, piece = tl.program_id(axis=0).to(tl.int64), tl.program_id(axis=1)
    offs = tl.arange(0, BLOCK_N)
    offs_n = piece * piece_size + offs
    mask = (offs < piece_size) & (offs_n < N)

    if piece * piece_size < N:
        x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0).to(tl.float32)
        place = row * tl.num_programs(axis=1) + piece
        tl.store(partials_ptr + place, tl.sum(x * x, axis=0))


@triton.jit
def row_join_kernel(partials_ptr, out_ptr, num_splits, BLOCK_S: tl.constexpr):
    """out[row] = sum of partials[row]. One program = one row."""
    row = tl.program_id(axis=0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    places = row * num_splits + offs_s
    partials = tl.load(partials_ptr + places, mask=offs_s < num_splits, other=0.0)
    tl.store(out_ptr + row, tl.sum(partials, axis=0))


def row_squares(x, num_splits=8):
    """The sum of the squares of each row of x [M, N]: float32 [M]. num_splits programs a row."""
    require_contiguous(x)
    M, N = x.shape
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    ### BEGIN SOLUTION
    partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)
    ### BROKEN
    # partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)
    ### END SOLUTION
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    row_partials_kernel[(M, num_splits)](
        x, partials, N, piece_size, BLOCK_N=triton.next_power_of_2(piece_size)
    )
    row_join_kernel[(M,)](partials, out, num_splits, BLOCK_S=triton.next_power_of_2(num_splits))
    return out


def row_squares_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "uninitialised"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="row_squares"
# #### Hints for row_squares
#
# <details><summary>Hint 1: a question</summary>
#
# 100 columns in 8 pieces: `piece_size` is 16. How many of the 8 programs of a row have columns? For
# which numbers of columns do all of them?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Follow one element of `partials`, that of the last piece: who writes it, and who reads it?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Either every place is written, or it holds 0 from the beginning, or nobody reads it. Each of the three
# is a mend.
#
# </details>

# %%
torch.use_deterministic_algorithms(True)  # each torch.empty is full of NaN now
for N in (128, 100, 120, 90):
    print(f"{N} columns:", row_squares(torch.ones(2, N, device=DEVICE)).tolist())
torch.use_deterministic_algorithms(False)

# %% tags=["check"] key="row_squares" points=2
check(row_squares)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Whoever writes `torch.empty` owes an answer to "who writes every element?". A program that returns early
# owes one too: what did the others expect of it?
#
# On a GPU `initcheck` says it, with the values right. This is what it said of `row_squares` as it came, for
# two rows of 100 ones, on an H100 (compute-sanitizer 2025.3). `memcheck` found nothing: the memory is the kernel's own.
#
# ```text
# $ compute-sanitizer --tool initcheck python patient.py
# ========= Uninitialized __global__ memory read of size 4 bytes
# =========     at row_join_kernel+0x120 in patient.py:130
# =========     by thread (63,0,0) in block (1,0,0)
# =========     ...
# tensor([100., 100.], device='cuda:0')
# ========= ERROR SUMMARY: 32 errors
# ```
#
# </details>
#
# ## Patient 9: somebody else's kernel
#
# *"Our key cache: each token's row goes to its slot. Padding tokens have the slot -1 and are to be left
# out. It works. But since we use it, attention in **another layer** gives rubbish now and then, and
# sometimes a matmul dies of an illegal memory access."* The matmul is innocent.
#
# A GPU works behind Python's back: Python launches a kernel and goes on. An access outside all memory is
# reported at some later call, whichever comes next. `CUDA_LAUNCH_BLOCKING=1` makes Python wait for each
# kernel, and then the message comes from the line that did it. Here is a slot far outside all memory, on an
# H100, without it and with it:
#
# ```text
# $ python patient.py
#     b = a @ a
# RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`
#
# $ CUDA_LAUNCH_BLOCKING=1 python patient.py
#     cache_rows(cache, rows, slots)
# RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered
# ```
#
# But most strays hit memory that exists, and then nobody reports anything.

# %% tags=["answer"] key="cache_rows"
@triton.jit
def cache_rows_kernel(rows_ptr, slots_ptr, cache_ptr, D, BLOCK_D: tl.constexpr):
    """cache[slots[t]] = rows[t].

    One program = one token.
    Assumes contiguous tensors and BLOCK_D >= D.
    """
    t = tl.program_id(axis=0).to(tl.int64)
    slot = tl.load(slots_ptr + t)
    offs_d = tl.arange(0, BLOCK_D)
    mask_d = offs_d < D

    row = tl.load(rows_ptr + t * D + offs_d, mask=mask_d, other=0.0)
    ### BEGIN SOLUTION
    tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))
    ### BROKEN
    # tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)
    ### END SOLUTION


def cache_rows(cache, rows, slots):
    """Put rows [T, D] into cache [S, D] at slots [T], int64, each once; negative: nowhere."""
    require_contiguous(cache, rows, slots)
    T, D = rows.shape
    if cache.shape[1] != D or slots.shape != (T,):
        raise ValueError("it takes cache (S, D), rows (T, D) and slots (T,)")
    cache_rows_kernel[(T,)](rows, slots, cache, D, BLOCK_D=triton.next_power_of_2(D))


def cache_rows_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "unchecked index"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="cache_rows"
# #### Hints for cache_rows
#
# <details><summary>Hint 1: a question</summary>
#
# Below, the caches of two layers are cut out of one tensor, as engines do it. Layer 1 is written to.
# Which row of layer 0 changes?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `traffic(cache_rows, cache, rows, slots)` on a cache of its own names the program and the line.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# In Python `cache[-1]` is the last row. In a kernel -1 times D is an address like any other.
#
# </details>

# %%
pool = torch.zeros(2, 4, 8, device=DEVICE)  # two layers, four slots each
slots = torch.tensor([2, -1, 0], device=DEVICE)
cache_rows(pool[1], torch.ones(3, 8, device=DEVICE), slots)
for layer in (0, 1):
    print(f"layer {layer}: rows that changed: {[int(r) for r in pool[layer].any(1).nonzero()]}")

# %% tags=["check"] key="cache_rows" points=2
check(cache_rows)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# If a result is wrong and its kernel is right, ask who writes next to it in memory. And treat each number
# that a kernel loads as an index as you would treat input from outside: check it, in the mask.
#
# If an index should never be negative, say so: `tl.device_assert(slot >= 0, "a slot is negative")`. It costs
# nothing until somebody asks for it, and the interpreter passes it by. On the H100:
#
# ```text
# $ TRITON_DEBUG=1 python patient.py
# patient.py:8: unknown: block: [1,0,0], thread: [36,0,0] Assertion `a slot is negative` failed.
# ...
# torch.AcceleratorError: CUDA error: device-side assert triggered
# ```
#
# </details>
#
# ## Patient 10: it never ends
#
# *"Mixture of experts: the rows of each expert are added up, for its bias. Rows of one expert lie side by
# side, and `ends` says where each expert's rows end. In the test it is right. In training, the GPU is at
# 100 % and nothing happens. No error."*

# %% tags=["answer"] key="expert_sums"
@triton.jit
def expert_sums_kernel(
    x_ptr, ends_ptr, out_ptr, D, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr
):
    """out[e] = sum of x[m] for ends[e - 1] <= m < ends[e]; expert 0 begins at row 0.

    One program = one expert, BLOCK_M rows at a time.
    Assumes contiguous tensors and BLOCK_D >= D.
    """
    e = tl.program_id(axis=0)
    row = tl.load(ends_ptr + e - 1, mask=e > 0, other=0)
    end = tl.load(ends_ptr + e)
    offs_d = tl.arange(0, BLOCK_D)[None, :]
    acc = tl.zeros((BLOCK_D,), dtype=tl.float32)

    ### BEGIN SOLUTION
    while row < end:
        offs_m = row + tl.arange(0, BLOCK_M)[:, None]
        mask = (offs_m < end) & (offs_d < D)
        x = tl.load(x_ptr + offs_m * D + offs_d, mask=mask, other=0.0).to(tl.float32)
        acc += tl.sum(x, axis=0)
        row += BLOCK_M
    ### BROKEN
    # while row != end:
    #     offs_m = row + tl.arange(0, BLOCK_M)[:, None]
    #     mask = (offs_m < end) & (offs_d < D)
    #     x = tl.load(x_ptr + offs_m * D + offs_d, mask=mask, other=0.0).to(tl.float32)
    #     acc += tl.sum(x, axis=0)
    #     row += BLOCK_M
    ### END SOLUTION

    offs_out = tl.arange(0, BLOCK_D)
    tl.store(out_ptr + e * D + offs_out, acc, mask=offs_out < D)


def expert_sums(x, ends, block=16):
    """For each expert the sum of its rows of x [M, D]: float32 [E, D]. ends [E], int64, rising."""
    require_contiguous(x, ends)
    E, D = ends.shape[0], x.shape[1]
    out = torch.empty((E, D), dtype=torch.float32, device=x.device)
    expert_sums_kernel[(E,)](
        x, ends, out, D, BLOCK_M=block, BLOCK_D=triton.next_power_of_2(D)
    )
    return out


def expert_sums_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "endless loop"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="expert_sums"
# #### Hints for expert_sums
#
# <details><summary>Hint 1: a question</summary>
#
# Which values does `row` take for an expert with 32 rows, in tiles of 16? And for one with 20?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# In the interpreter you can stop a kernel, as below, and read the line. On a GPU you cannot: nothing but
# the end of the process stops it. Put `tl.device_print("row", row)` into the loop there.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# A loop should end at or **behind** its end. Or let Python's `range` count: it never steps over.
#
# </details>

# %%
x = torch.ones(60, 4, device=DEVICE)
for ends in ([32, 48], [20, 48]):
    if DEVICE == "cuda" and ends[0] % 16:
        print(ends, "not run: a GPU could not be stopped")
        continue
    with stop_after(2):
        print(ends, expert_sums(x, torch.tensor(ends, device=DEVICE))[:, 0].tolist())

# %% tags=["check"] key="expert_sums" points=2
check(expert_sums)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Compare with `<`, and keep `!=` for things that are not counted up. A hang is a result like another:
# find the smallest input that hangs, and the input beside it that does not.
#
# </details>
#
# ## Recap
#
# | patient | shown by | because |
# |---|---|---|
# | 6 | another order of programs | nobody waits for anybody |
# | 7 | more keys than window and tile | an empty tile has no maximum |
# | 8 | fresh memory full of NaN | nobody wrote, somebody read |
# | 9 | a neighbour in memory | -1 is an address |
# | 10 | a number of rows that is no multiple | the end was stepped over |
#
# **Common mistakes**
#
# - Waiting for luck: running it again until it passes, or until it fails.
# - Adding a `torch.cuda.synchronize()` that makes it go away. It moves the bug, and explains nothing.
# - Trusting the name in an error message of a GPU without `CUDA_LAUNCH_BLOCKING=1`.
#
# Next: [93_profile_hard](93_profile_hard.ipynb), with four kernels that are slow inside.

# %%
progress()
