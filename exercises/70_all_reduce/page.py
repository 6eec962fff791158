# ---
# workbook:
#   title: "All-reduce: one sum on several GPUs"
#   minutes: 55
#   needs: interpreter
#   requires: [11_rmsnorm_split, 60_norm_records]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - load from the memory of other GPUs, through a table of addresses
#     - raise and await flags between GPUs, with release and acquire, and put them back
#     - add in one shot, and in two, which move less
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A model that is too large for one GPU is cut: each GPU holds a part of each layer, and computes a
# part of each **sum**. Then all of them need the whole sum:
#
# $$\text{out} = x^{(0)} + x^{(1)} + \dots + x^{(R-1)}$$
#
# That is an **all-reduce**. A GPU with its process is a **rank**; R ranks have numbers from 0 on.
#
# GPUs of one machine can load from each other's memory, as if it were their own. **Symmetric
# memory** gives a kernel the addresses: all ranks allocate the same, and each gets a **table**, one
# address for each rank.

# %%
draw = pictures("all_reduce")
draw.draw_table(ranks=3)

# %% [markdown]
# `on_ranks(fn, 2)(x)` runs `fn(rank, x[0])` on rank 0 and `fn(rank, x[1])` on rank 1. With two GPUs
# each rank is a process with a GPU. Without, ranks are **simulated**: their programs change places at
# each load, store and atomic, in several orders. What no flag orders is named, also where the values
# come out right.
#
# `rank` has `number`, `count`, and two functions:
#
# - `rank.symmetric(name, shape, dtype)`: this rank's tensor and the table. It holds zeros at first, and
#   stays from call to call.
# - `rank.barrier()`: all ranks wait for each other, between two launches.
#
# ## The contract
#
# | name | what it is |
# |---|---|
# | `rank` | as above; 1 to 8 ranks |
# | `x` | this rank's summand: (N,), contiguous, floating, never changed |
# | result | the sum over all ranks: new, as `x`, added in float32 and rounded once |
#
# All ranks get **the same bits**. The check calls your function twice, the second time with the first
# result. Tasks 2 and 3 ask for one launch a call.

# %% tags=["reference"]
from tritonbook import on_ranks


def all_reduce_ref(x):
    """x: [R, N], a row for each rank. For each rank the sum, and the sum of these sums."""
    total = x.sum(dim=0)
    return [(total, len(x) * total) for _ in range(len(x))]


@triton.jit
def put_kernel(x_ptr, part_ptr, N, BLOCK: tl.constexpr):
    """part = x, both contiguous.

    One program = one tile of BLOCK elements.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(part_ptr + offs, tl.load(x_ptr + offs, mask=offs < N), mask=offs < N)


# %% [markdown]
# ## Task 1. A table of addresses
#
# First without flags: a launch puts x into symmetric memory, all meet, a second launch adds.
#
# New:
#
# - `tl.load(table_ptr + other)` is an address: a number of 64 bits.
# - `.to(out_ptr.dtype)` makes it a pointer like `out_ptr`.
# - `for other in tl.static_range(RANKS)` is written out by the compiler, RANKS times.
#
# Fill the gap, about 3 lines: in the loop make the pointer, load the tile, and add it to `acc`.

# %% tags=["answer"] key="sum_ranks"
@triton.jit
def sum_ranks_kernel(table_ptr, out_ptr, N, RANKS: tl.constexpr, BLOCK: tl.constexpr):
    """out = the sum over all ranks of their parts.

    One program = one tile of BLOCK elements.
    Assumes that table_ptr[r] is the address of rank r's part, whose dtype is out's.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N

    acc = tl.zeros([BLOCK], tl.float32)
    for other in tl.static_range(RANKS):
        # TODO: rank other's pointer, its tile, the sum (3 lines)
        ### BEGIN SOLUTION
        part_ptr = tl.load(table_ptr + other).to(out_ptr.dtype)
        part = tl.load(part_ptr + offs, mask=mask, other=0.0)
        acc += part.to(tl.float32)
        ### END SOLUTION

    tl.store(out_ptr + offs, acc, mask=mask)


def sum_ranks(rank, x, block=1024):
    """The sum of all ranks' x (N,): new, as x."""
    N, out = x.numel(), torch.empty_like(x)
    part, table = rank.symmetric(f"parts {N} {x.dtype}", N, x.dtype)
    grid = (triton.cdiv(N, block),)
    put_kernel[grid](x, part, N, BLOCK=block)
    rank.barrier()
    sum_ranks_kernel[grid](table, out, N, RANKS=rank.count, BLOCK=block)
    rank.barrier()
    return out


def sum_ranks_twice(rank, x):
    first = sum_ranks(rank, x)
    return first, sum_ranks(rank, first)


def summed_twice(x):
    """What the check calls: x [R, N], a row for each rank."""
    return on_ranks(sum_ranks_twice, len(x))(x)

# %% [markdown] tags=["hint"] key="sum_ranks"
# #### Hints for sum_ranks
#
# <details><summary>Hint 1: a question</summary>
#
# The table lies in your own memory, the tiles in everybody's. Which of your two loads leaves the GPU?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# One load gives one number, the other a tile. The tile has a mask, and in half precision it goes to
# float32 before it is added.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# part_ptr = tl.load(...).to(...)  # an address, then a pointer
# part = tl.load(part_ptr + ..., ...)
# acc += ...
# ```
#
# </details>

# %% tags=["check"] key="sum_ranks" points=2
check(sum_ranks)

# %% [markdown]
# **Predict.** Each rank adds in the order 0, 1, 2, ... What if each began with its own part? Why does
# training care?
#
# <details><summary>Answer</summary>
#
# With two ranks nothing changes: a + b is b + a. From three on, (a + b) + c and (b + c) + a may differ in
# the last bit. Then the ranks' copies of the model drift apart, and nobody sees an error.
#
# </details>
#
# **Why the second barrier?** Without it a fast rank begins the next call and overwrites its part while a
# slow one still reads. Take it out in the cell above and check again.
#
# ## A promise
#
# Triton knows that x begins at a multiple of 16 bytes, so a thread loads 16 bytes at once (page 03). Of an
# address from a table it knows nothing:

# %%
facts(summed_twice, torch.empty(2, 2**20, dtype=torch.bfloat16))

# %% [markdown]
# A thread has 8 numbers. `put_kernel` loads them at once, `sum_ranks_kernel` one by one from each of 2 ranks,
# and 2 addresses: 18 loads. Symmetric memory, too, begins at multiples of 16 bytes. `tl.multiple_of`
# promises this to the compiler, in a function for Tasks 2 and 3:

# %% tags=["reference"]
@triton.jit
def pointer_to(table_ptr, other, like_ptr):
    """A pointer like like_ptr to rank other's memory, at a multiple of 16 bytes."""
    return tl.multiple_of(tl.load(table_ptr + other).to(like_ptr.dtype), 16)


# %% [markdown]
# In Task 1's loop it leaves 4 loads: 2 vectors, 2 addresses.
#
# ## Flags
#
# Each barrier is a launch of its own. Inside a kernel, programs can meet at **flags**: numbers in
# symmetric memory, 0 for down, 1 for up.

# %%
draw.draw_flags()

# %% [markdown]
# Two atomics do it:
#
# - **Raise:** `tl.atomic_xchg(flag_ptr, 1, sem="release", scope="sys")` puts 1 there. *Release*: whoever
#   sees it also sees what this program stored before.
# - **Await:** `tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys")` compares with 1, puts 0 there if
#   equal, and returns what it found. In a loop it waits, and **puts the flag back** in the same step.
#   *Acquire*: what comes after sees what came before the release.
#
# `scope="sys"` reaches all GPUs; the default ends at one. A program has many threads, of which one
# raises the flag: `tl.debug_barrier()` before it lets all of them finish.
#
# Here rank 0 sends a number to rank 1. The flag lies in the memory of who **waits**: waiting then stays
# at home, and one store crosses the link.


# %%
@triton.jit
def send_kernel(number_table_ptr, flag_table_ptr, out_ptr, rank):
    """out of rank 1 = 42, sent by rank 0.

    One program a rank.
    Assumes tables of int32 parts, and flags that are down.
    """
    number_ptr = tl.load(number_table_ptr + 1).to(tl.pointer_type(tl.int32))
    flag_ptr = tl.load(flag_table_ptr + 1).to(tl.pointer_type(tl.int32))
    if rank == 0:
        tl.store(number_ptr, 42)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1, sem="release", scope="sys")
    else:
        while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:
            pass
        tl.store(out_ptr, tl.load(number_ptr))


def send(rank, x):
    _, number_table = rank.symmetric("number", 1, torch.int32)
    _, flag_table = rank.symmetric("sent", 1, torch.int32)
    send_kernel[(1,)](number_table, flag_table, x, rank.number)
    return x


on_ranks(send, 2)(torch.zeros(2, 1, dtype=torch.int32, device=DEVICE))

# %% [markdown]
# **Predict.** What does the *second* call do if nobody puts the flag back?
#
# <details><summary>Answer</summary>
#
# Rank 1 finds the flag of the first call, does not wait, and reads the old number. Often the result is
# right all the same. So tests pass, and one day they do not.
#
# </details>
#
# ## Task 2. One shot
#
# Now one launch. A program puts its tile into its part, **meets** its namesakes (same program number) on
# all ranks, adds, and meets them again, so that nobody overwrites what is still read.
#
# Each program has flags of its own: flags[program, turn, rank]. `turn` is 0 at the first meeting and 1 at
# the second. Rank r raises place r **at every rank**, its own too, and awaits all R places **at home**.
# With one set for both meetings a fast rank could raise a flag that is still up: a lost signal.
#
# Fill both gaps. `meet`, about 8 lines: wait for your own threads, raise, then await. The kernel, about 9
# lines: your part, meet, the sum as in Task 1 with `pointer_to`, meet, store.

# %% tags=["answer"] key="all_reduce"
@triton.jit
def meet(table_ptr, rank, turn, RANKS: tl.constexpr):
    """Return when programs of this number on all ranks have called this, in this turn.

    table_ptr: of the flags [programs, 2, RANKS], int32, all down between launches.
    """
    first = (tl.program_id(axis=0) * 2 + turn) * RANKS
    # TODO: own threads first; raise at every rank; await at home (about 8 lines)
    ### BEGIN SOLUTION
    tl.debug_barrier()
    for other in tl.static_range(RANKS):
        theirs_ptr = tl.load(table_ptr + other).to(tl.pointer_type(tl.int32))
        tl.atomic_xchg(theirs_ptr + first + rank, 1, sem="release", scope="sys")
    home_ptr = tl.load(table_ptr + rank).to(tl.pointer_type(tl.int32))
    for other in tl.static_range(RANKS):
        flag_ptr = home_ptr + first + other
        while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:
            pass
    ### END SOLUTION


@triton.jit
def all_reduce_kernel(
    x_ptr, part_table_ptr, flag_table_ptr, out_ptr, N, rank,
    RANKS: tl.constexpr, BLOCK: tl.constexpr,
):
    """out = the sum over all ranks of their x, in one shot.

    One program = one tile of BLOCK elements; it meets its namesakes twice.
    Assumes that all ranks launch the same grid.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N

    x = tl.load(x_ptr + offs, mask=mask)
    own_ptr = pointer_to(part_table_ptr, rank, out_ptr)
    # TODO: your part, meet, the sum, meet, the result (about 9 lines)
    ### BEGIN SOLUTION
    tl.store(own_ptr + offs, x, mask=mask)
    meet(flag_table_ptr, rank, 0, RANKS)
    acc = tl.zeros([BLOCK], tl.float32)
    for other in tl.static_range(RANKS):
        part_ptr = pointer_to(part_table_ptr, other, out_ptr)
        acc += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    meet(flag_table_ptr, rank, 1, RANKS)
    tl.store(out_ptr + offs, acc, mask=mask)
    ### END SOLUTION


def all_reduce(rank, x, block=None):
    """The sum of all ranks' x (N,): new, as x. One launch."""
    N, out = x.numel(), torch.empty_like(x)
    block = block or max(1024, min(8192, triton.next_power_of_2(N // 256)))
    programs = triton.cdiv(N, block)
    _, parts = rank.symmetric(f"parts {N} {x.dtype}", N, x.dtype)
    _, flags = rank.symmetric(f"flags {programs}", (programs, 2, rank.count), torch.int32)
    all_reduce_kernel[(programs,)](
        x, parts, flags, out, N, rank.number, RANKS=rank.count, BLOCK=block, num_warps=8
    )
    return out


def all_reduce_twice(rank, x):
    first = all_reduce(rank, x)
    return first, all_reduce(rank, first)


def reduced_twice(x):
    return on_ranks(all_reduce_twice, len(x))(x)

# %% [markdown] tags=["hint"] key="all_reduce"
# #### Hints for all_reduce
#
# <details><summary>Hint 1: a question</summary>
#
# Rank 2 raises its flag at rank 5. In whose memory does it lie, and in which place? Who puts it back?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `send_kernel` has one flag; you need R of them in both loops. In the first loop the *table's* place
# changes with `other`, and the flag's is `rank`. In the second it is the other way round. And raise all
# before you await any.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tl.debug_barrier()
# for other in tl.static_range(RANKS):
#     theirs_ptr = ...  # flags of rank other
#     # raise place first + rank
# home_ptr = ...  # of this rank
# for other in tl.static_range(RANKS):
#     # await place first + other
# ```
#
# In the kernel: store, `meet(flag_table_ptr, rank, 0, RANKS)`, the loop of Task 1 with `pointer_to`, meet
# in turn 1, store.
#
# </details>

# %% tags=["check"] key="all_reduce" points=5
check(all_reduce)

# %% [markdown]
# **All namesakes must run.** A GPU need not run all programs of a launch at once. Here a program waits for
# its namesakes alone, and programs begin in order: so the wait ends. A program that waited for the *last*
# one of its grid could keep it from beginning, for ever.
#
# ## Two shots
#
# In one shot every rank loads R - 1 foreign parts. But each rank needs to add only a
# **share**, N / R elements, if all tell each other the result:

# %%
draw.draw_two_shots(ranks=3)

# %% [markdown]
# 1. **Reduce-scatter:** rank r loads share r of all parts, and adds.
# 2. **All-gather:** it stores that share at every rank.
#
# **Predict.** How many elements arrive at a rank, with one shot and with two? For 2 ranks, and for 8?
#
# <details><summary>Answer</summary>
#
# One shot: R - 1 whole parts, (R - 1) N. Two shots: R - 1 shares, twice, (R - 1) N / R each time. The quotient
# is 2 / R: 1 for 2 ranks, 1/4 for 8.
#
# </details>
#
# So two shots pay from three ranks on, for large messages.
#
# ## Task 3. Reduce-scatter, then all-gather
#
# A program has BLOCK elements of **every** share. A share has `size` elements; share s begins at
# `s * size`, and `size * RANKS >= N`. It fills its part, meets, adds its tile of share `rank`, stores this at **every**
# rank's `sums`, meets, and copies `sums` at home to `out`.
#
# A third meeting is not needed: `sums` is written after the next call's first meeting, and whoever comes
# there has copied.
#
# Fill the gap, about 8 lines: the sum of your share, and its store at every rank.

# %% tags=["answer"] key="all_reduce_large"
@triton.jit
def two_shots_kernel(
    x_ptr, part_table_ptr, sum_table_ptr, flag_table_ptr, out_ptr, N, size, rank,
    RANKS: tl.constexpr, BLOCK: tl.constexpr,
):
    """out = the sum over all ranks of their x, in two shots.

    One program = BLOCK elements of each of RANKS shares.
    Assumes size * RANKS >= N, and that all ranks launch the same grid.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < size

    own_ptr = pointer_to(part_table_ptr, rank, out_ptr)
    for share in range(RANKS):
        mask = inside & (share * size + offs < N)
        x = tl.load(x_ptr + share * size + offs, mask=mask)
        tl.store(own_ptr + share * size + offs, x, mask=mask)
    meet(flag_table_ptr, rank, 0, RANKS)

    mine = rank * size + offs
    mask = inside & (mine < N)
    acc = tl.zeros([BLOCK], tl.float32)
    # TODO: add share `rank` of all parts, store the sum at every rank (about 6 lines)
    ### BEGIN SOLUTION
    for other in tl.static_range(RANKS):
        part_ptr = pointer_to(part_table_ptr, other, out_ptr)
        acc += tl.load(part_ptr + mine, mask=mask, other=0.0).to(tl.float32)
    for other in tl.static_range(RANKS):
        sum_ptr = pointer_to(sum_table_ptr, other, out_ptr)
        tl.store(sum_ptr + mine, acc, mask=mask)
    ### END SOLUTION
    meet(flag_table_ptr, rank, 1, RANKS)

    sums_ptr = pointer_to(sum_table_ptr, rank, out_ptr)
    for share in range(RANKS):
        mask = inside & (share * size + offs < N)
        total = tl.load(sums_ptr + share * size + offs, mask=mask)
        tl.store(out_ptr + share * size + offs, total, mask=mask)


def all_reduce_large(rank, x, block=None):
    """The sum of all ranks' x (N,): new, as x. One launch, two shots."""
    N, out = x.numel(), torch.empty_like(x)
    block = block or max(1024, min(8192, triton.next_power_of_2(N // 512)))
    size = triton.cdiv(triton.cdiv(N, rank.count), 16) * 16  # addresses stay aligned
    programs = triton.cdiv(size, block)
    _, parts = rank.symmetric(f"parts {N} {x.dtype}", N, x.dtype)
    _, sums = rank.symmetric(f"sums {N} {x.dtype}", N, x.dtype)
    _, flags = rank.symmetric(f"flags {programs}", (programs, 2, rank.count), torch.int32)
    two_shots_kernel[(programs,)](
        x, parts, sums, flags, out, N, size, rank.number,
        RANKS=rank.count, BLOCK=block, num_warps=8,
    )
    return out


def all_reduce_large_twice(rank, x):
    first = all_reduce_large(rank, x)
    return first, all_reduce_large(rank, first)


def reduced_large_twice(x):
    return on_ranks(all_reduce_large_twice, len(x))(x)

# %% [markdown] tags=["hint"] key="all_reduce_large"
# #### Hints for all_reduce_large
#
# <details><summary>Hint 1: a question</summary>
#
# Which elements do you load from each rank: your share, or theirs? And where do you store the sum?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `mine` and `mask` are offsets and mask of share `rank`: both loops use them. The first is Task 1's, the
# second goes through `sum_table_ptr`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for other in tl.static_range(RANKS):
#     # rank other's part, at mine, added to acc
# for other in tl.static_range(RANKS):
#     sum_ptr = ...  # rank other's sums
#     tl.store(sum_ptr + ..., acc, mask=mask)
# ```
#
# </details>

# %% tags=["check"] key="all_reduce_large" points=3
check(all_reduce_large)

# %% [markdown]
# **Same bits, for free?** Each share is added by one rank alone. So all ranks hold the same bits, whatever
# the order.
#
# ## Measured
#
# bfloat16, from 4 kB to 32 MB, against NCCL, which PyTorch's `all_reduce` calls.

# %%
from tritonbook.ranks.measure import bench_ranks, nccl

bench_ranks(
    {"one shot": all_reduce, "two shots": all_reduce_large, "NCCL": nccl},
    ranks=2, sizes=[2 << 10, 16 << 10, 128 << 10, 1 << 20, 16 << 20], stored="all_reduce_two_gpus",
    title="All-reduce on 2 GPUs, bfloat16",
)

# %% [markdown]
# Divide the bytes of a long call by its time, and you have the link's rate. A short call moves next to
# nothing: its time is launch and meetings.
#
# **On a cluster.** Flags in memory need GPUs of **one node**:
# `srun --nodes=1 --ntasks=1 --gpus-per-task=2 --pty bash`, then start Jupyter or Python; `on_ranks` starts
# the processes. `nvidia-smi topo -m` tells how the GPUs are linked: `NV18` is NVLink with 18 links, `PHB`
# or `SYS` is PCIe.
#
# ## Recap
#
# - A table of addresses makes other GPUs' memory loadable.
# - Release, then acquire, both at `sys`: between them nothing is lost.
# - A flag is put back by whoever awaits it, for the next call.
# - One shot: R - 1 messages in. Two shots: 2 (R - 1) / R.
#
# ## Common mistakes
#
# - No barrier among a program's threads before the flag: some of them still store.
# - `sem="relaxed"`, or the default scope: right in most runs.
#
# Next: [71_parallel_mlp](71_parallel_mlp.ipynb).

# %%
progress()
