"""Answers of several ranks: the grader sees their results alone, and judges as the page does."""

from __future__ import annotations

import pytest
from grading import Grader, needs_walls, solutions

from tritonbook.course.exercises import get

pytestmark = needs_walls


@pytest.mark.slow
def test_what_the_page_refuses_is_refused() -> None:
    """Kills: one tolerance for all dtypes, by which a float32 sum may be off by 1 %; a reference in
    half precision, by which a right answer is wrong (71, in `test_solutions_pass.py`)."""
    grader, right = Grader(get("70")), solutions(get("70"))["sum_ranks"]
    assert grader.grade("sum_ranks", sum_ranks=right).status == "PASS"
    float32 = "out_ptr.dtype.element_ty == tl.float32"
    off = right.replace("acc, mask", f"acc * (1.01 if {float32} else 1), mask")
    assert off != right
    found = grader.grade("sum_ranks", sum_ranks=off)
    assert (found.status, found.points) == ("FAIL", 0), found.sentence
