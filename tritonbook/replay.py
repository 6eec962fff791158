"""`record(fn, *args)`: what a call allocates and launches, ready to be done again.

Before a kernel starts, Python chooses tiles, asks for strides and alignments, looks for the
compiled kernel, allocates and launches. All but the last two comes out the same for arguments of
one kind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from .descriptors import tensor_of
from .port.compat import hook_launch, launch_arguments
from .port.dispatch import MAKE_EMPTY, DispatchMode
from .port.launch_again import Step, Tensors, again, moved

_VIEWS = {"view", "_unsafe_view", "reshape", "as_strided", "transpose", "t", "permute", "expand"}
_VIEWS |= {"slice", "select", "squeeze", "unsqueeze", "detach", "alias", "unbind", "split"}

try:  # what torch.compile's programs call: without keywords, in half the time
    from torch._C._dynamo.guards import _empty_strided_cuda
except ImportError:
    _empty_strided_cuda = None


@dataclass(frozen=True)
class New:
    """A tensor that a call allocates. make: allocates one like it, with whatever is in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    make: Callable[[], torch.Tensor]

    @classmethod
    def like(cls, x: torch.Tensor) -> New:
        shape, strides = tuple(x.shape), x.stride()
        make = partial(torch.empty_strided, shape, strides, dtype=x.dtype, device=x.device)
        if x.is_cuda and _empty_strided_cuda is not None:
            make = partial(_empty_strided_cuda, shape, strides, x.dtype)
        return cls(shape, strides, x.dtype, make)


@dataclass(frozen=True)
class Recording:
    """What one call did.

    new: its allocations, in order. steps: its launches and copies, in order; each is called with
    the list of the call's tensors: those among the arguments, in order, then the new ones. result:
    makes fn's result of the same list.
    """

    new: tuple[New, ...]
    steps: tuple[Step, ...]
    result: Callable[[Tensors], Any]


def record(fn: Callable[..., Any], *args: Any) -> tuple[Any, Recording | None]:
    """Call fn(*args): its result, and what it did; None where that cannot be done again.

    Again can be done: `torch.empty` and its like, views, copies, launches of Triton kernels, and to
    return, with tensors that are arguments, or new, from their first element on. Nothing may depend
    on what tensors hold, nor on anything that is no argument.
    """
    seen = _Seen()
    _recording.append(seen)
    try:
        with hook_launch(seen.launch), seen:
            result = fn(*args)
    finally:
        _recording.pop()
    if seen.more:
        return result, None
    tensors = [*(x for x in args if isinstance(x, torch.Tensor)), *seen.new]
    try:
        steps = tuple(step(tensors) for step in seen.steps)
        return result, Recording(tuple(map(New.like, seen.new)), steps, _same(tensors, result))
    except LookupError:
        return result, None


_recording: list[_Seen] = []


def being_recorded() -> bool:
    """Inside a `record`?"""
    return bool(_recording)


class _Seen(DispatchMode):
    """A call's allocations, what makes its steps of its tensors, and what else it did, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.new: Tensors = []
        self.steps: list[Callable[[Tensors], Step]] = []
        self.more: list[str] = []
        self._launching = False

    def launch(self, call: Any, kernel: Any, grid: Any, values: Any, named: Any) -> Any:
        self._launching = True  # the interpreter itself calls torch
        try:
            compiled = call()
        finally:
            self._launching = False
        named = launch_arguments(kernel, values, named)
        size = grid(named) if callable(grid) else grid
        size = (*(size if isinstance(size, (tuple, list)) else (size,)), 1, 1)[:3]
        self.steps.append(lambda tensors: _launch(tensors, compiled, kernel, size, named))
        return compiled

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        name = func.name().partition("::")[2].split(".")[0]
        if self._launching or name in _VIEWS:
            return made
        if name in MAKE_EMPTY:
            self.new.append(made)
        elif name == "copy_":
            to, source = args[:2]
            self.steps.append(lambda tensors: _copy(tensors, to, source))
        else:
            self.more.append(name)
        return made


def _number(tensors: Tensors, x: Any) -> int:
    """Which of the tensors x is, or begins where x does. Raises LookupError where none does."""
    for number, other in enumerate(tensors):
        if other is x:
            return number
    if isinstance(x, torch.Tensor) and x.numel():
        for number, other in enumerate(tensors):
            if other.data_ptr() == x.data_ptr() and other.dtype == x.dtype:
                return number
    raise LookupError


def _launch(tensors: Tensors, compiled: Any, kernel: Any, grid: Any, named: Any) -> Step:
    values = [named[name] for name in inspect.signature(kernel).parameters]
    plain, told = [], []
    for place, value in enumerate(values):
        x = tensor_of(value)
        if isinstance(x, torch.Tensor):
            (plain if x is value else told).append((place, _number(tensors, x)))
            values[place] = None if x is value else moved(value, x.data_ptr())
        elif isinstance(value, tuple):
            raise LookupError  # there may be tensors in it
    return again(compiled, kernel, grid, values, plain, told)


def _copy(tensors: Tensors, to: torch.Tensor, source: torch.Tensor) -> Step:
    to_same, source_same = _same(tensors, to), _same(tensors, source)

    def copy(others: Tensors) -> None:
        to_same(others).copy_(source_same(others))

    return copy


def _same(tensors: Tensors, value: Any) -> Callable[[Tensors], Any]:
    """What makes such a value of the tensors of another call."""
    if isinstance(value, (tuple, list)):
        parts = [_same(tensors, each) for each in value]
        return lambda others: type(value)([part(others) for part in parts])
    if value is None:
        return lambda others: None
    number, shape, strides = _number(tensors, value), value.shape, value.stride()
    if (tensors[number].shape, tensors[number].stride()) == (shape, strides):
        return lambda others: others[number]
    return lambda others: others[number].as_strided(shape, strides)
