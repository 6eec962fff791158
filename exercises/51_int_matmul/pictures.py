"""Drawings of page 51: numbers, steps and scale; two weights in a byte."""

from __future__ import annotations

import math

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import later


def draw_rounding(x: list[float]) -> Picture:
    """A row of numbers, the numbers in steps of its scale, rounded, and what comes back."""
    scale = max(map(abs, x)) / 127
    q = [math.floor(number / scale + 0.5) for number in x]
    rows = (
        ("x", [f"{number:.2f}" for number in x], svg.EMPTY),
        ("x / s", [f"{number / scale:.2f}" for number in x], svg.EMPTY),
        ("q, int8", [f"{whole}" for whole in q], svg.FILLS[1]),
        ("s q", [f"{whole * scale:.2f}" for whole in q], svg.FILLS[0]),
    )
    wide, high, left, gap = 84.0, 28.0, 70.0, 8.0
    parts = []
    for number, (name, values, fill) in enumerate(rows):
        y = number * (high + gap)
        parts.append(svg.words(0, y + 19, name, svg.BODY, bold=True))
        for column, value in enumerate(values):
            at = left + column * wide
            parts.append(svg.box(at, y, wide - 6, high, value, 19, fill, size=svg.BODY))
    side = left + len(x) * wide + 12
    parts.append(svg.words(side, 19, f"s = {max(map(abs, x)):g} / 127 = {scale:g}", svg.BODY))
    parts.append(svg.words(side, 2 * (high + gap) + 19, "one byte each", svg.SMALL))
    note = f"at most s / 2 = {scale / 2:g} away"
    parts.append(svg.words(side, 3 * (high + gap) + 19, note, svg.SMALL))
    text = (
        f"The row {x} has the scale {scale:g}. In steps of it, rounded, it is {q}, and back again "
        f"{[round(whole * scale, 4) for whole in q]}."
    )
    height = len(rows) * (high + gap) - gap
    return svg.titled(side + 170, height, "A row, quantised to int8", text, parts)


def draw_nibbles(low: int, high: int) -> Picture:
    """The bits of a byte that holds two weights, and the bytes that shifts make of it."""
    byte = (high & 15) << 4 | low & 15
    left_shifted = byte << 4 & 255
    rows = (
        ("packed", byte, later("high | low"), [4] * 4 + [0] * 4),
        ("packed >> 4", high & 255, f"{high}, its sign copied", [4] * 8),
        ("packed << 4", left_shifted, "the low nibble at the top", [0] * 4 + [None] * 4),
        ("packed << 4 >> 4", low & 255, f"{low}", [0] * 8),
    )
    cell, tall, left, gap = 30.0, 26.0, 138.0, 10.0
    parts = []
    for number, (name, value, says, fills) in enumerate(rows):
        y = number * (tall + gap)
        parts.append(svg.words(0, y + 18, name, svg.BODY, mono=True))
        for bit in range(8):
            x = left + bit * cell + (6 if bit >= 4 else 0)
            fill = fills[bit]
            paint = svg.EMPTY if fill is None else svg.FILLS[fill]
            digit = f"{value >> (7 - bit) & 1}"
            parts.append(svg.box(x, y, cell, tall, digit, 18, paint, size=svg.BODY, mono=True))
        parts.append(svg.words(left + 8 * cell + 20, y + 18, says, svg.SMALL))
    text = (
        f"The byte {byte:08b} holds {high} in its high nibble and {low} in its low one. Shifted "
        f"right by 4 it is {high & 255:08b}, {high}. Shifted left by 4 it is {left_shifted:08b}, "
        f"and then right by 4 {low & 255:08b}, {low}."
    )
    height = len(rows) * (tall + gap) - gap
    return svg.titled(left + 8 * cell + 180, height, "Two weights in one byte", text, parts)
