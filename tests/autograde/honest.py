# ruff: noqa: E501
"""Honest answers to the task `double`, each written in another style: all are right.

Where a constant's value comes from makes no style: `tritonbook.language.meanings` looks at the
value alone.

Where there are two texts, the second is a cell that the student put on top.
"""

from __future__ import annotations

import corpus
import triton
from corpus import HEAD, LAUNCH

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)

KERNEL = corpus.KERNEL.format(value="x * 2.0")
WRAPPER = corpus.WRAPPER.format(first="", last="")
PLAIN = HEAD + KERNEL + WRAPPER


def changed(*pairs: tuple[str, str], before: str = "") -> str:
    """The plain answer with each old text replaced by a new one; `before` stands above the kernel.

    Raises ValueError where the old text is not there: such a style would test nothing.
    """
    text = HEAD + (before + "\n\n" if before else "") + KERNEL + WRAPPER
    for old, new in pairs:
        if old not in text:
            raise ValueError(old)
        text = text.replace(old, new)
    return text


def scaled(before: str, by: str = "SCALE") -> str:
    """The plain answer that multiplies by a constant defined in `before`."""
    return changed(("x * 2.0", f"x * {by}"), before=before)


def capped(before: str, by: str) -> str:
    """The plain answer that compares with a constant defined in `before`, to no effect."""
    return changed(("x * 2.0", f"tl.maximum(x * 2.0, {by})"), before=before)


SIGNATURE = "def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):"
TWICE = "@triton.jit\ndef twice(v):\n    return v + v\n"

_STYLES = {
    "plain": PLAIN,
    "triton imported as tr": PLAIN.replace("triton", "tr").replace(
        "import tr\nimport tr.language as tl",
        "import triton as tr\nimport triton.language as tl",
    ),
    "tl imported under another name": PLAIN.replace("tl.", "lang.").replace(
        "language as tl", "language as lang"
    ),
    "triton.language written out": PLAIN.replace("tl.", "triton.language."),
    "from triton import language": PLAIN.replace(
        "import triton.language as tl", "from triton import language as tl"
    ),
    "names from triton.language": PLAIN.replace("tl.", "").replace(
        "import triton.language as tl",
        "from triton.language import arange, constexpr, load, program_id, store",
    ),
    "everything from triton.language": PLAIN.replace("tl.", "").replace(
        "import triton.language as tl", "from triton.language import *"
    ),
    "jit imported as kernel": changed(
        ("@triton.jit", "@kernel"), before="from triton import jit as kernel"
    ),
    "jit imported from the runtime": changed(
        ("@triton.jit", "@jit"), before="from triton.runtime.jit import jit"
    ),
    "jit in brackets": changed(("@triton.jit", "@triton.jit()")),
    "jit with options": changed(("@triton.jit", "@triton.jit(do_not_specialize=['n'])")),
    "jit called": changed(
        ("@triton.jit\ndef double_kernel", "def _double"),
        ("\n\ndef double(x)", "\n\ndouble_kernel = triton.jit(_double)\n\n\ndef double(x)"),
    ),
    "annotated with torch.Tensor": changed(
        (SIGNATURE, SIGNATURE.replace("_ptr,", "_ptr: torch.Tensor,").replace("n,", "n: int,"))
    ),
    "annotated with strings": changed(
        (
            SIGNATURE,
            SIGNATURE.replace("x_ptr,", "x_ptr: 'torch.Tensor',").replace(
                "tl.constexpr", "'tl.constexpr'"
            ),
        ),
        ("def double(x):", 'def double(x: "torch.Tensor") -> "torch.Tensor":'),
    ),
    "constexpr imported by name": changed(
        ("BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE: constexpr"),
        before="from triton.language import constexpr",
    ),
    "a return annotation": changed(("tl.constexpr):", "tl.constexpr) -> None:")),
    "a docstring and comments": changed(
        (
            "    offs =",
            '    """out = 2 x. One program = one tile."""\n\n    # which tile\n    offs =',
        )
    ),
    "a constant in if and else": scaled(
        "if torch.cuda.is_available():\n    SCALE = tl.constexpr(2.0)\nelse:\n    SCALE = tl.constexpr(2)"
    ),
    "a constant made by a function": scaled(
        "def scale():\n    return tl.constexpr(1.0 + 1.0)\n\n\nSCALE = scale()"
    ),
    "a constant of numpy": scaled("import numpy as np\n\nSCALE = tl.constexpr(np.log2(4.0))"),
    "a constant of torch": capped("LOW = tl.constexpr(torch.finfo(torch.float32).min)", "LOW"),
    "minus infinity of torch": capped("LOW = tl.constexpr(-torch.inf)", "LOW"),
    "minus infinity of float": capped("", "-float('inf')"),
    "a dtype as a constant": changed(
        (
            "x = tl.load(x_ptr + offs, mask=mask)",
            "x = tl.load(x_ptr + offs, mask=mask).to(ACC)",
        ),
        before="ACC = tl.constexpr(tl.float32)",
    ),
    "a dtype as an argument": changed(
        ("x * 2.0", "x * 2.0 + tl.zeros((BLOCK_SIZE,), ACC).to(tl.float32)"),
        ("n, BLOCK_SIZE: tl", "n, ACC: tl.constexpr, BLOCK_SIZE: tl"),
        ("x.numel(), BLOCK", "x.numel(), ACC=tl.float8e5, BLOCK"),
    ),
    "a helper without tl": changed(("x * 2.0", "twice(x)"), before=TWICE),
    "a helper under another name": changed(("x * 2.0", "op(x)"), before=TWICE + "\n\nop = twice"),
    "a helper of a helper in another cell": (
        changed(("x * 2.0", "thrice(x) - x")),
        HEAD + TWICE + "\n\n@triton.jit\ndef thrice(v):\n    return twice(v) + v\n",
    ),
    "a helper passed as a constexpr": changed(
        ("x * 2.0", "OP(x)"),
        ("n, BLOCK_SIZE: tl", "n, OP: tl.constexpr, BLOCK_SIZE: tl"),
        ("x.numel(), BLOCK", "x.numel(), OP=twice, BLOCK"),
        before=TWICE,
    ),
    "a member of an enum": capped("", "-1e30, propagate_nan=tl.PropagateNan.ALL"),
    "a member of an enum in a constant": capped(
        "KEEP = tl.constexpr(tl.PropagateNan.NONE)", "-1e30, propagate_nan=KEEP"
    ),
    "an enum inside a class": changed(
        ("    mask =", "    KIND: tl.constexpr = tl.dtype.KIND.FLOATING\n    mask =")
    ),
    "the size of a dtype": changed(
        ("    mask =", "    tl.static_assert(tl.float32.primitive_bitwidth == 32)\n    mask =")
    ),
    "the language by its longer names": changed(
        ("tl.load", "core.load"),
        ("tl.program_id", "tl.core.program_id"),
        before="from triton.language import core",
    ),
    "a constexpr that is a function": changed(
        ("    mask =", "    ACC: tl.constexpr = wide(x_ptr.type.element_ty)\n    mask ="),
        ("x * 2.0", "x.to(ACC) * 2.0"),
        before="@tl.constexpr\ndef wide(t):\n    if t.is_fp64():\n        return tl.float64\n    return tl.float32",
    ),
    "a name that is nowhere, never compiled": changed(
        ("    tl.store", "    if BLOCK_SIZE == 7:\n        x = scale_and_clamp(x)\n    tl.store")
    ),
    "names that Triton does not have, never compiled": changed(
        (
            "    tl.store",
            "    if BLOCK_SIZE == 7:\n        x = tl.tanh(x) + tl.math.tanh(x)\n    tl.store",
        )
    ),
    "libdevice": changed(
        ("x * 2.0", "libdevice.fma(x, 2.0, 0.0)"),
        before="from triton.language.extra import libdevice",
    ),
    "libdevice of CUDA": changed(
        ("x * 2.0", "libdevice.mul_rn(x, 2.0)"),
        before="from triton.language.extra.cuda import libdevice",
    ),
    "a function of libdevice": changed(
        ("x * 2.0", "copysign(x + x, x)"),
        before="from triton.language.extra.libdevice import copysign",
    ),
    "libdevice written out": changed(
        ("x * 2.0", "tl.extra.cuda.libdevice.rint(x) * 0.0 + x * 2.0")
    ),
    "a tuner that restores, warms up and counts": changed(
        (
            "@triton.jit",
            "@triton.autotune(configs=[triton.Config({'BLOCK_SIZE': b}, pre_hook=None) for b in (64, 128, 256)], key=['n'], restore_value=['out_ptr'], prune_configs_by={'early_config_prune': lambda configs, args, **more: configs[1:]}, warmup=25, rep=100)\n@triton.jit",
        ),
        (
            LAUNCH,
            "double_kernel[lambda m: (triton.cdiv(x.numel(), m['BLOCK_SIZE']),)](x, out, x.numel())",
        ),
    ),
    "a tuner with a clock of its own": changed(
        (
            "@triton.jit",
            "@triton.autotune(configs=[triton.Config({'BLOCK_SIZE': b}) for b in (64, 128, 256)], key=['n'], reset_to_zero=['out_ptr'], do_bench=lambda call, quantiles: triton.testing.do_bench(call, quantiles=quantiles))\n@triton.jit",
        ),
        (
            LAUNCH,
            "double_kernel[lambda m: (triton.cdiv(x.numel(), m['BLOCK_SIZE']),)](x, out, x.numel())",
        ),
    ),
    "a kernel made by a function": HEAD
    + TWICE
    + """

def made(op):
    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
        offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        mask = offs < n
        tl.store(out_ptr + offs, op(tl.load(x_ptr + offs, mask=mask)), mask=mask)

    return kernel


double_kernel = made(twice)
"""
    + WRAPPER,
    "every argument by keyword": changed(
        (
            LAUNCH,
            "double_kernel[(triton.cdiv(x.numel(), 64),)](x_ptr=x, out_ptr=out, n=x.numel(), BLOCK_SIZE=64, num_warps=2)",
        )
    ),
    "a lambda as a grid": changed(
        (
            LAUNCH,
            "grid = lambda meta: (triton.cdiv(x.numel(), meta['BLOCK_SIZE']),)\n    double_kernel[grid](x, out, x.numel(), BLOCK_SIZE=64)",
        )
    ),
    "a default argument": changed(
        ("BLOCK_SIZE: tl.constexpr)", "BLOCK_SIZE: tl.constexpr = 64)"),
        (", BLOCK_SIZE=64)", ")"),
    ),
    "a data class of sizes": changed(
        ("BLOCK_SIZE=64", "BLOCK_SIZE=SIZES.block"),
        ("x.numel(), 64)", "x.numel(), SIZES.block)"),
        before="from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Sizes:\n    block: int = 64\n\n\nSIZES = Sizes()",
    ),
    "assertions with f-strings": changed(
        (
            "    out = torch",
            "    assert x.ndim == 1, f'{x.shape} is not a vector'\n    out = torch",
        ),
        (
            "    offs =",
            "    tl.static_assert(BLOCK_SIZE >= 16, f'a tile of {BLOCK_SIZE}')\n    offs =",
        ),
    ),
    "autotuned": changed(
        (
            "@triton.jit",
            "@triton.autotune(configs=[triton.Config({'BLOCK_SIZE': b}, num_warps=w) for b in (64, 128) for w in (2, 4)], key=['n'])\n@triton.jit",
        ),
        (
            LAUNCH,
            "double_kernel[lambda m: (triton.cdiv(x.numel(), m['BLOCK_SIZE']),)](x, out, x.numel())",
        ),
    ),
    "heuristics": changed(
        (
            "@triton.jit",
            "@triton.heuristics({'BLOCK_SIZE': lambda args: 64 if args['n'] < 1000 else 128})\n@triton.jit",
        ),
        (
            LAUNCH,
            "double_kernel[lambda m: (triton.cdiv(x.numel(), m['BLOCK_SIZE']),)](x, out, x.numel())",
        ),
    ),
    "a grid-stride loop": changed(
        (
            "    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n    mask = offs < n\n    x = tl.load(x_ptr + offs, mask=mask)\n    tl.store(out_ptr + offs, x * 2.0, mask=mask)\n",
            "    first, step = tl.program_id(0), tl.num_programs(0)\n    for start in range(first * BLOCK_SIZE, n, step * BLOCK_SIZE):\n        offs = start + tl.arange(0, BLOCK_SIZE)\n        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n        tl.store(out_ptr + offs, x * 2.0, mask=offs < n)\n",
        )
    ),
    "a branch on a flag": changed(
        (
            "    tl.store(out_ptr + offs, x * 2.0, mask=mask)",
            "    if ADD:\n        y = x + x\n    else:\n        y = 2 * x\n    tl.store(out_ptr + offs, y, mask=mask)",
        ),
        ("n, BLOCK_SIZE: tl", "n, BLOCK_SIZE: tl.constexpr, ADD: tl"),
        ("BLOCK_SIZE=64", "BLOCK_SIZE=64, ADD=x.numel() > 64"),
    ),
    "a table of kernels": changed(
        (
            LAUNCH,
            "KERNELS['double'][(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)",
        ),
        ("\n\ndef double(x)", "\n\nKERNELS = {'double': double_kernel}\n\n\ndef double(x)"),
    ),
    "a wrapper in a wrapper": PLAIN.replace(
        "def double(x)", "def _launch(x: torch.Tensor, *, block: int = 64) -> torch.Tensor"
    )
    + "\n\ndouble = lambda x: _launch(x, block=64)\n",
    "a function object": PLAIN.replace("def double(x)", "def _launch(x)")
    + "\n\nclass Double:\n    def __call__(self, x):\n        return _launch(x)\n\n\ndouble = Double()\n",
    "postponed annotations": "from __future__ import annotations\n\n" + PLAIN,
    "magics and a shell line": "%matplotlib inline\n!nvidia-smi\n" + PLAIN,
    "min and max of Python": changed(("x * 2.0", "x * max(1, min(2, 3))")),
    "minus infinity of torch in the kernel": capped("", "-torch.inf"),
    "a number of numpy in the kernel": capped("import numpy as np", "-np.inf"),
    "a number of an object in the kernel": changed(
        ("x * 2.0", "x * math.floor(math.e)"), before="import math"
    ),
    "a helper called like a function of Python": changed(
        ("x * 2.0", "sum(x)"), before=TWICE.replace("twice", "sum")
    ),
    "a name of Python's as a variable": changed(
        ("mask = offs < n", "id = offs\n    mask = id < n")
    ),
    "a print in the kernel": changed(
        ("    mask =", "    tl.static_print(f'a tile of {BLOCK_SIZE}')\n    mask =")
    ),
    "kernel and wrapper in a class": HEAD
    + "class Double:\n    block = 64\n\n    @staticmethod\n    def run(x):\n        out = torch.empty_like(x)\n        Double.kernel[(triton.cdiv(x.numel(), Double.block),)](x, out, x.numel(), BLOCK_SIZE=Double.block)\n        return out\n\n    @triton.jit\n    def kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):\n        offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)\n        x = tl.load(x_ptr + offs, mask=offs < n)\n        tl.store(out_ptr + offs, x + x, mask=offs < n)\n\n\ndouble = Double.run\n",
    "a kernel inside the wrapper": PLAIN.replace(KERNEL, "").replace(
        "def double(x):\n",
        "def double(x):\n" + corpus.block(KERNEL) + "\n",
    ),
    "a tuple of constants": scaled("SCALES = tl.constexpr((1.0, 2.0))", "SCALES[1]"),
}

if hasattr(triton, "constexpr_function"):  # from Triton 3.4 on
    _STYLES["a function that runs while the kernel is compiled"] = changed(
        ("x * 2.0", "x * times(1)"),
        before="@triton.constexpr_function\ndef times(n):\n    return 2 * n",
    )

STYLES = {name: (each, "") if isinstance(each, str) else each for name, each in _STYLES.items()}

# What the grader does not run, and a word of the sentence that says so.
REFUSED = {
    "a helper without jit": (
        changed(("x * 2.0", "twice(x)"), before="def twice(v):\n    return v + v\n"),
        "twice, a plain Python function",
    ),
    "try": (
        changed(
            (
                "    mask =",
                "    try:\n        n = n\n    except Exception:\n        pass\n    mask =",
            )
        ),
        "has no try",
    ),
    "a dictionary": (scaled("TABLE = {'scale': 2.0}", "TABLE['scale']"), "an object of type dict"),
    "a call of torch": (
        capped("", "torch.finfo(torch.float32).min"),
        "a kernel cannot call `torch.finfo`",
    ),
    "numpy": (scaled("import numpy as np", "np.log2(4.0)"), "a kernel cannot call `np.log2`"),
    "Python's own": (changed(("x * 2.0", "x * pow(2, 1)")), "Python's `pow`"),
    "a list comprehension": (scaled("", "[2.0 for _ in range(1)][0]"), "list comprehension"),
    "a config of the tuner that is wrong": (
        changed(
            (
                "@triton.jit",
                "@triton.autotune(configs=[triton.Config({'SCALE': s}) for s in (2.0, 3.0)], key=['n'])\n@triton.jit",
            ),
            ("x * 2.0", "x * SCALE"),
            ("BLOCK_SIZE: tl", "SCALE: tl.constexpr, BLOCK_SIZE: tl"),
        ),
        "With SCALE=3.0, which the tuner may choose on another GPU: ",
    ),
    "a dtype that is called": (
        changed(("x * 2.0", "x * tl.float32(2.0)")),
        "`tl.float32` is a dtype and no function",
    ),
    "half precision for libdevice": (
        changed(
            ("x * 2.0", "libdevice.tanh(x.to(tl.float16))"),
            before="from triton.language.extra import libdevice",
        ),
        "A function of CUDA's libdevice is called with",
    ),
    "a loop while the kernel is compiled": (
        changed(
            ("x * 2.0", "x * times(2)"),
            before="@tl.constexpr\ndef times(n):\n    for i in range(n):\n        n = n\n    return n",
        ),
        "times runs while the kernel is compiled: no loop may be in it",
    ),
    "behind the interpreter": (
        changed(("    mask =", "    print(offs.handle)\n    mask =")),
        ".handle, which is not Triton's language",
    ),
}
