"""What only a notebook understands: IPython's own lines, and what nobody answers here.

A cell becomes plain Python, line for line. What of it has no effect on an answer is left out: a
shell's output, an `await`, an import that no answer uses of a module that is not here.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec

from tritonbook.notebook import fences, unfenced

from .cells import MAX_CELL_CHARACTERS, HandedCell, lines_of, parsed

_BODY_RUNS = ("%%time", "%%timeit", "%%capture", "%%prun")
_SPECIAL = re.compile(r"(?m)^[ \t]*[%!?,;/]|\?[ \t]*$|=[ \t]*[!%]")
_MOST_WORK = 2_000_000  # special lines times characters: each is one more reading of the cell
_TRANSFORMS = 500
_SHOWN = 60  # characters of what is left out
# What each page begins with, and nobody need be told of.
_INSTALLS = 'if importlib.util.find_spec("tritonbook") is None:'


@dataclasses.dataclass
class Effort:
    """What may still be spent on the cells of a hand-in, and whether that was too little."""

    left: int = _MOST_WORK
    short: bool = False


def as_python(source: str, effort: Effort | None = None) -> str:
    """The cell as Python, its lines where they were; as it is where IPython cannot read it either,
    or `effort` is spent.

    `x = !ls` becomes a call of `get_ipython()`, whoever gives that.
    """
    effort = effort or Effort()
    if len(source) > MAX_CELL_CHARACTERS or parsed(source) is not None:
        return source  # a line that begins with % goes on with the one above it
    if (plain := "\n".join(unfenced(lines_of(source)))).strip() != source.strip():
        return as_python(plain, effort)
    work = len(_SPECIAL.findall(source)) * len(source)
    if work > effort.left:
        effort.short = True
        return source
    effort.left -= work
    lines = lines_of(source)
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].lstrip().startswith("%%"):
        if lines[first].split()[0] not in _BODY_RUNS:
            return ""
        return as_python("\n".join(["", *lines[:first], *lines[first + 1 :]]), effort)
    try:
        made = "\n" * first + "".join(_transformed([f"{line}\n" for line in lines[first:]]))
    except Exception:  # noqa: BLE001  (IPython's, about a text of any kind)
        return source
    return made.removesuffix("\n") if parsed(made) is not None else source


def _transformed(lines: list[str]) -> list[str]:
    """What IPython makes of the lines, each where it was."""
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()
    for transform in manager.cleanup_transforms:
        lines = transform(lines)
    for _ in range(_TRANSFORMS):
        changed, made = manager.do_one_token_transform(lines)
        if not changed:
            break
        pairs = enumerate(zip(lines, made, strict=False))
        at = next((number for number, (old, new) in pairs if old != new), 0)
        made[at + 1 : at + 1] = ["\n"] * (len(lines) - len(made))
        lines = made
    return lines


def leave_out(
    cells: Sequence[HandedCell], wanted: Collection[str]
) -> tuple[list[HandedCell], list[str]]:
    """The cells without what has no effect on the names in `wanted`; and what was left out."""
    trees = [parsed(cell.source) for cell in cells]
    needed = _reached([tree for tree in trees if tree is not None], wanted)
    gone: set[str] = set()
    found: list[HandedCell] = []
    left: list[str] = []
    for cell, tree in zip(cells, trees, strict=True):
        written = lines_of(cell.written)
        left += filter(None, [magic_of(cell)])
        edits = _edits(tree, needed, gone) if tree is not None and cell.runs else []
        lines = [written[node.lineno - 1] for node, _ in edits]
        left += [_short(line) for line in lines if not line.startswith(_INSTALLS)]
        source = _edited(cell.source, edits) if edits else cell.source
        found.append(dataclasses.replace(cell, source=source))
    return found, left


def magic_of(cell: HandedCell) -> str:
    """The line that makes a whole cell another program's than Python's; empty where none does."""
    if cell.source or not cell.written:
        return ""
    return _short(next(filter(str.strip, lines_of(cell.written))))


def fence_in(cell: HandedCell) -> str:
    """The first line of a cell that is Markdown's mark around code; empty where none is."""
    lines = lines_of(cell.written) if "```" in cell.written or "~~~" in cell.written else []
    return next((_short(lines[number]) for number in fences(lines)), "")


def modules(source: str) -> Iterator[str]:
    """The modules that a cell imports, by their first names."""
    tree = parsed(source)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _edits(tree: ast.Module, needed: set[str], gone: set[str]) -> list[tuple[ast.stmt, str]]:
    """The statements that have no effect, each with what stands in its place. gone: names that
    nothing gives any more, which it changes."""
    found = []
    for node in tree.body:
        bound = _bound(node)
        instead = _instead(node, gone)
        lost = bound if instead is None else bound - _bound_by(instead)
        if instead is None or lost & needed:
            gone -= bound
        else:
            found.append((node, instead))
            gone |= lost
    return found


def _instead(node: ast.stmt, gone: set[str]) -> str | None:
    """What stands in a statement's place where it cannot run here; None where it can."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return None
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _import_instead(node)
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if any(map(_is_shell, ast.walk(node))):
        return _timed(node) or "pass"
    return "pass" if used & gone or _awaits(node) else None


def _import_instead(node: ast.Import | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.Import):
        here = [alias for alias in node.names if _is_here(alias.name)]
    elif node.level or _is_here(node.module or ""):
        space = not node.level and _is_namespace(node.module or "")
        here = [
            alias
            for alias in node.names
            if not space or alias.name == "*" or _is_here(f"{node.module}.{alias.name}")
        ]
    else:
        here = []
    if len(here) == len(node.names):
        return None
    if not here:
        return "pass"
    kept = ast.Import(here)
    return ast.unparse(
        kept if isinstance(node, ast.Import) else ast.ImportFrom(node.module, here, node.level)
    )


@functools.lru_cache(maxsize=1024)
def _is_here(module: str) -> bool:
    """Whether Python finds a module. Nothing of it is run."""
    path = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            spec = _spec(name, path)
        except (ImportError, ValueError, OSError):
            return False
        if spec is None:
            return False
        if spec.submodule_search_locations is None:
            return True  # a module; what is below it, as in `os.path`, it knows itself
        path = list(spec.submodule_search_locations)
    return True


def _spec(name: str, path: list[str] | None = None) -> ModuleSpec | None:
    """What is known of a module, by whoever finds modules: an installed checkout has a finder of
    its own."""
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)


def _is_namespace(module: str) -> bool:
    """Whether a package has no file of its own, as `google`: all that it holds are modules."""
    spec = _spec(module) if "." not in module else None
    return spec is not None and spec.origin is None and spec.submodule_search_locations is not None


def _is_shell(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "get_ipython"
    )


def _timed(node: ast.stmt) -> str | None:
    """The statement that `%time` runs, as a notebook does."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and len(call.args) == 2:
        name, text = (each.value if isinstance(each, ast.Constant) else "" for each in call.args)
        if name == "time" and isinstance(text, str) and parsed(text) is not None:
            return text.strip() or None
    return None


def _awaits(node: ast.AST) -> bool:
    """Whether it awaits, outside a function of its own: a notebook lets it."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
            return True
        if isinstance(each, ast.comprehension) and each.is_async:
            return True
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(each)
    return False


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    found = set()
    for each in ast.walk(node):
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, (ast.FunctionDef, ast.ClassDef)):
            found.add(each.name)
    return found


def _bound_by(text: str) -> set[str]:
    tree = parsed(text)
    return {name for node in tree.body for name in _bound(node)} if tree is not None else set()


def _reached(trees: Sequence[ast.Module], wanted: Collection[str]) -> set[str]:
    """The names that these lead to, through what binds them."""
    uses: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for node in tree.body:
            used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            for name in _bound(node):
                uses[name] |= used
    found: set[str] = set()
    waiting = set(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= uses.get(name, set()) - found
    return found


def _edited(source: str, edits: Sequence[tuple[ast.stmt, str]]) -> str:
    """The source with other text in the place of some statements; lines stay where they are."""
    data = source.encode()
    starts = [0, *(end.end() for end in re.finditer(rb"\r\n|\r|\n", data))]
    for node, text in reversed(edits):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        lost = (node.end_lineno or node.lineno) - node.lineno
        rest = re.match(rb"[^\r\n]*", data[end:])
        if rest and not rest[0].strip():  # else another statement stands on its last line
            text += "\n" * lost
        data = data[:begin] + text.encode() + data[end:]
    return data.decode()


def _short(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
