"""Page 21: the order that its check sees."""

from __future__ import annotations

import needs

from tritonbook.course.cases import load_cases
from tritonbook.course.exercises import reference


@needs.interpreter
def test_the_check_sees_which_program_takes_which_tile():
    """Kills: an order read off the wrong stores, which would accept any."""
    page = load_cases("matmul_grouped")
    want = [page.swizzle_ref(pid, 11, 3, page.GROUP) for pid in range(33)]
    assert page._program_of_each_tile(reference("matmul_grouped")) == want
    by_column = [divmod(pid, 11)[::-1] for pid in range(33)]
    assert page._program_of_each_tile(reference("matmul")) == by_column
