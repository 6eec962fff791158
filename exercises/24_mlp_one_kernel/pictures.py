"""Drawings of page 24: where the hidden values of an MLP live."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_mlp(fused: bool) -> Picture:
    """Where the hidden values of an MLP live: in memory between two kernels, or inside one."""
    title = "An MLP in one kernel" if fused else "An MLP in two kernels"
    high = 60.0
    parts = []
    for x, width in [(130, 330)] if fused else [(92, 76), (362, 76)]:
        name = "one kernel" if fused else "kernel"
        parts.append(svg.box(x, 0, width, 190, name, 20, svg.MANY, svg.LINE, svg.BODY, bold=True))
    boxes = [("x", 0, 60), ("h = gelu(x @ w1)", 190, 150), ("out", 470, 60)]
    for number, (name, x, width) in enumerate(boxes):
        parts.append(svg.rect(x, 62, width, high, svg.fill_of(number), svg.INK))
        parts.append(svg.words(x + width / 2, 97, name, anchor="middle", mono=True))
    parts += [svg.line(62, 92, 186, 92, tip=True), svg.line(342, 92, 466, 92, tip=True)]
    if fused:
        below = ("a tile at a time, in registers", "never in memory")
        says = "One kernel reads x and writes out. The hidden tile lives in registers only."
    else:
        below = ("in memory:", "written once, read once")
        says = "The first kernel writes all of h to memory, the second kernel reads it again."
    for number, line in enumerate(below):
        parts.append(svg.words(265, 144 + 18 * number, line, anchor="middle"))
    return svg.titled(532, 192, title, f"{title}. {says}", parts)
