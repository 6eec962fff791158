"""What of each page was found good, and on what that stands: where nothing of it changed, one page
in ten is tried. With `--thorough` all are."""

from __future__ import annotations

import fcntl
import importlib.metadata
import json
from pathlib import Path

import pytest

from tritonbook.build import kept
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[1]
FEW = 10  # one page in so many, where nothing changed
LIBRARIES = ("ipykernel", "ipython", "matplotlib", "nbclient", "numpy", "rich")


class KnownGood:
    """A digest by page, in two files: what is committed, and what this checkout found since, which
    `make known-good` copies over it."""

    def __init__(self, name: str):
        self.committed = ROOT / "tests" / "good" / f"{name}.json"
        self.found = ROOT / "build" / "out" / f"{name}.json"

    def is_tried(self, exercise: Exercise, stands_on: str, config: pytest.Config) -> bool:
        course = [each.slug for each in exercises()]  # the grader's tests have copies of the pages
        held = [_read(path).get(exercise.slug) for path in (self.committed, self.found)]
        few = exercise.slug not in course or course.index(exercise.slug) % FEW == 0
        return few or stands_on not in held or config.getoption("thorough")

    def keep(self, exercise: Exercise, stands_on: str) -> None:
        self.found.parent.mkdir(parents=True, exist_ok=True)
        with self.found.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            pages = {page.slug for page in exercises()}
            all_found = {page: on for page, on in _read(self.found).items() if page in pages}
            text = json.dumps(all_found | {exercise.slug: stands_on}, indent=0, sort_keys=True)
            new = self.found.with_suffix(".new")
            new.write_text(text + "\n", encoding="utf-8")
            new.replace(self.found)  # whole for whoever reads it meanwhile


def stands_on(exercise: Exercise, *more: str) -> str:
    """A digest of the whole page, its cases, all of the package that it can run, torch and Triton,
    and of pages whose functions an example names."""
    page = exercise.path.read_text(encoding="utf-8")
    named = [each.module_text() for each in kept._named(exercise, page)]
    package = ROOT / "tritonbook"
    beside = [*package.rglob("*.json"), *package.glob("health/*.py")]
    figures = [path.read_text(encoding="utf-8") for path in sorted(beside)]
    versions = [importlib.metadata.version(name) for name in LIBRARIES]
    return kept.digest(kept.knowledge(exercise), page, *named, *figures, *versions, *more)


def _read(path: Path) -> dict[str, str]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
