"""What the checks of 91_profile try, and what speaks against each wrong cause."""

import contextlib
import math
import sys
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

from tritonbook import DEVICE
from tritonbook.checking import Speed, asks, case, tensor
from tritonbook.checking.trial import fence
from tritonbook.seeing.operators import new_memory_is_nan
from tritonbook.words import later

from ..shared.clinic import AGAINST_SLOWNESS, RIGHT, drawn, listed, patient

# --- scale_columns


def scale_columns_ref(x, w):
    return x * w


def weighted(note, M, N, block=16, layout="contiguous", **more):
    x, w = tensor(M, N, layout=layout), tensor(N)
    return case(note, x=x, w=w, options={"block": block} if block else {}, **more)


COALESCED = "64 by 96, in blocks of 32"
WEIGHTED = [
    weighted("blocks of 16", 20, 32),
    weighted("rows and columns that are no multiples", 21, 37),
    weighted("fewer columns than a block", 40, 5),
    weighted("fewer rows than a block", 3, 50),
    weighted(COALESCED, 64, 96, block=32),
    weighted("the block as it is", 100, 1100, block=None),
    weighted("half precision", 18, 24, dtype="float16"),
    weighted("rows with gaps", 6, 8, layout="strided", raises=ValueError),
]
HIDDEN_WEIGHTED = [
    weighted("one row", 1, 300),
    weighted("one column", 300, 1),
    weighted("blocks of 128", 40, 200, block=128),
    weighted("bfloat16", 33, 65, block=32, dtype="bfloat16"),
    weighted("no rows", 0, 12),
]
WEIGHTED_TIMED = weighted("4,096 by 4,096", 4096, 4096, block=None)


def whole_sectors(seen, x, w, block=1024):
    """In small tensors the ends of rows spoil the count."""
    times = seen.moved / max(seen.bytes, 1)
    assert seen.bytes < 40_000 or times < 2, (
        f"The values are right, and the call is still slow: it asks for {seen.bytes:,} bytes and "
        f"moves {seen.moved:,}, {times:.1f} times as many, in sectors of 32 bytes. Too little of "
        "what a program reads at once lies side by side."
    )


WEIGHTED_AGAINST = AGAINST_SLOWNESS | {
    "uncoalesced": RIGHT,
    "few programs": "there were 16,384 programs for 4,096 rows and columns.",
    "masked loop": "hardly a lane was masked, and each element was loaded once.",
    "repeated loads": "the bytes asked for were the least there can be: all was loaded once.",
    "many launches": "there is one launch.",
}

# --- tall_sums


def tall_sums_ref(x):
    return x.sum(0).to(torch.promote_types(x.dtype, torch.float32))


def tall(note, M, N, block=16, **x):
    return drawn(note, M, N, options={"block": block} if block else {}, **x)


SPLIT = "2,048 rows of 16 columns, the block as it is"
TALL = [
    tall("600 rows", 600, 16),
    tall("600 rows of 21 columns", 600, 21),
    tall("one row more than two pieces", 1025, 8),
    tall("fewer rows than a tile", 7, 40),
    tall(SPLIT, 2048, 16, block=None),
    tall("4,096 rows of 64 columns", 4096, 64, block=None),
    tall("half precision around 1", 700, 20, mean=1.0, dtype="float16"),
    tall("rows with gaps", 6, 8, layout="strided", raises=ValueError),
]
HIDDEN_TALL = [
    tall("1,500 rows of 30 columns", 1500, 30),
    tall("one row", 1, 70, block=64),
    tall("one column", 1100, 1),
    tall("bfloat16", 520, 48, block=32, dtype="bfloat16"),
    tall("513 rows", 513, 17),
]
TALL_TIMED = tall("65,536 by 512", 65536, 512, block=None)


def enough_programs(kernels):
    programs = max(math.prod(kernel.grid) for kernel in kernels[SPLIT])
    assert programs >= 4, (
        "The values are right, and most of the GPU still sleeps: programs for 2,048 rows of 16 "
        f"columns: {programs}. One for each 512 rows would be 4, and for the owner's 131,072 rows "
        "of 512 columns 2,048."
    )


def shared_out(seen, x, block=64):
    """Programs that have nothing to do are none, and a part of a sector costs a whole one."""
    assert x.shape[0] < 2048 or seen.programs < 4 or seen.busiest < 0.5 * seen.bytes, (
        f"The values are right, and one program still does the work: of {seen.bytes:,} bytes it "
        f"asks for {seen.busiest:,}. How many rows does each of the {seen.programs} programs get?"
    )
    assert seen.bytes < 40_000 or seen.moved < 2 * seen.bytes, (
        f"There are more programs now, and each uses a part of what it moves: {seen.bytes:,} bytes "
        f"asked for, {seen.moved:,} moved in sectors of 32 bytes. Leave a program its 64 columns."
    )
    times = seen.bytes / max(4 * x.numel(), 1)
    assert x.shape[0] < 2048 or times < 2, (
        f"There are more programs now, and together they ask for {times:.1f} times the bytes of x. "
        "Does each walk over rows that others walk over, too?"
    )
    asked, masked = seen.bytes // x.element_size(), seen.masked
    assert x.numel() < 2**18 or masked < 2 * asked, (
        f"There are more programs now, and of their lanes {masked:,} are masked, {asked:,} are not:"
        " most turns of the loop load nothing. Does it end with the program's own piece of rows?"
    )


def nothing_stays(fn, say):
    """A buffer that is kept, as patient 2 had one: each call adds to what the last one left."""
    x = torch.ones(1100, 8, device=DEVICE)
    shown = []
    for _ in range(3):
        with fence(), new_memory_is_nan():
            shown.append(listed(fn(x)))
    assert shown[0] != [1100.0] * 8 or shown[2] == shown[0], (
        f"Three calls with 1,100 rows of ones give sums of {shown[0][0]:g}, {shown[1][0]:g} and "
        f"{shown[2][0]:g}. Each begins with what the last one left."
    )


TALL_AGAINST = AGAINST_SLOWNESS | {
    "few programs": RIGHT,
    "uncoalesced": "the loads were vectors, and each row of a tile lies in one piece.",
    "no tensor cores": "rows are added. There is no product of tiles.",
    "masked loop": "131,072 rows and 512 columns fill all tiles: no lane was masked.",
    "repeated loads": "each element was loaded once, by one program.",
    "many launches": "there was one launch, and the GPU was at work all the time, with a corner.",
}

# --- average_step


def average_step_ref(avg, x, step):
    return avg + (1 - (1 + step) / (10 + step)) * (x - avg)


def average(note, n, step, block=16, layout="contiguous", **more):
    avg, x = tensor(*n, layout=layout), tensor(*n, mean=1.0)
    return case(note, avg=avg, x=x, step=step, options={"block": block}, **more)


STEPS = ("45 numbers, step 1", "45 numbers, step 2", "45 numbers, step 30", "47 numbers, step 3")
AVERAGES = [
    *(average(note, (int(note.split()[0]),), int(note.split()[-1])) for note in STEPS),
    average("a matrix", (5, 9), 4),
    average("step 0", (32,), 0),
    average("half precision", (50,), 3, dtype="float16"),
    average("every second number", (20,), 2, layout="strided", raises=ValueError),
]
HIDDEN_AVERAGES = [
    average("step 100", (1000,), 100, block=128),
    average("one number", (1,), 5),
    average("three dimensions", (2, 3, 7), 8),
    average("bfloat16", (90,), 9, dtype="bfloat16"),
    average("no numbers", (0,), 1),
]


def one_kernel(kernels):
    """Only what differs between the calls counts: a block may be chosen as one likes."""
    runs = {note: launched[0] for note, launched in kernels.items() if launched}
    found = {note: run.constants | {"num_warps": run.warps} for note, run in runs.items()}
    (noted, first), *others = found.items()
    for note, constants in others:
        for name, value in constants.items():
            assert value == first.get(name), (
                f"The values are right, and calls still compile anew: `{name}` is a constant to "
                f"the compiler, {_shown(first.get(name))} ({noted}) and {_shown(value)} ({note})."
            )


def _shown(constant):
    return f"{constant:.3g}" if isinstance(constant, float) else constant


AVERAGE_AGAINST = AGAINST_SLOWNESS | {
    "recompilation": RIGHT,
    "uncoalesced": "lanes read side by side, and the kernel itself took 3 microseconds.",
    "few programs": "2^20 numbers have 1,024 programs, and the kernel itself was fast.",
    "host waits": "no value was read, and the time is in no operator of PyTorch's.",
    "spills": "the kernel itself took microseconds.",
    "float64": "the kernel itself took microseconds.",
    "repeated loads": "each number was loaded once.",
    "many launches": "there was one launch at a step. A launch takes microseconds, not that long.",
}

# --- clip_gradient


def clip_gradient_ref(x, most):
    return x * torch.clamp(most / (x.pow(2).sum().sqrt() + 1e-12), max=1.0)


def gradient(note, *shape, most=1.0, block=16, **x):
    options = {"block": block} if block else {}
    return drawn(note, *shape, also={"most": most}, options=options, **x)


GRADIENTS = [
    gradient("a large norm", 40),
    gradient("a small norm", 40, scale=0.01),
    gradient("45 numbers, a norm above 2", 45, most=2.0),
    gradient("a matrix", 7, 13, most=2.0),
    gradient("60,000 numbers, the block as it is", 60_000, block=None),
    gradient("a large norm is allowed", 50, most=100.0),
    gradient("half precision", 70, dtype="float16", most=2.0),
    gradient("half precision, squares beyond 65,504", 70, dtype="float16", scale=400.0, most=2.0),
    gradient("every second number", 20, layout="strided", raises=ValueError),
]
HIDDEN_GRADIENTS = [
    gradient("1,000 numbers", 1000, block=128, most=5.0),
    gradient("a single number", 1, scale=9.0),
    gradient("just below", 30, most=6.5),
    gradient("bfloat16", 9, 11, dtype="bfloat16"),
]

# What makes Python wait for a value, as methods of a tensor.
READS = ("item", "tolist", "numpy", "cpu", "nonzero")
READS += ("__bool__", "__float__", "__int__", "__index__", "__array__")


class HostReads(TorchFunctionMode):
    """Notes where the functions of one namespace read a tensor's value."""

    def __init__(self, names):
        super().__init__()
        self.names, self.found = names, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in READS and sys._getframe(1).f_globals is self.names:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def nobody_waits(fn, say):
    """The complaint itself: below the limit and above it, does Python read what the GPU wrote?"""
    reads = HostReads(getattr(fn, "__globals__", None))
    with fence(), reads, contextlib.ExitStack() as waits:
        for place in ("", ".Stream", ".Event"):
            noted = mock.patch(
                f"torch.cuda{place}.synchronize", lambda *args: reads.found.append("synchronize")
            )
            waits.enter_context(noted)
        for most in (100.0, 0.1):
            fn(torch.ones(48, device=DEVICE), most, block=16)
    said = {"__bool__": later("`if` or `bool()`"), "__float__": "`float()`", "__int__": "`int()`"}
    shown = ", ".join(said.get(name, f"`{name}`") for name in dict.fromkeys(reads.found))
    assert not reads.found, (
        f"The complaint is still there: Python waits for the GPU ({shown}). Until the first kernel "
        "has ended, nothing else can be launched."
    )


GRADIENT_AGAINST = AGAINST_SLOWNESS | {
    "host waits": RIGHT,
    "uncoalesced": "the two kernels read side by side, and took microseconds.",
    "few programs": "more programs would not help: the GPU was idle between the kernels.",
    "spills": "the two kernels took microseconds.",
    "repeated loads": "the two kernels took microseconds, and x stays in the cache.",
    "many launches": "there are two, as before, with the mend. Python launches them and goes on.",
}

CHECKS = {
    **patient(
        scale_columns_ref,
        WEIGHTED,
        HIDDEN_WEIGHTED,
        WEIGHTED_AGAINST,
        asks=[asks.launches(1), asks.no_copies(), asks.moves(whole_sectors), asks.shares_work()],
        speed=Speed(WEIGHTED_TIMED, torch.mul, at_least=0.7, name="x * w"),
    ),
    **patient(
        tall_sums_ref,
        TALL,
        HIDDEN_TALL,
        TALL_AGAINST,
        asks=[
            asks.starts_at_most(
                lambda x, block=64: -(-x.shape[1] // min(block, 16)) * -(-x.shape[0] // 16)
            ),
            asks.moves(shared_out),
            asks.compiled(enough_programs, SPLIT),
        ],
        first=[nothing_stays],
        deterministic=False,
        terms=lambda x: x.shape[0],
        speed=Speed(TALL_TIMED, lambda x: x.sum(0), at_least=0.5, name="x.sum(0)"),
    ),
    **patient(
        average_step_ref,
        AVERAGES,
        HIDDEN_AVERAGES,
        AVERAGE_AGAINST,
        asks=[asks.compiled(one_kernel, *STEPS)],
        inplace=("avg",),
        terms=4,
    ),
    **patient(
        clip_gradient_ref,
        GRADIENTS,
        HIDDEN_GRADIENTS,
        GRADIENT_AGAINST,
        asks=[asks.shares_work()],
        first=[nobody_waits],
        inplace=("x",),
        deterministic=False,
        terms=lambda x, most: x.numel(),
    ),
}
