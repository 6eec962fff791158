"""The folded hints of a task, one at a time, for a terminal."""

from __future__ import annotations

import re

from rich.markdown import Markdown

from ..command import BadInput
from . import records
from .cases import NotAsked, find_check

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
            f"These were all {len(hints)} hints for {key}. The workbook's answer is in "
            f"solutions/{exercise.slug}.ipynb."
        ]
    title, text = hints[number]
    return [f"{title} ({number + 1} of {len(hints)})", Markdown(text.strip())]
