"""What of each page was found good, and on what that stands: it is not tried again before something
of it changed. A page that changed itself is tried; where nothing is kept, as in a fresh clone, or
the package alone has changed, one page in twenty is, drawn by `--seed`. With `--thorough` all are.

So are tests marked `page`: of the page that the mark names, or that comes as `exercise`. A file of
tests that changed is tried too, and one that the command line names."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest

from tritonbook.build import kept
from tritonbook.course.exercises import Exercise, exercises, get

ROOT = Path(__file__).parents[1]
FEW = 20  # one page in so many
Digest = Callable[[], str]  # asked where something is kept
LIBRARIES = ("ipykernel", "ipython", "matplotlib", "nbclient", "numpy", "rich")


class KnownGood:
    """The pages that were found good in one respect."""

    def __init__(self, name: str):
        self.name, self.folder = name, ROOT / "build" / "out" / name

    def is_tried(self, exercise: Exercise, stands_on: Digest, config: pytest.Config) -> bool:
        course = [each.slug for each in exercises()]  # the grader's tests have copies of the pages
        if exercise.slug not in course or config.getoption("thorough"):
            return True
        return self._is_due(exercise, self._shelf(exercise), stands_on, config)

    def _shelf(self, exercise: Exercise) -> kept.Kept | None:
        """None where nothing was ever kept: nobody needs a digest then."""
        there = (self.folder / f"{exercise.slug}.jsonl").exists()
        return kept.Kept(exercise, self.folder) if there else None

    def _is_due(
        self, exercise: Exercise, shelf: kept.Kept | None, stands_on: Digest, config, *test: str
    ) -> bool:
        if shelf is not None and shelf.get(stands_on()):
            return False
        if shelf and _itself(exercise, *test) not in shelf.said():
            return True
        return kept.drawn(f"{self.name} {exercise.slug}", config.getoption("seed"), FEW)

    def keep(self, exercise: Exercise, stands_on: Digest, *test: str) -> None:
        kept.Kept(exercise, self.folder).put(_itself(exercise, *test), stands_on())


class Tests(KnownGood):
    """Tests marked `page` of one file and one page. Each is kept for itself: what failed stays
    due."""

    def __init__(self, exercise: Exercise, path: Path):
        super().__init__(f"tests/{path.stem}")
        self.exercise, self.text = exercise, path.read_text(encoding="utf-8")
        self.shelf, self.beside = self._shelf(exercise), sorted(path.parent.glob("*.py"))

    @functools.cached_property
    def digest(self) -> str:
        beside = (path.read_text(encoding="utf-8") for path in self.beside)
        return stands_on(self.exercise, *beside)

    def tried(self, name: str, config: pytest.Config) -> Callable[[], None] | None:
        """What keeps it where it passed; None where it is not tried."""
        on = lambda: f"{self.digest} {name}"  # noqa: E731
        due = self._is_due(self.exercise, self.shelf, on, config, self.text, name)
        return functools.partial(self.keep, self.exercise, on, self.text, name) if due else None


def _itself(exercise: Exercise, *more: str) -> str:
    """A digest of the files that the page is made of."""
    paths = sorted(exercise.path.parent.glob("*.py"))
    return kept.digest(*(path.read_text(encoding="utf-8") for path in paths), *more)


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


PASSED = pytest.StashKey[Callable[[], None]]()


def sort_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what need not be tried of the tests marked `page`, before the first one runs."""
    named = {Path(each.partition("::")[0]).resolve() for each in config.args}
    tests = functools.cache(Tests)
    for item in [] if config.getoption("thorough") else items:
        mark = item.get_closest_marker("page")
        if mark is None or item.get_closest_marker("gpu") or item.path in named:
            continue
        page = get(mark.args[0]) if mark.args else item.callspec.params["exercise"]
        if passed := tests(page, item.path).tried(item.nodeid, config):
            item.stash[PASSED] = passed
        else:
            why = f"good before, or not drawn by --seed={config.getoption('seed')}"
            item.add_marker(pytest.mark.skip(reason=why))
