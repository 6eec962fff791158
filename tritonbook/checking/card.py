"""The card: HTML for notebooks and plain text for terminals, from one Report."""

from __future__ import annotations

import html
import itertools
import re
from typing import Any

from .. import style
from ..words import label, later, listed, say, titled
from . import report as states
from .cases import LAYOUTS
from .report import CaseResult, Report, headline

SHOWN = 10  # cases of a pass; the others are folded
MIME = "application/vnd.tritonbook.report+json"

# Badge colours carry white text at 5:1 or better; the word and the sign say the same.
_BADGE = {
    states.PASSED: ("#1a7f37", "✓"),
    states.WRONG: ("#b42318", "✗"),
    states.DOES_NOT_COMPILE: ("#6f3fb5", "!"),
    states.NOT_ATTEMPTED: ("#57606a", "○"),
}
_SIGN = {"passed": "✓", "wrong": "✗", "not run": "–"}


def _detail(row: CaseResult) -> str:
    """Last column: what is wrong, or how far the largest error is from the allowed one."""
    if row.state == "wrong":
        return say(row.first_bad)
    if row.absolute_error is None:
        return say(row.remark)
    if row.absolute_error == 0:
        return say("exact")
    return say("{error}, rounding", error=f"{row.absolute_error:.1e}")


def laid_out(arguments: str) -> str:
    """A case's arguments, as `describe` gives them; how a tensor lies in memory is said."""
    words = "|".join((*LAYOUTS, "scalar"))
    return re.sub(rf"(?<= )(?:{words})(?=[ ,]|$)", lambda found: label(found[0]), arguments)


def _strip(shares: list[float]) -> str:
    """Where errors sit along the output, in block characters that any font has."""
    return "".join(" ░▒▓█"[_quarters(share)] for share in shares)


def _bar(shares: list[float]) -> str:
    """The same as a bar, which is as narrow as its column; stretches that are alike are one."""
    parts = [
        f'<i style="flex:{len(list(alike))};background:currentColor;opacity:{part / 4:g}"></i>'
        for part, alike in itertools.groupby(map(_quarters, shares))
    ]
    return (
        '<span style="display:flex;max-width:17em;height:.8em;margin:3px 0;border:1px solid" '
        f'aria-hidden="true">{"".join(parts)}</span>'
    )


def _quarters(share: float) -> int:
    return 0 if share == 0 else min(4, 1 + int(share * 3.999))


def as_text(report: Report, first: str = "") -> str:
    """The card in plain text, at most about 100 columns. first: see `as_html`."""
    sign = _BADGE[report.state][1]
    lines = [f"{sign} {headline(report)}", *([f"  {say(first)}"] if first else [])]
    if report.finding:
        lines.append(f"  {say(report.finding.sentence)}")
        lines += [f"    | {line}" for line in report.finding.detail.splitlines()[:12]]
    lines += [f"  {say(remark)}" for remark in report.remarks]
    for row in report.cases:
        detail = _detail(row)
        line = say(row.note)
        if row.describe:
            line = say("{case} ({arguments})", case=line, arguments=laid_out(row.describe))
        if detail:
            line = titled(line, detail)
        lines.append(f"  {_SIGN[row.state]} {line}")
        if row.bad_strip and row.state == "wrong":
            strip = say("start [{strip}] end (dark: wrong)", strip=_strip(row.bad_strip))
            lines.append(f"      {strip}")
    if report.printed.strip():
        told = report.printed.strip().splitlines()
        lines += [
            f"  {say('printed in the first call:')}",
            *(f"    | {line}" for line in told[:12]),
        ]
    lines.append(f"  {' | '.join(_footer(report))}")
    return "\n".join(lines)


def _footer(report: Report) -> list[str]:
    where = say(report.versions.get("gpu", ""))
    took = say("{gpu}, {number} s", gpu=where, number=f"{report.seconds:.1f}")
    parts = [*map(_gate, report.gates.items()), took]
    if report.kernels:
        parts.insert(0, say("launched: {kernels}", kernels=listed(report.kernels)))
    tolerances = dict.fromkeys(say(c.tolerance) for c in report.cases if c.tolerance)
    if tolerances:
        errors = listed(tolerances, "; ")
        parts.append(
            say(
                "how far a result near 1 may be off, as numbers are rounded: {errors}",
                errors=errors,
            )
        )
    return list(filter(None, parts))


# What is said of a gate that passed, of one that failed, and before the reason why one was not
# tried. That the values failed is the card's own first line.
_GATES = {
    "values": (later("all values right"), "", ""),
    "compile": (
        later("the kernel compiles for a GPU too"),
        later("does not compile for a GPU"),
        later("not compiled for a GPU: {reason}"),
    ),
    "speed": (
        later("fast enough"),
        later("not fast enough"),
        later("speed not measured: {reason}"),
    ),
    "facts": (
        later("the compiler makes of it what was asked"),
        later("the compiler does not make of it what was asked"),
        later("not asked what the compiler makes of it: {reason}"),
    ),
}


def _gate(gate: tuple[str, str]) -> str:
    name, outcome = gate
    passed, failed, not_tried = _GATES[name]
    if outcome.startswith(states.NOT_RUN):
        return say(not_tried, reason=outcome.removeprefix(states.NOT_RUN))
    return say(passed if outcome == "passed" else failed)


def as_html(report: Report, answer: str = "", first: str = "") -> str:
    """The card as one self-contained HTML fragment: no scripts, no network.

    answer: the workbook's own, offered for comparison after a pass. first: what is said before
    the finding.
    """
    colour, sign = _BADGE[report.state]
    name, state, count = report.key, say(report.state), say(report.counts)
    parts = [
        '<div><code style="font-size:15px;font-weight:600;color:inherit">'
        f"{html.escape(name)}</code> {style.badge(f'{sign} {state}', colour)} "
        f'<span style="opacity:.85">{html.escape(count)}</span></div>'
    ]
    if first:
        parts.append(f'<p style="margin:8px 0;font-size:15px">{_prose(say(first))}</p>')
    if report.finding:
        parts.append(
            f'<p style="margin:8px 0;font-size:15px">{_prose(say(report.finding.sentence))}</p>'
        )
        if report.finding.detail:
            parts.append(_lines(report.finding.detail[:2000]))
        key = html.escape(report.key)
        place = say("Hints for {key}", key=key).replace(" ", "-")  # Jupyter's name for the heading
        link = f'<a style="color:inherit;text-decoration:underline" href="#{place}">'
        stuck = say("Stuck? Open the {link}hints for {key}{end}, one at a time.")
        stuck = stuck.format(link=link, key=key, end="</a>")
        parts.append(f'<p style="margin:6px 0">{stuck}</p>')
    remarks = map(say, report.remarks)
    parts += [f'<p style="margin:8px 0">{_prose(remark)}</p>' for remark in remarks]
    shown = SHOWN if report.state == states.PASSED else None
    if report.cases:
        parts.append(_table(report.cases[:shown]))
    if shown and (rest := report.cases[shown:]):
        parts.append(_folded(say("{count} more, all right", count=len(rest)), _table(rest)))
    if report.state == states.PASSED and answer:
        parts.append(_folded(say("Compare with the workbook's answer"), _lines(answer)))
    if report.printed.strip():
        parts.append(
            _folded(say("Printed in the first call"), _lines(report.printed.strip()[:4000]))
        )
    how = "<br>".join(map(html.escape, _footer(report)))
    parts.append(_folded(say("How it was checked"), f"<div>{how}</div>"))
    if report.stderr.strip():
        parts.append(
            _folded(say("Warnings printed meanwhile"), _lines(report.stderr.strip()[:4000]))
        )
    return style.box(headline(report), *parts, edge=colour)


def _lines(text: str) -> str:
    return (
        '<pre style="margin:6px 0;padding:8px;overflow:auto;background:rgba(128,128,128,.12);'
        f'color:inherit">{html.escape(text)}</pre>'
    )


def _folded(summary: str, content: str) -> str:
    return (
        f'<details style="margin-top:4px;font-size:13px"><summary>{summary}</summary>{content}'
        "</details>"
    )


def _prose(sentence: str) -> str:
    """Escape, and set `code` in backticks as code."""
    pieces = html.escape(sentence).split("`")
    code = '<code style="color:inherit">'
    return "".join(f"{code}{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))


def _table(rows: list[CaseResult]) -> str:
    head = ["", say("case"), say("arguments"), say("largest error")]
    if not any(map(_detail, rows)):  # a plain function has no tolerance
        head.pop()
    body, legend = [], ""
    for row in rows:
        strip = ""
        if row.bad_strip and row.state == "wrong":
            strip = _bar(row.bad_strip)
            legend = f"<small>{say('A bar shows where the errors sit, from start to end.')}</small>"
        cells = [
            f'<span style="white-space:nowrap">{_SIGN[row.state]} {say(row.state)}</span>',
            html.escape(say(row.note)),
            "<code style='background:transparent;color:inherit;padding:0;white-space:normal;"
            "overflow-wrap:anywhere'>"
            f"{html.escape(laid_out(row.describe))}</code>",
            '<div style="min-width:4.6em;overflow-wrap:anywhere">'
            f"{html.escape(_detail(row))}{strip}</div>",
        ]
        body.append(cells[: len(head)])
    return style.table(body, head) + legend


def bundle(report: Report, answer: str = "", first: str = "") -> dict[str, Any]:
    """Every form of the card by mime type; the JSON is what a grader reads."""
    return {
        "text/plain": as_text(report, first),
        "text/html": as_html(report, answer, first),
        MIME: report.to_dict(),
    }


def show(report: Report, answer: str = "", first: str = "") -> None:
    """Display in a notebook, print in a terminal. answer, first: see `as_html`."""
    from ..notebook import in_notebook

    if in_notebook():
        from IPython.display import display

        display(bundle(report, answer, first), raw=True)
    else:
        print(as_text(report, first))
