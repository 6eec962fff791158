"""A course of one exercise, in a folder of its own, that tests can break."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tritonbook.build import template
from tritonbook.build.__main__ import main
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

    def copied(self, slug: str) -> Path:
        """The page again in a folder of another name: its page.py."""
        return Path(shutil.copytree(self.path.parent, self.root / "exercises" / slug), "page.py")

    def edit(self, old: str, new: str, path: Path | None = None) -> None:
        """Replace text that is in the file exactly once."""
        path = path or self.path
        text = path.read_text()
        assert text.count(old) == 1, (old, text.count(old))
        path.write_text(text.replace(old, new))


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


@pytest.fixture
def run(course, capsys):
    """One of the author's verbs on that course: its exit code, what it printed and complained."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--root", str(course.root), *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
