"""Answers off the beaten track: the check takes what is honest, and never breaks down itself."""

import math
import sys

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import tritonbook
from tritonbook.checking import Tolerance, asks, card, case, launches, tensor
from tritonbook.checking.mistakes import Mistake
from tritonbook.port import compat
from tritonbook.port.compat import causes

from .answers import mistakes, run

CASES = [case("ragged", x=tensor(1000))]


@triton.jit
def double_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr = 128):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)


def with_default_block(x):
    out, n = torch.empty_like(x), x.numel()
    double_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, n)
    return out


def through_pytorch(x):
    out, n = torch.empty_like(x), x.numel()
    torch.library.wrap_triton(double_kernel)[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out


def with_a_tensor_without_memory(x):
    torch.empty(10, device="meta")
    return with_default_block(x)


def plain(fn, expected, **options):
    cases = [case("one", n=1)]
    return run(fn, lambda n: expected, cases, key="plain", triton=False, **options)


def test_a_tensor_without_memory_is_named():
    """Kills: a check that ends in an error of its own, and a submission listed as the grader's
    trouble."""
    report = run(with_a_tensor_without_memory, lambda x: 2 * x, CASES)
    assert report.finding.code == "raised"
    assert "has no memory: allocate on the input's device" in report.finding.sentence


def test_a_launch_through_pytorch_is_a_launch():
    """Kills: "no rule registered" for a kernel behind `torch.library.wrap_triton`, or its launch
    taken for PyTorch's own work."""
    report = run(through_pytorch, lambda x: 2 * x, CASES, asks=[asks.launches(1)])
    assert report.passed, report.finding


def test_a_grid_may_use_the_default_of_a_constant():
    """Kills: a launch whose grid function gets the written arguments alone, and KeyError for it;
    facts without the constant and the grid of that launch."""
    found = run(with_default_block, lambda x: 2 * x, CASES, key="double")
    assert found.state == "passed", card.as_text(found)
    if tritonbook.INTERPRET:
        assert found.gates["compile"] == "passed"
        (facts,) = tritonbook.facts(with_default_block, torch.rand(1000))
        assert facts.constants == {"BLOCK_SIZE": 128} and facts.grid == (8,)


def test_a_wrong_result_beside_nothing_is_judged():
    """Kills: AttributeError out of the check where the diagnosis compares two calls' results."""
    found = run(lambda x: (with_default_block(x), None), lambda x: (3 * x + 1, x), CASES, key="two")
    assert (found.state, found.finding.code) == ("wrong", "wrong-values"), card.as_text(found)


def test_a_mistake_that_cannot_take_a_case_is_no_cause():
    """Kills: an IndexError out of the check, where a known mistake meets a case that its author did
    not think of."""

    def beyond(x):
        return x[2000]

    wrong = mistakes(("beyond", beyond, "It goes beyond the end."))
    found = run(with_default_block, lambda x: 3 * x, CASES, key="double", known=wrong)
    assert found.finding.code == "constant-factor", card.as_text(found)
    wrong = mistakes(("beyond", lambda n: [][n], "It goes beyond."))
    found = plain(lambda n: 2, 3, known=wrong)
    assert found.finding.code == "wrong-values", card.as_text(found)


def test_an_error_raised_from_itself_is_explained():
    """Kills: following the causes of such an error for ever, beyond every time limit."""

    def again(n):
        try:
            raise ValueError("no such n")
        except ValueError as error:
            raise error from error

    assert "ValueError: no such n" in plain(again, 1).finding.sentence


def test_waiting_for_a_gpu_that_is_not_there_is_named(monkeypatch):
    """Kills: "allocate on the input's device" said to somebody who allocates nothing, and "the
    page's own `gpu`" on a page that has none."""

    def synchronize():
        raise AssertionError("Torch not compiled with CUDA enabled")

    sentence = plain(lambda n: synchronize(), 1).finding.sentence
    assert "Leave it out" in sentence and "llocate" not in sentence
    monkeypatch.setitem(globals(), "gpu", object())
    assert "page's own `gpu.synchronize()`" in plain(lambda n: synchronize(), 1).finding.sentence


def test_causes_come_once_and_in_order():
    one, two = ValueError("one"), KeyError("two")
    one.__cause__, two.__cause__ = two, one
    assert causes(one) == [one, two] and causes(KeyError()) != []


def test_leaving_the_program_is_a_wrong_answer():
    """Kills: a plain function, or an assertion on it, that ends the check and its process."""

    def leaves(_):
        sys.exit(0)

    for found in (plain(leaves, 1), plain(lambda n: 1, 1, asks=[leaves])):
        assert (found.state, found.finding.code) == ("wrong", "raised")
        assert "ended the program" in found.finding.sentence


def test_nan_in_an_argument_is_no_change_of_it():
    """Kills: comparing an argument with itself by ==, which NaN never passes."""
    holds = [case("nan", x=tensor(3, planted={1: math.nan}))]

    def count(x):
        return int(x.isnan().sum())

    def spoil(x):
        return int(x.zero_().isnan().sum()) + 1

    options = {"key": "count", "triton": False}
    assert run(count, count, holds, **options).passed
    assert run(spoil, count, holds, **options).finding.code == "input-changed"


@pytest.mark.parametrize("spoil", [lambda c: c.append(7), lambda c: c[1].update(a=0)])
def test_a_list_that_is_changed_is_seen(spoil):
    """Kills: an answer that empties the list it was given, which the next case then lacks."""
    cases = [case("a list", configs=[math.nan, {"a": 1}, (2, 3)])]

    def kept(configs):
        return len(configs)

    def spoilt(configs):
        spoil(configs)
        return 3

    assert run(kept, kept, cases, key="kept", triton=False).passed
    found = run(spoilt, kept, cases, key="spoilt", triton=False).finding
    assert found.code == "input-changed" and "configs" in found.sentence
    assert len(cases[0].arguments["configs"]) == 3 and cases[0].arguments["configs"][1] == {"a": 1}


class EqualToAll:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    ("got", "expected", "fine"),
    [
        (np.int64(3), 3, True),
        (np.float64(0.5), 0.5, True),
        (np.bool_(True), True, True),
        (np.int64(4), 3, False),
        (torch.ones(2), True, False),
        (np.ones(2), "ok", False),
        (EqualToAll(), "ok", False),
        ([1, 2], EqualToAll(), True),
        (torch.ones(2, dtype=torch.float64), torch.ones(2), False),
        (torch.ones(2), torch.ones(2), True),
    ],
)
def test_what_a_plain_function_may_return(got, expected, fine):
    """Kills: numpy's numbers refused, results compared by an == of their own (which breaks down on
    a tensor), a tensor of another dtype accepted."""
    assert plain(lambda n: got, expected).passed is fine


@pytest.mark.parametrize(
    ("got", "expected", "said"),
    [
        ([(0, 3), (4, 7)], [(0, 4), (4, 8)], "got 3. Each number that is wrong is 1 too small."),
        ([(1, 4), (5, 8)], [(0, 4), (4, 8)], "got 1. Each number that is wrong is 1 too large."),
        ([(1, 3)], [(0, 4)], "Expected 0 at `[0][0]`, got 1."),
        (1.12, 1.125, "Expected 1.125, got 1.12. That is rounded: leave the number as it is."),
        (1.13, 1.125, "Expected 1.125, got 1.13."),
        ([True], [2], "Expected a number at `[0]`, got True."),
    ],
)
def test_what_wrong_numbers_have_in_common_is_said(got, expected, said):
    """Kills: "Expected 4, got 3" alone where each end is counted in; a cause that is none."""
    assert plain(lambda n: got, expected).finding.sentence.endswith(said)


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        (lambda n: 2.0 - [].count, "its brackets are missing, `f()`"),
        (lambda n: [].append(1, 2), "`append((first, second))`"),
        (lambda n: max([]), "`max(..., default=...)` says what it gives then"),
        (lambda n: {"name": n}.name, '`["name"]`'),
    ],
)
def test_a_slip_of_python_is_told_in_a_learners_words(slip, said):
    assert said in plain(slip, 3).finding.sentence


def test_a_mistake_within_the_tolerance_is_none():
    """Kills: mistakes compared more strictly than the answer itself."""
    loose = Tolerance(1e-3)
    near = mistakes(("near", lambda n: 1.0001, "This is a little more."))
    assert plain(lambda n: 1.0001, 1.0, tolerance=loose, known=near).passed
    far = mistakes(("far", lambda n: 2.0, "This is twice as much."))
    assert plain(lambda n: 2.0001, 1.0, tolerance=loose, known=far).finding.code == "far"


def test_the_line_of_an_open_gap_is_quoted():
    """Kills: "the gap is still open" alone, read by somebody who has filled it above that line."""

    def filled(n):
        result = n + 1  # noqa: F841
        raise NotImplementedError("TODO: fill in filled")

    report = plain(filled, 2)
    assert report.state == "not attempted"
    assert report.finding.sentence == (
        'The gap is still open: its line `raise NotImplementedError("TODO: fill in filled")` is '
        "still there. Put your own in its place."
    )


def test_the_grid_is_no_argument_of_a_compiled_kernel(monkeypatch):
    """Kills: a launch on a GPU whose grid, the tuple (1, 1), is named as what does not compile."""
    kernel = triton.runtime.jit.JITFunction(with_default_block)
    monkeypatch.setattr(compat, "INTERPRET", False)
    with launches.watching(mode="mute") as watch:
        kernel.run(3, grid=(1, 1), warmup=False, size=(4, 5))
    assert watch.launches[0].grid == (1, 1)
    assert "the tuple (4, 5)" in watch.odd


def test_a_kernel_that_must_not_run_is_stopped_before_it_runs():
    """Kills: an open gap between barriers that a GPU waits at for ever."""
    x = torch.ones(8)
    with launches.watching() as watch:
        watch.forbids = lambda kernel: kernel.__name__ == "double_kernel"
        with pytest.raises(RuntimeError, match="gap"):
            with_default_block(x)
    assert list(watch.kernels) == ["double_kernel"]


@triton.jit
def far_away_kernel(x_ptr, shift, BLOCK: tl.constexpr):
    offs = shift + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) + 1.0)


@pytest.mark.parametrize("shift", [0, 1 << 40])
def test_a_plain_function_that_launches_is_fenced_in(shift):
    """Unfenced, the far addresses end the process. Kills: lanes inside their tensor that are taken
    for such."""
    if shift and not tritonbook.INTERPRET:
        pytest.skip("a GPU has no fence; it may stop the kernel instead")

    def launches_too(n):
        far_away_kernel[(1,)](torch.zeros(64, device=tritonbook.DEVICE), shift, BLOCK=64)
        return n

    found = plain(launches_too, 1).finding
    assert (found and found.code) == ("out-of-bounds-store" if shift else None)
    assert found is None or "far_away_kernel" in found.sentence


def test_a_known_mistake_is_told_in_the_place_of_a_lane_that_went_astray():
    """Kills: "the address is off" where the mistake has a name; a name for a result that is right,
    or for a mistake that the meter sees otherwise."""
    if not tritonbook.INTERPRET:
        pytest.skip("a GPU has no fence; it may stop the kernel instead")

    def found(gives, instead):
        def launches_too(n):
            far_away_kernel[(1,)](torch.zeros(64), 1 << 40, BLOCK=64)
            return gives

        known = Mistake("far", "Too far.", lambda case, draw: gives, instead=instead)
        one = [case("one", n=1)]
        return run(launches_too, lambda n: n, one, triton=False, known=lambda: [known]).finding.code

    assert found(2, ("out-of-bounds-store",)) == "far"
    assert found(1, ("out-of-bounds-store",)) == "out-of-bounds-store"
    assert found(2, ("race",)) == "out-of-bounds-store"
