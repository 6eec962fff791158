"""Programmatic dependent launch: a kernel that starts before the last one has ended.

`gdc_launch_dependents` and `gdc_wait` are Triton's own where it has them (3.5 does, 3.2 does not).
Elsewhere they do nothing, which is right for launches that follow each other in turn.
"""

from __future__ import annotations

import functools

import torch

from .device import INTERPRET

# After .device, which decides between GPU and interpreter before Triton is imported.
import triton  # isort: skip

try:
    from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

    TRITON_HAS_IT = True
except ImportError:
    TRITON_HAS_IT = False

    @triton.jit
    def gdc_launch_dependents():
        """Nothing: the next launch waits for the end of this one anyway."""

    @triton.jit
    def gdc_wait():
        """Nothing: the launch before has ended."""


def can_launch_early() -> bool:
    """Can a launch with `launch_pdl=True` begin before the last one has ended? From sm_90 on."""
    if INTERPRET or not TRITON_HAS_IT or not torch.cuda.is_initialized():
        return False
    return _can(torch.cuda.current_device())


@functools.cache  # asked before every launch, where each microsecond of the host counts
def _can(device: int) -> bool:
    return torch.cuda.get_device_capability(device) >= (9, 0)


__all__ = ["can_launch_early", "gdc_launch_dependents", "gdc_wait"]
