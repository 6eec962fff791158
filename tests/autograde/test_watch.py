"""What the processes of one exercise use together is bounded, and who is ended for it is told."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from unittest import mock

from corpus import body
from grading import Grader, needs_walls

from autograde.judge import execute, watch
from autograde.judge.watch import Watch
from autograde.walls.confine import Limits

HOLDS = "x = bytearray(150 << 20); x[::4096] = x[::4096]; import time; time.sleep(60)"
SPINS = "while True: pass"


def _ended(text: str, **limits: float) -> str:
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}])"
    with subprocess.Popen([sys.executable, "-c", start]) as process:
        with Watch([process.pid], Limits(**limits), gpu=False) as seen:
            process.wait(60)
    return seen.found


def test_what_children_use_counts() -> None:
    """Kills: many processes, each within the bounds of one."""
    assert _ended(HOLDS, memory=100 << 20) == "memory"
    assert _ended(SPINS, wall_seconds=0.5) == "time"


def test_memory_that_is_shared_counts() -> None:
    """Kills: memory that is in no process's own: mapped, and shared."""
    text = HOLDS.replace("bytearray(150 << 20)", "__import__('mmap').mmap(-1, 150 << 20)")
    assert _ended(text.replace("x[::4096] = x[::4096]", "x.write(bytes(150 << 20))"), memory=100 << 20)


def test_small_ones_are_let_be() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        with Watch([process.pid], Limits(), gpu=False) as seen:
            time.sleep(3 * watch.POLL_SECONDS)
        assert seen.found == "" and process.poll() is None
        process.kill()


FORKS = """\
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(150 << 20)
        held[::4096] = held[::4096]
        time.sleep(600)
time.sleep(600)
"""


@needs_walls
def test_a_student_with_many_processes_is_told(grader: Grader) -> None:
    """Kills: the machine's memory used up by one exercise; a reason that nobody can act on."""
    limits = dataclasses.replace(Limits(), memory=1 << 30, call_seconds=60.0)
    with mock.patch.object(grader, "executor", execute.Executor(execute.Setting(grader.level))):
        with mock.patch("grading.sandbox.Limits", lambda **given: limits):
            verdict = grader.grade("double", double=body(FORKS))
    assert (verdict.status, verdict.points) == ("OOM", 0), verdict
    assert "used more than 1 GB of memory together" in verdict.sentence
