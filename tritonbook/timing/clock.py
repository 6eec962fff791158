"""The two clocks behind `bench`: CUDA events on a GPU, wall clock in the interpreter.

They are kept apart because their figures must never be compared: the interpreter's time says how
fast numpy walks through your kernel, nothing about a GPU.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..port import device
from ..words import listed, say

# Below this many milliseconds do_bench may measure the host: a wrapper in Python and Triton's
# launch take 15 to 50 us.
LAUNCH_BOUND_MS = 0.050


_gates: list[Callable[[], None]] = []


def wait_before_timing(gate: Callable[[], None]) -> None:
    """Call `gate` before figures are taken from now on: on a GPU that others use, it waits until
    they have left."""
    _gates.append(gate)


def before_timing() -> None:
    for gate in _gates:
        gate()


@dataclass(frozen=True)
class Span:
    """Milliseconds of one call: the median, and the 20 % and 80 % quantiles around it."""

    median: float
    low: float
    high: float


class CudaClock:
    """`triton.testing.do_bench`: CUDA events around each call, the L2 cache flushed before it."""

    label = "CUDA events, L2 flushed before each call"
    on_gpu = True

    def time(self, fn: Callable[[], Any], warmup: float, rep: float) -> Span:
        """Time one call of `fn`; `warmup` and `rep` are milliseconds to spend."""
        from triton.testing import do_bench

        before_timing()
        median, low, high = do_bench(fn, warmup=warmup, rep=rep, quantiles=[0.5, 0.2, 0.8])
        return Span(median, low, high)

    def device_time(self, fn: Callable[[], Any]) -> float | None:
        """Milliseconds of one call on the GPU: ten captured ones are replayed as one CUDA graph,
        which the host launches once.

        The inputs stay in the L2 cache between calls, so this is the time with warm data. None when
        the call cannot be captured (it waits for the GPU, or allocates outside PyTorch's pool).
        """
        before_timing()
        calls = 10
        graph = captured(fn, calls)
        if graph is None:
            return None
        graph.replay()
        times = []
        for _ in range(20):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / calls)
        return statistics.median(times)


def captured(fn: Callable[[], Any], calls: int) -> Any:
    """A CUDA graph of `calls` calls, or None when `fn` cannot be captured."""
    if _waits(fn):
        return None
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        fn()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                fn()
    except RuntimeError:
        torch.cuda.synchronize()
        # A capture that fails leaves the random generator in it; one that ends takes it out.
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            torch.zeros(1, device="cuda")
        return None
    return graph


def _waits(fn: Callable[[], Any]) -> bool:
    """Whether a call makes the host wait for the GPU, which would spoil a capture for good."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls the mode a prototype, once
        torch.cuda.set_sync_debug_mode("error")
    try:
        fn()
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode(before)
    return False


class WallClock:
    """Host time around each call, for the interpreter: one warm-up call, then at least three."""

    label = "wall clock of Triton's interpreter: says nothing about a GPU"
    on_gpu = False

    def time(self, fn: Callable[[], Any], warmup: float, rep: float) -> Span:
        fn()
        times: list[float] = []
        while len(times) < 3 or (sum(times) < rep and len(times) < 100):
            start = time.perf_counter()
            fn()
            times.append((time.perf_counter() - start) * 1e3)
        times.sort()
        last = len(times) - 1
        return Span(statistics.median(times), times[round(0.2 * last)], times[round(0.8 * last)])

    def device_time(self, fn: Callable[[], Any]) -> float | None:
        return None


Clock = CudaClock | WallClock


def clock() -> Clock:
    """The clock of this machine."""
    return WallClock() if device.INTERPRET else CudaClock()


def said_of(label: str) -> str:
    """Where figures come from, and the clock that took them, in the reader's language."""
    return listed(map(say, label.split("; ")), "; ")
