"""The report of an assignment as one HTML page: no scripts, no network, light and dark.

Everything that comes from a verdict or a hand-in is text of a student's: all of it is escaped.
"""

from __future__ import annotations

from html import escape

from .report import ClassReport, Ending, Tally, students

STYLE = """\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{font-size:1.2rem;margin-top:2rem;border-top:1px solid;padding-top:1rem}
table{width:100%}td{padding:.15rem .5rem;vertical-align:top}
td.name,td.count{white-space:nowrap;width:1%}td.count{text-align:right}
progress{width:100%;accent-color:light-dark(#b42318,#f47067)}
progress.good{accent-color:light-dark(#1a7f37,#3fb950)}
summary,.soft{opacity:.7;font-size:.9rem}td p{margin:0}li{overflow-wrap:anywhere}
"""


def as_html(report: ClassReport) -> str:
    """The whole page."""
    parts = [
        f"<h1>{escape(report.assignment)}: {students(len(report.rows))}</h1>",
        _distribution(report),
        *(_task(key, task) for key, task in report.tasks.items()),
        *(_list(title, names) for title, names in report.lists),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.assignment)}</title>\n<style>\n{STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _distribution(report: ClassReport) -> str:
    counts = report.distribution
    rows = [
        _bar(f"{10 * tenth} to {10 * tenth + 10} %", count, max(counts), "", good=tenth >= 5)
        for tenth, count in enumerate(counts)
    ]
    return f"<h2>Points</h2>\n<table>{''.join(rows)}</table>"


def _task(key: str, task: Tally) -> str:
    """How many passed, and a bar for each mistake, with its sentence and who made it."""
    passed = task.endings.get("passed", Ending("passed", ""))
    most = max([len(each.students) for each in task.endings.values()], default=0)
    rows = [_bar("passed", len(passed.students), most, "", good=True)]
    rows += [
        _bar(
            escape(each.code),
            len(each.students),
            most,
            f"<p>{escape(each.sentence)}</p><details><summary>who</summary>"
            f"{escape(', '.join(sorted(each.students)))}</details>",
        )
        for each in task.mistakes
    ]
    title = f'<h2>{escape(key)} <span class="soft">{task.points:g} points</span></h2>'
    return f"{title}\n<table>{''.join(rows)}</table>"


def _bar(name: str, count: int, most: int, below: str, good: bool = False) -> str:
    """A row of a histogram. `name` and `below` are HTML."""
    kind = ' class="good"' if good else ""
    bar = f'<progress{kind} value="{count}" max="{most}"></progress>' if count else ""
    return (
        f'<tr><td class="name">{name}</td><td class="count">{count}</td>'
        f"<td>{bar}{below}</td></tr>\n"
    )


def _list(title: str, names: list[str]) -> str:
    rows = "".join(f"<li>{escape(name)}</li>\n" for name in names)
    return f"<h2>{escape(title)}</h2>\n<ul>{rows}</ul>"
