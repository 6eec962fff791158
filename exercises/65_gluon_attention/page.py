# ---
# workbook:
#   title: Below Triton, attention in Gluon
#   minutes: 75
#   stretch: 10
#   needs: gluon
#   requires: [41_flash_attention, 64_gluon_matmul]
#   limits: {sm_90: no spills}
#   you_will:
#     - feed two groups of warps with keys and values, through rings with barriers
#     - keep two products under way while a softmax is computed
#     - find out what a softmax costs that hides behind products, and keep up with cuDNN on an H100
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# In the attention of page 41 all warps work alike. They multiply together, and then they compute a
# softmax together. In that time the tensor cores wait. That costs more than it seems: with D = 128
# there are 256 multiplications for each exponential, but a multiprocessor of an H100 does 2,048
# multiplications in a clock tick, and 16 exponentials. So exponentials take half as long as both products.
#
# So warps get jobs, as on page 64. A program has 128 queries of one head:
#
# - Two warps load, one of them tiles of 128 keys, the other one of 128 values.
# - Two groups of four warps compute, each for 64 of the queries.
#
# Now one group can multiply while the other computes exponentials:

# %%
draw = pictures("gluon_attention")
draw.draw_groups("alike", "turns")

# %% [markdown]
# You build this in two steps: first the products alone, without a softmax; then attention, with a
# loop that is shifted by one. As a stretch, the groups take turns.
#
# The kernels are for an H100. Without one the simulator of page 63 runs them, in several orders, and
# names races and deadlocks. *With* one, start Jupyter with `TRITON_INTERPRET=1` until the checks
# pass: on a real GPU a deadlock says nothing. It hangs.
#
# ## Rings
#
# Tiles arrive in rings of slots, as on page 64: one for K, one for V. A ring is `(tiles, full, empty)`,
# and each slot has two barriers:
#
# | barrier | who arrives | who waits |
# |---|---|---|
# | `full` | the loading warp, with the bytes that it orders | both groups |
# | `empty` | each group, when it has used the tile | its loading warp |
#
# A barrier's phases are 0, 1, 0, 1, ... and `mbarrier.wait(barrier, phase)` waits while the running phase
# has that name. On a new barrier phase 0 runs. This allocates a ring for the tiles of a descriptor: a slot
# is 1 × 1 × rows × D.

# %% tags=["reference"]
from tritonbook.kernels.gluon import describe, fence_async_shared, gl, gluon, mbarrier, tma
from tritonbook.kernels.gluon import warpgroup_mma, warpgroup_mma_wait


@gluon.jit
def new_ring(desc, SLOTS: gl.constexpr):
    tiles = gl.allocate_shared_memory(desc.dtype, [SLOTS] + desc.block_type.shape, desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)
    return tiles, full, empty

# %% [markdown]
# ## The contract
#
# | arguments | shape | result |
# |---|---|---|
# | `q` | (B, H, L, D), float16 or bfloat16 | |
# | `k`, `v` | (B, HK, L, D), dtype of q; H is a multiple of HK | |
# | `two_products(q, k, v)` | | q @ kᵀ @ v: (B, H, L, D) |
# | `flash_ahead`, `flash_gluon` | also `causal=False` | attention: (B, H, L, D) |
#
# L is 1 or more, D is 16, 32, 64 or 128, B × H at most 65,535. Strides are multiples of 8, the numbers of a row lie side by
# side. What does not fit raises `ValueError`. One launch each.

# %% tags=["reference"]
def two_products_ref(q, k, v):
    return q @ (k.transpose(-2, -1) @ v).repeat_interleave(q.shape[1] // k.shape[1], dim=1)


def attention_ref(q, k, v, causal=False):
    attention = torch.nn.functional.scaled_dot_product_attention
    return attention(q, k, v, is_causal=causal, enable_gqa=True)

# %% [markdown]
# ## Task 1. Two rings
#
# Four gaps. A tile's `number` counts from 0 in each ring: step s puts number s.
#
# 1. **`put`**, for the loading warps: wait until the slot is empty, let its `full` expect
#    `desc.block_type.nbytes` bytes, order the copy, and do not wait for it.
# 2. **`take`**, for the groups: wait for a tile.
# 3. **`release`**: this group needs the tile no longer. (`tiles.shape[0]` is SLOTS.)
# 4. **`load_tiles`**: a loading warp puts tile after tile, from the *last* rows to the first. (So later
#    only the first step needs a mask.) A tile's place is [batch, head, row, 0]. `share` query heads
#    have one head of K and V.
#
# The rest is given. Read `multiply`: the scores leave the tensor cores in the layout `SCORES`, and return as
# their left operand, which may come from registers, in a `DotOperandLayout`: `gl.convert_layout` moves a tile
# from one layout to another. With `use_acc=False` nothing is added. A product without `is_async` is finished
# when the call returns.

# %% tags=["answer"] key="two_products"
@gluon.jit
def put(desc, place, ring, number):
    """Order tile `number` of a ring from `place`, as soon as its slot is empty."""
    tiles, full, empty = ring
    SLOTS: gl.constexpr = tiles.shape[0]
    # TODO: slot and phase; wait, expect, order (about 4 lines)
    ### BEGIN SOLUTION
    slot, phase = number % SLOTS, number // SLOTS % 2
    mbarrier.wait(empty.index(slot), phase ^ 1)
    mbarrier.expect(full.index(slot), desc.block_type.nbytes)
    tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot))
    ### END SOLUTION


@gluon.jit
def take(ring, number):
    """Wait for tile `number` of a ring; the tile, as a matrix."""
    tiles, full, empty = ring
    SLOTS: gl.constexpr = tiles.shape[0]
    # TODO: wait until it has arrived (1 line)
    ### BEGIN SOLUTION
    mbarrier.wait(full.index(number % SLOTS), number // SLOTS % 2)
    ### END SOLUTION
    return tiles.index(number % SLOTS).reshape([tiles.shape[3], tiles.shape[4]])


@gluon.jit
def release(ring, number):
    """This group has used tile `number` of a ring."""
    tiles, full, empty = ring
    # TODO: tell the barrier that the loading warp waits for (1 line)
    ### BEGIN SOLUTION
    mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1)
    ### END SOLUTION


@gluon.jit
def load_tiles(desc, ring, steps, share):
    """The job of a loading warp: `steps` tiles of keys, or of values."""
    batch, head = gl.program_id(2), gl.program_id(1)
    # TODO: put the tile of each step, the last rows first (about 3 lines)
    ### BEGIN SOLUTION
    for step in range(steps):
        place = [batch, head // share, (steps - 1 - step) * 128, 0]
        put(desc, place, ring, step)
    ### END SOLUTION


@gluon.jit
def load_queries(q_desc, q_ring, tile):
    """64 queries for each group; their slots are never used again."""
    for group in gl.static_range(2):
        place = [gl.program_id(2), gl.program_id(1), tile * 128 + group * 64, 0]
        put(q_desc, place, q_ring, group)


@gluon.jit
def finish(GROUP: gl.constexpr, out, o_desc, q, tile):
    """Store a group's result: it goes where q was, and from there to memory."""
    q.store(out.to(o_desc.dtype))
    fence_async_shared()  # the copy engine must see what the threads wrote
    place = [gl.program_id(2), gl.program_id(1), tile * 128 + GROUP * 64, 0]
    tma.async_copy_shared_to_global(o_desc, place, q.reshape(o_desc.block_type.shape))
    tma.store_wait(0)


@gluon.jit
def multiply(GROUP: gl.constexpr, o_desc, q_ring, k_ring, v_ring, tile, steps):
    """A warp group's job: both products of its 64 queries, one tile of keys after another."""
    D: gl.constexpr = o_desc.block_type.shape[3]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    zeros = gl.zeros([64, 128], gl.float32, SCORES)
    acc = gl.zeros([64, D], gl.float32, OUT)
    q = take(q_ring, GROUP)
    for number in range(steps):
        k = take(k_ring, number)
        s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False)
        release(k_ring, number)
        p = gl.convert_layout(s.to(o_desc.dtype), gl.DotOperandLayout(0, OUT, 2))
        acc = warpgroup_mma(p, take(v_ring, number), acc)
        release(v_ring, number)
    finish(GROUP, acc, o_desc, q, tile)


@gluon.jit
def two_products_kernel(q_desc, k_desc, v_desc, o_desc, share, SLOTS: gl.constexpr):
    """o = q @ k.T @ v.

    One program = 128 queries of one head.
    """
    q_ring = new_ring(q_desc, 2)
    k_ring = new_ring(k_desc, SLOTS)
    v_ring = new_ring(v_desc, SLOTS)
    tile, steps = gl.program_id(0), gl.num_programs(0)
    load_queries(q_desc, q_ring, tile)
    gl.warp_specialize(
        [
            (multiply, (0, o_desc, q_ring, k_ring, v_ring, tile, steps)),
            (multiply, (1, o_desc, q_ring, k_ring, v_ring, tile, steps)),
            (load_tiles, (k_desc, k_ring, steps, share)),
            (load_tiles, (v_desc, v_ring, steps, share)),
        ],
        [4, 1, 1],
        [240, 24, 24],
    )


def launch(kernel, q, k, v, slots, **more):
    """Check, describe, and launch a program for each 128 queries of a head."""
    (B, H, L, D), HK = q.shape, k.shape[1]
    if k.shape != v.shape or k.shape != (B, HK, L, D) or H % HK or D not in (16, 32, 64, 128):
        raise ValueError("q must be (B, H, L, D), k and v (B, HK, L, D), D one of 16, 32, 64, 128")
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError("q, k and v must have one dtype")
    o = torch.empty_like(q)
    tiles = [describe(x, (1, 1, rows, D)) for x, rows in ((q, 64), (k, 128), (v, 128), (o, 64))]
    grid = triton.cdiv(L, 128), H, B
    kernel[grid](*tiles, H // HK, SLOTS=slots, num_warps=4, maxnreg=168, **more)
    return o


def two_products(q, k, v, slots=2):
    """q @ k.T @ v for (B, H, L, D) and (B, HK, L, D); `slots` is the length of each ring."""
    return launch(two_products_kernel, q, k, v, slots)

# %% [markdown] tags=["hint"] key="two_products"
# #### Hints for two_products
#
# <details><summary>Hint 1: a question</summary>
#
# With 2 slots, tile 5 is the third tile of slot 1. Which phase of `full` ends when it arrives? And
# which phase of `empty` must have ended before it is ordered?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# How often was the slot used before? `number // SLOTS`: even or odd is the phase of `full`. The loading
# warp waits for the release of the tile *before*: the other phase, `phase ^ 1`. Row `128 * t` begins
# tile t, and step 0 wants tile `steps - 1`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# slot, phase = ..., ...
# mbarrier.wait(...)
# mbarrier.expect(...)
# tma.async_copy_global_to_shared(desc, place, ..., ...)
#
# for step in range(steps):
#     place = [batch, ..., ..., 0]
#     # put the tile of this step
# ```
#
# </details>

# %% tags=["check"] key="two_products" points=4
check(two_products)

# %% [markdown]
# ## Task 2. Two products under way
#
# Now a softmax stands between the two products. One after the other, the tensor cores wait for it.
# So the loop is shifted: in each step a group orders the scores of the *next* tile and the output of
# *this* one, both at once. While the second is computed, it turns the first into the next p:

# %%
draw.draw_groups("ahead")

# %% [markdown]
# `warpgroup_mma(..., is_async=True)` orders a product and returns. Products finish in their order.
# `warpgroup_mma_wait(n, deps=[x, y])` waits until at most n are unfinished, and returns x and y as
# they are then. Before that nothing may change them: not acc, and not p, which the product of the output
# reads. So p stands in `deps` too.
#
# Three gaps:
#
# 1. **`softmax_step`**: page 41's online softmax, in powers of 2, with `gl.max`, `gl.maximum` and `gl.exp2`: `scale` is 1/√D times log2(e). `m`
#    is a maximum of `s * scale`.
# 2. **`order`**: take keys `number + 1` and order the scores; take values `number` and order the
#    output.
# 3. **`settle`**: wait for the scores alone, release their keys, `number + 1`, `softmax_step`; wait for the
#    output, release its values, `number`, rescale acc by alpha. What follows is given.
#
# The loop itself stands in `attend`. The function that orders is given to it, as a constant: `ORDER` is
# `order` here. The stretch passes another, and needs `baton`.

# %% tags=["answer"] key="flash_ahead"
@gluon.jit
def softmax_step(s, m, l, scale):
    """p of a tile of scores, the factor for what came before, the new m and l; as powers of 2."""
    # TODO: m_new, alpha, p, l (4 lines)
    ### BEGIN SOLUTION
    m_new = gl.maximum(m, gl.max(s, axis=1) * scale)
    alpha = gl.exp2(m - m_new)
    p = gl.exp2(s * scale - m_new[:, None])
    l = l * alpha + gl.sum(p, axis=1)
    ### END SOLUTION
    return p, alpha, m_new, l


@gluon.jit
def begin(GROUP: gl.constexpr, q, k_ring, tile, steps, L, scale, IS_CAUSAL: gl.constexpr):
    """p, m, l and acc after the first tile of keys, the only one with a mask."""
    D: gl.constexpr = q.shape[1]
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    zeros = gl.zeros([64, 128], gl.float32, SCORES)
    s = warpgroup_mma(q, take(k_ring, 0).permute((1, 0)), zeros, use_acc=False)
    release(k_ring, 0)
    offs_m = tile * 128 + GROUP * 64 + gl.arange(0, 64, gl.SliceLayout(1, SCORES))
    offs_n = (steps - 1) * 128 + gl.arange(0, 128, gl.SliceLayout(0, SCORES))
    stop = gl.minimum(offs_m + 1, L) if IS_CAUSAL else offs_m * 0 + L
    s = gl.where(offs_n[None, :] < stop[:, None], s, float("-inf"))
    m = gl.full([64], float("-inf"), gl.float32, gl.SliceLayout(1, SCORES))
    l = gl.zeros([64], gl.float32, gl.SliceLayout(1, SCORES))
    p, alpha, m, l = softmax_step(s, m, l, scale)
    p = gl.convert_layout(p.to(q.dtype), gl.DotOperandLayout(0, OUT, 2))
    return p, m, l, gl.zeros([64, D], gl.float32, OUT)


@gluon.jit
def order(GROUP: gl.constexpr, q, p, acc, k_ring, v_ring, baton, number):
    """Order the scores of tile number + 1 and the output of tile `number`."""
    SCORES: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 16])
    zeros = gl.zeros([64, 128], gl.float32, SCORES)
    # TODO: s of the next keys, acc of these values, both under way (about 4 lines)
    ### BEGIN SOLUTION
    k = take(k_ring, number + 1)
    s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)
    v = take(v_ring, number)
    acc = warpgroup_mma(p, v, acc, is_async=True)
    ### END SOLUTION
    return s, acc


@gluon.jit
def settle(s, acc, p, m, l, k_ring, v_ring, number, scale):
    """Wait for what `order` ordered; p of the next tile, m, l and acc."""
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, v_ring[0].shape[4], 16])
    # TODO: scores, release, softmax_step; acc and p, release; rescale (about 6 lines)
    ### BEGIN SOLUTION
    s = warpgroup_mma_wait(1, deps=[s])
    release(k_ring, number + 1)
    p_next, alpha, m, l = softmax_step(s, m, l, scale)
    acc, p = warpgroup_mma_wait(0, deps=[acc, p])
    release(v_ring, number)
    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None]
    ### END SOLUTION
    p = gl.convert_layout(p_next.to(v_ring[0].dtype), gl.DotOperandLayout(0, OUT, 2))
    return p, m, l, acc


@gluon.jit
def end(GROUP: gl.constexpr, p, l, acc, o_desc, q, v_ring, tile, steps):
    """The output of the last tile, and the division by l."""
    OUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, q.shape[1], 16])
    acc = warpgroup_mma(p, take(v_ring, steps - 1), acc)
    out = acc / gl.convert_layout(l, gl.SliceLayout(1, OUT))[:, None]
    finish(GROUP, out, o_desc, q, tile)


@gluon.jit
def attend(
    GROUP: gl.constexpr, ORDER: gl.constexpr, o_desc, rings, baton, tile, steps, L, scale,
    IS_CAUSAL: gl.constexpr,
):
    """A warp group's job: attention of its 64 queries. ORDER is the function that orders."""
    q_ring, k_ring, v_ring = rings
    q = take(q_ring, GROUP)
    p, m, l, acc = begin(GROUP, q, k_ring, tile, steps, L, scale, IS_CAUSAL)
    for number in range(steps - 1):
        s, acc = ORDER(GROUP, q, p, acc, k_ring, v_ring, baton, number)
        p, m, l, acc = settle(s, acc, p, m, l, k_ring, v_ring, number, scale)
    end(GROUP, p, l, acc, o_desc, q, v_ring, tile, steps)


@gluon.jit
def start_jobs(
    ORDER: gl.constexpr, q_desc, k_desc, v_desc, o_desc, share, L, scale,
    SLOTS: gl.constexpr, IS_CAUSAL: gl.constexpr,
):
    """A program: rings, baton, and the four jobs."""
    q_ring = new_ring(q_desc, 2)
    k_ring = new_ring(k_desc, SLOTS)
    v_ring = new_ring(v_desc, SLOTS)
    rings = (q_ring, k_ring, v_ring)
    baton = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for group in gl.static_range(2):
        mbarrier.init(baton.index(group), count=1)
    tile = gl.num_programs(0) - 1 - gl.program_id(0)
    steps = tile + 1 if IS_CAUSAL else gl.num_programs(0)
    load_queries(q_desc, q_ring, tile)
    gl.warp_specialize(
        [
            (attend, (0, ORDER, o_desc, rings, baton, tile, steps, L, scale, IS_CAUSAL)),
            (attend, (1, ORDER, o_desc, rings, baton, tile, steps, L, scale, IS_CAUSAL)),
            (load_tiles, (k_desc, k_ring, steps, share)),
            (load_tiles, (v_desc, v_ring, steps, share)),
        ],
        [4, 1, 1],
        [240, 24, 24],
    )


@gluon.jit
def flash_ahead_kernel(
    q_desc, k_desc, v_desc, o_desc, share, L, scale,
    SLOTS: gl.constexpr, IS_CAUSAL: gl.constexpr,
):
    """o = softmax(q @ k.T / sqrt(D)) @ v.

    One program = 128 queries of one head, the longest of a head first.
    Assumes scale = log2(e) / sqrt(D).
    """
    start_jobs(order, q_desc, k_desc, v_desc, o_desc, share, L, scale, SLOTS, IS_CAUSAL)


def flash_ahead(q, k, v, causal=False, slots=2):
    """Attention of (B, H, L, D) and (B, HK, L, D); `slots` is the length of each ring."""
    more = {"L": q.shape[2], "scale": q.shape[3] ** -0.5 * 1.4426950408889634}
    return launch(flash_ahead_kernel, q, k, v, slots, **more, IS_CAUSAL=causal)

# %% [markdown] tags=["hint"] key="flash_ahead"
# #### Hints for flash_ahead
#
# <details><summary>Hint 1: a question</summary>
#
# Two products are under way, and the scores were ordered first. How many may be unfinished when you
# read the scores? How many when you change acc?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `begin` has a product with `permute`, and one `softmax_step`. `end` has the other product. Keys may be
# released when their product is finished, and not before. acc belongs to the old maximum: rescale it
# when it is finished, with alpha in the layout of acc's rows, as `end` does with l.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # order: take, order, take, order
# s = warpgroup_mma(..., use_acc=False, is_async=True)
# acc = warpgroup_mma(..., is_async=True)
#
# # settle
# s = warpgroup_mma_wait(..., deps=[s])
# # release; p_next, alpha, m, l = ...
# acc, p = warpgroup_mma_wait(..., deps=[acc, p])
# # release, rescale
# ```
#
# </details>

# %% tags=["check"] key="flash_ahead" points=5
check(flash_ahead)

# %% [markdown]
# ## What does the compiler make of it?
#
# It compiles for an H100, with or without one. Look for 12 warps (two more stand idle beside
# the loading ones), for instructions of the tensor cores, and for no spills.

# %%
q, k, v = torch.randn(3, 1, 2, 256, 128, device=DEVICE).to(torch.float16).unbind(0)
compiled = facts(flash_ahead, q, k, v, arch=90)
compiled

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "KB (1024 bytes) of shared memory of a program: heads of 128, 2 slots a ring": None,
        "slots a ring that would fit: a program has 227 KB": None,
    },
    measured=[
        lambda: compiled[0].shared_bytes // 1024,
        lambda: 2 + (227 * 1024 - compiled[0].shared_bytes) // (2 * 128 * 128 * 2),
    ],
    hints=[
        "Two rings with two slots, and q. A tile of keys has 128 rows of 128 halves.",
        "A slot more costs two tiles.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Shared memory.** A tile of 128 × 128 halves has 32 KB. Two slots of K and two of V have 128 KB, q
# has 32: 160 KB. The barriers add some bytes. o lies where q was.
#
# **Slots.** A third slot for both needs 64 KB more: 224 of 227. A fourth does not fit.
#
# </details>
#
# ## Stretch: taking turns
#
# Nothing keeps both groups from ordering products at the same moment, and from computing
# exponentials at the same moment. So they pass a *baton*: whoever has it orders two products, and
# hands it over. It is two barriers, one arrival each:
#
# - `baton.index(GROUP)`: this group waits here for its turn. The *other* group arrives.
# - Group 0 begins: nobody has arrived, and it must get through. Group 1 is held until group 0 has
#   handed over.
#
# Each group has one turn in each step, so its phase changes with every `number`. Which
# phase does group 0 wait for first, and which group 1? The products in `begin` and `end` take no turns.
#
# Write `order_in_turn`, about 4 lines: wait for the turn, `order`, hand over, return s and acc. Loop
# and jobs are those of task 2.

# %% tags=["answer", "stretch"] key="flash_gluon"
@gluon.jit
def order_in_turn(GROUP: gl.constexpr, q, p, acc, k_ring, v_ring, baton, number):
    """As `order`, when it is this group's turn number `number`."""
    # TODO: wait for the turn, order, hand over; return what order returns (about 4 lines)
    ### BEGIN SOLUTION
    mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2)
    s, acc = order(GROUP, q, p, acc, k_ring, v_ring, baton, number)
    mbarrier.arrive(baton.index(1 - GROUP), count=1)
    return s, acc
    ### END SOLUTION


@gluon.jit
def flash_gluon_kernel(
    q_desc, k_desc, v_desc, o_desc, share, L, scale,
    SLOTS: gl.constexpr, IS_CAUSAL: gl.constexpr,
):
    """As flash_ahead_kernel, in turns."""
    start_jobs(order_in_turn, q_desc, k_desc, v_desc, o_desc, share, L, scale, SLOTS, IS_CAUSAL)


def flash_gluon(q, k, v, causal=False, slots=2):
    """Attention of (B, H, L, D) and (B, HK, L, D); `slots` is the length of each ring."""
    more = {"L": q.shape[2], "scale": q.shape[3] ** -0.5 * 1.4426950408889634}
    return launch(flash_gluon_kernel, q, k, v, slots, **more, IS_CAUSAL=causal)

# %% [markdown] tags=["hint"] key="flash_gluon"
# #### Hints for flash_gluon
#
# <details><summary>Hint 1: a question</summary>
#
# Nobody has arrived at any barrier yet. For which phase must group 0 wait to get through at once? And
# group 1, to be held until group 0 has handed over?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# On a new barrier phase 1 counts as ended. Group 0 waits for 1, 0, 1, ... and group 1 for 0, 1, 0, ...
# Hand over as soon as both products are ordered: what comes next is the softmax.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# mbarrier.wait(..., (number + ...) % 2)  # what is added depends on GROUP
# s, acc = order(...)
# # the other group's turn, then return
# ```
#
# </details>

# %% tags=["check", "stretch"] key="flash_gluon" points=0
check(flash_gluon)

# %% [markdown]
# ## Does it pay?

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel

flash_gqa = mine("flash_gqa")
flash_gluon = mine("flash_gluon", quiet=True)  # the workbook's, if yours has not passed
B, H, L, D = (1, 32, 8192, 128) if DEVICE == "cuda" else (1, 1, 128, 16)
q, k, v = torch.randn(3, B, H, L, D, device=DEVICE).to(torch.float16).unbind(0)


def torch_attention():
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION if DEVICE == "cuda" else SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


ways = {
    "flash_gqa": lambda: flash_gqa(q, k, v),
    "flash_ahead": lambda: flash_ahead(q, k, v),
    "flash_gluon": lambda: flash_gluon(q, k, v),
    "PyTorch": torch_attention,
    "two_products": lambda: two_products(q, k, v),
}
bench(
    ways, flops=4 * B * H * L * L * D, baseline="flash_gqa",
    title="Attention, 1 x 32 x 8192 x 128, float16", stored="flash_gluon",
)

# %% [markdown]
# **Read it.** `PyTorch` is NVIDIA's own cuDNN here. The last row is no attention: it has no softmax. What
# lies between it and `flash_ahead` is what the softmax still costs, about a sixth of the products' time in
# the table, and not the half that was computed above. Two groups and the shifted loop hide the rest. Turns
# bring next to nothing here.
#
# **What did it cost?** `flash_gqa` runs on every GPU from a T4 on, with heads of any size up to 128.
# This is for one GPU. Write the first kind first, and go below when you have measured who waits.
#
# ## Recap
#
# - Jobs for warps: two load, two groups compute, rings with barriers stand between them.
# - Products that are under way leave time for a softmax. The loop is shifted by one for that.
# - A baton keeps two groups from ordering products at the same time.
#
# <details><summary>Common mistakes</summary>
#
# - The loading warp waits for the phase of `full`: on a new ring it waits for ever.
# - Keys are released when their product is ordered. It has not read them yet.
# - `warpgroup_mma_wait(0)` for the scores, or both waits before the softmax: the softmax hides behind no
#   product.
# - acc is rescaled with the alpha of another step, or not at all.
# - Both groups wait for the same phase of the baton. Nothing fails: they wait, for ever.
# - `(number - 1) % 2` for number 0: a GPU's remainder is -1 there, and phases are 0 and 1.
#
# </details>
#
# Next: [66_rope_records](66_rope_records.ipynb).

# %%
progress()
