"""`python -m benchmarks.several_gpus`: pages of more than one GPU, on the GPUs of this machine.

Values against float64, the same bits on all ranks, calls one after the other; what happens when a
rank fails or never ends; then times beside NCCL and PyTorch: of messages from 4 kB to 32 MB, and of
an MLP. Prints JSON, and writes it to a file after each step. With TRITONBOOK_STORE_BENCH the pages'
tables are kept, too. Page 71 alone:

    python -m benchmarks.several_gpus --only mlp_verify mlp_times --to two_gpus.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import tritonbook  # noqa: F401  (must come before Triton)
from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET, versions
from tritonbook.ranks.measure import (
    bench_ranks,
    measured,
    mlp_shapes,
    nccl,
    table,
    torch_mlp,
    torch_mlp_fused,
    torch_mlp_whole,
    torch_one_shot,
    torch_two_shots,
)
from tritonbook.ranks.processes import Processes, RankFailed
from tritonbook.ranks.start import on_ranks
from tritonbook.timing.stored import keep

SIZES = [2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 16 << 20]  # elements
ODD = [1, 5, 1000, 1025, 70_001, 3_000_001]
ALLOWED = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
TWICE = ("sum_ranks_twice", "all_reduce_twice", "all_reduce_large_twice")
BLOCKS = (1024, 2048, 4096, 8192)
LAYERS = ("parallel_mlp_twice", "fused_twice", "late_twice")
ROWS = [1024, 2048, 4096, 8192]
VERIFIED = 20.0  # seconds: no further layer is drawn then


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


def layers() -> Iterator[tuple[torch.dtype, int, int, int]]:
    """dtype, M, D and H: of one aligned layer of many tiles, then drawn ones."""
    yield torch.bfloat16, 2048, 2048, 1024
    draw = random.Random(71)
    while True:
        for dtype in (torch.bfloat16, torch.float32, torch.bfloat16, torch.float16):
            yield dtype, draw.randint(1, 700), draw.randint(1, 900), draw.randint(8, 1200)


def mlp_verify(page: Any, processes: Processes) -> Iterator[dict[str, Any]]:
    """Largest errors over what is allowed, and whether all bits agree; anew after each layer."""
    found: dict[str, Any] = {"calls": 0, "layers": [], "wrong": [], "other bits": []}
    began, ranks = time.monotonic(), processes.count
    for dtype, M, D, H in layers():
        shapes, scales = [(D, H), (D, H), (H, D)], [D**-0.5, D**-0.5, 3 * H**-0.5]
        weights = [s * torch.randn(ranks, *n) for n, s in zip(shapes, scales, strict=True)]
        given = [each.to(dtype) for each in (torch.randn(M, D).expand(ranks, M, D), *weights)]
        want = page.parallel_mlp_ref(*(each.double().cuda() for each in given))[0]
        for name in LAYERS:
            results = processes.call(getattr(page, name), given)
            for rank, got in enumerate(results):
                errors = [
                    float((g.double().cuda() - w).abs().max() / w.abs().max() / ALLOWED[dtype])
                    for g, w in zip(got, want, strict=True)
                ]
                found["calls"] += 2
                if not max(errors) <= 1:
                    found["wrong"].append([name, str(dtype), M, D, H, rank, errors])
                if not all(torch.equal(a, b) for a, b in zip(got, results[0], strict=True)):
                    found["other bits"].append([name, str(dtype), M, D, H, rank])
        found["layers"].append([str(dtype), M, D, H])
        yield found
        if time.monotonic() - began > VERIFIED:
            return


def mlp_times(page: Any, processes: Processes) -> Iterator[list[dict[str, Any]]]:
    """Milliseconds of a layer of Llama 3 8B, in a CUDA graph and with its launches; anew after each
    number of rows. PyTorch's fused operator goes into no graph."""
    fns: dict[str, Callable[..., Any]] = {
        "torch, one GPU": torch_mlp_whole,
        "torch, NCCL": torch_mlp,
        "Task 1": page.parallel_mlp,
        "Task 2": page.parallel_mlp_fused,
        "Task 3": page.parallel_mlp_late,
    }
    how: dict[str, Any] = {"shapes": mlp_shapes, "processes": processes}
    rows, found = [], []
    for size, timed in measured(fns, processes.count, ROWS, torch.bfloat16, **how):
        found.append((size, timed))
        rows.append({"rows": size, **timed})
        yield rows
    title = "The MLP of Llama 3 8B on 2 GPUs, bfloat16"
    keep("parallel_mlp_two_gpus", table(found, torch.bfloat16, mlp_shapes, title))
    lags = {f"Task 3, lag {lag}": page.parallel_mlp_late for lag in (16, 66, 264)}
    options = {name: {"lag": int(name.split()[-1])} for name in lags}
    for size, timed in measured(lags, processes.count, ROWS, torch.bfloat16, options, **how):
        rows[ROWS.index(size)] |= timed
        yield rows
    fused = {"torch, fused product and reduce-scatter": torch_mlp_fused}
    for size, timed in measured(fused, processes.count, ROWS, torch.bfloat16, graph=False, **how):
        rows[ROWS.index(size)] |= timed
        yield rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several_gpus", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    names = ("verify", "ends", "times", "page", "mlp_verify", "mlp_times")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--to", type=Path, help="a file that gets the JSON, after each step anew")
    asked = parser.parse_args()
    if INTERPRET or torch.cuda.device_count() < asked.ranks:
        print(f"{asked.ranks} GPUs are needed.", file=sys.stderr)
        return 2
    page, mlp = load(get("70_all_reduce")), load(get("71_parallel_mlp"))
    processes = Processes(asked.ranks)  # of page 71's parts; they start when they are asked
    parts: dict[str, Callable[[], Iterator[Any]]] = {
        "verify": lambda: iter([verify(page, asked.ranks)]),
        "ends": lambda: iter([ends(asked.ranks)]),
        "times": lambda: iter([times(page, asked.ranks)]),
        "page": lambda: iter([str(the_table(page, asked.ranks))]),
        "mlp_verify": lambda: mlp_verify(mlp, processes),
        "mlp_times": lambda: mlp_times(mlp, processes),
    }
    report: dict[str, Any] = {"machine": versions(), "ranks": asked.ranks}
    for name in names:
        if name not in asked.only:
            continue
        began = time.monotonic()
        try:
            for found in parts[name]():
                report[name] = found
                _write(report, asked.to)
        except Exception as error:  # the other parts are worth having
            report[f"{name}, error"] = f"{type(error).__name__}: {error}"
        report.setdefault("seconds", {})[name] = round(time.monotonic() - began, 1)
        _write(report, asked.to)
    processes.close()
    print(json.dumps(report, indent=1))
    return 0


def the_table(page: Any, ranks: int) -> Any:
    """Page 70's."""
    return bench_ranks(
        {"one shot": page.all_reduce, "two shots": page.all_reduce_large, "NCCL": nccl},
        ranks=ranks,
        sizes=[2 << 10, 16 << 10, 128 << 10, 1 << 20, 16 << 20],
        title="All-reduce on 2 GPUs, bfloat16",
        stored="all_reduce_two_gpus",
    )


def _write(report: dict[str, Any], path: Path | None) -> None:
    if path:
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
