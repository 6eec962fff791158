"""Drawings for the matrix notebooks: the K loop, the order of tiles, the fused MLP."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import svg

_OF_A, _OF_B, _OF_C = svg.fill_of(0), svg.fill_of(1), svg.fill_of(2)
_CELL = 22  # side of one tile in the order picture, in pixels

Order = Callable[[int, int, int], tuple[int, int]]


def draw_k_loop(
    M: int,
    N: int,
    K: int,
    block_m: int,
    block_n: int,
    block_k: int,
    pid_m: int,
    pid_n: int,
) -> svg.Picture:
    """A (left), B (above) and C of a product, with the strips that one program reads along K.

    Sizes are in elements. Raises ValueError when the program's tile lies outside C.
    """
    if pid_m * block_m >= M or pid_n * block_n >= N or min(pid_m, pid_n) < 0:
        raise ValueError(f"tile ({pid_m}, {pid_n}) lies outside a {M} x {N} matrix")
    scale = 340 / max(M + K, N + K)
    top, gap = 62.0, 34.0
    c_x, c_y = K * scale + gap, top + K * scale + gap
    rows = (c_y + pid_m * block_m * scale, min(block_m, M - pid_m * block_m) * scale)
    columns = (c_x + pid_n * block_n * scale, min(block_n, N - pid_n * block_n) * scale)
    title = f"Program ({pid_m}, {pid_n}) walks along K"
    parts = [
        svg.words(0, 13, title, svg.TITLE, bold=True),
        svg.rect(0, c_y, K * scale, M * scale),
        svg.rect(c_x, top, N * scale, K * scale),
        svg.rect(c_x, c_y, N * scale, M * scale),
    ]
    steps = -(-K // block_k)
    for step in range(steps):
        start, size = step * block_k * scale, min(block_k, K - step * block_k) * scale
        middle = start + size / 2
        parts.append(svg.rect(start, rows[0], size, rows[1], _OF_A, svg.INK))
        parts.append(svg.words(middle, rows[0] + rows[1] / 2 + 4, str(step), anchor="middle"))
        parts.append(svg.rect(columns[0], top + start, columns[1], size, _OF_B, svg.INK))
        across = columns[0] + columns[1] / 2
        parts.append(svg.words(across, top + middle + 4, str(step), anchor="middle"))
    below = c_y + M * scale + 18
    parts += [
        svg.rect(columns[0], rows[0], columns[1], rows[1], _OF_C, svg.INK),
        svg.words(K * scale / 2, below, f"A: {M} x {K}", anchor="middle"),
        svg.words(c_x + N * scale / 2, top - 10, f"B: {K} x {N}", anchor="middle"),
        svg.words(c_x + N * scale / 2, below, f"C: {M} x {N}", anchor="middle"),
        svg.line(0, rows[0] - 8, K * scale, rows[0] - 8, tip=True),
        svg.line(columns[0] - 8, top, columns[0] - 8, top + K * scale, tip=True),
    ]
    legend = "The numbers are the steps of the loop; the arrows show where it goes."
    parts.append(svg.words(0, below + 24, legend, svg.SMALL, colour=svg.MUTED))
    text = (
        f"{title}. It computes one tile of C, in {steps} steps: in each it loads a tile of A, "
        f"{block_m} by {block_k}, further to the right, and a tile of B, {block_k} by {block_n}, "
        f"further down. The last step holds {K - (steps - 1) * block_k} of {block_k} columns."
    )
    width = max(c_x + N * scale, svg.text_width(legend, svg.SMALL))
    return svg.card(width, below + 28, title, text, parts)


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
        parts.append(svg.words(left - 18, 62, total))
        rows, columns = set(), set()
        for pid in range(grid_m * grid_n):
            m, n = order(pid, grid_m, grid_n)
            x, y = left + n * _CELL, top + m * _CELL
            parts.append(svg.rect(x, y, _CELL, _CELL, _OF_C if pid < running else svg.EMPTY))
            parts.append(svg.words(x + _CELL / 2, y + _CELL / 2 + 4, str(pid), svg.SMALL, "middle"))
            if pid < running:
                rows.add(m)
                columns.add(n)
        for m in sorted(rows):
            parts.append(svg.rect(left - 14, top + m * _CELL + 3, 8, _CELL - 6, _OF_A, svg.INK))
        for n in sorted(columns):
            parts.append(svg.rect(left + n * _CELL + 3, top - 14, _CELL - 6, 8, _OF_B, svg.INK))
        sentences.append(f"{name}: the first {running} programs need {total}.")
        left += max(grid_n * _CELL, 190) + 44
    bottom = top + grid_m * _CELL + 22
    legend = "Green: tiles of the programs that run first. Bars: strips of A and B that these need."
    parts.append(svg.words(0, bottom, legend, svg.SMALL, colour=svg.MUTED))
    width = max(left - 62, svg.text_width(legend, svg.SMALL), svg.text_width(title, 16))
    return svg.card(width, bottom + 4, title, " ".join([f"{title}.", *sentences]), parts)


def draw_mlp(fused: bool) -> svg.Picture:
    """Where the hidden values of an MLP live: in memory between two kernels, or inside one."""
    title = "A fused MLP" if fused else "An MLP in two kernels"
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    y, high = 96.0, 60
    for x, width in [(130, 330)] if fused else [(92, 76), (362, 76)]:
        parts.append(svg.rect(x, 34, width, 190, svg.MANY))
        name = "one kernel" if fused else "kernel"
        parts.append(svg.words(x + width / 2, 54, name, anchor="middle", bold=True))
    boxes = [("x", 0, 60, _OF_A), ("h = gelu(x w1)", 190, 150, _OF_B), ("out", 470, 60, _OF_C)]
    for name, x, width, fill in boxes:
        parts.append(svg.rect(x, y, width, high, fill, svg.INK))
        parts.append(svg.words(x + width / 2, y + 35, name, anchor="middle", mono=True))
    parts += [svg.line(62, 126, 186, 126, tip=True), svg.line(342, 126, 466, 126, tip=True)]
    if fused:
        below = ("a tile at a time, in registers", "never in memory")
        says = "One kernel reads x and writes out. The hidden tile lives in registers only."
    else:
        below = ("in memory:", "written once, read once")
        says = "The first kernel writes all of h to memory, the second kernel reads it again."
    for number, line in enumerate(below):
        parts.append(svg.words(265, 178 + 18 * number, line, anchor="middle"))
    return svg.card(532, 226, title, f"{title}. {says}", parts)
