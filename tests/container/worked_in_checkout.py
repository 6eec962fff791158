"""A checkout in which somebody has graded a class: what must not get into an image is there."""

from __future__ import annotations

import shutil
from pathlib import Path

from definition_file import ROOT, copied

# What a class that was graded in the checkout, and an editor, leave behind.
PRIVATE = (
    "autograde/gradebook.db",
    "autograde/submitted/alice/01_vector_add/01_vector_add.ipynb",
    "autograde/work/01_vector_add/secret",
    "notebooks/.ipynb_checkpoints/01_vector_add-checkpoint.ipynb",
    "tritonbook/__pycache__/left.cpython-39.pyc",
)


def make(folder: Path) -> Path:
    """What the definition copies, with PRIVATE in it. Returns `folder`."""
    for source in copied():
        target = folder / source
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
        copy(ROOT / source, target)
    for name in PRIVATE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("private")
    return folder
