"""The sweep: what it draws, what it counts as a result, and what it says of it."""

import pytest
import torch

from benchmarks import sweep
from benchmarks.op import Op, Problem, all_ops
from tests.benchmarks.test_runner import PEAKS, double
from tritonbook.timing.clock import Span


class OneAfterTheOther:
    """The first function takes one unit of ms, the second two, and so on; on the GPU all 1 us."""

    label, on_gpu = "scripted", False

    def __init__(self, unit=1):
        self.calls, self.unit = 0, unit

    def time(self, fn, warmup, rep):
        fn()
        self.calls += 1
        return Span(*[self.calls * self.unit] * 3)

    def device_time(self, fn):
        return 0.001


def row(ms, called=(), label="4x4", problem=""):
    return sweep.Row(label, 0.5, ms, dict(called), problem)


@pytest.mark.parametrize("name", sweep.SWEEPS)
def test_a_seed_tells_the_shapes(name):
    labels = [problem.label for problem in sweep.drawn(name, 7, 40)]
    assert labels == [problem.label for problem in sweep.drawn(name, 7, 40)]
    assert labels != [problem.label for problem in sweep.drawn(name, 8, 40)]
    assert len(set(labels)) > 35


# What they are given is not all for us to read: keys before a window, copies in a peer's order.
READ_IN_PART = {"window_decode", "matmul_mxfp4", "delta_rule", "delta_step"}


@pytest.mark.parametrize("name", sweep.SWEEPS)
def test_what_is_drawn_fits_the_operation(name):
    op, smallest = all_ops()[name], min(sweep.drawn(name, 3, 60), key=lambda each: each.bytes)
    args = smallest.make("cpu")
    moved = sum(arg.nbytes for arg in args if isinstance(arg, torch.Tensor))
    assert moved < smallest.bytes or name in READ_IN_PART  # the result is written too
    assert sweep.exact_result(op, args)


def test_wrong_results_have_no_time():
    def broken(x):
        raise ValueError("too wide")

    problem = Problem("8", lambda device: (torch.randn(8, device=device),), bytes=64)
    op = Op("double", "01_vector_add", [problem], exact=lambda x: 2 * x, providers={})
    fns = {"ours": double, "eager": lambda x: x + x, "tripled": lambda x: 3 * x, "broken": broken}
    found = sweep.measure(problem, fns, op, PEAKS, OneAfterTheOther())
    assert found.ms == {"ours": 1, "eager": 2} and sweep.ratio(found.ms) == 2 and not found.problem
    fns["ours"] = fns["tripled"]
    found = sweep.measure(problem, fns, op, PEAKS, OneAfterTheOther())
    assert "ours" not in found.ms and sweep.ratio(found.ms) is None
    assert "off by" in found.problem


def test_a_slow_host_makes_no_call_long(monkeypatch):
    """Kills: one function timed with its host's part, the other without."""
    monkeypatch.setattr(sweep, "_called_ms", lambda call: 1.0)  # it needs a GPU
    problem = Problem("8", lambda device: (torch.randn(8, device=device),), bytes=64)
    op = Op("double", "01_vector_add", [problem], exact=lambda x: 2 * x, providers={})
    fns = {"eager": lambda x: x + x, "ours": double}
    found = sweep.measure(problem, fns, op, PEAKS, OneAfterTheOther(0.2))  # 0.2 and 0.4 ms
    assert found.ms == {"eager": 0.001, "ours": 0.001}
    found = sweep.measure(problem, fns, op, PEAKS, OneAfterTheOther(0.3))
    assert found.ms == {"eager": 0.3, "ours": 0.6}


def test_shares_make_up_the_whole(monkeypatch):
    """Kills: a problem that no process compiles, and one that all do; a peer that ends the rest."""
    seen = []

    def note(x):
        seen.append(len(x))

    def broken(x):
        raise ValueError("too wide")

    problems = [Problem(f"{n}", lambda device, n=n: (torch.ones(n),), 8) for n in (1, 2, 3, 4, 5)]
    monkeypatch.setattr(sweep, "drawn", lambda *drawing: problems)
    monkeypatch.setattr(sweep, "ours", lambda name: note)
    monkeypatch.setattr(sweep, "peers", lambda op, compiled: {"broken": broken, "eager": note})
    for first in (0, 1):
        sweep.compile_share("softmax", 7, 5, False, first, 2)
    assert seen == [1, 1, 3, 3, 5, 5, 2, 2, 4, 4]


def test_the_summary():
    rows = [
        row({"ours": 1.0, "torch": 2.0, "liger": 4.0}),
        row({"ours": 2.0, "torch": 1.0}, {"ours": 4.0, "torch": 1.0}, label="worst"),
        row({"torch": 1.0}, label="wrong", problem="is off by 1"),
    ]
    said = sweep.summary("softmax", rows)
    assert "2 of 3 shapes timed, geometric mean 1.00 of the best peer, ahead in 1" in said
    assert "least 0.50" in said and "1 short ones as called: 0.25" in said
    assert said.index("worst") < said.index("4x4") < said.index("NOT TIMED wrong: is off by 1")


def test_what_a_file_keeps():
    """Kills: a file of empty fields and 17 digits, times that are lost."""
    kept = sweep._stored(row({"ours": 0.123456, "torch": 2.0}, {"ours": 0.00012345678}))
    assert kept == {
        "label": "4x4",
        "floor_ms": 0.5,
        "ms": {"ours": 0.1235, "torch": 2.0},
        "called_ms": {"ours": 0.0001235},
    }
    assert "called_ms" not in sweep._stored(row({"ours": 1.0}))
