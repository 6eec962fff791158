"""What the interpreter would run in a kernel, and the compiler refuses: refused in both."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.seeing.compiled import CompileResult, compile_gate

MODULE = """\
import math
from math import sqrt
import numpy as np
import torch
import triton
import triton.language as tl

HALF = 0.5
LOG2E = tl.constexpr(math.log2(math.e))
TWO = tl.constexpr(np.exp2(1.0))


def plain(value):
    return value


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, 2 * x + 0 * {used}, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""
CHECK = Check(lambda x: 2 * x, [case("ragged", x=tensor(150))], launches=1)

REFUSED = {
    "math.exp(-tl.max(x, axis=0))": "`math.exp` takes numbers that are known before the launch",
    "math.sqrt(n)": "Use `tl.sqrt`.",
    "sqrt(BLOCK)": "a kernel cannot call `sqrt`, which is Python's. Use `tl.sqrt`.",
    "np.maximum(x, 1.0)": "a kernel cannot call `np.maximum`, which is Python's. Use `tl.maximum`.",
    "np.sqrt(2.0)": "a kernel cannot call `np.sqrt`",
    "torch.exp(x)": "a kernel cannot call `torch.exp`",
    "x.to(torch.float32)": "`tl.float32`, not `torch.float32`",
    "int(n)": "Convert with `.to(tl.int32)`.",
    "float(tl.sum(x, axis=0))": "Convert with `.to(tl.float32)`.",
    "triton.cdiv(n, BLOCK)": "Use `tl.cdiv`.",
    "sum([1, 2])": "Python's `sum` is not known in a kernel. Use `tl.sum`.",
    "plain(x)": "a plain Python function: put @triton.jit above it",
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


def _answer(used: str, folder: Path) -> Any:
    path = folder / "answer.py"
    path.write_text(MODULE.format(used=used))
    spec = importlib.util.spec_from_file_location("_answer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double


def _no_compiler(*_: Any, **__: Any) -> CompileResult:
    return CompileResult(None, "there is none")


@pytest.mark.parametrize("used", REFUSED)
def test_the_interpreter_refuses_what_the_compiler_refuses(used: str, tmp_path: Path):
    """Kills: `math.exp` of a loaded number, which the interpreter cuts to a whole one first."""
    double = _answer(used, tmp_path)
    assert compile_gate(double, [torch.randn(150)]).code == "does-not-compile"
    found = run_check(double, CHECK, "double", compile_gate=_no_compiler).finding
    assert found.code == "does-not-compile"
    assert REFUSED[used] in found.sentence, found.sentence
    assert "in kernel: tl.store(out_ptr + offs, 2 * x" in found.detail
    with pytest.raises(Exception, match="kernel|launch"):
        double(torch.randn(150))


@pytest.mark.parametrize("used", HONEST)
def test_what_is_known_before_the_launch_may_stand_in_a_kernel(used: str, tmp_path: Path):
    assert run_check(_answer(used, tmp_path), CHECK, "double").passed


def test_a_function_in_a_kernel_is_named_by_the_interpreter_too(tmp_path: Path):
    """Kills: "'return' outside function", where the interpreter began at the inner `def`."""
    inner = MODULE.replace("    pid = ", "    def then(a):\n        return a\n\n    pid = ")
    (tmp_path / "inner.py").write_text(inner.format(used="then(x)"))
    spec = importlib.util.spec_from_file_location("_inner", tmp_path / "inner.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = run_check(module.double, CHECK, "double", compile_gate=_no_compiler).finding
    assert found.sentence.startswith("A kernel cannot define a function."), found
