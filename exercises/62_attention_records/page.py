# ---
# workbook:
#   title: Records of attention
#   minutes: 80
#   needs: interpreter
#   requires: [42_flash_gqa, 61_matmul_records]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: spills 16}
#   you_will:
#     - let the GPU's copy engine fetch tiles, so that three programs share a multiprocessor
#     - number programs so that heads share the L2 cache and the longest walks start first
#     - cut heads of 80 and 96 into two tiles, and choose tiles for short texts
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# `flash_gqa` of page 42 takes what any model hands over, and reaches four fifths of cuDNN, NVIDIA's own
# attention. Where is the rest? Ask the compiler what it makes of it for an H100:

# %%
flash_gqa = mine("flash_gqa", quiet=True)
q, k, v = torch.empty(3, 2, 32, 4096, 128, device="meta", dtype=torch.float16).unbind(0)
facts(flash_gqa, q, k, v, True, arch=90)

# %% [markdown]
# Read the line *occupancy*: **one** program on a multiprocessor. Its warps work alike. They multiply
# together, and while they compute a softmax together, the tensor cores have nothing to do.

# %%
draw = pictures("attention_records")
draw.draw_residents(programs=1, tiles=3)

# %% [markdown]
# With three programs, one multiplies while another computes exponentials. Nobody plans it: whoever
# is ready goes on.

# %%
draw.draw_residents(programs=3, tiles=3)

# %% [markdown]
# ## Step 1. Three programs
#
# A multiprocessor has 65,536 registers. Three programs of 128 threads may have 170 a thread. For
# heads of 128 and tiles of 64 queries and 128 keys, `acc` takes 64 of them, the scores another 64.
# Much of the rest is for **addresses** in `flash_gqa`: one for each 16 bytes that a thread loads.
#
# From Hopper on, GPUs have a *copy engine*. A **descriptor** tells it once what a tensor looks like:
# address, shape, strides, and the shape of a tile. Then *one* thread orders a whole tile by the
# indices of its corner. No addresses, no masks: what lies outside arrives as zero. Here for tiles
# of 4 × 16 numbers, out of 8 × 16:

# %% tags=["reference"]
from tritonbook import target_arch
from tritonbook.kernels.descriptors import can_describe, describe

# %%
@triton.jit
def corner_kernel(x_ptr, y_ptr):
    """y = 4 x 16 numbers of x from row 6 and column 8 on; x_ptr is a descriptor."""
    tile = x_ptr.load([0, 6, 8])
    offs = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(y_ptr + offs, tile.reshape(4, 16))


x = torch.arange(128, device=DEVICE).view(1, 8, 16).to(torch.float16)
y = torch.empty(4, 16, device=DEVICE)
if can_describe(x):
    corner_kernel[(1,)](describe(x, [1, 4, 16]), y)
y.int()

# %% [markdown]
# A tile has as many dimensions as its tensor; `reshape` drops those of 1. Here the engine takes numbers of
# 2 bytes, side by side in the last dimension; other strides, and a tile's first column, are multiples of 16
# bytes. `can_describe` says whether it takes a tensor. All others come through addresses, as before.
#
# ## Task 1. A tile
#
# Write `load_tile`, about 8 lines: BLOCK_N rows from `start`, WIDTH columns from FIRST. With DESCRIBED
# the indices are batch, head, row, column. Otherwise it takes addresses and a mask: rows below L, columns
# below D. What follows a `return` is compiled too, so the second way needs an `else:`. Then call it in
# `take_columns_kernel`. One launch.

# %% tags=["answer"] key="take_columns"
@triton.jit
def load_tile(
    x_ptr, b, h, start, L, stride_xn, stride_xd,
    FIRST: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """Rows from `start`, WIDTH columns from FIRST of head (b, h); zeros outside.

    x_ptr: with DESCRIBED a descriptor of all (B, H, L, D), else where the head begins.
    """
    # TODO: with DESCRIBED a load and a reshape; else offsets and load (about 8 lines)
    ### BEGIN SOLUTION
    if DESCRIBED:
        return x_ptr.load([b, h, start, FIRST]).reshape(BLOCK_N, WIDTH)
    else:
        offs_n = tl.arange(0, BLOCK_N)[:, None]
        offs_d = FIRST + tl.arange(0, WIDTH)[None, :]
        x_ptr += start.to(tl.int64) * stride_xn
        x_ptrs = x_ptr + (offs_n * stride_xn + offs_d * stride_xd)
        return tl.load(x_ptrs, mask=(start + offs_n < L) & (offs_d < D), other=0.0)
    ### END SOLUTION


@triton.jit
def take_columns_kernel(
    x_ptr, y_ptr, H, L, stride_xb, stride_xh, stride_xn, stride_xd,
    FIRST: tl.constexpr, WIDTH: tl.constexpr, D: tl.constexpr, BLOCK_N: tl.constexpr,
    DESCRIBED: tl.constexpr,
):
    """y = the columns FIRST to FIRST + WIDTH - 1 of x.

    One program = BLOCK_N rows of one head.
    """
    start, bh = tl.program_id(0) * BLOCK_N, tl.program_id(1)
    b, h = bh // H, bh % H
    if not DESCRIBED:
        x_ptr += b.to(tl.int64) * stride_xb + h.to(tl.int64) * stride_xh
    offs_n = start + tl.arange(0, BLOCK_N)[:, None]
    y_rows = y_ptr + (bh.to(tl.int64) * L + offs_n) * WIDTH
    y_ptrs = y_rows + tl.arange(0, WIDTH)[None, :]
    # TODO: load_tile, then store the rows that y has (about 4 lines)
    ### BEGIN SOLUTION
    tile = load_tile(
        x_ptr, b, h, start, L, stride_xn, stride_xd, FIRST, WIDTH, D, BLOCK_N, DESCRIBED
    )
    tl.store(y_ptrs, tile, mask=offs_n < L)
    ### END SOLUTION


def take_columns(x, first, width):
    """Columns first to first + width - 1 of x (B, H, L, D), zeros past D; width: 16, 32 ..."""
    B, H, L, D = x.shape
    y = x.new_empty(B, H, L, width)
    described = can_describe(x)
    take_columns_kernel[(triton.cdiv(L, 32), B * H)](
        describe(x, [1, 1, 32, width]) if described else x, y, H, L, *x.stride(),
        FIRST=first, WIDTH=width, D=D, BLOCK_N=32, DESCRIBED=described,
    )  # fmt: skip
    return y

# %% [markdown] tags=["hint"] key="take_columns"
# #### Hints for take_columns
#
# <details><summary>Hint 1: a question</summary>
#
# A descriptor's tile has four dimensions here. Which two of its sizes are 1?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `corner_kernel` has the first way. In the second, move the pointer by
# `start.to(tl.int64) * stride_xn` first: the rest of the offsets is the same in each step of a walk,
# and the compiler computes it once.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if DESCRIBED:
#     return ...
# else:
#     offs_n, offs_d = ...  # a column of rows, a row of columns
#     x_ptr += ...
#     x_ptrs = ...
#     return tl.load(...)  # mask: the tensor's rows and columns
#
# tile = load_tile(...)
# tl.store(...)
# ```
#
# </details>

# %% tags=["check"] key="take_columns" points=3
check(take_columns)

# %% [markdown]
# What does it bring? The table compares `flash_gqa` with the kernel that you write in task 3: first with
# the same tiles, then with small ones. `maxnreg=168` tells the compiler how many registers a thread
# may have.

# %%
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

record = mine("flash_gqa", record=True, quiet=True)
large = dict(BLOCK_M=128, BLOCK_N=64, num_warps=8, num_stages=3)
small = dict(BLOCK_M=64, BLOCK_N=128, num_warps=4, num_stages=1, maxnreg=168)
square = dict(BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=2, maxnreg=168)


def heads(B, H, L, D):
    """q, k and v in half precision; small ones without a GPU."""
    B, H, L = (B, H, L) if DEVICE == "cuda" else (1, 2, 64)
    return torch.randn(3, B, H, L, D, device=DEVICE, dtype=torch.float16).unbind(0)


def native(backend, q, k, v, causal=True):
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


cudnn = SDPBackend.CUDNN_ATTENTION if DEVICE == "cuda" else SDPBackend.MATH


B, H, L, D = 2, 32, 4096, 128
given = heads(B, H, L, D)
bench(
    {
        "flash_gqa": lambda: flash_gqa(*given, True),
        "descriptors, tiles of 128 x 64": lambda: record(*given, True, tile=large),
        "three programs, 64 x 128": lambda: record(*given, True, tile=small),
        "cuDNN": lambda: native(cudnn, *given),
    },
    flops=2 * B * H * L * L * D,
    baseline="flash_gqa",
    title="Causal attention, 2 x 32 x 4096 x 128, float16",
    stored="record_attention_programs",
)

# %% [markdown]
# **Read it.** Descriptors by themselves bring nothing. But they spare registers, and three programs fit: 15
# %, although tiles of 64 queries read all keys twice as often.
#
# ## Step 2. The order
#
# Programs start in the order of their numbers, 3 × 132 at a time on an H100. Who should run together?
#
# - **Heads that fit in the cache.** Each program of a head reads its K and V from the beginning. K and V of
#   a head of 16,384 keys have 8.4 MB, and an H100's L2 cache holds 50. So take a few heads at a time.
# - **The longest walks first**, as on page 42. Work that is long should not begin at the end.

# %% tags=["reference"]
def which_tile_ref(pid, tiles, heads, at_once):
    order = [
        (tile, head)
        for first in range(0, heads, at_once)
        for tile in reversed(range(tiles))
        for head in range(first, min(first + at_once, heads))
    ]
    return order[pid]

# %%
draw.draw_order(which_tile_ref, tiles=4, heads=5, at_once=2)

# %% [markdown]
# ## Task 2. Which tile?
#
# Write `which_tile`, about 4 lines, of what Python and kernels share: `//`, `%`, `min`. `tiles` is the
# number of tiles of queries in each head. In the picture each group of `at_once` heads has a colour. The last
# may have fewer.

# %% tags=["answer"] key="which_tile"
def which_tile(pid, tiles, heads, at_once):
    """(tile, head) of program `pid`: `at_once` heads at a time, their last tiles first."""
    # TODO: the first head of the group, how many heads it has, the place in it (about 4 lines)
    ### BEGIN SOLUTION
    first = pid // (at_once * tiles) * at_once
    size = min(at_once, heads - first)
    place = pid - first * tiles
    return tiles - 1 - place // size, first + place % size
    ### END SOLUTION


tile_and_head = triton.jit(which_tile)  # the same function, for kernels

# %% [markdown] tags=["hint"] key="which_tile"
# #### Hints for which_tile
#
# <details><summary>Hint 1: a question</summary>
#
# How many programs does a whole group have? So in which group is program `pid`, and which head is
# the first of it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# In the picture program 13 is number 5 of its group, which has 2 heads. 5 // 2 and 5 % 2 say how many
# tiles from the last one, and how many heads from the first. Program 17 is number 1 of a group that
# has 1 head.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# first = ...  # head
# size = min(...)  # heads of this group
# place = ...  # of this program in the group, from 0
# return ..., ...
# ```
#
# </details>

# %% tags=["check"] key="which_tile" points=3
check(which_tile)

# %% [markdown]
# A long text shows what the order is worth. All 32 heads at once, then fewer:

# %%
B, H, L, D = 1, 32, 16384, 128
given = heads(B, H, L, D)
ways = {
    f"{n} heads at once": lambda n=n: record(*given, True, tile=small, at_once=n)
    for n in (32, 8, 2, 1)
}
bench(
    ways | {"cuDNN": lambda: native(cudnn, *given)},
    flops=2 * B * H * L * L * D,
    baseline="32 heads at once",
    title="Causal attention, 1 x 32 x 16384 x 128, float16",
    stored="record_attention_order",
)

# %% [markdown]
# **Read it** downwards. All heads at once take 7 % longer than 8; fewer change little. On an H100, whose
# memory is slower, all at once took a third longer. `chosen`, given in task 3, takes as many as have 8 MB
# together.
#
# ## Step 3. Heads of any size
#
# A tile's width is a power of two. `flash_gqa` pads heads of 96 to 128 columns, and multiplies the
# zeros too. A head may also lie in **two** tiles: 96 = 64 + 32.

# %%
draw.draw_columns(96, {"one tile": (128,), "two tiles": (64, 32)})

# %% [markdown]
# **Predict.** Widths are powers of two, 16 at least. Which tiles suit heads of 80, 112 and 160?
#
# <details><summary>Answer</summary>
#
# 80 = 64 + 16 and 160 = 128 + 32. For 112 a first tile of 64 leaves 48 columns: another 64. That is
# 128 together, and one tile of 128 does it with half as many `tl.dot`s.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `q` | (B, H, Lq, D), any strides | float32, float16, bfloat16 | queries; D from 1 to 256 |
# | `k`, `v` | (B, HK, Lk, D), any strides | as `q` | keys and values; H is a multiple of HK |
# | `causal`, `scale` | | bool; float > 0 or None | as on page 42 |
# | `o`, `lse` | as on page 42 | | results, new |
#
# As on page 42: B × H is at most 65,535, one launch, and float32 is not cut to TF32.
#
# ## Task 3. The record
#
# Rows, bounds and phases are page 42's, and given. Yours, 18 lines in all:
#
# 1. **The update.** A score is the sum of both parts' products: `tl.dot(a, b, s)` is s + a @ b. Each part
#    of o has an accumulator of its own. `if D2 > 0:` costs nothing at run time. Products take
#    `input_precision="ieee"`.
# 2. **The result**, both parts.
#
# `column_parts` is the rule of the box *Predict*. `chosen` says how a call is carried out: steps 3 and 4
# measure its choices.

# %% tags=["reference"]
LOG2_E, LN_2 = 1.4426950408889634, tl.constexpr(0.6931471805599453)  # log2(e), ln(2)

bounds = triton.jit(reference("walk_bounds"))  # page 42

# %% tags=["answer"] key="flash_gqa_record"
def column_parts(D):
    """(D1, D2): the widths of the two tiles that hold D columns; D2 is 0 where one will do."""
    whole = max(16, triton.next_power_of_2(D))
    half = whole // 2
    rest = max(16, triton.next_power_of_2(D - half))
    return (half, rest) if half + rest < whole else (whole, 0)


def chosen(q, k, v):
    """How flash_gqa_record carries out a call: described, parts, at_once, tile."""
    (B, HK, Lk, D), rows = k.shape, q.shape[2] * (q.shape[1] // k.shape[1])
    short, parts = Lk <= 256, column_parts(D)
    described = can_describe(k, v) and rows >= 64 and not short
    if q.dtype == torch.float32 or target_arch() < 80:  # no tensor cores: small tiles
        M, N, warps, stages = 32, 16, 4, 1
    elif target_arch() < 90:  # as page 42; wide heads would not fit
        M, N, warps, stages = (128, 32, 8, 3) if D <= 128 else (32, 32, 8, 2)
    elif D > 128 or not (described or short):
        M, N, warps, stages = 128, 64, 8, 2
    elif parts[1] or Lk <= 1024:
        M, N, warps, stages = 64, 64, 4, 2
    else:
        M, N, warps, stages = 64, 128, 4, 2 if D <= 64 else 1
    M = min(M, max(16, triton.next_power_of_2(rows)))
    tile = dict(BLOCK_M=M, BLOCK_N=N, num_warps=warps, num_stages=stages)
    if described and warps == 4:
        tile["maxnreg"] = 168  # room for three programs
    in_8_mb = 2**23 // max(1, 2 * Lk * D * k.element_size())
    at_once = max(1, min(B * HK, in_8_mb))
    return dict(described=described, parts=parts, at_once=at_once, tile=tile)


@triton.jit
def flash_gqa_record_kernel(
    q_ptr, k_ptr, k2_ptr, v_ptr, v2_ptr, o_ptr, lse_ptr,
    heads, at_once, HK, Lq, Lk, qk_scale,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    CAUSAL: tl.constexpr, GROUP: tl.constexpr,
    D: tl.constexpr, D1: tl.constexpr, D2: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DESCRIBED: tl.constexpr,
):
    """o = softmax(scale q k^T) v, where GROUP query heads share a head of k and v.

    One program = BLOCK_M rows, (position, head) pairs of one group.
    Assumes qk_scale > 0, D1 + D2 >= D.
    """
    tiles = tl.cdiv(Lq * GROUP, BLOCK_M)
    pid_m, bh = tile_and_head(tl.program_id(0), tiles, heads, at_once)
    b, hk = bh // HK, bh % HK
    b64, hk64 = b.to(tl.int64), hk.to(tl.int64)
    if not DESCRIBED:
        k_ptr += b64 * stride_kb + hk64 * stride_kh
        v_ptr += b64 * stride_vb + hk64 * stride_vh
        k2_ptr, v2_ptr = k_ptr, v_ptr

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = offs_m < Lq * GROUP
    position, head = offs_m // GROUP, hk64 * GROUP + offs_m % GROUP
    at = position.to(tl.int64)
    q_rows = q_ptr + b64 * stride_qb + head * stride_qh + at * stride_qm
    offs_d = tl.arange(0, D1)[None, :]
    mask = mask_m[:, None] & (offs_d < D)
    q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0)
    acc = tl.zeros([BLOCK_M, D1], tl.float32)
    if D2 > 0:
        offs_2 = D1 + tl.arange(0, D2)[None, :]
        mask_2 = mask_m[:, None] & (offs_2 < D)
        q2 = tl.load(q_rows[:, None] + offs_2 * stride_qd, mask=mask_2, other=0.0)
        acc2 = tl.zeros([BLOCK_M, D2], tl.float32)
    m_i = tl.full([BLOCK_M], -1e38, tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)

    first, last = pid_m * BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP
    full, end = bounds(first, last, Lq, Lk, CAUSAL, BLOCK_N)
    limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk
    for MASKED in tl.static_range(2):
        begin = full if MASKED else 0
        stop = end if MASKED else full
        for start in range(begin, stop, BLOCK_N):
            start = tl.multiple_of(start, BLOCK_N)
            cols = start + tl.arange(0, BLOCK_N)
            k = load_tile(
                k_ptr, b, hk, start, Lk, stride_kn, stride_kd,
                0, D1, D, BLOCK_N, DESCRIBED,
            )
            if D2 > 0:
                k2 = load_tile(
                    k2_ptr, b, hk, start, Lk, stride_kn, stride_kd,
                    D1, D2, D, BLOCK_N, DESCRIBED,
                )
            # TODO: s of both parts, masked; m_new, p, alpha, l_i (about 9 lines)
            ### BEGIN SOLUTION
            s = tl.dot(q, tl.trans(k), input_precision="ieee")
            if D2 > 0:
                s = tl.dot(q2, tl.trans(k2), s, input_precision="ieee")
            if MASKED:
                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)
            p = tl.exp2(s * qk_scale - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            l_i = l_i * alpha + tl.sum(p, axis=1)
            ### END SOLUTION
            v = load_tile(
                v_ptr, b, hk, start, Lk, stride_vn, stride_vd,
                0, D1, D, BLOCK_N, DESCRIBED,
            )
            if D2 > 0:
                v2 = load_tile(
                    v2_ptr, b, hk, start, Lk, stride_vn, stride_vd,
                    D1, D2, D, BLOCK_N, DESCRIBED,
                )
            # TODO: acc, acc2 where there is one, m_i (about 5 lines)
            ### BEGIN SOLUTION
            p = p.to(v.dtype)
            acc = tl.dot(p, v, acc * alpha[:, None], input_precision="ieee")
            if D2 > 0:
                acc2 = tl.dot(p, v2, acc2 * alpha[:, None], input_precision="ieee")
            m_i = m_new
            ### END SOLUTION

    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    lse = tl.where(l_i == 0.0, float("-inf"), (m_i + tl.log2(l_safe)) * LN_2)
    tl.store(lse_ptr + (b64 * HK * GROUP + head) * Lq + position, lse, mask=mask_m)
    o_rows = o_ptr + b64 * stride_ob + head * stride_oh + at * stride_om
    # TODO: divide by l_safe and store, both parts (about 4 lines)
    ### BEGIN SOLUTION
    tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)
    if D2 > 0:
        o2 = acc2 / l_safe[:, None]
        tl.store(o_rows[:, None] + offs_2 * stride_od, o2, mask=mask_2)
    ### END SOLUTION


def flash_gqa_record(q, k, v, causal=False, scale=None, **steps):
    """(o, lse) of attention where q has a multiple of the heads of k and v.

    steps: for measuring, what takes the place of what `chosen` says.
    """
    B, H, Lq, D = q.shape
    HK, Lk = k.shape[1:3]
    if k.shape != v.shape or k.shape != (B, HK, Lk, D) or HK == 0 or H % HK or D > 256:
        raise ValueError(f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}")
    if scale is not None and scale <= 0:
        raise ValueError(f"scale is {scale}, must be positive")
    which_tile(0, 1, 1, 1)  # says so while its gap is open
    o, lse = torch.empty_like(q), q.new_empty(B, H, Lq, dtype=torch.float32)
    use = chosen(q, k, v) | steps
    tile, (D1, D2) = use["tile"], use["parts"]
    tiles = [k, k, v, v]
    if use["described"]:
        blocks = [[1, 1, tile["BLOCK_N"], width] for width in (D1, D2)]
        tiles = [describe(x, block) if block[3] else x for x in (k, v) for block in blocks]
    grid = (triton.cdiv(Lq * (H // HK), tile["BLOCK_M"]) * B * HK,)
    flash_gqa_record_kernel[grid](
        q, *tiles, o, lse, B * HK, use["at_once"], HK, Lq, Lk,
        LOG2_E * (D**-0.5 if scale is None else scale),
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=causal, GROUP=H // HK, D=D, D1=D1, D2=D2,
        DESCRIBED=int(use["described"]), **tile,
    )  # fmt: skip
    return o, lse

# %% [markdown] tags=["hint"] key="flash_gqa_record"
# #### Hints for flash_gqa_record
#
# <details><summary>Hint 1: a question</summary>
#
# A head of 96 lies in tiles of 64 and 32 columns. What does each of the four tiles `k`, `k2`, `v`
# and `v2` meet in a product, and what shape comes out?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The update is page 42's, with a second product for s and a second accumulator. p is the same for both.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# s = tl.dot(...)
# if D2 > 0:
#     s = ...  # plus the rest
# # mask where MASKED; m_new, p, alpha, l_i
#
# p = ...  # in v's dtype
# acc = ...
# if D2 > 0:
#     acc2 = ...
# m_i = ...
#
# tl.store(...)  # o, the first part
# if D2 > 0:
#     ...
# ```
#
# </details>

# %% tags=["check"] key="flash_gqa_record" points=6
check(flash_gqa_record)

# %% [markdown]
# Does your kernel get its three programs? Ask as before. A few spilled bytes are the price of `maxnreg`.

# %%
described = facts(flash_gqa_record, q, k, v, True, arch=90)
described

# %% [markdown]
# ## Predict, then measure
#
# Step 3 for heads of 96. The cell shows nothing yet.

# %%
B, H, L = 2, 32, 4096
given_96 = heads(B, H, L, 96)
columns = bench(
    {
        "flash_gqa": lambda: flash_gqa(*given_96, True),
        "one tile of 128": lambda: flash_gqa_record(
            *given_96, True, parts=(128, 0), tile=square
        ),
        "two tiles, 64 + 32": lambda: flash_gqa_record(*given_96, True, tile=square),
        "cuDNN": lambda: native(cudnn, *given_96),
    },
    flops=2 * B * H * L * L * 96,
    baseline="one tile of 128",
    title="Causal attention, 2 x 32 x 4096 x 96, float16",
    stored="record_attention_columns",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "programs of 128 threads with 168 registers each on a multiprocessor": None,
        "times as long: one tile of 128 over two tiles, heads of 96": None,
    },
    measured=[
        lambda: described[0].programs_per_sm,
        lambda: time_of(
            columns,
            "one tile of 128",
            over="two tiles, 64 + 32",
            stored="record_attention_columns",
        ),
    ],
    hints=[
        "65,536 registers in all.",
        "How many columns are multiplied? How many programs fit?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Programs.** 65,536 / (128 × 168) = 3.05.
#
# **Ratio.** 128 / 96 = 1.33 times the products, the same softmax, and fewer programs to hide it behind.
#
# </details>

# %%
columns

# %% [markdown]
# **Read it.** The two rows in the middle have the same tiles of queries and keys, 64 × 64. With 64 + 32
# columns a program needs 62 KB of shared memory instead of 83. So three programs fit instead of two, and
# the products have no zeros.
#
# ## Step 4. Short texts
#
# Texts of a hundred tokens differ in two ways.
#
# - **Tiles.** Of 131 keys, a second tile of 128 holds 3, and is computed in full. Tiles of 64 waste less.
#   Two such tiles fit in shared memory (`num_stages=2`): one is on its way while the other is
#   multiplied.
# - **The launch.** The host makes its descriptors anew in each call. It is busy with that for longer than
#   the GPU is with such a text. So up to 256 keys `chosen` stays with addresses.
#
# *device* is the time of the GPU alone, *ms* the call as your code pays for it.

# %%
given = heads(4, 16, 131, 64)
engine = dict(described=can_describe(*given), tile=square)
bench(
    {
        "flash_gqa": lambda: flash_gqa(*given, True),
        "64 x 64, described": lambda: flash_gqa_record(*given, True, **engine),
        "64 x 64, addresses": lambda: flash_gqa_record(*given, True),
        "PyTorch": lambda: scaled_dot_product_attention(*given, is_causal=True),
    },
    flops=2 * 4 * 16 * 131 * 131 * 64,
    baseline="flash_gqa",
    title="Causal attention, 4 x 16 x 131 x 64, float16",
    stored="record_attention_short",
)

# %% [markdown]
# **Read both columns.** On the device the three differ little, and PyTorch takes half as long again. As
# called, Python decides, and descriptors take longest. In a CUDA graph, or behind other work, the device's
# time counts.
#
# ## Shapes that nobody chose
#
# A record for three round shapes is easy. The cell draws twelve, and times the fastest of PyTorch's
# backends over yours, on the device. More than 1 means that yours is faster.

# %%
import random

from tritonbook.timing.clock import clock
from tritonbook.timing.stored import Curves, keep, load


def drawn(seed):
    """(B, H, L, D), dtype, causal or not."""
    pick = random.Random(seed)
    L, D = int(50 * 2 ** pick.uniform(0, 8)), (32, 64, 80, 96, 128, 256)[seed % 6]
    B, H = max(1, min(8, 2**14 // L)), pick.randint(2, 24)
    return (B, H, L, D), pick.choice((torch.float16, torch.bfloat16)), pick.random() < 0.6


ratios = Curves({}) if DEVICE == "cuda" else load("record_attention_drawn")
if DEVICE == "cuda":
    for seed in range(12):
        shape, dtype, causal = drawn(seed)
        given = [x.to(dtype) for x in heads(*shape)]
        calls = [lambda: flash_gqa_record(*given, causal)]
        for name in ("CUDNN", "FLASH", "EFFICIENT"):
            backend = getattr(SDPBackend, f"{name}_ATTENTION")
            calls.append(lambda backend=backend: native(backend, *given, causal))
        own, *peers = [clock().device_time(call) for call in calls]
        ratios.curves[f"{shape}, causal: {causal}"] = [min(filter(None, peers)) / own]
    keep("record_attention_drawn", ratios)
if ratios:
    print(ratios.label)
    for label, (ratio,) in ratios.curves.items():
        print(f"{ratio:.2f}  {label}")
    logs = torch.tensor(list(ratios.curves.values())).log()
    print(f"{logs.mean().exp():.2f}  geometric mean")

# %% [markdown]
# **Read it.** Short texts gain most. Heads of 256, and of 128 in longer ones, stay behind: cuDNN plans the
# turns that three programs take by chance. Page 65 plans them too.
#
# ## Recap
#
# - Several programs on a multiprocessor overlap by themselves. Registers and shared memory decide how
#   many fit.
# - A descriptor moves addresses and masks from the threads to the copy engine.
# - Which program has which tile is a choice: heads that fit in the cache, long walks first.
# - A width that is no power of two is a sum of two that are.
#
# <details><summary>Common mistakes</summary>
#
# - Batch and head swapped in a descriptor's indices: outside of the tensor arrive zeros, no error.
# - `return` in `if DESCRIBED:` without `else:`. Python is content, the compiler is not.
# - The second part of the scores in place of the first, not added to it.
# - `acc2` without `alpha`. It shows only where the maximum grows.
# - Rules that fit the shapes one has measured. Draw others.
#
# </details>
#
# Sources: Dao, *FlashAttention-2* (2023); Shah and others, *FlashAttention-3* (2024).
#
# Next: [63_gluon_pipeline](63_gluon_pipeline.ipynb), a level below.

# %%
progress()
