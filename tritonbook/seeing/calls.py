"""What calls tell of a function that keeps recordings, and of what it keeps them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..port.device import DEVICE
from ..replay import being_recorded

SHORTEST = 3  # elements of a tensor "A"; those of "B" have one more, and so on


def compared(kind_of: Callable[[Any], Any], change: str) -> bool:
    """Do two calls that differ by this have one kind? Raises KeyError for an unknown change."""
    x = torch.arange(24.0, device=DEVICE).view(4, 6)
    y, z = x.clone(), x.clone()
    memory, far, wide = (torch.zeros(n, device=DEVICE) for n in (40, 40, 48))
    wide = wide.view(6, 8)
    square, half = torch.zeros(4, 4, device=DEVICE), x.to(torch.float16)
    halves = torch.zeros(40, dtype=torch.float16, device=DEVICE)
    foreign = torch.frombuffer(bytearray(64), dtype=torch.uint8)
    start = -foreign.data_ptr() % 16
    foreign = foreign.numpy()[start:].data  # no tensor's memory: offsets are counted from here
    calls = {
        "everything": ((x, 3), (square.to(torch.float64).t(), 3)),
        "memory": ((x, 3), (y, 3)),
        "values": ((x, 3), (x.clone().add_(1), 3)),
        "a parameter": ((x, 3), (torch.nn.Parameter(y), 3)),
        "a result that asks": ((x, 3), (torch.nn.Parameter(y) * 1, 3)),
        "memory, 16 bytes further": ((memory[:24], 3), (memory[4:28], 3)),
        "memory, 8 bytes further": ((memory[:24], 3), (memory[2:26], 3)),
        "memory, 4 bytes further": ((memory[:24], 3), (memory[1:25], 3)),
        "memory, 4 or 8 bytes further": ((memory[1:25], 3), (memory[2:26], 3)),
        "memory of others": tuple(
            (torch.frombuffer(foreign, dtype=torch.float32, count=8, offset=offset), 3)
            for offset in (0, 4)
        ),
        "halves, 8 bytes further": ((halves[:24], 3), (halves[4:28], 3)),
        "shape": ((x, 3), (x[:3], 3)),
        "last size": ((wide[:, :4], 3), (wide[:, :3], 3)),
        "shape, as many elements": ((wide[:4, :3], 3), (wide[:3, :4], 3)),
        "strides": ((square, 3), (square.t(), 3)),
        "first stride": ((square, 3), (wide[:4, :4], 3)),
        "last stride": ((wide[:, :4], 3), (wide[:, ::2], 3)),
        "dtype": ((x, 3), (x.view(torch.int32), 3)),
        "size of a dtype": ((x, 3), (half, 3)),
        "dtype, both halves": ((half, 3), (x.to(torch.bfloat16), 3)),
        "device": ((x, 3), (torch.empty_like(x, device="meta"), 3)),
        "second tensor": ((x, y), (x, y.view(6, 4))),
        "second tensor, 4 bytes further": ((x, memory[:24]), (x, memory[1:25])),
        "which one lies 4 bytes further": ((memory[1:9], far[:8]), (far[:8], memory[1:9])),
        "both 4 bytes further": ((memory[1:9], far[:8]), (memory[1:9], far[1:9])),
        "number": ((x, 3), (x, 4)),
        "float": ((x, 1e-5), (x, 1e-6)),
        "the same float": ((x, 1e-5), (x, float("1e-5"))),
        "1 and -1": ((x, 1), (x, -1)),
        "1 and its text": ((x, 1), (x, "1")),
        "a dtype": ((x, torch.float16), (x, torch.bfloat16)),
        "None before or after": ((x, None, 2), (x, 2, None)),
        "text": ((x, "relu"), (x, "gelu")),
        "-1 and -2": ((x, -1), (x, -2)),
        "fourth argument": ((x, y, z, 1), (x, y, z, 2)),
        "number before a tensor": ((3, x), (4, x)),
        "1 and True": ((x, 1), (x, True)),
        "1 and 1.0": ((x, 1), (x, 1.0)),
        "1.0 and True": ((x, 1.0), (x, True)),
        "None": ((x, None), (x, 0)),
        "0 or nothing": ((x, 0), (x,)),
        "None and a dtype": ((x, None), (x, torch.float16)),
        "a dtype and its name": ((x, torch.float16), (x, "torch.float16")),
        "order": ((x, 3, 4), (x, 4, 3)),
        "before or after": ((x, 2), (2, x)),
        "one more": ((x, 3), (x, 3, 3)),
        "one tensor twice": ((x, y), (x, x)),
        "two views of one memory": ((x, y.view(6, 4)), (x, x.view(6, 4))),
        "two parts of one memory": ((memory[:8], memory[:8]), (memory[:8], memory[8:16])),
        "two neighbours, 4 bytes apart": ((memory[1:9], memory[1:9]), (memory[1:9], memory[2:10])),
        "one memory, two dtypes": ((x, x.view(torch.int32)), (x, y.view(torch.int32))),
        "another twice": ((x, x), (y, y)),
        "one twice, of another shape": ((x, x), (wide, wide)),
        "which one twice": ((x, y, x), (x, y, y)),
        "the first twice": ((x, x, y), (x, y, z)),
        "the first two, or the outer ones": ((x, x, y), (x, y, x)),
        "the middle ones of four": ((x, y, y, z), (x, y, x.clone(), z)),
        "the second and the fourth": ((x, y, z, y), (x, y, z, x.clone())),
        "the last two of two pairs": ((x, x, y, y), (x, x, y, z)),
        "the second twice": ((x, y, y), (x, y, z)),
        "the first and the third": ((x, y, x), (x, y, z)),
        "two twice": ((x, x, y, y), (x, y, x, y)),
        "crossed pairs": ((x, y, x, y), (x, y, y, x)),
        "three tensors": ((x, y, z), (z, x, y)),
        "a number between": ((x, 3, y, y), (x, 3, y, z)),
        "nothing": ((), ()),
    }
    one, two = map(kind_of, calls[change])
    try:
        return {one: True}.get(two, False)
    except TypeError:
        raise TypeError("what kind_of returned is no key: it is a list, or holds one") from None


def told(replayed: Any, add: Any, kernel: Any, how: str, order: str, most: int) -> list[Any]:
    """A number of each result, read after the last call; None where there was none.

    Call 1 gets a 7 and tensors of 100 and 10,000, call 2 tensors of 200 and 20,000, and so on, with
    a length for each letter of `order`. Results are the first tensor plus how often the function
    itself has run. add: (x, number) -> x + number, by `kernel`. how: what else the function does.
    With "two functions" each call is made of two, and the other one counts from 50. With "numbers"
    the letter is told by the number, in place of the length.
    """
    starts = [0, 50] if how == "two functions" else [0]
    calls = [replayed(_counting(add, kernel, how, start), most) for start in starts]
    results: list[Any] = []
    for step, letter in enumerate(order, 1):
        which = "ABCDEF".index(letter)
        number, length = (-1 - which, SHORTEST) if how == "numbers" else (7, SHORTEST + which)
        x, y = (torch.full((length,), each * step, device=DEVICE) for each in (100.0, 10000.0))
        if how == "every second":  # the kernel takes what lies side by side
            x = torch.stack([x, x + 50], dim=1).flatten()[::2]
        if how == "a weight":
            y = torch.nn.Parameter(y)
        for call in calls:
            try:
                result = call(number, x, x if how == "one tensor twice" else y)
            except ZeroDivisionError:
                result = "failed"
            if how == "in place":
                results += [x, "another tensor"] if result is not x else [x]
            else:
                results += result if isinstance(result, (tuple, list)) else [result]
            if how == "another shape and dtype" and isinstance(result, torch.Tensor):
                results += [str(result.dtype), list(result.shape), list(result.stride())]
    return [
        float(each.flatten()[1]) if isinstance(each, torch.Tensor) else each for each in results
    ]


def _counting(add: Any, kernel: Any, how: str, count: int) -> Callable[..., Any]:
    def fn(number: int, x: torch.Tensor, y: torch.Tensor) -> Any:
        nonlocal count
        count += 1
        fails = {"fails at first": count == 1, "fails again": count == 2}
        if fails.get(how, how == "C fails" and len(x) == SHORTEST + 2):
            raise ZeroDivisionError
        if how == "in place":
            kernel[(1,)](x, x, len(x), count, BLOCK_SIZE=1024)
            return x
        # A clone lies in memory that a recording does not know.
        if how in ("never again", "fails again"):
            return add(x.clone(), count), "recorded" if being_recorded() else "called"
        z = add(x, count)
        if how in ("two tensors", "a weight", "one tensor twice"):
            return z, add(y, count)
        if how == "two launches":
            return add(z, 10)
        if how == "a copy between":
            return add(torch.empty_like(z).copy_(z), 10)
        if how == "another shape and dtype":
            half = dict(dtype=torch.float16, device=z.device)
            return torch.empty_strided((2, len(z)), (1, 2), **half).copy_(z)
        return (z, x, add(x, 10)) if how == "three results" else z

    return fn
