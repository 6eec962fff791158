"""The text of cells, and what a cell defines."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from dataclasses import dataclass

MAX_CELL_CHARACTERS = 200_000


@dataclass(frozen=True)
class HandedCell:
    """One cell of a submitted notebook, reduced to what may matter.

    kind: "code", "markdown", "raw", or "script" for a whole Python file. names: nbgrader's, and the
    cell's own id, where it has them. written: the text as it was handed in.
    """

    kind: str
    names: tuple[str, ...]
    source: str
    written: str = ""

    @property
    def runs(self) -> bool:
        return self.kind in ("code", "script")


def lines_of(source: str) -> list[str]:
    """The lines as Python counts them: a form feed or a U+2028 ends none."""
    return re.split(r"\r\n|\r|\n", source)


@functools.lru_cache(maxsize=1024)  # of one hand-in: `ingest` clears it
def parsed(source: str) -> ast.Module | None:
    """The syntax tree; None for what is no Python, or too long for a cell."""
    if len(source) > MAX_CELL_CHARACTERS:
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.lru_cache(maxsize=4096)
def statements(source: str) -> tuple[tuple[tuple[str, ...], str], ...] | None:
    """What each top-level statement defines, and its hash; None for what is no Python."""
    tree = parsed(source)
    return None if tree is None else tuple((targets(node), digest(node)) for node in tree.body)


def defined(source: str) -> dict[str, str]:
    """What a cell defines at its top level: name -> the statement's hash."""
    return {name: found for names, found in statements(source) or () for name in names}


def digest(node: ast.AST) -> str:
    """The same for two texts that differ in layout and comments only."""
    try:
        told = ast.dump(node)
    except (RecursionError, MemoryError):
        return "too deep to be told from others that are too deep"
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()


def targets(node: ast.stmt) -> tuple[str, ...]:
    """What a statement defines: a function, or what `k = triton.jit(_k)` gives a name to."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, ast.Assign):
        return tuple(target.id for target in node.targets if isinstance(target, ast.Name))
    return ()


def definitions_only(source: str) -> str:
    """A worked example reduced to what later cells may use: imports, functions, plain values.

    Lines keep their numbers. Plots and measurements are not run again for every student.
    """
    tree = parsed(source)
    if tree is None:
        return ""
    kept: set[int] = set()
    for node in tree.body:
        plain = isinstance(node, ast.Assign) and not any(
            isinstance(inner, ast.Call) for inner in ast.walk(node.value)
        )
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) or plain:
            decorators = [each.lineno for each in getattr(node, "decorator_list", [])]
            kept.update(range(min([node.lineno, *decorators]), (node.end_lineno or 0) + 1))
    lines = enumerate(lines_of(source), 1)
    return "\n".join(line if number in kept else "" for number, line in lines)
