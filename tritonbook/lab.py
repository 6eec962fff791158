"""JupyterLab as a learner needs it: without the instructor's menus (nbgrader's, jupytext's)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from .command import BadInput

CONFIG = Path(__file__).parent  # JupyterLab reads its folder labconfig/


def command(folder: Path, more: Sequence[str] = ()) -> list[str]:
    """The command line that shows a folder. more: further options."""
    # Rented GPU boxes are often containers whose only user is root, whom Jupyter turns away.
    root = ["--allow-root"] if os.getuid() == 0 else []
    return [sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder}", *root, *more]


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The given one, with the learner's settings before all others, and `tritonbook` and `python`
    on the terminal's path."""
    places = [str(CONFIG), *filter(None, [given.get("JUPYTER_CONFIG_PATH")])]
    path = [str(Path(sys.executable).parent), given.get("PATH", os.defpath)]
    return {
        **given,
        "JUPYTER_CONFIG_PATH": os.pathsep.join(places),
        "TRITONBOOK_LAB": "1",  # notebooks mark the cells that are locked
        "PATH": os.pathsep.join(path),
    }


def run(folder: Path, more: Sequence[str] = ()) -> int:
    """Become JupyterLab. Raises BadInput where it is not installed."""
    if find_spec("jupyterlab") is None:
        raise BadInput("JupyterLab is not installed here: pip install jupyterlab.")
    sys.stdout.flush()
    os.execve(sys.executable, command(folder, more), environment(os.environ))
