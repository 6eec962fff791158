"""Drawings of page 90: where a result is wrong, and what to suspect first."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

ROWS, COLUMNS, SIDE = 6, 11, 11.0
# (which cells are wrong, where that is, what to suspect)
PLACES = (
    (lambda m, n: n >= 8, "the last columns", ("a mask, or the last", "tile has no program")),
    (lambda m, n: True, "all, for some sizes", ("masked lanes in a", "sum or a maximum")),
    (lambda m, n: m >= 1, "all rows but row 0", ("a stride, or a number", "in an address")),
    (lambda m, n: m >= 3, "the second batch", ("what the batch adds", "to an address")),
    (
        lambda m, n: (m * 7 + n * 5) % 9 < 2,
        "other cells each time",
        ("a race, or memory", "that nobody wrote"),
    ),
)


def draw_places() -> Picture:
    """Five results with their wrong cells, and below each what to suspect."""
    wide, high, parts = COLUMNS * SIDE, ROWS * SIDE, []
    for number, (wrong, where, suspects) in enumerate(PLACES):
        x0 = number * (wide + 36)
        for m in range(ROWS):
            for n in range(COLUMNS):
                fill = svg.CLASH if wrong(m, n) else svg.FILLS[2]
                parts.append(svg.rect(x0 + n * SIDE, m * SIDE, SIDE, SIDE, fill))
        parts.append(svg.words(x0, high + 20, where, svg.SMALL, bold=True))
        for row, text in enumerate(suspects):
            parts.append(svg.words(x0, high + 37 + 15 * row, text, svg.SMALL))
    said = "; ".join(f"{where}: {' '.join(suspects)}" for _, where, suspects in PLACES)
    text = f"Where a result is wrong says what to suspect first. {said}."
    width = len(PLACES) * (wide + 36) - 16
    return svg.titled(width, high + 58, "Where is it wrong? What to suspect first", text, parts)
