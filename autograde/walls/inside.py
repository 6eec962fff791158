"""First thing in a process of a submission's: go behind the walls. Then serve one line.

`python -m autograde.walls.inside candidate LIMITS` is what bwrap and apptainer start: the line to
the checker is standard input, the run's limits are JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tritonbook.port.device import INTERPRET

from . import confine, visible

Serve = Callable[[socket.socket, Path], None]  # gets a writable folder of the process's own


def start_forked(
    end: socket.socket, level: str, root: Path, limits: confine.Limits, serve: Serve
) -> None:
    """In a process forked from one that has torch loaded."""
    inside = visible.environment()  # which keeps some of what is there now
    os.environ.clear()
    os.environ.update(inside | {"TRITON_INTERPRET": "1" if INTERPRET else "0"})
    number = end.fileno()
    confine.close_other_files([number])
    confine.give_way()  # before the walls, inside which no file of /proc can be written
    if level == "namespaces":
        confine.enter_namespaces(root, limits, gpu=not INTERPRET)
        folder = Path("/tmp/cells")
        folder.mkdir()
    else:
        os.environ.update(HOME=str(root), TMPDIR=str(root), TRITON_CACHE_DIR=str(root / "triton"))
        os.setsid()
        confine.limit_resources(limits.without_walls(), gpu=not INTERPRET)
        folder = root
        os.chdir(root)
    tempfile.tempdir = None  # found again, under the new root
    serve(end, folder)
    os._exit(0)


def start_anew(module: str, limits: str) -> None:
    """In a program that was started behind walls. module: of this package, with a `main`."""
    end = socket.socket(fileno=os.dup(0))
    confine.close_other_files([end.fileno()])
    confine.give_way()
    confine.limit_resources(confine.Limits(**json.loads(limits)), gpu=not INTERPRET)
    importlib.import_module(f"autograde.walls.{module}").main(end, Path(tempfile.mkdtemp()))


if __name__ == "__main__":
    start_anew(*sys.argv[1:])
