"""Verdicts kept in build/out/, so that what did not change is not asked again.

A verdict holds for the text of the answer and for all that the check knows: the page and its cases,
pages whose functions these name, exercises/shared/, the package, and the versions beside it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..course.exercises import Exercise, exercises
from ..port.device import versions

PACKAGE = Path(__file__).resolve().parents[1]


class Kept:
    """What was said of one exercise's answers: in a file that the next run reads."""

    def __init__(self, exercise: Exercise, folder: Path):
        self._path = folder / f"{exercise.slug}.jsonl"
        self._digest = knowledge(exercise)
        self._lock = threading.Lock()
        self._said: dict[str, Any] = {}
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # a line that somebody was stopped at
                    entry = json.loads(line)
                    self._said[entry["id"]] = entry["said"]

    def get(self, *asked: object) -> Any:
        """What was kept for these; None where nothing was."""
        return self._said.get(self._name(asked))

    def put(self, said: Any, *asked: object) -> None:
        line = json.dumps({"id": self._name(asked), "said": said})
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def _name(self, asked: Sequence[object]) -> str:
        return _digest(self._digest, json.dumps(asked))


def knowledge(exercise: Exercise) -> str:
    """A digest of everything but the answer that can change a verdict on it."""
    folder = exercise.path.parent
    shared = sorted(folder.parent.glob("shared/*.py"))
    own = [path for path in sorted(folder.glob("*.py")) if path.name not in ("page.py", "wrong.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*own, *shared]]
    texts += [page.module_text() for page in _named(exercise, "".join(texts))]
    return _digest(_package(), exercise.module_text(), *texts)


def _named(exercise: Exercise, text: str) -> list[Exercise]:
    """Other pages whose functions a page, its cases or one of those pages names in quotes."""
    others = [page for page in exercises(exercise.path.parents[1]) if page != exercise]
    found: list[Exercise] = []
    text += exercise.module_text()
    while more := [page for page in others if page not in found and _names(text, page)]:
        found += more
        text = "".join(page.module_text() for page in more)
    return sorted(found, key=lambda page: page.slug)


def _names(text: str, page: Exercise) -> bool:
    defined = re.findall(r"^(?:def|class) (\w+)", page.module_text(), re.MULTILINE)
    return not set(defined).isdisjoint(re.findall(r"""["'](\w+)["']""", text))


@functools.cache
def _package() -> str:
    """The package without what only builds, and the versions that it runs on."""
    paths = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "build" or path.name in ("matrix.py", "worker.py")
    ]
    return _digest(json.dumps(versions()), *(path.read_text(encoding="utf-8") for path in paths))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
