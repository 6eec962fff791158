"""A task that asks for one way of doing it: another way, right in its values, is not an answer."""

import pytest
import torch
import triton
import triton.language as tl
from triton.language import softmax as ready

from tritonbook.checking import case, tensor
from tritonbook.checking.asks import by_hand

from .answers import run


@triton.jit
def softmax(x):
    e = tl.exp(x - tl.max(x, axis=0))
    return e / tl.sum(e, axis=0)


@triton.jit
def dressed(x):
    return tl.softmax(x)


@triton.jit
def renamed(x):
    return ready(x)


def answer(op):
    @triton.jit
    def kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
        cols = tl.arange(0, BLOCK_N)
        at = tl.program_id(0) * N + cols
        x = tl.load(x_ptr + at, mask=cols < N, other=-float("inf"))
        tl.store(out_ptr + at, op(x), mask=cols < N)

    def wrapper(x):
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK_N=triton.next_power_of_2(x.shape[1]))
        return out

    return wrapper


@pytest.mark.parametrize(
    ("fn", "expected"),
    [(answer(softmax), None), (answer(dressed), "not-by-hand"), (answer(renamed), "not-by-hand")],
    ids=["written", "in a helper", "imported under another name"],
)
def test_tritons_own_softmax_is_not_written_by_hand(fn, expected):
    """Kills: `tl.softmax(x)` where the task is to write it, also in a helper or by another name;
    a rule that refuses a helper for its name."""
    cases = [case("rows", x=tensor(3, 50))]
    report = run(fn, lambda x: x.softmax(dim=1), cases, terms=50, asks=[by_hand("softmax")])
    assert (report.finding and report.finding.code) == expected
