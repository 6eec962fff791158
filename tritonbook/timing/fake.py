"""A GPU made of two clocks, for learning to time without one, and for testing whoever times.

The model has what every timing mistake needs. The host launches a kernel and goes on at once; the
device works through its queue; only `synchronize` makes the host wait. The first call also
compiles. `gpu` is the handle that learners' code uses: it speaks to the real GPU, or, inside
`simulated_gpu`, to a simulated one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest import mock

import torch

from ..port.device import INTERPRET
from ..words import later


class SimulatedGPU:
    """Host and device as two clocks, in seconds. Everything that happens is kept in `trace`.

    `trace` has the form of torch.profiler's events: dictionaries with name, cat, tid, ts and dur,
    times in microseconds.
    """

    def __init__(self) -> None:
        self.host = 0.0
        self.busy_until = 0.0
        self.was_read = False  # its clock, or an event
        self.trace: list[dict[str, Any]] = []

    def clock(self) -> float:
        """The host's clock, in seconds."""
        self.was_read = True
        return self.host

    def launch(self, name: str, run_ms: float, launch_ms: float) -> None:
        """The host spends `launch_ms` handing a kernel of `run_ms` over to the device's queue."""
        self._note("cudaLaunchKernel", "cuda_runtime", 1, self.host, launch_ms * 1e-3)
        self.host += launch_ms * 1e-3
        start = max(self.host, self.busy_until)
        self.busy_until = start + run_ms * 1e-3
        self._note(name, "kernel", 7, start, run_ms * 1e-3)

    def work(self, ms: float) -> None:
        """The host is busy with something else (Python, compiling, printing)."""
        self.host += ms * 1e-3

    def synchronize(self, name: str = "cudaDeviceSynchronize") -> None:
        """The host waits until the device has done everything in its queue."""
        waited = max(0.0, self.busy_until - self.host)
        self._note(name, "cuda_runtime", 1, self.host, waited)
        self.host += waited

    @contextlib.contextmanager
    def operator(self, name: str) -> Iterator[None]:
        """Put what happens inside under a PyTorch operator's name, as the profiler does."""
        start = self.host
        event = self._note(name, "cpu_op", 1, start, 0.0)
        yield
        event["dur"] = (self.host - start) * 1e6

    def event(self) -> _SimulatedEvent:
        """A marker for the device's queue, like `torch.cuda.Event(enable_timing=True)`."""
        return _SimulatedEvent(self)

    def _note(self, name: str, cat: str, tid: int, start: float, seconds: float) -> dict[str, Any]:
        event = {"name": name, "cat": cat, "tid": tid, "ts": start * 1e6, "dur": seconds * 1e6}
        self.trace.append(event)
        return event


class _SimulatedEvent:
    def __init__(self, device: SimulatedGPU) -> None:
        self.device, self.at = device, 0.0

    def record(self) -> None:
        self.device.was_read = True
        self.at = max(self.device.host, self.device.busy_until)

    def elapsed_time(self, end: _SimulatedEvent) -> float:
        return (end.at - self.at) * 1e3


class SimulatedKernel:
    """Calling it launches the next run of a schedule on `device`.

    run_ms: device milliseconds of each call; the last one holds for all further calls.
    launch_ms: host milliseconds of each launch. first_ms: what the first call adds on the host.
    """

    def __init__(
        self, device: SimulatedGPU, run_ms: list[float], launch_ms: float, first_ms: float = 0.0
    ) -> None:
        self.device, self.run_ms, self.launch_ms = device, list(run_ms), launch_ms
        self.first_ms, self.calls = first_ms, 0

    def __call__(self) -> None:
        if self.calls == 0:
            self.device.work(self.first_ms)
        run_ms = self.run_ms[min(self.calls, len(self.run_ms) - 1)]
        self.calls += 1
        self.device.launch("kernel", run_ms, self.launch_ms)


class GPU:
    """What timing code needs of a GPU: its host's clock, `synchronize`, and events.

    `clock()` gives seconds of the host. `synchronize()` returns when the GPU's queue is empty.
    `event()` gives a marker with `record()` and `elapsed_time(later)` in milliseconds.
    Without a GPU, simulated or not, there is the host's clock and nothing to wait for.
    """

    def __init__(self) -> None:
        self._simulated: SimulatedGPU | None = None

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            later(f"`gpu` has no `{name}`, but `clock()`, `synchronize()` and `event()`.")
        )

    def clock(self) -> float:
        return self._simulated.clock() if self._simulated else time.perf_counter()

    def synchronize(self) -> None:
        if self._simulated:
            self._simulated.synchronize()
        elif not INTERPRET:
            torch.cuda.synchronize()

    def event(self) -> Any:
        if self._simulated:
            return self._simulated.event()
        return torch.cuda.Event(enable_timing=True)


gpu = GPU()


def simulated_gpu() -> contextlib.AbstractContextManager[SimulatedGPU]:
    """Inside, `gpu` is a fresh simulated GPU, which the `with` statement hands out."""
    return mock.patch.object(gpu, "_simulated", SimulatedGPU())


def simulated_bench(
    bench: Callable[..., Any],
    run_ms: list[float],
    launch_ms: float,
    first_ms: float,
    waiting_ms: float,
    warmup: int,
    rep: int,
) -> Any:
    """What `bench(fn, warmup, rep)` returns on a fresh simulated GPU.

    run_ms: device milliseconds of the calls of `fn` one after another (the last one holds for all
    further calls). launch_ms: host milliseconds of each launch. first_ms: what the first call adds
    on the host. waiting_ms: work that is in the queue beforehand.
    Raises RuntimeError where `bench` read no clock of this GPU, or called `fn` neither `warmup` and
    `rep` times nor, without a warm-up, `rep` times: what it returned then says nothing.
    """
    with simulated_gpu() as device:
        if waiting_ms:
            device.launch("earlier work", waiting_ms, 0.0)
        kernel = SimulatedKernel(device, run_ms, launch_ms, first_ms)
        found = bench(kernel, warmup, rep)
    if not device.was_read:
        raise RuntimeError(
            "`gpu.clock()` was never read. The simulated GPU has a clock of its own: Python's does "
            "not show its time."
        )
    if kernel.calls not in (rep, warmup + rep):
        raise RuntimeError(
            f"`fn` was called {kernel.calls} times; warmup={warmup} and rep={rep} ask for "
            f"{warmup + rep}."
        )
    return found
