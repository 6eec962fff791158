"""Rules for the inside of Triton kernels: names, width, masked loads that reach a reduction."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..course.gaps import is_kernel

KERNEL_WIDTH = 88
GLUON_WIDTH = 100  # its names are long
_ACCESS = {"load", "store"}
_REDUCTIONS = {"sum", "max", "min", "argmax", "argmin", "dot", "reduce", "softmax", "cumsum"}

Problem = tuple[int, str, str]  # line in the cell (from 1), problem, mend


def problems(tree: ast.Module, text: str) -> Iterator[Problem]:
    """What is wrong in the kernels of one cell."""
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and is_kernel(node):
            yield from _names(node)
            yield from _pointers(node)
            yield from _unfilled_reductions(node)
            gluon = any(ast.unparse(each) == "gluon.jit" for each in node.decorator_list)
            width = GLUON_WIDTH if gluon else KERNEL_WIDTH
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                if len(lines[number - 1]) > width:
                    problem = f"a kernel's line has {len(lines[number - 1])} characters"
                    yield number, problem, f"break it at {width}"


def _is_constexpr(argument: ast.arg) -> bool:
    return argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)


def _names(kernel: ast.FunctionDef) -> Iterator[Problem]:
    for argument in [*kernel.args.args, *kernel.args.kwonlyargs]:
        name = argument.arg
        if _is_constexpr(argument) and name != name.upper():
            problem = f"the constexpr argument {name!r} is not in capitals"
            yield argument.lineno, problem, f"call it {name.upper()!r}"
        if not _is_constexpr(argument) and re.fullmatch(r"[A-Z][A-Z0-9_]{2,}", name):
            problem = f"{name!r} is in capitals but no constexpr"
            yield argument.lineno, problem, "annotate it tl.constexpr or use lower case"
        if "stride" in name and not name.startswith("stride_") and not _is_constexpr(argument):
            problem = f"the stride {name!r} is not named by tensor and dimension"
            yield argument.lineno, problem, "call it as in 'stride_xm'"


def _pointers(kernel: ast.FunctionDef) -> Iterator[Problem]:
    """An argument that is the base of an address ends in `_ptr`."""
    arguments = {argument.arg for argument in kernel.args.args}
    for call in _tl_calls(kernel):
        if call.func.attr not in _ACCESS and not call.func.attr.startswith("atomic_"):
            continue
        base = call.args[0] if call.args else None
        while isinstance(base, ast.BinOp):
            base = base.left
        if isinstance(base, ast.Name) and base.id in arguments and not base.id.endswith("_ptr"):
            problem = f"the pointer argument {base.id!r} does not end in '_ptr'"
            yield call.lineno, problem, f"call it '{base.id.removesuffix('_pointer')}_ptr'"


def _unfilled_reductions(kernel: ast.FunctionDef) -> Iterator[Problem]:
    """A masked load without `other=` whose value reaches a reduction unguarded by `tl.where`."""
    loose: dict[str, int] = {}  # variable -> line of the load
    for statement in _statements(kernel):
        for call in _tl_calls(statement):
            if call.func.attr in _REDUCTIONS:
                for argument in call.args:
                    line = _loose_line(argument, loose)
                    if line:
                        problem = f"a masked load without other= reaches tl.{call.func.attr}"
                        yield line, problem, "give the value that leaves the result unchanged"
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            line = _loose_line(statement.value, loose)
            if line:
                loose[statement.targets[0].id] = line
            else:
                loose.pop(statement.targets[0].id, None)


def _statements(kernel: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The simple statements of a kernel in the order of its lines."""
    simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
    found = [node for node in ast.walk(kernel) if isinstance(node, simple)]
    return iter(sorted(found, key=lambda node: node.lineno))


def _loose_line(value: ast.expr, loose: dict[str, int]) -> int | None:
    """The line of an unfilled load that `value` depends on, if any."""
    if isinstance(value, ast.Call) and _tl_name(value) == "where":
        return None
    if isinstance(value, ast.Call) and _tl_name(value) == "load":
        given = {keyword.arg for keyword in value.keywords}
        return value.lineno if "mask" in given and "other" not in given else None
    if isinstance(value, ast.Call) and _tl_name(value) in _REDUCTIONS:
        return None  # reported where the reduction stands, not again after it
    if isinstance(value, ast.Name):
        return loose.get(value.id)
    for child in ast.iter_child_nodes(value):
        if isinstance(child, ast.expr):
            line = _loose_line(child, loose)
            if line:
                return line
    return None


def _tl_calls(node: ast.AST) -> Iterator[ast.Call]:
    return (call for call in ast.walk(node) if isinstance(call, ast.Call) and _tl_name(call))


def _tl_name(call: ast.Call) -> str | None:
    """`sum` for a call of `tl.sum`, None for any other call."""
    target = call.func
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return target.attr if target.value.id == "tl" else None
    return None
