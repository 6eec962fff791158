"""A blank page for a kernel that was passed before: written once more from nothing, it stays."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..command import BadInput
from ..words import language, say
from . import gaps, plain
from .desk import free
from .exercises import Exercise, defined, exercises
from .messages import spoken
from .page_checks import NotAsked, find_check
from .records import entries
from .source import Cell


def redo(key: str | None, notebook: bool = False) -> Path:
    """Write redo_KEY.py here, or a notebook: contract, reference, signature, check; its path.

    key: a graded function that was passed; None: the one whose last pass is the longest ago.
    Raises BadInput where it was never passed.
    """
    known = entries()
    passes = {
        each: kept["when"]
        for exercise in exercises()
        for each in exercise.checks()
        if (kept := known.get(each, {}).get("passed"))
    }
    if key is None:
        if not passes:
            raise BadInput("Nothing was passed yet: `tritonbook next` says where to begin.")
        key = min(passes, key=passes.__getitem__)
    try:
        exercise, _ = find_check(key)
    except NotAsked as error:
        raise BadInput(str(error)) from None
    if key not in passes:
        raise BadInput(f"{key} was not passed yet: it is a task of {exercise.slug}.")
    exercise = spoken(exercise, language())
    made = _cells(exercise, key, passes[key][:10])
    path = free(Path(f"redo_{key}{'.ipynb' if notebook else '.py'}"))
    path.write_text(_as_notebook(made) if notebook else _as_file(made), encoding="utf-8")
    return path


def _cells(exercise: Exercise, key: str, when: str) -> list[Cell]:
    """The blank page: what is given, the signature, the check."""
    cells = exercise.cells
    answer = exercise.answers()[key]
    before = cells[: cells.index(answer)]
    contract = [c for c in cells if c.kind == "markdown" and "\n## The contract" in f"\n{c.source}"]
    task = [c for c in before if c.kind == "markdown" and c.role is None][-1:]
    title = say("Once more: `{key}`", key=key)
    top = say(
        "You passed it on {when}, on page {number} ({title}). Write it again from nothing: kernel, "
        "grid and wrapper. What its page says of lines that are given does not hold here.",
        when=when,
        number=exercise.slug[:2],
        title=exercise.header.title,
    )
    own = exercise.cut(answer, gaps.solved_text)
    others = [c for c in _used(exercise, own) if c is not answer]
    return [
        Cell("markdown", (), None, None, f"# {title}\n\n{top}", 0),
        *(_versioned(exercise, cell) for cell in cells if cell.role == "setup"),
        *contract,
        *(cell for cell in task if cell not in contract),
        *(cell for cell in cells if cell.role == "reference"),
        *(_given(exercise, cell) for cell in others),
        Cell("code", ("answer",), key, None, _signature(exercise, answer), 0),
        exercise.checks()[key],
    ]


def _used(exercise: Exercise, text: str) -> list[Cell]:
    """The page's other answers that an answer calls, directly or through others, in order."""
    answers = list(exercise.answers().values())
    names, found = _names(text), []
    for _ in answers:
        for cell in answers:
            solved = exercise.cut(cell, gaps.solved_text)
            if cell not in found and names & set(defined(solved)):
                found.append(cell)
                names |= _names(solved)
    return [cell for cell in answers if cell in found]


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def _given(exercise: Exercise, cell: Cell) -> Cell:
    source = exercise.cut(cell, gaps.solved_text)
    return Cell("code", ("reference",), None, None, source, 0)


def _signature(exercise: Exercise, answer: Cell) -> str:
    """The graded function down to its docstring; the page's own gaps where it is no such function,
    or where there is something to mend."""
    text = exercise.cut(answer, gaps.solved_text)
    own = [n for n in ast.parse(text).body if getattr(n, "name", None) == answer.key]
    mends = any(gap.broken is not None for gap in gaps.gaps(answer.source))
    if mends or not own or not isinstance(own[0], ast.FunctionDef):
        return exercise.cut(answer, gaps.learner_text)
    function = own[0]
    start = min([function.lineno, *(each.lineno for each in function.decorator_list)])
    first = function.body[0]
    end = (first.end_lineno or 0) if ast.get_docstring(function) else first.lineno - 1
    given = [line for line in text.splitlines()[start - 1 : end] if line.strip()[:1] != "#"]
    stub = gaps.stub_of(function, "    ")
    return "\n".join([gaps.YOUR_CODE, "", "", *given, f"    {gaps.YOUR_CODE}", stub])


def _versioned(exercise: Exercise, cell: Cell) -> Cell:
    return replace(cell, source=plain.with_version(cell.source, exercise.lang))


def _as_file(cells: list[Cell]) -> str:
    return "\n".join(
        plain.markdown(cell.source)
        if cell.kind == "markdown"
        else plain.code(cell.source, cell.tags, cell.key)
        for cell in cells
    )


def _as_notebook(cells: list[Cell]) -> str:
    def as_dict(number: int, cell: Cell) -> dict[str, Any]:
        name = f"{cell.role or 'text'}-{cell.key or number}"
        made = {"cell_type": cell.kind, "id": name, "metadata": {"tags": list(cell.tags)}}
        code = {"outputs": [], "execution_count": None} if cell.kind == "code" else {}
        return {**made, "source": cell.source.splitlines(keepends=True), **code}

    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": [as_dict(number, cell) for number, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"
