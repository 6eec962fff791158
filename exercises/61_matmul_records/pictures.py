"""Drawing of page 61: tiles on multiprocessors, wave after wave, the last wave in parts or not."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

WIDE, HIGH, LEFT = 150.0, 30.0, 130.0  # of a tile; where time begins


def draw_waves(tiles: int, programs: int, parts: int = 1) -> Picture:
    """A row for each multiprocessor; each tile of the last wave is cut into `parts` pieces."""
    if tiles % programs * parts > programs:
        raise ValueError("the parts of the last wave are one wave at most")
    whole = tiles - tiles % programs if parts > 1 else tiles
    boxes = [
        (tile % programs, tile // programs, 1.0, f"tile {tile}", tile) for tile in range(whole)
    ]
    for piece in range((tiles - whole) * parts):
        tile = whole + piece // parts
        name = f"tile {tile}, {'abcdefgh'[piece % parts]}"
        boxes.append((piece, whole // programs, 1 / parts, name, tile))
    drawn = []
    for row in range(programs):
        y = row * HIGH
        drawn.append(svg.words(0, y + 18, f"multiprocessor {row}", svg.SMALL))
        drawn.append(
            svg.line(LEFT, y + HIGH - 2, LEFT + -(-tiles // programs) * WIDE, y + HIGH - 2)
        )
    for row, wave, share, name, tile in boxes:
        x, y = LEFT + wave * WIDE, row * HIGH
        drawn.append(svg.box(x, y, share * WIDE, HIGH - 4, name, 17, svg.fill_of(tile)))
    time = max(wave + share for _, wave, share, _, _ in boxes)
    idle = 1 - sum(share for _, _, share, _, _ in boxes) / (time * programs)
    took = (
        f"They take {time:g} times the time of a tile, and {idle:.0%} of it the multiprocessors "
        "have no work."
    )
    text = f"{tiles} tiles on {programs} multiprocessors. {took}"
    below = programs * HIGH + 16
    drawn.append(svg.words(LEFT, below, took, svg.SMALL))
    title = "Time runs to the right"
    return svg.titled(LEFT + -(-tiles // programs) * WIDE + 4, below + 8, title, text, drawn)
