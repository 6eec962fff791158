"""Drawings of page 50: the keys of a head in pieces, and a cache in pages with its block table."""

from __future__ import annotations

from collections.abc import Sequence

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_pieces(heads: int, pieces: int) -> Picture:
    """Each head's tiles of keys go to its programs in turn; a second kernel merges each row."""
    wide, high, left, rounds = 50.0, 34.0, 84.0, 2
    title = "keys and values of the cache, a tile a box: which program reads it"
    parts = [svg.words(left, 12, title, svg.BODY, bold=True)]
    end = left + rounds * pieces * wide
    for i in range(heads):
        y = 24 + i * (high + 16)
        parts.append(svg.words(0, y + 21, f"key head {i}", svg.BODY))
        for j in range(rounds * pieces):
            program = i * pieces + j % pieces
            x = left + j * wide
            parts.append(svg.rect(x + 2, y, wide - 4, high, svg.fill_of(program), svg.LINE))
            parts.append(svg.words(x + wide / 2, y + 21, str(program), svg.BODY, "middle"))
        parts.append(svg.line(end + 6, y + high / 2, end + 78, y + high / 2, tip=True))
        parts.append(svg.words(end + 40, y + 12, f"{pieces} × o, lse", svg.SMALL, "middle"))
        parts.append(svg.rect(end + 82, y + 3, 62, high - 6, svg.EMPTY, svg.INK, radius=4))
        parts.append(svg.words(end + 113, y + 21, label("merge"), svg.BODY, "middle", bold=True))
    text = (
        f"{heads} key heads, the cache of each in {pieces} pieces: {heads * pieces} programs. "
        "Tiles of keys go to the programs of a head in turn. Each gives o and lse of its piece, "
        "and a second kernel merges the pieces of a head."
    )
    return svg.titled(end + 146, 24 + heads * (high + 16), "Pieces of the keys", text, parts)


def draw_table(lengths: Sequence[int], page: int) -> Picture:
    """Sequences of `lengths` tokens, their block table, and the cache in pages of `page` slots."""
    used = [-(-length // page) for length in lengths]
    order = [(5 * i + 3) % 7 for i in range(7)]
    if sum(used) > len(order):
        raise ValueError(f"{sum(used)} pages are more than the {len(order)} drawn")
    homes, at = [], 0
    for count in used:
        homes.append(order[at : at + count])
        at += count
    cell, top, cache = 46.0, 24.0, 330.0
    parts = [
        svg.words(0, 12, "block table", svg.BODY, bold=True),
        svg.words(cache, 12, "cache, one page a row", svg.BODY, bold=True),
    ]
    filled = {}
    for b, (length, pages) in enumerate(zip(lengths, homes, strict=True)):
        y = top + b * 40
        parts.append(svg.words(0, y + 20, f"sequence {b}", svg.SMALL))
        for i, number in enumerate(pages):
            parts.append(svg.rect(72 + i * cell, y, cell - 4, 30, svg.fill_of(b), svg.LINE))
            parts.append(
                svg.words(72 + i * cell + cell / 2 - 2, y + 20, str(number), svg.BODY, "middle")
            )
            for slot in range(page):
                token = i * page + slot
                if token < length:
                    filled[number, slot] = (b, token)
    for number in range(len(order)):
        y = top + number * 26
        parts.append(svg.words(cache - 8, y + 16, f"page {number}", svg.SMALL, "end"))
        for slot in range(page):
            b, token = filled.get((number, slot), (None, None))
            fill = svg.EMPTY if b is None else svg.fill_of(b)
            x = cache + slot * 124
            parts.append(svg.rect(x, y, 120, 23, fill, svg.LINE))
            if b is not None:
                label = f"sequence {b}, token {token}"
                parts.append(svg.words(x + 60, y + 16, label, svg.SMALL, "middle"))
    said = "; ".join(f"sequence {b} has pages {pages}" for b, pages in enumerate(homes))
    text = f"A cache of {len(order)} pages with {page} slots each. By the block table {said}."
    return svg.titled(
        cache + page * 124, top + len(order) * 26, "Pages and their table", text, parts
    )
