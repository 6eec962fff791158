"""Programs that wait for each other, in an interpreter that runs them one after the other.

A program that has to wait starts those that have not begun, inside its own wait. So each loads what
the others stored before *they* waited, as on a GPU. The launch comes to those programs again
afterwards: they find everything done and store the same once more.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any


class Launch:
    """The launch that runs the calling program."""

    _latest: Launch | None = None

    def __init__(self, arguments: dict[str, Any], fn: Any, grid: tuple[int, ...]):
        self.arguments, self.fn = arguments, fn
        self.waiting = itertools.product(*map(range, grid))  # those that may not have begun
        self.begun: set[tuple[int, ...]] = set()

    @classmethod
    def running(cls) -> Launch:
        """Found on the stack: an interpreted launch has no other place for it."""
        frame: Any = sys._getframe()
        while not _runs_programs(frame.f_code):
            frame = frame.f_back
            if frame is None:
                raise RuntimeError("Only a kernel can wait for other programs.")
        found = frame.f_locals
        if cls._latest is None or cls._latest.arguments is not found["args"]:
            cls._latest = cls(found["args"], found["self"].fn, found["grid"])
        return cls._latest

    def begin(self) -> bool:
        """Whether the calling program has come here for the first time."""
        from triton.runtime.interpreter import interpreter_builder

        mine = tuple(interpreter_builder.grid_idx)
        first = mine not in self.begun
        self.begun.add(mine)
        return first

    def run_another(self) -> bool:
        """Run a program that has not begun; False if all have."""
        from triton.runtime.interpreter import interpreter_builder

        mine = tuple(interpreter_builder.grid_idx)
        for other in self.waiting:
            if other not in self.begun:
                interpreter_builder.set_grid_idx(*other)
                try:
                    self.fn(**self.arguments)
                finally:
                    interpreter_builder.set_grid_idx(*mine)
                return True
        return False


def _runs_programs(code: Any) -> bool:
    """Whether this is the method of Triton's that goes through the grid."""
    return code.co_name == "__call__" and {"self", "args", "grid"} <= set(code.co_varnames)
