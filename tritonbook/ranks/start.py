"""`on_ranks`: a function on several ranks, each a GPU with a process of its own, or simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..port import device
from ..simulating.rank_order import World
from ..simulating.ranks import SimulatedRank, run_on_ranks
from ..words import later
from .processes import Processes, Simulated


class Ranks:
    """What `on_ranks` gives: call it with tensors, one row of each for each rank."""

    def __init__(self, fn: Callable[..., Any], count: int):
        self._processes: Processes | None = None
        if count < 1:
            raise ValueError(later(f"{count} ranks: at least one is needed"))
        self.fn, self.count = fn, count
        self._world = World(count)

    def __call__(self, *arguments: torch.Tensor) -> list[Any]:
        """What the function returns on each rank. Symmetric memory stays from call to call.

        arguments: tensors [count, ...]; rank r gets row r, in its own memory. Raises ValueError
        where one has not so many rows, Fault where the simulation shows what is wrong, RankFailed
        where a rank fails, dies or takes too long: all of them are stopped then.
        """
        for argument in arguments:
            if len(argument) != self.count:
                rows = len(argument)
                raise ValueError(later(f"{rows} rows for {self.count} ranks: each takes one"))
        if device.INTERPRET:
            return run_on_ranks(self.fn, self._world, arguments)
        if _only_compiles():
            self._world.streams = [[] for _ in range(self.count)]
            return [
                self.fn(SimulatedRank(self._world, number), *(each[number] for each in arguments))
                for number in range(self.count)
            ]
        if self._processes is None:
            enough = torch.cuda.device_count() >= self.count
            self._processes = (Processes if enough else Simulated)(self.count)
        return self._processes.call(self.fn, arguments)

    def close(self) -> None:
        """End the ranks' processes, where there are any, and with them their memory."""
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def __del__(self) -> None:
        self.close()


def on_ranks(fn: Callable[..., Any], count: int) -> Ranks:
    """`on_ranks(fn, 2)(x)` runs `fn(rank, x[0])` on one rank and `fn(rank, x[1])` on another.

    Returns their results as a list. rank: has `number` and `count`; `symmetric(name, shape,
    dtype)`, memory that all ranks reach, with the table of its addresses; and `barrier()`, where
    all ranks wait for each other between two launches. Each rank is a process with a GPU of its
    own. Where there are not so many, ranks are simulated in Triton's interpreter, in several
    orders, and what goes wrong in one of them is raised with its line.
    """
    return Ranks(fn, count)


def _only_compiles() -> bool:
    from triton.runtime import driver

    return hasattr(driver.active, "only_compiles")
