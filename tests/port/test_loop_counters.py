"""The number of a loop has `.to` in the interpreter, as the compiler's has."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE


@triton.jit
def counting_kernel(out_ptr, n, BLOCK_SIZE: tl.constexpr):
    total = tl.zeros((BLOCK_SIZE,), tl.int64)
    for i in range(0, n, 2):
        total += i.to(tl.int64)
        for j in tl.range(i + 1, 5):
            total += (j * 2 + 1).to(tl.int64) * n
    tl.store(out_ptr + tl.arange(0, BLOCK_SIZE), total)


@triton.jit
def unrolled_kernel(out_ptr):
    for i in tl.static_range(2):
        tl.store(out_ptr + i, i.to(tl.int64))


def test_a_loops_number_and_its_sums_can_be_converted():
    """Kills: Python's int as a counter, which refuses what a GPU takes."""
    out = torch.empty(4, dtype=torch.int64, device=DEVICE)
    counting_kernel[(1,)](out, 6, BLOCK_SIZE=4)
    expected = sum(i + sum((2 * j + 1) * 6 for j in range(i + 1, 5)) for i in range(0, 6, 2))
    assert out.tolist() == [expected] * 4


@pytest.mark.skipif(DEVICE != "cpu", reason="the compiler says so itself")
def test_a_number_of_an_unrolled_loop_is_a_constant():
    """Kills: `.to` on what the compiler takes for a constant."""
    with pytest.raises(Exception, match="no attribute 'to'"):
        unrolled_kernel[(1,)](torch.empty(2, dtype=torch.int64))
