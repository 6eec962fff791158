"""Find a student's notebook in what was handed in: another name, a subfolder, a zip, a script.

Nothing is run, unpacked to the disk or followed: every read is bounded, of a plain file. What is
there and cannot be taken is named in a note, for the student and for the instructor.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tritonbook.words import later

from ..judge.course import MAX_NOTEBOOK_BYTES, Course, source_of
from .cells import MAX_CELL_CHARACTERS, HandedCell, parsed
from .matching import stubs_of
from .notebook_only import Effort, as_python, modules
from .notes import Costly
from .places import SKIPPED, SUFFIXES

MAX_FILES = 200  # and folders, looked into for one student
MAX_NAMES = 20_000  # of files of all kinds, read for one student
MAX_TOTAL_BYTES = 2 * MAX_NOTEBOOK_BYTES  # read for one student
MAX_ZIP_BYTES = 16 << 20
MAX_CELLS = 500
MAX_CODE = 512 << 10  # characters of one notebook's cells
_NBGRADERS = ("timestamp.txt", "submission_secret.txt")
_WRITES = re.compile(r"\s*%%(?:write)?file\s+(?:-a\s+)?(?:\./)?(\w+)\.py\b")
_PACKED = b"PK\3\4"  # how a zip begins, whatever it is called
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)


@dataclass(frozen=True)
class Found:
    """One notebook or script. `when`: seconds, to find the newest."""

    name: str
    when: float
    cells: list[HandedCell]

    @property
    def sources(self) -> list[str]:
        return [cell.source.strip() for cell in self.cells if cell.source.strip()]

    @property
    def age(self) -> tuple[float, list[tuple[int, str]]]:
        """Sorts older before newer; where times are equal, `-Copy2` before `-Copy10`."""
        words = re.findall(r"\d+|\D+", self.name)
        return self.when, [(int(word), "") if word.isdecimal() else (-1, word) for word in words]


def find(
    folder: Path, course: Course, notes: list[str], beside: Sequence[Path] = ()
) -> list[HandedCell] | None:
    """The cells of the file that holds this notebook; None where there is none, with notes.

    beside: the student's files and folders that may hold it too. Raises PermissionError where it
    may lie in a file or folder that is closed to whoever grades.
    """
    if folder.is_symlink():
        told = later("the hand-in is a link, which is not followed: hand in the notebook itself")
        notes.append(Costly(told))
        return None
    reader = _Reader(folder, notes, beside, course.notebook)
    stubs = stubs_of(course)
    found = reader.all()
    if reader.effort.short:
        notes.append(
            Costly(
                later("there are more lines that begin with `%` or `!` than are read: delete some")
            )
        )
    expected = f"{course.notebook}.ipynb"
    holding = [
        each
        for each in found
        if each.name.lower() == expected.lower() or 2 * stubs.held(each.cells) >= len(stubs.names)
    ]
    if not holding:
        if reader.closed:  # by whoever keeps the files here: no fault of the student's
            raise reader.closed
        notes += reader.others
        for each in found:
            held, all_of_them = stubs.held(each.cells), len(stubs.names)
            notes.append(
                later(
                    f"{each.name!r} was not taken: it has {held} of the {all_of_them} functions of "
                    f"{course.notebook}"
                )
            )
        notes.append(
            Costly(later(f"no notebook that can be read was handed in: hand in {expected}"))
        )
        return None
    books = [each for each in holding if not each.name.lower().endswith(".py")] or holding
    worked = [each for each in books if stubs.worked_on(each.cells)]
    worked = worked or [each for each in holding if stubs.worked_on(each.cells)] or books
    exact = [each for each in worked if each.name.lower() == expected.lower()]
    chosen = max(exact or worked, key=lambda each: each.age)
    if PurePosixPath(chosen.name).name != expected:
        notes.append(later(f"the notebook was renamed to {chosen.name!r}, and taken all the same"))
    elif chosen.name != expected:
        notes.append(later(f"the notebook lies elsewhere, as {chosen.name!r}, and was taken there"))
    for other in books:
        if other is not chosen and other.sources != chosen.sources:
            name = repr(other.name)
            if other not in worked:
                notes.append(later(f"{name} was handed in too, and not graded: it has no answer"))
            elif other.age > chosen.age:
                note = later(
                    f"{name} was handed in too, and not graded, though it is newer: "
                    f"{expected} was graded, by its name; hand in one of them alone"
                )
                notes.append(Costly(note))
            else:
                notes.append(later(f"{name} was handed in too, and not graded: it is older"))
    notes += _of_modules(chosen, reader.scripts)
    return chosen.cells


def _of_modules(chosen: Found, scripts: dict[str, str]) -> Iterator[Costly]:
    """What is to be said of modules that are not here when the notebook is graded."""
    written = {found[1] for cell in chosen.cells if (found := _WRITES.match(cell.written))}
    for module in sorted({name for cell in chosen.cells for name in modules(cell.source)}):
        script = scripts.get(module, chosen.name)
        if module in written:
            yield Costly(
                later(
                    f"a cell imports {module}, which a cell writes to a file: put what is needed "
                    "of it into a cell that writes none"
                )
            )
        elif script != chosen.name:
            yield Costly(
                later(
                    f"a cell imports {module}, but the notebook alone is graded: copy what it "
                    f"needs of {script!r} into a cell"
                )
            )


class _NotRead(Exception):
    """A note: which file was not read, and why."""


class _Reader:
    """Reads what one student handed in, within bounds, and notes what it cannot read."""

    def __init__(self, folder: Path, notes: list[str], beside: Sequence[Path], notebook: str):
        self.folder = folder
        self.notes = notes
        self.beside = beside
        self.notebook = f"{notebook}.ipynb".lower()
        self.scripts: dict[str, str] = {}  # Python files, by the module that each would be
        self.left = MAX_TOTAL_BYTES
        self.effort = Effort()
        self.others: list[str] = []  # notes that matter only where no notebook is found
        self.closed: PermissionError | None = None

    def all(self) -> list[Found]:
        found = []
        for path, name in self._paths():
            with self._noting(name):
                suffix = Path(name).suffix.lower()
                if suffix in SUFFIXES:
                    most = MAX_ZIP_BYTES if suffix == ".zip" else min(MAX_NOTEBOOK_BYTES, self.left)
                    data, when = self._file(path, name, most)
                    packed = suffix == ".zip" or data.startswith(_PACKED)
                    found += self._zip(data, name) if packed else self._found(data, name, when)
                elif len(self.others) < MAX_FILES and path.name not in _NBGRADERS:
                    self.others.append(_is_no_notebook(name))
        return found

    @contextlib.contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """What ends here, because a file cannot be read, ends in a note."""
        try:
            yield
        except _NotRead as note:
            self.notes.append(Costly(note))
        except OSError as problem:
            if isinstance(problem, PermissionError):
                self.closed = problem
            why = problem.strerror or problem
            self.notes.append(Costly(later(f"{name!r} cannot be read ({why}): hand it in again")))

    def _paths(self) -> Iterator[tuple[Path, str]]:
        """Plain files, and their names below the folder, shown short: the notebook by its name
        first, then what may hold it. Links are noted."""
        waiting, seen, names = [self.folder, *self.beside], 0, MAX_NAMES
        while waiting:
            place = waiting.pop(0)
            inside = [place] if place in self.beside and not place.is_dir() else []
            absent = contextlib.suppress(FileNotFoundError)  # nothing was handed in
            if not inside and not place.is_symlink():
                with self._noting(self._name(place)), absent, os.scandir(place) as entries:
                    inside = [Path(entry.path) for entry in itertools.islice(entries, names)]
                    names -= len(inside)
            for path in sorted(inside, key=self._rank):
                name = self._name(path)
                if path.name in SKIPPED or path.name.startswith("."):
                    continue
                seen += path.suffix.lower() in SUFFIXES or not path.is_file()
                if seen > MAX_FILES:
                    left = later(
                        f"there are more than {MAX_FILES} files, and the rest was left: hand in "
                        "the notebook alone"
                    )
                    self.notes.append(Costly(left))
                    return
                if path.is_symlink():
                    self.notes.append(Costly(_is_a_link(name)))
                elif path.is_dir():
                    waiting.append(path)
                elif path.is_file():
                    yield path, name
                else:
                    self.notes.append(_is_no_file(name))

    def _rank(self, path: Path) -> tuple[int, str]:
        """Sorts the notebook by its name first, then what may hold it."""
        if path.name.lower() == self.notebook:
            return 0, path.name
        return 1 + (path.suffix.lower() not in SUFFIXES), path.name

    def _name(self, path: Path) -> str:
        below = self.folder if path.is_relative_to(self.folder) else self.folder.parents[1]
        name = str(path.relative_to(below)).encode("utf-8", "replace").decode()
        return name if len(name) <= 120 else f"{name[:60]}...{name[-50:]}"

    def _file(self, path: Path, name: str, limit: int) -> tuple[bytes, float]:
        """What is in a file, and its time. A pipe or a link in its place is not waited for."""
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, "rb") as stream:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise _NotRead(_is_no_file(name))
            return self._bounded(stream, name, limit), about.st_mtime

    def _bounded(self, stream: IO[bytes], name: str, limit: int) -> bytes:
        data = stream.read(limit + 1)
        self.left -= min(len(data), self.left)
        if len(data) > limit:
            raise _NotRead(
                later(f"{name!r} is too large, and was not read: clear the outputs of its cells")
            )
        return data

    def _zip(self, data: bytes, name: str) -> list[Found]:
        """The notebooks in an archive. Nothing is unpacked to the disk, so no name leads out."""
        found: list[Found] = []
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as problem:
            why = str(problem)[:100]
            raise _NotRead(
                later(f"{name!r} is no zip that can be read ({why}): hand in the notebook itself")
            ) from None
        members = [member for member in archive.infolist() if not member.is_dir()]
        members.sort(key=lambda member: self._rank(Path(PurePosixPath(member.filename).name)))
        for member in members[:MAX_FILES]:
            inner = PurePosixPath(member.filename)
            if any(part in SKIPPED for part in inner.parts) or inner.name.startswith("."):
                continue
            shown = f"{name}/{str(inner)[-100:]}".encode("utf-8", "replace").decode()
            with self._noting(shown):
                if inner.suffix.lower() in (".ipynb", ".py"):
                    found += self._member(archive, member, shown)
                else:
                    self.others.append(_is_no_notebook(shown))
        if len(members) > MAX_FILES:
            left = later(
                f"{name!r} has more than {MAX_FILES} files, and the rest was left: hand in the "
                "notebook alone"
            )
            self.notes.append(Costly(left))
        return found

    def _member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> list[Found]:
        if stat.S_ISLNK(member.external_attr >> 16):
            raise _NotRead(_is_a_link(name))
        # bz2 and lzma give as much as they hold at once, whatever one asks for.
        plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if member.flag_bits & 1 or not plain:
            raise _NotRead(
                later(
                    f"{name!r} is encrypted or packed in a rare way, and was not read: hand in the "
                    "notebook itself"
                )
            )
        try:
            with archive.open(member) as file:
                data = self._bounded(file, name, min(MAX_NOTEBOOK_BYTES, self.left))
        except _BROKEN as problem:
            why = str(problem)[:100]
            raise _NotRead(later(f"{name!r} cannot be read ({why}): hand it in again")) from None
        try:
            when = time.mktime((*member.date_time, 0, 0, -1))
        except (ValueError, OverflowError):
            when = 0.0
        return self._found(data, name, when)

    def _found(self, data: bytes, name: str, when: float) -> list[Found]:
        if not name.lower().endswith(".py"):
            return [Found(name, when, self._book(data, name))]
        text = data.decode("utf-8-sig", errors="replace")
        made = as_python(text, self.effort)
        path = PurePosixPath(name)
        module = path.parent.name if path.stem == "__init__" else path.stem
        self.scripts[module] = name
        if parsed(made) is None:
            self.others.append(
                later(f"{name!r} is not Python that can be read: hand in the notebook")
            )
            return []
        # A notebook saved as a Python file: one cell, taken apart by what it defines.
        return [Found(name, when, [HandedCell("script", (), made, text)])]

    def _book(self, data: bytes, name: str) -> list[HandedCell]:
        try:
            text = data.decode(json.detect_encoding(data), errors="replace")
            book = json.loads(text, parse_int=float)  # Python reads no integer of 5,000 digits
        except (ValueError, RecursionError):
            raise _NotRead(_is_no_json(name, data)) from None
        cells = book.get("cells") if isinstance(book, dict) else None
        if isinstance(book, dict) and isinstance(book.get("worksheets"), list):  # nbformat 3
            cells = [
                cell | {"source": cell.get("input", cell.get("source"))}
                for sheet in book["worksheets"]
                if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
                for cell in sheet["cells"]
                if isinstance(cell, dict)
            ]
        if not isinstance(cells, list) or not cells:
            raise _NotRead(
                later(f"{name!r} is not a notebook (it has no cells): save it in Jupyter once more")
            )
        if len(cells) > MAX_CELLS:
            read = later(f"{name!r}: only the first {MAX_CELLS} cells were read: delete some")
            self.notes.append(Costly(read))
        found, size = [], 0
        for cell in cells[:MAX_CELLS]:
            if isinstance(cell, dict):
                found.append(_handed(cell, self.effort))
                size += min(len(found[-1].source), MAX_CELL_CHARACTERS)
            if size > MAX_CODE:
                most = MAX_CODE >> 10
                read = later(
                    f"{name!r}: only the first {most} kB of code were read: delete what no answer "
                    "needs"
                )
                self.notes.append(Costly(read))
                break
        return found


def _is_a_link(name: str) -> str:
    return later(f"{name!r} is a link, which is not followed: hand in the file itself")


def _is_no_file(name: str) -> str:
    return later(f"{name!r} is no plain file, and was not read: hand in the notebook itself")


def _is_no_json(name: str, data: bytes) -> str:
    start = data[:100].strip()
    if not start:
        return later(f"{name!r} is empty: hand it in again")
    if start.startswith(b"<"):
        return later(f"{name!r} is a web page about a notebook: download the notebook itself")
    if start.startswith(b"version https://git-lfs"):
        return later(f"{name!r} is what Git LFS keeps in its place: hand in the notebook itself")
    return later(f"{name!r} is not a notebook (not valid JSON): save it in Jupyter once more")


def _is_no_notebook(name: str) -> str:
    return later(f"{name!r} is no notebook, so it was not read: hand in the .ipynb file")


def _handed(cell: dict[str, Any], effort: Effort) -> HandedCell:
    meta = cell.get("metadata")
    settings = meta.get("nbgrader") if isinstance(meta, dict) else None
    named = settings.get("grade_id") if isinstance(settings, dict) else None
    names = tuple(name for name in (named, cell.get("id")) if name and isinstance(name, str))
    kind, source = str(cell.get("cell_type")), source_of(cell)
    made = as_python(source, effort) if kind == "code" else source
    return HandedCell(kind, names, made, source)
