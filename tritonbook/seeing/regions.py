"""From addresses to elements: which tensor a byte address lies in, and which of its cells it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


class Region:
    """A named tensor. `start`, `end`: its storage's bytes, which belong to no other tensor.

    guessed: known only from a launch, so its name is a parameter's and its bounds are the whole
    tensor's. The tensor is kept alive, so that no later allocation can reuse its addresses.
    """

    def __init__(self, name: str, tensor: torch.Tensor, guessed: bool = False):
        self.name, self.tensor, self.guessed = name, tensor, guessed
        storage = tensor.untyped_storage()
        self.start = storage.data_ptr()
        self.end = self.start + storage.nbytes()
        self.first = tensor.data_ptr()
        self.itemsize = tensor.element_size()
        self.shape = tuple(tensor.shape)
        self.strides = tuple(tensor.stride())
        self._table: np.ndarray | None = None
        if not _nested(self.shape, self.strides):  # overlapping windows: look addresses up
            index = torch.arange(storage.nbytes() // self.itemsize)
            view = index.as_strided(self.shape, self.strides, tensor.storage_offset())
            self._table = view.reshape(-1).numpy() * self.itemsize + self.start

    @property
    def size(self) -> int:
        return self.tensor.numel()

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that exist in memory (an expanded dimension counts once)."""
        real = [n if s else 1 for n, s in zip(self.shape, self.strides, strict=True)]
        return int(np.prod(real, dtype=np.int64)) * self.itemsize

    def holds(self, addresses: np.ndarray, itemsize: int) -> np.ndarray:
        """Boolean, per lane: does it lie in this tensor's storage?"""
        return (addresses >= self.start) & (addresses + itemsize <= self.end)

    def elements(self, addresses: np.ndarray) -> np.ndarray:
        """Row-major number of the element at each address; -1 where there is none."""
        if self._table is not None:
            order = np.argsort(self._table, kind="stable")
            place = np.searchsorted(self._table, addresses, sorter=order).clip(max=order.size - 1)
            found = order[place]
            return np.where(self._table[found] == addresses, found, -1)
        offset = addresses - self.first
        rest, bad = offset // self.itemsize, (offset % self.itemsize != 0) | (offset < 0)
        number = np.zeros_like(rest)
        weights = np.ones(len(self.shape), dtype=np.int64)
        for dim in reversed(range(len(self.shape) - 1)):
            weights[dim] = weights[dim + 1] * max(self.shape[dim + 1], 1)
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.strides[d]):
            stride, size = self.strides[dim], self.shape[dim]
            if size == 0:
                return np.full(addresses.shape, -1)
            if stride == 0 or size == 1:
                continue
            index = rest // stride
            bad |= index >= size
            number += index * weights[dim]
            rest = rest - index * stride
        return np.where(bad | (rest != 0), -1, number)

    def distance(self, addresses: np.ndarray) -> np.ndarray:
        """Elements past the last one (positive), before the first (negative), 0 between them."""
        place = (addresses - self.first) // self.itemsize
        last = extent(self.shape, self.strides) - 1
        return np.where(place > last, place - last, np.where(place < 0, place, 0))


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements of memory from a tensor's first one to its last one, inclusive."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _nested(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether each dimension's stride steps over all of the smaller ones."""
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if s and n > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True
