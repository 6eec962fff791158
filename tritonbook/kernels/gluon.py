"""Gluon, Triton's lower level, for the pages of part 6: the names that their kernels use, and the
descriptors that their wrappers make.

They live in `triton.experimental.gluon`. Where `triton_has_gluon` says no, stand-ins have these
names, and the kernels are defined but never compiled.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl

from ..port.compat import target_arch, triton_version
from ..port.device import INTERPRET
from ..words import later
from .descriptors import describable


def triton_has_gluon() -> bool:
    """Has this Triton a Gluon whose functions have the names and signatures of pages 63 to 65?

    Versions 3.6 to 3.8 do. Before, they are others or absent; 3.9 renamed one.
    """
    return (3, 6) <= triton_version() < (3, 9)


def can_run_gluon() -> bool:
    """Can the Gluon kernels that are made for sm_90 run, or be compiled, here?"""
    return triton_has_gluon() and not INTERPRET and target_arch() == 90


if triton_has_gluon():
    from triton.experimental.gluon import jit as _jit
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    barrier = getattr(gl, "barrier", None) or gl.thread_barrier  # its name before Triton 3.7

    def jit(fn: Any) -> Any:
        """`gluon.jit` of Triton; where Triton is interpreted, launches are simulated."""
        if not INTERPRET:
            return _jit(fn)
        from ..simulating.run import launch_simulated

        return launch_simulated(_jit(fn))
else:

    class jit:
        """A kernel that this Triton cannot compile."""

        def __init__(self, fn: Any):
            self.fn = fn

        def __getitem__(self, grid: Any) -> Any:
            raise RuntimeError(
                f"This page's Gluon needs Triton 3.6 to 3.8, and here is {triton.__version__}."
            )

    gl = types.SimpleNamespace(constexpr=tl.constexpr)
    async_copy = mbarrier = tma = TensorDescriptor = None
    mma_v2 = barrier = fence_async_shared = warpgroup_mma = warpgroup_mma_wait = None


@functools.cache
def layout_of(block: tuple[int, ...], dtype: torch.dtype) -> Any:
    """How a tile lies in shared memory for tensor cores and copy engine. Kept: it takes 10 us."""
    return gl.NVMMASharedLayout.get_default_for(list(block), getattr(gl, str(dtype)[6:]))


def laid_out(x: torch.Tensor, shape: list[int], strides: list[int], block: list[int]) -> Any:
    """A Gluon descriptor of part of x, for tiles of shape `block` in `layout_of` them."""
    return TensorDescriptor(x, shape, strides, block, layout_of(tuple(block), x.dtype))


def describe(x: torch.Tensor, block: Sequence[int]) -> Any:
    """A matrix as a Hopper GPU's copy engine knows it: base, shape, strides, and shape of a tile.

    Raises ValueError where the engine cannot take x, RuntimeError on a GPU without one. (Where
    Triton is interpreted, Gluon is simulated.)
    """
    if not (INTERPRET or target_arch() == 90):
        raise RuntimeError(
            "This kernel is made for an H100, and this GPU is another. Set TRITON_INTERPRET=1 "
            "before you start the notebook: then the kernel is simulated."
        )
    try:
        if x.element_size() == 2:
            return laid_out(x, list(x.shape), list(x.stride()), list(block))
    except AssertionError:  # the descriptor looks at all but the size of an element
        pass
    raise ValueError(
        later(
            "the copy engine takes float16 or bfloat16, the numbers of a row side by side, rows a "
            f"multiple of 16 bytes apart; this is {x.dtype} with the strides {x.stride()}"
        )
    )


def gluon_takes(*tensors: torch.Tensor) -> bool:
    """Is this an H100, and could `describe` take all of these?"""
    return can_run_gluon() and all(map(describable, tensors))


gluon = sys.modules[__name__]  # kernels are decorated with `gluon.jit`, as in Triton
__all__ = [
    "TensorDescriptor",
    "async_copy",
    "barrier",
    "describe",
    "fence_async_shared",
    "gl",
    "gluon",
    "gluon_takes",
    "mbarrier",
    "mma_v2",
    "tma",
    "warpgroup_mma",
    "warpgroup_mma_wait",
]
