"""`on_ranks`: the learner's verb, and processes that end together."""

import os
import time

import pytest
import torch

from tests.simulating import rank_kernels as kernels
from tritonbook import on_ranks
from tritonbook.port.device import INTERPRET
from tritonbook.ranks.processes import Processes, RankFailed, Simulated
from tritonbook.simulating import Fault

simulated = pytest.mark.skipif(not INTERPRET, reason="ranks have GPUs here")


@simulated
def test_each_rank_gets_its_row_and_all_get_the_sum():
    x = torch.arange(48.0).view(2, 24)
    found = on_ranks(kernels.all_reduce, 2)(x)
    assert len(found) == 2 and all(torch.equal(got, x.sum(0)) for got in found)


@simulated
def test_a_row_for_each_rank():
    with pytest.raises(ValueError, match="3 rows for 2 ranks"):
        on_ranks(kernels.all_reduce, 2)(torch.zeros(3, 8))


def test_ranks_are_simulated_in_a_process_beside():
    """As on a machine with one GPU. Kills: a fault that is lost on its way, kernels' text too."""
    x = torch.arange(48.0).view(2, 24)
    ranks = Simulated(2)
    try:
        for _ in range(2):
            assert all(torch.equal(got, x.sum(0)) for got in ranks.call(kernels.all_reduce, [x]))
        with pytest.raises(Fault, match="alike on all ranks") as caught:
            ranks.call(kernels.all_reduce, [x[:, :20].contiguous()])
        assert caught.value.kind == "size"
    finally:
        ranks.close()


@pytest.fixture
def acting(monkeypatch):
    """Processes of ranks that do this. They have no torch, which each would import."""
    monkeypatch.setenv("TRITONBOOK_LATER", "1")

    def start(*does, seconds=30.0):
        ranks = Processes(len(does), "tests.ranks.acting:answer", seconds)
        return ranks, ranks.ask, {"does": does}

    return start


def test_all_ranks_answer(acting):
    ranks, ask, request = acting("answers", "answers")
    assert ask(request) == [{"number": 0}, {"number": 1}]
    ranks.close()


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (("waits", "dies"), "rank 1: its process ended with exit code 3"),
        (("raises", "waits"), "rank 0: ValueError: no such tile. The other ranks were stopped"),
    ],
)
def test_when_one_rank_fails_all_end(acting, does, said):
    """Kills: a notebook that hangs, and processes on the GPUs that nobody can end."""
    ranks, ask, request = acting(*does)
    folder, began = ranks._start(), time.monotonic()
    for child in ranks._children:
        child.wait()
    children = [child.pid for child in ranks._children]
    with pytest.raises(RankFailed, match=said):
        ask(request)
    assert time.monotonic() - began < 60
    assert not any(os.path.exists(f"/proc/{pid}") for pid in children)
    assert not folder.exists() and not ranks._children


def test_a_rank_that_never_answers_is_stopped(acting):
    ranks, ask, request = acting("answers", "waits", seconds=1.0)
    with pytest.raises(RankFailed, match="rank 1 gave no answer in 1 s. Does it wait for a flag"):
        ask(request)
    assert not ranks._children
    assert ranks.ask({"does": ["answers", "answers"]})[1] == {"number": 1}
    ranks.close()
