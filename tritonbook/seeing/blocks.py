"""What runs in an operator's place while blocks that replace operators are entered and left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..port import device
from . import dispatcher

Block = Callable[[Mapping[str, Callable[..., Any]]], contextlib.AbstractContextManager[Any]]

# Operators to try it with, and what their replacements return.
_MARKS = {"sin": 7.0, "cos": 8.0, "exp": 9.0}


def told(block: Block, story: Sequence[Any]) -> list[Any]:
    """Follow a story; returns what is seen on the way.

    block: `block({name: function})` puts functions in the place of PyTorch's operators. story: its
    steps. "look" notes which of sin, cos and exp are replaced, and by what if by another one's
    function. "raise" raises ZeroDivisionError. A list [names, steps] follows further steps inside a
    block; if an error comes out of it, the error's name is noted, and what is replaced then.
    Libraries are held until the end, so that none closes by luck.
    """
    seen: list[Any] = []
    with dispatcher.restored():  # what leaks must not spoil the next story
        try:
            _follow(block, story, seen, [])
        except AssertionError as error:
            again = not str(error) or "destroyed" in str(error)  # what torch says of a library
            return ["a closed library was used again" if again else str(error)]
    return seen


def _follow(block: Block, story: Sequence[Any], seen: list[Any], held: list[Any]) -> None:
    for step in story:
        if step == "look":
            seen.append(_replaced_now())
        elif step == "raise":
            raise ZeroDivisionError
        else:
            names, inside = step
            try:
                with block({name: _replacement(name) for name in names}):
                    held.append(set(dispatcher._used))
                    _follow(block, inside, seen, held)
            except NotImplementedError:  # an open gap
                raise
            except (ZeroDivisionError, RuntimeError) as error:
                if "generator didn't stop" in str(error):
                    raise AssertionError("it yields more than once") from None
                held.append(set(dispatcher._used))
                seen.append(type(error).__name__)
                seen.append(_replaced_now())


def _replacement(name: str) -> Callable[..., Any]:
    def function(x: torch.Tensor) -> torch.Tensor:
        # Whatever puts it there else would lose the gradient of a composite operator.
        assert dispatcher._running, "a function is in its place without `implement`"
        return torch.full_like(x, _MARKS.get(name, 0.0))

    return function


def _replaced_now() -> list[str]:
    x, by_mark, found = torch.ones(2, device=device.DEVICE), {m: n for n, m in _MARKS.items()}, []
    for name in _MARKS:
        by = by_mark.get(float(getattr(torch, name)(x)[0]))
        if by is not None:
            found.append(name if by == name else f"{name} by the function of {by}")
    return found
