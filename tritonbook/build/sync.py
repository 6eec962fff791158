"""Write the generated notebooks, or say which of them differ from what their source gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..course import messages
from ..course.exercises import exercises
from ..course.page_checks import checks
from ..course.source import SourceError
from . import outputs, readme, views
from .release import read_release


@dataclass
class Built:
    """What the exercise files of a checkout give: file contents by path, and what went wrong."""

    root: Path
    files: dict[Path, bytes] = field(default_factory=dict)
    broken: list[SourceError] = field(default_factory=list)
    dropped: dict[Path, list[str]] = field(default_factory=dict)  # outputs gone stale, by notebook
    translated: list[messages.Translated] = field(default_factory=list)  # read once, for all

    def differing(self) -> list[Path]:
        """Generated files that are missing or hold other bytes."""
        return [
            path
            for path, content in self.files.items()
            if not path.is_file() or path.read_bytes() != content
        ]

    def left_over(self) -> list[Path]:
        """Notebooks in the generated folders that no exercise file gives."""
        if self.broken:
            return []
        patterns = (
            "notebooks/*.ipynb",
            "notebooks/zh/*.ipynb",
            "solutions/*.ipynb",
            "autograde/source/*/*.ipynb",
        )
        present = {path for pattern in patterns for path in self.root.glob(pattern)}
        return sorted(present - set(self.files))


def paths(root: Path, slug: str) -> tuple[Path, Path, Path]:
    """Where the learner's, the solved and the instructor's notebook of an exercise lie."""
    name = f"{slug}.ipynb"
    source = root / "autograde" / "source" / slug / name
    return root / "notebooks" / name, root / "solutions" / name, source


def build(root: Path) -> Built:
    """Generate every notebook in memory. Exercises that cannot be built are listed in `broken`."""
    release = read_release(root)
    built = Built(root)
    course = exercises(root / "exercises")
    for exercise in course:
        places = paths(root, exercise.slug)
        _, solution_path, _ = places
        try:
            kinds = zip(places, (views.learner, views.solution, views.instructor), strict=True)
            books = {path: view(exercise, release) for path, view in kinds}
            dropped = outputs.carry(books[solution_path], solution_path)
            outputs.count_anew(books[solution_path], exercise, course)
            checks(exercise)  # a notebook whose checks cannot be read is of no use
        except SourceError as error:
            built.broken.append(error)
            continue
        built.files.update({path: views.to_bytes(book) for path, book in books.items()})
        if dropped:
            built.dropped[solution_path] = dropped
    built.translated = messages.translations(course)
    for page in built.translated:
        path = root / "notebooks" / page.lang / f"{page.slug}.ipynb"
        try:
            built.files[path] = views.to_bytes(views.learner(page, release))
        except SourceError as error:
            built.broken.append(error)
    if not built.broken:
        built.files.update(readme.generated(root, built.translated))
    return built


def write(built: Built) -> list[Path]:
    """Write what differs and remove what is left over; returns the paths touched."""
    touched = built.differing()
    for path in touched:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(built.files[path])
    for path in built.left_over():
        path.unlink()
        if path.parent.name == path.stem:
            path.parent.rmdir()
        touched.append(path)
    return touched
