"""The drawing of page 67: what Python and the GPU do while one short call follows another."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label

ASKS, ALLOCATES, STARTS, RUNS = 10.0, 2.0, 4.0, 2.0  # microseconds, about


def draw_calls() -> Picture:
    """Two calls as they are, and the same two replayed: Python above, the GPU below."""
    tick, high, left, top = 14.0, 22.0, 84.0, 6.0
    parts, y = [], top
    for name, questions in (("as they are", ASKS), (label("replayed"), 3.0)):
        parts.append(svg.words(0, y + 15, name, svg.BODY, bold=True))
        parts.append(svg.words(0, y + high + 15, "GPU", svg.SMALL))
        begin = 0.0
        for _ in range(2):
            for words, length, fill in (
                (label("asks"), questions, 0),
                (label("new"), ALLOCATES, 1),
                (label("starts"), STARTS, 2),
            ):
                x = left + begin * tick
                parts.append(
                    svg.rect(x, y, length * tick - 2, high - 2, svg.fill_of(fill), svg.INK)
                )
                if length * tick > 26:
                    middle = x + length * tick / 2 - 1
                    parts.append(svg.words(middle, y + 14, words, svg.SMALL, "middle"))
                begin += length
            x = left + begin * tick
            parts.append(svg.rect(x, y + high, RUNS * tick - 2, high - 2, svg.fill_of(3), svg.INK))
        y += 2 * high + 12
    text = (
        "Python above, the GPU below. As they are, two calls ask for 10 microseconds each, "
        "allocate, and start a kernel that runs for 2. Replayed, they ask for 3 microseconds each."
    )
    width = left + (2 * (ASKS + ALLOCATES + STARTS) + RUNS) * tick + 4
    return svg.titled(width, y, "Two short calls, time runs to the right", text, parts)
