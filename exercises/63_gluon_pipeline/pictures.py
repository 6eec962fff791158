"""Drawings of page 63: copies and products of a loop, with few or many slots, and a layout."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

COPY, PRODUCT = 4, 2  # ticks that each takes; a copy is ordered in one


def schedule(steps: int, slots: int) -> list[tuple[int, int]]:
    """(start of the copy, start of the product) of each step, in ticks.

    A copy begins when its slot has been read and the one before it was ordered.
    """
    times: list[tuple[int, int]] = []
    for step in range(steps):
        free = times[step - slots][1] + PRODUCT if step >= slots else 0
        copy = max(free, times[-1][0] + 1 if times else 0)
        product = max(copy + COPY, times[-1][1] + PRODUCT if times else 0)
        times.append((copy, product))
    return times


def draw_pipeline(steps: int, slots: int) -> Picture:
    """A row for each slot: grey while its tile is under way, coloured while it is multiplied."""
    times = schedule(steps, slots)
    last = times[-1][1] + PRODUCT
    tick, high, left, top = min(26.0, 520 / last), 26.0, 60.0, 10.0
    parts = []
    for slot in range(slots):
        y = top + slot * high
        parts.append(svg.words(0, y + 17, f"slot {slot}", svg.SMALL))
        parts.append(svg.line(left, y + high - 2, left + last * tick, y + high - 2))
    for step, (copy, product) in enumerate(times):
        y, x = top + step % slots * high, left + product * tick
        begin = left + copy * tick
        parts += [
            svg.box(begin, y, x - begin, high - 4, f"copy {step}", 15),
            svg.rect(x, y, PRODUCT * tick, high - 4, svg.fill_of(step), svg.INK),
            svg.words(x + PRODUCT * tick / 2, y + 15, f"{step}", svg.BODY, "middle", bold=True),
        ]
    idle = last - steps * PRODUCT
    took = f"It takes {last} ticks; in {idle} of them the tensor cores have nothing to do."
    text = f"{steps} steps with {slots} slot{'s' if slots > 1 else ''}. {took}"
    below = top + slots * high + 16
    parts.append(svg.words(left, below, took, svg.SMALL))
    return svg.titled(left + last * tick + 4, below + 8, "Time runs to the right", text, parts)


def draw_layout() -> Picture:
    """Rows of a tile in BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0]), coloured by warp."""
    rows, threads, cell, left, top = 8, 32, 15.0, 60.0, 26.0
    parts = [
        svg.words(left, 16, "thread 0", svg.SMALL),
        svg.words(left + threads * cell, 16, "thread 31", svg.SMALL, "end"),
    ]
    for row in range(rows):
        y = top + row * cell
        parts.append(svg.words(0, y + 12, f"row {row}", svg.SMALL))
        for thread in range(threads):
            parts.append(
                svg.rect(left + thread * cell, y, cell - 2, cell - 2, svg.fill_of(row % 4))
            )
    below = top + rows * cell + 14
    parts.append(svg.words(left, below, "a square: 4 floats; a colour: a warp", svg.SMALL))
    text = (
        "The first 8 of 16 rows, 128 columns. Row 0 is warp 0's: thread t has columns 4 t to "
        "4 t + 3. Rows 1 to 3 are those of warps 1 to 3, and in row 4 warp 0 begins again."
    )
    return svg.titled(left + threads * cell + 4, below + 8, "Who holds what", text, parts)
