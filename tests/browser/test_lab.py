"""What `make lab` opens: a page as a learner finds it, after a wrong answer and after a right one,
on a wide and on a narrow screen, in both themes."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Lab
from .driving import card, cell_with, fill_gap, open_page, pale_words, run_set_up, shot, themes
from .test_learner import RIGHT, WITHOUT_MASK

WIDTHS = (1280, 800)


@pytest.fixture(params=WIDTHS, ids=lambda width: f"{width}px")
def wide(request: pytest.FixtureRequest, page: Any) -> int:
    page.set_viewport_size({"width": request.param, "height": 900})
    return request.param


def test_an_untouched_page(learners_lab: Lab, page: Any, wide: int) -> None:
    """Kills: a double click that lays all hints open; menus that only an instructor needs; a
    locked cell that swallows keys and bears no sign."""
    open_page(page, learners_lab)
    furniture = page.locator("body").inner_text()
    for word in ("Nbgrader", "Create Assignment", "Validate", "Formgrader", "Jupytext"):
        assert word not in furniture, word
    text = page.locator(".jp-MarkdownCell").filter(has_text="Hints for add").first
    text.scroll_into_view_if_needed()
    text.dblclick()
    page.wait_for_timeout(500)
    assert text.locator(".jp-RenderedMarkdown").is_visible()
    assert not text.locator("details").first.evaluate("hint => hint.open")

    run_set_up(page)
    check = cell_with(page, "check(add)").first
    check.scroll_into_view_if_needed()
    check.locator(".cm-content").click()
    page.keyboard.type("x")
    assert check.locator(".cm-content").inner_text() == "check(add)"
    sign = "cell => getComputedStyle(cell.querySelector('.jp-InputPrompt'), '::after').content"
    assert check.evaluate(sign) == '"locked"'
    assert cell_with(page, "def add_kernel").evaluate(sign) == "none"
    for theme in themes(page):
        shot(page, f"untouched_{wide}_{theme}")
        page.locator(".jp-MarkdownCell").first.scroll_into_view_if_needed()
        shot(page, f"first_screen_{wide}_{theme}")
        check.scroll_into_view_if_needed()


@pytest.mark.parametrize(
    ("lines", "state"), [(WITHOUT_MASK, "wrong"), (RIGHT, "passed")], ids=["wrong", "right"]
)
def test_a_card(learners_lab: Lab, page: Any, wide: int, lines: str, state: str) -> None:
    """Kills: a card or a map of progress that runs through its own border on a narrow screen."""
    name = f"{state}_{wide}"
    learners_lab.notebook("01_vector_add", name)
    open_page(page, learners_lab, name)
    run_set_up(page)
    fill_gap(page, "def add_kernel", lines)
    for text in ("def check_inputs", "def add_kernel", "check(add)"):
        cell_with(page, text).first.locator(".jp-InputPrompt").click()
        page.keyboard.press("Control+Enter")
    card(page, "add", state)
    for theme in themes(page):
        shown = card(page, "add", state)
        shown.scroll_into_view_if_needed()
        assert pale_words(shown) == [], theme
        assert within_border(shown), theme
        shot(page, f"card_{name}_{theme}", shown)


def within_border(box: Any) -> bool:
    """Whether nothing in a box is wider than the box, nor the box wider than what it stands in."""
    return box.evaluate(
        """box => {
          const edge = box.getBoundingClientRect().right;
          const all = [...box.querySelectorAll('*')].filter(e => !e.closest('pre'));
          const place = box.closest('.jp-OutputArea-output').getBoundingClientRect().right;
          return edge <= place + 1
            && all.every(e => e.getBoundingClientRect().right <= edge + 1);
        }"""
    )
