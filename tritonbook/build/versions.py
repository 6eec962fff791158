"""The course on other pairs of torch and Triton: `make matrix`.

torch and Triton are released together, so a version that the course claims to support is a pair.
For each: every solution and a mutant of each function, in the interpreter (values) and
compiled for an A100 (the compile gate). The results file feeds the README.

The installed pair runs as it is. Every other one is fetched once into a folder of the user's cache
that goes before the installed packages, about 5 GB each, because torch's releases on PyPI bring the
CUDA libraries. They run on a CPU all the same.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..child import Child
from ..course.exercises import Exercise, chosen
from . import matrix

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = Path("benchmarks") / "matrix" / "versions.json"
RESULTS = ROOT / VERSIONS
PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary", ":all:")


@dataclass(frozen=True)
class Pair:
    """One release of torch and the Triton that it was built for."""

    torch: str
    triton: str

    def __str__(self) -> str:
        return f"torch {self.torch} with Triton {self.triton}"

    def installed(self) -> bool:
        """Is it what this Python has? A build of one's own (2.13.0+cpu) is the same release."""
        return [version(n).split("+")[0] for n in ("torch", "triton")] == [self.torch, self.triton]


# The oldest supported, one in the middle, the pinned, the newest.
PAIRS = (
    Pair("2.6.0", "3.2.0"),
    Pair("2.9.1", "3.5.1"),
    Pair("2.13.0", "3.7.1"),
    Pair("2.15.0", "3.9.0"),
)


def packages(pair: Pair, triton_alone: bool) -> Path:
    """The folder that has the pair, or only its Triton (0.2 GB instead of 3); fetched once for each
    Python. Raises CalledProcessError when pip finds no such release; pip has said why."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    what = [f"triton=={pair.triton}"] + ([] if triton_alone else [f"torch=={pair.torch}"])
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    place = Path(cache) / "tritonbook" / "pairs" / "-".join([*what, python]).replace("==", "-")
    done = place / "made-from.txt"
    if not done.is_file():
        print(f"making {place} (once)", file=sys.stderr)
        place.mkdir(parents=True, exist_ok=True)
        options = ["--no-deps"] if triton_alone else ["--no-cache-dir"]
        command = [sys.executable, *PIP, *options, "--upgrade", "--target", place, *what]
        subprocess.run(command, check=True)
        done.write_text(" ".join(what), encoding="utf-8")
    return place


def run_here(slugs: Sequence[str], solutions_only: bool = False) -> dict[str, Any]:
    """Run the course on the pair of this process; returns one run of the results file.

    slugs: exercises to run, by slug or two-digit number; empty: all. solutions_only: else a wrong
    answer of each function, too.
    """
    import numpy
    import torch
    import triton

    from ..kernels.gluon import triton_has_gluon

    # Late notebooks take longest, so they come first.
    course = chosen(slugs, ROOT / "exercises")[::-1]
    course = [one for one in course if one.header.needs != "gluon" or triton_has_gluon()]
    kinds = ("solution",) if solutions_only else ("solution", "mutant")
    rows = _run([_sample(one, kinds) for one in course])
    right = [row for row in rows if row.attempt.kind == "solution"]
    wrong = [row for row in rows if row.attempt.kind == "mutant"]
    return {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "solutions": len(right),
        "solutions_passed": sum(row.good for row in right),
        "mutants": len(wrong),
        "mutants_refused": sum(row.good for row in wrong),
        "failures": [_failure(row.attempt, row.answer) for row in rows if not row.good],
    }


def _failure(tried: matrix.Attempt, said: matrix.Answer) -> str:
    return (
        f"{tried.exercise.slug} {tried.key} {tried.kind} {tried.name}: {said.code}, expected "
        f"{' or '.join(tried.expected)}: {said.message}"
    )


def _sample(exercise: Exercise, kinds: Sequence[str]) -> list[matrix.Attempt]:
    """The first attempt of each function of these kinds: its solution, a mutant."""
    first: dict[tuple[str, str], matrix.Attempt] = {}
    for attempt in matrix.attempts(exercise):
        if attempt.kind in kinds:
            first.setdefault((attempt.key, attempt.kind), attempt)
    return list(first.values())


def _run(chosen: list[list[matrix.Attempt]]) -> list[matrix.Row]:
    """The rows of all attempts; a process for each of up to four cores."""
    number = min(4, len(os.sched_getaffinity(0)))
    shares = [[one for page in chosen[i::number] for one in page] for i in range(number)]
    with ThreadPoolExecutor(number) as pool:
        return [row for rows in pool.map(lambda own: list(matrix.run(own)), shares) for row in rows]


def run_on(
    pair: Pair, slugs: Sequence[str], solutions_only: bool, installed_torch: bool = False
) -> dict[str, Any]:
    """`run_here` in a process of its own, on a pair or, with the installed torch, on its Triton.

    Raises RuntimeError when the process did not run what it was meant to.
    """
    paths = [] if pair.installed() else [str(packages(pair, triton_alone=installed_torch))]
    environment = {"TRITON_INTERPRET": "1", "PYTHONPATH": "".join(paths)}
    with Child(f"{__package__}.versions:run_here", folder=ROOT, **environment) as child:
        found = child.ask(slugs, solutions_only)
    ran = Pair(found["torch"].split("+")[0], found["triton"])
    if ran.triton != pair.triton or not installed_torch and ran.torch != pair.torch:
        raise RuntimeError(f"wanted {pair}, ran {ran}")
    return found


def report(
    pairs: Sequence[Pair], slugs: Sequence[str], solutions_only: bool, installed_torch: bool
) -> bool:
    """`run_on` each pair, and say what came of it; whether everything was as it must be. A run of
    all that there is becomes the results file: a partial one is an answer to a question."""
    runs = []
    for pair in pairs:
        print(pair, file=sys.stderr)
        runs.append(run_on(pair, slugs, solutions_only, installed_torch))
        shown = {key: value for key, value in runs[-1].items() if key != "failures"}
        print(json.dumps(shown), *runs[-1]["failures"], sep="\n")
    if not (len(pairs) < len(PAIRS) or slugs or solutions_only or installed_torch):
        data = {"date": time.strftime("%Y-%m-%d"), "runs": runs}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {RESULTS.relative_to(ROOT)}; `make sync` puts it into the README")
    return not any(run["failures"] for run in runs)
