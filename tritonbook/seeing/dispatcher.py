"""PyTorch's dispatcher as a table that can be changed and watched.

`implement` puts a function in an operator's place and `launches_by_operator` proves that it works;
`called_operators` lists what a piece of code asks PyTorch for.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..port import device
from ..port.compat import hook_launch

# Operators without a kernel of their own: they call others, and get their gradient from them.
COMPOSITE = ("rms_norm",)

_used: weakref.WeakSet[torch.library.Library] = weakref.WeakSet()
_running: list[str] = []  # replaced operators at work, innermost last


def implement(lib: torch.library.Library, name: str, function: Callable[..., Any]) -> None:
    """Put `function` in the place of the operator aten::`name` on this machine's device.

    lib: a `torch.library.Library("aten", "IMPL")`; closing it brings PyTorch's kernel back.
    A composite operator is replaced above autograd too, so `function` must be differentiable.
    Raises RuntimeError for a name that PyTorch does not have.
    """

    def replacement(*arguments: Any, **options: Any) -> Any:
        _running.append(name)
        try:
            return function(*arguments, **options)
        finally:
            _running.pop()

    key = device.DEVICE.upper()
    # The floor below autograd serves inference mode, which leaves the upper one out.
    floors = [key, f"Autograd{key}"] if name in COMPOSITE else [key]
    # Newer versions ask for the flag, older ones do not know it; all warn of the first override.
    known = "allow_override" in inspect.signature(lib.impl).parameters
    intended = {"allow_override": True} if known else {}
    _used.add(lib)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once for all operators")
        for floor in floors:
            lib.impl(name, replacement, floor, **intended)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Close every library that `implement` used inside the block: no replacement outlives it."""
    before = set(_used)
    try:
        yield
    finally:
        for lib in set(_used) - before:
            lib._destroy()


@contextlib.contextmanager
def launches_by_operator() -> Iterator[Counter[str]]:
    """How many kernels each replaced operator launches; other kernels under their own names."""
    counts: Counter[str] = Counter()

    def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        counts[_running[-1] if _running else fn.__name__] += 1
        return call()

    with hook_launch(around):
        yield counts


class _Called(TorchDispatchMode):
    def __init__(self, names: Counter[str]) -> None:
        super().__init__()
        self._names = names

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if not any(result.alias_info for result in operator._schema.returns):
            self._names[str(operator).removeprefix("aten.").removesuffix(".default")] += 1
        return operator(*args, **(kwargs or {}))


@contextlib.contextmanager
def called_operators() -> Iterator[Counter[str]]:
    """How often each operator is called inside the block, also in a backward pass; views left out.

    Names are as in `implement`; operators of other namespaces keep their namespace.
    """
    names: Counter[str] = Counter()
    with _Called(names):
        yield names


def listed(counts: Counter[str]) -> str:
    """Counts on one line, the largest first."""
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"
