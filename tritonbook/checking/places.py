"""Where a result is wrong, in words: rows, columns, halves, the first wrong element."""

from __future__ import annotations

import torch

from ..words import later
from .compare import Difference

_ROW, _COLUMN = later("row"), later("column")
AXES = {
    1: (later("element"),),
    2: (_ROW, _COLUMN),
    4: (later("batch"), later("head"), _ROW, _COLUMN),
}


def where(bad: torch.Tensor) -> str:
    """Where the wrong elements lie: what is certain without a cause."""
    if bool(bad.all()):
        return later("everywhere")
    parts = [said for d in range(bad.ndim) if (said := _along(bad, d))]
    wrong, places = int(bad.sum()), "; ".join(parts)
    if not parts:
        return f"in {wrong} of {bad.numel()} elements"
    return f"in {wrong} of {bad.numel()} elements ({places})"


def hit_along(bad: torch.Tensor, dim: int) -> torch.Tensor:
    """Which indices along a dimension have a wrong element."""
    return bad.transpose(0, dim).reshape(bad.shape[dim], -1).any(dim=1)


def _along(bad: torch.Tensor, dim: int) -> str:
    """Where the wrong elements lie along a dimension; nothing where they lie all over it."""
    hit = hit_along(bad, dim)
    some, number = _some(hit), hit.numel()
    right = [int(i) for i in (~hit).nonzero()]
    few = ", ".join(map(str, right)) if 0 < len(right) <= 3 < number - len(right) else ""
    if bool(hit.all()) or not (some or few):
        return ""
    if bad.ndim not in AXES:
        return f"dimension {dim} at {some} of {number}" if some else ""
    name = AXES[bad.ndim][dim]
    return f"{name} {some} of {number}" if some else f"all but {name} {few} of {number}"


def _some(hit: torch.Tensor) -> str:
    """`3`, `0, 2, 5`, `4 to 9`, `0 to 3, the first half`, `1, 3, …`; nothing for many that lie
    scattered."""
    places, size = [int(i) for i in hit.nonzero()], hit.numel()
    number, number2 = places[0], places[-1]
    if len(places) > 2 and number2 - number == len(places) - 1:
        if size == 2 * len(places) and number == 0:
            return f"{number} to {number2}, the first half"
        if size == 2 * len(places) == number2 + 1:
            return f"{number} to {number2}, the second half"
        return f"{number} to {number2}"
    if len(places) > 2 and number < 2 and places == list(range(number, size, 2)):
        number2 = number + 2
        return f"{number}, {number2}, …"
    return ", ".join(map(str, places)) if len(places) <= 6 else ""


def cell(flat: int, like: torch.Tensor) -> str:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), like.shape)]
    return str(index[0]) if len(index) == 1 else str(tuple(index))


def first_bad(difference: Difference) -> str:
    """Index, value and expected value of the first wrong element."""
    spots = difference.bad.nonzero()
    index = tuple(int(i) for i in spots[0])
    shown = str(list(map(int, index)))  # in its brackets it stays as it is in every language
    expected = f"{float(difference.expected[index]):.6g}"
    if bool(difference.unwritten[index]):
        return f"first at {shown}: never written, expected {expected}"
    value = f"{float(difference.got[index]):.6g}"
    return f"first at {shown}: got {value}, expected {expected}"


def bad_strip(difference: Difference) -> list[float]:
    """Share of wrong elements in 32 equal stretches of the flattened output."""
    flat = difference.bad.flatten().float()
    return [float(chunk.mean()) for chunk in flat.chunk(min(32, flat.numel()))]
