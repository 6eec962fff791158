"""Does one broken exercise cost its neighbours? N submissions whose first kernel faults.

python -m autograde.classroom.neighbours [EXERCISE] [--submissions 100] [--workers 4] [--json FILE]

In each submission the first answer writes far outside its tensor: an illegal access on a GPU, a
dead process in the interpreter. All other answers are right. The first must score 0, every other
one full points. Prints a table, and the seconds that a submission took.
"""

from __future__ import annotations

import collections
import json
import secrets
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

from tritonbook.command import Parser, sentence, writable
from tritonbook.course.exercises import Exercise, get
from tritonbook.port.device import versions

from ..judge.work import Verdict
from ..walls import sandbox
from .rehearse import Grader, solutions

WITHOUT_IMAGE = ("auto", "bubblewrap", "namespaces", "plain")
# The address lies 4 TiB behind the tensor: no GPU and no process has memory there.
FAULT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def far_outside_kernel(x_ptr):
    tl.store(x_ptr + tl.program_id(0).to(tl.int64) + (1 << 40), 1.0)


def {name}(*arguments, **options):
    x = next(a for a in arguments if isinstance(a, torch.Tensor))
    far_outside_kernel[(1,)](x)
    return torch.empty_like(x)
"""


def submissions(
    exercise: Exercise, count: int, workers: int, level: str, seconds: float, folder: Path
) -> list[dict[str, Verdict]]:
    """The verdicts of `count` submissions, by key; the exercise's first answer faults in each.

    After `seconds` no more are handed in; those that began are finished.
    """
    last = time.monotonic() + seconds
    answers = solutions(exercise)
    first = next(iter(answers))
    answers[first] = FAULT.format(name=first)
    grader = Grader(exercise, folder, secrets.token_hex(8), level)

    def one(number: int) -> dict[str, Verdict]:
        if number and time.monotonic() > last:
            return {}
        marked = {key: f"{text}\n# submission {number}\n" for key, text in answers.items()}
        return {key: grader.grade(marked, key) for key in marked}

    try:
        with ThreadPoolExecutor(workers) as pool:
            return [verdicts for verdicts in pool.map(one, range(count)) if verdicts]
    finally:
        grader.close()


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(
        prog="python -m autograde.classroom.neighbours", description=__doc__.splitlines()[0]
    )
    parser.add_argument("exercise", nargs="?", default="05", help="number or slug (default: 05)")
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3600, help="then hand in no more")
    parser.add_argument("--sandbox", default="auto", choices=WITHOUT_IMAGE)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    try:
        exercise = get(options.exercise)
        if options.json:
            writable(options.json)
        level = sandbox.choose(options.sandbox, None, force=True)
    except (LookupError, ValueError, sandbox.Refused) as problem:
        parser.error(sentence(problem).rstrip("."))
    if len(exercise.answers()) < 2:
        parser.error(f"{exercise.slug} has one exercise, so nobody has a neighbour")
    if min(options.submissions, options.workers) < 1:
        parser.error("--submissions and --workers must be 1 or more")
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = submissions(
            exercise, options.submissions, options.workers, level, options.seconds, Path(folder)
        )
    seconds = time.perf_counter() - started
    first, *others = exercise.answers()
    faults = collections.Counter(f"{v[first].status} ({v[first].code})" for v in found)
    spared = sum(all(v[key].status == "PASS" for key in others) for v in found)
    scored = sum((v[first].points or 0) > 0 or v[first].points is None for v in found)
    figures = {
        "exercise": exercise.slug,
        "submissions": len(found),
        "neighbours_spared": spared,
        "faulting_answer": dict(faults),
        "seconds_per_submission": round(seconds / len(found), 2),
        "workers": options.workers,
        "sandbox": found[0][first].sandbox,
        "date": date.today().isoformat(),
        "versions": versions(),
    }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for verdicts in found:
        for key, verdict in verdicts.items():
            if (key == first) == (verdict.status == "PASS") or verdict.status == "INFRA":
                print(f"{key}: {verdict.status}, {verdict.code}. {verdict.sentence}")
    print(
        f"{exercise.slug} on {figures['versions']['gpu']}: {first} faults and is graded "
        + ", ".join(f"{status} {count} times" for status, count in sorted(faults.items()))
        + f"; its neighbours keep their points in {spared} of {len(found)} submissions; "
        f"{figures['seconds_per_submission']:.2f} s a submission, {options.workers} workers, "
        f"sandbox {figures['sandbox']}"
    )
    return 0 if spared == len(found) and not scored else 1


if __name__ == "__main__":
    sys.exit(main())
