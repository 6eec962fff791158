"""The stock path: every sample's grade, and the reason for it as it is read back."""

from __future__ import annotations

from pathlib import Path

import pytest
import stock_nbgrader

from autograde.classroom import demo
from autograde.classroom.samples import Expected, Sample, sample_class
from tritonbook.course.exercises import Exercise

NAN = "tl.store(out_ptr + offs, x + x + (x - x) / (x - x), mask=mask)"
LEFT_OUT = ("s2_other_blocks", "s5_torch")  # test_run grades the whole class


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(900)
def test_every_grade_is_as_declared(exercise: Exercise, tmp_path: Path, monkeypatch) -> None:
    """Kills: a warning that costs points, NaN that earns some, a crash or an endless loop that
    touches another student's grade, a reason that is not the cause."""
    monkeypatch.setenv("TRITONBOOK_CALL_SECONDS", "5")
    monkeypatch.setenv("WORKBOOK_CHECK_SECONDS", "60")
    monkeypatch.setenv("WORKBOOK_CELL_SECONDS", "20")
    course = demo.prepare(tmp_path, [exercise])
    demo.release(course, exercise.slug)
    samples = [s for s in sample_class(exercise) if s.student not in LEFT_OUT]
    samples.append(_nan(samples[0]))
    demo.submit(course, exercise.slug, samples)
    log = stock_nbgrader.autograde(course, exercise.slug)
    assert demo.nbgrader(course, "generate_feedback", exercise.slug).returncode == 0
    found = stock_nbgrader.read_grades(course, log.stdout)
    for sample in samples:
        for key, due in sample.expected.items():
            if sample.student == "s7_exit":  # the whole notebook is lost
                due = Expected(0, ("crashed",))
            points, code = found[sample.student, key]
            assert points == due.points and code in due.codes, (sample.student, key, points, code)
    assert len(list(course.glob("feedback/*/*/*.html"))) == 6  # the crashed one has none


def _nan(right: Sample) -> Sample:
    """nbgrader gives full points for a cell whose last value is NaN; an answer has no points."""
    store = "tl.store(out_ptr + offs, x + x, mask=mask)"
    broken = right.answers["double"].replace(store, NAN) + "\n\nfloat('nan')\n"
    due = right.expected | {"double": Expected(0, ("nan", "wrong-values", "overflow"))}
    return Sample("s9_nan", "NaN", right.answers | {"double": broken}, due)
