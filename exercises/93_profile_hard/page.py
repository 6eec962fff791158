# ---
# workbook:
#   title: Find what is slow inside
#   minutes: 45
#   needs: interpreter
#   requires: [91_profile, 20_matmul, 42_flash_gqa]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - find out why a kernel is slow while all of the GPU is at work
#     - read registers, spills, instructions and products off what the compiler made
#     - mend four kernels, each a line or two from fast, and name what ailed them
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The GPU is busy. With what?
#
# The patients of page 91 were slow around the kernel, or by its grid and addresses. These four are slow in
# what each program does. A profiler shows one long kernel and nothing else: it says *that* time goes
# there, and not *why*.
#
# So ask what a program does all the time. Three numbers say what it should do at least: the bytes to
# move, the products to compute, the other arithmetic. Then see what the compiler made of your lines.
#
# | question | fact | suspicious |
# |---|---|---|
# | Do the values fit? | registers, spills | spills of any size |
# | Are products made by the units for it? | tensor core instructions | 0 in a kernel with `tl.dot` |
# | With how many digits? | float64 instructions | any at all |
# | Do loads keep together? | loads, vectors among them | few vectors |
# | How many products? | FLOPs of `traffic` | more than the formula has |
#
# All of it is known before the kernel has run, and without a GPU. What a GPU adds is the size of the
# damage. The times in the text are from an H100 80GB HBM3 with PyTorch 2.11 and Triton 3.6.
#
# ## The causes
#
# | name | cause |
# |---|---|
# | `"spills"` | values find no register, and go to memory |
# | `"no tensor cores"` | tiles are multiplied without the units made for it |
# | `"masked loop"` | a loop pays at each turn for a mask that few turns need |
# | `"float64"` | arithmetic is done in float64, though no input has it |
# | `"uncoalesced"` | neighbouring lanes read addresses that are far apart |
# | `"few programs"` | there are fewer programs than multiprocessors |
# | `"recompilation"` | a kernel is compiled for each call anew |
# | `"host waits"` | Python stops in the middle of a call until the GPU is done |
# | `"repeated loads"` | a program loads the same bytes again and again |
# | `"many launches"` | one job is cut into many short kernels |

# %% tags=["reference"]
def require_contiguous(*tensors):
    """Raise ValueError unless the tensors have no gaps and their own order in memory."""
    if not all(each.is_contiguous() for each in tensors):
        raise ValueError("the tensors must be contiguous")

# %% [markdown]
# ## Patient E: as fast as a copy, up to 4,096 columns
#
# *"Softmax of rows with 16,384 columns. Each row is loaded once and stored once. A row is one job, so it
# gets one warp. Up to 4,096 columns it is as fast as a copy."* The result is `x.softmax(-1)`.
#
# | columns (2^26 numbers) | 1,024 | 2,048 | 4,096 | 8,192 | 16,384 |
# |---|---|---|---|---|---|
# | patient, microseconds | 182 | 184 | 188 | 254 | 955 |
# | copy | 182 | 182 | 182 | 182 | 182 |

# %% tags=["answer"] key="softmax_wide"
@triton.jit
def softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    """y = exp(x - max(x)) / sum(exp(x - max(x))) for each row.

    One program = one row, held whole in registers.
    Assumes BLOCK_N >= N, and contiguous tensors.
    """
    row = tl.program_id(axis=0).to(tl.int64) * N
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N

    x = tl.load(x_ptr + row + offs_n, mask=mask_n, other=float("-inf")).to(tl.float32)
    p = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + offs_n, p / tl.sum(p, axis=0), mask=mask_n)


def softmax_wide(x):
    """The softmax of the rows of x [M, N], N up to 16,384: a new tensor."""
    require_contiguous(x)
    M, N = x.shape
    if N > 16384:
        raise ValueError("a row has at most 16,384 columns")
    y = torch.empty_like(x)
    BLOCK_N = triton.next_power_of_2(N)
    ### BEGIN SOLUTION
    num_warps = max(1, min(16, BLOCK_N // 1024))
    ### BROKEN
    # num_warps = 1
    ### END SOLUTION
    softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=BLOCK_N, num_warps=num_warps)
    return y


def softmax_wide_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "spills"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="softmax_wide"
# #### Hints for softmax_wide
#
# <details><summary>Hint 1: a question</summary>
#
# A warp has 32 threads. How many numbers of a row of 16,384 does each of them hold? How many registers
# may a thread have?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# At the line `spilled to memory` below. Such bytes go to memory and come back. `traffic` cannot see them,
# as they belong to no tensor.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# More threads hold fewer numbers each. Let the number of warps grow with the row: 32 numbers a thread
# are comfortable. It is a power of two, and 16 are enough here.
#
# </details>

# %%
facts(softmax_wide, torch.empty(4096, 16384))

# %% [markdown]
# **Predict.** With 4 warps, how many numbers does a thread hold? Will they fit in 255 registers?
#
# <details><summary>Answer</summary>
#
# 16,384 / 128 = 128. They fit: addresses and exponentials need some more, and there is room. With 2 warps
# there are 256, and they do not. Try both, with the cell above. (With 1 warp the compiler gives up early:
# it spills nearly all, and takes 64 registers.)
#
# </details>

# %% tags=["check"] key="softmax_wide" points=2
check(softmax_wide)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Divide: the elements of all tiles that are alive at once, by 32 times the number of warps. Above 200 it
# spills. The other way out is a smaller tile and a loop, as in page 41.
#
# </details>
#
# ## Patient F: a product at a seventh of its speed
#
# *"A matmul of half precision. To lose no digits we go to float32 before we multiply, and ask for exact
# products. The values are as good as they get."* The result is `a @ b`. With 2,048 rows and columns it
# takes 450 microseconds, and PyTorch's 28.

# %% tags=["answer"] key="half_matmul"
@triton.jit
def half_matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c.
    Assumes contiguous tensors.
    """
    offs_m = tl.program_id(axis=0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)

    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        mask_a = (offs_m < M) & (offs_k < K)[None, :]
        mask_b = (offs_k < K)[:, None] & (offs_n < N)
        a = tl.load(a_ptr + offs_m * K + offs_k[None, :], mask=mask_a, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=mask_b, other=0.0)
        ### BEGIN SOLUTION
        acc = tl.dot(a, b, acc)
        ### BROKEN
        # a, b = a.to(tl.float32), b.to(tl.float32)
        # acc = tl.dot(a, b, acc, input_precision="ieee")
        ### END SOLUTION

    tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


def half_matmul(a, b, tile=64):
    """The product of a [M, K] and b [K, N], both in half precision: a new tensor of their dtype."""
    require_contiguous(a, b)
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    half_matmul_kernel[(triton.cdiv(M, tile), triton.cdiv(N, tile))](
        a, b, c, M, N, K, BLOCK_M=tile, BLOCK_N=tile, BLOCK_K=32
    )
    return c


def half_matmul_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "no tensor cores"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="half_matmul"
# #### Hints for half_matmul
#
# <details><summary>Hint 1: a question</summary>
#
# A float16 has 11 binary digits. How many digits has the exact product of two? And how many has the
# float32 that it is added to?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# A tensor core multiplies half precision **exactly**, and adds in float32. Which of the two lines keeps
# the tiles away from it?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Give `tl.dot` the tiles as they came from memory. Dropping `input_precision` alone brings tensor cores
# too, with float32 cut to TF32. That takes 256 microseconds: better, and still several times too long.
#
# </details>

# %%
facts(half_matmul, *torch.empty(2, 2048, 2048, dtype=torch.float16))

# %% [markdown]
# **Predict.** By how much do the values change with the mend?
#
# <details><summary>Answer</summary>
#
# Hardly: 11 digits times 11 digits are 22 at most, and a float32 has 24. Each product is exact in both.
# The order of the additions is another one, and the store rounds to 11 digits anyway.
#
# </details>

# %% tags=["check"] key="half_matmul" points=2
check(half_matmul)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# A kernel with `tl.dot` and 0 tensor core instructions is ill. Cast after the product, and not before:
# `acc` is in float32 all the time.
#
# </details>
#
# ## Patient G: harmless here
#
# *"GELU by its formula with tanh. We wrote the constant with all its digits, so that nothing is lost. On
# our H100 it takes 191 microseconds, and a copy 182. Next week the model moves to an L4. Do we have to
# worry?"* The result is that of `torch.nn.functional.gelu(x, approximate="tanh")`.

# %% tags=["answer"] key="gelu_digits"
@triton.jit
def gelu_digits_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """y = x / (1 + exp(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).

    One program = BLOCK elements.
    Assumes contiguous tensors.
    """
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)

    ### BEGIN SOLUTION
    root = 0.7978845608028654
    ### BROKEN
    # root = tl.full((1,), 0.7978845608028654, dtype=tl.float64)
    ### END SOLUTION
    u = root * (x + 0.044715 * x * x * x)
    y = x / (1 + tl.exp(-2 * u))

    tl.store(y_ptr + offs, y, mask=mask)


def gelu_digits(x, block=1024):
    """GELU of x, of any shape: a new tensor."""
    require_contiguous(x)
    y, n = torch.empty_like(x), x.numel()
    gelu_digits_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def gelu_digits_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "float64"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="gelu_digits"
# #### Hints for gelu_digits
#
# <details><summary>Hint 1: a question</summary>
#
# A float32 times a float64: of which dtype is the product? And all that is computed from it?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Put `tl.static_print(root.dtype, u.dtype, y.dtype)` before the store, and run the cell below.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# A number that stands in a kernel as it is takes the dtype of the tile that it meets.
#
# </details>

# %%
facts(gelu_digits, torch.empty(2**26))

# %% [markdown]
# An exponential in float64 is no instruction but a small program. The facts count them for a thread with
# 8 numbers. A multiprocessor of an H100 does 64 float64 operations a clock, that of an A10, L4 or T4 two.
#
# **Predict.** 2^26 numbers, 24 instructions each. An L4 has 58 multiprocessors at 2 GHz, an H100 132 at
# 1.7 GHz. How long does the arithmetic take, beside a copy (1.8 ms and 0.18 ms)?
#
# <details><summary>Answer</summary>
#
# 1.6 billion instructions. L4: 58 × 2 × 2 GHz = 232 billion a second, 7 ms, four copies. H100: 132 × 64 ×
# 1.7 GHz = 14,400 billion, 0.11 ms: it hides behind the copy. The time on your GPU says nothing about
# another one. The fact does.
#
# </details>

# %% tags=["check"] key="gelu_digits" points=2
check(gelu_digits)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Look for float64 where a dtype comes from outside: NumPy's tables, `torch.tensor(0.1, dtype=float64)`,
# `tl.full`. One such number is enough, because the wider dtype wins.
#
# </details>
#
# ## Patient H: half the work, three times the time
#
# *"Each row t of the result sums the rows of b up to t, with weights a: causal attention without its
# softmax. We mask what lies above the diagonal. Half of the full product would do, and it takes three
# times as long as all of it: 345 microseconds, where patient F takes 114, mended, with the same tiles."*
# The result is `a.tril() @ b`.

# %%
pictures("profile_hard").draw_triangle()

# %% tags=["answer"] key="lower_matmul"
@triton.jit
def lower_matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    T, N,
    BLOCK_T: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c[t] = sum of a[t, k] b[k] over k <= t.

    One program = one tile of c.
    Assumes contiguous tensors, and that BLOCK_T is a multiple of BLOCK_K.
    """
    first = tl.program_id(axis=0) * BLOCK_T
    offs_t = first + tl.arange(0, BLOCK_T)[:, None]
    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)

    ### BEGIN SOLUTION
    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0)
        acc = tl.dot(a, b, acc)
    start, end = first, tl.minimum(first + BLOCK_T, T)
    ### BROKEN
    # start, end = 0, T
    ### END SOLUTION
    for k in range(start, end, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)
        mask_b = (offs_k < T)[:, None] & (offs_n < N)
        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=mask_a, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=mask_b, other=0.0)
        acc = tl.dot(a, b, acc)

    tl.store(c_ptr + offs_t * N + offs_n, acc, mask=(offs_t < T) & (offs_n < N))


def lower_matmul(a, b, tile=64):
    """a.tril() @ b for a [T, T] and b [T, N], both float16 or bfloat16: a new tensor."""
    require_contiguous(a, b)
    T, N = b.shape
    c = torch.empty_like(b)
    lower_matmul_kernel[(triton.cdiv(T, tile), triton.cdiv(N, tile))](
        a, b, c, T, N, BLOCK_T=tile, BLOCK_N=tile, BLOCK_K=min(tile, 32)
    )
    return c


def lower_matmul_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "masked loop"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="lower_matmul"
# #### Hints for lower_matmul
#
# <details><summary>Hint 1: a question</summary>
#
# The program with rows 128 to 191: for which k does the mask let all of its tile through? For which none
# of it? In how many turns is it needed?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# At the line `loads` below. A mask that is another one for each lane takes a load apart: a vector can only
# be loaded as a whole. And a mask keeps lanes from memory, not a tile from `tl.dot`: nought times b is
# computed.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Two loops, as in page 42. The first goes over the full tiles, with the masks of a full product. The
# second begins at the first row of the tile, ends behind its last one, and keeps the mask.
#
# </details>

# %%
a, b = torch.randn(256, 256).half(), torch.randn(256, 64).half()
seen = traffic(lower_matmul, a, b, tile=32)
print(f"{seen.flops / (2 * 256 * 256 * 64):.0%} of the full product's FLOPs")
facts(lower_matmul, *(torch.empty(4096, columns).half() for columns in (4096, 1024)))

# %% [markdown]
# **Predict.** Which of the two costs more: the tiles of zeros, or the loads that fell apart? If the loop
# only ends earlier, and keeps its mask, what remains of 345 microseconds?
#
# <details><summary>Answer</summary>
#
# 292. Half of the products are gone, and each turn is as slow as before: the loads cost more. They also
# cannot be fetched ahead any more, as a copy to shared memory takes at least 4 bytes at once, and a number
# has 2.
#
# </details>

# %% tags=["check"] key="lower_matmul" points=2
check(lower_matmul)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Whenever a mask stands in a loop, ask for which turns it lets everything through, and for which nothing.
# The latter should not be turns. The former need no mask: give them a loop of their own.
#
# </details>
#
# ## The four together
#
# With your mends, beside PyTorch's own.

# %%
wide = torch.randn((4096, 16384) if DEVICE == "cuda" else (8, 512), device=DEVICE)
bench(
    {"softmax_wide": softmax_wide, "torch.softmax": lambda x: x.softmax(-1)},
    wide, baseline="torch.softmax", title="Patient E", stored="slow_softmax_wide",
)

# %%
T = 4096 if DEVICE == "cuda" else 128
square, thin = torch.randn(T, T, device=DEVICE).half(), torch.randn(T, T // 4, device=DEVICE).half()
bench(
    {
        "half_matmul": half_matmul,
        "lower_matmul": lower_matmul,
        "a @ b": torch.matmul,
        "a.tril() @ b": lambda a, b: a.tril() @ b,
    },
    square, thin, baseline="a @ b", title="Patients F and H", stored="slow_products",
)

# %%
n = 2**26 if DEVICE == "cuda" else 2**12
bench(
    {
        "gelu_digits": gelu_digits,
        "gelu of PyTorch": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        "copy": torch.clone,
    },
    torch.randn(n, device=DEVICE), baseline="copy", title="Patient G", stored="slow_gelu_digits",
)

# %% [markdown]
# ## What the hardware counted
#
# `ncu --csv --page raw --metrics ... python patients.py` asked the counters of an H100 about each patient,
# as it came and mended. Each counter is a column of the CSV. Their names are long, so here are short ones:
#
# | column | counter | counts |
# |---|---|---|
# | `ns` | `gpu__time_duration.sum` | nanoseconds |
# | `local` | `l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum` and `_st.sum` | sectors of spilled values |
# | `tensor` | `sm__inst_executed_pipe_tensor.sum` | tensor core instructions |
# | `fp64` | `sm__inst_executed_pipe_fp64.sum` | float64 instructions, one for 32 lanes |
# | `lsu` | `sm__inst_executed_pipe_lsu.sum` | loads and stores of all kinds |
#
# **Predict.** Which column, beside the time, changes most with each mend? Write down four names. Then run
# the cell.

# %%
NCU = """patient,state,ns,local,tensor,fp64,lsu
softmax_wide,came,946624,63553536,0,0,15810560
softmax_wide,mended,176256,0,0,0,2818048
half_matmul,came,449056,0,12288,0,30801920
half_matmul,mended,60384,0,524288,0,2486272
gelu_digits,came,185472,0,0,54526036,1310720
gelu_digits,mended,173664,0,0,0,1310720
lower_matmul,came,342880,0,1048576,0,15831040
lower_matmul,mended,73952,0,532480,0,2744320
"""
for line in NCU.splitlines():
    print("".join(f"{cell:>13}" for cell in line.split(",")))

# %% [markdown]
# - E: 64 million sectors of 32 bytes are 2 GB, beside the 0.5 GB of x and y.
# - F: from next to none to half a million, for 2^33 multiplications: 16,384 each.
# - G: 55 million for 2^26 numbers, 26 each: two more than the compiler's text has.
# - H: half of the products are gone, and five of six loads and stores. The time fell to a fifth: it
#   follows the loads.
#
# ## Recap
#
# | patient | the fact that speaks | what it should be |
# |---|---|---|
# | E | spilled bytes per thread | none |
# | F | tensor core instructions | some, on half precision |
# | G | float64 instructions | none |
# | H | vectors among the loads, FLOPs | all in the long loop, half of the full product's |
#
# Each of them could have been seen on a laptop, before anybody rented a GPU.
#
# **Common mistakes**
#
# - Trusting occupancy: it is 50 % with patient E, and 50 % with the mend. It says how many warps fit, and
#   not what they do.
# - Buying digits where they are thrown away at the store.
# - Reading `mask=` as "is not done". It says "is not loaded".
#
# Next: the [contents](../README.md) of the course.

# %%
progress()
