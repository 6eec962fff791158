"""The learner's own files: where they lie, how they begin, and what they looked like before."""

from __future__ import annotations

from pathlib import Path

from ..command import BadInput, sentence
from . import plain
from .exercises import Exercise, directory, get

WORK = "work"  # the folder of a checkout that git ignores
SUFFIXES = (".ipynb", ".py")


def page(name: str) -> Exercise:
    """The page meant by a number or a slug. Raises BadInput."""
    try:
        return get(name)
    except LookupError as error:
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
        raise BadInput(f"There is no file {name}.")
    if path.suffix:
        raise BadInput(f"{name} is no page: name an .ipynb or .py file, or a number such as 01.")
    slug = page(name).slug
    if own := own_file(slug):
        return own
    raise BadInput(
        f"There is no {slug}.ipynb or {slug}.py here, in {WORK}/ or in notebooks/: name the file, "
        f"or begin one with `tritonbook start {slug[:2]}`."
    )


def own_file(slug: str) -> Path | None:
    """The learner's file of a page, if there is one."""
    course = directory().parent
    names = [f"{slug}{suffix}" for suffix in SUFFIXES]
    for place in (Path(), Path(WORK), course / WORK, Path("notebooks"), course / "notebooks"):
        found = [place / name for name in names if (place / name).is_file()]
        if found:
            return max(found, key=lambda path: path.stat().st_mtime)
    return None


def start(name: str) -> Path:
    """Write a page as a plain file into this folder. Raises BadInput where one lies there."""
    exercise = page(name)
    path = Path(f"{exercise.slug}.py")
    if path.exists():
        raise BadInput(
            f"{path} is here already, and stays as it is: go on in it, or begin it anew with "
            f"`tritonbook reset {exercise.slug[:2]}`."
        )
    path.write_text(plain.text_of(exercise), encoding="utf-8")
    return path
