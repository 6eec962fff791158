"""The trusted side of one notebook: what the instructor wrote, hidden tests included."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tritonbook
from tritonbook.command import sentence
from tritonbook.course import exercises
from tritonbook.course.exercises import Exercise, defined

if TYPE_CHECKING:
    from tritonbook.checking import Check

MAX_NOTEBOOK_BYTES = 64 << 20
_THROUGH = re.compile(r"\bthrough\b[\"']?\s*[=:]")  # as an argument, or in a dict of them


class BadCourse(Exception):
    """A course folder that cannot be graded in as it is: one sentence."""


@dataclass(frozen=True)
class GivenCell:
    """One cell of an instructor's notebook. `name` is its grade id, else its cell id."""

    name: str
    kind: str  # "code", "markdown" or "raw"
    role: str  # "setup", "reference", "answer", "check", "example" or "text"
    source: str
    points: float | None = None


@dataclass(frozen=True)
class Course:
    """One notebook as the grader knows it. Goes to checkers, never to a candidate.

    asked: hash of its pages' folders in the course, with their cases.
    """

    assignment: str
    notebook: str
    cells: tuple[GivenCell, ...]
    secret: str
    asked: str

    @functools.cached_property
    def digest(self) -> str:
        """Changes when a cell, its points, a case of a check or the secret changes."""
        told = json.dumps([*map(dataclasses.astuple, self.cells), self.secret, self.asked])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def checks(self) -> tuple[GivenCell, ...]:
        return tuple(cell for cell in self.cells if cell.role == "check")

    def keys(self) -> tuple[str, ...]:
        """The functions that its checks are about."""
        return keys_of(self.cells)

    def asks(self) -> dict[str, Check]:
        """What its pages ask, by function."""
        tritonbook.begin()
        from tritonbook.course.page_checks import checks as page_checks

        pages = pages_of(self.notebook, self.keys())
        return {key: check for page in pages for key, check in page_checks(page).items()}

    def through(self, key: str) -> str:
        """The given function that a check goes through; empty where there is none.

        The pages' text is asked first: to load their cases takes seconds, and torch.
        """
        texts = (file.read_text(encoding="utf-8") for file in _asking(self.notebook, self.keys()))
        if not any(map(_THROUGH.search, texts)):
            return ""
        asked = self.asks().get(key)
        return asked.through or "" if asked else ""

    def answers(self) -> tuple[GivenCell, ...]:
        return tuple(cell for cell in self.cells if cell.role == "answer")

    def check_text(self, name: str) -> str:
        return next(cell.source for cell in self.checks() if cell.name == name)

    def above(self, check: str) -> tuple[GivenCell, ...]:
        """The cells above a check."""
        names = [cell.name for cell in self.cells]
        return self.cells[: names.index(check)]

    def trusted_cells(self, check: str) -> list[tuple[str, str]]:
        """(name, text) of what the checker runs before the check: set-up and references."""
        return [
            (cell.name, cell.source)
            for cell in self.above(check)
            if cell.role in ("setup", "reference")
        ]

    def answer_names(self, check: str) -> dict[str, bool]:
        """Functions that answers above `check` define: must each be a Triton kernel's wrapper?
        What several ranks run has no tape: they are simulated where the answers are."""
        asks = self.asks().items()
        demanded = {each.through or key: each.triton and not each.ranks for key, each in asks}
        return {
            name: demanded.get(name, True)
            for cell in self.above(check)
            if cell.role == "answer"
            for name in defined(cell.source)
        }


def read_course(root: Path, assignment: str) -> list[Course]:
    """Every notebook of an assignment, from the `source` folder. Raises BadCourse."""
    if assignment in ("", ".", "..") or "/" in assignment:
        raise BadCourse(
            f"{assignment!r} is no assignment's name: write that of a folder in source/."
        )
    folder = root / "source" / assignment
    paths = sorted(folder.glob("*.ipynb"))
    if not folder.parent.is_dir():
        raise BadCourse(
            f"{root} is no course folder, for it has no source/: go to the course folder, or name "
            "it with --course."
        )
    if not paths:
        known = ", ".join(sorted(path.name for path in folder.parent.iterdir() if path.is_dir()))
        if not known:
            raise BadCourse(
                f"{folder.parent} has no assignments: make a course folder with `autograde "
                "new-course`, or name another with --course."
            )
        raise BadCourse(f"{folder} has no notebook: name one of the assignments {known}.")
    secret = instructor_secret(root)
    found = []
    for path in paths:
        cells = read_cells(path)
        asked = asked_of(path.stem, keys_of(cells))
        found.append(Course(assignment, path.stem, cells, secret, asked))
    return found


def keys_of(cells: Iterable[GivenCell]) -> tuple[str, ...]:
    return tuple(cell.name.removeprefix("check-") for cell in cells if cell.role == "check")


def pages_of(notebook: str, keys: Sequence[str] = ()) -> list[Exercise]:
    """The page that a notebook is; where it is none, as an exam, those that ask for its functions.

    Raises BadCourse for a notebook that is no page, with a check that no page has.
    """
    try:
        return [exercises.get(notebook)]
    except LookupError as problem:
        asked = {key: page for page in exercises.exercises() for key in page.checks()}
        if not keys or not set(keys) <= set(asked):
            raise BadCourse(
                f"{notebook}.ipynb in source/ is no page of the workbook: give it the name of the "
                f"page that its checks are of. {sentence(problem)}"
            ) from None
        return sorted({asked[key] for key in keys}, key=lambda page: page.slug)


def asked_of(notebook: str, keys: Sequence[str] = ()) -> str:
    """The hash of all that decides what a notebook's checks try. Raises BadCourse."""
    told = hashlib.sha256()
    for file in _asking(notebook, keys):
        told.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return told.hexdigest()[:32]


def _asking(notebook: str, keys: Sequence[str]) -> list[Path]:
    """The files that decide what a notebook's checks try. Raises BadCourse."""
    folders = [page.path.parent for page in pages_of(notebook, keys)]
    files = [folder / name for folder in folders for name in ("page.py", "cases.py")]
    return files + sorted(folders[0].parent.glob("shared/*.py"))


def read_cells(path: Path) -> tuple[GivenCell, ...]:
    """The cells of an instructor's notebook. Raises BadCourse."""
    try:
        return _given(json.loads(path.read_text(encoding="utf-8"))["cells"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        told = f"{type(problem).__name__}: {problem}"
        raise BadCourse(
            f"{path} is not a notebook that can be read ({told}): put a whole copy of it there."
        ) from None


def _given(cells: list[dict[str, Any]]) -> tuple[GivenCell, ...]:
    found = []
    for number, cell in enumerate(cells):
        meta = cell.get("metadata", {})
        settings = meta.get("nbgrader", {})
        name = settings.get("grade_id") or cell.get("id") or f"cell-{number}"
        points = float(settings["points"]) if settings.get("grade") else None
        found.append(
            GivenCell(name, cell["cell_type"], _role(cell, settings), source_of(cell), points)
        )
    return tuple(found)


def source_of(cell: dict[str, Any]) -> str:
    """A cell's source; notebooks keep it as one string or as a list of lines."""
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return ""
    # JSON can spell halves of characters, which no file can hold; `inspect` finds no kernel's text
    # by lines that a carriage return ends.
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    return source.encode("utf-8", "replace").decode()


def _role(cell: dict[str, Any], settings: dict[str, Any]) -> str:
    if cell["cell_type"] != "code":
        return "text"
    if settings.get("grade") and not settings.get("solution"):
        return "check"
    if settings.get("solution"):
        return "answer"
    tags = cell.get("metadata", {}).get("tags", [])
    return next((tag for tag in ("setup", "reference") if tag in tags), "example")


def instructor_secret(root: Path) -> str:
    """The course's secret, mixed into every seed; made on first use, readable by its owner only.

    Raises BadCourse for an empty one: seeds would be those of the public notebooks. It is empty
    where whoever made it was killed, or is just making it.
    """
    path = root / "secret"
    with contextlib.suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, f"{secrets.token_hex(32)}\n".encode())
        os.close(file)
    found = path.read_text(encoding="utf-8", errors="replace").strip()
    if not found:
        raise BadCourse(
            f"{path} is empty: put a copy of it back, or delete it to have a new one made."
        )
    return found
