"""Where the exercises are, and the folder of this machine in which the workbook keeps things:
progress, and, where ~/.triton cannot be written, Triton's compiled kernels.

TRITONBOOK_HOME names another one.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import tempfile
from pathlib import Path


def preferred_home() -> Path:
    """Where that folder belongs, writable or not."""
    if chosen := os.environ.get("TRITONBOOK_HOME"):
        return Path(os.path.expanduser(chosen)).absolute()
    # Containers may run under a user without a home: "~" then stays, and is not an absolute path.
    return Path(
        os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "tritonbook"
    )


def home() -> Path:
    """The folder, made if need be: the preferred one, else a temporary one."""
    preferred = preferred_home()
    if preferred.is_absolute() and writable(preferred):
        return preferred
    return _temporary()


def _temporary() -> Path:
    """A temporary folder of this user, the same one each time."""
    usual = f"{tempfile.gettempdir()}/tritonbook-{os.getuid()}"
    fallback = Path(os.environ.get("TRITONBOOK_FALLBACK", usual))
    with contextlib.suppress(FileExistsError):
        fallback.mkdir(mode=0o700)
    if not (_private(fallback) and writable(fallback)):
        fallback = Path(tempfile.mkdtemp(prefix="tritonbook-"))
        os.environ["TRITONBOOK_FALLBACK"] = str(fallback)  # for the rest of this process
    return fallback


def writable(folder: Path, programs: bool = False) -> bool:
    """Whether files can be made in a folder, which is made if need be; programs: run there, too."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(4096))  # a disk that is full still takes names
            return not programs or takes_programs(file.fileno())
    except OSError:
        return False


def takes_programs(file: int) -> bool:
    """Whether a file lies where its code may be run, as a compiled kernel's launcher must be."""
    try:
        mmap.mmap(file, mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    except PermissionError:
        return False
    return True


def triton_cache() -> dict[str, str]:
    """What the environment lacks where Triton cannot keep compiled kernels in ~/.triton: a
    container's home may be read-only, somebody else's, or forbid programs (noexec)."""
    base = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    usual = Path(base, ".triton", "cache")
    if os.environ.get("TRITON_CACHE_DIR"):
        return {}
    if usual.is_absolute() and writable(usual, programs=True):
        return {}
    places = [home() / "triton", _temporary() / "triton"]
    good = (place for place in places if writable(place, programs=True))
    return {"TRITON_CACHE_DIR": str(next(good, places[-1]))}


def _private(folder: Path) -> bool:
    """True when `folder` is a real folder of ours that nobody else can write to.

    Sources kept there are imported by `mine`, so another user must not be able to plant one.
    """
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def directory() -> Path:
    """Where the exercise files are: package data in an installed copy, else the checkout's."""
    chosen = os.environ.get("TRITONBOOK_EXERCISES")
    if chosen:
        return Path(chosen)
    package = Path(__file__).resolve().parent
    packaged = package / "_exercises"
    return packaged if packaged.is_dir() else package.parent / "exercises"
