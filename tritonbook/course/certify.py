"""A page to hand in: what you passed, with sources, their hashes, the machine and the versions.

`tritonbook certify` writes one HTML file without scripts or network, printable on a page or two.
The same data stands in it as JSON, so that an organiser can run every answer again
(`autograde verify`) in place of trusting a screenshot. Running again says that the sources are
right, not who wrote them.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..command import BadInput
from ..port.device import versions
from ..seeing import svg
from ..words import language, later, listed, say, titled
from .exercises import exercises
from .progress import COLOURS
from .records import entries

_DATA = re.compile(r'<pre id="certificate" hidden>(.*?)</pre>', re.DOTALL)
HEADS = (
    later("notebook"),
    later("function"),
    later("points"),
    later("passed on"),
    later("machine"),
    later("source"),
)
STYLE = """\
body{font:11pt/1.4 system-ui,sans-serif;color:#1f2328;background:#fff;max-width:190mm;margin:auto}
h1{font-size:18pt;margin:0 0 2mm}
table{border-collapse:collapse;width:100%;font-size:6.2pt;line-height:1.1}
td,th{text-align:left;padding:.1mm 1.5mm;border-top:1px solid #d0d7de;white-space:nowrap}
tr{break-inside:avoid}
code{font-size:5.8pt}p{margin:2mm 0}.small{font-size:8pt;color:#57606a}@page{size:A4;margin:10mm}
"""


class BadCertificate(BadInput):
    """The file is no certificate, or was changed: one sentence."""


@dataclass(frozen=True)
class Claim:
    """What became of one claimed pass when it was run again."""

    key: str
    holds: bool
    sentence: str


def certificate(name: str, exams: Sequence[Path] = ()) -> dict[str, Any]:
    """The data of a certificate: every kept pass of the course, in its order.

    exams: statements that `autograde sign` made. Raises BadCertificate for a file that is none.
    """
    known, course = entries(), exercises()
    counts = [{"slug": each.slug, "checks": len(each.checks())} for each in course]
    rows = [
        {"notebook": each.slug, "key": key, "points": cell.points or 0, **kept}
        for each in course
        for key, cell in each.checks().items()
        if (kept := known.get(key, {}).get("passed"))
    ]
    return {
        "name": name,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "versions": versions(),
        "checks_in_course": sum(each["checks"] for each in counts),
        "notebooks": counts,
        "passes": rows,
        "exams": [_statement(path) for path in exams],
    }


def _statement(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadCertificate(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        found = None
    if not _is_statement(found):
        raise BadCertificate(
            f"{path} is no statement about an exam: name the .json file that your instructor gave "
            "you."
        )
    return found


def _is_statement(found: Any) -> bool:
    kinds = {"exam": str, "student": str, "score": float, "of": float, "date": str}
    kinds["signature"] = str
    return isinstance(found, dict) and all(isinstance(found.get(k), kinds[k]) for k in kinds)


def _digest(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _place(versions: dict[str, Any]) -> str:
    """A machine and its versions in a few words."""
    rest = [f"{name} {versions[name]}" for name in ("python", "torch", "triton")]
    return listed([say(versions.get("gpu") or "no GPU"), *rest])


def _picture(data: dict[str, Any]) -> str:
    """A column for each notebook, a box for each check: filled where it is passed, as SVG."""
    passed = Counter(row["notebook"] for row in data["passes"])
    columns = [(each["slug"], passed[each["slug"]], each["checks"]) for each in data["notebooks"]]
    wide = 680
    box = min(17, wide / len(columns))
    step = min(wide / len(columns), 3 * box)
    floor = max(checks for *_, checks in columns) * box + 2
    parts = []
    for column, (slug, done, checks) in enumerate(columns):
        x = column * step + (step - box) / 2
        for place in range(checks):
            y, full = floor - (place + 1) * box, place < done
            colour = COLOURS["passed"] if full else "#fff"
            edge = colour if full else "#8c959f"
            parts.append(svg.rect(x + 1, y + 1, box - 2, box - 2, colour, edge, radius=3))
            if full:
                parts.append(svg.words(x + box / 2, y + 12.5, "✓", 9, "middle", "#fff"))
        parts.append(svg.words(x + box / 2, floor + 12, slug[:2], 9, "middle", svg.MUTED))
    legend = later("notebooks; a box is a check: ✓ passed, empty: open")
    parts.append(svg.words(0, floor + 26, legend, 9, colour=svg.MUTED))
    told = listed(
        (
            say("{slug} {number} of {number2}", slug=slug, number=done, number2=checks)
            for slug, done, checks in columns
        ),
        "; ",
    )
    return (
        f'<svg viewBox="0 0 {wide} {floor + 30:g}" role="img" style="width:100%;height:auto;'
        'margin:2mm 0;break-inside:avoid" font-family="system-ui,sans-serif">'
        f"<title>{say('Checks passed, by notebook')}</title><desc>{html.escape(told)}.</desc>"
        f"{''.join(parts)}</svg>"
    )


def _exams(data: dict[str, Any]) -> str:
    said = [
        say(
            "{exam}: {score} of {of} points ({student}, {date})",
            score=f"{each['score']:g}",
            of=f"{each['of']:g}",
            **{name: html.escape(each[name]) for name in ("exam", "student", "date")},
        )
        for each in data["exams"]
    ]
    if not said:
        return ""
    return f"<p>{say('Exams, signed by their course: {exams}.', exams='; '.join(said))}</p>"


def page(data: dict[str, Any]) -> str:
    """The certificate as one self-contained HTML page."""
    places: dict[str, str] = {}  # machine and versions -> letter: rows stay on one line in print
    for row in data["passes"]:
        places.setdefault(_place(row["versions"]), chr(ord("A") + len(places) % 26))
    rows = "".join(
        f"<tr><td>{html.escape(row['notebook'])}</td><td><code>{html.escape(row['key'])}</code></td>"
        f"<td>{row['points']}</td>"
        f"<td>{html.escape(row['when'][:10])}</td><td>{places[_place(row['versions'])]}</td>"
        f"<td><code>{row.get('sha256', '')[:16] or say('no source kept')}</code></td></tr>"
        for row in data["passes"]
    )
    points = sum(row["points"] for row in data["passes"])
    # Escaped, so that a source with HTML in it stays text.
    payload = html.escape(json.dumps({"data": data, "sha256": _digest(data)}))
    made = _place(data["versions"])
    where = "<br>".join(titled(letter, html.escape(place)) for place, letter in places.items())
    passed = say(
        "{name} passed {passes} of {checks} checks, {points} points.",
        name=f"<strong>{html.escape(data['name'])}</strong>",
        passes=len(data["passes"]),
        checks=data["checks_in_course"],
        points=points,
    )
    below = say(
        "Made {date} with {place}. This page holds each function's source; "
        "<code>autograde verify FILE</code> runs them all again.",
        date=html.escape(data["made"]),
        place=html.escape(made),
    )
    heads = "".join(f"<th>{say(head)}</th>" for head in HEADS)
    return (
        f'<!doctype html><html lang="{language()}"><head><meta charset="utf-8">'
        f"<title>Triton Workbook: {html.escape(data['name'])}</title><style>{STYLE}</style></head>"
        f"<body><h1>Triton Workbook</h1><p>{passed}</p>"
        f"{_picture(data)}{_exams(data)}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="small">{where}</p>'
        f'<p class="small">{below}</p><pre id="certificate" hidden>{payload}</pre></body></html>\n'
    )


def write(path: Path, name: str, exams: Sequence[Path] = ()) -> dict[str, Any]:
    """Write the certificate; returns its data. Raises OSError where it cannot be written."""
    data = certificate(name, exams)
    path.write_text(page(data), encoding="utf-8")
    return data


def read(path: Path) -> dict[str, Any]:
    """The data of a certificate file. Raises BadCertificate with one sentence."""
    try:
        found = _DATA.search(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise BadCertificate(f"{path} cannot be read: {error.strerror}.") from None
    try:
        content = json.loads(html.unescape(found[1]))
        data, digest = content["data"], content["sha256"]
        sources = [(row["key"], row["source"], row.get("sha256")) for row in data["passes"]]
        texts = [row[name] for row in data["passes"] for name in ("notebook", "key")]
        if not all(isinstance(text, str) for text in texts + [s for _, s, _ in sources if s]):
            raise ValueError("a name or a source is no text")
        if not all(map(_is_statement, data.get("exams", []))):
            raise ValueError("an exam is none")
    except (TypeError, ValueError, KeyError, AttributeError):
        raise BadCertificate(
            f"{path} is no certificate, or damaged: name a page that `tritonbook certify` wrote."
        ) from None
    if digest != _digest(data):
        raise BadCertificate(
            f"{path} was changed after it was made: make it anew with `tritonbook certify`."
        )
    for key, source, sha256 in sources:
        if source and hashlib.sha256(source.encode()).hexdigest() != sha256:
            raise BadCertificate(
                f"{path} was changed, in the source of {key!a}: make it anew with `tritonbook "
                "certify`."
            )
    return {"exams": [], **data}
