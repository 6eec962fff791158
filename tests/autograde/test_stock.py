"""The stock path: every sample's grade, and the reason for it as it is read back."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
import stock_nbgrader
from stock_nbgrader import REPORT_TYPE, _lost, reason

from autograde.classroom import demo
from autograde.classroom.samples import Expected, Sample, material_of, sample_class
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
    demo.release(course, [exercise.slug], 1)
    samples = [s for s in sample_class(material_of(exercise)) if s.student not in LEFT_OUT]
    samples.append(_nan(samples[0]))
    demo.submit(course, exercise.slug, samples)
    log = stock_nbgrader.autograde(course, exercise.slug)
    assert demo.write_feedback(course, exercise.slug).returncode == 0
    found = {
        (graded.student, check.key.removeprefix("check-")): (check.points or 0.0, check.code)
        for graded in stock_nbgrader.read_grades(course, [log])
        for check in graded.checks
    }
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


def _report(state: str, code: str | None = None, sentence: str = "why") -> dict:
    finding = None if code is None else {"code": code, "sentence": sentence}
    return {
        "output_type": "display_data",
        "data": {REPORT_TYPE: {"state": state, "finding": finding}},
    }


def _error(name: str, text: str = "") -> dict:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": []}


def test_a_hidden_failure_outweighs_a_visible_pass() -> None:
    """Kills: taking the first report of a cell with a visible and a hidden check."""
    outputs = [_report("passed"), _report("wrong", "nan", "It is NaN."), _error("CheckFailed")]
    assert reason(outputs) == ("nan", "It is NaN.")


def test_passed_needs_a_report_and_no_error() -> None:
    """Kills: a silent cell, or one that stopped after its report, counted as passed."""
    assert reason([_report("passed")])[0] == "passed"
    assert reason([])[0] == "no-report"
    assert reason([_report("passed"), _error("NameError", "x")]) == ("raised", "NameError: x")


def test_an_interrupt_is_a_timeout() -> None:
    """Kills: an endless loop shown as some error of the student's."""
    assert reason([_error("KeyboardInterrupt")])[0] == "timeout"
    assert reason([_report("passed"), _error("CellTimeoutError")])[0] == "timeout"


LOG = """\
[AutogradeApp | INFO] Autograding x
[AutogradeApp | ERROR] There was an error processing assignment: /c/submitted/ann/ps1
Traceback (most recent call last):
nbclient.exceptions.DeadKernelError: Kernel died
[AutogradeApp | ERROR] There was an error processing assignment: /c/submitted/bob/ps1
Traceback (most recent call last):
RuntimeError: inconsistent checksums
"""


def test_the_log_tells_why_a_notebook_is_lost() -> None:
    """Kills: one student's crash told of another, or of the same student's other assignment."""
    assert _lost(LOG, "ann", "ps1")[0] == "crashed"
    assert _lost(LOG, "bob", "ps1") == ("failed", "RuntimeError: inconsistent checksums")
    assert _lost(LOG, "ann", "ps2")[0] == "failed"
    assert _lost(LOG, "an", "ps1")[0] == "failed"


def test_kernels_that_met_at_one_port_start_again(tmp_path, monkeypatch):
    """Kills: a hand-in that is not graded, because two kernels started in the same moment."""
    logs = iter(["zmq.error.ZMQError: Address already in use", "graded"])

    def command(course, *arguments):
        return CompletedProcess(arguments, 0, next(logs))

    monkeypatch.setattr(stock_nbgrader, "nbgrader", command)
    assert stock_nbgrader.autograde(tmp_path, "01").stdout == "graded" and next(logs, None) is None
