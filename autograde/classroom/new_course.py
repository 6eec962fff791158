"""`autograde new-course`: a course folder with what grading needs, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course.exercises import Exercise
from tritonbook.course.messages import spoken
from tritonbook.words import language

from ..judge.course import BadCourse
from .exam import done

COURSE = Path(__file__).parents[1]
# The secret makes hidden tests predictable; gradebook, hand-ins and ledger are about students.
IGNORED = "*\n!.gitignore\n!nbgrader_config.py\n!source/\n!source/**\n"


def new_course(folder: Path, names: Sequence[str] = ()) -> list[str]:
    """Make the folder, closed to others, with nbgrader's settings and the source notebooks; returns
    the assignments. names: as `done` takes them. Raises BadCourse."""
    pages = done(names)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadCourse(f"{folder} is there already: name a new folder.")
    empty_course(folder)
    for page in pages:
        add_source(folder, page)
    return [page.slug for page in pages]


def empty_course(folder: Path) -> None:
    """Make the folder, closed to others, with nbgrader's settings."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    shutil.copy(COURSE / "nbgrader_config.py", folder)
    (folder / ".gitignore").write_text(IGNORED)


def add_source(folder: Path, page: Exercise) -> None:
    """The source notebook of an assignment, in the language that is spoken."""
    target = folder / "source" / page.slug / f"{page.slug}.ipynb"
    target.parent.mkdir(parents=True)
    notebook = views.instructor(spoken(page, language()), read_release(COURSE.parent))
    target.write_bytes(views.to_bytes(notebook))
