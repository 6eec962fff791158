"""`python -m benchmarks.profile [OPERATION[:PROBLEM]...]`: hardware counters, ours beside peers'.

Default: every problem of which this GPU's stored results miss a target. Needs Nsight Compute
(`ncu`) and a GPU that gives its counters. Writes `results/<gpu>_profiles.json` and prints a table
last.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tritonbook  # noqa: F401  (must come before Triton)
from tritonbook.command import BAD_INPUT, Parser, writable
from tritonbook.device import INTERPRET, versions

from . import counters, misses, results
from .op import Op, all_ops
from .profile_child import MARKER
from .runner import best, best_on_device

SECONDS = 120  # of one problem, all its providers
FOLDERS = ("opt/nvidia/nsight-compute/*", "usr/local/cuda*/bin")
# --cache-control all: each kernel starts with an empty L2, as the first of a timed call does.
# --clock-control none: at the clocks that the benchmark ran at.
OPTIONS = [
    *("--csv", "--page", "raw", "--print-units", "base"),
    *("--replay-mode", "kernel", "--cache-control", "all", "--clock-control", "none"),
    *("--profile-from-start", "off", "--target-processes", "application-only"),
]


class Failed(Exception):
    """One problem could not be profiled, with the reason in words."""


@dataclass(frozen=True)
class Ncu:
    """The profiler of this machine, and the base names of metrics that it turned out to lack."""

    path: str
    version: str
    unknown: set[str]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m benchmarks.profile", description=__doc__.splitlines()[0])
    parser.add_argument(
        "problems",
        nargs="*",
        metavar="OPERATION[:PROBLEM]",
        help="operations, or parts of their names; after a colon, a part of a problem's label",
    )
    parser.add_argument("--only", default="", help="providers to profile, separated by commas")
    parser.add_argument(
        "--out", type=Path, default=results.DIRECTORY, help="folder of the results files"
    )
    options = parser.parse_args(arguments)
    ops = all_ops()
    only = {name for name in options.only.split(",") if name}
    try:
        asked = [found for text in options.problems for found in matching(text, ops)]
        unknown = only - {name for op in ops.values() for name in op.providers}
        if unknown:
            raise ValueError(f"no provider {min(unknown)!r}")
        if options.out.exists():  # else it is made
            writable(options.out / "profiles.json")
    except ValueError as error:
        parser.error(str(error))
    if INTERPRET:
        print("Profiles need a CUDA GPU: the interpreter has no counters.", file=sys.stderr)
        return BAD_INPUT
    machine = versions()
    path = results.path_for(machine["gpu"], options.out)
    stored = results.read(path).get("ops", {})
    if not (asked or stored):
        print(
            f"There are no stored results of {machine['gpu']}: run `python -m benchmarks` first, "
            "or name what to profile.",
            file=sys.stderr,
        )
        return BAD_INPUT
    work = {}
    for name, label in dict.fromkeys(asked or misses.problems(stored)):
        if chosen := providers(ops, name, label, stored, only, missed=not asked):
            work[name, label] = chosen
    if not work:
        print("Nothing to profile: no stored target is missed, or no such provider is in it.")
        return 0
    try:
        return _profile_all(find_ncu(), machine, work, misses.profiles_path(path))
    except counters.Refused as reason:
        print(reason, file=sys.stderr)
        return BAD_INPUT


def matching(text: str, ops: Mapping[str, Op]) -> list[tuple[str, str]]:
    """(operation, problem) of `OPERATION[:PROBLEM]`; both may be parts. ValueError for none."""
    name, _, label = text.partition(":")
    names = [name] if name in ops else [known for known in ops if name in known]
    if not names:
        raise ValueError(f"no operation like {name!r}; there are: {', '.join(ops)}")
    problems = [(known, problem.label) for known in names for problem in ops[known].problems]
    found = [each for each in problems if label in each[1]]
    if not found:
        there = ", ".join(each[1] for each in problems)
        raise ValueError(f"no problem of {name!r} like {label!r}; there are: {there}")
    return found


def providers(
    ops: Mapping[str, Op],
    name: str,
    label: str,
    stored: Mapping[str, Any],
    only: set[str],
    *,
    missed: bool,
) -> list[str]:
    """Whom to profile, ours first: our fastest, and the peers that were timed.

    missed: only the peers whose target was missed. only: these, whatever the stored results say.
    Without stored results everyone who takes the problem. Empty where the problem is no more.
    """
    problem = (
        next((p for p in ops[name].problems if p.label == label), None) if name in ops else None
    )
    if problem is None:
        print(f"skipped: {name} {label} is in the stored results and in no operation")
        return []
    there = [who for who in ops[name].providers if who not in problem.without]
    there.sort(key=lambda who: not ops[name].providers[who].ours)
    if only:
        return [who for who in there if who in only]
    known = misses.stored_problem(stored, name, label)
    if known is None:
        return there
    rows = known["rows"]
    chosen = {row["name"] for row in (best(rows), best_on_device(rows)) if row}
    if missed:
        chosen |= {target["peer"] for target in misses.missed_targets(known)}
    else:
        chosen |= {row["name"] for row in rows if row["state"] == "timed" and not row["ours"]}
    return [who for who in there if who in chosen]


def find_ncu(root: Path = Path("/")) -> Ncu:
    """The `ncu` on the PATH, else the newest where its installers put it. Refused if none runs."""
    places = [shutil.which("ncu")]
    for folder in FOLDERS:
        found = [each for each in root.glob(f"{folder}/ncu") if os.access(each, os.X_OK)]
        places += map(str, sorted(found, key=_numbers, reverse=True))
    for place in filter(None, places):
        try:
            said = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if version := re.search(r"Version (\S+)", said.stdout):
            return Ncu(place, version[1], set())
    raise counters.Refused(
        "There is no ncu here that runs: install Nsight Compute (it comes with the CUDA toolkit) "
        "and put ncu on the PATH."
    )


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _profile_all(
    ncu: Ncu, machine: Mapping[str, str], work: Mapping[tuple[str, str], list[str]], path: Path
) -> int:
    done, failed = [], []
    for (name, label), names in work.items():
        print(f"{name} {label}: {', '.join(names)}", flush=True)
        try:
            found = profile(ncu, name, label, names)
        except Failed as reason:
            failed.append(f"FAILED {name} {label}: {reason}")
            print(failed[-1], flush=True)
            continue
        done.append(
            {
                "operation": name,
                "problem": label,
                "date": datetime.date.today().isoformat(),
                "ncu": ncu.version,
                "versions": dict(machine),
                "providers": found,
            }
        )
        misses.write_profiles(path, machine["gpu"], done)  # an interrupted run keeps what it has
    for each in done:
        print(f"\n{each['operation']} {each['problem']}\n{misses.plain_table(each)}")
    print(
        f"\n{len(done)} of {len(work)} problems profiled" + (f", written to {path}" if done else "")
    )
    print("\n".join(failed), end="\n" if failed else "")
    return 1 if failed else 0


def profile(ncu: Ncu, name: str, label: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The kernels that each named provider launched for one problem, with their counters.

    A list of {"name", "kernels"}, or {"name", "reason"} for who was not called. Raises Failed, or
    Refused where no problem could be profiled here.
    """
    child = [sys.executable, "-m", "benchmarks.profile_child", name, label, *names]
    tune(child)
    while True:
        said, log, complaint = _run(ncu, child)
        lacking = counters.unknown_metrics(log) - ncu.unknown
        if not lacking:
            break
        ncu.unknown.update(lacking)  # asked for the next best, or a hole
        print(f"ncu {ncu.version} has no {', '.join(sorted(lacking))} here", flush=True)
    errors = counters.errors(log)
    answers = [line for line in said.splitlines() if line.startswith("{")]
    if not answers:
        why = [*complaint.strip().splitlines()[-1:], *errors[:1]]
        raise Failed("; ".join(why)[:300] or "the profiled program ended early")
    told = json.loads(answers[-1])
    kernels = [counters.record(row) for row in counters.parse(log)]
    if told["called"] and not kernels:
        raise Failed(errors[0] if errors else "ncu saw no kernel")
    by_name = counters.between(kernels, MARKER, told["called"])
    return [
        {"name": who, "kernels": by_name[who]}
        if who in by_name
        else {"name": who, "reason": told["reasons"][who]}
        for who in names
    ]


def tune(child: Sequence[str]) -> None:
    """Run the program without ncu first, so that autotuned kernels find their configuration kept.

    Below ncu every launch takes longer, and a tuner picks another tile than in the benchmark. What
    goes wrong here goes wrong again below ncu, where it is told.
    """
    process = _started(child, subprocess.DEVNULL)
    try:
        process.wait(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)


def _started(command: Sequence[str], output: int) -> subprocess.Popen[str]:
    """The command in a group of its own, so that all it starts can be ended with it."""
    settings = {
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # ncu follows no pool of workers
        "TRITON_CACHE_AUTOTUNING": "1",  # from `tune` to the profile
        "LC_ALL": "C.UTF-8",  # digits as in C
    }
    return subprocess.Popen(
        command,
        env={**os.environ, **settings},
        cwd=Path(__file__).parents[1],
        stdout=output,
        stderr=output,
        text=True,
        start_new_session=True,
    )


def _run(ncu: Ncu, child: Sequence[str]) -> tuple[str, str, str]:
    """The child's output, ncu's, which holds the table, and what either complained about."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.txt"
        metrics = ",".join(counters.wanted(ncu.unknown))
        command = [ncu.path, *OPTIONS, "--metrics", metrics, "--log-file", str(log), *child]
        process = _started(command, subprocess.PIPE)
        try:
            said, complaint = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {SECONDS} s") from None
        finally:
            if process.poll() is None:
                _end(process)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        # What ncu finds wrong with its options it says before it opens the log.
        more = [line for line in (said + complaint).splitlines() if line.startswith("==")]
        return said, "\n".join([*more, text]), complaint


def _end(process: subprocess.Popen[str]) -> None:
    """End ncu and the program below it: they are a group of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):  # not read to their end: who holds them may live
        if pipe:
            pipe.close()


if __name__ == "__main__":
    raise SystemExit(main())
