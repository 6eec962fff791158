"""Drawing of page 16: the bytes of one element, kernel by kernel and in one pass."""

from __future__ import annotations

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label, later

# Ways of doing it: for each kernel its name, what it reads and what it writes, in bytes an element.
WAYS = (
    (
        "three kernels",
        (
            ("add", (("x", 2), ("residual", 2)), (("s", 2),)),
            ("normalise", (("s", 2),), (("y", 2),)),
            ("quantise", (("y", 2),), (("q", 1),)),
        ),
    ),
    ("Task 1", (("add, normalise", (("x", 2), ("residual", 2)), (("s", 2), ("y", 2))),)),
    ("Task 2", (("all three", (("x", 2), ("residual", 2)), (("s", 2), ("q", 1))),)),
)
later("label: normalise")
later("label: quantise")


def draw_bytes() -> Picture:
    """A bar for each kernel: bytes that an element costs in bfloat16, read and written."""
    unit, high, gap, left = 54.0, 26.0, 8.0, 210.0
    parts, said, y = [], [], 4.0
    for way, kernels in WAYS:
        parts.append(svg.words(0, y + 17.5, way, svg.BODY, bold=True))
        total = 0
        for name, reads, writes in kernels:
            parts.append(svg.words(left - 12, y + 17.5, name, svg.SMALL, "end"))
            x = left
            for fill, moved in ((svg.FILLS[0], reads), (svg.FILLS[1], writes)):
                for tensor, size in moved:
                    told = f"{tensor} {size}"
                    parts.append(svg.box(x, y, size * unit, high, told, 17.5, fill))
                    x += size * unit
                    total += size
            y += high + gap
        words = later(f"{total} bytes")
        parts.append(svg.words(left + 8 * unit + 14, y - gap - 8.5, words, svg.BODY, bold=True))
        said.append(f"Moved by {way}: {total} bytes.")
        y += 14
    for n, (fill, words) in enumerate(
        ((svg.FILLS[0], label("read")), (svg.FILLS[1], label("written")))
    ):
        x = left + n * 90
        parts.append(svg.rect(x, y, 16, 16, fill, svg.INK))
        parts.append(svg.words(x + 22, y + 12.5, words, svg.SMALL))
    text = f"Bytes moved for one element in bfloat16. {' '.join(said)}"
    title = "Bytes of one element, in bfloat16"
    return svg.titled(left + 8 * unit + 90, y + 20, title, text, parts)
