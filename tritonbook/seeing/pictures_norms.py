"""Pictures of the pages about rows: who reads which part of which row.

Numbers in the cells say what the colours say.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import svg

_CELL, _GAP = 22, 34


def _table(owners: Sequence[Sequence[int]], tile: int, left: float, top: float) -> list[str]:
    """Cells of one matrix: `owners` holds program numbers, `tile` columns share one box."""
    parts = []
    for m, row in enumerate(owners):
        for first in range(0, len(row), tile):
            width = min(tile, len(row) - first) * _CELL
            x, y = left + first * _CELL, top + m * _CELL
            fill = svg.fill_of(row[first])
            parts.append(svg.rect(x + 1, y + 1, width - 2, _CELL - 2, fill, svg.INK))
            parts.append(svg.words(x + width / 2, y + 15, str(row[first]), svg.SMALL, "middle"))
    return parts


def draw_schemes() -> svg.Picture:
    """The four ways to divide RMSNorm's work; the number in a tile is the program that takes it."""
    panels = [
        ("1: a row each", [[m] * 8 for m in range(3)], 8),
        ("2: a row each, in tiles", [[m] * 8 for m in range(3)], 2),
        ("3: pieces of a row", [[4 * m + n // 2 for n in range(8)] for m in range(2)], 2),
        ("4: several rows each", [[m // 4] * 3 for m in range(8)], 3),
    ]
    parts, left, height = [], 0.0, 0
    for title, owners, tile in panels:
        parts.append(svg.words(left, 12, title, bold=True))
        parts += _table(owners, tile, left, 24)
        height = max(height, 24 + len(owners) * _CELL)
        left += max(len(owners[0]) * _CELL, svg.text_width(title)) + _GAP
    text = (
        "Four matrices. Scheme 1: 3 rows, programs 0, 1, 2 take one row each. Scheme 2: the same, "
        "each row in 4 tiles that one program walks through. Scheme 3: 2 rows in 4 pieces each, "
        "programs 0 to 3 share the first row, 4 to 7 the second. Scheme 4: 8 short rows, program 0 "
        "takes the first four, program 1 the others."
    )
    return svg.titled(left - _GAP, height, "Four schemes of RMSNorm", text, parts)
