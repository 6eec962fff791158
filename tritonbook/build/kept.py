"""Verdicts kept in build/out/, so that what did not change is not asked again.

A verdict holds for what was asked and for all that the check knows: the page, its cases and
mistakes, pages whose functions these name, exercises/shared/, the package, and torch and Triton
beside it. Where a page has none yet, as in a fresh clone, `drawn` says what is tried: a sample.
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
BESIDE = ("build", "health")  # rooms that no check runs through


FEW = 200  # one in so many is tried where nothing is kept


def drawn(name: str, seed: int, one_in: int = FEW) -> bool:
    """Whether something of this name is in a sample of one in so many."""
    return int(digest(str(seed), name), 16) % one_in == 0


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

    def __bool__(self) -> bool:
        """Whether anything was kept for the page, of today or of what it was."""
        return bool(self._said)

    def said(self) -> list[Any]:
        """All that was kept for the page."""
        return list(self._said.values())

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
        return digest(self._digest, json.dumps(asked))


def knowledge(exercise: Exercise) -> str:
    """A digest of everything but the answer that can change a verdict on it."""
    folder = exercise.path.parent
    shared = sorted(folder.parent.glob("shared/*.py"))
    own = [path for path in sorted(folder.glob("*.py")) if path.name not in ("page.py", "wrong.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*own, *shared]]
    own_text, _ = _module(exercise)
    texts += [_module(page)[0] for page in named(exercise, own_text + "".join(texts))]
    for path in folder.glob("wrong.py"):  # what is no mistake changes no verdict
        texts.append(path.read_text(encoding="utf-8").partition("\nEQUIVALENT")[0])
    return digest(_package(), own_text, *texts)


def named(exercise: Exercise, text: str) -> list[Exercise]:
    """Other pages whose functions a page, its cases or one of those pages names in quotes."""
    others = [page for page in exercises(exercise.path.parents[1]) if page != exercise]
    found: list[Exercise] = []
    while text:
        quoted = set(re.findall(r"""["'](\w+)["']""", text))
        more = [page for page in others if not quoted.isdisjoint(_module(page)[1])]
        found += more
        others = [page for page in others if page not in more]
        text = "".join(_module(page)[0] for page in more)
    return sorted(found, key=lambda page: page.slug)


def _module(page: Exercise) -> tuple[str, frozenset[str]]:
    """A page as a module, and the names that it defines."""
    return _module_of(page.path.read_text(encoding="utf-8"), page)


@functools.cache
def _module_of(source: str, page: Exercise) -> tuple[str, frozenset[str]]:
    """Kept by the page's text: each key of each page goes through the whole course."""
    text = Exercise(page.path).module_text()
    return text, frozenset(re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE))


@functools.cache
def _package() -> str:
    """The package's rooms that a check runs through, and what they run on."""
    paths = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name not in BESIDE or path.name == "matrix.py"
    ]
    found = versions()
    # torch 2.11.0+cpu and 2.11.0+cu130 are the same PyTorch to Triton's interpreter.
    below = [found[name].partition("+")[0] for name in ("torch", "triton", "gpu")]
    return digest(*below, *(path.read_text(encoding="utf-8") for path in paths))


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
