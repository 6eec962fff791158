"""Carry a call's arguments to another process: by description, or with their values.

To compile a kernel only shape, strides, dtype and alignment of a tensor matter; to run it in the
interpreter the values are needed too. Plain Python values travel as they are.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

_SMALL = 4096  # integer tensors up to this many elements keep their values: they may be indices


class CannotSend(TypeError):
    """An argument that another process cannot be given."""


def encode(value: Any, folder: Path | None = None) -> Any:
    """`value` as JSON-ready data. folder: save tensors' values there, else describe tensors."""
    if isinstance(value, torch.Tensor):
        return {"tensor": _describe(value, folder)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (torch.dtype, torch.device)):
        return {type(value).__name__: str(value)}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encode(item, folder) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(item, folder) for key, item in value.items()}}
    if callable(value):
        from ..export.writer import export

        exported = export(value)
        return {"function": [exported.text, exported.entry]}
    raise CannotSend(
        f"an argument of type {type(value).__name__} cannot be sent to another process"
    )


def _describe(tensor: torch.Tensor, folder: Path | None) -> dict[str, Any]:
    data = tensor.detach()
    described: dict[str, Any] = {
        "shape": list(data.shape),
        "stride": list(data.stride()),
        "dtype": str(data.dtype).removeprefix("torch."),
        "offset": data.data_ptr() % 16,
        "grad": tensor.requires_grad,
    }
    if folder is not None:
        path = folder / f"{len(list(folder.iterdir()))}.pt"
        torch.save(data.cpu().contiguous(), path)
        described["file"] = str(path)
    elif _counts(data) and data.numel() <= _SMALL:
        described["values"] = data.cpu().tolist()
    return described


def _counts(data: torch.Tensor) -> bool:
    """Whether a tensor holds whole numbers, which a wrapper may read."""
    return not (data.dtype.is_floating_point or data.is_complex() or data.is_meta)


def decode(data: Any, load: Any) -> Any:
    """The value that `encode` described. load(text, entry): a function from exported source."""
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "tensor":
        return _rebuild(content)
    if kind == "float":
        return float(content)
    if kind == "dtype":
        return getattr(torch, content.removeprefix("torch."))
    if kind == "device":
        return torch.device("cpu")
    if kind == "function":
        return load(*content)
    if kind == "dict":
        return {key: decode(item, load) for key, item in content.items()}
    items = [decode(item, load) for item in content]
    return tuple(items) if kind == "tuple" else items


def _rebuild(described: dict[str, Any]) -> torch.Tensor:
    """A CPU tensor of that description, in a storage of its own, at the same alignment."""
    shape, stride = described["shape"], described["stride"]
    dtype = getattr(torch, described["dtype"])
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if all(shape) else 0
    extra = 16 // dtype.itemsize if dtype.itemsize <= 16 else 0
    storage = torch.zeros(extent + 2 * extra, dtype=dtype)  # lazily, so huge shapes cost nothing
    first = ((described["offset"] - storage.data_ptr()) % 16) // dtype.itemsize
    tensor = storage.as_strided(shape, stride, first)
    if "file" in described:
        values = torch.load(described["file"])
    elif "values" in described:
        values = torch.tensor(described["values"], dtype=dtype).reshape(shape)
    else:
        values = None
    if values is not None:
        _own_elements(tensor).copy_(_own_elements(values, tensor.stride()))
    return tensor.requires_grad_(described["grad"])


def _own_elements(tensor: torch.Tensor, stride: tuple[int, ...] | None = None) -> torch.Tensor:
    """Without the repetitions of expanded dimensions, which cannot be written one by one."""
    for dim, step in enumerate(stride or tensor.stride()):
        if step == 0 and tensor.shape[dim] > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor
