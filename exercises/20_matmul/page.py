# ---
# workbook:
#   title: Matrix multiplication
#   minutes: 50
#   needs: interpreter
#   requires: [10_rmsnorm_rows]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - multiply matrices tile by tile on tensor cores, with a float32 sum
#     - say what TF32 is, and who gets it without asking
#     - multiply transposed, sliced and ragged matrices with one kernel, and no copy
#     - read registers and shared memory off the compiler, and race cuBLAS
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Language models spend most of their time in one operation, the product of two matrices, C = A B:
#
# $$c_{mn} = \sum_k a_{mk} \, b_{kn}$$
#
# One program for each element of C would load two numbers for each multiplication. Memory cannot
# deliver that fast. So **one program computes one tile of C**. It needs a strip of A (the tile's rows)
# and a strip of B (the tile's columns). Each number of A that it loads serves every column of the
# tile, and each number of B every row.
#
# The strips are too long for registers, so the program walks along K. In each step it loads a tile of
# A and a tile of B, multiplies them, and adds the product to its tile of C.

# %%
pictures("matmul").draw_k_loop(
    M=96, N=128, K=160, block_m=32, block_n=32, block_k=64, pid_m=1, pid_n=2
)

# %% [markdown]
# **Predict.** C is 4,096 × 4,096, in tiles of 128 × 256. How many programs run? How often is each
# element of A loaded? And each element of B?
#
# <details><summary>Answer</summary>
#
# 32 × 16 = 512 programs. The 16 programs of one row of tiles all read the same strip of A, so each
# element of A is loaded 4,096 / 256 = 16 times, and each element of B 4,096 / 128 = 32 times. With one
# program for each element of C it would be 4,096 times. The larger the tile, the fewer the loads.
#
# </details>
#
# ## A smaller kernel first: one tile, one step
#
# One program multiplies a 16 × 32 matrix by a 32 × 64 one. Two things are new.
#
# - **Tiles with two dimensions.** `offs_m[:, None]` makes a column of the offsets, [16, 1], and
#   `offs_k[None, :]` a row, [1, 32]. Their sum is a whole tile, [16, 32], as in PyTorch. The rows of
#   a contiguous A lie K elements apart, so a[m, k] stands at `a_ptr + m * K + k`.
# - **`tl.dot(a, b)`** is the product of two tiles of one dtype, [M, K] by [K, N]. It runs on the tensor
#   cores of page 02. They add up in float32, and so the result is float32. All three sizes are powers
#   of two, and **at least 16**.


# %%
@triton.jit
def one_step_kernel(
    a_ptr, b_ptr, c_ptr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = all of c.
    Assumes contiguous matrices of exactly one tile each.
    """
    offs_m = tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)

    a_ptrs = a_ptr + offs_m[:, None] * BLOCK_K + offs_k[None, :]  # [BLOCK_M, BLOCK_K]
    b_ptrs = b_ptr + offs_k[:, None] * BLOCK_N + offs_n[None, :]  # [BLOCK_K, BLOCK_N]
    a = tl.load(a_ptrs)
    b = tl.load(b_ptrs)

    c = tl.dot(a, b)

    tl.store(c_ptr + offs_m[:, None] * BLOCK_N + offs_n[None, :], c)


def one_step(a, b):
    c = torch.empty(16, 64, device=a.device)
    one_step_kernel[(1,)](a, b, c, BLOCK_M=16, BLOCK_N=64, BLOCK_K=32)
    return c


a = torch.randn(16, 32, device=DEVICE, dtype=torch.float16)
b = torch.randn(32, 64, device=DEVICE, dtype=torch.float16)
print("largest error:", (one_step(a, b) - a.float() @ b.float()).abs().max().item())

# %% [markdown]
# ## What about float32?
#
# Tensor cores take float16 and bfloat16, but no float32. They do take **TF32**: a float32 cut from 23
# binary digits behind the point to 10. To float32 tiles `tl.dot` does just that, unless you object.
# Here the digits are cut by hand.


# %%
def as_tf32(x):
    """x without its last 13 binary digits."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


a, b = torch.randn(64, 128), torch.randn(128, 64)
exact = a.double() @ b.double()
for name, c in {"float32": a @ b, "TF32": as_tf32(a) @ as_tf32(b)}.items():
    print(f"{name:7} largest error {(c - exact).abs().max().item():.6f}")

# %% [markdown]
# In this workbook float32 means float32, as in PyTorch's `a @ b`. You say so with `input_precision`:
#
# | float32 tiles and `input_precision=` | what happens |
# |---|---|
# | `"tf32"`, the default | cut to TF32, on tensor cores |
# | `"ieee"` | float32, on the ordinary units: right, and slower |
#
# For half-precision tiles it changes nothing. Triton's interpreter multiplies float32 as float32
# whatever you write, so the check compiles your kernel for an A100 and looks there.
#
# **In a loop, give `tl.dot` a third argument:** `acc = tl.dot(a, b, acc, input_precision="ieee")` is
# `acc` plus the product.
#
# ## The contract
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `a` | [M, K] | float16, bfloat16, float32 | input, never changed |
# | `b` | [K, N] | as `a` | input, never changed |
# | result | [M, N], contiguous | as `a` | new |
#
# - `matmul_whole` (Task 1) takes contiguous matrices of whole tiles: M a multiple of 64, N of 32, K
#   of 16. `matmul` (Task 2) takes any sizes and any strides.
# - The sum is float32 for every dtype, rounded once; float32 is not cut to TF32.
# - One launch, no copy.
# - Anything else raises `ValueError`.

# %% tags=["reference"]
from tritonbook import matmul_tile


def matmul_ref(a, b):
    return a @ b


def require_product(a, b):
    """Raise ValueError unless a @ b is a product of two matrices of one dtype."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or a.dtype != b.dtype:
        shapes = f"{tuple(a.shape)} {a.dtype} by {tuple(b.shape)} {b.dtype}"
        raise ValueError(f"cannot multiply {shapes}")

# %% [markdown]
# ## Task 1. The walk along K
#
# Fill the gap, about 8 lines: an accumulator `acc`, the loop that adds to it, and the store. `a_ptrs`
# and `b_ptrs` point at the first tiles. You move them on, by adding a number of elements. Whole tiles
# need no masks.

# %% tags=["answer"] key="matmul_whole"
@triton.jit
def matmul_whole_kernel(
    a_ptr, b_ptr, c_ptr,
    N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c, [BLOCK_M, BLOCK_N].
    Assumes contiguous matrices of whole tiles.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)

    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]  # [BLOCK_M, BLOCK_K]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]  # [BLOCK_K, BLOCK_N]
    c_ptrs = c_ptr + offs_m[:, None] * N + offs_n[None, :]  # [BLOCK_M, BLOCK_N]

    # TODO: acc, the loop (load both tiles, add their product, move on), store (8 lines)
    ### BEGIN SOLUTION
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N

    tl.store(c_ptrs, acc)
    ### END SOLUTION


def matmul_whole(a, b):
    """a @ b for contiguous a [M, K], b [K, N]; M, N, K multiples of 64, 32, 16."""
    require_product(a, b)
    (M, K), N = a.shape, b.shape[1]
    if M % 64 or N % 32 or K % 16 or not (a.is_contiguous() and b.is_contiguous()):
        raise ValueError("whole tiles of contiguous matrices are needed")
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (M // 64, N // 32)
    matmul_whole_kernel[grid](a, b, c, N, K, BLOCK_M=64, BLOCK_N=32, BLOCK_K=16)
    return c

# %% [markdown] tags=["hint"] key="matmul_whole"
# #### Hints for matmul_whole
#
# <details><summary>Hint 1: a question</summary>
#
# Look at the arrows in the picture. From one step to the next, how many elements does the tile of A
# move in memory? The tile of B goes down, from row to row. How far apart are two rows of B?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `row_sum_kernel` of page 10 has such an accumulator, with one dimension: `tl.zeros` takes two sizes
# as well. A whole tile of pointers moves at once, when you add one number to it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# acc = ...  # as large as the tile of c, in float32
# for ... in range(...):  # one turn for each step of the picture
#     # load both tiles
#     acc = ...
#     a_ptrs += ...
#     b_ptrs += ...
# # store
# ```
#
# </details>

# %% tags=["check"] key="matmul_whole" points=4
check(matmul_whole)

# %% [markdown]
# ## Any strides
#
# A matrix in memory is one long row of numbers. Two strides say where an element stands: a[m, k] at
# `a_ptr + m * stride_am + k * stride_ak`. Look at what a transposed matrix and a slice are.

# %%
a = torch.arange(12.0).reshape(3, 4)
for name, view in {"a": a, "a.T": a.T, "a[:, ::2]": a[:, ::2], "a[1:]": a[1:]}.items():
    where = f"strides {view.stride()!s:7} from element {view.storage_offset()}"
    print(f"{name:10} shape {tuple(view.shape)!s:7} {where}")

# %% [markdown]
# The same twelve numbers in memory each time. A kernel that uses both strides of each matrix multiplies
# them all, and copies nothing. One step along K is then `BLOCK_K * stride_ak` elements in A. And in B?
#
# ## Any sizes
#
# - **Rows past M, columns past N** need a mask in the loads and in the store. Masks combine with `&`:
#   `mask_m[:, None] & mask_n[None, :]`.
# - **Columns past K, in the last step.** At step `k`, lane j of `offs_k` stands for column k + j. So it
#   counts where `offs_k < K - k`. The masked lanes enter the sum, so they have to be 0, by `other=0.0`,
#   in A **and** in B. Without it they hold anything, and NaN times 0 is NaN.
#
# **Predict.** K is 70 and `BLOCK_K` is 32. How many steps are there, and how many lanes count in the
# last one? What would `offs_k < K` let through?
#
# <details><summary>Answer</summary>
#
# Three steps, at k = 0, 32 and 64. In the last one K - k = 6 lanes count. `offs_k < 70` is true for
# all 32: the other 26 would come from A's next row, and from below the end of B.
#
# </details>
#
# ## Task 2. Any matrices
#
# Write the kernel from the pointers to the store, about 12 lines, and the wrapper's grid, 1 line.
# `tile` holds the sizes that your programs take, `num_warps` and `num_stages`. Without one, `matmul_tile`
# chooses for this GPU; page 22 shows how. A stride may be 0.

# %% tags=["answer"] key="matmul"
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c, [BLOCK_M, BLOCK_N].
    Assumes nothing: any strides, any M, N, K.
    """
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m < M, offs_n < N

    # TODO: pointers, acc, the loop with its masks, the store (about 12 lines)
    ### BEGIN SOLUTION
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

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])
    ### END SOLUTION


def matmul(a, b, tile=None):
    """a @ b for any matrices. tile: sizes as `matmul_tile` gives them (default: its own)."""
    require_product(a, b)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    tile = tile or matmul_tile(a.dtype, stages=4)
    # TODO: the grid, from tile["BLOCK_M"] and tile["BLOCK_N"] (1 line)
    ### BEGIN SOLUTION
    grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))
    ### END SOLUTION
    matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), **tile
    )
    return c

# %% [markdown] tags=["hint"] key="matmul"
# #### Hints for matmul
#
# <details><summary>Hint 1: a question</summary>
#
# Which lines of Task 1 can you keep? In each of the others a K or an N stands for a stride. Whose?
# And which two of the three masks does each load need, and which two the store?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The first tile's pointers are in the given lines of Task 1. The loop needs its variable now: the mask
# along K depends on it. The number of tiles that cover M is what `triton.cdiv` gives.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# # a_ptrs, b_ptrs: rows times one stride plus columns times the other
# # acc
# for k in range(0, K, BLOCK_K):
#     mask_k = ...  # how many lanes are left at step k?
#     # load both tiles, each with two masks and other=
#     # the product, then on to the next tiles
# # store acc at rows and columns of c
# ```
#
# </details>

# %% tags=["check"] key="matmul" points=6
check(matmul)

# %% [markdown]
# Your loop, in tiles of 16. Follow one program: 1 and 2 are its first step, 3 and 4 its second.

# %%
a, b = torch.randn(40, 24, device=DEVICE), torch.randn(24, 40, device=DEVICE)
show_tiles(matmul, a, b, tile=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16))

# %% [markdown]
# ## What limits the tile?
#
# `facts` compiles your kernel for an A100.

# %%
for dtype in (torch.float16, torch.float32):
    square = torch.empty(4096, 4096, dtype=dtype, device=DEVICE)
    for kernel in facts(matmul, square, square):
        print(dtype, kernel.constants)
        print(f"  tensor core instructions: {kernel.tensor_cores}")
        print(f"  registers: {kernel.registers}, bytes of spills: {kernel.spills}")
        print(f"  bytes of shared memory: {kernel.shared_bytes:,}")

# %% [markdown]
# - **Tensor core instructions.** None in float32: that is `"ieee"` at work.
# - **Registers.** In float16 `acc` has 128 × 256 numbers, and 8 warps of 32 threads share them: 128
#   registers in each thread, of 255. Addresses and tiles take most others: twice the tile would spill.
# - **Shared memory** is a small, fast memory in each multiprocessor. All warps of a program reach it,
#   and tiles wait there for the tensor cores. A pair of tiles takes (128 + 256) · 64 · 2 = 49,152
#   bytes. Memory answers late, so Triton asks for tiles some steps ahead: `num_stages=3` has three
#   pairs under way. On an A100 two of them wait, and the third is in registers. An H100's tensor cores
#   read from shared memory, so all three lie there. `matmul` takes a fourth.
#
# An A100 has 166,912 bytes for a program. Five stages need four pairs there, and Triton refuses.

# %%
facts(matmul, square.half(), square.half(), tile=matmul_tile(torch.float16) | {"num_stages": 5})

# %% [markdown]
# ## Predict, then measure
#
# The next cell times three sizes and shows nothing yet. *cuBLAS* is NVIDIA's library, the one behind `a @ b`.

# %%
from tritonbook.timing import bench_sweep


def square_product(size):
    a, b = torch.randn(2, size, size, device=DEVICE, dtype=torch.float16)
    ways = {"cuBLAS": torch.matmul, "matmul": matmul}
    return {"fns": ways, "args": (a, b), "flops": 2 * size**3, "bytes": 6 * size**2}


sizes = bench_sweep(
    "size",
    [2048, 4096, 8192] if DEVICE == "cuda" else [64, 128],
    square_product,
    title="Products of square float16 matrices",
    stored="matmul_sizes",
)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "bytes read from a (256 x 64) by b (64 x 512), float16, in tiles of 64 x 128": None,
        "bytes of shared memory on an H100: tiles of 128 x 256 x 64, float16, 3 stages": None,
        "ms of cuBLAS for the largest of the three sizes": None,
    },
    measured=[
        lambda: traffic(
            matmul,
            torch.randn(256, 64, device=DEVICE).half(),
            torch.randn(64, 512, device=DEVICE).half(),
            tile=dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=32),
        )["a"],
        lambda: facts(
            matmul,
            *torch.empty(2, 512, 512, dtype=torch.float16, device=DEVICE),
            arch=90,
            tile=dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3),
        )[0].shared_bytes,
        lambda: time_of(sizes.results[-1], "cuBLAS"),
    ],
    hints=[
        "Each element of a is loaded once for every column of tiles. How many are there?",
        "One pair of tiles has 49,152 bytes. How many pairs lie there?",
        "2 x 8192 x 8192 x 8192 operations. An H200 reaches 650 TFLOP/s; 1 TFLOP/s is 1e9 in a ms.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Bytes.** a holds 256 × 64 × 2 = 32,768 bytes. There are 512 / 128 = 4 columns of tiles, and each
# reads all of a: 131,072.
#
# **Shared memory.** Three pairs of 49,152 bytes: 147,456.
#
# **Milliseconds.** 2 × 8192³ = 1.1e12 operations at 650 TFLOP/s: 1.69 ms. (The H200 of the table took
# 1.73.) The data sheet's 989 TFLOP/s would give 1.11 ms. No large product gets there: the tensor cores
# draw so much power that the GPU slows its clock.
#
# </details>

# %%
sizes

# %%
sizes.plot("tflops")

# %% [markdown]
# **Read it.** The three matrices of 8,192 × 8,192 hold 403 MB. At an H200's 4,150 GB/s they take 0.10
# ms, the operations 1.69: the product is compute-bound, and what counts is that tensor cores never
# wait. Divide the columns: that much of cuBLAS your loop reaches. On the
# H200 it is 1.08, 1.01 and 0.96. Page 21 has the rest.
#
# ## Recap
#
# - One program computes one tile of C: it walks along K and adds `tl.dot` to a float32 accumulator.
# - float32 tiles become TF32 unless you write `input_precision="ieee"`.
# - Two strides address any matrix. A transposed or sliced one costs no copy and no extra code.
# - Mask K as well, with `offs_k < K - k`. Its masked lanes enter the sum, so they must be 0.
# - Registers limit the tile, shared memory the tile times its stages.
#
# <details><summary>Common mistakes</summary>
#
# - `for k in range(K // BLOCK_K)`: the last, partial step is dropped.
# - `acc = tl.dot(a, b)` in the loop: only the last step counts.
# - `b_ptrs += BLOCK_K * stride_bn`: B is walked through sideways.
# - A's strides for C: right for square contiguous matrices, wrong for all others.
# - A float16 `acc`: `tl.dot` refuses it, and with `+=` it is wrong for a long K.
#
# </details>
#
# Next: [21_matmul_grouped](21_matmul_grouped.ipynb), where the order of the tiles matters.

# %%
progress()
