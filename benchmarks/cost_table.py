"""`python -m benchmarks.cost --table`: what the course costs, from all stored parts, as one page.

Reads what `benchmarks.cost`, `benchmarks.cost --suite`, `autograde.measure` and
`autograde.neighbours` stored in results/ and writes results/cost.md. It measures nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tritonbook.command import BAD_INPUT, sentence, writable
from tritonbook.course.exercises import exercises

from . import results
from .cost_stored import (
    CLASSES,
    FAULTS,
    INTERPRETER,
    ON_GPU,
    SUITE,
    TAKEN_BY,
    Checks,
    Graded,
    Stored,
    Suite,
    read,
)

FILE = "cost.md"
SIZES = (10, 50, 200)  # students in a class
MISSING = "not measured"
Course = Mapping[str, Sequence[str]]


def main(out: Path | None = None, folder: Path | None = None) -> int:
    """Print the page and write it to `out` (default: cost.md in `folder`, results/).

    Returns 0, or 2 after one sentence where a stored file is broken or `out` cannot be written.
    """
    folder = folder or results.DIRECTORY
    course = {exercise.slug: list(exercise.checks()) for exercise in exercises()}
    try:
        out = writable(out or folder / FILE)
        text = page(read(folder), course)
        out.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        print(sentence(error), file=sys.stderr)
        return BAD_INPUT
    print(text, end="")
    return 0


def page(stored: Stored, course: Course) -> str:
    """The page as Markdown. course: the keys of the checks of each exercise, by slug, in order."""
    parts = [
        "# What the course itself costs",
        _INTRODUCTION,
        _overview(stored, course),
        _READING,
        "## Checks by notebook",
        _notebooks(stored, course),
        "## Grading as the class grows",
        _grading(stored),
        _growth(stored.classes),
        _COLUMNS,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_INTRODUCTION = """\
Made by `python -m benchmarks.cost --table` from the measurements stored beside it. Seconds of wall
clock, unless another time is named. The last column names the command that takes a figure again."""

_READING = """\
- *First passed check*: from the start of a new Python until the first check of notebook 01 passed
  on the course's solution, with empty caches of compiled kernels; the median of the runs. Python's
  compiled files and the operating system's file cache stay, and nothing is installed.
- *First / again*: the first call of a check in a new process of its notebook, with what is started
  and compiled for it (most of it for the notebook's first check), and the median of later calls.
- *Test suite*: all tests that need neither a GPU nor a container. Seconds of CPU are those of its
  processes together.
- *Graded submission*: the wall clock of the whole class, with its workers side by side, over the
  number of submissions. A class is the sample class, varied: of twenty students one never ends and
  one exits. On a GPU the submissions are those of `autograde.neighbours`, in which one answer
  faults on purpose: a class of the usual mix has not been graded there."""

_COLUMNS = """\
*Overhead*: what a notebook takes beyond its tests, graded one after another. *Tests*: its checks,
called directly. Stock nbgrader graded the first students, one after another, and is scaled to the
class. An endless loop is the eleventh student's: among the first 20 and not among the first 10."""


def _overview(stored: Stored, course: Course) -> str:
    """One row for each figure, or for what was never measured."""
    places = [
        ("interpreter", stored.interpreter, TAKEN_BY[INTERPRETER]),
        *((found.place, found, ON_GPU) for found in stored.gpus),
    ]
    if not stored.gpus:
        places.append(("on a GPU", None, ON_GPU))
    suite, faults = stored.suite, stored.faults
    body = [
        *(_row(f"first passed check, {p}", x and _cold(x), x, again) for p, x, again in places),
        *(_row(f"each check, {p}", x and _each(x, course), x, again) for p, x, again in places),
        _row("test suite", suite and _suite(suite), suite, TAKEN_BY[SUITE]),
        *(
            _row(f"graded submission, CPU, class of {size}", x and _graded(x), x, TAKEN_BY[CLASSES])
            for size, x in _sizes(stored).items()
        ),
        _row("graded submission, GPU", faults and _graded(faults), faults, TAKEN_BY[FAULTS]),
    ]
    return results.markdown(["what", "seconds", "machine", "versions", "date", "taken by"], body)


def _row(
    what: str, said: str | None, found: Checks | Suite | Graded | None, again: str
) -> list[str]:
    if found is None or said is None:
        return [what, MISSING, "-", "-", "-", again]
    source = found.source
    return [what, said, source.machine, source.versions, source.date, again]


def _cold(found: Checks) -> str:
    cold = found.cold
    return f"{_s(median(cold))} ({_s(min(cold))} to {_s(max(cold))}, {_of(len(cold), 'run')})"


def _each(found: Checks, course: Course) -> str:
    names = [(slug, key) for slug, keys in course.items() for key in keys]
    times = {name: found.passed[name] for name in names if name in found.passed}
    if not times:
        return f"{_passed(found, names)}; no times"
    first, again = zip(*times.values(), strict=True)
    return (
        f"median of checks, first / again: {_s(median(first))} / {_s(median(again))}; "
        f"slowest {_slowest(times)}; all {_s(sum(first))} / {_s(sum(again))}; "
        f"{_passed(found, names)}"
    )


def _suite(found: Suite) -> str:
    return (
        f"{_s(found.seconds)}; {_s(found.cpu_seconds)} of CPU; {found.passed} tests passed, "
        f"{found.skipped} skipped"
    )


def _graded(found: Graded) -> str:
    return (
        f"{_s(found.each)}; {_s(found.wall)} for {found.students}, notebook {found.notebook[:2]}, "
        f"{_of(found.workers, 'worker')}"
    )


def _sizes(stored: Stored) -> dict[int, Graded | None]:
    """The sizes that are asked for and those that were measured, in order."""
    return {size: stored.classes.get(size) for size in sorted({*SIZES, *stored.classes})}


def _notebooks(stored: Stored, course: Course) -> str:
    places = [found for found in (stored.interpreter, *stored.gpus) if found]
    head = ["notebook", "checks"]
    for found in places:
        head += [f"{found.place}: all, first / again", f"{found.place}: slowest, first / again"]
    body = []
    for slug, keys in course.items():
        line = [slug, str(len(keys))]
        for found in places:
            line += _notebook(found, [(slug, key) for key in keys])
        body.append(line)
    if not places:
        return f"No check was measured: {TAKEN_BY[INTERPRETER]}, or on a GPU."
    return results.markdown(head, body)


def _notebook(found: Checks, names: Sequence[tuple[str, str]]) -> list[str]:
    """The sum and the slowest check of one notebook in one place."""
    times = {name: found.passed[name] for name in names if name in found.passed}
    if not times:
        return [_passed(found, names), "-"]
    first, again = zip(*times.values(), strict=True)
    whole = f"{_s(sum(first))} / {_s(sum(again))}"
    if len(times) < len(names):
        whole += f" ({_passed(found, names)})"
    return [whole, _slowest(times)]


def _slowest(times: Mapping[tuple[str, str], tuple[float, float]]) -> str:
    """The slowest first call and the slowest later one, which need not be of the same check."""
    named = []
    for turn in (0, 1):
        seconds, key = max((spent[turn], key) for (_, key), spent in times.items())
        named.append(f"`{key}` {_s(seconds)}")
    return " / ".join(named)


def _passed(found: Checks, names: Sequence[tuple[str, str]]) -> str:
    """`63 of 63 passed`, with what failed and what was never measured."""
    passed = sum(name in found.passed for name in names)
    failed = sum(name in found.failed for name in names)
    missing = len(names) - passed - failed
    if names and missing == len(names):
        return MISSING
    parts = [f"{passed} of {len(names)} passed"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{missing} {MISSING}"] if missing else []
    return ", ".join(parts)


def _grading(stored: Stored) -> str:
    head = ["students", "wall s", "s a submission", "overhead s", "tests s", "workers"]
    head += ["stock nbgrader, s a submission", "throughput / stock's", "where"]
    faults = stored.faults
    body = [_class(f"{size}", found, "CPU") for size, found in _sizes(stored).items()]
    body.append(_class(f"{faults.students}" if faults else "any", faults, "GPU"))
    return results.markdown(head, body)


def _class(students: str, found: Graded | None, where: str) -> list[str]:
    if found is None:
        return [students, *[MISSING] * 7, where]
    stock = found.stock
    return [
        students,
        _s(found.wall),
        _s(found.each),
        MISSING if found.overhead is None else f"{found.overhead:.2f}",
        MISSING if found.tests is None else f"{found.tests:.2f}",
        str(found.workers),
        MISSING if stock is None else f"{_s(stock)} (first {found.stock_students})",
        MISSING if stock is None else f"{stock / found.each:.1f}",
        f"{where}, notebook {found.notebook[:2]}",
    ]


def _growth(classes: Mapping[int, Graded]) -> str:
    """How the smallest and the largest class compare."""
    if len(classes) < 2:
        return ""
    small, large = classes[min(classes)], classes[max(classes)]
    return (
        f"From {small.students} to {large.students} students, {large.students / small.students:g} "
        f"times as many, grading takes {large.wall / small.wall:.1f} times as long."
    )


def _of(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _s(seconds: float) -> str:
    """Seconds with three digits at most; never 0 for what took time."""
    if seconds < 0.01:
        return "<0.01"
    digits = 2 if seconds < 9.995 else 1 if seconds < 99.95 else 0
    return f"{seconds:.{digits}f}"
