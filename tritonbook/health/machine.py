"""A snapshot of this machine: everything that `doctor` judges, gathered once.

`Machine` is plain data, so that every judgement can be tested with a machine that nobody has.
"""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import torch

from ..home import preferred_home
from ..port.device import INTERPRET

NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "panfs")


@dataclass(frozen=True)
class Folder:
    """One folder that the workbook writes to. free is in bytes; kind is the file system's type."""

    path: str
    writable: bool = True
    kind: str = "ext4"
    free: int = 100 << 30
    noexec: bool = False

    @property
    def on_network(self) -> bool:
        return self.kind in NETWORK_FILE_SYSTEMS or self.kind.startswith("fuse.")


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
    processor: str = "x86_64"
    python: str = "3.11.7"
    torch: str = "2.13.0+cpu"
    triton: str = "3.7.1"
    torch_cuda: str | None = None
    torch_architectures: tuple[str, ...] = ()
    cuda_works: bool = False
    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    driver_gpus: tuple[str, ...] = ()
    visible_devices: str | None = None
    libcuda: str | None = None
    compiler: str | None = "/usr/bin/gcc"
    python_header: str | None = "/usr/include/python3.11/Python.h"
    interpret_variable: str | None = "1"
    interpreting: bool = True
    library_interpreted: bool | None = True
    cache: Folder = Folder("/home/you/.triton/cache")
    data: Folder = Folder("/home/you/.local/share/tritonbook")
    temporary: Folder = Folder("/tmp")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _file_system(path: Path) -> str:
    """The type of the file system that a path lies on."""
    try:
        command = ["df", "--output=fstype", path]
        said = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        said = []
    return said[-1] if said else "unknown"


def look_at(path: str | Path) -> Folder:
    """Describe a folder without creating it: a missing one is judged by its nearest parent."""
    path = Path(os.path.expanduser(path)).absolute()
    nearest = path
    # os.path: below a folder that may not be searched, Path.exists raises.
    while not os.path.exists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        about = os.statvfs(nearest)
        free, noexec = about.f_bavail * about.f_frsize, bool(about.f_flag & os.ST_NOEXEC)
    except OSError:
        free, noexec = 0, False
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return Folder(str(path), writable, _file_system(nearest), free, noexec)


def _nvidia_smi() -> tuple[str | None, tuple[str, ...]]:
    """Driver version and GPU names from the driver itself, whatever torch thinks."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return None, ()
    query = [tool, "--query-gpu=driver_version,name", "--format=csv,noheader"]
    try:
        out = subprocess.run(query, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None, ()
    rows = [line.split(", ", 1) for line in out.stdout.splitlines() if ", " in line]
    if out.returncode != 0 or not rows:
        return None, ()
    return rows[0][0], tuple(name for _, name in rows)


def _compiler() -> str | None:
    """The C compiler that Triton would take: $CC, else gcc, else clang; it does not try `cc`."""
    if wanted := os.environ.get("CC"):
        return shutil.which(wanted)
    return shutil.which("gcc") or shutil.which("clang")


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


def _libcuda() -> str | None:
    """The driver's library where Triton looks for it: its variable, ldconfig, LD_LIBRARY_PATH."""
    if named := os.environ.get("TRITON_LIBCUDA_PATH"):
        return named
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")):
        if Path(folder, "libcuda.so.1").exists():  # containers bind it in and set this variable
            return str(Path(folder, "libcuda.so.1"))
    return ctypes.util.find_library("cuda")


def _library_interpreted() -> bool | None:
    """Whether Triton's own library (`tl.sum`, ...) was loaded for the interpreter."""
    if "triton" not in sys.modules:
        return None
    import triton.language as tl

    return type(tl.sum).__name__ == "InterpretedFunction"


def probe() -> Machine:
    """Look at this machine. Creates nothing, contacts nobody; takes a second at most."""
    driver, driver_gpus = _nvidia_smi()
    works = torch.cuda.is_available()
    gpus = map(torch.cuda.get_device_properties, range(torch.cuda.device_count() if works else 0))
    return Machine(
        system=platform.system(),
        processor=platform.machine(),
        python=platform.python_version(),
        torch=torch.__version__,
        triton=_version("triton"),
        torch_cuda=torch.version.cuda,
        torch_architectures=tuple(torch.cuda.get_arch_list()) if works else (),
        cuda_works=works,
        gpus=tuple(Gpu(gpu.name, (gpu.major, gpu.minor), gpu.total_memory) for gpu in gpus),
        driver=driver,
        driver_gpus=driver_gpus,
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        libcuda=_libcuda(),
        compiler=_compiler(),
        python_header=_python_header(),
        interpret_variable=os.environ.get("TRITON_INTERPRET"),
        interpreting=INTERPRET,
        library_interpreted=_library_interpreted(),
        cache=look_at(_cache_folder()),
        data=look_at(preferred_home()),
        temporary=look_at(os.environ.get("TMPDIR") or "/tmp"),
    )
