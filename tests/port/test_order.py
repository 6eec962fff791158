"""Programs from last to first, in the interpreter."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET, backwards
from tritonbook.port.order import interrupted, point


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
def count_kernel(n_ptr, HOW: tl.constexpr):
    """n += 1, by `HOW`."""
    if HOW == "lock":
        while tl.atomic_cas(n_ptr + 1, 0, 1) == 1:
            pass
    n = tl.load(n_ptr)
    tl.store(n_ptr, n + 1)
    if HOW == "lock":
        tl.atomic_xchg(n_ptr + 1, 0)


def counted(how, launch, made):
    n = torch.zeros(2, dtype=torch.int32)
    with interrupted(launch, ((0, 0, 0), made)):
        count_kernel[(3,)](n, how)
        assert point() is None
        count_kernel[(3,)](n, how)
    return n.tolist()


@pytest.mark.skipif(not INTERPRET, reason="a GPU has no order")
@pytest.mark.parametrize(("launch", "made", "counts"), [(0, 0, 6), (0, 1, 4), (1, 1, 4), (2, 1, 6)])
def test_other_programs_run_where_one_is_interrupted(launch, made, counts):
    """Kills: a program that is never interrupted, in another launch or more than once; one that
    loads again when it goes on."""
    assert counted("", launch, made) == [counts, 0]


@pytest.mark.skipif(not INTERPRET, reason="a GPU has no order")
def test_a_program_that_waits_for_the_interrupted_one_ends_in_an_error():
    """Kills: a right lock that is tried out without end."""
    assert counted("lock", 0, 0) == [6, 0]
    with pytest.raises(Exception, match="waits for a program"):
        counted("lock", 0, 1)
