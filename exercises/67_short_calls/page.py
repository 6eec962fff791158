# ---
# workbook:
#   title: Short calls, launched again
#   minutes: 50
#   needs: interpreter
#   requires: [04_softmax, 22_autotune]
#   you_will:
#     - see where the time of a short call goes, which is not on the GPU
#     - say when two calls launch the same
#     - record what a call launches, and launch it again without its questions
# ---

# %% tags=["setup"]
from tritonbook.first_cell import *

# %% [markdown]
# ## The idea
#
# A launch only puts work into a queue. While the GPU computes, Python prepares the next call. With large
# tensors Python waits for the GPU. With small ones the GPU waits for Python: a model that writes token
# after token is made of such calls. Where does their time go, and which part of it could be saved? Without
# a GPU the tables show the times of an H200.

# %% tags=["reference"]
from tritonbook.replay import record


@triton.jit
def add_kernel(x_ptr, y_ptr, n_elements, value, BLOCK_SIZE: tl.constexpr):
    """y = x + value.

    One program = BLOCK_SIZE elements.
    Assumes x and y contiguous.
    """
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, x + value, mask=mask)


def add(x, value):
    """x + value, for x contiguous."""
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 1024),)
    add_kernel[grid](x, y, x.numel(), value, BLOCK_SIZE=1024)
    return y


# %%
import time

from tritonbook.timing.clock import clock
from tritonbook.timing.stored import Curves, keep, load

GPU = DEVICE == "cuda"


def called(fn, *args):
    """Microseconds of one call of 200 in a row, Python's part included: the least of ten rounds."""
    rounds = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            fn(*args)
        torch.cuda.synchronize()
        rounds.append(time.perf_counter() - start)
    return min(rounds) / 200 * 1e6


def times_of(stored, measure):
    """What measure() returns, {name: [microseconds]}, or those of an H200."""
    if not GPU:
        return load(stored)
    times = Curves(measure())
    keep(stored, times)
    return times


def show(times, *columns):
    print(times.label, "microseconds", sep="\n")
    print(f"{'':26}" + "".join(f"{each:>12}" for each in columns))
    for name, found in sorted(times.curves.items(), key=lambda item: item[1][0]):
        print(f"{name:26}" + "".join(f"{each:12.1f}" for each in found))


x = torch.randn(8, 1024, device=DEVICE)
y = torch.empty_like(x)


def parts():
    return {
        "x + 1, by PyTorch": [called(torch.add, x, 1)],
        "add(x, 1)": [called(add, x, 1)],
        "in it: torch.empty_like": [called(torch.empty_like, x)],
        "in it: the launch": [called(lambda: add_kernel[(8,)](x, y, 8192, 1, BLOCK_SIZE=1024))],
        "in it: the GPU": [1e3 * clock().device_time(lambda: add(x, 1))],
    }


show(times_of("short_calls_parts", parts), "8 x 1024")

# %% [markdown]
# **Read it.** The GPU needs 1.5 microseconds, then it waits: Python takes ten times as long to launch the
# kernel. PyTorch's operator, written in C++, allocates and launches in half of the launch's time.
#
# ## What a launch asks
#
# `kernel[grid](...)` does not know yet which compiled kernel to start. It asks each argument:
#
# - Which dtype does the tensor have?
# - Is its address a multiple of 16? Then a load may fetch 16 bytes at once: that is another compiled kernel.
# - Is the number 1, or a multiple of 16? That is compiled in as well.
#
# Then it looks for that kernel, or compiles it. Your wrapper, too, has questions: which shape, which strides,
# which grid, which tiles? No answer depends on what the tensors *hold*, or where they lie, but for that
# multiple of 16. Let us say that two calls with the same answers are of one **kind**. The picture draws all
# that Python *asks* first, then the *new* tensor and the *start* of the kernel.

# %%
draw = pictures("short_calls")
draw.draw_calls()

# %% [markdown]
# ## Task 1. When are two calls of one kind?
#
# `kind_of(args)` gets the arguments of a call, a tuple, and returns a tuple that can be a dictionary's
# key. Two calls have equal tuples only if all of this agrees:
#
# | of | what |
# |---|---|
# | each tensor | shape, strides, dtype, device, and whether its address (`x.data_ptr()`) is a multiple of 16 |
# | each other argument | its type and itself: for Python `1 == 1.0 == True` |
# | all tensors together | which of them begin at the same address |
#
# The last line is for `f(x, x)`. Whoever watches this call cannot tell which `x` a launch took, the first or the
# second. So it must not have the kind of `f(x, y)`. But `f(x, x)` and `f(y, y)` are of one kind. For example, keep
# for each tensor the number of the first one that begins where it does: 0, 0 for `f(x, x)`, and 0, 1 for
# `f(x, y)`.
#
# Calls that agree in all of this are of one kind, whatever their tensors hold, wherever they lie, and whether
# they ask for gradients or not. About 9 lines.

# %% tags=["answer"] key="kind_of"
from tritonbook.seeing.calls import compared


def kind_of(args):
    """A key that calls share if they launch the same."""
    kind, addresses = [], []
    # TODO: of each argument what the table says; then which tensors begin together (about 9 lines)
    ### BEGIN SOLUTION
    for x in args:
        if isinstance(x, torch.Tensor):
            addresses.append(x.data_ptr())
            kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 == 0]
        else:
            kind += [type(x), x]
    if len(set(addresses)) < len(addresses):
        kind += [addresses.index(address) for address in addresses]
    ### END SOLUTION
    return tuple(kind)


def kinds_compared(change):
    """Do two calls with this difference have one kind? For the check (given)."""
    return compared(kind_of, change)

# %% [markdown] tags=["hint"] key="kind_of"
# #### Hints for kind_of
#
# <details><summary>Hint 1: a question</summary>
#
# Take `f(x, 2, x)` and `f(x, 2, y)`. At which places do your two tuples differ?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# `isinstance(x, torch.Tensor)` tells tensors from the rest. `a_list.index(item)` is the number of the
# first one that equals `item`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# for x in args:
#     if isinstance(x, torch.Tensor):
#         addresses.append(...)
#         kind += [...]  # five things
#     else:
#         kind += [...]  # two
# kind += [...]  # for each address, where it comes first
# ```
#
# </details>

# %% tags=["check"] key="kind_of" points=3
check(kind_of)

# %% [markdown]
# ## A recording
#
# `record(fn, *args)` calls `fn(*args)` and watches. It returns the result, and a recording:
#
# | in it | what |
# |---|---|
# | `new` | what the call allocated, in order; `new[0].make()` allocates a tensor like the first |
# | `steps` | what it launched, in order; `steps[0](tensors)` launches it again with other tensors |
# | `result` | `result(tensors)` picks what the call returned |
#
# `tensors` is one list: the tensors among the arguments, in order (of `f(x, x)`: `x` twice), and behind them the
# new ones.

# %%
_, of_add = record(add, x, 1)
both = [torch.zeros_like(x), of_add.new[0].make()]
for step in of_add.steps:
    step(both)
of_add.result(both)[0, :4]

# %% [markdown]
# On a GPU such a launch asks nothing: it goes straight to the compiled kernel, with new addresses.
#
# If a call does more than `torch.empty`, views, `copy_` and launches, such as a sum by PyTorch or an
# `x.contiguous()` that copies, then the recording is **None**: it could not be repeated. What a recording cannot
# see is why `fn` chose as it did. If it chooses by a global variable or by chance, do not replay it.
#
# ## Task 2. `replayed`
#
# `replayed(fn, most=64)` returns a function that is called as `fn`, without keywords, and asks less.
#
# - The first call of a kind is recorded, and its result returned.
# - Later calls of that kind do not call `fn`: they allocate, take all steps, and return the result. Each call
#   allocates anew, because somebody may still hold the last result.
# - A None is kept, too. Calls of its kind call `fn` itself, each time.
# - At most `most` kinds are kept. With one more, the kind that was **used** longest ago goes.
# - If `fn` raises an error, the call does, too, and no kind comes or goes.
#
# The check replays functions that add to their tensor how often they have run. Call number k gets a tensor of
# 100 k (and one of 10,000 k). A replay adds the number of its *recorded* run: in call 3, 301 is run 1 replayed,
# and 303 is a third run. Cards count results from 0; where two functions are called by turns, `[4]` is the third
# call of the first.
#
# `kept` is a dictionary that knows an order: `kept.move_to_end(kind)` makes a kind the last,
# `kept.popitem(last=False)` drops the first. About 14 lines.

# %% tags=["answer"] key="replayed"
from collections import OrderedDict

from tritonbook.seeing.calls import told


def replayed(fn, most=64):
    """fn, recorded once for each kind of arguments, and launched again after that."""
    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first

    def call(*args):
        kind = kind_of(args)
        # TODO: record a new kind, and keep at most `most`; replay a known one (about 14 lines)
        ### BEGIN SOLUTION
        if kind not in kept:
            result, kept[kind] = record(fn, *args)
            if len(kept) > most:
                kept.popitem(last=False)
            return result
        kept.move_to_end(kind)
        recording = kept[kind]
        if recording is None:
            return fn(*args)
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        tensors += [new.make() for new in recording.new]
        for step in recording.steps:
            step(tensors)
        return recording.result(tensors)
        ### END SOLUTION

    return call


def replays_told(how, order, most):
    """What calls of a replayed function give, for the check (given)."""
    return told(replayed, add, add_kernel, how, order, most)

# %% [markdown] tags=["hint"] key="replayed"
# #### Hints for replayed
#
# <details><summary>Hint 1: a question</summary>
#
# `most` is 2, and calls of the kinds A, B, A, C come in this order. Which two are kept then? Which line
# sees to it that A is one of them?
#
# </details>
# <details><summary>Hint 2: where to look</summary>
#
# The cell with `of_add.result(both)` has the second half. Its list began with one tensor: yours
# begins with all that are among `args`.
#
# </details>
# <details><summary>Hint 3: the shape of the code</summary>
#
# ```python
# if kind not in kept:
#     result, kept[kind] = ...
#     if ...:
#         kept.popitem(last=False)
#     return result
# kept.move_to_end(kind)
# recording = kept[kind]
# if recording is None:
#     return ...
# tensors = ...  # among the arguments
# tensors += ...  # new ones
# for step in ...:
#     ...
# return ...
# ```
#
# </details>

# %% tags=["check"] key="replayed" points=6
check(replayed)

# %% [markdown]
# ## Predict, then measure
#
# PyTorch, your functions as they are, and the same replayed. The cell shows nothing yet.

# %%
softmax, rmsnorm, matmul = (mine(name, quiet=True) for name in ("softmax", "rmsnorm", "matmul"))


h = torch.randn(8, 1024, device=DEVICE, dtype=torch.float16)
w, square = h[0].clone(), torch.randn(256, 256, device=DEVICE, dtype=torch.float16)
rows = {
    "x + 1, 8 x 1024": (torch.add, add, x, 1),
    "softmax, 8 x 1024": (lambda x: torch.softmax(x, -1), softmax, h),
    "rmsnorm, 8 x 1024": (
        lambda x, w: torch.nn.functional.rms_norm(x, w.shape, w), rmsnorm, h, w
    ),
    "product, 256 x 256 x 256": (torch.matmul, matmul, square, square.clone()),
}


def three_ways():
    return {
        name: [called(each, *args) for each in (peer, fn, replayed(fn))]
        for name, (peer, fn, *args) in rows.items()
    }


now = times_of("short_calls_now", three_ways)
of_softmax = now.curves["softmax, 8 x 1024"]
growing = [torch.empty(8, N, device=DEVICE) for N in range(100, 200)]

# %% tags=["predict"]
from tritonbook.seeing.prediction import Measured, predict

predict(
    {
        "kinds of softmax(x) while x grows from 100 to 199 columns, one by one": None,
        "times as long, softmax as it is over softmax replayed": None,
    },
    measured=[
        lambda: len(set(map(kind_of, zip(growing)))),
        lambda: Measured(of_softmax[1] / of_softmax[2], "times", now.label),
    ],
    hints=[
        "Is the shape part of a kind?",
        "What is left of a call in the picture when nothing is asked?",
    ],
)

# %% [markdown]
# <details><summary>Where the numbers come from</summary>
#
# **Kinds.** Each width is a shape of its own: 100 kinds, and nothing is ever replayed. To write token after
# token, give the kernel memory for the longest text, of one shape, and a tensor that says how much is filled.
#
# **The ratio.** As it is, the call takes 29 microseconds. Replayed, it makes a key, allocates, and launches
# without questions: 10 microseconds. PyTorch's operator, written in C++, takes 11.
#
# </details>

# %%
show(now, "PyTorch", "as it is", "replayed")

# %% [markdown]
# **Read it.** Replayed, each call takes half or a third of its time. All but the simplest end at PyTorch's
# time or below it.
#
# ## Where this ends
#
# - The first call of a kind takes longer: it is watched. 64 kinds that come by turns are replayed, 65 never.
# - `torch.compile` asks in the same way. Its *guards* are the questions whose answers make a kind.
# - A replay computes no gradients: autograd does not see it.
# - A **CUDA graph** goes further: it records a thousand launches, and one call launches them all, without
#   Python. Its addresses are fixed: you copy new values into the same tensors.
# - A tuned function (page 22) tunes itself in its first call: make that call before you replay it.
# - Behind a long kernel none of this matters. Python is ahead of the GPU then.
#
# `replayed` works with your own functions, those of the record pages too, if they choose by their arguments
# alone.
#
# ## Recap
#
# - A short call costs what Python asks, not what the GPU does.
# - What is launched depends on shapes, strides, dtypes, devices, alignment, shared addresses and numbers: the
#   kind of a call.
# - Record once for each kind. After that: allocate, launch, return.
#
# <details><summary>Common mistakes</summary>
#
# - A key without strides, or without the alignment: the wrong kernel for the next call.
# - The address itself in the key: each call is a kind of its own.
# - New tensors made once: the next call overwrites the last result.
# - The kind *recorded* longest ago goes, though it may be the one in use.
#
# </details>
#
# Next: [70_all_reduce](70_all_reduce.ipynb), where several GPUs add up one sum.

# %%
progress()
