"""Where the Gluon kernels of notebooks 64 and 65 run, whose warps have different jobs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .port.compat import target_arch, triton_version
from .port.device import INTERPRET


def triton_has_gluon() -> bool:
    """Has this Triton a Gluon whose functions have the names and signatures of notebooks 64, 65?

    Versions 3.6 to 3.8 do. Before, they are others or absent; 3.9 renamed one.
    """
    return (3, 6) <= triton_version() < (3, 9)


def can_run_gluon() -> bool:
    """Can the Gluon kernels of notebooks 64 and 65 run, or be compiled, here? They are for sm_90.

    Gluon has no interpreter.
    """
    return triton_has_gluon() and not INTERPRET and target_arch() == 90


def gluon_attention(
    q: Any, k: Any, v: Any, least: int | None, own_tiles: int | None = None
) -> Callable[..., Any] | None:
    """`flash_gluon` of notebook 65 for these tensors, or None: the caller's own kernel should run.

    q: (B, H, L, D). k, v: (B, HK, L, D).
    least: from how many queries on the other kernel is wanted, for heads of 128; smaller heads
        mean less work for each query, so they need as many more. None: never.
    own_tiles: a tile size that the caller was asked for, which the other kernel has not.
    """
    if least is None or q.shape[2] * q.shape[3] < least * 128 or own_tiles:
        return None
    if not can_run_gluon() or not _attention().gluon_takes(q, k, v):
        return None
    return _attention().flash_gluon


@functools.cache
def _attention() -> Any:
    from .course.exercises import get, load

    return load(get("65_gluon_attention"))
