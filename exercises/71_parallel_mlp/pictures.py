"""Drawings of page 71: weights cut by columns and by rows, and tiles that are added later."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_cut(ranks: int) -> Picture:
    """The layer with each rank's share of weights and hidden values, and the sum of its parts."""
    tall, deep, wide = 62.0, 56.0, 132.0  # M, D and H, in pixels
    top, low = 22.0, 118.0
    share = wide / ranks
    parts: list[str] = []

    def matrix(x: float, y: float, w: float, h: float, said: str) -> None:
        parts.append(svg.rect(x, y, w, h, svg.EMPTY, svg.INK))
        parts.append(svg.words(x + w / 2, y - 8, said, svg.SMALL, "middle"))

    def shares(x: float, y: float, h: float) -> None:
        for rank in range(ranks):
            parts.append(svg.rect(x + rank * share, y, share, h, svg.fill_of(rank), svg.INK))
            middle = x + (rank + 0.5) * share
            parts.append(svg.words(middle, y + h / 2 + 4, f"rank {rank}", svg.SMALL, "middle"))

    matrix(0, low, deep, tall, "x, on all")
    hidden, down = deep + 60, deep + 60 + wide + 70
    matrix(hidden, top, wide, deep, "w_gate, w_up: D × H")
    shares(hidden, top, deep)
    matrix(hidden, low, wide, tall, "hidden: M × H")
    shares(hidden, low, tall)
    parts.append(svg.line(deep + 8, low + tall / 2, hidden - 8, low + tall / 2, tip=True))
    matrix(down, top - 8, deep, wide * 0.75, "")
    step = wide * 0.75 / ranks
    for rank in range(ranks):
        y = top - 8 + rank * step
        parts.append(svg.box(down, y, deep, step, f"rank {rank}", step / 2 + 4, svg.fill_of(rank)))
    parts.append(svg.words(down + deep + 8, top + 30, "w_down: H × D", svg.SMALL))
    parts.append(svg.line(hidden + wide + 8, low + tall / 2, down - 8, low + tall / 2, tip=True))
    x = down
    for rank in range(ranks):
        parts.append(svg.box(x, low, deep, tall, f"part {rank}", tall / 2 + 4, svg.fill_of(rank)))
        parts.append(svg.words(x + deep + 12, low + tall / 2 + 4, "+" if rank < ranks - 1 else "="))
        x += deep + 28
    parts.append(svg.box(x, low, deep, tall, "out", tall / 2 + 4, size=svg.BODY, bold=True))
    text = (
        f"{ranks} ranks. Each has its columns of w_gate and w_up, and computes the same columns of "
        "the hidden values from x. It multiplies them by the same rows of w_down and has a part of "
        "the whole result. The parts are added: one all-reduce."
    )
    return svg.titled(x + deep, low + tall + 8, "By columns, then by rows", text, parts)


def draw_lag() -> Picture:
    """Programs with a lag of 2: the product of one tile, then the sum of an earlier one."""
    lag, tiles, wide, high = 2, 4, 92.0, 26.0
    parts = []
    for row, said in enumerate(("product, raise", "await, add, raise", "await readers")):
        parts.append(svg.words(0, 46 + row * (high + 8), said, svg.SMALL, bold=True))
    for program in range(tiles + 2 * lag):
        x = 118 + program * (wide + 6)
        parts.append(svg.words(x + wide / 2, 14, f"program {program}", svg.SMALL, "middle"))
        for row in range(3):
            tile, y = program - row * lag, 28 + row * (high + 8)
            there = 0 <= tile < tiles
            fill = svg.fill_of(tile) if there else svg.EMPTY
            parts.append(svg.rect(x, y, wide, high, fill, svg.INK if there else svg.LINE))
            if there:
                parts.append(svg.words(x + wide / 2, y + 17, f"tile {tile}", svg.SMALL, "middle"))
    text = (
        f"{tiles} tiles and a lag of {lag}. Program p multiplies tile p and raises its flags. Then "
        f"it awaits and adds tile p - {lag}. Then it awaits that all have read tile p - {2 * lag}. "
        f"The last {2 * lag} programs have no product."
    )
    width = 118 + (tiles + 2 * lag) * (wide + 6)
    return svg.titled(width, 136, "Between raising and awaiting: other products", text, parts)
