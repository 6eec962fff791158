"""Take Triton kernels, and nothing else, out of submitted source.

The checker runs a submission's kernels itself, so that what they read and write needs no witness.
It therefore runs only code that passes here: functions decorated with `triton.jit` whose bodies
hold nothing but Triton's own language. The rules are an allow list: what is not named is refused.
Everything else a submission contains stays in the candidate's process.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_STATEMENTS = (
    ast.Expr,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.Return,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Assert,
)
_EXPRESSIONS = (
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.JoinedStr,
    ast.FormattedValue,
)
_SMALL = (
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
    ast.keyword,
    ast.arguments,
    ast.arg,
)
# Python's own functions that Triton's compiler knows.
_BUILTINS = ("range", "min", "max", "abs", "int", "float", "bool", "len", "print", "isinstance")
# Attributes of values in a kernel beside tl.tensor's own methods. `handle` and `data` are not here:
# in the interpreter they lead out of the language, to numpy.
_ATTRIBUTES = {"shape", "dtype", "type", "element_ty", "scalar", "value", "numel", "T"}
_ATTRIBUTES |= {"primitive_bitwidth", "itemsize"}
# Part of triton.language, but a way out of it: PTX text, external libraries, Python objects.
_REFUSED = {"inline_asm_elementwise", "target_info", "extra", "map_elementwise"}
_TRITON = {"cdiv", "next_power_of_2"}
_MATH = {"pi", "e", "inf", "nan", "sqrt", "log", "log2", "exp", "floor", "ceil", "tau"}


class Refused(Exception):
    """A kernel holds what Triton's language does not. `code` is the finding that it leads to."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


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
            root = module.split(".")[0]
            if root in ("triton", "math") and alias.name != "*":
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
                elif name not in _BUILTINS:
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
                if k.arg and _is_literal(k.value)
            ]
            if options:
                return f"@triton.jit({', '.join(options)})"
    return "@triton.jit"


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _free_names(node: ast.FunctionDef) -> list[str]:
    """Names that the function reads and does not bind itself."""
    bound = _bound_names(node)
    names = [inner.id for inner in _walk_function(node) if isinstance(inner, ast.Name)]
    return [name for name in dict.fromkeys(names) if name not in bound]


def _bound_names(node: ast.FunctionDef) -> set[str]:
    """Arguments, and names that are assigned anywhere in the function."""
    bound = {argument.arg for argument in _all_arguments(node.args)}
    for inner in _walk_function(node):
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            bound.add(inner.id)
    return bound


def _walk_function(node: ast.FunctionDef) -> Iterable[ast.AST]:
    """Everything in a function but its decorators, which are not kept."""
    for part in (node.args, node.returns, *node.body):
        if part is not None:
            yield from ast.walk(part)


def _all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return found + [extra for extra in (arguments.vararg, arguments.kwarg) if extra]


def vet(tree: ast.Module) -> None:
    """Check the very tree that will run. Raises Refused where it is more than kernels."""
    aliases: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name
                module = node.module if isinstance(node, ast.ImportFrom) else None
                aliases[name] = f"{module}.{alias.name}" if module else alias.name
                _allow_path(aliases[name])
        elif isinstance(node, ast.Assign):
            _vet_nodes(ast.walk(node.value), aliases, set())
        elif isinstance(node, ast.FunctionDef):
            _vet_nodes(_walk_function(node), aliases, _bound_names(node))
        else:
            raise Refused("policy", f"A {type(node).__name__} stands beside the kernels.")


def _vet_nodes(nodes: Iterable[ast.AST], aliases: dict[str, str], bound: set[str]) -> None:
    allowed = (*_STATEMENTS, *_EXPRESSIONS, *_SMALL)
    inner_of_chain: set[int] = set()
    for node in nodes:
        if not isinstance(node, allowed):
            raise Refused(
                "does-not-compile",
                f"Triton's language has no {_plain_name(node)} (line {getattr(node, 'lineno', 0)} "
                "of the kernel).",
            )
        if isinstance(node, ast.Name):
            _vet_name(node, aliases, bound, id(node) in inner_of_chain)
        elif isinstance(node, ast.Attribute) and id(node) not in inner_of_chain:
            _vet_attribute(node, aliases, inner_of_chain)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bytes, complex)):
            raise Refused("does-not-compile", "Triton's language has no such constant.")


def _plain_name(node: ast.AST) -> str:
    names = {
        ast.Try: "try",
        ast.With: "with",
        ast.Lambda: "lambda",
        ast.ListComp: "list comprehension",
        ast.Import: "import",
        ast.ImportFrom: "import",
        ast.Raise: "raise",
        ast.Global: "global",
        ast.FunctionDef: "function inside a function",
    }
    return next(
        (text for kind, text in names.items() if isinstance(node, kind)), type(node).__name__
    )


def _vet_name(node: ast.Name, aliases: dict[str, str], bound: set[str], in_chain: bool) -> None:
    if node.id.startswith("__"):
        raise Refused("policy", f"The kernel uses {node.id}.")
    if node.id in bound:
        # Python makes a name that is bound anywhere in a function local to all of it, so a
        # variable called `sum` or `input` never reaches Python's own.
        if node.id in aliases:
            raise Refused("policy", f"The kernel gives {node.id} another meaning.")
        return
    if hasattr(builtins, node.id) and node.id not in _BUILTINS:
        raise Refused("policy", f"The kernel uses Python's {node.id}.")
    if node.id in aliases and not in_chain and _is_module(aliases[node.id]):
        raise Refused("policy", f"The kernel passes the module {node.id} around.")


def _is_module(path: str) -> bool:
    return isinstance(_resolve(path), ModuleType)


def _resolve(path: str) -> Any:
    """The object that a dotted path names: a module, or something inside triton.language."""
    import importlib

    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        try:
            for name in parts[split:]:
                found = getattr(found, name)
        except AttributeError:
            break
        return found
    raise Refused("raised", f"There is no {path}.")


def _vet_attribute(node: ast.Attribute, aliases: dict[str, str], inner: set[int]) -> None:
    chain = [node.attr]
    value: ast.expr = node.value
    while isinstance(value, ast.Attribute):
        inner.add(id(value))
        chain.insert(0, value.attr)
        value = value.value
    if isinstance(value, ast.Name) and value.id in aliases:
        inner.add(id(value))
        root = aliases[value.id]
        for length in range(len(chain), 0, -1):
            path = ".".join([root, *chain[:length]])
            if length == len(chain) or _names_something(path):
                _allow_path(path)
                _allow_values(chain[length:])
                return
    _allow_values(chain)


def _names_something(path: str) -> bool:
    try:
        _resolve(path)
    except Refused:
        return False
    return True


def _allow_values(names: list[str]) -> None:
    import triton.language as tl

    for name in names:
        public = not name.startswith("_") and name not in ("handle", "data")
        tensor_method = public and hasattr(tl.tensor, name)
        dtype_method = public and name.startswith("is_") and hasattr(tl.dtype, name)
        if not (tensor_method or dtype_method or name in _ATTRIBUTES):
            raise Refused("policy", f"The kernel uses .{name}, which is not Triton's language.")


def _allow_path(path: str) -> None:
    """Refuse a dotted name that leads out of Triton's language. Raises Refused."""
    import triton.language as tl

    if path in ("triton", "triton.language", "math"):
        return
    module, _, name = path.rpartition(".")
    good = (
        (module == "triton" and name in _TRITON | {"jit", "language"})
        or (module == "math" and name in _MATH)
        or (module == "triton.language" and name in set(tl.__all__) - _REFUSED)
        or (module == "triton.language.math" and hasattr(tl, "math") and not name.startswith("_"))
        or (path.startswith("triton.language.extra") and _is_libdevice(path))
    )
    if module == "triton.language.math" and isinstance(_resolve(path), ModuleType):
        good = False
    if not good:
        if module == "triton.language" and not hasattr(tl, name):
            raise Refused("raised", f"AttributeError: triton.language has no {name!r}.")
        raise Refused("policy", f"The kernel uses {path}, which is not part of Triton's language.")


def _is_libdevice(path: str) -> bool:
    parts = path.split(".")[3:]
    public = not any(part.startswith("_") for part in parts)
    return public and parts[:1] in (["libdevice"], ["cuda"]) and parts != ["cuda", "utils"]
