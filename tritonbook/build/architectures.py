"""Every solution compiled for five GPUs without one: `make compile-check`.

The largest case of each check is compiled for sm_75 to sm_90, its sizes rounded up to multiples of
16: that is the default configuration of real work, with vector loads. (Sizes that are no multiple
are compiled by the check itself, whose loads then fall apart into single elements and may spill.)
The limits are declared here: what must compile where, and which kernels may spill, with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "matrix" / "architectures.json"
TABLE = ROOT / "benchmarks" / "architectures.md"
GPUS = {75: "T4", 80: "A100", 86: "A10", 89: "L4", 90: "H100"}

# Must not spill a register to memory on this one: the course's reference GPU.
NO_SPILLS = 80
# Graded functions that may, with the reason.
MAY_SPILL: dict[str, str] = {}
# Functions that need not compile for a T4: its shared memory or compile time is too small for them.
NOT_ON_T4: dict[str, str] = {}


@dataclass(frozen=True)
class Compiled:
    """One function, one case, one GPU. kernels: name, registers, spills, shared, tensor cores."""

    exercise: str
    key: str
    case: str
    arch: int
    ok: bool | None
    message: str
    kernels: tuple[dict[str, Any], ...]


def compile_course(slugs: Iterable[str] = (), archs: Iterable[int] = tuple(GPUS)) -> list[Compiled]:
    """Compile the solutions of the chosen exercises (default: all) for each capability."""
    from ..course.calls import calls
    from ..course.exercises import exercises

    slugs, archs = list(slugs), list(archs)
    found = []
    for exercise in exercises(ROOT / "exercises"):
        if slugs and exercise.slug not in slugs and exercise.slug[:2] not in slugs:
            continue
        for key in exercise.checks():
            for call in calls(exercise, key):
                if call.launches_kernels and call.usable():
                    found += [_compile(exercise.slug, call, arch) for arch in archs]
    return found


def aligned(case: Any) -> Any:
    """The case with every size above 1 rounded up to a multiple of 16; equal sizes stay equal."""
    arguments = {
        name: replace(spec, shape=tuple(-(-n // 16) * 16 if n > 1 else n for n in spec.shape))
        for name, spec in case.specs().items()
    }
    return replace(case, arguments={**case.arguments, **arguments})


def _compile(slug: str, call: Any, arch: int) -> Compiled:
    from ..course.calls import arguments
    from ..seeing.compiled import compile_gate

    def compiled(case: Any) -> Any:
        return compile_gate(call.function, arguments(case), case.options, arch, timeout=120)

    case = aligned(call.largest())
    result = compiled(case)
    if result.ok is None:  # sizes that the wrapper refuses, because another argument names them
        case = call.largest()
        result = compiled(case)
    kernels = tuple(kernel.to_dict() for kernel in result.kernels)
    print("." if result.ok else "x", end="", file=sys.stderr, flush=True)
    return Compiled(slug, call.key, case.describe(), arch, result.ok, result.message, kernels)


def problems(compiled: Iterable[Compiled]) -> list[str]:
    """What breaks a declared limit, one sentence each."""
    found = []
    for one in compiled:
        where = f"{one.exercise}, {one.key} on sm_{one.arch} ({one.case})"
        if one.arch == 75 and one.key in NOT_ON_T4:
            continue
        if one.ok is None:
            found.append(f"{where}: was not compiled: {one.message}")
        elif not one.ok:
            found.append(f"{where}: {one.message}")
        elif not one.kernels:
            found.append(f"{where}: no kernel was launched")
        spills = max((kernel["spills"] for kernel in one.kernels), default=0)
        if one.arch == NO_SPILLS and spills and one.key not in MAY_SPILL:
            found.append(f"{where}: spills {spills} bytes per thread")
    return found


def markdown(compiled: Iterable[Compiled], date: str, versions: dict[str, str]) -> str:
    """The table of the docs: one row a kernel, one column a GPU."""
    rows: dict[tuple[str, str, str], dict[int, str]] = {}
    for one in compiled:
        for kernel in one.kernels or ({"name": "-"},):
            cells = rows.setdefault((one.exercise, one.key, kernel["name"]), {})
            cells[one.arch] = _cell(one, kernel)
    gpus = [f"{name} (sm_{arch})" for arch, name in GPUS.items()]
    lines = [
        "# What the solutions compile to",
        "",
        "Made by `make compile-check` without a GPU: the largest case of each check, its",
        "sizes rounded up to multiples of 16,",
        f"compiled with Triton {versions['triton']} on {date}.",
        "A cell says registers per thread (r), shared memory per program, bytes per thread",
        "that spilled, and tensor-core instructions (t), where there are some.",
        "",
        f"| notebook | function | kernel | {' | '.join(gpus)} |",
        f"|---|---|---|{'---|' * len(gpus)}",
    ]
    for (slug, key, name), cells in rows.items():
        shown = " | ".join(cells.get(arch, "") for arch in GPUS)
        lines.append(f"| {slug} | `{key}` | `{name}` | {shown} |")
    return "\n".join(lines) + "\n"


def _cell(one: Compiled, kernel: dict[str, Any]) -> str:
    if not one.ok:
        return "does not fit" if one.ok is False else "not compiled"
    parts = [f"{kernel['registers']} r"]
    if kernel["shared_bytes"]:
        parts.append(f"{kernel['shared_bytes'] / 1024:.3g} KiB")
    if kernel["spills"]:
        parts.append(f"**spills {kernel['spills']}**")
    if kernel["mma"] + kernel["wgmma"]:
        parts.append(f"t {kernel['mma'] + kernel['wgmma']}")
    return ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slugs", nargs="*", help="exercises by slug or number (default: all)")
    parser.add_argument("--arch", type=int, action="append", choices=GPUS, help="this GPU alone")
    options = parser.parse_args()
    from ..device import versions

    compiled = compile_course(options.slugs, options.arch or tuple(GPUS))
    print(file=sys.stderr)
    broken = problems(compiled)
    print("\n".join(broken) if broken else f"{len(compiled)} compiled, every limit is kept")
    if not (options.slugs or options.arch):
        date = time.strftime("%Y-%m-%d")
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        data = {"date": date, "versions": versions(), "compiled": [asdict(c) for c in compiled]}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(markdown(compiled, date, versions()), encoding="utf-8")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
