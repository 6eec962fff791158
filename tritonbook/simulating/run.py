"""Take a Gluon kernel through many orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.interpreter import GridExecutor, InterpretedFunction

from ..words import later
from .language import GL, NAMES, Descriptor, Language, Whole
from .machine import Fault, Machine, here
from .memory import Pointer

ORDERS = range(4)  # of a launch
LAUNCH = ("num_warps", "num_stages", "num_ctas", "maxnreg")  # not the kernel's own


def simulate(
    kernel: Any,
    grid: tuple[int, ...] | int,
    *arguments: Any,
    orders: Iterable[int] = range(20),
    **named: Any,
) -> None:
    """Run a Gluon kernel on CPU tensors, once in each order; results are those of the last.

    kernel: what `gluon.jit` returned, or the function. grid: how many programs. arguments: tensors,
    descriptors, numbers, as for a launch. orders: numbers; each is one order of warps, copies and
    products, the same on every machine. Programs run one after another.

    Raises Fault with a `kind` and a sentence, in the first order that shows it.
    """
    grid = tuple(map(int, grid)) if isinstance(grid, tuple) else (int(grid),)
    grid = (*grid, 1, 1)[:3]
    function = getattr(kernel, "fn", kernel)
    if not isinstance(function, FunctionType):
        raise TypeError(later(f"{kernel!r} is no kernel"))
    constants = {key for key, kind in function.__annotations__.items() if "constexpr" in str(kind)}
    names = function.__code__.co_varnames
    given = [
        _for_kernel(each, name in constants)
        for name, each in itertools.zip_longest(names[: len(arguments)], arguments)
    ]
    by_name = {
        key: _for_kernel(each, key in constants) for key, each in named.items() if key not in LAUNCH
    }
    for order in orders:
        for program in itertools.product(*map(range, grid)):
            seed = order + math.prod(program) * 4 if any(program) else order
            machine = Machine(seed)
            world = _World(Language(machine, program, grid, named.get("num_warps", 4)))
            job = world.adopt(function)
            try:
                machine.run(function.__name__, lambda job=job: job(*given, **by_name))
            except Fault as fault:
                raise Fault(fault.kind, f"{fault} (program {program[0]}, order {order})") from None


def _for_kernel(argument: Any, constant: bool) -> Any:
    """A launch's argument as the kernel sees it."""
    if isinstance(argument, torch.Tensor):
        return Pointer.of(argument)
    if hasattr(argument, "block_shape") and hasattr(argument, "base"):
        return Descriptor(argument)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return argument if constant else Whole(argument)
    if isinstance(argument, tl.dtype):
        return getattr(torch, argument.name.replace("fp", "float").replace("bf", "bfloat"))
    return argument


class _World:
    """The kernel's functions with Gluon's names taken from `language` instead of from Triton."""

    def __init__(self, language: Language):
        self.language = language
        self.adopted: dict[int, Callable[..., Any]] = {}
        self.globals: dict[int, dict[str, Any]] = {}

    def adopt(self, function: FunctionType) -> Callable[..., Any]:
        """The same code, with other globals. Functions that it calls follow when called."""
        known = self.adopted.get(id(function))
        if known is not None:
            return known
        names = self.globals.get(id(function.__globals__))
        if names is None:
            names = self.globals[id(function.__globals__)] = {}
            names["range"] = lambda *bounds: map(Whole, range(*bounds))
            names |= {name: self._seen(name, each) for name, each in function.__globals__.items()}
        made = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        made.__kwdefaults__ = function.__kwdefaults__
        self.adopted[id(function)] = made
        return made

    def _seen(self, name: str, each: Any) -> Any:
        ours = self._ours(name, each)
        if ours is not None:
            return ours
        if isinstance(each, triton.runtime.jit.JITFunction):
            return _Later(self, each.fn)
        if isinstance(each, InterpretedFunction):
            return _OfTriton(name)
        if isinstance(each, tl.constexpr):
            return each.value
        return _Triton(name) if each is tl or each is triton else each

    def _ours(self, name: str, each: Any) -> Any:
        """What stands for a module or a function of Gluon; None for anything else."""
        module = each.__name__ if isinstance(each, ModuleType) else getattr(each, "__module__", "")
        if not str(module).startswith("triton.experimental.gluon"):
            return None
        if isinstance(each, ModuleType):
            name = str(module).rpartition(".")[2]
            return self.language.gl if name == "language" else getattr(self.language, name, each)
        own = getattr(each, "__name__", name)
        found = getattr(self.language, own, None)
        return found if found is not None else getattr(self.language.gl, own, each)


class _Triton:
    """triton or triton.language, whose functions have no place in a Gluon kernel."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, function: str) -> Any:
        if function == "constexpr":
            return lambda x: x
        if function == "language":
            return self
        said = f"{here()} calls `{self._name}.{function}`, which is Triton's"
        if function in NAMES[GL]:
            raise Fault("not-gluon", said + f". Gluon's is `gl.{function}`")
        raise Fault("not-gluon", said + ". Gluon's begin with `gl`")


class _OfTriton:
    """A function under @triton.jit. It would run in Triton's interpreter, which knows no Gluon."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> None:
        raise Fault(
            "not-gluon",
            f"{here()} calls `{self._name}`, which has `@triton.jit` above it: in a Gluon kernel "
            "every function has `@gluon.jit`",
        )


class _Later:
    """A function of the kernel, adopted when it is first called."""

    def __init__(self, world: _World, function: FunctionType):
        self.world, self.function, self.__name__ = world, function, function.__name__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.world.adopt(self.function)(*arguments, **named)


class _Launch(GridExecutor):
    """`kernel[grid]` of a Gluon kernel, where Triton's kernels are interpreted.

    A `GridExecutor`, so that whoever watches the interpreter's launches sees these, too.
    """

    def __init__(self, fn: Callable[..., Any], grid: Any):
        self.fn, self.grid = fn, grid


def launch_simulated(kernel: Any) -> Any:
    """The Gluon kernel; from now on its launches are simulated, in a few orders each."""

    class Simulated(type(kernel)):  # type: ignore[misc]
        def __getitem__(self, grid: Any) -> _Launch:
            return _Launch(self.fn, grid)

    Simulated.__module__ = type(kernel).__module__  # a kernel of Triton's, for all who ask
    kernel.__class__ = Simulated
    return kernel


def _call(self: GridExecutor, *arguments: Any, **named: Any) -> Any:
    if isinstance(self, _Launch):
        grid = self.grid(named) if callable(self.grid) else self.grid
        simulate(self.fn, grid, *arguments, orders=ORDERS, **named)
        return None
    return _interpret(self, *arguments, **named)


_interpret = GridExecutor.__call__
GridExecutor.__call__ = _call
