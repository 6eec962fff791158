"""Who did the work? Watches one call: kernels launched, torch operators used, memory allocated."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any
from unittest import mock

import torch

from ..language.meanings import kernel_function
from ..port import device
from ..port.compat import hook_launch, launch_arguments
from ..port.dispatch import MAKE_EMPTY, MAKE_FILLED, DispatchMode
from ..port.plain_words import said_of_argument
from ..port.tuners import hearing, timing
from .guard import Guarded, guard_output
from .host_memory import HostMemory

_FILLED = MAKE_FILLED | {"zero_", "fill_", "scalar_tensor"}
_VIEWS = {
    "view",
    "_unsafe_view",
    "reshape",
    "_reshape_alias",
    "as_strided",
    "transpose",
    "t",
    "permute",
    "expand",
    "slice",
    "select",
    "squeeze",
    "unsqueeze",
    "detach",
    "alias",
    "clone",
    "contiguous",
    "unbind",
    "split",
    "split_with_sizes",
    "chunk",
    "unflatten",
    "flatten",
    "narrow",
    "view_as",
    "lift_fresh",
    "resize_",
    "set_",
    "is_same_size",
    "sym_size",
    "sym_stride",
    "sym_numel",
    "record_stream",
}
_MOVES = {"clone", "copy_", "_to_copy", "cat", "stack", "repeat", "flip", "roll", "index_select"}
_READS = ("tolist", "numpy")
LOOK = "_local_scalar_dense"  # the operator behind `.item()`

# Seconds that tuners may spend in the interpreter on trying configs, in one call: those that are
# not tried then are tried by the check, one call each.
TRYING = 1.0
# Programs that every GPU takes at most along each axis of a grid.
MOST = (2**31 - 1, 65_535, 65_535)

NO_MEMORY = "a tensor on the device 'meta' has no memory: allocate on the input's device"


class SabotageError(RuntimeError):
    """Raised in place of a launch: an honest wrapper lets it through."""


@dataclass(frozen=True)
class Launch:
    """One kernel launch: the kernel's name, the file that defines it, its grid."""

    name: str
    file: str
    grid: tuple[int, ...]

    @property
    def programs(self) -> int:
        return math.prod(self.grid)

    def beyond(self) -> int | None:
        """The first axis along which no GPU takes so many programs."""
        sizes = zip(self.grid, MOST, strict=False)
        return next((axis for axis, (size, most) in enumerate(sizes) if size > most), None)

    def swapped(self, one: int, two: int) -> tuple[int, ...]:
        """The grid with two of its numbers exchanged; as it is where it has fewer."""
        sizes = list(self.grid)
        if max(one, two) < len(sizes):
            sizes[one], sizes[two] = sizes[two], sizes[one]
        return tuple(sizes)

    @property
    def from_library(self) -> bool:
        return "site-packages" in self.file or "dist-packages" in self.file


class Watch(DispatchMode):
    """Records torch operators outside launches; gives out guarded, poisoned memory.

    allow: names of further torch operators that the exercise permits ("mm", "copy_").
    """

    def __init__(self, allow: Sequence[str] = (), mode: str = "record", large: bool = False):
        super().__init__()
        self.large = large  # what nobody has written yet holds large numbers in place of the poison
        self.permitted = {name.removeprefix("aten.") for name in allow}
        self.allowed = _VIEWS | self.permitted
        # record | mute (launches do nothing) | sabotage (launches raise) | wider (in the
        # interpreter: one more program along each axis of the grid) | swapped 0 1 (there: the
        # grid's numbers 0 and 1 exchanged)
        self.mode = mode
        self.launches: list[Launch] = []
        self.compute: list[str] = []
        self.copies = 0
        self.moves = False  # torch took values from one tensor to another
        self.computes = False  # torch computed, where the exercise permits it
        self.outputs: list[Guarded] = []
        self.kernels: dict[str, Callable[..., Any]] = {}
        # Is this kernel one that must not run?
        self.forbids: Callable[[Callable[..., Any]], bool] = lambda fn: False
        self.odd = ""  # what is wrong with an argument of the latest launch, by its kind
        self.sources: dict[int, FunctionType] = {}  # kernels launched or handed to one, by id
        self.memory = HostMemory()
        self.chosen: list[dict[str, Any]] = []  # the plain options of each launch
        self.choices = 0  # calls of tuners that have a choice
        self.tried = 0  # launches of theirs that tried a config: none of the call's own
        self._trying = 0.0  # seconds spent on them
        self._inside_launch = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_meta:
            raise ValueError(NO_MEMORY)
        if self._inside_launch:  # the interpreter itself calls torch
            return result
        if timing():  # so does a tuner that restores what a config has changed
            return result
        result = self._seen(func, result)
        self.memory.follow(func, args, kwargs or {}, result)
        return result

    def _seen(self, func: Any, result: Any) -> Any:
        namespace, _, name = func.name().partition("::")
        name = name.split(".")[0]
        if name.endswith("_") and isinstance(result, torch.Tensor):
            home = self.guarded_output(result)
            if home is not None:
                home.note_values()
        if namespace == "aten" and name in MAKE_EMPTY | _FILLED:
            if isinstance(result, torch.Tensor) and not name.endswith("_") and result.ndim:
                twin = guard_output(result, name in _FILLED, self.large)
                self.outputs.append(twin)
                return twin.view
            return result
        self.copies += name == "clone"
        self.moves |= name in _MOVES
        self.computes |= name in self.permitted - _MOVES
        if namespace != "prim":
            self.note(name if namespace == "aten" else f"{namespace}.{name}")
        return result

    def note(self, name: str) -> None:
        """An operator that torch carried out, if it is none that may always be used."""
        if not (self._inside_launch or timing() or name in self.allowed):
            self.compute.append(name)

    def around(self, call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        told = map(said_of_argument, (*args, *kwargs.values()))
        self.odd = next((said for said in told if said), "")
        code = getattr(fn, "__code__", None)
        file = code.co_filename if code else ""
        launch = Launch(fn.__name__, file, _grid_size(fn, grid, args, kwargs))
        if timing():
            self.tried += 1
        else:
            self.launches.append(launch)
            self.chosen.append(
                {n: v for n, v in kwargs.items() if isinstance(v, (int, float, str))}
            )
        self.kernels[fn.__name__] = fn
        handed = map(kernel_function, (*args, *kwargs.values()))
        self.sources |= {id(each): each for each in (fn, *handed) if each is not None}
        self.memory.refuse(fn, args, kwargs)
        if self.mode == "mute":
            return None
        if self.forbids(fn):
            raise RuntimeError("its gap is open")
        if self.mode == "sabotage":
            raise SabotageError("launch refused on purpose")
        if timing() and device.INTERPRET and self._trying > TRYING:
            return None
        # What the interpreter asks of torch need not go through `memory`: in each program.
        with torch._C.DisableTorchFunction():
            return self._launched(call, launch)

    def _launched(self, call: Any, launch: Launch) -> Any:
        began = time.perf_counter()
        self._inside_launch += 1
        try:
            if self.mode == "wider":
                return call(tuple(size + 1 for size in launch.grid))
            if self.mode.startswith("swapped"):
                return call(launch.swapped(*map(int, self.mode.split()[1:])))
            return call()
        finally:
            self._inside_launch -= 1
            self._trying += time.perf_counter() - began if timing() else 0.0

    def hear_of_a_choice(self) -> None:
        """A tuner was called that may take one of several configs."""
        self.choices += 1

    def guarded_output(self, tensor: torch.Tensor) -> Guarded | None:
        """The guarded allocation that `tensor` lives in, if it was made during this call."""
        address = tensor.untyped_storage().data_ptr()
        for twin in self.outputs:
            if twin.buffer.untyped_storage().data_ptr() == address:
                return twin
        return None


def _grid_size(fn: Any, grid: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
    """The grid as numbers; a grid given as a function gets the launch's arguments by name."""
    if callable(grid):
        grid = grid(launch_arguments(fn, args, kwargs))
    return tuple(int(size) for size in (grid if isinstance(grid, (tuple, list)) else (grid,)))


_hearing: list[Watch] = []  # of calls that another process makes


@contextlib.contextmanager
def heard() -> Iterator[Watch]:
    """Inside, a watch that knows what another process tells of a call, by `hear`."""
    watch = Watch()
    _hearing.append(watch)
    try:
        yield watch
    finally:
        _hearing.remove(watch)


def is_heard() -> bool:
    """Whether somebody asks what another process sees."""
    return bool(_hearing)


def hear(launches: Any, copies: Any) -> None:
    """Note how many kernels another process has launched, none of a library's, and how many tensors
    it has copied. Raises ValueError where these are no counts."""
    if not all(type(count) is int and 0 <= count < 2**20 for count in (launches, copies)):
        raise ValueError("not how often something was done")
    for watch in _hearing:
        watch.launches += [Launch("a kernel", "", ())] * launches
        watch.copies += copies


@contextlib.contextmanager
def watching(
    allow: Sequence[str] = (), mode: str = "record", large: bool = False
) -> Iterator[Watch]:
    """Watch everything that happens inside the block. The arguments are those of `Watch`."""
    watch = Watch(allow, mode, large)
    with (
        hook_launch(watch.around),
        hearing(watch.hear_of_a_choice),
        seeing_reads(lambda: watch.note(LOOK)),
        watch,
        watch.memory,
    ):
        yield watch


def seeing_reads(note: Callable[[], None]) -> contextlib.AbstractContextManager[Any]:
    """Inside, `note()` is called where a method takes the values of a tensor on the CPU away from
    PyTorch, which does not say so."""

    def noted(name: str) -> Callable[..., Any]:
        original = getattr(torch.Tensor, name)

        @functools.wraps(original)
        def method(self: torch.Tensor, *args: Any, **options: Any) -> Any:
            note()
            return original(self, *args, **options)

        return method

    methods: dict[str, Any] = {name: noted(name) for name in _READS}
    return mock.patch.multiple(torch.Tensor, **methods)
