"""A page as a plain file, for whoever works in an editor: cells as in `# %%`, py:percent.

Text is comments, the set-up cell is not folded, hints are fetched one at a time in a terminal.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from .. import __version__
from ..words import say, speaking
from . import gaps
from .exercises import Exercise
from .source import Cell

_TAGS = re.compile(r"tags=(\[[^\]]*\])")
_KEY = re.compile(r'key="(\w+)"')


@dataclass(frozen=True)
class FileCell:
    """A code cell of a plain file. line: how many lines of the file stand above its source."""

    tags: tuple[str, ...]
    key: str
    source: str
    line: int


def text_of(exercise: Exercise) -> str:
    """The page of an exercise, its gaps open."""
    header = exercise.header
    with speaking(exercise.lang):
        top = [
            f"# {exercise.number:02}. {header.title}\n",
            say("{minutes} minutes. You will", minutes=header.minutes),
            *(f"- {item}" for item in header.you_will),
            "",
            say(
                "`tritonbook check {slug}.py --watch` checks this file whenever it is saved.",
                slug=exercise.slug,
            ),
        ]
        cells = [_cell(exercise, cell) for cell in exercise.cells]
    return "\n".join([markdown("\n".join(top)), *cells])


def _cell(exercise: Exercise, cell: Cell) -> str:
    if cell.role == "hint":
        return markdown(
            say("Stuck? `tritonbook hint {key}` gives one hint at a time.", key=cell.key)
        )
    if cell.kind == "markdown":
        return markdown(cell.source)
    source = cell.source
    if cell.role == "answer":
        source = exercise.cut(cell, gaps.learner_text)
    if cell.role == "setup":
        source = with_version(source, exercise.lang)
    return code(source, cell.tags, cell.key)


def with_version(source: str, lang: str = "en", version: str = __version__) -> str:
    """A set-up cell's source that says for which version of the workbook it was made, and which
    language it speaks."""
    speaks = "" if lang == "en" else f', lang="{lang}"'
    return source.replace("setup()", f'setup(made_for="{version}"{speaks})')


def markdown(text: str) -> str:
    lines = (f"# {line}".rstrip() for line in text.splitlines())
    return "\n".join(["# %% [markdown]", *lines, ""])


def code(source: str, tags: tuple[str, ...] = (), key: str | None = None) -> str:
    tagged = f" tags={json.dumps(list(tags))}" if tags else ""
    keyed = f' key="{key}"' if key else ""
    return f"# %%{tagged}{keyed}\n{source}\n"


def cells_of(text: str) -> list[FileCell]:
    """The code cells of a plain file. Their first lines may be of anybody's making."""
    lines = text.splitlines()
    marks = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    found = []
    for start, stop in zip(marks, [*marks[1:], len(lines)], strict=True):
        head = lines[start]
        if "[markdown]" in head or "[md]" in head:
            continue
        tags, key = _TAGS.search(head), _KEY.search(head)
        found.append(
            FileCell(
                tags=tuple(re.findall(r"\w+", tags[1])) if tags else (),
                key=key[1] if key else "",
                source="\n".join(lines[start + 1 : stop]),
                line=start + 1,
            )
        )
    return found


def with_answer(text: str, key: str, answer: str) -> str | None:
    """A plain file with another answer in the cell of `key`; None where it has no such cell."""
    for cell in cells_of(text):
        if "answer" in cell.tags and cell.key == key:
            lines = text.splitlines()
            end = cell.line + len(cell.source.splitlines())
            lines[cell.line : end] = [*answer.splitlines(), ""]
            return "\n".join(lines) + "\n"
    return None
