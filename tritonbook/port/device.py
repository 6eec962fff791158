"""Where am I: a CUDA GPU, or Triton's interpreter on the CPU?

The answer has to be known before `triton` is imported: Triton's own library functions (`tl.sum`,
`tl.max`, ...) read the variable TRITON_INTERPRET at import. `import tritonbook` therefore imports
this module first.
"""

from __future__ import annotations

import functools
import os
import platform
import sys

from ..words import later
from .present import NotReady, demand


def _interpreter_wanted() -> bool:
    value = os.environ.get("TRITON_INTERPRET", "")
    if value:
        return value.lower() not in ("0", "false", "off")
    try:
        import torch

        # ROCm's torch calls an AMD GPU "cuda"; the workbook compiles and judges for NVIDIA's.
        return not torch.cuda.is_available() or bool(torch.version.hip)
    except Exception:
        demand()  # says why
        raise


def _decide() -> bool:
    """Set TRITON_INTERPRET when there is no GPU; return whether the interpreter is in use."""
    # torch's profiler prints two lines for each trace, in red in a notebook; it reads this once.
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")
    interpret = _interpreter_wanted()
    if interpret and "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise NotReady(
            "There is no CUDA GPU here, so kernels must run in Triton's interpreter, but triton "
            "was imported before tritonbook.",
            "Restart the kernel and run the set-up cell first.",
        )
    if interpret:
        os.environ["TRITON_INTERPRET"] = "1"
    # Triton 3.9 warns at the first compile while this is unset; 1 is the value it falls back to.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    return interpret


class Device(str):
    """The name of a kind of device, which equals the device of the tensors on it, as in Triton's
    tutorials: `assert x.device == DEVICE`."""

    @property
    def type(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return str(self) == getattr(other, "type", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


# What PyTorch says where it is asked for a GPU and there is none.
NO_GPU = "Torch not compiled with CUDA|No CUDA GPUs|Found no NVIDIA driver"
INTERPRET: bool = _decide()
DEVICE = Device("cpu" if INTERPRET else "cuda")


def ready() -> None:
    """Raises NotReady where kernels are to be compiled, and no GPU would run them."""
    if not (INTERPRET or _has_gpu()):
        said = os.environ.get("TRITON_INTERPRET")
        raise NotReady(
            f"TRITON_INTERPRET={said} asks for compiled kernels, but torch finds no GPU here.",
            "unset TRITON_INTERPRET   # where it is set, then restart the kernel: the interpreter "
            "runs every notebook",
        )


def multiprocessors() -> int:
    """How many streaming multiprocessors this GPU has; without one, an H100's 132."""
    import torch

    if INTERPRET or not _has_gpu():  # interpreted, or compiled for a GPU elsewhere
        return 132
    return _multiprocessors_of(torch.cuda.current_device())


# Asked before each launch of programs that stay, and kept: PyTorch takes tens of microseconds.
@functools.cache
def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


@functools.cache
def _multiprocessors_of(device: int) -> int:
    import torch

    return torch.cuda.get_device_properties(device).multi_processor_count


def versions() -> dict[str, str]:
    """Versions that decide what a result means: python, torch, triton, numpy, gpu, capability."""
    import numpy
    import torch
    import triton

    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
        "gpu": later("no GPU (Triton's interpreter)"),
        "capability": "",
    }
    if not INTERPRET:
        major, minor = torch.cuda.get_device_capability()
        found["gpu"] = torch.cuda.get_device_name()
        found["capability"] = f"sm_{major}{minor}"
    return found


def describe() -> str:
    """One line for the top of a notebook: mode, GPU, torch and Triton versions."""
    found = versions()
    where = later("Triton's interpreter on the CPU (no GPU)") if INTERPRET else found["gpu"]
    return later(f"{where} | torch {found['torch']} | triton {found['triton']}")
