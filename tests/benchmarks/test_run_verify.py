"""A wrong kernel must never be timed. Each test names the way of being wrong that it stops."""

from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from benchmarks.op import Op
from benchmarks.verify import exact_result, poison, verify
from tritonbook import DEVICE


@triton.jit
def double_kernel(x_ptr, y_ptr, n, stop, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, 2 * x, mask=offs < stop)


def double(x, stop=None):
    y = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 64),)](x, y, n, n if stop is None else stop, BLOCK_SIZE=64)
    return y


def twice(x):
    return x + x


TWICE = Op("double", "00_none", [], exact=twice, providers={})


def judge(fn, ours=True, op=TWICE):
    x = torch.randn(200, device=DEVICE)
    return verify(fn, (x,), exact_result(op, (x,)), op, ours=ours)


def test_a_right_kernel_may_be_timed():
    verdict = judge(double)
    assert verdict[1] is None and verdict[0] < 1e-6


def test_a_solution_that_launches_nothing_is_refused():
    assert judge(twice)[1] == "launched no Triton kernel"
    assert judge(twice, ours=False)[1] is None


def test_a_tail_that_is_never_written_is_refused():
    # Kills: an allocator that hands out memory with the right answer still in it.
    x = torch.randn(200, device=DEVICE)
    expected = exact_result(TWICE, (x,))
    right = double(x)
    del right
    verdict = verify(lambda x: double(x, stop=128), (x,), expected, TWICE, ours=True)
    assert "is off by nan" in verdict[1]


def test_wrong_values_shape_number_and_errors_are_refused():
    assert "is off by" in judge(lambda x: double(1.01 * x))[1]
    assert "gave shape (100,)" in judge(lambda x: double(x[:100].contiguous()))[1]
    assert "gave 2 tensors instead of 1" in judge(lambda x: (double(x), x))[1]

    def broken(x):
        raise RuntimeError("no")

    assert judge(broken)[1] == "raised RuntimeError: no"


def test_outputs_are_poisoned_after_the_verdict():
    kept = []

    def remember(x):
        kept.append(double(x))
        return kept[-1]

    judge(remember)
    assert kept[0].isnan().all()


def test_inputs_are_not_poisoned():
    x = torch.randn(8, device=DEVICE)
    op = replace(TWICE, exact=lambda x: x)
    verify(lambda x: x, (x,), exact_result(op, (x,)), op, ours=False)
    assert x.isfinite().all()


def test_part_cuts_both_results():
    half_right = replace(TWICE, part=lambda y: y[:50])
    assert judge(lambda x: double(x, stop=64), op=half_right)[1] is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_poison_spoils_every_element(dtype):
    x = torch.zeros(5, dtype=dtype)
    poison([x])
    assert (x != x).all() if dtype.is_floating_point else (x == torch.iinfo(dtype).max).all()


def test_an_exact_result_without_a_tensor_judges_nobody():
    """Kills: an operation whose formula returns a number, and with it anything at all."""
    with pytest.raises(ValueError, match="holds no tensor, but a float"):
        exact_result(replace(TWICE, exact=lambda x: 2.0), (torch.ones(2),))
