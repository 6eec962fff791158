# ---
# workbook:
#   title: Products of small integers
#   minutes: 60
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - quantise rows to int8, and say what an outlier costs
#     - multiply int8 by int8 on tensor cores, exactly, with the scales outside the sum
#     - unpack two 4-bit weights from each byte inside a product, with a scale for each group
#     - count a weight's bits, and a product's bytes
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A model that writes multiplies **one** row, the newest token's, by all its weights. One matrix of
# Llama 3 8B has 14,336 × 4,096 of them: 117 MB in float16, read for two operations each. The time
# goes into bytes. With thousands of tokens it goes into multiplications.
#
# Small integers help with both. 4 bits are a quarter of the bytes. And an A100's tensor
# cores multiply int8 twice as fast as float16 (data sheet: 624 and 312 · 10¹² operations a second).
#
# | name | weights | activations | product |
# |---|---|---|---|
# | **W8A8** | int8 | int8 | int8 × int8, summed in int32 |
# | **W4A16** | 4 bits | float16 | float16, after unpacking |
#
# To **quantise** is to write numbers as $x \approx s\,q$: whole numbers q, and one **scale** s for
# all of them. int8 goes from -128 to 127. Take s = max |x| / 127, and no q is out of range. -128 is
# left unused, so -x gets -q: that is *symmetric*.

# %%
draw = pictures("int_matmul")
draw.draw_rounding(x=[0.80, -2.10, 0.05, 3.81])

# %% [markdown]
# Rounding to the nearest q costs at most half a step, s / 2. So everything depends on s, and s
# depends on the **largest** number.
#
# **Predict.** The numbers of row 0 go up to 1.27, those of row 1 up to 127. What is left of row 0
# if both share a scale? And if each has its own?
#
# <details><summary>Answer</summary>
#
# Shared, s = 127 / 127 = 1: every number of row 0 becomes -1, 0 or 1. With its own, row 0 has the
# scale 0.01, and 255 values.
#
# </details>
#
# ## A smaller kernel first
#
# The way back, one row a program. An int8 tile times a float32 number is a float32 tile.


# %%
@triton.jit
def dequantize_kernel(q_ptr, scales_ptr, x_ptr, K, BLOCK_K: tl.constexpr):
    """x[m] = scales[m] * q[m].

    One program = one row.
    Assumes contiguous rows and BLOCK_K >= K.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    offs_k = tl.arange(0, BLOCK_K)
    q = tl.load(q_ptr + pid_m * K + offs_k, mask=offs_k < K, other=0)
    x = q * tl.load(scales_ptr + pid_m)
    tl.store(x_ptr + pid_m * K + offs_k, x, mask=offs_k < K)


q = torch.tensor([[27, -70, 2, 127], [1, -2, 3, -127]], dtype=torch.int8, device=DEVICE)
x = torch.empty(2, 4, device=DEVICE)
dequantize_kernel[(2,)](q, torch.tensor([0.03, 1.0], device=DEVICE), x, 4, BLOCK_K=4)
x

# %% [markdown]
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (M, K), a row's numbers side by side | float32, float16, bfloat16 | to be quantised |
# | `xq`, `sx` | (M, K) and (M,), contiguous | int8, float32 | activations, a scale for each row |
# | `wq`, `sw` | (N, K) and (N,), contiguous | int8, float32 | weights, a scale for each output |
# | `packed` | (N, K/2), contiguous | int8 | 4-bit weights, two a byte |
# | `scales` | (N, K/group), contiguous | float16 | one for each `group` weights of a row |
#
# Products are (M, N). One launch each, in tiles of `tile`'s sizes. Weights stand as in
# `torch.nn.Linear`, so `quantize_rows` serves them too. Numbers are finite; a row of zeros gets the scale 1.

# %% tags=["reference"]
def matmul_w8a8_ref(xq, sx, wq, sw, dtype):
    return (xq.double() @ wq.double().T * sx[:, None] * sw).to(dtype)


def matmul_w4a16_ref(x, packed, scales, group):
    q = torch.stack((packed & 15, packed >> 4 & 15), dim=-1).flatten(1)
    q = torch.where(q < 8, q, q - 16)  # 8 to 15 stand for -8 to -1
    return x @ (q * scales.repeat_interleave(group, dim=1)).T


def require(**tensors):
    for name, (x, shape, dtype) in tensors.items():
        if x.shape != shape or x.dtype != dtype or not x.is_contiguous():
            raise ValueError(f"{name} must be {dtype}, contiguous, with shape {shape}")


def tile_for(tokens, most):  # few tokens: small tiles, so that there are enough programs
    rows, columns, warps, stages = (16, 32, 4, 4) if tokens <= 16 else (most, 128, 8, 3)
    tile = {"BLOCK_M": rows, "BLOCK_N": columns, "BLOCK_K": 128}
    return tile | {"num_warps": warps, "num_stages": stages}

# %% [markdown]
# ## Task 1. Quantise rows
#
# A program walks through its row twice, as on page 04: for the largest |x| (`tl.abs`), then for q. The first
# walk lacks one line. Then write the scale, its store, and the second walk, with the offsets and the
# load of the first: about 7 lines.
#
# `.to(tl.int8)` cuts off what is behind the point: 26.7 becomes 26, and -26.7 becomes -26. The
# nearest whole number is `tl.floor(x + 0.5)`.

# %% tags=["answer"] key="quantize_rows"
@triton.jit
def quantize_kernel(x_ptr, q_ptr, scales_ptr, K, stride_xm, BLOCK_K: tl.constexpr):
    """scales[m] = max |x[m]| / 127, or 1; q[m] = x[m] / scales[m], rounded.

    One program = one row, in tiles, walked through twice.
    Assumes that the numbers of a row lie side by side.
    """
    pid_m = tl.program_id(axis=0).to(tl.int64)
    x_row, q_row = x_ptr + pid_m * stride_xm, q_ptr + pid_m * K

    largest = 0.0
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32)
        # TODO 1: the largest |x| so far (1 line)
        ### BEGIN SOLUTION
        largest = tl.maximum(largest, tl.max(tl.abs(x), axis=0))
        ### END SOLUTION

    # TODO 2: the scale, its store, then q tile by tile (about 7 lines)
    ### BEGIN SOLUTION
    scale = tl.where(largest > 0, largest / 127, 1.0)
    tl.store(scales_ptr + pid_m, scale)
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32)
        q = tl.floor(x / scale + 0.5)
        tl.store(q_row + offs_k, q.to(tl.int8), mask=offs_k < K)
    ### END SOLUTION


def quantize_rows(x, block=8192):
    """q [M, K], int8, and scales [M], float32, with x about scales[:, None] * q."""
    if x.ndim != 2 or x.stride(1) != 1:
        raise ValueError("x must be (M, K), the numbers of a row side by side")
    M, K = x.shape
    q = torch.empty((M, K), dtype=torch.int8, device=x.device)
    scales = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK_K = min(block, triton.next_power_of_2(K))
    if M > 0:
        quantize_kernel[(M,)](
            x, q, scales, K, x.stride(0), BLOCK_K=BLOCK_K, num_warps=8
        )
    return q, scales

# %% [markdown] tags=["hint"] key="quantize_rows"
# #### Hints for quantize_rows
#
# <details><summary>Hint 1: a question</summary>
#
# When is the scale of a row known: while the first walk runs, or after it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 04 has a running maximum. `tl.abs` is the size of a number. `tl.where` takes single numbers
# too: 0 / 0 must not happen.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# largest = tl.maximum(..., ...)  # the old one, and this tile's
# ```
#
# ```python
# scale = tl.where(largest > 0, ..., ...)
# # store it, one number for each row
# for start in range(0, K, BLOCK_K):
#     # offsets, then load
#     q = ...  # a whole number of steps, still float32
#     # store as int8
# ```
#
# </details>

# %% tags=["check"] key="quantize_rows" points=4
check(quantize_rows)

# %% [markdown]
# ## W8A8: the scales leave the sum
#
# $$y_{mn} = \sum_k (s_m\, q_{mk})(t_n\, r_{nk}) = s_m\, t_n \sum_k q_{mk}\, r_{nk}$$
#
# The scales depend on the row m and the output n, and not on k. So the sum is of whole numbers, and
# **exact**. Its scales follow once, after the loop.
#
# What must hold the sum? A product goes up to 127² = 16,129, which int8 cannot hold, and two such
# products are almost all that int16 can. int32 it is. float32 has 24 binary digits: it is exact up to
# 2²⁴, a thousand products. Give the dot its type: `tl.dot(x, w, acc, out_dtype=tl.int32)`.
#
# ## Task 2. int8 by int8
#
# `x_ptrs` and `w_ptrs` point at the first tiles. The second is a tile of w **transposed**, [BLOCK_K,
# BLOCK_N]: k runs down, and lies side by side in memory. One step along K is thus BLOCK_K elements in
# both, and the mask along K is `offs_k < K - k`. Write the accumulator, the loop, the scales, and the
# store: about 12 lines. Any sizes.
#
# <details><summary>On a T4?</summary>
#
# Its tensor cores know int8 as well (130 TOPS, float16 has 65). But Triton supports GPUs from the
# A100 on, and newer versions cannot compile an int8 dot for a T4 (triton issue 9349). Work in the
# interpreter there: set the environment variable `TRITON_INTERPRET=1` before you start.
#
# </details>

# %% tags=["answer"] key="matmul_w8a8"
@triton.jit
def w8a8_kernel(
    x_ptr, sx_ptr, w_ptr, sw_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """y[m, n] = sx[m] * sw[n] * (sum over k of x[m, k] * w[n, k]).

    One program = one tile of y, [BLOCK_M, BLOCK_N].
    Assumes contiguous tensors.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N
    x_ptrs = x_ptr + offs_m[:, None] * K + offs_k[None, :]  # [BLOCK_M, BLOCK_K]
    w_ptrs = w_ptr + offs_n[None, :] * K + offs_k[:, None]  # [BLOCK_K, BLOCK_N]

    # TODO: acc, the loop with its masks, both scales, the store (about 12 lines)
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        mask_k = offs_k < K - k
        x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0)
        w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0)
        acc = tl.dot(x, w, acc, out_dtype=tl.int32)

    sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0)
    sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)
    y = acc.to(tl.float32) * sx[:, None] * sw[None, :]
    y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(y_ptrs, y, mask=mask_m[:, None] & mask_n[None, :])
    ### END SOLUTION


def matmul_w8a8(xq, sx, wq, sw, dtype, tile=None):
    """y [M, N] in `dtype`, from int8 xq [M, K], wq [N, K] and their scales sx [M], sw [N]."""
    (M, K), N = xq.shape, wq.shape[0]
    require(
        xq=(xq, (M, K), torch.int8), sx=(sx, (M,), torch.float32),
        wq=(wq, (N, K), torch.int8), sw=(sw, (N,), torch.float32),
    )
    y = torch.empty((M, N), dtype=dtype, device=xq.device)
    tile = tile or tile_for(M, 128)
    grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))
    if M > 0:
        w8a8_kernel[grid](xq, sx, wq, sw, y, M, N, K, **tile)
    return y

# %% [markdown] tags=["hint"] key="matmul_w8a8"
# #### Hints for matmul_w8a8
#
# <details><summary>Hint 1: a question</summary>
#
# Which lines are those of page 20? Which change because of the integers, and which because of the
# scales?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Masked lanes must be 0. Scales are two vectors: `sx[:, None]` stands upright, one for each row of
# the tile, and `sw[None, :]` lies flat. The wrapper's y is contiguous, [M, N].
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = tl.zeros(..., dtype=...)
# for k in range(...):
#     mask_k = ...
#     # load both tiles, k elements further on
#     acc = tl.dot(...)
# sx = ...  # a load of BLOCK_M scales
# sw = ...
# y = ...  # from here on float32
# # addresses and store
# ```
#
# </details>

# %% tags=["check"] key="matmul_w8a8" points=5
check(matmul_w8a8)

# %% [markdown]
# ## Two weights in a byte
#
# 4 bits hold -8 to 7. Half a byte is a **nibble**; the low one gets the weight with even k, the
# high one its neighbour.

# %%
draw.draw_nibbles(low=6, high=-3)

# %% [markdown]
# - The **high** nibble: `packed >> 4`. A right shift of a signed number fills up with copies of its
#   sign, the top bit. So -3 stays -3.
# - The **low** nibble has its sign in the middle of the byte. Push it to the top first:
#   `packed << 4 >> 4`.
# - `tl.interleave(a, b)` shuffles two tiles together along their last dimension: a₀ b₀ a₁ b₁ ...
#
# Fifteen values, -7 to 7, are few for a row of thousands. So each **group** of, say, 128 neighbours
# has a scale of its own.


# %%
def quantize_int4(w, group):
    """w [N, K] as 4-bit numbers, two a byte, and a float16 scale for each `group` of a row."""
    groups = w.float().unflatten(1, (-1, group))
    scales = groups.abs().amax(dim=-1, keepdim=True).clamp(min=1e-6) / 7
    q = (groups / scales).round().to(torch.int8).flatten(1)
    return q[:, ::2] & 15 | q[:, 1::2] << 4, scales[..., 0].half()


quantize_int4(torch.tensor([[6.0, -3, 7, 1]]), group=4)  # -42 is 1101 0110, as in the picture

# %% [markdown]
# ## Task 3. Unpack and multiply
#
# A group's scale depends on k: it cannot wait for the end. But inside a group it is constant. So
# let BLOCK_K divide `group`. Then a step along K lies in **one** group, number `k // GROUP`, and
# its scale may multiply the step's product. The nibbles go into the dot as they are, in the dtype
# of x. At step k, x begins k elements further on, and packed k / 2 bytes.
#
# K is a multiple of `group`, a power of two from 32 on; so K needs no mask. `packed_ptrs` points at
# a tile [BLOCK_N, BLOCK_K / 2], `scales_ptrs` at the first scale of each of its rows. Write acc,
# the loop and the store: about 9 lines.

# %% tags=["answer"] key="matmul_w4a16"
@triton.jit
def w4a16_kernel(
    x_ptr, packed_ptr, scales_ptr, y_ptr,
    M, N, K, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """y[m, n] = sum over k of x[m, k] * w[n, k] * scales[n, k // GROUP].

    One program = one tile of y, [BLOCK_M, BLOCK_N].
    Assumes contiguous tensors, K a multiple of GROUP, and GROUP one of BLOCK_K.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k, offs_b = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_K // 2)
    mask_m, mask_n = offs_m[:, None] < M, offs_n < N
    x_ptrs = x_ptr + offs_m[:, None] * K + offs_k[None, :]
    packed_ptrs = packed_ptr + offs_n[:, None] * (K // 2) + offs_b[None, :]
    scales_ptrs = scales_ptr + offs_n * (K // GROUP)

    # TODO: acc; each step loads, unpacks, multiplies, scales, adds; the store (9 lines)
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs + k, mask=mask_m, other=0.0)
        packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0)
        scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0)
        w = tl.interleave(packed << 4 >> 4, packed >> 4)  # [BLOCK_N, BLOCK_K]
        acc += tl.dot(x, tl.trans(w.to(x.dtype))) * scales[None, :]

    y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(y_ptrs, acc, mask=mask_m & mask_n[None, :])
    ### END SOLUTION


def matmul_w4a16(x, packed, scales, group, tile=None):
    """x [M, K], float16, by 4-bit weights packed [N, K/2], scales [N, K/group]; y [M, N]."""
    (M, K), N = x.shape, packed.shape[0]
    if K % group or group < 32 or group != triton.next_power_of_2(group):
        raise ValueError("group must be a power of two from 32 on, and K a multiple of it")
    require(
        x=(x, (M, K), torch.float16), packed=(packed, (N, K // 2), torch.int8),
        scales=(scales, (N, K // group), torch.float16),
    )
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    tile = tile or tile_for(M, 64)
    tile = tile | {"BLOCK_K": min(tile["BLOCK_K"], group)}
    grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))
    if M > 0:
        w4a16_kernel[grid](x, packed, scales, y, M, N, K, GROUP=group, **tile)
    return y

# %% [markdown] tags=["hint"] key="matmul_w4a16"
# #### Hints for matmul_w4a16
#
# <details><summary>Hint 1: a question</summary>
#
# `interleave` makes [BLOCK_N, BLOCK_K] of the nibbles. Which shape does the dot want? And along which
# side of its result do the scales lie?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Interleaved, the weights are [BLOCK_N, BLOCK_K], and the dot wants [BLOCK_K, BLOCK_N]: `tl.trans`.
# The three masks: `mask_m` is upright already, `mask_n` is not. Scales belong to outputs, so to the
# columns of the product.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = ...
# for k in range(...):
#     x = tl.load(...)
#     packed = tl.load(...)
#     scales = tl.load(...)  # [BLOCK_N]
#     w = tl.interleave(..., ...)  # even k first
#     acc += ... * scales[None, :]
# # store
# ```
#
# </details>

# %% tags=["check"] key="matmul_w4a16" points=6
check(matmul_w4a16)

# %% [markdown]
# ## What it costs in digits
#
# 64 tokens, and one number of token 0 is an outlier. Errors are those of the **other** tokens,
# against float64.

# %%
torch.manual_seed(0)
x, w = torch.randn(64, 1024, device=DEVICE), torch.randn(256, 1024, device=DEVICE)
x[0, 0] = 100.0
exact = x.double() @ w.double().T


def show_error(name, y):
    error = (y.double() - exact)[1:].norm() / exact[1:].norm()
    print(f"{name:28} {100 * error.item():5.2f} %")


wq, sw = quantize_rows(w)
show_error("int8, a scale for each row", matmul_w8a8(*quantize_rows(x), wq, sw, torch.float32))
q, s = quantize_rows(x.view(1, -1))  # all of x is one row
show_error("int8, one scale for x", matmul_w8a8(q.view_as(x), s.repeat(64), wq, sw, torch.float32))
for group in (1024, 256, 128, 64, 32):
    y = matmul_w4a16(x.half(), *quantize_int4(w, group), group)
    show_error(f"int4, {4 + 16 / group:.3g} bits a weight", y)

# %% [markdown]
# One outlier among 65,536 numbers spoils all tokens, unless each has its own scale. Four bits lose
# about ten times as much as eight, and smaller groups less: their largest number is smaller. These
# weights are random; for trained ones, GPTQ and AWQ look at activations, too.
#
# ## Predict, then measure
#
# The next cell takes the weights of the beginning, 14,336 × 4,096, for a growing number of tokens,
# and shows nothing yet. The time of W8A8 includes `quantize_rows(x)`. Two rows are PyTorch's own:
# `torch._int_mm` is cuBLAS in int8, for more than 16 tokens; *torch int4* multiplies in bfloat16,
# with weights in an order of its own.

# %%
from tritonbook.timing import bench_sweep

N, K = (14336, 4096) if DEVICE == "cuda" else (64, 128)
w = torch.randn(N, K, device=DEVICE).half() / K**0.5
wq, sw = quantize_rows(w)
packed, scales = quantize_int4(w, 128)


if DEVICE == "cuda":  # as PyTorch's 4-bit product wants them
    bytes_ = packed.view(torch.uint8) ^ 0x88  # 0 to 15, and 8 is zero
    tiles = torch._convert_weight_to_int4pack(bytes_ << 4 | bytes_ >> 4, 8)
    both = torch.stack((scales.T, torch.zeros_like(scales.T)), dim=-1).bfloat16()


def int_mm(x):
    q, s = quantize_rows(x)
    return (torch._int_mm(q, wq.T) * s[:, None] * sw).half()


def by_tokens(tokens):
    x = torch.randn(tokens, K, device=DEVICE).half()
    ways = {
        "float16 (cuBLAS)": lambda: x @ w.T,
        "W8A8": lambda: matmul_w8a8(*quantize_rows(x), wq, sw, x.dtype),
        "W4A16": lambda: matmul_w4a16(x, packed, scales, 128),
    }
    if DEVICE == "cuda":
        ways |= {"torch._int_mm": lambda: int_mm(x)} if tokens > 16 else {}
        b = x.bfloat16()
        ways["torch int4"] = lambda: torch._weight_int4pack_mm(b, tiles, 128, both)
    return {"fns": ways, "flops": 2 * tokens * N * K}


tokens = bench_sweep(
    "tokens",
    [1, 16, 64, 256, 1024, 4096] if DEVICE == "cuda" else [1, 20],
    by_tokens,
    title="x (tokens, 4096) by weights (14336, 4096)",
    stored="int_matmul_tokens",
)

# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bits for each weight: int4 in groups of 128": None,
        "bytes of packed read: 200 tokens, N = 64, K = 256, tiles of 64 tokens": None,
    },
    measured=[
        lambda: 8 * (packed.nbytes + scales.nbytes) / w.numel(),
        lambda: traffic(
            matmul_w4a16,
            torch.ones(200, 256, device=DEVICE).half(),
            torch.ones(64, 128, device=DEVICE).to(torch.int8),
            torch.ones(64, 2, device=DEVICE).half(),
            128,
        )["packed"].read,
    ],
    hints=[
        "4 bits, and a share of a 16-bit scale.",
        "How many rows of programs are there? Each reads all of packed.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bits.** 4 + 16 / 128 = 4.125.
#
# **Bytes.** packed has 64 × 256 / 2 = 8,192 bytes. 200 tokens are 4 rows of programs: 32,768. Each
# unpacks all weights again, too.
#
# </details>

# %%
tokens

# %% [markdown]
# **Read it downwards.** With few tokens times hardly grow: bytes count. 8 or 4 bits should take a half or a
# quarter of float16's time. On the H200, GPU alone, 8 bits take 0.63 of it, and 4 bits gain nothing. Later
# multiplications count. W4A16 multiplies float16 like cuBLAS, and unpacks on top: four times float16's time
# at last. W8A8 has the faster tensor cores: 0.61 of it, and 0.44 of the time of `torch._int_mm`, which
# writes int32 sums to memory and reads them again for the scales.
#
# ## Recap
#
# - x ≈ s q. The largest number sets the scale, so few numbers should share one.
# - A scale leaves the sum over which it is constant: a row's the whole sum, a group's its step.
# - int8 products need an int32 sum, and it is exact.
# - W4A16 saves bytes and pays for few tokens. W8A8 saves time on tensor cores as well, and pays for
#   many.
#
# <details><summary>Common mistakes</summary>
#
# - `/ 128`: the largest number becomes 128, which int8 does not have.
# - `.to(tl.int8)` without rounding: twice the error, all of it towards 0.
# - A scale for each tile of a row, where the contract has one.
# - `packed & 15` for the low nibble: -3 becomes 13.
# - `k // BLOCK_K` for the number of the group: right only while BLOCK_K = GROUP.
#
# </details>
#
# vLLM has both in Triton: `triton_scaled_mm` for int8, and a kernel for AWQ's 4 bits, with
# `tl.interleave` too. SGLang quantises rows as you do, in `int8_kernel.py`.
#
# Next: [52_moe_grouped](52_moe_grouped.ipynb).

# %%
progress()
