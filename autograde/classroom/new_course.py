"""`autograde new-course`: a course folder with what grading needs, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..judge.course import BadCourse

COURSE = Path(__file__).parents[1]
# The secret makes hidden tests predictable; gradebook, hand-ins and ledger are about students.
IGNORED = "*\n!.gitignore\n!nbgrader_config.py\n!source/\n!source/**\n"


def new_course(folder: Path, names: Sequence[str] = ()) -> list[str]:
    """Make the folder, closed to others, with nbgrader's settings and the source notebooks; returns
    the assignments. names: numbers or whole names; none: all. Raises BadCourse."""
    sources = COURSE / "source"
    known = sorted(path.parent.name for path in sources.glob("*/*.ipynb"))
    if not known:
        raise BadCourse(f"{sources} has no notebooks: run this from a checkout of the workbook.")
    chosen = [_assignment(name, known) for name in names] or known
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadCourse(f"{folder} is there already: name a new folder.")
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


def _assignment(name: str, known: Sequence[str]) -> str:
    found = [each for each in known if each == name or each.startswith(f"{name}_")]
    if len(found) != 1:
        raise BadCourse(f"{name!r} is no assignment of the workbook: it has {', '.join(known)}.")
    return found[0]
