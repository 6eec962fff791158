"""Draw a ledger: for each tensor a map of its cells, with the bytes beside it."""

from __future__ import annotations

import numpy as np

from ..words import later, listed, say
from . import svg
from .ledger import Ledger
from .tile_map import ADDED, CLASH, MANY, MASKED, NOBODY, ONE, OUTSIDE, Band, Run, TileMap, tile_map
from .tile_steps import draw_steps

_MAP_WIDTH, _SIDE, _WIDTH = 560, 610, 860
_NARROW, _NARROW_SIDE, _SECOND = 240, 262, 440  # two narrow panels share a line
_MOST_PANELS = 8
_LEGEND = {
    ONE: (svg.FILLS[0], "touched by the program of that number"),
    MANY: (svg.MANY, "×k: loaded by k programs"),
    ADDED: (svg.MANY, "+k: atomic, from k programs"),
    MASKED: (svg.MASKED, "lane switched off by the mask"),
    OUTSIDE: (svg.ALARM_FILL, "✗ lane outside the tensor"),
    CLASH: (svg.CLASH, "!k: stored by k programs"),
}


def size_text(nbytes: int) -> str:
    """`40 B`, `12.3 kB`, `1.05 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= scale:
            return f"{nbytes / scale:.3g} {unit}"
    return f"{nbytes} B"


def draw(
    title: str, sections: list[tuple[str, Ledger]], alarms: list[str], note: str = ""
) -> svg.Picture:
    """One card: a section for each launch, a panel for each tensor in it.

    alarms: sentences that stand above all.
    """
    parts: list[str] = []
    y = 0.0
    for sentence in alarms:
        for row, piece in enumerate(svg.wrapped("! " + say(sentence).replace("`", ""), 122)):
            parts.append(svg.words(9 if row else 0, y + 12, piece, colour=svg.ALARM))
            y += 17
    kinds: set[int] = set()
    sentences = [f"{title}.", *map(say, alarms)]
    for heading, ledger in sections:
        if len(sections) > 1:
            parts.append(svg.words(0, y + 22, heading, bold=True))
            y += 24
        charts = [tile_map(use) for use in ledger.uses[:_MOST_PANELS]]
        sentences += [_in_words(ledger, chart) for chart in charts]
        drawn, height, seen = _panels(ledger, charts, y)
        parts += drawn
        kinds |= seen
        y += height
        left_out = len(ledger.uses) - _MOST_PANELS
        if left_out > 0:
            parts.append(svg.words(0, y + 18, f"{left_out} more tensors are not drawn.", svg.SMALL))
            y += 22
        if len(ledger.programs) > 1 and len(sections) == 1:
            drawn, height = draw_steps(ledger, y + 14)
            parts += drawn
            y += height + 14
    drawn, height = _footer(kinds, [ledger for _, ledger in sections], note, y + 16)
    return svg.titled(_WIDTH, y + 16 + height, title, " ".join(sentences), [*parts, *drawn])


def _is_narrow(chart: TileMap) -> bool:
    return _label_width(chart) + 22 * (chart.right - chart.left) <= _NARROW


def _label_width(chart: TileMap) -> int:
    return 0 if chart.rows == 1 and len(chart.bands) == 1 else 58


def _panels(ledger: Ledger, charts: list[TileMap], y: float) -> tuple[list[str], float, set[int]]:
    """One under the other; two narrow ones that follow each other go side by side."""
    parts: list[str] = []
    kinds: set[int] = set()
    top, place = y, 0
    while place < len(charts):
        pair = charts[place : place + 2]
        if len(pair) < 2 or not all(_is_narrow(chart) for chart in pair):
            pair = pair[:1]
        high = 0.0
        for column, chart in enumerate(pair):
            drawn, height = _panel(ledger, chart, y + 14)
            move = f'<g transform="translate({_SECOND} 0)">{"".join(drawn)}</g>'
            parts += [move] if column else drawn
            kinds |= chart.kinds() - {NOBODY}
            high = max(high, height)
        y += high + 14
        place += len(pair)
    return parts, y - top, kinds


def _panel(ledger: Ledger, chart: TileMap, y: float) -> tuple[list[str], float]:
    use, narrow = chart.use, _is_narrow(chart)
    region = use.region
    verb = say("atomic updates" if use.atomic else use.direction)
    dtype = str(region.tensor.dtype).removeprefix("torch.")
    shape = list(region.shape)
    parts = [
        svg.words(0, y + 12, region.name, bold=True, mono=True, size=13),
        svg.words(
            svg.text_width(region.name, 13, mono=True) + 8,
            y + 12,
            f"{verb}  ·  {dtype} {shape}",
            colour=svg.MUTED,
        ),
    ]
    labels = _label_width(chart)
    wide = (_NARROW if narrow else _MAP_WIDTH) - labels
    cell = min(34.0, wide / (chart.right - chart.left))
    top = y + 20
    place = top
    for band in chart.bands:
        if band.skipped:
            text = f"⋮  {band.end - band.start} more rows, not drawn"
            parts.append(svg.words(labels, place + 13, text, svg.SMALL, colour=svg.MUTED))
            place += 19
            continue
        high = 28 if not labels else 26 if band.end - band.start > 1 else 19
        if labels:
            parts.append(_row_label(band, chart, place + high / 2 + 4))
        for run in band.runs:
            x = labels + (run.start - chart.left) * cell
            parts.append(_run(ledger, run, x, place, (run.end - run.start) * cell, high, cell))
        place += high + 2
    parts += _ticks(chart, labels, cell, place)
    place += 15
    if chart.hidden_columns:
        noun = "elements" if chart.rows == 1 else "columns"
        text = f"… {chart.hidden_columns:,} more {noun}, not drawn"
        parts.append(svg.words(labels, place + 12, text, svg.SMALL, colour=svg.MUTED))
        place += 16
    side = _side(chart)
    for row, (text, alarm) in enumerate(side):
        colour = svg.ALARM if alarm else svg.INK if row == 0 else svg.MUTED
        bold = row == 0 or alarm
        x = _NARROW_SIDE if narrow else _SIDE
        parts.append(svg.words(x, y + 12 + 17 * row, text, 12, colour=colour, bold=bold))
    return parts, max(place - y, 17.0 * len(side))


def _row_label(band: Band, chart: TileMap, y: float) -> str:
    outside = band.start >= chart.rows or band.start < 0
    one = band.end - band.start == 1
    text = f"row {band.start}" if one else f"{band.start}–{band.end - 1}"
    leading = chart.use.region.shape[:-1]
    if one and len(leading) > 1 and not outside:  # all leading indices
        text = ",".join(str(int(i)) for i in np.unravel_index(band.start, leading))
    colour = svg.ALARM if outside and any(r.kind == OUTSIDE for r in band.runs) else svg.MUTED
    return svg.words(50, y, text, svg.SMALL, "end", colour)


def _run(
    ledger: Ledger, run: Run, x: float, y: float, width: float, height: float, cell: float
) -> str:
    """One rectangle, thin lines between its cells where they are wide, and its label."""
    alarm = run.kind in (OUTSIDE, CLASH)
    fill = svg.EMPTY if run.kind == NOBODY else _LEGEND[run.kind][0]
    stroke = svg.ALARM if alarm else svg.LINE
    signs = {MANY: f"×{run.value}", ADDED: f"+{run.value}", OUTSIDE: "✗", CLASH: f"!{run.value}"}
    label, worded = signs.get(run.kind, ""), False
    if run.kind == ONE:
        fill, stroke, label = svg.fill_of(run.value), "#59636e", ledger.name(run.value)
        if width > 90 and "," not in label:
            label, worded = say("program {name}", name=label), True
    dash = "3 2" if run.kind == MASKED else ""
    parts = [svg.rect(x, y, width, height, fill, stroke, 1.5 if alarm else 1, dash)]
    if cell >= 9 and run.kind != MASKED:
        inner = "".join(
            f"M{x + i * cell:.5g} {y:.5g}v{height:g}" for i in range(1, run.end - run.start)
        )
        if inner:
            parts.append(f'<path d="{inner}" stroke="#59636e" stroke-opacity=".28"/>')
    if label and svg.text_width(label, svg.SMALL) <= width + 1:
        middle = y + height / 2 + 4
        if worded and cell >= 9:  # keep the word clear of the cell lines
            wide = svg.text_width(label, svg.SMALL) + 4
            parts.append(
                f'<rect x="{x + (width - wide) / 2:.5g}" y="{y + height / 2 - 8:.5g}" '
                f'width="{wide:.4g}" height="16" fill="{fill}"/>'
            )
        colour = svg.ALARM if alarm else svg.INK
        parts.append(svg.words(x + width / 2, middle, label, svg.SMALL, "middle", colour, alarm))
    return "".join(parts)


def _ticks(chart: TileMap, labels: float, cell: float, y: float) -> list[str]:
    """Column numbers where runs of the first full band start, as far as they fit."""
    band = max(chart.bands, key=lambda b: len(b.runs))
    places = sorted({run.start for run in band.runs} | {run.end for run in band.runs})
    parts, free = [], -99.0
    for place in places:
        x = labels + (place - chart.left) * cell
        text = str(place)
        half = svg.text_width(text, 10) / 2
        if x - half > free and (place <= chart.columns or place == places[-1]):
            parts.append(svg.words(x, y + 10, text, 10, "middle", svg.MUTED))
            free = x + half + 3
    return parts


def _side(chart: TileMap) -> list[tuple[str, bool]]:
    """Lines beside the map, with a flag for alarms."""
    use = chart.use
    size = size_text(use.bytes_moved)
    done = later("{size} updated") if use.atomic else later("{size} written")
    done = later("{size} read") if use.direction == "loads" else done
    lines = [(say(done, size=size), False)]
    if use.bytes_distinct and use.bytes_moved != use.bytes_distinct:
        times = use.bytes_moved / use.bytes_distinct
        lines.append((f"{size_text(use.bytes_distinct)} distinct, ×{times:.3g}", False))
    missing = use.region.size - use.elements
    if missing and use.elements:
        lines.append((f"{missing:,} of {use.region.size:,} cells unused", False))
    if use.masked:
        lines.append((f"{use.masked:,} of {use.lanes:,} lanes masked", False))
    if chart.hidden_lanes:
        lines.append((f"{chart.hidden_lanes:,} too far to draw", False))
    if use.outside:
        lines.append((f"✗ {use.outside:,} {'lane' if use.outside == 1 else 'lanes'} outside", True))
    if use.clashes:
        lines.append(
            (f"! {use.clashes:,} shared {'store' if use.clashes == 1 else 'stores'}", True)
        )
    return [(svg.said(line), alarm) for line, alarm in lines]


def _footer(kinds: set[int], ledgers: list[Ledger], note: str, y: float) -> tuple[list[str], float]:
    uses = [use for ledger in ledgers for use in ledger.uses]
    read = sum(use.bytes_moved for use in uses if use.direction == "loads")
    written = sum(use.bytes_moved for use in uses if use.direction == "stores")
    total = f"In all {size_text(read)} read and {size_text(written)} written."
    parts = [svg.line(0, y, _WIDTH, y)]
    x, place = 0.0, y + 10
    for kind in sorted(kinds):
        fill, text = _LEGEND[kind]
        wide = 24 + svg.text_width(text, svg.SMALL) + 8
        if x + wide > _WIDTH:
            x, place = 0.0, place + 18
        stroke = svg.ALARM if kind in (OUTSIDE, CLASH) else "#59636e"
        parts.append(svg.rect(x, place, 16, 12, fill, stroke, dash="3 2" if kind == MASKED else ""))
        parts.append(svg.words(x + 21, place + 10, text, svg.SMALL))
        x += wide
    place += 30
    parts.append(svg.words(0, place, f"{say(total)} {note}".strip(), svg.SMALL, colour=svg.MUTED))
    return parts, place + 4 - y


def _in_words(ledger: Ledger, chart: TileMap) -> str:
    """The panel as a sentence, for those who do not see it."""
    use, columns = chart.use, chart.columns
    shape = "×".join(str(n) for n in use.region.shape) or say("one element")
    verb = say("updates" if use.atomic else use.direction)
    told = []
    for number, steps in list(use.order.items())[:4]:
        cells = np.unique(np.concatenate([elements for _, elements in steps]))
        first, last = divmod(int(cells[0]), columns), divmod(int(cells[-1]), columns)
        spot = f"{first[1]} to {last[1]}"
        if len(use.region.shape) > 1:
            spot = say(f"row {first[0]} column {first[1]} to row {last[0]} column {last[1]}")
        told.append(say("program {name} {spot}", name=ledger.name(number), spot=spot))
    if (more := len(use.order) - len(told)) > 0:
        told.append(say("{more} more programs", more=more))
    facts = [line for line, _ in _side(chart)]
    shown = listed(told) or say("nothing")
    return say(
        "{name} ({shape}), {verb}: {shown}; {facts}.",
        name=use.region.name,
        shape=shape,
        verb=verb,
        shown=shown,
        facts=listed(map(say, facts)),
    )
