"""Drawings of page 03: nine operators and one kernel, with what each reads and writes."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label

# The operators of the formula in Python's order, and how many tensors each reads.
STEPS = (
    ("½ · x", 1),
    ("0.04 · x", 1),
    ("· x", 2),
    ("· x", 2),
    ("x +", 2),
    ("0.8 ·", 1),
    ("tanh", 1),
    ("1 +", 1),
    ("·", 2),
)


def draw_fusion() -> Picture:
    """GELU as nine operators and as one kernel; each arrow is a tensor read or written."""
    reads, writes = sum(read for _, read in STEPS), len(STEPS)
    title = "Each arrow carries a whole tensor"
    parts = _row(0, STEPS, f"nine operators: {reads} reads, {writes} writes")
    parts += _row(150, (("all nine steps, in registers", 1),), "one kernel: 1 read, 1 write")
    text = (
        f"GELU's formula as nine operators reads {reads} tensors from memory and writes {writes}; "
        "as one kernel it reads one and writes one."
    )
    return svg.titled(_WIDE, 272, title, text, parts)


_WIDE = 660.0


def _row(top: float, steps: tuple[tuple[str, int], ...], said: str) -> list[str]:
    """One line of boxes above a bar of memory."""
    bar, step = top + 84, _WIDE / len(steps)
    parts = [svg.words(0, top + 10, said, bold=True)]
    parts.append(svg.rect(0, bar, _WIDE, 24, svg.MANY))
    parts.append(svg.words(_WIDE / 2, bar + 16, label("memory"), anchor="middle", colour=svg.MUTED))
    for number, (name, read) in enumerate(steps):
        left, wide = number * step, step - 8
        parts.append(svg.rect(left, top + 22, wide, 28, svg.fill_of(number), radius=4))
        parts.append(svg.words(left + wide / 2, top + 40, name, anchor="middle"))
        places = [left + wide * (i + 1) / (read + 2) for i in range(read + 1)]
        parts += [svg.line(x, bar, x, top + 54, tip=True) for x in places[:-1]]
        parts.append(svg.line(places[-1], top + 50, places[-1], bar - 3, tip=True))
    return parts
