"""Pictures of the attention pages: turning pairs, the walk over tiles, who works when."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .svg import EMPTY, FILLS, INK, LINE, MASKED, SMALL, Picture, line, rect, titled, words

_FILL = {"full": FILLS[2], "masked": MASKED, "skipped": EMPTY}
_MEANING = {"full": "full: no mask", "masked": "masked", "skipped": "never touched"}


def draw_rotation(positions: int, thetas: Sequence[float]) -> Picture:
    """One arrow for each of `positions` positions, turned by position x theta; a circle per theta.

    thetas: angles in radians.
    """
    radius, top = 70, 26
    parts, left = [], 0.0
    for number, theta in enumerate(thetas):
        cx, cy = left + radius + 20, top + radius + 14
        step = f"pair {number}: {math.degrees(theta):.0f} degrees a step"
        parts.append(words(cx, 8, step, anchor="middle"))
        parts.append(f'<circle cx="{cx:g}" cy="{cy:g}" r="{radius}" fill="none" stroke="{LINE}"/>')
        for p in range(positions):
            x, y = math.cos(p * theta), -math.sin(p * theta)
            parts.append(line(cx, cy, cx + radius * x, cy + radius * y, tip=True))
            if theta > 0.2 or p in (0, positions - 1):
                place = cx + (radius + 10) * x, cy + (radius + 10) * y + 4
                parts.append(words(*place, str(p), SMALL, "middle"))
        left += 2 * radius + 70
    turns = " and ".join(f"{math.degrees(theta):.0f}" for theta in thetas)
    text = (
        f"{len(thetas)} circles, each with the arrow of one pair at positions 0 to "
        f"{positions - 1}. From one position to the next the arrows turn by {turns} degrees."
    )
    return titled(left, top + 2 * radius + 28, "Pairs turn with the position", text, parts)


def tile_states(
    queries: int, keys: int, block_m: int, block_n: int, window: int | None = None
) -> list[list[str]]:
    """What happens to each tile of the causal score matrix: "full", "masked" or "skipped".

    Query i sees key j if j <= i + keys - queries, so the last query sees the last key. window: how
    many keys a query sees at most, the last ones.
    """
    window = window or keys
    table = []
    for m in range(0, queries, block_m):
        rows = range(m, min(m + block_m, queries))
        # how many keys each row may see
        limits = [min(row + keys - queries + 1, keys) for row in rows]
        line_of_tiles = []
        for n in range(0, keys, block_n):
            if max(limits) <= n or min(limits) - window >= n + block_n:
                line_of_tiles.append("skipped")
            else:
                full = min(limits) >= n + block_n and max(limits) - window <= n
                line_of_tiles.append("full" if full else "masked")
        table.append(line_of_tiles)
    return table


def draw_tile_walk(
    queries: int, keys: int, block_m: int, block_n: int, window: int | None = None
) -> Picture:
    """The causal score matrix in tiles; a tile that is visited has its number.

    A program owns a row of tiles. window: as in `tile_states`.
    """
    cell, left, top = 38, 84, 34
    states = tile_states(queries, keys, block_m, block_n, window)
    parts = [
        words(left, 8, f"{keys} keys, {block_n} to a tile"),
        words(0, 26, f"{queries} queries"),
    ]
    counts = dict.fromkeys(_FILL, 0)
    for m, line_of_tiles in enumerate(states):
        y = top + m * cell
        parts.append(words(0, y + cell / 2 + 4, f"program {m}"))
        for n, state in enumerate(line_of_tiles):
            counts[state] += 1
            x = left + n * cell
            parts.append(rect(x + 2, y + 2, cell - 4, cell - 4, _FILL[state], INK))
            if state != "skipped":
                parts.append(rect(x + 12, y + 11, 14, 16, EMPTY, "none"))
                parts.append(words(x + cell / 2, y + cell / 2 + 4, str(n), anchor="middle"))
    y, x = top + len(states) * cell + 26, left
    for state, meaning in _MEANING.items():
        parts += [rect(x, y - 11, 14, 14, _FILL[state], INK), words(x + 20, y, meaning)]
        x += 118
    kind = f"a window of {window}" if window else "causal"
    text = (
        f"Scores of {queries} queries and {keys} keys in tiles of {block_m} by {block_n}, {kind}: "
        f"{counts['full']} tiles are full, {counts['masked']} need a mask, {counts['skipped']} are "
        "never touched. Each program takes one row of tiles and walks to the right."
    )
    width = max(left + len(states[0]) * cell, x)
    return titled(width, y + 6, "The walk over the tiles", text, parts)
