"""Drawing of pages 30 and 31: the floors that a call passes on its way to a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from tritonbook.seeing import svg
from tritonbook.words import label, listed, say

_HEIGHT, _GAP, _LEFT, _NAME = 54, 22, 0, 150


def draw_floors(title: str, floors: Sequence[tuple[str, str, str]]) -> svg.Picture:
    """The dispatcher as a house: one floor for each (key, what it does, who stands there).

    Floors are given from the top, in the order in which a call passes them. Raises ValueError for
    an empty house.
    """
    if not floors:
        raise ValueError("a house needs at least one floor")
    notes = [max(svg.text_width(does), svg.text_width(who)) for _, does, who in floors]
    width = max(_NAME + max(notes) + 24, 1.1 * svg.text_width(title, svg.TITLE))  # bold is wider
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    middle = _NAME / 2
    y = 34.0
    for number, (key, does, who) in enumerate(floors):
        parts += [
            svg.line(middle, y, middle, y + _GAP - 2, tip=True),
            svg.rect(_LEFT, y + _GAP, width, _HEIGHT),
            svg.rect(_LEFT, y + _GAP, _NAME, _HEIGHT, svg.fill_of(number), svg.INK),
            svg.words(middle, y + _GAP + _HEIGHT / 2 + 4, key, anchor="middle", bold=True),
            svg.words(_NAME + 12, y + _GAP + 22, does, colour=svg.MUTED),
            svg.words(_NAME + 12, y + _GAP + 41, who),
        ]
        y += _GAP + _HEIGHT
    told = (
        say("{key}: {does} ({who})", key=label(key), does=label(does), who=label(who))
        for key, does, who in floors
    )
    text = say("{title}. From the top: {floors}.", title=title, floors=listed(told, "; "))
    return svg.card(width, y, title, text, parts)
