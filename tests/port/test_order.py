"""Programs from last to first, in the interpreter."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET, backwards
from tritonbook.port.order import loads_first


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


@triton.jit
def count_kernel(n_ptr, out_ptr, HOW: tl.constexpr):
    """out[i] = what n was when program i had it, by `HOW`."""
    pid = tl.program_id(0)
    if HOW == "atomic":
        tl.atomic_add(n_ptr, 0)
    n = tl.load(n_ptr, volatile=HOW == "volatile")
    if HOW == "twice":
        n = tl.load(n_ptr)
    tl.atomic_add(n_ptr, 1)
    tl.store(out_ptr + pid, n)
    tl.store(out_ptr + pid, tl.load(out_ptr + pid) + 10)


@pytest.mark.skipif(not INTERPRET, reason="a GPU has no order")
@pytest.mark.parametrize("how", ["once", "volatile", "twice", "atomic"])
def test_all_programs_load_before_one_of_them_stores(how):
    """Kills: a program that waits, or asks again, and never hears of the others; one that does not
    see what it stored itself; a launch that begins with what the one before it found."""
    for _ in range(2):
        n, out = torch.zeros(1, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
        with loads_first():
            count_kernel[(3,)](n, out, how)
            count_kernel[(3,)](n, out, how)
        assert out.tolist() == ([13, 13, 13] if how == "once" else [13, 14, 15])
        assert n.item() == 6
