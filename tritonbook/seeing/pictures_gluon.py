"""Pictures of the Gluon notebooks: the work of each causal program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .svg import FILLS, INK, SMALL, Picture, line, rect, titled, words


def shares(
    next_tile: Callable[[int, int, int], int], tiles: int, heads: int, programs: int
) -> list[int]:
    """How many tiles of keys each program walks over: `tiles` tiles of queries a head, causal.

    next_tile(turn, pid, programs) -> number of the tile of queries. The longest of a head is first.
    """
    found = [0] * programs
    for turn in range(-(-heads * tiles // programs)):
        for pid in range(programs):
            number = next_tile(turn, pid, programs)
            if number < heads * tiles:
                found[pid] += tiles - number % tiles
    return found


def draw_shares(
    ways: Mapping[str, Callable[[int, int, int], int]], tiles: int, heads: int, programs: int
) -> Picture:
    """A bar for the work of each program, under one or more orders. All wait for the longest."""
    left, step, high = 0, 30, 84
    work = {name: shares(way, tiles, heads, programs) for name, way in ways.items()}
    most = max(max(found) for found in work.values())
    parts, told = [], []
    for name, found in work.items():
        parts.append(words(left, 8, name))
        floor = 34 + high
        for pid, steps in enumerate(found):
            x, tall = left + pid * step, high * steps / most
            parts.append(rect(x + 3, floor - tall, step - 6, tall, FILLS[pid % 2], INK))
            parts.append(words(x + step / 2, floor - tall - 4, str(steps), SMALL, "middle"))
            parts.append(words(x + step / 2, floor + 15, str(pid), SMALL, "middle"))
        parts.append(line(left, floor, left + programs * step, floor))
        mean = sum(found) / programs
        said = f"longest {max(found)}, mean {mean:g}"
        parts.append(words(left, floor + 34, said))
        told.append(f"{name}: {said}")
        left += programs * step + 40
    text = (
        f"{heads} heads of {tiles} tiles of queries on {programs} programs. Tiles of keys that a "
        f"program walks over: {'; '.join(told)}."
    )
    return titled(left - 40, 34 + high + 40, "Work of each program", text, parts)
