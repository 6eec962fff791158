"""`bench`: the one way to time kernels, in notebooks, tests and benchmarks alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import torch

from ..words import later
from .ceiling import Ceilings, ceilings
from .clock import LAUNCH_BOUND_MS, Clock, Span, clock
from .result import BenchResult, Row, Sweep
from .stored import keep, load

Kind = TypeVar("Kind", BenchResult, Sweep)


def bench(
    fns: Mapping[str, Callable[..., Any]] | Callable[..., Any],
    *args: Any,
    bytes: float | None = None,
    flops: float | None = None,
    baseline: str | None = None,
    warmup: float | None = None,
    rep: float = 100,
    title: str = "",
    stored: str | None = None,
    timer: Clock | None = None,
    peaks: Ceilings | None = None,
) -> BenchResult:
    """Time `fn(*args)` for each named function and set it against what this GPU can do.

    On a GPU the figure is the median of `triton.testing.do_bench` (CUDA events, L2 flushed before
    each call), with the 20 % and 80 % quantiles. Where the call takes less than 50 us, or by its
    bytes and flops could, a second figure, `device`, is given: there do_bench may time the host's
    launch path, so the call is replayed from a CUDA graph as well.
    In the interpreter the figure is wall clock, labelled so, without rates or ceilings.

    bytes, flops: the least traffic and arithmetic the task needs, for one call; they give GB/s,
        TFLOP/s and the share of this GPU's measured ceiling.
    baseline: the row that the ratio is taken against (ratio = its time / this row's time).
    warmup, rep: milliseconds spent before and during measuring, per function. By default the
        warm-up is 25, and 1000 for work of 1e11 flops and more: a GPU that multiplies lowers its
        clock within a second, and whoever came first would be timed at the higher one.
    stored: name of a result kept with the workbook. Without a GPU that result is shown, under the
        name of the GPU it came from, and nothing is timed (if there is none, wall clock is).

    Raises ValueError for an empty input, an unknown baseline, or nothing to time.
    """
    named = {_name(fns): fns} if callable(fns) else dict(fns)
    if not named:
        raise ValueError(later("bench needs at least one function"))
    if baseline is not None and baseline not in named:
        names = ", ".join(named)
        raise ValueError(later(f"baseline {baseline!r} is not among {names}"))
    timer = timer or clock()
    if found := _kept(stored, BenchResult, timer):
        return found
    notes = [note for i, arg in enumerate(args) for note in _remarks(f"argument {i}", arg)]
    if peaks is None and timer.on_gpu:
        peaks = ceilings()
    if warmup is None:
        warmup = 1000 if timer.on_gpu and (flops or 0) >= 1e11 else 25

    result = BenchResult(
        rows=[],
        title=title,
        clock=timer.label,
        on_gpu=timer.on_gpu,
        baseline=baseline,
        bytes=bytes,
        flops=flops,
        peaks=peaks,
    )
    for name, fn in named.items():
        notes += _remarks(f"the result of {name}", fn(*args))
        call = partial(fn, *args)
        result.rows.append(_row(name, call, timer.time(call, warmup, rep), timer, result))
    if any(row.device_ms for row in result.rows):
        notes.append(
            "small work: 'ms' is the call as your program pays it (often the host's launch), "
            "'device' the GPU's share alone, replayed from a CUDA graph with warm caches"
        )
    result.notes = list(dict.fromkeys(notes))
    keep(stored, result)
    return result


def _kept(name: str | None, kind: type[Kind], timer: Clock) -> Kind | None:
    """The stored result to show in place of times of the interpreter. Raises TypeError."""
    found = load(name) if name and not timer.on_gpu else None
    if found is None or isinstance(found, kind):
        return found
    has, wanted = type(found).__name__, kind.__name__
    raise TypeError(
        later(f"the result stored as {name!r} is a {has}, no {wanted}: give this one another name")
    )


def bench_sweep(
    axis: str,
    values: list[Any],
    case: Callable[[Any], dict[str, Any]],
    *,
    title: str = "",
    stored: str | None = None,
    **options: Any,
) -> Sweep:
    """`bench` over a series of sizes: `case(value)` returns the keyword arguments of one `bench`.

    The dictionary has `fns` and may have `args` (a tuple), `bytes` and `flops`. Further `options`
    go to every `bench`. `stored` works as it does there. Inputs are freed between sizes.
    """
    timer = options.get("timer") or clock()
    if found := _kept(stored, Sweep, timer):
        return found
    results = []
    for value in values:
        made = dict(case(value))
        fns, args = made.pop("fns"), made.pop("args", ())
        results.append(bench(fns, *args, **made, **options))
    sweep = Sweep(axis=axis, values=list(values), results=results, title=title)
    keep(stored, sweep)
    return sweep


def _row(name: str, call: Callable[[], Any], span: Span, timer: Clock, result: BenchResult) -> Row:
    row = Row(name=name, ms=span.median, low=span.low, high=span.high)
    if not timer.on_gpu:
        return row
    floor_ms = result.floor_ms
    if min(span.median, floor_ms or span.median) < LAUNCH_BOUND_MS:
        row.device_ms = timer.device_time(call)
    if result.bytes:
        row.gbps = result.bytes / span.median / 1e6
    if result.flops:
        row.tflops = result.flops / span.median / 1e9
    if floor_ms:
        row.percent = 100 * floor_ms / span.median
    return row


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__).strip("<>")


def _remarks(what: str, value: Any) -> list[str]:
    """Refuse an empty tensor; remark on NaN and infinities, which can change what is timed."""
    if not isinstance(value, torch.Tensor):
        return []
    if value.numel() == 0:
        shape = tuple(value.shape)
        raise ValueError(
            later(f"{what} has shape {shape}: no elements, so there is nothing to time")
        )
    if value.is_floating_point() and not bool(torch.isfinite(value).all()):
        return [f"{what} holds NaN or infinities: the figures may not stand for ordinary data"]
    return []
