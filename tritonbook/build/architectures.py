"""Every solution compiled for five GPUs without one: `make compile-check`.

Of each check, the largest case of each configuration is compiled for sm_75 to sm_90. Sizes are
rounded up to multiples of 16: that is the default of real work, with vector loads. (Sizes that are
no multiple are compiled by the check itself, whose loads then fall apart into single elements.)
Checks are small, so every problem of the benchmarks is compiled as well: real work takes other
tiles.
What must hold is declared in each exercise's header: see `limits`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..course.exercises import Exercise
from . import limits
from .limits import GPUS

if TYPE_CHECKING:
    from ..course.page_checks import Call
    from ..seeing.compiled import CompileResult

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "benchmarks" / "architectures.md"


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


def compile_course(course: Iterable[Exercise], archs: Sequence[int]) -> list[Compiled]:
    """Compile the solutions of exercises for each capability."""
    from ..course.page_checks import call

    found = []
    for exercise in course:
        if not exercise.header.limits:
            continue
        for key in exercise.checks():
            asked = call(exercise, key)
            for case in configurations(asked):
                found += _compile_for(exercise.slug, asked, case, archs)
        found += _benchmarks(exercise.slug, archs)
    return found


def _benchmarks(slug: str, archs: Sequence[int]) -> list[Compiled]:
    """The benchmarks' problems of one notebook, for every way of ours to do them."""
    from benchmarks.op import all_ops

    from ..seeing.compiled import compile_gate

    found = []
    for op in all_ops().values():
        for problem in op.problems if op.notebook == slug else ():
            arguments = problem.make("meta")  # shapes are enough, and some would fill a laptop
            for name, provider in op.providers.items():
                if not provider.ours or name in problem.without:
                    continue
                function = (provider.launches or provider.load)()
                # The limits of the page that it stands on: a record's is not the operation's.
                stands_on = getattr(sys.modules[function.__module__], "__exercise__", None)
                page = stands_on.slug if stands_on else slug
                for arch in archs:
                    result = compile_gate(function, arguments, arch=arch, timeout=120)
                    found.append(_compiled(page, name, problem.label, arch, result))
    return found


def configurations(call: Call) -> list[Any]:
    """The largest case of each combination of dtypes, flags and words among the arguments.

    These decide which tiles a wrapper takes and which branches a kernel has.
    """
    from ..checking.cases import elements

    largest: dict[tuple[Any, ...], Any] = {}
    for case in sorted(call.check.usable(), key=elements, reverse=True):
        dtypes = [spec.dtype or case.effective_dtype() for spec in case.specs().values()]
        given = {**case.arguments, **case.options}.items()
        words = [(name, value) for name, value in given if isinstance(value, (bool, str))]
        largest.setdefault((*dtypes, *words), case)
    return list(largest.values())


def _compile_for(slug: str, call: Call, case: Any, archs: Sequence[int]) -> list[Compiled]:
    from ..checking.cases import arguments
    from ..seeing.compiled import compile_gate

    found: list[Compiled] = []
    for arch in archs:
        for tried in (aligned(case, call.check.ranks), case):
            given = arguments(tried), tried.options
            result = compile_gate(call.function, *given, arch, timeout=120)
            if result.ok is not None:  # else the wrapper refuses sizes that another argument names
                break
        found.append(_compiled(slug, call.key, tried.describe(), arch, result))
        # A check of plain Python may launch kernels all the same, behind an operator. If not: done.
        if not call.check.triton and found[-1].ok and not found[-1].kernels:
            return []
    return found


def aligned(case: Any, ranks: bool = False) -> Any:
    """The case with every size above 1 rounded up to a multiple of 16; equal sizes stay equal.

    ranks: the first size is how many there are, and stays.
    """
    arguments = {
        name: replace(
            spec,
            shape=tuple(
                n if n == 1 or (ranks and axis == 0) else -(-n // 16) * 16
                for axis, n in enumerate(spec.shape)
            ),
        )
        for name, spec in case.specs().items()
    }
    return replace(case, arguments={**case.arguments, **arguments})


def _compiled(slug: str, key: str, case: str, arch: int, result: CompileResult) -> Compiled:
    print("." if result.ok else "x", end="", file=sys.stderr, flush=True)
    kernels = tuple(kernel.to_dict() for kernel in result.kernels)
    return Compiled(slug, key, case, arch, result.ok, result.message, kernels)


def problems(compiled: Iterable[Compiled], declared: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What breaks a declared limit, one sentence each. declared: the limits of each exercise."""
    found, seen = [], set()
    for one in compiled:
        spills = max((kernel["spills"] for kernel in one.kernels), default=0)
        limit = declared.get(one.exercise, {}).get(limits.name(one.arch))
        sentence = limits.broken(limit, one.ok, one.message, spills)
        if one.ok and not one.kernels:
            sentence = "no kernel was launched"
        if sentence:
            where = f"{one.exercise}, {one.key} on {limits.name(one.arch)} ({one.case})"
            found.append(f"{where}: {sentence}")
        seen.add(one.exercise)
    found += [
        f"{slug}: has limits, and no kernel of it was compiled"
        for slug in declared
        if declared[slug] and slug not in seen
    ]
    return found


def markdown(compiled: Iterable[Compiled], date: str, versions: dict[str, str]) -> str:
    """The table of the docs: one row a kernel, one column a GPU."""
    rows: dict[tuple[str, str, str], dict[int, list[Any]]] = {}
    for one in compiled:
        for kernel in one.kernels or ({"name": "-"},):
            cells = rows.setdefault((one.exercise, one.key, kernel["name"]), {})
            cells.setdefault(one.arch, []).append((one, kernel))
    gpus = [f"{name} (sm_{arch})" for arch, name in GPUS.items()]
    lines = [
        "# What the solutions compile to",
        "",
        "Made by `make compile-check` without a GPU: of each check the largest case of each",
        "configuration (dtypes, flags), its sizes rounded up to multiples of 16, and every",
        f"problem of the benchmarks, compiled with Triton {versions['triton']} on {date}.",
        "A cell says registers per thread (r), shared memory per program, bytes per thread",
        "that spilled, and tensor-core instructions (t), where there are some: of each the",
        "most that any configuration takes. What must hold is in each exercise's header.",
        "",
        f"| notebook | function | kernel | {' | '.join(gpus)} |",
        f"|---|---|---|{'---|' * len(gpus)}",
    ]
    for (slug, key, name), cells in rows.items():
        shown = " | ".join(_cell(cells.get(arch, [])) for arch in GPUS)
        lines.append(f"| {slug} | `{key}` | `{name}` | {shown} |")
    return "\n".join(lines) + "\n"


def _cell(found: list[tuple[Compiled, dict[str, Any]]]) -> str:
    """The most that any configuration of a kernel takes on one GPU."""
    outcomes = [one.ok for one, _ in found]
    if not all(outcomes):
        return "does not fit" if False in outcomes else "not compiled"
    most = {
        name: max((kernel[name] for _, kernel in found), default=0)
        for name in ("registers", "shared_bytes", "spills")
    }
    tensor_cores = max((kernel["mma"] + kernel["wgmma"] for _, kernel in found), default=0)
    parts = [f"{most['registers']} r"] if found else []
    if most["shared_bytes"] >= 1024:
        parts.append(f"{most['shared_bytes'] / 1024:.3g} KiB")
    elif most["shared_bytes"]:
        parts.append(f"{most['shared_bytes']} B")
    if most["spills"]:
        parts.append(f"**spills {most['spills']}**")
    if tensor_cores:
        parts.append(f"t {tensor_cores}")
    return ", ".join(parts)


def report(course: Sequence[Exercise], whole: bool) -> bool:
    """Compile, say what breaks a limit and, for the whole course, write the table; whether all
    limits are kept."""
    from ..port.device import versions

    compiled = compile_course(course, list(GPUS))
    print(file=sys.stderr)
    declared = {exercise.slug: exercise.header.limits for exercise in course}
    broken = problems(compiled, declared)
    print("\n".join(broken) if broken else f"{len(compiled)} compiled, every limit is kept")
    if whole:
        date = time.strftime("%Y-%m-%d")
        TABLE.write_text(markdown(compiled, date, versions()), encoding="utf-8")
    return not broken
