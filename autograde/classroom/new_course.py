"""`autograde new-course`: a course folder with what grading needs, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..judge.course import BadCourse
from .exam import done

COURSE = Path(__file__).parents[1]
# The secret makes hidden tests predictable; gradebook, hand-ins and ledger are about students.
IGNORED = "*\n!.gitignore\n!nbgrader_config.py\n!source/\n!source/**\n"


def new_course(folder: Path, names: Sequence[str] = ()) -> list[str]:
    """Make the folder, closed to others, with nbgrader's settings and the source notebooks; returns
    the assignments. names: as `done` takes them. Raises BadCourse."""
    sources = COURSE / "source"
    chosen = [page.slug for page in done(names)]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadCourse(f"{folder} is there already: name a new folder.")
    for name in chosen:
        if not (sources / name).is_dir():
            raise BadCourse(f"{sources / name} is not there: run `make sync` in the checkout.")
    empty_course(folder)
    for name in chosen:
        shutil.copytree(sources / name, folder / "source" / name)
    return chosen


def empty_course(folder: Path) -> None:
    """Make the folder, closed to others, with nbgrader's settings."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    shutil.copy(COURSE / "nbgrader_config.py", folder)
    (folder / ".gitignore").write_text(IGNORED)
