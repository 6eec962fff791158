"""A bar while exercises run: how many are done, what Slurm's jobs do, what the grader failed on."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..judge.work import Verdict
from .run import Session
from .runners import LocalRunner
from .slurm import SlurmRunner


def run_open(session: Session, runner: LocalRunner | SlurmRunner, console: Console) -> None:
    """Run what is open. Exits with 130 where it is interrupted; what is done is kept."""
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
    except KeyboardInterrupt:
        console.print("Interrupted. What is done is kept; run the same command to go on.")
        raise typer.Exit(130) from None
    finally:
        runner.close()
