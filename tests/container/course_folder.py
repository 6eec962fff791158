"""A small nbgrader course: 01_vector_add released, and handed in by a few students."""

from __future__ import annotations

from pathlib import Path

from autograde.classroom import demo
from autograde.classroom.samples import Sample
from tritonbook.course import gaps
from tritonbook.course.exercises import get

NAME = "01_vector_add"


def course_with(folder: Path, *students: str, **wrong: str) -> Path:
    """Make the course folder in `folder`. `students` hand in the solutions; NAME=TEXT adds a
    student whose answer to `add` is TEXT instead. Returns the course folder."""
    exercise = get(NAME)
    right = {key: gaps.solved_text(cell.source) for key, cell in exercise.answers().items()}
    answers = {student: right for student in students}
    answers |= {student: right | {"add": text} for student, text in wrong.items()}
    course = demo.prepare(folder, [exercise])
    demo.release(course, NAME)
    demo.submit(course, NAME, [Sample(who, who, texts, {}) for who, texts in answers.items()])
    return course
