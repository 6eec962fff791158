"""The course on other pairs of torch and Triton: `make matrix`.

For each pair: every solution and a sample of wrong answers, in the interpreter (values) and
compiled for an A100 (the compile gate). Where a pair is not to be had, its Triton runs with the
installed torch, and the results say so. The results file feeds the README.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import queue
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..command import BAD_INPUT, Parser, sentence
from ..course.exercises import Exercise, exercises
from . import matrix
from .pairs import PAIRS, ROOT, NotToBeHad, Pair, python_of, unpacked_triton

RESULTS = ROOT / "benchmarks" / "matrix" / "versions.json"
# Beside each solution: how many wrong answers, honest variants and open gaps of its function.
SAMPLE = {"mutant": 1, "variant": 0, "untouched": 0}


def run_here(slugs: list[str], sample: dict[str, int]) -> dict[str, Any]:
    """Run the course on the pair of this process; returns one run of the results file.

    slugs: exercises to run, by slug or two-digit number; empty: all.
    """
    import numpy
    import torch
    import triton

    chosen = []
    for exercise in exercises(ROOT / "exercises"):
        if not slugs or exercise.slug in slugs or exercise.slug[:2] in slugs:
            chosen.append(_sample(exercise, sample))
    start = time.monotonic()
    rows = _run(chosen)
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


def _sample(exercise: Exercise, sample: dict[str, int]) -> list[matrix.Trial]:
    """The first trials of each key and kind, as many as the sample says; every solution."""
    chosen, taken = [], Counter()
    for trial in matrix.trials(exercise):
        taken[trial.key, trial.kind] += 1
        if taken[trial.key, trial.kind] <= sample.get(trial.kind, 1):
            chosen.append(trial)
    return chosen


def _run(chosen: list[list[matrix.Trial]]) -> list[matrix.Row]:
    """The rows of each list of trials in order; a worker process for each of up to four cores."""
    workers: queue.SimpleQueue[matrix.Worker] = queue.SimpleQueue()
    number = min(4, len(os.sched_getaffinity(0)), len(chosen))

    def run(trials: list[matrix.Trial]) -> list[matrix.Row]:
        worker, rows = workers.get(), []
        try:
            for row in matrix.run(trials, worker=worker):
                rows.append(row)
                bad = f"\n{row.exercise} {row.key} {row.kind} {row.name}: {row.got}\n"
                print("." if row.good else bad, end="", file=sys.stderr, flush=True)
        finally:
            workers.put(worker)
        return rows

    with contextlib.ExitStack() as stack:
        for _ in range(number):
            workers.put(stack.enter_context(contextlib.closing(matrix.Worker())))
        pool = stack.enter_context(ThreadPoolExecutor(number))
        # Late notebooks take longest, so they start first.
        found = list(pool.map(run, reversed(chosen)))
    print(file=sys.stderr)
    return [row for rows in reversed(found) for row in rows]


def run_on(
    pair: Pair, slugs: list[str], solutions_only: bool, installed_torch: bool = False
) -> dict[str, Any]:
    """`run_here` in a process of the pair's own Python.

    The result's `wanted` is the pair's torch, and `because` says why another one ran. Raises
    RuntimeError when the process did not run what it was meant to.
    """
    because = "it was asked for" if installed_torch and not pair.installed() else ""
    if not because:
        try:
            python, paths = str(python_of(pair)), [str(ROOT)]
        except NotToBeHad as problem:
            because = str(problem)
            print(f"{pair} is not to be had: {because}", file=sys.stderr)
    if because:
        python, paths = sys.executable, [str(unpacked_triton(pair.triton)), str(ROOT)]
    command = [python, "-m", "tritonbook.build.versions", "--here", *slugs]
    command += ["--solutions"] if solutions_only else []
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    ran = Pair(found["torch"].split("+")[0], found["triton"])
    if ran.triton != pair.triton or not because and ran.torch != pair.torch:
        raise RuntimeError(f"wanted {pair}, ran {ran}")
    return {"wanted": pair.torch, "because": because, **found}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="python -m tritonbook.build.versions", description=__doc__.splitlines()[0])
    parser.add_argument("slugs", nargs="*", help="exercises by slug or number (default: all)")
    known = [pair.triton for pair in PAIRS]
    parser.add_argument("--triton", action="append", choices=known, help="the pair of this alone")
    parser.add_argument("--solutions", action="store_true", help="no wrong answers")
    parser.add_argument(
        "--installed-torch", action="store_true", help="only Triton changes: much less to fetch"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        sample = dict.fromkeys(SAMPLE, 0) if options.solutions else SAMPLE
        print(json.dumps(run_here(options.slugs, sample)))
        return 0
    from .sync import chosen  # not above: the other pairs' environments have no nbformat

    try:
        slugs = [exercise.slug for exercise in chosen(ROOT, options.slugs)] if options.slugs else []
    except LookupError as error:
        print(sentence(error), file=sys.stderr)
        return BAD_INPUT
    runs = []
    for pair in PAIRS:
        if options.triton and pair.triton not in options.triton:
            continue
        print(pair, file=sys.stderr)
        runs.append(run_on(pair, slugs, options.solutions, options.installed_torch))
        for failure in runs[-1]["failures"]:
            print(json.dumps(failure))
    # A partial run is an answer to a question, not the state of the project.
    if not (options.slugs or options.triton or options.solutions or options.installed_torch):
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        data = {"date": time.strftime("%Y-%m-%d"), "runs": runs}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {RESULTS.relative_to(ROOT)}; `make sync` puts it into the README")
    return int(any(run["failures"] for run in runs))


if __name__ == "__main__":
    sys.exit(main())
