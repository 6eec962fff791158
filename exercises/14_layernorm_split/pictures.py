"""Drawings of page 14: one row, several programs, three launches."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.words import later


def draw_three_launches() -> svg.Picture:
    """LayerNorm of one row by four programs: statistics, merge, normalise."""
    width, top, step, middle = 104, 36, 76, 186
    parts = []
    stages = (later("1: statistics"), later("2: merge"), later("3: normalise"))
    for number, stage in enumerate(stages):
        parts.append(svg.words(0, top + number * step + 19, stage, bold=True))
    left = 116
    for piece in range(4):
        x = left + piece * width
        box, centre = width - 12, x + (width - 12) / 2
        for number, words in ((0, "n, mean, M2"), (2, "y")):
            y = top + number * step
            parts.append(svg.box(x, y, box, 30, words, 19, svg.fill_of(piece)))
            parts.append(svg.words(x + 4, y - 5, f"program {piece}", svg.SMALL))
        parts.append(svg.line(centre, top + 31, left + middle + 12, top + step - 2, tip=True))
        parts.append(
            svg.line(left + middle + 12, top + step + 31, centre, top + 2 * step - 18, tip=True)
        )
    x = left + middle - 46
    parts.append(svg.box(x, top + step, 116, 30, "mean, rstd", 19, svg.fill_of(0)))
    parts.append(svg.words(left, 12, "one row, in four pieces", bold=True))
    text = (
        "Three launches for one row in four pieces. First, programs 0 to 3 each compute count, "
        "mean and M2 of their piece. Second, one program merges the four into mean and rstd. "
        "Third, programs 0 to 3 each normalise their piece."
    )
    title = "LayerNorm in three launches"
    return svg.titled(left + 4 * width, top + 2 * step + 32, title, text, parts)
