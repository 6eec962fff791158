"""What the checks of 22_autotune try: cases and references."""

import inspect
import math
import random
import re

import torch
import triton

from tritonbook import DEVICE, hook_launch
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import LAUNCHES, Ask
from tritonbook.checking.report import Finding
from tritonbook.port.compat import launch_arguments
from tritonbook.words import later

from ..shared.looking import names_beside

# --- prune


def prune_ref(configs, M, N, element_size, shared_limit):
    rows, columns = (max(16, triton.next_power_of_2(size)) for size in (M, N))

    def stays(c):
        pair = (c["BLOCK_M"] + c["BLOCK_N"]) * c["BLOCK_K"] * element_size
        return (
            pair * c["num_stages"] <= shared_limit
            and c["BLOCK_M"] <= rows
            and c["BLOCK_N"] <= columns
            and not c["BLOCK_M"] < 64 <= M
        )

    kept = [c for c in configs if stays(c)]
    return kept or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]


def row(*numbers):
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    return dict(zip(names, numbers, strict=True))


# A tuple, so that no answer can spoil it for the next one.
TABLE = (
    row(128, 256, 64, 8, 3),
    row(128, 256, 64, 8, 4),
    row(128, 128, 64, 8, 4),
    row(64, 128, 64, 4, 4),
    row(64, 64, 32, 8, 2),
    row(32, 64, 64, 4, 4),
    row(16, 64, 128, 4, 4),
    row(16, 32, 128, 4, 4),
)
T4, A100, H100 = 65536, 166912, 232448  # bytes of shared memory for one program


def product(M, N, element_size=2, shared_limit=A100, configs=TABLE):
    return dict(configs=configs, M=M, N=N, element_size=element_size, shared_limit=shared_limit)


PRUNE_CASES = [
    case("little shared memory", **product(4096, 4096, 2, 40_000)),
    case("large, on a T4", **product(4096, 4096, 2, T4)),
    case("float32", **product(512, 512, 4)),
    case("large, on an A100", **product(4096, 4096)),
    case("large, on an H100", **product(4096, 4096, 2, H100)),
    case("exactly the limit", **product(4096, 4096, 2, 147456)),
    case("20 rows", **product(20, 4096, configs=(*TABLE, row(16, 16, 64, 4, 4)))),
    case("40 rows", **product(40, 4096)),
    case("5 rows", **product(5, 4096)),
    case("63 rows", **product(63, 4096)),
    case("64 rows", **product(64, 4096)),
    case("40 columns", **product(4096, 40)),
    case("5 columns", **product(4096, 5, configs=(*TABLE, row(64, 16, 64, 4, 4)))),
    case("nothing fits", **product(4096, 4096, 4, 1000)),
    case(
        "two of the smallest", **product(1, 1, configs=(TABLE[0], TABLE[6], row(32, 32, 32, 4, 2)))
    ),
]

HIDDEN_PRUNE_CASES = [
    case("one row", **product(1, 8192)),
    case("one row and one column", **product(1, 1)),
    case("just over a power of two", **product(65, 129)),
    case("just a power of two", **product(128, 64)),
    case("a T4", **product(1024, 1000, 2, T4)),
    case("float32 on an L4", **product(1024, 1024, 4, 101376)),
    case("one byte less", **product(512, 512, 2, 147455)),
    case("nothing fits, two of one size", **product(8, 8, configs=TABLE[:2])),
    case("another order", **product(300, 300, configs=TABLE[::-1])),
]

# --- what a tuner does


def runs_of(fn, *call):
    """The launches of one call: (number of programs, all arguments by name) each."""
    seen = []

    def note(run, kernel, grid, args, kwargs):
        given = launch_arguments(kernel, args, kwargs)
        size = grid(given) if callable(grid) else grid
        seen.append((math.prod(size), given))
        return run()

    with hook_launch(note):
        fn(*call)
    return seen


def names(found):
    """a, b and c"""
    *first, last = found
    return f"{', '.join(first)} and {last}" if first else last


def missed(found):
    return (
        f"The key misses {names(found)}. When only {found[0]} changes, the kernel runs with what "
        "was chosen before, and nothing is timed. Name all that the choice depends on."
    )


def key_is_sound(fn, maker, needed, besides=(), restored=()):
    """The tuner that the function called `maker` returns: one for all calls, with a key of the
    numbers that count. besides: names of others that change nothing; restored: of tensors that a
    run changes.

    Looked at where it can be: in a notebook whose tuner is made by that name, and not where a
    grader calls from another process.
    """
    make = names_beside(fn).get(maker)
    if make is None:
        return
    tuner = make()
    if not hasattr(tuner, "keys") or not hasattr(tuner, "arg_names"):
        return
    unknown = [name for name in tuner.keys if name not in tuner.arg_names]
    assert not unknown, (
        f"The key names {names(unknown)}: the kernel has no such argument, and Triton leaves it "
        "out of the key without a word. Names are spelt as in the kernel."
    )
    tensors = [name for name in tuner.keys if name.endswith("_ptr")]
    assert not tensors, (
        f"The key names the tensor {names(tensors)}. Each call brings another tensor, so each call "
        "tunes again. Name what the choice depends on: sizes."
    )
    chosen = {name for config in tuner.configs for name in config.all_kwargs()}
    chosen = [name for name in tuner.keys if name in chosen]
    assert not chosen, (
        f"The key names {names(chosen)}, which the configs give: no call brings it. Name what the "
        "choice depends on: sizes."
    )
    needless = [name for name in tuner.keys if name in besides]
    assert not needless, (
        f"The key names {names(needless)}, and the time does not depend on that: each new value "
        "tunes again. Name sizes alone."
    )
    kept = [*(tuner.restore_value or ()), *(tuner.reset_to_zero or ())]
    kept = [name for name in kept if name not in restored]
    assert not kept, (
        f"The tuner restores or resets {names(kept)} before each run that it times. Every run of "
        "this kernel writes the same there, so that costs time for nothing."
    )
    missing = [name for name in needed if name not in tuner.keys]
    assert not missing, missed(missing)
    assert tuner is make(), (
        f"Each call of {inspect.unwrap(make).__name__} makes a new tuner, and a new tuner knows no "
        "winners: every call tunes. Make it once, with @functools.cache."
    )


def tunes_once(fn, call, again):
    """A call of new sizes tunes, and one like it does not."""
    first = runs_of(fn, *call)
    assert len(first) > 1, (
        "A call of new sizes ran the kernel once, so nothing was timed and nothing chosen. Does "
        "the tuner get the whole table, and does its key name the sizes?"
    )
    assert len(runs_of(fn, *again)) == 1, (
        "A second call of the same sizes tunes again. Is the tuner made once, and does its key "
        "name sizes alone, no tensor?"
    )
    return first


def tunes_for_each_size(fn):
    key_is_sound(fn, "tuned_kernel", "MNK")
    M, N, K = random.randrange(33, 48), random.randrange(33, 64), random.randrange(17, 200)

    def pair(M, N, K):
        return torch.ones(M, K, device=DEVICE).half(), torch.ones(K, N, device=DEVICE).half()

    first = tunes_once(fn, pair(M, N, K), pair(M, N, K))
    sides = (given[name] for _, given in first for name in given if re.match("BLOCK.*M$", name))
    tallest = max(sides, default=0)
    assert tallest <= 64, (
        f"A tile of {tallest} rows was run for a matrix of {M}, though CONFIGS has lower ones. "
        "Does the tuner get all of CONFIGS, and early_prune under the name `early_config_prune`?"
    )
    others = {"M": (M + 16, N, K), "N": (M, N + 64, K), "K": (M, N, K + 200)}
    missing = [name for name, sizes in others.items() if len(runs_of(fn, *pair(*sizes))) == 1]
    assert not missing, missed(missing)


TUNED_CASES = [
    # The largest, which the compile gate takes: prune keeps two small tiles.
    case("few rows", dtype="float16", a=tensor(3, 400), b=tensor(400, 90)),
    case("several tiles", dtype="float16", a=tensor(150, 40), b=tensor(40, 70)),
    case(
        "both transposed",
        dtype="float16",
        a=tensor(20, 33, layout="transposed"),
        b=tensor(33, 60, layout="transposed"),
    ),
    case("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
]

HIDDEN_TUNED_CASES = [
    case("one row", dtype="float16", a=tensor(1, 100), b=tensor(100, 65)),
    case("wide", dtype="float16", a=tensor(20, 64), b=tensor(64, 600)),
    case("tall", a=tensor(500, 33), b=tensor(33, 20)),
    case("K of one", a=tensor(40, 1), b=tensor(1, 30)),
    case("A transposed", dtype="float16", a=tensor(70, 90, layout="transposed"), b=tensor(90, 40)),
    case("odd addresses", a=tensor(40, 48, layout="offset"), b=tensor(48, 40, layout="offset")),
    case("bfloat16", dtype="bfloat16", a=tensor(65, 64), b=tensor(64, 70)),
    case("no rows", a=tensor(0, 64), b=tensor(64, 40)),
]

# --- in place


def scale_ref(x, s):
    return x * s


def of_another_tile(length, programs, given):
    """What is said of a grid that the tile of its launch does not need; None of a right one.
    given: the launch's arguments by name."""
    name, size = next((item for item in given.items() if item[0].startswith("BLOCK")), ("", 1))
    due = triton.cdiv(length, size)
    if not name or programs == due:
        return None
    return later(
        f"With {name}={size} the grid has {programs} programs for {length} elements, not {due}. "
        "The size of the config that runs is in `meta`."
    )


def grid_of_its_tile(call):
    """As many programs as the tile of the config that runs needs."""
    watch, length = call.trial.watch, len(call.trial.values["x"])
    for launch, given in zip(watch.launches, watch.chosen, strict=False):
        if said := of_another_tile(length, launch.programs, given):
            return Finding("other-programs", said)
    return None


def survives_tuning(fn):
    """A length that was never seen before is tuned in this very call."""
    key_is_sound(fn, "tuned_scale_kernel", ["n_elements"], besides=["s"], restored=["x_ptr"])
    length = random.randrange(300, 6000)
    x, again = torch.ones(length, device=DEVICE), torch.ones(length, device=DEVICE)
    first = tunes_once(fn, (x, 2.0), (again, 2.0))
    got = x.double().cpu()
    assert got[0] == 2, (
        f"After the call that tunes 1 has become {got[0]:g}, not 2. Each config that was timed has "
        "changed x. Which argument must be put back?"
    )
    for programs, given in first:
        said = of_another_tile(length, programs, given)
        assert not said, said
    longer = torch.ones(length + 6000, device=DEVICE)
    assert len(runs_of(fn, longer, 2.0)) > 1, missed(["n_elements"])


SCALE_CASES = [
    # A second multiplication, and all that follow it, overflow: infinity, however many there are.
    case("a large factor", x=tensor(5000), s=1e30),
    case("another length, so tuned again", x=tensor(1000), s=-2.5),
    case("half precision", dtype="float16", x=tensor(777), s=0.1),
    case("every second element", x=tensor(300, layout="strided"), s=1.7),
    case("a matrix", x=tensor(4, 4), s=2.0, raises=ValueError),
]

HIDDEN_SCALE_CASES = [
    case("one element", x=tensor(1), s=-1.0),
    case("one element more than a tile", x=tensor(4097), s=1.25),
    case("a prime number of elements", dtype="float16", x=tensor(8209), s=1.5),
    case("odd address", x=tensor(2048, layout="offset"), s=0.1),
    case("bfloat16", dtype="bfloat16", x=tensor(1500), s=3.1),
    case("times zero", x=tensor(600, values="positive"), s=0.0),
]

# On a GPU a call that tunes compiles and times several kernels.
A_WHILE = 120.0

CHECKS = {
    "prune": Check(prune_ref, PRUNE_CASES, HIDDEN_PRUNE_CASES, triton=False),
    "matmul_tuned": Check(
        torch.matmul,
        TUNED_CASES,
        HIDDEN_TUNED_CASES,
        terms=lambda a, b: a.shape[1],
        allow=("copy_",),  # of a tuner that restores the result: `also` has the word for it
        # Which config wins, and so the order of a sum, may differ from tuner to tuner.
        deterministic=False,
        asks=[tunes_for_each_size],
        timeout=A_WHILE,
    ),
    "scale_inplace_tuned": Check(
        scale_ref,
        SCALE_CASES,
        HIDDEN_SCALE_CASES,
        inplace=("x",),
        allow=("copy_",),
        tolerance=rounded_once(terms=1),
        asks=[survives_tuning, Ask(LAUNCHES, grid_of_its_tile, "program", beside=True)],
        timeout=A_WHILE,
    ),
}
