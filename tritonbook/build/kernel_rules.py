"""Rules for the inside of Triton kernels: names and width."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..course.gaps import is_kernel

KERNEL_WIDTH = 88
GLUON_WIDTH = 100  # its names are long
_ACCESS = re.compile(r"tl\.(load|store|atomic_\w+)")

Problem = tuple[int, str, str]  # line (here: in the cell, from 1), problem, mend


def problems(tree: ast.Module, text: str) -> Iterator[Problem]:
    """What is wrong in the kernels of one cell."""
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and is_kernel(node):
            yield from _names(node)
            yield from _pointers(node)
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
    for call in ast.walk(kernel):
        if not (isinstance(call, ast.Call) and _ACCESS.fullmatch(ast.unparse(call.func))):
            continue
        base = call.args[0] if call.args else None
        while isinstance(base, ast.BinOp):
            base = base.left
        if isinstance(base, ast.Name) and base.id in arguments and not base.id.endswith("_ptr"):
            problem = f"the pointer argument {base.id!r} does not end in '_ptr'"
            yield call.lineno, problem, f"call it '{base.id.removesuffix('_pointer')}_ptr'"
