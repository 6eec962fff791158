"""Ranks without GPUs: each a stream of launches, their programs beside each other in many orders.

A rank's function runs once for each rank, one after the other, and its launches are noted: as on a
GPU, where a launch returns at once. Then the streams run, all ranks beside each other. Programs
change places at loads, stores and atomics.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ..port.compat import causes
from ..port.launch_later import Later, carry_out, noted
from .machine import Fault
from .rank_memory import tensor_of
from .rank_order import MEET, World, run_streams

_ORDERS = 6  # of a call with few programs
_PROGRAMS = 48  # in all orders of a call together, of large ones: two orders are tried at least


class SimulatedRank:
    """What a rank's function gets: its number, and the memory that all ranks reach."""

    def __init__(self, world: World, number: int):
        self.number, self.count, self._world = number, world.count, world
        self.asked: set[str] = set()  # names of memory

    def symmetric(
        self, name: str, shape: int | Sequence[int], dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """This rank's own tensor, zeros at the first call, and the table of all ranks' addresses.

        All ranks ask for it, with the same name, shape and dtype; the table is int64, [count];
        each address is a multiple of 16 bytes.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
        self.asked.add(name)
        own = self._world.part(name, self.number, sizes, dtype)
        table = np.array([part.start for part in self._world.parts[name]], np.int64)
        return own.tensor, tensor_of(table)

    def barrier(self) -> None:
        """All ranks wait here for each other, between two launches."""
        self._world.streams[self.number].append(MEET)


def run_on_ranks(
    fn: Callable[..., Any],
    world: World,
    arguments: Sequence[Any],
    orders: Iterable[int] | None = None,
) -> list[Any]:
    """What `fn(rank, ...)` returns on each rank; rank r gets `argument[r]` of each argument.

    orders: numbers, each an order of the programs (None: a few); results are those of the last.
    Raises Fault with a kind and a sentence, in the first order that shows it, and what `fn` raises.
    """
    world.streams = [[] for _ in range(world.count)]
    ranks = [SimulatedRank(world, number) for number in range(world.count)]
    results = []
    for rank in ranks:
        with noted(world.streams[rank.number].append):
            own = [argument[rank.number] for argument in arguments]
            results.append(fn(rank, *own))
    _asked_alike(ranks)
    if any(world.streams):
        before = _Kept(world)
        for order in _few(world) if orders is None else orders:
            before.restore()
            try:
                carry_out(functools.partial(run_streams, world, order))
            except Exception as error:  # the interpreter wraps it, once for each function
                fault = causes(error)[-1]
                if not isinstance(fault, Fault):
                    raise
                number = world.count
                raise Fault(fault.kind, f"{fault} ({number} ranks, order {order})") from None
    return results


def _asked_alike(ranks: Sequence[SimulatedRank]) -> None:
    """Raises Fault where not all ranks ask for the same memory: on GPUs some wait for ever."""
    first = ranks[0]
    for rank in ranks[1:]:
        for one, other in ((rank, first), (first, rank)):
            for name in sorted(one.asked - other.asked):
                raise Fault(
                    "size",
                    f"rank {one.number} asks for symmetric memory {name}, and rank {other.number} "
                    "does not: all ranks ask for the same, else some wait for the others for ever",
                )


def _few(world: World) -> range:
    launches = [each for stream in world.streams for each in stream if isinstance(each, Later)]
    programs = sum(math.prod(launch.grid) for launch in launches)
    return range(max(2, min(_ORDERS, _PROGRAMS // max(1, programs))))


class _Kept:
    """What all memory of a call held before its launches."""

    def __init__(self, world: World):
        self.bytes: dict[int, bytes] = {}
        parts = [part for parts in world.parts.values() for part in parts]
        for part in parts:
            self.bytes[part.start] = part.bytes.tobytes()
        launches = [each for stream in world.streams for each in stream]
        for launch in launches:
            if not isinstance(launch, Later):
                continue
            for tensor in launch.tensors.values():
                with torch._C.DisableTorchFunction():
                    storage = tensor.untyped_storage()
                start = storage.data_ptr()
                if not any(part.start <= start < part.stop for part in parts):
                    self.bytes[start] = ctypes.string_at(start, storage.nbytes())

    def restore(self) -> None:
        for start, held in self.bytes.items():
            ctypes.memmove(start, held, len(held))
