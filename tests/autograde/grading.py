"""Grade answers without nbgrader; give verdicts without grading."""

from __future__ import annotations

import csv
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from autograde.classroom import demo
from autograde.classroom.cells import HandedCell
from autograde.classroom.ingest import rebuild
from autograde.classroom.record import open_gradebook
from autograde.classroom.run import Session
from autograde.classroom.samples import Sample, sample_class
from autograde.judge import execute
from autograde.judge.course import Course, asked_of, read_cells
from autograde.judge.execute import Executor, Setting
from autograde.judge.work import Item, Outcome, Submission, Verdict
from autograde.walls import sandbox
from autograde.walls.wire import PeerSlow
from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise

NAME = "90_doubling"
SECRET = "secret of the tests"
LEVEL = sandbox.choose("auto", None, force=True)
needs_walls = pytest.mark.skipif(
    LEVEL == "plain", reason="no namespaces and no bubblewrap on this machine"
)


def course_of(exercise: Exercise) -> Course:
    """The instructor's view of an exercise, without nbgrader."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(views.to_bytes(views.instructor(exercise, read_release(demo.ROOT))))
        file.flush()
        cells = read_cells(Path(file.name))
    return Course(exercise.slug, exercise.slug, cells, SECRET, asked_of(exercise.slug))


def solutions(exercise: Exercise) -> dict[str, str]:
    """The solved text of every answer cell, by key."""
    return {key: gaps.solved_text(cell.source) for key, cell in exercise.answers().items()}


class Grader:
    """Grades answer texts of one exercise; no course folder, no gradebook."""

    def __init__(self, exercise: Exercise, level: str | None = None):
        self.exercise = exercise
        self.course = course_of(exercise)
        self.level = level or LEVEL
        self.executor = Executor(Setting(self.level))
        self.parsing = threading.Lock()  # Python 3.11's parser now and then fails beside another

    def handed_in(self, extra: str = "", **answers: str) -> Submission:
        """These answers, solutions for all others, and a cell on top of them."""
        answers = solutions(self.exercise) | answers
        handed = [HandedCell("code", (), extra)] if extra else []
        handed += [HandedCell("code", (f"answer-{k}",), text) for k, text in answers.items()]
        with self.parsing:
            return rebuild(self.course, "student", handed, [])

    def grade(
        self, key: str, call_seconds: float = 60.0, extra: str = "", **answers: str
    ) -> Verdict:
        """The verdict on `key` when these are handed in."""
        submission = self.handed_in(extra, **answers)
        exercise = next(e for e in submission.exercises if e.key == key)
        limits = sandbox.Limits(call_seconds=call_seconds, wall_seconds=800.0)
        self.executor.setting = Setting(self.level, limits)
        return self.executor.run(Item(self.course, submission, exercise))


PASSED = Outcome("PASS", "passed", "")


class _Scripted:
    """The driver's end of the line: what the checker says, each after some seconds. Has a clock of
    its own, so that a busy machine changes nothing."""

    def __init__(self, *said: tuple[float, dict]):
        self.said, self.now = list(said), 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def receive(self, seconds: float) -> SimpleNamespace:
        pause, body = self.said.pop(0)
        self.sleep(min(pause, seconds))
        if pause > seconds:
            raise PeerSlow
        return SimpleNamespace(body=body)

    def send(self, *message: object) -> None:
        """Takes everything."""


def awaited(*said: tuple[float, dict], compiler: Callable | None = None) -> Outcome:
    """What the driver makes of a checker that says this, with 0.4 s for the exercise.

    compiler: as `Compiler.ask`; the seconds that it takes pass in `execute.time.sleep`.
    """
    setting = Setting(limits=sandbox.Limits(wall_seconds=0.4))
    driver, scripted = SimpleNamespace(setting=setting), _Scripted(*said)
    with mock.patch.object(execute, "time", scripted):
        return Executor._await(driver, scripted, None, SimpleNamespace(ask=compiler))


def verdict(item: Item, status: str, **more: Any) -> Verdict:
    """A verdict on an item that was not run."""
    points = {"PASS": item.exercise.points, "INFRA": None}.get(status, 0.0)
    fields = {
        "status": status,
        "points": points,
        "code": "passed" if status == "PASS" else "wrong-values",
        "sentence": "y",
        "sandbox": "none",
        "seconds": 0.0,
    }
    return Verdict(**dict(item.asked) | fields | more)


def hand_in(course: Path, handed: dict[str, dict[str, str]], name: str = NAME) -> None:
    """Hand in answers, by student and key; a key that is missing keeps the released gap."""
    demo.submit(course, name, [Sample(who, who, answers, {}) for who, answers in handed.items()])


def until(true: Callable[[], bool], seconds: float = 200.0) -> None:
    """Wait for it. Raises AssertionError where it does not happen."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def keep(course: Path, *students: str) -> None:
    """Leave these students' hand-ins alone in a course folder."""
    for folder in (course / "submitted").iterdir():
        if folder.name not in students:
            shutil.rmtree(folder)


Judge = Callable[[Iterable[Item]], Iterator[Verdict]]


def by_status(status_of: Callable[[Item], str]) -> Judge:
    """A runner that runs nothing."""
    return lambda items: (verdict(item, status_of(item)) for item in items)


def ingested(course: Path, students: Iterable[str] = ()) -> Session:
    """The small class of a course folder, or some students of it, read and not graded."""
    session = Session(course, NAME)
    session.ingest(students)
    return session


def graded(course: Path, runner: Judge) -> Session:
    """The small class of a course folder: ingested, run, recorded."""
    session = ingested(course)
    session.run(runner)
    session.record()
    return session


def scores(course: Path, assignment: str = NAME) -> dict[tuple[str, str], float | None]:
    """Points by student and check, as the gradebook has them."""
    with open_gradebook(course) as book:
        return {
            (submission.student.id, grade.cell.name): grade.auto_score
            for submission in book.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def exported(course: Path) -> dict[str, float]:
    """Scores by student, as nbgrader's own export has them."""
    done = demo.nbgrader(course, "export", "--to", "grades.csv")
    assert done.returncode == 0, done.stdout
    with (course / "grades.csv").open() as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}


def declared_scores(exercise: Exercise) -> dict[tuple[str, str], float]:
    """The same, as the sample class of the small course declares them."""
    return {
        (sample.student, f"check-{key}"): due.points
        for sample in sample_class(exercise)
        for key, due in sample.expected.items()
    }
