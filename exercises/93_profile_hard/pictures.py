"""Drawings of page 93: the tiles of a triangle. They show where a is 0, and not what to do."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

SIDE = 22.0


def draw_triangle(tiles: int = 6) -> Picture:
    """Tiles below the diagonal, on it and above it."""
    parts = []
    for row in range(tiles):
        parts.append(svg.words(0, 36 + row * SIDE, f"program {row}", svg.SMALL, bold=True))
        for column in range(tiles):
            fill = svg.FILLS[2] if column < row else svg.FILLS[1] if column == row else svg.EMPTY
            x, y = 74 + column * SIDE, 20 + row * SIDE
            parts.append(svg.rect(x, y, SIDE, SIDE, fill, svg.LINE))
            if column > row:
                parts.append(svg.words(x + SIDE / 2 - 3, y + 15, "0", svg.SMALL, colour=svg.ALARM))
    parts.append(svg.words(74, 11, "tiles of a, from k = 0 on", svg.SMALL))
    needed, right = tiles * (tiles + 1) // 2, 74 + tiles * SIDE + 26
    lines = (
        (svg.FILLS[2], f"{needed - tiles} tiles lie below the diagonal: full"),
        (svg.FILLS[1], f"{tiles} tiles lie on the diagonal: in part 0"),
        (svg.EMPTY, f"{tiles * tiles - needed} tiles lie above it: all 0"),
    )
    for number, (fill, said) in enumerate(lines):
        y = 40 + number * 28
        parts.append(svg.rect(right, y, 15, 15, fill, svg.LINE))
        parts.append(svg.words(right + 23, y + 12, said, svg.BODY))
    text = (
        f"A triangle in {tiles} by {tiles} tiles: {needed - tiles} are full, {tiles} lie on the "
        f"diagonal, and {tiles * tiles - needed} above it hold nothing but 0."
    )
    return svg.titled(right + 290, 24 + tiles * SIDE, "Where is a.tril() 0?", text, parts)
