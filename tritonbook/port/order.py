"""The order in which the interpreter runs the programs of a launch."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any
from unittest import mock

from .compat import hook_launch
from .device import INTERPRET
from .in_turn import Launch
from .tuners import timing


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


Point = tuple[tuple[int, int, int], int]  # a program, and how many accesses it has made by then
_point: ContextVar[Point | None] = ContextVar("point", default=None)
_MOST_VISITS = 100  # of one program to one place: it waits for somebody


def point() -> Point | None:
    """Where the launch that is running is interrupted, for whoever carries it out elsewhere."""
    return _point.get()


@contextlib.contextmanager
def interrupted(launch: int, at: Point) -> Iterator[None]:
    """Inside, a launch of the call, by its number, is interrupted as in `interrupt`."""
    numbers = itertools.count()

    def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        if timing() or next(numbers) != launch:
            return call()
        token = _point.set(at)
        try:
            with interrupt(at):
                return call()
        finally:
            _point.reset(token)

    with hook_launch(around):
        yield


@contextlib.contextmanager
def interrupt(at: Point) -> Iterator[None]:
    """Inside, a program of a launch comes to a halt before one of its accesses, and goes on when
    all that have not begun have ended. So it may be on a GPU, unless one of them waits for it: that
    is an error here.
    """
    from triton.runtime.interpreter import InterpreterBuilder as Builder

    program, before = at
    made, visits = itertools.count(), Counter[tuple[Any, ...]]()
    halted = False

    def halting(original: Callable[..., Any], place: int) -> Callable[..., Any]:
        def access(self: Any, *given: Any, **named: Any) -> Any:
            nonlocal halted
            running = tuple(self.grid_idx)
            if running == program and not halted and next(made) == before:
                halted, launch = True, Launch.running()
                while launch.run_another():
                    pass
            elif halted and given[place].data.size == 1:
                visit = running, given[place].data.item()
                visits[visit] += 1
                if visits[visit] > _MOST_VISITS:
                    raise RuntimeError("it waits for a program that does not go on")
            return original(self, *given, **named)

        return access

    places = {"masked_load": 0, "masked_store": 0, "atomic_rmw": 1, "atomic_cas": 0}
    names = {f"create_{kind}": place for kind, place in places.items()}
    new: dict[str, Any] = {n: halting(getattr(Builder, n), place) for n, place in names.items()}
    with mock.patch.multiple(Builder, **new):
        yield
