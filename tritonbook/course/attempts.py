"""What is tried again and again in one notebook: the same code, the same failure."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..checking.report import NOT_ATTEMPTED, Report
from .exercises import Exercise

EQUAL = 4  # failures of one kind in a row, from which on a hint is offered
_MANY = ("does-not-compile", "raised")  # codes of many causes: one kind says the same sentence


@dataclass
class _Failed:
    """The latest failure of an answer. parts: the objects that it consisted of."""

    parts: list[Any]
    kind: str
    times: int


_failed: dict[str, _Failed] = {}


def said_first(key: str, fn: Any, report: Report, exercise: Exercise) -> str:
    """What the card of this attempt says before all else; empty where there is nothing to say.

    It is asked once for each attempt, which it keeps. A pass forgets what was before.
    """
    before = _failed.pop(key, None)
    if report.passed or report.finding is None:
        return ""
    parts, kind = _parts(fn), report.finding.code
    if kind in _MANY:
        kind = report.finding.sentence
    times = before.times + 1 if before and before.kind == kind else 1
    _failed[key] = _Failed(parts, kind, times)
    said = []
    if before and len(parts) == len(before.parts) and all(map(_is, parts, before.parts)):
        said.append("This is the same code as last time: was the cell above run again?")
    if times >= EQUAL and report.state != NOT_ATTEMPTED:
        said.append(_offer(key, times, exercise))
    return " ".join(said)


def _is(one: Any, other: Any) -> bool:
    return one is other


def _offer(key: str, times: int, exercise: Exercise) -> str:
    """One hint after the other, then the workbook's answer."""
    hints = [cell.source for cell in exercise.cells if cell.role == "hint" and cell.key == key]
    titles = re.findall(r"<summary>(.*?)</summary>", "".join(hints))
    if times - EQUAL < len(titles):
        return f'That was {times} times the same. Open "{titles[times - EQUAL]}" for `{key}`.'
    return (
        f"That was {times} times the same. Compare with the workbook's answer, in "
        f"`solutions/{exercise.slug}.ipynb` of the course."
    )


def _parts(fn: Any) -> list[Any]:
    """An answer, and the functions, kernels and constants of its page that it uses, and they."""
    home, parts = getattr(_function(fn), "__globals__", None), [fn]
    for part in parts:  # grows meanwhile
        function = _function(part)
        if not isinstance(function, types.FunctionType) or function.__globals__ is not home:
            continue
        for name in _names(function.__code__):
            value = home.get(name)
            own = callable(value) or hasattr(value, "fn")
            if own or isinstance(value, (int, float, str, tuple)):
                parts += [] if any(value is each for each in parts) else [value]
    return parts


def _function(value: Any) -> Any:
    """The function of a kernel, also of one that is tuned."""
    while hasattr(value, "fn"):
        value = value.fn
    return value


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)
