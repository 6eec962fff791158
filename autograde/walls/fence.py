"""Keep interpreted kernels inside the memory they were given.

In Triton's interpreter a kernel reads and writes its process's memory through raw addresses, the
engine's own Python among it. The fence is passed by every load, store and atomic; lanes that point
outside the tensors of the launch are left out, as if they were masked. What the check says about
them is its own affair (its meter sees the same lanes).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

_ranges: list[tuple[int, int]] = []
_stored: dict[int, np.ndarray] = {}


def allow(tensors: Iterable[torch.Tensor]) -> None:
    """From now on kernels may touch the storages of these tensors, and nothing else.

    A meta tensor has a size and no memory: its range would begin at address 0.
    """
    spans = set()
    for tensor in tensors:
        if tensor.is_meta:
            continue
        storage = tensor.untyped_storage()
        spans.add((storage.data_ptr(), storage.data_ptr() + storage.nbytes()))
    _ranges[:] = sorted(spans)
    _stored.clear()


def note_stores(tensors: Iterable[torch.Tensor]) -> None:
    """From now on remember for `stored` to which bytes of these tensors' storages kernels store."""
    for storage in (tensor.untyped_storage() for tensor in tensors):
        _stored[storage.data_ptr()] = np.zeros(storage.nbytes(), dtype=bool)


def stored(tensor: torch.Tensor) -> np.ndarray:
    """Which bytes of a tensor's storage were stored to, eight to a byte."""
    return np.packbits(_stored[tensor.untyped_storage().data_ptr()])


def install() -> None:
    """Put the fence around every memory access of the interpreter, for the life of the process."""
    from triton.runtime.interpreter import InterpreterBuilder as Builder

    load, store = Builder.create_masked_load, Builder.create_masked_store
    rmw, cas = Builder.create_atomic_rmw, Builder.create_atomic_cas

    # Descriptors name some of the other arguments.
    def fenced_load(self: Any, pointers: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        return load(self, pointers, _inside(pointers, mask), *rest, **named)

    def fenced_store(
        self: Any, pointers: Any, value: Any, mask: Any, *rest: Any, **named: Any
    ) -> Any:
        return store(self, pointers, value, _noted(pointers, mask), *rest, **named)

    def fenced_rmw(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        return rmw(self, op, pointers, value, _noted(pointers, mask), *rest)

    def fenced_cas(self: Any, pointers: Any, *rest: Any) -> Any:
        if not _held(pointers).all():
            raise IndexError("atomic_cas outside every tensor of the call")
        _noted(pointers, pointers)  # it has no mask: each lane's address is one
        return cas(self, pointers, *rest)

    Builder.create_masked_load, Builder.create_masked_store = fenced_load, fenced_store
    Builder.create_atomic_rmw, Builder.create_atomic_cas = fenced_rmw, fenced_cas


def _held(pointers: Any) -> np.ndarray:
    """Boolean, per lane: does the whole element lie in a storage that may be touched?"""
    addresses = np.asarray(pointers.data).astype(np.int64, copy=False)
    size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    held = np.zeros(addresses.shape, dtype=bool)
    for start, end in _ranges:
        held |= (addresses >= start) & (addresses <= end - size)  # a sum could overflow
    return held


def _inside(pointers: Any, mask: Any) -> Any:
    """The mask without the lanes that point outside. A descriptor's mask is a bare array."""
    from triton.language import int1
    from triton.runtime.interpreter import TensorHandle

    return TensorHandle(np.asarray(mask.data, dtype=bool) & _held(pointers), int1)


def _noted(pointers: Any, mask: Any) -> Any:
    """The same, of a store: its bytes are remembered where they are asked for."""
    inside = _inside(pointers, mask)
    if _stored:
        lanes = np.broadcast_to(inside.data, np.shape(pointers.data))
        addresses = np.asarray(pointers.data).astype(np.int64, copy=False)[lanes]
        size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        for start, marks in _stored.items():
            first = addresses[(addresses >= start) & (addresses < start + marks.size)] - start
            for byte in range(size):
                marks[first + byte] = True
    return inside
