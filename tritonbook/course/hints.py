"""The folded hints of a task, one at a time, for a terminal."""

from __future__ import annotations

import re

from rich.markdown import Markdown

from ..command import BadInput
from ..words import say
from . import records
from .page_checks import NotAsked, find_check

_HINT = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)


def hint(key: str) -> list[str | Markdown]:
    """The next hint of a graded function: its title and its text. After the last one, where the
    workbook's answer is. Raises BadInput."""
    try:
        exercise, _ = find_check(key)
    except NotAsked as error:
        raise BadInput(str(error)) from None
    cells = [cell for cell in exercise.cells if cell.role == "hint" and cell.key == key]
    hints = _HINT.findall("".join(cell.source for cell in cells))
    number = records.next_hint(key, len(hints))
    if number is None:
        return [
            say(
                "These were all {hints} hints for {key}. The workbook's answer is in {file}.",
                hints=len(hints),
                key=key,
                file=f"solutions/{exercise.slug}.ipynb",
            )
        ]
    title, text = hints[number]
    head = say("{title} ({number} of {hints})", title=title, number=number + 1, hints=len(hints))
    return [head, Markdown(_said(text.strip()))]


def _said(text: str) -> str:
    """A hint's paragraphs in the reader's language; its code as it is."""
    parts = re.split(r"(```.*?```|\n\s*\n)", text, flags=re.DOTALL)
    prose = (part if part.startswith("```") else say(" ".join(part.split())) for part in parts)
    return "\n\n".join(filter(None, prose))
