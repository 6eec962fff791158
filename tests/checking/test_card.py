"""The card offers the workbook's answer after a pass, and never before."""

import pytest

from tritonbook.checking import card
from tritonbook.checking.report import NOT_ATTEMPTED, PASSED, SLOW, WRONG, Report


def html_of(key, state):
    return card.as_html(Report(key, state, None, [], [], {}, {}, 0.0))


def test_a_pass_may_be_compared_with_the_workbooks_answer():
    shown = html_of("add", PASSED)
    assert "Compare with the workbook" in shown and "<details" in shown
    assert "tl.store(out_ptr + offs, x + y, mask=mask)" in shown and "SOLUTION" not in shown
    assert "Compare with the workbook" in html_of("add_strided", PASSED)  # a stretch task


@pytest.mark.parametrize("state", [WRONG, NOT_ATTEMPTED, SLOW])
def test_nothing_else_gives_the_answer_away(state):
    """Kills: an answer on the card of an open gap."""
    assert "tl.store" not in html_of("add", state)


def test_without_the_course_there_is_nothing_to_compare(monkeypatch, tmp_path):
    """Kills: a pass that fails in the grader, where the exercises are hidden."""
    assert "Compare" not in html_of("somebody_elses", PASSED)
    monkeypatch.setenv("TRITONBOOK_EXERCISES", str(tmp_path / "none"))
    assert "Compare" not in html_of("add", PASSED)
