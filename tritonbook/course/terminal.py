"""Run a learner's notebook or plain file without a browser: its cells in order, in a process apart.

A crash of the learner's code costs that process alone.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import json
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..child import LOAD_SECONDS, Child, Ended, TooSlow
from ..command import BadInput
from ..port import source_file
from ..port.device import INTERPRET
from ..seeing.compiled import warm
from ..seeing.process import WorkerError, worker
from ..words import later
from . import plain, records
from .exercises import exercises
from .messages import translations

LOADED = ("..course.answer_check", "..seeing.tiles", "..timing.measure")  # what pages import
STDOUT = 1  # the descriptor: cards are printed where we print


@dataclass(frozen=True)
class CheckRun(records.Run):
    """Outcome of one check cell. state is the report's, or "error" when the cell broke instead."""

    stretch: bool = False


@dataclass
class NotebookRun:
    """Everything that a notebook's run showed: its checks, and cells that broke."""

    notebook: str
    checks: list[CheckRun] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Every check passed; stretch tasks may stay open."""
        graded = [check for check in self.checks if not check.stretch]
        return bool(graded) and all(check.state == "passed" for check in graded)


@dataclass(frozen=True)
class CodeCell:
    """A code cell. place: what a person looks for it by, "cell 3" or, in a plain file, "line 40".
    above: how many lines of that file stand above it."""

    file: str
    place: str
    check: bool
    predict: bool
    key: str
    stretch: bool
    source: str
    above: int = 0


def read_cells(path: Path) -> list[CodeCell]:
    """The code cells of a notebook or a plain file. Raises BadInput."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            return [_of_file(path, cell) for cell in plain.cells_of(text)]
        code = [(i, c) for i, c in enumerate(json.loads(text)["cells"], 1) if _is_code(c)]
        return [_code_cell(number, cell) for number, cell in code]
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        if path.suffix == ".py":
            raise BadInput(
                f"{path} has no cells: begin one with `tritonbook start`, or add lines `# %%`."
            ) from None
        raise BadInput(f"{path} is not a notebook, or damaged: save it in Jupyter again.") from None


def _of_file(path: Path, cell: plain.FileCell) -> CodeCell:
    return CodeCell(
        file=path.name,
        place=later(f"line {cell.line + 1}"),
        check="check" in cell.tags,
        predict="predict" in cell.tags,
        key=cell.key,
        stretch="stretch" in cell.tags,
        source=cell.source,
        above=cell.line,
    )


def _is_code(cell: dict[str, Any]) -> bool:
    return cell["cell_type"] == "code"


def _code_cell(number: int, cell: dict[str, Any]) -> CodeCell:
    metadata = cell.get("metadata", {})
    grader, tags = metadata.get("nbgrader", {}), metadata.get("tags", [])
    name = grader.get("grade_id") or cell.get("id", "")
    source = cell["source"]
    return CodeCell(
        file=f"notebook_cell_{number:02}.py",
        place=later(f"cell {number}"),
        check=bool(grader.get("grade")) or "check" in tags,
        predict="predict" in tags,
        key=name.partition("-")[2],
        stretch="stretch" in tags,
        source=source if isinstance(source, str) else "".join(source),
    )


@functools.cache
def _demonstrations(path: Path) -> set[str]:
    """Texts of the course's own worked examples and measurements, which no check needs."""
    pages = [page for page in exercises() if page.slug == path.stem]
    cells = [cell for page in [*pages, *translations(pages)] for cell in page.cells]
    return {cell.source.strip() for cell in cells if cell.kind == "code" and cell.role is None}


def _plain(source: str) -> str:
    """Python text: notebook commands (%, !) are blanked where the cell is no Python with them."""
    try:
        ast.parse(source)
        return source
    except SyntaxError:
        return re.sub(r"(?m)^[%!].*$", "pass", source)


def _execute(cell: CodeCell, names: dict[str, Any]) -> None:
    text = _plain(cell.source)
    names.setdefault("In", []).append(text)  # as in Jupyter: how a name was made is looked up here
    if not cell.above:
        source_file.remember(cell.file, text)  # Triton reads the source of a kernel
    exec(compile("\n" * cell.above + text, cell.file, "exec"), names)


def _one_line(error: BaseException, cell: CodeCell) -> str:
    last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == cell.file]
    line = error.lineno if isinstance(error, SyntaxError) else last[-1].lineno if last else None
    where = later(f"line {line}" if cell.above else f"line {line} of the cell")
    # str() of a SyntaxError names file and line once more.
    first = error.msg if isinstance(error, SyntaxError) else (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}{f' ({where})' if line else ''}"


def run_notebook(path: Path, only: Sequence[str] | None = None) -> NotebookRun:
    """Run the notebook's cells here, in this process, and say what each check found.

    Worked examples and measurements are left out. only: run these checks and no others.
    """
    cells, done, skip = read_cells(path), NotebookRun(str(path)), _demonstrations(path)
    # A notebook's cells are `__main__`: functions find their module by that name.
    before_us, notebook = sys.modules["__main__"], types.ModuleType("__main__")
    sys.modules["__main__"] = notebook
    names = vars(notebook)
    broken: dict[str, str] = {}  # what broke, with the cell's source
    if path.suffix == ".py":
        source_file.remember(path.name, path.read_text(encoding="utf-8"))
    for cell in cells:
        another = cell.check and only is not None and cell.key not in only
        # Guesses are the learner's own text, and what they compare with was not measured here.
        if cell.source.strip() in skip or cell.predict or another:
            continue
        before, problem = len(records.runs), ""
        try:
            _execute(cell, names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a learner's cell may raise anything, SystemExit too
            problem = _one_line(error, cell)
            if isinstance(error, NameError):  # of a cell that broke before
                problem = _that_should_set(error.name, broken) or problem
        if cell.check:
            done.checks.append(_outcome(cell, records.runs[before:], problem))
        elif problem and problem not in broken:
            done.broken.append(problem if cell.above else f"{cell.place}: {problem}")
            broken[done.broken[-1]] = cell.source
    sys.modules["__main__"] = before_us
    return done


def _that_should_set(name: str | None, broken: dict[str, str]) -> str:
    """What broke in the cell that would have made this name; empty where none would."""
    sets = re.compile(rf"^(?:def|class) {name}\b|^{name} *=", re.MULTILINE)
    return next((what for what, source in broken.items() if sets.search(source)), "")


def _outcome(cell: CodeCell, runs: list[Any], problem: str) -> CheckRun:
    """A check cell may call `check` several times: the first that did not pass decides."""
    worst = next((run for run in runs if run.state != "passed"), None)
    if worst is not None:
        state, reason = worst.state, worst.reason
    elif problem or not runs:
        state, reason = "error", problem or later("nothing was checked")
    else:
        state, reason = runs[-1].state, ""
    key = cell.key or (runs[0].key if runs else cell.place)
    return CheckRun(key, state, reason, cell.stretch)


class Apart:
    """Runs files, each in a process of its own.

    In the interpreter that is a copy of this one, where nothing of a learner's is ever run: torch,
    Triton, the course and the compiler's process are there. On a GPU, where a copy cannot use
    CUDA, the process for the next run can be loaded before.
    """

    def __init__(self) -> None:
        self._next: Child | None = None

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *error: object) -> None:
        if self._next is not None:
            self._next.close()

    def get_ready(self) -> None:
        """Load what the next run needs."""
        if INTERPRET:
            warm()
            for module in LOADED:
                importlib.import_module(module, __package__)
            return
        self._next = _process()
        try:
            self._next.ask(None, None)
        except Ended:  # the run will say so
            self._next = None

    def run(
        self,
        path: Path,
        only: Sequence[str] | None = None,
        unless: Callable[[], bool] | None = None,
    ) -> NotebookRun:
        """`run_notebook` there; cards are printed as they come. unless: asked meanwhile; once it is
        true, the run is stopped. Raises TooSlow then."""
        read_cells(path)  # a bad file is refused before a process is asked for it
        if INTERPRET:
            self.get_ready()
            _demonstrations(path)  # kept, for all copies
            with contextlib.suppress(WorkerError):  # the run will say so
                worker(interpret=False).ready(LOAD_SECONDS)
        child, self._next = self._next or _process(), None
        try:
            with child:
                keys = only if only is None else list(only)
                found = child.ask(str(path.absolute()), keys, unless=unless)
        except TooSlow:
            raise
        except Ended as reason:
            return NotebookRun(str(path), broken=[later(f"the notebook's process died: {reason}")])
        checks = [CheckRun(**check) for check in found["checks"]]
        return NotebookRun(found["notebook"], checks, found["broken"])


def _process() -> Child:
    return Child(
        f"{__name__}:run_for_child",
        copy=INTERPRET,
        output=STDOUT,
        MPLBACKEND="Agg",  # plots must not open windows
        PYTHONUNBUFFERED="1",
    )


def run_for_child(path: str | None, only: list[str] | None) -> dict[str, Any]:
    """`run_notebook` as data; without a path, what a run needs is loaded and nothing is run."""
    if path is None:
        warm()
        return {}
    worker(interpret=False).take_over()
    os.chdir(Path(path).parent)
    # The notebook's own folder is importable, as in Jupyter.
    sys.path.insert(0, str(Path(path).parent))
    return asdict(run_notebook(Path(path), only))
