"""Tensor descriptors: what a GPU's copy engine needs to fetch a tile of a tensor by itself.

Hopper GPUs (sm_90) were the first to have such an engine (TMA, tensor memory accelerator). One
thread orders a whole tile; nothing is computed per element, and what lies outside arrives as zero.
"""

from __future__ import annotations

from typing import Any

import torch

from ..port.compat import target_arch, triton_version
from ..port.device import INTERPRET


def can_describe(*tensors: torch.Tensor) -> bool:
    """Can this Triton hand tiles of these tensors to the copy engine of this GPU?

    The interpreter can play the engine: it says yes to the same tensors.
    The engine asks for elements of 2 bytes side by side in the last dimension (4 would do, but the
    workbook has no use for them), and for an address and strides that are multiples of 16 bytes.
    Triton 3.6 is the oldest that the workbook has tried it with.
    """
    engine = INTERPRET or target_arch() >= 90
    return triton_version() >= (3, 6) and engine and all(map(describable, tensors))


def describable(x: torch.Tensor) -> bool:
    """Halves side by side, where the engine wants them: address and steps in units of 16 bytes."""
    steps = [stride * x.element_size() for stride in x.stride()[:-1]]
    return (
        x.element_size() == 2
        and x.numel() > 0
        and x.stride(-1) == 1
        and x.data_ptr() % 16 == 0
        and all(step > 0 and step % 16 == 0 for step in steps)
    )


def describe(x: torch.Tensor, block: list[int]) -> Any:
    """A descriptor of x for tiles of shape `block`: `load([i, j, ...])` fetches the one from there.

    Raises ImportError with a Triton that has none: ask `can_describe` first.
    """
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(x, list(x.shape), list(x.stride()), block)
