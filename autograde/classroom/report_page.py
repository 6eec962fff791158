"""The report of an assignment as one HTML page: no scripts, no network, light and dark.

Everything that comes from a verdict or a hand-in is text of a student's: the template escapes it.
"""

from __future__ import annotations

from jinja2 import Environment

from tritonbook.words import language, say, titled

from .report import ClassReport, students

PAGE = """\
{%- macro bar(name, count, most, kind) -%}
<tr><td class="name">{{ name }}</td><td class="count">{{ count }}</td><td>
{%- if count -%}
<progress class="{{ kind }}" value="{{ count }}" max="{{ most }}"></progress>
{%- endif -%}
{%- if caller %}{{ caller() }}{% endif %}</td></tr>
{%- endmacro -%}
<!doctype html>
<html lang="{{ language() }}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ report.assignment }}</title>
<style>
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{font-size:1.2rem;margin-top:2rem;border-top:1px solid;padding-top:1rem}
table{width:100%}td{padding:.15rem .5rem;vertical-align:top}
td.name,td.count{white-space:nowrap;width:1%}td.count{text-align:right}
progress{width:100%;accent-color:light-dark(#b42318,#f47067)}
progress.good{accent-color:light-dark(#1a7f37,#3fb950)}
summary,.soft{opacity:.7;font-size:.9rem}td p{margin:0}li{overflow-wrap:anywhere}
</style></head>
<body>
<h1>{{ titled(report.assignment, students(report.rows | length)) }}</h1>
<h2>{{ heading }}</h2>
<table>
{% for count in report.distribution %}
{{ bar("%d–%d %%" % (10 * loop.index0, 10 * loop.index), count, report.distribution | max,
       "good" if loop.index0 >= 5 else "bad") }}
{% endfor %}
</table>
{% for key, task in report.tasks.items() %}
<h2>{{ key }} <span class="soft">{{ worth(task) }}</span></h2>
{% set most = task.endings.values() | map(attribute="students") | map("length") | max %}
<table>
{{ bar(passed, task.endings.passed.students | length, most, "good") }}
{% for each in task.mistakes %}
{% call bar(each.code, each.students | length, most, "bad") %}
<p>{{ each.told }}</p>
<details><summary>{{ who }}</summary>{{ each.students | sort | join(", ") }}</details>
{% endcall %}
{% endfor %}
</table>
{% endfor %}
{% for title, names in report.lists %}
<h2>{{ title }}</h2>
<ul>{% for name in names %}<li>{{ name }}</li>{% endfor %}</ul>
{% endfor %}
</body></html>
"""


def as_html(report: ClassReport) -> str:
    """The whole page."""
    environment = Environment(autoescape=True, trim_blocks=True)
    environment.globals |= {
        "say": say,
        "language": language,
        "students": students,
        "titled": titled,
    }
    return environment.from_string(PAGE).render(
        report=report,
        heading=say("Points"),
        worth=lambda task: say("{points} points", points=f"{task.points:g}"),
        passed=say("passed"),
        who=say("who"),
    )
