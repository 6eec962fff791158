"""Drawings of page 56: texts of any length, padded and on one axis; the scores of all of them."""

from __future__ import annotations

from itertools import accumulate

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label, later

_CELL, _LEFT = 30.0, 108.0


def _cells(x: float, y: float, labels: list[str], fill: str) -> list[str]:
    numbered = enumerate(labels)
    return [svg.box(x + n * _CELL, y, _CELL, 24, label, 16, fill) for n, label in numbered]


def draw_batch(lengths: list[int]) -> Picture:
    """Texts of these lengths as rows of the longest, and one behind the other."""
    longest, T = max(lengths), sum(lengths)
    starts = [0, *accumulate(lengths)]
    parts, y = [svg.words(0, 8, label("padded"), svg.BODY, bold=True)], 20.0
    for s, length in enumerate(lengths):
        parts.append(svg.words(0, y + 16, f"sequence {s}", svg.SMALL))
        parts += _cells(_LEFT, y, [str(n) for n in range(length)], svg.fill_of(s))
        parts += _cells(_LEFT + length * _CELL, y, [""] * (longest - length), svg.MASKED)
        y += 28
    y += 22
    parts.append(svg.words(0, y, label("ragged"), svg.BODY, bold=True))
    y += 12
    parts.append(svg.words(0, y + 16, label("position"), svg.SMALL))
    for s, length in enumerate(lengths):
        labels = [str(n) for n in range(length)]
        parts += _cells(_LEFT + starts[s] * _CELL, y, labels, svg.fill_of(s))
    y += 24
    parts.append(svg.words(0, y + 18, "token", svg.SMALL))
    for t in range(T):
        x = _LEFT + (t + 0.5) * _CELL
        parts.append(svg.words(x, y + 18, str(t), svg.SMALL, "middle"))
    y += 26
    parts.append(svg.words(0, y + 26, "cu_seqlens", svg.SMALL))
    for start in sorted(set(starts)):
        x = _LEFT + start * _CELL
        which = ", ".join(str(start) for each in starts if each == start)
        parts.append(svg.line(x, y + 12, x, y + 1, tip=True))
        parts.append(svg.words(x, y + 26, which, svg.SMALL, "middle"))
    text = (
        f"{len(lengths)} sequences of {lengths} tokens. Padded they take {len(lengths)} rows of "
        f"{longest}, {len(lengths) * longest} places for {T} tokens. Ragged they lie on one axis "
        f"of {T} tokens, and cu_seqlens, where each begins, are {starts}."
    )
    width = _LEFT + T * _CELL + 12
    return svg.titled(width, y + 32, "One batch, padded and ragged", text, parts)


def draw_scores(lengths: list[int], BLOCK_M: int) -> Picture:
    """All queries against all keys, causal in each sequence, cut into tiles of queries."""
    T, cell, top = sum(lengths), 20.0, 26.0
    tiles = [
        (s, begin + first, min(BLOCK_M, length - first), begin)
        for s, (length, begin) in enumerate(zip(lengths, [0, *accumulate(lengths)], strict=False))
        for first in range(0, length, BLOCK_M)
    ]
    parts, boxes = (
        [svg.words(_LEFT, 10, later(f"{T} keys")), svg.words(0, 10, label("queries"))],
        [],
    )
    for n, (s, first, count, begin) in enumerate(tiles):
        y = top + first * cell
        middle = y + count * cell / 2 + 4
        parts.append(svg.words(0, middle, f"tile {n}, sequence {s}", svg.SMALL))
        for query in range(first, first + count):
            for key in range(T):
                seen = begin <= key <= query
                fill = svg.fill_of(s) if seen else svg.EMPTY
                place = _LEFT + key * cell, top + query * cell
                parts.append(svg.rect(*place, cell, cell, fill))
                if seen:
                    x, low = place[0] + cell / 2, place[1] + 14
                    parts.append(svg.words(x, low, str(query - begin), svg.SMALL, "middle"))
        wide, high = (first + count - begin) * cell, count * cell
        boxes.append(svg.rect(_LEFT + begin * cell, y, wide, high, "none", svg.INK, thick=2))
    under = top + T * cell + 20
    parts += boxes
    parts.append(svg.words(0, under, "number: position of the query; box: what a program computes"))
    said = " ".join(
        f"Tile {n} is of sequence {s}: tokens {first} to {first + count - 1} against the keys "
        f"{begin} to {first + count - 1}."
        for n, (s, first, count, begin) in enumerate(tiles)
    )
    text = f"The scores of {T} tokens in sequences of {lengths}, in tiles of {BLOCK_M}. {said}"
    return svg.titled(
        _LEFT + T * cell, under + 6, f"Tiles of {BLOCK_M} queries, by sequence", text, parts
    )
