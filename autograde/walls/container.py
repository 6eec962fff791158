"""Apptainer, or SingularityCE: how a candidate is started in an image, and what stands against it.

Written for an ordinary user with unprivileged user namespaces. Started by root, the tool leaves
root's rights to what runs inside: no walls at all.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tritonbook.words import later

from . import visible
from .confine import Limits

# It has its own Python, libraries and locale.
OF_THE_IMAGE = ("PATH", "HOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")


def program() -> str | None:
    """apptainer, or singularity, whichever is installed."""
    return shutil.which("apptainer") or shutil.which("singularity")


def container_command(image: Path, seconds: float = Limits.wall_seconds) -> list[str]:
    """The start of a command line; the program to run in the image follows.

    The container is killed after `seconds`, even where the grader no longer exists.
    """
    # The tool forgets the request to die with its parent, and a candidate that sleeps uses no time
    # of a processor's: without `timeout` it would outlive a grader that was killed by force.
    parts = ["timeout", "--signal=KILL", f"{seconds + 5:g}", program() or "apptainer"]
    parts += ["exec", "--containall", "--no-home", "--net", "--network", "none", "--cleanenv"]
    parts += ["--pwd", "/tmp"]
    if any(path.name.startswith("nvidia") for path in visible.devices()):
        parts.append("--nv")
    for path in visible.SHOWN:
        parts += ["--bind", f"{path}:{path}:ro"]
    for name in visible.WITH_SOLUTIONS:  # of the workbook in its own image
        parts += ["--bind", f"{_empty_folder()}:/opt/workbook/{name}:ro"]
    for name, value in visible.environment().items():
        if name not in OF_THE_IMAGE:
            parts += ["--env", f"{name}={value}"]
    return [*parts, str(image)]


@functools.cache
def _empty_folder() -> str:
    folder = tempfile.mkdtemp(prefix="empty-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def container_trouble(image: Path | None) -> str | None:
    """Why no candidate can run in the image, in a sentence; None: it can."""
    if image is None:
        return later("name the image with --image")
    if program() is None:
        return later("neither apptainer nor singularity is in PATH")
    if not image.exists():
        return later(f"there is no image {image}")
    if os.getuid() == 0:
        return later(
            "started by root it leaves root's rights to students' code; grade as another user"
        )
    return _tried(image)


@functools.cache
def _tried(image: Path) -> str | None:
    """Load in the image what a candidate loads."""
    tried = [*container_command(image), "python3", "-c", "import autograde.walls.candidate"]
    done = subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    said = [line for line in done.stderr.splitlines() if line.strip()]
    why = said[-1] if said else later("it said nothing")
    return later(
        f"the image lacks what students' code needs (Python 3, torch, triton, numpy): {why}"
    )
