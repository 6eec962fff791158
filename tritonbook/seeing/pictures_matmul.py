"""Drawings for the matrix notebooks: the fused MLP."""

from __future__ import annotations

from . import svg

_OF_A, _OF_B, _OF_C = svg.fill_of(0), svg.fill_of(1), svg.fill_of(2)


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
