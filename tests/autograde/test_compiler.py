"""An exercise's compiler: who keeps it busy pays, who waits for it does not, and none meets it
again."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psutil
import pytest
from corpus import RIGHT, answer
from grading import PASSED, Grader, awaited, needs_walls, until

from autograde.judge import compiler, execute
from autograde.judge.compiler import Busy, Compiler, cpu_seconds
from autograde.judge.watch import family
from autograde.walls import visible
from autograde.walls.wire import Line, PeerGone
from tritonbook.course.exercises import Exercise
from tritonbook.port.device import INTERPRET

TURNS = "    if n < 0:\n        for i in tl.static_range(200000):\n            x = x + i\n"
BOMB = RIGHT.replace("    tl.store(", f"{TURNS}    tl.store(")


@needs_walls
@pytest.mark.skipif(not INTERPRET, reason="on a GPU each checker compiles for itself")
def test_a_bomber_and_its_neighbour(exercise: Exercise) -> None:
    """Kills: a compile bomb that passes, because the gate came to nothing, and that takes an honest
    neighbour's points, who waited for the compiler."""
    grader = Grader(exercise)
    grader.executor.compiler = functools.partial(Compiler, seconds=4.0)
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
    sizes = []

    class Watched(Compiler):
        def __exit__(self, *error: object) -> None:
            if self._room:
                sizes.append(Path(self._room.name, "said").stat().st_size)
            super().__exit__(*error)

    monkeypatch.setattr(grader.executor, "compiler", Watched)
    kernel = RIGHT.replace("    tl.store(", f"    if n < 0:\n        {line}\n    tl.store(")
    verdict = grader.grade("double", double=answer(kernel=kernel))
    assert verdict.status == status and words in verdict.sentence, verdict
    assert sizes and max(sizes) < 1 << 20


def _told(compiler: Compiler, text: str) -> str:
    """What a text tells that runs in a compiler's process."""
    source = f"import builtins, os\n\ndef tell():\n    raise RuntimeError(repr(({text})))\n"
    request = {"job": "compile", "source": source, "entry": "tell", "args": [], "options": {}}
    return compiler.ask({**request, "arch": 80, "path": []})["error"]["message"]


LARGE = "os.pwrite(os.open('/tmp/large', os.O_CREAT | os.O_WRONLY), b'x', 256 << 20)"
LEFT = "hasattr(builtins, 'left'), os.path.exists('/tmp/left')"
OPEN = """sorted(
    link.partition(':')[0] for number in range(256)
    if os.path.lexists(path := f'/proc/self/fd/{number}')
    if not (link := os.readlink(path)).endswith(('/null', '/said'))
)"""


@needs_walls
def test_a_compiler_holds_nothing_of_anybody_else(grader: Grader) -> None:
    """Kills: what one student's kernel leaves behind for another's; a place to leave it; what the
    grader has open, or has been told; kernels in the instructor's own cache."""
    assert isinstance(grader.executor._interprets, bool)  # it runs
    with Compiler() as one, Compiler() as other:
        assert _told(one, "setattr(builtins, 'left', 'x'), open('/tmp/left', 'w').write('x')")
        assert "True, True" in _told(one, LEFT)
        assert "False, False" in _told(other, LEFT)
        assert "/tmp/triton" in _told(other, "os.environ['TRITON_CACHE_DIR']")
        kept = {*visible.environment(), "TRITONBOOK_PROGRESS", "TRITON_INTERPRET"}
        kept |= {"CUDA_VISIBLE_DEVICES"}
        assert "set()" in _told(other, f"set(os.environ) - {kept}")
        assert "(['socket'],)" in _told(other, f"({OPEN},)")  # its line
        assert "'1000" in _told(other, "open('/proc/self/oom_score_adj').read()")
        assert "File too large" in _told(other, LARGE)
        assert "True" in _told(other, "__import__('resource').getrlimit(0)[0] > 80 * 40")
        folders = [Path(each._room.name) for each in (one, other)]
        numbers = [each._process.pid for each in (one, other)]
    assert not any(folder.exists() for folder in folders)
    until(lambda: all(cpu_seconds(number) == 0.0 or _ended(number) for number in numbers))


def test_without_walls_a_compiler_keeps_its_kernels_to_itself(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: kernels of students' in the instructor's own cache, and no bounds, where no namespaces
    work."""
    assert isinstance(grader.executor._interprets, bool)  # it runs
    monkeypatch.setattr(compiler.sandbox, "works", lambda level: False)
    with Compiler() as one:
        kept = _told(one, "os.environ['TRITON_CACHE_DIR']")
        assert f"'{one._room.name}/kernels'" in kept, kept
        assert "File too large" in _told(one, LARGE.replace("/tmp", one._room.name))


def _ended(number: int) -> bool:
    return psutil.Process(number).status() == psutil.STATUS_ZOMBIE


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


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Have whoever asks for a compiler get these, one after the other: what each does with its line
    and its folder once it was asked. pid: what it says that its process is."""
    place = tmp_path / "compiler"
    monkeypatch.setattr(compiler, "place", lambda: str(place))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()

        def serve(*parts: Callable[[Line, Path], object], pid: int) -> None:
            for part in parts:
                try:
                    end = listening.accept()[0]
                except OSError:  # the test has ended
                    return
                with contextlib.closing(Line(end)) as line, contextlib.suppress(PeerGone):
                    room = Path(line.receive().body["room"])
                    line.send({"process": pid})
                    line.receive()
                    part(line, room)

        def start(*parts: Callable[[Line, Path], object], pid: int = os.getppid()) -> None:
            monkeypatch.setattr(compiler, "family", lambda pid: [])  # it is nobody's to be killed
            threading.Thread(target=serve, args=parts, kwargs={"pid": pid}, daemon=True).start()

        yield start


def _dies(line: Line, room: Path) -> None:
    """Ends without a word."""


def _answers(body: dict) -> Callable[[Line, Path], None]:
    return lambda line, room: line.send(body)


def test_a_process_that_dies_is_tried_again(door: Callable[..., None]) -> None:
    """Kills: a gate that lets a kernel by because the compiler ended; a failure of the compiler's
    scored as the kernel's."""
    door(_dies, _answers({"kernels": []}))
    assert Compiler().ask({}) == {"kernels": []}
    door(_dies, _dies)
    with pytest.raises(Busy, match="twice"):
        Compiler().ask({})
    door(_answers({"crash": "no nvidia"}))
    assert "no nvidia" in Compiler().ask({})["unanswered"]
    door(lambda line, room: (room / "said").write_text("terminate: std::bad_alloc"))
    assert Compiler(wait=60.0).ask({}) == {"too_large": True}


def test_the_same_kernel_is_compiled_once_a_class(door: Callable[..., None]) -> None:
    """Kills: work for each student who hands in the same; an answer that a kernel which the process
    met before had a hand in; a refusal that is handed on."""
    good, bad = {"kernels": []}, {"kernels": [], "error": {"code": "does-not-compile"}}
    forged = {"kernels": ["of one that met another"]}
    kept: dict[bytes, str] = {}

    def two(line: Line, room: Path) -> None:
        line.send(good)
        line.receive()
        line.send(forged)

    door(two, _answers(bad), _answers(good))
    first = Compiler(kept=kept)
    assert first.ask({"source": "a"}) == good
    assert first.ask({"source": "b"}) == forged
    assert Compiler(kept=kept).ask({"source": "a"}) == good  # nobody at the door answers so
    assert Compiler(kept=kept).ask({"source": "b"}) == bad
    assert Compiler(kept=kept).ask({"source": "b"}) == good
    assert len(kept) == 2


def test_a_kernel_gets_so_much_time(door: Callable[..., None], monkeypatch: Any) -> None:
    """Kills: 8 minutes of the compiler's for one kernel; a compiler, or a ptxas that it has
    started, which goes on when its time is up."""
    whole = compiler.family
    spin = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    with subprocess.Popen([sys.executable, "-c", spin]) as process:
        until(lambda: len(whole(process.pid)) == 2)
        started = whole(process.pid)[0].pid
        door(lambda line, room: process.wait(), pid=process.pid)
        monkeypatch.setattr(compiler, "family", whole)
        assert Compiler(seconds=0.3, wait=60.0).ask({}) == {"too_long": 0.3}
        assert process.wait(60) == -signal.SIGKILL
    until(lambda: not psutil.pid_exists(started) or _ended(started), 20)


def test_who_waits_is_let_go(door: Callable[..., None]) -> None:
    """Kills: a wait for ever, and threads that wait for what nobody wants any more; a kernel that
    passes where the compiler is gone."""
    began, never = time.monotonic(), threading.Event()
    door(lambda line, room: never.wait(60), lambda line, room: never.wait(60))
    with pytest.raises(Busy, match="no answer"):
        Compiler(wait=0.5).ask({})
    with pytest.raises(Busy):
        Compiler().ask({}, lambda: False)
    os.unlink(compiler.place())
    with pytest.raises(Busy, match="does not run"):
        Compiler(wait=0.5).ask({})
    assert time.monotonic() - began < 60
    never.set()


def test_the_time_of_children_counts() -> None:
    """Kills: a bomb that goes off in ptxas."""
    spin = "import os, time\nwhile time.process_time() < 0.7: pass\nos.read(0, 1)"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}]); "
    text += "print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", text], **pipes) as process:
        until(lambda: cpu_seconds(process.pid) >= 0.5, 60)
        assert len(family(process.pid)) == 2  # it goes on
        process.stdin.write(b"x")
        process.stdin.flush()
        assert process.stdout.readline() and len(family(process.pid)) == 1
        assert cpu_seconds(process.pid) >= 0.5  # of one that has ended, too
        process.kill()
    assert cpu_seconds(process.pid) == 0.0
