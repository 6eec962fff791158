"""Times on several GPUs, beside NCCL and PyTorch's own operators on symmetric memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from ..port import device
from ..timing.result import BenchResult, Row, Sweep
from ..timing.stored import keep, load
from ..words import later, say
from .processes import Processes, RankFailed, written

CLOCK = "a call in a CUDA graph, the slowest rank's; median of 9 rounds of 20 calls"


Shapes = Callable[[int], list[tuple[int, ...]]]
Measured = tuple[int, dict[str, dict[str, Any]]]  # a size, and the times of each function


class NotMeasured(str):
    """What stands where there is no result, of this machine or kept."""

    def __repr__(self) -> str:
        return say(str(self))


later("label: message")  # beside the axis of a table
later("label: rows")


def message(size: int) -> list[tuple[int, ...]]:
    """One row of so many elements."""
    return [(size,)]


def mlp_shapes(rows: int, D: int = 4096, H: int = 14336) -> list[tuple[int, ...]]:
    """x and the weights of a layer of Llama 3 8B."""
    return [(rows, D), (D, H), (D, H), (H, D)]


def bench_ranks(
    fns: dict[str, Callable[..., Any]],
    ranks: int,
    sizes: Sequence[int],
    *,
    shapes: Shapes = message,
    dtype: torch.dtype = torch.bfloat16,
    title: str = "",
    stored: str | None = None,
) -> Sweep | NotMeasured:
    """Milliseconds that `fn(rank, *tensors)` takes for tensors of each size on so many GPUs.

    shapes: of the tensors, from the size: of one row of so many elements, if nothing else is said.
    stored: the name under which a result is kept, which stands in where there are not so many.
    Raises RankFailed where a rank fails: all of them are stopped then.
    """
    if device.INTERPRET or torch.cuda.device_count() < ranks:
        found = load(stored) if stored else None
        if isinstance(found, Sweep):
            return found
        return NotMeasured(f"No times: {ranks} GPUs are needed, and none were kept.")
    sweep = table(measured(fns, ranks, sizes, dtype, shapes=shapes), dtype, shapes, title)
    keep(stored, sweep)
    return sweep


def table(found: Iterable[Measured], dtype: torch.dtype, shapes: Shapes, title: str) -> Sweep:
    """What was measured, as a table. Raises RankFailed for a function that did not run."""
    rows = list(found)
    axis, named = ("message", _bytes) if shapes is message else ("rows", _count)
    return Sweep(
        axis=axis,
        values=[named(size, dtype) for size, _ in rows],
        results=[_table(times, math.prod(shapes(size)[0]), dtype) for size, times in rows],
        title=title,
    )


def measured(
    fns: dict[str, Callable[..., Any]],
    ranks: int,
    sizes: Sequence[int],
    dtype: torch.dtype,
    options: dict[str, dict[str, Any]] | None = None,
    shapes: Shapes = message,
    graph: bool = True,
    processes: Processes | None = None,
) -> Iterator[Measured]:
    """For each size the times of each function, `graph` and `eager` (with the launches), in
    milliseconds: those of the slowest rank; or `error`, where it does not run.

    options: of a function's calls, by its name. graph: False for functions that no CUDA graph
    takes, which have `eager` alone. processes: of the ranks, where they are there already.
    """
    more = options or {}
    asked = {name: {**written(fn), "options": more.get(name, {})} for name, fn in fns.items()}
    at = processes or Processes(ranks)
    try:
        for size in sizes:
            request = {"job": "time", "functions": asked, "shapes": shapes(size), "graph": graph}
            request["dtype"] = str(dtype).removeprefix("torch.")
            answers = [answer["ms"] for answer in at.ask(request)]
            yield size, {name: _slowest([each[name] for each in answers]) for name in fns}
    finally:
        if processes is None:
            at.close()


def _slowest(times: list[dict[str, Any]]) -> dict[str, Any]:
    failed = next((found for found in times if "error" in found), None)
    return failed or {kind: max(found[kind] for found in times) for kind in times[0]}


def _table(times: dict[str, dict[str, Any]], size: int, dtype: torch.dtype) -> BenchResult:
    for name, found in times.items():
        if "error" in found:
            raise RankFailed(f"{name}: {found['error']}")
    rows = [
        Row(name, found["graph"], found["graph"], found["graph"]) for name, found in times.items()
    ]
    moved = float(size * dtype.itemsize)
    for row in rows:
        row.gbps = moved / row.ms / 1e6
    return BenchResult(rows, CLOCK, on_gpu=True, bytes=moved)


def _bytes(size: int, dtype: torch.dtype) -> str:
    count = size * dtype.itemsize
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} kB"


def _count(size: int, dtype: torch.dtype) -> str:
    return str(size)


def nccl(rank: Any, x: torch.Tensor) -> torch.Tensor:
    """NCCL's all-reduce, in place."""
    torch.distributed.all_reduce(x)
    return x


def torch_one_shot(rank: Any, x: torch.Tensor) -> torch.Tensor:
    """PyTorch's one-shot operator, of numbers that lie in symmetric memory already."""
    own, _ = rank.symmetric(f"torch one shot {x.numel()}", x.numel(), x.dtype)
    return torch.ops.symm_mem.one_shot_all_reduce(own, "sum", rank.group)


def torch_two_shots(rank: Any, x: torch.Tensor) -> torch.Tensor:
    """PyTorch's two-shot operator, in place in symmetric memory."""
    own, _ = rank.symmetric(f"torch two shots {x.numel()}", x.numel(), x.dtype)
    return torch.ops.symm_mem.two_shot_all_reduce_(own, "sum", rank.group)


def torch_mlp_whole(rank: Any, x: Any, gate: Any, up: Any, down: Any) -> torch.Tensor:
    """The whole SwiGLU layer on each GPU."""
    return (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down


def torch_mlp(rank: Any, x: Any, gate: Any, up: Any, down: Any) -> torch.Tensor:
    """This rank's share of the layer, then NCCL's all-reduce."""
    own = slice(rank.number * len(down) // rank.count, (rank.number + 1) * len(down) // rank.count)
    hidden = torch.nn.functional.silu(x @ gate[:, own]) * (x @ up[:, own])
    part = hidden @ down[own]
    torch.distributed.all_reduce(part)
    return part


def torch_mlp_fused(rank: Any, x: Any, gate: Any, up: Any, down: Any) -> torch.Tensor:
    """The same with PyTorch's fused operator, which leaves each rank a share of the rows; NCCL
    gathers them."""
    own = slice(rank.number * len(down) // rank.count, (rank.number + 1) * len(down) // rank.count)
    hidden = torch.nn.functional.silu(x @ gate[:, own]) * (x @ up[:, own])
    fused = torch.ops.symm_mem.fused_matmul_reduce_scatter
    rows = fused(hidden, down[own], "sum", 0, rank.group)
    out = torch.empty_like(x)
    torch.distributed.all_gather_into_tensor(out, rows)
    return out
