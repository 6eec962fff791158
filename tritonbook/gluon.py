"""Gluon, Triton's lower level, for notebooks 64 and 65: the names that their kernels use.

They live in `triton.experimental.gluon`. Where `triton_has_gluon` of `warp_jobs` says no, stand-ins
have these names, and the kernels are defined but never compiled.
"""

from __future__ import annotations

import types
from typing import Any

import triton.language as tl

from .warp_jobs import triton_has_gluon

if triton_has_gluon():
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,
        mbarrier,
        tma,
        warpgroup_mma,
        warpgroup_mma_wait,
    )
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    barrier = getattr(gl, "barrier", None) or gl.thread_barrier  # its name before Triton 3.7
else:

    def _absent(fn: Any) -> Any:
        return fn

    gluon = types.SimpleNamespace(jit=_absent)
    gl = types.SimpleNamespace(constexpr=tl.constexpr)
    mbarrier = tma = TensorDescriptor = None
    barrier = fence_async_shared = warpgroup_mma = warpgroup_mma_wait = None

__all__ = [
    "TensorDescriptor",
    "barrier",
    "fence_async_shared",
    "gl",
    "gluon",
    "mbarrier",
    "tma",
    "warpgroup_mma",
    "warpgroup_mma_wait",
]
