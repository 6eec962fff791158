"""What a check asks of an answer besides its values stands on the page, in words, before the gap.

Kills: a rule that a learner meets on the card first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tritonbook.checking import Check
from tritonbook.checking.asks import Ask
from tritonbook.course.exercises import Exercise, exercises
from tritonbook.course.page_checks import checks

COURSE = exercises(Path(__file__).parents[2] / "exercises")


def phrases(check: Check) -> Iterator[tuple[str, str]]:
    """(text that it may stand in, what has to stand there) for each rule of a check.

    A rule on programs and tiles may stand in a docstring beside the gap, a launch count may not.
    """
    for ask in check.asks:
        if isinstance(ask, Ask) and ask.words:
            yield "beside" if ask.beside else "page", ask.words


@pytest.mark.parametrize("page", COURSE, ids=lambda page: page.slug)
def test_each_rule_of_a_check_is_said_before_the_gap(page: Exercise):
    said, asked, missing = "", checks(page), []
    for cell in page.cells:
        if cell.kind == "markdown" and "hint" not in cell.tags:
            said += " " + " ".join(cell.source.split())
        if "answer" not in cell.tags:
            continue
        beside = said + " " + cell.source.partition("### BEGIN SOLUTION")[0]
        texts = {"page": said, "beside": beside}
        for text, phrase in phrases(asked[cell.key]):
            if not re.search(phrase, texts[text], re.IGNORECASE):
                missing.append(f"{cell.key}: {phrase}")
    assert not missing
