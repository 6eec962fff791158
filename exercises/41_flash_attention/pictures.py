"""Drawings of page 41: one step of a program's walk over the keys, and the running maximum."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tritonbook.seeing import svg
from tritonbook.seeing.svg import EMPTY, FILLS, INK, LINE, MUTED, SMALL, Picture
from tritonbook.words import label


def draw_one_step(tiles: int, step: int) -> Picture:
    """A program between two tiles of keys: what lies in memory, what in registers, what nowhere.

    tiles: of keys, and of queries. step: the tile of keys that the program is at, from 0.
    """
    cell, left, top, mine = 46, 120, 118, tiles // 2
    right = left + tiles * cell + 34
    parts = [svg.words(0, 40, "K, in memory"), svg.words(0, 80, "V, in memory")]
    for n in range(tiles):
        x = left + n * cell
        for y in (22, 62):
            parts.append(svg.rect(x + 2, y, cell - 4, 28, FILLS[0] if n == step else EMPTY, INK))
        for m in range(tiles):
            y = top + m * cell
            if (m, n) == (mine, step):
                parts.append(svg.rect(x + 2, y + 2, cell - 4, cell - 4, FILLS[2], INK, 2))
            else:
                parts.append(svg.rect(x + 2, y + 2, cell - 4, cell - 4, EMPTY, LINE, dash="3 3"))
            if m == mine and n != step:
                said = label("gone") if n < step else label("later")
                parts.append(svg.words(x + cell / 2, y + 28, said, SMALL, "middle", MUTED))
    parts.append(
        svg.line(left + (step + 0.5) * cell, 92, left + (step + 0.5) * cell, top - 2, tip=True)
    )
    for m in range(tiles):
        y = top + m * cell
        parts.append(
            svg.rect(left - 44, y + 2, 28, cell - 4, FILLS[0] if m == mine else EMPTY, INK)
        )
        parts.append(svg.rect(right, y + 2, 28, cell - 4, FILLS[2] if m == mine else EMPTY, INK))
    at = top + (mine + 0.5) * cell
    parts.append(svg.words(left - 52, top + 14, "Q,", anchor="end"))
    parts.append(svg.words(left - 52, top + 30, "in memory", anchor="end"))
    parts.append(svg.line(left - 14, at, left, at, tip=True))
    parts.append(svg.line(left + tiles * cell + 2, at, right - 3, at, tip=True))
    parts.append(svg.words(right, top - 12, "O"))
    parts.append(svg.words(right + 36, at - 4, "acc, m, l:"))
    parts.append(svg.words(right + 36, at + 12, "in registers"))
    under = top + tiles * cell + 22
    parts.append(svg.rect(left, under - 11, 14, 14, FILLS[2], INK))
    parts.append(svg.words(left + 20, under, "in registers"))
    parts.append(svg.rect(left + 112, under - 11, 14, 14, EMPTY, LINE, dash="3 3"))
    parts.append(svg.words(left + 132, under, "S: never in memory"))
    text = (
        f"Scores in {tiles} by {tiles} tiles. A program holds its tile of Q and, in registers, "
        f"acc, m and l. At step {step} it loads tile {step} of K and of V and holds one tile of "
        "scores. Those before are gone, those after come later; no tile of S is ever in memory."
    )
    return svg.titled(right + 116, under + 6, "One step of one program", text, parts)


def draw_running_max(scores: Sequence[float], block: int) -> Picture:
    """One row of scores as bars, tile after tile, with the running maximum m and sum l."""
    step, floor, high = max(30, 76 // block), 130, 96  # room for the words under a tile
    top_score, low_score = max(max(scores), 0.0), min(min(scores), 0.0)
    span = (top_score - low_score) or 1.0

    def level(score: float) -> float:
        return floor - (score - low_score) / span * high

    parts = [svg.words(0, 8, "the thick line is m, the largest score so far")]
    parts.append(svg.line(0, level(0), len(scores) * step, level(0)))
    told = []
    m, total = -math.inf, 0.0
    for first in range(0, len(scores), block):
        tile = list(scores[first : first + block])
        new = max(m, *tile)
        alpha = math.exp(m - new)
        total = total * alpha + sum(math.exp(score - new) for score in tile)
        x0, width = first * step, len(tile) * step
        for i, score in enumerate(tile):
            y0, y1 = sorted((level(0), level(score)))
            parts.append(svg.rect(x0 + i * step + 5, y0, step - 10, max(y1 - y0, 1), FILLS[0], INK))
        parts.append(svg.rect(x0 + 2, level(new) - 1.5, width - 4, 3, INK, INK))
        if first:
            parts.append(svg.line(x0, 22, x0, floor + 6))
        for row, text in enumerate((f"m {new:.1f}", f"old × {alpha:.2f}", f"l {total:.2f}")):
            parts.append(svg.words(x0 + width / 2, floor + 24 + 16 * row, text, SMALL, "middle"))
        told.append(f"m {new:.1f}, what was there is multiplied by {alpha:.2f}, l {total:.2f}")
        m = new
    text = f"A row of {len(scores)} scores in tiles of {block}. After each tile: {'; '.join(told)}."
    return svg.titled(max(len(scores) * step, 270), floor + 62, "The running maximum", text, parts)
