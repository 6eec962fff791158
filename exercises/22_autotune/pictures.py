"""Drawings of page 22: what a tuner does with a call."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label, later

HIGH = 52.0  # of a box


def draw_tuner() -> Picture:
    """A call's way through a tuner: known key, launch; unknown key, prune, time, remember."""
    title = "What a tuner does with a call"
    top, low = 0.0, 116.0
    over, under = top + HIGH / 2, low + HIGH / 2
    parts = [
        *_box(0, top, 150, later("a call"), "M, N, K", 0),
        *_box(210, top, 150, "key seen before?", "M, N, K, dtypes", None),
        *_box(570, top, 110, label("launch"), "the winner", 2),
        *_box(110, low, 110, label("prune"), "8 configs to 5", 1),
        *_box(270, low, 160, "compile, run, time", "each of the 5", 4),
        *_box(480, low, 130, label("remember"), "the fastest", 3),
        svg.line(150, over, 205, over, tip=True),
        svg.line(360, over, 565, over, tip=True),
        svg.words(462, over - 8, "yes: at once", anchor="middle"),
        svg.line(285, top + HIGH, 165, low - 5, tip=True),
        svg.words(205, top + HIGH + 22, label("no"), anchor="end"),
        svg.line(220, under, 265, under, tip=True),
        svg.line(430, under, 475, under, tip=True),
        svg.line(562, low, 610, top + HIGH + 5, tip=True),
    ]
    text = (
        f"{title}. If its key was seen before, the winner is launched at once. If not, the table "
        "is pruned, each config that is left is compiled, run and timed, the fastest is remembered "
        "under the key, and launched."
    )
    return svg.titled(680, low + HIGH, title, text, parts)


def _box(x: float, y: float, width: float, name: str, below: str, fill: int | None) -> list[str]:
    """A box with two lines of text in its middle."""
    middle = x + width / 2
    colour = svg.EMPTY if fill is None else svg.fill_of(fill)
    return [
        svg.box(x, y, width, HIGH, name, 22, colour, size=svg.BODY, radius=6, bold=True),
        svg.words(middle, y + 40, below, svg.SMALL, "middle", svg.MUTED),
    ]
