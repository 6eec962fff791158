"""Room around tensors, so that a lane that strays from one does not land in its neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..port.dispatch import MAKE_EMPTY, MAKE_FILLED, DispatchMode
from .regions import extent

_LEAST = 16384  # elements on either side, at least


def placed(
    shape: Sequence[int], strides: Sequence[int], dtype: torch.dtype, past: int, margin: int = 0
) -> torch.Tensor:
    """Zeros in a storage of their own, on the CPU, with so many elements before and behind.

    past: bytes from an address that 16 divides to the first element. The memory is the system's
    until it is touched, so huge shapes cost nothing.
    """
    storage = torch.zeros(extent(shape, strides) + 2 * margin + 16, dtype=dtype)
    first = storage.data_ptr() + margin * dtype.itemsize
    return storage.as_strided(shape, strides, margin + (past - first) % 16 // dtype.itemsize)


def roomy(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same shape, strides and alignment in the middle of a larger storage."""
    data = tensor.detach()
    margin = max(_LEAST, extent(data.shape, data.stride()) if data.ndim > 1 else 0)
    past = data.data_ptr() % 16 if data.device.type == "cpu" else 0
    view = placed(data.shape, data.stride(), data.dtype, past, margin)
    copy_elements(data, view)
    return view.requires_grad_(tensor.requires_grad)


def copy_elements(source: torch.Tensor, target: torch.Tensor) -> None:
    """Copy values where dimensions of the target may be expanded: one copy serves all."""
    for dim, step in enumerate(target.stride()):
        if step == 0 and target.shape[dim] > 1:
            source, target = source.narrow(dim, 0, 1), target.narrow(dim, 0, 1)
    target.copy_(source)


class RoomyAllocations(DispatchMode):
    """Inside, new tensors get room too. `made`: all of them, in order, kept alive."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        namespace, _, name = func.name().partition("::")
        known = namespace == "aten" and name.split(".")[0] in MAKE_EMPTY | MAKE_FILLED
        if known and isinstance(result, torch.Tensor) and result.device.type == "cpu":
            result = roomy(result)
            self.made.append(result)
        return result
