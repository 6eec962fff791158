"""Drawings of page 23: two products and a gate in one program."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

DEEP, TALL, WIDE = 152.0, 110.0, 120.0  # D, M and H, in pixels
STEPS = 4
ROW, ROWS = 36.0, 34.0  # where the program's rows begin, and how tall they are
COLUMN, COLUMNS = 40.0, 40.0


def draw_gate_up() -> Picture:
    """One program of gate_up_swiglu: a strip of x, two of weights, both halves of a sum, a tile."""
    title = "One program: one walk along D, a sum of two halves, one tile of the result"
    top, left = 26.0, DEEP + 34
    low = top + DEEP + 14
    gate_x, up_x, out_x = left, left + WIDE + 44, left + 2 * WIDE + 194
    step = DEEP / STEPS
    parts = [
        svg.rect(0, low, DEEP, TALL),
        svg.words(DEEP / 2, low + TALL + 18, "x: M × D", anchor="middle"),
        svg.rect(out_x, low, WIDE, TALL),
        svg.words(out_x + WIDE / 2, low + TALL + 18, "result: M × H", anchor="middle"),
    ]
    for number in range(STEPS):
        x = number * step
        parts.append(svg.rect(x, low + ROW, step, ROWS, svg.fill_of(0), svg.INK))
        parts.append(_number(x + step / 2, low + ROW + ROWS / 2, number))
    for name, weight, x in (("gate", "w_gate", gate_x), ("up", "w_up", up_x)):
        parts.append(svg.rect(x, top, WIDE, DEEP))
        parts.append(svg.words(x + WIDE / 2, top - 10, f"{weight}: D × H", anchor="middle"))
        for number in range(STEPS):
            y = top + number * step
            parts.append(svg.rect(x + COLUMN, y, COLUMNS, step, svg.fill_of(1), svg.INK))
            parts.append(_number(x + COLUMN + COLUMNS / 2, y + step / 2, number))
        parts.append(svg.rect(x, low, WIDE, TALL, svg.MASKED, dash="4 3"))
        parts.append(svg.rect(x + COLUMN, low + ROW, COLUMNS, ROWS, svg.fill_of(3), svg.INK))
        middle = x + COLUMN + COLUMNS / 2
        parts.append(svg.words(middle, low + ROW + ROWS / 2 + 4, name, anchor="middle", bold=True))
        parts.append(svg.words(x + WIDE / 2, low + TALL + 18, "never in memory", anchor="middle"))
    tile, over = out_x + COLUMN, low + ROW + ROWS / 2
    parts += [
        svg.rect(tile, low + ROW, COLUMNS, ROWS, svg.fill_of(2), svg.INK),
        svg.line(up_x + COLUMN + COLUMNS, over, tile - 5, over, tip=True),
        svg.words(out_x - 75, over - 10, "silu(gate) * up", anchor="middle", mono=True),
    ]
    legend = "The numbers are the steps of the loop. A tile of x is loaded once, for both halves."
    bottom = low + TALL + 46
    parts.append(svg.words(0, bottom, legend, svg.SMALL, colour=svg.MUTED))
    text = (
        f"{title}. In each step it loads one tile of x, and one of w_gate beside one of w_up, and "
        "adds to a sum in registers, whose halves are gate and up. After the last step it stores "
        "silu(gate) * up."
    )
    return svg.titled(out_x + WIDE, bottom + 4, title, text, parts)


def _number(x: float, y: float, number: int) -> str:
    return svg.words(x, y + 4, str(number), anchor="middle")
