"""The statements of the course's cells: what each gives, what it needs, what it asks for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import dataclass

LENDING = ("reference", "mine")  # functions that hand out another page's


@dataclass(frozen=True)
class Statement:
    """gives: the names that it gives a meaning. names: those in it. asked: functions that it asks
    the course for. defines: it is an import, a function or a class."""

    text: str
    gives: frozenset[str]
    names: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    defines: bool = False


@functools.lru_cache(maxsize=1024)
def statements(text: str) -> tuple[Statement, ...]:
    """In order; one for each name of an import."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return ()  # an instructor's example with a magic in it
    lines = text.splitlines()
    return tuple(each for node in body for each in _statements(node, lines))


def _statements(node: ast.stmt, lines: list[str]) -> Iterable[Statement]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            node.names = [alias]
            name = alias.asname or alias.name.partition(".")[0]
            yield Statement(ast.unparse(node), frozenset([name]), defines=True)
        return
    nodes = list(ast.walk(node))
    names = [each for each in nodes if isinstance(each, ast.Name)]
    gives = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    first = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        gives = {node.name}
        first = min([first, *(each.lineno for each in node.decorator_list)])
    yield Statement(
        "\n".join(lines[first - 1 : node.end_lineno]),
        frozenset(gives),
        frozenset(each.id for each in names),
        frozenset(filter(None, map(_asked, nodes))),
        isinstance(node, (ast.FunctionDef, ast.ClassDef)),
    )


def _asked(node: ast.AST) -> str | None:
    """The function that a call asks the course for by name."""
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in LENDING and isinstance(node.args[0].value, str):
            record = any(
                each.arg == "record" and getattr(each.value, "value", True)
                for each in node.keywords
            )
            return node.args[0].value + "_record" * record
    return None


def reached(texts: Iterable[str], roots: Iterable[str]) -> set[Statement]:
    """The statements of some cells that the names `roots` need, directly or through others."""
    homes: dict[str, list[Statement]] = {}
    for text in texts:
        for statement in statements(text):
            for name in statement.gives:
                homes.setdefault(name, []).append(statement)
    found: set[Statement] = set()
    waiting = list(roots)
    while waiting:
        for statement in homes.pop(waiting.pop(), ()):
            found.add(statement)
            waiting += statement.names
    return found
