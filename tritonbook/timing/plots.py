"""Plots for results: read on a light page, on a dark page, and printed in grey.

Each figure brings its own pale card, so that dark text stays readable on any page; bars differ by
hatch and lines by marker and dash, so that colour is never the only difference.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from .. import style, words
from ..style import digits, times
from ..words import language, later, listed, say
from .ceiling import Ceilings
from .clock import said_of

CARD, INK, FAINT = "#fbfbf8", "#1b1f24", "#8a9099"
# Okabe and Ito's palette, ordered so that neighbours also differ in lightness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#4d4d4d", "#f0e442")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "ooo", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")


# What a Chinese system, or a container of ours, has.
FONTS = (
    "Noto Sans CJK SC|Noto Sans CJK JP|Noto Sans SC|Source Han Sans SC|WenQuanYi Micro Hei|"
    "WenQuanYi Zen Hei|PingFang SC|Microsoft YaHei|SimHei|Hiragino Sans GB|Heiti SC|"
    "Arial Unicode MS|Droid Sans Fallback"
)


@functools.cache
def chinese_font() -> str | None:
    """A font with Chinese characters that matplotlib finds here; without one plots stay English."""
    manager = font_manager.fontManager
    # What was installed after matplotlib's first start is not in the list that it keeps.
    for path in {*font_manager.findSystemFonts()} - {font.fname for font in manager.ttflist}:
        with contextlib.suppress(Exception):  # a file that is no font it can use
            manager.addfont(path)
    known = {font.name for font in manager.ttflist}
    return next((name for name in FONTS.split("|") if name in known), None)


def _said(text: str) -> str:
    """A text as it is drawn: Chinese where there is a font."""
    return words.label(text) if language() == "zh" and chinese_font() else text


class Plot:
    """A figure with a text alternative, which shows itself in a notebook."""

    def __init__(self, figure: Figure, alt: str):
        self.figure, self.alt = figure, say(alt)
        if language() == "zh" and (font := chinese_font()):
            for text in figure.findobj(Text):
                text.set_text(_said(text.get_text()))
                text.set_fontfamily([*text.get_fontfamily(), font])

    def png(self) -> bytes:
        out = io.BytesIO()
        FigureCanvasAgg(self.figure).print_png(out)
        return out.getvalue()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        png = self.png()
        data = {
            "text/html": style.image(png, "image/png", self.alt),
            "image/png": base64.b64encode(png).decode("ascii"),
            "text/plain": self.alt,
        }
        return data, {"image/png": {"alt": self.alt}}

    def __repr__(self) -> str:
        return self.alt


def bars(result: Any) -> Plot:
    """A BenchResult as horizontal bars, with a line at the fastest possible, where it is known."""
    rows = result.rows
    figure, axes = card(7.2, 1.5 + 0.42 * len(rows))
    for i, row in enumerate(rows):
        axes.barh(
            i,
            row.ms,
            color=COLOURS[i % len(COLOURS)],
            hatch=HATCHES[i % len(HATCHES)],
            edgecolor=INK,
            linewidth=0.8,
            xerr=[[max(0.0, row.ms - row.low)], [max(0.0, row.high - row.ms)]],
            error_kw={"ecolor": INK, "capsize": 3, "linewidth": 1},
        )
        ratio = result.ratio(row.name)
        text = f"  {digits(row.ms)} ms" + (f"  ({times(ratio)}x)" if ratio else "")
        axes.text(max(row.ms, row.high), i, text, va="center", color=INK, fontsize=9)
    axes.set_yticks(range(len(rows)), [_said(row.name) for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.35 * max(max(row.ms, row.high) for row in rows))
    axes.set_xlabel(later("milliseconds (shorter is faster)"))
    if floor := result.floor_ms:
        axes.axvline(floor, color=INK, linestyle="--", linewidth=1.2)
        axes.annotate(
            later(f"floor {digits(floor)} ms"),
            (floor, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8,
            color=INK,
        )
    caption(figure, axes, result.title, result.label)
    figures = listed((f"{words.label(row.name)} {digits(row.ms)} ms" for row in rows), "; ")
    title = result.title or later("time per call")
    text = say(
        "Bar chart: {title}. {figures}. {label}.",
        title=title,
        figures=figures,
        label=said_of(result.label),
    )
    return Plot(figure, text)


def lines(
    series: Mapping[str, Sequence[tuple[Any, float]]],
    axis_names: tuple[str, str],
    title: str,
    label: str,
    roof: float | None = None,
) -> Plot:
    """One line for each name, through its points. roof: the copy bandwidth, if rates are drawn."""
    figure, axes = card(7.2, 4.0)
    said = []
    for name, points in series.items():
        axes.plot(*zip(*points, strict=True), label=name, markeredgecolor=INK, linewidth=1.8)
        begin, end = digits(points[0][1]), digits(points[-1][1])
        said.append(say("{key} from {begin} to {end}", key=words.label(name), begin=begin, end=end))
    values = sorted({x for points in series.values() for x, _ in points})
    if roof is not None:
        axes.axhline(roof, color=INK, linestyle="--", linewidth=1)
        right = {"ha": "right", "va": "bottom", "fontsize": 8, "color": INK}
        axes.text(values[-1], roof, later("measured copy"), **right)
    if len(values) > 1 and values[0] > 0 and values[-1] >= 16 * values[0]:
        axes.set_xscale("log", base=2)
    heights = [y for points in series.values() for _, y in points]
    if roof is None and 0 < 32 * min(heights) <= max(heights):  # else the low ones lie on the axis
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.set_xlabel(axis_names[0])
    axes.set_ylabel(axis_names[1])
    axes.grid(color=FAINT, alpha=0.35, linewidth=0.6)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    caption(figure, axes, title, label)
    text = say(
        "Line chart: {title}. {y} over {x} {begin} to {end}: {series}. {label}.",
        title=title,
        y=words.label(axis_names[1]),
        x=words.label(axis_names[0]),
        begin=values[0],
        end=values[-1],
        series=listed(said, "; "),
        label=said_of(label),
    )
    return Plot(figure, text)


def roofline(points: dict[str, tuple[float, float, float]], peaks: Ceilings) -> Plot:
    """`points` maps a name to (bytes, flops, milliseconds) of one call."""
    figure, axes = card(7.2, 4.4)
    found = {name: (f / b, f / ms / 1e9) for name, (b, f, ms) in points.items()}
    xs = [x for x, _ in found.values()]
    low, high = min([*xs, peaks.ridge]) / 8, max([*xs, peaks.ridge]) * 8
    roof = [low * peaks.copy_gbps / 1e3, peaks.fp16_tflops, peaks.fp16_tflops]
    axes.plot([low, peaks.ridge, high], roof, color=INK, linewidth=2, marker="", linestyle="-")
    said = []
    for name, (x, y) in found.items():
        axes.plot(x, y, label=name, markeredgecolor=INK, markersize=9, linestyle="none")
        said.append(
            say(
                "{key} at {x} operations per byte reaches {y} TFLOP/s",
                key=words.label(name),
                x=f"{x:.3g}",
                y=f"{y:.3g}",
            )
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(later("operations per byte moved"))
    axes.set_ylabel("TFLOP/s")
    axes.grid(color=FAINT, alpha=0.35, linewidth=0.6)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="lower right")
    caption(figure, axes, "Roofline", str(peaks))
    text = say(
        "Roofline of {gpu} ({rates}). {points}.",
        gpu=peaks.gpu,
        rates=peaks.rates,
        points=listed(said, "; "),
    )
    return Plot(figure, text)


def card(width: float, height: float) -> tuple[Figure, Any]:
    """A figure on its own pale card, in inches, and its axes with dark lines and text."""
    # A Figure made without pyplot: pyplot would keep it alive and show it twice in a notebook.
    figure = Figure(figsize=(width, height), dpi=110, facecolor=CARD, layout="constrained")
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=COLOURS, marker=MARKERS, linestyle=DASHES)
    dark(axes, 9)
    return figure, axes


def dark(axes: Any, size: int) -> None:
    """Dark lines and text on the card; two spines are enough. size: of the numbers."""
    axes.set_facecolor(CARD)
    axes.tick_params(colors=INK, labelsize=size)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)


def caption(figure: Figure, axes: Any, title: str, label: str) -> None:
    """Title above, and below in small print where the figures come from."""
    if title:
        axes.set_title(title, color=INK, fontsize=11, loc="left", pad=16)
    figure.supxlabel(said_of(label) if chinese_font() else label, fontsize=7, color=INK)
