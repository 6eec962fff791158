"""Drawings of page 60: lanes of a row, and programs that wait for each other."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_widths(widths: list[int]) -> Picture:
    """Rows in one tile and in two, to scale; white is a lane that holds nothing."""
    widest = max(1 << (N - 1).bit_length() for N in widths)
    scale, high, left = 200 / widest, 16, 62
    right = left + 200 + 50
    parts = [
        svg.words(left, 10, "one tile", bold=True),
        svg.words(right, 10, "two tiles", bold=True),
    ]
    facts = []
    for line, N in enumerate(widths):
        y, whole = 20 + line * (high + 10), 1 << (N - 1).bit_length()
        first = max(whole // 2, 1)
        second = 1 << (max(N - first, 1) - 1).bit_length()
        parts.append(svg.words(0, y + 13, f"N = {N}", svg.SMALL))
        for x, tiles in ((left, [whole]), (right, [first, second])):
            begin = 0
            for tile, lanes in enumerate(tiles):
                held = min(max(N - begin, 0), lanes)
                at = x + begin * scale
                parts.append(svg.rect(at, y, lanes * scale, high, svg.EMPTY, svg.INK))
                parts.append(svg.rect(at, y, held * scale, high, svg.fill_of(tile), svg.INK))
                begin += lanes
            parts.append(svg.words(x + begin * scale + 6, y + 13, str(begin), svg.SMALL))
        facts.append(f"{N}: one tile of {whole} lanes, or {first} and {second}")
    text = "Rows in one tile and in two. " + "; ".join(facts) + "."
    height = 20 + len(widths) * (high + 10)
    return svg.titled(right + 240, height, "Lanes for a row", text, parts)


def draw_meeting(starts: list[float], loads: float = 3.0) -> Picture:
    """Programs of one row in time: they load, arrive, wait for the last one, then finish."""
    tick, high, left, top = 42.0, 24.0, 84.0, 10.0
    last = max(starts) + loads
    parts = []
    for pid, start in enumerate(starts):
        y = top + pid * (high + 8)
        parts.append(svg.words(0, y + 17, f"program {pid}", svg.SMALL))
        boxes = [(start, loads, svg.fill_of(pid), "load, store its sums")]
        if last - start - loads > 0:
            boxes.append((start + loads, last - start - loads, svg.EMPTY, label("wait")))
        boxes.append((last, 3.0, svg.fill_of(pid), "load all sums, finish"))
        for begin, length, fill, words in boxes:
            x, w = left + begin * tick, length * tick
            parts.append(svg.rect(x, y, w - 2, high, fill, svg.INK))
            if svg.text_width(words) < w + 30:
                parts.append(svg.words(x + w / 2 - 1, y + 16, words, svg.SMALL, "middle"))
    below = top + len(starts) * (high + 8)
    x = left + last * tick - 1
    parts.append(svg.line(x, top - 6, x, below + 4))
    parts.append(svg.words(x, below + 18, "all have arrived", svg.SMALL, "middle", bold=True))
    text = (
        f"{len(starts)} programs share a row. Each loads its piece and stores its sums. Then it "
        "waits until the last one has done so. From there on each loads the sums of all, and "
        "finishes the piece that it still holds."
    )
    wide = left + (last + 3.0) * tick
    return svg.titled(wide, below + 26, "Time runs to the right", text, parts)
