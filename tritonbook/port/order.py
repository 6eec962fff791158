"""The order in which the interpreter runs the programs of a launch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

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
