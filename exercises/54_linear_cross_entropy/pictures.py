"""Drawings of page 54: the tensors of the last layer, to scale, and the logits in pieces."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_memory(T: int, D: int, V: int) -> Picture:
    """x, w and the logits of T tokens, D numbers a token, V words, 2 bytes each; areas to scale."""
    scale = 520 / V
    top, left = 34.0, 4.0
    parts = []
    y = top
    for name, rows, columns, fill in (
        ("x", T, D, svg.FILLS[0]),
        ("w.T", D, V, svg.FILLS[1]),
        ("logits", T, V, svg.FILLS[4]),
    ):
        wide, high = columns * scale, rows * scale
        label = f"{name}: {rows:,} x {columns:,}, {2 * rows * columns / 1e6:,.0f} MB"
        parts.append(svg.words(left, y - 6, label, svg.BODY, bold=name == "logits"))
        parts.append(svg.rect(left, y, wide, max(high, 3), fill, svg.INK))
        y += max(high, 3) + 32
    text = (
        f"Three rectangles to scale. x has {T:,} rows and {D:,} columns, w transposed {D:,} and "
        f"{V:,}, the logits {T:,} and {V:,}: {2 * T * V / 1e9:.1f} GB in 2-byte numbers."
    )
    return svg.titled(528, y - 24, "The last layer of a language model", text, parts)


def draw_pieces(T: int, piece: int) -> Picture:
    """Tokens in pieces of `piece`, all through the same memory for logits."""
    pieces = -(-T // piece)
    high, left, top = 30.0, 4.0, 26.0
    parts = [
        svg.words(left, 12, "x, by tokens", svg.BODY, bold=True),
        svg.words(left + 214, 12, "logits of one piece, then their gradient", svg.BODY, bold=True),
        svg.words(left + 524, 12, "dx", svg.BODY, bold=True),
    ]
    middle = top + (pieces * high) / 2
    for i in range(pieces):
        y, fill = top + i * high, svg.fill_of(i)
        parts += [
            svg.rect(left, y + 2, 88, high - 4, fill, svg.INK),
            svg.words(left + 44, y + 19, f"piece {i}", svg.SMALL, "middle"),
            svg.rect(left + 520, y + 2, 88, high - 4, fill, svg.INK),
            svg.line(left + 92, y + high / 2, left + 204, middle, tip=True),
            svg.line(left + 452, middle, left + 514, y + high / 2, tip=True),
        ]
    parts += [
        svg.rect(left + 210, middle - 15, 238, 30, svg.EMPTY, svg.INK, thick=1.5),
        svg.words(left + 329, middle + 5, "the same memory for each", svg.SMALL, "middle"),
        svg.line(left + 329, middle + 17, left + 329, top + pieces * high + 24, tip=True),
        svg.words(
            left + 329,
            top + pieces * high + 42,
            "dw: a share from each",
            svg.BODY,
            "middle",
            bold=True,
        ),
    ]
    text = (
        f"{pieces} pieces of {piece:,} tokens go one after the other through one memory of "
        f"{piece:,} rows of logits. Each gives its rows of dx and a share of dw."
    )
    return svg.titled(620, top + pieces * high + 50, "Piece by piece", text, parts)
