"""`python -m benchmarks.several_gpus`: pages of more than one GPU, on the GPUs of this machine.

Values against float64, the same bits on all ranks, calls one after the other; what happens when a
rank fails or never ends; then times from 4 kB to 32 MB beside NCCL and PyTorch. Prints JSON.
With TRITONBOOK_STORE_BENCH the page's table is kept, too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import tritonbook  # noqa: F401  (must come before Triton)
from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET, versions
from tritonbook.ranks.measure import bench_ranks, measured, nccl, torch_one_shot, torch_two_shots
from tritonbook.ranks.processes import Processes, RankFailed
from tritonbook.ranks.start import on_ranks

SIZES = [2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 16 << 20]  # elements
ODD = [1, 5, 1000, 1025, 70_001, 3_000_001]
ALLOWED = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
TWICE = ("sum_ranks_twice", "all_reduce_twice", "all_reduce_large_twice")
BLOCKS = (1024, 2048, 4096, 8192)


def fails(rank: Any, x: torch.Tensor) -> torch.Tensor:
    """Rank 1 raises; the others wait for it at a barrier."""
    if rank.number == 1:
        raise ValueError("on purpose")
    rank.barrier()
    torch.cuda.synchronize()
    return x


def verify(page: Any, ranks: int) -> dict[str, Any]:
    """Errors over what is allowed, by function, dtype and size; and whether all bits agree."""
    found: dict[str, Any] = {"calls": 0, "wrong": [], "other bits": []}
    for name in TWICE:
        with_memory = on_ranks(getattr(page, name), ranks)  # its processes start once
        for dtype, allowed in ALLOWED.items():
            most = len(SIZES) if dtype == torch.bfloat16 else len(SIZES) - 2
            for size in [*ODD, *SIZES[:most]]:
                x = torch.randn(ranks, size).to(dtype)
                results = with_memory(x)
                want = x.double().sum(0)
                scale = want.abs().max()
                for rank, (first, second) in enumerate(results):
                    errors = [
                        float((got.double().cpu() - times * want).abs().max() / (times * scale))
                        for got, times in ((first, 1), (second, ranks))
                    ]
                    found["calls"] += 2
                    if max(errors) > allowed:
                        found["wrong"].append([name, str(dtype), size, rank, errors])
                    same = torch.equal(first, results[0][0]) and torch.equal(second, results[0][1])
                    if not same:
                        found["other bits"].append([name, str(dtype), size, rank])
        with_memory.close()
    return found


def ends(ranks: int) -> dict[str, Any]:
    """How long it takes until a failure of one rank is told, and that the next call works."""
    began = time.monotonic()
    processes = Processes(ranks, seconds=60.0)
    try:
        processes.call(fails, [torch.zeros(ranks, 16)])
        told = "nothing"
    except RankFailed as failure:
        told = str(failure)
    return {"told": told, "seconds": round(time.monotonic() - began, 1)}


def times(page: Any, ranks: int) -> list[dict[str, Any]]:
    """Microseconds a call, in a CUDA graph and with its launch, for each size."""
    one, two = page.all_reduce, page.all_reduce_large
    fns: dict[str, Callable[..., Any]] = {"one shot": one, "two shots": two, "NCCL": nccl}
    fns |= {"torch one shot": torch_one_shot, "torch two shots": torch_two_shots}
    options: dict[str, dict[str, Any]] = {}
    for block in BLOCKS:
        for name, fn in (("one shot", one), ("two shots", two)):
            fns[f"{name}, block {block}"] = fn
            options[f"{name}, block {block}"] = {"block": block}
    rows = []
    for size, found in measured(fns, ranks, SIZES, torch.bfloat16, options):
        row: dict[str, Any] = {"bytes": 2 * size}
        for name, timed in found.items():
            row[name] = {
                kind: round(1e3 * ms, 2) if isinstance(ms, float) else ms
                for kind, ms in timed.items()
            }
        ours = [found[name].get("graph") for name in ("one shot", "two shots")]
        if all(ours) and "graph" in found["NCCL"]:
            row["NCCL over the better shot"] = round(found["NCCL"]["graph"] / min(ours), 3)
        rows.append(row)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several_gpus", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", choices=("verify", "ends", "times", "page"))
    asked = parser.parse_args()
    if INTERPRET or torch.cuda.device_count() < asked.ranks:
        print(f"{asked.ranks} GPUs are needed.", file=sys.stderr)
        return 2
    page = load(get("70_all_reduce"))
    parts: dict[str, Callable[[], Any]] = {
        "verify": lambda: verify(page, asked.ranks),
        "ends": lambda: ends(asked.ranks),
        "times": lambda: times(page, asked.ranks),
        "page": lambda: str(
            bench_ranks(
                {"one shot": page.all_reduce, "two shots": page.all_reduce_large, "NCCL": nccl},
                ranks=asked.ranks,
                sizes=[2 << 10, 16 << 10, 128 << 10, 1 << 20, 16 << 20],
                stored="all_reduce_two_gpus",
            )
        ),
    }
    report: dict[str, Any] = {"machine": versions(), "ranks": asked.ranks}
    for name, part in parts.items():
        if asked.only in (None, name):
            try:
                report[name] = part()
            except Exception as error:  # the other parts are worth having
                report[name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
