# ---
# workbook:
#   title: Measure
#   minutes: 50
#   needs: interpreter
#   requires: [01_vector_add]
#   you_will:
#     - time a kernel without fooling yourself, and name the four ways to be fooled
#     - say from bytes and operations how fast a kernel can be on a given GPU
#     - find the line of a training loop that makes the host wait
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
# Your Python program runs on the **host**. The kernels run on the GPU, the **device**. When you
# launch a kernel, the host puts a note into a queue and goes on at once. The kernel has not even
# started. That is what makes GPUs fast, and what makes them hard to time.
#
# To see this happen you need no GPU. This notebook brings a simulated one: two clocks and a queue,
# nothing else. Its times are exact, so you can check your own code against them. Everything you
# write works on a real GPU too, through the same handle `gpu`.

# %%
from tritonbook.timing import SimulatedKernel, gpu, simulated_gpu, timeline

with simulated_gpu() as device:
    kernel = SimulatedKernel(device, run_ms=[2.0], launch_ms=0.2)
    start = gpu.clock()
    for _ in range(3):
        kernel()
    print(f"after three launches: {(gpu.clock() - start) * 1e3:.1f} ms on the host's clock")
    gpu.synchronize()
    print(f"after synchronize:    {(gpu.clock() - start) * 1e3:.1f} ms")

timeline(device.trace, "Three launches, then the host waits", "simulated")

# %% [markdown]
# Three launches took 0.6 ms of the host. The work itself took 6 ms. `gpu.synchronize()` makes the
# host wait until the queue is empty. On a real GPU it calls `torch.cuda.synchronize()`.
#
# ## Four ways to be fooled
#
# 1. **No synchronise.** You time the launch. Every kernel seems to take the same few microseconds.
# 2. **No warm-up.** The first call compiles the kernel, and a GPU that was idle runs at a low clock
#    for a while. You time the compiler.
# 3. **Work in the queue.** What was launched earlier is still running when you start the clock.
# 4. **The mean.** One call in fifty is interrupted by something and takes twenty times as long. The
#    mean believes it, the median does not.
#
# ## The contract
#
# | function | arguments | result |
# |---|---|---|
# | `bench_ms(fn, warmup, rep)` | `fn()` launches work | milliseconds of one call |
# | `intensity(bytes, flops)` | traffic and arithmetic of a kernel | operations per byte |
# | `roofline_ms(bytes, flops, peak_bw, peak_flops)` | and GB/s, TFLOP/s | least milliseconds |
# | `find_sync(trace)` | events of a profiler | which operators made the host wait |
#
# `bench_ms` calls `fn` `warmup` times without timing and then `rep` times with. **Each timed call
# starts when the GPU is idle and ends when the GPU is idle again.** The result is the median of the
# `rep` times.

# %% tags=["reference"]
import statistics
from tritonbook.timing import SimulatedKernel, gpu, simulated_gpu

# %% [markdown]
# ## Task 1. A benchmark function
#
# Write `bench_ms`, about 9 lines. `gpu.clock()` gives the host's clock in seconds.
# `bench_simulated` below it is given. It runs your function on a simulated GPU, with a kernel whose
# times are known.

# %% tags=["answer"] key="bench_ms"
def bench_ms(fn, warmup, rep):
    """Median milliseconds of one call of fn(), from an idle GPU to an idle GPU."""
    # TODO: warm up, then time `rep` calls one by one (about 9 lines)
    ### BEGIN SOLUTION
    for _ in range(warmup):
        fn()
    gpu.synchronize()

    times = []
    for _ in range(rep):
        start = gpu.clock()
        fn()
        gpu.synchronize()
        times.append((gpu.clock() - start) * 1e3)
    return statistics.median(times)
    ### END SOLUTION


def bench_simulated(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    """bench_ms on a simulated GPU.

    run_ms: device times of the calls one after another (the last one repeats). launch_ms: host time
    of a launch. first_ms: added to the first call. waiting_ms: work in the queue beforehand.
    """
    with simulated_gpu() as device:
        if waiting_ms:
            device.launch("earlier work", waiting_ms, 0.0)
        kernel = SimulatedKernel(device, run_ms, launch_ms, first_ms)
        return bench_ms(kernel, warmup, rep)

# %% [markdown] tags=["hint"] key="bench_ms"
# #### Hints for bench_ms
#
# <details><summary>Hint 1: a question</summary>
#
# At which moments must the queue be empty? There are two kinds of them.
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `gpu.synchronize()` after the warm-up, and after each timed call before you read the clock.
# `statistics.median` takes a list.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for _ in range(...):
#     ...
# gpu.synchronize()
#
# times = []
# for _ in range(...):
#     start = ...
#     ...
#     times.append((... - start) * ...)
# return ...
# ```
#
# </details>

# %% tags=["check"] key="bench_ms" points=5
check(bench_ms)

# %% [markdown]
# **From now on use `bench`.** It does what you wrote, and a few things more. Before each call it
# flushes the L2 cache, the memory on the chip that holds what was used last. It reads markers in the
# GPU's own queue (CUDA events) instead of the host's clock. And it compares the result with what
# this GPU can do.
#
# It also knows the **launch-bound trap**. A launch costs the host 4 to 20 microseconds. If the
# kernel itself takes 2, your figure is that of the host, and a better kernel changes nothing. Below
# 20 microseconds `bench` therefore prints a second figure, *device*: ten calls are recorded as one
# CUDA graph and replayed, so that the host launches once for all of them.

# %%
sizes = {"1 thousand": 2**10, "64 thousand": 2**16, "1 million": 2**20, "64 million": 2**26}
if DEVICE != "cuda":
    sizes = {"1 thousand": 2**10, "64 thousand": 2**16}
tensors = {name: torch.randn(n, device=DEVICE) for name, n in sizes.items()}

tiny = bench(
    {f"x + 1, {name}": lambda x=x: x + 1 for name, x in tensors.items()},
    title="x + 1 in float32: when is it the host you measure?",
    stored="tiny_kernels",
)
tiny

# %% [markdown]
# From a thousand elements to a million the work grows a thousandfold. On an H100 the first figure
# does not even double. What you see there is the launch.
#
# The **compile trap** is its cousin. `torch.compile` makes a program for the shapes it has seen. A
# function compiled for one shape (*static*) and one compiled for any shape (*dynamic*) are two
# programs. On one H100 (torch 2.11, Triton 3.6), RMSNorm of few long rows in bfloat16 took, in
# microseconds:
#
# | shape | static, as called | static, device | dynamic, as called | dynamic, device |
# |---|---|---|---|---|
# | 8 × 262,144 | 66 | 7.1 | 68 to 90 | 12.3 |
# | 32 × 65,536 | 16 to 18 | 6.8 | 62 to 81 | 12.9 |
#
# Which of the four numbers is "the time of torch.compile"? A sentence that compares with it has to
# say which.
#
# ## Task 2. Operations per byte
#
# Every kernel moves bytes and computes. Their ratio decides which of the two it waits for. Write
# `intensity`, about 3 lines: floating-point operations per byte. A kernel that moves no bytes is a
# mistake in your counting, so raise `ValueError` when `bytes` is not positive.

# %% tags=["answer"] key="intensity"
def intensity(bytes, flops):
    """Floating-point operations per byte moved. Raises ValueError unless bytes > 0."""
    # TODO: check, then divide (about 3 lines)
    ### BEGIN SOLUTION
    if bytes <= 0:
        raise ValueError(f"a kernel moves more than {bytes} bytes")
    return flops / bytes
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="intensity"
# #### Hints for intensity
#
# <details><summary>Hint 1: a question</summary>
#
# `add` from notebook 01 does 1 operation for 12 bytes. What is its intensity?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# "Operations per byte": what stands above the line, what below?
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if ...:
#     raise ValueError(...)
# return ... / ...
# ```
#
# </details>

# %% tags=["check"] key="intensity" points=1
check(intensity)

# %% [markdown]
# ## Task 3. The roofline
#
# A GPU has two limits: how many bytes a second it can move, and how many operations a second it can
# do. Moving and computing go on **at the same time**. So a kernel needs at least as long as the
# slower of the two. That is the whole roofline model.
#
# Write `roofline_ms`, about 3 lines. Mind the units: `peak_bw` is in GB/s ($10^9$ bytes a second),
# `peak_flops` in TFLOP/s ($10^{12}$ operations a second), the result in milliseconds.

# %% tags=["answer"] key="roofline_ms"
def roofline_ms(bytes, flops, peak_bw, peak_flops):
    """Least milliseconds for this work; peak_bw in GB/s, peak_flops in TFLOP/s."""
    # TODO: time of the bytes, time of the operations, which of them counts? (about 3 lines)
    ### BEGIN SOLUTION
    memory_ms = bytes / (peak_bw * 1e9) * 1e3
    arithmetic_ms = flops / (peak_flops * 1e12) * 1e3
    return max(memory_ms, arithmetic_ms)
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="roofline_ms"
# #### Hints for roofline_ms
#
# <details><summary>Hint 1: a question</summary>
#
# 3,000 GB/s and 6 GB to move: how many seconds? How many milliseconds?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Both go on at the same time. So the answer is neither their sum nor the smaller one.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# memory_ms = ... / (... * 1e9) * ...
# arithmetic_ms = ... / (... * 1e12) * ...
# return ...
# ```
#
# </details>

# %% tags=["check"] key="roofline_ms" points=2
check(roofline_ms)

# %% [markdown]
# The peaks of data sheets are never reached. `ceilings()` measures those of the GPU you have: a
# large copy, and a large product of float16 matrices. `bench` uses them for "% of ceiling".

# %%
from tritonbook.timing import ceilings
from tritonbook.timing.plots import roofline
from tritonbook.timing.stored import load

peaks = ceilings()
if peaks is None:
    peaks = load("roofline").peaks if load("roofline") else None
    print("No GPU here. These are the figures of another machine:")
print(peaks)

# %% [markdown]
# **Predict.** Where does the bend of the roofline lie, in operations per byte? Above it a kernel is
# bound by arithmetic, below by memory. On which side are vector add (1/12), GELU (10/8) and the
# product of two 4096 × 4096 matrices in float16?
#
# <details><summary>Answer</summary>
#
# The bend is where both times are equal: peak operations over peak bytes. For 700 TFLOP/s and
# 3,000 GB/s that is 233 operations per byte. Add and GELU are far below it. The product does
# 2 × 4096³ operations on 3 × 4096² × 2 bytes, which is 1,365 per byte: far above.
#
# </details>

# %%
side = 4096 if DEVICE == "cuda" else 128
n_elements = 2**26 if DEVICE == "cuda" else 2**14
x, y = torch.randn(n_elements, device=DEVICE), torch.randn(n_elements, device=DEVICE)
a = torch.randn(side, side, device=DEVICE, dtype=torch.float16)

work = {
    "add": lambda: x + y,
    "gelu": lambda: torch.nn.functional.gelu(x, approximate="tanh"),
    "matmul": lambda: a @ a,
}
timed = bench(
    work,
    title="64 million elements, and a product of 4096 x 4096 matrices in float16",
    stored="roofline",
)
if timed.on_gpu:
    n_elements, side = 2**26, 4096  # also where the times were stored by another machine
    points = {
        "add": (12 * n_elements, n_elements, timed["add"].ms),
        "gelu": (8 * n_elements, 10 * n_elements, timed["gelu"].ms),
        "matmul": (6 * side**2, 2 * side**3, timed["matmul"].ms),
    }
    picture = roofline(points, peaks)
else:
    picture = timed
picture

# %% [markdown]
# ## The profiler
#
# `torch.profiler` records every operator and every kernel. `profiled(fn)` runs `fn` under it. The
# table, `key_averages()`, can be printed. It can also be read by a program, as here: which
# operators does each form of GELU run, and how often?

# %%
from tritonbook.timing import profiled


def gelu_formula(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


small = torch.randn(2**18, device=DEVICE)
for name, fn in {"formula": gelu_formula, "fused": torch.nn.functional.gelu}.items():
    fn(small)
    table = profiled(lambda fn=fn: fn(small)).key_averages()
    counts = {row.key.removeprefix("aten::"): row.count for row in table}
    wanted = [key for key in ("mul", "pow", "add", "tanh", "gelu") if key in counts]
    shown = [f"{counts[key]} x {key}" for key in wanted]
    print(f"{name}:", ", ".join(shown))

# %% [markdown]
# The formula is a **composite** of many operators, each a kernel with a trip through memory. The
# **fused** operator is one. The next notebook is about making your own.
#
# For a picture of a whole program there is NVIDIA's Nsight Systems. Name the parts of your program
# with NVTX ranges, and run it under `nsys`, if you have it:
#
# ```python
# with torch.cuda.nvtx.range("forward"):
#     y = model(x)
# ```
#
# ```bash
# nsys profile --trace=cuda,nvtx,osrt -o report python train.py
# nsys stats --report cuda_gpu_kern_sum report.nsys-rep
# ```
#
# ## The hidden wait
#
# A training loop prints its loss at every step. To print a number the host must have it, so it
# waits until the GPU has computed it. In that time it launches nothing. When it comes back, the
# queue is empty and the GPU waits for the host. The simulated GPU shows both loops.

# %%
def train(device, steps, print_every):
    """A training loop: 8 kernels a step, then 1.5 ms of Python for the next batch."""
    layer = SimulatedKernel(device, run_ms=[0.3], launch_ms=0.05)
    for step in range(steps):
        for _ in range(8):
            layer()
        if step % print_every == print_every - 1:
            with device.operator("aten::item"):
                device.synchronize("cudaStreamSynchronize")
        device.work(1.5)
    device.synchronize()
    return device.clock() * 1e3


for print_every in (1, 5):
    with simulated_gpu() as device:
        total = train(device, steps=5, print_every=print_every)
    print(f"loss printed every {print_every} steps: {total:.1f} ms for 5 steps")
    loop = device.trace

# %%
with simulated_gpu() as device:
    train(device, steps=5, print_every=1)
timeline(device.trace, "The loss is printed at every step", "simulated")

# %%
timeline(loop, "The loss is printed once", "simulated")

# %% [markdown]
# ## Task 4. Find the wait
#
# A trace is a list of events. Each is a dictionary with `name`, `cat`, `tid`, `ts` and `dur`: what,
# which category, on which thread, when it started and how long it took in microseconds.
#
# - `cat == "cuda_runtime"`: a CUDA call of the host. It waits for the GPU when its name is one of
#   `WAITING_CALLS`.
# - `cat == "cpu_op"`: a PyTorch operator. Operators nest: `aten::item` calls
#   `aten::_local_scalar_dense`, which calls `cudaStreamSynchronize`.
# - `cat == "kernel"`: a kernel on the GPU.
#
# Write `find_sync(trace)`, about 12 lines. For each waiting call, in order of time, give the pair
# `(name, microseconds waited)`. The name is that of the **outermost** operator on the same thread
# that contains the whole call: this is what stands in your program. A call in no operator gives its
# own name.

# %% tags=["answer"] key="find_sync"
WAITING_CALLS = (
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy",
)


def find_sync(trace):
    """[(outermost operator, microseconds waited), ...] of each waiting call, in order of time."""
    # TODO: the waiting calls in order; for each the operators around it (about 12 lines)
    ### BEGIN SOLUTION
    calls = [e for e in trace if e["cat"] == "cuda_runtime" and e["name"] in WAITING_CALLS]
    found = []
    for call in sorted(calls, key=lambda e: e["ts"]):
        end = call["ts"] + call["dur"]
        around = [
            e
            for e in trace
            if e["cat"] == "cpu_op"
            and e["tid"] == call["tid"]
            and e["ts"] <= call["ts"]
            and end <= e["ts"] + e["dur"]
        ]
        outermost = max(around, key=lambda e: e["dur"], default=call)
        found.append((outermost["name"], call["dur"]))
    return found
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="find_sync"
# #### Hints for find_sync
#
# <details><summary>Hint 1: a question</summary>
#
# When does one stretch of time contain another? Which of several operators around a call is the
# outermost?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The outermost one lasts longest. `max(..., key=..., default=...)` also covers the case that there
# is none. Threads run at the same time, so compare `tid`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# calls = [e for e in trace if ... and ...]
# found = []
# for call in sorted(calls, key=...):
#     around = [e for e in trace if ...]
#     outermost = max(around, key=..., default=...)
#     found.append((..., ...))
# return found
# ```
#
# </details>

# %% tags=["check"] key="find_sync" points=4
check(find_sync)

# %% [markdown]
# **Try it on a real loop.** The next cell trains a small network and records a trace. On a GPU your
# function names the operator that waits: `aten::item`, because of `float(loss)`. Without a GPU
# there is nothing to wait for, and the list is empty.

# %%
from tritonbook.timing import record_trace

width = 2048 if DEVICE == "cuda" else 32
model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(6)]).to(DEVICE)
optimiser = torch.optim.SGD(model.parameters(), lr=1e-4)
batch = torch.randn(1024 if DEVICE == "cuda" else 8, width, device=DEVICE)


def real_steps(steps, print_every):
    for step in range(steps):
        loss = model(batch).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % print_every == print_every - 1:
            float(loss.detach())  # what print(loss) does


real_steps(3, 1)
for print_every in (1, 4):
    trace = record_trace(lambda every=print_every: real_steps(4, every))
    print(f"printed every {print_every} steps:", find_sync(trace))

# %%
where = torch.cuda.get_device_name() if DEVICE == "cuda" else "a CPU: there are no kernels"
timeline(trace, "Four real steps, the loss printed once", where)

# %% [markdown]
# ## Recap
#
# - A launch returns at once. Synchronise before you read the clock, and before you start it.
# - Warm up, repeat, take the median, and say what was measured: as called, or on the device.
# - Bytes over bandwidth and operations over rate: the larger time is the floor.
# - Whatever needs a value on the host waits for the GPU: `.item()`, `float()`, `print`, `.cpu()`,
#   `nonzero`, an `if` on a tensor.
#
# <details><summary>Common mistakes</summary>
#
# - Timing with inputs of zeros: a matrix product of zeros runs faster than a real one.
# - Timing on a tensor that fits in the cache, again and again: it never leaves the cache.
# - Comparing the first call of one program with the tenth of another.
# - Milliseconds without the size, the dtype, and the GPU's name.
#
# </details>
#
# Next: [03_gelu_fusion](03_gelu_fusion.ipynb), where nine trips through memory become one.

# %%
progress()
