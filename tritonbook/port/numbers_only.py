"""What Python lets through in a kernel, and Triton's compiler refuses: functions of `math`, numpy
and torch, plain functions, plain globals.

The interpreter runs a kernel as Python. There `math.exp(-m)` of a number that was loaded gives a
result, even a wrong one (the number is cut to a whole one first), and `np.maximum(x, 0)` works on
tiles; a GPU's compiler refuses both. So the interpreter refuses them here, in the same words for a
cell that launches a kernel and for a check.

Numbers that are known before the launch stay free: `math.sqrt(BLOCK)`, `math.inf`, `np.pi`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any

import torch

from .plain_words import said_of_error, said_of_truth

_FOREIGN = ("numpy", "torch")
_OF_PYTHON = {"int": "int32", "float": "float32", "bool": "int1"}
# Functions of Python's that a kernel does not know, and that one tries there by mistake.
UNKNOWN = ("sum", "pow", "round", "divmod", "sorted", "all", "any", "enumerate", "zip", "map")
_OF_TRITON = ("cdiv", "next_power_of_2")
NAME = "_triton_numbers_only"  # what a kernel's globals call the guard below


class NotInAKernel(TypeError):
    """A kernel holds what has no place there. `where`: the line, as a card shows it."""

    def __init__(self, sentence: str, where: str):
        super().__init__(sentence)
        self.where = where


def refuse_foreign(fn: FunctionType, tree: ast.AST) -> None:
    """Raise NotInAKernel where a kernel calls or reads what the compiler does not know, and put a
    guard around what is for numbers alone. tree: the kernel as the interpreter is about to run it;
    it is changed."""
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    body = [*walk_body(function)]  # once: each kernel of each change that is tried comes by here
    inner = [node for node in body if isinstance(node, ast.FunctionDef)]
    # The interpreter begins at the last `def` that it finds.
    if inner or function.name != fn.__name__:
        last = (inner or [function])[-1]
        said = "A kernel cannot define a function. Define it above, under `@triton.jit`."
        raise NotInAKernel(said, f"in {fn.__name__}: def {last.name}(...)")
    names = {**vars(builtins), **fn.__globals__, **inspect.getclosurevars(fn).nonlocals}
    for name in bound_names(function, body):
        names.pop(name, None)
    for node in body:
        said = ""
        if isinstance(node, ast.Name):
            said = _said_of_global(node.id, names)
        elif isinstance(node, ast.Call):
            said = _said_of_call(node, names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            said = "A kernel cannot import. What it uses is imported above it, and comes from `tl`."
        if said:
            raise NotInAKernel(said, _line(fn, node))
        if isinstance(node, ast.Call) and _for_numbers(node.func, names):
            told = [ast.Constant(each) for each in (*_written(node), _line(fn, node))]
            guarded = ast.Call(ast.Name(NAME, ast.Load()), [node.func, *told], [])
            node.func = ast.fix_missing_locations(ast.copy_location(guarded, node.func))


class TruthOfATile(NotInAKernel):
    """A kernel asks Python whether a tile is true."""


def no_truth(interp: Any) -> None:
    """Let `if`, `and`, `or`, `not` refuse a tile, which they take for true in the interpreter.

    The compiler refuses `if` and `while` too; of `and` and `or` it makes `&` and `|`, and says that
    it will not for long. interp: the module `triton.runtime.interpreter`.
    """
    original = interp._patch_lang_tensor

    def patch(tensor: Any, *rest: Any) -> Any:
        result = original(tensor, *rest)
        of_one = tensor.__bool__

        def truth(self: Any) -> bool:
            if self.handle.data.size > 1:
                asks = sys._getframe(1)
                if "/triton/" not in asks.f_code.co_filename.replace("\\", "/"):
                    raise _truth_of_a_tile(asks)
            return bool(of_one(self))

        tensor.__bool__ = truth
        return result

    interp._patch_lang_tensor = patch


def _truth_of_a_tile(asks: FrameType) -> TruthOfATile:
    line = linecache.getline(asks.f_code.co_filename, asks.f_lineno).strip()
    where = f"line {asks.f_lineno}, in {asks.f_code.co_name}: {line}"
    said = said_of_truth(line)
    return TruthOfATile(
        said or "One truth value is needed, and a tile has many. Use `tl.where`, `&`, `|`, `~`.",
        where,
    )


def guard(function: Any, written: str, name: str, where: str) -> Any:
    """`function` for numbers alone: of a tile, or of what was loaded, it raises NotInAKernel."""
    import triton.language as tl

    def of_numbers(*values: Any, **options: Any) -> Any:
        if any(isinstance(value, tl.tensor) for value in (*values, *options.values())):
            raise NotInAKernel(
                f"`{written}`: `{name}` takes numbers that are known before the launch, and this "
                f"value is known only while the kernel runs. {_instead(name)}",
                where,
            )
        return function(*values, **options)

    return of_numbers


def bound_names(node: ast.FunctionDef, body: Iterable[ast.AST] = ()) -> set[str]:
    """Arguments, and names that are assigned anywhere in the function's body. body: its nodes,
    where they are known."""
    given = node.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    bound = {argument.arg for argument in found if argument}
    for inner in body or walk_body(node):
        if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            bound.add(inner.id)
    return bound


def walk_body(node: ast.FunctionDef) -> Iterable[ast.AST]:
    for statement in node.body:
        yield from ast.walk(statement)


def _called(func: ast.expr, names: dict[str, Any]) -> tuple[str, Any]:
    """The library that a dotted name comes from, and what it stands for there; None where it leads
    through something else than modules."""
    chain: list[str] = []
    while isinstance(func, ast.Attribute):
        chain.insert(0, func.attr)
        func = func.value
    found = names.get(func.id) if isinstance(func, ast.Name) else None
    library = getattr(found, "__name__" if chain else "__module__", None)
    if chain and not isinstance(found, ModuleType):
        return "", None
    for attribute in chain:
        found = getattr(found, attribute, None)
    return str(library).partition(".")[0], found


def _for_numbers(func: ast.expr, names: dict[str, Any]) -> bool:
    _, found = _called(func, names)
    if isinstance(func, ast.Name):
        return func.id in _OF_PYTHON and found is getattr(builtins, func.id)
    if not (isinstance(func, ast.Attribute) and callable(found)):
        return False
    if not isinstance(func.value, ast.Name):  # `triton.language.cdiv` is for kernels
        return False
    home = names[func.value.id].__name__
    return home == "math" or (home == "triton" and func.attr in _OF_TRITON)


def _said_of_call(node: ast.Call, names: dict[str, Any]) -> str:
    library, found = _called(node.func, names)
    of_triton = library == "triton" and type(found).__name__ != "dtype"  # as most calls are
    told = found is not None and not of_triton
    if told and (said := _said_of_function(node, library, found, names)):
        return said
    for value in (*node.args, *(keyword.value for keyword in node.keywords)):
        home, dtype = _called(value, names) if isinstance(value, ast.Attribute) else ("", None)
        foreign = type(dtype).__name__ == "dtype" if home == "torch" else isinstance(dtype, type)
        if home in _FOREIGN and foreign:
            right = f"tl.{ast.unparse(value).rpartition('.')[2]}"
            return f"A kernel takes dtypes from `tl`: `{right}`, not `{ast.unparse(value)}`."
    return ""


def _said_of_function(node: ast.Call, library: str, found: Any, names: dict[str, Any]) -> str:
    written, name = _written(node)
    if callable(found) and library in _FOREIGN:
        return f"`{written}`: a kernel cannot call `{name}`, which is Python's. {_instead(name)}"
    if callable(found) and library == "math" and isinstance(node.func, ast.Name):
        return (
            f"`{written}`: a kernel cannot call `{name}`, which is Python's. {_instead(name)} (Of "
            f"numbers that are known before the launch `math.{name}` may stand there.)"
        )
    if name in UNKNOWN and found is getattr(builtins, name):
        return f"`{written}`: Python's `{name}` is not known in a kernel. {_instead(name)}"
    if type(found).__name__ == "dtype" and library == "triton":
        return (
            f"`{written}`: `{name}` is a dtype and no function. Convert a tile with "
            f"`x.to({name})`, make one with `tl.full(shape, value, {name})`; a number needs "
            "neither."
        )
    if isinstance(found, FunctionType) and not library.startswith(("triton", "builtins")):
        for other, value in names.items():
            if getattr(value, "fn", None) is found:
                return (
                    f"The kernel calls {name}, a plain Python function. Call `{other}`: it is "
                    f"{name} for kernels."
                )
        if any(hasattr(found.__globals__.get(each), "fn") for each in found.__code__.co_names):
            return (
                f"The kernel calls {name}, which launches one, and no kernel can: write here what "
                f"{name}'s kernel computes."
            )
        return f"The kernel calls {name}, a plain Python function: put @triton.jit above it."
    return ""


def _said_of_global(name: str, names: dict[str, Any]) -> str:
    found = names.get(name)
    if isinstance(found, torch.Tensor):
        return (
            f"`{name}` gets no value in this kernel, and the notebook has a tensor of that name. "
            "Was what the kernel computes given another name? A tensor is passed as an argument."
        )
    if type(found) not in (bool, int, float, str) or name.startswith("__"):
        return ""
    return (
        f"A kernel cannot read the global `{name}`. Pass it as an argument, or set it as "
        f"`{name} = tl.constexpr({found!r})`. (`{name}: tl.constexpr = ...` is no more than a "
        "remark there.)"
    )


def _written(node: ast.Call) -> tuple[str, str]:
    """A call, and what it calls, as they stand in the kernel."""
    return ast.unparse(node), ast.unparse(node.func)


def _instead(name: str) -> str:
    """What to write in place of a function that a kernel cannot call."""
    import triton.language as tl

    last = name.rpartition(".")[2]
    if dtype := _OF_PYTHON.get(name):
        return f"Convert with `.to(tl.{dtype})`."
    if isinstance(getattr(tl, last, None), tl.dtype):
        return f"Write the number itself; `.to(tl.{last})` converts a tile."
    for home, place in (("tl", tl), ("tl.math", tl.math)):
        if callable(namesake := getattr(place, last, None)) and not isinstance(namesake, type):
            gluon = " (in Gluon `gl.cdiv`)" if last == "cdiv" else ""
            return f"Use `{home}.{last}`{gluon}."
    if last in _OF_TRITON:
        return "Compute it before the launch, and pass it."
    try:
        getattr(tl, last)
    except AttributeError as error:
        return said_of_error(error) or ""
    return ""


def _line(fn: FunctionType, node: Any) -> str:
    text = linecache.getline(fn.__code__.co_filename, node.lineno).strip()
    return f"line {node.lineno}, in {fn.__name__}: {text}"
