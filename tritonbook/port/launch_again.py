"""A launch that took place, done again with other tensors, by as little Python as Triton allows.

`kernel[grid](...)` asks each argument for its kind, looks for the compiled kernel, asks for device,
stream and hooks. All of that has been answered.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..words import later
from .compat import launches_are_watched, triton_version
from .device import INTERPRET

Tensors = list[torch.Tensor]
Step = Callable[[Tensors], None]  # one thing that a call does, with its tensors
MOST = 64  # encoded descriptors that a launch keeps


@dataclass(frozen=True)
class Where:
    """Where a tensor lies: so many bytes behind the beginning of one among a call's tensors, by its
    number. pick: makes it of them."""

    number: int
    further: int
    pick: Callable[[Tensors], torch.Tensor]


Places = Mapping[int, Where]  # place among the parameters -> what goes there


def again(
    compiled: Any, fn: Any, grid: tuple[int, ...], values: list[Any], plain: Places, told: Places
) -> Step:
    """The launch, with other tensors.

    compiled: what the launch returned. fn: the kernel's Python function. values: one for each
    parameter. plain: which tensors go where. told: of which a descriptor goes where, which is that
    of `values`, moved. Raises LookupError where a launch cannot be repeated: where none took place,
    and with Triton 3.2, which wants other values.
    """
    if INTERPRET:
        from triton.runtime.interpreter import GridExecutor

        return _as_always(
            GridExecutor(fn, list(inspect.signature(fn).parameters), grid), values, plain, told
        )
    if compiled is None or triton_version() < (3, 3):
        raise LookupError
    openly = _as_always(lambda *filled: compiled[grid](*filled), values, plain, told)
    return _quick(openly, compiled, grid, values, plain, told)


def _as_always(run: Any, values: list[Any], plain: Places, told: Places) -> Step:
    def start(tensors: Tensors) -> None:
        if isinstance(tensors, torch.Tensor):
            raise TypeError(later("a step takes the list of all tensors, not one of them"))
        filled = values.copy()
        for number in {where.number for where in (*plain.values(), *told.values())}:
            if number >= len(tensors) or not isinstance(tensors[number], torch.Tensor):
                kinds = ", ".join(type(each).__name__ for each in tensors)
                raise TypeError(
                    later(f"a step wants a tensor as item {number} of its list, [{kinds}]")
                )
        for place, where in plain.items():
            filled[place] = where.pick(tensors)
        for place, where in told.items():
            filled[place] = moved(values[place], where.pick(tensors))
        run(*filled)

    return start


class _At:
    """All that a descriptor asks of its tensor. It keeps no memory alive."""

    def __init__(self, address: int):
        self.address = address

    def data_ptr(self) -> int:
        return self.address


def moved(descriptor: Any, to: int | torch.Tensor) -> Any:
    """A descriptor that passed its checks, of a tensor like its own, at this address."""
    other = object.__new__(type(descriptor))
    other.__dict__ = descriptor.__dict__ | {"base": _At(to) if isinstance(to, int) else to}
    return other


def _quick(
    openly: Step,
    compiled: Any,
    grid: tuple[int, ...],
    values: list[Any],
    plain: Places,
    told: Places,
) -> Step:
    """On the current stream, with addresses in place of tensors; `openly` while anybody watches."""
    from triton.runtime import driver

    device, stream_of = driver.active.get_current_device(), driver.active.get_current_stream
    run, before, encoders = _entry(compiled, len(told))
    template = [*grid, 0, compiled.function, *before, compiled.packed_metadata, None, None, None]
    coders = dict(zip(told, encoders, strict=True))
    addresses, descriptors = [], []
    for place, value in enumerate(values):
        here = len(template)
        if place in coders:
            filled, where = coders[place](value), told[place]
            kept: dict[int, list[Any]] = {}
            descriptors.append((slice(here, here + len(filled)), where, place, kept))
            template += filled
        else:
            template.append(value)
        if place in plain:
            addresses.append((here, plain[place].number, plain[place].further))

    def start(tensors: Tensors) -> None:
        if launches_are_watched():
            return openly(tensors)
        filled = template.copy()
        filled[3] = stream_of(device)
        for here, number, further in addresses:
            filled[here] = tensors[number].data_ptr() + further
        for span, where, place, kept in descriptors:
            address = tensors[where.number].data_ptr() + where.further
            if address not in kept:
                if len(kept) >= MOST:
                    kept.clear()
                kept[address] = coders[place](moved(values[place], address))
            filled[span] = kept[address]
        run(*filled)

    return start


def _entry(compiled: Any, count: int) -> tuple[Any, tuple[Any, ...], list[Any]]:
    """What launches; what it gets besides, before the kernel's description; what makes the values
    of each of `count` descriptors."""
    run, told = compiled.run, getattr(compiled.metadata, "tensordesc_meta", None) or []
    known = triton_version() in ((3, 5), (3, 6)) and len(told) == count and all(told)
    if not known or run.global_scratch_size or run.profile_scratch_size:
        return run, (), [lambda descriptor: [descriptor]] * count
    from triton.backends.nvidia.driver import make_tensordesc_arg

    # Past two Python functions: one finds out that there is no scratch memory to allocate, the
    # other encodes each descriptor anew, though its address may be the one of the last call.
    launch = run.launch
    if count:
        launch = inspect.getclosurevars(launch).nonlocals["launcher"]
    encoders = [functools.partial(make_tensordesc_arg, metadata=each) for each in told]
    return launch, (run.launch_cooperative_grid, run.launch_pdl, None, None), encoders
