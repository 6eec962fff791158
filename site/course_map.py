"""The map of the course: which page asks for which, as one SVG whose boxes are links."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tritonbook.course.exercises import Exercise
from tritonbook.course.messages import wrapped
from tritonbook.words import say

ROW, WIDE, HIGH, GAP, DOWN, LABEL = 5, 126, 62, 24, 40, 26  # boxes in a row, then pixels


def needed(course: Sequence[Exercise]) -> dict[str, list[str]]:
    """What each page asks for, less what that asks for itself."""
    asked = {page.slug: set(page.header.requires) for page in course}

    def all_of(slug: str) -> set[str]:
        return {x for each in asked.get(slug, ()) for x in {each} | all_of(each)}

    return {
        slug: sorted(wanted - {x for each in wanted for x in all_of(each)})
        for slug, wanted in asked.items()
    }


def drawn(course: Sequence[Exercise], parts: dict[int, str]) -> str:
    """The map as HTML. parts: the name of each, by its ten."""
    places: dict[str, tuple[int, int]] = {}
    labels, y = [], 0
    for ten in sorted({page.number // 10 for page in course}):
        name = html.escape(f"{ten} {parts[ten]}")
        labels.append(f'<text class="part" x="0" y="{y + 16}">{name}</text>')
        y += LABEL
        pages = [page for page in course if page.number // 10 == ten]
        for start in range(0, len(pages), ROW):
            for column, page in enumerate(pages[start : start + ROW]):
                places[page.slug] = (column * (WIDE + GAP), y)
            y += HIGH + (GAP if start + ROW < len(pages) else 0)
        y += DOWN
    lines = [
        f'<path data-from="{before}" data-to="{slug}" d="{_line(places[before], places[slug])}"/>'
        for slug, wanted in needed(course).items()
        for before in wanted
        if before in places
    ]
    boxes = [_box(page, *places[page.slug]) for page in course]
    wide, high = ROW * (WIDE + GAP) + 2, y - DOWN + 2
    return (
        f'<div class="map"><svg viewBox="{-GAP} 0 {wide} {high}" width="{wide}" role="group" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(lines + labels + boxes)}</svg></div>'
    )


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Along a row from box to box, from row to row in a curve; further down beside the boxes of
    the column where it ends."""
    (x, y), (to_x, to_y) = start, end
    if y == to_y and 0 < to_x - x <= WIDE + GAP:
        return f"M{x + WIDE} {y + HIGH / 2}H{to_x}"
    if y == to_y:
        x, to_x, over = x + WIDE / 2, to_x + WIDE / 2, y - 14
        return f"M{x} {y}C{x} {over} {to_x} {over} {to_x} {y}"
    x, y, beside, to_x = x + WIDE / 2, y + HIGH, to_x - GAP / 2, to_x + WIDE / 2
    if to_y - y < HIGH + GAP:
        bend = (to_y - y) / 2
        return f"M{x} {y}C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}"
    turn = GAP / 2
    return (
        f"M{x} {y}C{x} {y + turn} {beside} {y} {beside} {y + 2 * turn}"
        f"V{to_y - 2 * turn}C{beside} {to_y - turn} {to_x} {to_y - 2 * turn} {to_x} {to_y}"
    )


def _box(page: Exercise, x: int, y: int) -> str:
    words = wrapped(say(page.header.title), "", width=18)
    minutes = say("{minutes} min", minutes=page.header.minutes)
    rows = "".join(
        f'<text x="{x + 8}" y="{y + 30 + 13 * row}">{html.escape(each)}</text>'
        for row, each in enumerate(words)
    )
    return (
        f'<a href="notebooks/{page.slug}.html" data-page="{page.slug}">'
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text class="number" x="{x + 8}" y="{y + 16}">{page.number:02}</text>'
        f'<text class="minutes" x="{x + WIDE - 8}" y="{y + 16}" text-anchor="end">'
        f"{minutes}</text>{rows}</a>"
    )
