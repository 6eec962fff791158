"""The formulas of known mistakes: each can take every visible case of its task."""

import itertools

import pytest

from tritonbook.checking.oracle import Oracle
from tritonbook.course.cases import checks
from tritonbook.course.exercises import exercises


@pytest.mark.parametrize("page", exercises(), ids=lambda page: page.slug)
def test_each_formula_takes_each_case(page):
    """Kills: a mistake that is never named, because its formula raises where the case is wrong."""
    for key, check in checks(page).items():
        for (code, (formula, _)), case in itertools.product(check.mistakes.items(), check.cases):
            if case.raises is None:
                try:
                    Oracle(check).by_mistake(formula, case, 0)
                except Exception as error:
                    pytest.fail(f"{key}, {code}, {case.note}: {type(error).__name__}: {error}")
