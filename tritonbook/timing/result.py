"""What `bench` returns: figures that print as a table, draw themselves, and travel as JSON."""

from __future__ import annotations

import datetime
import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import style
from ..port.device import versions
from ..style import digits, times
from ..words import label, later, say
from .ceiling import Ceilings
from .clock import said_of

if TYPE_CHECKING:
    from .plots import Plot

METRICS = {
    "gbps": "GB/s",
    "tflops": "TFLOP/s",
    "ms": "milliseconds",
    "percent": "% of this GPU's measured ceiling",
}


@dataclass
class Row:
    """One function's figures. Rates and `percent` are None where they would mean nothing."""

    name: str
    ms: float
    low: float
    high: float
    device_ms: float | None = None
    gbps: float | None = None
    tflops: float | None = None
    percent: float | None = None  # of the floor that the measured ceilings set


@dataclass
class BenchResult:
    """One table: a task, its traffic, and a row for each way of doing it."""

    rows: list[Row]
    clock: str
    on_gpu: bool
    title: str = ""
    baseline: str | None = None
    bytes: float | None = None
    flops: float | None = None
    peaks: Ceilings | None = None
    notes: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=versions)
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())
    elsewhere: bool = False  # measured on another machine and kept with the workbook

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise KeyError(later(f"no row {name!r}; there are {names}"))

    def ratio(self, name: str, figure: str = "ms") -> float | None:
        """Baseline's time over this row's: 2 means twice as fast. figure: or "device_ms".

        None without a baseline or where a row has no such figure, and in the interpreter, whose
        times say nothing about a kernel.
        """
        if not (self.baseline and self.on_gpu):
            return None
        base, own = getattr(self[self.baseline], figure), getattr(self[name], figure)
        return base / own if base and own else None

    @property
    def floor_ms(self) -> float | None:
        """The least time that the measured ceilings allow, where there are any and a traffic."""
        if not (self.peaks and (self.bytes or self.flops)):
            return None
        return self.peaks.floor_ms(self.bytes or 0, self.flops or 0)

    @property
    def label(self) -> str:
        """Where the figures come from: GPU, versions, clock and date, in one line."""
        gpu, torch, triton = (self.machine[name] for name in ("gpu", "torch", "triton"))
        made = f"torch {torch}, triton {triton}, {self.date}"
        if self.elsewhere:
            return later(f"measured on another machine: {gpu}, {made}")
        if not self.on_gpu:
            return later(f"{self.clock} ({made})")
        return f"{gpu}, {made}; {self.clock}"

    def table(self) -> str:
        """Plain text: one line per row, notes below."""
        head, body = self._cells()
        lines = [say(self.title)] if self.title else []
        return "\n".join([*lines, *style.columns([head, *body], right=True), *self._below()])

    def _below(self) -> list[str]:
        ceilings = [say(f"measured ceilings: {self.peaks.rates}")] if self.peaks else []
        return [
            said_of(self.label),
            *ceilings,
            *(say("note: {note}", note=note) for note in self.notes),
        ]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and body; a column that no row fills is left out."""
        device = [self.ratio(row.name, "device_ms") for row in self.rows]
        base = self.baseline
        columns: list[tuple[str, list[str]]] = [
            ("", [_named(row.name) for row in self.rows]),
            ("ms", [digits(row.ms) for row in self.rows]),
            ("20-80 %", [f"{digits(row.low)}-{digits(row.high)}" for row in self.rows]),
            (say("device ms"), [digits(row.device_ms) for row in self.rows]),
            ("GB/s", [digits(row.gbps) for row in self.rows]),
            ("TFLOP/s", [digits(row.tflops) for row in self.rows]),
            (say("% of ceiling"), [_whole(row.percent) for row in self.rows]),
            (say("vs {row}", row=base), [times(self.ratio(row.name)) for row in self.rows]),
            (say("device vs {row}", row=base), [times(ratio) for ratio in device]),
        ]
        kept = [(name, cells) for name, cells in columns if any(cells)]
        body = [list(line) for line in zip(*(cells for _, cells in kept), strict=True)]
        return [name for name, _ in kept], body

    def plot(self) -> Plot:
        """Bars of time, one per row, with the floor drawn where it is known."""
        from .plots import bars

        return bars(self)

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return _html(self.title, *self._cells(), self._below())


@dataclass
class Sweep:
    """`bench` repeated along one axis, for instance the width of a row."""

    axis: str
    values: list[Any]
    results: list[BenchResult]
    title: str = ""

    def plot(self, metric: str = "gbps") -> Plot:
        """One line per function over the axis; `metric` is "gbps", "tflops", "ms" or "percent"."""
        from .plots import lines

        if metric not in METRICS:
            names = ", ".join(METRICS)
            raise ValueError(later(f"metric {metric!r} is not one of {names}"))
        first = self.results[0]
        if not first.on_gpu:
            metric = "ms"  # wall clock of the interpreter has no rates
        series: dict[str, list[tuple[Any, float]]] = {}
        for value, result in zip(self.values, self.results, strict=True):
            for row in result.rows:
                if getattr(row, metric) is not None:
                    series.setdefault(row.name, []).append((value, getattr(row, metric)))
        roof = first.peaks.copy_gbps if metric == "gbps" and first.peaks else None
        return lines(series, (self.axis, METRICS[metric]), self.title, first.label, roof)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Axis value, then milliseconds for each function; below them, for short calls, those of
        the GPU alone."""
        names = list(dict.fromkeys(row.name for result in self.results for row in result.rows))
        head = [label(self.axis), *(f"{_named(name)} ms" for name in names)]
        body = []
        for value, result in zip(self.values, self.results, strict=True):
            calls = {row.name: digits(row.ms) for row in result.rows}
            body.append([str(value), *(calls.get(name, "") for name in names)])
            alone = {row.name: digits(row.device_ms) for row in result.rows}
            if any(alone.values()):
                body.append([say("GPU alone"), *(alone.get(name, "") for name in names)])
        return head, body

    def table(self) -> str:
        """Plain text: title, one line per value, where it was measured."""
        head, body = self._cells()
        lines = [say(self.title)] if self.title else []
        lines += style.columns([head, *body], right=True)
        return "\n".join([*lines, said_of(self.results[0].label)])

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return _html(self.title, *self._cells(), [said_of(self.results[0].label)])


def _html(title: str, head: list[str], body: list[list[str]], below: list[str]) -> str:
    """A titled table of times, and where they come from."""
    rows = [[html.escape(cell) for cell in line] for line in body]
    named = f"<b>{html.escape(say(title))}</b>" if title else ""
    table = style.table(rows, [html.escape(cell) for cell in head], right=True)
    return f"{named}{table}<small>{'<br>'.join(map(html.escape, below))}</small>"


def _named(row: str) -> str:
    """A row's name: of one word it is a function's."""
    return say(row) if " " in row else row


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
