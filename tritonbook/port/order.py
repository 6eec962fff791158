"""The order in which the interpreter runs the programs of a launch."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any
from unittest import mock

import numpy as np
import torch

from .compat import hook_launch, launch_arguments, tensor_of
from .device import INTERPRET


@contextlib.contextmanager
def backwards() -> Iterator[None]:
    """Inside, the interpreter runs the last program of each launch first, and program 0 last.

    A kernel whose result changes has a race. On a GPU it does nothing: there is no order there.
    """
    if not INTERPRET:
        yield
        return
    from triton.runtime.interpreter import interpreter_builder as builder

    original = builder.set_grid_idx

    def from_the_end(*place: int) -> None:
        original(*(size - 1 - at for size, at in zip(builder.grid_dim, place, strict=True)))

    with mock.patch.object(builder, "set_grid_idx", from_the_end):
        yield


_load_first: ContextVar[bool] = ContextVar("load_first", default=False)


def they_load_first() -> bool:
    """Whether this is inside `loads_first`, for whoever carries launches out elsewhere."""
    return _load_first.get()


@contextlib.contextmanager
def loads_first(also: Callable[[int, int], None] = lambda address, size: None) -> Iterator[None]:
    """Inside, the interpreter lets all programs of a launch load before any of them stores: what a
    program loads is what was there when the launch began.

    So it is until the program may have waited for another one: at its first atomic operation, a
    volatile load, or a load of what it has loaded before. What it stored itself, it sees.

    also: hears where a copy lies that is loaded from in place of a tensor.
    """
    from triton.runtime import interpreter

    Builder, TensorHandle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    kinds = ("masked_load", "masked_store", "atomic_rmw", "atomic_cas")
    names = [f"create_{kind}" for kind in kinds]
    originals = {name: getattr(Builder, name) for name in names}
    before: list[tuple[int, np.ndarray]] = []  # where a tensor's memory begins, and what it held
    touched: dict[tuple[int, ...], set[int]] = {}  # addresses, by program
    waited: set[tuple[int, ...]] = set()

    def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        touched.clear()
        waited.clear()
        for given in map(tensor_of, launch_arguments(fn, args, kwargs).values()):
            if isinstance(given, torch.Tensor):
                storage = given.untyped_storage()
                found = ctypes.string_at(storage.data_ptr(), storage.nbytes())
                held = np.frombuffer(found, dtype=np.uint8)
                before.append((storage.data_ptr(), held))
                also(held.ctypes.data, held.size)
        try:
            return call()
        finally:
            before.clear()

    def load(self: Any, pointers: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        program = tuple(self.grid_idx)
        addresses = pointers.data.astype(np.int64)
        lanes = addresses[np.broadcast_to(mask.data, addresses.shape)].ravel().tolist()
        mine = touched.setdefault(program, set())
        volatile = named["is_volatile"] if "is_volatile" in named else rest[-1]
        if volatile or not mine.isdisjoint(lanes):
            waited.add(program)
        mine.update(lanes)
        if program not in waited:
            for start, held in before:
                inside = (addresses >= start) & (addresses < start + held.size)
                addresses[inside] += held.ctypes.data - start
            pointers = TensorHandle(addresses.astype(pointers.data.dtype), pointers.dtype)
        return originals["create_masked_load"](self, pointers, mask, *rest, **named)

    def store(self: Any, pointers: Any, *rest: Any) -> Any:
        stored = np.asarray(pointers.data).astype(np.int64).ravel().tolist()
        touched.setdefault(tuple(self.grid_idx), set()).update(stored)
        return originals["create_masked_store"](self, pointers, *rest)

    def atomic(name: str) -> Callable[..., Any]:
        def operation(self: Any, *given: Any) -> Any:
            waited.add(tuple(self.grid_idx))
            return originals[name](self, *given)

        return operation

    replacements: dict[str, Any] = {name: atomic(name) for name in names[2:]}
    replacements |= {"create_masked_load": load, "create_masked_store": store}
    token = _load_first.set(True)
    try:
        with mock.patch.multiple(Builder, **replacements), hook_launch(around):
            yield
    finally:
        _load_first.reset(token)
