"""Before a class: does the grader itself give the course's right and wrong answers their grades?

`python -m autograde.classroom.rehearse 05 08` hands in every solution and honest variant (with
--wrong, every wrong answer too), one at a time, to the same processes that grade a class, under a
secret that no author has seen. A right answer that fails is a false alarm; a wrong one that passes,
a hole.
"""

from __future__ import annotations

import collections
import json
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tritonbook.build import matrix, views
from tritonbook.build.release import read_release
from tritonbook.command import Parser, sentence, writable
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise, exercises, get

from ..judge.course import Course, asked_of, read_cells
from ..judge.execute import Executor, Setting
from ..judge.work import Verdict
from ..walls import sandbox
from .ingest import HandedCell, rebuild

ROOT = Path(__file__).resolve().parents[2]


def course_of(exercise: Exercise, folder: Path, secret: str) -> Course:
    """The instructor's view of an exercise, without nbgrader; `folder` keeps the notebook."""
    path = folder / f"{exercise.slug}.ipynb"
    path.write_bytes(views.to_bytes(views.instructor(exercise, read_release(ROOT))))
    asked = asked_of(exercise.slug)
    return Course(exercise.slug, exercise.slug, read_cells(path), secret, asked)


def solutions(exercise: Exercise) -> dict[str, str]:
    """The solved text of every answer cell, by key."""
    return {key: gaps.solved_text(cell.source) for key, cell in exercise.answers().items()}


class Grader:
    """Grades answer texts of one exercise; no course folder, no gradebook."""

    def __init__(self, exercise: Exercise, folder: Path, secret: str, level: str | None = None):
        self.exercise = exercise
        self.course = course_of(exercise, folder, secret)
        self.level = level or sandbox.available()[0]
        self.executor = Executor(Setting(self.level))
        self.parsing = threading.Lock()  # Python 3.11's parser now and then fails beside another

    def grade(
        self, answers: dict[str, str], key: str, extra: str = "", call_seconds: float = 20.0
    ) -> Verdict:
        """The verdict on `key` when `answers` (and a cell on top of them) are handed in."""
        handed = [HandedCell("code", "", "", extra)] if extra else []
        handed += [HandedCell("code", f"answer-{k}", "", text) for k, text in answers.items()]
        with self.parsing:
            submission = rebuild(self.course, "student", handed, [])
        exercise = next(e for e in submission.exercises if e.key == key)
        limits = sandbox.Limits(call_seconds=call_seconds, wall_seconds=240.0)
        self.executor.setting = Setting(self.level, limits)
        return self.executor.run(self.course, submission, exercise)

    def close(self) -> None:
        self.executor.close()


@dataclass(frozen=True)
class Row:
    """One answer and what the grader made of it."""

    exercise: str
    key: str
    kind: str  # solution, variant, mutant
    name: str
    status: str
    code: str
    sentence: str
    seconds: float

    @property
    def good(self) -> bool:
        return (self.status == "PASS") == (self.kind != "mutant") and self.status != "INFRA"


def rehearse(exercise: Exercise, wrong: bool, secret: str, workers: int) -> Iterator[Row]:
    """Rows as they come. wrong: wrong answers too."""
    right = solutions(exercise)
    wanted = [
        attempt
        for attempt in matrix.attempts(exercise)
        if attempt.kind in ("solution", "variant") or (wrong and attempt.kind == "mutant")
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        grader = Grader(exercise, Path(folder), secret)

        def one(attempt: matrix.Attempt) -> Row:
            text = right[attempt.key] if attempt.text is None else attempt.text
            answers = right | {attempt.key: gaps.solved_text(text)}
            found = grader.grade(answers, attempt.key)
            what = (exercise.slug, attempt.key, attempt.kind, attempt.name)
            return Row(*what, found.status, found.code, found.sentence, found.seconds)

        try:
            yield from pool.map(one, wanted)
        finally:
            grader.close()


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(
        prog="python -m autograde.classroom.rehearse", description=__doc__.splitlines()[0]
    )
    parser.add_argument("exercises", nargs="*", help="numbers or slugs (default: all)")
    parser.add_argument("--wrong", action="store_true", help="the wrong answers too")
    parser.add_argument("--secret", default=secrets.token_hex(8), help="default: a new one")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    options = parser.parse_args(arguments)
    try:
        chosen = [get(name) for name in options.exercises] or exercises()
        if options.json:
            writable(options.json)  # said before the work, not after it
    except (LookupError, ValueError) as problem:
        parser.error(sentence(problem).rstrip("."))
    if options.workers < 1:
        parser.error("--workers must be 1 or more")
    started = time.perf_counter()
    rows: list[Row] = []
    for exercise in chosen:
        before = len(rows)
        for row in rehearse(exercise, options.wrong, options.secret, options.workers):
            rows.append(row)
            if not row.good:
                print(f"{row.exercise} {row.key}, {row.kind} {row.name}: {row.status}, {row.code}.")
                print(f"    {row.sentence.splitlines()[-1] if row.sentence else ''}", flush=True)
        good = sum(row.good for row in rows[before:])  # to stderr: the whole course takes minutes
        seconds = time.perf_counter() - started
        print(f"{seconds:4.0f} s  {exercise.slug}: {good} of {len(rows) - before}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    counts = collections.Counter((row.kind, row.good) for row in rows)
    for kind in ("solution", "variant", "mutant"):
        total = counts[kind, True] + counts[kind, False]
        if total:
            print(f"{kind}s graded as they should be: {counts[kind, True]} of {total}")
    print(f"{time.perf_counter() - started:.0f} s, secret {options.secret}")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
