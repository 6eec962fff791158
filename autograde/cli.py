"""`autograde`: grade an assignment of an nbgrader course, apart from the code that is graded.

autograde grade 01_vector_add          ingest, run, record, report; again after an interrupt
autograde status 01_vector_add         what is done, open, failed
autograde verify certificate.html      run the answers of a learner's certificate again
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tritonbook.course.certify import BadCertificate

from . import sandbox
from . import verify as again
from .execute import Setting
from .ledger import LedgerBusy
from .report import as_csv, as_text, by_status, class_report
from .run import Session
from .runners import LocalRunner
from .slurm import SlurmError, SlurmRunner, read_settings
from .work import Verdict

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__.splitlines()[0])
console = Console(stderr=True, soft_wrap=True)  # a sentence stays one line, for grep

Assignment = Annotated[str, typer.Argument(help="The assignment's name, such as 01_vector_add.")]
Root = Annotated[Path, typer.Option("--course", help="The nbgrader course folder.")]
Workers = Annotated[int, typer.Option(help="Items that run at once.")]
Level = Annotated[
    str, typer.Option("--sandbox", help="auto, or one of: " + ", ".join(sandbox.LEVELS))
]
Image = Annotated[Path | None, typer.Option(help="Container image for --sandbox apptainer.")]
Force = Annotated[bool, typer.Option("--force", help="Run hidden tests without any walls.")]
CallSeconds = Annotated[float, typer.Option(help="Limit of one call of a student's function.")]
WallSeconds = Annotated[float, typer.Option(help="Limit of one exercise, all cases together.")]
Where = Annotated[str, typer.Option("--runner", help="local: this machine; slurm: jobs.")]
Changes = Annotated[
    list[str], typer.Option("--slurm", help="A Slurm setting, NAME=VALUE, on top of slurm.json.")
]
HERE = Path(".")
CORES = os.cpu_count() or 1


def choose_level(level: str, image: Path | None, force: bool) -> str:
    """The sandbox level to use. Exits with a sentence where there is none that may be used."""
    try:
        return sandbox.choose(level, image, force)
    except sandbox.Refused as problem:
        console.print(str(problem))
        raise typer.Exit(2) from None


def make_runner(
    where: str, setting: Setting, workers: int, session: Session, changes: list[str], force: bool
) -> LocalRunner | SlurmRunner:
    """What runs the items. Exits with a sentence where that cannot be."""
    if where == "local":
        setting.level = choose_level(setting.level, setting.image, force)
        console.print(f"Sandbox: {setting.level}. {workers} exercises at a time.")
        return LocalRunner(setting, workers)
    if where != "slurm":
        console.print(f"--runner {where!r}: local or slurm.")
        raise typer.Exit(2)
    try:
        settings = read_settings(session.root, changes)
        runner = SlurmRunner(session.folder / "slurm", setting, settings, force)
    except SlurmError as problem:
        console.print(str(problem))
        raise typer.Exit(2) from None
    console.print(
        f"Slurm: {settings.chunk} exercises a job, {settings.workers} at a time, at most "
        f"{settings.jobs_at_once} jobs at once."
    )
    return runner


def _session(root: Path, assignment: str) -> Session:
    for place in (root, root / "work"):
        if seen := sandbox.shown_in(place):
            console.print(
                f"The folder {place.resolve()} lies in {seen}, which students' code can read: "
                "move it elsewhere."
            )
            raise typer.Exit(2)
    try:
        session = Session(root.resolve(), assignment)
        session.ingest()
    except FileNotFoundError as problem:
        console.print(str(problem))
        raise typer.Exit(2) from None
    return session


@app.command()
def ingest(assignment: Assignment, course: Root = HERE) -> None:
    """Rebuild submissions from the released notebook; set their scores to pending."""
    session = _session(course, assignment)
    for _, submission in session.submissions:
        for note in submission.notes:
            console.print(f"{submission.student} {submission.notebook}: {note}", highlight=False)
    console.print(f"{len(session.submissions)} notebooks, {len(session.items())} exercises.")


@app.command()
def run(
    assignment: Assignment,
    course: Root = HERE,
    workers: Workers = CORES,
    level: Level = "auto",
    image: Image = None,
    force: Force = False,
    call_seconds: CallSeconds = 30.0,
    wall_seconds: WallSeconds = 240.0,
    where: Where = "local",
    slurm: Changes = [],  # noqa: B006  (typer reads it and never changes it)
) -> None:
    """Run what is not in the ledger yet."""
    session = _session(course, assignment)
    limits = sandbox.Limits(call_seconds=call_seconds, wall_seconds=wall_seconds)
    setting = Setting(level, limits, image)
    _run(session, make_runner(where, setting, workers, session, slurm, force))


def _run(session: Session, runner: LocalRunner | SlurmRunner) -> None:
    total = len(session.open_items())
    console.print(f"{total} exercises to run.")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    failed, state = 0, ""
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("running", total=total)

            def describe() -> str:
                return f"{state or 'running'}{f', {failed} failed' if failed else ''}"

            def show(verdict: Verdict) -> None:
                nonlocal failed
                failed += verdict.status == "INFRA"
                progress.update(task, advance=verdict.final, description=describe())

            def tell(jobs: str) -> None:
                nonlocal state
                state = f"jobs: {jobs}" if jobs else ""
                progress.update(task, description=describe())

            runner.on_state = tell
            session.run(runner, show)
    except (LedgerBusy, SlurmError) as problem:
        console.print(str(problem))
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print("Interrupted. What is done is kept; run the same command to go on.")
        raise typer.Exit(130) from None
    finally:
        runner.close()


@app.command()
def record(assignment: Assignment, course: Root = HERE) -> None:
    """Write scores and notebooks for nbgrader from the ledger."""
    session = _session(course, assignment)
    session.record()
    _show(session)


@app.command()
def status(assignment: Assignment, course: Root = HERE) -> None:
    """Count items by status; list those that have no score."""
    session = _session(course, assignment)
    _show(session)
    verdicts = [v for pair in session.submissions for v in session.verdicts(*pair).values()]
    for item in by_status(verdicts).get("INFRA", []):
        console.print(f"not scored: {item}", highlight=False)


@app.command()
def retry(
    assignment: Assignment,
    course: Root = HERE,
    workers: Workers = CORES,
    level: Level = "auto",
    image: Image = None,
    force: Force = False,
    where: Where = "local",
    slurm: Changes = [],  # noqa: B006  (typer reads it and never changes it)
) -> None:
    """Give items that the grader failed on another set of attempts, then record."""
    session = _session(course, assignment)
    session.ledger.forget_failures()
    setting = Setting(level, sandbox.Limits(), image)
    _run(session, make_runner(where, setting, workers, session, slurm, force))
    session.record()
    _show(session)


@app.command()
def report(assignment: Assignment, course: Root = HERE, csv: bool = False) -> None:
    """Distribution, common mistakes, who needs help, fastest kernels (Markdown, or --csv)."""
    found = class_report(_session(course, assignment))
    sys.stdout.write(as_csv(found) if csv else as_text(found))


@app.command()
def grade(
    assignment: Assignment,
    course: Root = HERE,
    workers: Workers = CORES,
    level: Level = "auto",
    image: Image = None,
    force: Force = False,
    call_seconds: CallSeconds = 30.0,
    wall_seconds: WallSeconds = 240.0,
    where: Where = "local",
    slurm: Changes = [],  # noqa: B006  (typer reads it and never changes it)
) -> None:
    """Ingest, run, record. Safe to interrupt and to repeat."""
    session = _session(course, assignment)
    limits = sandbox.Limits(call_seconds=call_seconds, wall_seconds=wall_seconds)
    setting = Setting(level, limits, image)
    _run(session, make_runner(where, setting, workers, session, slurm, force))
    session.record()
    _show(session)
    text = as_text(class_report(session))
    (session.folder / "report.md").write_text(text, encoding="utf-8")
    console.print(f"Report: {session.folder / 'report.md'}", highlight=False)
    if set(session.summary()) & {"INFRA", "OPEN"}:
        raise typer.Exit(1)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A page that `tritonbook certify` wrote.")],
    force: Annotated[bool, typer.Option("--force", help="Run its programs without walls.")] = False,
) -> None:
    """Run the answers of a certificate again; exit with 1 when one does not hold."""
    try:
        verdicts = again.verify(file, force)
    except (again.NoWalls, BadCertificate) as problem:
        console.print(str(problem))
        raise typer.Exit(2) from None
    for verdict in verdicts:
        print(f"{'✓' if verdict.holds else '✗'} {verdict.key}: {verdict.sentence}")
    if not verdicts or not all(verdict.holds for verdict in verdicts):
        raise typer.Exit(1)


def _show(session: Session) -> None:
    table = Table(title=session.assignment, title_justify="left")
    table.add_column("status")
    table.add_column("exercises", justify="right")
    for name, count in sorted(session.summary().items()):
        table.add_row(name, str(count))
    console.print(table)


def main() -> None:
    app()


if __name__ == "__main__":
    main()
