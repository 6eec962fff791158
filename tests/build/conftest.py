"""A course of one exercise, in a folder of its own, that tests can break."""

from __future__ import annotations

from pathlib import Path

import pytest

from tritonbook.build import template
from tritonbook.course.exercises import Exercise

ROOT = Path(__file__).parents[2]


class Course:
    """A checkout with the template exercise 17_twice."""

    def __init__(self, root: Path):
        self.root = root
        (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
        self.path, self.cases, self.wrong = template.write_new(root / "exercises", "17_twice")

    @property
    def exercise(self) -> Exercise:
        return Exercise(self.path)

    def edit(self, old: str, new: str, path: Path | None = None) -> None:
        """Replace text that is in the file exactly once."""
        path = path or self.path
        text = path.read_text()
        assert text.count(old) == 1, (old, text.count(old))
        path.write_text(text.replace(old, new))


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)
