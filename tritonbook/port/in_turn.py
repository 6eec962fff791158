"""Programs that wait for each other, in an interpreter that runs them one after the other.

A program that has to wait runs those that have not begun, inside its own wait. So each loads what
the others stored before *they* waited, as on a GPU.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any


class Launch:
    """A launch whose programs wait, from the first wait on."""

    _latest: Launch | None = None

    def __init__(self, executor: Any, arguments: dict[str, Any], grid: tuple[int, ...]):
        from triton.runtime.interpreter import interpreter_builder

        self.builder, self.program, self.arguments = interpreter_builder, executor.fn, arguments
        # The last one first: its row may be another one, as on a GPU.
        self.not_begun = [*itertools.product(*map(range, grid))]
        self.not_begun = self.not_begun[self.not_begun.index(self._mine()) + 1 :]
        executor.fn = self._unless_begun

    @classmethod
    def running(cls) -> Launch:
        """That of the calling program: it stands on the stack, and nowhere else."""
        frame: Any = sys._getframe()
        while not _runs_programs(frame.f_code):
            frame = frame.f_back
            if frame is None:
                raise RuntimeError("Only a kernel can wait for other programs.")
        found = frame.f_locals
        if cls._latest is None or cls._latest.arguments is not found["args"]:
            cls._latest = cls(found["self"], found["args"], found["grid"])
        return cls._latest

    def run_another(self) -> bool:
        """Run a program that has not begun; False if all have."""
        if not self.not_begun:
            return False
        mine = self._mine()
        self.builder.set_grid_idx(*self.not_begun.pop())
        try:
            self.program(**self.arguments)
        finally:
            self.builder.set_grid_idx(*mine)
        return True

    def _unless_begun(self, **arguments: Any) -> None:
        """What the launch calls for each program in turn, from now on."""
        if self._mine() in self.not_begun:
            self.not_begun.remove(self._mine())
            self.program(**arguments)

    def _mine(self) -> tuple[int, ...]:
        return tuple(self.builder.grid_idx)


def _runs_programs(code: Any) -> bool:
    """Whether this is the method of Triton's that goes through the grid."""
    return code.co_name == "__call__" and {"self", "args", "grid"} <= set(code.co_varnames)
