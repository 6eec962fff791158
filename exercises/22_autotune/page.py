# ---
# workbook:
#   title: Autotune
#   minutes: 50
#   needs: interpreter
#   requires: [20_matmul]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - set up a small table of configs, and say what each of them is for
#     - drop the configs that cannot run or cannot win, before anything is compiled
#     - let Triton choose by measuring, with a key that misses nothing
#     - read a kernel whose programs stay for many tiles, and say where that pays
#     - tune a kernel that works in place without spoiling its data
# ---

# %% tags=["setup"]
from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()

# %% [markdown]
# ## The idea
#
# In [20_matmul](20_matmul.ipynb) the tile sizes were given. Who chose them? Nobody can tell from
# the code alone which sizes are fastest: it depends on the GPU, on the shape and on the dtype. So
# you make a **table** of candidates, and Triton times each of them once. That is autotuning.
#
# It sounds like something that needs no thought. It does need it, in four places:
#
# 1. Which candidates go into the table? Each one costs a compile, up to two seconds.
# 2. Which of them can be dropped for this shape, before they cost anything?
# 3. When must Triton choose again? That is the **key**.
# 4. What happens to your data while the kernel runs a hundred times to be timed?
#
# **Scope.** One kernel, the matrix product, and one that works in place. There is no reward for the
# fastest config. You are checked on the table, the pruning, the key, and the data.
#
# Without a GPU there is nothing to time. The notebook then uses the first config that your pruning
# leaves. Everything but the speed can still be checked.
#
# ## What a config costs
#
# Here is the kernel. Two things are new against notebook 20. Rows past M **wrap around** to the
# first rows instead of being masked: they are computed and never stored, and the loads need no mask.
# Columns past N do the same. And `EVEN_K` drops the mask along K when K is a multiple of `BLOCK_K`.

# %% tags=["reference"]
import functools

from tritonbook import shared_memory_limit, target_arch


@triton.jit
def matmul_tiles_kernel(
    a_ptr, b_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr, EVEN_K: tl.constexpr,
):
    """c = a @ b.

    One program = one tile of c; programs go in groups of GROUP_M tile rows.
    Any strides, any M, N; EVEN_K promises that K is a multiple of BLOCK_K.
    """
    pid = tl.program_id(0)
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * grid_n) * GROUP_M
    rows = tl.minimum(grid_m - first_m, GROUP_M)
    pid_m = first_m + pid % (GROUP_M * grid_n) % rows
    pid_n = pid % (GROUP_M * grid_n) // rows

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    rows_of_a = (offs_m % M).to(tl.int64)
    columns_of_b = (offs_n % N).to(tl.int64)
    a_ptrs = a_ptr + rows_of_a[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + columns_of_b[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    row_of_c = offs_m.to(tl.int64)[:, None]
    c_ptrs = c_ptr + row_of_c * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def matmul_with(a, b, **config):
    """a @ b with one config of your choice; no tuning."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, config["BLOCK_M"]) * triton.cdiv(N, config["BLOCK_N"]),)
    matmul_tiles_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        EVEN_K=K % config["BLOCK_K"] == 0, **config,
    )
    return c


# %% [markdown]
# A config has six numbers. Three are the tile. `GROUP_M` is the order of the tiles. `num_warps`
# says how many threads share a tile: 32 for each warp. `num_stages` says how many tiles wait in
# shared memory while one is multiplied.
#
# `facts` compiles a config for an A100 and shows what it needs. Compare two of them.

# %%
small = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, GROUP_M=8, num_warps=4, num_stages=3)
large = dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, num_warps=8, num_stages=3)

a = torch.randn(512, 512, device=DEVICE, dtype=torch.float16)
for name, sizes in {"small": small, "large": large}.items():
    kernel = facts(matmul_with, a, a, **sizes)[0]
    print(
        f"{name}: {kernel.registers} registers a thread, {kernel.shared_bytes:,} bytes shared, "
        f"{kernel.programs_per_sm} at a time on a multiprocessor"
    )

# %% [markdown]
# You can compute the last number yourself. A multiprocessor (SM) of an A100 has 65,536 registers, and
# 164 KiB of shared memory for all its programs. Programs fit until one of the two runs out:
#
# - registers: `65,536 // (registers * 32 * num_warps)`
# - shared memory: `164 KiB // (shared memory of one program + 1 KiB)`
#
# The smaller number counts. Times `num_warps`, as a share of the 64 warps that could be there, it is
# called **occupancy**.
#
# **Predict.** The large config fits once. Does that make it slow?
#
# <details><summary>Answer</summary>
#
# No. Other programs on the multiprocessor are one way to keep the tensor cores busy while loads are
# on their way. Stages are another: the large program has two tiles waiting while it multiplies the
# third. And a large tile loads each element of A and B less often. For a product, large tiles that
# fit once usually win. You will see it below.
#
# </details>
#
# ## Task 1: the table
#
# Write `configs()`. It returns a list of dicts like `small` and `large` above. The rules:
#
# | rule | reason |
# |---|---|
# | 4 to 12 configs, no two the same | each costs a compile |
# | tiles are powers of two from 16 to 256 | `tl.arange` and `tl.dot` |
# | `num_warps` is 1, 2, 4, 8 or 16; `num_stages` 1 to 8; `GROUP_M` at least 1 | |
# | `BLOCK_M * BLOCK_N / (32 * num_warps)` is at most 128 | accumulators of a thread |
# | `(BLOCK_M + BLOCK_N) * BLOCK_K * 2 * num_stages` is at most 227 KiB | an H100 has no more |
# | one has a tile of at least 128 × 128 | large matrices |
# | one has `BLOCK_M=16` | few rows, as when a model answers one user |
# | one is small: 16 accumulators, 64 KiB with 4-byte elements | float32, and a T4 |

# %% tags=["reference"]
NAMES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M", "num_warps", "num_stages")


def shared_bytes(config, element_size):
    """Shared memory for all stages. An H100 needs that; an A100 one stage less."""
    columns = config["BLOCK_M"] + config["BLOCK_N"]
    return columns * config["BLOCK_K"] * element_size * config["num_stages"]


def accumulators(config):
    """Elements of the tile of C that one thread holds."""
    return config["BLOCK_M"] * config["BLOCK_N"] / (32 * config["num_warps"])

# %% tags=["answer"] key="configs"
def config(block_m, block_n, block_k, group_m, num_warps, num_stages):
    """One row of the table."""
    return dict(
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=group_m,
        num_warps=num_warps,
        num_stages=num_stages,
    )


def configs():
    """The table of candidates, the most promising for large matrices first."""
    # TODO: a list of 4 to 12 configs that keeps the rules (about 12 lines)
    ### BEGIN SOLUTION
    return [
        config(128, 256, 64, 16, 8, 3),
        config(128, 256, 64, 16, 8, 4),
        config(128, 128, 64, 8, 4, 4),
        config(128, 128, 32, 8, 8, 4),
        config(64, 128, 32, 8, 4, 4),
        config(64, 64, 64, 8, 4, 3),
        config(64, 64, 32, 8, 8, 2),
        config(32, 32, 32, 8, 4, 2),
        config(16, 64, 128, 1, 4, 4),
        config(16, 32, 128, 1, 4, 4),
    ]
    ### END SOLUTION


# %% [markdown] tags=["hint"] key="configs"
# #### Hints for configs
#
# <details><summary>Hint 1: a question</summary>
#
# You need one row for large matrices, one for few rows, one for float32. What should the fourth be
# good at? Think of a matrix that is neither large nor small.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `small` and `large` keep most of the rules. The helper `config(...)` above the gap takes the six
# numbers in order. Compute accumulators and shared memory before you trust a row.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# return [
#     config(128, 128, ..., 8, ..., ...),   # large
#     config(64, 64, ..., 8, ..., ...),
#     config(32, 32, ..., 8, ..., ...),     # float32, T4
#     config(16, ..., ..., 1, 4, ...),      # few rows
# ]
# ```
#
# </details>

# %% tags=["check"] key="configs" points=2
check(configs)

# %% [markdown]
# ## Task 2: prune
#
# Most candidates are hopeless for a given call. A tile of 256 rows for a matrix with 16 rows wastes
# fifteen sixteenths of its work. Others do not fit into shared memory at all. Compiling and timing
# them takes seconds. Deciding takes microseconds.
#
# `prune(configs, named_args)` gets the table and what is known about the call, and returns the
# configs worth timing, in the order of the table.
#
# | in `named_args` | meaning |
# |---|---|
# | `M`, `N`, `K` | sizes of this product |
# | `element_size` | bytes of one element: 2 or 4 |
# | `shared_limit` | shared memory that a program may use, in bytes |
# | `tensor_cores` | whether `tl.dot` runs on tensor cores for this dtype on this GPU |
#
# Drop a config if any of these holds:
#
# 1. it needs more shared memory than `shared_limit` (`shared_bytes(config, element_size)`);
# 2. `BLOCK_M` is larger than M rounded up to a power of two, and larger than 16; the same for
#    `BLOCK_N` and N;
# 3. there are no tensor cores and a thread would hold more than 16 accumulators
#    (`accumulators(config)`): ordinary units need registers for the operands too.
#
# If nothing is left, return a list with the one config that has the smallest tile,
# `BLOCK_M * BLOCK_N` (the first of the smallest). An empty list would be an error in the middle of
# somebody's training run. About 10 lines.


# %% tags=["reference"]
def call(M, N, K, element_size=2, shared_limit=166912, tensor_cores=True):
    return dict(
        M=M,
        N=N,
        K=K,
        element_size=element_size,
        shared_limit=shared_limit,
        tensor_cores=tensor_cores,
    )

# %% tags=["answer"] key="prune"
def prune(configs, named_args):
    """The configs worth timing for this call, in the order of the table; never an empty list."""
    # TODO: drop the hopeless ones by the three rules; if none is left, the smallest (10 lines)
    ### BEGIN SOLUTION
    rows = max(16, triton.next_power_of_2(named_args["M"]))
    columns = max(16, triton.next_power_of_2(named_args["N"]))
    kept = []
    for config in configs:
        fits = shared_bytes(config, named_args["element_size"]) <= named_args["shared_limit"]
        useful = config["BLOCK_M"] <= rows and config["BLOCK_N"] <= columns
        lean = named_args["tensor_cores"] or accumulators(config) <= 16
        if fits and useful and lean:
            kept.append(config)
    return kept or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]
    ### END SOLUTION


# %% [markdown] tags=["hint"] key="prune"
# #### Hints for prune
#
# <details><summary>Hint 1: a question</summary>
#
# M is 5. Which values of `BLOCK_M` may stay? (`tl.dot` wants at least 16.)
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `triton.next_power_of_2` rounds up. `shared_bytes` and `accumulators` are given above. When
# nothing is left: `min(configs, key=...)` gives the first of the smallest.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# rows = max(16, triton.next_power_of_2(...))
# ...
# kept = []
# for config in configs:
#     fits = shared_bytes(...) <= ...
#     useful = config["BLOCK_M"] <= rows and ...
#     lean = ... or accumulators(config) <= 16
#     if ...:
#         kept.append(config)
# return kept or [...]
# ```
#
# </details>

# %% tags=["check"] key="prune" points=4
check(prune)

# %% [markdown]
# ## Programs that stay
#
# Nothing to write here. So far, each program computes one tile. It waits for its first loads when it
# begins, and for its store when it ends. Meanwhile nobody multiplies: of the large tiles, only one
# program fits on a multiprocessor.
#
# A *persistent kernel* has one program for each multiprocessor. It stays, and takes one tile after
# the other. Two more things belong to it:
#
# 1. **Two loops become one.** `flatten=True` asks Triton for that. Then the stages reach from tile to
#    tile: the first loads of the next one are under way before this one is stored.
# 2. **Tiles come through tensor descriptors.** With pointers, all threads compute addresses and keep
#    them in registers. A descriptor knows address, shape and strides of a matrix. So one thread
#    orders a whole tile from the GPU's copy engine. Past an edge, the engine loads zeros and stores
#    nothing, so there are no masks.

# %% tags=["reference"]
from tritonbook.descriptors import can_describe, describe
from tritonbook import multiprocessors

STAYING = dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, num_warps=8, num_stages=3)


@triton.jit
def matmul_persistent_kernel(
    a_desc, b_desc, c_desc,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """c = a @ b.

    One program = the tiles pid, pid + num_programs, pid + 2 num_programs, ... of c.
    Assumes descriptors of a, b and c, for tiles of these sizes; any M, N, K.
    """
    pid, num_programs = tl.program_id(0), tl.num_programs(0)
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(pid, grid_m * grid_n, num_programs, flatten=True):
        first_m = tile // (GROUP_M * grid_n) * GROUP_M
        rows = tl.minimum(grid_m - first_m, GROUP_M)
        pid_m = first_m + tile % (GROUP_M * grid_n) % rows
        pid_n = tile % (GROUP_M * grid_n) // rows

        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([pid_m * BLOCK_M, step * BLOCK_K])
            b = b_desc.load([step * BLOCK_K, pid_n * BLOCK_N])
            acc = tl.dot(a, b, acc, input_precision="ieee")

        c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


def matmul_persistent(a, b):
    """a @ b by programs that stay, of matrices that descriptors can describe."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    block_m, block_n, block_k = (STAYING[name] for name in NAMES[:3])
    tiles = -(-M // block_m) * -(-N // block_n)
    matmul_persistent_kernel[(min(tiles, multiprocessors()),)](
        describe(a, [block_m, block_k]),
        describe(b, [block_k, block_n]),
        describe(c, [block_m, block_n]),
        M, N, K, **STAYING,
    )  # fmt: skip
    return c


def staying_pays(a, b):
    """Is a @ b a large product of halves, on a GPU and with a Triton that know descriptors?"""
    M, N = a.shape[0], b.shape[1]
    high, wide = M // STAYING["BLOCK_M"], N // STAYING["BLOCK_N"]
    return (
        high * wide >= 2 * multiprocessors()  # first, because small products are in a hurry
        and N % 8 == 0  # rows of c begin at multiples of 16 bytes
        and a.dtype == b.dtype
        and a.dtype in (torch.float16, torch.bfloat16)
        and can_describe(a, b)  # GPU, Triton, sizes, strides, addresses
        and shared_memory_limit() >= 227 * 1024  # some newer GPUs than an H100 have 99 KiB
    )

# %% [markdown]
# How many loads and stores will `facts` find? It compiles for an H100, with or without one. (The cell
# needs Triton 3.6.)

# %%
from tritonbook import triton_version

a = torch.randn(4096, 4096, dtype=torch.float16)
facts(matmul_persistent, a, a, arch=90) if triton_version() >= (3, 6) else None

# %% [markdown]
# None: the copy engine does it all. The result leaves through shared memory too, so three stages and
# a finished tile need 208 KiB.
#
# `staying_pays` asks for two whole tiles for each multiprocessor. With one there is nothing to
# overlap. And the host makes descriptors at each call. Small products have no time for that.
#
# ## Task 3: let Triton choose
#
# `triton.autotune` wraps a kernel:
#
# - `configs=` the table, as `triton.Config` objects (`as_triton` makes them);
# - `key=` names of arguments. Triton keeps the winner for each combination of their values, and
#   chooses again when one changes. The dtypes of the tensors count by themselves;
# - `prune_configs_by={"early_config_prune": function}`. `early_prune` below calls your `prune`.
#
# **The key must name everything that the choice depends on.** Here that is more than speed:
# `early_prune` also decides `EVEN_K` from K. A winner chosen for K=64 says that no mask is needed.
# Used for K=70 it reads past the matrix. So a key that misses a name can make a kernel *wrong*.
#
# Two gaps: the tuned kernel, about 6 lines, and the grid of the wrapper, 1 to 4 lines. The grid has
# to be a function, because the tile is not known before the choice: Triton calls it with the
# winner's values, `meta["BLOCK_M"]` and so on. And the launch must not pass what a config passes.
#
# `matmul_tuned` asks `staying_pays` first. Your check's products are too small for that, on any GPU:
# they all reach your table.


# %% tags=["reference"]
def as_triton(config, **more):
    """A dict of the table as a triton.Config."""
    options = {name: config[name] for name in ("num_warps", "num_stages")}
    blocks = {name: size for name, size in config.items() if name not in options}
    return triton.Config({**blocks, **more}, **options)


def early_prune(table, named_args, **kwargs):
    """Called by Triton before it times anything: your prune, then EVEN_K for what is left."""
    a, K = named_args["a_ptr"], named_args["K"]
    known = dict(
        M=named_args["M"],
        N=named_args["N"],
        K=K,
        element_size=a.element_size(),
        shared_limit=shared_memory_limit(),
        tensor_cores=a.dtype != torch.float32 and target_arch() >= 80,
    )
    plain = [dict(c.kwargs, num_warps=c.num_warps, num_stages=c.num_stages) for c in table]
    kept = prune(plain, known)
    if not torch.cuda.is_available():
        kept = kept[:1]  # nothing can be timed here: take the first
    return [as_triton(c, EVEN_K=K % c["BLOCK_K"] == 0) for c in kept]


def matmul_tuned_ref(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError("inner sizes differ")
    return a @ b

# %% tags=["answer"] key="matmul_tuned"
@functools.cache
def tuned_kernel():
    """The kernel with your table to choose from; made once, so that its choices are kept."""
    # TODO 1: wrap matmul_tiles_kernel in triton.autotune: table, key, pruning (about 6 lines)
    ### BEGIN SOLUTION
    tune = triton.autotune(
        configs=[as_triton(config) for config in configs()],
        key=["M", "N", "K"],
        prune_configs_by={"early_config_prune": early_prune},
    )
    return tune(matmul_tiles_kernel)
    ### END SOLUTION


def matmul_tuned(a, b):
    """a @ b with the fastest config for this shape, dtype and GPU."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    if staying_pays(a, b):
        return matmul_persistent(a, b)
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)

    def grid(meta):
        # TODO 2: one program for each tile of the config in `meta` (1 line)
        ### BEGIN SOLUTION
        # -(-x // y) rounds up as triton.cdiv(x, y) does, and takes the host less time
        return (-(-M // meta["BLOCK_M"]) * -(-N // meta["BLOCK_N"]),)
        ### END SOLUTION

    tuned_kernel()[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c


# %% [markdown] tags=["hint"] key="matmul_tuned"
# #### Hints for matmul_tuned
#
# <details><summary>Hint 1: a question</summary>
#
# Which of the kernel's arguments does `early_prune` look at? Each of them belongs in the key.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The table is what `configs()` returns, each dict turned by `as_triton`. `triton.autotune(...)`
# gives a decorator: call it with the kernel. The grid is that of `matmul_with`, with `meta` in
# place of `config`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# tune = triton.autotune(
#     configs=[... for config in configs()],
#     key=[...],
#     prune_configs_by={"early_config_prune": ...},
# )
# return tune(...)
# ```
#
# </details>

# %% tags=["check"] key="matmul_tuned" points=4
check(matmul_tuned)

# %% [markdown]
# ## Watch it choose
#
# With `TRITON_PRINT_AUTOTUNING=1` Triton says which function it tuned, how long that took and which
# config won. On a GPU the cell also prints the time of every candidate. The last lines show the
# price: the first call tunes, the second only runs.

# %%
import os
import time

os.environ["TRITON_PRINT_AUTOTUNING"] = "1"
size = 2048 if DEVICE == "cuda" else 128
a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
b = torch.randn(size, size, device=DEVICE, dtype=torch.float16)

for call_number in ("first", "second"):
    start = time.perf_counter()
    matmul_tuned(a, b)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    print(f"{call_number} call: {time.perf_counter() - start:.3f} s")
os.environ["TRITON_PRINT_AUTOTUNING"] = "0"

timings = getattr(tuned_kernel(), "configs_timings", None) or {}
if DEVICE == "cuda":
    for choice, ms in sorted(timings.items(), key=lambda item: item[1]):
        print(f"{ms[0]:8.4f} ms  {choice}")
else:
    print("No GPU here: the first config that prune left was used, untimed.")

# %% [markdown]
# **Why does the winner win?** Look at it with four questions. How often does its tile load each
# element of A and B? How many stages hide the loads? Do its registers spill? How many programs fit
# on a multiprocessor? The next cell has the numbers, for an A100, of three rows of your table.

# %%
for config_ in prune(configs(), call(4096, 4096, 4096))[:3]:
    kernel = facts(matmul_with, a, b, **config_)[0]
    loads = (4096 // config_["BLOCK_N"] + 4096 // config_["BLOCK_M"]) / 2
    print(
        f"tile {config_['BLOCK_M']} x {config_['BLOCK_N']} x {config_['BLOCK_K']}: an element is "
        f"loaded {loads:.0f} times, {config_['num_stages']} stages, {kernel.registers} registers, "
        f"spills {kernel.spills} bytes, {kernel.programs_per_sm} programs at a time"
    )

# %% [markdown]
# ## What tuning costs
#
# - It happens once for each key **in each process**. A program that starts ten workers tunes ten
#   times. Newer Tritons can keep winners on disk (`cache_results=True`); Triton 3.2 cannot. The
#   compiled kernels are kept on disk in all versions.
# - Every new M is a new key. A server that sees another number of tokens with each request would
#   tune all day. Round M up to a power of two in the key, or choose the tile by a rule.
# - Times are measured on warm clocks, one shape at a time, on a GPU of your own. A winner by 1 % is
#   no winner.
# - **Tuning is a sprint, your program is a marathon.** Each config is timed for a tenth of a second. A
#   GPU that works at full power lowers its clock within about a second. On an H100, at 8192, a tile of
#   128 x 256, 32 deep in 6 stages, won the sprint. In steady work it needed 1.74 ms, and the same tile,
#   64 deep in 3 stages, 1.66. So keep in the table what lasts.
# - **The host takes time too.** On one machine it took 22 µs for a call of `a @ b`. It took 72 for
#   `matmul_tuned`, and 61 when the grid rounded up with `-(-M // m)` in place of `triton.cdiv(M, m)`.
#   While the GPU has other work to do, nobody waits for that. With small products it has little.
#
# ## Task 4: tuning a kernel that works in place
#
# To time a config, Triton runs the kernel dozens of times. For a product that is harmless: every
# run writes the same C. But take `x *= s`. After a hundred runs nothing is left of x.
#
# Triton has two remedies:
#
# - `restore_value=["x_ptr"]` copies x before each timed run and puts it back. For kernels that
#   change their input.
# - `reset_to_zero=["out_ptr"]` fills with zeros before each run. For kernels that *add* to their
#   output, with `tl.atomic_add` for instance.
#
# Write `tuned_scale_kernel`, about 5 lines, and the body of `scale_kernel`, 3 lines.
# `x` is a vector with any stride; it is changed in place and returned.


# %% tags=["reference"]
SCALE_CONFIGS = [
    triton.Config({"BLOCK_SIZE": 256}, num_warps=4),
    triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
    triton.Config({"BLOCK_SIZE": 4096}, num_warps=8),
]


def scale_ref(x, s):
    if x.ndim != 1:
        raise ValueError("x must be a vector")
    return x * s

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
    """scale_kernel with SCALE_CONFIGS to choose from; x survives the timing."""
    # TODO 2: triton.autotune with table, key, and what must be put back (about 5 lines)
    ### BEGIN SOLUTION
    tune = triton.autotune(
        configs=SCALE_CONFIGS, key=["n_elements"], restore_value=["x_ptr"]
    )
    return tune(scale_kernel)
    ### END SOLUTION


def scale_inplace_tuned(x, s):
    """x *= s; returns x."""
    if x.ndim != 1:
        raise ValueError(f"x must be a vector, it has {x.ndim} dimensions")
    n_elements = x.numel()

    def grid(meta):
        return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)

    tuned_scale_kernel()[grid](x, s, n_elements, x.stride(0))
    return x


# %% [markdown] tags=["hint"] key="scale_inplace_tuned"
# #### Hints for scale_inplace_tuned
#
# <details><summary>Hint 1: a question</summary>
#
# Three configs are timed, then the winner runs for you. How many times is x multiplied if nothing
# is restored?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The names in `key` and in `restore_value` are names of the kernel's arguments, as strings. For
# the kernel, `double_kernel` of notebook 01 is close.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# x = tl.load(x_ptr + ... * stride_xn, mask=mask)
# tl.store(..., (x.to(tl.float32) * ...).to(...), mask=mask)
# ```
#
# ```python
# tune = triton.autotune(configs=..., key=[...], restore_value=[...])
# return tune(...)
# ```
#
# </details>

# %% tags=["check"] key="scale_inplace_tuned" points=3
check(scale_inplace_tuned)

# %% [markdown]
# ## Predict, then measure
#
# Three sizes, against cuBLAS. At which of them do you expect to be closest? Think of how many tiles
# of 128 × 256 each product has, and of the 132 tiles that an H100 works on at a time.
#
# Where programs stay, a third row shows pointers: 4 stages, groups of 16.

# %%
for size in (2048, 4096, 8192) if DEVICE == "cuda" else (128,):
    a = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
    b = torch.randn(size, size, device=DEVICE, dtype=torch.float16)
    matmul_tuned(a, b)
    ways = {"cuBLAS (a @ b)": torch.matmul, "matmul_tuned": matmul_tuned}
    if staying_pays(a, b):
        four = dict(large, GROUP_M=16, num_stages=4)
        ways["pointers"] = lambda a, b: matmul_with(a, b, **four)
    timed = bench(
        ways,
        a,
        b,
        bytes=3 * a.numel() * a.element_size(),
        flops=2 * size**3,
        baseline="cuBLAS (a @ b)",
        warmup=1000,  # milliseconds of steady work before each is timed
        title=f"{size} x {size} x {size}, float16",
    )
    print(timed)

# %%
timed.plot()

# %% [markdown]
# **Read the table.** A kernel of 30 lines comes close to a library that has been tuned for years.
# On an H100, in November 2026, the configs alone gave 0.97 at 2048, 0.95 at 4096 and 0.99 at 8192. In
# two other runs they gave 1.02 at 2048, 0.95 and 0.97 at 4096, 0.98 and 1.01 at 8192. So 1 % proves
# nothing.
#
# **Did staying pay?** Milliseconds on an H100, with Triton 3.6:
#
# | | 4096 | 8192 |
# |---|---|---|
# | cuBLAS | 0.215 | 1.684 |
# | pointers, groups of 16, 3 stages | 0.231 | 1.704 |
# | pointers, groups of 16, 4 stages | 0.217 | 1.695 |
# | programs that stay | 0.219 | 1.617 |
#
# At 8192 each program has 15 or 16 tiles, and staying gained 4 to 5 % over pointers: 0.99 to 1.04 times
# cuBLAS's speed in three runs. At 4096 it has 4 at most. A fourth stage did as much here, in another
# run staying was 4 % ahead. At 2048 there are 128 tiles, and nobody gets a second one.
#
# Staying needs descriptors. With pointers, programs that stay took 1.77 ms at 8192. In a flattened
# loop they took 3.89, 2.3 times as long as programs with one tile.
#
# Why the second of warming up? At 4096 and 8192 the GPU draws all the power it may. It lowers its clock,
# here from 1,980 MHz to about 1,400. With 25 ms of warming up, single pairs at 8192 went from 0.91 to
# 1.01: whoever came after a lighter kernel still had the higher clock.
#
# ## Recap
#
# - A table of candidates is a list of ideas. Write down what each row is for.
# - Prune by what you know: shared memory, matrix size, registers. Never down to nothing.
# - The key names everything that the choice depends on, or the choice is wrong for the next call.
# - The grid is a function of the config. Do not pass a config's values a second time.
# - Programs that stay overlap the end of a tile with the beginning of the next. That takes many tiles
#   and descriptors.
# - Timing runs the kernel many times. Restore what it changes, zero what it adds to.
#
# <details><summary>Common mistakes</summary>
#
# - `grid = (M // 128 * N // 128,)` beside autotune: too few programs for smaller tiles, so part of
#   the result is never written.
# - `key=["M", "N"]`: the winner for one K is used for all others.
# - Tuning inside the function that is called: a new tuner each time, so every call tunes.
# - A hundred configs: a minute or more before the first result.
#
# </details>
#
# Next: [23_fused_mlp](23_fused_mlp.ipynb), where several products share one kernel.

# %%
progress()
