"""What a Slurm job runs: one chunk of a batch, with this node's cores, into files.

Python and torch start once a job; every exercise forks from there, as on the instructor's machine.
A job may be killed at any moment and started again: what has its file is not run again.
"""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing.util
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..judge.work import Verdict
from ..walls import sandbox
from .batch import Batch
from .runners import local_runner

# Slurm ends a job's processes one after the other. A candidate that it reached before this process
# looks like one that crashed by itself, so such a verdict counts only if the job outlives it.
GRACE = 3.0
BELOW_MULTIPROCESSING = -200  # of its clean-up, where the lowest comes last
ENDING = (signal.SIGTERM, signal.SIGUSR2)  # scancel or preemption; submitit's sign before the limit


def run_chunk(folder: str, chunk: int) -> None:
    """Run what has no verdict yet. Called by submitit on a node; returns nothing: no result
    travels in a pickle."""
    os.umask(0o077)
    batch = Batch.read(Path(folder))
    scratch = Path(tempfile.mkdtemp(prefix="workbook-job-"))
    # On the node's own disk and this job's own: compiled kernels of one student, or of a node with
    # another driver, must not be found by the next job.
    os.environ.update(TMPDIR=str(scratch), TRITON_CACHE_DIR=str(scratch / "triton"))
    tempfile.tempdir = None
    _leave_at_once(scratch)
    # After multiprocessing has removed its own folder in it.
    multiprocessing.util.Finalize(
        None, shutil.rmtree, args=(scratch, True), exitpriority=BELOW_MULTIPROCESSING
    )
    _run(batch, chunk)


def _leave_at_once(scratch: Path) -> None:
    """End without another verdict as soon as Slurm says that the job ends."""

    def leave(number: int, frame: Any, then: Any = None) -> None:
        try:
            shutil.rmtree(scratch, ignore_errors=True)
            if callable(then):
                then(number, frame)  # submitit puts a preempted job back into the queue
        finally:
            os._exit(128 + number)

    for number in ENDING:
        before = signal.getsignal(number) if number == signal.SIGUSR2 else None
        signal.signal(number, functools.partial(leave, then=before))


def _run(batch: Batch, chunk: int) -> None:
    plan, setting = batch.plan, batch.plan.setting
    try:
        level = sandbox.choose(setting.level, setting.image, plan.force)
    except sandbox.NoWalls as problem:
        batch.refuse(f"On the node {os.uname().nodename}: {problem}")
        return
    items = batch.items(chunk)
    numbers = {item.id: number for number, item in enumerate(items)}
    waiting = [item for item in items if not batch.path(chunk, numbers[item.id]).exists()]
    run = local_runner(dataclasses.replace(setting, level=level), plan.workers)
    for verdict in outlived(run(waiting)):
        batch.write(chunk, numbers[verdict.item], verdict)


def outlived(verdicts: Iterator[Verdict], grace: float = GRACE) -> Iterator[Verdict]:
    """Verdicts in turn; one that is not a pass comes `grace` seconds later or more, or never."""
    held: list[tuple[float, Verdict]] = []
    for verdict in verdicts:
        if verdict.status == "PASS":
            yield verdict
        else:
            held.append((time.monotonic() + grace, verdict))
        while held and held[0][0] <= time.monotonic():
            yield held.pop(0)[1]
    for due, verdict in held:
        time.sleep(max(0.0, due - time.monotonic()))
        yield verdict
