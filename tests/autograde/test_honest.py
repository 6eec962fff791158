"""Honest answers in odd styles: full marks in the grader, and a pass in the visible check."""

from __future__ import annotations

import pytest
from grading import Grader, needs_walls
from honest import REFUSED, STYLES

from tritonbook.checking import card
from tritonbook.course import exercises
from tritonbook.course.exercises import Exercise
from tritonbook.course.page_checks import run_page_check

styles = pytest.mark.parametrize(("text", "extra"), STYLES.values(), ids=STYLES)


@needs_walls
@styles
def test_the_grader_gives_full_marks(grader: Grader, text: str, extra: str) -> None:
    """Kills: 0 points for a way of writing Python that the notebook runs."""
    verdict = grader.grade("double", extra=extra, double=text)
    assert (verdict.status, verdict.points) == ("PASS", 4), verdict.sentence


@styles
def test_the_visible_check_passes(exercise: Exercise, text: str, extra: str) -> None:
    """Kills: a rule of the notebook's check that is stricter than Python."""
    lines = f"{extra}\n\n{text}".splitlines()
    lines = [line for line in lines if not line.startswith(("%", "!"))]
    future = [line for line in lines if line.startswith("from __future__")]
    lines = [line for line in lines if line not in future]
    module = exercises.load(exercise, {"double": "\n".join(lines)})
    report = run_page_check(module, "double", hidden=False)
    assert report.passed, card.as_text(report)


@needs_walls
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_grader_refuses_the_notebook_refuses(
    grader: Grader, exercise: Exercise, name: str
) -> None:
    """Kills: an answer that passes in the notebook and gets 0, or that gets another reason."""
    text, reason = REFUSED[name]
    module = exercises.load(exercise, {"double": text})
    finding = run_page_check(module, "double", hidden=False).finding
    verdict = grader.grade("double", double=text)
    assert reason in finding.sentence
    assert (verdict.points, verdict.code) == (0, finding.code)
    assert verdict.sentence == finding.sentence
