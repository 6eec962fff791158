"""Two pictures of a results file: time ratios by peer, and every kernel under the GPU's roof."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from tritonbook.timing.plots import CARD, COLOURS, FAINT, INK, MARKERS, dark

from .results import ratios, shown
from .runner import best

# Peers that stand in one column. A peer that is not named here gets a column of its own.
COLUMNS = {
    "torch": "PyTorch, eager",
    "eager": "PyTorch, eager",
    "eager formula": "PyTorch, eager",
    "native": "PyTorch, eager",
    "cublas": "PyTorch, eager",
    "compile static": "torch.compile, static",
    "compile dynamic": "torch.compile, dynamic",
    "liger": "Liger-Kernel",
    "cudnn": "attention libraries",
    "flash-attention-2": "attention libraries",
    "flaggems": "FlagGems",
}
# Short names where two peers share a cell.
SHORT = {"eager formula": "formula", "flash-attention-2": "FA2", "cudnn": "cuDNN"}
WIN, LOSS = COLOURS[0], COLOURS[1]
FAR = 4  # bars end here: what matters lies around 1, and each bar says its figure


def draw(data: dict[str, Any], stem: Path) -> dict[str, Path]:
    """Write `<stem>_ratios.png` and `<stem>_roofline.png` of a results file's data."""
    found = {}
    for name, figure in (("ratios", bars(data)), ("roofline", roofline(data))):
        found[name] = stem.with_name(f"{stem.name}_{name}.png")
        figure.savefig(found[name], facecolor=CARD, metadata={"Description": stamp(data)})
    return found


def stamp(data: dict[str, Any]) -> str:
    """Names the data that a picture was made from; kept in the file to find stale pictures."""
    text = json.dumps(data, sort_keys=True)
    return "data " + hashlib.sha256(text.encode()).hexdigest()[:16]


def bars(data: dict[str, Any]) -> Figure:
    """A row for each problem, a column for each kind of peer: its time over ours."""
    ops = data["ops"]
    by_notebook = sorted(ops, key=lambda name: ops[name]["notebook"])
    problems = [
        (name, problem["label"]) for name in by_notebook for problem in ops[name]["problems"]
    ]
    place = {problem: row for row, problem in enumerate(problems)}
    columns: dict[str, dict[tuple[str, str], list[tuple[str, float]]]] = {}
    for (name, label, peer), value in ratios(ops).items():
        column = columns.setdefault(COLUMNS.get(peer, peer), {})
        column.setdefault((name, label), []).append((peer, value))
    order = list(dict.fromkeys([*COLUMNS.values(), *columns]))
    titles = [title for title in order if title in columns]
    figure = Figure(
        figsize=(3.4 + 1.95 * len(titles), 1.5 + 0.29 * len(problems)),
        dpi=110,
        facecolor=CARD,
        layout="constrained",
    )
    panels = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
    for axes, title in zip(panels, titles, strict=True):
        dark(axes, 8)
        axes.set_xscale("log")
        axes.set_xlim(0.5, 2.4 * FAR)
        axes.set_title(title, color=INK, fontsize=10, loc="left")
        axes.axvline(1, color=INK, linewidth=1.2)
        for problem, cell in columns[title].items():
            _cell(axes, place[problem], cell)
        axes.set_xticks((0.5, 1, 2, FAR), ("0.5", "1", "2", f"{FAR}+"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="y", length=0)
        for above, below in zip(problems, problems[1:], strict=False):
            if ops[above[0]]["notebook"] != ops[below[0]]["notebook"]:
                axes.axhline(place[below] - 0.5, color=FAINT, linewidth=0.6)
    panels[0].set_yticks(range(len(problems)), [" ".join(problem) for problem in problems])
    panels[0].set_ylim(len(problems) - 0.4, -0.6)
    figure.suptitle(f"Time of a peer over time of the workbook's solution, {data['gpu']}", **_TITLE)
    handles = [
        Patch(facecolor=WIN, edgecolor=INK, label="the workbook is at least as fast"),
        Patch(
            facecolor=LOSS, edgecolor=INK, hatch="////", label="the peer is faster (figure in bold)"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _cell(axes: Any, row: int, cell: list[tuple[str, float]]) -> None:
    """The bars of one problem in one column, sharing its height."""
    height = 0.8 / len(cell)
    for i, (peer, value) in enumerate(cell):
        at = row - 0.4 + height * (i + 0.5)
        wins = value >= 1
        axes.barh(
            at,
            min(value, FAR) - 1,
            left=1,
            height=0.9 * height,
            color=WIN if wins else LOSS,
            hatch="" if wins else "////",
            edgecolor=INK,
            linewidth=0.5,
        )
        name = f" {SHORT.get(peer, peer)}" if len(cell) > 1 else ""
        axes.text(
            min(max(value, 1), FAR) * 1.06,
            at,
            f"{shown(value)}{name}",
            va="center",
            fontsize=8 if len(cell) == 1 else 7,
            fontweight="normal" if wins else "bold",
            color=INK,
        )


def roofline(data: dict[str, Any]) -> Figure:
    """Our fastest solution of every problem: right under the roof, left where only bytes count.

    Problems for which no arithmetic is counted have no place on a roofline's axis. They stand on
    the left, one line each, under the roof of the copy.
    """
    rows: list[tuple[str, str, float]] = []
    points: dict[str, list[tuple[float, float]]] = {}
    for name, problem in _in_order(data["ops"]):
        own = best(problem["rows"])
        if own and problem["flops"]:
            point = (problem["flops"] / problem["bytes"], problem["flops"] / own["ms"] / 1e9)
            points.setdefault(name, []).append(point)
        elif own:
            label = f"{name} {problem['label']}, {problem['bytes'] / 1e6:.3g} MB"
            rows.append((name, label, problem["bytes"] / own["ms"] / 1e6))
    figure = Figure(
        figsize=(13, max(4.8, 1.3 + 0.25 * len(rows))),
        dpi=110,
        facecolor=CARD,
        layout="constrained",
    )
    left, right = figure.subplots(1, 2)
    ceilings = [entry["ceilings"] for entry in data["ops"].values()]
    _memory(left, rows, [each["copy_gbps"] for each in ceilings])
    _roof(right, points, ceilings)
    figure.suptitle(
        f"The workbook's fastest solutions on {data['gpu']}; roofs measured in the same runs",
        **_TITLE,
    )
    return figure


def _memory(axes: Any, rows: list[tuple[str, str, float]], copies: list[float]) -> None:
    """One line for each problem: its bandwidth, and the copy's as a roof."""
    dark(axes, 8)
    names = list(dict.fromkeys(name for name, _, _ in rows))
    for at, (name, _, gbps) in enumerate(rows):
        axes.hlines(at, 0, gbps, color=FAINT, linewidth=1.2)
        axes.plot(gbps, at, linestyle="none", **_marker(names.index(name)))
    axes.axvline(max(copies), color=INK, linewidth=2)
    axes.set_yticks(range(len(rows)), [label for _, label, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.06 * max(copies))
    axes.set_xlabel("GB/s, of the least bytes that must move")
    axes.set_title(f"Memory; roof: a copy's {_span(copies)} GB/s", **_PANEL)


def _roof(
    axes: Any, points: dict[str, list[tuple[float, float]]], ceilings: list[dict[str, Any]]
) -> None:
    """The classic roofline; a thin second roof where runs measured different rates."""
    dark(axes, 8)
    low_copy, copy = _ends([each["copy_gbps"] for each in ceilings])
    low_rate, rate = _ends([each["fp16_tflops"] for each in ceilings])
    flat = [point for each in points.values() for point in each]
    ridge = rate * 1e3 / copy
    low, high = _ends([ridge, *(x for x, _ in flat)])
    low, high = low / 4, high * 4
    for c, r, width in ((low_copy, low_rate, 0.8), (copy, rate, 2)):
        axes.plot([low, r * 1e3 / c, high], [low * c / 1e3, r, r], color=INK, linewidth=width)
    for i, (name, each) in enumerate(points.items()):
        xs, ys = zip(*each, strict=True)
        axes.plot(xs, ys, linestyle="none", label=name, **_marker(i))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(min([low * low_copy / 1e3, *(y for _, y in flat)]) / 1.5, 1.4 * rate)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel("operations per byte moved")
    axes.set_ylabel("TFLOP/s")
    axes.grid(color=FAINT, alpha=0.35, linewidth=0.6)
    axes.set_title(f"Roofline; fp16 product {_span([low_rate, rate])} TFLOP/s", **_PANEL)
    if points:
        axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")


_PANEL = {"color": INK, "fontsize": 10, "loc": "left"}
_TITLE = {"color": INK, "fontsize": 12, "x": 0.01, "ha": "left"}


def _in_order(ops: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(operation, problem) by notebook."""
    names = sorted(ops, key=lambda name: (ops[name]["notebook"], name))
    return [(name, problem) for name in names for problem in ops[name]["problems"]]


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _span(values: list[float]) -> str:
    low, high = (f"{end:.0f}" for end in _ends(values))
    return low if low == high else f"{low} to {high}"


def _marker(i: int) -> dict[str, Any]:
    """Marker and colour of the i-th operation; past eight, a marker comes in another colour."""
    return {
        "marker": MARKERS[i % len(MARKERS)],
        "color": COLOURS[(i + i // len(MARKERS)) % len(COLOURS)],
        "markeredgecolor": INK,
        "markersize": 9,
    }
