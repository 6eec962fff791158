"""The course on other Tritons: python -m tritonbook.build.versions, or `make matrix`.

For each Triton: every solution and a sample of wrong answers, in the
interpreter (values) and compiled for an A100 (the compile gate), each Triton in a process of its
own. Its wheel is fetched once and unpacked, not installed; torch stays the installed one, because
the interpreter needs nothing of torch's pair but its tensors. The results file feeds the README.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

from ..course.exercises import exercises

# The oldest supported, today's Colab's neighbour, the pinned, the newest.
TRITONS = ("3.2.0", "3.5.1", "3.7.1", "3.9.0")
ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "build" / "out" / "triton"
RESULTS = ROOT / "benchmarks" / "matrix" / "versions.json"
# Beside each solution: how many wrong answers, honest variants and open gaps of its function.
SAMPLE = {"mutant": 1, "variant": 0, "untouched": 0}


def unpacked(version: str) -> Path:
    """The folder of an unpacked Triton wheel, fetched with pip when it is not there."""
    folder = WHEELS / version
    if (folder / "triton").is_dir():
        return folder
    downloads = WHEELS / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-d", str(downloads), f"triton=={version}"], check=True)
    (wheel,) = downloads.glob(f"triton-{version}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            mode = member.external_attr >> 16
            path = archive.extract(member, folder)
            if mode & 0o111:  # zipfile forgets that ptxas is a program
                os.chmod(path, 0o755)
    wheel.unlink()
    return folder


def run_here(slugs: list[str], sample: dict[str, int]) -> dict[str, Any]:
    """Run the course on the Triton of this process; returns one run of the results file."""
    import numpy
    import torch
    import triton

    from . import matrix

    chosen, taken = [], {}
    for exercise in exercises(ROOT / "exercises"):
        if slugs and exercise.slug not in slugs and exercise.slug[:2] not in slugs:
            continue
        for trial in matrix.trials(exercise):
            taken[trial.key, trial.kind] = taken.get((trial.key, trial.kind), 0) + 1
            if taken[trial.key, trial.kind] <= sample.get(trial.kind, 1):
                chosen.append(trial)
    start, rows = time.monotonic(), []
    for row in matrix.run(chosen):
        rows.append(row)
        sign = "." if row.good else f"\n{row.exercise} {row.key} {row.kind} {row.name}: {row.got}\n"
        print(sign, end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    right = [row for row in rows if row.kind in ("solution", "variant")]
    wrong = [row for row in rows if row.kind in ("mutant", "untouched")]
    return {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "solutions": len(right),
        "solutions_passed": sum(row.good for row in right),
        "mutants": len(wrong),
        "mutants_refused": sum(row.good for row in wrong),
        "seconds": round(time.monotonic() - start),
        "failures": [
            {
                "exercise": row.exercise,
                "key": row.key,
                "answer": f"{row.kind}: {row.name}",
                "expected": list(row.expected),
                "got": row.got,
                "message": row.message,
            }
            for row in rows
            if not row.good
        ],
    }


def run_on(version: str, slugs: list[str], solutions_only: bool) -> dict[str, Any]:
    """`run_here` in a process that sees this Triton before the installed one."""
    command = [sys.executable, "-m", "tritonbook.build.versions", "--here", *slugs]
    command += ["--solutions"] if solutions_only else []
    paths = [str(unpacked(version)), str(ROOT)]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    if not found["triton"].startswith(version):
        raise RuntimeError(f"wanted Triton {version}, ran {found['triton']}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slugs", nargs="*", help="exercises by slug or number (default: all)")
    parser.add_argument("--triton", action="append", help="this version alone; may be repeated")
    parser.add_argument("--solutions", action="store_true", help="no wrong answers")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        sample = dict.fromkeys(SAMPLE, 0) if options.solutions else SAMPLE
        print(json.dumps(run_here(options.slugs, sample)))
        return 0
    runs = []
    for version in options.triton or TRITONS:
        print(f"Triton {version}", file=sys.stderr)
        runs.append(run_on(version, options.slugs, options.solutions))
        for failure in runs[-1]["failures"]:
            print(json.dumps(failure))
    # A partial run is an answer to a question, not the state of the project.
    if not (options.slugs or options.triton or options.solutions):
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        data = {"date": time.strftime("%Y-%m-%d"), "runs": runs}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {RESULTS.relative_to(ROOT)}; `make sync` puts it into the README")
    return int(any(run["failures"] for run in runs))


if __name__ == "__main__":
    sys.exit(main())
