"""Take Triton kernels, and nothing else, out of submitted source.

The checker runs a submission's kernels itself, so that what they read and write needs no witness.
It therefore runs only code that passes here: functions decorated with `triton.jit` whose bodies
hold nothing but Triton's own language. The rules are an allow list: what is not named is refused.
Everything else a submission contains stays in the candidate's process.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .language import (
    BUILTINS,
    COURSE_FUNCTIONS,
    Refused,
    bound_names,
    is_literal,
    vet,
    walk_body,
    walk_signature,
)


@dataclass(frozen=True)
class KernelId:
    """Where a kernel is defined: the cell's name; a line from its first decorator to its `def`."""

    cell: str
    line: int


@dataclass(frozen=True)
class _Definition:
    id: KernelId
    node: ast.FunctionDef
    text: str


class KernelLibrary:
    """The kernels of a notebook's cells, each vetted when it is first asked for.

    cells: (name, text) of every code cell in the order in which they ran.
    """

    def __init__(self, cells: Iterable[tuple[str, str]], refused: frozenset[str] = frozenset()):
        self._refused = refused
        self._definitions: dict[KernelId, _Definition] = {}
        self._latest: dict[str, _Definition] = {}
        self._constants: dict[str, str] = {}
        self._imports: dict[str, str] = {}
        self._made: dict[KernelId, Any] = {}
        self._modules: dict[str, KernelLibrary] = {}
        for name, text in cells:
            self._read(name, text)

    def _read(self, cell: str, text: str) -> None:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # the candidate reports that this cell does not run
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _is_jit(node):
                segment = ast.get_source_segment(text, node, padded=True) or ""
                first = min(decorator.lineno for decorator in node.decorator_list)
                found = _Definition(KernelId(cell, first), node, textwrap.dedent(segment))
                # Compiler and interpreter disagree on which line a function starts.
                for line in range(first, node.lineno + 1):
                    self._definitions[KernelId(cell, line)] = found
                self._latest[node.name] = found
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._read_import(node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._constants[target.id] = ast.unparse(node.value)

    def _read_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name, module = alias.asname or alias.name.split(".")[0], alias.name
                if alias.asname is None:
                    module = name
                line = f"import {module} as {name}"
            else:
                if node.level:
                    continue
                name, module = alias.asname or alias.name, node.module or ""
                line = f"from {module} import {alias.name} as {name}"
            known = module.split(".")[0] in ("triton", "math") and alias.name != "*"
            if known or f"{module}.{alias.name}" in COURSE_FUNCTIONS:
                self._imports[name] = line

    def add_module(self, name: str, text: str, refused: frozenset[str]) -> None:
        """Know the kernels of a module of the course's own, but for those named in `refused`."""
        self._modules.setdefault(name, KernelLibrary([(name, text)], refused))

    def get(self, id: KernelId) -> Any:
        """The jitted kernel at `id`, ready to launch. Raises Refused."""
        if id.cell in self._modules:
            return self._modules[id.cell].get(id)
        if id not in self._made:
            self._made[id] = self._make(id)
        return self._made[id]

    def name(self, id: KernelId) -> str:
        """The name of the kernel at `id`, which `get` has vetted."""
        if id.cell in self._modules:
            return self._modules[id.cell].name(id)
        return self._definitions[id].node.name

    def source(self, id: KernelId) -> str:
        """The text of a file that defines the kernel at `id`, its helpers and constants."""
        if id.cell in self._modules:
            return self._modules[id.cell].source(id)
        if id not in self._definitions:
            raise Refused("no-kernel-launched", "A kernel was launched that no cell defines.")
        root = self._definitions[id]
        if root.node.name in self._refused:
            raise Refused(
                "no-kernel-launched", "The kernel is the course's solution, not one of yours."
            )
        functions: dict[str, _Definition] = {root.node.name: root}
        constants: dict[str, str] = {}
        imports: dict[str, str] = {}
        waiting = [root]
        while waiting:
            for name in _free_names(waiting.pop().node):
                if name in functions or name in constants or name in imports:
                    continue
                if name in self._latest:
                    functions[name] = self._latest[name]
                    waiting.append(self._latest[name])
                elif name in self._imports:
                    imports[name] = self._imports[name]
                elif name in self._constants:
                    self._need_constants(name, constants, imports)
                elif name not in BUILTINS:
                    raise Refused(
                        "raised", f"The kernel uses {name}, which no cell above the check defines."
                    )
        parts = ["import triton", *sorted(imports.values())]
        parts += [f"{name} = {value}" for name, value in constants.items()]
        helpers = [f for f in functions.values() if f is not root]
        for definition in [*helpers, root]:
            parts.append(f"\n\n{_jit_line(definition.node)}\n{definition.text}")
        return "\n".join(parts) + "\n"

    def _need_constants(
        self, name: str, constants: dict[str, str], imports: dict[str, str]
    ) -> None:
        text = self._constants[name]
        for inner in sorted({n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}):
            if inner in self._imports:
                imports[inner] = self._imports[inner]
            elif inner in self._constants and inner not in constants and inner != name:
                self._need_constants(inner, constants, imports)
        constants[name] = text

    def _make(self, id: KernelId) -> Any:
        text = self.source(id)
        name = self._definitions[id].node.name
        tree = ast.parse(text)
        vet(tree)
        filename = f"<kernels of {id.cell}, line {id.line}>"
        # Triton reads a kernel's source through linecache; the entry without a time stamp stays.
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        module = ModuleType(f"_submitted_{abs(hash(id)):x}")
        module.__file__ = filename
        exec(compile(tree, filename, "exec"), vars(module))
        return getattr(module, name)


def _is_jit(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(target) in ("triton.jit", "jit", "triton.runtime.jit"):
            return True
    return False


def _jit_line(node: ast.FunctionDef) -> str:
    """The decorator line of a kernel: `triton.jit` with its literal options, no other decorator.

    What `autotune` and `heuristics` chose is in the recorded launch already.
    """
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("jit"):
            options = [
                f"{k.arg}={ast.unparse(k.value)}"
                for k in decorator.keywords
                if k.arg and is_literal(k.value)
            ]
            if options:
                return f"@triton.jit({', '.join(options)})"
    return "@triton.jit"


def _free_names(node: ast.FunctionDef) -> list[str]:
    """Names that the function reads and does not bind itself."""
    bound = bound_names(node)
    outside = [n.id for n in walk_signature(node) if isinstance(n, ast.Name)]
    inside = [n.id for n in walk_body(node) if isinstance(n, ast.Name) and n.id not in bound]
    return list(dict.fromkeys([*outside, *inside]))
