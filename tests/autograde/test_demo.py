"""The demonstration on a small course: release, submit, grade, feedback, reasons."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from grading import needs_walls
from rich.console import Console

from autograde.classroom import demo
from autograde.classroom.samples import sample_class
from tritonbook.course.exercises import Exercise

pytestmark = [pytest.mark.slow, pytest.mark.system, needs_walls]
SOME = ("s1_right", "s6_untouched", "s7_exit")  # test_run grades the whole class


@pytest.fixture(scope="module")
def shown(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    text = io.StringIO()
    some = [each for each in sample_class(exercise) if each.student in SOME]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "sample_class", lambda exercise: some)
        declared = demo.run(folder, [exercise], 2, Console(file=text, width=140))
    return declared, text.getvalue(), folder / "course"


def test_every_grade_is_as_declared(shown: tuple[bool, str, Path]) -> None:
    """Kills: a grade, or a reason, that is another than what the sample was made for."""
    declared, text, _ = shown
    assert declared, text
    assert "not-attempted" in text and "crashed" in text and "✗" not in text


def test_says_where_kernels_run_and_where_everything_lies(shown: tuple[bool, str, Path]) -> None:
    """Kills: a demonstration that leaves the reader without the next step; minutes of silence."""
    _, text, course = shown
    assert "Kernels run on:" in text and "Feedback: 3 HTML files" in text
    assert (course / "feedback" / "s1_right" / "90_doubling" / "90_doubling.html").is_file()
    assert (course / "work" / "90_doubling" / "report.html").is_file()
    steps = re.findall(r"^ *\d+ s  (.*)$", text, re.MULTILINE)
    assert steps[0] == "building the course" and steps[-1] == "3 submissions"


def test_another_grade_than_declared_is_noticed(
    shown: tuple[bool, str, Path], exercise: Exercise
) -> None:
    """Kills: an exit status that says nothing; a submission without a verdict that passes."""
    samples = [s for s in sample_class(exercise) if s.student in SOME]
    line, *_ = demo.graded(shown[2], exercise.slug, samples)
    assert line.as_declared and line.verdict is not None
    lower = line.verdict.model_copy(update={"points": 0.0})
    other = line.verdict.model_copy(update={"code": "timeout"})
    for verdict in (None, lower, other):
        assert not dataclasses.replace(line, verdict=verdict).as_declared
