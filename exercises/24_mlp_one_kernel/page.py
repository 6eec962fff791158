# ---
# workbook:
#   title: An MLP in one kernel
#   minutes: 55
#   needs: interpreter
#   requires: [23_fused_mlp]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - count what a fusion saves and what it costs, recomputation included
#     - write two products in a row, with what lies between them in registers
#     - say for which layers one kernel is better than two, and check it
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# On page 23 one matrix still went to memory: the hidden values, between the kernel that writes them
# and the product that reads them. Here is a simpler MLP, with two weights, as in GPT-2:
#
# `out = gelu(x @ w1) @ w2`, with x (M, D), w1 (D, H), w2 (H, D), often H = 4 D
#
# The hidden matrix has M × H values, four times as many as x. Why not keep them in registers too?

# %%
pictures("mlp_one_kernel").draw_mlp(fused=False)

# %%
pictures("mlp_one_kernel").draw_mlp(fused=True)

# %% [markdown]
# Many articles stop here: "one more fusion, the bytes of the hidden values saved". Let us finish the
# sum.
#
# In the single kernel a program owns a tile of the **output**. Its accumulator has at most 128 rows and
# 256 columns, or registers run out. To compute this tile the program needs **all** H hidden values of
# its rows. For these it needs all of x's rows, and all of w1. If D is more than 256, several programs
# share the same rows of the output. **Each of them computes the same hidden values again.**
#
# **Predict.** D is 4096, so the output has 16 columns of tiles. How often is the first product done?
# How many times the operations is that for both products?
#
# <details><summary>Answer</summary>
#
# 16 times, and the second product once: 17 products instead of 2, so 8.5 times the operations.
#
# </details>
#
# ## Task 1. The ledger
#
# Write `traffic_ledger(M, D, H)`. It compares three plans for 2-byte elements.
#
# | plan | what it does |
# |---|---|
# | `"separate"` | product, GELU, product: three kernels |
# | `"epilogue"` | GELU in the first product's epilogue: two kernels |
# | `"fused"` | one kernel |
#
# Each plan is a dictionary of four whole numbers:
#
# | entry | counts |
# |---|---|
# | `activations` | bytes of x, out and the hidden values. A matrix counts once for each kernel that reads it, and once for each that writes it |
# | `weights` | bytes of w1 and w2, each once |
# | `asked` | bytes of weights that the programs ask for |
# | `flops` | 2 for each multiplication of the products, recomputation included |
#
# For `asked`: a **row of tiles** is 128 rows of the output, the last may be shorter. Each row of tiles
# asks for all of each weight once. In the fused plan it asks for w1 once for each column of output
# tiles, which is 256 columns wide, the last may be narrower. About 18 lines. No kernel, just honest
# counting.

# %% tags=["reference"]
from tritonbook import matmul_tile, shared_memory_limit

ROWS_OF_A_TILE, COLUMNS_OF_A_TILE = 128, 256


def mlp_tile(D, dtype):
    """Sizes for the fused kernel: as wide as the layer, where registers allow it."""
    width = max(16, triton.next_power_of_2(D))
    if matmul_tile(dtype)["BLOCK_N"] < 128:  # no tensor cores
        sizes = 32, 32, 32, 32, 4, 2
    elif width <= 128:
        sizes = 64, width, 32, width, 4, 3
    elif width == 256 and shared_memory_limit() > 160_000:
        sizes = 128, 256, 64, 256, 8, 2
    else:
        sizes = 64, 64, 64, 128, 4, 2
    names = "BLOCK_M", "BLOCK_D", "BLOCK_H", "BLOCK_N", "num_warps", "num_stages"
    return dict(zip(names, sizes, strict=True))

# %% tags=["answer"] key="traffic_ledger"
def traffic_ledger(M, D, H):
    """Bytes and operations of three plans for gelu(x @ w1) @ w2, 2 bytes an element."""
    rows = triton.cdiv(M, ROWS_OF_A_TILE)  # rows of tiles
    columns = triton.cdiv(D, COLUMNS_OF_A_TILE)  # columns of output tiles
    # TODO: three plans, each a dict(activations=, weights=, asked=, flops=) (about 18 lines)
    ### BEGIN SOLUTION
    x = out = 2 * M * D
    hidden = 2 * M * H
    w1 = w2 = 2 * D * H
    one_product = 2 * M * D * H
    separate = dict(
        activations=x + 4 * hidden + out,
        weights=w1 + w2,
        asked=rows * (w1 + w2),
        flops=2 * one_product,
    )
    epilogue = dict(separate, activations=x + 2 * hidden + out)
    fused = dict(
        activations=x + out,
        weights=w1 + w2,
        asked=rows * (columns * w1 + w2),
        flops=columns * one_product + one_product,
    )
    return {"separate": separate, "epilogue": epilogue, "fused": fused}
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="traffic_ledger"
# #### Hints for traffic_ledger
#
# <details><summary>Hint 1: a question</summary>
#
# In the first plan, how often do the hidden values cross the border of a kernel? Follow them: out
# of the product, into the GELU, out of the GELU, into the second product.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# x is (M, D), the hidden values (M, H), each weight D × H elements of 2 bytes. A product of (M, D)
# by (D, H) takes 2 M D H operations. The fused plan does the first one `columns` times.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # bytes of x, out, the hidden values, w1, w2; operations of one product
# separate = dict(activations=..., weights=..., asked=..., flops=...)
# epilogue = dict(separate, activations=...)  # what else differs?
# fused = dict(...)  # which entries know of `columns`?
# return {"separate": separate, ...}
# ```
#
# </details>

# %% tags=["check"] key="traffic_ledger" points=4
check(traffic_ledger)

# %% [markdown]
# ## Find the border
#
# The least time of a plan is the larger of two: bytes over bandwidth, and operations over arithmetic
# speed. Suppose that the L2 cache answers every repeated request. Then the bytes are
# `activations + weights`. The cell takes an A100 (1.6 TB/s, 312 TFLOP/s) and asks up to which M the
# fused plan is no slower than the epilogue plan.

# %%
def best_ms(plan, bandwidth=1.6e12, speed=312e12):
    """The least time of a plan, when the L2 cache answers every repeated request."""
    return 1e3 * max((plan["activations"] + plan["weights"]) / bandwidth, plan["flops"] / speed)


def compare(M, D):
    ledger = traffic_ledger(M, D, 4 * D)
    return best_ms(ledger["fused"]), best_ms(ledger["epilogue"]), ledger


for D in (64, 128, 256, 512, 1024, 4096):
    slower = (M for M in range(1, 4097) if compare(M, D)[0] > compare(M, D)[1])
    border = next(slower, None)
    fused, epilogue, ledger = compare(64, D)
    again = ledger["fused"]["flops"] / ledger["epilogue"]["flops"]
    print(
        f"D={D:5}: fused is no slower {'up to M=4096' if border is None else f'below M={border}'}; "
        f"at M=64 it takes {fused / epilogue:.2f} of the time, and {again:.1f} times the operations"
    )

# %% [markdown]
# So the answer has two parts.
#
# - **A narrow layer**, D up to 256: one column of tiles holds a whole row of the output. Nothing is
#   computed twice, and the hidden values cost no memory at all.
# - **A wide layer**: where fused is no slower, it saves little, because weights are most of the bytes
#   and both plans read them. With more rows the repeated products cost more than memory did. And the
#   table is kind to the fused plan: it believes that the L2 cache answers everything at no cost.
#
# Predictions are worth checking. So build it.
#
# ## A smaller kernel first
#
# Two products in a row, `a @ b @ c`, each a single tile of 16 by 16. The result of the first `tl.dot`
# is a float32 tile in registers. It goes into the second one after a cast: both operands of a dot
# have the same dtype.


# %%
@triton.jit
def two_products_kernel(a_ptr, b_ptr, c_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tile = offs[:, None] * BLOCK + offs[None, :]
    between = tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile))
    between = between.to(c_ptr.dtype.element_ty)  # still in registers
    tl.store(out_ptr + tile, tl.dot(between, tl.load(c_ptr + tile)))


a, b, c = torch.randn(3, 16, 16, device=DEVICE).half()
out = torch.empty_like(a)
two_products_kernel[(1,)](a, b, c, out, BLOCK=16)
print("largest error:", (out - a @ b @ c).abs().max().item())

# %% [markdown]
# ## Task 2. The whole MLP
#
# | name | shape | role |
# |---|---|---|
# | `x` | (M, D), any strides | input |
# | `w1`, `w2` | (D, H) and (H, N), any strides | weights |
# | returned | (M, N), contiguous, dtype of `x` | `gelu(x @ w1) @ w2` |
#
# One launch; float32 is not cut to TF32. The GELU is that of page 03; `gelu_tanh` is given. Sizes that do not fit together raise
# `ValueError`.
#
# The kernel walks along H. At each step it computes one tile of hidden values,
# `[BLOCK_M, BLOCK_H]`. Three gaps:
#
# 1. **The hidden tile**, 8 lines: a product of its own, with an accumulator that starts at zero in
#    **each** step of the outer loop. Walk along D from the first tile on: `x_ptrs` and `w1_ptrs` point
#    at `d = 0`.
# 2. **What follows it**, 5 lines: GELU, cast, load a tile of w2, add the second product to `acc`, move
#    both weights on along H.
# 3. **The store**, 1 line.
#
# D is a `tl.constexpr`. A layer's width does not change, and where one tile holds all of D the compiler
# sees that the inner loop has one turn, and drops the loop.

# %% tags=["answer"] key="mlp_gelu_fused"
@triton.jit
def gelu_tanh(x):
    """GELU of float32, in the form with tanh: x sigmoid(2 z)."""
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


@triton.jit
def mlp_gelu_kernel(
    x_ptr, w1_ptr, w2_ptr, out_ptr,
    M, H, N,
    stride_xm, stride_xd,
    stride_1d, stride_1h,
    stride_2h, stride_2n,
    stride_om, stride_on,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """out = gelu(x @ w1) @ w2; the hidden values stay in registers.

    One program = one tile of out; it computes all hidden values of its rows.
    Any strides and sizes; sums and GELU are float32.
    """
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d, offs_h = tl.arange(0, BLOCK_D), tl.arange(0, BLOCK_H)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_d[None, :] * stride_xd
    w1_ptrs = w1_ptr + offs_d[:, None] * stride_1d + offs_h[None, :] * stride_1h
    w2_ptrs = w2_ptr + offs_h[:, None] * stride_2h + offs_n[None, :] * stride_2n

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for h in range(0, H, BLOCK_H):
        rest_h = offs_h < H - h
        # TODO 1: this step's hidden sums, a product along D (8 lines)
        ### BEGIN SOLUTION
        hidden = tl.zeros((BLOCK_M, BLOCK_H), dtype=tl.float32)
        for d in range(0, D, BLOCK_D):
            rest_d = offs_d < D - d
            mask_1 = rest_d[:, None] & rest_h[None, :]
            mask_x = mask_m & rest_d[None, :]
            x = tl.load(x_ptrs + d * stride_xd, mask=mask_x, other=0.0)
            w1 = tl.load(w1_ptrs + d * stride_1d, mask=mask_1, other=0.0)
            hidden = tl.dot(x, w1, hidden, input_precision="ieee")
        ### END SOLUTION
        # TODO 2: GELU, cast, second product into acc, both weights move on (5 lines)
        ### BEGIN SOLUTION
        act = gelu_tanh(hidden).to(w2_ptr.dtype.element_ty)
        w2 = tl.load(w2_ptrs, mask=rest_h[:, None] & mask_n, other=0.0)
        acc = tl.dot(act, w2, acc, input_precision="ieee")
        w1_ptrs += BLOCK_H * stride_1h
        w2_ptrs += BLOCK_H * stride_2h
        ### END SOLUTION

    out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on
    # TODO 3: store (1 line)
    ### BEGIN SOLUTION
    tl.store(out_ptrs, acc, mask=mask_m & mask_n)
    ### END SOLUTION


def mlp_gelu_fused(x, w1, w2):
    """gelu(x @ w1) @ w2, [M, N], in one launch."""
    if x.shape[1] != w1.shape[0] or w1.shape[1] != w2.shape[0]:
        raise ValueError("x must be (M, D), w1 (D, H), w2 (H, N)")
    M, D = x.shape
    H, N = w2.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    tile = mlp_tile(D, x.dtype)
    grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))
    mlp_gelu_kernel[grid](
        x, w1, w2, out, M, H, N,
        *x.stride(), *w1.stride(), *w2.stride(), *out.stride(), D=D, **tile,
    )
    return out

# %% [markdown] tags=["hint"] key="mlp_gelu_fused"
# #### Hints for mlp_gelu_fused
#
# <details><summary>Hint 1: a question</summary>
#
# What has to start at zero in each step of the outer loop, and what only once? Which pointers belong
# to the inner loop, and which to the outer one?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The inner loop is the product of page 20. After it come an epilogue and a cast, as in
# `two_products_kernel`. A tile of w1 has two masks: what is left of D, and what is left of H.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# hidden = ...
# for d in range(0, D, BLOCK_D):
#     # a tile of x and one of w1, d columns and d rows further
#     hidden = tl.dot(...)
# ```
#
# ```python
# act = ...  # in which dtype?
# # a tile of w2, its product with act added to acc
# # one step along H, for both weights
# ```
#
# </details>

# %% tags=["check"] key="mlp_gelu_fused" points=5
check(mlp_gelu_fused)

# %% [markdown]
# **Check the ledger by counting.** The meter runs your kernel and counts every byte that it asks for.
# Here D is 300, and a tile of the output has 128 columns, so there are three columns of tiles. w1 and
# w2 hold 38,400 bytes each. How often is each asked for?

# %%
half = dict(device=DEVICE, dtype=torch.float16)
x, w1, w2 = (torch.randn(*shape, **half) * 0.1 for shape in [(64, 300), (300, 64), (64, 300)])
traffic(mlp_gelu_fused, x, w1, w2)

# %% [markdown]
# ## Predict, then measure
#
# The next cell times narrow layers and wide ones, with few rows and with many, against three PyTorch
# operators. It shows nothing yet. Without a GPU it fetches the times of an H200.

# %%
from tritonbook.timing import bench_sweep


def plain_mlp(x, w1, w2):
    return torch.nn.functional.gelu(x @ w1, approximate="tanh") @ w2


def by_layer(name):
    M, D = (int(number) for number in name.split(" x "))
    shapes = [(M, D), (D, 4 * D), (4 * D, D)]
    args = tuple(torch.randn(*shape, device=DEVICE).bfloat16() * 0.1 for shape in shapes)
    return {"fns": {"torch": plain_mlp, "mlp_gelu_fused": mlp_gelu_fused}, "args": args}


layers = [f"{M} x {D}" for M in (128, 65536) for D in (64, 128, 256, 512, 1024)]
layers = layers if DEVICE == "cuda" else ["32 x 16"]
timed = bench_sweep(
    "rows x D", layers, by_layer,
    title="An MLP with 4 D hidden values, bfloat16", stored="mlp_one_kernel",
)  # fmt: skip
wide = traffic_ledger(65536, 1024, 4096)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes of w1 that the call above asks for": None,
        "times the operations: fused over epilogue, D = 1024": None,
    },
    measured=[
        lambda: traffic(mlp_gelu_fused, x, w1, w2)["w1"],
        lambda: wide["fused"]["flops"] / wide["epilogue"]["flops"],
    ],
    hints=[
        "Three columns of tiles, and each asks for all of w1.",
        "Four columns of 256: the first product is done four times, the second once.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** 300 × 64 × 2 = 38,400, times 3 columns of tiles: 115,200. w2 is asked for once.
#
# **Operations.** 4 + 1 products for 1 + 1: 2.5.
#
# </details>

# %%
timed

# %% [markdown]
# **Read the table** from top to bottom, first with 65,536 rows.
#
# - Up to D = 256 nothing is computed twice, and the hidden matrix of 65,536 × 4 D never exists. Divide
#   the two columns: that is what one more fusion is worth. An H200 gained 1.9 times at D = 64, 1.1
#   times at D = 256.
# - From D = 512 on the repeated products decide, and the wider the layer, the more. At D = 1024 the
#   columns of a tile are 128, so the first product is done 8 times. With the second that is 9 products
#   for 2, 4.5 times the operations, and an H200 took 17 times as long.
#
# Now with 128 rows. The ledger promised a gain there too, up to D = 512. The H200 shows none: at D = 64 both
# keep the GPU busy for 6.4 µs, and at D = 256 the fused kernel takes 2.5 times as long. In a narrow layer 128 rows are one or two
# programs, and the other 130 processors have nothing to do. **A bound says what is possible, not what
# happens.**
#
# ## Recap
#
# - To fuse a product with the product after it, every program needs the whole row between them. If the
#   row of the output is wider than a tile, that row is computed again and again.
# - Bytes saved mean nothing without the bytes and operations added. Count both, weights included.
# - One kernel for narrow layers with many rows. Two kernels, the activation in the epilogue, for all
#   others.
#
# <details><summary>Common mistakes</summary>
#
# - The hidden accumulator not reset for each step along H.
# - GELU inside the loop over D, before the sum is complete.
# - Arithmetic that counts activations only. Weights are the larger part up to M = D H / (D + H): 3,277
#   rows with D = 4096 and H = 16384.
#
# </details>
#
# Next: [30_register_op](30_register_op.ipynb), where a kernel becomes an operator of PyTorch.

# %%
progress()
