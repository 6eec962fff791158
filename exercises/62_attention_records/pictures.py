"""Drawings of page 62: programs on a multiprocessor, their order, and a head in two tiles."""

from __future__ import annotations

from collections.abc import Callable

from tritonbook.seeing import svg
from tritonbook.seeing.svg import BODY, EMPTY, FILLS, INK, LINE, MASKED, MUTED, SMALL, Picture
from tritonbook.words import label

PRODUCTS, SOFTMAX = 2, 2  # ticks of each, for one tile of keys; a drawing, not a measurement


def schedule(programs: int, tiles: int) -> list[list[tuple[int, int]]]:
    """For each program (start of the products, start of the softmax) of each tile, in ticks.

    The tensor cores serve one program at a time: who has waited longest, then the lowest number.
    """
    found: list[list[tuple[int, int]]] = [[] for _ in range(programs)]
    ready, free = [0] * programs, 0
    for _ in range(programs * tiles):
        open_ones = [p for p in range(programs) if len(found[p]) < tiles]
        program = min(open_ones, key=lambda p: (ready[p], p))
        start = max(ready[program], free)
        free = start + PRODUCTS
        found[program].append((start, free))
        ready[program] = free + SOFTMAX
    return found


def draw_residents(programs: int, tiles: int) -> Picture:
    """A row for each program of a multiprocessor, and one for its tensor cores."""
    found = schedule(programs, tiles)
    last = max(times[-1][1] for times in found) + SOFTMAX
    left, tick, high = 104, 26, 26
    parts = []
    busy = []
    for program, times in enumerate(found):
        y = program * high
        parts.append(svg.words(0, y + 17, f"program {program}"))
        for products, softmax in times:
            fill = svg.fill_of(program)
            busy.append((products, fill, program))
            x = left + products * tick
            parts += [
                svg.box(x, y, PRODUCTS * tick, high - 4, label("products"), 15, fill),
            ]
            x = left + softmax * tick
            parts += [
                svg.box(x, y, SOFTMAX * tick, high - 4, "softmax", 15, EMPTY, LINE, colour=MUTED),
            ]
    y = programs * high + 10
    parts.append(svg.words(0, y + 17, "tensor cores", bold=True))
    parts.append(svg.rect(left, y, last * tick, high - 4, MASKED, LINE))
    for start, fill, program in busy:
        x = left + start * tick
        parts.append(svg.box(x, y, PRODUCTS * tick, high - 4, str(program), 15, fill))
    used = programs * tiles * PRODUCTS
    under = f"busy in {used} of {last} ticks"
    parts.append(svg.words(left, y + high + 14, under, SMALL))
    plural = "s" if programs > 1 else ""
    text = (
        f"{programs} program{plural} on a multiprocessor, {tiles} tiles of keys each. Products and "
        f"softmax take turns in a program; the tensor cores are {under}."
    )
    return svg.titled(left + last * tick, y + high + 18, "Time runs to the right", text, parts)


Order = Callable[[int, int, int, int], tuple[int, int]]


def draw_order(order: Order, tiles: int, heads: int, at_once: int) -> Picture:
    """Which program has which tile of queries and head; colours: heads that go together."""
    wide, high, left, top = 44, 24, 64, 26
    owner = {order(pid, tiles, heads, at_once): pid for pid in range(tiles * heads)}
    parts = []
    for head in range(heads):
        parts.append(svg.words(left + (head + 0.5) * wide, 10, f"head {head}", SMALL, "middle"))
    for tile in range(tiles):
        y = top + tile * high
        parts.append(svg.words(0, y + 16, f"tile {tile}"))
        for head in range(heads):
            x = left + head * wide
            fill = svg.fill_of(head // at_once)
            parts.append(svg.rect(x + 1, y + 1, wide - 2, high - 2, fill, INK))
            pid = owner.get((tile, head))
            said = "?" if pid is None else str(pid)
            parts.append(svg.words(x + wide / 2, y + 16, said, BODY, "middle"))
    taken = [order(pid, tiles, heads, at_once) for pid in range(4)]
    first = ", ".join(f"tile {t} of head {h}" for t, h in taken)
    text = (
        f"{heads} heads of {tiles} tiles, {at_once} heads at a time; each holds the number of its "
        f"program. The first programs take {first}."
    )
    under = "the last tile sees the most keys"
    parts.append(svg.words(left, top + tiles * high + 18, under, SMALL, colour=MUTED))
    return svg.titled(left + heads * wide, top + tiles * high + 24, "Program numbers", text, parts)


def draw_columns(D: int, ways: dict[str, tuple[int, ...]]) -> Picture:
    """A head of D columns in tiles of these widths; hatched columns are padding."""
    most = max(sum(widths) for widths in ways.values())
    scale, left, high = 420 / most, 92, 30
    parts, told = [], []
    for number, (name, widths) in enumerate(ways.items()):
        y, x, first = number * (high + 16), float(left), 0
        parts.append(svg.words(0, y + 20, name))
        for index, width in enumerate(widths):
            inside = min(width, max(0, D - first)) * scale
            parts.append(svg.rect(x, y, width * scale, high, MASKED, LINE))
            parts.append(svg.box(x, y, inside, high, str(width), 19, FILLS[index], size=BODY))
            x, first = x + width * scale, first + width
        total = sum(widths)
        parts.append(svg.words(x + 10, y + 20, f"{total / D:.2f} of the work", SMALL))
        cut = " + ".join(map(str, widths))
        told.append(f"In {name}: {cut} columns, {total / D:.2f} of the work.")
    text = f"A head of {D} columns. {' '.join(told)}"
    last = len(ways) * (high + 16)
    parts.append(svg.line(left + D * scale, -4, left + D * scale, last - 10, colour=MUTED))
    parts.append(svg.words(left + D * scale, last + 4, f"D = {D}", SMALL, "middle"))
    return svg.titled(left + 420 + 110, last + 10, f"Heads of {D}", text, parts)
