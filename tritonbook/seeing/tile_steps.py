"""Small multiples: what single programs touch, and in which order."""

from __future__ import annotations

import numpy as np

from ..words import label, say
from . import svg
from .ledger import Ledger, Use, matrix_shape

_MOST_PROGRAMS, _MOST_TENSORS, _NAMES, _WIDE, _GAP = 5, 6, 92, 132, 20
_MOST_BOXES = 64  # in one small picture


def draw_steps(ledger: Ledger, y: float) -> tuple[list[str], float]:
    """A column for each of the first programs and the last one, a row for each tensor."""
    count = len(ledger.programs)
    chosen = list(range(min(count, _MOST_PROGRAMS)))
    if count > _MOST_PROGRAMS:
        chosen[-1] = count - 1
    uses = ledger.uses[:_MOST_TENSORS]
    parts = [
        svg.words(0, y + 12, "One program at a time", bold=True),
        svg.words(
            svg.text_width("One program at a time") + 20,
            y + 12,
            "numbers: the order of its loads and stores",
            svg.SMALL,
            colour=svg.MUTED,
        ),
    ]
    top = y + 40
    for column, program in enumerate(chosen):
        x = _NAMES + column * (_WIDE + _GAP)
        dots = "…  " if column and program != chosen[column - 1] + 1 else ""
        head = dots + say("program {name}", name=ledger.name(program))
        parts.append(svg.words(x, y + 32, head, svg.SMALL, bold=True))
        place = top
        for use in uses:
            wide, high = _size(use)
            parts += _small(use, program, x, place, wide, high)
            place += high + 8
    place = top
    for use in uses:
        high = _size(use)[1]
        verb = label("load") if use.direction == "loads" else label("store")
        name = f"{use.region.name} {'+' if use.atomic else verb}"
        parts.append(svg.words(0, place + high / 2 + 4, name, svg.SMALL, mono=True))
        place += high + 8
    return parts, place - y


def _size(use: Use) -> tuple[float, float]:
    rows, columns = matrix_shape(use.region.shape)
    if rows == 1:
        return _WIDE, 16
    high = min(64.0, max(36.0, _WIDE * rows / max(columns, 1)))
    return min(float(_WIDE), max(24.0, high * max(columns, 1) / rows)), high


def _small(use: Use, program: int, x: float, y: float, wide: float, high: float) -> list[str]:
    rows, columns = matrix_shape(use.region.shape)
    parts = [svg.rect(x, y, wide, high)]
    taken: dict[tuple[float, ...], str] = {}
    for step, elements in use.order.get(program, []):
        for box in _boxes(elements, columns):
            top, bottom, left, right = box
            spot = (
                x + wide * left / columns,
                y + high * top / rows,
                max(2.0, wide * (right - left) / columns),
                max(2.0, high * (bottom - top) / rows),
            )
            text = taken.get(spot)
            taken[spot] = str(step) if text is None else f"{text.split(',')[0]},{step}"
            if len(taken) >= _MOST_BOXES:
                break
    for (left, top, width, height), text in taken.items():
        parts.append(svg.rect(left, top, width, height, svg.fill_of(program), "#59636e"))
        if svg.text_width(text, 10) > width:
            continue
        baseline = top + height / 2 + 3.5
        if height < 10:  # a thin line: the number goes beside it, where there is room
            if len(taken) > 2:
                continue
            baseline = top + height + 10 if top + height + 11 <= y + high else top - 3
        parts.append(svg.words(left + width / 2, baseline, text, 10, "middle"))
    return parts


def _boxes(elements: np.ndarray, columns: int) -> list[tuple[int, int, int, int]]:
    """(top, bottom, left, right) of a set of cells: one box when it is a full one, else by row."""
    rows, cols = elements // columns, elements % columns
    box = (int(rows.min()), int(rows.max()) + 1, int(cols.min()), int(cols.max()) + 1)
    if (box[1] - box[0]) * (box[3] - box[2]) == elements.size:
        return [box]
    ends = np.flatnonzero((np.diff(elements) != 1) | (np.diff(rows) != 0))
    spans = list(zip([0, *(ends + 1)], [*ends, elements.size - 1], strict=True))
    return [
        (int(rows[first]), int(rows[first]) + 1, int(cols[first]), int(cols[last]) + 1)
        for first, last in spans[:_MOST_BOXES]
    ]
