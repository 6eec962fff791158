"""The first notebook in a real JupyterLab: mouse or keyboard, light and dark."""

from __future__ import annotations

from typing import Any

from .conftest import Lab
from .driving import (
    card,
    cell_with,
    edit_line,
    fill_gap,
    menu,
    open_notebook,
    pale_words,
    run_down_to,
    run_set_up,
    shot,
    tab_to,
    themes,
    type_lines,
)

RIGHT = """
offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
mask = offs < n_elements
x = tl.load(x_ptr + offs, mask=mask)
y = tl.load(y_ptr + offs, mask=mask)
tl.store(out_ptr + offs, x + y, mask=mask)
"""
WITHOUT_MASK = RIGHT.replace("x + y, mask=mask)", "x + y)")


def test_fill_the_gap_run_and_see_card_and_picture(lab: Lab, page: Any) -> None:
    """Kills: pictures without alternative text; words too pale in one of the themes; a gap whose
    stub cannot be typed over; a card that a theme makes unreadable."""
    open_notebook(page, lab, "learner")
    fill_gap(page, "def add_kernel", RIGHT)
    menu(page, "Run", "Run All Cells")
    passed = card(page, "add", "passed")
    card(page, "add_tiled", "not attempted")  # the next gap stops the run here

    tiles = cell_with(page, "show_tiles(add,").locator(".jp-OutputArea img")
    tiles.scroll_into_view_if_needed()
    assert "programs of add_kernel" in tiles.get_attribute("alt")
    assert tiles.evaluate("image => image.complete && image.naturalWidth > 300")
    pictures = page.locator(".jp-OutputArea-output img").all()
    assert len(pictures) >= 2 and all(image.get_attribute("alt") for image in pictures)

    for theme in themes(page):
        for name in ("add: passed", "add_tiled: not attempted"):
            shown = card(page, *name.split(": "))
            shown.scroll_into_view_if_needed()
            assert pale_words(shown) == [], theme
            shot(page, f"{name.split(': ')[0]}_card_{theme}", shown)
        passed.scroll_into_view_if_needed()
        shot(page, f"learner_{theme}")
    shot(page, "tiles", tiles)


def test_keyboard_only_from_a_wrong_mask_to_the_hints_and_a_pass(lab: Lab, page: Any) -> None:
    """Kills: a hint link that leads nowhere; a card that only a mouse can use; a diagnosis that
    does not name the mask."""
    open_notebook(page, lab, "keyboard")
    page.keyboard.press("Escape")
    run_down_to(page, "def add_kernel")
    edit_line(page, "pass")
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    type_lines(page, WITHOUT_MASK)
    page.keyboard.press("Shift+Enter")
    run_down_to(page, "check(add)")
    page.keyboard.press("Shift+Enter")
    wrong = card(page, "add", "wrong")
    assert "add_kernel writes outside out" in wrong.inner_text()
    assert "Those lanes need a mask." in wrong.inner_text()
    assert pale_words(wrong) == []

    page.keyboard.press("ArrowUp")  # back from the cell after the check
    tab_to(page, "a[href='#Hints-for-add']")
    page.keyboard.press("Enter")
    hints = page.get_by_role("heading", name="Hints for add", exact=False).first
    page.wait_for_function("() => location.hash === '' || location.hash === '#Hints-for-add'")
    shot(page, "wrong_mask")
    assert 0 < hints.bounding_box()["y"] < 300, "the link brings the hints to the top"
    tab_to(page, "summary", "Shift+Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")
    shot(page, "hint_open")

    page.keyboard.press("Escape")
    page.keyboard.press("ArrowUp")  # from the hints to the answer above them
    edit_line(page, "tl.store(out_ptr + offs, x + y)")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type(", mask=mask")
    page.keyboard.press("Shift+Enter")
    run_down_to(page, "check(add)")
    page.keyboard.press("Shift+Enter")
    card(page, "add", "passed")


def test_a_box_for_guesses_stays_closed_until_there_is_one(lab: Lab, page: Any) -> None:
    """Kills: a box that gives the answer away, fails with open gaps, or is too pale."""
    open_notebook(page, lab, "guesses")
    page.keyboard.press("Escape")
    run_set_up(page)
    cell = cell_with(page, "from tritonbook import predict")
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    box = page.locator("[role=group][aria-label^='Predict: write your guess']")
    box.wait_for()
    assert "240,000" not in box.inner_text() and "H100" not in box.inner_text()

    cell.locator(".cm-line", has_text="ms that add takes").click()
    page.keyboard.press("End")
    for _ in "None,":
        page.keyboard.press("Backspace")
    page.keyboard.type("0.2,")
    page.keyboard.press("Control+Enter")
    filled = page.locator("[role=group][aria-label='Your predictions: nothing compared, 1 open']")
    filled.wait_for()
    assert "Run the cells above" in filled.inner_text()
    for theme in themes(page):
        filled.scroll_into_view_if_needed()
        assert pale_words(filled) == [], theme
        shot(page, f"guesses_{theme}")
