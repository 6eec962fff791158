"""Run a learner's notebook without a browser: its cells in order, in a process of its own.

A crash of the learner's code costs that process alone.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import traceback
import types
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..child import Child, Ended
from ..command import BadInput
from ..port import source_file
from . import records
from .exercises import exercises

STDOUT = 1  # the descriptor: cards are printed where we print
_CELL = "notebook_cell_"


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
    """A notebook's code cell: number counts all cells from 1."""

    number: int
    check: bool
    predict: bool
    key: str
    stretch: bool
    source: str


def read_cells(path: Path) -> list[CodeCell]:
    """The code cells of a notebook file. Raises BadInput."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [(i, c) for i, c in enumerate(cells, 1) if c["cell_type"] == "code"]
        return [_code_cell(number, cell) for number, cell in code]
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path} is not a notebook file.") from None


def _code_cell(number: int, cell: dict[str, Any]) -> CodeCell:
    metadata = cell.get("metadata", {})
    grader, tags = metadata.get("nbgrader", {}), metadata.get("tags", [])
    name = grader.get("grade_id") or cell.get("id", "")
    source = cell["source"]
    return CodeCell(
        number=number,
        check=bool(grader.get("grade")) or "check" in tags,
        predict="predict" in tags,
        key=name.partition("-")[2],
        stretch="stretch" in tags,
        source=source if isinstance(source, str) else "".join(source),
    )


def _demonstrations(path: Path) -> set[str]:
    """Texts of the course's own worked examples and measurements, which no check needs."""
    cells = [cell for page in exercises() if page.slug == path.stem for cell in page.cells]
    return {cell.source.strip() for cell in cells if cell.kind == "code" and cell.role is None}


def _plain(source: str) -> str:
    """Python text: notebook commands (%, !) are blanked where the cell is no Python with them."""
    try:
        ast.parse(source)
        return source
    except SyntaxError:
        return re.sub(r"(?m)^[%!].*$", "pass", source)


def _execute(cell: CodeCell, names: dict[str, Any]) -> None:
    file, text = f"{_CELL}{cell.number:02}.py", _plain(cell.source)
    source_file.remember(file, text)  # Triton reads the source of a kernel
    names.setdefault("In", []).append(text)  # as in Jupyter: how a name was made is looked up here
    exec(compile(text, file, "exec"), names)


def _one_line(error: BaseException) -> str:
    last = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_CELL)]
    line = error.lineno if isinstance(error, SyntaxError) else last[-1].lineno if last else None
    where = f" (line {line} of the cell)" if line else ""
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}{where}"


def run_notebook(path: Path, only: str | None = None) -> NotebookRun:
    """Run the notebook's cells here, in this process, and say what each check found.

    Worked examples and measurements are left out. only: run this check and no other.
    """
    cells, done, skip = read_cells(path), NotebookRun(str(path)), _demonstrations(path)
    # A notebook's cells are `__main__`: functions find their module by that name.
    before_us, notebook = sys.modules["__main__"], types.ModuleType("__main__")
    sys.modules["__main__"] = notebook
    names = vars(notebook)
    broken: dict[str, str] = {}  # what broke, with the cell's source
    for cell in cells:
        another = cell.check and only and cell.key != only
        # Guesses are the learner's own text, and what they compare with was not measured here.
        if cell.source.strip() in skip or cell.predict or another:
            continue
        before, problem = len(records.runs), ""
        try:
            _execute(cell, names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a learner's cell may raise anything, SystemExit too
            problem = _one_line(error)
            if isinstance(error, NameError):  # of a cell that broke before
                problem = _that_should_set(error.name, broken) or problem
        if cell.check:
            done.checks.append(_outcome(cell, records.runs[before:], problem))
        elif problem:
            done.broken.append(f"cell {cell.number}: {problem}")
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
        state, reason = "error", problem or "nothing was checked"
    else:
        state, reason = runs[-1].state, ""
    key = cell.key or (runs[0].key if runs else f"cell {cell.number}")
    return CheckRun(key, state, reason, cell.stretch)


def run_apart(path: Path, only: str | None = None) -> NotebookRun:
    """`run_notebook` in a fresh process; cards are printed as they come."""
    read_cells(path)  # a bad file is refused before a process is started for it
    child = Child(
        f"{__name__}:run_for_child",
        output=STDOUT,
        folder=path.absolute().parent,
        MPLBACKEND="Agg",  # plots must not open windows
        PYTHONUNBUFFERED="1",
    )
    try:
        with child:
            found = child.ask(str(path.absolute()), only)
    except Ended as reason:
        return NotebookRun(str(path), broken=[f"the notebook's process died: {reason}"])
    checks = [CheckRun(**check) for check in found["checks"]]
    return NotebookRun(found["notebook"], checks, found["broken"])


def run_for_child(path: str, only: str | None) -> dict[str, Any]:
    """`run_notebook` as data."""
    # The notebook's own folder is importable, as in Jupyter.
    sys.path.insert(0, str(Path(path).parent))
    return asdict(run_notebook(Path(path), only))
