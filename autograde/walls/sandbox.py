"""Walls around a candidate: which there are on this machine, and how each is asked for.

The ladder, best first. `namespaces` forks from a process that has torch loaded, so it costs no
import; the commands start Python anew.

    apptainer    a container image: --containall --no-home --net --network none [--nv]; no root
    bubblewrap   bwrap --unshare-all, read-only binds of Python and the libraries
    namespaces   the same walls built here: user, mount, PID, network and IPC namespaces
    plain        resource limits only: the student's code can read what the grader can read
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import visible
from .confine import PIVOT_ROOT, Limits, enter_namespaces
from .container import container_command, container_trouble

# With equal walls the one that starts fastest comes first.
LEVELS = ("namespaces", "bubblewrap", "apptainer", "plain")


class NoWalls(RuntimeError):
    """There are no walls here that may be used: one sentence."""


def works(level: str, image: Path | None = None) -> bool:
    """Whether a level works here; "plain" always does. Tried, which takes a process or more."""
    if level == "namespaces":
        return _namespaces_work()
    if level == "bubblewrap":
        return _bubblewrap_works()
    if level == "apptainer":
        return image is not None and container_trouble(image) is None
    return level == "plain"


def available(image: Path | None = None) -> list[str]:
    """The levels that work here, best first."""
    return [level for level in LEVELS if works(level, image)]


def choose(level: str, image: Path | None, force: bool) -> str:
    """The level to use for `level`, which may be "auto". Raises NoWalls where there is none."""
    chosen = level
    if level == "auto":
        chosen = next(each for each in LEVELS if works(each, image))
    elif not works(level, image):
        why = f": {container_trouble(image)}" if level == "apptainer" else ""
        others = ", ".join(available(image)).replace("plain", "plain (with --force)")
        raise NoWalls(f"--sandbox {level} cannot be used here{why}; these can: {others}.")
    if chosen == "plain" and not force:
        raise NoWalls(
            "Nothing here keeps students' code from your files and the hidden tests: install "
            "bubblewrap, or accept that with --force."
        )
    return chosen


@functools.cache
def _bubblewrap_works() -> bool:
    if not shutil.which("bwrap"):
        return False
    python = [sys.executable, "-c", "import autograde.walls.wire"]
    command = [*bubblewrap_command(), "--setenv", "TRITONBOOK_LATER", "1", *python]  # no torch
    done = subprocess.run(command, capture_output=True, timeout=60, env=visible.environment())
    return done.returncode == 0


@functools.cache
def _namespaces_work() -> bool:
    """Try it in a child. The folder that becomes its root is removed again."""
    if sys.platform != "linux" or os.uname().machine not in PIVOT_ROOT:
        return False
    with tempfile.TemporaryDirectory() as root:
        child = os.fork()
        if child == 0:
            try:
                enter_namespaces(Path(root), Limits())
                os._exit(0 if os.getpid() == 1 else 1)
            except BaseException:  # noqa: BLE001  (whatever it was: no namespaces here)
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def bubblewrap_command() -> list[str]:
    """The start of a command line; the program to run follows."""
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--cap-drop", "ALL"]
    for name, value in visible.environment().items():
        command += ["--setenv", name, value]
    bound = ["--size", str(Limits.files)] if _bounds_folders() else []
    command += ["--proc", "/proc", *bound, "--tmpfs", "/tmp", "--dev", "/dev"]
    command += [*bound, "--tmpfs", "/dev/shm"]
    for path in visible.devices():
        if path.name.startswith("nvidia"):
            command += ["--dev-bind", str(path), str(path)]
    for path in [*visible.visible_folders(), *visible.visible_files()]:
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        else:
            command += ["--ro-bind", str(path), str(path)]
    closed = [Path("/"), Path("/dev"), *visible.covered_folders()]
    for path in closed[2:]:
        command += ["--tmpfs", str(path)]
    for path in closed:  # at /tmp and /dev/shm alone is anything written
        command += ["--remount-ro", str(path)]
    return [*command, "--chdir", "/tmp"]


@functools.cache
def _bounds_folders() -> bool:
    """Whether this bwrap is one of 0.7 or later."""
    told = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, timeout=60).stdout
    return "--size" in told


def python_command(level: str, image: Path | None, seconds: float) -> list[str]:
    """The start of a command line that runs Python behind the walls of bwrap or apptainer."""
    if level == "bubblewrap":
        return [*bubblewrap_command(), sys.executable]
    if image is None:
        raise OSError("the level apptainer needs an image")
    return [*container_command(image, seconds), "python3"]
