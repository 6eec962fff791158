"""A bar while exercises run: how many are done, what Slurm's jobs do, what the grader failed on."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from ..judge.work import Verdict
from .run import Session
from .runners import Runner
from .slurm import SlurmRunner


def run_open(session: Session, runner: Runner, total: int, console: Console) -> None:
    """Run what is open. Exits with 130 where it is interrupted; what is done is kept."""
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
