"""Triton's language as a list of what is allowed: what is not named is refused.

In the interpreter a kernel is Python, and the grader runs it. So nothing may be in a kernel's text
that leads out of the language: to the checker's modules, to numpy behind a tensor, to another file.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Collection, Iterable
from types import FunctionType, ModuleType
from typing import Any

from ..port.numbers_only import UNKNOWN, bound_names, walk_body
from ..port.plain_words import said_of
from ..simulating.language import NAMES as GLUON

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
BUILTINS = ("range", "min", "max", "abs", "int", "float", "bool", "len", "print", "isinstance")
# And those that one tries in a kernel by mistake.
NAMESAKES = (*UNKNOWN, "list", "tuple", "set", "dict", "str", "reversed", "filter")
# Attributes of values in a kernel beside tl.tensor's own methods. `handle` and `data` are not here:
# in the interpreter they lead out of the language, to numpy.
_ATTRIBUTES = {"shape", "dtype", "type", "element_ty", "scalar", "value", "numel", "T"}
_ATTRIBUTES |= {"primitive_bitwidth", "itemsize"}
# Methods of tl.tensor_descriptor: the same as tl.load_tensor_descriptor and its like.
_OF_DESCRIPTORS = {"load", "store"}
# And of Gluon's shared memory and descriptors.
_OF_DESCRIPTORS |= {"index", "slice", "block_type", "layout", "nbytes", "nbytes_per_cta"}
# Part of triton.language, but a way out of it: PTX text, external libraries, Python objects.
_REFUSED = {"inline_asm_elementwise", "target_info", "extra", "map_elementwise"}
# Beside triton.language.math: only functions are taken from these, no module that they import.
_LIBRARIES = (
    "triton.language.extra.libdevice",
    "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice",
)
# Where Triton keeps what `triton.language` shows: the same objects under longer names.
_PARTS = ("triton.language.core", "triton.language.standard", "triton.language.random")
_TRITON = {"cdiv", "next_power_of_2"}
# Decorators of what the compiler calls as Python, and the interpreter too, on what it knows.
AT_COMPILE_TIME = ("triton.language.constexpr", "triton.constexpr_function")
GLUON_JIT = "tritonbook.kernels.gluon.gluon"  # Triton's `gluon.jit`, or the simulator's
# What kernels of the course call from its own package. Attributes of these are not the language.
COURSE_FUNCTIONS = {"tritonbook.kernels.cooperative.wait_for_all"}
_MATH = {"pi", "e", "inf", "nan", "sqrt", "log", "log2", "exp", "floor", "ceil", "tau"}


class Refused(Exception):
    """A kernel holds what Triton's language does not. `code` is the finding that it leads to."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


def vet(tree: ast.Module, helpers: frozenset[str] = frozenset()) -> None:
    """Check the very tree that will run. Raises Refused where it is more than kernels.

    helpers: names that the module gets from outside, each a kernel that was checked.
    """
    aliases: dict[str, str] = {}
    known = set(helpers)
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name
                module = node.module if isinstance(node, ast.ImportFrom) else None
                aliases[name] = f"{module}.{alias.name}" if module else alias.name
                allow_path(aliases[name])
        elif isinstance(node, ast.Assign):
            _vet_nodes(ast.walk(node.value), aliases, set())
            known |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.FunctionDef):
            _vet_function(node, aliases, known)
        else:
            raise Refused("policy", f"A {type(node).__name__} stands beside the kernels.")


def _vet_function(node: ast.FunctionDef, aliases: dict[str, str], known: set[str]) -> None:
    for decorator in node.decorator_list:
        options: list[ast.expr] = []
        name = decorator
        if isinstance(decorator, ast.Call):
            options = [*decorator.args, *(k.value for k in decorator.keywords)]
            name = decorator.func
        plain = ast.unparse(name) in ("triton.jit", "gluon.jit", *AT_COMPILE_TIME)
        if ast.unparse(name) in AT_COMPILE_TIME:
            _vet_at_compile_time(node)
        if not (plain and all(is_literal(option) for option in options)):
            raise Refused("policy", "Another decorator than triton.jit stands above the kernel.")
    if getattr(node, "type_params", None):  # from Python 3.12 on
        raise Refused("does-not-compile", "Triton's language has no type parameters.")
    # Defaults and annotations are evaluated where the function stands: no name in them is local.
    for part in (node.args, node.returns):
        if part is not None:
            _vet_nodes(ast.walk(part), aliases, set())
    # What stands above a kernel under a name of Python's is the kernel's own, not Python's.
    bound = bound_names(node)
    _vet_nodes(walk_body(node), aliases, bound, known - bound, node.lineno - 1)


def _vet_at_compile_time(node: ast.FunctionDef) -> None:
    """A few choices and a result: on a GPU it runs where the kernel is compiled."""
    for part in walk_body(node):
        if isinstance(part, (ast.For, ast.While)):
            sentence = f"{node.name} runs while the kernel is compiled: no loop may be in it."
            raise Refused("policy", sentence)
        if isinstance(part, ast.Name) and part.id == "print":
            sentence = f"{node.name} runs while the kernel is compiled, and cannot print."
            raise Refused("policy", sentence)


def is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _vet_nodes(
    nodes: Iterable[ast.AST],
    aliases: dict[str, str],
    bound: set[str],
    known: Collection[str] = frozenset(),
    above: int = 0,
) -> None:
    allowed = (*_STATEMENTS, *_EXPRESSIONS, *_SMALL)
    inner_of_chain: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Lambda):
            raise Refused("does-not-compile", said_of("unsupported AST node type: Lambda") or "")
        if not isinstance(node, allowed):
            raise Refused(
                "does-not-compile",
                f"Triton's language has no {_plain_name(node)} (line "
                f"{getattr(node, 'lineno', above) - above} of the kernel).",
            )
        if isinstance(node, ast.Name):
            _vet_name(node, aliases, bound, id(node) in inner_of_chain, known)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            # `math.sqrt = math.exp` would change the checker's own math.
            raise Refused("does-not-compile", "Triton's language cannot assign to an attribute.")
        elif isinstance(node, ast.Attribute) and id(node) not in inner_of_chain:
            _vet_attribute(node, aliases, inner_of_chain)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bytes, complex)):
            raise Refused("does-not-compile", "Triton's language has no such constant.")


def _plain_name(node: ast.AST) -> str:
    names = {
        ast.Try: "try",
        ast.With: "with",
        ast.ListComp: "list comprehension",
        ast.Import: "import",
        ast.ImportFrom: "import",
        ast.Raise: "raise",
        ast.Global: "global",
        ast.FunctionDef: "function inside a function",
        ast.Delete: "`del`",
        ast.NamedExpr: "`:=`",
        ast.Dict: "dictionary",
        ast.DictComp: "comprehension",
        ast.GeneratorExp: "comprehension",
        ast.SetComp: "comprehension",
    }
    return names.get(type(node), type(node).__name__)


def _vet_name(
    node: ast.Name, aliases: dict[str, str], bound: set[str], in_chain: bool, known: Collection[str]
) -> None:
    if node.id.startswith("__"):
        raise Refused("policy", f"The kernel uses {node.id}.")
    if node.id in bound:
        # Python makes a name that is bound anywhere in a function local to all of it, so a
        # variable called `sum` or `input` never reaches Python's own.
        if node.id in aliases:
            raise Refused("policy", f"The kernel gives {node.id} another meaning.")
        return
    allowed = {*BUILTINS, *aliases, *known}
    if hasattr(builtins, node.id) and node.id not in allowed:
        code = "does-not-compile" if node.id in NAMESAKES else "policy"
        raise Refused(code, f"The kernel uses Python's {node.id}, which Triton does not know.")
    if node.id in aliases and not in_chain and is_module(aliases[node.id]):
        raise Refused("policy", f"The kernel passes the module {node.id} around.")


def is_module(path: str) -> bool:
    return isinstance(_resolve(path), ModuleType)


def _resolve(path: str) -> Any:
    """The object that a dotted path names: a module, or something inside triton.language."""
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
        path = ".".join([aliases[value.id], *chain])
        if _is_missing(path):
            return
        allow_path(path)
        if is_module(path):
            raise Refused("policy", f"The kernel passes the module {path} around.")
    else:
        _allow_values(chain)


def _is_missing(path: str) -> bool:
    """Whether it is a public name that Triton's language does not have. Another version may: it is
    an error where it is read, and may stand in a branch that is never compiled."""
    owner, _, name = path.rpartition(".")
    return owner in ("triton.language", "triton.language.math") and not (
        name.startswith("_") or hasattr(_resolve(owner), name)
    )


def _allow_values(names: list[str]) -> None:
    import triton.language as tl

    for name in names:
        public = not name.startswith("_") and name not in ("handle", "data")
        tensor_method = public and hasattr(tl.tensor, name)
        dtype_method = public and name.startswith("is_") and hasattr(tl.dtype, name)
        if not (tensor_method or dtype_method or name in _ATTRIBUTES | _OF_DESCRIPTORS):
            code = "does-not-compile" if public else "policy"
            raise Refused(code, f"The kernel uses .{name}, which is not Triton's language.")


def allow_path(path: str) -> None:
    """Refuse a dotted name that leads out of Triton's language. Raises Refused."""
    import triton.language as tl

    if path in ("triton", "triton.language", "math"):
        return
    module, _, name = path.rpartition(".")
    if _is_dtype(module):
        return _allow_values([name])
    good = (
        (module == "triton" and name in _TRITON | {"jit", "language"})
        or (module == "math" and name in _MATH)
        or (module == "triton.language" and name in set(tl.__all__) - _REFUSED)
        or (path in (*_LIBRARIES, *_PARTS))
        or (module in _PARTS and _is_shown(path, name))
        or _is_member(path)
        or (path in GLUON or path == GLUON_JIT or name in GLUON.get(module, ()))
        or (path in COURSE_FUNCTIONS)
        or (module in (*_LIBRARIES, "triton.language.math") and _is_function(path))
    )
    if not good:
        if module == "triton.language" and not hasattr(tl, name):
            raise Refused("raised", f"AttributeError: triton.language has no {name!r}.")
        code = "does-not-compile" if path.partition(".")[0] in ("numpy", "torch") else "policy"
        raise Refused(code, f"The kernel uses {path}, which is not part of Triton's language.")


def _is_public(path: str) -> bool:
    import triton.language as tl

    package, _, name = path.rpartition(".")
    return package == "triton.language" and name in set(tl.__all__) - _REFUSED


def _is_dtype(path: str) -> bool:
    import triton.language as tl

    return _is_public(path) and isinstance(_resolve(path), tl.dtype)


def _is_shown(path: str, name: str) -> bool:
    """Whether a part of the language holds what the whole shows under the same name. By the name:
    the interpreter puts its own functions in the place of some, in one of the two."""
    part = _resolve(path) if _is_public(f"triton.language.{name}") else None
    return part is not None and not isinstance(part, ModuleType)


def _is_member(path: str) -> bool:
    """Whether it is a member of one of Triton's enums, such as `tl.PropagateNan.ALL`."""
    owner, _, name = path.rpartition(".")
    if not (_is_public(owner) or _is_public(owner.rpartition(".")[0])):
        return False
    kind = _resolve(owner)
    members = getattr(kind, "__members__", None) if isinstance(kind, type) else None
    return name in (members or ())


def _is_function(path: str) -> bool:
    """Whether a name in a library is a function of Triton's, not something that it imported."""
    if path.rpartition(".")[2].startswith("_"):
        return False
    found = _resolve(path)
    return isinstance(found, FunctionType) and found.__module__.startswith("triton.language.")
