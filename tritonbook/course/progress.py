"""Course map and your own kernels: what you passed, what is open, and `mine`.

The file behind it is described in `records`; nothing leaves this machine.
"""

from __future__ import annotations

import functools
import html
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import style
from ..notebook import LOADING
from ..port import source_file
from ..words import later, say, titled
from .exercises import Exercise, exercises, reference
from .records import entries

# One symbol and one colour for each mark: colour never stands alone.
SYMBOLS = {later("passed"): "●", later("tried"): "◐", later("open"): "○"}
COLOURS = {"passed": "#1a7f37", "tried": "#b35900", "open": "#57606a"}
NBSP = "\N{NO-BREAK SPACE}"  # within a mark, until lines are broken


@dataclass(frozen=True)
class Mark:
    """One check on the map: passed, tried or open. A pass is kept."""

    key: str
    mark: str
    reason: str
    points: int
    stretch: bool


@dataclass(frozen=True)
class Row:
    """One notebook on the map."""

    slug: str
    title: str
    marks: list[Mark]

    @property
    def part(self) -> str:
        return self.slug[0]


@dataclass(frozen=True)
class CourseMap:
    """The whole course with your marks; shows itself in a notebook, `text()` in a terminal."""

    rows: list[Row]

    def _count(self) -> tuple[int, int, int, int]:
        marks = [mark for row in self.rows for mark in row.marks if not mark.stretch]
        done = [mark for mark in marks if mark.mark == "passed"]
        return len(done), len(marks), sum(m.points for m in done), sum(m.points for m in marks)

    @property
    def next_task(self) -> tuple[Row, Mark] | None:
        """The first open check of the course, with its page."""
        marks = ((row, mark) for row in self.rows for mark in row.marks if not mark.stretch)
        return next((each for each in marks if each[1].mark != "passed"), None)

    @property
    def next_step(self) -> str:
        """That in words, or praise when none is left."""
        if self.next_task is None:
            return say(
                "Every check of the course is passed." if self.rows else "There are no pages yet."
            )
        row, mark = self.next_task
        return say("Next: {key} in {page}", key=mark.key, page=f"{row.slug}.ipynb")

    @property
    def here(self) -> list[Row]:
        """The part of the course that the next task is in; the whole course when none is left."""
        if self.next_task is None:
            return self.rows
        return [row for row in self.rows if row.part == self.next_task[0].part]

    @property
    def headline(self) -> str:
        done, total, points, all_points = self._count()
        return say(
            "{done} of {total} checks passed, {points} of {all_points} points",
            done=done,
            total=total,
            points=points,
            all_points=all_points,
        )

    def text(self, all_pages: bool = False) -> str:
        """all_pages: each page's checks, and not only those of the part that you are in."""
        shown = self.rows if all_pages else self.here
        head = [say("Your progress: {progress}", progress=self.headline), self.next_step, ""]
        lines = []
        for row in shown:
            marks = "  ".join(
                f"{SYMBOLS[m.mark]} {_named(m)}".replace(" ", NBSP) for m in row.marks
            )
            lines.append([f"  {row.slug}", _done([row]), marks])
        for rows in _parts([row for row in self.rows if row not in shown]):
            lines.append([f"  {_span(rows)}", _done(rows), ""])
        legend = "   ".join(f"{sign} {say(mark)}" for mark, sign in SYMBOLS.items())
        cells = list(zip(*lines, strict=True))[:2]
        before = sum(max(map(style.columns_of, cell)) + 2 for cell in cells)
        table = [_folded(line, before) for line in style.columns(lines)]
        return "\n".join([*head, *table, "", legend])

    __str__ = __repr__ = text

    def _repr_html_(self) -> str:
        done, total, *_ = self._count()
        share = 100 * done // total if total else 0
        bar = (
            f'<div role="img" aria-label="{self.headline}" style="background:'
            f'{style.LINE};border-radius:4px;height:8px;margin:6px 0"><div style="background:'
            f'{COLOURS["passed"]};border-radius:4px;height:8px;width:{share}%"></div></div>'
        )
        legend = " ".join(style.badge(f"{SYMBOLS[m]} {say(m)}", COLOURS[m]) for m in SYMBOLS)
        parts = _parts([row for row in self.rows if row not in self.here])
        rest = "".join(
            f"<details><summary>{titled(_span(p), _done(p))}</summary>{_table(p)}</details>"
            for p in parts
        )
        return style.card(
            say("Your progress: {progress}", progress=self.headline),
            bar,
            f"<div><strong>{html.escape(self.next_step)}</strong></div>",
            _table(self.here),
            rest,
            f'<div style="margin-top:6px">{legend}</div>',
        )


def _folded(line: str, indent: int) -> str:
    """A line for terminals of 80 columns, broken between marks."""
    folded = textwrap.fill(line, 80, subsequent_indent=" " * indent, break_on_hyphens=False)
    return folded.replace(NBSP, " ")


def _parts(rows: Sequence[Row]) -> list[list[Row]]:
    """Tens are parts."""
    return [list(part) for _, part in itertools.groupby(rows, key=lambda row: row.part)]


def _span(rows: Sequence[Row]) -> str:
    first, last = rows[0].slug[:2], rows[-1].slug[:2]
    if first == last:
        return say("page {page}", page=first)
    return say("pages {first} to {last}", first=first, last=last)


def _done(rows: Sequence[Row]) -> str:
    """How many of the required checks are done, as in the headline: "2/3"."""
    required = [mark for row in rows for mark in row.marks if not mark.stretch]
    return f"{sum(m.mark == 'passed' for m in required)}/{len(required)}"


def _table(rows: Sequence[Row]) -> str:
    return style.table([_html_row(row) for row in rows])


def _html_row(row: Row) -> list[str]:
    # A space between badges: a page that drops styles would run their words together.
    marks = " ".join(
        style.badge(
            f"{SYMBOLS[m.mark]} {_named(m)}",
            COLOURS[m.mark],
            f"{say(m.mark)}. {say(m.reason)}".strip(),
        )
        for m in row.marks
    )
    name = f"{html.escape(row.slug[:2])} {html.escape(say(row.title))}"
    return [name, f'<span style="white-space:nowrap">{_done([row])}</span>', marks]


def _named(mark: Mark) -> str:
    return say("{key} (stretch)", key=mark.key) if mark.stretch else mark.key


def _mark(key: str, cell: Any, entry: dict[str, Any]) -> Mark:
    tried = "tried" if entry.get("state", "not attempted") != "not attempted" else "open"
    return Mark(
        key=key,
        mark="passed" if entry.get("passed") else tried,
        reason=entry.get("reason", ""),
        points=cell.points or 0,
        stretch="stretch" in cell.tags,
    )


def progress() -> CourseMap:
    """Your course map: put it last in a cell to see it, or `print(progress())`."""
    return course_map(exercises(), entries())


def course_map(course: Sequence[Exercise], known: Mapping[str, dict[str, Any]]) -> CourseMap:
    """The map of these pages, with what is known of each check, as in the progress file."""
    rows = [
        Row(
            slug=exercise.slug,
            title=exercise.header.title,
            marks=[_mark(key, cell, known.get(key, {})) for key, cell in exercise.checks().items()],
        )
        for exercise in course
    ]
    return CourseMap(rows)


@functools.cache
def _of_kept(name: str, text: str, digest: str) -> Any:
    """The function of a kept source; made once, for what is compiled of it to be kept too."""
    module = f"tritonbook_mine_{name}_{digest[:12]}"
    return getattr(source_file.module_of(text, f"{module}.py", module, {}), name)


def kept_pass(name: str) -> dict[str, Any]:
    """The pass kept for the function called `name`; empty without one.

    A check may look at an answer through another function (gradients, what an operator does). Its
    pass is kept under that function's name, and its source holds the answer, named as the check.
    """
    known = entries()
    passes = [entry["passed"] for entry in known.values() if entry.get("passed")]
    found = next((each for each in passes if each.get("name") == name), None)
    return found or known.get(name, {}).get("passed") or {}


def mine(name: str, *, record: bool = False, quiet: bool = False) -> Any:
    """Your own passed function called `name`, else the workbook's; one line says which.

    record: the fastest of it that the course knows, from the pages of part 6.
    Raises what `tritonbook.reference` raises when the course has no function of that name.
    """
    name = f"{name}_record" if record else name
    if LOADING.get():  # tests, benchmarks and the grader must not depend on whose machine it is
        return reference(name)
    kept = kept_pass(name)
    why = "not passed yet"
    if kept.get("source"):
        try:
            function = _of_kept(name, kept["source"], kept["sha256"])
        except Exception as problem:  # an old kernel may not import on a newer Triton
            why = f"your kept source does not import: {type(problem).__name__}: {problem}"
        else:
            if not quiet:
                print(say("{key}: yours, passed on {day}", key=name, day=kept["when"][:10]))
            return function
    elif kept:
        why = "your pass kept no source: run its check once more"
    function = reference(name)
    if not quiet:
        print(say("{key}: the workbook's ({why})", key=name, why=why))
    return function
