"""Where hand-ins lie: `submitted/STUDENT/ASSIGNMENT/`, and what is plainly meant by another place.

What cannot be given to a student, or to an assignment, is told in a sentence and not graded.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tritonbook.words import listed, say

SUFFIXES = (".ipynb", ".py", ".zip")
PACKED = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")  # as nobody here unpacks
SKIPPED = (".ipynb_checkpoints", "__MACOSX", "__pycache__")
_COPY = re.compile(r"(?i)[\s_-]*(?:\(\d+\)|[\s_-](?:copy|kopie|copie|copia)[\s_-]*\d*|[\s-]\d+)$")
_TURNS = ("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_ALIKE = 0.75  # from which two names may be one, mistyped


@dataclass
class Place:
    """A student's. beside: folders and files of the student that may hold the hand-in too. sure:
    something bears the assignment's name."""

    folder: Path
    beside: list[Path] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)  # names of archives that are not read
    sure: bool = False


@dataclass
class Places:
    """The hand-ins of an assignment, by student; and sentences about what was not taken."""

    found: dict[str, Place] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)


def find_places(root: Path, assignment: str, roster: Mapping[str, str] | None = None) -> Places:
    """roster: the students that the gradebook knows, with their names ("" where it has none)."""
    places = Places()
    plain = {_same(student): student for student in roster or {}}
    known = {path.name for top in ("source", "release") for path in (root / top).glob("*")}
    others = {_simple(name) for name in known} - {_simple(assignment)}
    for entry in _entries(root / "submitted"):
        name = shown(entry.name)
        if not entry.is_dir():
            if entry.name.lower().endswith(SUFFIXES + PACKED) and others.isdisjoint(
                _forms(_stem(entry))
            ):
                places.strays.append(
                    say(
                        "submitted/{name} lies in no student's folder: move it to "
                        "submitted/STUDENT/{assignment}/.",
                        name=name,
                        assignment=assignment,
                    )
                )
        elif entry.is_symlink():
            places.strays.append(
                say(
                    "submitted/{name} is a link, which is not followed: put the student's own "
                    "folder in its place.",
                    name=name,
                )
            )
        elif not _nameable(entry.name):
            places.strays.append(
                say(
                    "The folder submitted/{name} has characters in its name that no student's "
                    "name can have: rename it.",
                    name=name,
                )
            )
        else:
            student = plain.get(_same(entry.name), entry.name)
            twin = next((each for each in places.found if _same(each) == _same(student)), student)
            place = places.found.setdefault(twin, Place(Path(entry.path) / assignment))
            try:
                _look(Path(entry.path), assignment, others, place)
            except PermissionError:
                place.sure = True  # whoever reads it says what is closed
    for student, place in list(places.found.items()):
        if not place.sure and not place.beside:
            del places.found[student]
            places.strays += [
                say(
                    "submitted/{student}/{name} is no notebook, .py or .zip, so it is not graded: "
                    "unpack it into submitted/{student}/{assignment}/.",
                    student=shown(student),
                    name=shown(name),
                    assignment=assignment,
                )
                for name in place.packed
            ]
    _leave_strangers(places, roster or {})
    return places


def _look(student: Path, assignment: str, others: set[str], place: Place) -> None:
    """Add what one folder of a student's has for the assignment."""
    for entry in _entries(student):
        path = Path(entry.path)
        folder = entry.is_dir(follow_symlinks=False)
        forms = _forms(entry.name if folder else _stem(entry))
        if entry.name == assignment and entry.is_dir():
            place.sure = True
            if path != place.folder:  # of the same student, in another spelling of the name
                place.beside.append(path)
        elif not folder and not entry.name.lower().endswith(SUFFIXES):
            if entry.name.lower().endswith(PACKED) and others.isdisjoint(forms):
                place.packed.append(entry.name)
        elif _simple(assignment) in forms and forms[0] not in others:
            place.sure = True
            place.beside.append(path)
        elif others.isdisjoint(forms):
            place.beside.append(path)


def _leave_strangers(places: Places, roster: Mapping[str, str]) -> None:
    """Take out who is not on the roster, where there is one: a list of students with names, or one
    of whom somebody who handed nothing in is called nearly the same."""
    absent = [student for student in roster if student not in places.found]
    for student in [each for each in places.found if each not in roster]:
        near = [each for each in absent if _near(student, each)]
        if near or any(roster.values()):
            del places.found[student]
            add = f"nbgrader db student add {shlex.quote(student)}"
            places.strays.append(
                say(
                    "submitted/{name} is no student of the gradebook, so it is not graded: rename "
                    "the folder, or run `{add}`.",
                    name=shown(student),
                    add=add,
                )
            )
            if near:
                handed = say("{names} handed nothing in: is it theirs?", names=listed(near))
                places.strays[-1] += f" {handed}"


def _near(one: str, other: str) -> bool:
    one, other = _same(one).casefold(), _same(other).casefold()
    if min(len(one), len(other)) >= 3 and (one.startswith(other) or other.startswith(one)):
        return True
    return difflib.SequenceMatcher(None, one, other).ratio() >= _ALIKE


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (each for each in found if each.name not in SKIPPED and each.name[0] != ".")


def _stem(entry: os.DirEntry[str]) -> str:
    return os.path.splitext(entry.name.removesuffix(".gz").removesuffix(".xz"))[0]


def _forms(name: str) -> list[str]:
    """The name as it is compared, and without what was put behind it for a copy."""
    found = [_simple(name)]
    while (shorter := _COPY.sub("", name)) not in ("", name):
        name = shorter
        found.append(_simple(name))
    return found


def _simple(name: str) -> str:
    return re.sub(r"[\s_.-]+", "_", _same(name).casefold().strip())


def _same(name: str) -> str:
    """One spelling of names that look the same: macOS takes an umlaut apart."""
    return unicodedata.normalize("NFC", name)


def _nameable(name: str) -> bool:
    """Whether a gradebook, a table and a terminal can have it: no half of a character (a name that
    is not UTF-8), no new line, nothing that moves a cursor or turns the direction of reading."""
    return not any(
        unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(sign) in _TURNS
        for sign in name
    )


def shown(text: str) -> str:
    """A text of a student's for one line of a terminal."""
    return "".join(
        sign if _nameable(sign) else sign.encode("unicode_escape").decode() for sign in text
    )
