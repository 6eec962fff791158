"""The picture of a results file: time ratios by peer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from tritonbook.timing.plots import CARD, COLOURS, FAINT, INK, dark

from .results import ratios, shown

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
    "vllm": "vLLM",
    "cudnn": "attention libraries",
    "flash-attention-2": "attention libraries",
    "flaggems": "FlagGems",
}
# Short names where two peers share a cell.
SHORT = {"eager formula": "formula", "flash-attention-2": "FA2", "cudnn": "cuDNN"}
WIN, LOSS = COLOURS[0], COLOURS[1]
FAR = 4  # bars end here: what matters lies around 1, and each bar says its figure


def draw(data: dict[str, Any], stem: Path) -> Path:
    """Write `<stem>_ratios.png` of a results file's data."""
    path = stem.with_name(f"{stem.name}_ratios.png")
    bars(data).savefig(path, facecolor=CARD, metadata={"Description": stamp(data)})
    return path


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
    figure.suptitle(
        f"Time of a peer over time of the workbook's solution, {data['gpu']}",
        color=INK,
        fontsize=12,
        x=0.01,
        ha="left",
    )
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
