"""The limit of a call that whoever grades can lower from outside."""

import time

import numpy as np
import pytest

from tritonbook import stop_after
from tritonbook.checking import case, tensor, trial
from tritonbook.limits import time_limit

from . import answers
from .answers import run


def spins(n):
    while True:
        n += 1


def test_the_environment_lowers_the_limit_of_a_call(monkeypatch):
    """Kills: a limit that is read and not used, so that each endless loop costs 20 s."""
    monkeypatch.setenv("TRITONBOOK_CALL_SECONDS", "0.3")
    began = time.monotonic()
    found = run(spins, lambda n: n, [case("one", n=1)], triton=False)
    assert found.finding.code == "timeout" and time.monotonic() - began < 60


def test_who_spins_is_stopped_within_five_seconds_and_told_where(monkeypatch):
    """Kills: twenty seconds of waiting for a loop without an end, and a card without its line."""
    assert trial.WORK <= 5
    monkeypatch.setattr(trial, "WORK", 1.0)
    began = time.process_time()  # of a machine that has other work
    found = run(answers.never_ends, lambda x: 2 * x, [case("one", x=tensor(8))])
    assert found.finding.code == "timeout" and "at `" in found.finding.sentence
    assert time.process_time() - began < 4


def test_who_waits_is_not_taken_for_spinning():
    """Kills: a limit of wall-clock time, by which a busy machine refuses right answers."""
    with time_limit(30, work=0.2):
        time.sleep(0.4)


def test_a_block_is_stopped_and_told_where(capsys):
    """Kills: an error in a notebook's cell that shows what a hang looks like."""
    with stop_after(0.3):
        spins(0)
    said = capsys.readouterr().out
    assert said.startswith("Stopped after 0.3 s. It was at `") and "n" in said
    with stop_after(5):
        print("done")
    assert capsys.readouterr().out == "done\n"


class EndlessShape:
    def __len__(self):
        return 2

    def __getitem__(self, place):
        return spins(place)


def test_numpy_does_not_hide_that_time_was_over(capsys):
    """Kills: a page of traceback, of an error in a shape, where a loop has no end."""
    with stop_after(0.2):
        np.zeros(EndlessShape())
    said = capsys.readouterr().out
    assert said.startswith("Stopped after 0.2 s. It was at `np.zeros(EndlessShape())`."), said
    with pytest.raises(ZeroDivisionError), stop_after(5):
        raise ZeroDivisionError
