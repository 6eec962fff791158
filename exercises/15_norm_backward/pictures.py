"""Drawings of page 15: how rows become one sum a column, in two stages."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_two_stages(rows: int, programs: int) -> Picture:
    """Rows p, p + programs, ... are program p's; it adds them up in a buffer's row of its own."""
    wide, high, gap = 150.0, 26.0, 90.0
    title = f"{rows} rows, {programs} programs: sums down the columns"
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    top = 58.0
    lefts = [step * (wide + gap) for step in range(3)]
    heads = (f"dy · x_hat, {rows} rows", f"partials, {programs} rows", "dw")
    for left, head in zip(lefts, heads, strict=True):
        parts.append(svg.words(left, top - 12, head, 12, bold=True))
    middle = top + rows * high / 2
    first = middle - programs * high / 2  # of the buffer's rows
    for row in range(rows):
        owner, y = row % programs, top + row * high
        words = f"row {row}: program {owner}"
        parts.append(svg.box(lefts[0], y, wide, high, words, 17.5, svg.fill_of(owner), "#8b949e"))
        end = first + (owner + 0.5) * high
        parts.append(svg.line(lefts[0] + wide + 3, y + high / 2, lefts[1] - 5, end, tip=True))
    for program in range(programs):
        y = first + program * high
        words = f"sum of program {program}"
        parts.append(svg.box(lefts[1], y, wide, high, words, 17.5, svg.fill_of(program), "#8b949e"))
        parts.append(svg.line(lefts[1] + wide + 3, y + high / 2, lefts[2] - 5, middle, tip=True))
    parts.append(svg.rect(lefts[2], middle - high / 2, wide, high, svg.CARD, svg.INK))
    parts.append(svg.words(lefts[2] + wide / 2, middle + 4.5, "all rows", svg.SMALL, "middle"))
    bottom = top + rows * high + 24
    stages = ((lefts[0] + wide, "stage one"), (lefts[1] + wide, "stage two"))
    for x, stage in stages:
        parts.append(svg.words(x + gap / 2, bottom, stage, 12, "middle", bold=True))
    taken = "; ".join(
        f"program {p} adds up rows {', '.join(str(r) for r in range(p, rows, programs))}"
        for p in range(programs)
    )
    text = f"{title}. Stage one: {taken}. Stage two adds up the {programs} rows of the buffer."
    return svg.card(lefts[2] + wide, bottom + 6, title, text, parts)
