"""Drawings of page 52: choices sorted by expert, and the tiles of ragged groups."""

from __future__ import annotations

from itertools import pairwise

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

_WIDE, _HIGH, _LEFT = 44.0, 26.0, 96.0


def draw_sort(experts, E: int) -> Picture:
    """Choices of all tokens in their order, and by expert; `experts` is [T, k]."""
    T, k = experts.shape
    chosen = experts.flatten().tolist()
    order = sorted(range(T * k), key=lambda c: chosen[c])
    offsets = [sum(e < end for e in chosen) for end in range(E + 1)]
    middle, low = 66.0, 184.0
    parts = []
    for t in range(T):
        label = f"token {t}"
        parts.append(
            svg.words(_LEFT + (t + 0.5) * k * _WIDE, 12, label, svg.SMALL, "middle", bold=True)
        )
    parts += [
        svg.words(0, 41, "its experts", svg.BODY, bold=True),
        svg.words(0, middle + 17, "choice", svg.BODY, bold=True),
        svg.words(0, low + 17, "order", svg.BODY, bold=True),
    ]
    for c, expert in enumerate(chosen):
        x, fill = _LEFT + c * _WIDE, svg.fill_of(expert)
        parts.append(svg.box(x, 24, _WIDE, _HIGH, f"{expert}", 17, fill))
        parts.append(svg.words(x + _WIDE / 2, middle + 17, f"{c}", svg.SMALL, "middle"))
    for place, c in enumerate(order):
        x = _LEFT + place * _WIDE
        parts.append(svg.box(x, low, _WIDE, _HIGH, f"{c}", 17, svg.fill_of(chosen[c])))
        begin = _LEFT + (c + 0.5) * _WIDE
        parts.append(svg.line(begin, middle + 23, x + _WIDE / 2, low - 4, tip=True))
    for e in range(E):
        begin, end = offsets[e], offsets[e + 1]
        if begin < end:
            x, wide = _LEFT + begin * _WIDE, (end - begin) * _WIDE
            parts.append(svg.bracket(x + 3, low + _HIGH + 6, wide - 6))
            parts.append(
                svg.words(x + wide / 2, low + _HIGH + 27, f"expert {e}", svg.SMALL, "middle")
            )
    said = ", ".join(f"{offset}" for offset in offsets)
    parts.append(svg.words(0, low + _HIGH + 54, "offsets", svg.BODY, bold=True))
    parts.append(svg.words(_LEFT, low + _HIGH + 54, said, svg.BODY, mono=True))
    text = (
        f"{T} tokens choose {k} of {E} experts each: {chosen}. Sorted by expert, the choices stand "
        f"in the order {order}. Expert e begins at offsets[e], and offsets are {said}."
    )
    return svg.titled(
        _LEFT + T * k * _WIDE, low + _HIGH + 58, "The choices, sorted by expert", text, parts
    )


def draw_tiles(order, offsets, BLOCK_M: int) -> Picture:
    """The tiles of each expert, BLOCK_M choices in each; empty places are hatched."""
    order, offsets = order.tolist(), offsets.tolist()
    parts, said, tile, y = [], [], 0, 0.0
    widest = max(-(-(end - begin) // BLOCK_M) for begin, end in pairwise(offsets))
    across = BLOCK_M * _WIDE + 26
    for e, (begin, end) in enumerate(pairwise(offsets)):
        parts.append(svg.words(0, y + 17, f"expert {e}", svg.BODY, bold=True))
        if begin == end:
            parts.append(svg.words(_LEFT, y + 17, "no tile", svg.SMALL, colour=svg.MUTED))
        for n, first in enumerate(range(begin, end, BLOCK_M)):
            x = _LEFT + n * across
            held = order[first : min(end, first + BLOCK_M)]
            for lane in range(BLOCK_M):
                label = f"{held[lane]}" if lane < len(held) else ""
                fill = svg.fill_of(e) if lane < len(held) else svg.MASKED
                parts.append(svg.box(x + lane * _WIDE, y, _WIDE, _HIGH, label, 17, fill))
            parts.append(svg.words(x, y + _HIGH + 14, f"tile {tile}", svg.SMALL))
            said.append(f"tile {tile}: expert {e}, choices {held}")
            tile += 1
        y += 52
    text = f"Tiles of {BLOCK_M} choices. " + "; ".join(said) + "."
    return svg.titled(
        _LEFT + widest * across - 26, y - 8, f"Tiles of {BLOCK_M} choices", text, parts
    )
