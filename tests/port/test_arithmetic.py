"""The edges of arithmetic, as an H100 has them: the interpreter would do what numpy does."""

import warnings

import pytest
import torch
import triton
import triton.language as tl
from arithmetic_rows import PAIRS, REDUCED, alike, atomically, computed, reduced

from tritonbook.port.compat import triton_version
from tritonbook.port.device import DEVICE


@pytest.mark.parametrize(("op", "dtypes", "a", "b", "wanted"), PAIRS)
def test_a_pair(op, dtypes, a, b, wanted):
    if op == "%" and dtypes == "float32" and triton_version() < (3, 3):
        pytest.skip("its compiler rounds the quotient down, as Python does")
    found = computed(op, dtypes, a, b)
    assert all(map(alike, found, wanted)), (found, wanted)


@pytest.mark.parametrize(("op", "values", "wanted"), REDUCED)
def test_a_reduction(op, values, wanted):
    assert alike(reduced(op, values), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_atomic_addition(dtype):
    """Two lanes meet in one element; which comes first, nobody knows."""
    if dtype == torch.bfloat16 and triton_version() < (3, 5):
        pytest.skip("its compiler refuses it")
    out, old = atomically("add", dtype)
    assert out == [12.0, 10.0, 8.0, 8.0]
    assert sorted((old[0], old[2])) in ([8.0, 9.0], [8.0, 11.0]) and (old[1], old[3]) == (8.0, 0.0)


def test_an_exchange_of_floats():
    assert atomically("xchg", torch.float32) == ([1.0, 2.0, 3.0, 8.0], [8.0, 8.0, 8.0, 0.0])


@triton.jit
def exp_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.exp(tl.load(x_ptr)))


def test_an_overflow_is_no_warning():
    """Kills: a right kernel that prints numpy's words, as in lanes that a mask switches off."""
    x = torch.tensor([100.0], device=DEVICE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exp_kernel[(1,)](x, x)
    assert x.item() == float("inf")
