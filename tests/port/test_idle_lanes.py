"""Lanes that a mask switches off: rubbish, as on a GPU, and named where it reaches a result."""

import pytest
import torch
import triton
import triton.language as tl

import tritonbook
from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.port.idle_lanes import hold_zero
from tritonbook.seeing.meter import meter

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@triton.jit
def copy_tile_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < N))


@triton.jit
def sum_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * N + offs, mask=offs < N)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x.to(tl.float32), axis=0))


@triton.jit
def count_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * N + offs, mask=offs < N)
    total = tl.sum(tl.where(offs < N, x, 0.0).to(tl.float32), axis=0)
    tl.store(out_ptr + tl.program_id(0), total)


def launched(dtype):
    x, out = torch.ones(8).to(dtype), torch.zeros(8).to(dtype)
    copy_tile_kernel[(1,)](x, out, 5, BLOCK=8)
    return out.tolist()


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int8, torch.int32, torch.int64, torch.bool])
def test_idle_lanes_hold_rubbish(dtype):
    """Kills: zeros, with which a sum without `other=` is right in the interpreter alone."""
    idle = launched(dtype)[5:]
    if dtype in FLOATS:
        assert sorted(map(str, map(float, idle)))[-1] == "nan" and max(map(abs, idle[:2])) > 2e4
    assert 0 not in idle
    with hold_zero():
        assert launched(dtype)[5:] == [0, 0, 0]


@triton.jit
def before_kernel(x_ptr, out_ptr, GIVEN: tl.constexpr):
    i = tl.program_id(0)
    before = tl.load(x_ptr + i - 1, mask=i > 0, other=0) if GIVEN else tl.load(x_ptr + i - 1, i > 0)
    tl.store(out_ptr + i, before)


def test_a_single_lane_that_is_given_0_holds_0():
    """Kills: a number before the first one that is rubbish though `other=0` stands there, which
    Triton takes for nothing."""
    x, out = torch.tensor([5, 6, 7]), torch.empty(3, dtype=torch.int64)
    before_kernel[(3,)](x, out, GIVEN=True)
    assert out.tolist() == [0, 5, 6]
    before_kernel[(3,)](x, out, GIVEN=False)
    assert out.tolist()[1:] == [5, 6] and (out[0] != 0 or triton.__version__ < "3.4")


@triton.jit
def single_kernel(out_ptr, n):
    i = tl.program_id(0)
    tl.store(out_ptr + i, 7, mask=i < n)
    tl.atomic_add(out_ptr + i, 1, mask=i < n)


def test_a_single_lane_that_is_off_stores_nothing():
    """Kills: a mask of one lane that is off, taken for none (Triton up to 3.4)."""
    out = torch.zeros(3, dtype=torch.int32)
    single_kernel[(3,)](out, 2)
    assert out.tolist() == [8, 8, 0]


def test_a_meter_changes_nothing_of_it():
    unseen = str(launched(torch.float32))
    with meter():
        assert str(launched(torch.float32)) == unseen


def rows(kernel):
    def total(x):
        out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out

    return total


CHECK = Check(
    lambda x: x.sum(dim=1), [case("odd", x=tensor(3, 5)), case("even", x=tensor(2, 8))], terms=8
)


def test_the_missing_other_is_named_with_its_line():
    """Kills: "NaN where a number is expected", which names nothing."""
    report = run_check(rows(sum_kernel), CHECK, "total")
    assert report.finding.code == "no-other"
    assert "mask=offs < N)` needs `other=`" in report.finding.sentence


def test_who_sorts_the_lanes_out_needs_no_other():
    """Kills: refusing an honest kernel that never uses its idle lanes."""
    assert run_check(rows(count_kernel), CHECK, "total").passed


@triton.jit
def block_sum_kernel(x_ptr, out_ptr, N, PADDED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    block = tl.make_block_ptr(x_ptr + row * N, (N,), (1,), (0,), (BLOCK,), (0,))
    if PADDED:
        x = tl.load(block, boundary_check=(0,), padding_option="zero")
    else:
        x = tl.load(block, boundary_check=(0,))
        x = tl.where(tl.arange(0, BLOCK) < N, x, 0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))


@triton.jit
def careless_block_kernel(x_ptr, out_ptr, N, PADDED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    block = tl.make_block_ptr(x_ptr + row * N, (N,), (1,), (0,), (BLOCK,), (0,))
    tl.store(out_ptr + row, tl.sum(tl.load(block, boundary_check=(0,)), axis=0))


@pytest.mark.skipif(not hasattr(tl, "make_block_ptr"), reason="block pointers are gone")
def test_a_block_without_padding_is_like_a_mask_without_other():
    """Kills: an AttributeError of the interpreter's in an honest kernel; zeros in lanes that no GPU
    fills."""

    def sums(kernel, padded):
        def row_sums(x):
            out = x.new_empty(x.shape[0])
            kernel[(x.shape[0],)](x, out, x.shape[1], padded, BLOCK=16)
            return out

        return run_check(row_sums, CHECK_BLOCKS, "row_sums").finding

    assert sums(block_sum_kernel, True) is sums(block_sum_kernel, False) is None
    if tritonbook.INTERPRET:
        found = sums(careless_block_kernel, False)
        assert found.code == "no-other" and 'padding_option="zero"' in found.sentence


CHECK_BLOCKS = Check(lambda x: x.sum(1), [case("a ragged row", x=tensor(3, 11))], terms=11)
