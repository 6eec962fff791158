"""nbgrader's gradebook and a course's settings, without nbgrader's commands and Jupyter's server.

To load those takes 0.3 s of the processor's time, in each command.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any


def load_in_parts() -> None:
    """Have `import nbgrader.api` load that part alone. nbgrader's own first file loads all the
    others; where it was loaded before, nothing changes."""
    spec = importlib.util.find_spec("nbgrader") if "nbgrader" not in sys.modules else None
    if spec is not None:
        sys.modules["nbgrader"] = package = importlib.util.module_from_spec(spec)
        version: Any = importlib.import_module("nbgrader._version")
        package.__dict__["__version__"] = version.__version__


def settings(root: Path, strict: bool = False) -> Any:
    """What nbgrader's commands would read: Jupyter's folders, then the course's nbgrader_config.py,
    which may name a file that lies beside it. strict: raises what goes wrong there."""
    from jupyter_core.application import JupyterApp
    from traitlets.config import Application

    app = JupyterApp(config_file_name="nbgrader_config", raise_config_file_errors=strict)
    path = sys.path[:]
    sys.path.insert(0, str(root))
    try:
        app.initialize(["--log-level=ERROR"])
        Application.load_config_file(app, "nbgrader_config.py", path=str(root))
    finally:
        sys.path[:] = path
    return app.config
