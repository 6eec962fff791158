"""A check of several ranks on a machine with a GPU: it is made in the interpreter beside."""

import pytest

from tritonbook.course import causes
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import checks

PAGE, KEY = "70_all_reduce", "sum_ranks"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("", "", "passed"), ("    rank.barrier()\n    return out", "    return out", "overwritten")],
)
def test_the_report_comes_from_the_interpreter(monkeypatch, old: str, new: str, code: str):
    """Kills: a check that launches on one GPU what waits for a second, and never comes back."""
    exercise = get(PAGE)
    answer = exercise.answers()[KEY].source
    assert old in answer
    module = load(exercise, {KEY: answer.replace(old, new)} if old else None)
    monkeypatch.setattr(causes, "INTERPRET", False)
    beside = vars(module).__getitem__
    check = checks(exercise)[KEY]
    report = causes.judged(exercise, KEY, module.sum_ranks, check, False, beside)
    assert (report.finding.code if report.finding else "passed") == code
    assert report.passed == (code == "passed") and report.key == KEY and report.cases
