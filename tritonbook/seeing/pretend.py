"""CPU tensors stand for a GPU's, in the process that compiles for a GPU or measures without one."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class PretendCuda(TorchFunctionMode):
    """Inside, `is_cuda` is true, and device="cuda" allocates on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == torch.Tensor.is_cuda.__get__:  # a new object at each look: equal, not identical
            return True
        if func is torch.Tensor.cuda:
            return args[0]
        if _is_cuda(kwargs.get("device")):
            kwargs["device"] = "cpu"
        if func is torch.Tensor.to:
            args = tuple("cpu" if _is_cuda(arg) else arg for arg in args)
        return func(*args, **kwargs)


def _is_cuda(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and device.split(":")[0] == "cuda"


def serve_operators_on_the_cpu() -> None:
    """From now on, what is registered for CUDA runs on the CPU."""
    original = torch.library.Library.impl

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = "CPU" if dispatch_key == "CUDA" else dispatch_key
        return original(self, op_name, fn, key, **options)

    torch.library.Library.impl = impl
