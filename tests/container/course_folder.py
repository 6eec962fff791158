"""A small nbgrader course: 01_vector_add released, and handed in by a few students."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "01_vector_add"


def course_with(folder: Path, *students: str, **wrong: str) -> Path:
    """Make the course folder. `students` hand in the solutions; NAME=TEXT adds a student whose
    answer to `add` is TEXT instead. Returns `folder`."""
    source = folder / "source" / NAME
    source.mkdir(parents=True)
    shutil.copy(ROOT / "autograde" / "source" / NAME / f"{NAME}.ipynb", source)
    shutil.copy(ROOT / "autograde" / "nbgrader_config.py", folder)
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", NAME, "--create"]
    # nbgrader calls `alembic` by its name.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    made = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr[-2000:]
    solved = json.loads((ROOT / "solutions" / f"{NAME}.ipynb").read_text())
    right = {cell["id"]: cell["source"] for cell in solved["cells"]}
    for student in (*students, *wrong):
        texts = right | ({"answer-add": wrong[student]} if student in wrong else {})
        handed_in = json.loads((folder / "release" / NAME / f"{NAME}.ipynb").read_text())
        for cell in handed_in["cells"]:
            if cell["id"].startswith("answer-"):
                cell["source"] = texts[cell["id"]]
        target = folder / "submitted" / student / NAME
        target.mkdir(parents=True)
        (target / f"{NAME}.ipynb").write_text(json.dumps(handed_in))
    return folder
