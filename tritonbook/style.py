"""The look that cards share: the page's own colours, light in a light theme, dark in a dark one."""

from __future__ import annotations

import base64
import html
import unicodedata
from collections.abc import Sequence

# JupyterLab, VS Code and Colab each name their colours; elsewhere the page's own show through.
BACK = (
    "var(--jp-layout-color1,var(--vscode-editor-background,"
    "var(--colab-primary-surface-color,transparent)))"
)
TEXT = (
    "var(--jp-content-font-color1,var(--vscode-editor-foreground,"
    "var(--colab-primary-text-color,inherit)))"
)
LINE = "rgba(128,128,128,.45)"
CELL = (
    "text-align:left;vertical-align:top;padding:4px 6px 4px 0;color:inherit;"
    "white-space:normal;overflow-wrap:break-word;"
    f"background:transparent;border-top:1px solid {LINE}"
)
COLUMN, ROW = 'th scope="col"', 'th scope="row"'


def badge(text: str, colour: str, title: str = "") -> str:
    """White words on a colour of 4.5:1 or better: readable on any page."""
    tip = f' title="{html.escape(title, quote=True)}"' if title else ""
    return (
        f'<span{tip} style="background:{colour};color:#fff;border-radius:4px;padding:1px 7px;'
        f'margin-right:4px;white-space:nowrap;display:inline-block">{html.escape(text)}</span>'
    )


# Pictures are drawn in dark ink on a pale card. On a dark page their lightness is turned round, and
# their hues stay: in JupyterLab, VS Code, Colab. Where a page drops styles they stay pale.
_TURNED = (
    "<style>[data-jp-theme-light=false] .tritonbook-picture,.vscode-dark .tritonbook-picture,"
    "html[theme=dark] .tritonbook-picture{filter:invert(.9) hue-rotate(180deg)}</style>"
)


def image(data: bytes, kind: str, alt: str) -> str:
    """A picture with its text alternative. JupyterLab gives plain image outputs none.

    Where it does not fit it shrinks as far as its words can be read, and is scrolled from there.

    kind: the data's mime type, such as "image/png".
    """
    text = base64.b64encode(data).decode("ascii")
    return (
        f'{_TURNED}<div style="overflow-x:auto"><img class="tritonbook-picture" '
        f'alt="{html.escape(alt, quote=True)}" style="max-width:max(100%,560px);height:auto" '
        f'src="data:{kind};base64,{text}"></div>'
    )


def digits(value: float | None) -> str:
    """A figure that was measured: three digits, for more are noise; of thousands all whole ones."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:#.3g}".removesuffix(".")


def times(ratio: float | None) -> str:
    """How many times, to a hundredth."""
    return f"{ratio:.2f}" if ratio and ratio < 9.995 else digits(ratio)


def table(rows: list[list[str]], head: Sequence[str] = (), right: bool = False) -> str:
    """Rows of ready HTML cells. head: their headings, where the first cell names its row. right:
    the other columns hold numbers."""

    def cells(row: Sequence[str], name: str, first: str) -> str:
        kinds = [first if row[0] else "td", *[name] * (len(row) - 1)]
        others = CELL + ";text-align:right;padding-left:6px" * right
        looks = [CELL, *[others] * (len(row) - 1)]
        marked = zip(kinds, looks, row, strict=True)
        return "".join(f'<{kind} style="{look}">{x}</{kind[:2]}>' for kind, look, x in marked)

    plain = '<tr style="background:transparent">'
    top = f"<thead>{plain}{cells(head, COLUMN, COLUMN)}</tr></thead>" if head else ""
    body = "".join(f"{plain}{cells(row, 'td', ROW if head else 'td')}</tr>" for row in rows)
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:6px 0;'
        f'font-size:13px;color:inherit">{top}<tbody>{body}</tbody></table></div>'
    )


def columns(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """The rows of a table as lines of text. right: all but the first column hold numbers."""
    wide = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        line = []
        for number, (cell, width) in enumerate(zip(row, wide, strict=True)):
            blank = " " * (width - columns_of(cell))
            line.append(blank + cell if right and number else cell + blank)
        lines.append("  ".join(line).rstrip())
    return lines


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def box(label: str, *parts: str, edge: str = "") -> str:
    """Ready HTML in a border. label: what is told of it to whoever does not see it. edge: a colour
    for its left side."""
    left = f"border-left:6px solid {edge};" if edge else ""
    return (
        f'<div role="group" aria-label="{html.escape(label, quote=True)}" style="border:1px '
        f"solid {LINE};{left}border-radius:6px;padding:10px 14px;margin:4px 0;background:{BACK};"
        f'color:{TEXT};font:14px/1.5 system-ui,sans-serif;max-width:880px">{"".join(parts)}</div>'
    )


def card(headline: str, *parts: str) -> str:
    """A bordered box: one bold line, then ready HTML."""
    return box(headline, f"<strong>{html.escape(headline)}</strong>", *parts)
