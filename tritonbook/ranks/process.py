"""In a rank's process: its GPU, the memory that it shares with the others, and calls."""

from __future__ import annotations

import functools
import hashlib
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ..port import source_file
from ..port.compat import causes
from ..simulating.machine import Fault
from ..simulating.rank_order import World
from ..simulating.ranks import run_on_ranks
from ..words import later
from .processes import said_of

REPEATS = 20  # calls in one CUDA graph


class GpuRank:
    """A rank with a GPU of its own: number, count, and what all ranks reach."""

    def __init__(self, number: int, count: int, meeting: Path):
        import torch.distributed as dist

        self.number, self.count = number, count
        self.device = torch.device("cuda", number)
        torch.cuda.set_device(self.device)
        dist.init_process_group(
            "nccl",
            init_method=f"file://{meeting}",
            rank=number,
            world_size=count,
            device_id=self.device,
        )
        self.group = dist.group.WORLD.group_name
        self._kept: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._handles: dict[str, Any] = {}
        self.symmetric("all ranks meet", 16, torch.int32)

    def symmetric(
        self, name: str, shape: int | Sequence[int], dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's own tensor, zeros at the first call, and the table of all ranks' addresses.

        All ranks ask for it, with the same name, shape and dtype; the table is int64, [count];
        each address is a multiple of 16 bytes.
        Raises ValueError where the same name is asked for with another shape or dtype.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
        if name not in self._kept:
            self._kept[name] = self._made(name, sizes, dtype)
        found = self._kept[name]
        if (tuple(found[0].shape), found[0].dtype) != (sizes, dtype):
            shape, dtype = list(found[0].shape), found[0].dtype
            raise ValueError(later(f"{name} has shape {shape} and {dtype}"))
        return found

    def _made(
        self, name: str, sizes: tuple[int, ...], dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch.distributed as dist
        import torch.distributed._symmetric_memory as symm_mem

        own = symm_mem.empty(max(1, math.prod(sizes)), dtype=dtype, device=self.device).zero_()
        handle = symm_mem.rendezvous(own, self.group)
        skip = own.data_ptr() - handle.buffer_ptrs[self.number]
        addresses = [address + skip for address in handle.buffer_ptrs]
        table = torch.tensor(addresses, dtype=torch.int64, device=self.device)
        torch.cuda.synchronize()
        dist.barrier()  # all are zeros before anybody raises a flag
        self._handles[name] = handle
        return own[: math.prod(sizes)].view(sizes), table

    def barrier(self) -> None:
        """All ranks wait here for each other, between two launches."""
        self._handles["all ranks meet"].barrier()


@functools.cache
def rank() -> GpuRank:
    """This process's."""
    number, count = (int(os.environ[f"TRITONBOOK_{name}"]) for name in ("RANK", "RANK_COUNT"))
    return GpuRank(number, count, folder() / "meeting")


def folder() -> Path:
    """What the ranks and whoever asks them share."""
    return Path(os.environ["TRITONBOOK_RANKS"])


@functools.cache
def _module(text: str) -> Any:
    name = "on_ranks_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return source_file.module_of(text, f"<{name}>", name, {})


def function(request: dict[str, Any]) -> Callable[..., Any]:
    """What a request asks for, from its text, which is run once."""
    return eval(request["entry"], vars(_module(request["text"])))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """A rank's answer: {} after a call, whose result lies in the folder; the times of functions,
    in milliseconds; or {"error": what was raised}."""
    try:
        own = rank()
        if request["job"] == "time":
            return {"ms": timed(own, request)}
        given = torch.load(folder() / f"in_{own.number}.pt", map_location=own.device)
        result = function(request)(own, *given)
        torch.cuda.synchronize()
        torch.save(result, folder() / f"out_{own.number}.pt")
        return {}
    except (Exception, SystemExit) as error:
        return {"error": said_of(causes(error)[-1])}


def timed(own: GpuRank, request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Milliseconds a call of each function takes, by its name: `graph` in a CUDA graph, without
    the launches' time, and `eager` with it; or `error`, for one that does not run here."""
    dtype = getattr(torch, request["dtype"])
    given = [_numbers(shape).to(own.device, dtype) for shape in request["shapes"]]
    found: dict[str, dict[str, Any]] = {}
    for name, asked in request["functions"].items():
        call = functools.partial(function(asked), own, *given, **asked.get("options", {}))
        try:
            found[name] = _time_of(call, request["graph"])
        except Exception as error:
            found[name] = {"error": said_of(causes(error)[-1])}
    return found


def _numbers(shape: Sequence[int]) -> torch.Tensor:
    """Normal ones; a product with a matrix of them leaves numbers as large as they were."""
    scale = shape[0] ** -0.5 if len(shape) > 1 else 1.0
    return scale * torch.randn(shape, device=torch.cuda.current_device())


def _time_of(call: Callable[[], Any], in_graph: bool) -> dict[str, float]:
    import torch.distributed as dist

    for _ in range(5):
        call()
    torch.cuda.synchronize()
    dist.barrier()

    def batch() -> None:
        for _ in range(REPEATS):
            call()

    eager = {"eager": _median_of(batch)}
    if not in_graph:
        return eager
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # NCCL has threads of its own
        batch()
    return {"graph": _median_of(graph.replay), **eager}


def _median_of(run: Callable[[], None], rounds: int = 9) -> float:
    """Milliseconds of one of the calls that `run` makes, the median of several rounds."""
    import torch.distributed as dist

    run()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        dist.barrier()
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / REPEATS)
    return sorted(times)[rounds // 2]


@functools.cache
def _world() -> World:
    return World(int(os.environ["TRITONBOOK_RANK_COUNT"]))


def simulate(request: dict[str, Any]) -> dict[str, Any]:
    """The same for all ranks of a call at once, in the interpreter; {"fault": kind and sentence}
    where one shows."""
    world = _world()
    try:
        given = [torch.load(folder() / f"in_{n}.pt") for n in range(world.count)]
        results = run_on_ranks(function(request), world, list(zip(*given, strict=True)))
    except Fault as fault:
        return {"fault": [fault.kind, str(fault)]}
    except (Exception, SystemExit) as error:
        return {"error": said_of(causes(error)[-1])}
    for number, result in enumerate(results):
        torch.save(result, folder() / f"out_{number}.pt")
    return {}
