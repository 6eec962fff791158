"""Every difference between Triton versions, and between interpreter and compiler, in one place.

Each function says why it exists. What the interpreter itself gets wrong is mended in
`interpreter`; nothing else in the workbook touches Triton's private parts.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from .device import INTERPRET
from .tuners import clock_once, know_tuners

# Shared memory that one program may use, in bytes, by compute capability (CUDA programming guide).
SHARED_MEMORY_LIMIT = {75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448}
# Streaming multiprocessors of the GPU that stands for each capability: T4, A100, A10, L4, H100.
MULTIPROCESSORS = {75: 40, 80: 108, 86: 72, 89: 58, 90: 132}


@functools.cache
def triton_version() -> tuple[int, int]:
    """Triton's (major, minor)."""
    import triton

    major, minor = triton.__version__.split(".")[:2]
    return int(major), int(minor)


class _NoGpuUtils:
    def __init__(self, arch: int):
        self.arch = arch

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": SHARED_MEMORY_LIMIT[self.arch],
            "multiprocessor_count": MULTIPROCESSORS[self.arch],
            "max_num_regs": 65536,
            "warpSize": 32,
        }

    def load_binary(self, *args: Any) -> tuple[int, ...]:
        # (module, function, registers, spills[, max threads]): the fifth appeared in Triton 3.4.
        return (0, 0, 0, 0, 1024)[: 4 if triton_version() < (3, 4) else 5]

    def unload_module(self, module: int) -> None:
        """Nothing was loaded."""


class _NoLaunch:
    """Stands where the compiled launcher stands: a launch compiles, checks limits, runs nothing."""

    def __init__(self, src: Any, metadata: Any):
        pass

    def __call__(self, *args: Any) -> None:
        pass


class FakeDriver:
    """A CUDA driver without a GPU: enough for Triton to specialise and compile for `arch`."""

    launcher_cls = _NoLaunch
    only_compiles = True

    def __init__(self, arch: int):
        from triton.backends.compiler import GPUTarget

        self.target, self.utils = GPUTarget("cuda", arch, 32), _NoGpuUtils(arch)

    def get_current_device(self) -> int:
        return self.target.arch  # a device number per capability keeps Triton's caches apart

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self.target

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_benchmarker(self) -> Callable[..., Any]:
        return clock_once


@contextlib.contextmanager
def fake_gpu(arch: int) -> Iterator[None]:
    """Inside, launches compile for compute capability `arch` (75, 80, 86, 89, 90); none runs.

    Needs a process without TRITON_INTERPRET: compiler and interpreter cannot share one.
    """
    from triton.runtime import driver

    know_tuners()
    key = "active" if "active" in driver.__dict__ else "_active"
    old = driver.__dict__[key]
    driver.set_active(FakeDriver(arch))
    try:
        yield
    finally:
        driver.__dict__[key] = old


def name_triton_quickly() -> None:
    """Name the installed Triton by the version, size and date of its library.

    The names of what Triton keeps on disk hold a hash of its whole installation: each process that
    compiles reads 460 MB for it, 0.6 s.
    """
    import triton
    from triton._C import libtriton
    from triton.compiler import compiler
    from triton.runtime import cache

    library = os.stat(libtriton.__file__)
    name = f"{triton.__version__}-{library.st_size}-{library.st_mtime_ns}"
    for module in (cache, compiler):  # the second until 3.3
        if hasattr(module, "triton_key"):
            module.triton_key = lambda: name


def target_arch() -> int:
    """Compute capability that kernels are compiled for, such as 80 or 90.

    The GPU's own; inside `fake_gpu(arch)` that arch; in the interpreter 80, so that the tiles an
    exercise chooses are those of an A100.
    """
    from triton.runtime import driver

    return _arch_of(driver.active.get_current_device())


@functools.cache
def _arch_of(device: int) -> int:
    """Kept, because wrappers choose tiles by it at each launch, and to ask PyTorch takes 5 us."""
    from triton.runtime import driver

    return int(driver.active.get_current_target().arch)


def shared_memory_limit() -> int:
    """Shared memory that one program may use, in bytes, on the GPU of `target_arch`."""
    from triton.runtime import driver

    return _shared_memory(driver.active.get_current_device(), target_arch())


@functools.cache
def _shared_memory(device: int, arch: int) -> int:
    """Kept, because a driver takes a millisecond to answer, longer than many kernels."""
    from triton.runtime import driver

    return int(driver.active.utils.get_device_properties(device)["max_shared_mem"])


def launch_arguments(fn: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """A launch's arguments by name, the kernel's defaults filled in: what its grid function gets.

    fn: the kernel's Python function. args, kwargs: as `hook_launch` hands them on.
    """
    parameters = inspect.signature(fn).parameters
    defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    return {**defaults, **dict(zip(parameters, args, strict=False)), **kwargs}


def causes(error: BaseException) -> list[BaseException]:
    """An error and what it was raised from, the innermost last, each once.

    Triton wraps what happens in a kernel in errors of its own, so the learner's comes last.
    `raise error from error` is a circle.
    """
    found = [error]
    while (cause := found[-1].__cause__) and all(cause is not each for each in found):
        found.append(cause)
    return found


@contextlib.contextmanager
def hook_launch(around: Callable[..., Any]) -> Iterator[None]:
    """Call `around(call, python_fn, grid, args, kwargs)` in place of every kernel launch.

    Triton's own launch hooks never fire in the interpreter; these methods see every launch in 3.2
    to 3.9, those of a kernel that was compiled before and kept too. Compile-only warm-up calls pass
    through unseen. In the interpreter `call(grid)` launches over another grid. Inside,
    `tuners.timing()` tells a tuner's timing runs from the launch that was asked for.
    """
    know_tuners()
    if INTERPRET:
        from triton.runtime.interpreter import GridExecutor as owner

        name = "__call__"
    else:
        from triton.runtime.jit import JITFunction as owner

        name = "run"
    original = getattr(owner, name)

    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("warmup"):
            return original(self, *args, **kwargs)
        grid = self.grid if INTERPRET else kwargs.get("grid")

        def call(other: tuple[int, ...] | None = None) -> Any:
            if other is not None:
                self.grid = other
            return original(self, *args, **kwargs)

        given = {key: value for key, value in kwargs.items() if key not in ("grid", "warmup")}
        return around(call, self.fn, grid, args, given)

    _watchers.append(around)
    try:
        with mock.patch.object(owner, name, wrapped), _kept_kernels_hooked(around):
            yield
    finally:
        _watchers.pop()


_watchers: list[Callable[..., Any]] = []


def launches_are_watched() -> bool:
    """Inside a `hook_launch`?"""
    return bool(_watchers)


def announce_launch(
    fn: Callable[..., Any], grid: tuple[int, ...], args: Any, kwargs: dict[str, Any]
) -> None:
    """A launch of the interpreter's that another process carries out: every `hook_launch` sees it.

    fn is never called here: the outermost `with hook_launch(...)`, whose `around` comes last, must
    not call on.
    """
    from triton.runtime.interpreter import GridExecutor

    launch = object.__new__(GridExecutor)
    launch.fn, launch.grid = fn, grid
    launch(*args, **kwargs)


def _kept_kernels_hooked(around: Callable[..., Any]) -> contextlib.AbstractContextManager[Any]:
    """The same for `kernel[grid](...)` of what a launch or `warmup` returned."""
    from triton.compiler import CompiledKernel

    original = CompiledKernel.__getitem__

    def wrapped(self: Any, grid: Any) -> Any:
        launch, fn = original(self, grid), getattr(self.src, "fn", None)

        def run(*args: Any, **kwargs: Any) -> Any:
            def call() -> Any:
                launch(*args, **kwargs)
                return self

            return around(call, fn.fn, grid, args, {}) if fn is not None else call()

        return run

    return mock.patch.object(CompiledKernel, "__getitem__", wrapped)


def tensor_of(value: Any) -> Any:
    """The tensor that a descriptor made by the host describes; anything else as it is."""
    return value.base if type(value).__name__ == "TensorDescriptor" else value
