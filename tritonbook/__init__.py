"""Triton Workbook: what every notebook imports.

Importing this package decides between GPU and interpreter before Triton is loaded, so it must come
before `import triton` (the set-up cell of each notebook does that).
"""

# ruff: noqa: F401  (what is imported here is for others)

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .port.present import NotReady, collected_later, demand

# Why kernels cannot run here, where torch or Triton is missing: the doctor still answers, and
# whoever asks for another name is told.
NOT_READY: NotReady | None = None


def begin() -> None:
    """Load torch and Triton, for a GPU or the interpreter. Once; later calls do nothing."""
    global NOT_READY
    if NOT_READY or "DEVICE" in globals():
        return
    try:
        with collected_later():
            from .port import device  # decides before triton loads

            demand()

            from .port.interpreter import install_interpreter_fixes

            install_interpreter_fixes()
    except NotReady as error:
        NOT_READY = error
    else:
        globals().update({name: getattr(device, name) for name in _DECIDED})


__version__ = "0.1.0"

# Loaded when first used, so that `import tritonbook` stays quick.
_HOMES = {
    "backwards": ".port.order",
    "bench": ".timing.measure",
    "check": ".course.answer_check",
    "doctor": ".health.doctor",
    "facts": ".seeing.compiled",
    "hook_launch": ".port.compat",
    "matmul_tile": ".kernels.tile_sizes",
    "mine": ".course.progress",
    "multiprocessors": ".port.device",
    "on_ranks": ".ranks.start",
    "predict": ".seeing.prediction",
    "progress": ".course.progress",
    "reference": ".course.exercises",
    "pictures": ".course.page_checks",
    "setup": ".notebook",
    "shared_memory_limit": ".port.compat",
    "show_cases": ".course.answer_check",
    "show_tiles": ".seeing.tiles",
    "stop_after": ".checking.errors",
    "target_arch": ".port.compat",
    "time_of": ".seeing.prediction",
    "traffic": ".seeing.tiles",
    "triton_version": ".port.compat",
}
_DECIDED = ("DEVICE", "INTERPRET", "versions")
__all__ = [*_DECIDED, *_HOMES]

if TYPE_CHECKING:  # the same again, for editors
    from .checking.errors import stop_after
    from .course.answer_check import check, show_cases
    from .course.exercises import reference
    from .course.page_checks import pictures
    from .course.progress import mine, progress
    from .health.doctor import doctor
    from .kernels.tile_sizes import matmul_tile
    from .notebook import setup
    from .port.compat import hook_launch, shared_memory_limit, target_arch, triton_version
    from .port.device import DEVICE, INTERPRET, multiprocessors, versions
    from .port.order import backwards
    from .ranks.start import on_ranks
    from .seeing.compiled import facts
    from .seeing.prediction import predict, time_of
    from .seeing.tiles import show_tiles, traffic
    from .timing.measure import bench


def __getattr__(name: str) -> Any:
    if name in __all__ and name != "doctor":
        begin()
    if NOT_READY and name in __all__ and name != "doctor":
        raise NOT_READY
    if name in _DECIDED:
        return globals()[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'tritonbook' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


# The grader reads a class without torch: its command puts that off, and begins before it runs any.
if not os.environ.pop("TRITONBOOK_LATER", ""):
    begin()
