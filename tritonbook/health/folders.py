"""Folders that the workbook writes to, found out by writing there; nothing stays behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..home import takes_programs

NETWORK_FILE_SYSTEMS = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "ceph", "panfs")
GIGABYTE = 1 << 30
TRIAL = 1 << 20  # bytes: a quota or a disk that is full still takes names and a few of them


@dataclass(frozen=True)
class Folder:
    """One folder that the workbook writes to. free is in bytes; kind is the file system's type.

    refused: what the system said against a file there.
    """

    path: str
    writable: bool = True
    kind: str = "ext4"
    free: int = 100 << 30
    noexec: bool = False
    refused: str = ""

    @property
    def on_network(self) -> bool:
        return self.kind in NETWORK_FILE_SYSTEMS or self.kind.startswith("fuse.")

    @property
    def good(self) -> bool:
        """Compiled kernels can be kept there."""
        return self.writable and not self.noexec and self.free >= GIGABYTE


def _file_system(path: Path) -> str:
    """The type of the file system that a path lies on."""
    try:
        command = ["df", "--output=fstype", path]
        said = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        said = []
    return said[-1] if said else "unknown"


def _try(folder: Path) -> tuple[str, bool]:
    """What the system says against a file of some size there, and whether it forbids programs."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            left = TRIAL
            while left:
                left -= file.write(bytes(left))
            os.fsync(file.fileno())  # a network's quota is known at the end
            return "", not takes_programs(file.fileno())
    except OSError as error:
        return error.strerror or str(error), False


def look_at(path: str | Path) -> Folder:
    """Describe a folder without creating it: a missing one is judged by its nearest parent."""
    path = Path(os.path.expanduser(path)).absolute()
    nearest = path
    # os.path: below a folder that may not be searched, Path.exists raises.
    while not os.path.exists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    free = 0
    with contextlib.suppress(OSError):
        about = os.statvfs(nearest)
        free = about.f_bavail * about.f_frsize
    refused, noexec = _try(nearest)
    return Folder(str(path), not refused, _file_system(nearest), free, noexec, refused)


def look_for_others() -> tuple[Folder, ...]:
    """Where else compiled kernels and temporary files could go, best first."""
    named = [os.environ.get(name) for name in ("TMPDIR", "SLURM_TMPDIR", "XDG_RUNTIME_DIR")]
    usual = ["/tmp", "/var/tmp", "~", os.environ.get("SCRATCH"), "/dev/shm", os.getcwd()]
    paths = dict.fromkeys(os.path.expanduser(path) for path in [*named, *usual] if path)
    found = [look_at(path) for path in paths if os.path.isdir(path)]
    return tuple(sorted(found, key=lambda folder: folder.on_network))
