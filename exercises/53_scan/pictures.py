"""Drawings of page 53: the steps of a scan, the carry between tiles, chunks of linear attention."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label, later


def draw_steps(lanes: int) -> Picture:
    """A scan of `lanes` inputs, a power of 2: which inputs each lane has summed after each step."""
    wide, high, gap, left, top = 58.0, 26.0, 34.0, 92.0, 6.0
    steps = (lanes - 1).bit_length()
    parts = []
    for row in range(steps + 1):
        y = top + row * (high + gap)
        reach = 1 << row  # how many inputs a lane covers at most
        name = label("inputs") if row == 0 else f"after step {row}"
        parts.append(svg.words(0, y + 17, name, svg.BODY, bold=True))
        for lane in range(lanes):
            x, first = left + lane * wide, max(0, lane - reach + 1)
            fill = svg.FILLS[2] if first == 0 else svg.FILLS[0]
            held = f"{lane}" if first == lane else f"{first} to {lane}"
            parts.append(svg.box(x + 2, y, wide - 4, high, held, 17, fill))
            if row < steps and lane + reach < lanes:
                begin, end = x + wide / 2, x + wide / 2 + reach * wide
                parts.append(svg.line(begin, y + high + 2, end - 6, y + high + gap - 3, tip=True))
    note = "Green lanes hold their result: the sum of all inputs up to their own."
    low = top + (steps + 1) * (high + gap) - gap + 22
    parts.append(svg.words(left, low, note, svg.SMALL, colour=svg.MUTED))
    text = (
        f"{lanes} lanes in {steps} steps. In step s each lane adds what the lane 2 to the power "
        "of s - 1 places to its left holds. In the end lane n holds the sum of inputs 0 to n."
    )
    return svg.titled(left + lanes * wide, low, "A scan: which inputs a lane holds", text, parts)


def draw_carry() -> Picture:
    """Three tiles of four numbers: running sums inside the tile, the carry, and the result."""
    numbers = [[2, 1, 0, 2], [1, 1, -1, 1], [3, 0, 2, -1]]
    wide, high, left, between = 36.0, 26.0, 118.0, 44.0
    rows = (("x", 0.0), ("scan of the tile", 36.0), (later("+ carry"), 72.0), ("y", 108.0))
    parts = [svg.words(0, y + 17, name, svg.BODY, bold=True) for name, y in rows]
    carry, said = 0, []
    for tile, given in enumerate(numbers):
        x0 = left + tile * (4 * wide + between)
        sums = [sum(given[: n + 1]) for n in range(4)]
        for values, y, fill in (
            (given, 0.0, svg.EMPTY),
            (sums, 36.0, svg.FILLS[0]),
            ([total + carry for total in sums], 108.0, svg.FILLS[2]),
        ):
            for n, value in enumerate(values):
                x = x0 + n * wide
                parts.append(svg.box(x, y, wide, high, f"{value}", 17, fill, size=svg.BODY))
        parts.append(svg.rect(x0, 72, 4 * wide, high, svg.FILLS[1], svg.INK, radius=4))
        parts.append(svg.words(x0 + 2 * wide, 89, f"{carry}", svg.BODY, "middle", bold=True))
        said.append(f"tile {tile}: x {given}, scan {sums}, carry {carry}")
        carry += sums[-1]
        if tile < 2:
            parts.append(svg.line(x0 + 4 * wide + 3, 85, x0 + 4 * wide + between - 4, 85, tip=True))
    text = "Three tiles of a row. " + "; ".join(said) + ". The result y is the scan plus the carry."
    return svg.titled(
        left + 12 * wide + 2 * between,
        138,
        "The carry of a tile: all totals before it",
        text,
        parts,
    )


def draw_chunks(chunks: int) -> Picture:
    """The causal matrix of scores in chunks: the masked products, and where the state stands."""
    cell, left, top = 52.0, 118.0, 26.0
    side = chunks * cell
    parts = [
        svg.words(left + side / 2, 12, "keys and values", svg.BODY, "middle", bold=True),
        svg.words(0, top + side / 2 + 4, label("queries"), svg.BODY, bold=True),
    ]
    for i in range(chunks):
        y, x = top + i * cell, left + i * cell
        parts.append(svg.words(left - 8, y + cell / 2 + 4, f"chunk {i}", svg.SMALL, "end"))
        if i:
            parts.append(svg.rect(left, y + 2, i * cell - 2, cell - 4, svg.FILLS[1], svg.INK))
            state = "q S" if i == 1 else f"q S, of {i} chunks"
            parts.append(svg.words(left + i * cell / 2, y + 31, state, svg.SMALL, "middle"))
        triangle = f"M{x:g} {y + 2:g}V{y + cell - 2:g}H{x + cell - 4:g}Z"
        parts.append(f'<path d="{triangle}" fill="{svg.FILLS[0]}" stroke="{svg.INK}"/>')
        parts.append(svg.rect(x, y + 2, cell - 4, cell - 4, "none", svg.LINE, dash="3 3"))
    right = left + side + 26
    for n, (fill, said) in enumerate(
        (
            (svg.FILLS[0], "inside the chunk: scores, masked"),
            (svg.FILLS[1], "before it: one product with the state"),
            (svg.EMPTY, "the future: masked, or never computed"),
        )
    ):
        y = top + 40 + n * 34
        parts.append(svg.rect(right, y, 22, 18, fill, svg.INK))
        parts.append(svg.words(right + 32, y + 13, said, svg.BODY))
    text = (
        f"The causal matrix of queries and keys in {chunks} by {chunks} chunks. On the diagonal a "
        "triangle: scores inside the chunk. All that is left of it in a row of chunks is one "
        "product of q with the state. What is above the diagonal is masked, or never computed."
    )
    return svg.titled(right + 266, top + side + 4, "Linear attention in chunks", text, parts)
