"""Every fault ends as declared; no cheat earns a point."""

from __future__ import annotations

import pytest
from corpus import CHEATS, FAULTS, Item
from grading import Grader, needs_walls

from autograde.judge.work import Verdict

pytestmark = needs_walls


def _grade(grader: Grader, item: Item) -> Verdict:
    return grader.grade("double", item.seconds, item.extra, double=item.text)


@pytest.mark.parametrize("item", FAULTS, ids=lambda item: item.name)
def test_fault(grader: Grader, item: Item) -> None:
    """Kills: a fault that earns points, ends as another status, or ends the grader."""
    verdict = _grade(grader, item)
    assert verdict.status in item.statuses, verdict.sentence
    assert verdict.points == (None if verdict.status == "INFRA" else 4 * (verdict.status == "PASS"))


@pytest.mark.parametrize("item", CHEATS, ids=lambda item: item.name)
def test_cheat(grader: Grader, item: Item) -> None:
    """Kills: a cheat that scores above the honest wrong answer, which has 0."""
    verdict = _grade(grader, item)
    assert verdict.points == 0, verdict.code
    assert verdict.status in item.statuses, verdict.sentence
