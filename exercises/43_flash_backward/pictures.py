"""Drawings of page 43: which programs own which sums of the score matrix."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_owners(tiles: int, row: int | None = None, column: int = 1) -> Picture:
    """The causal score matrix in tiles, with the walk of one program of each kernel.

    row: the program of the dQ kernel whose walk is shown, by default the last but one. column: that
    of the dK/dV kernel. Raises ValueError where there is no such tile.
    """
    row = tiles - 2 if row is None else row
    if not 0 <= column <= row < tiles:
        raise ValueError(f"row {row} and column {column} do not meet in {tiles} tiles")
    cell, left, top = 46.0, 96.0, 62.0
    end = left + tiles * cell
    parts = [
        svg.words(left + tiles * cell / 2, 12, label("keys"), svg.BODY, "middle", bold=True),
        svg.words(0, top + tiles * cell / 2 + 4, label("queries"), svg.BODY, bold=True),
    ]
    for i in range(tiles):
        for j in range(tiles):
            walked = svg.FILLS[0] if i == row else svg.FILLS[1] if j == column else svg.MANY
            fill = svg.EMPTY if j > i else walked
            x, y = left + j * cell, top + i * cell
            parts.append(svg.rect(x + 2, y + 2, cell - 4, cell - 4, fill, svg.LINE))
    # the two results, beside the row and below the column that add them up
    y, x = top + row * cell, left + column * cell
    parts += [
        svg.rect(end + 44, y + 4, 46, cell - 8, svg.FILLS[0], svg.INK, radius=4),
        svg.words(end + 67, y + cell / 2 + 5, "dQ", svg.BODY, "middle", bold=True),
        svg.line(left + 8, y + cell / 2, end + 40, y + cell / 2, tip=True),
    ]
    low = top + tiles * cell
    parts += [
        svg.rect(x - 22, low + 34, cell + 44, 26, svg.FILLS[1], svg.INK, radius=4),
        svg.words(x + cell / 2, low + 51, "dK and dV", svg.BODY, "middle", bold=True),
        # from its tile on the diagonal
        svg.line(x + cell / 2, top + column * cell + 8, x + cell / 2, low + 30, tip=True),
    ]
    parts += [
        svg.words(left - 8, y + cell / 2 + 4, f"tile {row}", svg.SMALL, "end"),
        svg.words(x + cell / 2, top - 8, f"tile {column}", svg.SMALL, "middle"),
    ]
    text = (
        f"Tiles of P and dS, {tiles} by {tiles}, causal. The program that owns tile {row} of the "
        f"queries walks along {row + 1} tiles of keys and adds up dQ. The program that owns tile "
        f"{column} of the keys walks down {tiles - column} tiles of queries and adds up dK and dV. "
        f"The empty tiles are never touched."
    )
    return svg.titled(end + 92, low + 66, "Two walks over the same tiles", text, parts)
