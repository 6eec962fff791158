"""Hardware counters of kernels, as Nsight Compute (`ncu`) prints them: which ones, and how to read.

No GPU and no `ncu` is needed here: all of it works on the text of
`ncu --csv --page raw --metrics ...`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What a kernel's record holds -> the metrics that give it, the first that this ncu and GPU know.
METRICS: dict[str, tuple[str, ...]] = {
    "ns": ("gpu__time_duration.sum",),
    "registers": ("launch__registers_per_thread",),
    "shared_static": ("launch__shared_mem_per_block_static",),
    "shared_dynamic": ("launch__shared_mem_per_block_dynamic",),
    "dram_read_bytes": ("dram__bytes_read.sum", "dram__bytes_op_read.sum"),
    "dram_write_bytes": ("dram__bytes_write.sum", "dram__bytes_op_write.sum"),
    "dram_percent": (
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "sm_percent": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    # Of all cycles, so that idle multiprocessors and the tail count as well.
    "tensor_percent": (
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    "occupancy_percent": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "l2_hit_percent": ("lts__t_sector_hit_rate.pct",),
}
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Where a warp spends the cycles between two of its instructions; `selected` is the issue itself.
# `gmma` (waiting for wgmma) is Hopper's own.
REASONS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)
SHOWN_STALLS = 3
# ncu writes units by their name or their sign, in decimal steps.
UNITS = {
    **{"nsecond": 1.0, "usecond": 1e3, "msecond": 1e6, "second": 1e9},
    **{"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9},
    **{"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12},
}


class Refused(Exception):
    """ncu could not read any counter on this machine, with the reason in one sentence."""


def wanted(unknown: Iterable[str] = ()) -> list[str]:
    """The metrics to ask for: of each record's metrics the first whose base name is not unknown."""
    gone = set(unknown)
    rows = [*METRICS.values(), *((STALL.format(reason),) for reason in REASONS)]
    known = ([name for name in names if name.split(".")[0] not in gone] for names in rows)
    return [names[0] for names in known if names]


def unknown_metrics(text: str) -> set[str]:
    """Base names of the metrics for which ncu refused the whole run, because it has none such."""
    found = re.findall(r"Failed to find metrics? (?:regex:)?\^?([\w, ]+)", text)
    return {name for names in found for name in re.split(r"[, ]+", names) if "__" in name}


def errors(text: str) -> list[str]:
    """The sentences that ncu marks as errors.

    Raises Refused where one of them says that no counter can be read here at all.
    """
    found = [line[9:].strip() for line in text.splitlines() if line.startswith("==ERROR==")]
    for said in found:
        if "ERR_NVGPUCTRPERM" in said:
            raise Refused(
                "This GPU gives its counters to no one but the administrator "
                "(ERR_NVGPUCTRPERM); run as root, or have the driver set to "
                "NVreg_RestrictProfilingToAdminUsers=0."
            )
        if "Failed to initialize the profiler" in said:
            raise Refused(f"ncu cannot read counters on this machine: {said.rstrip('.')}.")
    return found


def parse(text: str) -> list[dict[str, Any]]:
    """One dictionary for each kernel in `ncu --csv --page raw`, in the order of their launches.

    Keys are ncu's column names. Metrics are floats in base units (nanoseconds, bytes, percent), or
    None where ncu has no value; other columns are text. What ncu says around the table is skipped.
    """
    lines = [line for line in text.splitlines() if line and not line.startswith("==")]
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        return []
    head, units, *rows = csv.reader(lines[start:])
    if units[0]:  # a table without a row of units
        rows, units = [units, *rows], [""] * len(head)
    return [
        {
            name: _number(value, unit) if "__" in name else value
            for name, value, unit in zip(head, row, units, strict=True)
        }
        for row in rows
        if len(row) == len(head)
    ]


def _number(value: str, unit: str) -> float | None:
    """A metric as ncu writes it: digits in groups, or words such as n/a."""
    try:
        found = float(value.replace(",", ""))
    except ValueError:
        return None
    return found * UNITS.get(unit.split("/")[0], 1.0) if found == found else None


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel of `parse` as the profiles file keeps it.

    Values that this GPU or ncu lacks are None. shared_bytes: static and dynamic, of one block.
    stalls: the largest shares of a warp's time between two instructions, in percent, by reason.
    """
    found = {
        key: next((row[name] for name in names if row.get(name) is not None), None)
        for key, names in METRICS.items()
    }
    shared = [found.pop("shared_static"), found.pop("shared_dynamic")]
    present = [value for value in shared if value is not None]
    return {
        "name": row["Kernel Name"],
        "grid": _sizes(row["Grid Size"]),
        "block": _sizes(row["Block Size"]),
        **found,
        "shared_bytes": sum(present) if present else None,
        "stalls": _stalls(row),
    }


def _stalls(row: Mapping[str, Any]) -> dict[str, float]:
    spent = {reason: row.get(STALL.format(reason)) or 0.0 for reason in REASONS}
    total = sum(spent.values())
    # A warp that issues, or could and was not picked, waits for nothing.
    waits = {reason: spent[reason] for reason in REASONS if "selected" not in reason}
    largest = sorted(waits, key=lambda reason: -waits[reason])[:SHOWN_STALLS]
    return {reason: round(100 * waits[reason] / total, 1) for reason in largest if waits[reason]}


def _sizes(text: str) -> list[int]:
    return [int(size) for size in re.findall(r"\d+", text)]


def between(
    records: Sequence[Mapping[str, Any]], marker: str, names: Sequence[str]
) -> dict[str, list[Mapping[str, Any]]]:
    """Kernels by provider: those after the marker kernel whose grid is n belong to names[n - 1]."""
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in names}
    current: str | None = None
    for each in records:
        if short(each["name"]) == marker:
            current = names[each["grid"][0] - 1]
        elif current is not None:
            found[current].append(each)
    return found


def short(name: str) -> str:
    """A kernel's name without return type, template arguments, parameters and namespaces."""
    bare = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", name)
    bare = bare.split("(")[0].split("<")[0].strip()
    return bare.split(" ")[-1].split("::")[-1]
