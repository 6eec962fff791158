"""Missed targets: what was tried against each, and the profiles that `benchmarks.profile` took.

`tried.json` beside this file is kept by hand; its form:

    {"tried": [{"operation", "problem", "what", "gain", "kept", "where", "ms"}, ...],
     "not_yet": [{"operation", "problem"}, ...]}

gain: time before over time after, above 1 where it helped. kept: whether the solution has it.
where: the GPU, and the file or page that holds the measurement. ms (may be left out): [before,
after], as they stand there. not_yet: problems that miss a target and were not looked into.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import counters
from .results import asked, markdown, shown

TRIED = Path(__file__).with_name("tried.json")
FIELDS = {"operation": str, "problem": str, "what": str, "gain": float, "kept": bool, "where": str}
# Kernels with less than this share of their provider's time are counted, not listed.
LEAST_SHARE = 0.03
HEAD = (
    "who",
    "kernel",
    "grid x block",
    "time",
    "DRAM read + written",
    "DRAM",
    "SM",
    "tensor cores",
    "occupancy",
    "L2 hits",
    "registers",
    "shared",
    "warps wait for",
)
LEGEND = """The tables hold Nsight Compute's counters of our kernels and of the missed peers'. Every
kernel ran alone, with an empty L2 cache, so times differ from those of the benchmark.

- *DRAM*, *SM*, *tensor cores*: shares of what the memory, the busiest unit of a multiprocessor and
  the tensor pipe could do in the kernel's time.
- *Occupancy*: active warps over the most that fit. *Shared*: bytes of one block.
- *Warps wait for*: the largest shares of a warp's time between two of its instructions."""


def missed_targets(problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of a problem as the results file holds it."""
    return [target for target in problem["targets"] if target["met"] is False]


def problems(ops: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(operation, problem) of all that miss a target. ops: those of a results file."""
    return [
        (name, problem["label"])
        for name, entry in ops.items()
        for problem in entry["problems"]
        if missed_targets(problem)
    ]


def stored_problem(ops: Mapping[str, Any], name: str, label: str) -> dict[str, Any] | None:
    """A problem as a results file holds it; None where it was never run."""
    entry = ops.get(name, {"problems": ()})
    return next((each for each in entry["problems"] if each["label"] == label), None)


def profiles_path(path: Path) -> Path:
    """The profiles that belong to a results file."""
    return path.with_name(f"{path.stem}_profiles.json")


def read_profiles(path: Path) -> list[dict[str, Any]]:
    """The profiles beside the results file `path`; none where there is no such file.

    Raises ValueError in one sentence for a file that is none.
    """
    place = profiles_path(path)
    if not place.exists():
        return []
    try:
        return json.loads(place.read_text(encoding="utf-8"))["profiles"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{place} holds no profiles; delete it and run `python -m benchmarks.profile`."
        ) from None


def write_profiles(place: Path, gpu: str, new: Sequence[Mapping[str, Any]]) -> None:
    """Put new profiles into a profiles file; other problems keep theirs."""
    found = json.loads(place.read_text(encoding="utf-8"))["profiles"] if place.exists() else []
    kept = {(each["operation"], each["problem"]): each for each in found}
    kept |= {(each["operation"], each["problem"]): dict(each) for each in new}
    place.parent.mkdir(parents=True, exist_ok=True)
    data = {"gpu": gpu, "profiles": [kept[key] for key in sorted(kept)]}
    place.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read_tried(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The hand-kept file. Raises ValueError in one sentence that names the entry at fault."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}.") from None
    if not (isinstance(data, dict) and set(data) == {"tried", "not_yet"}):
        raise ValueError(f"{path} must hold `tried` and `not_yet`, two lists, and nothing else.")
    for number, entry in enumerate(data["tried"], 1):
        if fault := _fault(entry):
            raise ValueError(f"{path}: entry {number} of `tried` {fault}.")
    return data


def _fault(entry: Mapping[str, Any]) -> str:
    for name, kind in FIELDS.items():
        if not isinstance(entry.get(name), (int, float) if kind is float else kind):
            return f"needs {name!r}, a {kind.__name__}"
    if extra := set(entry) - set(FIELDS) - {"ms"}:
        return f"holds {min(extra)!r}, which no report shows"
    if "ms" in entry:
        before, after = entry["ms"]
        if abs(before / after - entry["gain"]) > 0.006:
            return f"says a gain of {entry['gain']}, but {before} ms over {after} ms is another"
    return ""


def section(
    data: Mapping[str, Any],
    profiles: Iterable[Mapping[str, Any]],
    tried: Mapping[str, Iterable[Mapping[str, Any]]],
) -> str:
    """The report's section on missed targets; "" where none is missed.

    data: a results file's. profiles, tried: of `read_profiles` and `read_tried`.
    """
    there = problems(data["ops"])
    if not there:
        return ""
    taken = {(each["operation"], each["problem"]): each for each in profiles}
    count = sum(len(missed_targets(stored_problem(data["ops"], *key))) for key in there)
    parts = [
        f"## Missed targets\n\n{count} in {len(there)} problems; for each, what was tried and "
        "what it gained. *Gain*: the time before over the time after."
    ]
    if any(key in taken for key in there):
        parts[0] += f"\n\n{LEGEND}"
    for name, label in there:
        targets = missed_targets(stored_problem(data["ops"], name, label))
        said = "; ".join(
            f"{asked(each)}: {shown(each['reached'], each['least'])} reached" for each in targets
        )
        mine = [e for e in tried["tried"] if (e["operation"], e["problem"]) == (name, label)]
        text = f"### `{name}` {label}\n\nAsked for {said}.\n\n"
        text += "\n".join(map(_line, mine)) or "Not yet looked into."
        if profile := taken.get((name, label)):
            text += f"\n\n{table(profile)}"
        parts.append(text)
    return "\n\n".join(parts)


def _line(entry: Mapping[str, Any]) -> str:
    times = "{:.4g} to {:.4g} ms, ".format(*entry["ms"]) if "ms" in entry else ""
    word = "kept" if entry["kept"] else "not kept"
    return f"- {entry['what']}: gain {entry['gain']:.2f} ({times}{word}; {entry['where']})"


def table(profile: Mapping[str, Any]) -> str:
    """A profile as Markdown: the kernels of everyone, and who could not be profiled."""
    rows = [[f"`{row[0]}`", f"`{row[1]}`", *row[2:]] for row in _rows(profile)]
    notes = [
        f"Profiled with ncu {profile['ncu']}, torch {profile['versions']['torch']}, Triton "
        f"{profile['versions']['triton']}, {profile['date']}.",
        *_notes(profile),
    ]
    return f"{markdown(list(HEAD), rows)}\n\n{' '.join(notes)}"


def plain_table(profile: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    rows = [list(HEAD), *_rows(profile)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([*(line.rstrip() for line in lines), *_notes(profile)])


def _rows(profile: Mapping[str, Any]) -> list[list[str]]:
    return [
        [who["name"], *_cells(kernel)]
        for who in profile["providers"]
        for kernel in _large(who.get("kernels", ()))
    ]


def _large(kernels: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    total = sum(kernel["ns"] or 0 for kernel in kernels)
    return [each for each in kernels if each["ns"] is None or each["ns"] >= LEAST_SHARE * total]


def _notes(profile: Mapping[str, Any]) -> list[str]:
    notes = []
    for who in profile["providers"]:
        if "reason" in who:
            notes.append(f"{who['name']}: not profiled, {who['reason']}.")
            continue
        kernels, large = who["kernels"], _large(who["kernels"])
        if len(kernels) > 1:
            total = sum(kernel["ns"] or 0 for kernel in kernels)
            small = total - sum(kernel["ns"] or 0 for kernel in large)
            rest = f", {len(kernels) - len(large)} not listed ({_us(small)})"
            notes.append(
                f"{who['name']}: {len(kernels)} kernels, {_us(total)}"
                + (rest if len(large) < len(kernels) else "")
                + "."
            )
    return notes


def _cells(kernel: Mapping[str, Any]) -> list[str]:
    moved = [kernel["dram_read_bytes"], kernel["dram_write_bytes"]]
    shared, registers = kernel["shared_bytes"], kernel["registers"]
    name = counters.short(kernel["name"])
    return [
        name if len(name) <= 40 else f"{name[:37]}...",
        "{} x {}".format(*("·".join(map(str, _trim(kernel[key]))) for key in ("grid", "block"))),
        _us(kernel["ns"]),
        " + ".join("n/a" if each is None else f"{each / 1e6:.4g}" for each in moved) + " MB",
        *(
            "n/a" if kernel[key] is None else f"{kernel[key]:.0f} %"
            for key in (
                "dram_percent",
                "sm_percent",
                "tensor_percent",
                "occupancy_percent",
                "l2_hit_percent",
            )
        ),
        "n/a" if registers is None else f"{registers:.0f}",
        "n/a" if shared is None else f"{shared:.0f}",
        ", ".join(f"{why.replace('_', ' ')} {pc:.0f} %" for why, pc in kernel["stalls"].items())
        or "n/a",
    ]


def _trim(sizes: Sequence[int]) -> Sequence[int]:
    """Without the ones at the end."""
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes = sizes[:-1]
    return sizes


def _us(ns: float | None) -> str:
    return "n/a" if ns is None else f"{ns / 1e3:.4g} us"
