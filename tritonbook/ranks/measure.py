"""Times on several GPUs, beside NCCL and PyTorch's own operators on symmetric memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..port import device
from ..timing.result import BenchResult, Row, Sweep
from ..timing.stored import keep, load
from .processes import Processes, RankFailed, written

CLOCK = "a call in a CUDA graph, the slowest rank's; median of 9 rounds of 20 calls"


class NotMeasured(str):
    """What stands where there is no result, of this machine or kept."""

    def __repr__(self) -> str:
        return str(self)


def bench_ranks(
    fns: dict[str, Callable[..., Any]],
    ranks: int,
    sizes: Sequence[int],
    *,
    dtype: torch.dtype = torch.bfloat16,
    stored: str | None = None,
) -> Sweep | NotMeasured:
    """Milliseconds that `fn(rank, x)` takes for x of each size, in elements, on so many GPUs.

    stored: the name under which a result is kept, which stands in where there are not so many.
    Raises RankFailed where a rank fails: all of them are stopped then.
    """
    if device.INTERPRET or torch.cuda.device_count() < ranks:
        found = load(stored) if stored else None
        if isinstance(found, Sweep):
            return found
        return NotMeasured(f"No times: {ranks} GPUs are needed, and none were kept.")
    results = [_table(times, size, dtype) for size, times in measured(fns, ranks, sizes, dtype)]
    values = [_bytes(size * dtype.itemsize) for size in sizes]
    sweep = Sweep(axis="message", values=values, results=results, title=f"{ranks} GPUs")
    keep(stored, sweep)
    return sweep


def measured(
    fns: dict[str, Callable[..., Any]],
    ranks: int,
    sizes: Sequence[int],
    dtype: torch.dtype,
    options: dict[str, dict[str, Any]] | None = None,
) -> list[tuple[int, dict[str, dict[str, Any]]]]:
    """For each size the times of each function, `graph` and `eager` (with the launches), in
    milliseconds: those of the slowest rank; or `error`, where it does not run.

    options: of a function's calls, by its name.
    """
    more = options or {}
    asked = {name: {**written(fn), "options": more.get(name, {})} for name, fn in fns.items()}
    processes, found = Processes(ranks), []
    try:
        for size in sizes:
            request = {"job": "time", "functions": asked, "shape": [size]}
            request["dtype"] = str(dtype).removeprefix("torch.")
            answers = [answer["ms"] for answer in processes.ask(request)]
            found.append((size, {name: _slowest([each[name] for each in answers]) for name in fns}))
    finally:
        processes.close()
    return found


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


def _bytes(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} kB"


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
