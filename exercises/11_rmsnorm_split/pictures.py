"""Drawings of page 11: SMs with work, the two launches, and the lanes of a row's pieces."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_occupancy(M: int, num_splits: int, num_sms: int) -> Picture:
    """How many of `num_sms` processors have a program: a row each against `num_splits` a row."""
    size, per_line = 12, 44
    parts, facts, top = [], [], 12.0
    for scheme, programs in (
        ("one program per row", M),
        (f"{num_splits} pieces per row", M * num_splits),
    ):
        busy = min(programs, num_sms)
        facts.append(f"{scheme}: {programs} programs, {busy} of {num_sms} SMs have work")
        parts.append(svg.words(0, top, facts[-1], bold=True))
        for i in range(num_sms):
            x, y = (i % per_line) * (size + 2), top + 10 + (i // per_line) * (size + 2)
            fill, stroke = (svg.INK, svg.INK) if i < busy else (svg.EMPTY, svg.LINE)
            parts.append(svg.rect(x, y, size, size, fill, stroke))
        top += 10 + -(-num_sms // per_line) * (size + 2) + 26
    title = f"SMs with work, {M} rows"
    return svg.titled(per_line * (size + 2), top - 26, title, "; ".join(facts) + ".", parts)


def draw_two_launches(M: int, num_splits: int) -> Picture:
    """Pieces of M rows: summed in the first launch, one sum a row, normalised in the second."""
    box, high, row_gap = 86, 30, 34
    left, step = 118, 78
    wide = num_splits * box
    parts = []
    stages = ("first launch", "row sums", "second launch")
    for number, stage in enumerate(stages):
        parts.append(svg.words(0, 22 + number * step + 20, stage, bold=True))
    for row in range(M):
        start = left + row * (wide + row_gap)
        centre = start + wide / 2
        parts.append(svg.words(start, 10, f"row {row}, in {num_splits} pieces", svg.SMALL))
        for piece in range(num_splits):
            x, pid = start + piece * box, row * num_splits + piece
            middle = x + (box - 6) / 2
            for number, formula in ((0, "sum of x²"), (2, "x / root · w")):
                y = 22 + number * step
                parts.append(
                    svg.box(x, y, box - 6, high, f"pid {pid}", 13, svg.fill_of(pid), bold=True)
                )
                parts.append(svg.words(middle, y + 26, formula, svg.SMALL, "middle"))
            parts.append(svg.line(middle, 22 + high + 2, centre, 22 + step - 3, tip=True))
            parts.append(svg.line(centre, 22 + step + high, middle, 22 + 2 * step - 3, tip=True))
        name = f"sum of row {row}"
        parts.append(svg.box(centre - 40, 22 + step, 80, high - 4, name, 17))
    text = (
        f"{M} rows in {num_splits} pieces each, {M * num_splits} programs. In the first launch "
        "each program sums the squares of its piece, and the sums of a row come together. In "
        "the second launch each program reads the sum of its row and normalises its piece."
    )
    width = left + M * wide + (M - 1) * row_gap
    return svg.titled(width, 22 + 2 * step + high + 4, "Scheme 3 in two launches", text, parts)


def draw_pieces(N: int, piece_size: int, BLOCK_N: int) -> Picture:
    """One row of N columns in pieces: for each program the lanes of its tile, and which count."""
    count = -(-N // piece_size)
    scale, high, step, left = 5.0, 22, 46, 62
    lanes = (count - 1) * piece_size + BLOCK_N
    parts = [
        svg.words(0, 16, "the row", bold=True),
        svg.rect(left, 0, N * scale, high, svg.MANY, svg.INK),
    ]
    facts = []
    for piece in range(count):
        first, y = piece * piece_size, 40 + piece * step
        inside = min(piece_size, N - first)
        x = left + first * scale
        parts.append(svg.words(0, y + 16, f"piece {piece}", bold=True))
        parts.append(svg.rect(x, y, BLOCK_N * scale, high, svg.MASKED, "#8b949e", dash="3 2"))
        parts.append(svg.rect(x, y, inside * scale, high, svg.fill_of(piece), svg.INK))
        label = f"{first} to {first + inside - 1}"
        if inside * scale > svg.text_width(label, svg.SMALL):
            parts.append(svg.words(x + inside * scale / 2, y + 15, label, svg.SMALL, "middle"))
        else:
            parts.append(svg.words(x - 6, y + 15, label, svg.SMALL, "end"))
        off = f"{BLOCK_N - inside} lanes masked"
        middle = x + (inside + BLOCK_N) / 2 * scale
        parts.append(svg.words(middle, y + high + 13, off, svg.SMALL, "middle", svg.MUTED))
        facts.append(f"Piece {piece} has columns {label}; {off}.")
    title = f"{N} columns in {count} pieces of {piece_size}, tiles of {BLOCK_N} lanes"
    text = f"{title}. {' '.join(facts)}"
    return svg.titled(left + lanes * scale, 40 + count * step, title, text, parts)
