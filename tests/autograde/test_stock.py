"""Reading back what stock nbgrader decided: the reason for each grade."""

from __future__ import annotations

from autograde.classroom import stock
from autograde.classroom.stock import REPORT_TYPE, _lost, reason


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

    def command(course, *arguments, on_line=None):
        return stock.Ended(arguments, 0, next(logs))

    monkeypatch.setattr(stock, "nbgrader", command)
    (outcome,) = stock.autograde(tmp_path, [("01", "s*")], 1, print)
    assert outcome.log == "graded" and next(logs, None) is None
