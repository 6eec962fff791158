"""Pictures of the Gluon notebooks: a ring of slots, and the work of each causal program."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .svg import EMPTY, FILLS, INK, LINE, SMALL, Picture, line, rect, titled, words


def draw_ring(ring_slot: Callable[[int, int], tuple[int, int]], loads: int, slots: int) -> Picture:
    """Where load after load goes in a ring of `slots` slots, and which phase its arrival ends.

    ring_slot(number, slots) -> (slot, phase), as in notebook 64.
    """
    left, top, width, height = 64, 26, 34, 30
    parts = [words(left, 8, "loads in their order")]
    for slot in range(slots):
        y = top + slot * height
        parts.append(words(0, y + 19, f"slot {slot}"))
        parts.append(rect(left, y, loads * width, height, EMPTY, LINE))
    parts.append(words(0, top + slots * height + 18, "phase"))
    told = []
    for number in range(loads):
        slot, phase = ring_slot(number, slots)
        x, y = left + number * width, top + slot * height
        parts.append(rect(x + 2, y + 2, width - 4, height - 4, FILLS[phase], INK))
        parts.append(words(x + width / 2, y + 19, str(number), anchor="middle"))
        below = top + slots * height + 18
        parts.append(words(x + width / 2, below, str(phase), SMALL, "middle"))
        told.append(f"{number} in slot {slot}, phase {phase}")
    text = f"{loads} loads into {slots} slots: {'; '.join(told)}."
    return titled(left + loads * width, top + slots * height + 24, "A ring of tiles", text, parts)


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
