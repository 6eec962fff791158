"""The `autograde` command."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

import tritonbook
from tritonbook.command import BAD_INPUT, BadInput, misused, refused, sentence, with_heads
from tritonbook.words import later, listed, say, titled

from ..judge.course import BadCourse
from ..walls import confine, sandbox
from .ledger import LedgerBusy
from .notes import in_a_line
from .places import shown
from .report import as_csv, as_text, class_report, failure
from .report_page import as_html
from .run import Session, refuse_in_view


class _Spoken:
    """A command whose help is in the reader's language."""

    def get_help(self, ctx: Any) -> str:
        command: Any = self
        for each in command, *getattr(command, "commands", {}).values():
            each.help = each.short_help = say(each.help)  # the short one would be cut off
        for option in command.params:
            option.help = say(option.help or "")
        return with_heads(super().get_help(ctx))  # type: ignore[misc]


class _Group(_Spoken, TyperGroup):
    pass


class _Command(_Spoken, TyperCommand):
    pass


# What typer and pydantic say of arguments.
later("Missing command")
later("Missing argument '{name}'")
later("No such command '{name}'")
later("No such command '{name}'. Did you mean {near}?")
later("No such option: {name}")
later("No such option: {name} Did you mean {near}?")
later("Invalid value for '{name}': {why}")
later("Input should be a valid integer, unable to parse string as an integer")
later("Input should be a valid number, unable to parse string as a number")
later("Input should be a finite number")
later("Input should be greater than or equal to {number}")
later("Input should be less than or equal to {number}")
later("Extra inputs are not permitted")
app = typer.Typer(
    cls=_Group,
    add_completion=False,
    rich_markup_mode=None,
    help="Grade an assignment of an nbgrader course, apart from the code that is graded.",
)
command = functools.partial(app.command, cls=_Command)
# A sentence stays one line, for grep; what stands in brackets in it is no markup.
console = Console(stderr=True, soft_wrap=True, markup=False, highlight=False)
Assignment = Annotated[str, typer.Argument(help="The assignment's name, such as 01_vector_add.")]
Root = Annotated[Path, typer.Option("--course", help="The nbgrader course folder.")]
SECONDS = {"min": 1, "max": 86400}
_LEVELS = ", ".join(sandbox.LEVELS)
LEVELS = later(f"auto, or one of: {_LEVELS}")
CORES = os.cpu_count() or 1
HERE = Path(".")
EXPECTED = (BadCourse, BadInput, LedgerBusy, sandbox.NoWalls, OSError)


def _session(
    root: Path,
    assignment: str,
    look: bool = False,
    students: Sequence[str] = (),
    keys: Sequence[str] = (),
) -> Session:
    """A session with its submissions, all or those of some students, and its exercises, all or
    some. look: read them only; nothing is written, no notes are told."""
    refuse_in_view(root, root / "work")
    session = Session(root.resolve(), assignment)
    session.read(students) if look else session.ingest(students)
    session.choose(keys)
    if look:
        return session
    for stray in session.strays:
        console.print(stray)
    for _, submission in session.submissions:
        if submission.notes:
            told = in_a_line(submission.notes)
            console.print(titled(f"{submission.student} {submission.notebook}", told))
    if session.whole and session.absent:
        absent = listed(map(shown, session.absent))
        number = len(session.absent)
        console.print(say("Nothing handed in by {number}: {absent}", number=number, absent=absent))
    return session


def runs_items(work: Callable[[Session, Callable[[], None]], None]) -> Callable[..., None]:
    """A command with the options of all that run items. `work` gets the session, and a function
    that runs what is open."""

    @command(work.__name__, help=work.__doc__)
    def run_items(
        assignment: Assignment,
        course: Root = HERE,
        workers: Annotated[int, typer.Option(help="Items that run at once.", min=1)] = CORES,
        level: Annotated[str, typer.Option("--sandbox", help=LEVELS)] = "auto",
        image: Annotated[Path | None, typer.Option(help="For --sandbox apptainer.")] = None,
        force: Annotated[bool, typer.Option("--force", help="Run without any walls.")] = False,
        call_seconds: Annotated[
            float, typer.Option(help="Limit of one call of a student's function.", **SECONDS)
        ] = confine.Limits.call_seconds,
        wall_seconds: Annotated[
            float, typer.Option(help="Limit of one exercise, all cases together.", **SECONDS)
        ] = confine.Limits.wall_seconds,
        where: Annotated[
            str, typer.Option("--runner", help="local: this machine; slurm: jobs.")
        ] = "local",
        slurm: Annotated[
            list[str], typer.Option(help="A Slurm setting, NAME=VALUE, on top of slurm.json.")
        ] = [],  # noqa: B006  (typer reads it and never changes it)
        student: Annotated[
            list[str], typer.Option(help="Only this student's; may be given again.")
        ] = [],  # noqa: B006
        exercise: Annotated[
            list[str], typer.Option(help="Only this exercise; may be given again.")
        ] = [],  # noqa: B006
    ) -> None:
        session = _session(course, assignment, False, student, exercise)
        limits = confine.Limits(call_seconds=call_seconds, wall_seconds=wall_seconds)

        def go() -> None:
            if total := len(session.open_items()):
                from ..judge.execute import Setting
                from .progress import run_open

                setting = Setting(level, limits, image)
                run_open(session, total, where, setting, workers, slurm, force, console)

        work(session, go)

    return run_items


@command()
def ingest(assignment: Assignment, course: Root = HERE) -> None:
    """Rebuild submissions from the released notebook; set their scores to pending."""
    session = _session(course, assignment)
    many, number = len(session.submissions), len(session.items())
    console.print(say("Notebooks: {many}. Exercises: {number}.", many=many, number=number))


@runs_items
def run(session: Session, go: Callable[[], None]) -> None:
    """Run what is not in the ledger yet."""
    go()


@command()
def record(assignment: Assignment, course: Root = HERE) -> None:
    """Write scores and notebooks for nbgrader from the ledger."""
    session = _session(course, assignment)
    session.record()
    _show(session)
    if session.unwritten:
        raise typer.Exit(1)


@command()
def status(assignment: Assignment, course: Root = HERE) -> None:
    """Count items by status; list those that have no score."""
    session = _session(course, assignment, look=True)
    _show(session)
    for pair in session.submissions:
        for verdict in session.verdicts(*pair).values():
            if verdict.status == "INFRA":
                why = failure(verdict)
                console.print(say("not scored: {item}: {why}", item=verdict.item, why=why))


@runs_items
def retry(session: Session, go: Callable[[], None]) -> None:
    """Give items that the grader failed on another set of attempts, then record."""
    if not session.graded():
        raise _never_graded(session)
    session.reopen(failed=True)
    _run_and_record(session, go)


@runs_items
def regrade(session: Session, go: Callable[[], None]) -> None:
    """Run again what has a verdict already (narrow it with --student, --exercise), then record."""
    if not session.reopen():
        raise _never_graded(session)
    _run_and_record(session, go)


def _never_graded(session: Session) -> BadCourse:
    name = session.assignment
    return BadCourse(f"Nothing of {name} was graded before: run `autograde grade {name}` first.")


@command()
def report(
    assignment: Assignment, course: Root = HERE, csv: bool = False, html: bool = False
) -> None:
    """Distribution, common mistakes, who needs help, copies (Markdown, or --csv, or --html)."""
    found = class_report(_session(course, assignment, look=True))
    sys.stdout.write(as_csv(found) if csv else as_html(found) if html else as_text(found))


@runs_items
def grade(session: Session, go: Callable[[], None]) -> None:
    """Ingest, run, record. Safe to interrupt and to repeat."""
    _run_and_record(session, go)
    unfinished = set(session.summary()) & {"INFRA", "OPEN"}
    if not session.whole:
        session.read()  # the report is about the whole class, whoever was graded now
    found = class_report(session)
    for name, text in (("report.md", as_text(found)), ("report.html", as_html(found))):
        (session.folder / name).write_text(text, encoding="utf-8", errors="replace")
    where = session.folder / "report.md"
    console.print(say("Report: {where}, and report.html for a browser", where=where))
    if unfinished or session.unwritten:
        raise typer.Exit(1)


@command("new-course")
def make_course(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    assignments: Annotated[
        list[str] | None, typer.Argument(help="Parts (one digit) or pages, such as 01; none: all.")
    ] = None,
) -> None:
    """Make a course folder: nbgrader's settings and the source notebooks."""
    tritonbook.begin()
    from .new_course import new_course

    made = new_course(folder, assignments or ())
    print(say("Assignments in {folder}: {made}. Next, there:", folder=folder, made=len(made)))
    print(f"    nbgrader generate_assignment {made[0]} --create")


@command("exam")
def make_exam(
    seed: Annotated[str, typer.Argument(help="The same seed gives the same sheet.")],
    course: Root = HERE,
    tasks: Annotated[int, typer.Option(help="How many kernels to mend.", min=1)] = 5,
    pages: Annotated[
        str, typer.Option(help="Parts (one digit) or pages that the class has done; none: all.")
    ] = "",
) -> None:
    """Draw a sheet of broken kernels to mend, and its key; grade it like a page."""
    tritonbook.begin()
    from . import exam_sheet

    source, key = exam_sheet.make(course, seed, tasks, re.split(r"[\s,]+", pages))
    print(
        say(
            "{source}: the sheet. {key}: its key, for your eyes. Next, in {course}:",
            source=source,
            key=key,
            course=course,
        )
    )
    print(f"    nbgrader generate_assignment {source.stem} --create")


@command()
def sign(
    assignment: Assignment,
    course: Root = HERE,
    pass_mark: Annotated[
        float, typer.Option(help="Percent of the points that pass.", min=0, max=100)
    ] = 50,
) -> None:
    """Write a signed statement for each student who passed, for `tritonbook certify --exam`."""
    tritonbook.begin()
    from .statement import write_statements

    paths, graded = write_statements(course.resolve(), assignment, pass_mark)
    where, count = course / "signed" / assignment, len(paths)
    print(say("{where}: {count} of {graded} passed", where=where, count=count, graded=graded))


@command()
def verify(
    file: Annotated[Path, typer.Argument(help="A page that `tritonbook certify` wrote.")],
    force: Annotated[bool, typer.Option("--force", help="Run its programs without walls.")] = False,
    course: Annotated[Path | None, typer.Option(help="The course that signed its exams.")] = None,
) -> None:
    """Grade the answers of a certificate again; exit with 1 when one does not hold."""
    tritonbook.begin()
    from . import verify as again

    claims = again.verify(file, force, course)
    for claim in claims:
        told = as_one_line(f"{claim.key}: {say(claim.sentence)}")
        print(f"{'✓' if claim.holds else '✗'} {told}")
    if not claims or not all(claim.holds for claim in claims):
        raise typer.Exit(1)


def as_one_line(text: str) -> str:
    """A text of somebody else's: what would move a terminal's cursor, or more, is spelt out."""
    parts = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(parts)


def _run_and_record(session: Session, go: Callable[[], None]) -> None:
    go()
    session.record()
    _show(session)


def _show(session: Session) -> None:
    table = Table(title=session.assignment, title_justify="left")
    table.add_column(say("status"))
    table.add_column(say("exercises"), justify="right")
    for name, count in sorted(session.summary().items()):
        table.add_row(name, str(count))
    console.print(table)
    for line in session.unwritten:
        console.print(line)


def main(arguments: list[str] | None = None) -> int:
    """The exit code. What may be expected to go wrong, and arguments that are not understood, are
    one sentence, as in `tritonbook`."""
    try:
        found = app(arguments, prog_name="autograde", standalone_mode=False)
    except EXPECTED as problem:
        console.print(refused(problem) if isinstance(problem, OSError) else say(sentence(problem)))
        return BAD_INPUT
    except typer.Abort:
        return 130
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # else an error of usage, whoever's click it is
            raise
        console.print(misused("autograde", problem.format_message().rstrip(".")))
        return BAD_INPUT
    return found if isinstance(found, int) else 0
