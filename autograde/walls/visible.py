"""What a submission's processes can see of this machine, whichever walls stand around them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tritonbook.course import exercises

ROOT = Path(__file__).resolve().parents[2]
# What candidate and engine import; the folder `autograde` also holds hidden tests.
SHOWN = (ROOT / "tritonbook", ROOT / "autograde" / "walls", ROOT / "autograde" / "__init__.py")
# Below a workbook: solutions, which an empty folder hides.
WITH_SOLUTIONS = ("exercises", "solutions", "autograde/source")
# What a class hands in, where nbgrader puts it if nothing else is said.
EXCHANGE = Path("/usr/local/share/nbgrader")
SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/opt/conda", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/OpenCL")
DEVICES = ("null", "zero", "full", "random", "urandom")
GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps", "nvidia-modeset")


def visible_folders() -> list[Path]:
    """Folders that Python, torch, Triton and the workbook need, to be bound read-only."""
    found = [Path(folder) for folder in SYSTEM_FOLDERS]
    found += [Path(sys.base_prefix), Path(sys.prefix)]
    found += [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    kept: list[Path] = []
    linked = [folder.resolve() for folder in found if folder.is_symlink()]  # as `.venv` may be
    for folder in [*found, *linked]:
        if folder.is_dir() and not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return [*kept, *(path for path in SHOWN if path.is_dir())]


def covered_folders() -> list[Path]:
    """Folders with solutions or hand-ins in them that lie inside visible ones: an empty one hides
    each."""
    known = [exercises.directory(), EXCHANGE, *(ROOT / name for name in WITH_SOLUTIONS)]
    found = []
    for folder in visible_folders():
        for path in [*known, *folder.glob("tritonbook/_exercises"), *folder.glob("_exercises")]:
            if path.is_dir() and path.resolve().is_relative_to(folder.resolve()):
                found.append(folder / path.resolve().relative_to(folder.resolve()))
    return list(dict.fromkeys(found))


def shown_in(folder: Path) -> Path | None:
    """The visible folder that `folder` lies in, where a candidate could read it; None: in none."""
    place = folder.resolve()
    if any(place.is_relative_to(covered.resolve()) for covered in covered_folders()):
        return None
    return next((f for f in visible_folders() if place.is_relative_to(f.resolve())), None)


def visible_files() -> list[Path]:
    """Single files: the loader's cache, and what makes a package of this one's room."""
    return [
        path for path in (*map(Path, SYSTEM_FILES), *SHOWN) if path.exists() and not path.is_dir()
    ]


def devices() -> list[Path]:
    """Device nodes: the harmless ones, and the GPU's where there is one."""
    gpus = sorted(Path("/dev").glob("nvidia[0-9]*"))
    names = [Path("/dev") / name for name in (*DEVICES, *GPU_DEVICES)]
    return [path for path in (*names, *gpus) if path.exists()]


def environment() -> dict[str, str]:
    """What a candidate's environment holds: nothing of the grader's own."""
    kept = ("LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "TRITON_INTERPRET")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return found | {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
        "TRITON_CACHE_DIR": "/tmp/triton",
        "TRITONBOOK_HOME": "/tmp/home",
        "TRITONBOOK_EXERCISES": "/tmp/no-exercises",  # what cells need of them, they are lent
    }
