"""Take Triton kernels, and nothing else, out of submitted source.

The grader runs a submission's kernels itself, so that what they read and write needs no witness: in
the interpreter in a process of their own (`engine.py`), on a GPU in the checker. It runs only code
that passes `tritonbook.language.allowed`: kernels whose text holds nothing but Triton's own
language. What the names in them mean the candidate tells as data: numbers, dotted names of the
language, other kernels of the submission. The rules are an allow list: what is not named is
refused.
Everything else a submission contains stays in the candidate's process.
"""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tritonbook.language.allowed import Refused
from tritonbook.language.kernel_text import definitions, module_text
from tritonbook.port import source_file
from tritonbook.words import later

from .tape import TapeError

MAX_DEPTH = 20  # helpers of helpers on a tape
_NOT_HERE = later("The kernel that was launched is not one that a cell defines: write it in one.")


@dataclass(frozen=True)
class KernelId:
    """A kernel of a tape: where it is defined, and what its names mean as the candidate tells it.

    cell: the cell's name, or a module's. line: one from its first decorator to its `def`. told:
    JSON of the meanings and the signature. helpers: the kernels that it calls, by name.
    """

    cell: str
    line: int
    told: str = "[{}, {}]"
    helpers: tuple[tuple[str, KernelId], ...] = ()


def kernel_id(place: Any, cell_of_file: Callable[[str], str | None], depth: int = 0) -> KernelId:
    """The kernel that a tape names, as `meanings.place` told it. Raises Refused, TapeError."""
    if not (isinstance(place, list) and len(place) == 5) or depth > MAX_DEPTH:
        raise TapeError("not a kernel")
    file, line, meanings, helpers, signature = place
    if not all(isinstance(part, dict) for part in (meanings, helpers, signature)):
        raise TapeError("not a kernel")
    if not all(isinstance(part, list) and len(part) == 2 for part in signature.values()):
        raise TapeError("not a kernel's signature")
    # The compile gate writes helpers' names into a program.
    if not all(is_name(name) and not name.startswith("__") for name in helpers):
        raise TapeError("not a kernel's names")
    cell = cell_of_file(file) if isinstance(file, str) else None
    if cell is None or type(line) is not int:
        raise Refused("no-kernel-launched", _NOT_HERE)
    inner = ((name, kernel_id(told, cell_of_file, depth + 1)) for name, told in helpers.items())
    told = json.dumps([meanings, signature], sort_keys=True)
    return KernelId(cell, line, told, tuple(inner))


def is_name(text: Any) -> bool:
    """Whether a program may hold it as a name, and nothing else is written with it."""
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


class KernelLibrary:
    """The kernels of a notebook's cells, each vetted when it is first asked for.

    cells: (name, text) of every code cell in the order in which they ran.
    """

    def __init__(self, cells: Iterable[tuple[str, str]]):
        self._texts: dict[str, str] = {}
        self._definitions: dict[str, dict[int, ast.FunctionDef]] = {}
        self._made: dict[KernelId, Any] = {}
        self._sources: dict[KernelId, str] = {}  # each compile gate asks for them again
        for name, text in cells:
            self.add_module(name, text)

    def add_module(self, name: str, text: str) -> None:
        """Know the kernels of a cell, or of a module that the course lends."""
        if name not in self._texts:
            self._texts[name], self._definitions[name] = text, definitions(text)

    def get(self, id: KernelId) -> Any:
        """The jitted kernel at `id`, ready to launch. Raises Refused."""
        if id not in self._made:
            text, name = self.source(id), self.name(id)
            helpers = {alias: self.get(helper) for alias, helper in id.helpers}
            filename = f"<kernel {len(self._made)} of {id.cell}, line {id.line}>"
            # The tree that was vetted is the tree of this very text.
            module = source_file.module_of(text, filename, f"_submitted_{abs(hash(id)):x}", helpers)
            self._made[id] = getattr(module, name)
        return self._made[id]

    def name(self, id: KernelId) -> str:
        """The name of the kernel at `id`."""
        return self._node(id).name

    def source(self, id: KernelId) -> str:
        """The text of a file that defines the kernel at `id`, without its helpers. Raises
        Refused."""
        if id not in self._sources:
            meanings, signature = json.loads(id.told)
            told = [id.cell, id.line, meanings, dict(id.helpers), signature]
            self._sources[id] = module_text(self._texts[id.cell], self._node(id), told)
        return self._sources[id]

    def _node(self, id: KernelId) -> ast.FunctionDef:
        node = self._definitions.get(id.cell, {}).get(id.line)
        if node is None:
            raise Refused("no-kernel-launched", _NOT_HERE)
        return node
