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
from operator import itemgetter
from typing import Any

import torch

from .port.compat import hook_launch, launch_arguments, tensor_of
from .port.dispatch import MAKE_EMPTY, DispatchMode
from .port.launch_again import Step, Tensors, Where, again, moved

_VIEWS = {"view", "_unsafe_view", "reshape", "as_strided", "transpose", "t", "permute", "expand"}
_VIEWS |= {"slice", "select", "squeeze", "unsqueeze", "detach", "alias", "unbind", "split"}

try:  # what torch.compile's programs call: without keywords, in half the time
    from torch._C._dynamo.guards import _empty_strided_cuda
except ImportError:
    _empty_strided_cuda = None


@dataclass(frozen=True)
class New:
    """A tensor that a call allocates. make: allocates one like it, with whatever is in memory, or
    asks for a `lasting` one."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    make: Callable[[], torch.Tensor]

    @classmethod
    def like(cls, x: torch.Tensor, made_by: Callable[[], torch.Tensor] | None) -> New:
        shape, strides = tuple(x.shape), x.stride()
        if made_by:
            return cls(shape, strides, x.dtype, made_by)
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
    return. Tensors must be arguments, from their first element on, new, parts of new ones, or
    `lasting`. Nothing may depend on what tensors hold, nor on anything else that is no argument.
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
        steps = tuple(step(tensors, len(seen.new)) for step in seen.steps)
        new = tuple(New.like(x, seen.made_by.get(number)) for number, x in enumerate(seen.new))
        return result, Recording(new, steps, _same(tensors, len(seen.new), result))
    except LookupError:
        return result, None


_recording: list[_Seen] = []


def being_recorded() -> bool:
    """Inside a `record`?"""
    return bool(_recording)


def lasting(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    """make(): a tensor that a call uses and that outlives it. A recording asks for it anew."""
    for seen in _recording:
        seen.pauses = True
    try:
        x = make()
    finally:
        for seen in _recording:
            seen.pauses = False
    for seen in _recording:
        seen.made_by[len(seen.new)] = make
        seen.new.append(x)
    return x


class _Seen(DispatchMode):
    """A call's allocations, what makes its steps of its tensors, and what else it did, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.new: Tensors = []
        self.made_by: dict[int, Callable[[], torch.Tensor]] = {}  # which of them are lasting
        self.steps: list[Callable[[Tensors, int], Step]] = []
        self.more: list[str] = []
        self.pauses = False

    def launch(self, call: Any, kernel: Any, grid: Any, values: Any, named: Any) -> Any:
        self.pauses = True  # the interpreter itself calls torch
        try:
            compiled = call()
        finally:
            self.pauses = False
        named = launch_arguments(kernel, values, named)
        size = grid(named) if callable(grid) else grid
        size = (*(size if isinstance(size, (tuple, list)) else (size,)), 1, 1)[:3]
        self.steps.append(lambda *told: _launch(*told, compiled, kernel, size, named))
        return compiled

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        name = func.name().partition("::")[2].split(".")[0]
        if self.pauses or name in _VIEWS:
            return made
        if name in MAKE_EMPTY:
            self.new.append(made)
        elif name == "copy_":
            to, source = args[:2]
            self.steps.append(lambda *told: _copy(*told, to, source))
        else:
            self.more.append(name)
        return made


def _where(tensors: Tensors, new: int, x: Any) -> Where:
    """Where x lies among the tensors, of which the last `new` were allocated. LookupError: nowhere.

    What is allocated begins at a multiple of 16, so a part of it is as aligned in the next call. Of
    a part of an argument nobody knows.
    """
    for number, other in enumerate(tensors):
        if other is x:
            return Where(number, 0, itemgetter(number))
    if isinstance(x, torch.Tensor) and x.numel():
        for number, other in enumerate(tensors):
            further = x.data_ptr() - other.data_ptr()
            size = other.untyped_storage().nbytes() if number >= len(tensors) - new else 1
            if x.dtype == other.dtype and 0 <= further < size:
                whole = not further and (x.shape, x.stride()) == (other.shape, other.stride())
                return Where(
                    number, further, itemgetter(number) if whole else _view(number, further, x)
                )
    raise LookupError


def _view(number: int, further: int, x: torch.Tensor) -> Callable[[Tensors], torch.Tensor]:
    shape, strides, further = x.shape, x.stride(), further // x.element_size()

    def pick(tensors: Tensors) -> torch.Tensor:
        whole = tensors[number]
        return whole.as_strided(shape, strides, whole.storage_offset() + further)

    return pick


def _launch(tensors: Tensors, new: int, compiled: Any, kernel: Any, grid: Any, named: Any) -> Step:
    values = [named[name] for name in inspect.signature(kernel).parameters]
    plain, told = {}, {}
    for place, value in enumerate(values):
        x = tensor_of(value)
        if isinstance(x, torch.Tensor):
            (plain if x is value else told)[place] = _where(tensors, new, x)
            values[place] = None if x is value else moved(value, x.data_ptr())
        elif isinstance(value, tuple):
            raise LookupError  # there may be tensors in it
    return again(compiled, kernel, grid, values, plain, told)


def _copy(tensors: Tensors, new: int, to: torch.Tensor, source: torch.Tensor) -> Step:
    to_same, source_same = _where(tensors, new, to).pick, _where(tensors, new, source).pick

    def copy(others: Tensors) -> None:
        to_same(others).copy_(source_same(others))

    return copy


def _same(tensors: Tensors, new: int, value: Any) -> Callable[[Tensors], Any]:
    """What makes such a value of the tensors of another call."""
    if isinstance(value, (tuple, list)):
        parts = [_same(tensors, new, each) for each in value]
        return lambda others: type(value)([part(others) for part in parts])
    if value is None:
        return lambda others: None
    return _where(tensors, new, value).pick
