"""`make demo`: release the course, hand in a sample class, grade it, show why.

The exit status is 1 when any sample gets another grade, or another reason, than the one it
declares; so the demonstration is also a test of the whole way from exercise file to feedback.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import nbformat
from rich.console import Console
from rich.table import Table

from tritonbook.course.exercises import Exercise, get
from tritonbook.port.device import INTERPRET, describe
from tritonbook.words import say

from ..judge.work import Verdict
from .new_course import add_source, empty_course
from .run import Session
from .samples import Sample, sample_class

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("00_start_here", "01_vector_add", "10_rmsnorm_rows")
WORKERS = min(6, os.cpu_count() or 1)
CALL_SECONDS = 8 if INTERPRET else 12  # on a GPU first calls compile


def nbgrader(course: Path, *arguments: str) -> CompletedProcess[str]:
    """Run one nbgrader command in a course folder."""
    environment = os.environ | {
        # Small kernels gain nothing from more threads.
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        # nbgrader starts alembic by name to create its database.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        # What the sample class passes is nobody's progress.
        "TRITONBOOK_HOME": str(course / ".home"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # colours
    return done


@dataclass(frozen=True)
class Line:
    """One row of the table: an exercise of a submission, what it got and what it had to get."""

    sample: Sample
    key: str
    verdict: Verdict | None

    @property
    def as_declared(self) -> bool:
        due, found = self.sample.expected[self.key], self.verdict
        return found is not None and found.points == due.points and found.code in due.codes


def prepare(folder: Path, chosen: list[Exercise]) -> Path:
    """A course folder with the source notebooks of the chosen exercises, in place of an earlier
    sample class's."""
    course = folder / "course"
    if course.exists():
        shutil.rmtree(course)
    empty_course(course)
    for exercise in chosen:
        add_source(course, exercise)
    return course


def release(course: Path, name: str) -> None:
    """`nbgrader generate_assignment`. Raises RuntimeError where it fails."""
    done = nbgrader(course, "generate_assignment", name, "--create", "--force")
    if done.returncode:
        raise RuntimeError(say("{name} was not released:", name=name) + f"\n{done.stdout}")


def submit(course: Path, name: str, samples: list[Sample]) -> None:
    """Hand in each sample: the released notebook with the sample's answers in it."""
    released = course / "release" / name / f"{name}.ipynb"
    for sample in samples:
        notebook = nbformat.read(released, as_version=4)
        fill_in(notebook, sample.answers)
        target = course / "submitted" / sample.student / name / f"{name}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(notebook, target)


def fill_in(notebook: nbformat.NotebookNode, answers: dict[str, str]) -> None:
    """Put answers into a released notebook, by key. Raises KeyError for a key it does not have."""
    cells = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }
    for key, text in answers.items():
        cells[f"answer-{key}"].source = text


def graded(course: Path, name: str, samples: list[Sample]) -> list[Line]:
    """The rows of one assignment: its verdicts beside what the samples declare."""
    session = Session(course, name)
    session.read()
    found = {pair[1].student: session.verdicts(*pair) for pair in session.submissions}
    return [
        Line(sample, key, found.get(sample.student, {}).get(key))
        for sample in samples
        for key in sample.expected
    ]


def table(name: str, lines: list[Line]) -> Table:
    """The grades of one notebook, one row for each exercise of each submission."""
    shown = Table(title=name, title_justify="left", pad_edge=False)
    headings = say("submission"), say("exercise"), say("points"), say("reason"), say("due")
    for heading in headings:
        shown.add_column(heading, overflow="fold")
    for title, rows in itertools.groupby(lines, lambda line: say(line.sample.title)):
        for line in rows:
            verdict, expected = line.verdict, line.sample.expected[line.key]
            points, reason, due = "-", say("no verdict"), "✓"
            if verdict is not None:
                told = "-" if verdict.points is None else f"{verdict.points:g}"
                points = f"{told}/{verdict.maximum:g}"
                passed = verdict.code == "passed"
                reason = say("passed") if passed else f"{verdict.code}: {say(verdict.sentence)}"
            if not line.as_declared:
                due = f"✗ {expected.points:g} {' / '.join(expected.codes)}"
            shown.add_row(title, line.key, points, reason, due)
            title = ""
        shown.add_section()
    return shown


def run(folder: Path, chosen: list[Exercise], workers: int, console: Console) -> bool:
    """The whole demonstration; True when every sample got the grade that it declares."""
    started = time.perf_counter()
    names = [exercise.slug for exercise in chosen]
    classes = {exercise.slug: sample_class(exercise) for exercise in chosen}

    def tell(doing: str) -> None:
        console.print(f"{time.perf_counter() - started:4.0f} s  {doing}")

    console.print(say("Kernels run on: {where}", where=describe()))
    tell(say("building the course"))
    course = prepare(folder, chosen)
    options = ["--course", str(course), "--workers", str(workers)]
    options += ["--call-seconds", str(CALL_SECONDS)]
    for name in names:
        tell(say("releasing {name} (nbgrader generate_assignment)", name=name))
        release(course, name)
        submit(course, name, classes[name])
        tell(say("grading {name} (autograde grade)", name=name))
        command = [sys.executable, "-m", "autograde", "grade", name, *options]
        quiet = not console.is_terminal  # there it draws a bar
        done = subprocess.run(command, capture_output=quiet, text=True, cwd=ROOT)
        if done.returncode and quiet:
            console.print(done.stderr)
        tell(say("writing feedback on {name} (nbgrader generate_feedback)", name=name))
        nbgrader(course, "generate_feedback", name, "--force")
    lines = {name: graded(course, name, classes[name]) for name in names}
    for name in names:
        console.print(table(name, lines[name]))
    declared = all(line.as_declared for rows in lines.values() for line in rows)
    pages = sorted(course.glob("feedback/*/*/*.html"))
    tell(say("{number} submissions", number=sum(map(len, classes.values()))))
    where = os.path.relpath(course / "feedback")
    console.print(say("Feedback: {number} HTML files in {where}/", number=len(pages), where=where))
    for report in sorted(course.glob("work/*/report.html")):
        console.print(say("The class's report: {where}", where=os.path.relpath(report)))
    said = "Every grade is as declared." if declared else "A grade is not as declared: see above."
    console.print(say(said), style="bold")
    return declared


if __name__ == "__main__":
    # A reason may hold brackets; a log file has no width of its own.
    width = None if sys.stdout.isatty() else 120
    console = Console(width=width, markup=False, highlight=False)
    declared = run(ROOT / "demo", [get(name) for name in PAGES], WORKERS, console)
    sys.exit(0 if declared else 1)
