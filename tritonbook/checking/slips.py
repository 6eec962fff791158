"""What a kernel's text shows, where the compiler's words or the values name no cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..port.numbers_only import walk_body
from .diagnose import parsed
from .report import Finding

# The compiler's last words where it has none for the cause.
WORDLESS = re.compile(r"PassManager::run failed|error encountered during parsing")
_NO_WORDS = (
    "Triton's compiler fails on this kernel and gives no reason. Take lines of the kernel out "
    "until it compiles: the one that you took out last is the cause."
)


def put_into_words(finding: Finding, kernels: Iterable[Callable[..., Any]]) -> Finding:
    """The finding; where the compiler has no words for it, what the kernels' texts show."""
    if not WORDLESS.search(finding.sentence):
        return finding
    if said := slip(kernels):
        return Finding("does-not-compile", said)
    return Finding("does-not-compile", _NO_WORDS, finding.detail or finding.sentence)


def slip(kernels: Iterable[Callable[..., Any]]) -> str | None:
    """One sentence for the first slip in the kernels' texts, or None."""
    for node in _nodes(kernels):
        if isinstance(node, ast.Return) and node.value is not None:
            return f"A kernel returns nothing, and `{ast.unparse(node)}` does. Use `tl.store`."
        if said := _truth_of_tiles(node) or _one_address(node):
            return said
    return None


def truth_of_tiles(kernels: Iterable[Callable[..., Any]]) -> str | None:
    """One sentence where a mask is made with Python's `and`, `or` or `not`, or None."""
    return next((said for node in _nodes(kernels) if (said := _truth_of_tiles(node))), None)


def _nodes(kernels: Iterable[Callable[..., Any]]) -> Iterator[ast.AST]:
    return (node for kernel in kernels for node in ast.walk(parsed(kernel)))


def seen_in_addresses(kernels: Iterable[Callable[..., Any]]) -> str:
    """What is odd about strides and remainders in the kernels' texts, to be said after what is
    certain."""
    functions = [node for node in _nodes(kernels) if isinstance(node, ast.FunctionDef)]
    for look in (_unused_stride, _stride_of_another, _added_stride, _below_zero):
        if said := next((said for function in functions if (said := look(function))), ""):
            return f" {said}"
    return ""


def in_words_of_blocks(finding: Finding, kernels: Iterable[Callable[..., Any]]) -> Finding:
    """What a sentence asks of a mask, a kernel of block pointers alone has by another name."""
    calls = {ast.unparse(node.func) for node in _nodes(kernels) if isinstance(node, ast.Call)}
    named = {node.arg for node in _nodes(kernels) if isinstance(node, ast.keyword)}
    blocks = any(name.endswith("make_block_ptr") for name in calls) and "mask" not in named
    if not (blocks and re.search(r"\bmask", finding.sentence)):
        return finding
    said = "With block pointers a mask is `boundary_check=`, at each load and store."
    return replace(finding, sentence=f"{finding.sentence} {said}")


def _unused_stride(function: ast.FunctionDef) -> str:
    used = {node.id for node in walk_body(function) if isinstance(node, ast.Name)}
    idle = [name for name in _strides(function) if name not in used]
    return f"`{function.name}` takes `{idle[0]}`, and does nothing with it." if idle else ""


def _stride_of_another(function: ast.FunctionDef) -> str:
    """`b_ptr + offs * stride_ak`, where there is a `stride_bk`."""
    known = _strides(function)
    for node in walk_body(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        tensors = {name[:-4] for name in names if name.endswith("_ptr")}
        if len(tensors) != 1 or "_" in (tensor := tensors.pop()):
            continue
        its = (f"stride_{tensor}", f"stride_{tensor[0]}")
        others = [name for name in names if name in known and not name.startswith(its)]
        if others and any(name.startswith(its) for name in known):
            return f"`{others[0]}` stands beside `{tensor}_ptr`: is that stride another tensor's?"
    return ""


def _added_stride(function: ast.FunctionDef) -> str:
    for node in walk_body(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                if isinstance(side, ast.Name) and side.id in _strides(function):
                    return f"`{side.id}` is added to an address: is an index to multiply it?"
    return ""


def _below_zero(function: ast.FunctionDef) -> str:
    """`(i - 1) % n`, of which Python makes n - 1."""
    left = _left_of_loops(function)
    for node in walk_body(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mod, ast.FloorDiv))):
            continue
        if any(_may_be_below_zero(part, left) for part in ast.walk(node.left)):
            return (
                f"`{ast.unparse(node)}`: of a number below 0 a kernel makes what C makes, `-1 % n` "
                "is -1 and `-1 // n` is 0."
            )
    return ""


def _left_of_loops(function: ast.FunctionDef) -> set[str]:
    """`K - k` in a loop `for k in range(0, K, BLOCK_K)`: never below 0."""
    left = set()
    for node in walk_body(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and node.iter.args:
            end = node.iter.args[:2][-1]
            left.add(f"{ast.unparse(end)} - {ast.unparse(node.target)}")
    return left


def _may_be_below_zero(part: ast.AST, left: set[str]) -> bool:
    """What subtracts, but for `n + BLOCK - 1`, which rounds up, and what is left of a loop."""
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
        sum_of_two = isinstance(part.left, ast.BinOp) and isinstance(part.left.op, ast.Add)
        rounds_up = sum_of_two and ast.unparse(part.right) == "1"
        return not (rounds_up or ast.unparse(part) in left)
    return isinstance(part, ast.USub)


def _strides(function: ast.FunctionDef) -> list[str]:
    given = (*function.args.args, *function.args.kwonlyargs)
    return [argument.arg for argument in given if argument.arg.startswith("stride_")]


def _truth_of_tiles(node: ast.AST) -> str | None:
    if isinstance(node, ast.keyword):
        name = "mask" if node.arg == "mask" else ""
    else:
        name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
    value = getattr(node, "value", None)
    for part in ast.walk(value) if "mask" in name and isinstance(value, ast.AST) else ():
        if isinstance(part, ast.BoolOp):
            word, sign = ("and", "&") if isinstance(part.op, ast.And) else ("or", "|")
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            word, sign = "not", "~"
        else:
            continue
        return f"Python's `{word}` needs one truth value, and a mask has many: write `{sign}`."
    return None


def _one_address(node: ast.AST) -> str | None:
    """A tile of values for `out_ptr`, which is one address."""
    if not (isinstance(node, ast.Call) and len(node.args) > 1):
        return None
    name, where = ast.unparse(node.func), node.args[0]
    where_to = where.id if isinstance(where, ast.Name) and where.id.endswith("_ptr") else ""
    masked = any(keyword.arg == "mask" for keyword in node.keywords)
    if where_to and ".atomic_" in name and masked:
        return (
            f"`{name}({where_to}, ...)` has one address and a mask of many lanes. Add the offsets "
            "to the address, or reduce the tile to one number first."
        )
    if ".atomic_" in name:
        return (
            f"`{ast.unparse(node)}`: has it one address and a tile of values? Then add the offsets "
            "to the address, or reduce the tile to one number first."
        )
    return None
