"""The runner on a scripted clock: who is timed, who is refused, what the table and file say."""

from dataclasses import replace
from unittest import mock

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import results
from benchmarks.op import Missing, Op, Problem, Provider, all_ops, optional, peer
from benchmarks.runner import (
    HEAVY_ROUNDS,
    ROUNDS,
    best,
    elsewhere,
    peak_bytes,
    ratio,
    run_op,
)
from tests.benchmarks.test_run_verify import double, twice
from tritonbook import DEVICE
from tritonbook.child import Ended
from tritonbook.timing import Ceilings
from tritonbook.timing.clock import Span

PEAKS = Ceilings("Paper GPU", 1000.0, 100.0, "2026-01-01")


class ScriptedClock:
    label, on_gpu = "scripted", True

    def __init__(self, *ms):
        """Times of double and eager; the same again in each turn, unless more turns are given.

        A pair is a call's time and the device's share of it, for calls of less than 50 us.
        """
        self.ms, self.calls, self.device = list(ms), 0, None

    def time(self, fn, warmup, rep):
        turn, place = divmod(self.calls, 2)
        ms = self.ms[(2 * turn + (place if turn % 2 == 0 else 1 - place)) % len(self.ms)]
        self.calls += 1
        ms, self.device = ms if isinstance(ms, tuple) else (ms, None)
        return Span(ms, ms, ms)

    def device_time(self, fn):
        return self.device


class Listening(ScriptedClock):
    """It calls what it times; `heard` holds the name of each function that did, and its warm-up."""

    def __init__(self, *ms):
        super().__init__(*ms)
        self.said, self.heard = [], []

    def providers(self):
        """Two right ones that say their names."""
        said = self.said
        return {
            "double": Provider(lambda: lambda x: said.append("double") or double(x), ours=True),
            "eager": peer(lambda x: said.append("eager") or twice(x)),
        }

    def time(self, fn, warmup, rep):
        fn()
        self.heard.append((self.said[-1], warmup))
        return super().time(fn, warmup, rep) if rep > 1 else None


def wrong(x):
    return 3 * x


def absent():
    raise Missing("not here")


def make_op(device_targets=None, **targets):
    return Op(
        name="double",
        notebook="00_none",
        problems=[
            Problem(
                "200 fp32",
                lambda device: (torch.randn(200, device=device),),
                bytes=1e9,
                targets=targets,
                device_targets=device_targets or {},
                without={"skipped": "takes no 200"},
            )
        ],
        exact=twice,
        providers={
            "double": Provider(lambda: double, ours=True),
            "eager": peer(twice),
            "absent": Provider(absent),
            "skipped": peer(twice),
        },
    )


def run_with(timer, op):
    return run_op(op, peaks=PEAKS, timer=timer)


def run(*ms, **targets):
    return run_with(ScriptedClock(*ms), make_op(**targets))


def run_with_a_wrong_one(*ms, **targets):
    op = make_op(**targets)
    return run_with(
        ScriptedClock(*ms), replace(op, providers=op.providers | {"wrong": peer(wrong)})
    )


def test_only_right_providers_are_timed():
    # Kills: timing first and checking later; dropping a refused provider from the record.
    rows = {row["name"]: row for row in run_with_a_wrong_one(2.0, 3.0)["problems"][0]["rows"]}
    assert rows["double"]["ms"] == 2.0 and rows["double"]["percent"] == 50.0
    assert rows["eager"]["ms"] == 3.0
    assert rows["wrong"]["state"] == "refused" and "ms" not in rows["wrong"]
    peaks = {name for name, row in rows.items() if "peak_bytes" in row}
    assert peaks == ({"double", "eager"} if DEVICE == "cuda" else set())
    assert rows["absent"]["state"] == "not run" and rows["absent"]["reason"] == "not here"
    assert rows["skipped"]["reason"] == "takes no 200"


def test_peak_memory_is_that_of_the_call_alone():
    """Kills: arguments or an earlier peak counted; a figure read before the GPU has ended."""
    seen = mock.Mock()
    seen.memory_allocated.return_value, seen.max_memory_allocated.return_value = 1000, 1050
    assert peak_bytes(seen.call, seen) == 50
    order = ["memory_allocated", "reset_peak_memory_stats", "call", "synchronize"]
    assert [name for name, *_ in seen.mock_calls] == ["synchronize", *order, "max_memory_allocated"]


@pytest.mark.parametrize(
    ("flops", "rounds", "warmup"), [(0, ROUNDS, 25), (1e12, HEAVY_ROUNDS, 1000)]
)
def test_every_second_turn_goes_the_other_way(flops, rounds, warmup):
    """Kills: a GPU that grows slower within each turn, to the cost of whoever always comes last.
    Where arithmetic is the limit: the clocks that another's work has left; one who comes first
    after a pause, where the others come after work; elsewhere: minutes of warming up."""
    clock, op = Listening(2.0, 3.0), make_op()
    problems = [replace(op.problems[0], flops=flops)]
    entry = run_with(clock, replace(op, problems=problems, providers=clock.providers()))
    forth = [("double", warmup), ("eager", warmup)]
    back = forth[::-1]
    if flops:
        forth, back = [("eager", warmup), *forth], [("double", warmup), *back]
    assert clock.heard == (forth + back) * (rounds // 2)
    rows = entry["problems"][0]["rows"]
    assert [(row["ms"], len(row["turns_ms"])) for row in rows] == [(2.0, rounds), (3.0, rounds)]


def test_what_works_in_place_starts_each_turn_from_the_same_values():
    """Kills: a peer that turns its own results again and again, until they are infinite."""
    clock, drawn, firsts = Listening(2.0), [], []

    def in_place(x):
        if len(firsts) == len(clock.heard):  # the first call of all, or since the last turn
            firsts.append(x.clone())
        clock.said.append("in place")
        return x.mul_(2)

    def make(device):
        drawn.append(torch.randn(200, device=device))
        return (drawn[0].clone(),)

    op = make_op()
    problem = replace(op.problems[0], make=make)
    run_with(clock, replace(op, problems=[problem], providers={"in place": peer(in_place)}))
    assert len(clock.heard) == ROUNDS <= len(firsts)
    assert all(torch.equal(x, drawn[0]) for x in firsts)


def test_copies_for_a_turn_keep_strides_and_leave_the_rest_alone():
    """Kills: weights as nn.Linear keeps them that are copied into another layout."""
    weight, expanded = torch.randn(6, 4).t(), torch.randn(4, 1).expand(4, 3)
    (first, second, third), spacer = elsewhere((weight, expanded, 7), 3)
    assert first.stride() == weight.stride() and torch.equal(first, weight)
    assert first.data_ptr() != weight.data_ptr()
    assert second is expanded and third == 7 and spacer is None


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE == "cpu", reason="there is no CUDA GPU here")
def test_each_turn_has_other_memory():
    """Kills: copies that get the memory of the turn before."""
    original, places = torch.randn(1 << 22, device=DEVICE), set()
    for number in range(ROUNDS):
        (copy,), spacer = elsewhere((original,), number)
        places.add(copy.data_ptr())
        del copy, spacer
    assert len(places) > ROUNDS // 4  # beside other processes some come twice


def _own_and_peer(entry):
    rows = {row["name"]: row for row in entry["problems"][0]["rows"]}
    return rows["double"], rows["eager"]


def test_two_functions_are_compared_turn_by_turn():
    """Kills: the ratio of two medians that come from turns at different clocks; one turn each, in
    which a cold GPU is charged to whoever comes first."""
    slowing = [time for turn in range(ROUNDS) for time in ((1 + turn) * 2.0, (1 + turn) * 3.0)]
    slowing[7] = 30.0  # the peer's turn 3: something else ran
    entry = run(*slowing, eager=1.4)
    own, peer_row = _own_and_peer(entry)
    assert (own["turns_ms"], peer_row["turns_ms"]) == (slowing[::2], slowing[1::2])
    assert (own["ms"], peer_row["ms"]) == (10.0, 18.0)
    assert ratio(peer_row, own) == pytest.approx(1.5)
    assert entry["problems"][0]["targets"][0]["reached"] == ratio(peer_row, own)


def test_who_follows_a_kernel_that_heats_the_gpu_does_not_lose_by_it():
    """Kills: one median over all turns, forwards and backwards."""
    heated = [
        time for turn in range(ROUNDS) for time in ((2.0, 1.0) if turn % 2 == 0 else (1.0, 2.0))
    ]
    own, peer_row = _own_and_peer(run(*heated))
    assert ratio(peer_row, own) == pytest.approx(1.0)


SHORT = (0.016, 0.004), (0.012, 0.006)  # our call and the peer's, and the device's share of each


@pytest.mark.parametrize(
    ("times", "device", "peer", "least", "reached", "said"),
    [
        ((2.0, 3.0), False, "eager", 1.4, 1.5, "1.50, met"),
        ((2.0, 3.0), False, "eager", 1.6, 1.5, "1.50, MISSED"),
        ((1.0, 0.9779), False, "eager", 0.98, 0.9779, "0.978, MISSED"),
        ((2.0, 3.0), False, "absent", 1.0, None, "not run, open"),
        (SHORT, False, "eager", 1.0, 0.75, "0.75, MISSED"),
        (SHORT, True, "eager", 1.4, 1.5, "1.50, met"),
        (SHORT, True, "eager", 1.6, 1.5, "1.50, MISSED"),
        # These calls were too long to be replayed.
        ((2.0, 3.0), True, "eager", 1.0, None, "not run, open"),
        ((SHORT[0], 3.0), True, "eager", 1.0, None, "not run, open"),
        ((2.0, SHORT[1]), True, "eager", 1.0, None, "not run, open"),
    ],
)
def test_targets_are_the_peers_time_over_ours(times, device, peer, least, reached, said):
    """Kills: the ratio upside down; a ratio that looks met beside the word missed; a device target
    judged by the call's time, or called met, or a crash, where there is no device figure."""
    asked = {"device_targets": {peer: least}} if device else {peer: least}
    entry = run(*times, **asked)
    (target,) = entry["problems"][0]["targets"]
    assert target["reached"] == pytest.approx(reached)
    where = " on the device" if device else ""
    assert f"target {least:.2f} of {peer}{where}: {said}\n" in results.table({"double": entry})


def test_our_row_for_a_device_target_is_the_fastest_on_the_device():
    """Kills: the device's share of the solution that is fastest as called."""
    rows = [
        {"name": "a", "ours": True, "state": "timed", "ms": 1.0, "device_ms": 0.5},
        {"name": "b", "ours": True, "state": "timed", "ms": 2.0, "device_ms": 0.4},
        {"name": "c", "ours": True, "state": "timed", "ms": 3.0, "device_ms": None},
        {"name": "d", "ours": True, "state": "refused", "reason": "is off"},
        {"name": "e", "ours": False, "state": "timed", "ms": 1.0, "device_ms": 0.1},
    ]
    assert best(rows, "device_ms")["name"] == "b" and best(rows[2:], "device_ms") is None
    assert best(rows)["name"] == "a" and best(rows[3:]) is None


def test_the_table_names_every_case_in_which_a_peer_wins():
    text = results.table({"double": run_with_a_wrong_one(2.0, 1.0)})
    assert "a peer is faster in 1 of 1 comparisons" in text
    assert "double 200 fp32: eager (0.50)" in text
    assert "refused: is off by" in text and "not run: takes no 200" in text


@pytest.fixture
def benchmarks(tmp_path, monkeypatch):
    """`python -m benchmarks` on a paper GPU, its results in tmp_path. alone: runs an operation."""

    def call(*arguments, ops=("double",), alone=lambda name: run(2.0, 2.0), **versions):
        monkeypatch.setattr(command, "INTERPRET", False)
        monkeypatch.setattr(command, "versions", lambda: {"gpu": "Paper GPU", **versions})
        monkeypatch.setattr(command, "all_ops", lambda: dict.fromkeys(ops, make_op()))
        monkeypatch.setattr(command, "run_alone", alone)
        monkeypatch.setattr(results, "DIRECTORY", tmp_path)
        return command.main([*arguments])

    return call


@pytest.mark.parametrize(
    ("arguments", "now", "status", "written"),
    [([], 2.0, 0, True), (["--check"], 2.0, 1, False), (["--check"], 2.9, 0, False)],
)
def test_only_a_whole_run_replaces_the_stored_ratios(
    benchmarks, tmp_path, capsys, arguments, now, status, written
):
    """Kills: a check that overwrites what it compares with; noise that is called slower."""
    results.write(tmp_path / "paper_gpu.json", "Paper GPU", {"double": run(2.0, 3.0)})
    before = (tmp_path / "paper_gpu.json").read_text()
    assert benchmarks(*arguments, alone=lambda name: run(2.0, now)) == status
    slower = "SLOWER double 200 fp32: 1.00 of eager, was 1.50"
    assert (slower in capsys.readouterr().out) is (now == 2.0)
    assert ((tmp_path / "paper_gpu.json").read_text() != before) is written


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({}, ["other"]),
        ({"date": "2026-01-01"}, ["double", "other"]),
        ({"versions": {"gpu": "Paper GPU", "triton": "1.0"}}, ["double", "other"]),
        ({"problems": []}, ["double", "other"]),
    ],
)
def test_a_run_that_was_cut_off_goes_on(benchmarks, tmp_path, capsys, change, again):
    """Kills: hours lost to a time limit; figures of other versions, sizes or days that pass for
    those of this run; a table that leaves out what was measured before."""
    here = {"gpu": "Paper GPU", "triton": "9.9"}
    before = run(2.0, 3.0) | {"versions": here} | change
    results.write(tmp_path / "paper_gpu.json", "Paper GPU", {"double": before})
    alone = mock.Mock(return_value=run(2.0, 2.0))
    two = ("double", "other")
    assert benchmarks("--resume", ops=two, alone=alone, triton="9.9") == 0
    assert [asked.args for asked in alone.call_args_list] == [(name,) for name in again]
    said = capsys.readouterr().out
    assert ("double: measured earlier today" in said) is (again == ["other"])
    assert "of 2 comparisons" in said
    assert set(results.read(tmp_path / "paper_gpu.json")["ops"]) == {"double", "other"}


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("no_such_package.ops", "no_such_package is not installed"),
        ("json", "cannot import name 'no_such_part'"),
    ],
)
def test_a_package_that_is_not_there_or_lacks_a_part_is_a_reason(package, reason):
    """Kills: another release of a peer that ends the whole run with a traceback."""

    def build(module):
        from json import no_such_part

        return no_such_part

    with pytest.raises(Missing, match=reason):
        optional(package, build).load()


def test_a_check_with_nothing_to_compare_with_is_no_pass(benchmarks, capsys):
    """Kills: exit code 0 from --check on a GPU whose ratios were never stored."""
    assert benchmarks("--check") == 2
    said = capsys.readouterr().err
    assert "no stored ratios of Paper GPU" in said and said.count("\n") == 1


def test_a_process_that_dies_costs_its_operation_alone(benchmarks, tmp_path, capsys):
    """Kills: a fault in one operation that loses the others' figures, of this run or of an earlier
    one, or that ends well."""
    results.write(tmp_path / "paper_gpu.json", "Paper GPU", {"older": run(2.0, 3.0)})
    alone = mock.Mock(side_effect=[Ended("its process ended with exit code -11"), run(2.0, 2.0)])
    assert benchmarks(ops=("broken", "double"), alone=alone) == 1
    said = capsys.readouterr().out
    assert "FAILED broken: its process ended with exit code -11" in said
    assert list(results.read(tmp_path / "paper_gpu.json")["ops"]) == ["double", "older"]


def test_a_wrong_result_is_named_and_the_run_fails(benchmarks, capsys):
    """Kills: exit code 0 beside a wrong result."""
    assert benchmarks(alone=lambda name: run_with_a_wrong_one(2.0, 2.0)) == 1
    assert "REFUSED double 200 fp32 wrong: is off by" in capsys.readouterr().out


def test_every_operation_is_well_formed():
    # Kills: a target or an exception for a provider that does not exist (it would never be judged).
    found = all_ops()
    assert {"gelu", "softmax"} <= set(found)
    for op in found.values():
        names = set(op.providers)
        assert any(provider.ours for provider in op.providers.values()), op.name
        for problem in op.problems:
            asked = {*problem.targets, *problem.device_targets}
            assert asked <= names, f"{op.name} {problem.label}"
            assert set(problem.without) <= names, f"{op.name} {problem.label}"
            assert problem.bytes > 0
