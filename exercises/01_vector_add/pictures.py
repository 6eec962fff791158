"""Drawings of page 01: where the lanes of a program's tile lie on the GPU."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

WARP = 32  # threads of a warp, on every NVIDIA GPU


def draw_warps(block: int, num_warps: int) -> Picture:
    """A tile of `block` lanes on the threads of one program's warps, neighbours side by side.

    The compiler gives a thread at most 16 bytes of neighbours at once: 1024 lanes on 4 warps lie
    like this in half precision. Raises ValueError where the lanes do not fill the threads evenly.
    """
    threads = num_warps * WARP
    if block % threads:
        raise ValueError(f"{block} lanes do not fill {threads} threads evenly")
    each = block // threads
    title = f"One program: a tile of {block} lanes, {num_warps} warps"
    wide, high, left, top = 560.0, 30.0, 70.0, 46.0
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    for warp in range(num_warps):
        y, first = top + warp * (high + 14), warp * WARP * each
        parts.append(svg.words(left - 10, y + 19, f"warp {warp}", 12, "end", bold=True))
        for thread in range(WARP):
            x = left + thread * wide / WARP
            parts.append(svg.rect(x, y, wide / WARP, high, svg.fill_of(warp), "#8b949e"))
        parts.append(svg.words(left, y - 3, f"lane {first}", 10, colour=svg.MUTED))
        last = f"lane {first + WARP * each - 1}"
        parts.append(svg.words(left + wide, y - 3, last, 10, "end", svg.MUTED))
    bottom = top + num_warps * (high + 14)
    legend = f"A cell is a thread. Each of the {threads} threads holds {each} lanes."
    parts.append(svg.words(0, bottom + 8, legend, svg.SMALL, colour=svg.MUTED))
    text = f"{title}. {num_warps} rows of {WARP} threads. {legend}"
    return svg.card(left + wide, bottom + 12, title, text, parts)
