# ---
# workbook:
#   title: Floats of eight and of four bits
#   minutes: 55
#   needs: interpreter
#   requires: [51_int_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - take floats apart into sign, exponent and mantissa, and put them together again
#     - read e4m3, e2m1 and e8m0 exactly, on GPUs that have no such types
#     - multiply by MXFP4 weights, 4.25 bits each, on float16 tensor cores
#     - derive what each format loses, and what a product of it loses
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Page 51 stores weights as whole numbers. Many models store them as **very small floats**: DeepSeek V3
# in eight bits, gpt-oss in four. An A100 has no instruction for either. But a float is only three whole
# numbers side by side:

# %%
draw = pictures("fp8_fp4")
draw.draw_formats()

# %% [markdown]
# The **sign** s, the **exponent** E, and the **mantissa** m of M bits. They stand for
#
# $$(-1)^s \cdot 2^{E - \text{bias}} \cdot (1 + m / 2^M)$$
#
# - **E = 0** stands for $(-1)^s \cdot 2^{1 - \text{bias}} \cdot m / 2^M$: 0 and the **subnormal**
#   numbers, which fill the gap up to the smallest normal number.
# - **e4m3** has no infinity. The bytes 0x7f and 0xff are NaN; the largest number is 448.
# - **e2m1** has neither. Its numbers are 0, 0.5, 1, 1.5, 2, 3, 4, 6, and their negatives.
# - **e8m0** is an exponent alone: powers of two, for scales. 255 is NaN; 0 stands for $2^{-127}$.
#
# ## A smaller kernel first
#
# `x.to(tl.float32)` asks for the same **number** in another type. `x.to(tl.float32, bitcast=True)`
# asks for the same **bits**, read as another type of the same width. bfloat16 is the upper half of a
# float32. So one shift widens it:


# %%
@triton.jit
def widen_kernel(codes_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """x[i] = the number whose bits in bfloat16 are codes[i].

    One program = BLOCK numbers.
    Assumes contiguous tensors.
    """
    offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    codes = tl.load(codes_ptr + offs, mask=offs < n, other=0)  # int16
    bits = codes.to(tl.int32) << 16  # first 32 bits wide, then shifted
    tl.store(x_ptr + offs, bits.to(tl.float32, bitcast=True), mask=offs < n)


codes = torch.tensor([1.0, -2.5, 3e38, -0.0], device=DEVICE).bfloat16().view(torch.int16)
x = torch.empty(4, device=DEVICE)
widen_kernel[(1,)](codes, x, 4, BLOCK=4)
x

# %% [markdown]
# **Predict.** What does `codes << 16` give without `.to(tl.int32)`?
#
# <details><summary>Answer</summary>
#
# 0 everywhere: an int16 has 16 bits, and all of them are pushed out.
#
# </details>
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `codes` | any, contiguous | uint8 | bytes in e4m3; result: float16 of that shape |
# | `packed` | (N, K/2), contiguous | uint8 | weights in e2m1, two in a byte, even k in the low nibble |
# | `scales` | (N, K/32), contiguous | uint8 | e8m0, one for each group of 32 weights of a row |
# | `w` | (N, K) | `dtype` | number times scale, rounded to `dtype` once |
# | `x` | (M, K), contiguous | float16, bfloat16 | activations; result y (M, N) in x's dtype |
#
# K is a multiple of 32. Every code counts, NaN too, and -0 stays -0. Decoding is by integer operations:
# no `tl.float8e4nv`, which does not compile for an A100, and no `tl.exp2`, for which a GPU takes numbers
# below $2^{-126}$ as 0. One launch each; a program takes `block` numbers, `block` groups, or a tile of
# `tile`'s sizes. The product takes weights in x's dtype.

# %% tags=["reference"]
def decode_e4m3_ref(codes):
    return codes.view(torch.float8_e4m3fn).to(torch.float16)


def dequantize_mxfp4_ref(packed, scales, dtype):
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    w = table[torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1).long()]
    scale = torch.where(scales == 255, torch.nan, 2.0 ** (scales.double() - 127))
    return (w * scale.repeat_interleave(32, dim=1)).to(dtype)


def matmul_mxfp4_ref(x, packed, scales):
    return x @ dequantize_mxfp4_ref(packed, scales, x.dtype).T


def require(**tensors):
    for name, (x, shape, dtype) in tensors.items():
        if x.shape != shape or x.dtype != dtype or not x.is_contiguous():
            raise ValueError(f"{name} must be {dtype}, contiguous, with shape {tuple(shape)}")


def tile_for(M):
    m, n, k, w = (16, 16, 256, 2) if M <= 16 else (64, 32, 128, 4) if M <= 64 else (128, 64, 64, 8)
    return {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": w}

# %% [markdown]
# ## Task 1. A byte in e4m3
#
# float16 has a longer exponent **and** a longer mantissa. So shift the fields to where it has them: the
# mantissa's top bit to bit 9, and the exponent follows.

# %%
draw.draw_shift(code=0x51)

# %% [markdown]
# E is the same, its meaning is not: float16 has bias 15, e4m3 has 7. All numbers come out too small by
# one factor, subnormals too: E = 0 gives $2^{1 - 15}$ for $2^{1 - 7}$. Multiply by it.
#
# The **sign** has a place of its own, bit 15. (`-x` is 0 - x, and makes 0 of -0: move the bit.) And
# **NaN** came out as a number. `code` has 16 bits already. Write the bits, x, and its store: 4 lines.

# %% tags=["answer"] key="decode_e4m3"
@triton.jit
def e4m3_kernel(codes_ptr, x_ptr, n, BLOCK: tl.constexpr):
    """x[i] = the number that codes[i] stands for.

    One program = BLOCK numbers.
    Assumes contiguous tensors.
    """
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    code = tl.load(codes_ptr + offs, mask=offs < n, other=0).to(tl.int16)  # 0 to 255
    # TODO: sign and fields at their places; bitcast and factor; NaN; store (4 lines)
    ### BEGIN SOLUTION
    bits = (code & 128) << 8 | (code & 127) << 7
    x = bits.to(tl.float16, bitcast=True) * 256
    x = tl.where((code & 127) == 127, float("nan"), x)
    tl.store(x_ptr + offs, x, mask=offs < n)
    ### END SOLUTION


def decode_e4m3(codes, block=1024):
    """Bytes in e4m3, uint8, any shape: the same numbers in float16."""
    require(codes=(codes, codes.shape, torch.uint8))
    x = torch.empty_like(codes, dtype=torch.float16)
    n = codes.numel()
    if n > 0:
        e4m3_kernel[(triton.cdiv(n, block),)](codes, x, n, BLOCK=block)
    return x

# %% [markdown] tags=["hint"] key="decode_e4m3"
# #### Hints for decode_e4m3
#
# <details><summary>Hint 1: a question</summary>
#
# The byte 0x38 is 1.0: s = 0, E = 7, m = 0. Which E stands for 1.0 in float16? Which number is
# E = 7 there?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `code & 127` are exponent and mantissa, `code & 128` is the sign: from bit 7 to bit 15 it is 8 places.
# `|` puts bits together. The factor is 2 to the power of 15 - 7. `tl.where` takes `float("nan")`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# bits = ... << ... | ... << ...
# x = bits.to(..., bitcast=True) * ...
# x = tl.where(..., ..., x)  # where all seven bits are 1: NaN
# # store
# ```
#
# </details>

# %% tags=["check"] key="decode_e4m3" points=3
check(decode_e4m3)

# %% [markdown]
# ## Four bits and a scale: MXFP4
#
# Eight numbers and a sign are few. So 32 neighbours along K share a scale, and it is a power of two:
# multiplying by it changes no mantissa, and loses nothing.
#
# **e2m1** goes into float16 by the same plan. Where does its one mantissa bit go, and what is the factor?
# **e8m0** is float32's exponent, which starts at bit 23; with m = 0 that is a power of two. Two codes are
# exceptions there. 255 would be infinity. And 0 would be 0, but $2^{-127}$ is half of float32's smallest normal
# number: a subnormal whose mantissa has its top bit, 22, alone.
#
# ## Task 2. Unpack
#
# Write `e2m1` (2 lines), `e8m0` (2 or 3), and `unpack` (2): both nibbles of each byte, the low one first,
# by `tl.interleave` (page 51), as int16; then numbers times scales. A uint8 has no sign: `packed >> 4`
# fills up with zeros. Then load and store in the kernel (3 lines). To it all weights are one list of
# groups, of 16 bytes each.

# %% tags=["answer"] key="dequantize_mxfp4"
@triton.jit
def e2m1(code):
    """The float16 that four bits in e2m1 stand for. code: int16, 0 to 15."""
    # TODO 1: the same plan (2 lines)
    ### BEGIN SOLUTION
    bits = (code & 8) << 12 | (code & 7) << 9
    return bits.to(tl.float16, bitcast=True) * 16384
    ### END SOLUTION


@triton.jit
def e8m0(code):
    """The float32 that a byte in e8m0 stands for. code: uint8."""
    # TODO 2: the exponent at its place, 0 and 255 (2 or 3 lines)
    ### BEGIN SOLUTION
    bits = tl.where(code == 0, 1 << 22, code.to(tl.int32) << 23)
    return tl.where(code == 255, float("nan"), bits.to(tl.float32, bitcast=True))
    ### END SOLUTION


@triton.jit
def unpack(packed, scales):
    """Bytes [G, 16] and scales [G], uint8: groups of 32 numbers, [G, 32], float32."""
    # TODO 3: both nibbles side by side, then numbers times scales (2 lines)
    ### BEGIN SOLUTION
    codes = tl.interleave(packed & 15, packed >> 4).to(tl.int16)
    return e2m1(codes).to(tl.float32) * e8m0(scales)[:, None]
    ### END SOLUTION


@triton.jit
def mxfp4_kernel(packed_ptr, scales_ptr, w_ptr, G, BLOCK_G: tl.constexpr):
    """w[g] = the 32 numbers of group g.

    One program = BLOCK_G groups.
    Assumes contiguous tensors.
    """
    offs_g = tl.program_id(axis=0).to(tl.int64) * BLOCK_G + tl.arange(0, BLOCK_G)
    mask_g = offs_g < G
    packed_ptrs = packed_ptr + offs_g[:, None] * 16 + tl.arange(0, 16)[None, :]
    w_ptrs = w_ptr + offs_g[:, None] * 32 + tl.arange(0, 32)[None, :]

    # TODO 4: load bytes and scales, store the numbers (3 lines)
    ### BEGIN SOLUTION
    packed = tl.load(packed_ptrs, mask=mask_g[:, None], other=0)
    scales = tl.load(scales_ptr + offs_g, mask=mask_g, other=0)
    tl.store(w_ptrs, unpack(packed, scales), mask=mask_g[:, None])
    ### END SOLUTION


def dequantize_mxfp4(packed, scales, dtype, block=128):
    """w [N, K] in `dtype`, from packed [N, K/2] and scales [N, K/32]; `block` groups a program."""
    N, K = packed.shape[0], 2 * packed.shape[1]
    require(
        packed=(packed, (N, K // 2), torch.uint8), scales=(scales, (N, K // 32), torch.uint8)
    )
    if K % 32:
        raise ValueError("K must be a multiple of 32")
    w = torch.empty((N, K), dtype=dtype, device=packed.device)
    G = scales.numel()
    if G > 0:
        mxfp4_kernel[(triton.cdiv(G, block),)](packed, scales, w, G, BLOCK_G=block)
    return w

# %% [markdown] tags=["hint"] key="dequantize_mxfp4"
# #### Hints for dequantize_mxfp4
#
# <details><summary>Hint 1: a question</summary>
#
# e2m1 has bias 1: 1.0 is E = 1, m = 0, the code 2. Which bits of a float16 does it become, and which
# number is that?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Float16's mantissa ends with bit 9 at the top, so `<< 9`; the sign goes from bit 3 to 15. The factor
# is 2 to the power of 15 - 1. In 8 bits a shift by 23 leaves nothing: widen first. A scale belongs to a
# row of the tile [G, 32].
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# bits = (code & 8) << ... | (code & 7) << ...
# return ...
# ```
#
# ```python
# bits = tl.where(code == 0, ..., code.to(...) << 23)
# return tl.where(..., float("nan"), ...)
# ```
#
# ```python
# codes = tl.interleave(..., ...).to(tl.int16)
# return e2m1(codes).to(tl.float32) * ...
# ```
#
# ```python
# packed = ...  # masked rows, as scales
# scales = ...
# tl.store(..., unpack(...), ...)
# ```
#
# </details>

# %% tags=["check"] key="dequantize_mxfp4" points=5
check(dequantize_mxfp4)

# %% [markdown]
# ## What it costs in digits
#
# From 1 to 2, M bits of mantissa make $2^M$ steps. Rounding moves x by half a step at most, which weighs
# most at the first half step: a relative error of
# $\frac{2^{-M-1}}{1 + 2^{-M-1}} = \frac{1}{2^{M+1} + 1}$. For subnormals it grows, up to 100 %.
#
# | format | at most | so |
# |---|---|---|
# | float16, M = 10 | 1 / 2049 | 0.05 % |
# | e4m3, M = 3 | 1 / 17 | 5.9 % |
# | e2m1, M = 1 | 1 / 5 | 20 % |
#
# MXFP4's scale is such that a group's largest number lies between 4 and 8 scales. Above 6 it is cut to
# 6: up to 25 %. The next cell quantises so, and compares with float64.


# %%
def quantize_mxfp4(w):
    """w [N, K], K a multiple of 32, as bytes [N, K/2] and scales [N, K/32], both uint8."""
    groups = w.float().unflatten(1, (-1, 32))
    largest = groups.abs().amax(dim=-1, keepdim=True).clamp(min=2.0**-100)
    power = largest.log2().floor() - 2  # largest / 2**power is 4 to 8
    middles = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], device=w.device)
    code = torch.bucketize(groups.abs() / 2.0**power, middles) | (groups < 0).long() << 3
    code = code.to(torch.uint8).flatten(1)
    return code[:, ::2] | code[:, 1::2] << 4, (power[..., 0] + 127).to(torch.uint8)


def lost(y, exact):
    return f"{100 * ((y.double() - exact).norm() / exact.norm()).item():5.2f} %"


torch.manual_seed(0)
x, w = torch.randn(64, 4096, device=DEVICE).double(), torch.randn(256, 4096, device=DEVICE)
w8 = decode_e4m3(w.to(torch.float8_e4m3fn).view(torch.uint8))
w4 = dequantize_mxfp4(*quantize_mxfp4(w), torch.float32)
for name, got in (("float16", w.half()), ("e4m3", w8), ("MXFP4", w4)):
    product = lost(x @ got.double().T, x @ w.double().T)
    print(f"{name:8} weights {lost(got, w.double())}, product {product}")

# %% [markdown]
# The product loses **what the weights lose**, however long the sum: K independent errors add up to
# $\sqrt K$ times one, and so do K products of random numbers. Page 51's integers lose about 10 % in
# groups of 32, with scales of 16 bits.
#
# ## Task 3. Multiply
#
# On page 51 a scale multiplied each step's product, so a step had one group. Here it may have several:
# scaled weights go into the dot. In bfloat16 that loses nothing, nor in float16 where it holds the numbers.
#
# `unpack` takes rows of 16 bytes; a step's tile is [BLOCK_N, BLOCK_K / 2]. `tl.reshape(t, (A, B))` gives
# the same numbers in the same order another shape. So make `GROUPS` rows of the tile, one list of its
# scales, [BLOCK_N, BLOCK_K / 32], and a tile [BLOCK_N, BLOCK_K] of the result.
#
# At step k, x begins k elements further on. How far do `packed` and `scales` go? And the last
# step may pass the end of the row. Write acc, the loop and the store: about 10 lines.

# %% tags=["answer"] key="matmul_mxfp4"
@triton.jit
def matmul_mxfp4_kernel(
    x_ptr, packed_ptr, scales_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """y[m, n] = sum over k of x[m, k] * w[n, k], w unpacked from MXFP4.

    One program = one tile of y, [BLOCK_M, BLOCK_N].
    Assumes contiguous tensors, K and BLOCK_K multiples of 32.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)[None, :]  # of weights, of bytes, of groups
    offs_b = tl.arange(0, BLOCK_K // 2)[None, :]
    offs_g = tl.arange(0, BLOCK_K // 32)[None, :]
    mask_m, mask_n = offs_m[:, None] < M, offs_n[:, None] < N
    x_ptrs = x_ptr + offs_m[:, None] * K + offs_k
    packed_ptrs = packed_ptr + offs_n[:, None] * (K // 2) + offs_b
    scales_ptrs = scales_ptr + offs_n[:, None] * (K // 32) + offs_g
    y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]
    GROUPS: tl.constexpr = BLOCK_N * BLOCK_K // 32  # of a tile of weights

    # TODO: acc; each step loads, unpacks, multiplies, adds; the store (about 10 lines)
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = K - k
        mask_b, mask_g = mask_n & (offs_b < left // 2), mask_n & (offs_g < left // 32)
        x = tl.load(x_ptrs + k, mask=mask_m & (offs_k < left), other=0.0)
        packed = tl.load(packed_ptrs + k // 2, mask=mask_b, other=0)
        scales = tl.load(scales_ptrs + k // 32, mask=mask_g, other=0)
        w = unpack(tl.reshape(packed, (GROUPS, 16)), tl.reshape(scales, (GROUPS,)))
        w = tl.reshape(w, (BLOCK_N, BLOCK_K)).to(x.dtype)
        acc = tl.dot(x, tl.trans(w), acc)
    tl.store(y_ptrs, acc, mask=mask_m & (offs_n[None, :] < N))
    ### END SOLUTION


def matmul_mxfp4(x, packed, scales, tile=None):
    """y [M, N] of x [M, K], half precision, and weights packed [N, K/2], scales [N, K/32]."""
    (M, K), N = x.shape, packed.shape[0]
    if K % 32 or x.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError("K must be a multiple of 32, and x float16 or bfloat16")
    require(
        x=(x, (M, K), x.dtype), packed=(packed, (N, K // 2), torch.uint8),
        scales=(scales, (N, K // 32), torch.uint8),
    )
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    tile = tile or tile_for(M)
    grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))
    if M > 0:
        matmul_mxfp4_kernel[grid](x, packed, scales, y, M, N, K, **tile)
    return y

# %% [markdown] tags=["hint"] key="matmul_mxfp4"
# #### Hints for matmul_mxfp4
#
# <details><summary>Hint 1: a question</summary>
#
# k counts weights. How many weights does a byte of `packed` hold, and for how many is a scale?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 51 has the loop. `mask_m` and `mask_n` stand upright already. K - k weights are left: half as many
# bytes. Unpacked, the weights are
# [BLOCK_N, BLOCK_K] in float32; the dot wants them in x's dtype, and [BLOCK_K, BLOCK_N].
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = ...
# for k in range(...):
#     mask_b, mask_g = mask_n & ..., mask_n & ...  # bytes and groups that are left
#     x = tl.load(..., mask=mask_m & ..., ...)
#     packed = tl.load(packed_ptrs + ..., ...)
#     scales = tl.load(scales_ptrs + ..., ...)  # [BLOCK_N, BLOCK_K / 32]
#     w = unpack(tl.reshape(packed, ...), tl.reshape(scales, (GROUPS,)))
#     w = tl.reshape(w, ...).to(...)
#     acc = tl.dot(..., tl.trans(...), acc)
# # store: n lies along the columns
# ```
#
# </details>

# %% tags=["check"] key="matmul_mxfp4" points=6
check(matmul_mxfp4)

# %% [markdown]
# Does it compile to tensor cores of an A100?

# %%
x, (packed, scales) = torch.randn(16, 4096, device=DEVICE).half(), quantize_mxfp4(w)
facts(matmul_mxfp4, x, packed, scales, arch=80)

# %% [markdown]
# It does, on tiles of float16: the weights have four bits in memory alone.
#
# ## Predict, then measure
#
# The next cell takes weights of 14,336 × 4,096 for a growing number of tokens, and shows nothing yet.
# *unpack, then cuBLAS* writes all weights to memory in float16 first.

# %%
from tritonbook.timing import bench_sweep

N, K = (14336, 4096) if DEVICE == "cuda" else (64, 128)
w = torch.randn(N, K, device=DEVICE).half() / K**0.5
packed, scales = quantize_mxfp4(w)
q = torch.randint(-128, 128, (N, K // 2), device=DEVICE).to(torch.int8)
s = torch.rand(N, K // 128, device=DEVICE).half() / 100
matmul_w4a16 = mine("matmul_w4a16")


def by_tokens(tokens):
    x = torch.randn(tokens, K, device=DEVICE).half()
    ways = {
        "float16 (cuBLAS)": lambda: x @ w.T,
        "MXFP4": lambda: matmul_mxfp4(x, packed, scales),
        "unpack, then cuBLAS": lambda: x @ dequantize_mxfp4(packed, scales, x.dtype).T,
        "page 51's W4A16": lambda: matmul_w4a16(x, q, s, 128),
    }
    return {"fns": ways, "flops": 2 * tokens * N * K}


tokens = bench_sweep(
    "tokens",
    [1, 16, 64, 256, 1024, 4096] if DEVICE == "cuda" else [1, 20],
    by_tokens,
    title="x (tokens, 4096) by MXFP4 weights (14336, 4096)",
    stored="mxfp4_tokens",
)


def exact_scales(dtype):
    """With how many scales does dtype hold all numbers of e2m1 exactly?"""
    every = torch.tensor([[0x10, 0x32, 0x54, 0x76] * 4], device=DEVICE, dtype=torch.uint8)
    scales = torch.arange(253, device=DEVICE, dtype=torch.uint8)[:, None]  # 6 * 2**126 is too large
    w = dequantize_mxfp4(every.repeat(253, 1), scales, torch.float32)
    return (w.to(dtype).float() == w).all(dim=1).sum().item()


# %% tags=["predict"]
from tritonbook import predict

predict(
    {
        "bits for each weight in MXFP4": None,
        "the number 0x01 in e4m3": None,
        "scales with which float16 holds all numbers of e2m1 exactly": None,
        "bytes that 'unpack, then cuBLAS' moves for one that MXFP4 moves: one token": None,
    },
    measured=[
        lambda: 8 * (packed.nbytes + scales.nbytes) / w.numel(),
        lambda: decode_e4m3(torch.ones(1, dtype=torch.uint8, device=DEVICE)).item(),
        lambda: exact_scales(torch.float16),
        lambda: 1 + 2 * w.nbytes / (packed.nbytes + scales.nbytes),
    ],
    hints=[
        "4 bits, and a share of an 8-bit scale.",
        "E = 0, m = 1, bias 7.",
        "0.5 scales is a multiple of 2**-24, and 6 scales are less than 65,520.",
        "Read 4.25 bits; write 16; read 16. x and y are small.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bits.** 4 + 8 / 32 = 4.25.
#
# **0x01.** $2^{1-7} \cdot 1/8 = 2^{-9} = 0.00195$.
#
# **Scales.** 0.5 · 2ᵉ is at least 2⁻²⁴ from e = -23 on. 6 · 2¹³ = 49,152 fits, 6 · 2¹⁴ does not. From -23 to
# 13 there are 37. bfloat16 has float32's exponent.
#
# **Bytes.** (4.25 + 16 + 16) / 4.25 = 8.5.
#
# </details>

# %%
tokens

# %% [markdown]
# **Read it downwards.** With one token MXFP4 reads 4.25 / 16 = 0.27 of float16's bytes. What its time is
# above that share is the work of unpacking. Each row of programs unpacks all weights again: 32
# rows of them at 4,096 tokens. *unpack, then cuBLAS* does it once, for an extra time that does not grow.
# So few tokens want one kernel, and many want two.
#
# <details><summary>What newer GPUs have</summary>
#
# ```python
# x = tl.load(x_ptrs).to(tl.float16)  # x_ptrs to torch.float8_e4m3fn: from sm_89 on
# acc = tl.dot_scaled(x, None, "bf16", w, scales, "e2m1", acc)  # w [BLOCK_K / 2, BLOCK_N], packed
# ```
#
# An RTX 4090 and an H100 convert two bytes in e4m3 by one instruction, and their tensor cores multiply fp8
# by fp8. Blackwell's tensor cores take e2m1 with its scales. Elsewhere Triton unpacks for `tl.dot_scaled`
# as you did; its interpreter does not know it.
#
# </details>
#
# ## Recap
#
# - A float is sign, exponent and mantissa. A bitcast reads bits as another type, and computes nothing.
# - Shift the fields to a wider float's places: the difference of the biases is one factor, and
#   subnormals come along.
# - M bits of mantissa lose at most 1 / (2^(M+1) + 1). A product loses what its weights lose.
# - Scales that are powers of two lose nothing.
#
# <details><summary>Common mistakes</summary>
#
# - `code << 7` in 8 bits: what is pushed out is lost.
# - `.to(tl.float16)` without `bitcast=True`: the bits taken for a whole number.
# - The sign shifted along with the exponent, or made by `-x`: -0 becomes 0.
# - All of E = 15 in e4m3 taken for NaN: 256 to 448 are numbers.
# - e8m0's code 0 as 0, or 255 as infinity.
# - `tl.reshape` in the place of `tl.trans`.
#
# </details>
#
# Next: [58_delta_rule](58_delta_rule.ipynb).

# %%
progress()
