"""The whole stock path on a small course: release, submit, autograde, feedback, reasons."""

from __future__ import annotations

import dataclasses
import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console

from autograde.classroom import demo
from autograde.classroom.samples import Expected, Sample, material_of, sample_class
from tritonbook.course.exercises import Exercise

pytestmark = [pytest.mark.slow, pytest.mark.system]

NAN = "tl.store(out_ptr + offs, x + x + (x - x) / (x - x), mask=mask)"


def _some_and_more(exercise: Exercise) -> list[Sample]:
    """Most of the sample class (test_run grades it all), and a NaN that claims a score."""
    samples = sample_class(material_of(exercise))
    samples = [s for s in samples if s.student not in ("s2_other_blocks", "s5_torch")]
    right = samples[0]
    store = "tl.store(out_ptr + offs, x + x, mask=mask)"
    # nbgrader gives full points for a cell whose last value is NaN; an answer cell has no points.
    broken = right.answers["double"].replace(store, NAN) + "\n\nfloat('nan')\n"
    nan = Sample(
        "s9_nan",
        "NaN",
        right.answers | {"double": broken},
        right.expected | {"double": Expected(0, ("nan", "wrong-values", "overflow"))},
    )
    return [*samples, nan]


@pytest.fixture(scope="module")
def graded(exercise: Exercise, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    text = io.StringIO()
    patch = pytest.MonkeyPatch()
    patch.setenv("TRITONBOOK_CALL_SECONDS", "5")
    patch.setenv("WORKBOOK_CHECK_SECONDS", "60")
    patch.setenv("WORKBOOK_CELL_SECONDS", "20")
    patch.setattr(demo, "sample_class", lambda material: _some_and_more(exercise))
    try:
        declared = demo.run(folder, [exercise], 2, Console(file=text, width=140))
    finally:
        patch.undo()
    return declared, text.getvalue(), folder / "course"


def test_every_grade_is_as_declared(graded: tuple[bool, str, Path]) -> None:
    """Kills: a warning that costs points, NaN that earns some, a crash or an endless loop that
    touches another student's grade, a reason that is not the cause."""
    declared, text, _ = graded
    assert declared, text


def test_says_where_kernels_run_and_where_feedback_lies(graded: tuple[bool, str, Path]) -> None:
    """Kills: a demonstration that leaves the reader without the next step."""
    _, text, course = graded
    assert "Kernels run on:" in text
    assert "Feedback: 6 HTML files" in text  # the crashed one has none
    assert (course / "feedback" / "s1_right" / "90_doubling" / "90_doubling.html").is_file()


def test_a_log_file_gets_a_line_for_each_step(graded: tuple[bool, str, Path]) -> None:
    """Kills: minutes of silence where no bar can be drawn; a count that runs past the class."""
    _, text, _ = graded
    steps = re.findall(r"^ *\d+ s  (.*)$", text, re.MULTILINE)
    assert steps[0] == "building the course 0/7" and steps[-1] == "done 7/7"
    assert [step for step in steps if step.startswith("grading 90")] == [
        f"grading 90_doubling {number}/7" for number in range(7)
    ]


@pytest.mark.parametrize(("interpreted", "seconds"), [(True, "10"), (False, "15")])
def test_a_gpu_gets_more_time(
    interpreted: bool, seconds: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kills: limits that the start of CUDA alone uses up; a user's own limit that is overruled."""
    for name in demo.TIME_LIMITS:
        monkeypatch.setenv(name, "")  # so that it is as before afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRITONBOOK_CALL_SECONDS", "99")
    monkeypatch.setattr(demo, "INTERPRET", interpreted)
    monkeypatch.setattr(demo, "run", lambda *arguments: True)
    assert demo.main(["--output", str(tmp_path)]) == 0
    assert os.environ["WORKBOOK_CELL_SECONDS"] == seconds
    assert os.environ["TRITONBOOK_CALL_SECONDS"] == "99"


def test_another_grade_than_declared_is_noticed(graded: tuple[bool, str, Path]) -> None:
    """Kills: an exit status that says nothing."""
    line = demo.Line(
        Sample("s1_right", "right", {}, {}),
        demo.stock.CheckOutcome("check-double", 4.0, 4.0, "passed", ""),
        4,
        ("passed",),
    )
    assert line.as_declared
    assert not dataclasses.replace(line, points_due=0).as_declared
    assert not dataclasses.replace(line, codes_due=("timeout",)).as_declared
