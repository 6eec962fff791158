"""What the interpreter would run in a kernel, and the compiler refuses: refused in both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tritonbook.checking import run_check
from tritonbook.seeing.compiled import CompileResult, compile_gate

from .test_plain_words import CHECK, double_with

ABOVE = """\
import math
from math import sqrt
import numpy as np
import torch
import triton
import triton.language as tl

HALF = 0.5
PLANE = torch.ones(2, 2)
LOG2E = tl.constexpr(math.log2(math.e))
TWO = tl.constexpr(np.exp2(1.0))


def plain(value):
    return value


def named(value):
    return value


named_of = triton.jit(named)


def launching(value):
    named_of[(1,)](value)



"""

REFUSED = {
    "math.exp(tl.max(x, axis=0))": "`math.exp(tl.max(x, axis=0))`: `math.exp` takes numbers that "
    "are known before the launch",
    "math.sqrt(n)": "Use `tl.sqrt`.",
    "sqrt(BLOCK)": "a kernel cannot call `sqrt`, which is Python's. Use `tl.sqrt`.",
    "np.maximum(x, 1.0)": "`np.maximum(x, 1.0)`: a kernel cannot call `np.maximum`, which is "
    "Python's. Use `tl.maximum`.",
    "np.sqrt(2.0)": "a kernel cannot call `np.sqrt`",
    "torch.exp(x)": "`torch.exp(x)`: a kernel cannot call `torch.exp`, which is Python's. Use "
    "`tl.exp`.",
    "torch.tanh(x)": "which is Python's. There is no `tl.tanh`. Write it with the function that",
    "torch.relu(x)": "which is Python's. There is no `tl.relu`. `tl.maximum(x, 0.0)`",
    "divmod(n, 2)": "is not known in a kernel. There is no `tl.divmod`.",
    "x.to(torch.float32)": "A kernel takes dtypes from `tl`: `tl.float32`, not `torch.float32`.",
    "int(n)": "Convert with `.to(tl.int32)`.",
    "float(tl.sum(x, axis=0))": "Convert with `.to(tl.float32)`.",
    "triton.cdiv(n, BLOCK)": "`triton.cdiv(n, BLOCK)`: `triton.cdiv` takes numbers that are known "
    "before the launch, and this value is known only while the kernel runs. Use `tl.cdiv` (in "
    "Gluon `gl.cdiv`).",
    "sum(x)": "`sum(x)`: Python's `sum` is not known in a kernel. Use `tl.sum`.",
    "plain(x)": "a plain Python function: put @triton.jit above it",
    "named(x)": "The kernel calls named, a plain Python function. Call `named_of`: it is named for "
    "kernels.",
    "launching(x)": "The kernel calls launching, which launches one, and no kernel can: write here",
    "PLANE": "`PLANE` gets no value in this kernel, and the notebook has a tensor of that name.",
    "HALF": "A kernel cannot read the global `HALF`.",
}
HONEST = (
    "math.sqrt(BLOCK)",
    "math.pi * np.pi",
    "float(BLOCK // 2)",
    "LOG2E * TWO",
    "tl.math.exp2(x)",
    "triton.cdiv(BLOCK, 3)",
    "tl.cdiv(n, BLOCK)",
    "triton.language.cdiv(n, BLOCK)",
    "max(x, 1.0)",
)


def _answer(used: str, first: str = "") -> Callable[..., Any]:
    """The answer whose kernel uses this, after the lines that come first."""
    load = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)"
    store = f"tl.store(out_ptr + offs, 2 * x + 0 * {used}, mask=mask)"
    return double_with(f"{first}{load}\n{store}", above=ABOVE)


def _no_compiler(*_: Any, **__: Any) -> CompileResult:
    return CompileResult(None, "there is none")


@pytest.mark.parametrize("used", REFUSED)
def test_the_interpreter_refuses_what_the_compiler_refuses(used: str):
    """Kills: `math.exp` of a loaded number, which the interpreter cuts to a whole one first."""
    double = _answer(used)
    assert compile_gate(double, [torch.randn(150)]).code == "does-not-compile"
    found = run_check(double, CHECK, "double", compile_gate=_no_compiler).finding
    assert found.code == "does-not-compile"
    assert REFUSED[used] in found.sentence, found.sentence
    assert "in double_kernel: tl.store(out_ptr + offs, 2 * x" in found.detail
    with pytest.raises(Exception, match="kernel|launch"):
        double(torch.randn(150))


@pytest.mark.parametrize("used", HONEST)
def test_what_is_known_before_the_launch_may_stand_in_a_kernel(used: str):
    assert run_check(_answer(used), CHECK, "double").passed


def test_a_function_in_a_kernel_is_named_by_the_interpreter_too():
    """Kills: "'return' outside function", where the interpreter began at the inner `def`."""
    double = _answer("then(x)", "def then(a):\n    return a\n\n")
    found = run_check(double, CHECK, "double", compile_gate=_no_compiler).finding
    assert found.sentence.startswith("A kernel cannot define a function."), found
