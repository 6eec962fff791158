"""Loads that every thread makes for itself, and whose values threads of several warps use.

A tile of fewer elements than a program has threads lies there in copies, a single number in every
thread; and the compiler may load such a tile in whatever places its values are needed. Of the
copies one is stored. So of what a load of this kind finds, one thread's is all that counts where it
stays a number, or a tile of the same shape: in the interpreter it carries a mark then. Where it
meets a tile of another shape, whose lanes are more than a warp's, and that is stored, reduced or
multiplied, the copies of other warps count as well.

A condition of Python's, `if number > 0:`, is not followed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

from .record import WARP, Access, without_ones

# What brings a tile's values to other threads.
_EXCHANGES = ("reshape", "trans", "join", "split", "cat", "gather", "histogram")
# What the meter itself tells, or what yields no values.
_OTHERS = ("load", "store", "atomic", "dot", "barrier", "print", "assert", "assume", "descriptor")
_MOST = 64  # marks of a value: of a sum of many numbers the latest


class Copies:
    """The marks of a meter's values: the places of loads among its accesses."""

    def __init__(self, accesses: list[Access]):
        self.accesses = accesses

    @contextlib.contextmanager
    def marking(self, builder: Any) -> Iterator[None]:
        """Inside, the interpreter's values carry marks. builder: its class."""
        originals: dict[str, Callable[..., Any]] = {
            name: getattr(builder, name)
            for name in dir(builder)
            if name.startswith("create_") and not any(each in name for each in _OTHERS)
        }
        try:
            for name, original in originals.items():
                exchanges = name.removeprefix("create_") in _EXCHANGES
                setattr(builder, name, self._after(original, exchanges))
            yield
        finally:
            for name, original in originals.items():
                setattr(builder, name, original)

    def loaded(self, made: Any, warps: int, *given: Any) -> None:
        """The latest access has loaded `made`, from such pointers, under such a mask."""
        marks = _marks(given) or frozenset()
        if warps > 1 and made.data.size < WARP * warps:
            marks |= {len(self.accesses) - 1}
        if marks:
            made.copies = marks

    def used(self, shape: tuple[int, ...], *given: Any) -> frozenset[int]:
        """What was made from `given` goes from lane to lane of a tile, or to memory: the marks that
        it keeps, those of a tile within a warp."""
        marks = _marks(given)
        if not marks or math.prod(shape) <= WARP:
            return marks or frozenset()
        for place in marks:
            if without_ones(self.accesses[place].shape) != without_ones(shape):
                self.accesses[place].spread = True
        return frozenset()

    def _after(self, original: Any, exchanges: bool) -> Any:
        def method(builder: Any, *given: Any, **named: Any) -> Any:
            made = original(builder, *given, **named)
            marks = _marks(given)
            if marks and exchanges:
                marks = self.used(given[0].data.shape, *given)
            if marks:
                mark(made, marks)
            return made

        return method


def mark(made: Any, marks: frozenset[int]) -> None:
    """Values that were made together carry such marks from now on."""
    for each in made if isinstance(made, (list, tuple)) else (made,):
        each.copies = marks


def _marks(given: tuple[Any, ...]) -> frozenset[int] | None:
    found = None
    for each in given:  # in every operation of a kernel: without a list
        known = getattr(each, "copies", None)
        if known is not None and known is not found:
            found = found | known if found else known
    if found and len(found) > _MOST:
        found = frozenset(sorted(found)[-_MOST:])
    return found
