"""Read an exercise file: a YAML header, then cells in jupytext's py:percent form.

Only the standard library is used, because learners load exercises too (`tritonbook.reference`). The
header is read by a reader for the few keys it may hold, not by a YAML parser; it knows no comments.
Tests hold both readers to what YAML and jupytext read.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = ("setup", "reference", "answer", "hint", "check", "predict")
NEEDS = ("interpreter", "gluon", "gpu", "sm80")
HEADER_KEYS = {
    "title": str,
    "minutes": int,
    "stretch": int,
    "needs": str,
    "requires": list,
    "limits": dict,
    "you_will": list,
}
OPTIONAL_KEYS = ("stretch", "limits")
CELL_KEYS = ("tags", "key", "points")

_MARKER = re.compile(r"^# %%(?P<rest>.*)$")
_ATTRIBUTE = re.compile(r"\s*([A-Za-z_]\w*)=")


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
class Source:
    """What an exercise file holds: the header's values and the cells in order."""

    header: dict[str, Any]
    cells: tuple[Cell, ...]


def parse(text: str, path: Path | str = "exercise.py") -> Source:
    """Parse the text of an exercise file. Raises SourceError with the line and the mend."""
    try:
        return _read(text.splitlines())
    except Slip as slip:
        raise SourceError(path, slip.line, slip.problem, slip.mend) from None


def _read(lines: list[str]) -> Source:
    header, first = _read_header(lines)
    marks = [i for i, line in enumerate(lines) if i >= first and _MARKER.match(line)]
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


def _read_header(lines: list[str]) -> tuple[dict[str, Any], int]:
    """The header's values and the index of the first line after it."""
    fences = [i for i, line in enumerate(lines) if line.rstrip() == "# ---"][:2]
    if len(fences) < 2 or fences[0] != 0:
        raise Slip(1, "the header is missing", "begin the file with '# ---' and '# workbook:'")
    body = [(i, re.sub(r"^# ?", "", lines[i])) for i in range(1, fences[1])]
    start = next((n for n, (_, line) in enumerate(body) if line.startswith("workbook:")), None)
    if start is None:
        raise Slip(1, "the header has no block 'workbook:'", "add it")
    header: dict[str, Any] = {}
    key = None
    for i, line in body[start + 1 :]:
        if line.strip() and not line.startswith(" "):
            break  # the next block, such as `jupyter:`, is not ours
        text = line.strip()
        if not text:
            continue
        if text.startswith("- "):
            if not isinstance(header.get(key), list):
                raise Slip(i + 1, "a list item has no key above it", "write 'you_will:' there")
            header[key].append(_unquoted(text[2:].strip()))
            continue
        key, colon, value = text.partition(":")
        if not colon or key not in HEADER_KEYS:
            known = ", ".join(HEADER_KEYS)
            raise Slip(i + 1, f"{key!r} is not a key of the header", f"use one of {known}")
        header[key] = _header_value(key, value.strip(), i + 1)
    missing = [name for name in HEADER_KEYS if name not in {*header, *OPTIONAL_KEYS}]
    if missing:
        raise Slip(
            fences[1] + 1, f"the header lacks {missing[0]!r}", f"add a line '{missing[0]}: ...'"
        )
    if header["needs"] not in NEEDS:
        raise Slip(1, f"needs is {header['needs']!r}", f"use one of {', '.join(NEEDS)}")
    return header, fences[1] + 1


def _header_value(key: str, value: str, line: int) -> Any:
    kind = HEADER_KEYS[key]
    if kind is list:
        if not value:
            return []  # items follow, one a line
        if not (value.startswith("[") and value.endswith("]")):
            raise Slip(line, f"{key!r} is not a list", f"write '{key}: [a, b]'")
        return [_unquoted(part.strip()) for part in value[1:-1].split(",") if part.strip()]
    if kind is dict:
        pairs = [part.partition(":")[::2] for part in value.strip("{}").split(",")]
        found = {_unquoted(name.strip()): _unquoted(word.strip()) for name, word in pairs}
        if value != f"{{{value[1:-1]}}}" or len(found) < len(pairs) or not all(found.values()):
            raise Slip(line, f"{key!r} is no list of pairs", f"write '{key}: {{a: b, c: d}}'")
        return found
    if kind is int:
        if not value.isdecimal():
            raise Slip(line, f"{key!r} is not a whole number", f"write '{key}: 40'")
        return int(value)
    if not value:
        raise Slip(line, f"{key!r} is empty", "write its value after the colon")
    return _unquoted(value)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _read_cell(lines: list[str], start: int, stop: int) -> Cell:
    rest = _MARKER.match(lines[start])["rest"].strip()
    kind = "code"
    if rest.startswith("[markdown]"):
        kind, rest = "markdown", rest[len("[markdown]") :].strip()
    found = _attributes(rest, start + 1)
    body = lines[start + 1 : stop]
    if kind == "markdown":
        body = [_uncommented(line, start + 2 + i) for i, line in enumerate(body)]
    while body and not body[-1].strip():
        body.pop()
    tags = found.get("tags", [])
    if not (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        raise Slip(start + 1, "tags is not a list", 'write tags=["answer"]')
    cell = Cell(
        kind, tuple(tags), found.get("key"), found.get("points"), "\n".join(body), start + 1
    )
    _check_cell(cell)
    return cell


def _attributes(text: str, line: int) -> dict[str, Any]:
    """Read `tags=["check"] key="add" points=4`: names, each with a JSON value."""
    found: dict[str, Any] = {}
    position, decoder = 0, json.JSONDecoder()
    while position < len(text):
        match = _ATTRIBUTE.match(text, position)
        if not match or match[1] not in CELL_KEYS:
            wrong = text[position:].strip().split("=")[0]
            known = ", ".join(CELL_KEYS)
            raise Slip(line, f"{wrong!r} cannot stand on a cell's first line", f"use {known}")
        try:
            found[match[1]], position = decoder.raw_decode(text, match.end())
        except json.JSONDecodeError:
            raise Slip(
                line, f"the value of {match[1]!r} cannot be read", 'write it as key="add"'
            ) from None
    return found


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
    keyed = cell.role in ("answer", "hint", "check")
    if keyed and not (isinstance(cell.key, str) and re.fullmatch(r"[a-z][a-z0-9_]*", cell.key)):
        raise Slip(
            cell.line, f"the {cell.role} cell has no proper key", 'add key="add" (lower case)'
        )
    if cell.key is not None and not keyed:
        raise Slip(cell.line, "only answer, hint and check cells have a key", "remove key=")
    if cell.role == "check" and not (type(cell.points) is int and cell.points >= 0):
        raise Slip(cell.line, "the check cell states no points", "add points=2")
    if cell.points is not None and cell.role != "check":
        raise Slip(cell.line, "only check cells have points", "remove points=")
    if cell.role is not None and (cell.kind == "markdown") != (cell.role == "hint"):
        kind = "[markdown]" if cell.role == "hint" else "code"
        raise Slip(cell.line, f"the {cell.role} cell has the wrong kind", f"make it {kind}")
