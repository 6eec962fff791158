"""What the check of programs that wait says of a wait in the wrong place."""

from __future__ import annotations

import needs

from tritonbook.course.cases import run_page_check
from tritonbook.course.exercises import get, load

WAIT = "    wait_for_all(arrived_ptr + row, PIECES)\n"
STORES = "    tl.store(mean_ptr + pid, mean)\n    tl.store(m2_ptr + pid, m2)\n"


@needs.interpreter
def test_a_wait_before_the_stores_is_named():
    """Kills: an earlier launch blamed for what another program of this launch stores later."""
    text = get("60_norm_records").answers()["norm_together"].source
    assert text.count(WAIT) == text.count(STORES) == 1
    text = text.replace(WAIT, "").replace(STORES, WAIT + STORES)
    page = load("60_norm_records", {"norm_together": text})
    found = run_page_check(page, "norm_together", hidden=False).finding
    assert found.code == "reads-unwritten"
    assert "A program of this launch stores it later" in found.sentence
