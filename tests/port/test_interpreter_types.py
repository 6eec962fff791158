"""Types that the interpreter keeps: the same answers as Triton's own, to every question.

On a GPU nothing is kept, and Triton's own answers are what is tested.
"""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter

import tritonbook
from tritonbook import DEVICE


def test_one_type_for_each_element_and_shape():
    """Kills: types that are made again each time (checks take half as long again); a key without
    the element, the order of the sizes or a pointer's address space."""
    first = tl.block_type(tl.float32, [4, 64])
    again = tl.block_type(tl.float32, [tl.constexpr(4), 64])
    assert first == again and (first is again) == tritonbook.INTERPRET
    others = [
        tl.block_type(tl.float32, [64, 4]),
        tl.block_type(tl.float32, [256]),
        tl.block_type(tl.int32, [4, 64]),
        tl.block_type(tl.pointer_type(tl.float32), [4, 64]),
    ]
    assert all(first != other for other in others)
    assert [other.numel for other in others] == [256] * 4
    near, far = (tl.block_type(tl.pointer_type(tl.int8, space), [8]) for space in (1, 3))
    assert near != far and (near.scalar.address_space, far.scalar.address_space) == (1, 3)


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        ([3], ValueError, "power of 2"),
        ([], TypeError, "0d"),
        ([2**21], ValueError, "maximum tensor numel"),
        ([64.0], TypeError, "type"),
        (64, (AssertionError, TypeError), None),
    ],
)
def test_a_type_that_cannot_be_is_refused_each_time(shape, error, words):
    """Kills: a broken type that is kept and handed out the second time; 64.0 taken for 64."""
    tl.block_type(tl.float32, [64])
    for _ in range(2):
        with pytest.raises(error, match=words):
            tl.block_type(tl.float32, shape)


@triton.jit
def sum_kernel(x_ptr, out_ptr, rows_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(rows_ptr + tl.arange(0, M), tl.sum(x, axis=1))
    tl.store(out_ptr, tl.sum(x))


def test_a_bfloat16_tile_is_summed_and_not_its_bit_patterns():
    """Kills: the sum of bit patterns, which came out as -1.7e35 for 514."""
    x = torch.rand(4, 8, device=DEVICE).bfloat16()
    out, rows = x.new_empty(1), x.new_empty(4)
    sum_kernel[(1,)](x, out, rows, M=4, N=8)
    torch.testing.assert_close(rows, x.sum(1), rtol=2**-7, atol=0)
    torch.testing.assert_close(out, x.sum().reshape(1), rtol=2**-6, atol=0)


@triton.jit
def wide_kernel(out_ptr):
    tl.store(out_ptr, tl.full((1,), 3.0, dtype=tl.float64).sum())


def test_a_float64_is_rounded_to_bfloat16():
    """Kills: the number 3.0 cut to the integer 3, and that read as bits."""
    out = torch.zeros(1, dtype=torch.bfloat16, device=DEVICE)
    wide_kernel[(1,)](out)
    assert out.item() == 3.0


@triton.jit
def whole_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x.to(tl.bfloat16) + (x > 3).to(tl.bfloat16))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32])
def test_whole_numbers_and_truths_become_bfloat16(dtype):
    """Kills: 3 taken for the bits of 4e-45, and a mask for zeros."""
    x = torch.arange(-4, 12, dtype=dtype, device=DEVICE)
    out = torch.empty(16, dtype=torch.bfloat16, device=DEVICE)
    whole_kernel[(1,)](x, out, BLOCK=16)
    torch.testing.assert_close(out, x.bfloat16() + (x > 3).bfloat16())


@pytest.mark.skipif(not tritonbook.INTERPRET, reason="compiled kernels replace nothing")
def test_triton_s_own_functions_are_back_after_each_launch():
    """Kills: a replacement that outlives its launch, also one that fails, or that the second
    launch no longer finds."""

    @triton.jit
    def twice(x_ptr, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * 2)

    @triton.jit
    def fails(x_ptr):
        tl.load(x_ptr + tl.arange(0, 3))

    load, arange, x = tl.load, tl.arange, torch.ones(4)
    for wanted in (2.0, 4.0):
        twice[(1,)](x, 4)
        assert x.tolist() == [wanted] * 4
        assert tl.load is load and tl.arange is arange
        with pytest.raises(Exception, match="power of 2"):
            fails[(1,)](x)
        assert tl.load is load
    with pytest.raises(Exception, match="_semantic|_builder"):
        tl.arange(0, 4)  # outside a kernel it still refuses


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) * factor)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_factor_makes_half_precision_float32(dtype):
    """Kills: a run-time number that takes the tile's dtype, where a GPU multiplies in float32."""
    x = torch.linspace(-3, 3, 16, device=DEVICE).to(dtype)
    out = torch.empty_like(x, dtype=torch.float32)
    scale_kernel[(1,)](x, out, 0.3333, BLOCK=16)
    torch.testing.assert_close(out, x.float() * 0.3333, rtol=1e-6, atol=0)


@pytest.mark.skipif(not tritonbook.INTERPRET, reason="a launch of the interpreter's")
def test_a_launch_takes_arguments_as_they_are_where_they_lie_on_the_host():
    """Kills: copies of all that a launch is given, kept until Python looks for circles; a tensor
    without memory that is taken for one on the host."""
    x, meta = torch.ones(4), torch.ones(4, device="meta")
    launch = object.__new__(interpreter.GridExecutor)
    given, named = (x, 3, None), {"y": x}
    assert launch._init_args_hst(given, named) == (given, named)
    with pytest.raises(Exception):  # noqa: B017  (Triton's own, in other words in each version)
        scale_kernel[(1,)](meta, meta, 2.0, BLOCK=4)


@pytest.mark.skipif(not tritonbook.INTERPRET, reason="of the interpreter")
def test_one_truth_value_makes_no_number_of_a_mask():
    """Kills: `mask & (n > 0)` of whole numbers, which Triton 3.9 takes for no mask."""
    compared = interpreter.TensorHandle(np.array([True]), tl.int64)  # as a comparison gives it
    spread = interpreter.interpreter_builder.create_splat(tl.block_type(tl.int1, [4]), compared)
    assert spread.data.dtype == np.bool_ and spread.data.tolist() == [True] * 4
