"""Drawings of page 42: the rows of a tile whose heads share their keys."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import EMPTY, FILLS, INK, LINE, MUTED, SMALL, Picture
from tritonbook.words import label


def draw_group_tile(group: int, rows: int, keys: int, offset: int) -> Picture:
    """A tile of (position, head) rows against the keys that each of them sees.

    group: heads that share their keys. offset: keys from the cache, so position p sees
    p + 1 + offset of them.
    """
    cell, high, left, top = 34, 20, 170, 30
    parts = [svg.words(0, 10, "row: position, head"), svg.words(left, 10, f"{keys} keys, causal")]
    for row in range(rows):
        position, head = row // group, row % group
        y = top + row * high
        parts.append(svg.words(0, y + 14, f"{row:2}:"))
        parts.append(svg.words(34, y + 14, f"position {position}"))
        parts.append(svg.rect(104, y + 2, 54, high - 4, svg.fill_of(head), LINE))
        parts.append(svg.words(131, y + 14, f"head {head}", SMALL, "middle"))
        for key in range(keys):
            seen = key < position + 1 + offset
            parts.append(
                svg.rect(
                    left + key * cell + 1,
                    y + 1,
                    cell - 2,
                    high - 2,
                    FILLS[2] if seen else EMPTY,
                    LINE,
                )
            )
        if row and not head:
            parts.append(svg.line(0, y, left + keys * cell, y, colour=MUTED))
    under = top + rows * high + 20
    parts += [
        svg.rect(left, under - 11, 14, 14, FILLS[2], LINE),
        svg.words(left + 20, under, label("seen")),
    ]
    parts += [
        svg.rect(left + 80, under - 11, 14, 14, EMPTY, LINE),
        svg.words(left + 100, under, "not seen"),
    ]
    last = (rows - 1) // group
    text = (
        f"{rows} rows of a tile, {group} heads for each position. Row r is position r // {group} "
        f"and head r % {group}. All heads of a position see the same keys: {1 + offset} at "
        f"position 0, {last + 1 + offset} at position {last}."
    )
    parts.append(svg.words(0, under, f"r // {group} and r % {group}", colour=INK))
    return svg.titled(
        left + keys * cell, under + 6, "One program, all heads of a group", text, parts
    )
