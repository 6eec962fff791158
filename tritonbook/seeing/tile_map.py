"""From a tensor's use to what is drawn: bands of equal rows, each a few runs of equal cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ledger import Use, matrix_shape

NOBODY, ONE, MANY, ADDED, MASKED, OUTSIDE, CLASH = range(7)
_KIND = 1 << 40  # a cell's code is kind * _KIND + value + 1
_MOST_RUNS, _MOST_BANDS, _FIRST_BANDS, _LAST_BANDS = 48, 16, 7, 2


@dataclass(frozen=True)
class Run:
    """Cells `start` to `end` (columns, end excluded) in one state.

    value: the program for ONE, MASKED, OUTSIDE (-1: several); how many programs for the others.
    """

    start: int
    end: int
    kind: int
    value: int


@dataclass(frozen=True)
class Band:
    """Rows `start` to `end` (end excluded) that look alike. skipped: rows that are not drawn."""

    start: int
    end: int
    runs: tuple[Run, ...]
    skipped: bool = False


@dataclass(frozen=True)
class TileMap:
    """What to draw of one use. Columns run from `left` (below 0: before the tensor) to `right`."""

    use: Use
    rows: int
    columns: int
    left: int
    right: int
    bands: tuple[Band, ...]
    hidden_columns: int  # of the tensor, cut off at the right
    hidden_lanes: int  # outside lanes too far away to be drawn

    def kinds(self) -> set[int]:
        return {run.kind for band in self.bands for run in band.runs}


def tile_map(use: Use) -> TileMap:
    """Arrange one use for drawing. What does not fit is cut off and counted."""
    rows, columns = matrix_shape(use.region.shape)
    room = max(8, columns)  # a power of two is at most twice the columns
    strays = list(use.strays)
    near = [
        s for s in strays if -room <= s[1] < columns + room and -4 <= s[0] < rows + max(4, rows)
    ]
    left = min([s[1] for s in near] + [0])
    right = max([s[1] + 1 for s in near] + [columns])
    top = min([s[0] for s in near] + [0])
    bottom = max([s[0] + 1 for s in near] + [rows])
    # -1: outside the tensor, nothing to draw unless a lane points there
    codes = np.full((bottom - top, right - left), -1, dtype=np.int64)
    codes[-top : rows - top, -left : columns - left] = _codes(use).reshape(rows, columns)
    for row, column, program, active in sorted(near, key=lambda s: s[3]):
        place = (row - top, column - left)
        kind = OUTSIDE if active else MASKED
        old = int(codes[place])
        if old >= 0 and old // _KIND not in (MASKED, OUTSIDE):
            continue  # inside the tensor: a lane that another tensor's rows swallowed
        same = old == kind * _KIND + program + 1
        value = program if old < 0 or same or old // _KIND != kind else -1
        codes[place] = kind * _KIND + value + 1
    hidden = 0
    most = int((codes[:, 1:] != codes[:, :-1]).sum(axis=1).max()) + 1  # runs in a row
    if most > _MOST_RUNS and right - left > 64:
        hidden, right = max(0, columns - 64 - left), left + 64
        codes = codes[:, :64]
    bands = _bands(codes, top, left)
    return TileMap(use, rows, columns, left, right, bands, hidden, len(strays) - len(near))


def _codes(use: Use) -> np.ndarray:
    """Per element: kind and value in one number, so that equal cells compare equal."""
    several = MANY if use.direction == "loads" else ADDED if use.atomic else CLASH
    codes = np.where(use.count > 1, several * _KIND + use.count, ONE * _KIND + use.first) + 1
    return np.where(use.count == 0, NOBODY * _KIND, codes)


def _spans(codes: np.ndarray) -> list[tuple[int, int]]:
    """Start and end (excluded) of each stretch of equal entries, or of equal rows."""
    changes = (codes[1:] != codes[:-1]).any(axis=tuple(range(1, codes.ndim)))
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(codes)]
    return list(zip(edges[:-1], edges[1:], strict=True))


def _bands(codes: np.ndarray, top: int, left: int) -> tuple[Band, ...]:
    spans = _spans(codes)
    many = len(spans) > _MOST_BANDS
    shown = [*spans[:_FIRST_BANDS], *spans[-_LAST_BANDS:]] if many else spans
    bands = [Band(start + top, end + top, _runs(codes[start], left)) for start, end in shown]
    if many:
        cut = Band(bands[_FIRST_BANDS - 1].end, bands[_FIRST_BANDS].start, (), skipped=True)
        bands.insert(_FIRST_BANDS, cut)
    return tuple(bands)


def _runs(codes: np.ndarray, left: int) -> tuple[Run, ...]:
    return tuple(
        Run(start + left, end + left, int(codes[start]) // _KIND, int(codes[start]) % _KIND - 1)
        for start, end in _spans(codes)
        if codes[start] >= 0
    )
