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
    names = AXES.get(bad.ndim) or [f"dimension {d} at" for d in range(bad.ndim)]
    hits = [hit_along(bad, d) for d in range(bad.ndim)]
    parts = [
        part + _half(hit)
        for name, hit in zip(names, hits, strict=True)
        if not bool(hit.all()) and (part := _part(name, hit))
    ]
    wrong, places = int(bad.sum()), "; ".join(parts)
    if not parts:
        return f"in {wrong} of {bad.numel()} elements"
    return f"in {wrong} of {bad.numel()} elements ({places})"


def hit_along(bad: torch.Tensor, dim: int) -> torch.Tensor:
    """Which indices along a dimension have a wrong element."""
    return bad.transpose(0, dim).reshape(bad.shape[dim], -1).any(dim=1)


def _part(name: str, hit: torch.Tensor) -> str:
    """`row 3 of 9`, `all but row 7 of 9`; nothing for many that lie scattered."""
    if some := _some(hit):
        return f"{name} {some} of {hit.numel()}"
    right = [int(i) for i in (~hit).nonzero()]
    few = ", ".join(map(str, right))
    return f"all but {name} {few} of {hit.numel()}" if len(right) <= 3 else ""


def _some(hit: torch.Tensor) -> str:
    """`3`, `0, 2, 5`, `4 to 9`, `1, 3, ... (every second)`; nothing for many that lie scattered."""
    places, size = [int(i) for i in hit.nonzero()], hit.numel()
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]}"
    if len(places) > 2 and places[0] < 2 and places == list(range(places[0], size, 2)):
        return f"{places[0]}, {places[0] + 2}, ... (every second)"
    return ", ".join(map(str, places)) if len(places) <= 6 else ""


def _half(hit: torch.Tensor) -> str:
    middle = hit.numel() // 2
    sides = {later("the first half"): hit[:middle], later("the second half"): hit[middle:]}
    whole = [side for side, part in sides.items() if bool(part.all())]
    even = hit.numel() == 2 * middle > 2
    alone = even and len(whole) == 1 and int(hit.sum()) == middle
    return f", {whole[0]}" if alone else ""


def cell(flat: int, like: torch.Tensor) -> str:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), like.shape)]
    return str(index[0]) if len(index) == 1 else str(tuple(index))


def first_bad(difference: Difference) -> str:
    """Index, value and expected value of the first wrong element."""
    spots = difference.bad.nonzero()
    index = tuple(int(i) for i in spots[0])
    shown = index[0] if len(index) == 1 else index
    got = float(difference.got[index])
    value = "never written" if bool(difference.unwritten[index]) else f"{got:.6g}"
    return f"first at [{shown}]: got {value}, expected {float(difference.expected[index]):.6g}"


def bad_strip(difference: Difference) -> list[float]:
    """Share of wrong elements in 32 equal stretches of the flattened output."""
    flat = difference.bad.flatten().float()
    return [float(chunk.mean()) for chunk in flat.chunk(min(32, flat.numel()))]
