"""An open gap is seen wherever it stands. Kills: looking at the launched kernel's own body only."""

import tritonbook  # noqa: F401, I001  (chooses the interpreter before triton is imported)
import pytest
import torch
import triton
import triton.language as tl

from tritonbook.checking.compare import Difference
from tritonbook.checking.diagnose import Evidence, diagnose, has_open_gap


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


@triton.jit
def walks(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    for start in range(0, n, BLOCK_SIZE):
        full_helper(x_ptr + start)


@triton.jit
def calls_walks(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    walks(x_ptr, n, BLOCK_SIZE)


@pytest.mark.parametrize(
    ("kernel", "words"), [(walks, "loop"), (calls_walks, "loop"), (calls_full, "the grid ends")]
)
def test_a_row_that_ends_too_early(kernel, words):
    """Kills: "Does the loop reach its end?" asked about a kernel without a loop."""
    unwritten = torch.zeros(3, 40, dtype=torch.bool)
    unwritten[:, 24:] = True
    difference = Difference(unwritten=unwritten, bad=unwritten, got=unwritten.double())
    difference.expected = torch.ones(3, 40, dtype=torch.float64)
    evidence = Evidence(difference, {"kernel": kernel.fn}, [], None, lambda: False, False, 1.0)
    found = diagnose(evidence)
    assert found.code == "unwritten-tail" and "Column 24" in found.sentence
    assert words in found.sentence, found.sentence


def test_a_gap_in_the_kernel_itself():
    assert has_open_gap([open_helper.fn])


def test_a_gap_in_a_function_that_the_kernel_calls():
    assert has_open_gap([calls_open.fn])


@triton.jit
def filled_above_its_pass(x_ptr, n):
    # YOUR CODE HERE
    tl.store(x_ptr, 1, mask=n < 0)
    pass


@triton.jit
def as_the_page_left(x_ptr, n):
    # YOUR CODE HERE
    pass


def test_a_pass_below_filled_lines_is_no_gap():
    """Kills: "the gap is still open" said of a store whose mask is never true."""
    assert has_open_gap([as_the_page_left.fn])
    assert not has_open_gap([filled_above_its_pass.fn])


def test_no_gap():
    assert not has_open_gap([calls_full.fn])
