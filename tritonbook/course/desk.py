"""The learner's own files: where they lie, how they begin, and what they looked like before."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..command import BadInput, sentence
from ..port import source_file
from ..words import language
from . import gaps, plain
from .exercises import Exercise, directory, exercises, get
from .messages import spoken

WORK = "work"  # the folder of a checkout that git ignores
GIVEN = ".given.json"  # in that folder: what was copied into it
SUFFIXES = (".ipynb", ".py")
_SPEAKS = re.compile(r'setup\(made_for=\S+ lang=\\?"(\w+)')  # also as JSON has it


def page(name: str) -> Exercise:
    """The page meant by a number or a slug. Raises BadInput."""
    try:
        return get(name)
    except LookupError as error:
        for each in exercises():
            if name in each.checks():
                raise BadInput(f"{name} is a task of {each.slug}: name the page.") from None
        raise BadInput(sentence(error)) from None


def find(name: str) -> Path:
    """The learner's file meant by a path, a number or a slug. Raises BadInput.

    Of several the nearest counts: here, in work/, in notebooks/; in one folder the one that was
    saved last.
    """
    path = Path(name)
    if path.suffix in SUFFIXES:
        if path.is_file():
            return path
        raise BadInput(
            f"There is no file {name}: name the file, or a page by its number, such as 01."
        )
    if path.suffix:
        raise BadInput(f"{name} is no page: name an .ipynb or .py file, or a number such as 01.")
    slug = page(name).slug
    if found := own_file(slug) or _newest(slug, [Path("notebooks"), _shared()]):
        return found
    raise BadInput(
        f"There is no {slug}.ipynb or {slug}.py here, in {WORK}/ or in notebooks/: name the file, "
        f"or begin one with `tritonbook start {slug[:2]}`."
    )


def _shared() -> Path:
    """The notebooks of the checkout, which git keeps."""
    return directory().parent / "notebooks"


def is_shared(path: Path) -> bool:
    """Whether a file is the workbook's own, and no learner's."""
    return _shared().resolve() in path.resolve().parents


def own_file(slug: str) -> Path | None:
    """The learner's own file of a page, if there is one."""
    return _newest(slug, [Path(), Path(WORK), directory().parent / WORK])


def _newest(slug: str, places: Sequence[Path]) -> Path | None:
    """A page's file in the first of these folders that has one; the one that was saved last, be it
    in the folder of the reader's language there."""
    folders = [""] if language() == "en" else ["", language()]
    for place in places:
        files = [place / each / f"{slug}{suffix}" for each in folders for suffix in SUFFIXES]
        if found := [path for path in files if path.is_file()]:
            return max(found, key=lambda path: path.stat().st_mtime)
    return None


def start(name: str) -> Path:
    """Write a page as a plain file into this folder, in the reader's language. Raises BadInput
    where one lies there."""
    exercise = spoken(page(name), language())
    path = Path(f"{exercise.slug}.py")
    if path.exists():
        raise BadInput(
            f"{path} is here already, and stays as it is: go on in it, or begin it anew with "
            f"`tritonbook reset {exercise.slug[:2]}`."
        )
    path.write_text(plain.text_of(exercise), encoding="utf-8")
    return path


def reset(name: str, key: str | None = None) -> tuple[Path, Path]:
    """Give a page back as it was at first, or the gap of one answer, in the language of the file:
    the file, and where its text of before is kept. Raises BadInput."""
    exercise = page(name)
    path = own_file(exercise.slug)
    if path is None:
        raise BadInput(
            f"There is no file of yours of {exercise.slug} here or in {WORK}/: begin one with "
            f"`tritonbook start {exercise.slug[:2]}`."
        )
    said = _SPEAKS.search(path.read_text(encoding="utf-8"))
    exercise = spoken(exercise, said[1] if said else "en")
    if key is None:
        text = _untouched(exercise, path.suffix)
    elif key in exercise.answers():
        gap = exercise.cut(exercise.answers()[key], gaps.learner_text)
        text = _with_answer(path, key, gap)
    else:
        keys = ", ".join(exercise.answers())
        raise BadInput(f"{exercise.slug} has no gap {key!r}; it has {keys}.")
    kept = free(path.with_stem(f"{path.stem}_before"))
    path.rename(kept)
    path.write_text(text, encoding="utf-8")
    return path, kept


def _untouched(exercise: Exercise, suffix: str) -> str:
    """The page's notebook or plain file, its gaps open."""
    if suffix == ".py":
        return plain.text_of(exercise)
    folder = "" if exercise.lang == "en" else exercise.lang
    original = _shared() / folder / f"{exercise.slug}.ipynb"
    if not original.is_file():
        raise BadInput(
            f"This copy of the workbook has no notebooks: fetch {original.name} where you had it "
            "from, or name one gap to give back."
        )
    return original.read_text(encoding="utf-8")


def _with_answer(path: Path, key: str, answer: str) -> str:
    """The text of a file with this answer in the place of the learner's."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        changed = plain.with_answer(text, key, answer)
    else:
        changed = _with_cell(text, f"answer-{key}", answer)
    if changed is None:
        raise BadInput(f"{path} has no cell any more for the answer {key!r}: reset the whole page.")
    return changed


def _with_cell(text: str, name: str, source: str) -> str | None:
    try:
        book = json.loads(text)
        found = [c for c in book["cells"] if name in (c.get("id"), _grade_id(c))]
    except (ValueError, KeyError, AttributeError):
        return None
    if not found:
        return None
    found[0].update(source=source.splitlines(keepends=True), outputs=[], execution_count=None)
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _grade_id(cell: dict[str, Any]) -> str | None:
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")


def free(path: Path) -> Path:
    """A path of that name that nothing lies at, numbered where need be."""
    names = (path.with_stem(f"{path.stem}_{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], names) if not each.exists())


def lay_out(folder: Path) -> list[Path]:
    """Copy the course's notebooks into a folder of the learner's own; returns what is new there.

    A page that the learner has touched stays as it is; one that nobody has touched since it was
    copied is brought up to date. The solutions lie beside, to be read. Raises BadInput where this
    copy of the workbook has no notebooks.
    """
    course = directory().parent
    originals = sorted(_shared().rglob("*.ipynb"))
    if not originals:
        raise BadInput("This copy of the workbook has no notebooks: get the repository.")
    given = _given(folder)
    new = []
    for original in originals:
        name = str(original.relative_to(_shared()))
        target, text = folder / name, original.read_bytes()
        there = target.read_bytes() if target.is_file() else None
        if there is None or (there != text and _digest(there) == given.get(name)):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
            given[name] = _digest(text)
            new.append(target)
    solutions = folder / "solutions"
    shutil.rmtree(solutions, ignore_errors=True)
    shutil.copytree(course / "solutions", solutions)
    for path in solutions.rglob("*.ipynb"):
        path.chmod(0o444)  # a copy, and replaced the next time: nobody may work in it
    source_file.written(folder, GIVEN, json.dumps(given, indent=1))
    return new


def _given(folder: Path) -> dict[str, str]:
    """What was copied into a folder before: the digest of each page as it was given."""
    try:
        return dict(json.loads((folder / GIVEN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
