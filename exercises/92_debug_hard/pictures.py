"""Drawings of page 92: the order of programs in the interpreter and on a GPU."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label

STEP, HIGH, GAP = 15.0, 26.0, 12.0


def draw_orders(programs: int = 3, steps: int = 6) -> Picture:
    """When each program runs: one after the other, and all at once."""
    left, parts = 90.0, []
    wide = programs * steps * STEP
    apart = left + wide + 60
    titles = ("in the interpreter", "on a GPU, for example")
    for x0, title in ((left, titles[0]), (apart, titles[1])):
        parts.append(svg.words(x0, 10, title, svg.BODY, bold=True))
    for program in range(programs):
        y = 24 + program * (HIGH + GAP)
        parts.append(svg.words(0, y + 17, f"program {program}", svg.BODY, bold=True))
        begins = (left + program * steps * STEP, apart + (1 - program % 2) * 2 * STEP)
        for x0 in begins:
            for step in range(steps):
                fill = svg.fill_of(program)
                parts.append(svg.rect(x0 + step * STEP, y, STEP, HIGH, fill, svg.INK))
    low = 24 + programs * (HIGH + GAP) + 10
    right = apart + (steps + 2) * STEP
    for x0, x1 in ((left, left + wide), (apart, right)):
        parts.append(svg.line(x0, low - 8, x1, low - 8, tip=True))
        parts.append(svg.words(x0, low + 8, label("time"), svg.SMALL, colour=svg.MUTED))
    text = (
        f"In the interpreter {programs} programs run one after the other, program 0 first. On a "
        "GPU they run at the same time, and any of them may be ahead."
    )
    return svg.titled(right + 50, low + 12, "When does a program run?", text, parts)
