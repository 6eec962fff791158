"""Drawings of page 57: the fields of small floats, and how those of e4m3 get into a float16."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label

# name, bits of exponent and mantissa, bias; all but e8m0 have a sign
FORMATS = (
    ("float32", 8, 23, 127),
    ("bfloat16", 8, 7, 127),
    ("float16", 5, 10, 15),
    ("e4m3", 4, 3, 7),
    ("e2m1", 2, 1, 1),
    ("e8m0", 8, 0, 127),
)
SIGN, EXPONENT, MANTISSA = svg.FILLS[3], svg.FILLS[1], svg.FILLS[0]


def draw_formats() -> Picture:
    """The fields of each format, their bits as ticks, and its bias."""
    bit, high, left, gap = 13.0, 24.0, 78.0, 9.0
    note = left + 32 * bit + 14
    parts, said = [], []
    for row, (name, exponent, mantissa, bias) in enumerate(FORMATS):
        y, sign, at = row * (high + gap), int(name != "e8m0"), left
        parts.append(svg.words(0, y + 17, name, svg.BODY, bold=True))
        fields = (("s", sign, SIGN), ("E", exponent, EXPONENT), ("m", mantissa, MANTISSA))
        for letter, bits, fill in fields:
            if bits:
                parts.append(svg.rect(at, y, bits * bit, high, fill, svg.INK))
                parts += [
                    svg.line(at + n * bit, y + high - 5, at + n * bit, y + high, colour=svg.INK)
                    for n in range(1, bits)
                ]
                middle = at + bits * bit / 2
                parts.append(svg.words(middle, y + 16, letter, svg.SMALL, "middle"))
            at += bits * bit
        counts = " + ".join(f"{bits}" for _, bits, _ in fields if bits)
        parts.append(svg.words(note, y + 16, f"{counts} bits, bias {bias}", svg.SMALL))
        said.append(
            f"`{name}` has a sign, exponent {exponent} bits, mantissa {mantissa}, bias {bias}."
            if sign
            else f"`{name}` has no sign, exponent {exponent} bits, bias {bias}."
        )
    height = len(FORMATS) * (high + gap) - gap
    return svg.titled(note + 150, height, "Sign, exponent, mantissa", " ".join(said), parts)


def draw_shift(code: int) -> Picture:
    """A byte in e4m3, and the float16 with the same sign, exponent and mantissa."""
    byte = [code >> 7 - bit & 1 for bit in range(8)]
    half = (code & 128) << 8 | (code & 127) << 7
    cell, high, left, gap = 26.0, 26.0, 92.0, 46.0
    parts = [
        svg.words(0, 17, "e4m3", svg.BODY, bold=True),
        svg.words(0, high + gap + 17, "float16", svg.BODY, bold=True),
    ]
    starts = [0, *range(2, 9)]  # places of the byte's bits in the float16, from the left
    for bit, (value, to) in enumerate(zip(byte, starts, strict=True)):
        fill = SIGN if bit == 0 else EXPONENT if bit < 5 else MANTISSA
        x = left + (8 + bit) * cell
        parts.append(svg.box(x, 0, cell, high, f"{value}", 18, fill, size=svg.BODY, mono=True))
        if bit in (0, 1, 7):
            end = left + to * cell + cell / 2
            parts.append(svg.line(x + cell / 2, high + 3, end, high + gap - 3, tip=True))
    for place in range(16):
        fill = SIGN if place == 0 else EXPONENT if place < 6 else MANTISSA
        x = left + place * cell
        value = half >> 15 - place & 1
        known = place in starts
        parts.append(svg.rect(x, high + gap, cell, high, fill if known else svg.EMPTY, svg.INK))
        middle = (x + cell / 2, high + gap + 18)
        parts.append(svg.words(*middle, f"{value}", svg.BODY, "middle", mono=True))
        if place in (0, 1, 5, 6, 15):
            number = (x + cell / 2, 2 * high + gap + 15)
            parts.append(svg.words(*number, f"{15 - place}", svg.SMALL, "middle", colour=svg.MUTED))
    low = 2 * high + gap + 15
    parts.append(svg.words(0, low, label("bit"), svg.SMALL, colour=svg.MUTED))
    text = (
        f"The byte {code:08b} has sign {byte[0]}, exponent {code >> 3 & 15}, mantissa {code & 7}. "
        f"In the float16 {half:016b} the sign is bit 15, the other seven are bits 13 to 7."
    )
    return svg.titled(left + 16 * cell + 10, low, "From e4m3 to float16", text, parts)
