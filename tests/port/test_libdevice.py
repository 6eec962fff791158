"""CUDA's libdevice in the interpreter: the values that torch gives, by whichever name."""

from __future__ import annotations

import pytest
import torch

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from tritonbook.port.device import INTERPRET
from tritonbook.port.libdevice import NotInterpreted, NotOfThisDtype
from tritonbook.port.source_file import module_of

pytestmark = pytest.mark.skipif(not INTERPRET, reason="on a GPU the library itself is called")

KERNEL = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.libdevice import tanh


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, {formula})
"""
FORMULAS = {
    "libdevice.tanh(x)": lambda x, y: x.tanh(),
    "tanh(x)": lambda x, y: x.tanh(),
    "cuda.erf(x)": lambda x, y: x.erf(),
    "tl.extra.cuda.libdevice.expm1(x)": lambda x, y: x.expm1(),
    "libdevice.log1p(y)": lambda x, y: y.log1p(),
    "libdevice.log2(y)": lambda x, y: y.log2(),
    "libdevice.exp10(x)": lambda x, y: 10**x,
    "libdevice.rsqrt(y)": lambda x, y: y.rsqrt(),
    "libdevice.pow(y, x)": lambda x, y: y**x,
    "libdevice.pow(y, 2.0)": lambda x, y: y * y,
    "libdevice.atan2(x, y)": lambda x, y: torch.atan2(x, y),
    "libdevice.copysign(y, x)": lambda x, y: torch.copysign(y, x),
    "libdevice.fmod(x, y)": lambda x, y: torch.fmod(x, y),
    "libdevice.fma(x, y, x)": lambda x, y: x * y + x,
    "libdevice.rint(x)": lambda x, y: x.round(),
    "libdevice.round(x)": lambda x, y: (x.abs() + 0.5).floor().copysign(x),
    "libdevice.trunc(x)": lambda x, y: x.trunc(),
    "libdevice.abs(x)": lambda x, y: x.abs(),
    "libdevice.isnan(x).to(tl.float32)": lambda x, y: x.isnan().double(),
    "libdevice.fast_expf(x)": lambda x, y: x.exp(),
    "libdevice.fast_dividef(x, y)": lambda x, y: x / y,
    "cuda.mul_rn(x, y)": lambda x, y: x * y,
    "libdevice.lgamma(y)": lambda x, y: y.lgamma(),
}


def _run(formula: str, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    kernel = module_of(KERNEL.format(formula=formula), f"<{formula}>", "_libdevice", {}).kernel
    x = torch.tensor([-2.5, -1.5, -0.5, -0.0, 0.3, 0.5, 1.5, 2.5], dtype=dtype)
    y = torch.tensor([0.1, 0.7, 1.0, 2.0, 3.5, 0.9, 1.7, 4.0], dtype=dtype)
    out = torch.empty_like(x)
    kernel[(1,)](x, y, out, N=8)
    return x.double(), y.double(), out


@pytest.mark.parametrize("formula", FORMULAS)
def test_float32_is_computed_as_on_a_gpu(formula: str) -> None:
    """Kills: None, or another function's values, where the compiler calls libdevice."""
    x, y, out = _run(formula, torch.float32)
    torch.testing.assert_close(out.double(), FORMULAS[formula](x, y), rtol=3e-7, atol=1e-12)


def test_float64_stays_float64() -> None:
    """Kills: a result that went through float32."""
    x, _, out = _run("libdevice.tanh(x)", torch.float64)
    torch.testing.assert_close(out, x.tanh(), rtol=1e-15, atol=0)


def test_half_precision_is_refused_as_the_compiler_does() -> None:
    """Kills: a pass here, and `KeyError` on a GPU."""
    with pytest.raises(Exception) as caught:
        _run("libdevice.tanh(x)", torch.float16)
    cause = caught.value.__cause__
    assert isinstance(cause, NotOfThisDtype) and "called with float16" in str(cause)


def test_what_is_not_known_is_said() -> None:
    """Kills: a guess at what a rare function computes."""
    with pytest.raises(Exception) as caught:
        _run("libdevice.logb(x)", torch.float32)
    cause = caught.value.__cause__
    assert isinstance(cause, NotInterpreted) and "__nv_logbf" in str(cause)
