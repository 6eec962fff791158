"""A global `tl.constexpr` in a kernel: the interpreter gets it wrong from Triton 3.7 on."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE

HALF = tl.constexpr(0.5)


@triton.jit
def inline_kernel(x_ptr, out_ptr, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, tl.exp(2 * HALF * (x - 1)) + (1 - HALF * x) / (HALF + x * x))


@triton.jit
def compared_kernel(x_ptr, out_ptr, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs)
    # The constant stands on the left on purpose.
    tl.store(out_ptr + offs, tl.where(HALF > x, 1.0, HALF - x))  # noqa: SIM300


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (inline_kernel, lambda x: torch.exp(x - 1) + (1 - x / 2) / (0.5 + x * x)),
        (compared_kernel, lambda x: torch.where(x < 0.5, 1.0, 0.5 - x)),
    ],
)
def test_a_constant_and_a_tile_make_a_tile(kernel, formula):
    x = torch.linspace(-3, 3, 16, device=DEVICE)
    out = torch.empty_like(x)
    kernel[(1,)](x, out, BLOCK_SIZE=16)
    torch.testing.assert_close(out, formula(x))


def test_constants_among_themselves_stay_constants():
    assert isinstance(HALF * 2, tl.constexpr) and (HALF * 2).value == 1.0


@triton.jit
def unimported_kernel(out_ptr):
    tl.store(out_ptr, math.sqrt(2.0))  # noqa: F821


@pytest.mark.skipif(DEVICE != "cpu", reason="the compiler knows no such name")
def test_a_name_that_nobody_imported_is_not_there():
    """Kills: Triton's own `math` and `np` beside a kernel, which then fails on a GPU alone."""
    with pytest.raises(Exception, match="'math' is not defined"):
        unimported_kernel[(1,)](torch.empty(1))
    assert "math" not in globals()
