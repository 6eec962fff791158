"""CUDA's library of functions in the interpreter, which knows none of them.

`libdevice.tanh(x)` is compiled to a call of `__nv_tanhf`. Triton's own table says which dtypes a
function takes and what it gives; here is what each symbol computes: in float64, rounded to float32,
where CUDA's own may be off by a last bit or two.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import torch

from ..words import later
from .plain_words import said_of

_MODULES = ("triton.language.extra.cuda.libdevice", "triton.language.extra.libdevice")
_OF_NUMPY = """
    acos=arccos acosh=arccosh asin=arcsin asinh=arcsinh atan=arctan atan2=arctan2 atanh=arctanh
    cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmax fmin fmod hypot ldexp log log10 log1p
    log2 nearbyint=rint nextafter pow=power rint sin sinh sqrt tan tanh trunc
    fast_cos=cos fast_exp=exp fast_log=log fast_log10=log10 fast_log2=log2 fast_pow=power
    fast_sin=sin fast_tan=tan fast_tanh=tanh fast_fdivide=divide
    isnan isinf finite=isfinite isfinite signbit max=maximum min=minimum umax=maximum umin=minimum
    llmax=maximum llmin=minimum abs llabs=abs add_rn=add sub_rn=subtract mul_rn=multiply
    div_rn=divide sqrt_rn=sqrt
"""
_OF_TORCH = """
    erf erfc erfcx erfinv lgamma=gammaln normcdf=ndtr normcdfinv=ndtri j0=bessel_j0 j1=bessel_j1
    y0=bessel_y0 y1=bessel_y1 cyl_bessel_i0=i0 cyl_bessel_i1=i1
"""


def _of_torch(name: str) -> Callable[..., Any]:
    function = getattr(torch.special, name)
    return lambda x: function(torch.from_numpy(np.ascontiguousarray(x))).numpy()


def _away_from_zero(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _saturated(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0.0, np.clip(x, 0.0, 1.0))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp10": lambda x: np.power(10.0, x),
    "fast_exp10": lambda x: np.power(10.0, x),
    "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x + y), np.nan, 0.0)),
    "fma": lambda x, y, z: x * y + z,
    "fma_rn": lambda x, y, z: x * y + z,
    "round": _away_from_zero,
    "llround": _away_from_zero,
    "llrint": np.rint,
    "remainder": lambda x, y: np.vectorize(_remainder, otypes=[float])(x, y),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "rcp_rn": lambda x: 1 / x,
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "norm3d": lambda *xs: np.sqrt(sum(x * x for x in xs)),
    "norm4d": lambda *xs: np.sqrt(sum(x * x for x in xs)),
    "saturate": _saturated,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2.0)),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2.0)),
    "erfcinv": lambda x: _of_torch("erfinv")(1 - x),
    "tgamma": lambda x: np.vectorize(_gamma, otypes=[float])(x),
}
for _pair in _OF_NUMPY.split():
    _name, _, _other = _pair.partition("=")
    _FUNCTIONS[_name] = getattr(np, _other or _name)
for _pair in _OF_TORCH.split():
    _name, _, _other = _pair.partition("=")
    _FUNCTIONS[_name] = _of_torch(_other or _name)


def _remainder(x: float, y: float) -> float:
    try:
        return math.remainder(x, y)
    except ValueError:
        return math.nan


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except (ValueError, OverflowError):
        return math.nan if x < 0 or x == -math.inf else math.inf


class NotInterpreted(NotImplementedError):
    """A function of libdevice that nobody has written for the interpreter."""


class NotOfThisDtype(TypeError):
    """What the compiler does not take: libdevice has no such function of this dtype."""


def interpret_libdevice(interp: Any) -> None:
    """Let the interpreter compute what the compiler takes from libdevice, by whichever of its
    modules a kernel names it. interp: the module `triton.runtime.interpreter`."""
    cuda, plain = (importlib.import_module(name) for name in _MODULES)
    interp.InterpreterBuilder.create_extern_elementwise = functools.partialmethod(_elementwise)
    for name, function in [*vars(cuda).items()]:
        if isinstance(function, FunctionType) and not name.startswith("_"):
            setattr(cuda, name, _with_semantic(interp, function))
    for name, function in [*vars(plain).items()]:  # a list of names, for all makers' GPUs
        if isinstance(function, FunctionType) and function.__module__ == plain.__name__:
            setattr(plain, name, getattr(cuda, name, None) or _not_of_cuda(name))


def _with_semantic(interp: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of libdevice as a kernel calls it, without what the compiler hands along."""
    hidden = "_semantic" if hasattr(interp, "interpreter_semantic") else "_builder"
    given = getattr(interp, "interpreter_semantic", interp.interpreter_builder)

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **{**options, hidden: given})
        except (KeyError, ValueError) as error:  # by version
            asked = re.search(r"(?:^|got )(\(.*\))$", str(error))
            if asked is None:
                raise
            raise NotOfThisDtype(said_of(asked[1])) from None

    return called


def _not_of_cuda(name: str) -> Callable[..., Any]:
    def called(*args: Any, **options: Any) -> Any:
        raise AttributeError(later(f"NVIDIA's libdevice has no `{name}`."))

    return called


def _elementwise(
    self: Any, library: str, path: str, symbol: str, args: list[Any], result: Any, pure: bool
) -> Any:
    """What `symbol` computes of the arguments' values. Raises NotInterpreted."""
    handle = type(args[0])
    name = symbol.removeprefix("__nv_")
    # `tanhf` is tanh of float32; `fadd_rn` and `dadd_rn` are add_rn of both.
    names = name, name.removesuffix("f"), re.sub(r"^[df](?=\w+_r[nduz]$)", "", name)
    function = next((_FUNCTIONS[each] for each in names if each in _FUNCTIONS), None)
    values = [each.data for each in args]
    if function is None:
        raise NotInterpreted(
            f"Triton's interpreter does not know `{symbol}` of CUDA's libdevice: it runs on a GPU "
            "alone. Write it with functions of `tl`, to check it here."
        )
    with np.errstate(all="ignore"):
        floats = [v.astype(np.float64) if v.dtype == np.float32 else v for v in values]
        made = np.asarray(function(*floats))
        return handle(made.astype(_numpy(result)), _scalar(result))


def _scalar(dtype: Any) -> Any:
    return getattr(dtype, "scalar", dtype)


def _numpy(dtype: Any) -> Any:
    name = str(_scalar(dtype))
    kinds = {"fp32": np.float32, "fp64": np.float64, "int1": np.bool_}
    return kinds.get(name) or np.dtype(name)
