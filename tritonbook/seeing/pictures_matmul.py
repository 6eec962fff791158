"""Drawings for the matrix notebooks: the K loop, the order of tiles, the fused MLP.

Each returns a Drawing: SVG on a card of its own, readable on light and dark pages, with a title and
a description in words; no scripts, nothing loaded.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_INK, _GRID, _CARD = "#1f2328", "#8c959f", "#ffffff"
_BLUE, _ORANGE, _GREEN, _PALE = "#4a7fb5", "#d9843b", "#5a9367", "#eef1f4"
_CELL = 22  # side of one tile in the order picture, in pixels

Order = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True)
class Drawing:
    """A finished picture. Notebooks show the SVG, terminals the description."""

    svg: str
    description: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.description


def _rect(x: float, y: float, w: float, h: float, fill: str, line: str = _GRID) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{fill}" stroke="{line}"/>'


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{_INK}">'
        f"{html.escape(words)}</text>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{_INK}" '
        'stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _drawing(width: float, height: float, title: str, words: str, parts: Iterable[str]) -> Drawing:
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
        f'<path d="M0,0 L6,3 L0,6 z" fill="{_INK}"/></marker></defs>'
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'width="{width:g}" font-family="system-ui,sans-serif" style="max-width:100%">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(words)}</desc>{tip}"
        f'<rect width="{width:g}" height="{height:g}" rx="6" fill="{_CARD}"/>'
        f"{''.join(parts)}</svg>"
    )
    return Drawing(svg, f"{title}. {words}")


def draw_k_loop(
    M: int,
    N: int,
    K: int,
    block_m: int,
    block_n: int,
    block_k: int,
    pid_m: int,
    pid_n: int,
) -> Drawing:
    """A (left), B (above) and C of a product, with the strips that one program reads along K.

    Sizes are in elements. Raises ValueError when the program's tile lies outside C.
    """
    if pid_m * block_m >= M or pid_n * block_n >= N or min(pid_m, pid_n) < 0:
        raise ValueError(f"tile ({pid_m}, {pid_n}) lies outside a {M} x {N} matrix")
    scale = 340 / max(M + K, N + K)
    left, top, gap = 50.0, 42.0, 30.0
    c_x, c_y = left + K * scale + gap, top + K * scale + gap
    rows = (c_y + pid_m * block_m * scale, min(block_m, M - pid_m * block_m) * scale)
    columns = (c_x + pid_n * block_n * scale, min(block_n, N - pid_n * block_n) * scale)
    parts = [
        _rect(left, c_y, K * scale, M * scale, _PALE),
        _rect(c_x, top, N * scale, K * scale, _PALE),
        _rect(c_x, c_y, N * scale, M * scale, _PALE),
    ]
    steps = -(-K // block_k)
    for step in range(steps):
        start, size = step * block_k * scale, min(block_k, K - step * block_k) * scale
        shade = _BLUE if step == 0 else "#a9c4de"
        parts.append(_rect(left + start, rows[0], size, rows[1], shade))
        parts.append(_text(left + start + size / 2, rows[0] + rows[1] / 2 + 4, str(step)))
        shade = _ORANGE if step == 0 else "#f0c9a4"
        parts.append(_rect(columns[0], top + start, columns[1], size, shade))
        parts.append(_text(columns[0] + columns[1] / 2, top + start + size / 2 + 4, str(step)))
    parts += [
        _rect(columns[0], rows[0], columns[1], rows[1], _GREEN),
        _text(left + K * scale / 2, c_y + M * scale + 20, f"A: {M} x {K}"),
        _text(c_x + N * scale / 2, top - 22, f"B: {K} x {N}"),
        _text(c_x + N * scale / 2, c_y + M * scale + 20, f"C: {M} x {N}"),
        _arrow(left, rows[0] - 8, left + K * scale, rows[0] - 8),
        _arrow(columns[0] - 8, top, columns[0] - 8, top + K * scale),
    ]
    words = (
        f"Program ({pid_m}, {pid_n}) computes one tile of C. It walks along K in {steps} steps: in "
        f"each it loads a tile of A, {block_m} by {block_k}, further to the right, and a tile of "
        f"B, {block_k} by {block_n}, further down. The last step holds "
        f"{K - (steps - 1) * block_k} of {block_k} columns."
    )
    width, height = c_x + N * scale + 30, c_y + M * scale + 36
    return _drawing(width, height, "One program walks along K", words, parts)


def strips(order: Order, grid_m: int, grid_n: int, running: int) -> tuple[int, int]:
    """How many strips of A and of B the first `running` programs of an order need."""
    tiles = [order(pid, grid_m, grid_n) for pid in range(min(running, grid_m * grid_n))]
    return len({m for m, _ in tiles}), len({n for _, n in tiles})


def draw_tile_order(
    orders: Mapping[str, Order], *, grid_m: int, grid_n: int, running: int
) -> Drawing:
    """Tiles of C in the order of their programs, one grid for each order, with strips counted.

    orders: {name: function (pid, grid_m, grid_n) -> (pid_m, pid_n)}. running: how many programs run
    at a time; their tiles are green, the strips of A and B that they need are marked.
    """
    parts: list[str] = []
    sentences = []
    left, top = 34.0, 74.0
    for name, order in orders.items():
        of_a, of_b = strips(order, grid_m, grid_n, running)
        parts.append(_text(left - 14, 22, name, "start", 14))
        total = f"{of_a} strips of A + {of_b} of B = {of_a + of_b}"
        parts.append(_text(left - 14, 42, total, "start"))
        rows, columns = set(), set()
        for pid in range(grid_m * grid_n):
            m, n = order(pid, grid_m, grid_n)
            x, y = left + n * _CELL, top + m * _CELL
            parts.append(_rect(x, y, _CELL, _CELL, "#b7d3bd" if pid < running else _PALE))
            parts.append(_text(x + _CELL / 2, y + _CELL / 2 + 4, str(pid), size=10))
            if pid < running:
                rows.add(m)
                columns.add(n)
        parts += [_rect(left - 14, top + m * _CELL + 3, 8, _CELL - 6, _BLUE) for m in rows]
        parts += [_rect(left + n * _CELL + 3, top - 14, _CELL - 6, 8, _ORANGE) for n in columns]
        sentences.append(f"{name}: the first {running} programs need {total}.")
        left += max(grid_n * _CELL, 190) + 50
    height = top + grid_m * _CELL + 20
    return _drawing(left - 20, height, "The order of tiles", " ".join(sentences), parts)


def draw_mlp(fused: bool) -> Drawing:
    """Where the hidden values of an MLP live: in memory between two kernels, or inside one."""
    parts: list[str] = []
    boxes = [("x", 20, 60, _BLUE), ("h = gelu(x w1)", 200, 150, _ORANGE), ("out", 490, 60, _GREEN)]
    y = 96.0
    kernels = [(150, 330)] if fused else [(110, 76), (380, 76)]
    for x, width in kernels:
        parts.append(_rect(x, 34, width, 190, _PALE))
        parts.append(_text(x + width / 2, 54, "one kernel" if fused else "kernel"))
    for name, x, width, colour in boxes:
        parts.append(_rect(x, y, width, 60, colour))
        parts.append(_text(x + width / 2, y + 35, name, size=14))
    parts += [_arrow(82, 126, 196, 126), _arrow(352, 126, 486, 126)]
    if fused:
        parts.append(_text(275, 180, "a tile at a time, in registers"))
        parts.append(_text(275, 200, "never in memory"))
        words = "One kernel reads x and writes out. The hidden tile lives in registers only."
    else:
        parts.append(_text(275, 180, "written once,", size=12))
        parts.append(_text(275, 196, "read once", size=12))
        words = "The first kernel writes all of h to memory, the second kernel reads it again."
    title = "A fused MLP" if fused else "An MLP in two kernels"
    return _drawing(570, 240, title, words, parts)
