"""Drawing of page 59: fixed pieces, whoever computes them, and one order of additions."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_pieces(pieces: int) -> Picture:
    """The same row in the same pieces, for few rows and for many: only the programs differ."""
    wide, high, left, gap = 120.0, 28.0, 150.0, 74.0
    title = "The batch decides who computes a piece, not what is added to what"
    parts, said, y = [], [], 6.0
    for name, count in (("one row", pieces), ("some rows", pieces // 2), ("many rows", 1)):
        parts.append(svg.words(0, y + 18, name, svg.BODY, bold=True))
        for piece in range(pieces):
            owner, x = piece % count, left + piece * wide
            label = f"piece {piece}: program {owner}"
            parts.append(svg.box(x, y, wide - 6, high, label, 18, svg.fill_of(owner)))
        order = "((p0 + p1)" + "".join(f" + p{piece})" for piece in range(2, pieces))
        order = "(" * (pieces - 3) + order
        parts.append(svg.words(left, y + high + 20, order, svg.BODY))
        plural = "program" if count == 1 else "programs"
        said.append(f"{name}: {count} {plural}")
        y += gap
    text = (
        f"A row in {pieces} pieces of a fixed size. {'; '.join(said)}. The partial sums are added "
        "in the same order each time."
    )
    return svg.titled(left + pieces * wide, y - 10, title, text, parts)
