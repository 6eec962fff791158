"""The table of findings has every code that is given, and no other."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tritonbook
from tritonbook.checking.codes import CODES

PACKAGE = Path(tritonbook.__file__).parent
GIVEN_BY = ("Finding", "Difference", "Fault", "Refused")


def trees() -> Iterator[ast.AST]:
    for path in [*PACKAGE.rglob("*.py"), *PACKAGE.with_name("autograde").rglob("*.py")]:
        if path.name != "codes.py":
            yield ast.parse(path.read_text(encoding="utf-8"))


def words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def given(node: ast.AST) -> ast.AST | None:
    """What stands for a code in a call that makes a finding, or in an assignment to `code`."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        if name == "CompileResult":
            return next((each.value for each in node.keywords if each.arg == "code"), None)
        at = 1 if name == "_told" else 0
        return node.args[at] if name in (*GIVEN_BY, "_told") and len(node.args) > at else None
    assigned = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "code"
    return node.value if assigned and isinstance(node.value, ast.IfExp) else None


def test_every_code_that_is_given_stands_in_the_table() -> None:
    """Kills: a finding that is about nothing, so that nobody who tells findings apart knows it."""
    found = [part for tree in trees() for node in ast.walk(tree) if (part := given(node))]
    sides = [[each.body, each.orelse] if isinstance(each, ast.IfExp) else [each] for each in found]
    codes = {each.value for side in sides for each in side if isinstance(each, ast.Constant)}
    assert len(codes) > 60
    assert codes - {"passed"} <= CODES.keys()


def test_every_code_of_the_table_is_given() -> None:
    """Kills: a row that is left when its finding has gone, or that a slip of the pen made."""
    said = {word for tree in trees() for word in words(tree)}
    assert CODES.keys() <= said
