"""The mistakes that any kernel over tiles invites, found in an answer by their pattern.

A page asks for them by one name, `usual()`, beside its own mutants; see `mutants.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MASKED = r"(tl\.{}\([^\n]*?), mask=\w+(?:, other=[-\w.]+(?:\(\"-?inf\"\))?)?\)"
_GRID = r"triton\.cdiv\(([^(),]+), ([^(),]+)\)"
_MASK = r"(mask\w* = \w+) < (\w+)$"
_RESULT = r"torch\.empty_like\((\w+)\)"


class Pattern(NamedTuple):
    """A mistake: every match of `old` becomes `new`. seen, only: as a Mutant has them."""

    old: str
    new: str
    seen: tuple[str, ...]
    only: str | None = None


USUAL = {
    "no-load-masks": Pattern(_MASKED.format("load"), r"\1)", ("reads-outside",), "interpreter"),
    "no-store-mask": Pattern(_MASKED.format("store"), r"\1)", ("out-of-bounds-store",)),
    # The mask of a row may reach loads alone: an element too many is read, or one is left out.
    "mask-one-too-far": Pattern(_MASK, r"\1 <= \2", ("out-of-bounds-store", "reads-outside")),
    "mask-one-short": Pattern(_MASK, r"\1 < \2 - 1", ("unwritten-tail", "wrong-tail")),
    "grid-rounds-down": Pattern(_GRID, r"\1 // \2", ("unwritten-tail",)),
    "grid-one-short": Pattern(_GRID, r"triton.cdiv(\1, \2) - 1", ("unwritten-tail",)),
    "one-program": Pattern(_GRID, "1", ("unwritten-tail",)),
    "writes-into-x": Pattern(_RESULT, r"\1", ("input-changed", "aliases-input")),
    "always-float32": Pattern(_RESULT, r"torch.empty_like(\1, dtype=torch.float32)",
        ("wrong-dtype",)),
    "no-return": Pattern(r"^    return out\b.*\n?", "", ("wrong-type",)),
}  # fmt: skip


def texts(answer: str) -> dict[str, str]:
    """By its name each usual mistake that this answer has room for: the text with it."""
    made = {
        name: re.sub(pattern.old, pattern.new, answer, flags=re.MULTILINE)
        for name, pattern in USUAL.items()
    }
    return {name: text for name, text in made.items() if text != answer}
