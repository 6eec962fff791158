"""Scans and reductions by one's own function: in trees, with the results of the loop."""

import pytest
import torch
import triton
import triton.language as tl

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


@triton.jit
def plus(a, b):
    return a + b + 0.0  # not Triton's own, which has a way of its own


@triton.jit
def minus(a, b):
    return a - b


@triton.jit
def larger(a, i, b, j):
    take = a >= b
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def scan_kernel(x_ptr, out_ptr, AXIS: tl.constexpr, REVERSE: tl.constexpr, HOW: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(x_ptr + at)
    y = tl.associative_scan(x, AXIS, plus if HOW == 0 else minus, reverse=REVERSE)
    tl.store(out_ptr + at, y)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, place_ptr, AXIS: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x, place = tl.reduce((tl.load(x_ptr + at), at), AXIS, larger)
    tl.store(out_ptr + tl.arange(0, SIZE), x)
    tl.store(place_ptr + tl.arange(0, SIZE), place)


@triton.jit
def whole_kernel(x_ptr, out_ptr, KEEP: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]
    total = tl.reduce(tl.load(x_ptr + at), None, plus, keep_dims=KEEP)
    tl.store(out_ptr + (at if KEEP else 0), total)


def scanned(axis, reverse=False, how=0):
    out = torch.empty_like(X)
    scan_kernel[(1,)](X, out, AXIS=axis, REVERSE=reverse, HOW=how)
    return out


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_of_sums(axis, reverse):
    wanted = X.flip(axis).cumsum(axis).flip(axis) if reverse else X.cumsum(axis)
    torch.testing.assert_close(scanned(axis, reverse), wanted)


def test_what_is_not_associative_is_not_forgiven():
    """Kills: lanes taken one after the other, with which a difference is right here alone."""
    one_by_one = X.clone()
    for lane in range(1, 8):
        one_by_one[:, lane] = one_by_one[:, lane - 1] - X[:, lane]
    found = scanned(1, how=1)
    assert torch.equal(found[:, :2], one_by_one[:, :2])
    assert not torch.allclose(found[:, 3], one_by_one[:, 3])


@pytest.mark.parametrize("axis", [0, 1])
def test_a_reduction_of_pairs(axis):
    largest, places = X.max(dim=axis)
    out, place = torch.empty_like(largest), torch.empty_like(largest, dtype=torch.int32)
    reduce_kernel[(1,)](X, out, place, AXIS=axis, SIZE=largest.numel())
    assert torch.equal(out, largest)
    assert torch.equal(X.flatten()[place.long()], largest)


@pytest.mark.parametrize("keep", [False, True])
def test_a_reduction_of_a_whole_tile(keep):
    out = torch.zeros(4, 8)
    whole_kernel[(1,)](X, out, KEEP=keep)
    torch.testing.assert_close(out[0, 0], X.sum())
    assert bool((out == out[0, 0]).all()) == keep
