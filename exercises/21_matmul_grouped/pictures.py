"""Drawings of page 21: the order of the tiles, and the strips that programs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tritonbook.seeing import svg

_OF_A, _OF_B, _OF_C = svg.fill_of(0), svg.fill_of(1), svg.fill_of(2)
_CELL = 22  # side of one tile, in pixels

Order = Callable[[int, int, int], tuple[int, int]]


def by_column(pid: int, grid_m: int, grid_n: int) -> tuple[int, int]:
    """Down the first column of tiles, then down the second."""
    return pid % grid_m, pid // grid_m


def in_groups_of(group: int) -> Order:
    """The order of the page's first task."""

    def order(pid: int, grid_m: int, grid_n: int) -> tuple[int, int]:
        whole, inside = divmod(pid, group * grid_n)
        first = whole * group
        column, row = divmod(inside, min(group, grid_m - first))
        return first + row, column

    return order


def strips(order: Order, grid_m: int, grid_n: int, running: int) -> tuple[int, int]:
    """How many strips of A and of B the first `running` programs of an order need."""
    tiles = [order(pid, grid_m, grid_n) for pid in range(min(running, grid_m * grid_n))]
    return len({m for m, _ in tiles}), len({n for _, n in tiles})


def draw_tile_order(
    orders: Mapping[str, Order], *, grid_m: int, grid_n: int, running: int
) -> svg.Picture:
    """Tiles of C in the order of their programs, one grid for each order, with strips counted.

    orders: {name: function (pid, grid_m, grid_n) -> (pid_m, pid_n)}. running: how many programs run
    at a time; their tiles are green, the strips of A and B that they need are marked.
    """
    title = f"The order of tiles, with {running} programs at a time"
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    sentences = []
    left, top = 18.0, 92.0
    for name, order in orders.items():
        of_a, of_b = strips(order, grid_m, grid_n, running)
        total = f"{of_a} of A + {of_b} of B = {of_a + of_b} strips"
        parts.append(svg.words(left - 18, 44, name, bold=True))
        rows, columns, outside = set(), set(), 0
        for pid in range(grid_m * grid_n):
            m, n = order(pid, grid_m, grid_n)
            if not (0 <= m < grid_m and 0 <= n < grid_n):
                outside += 1
                continue
            x, y = left + n * _CELL, top + m * _CELL
            parts.append(svg.rect(x, y, _CELL, _CELL, _OF_C if pid < running else svg.EMPTY))
            parts.append(svg.words(x + _CELL / 2, y + _CELL / 2 + 4, str(pid), svg.SMALL, "middle"))
            if pid < running:
                rows.add(m)
                columns.add(n)
        if outside:
            total = f"{outside} tiles lie outside C"
        parts.append(svg.words(left - 18, 62, total))
        for m in sorted(rows):
            parts.append(svg.rect(left - 14, top + m * _CELL + 3, 8, _CELL - 6, _OF_A, svg.INK))
        for n in sorted(columns):
            parts.append(svg.rect(left + n * _CELL + 3, top - 14, _CELL - 6, 8, _OF_B, svg.INK))
        sentences.append(f"Order: {name}.")
        sentences.append(
            f"But {total}." if outside else f"The first {running} programs need {total}."
        )
        left += max(grid_n * _CELL, 190) + 44
    bottom = top + grid_m * _CELL + 22
    legend = "Green: tiles of the programs that run first. Bars: strips of A and B that these need."
    parts.append(svg.words(0, bottom, legend, svg.SMALL, colour=svg.MUTED))
    width = max(left - 62, svg.text_width(legend, svg.SMALL), svg.text_width(title, 16))
    return svg.card(width, bottom + 4, title, " ".join([f"{title}.", *sentences]), parts)
