"""Outputs of solved notebooks: kept while what they came from is unchanged, dropped after.

An output depends on its cell and on everything the cell reads: definitions in earlier cells, and
what those read. The hash of an output covers all of it, so an edited kernel takes the pictures and
figures drawn from it along, while an edit elsewhere leaves them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ..course.exercises import Exercise
from ..course.progress import course_map
from ..words import speaking

_RELEASE = r'\A# @title [\s\S]*? is None:\n.*\n\n|made_for="[^"]*"'  # of a set-up cell


def source_hashes(notebook: NotebookNode) -> dict[str, str]:
    """For each code cell's id: a hash of its source and of the sources that it depends on."""
    found: dict[str, str] = {}
    owners: dict[str, str] = {}  # name -> hash of the cell that defined it last
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        # Which release, and how it is installed where it is missing, makes no output stale.
        source = re.sub(_RELEASE, "", cell.source)
        tree = ast.parse(source)
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        parts = [source, *sorted({owners[name] for name in names if name in owners})]
        found[cell.id] = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        owners.update(dict.fromkeys(defined(tree), found[cell.id]))
    return found


def defined(tree: ast.Module) -> set[str]:
    """Names that a cell gives to later cells. Imports are left out: they change nothing."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def carry(notebook: NotebookNode, path: Path) -> list[str]:
    """Copy into a fresh notebook the outputs in the file `path` that are still true.

    Returns the ids of the cells whose outputs were dropped because their source changed.
    """
    if not path.is_file():
        return []
    try:
        old = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except ValueError:  # half-written or hand-edited: built anew, without outputs
        return []
    record = old.metadata.get("workbook", {})
    made_from = record.get("made_from", {})
    cells = {cell.get("id"): cell for cell in old.cells}
    made = {known: cells[name] for name, known in made_from.items() if name in cells}
    hashes = source_hashes(notebook)
    kept = {}
    for cell in notebook.cells:
        # By what it came from, not by its id: ids count cells, and a new cell moves those after it.
        if before := made.get(hashes.get(cell.id)):
            cell.outputs = before.outputs
            cell.execution_count = before.execution_count
            kept[cell.id] = hashes[cell.id]
    dropped = [name for name, known in made_from.items() if known not in kept.values()]
    if kept:
        notebook.metadata.workbook["made_from"] = NotebookNode(kept)
        notebook.metadata.workbook["executed"] = record["executed"]
    return dropped


def count_anew(notebook: NotebookNode, exercise: Exercise, course: Sequence[Exercise]) -> None:
    """Draw the progress at the end of a solved page with the tasks that the course has today: of
    the page's own all are passed, of others none."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.strip() == "progress()" and cell.outputs:
            with speaking("en"):
                progress = course_map(course, dict.fromkeys(exercise.checks(), {"passed": True}))
                data = {"text/html": progress._repr_html_(), "text/plain": repr(progress)}
            cell.outputs[0].data = NotebookNode(data)
