"""What may run in the checker: Triton's language passes, every way out of it is refused."""

from __future__ import annotations

import ast
import json
import linecache
from typing import Any

import pytest
import torch
from test_gate import loaded

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.judge.player import LaunchRecord, laid_out
from autograde.walls.kernels import KernelId, KernelLibrary, kernel_id
from autograde.walls.tape import TapeError
from tritonbook.course.exercises import exercises, load
from tritonbook.language.allowed import Refused, vet
from tritonbook.language.meanings import kernel_function, place
from tritonbook.port import source_file

HEAD = "import triton\nimport triton.language as tl\nimport math\n\n\n"


def _text(body: str, before: str = "", arguments: str = "x_ptr, B: tl.constexpr") -> str:
    lines = "\n".join("    " + line for line in body.splitlines())
    return f"{HEAD}{before}\n@triton.jit\ndef kernel({arguments}):\n{lines}\n"


def _run(*cells: str) -> tuple[dict[str, Any], KernelLibrary]:
    """The names of cells after they ran, as in the candidate's process, and their kernels."""
    names: dict[str, Any] = {"__name__": "__main__"}
    files = {f"cell-{number}": text for number, text in enumerate(cells)}
    for file, text in files.items():
        source_file.remember(file, text)
        exec(compile(text, file, "exec", dont_inherit=True), names)
    return names, KernelLibrary(files.items())


def _id(told: list[Any]) -> KernelId:
    return kernel_id(json.loads(json.dumps(told)), lambda file: file)


def _only(text: str) -> Any:
    """The kernel of a cell, as the checker makes it again."""
    names, library = _run(text)
    return library.get(_id(place(names["kernel"].fn)))


@pytest.mark.parametrize("exercise", exercises(), ids=lambda exercise: exercise.slug)
def test_every_kernel_of_the_course_passes(exercise) -> None:
    """Kills: a rule that refuses honest Triton."""
    module = load(exercise)
    found = [(kernel_function(kernel), kernel) for kernel in vars(module).values()]
    kernels = [fn for fn, kernel in found if fn and "gluon" not in type(kernel).__module__]
    files = {module.__file__, *(fn.__code__.co_filename for fn in kernels)}  # one may be borrowed
    library = KernelLibrary([(file, "".join(linecache.getlines(file))) for file in sorted(files)])
    for fn in kernels:
        library.get(_id(place(fn)))


LIBDEVICE = "from triton.language.extra.cuda import libdevice\n"
COURSE = "from tritonbook.kernels.cooperative import arrival_counters, wait_for_all\n"


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
        "wait_for_all(x_ptr, 1)",  # what page 13 imports
    ],
)
def test_honest_constructs_pass(body: str) -> None:
    """Kills: a rule that is stricter than the language."""
    _only(_text(body, LIBDEVICE + COURSE))


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
    "a part of the language kept": "m = tl.core\nm.load(x_ptr)",
    "a part of a part": "tl.core.ir.module",
    "a member's class": "tl.PropagateNan.ALL.__class__",
    "what is no member": "tl.PropagateNan.mro()",
    "an enum's own": "tl.dtype.KIND.__members__",
    "a dtype's class": "tl.float32.__class__",
    "a name of the interpreter's, never compiled": "if B == 7:\n    ast.parse('1')",
    "a private name that is nowhere, never compiled": "if B == 7:\n    tl._loader",
    "Python's math, never compiled": "if B == 7:\n    math.gcd(B, 1)",
    "the guard of the interpreter": "_triton_numbers_only(max, '', '', '')",
    "numpy of the interpreter": "np.save('x', 0)",
    "inspect of the interpreter": "inspect.currentframe()",
    "global": "global y\ny = 1",
    "nested function": "def f():\n    pass",
    "walrus": "(y := 3)",
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


@pytest.mark.parametrize(
    ("before", "body"),
    [
        *(pytest.param(LIBDEVICE, body, id=name) for name, body in ESCAPES.items()),
        # From one allowed function of the course to the module around it.
        (COURSE, "wait_for_all.fn.__globals__"),
        (COURSE, "wait_for_all.fn"),
        (COURSE, "f = wait_for_all\nf.src"),
        (COURSE, "arrival_counters(x_ptr, 1, 1)"),
        ("from tritonbook.kernels.cooperative import torch", "torch.load('x')"),
        ("from tritonbook.kernels import cooperative", "cooperative.torch.load('x')"),
        ("import tritonbook.kernels.cooperative as c", "c.wait_for_all(x_ptr, 1)"),
        ("from tritonbook.kernels.cooperative import *", "arrival_counters(x_ptr, 1, 1)"),
        # From a library, an import, a plain function, a constant.
        ("from triton.language.extra.cuda.libdevice import core", "core.builtins.exec('')"),
        ("from triton.language.math import core", "core.builtins.exec('')"),
        ("from os import system as cdiv", "cdiv('id')"),
        ("import os as tl2", "tl2.getpid()"),
        ("def helper():\n    return 1\n", "helper()"),
        ("import os\n\n\n@tl.constexpr\ndef helper(n):\n    return os.getpid()\n", "helper(B)"),
        ("@tl.constexpr\ndef helper(n):\n    return n.__class__\n", "helper(B)"),
        ("@tl.constexpr\ndef helper(n):\n    return open('x')\n", "helper(B)"),
        ("@tl.constexpr\ndef helper(n):\n    print(n)\n", "helper(B)"),
        ("@tl.constexpr\ndef helper(n):\n    while n:\n        n = n\n", "helper(B)"),
        ("import os\nhelper = tl.constexpr(os.system)\n", "helper('id')"),
        ("K = [c for c in ().__class__.__mro__]", "tl.store(x_ptr, K)"),
    ],
)
def test_escapes_are_refused(before: str, body: str) -> None:
    """Kills: each way from a kernel's text to Python in the checker's process, and what a name
    brings with it there."""
    with pytest.raises(Refused):
        _only(_text(body, before))


def test_what_runs_around_a_kernel_comes_as_numbers() -> None:
    """Kills: code that runs in the checker when the kernel is defined: defaults, annotations,
    constants, decorators."""
    text = _text(
        "tl.store(x_ptr, K + B)",
        "import os\nK = tl.constexpr(os.getpid())\n\n\ndef plain(fn):\n    return fn\n\n\n@plain",
        "x_ptr: os.getcwd(), B: tl.constexpr = len('abc'), N: tl.int64 = int('7')",
    ).replace("@triton.jit", "@triton.jit(do_not_specialize=['N'], debug=bool(os))")
    names, library = _run(text)
    source = library.source(_id(place(names["kernel"].fn)))
    assert "os" not in source and "plain" not in source
    assert "@triton.jit(do_not_specialize=['N'])" in source
    assert "B: triton.language.constexpr=3, N: 'int64'=7" in source


def test_a_made_up_meaning_stays_data() -> None:
    """Kills: a candidate that tells the checker to import, to run or to overwrite something."""
    names, library = _run(_text("tl.store(x_ptr, K)", "K = tl.constexpr(1)\n"))
    file, line, meanings, helpers, signature = place(names["kernel"].fn)

    def source(told: dict[str, Any], helpers: Any = helpers, signature: Any = signature) -> str:
        return library.source(_id([file, line, meanings | told, helpers, signature]))

    assert "K = triton.language.constexpr(1)" in source({})
    for meaning in (
        {"path": "antigravity"},
        {"path": "os.system"},
        {"path": "triton.language\nimport os"},
        {"path": "triton.language.core.sys"},
        {"value": {"dtype": "core.sys.exit()"}},
        {"value": {"tuple": "open('/tmp/x')"}},
        {"value": 1 << 200},
        {"code": "1"},
        {"value": 1, "path": "math"},
        "1",
        None,
    ):
        with pytest.raises(Refused):
            source({"K": meaning})
    with pytest.raises(Refused):
        source({"tl": {"path": "triton"}, "triton": {"path": "math"}, "K": {"path": "os"}})
    for helper in ({"x y": []}, {"import": []}, {"__builtins__": []}, {"K": [1, 2]}):
        with pytest.raises(TapeError):
            source({}, helpers=helper)
    with pytest.raises(TapeError):
        source({}, signature={"B": "open()"})


def test_a_made_up_default_stays_data() -> None:
    """Kills: a candidate whose word about an argument's default runs in the checker."""
    names, library = _run(_text("tl.store(x_ptr, B)", arguments="x_ptr, B: tl.constexpr = 3"))
    told = place(names["kernel"].fn)
    assert "B: triton.language.constexpr=3" in library.source(_id(told))
    for default in ({"path": "os.sep"}, {"path": "triton.runtime"}, {"code": "1"}, None):
        told[4]["B"] = ["constexpr", default]
        with pytest.raises(Refused):
            library.source(_id(told))


@pytest.mark.parametrize("decorator", ["open", "triton.jit(debug=open('x'))", "triton.autotune"])
def test_no_other_decorator_is_vetted(decorator: str) -> None:
    """Kills: a decorator that runs in the checker because only the function below it was read."""
    with pytest.raises(Refused, match="decorator"):
        vet(ast.parse(f"@{decorator}\ndef kernel(n):\n    pass\n"))
    vet(ast.parse("@triton.jit(do_not_specialize=['n'])\ndef kernel(n):\n    pass\n"))


def test_two_helpers_of_one_name_stay_with_their_kernels() -> None:
    """Kills: helpers looked up by name, where two functions made kernels around their own `op`, or
    by the compile gate, in whose program all kernels stand; a kernel that stands there twice."""
    text = (
        HEAD
        + """
def made(op):
    @triton.jit
    def kernel(p):
        tl.store(p, op(tl.load(p)))

    return kernel


@triton.jit
def twice(v):
    return v + v


@triton.jit
def squared(v):
    return v * v


def wrapped(op):
    @triton.jit
    def inner(v):
        return op(v)

    return inner


def both(op, other):
    @triton.jit
    def kernel(p):
        tl.store(p, op(other(tl.load(p))))

    return kernel


first, second, third = made(twice), made(squared), both(twice, wrapped(squared))
"""
    )
    names, library = _run(text)
    value = torch.tensor([3.0])
    results, launches = [6.0, 36.0, 2592.0], []
    for name, result in zip(("first", "second", "third"), results, strict=True):
        id = _id(place(names[name].fn))
        launches.append(LaunchRecord(id, (1,), laid_out((value,)), {}))
        library.get(id)[(1,)](value)
        assert value.item() == result
    program = vars(loaded(library, [*launches, launches[0]]))
    program["replay"]()
    copies = [kernel for name, kernel in program.items() if name.startswith("kernel_")]
    again = torch.tensor([3.0])
    for kernel, result in zip((copies[n] for n in (1, 3, 5)), results, strict=True):
        kernel[(1,)](again)
        assert again.item() == result
    assert len(copies) == 6
