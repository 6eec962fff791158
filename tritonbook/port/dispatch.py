"""Seeing torch's operators as they are called, without loading torch's compiler."""

from __future__ import annotations

import functools
import sys
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

# Names of aten operators that make a tensor, without and with values.
MAKE_EMPTY = {
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
}
MAKE_FILLED = {
    "zeros",
    "zeros_like",
    "new_zeros",
    "full",
    "full_like",
    "new_full",
    "ones",
    "ones_like",
    "new_ones",
}


# The operator behind a launch through `torch.library.wrap_triton`.
_LAUNCH = "triton_kernel_wrapper_mutation"


class DispatchMode(TorchDispatchMode):
    """`TorchDispatchMode` without its first call's cost, for which a launch is no operator.

    PyTorch shields every mode from torch.compile, and to do so imports `torch._dynamo` at the
    mode's first call: over a second, in each process that checks or draws anything. Here the
    shield goes up when something else has imported it; before that nothing can be compiled.
    """

    supports_higher_order_operators = True  # as a launch may be one

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # asked by PyTorch, which then leaves __torch_dispatch__ as it is

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        plain = cls.__dict__.get("__torch_dispatch__")
        if plain is None:
            return

        @functools.wraps(plain)
        def seen(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.name() == _LAUNCH:
                return func(*args, **(kwargs or {}))
            return plain(self, func, types, args, kwargs)

        @functools.wraps(plain)
        def dispatch(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            dynamo = sys.modules.get("torch._dynamo")
            shield = getattr(dynamo, "disable", None)
            if shield is None:
                return seen(self, func, types, args, kwargs)
            cls.__torch_dispatch__ = shield(seen)
            return cls.__torch_dispatch__(self, func, types, args, kwargs)

        cls.__torch_dispatch__ = dispatch
