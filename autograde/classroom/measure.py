"""How fast is grading? A class of N through `autograde`, and some of it through stock nbgrader.

python -m autograde.classroom.measure [--students 10 50] [--notebook 01_vector_add] [--json FILE]

The class is the sample class, varied: twenty students are eight right ones, five with other blocks
or warnings, four with an honest mistake, and one each who used PyTorch, exits, or never ends.
Stock nbgrader is measured on the first `--stock` of them, one after another, and scaled.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tritonbook.command import Parser, sentence, writable
from tritonbook.course.exercises import Exercise, get

from ..judge.course import Course
from ..judge.execute import Setting
from ..judge.work import Submission
from ..walls import sandbox
from . import demo, stock
from .run import Session
from .runners import LocalRunner
from .samples import Sample, material_of, sample_class

# Students 0 to 19, by kind; then again from the start.
KINDS = (
    *("right", "blocks", "mask", "right", "warns", "untouched", "right", "blocks", "torch"),
    *("right", "endless", "right", "mask", "right", "blocks", "exit", "right", "warns", "right"),
    "untouched",
)
CALL_SECONDS = 10  # limit of one call on both sides: what an endless loop costs
CHECKED = ("right", "blocks", "mask", "warns")  # kinds whose checks run to their end
MAX_OVERHEAD = 1.0  # s a notebook beyond its tests
MIN_SPEEDUP = 1.5  # times stock's throughput


@dataclass
class Figures:
    """One class. Times in seconds of wall clock."""

    students: int
    workers: int
    wall: float  # ingest, run and record
    ingest_and_record: float
    overhead: float  # a notebook, beyond its tests; only notebooks whose checks run to their end
    tests: float  # a notebook: its checks, called directly
    stock_students: int
    stock_wall: float  # of those, one after another

    @property
    def per_submission(self) -> float:
        return self.wall / self.students

    @property
    def speedup(self) -> float:
        return self.stock_wall / self.stock_students / self.per_submission


def kind_of(number: int) -> str:
    return KINDS[number % len(KINDS)]


def class_of(exercise: Exercise, students: int) -> list[Sample]:
    """The sample class varied: every answer differs from every other, in a comment at its end."""
    by_kind = {
        sample.student.partition("_")[2]: sample for sample in sample_class(material_of(exercise))
    }
    names = {"blocks": "other_blocks", "mask": "no_mask"}
    found = []
    for number in range(students):
        kind = names.get(kind_of(number), kind_of(number))
        sample = by_kind.get(kind, by_kind["right"])  # an exercise may have no mask to forget
        answers = {
            k: f"{text.rstrip()}\n# student {number}\n" for k, text in sample.answers.items()
        }
        found.append(replace(sample, student=f"n{number:03}", answers=answers))
    return found


# Runs check cells as a notebook does, in one warm process; prints seconds. The first submission is
# run twice: what is started once (the compiler's process) is not a part of anybody's tests.
DIRECT = """
import contextlib, io, json, pathlib, sys, tempfile, time
from autograde.judge import warm
from tritonbook.course.exercises import machinery

def attempt(folder, name, text, names):
    path = folder / f"{name}.py"
    path.write_text(text)
    quiet = io.StringIO()
    with contextlib.suppress(Exception), contextlib.redirect_stdout(quiet), machinery():
        exec(compile(text, str(path), "exec"), names)

work = json.load(sys.stdin)
for turn, (cells, checks) in enumerate([work[0], *work]):
    with tempfile.TemporaryDirectory() as place:
        names, folder = {"__name__": "__main__"}, pathlib.Path(place)
        for name, text in cells:
            attempt(folder, name, text, names)
        started = time.perf_counter()
        for number, text in enumerate(checks):
            attempt(folder, f"check{number}", text, names)
        if turn:
            print(time.perf_counter() - started, flush=True)
"""


def direct_seconds(pairs: Sequence[tuple[Course, Submission]]) -> list[float]:
    """What the checks of each submission take when a notebook calls them: the tests themselves."""
    work = []
    for course, submission in pairs:
        cells = [(cell.name, cell.source) for cell in submission.cells]
        work.append((cells, [check.source for check in course.checks()]))
    done = subprocess.run(
        [sys.executable, "-c", DIRECT],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TRITONBOOK_PROGRESS": "off", "OMP_NUM_THREADS": "1"},
    )
    return [float(line) for line in done.stdout.split()]


def stock_seconds(course: Path, name: str, students: int) -> tuple[int, float]:
    """(students, seconds) of `nbgrader autograde` on the first ones, in one command, serially.

    Classes of every size start with the same students, so the first measurement serves all.
    """
    handed_in = len(list((course / "submitted").iterdir()))
    tens = max(1, -(-min(students, handed_in) // 10))
    count = min(10 * tens, handed_in)
    if count not in _measured:
        os.environ["TRITONBOOK_CALL_SECONDS"] = str(CALL_SECONDS)
        began = time.monotonic()
        stock.autograde(course, [(name, f"n0[0-{tens - 1}][0-9]")], 1, lambda name: None)
        _measured[count] = time.monotonic() - began
    return count, _measured[count]


_measured: dict[int, float] = {}  # of the one notebook that a command measures


def measure(
    exercise: Exercise, students: int, workers: int, stock_students: int, console: Console
) -> Figures:
    """Grade one class both ways."""
    with tempfile.TemporaryDirectory(prefix="workbook-measure-") as folder:
        course = demo.prepare(Path(folder), [exercise])
        demo.release(course, [exercise.slug], 1)
        demo.submit(course, exercise.slug, class_of(exercise, students))

        started = time.monotonic()
        session = Session(course, exercise.slug)
        session.ingest()
        ingested = time.monotonic()
        level = sandbox.choose("auto", None, force=False)
        runner = LocalRunner(Setting(level, sandbox.Limits(call_seconds=CALL_SECONDS)), workers)
        session.run(runner)
        ran = time.monotonic()
        session.record()
        ended = time.monotonic()
        pairs = [p for p in session.submissions if kind_of(int(p[1].student[1:])) in CHECKED][:10]
        tests = direct_seconds(pairs)
        # Again, one after another: beside a second worker an exercise waits for its cores.
        spent: dict[str, float] = defaultdict(float)
        for given, submission in pairs:
            for task in submission.exercises:
                verdict = runner.executor.run(given, submission, task)
                spent[submission.student] += verdict.seconds
        runner.close()
        beside = (ended - started - (ran - ingested)) / students
        overheads = [
            spent[submission.student] + beside - test
            for (_, submission), test in zip(pairs, tests, strict=True)
        ]

        console.print(f"{students} students: {ended - started:.1f} s", highlight=False)
        stock_students, stock_wall = stock_seconds(course, exercise.slug, stock_students)
    return Figures(
        students,
        workers,
        round(ended - started, 2),
        round(ended - started - (ran - ingested), 2),
        round(sum(overheads) / len(overheads), 3),
        round(sum(tests) / len(tests), 3),
        stock_students,
        round(stock_wall, 2),
    )


def table(name: str, rows: list[Figures]) -> Table:
    shown = Table(title=f"{name}, {os.cpu_count()} cores", title_justify="left", pad_edge=False)
    headings = ("students", "workers", "s a submission", "overhead s", "tests s")
    for heading in (*headings, "stock s a submission", "throughput / stock's"):
        shown.add_column(heading, justify="right")
    for row in rows:
        of = f" (of {row.stock_students})" if row.stock_students < row.students else ""
        shown.add_row(
            str(row.students),
            str(row.workers),
            f"{row.per_submission:.2f}",
            f"{row.overhead:.2f}",
            f"{row.tests:.2f}",
            f"{row.stock_wall / row.stock_students:.2f}{of}",
            f"{row.speedup:.1f}",
        )
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(
        prog="python -m autograde.classroom.measure", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--students", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--notebook", default="01_vector_add")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--stock", type=int, default=20, help="students for stock nbgrader, in tens"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if min(options.students) < 1 or max(options.students) > 999 or options.stock < 1:
        parser.error("--students and --stock take numbers from 1 to 999")
    if options.workers < 1:
        parser.error("--workers must be 1 or more")
    try:
        exercise = get(options.notebook)
        if options.json:
            writable(options.json)  # said before the work, not after it
    except (LookupError, ValueError) as problem:
        parser.error(sentence(problem).rstrip("."))
    console = Console()
    load = os.getloadavg()[0]
    if load > 1:
        console.print(f"Other work keeps this machine busy (load {load:.1f}): times are too long.")
    rows = []
    for students in options.students:
        rows.append(measure(exercise, students, options.workers, options.stock, console))
    if options.json:
        sizes = " ".join(map(str, options.students))
        body = {
            "command": f"{parser.prog} --students {sizes} --stock {options.stock}",
            "date": date.today().isoformat(),
            "notebook": exercise.slug,
            "cores": os.cpu_count(),
            "load_before": round(load, 1),
            "versions": {name: version(name) for name in ("nbgrader", "torch", "triton")},
            "python": platform.python_version(),
            "classes": [asdict(row) | {"speedup": round(row.speedup, 2)} for row in rows],
        }
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    console.print(table(exercise.slug, rows))
    good = all(r.overhead <= MAX_OVERHEAD and r.speedup >= MIN_SPEEDUP for r in rows)
    console.print(
        f"Targets (overhead at most {MAX_OVERHEAD:g} s a notebook, at least {MIN_SPEEDUP:g} times "
        f"stock's throughput): {'met' if good else 'missed'}."
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
