"""The formulas of known mistakes: each can take every visible case of its task."""

import pytest

from tritonbook.checking.oracle import Oracle
from tritonbook.course.cases import checks
from tritonbook.course.exercises import exercises


@pytest.mark.parametrize("page", exercises(), ids=lambda page: page.slug)
def test_each_formula_takes_each_case(page):
    """Kills: a mistake that is never named, because its formula raises where the case is wrong."""
    for key, check in checks(page).items():
        oracle = Oracle(check)
        for case in check.cases:
            if case.raises is not None or (
                check.triton and any(not v.numel() for v in case.sample().values())
            ):
                continue
            for code, (formula, _) in check.mistakes.items():
                try:
                    oracle.by_mistake(formula, case, 0)
                except Exception as error:
                    pytest.fail(f"{key}, {code}, {case.note}: {type(error).__name__}: {error}")
