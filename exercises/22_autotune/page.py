# ---
# workbook:
#   title: Autotune
#   minutes: 55
#   needs: interpreter
#   requires: [21_matmul_grouped]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - read a table of configs, and drop those that do not fit or cannot win
#     - let Triton choose by measuring, with a key that names what the choice depends on
#     - tune a kernel that works in place without spoiling its data
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# So far `matmul_tile` gave you the size of a tile. Which size is fastest? Nobody can read it off the
# code: it depends on the GPU, the matrices and their dtype. So you let the clock decide. You write a
# table of candidates, called **configs**. At the first call Triton times each of them, and keeps the
# fastest for the calls that follow. That is **autotuning**.

# %%
pictures("autotune").draw_tuner()

# %% [markdown]
# Four decisions are left to you:
#
# 1. **The space.** Which configs stand in the table? Triton compiles each one.
# 2. **Pruning.** Which of them can be dropped for this call, before they cost anything?
# 3. **The key.** When must Triton choose again?
# 4. **The data.** What becomes of your tensors while a kernel runs many times to be timed?
#
# ## A smaller kernel first
#
# `x * x` with three tiles to choose from. The cell counts the kernel's runs in each call.


# %%
from tritonbook import hook_launch


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 256}, num_warps=2),
        triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 4096}, num_warps=8),
    ],
    key=["n_elements"],
)
@triton.jit
def square_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n_elements, other=0.0)
    tl.store(out_ptr + offs, x * x, mask=offs < n_elements)


def square(x):
    n_elements = x.numel()
    out = torch.empty_like(x)
    square_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](
        x, out, n_elements
    )
    return out


for n_elements in (1000, 1000, 50_000):
    runs = []
    # called in the place of each launch: notes it, then lets it run
    with hook_launch(lambda run, *launch: (runs.append(launch), run())):
        square(torch.randn(n_elements, device=DEVICE))
    print(f"{n_elements:6} elements: the kernel ran {len(runs)} times")
for key, winner in square_kernel.cache.items():
    print(f"{key}: {winner.kwargs}")

# %% [markdown]
# - **`triton.Config`** names the `tl.constexpr` arguments in a dictionary. `num_warps` stands beside
#   it.
# - **`key`** is a list of arguments' names. Triton keeps one winner for each combination of their
#   values. The tensors' dtypes always belong to the key.
# - **The grid is a function.** The tile is not known before the choice. So Triton calls the function
#   with the launch's arguments, the config's among them: `meta["BLOCK_SIZE"]`.
# - **The launch does not pass `BLOCK_SIZE`.** The config does.
#
# A GPU times each config for a tenth of a second. The interpreter runs each once: winners mean nothing.
#
# **Predict.** A server calls `square` with another number of elements each time. What happens?
#
# <details><summary>Answer</summary>
#
# It tunes at every call, and no call is ever fast. Such a server rounds sizes up to a power of two
# and names that number in the key, or it chooses the tile by a rule.
#
# </details>
#
# ## The space: configs for a product
#
# The kernel is page 21's. A config has five numbers.
#
# | number | what more of it gives | what it costs |
# |---|---|---|
# | `BLOCK_M`, `BLOCK_N` | each element of A and B is loaded less often | registers; fewer programs |
# | `BLOCK_K` | fewer turns of the loop | shared memory |
# | `num_stages` | more tiles on their way while one pair is multiplied | shared memory |
# | `num_warps` | fewer registers for each thread | less work for each warp |
#
# In shared memory up to `num_stages` pairs of tiles wait. (On an A100 it is one pair less, as in page
# 20. To be safe we count them all.) An A100 gives a program 163 KiB, an H100 227.

# %% tags=["reference"]
import functools

from tritonbook import shared_memory_limit

TILES = [  # BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages
    (128, 256, 64, 8, 3),  # large matrices
    (128, 256, 64, 8, 4),  # the same with another stage, where that fits
    (128, 128, 64, 8, 4),  # when larger tiles would be too few for all processors
    (64, 128, 64, 4, 4),
    (64, 64, 32, 8, 2),  # float32, and GPUs with little shared memory
    (32, 64, 64, 4, 4),
    (16, 64, 128, 4, 4),  # few rows, as when a model answers one user
    (16, 32, 128, 4, 4),
]


def config(m, n, k, num_warps, num_stages):
    blocks = dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k)
    return triton.Config(blocks, num_warps=num_warps, num_stages=num_stages)


CONFIGS = [config(*tile) for tile in TILES]

# %% [markdown]
# Eight rows, each with a purpose. All combinations would be hundreds, and minutes.
#
# ## Task 1. Prune
#
# For one call many rows are hopeless. A tile of 128 rows wastes seven eighths of its work on a matrix
# of 16. The clock would find that out in seconds, a rule in microseconds.
#
# | argument | meaning |
# |---|---|
# | `configs` | tuple of dictionaries with the five numbers |
# | `M`, `N` | size of the result |
# | `element_size` | bytes of one element of A and B |
# | `shared_limit` | bytes of shared memory that a program may use |
# | returned | list of the dictionaries worth timing, in the same order |
#
# Drop a config if one of these holds:
#
# 1. **It does not fit.** `num_stages` pairs of tiles, `[BLOCK_M, BLOCK_K]` and `[BLOCK_K, BLOCK_N]`,
#    take more than `shared_limit` bytes.
# 2. **It is too large.** `BLOCK_M` is above M rounded up to a power of two, or `BLOCK_N` above N
#    rounded up. Round up to 16 at least: `tl.dot` takes no smaller side.
# 3. **It is too small.** `BLOCK_M` is below 64 though M is 64 or more: B is read once for each row of
#    tiles.
#
# If nothing is left, keep the first config with the smallest tile, `BLOCK_M * BLOCK_N`. About 11 lines.
# Triton calls `early_prune`, which asks you.

# %% tags=["answer"] key="prune"
def prune(configs, M, N, element_size, shared_limit):
    """The configs worth timing for a product [M, N], in the same order; never an empty list."""
    # TODO: keep what no rule drops; if that is nothing, the smallest tile (about 11 lines)
    ### BEGIN SOLUTION
    rows = max(16, triton.next_power_of_2(M))
    columns = max(16, triton.next_power_of_2(N))
    kept = []
    for config in configs:
        elements = (config["BLOCK_M"] + config["BLOCK_N"]) * config["BLOCK_K"]
        fits = elements * element_size * config["num_stages"] <= shared_limit
        too_large = config["BLOCK_M"] > rows or config["BLOCK_N"] > columns
        too_small = config["BLOCK_M"] < 64 <= M
        if fits and not too_large and not too_small:
            kept.append(config)
    return kept or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]
    ### END SOLUTION


def early_prune(configs, named_args, **kwargs):
    """Called by Triton before it times anything: those of `configs` that your prune keeps."""
    a, M, N = (named_args[name] for name in ("a_ptr", "M", "N"))
    rows = tuple(config.all_kwargs() for config in configs)
    kept = prune(rows, M, N, a.element_size(), shared_memory_limit())
    return [config for config in configs if config.all_kwargs() in kept]

# %% [markdown] tags=["hint"] key="prune"
# #### Hints for prune
#
# <details><summary>Hint 1: a question</summary>
#
# M is 5. Which values of `BLOCK_M` may stay? And which when M is 100?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `triton.next_power_of_2` rounds up. One pair of tiles has
# `(BLOCK_M + BLOCK_N) * BLOCK_K` elements. `min(configs, key=...)` gives the first of the smallest,
# where `key` is a function of one config.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# rows = ...  # M rounded up; the same for the columns
# kept = []
# for config in configs:
#     # one bool for each of the three rules
#     if ...:
#         kept.append(config)
# return kept or ...  # an empty list is false
# ```
#
# </details>

# %% tags=["check"] key="prune" points=4
check(prune)

# %% [markdown]
# ## Task 2. Let Triton choose
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `a` | (M, K), any strides | floating | input |
# | `b` | (K, N), any strides | as `a` | input |
# | returned | (M, N), contiguous | as `a` | `a @ b`, one rounding at the store |
#
# Inner sizes that differ raise `ValueError`. The kernel is given. It is wrapped without `@`:
# `triton.autotune(...)` returns a function that turns a kernel into a tuner. So the plain kernel stays
# at hand, to time single configs.
#
# Fill `tuned_kernel`, about 6 lines: table, key, and `prune_configs_by={"early_config_prune": ...}`.
# `@functools.cache` runs the body once and hands out the same tuner ever after: **a new tuner
# knows no winners**.
#
# **The key names what the choice depends on.** If a name is missing, the winner of one call is used
# for another, where it may be slow. If a tensor is named, no two calls are alike, and each one
# tunes. A name that is no argument of the kernel is left out silently.

# %% tags=["answer"] key="matmul_tuned"
@triton.jit
def matmul_tiles_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    GROUP_M: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c; programs go in groups of GROUP_M tile rows.
    Any strides, any M, N, K; the sum is float32.
    """
    pid, grid_n = tl.program_id(0), tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * grid_n) * GROUP_M
    rows = tl.minimum(tl.cdiv(M, BLOCK_M) - first_m, GROUP_M)
    pid_m = first_m + pid % (GROUP_M * grid_n) % rows
    pid_n = pid % (GROUP_M * grid_n) // rows

    offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    mask_m, mask_n = offs_m[:, None] < M, offs_n[None, :] < N
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=mask_m & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=mask_n & (offs_k[:, None] < K - k), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=mask_m & mask_n)


@functools.cache
def tuned_kernel():
    """matmul_tiles_kernel with CONFIGS to choose from; made once, so that its choices are kept."""
    # TODO: wrap the kernel in triton.autotune: table, key, pruning (about 6 lines)
    ### BEGIN SOLUTION
    tune = triton.autotune(
        configs=CONFIGS,
        key=["M", "N", "K"],
        prune_configs_by={"early_config_prune": early_prune},
    )
    return tune(matmul_tiles_kernel)
    ### END SOLUTION


def launch(kernel, a, b, **sizes):
    """a @ b by `kernel`: a tuner, or the plain kernel with the sizes of one config."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), GROUP_M=16, **sizes)
    return c


def matmul_tuned(a, b):
    """a @ b, [M, N], with the fastest config for these sizes, this dtype and this GPU."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    return launch(tuned_kernel(), a, b)

# %% [markdown] tags=["hint"] key="matmul_tuned"
# #### Hints for matmul_tuned
#
# <details><summary>Hint 1: a question</summary>
#
# Which numbers make one call different from another for the clock? They are among the arguments of
# `matmul_tiles_kernel`.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `square_kernel` has table and key. The table here is `CONFIGS`. `early_prune` goes in as it is, a
# function without brackets behind it.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tune = triton.autotune(configs=..., key=[...], prune_configs_by={"early_config_prune": ...})
# return ...  # what turns the plain kernel into a tuner?
# ```
#
# </details>

# %% tags=["check"] key="matmul_tuned" points=4
check(matmul_tuned)

# %% [markdown]
# ## One table, three shapes
#
# **Predict.** Which row of the table wins for matrices of 8,192 by 8,192? Which one for 1,024? And
# when A has only 16 rows? An H100 has 132 processors, an A100 108. Count the tiles.
#
# Without a GPU the cell shows the times of an H200.

# %%
from tritonbook.timing import bench_sweep

SHAPES = [(8192, 8192, 8192), (1024, 1024, 1024), (16, 8192, 8192)]


def matrices(M, N, K):
    options = dict(device=DEVICE, dtype=torch.float16)
    return torch.randn(M, K, **options), torch.randn(K, N, **options)


def with_config(name):
    sizes, fns = named[name].all_kwargs(), {}
    for M, N, K in SHAPES if DEVICE == "cuda" else [(32, 32, 32)]:
        a, b = matrices(M, N, K)
        fns[f"{M} x {N} x {K}"] = lambda a=a, b=b: launch(matmul_tiles_kernel, a, b, **sizes)
    return {"fns": fns}


room = shared_memory_limit() // 2  # in elements of two bytes
named = {str(t): config(*t) for t in TILES if (t[0] + t[1]) * t[2] * t[4] <= room}
bench_sweep(
    "config", list(named), with_config, title="Three products, float16", stored="autotune_rows"
)

# %% [markdown]
# **Read each column downwards.** The smallest time is what the tuner keeps for that key.
#
# - 8,192 by 8,192 is 2,048 tiles of 128 × 256. Every processor has work, and the largest tile loads
#   A and B least often.
# - 1,024 by 1,024 is only 32 of those tiles, so most processors stand idle. 64 × 128 makes 128.
# - 16 by 8,192 is 32 tiles of 256 columns, most of each below the matrix. 16 × 64 makes 128 again.
#
# A key of `["K"]` takes the winner of the first column for the third. Compare their times there.
#
# **Write a row** into `TILES`, and run from its cell to here. Does it win a column?
#
# ## Task 3. A kernel that works in place
#
# Each run of a product writes the same C. Here is a kernel that doubles its input where it stands.


# %%
@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}) for size in (256, 512, 1024)],
    key=["n_elements"],
)
@triton.jit
def double_kernel(x_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n_elements)
    tl.store(x_ptr + offs, 2 * x, mask=offs < n_elements)


for _ in range(2):
    x = torch.ones(1000, device=DEVICE)
    double_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK_SIZE"]),)](x, 1000)
    print("1 doubled is", x[0].item())

# %% [markdown]
# Three configs were timed, then the winner ran, and every run doubled x. (On a GPU 1 becomes infinite.)
# The second call finds a winner and is right. **Such a bug shows once in each
# process.** Triton has two remedies:
#
# - `restore_value=["x_ptr"]` copies x before each timed run and puts it back afterwards. It is for
#   kernels that change their input.
# - `reset_to_zero=["out_ptr"]` zeroes a tensor before each run. It is for kernels that *add* to their
#   output.
#
# | name | shape | dtype | role |
# |---|---|---|---|
# | `x` | (N,), any stride | floating | becomes `s * x`, one rounding from float32, and is returned |
# | `s` | | a float | factor |
#
# Anything but a vector raises `ValueError`. Three gaps: kernel (3 lines), tuner (about 3)
# and grid (1). The tiles are those of `sizes`.

# %% tags=["answer"] key="scale_inplace_tuned"
@triton.jit
def scale_kernel(x_ptr, s, n_elements, stride_xn, BLOCK_SIZE: tl.constexpr):
    """x = s x, in place.

    One program = one tile of BLOCK_SIZE elements.
    Assumes one dimension, any stride.
    """
    offs = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    # TODO 1: load, multiply in float32, store in place (3 lines)
    ### BEGIN SOLUTION
    x = tl.load(x_ptr + offs * stride_xn, mask=mask)
    scaled = (x.to(tl.float32) * s).to(x.dtype)
    tl.store(x_ptr + offs * stride_xn, scaled, mask=mask)
    ### END SOLUTION


@functools.cache
def tuned_scale_kernel():
    """scale_kernel with three tiles to choose from; x survives the timing."""
    sizes = [triton.Config({"BLOCK_SIZE": size}) for size in (256, 1024, 4096)]
    # TODO 2: the tuner: table, key, and what must be put back (about 3 lines)
    ### BEGIN SOLUTION
    tune = triton.autotune(configs=sizes, key=["n_elements"], restore_value=["x_ptr"])
    return tune(scale_kernel)
    ### END SOLUTION


def scale_inplace_tuned(x, s):
    """x becomes s x; returns x [N]."""
    if x.ndim != 1:
        raise ValueError(f"x must be a vector, it has {x.ndim} dimensions")
    n_elements = x.numel()

    def grid(meta):
        # TODO 3: as many programs as the config's tile needs (1 line)
        ### BEGIN SOLUTION
        return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
        ### END SOLUTION

    tuned_scale_kernel()[grid](x, s, n_elements, x.stride(0))
    return x

# %% [markdown] tags=["hint"] key="scale_inplace_tuned"
# #### Hints for scale_inplace_tuned
#
# <details><summary>Hint 1: a question</summary>
#
# Does this kernel add to its output, or does it change its input? And on which number does the best
# tile depend?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The names in `key` and in `restore_value` are those of the kernel's arguments, as strings. In the
# kernel, start from `double_kernel`. Here x has a stride.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = tl.load(x_ptr + ..., mask=...)
# # x in float32, times s, back to the dtype of x
# # store where it came from
# ```
#
# The tuner is that of Task 2 with one keyword less and one more.
#
# </details>

# %% tags=["check"] key="scale_inplace_tuned" points=3
check(scale_inplace_tuned)

# %% [markdown]
# ## Predict, then measure
#
# The cell times `matmul_tuned` and cuBLAS, the library behind `a @ b`, and shows nothing yet.


# %%
def by_size(size):
    ways = {"cuBLAS": torch.matmul, "matmul_tuned": matmul_tuned}
    a, b = matrices(size, size, size)
    return {"fns": ways, "args": (a, b), "flops": 2 * size**3, "baseline": "cuBLAS"}


sizes = [2048, 4096, 8192] if DEVICE == "cuda" else [32]
timed = bench_sweep(
    "size", sizes, by_size, title="Products of square float16 matrices", stored="autotune_cublas"
)
rows = tuple(config.all_kwargs() for config in CONFIGS)

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "configs that prune keeps of CONFIGS for 16 x 8192 x 8192 in float16": None,
        "times as long: matmul_tuned over cuBLAS at 8192": None,
    },
    measured=[
        lambda: len(prune(rows, 16, 8192, 2, 232448)),
        lambda: time_of(timed.results[-1], "matmul_tuned", over="cuBLAS"),
    ],
    hints=[
        "Which rows of TILES have at most 16 rows, and fit?",
        "The library's authors have the same tensor cores, and the same tiles to choose from.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Configs.** Two rows of the table have `BLOCK_M=16`, and both fit: 2.
#
# **The ratio.** Close to 1.0. A plain kernel with a tile that was measured keeps the tensor cores as
# busy as the library does.
#
# </details>

# %%
timed

# %% [markdown]
# ## Recap
#
# - The space: few rows, each with a purpose.
# - Prune by what you know: shared memory, size of the matrix. Never down to nothing.
# - The key names what the choice depends on, and no tensor. The tuner is made once in each process.
# - Timing runs the kernel many times: restore what it changes, zero what it adds to.
#
# <details><summary>Common mistakes</summary>
#
# - A grid with the numbers of one config beside autotune: smaller tiles leave part of the result
#   unwritten.
# - `key=["M", "N"]`: the winner for one K is used for all others.
# - `triton.autotune` inside the wrapper: every call tunes.
# - A launch that passes `BLOCK_M`, which the config passes too: an error.
#
# </details>
#
# Next: [23_fused_mlp](23_fused_mlp.ipynb), where two products share one kernel.

# %%
progress()
