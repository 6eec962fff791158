"""Launches that the interpreter notes now and carries out later, several side by side.

On a GPU a launch returns at once and waits in its stream. Where programs of several launches run
beside each other, whoever runs them needs the interpreter's accesses as they were mended, below all
that watches.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ACCESSES = ("masked_load", "masked_store", "atomic_rmw", "atomic_cas", "barrier")
_takers: list[Callable[[Any, Any, Any], None]] = []
_accesses: dict[str, Callable[..., Any]] = {}
_carry_out: list[Callable[..., Any]] = []


@dataclass(frozen=True)
class Later:
    """A launch that waits: the kernel's function, its arguments by name as its programs get them,
    the grid, and the tensors among the arguments."""

    fn: Any
    arguments: dict[str, Any]
    grid: tuple[int, int, int]
    tensors: dict[str, Any]
    together: bool  # a cooperative launch: all programs at once


@contextlib.contextmanager
def noted(take: Callable[[Later], None]) -> Iterator[None]:
    """Inside, `take` gets each launch that would be carried out."""

    def made(executor: Any, args: Any, kwargs: Any) -> None:
        take(_later(executor, args, kwargs))

    _takers.append(made)
    try:
        yield
    finally:
        _takers.remove(made)


def _later(executor: Any, args: Any, kwargs: Any) -> Later:
    from triton.runtime import interpreter as interp

    known = inspect.getfullargspec(executor.fn).args
    own = {name: value for name, value in kwargs.items() if name in known}
    given = inspect.getcallargs(executor.fn, *args, **own)
    arguments = {
        name: value if name in executor.constexprs else interp._implicit_cvt(value)
        for name, value in given.items()
    }
    grid = executor.grid(arguments) if callable(executor.grid) else executor.grid
    grid = grid if isinstance(grid, (tuple, list)) else (grid,)
    x, y, z = (*map(int, grid), 1, 1)[:3]
    tensors = {name: value for name, value in given.items() if hasattr(value, "data_ptr")}
    together = bool(kwargs.get("launch_cooperative_grid"))
    return Later(executor.fn, arguments, (x, y, z), tensors, together)


def carry_out(job: Callable[[], None]) -> None:
    """Run `job` as the one program of a launch: Triton's language is the interpreter's inside."""
    from triton.runtime.interpreter import GridExecutor

    def all_at_once() -> None:
        job()

    launch = object.__new__(GridExecutor)
    launch.fn, launch.arg_names, launch.grid = all_at_once, [], (1,)
    launch.constexprs, launch.pre_run_hooks = [], []
    _carry_out[0](launch)


def accesses() -> dict[str, Callable[..., Any]]:
    """The interpreter's own loads, stores, atomics and barrier, by the names of `ACCESSES`."""
    return _accesses


def know_later_launches(interp: Any) -> None:
    """Make it so; called when all else is mended."""
    executor, builder = interp.GridExecutor, interp.InterpreterBuilder
    launch = executor.__call__
    _carry_out.append(launch)
    _accesses.update({name: getattr(builder, f"create_{name}") for name in ACCESSES})

    def now_or_later(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _takers:
            return launch(self, *args, **kwargs)
        _takers[-1](self, args, kwargs)
        return None

    executor.__call__ = now_or_later
