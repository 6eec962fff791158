"""Drawings of page 20: the walk of one program along K."""

from __future__ import annotations

from tritonbook.seeing import svg

_OF_A, _OF_B, _OF_C = svg.fill_of(0), svg.fill_of(1), svg.fill_of(2)


def draw_k_loop(
    M: int, N: int, K: int, block_m: int, block_n: int, block_k: int, pid_m: int, pid_n: int
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
