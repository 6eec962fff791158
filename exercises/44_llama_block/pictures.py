"""Drawings of page 44: a layer of Llama, and which of its boxes are the learner's kernels."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label, later, listed

KERNEL, PRODUCT = svg.FILLS[0], svg.MANY
BOX, HIGH, GAP = 92.0, 40.0, 24.0
# What stands in each half: name, shape of what comes out, whether it is a kernel of the learner's.
HALVES = (
    (
        "x",
        "h",
        (
            ("rmsnorm", "(B, L, D)", True),
            ("@ w_qkv", "q, k, v", False),
            ("rope", later("q, k turned"), True),
            ("flash_gqa", "(B, H, L, d)", True),
            ("@ w_o", "(B, L, D)", False),
        ),
    ),
    (
        "h",
        "y",
        (
            ("rmsnorm", "(B, L, D)", True),
            ("@ w_gate, w_up", "twice (B L, F)", False),
            ("silu_mul", "(B L, F)", True),
            ("@ w_down", "(B, L, D)", False),
        ),
    ),
)


def draw_layer() -> Picture:
    """Both halves of a layer, step by step, with the residual that goes around each."""
    title = "A layer of Llama: what goes in is added again, once in each half"
    parts: list[str] = []
    wide, said = 0.0, []
    for row, (enters, leaves, steps) in enumerate(HALVES):
        top = 34 + row * 116.0
        middle = top + HIGH / 2
        parts.append(svg.words(10, middle + 5, enters, svg.TITLE, "middle", bold=True, mono=True))
        x = 26.0
        for name, shape, mine in steps:
            box = BOX + (34 if len(name) > 10 else 0)
            parts.append(svg.line(x, middle, x + GAP - 3, middle, tip=True))
            x += GAP
            fill = KERNEL if mine else PRODUCT
            parts.append(svg.rect(x, top, box, HIGH, fill, "#8b949e", radius=5))
            parts.append(svg.words(x + box / 2, middle + 4, name, svg.BODY, "middle", mono=True))
            below = top + HIGH + 15
            parts.append(svg.words(x + box / 2, below, shape, svg.SMALL, "middle", svg.MUTED))
            x += box
        plus = x + GAP + 11
        parts.append(svg.line(x, middle, x + GAP - 3, middle, tip=True))
        parts.append(
            f'<circle cx="{plus:g}" cy="{middle:g}" r="11" fill="{svg.EMPTY}" stroke="{svg.INK}"/>'
        )
        parts.append(svg.words(plus, middle + 5, "+", svg.TITLE, "middle", bold=True))
        parts.append(svg.line(plus + 12, middle, plus + 33, middle, tip=True))
        end = plus + 46
        parts.append(svg.words(end, middle + 5, leaves, svg.TITLE, "middle", bold=True, mono=True))
        # the way around: up from the input, along, and down into the sum
        over = top - 18
        parts.append(
            f'<path d="M10 {middle - 13:g}V{over:g}H{plus:g}V{middle - 15:g}" fill="none" '
            f'stroke="{svg.INK}" marker-end="url(#tb-tip)"/>'
        )
        parts.append(svg.words(40, over - 4, label("residual"), svg.SMALL, colour=svg.MUTED))
        wide = max(wide, end + 12)
        names = listed(f"`{name}`" for name, _, _ in steps)
        own = listed(f"`{name}`" for name, _, mine in steps if mine)
        said.append(f"`{enters}` goes through {names}, in this order, and is added: `{leaves}`.")
        said.append(f"Kernels of yours are {own}.")
    bottom = 34 + 116.0 + HIGH + 34
    parts.append(svg.rect(0, bottom, 16, 12, KERNEL, "#8b949e", radius=2))
    parts.append(svg.words(22, bottom + 10, "a kernel of yours", svg.SMALL, colour=svg.MUTED))
    parts.append(svg.rect(150, bottom, 16, 12, PRODUCT, "#8b949e", radius=2))
    parts.append(svg.words(172, bottom + 10, "a product of cuBLAS", svg.SMALL, colour=svg.MUTED))
    return svg.titled(wide, bottom + 14, title, f"{title}. {' '.join(said)}", parts)
