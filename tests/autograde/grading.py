"""Grade answers without nbgrader: a course in memory, an executor, one verdict at a time."""

from __future__ import annotations

from pathlib import Path

from autograde import sandbox
from autograde.course import Course, read_cells
from autograde.execute import Executor, Setting
from autograde.ingest import _Handed, rebuild
from autograde.work import Verdict
from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise

ROOT = Path(__file__).resolve().parents[2]


def course_of(exercise: Exercise, folder: Path) -> Course:
    """The instructor's view of an exercise, with a secret that every run of the tests shares."""
    path = folder / f"{exercise.slug}.ipynb"
    path.write_bytes(views.to_bytes(views.instructor(exercise, read_release(ROOT))))
    return Course(exercise.slug, exercise.slug, read_cells(path), "secret of the tests")


def solutions(exercise: Exercise) -> dict[str, str]:
    return {key: gaps.solved_text(cell.source) for key, cell in exercise.answers().items()}


class Grader:
    """Grades answer texts of one exercise."""

    def __init__(self, exercise: Exercise, folder: Path, level: str | None = None):
        self.exercise = exercise
        self.course = course_of(exercise, folder)
        self.level = level or sandbox.available()[0]
        limits = sandbox.Limits(call_seconds=20.0, wall_seconds=240.0)
        self.executor = Executor(Setting(self.level, limits))

    def grade(
        self, answers: dict[str, str], key: str, extra: str = "", call_seconds: float = 20.0
    ) -> Verdict:
        """The verdict on `key` when `answers` (and a cell on top of them) are handed in."""
        handed = [_Handed("code", "", "", extra)] if extra else []
        handed += [_Handed("code", f"answer-{k}", "", text) for k, text in answers.items()]
        submission = rebuild(self.course, "student", handed, [])
        exercise = next(e for e in submission.exercises if e.key == key)
        limits = sandbox.Limits(call_seconds=call_seconds, wall_seconds=240.0)
        self.executor.setting = Setting(self.level, limits)
        return self.executor.run(self.course, submission, exercise)

    def close(self) -> None:
        self.executor.close()
