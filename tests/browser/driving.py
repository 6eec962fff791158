"""How a test drives a notebook in JupyterLab, and how it measures what is on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.seeing.test_pictures import contrast

from .conftest import OUT, Lab

# For every piece of text inside an element: its words, colour and the colour behind it, as they
# are on the screen. Layers of half-transparent backgrounds and opacity are put on top of each
# other, from the page upwards.
RENDERED_TEXT = """
root => {
  const parse = text => {
    const n = text.match(/[\\d.]+/g).map(Number);
    return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1];
  };
  const over = (front, alpha, back) => back.map((b, i) => front[i] * alpha + b * (1 - alpha));
  const found = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const words = walk.currentNode.textContent.trim();
    if (!words) continue;
    const chain = [];
    for (let e = walk.currentNode.parentElement; e; e = e.parentElement) chain.unshift(e);
    let back = [255, 255, 255], opacity = 1;
    for (const e of chain) {
      const style = getComputedStyle(e), [r, g, b, a] = parse(style.backgroundColor);
      opacity *= Number(style.opacity);
      back = over([r, g, b], a * opacity, back);
    }
    const [r, g, b, a] = parse(getComputedStyle(chain[chain.length - 1]).color);
    found.push([words, over([r, g, b], a * opacity, back), back]);
  }
  return found;
}
"""


def _hex(colour: list[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in colour)


def pale_words(element: Any) -> list[tuple[str, float]]:
    """Text inside `element` whose contrast is under 4.5:1, with its contrast."""
    found = element.evaluate(RENDERED_TEXT)
    measured = [(words, contrast(_hex(front), _hex(back))) for words, front, back in found]
    assert measured, "there is no text to measure"
    return [(words, ratio) for words, ratio in measured if ratio < 4.5]


def open_notebook(page: Any, lab: Lab, name: str, slug: str = "01_vector_add") -> None:
    """Open a copy of a learner's notebook and wait until its kernel is there."""
    page.goto(lab.address(lab.notebook(slug, name)))
    # The status bar names the kernel only once it is connected; cells run earlier are dropped.
    page.locator(".jp-StatusBar-TextItem", has_text="(ipykernel) | Idle").wait_for()


def open_page(page: Any, lab: Lab, slug: str = "01_vector_add") -> None:
    """Open a page as `make lab` lays it out, as it is."""
    page.goto(lab.address(f"{slug}.ipynb"))
    page.locator(".jp-StatusBar-TextItem", has_text="(ipykernel) | Idle").wait_for()


def fill_gap(page: Any, text: str, lines: str) -> None:
    """Put lines in the place of the `pass` in the cell that holds `text`."""
    gap = cell_with(page, text).locator(".cm-line", has_text="pass")
    gap.scroll_into_view_if_needed()
    gap.click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+End")
    type_lines(page, lines)


def cell_with(page: Any, text: str) -> Any:
    """The code cell whose source holds `text`."""
    return page.locator(".jp-CodeCell").filter(
        has=page.locator(".jp-InputArea-editor", has_text=text)
    )


def card(page: Any, key: str, state: str) -> Any:
    """The card of a check once it says `state`; waits for it."""
    found = page.locator(f'[role=group][aria-label^="{key}: {state}"]').last
    found.wait_for()
    return found


def type_lines(page: Any, lines: str) -> None:
    """Type lines of code where the cursor is; the editor indents each like the one before."""
    rows = lines.strip().splitlines()
    for number, row in enumerate(rows):
        page.keyboard.type(row.strip())
        if number < len(rows) - 1:
            page.keyboard.press("Enter")


def active(page: Any) -> Any:
    """The cell that the keyboard acts on."""
    return page.locator(".jp-Notebook .jp-Cell.jp-mod-active")


def run_down_to(page: Any, text: str) -> None:
    """Shift+Enter, cell after cell, until the active cell holds `text`."""
    for _ in range(60):
        if text in active(page).inner_text():
            return
        page.keyboard.press("Shift+Enter")
        page.wait_for_timeout(50)
    raise AssertionError(f"no cell holds {text!r}")


def run_set_up(page: Any) -> None:
    """Run the set-up cell, which is folded: a bar stands where its source would be."""
    cell = page.locator(".jp-CodeCell").first
    cell.locator(".jp-Placeholder").first.wait_for()
    cell.locator(".jp-InputPrompt").first.click()
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-OutputArea-output").first.wait_for()


def edit_line(page: Any, text: str) -> None:
    """Enter the active cell and go to the line that is `text`, by keyboard."""
    lines = [line.strip() for line in active(page).locator(".cm-line").all_inner_texts()]
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Home")
    for _ in range(lines.index(text)):
        page.keyboard.press("ArrowDown")


def tab_to(page: Any, selector: str, key: str = "Tab") -> None:
    """Press Tab (or Shift+Tab) until the element with the focus matches `selector`."""
    for _ in range(40):
        page.keyboard.press(key)
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"{key} does not reach {selector}")


def menu(page: Any, *names: str) -> None:
    """Click through JupyterLab's menus."""
    for name in names:
        labels = page.locator(".lm-MenuBar-itemLabel, .lm-Menu-itemLabel")
        labels.filter(has_text=re.compile(f"^{name}$")).click()


def themes(page: Any) -> Iterator[str]:
    """JupyterLab's light theme, and then its dark one, which a server remembers."""
    for name, light in (("light", "true"), ("dark", "false")):
        menu(page, "Settings", "Theme", f"JupyterLab {name.capitalize()}")
        page.wait_for_selector(f"body[data-jp-theme-light={light}]", state="attached")
        yield name


def shot(page: Any, name: str, element: Any = None) -> None:
    """Keep a picture of the page, or of one element, to be looked at."""
    page.wait_for_timeout(300)  # cells that have just come into view are drawn a moment later
    (element or page).screenshot(path=OUT / f"{name}.png")
