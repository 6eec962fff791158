"""Read an exercise file: a YAML header, then cells in jupytext's py:percent form.

Only the standard library is used, because learners load exercises too (`tritonbook.reference`). The
header is read by a reader for the few keys it may hold, not by a YAML parser; it knows no comments.
Tests hold both readers to what YAML and jupytext read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_origin, get_type_hints

# The first cell is the same in all notebooks. A page names it, and it stands here.
FIRST = "from tritonbook.first_cell import *"
_FIRST_CELL = Path(__file__).parents[1] / "first_cell.py"
SETUP = _FIRST_CELL.read_text(encoding="utf-8").partition('"""\n\n')[2].rstrip()

ROLES = ("setup", "reference", "answer", "hint", "check", "predict")
NEEDS = ("interpreter", "gluon", "gpu", "sm80")
_HEADER_LINE = re.compile(r"#   (?P<key>\w+):(?P<value>.*)|#     - (?P<item>.+)")
_CELL_LINE = re.compile(
    r"# %%(?P<markdown> \[markdown\])?"
    r'(?: tags=(?P<tags>\["\w+"(?:, "\w+")*\]))?'
    r'(?: key="(?P<key>[a-z][a-z0-9_]*)")?'
    r"(?: points=(?P<points>\d+))?"
)


class Slip(ValueError):
    """A text breaks a rule: at which of its lines, from 1, and the mend."""

    def __init__(self, line: int, problem: str, mend: str):
        super().__init__(f"{problem}; {mend}")
        self.line, self.problem, self.mend = line, problem, mend


class SourceError(Exception):
    """An exercise file breaks a rule: one sentence with the file, the line and the mend."""

    def __init__(self, path: Path | str, line: int, problem: str, mend: str):
        self.path, self.line, self.problem, self.mend = Path(path), line, problem, mend
        where = f"{self.path.parent.name}/{self.path.name}".lstrip("/")
        super().__init__(f"{where}, line {line}: {problem}; {mend}.")


@dataclass(frozen=True)
class Cell:
    """One cell. `line` is the number of its `# %%` line; the source starts on the next one."""

    kind: str  # "code" or "markdown"
    tags: tuple[str, ...]
    key: str | None
    points: int | None
    source: str
    line: int

    @property
    def role(self) -> str | None:
        """The tag that says what the cell is for, or None for plain text and worked examples."""
        return next((tag for tag in self.tags if tag in ROLES), None)


@dataclass(frozen=True)
class Header:
    """What a page says of itself above its cells; what has a default may be left out."""

    title: str
    minutes: int  # of the text and the required tasks
    needs: str  # what it takes to run the notebook: one of NEEDS
    requires: list[str]  # slugs of the exercises that should come before
    you_will: list[str]
    stretch: int = 0  # minutes of the stretch tasks, which `minutes` leaves out
    # What its compiled kernels must keep, by GPU: {"sm_80": "no spills", "sm_75": "fits"}.
    limits: dict[str, str] = field(default_factory=dict)


_KINDS = {name: get_origin(hint) or hint for name, hint in get_type_hints(Header).items()}
# Neither is there: both are MISSING.
_REQUIRED = [each.name for each in fields(Header) if each.default is each.default_factory]


@dataclass(frozen=True)
class Source:
    """What an exercise file holds, its cells in order."""

    header: Header
    cells: tuple[Cell, ...]


def parse(text: str, path: Path | str = "exercise.py") -> Source:
    """Parse the text of an exercise file. Raises SourceError with the line and the mend."""
    try:
        return _read(text.splitlines())
    except Slip as slip:
        raise SourceError(path, slip.line, slip.problem, slip.mend) from None


def _read(lines: list[str]) -> Source:
    header, first = _read_header(lines)
    marks = [i for i, line in enumerate(lines) if i >= first and line.startswith("# %%")]
    if not marks:
        raise Slip(first + 1, "there is no cell", "start one with a line '# %%'")
    for i in range(first, marks[0]):
        if lines[i].strip():
            raise Slip(i + 1, "this text stands before the first cell", "put '# %%' above it")
    cells = tuple(
        _read_cell(lines, start, stop)
        for start, stop in zip(marks, [*marks[1:], len(lines)], strict=True)
    )
    return Source(header, cells)


def _read_header(lines: list[str]) -> tuple[Header, int]:
    """The header and the index of the first line after it."""
    fences = [i for i, line in enumerate(lines) if line.rstrip() == "# ---"][:2]
    if len(fences) < 2 or fences[0] != 0 or "# workbook:" not in lines[: fences[1]]:
        raise Slip(1, "the header is missing", "begin the file with '# ---' and '# workbook:'")
    header: dict[str, Any] = {}
    key = ""
    for i in range(lines.index("# workbook:") + 1, fences[1]):
        if not lines[i].startswith("#  "):
            break  # the next block, such as `jupyter:`, is not ours
        found = _HEADER_LINE.fullmatch(lines[i].rstrip())
        if found and found["item"] and isinstance(header.get(key), list):
            header[key].append(_unquoted(found["item"]))
        elif found and found["key"] in _KINDS:
            key = found["key"]
            header[key] = _value(found["value"].strip())
            if not isinstance(header[key], _KINDS[key]):
                raise Slip(i + 1, f"{key!r} has a value of another kind", "see another page's")
        else:
            known = ", ".join(_KINDS)
            raise Slip(i + 1, "a line of the header cannot be read", f"its keys are {known}")
    missing = [name for name in _REQUIRED if name not in header]
    if missing:
        raise Slip(
            fences[1] + 1, f"the header lacks {missing[0]!r}", f"add a line '{missing[0]}: ...'"
        )
    if header["needs"] not in NEEDS:
        raise Slip(1, f"needs is {header['needs']!r}", f"use one of {', '.join(NEEDS)}")
    return Header(**header), fences[1] + 1


def _value(text: str) -> Any:
    """A number, a list, pairs, or text; nothing stands for a list whose items follow."""
    parts = [part.strip() for part in text[1:-1].split(",") if part.strip()]
    if text.startswith("{"):
        pairs = [part.partition(":") for part in parts]
        return {_unquoted(name): _unquoted(word.strip()) for name, _, word in pairs}
    if text.startswith("[") or not text:
        return [_unquoted(part) for part in parts]
    return int(text) if text.isdecimal() else _unquoted(text)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _read_cell(lines: list[str], start: int, stop: int) -> Cell:
    found = _CELL_LINE.fullmatch(lines[start].rstrip())
    if not found:
        mend = 'write it as # %% tags=["check"] key="add" points=2'
        raise Slip(start + 1, "a cell's first line cannot be read", mend)
    kind = "markdown" if found["markdown"] else "code"
    body = lines[start + 1 : stop]
    if kind == "markdown":
        body = [_uncommented(line, start + 2 + i) for i, line in enumerate(body)]
    while body and not body[-1].strip():
        body.pop()
    source = "\n".join(body)
    cell = Cell(
        kind=kind,
        tags=tuple(json.loads(found["tags"] or "[]")),
        key=found["key"],
        points=int(found["points"]) if found["points"] else None,
        source=SETUP if source == FIRST else source,
        line=start + 1,
    )
    _check_cell(cell)
    return cell


def _uncommented(line: str, number: int) -> str:
    if line.strip() and not line.startswith("#"):
        raise Slip(number, "text in a markdown cell lacks its '# '", "add it")
    return re.sub(r"^# ?", "", line)


def _check_cell(cell: Cell) -> None:
    """Refuse what would make the cell's role unclear."""
    roles = [tag for tag in cell.tags if tag in ROLES]
    unknown = [tag for tag in cell.tags if tag not in (*ROLES, "stretch")]
    if unknown:
        known = ", ".join((*ROLES, "stretch"))
        raise Slip(cell.line, f"unknown tag {unknown[0]!r}", f"use one of {known}")
    if len(roles) > 1:
        raise Slip(cell.line, f"a cell cannot be both {roles}", "keep one of them")
    if (cell.role in ("answer", "hint", "check")) != (cell.key is not None):
        problem = "answer, hint and check cells have a key, and no others"
        raise Slip(cell.line, problem, 'add key="add", or remove it')
    if (cell.role == "check") != (cell.points is not None):
        problem = "check cells state points, and no others"
        raise Slip(cell.line, problem, "add points=2, or remove it")
    if cell.role is not None and (cell.kind == "markdown") != (cell.role == "hint"):
        kind = "[markdown]" if cell.role == "hint" else "code"
        raise Slip(cell.line, f"the {cell.role} cell has the wrong kind", f"make it {kind}")
