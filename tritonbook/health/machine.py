"""A snapshot of this machine: everything that `doctor` judges, gathered once.

`Machine` is plain data, so that every judgement can be tested with a machine that nobody has.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import os
import platform
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .. import NOT_READY
from ..home import preferred_home
from ..port import assembler
from ..port.pairs import numbers
from ..port.present import installed
from . import hardware
from .folders import Folder, look_at, look_for_others

# Packages that bring a module called triton: releases, nightly builds, AMD's, Intel's, Windows'.
TRITONS = (
    "triton",
    "pytorch-triton",
    "pytorch-triton-rocm",
    "pytorch-triton-xpu",
    "triton-windows",
)


@dataclass(frozen=True)
class Gpu:
    """One GPU as torch sees it. memory is in bytes."""

    name: str
    capability: tuple[int, int]
    memory: int = 80 << 30


@dataclass(frozen=True)
class Machine:
    """What decides whether kernels run here. The defaults: a healthy laptop without a GPU."""

    system: str = "Linux"
    release: str = "6.1.0"
    processor: str = "x86_64"
    python: str = "3.11.7"
    torch: str = "2.13.0+cpu"
    triton: str = "3.7.1"
    tritons: tuple[str, ...] = ()  # each package that brings one, and its version
    broken: tuple[str, str] | None = None  # what is wrong with torch or Triton, and what mends it
    torch_cuda: str | None = None
    torch_hip: str | None = None
    torch_architectures: tuple[str, ...] = ()
    torch_says: str = ""  # why it sees no GPU
    cuda_works: bool = False
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    driver_gpus: tuple[str, ...] = ()
    driver_complaint: str = ""
    identities: tuple[str, ...] = ()  # of GPUs and slices: GPU-..., MIG-...
    sliced: bool = False
    node_gpus: tuple[str, ...] = ()
    amd_driver: bool = False
    container: str = ""
    slurm_job: str | None = None
    slurm_gpus: str | None = None
    visible_devices: str | None = None
    assembler: tuple[str, tuple[str, ...]] = ("", ())  # its CUDA, the GPUs that it knows
    libcuda: str | None = None
    libcuda_named: str | None = None  # TRITON_LIBCUDA_PATH
    libcuda_elsewhere: str | None = None
    libcuda_unlinked: bool = False  # Triton up to 3.5 links with libcuda.so, which is not there
    library_path: str = ""
    compiler: str | None = "/usr/bin/gcc"
    compiler_named: str | None = None  # CC
    compiler_elsewhere: str | None = None
    compiler_complaint: str = ""
    python_header: str | None = "/usr/include/python3.11/Python.h"
    interpret_variable: str | None = "1"
    interpreting: bool = True
    library_interpreted: bool | None = True
    cache: Folder = Folder("/home/you/.triton/cache")
    data: Folder = Folder("/home/you/.local/share/tritonbook")
    temporary: Folder = Folder("/tmp")
    other_folders: tuple[Folder, ...] = (Folder("/tmp"), Folder("/var/tmp"))

    @property
    def amd(self) -> bool:
        """Whether torch was built for AMD's GPUs: it calls them "cuda", too."""
        return bool(self.torch_hip) or "rocm" in self.torch


class Unseen:
    """In the place of what could not be looked at: a judgement that asks for it hears why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def _tell(self, *_: Any) -> NoReturn:
        raise self._error

    __bool__ = __len__ = __iter__ = __getitem__ = __getattr__ = __str__ = __format__ = _tell
    __eq__ = __contains__ = _tell  # type: ignore[assignment]


def _tritons() -> tuple[str, ...]:
    found = []
    for name in TRITONS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return tuple(found)


def _python_header() -> str | None:
    # Debian's default scheme names a folder under /usr/local; Triton looks where the header is.
    scheme = sysconfig.get_default_scheme()
    scheme = "posix_prefix" if scheme == "posix_local" else scheme
    header = Path(sysconfig.get_paths(scheme=scheme)["include"]) / "Python.h"
    return str(header) if header.exists() else None


def _cache_folder() -> str:
    """Triton's own rule: TRITON_CACHE_DIR, else .triton/cache under TRITON_HOME or the home."""
    base = os.environ.get("TRITON_HOME") or "~"
    return os.environ.get("TRITON_CACHE_DIR") or f"{base}/.triton/cache"


def _triton() -> str:
    if NOT_READY:
        return installed("triton")
    import triton

    return triton.__version__


def _unlinked(library: str | None) -> bool:
    program = hardware.compiler()
    old = numbers(_triton()) < (3, 6)
    return bool(old and library and program) and not hardware.links(program, library)


def _library_interpreted() -> bool | None:
    """Whether Triton's own library (`tl.sum`, ...) was loaded for the interpreter."""
    if NOT_READY or "triton" not in sys.modules:
        return None
    import triton.language as tl

    return type(tl.sum).__name__ == "InterpretedFunction"


def _interpreting() -> bool:
    if NOT_READY:
        return True
    from ..port.device import INTERPRET

    return INTERPRET


def _gpus(torch: Any) -> tuple[Gpu, ...]:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    found = map(torch.cuda.get_device_properties, range(count))
    return tuple(Gpu(gpu.name, (gpu.major, gpu.minor), gpu.total_memory) for gpu in found)


def _torch_says(torch: Any) -> str:
    """Why a torch for GPUs sees none, in its own words."""
    if torch.version.cuda and not torch.cuda.is_available():
        try:
            torch.cuda.init()
        except Exception as error:
            return str(error).partition("\n")[0].rstrip(".")
    return ""


def _about_torch(torch: Any) -> dict[str, Callable[[], Any]]:
    """What only torch knows."""
    works = torch.cuda.is_available
    gpus = functools.cache(lambda: _gpus(torch))
    return {
        "torch": lambda: torch.__version__,
        "torch_cuda": lambda: torch.version.cuda,
        "torch_hip": lambda: torch.version.hip,
        "torch_architectures": lambda: tuple(torch.cuda.get_arch_list()) if works() else (),
        "torch_says": lambda: _torch_says(torch),
        "cuda_works": works,
        "gpus": gpus,
        "assembler": lambda: (
            assembler.about(gpus()[0].capability[0])
            if gpus() and not (torch.version.hip or NOT_READY)
            else ("", ())
        ),
    }


def probe() -> Machine:
    """Look at this machine. Leaves nothing behind, contacts nobody; takes a second or two.

    What cannot be looked at is `Unseen`; the rest is judged.
    """
    driver, libcuda = functools.cache(hardware.ask_driver), functools.cache(hardware.libcuda)
    variable = os.environ.get
    asks: dict[str, Callable[[], Any]] = {
        "system": platform.system,
        "release": platform.release,
        "processor": platform.machine,
        "python": platform.python_version,
        "torch": lambda: installed("torch"),
        "triton": _triton,
        "tritons": _tritons,
        "broken": lambda: (NOT_READY.sentence, NOT_READY.mend) if NOT_READY else None,
        "driver": lambda: driver().version or hardware.node_driver(),
        "driver_gpus": lambda: driver().gpus,
        "driver_complaint": lambda: driver().complaint,
        "identities": lambda: driver().identities,
        "sliced": lambda: driver().sliced,
        "node_gpus": hardware.node_gpus,
        "amd_driver": lambda: os.path.exists("/dev/kfd"),
        "container": hardware.container,
        "slurm_job": lambda: variable("SLURM_JOB_ID"),
        "slurm_gpus": lambda: variable("SLURM_JOB_GPUS") or variable("SLURM_STEP_GPUS"),
        "visible_devices": lambda: variable("CUDA_VISIBLE_DEVICES"),
        "libcuda": lambda: libcuda()[0],
        "libcuda_elsewhere": lambda: libcuda()[1],
        "libcuda_unlinked": lambda: _unlinked(libcuda()[0]),
        "libcuda_named": lambda: variable("TRITON_LIBCUDA_PATH"),
        "library_path": lambda: variable("LD_LIBRARY_PATH", ""),
        "compiler": hardware.compiler,
        "compiler_named": lambda: variable("CC"),
        "compiler_elsewhere": lambda: hardware.compiler(other_than_named=True),
        "compiler_complaint": lambda: hardware.complaint(hardware.compiler(), _python_header()),
        "python_header": _python_header,
        "interpret_variable": lambda: variable("TRITON_INTERPRET"),
        "interpreting": _interpreting,
        "library_interpreted": _library_interpreted,
        "cache": lambda: look_at(_cache_folder()),
        "data": lambda: look_at(preferred_home()),
        "temporary": lambda: look_at(variable("TMPDIR") or "/tmp"),
        "other_folders": look_for_others,
    }
    with contextlib.suppress(Exception):  # NOT_READY says why
        asks |= _about_torch(importlib.import_module("torch"))
    return Machine(**{name: _seen(ask) for name, ask in asks.items()})


def _seen(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        return Unseen(error)
