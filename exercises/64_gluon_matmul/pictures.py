"""Drawings of page 64: a ring and its phases, and the jobs of a program's warps."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import EMPTY, FILLS, INK, LINE, SMALL, Picture
from tritonbook.words import label


def draw_ring(loads: int, slots: int) -> Picture:
    """Where load after load goes in a ring of `slots` slots, and which phase its arrival ends."""
    left, top, width, height = 64, 26, 34, 30
    parts = [svg.words(left, 8, "loads in their order")]
    below = top + slots * height + 18
    for slot in range(slots):
        y = top + slot * height
        parts.append(svg.words(0, y + 19, f"slot {slot}"))
        parts.append(svg.rect(left, y, loads * width, height, EMPTY, LINE))
    parts.append(svg.words(0, below, label("phase")))
    told = []
    for number in range(loads):
        slot, phase = number % slots, number // slots % 2
        x, y = left + number * width, top + slot * height
        parts.append(svg.rect(x + 2, y + 2, width - 4, height - 4, FILLS[phase], INK))
        parts.append(svg.words(x + width / 2, y + 19, str(number), anchor="middle"))
        parts.append(svg.words(x + width / 2, below, str(phase), SMALL, "middle"))
        told.append(f"Load {number} goes to slot {slot}, in phase {phase}.")
    text = f"{loads} loads into {slots} slots. {' '.join(told)}"
    return svg.titled(left + loads * width, below + 6, "A ring of tiles", text, parts)


LOAD, MULTIPLY, STORE = 3, 8, 3  # ticks of a tile of c: until the first step is there, and so on


def draw_jobs(tiles: int = 2) -> Picture:
    """Time of a program with `tiles` tiles of c: all warps alike, and warps with jobs."""
    left, tick, height = 96.0, 17.0, 26.0
    fill = {"load": FILLS[5], "multiply": FILLS[0], "store": FILLS[1]}
    names = {"load": label("load"), "multiply": label("multiply"), "store": label("store")}
    parts: list[str] = []

    def bar(y: float, job: str, start: int, ticks: int, tile: int) -> None:
        x = left + start * tick
        told = f"{names[job]} {tile}" if ticks > LOAD else names[job]
        parts.append(svg.box(x, y, ticks * tick, height, told, 17, fill[job], INK, SMALL))

    def name(y: float, text: str) -> None:
        parts.append(svg.words(0, y + 17, text))

    def cores(y: float, busy: list[int], last: int) -> None:
        parts.append(svg.words(0, y + 13, "tensor cores"))
        for at in range(last):
            taken = any(start <= at < start + MULTIPLY for start in busy)
            parts.append(svg.rect(left + at * tick, y, tick, 16, INK if taken else EMPTY, LINE))

    name(0, "all warps")
    alike = [tile * (LOAD + MULTIPLY + STORE) + LOAD for tile in range(tiles)]
    for tile, start in enumerate(alike):
        bar(0, "load", start - LOAD, LOAD, tile)
        bar(0, "multiply", start, MULTIPLY, tile)
        bar(0, "store", start + MULTIPLY, STORE, tile)
    longer = alike[-1] + MULTIPLY + STORE
    cores(height + 5, alike, longer)

    for y, who in zip((74, 104, 134), ("one warp", "two groups", "copy engine"), strict=True):
        name(y, who)
    jobs = [LOAD + tile * MULTIPLY for tile in range(tiles)]
    for tile, start in enumerate(jobs):
        bar(74, "load", start - LOAD, MULTIPLY, tile)
        bar(104, "multiply", start, MULTIPLY, tile)
        bar(134, "store", start + MULTIPLY, STORE, tile)
    shorter = jobs[-1] + MULTIPLY + STORE
    cores(165, jobs, shorter)
    text = (
        f"{tiles} tiles of c, a drawing and no measurement. Where all warps do everything, a tile "
        f"is loaded, multiplied and stored, one after another: {longer} ticks. Where one warp "
        f"loads ahead and the copy engine stores, the tensor cores go on: {shorter} ticks."
    )
    return svg.titled(left + longer * tick, 184, "Who works when", text, parts)
