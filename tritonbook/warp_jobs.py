"""Warp specialisation: the warps of one program get different jobs.

Triton does it for a loop with `tl.range(..., warp_specialize=True)` that loads through tensor
descriptors: on sm_90 from version 3.5 on. On sm_100 it does it in another way, which refuses the
kernel of notebook 14 (seen with 3.5 to 3.9); on older GPUs such a loop runs as any other.
In Gluon (notebooks 17 and 18) a kernel says itself which warps do what.
"""

from __future__ import annotations

import torch

from .compat import target_arch, triton_version
from .device import INTERPRET


def can_specialise_warps() -> bool:
    """Can a kernel with such a loop run here: in the interpreter, or with warps that take turns?"""
    return triton_version() >= (3, 5) and (INTERPRET or target_arch() // 10 == 9)


def triton_has_gluon() -> bool:
    """Has this Triton a Gluon whose functions have the names and signatures of notebooks 17, 18?

    Versions 3.6 to 3.8 do. Before, they are others or absent; 3.9 renamed one.
    """
    return (3, 6) <= triton_version() < (3, 9)


def can_run_gluon() -> bool:
    """Can the Gluon kernels of notebooks 17 and 18 run, or be compiled, here? They are for sm_90.

    Gluon has no interpreter.
    """
    return triton_has_gluon() and not INTERPRET and target_arch() == 90


def descriptor_memory(size: int, alignment: int, stream: int | None) -> torch.Tensor:
    """For `triton.set_allocator`: `size` bytes of the GPU, where a kernel keeps its descriptors.

    PyTorch's allocator aligns to 512 bytes, and keeps the memory until what the stream has before
    it is done.
    """
    return torch.empty(size, dtype=torch.int8, device="cuda")
