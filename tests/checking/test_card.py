"""The card: verdict, cause and cases in sight, the rest folded; the workbook's answer on a pass."""

import json
import re

import pytest
import torch

from tritonbook.checking import Finding, Tolerance, card
from tritonbook.checking.compare import compare_values
from tritonbook.checking.places import first_bad
from tritonbook.checking.report import NOT_ATTEMPTED, PASSED, WRONG, CaseResult, Report

ANSWER = "tl.store(out_ptr + offs, x < y, mask=mask)"


def report_of(state, finding=None, stderr=""):
    rows = [CaseResult("one tile", "x 64", "passed" if state == PASSED else "wrong")]
    versions = {"gpu": "interpreter"}
    return Report("add", state, finding, rows, [], {"compile": "not run: x"}, versions, 0.0, stderr)


def test_a_pass_may_be_compared_with_the_workbooks_answer():
    shown = card.as_html(report_of(PASSED), ANSWER)
    assert "Compare with the workbook" in shown and "<details" in shown
    assert "x &lt; y, mask=mask)" in shown
    assert card.bundle(report_of(PASSED), ANSWER)["text/html"] == shown
    assert "Compare" not in card.as_html(report_of(PASSED))


@pytest.mark.parametrize("state", [WRONG, NOT_ATTEMPTED])
def test_nothing_else_gives_the_answer_away(state):
    """Kills: an answer on the card of an open gap, or in what a grader keeps of it."""
    assert "tl.store" not in json.dumps(card.bundle(report_of(state), ANSWER))


def test_what_was_launched_and_measured_is_folded():
    """Kills: a card whose cause stands among gates, seconds and warnings."""
    finding = Finding("race", "Two programs store to one place.")
    shown = card.as_html(report_of(WRONG, finding, "look at me"))
    in_sight, _, folded = shown.partition("<details")
    assert "Two programs store" in in_sight and "one tile" in in_sight
    assert "#Hints-for-add" in in_sight
    for hidden in ("not compiled for a GPU: x", "interpreter", "look at me"):
        assert hidden in folded and hidden not in in_sight


def test_what_is_said_first_stands_before_the_finding():
    report = report_of(WRONG, Finding("race", "Two programs store to one place."))
    for shown in map(card.bundle(report, "", "Was the cell run?").get, ("text/plain", "text/html")):
        assert shown.index("Was the cell run?") < shown.index("Two programs")


def test_a_column_without_an_entry_is_left_out():
    """Kills: an empty "largest error" beside every case of a plain function."""
    report = report_of(PASSED)
    assert "largest error" not in card.as_html(report)
    report.cases[0].absolute_error = 1e-7
    assert "largest error" in card.as_html(report)


def test_of_many_cases_that_passed_the_first_are_in_sight():
    """Kills: a pass that fills a screen; a failure that hides one of its cases."""
    for state in (PASSED, WRONG):
        report = report_of(state)
        report.cases *= 13
        in_sight, *folded = card.as_html(report).split("<details")
        assert in_sight.count("one tile") == (10 if state == PASSED else 13)
        assert sum(part.count("one tile") for part in folded) == (3 if state == PASSED else 0)


def test_where_errors_sit_is_a_bar_that_a_narrow_column_does_not_break():
    """Kills: a strip of signs that is broken into three lines at 800 px; a bar without a word."""
    report = report_of(WRONG)
    assert "A bar shows" not in card.as_html(report)
    report.cases[0].first_bad = "first at [20]: got 1, expected 2"
    report.cases[0].bad_strip = [0.0] * 20 + [0.3] + [1.0] * 11
    shown = card.as_html(report)
    assert shown.count("A bar shows where the errors sit") == 1
    (bar,) = re.findall(r'<span style="display:flex[^>]*>(.*?)</span>', shown)
    assert re.findall(r"flex:(\d+).*?opacity:([\d.]+)", bar) == [
        ("20", "0"),
        ("1", "0.5"),
        ("11", "1"),
    ]


@pytest.mark.parametrize(
    ("unwritten", "words"),
    [(True, "first at [1, 2]: never written, expected 6"), (False, "at [1, 2]: got 5, expected 6")],
)
def test_the_first_wrong_element_is_told_in_plain_words(unwritten, words):
    """Kills: "first at [(1, 2)]: got never written"."""
    want = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
    found = compare_values(torch.where(want == 6, 5, want), want, Tolerance(1e-6))
    found.unwritten = torch.full_like(found.bad, unwritten)
    assert words in first_bad(found)
