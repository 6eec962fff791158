"""Drawings of page 91: who is busy, the host or the GPU, and what that says."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label

STEP, LANE, LANES, STEPS = 11.0, 9.0, 6, 13
# (stretches of the host, stretches of each lane of the GPU, what that looks like, what to suspect)
SHAPES = (
    (
        [(0, 1)],
        [(1, 13)] * LANES,
        "the GPU is busy, all of it",
        "bytes, arithmetic of the kernel",
    ),
    ([(0, 1)], [(1, 13)] + [()] * (LANES - 1), "a corner of it is busy", "the grid"),
    (
        [(0, 6), (7, 13)],
        [((6, 7), (12.4, 13))] * LANES,
        "it waits for the host",
        "compiling, launching: the call",
    ),
    (
        [(0, 2), (5, 7), (10, 12)],
        [((2, 5), (7, 10), (12, 13))] * LANES,
        "they take turns",
        "the host waits, too: the wrapper",
    ),
)


def draw_shapes() -> Picture:
    """Four timelines: the host above, some multiprocessors below."""
    wide, parts = STEPS * STEP, []
    left, apart = 44.0, STEPS * STEP + 26
    top, low = 30.0, 30.0 + LANES * LANE
    parts.append(svg.words(0, 13, label("host"), svg.SMALL, bold=True))
    parts.append(svg.words(0, (top + low) / 2 + 4, "GPU", svg.SMALL, bold=True))
    for number, (host, lanes, shape, suspects) in enumerate(SHAPES):
        x0 = left + number * apart
        for begin, end in host:
            width = (end - begin) * STEP
            parts.append(svg.rect(x0 + begin * STEP, 2, width, 15, svg.fill_of(3), svg.INK))
        for lane, stretches in enumerate(lanes):
            y = top + lane * LANE
            parts.append(svg.rect(x0, y, wide, LANE - 2, svg.EMPTY, svg.LINE))
            pairs = (stretches,) if stretches and isinstance(stretches[0], int) else stretches
            for begin, end in pairs:
                width = (end - begin) * STEP
                parts.append(svg.rect(x0 + begin * STEP, y, width, LANE - 2, svg.fill_of(0)))
        parts.append(svg.words(x0, low + 16, shape, svg.SMALL, bold=True))
        for row, text in enumerate(svg.wrapped(suspects, 23)):
            parts.append(svg.words(x0, low + 32 + 14 * row, text, svg.SMALL))
    said = " ".join(f"Seen: {shape}. Suspect: {suspects}." for _, _, shape, suspects in SHAPES)
    text = f"Over time, who is busy says what to suspect first. {said}"
    width = left + len(SHAPES) * apart
    return svg.titled(width, low + 54, "Who is busy? What to suspect first", text, parts)
