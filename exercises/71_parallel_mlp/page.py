# ---
# workbook:
#   title: "Parallel MLP: a layer on several GPUs"
#   minutes: 50
#   needs: interpreter
#   requires: [21_matmul_grouped, 23_fused_mlp, 70_all_reduce]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - cut the weights of an MLP so that the ranks meet once a layer
#     - put the all-reduce into the epilogue of a product, tile by tile
#     - raise the flags of a tile, and await them some products later
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# The SwiGLU layer of page 23, `out = (silu(x @ w_gate) * (x @ w_up)) @ w_down`, on R ranks. All have the
# same x, and each holds 1 / R of the weights. How do you cut them, so that the ranks seldom wait for each
# other?
#
# - **`w_gate` and `w_up` by columns.** A hidden value needs one column of each. So rank r computes the
#   hidden values of its columns, gate included, and asks nobody.
# - **`w_down` by rows**, the same ones. Rank r multiplies its hidden values by them, and has a **part** of
#   *every* element of the result:
#
# $$\text{out} = \sum_r \text{hidden}_r \cdot \text{w\_down}_r$$
#
# One all-reduce, and the layer is done. This is called **tensor parallelism**.

# %%
draw = pictures("parallel_mlp")
draw.draw_cut(ranks=2)

# %% [markdown]
# **Predict.** And if `w_gate` and `w_up` were cut by rows, too? What must be added up then, and how large is it?
#
# <details><summary>Answer</summary>
#
# Each rank would have a part of every sum *before* the gate. The SiLU of a sum is not the sum of SiLUs: so
# gate and up, M × H each, must be whole first. In Llama 3 8B, H = 3.5 D. That is seven times the all-reduce
# of `out`, and besides it.
#
# </details>
#
# ## The contract
#
# | name | what it is |
# |---|---|
# | `rank` | as on page 70; 1 to 8 ranks |
# | `x` | (M, D), contiguous, floating, the same on all ranks |
# | `w_gate`, `w_up` | (D, H); H is at least the number of ranks |
# | `w_down` | (H, D) |
# | result | `(silu(x @ w_gate) * (x @ w_up)) @ w_down`: new, as `x` |
#
# Rank r's share of the H columns, and rows, goes from `r * H // R` to `(r + 1) * H // R`. Weights come whole,
# but a rank loads only its share of them, and computes nothing beyond it: a real model has no more there. The
# check sees each load, and puts other numbers beside the share. Parts are rounded to the dtype of x, as on page 70, and added in float32.
#
# All ranks get **the same bits**. The check calls your function twice, the second time with the first
# result. Task 1 asks for three launches a call, Tasks 2 and 3 for two launches; no copy of a tensor is made.

# %% tags=["reference"]
from tritonbook import matmul_tile, multiprocessors, on_ranks

all_reduce, meet = mine("all_reduce", quiet=True), reference("meet")
gate_up_swiglu = mine("gate_up_swiglu", quiet=True)
matmul_grouped = mine("matmul_grouped", quiet=True)


def parallel_mlp_ref(x, *weights):
    """x: [R, M, D], weights: [R, ...], a row for each rank. For each: the layer, and its layer."""
    R, results = len(x), [x[0]]
    for _ in range(2):
        out = 0
        for rank, (gate, up, down) in enumerate(zip(*weights, strict=True)):
            own = slice(rank * len(down) // R, (rank + 1) * len(down) // R)
            x = results[-1]
            out = out + (torch.nn.functional.silu(x @ gate[:, own]) * (x @ up[:, own])) @ down[own]
        results.append(out)
    return [tuple(results[1:])] * R


# %% [markdown]
# ## Task 1. Cut the weights
#
# Three functions are yours, or the workbook's: `gate_up_swiglu(x, w_gate, w_up)` of page 23, `matmul_grouped(a, b)` of
# page 21, and `all_reduce(rank, x)` of page 70, which takes (N,). The first two take any strides: so a share
# is a *view*, and nothing is copied.
#
# Fill both gaps: `cut`, about 2 lines, and the layer, about 3.

# %% tags=["answer"] key="parallel_mlp"
def cut(rank, w_gate, w_up, w_down):
    """This rank's share of the weights, as views."""
    H = w_down.shape[0]
    # TODO: where the share begins and ends; three views (about 2 lines)
    ### BEGIN SOLUTION
    first, stop = rank.number * H // rank.count, (rank.number + 1) * H // rank.count
    return w_gate[:, first:stop], w_up[:, first:stop], w_down[first:stop]
    ### END SOLUTION


def parallel_mlp(rank, x, w_gate, w_up, w_down):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, [M, D], in three launches."""
    gate, up, down = cut(rank, w_gate, w_up, w_down)
    # TODO: hidden values of this rank, its part, the sum over all ranks (about 3 lines)
    ### BEGIN SOLUTION
    hidden = gate_up_swiglu(x, gate, up)
    part = matmul_grouped(hidden, down)
    return all_reduce(rank, part.view(-1)).view(part.shape)
    ### END SOLUTION


def parallel_mlp_twice(rank, x, *weights):
    first = parallel_mlp(rank, x, *weights)
    return first, parallel_mlp(rank, first, *weights)


def computed_twice(x, *weights):
    """What the check calls: x and the weights, a row for each rank."""
    return on_ranks(parallel_mlp_twice, len(x))(x, *weights)

# %% [markdown] tags=["hint"] key="parallel_mlp"
# #### Hints for parallel_mlp
#
# <details><summary>Hint 1: a question</summary>
#
# Which axis of `w_gate` has H elements, and which one of `w_down`?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The contract says where a share begins: `rank.number` is r, `rank.count` is R. The product of (M, share) and
# (share, D) is (M, D), a part. `view(-1)` makes one row of it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# first, stop = ..., ...
# return w_gate[:, ...], w_up[:, ...], w_down[...]
#
# hidden = gate_up_swiglu(...)
# part = matmul_grouped(...)
# return all_reduce(rank, ...).view(...)
# ```
#
# </details>

# %% tags=["check"] key="parallel_mlp" points=2
check(parallel_mlp)

# %% [markdown]
# ## What the sum costs
#
# **Predict.** Llama 3 8B: D = 4096, H = 14336, and 4096 tokens in bfloat16. Say that a GPU multiplies at 700
# TFLOP/s, and that 300 GB/s arrive from other GPUs. How long do the products take, and how long a one-shot
# all-reduce, on 2 ranks and on 8?
#
# <details><summary>Answer</summary>
#
# | ranks | products | all-reduce |
# |---|---|---|
# | 2 | 1.03 ms | 0.11 ms |
# | 8 | 0.26 ms | 0.78 ms |
#
# **Products.** 2 M D H operations each, three of them: 1.44e12, shared by R ranks.
#
# **All-reduce.** (R - 1) parts of 4096 × 4096 × 2 bytes arrive: 33.6 MB each.
#
# </details>
#
# The more ranks, the less to multiply and the more to add. With 8 ranks two shots take a quarter of that:
# 0.20 ms, still nearly as long as the products. Meanwhile the tensor cores have nothing to do.
#
# ## Task 2. The sum in the epilogue
#
# A program has its tile of the part in registers when its loop ends, and all ranks take the tiles in the
# same order. So it need not wait for the whole matrix: it stores its tile in symmetric memory, **meets** its
# namesakes on all ranks, adds their tiles, and stores the result. A launch is saved, and no other kernel
# has to copy the part.
#
# Given: `product_tile`, the loop of page 21; `place_of`, rows and columns of a tile; `pointer_to` and
# `meet(table_ptr, rank, turn, RANKS)` of page 70, which meets by program number: here, tile number.
#
# Fill the gap, about 8 lines: the tile into your own part, meet, the sum in the order of ranks, meet, the
# result.

# %% tags=["answer"] key="parallel_mlp_fused"
def down_tile(dtype):
    """matmul_tile's, of at most 128 columns: there are registers for the tile and for the sum."""
    tile = matmul_tile(dtype)
    return tile | dict(BLOCK_N=min(tile["BLOCK_N"], 128))


@triton.jit
def pointer_to(table_ptr, other, like_ptr):
    """A pointer like like_ptr to rank other's memory, at a multiple of 16 bytes."""
    return tl.multiple_of(tl.load(table_ptr + other).to(like_ptr.dtype), 16)


@triton.jit
def place_of(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Rows and columns of a tile; tiles go in groups of 8 rows of tiles."""
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    pid_m, pid_n = tl.swizzle2d(tile // grid_n, tile % grid_n, grid_m, grid_n, 8)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    return offs_m, offs_n


@triton.jit
def product_tile(
    a_ptr, b_ptr, offs_m, offs_n, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """A tile of a @ b, [BLOCK_M, BLOCK_N], in float32."""
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    return acc


@triton.jit
def fused_kernel(
    a_ptr, b_ptr, part_table_ptr, flag_table_ptr, out_ptr, M, N, K, rank,
    stride_am, stride_ak, stride_bk, stride_bn,
    RANKS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out = the sum over all ranks of their a @ b.

    One program = one tile of out; it meets its namesakes twice.
    Assumes out and parts [M, N], contiguous, and the same grid on all ranks.
    """
    offs_m, offs_n = place_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N)
    offs = offs_m[:, None] * N + offs_n[None, :]
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    own_ptr = pointer_to(part_table_ptr, rank, out_ptr)

    acc = product_tile(
        a_ptr, b_ptr, offs_m, offs_n, M, N, K,
        stride_am, stride_ak, stride_bk, stride_bn, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    # TODO: acc into your part, meet, the sum, meet, the result (about 8 lines)
    ### BEGIN SOLUTION
    tl.store(own_ptr + offs, acc, mask=mask)
    meet(flag_table_ptr, rank, 0, RANKS)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for other in tl.static_range(RANKS):
        part_ptr = pointer_to(part_table_ptr, other, out_ptr)
        total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    meet(flag_table_ptr, rank, 1, RANKS)
    tl.store(out_ptr + offs, total, mask=mask)
    ### END SOLUTION


def parallel_mlp_fused(rank, x, w_gate, w_up, w_down):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, [M, D], in two launches."""
    gate, up, down = cut(rank, w_gate, w_up, w_down)
    hidden, out = gate_up_swiglu(x, gate, up), torch.empty_like(x)
    (M, K), N, tile = hidden.shape, x.shape[1], down_tile(x.dtype)
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    _, parts = rank.symmetric(f"parts {M} {N} {x.dtype}", (M, N), x.dtype)
    _, flags = rank.symmetric(f"flags of {tiles} tiles", (tiles, 2, rank.count), torch.int32)
    fused_kernel[(tiles,)](
        hidden, down, parts, flags, out, M, N, K, rank.number,
        *hidden.stride(), *down.stride(), RANKS=rank.count, **tile,
    )
    return out


def fused_twice(rank, x, *weights):
    first = parallel_mlp_fused(rank, x, *weights)
    return first, parallel_mlp_fused(rank, first, *weights)


def computed_fused_twice(x, *weights):
    return on_ranks(fused_twice, len(x))(x, *weights)

# %% [markdown] tags=["hint"] key="parallel_mlp_fused"
# #### Hints for parallel_mlp_fused
#
# <details><summary>Hint 1: a question</summary>
#
# Which lines of page 70's `all_reduce_kernel` follow its load of x? And what stands here in place of x?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `offs` and `mask` are a tile's, in every matrix [M, N]: own part, other ranks' parts, result. A store
# rounds by itself. Your own tile is added as the others see it, rounded: so all ranks add the same numbers.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tl.store(own_ptr + ..., acc, ...)
# meet(flag_table_ptr, rank, 0, RANKS)
# total = tl.zeros(...)
# for other in tl.static_range(RANKS):
#     part_ptr = pointer_to(...)
#     total += ...
# # meet in turn 1, store
# ```
#
# </details>

# %% tags=["check"] key="parallel_mlp_fused" points=4
check(parallel_mlp_fused)

# %% [markdown]
# ## Wait less
#
# In `fused_kernel` a program raises its flags and awaits the others' at once. Its multiprocessor does nothing
# else meanwhile: one program with a tile of 128 × 128 takes most of the registers.
#
# But a meeting has two halves, and between them there is time for a product. A program raises the flags
# of **its** tile, and adds a tile of **`lag` programs earlier**, whose flags are up long since:

# %%
draw.draw_lag()

# %% [markdown]
# **Predict.** A program waits for an earlier tile of other ranks. Can it wait for ever?
#
# <details><summary>Answer</summary>
#
# No. Programs begin in order. Tile t's flags are raised by program t of each rank, before it waits for
# anybody. Had it awaited tile t + 1, a GPU with room for one program at a time would hang. Order 1 of the
# simulator is such a GPU.
#
# </details>
#
# ## Task 3. Raise now, await later
#
# Program number `pid` does three things, each if there is such a tile:
#
# 1. tile `pid`: the product, the store, then raise its flags of turn 0 (given);
# 2. tile `late`, which is `pid - lag`: await turn 0, add, raise turn 1, store;
# 3. tile `last`, which is `late - lag`: await turn 1.
#
# Step 3 keeps the next call from overwriting what is still read, and puts the flags back. So a grid has more
# programs than tiles: how many? `raise_flags` and `await_flags` are the halves of `meet`, for any tile.
#
# Fill both gaps: the kernel, about 12 lines, and the grid, 1 line.

# %% tags=["answer"] key="parallel_mlp_late"
@triton.jit
def raise_flags(table_ptr, rank, tile, turn, RANKS: tl.constexpr):
    """Raise this rank's flag of a tile, in this turn, at every rank."""
    tl.debug_barrier()
    for other in tl.static_range(RANKS):
        theirs_ptr = tl.load(table_ptr + other).to(tl.pointer_type(tl.int32))
        flag_ptr = theirs_ptr + (tile * 2 + turn) * RANKS + rank
        tl.atomic_xchg(flag_ptr, 1, sem="release", scope="sys")


@triton.jit
def await_flags(table_ptr, rank, tile, turn, RANKS: tl.constexpr):
    """Await all ranks' flags of a tile, in this turn, and put them back."""
    home_ptr = tl.load(table_ptr + rank).to(tl.pointer_type(tl.int32))
    for other in tl.static_range(RANKS):
        flag_ptr = home_ptr + (tile * 2 + turn) * RANKS + other
        while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@triton.jit
def late_kernel(
    a_ptr, b_ptr, part_table_ptr, flag_table_ptr, out_ptr, M, N, K, rank, lag,
    stride_am, stride_ak, stride_bk, stride_bn,
    RANKS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out = the sum over all ranks of their a @ b.

    One program = the product of one tile, and the sum of the tile lag programs earlier.
    Assumes out and parts [M, N], contiguous, and the same grid on all ranks.
    """
    pid, tiles = tl.program_id(0), tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    if pid < tiles:
        offs_m, offs_n = place_of(pid, M, N, BLOCK_M, BLOCK_N)
        acc = product_tile(
            a_ptr, b_ptr, offs_m, offs_n, M, N, K,
            stride_am, stride_ak, stride_bk, stride_bn, BLOCK_M, BLOCK_N, BLOCK_K,
        )  # fmt: skip
        offs = offs_m[:, None] * N + offs_n[None, :]
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        tl.store(pointer_to(part_table_ptr, rank, out_ptr) + offs, acc, mask=mask)
        raise_flags(flag_table_ptr, rank, pid, 0, RANKS)

    late = pid - lag
    last = late - lag
    # TODO: steps 2 and 3 (about 12 lines)
    ### BEGIN SOLUTION
    if (late >= 0) & (late < tiles):
        await_flags(flag_table_ptr, rank, late, 0, RANKS)
        offs_m, offs_n = place_of(late, M, N, BLOCK_M, BLOCK_N)
        offs = offs_m[:, None] * N + offs_n[None, :]
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for other in tl.static_range(RANKS):
            part_ptr = pointer_to(part_table_ptr, other, out_ptr)
            total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        raise_flags(flag_table_ptr, rank, late, 1, RANKS)
        tl.store(out_ptr + offs, total, mask=mask)
    if last >= 0:
        await_flags(flag_table_ptr, rank, last, 1, RANKS)
    ### END SOLUTION


def parallel_mlp_late(rank, x, w_gate, w_up, w_down, lag=None):
    """(silu(x @ w_gate) * (x @ w_up)) @ w_down, [M, D], in two launches. lag: at least 1."""
    gate, up, down = cut(rank, w_gate, w_up, w_down)
    hidden, out = gate_up_swiglu(x, gate, up), torch.empty_like(x)
    (M, K), N, tile = hidden.shape, x.shape[1], down_tile(x.dtype)
    tiles = triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"])
    lag = min(lag or multiprocessors(), tiles)  # so many programs run at once
    _, parts = rank.symmetric(f"parts {M} {N} {x.dtype}", (M, N), x.dtype)
    _, flags = rank.symmetric(f"flags of {tiles} tiles", (tiles, 2, rank.count), torch.int32)
    # TODO: a grid with room for all three steps (1 line)
    ### BEGIN SOLUTION
    grid = (tiles + 2 * lag,)
    ### END SOLUTION
    late_kernel[grid](
        hidden, down, parts, flags, out, M, N, K, rank.number, lag,
        *hidden.stride(), *down.stride(), RANKS=rank.count, **tile,
    )
    return out


def late_twice(rank, x, *weights):
    first = parallel_mlp_late(rank, x, *weights, lag=1)
    return first, parallel_mlp_late(rank, first, *weights)


def computed_late_twice(x, *weights):
    return on_ranks(late_twice, len(x))(x, *weights)

# %% [markdown] tags=["hint"] key="parallel_mlp_late"
# #### Hints for parallel_mlp_late
#
# <details><summary>Hint 1: a question</summary>
#
# Take 5 tiles and a lag of 2. Which program adds tile 4? Which one awaits its flags of turn 1?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Step 2 is your epilogue of Task 2, on another tile: `place_of(late, ...)`, then `offs` and `mask` as in
# step 1. In place of each `meet` stands one of its halves. For some programs `late` is below 0 or past
# the end.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if (late >= 0) & (late < tiles):
#     await_flags(...)  # late, turn 0
#     # place, offs, mask, total as in Task 2
#     raise_flags(...)  # late, turn 1
#     # store
# if last >= 0:
#     await_flags(...)  # last, turn 1
# ```
#
# </details>

# %% tags=["check"] key="parallel_mlp_late" points=4
check(parallel_mlp_late)

# %% [markdown]
# ## Measured
#
# The layer above for 1024 to 8192 tokens on two GPUs, and whole on one. `torch` multiplies by cuBLAS, and
# NCCL adds.

# %%
from tritonbook.ranks.measure import bench_ranks, mlp_shapes, torch_mlp, torch_mlp_whole

bench_ranks(
    {"torch, one GPU": torch_mlp_whole, "torch, NCCL": torch_mlp, "Task 1": parallel_mlp,
     "Task 2": parallel_mlp_fused, "Task 3": parallel_mlp_late},
    ranks=2, sizes=[1024, 2048, 4096, 8192], shapes=mlp_shapes, stored="parallel_mlp_two_gpus",
    title="The MLP of Llama 3 8B on 2 GPUs, bfloat16",
)  # fmt: skip

# %% [markdown]
# Compare Tasks 2 and 3 with Task 1: what is left of the tenth that the all-reduce takes? For 1024 tokens there
# are 256 tiles, on an H100 twice as many as multiprocessors: half of them are added when all products are done.
#
# **PyTorch's own.** `torch.ops.symm_mem.fused_matmul_reduce_scatter` puts half of the all-reduce into the
# product: each rank keeps a share of the rows, which NCCL gathers. In another run on two H200, for 4096
# tokens, that layer took 1.27 ms with its launches, Task 3's 1.25 ms.
#
# **More ranks.** With 8 ranks a tile arrives from seven others. In two shots rank `tile % R` alone adds it, and
# stores the sum at every rank: a quarter of the traffic, and for each tile one rank to wait for.
#
# **On a cluster**: as on [page 70](70_all_reduce.ipynb), GPUs of one node.
#
# ## Recap
#
# - By columns, then by rows: one all-reduce a layer.
# - An epilogue may talk to other GPUs: a tile goes as soon as it is there.
# - A meeting has two halves. Put work between them.
#
# ## Common mistakes
#
# - `w_down` cut by columns: then hidden values of all ranks are needed.
# - Your own tile added from registers: the other ranks see it rounded.
# - Flags of one tile for all: whoever comes first takes another's signal.
#
# Next: [90_debug](90_debug.ipynb).
#
# Source: M. Shoeybi et al., *Megatron-LM*, 2019.

# %%
progress()
