"""What calls tell of a function that keeps recordings, and of what it keeps them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..port.device import DEVICE

SHORTEST = 3  # elements of a tensor "A"; those of "B" have one more, and so on


def compared(kind_of: Callable[[Any], Any], change: str) -> bool:
    """Do two calls that differ by this have one kind? Raises KeyError for an unknown change."""
    x = torch.arange(24.0, device=DEVICE).view(4, 6)
    y, z = x.clone(), x.clone()
    memory = torch.zeros(40, device=DEVICE)
    square, wide = torch.zeros(4, 4, device=DEVICE), torch.zeros(6, 8, device=DEVICE)
    calls = {
        "memory": ((x, 3), (y, 3)),
        "values": ((x, 3), (x + 1, 3)),
        "memory, 16 bytes further": ((memory[:24], 3), (memory[4:28], 3)),
        "memory, 4 bytes further": ((memory[:24], 3), (memory[1:25], 3)),
        "shape": ((x, 3), (x[:3], 3)),
        "shape, as many elements": ((wide[:4, :3], 3), (wide[:3, :4], 3)),
        "strides": ((square, 3), (square.t(), 3)),
        "last stride": ((wide[:, :4], 3), (wide[:, ::2], 3)),
        "dtype": ((x, 3), (x.view(torch.int32), 3)),
        "device": ((x, 3), (torch.empty_like(x, device="meta"), 3)),
        "second tensor": ((x, y), (x, y.view(6, 4))),
        "number": ((x, 3), (x, 4)),
        "number before a tensor": ((3, x), (4, x)),
        "type of a number": ((x, 1), (x, True)),
        "type of a number, the other way": ((x, 2.0), (x, 2)),
        "None": ((x, None), (x, 0)),
        "order": ((x, 3, 4), (x, 4, 3)),
        "one more": ((x, 3), (x, 3, 3)),
        "one tensor twice": ((x, y), (x, x)),
        "another twice": ((x, x), (y, y)),
        "one twice, of another shape": ((x, x), (wide, wide)),
        "which one twice": ((x, y, x), (x, y, y)),
        "three tensors": ((x, y, z), (z, x, y)),
        "a number between": ((x, 3, y, y), (x, 3, y, z)),
        "nothing": ((), ()),
    }
    one, two = calls[change]
    return {kind_of(one): True}.get(kind_of(two), False)


def told(replayed: Any, add: Any, how: str, order: str, most: int) -> list[Any]:
    """The first number of each result, read after the last call; None where there was none.

    The calls get a 7, and tensors of 100, 200, 300 ..., with a length for each letter of `order`.
    The results are the latter plus how often the function itself was called, until they were
    recorded. add: (x, number) -> x + number, by a kernel. how: what the function does besides; with
    "two functions" each call is made of two, and the other one counts from 50.
    """
    starts = [0, 50] if how == "two functions" else [0]
    calls = [replayed(_counting(add, how, start), most) for start in starts]
    results: list[Any] = []
    for step, letter in enumerate(order, 1):
        x = torch.full((SHORTEST + "ABCDEF".index(letter),), 100.0 * step, device=DEVICE)
        for call in calls:
            try:
                result = call(7, x)
            except ZeroDivisionError:
                result = "failed"
            results += result if isinstance(result, (tuple, list)) else [result]
    return [float(each[0]) if isinstance(each, torch.Tensor) else each for each in results]


def _counting(add: Any, how: str, count: int) -> Callable[[int, torch.Tensor], Any]:
    def fn(seven: int, x: torch.Tensor) -> Any:
        nonlocal count
        count += 1
        if how == "fails at first" and count == 1:
            raise ZeroDivisionError
        if how == "never again":
            x = x.clone()  # not in memory that a recording knows
        y = add(x, count)
        if how == "two launches":
            return add(y, 10)
        if how == "a copy between":
            return add(torch.empty_like(y).copy_(y), 10)
        return (y, x, add(x, 10)) if how == "three results" else y

    return fn
