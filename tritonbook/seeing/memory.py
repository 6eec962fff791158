"""Room around tensors, so that a lane that strays from one does not land in its neighbour."""

from __future__ import annotations

from typing import Any

import torch

from ..port.dispatch import MAKE_EMPTY, MAKE_FILLED, DispatchMode
from .regions import extent

_LEAST = 16384  # elements on either side, at least


def roomy(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with the same shape, strides and alignment in the middle of a larger storage."""
    data = tensor.detach()
    size = extent(data.shape, data.stride())
    margin = max(_LEAST, size if data.ndim > 1 else 0)
    storage = torch.zeros(size + 2 * margin + 16, dtype=data.dtype)
    wanted = data.data_ptr() % 16 if data.device.type == "cpu" else 0
    itemsize = data.element_size()
    shift = ((wanted - storage.data_ptr() - margin * itemsize) % 16) // itemsize
    view = storage.as_strided(data.shape, data.stride(), margin + shift)
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
