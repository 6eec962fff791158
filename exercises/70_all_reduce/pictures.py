"""Drawings of page 70: tables of addresses, a flag's way, and two shots."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_table(ranks: int) -> Picture:
    """Ranks side by side: x, the part in symmetric memory, and the table of addresses."""
    wide, gap, high = 168.0, 40.0, 28.0
    parts = []
    for rank in range(ranks):
        x = rank * (wide + gap)
        parts.append(svg.rect(x, 0, wide, 176, svg.EMPTY, svg.LINE, radius=6))
        parts.append(
            svg.words(x + wide / 2, 18, f"rank {rank}, a GPU", svg.BODY, "middle", bold=True)
        )
        fill = svg.fill_of(rank)
        parts.append(svg.box(x + 14, 30, wide - 28, high, f"x of rank {rank}: private", 19))
        parts.append(svg.box(x + 14, 70, wide - 28, high, f"part of rank {rank}", 19, fill))
        cell = (wide - 28) / ranks
        for other in range(ranks):
            left = x + 14 + other * cell
            parts.append(svg.box(left, 128, cell, high, f"@{other}", 19, svg.fill_of(other)))
        parts.append(
            svg.words(x + wide / 2, 122, label("table"), svg.SMALL, "middle", colour=svg.MUTED)
        )
        parts.append(
            svg.words(x + wide / 2, 170, "alike everywhere", svg.SMALL, "middle", colour=svg.MUTED)
        )
    for rank in range(1, ranks):  # rank 0's table leads to the other ranks' parts
        cell = (wide - 28) / ranks
        begin = 14 + (rank + 0.5) * cell
        parts.append(svg.line(begin, 127, rank * (wide + gap) + 12, 98, tip=True))
    text = (
        f"{ranks} ranks, each a GPU with x in private memory and a part in symmetric memory. Each "
        "has the same table: the address of every rank's part. Through it a kernel on rank 0 loads "
        "from the parts of all others."
    )
    width = ranks * wide + (ranks - 1) * gap
    return svg.titled(
        width, 178, "Symmetric memory: a part on each rank, and the table of addresses", text, parts
    )


def draw_flags() -> Picture:
    """Rank 0 stores, raises the flag; rank 1 awaits it, puts it back and reads."""
    lanes = (("rank 0", 40.0), ("rank 1", 150.0))
    parts = []
    for name, y in lanes:
        parts.append(svg.words(0, y + 18, name, svg.BODY, bold=True))
        parts.append(svg.line(62, y + 14, 700, y + 14))
    steps = (
        (70.0, 40.0, 128.0, "store the number", 0),
        (214.0, 40.0, 112.0, "all threads done", 7),
        (342.0, 40.0, 136.0, "raise: release", 1),
        (70.0, 150.0, 330.0, "await: 0 ... 0 ... 0", 7),
        (416.0, 150.0, 136.0, "1: acquire, put back", 1),
        (568.0, 150.0, 128.0, "load the number", 2),
    )
    for x, y, wide, said, fill in steps:
        parts.append(svg.box(x, y, wide, 28, said, 18, svg.FILLS[fill], radius=4))
    parts.append(svg.line(440, 70, 474, 147, tip=True))
    parts.append(svg.words(470, 112, "the flag, in rank 1's memory", svg.SMALL))
    parts.append(svg.words(62, 16, "time goes to the right", svg.SMALL, colour=svg.MUTED))
    text = (
        "Rank 0 stores a number, waits until all of its threads are done, and raises the flag with "
        "release. The flag lies in rank 1's memory. Rank 1 looks at it until it is 1, with "
        "acquire, puts it back to 0 in the same step, and loads the number."
    )
    return svg.titled(704, 182, "A flag between two ranks", text, parts)


def draw_two_shots(ranks: int) -> Picture:
    """Shares of all parts: who adds which, and where the sums go."""
    cell, high, left = 76.0, 30.0, 78.0
    parts = []
    blocks = (("parts, all different", 24.0), ("1. reduce-scatter", 0.0), ("2. all-gather", 0.0))
    between = ranks * cell + 36
    for block, (name, _) in enumerate(blocks):
        x0 = left + block * between
        parts.append(svg.words(x0, 14, name, svg.BODY, bold=True))
        for rank in range(ranks):
            y = 26 + rank * (high + 10)
            if block == 0:
                parts.append(svg.words(0, y + 20, f"rank {rank}", svg.BODY, bold=True))
            for share in range(ranks):
                x = x0 + share * cell
                done = block == 2 or (block == 1 and share == rank)
                fill = svg.fill_of(share) if done else svg.EMPTY
                said = label("sum") if done else f"share {share}" if block == 0 else ""
                parts.append(
                    svg.rect(
                        x, y, cell - 4, high, fill, svg.INK if done or block == 0 else svg.LINE
                    )
                )
                parts.append(svg.words(x + cell / 2 - 2, y + 20, said, svg.SMALL, "middle"))
    low = 26 + ranks * (high + 10) + 12
    note = "Rank r adds share r of all parts, then stores the sum at every rank."
    parts.append(svg.words(left, low, note, svg.SMALL, colour=svg.MUTED))
    text = (
        f"{ranks} ranks, each with {ranks} shares of its part. After the first shot rank r holds "
        "the sum of share r. After the second all ranks hold all sums."
    )
    return svg.titled(
        left + 3 * between - 36, low + 4, "Two shots: each rank adds one share", text, parts
    )
