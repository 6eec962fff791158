"""Drawings of page 45: one step of decoding, and the cache that it writes and reads."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

CELL, HIGH = 46.0, 34.0
KEPT, NEW = svg.FILLS[0], svg.FILLS[1]


def draw_cache(filled: int, room: int) -> Picture:
    """The caches of one layer and one head: `filled` tokens are kept, one comes, the rest is free.

    Raises ValueError where there is no room for the new token.
    """
    if not 0 <= filled < room:
        raise ValueError(f"no room for a token after {filled} of {room}")
    title = f"Token {filled} comes: position = {filled}, {filled + 1} keys are read"
    left, parts = 78.0, []
    right = left + room * CELL
    top = 24.0
    for place in range(room):
        x = left + place * CELL + CELL / 2
        parts.append(svg.words(x, top - 8, str(place), svg.SMALL, "middle", svg.MUTED))
    for row, (name, letter) in enumerate((("cache_k", "k"), ("cache_v", "v"))):
        y = top + row * (HIGH + 12)
        parts.append(svg.words(left - 10, y + 22, name, svg.BODY, "end", mono=True))
        for place in range(room):
            fill = KEPT if place < filled else NEW if place == filled else svg.MASKED
            parts.append(svg.rect(left + place * CELL, y, CELL, HIGH, fill, "#8b949e"))
            if place <= filled:
                x = left + place * CELL + CELL / 2
                bold = place == filled
                parts.append(svg.words(x, y + 22, letter, svg.BODY, "middle", bold=bold, mono=True))
    bottom = top + 2 * HIGH + 12
    parts.append(svg.bracket(left + 2, bottom + 6, (filled + 1) * CELL - 4))
    middle = left + (filled + 1) * CELL / 2
    says = "the new q attends to these: the slice [:, :, :position + 1]"
    parts.append(svg.words(middle, bottom + 28, says, svg.SMALL, "middle", svg.MUTED))
    legend = (
        (KEPT, "kept from earlier steps"),
        (NEW, "written by this step"),
        (svg.MASKED, "free: holds anything"),
    )
    x = 0.0
    for fill, text in legend:
        parts.append(svg.rect(x, bottom + 48, 16, 12, fill, "#8b949e", radius=2))
        parts.append(svg.words(x + 22, bottom + 58, text, svg.SMALL, colour=svg.MUTED))
        x += 36 + svg.text_width(text, svg.SMALL)
    text = (
        f"{title}. Both caches have room for {room} tokens: 0 to {filled - 1} are kept from "
        f"earlier steps, {filled} is written now, the others hold anything. The new query attends "
        f"to the first {filled + 1}."
    )
    return svg.titled(max(right, x), bottom + 62, title, text, parts)
