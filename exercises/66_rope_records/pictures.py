"""Drawings of page 66: a row taken apart in registers, and a program's loads and stores in time."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_split(pairs: int) -> Picture:
    """A row of neighbours, reshaped to a table of pairs, split into both partners."""
    wide, high, left, top = 40.0, 26.0, 4.0, 24.0
    table = left + 2 * pairs * wide + 60
    tiles = table + 2 * wide + 60
    parts = [
        svg.words(left, 12, "a row, loaded whole", svg.BODY, bold=True),
        svg.words(table, 12, "reshape", svg.BODY, bold=True),
        svg.words(tiles, 12, "split", svg.BODY, bold=True),
    ]
    for i in range(2 * pairs):
        pair, partner = divmod(i, 2)
        places = [
            (left + i * wide, top),
            (table + partner * wide, top + pair * high),
            (tiles + pair * wide, top + partner * (high + 10)),
        ]
        for x, y in places:
            parts.append(svg.rect(x, y, wide - 3, high - 3, svg.fill_of(partner), svg.LINE))
            parts.append(svg.words(x + wide / 2 - 2, y + 16, str(i), svg.BODY, "middle"))
    for x in (table, tiles):
        parts.append(svg.line(x - 50, top + 12, x - 12, top + 12, tip=True))
    for partner, name in enumerate((label("first"), label("second"))):
        y = top + partner * (high + 10) + 16
        parts.append(svg.words(tiles + pairs * wide + 6, y, name, svg.SMALL))
    text = (
        f"A row of {2 * pairs} elements becomes a table of {pairs} lines with a pair each. Split, "
        "it is two tiles: the even elements and the odd ones. join and reshape lead back."
    )
    below = top + max(pairs * high, 2 * high + 10)
    back = "The way back: join, then reshape."
    parts.append(svg.words(left, below, back, svg.SMALL))
    height = below + 6
    return svg.titled(tiles + pairs * wide + 56, height, "Neighbours apart", text, parts)


def draw_orders() -> Picture:
    """One program in time: each load before its store, and all loads before all stores."""
    tick, high, left, top = 46.0, 24.0, 110.0, 8.0
    wait, short = 3.0, 0.8
    one_by_one = [("load q", 0.0, wait), ("store q", wait, short)]
    one_by_one += [("load k", wait + short, wait), ("store k", 2 * wait + short, short)]
    ahead = [("load q", 0.0, wait), ("load k", 0.4, wait)]
    ahead += [("store q", wait, short), ("store k", wait + 0.4 + short / 2, short)]
    parts = []
    y = top
    for name, steps in (("one by one", one_by_one), ("loads first", ahead)):
        parts.append(svg.words(0, y + 16, name, svg.BODY, bold=True))
        for of_k in (False, True):
            for words, begin, length in steps:
                if words.endswith("k") == of_k:
                    x = left + begin * tick
                    fill = svg.fill_of(of_k)
                    words = words if length > short else words.split()[0]
                    parts.append(svg.box(x, y, length * tick - 2, high - 2, words, 15, fill))
            y += high
        y += 12
    text = (
        "Two programs in time. The first loads q, stores it, then loads k and stores it: it waits "
        "for memory twice. The second starts both loads, and waits once."
    )
    return svg.titled(
        left + (2 * wait + 2 * short) * tick, y, "Time runs to the right", text, parts
    )
