"""Run what is open, here or on a cluster. A bar tells how many exercises are done, what Slurm's
jobs do, what the grader failed on."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from ..judge.execute import Setting
from ..judge.work import Verdict
from ..walls import sandbox
from .record import exchange
from .run import Session, refuse_in_view
from .runners import Runner, local_runner
from .slurm import SlurmError, SlurmRunner, read_settings


def make_runner(
    where: str,
    setting: Setting,
    workers: int,
    session: Session,
    changes: list[str],
    force: bool,
    console: Console,
) -> Runner:
    """What runs the items."""
    if where == "local" and not changes:
        setting.level = sandbox.choose(setting.level, setting.image, force)
        console.print(f"Sandbox: {setting.level}. {workers} exercises at a time.")
        return local_runner(setting, workers)
    if where == "local":
        raise SlurmError("--slurm is for --runner slurm; leave one out or add the other.")
    if where != "slurm":
        raise SlurmError(f"--runner {where!r}: write local or slurm.")
    settings = read_settings(session.root, changes)
    runner = SlurmRunner(session.folder / "slurm", setting, settings, force)
    console.print(
        f"Slurm: {settings.chunk} exercises a job, {settings.workers} at a time, at most "
        f"{settings.jobs_at_once} jobs at once."
    )
    return runner


def run_open(
    session: Session,
    total: int,
    where: str,
    setting: Setting,
    workers: int,
    changes: list[str],
    force: bool,
    console: Console,
) -> None:
    """Run what is open. Exits with 130 where it is interrupted; what is done is kept."""
    refuse_in_view(exchange(session.root))
    runner = make_runner(where, setting, workers, session, changes, force, console)
    console.print(f"{total} exercises to run.")
    columns = *Progress.get_default_columns(), MofNCompleteColumn()
    failed = 0
    try:
        with Progress(*columns, TextColumn("{task.fields[failed]}"), console=console) as progress:
            task = progress.add_task("running", total=total, failed="")

            def show(verdict: Verdict) -> None:
                nonlocal failed
                failed += not verdict.final
                progress.update(
                    task, advance=verdict.final, failed=f"{failed} failed" if failed else ""
                )

            if isinstance(runner, SlurmRunner):
                runner.on_state = lambda jobs: progress.update(task, description=f"jobs: {jobs}")
            session.run(runner, show)
    except KeyboardInterrupt:
        console.print("Interrupted. What is done is kept; run the same command to go on.")
        raise typer.Exit(130) from None
