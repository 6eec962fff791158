"""Exercises share a GPU; whoever takes times has it alone, and pays nothing for the wait."""

import multiprocessing
import os
import signal
from dataclasses import asdict
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from grading import PASSED, awaited, until

from autograde.judge import checker, execute
from autograde.judge.turns import Turns
from tritonbook.timing import clock

SOON = 0.3  # seconds in which a free lock is taken
CONTEXT = multiprocessing.get_context("fork")


class Other:
    """A process that comes to the GPU, does its part, and leaves when told."""

    def __init__(self, folder, *steps):
        self.inside, self.go = CONTEXT.Event(), CONTEXT.Event()
        self.process = CONTEXT.Process(target=self._work, args=(folder, steps), daemon=True)
        self.process.start()

    def _work(self, folder, steps):
        turns = Turns("gpu", folder)
        for step in steps:
            step() if callable(step) else getattr(turns, step)()
        self.inside.set()
        self.go.wait(600)

    def is_in(self, seconds=120.0):
        return self.inside.wait(seconds)

    def leave(self):
        self.go.set()
        self.process.join(120)


@pytest.fixture
def other(tmp_path):
    came = []

    def come(*steps):
        came.append(Other(tmp_path, *steps))
        return came[-1]

    yield come
    for one in came:
        one.process.kill()
        one.process.join()


def test_newcomers_cannot_keep_a_timed_one_waiting(other):
    # Kills: one lock alone, on which a stream of exercises starves whoever wants to be alone.
    first = other("share")
    assert first.is_in()
    timed = other("share", "alone")
    assert not timed.is_in(SOON)
    late = other("share")
    assert not late.is_in(SOON)
    first.leave()
    assert timed.is_in() and not late.is_in(SOON)
    timed.leave()
    assert late.is_in()


def test_exercises_share_and_timed_ones_wait_for_them_and_not_for_each_other(other):
    # Kills: figures taken while a neighbour computes; exercises that run one after another; keeping
    # one's shared place while one waits for the other's.
    first, second = other("share"), other("share")
    assert first.is_in() and second.is_in()
    all_share = CONTEXT.Barrier(2).wait
    one, two = (other("share", all_share, "alone") for _ in range(2))
    first.leave()
    assert not one.is_in(SOON) and not two.is_in(SOON)
    second.leave()
    until(lambda: one.inside.is_set() or two.inside.is_set())
    assert one.inside.is_set() != two.inside.is_set()
    (one if one.inside.is_set() else two).leave()
    assert one.is_in() and two.is_in()


def test_a_killed_process_frees_the_gpu(other):
    # Kills: a lock file that outlives its owner.
    timed = other("share", "alone")
    assert timed.is_in()
    os.kill(timed.process.pid, signal.SIGKILL)
    assert other("share").is_in()


def test_once_alone_no_more_waiting(tmp_path, monkeypatch):
    # Kills: a wait before each figure, and figures taken without one.
    said = []
    turns = Turns("gpu", tmp_path)
    monkeypatch.setattr(clock, "_gates", [])
    checker.take_turns(turns, SimpleNamespace(send=lambda body: said.append(body["gpu"])))
    assert said == ["waits", "works"] and not turns.is_alone
    clock.before_timing()
    clock.before_timing()
    assert said == ["waits", "works"] * 2 and turns.is_alone


def test_the_clock_of_a_gpu_asks_first(monkeypatch):
    # Kills: a clock that times without asking.
    monkeypatch.setattr(clock, "_gates", [])
    clock.wait_before_timing(Mock(side_effect=InterruptedError))
    for figure in (
        lambda: clock.CudaClock().time(print, 1, 1),
        lambda: clock.CudaClock().device_time(print),
    ):
        with pytest.raises(InterruptedError):
            figure()


def test_waiting_costs_an_exercise_none_of_its_time():
    # Kills: a right answer that times out because others were on the GPU.
    waits, works = {"gpu": "waits"}, {"gpu": "works"}
    assert awaited((0.1, waits), (0.8, works), (0.2, asdict(PASSED))) == PASSED
    assert awaited((0.1, waits), (0.8, works), (0.6, {})).status == "TIMEOUT"


def test_a_gpu_that_is_never_free_is_nobodys_fault(monkeypatch):
    # Kills: a score of 0 for a wait that did not end.
    monkeypatch.setattr(execute, "GPU_WAIT_SECONDS", 0.1)
    found = awaited((0.0, {"gpu": "waits"}), (5.0, {"gpu": "works"}))
    assert found.status == "INFRA" and "not free" in found.sentence


def test_a_folder_that_others_may_write_is_refused(tmp_path, monkeypatch):
    # Kills: locks in a folder where any user could hold them for ever.
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    Turns("gpu")
    (tmp_path / f"autograde-{os.getuid()}").chmod(0o777)
    with pytest.raises(PermissionError, match="must belong to you alone"):
        Turns("gpu")
