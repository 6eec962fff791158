"""Find the source text of functions, classes and assignments, and the global names in it.

`inspect.getsource` knows neither classes defined in a notebook nor where a lambda starts and ends,
so definitions are looked up by line in the parsed file. Notebook cells are files to `linecache`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import symtable
import textwrap
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .values import ExportError


@dataclass(frozen=True)
class Definition:
    """Dedented source of one function or class (of a lambda: the expression alone)."""

    text: str
    decorators: int = 0
    is_lambda: bool = False


def definition(value: Any) -> Definition:
    """Source of a plain function or class, decorators included. Raises ExportError."""
    functions = _functions(value)
    if not functions:
        raise ExportError(f"The source of `{value.__name__}` is not known.")
    code: Any = functions[0].__code__
    lines = linecache.getlines(code.co_filename)
    tree = _parse("".join(lines))
    if tree is None:
        raise ExportError(f"The source of `{value.__name__}` is not known (it was not in a file).")
    if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
        return Definition(_lambda(tree, value), is_lambda=True)
    for node in _definitions(tree):
        if node.name != value.__name__:
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        if isinstance(node, ast.ClassDef):
            match = isinstance(value, type) and first <= code.co_firstlineno <= node.end_lineno
        else:
            match = first == code.co_firstlineno
        if match:
            text = textwrap.dedent("".join(lines[first - 1 : node.end_lineno])).strip("\n")
            if _parse(text) is None:
                raise ExportError(f"`{value.__name__}` cannot be cut out of the code around it.")
            return Definition(text, decorators=len(node.decorator_list))
    raise ExportError(f"The definition of `{value.__name__}` has changed since it was run.")


@functools.lru_cache(maxsize=16)
def _definitions(tree: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def _functions(value: Any) -> list[FunctionType]:
    """A function, or the methods of a class."""
    if isinstance(value, FunctionType):
        return [value]
    # __func__: of a staticmethod or classmethod
    members = [getattr(member, "__func__", member) for member in vars(value).values()]
    return [member for member in members if isinstance(member, FunctionType)]


def _lambda(tree: ast.AST, value: FunctionType) -> str:
    code = value.__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    names = {*code.co_names, *code.co_freevars}
    texts = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Lambda) or node.lineno != code.co_firstlineno:
            continue
        arguments = node.args
        given = tuple(a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
        used = {each.id for each in ast.walk(node.body) if isinstance(each, ast.Name)}
        if given == wanted and names >= used - set(given) - set(code.co_varnames):
            texts.add(ast.unparse(node))
    if len(texts) != 1:
        raise ExportError("Two lambdas on one line cannot be told apart: define a function.")
    return texts.pop()


def namespace(value: Any) -> dict[str, Any]:
    """The names that a function (or the methods of a class) sees: globals, then closure cells."""
    functions = _functions(value)
    found: dict[str, Any] = {}
    for function in functions:
        found.update(function.__globals__)
    for function in functions:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                found[name] = cell.cell_contents
            except ValueError:  # an empty cell: the enclosing function has not assigned it yet
                found.pop(name, None)
    return found


def assignment(name: str, home: dict[str, Any]) -> str | None:
    """The latest top-level statement of a notebook or module that made `name`, or None.

    It is `name = ...`, or a decorated definition: a decorator may return any kind of object.
    """
    cells = home.get("In")
    if isinstance(cells, list):
        sources = [cell for cell in reversed(cells) if isinstance(cell, str)]
    else:
        sources = ["".join(linecache.getlines(home.get("__file__") or ""))]
    for source in sources:
        tree = _parse(source)
        for node in reversed(tree.body if tree is not None else []):
            if not _makes(node, name):
                continue
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                first = min(decorator.lineno for decorator in node.decorator_list)
                return "\n".join(source.splitlines()[first - 1 : node.end_lineno])
            return ast.get_source_segment(source, node)
    return None


def _makes(node: ast.stmt, name: str) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name == name and bool(node.decorator_list)
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def local_decorators(value: Any, text: str) -> bool:
    """Do the decorators in `text` use names of the function around it, which no closure keeps?"""
    node: Any = ast.parse(text).body[0]
    parts = [part for decorator in node.decorator_list for part in ast.walk(decorator)]
    used = {part.id for part in parts if isinstance(part, ast.Name)}
    return not used <= {*namespace(value), *vars(builtins)}


def global_names(text: str) -> list[str]:
    """Names that `text` takes from outside itself, decorators and annotations included, sorted."""
    top, *inner = _scopes(text)
    found = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    found -= {s.get_name() for s in top.get_symbols() if s.is_imported()}
    for scope in inner:
        found |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
    return sorted(found)


def _scopes(text: str) -> list[symtable.SymbolTable]:
    """The module's and those of all functions and classes in it."""
    found = [symtable.symtable(text, "<exported>", "exec")]
    for scope in found:
        found += scope.get_children()
    return found


def rename(text: str, names: dict[str, str]) -> str:
    """`text` with the global names `names` (old to new) replaced, in definitions and uses.

    Where one is, comments are gone.
    """
    if not names:
        return text
    for scope in _scopes(text)[1:]:
        local = {s.get_name() for s in scope.get_symbols() if s.is_local()}
        if local & names.keys():
            both = ", ".join(sorted(local & names.keys()))
            raise ExportError(f"{both} means two things in what this function uses. Rename one.")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.name = names.get(node.name, node.name)
    return ast.unparse(tree)


@functools.lru_cache(maxsize=128)
def _parse(source: str) -> ast.Module | None:
    """The tree of a source, None where it is not Python. One tree serves many: do not change it.

    An export asks for the same module again for each name in it.
    """
    try:
        return ast.parse(source) if source else None
    except SyntaxError:
        return None
