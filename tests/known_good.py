"""What of each page was found good, and on what that stands: it is not tried again before something
of it changed. A page that changed itself is tried; where nothing is kept, as in a fresh clone, or
the package alone has changed, one page in ten is, drawn by `--seed`. With `--thorough` all are."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from tritonbook.build import kept
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[1]
FEW = 10  # one page in so many
LIBRARIES = ("ipykernel", "ipython", "matplotlib", "nbclient", "numpy", "rich")


class KnownGood:
    """The pages that were found good in one respect."""

    def __init__(self, name: str):
        self.name, self.folder = name, ROOT / "build" / "out" / name

    def is_tried(self, exercise: Exercise, stands_on: str, config: pytest.Config) -> bool:
        course = [each.slug for each in exercises()]  # the grader's tests have copies of the pages
        if exercise.slug not in course or config.getoption("thorough"):
            return True
        shelf = kept.Kept(exercise, self.folder)
        if shelf.get(stands_on):
            return False
        changed = bool(shelf) and _itself(exercise) not in shelf.said()
        name, seed = f"{self.name} {exercise.slug}", config.getoption("seed")
        return changed or kept.drawn(name, seed, FEW)

    def keep(self, exercise: Exercise, stands_on: str) -> None:
        kept.Kept(exercise, self.folder).put(_itself(exercise), stands_on)


def _itself(exercise: Exercise) -> str:
    """A digest of the files that the page is made of."""
    paths = sorted(exercise.path.parent.glob("*.py"))
    return kept.digest(*(path.read_text(encoding="utf-8") for path in paths))


def stands_on(exercise: Exercise, *more: str) -> str:
    """A digest of the whole page, its cases, all of the package that it can run, torch and Triton,
    and of pages whose functions an example names."""
    page = exercise.path.read_text(encoding="utf-8")
    named = [each.module_text() for each in kept.named(exercise, page)]
    package = ROOT / "tritonbook"
    beside = [*package.rglob("*.json"), *package.glob("health/*.py")]
    figures = [path.read_text(encoding="utf-8") for path in sorted(beside)]
    versions = [importlib.metadata.version(name) for name in LIBRARIES]
    return kept.digest(kept.knowledge(exercise), page, *named, *figures, *versions, *more)
