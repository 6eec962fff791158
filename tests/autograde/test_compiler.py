"""The compiler that all exercises share: who keeps it busy pays, who waits for it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from unittest.mock import Mock

import pytest
from corpus import RIGHT, answer
from grading import PASSED, Grader, awaited, needs_walls, until

from autograde.judge import execute
from autograde.judge.compiler import Busy, Compiler, cpu_seconds
from tritonbook.course.exercises import Exercise
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.process import WorkerError

TURNS = "    if n < 0:\n        for i in tl.static_range(200000):\n            x = x + i\n"
BOMB = RIGHT.replace("    tl.store(", f"{TURNS}    tl.store(")


@needs_walls
@pytest.mark.skipif(not INTERPRET, reason="on a GPU each checker compiles for itself")
def test_a_bomber_and_its_neighbour(exercise: Exercise) -> None:
    """Kills: a compile bomb that passes, because the gate came to nothing, and that takes an honest
    neighbour's points, who waited for the compiler."""
    grader = Grader(exercise)
    grader.executor.compiler = Compiler(seconds=4.0)
    with ThreadPoolExecutor(2) as pool:
        bomber = pool.submit(grader.grade, "double", double=answer(kernel=BOMB))
        time.sleep(1.0)
        honest = pool.submit(grader.grade, "double").result()
        verdict = bomber.result()
    assert (verdict.status, verdict.code, verdict.points) == ("TIMEOUT", "timeout", 0), verdict
    assert "compiler" in verdict.sentence and "tl.static_range" in verdict.sentence
    assert (honest.status, honest.points) == ("PASS", 4), honest


@needs_walls
@pytest.mark.skipif(not INTERPRET, reason="on a GPU each checker compiles for itself")
@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("Z: tl.constexpr = 1 << (5 << 33)", "FAIL", "does not get by with its memory"),
        ("tl.static_print('x' * (1 << 28))", "PASS", ""),
        ("tl.static_assert(False, 'x' * (1 << 20))", "FAIL", "`tl.static_assert` does not hold"),
    ],
)
def test_what_a_kernel_may_have_of_the_compiler(
    grader: Grader, line: str, status: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: 6 GB, or a disk that is full, for a line that only the compiler evaluates."""
    compiler = Compiler()
    monkeypatch.setattr(grader.executor, "compiler", compiler)
    kernel = RIGHT.replace("    tl.store(", f"    if n < 0:\n        {line}\n    tl.store(")
    verdict = grader.grade("double", double=answer(kernel=kernel))
    assert verdict.status == status and words in verdict.sentence, verdict
    compiler._worker._log.seek(0, os.SEEK_END)
    assert compiler._worker._log.tell() < 1 << 20


def test_a_long_request_keeps_nobody_waiting() -> None:
    """Kills: minutes in which every other exercise waits for one student's kernel."""
    spin = "import time\nwhile True: time.process_time()"
    with subprocess.Popen([sys.executable, "-c", spin]) as process:
        compiler, asked = Compiler(seconds=600.0, shared_seconds=0.3), threading.Event()
        slow = Mock(**{"ready.return_value": process.pid})
        slow.ask.side_effect = lambda *told: (asked.set(), process.wait(), {"kernels": []})[-1]
        compiler._worker = slow
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(compiler.ask, {})
            asked.wait()
            until(lambda: compiler._worker is not slow)
            compiler._worker = Mock(**{"ready.return_value": 1 << 22, "ask.return_value": {}})
            assert compiler.ask({}) == {}
            process.kill()
            assert first.result() == {"kernels": []}
    slow.stop.assert_called_once()


def test_students_kernels_stay_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: what a student had compiled in the instructor's own cache."""
    monkeypatch.setenv("HOME", str(tmp_path))
    compiler = Compiler()
    text = "import os\n\ndef tell():\n    raise RuntimeError(os.environ['TRITON_CACHE_DIR'])\n"
    request = {"job": "compile", "source": text, "entry": "tell", "args": [], "options": {}}
    told = compiler.ask({**request, "arch": 80, "path": []})
    assert str(tmp_path) not in told["error"]["message"]
    compiler._worker.stop()
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]


def test_waiting_for_the_compiler_is_nobodys_time() -> None:
    """Kills: a right answer that times out because others kept the compiler busy."""
    slow = Mock(side_effect=lambda *asked: execute.time.sleep(0.8) or {})
    asks = (0.1, {"compile": {}})
    assert awaited(asks, (0.1, asdict(PASSED)), compiler=slow) == PASSED
    assert awaited(asks, (0.6, {}), compiler=slow).status == "TIMEOUT"


def test_a_compiler_that_is_never_free_is_nobodys_fault() -> None:
    """Kills: a wait without end, and a score of 0 for it."""
    busy = Mock(side_effect=Busy("The compiler was not free for 1800 s."))
    found = awaited((0.0, {"compile": {}}), compiler=busy)
    assert found.status == "INFRA" and "not free" in found.sentence


def _asked(*answers: dict | WorkerError, pid: int = 1 << 22) -> dict:
    compiler = Compiler()
    compiler._worker = Mock(**{"ready.return_value": pid, "ask.side_effect": answers})
    return compiler.ask({"job": "compile"})


def test_a_process_that_dies_is_tried_again() -> None:
    """Kills: a gate that lets a kernel by because the compiler ended; a failure of the compiler's
    scored as the kernel's."""
    assert _asked(WorkerError("died"), {"kernels": []}) == {"kernels": []}
    with pytest.raises(Busy, match="twice"):
        _asked(WorkerError("died"), WorkerError("died"))
    assert "no nvidia" in _asked(WorkerError("no nvidia"), pid=os.getpid())["unanswered"]


def test_who_waits_is_let_go() -> None:
    """Kills: a wait for ever, and threads that wait for what nobody wants any more."""
    compiler = Compiler(wait=0.5)
    compiler._free.acquire()
    began = time.monotonic()
    with pytest.raises(Busy, match="not free"):
        compiler.ask({"job": "compile"})
    assert time.monotonic() - began < 60
    compiler.wait = 1000.0
    with pytest.raises(Busy):
        compiler.ask({"job": "compile"}, lambda: False)


def test_the_time_of_children_counts() -> None:
    """Kills: a bomb that goes off in ptxas."""
    spin = "import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}]); input()"
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE) as process:
        until(lambda: cpu_seconds(process.pid) >= 0.5)
        process.kill()
    assert cpu_seconds(process.pid) == 0.0
