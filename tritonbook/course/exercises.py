"""Find the course's pages and load them as modules.

A page is a folder: `page.py` is a notebook and a module in one file. The module is its set-up,
reference and answer cells; worked examples, plots and text stay in the notebook. Tests, benchmarks,
the grader and `tritonbook.reference` all load pages here, each answer as solved in the file or
replaced by other text (a learner's answer, a wrong one). `cases` loads what its checks try.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from ..home import directory as directory
from ..notebook import machinery
from ..port import source_file
from ..words import later
from . import gaps
from .source import Cell, Header, Slip, Source, SourceError, parse

_NAME = re.compile(r"\d\d_[a-z0-9_]+")


@dataclass(frozen=True)
class Exercise:
    """One page, by its page.py, which is read when something of it is asked for."""

    path: Path
    lang: ClassVar[str] = "en"  # that of its text; `messages` makes pages in others

    @functools.cached_property
    def _source(self) -> Source:
        return _parsed(self.path.read_text(encoding="utf-8"), self.path)

    @property
    def slug(self) -> str:
        """The folder's name, such as 01_vector_add."""
        return self.path.parent.name

    @property
    def number(self) -> int:
        return int(self.slug[:2])

    @property
    def header(self) -> Header:
        return self._source.header

    @property
    def cells(self) -> tuple[Cell, ...]:
        return self._source.cells

    def answers(self) -> dict[str, Cell]:
        """The answer cell of each key, in order."""
        return {cell.key: cell for cell in self.cells if cell.role == "answer"}

    def checks(self) -> dict[str, Cell]:
        """The check cell of each key, in order."""
        return {cell.key: cell for cell in self.cells if cell.role == "check"}

    def cut(self, cell: Cell, how: Callable[[str], str]) -> str:
        """A cell's text after `how`, a function of `gaps`. Raises SourceError with the line."""
        try:
            return how(cell.source)
        except Slip as slip:
            line = cell.line + slip.line
            raise SourceError(self.path, line, slip.problem, slip.mend) from None

    def parse_code(self) -> dict[Cell, ast.Module]:
        """The syntax tree of each code cell. Raises SourceError where one is not Python."""
        trees = {}
        for cell in self.cells:
            if cell.kind == "code":
                try:
                    trees[cell] = ast.parse(cell.source)
                except SyntaxError as error:
                    line = cell.line + (error.lineno or 1)
                    problem = f"this is not Python ({error.msg})"
                    raise SourceError(self.path, line, problem, "mend the line") from None
        return trees

    def module_text(self, replace: Mapping[str, str] | None = None) -> str:
        """The exercise as a Python module: set-up imports, reference cells, answers, in order.

        `replace` maps keys to text that stands in for that answer cell. The call of `setup()` is
        left out: a module that is imported must not touch the notebook around it.
        """
        replace = dict(replace or {})
        unknown = set(replace) - set(self.answers())
        if unknown:
            raise KeyError(f"{self.slug} has no answer with the key {sorted(unknown)[0]!r}")
        parts = []
        for cell in self.cells:
            if cell.role == "setup":
                parts.append(_without_setup_call(cell.source))
            elif cell.role == "reference":
                parts.append(cell.source)
            elif cell.role == "answer":
                solved = self.cut(cell, gaps.solved_text)
                parts.append(replace.get(cell.key, solved))
        return "\n\n\n".join(parts) + "\n"


def exercises(folder: Path | None = None) -> list[Exercise]:
    """Every exercise of the course (or of another folder), by number."""
    found = (folder or directory()).glob("*/page.py")
    return [Exercise(path) for path in sorted(found) if _NAME.fullmatch(path.parent.name)]


def get(slug: str | int | Exercise, folder: Path | None = None) -> Exercise:
    """An exercise: by slug (01_vector_add), name (vector_add) or number (1), or as it is. Raises
    LookupError."""
    if isinstance(slug, Exercise):
        return slug
    wanted = str(slug)
    whole = (folder or directory()) / wanted / "page.py"
    if _NAME.fullmatch(wanted) and whole.exists():
        return Exercise(whole)
    course = exercises(folder)
    for exercise in course:
        number = wanted.isdecimal() and int(wanted) == exercise.number
        if number or wanted == exercise.slug[3:]:
            return exercise
    known = [exercise.slug for exercise in course]
    if not known:
        place = folder or directory()
        raise LookupError(later(f"There are no pages in {place}: install the workbook anew"))
    if close := difflib.get_close_matches(wanted, known, n=1, cutoff=0.4):
        near = close[0]
        raise LookupError(later(f"There is no page {wanted!r}: did you mean {near!r}?"))
    first, last = known[0], known[-1]
    raise LookupError(later(f"There is no page {wanted!r}: name one from {first} to {last}."))


def chosen(slugs: Iterable[str | int], folder: Path) -> list[Exercise]:
    """The exercises that `get` gives for these; none: all. Raises LookupError."""
    return [get(slug, folder) for slug in slugs] or exercises(folder)


def load(
    slug: str | int | Exercise, replace: Mapping[str, str] | None = None, fresh: bool = False
) -> ModuleType:
    """An exercise as a module.

    `replace` maps answer keys to other text. The same text gives the same module again, unless it
    is to be fresh: one that no call has left anything in. `module.__exercise__` is the Exercise.
    """
    exercise = get(slug)
    text = exercise.module_text(replace)
    name = f"{exercise.slug}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return (_import.__wrapped__ if fresh else _import)(text, name, exercise)


# Where there are no exercises to read: the texts of the functions that `reference` gives all the
# same, each a file of its own. None: there are exercises.
LENT: dict[str, str] | None = None
LENT_FILE = "lent_"  # how the name of such a file begins; the function's follows


def reference(name: str, *, record: bool = False) -> Callable[..., Any]:
    """The solution of a graded function, by its name, from whichever exercise defines it.

    record: the fastest that the course has of it, which a page of part 6 calls NAME_record.
    Raises LookupError where the course has none.
    """
    name = f"{name}_record" if record else name
    if LENT is not None:
        if name not in LENT:
            raise LookupError(
                later(f"{name!r} is not lent to this notebook: its own cells do not ask for it")
            )
        return getattr(_import(LENT[name], f"{LENT_FILE}{name}"), name)
    names: list[str] = []
    for exercise in exercises():
        for cell in exercise.answers().values():
            own = defined(cell.source)
            if name in own:
                return getattr(load(exercise), name)
            names += own
    if close := difflib.get_close_matches(name, names, n=1):
        near = close[0]
        raise LookupError(later(f"No page asks for a function {name!r}: did you mean {near!r}?"))
    raise LookupError(
        later(f"No page asks for a function {name!r}: `tritonbook progress --all` lists them")
    )


# Kept, because each `reference` and `mine` of a notebook goes through the whole course.
_parsed = functools.cache(parse)


@functools.cache
def defined(source: str) -> tuple[str, ...]:
    """Names of the functions and classes that a cell defines; kept for the same reason."""
    return tuple(node.name for node in ast.parse(source).body if hasattr(node, "name"))


def _without_setup_call(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip() != "setup()").rstrip()


@functools.cache
def _import(text: str, name: str, exercise: Exercise | None = None) -> ModuleType:
    """Two folders may hold the same page with other cases: each has a module of its own."""
    qualified = f"_tritonbook_exercise_{name}"
    with machinery():
        return source_file.module_of(text, f"{name}.py", qualified, {"__exercise__": exercise})
