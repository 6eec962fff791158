# ---
# workbook:
#   title: Find what is slow
#   minutes: 60
#   needs: interpreter
#   requires: [90_debug, 02_measure, 11_rmsnorm_split]
#   limits: {sm_75: fits, sm_80: no spills, sm_86: fits, sm_89: fits, sm_90: no spills}
#   you_will:
#     - find out why a right kernel is slow, from who is busy, from bytes and from the grid
#     - read the table of a profiler, and know what it cannot show
#     - mend four calls, and name what ailed them
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## First see who is busy
#
# The patients of this page give right values. They are slow. Reading the code from top to bottom helps
# even less than with a bug, because nothing in it is wrong.
#
# Begin with two times instead. How long is the **host** (Python, on the CPU) at work in a call, and how
# long the **GPU**? A GPU works behind Python's back: Python launches a kernel and goes on. So draw both
# on one line of time. There are four shapes.

# %%
pictures("profile").draw_shapes()

# %% [markdown]
# The shape says where to look. Then ask how fast it could be. A memory-bound kernel takes about as long as
# a **copy** that moves as many bytes: page 02 timed one. Three times as long is a patient.
#
# | tool | shows | works |
# |---|---|---|
# | `torch.profiler` | time on the host and on the GPU, by operator and kernel | host part everywhere |
# | `facts(f, ...)` | grid, constants, registers, vector loads, tensor cores | everywhere |
# | `traffic(f, ...)` | bytes asked for, and bytes moved | everywhere |
# | Proton (`triton.profiler`) | time, bytes and flops of each kernel | on a GPU |
# | `ncu`, Nsight Compute | the hardware's own counters, of one kernel | on a GPU, if allowed |
#
# Times and profiles in the text are from an H100 80GB HBM3 with PyTorch 2.11 and Triton 3.6. A host is
# slower while it is watched: trust the order of a profile's rows, and time with `bench`.
#
# ## The causes
#
# As on page 90: mend the patient, **and** name the cause. The check looks at values first, then at the
# facts. On a GPU it takes the time as well. A mend that changes something else than the cause stays
# slow, and the check says what speaks against it. Work that many programs share stays shared: one program
# that has most of it is slow, too.
#
# | name | cause |
# |---|---|
# | `"uncoalesced"` | neighbouring lanes read addresses that are far apart |
# | `"few programs"` | there are fewer programs than multiprocessors |
# | `"recompilation"` | a kernel is compiled for each call anew |
# | `"host waits"` | Python stops in the middle of a call until the GPU is done |
# | `"spills"` | values find no register, and go to memory |
# | `"no tensor cores"` | tiles are multiplied without the units made for it |
# | `"masked loop"` | a loop pays at each turn for a mask that few turns need |
# | `"float64"` | arithmetic is done in float64, though no input has it |
# | `"repeated loads"` | a program loads the same bytes again and again |
# | `"many launches"` | one job is cut into many short kernels |

# %% tags=["reference"]
def require_contiguous(*tensors):
    """Raise ValueError unless the tensors have no gaps and their own order in memory."""
    if not all(each.is_contiguous() for each in tensors):
        raise ValueError("the tensors must be contiguous")

# %% [markdown]
# ## Patient A: slower than a copy, by far
#
# *"Each column of x gets its own weight. One program takes one column, so it loads its weight only
# once. It cannot move fewer bytes. It takes nine times as long as a copy."* One launch gives
# `x * w`, no copy.
#
# ```text
# torch.profiler, 5 calls, 8,192 by 8,192     host, self    GPU, self   calls
# scale_columns_kernel                                        8,239 us       5
# cuLaunchKernelEx                                 90 us                     5
# x.clone(), for comparison: Memcpy DtoD                        889 us       5
# ```
#
# One long kernel, all else is nothing. The table says no more than that.

# %% tags=["answer"] key="scale_columns"
@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """y[m, n] = x[m, n] * w[n].

    One program = BLOCK elements.
    Assumes contiguous tensors.
    """
    ### BEGIN SOLUTION
    m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.program_id(axis=1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs_n < N
    offs = m * N + offs_n
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)
    ### BROKEN
    # n = tl.program_id(axis=0)
    # offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    # mask = offs_m < M
    # offs = offs_m * N + n
    # w = tl.load(w_ptr + n)
    ### END SOLUTION

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * w, mask=mask)


def scale_columns(x, w, block=1024):
    """x [M, N] times w [N], column by column: a new tensor."""
    require_contiguous(x, w)
    M, N = x.shape
    y = torch.empty_like(x)
    ### BEGIN SOLUTION
    grid = (M, triton.cdiv(N, block))
    ### BROKEN
    # grid = (N, triton.cdiv(M, block))
    ### END SOLUTION
    scale_columns_kernel[grid](x, w, y, M, N, BLOCK=block)
    return y


def scale_columns_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "uncoalesced"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="scale_columns"
# #### Hints for scale_columns
#
# <details><summary>Hint 1: a question</summary>
#
# Lane 0 of a program reads one element. How many bytes further on does lane 1 read? And how many of the
# 32 bytes that memory sends for lane 0 are of use to anybody in that program?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# At `offs`. What is multiplied by N there: the number of the program, or the number of the lane?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# Swap the two roles: one program stays in one row, and its lanes walk along the columns. Then the
# weights are a tile as well, and the grid counts rows first.
#
# </details>

# %%
seen = traffic(scale_columns, torch.randn(64, 64), torch.randn(64), block=32)
print(f"asked for {seen.bytes:,} bytes, moved {seen.moved:,} in sectors of 32 bytes")
facts(scale_columns, torch.empty(4096, 4096), torch.empty(4096))

# %% [markdown]
# Memory sends **sectors** of 32 bytes, never less. Neighbouring lanes that read neighbouring addresses
# share them: the access is *coalesced*.
#
# **Predict.** float32, and no two lanes in one sector: how many times too many bytes are moved? The
# bytes asked for, do they tell?
#
# <details><summary>Answer</summary>
#
# A sector holds 8 numbers and serves one lane: 8 times. The bytes asked for are as few as they can be:
# who counts those alone sees nothing. `facts` shows it too: no load is a vector, because a thread's
# elements do not lie side by side.
#
# </details>

# %% tags=["check"] key="scale_columns" points=2
check(scale_columns)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Ask of each load and store: which index runs fastest over the lanes, and does it have stride 1? Weights
# that are loaded again cost nearly nothing: they stay in the cache.
#
# </details>
#
# ## Patient B: each byte once, and 35 times too slow
#
# *"The gradient of a bias: 131,072 rows of 512 columns are added up. Loads are vectors, each byte is
# loaded once, nothing spills. It should be as fast as reading x."* The result is `x.sum(0)`.
#
# ```text
# torch.profiler, 5 calls                     host, self    GPU, self   calls
# tall_sums_kernel                                           23,771 us       5
# cuLaunchKernelEx                                449 us                     5
# x.sum(0), for comparison: reduce_kernel                       679 us       5
# ```
#
# The same picture as with patient A, and another cause.

# %% tags=["answer"] key="tall_sums"
@triton.jit
def tall_sums_kernel(
    x_ptr, out_ptr,
    M, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    """out[n] = sum of x[m, n] over m.

    One program = BLOCK_N columns, BLOCK_M rows at a time.
    Assumes contiguous tensors.
    """
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    ### BEGIN SOLUTION
    rows = tl.cdiv(M, tl.num_programs(axis=1))
    first = tl.program_id(axis=1) * rows
    last = tl.minimum(first + rows, M)
    ### BROKEN
    # first, last = 0, M
    ### END SOLUTION

    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(first, last, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M).to(tl.int64)
        mask = (offs_m < last)[:, None] & mask_n[None, :]
        x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0)
        acc += tl.sum(x.to(tl.float32), axis=0)

    ### BEGIN SOLUTION
    tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)
    ### BROKEN
    # tl.store(out_ptr + offs_n, acc, mask=mask_n)
    ### END SOLUTION


def tall_sums(x, block=64):
    """The sum of the rows of x [M, N]: float32 [N]. At least a program for each 512 rows."""
    require_contiguous(x)
    M, N = x.shape
    ### BEGIN SOLUTION
    out = torch.zeros(N, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(N, block), triton.cdiv(M, 512))
    ### BROKEN
    # out = torch.empty(N, dtype=torch.float32, device=x.device)
    # grid = (triton.cdiv(N, block),)
    ### END SOLUTION
    tall_sums_kernel[grid](x, out, M, N, BLOCK_M=32, BLOCK_N=block)
    return out


def tall_sums_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "few programs"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="tall_sums"
# #### Hints for tall_sums
#
# <details><summary>Hint 1: a question</summary>
#
# 512 columns in blocks of 64: how many programs are there, whatever the number of rows?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Page 11 split long rows among several programs. Here the columns are long. Which two ways did it know
# to bring the parts together?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# A second axis of the grid for pieces of rows. Each program walks from its first row to its last one.
# Several programs have a share in one result now: they add atomically, and somebody has to set it to 0.
#
# </details>

# %%
facts(tall_sums, torch.empty(2**17, 512))

# %% [markdown]
# **Predict.** An H100 has 132 multiprocessors. How many times faster does it get with 64 programs? And
# with 1,024, or 16,384?
#
# <details><summary>Answer</summary>
#
# | programs | 8 | 64 | 256 | 512 | 1,024 | 2,048 | 16,384 |
# |---|---|---|---|---|---|---|---|
# | microseconds | 4,760 | 622 | 185 | 127 | 108 | 106 | 106 |
#
# Up to one program for each multiprocessor the time falls as the programs grow. Several on each still
# help, because one waits for memory while another one adds. From 1,024 on memory is busy: 256 MiB in 106
# microseconds.
#
# </details>

# %% tags=["check"] key="tall_sums" points=2
check(tall_sums)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# Before all else look at the grid. Below a few hundred programs ask which dimension could be split. An
# occupancy of 100 % in `facts` says how many programs **fit**, and not how many there are.
#
# </details>
#
# ## Patient C: in no row of the profile
#
# *"A moving average of our weights, in place, whose decay rises with the step. Its kernel takes 3
# microseconds, and each step 60 milliseconds."* It becomes `avg + (1 - decay) * (x - avg)`, with a decay
# of `(1 + step) / (10 + step)`.
#
# ```text
# torch.profiler, 10 steps                    host, self    GPU, self   calls
# average_step_kernel                                            25 us      10
# cuLaunchKernelEx                                736 us                    10
# Lazy Function Loading                           639 us                    10
#
# by a clock, each step: 56 to 79 ms
# ```
#
# All rows together make 1.4 ms, and the ten steps some 600. The rest is in no row: it is spent neither in
# a kernel nor in an operator of PyTorch.

# %% tags=["answer"] key="average_step"
### BEGIN SOLUTION
@triton.jit
def average_step_kernel(avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr):
    """avg += (1 - decay) * (x - avg). One program = BLOCK elements."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(avg_ptr + offs, avg + (1 - decay) * (x - avg), mask=mask)
### BROKEN
# @triton.jit
# def average_step_kernel(
#     avg_ptr, x_ptr, n: tl.constexpr, decay: tl.constexpr, BLOCK: tl.constexpr
# ):
#     """avg += (1 - decay) * (x - avg). One program = BLOCK elements."""
#     offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
#     mask = offs < n
#     avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32)
#     x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
#     tl.store(avg_ptr + offs, avg + (1 - decay) * (x - avg), mask=mask)
### END SOLUTION


def average_step(avg, x, step, block=1024):
    """Move avg towards x, of the same shape, where it lies. Nothing is returned."""
    require_contiguous(avg, x)
    n, decay = x.numel(), (1 + step) / (10 + step)
    average_step_kernel[(triton.cdiv(n, block),)](avg, x, n, decay, BLOCK=block)


def average_step_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "recompilation"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="average_step"
# #### Hints for average_step
#
# <details><summary>Hint 1: a question</summary>
#
# Triton compiles once for each combination of dtypes and constants. Which of the constants below are
# others at the next step? Which at the next tensor?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# In the signature. What has to be known while the kernel is compiled? The size of a tile, because it
# says how many registers there are. What else?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# A number that is not marked travels with the call, like a pointer.
#
# </details>

# %%
for step, n in ((1, 1000), (2, 1000), (3, 1001)):
    (kernel,) = facts(average_step, torch.empty(n), torch.empty(n), step)
    print(f"step {step}, {n} numbers: compiled for", kernel.constants)

# %% [markdown]
# **Predict.** 100 steps for 20 tensors of different sizes: how many kernels are compiled now? How many
# with the mend, if half of the sizes are multiples of 16?
#
# <details><summary>Answer</summary>
#
# Now 2,000. With the mend two: Triton looks at whole numbers after all, and compiles apart for those
# that are multiples of 16, because they allow vectors (and once more for the number 1). Decimals are
# never looked at.
#
# </details>

# %% tags=["check"] key="average_step" points=2
check(average_step)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# `tl.constexpr` is for few values: tiles, flags. A learning rate, a seed, a length, a step are
# arguments. If call number two is slow, compare its constants with those of call number one.
#
# </details>
#
# ## Patient D: two short kernels, one slow call
#
# *"Gradients are clipped, in place: if the norm of x is above `most`, x is scaled down to it. Each of the
# two kernels takes 2 microseconds, and the GPU idles nearly all the time."*
#
# ```text
# torch.profiler, 100 sums, each with .item() host, self    GPU, self   calls
# aten::_local_scalar_dense                       647 us                   100
# cudaStreamSynchronize                           628 us                   100
# cudaMemcpyAsync, Memcpy DtoH                    572 us       140 us      100
# cuLaunchKernelEx, norm_kernel                   811 us       182 us      100
# ```

# %% tags=["answer"] key="clip_gradient"
@triton.jit
def norm_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    """total += sum of x^2. One program = BLOCK elements."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr, tl.sum(x * x, axis=0))


### BEGIN SOLUTION
@triton.jit
def clip_kernel(x_ptr, total_ptr, most, n, BLOCK: tl.constexpr):
    """x *= min(1, most / sqrt(total)). One program = BLOCK elements."""
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(x_ptr + offs, x * factor, mask=offs < n)
### BROKEN
# @triton.jit
# def clip_kernel(x_ptr, total, most, n, BLOCK: tl.constexpr):
#     """x *= min(1, most / sqrt(total)). One program = BLOCK elements."""
#     offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
#     factor = tl.minimum(most / (tl.sqrt(total) + 1e-12), 1.0)
#     x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
#     tl.store(x_ptr + offs, x * factor, mask=offs < n)
### END SOLUTION


def clip_gradient(x, most, block=1024):
    """Scale x, where it lies, down to the norm `most` if its own is larger. Returns nothing."""
    require_contiguous(x)
    n, total = x.numel(), torch.zeros(1, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(n, block),)
    norm_kernel[grid](x, total, n, BLOCK=block)
    ### BEGIN SOLUTION
    clip_kernel[grid](x, total, most, n, BLOCK=block)
    ### BROKEN
    # clip_kernel[grid](x, total.item(), most, n, BLOCK=block)
    ### END SOLUTION


def clip_gradient_cause():
    """What ailed the patient: a name of the table."""
    ### BEGIN SOLUTION
    return "host waits"
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="clip_gradient"
# #### Hints for clip_gradient
#
# <details><summary>Hint 1: a question</summary>
#
# Which line of the wrapper cannot be carried out before the first kernel has ended?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `aten::item` below: a number goes from the GPU to Python. What does Python do with it, and who could
# do the same on the GPU?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# A tensor arrives in a kernel as an address. Who has an address can load what lies there.
#
# </details>

# %%
from torch.profiler import ProfilerActivity, profile

x = torch.ones(1000, device=DEVICE)
with profile(activities=[ProfilerActivity.CPU], acc_events=True) as watched:
    clip_gradient(x, 100.0)
counts = {row.key: row.count for row in watched.key_averages()}
print("values read by Python:", counts.get("aten::item", 0))

# %% [markdown]
# **Predict.** How many microseconds of the host does one `.item()` take, by the profile above? Is that all
# that it costs?
#
# <details><summary>Answer</summary>
#
# 647 + 628 + 572 for 100 of them: 18 microseconds each. And while Python waits it prepares no launch: what
# the two did side by side they do one after the other. The last table below has both rows.
#
# </details>

# %% tags=["check"] key="clip_gradient" points=2
check(clip_gradient)

# %% [markdown]
# <details><summary>Next time (open it when the check has passed)</summary>
#
# `.item()`, `.cpu()`, `float(t)`, `if t:` and `print(t)` all wait. So does `nonzero`, whose result has a
# size that only the GPU knows. Let numbers stay there, and let kernels decide.
#
# </details>
#
# ## The four together
#
# With your mends, beside PyTorch's own.

# %%
N = 4096 if DEVICE == "cuda" else 64
x, w = torch.randn(N, N, device=DEVICE), torch.randn(N, device=DEVICE)
bench(
    {"scale_columns": scale_columns, "x * w": torch.mul, "copy": lambda x, w: x.clone()},
    x, w, baseline="copy", title="Patient A", stored="slow_scale_columns",
)

# %%
tall = torch.randn((2**17, 512) if DEVICE == "cuda" else (2**10, 64), device=DEVICE)
bench(
    {"tall_sums": tall_sums, "x.sum(0)": lambda x: x.sum(0)},
    tall, baseline="x.sum(0)", title="Patient B", stored="slow_tall_sums",
)

# %%
count = 100 if DEVICE == "cuda" else 1
gradients = [torch.randn(2**16, device=DEVICE) / 1000 for _ in range(count)]
number = torch.zeros(1, device=DEVICE)


def clip_all(read=False):
    for x in gradients:
        clip_gradient(x, 1.0)
        if read:
            number.item()  # as the patient came: Python waits for what is under way


bench(
    {"100 gradients": clip_all, "a number read each time": lambda: clip_all(read=True)},
    title="Patient D", stored="slow_clip_gradient",
)

# %% [markdown]
# **Read it.** Python needs some 40 microseconds to launch what the GPU does in 4, so there is little to
# wait for. Even so reading a number adds a third of that. Behind long kernels the wait is as long as they
# are.
#
# ## The same patients, seen by Proton and by ncu
#
# **Proton** comes with Triton. You name *scopes*, and may say how many bytes a scope moves. Proton adds
# up the time of the kernels in each. The patients on the H100, as they came and mended, the mean of five
# calls:
#
# ```text
# Proton, one call     as it came           mended
# scale_columns        1,645 us   326 GB/s    187 us  2,875 GB/s
# tall_sums            4,772 us    56 GB/s    104 us  2,571 GB/s
# clip_gradient          4.0 us               3.9 us
# ```
#
# **Predict.** Nothing changes in the last line, and the mend of patient D was real. What does Proton not
# see?
#
# <details><summary>Answer</summary>
#
# Gaps. It adds up kernels, and these were short all the time. Nobody counts what lies between them. Copies
# are no kernels either: a scope around `x.clone()` stays empty.
#
# </details>
#
# On a GPU the next cell measures your own mends.

# %%
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from IPython import get_ipython

CALLS = """
import triton.profiler as proton

x, w = torch.randn(8192, 8192, device="cuda"), torch.randn(8192, device="cuda")
tall = torch.randn(2**17, 512, device="cuda")
scale_columns(x, w), tall_sums(tall)  # compiled before anybody watches
proton.start("patients")
for _ in range(5):
    with proton.scope("scale_columns", {"bytes": 2 * x.nbytes}):
        scale_columns(x, w)
    with proton.scope("tall_sums", {"bytes": tall.nbytes}):
        tall_sums(tall)
proton.finalize()
"""
if DEVICE == "cuda":
    cells = get_ipython().user_ns["In"]  # the text of the cells that you ran
    names = ("require_contiguous", "scale_columns", "tall_sums")
    parts = [[cell for cell in cells if f"def {name}(" in cell][-1] for name in names]
    folder = Path(tempfile.mkdtemp())
    head = "import torch, triton\nimport triton.language as tl\n"
    (folder / "patients.py").write_text(head + "\n\n".join([*parts, CALLS]))
    subprocess.run([sys.executable, "patients.py"], cwd=folder, check=True)
    tree = json.loads((folder / "patients.hatchet").read_text())[0]
    for scope in tree["children"]:
        found = [item for kernel in scope["children"] for item in kernel["metrics"].items()]
        ns = sum(value for name, value in found if name.lower() == "time (ns)")
        gb_s = scope["metrics"]["bytes"] / ns
        print(f"{scope['frame']['name']:14} {ns / 5000:6.0f} us {gb_s:6.0f} GB/s")
else:
    print("Proton needs a GPU.")

# %% [markdown]
# It runs in a process of its own: two profilers cannot listen to one, and `torch.profiler` was here first.
# (`proton-viewer -m time/us patients.hatchet` draws the whole tree, after `pip install llnl-hatchet`.)
#
# **ncu** runs a script and asks the hardware's counters about each kernel, with
# `ncu --metrics gpu__time_duration.sum,lts__t_sectors.sum python patients.py` and so on. It said:
#
# ```text
#                                         A as it came   mended   B as it came   mended
# gpu__time_duration.sum                      1,643 us   182 us       4,762 us   107 us
# launch__grid_size                             65,536   65,536              8    2,048
# lts__t_sectors.sum (of 32 bytes), millions       190       26             13       13
# sm__warps_active (of the most possible)         87 %     83 %            6 %     69 %
# dram__throughput (of the most possible)         15 %     85 %            2 %     76 %
# ```
#
# The profiles of A and B looked the same at the top of this page. Here each has a line of its own: A moves
# seven times as many sectors, and B has 6 % of its warps. Some machines keep the counters for their
# administrators. ncu then says `ERR_NVGPUCTRPERM`, and you have `facts` and `traffic`.
#
# ## Recap
#
# | patient | busy | fact | mended by |
# |---|---|---|---|
# | A | the whole GPU | sectors moved for bytes asked | another index along the lanes |
# | B | a corner of the GPU | programs in the grid | splitting another dimension |
# | C | the host | constants that change | an argument |
# | D | both, in turns | values read by Python | leaving the number where it is |
#
# **Common mistakes**
#
# - Turning knobs first: `num_warps`, `BLOCK`. None of the four gets well from it.
# - Timing one call with a clock of Python's, without waiting for the GPU: that is the launch's time.
# - Calling a kernel fast because the GPU is at 100 %. Patient B shows 100 % too: "some kernel runs".
#
# Next: [92_debug_hard](92_debug_hard.ipynb), with five bugs that hide.

# %%
progress()
