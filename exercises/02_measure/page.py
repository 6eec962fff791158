# ---
# workbook:
#   title: Measure
#   minutes: 60
#   stretch: 35
#   needs: interpreter
#   requires: [01_vector_add]
#   you_will:
#     - time a kernel without fooling yourself, and name the four ways to be fooled
#     - say from bytes and operations how fast a kernel can be on a given GPU
#     - find the line of a training loop that makes the host wait
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# Your Python code runs on the **host**. The kernels run on the GPU, the **device**. When you
# launch a kernel, the host puts a note into a queue and goes on at once. The kernel has not even
# started. That makes GPUs fast, and hard to time.
#
# To see this you need no GPU. This page brings a simulated one: two clocks and a queue. Its times are
# exact, so your code can be checked against them. What you write works on a real GPU too, through the
# same `gpu`.
#
# **Whose times?** A picture says *simulated*. A table or plot names the GPU: yours, or, if you have none,
# that of the workbook's own run.

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
# Three launches took 0.6 ms of the host. The work took 6 ms, from 0.2 ms on. `gpu.clock()`
# reads the host's clock, in seconds. `gpu.synchronize()` makes the host wait until the queue is
# empty; on a real GPU it calls `torch.cuda.synchronize()`.
#
# ## Four ways to be fooled
#
# 1. **No synchronise.** You time the launch. Every kernel seems to take the same few microseconds.
# 2. **No warm-up.** The first call compiles the kernel. You time the compiler.
# 3. **Work in the queue.** What was launched earlier is still running when you start the clock.
# 4. **The mean.** One call in fifty is interrupted and takes twenty times as long. The median ignores it.
#
# ## The contract
#
# | function | arguments | result |
# |---|---|---|
# | `bench_ms(fn, warmup, rep)` | `fn()` launches work; two counts | milliseconds of one call |
# | `intensity(bytes, flops)` | what a kernel moves and computes | operations per byte |
# | `roofline_ms(bytes, flops, peak_bw, peak_flops)` | the same, and a GPU's limits | least milliseconds |
#
# `bench_ms` calls `fn` `warmup` times without timing and then `rep` times with. **Each timed call
# starts when the GPU is idle and ends when the GPU is idle again.** The result is the median of the
# `rep` times.
#
# <details><summary>What the card says of each simulated kernel</summary>
#
# `run_ms`: how long its calls take on the GPU, one after another. `launch_ms`: a launch on the host.
# `first_ms`: what the first call takes longer. `waiting_ms`: work that is in the queue before.
#
# </details>

# %% tags=["reference"]
import statistics
from tritonbook.timing import gpu, simulated_bench
from tritonbook.timing.trace import WAITING_CALLS

# %% [markdown]
# ## Task 1. A benchmark function
#
# Write `bench_ms`, about 9 lines. Time it with `gpu`, not with Python's clock: the check runs it on the
# simulated GPU, through `bench_simulated`, which is given.


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


def bench_simulated(*schedule):
    """bench_ms on a simulated GPU."""
    return simulated_bench(bench_ms, *schedule)


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
# The demonstration above reads the clock, launches, and waits. You need the same three for each
# timed call. And what is left in the queue after the warm-up? The module `statistics` is imported.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# ...  # the warm-up, and an idle GPU
#
# times = []
# for _ in range(...):
#     start = ...
#     ...  # one call, until the GPU is idle
#     times.append(...)  # in milliseconds
# return ...
# ```
#
# </details>

# %% tags=["check"] key="bench_ms" points=6
check(bench_ms)

# %% [markdown]
# **Time your own machine.** Your function works on what is there: your GPU, or else your processor.
# **Predict:** from the first to the third row the work grows a thousandfold. And the time?

# %%
for count in (2**10, 2**16, 2**20, 2**24):
    numbers = torch.randn(count, device=DEVICE)
    milliseconds = bench_ms(lambda numbers=numbers: numbers + 1, 5, 30)
    print(f"x + 1, {count:>10,} elements: {milliseconds:.4f} ms")

# %% [markdown]
# The first rows are mostly the price of a call, so the time grows by far less than a thousand.
#
# **From now on use `bench`.** It does what you wrote, and more: before each call it empties the L2 cache,
# which holds what was used last, and it compares the time with what this GPU can do.

# %%
sizes = {"1 thousand": 2**10, "64 thousand": 2**16, "1 million": 2**20, "64 million": 2**26}
if DEVICE != "cuda":
    sizes = {"1 thousand": 2**10}
tensors = {name: torch.randn(n, device=DEVICE) for name, n in sizes.items()}

bench(
    {f"x + 1, {name}": lambda x=x: x + 1 for name, x in tensors.items()},
    title="x + 1 in float32: when is it the host you measure?",
    stored="tiny_kernels",
)

# %% [markdown]
# On the H200 a thousand times the work takes 0.0077 ms instead of 0.0050: not even double. What you see is
# the launch. It costs the host 4 to 20 microseconds, up to 50 for a Triton kernel in a wrapper, and a better
# kernel changes nothing. Such work is **launch-bound**. For short calls `bench` gives a second time,
# *device ms*: ten calls are recorded, then replayed with one launch (a *CUDA graph*), without the host.
#
# ## Task 2. Operations per byte
#
# Every kernel moves bytes and computes. Their ratio decides which of the two it waits for. Write
# `intensity`, about 3 lines: floating-point operations per byte. Raise `ValueError` unless `bytes` is
# positive. No operations are fine: a copy does none.


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
# `add` from page 01 does 1 operation for 12 bytes. What is its intensity?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# Which of the two numbers may be 0 in an honest count, and which may not? Only that one needs a
# check. `raise ValueError("a sentence")` is how Python refuses.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# An `if` with a `raise` below it, then one division. "Per byte": which of the two numbers do you
# divide by?
#
# </details>

# %% tags=["check"] key="intensity" points=2
check(intensity)

# %% [markdown]
# ## Task 3. The roofline
#
# A GPU has two limits: how many bytes a second it can move, and how many operations a second it can
# do. Moving and computing go on **at the same time**. So a kernel needs at least as long as the
# slower of the two. That is the whole *roofline* model.
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
# Compute both times first, each as an amount over a rate, and turn both into milliseconds. Then
# one of Python's own functions chooses.
#
# </details>

# %% tags=["check"] key="roofline_ms" points=4
check(roofline_ms)

# %% [markdown]
# **Which peaks?** Those of data sheets are never reached, so `bench` measures them, anew in each run (that
# is why they differ by some percent from page to page): a large copy, and a large product of float16
# matrices. Such products run on units of their own, the *tensor cores*: 989 TFLOP/s in an H100's data
# sheet. Ordinary float32 arithmetic has 67.
#
# The next cell times three kinds of work and shows only the peaks. Count what each one does:
#
# | work | bytes | operations |
# |---|---|---|
# | `x + y` in float32 | 12 for each element | 1 |
# | GELU in float32 | 8 for each element | 9: six `*`, two `+`, one `tanh` |
# | `a @ a` in float16, side $n$ | $3 \cdot 2\,n^2$: two factors, one result | $2\,n^3$: each of $n^2$ sums has $n$ `*` and $n$ `+` |

# %%
n, side = (2**26, 4096) if DEVICE == "cuda" else (2**10, 64)
x, y = torch.randn(2, n, device=DEVICE)
a = torch.randn(side, side, device=DEVICE, dtype=torch.float16)

timed = bench(
    {
        "add": lambda: x + y,
        "gelu": lambda: torch.nn.functional.gelu(x, approximate="tanh"),
        "matmul": lambda: a @ a,
    },
    title="64 million elements, and a product of 4096 x 4096 matrices in float16",
    stored="roofline",
)
print(timed.peaks)

# %% [markdown]
# Guess before you look. Your `roofline_ms` may help.

# %% tags=["predict"]
from tritonbook import predict, time_of

predict(
    {
        "operations per byte at which bytes and operations take equally long": None,
        "ms of x + y, 67,108,864 float32 elements": None,
        "ms of the product of two 4096 x 4096 float16 matrices": None,
    },
    measured=[
        lambda: timed.peaks.ridge,
        lambda: time_of(timed, "add"),
        lambda: time_of(timed, "matmul"),
    ],
    hints=[
        "Operations a second over bytes a second. Mind TFLOP/s and GB/s.",
        "12 bytes for each element. 1 GB/s moves 1,000,000 bytes in a millisecond.",
        "2 x 4096 x 4096 x 4096 operations, at the second peak.",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# With the H200's 4,156 GB/s and 730 TFLOP/s: 730e12 / 4,156e9 = 176 operations per byte. Adding
# moves 67,108,864 × 12 bytes = 805 MB, in 0.194 ms. The product does 2 × 4096³ = 137 billion
# operations, in 0.188 ms; its 101 MB would take 0.024 ms.
#
# </details>

# %%
timed

# %%
from tritonbook.timing.plots import roofline

n, side = 2**26, 4096  # of the table
roofline(
    {
        "add": (12 * n, n, timed["add"].ms),
        "gelu": (8 * n, 9 * n, timed["gelu"].ms),
        "matmul": (6 * side**2, 2 * side**3, timed["matmul"].ms),
    },
    timed.peaks,
)

# %% [markdown]
# **Read it.** The line is the roof: no kernel gets above it, except by the percent or two that
# measurements differ. Left of the bend a kernel waits for bytes (*memory-bound*), right of it for
# arithmetic (*compute-bound*). Add and GELU, at 1/12 and 9/8 operations per byte, lie far to the
# left; the product, at 1,365, to the right. All three nearly touch the roof: nothing is left to win.
#
# ## The hidden wait
#
# A training loop prints its loss at every step. To print a number the host must have it, so it waits
# until the GPU has computed it, and launches nothing. When it comes back, the queue is empty and the GPU
# waits for the host. Look at the pictures; the simulation that makes them you need not read.


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


traces = {}
for print_every in (1, 5):
    with simulated_gpu() as device:
        total = train(device, steps=5, print_every=print_every)
    print(f"loss printed every {print_every} steps: {total:.1f} ms for 5 steps")
    traces[print_every] = device.trace

timeline(traces[1], "The loss is printed at every step", "simulated")

# %%
timeline(traces[5], "The loss is printed once", "simulated")

# %% [markdown]
# ## Stretch: find the wait
#
# A *profiler*, such as `torch.profiler`, writes down what host and GPU do. The result is a *trace*, a
# list of events. Each is a dictionary with `name`, `cat`, `tid`, `ts` and `dur`: what, which
# category, on which thread, when it started and how long it took in microseconds.
#
# - `cat == "cuda_runtime"`: a CUDA call of the host. It waits for the GPU when its name is one of
#   `WAITING_CALLS`.
# - `cat == "cpu_op"`: a PyTorch operator. Operators nest: `aten::item` calls
#   `aten::_local_scalar_dense`, which calls `cudaStreamSynchronize`.
# - `cat == "kernel"`: a kernel on the GPU.
#
# Write `find_sync(trace)`, about 12 lines. For each waiting call, in order of time, give the pair
# `(name, microseconds waited)`. The name is that of the **outermost** operator on the same thread
# that contains the whole call: this is what stands in your code. A call in no operator gives its
# own name.


# %% tags=["answer", "stretch"] key="find_sync"
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
# When does one span of time contain another? Which of several operators around a call is the
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
# calls = [e for e in trace if ...]
# found = []
# for call in ...:  # in order of time
#     around = [...]  # operators, same thread, the whole call inside
#     outermost = max(..., key=..., default=...)
#     found.append(...)
# return found
# ```
#
# </details>

# %% tags=["check", "stretch"] key="find_sync" points=0
check(find_sync)

# %% [markdown]
# **Try it on a real loop.** On a GPU your function names the operator that waits: `aten::item`, because of
# `float(loss)`. Without a GPU there is nothing to wait for, and both lists are empty.

# %%
from tritonbook.timing import record_trace

width = 2048 if DEVICE == "cuda" else 32
model = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(6)]).to(DEVICE)
batch = torch.randn(256, width, device=DEVICE)


def real_steps(print_every):
    for step in range(4):
        loss = model(batch).square().mean()
        loss.backward()
        if step % print_every == print_every - 1:
            float(loss.detach())  # what print(loss) does


real_steps(1)  # warm up
for print_every in (1, 4):
    trace = record_trace(lambda every=print_every: real_steps(every))
    print(f"printed every {print_every} steps:", find_sync(trace))

# %% [markdown]
# ## Recap
#
# - A launch returns at once. Synchronise before you read the clock, and before you start it.
# - Warm up, repeat, take the median, and say what was measured: as called, or on the device.
# - Bytes over bandwidth and operations over rate: the larger time is the floor.
# - Whatever needs a value on the host waits: `.item()`, `float()`, `print`, `.cpu()`, an `if` on a tensor.
#
# <details><summary>Common mistakes</summary>
#
# - Timing with inputs of zeros: a matrix product of zeros runs faster than a real one.
# - Timing on a tensor that fits in the cache, again and again: it never leaves the cache.
# - Comparing with `torch.compile` without saying how. Did it compile for this shape alone, or for every
#   shape? Does the time include the launch?
# - Milliseconds without the size, the dtype, and the GPU's name.
#
# </details>
#
# Next: [03_gelu_fusion](03_gelu_fusion.ipynb), where nine kernels become one.

# %%
progress()
