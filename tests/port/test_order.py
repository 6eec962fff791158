"""Programs from last to first, in the interpreter."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET, backwards


@triton.jit
def turn_kernel(turn_ptr, out_ptr, WIDTH: tl.constexpr):
    """out[i, j] = how many programs ran before this one."""
    place = tl.program_id(1) * WIDTH + tl.program_id(0)
    tl.store(out_ptr + place, tl.atomic_add(turn_ptr, 1))


def turns() -> list[list[int]]:
    turn, out = torch.zeros(1, dtype=torch.int32, device=DEVICE), torch.empty(2, 3, device=DEVICE)
    turn_kernel[(3, 2)](turn, out, WIDTH=3)
    return out.tolist()


@pytest.mark.skipif(not INTERPRET, reason="a GPU has no order")
def test_the_last_program_runs_first():
    """Kills: an axis that is not turned round, and an order that stays after the block."""
    usual = turns()
    with backwards():
        turned = turns()
    assert sum(usual, []) != sum(turned, [])
    assert turned == [[5 - turn for turn in row] for row in usual]
    with pytest.raises(ZeroDivisionError), backwards():
        1 / 0  # noqa: B018
    assert turns() == usual
