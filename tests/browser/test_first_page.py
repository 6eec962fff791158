"""Page 00 as somebody meets it who has never written a kernel: the first minutes, in a browser."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Lab
from .driving import card, cell_with, open_notebook, pale_words, run_set_up, shot, themes


def write(page: Any, cell: Any, line: str) -> None:
    """Put a line in the place of the gap's `pass`, or of what was written there before."""
    cell.locator(".cm-line").filter(has_text="# YOUR CODE HERE").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    page.keyboard.type(line)


def run(page: Any, text: str) -> Any:
    """Run the cell whose source holds `text`; returns it."""
    cell = cell_with(page, text).first
    cell.locator(".jp-InputPrompt").first.click()
    page.keyboard.press("Control+Enter")
    return cell


@pytest.mark.parametrize("width", [800, 1280])
def test_the_first_thing_typed_is_a_line_of_a_kernel(lab: Lab, page: Any, width: int) -> None:
    """Kills: prose, a doctor or a warm-up before the first gap; a first picture that an open gap
    turns into an error; a card or picture that a narrow window or a theme spoils."""
    page.set_viewport_size({"width": width, "height": 900})
    open_notebook(page, lab, f"first_{width}", "00_start_here")
    cell = cell_with(page, "def add_one_kernel").first
    gap = cell.locator(".cm-line", has_text="pass").first.bounding_box()
    assert gap
    if width == 1280:
        assert gap["y"] < 900, "the gap is on the first screen"
    shot(page, f"first_screen_{width}")
    run_set_up(page)

    run(page, "def add_one_kernel")
    run(page, "check(add_one)")
    card(page, "add_one", "not attempted")
    run(page, "show_tiles(add_one").locator(".jp-OutputArea img").wait_for()
    shot(page, f"first_untouched_{width}")

    write(page, cell, "x = x + 2")
    run(page, "def add_one_kernel")
    run(page, "check(add_one)")
    assert "2 was added, not 1." in card(page, "add_one", "wrong").inner_text()
    shot(page, f"first_wrong_{width}")

    write(page, cell, "x = x + 1")
    run(page, "def add_one_kernel")
    run(page, "check(add_one)")
    passed = card(page, "add_one", "passed")
    picture = run(page, "show_tiles(add_one").locator(".jp-OutputArea img")
    picture.wait_for()
    assert "3 programs of add_one_kernel" in picture.get_attribute("alt")
    for theme in themes(page):
        passed.scroll_into_view_if_needed()
        assert pale_words(passed) == [], theme
        shot(page, f"first_passed_{width}_{theme}")
