"""An open gap is seen wherever it stands. Kills: looking at the launched kernel's own body only."""

import tritonbook  # noqa: F401, I001  (chooses the interpreter before triton is imported)
import triton
import triton.language as tl

from tritonbook.checking.diagnose import has_open_gap


@triton.jit
def open_helper(x_ptr):
    pass


@triton.jit
def full_helper(x_ptr):
    tl.store(x_ptr, 1)


@triton.jit
def calls_open(x_ptr):
    open_helper(x_ptr)


@triton.jit
def calls_full(x_ptr):
    full_helper(x_ptr)


def test_a_gap_in_the_kernel_itself():
    assert has_open_gap(open_helper.fn)


def test_a_gap_in_a_function_that_the_kernel_calls():
    assert has_open_gap(calls_open.fn)


def test_no_gap():
    assert not has_open_gap(calls_full.fn)
