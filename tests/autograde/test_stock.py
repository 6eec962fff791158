"""The stock path: every sample's grade, and the reason for it as it is read back."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from grading import NAME, scores

from autograde.classroom import demo
from autograde.classroom.samples import Expected, Sample, sample_class
from tritonbook.checking.card import MIME
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
    log = demo.nbgrader(course, "autograde", NAME, "--force").stdout
    if "Address already in use" in log:  # two kernels were given one TCP port
        log = demo.nbgrader(course, "autograde", NAME, "--force").stdout
    assert demo.nbgrader(course, "generate_feedback", NAME).returncode == 0
    found = scores(course)
    for sample in samples:
        for key, due in sample.expected.items():
            points = found[sample.student, f"check-{key}"]
            if sample.student == "s7_exit":  # the whole notebook is lost
                assert points is None and "DeadKernelError" in log
                continue
            code = _code(course / "autograded" / sample.student / NAME, key)
            assert points == due.points and code in due.codes, (sample.student, key, points, code)
    assert len(list(course.glob("feedback/*/*/*.html"))) == 6  # the crashed one has none


def _nan(right: Sample) -> Sample:
    """nbgrader gives full points for a cell whose last value is NaN; an answer has no points."""
    store = "tl.store(out_ptr + offs, x + x, mask=mask)"
    broken = right.answers["double"].replace(store, NAN) + "\n\nfloat('nan')\n"
    due = right.expected | {"double": Expected(0, ("nan", "wrong-values", "overflow"))}
    return Sample("s9_nan", "NaN", right.answers | {"double": broken}, due)


def _code(folder: Path, key: str) -> str:
    """Why a check got its points, from what its cell put out: a visible and a hidden check may
    stand in it, and the last report that is not passed decides."""
    (cell,) = (
        cell
        for cell in nbformat.read(folder / f"{NAME}.ipynb", as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"check-{key}"
    )
    stopped = [output.ename for output in cell.outputs if output.output_type == "error"]
    if {"CellTimeoutError", "KeyboardInterrupt"} & {*stopped}:
        return "timeout"
    reports = [output.data[MIME] for output in cell.outputs if MIME in output.get("data", {})]
    codes = [report["finding"]["code"] for report in reports if report.get("finding")]
    if not codes:
        codes = ["passed" if reports and not stopped else "no-report"]
    return codes[-1]
