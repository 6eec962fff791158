"""What one file in `benchmarks/ops/` says: problems, how to be right, ours, and the peers."""

from __future__ import annotations

import importlib
import pkgutil
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Function = Callable[..., Any]
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


@dataclass(frozen=True)
class Problem:
    """One size of an operation.

    label: shape and dtype as the table shows it.
    make: (device) -> the arguments; called once per problem, random values from torch's generator.
    bytes, flops: the least traffic and arithmetic of one call (each input read once, each output
        written once), for the floor.
    targets: least ratio that our fastest solution must reach, by peer (ratio = peer / ours), both
        times as called.
    device_targets: the same for the device's share alone (`device_ms`), of the one of ours that is
        fastest there. Where a call keeps the host busy for longer than the GPU, the two differ.
    without: names of ours or peers that do not take this problem, with the reason.
    """

    label: str
    make: Callable[[str], tuple[Any, ...]]
    bytes: float
    flops: float = 0.0
    targets: dict[str, float] = field(default_factory=dict)
    device_targets: dict[str, float] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Provider:
    """A way to do the operation. `load()` gives the callable, or raises Missing with the reason.

    launches: where `load()` hides our kernels behind autograd, this gives a function of the same
        arguments that launches the same kernels; what `make compile-check` compiles.
    """

    load: Callable[[], Function]
    ours: bool = False
    launches: Callable[[], Function] | None = None


@dataclass(frozen=True)
class Op:
    """One operation: its problems, its exact result, and everyone who does it.

    exact: the result on float64 arguments; `part` (if any) cuts both results to what is compared.
    tolerance: largest ||got - exact|| / ||exact||, by dtype name of the output; see verify.py.
    """

    name: str
    notebook: str
    problems: Sequence[Problem]
    exact: Function
    providers: dict[str, Provider]
    part: Function | None = None
    tolerance: dict[str, float] = field(default_factory=dict)


class Missing(Exception):
    """A peer that cannot run here, with the reason in words."""


def normal(dtype: torch.dtype, *shapes: Sequence[int]) -> Callable[[str], tuple[Any, ...]]:
    """A Problem's `make`: tensors of these shapes, their values from the normal distribution."""
    return lambda device: tuple(torch.randn(*shape, device=device, dtype=dtype) for shape in shapes)


def rows(
    M: int,
    N: int,
    vectors: int = 0,
    without: dict[str, str] | None = None,
    on_device: float | None = None,
    **targets: float,
) -> Problem:
    """x [M, N] and so many vectors [N] (weight, or weight and bias), and a result like x.

    on_device: the least ratio of device times against torch.compile's static program. targets: by
    the peers' names, with _ for a space.
    """
    return Problem(
        label=f"{M}x{N} bf16",
        make=normal(torch.bfloat16, (M, N), *[(N,)] * vectors),
        bytes=4 * M * N + 2 * vectors * N,
        targets={name.replace("_", " "): least for name, least in targets.items()},
        device_targets={} if on_device is None else {"compile static": on_device},
        without=without or {},
    )


def solution(
    name: str, called: Callable[[Function], Function] | None = None, *, record: bool = False
) -> Provider:
    """The workbook's own solution of the graded function `name`, or the record of it.

    called: (the solution) -> a function of the problem's arguments, where it wants more of them.
    """

    def load() -> Function:
        from tritonbook.course.exercises import reference

        found = reference(name, record=record)
        return called(found) if called else found

    return Provider(load, ours=True)


def fastest(name: str) -> Function:
    """The record of a graded function, or the function where the course has no record of it."""
    from tritonbook.course.exercises import reference

    try:
        return reference(name, record=True)
    except LookupError:
        return reference(name)


def peer(fn: Function) -> Provider:
    """A function as it is: PyTorch eager, or a native operator."""
    return Provider(lambda: fn)


def compiled(fn: Function, dynamic: bool) -> Provider:
    """`torch.compile(fn)`, made afresh for each problem. fn: without defaults.

    Name it "compile static" or "compile dynamic" in an Op: a function compiled for one shape and
    one compiled for any shape are two programs of different speed. What is compiled is a copy:
    PyTorch keeps compiled programs with a function's code, and two compilations of one code would
    share them.
    """

    def load() -> Function:
        name = f"{fn.__name__}_{'dynamic' if dynamic else 'static'}"
        code = fn.__code__.replace(co_name=name)
        copy = types.FunctionType(code, fn.__globals__, name, closure=fn.__closure__)
        return torch.compile(copy, dynamic=dynamic)

    return Provider(load)


def optional(module: str, build: Callable[[Any], Function]) -> Provider:
    """A function from a package that may not be installed: `build(module)` gives it."""

    def load() -> Function:
        try:
            return build(importlib.import_module(module))
        except ImportError as error:  # `build` may import more of it, which other releases lack
            raise Missing(f"{module.split('.')[0]} is not installed ({error})") from None

    return Provider(load)


def all_ops() -> dict[str, Op]:
    """Every operation in `benchmarks/ops/`, by name: each module there defines OPS."""
    from benchmarks import ops

    found: dict[str, Op] = {}
    for info in sorted(pkgutil.iter_modules(ops.__path__), key=lambda info: info.name):
        for op in importlib.import_module(f"{ops.__name__}.{info.name}").OPS:
            if op.name in found:
                raise ValueError(f"two operations are called {op.name!r}")
            found[op.name] = op
    return found
