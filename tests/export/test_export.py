"""Exported files run by themselves and mean what the notebook meant."""

from __future__ import annotations

import linecache

import pytest

import tritonbook  # noqa: F401  (decides about the interpreter before triton is imported)
from tritonbook.export.writer import ExportError, export

import torch  # isort: skip
import triton  # isort: skip
import triton.language as tl  # isort: skip

CELLS = [
    "import torch\nimport triton\nimport triton.language as tl\nfrom tritonbook import DEVICE\n",
    "import math\nSCALE = tl.constexpr(0.5)\nBLOCK = 256\nfactor = math.sqrt(4.0)\n",
    "def configs():\n"
    "    return [triton.Config({'BLOCK_SIZE': b}, num_warps=w) for b, w in ((64, 2), (128, 4))]\n",
    "@triton.jit\ndef half(x):\n    return x * SCALE\n",
    "@triton.jit\n"
    "def scale_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):\n"
    "    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n"
    "    mask = offs < n\n"
    "    tl.store(out_ptr + offs, half(tl.load(x_ptr + offs, mask=mask)), mask=mask)\n",
    "def scale(x, block=BLOCK):\n"
    "    out = torch.empty_like(x)\n"
    "    scale_kernel[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK_SIZE=block)\n"
    "    return out\n",
    "@triton.autotune(configs=configs(), key=['n'])\n"
    "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK_SIZE'] == 0})\n"
    "@triton.jit\n"
    "def tuned_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr, EVEN: tl.constexpr):\n"
    "    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n"
    "    x = tl.load(x_ptr + offs) if EVEN else tl.load(x_ptr + offs, mask=offs < n)\n"
    "    tl.store(out_ptr + offs, half(x), mask=offs < n)\n",
    "def tuned(x):\n"
    "    out = torch.empty_like(x)\n"
    "    grid = lambda meta: (triton.cdiv(x.numel(), meta['BLOCK_SIZE']),)\n"
    "    tuned_kernel[grid](x, out, x.numel())\n"
    "    return out\n",
    "retuned_kernel = triton.autotune(configs=configs()[:1], key=['n'])(scale_kernel)\n",
    "def retuned(x):\n"
    "    out = torch.empty_like(x)\n"
    "    grid = lambda meta: (triton.cdiv(x.numel(), meta['BLOCK_SIZE']),)\n"
    "    retuned_kernel[grid](x, out, x.numel())\n"
    "    return out\n",
    "class Half(torch.autograd.Function):\n"
    "    @staticmethod\n"
    "    def forward(ctx, x):\n"
    "        return scale(x)\n\n"
    "    @staticmethod\n"
    "    def backward(ctx, dy):\n"
    "        return dy * SCALE.value\n",
    "double = lambda x: factor * x\n",
    "def unknown(x):\n    return scale(not_there(x))\n",
    "table = torch.arange(4) + int(factor)\n",
    "def lookup(x):\n    return table[x]\n",
    "made = [object()][0]\n",
    "def bad(x):\n    return made\n",
    "def shadow(x):\n    factor = 3\n    return x * factor\n",
    # As operator libraries are written: an object made by a decorator, an operator by a function.
    "class Doubler:\n"
    "    def __init__(self, fn):\n        self.inner = fn\n"
    "    def __call__(self, x):\n        return 2 * self.inner(x)\n",
    "@Doubler\ndef increase(x):\n    return x + 1\n",
    "def make_operator(space):\n"
    "    @torch.library.custom_op(f'{space}::negate', mutates_args=())\n"
    "    def op(x: torch.Tensor) -> torch.Tensor:\n        return -x\n\n"
    "    return op\n",
    "operator = make_operator('test_closure')\n",
    "def both(x):\n    return operator(increase(x))\n",
    "def ones_body(x_ptr, n, BLOCK):\n"
    "    offs = tl.arange(0, BLOCK)\n"
    "    tl.store(x_ptr + offs, 1.0, mask=offs < n)\n",
    "ones_body.__annotations__['BLOCK'] = tl.constexpr\n",
    "ones_kernel = triton.jit(ones_body)\n",
    "def ones(x):\n    ones_kernel[(1,)](x, x.numel(), BLOCK=16)\n    return x\n",
]


@pytest.fixture(scope="module")
def notebook():
    """A namespace like a notebook's: one linecache file per cell, `In`, module `__main__`."""
    space = {"__name__": "__main__", "In": ["", *CELLS]}
    for number, cell in enumerate(CELLS):
        name = f"/tmp/ipykernel_0/{number}.py"
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        exec(compile(cell, name, "exec", dont_inherit=True), space)
    return space


def test_entries_of_every_kind_run_alone(notebook, python, tmp_path):
    # Kills: helper kernel, constexpr or default-argument constant forgotten; decorators dropped;
    # an Autotuner made by a call lost; a class's methods unread; a definition copied without the
    # names of the function around it; a decorated object that nobody can write down.
    program = ["import runpy, tritonbook"]
    wanted = {"double": "600.0", "lookup": "8.0", "both": "-1200.0"}
    names = ("scale", "tuned", "retuned", "Half", "double", "lookup", "both")
    for name in names:
        exported = export(notebook[name])
        argument = "torch.tensor([1, 3])" if name == "lookup" else "torch.ones(300)"
        call = f"{exported.entry}{'.apply' if name == 'Half' else ''}({argument})"
        path = tmp_path / f"{name}.py"
        path.write_text(f"{exported.text}\nimport torch\nprint({call}.double().sum().item())")
        program.append(f"runpy.run_path({str(path)!r})")
    done = python.run("-c", "\n".join(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [wanted.get(name, "150.0") for name in names]
    assert export(notebook["Half"].apply).entry == "Half.apply"


def test_text_is_deterministic_and_parts_are_in_order(notebook):
    text = export(notebook["tuned"]).text
    assert text == export(notebook["tuned"]).text
    assert text.index("def configs") < text.index("@triton.autotune") < text.index("def tuned(")
    assert "math" not in text  # `factor` is not used by this function


def test_local_name_hides_a_global_one(notebook):
    # Kills: taking every name in the text for a global.
    assert "import" not in export(notebook["shadow"]).text


def test_missing_name_is_left_to_fail_where_it_is_used(notebook):
    assert "not_there(x)" in export(notebook["unknown"]).text


def test_what_cannot_be_written_is_named(notebook):
    with pytest.raises(ExportError, match=r"object of type|computed from"):
        exec("made = made", notebook)
        notebook["In"].append("made = made")
        export(notebook["bad"])
    with pytest.raises(ExportError, match="Only functions"):
        export(3)
    with pytest.raises(ExportError, match="not known"):
        export(eval("lambda x: x"))


def test_two_things_of_one_name_get_two_names():
    # Kills: the second function silently taking the first one's place, or the export giving up.
    limit = 1

    def first():
        return limit

    def make(limit):
        def first(n=0):
            return first(n - 1) if n else limit

        return first

    other = make(20)

    def both():
        return first() + other() + other(2)

    space: dict = {}
    exec(export(both).text, space)
    assert space["both"]() == both() == 41


def test_equal_constants_of_two_modules_are_one():
    def make():
        scale = tl.constexpr(1.5)

        def part():
            return scale.value

        return part

    one, two = make(), make()

    def both():
        return one() + two()

    text = export(both).text
    assert text.count("constexpr(1.5)") == 1


def test_a_name_that_is_also_a_local_is_refused_when_it_must_change():
    def make(limit):
        def part():
            def inner(limit):
                return limit

            return inner(limit)

        return part

    one, two = make(1), make(2)

    def both():
        return one() + two()

    with pytest.raises(ExportError, match="means two things"):
        export(both)


def test_values_of_every_plain_kind_and_functions_of_libraries():
    """Kills: closure cells ignored; library functions copied instead of imported; for None, an
    import of the name from a library that has nothing of that name either; for Triton's dtypes,
    Triton's own short form `triton.language.fp32`, which Python does not know."""
    from torch.nn.functional import softmax

    dtype, limit, pair, config = torch.float16, float("inf"), (1, "a"), triton.Config({"B": 1})
    nothing, table, one = None, {torch.float16: tl.float32}, ([(2,), ()],)

    def fn():
        return dtype, limit, pair, nothing, table, softmax, one, config

    space: dict = {}
    exec(text := export(fn).text, space)
    assert "one = ([(2,), ()],)\n" in text and "triton.Config({'B': 1}, num_warps=4" in text
    assert "num_ctas" not in text
    *got, got_config = space["fn"]()
    assert got == [
        torch.float16,
        float("inf"),
        (1, "a"),
        None,
        {torch.float16: tl.float32},
        softmax,
        one,
    ]
    assert got_config.kwargs == {"B": 1}


def test_collections_of_functions_are_written_by_their_names():
    """Kills: "`KERNELS` is an object of type tuple" on a card that passed."""

    def once(x):
        return x + 1

    def twice(x):
        return 2 * x

    several, table = (once, twice), {"once": once, 2: [twice]}

    def fn(x):
        return several[0](x), table["once"](x), table[2][0](x)

    space: dict = {}
    exec(export(fn).text, space)
    assert space["fn"](3) == (4, 4, 6)
    several = (once, torch.ones(2))
    with pytest.raises(ExportError, match="`several` is an object of type tuple"):
        export(fn)


def test_what_is_a_constexpr_may_be_said_after_the_def(notebook):
    """Kills: a right kernel that does not compile, for a width that is a number at run time."""
    space: dict = {}
    exec(text := export(notebook["ones"]).text, space)
    assert 'ones_body.__annotations__["BLOCK"] = triton.language.constexpr' in text
    assert space["ones"](torch.zeros(3)).tolist() == [1, 1, 1]
