"""First thing in the process that all of an exercise's are forked from: torch, which takes longest,
and then a process for the compiler, before Triton is loaded for the interpreter.
"""

import gc
import os
import socket
from pathlib import Path

gc.disable()  # until all is loaded: to look through it for garbage is a tenth of the work

import torch  # noqa: E402, F401


def _compile(place: Path, parent: int) -> None:
    """Be the process that those of the compiler are forked from."""
    os.environ.update(TRITON_INTERPRET="0", CUDA_VISIBLE_DEVICES="", TRITONBOOK_PROGRESS="off")
    place.unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(place))
    door.listen(128)
    from ..walls import compiling, confine

    confine.close_other_files([2, door.fileno()])
    confine.die_with_parent()
    if os.getppid() == parent:
        compiling.serve(door)


if _place := os.environ.pop("AUTOGRADE_COMPILER", ""):
    _parent = os.getpid()
    if os.fork() == 0:
        try:
            _compile(Path(_place), _parent)
        finally:
            os._exit(1)
