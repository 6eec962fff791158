"""The class in nbgrader's own web page: a submission, its card, a remark, a point, the list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from autograde.classroom import cli, demo
from autograde.classroom.record import open_gradebook
from autograde.classroom.samples import sample_class
from tests.autograde.grading import exported, until
from tritonbook.course.exercises import Exercise

from .conftest import SMALL, Lab
from .driving import menu, pale_words, shot

NAME = SMALL.parent.name
CLASS = ("s1_right", "s4_no_mask")
# What is typed before nbgrader's page has fetched points and remarks is not kept.
LISTENING = """() => new Promise(ready => {
  const look = () => formgrader.grades?.loaded && formgrader.comments?.loaded
    ? ready() : setTimeout(look, 50);
  look();
})"""


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as undone:
        yield undone


@pytest.fixture(scope="module")
def graded(lab: Lab, patch: pytest.MonkeyPatch) -> Lab:
    """Two submissions of a small assignment, released and graded in the lab's folder."""
    patch.setenv("TRITONBOOK_EXERCISES", str(SMALL.parents[1]))  # where its page is
    samples = [s for s in sample_class(Exercise(SMALL)) if s.student in CLASS]
    demo.release(lab.folder, NAME)
    demo.submit(lab.folder, NAME, samples)
    assert cli.main(["grade", NAME, "--course", str(lab.folder), "--force"]) == 0
    return lab


def test_a_submission_with_its_card_gets_a_remark_and_a_point(graded: Lab, page: Any) -> None:
    """Kills: cards that nbgrader's page strips or hides; a course folder that its page does not
    find; extra points that do not reach the list."""
    page.goto(f"{graded.url}/lab?reset")
    menu(page, "Nbgrader", "Formgrader")
    form = page.frame_locator("iframe[src*=formgrader]")
    form.get_by_role("link", name="Manual Grading").click()
    # A click does not wait for the next page, so each link is one that only its own page has.
    form.locator(f"a[href$='/gradebook/{NAME}']").click()
    form.locator(f"a[href$='/gradebook/{NAME}/{NAME}']").click()
    form.locator("tr", has_text=CLASS[1]).locator("td.reveal .name-hidden").click()
    shot(page, "formgrader_class")
    form.get_by_role("link", name=CLASS[1]).click()

    shown = form.locator('[role=group][aria-label^="double: wrong"]').first
    shown.scroll_into_view_if_needed()
    assert "double_kernel writes outside out" in shown.inner_text()
    assert pale_words(shown) == []
    shot(page, "formgrader_card")
    form.locator("body").evaluate(LISTENING)
    form.locator("#answer-double-comment").fill("The mask belongs on the store too.")
    form.locator("#check-double_extra_credit").fill("1")
    form.locator("#check-double_extra_credit").press("Tab")
    # The page saves a moment after typing.
    until(lambda: _kept(graded, CLASS[1]) == (["The mask belongs on the store too."], 1))
    shot(page, "formgrader_graded")
    assert exported(graded.folder) == {CLASS[0]: 6, CLASS[1]: 2 + 1}


def _kept(lab: Lab, student: str) -> tuple[list[str], float]:
    """The remarks and the extra points in the gradebook."""
    with open_gradebook(lab.folder) as book:
        notebook = book.find_submission_notebook(NAME, NAME, student)
        remarks = [each.manual_comment for each in notebook.comments if each.manual_comment]
        return remarks, sum(grade.extra_credit or 0 for grade in notebook.grades)
