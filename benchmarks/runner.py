"""Run operations on this GPU: make inputs, verify each provider, time those that are right."""

from __future__ import annotations

import datetime
import functools
import gc
import statistics
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tritonbook.child import Child
from tritonbook.port.device import DEVICE, INTERPRET, versions
from tritonbook.timing import Ceilings, Row, bench
from tritonbook.timing.ceiling import measured_ceilings
from tritonbook.timing.clock import Clock, CudaClock

from .op import Function, Missing, Op, Problem, all_ops
from .verify import copied, exact_result, verify

# Turns for a problem, and milliseconds that each function works before it is timed in each of them.
ROUNDS, WARMUP_MS = 8, 25
# A GPU at full power takes its clocks back, by a quarter and more, within about a second: for that
# time a function runs at the clocks that the one before it has left. So where arithmetic is the
# limit each one works for a second first, and the figures are those of steady work, in fewer turns.
# That is not enough for the one that comes first, after copies were made: attention was up to 14 %
# slower in that place. So the last one of a turn works for a second before the first one.
HEAVY_ROUNDS, HEAVY_WARMUP_MS = 4, 1000


def run_op(op: Op, *, peaks: Ceilings, timer: Clock | None = None) -> dict[str, Any]:
    """All problems of one operation: a dictionary for the results file."""
    entry = {
        "notebook": op.notebook,
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "ceilings": asdict(peaks),
        "problems": [],
    }
    for problem in op.problems:
        print(f"{op.name} {problem.label}")
        rows = _run_problem(op, problem, peaks, timer or CudaClock())
        entry["problems"].append(
            {
                "label": problem.label,
                "bytes": problem.bytes,
                "flops": problem.flops,
                "rows": rows,
                "targets": _targets(problem, rows),
            }
        )
    return entry


def run_alone(name: str) -> dict[str, Any]:
    """The results of one operation, from a process of its own. Raises Ended where it failed.

    What an earlier operation leaves in a process changes the next one's times: memory in pieces,
    compiled programs, a large heap. And one compiled function must not wait for a pool of compile
    workers that another has started.
    """
    root = Path(__file__).resolve().parents[1]
    with Child(f"{__name__}:measure", folder=root, TORCHINDUCTOR_COMPILE_THREADS="4") as child:
        return child.ask(name)


def measure(name: str) -> dict[str, Any]:
    """`run_op` beside this GPU's rates: a warm GPU has others than a cold one."""
    return run_op(all_ops()[name], peaks=measured_ceilings())


def _run_problem(op: Op, problem: Problem, peaks: Ceilings, timer: Clock) -> list[dict[str, Any]]:
    if not INTERPRET:
        torch._dynamo.reset()  # a program compiled for the last problem's shape is another program
    torch.manual_seed(torch.seed() % (1 << 31))  # new values in every run
    args = problem.make(DEVICE)
    expected = exact_result(op, args)
    rows: list[dict[str, Any]] = []
    right: dict[str, Function] = {}
    for name, provider in op.providers.items():
        row = {"name": name, "ours": provider.ours, "state": "timed"}
        rows.append(row)
        try:
            if name in problem.without:
                raise Missing(problem.without[name])
            fn = provider.load()
        except Missing as reason:
            row.update(state="not run", reason=str(reason))
            continue
        row["error"], wrong = verify(fn, args, expected, op, ours=provider.ours)
        if wrong:
            row.update(state="refused", reason=wrong)
            continue
        right[name] = fn
    for name, turns in _time_in_turns(right, args, problem, peaks, timer).items():
        row = next(row for row in rows if row["name"] == name)
        middle = sorted(turns, key=lambda turn: turn.ms)[len(turns) // 2]
        row.update({key: value for key, value in asdict(middle).items() if key != "name"})
        row["turns_ms"] = [turn.ms for turn in turns]
        if not INTERPRET:
            row["peak_bytes"] = peak_bytes(lambda fn=right[name]: fn(*args))
    return rows


def _time_in_turns(
    fns: dict[str, Function],
    args: tuple[Any, ...],
    problem: Problem,
    peaks: Ceilings,
    timer: Clock,
) -> dict[str, list[Row]]:
    """Everyone's figures in several turns, every second turn in the opposite order.

    A GPU's clocks and caches change while it works, so who comes first must not decide, and two
    functions are compared turn by turn, each order for itself (`ratio`). Each turn works on other
    memory (`elsewhere`).
    """
    turns: dict[str, list[Row]] = {name: [] for name in fns}
    heavy = peaks.floor_ms(flops=problem.flops) > peaks.floor_ms(problem.bytes)
    rounds, warmup = (HEAVY_ROUNDS, HEAVY_WARMUP_MS) if heavy else (ROUNDS, WARMUP_MS)
    for number in range(rounds if fns else 0):
        moved, spacer = elsewhere(args, number)
        order = list(fns.items())[:: -1 if number % 2 else 1]
        if heavy:
            timer.time(functools.partial(order[-1][1], *moved), HEAVY_WARMUP_MS, rep=1)
        result = bench(
            dict(order),
            *moved,
            bytes=problem.bytes,
            flops=problem.flops,
            timer=timer,
            peaks=peaks,
            warmup=warmup,
        )
        for row in result.rows:
            turns[row.name].append(row)
        del moved, spacer
    return turns


def elsewhere(args: tuple[Any, ...], number: int) -> tuple[tuple[Any, ...], torch.Tensor | None]:
    """Copies of the tensors in `args` for turn `number`, and what keeps them away from the last.

    Where tensors lie in a GPU's memory changes the time of a kernel that moves many bytes, by up to
    a tenth: in two processes in-place RoPE took 58 and 64 us, with everything else the same. And a
    function that works in place (Liger-Kernel's RoPE) must not find its own results again.
    The second result fills the place where the copies would lie otherwise: hold it as long as them.
    """
    spacer = None
    if any(isinstance(arg, torch.Tensor) and arg.is_cuda for arg in args):
        gc.collect()
        torch.cuda.empty_cache()  # or the copies would get the memory of the last turn's
        spacer = torch.empty((2 + 38 * number) << 20, dtype=torch.uint8, device="cuda")
    return tuple(copied(arg) for arg in args), spacer


def peak_bytes(call: Callable[[], Any], cuda: Any = torch.cuda) -> int:
    """Most bytes that one call holds at a time in PyTorch's allocator, its result included.

    What was allocated before (the arguments, others' caches) does not count. Call once before: the
    first call may compile and tune. cuda: `torch.cuda`, or what stands in for it.
    """
    gc.collect()  # garbage of earlier calls must not be freed during this one
    cuda.synchronize()
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    call()
    cuda.synchronize()
    return cuda.max_memory_allocated() - before


def best(rows: list[dict[str, Any]], figure: str = "ms") -> dict[str, Any] | None:
    """Our fastest row as called, or by its "device_ms"; None where none has that figure."""
    timed = [row for row in rows if row["ours"] and row.get(figure)]
    return min(timed, key=lambda row: row[figure], default=None)


def ratio(peer: dict[str, Any], own: dict[str, Any]) -> float:
    """The peer's time over ours, as called: above 1 means that ours is faster.

    The median of the turns that went forwards, that of those that went backwards, and of these two
    the geometric mean. What slows a whole turn slows both functions. But who comes after a kernel
    that has heated the GPU is slow, by up to 15 % in matrix products, and one median over an odd
    number of turns would be that of the commoner order.
    """
    turns = [a / b for a, b in zip(peer["turns_ms"], own["turns_ms"], strict=True)]
    return statistics.geometric_mean([statistics.median(turns[way::2]) for way in (0, 1)])


def _targets(problem: Problem, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    asked = [(name, least, False) for name, least in problem.targets.items()]
    asked += [(name, least, True) for name, least in problem.device_targets.items()]
    timed = {row["name"]: row for row in rows if row["state"] == "timed"}
    found = []
    for name, least, on_device in asked:
        own = best(rows, "device_ms" if on_device else "ms")
        theirs, reached = timed.get(name), None
        if own and theirs and not on_device:
            reached = ratio(theirs, own)
        elif own and theirs and theirs.get("device_ms"):
            reached = theirs["device_ms"] / own["device_ms"]
        met = None if reached is None else reached >= least
        target = {"peer": name, "least": least, "reached": reached, "met": met}
        found.append(target | {"on_device": on_device})
    return found
