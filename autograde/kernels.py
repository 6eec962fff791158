"""Take Triton kernels, and nothing else, out of submitted source.

The checker runs a submission's kernels itself, so that what they read and write needs no witness.
It therefore runs only code that passes `tritonbook.checking.language`: kernels whose text holds
nothing but Triton's own language. What the names in them mean the candidate tells as data: numbers,
dotted names of the language, other kernels of the submission. The rules are an allow list: what is
not named is refused. Everything else a submission contains stays in the candidate's process.
"""

from __future__ import annotations

import ast
import json
import linecache
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tritonbook.checking.kernel_text import definitions, module_text
from tritonbook.checking.language import Refused

MAX_DEPTH = 20  # helpers of helpers on a tape


@dataclass(frozen=True)
class KernelId:
    """A kernel of a tape: where it is defined, and what its names mean as the candidate tells it.

    cell: the cell's name, or a module's. line: one from its first decorator to its `def`. told:
    JSON of the rest of `meanings.place`, with cells for files.
    """

    cell: str
    line: int
    told: str = "[{}, {}, {}]"


def kernel_id(place: Any, cell_of_file: Callable[[str], str | None]) -> KernelId:
    """The kernel that a tape names, as `meanings.place` told it. Raises Refused, ValueError."""
    cell, line, *rest = _checked(place, cell_of_file, 0)
    return KernelId(cell, line, json.dumps(rest, sort_keys=True))


def _checked(place: Any, cell_of_file: Callable[[str], str | None], depth: int) -> list[Any]:
    """A place with cells for files, its shape held against that of `meanings.place`."""
    if not (isinstance(place, list) and len(place) == 5) or depth > MAX_DEPTH:
        raise ValueError("not a kernel")
    file, line, meanings, helpers, signature = place
    if not all(isinstance(part, dict) for part in (meanings, helpers, signature)):
        raise ValueError("not a kernel")
    if not all(isinstance(part, list) and len(part) == 2 for part in signature.values()):
        raise ValueError("not a kernel's signature")
    cell = cell_of_file(file) if isinstance(file, str) else None
    if cell is None or type(line) is not int:
        raise Refused(
            "no-kernel-launched",
            "The kernel that was launched is not one that the notebook defines.",
        )
    inner = {name: _checked(told, cell_of_file, depth + 1) for name, told in helpers.items()}
    return [cell, line, meanings, inner, signature]


class KernelLibrary:
    """The kernels of a notebook's cells, each vetted when it is first asked for.

    cells: (name, text) of every code cell in the order in which they ran. refused: names of kernels
    that are no answer.
    """

    def __init__(self, cells: Iterable[tuple[str, str]], refused: frozenset[str] = frozenset()):
        self._refused = refused
        self._texts = dict(cells)
        self._definitions = {name: definitions(text) for name, text in self._texts.items()}
        self._made: dict[KernelId, Any] = {}
        self._modules: dict[str, KernelLibrary] = {}

    def add_module(self, name: str, text: str, refused: frozenset[str]) -> None:
        """Know the kernels of a module of the course's own, but for those named in `refused`."""
        self._modules.setdefault(name, KernelLibrary([(name, text)], refused))

    def get(self, id: KernelId) -> Any:
        """The jitted kernel at `id`, ready to launch. Raises Refused."""
        if id not in self._made:
            self._made[id] = self._make(id)
        return self._made[id]

    def name(self, id: KernelId) -> str:
        """The name of the kernel at `id`."""
        return self._find(id.cell, id.line)[1].name

    def source(self, id: KernelId) -> str:
        """The text of a file that defines the kernel at `id`, its helpers and constants."""
        return module_text([id.cell, id.line, *json.loads(id.told)], self._find)

    def _find(self, cell: str, line: int) -> tuple[str, ast.FunctionDef]:
        """The text of a cell and the function at a line of it. Raises Refused."""
        home = self._modules.get(cell, self)
        node = home._definitions.get(cell, {}).get(line)
        if node is None:
            raise Refused("no-kernel-launched", "A kernel was launched that no cell defines.")
        if node.name in home._refused:
            raise Refused(
                "no-kernel-launched", "The kernel is the course's solution, not one of yours."
            )
        return home._texts[cell], node

    def _make(self, id: KernelId) -> Any:
        text, name = self.source(id), self.name(id)
        filename = f"<kernel {len(self._made)} of {id.cell}, line {id.line}>"
        # Triton reads a kernel's source through linecache; the entry without a time stamp stays.
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        module = ModuleType(f"_submitted_{abs(hash(id)):x}")
        module.__file__ = filename
        # `vet` saw the tree of this very text.
        exec(compile(text, filename, "exec", dont_inherit=True), vars(module))
        return getattr(module, name)
