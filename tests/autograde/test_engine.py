"""The process that runs kernels: nothing in it is worth having, nothing from it is believed."""

from __future__ import annotations

import ast
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from corpus import RIGHT, WRONG, answer
from grading import Grader, needs_walls
from test_breakouts import OPENED, POKE

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.judge import execute
from autograde.judge.execute import Executor, Setting, _stop
from autograde.judge.launcher import EngineLauncher, LocalLauncher, _declared
from autograde.walls import engine, fence, sandbox, visible
from autograde.walls.accesses import ROW, packed, unpacked
from autograde.walls.kernels import KernelId, KernelLibrary
from autograde.walls.tape import TapeError
from autograde.walls.wire import Line, PeerGone, ProcessEnded
from tritonbook.checking.launches import watching
from tritonbook.language.allowed import Refused
from tritonbook.limits import CheckTimeout, time_limit
from tritonbook.port.device import INTERPRET
from tritonbook.port.order import interrupted
from tritonbook.seeing.barriers import without_barrier
from tritonbook.seeing.findings import find
from tritonbook.seeing.meter import Meter, meter
from tritonbook.seeing.record import Access

pytestmark = pytest.mark.skipif(not INTERPRET, reason="on a GPU the checker runs kernels itself")
TOLD = [
    {"triton": {"path": "triton"}, "tl": {"path": "triton.language"}},
    {"BLOCK_SIZE": ["constexpr", None]},
]
DOUBLE = KernelId("cell", 6, json.dumps(TOLD))
FAR = RIGHT.replace("x_ptr + offs,", "x_ptr + offs + (1 << 40),")


def _unfenced(name: str, *arguments: Any) -> None:
    """A candidate, or an engine whose kernels may write anywhere."""
    fence.allow = lambda tensors: fence._ranges.__setitem__(slice(None), [(0, 1 << 62)])
    execute._go_inside(name, *arguments)


@needs_walls
def test_an_open_fence_reaches_no_verdict(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: kernels played where verdicts are held. Every address is open to this kernel, and it
    overwrites the getter of the verdict, which lies there in every process of the grader's."""
    monkeypatch.setattr(execute, "_go_inside", _unfenced)
    if grader.level != "namespaces":
        pytest.skip("the other levels start the engine by its name")
    poked = answer(POKE, kernel=f"{WRONG}\n{OPENED}")
    verdict = grader.grade("double", double=poked)
    assert (verdict.status, verdict.points) == ("FAIL", 0), verdict
    assert grader.grade("double").status == "PASS"


def _launcher(serve: Callable[[Line], None], seconds: float = 60.0) -> EngineLauncher:
    ours, theirs = socket.socketpair()
    threading.Thread(target=serve, args=(Line(theirs),), daemon=True).start()
    return EngineLauncher(KernelLibrary([("cell", RIGHT)]), Line(ours), seconds)


@pytest.fixture
def started() -> Iterator[Callable[[str], EngineLauncher]]:
    """Launchers of a text's kernels, each with an engine that is ready."""
    executor = Executor(Setting())
    processes = []

    def start(text: str) -> EngineLauncher:
        ours, theirs = socket.socketpair()
        processes.append(executor._fork(engine.main, (theirs, Path())))
        theirs.close()
        line = Line(ours)
        line.wait_until_ready("the engine")
        return EngineLauncher(KernelLibrary([("cell", text)]), line, 60.0)

    yield start
    for process in processes:
        _stop(process)


def _run(launcher: EngineLauncher, x: torch.Tensor, out: torch.Tensor) -> Meter:
    with launcher.serving(), meter() as seen:
        launcher.launch(DOUBLE, (2,), [x, out, x.numel()], {"BLOCK_SIZE": 64})
    return seen


def test_memory_comes_back_at_its_place(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: a result in another view, and storages that two tensors share sent twice."""
    memory = torch.arange(300.0)
    x, out = memory[200:].clone(), memory[50:150]
    launcher = started(RIGHT)
    _run(launcher, x, out)
    assert torch.equal(out, 2 * x)
    assert torch.equal(memory[150:], torch.arange(150.0, 300.0))
    _run(launcher, out, out)
    assert torch.equal(out, 4 * x)
    assert launcher.carried_out == 2


def test_what_a_meter_sees_there_is_known_here(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: addresses of the other process taken for this one's."""
    x, out = torch.arange(100.0), torch.zeros(100)
    launcher = started(RIGHT.replace("offs < n", "offs < n + 3"))
    seen = _run(launcher, x, out)
    found = find(seen)
    assert [code for code, _ in found] == ["out-of-bounds-store", "reads-outside"]
    assert "`out` (up to 3 elements past its end)" in found[0][1], found
    assert "tl.store(out_ptr + offs, x + x, mask=mask)" in found[0][1]
    assert seen.left_all_memory
    seen = _run(started(FAR), x, out)
    assert "every tensor of this call" in find(seen)[0][1]


def test_what_lanes_wait_for_there_is_known_here(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: a store read back by other lanes, or stored over, or a barrier, that the checker never
    hears of."""
    back = "    tl.store(out_ptr + offs, x, mask=mask)\n    BARRIER\n"
    back += "    x = tl.load(out_ptr + n - 1 - offs, mask=mask)\n    tl.store("
    for barrier, codes in (("pass", ["no-barrier"]), ("tl.debug_barrier()", [])):
        text = RIGHT.replace("    tl.store(", back.replace("BARRIER", barrier))
        seen = _run(started(text), torch.arange(100.0), torch.zeros(100))
        assert [code for code, _ in without_barrier(seen)] == codes
    twice = RIGHT.replace("tl.store(out_ptr + offs", "tl.store(out_ptr + offs // 2")
    ((code, sentence),) = without_barrier(
        _run(started(twice), torch.arange(100.0), torch.zeros(99))
    )
    assert code == "race" and "Lanes of program 0 of `double_kernel`" in sentence


def test_a_program_is_interrupted_there(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: a load and an exchange as an addition, refused in the notebook and paid by the
    grader."""
    counting = "    tl.atomic_xchg(out_ptr, tl.load(out_ptr) + 1)\n    return\n    tl.store("
    launcher = started(RIGHT.replace("    tl.store(", counting))
    for made, counts in ((1, 7), (2, 6)):
        out = torch.full((100,), 5.0)
        with launcher.serving(), interrupted(0, ((0, 0, 0), made)):
            launcher.launch(DOUBLE, (2,), [torch.zeros(100), out, 100], {"BLOCK_SIZE": 64})
        assert out[0] == counts


def test_more_than_is_sent_is_not_sent() -> None:
    """Kills: an engine that ends over what an honest kernel's meter saw, as if it had crashed."""
    lanes = Access(0, (0, 0, 0), "load", 4, np.zeros(9, dtype=np.int64), None, 1, (9,))
    most = 2 * (8 * ROW + 9 * 9)
    assert [part.nbytes for part in packed([lanes, lanes], most)] == [2 * 8 * ROW, 2 * 72, 0]
    assert packed([lanes, lanes], most - 1) is None


def test_an_error_keeps_its_line(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: an error without the place in the student's kernel."""
    launcher = started(RIGHT.replace("mask = offs", "tl.arange(0, 7)\n    mask = offs"))
    with pytest.raises(Exception, match="power of 2") as raised:
        _run(launcher, torch.zeros(9), torch.zeros(9))
    trace = raised.value.__cause__.__traceback__
    assert trace.tb_frame.f_code.co_name == "double_kernel"
    assert "line 6" in trace.tb_frame.f_code.co_filename


@pytest.mark.parametrize(
    ("reply", "buffers", "status"),
    [
        ({"raised": None}, [b"\0" * 400], "POLICY"),  # one block of two
        ({"raised": None}, [b"\0" * 400, b"\0" * 404], "POLICY"),
        ({"raised": 3}, [b"\0" * 400] * 2, "POLICY"),
        ({"raised": [{"types": ["Exception"]}]}, [b"\0" * 400] * 2, "POLICY"),
        ({"raised": [{"types": ["SystemExit"], "text": ""}]}, [b"\0" * 400] * 2, None),
        ({"raised": None, "seen": [0, False, None, [], None]}, [b"\0" * 400] * 2, "POLICY"),
        (
            {"raised": None, "seen": [0, False, None, [], [[0], 1, 1]], "bases": [0, 0]},
            [b"\0" * 400] * 2 + [b""] * 3,
            "POLICY",
        ),
        ({"raised": None, "seen": 1, "bases": [0, 0]}, [b"\0" * 400] * 2 + [b""] * 3, "POLICY"),
        ({"raised": None, "seen": None}, [b"\0" * 400] * 2, "INFRA"),  # too much to be sent
        (None, [], "CRASH"),
    ],
)
def test_what_it_never_sends(reply: dict | None, buffers: list[bytes], status: str | None) -> None:
    """Kills: a forged reply that ends the checker, or that is taken for a result."""

    def forge(line: Line) -> None:
        line.receive()
        if reply is not None:
            with contextlib.suppress(PeerGone):  # refused before all of it was sent
                line.send(reply, buffers)
        line.close()

    launcher = _launcher(forge)
    x, out = torch.ones(100), torch.full((100,), 7.0)
    with pytest.raises(ProcessEnded if status else RuntimeError):
        _run(launcher, x, out)
    if status is None:
        assert launcher.trouble is None
        return
    assert launcher.trouble.status == status
    assert torch.equal(out, torch.full((100,), 7.0))
    with pytest.raises(ProcessEnded):  # nobody listens any more
        _run(launcher, x, out)


def test_a_launch_that_does_not_end() -> None:
    """Kills: a checker that waits for ever, or takes the late answer for the next launch's."""
    silent: list[Line] = []
    launcher = _launcher(silent.append, seconds=0.2)
    with pytest.raises(CheckTimeout, match="Does a loop ever end"):
        _run(launcher, torch.ones(4), torch.ones(4))
    assert launcher.trouble.status == "TIMEOUT"
    launcher = _launcher(silent.append, seconds=9.0)
    with pytest.raises(CheckTimeout), time_limit(0.2):  # the page's own
        _run(launcher, torch.ones(4), torch.ones(4))
    assert launcher.trouble.sentence.startswith("Stopped after 0.2 s.")


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, -1), (3, 7), (4, 0), (5, -1), (6, -1), (7, 2), (8, 9), (9, -4), (9, 1 << 50)],
)
def test_an_access_that_no_meter_writes(place: int, value: int) -> None:
    """Kills: sizes, kinds or lines that are used before they are looked at."""
    row = np.zeros(ROW, dtype=np.int64)
    row[[4, 8, 9]] = 4, 1, 2
    reply = {"bases": [64]}
    block = np.zeros(64, dtype=np.uint8)
    addresses = np.array([64, 1 << 60])

    def seen() -> tuple:
        return unpacked(reply, [row.tobytes(), addresses.tobytes(), b""], [block])

    (access,), (outside,) = seen()
    assert access.addresses[0] == block.ctypes.data
    assert outside.tolist() == [False, True]
    row[place] = value
    with pytest.raises(TapeError):
        seen()


def test_nothing_of_a_kernel_is_evaluated_in_the_checker() -> None:
    """Kills: defaults, annotations, decorators and constants that run where verdicts are held."""
    text = "import os\nX = open('/')\n\n\n@missing\ndef kernel(a, b: missing = missing()):"
    helper = _declared(ast.parse("@missing\ndef helper(a):\n    pass\n"), "helper", "<there>", {})
    given = {"helper": helper}
    function = _declared(ast.parse(f"{text}\n    helper(a)\n"), "kernel", "<here>", given)
    assert function.__code__.co_filename == "<here>"
    assert set(function.__globals__) - {"__builtins__"} == {"kernel", "helper"}
    assert function.__globals__["helper"].fn is helper
    with pytest.raises(Refused):
        EngineLauncher(KernelLibrary([("cell", WRONG.replace("= offs", "= open"))]), None, 1).vet(
            DOUBLE
        )


HELPED = """import triton
import triton.language as tl


@triton.jit
def twice(v):
    return v + tl.abs(v)


@triton.jit
def kernel(x_ptr, DO: tl.constexpr):
    tl.store(x_ptr, DO(tl.load(x_ptr)))
"""


def test_a_kernel_among_the_arguments(started: Callable[[str], EngineLauncher]) -> None:
    """Kills: a helper that does not come along, here or in the other process; launches that the
    check muted, counted as carried out."""
    tl = {"tl": {"path": "triton.language"}}
    helper = KernelId("cell", 5, json.dumps([tl, {}]))
    id = KernelId("cell", 10, json.dumps([tl, {"DO": ["constexpr", None]}]))
    for launcher in (LocalLauncher(KernelLibrary([("cell", HELPED)])), started(HELPED)):
        x = torch.tensor([3.0])
        launcher.vet(id)
        with launcher.serving():
            launcher.launch(id, (1,), [x, helper], {})
            assert (x.item(), launcher.carried_out) == (6.0, 1)
            launcher.launch(id, (1,), [x], {"DO": helper})
            with watching(mode="mute") as watch:
                launcher.launch(id, (1,), [x, helper], {})
        assert (x.item(), launcher.carried_out) == (12.0, 2)
        assert [launch.name for launch in watch.launches] == ["kernel"]


# Without what finds the package where it was installed from.
ALONE = """
import runpy, sys
sys.meta_path = [f for f in sys.meta_path if "editable" not in f"{f} {type(f)}".lower()]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", ["engine", "candidate"])
def test_it_starts_with_the_files_that_it_is_shown(module: str, tmp_path: Path) -> None:
    """Kills: an import of what bubblewrap and apptainer do not show."""
    (tmp_path / "autograde").mkdir()
    for path in visible.SHOWN:
        (tmp_path / path.relative_to(visible.ROOT)).symlink_to(path)
    ours, theirs = socket.socketpair()
    limits = json.dumps(asdict(sandbox.Limits()))
    process = subprocess.Popen(
        [sys.executable, "-c", ALONE, "autograde.walls.inside", module, limits],
        stdin=theirs.fileno(),
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=visible.environment() | {"PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)},
    )
    theirs.close()
    try:
        Line(ours).wait_until_ready(module)
    finally:
        process.kill()
        print(process.communicate()[1].decode())
