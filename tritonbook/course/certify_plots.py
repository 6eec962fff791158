"""The two drawings of a certificate, as SVG inside the page: what is passed, and how fast it ran.

Static and small: the whole course has to fit on two sheets. A sign says what a colour says.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from .progress import COLOURS, SYMBOLS, WORDS

_INK, _MUTED, _LINE, _BAR = "#1f2328", "#57606a", "#8c959f", "#9ec5ee"
_WIDE, _BOX, _ROW = 680, 17, 15


def _svg(height: float, title: str, text: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDE} {height:g}" role="img" '
        'style="width:100%;height:auto;margin:2mm 0;break-inside:avoid" font-size="9" '
        f'font-family="system-ui,sans-serif" fill="{_INK}"><title>{html.escape(title)}</title>'
        f"<desc>{html.escape(text)}</desc>{''.join(parts)}</svg>"
    )


def _words(x: float, y: float, text: str, anchor: str = "start", fill: str = _INK) -> str:
    return (
        f'<text x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}" fill="{fill}">'
        f"{html.escape(text)}</text>"
    )


def progress_svg(notebooks: Sequence[Mapping[str, Any]]) -> str:
    """A column for each notebook, a box for each check: filled with a sign, or open.

    notebooks: {"slug": "01_vector_add", "marks": ["passed", "slow", "open", ...]} in order.
    """
    if not notebooks:
        return ""
    tall = max(len(each["marks"]) for each in notebooks)
    step = min(_WIDE / len(notebooks), 3 * _BOX)
    floor = tall * _BOX + 2
    parts, told = [], []
    for column, each in enumerate(notebooks):
        marks = list(each["marks"])
        done = sum(mark in ("passed", "slow") for mark in marks)
        told.append(f"{each['slug']} {done} of {len(marks)}")
        x = column * step + (step - _BOX) / 2
        for place, mark in enumerate(marks):
            y = floor - (place + 1) * _BOX
            fill, edge = (COLOURS[mark],) * 2 if mark != "open" else ("#fff", _LINE)
            parts.append(
                f'<rect x="{x + 1:.4g}" y="{y + 1:g}" width="{_BOX - 2}" height="{_BOX - 2}" '
                f'rx="3" fill="{fill}" stroke="{edge}"/>'
            )
            if mark != "open":
                sign = "✓" if mark == "passed" else SYMBOLS[mark]
                parts.append(_words(x + _BOX / 2, y + 12.5, sign, "middle", "#fff"))
        parts.append(_words(x + _BOX / 2, floor + 12, each["slug"][:2], "middle", _MUTED))
    legend = f"a box is a check: ✓ passed, {SYMBOLS['slow']} {WORDS['slow']}, empty: open"
    parts.append(_words(0, floor + 26, f"notebooks; {legend}", fill=_MUTED))
    title = "Checks passed, by notebook"
    return _svg(floor + 30, title, f"{title}: {'; '.join(told)}.", parts)


def speed_svg(speeds: Sequence[Mapping[str, Any]]) -> str:
    """A bar for each timed kernel: its share of what the GPU's ceilings allow.

    speeds: {"key", "ms", "percent" or None, "ratio" and "baseline" or None}. Two columns of rows.
    """
    if not speeds:
        return ""
    half, name, bar = _WIDE / 2, 106, 44
    rows = -(-len(speeds) // 2)
    parts, told = [], []
    for number, speed in enumerate(speeds):
        x, y = (number // rows) * half, (number % rows) * _ROW
        parts.append(_words(x + name - 6, y + 11, speed["key"], "end"))
        said = [f"{speed['ms']:.3g} ms"]
        if speed.get("percent") is not None:
            long = bar * min(max(speed["percent"], 0), 100) / 100
            parts.append(
                f'<rect x="{x + name:g}" y="{y + 2}" width="{bar}" height="{_ROW - 4}" fill="#fff" '
                f'stroke="{_LINE}"/><rect x="{x + name:g}" y="{y + 2}" width="{long:.4g}" '
                f'height="{_ROW - 4}" fill="{_BAR}" stroke="{_INK}"/>'
            )
            said.append(f"{speed['percent']:.0f} %")
        if speed.get("ratio") is not None:
            said.append(f"{speed['ratio']:.2f}× {speed['baseline'][:16]}")
        parts.append(_words(x + name + bar + 6, y + 11, ", ".join(said), fill=_MUTED))
        told.append(f"{speed['key']} {', '.join(said)}")
    legend = "bar and %: share of what the GPU's measured ceilings allow; ×: speed beside a peer's"
    parts.append(_words(0, rows * _ROW + 12, legend, fill=_MUTED))
    title = "Kernels as timed in the notebooks"
    return _svg(rows * _ROW + 16, title, f"{title}: {'; '.join(told)}.", parts)
