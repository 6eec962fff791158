"""What the processes of one exercise use together is bounded, and who is ended for it is told."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock
from unittest.mock import Mock

import pytest
from corpus import body
from grading import Grader, needs_walls, until

from autograde.judge import execute, watch
from autograde.judge.watch import Queue, Watch
from autograde.judge.work import Outcome
from autograde.walls import candidate, sandbox
from autograde.walls.confine import Limits
from autograde.walls.wire import Deadline, Line
from tritonbook import limits

HOLDS = "x = bytearray(150 << 20); x[::4096] = x[::4096]; import time; time.sleep(60)"
SPINS = "while True: pass"
SPIN = """\
import os, time
os.fork(), os.fork()
while time.process_time() < 0.4:
    pass
time.sleep(60)
"""


def _ended(text: str, **limits: float) -> str:
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}])"
    process = subprocess.Popen([sys.executable, "-c", start])
    with Watch([process.pid], Limits(**limits), gpu=False) as seen:
        process.wait(60)
    return seen.found


def test_what_children_use_counts() -> None:
    """Kills: many processes, each within the bounds of one."""
    two = f"import os; os.fork(); {HOLDS.replace('150', '80')}"
    assert _ended(two, memory=130 << 20) == "memory"
    assert _ended(SPIN, wall_seconds=1.0) == "time"


def test_memory_that_is_shared_counts() -> None:
    """Kills: memory that is in no process's own: mapped, and shared."""
    text = HOLDS.replace("bytearray(150 << 20)", "__import__('mmap').mmap(-1, 150 << 20)")
    assert _ended(
        text.replace("x[::4096] = x[::4096]", "x.write(bytes(150 << 20))"), memory=100 << 20
    )


TREE = """\
import subprocess, sys, threading, time
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
nested = f"import subprocess; subprocess.run({sleep!r})"
first = subprocess.Popen([sys.executable, "-c", nested])
time.sleep(0.1)
threading.Thread(target=lambda: subprocess.run(sleep)).start()
"""


MAKES = """\
for number in range(3000):
    open(f"/tmp/{number}", "w").close()
import time
time.sleep(60)
"""


@pytest.mark.skipif(not sandbox.works("bubblewrap"), reason="no bubblewrap here")
def test_files_behind_walls_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kills: a million empty files, memory that no process has; this machine's own files held
    against a student."""
    monkeypatch.setattr(watch, "MOST_FILES", 2000)
    command = [*sandbox.bubblewrap_command(), sys.executable, "-c", MAKES]
    with subprocess.Popen(command) as process, Watch([process.pid], Limits(), False) as seen:
        process.wait(60)
    assert seen.found == "files"
    assert watch._files(os.getpid()) == 0


@pytest.mark.parametrize("listed", [watch._LISTED, False], ids=["listed", "searched"])
def test_a_family_is_all_that_was_started(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a process that nobody counts, for a thread started it, or its parent was started."""
    monkeypatch.setattr(watch, "_LISTED", listed)
    with subprocess.Popen([sys.executable, "-c", TREE]) as process:
        until(lambda: len(watch.family(process.pid)) == 4)
        first, second = watch.children(process.pid)
        assert watch.family(process.pid)[-1].pid == process.pid
        assert (len(watch.family(first)), len(watch.family(second))) == (2, 1)
        for each in watch.family(process.pid):
            each.kill()
    assert watch.family(process.pid) == [] == watch.children(process.pid)


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
    with mock.patch("grading.sandbox.Limits", lambda **given: limits):
        verdict = grader.grade("double", double=body(FORKS))
    assert (verdict.status, verdict.points) == ("OOM", 0), verdict
    assert "used more than 1 GB of memory together" in verdict.sentence


def test_waiting_for_a_processor_is_measured() -> None:
    """Kills: an honest answer out of time beside neighbours that keep the processors busy."""
    start = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    spins = [subprocess.Popen([sys.executable, "-c", start + SPINS]) for _ in range(2)]
    queue = Queue([spins[0].pid])
    try:
        until(lambda: queue.seconds_now() > 0.5)
    finally:
        for each in spins:
            each.kill()
            each.wait()


def test_what_a_students_code_starts_waits_for_itself() -> None:
    """Kills: eight children that spin, of which each puts off the limits of its exercise."""
    start = [sys.executable, "-c", f"input()\n{TREE}"]
    with subprocess.Popen(start, stdin=subprocess.PIPE) as process:
        queue = Queue([process.pid])
        queue.look()
        process.stdin.write(b"\n")
        process.stdin.flush()
        until(lambda: len(watch.family(process.pid)) == 4)
        queue.seconds(), queue.worked()
        kept = queue._processes
        queue.look()  # as if what was started were the walls
        first = watch.children(process.pid)[0]
        walls = [first, *watch.children(first)]
        for each in watch.family(process.pid):
            each.kill()
    assert kept == [os.getpid(), process.pid]
    assert queue._processes == [os.getpid(), process.pid, *walls]


def test_no_limit_counts_it() -> None:
    """Kills: limits by the wall's clock alone; and those that a sleeper puts off for ever."""
    waited = [0.0]
    deadline = Deadline(0.2, lambda: waited[0])
    waited[0] = 5.0
    time.sleep(0.3)
    assert 0.2 < deadline.left() < 0.6  # three times as long at most
    time.sleep(0.6)
    assert deadline.left() <= 0
    began, waits = time.monotonic(), iter([0.0, 0.5, 0.5])
    late = mock.patch.object(limits, "waiting", lambda: next(waits))
    with late, pytest.raises(limits.CheckTimeout), limits.time_limit(0.3):
        time.sleep(60)
    assert time.monotonic() - began >= 0.8


@pytest.mark.parametrize(("work", "stopped"), [(0.0, False), (1.0, True)])
def test_no_limit_of_a_cell_counts_it(
    work: float, stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: 0 for an answer whose cell does a second's work, on a busy machine; an endless cell
    that is waited for longer than an endless call."""
    began = time.monotonic()
    told = lambda process: (100 * work * (time.monotonic() - began), time.monotonic() - began)  # noqa: E731
    monkeypatch.setattr(limits, "scheduled", told)
    ours, theirs = socket.socketpair()
    process = multiprocessing.get_context("fork").Process(
        target=candidate.main, args=(theirs, tmp_path)
    )
    process.start()
    line = Line(ours)
    line.wait_until_ready("the candidate")
    cells = [("answer-a", "import time\ntime.sleep(0.8)")]
    line.send({"do": "cells", "cells": cells, "cell_seconds": 0.4, "lent": {}})
    found = line.receive(100).body["errors"]
    process.kill()
    assert ("answer-a" in found) is stopped, found


def test_who_has_spun_for_long_is_not_waited_for() -> None:
    """Kills: an endless loop that costs four times the limit beside busy neighbours."""
    began = time.monotonic()
    waits, works = iter(range(99)), iter([5.0, 6.0, 16.0])  # it waits on, and gets what is enough
    late = mock.patch.multiple(
        limits, waiting=lambda: next(waits) * 0.3, working=lambda: next(works)
    )
    with late, pytest.raises(limits.CheckTimeout) as stopped, limits.time_limit(0.5):
        time.sleep(60)
    assert time.monotonic() - began >= 0.8 and next(waits) == 3
    assert stopped.value.seconds == 0.5


def test_a_processors_time_is_measured() -> None:
    """Kills: time in the queue taken for work, and a loop that seems to have done nothing."""
    queue, began = Queue([]), time.thread_time()
    before = queue.worked()
    while time.thread_time() - began < 0.5:
        pass
    assert 0.4 < queue.worked() - before < 0.7


@pytest.mark.parametrize(
    ("used", "short", "status"),
    [(1 << 20, True, "INFRA"), (1 << 20, False, "OOM"), (3 << 30, True, "OOM")],
)
def test_a_machine_without_memory_is_not_the_students(used: int, short: bool, status: str) -> None:
    """Kills: 0 points for an honest answer that the kernel ended because others took the memory;
    and no score for one that took it."""
    seen, crashed = Mock(found="", most=used), Outcome("CRASH", "crashed", "x")
    assert execute._used_up(seen, Limits(), crashed, True, short).status == status


@needs_walls
def test_who_killed_a_process_cannot_be_feigned(grader: Grader) -> None:
    """Kills: a student's code that ends with the status of a killed process and has no score."""
    with mock.patch.object(execute, "memory_kills", Mock(side_effect=range(9))):
        verdict = grader.grade("double", double=body("import os\nos._exit(137)"))
    assert (verdict.status, verdict.points) == ("OOM", 0), verdict
