"""Run what is open, here or on a cluster. A bar tells how many exercises are done, what Slurm's
jobs do, what the grader failed on."""

from __future__ import annotations

import shutil

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from tritonbook.words import say

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
        console.print(
            say(
                "Sandbox: {level}. {workers} exercises at a time.",
                level=setting.level,
                workers=workers,
            )
        )
        return local_runner(setting, workers)
    if where == "local":
        raise SlurmError("--slurm goes with --runner slurm: add that, or leave out --slurm.")
    if where != "slurm":
        raise SlurmError(f"There is no --runner {where}: write local or slurm.")
    settings = read_settings(session.root, changes)
    if shutil.which("srun") is None:
        raise SlurmError(
            "There is no Slurm here (no `srun`): type this on a login node of the cluster, or "
            "leave out --runner slurm."
        )
    runner = SlurmRunner(session.folder / "slurm", setting, settings, force)
    console.print(
        say(
            "Slurm: {chunk} exercises a job, {workers} at a time, at most {jobs} jobs at once.",
            chunk=settings.chunk,
            workers=settings.workers,
            jobs=settings.jobs_at_once,
        )
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
    console.print(say("Exercises to run: {total}.", total=total))
    columns = *Progress.get_default_columns(), MofNCompleteColumn()
    failed = 0
    try:
        with Progress(*columns, TextColumn("{task.fields[failed]}"), console=console) as progress:
            task = progress.add_task(say("running"), total=total, failed="")

            def show(verdict: Verdict) -> None:
                nonlocal failed
                failed += not verdict.final
                told = say("{failed} failed", failed=failed) if failed else ""
                progress.update(task, advance=verdict.final, failed=told)

            if isinstance(runner, SlurmRunner):
                runner.on_state = lambda jobs: progress.update(
                    task, description=say("jobs: {jobs}", jobs=jobs)
                )
            session.run(runner, show)
    except KeyboardInterrupt:
        console.print(say("Interrupted. What is done is kept; run the same command to go on."))
        raise typer.Exit(130) from None
