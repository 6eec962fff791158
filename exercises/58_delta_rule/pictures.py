"""Drawings of page 58: a step of the delta rule, and a triangular inverse by doubling."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_step() -> Picture:
    """One token: the state fades, is read under k, corrected, and read by q."""
    wide, high, gap = 132.0, 44.0, 44.0
    boxes = (
        ("a S", "the state fades", svg.FILLS[0]),
        ("old = k a S", "read under k", svg.FILLS[1]),
        ("u = beta (v - old)", "the difference", svg.FILLS[3]),
        ("S = a S + k\u1d40 u", "written under k", svg.FILLS[0]),
        ("o = q S", "read by q", svg.FILLS[2]),
    )
    parts = []
    for n, (formula, said, fill) in enumerate(boxes):
        x = n * (wide + gap)
        parts.append(svg.rect(x, 24, wide, high, fill, svg.INK, radius=4))
        parts.append(svg.words(x + wide / 2, 51, formula, svg.BODY, "middle", bold=True))
        parts.append(svg.words(x + wide / 2, 88, said, svg.SMALL, "middle", colour=svg.MUTED))
        if n:
            parts.append(svg.line(x - gap + 4, 46, x - 5, 46, tip=True))
    # what was read under k is in a S still, and the new state keeps the rest of it
    left, right = wide / 2, 3 * (wide + gap) + wide / 2
    parts.append(svg.line(left, 24, left, 8))
    parts.append(svg.line(left, 8, right, 8))
    parts.append(svg.line(right, 8, right, 21, tip=True))
    text = (
        "A step in five parts. The state S fades to a S. It is read under k: old. The difference "
        "u is beta times v minus old. The new state is a S plus k transposed times u. In the end "
        "q reads the new state."
    )
    width = 5 * wide + 4 * gap
    return svg.titled(width, 94, "One token of the delta rule", text, parts)


def draw_doubling(size: int) -> Picture:
    """A triangle of `size` rows, a power of 2: which parts of L each turn of the loop takes in."""
    cell, left, top = 30.0, 26.0, 18.0
    turns = (size - 1).bit_length()
    parts = []
    for n in range(size):
        middle = left + (n + 0.5) * cell
        parts.append(svg.words(middle, top - 6, f"{n}", svg.SMALL, "middle"))
        parts.append(svg.words(left - 8, top + (n + 0.5) * cell + 4, f"{n}", svg.SMALL, "end"))
    for t in range(size):
        for s in range(size):
            turn = (t ^ s).bit_length()  # where both lie in one block for the first time
            fill = svg.FILLS[turn - 1] if s < t else svg.MANY if s == t else svg.EMPTY
            x, y = left + s * cell, top + t * cell
            parts.append(svg.rect(x, y, cell - 2, cell - 2, fill, svg.INK if s <= t else svg.LINE))
            if s < t:
                parts.append(svg.words(x + cell / 2 - 1, y + 18, f"{turn}", svg.BODY, "middle"))
    right = left + size * cell + 28
    legend = [(svg.MANY, "before: X = I, ones on the diagonal")]
    for turn in range(turns):
        n = 2**turn
        said = f"turn {turn + 1}: M joins blocks of {n} to blocks of {2 * n}"
        legend.append((svg.FILLS[turn], said))
    for row, (fill, said) in enumerate(legend):
        y = top + 34 + row * 34
        parts.append(svg.rect(right, y, 22, 18, fill, svg.INK))
        parts.append(svg.words(right + 32, y + 13, said, svg.BODY))
    parts.append(svg.words(right, top + 14, "rows t, columns s", svg.BODY, bold=True))
    text = (
        f"The matrix I + L of {size} tokens: ones on the diagonal, L below it. "
        f"{turns} turns take in all of L: turn 1 what joins neighbours, and each further "
        "turn what joins blocks of twice that size."
    )
    return svg.titled(
        right + 290, top + size * cell, "The turn in which each part of L is taken", text, parts
    )
