"""Rebuild submissions from the released notebook, without running anything.

Only the sources of the student's answers, and cells that the student added, come from what was
handed in. Locked cells, metadata, tags, outputs and attachments come from the course or are
dropped. A notebook is data of unknown quality here: every read is bounded and typed.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonbook.course import gaps

from .course import MAX_NOTEBOOK_BYTES, Course, GivenCell, source_of
from .work import Cell, Exercise, Submission

MAX_CELL_CHARACTERS = 200_000
MAX_CELLS = 500
MAX_EXTRA = 100
_MAGIC = re.compile(r"[%!?]|[\w.*]+\?{1,2}\s*$")


@dataclass(frozen=True)
class HandedCell:
    """One cell of a submitted notebook, reduced to what may matter."""

    kind: str
    grade_id: str
    cell_id: str
    source: str


def find_submissions(root: Path, assignment: str) -> list[str]:
    """Students who handed in something for an assignment."""
    folders = (root / "submitted").glob(f"*/{assignment}")
    return sorted(folder.parent.name for folder in folders if folder.is_dir())


def ingest(root: Path, course: Course, student: str) -> Submission:
    """The student's submission of one notebook, rebuilt. A notebook that is missing or unreadable
    gives a submission without answers, with a note that says why."""
    folder = root / "submitted" / student / course.assignment
    notes: list[str] = []
    handed = _choose(folder, course, notes)
    return rebuild(course, student, handed, notes, _timestamp(folder, notes))


def _timestamp(folder: Path, notes: list[str]) -> str | None:
    """When it was handed in. The file comes from the student's side: what is no time is noted."""
    path = folder / "timestamp.txt"
    if path.is_symlink() or not path.is_file():
        return None
    from nbgrader.utils import parse_utc

    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(200).strip()
        parse_utc(text)
    except (OSError, ValueError, OverflowError, TypeError, AttributeError):
        notes.append("timestamp.txt holds no time: a late penalty cannot be decided")
        return None
    return text


def _choose(folder: Path, course: Course, notes: list[str]) -> list[HandedCell] | None:
    """The cells of the file that holds this notebook: by name, else by what is in it."""
    expected = folder / f"{course.notebook}.ipynb"
    if expected.is_file() and not expected.is_symlink():
        return _read(expected, notes)
    wanted = {cell.name for cell in course.cells if cell.role in ("answer", "check")}
    best, most = None, 0
    for path in sorted(folder.glob("*.ipynb"))[:50]:
        if path.is_symlink():
            continue
        cells = _read(path, [])
        found = len(wanted & {cell.grade_id for cell in cells or []})
        if found > most:
            best, most = path, found
    if best is None or 2 * most < len(wanted):
        notes.append("no notebook was handed in")
        return None
    notes.append(f"the notebook was renamed to {best.name[:80]!r}")
    return _read(best, notes)


def _read(path: Path, notes: list[str]) -> list[HandedCell] | None:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_NOTEBOOK_BYTES + 1)
    except OSError as problem:
        notes.append(f"the notebook cannot be read: {problem.strerror}")
        return None
    if len(text) > MAX_NOTEBOOK_BYTES:
        notes.append(f"the notebook is larger than {MAX_NOTEBOOK_BYTES >> 20} MB")
        return None
    try:
        book = json.loads(text.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        notes.append("the notebook is not valid JSON")
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        notes.append("the notebook has no cells")
        return None
    if len(cells) > MAX_CELLS:
        notes.append(f"only the first {MAX_CELLS} cells were read")
    return [_handed(cell) for cell in cells[:MAX_CELLS] if isinstance(cell, dict)]


def _handed(cell: dict[str, Any]) -> HandedCell:
    meta = cell.get("metadata")
    settings = meta.get("nbgrader") if isinstance(meta, dict) else None
    grade_id = settings.get("grade_id") if isinstance(settings, dict) else None
    return HandedCell(
        str(cell.get("cell_type")),
        grade_id if isinstance(grade_id, str) else "",
        cell["id"] if isinstance(cell.get("id"), str) else "",
        source_of(cell),
    )


def rebuild(
    course: Course,
    student: str,
    handed: list[HandedCell] | None,
    notes: list[str],
    timestamp: str | None = None,
) -> Submission:
    """Splice answers and added cells into the course's own cells."""
    answers, extras = _match(course, handed or [], notes)
    cells: list[Cell] = []
    exercises: list[Exercise] = []
    missing = []
    for source in extras.get("", []):
        cells.append(_extra(len(cells), source))
    for given in course.cells:
        if given.kind == "code" and given.role in ("setup", "reference"):
            cells.append(Cell(name=given.name, role="given", source=given.source))
        elif given.role == "example":
            text = definitions_only(given.source)
            cells.append(Cell(name=given.name, role="given", source=text))
        elif given.role == "answer":
            text = answers.get(given.name)
            if text is None:
                missing.append(given.name)
                text = gaps.learner_text(_without_stub(given.source))
            cells.append(Cell(name=given.name, role="answer", source=text))
        elif given.role == "check":
            key = given.name.removeprefix("check-")
            exercises.append(
                Exercise(key=key, check=given.name, points=given.points or 0.0, before=len(cells))
            )
        for source in extras.get(given.name, []):
            cells.append(_extra(len(cells), source))
    return Submission(
        student=student,
        assignment=course.assignment,
        notebook=course.notebook,
        timestamp=timestamp,
        cells=tuple(cells),
        exercises=tuple(exercises),
        missing=tuple(missing),
        notes=tuple(notes),
    )


def _extra(number: int, source: str) -> Cell:
    return Cell(name=f"extra-{number}", role="extra", source=source)


def _without_stub(text: str) -> str:
    """An instructor's answer cell without the stubs below its regions, as the exercise has it."""
    lines = text.splitlines()
    for _, end in reversed(gaps.regions(text, gaps.BEGIN_SOLUTION, gaps.END_SOLUTION)):
        below = lines[end].strip() if end < len(lines) else ""
        if below == "pass" or below.startswith('raise NotImplementedError("TODO'):
            del lines[end]
    return "\n".join(lines)


def _match(
    course: Course, handed: list[HandedCell], notes: list[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Answers by grade id, and added code cells by the course's cell that they follow."""
    known = {cell.name: cell for cell in course.cells}
    defined = {cell.name: _defined(cell.source) for cell in course.answers()}
    texts = {cell.source.strip(): cell.name for cell in course.cells if cell.kind == "code"}
    answers: dict[str, str] = {}
    extras: dict[str, list[str]] = {}
    last, added = "", 0
    seen = {cell.grade_id for cell in handed} | {cell.cell_id for cell in handed}
    for cell in handed:
        name = cell.grade_id if cell.grade_id in known else ""
        name = name or (cell.cell_id if cell.cell_id in known else "")
        if not name and cell.kind == "code":
            name = texts.get(cell.source.strip(), "")
            name = name or _answer_of(cell.source, defined, seen, answers)
            if name in defined:
                notes.append(f"{name}: known by the functions it defines")
        if name and known[name].role == "answer":
            if name in answers:
                notes.append(f"{name}: there are two of it; the later one counts")
            answers[name] = _clipped(cell.source, name, notes)
        if name:
            last = name
        elif cell.kind == "code" and cell.source.strip():
            added += 1
            if added <= MAX_EXTRA:
                extras.setdefault(last, []).append(_clipped(cell.source, "an added cell", notes))
    if added > MAX_EXTRA:
        notes.append(f"only the first {MAX_EXTRA} of {added} added cells were kept")
    return {name: _without_magics(text) for name, text in answers.items()}, {
        name: [_without_magics(text) for text in sources] for name, sources in extras.items()
    }


def _answer_of(
    source: str, defined: dict[str, set[str]], seen: set[str], answers: dict[str, str]
) -> str:
    """The answer whose functions a nameless cell defines, where the answer's own cell is gone."""
    own = _defined(source)
    for name, functions in defined.items():
        if name not in seen and name not in answers and functions and functions <= own:
            return name
    return ""


def _defined(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def _clipped(source: str, name: str, notes: list[str]) -> str:
    if len(source) <= MAX_CELL_CHARACTERS:
        return source
    notes.append(f"{name}: only the first {MAX_CELL_CHARACTERS} characters were kept")
    return source[:MAX_CELL_CHARACTERS]


def _without_magics(source: str) -> str:
    """Lines that only a notebook understands (`%timeit`, `!ls`, `tl.load?`) become `pass`."""
    if _is_python(source):  # then a line that begins with % goes on with the one above it
        return source
    lines = source.splitlines()
    if lines and lines[0].lstrip().startswith("%%"):
        if lines[0].split()[0] not in ("%%time", "%%capture", "%%timeit"):
            return ""
        lines[0] = ""
    for number, line in enumerate(lines):
        text = line.lstrip()
        if _MAGIC.match(text) and not text.startswith("!="):
            lines[number] = line[: len(line) - len(text)] + "pass"
    return "\n".join(lines)


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def definitions_only(source: str) -> str:
    """A worked example reduced to what later cells may use: imports, functions, plain values.

    Lines keep their numbers. Plots and measurements are not run again for every student.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    lines = [""] * len(source.splitlines())
    for node in tree.body:
        plain = isinstance(node, ast.Assign) and not any(
            isinstance(inner, ast.Call) for inner in ast.walk(node.value)
        )
        kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
        if isinstance(node, kept) or plain:
            decorators = [d.lineno for d in getattr(node, "decorator_list", [])]
            first = min([node.lineno, *decorators])
            rows = source.splitlines()[first - 1 : node.end_lineno]
            lines[first - 1 : node.end_lineno] = rows
    return "\n".join(lines)


def given_text(cell: GivenCell) -> str:
    """A course cell as a student may see it: no hidden tests."""
    return gaps.without_hidden(cell.source) if cell.role == "check" else cell.source
