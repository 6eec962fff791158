"""What a cell changes for all that runs after it: settings of torch, of Triton and of the process.

Each task must end as it would alone, so they are put back before the next cell, and after a call.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils import _device as _default

from tritonbook.port.knobs import follow_environment, knob_values, set_knobs

_THEIRS = ("TRITON", "TORCH", "PYTORCH", "CUDA", "NVIDIA", "OMP_", "MKL_", "KMP_", "LLVM", "MLIR")
Setting = tuple[Callable[[], Any], Callable[[Any], Any]]  # how it is read, how it is set


def _device() -> torch.device | None:
    """The default device; None for one that this machine does not have."""
    try:
        return torch.empty(0).device
    except Exception:  # noqa: BLE001  (each backend has its own)
        return None


def _set_device(device: torch.device | None) -> None:
    torch.set_default_device(None if device is None or device.type == "cpu" else device)


def _set_environment(values: dict[str, str]) -> None:
    """New variables stay, for a later cell may ask for them, except those that torch and Triton
    read."""
    os.environ.update(values)
    for name in [*os.environ]:
        if name not in values and name.startswith(_THEIRS):
            del os.environ[name]


def _attribute(holder: Any, name: str) -> Setting:
    return lambda: getattr(holder, name), lambda value: setattr(holder, name, value)


def _set_path(path: list[str]) -> None:
    sys.path[:] = path


_OF_A_CALL: list[Setting] = [
    (lambda: dict(os.environ), _set_environment),
    (knob_values, set_knobs),
    (_device, _set_device),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_grad_enabled, torch.set_grad_enabled),
]
# Seeds are not among the first: each call of a function draws other numbers.
_OF_A_CELL: list[Setting] = [
    *_OF_A_CALL,
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.is_warn_always_enabled, torch.set_warn_always),
    (lambda: False, torch.set_flush_denormal),
    (
        lambda: dict(vars(torch._tensor_str.PRINT_OPTS)),
        lambda found: torch.set_printoptions(**found),
    ),
    (np.get_printoptions, lambda found: np.set_printoptions(**found)),
    (np.geterr, lambda found: np.seterr(**found)),
    *(
        _attribute(torch.backends.cudnn, name)
        for name in ("enabled", "benchmark", "deterministic", "allow_tf32")
    ),
    _attribute(torch.backends.cuda.matmul, "allow_tf32"),
    _attribute(sys, "stdout"),
    _attribute(sys, "stderr"),
    (lambda: sys.path[:], _set_path),
    (os.getcwd, os.chdir),
    (sys.getrecursionlimit, sys.setrecursionlimit),
]


@contextlib.contextmanager
def put_back(cell: bool = False) -> Iterator[None]:
    """Settings are as they were when this is left. cell: those too that a call leaves alone."""
    kept = []
    for read, put in _OF_A_CELL if cell else _OF_A_CALL:
        with contextlib.suppress(Exception):  # this torch does not have it
            kept.append((read, put, read()))
    with warnings.catch_warnings():
        try:
            yield
        finally:
            for read, put, value in kept:
                with contextlib.suppress(Exception):
                    if not _same(read, value):
                        put(value)


def _same(read: Callable[[], Any], value: Any) -> bool:
    """Whether a setting is surely what it was: to set some takes long."""
    try:
        return bool(read() == value)
    except Exception:  # noqa: BLE001  (it cannot be read any more; or it has many values)
        return False


class Machine:
    """Whether kernels are interpreted, which devices there are and what Python's own functions are:
    no cell can change that, and a kernel is made in one way or the other where it is defined.
    device: what the cells said last to `torch.set_default_device`, for it holds in the calls."""

    def __init__(self) -> None:
        self.builtins = dict(vars(builtins))
        self.interpret = os.environ.get("TRITON_INTERPRET", "")
        self.device: torch.device | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Undo what a statement said against it."""
        before = _default.CURRENT_DEVICE
        yield
        for name, own in self.builtins.items():  # first: what follows calls them
            if vars(builtins).get(name) is not own:
                setattr(builtins, name, own)
        os.environ["TRITON_INTERPRET"] = self.interpret
        follow_environment("interpret")
        if before != _default.CURRENT_DEVICE:
            self.device = _default.CURRENT_DEVICE
        if _device() is None:
            torch.set_default_device(None)
