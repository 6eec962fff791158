"""Whose turn it is on a GPU: exercises share it, and whoever takes times has it alone.

Two locks of the operating system (`flock`) on files that belong to one GPU: *room*, held shared by
every exercise that runs and exclusively by one that is timed, and *door*, through which everybody
comes in. Who waits for an empty room holds the door, so that newcomers cannot keep it waiting for
ever. Both are freed when their process ends, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path


class Turns:
    """One process's place on one GPU. Outside at first; `share`, perhaps `alone`, until it ends."""

    def __init__(self, name: str, folder: Path | None = None):
        """name: the GPU. folder: where the lock files are (default: this user's own in /tmp)."""
        folder = folder or _own_folder()
        self._door = (folder / f"{name}.door").open("w")
        self._room = (folder / f"{name}.room").open("w")
        self.is_alone = False

    def share(self) -> None:
        """Come in beside others; waits while somebody is, or wants to be, alone."""
        fcntl.flock(self._door, fcntl.LOCK_EX)
        fcntl.flock(self._room, fcntl.LOCK_SH)
        fcntl.flock(self._door, fcntl.LOCK_UN)

    def alone(self) -> None:
        """Wait until the others have left, and stay alone."""
        # Out first: two that kept their place while they wait for each other would wait for ever.
        fcntl.flock(self._room, fcntl.LOCK_UN)
        fcntl.flock(self._door, fcntl.LOCK_EX)
        fcntl.flock(self._room, fcntl.LOCK_EX)
        self.is_alone = True


def this_gpu() -> str:
    """A name for the GPU that PyTorch uses here, the same in all processes of this machine."""
    import torch

    return f"gpu-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}"


def _own_folder() -> Path:
    """A folder that nobody else may write: a stranger's lock would stop every exercise."""
    folder = Path(tempfile.gettempdir()) / f"autograde-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(f"{folder} must belong to you alone: remove it")
    return folder
