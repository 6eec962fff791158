"""What a page's checks try: `CHECKS` of its cases.py, loaded beside the page itself.

cases.py is a module of the package that the folder of exercises makes: `from .page import add_ref`
gives the page as solved, `from ..shared import norms` what several pages need.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import sys
import traceback
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from ..checking import Check, Report, first_finding_only
from ..checking.runner import called
from ..notebook import machinery
from ..port import source_file
from ..port.device import INTERPRET
from ..words import later, say
from .causes import changes, in_the_interpreter, judged, known
from .exercises import Exercise, exercises, get, load
from .source import SourceError


def checks(page: str | int | Exercise) -> dict[str, Check]:
    """The checks of a page, by the name of the function that they check.

    Raises SourceError, which names file, line and mend, where its cases.py cannot be used.
    """
    module = load_cases(page)
    found = getattr(module, "CHECKS", None)
    if not isinstance(found, dict) or not all(isinstance(c, Check) for c in found.values()):
        problem, mend = "CHECKS is no dict of Check(...)", "end the file with CHECKS = {...}"
        raise SourceError(module.__file__, 1, problem, mend)
    return found


def with_causes(exercise: Exercise, key: str, check: Check) -> Check:
    """A check that knows the page's mistakes: what tells a learner the cause of a wrong result."""
    asks = [
        with_causes(exercise, key, ask) if isinstance(ask, Check) else ask for ask in check.asks
    ]
    if INTERPRET or not check.triton:
        check = replace(check, asks=asks, known=functools.partial(known, exercise, key, check))
        # Who asks for a code alone does not wait for what a sentence may say besides.
        if first_finding_only.get():
            return check
        return replace(check, mends=functools.partial(changes, exercise, key))
    elsewhere = functools.partial(in_the_interpreter, exercise, key)
    return replace(check, asks=asks, elsewhere=elsewhere)


def load_cases(page: str | int | Exercise) -> ModuleType:
    """The cases.py of a page as a module. Raises SourceError as `checks` does."""
    exercise = get(page)
    path = exercise.path.with_name("cases.py")
    if not path.is_file():
        raise SourceError(path, 1, "the file is missing", "add it, with CHECKS = {...}")
    return _loaded(exercise, path.read_text(encoding="utf-8"), exercise.module_text())


class NotAsked(LookupError):
    """No page asks for a function of this name: one sentence, in a notebook too."""

    def _render_traceback_(self) -> list[str]:
        return [say(str(self))]


def find_check(name: str) -> tuple[Exercise, Check]:
    """The page that asks for a function called `name`, and its check. Raises NotAsked."""
    course = exercises()
    for exercise in course:
        if name in exercise.checks():
            return exercise, with_causes(exercise, name, checks(exercise)[name])
    cells = {key: each.answers()[key].source for each in course for key in each.checks()}
    beside = [key for key, cell in cells.items() if f"def {name}(" in cell]  # its kernel
    close = beside or difflib.get_close_matches(name, cells, n=1)
    if close:
        near = close[0]
        raise NotAsked(
            later(
                f"No page of the course asks for a function called {name!r}. Did you mean {near!r}?"
            )
        )
    raise NotAsked(
        later(
            f"No page of the course asks for a function called {name!r}. `tritonbook progress "
            "--all` lists what they ask for."
        )
    )


def run_page_check(
    module: ModuleType,
    key: str,
    hidden: bool | None = None,
    notes: Container[str] | None = None,
    timed: bool = True,
) -> Report:
    """Run the check `key` on a module that `exercises.load` gave; returns the Report.

    hidden: the hidden cases alone (True), the visible ones alone (False), or these and then, if
    they pass, those. notes: only the cases with one of these notes. timed: False where others
    use the same GPU.
    """
    exercise: Exercise = module.__exercise__
    asked = checks(exercise)
    if key not in asked:
        raise KeyError(f"{exercise.slug} has no check with the key {key!r}")
    check, report = with_causes(exercise, key, asked[key]), None
    if notes is not None:
        chosen = [[c for c in each if c.note in notes] for each in (check.cases, check.hidden)]
        check = replace(check, cases=chosen[0], hidden=chosen[1])
    if not timed:
        check = replace(check, speed=None)
    turns = [False] * bool(check.cases) + [True] * bool(check.hidden)
    with machinery():
        for turn in turns if hidden is None else [hidden]:
            if report is None or report.passed:
                beside = vars(module).__getitem__
                report = judged(exercise, key, getattr(module, key), check, turn, beside)
    return report


@dataclass(frozen=True)
class Call:
    """What a check calls: the answer, or what it is looked at through, on the check's cases."""

    key: str
    function: Callable[..., Any]
    check: Check


def call(exercise: Exercise, key: str, module: ModuleType | None = None) -> Call:
    """What the check `key` calls, from a module of the page (default: as solved)."""
    module, asked = module or load(exercise), checks(exercise)[key]
    return Call(key, called(getattr(module, key), asked, vars(module).__getitem__), asked)


def pictures(page: str | int | Exercise) -> ModuleType:
    """The drawings of a page: the module pictures.py in its folder. Raises LookupError."""
    exercise = get(page)
    if not exercise.path.with_name("pictures.py").is_file():
        raise LookupError(f"{exercise.slug} has no pictures.py")
    name = _package(exercise)
    sys.modules[f"{name}.page"] = _page(exercise)
    importlib.invalidate_caches()
    return importlib.import_module(f"{name}.pictures")


@functools.cache
def _loaded(exercise: Exercise, text: str, page: str) -> ModuleType:
    """cases.py as a module, made again when its text or the page's changed.

    It is run from its text, because bytecode that Python keeps is told from newer text by size and
    second alone. `.page` is the page as solved.
    """
    name, path = _package(exercise), exercise.path.with_name("cases.py")
    sys.modules[f"{name}.page"] = _page(exercise)
    try:
        with machinery():
            return source_file.module_of(text, str(path), f"{name}.cases", {"__package__": name})
    except Exception as error:
        raise _refused(path, text, error, "the cases cannot be read") from None


def _page(exercise: Exercise) -> ModuleType:
    """The page as solved. Raises SourceError where one of its cells fails."""
    try:
        return load(exercise)
    except SourceError:
        raise
    except Exception as error:
        text = exercise.path.read_text(encoding="utf-8")
        raise _refused(exercise.path, text, error, "the cells cannot be run") from None


def _package(exercise: Exercise) -> str:
    """The name of the package that an exercise's folder is; made where it is not yet."""
    folder = exercise.path.parent
    course = f"_workbook_{hashlib.sha256(str(folder.parent).encode()).hexdigest()[:8]}"
    for name, path in ((course, folder.parent), (f"{course}.{folder.name}", folder)):
        if name not in sys.modules:
            package: Any = ModuleType(name)
            package.__path__ = [str(path)]
            sys.modules[name] = package
    return f"{course}.{folder.name}"


def _refused(path: Path, text: str, error: Exception, what: str) -> SourceError:
    """Why a file of a page cannot be used, with the line in it that failed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return SourceError(path, error.lineno or 1, f"this is not Python ({error.msg})", "mend it")
    line, lines = 1, [line.strip() for line in text.splitlines()]
    for step in traceback.extract_tb(error.__traceback__):
        if step.filename == str(path):
            line = step.lineno or 1
        # A page is run as the text of its cells alone; its own line is the one that says the same.
        elif Path(step.filename).name.startswith(path.parent.name) and step.line in lines:
            line = lines.index(step.line) + 1
    problem = f"{what} ({type(error).__name__}: {error})"
    return SourceError(path, line, problem, "mend this line")
