"""Gluon, Triton's lower level, for the pages of part 6: the names that their kernels use.

They live in `triton.experimental.gluon`. Where `triton_has_gluon` of `warp_jobs` says no, stand-ins
have these names, and the kernels are defined but never compiled.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import triton
import triton.language as tl

from .port.device import INTERPRET
from .warp_jobs import triton_has_gluon

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
        from .simulating.run import launch_simulated

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

gluon = sys.modules[__name__]  # kernels are decorated with `gluon.jit`, as in Triton
__all__ = [
    "TensorDescriptor",
    "async_copy",
    "barrier",
    "fence_async_shared",
    "gl",
    "gluon",
    "mbarrier",
    "mma_v2",
    "tma",
    "warpgroup_mma",
    "warpgroup_mma_wait",
]
