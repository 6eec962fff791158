"""What may run in the checker: Triton's language passes, every way out of it is refused."""

from __future__ import annotations

import ast

import pytest
import torch

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.kernels import KernelId, KernelLibrary
from autograde.language import Refused, vet
from tritonbook.course.exercises import exercises

HEAD = "import triton\nimport triton.language as tl\nimport math\n\n\n"


def _library(
    body: str, before: str = "", arguments: str = "x_ptr, B: tl.constexpr"
) -> KernelLibrary:
    lines = "\n".join("    " + line for line in body.splitlines())
    text = f"{HEAD}{before}\n@triton.jit\ndef kernel({arguments}):\n{lines}\n"
    return KernelLibrary([("cell", text)])


def _only(library: KernelLibrary) -> object:
    return library.get(next(id for id in library._definitions if _named(library, id, "kernel")))


def _named(library: KernelLibrary, id: KernelId, name: str) -> bool:
    return library.name(id) == name


@pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.slug)
def test_every_kernel_of_the_course_passes(exercise) -> None:
    """Kills: a rule that refuses honest Triton. (Below the last check nothing is graded.)"""
    last = max(n for n, cell in enumerate(exercise.cells) if cell.role == "check")
    cells = [
        (f"cell-{number}", cell.source)
        for number, cell in enumerate(exercise.cells[:last])
        if cell.kind == "code" and cell.role != "check"
    ]
    library = KernelLibrary(cells)
    for id in library._definitions:
        library.get(id)


@pytest.mark.parametrize(
    "body",
    [
        "sum = tl.load(x_ptr)\ntl.store(x_ptr, sum)",  # a variable may be called like a builtin
        "for i in range(0, B):\n    tl.store(x_ptr + i, i)",
        "x = tl.load(x_ptr, mask=x_ptr != None)\ntl.store(x_ptr, x.to(x_ptr.dtype.element_ty))",
        "tl.static_assert(B > 0, f'B is {B}')",
        "tl.store(x_ptr, tl.math.exp(1.0) + math.pi)",
        "a, b = tl.split(tl.zeros((B, 2), tl.float32))\ntl.device_print('a', a)",
        "tl.store(x_ptr, libdevice.tanh(tl.load(x_ptr)) + tl.extra.cuda.libdevice.exp(1.0))",
        "x = tl.make_tensor_descriptor(x_ptr, [B], [1], [16])\nx.store([0], x.load([0]) + 1)",
    ],
)
def test_honest_constructs_pass(body: str) -> None:
    """Kills: a rule that is stricter than the language."""
    _only(_library(body, LIBDEVICE))


def test_a_function_of_the_course_passes() -> None:
    """Kills: an answer to notebook 13 that is refused for what its own page imports."""
    before = "from tritonbook.cooperative import arrival_counters, wait_for_all\n"
    _only(_library("wait_for_all(x_ptr, 1)", before))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("from tritonbook.cooperative import wait_for_all\n", "wait_for_all.fn.__globals__"),
        ("from tritonbook.cooperative import wait_for_all\n", "wait_for_all.fn"),
        ("from tritonbook.cooperative import wait_for_all\n", "f = wait_for_all\nf.src"),
        ("from tritonbook.cooperative import arrival_counters\n", "arrival_counters(x_ptr, 1, 1)"),
        ("from tritonbook.cooperative import torch\n", "torch.load('x')"),
        ("from tritonbook import cooperative\n", "cooperative.torch.load('x')"),
        ("import tritonbook.cooperative as c\n", "c.wait_for_all(x_ptr, 1)"),
        ("from tritonbook.cooperative import *\n", "arrival_counters(x_ptr, 1, 1)"),
    ],
)
def test_nothing_else_of_the_course_is_reached(before: str, body: str) -> None:
    """Kills: the way from one allowed function to the module around it."""
    with pytest.raises(Refused):
        _only(_library(body, before))


LIBDEVICE = "from triton.language.extra.cuda import libdevice\n"
ESCAPES = {
    "import": "import os",
    "dunder attribute": "x_ptr.__class__",
    "dunder name": "__import__('os')",
    "open": "open('/etc/passwd')",
    "eval": "eval('1')",
    "getattr": "getattr(x_ptr, 'handle')",
    "tensor handle": "x = tl.load(x_ptr)\nx.handle",
    "handle data": "tl.load(x_ptr).handle.data.tofile('x')",
    "handle of a descriptor": "tl.make_tensor_descriptor(x_ptr, [B], [1], [16]).handle",
    "module of a module": "tl.core.sys.modules",
    "private": "tl.core._unwrap_if_constexpr(B)",
    "format": "'{0.__class__}'.format(B)",
    "lambda": "(lambda: 0)()",
    "try": "try:\n    pass\nexcept Exception:\n    pass",
    "with": "with x_ptr:\n    pass",
    "comprehension": "[i for i in range(3)]",
    "inline asm": "tl.inline_asm_elementwise('', '', [], tl.int32, True, 1)",
    "triton module": "triton.runtime.driver",
    "module as a value": "m = tl\nm.core",
    "numpy of the interpreter": "np.save('x', 0)",
    "inspect of the interpreter": "inspect.currentframe()",
    "global": "global y\ny = 1",
    "nested function": "def f():\n    pass",
    "walrus": "(y := 3)",
    "alias rebound": "tl = 3",
    "math loads": "math.__loader__",
    "another meaning for the checker's math": "math.sqrt = math.exp",
    "a loop over an attribute": "for math.pi in range(3):\n    pass",
    "an attribute added to": "tl.cdiv += 1",
    "typing in tl.math": "tl.math.wraps(tl.load)",
    "a library's modules": "libdevice.core.builtins.exec('')",
    "inline asm through a library": (
        "libdevice.core.inline_asm_elementwise('', '', [], tl.int32, True, 1)"
    ),
}


@pytest.mark.parametrize("body", ESCAPES.values(), ids=ESCAPES)
def test_escapes_are_refused(body: str) -> None:
    """Kills: each way from a kernel's text to Python in the checker's process."""
    with pytest.raises(Refused):
        _only(_library(body, LIBDEVICE))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("from triton.language.extra.cuda.libdevice import core", "core.builtins.exec('')"),
        ("from triton.language.math import core", "core.builtins.exec('')"),
        ("K = __import__('os').getpid()", "tl.store(x_ptr, K)"),
        ("from os import system as cdiv", "cdiv('id')"),
        ("import os as tl2", "tl2.getpid()"),
        ("def helper():\n    return 1\n", "helper()"),
        ("K = [c for c in ().__class__.__mro__]", "tl.store(x_ptr, K)"),
    ],
)
def test_escapes_through_globals_are_refused(before: str, body: str) -> None:
    """Kills: a constant, an import or a plain function that carries code into the checker."""
    with pytest.raises(Refused):
        _only(_library(body, before))


def test_defaults_and_annotations_are_vetted() -> None:
    """Kills: code that runs when the kernel is defined."""
    for arguments in ("x_ptr, B=open('/tmp/x', 'w')", "x_ptr: __import__('os'), B: tl.constexpr"):
        with pytest.raises(Refused):
            _only(_library("pass", arguments=arguments))
    # A name that the body binds is local there, and Python's own in a default.
    for arguments in ("x_ptr, B=exec('')", "x_ptr: exec(''), B: tl.constexpr"):
        with pytest.raises(Refused):
            _only(_library("exec = 1", arguments=arguments))
        with pytest.raises(Refused):
            vet(ast.parse(f"@triton.jit\ndef kernel({arguments}):\n    exec = 1\n"))


def test_other_decorators_are_left_out() -> None:
    """Kills: a decorator of the student's that runs in the checker."""
    text = (
        HEAD + "@open\n@triton.jit(do_not_specialize=['n'], debug=open)\ndef kernel(n):\n    pass\n"
    )
    library = KernelLibrary([("cell", text)])
    source = library.source(KernelId("cell", 6))
    assert "open" not in source
    assert "do_not_specialize=['n']" in source


@pytest.mark.parametrize("decorator", ["open", "triton.jit(debug=open('x'))", "triton.autotune"])
def test_no_other_decorator_is_vetted(decorator: str) -> None:
    """Kills: a decorator that runs in the checker because only the function below it was read."""
    with pytest.raises(Refused, match="decorator"):
        vet(ast.parse(f"@{decorator}\ndef kernel(n):\n    pass\n"))
    vet(ast.parse("@triton.jit(do_not_specialize=['n'])\ndef kernel(n):\n    pass\n"))


def test_helpers_and_constants_come_along() -> None:
    """Kills: a kernel that is cut off from what it needs, or gets an older version of it."""
    old = "@triton.jit\ndef twice(v):\n    return v * 3.0\n"
    new = "@triton.jit\ndef twice(v):\n    return v * SCALE\n\n\nSCALE = tl.constexpr(2.0)\n"
    cells = [
        ("one", HEAD + old),
        ("two", HEAD + new),
        ("three", HEAD + "@triton.jit\ndef kernel(p):\n    tl.store(p, twice(tl.load(p)))\n"),
    ]
    kernel = KernelLibrary(cells).get(KernelId("three", 6))
    value = torch.tensor([4.0])
    kernel[(1,)](value)
    assert value.item() == 8.0


def test_a_solution_of_the_course_is_not_an_answer() -> None:
    """Kills: `double = reference("double")` accepted as the student's own kernel."""
    library = KernelLibrary([])
    text = HEAD + "@triton.jit\ndef kernel(p):\n    tl.store(p, 1.0)\n"
    library.add_module("90_x", text, frozenset({"kernel"}))
    with pytest.raises(Refused, match="solution"):
        library.get(KernelId("90_x", 6))
    library.add_module("05_y", text, frozenset())
    library.get(KernelId("05_y", 6))
