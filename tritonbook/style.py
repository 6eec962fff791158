"""The look that cards share: the page's own colours, light in a light theme, dark in a dark one."""

from __future__ import annotations

import base64
import html

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
    "text-align:left;vertical-align:top;padding:4px 12px 4px 0;color:inherit;"
    f"background:transparent;border-top:1px solid {LINE}"
)


def badge(text: str, colour: str, title: str = "") -> str:
    """White words on a colour of 4.5:1 or better: readable on any page."""
    tip = f' title="{html.escape(title, quote=True)}"' if title else ""
    return (
        f'<span{tip} style="background:{colour};color:#fff;border-radius:4px;padding:1px 7px;'
        f'margin-right:4px;white-space:nowrap;display:inline-block">{html.escape(text)}</span>'
    )


def image(data: bytes, kind: str, alt: str) -> str:
    """A picture with its text alternative. JupyterLab gives plain image outputs none.

    kind: the data's mime type, such as "image/png".
    """
    text = base64.b64encode(data).decode("ascii")
    return (
        f'<img alt="{html.escape(alt, quote=True)}" style="max-width:100%;height:auto" '
        f'src="data:{kind};base64,{text}">'
    )


def table(rows: list[list[str]]) -> str:
    """Rows of ready HTML cells."""
    body = "".join(
        '<tr style="background:transparent">'
        + "".join(f'<td style="{CELL}">{cell}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    return (
        f'<table style="border-collapse:collapse;margin:6px 0;color:inherit"><tbody>{body}</tbody>'
        "</table>"
    )


def card(headline: str, *parts: str) -> str:
    """A bordered box: one bold line, then ready HTML."""
    return (
        f'<div role="group" aria-label="{html.escape(headline, quote=True)}" style="border:1px '
        f"solid {LINE};border-radius:6px;padding:10px 14px;margin:4px 0;background:{BACK};"
        f'color:{TEXT};font:14px/1.5 system-ui,sans-serif;max-width:880px">'
        f"<strong>{html.escape(headline)}</strong>{''.join(parts)}</div>"
    )
