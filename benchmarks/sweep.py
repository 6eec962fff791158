"""`python -m benchmarks sweep [operation...] --seed N`: shapes that nobody chose.

Sizes are drawn log-uniformly, widths are odd as often as not, matrices are transposed or cut out of
larger ones, in three dtypes. On each shape the course's fastest function (the record, where there
is one) is checked against float64 and timed beside every peer that takes the shape.
"""

from __future__ import annotations

import contextlib
import datetime
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tritonbook.child import Child, Ended
from tritonbook.command import BAD_INPUT, Parser
from tritonbook.course.exercises import reference
from tritonbook.port.device import DEVICE, INTERPRET, versions
from tritonbook.timing import Ceilings
from tritonbook.timing.ceiling import measured_ceilings
from tritonbook.timing.clock import Clock, CudaClock

from . import results
from .drawn import SWEEPS, drawn
from .op import Function, Missing, Op, Problem, all_ops, fastest
from .ops import attention
from .verify import copied, exact_result, verify

ROOT = Path(__file__).resolve().parents[1]
SHORT_MS = 0.020  # below, a call is also timed with its host's part
HOST_MS = 0.250  # a shape whose fastest call takes less may wait for the host: see _gpu_ms
CALLS = 100


@dataclass(frozen=True)
class Row:
    """One shape. ms: what each function takes the GPU, by name, "ours" among them; called_ms: with
    the host's part, where ours takes the GPU less than SHORT_MS, ours as page 67 replays it;
    asking_ms: ours as it is, likewise. problem: why ours was not timed, else empty."""

    label: str
    floor_ms: float
    ms: dict[str, float]
    called_ms: dict[str, float]
    problem: str = ""
    asking_ms: float = 0


def ratio(times: dict[str, float]) -> float | None:
    """The best peer's time over ours; above 1 we are ahead. None where one of them has no time."""
    peers = [ms for name, ms in times.items() if name != "ours"]
    return min(peers) / times["ours"] if peers and "ours" in times else None


def ours(name: str) -> Function:
    """What stands for us beside an operation's peers: the fastest function that does their work."""
    if name == "rope":  # Liger-Kernel turns its inputs in place
        return all_ops()[name].providers["rope record, in place"].load()
    if name == "flash_fwd":  # the kernel in Gluon for wide heads and many keys, where it runs

        def fits(q: torch.Tensor, k: torch.Tensor) -> bool:
            return q.shape[3] == 128 and k.shape[2] > 128

        in_gluon = all_ops()[name].providers["flash_gluon"].load()
        return attention.where_it_runs(in_gluon, fastest("flash_gqa"), fits)
    try:
        return reference(name, record=True)
    except LookupError:
        return all_ops()[name].providers[name].load()


def measure(
    problem: Problem, fns: dict[str, Function], op: Op, peaks: Ceilings, timer: Clock
) -> Row:
    """Check and time the functions on one problem. A peer that fails or is wrong has no time."""
    args = problem.make(DEVICE)
    expected = exact_result(op, args)
    with contextlib.suppress(Exception):  # where ours fails, verify tells why
        fns = fns | {"replayed": _replayed(fns["ours"], args)}
    right, called, asking = {}, {}, 0.0
    reason = ""
    for name, fn in fns.items():
        mine = name == "ours"
        _, wrong = verify(fn, args, expected, op, ours=mine)
        if wrong:
            reason = wrong if mine or name == "replayed" else reason
            continue
        right[name] = lambda fn=fn: fn(*args)
    again = right.pop("replayed", None)
    ms = _gpu_ms(right, timer)
    if ms.get("ours", 1) < SHORT_MS and again:
        asking = _called_ms(right["ours"])
        called = {name: _called_ms(call) for name, call in (right | {"ours": again}).items()}
    floor = peaks.floor_ms(problem.bytes, problem.flops)
    return Row(problem.label, floor, ms, called, reason, asking)


def _replayed(fn: Function, args: tuple[Any, ...]) -> Function:
    """fn as page 67 makes it, after its first call of this kind."""
    again = reference("replayed")(fn)
    again(*(copied(arg) for arg in args))
    return again


def _gpu_ms(calls: dict[str, Callable[[], Any]], timer: Clock) -> dict[str, float]:
    """What each call takes the GPU, all of them timed in the same way.

    With the L2 cache flushed; where the fastest takes less than HOST_MS, from CUDA graphs, without
    the host's part and with a warm cache. A slow host would make one call long and another not. A
    call that no graph takes keeps its time with the host.
    """
    ms = {name: timer.time(call, 5, 20).median for name, call in calls.items()}
    if min(ms.values(), default=HOST_MS) < HOST_MS:
        ms = {name: timer.device_time(call) or ms[name] for name, call in calls.items()}
    return ms


def _called_ms(call: Callable[[], Any]) -> float:
    """One of CALLS calls in a row, the host's part included: the least of five rounds, since other
    work on the host makes some longer."""
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
        rounds.append(time.perf_counter() - start)
    return min(rounds) * 1e3 / CALLS


def peers(op: Op, compiled: bool) -> dict[str, Function]:
    """The peers of an operation that are installed; torch.compile's static programs if asked."""
    found = {}
    for name, provider in op.providers.items():
        if provider.ours or (name.startswith("compile") and not (compiled and "static" in name)):
            continue
        try:
            found[name] = provider.load()
        except Missing:
            continue
    return found


def compile_share(
    name: str, seed: int, count: int, with_compile: bool, first: int, of: int
) -> None:
    """Call every function on each `of`-th problem from `first` on, so that what it compiles is in
    the caches on disk, whence the timing process takes it. What fails here fails again where it is
    timed, and is told there."""
    op, own = all_ops()[name], ours(name)
    for problem in drawn(name, seed, count)[first::of]:
        args = problem.make(DEVICE)
        if with_compile:
            torch._dynamo.reset()
        for fn in (own, *peers(op, with_compile).values()):
            with contextlib.suppress(Exception):
                fn(*(copied(arg) for arg in args))


def compile_ahead(name: str, seed: int, count: int, with_compile: bool, workers: int) -> None:
    """`compile_share` in so many processes: compiling takes longer than all timing."""

    def work(first: int) -> None:
        with contextlib.suppress(Ended), Child(f"{__name__}:compile_share", folder=ROOT) as child:
            child.ask(name, seed, count, with_compile, first, workers)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))


def _stored(row: Row) -> dict[str, Any]:
    """A row as the file keeps it: times with four digits, and no empty fields."""
    kept = {name: value for name, value in asdict(row).items() if value}
    for times in kept.keys() & {"ms", "called_ms"}:
        kept[times] = {name: float(f"{ms:.4g}") for name, ms in kept[times].items()}
    return kept | {"floor_ms": float(f"{row.floor_ms:.4g}")}


def summary(name: str, rows: list[Row]) -> str:
    """Geometric means, and the ten worst shapes."""
    timed = [row for row in rows if ratio(row.ms)]
    called = [found for row in rows if (found := ratio(row.called_ms))]
    lines = [f"{name}: {len(timed)} of {len(rows)} shapes timed"]
    if timed:
        ratios = [ratio(row.ms) for row in timed]
        lines[0] += (
            f", geometric mean {statistics.geometric_mean(ratios):.2f} of the best peer, "
            f"ahead in {sum(each >= 1 for each in ratios)}, least {min(ratios):.2f}"
        )
    if called:
        mean, least = statistics.geometric_mean(called), min(called)
        lines.append(f"  {len(called)} short ones as called: {mean:.2f}, least {least:.2f}")
        asked = [row.called_ms["ours"] / row.asking_ms for row in rows if row.asking_ms]
        if asked:
            lines[-1] += f"; not replayed {statistics.geometric_mean(asked) * mean:.2f}"
    for row in sorted(timed, key=lambda row: ratio(row.ms))[:10]:
        others = ", ".join(f"{peer} {ms * 1e3:.1f}" for peer, ms in row.ms.items())
        share = row.floor_ms / row.ms["ours"]
        lines.append(f"  {ratio(row.ms):5.2f}  {row.label}: us {others}; {share:.0%} of the floor")
    lines += [f"  NOT TIMED {row.label}: {row.problem}" for row in rows if row.problem]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Sweep the operations, print a summary of each and keep all in results/sweep_<gpu>.json.

    Returns 1 where a result of ours was wrong.
    """
    parser = Parser(prog="python -m benchmarks sweep", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"operations, of {', '.join(SWEEPS)}")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other shapes")
    parser.add_argument("--shapes", type=int, default=200, help="how many of each operation")
    parser.add_argument(
        "--compile", action="store_true", help="torch.compile's static programs too (seconds each)"
    )
    parser.add_argument(
        "--workers", type=int, default=8, help="processes that compile before one times; 0: none"
    )
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in SWEEPS:
            parser.error(f"there is no sweep of {name!r}; there are: {', '.join(SWEEPS)}")
    if options.shapes < 1:
        parser.error("--shapes must be at least 1")
    if INTERPRET:
        print("The sweep needs a CUDA GPU.", file=sys.stderr)
        return BAD_INPUT
    compiled, drawing = options.compile, (options.seed, options.shapes)
    peaks, here, timer = measured_ceilings(), versions(), CudaClock()
    path = results.path_for(f"sweep {here['gpu']}")
    wrong = False
    for name in options.names or SWEEPS:
        op, rows = all_ops()[name], []
        own = ours(name)
        if options.workers > 0:
            compile_ahead(name, *drawing, compiled, options.workers)
        for problem in drawn(name, *drawing):
            torch.cuda.empty_cache()
            if compiled:
                torch._dynamo.reset()  # another shape, another program
            fns = {"ours": own, **peers(op, compiled)}
            rows.append(measure(problem, fns, op, peaks, timer))
        wrong |= any(row.problem for row in rows)
        print(summary(name, rows), flush=True)
        entry = {
            "date": datetime.date.today().isoformat(),
            "versions": here,
            "seed": options.seed,
            "ceilings": asdict(peaks),
            "rows": [_stored(row) for row in rows],
        }
        results.write(path, here["gpu"], {name: entry}, indent=None)
    return 1 if wrong else 0
