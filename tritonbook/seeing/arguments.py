"""Carry a call to another process: its arguments by description, or with their values.

To compile a kernel only shape, strides, dtype and alignment of a tensor matter; to run it in the
interpreter the values are needed too. Plain Python values travel as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from ..export.writer import ExportError, export
from .memory import copy_elements, placed

_SMALL = 4096  # integer tensors up to this many elements keep their values: they may be indices


def request(
    job: str,
    fn: Callable[..., Any],
    args: Iterable[Any],
    options: dict[str, Any],
    folder: Path | None = None,
    **more: Any,
) -> dict[str, Any]:
    """What the helper process is asked: a job on `fn(*args, **options)`; `more` is the job's own.

    folder: see `encode`. Raises ExportError.
    """
    exported = export(fn)
    return {
        "job": job,
        "source": exported.text,
        "entry": exported.entry,
        "args": [encode(value, folder) for value in args],
        "options": {name: encode(value, folder) for name, value in options.items()},
        "path": [place for place in sys.path if place],
        **more,
    }


def encode(value: Any, folder: Path | None = None) -> Any:
    """`value` as JSON-ready data. folder: save tensors' values there, else describe tensors.

    Raises ExportError for what another process cannot be given.
    """
    if isinstance(value, torch.Tensor):
        return {"tensor": _describe(value, folder)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (torch.dtype, torch.device)):
        return {type(value).__name__: str(value)}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [encode(item, folder) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encode(item, folder) for key, item in value.items()}}
    if callable(value):
        exported = export(value)
        return {"function": [exported.text, exported.entry]}
    raise ExportError(
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
    elif data.numel() <= _SMALL and not (
        data.dtype.is_floating_point or data.is_complex() or data.is_meta
    ):
        described["values"] = data.cpu().tolist()
    return described


def decode(data: Any, load: Any) -> Any:
    """The value that `encode` described. load(text, entry): a function from exported source."""
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "tensor":
        return _rebuild(content)
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
    shape, dtype = described["shape"], getattr(torch, described["dtype"])
    tensor = placed(shape, described["stride"], dtype, described["offset"])
    if "file" in described:
        copy_elements(torch.load(described["file"]), tensor)
    elif "values" in described:
        copy_elements(torch.tensor(described["values"], dtype=dtype).reshape(shape), tensor)
    return tensor.requires_grad_(described["grad"])
