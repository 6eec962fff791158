"""GPUs, drivers and compilers of this machine, whatever torch sees: asked, or read from files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from ..words import later

# Where the driver's library is when the system's list (ldconfig) does not know it: WSL, Colab,
# containers (NVIDIA's, Apptainer's), NixOS, and the usual folders.
LIBCUDA_FOLDERS = (
    "/usr/lib/wsl/lib",
    "/usr/lib64-nvidia",
    "/.singularity.d/libs",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/cuda/compat",
    "/usr/local/cuda/compat/lib",
)
LIBCUDA = "libcuda.so.1"


class Driver(NamedTuple):
    """What nvidia-smi says. complaint: its own words where it cannot say more."""

    version: str | None = None
    gpus: tuple[str, ...] = ()
    complaint: str = ""
    identities: tuple[str, ...] = ()  # of GPUs and slices, as CUDA_VISIBLE_DEVICES takes them
    sliced: bool = False  # a GPU is in MIG mode: it can be used only by a slice of it


def _said(*command: str) -> tuple[bool, str]:
    """Whether a command ends well, and what it prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return False, later("no answer within 20 s")
    except OSError as error:
        return False, str(error)
    return done.returncode == 0, done.stdout + done.stderr


def ask_driver() -> Driver:
    """The driver itself, whatever torch thinks."""
    tool = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    if not tool:
        return Driver()
    well, text = _said(tool, "--query-gpu=driver_version,name", "--format=csv,noheader")
    rows = [line.split(", ", 1) for line in text.splitlines() if ", " in line]
    if not (well and rows):
        lines = text.strip().splitlines()
        return Driver(complaint=lines[0].rstrip(".") if lines else "")
    identities = re.findall(r"UUID: ((?:GPU|MIG)-[\w/-]+)", _said(tool, "-L")[1])
    well, mode = _said(tool, "--query-gpu=mig.mode.current", "--format=csv,noheader")
    names = tuple(name for _, name in rows)
    return Driver(rows[0][0], names, "", tuple(identities), well and "Enabled" in mode)


def node_gpus(root: str = "/") -> tuple[str, ...]:
    """GPUs that this computer's kernel knows, whether or not this process was given one."""
    found = []
    for about in sorted(Path(root, "proc/driver/nvidia/gpus").glob("*/information")):
        model = re.search(r"Model:\s*(.+)", about.read_text(errors="replace"))
        found.append(model[1].strip() if model else "NVIDIA GPU")
    files = [each for each in Path(root, "dev").glob("nvidia*") if each.name[6:].isdigit()]
    return tuple(found) or ("NVIDIA GPU",) * len(files)


def node_driver(root: str = "/") -> str | None:
    """The version of the driver that this computer's kernel has loaded."""
    try:
        text = Path(root, "proc/driver/nvidia/version").read_text(errors="replace")
    except OSError:
        return None
    version = re.search(r"\s(\d{3,}\.[\d.]+)\s", text)
    return version[1] if version else None


def container(root: str = "/") -> str:
    """What kind of container this is, empty outside."""
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "Kubernetes"
    if "APPTAINER_CONTAINER" in os.environ or "SINGULARITY_CONTAINER" in os.environ:
        return "Apptainer"
    marks = {".singularity.d": "Apptainer", "run/.containerenv": "Podman", ".dockerenv": "Docker"}
    return next((kind for mark, kind in marks.items() if Path(root, mark).exists()), "")


def _loaded() -> list[str]:
    """The folder of the driver's library that torch runs with in this process."""
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return []
    return list(dict.fromkeys(re.findall(r"(/\S*)/libcuda\.so", maps)))


def libcuda() -> tuple[str | None, str | None]:
    """The driver's library where Triton finds it, and another folder that has it.

    Triton takes TRITON_LIBCUDA_PATH, else what ldconfig lists, else LD_LIBRARY_PATH: a list that is
    out of date hides the variable.
    """
    listed = re.findall(r"libcuda\.so\.1 .*=> (\S+)", _said("/sbin/ldconfig", "-p")[1])
    folders = [os.path.dirname(path) for path in listed]
    paths = [each for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each]
    named = os.environ.get("TRITON_LIBCUDA_PATH")
    looked_in = [named] if named else folders or paths
    here = [Path(folder, LIBCUDA) for folder in looked_in]
    others = [*_loaded(), *folders, *paths, *LIBCUDA_FOLDERS]
    others = [Path(folder, LIBCUDA) for folder in others]
    found = next((str(path) for path in here if path.exists()), None)
    elsewhere = (path for path in others if path.exists() and path.parent.name != "stubs")
    return found, next((str(path.parent) for path in elsewhere if str(path) != found), None)


def compiler(other_than_named: bool = False) -> str | None:
    """The C compiler that Triton would take: $CC, else gcc, else clang; it does not try `cc`."""
    named = os.environ.get("CC")
    if named is not None and not other_than_named:
        return shutil.which(named)
    return shutil.which("gcc") or shutil.which("clang")


def complaint(program: str | None, header: str | None) -> str:
    """What a compiler says against a library as small as can be; empty where it makes one."""
    if not (program and header):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "try.c")
        source.write_text("#include <Python.h>\nint answer(void) { return 42; }\n")
        command = [program, str(source), "-shared", "-fPIC", f"-I{Path(header).parent}"]
        well, text = _said(*command, "-o", str(Path(folder, "try.so")))
    lines = [line.strip() for line in text.splitlines()]
    named = [line for line in lines if re.search("error|cannot|not found", line)]
    return "" if well else (named or lines or [later("it says nothing")])[0].rstrip(".")


def links(program: str, library: str) -> bool:
    """Whether a compiler finds libcuda.so beside the driver's library, or where it always looks."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "-shared", f"-L{Path(library).parent}", "-lcuda"]
        return _said(*command, "-o", str(Path(folder, "try.so")))[0]
