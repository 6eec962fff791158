"""What a kernel's text shows, where the compiler's words or the values name no cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

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
    detail = finding.detail or finding.sentence
    return Finding("does-not-compile", slip(kernels) or _NO_WORDS, detail)


def slip(kernels: Iterable[Callable[..., Any]]) -> str | None:
    """One sentence for the first slip in the kernels' texts, or None."""
    trees = [parsed(kernel) for kernel in kernels]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Return) and node.value is not None:
            return f"A kernel returns nothing, and `{ast.unparse(node)}` does. Use `tl.store`."
        if said := _truth_of_tiles(node) or _one_address(node):
            return said
    return None


def truth_of_tiles(kernels: Iterable[Callable[..., Any]]) -> str | None:
    """One sentence where a mask is made with Python's `and`, `or` or `not`, or None."""
    nodes = (node for kernel in kernels for node in ast.walk(parsed(kernel)))
    return next((said for node in nodes if (said := _truth_of_tiles(node))), None)


def added_stride(kernels: Iterable[Callable[..., Any]]) -> str:
    """A question, where an address has a stride added to it that nothing multiplies; or nothing."""
    for node in (node for kernel in kernels for node in ast.walk(parsed(kernel))):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        for side in (node.left, node.right):
            if isinstance(side, ast.Name) and side.id.startswith("stride_"):
                return f" `{side.id}` is added to an address: is an index to multiply it?"
    return ""


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
