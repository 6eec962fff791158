"""`make demo`: release the course, hand in a sample class, grade it with stock nbgrader, show why.

The exit status is 1 when any sample gets another grade, or another reason, than the one it
declares; so the demonstration is also a test of the whole way from exercise file to feedback.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.command import Parser, sentence
from tritonbook.course.exercises import Exercise, exercises, get
from tritonbook.port.device import INTERPRET, describe

from . import stock
from .new_course import empty_course
from .samples import Sample, material_of, sample_class

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ("00_start_here", "01_vector_add", "10_rmsnorm_rows")
# Three commands for each assignment, which workers share. The endless loop comes first: it takes
# longest, because each cell that calls it has to run out of time.
PARTS = ("s8*", "s[5-79]*", "s[1-4]*")
TIME_LIMITS = {  # seconds, in the interpreter and on a GPU
    "TRITONBOOK_CALL_SECONDS": (8, 12),
    "WORKBOOK_CHECK_SECONDS": (30, 60),
    "WORKBOOK_CELL_SECONDS": (10, 15),
}
MARK = ".sample-class"  # a file in course folders that were made here


@dataclass(frozen=True)
class Line:
    """One row of the table: a check of a submission, what it got and what it had to get."""

    sample: Sample
    check: stock.CheckOutcome
    points_due: float
    codes_due: tuple[str, ...]

    @property
    def as_declared(self) -> bool:
        return (self.check.points or 0.0) == self.points_due and self.check.code in self.codes_due


def clear(folder: Path) -> Path:
    """Where the sample class goes: without an earlier one's course, if that is what stands there.

    Raises FileExistsError for somebody's own course.
    """
    course = folder / "course"
    if course.exists():
        if not (course / MARK).exists() and folder != ROOT / "demo":
            raise FileExistsError(17, "this is no sample class; name another folder", str(course))
        shutil.rmtree(course)
    return course


def prepare(folder: Path, chosen: list[Exercise]) -> Path:
    """An empty course folder with the source notebooks of the chosen exercises."""
    course = clear(folder)
    empty_course(course)
    (course / MARK).touch()
    release = read_release(ROOT)
    for exercise in chosen:
        target = course / "source" / exercise.slug / f"{exercise.slug}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_bytes(views.to_bytes(views.instructor(exercise, release)))
    return course


def release(course: Path, names: list[str], workers: int) -> None:
    """`nbgrader generate_assignment` for each notebook. Raises RuntimeError where one fails."""

    def one(name: str) -> stock.Ended:
        return stock.nbgrader(course, "generate_assignment", name, "--create", "--force")

    outcomes = [one(names[0])]  # alone: it creates the gradebook
    with ThreadPoolExecutor(workers) as pool:
        outcomes += pool.map(one, names[1:])
    for outcome in outcomes:
        if outcome.status:
            raise RuntimeError(f"nbgrader {' '.join(outcome.command)} failed:\n{outcome.log}")


def submit(course: Path, name: str, samples: list[Sample]) -> None:
    """Hand in each sample: the released notebook with the sample's answers in it."""
    released = course / "release" / name / f"{name}.ipynb"
    for sample in samples:
        notebook = nbformat.read(released, as_version=4)
        fill_in(notebook, sample.answers)
        target = course / "submitted" / sample.student / name / f"{name}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(notebook, target)


def write_feedback(course: Path, name: str) -> stock.Ended:
    return stock.nbgrader(course, "generate_feedback", name, "--force")


def fill_in(notebook: nbformat.NotebookNode, answers: dict[str, str]) -> None:
    """Put answers into a released notebook, by key. Raises KeyError for a key it does not have."""
    cells = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    for key, text in answers.items():
        cells[f"answer-{key}"].source = text


def compare(samples: list[Sample], graded: stock.Graded) -> list[Line]:
    """The rows of one graded submission beside what its sample declares."""
    sample = next(sample for sample in samples if sample.student == graded.student)
    rows = []
    order = [f"check-{key}" for key in sample.expected]
    for check in sorted(graded.checks, key=lambda check: order.index(check.key)):
        due = sample.expected[check.key.removeprefix("check-")]
        rows.append(Line(sample, check, due.points, due.codes))
    return rows


def table(name: str, lines: list[Line]) -> Table:
    """The grades of one notebook, one row for each check of each submission."""
    shown = Table(title=name, title_justify="left", pad_edge=False)
    for heading in ("submission", "check", "points", "reason", "due"):
        shown.add_column(heading, overflow="fold")
    last = None
    for line in lines:
        check = line.check
        points = "-" if check.points is None else f"{check.points:g}"
        reason = "passed" if check.code == "passed" else f"{check.code}: {check.sentence}"
        due = "ok" if line.as_declared else f"NO: {line.points_due:g} {' or '.join(line.codes_due)}"
        title = line.sample.title if line.sample is not last else ""
        if title and last is not None:
            shown.add_section()
        key = check.key.removeprefix("check-")
        shown.add_row(title, key, f"{points}/{check.maximum:g}", reason, due)
        last = line.sample
    return shown


def run(folder: Path, chosen: list[Exercise], workers: int, console: Console) -> bool:
    """The whole demonstration; True when every sample got the grade that it declares."""
    started = time.perf_counter()
    names = [exercise.slug for exercise in chosen]
    console.print(f"Kernels run on: {describe()}", highlight=False)
    classes = {exercise.slug: sample_class(material_of(exercise)) for exercise in chosen}
    total = sum(len(samples) for samples in classes.values())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total)

        def say(doing: str, done: int = 0) -> None:
            progress.update(task, description=doing, completed=done)
            if not console.is_terminal:  # no bar there before the end: a line for each step
                seconds = time.perf_counter() - started
                console.print(f"{seconds:4.0f} s  {doing} {done}/{total}", highlight=False)

        say("building the course")
        course = prepare(folder, chosen)
        say("releasing (nbgrader generate_assignment)")
        release(course, names, workers)
        for name in names:
            submit(course, name, classes[name])
        say("grading (nbgrader autograde)")
        jobs = [(name, part) for part in PARTS for name in reversed(names)]
        begun = itertools.count()  # nbgrader names a submission when it begins with it
        outcomes = stock.autograde(
            course, jobs, workers, lambda name: say(f"grading {name}", next(begun))
        )
        say("writing feedback (nbgrader generate_feedback)", total)
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda name: write_feedback(course, name), names))
        say("done", total)

    graded = stock.read_grades(course, outcomes)
    declared = True
    for name in names:
        lines = []
        for one in sorted((g for g in graded if g.notebook == name), key=lambda g: g.student):
            lines += compare(classes[name], one)
        console.print(table(name, lines))
        missing = {s.student for s in classes[name]} - {line.sample.student for line in lines}
        declared = declared and all(line.as_declared for line in lines) and not missing
        for student in sorted(missing):
            console.print(f"{student}: nbgrader has no grades", style="bold")
    (course / "autograde.log").write_text("\n".join(outcome.log for outcome in outcomes))
    pages = sorted(course.glob("feedback/*/*/*.html"))
    console.print(f"{total} submissions in {time.perf_counter() - started:.0f} s.")
    console.print(
        f"Feedback: {len(pages)} HTML files in {_shown(course / 'feedback')}/", highlight=False
    )
    if pages:
        console.print(f"Open for example {_shown(pages[0])}", highlight=False)
    verdict = (
        "Every grade is as declared." if declared else "A grade is not as declared: see above."
    )
    console.print(verdict, style="bold")
    return declared


def run_autograder(folder: Path, chosen: list[Exercise], workers: int, console: Console) -> bool:
    """Grade the same class with `autograde grade`; True when every exercise has a score."""
    course = prepare(folder, chosen)
    names = [exercise.slug for exercise in chosen]
    release(course, names, workers)
    scored = True
    for exercise in chosen:
        submit(course, exercise.slug, sample_class(material_of(exercise)))
        command = [sys.executable, "-m", "autograde", "grade", exercise.slug]
        options = ["--course", str(course), "--workers", str(workers), "--call-seconds", "20"]
        scored &= subprocess.run([*command, *options]).returncode == 0
        console.print((course / "work" / exercise.slug / "report.md").read_text(), highlight=False)
    return scored


def _shown(path: Path) -> Path:
    """A path as short as it can be typed from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(prog="make demo", description=__doc__.splitlines()[0])
    parser.add_argument("--notebooks", nargs="*", help="slugs or numbers; all: every notebook")
    parser.add_argument("--output", type=Path, default=ROOT / "demo")
    parser.add_argument(
        "--autograder", action="store_true", help="use `autograde grade` instead of stock nbgrader"
    )
    parser.add_argument("--workers", type=int, default=min(6, os.cpu_count() or 1))
    options = parser.parse_args(arguments)
    try:
        chosen = [get(name) for name in options.notebooks or DEFAULT if name != "all"]
    except LookupError as problem:
        parser.error(sentence(problem).rstrip("."))
    if options.notebooks == ["all"]:
        chosen = exercises()
    if options.workers < 1:
        parser.error("--workers must be 1 or more")
    try:
        clear(options.output)
    except FileExistsError as problem:
        parser.error(sentence(problem).rstrip("."))
    # A check needs seconds; what takes longer here is the sample with the endless loop. On a GPU
    # each process starts CUDA, and first calls compile.
    for name, (interpreted, compiled) in TIME_LIMITS.items():
        os.environ.setdefault(name, str(interpreted if INTERPRET else compiled))
    console = Console(markup=False)  # a reason may hold brackets
    if not console.is_terminal:
        console = Console(width=120, markup=False)  # a log file has no width of its own
    way = run_autograder if options.autograder else run
    return 0 if way(options.output, chosen, options.workers, console) else 1


if __name__ == "__main__":
    sys.exit(main())
