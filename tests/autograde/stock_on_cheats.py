"""What the cheats of corpus.py earn from stock `nbgrader autograde`, and what they earn here.

python tests/autograde/stock_on_cheats.py [--json FILE]

Hands every cheat in as a notebook, beside an honest wrong answer, and grades the class twice: with
stock nbgrader on this course's own settings, and with `autograde`. A cheat has won where its
`double` scores above the honest wrong answer's. Takes some minutes. Stock nbgrader runs students'
code as its own user, so it runs behind bubblewrap here: nothing but its course folder is writable.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import nbformat
from corpus import CHEATS, WRONG, Item, answer
from rich.console import Console
from rich.table import Table

from autograde.classroom import demo, stock
from autograde.classroom.run import Session
from autograde.classroom.runners import LocalRunner
from autograde.judge.execute import Setting
from autograde.walls import sandbox
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise

HERE = Path(__file__).resolve().parent
NAME = "90_doubling"
HONEST = Item("honest wrong answer", ("FAIL",), answer(kernel=WRONG))
COMMAND = "python tests/autograde/stock_on_cheats.py"


@dataclass
class Row:
    """Points of `double` (0 to 4) for one submission; None: nbgrader recorded no score."""

    name: str
    stock: float | None
    stock_reason: str
    ours: float | None
    ours_status: str


def hand_in(course: Path, exercise: Exercise, items: dict[str, Item]) -> None:
    """One notebook a student: the answer to `double`, a right `halves`, an added cell on top."""
    halves = gaps.solved_text(exercise.answers()["halves"].source)
    released = course / "release" / NAME / f"{NAME}.ipynb"
    for student, item in items.items():
        book = nbformat.read(released, as_version=4)
        demo.fill_in(book, {"double": item.text, "halves": halves})
        if item.extra:
            book.cells.insert(0, nbformat.v4.new_code_cell(item.extra))
        target = course / "submitted" / student / NAME / f"{NAME}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(book, target)


def walls(course: Path) -> list[str]:
    """bubblewrap: everything is there to be read, as for stock nbgrader; only the course is
    writable, and there is no network. Empty where there is no bubblewrap."""
    if "bubblewrap" not in sandbox.available():
        return []
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    return [*command, "--bind", str(course), str(course), "--chdir", str(course)]


def by_stock(course: Path, workers: int, console: Console) -> dict[str, tuple[float | None, str]]:
    jobs = [(NAME, f"c*{last}") for last in range(10)] + [(NAME, "honest")]
    done = 0

    def count(name: str) -> None:
        nonlocal done
        done += 1
        console.print(f"stock nbgrader: {done}", end="\r")

    outcomes = stock.autograde(course, jobs, workers, count, walls(course))
    found = {}
    for graded in stock.read_grades(course, outcomes):
        check = next(check for check in graded.checks if check.key == "check-double")
        found[graded.student] = check.points, check.code
    return found


def by_autograde(course: Path, workers: int) -> dict[str, tuple[float | None, str]]:
    session = Session(course, NAME)
    session.ingest()
    level = sandbox.choose("auto", None, force=False)
    runner = LocalRunner(Setting(level, sandbox.Limits(call_seconds=20.0)), workers)
    session.run(runner)
    runner.close()
    found = {}
    for notebook, submission in session.submissions:
        verdict = session.verdicts(notebook, submission)["double"]
        found[submission.student] = verdict.points, verdict.status
    return found


def measure(folder: Path, workers: int, console: Console) -> list[Row]:
    """The honest wrong answer first, then every cheat."""
    exercise = Exercise(HERE / "exercises" / NAME / "page.py")
    course = demo.prepare(folder, [exercise])
    demo.release(course, [NAME], 1)
    items = {"honest": HONEST} | {f"c{n:02}": item for n, item in enumerate(CHEATS)}
    hand_in(course, exercise, items)
    stocks = by_stock(course, workers, console)
    ours = by_autograde(course, workers)
    missing = (None, "no submission recorded")
    return [Row(i.name, *stocks.get(s, missing), *ours[s]) for s, i in items.items()]


def above(rows: list[Row], side: str) -> int:
    """How many cheats score above the honest wrong answer, the first row."""
    points = [getattr(row, side) or 0.0 for row in rows]
    return sum(value > points[0] for value in points[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    os.environ.setdefault("WORKBOOK_CHECK_SECONDS", "60")
    os.environ.setdefault("WORKBOOK_CELL_SECONDS", "20")
    console = Console(width=None if sys.stdout.isatty() else 110)
    with tempfile.TemporaryDirectory(prefix="workbook-cheats-") as folder:
        rows = measure(Path(folder), options.workers, console)
    table = Table(pad_edge=False)
    for heading in ("submission", "stock nbgrader", "reason", "autograde", "status"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        shown = ["no score" if p is None else f"{p:g}" for p in (row.stock, row.ours)]
        table.add_row(row.name, shown[0], row.stock_reason, shown[1], row.ours_status)
    console.print(table)
    found = {side: above(rows, side) for side in ("stock", "ours")}
    console.print(
        f"Above the honest wrong answer, of {len(rows) - 1} cheats: "
        f"stock nbgrader {found['stock']}, autograde {found['ours']}."
    )
    if options.json:
        body = {
            "command": COMMAND,
            "date": date.today().isoformat(),
            "versions": {name: version(name) for name in ("nbgrader", "torch", "triton")},
            "python": platform.python_version(),
            "maximum": 4,
            "above_honest": found,
            "rows": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 1 if found["ours"] else 0


if __name__ == "__main__":
    sys.exit(main())
