"""Drawings for the notebooks' text: who owns which elements, what a mask does, rows and pieces.

Each function returns a Picture: SVG on a card of its own, with the same in words for those who do
not see it. The last expression of a cell shows it.
"""

from __future__ import annotations

import itertools

from ..words import later
from . import svg
from .svg import Picture

_CELL, _HIGH = 34, 30


def draw_tiling(
    n: int,
    block: int,
    programs: int | None = None,
    tiles_per_program: int = 1,
    order: str = "blocked",
) -> Picture:
    """Which program owns which of `n` elements in tiles of `block`.

    order="blocked": `tiles_per_program` neighbouring tiles each. order="grid-stride": program p
    takes tiles p, p + programs, p + 2 * programs, ... Meant for small numbers (n up to 60).
    Raises ValueError for another order, and for sizes below 1.
    """
    if order not in ("blocked", "grid-stride"):
        raise ValueError(later(f'`order` is `"blocked"` or `"grid-stride"`, not `{order!r}`'))
    if min(n, block, tiles_per_program, 1 if programs is None else programs) < 1:
        raise ValueError(later("n, block, programs and tiles_per_program are at least 1"))
    tiles = -(-n // block)
    if order == "grid-stride":
        programs = min(programs or tiles, tiles)
        owners = [tile % programs for tile in range(tiles)]
    else:  # the last program's tiles all exist
        programs = -(-tiles // tiles_per_program)
        owners = [tile // tiles_per_program for tile in range(programs * tiles_per_program)]
    lanes = len(owners) * block
    cell = min(_CELL, 760 / lanes)
    title = f"{n} elements, tiles of {block}: {programs} program{'s' if programs > 1 else ''}"
    parts, top = [], 18.0
    for tile, owner in enumerate(owners):
        x, wide = tile * block * cell, block * cell
        label = f"tile {tile}" if wide >= 46 else str(tile)
        parts.append(svg.words(x + wide / 2, top - 9, label, svg.SMALL, "middle", svg.MUTED))
        parts += _tile(x, top, cell, _HIGH, tile * block, block, n, owner)
    for owner, run in itertools.groupby(range(len(owners)), owners.__getitem__):
        first, *rest = run  # one brace for neighbouring tiles of one program
        x, wide = first * block * cell, (1 + len(rest)) * block * cell
        parts.append(svg.bracket(x + 2, top + _HIGH + 4, wide - 4))
        name = f"pid {owner}" if wide >= 44 else str(owner)
        parts.append(svg.words(x + wide / 2, top + _HIGH + 25, name, 12, "middle", bold=True))
    masked = lanes - n
    legend = "The number in a cell is the element's. " + (
        "Hatched: lanes without an element, masked off." if masked else "Every lane has an element."
    )
    bottom = top + _HIGH + 44
    parts.append(svg.words(0, bottom, legend, svg.SMALL, colour=svg.MUTED))
    sentences = []
    for program in range(programs):
        spans = [
            f"{tile * block} to {min((tile + 1) * block, n) - 1}"
            for tile, owner in enumerate(owners)
            if owner == program and tile * block < n
        ]
        sentences.append(f"Program {program} owns elements {', '.join(spans)}.")
    text = f"{title}. {' '.join(sentences)} At the end {masked} lanes are masked."
    width = max(lanes * cell, svg.text_width(legend, svg.SMALL))
    return svg.titled(width, bottom + 4, title, text, parts)


def _tile(
    x: float,
    y: float,
    cell: float,
    high: float,
    first: int,
    block: int,
    n: int,
    owner: int,
) -> list[str]:
    """One tile: cells with their element numbers, hatched where there is no element.

    first: the tile's first element. n: of how many.
    """
    parts, size = [], min(12, 0.7 * cell)
    for lane in range(block):
        element, left = first + lane, x + lane * cell
        inside = element < n
        fill = svg.fill_of(owner) if inside else svg.MASKED
        parts.append(svg.rect(left, y, cell, high, fill, "#8b949e", dash="" if inside else "3 2"))
        if inside:
            baseline = y + high / 2 + (size - 3) / 2  # half of what a digit is high
            parts.append(svg.words(left + cell / 2, baseline, str(element), size, "middle"))
    parts.append(svg.rect(x, y, cell * block, high, "none", svg.INK, 1.6))
    return parts


def draw_mask(n: int, block: int) -> Picture:
    """The numbers that the last program computes: lanes, offsets, mask.

    Meant for small blocks (up to 16).
    """
    pid = (n - 1) // block
    label, cell, high = 250, 48, 30
    lanes = list(range(block))
    offsets = [pid * block + lane for lane in lanes]
    mask = [offset < n for offset in offsets]
    title = f"Program {pid}, with BLOCK_SIZE = {block} and n = {n}"
    rows = [
        ("tl.arange(0, BLOCK_SIZE)", "the lanes of the tile", [str(lane) for lane in lanes]),
        (
            "offs = pid * BLOCK_SIZE + ...",
            f"{pid} × {block} + lane: which element",
            [str(offset) for offset in offsets],
        ),
        ("mask = offs < n", "is there such an element?", ["True" if m else "False" for m in mask]),
        (
            "tl.load(x_ptr + offs, mask=mask)",
            "only lanes with True go to memory",
            [f"x[{offset}]" if m else "" for offset, m in zip(offsets, mask, strict=True)],
        ),
    ]
    parts, y = [], 0.0
    for number, (code, meaning, values) in enumerate(rows):
        parts.append(svg.words(0, y + 12, code, 12, mono=True))
        parts.append(svg.words(0, y + 27, meaning, svg.SMALL, colour=svg.MUTED))
        for lane, value in enumerate(values):
            x = label + lane * cell
            on = number < 2 or mask[lane]
            fill = svg.fill_of(pid) if on else svg.EMPTY if value else svg.MASKED
            dash = "" if on else "3 2"
            parts.append(svg.rect(x, y, cell - 4, high, fill, "#8b949e", dash=dash, radius=3))
            colour = svg.INK if on else svg.ALARM
            parts.append(svg.words(x + cell / 2 - 2, y + 19.5, value, 12, "middle", colour))
        y += high + 18
    off = sum(not m for m in mask)
    legend = (
        f"{off} of {block} lanes masked: they load nothing and store nothing."
        if off
        else "No lane is masked: the tile is full."
    )
    parts.append(svg.words(0, y + 8, legend, svg.SMALL, colour=svg.MUTED))
    text = (
        f"{title}. Lanes 0 to {block - 1} get offsets {offsets[0]} to {offsets[-1]}, "
        f"pid times BLOCK_SIZE plus lane. The mask offs < n is true for {block - off} of them. "
        f"{legend}"
    )
    return svg.titled(label + block * cell, y + 12, title, text, parts)


def draw_rows(M: int, N: int, block: int, scheme: str = "row") -> Picture:
    """A matrix of M rows and N columns, one program for each row.

    scheme="row": the whole row in one tile of `block` lanes (block >= N). scheme="loop": the row in
    pieces of `block`, visited one after another, twice. Raises ValueError for a row that is longer
    than its one tile.
    """
    if scheme == "row" and block < N:
        raise ValueError(later(f"one tile per row needs block >= N, and {block} < {N}"))
    pieces = 1 if scheme == "row" else -(-N // block)
    lanes = pieces * block
    cell = min(32.0, 640 / lanes)
    left, high, gap = 56, 28, 10
    how = f"one tile of {block} lanes" if pieces == 1 else f"{pieces} tiles of {block} lanes"
    title = f"{M} rows of {N}: one program per row, {how}"
    parts = []
    top = 18.0 if pieces > 1 else 0.0
    for piece in range(pieces if pieces > 1 else 0):
        middle = left + (piece + 0.5) * block * cell
        label = f"step {piece + 1}"
        parts.append(svg.words(middle, top - 9, label, svg.SMALL, "middle", svg.MUTED))
    for row in range(M):
        y = top + row * (high + gap)
        parts.append(svg.words(left - 10, y + 18.5, f"pid {row}", 12, "end", bold=True))
        for piece in range(pieces):
            x, first = left + piece * block * cell, piece * block
            parts += _tile(x, y, cell, high, first, block, N, row)
    y = top + M * (high + gap)
    lines = ["The number in a cell is its column."]
    if lanes > N:
        lines.append(f"Hatched: {lanes - N} lanes beyond the row, masked off.")
    if pieces > 1:
        lines.append("The steps are walked twice: to sum the squares, then to write the result.")
    for number, text in enumerate(lines):
        parts.append(svg.words(0, y + 12 + 16 * number, text, svg.SMALL, colour=svg.MUTED))
    wide = [svg.text_width(text, svg.SMALL) for text in lines]
    text = " ".join([f"{title}. Program p takes row p.", *lines])
    return svg.titled(max(left + lanes * cell, *wide), y + 16 * len(lines), title, text, parts)
