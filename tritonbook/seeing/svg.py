"""A little SVG: one card, a few shapes, colours and type sizes that all pictures share.

The card brings its own pale background, so that dark ink stays readable on any page. Everything
static: no scripts, no fonts or images from elsewhere. What colour says, a number or a hatch says
too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from .. import style
from ..words import label

CARD, INK, MUTED, LINE, EMPTY = "#fbfbf8", "#1b1f24", "#57606a", "#a8b0b9", "#ffffff"
ALARM, ALARM_FILL, MANY = "#b42318", "#fbd5d0", "#e3e6ea"
# Pale fills for programs: ink on each has contrast above 9:1; neighbours differ in lightness too.
FILLS = ("#bcdcf5", "#fbe3a6", "#b5e3c8", "#f3cde4", "#f7c9a8", "#d6d3f5", "#d9e6a3", "#c9d4dc")
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
TITLE, BODY, SMALL = 15, 12.5, 11
_PADDING = 18


def said(text: str) -> str:
    """A text in the reader's language; what has Chinese in it was said already, part by part."""
    return text if re.search("[\u3400-\u9fff]", text) else label(text)


class Picture:
    """A finished drawing. Notebooks show `svg`; `text` says the same in words."""

    def __init__(self, svg: str, text: str):
        self.svg, self.text = svg, text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {
            "text/html": style.image(self.svg.encode(), "image/svg+xml", self.text),
            "image/svg+xml": self.svg,
            "text/plain": self.text,
        }

    def __repr__(self) -> str:
        return self.text


def fill_of(program: int) -> str:
    """The fill of a program's cells. Colours repeat after eight: the number tells them apart."""
    return FILLS[program % len(FILLS)]


def card(width: float, height: float, title: str, text: str, parts: Iterable[str]) -> Picture:
    """Put `parts` on a card. They are drawn in a frame whose origin is inside the padding."""
    title, text = said(title), said(text)
    full_width, full_height = width + 2 * _PADDING, height + 2 * _PADDING
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full_width:g} {full_height:g}" '
        f'width="{full_width:g}" height="{full_height:g}" role="img" '
        f'font-family="{SANS}" font-size="{BODY}" fill="{INK}" '
        'style="max-width:100%;height:auto">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(text)}</desc>"
        f"<defs>{_PATTERNS}</defs>"
        f'<rect x=".5" y=".5" width="{full_width - 1:g}" height="{full_height - 1:g}" rx="8" '
        f'fill="{CARD}" stroke="#d0d5da"/>'
        f'<g transform="translate({_PADDING} {_PADDING})">{"".join(parts)}</g></svg>'
    )
    return Picture(svg, text)


def titled(width: float, height: float, title: str, text: str, parts: Iterable[str]) -> Picture:
    """A card with its title drawn above `parts`, whose origin is then below it."""
    shifted = f'<g transform="translate(0 {_UNDER_TITLE})">{"".join(parts)}</g>'
    head = words(0, 13, title, TITLE, bold=True)
    wide = max(width, text_width(title, TITLE + 1))
    return card(wide, height + _UNDER_TITLE, title, text, [head, shifted])


_UNDER_TITLE = 34
_PATTERNS = (
    '<pattern id="tb-masked" width="6" height="6" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="6" height="6" fill="{EMPTY}"/>'
    f'<path d="M0 0V6" stroke="#8b949e" stroke-width="2"/></pattern>'
    '<pattern id="tb-clash" width="6" height="6" patternUnits="userSpaceOnUse">'
    f'<rect width="6" height="6" fill="{ALARM_FILL}"/>'
    '<path d="M0 0L6 6M6 0L0 6" stroke="#e79a91" stroke-width="1"/></pattern>'
    '<marker id="tb-tip" markerWidth="8" markerHeight="8" refX="6" refY="3" orient="auto">'
    f'<path d="M0 0L6 3L0 6z" fill="{INK}"/></marker>'
)
MASKED, CLASH = "url(#tb-masked)", "url(#tb-clash)"


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = EMPTY,
    stroke: str = LINE,
    thick: float = 1,
    dash: str = "",
    radius: float = 0,
) -> str:
    extra = f' stroke-dasharray="{dash}"' if dash else ""
    extra += f' stroke-width="{thick:g}"' if thick != 1 else ""
    extra += f' rx="{radius:g}"' if radius else ""
    return (
        f'<rect x="{x:.4g}" y="{y:.5g}" width="{width:.4g}" height="{height:.4g}" fill="{fill}" '
        f'stroke="{stroke}"{extra}/>'
    )


def words(
    x: float,
    y: float,
    text: str,
    size: float = BODY,
    anchor: str = "start",
    colour: str = INK,
    bold: bool = False,
    mono: bool = False,
) -> str:
    """One line of text, in the reader's language; `y` is its baseline."""
    extra = f' font-size="{size:g}"' if size != BODY else ""
    extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
    extra += f' fill="{colour}"' if colour != INK else ""
    extra += ' font-weight="600"' if bold else ""
    extra += f' font-family="{MONO}"' if mono else ""
    return (
        f'<text x="{x:.5g}" y="{y:.5g}"{extra}>{html.escape(text if mono else said(text))}</text>'
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    text: str,
    down: float,
    fill: str = EMPTY,
    stroke: str = INK,
    size: float = SMALL,
    radius: float = 0,
    **how: Any,
) -> str:
    """A rectangle with a text in its middle, whose baseline is `down` below its top.
    how: of the words."""
    drawn = rect(x, y, width, height, fill, stroke, radius=radius)
    return drawn + words(x + width / 2, y + down, text, size, "middle", **how)


def wrapped(text: str, wide: int) -> list[str]:
    """A text in the reader's language, in lines of so many columns; Chinese breaks anywhere."""
    lines = [""]
    for piece in re.findall(r"[!-~]+ ?|.", said(text)):
        if style.columns_of((lines[-1] + piece).rstrip()) > wide:
            lines.append("")
        lines[-1] += piece
    return lines


def line(x1: float, y1: float, x2: float, y2: float, tip: bool = False, colour: str = LINE) -> str:
    """A thin line; with `tip` an arrow in ink."""
    style = f'stroke="{INK}" marker-end="url(#tb-tip)"' if tip else f'stroke="{colour}"'
    return f'<path d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}" fill="none" {style}/>'


def bracket(x: float, y: float, width: float) -> str:
    """A brace under (or over) a span: a line with two short feet pointing up."""
    path = f"M{x:.5g} {y:.5g}v4h{width:.5g}v-4"
    return f'<path d="{path}" fill="none" stroke="{MUTED}"/>'


def text_width(text: str, size: float = BODY, mono: bool = False) -> float:
    """A generous estimate, in pixels, that holds for the usual fonts."""
    return style.columns_of(text if mono else said(text)) * size * (0.62 if mono else 0.56)
