# ---
# workbook:
#   title: Many experts, ragged groups
#   minutes: 75
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - route each token to its best experts, with a top-k of your own
#     - sort by counting, with a histogram and a cumulative sum
#     - multiply groups of any size in one launch, though the CPU never learns their sizes
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A **mixture of experts** has E weight matrices in a layer, the *experts*, and each token uses only k
# of them. Qwen3-30B-A3B has 128 experts in a layer, and a token uses 8: about 3 billion of
# its 30 billion weights.
#
# A small matrix, the **router**, gives each token E scores. The k best win. Here 6 tokens choose 2 of 4
# experts each:

# %%
draw = pictures("moe_grouped")
experts = torch.IntTensor([[2, 0], [0, 3], [2, 3], [0, 2], [3, 2], [0, 2]]).to(DEVICE)
draw.draw_sort(experts, E=4)

# %% [markdown]
# A **choice** is one pair of token and expert. Choice number `c = t * k + j` is the j-th of token t, so
# its token is `c // k`. Then:
#
# 1. **route:** which experts, and with which weights?
# 2. **sort:** choices of one expert share a weight matrix, so they must stand together. `order` lists
#    the choices by expert; `offsets` says where each expert begins.
# 3. **multiply:** each group by its own matrix. The groups are *ragged*, of different sizes, and that
#    of expert 1 is empty.
#
# ## A smaller kernel first
#
# How many choices has each expert? `tl.histogram(x, bins)` counts 0, 1, 2, ... in a
# tile of integers. `bins` is a power of 2.


# %%
@triton.jit
def count_kernel(experts_ptr, counts_ptr, N, BLOCK_N: tl.constexpr):
    """counts[e] = how many choices have expert e, for 4 experts.

    One program = all N choices; assumes BLOCK_N >= N.
    """
    offs_n = tl.arange(0, BLOCK_N)
    experts = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=0)
    tl.store(counts_ptr + tl.arange(0, 4), tl.histogram(experts, 4))


counts = experts.new_empty(4)
count_kernel[(1,)](experts, counts, 12, BLOCK_N=16)
counts

# %% [markdown]
# Expert 0 has four choices in the picture, and eight here. The tile has 16 lanes, and
# **a histogram counts masked lanes too**: with `other=0`, for expert 0. Give them a bin of their own:
# `other=4`, and 8 bins.
#
# The second tool is `tl.cumsum(x, axis=0)`: lane n holds the sum of lanes 0 to n.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `logits` | (T, E) | float32, float16, bfloat16 | the router's scores, finite |
# | `weights` | (T, k) | float32 | softmax over all E; of it the k best, divided by their sum |
# | `experts` | (T, k) | int32 | the k best, the best first; of equal logits the smaller number first |
# | `order` | (T · k,) | int32 | the choices by expert; of one expert, in rising order |
# | `offsets` | (E + 1,) | int32 | choices of e are `order[offsets[e]:offsets[e + 1]]` |
# | `x`, `w` | (T, D), (E, D, F) | float32, float16, bfloat16 | tokens; a matrix for each expert |
# | `y` | (T · k, F) | as `x` | `y[c]` = `x[c // k] @ w[expert of c]`, for each choice c |
#
# All are contiguous. `sort_by_expert` takes two launches, the others one launch; float32 is not cut to TF32.

# %% tags=["reference"]
def route_ref(logits, k):
    p, experts = logits.softmax(1).sort(dim=1, descending=True, stable=True)
    weights = p[:, :k] / p[:, :k].sum(1, keepdim=True)
    return weights.to(torch.float32), experts[:, :k].to(torch.int32)


def sort_by_expert_ref(experts, E):
    order = experts.flatten().sort(stable=True).indices
    ends = torch.bincount(experts.flatten(), minlength=E).cumsum(0)
    return order.to(torch.int32), torch.nn.functional.pad(ends, (1, 0)).to(torch.int32)


def grouped_matmul_ref(x, w, order, offsets, k=1):
    y = x.new_empty(len(order), w.shape[2])
    for e in range(len(w)):
        choices = order[offsets[e] : offsets[e + 1]]
        y[choices] = x[choices // k] @ w[e]
    return y

# %% [markdown]
# ## Task 1. The k best
#
# One program routes one token. The loop finds the best, k times.
#
# - `tl.argmax(z, axis=0)` is the number of the largest lane, the first of equals.
# - What has been found must not win again: make its lane minus infinity.
# - A kernel cannot write `chosen[j] = ...`. Lane j of a tile changes with
#   `tl.where(offs_k == j, new, chosen)`.
#
# And the weights? The softmax divides by the sum over all E; then you divide by the sum over the k
# best. The first sum cancels: **the weights are the softmax over the k best logits alone.**
#
# About 7 lines.

# %% tags=["answer"] key="route"
@triton.jit
def route_kernel(
    logits_ptr, weights_ptr, experts_ptr, E, k,
    BLOCK_E: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """experts[t] = the k largest logits of token t; weights[t] = their softmax.

    One program = one token.
    Assumes contiguous tensors, BLOCK_E >= E and BLOCK_K >= k.
    """
    pid_t = tl.program_id(0).to(tl.int64)
    offs_e, offs_k = tl.arange(0, BLOCK_E), tl.arange(0, BLOCK_K)
    z = tl.load(logits_ptr + pid_t * E + offs_e, mask=offs_e < E, other=float("-inf"))
    z = z.to(tl.float32)
    chosen = tl.full((BLOCK_K,), float("-inf"), tl.float32)  # logits of the best

    # TODO: k times the best, its number stored; then the weights (about 7 lines)
    ### BEGIN SOLUTION
    for j in range(k):
        expert = tl.argmax(z, axis=0)
        tl.store(experts_ptr + pid_t * k + j, expert)
        chosen = tl.where(offs_k == j, tl.max(z, axis=0), chosen)
        z = tl.where(offs_e == expert, float("-inf"), z)
    p = tl.exp(chosen - tl.max(chosen, axis=0))
    tl.store(weights_ptr + pid_t * k + offs_k, p / tl.sum(p, axis=0), mask=offs_k < k)
    ### END SOLUTION


def route(logits, k):
    """weights [T, k], float32, and experts [T, k], int32, of logits [T, E]."""
    T, E = logits.shape
    if not 1 <= k <= E or not logits.is_contiguous():
        raise ValueError("logits must be contiguous (T, E), and k from 1 to E")
    weights = torch.empty((T, k), dtype=torch.float32, device=logits.device)
    experts = torch.empty((T, k), dtype=torch.int32, device=logits.device)
    blocks = {"BLOCK_E": triton.next_power_of_2(E), "BLOCK_K": triton.next_power_of_2(k)}
    if T > 0:
        route_kernel[(T,)](logits, weights, experts, E, k, **blocks, num_warps=1)
    return weights, experts

# %% [markdown] tags=["hint"] key="route"
# #### Hints for route
#
# <details><summary>Hint 1: a question</summary>
#
# The loop needs two things of the largest lane, where it is and how large it is. Which of the two goes
# to memory at once, and which waits for the end?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The result for token t begins at `pid_t * k`. After the loop, lanes of `chosen` from k on still hold
# minus infinity, and a softmax gives them 0. Page 04 has the softmax of a tile.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for j in range(k):
#     expert = ...
#     # store it as the j-th of this token
#     chosen = tl.where(offs_k == j, ..., chosen)
#     z = tl.where(..., float("-inf"), z)
# p = ...  # exponentials, safe from overflow
# # store the weights: k of the BLOCK_K lanes
# ```
#
# </details>

# %% tags=["check"] key="route" points=4
check(route)

# %% [markdown]
# ## Task 2. Sort by counting
#
# Experts are small numbers, so counting sorts them. Expert e begins at the **number of choices with a
# smaller expert**. Two kernels, two gaps.
#
# 1. **Offsets**, about 4 lines. One program walks through all N choices and adds up the histograms of
#    its tiles. Masked lanes need a bin that is no expert's. The store is given: a cumulative sum less
#    the own count is the sum of the lanes *before*.
# 2. **Order**, about 7 lines. Program e walks through all choices and picks its own. `place` is where
#    the next one goes: the first of a tile to `place`, the second to `place + 1`. A cumulative sum of
#    ones and zeros numbers them.
#
# Every choice is looked at E times, nearly always in the L2 cache: the price of the same order in every
# run, which atomic counters would not give.

# %% tags=["answer"] key="sort_by_expert"
@triton.jit
def offsets_kernel(
    experts_ptr, offsets_ptr, N, E, BLOCK_N: tl.constexpr, BLOCK_E: tl.constexpr
):
    """offsets[e] = how many choices have an expert below e, for e = 0 ... E.

    One program = all N choices, in tiles.
    Assumes BLOCK_E > E.
    """
    offs_e = tl.arange(0, BLOCK_E)
    counts = tl.zeros((BLOCK_E,), tl.int64)
    # TODO 1: add up the counts of all tiles (about 4 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        experts = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=E)
        counts += tl.histogram(experts, BLOCK_E)
    ### END SOLUTION
    tl.store(offsets_ptr + offs_e, tl.cumsum(counts, axis=0) - counts, mask=offs_e <= E)


@triton.jit
def order_kernel(experts_ptr, offsets_ptr, order_ptr, N, BLOCK_N: tl.constexpr):
    """order[offsets[e]:offsets[e + 1]] = the choices of expert e, in rising order.

    One program = one expert, which looks at all N choices, in tiles.
    """
    expert = tl.program_id(0)
    place = tl.load(offsets_ptr + expert)
    # TODO 2: for each tile: its own choices, their places, next `place` (about 7 lines)
    ### BEGIN SOLUTION
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        own = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=-1) == expert
        ones = own.to(tl.int32)
        places = place + tl.cumsum(ones, axis=0) - ones
        tl.store(order_ptr + places, offs_n, mask=own)
        place += tl.sum(ones, axis=0)
    ### END SOLUTION


def sort_by_expert(experts, E, block=4096):
    """order [T * k] and offsets [E + 1], both int32, of experts [T, k] from 0 to E - 1."""
    if experts.dtype != torch.int32 or not experts.is_contiguous():
        raise ValueError("experts must be contiguous int32")
    N = experts.numel()
    order, offsets = experts.new_empty(N), experts.new_empty(E + 1)
    BLOCK_N, BLOCK_E = min(block, triton.next_power_of_2(N + 1)), triton.next_power_of_2(E + 1)
    offsets_kernel[(1,)](experts, offsets, N, E, BLOCK_N=BLOCK_N, BLOCK_E=BLOCK_E, num_warps=8)
    order_kernel[(E,)](experts, offsets, order, N, BLOCK_N=BLOCK_N, num_warps=8)
    return order, offsets

# %% [markdown] tags=["hint"] key="sort_by_expert"
# #### Hints for sort_by_expert
#
# <details><summary>Hint 1: a question</summary>
#
# A tile holds the experts 2, 0, 0, 3, 0, 2, and you are expert 0. Ones and zeros: 0, 1, 1, 0, 1, 0.
# Their cumulative sum: 0, 1, 2, 2, 3, 3. Which of your three choices gets which place?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The worked kernel has the histogram; `other=` needs another number there, one that has a bin: a GPU
# counts numbers past the last bin in some other one. `(a == b).to(tl.int32)` makes ones and zeros.
# `tl.store` takes a tile of addresses, in any order; its mask says which lanes store. A choice's number
# is its place in `experts`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for start in range(0, N, BLOCK_N):
#     # offsets, load: masked lanes are nobody's
#     counts += ...
# ```
#
# ```python
# for start in range(0, N, BLOCK_N):
#     # offsets, then load
#     own = ... == expert
#     ones = ...
#     places = ...  # the first of this tile goes to `place`
#     tl.store(order_ptr + places, ..., mask=...)
#     place += ...
# ```
#
# </details>

# %% tags=["check"] key="sort_by_expert" points=5
check(sort_by_expert)

# %% [markdown]
# ## Whose tile am I?
#
# The product is cut into tiles, and **a tile belongs to one expert**, since it needs one weight matrix.
# So each expert's last tile may be partly empty:

# %%
order, offsets = sort_by_expert(experts, 4)
draw.draw_tiles(order, offsets, BLOCK_M=3)

# %% [markdown]
# How many programs? That depends on the offsets, and those are on the GPU. `offsets[3].item()` is a
# **synchronisation**: the CPU waits until the GPU has finished all that it was given. Then the GPU has
# nothing to do, and waits for the CPU.
#
# So do not ask. N choices fill at most `N // BLOCK_M` tiles, and each expert has at most one that is
# not full. Start `N // BLOCK_M + E` programs; one that finds no tile for itself returns. In plain Python:


# %%
def whose(tile, offsets, BLOCK_M):
    """The tile's expert, its first place in order, and where its expert ends."""
    for expert in range(len(offsets) - 1):
        begin, end = offsets[expert], offsets[expert + 1]
        tiles = triton.cdiv(end - begin, BLOCK_M)
        if tile < tiles:
            return expert, begin + tile * BLOCK_M, end
        tile -= tiles  # that many come before the next expert's


[whose(tile, offsets.tolist(), BLOCK_M=3) for tile in range(6)]

# %% [markdown]
# ## Task 3. One product for all
#
# Program (t, n) takes tile t and columns block n. Three gaps:
#
# 1. **The scheduler**, about 8 lines: the same without a loop, for all experts at once. `tiles` is how
#    many each has, `tiles_to` their cumulative sum: where an expert's tiles end. So the tile's expert is
#    the **number of experts whose tiles end at or before it**. In the picture `tiles_to` is 2, 2, 4, 5,
#    and tile 2 is expert 2's: two entries are at most 2. A kernel may `return`, as a function does.
# 2. **The rows**, about 5 lines: choices in `order` from `first` on, as far as they are this expert's;
#    the address of each choice's row of x; the address of the expert's matrix.
# 3. **The grid**, 1 line. The store is given: each row goes to its choice's row of y.
#
# Rows and matrices may lie more than 2³¹ elements from the first: 64-bit numbers.

# %% tags=["answer"] key="grouped_matmul"
from tritonbook import matmul_tile


@triton.jit
def grouped_matmul_kernel(
    x_ptr, w_ptr, order_ptr, offsets_ptr, y_ptr, E, D, F, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    BLOCK_E: tl.constexpr,
):
    """y[c] = x[c // k] @ w[expert of c], for the choices c in order.

    One program = one tile: at most BLOCK_M choices of one expert, BLOCK_N columns.
    Assumes contiguous tensors and BLOCK_E > E.
    """
    tile, offs_e = tl.program_id(0), tl.arange(0, BLOCK_E)
    begins = tl.load(offsets_ptr + offs_e, mask=offs_e < E, other=0)
    ends = tl.load(offsets_ptr + offs_e + 1, mask=offs_e < E, other=0)
    # TODO 1: the tile's expert; first and end of its places (about 8 lines)
    ### BEGIN SOLUTION
    tiles = tl.cdiv(ends - begins, BLOCK_M)
    tiles_to = tl.cumsum(tiles, axis=0)
    expert = tl.sum((tiles_to <= tile).to(tl.int32), axis=0)
    if expert >= E:
        return
    tiles_before = tl.sum(tl.where(offs_e < expert, tiles, 0), axis=0)
    first = tl.load(offsets_ptr + expert) + (tile - tiles_before) * BLOCK_M
    end = tl.load(offsets_ptr + expert + 1)
    ### END SOLUTION

    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < F
    # TODO 2: choices, mask_m, x_rows (addresses), w_e (an address) (about 5 lines)
    ### BEGIN SOLUTION
    offs_m = first + tl.arange(0, BLOCK_M)
    mask_m = offs_m < end
    choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0)
    x_rows = x_ptr + (choices // k).to(tl.int64) * D
    w_e = w_ptr + expert.to(tl.int64) * D * F
    ### END SOLUTION

    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, D, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        x_ptrs = x_rows[:, None] + offs_k[None, :]
        w_ptrs = w_e + offs_k[:, None] * F + offs_n[None, :]
        x = tl.load(x_ptrs, mask=mask_m[:, None] & (offs_k < D)[None, :], other=0.0)
        w = tl.load(w_ptrs, mask=(offs_k < D)[:, None] & mask_n[None, :], other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")

    y_ptrs = y_ptr + choices[:, None].to(tl.int64) * F + offs_n[None, :]
    tl.store(y_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])


def grouped_tile(N, E, dtype):
    """Fewer rows where experts have few choices, and fewer columns, for more programs."""
    tile, rows = matmul_tile(dtype), max(16, triton.next_power_of_2(N // E))
    few = {"BLOCK_M": rows, "BLOCK_N": min(64, tile["BLOCK_N"]), "num_warps": 4}
    return tile | few if rows < tile["BLOCK_M"] else tile


def grouped_matmul(x, w, order, offsets, k=1, tile=None):
    """y [T * k, F]: y[c] = x[c // k] @ w[expert of c]; x [T, D], w [E, D, F]."""
    N, (E, D, F) = len(order), w.shape
    fits = (len(x) * k, x.shape[1], len(offsets), x.dtype) == (N, D, E + 1, w.dtype)
    if not fits or not all(given.is_contiguous() for given in (x, w, order, offsets)):
        raise ValueError("contiguous (T, D), (E, D, F), (T * k,) and (E + 1,) are needed")
    y = torch.empty((N, F), dtype=x.dtype, device=x.device)
    tile = tile or grouped_tile(N, E, x.dtype)
    # TODO 3: the grid, without looking at offsets (1 line)
    ### BEGIN SOLUTION
    grid = (N // tile["BLOCK_M"] + E, triton.cdiv(F, tile["BLOCK_N"]))
    ### END SOLUTION
    grouped_matmul_kernel[grid](
        x, w, order, offsets, y, E, D, F, k, BLOCK_E=triton.next_power_of_2(E + 1), **tile
    )
    return y

# %% [markdown] tags=["hint"] key="grouped_matmul"
# #### Hints for grouped_matmul
#
# <details><summary>Hint 1: a question</summary>
#
# In the picture, which tile of its expert is tile 3? How many tiles come before its expert's first?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `tl.cdiv` takes tiles too. `tl.sum` of a comparison, as int32, counts. How many tiles come before an
# expert is the sum of `tiles` over smaller experts. `tl.load(offsets_ptr + expert)` is one number.
# The contract's last row says which rows of x and of y a choice has.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tiles = ...  # of each expert
# tiles_to = ...
# expert = tl.sum(..., axis=0)
# if ...:  # no tile is left for this program
#     return
# first = ...  # the expert's begin, and BLOCK_M for each of its tiles before this one
# end = ...
# ```
#
# ```python
# offs_m = ...
# mask_m = ...  # not into the next expert
# choices = ...  # numbers out of order
# x_rows = ...  # [BLOCK_M] addresses, from 64-bit numbers: which token has choice c?
# w_e = ...  # one address, from a 64-bit number
# ```
#
# </details>

# %% tags=["check"] key="grouped_matmul" points=7
check(grouped_matmul)

# %% [markdown]
# ## A layer of experts
#
# An expert is a small MLP of two products, as on page 23. The first result has a row for **each
# choice**, so the second is the same call with k = 1. And the k results of a token stand side by side
# in y, so their weighted sum needs no atomics.


# %%
def moe(x, w_router, w_up, w_down, k):
    """Each row of x through k experts, MLPs of w_up [E, D, 2 F] and w_down [E, F, D]."""
    weights, experts = route(x @ w_router, k)
    order, offsets = sort_by_expert(experts, len(w_up))
    gate, up = grouped_matmul(x, w_up, order, offsets, k).chunk(2, dim=1)
    y = grouped_matmul(torch.nn.functional.silu(gate) * up, w_down, order, offsets)
    return (weights[:, :, None] * y.view(*experts.shape, -1)).sum(1).to(x.dtype)


shapes = (20, 32), (32, 6), (6, 32, 48), (6, 24, 32)
x, w_router, w_up, w_down = (torch.randn(*shape, device=DEVICE) / 4 for shape in shapes)
weights, experts = route_ref(x @ w_router, k=2)
weights = torch.zeros(20, 6, device=DEVICE).scatter(1, experts.long(), weights)
gate, up = torch.einsum("td,edf->tef", x, w_up).chunk(2, dim=2)
dense = torch.einsum("te,tef,efd->td", weights, torch.nn.functional.silu(gate) * up, w_down)
print("largest difference:", f"{(moe(x, w_router, w_up, w_down, k=2) - dense).abs().max():.0e}")

# %% [markdown]
# ## Predict, then measure
#
# The first product of Qwen3-30B-A3B: D = 2048, 1,536 columns, bfloat16. The cell shows nothing yet.
# *Loop* is the contract's reference; *dense* is one matrix with as many flops, a floor. Without a GPU
# it fetches a GPU's times.

# %%
from tritonbook.timing import bench_sweep

hopper = DEVICE == "cuda" and torch.cuda.get_device_capability() >= (9, 0)


def by_tokens(T):
    D, F, E, k = (2048, 1536, 128, 8) if DEVICE == "cuda" else (32, 16, 8, 2)
    dtype = torch.bfloat16 if DEVICE == "cuda" else torch.float32
    x, w = (torch.randn(*s, device=DEVICE, dtype=dtype) for s in ((T, D), (E, D, F)))
    order, offsets = sort_by_expert_ref(torch.rand(T, E, device=DEVICE).topk(k).indices, E)
    rows = x.repeat_interleave(k, dim=0)
    fns = {
        "loop over experts": lambda: grouped_matmul_ref(x, w, order, offsets, k),
        "grouped_matmul": lambda: grouped_matmul(x, w, order, offsets, k),
        "dense": lambda: rows @ w[0],
    }
    if hopper and hasattr(torch, "_grouped_mm"):  # takes sorted rows, and leaves them sorted
        fns["torch._grouped_mm"] = lambda: torch._grouped_mm(x[order // k], w, offs=offsets[1:])
    read = (offsets.diff() > 0).sum().item() * w[0].nbytes
    return {"fns": fns, "bytes": read, "flops": 2 * T * k * D * F}


tokens = bench_sweep(
    "tokens", [1, 16, 128, 1024, 8192] if DEVICE == "cuda" else [1, 16], by_tokens,
    title="One product of 128 experts, 8 for each token", stored="moe_tokens",
)

x, w = torch.randn(1, 32, device=DEVICE), torch.randn(8, 32, 64, device=DEVICE)
one_token = x, w, *sort_by_expert(torch.IntTensor([[5, 2]]).to(DEVICE), 8), 2

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "tiles that 32 choices of 8 experts need at most, in tiles of 16": None,
        "bytes of w read: 1 token, 2 of 8 experts of 32 x 64, float32": None,
        "flops done for each one needed, for this token, in tiles of 16 rows": None,
    },
    measured=[
        lambda: sum(whose(tile, [0, *range(25, 33)], 16) is not None for tile in range(10)),
        lambda: traffic(grouped_matmul, *one_token)["w"].read,
        lambda: traffic(grouped_matmul, *one_token).flops / (2 * 2 * 32 * 64),
    ],
    hints=[
        "Give each expert one choice first. What can the others still fill?",
        "Which programs load anything of w?",
        "How many of a tile's 16 rows are choices?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Tiles.** One choice for each expert makes 8 tiles with 15 places left in each. The other 24 choices
# can open a new tile only after filling those of one expert, once: 9. The grid has 32 / 16 + 8 = 10.
#
# **Bytes.** 2 × 32 × 64 × 4 = 16,384. Experts without a choice have no tile, so nobody loads them.
#
# **Flops.** Each tile has one choice and 15 empty rows: 16 for 1. They cost no bytes, and at one token
# bytes are all that counts.
#
# </details>

# %%
tokens

# %% [markdown]
# **Read it.** One token reads 8 of 128 matrices. 16 tokens make 128 choices, of about 80 different
# experts: ten times the bytes. From 128 tokens on all 805 MB are read, and more tokens are almost free
# until the flops take over. *Dense* reads one matrix of 6 MB. The *loop* launches a few kernels for
# each expert, and waits for two numbers each time.
#
# ## Recap
#
# - Top-k is k times an argmax. Its weights are a softmax over the k best.
# - Small keys are sorted by counting: a histogram for the offsets, a cumulative sum for the places.
# - Tiles belong to one expert each. Every program computes which tile is its own, from the offsets.
# - The grid is an upper bound, so that the CPU need not wait for a number.
#
# <details><summary>Common mistakes</summary>
#
# - Masked lanes in a histogram: they count for expert 0.
# - A last tile masked by the number of all choices: it takes the next expert's rows too, with the wrong
#   matrix.
# - A cumulative sum that includes the own lane, where the places before were meant.
# - A grid of `cdiv(N, BLOCK_M)`: right while tiles are full, too small when experts have few tokens.
# - A sum over a comparison without `.to(tl.int32)`: Triton 3.2 adds bits, and 1 + 1 is 0.
#
# </details>
#
# vLLM and SGLang go by this plan. Their `moe_align_block_size` sorts and writes down the expert of each
# tile, and their Triton kernel, `fused_moe_kernel`, looks it up.
#
# Next: [53_scan](53_scan.ipynb).

# %%
progress()
