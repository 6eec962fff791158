"""Result against a float64 reference: type, dtype, shape, device, finiteness, then error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from ..words import later
from .guard import bits, is_poison
from .report import count

_FLOAT32_EPS = torch.finfo(torch.float32).eps
# exp, rsqrt, tanh and division on a GPU are good to a few units in the last place of float32; a
# short chain of them, scaled by an argument of ten or so, stays under this many.
_FUNCTION_ULPS = 16
# A GPU's exp and division may flush what is smaller than float32's normal numbers to zero, and a
# formula may scale it by an argument before it comes out.
_FLUSHED = 1024 * torch.finfo(torch.float32).smallest_normal
_TYPICAL_ROW = 16  # so many sums of random terms hardly all cancel


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from the float64 reference, element by element.

    |got - expected| <= relative * |expected| + of_row_max * (largest |expected| in its row)
                        + absolute.
    A row of few elements may be small by chance, however large the summands were: there the
    largest |expected| of all rows counts.
    `because` is shown on the card.
    bits: what is only moved, not computed with, has the same bits, those of a zero and NaN too.
    """

    relative: float
    of_row_max: float = 0.0
    absolute: float = 0.0
    because: str = "set by the exercise"
    bits: bool = False

    def bound(self, expected: torch.Tensor) -> torch.Tensor:
        """Allowed error for each element; same shape as `expected` (float64)."""
        size = expected.abs().nan_to_num(0.0, 0.0, 0.0)
        allowed = self.relative * size + self.absolute
        if self.of_row_max and size.numel():
            enough = size.ndim and size.shape[-1] >= _TYPICAL_ROW
            row = size.amax(dim=-1, keepdim=True) if enough else size.amax()
            allowed = allowed + self.of_row_max * row
        return allowed


SAME_BITS = Tolerance(0.0, because="what is moved keeps its bits", bits=True)


def derive_tolerance(dtype: torch.dtype, terms: int = 1) -> Tolerance:
    """Tolerance of a kernel that computes in float32 and rounds once to `dtype`.

    terms: how many products or summands go into one output element. Rounding errors of a sum add
    up like a random walk (N. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 2.8), hence the square root.
    """
    if not dtype.is_floating_point:
        return Tolerance(0.0, because=f"{_short(dtype)} results are exact")
    eps = torch.finfo(dtype).eps
    rounding = 0.0 if dtype in (torch.float32, torch.float64) else eps
    relative = rounding + _FUNCTION_ULPS * _FLOAT32_EPS
    of_row_max = 4 * _FLOAT32_EPS * math.sqrt(terms) if terms > 1 else 0.0
    absolute = max(torch.finfo(dtype).smallest_normal * eps, _FLUSHED)  # one subnormal step
    why = f"{_FUNCTION_ULPS} float32 steps of 1.2e-07"
    if rounding:
        step = later(f"one {_short(dtype)} step of {eps:.1e} for the store")
        why = f"{step}, {why}"
    if terms > 1:
        why += f", 4 steps x sqrt({terms}) for the sum"
    return Tolerance(relative, of_row_max, absolute, why)


def rounded_once(terms: int) -> Callable[[torch.dtype], Tolerance]:
    """For a contract that says "in float32, rounded once at the store": half a step of the dtype.

    It refuses a second rounding on the way, such as a sum in half precision. terms: of the sum.
    """

    def tolerance(dtype: torch.dtype) -> Tolerance:
        whole = derive_tolerance(dtype, terms)
        if dtype not in (torch.float16, torch.bfloat16):
            return whole
        half = torch.finfo(dtype).eps / 2
        _, _, rest = whole.because.partition(", ")
        rounding = later(f"one {_short(dtype)} rounding of {half:.1e} for the store")
        why = f"{rounding}, {rest}"
        return replace(whole, relative=whole.relative - half, because=why)

    return tolerance


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@dataclass
class Difference:
    """One output compared: `code` is None when it is right."""

    code: str | None = None
    sentence: str = ""
    # Tensors and a Tolerance; None where type, shape or dtype were wrong already.
    got: Any = None  # float64 on the CPU
    expected: Any = None
    bad: Any = None  # which elements are wrong
    unwritten: Any = None
    error: float = 0.0  # largest error in units of the tolerance (1.0 is just allowed)
    absolute_error: float = 0.0
    tolerance: Any = None
    dtype: torch.dtype | None = None  # of the result
    untouched: bool = False  # it holds what it held before the call

    @property
    def ok(self) -> bool:
        return self.code is None


def apart(tolerance: Tolerance, one: torch.Tensor, other: torch.Tensor) -> float:
    """How many tolerances two results of one shape lie from each other."""
    bound = tolerance.bound(other) + 1e-300
    alike = (one == other) | (one.isnan() & other.isnan())
    error = torch.where(alike, 0.0, (one - other).abs() / bound).nan_to_num(nan=torch.inf)
    return float(error.max()) if error.numel() else 0.0


def flatten(result: Any) -> list[Any]:
    """Tensors of a result in order; tuples and lists are opened."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]


def _describe(value: Any) -> str:
    if value is None:
        return "None"
    return f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"


def compare(
    got: Any,
    expected: torch.Tensor,
    dtype: torch.dtype,
    device: str,
    tolerance: Tolerance,
    label: str = "the result",
) -> Difference:
    """Compare one returned value with the float64 CPU tensor `expected`."""
    if type(got) is not torch.Tensor and not isinstance(got, torch.nn.Parameter):
        hint = " Is a `return` missing?" if got is None else ""
        return Difference(
            "wrong-type", f"Expected a tensor as {label}, got {_describe(got)}.{hint}"
        )
    if got.device.type != device:
        where = f"{label} is on {got.device.type}, the inputs are on {device}"
        return Difference("wrong-device", f"{where[0].upper()}{where[1:]}.")
    if tuple(got.shape) != tuple(expected.shape):
        return Difference(
            "wrong-shape",
            f"Expected shape {tuple(expected.shape)} for {label}, got {tuple(got.shape)}.",
        )
    if got.dtype != dtype:
        return Difference(
            "wrong-dtype", f"Expected {_short(dtype)} for {label}, got {_short(got.dtype)}."
        )
    return compare_values(got, expected, tolerance)


def compare_values(got: torch.Tensor, expected: torch.Tensor, tolerance: Tolerance) -> Difference:
    """Element by element; non-finite values must match in kind and sign."""
    raw = got.detach().cpu()
    unwritten = is_poison(raw)
    value = raw.to(torch.float64)
    want = expected.to(torch.float64)
    # What overflows the output's own dtype is infinite by right.
    if raw.dtype.is_floating_point:
        want = torch.where(want.abs() > torch.finfo(raw.dtype).max, want * math.inf, want)
    bound = tolerance.bound(want)
    error = (value - want).abs()
    same = (value == want) | (value.isnan() & want.isnan() & ~unwritten)
    finite = value.isfinite() & want.isfinite()
    bad = ~(same | (finite & (error <= bound)))
    if tolerance.bits:
        bad = bits(raw.contiguous()) != bits(want.to(raw.dtype))
    ratio = torch.where(same, 0.0, error / bound.clamp_min(1e-300))
    difference = Difference(
        got=value, expected=want, bad=bad, unwritten=unwritten, tolerance=tolerance, dtype=raw.dtype
    )
    difference.untouched = bool(unwritten.numel() and unwritten.all())
    if finite.any():
        difference.error = float(ratio[finite].max())
        difference.absolute_error = float(error[finite].max())
    if bad.any():
        difference.code = "wrong-values"
    return difference


WRONG_TENSOR = "Wrong values in the tensor."


def compare_plain(got: Any, expected: Any, relative: float = 1e-9) -> str | None:
    """Compare lists, tuples, dicts, numbers, strings; None when equal, else one sentence."""
    return _walk(got, expected, relative, "")


def _walk(got: Any, expected: Any, relative: float, where: str) -> str | None:
    at = f" at `{where}`" if where else ""
    got = got.item() if isinstance(got, np.generic) else got  # a number of numpy's is a number
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"Expected a tensor{at}, got {_describe(got)}."
        if tuple(got.shape) != tuple(expected.shape):
            return f"Expected shape {tuple(expected.shape)}{at}, got {tuple(got.shape)}."
        if got.dtype != expected.dtype:
            return f"Expected {_short(expected.dtype)}{at}, got {_short(got.dtype)}."
        loose = Tolerance(relative, absolute=relative)
        # A reference that is an answer too ran where the tensors are, perhaps on the GPU.
        if not compare_values(got, expected.detach().cpu(), loose).ok:
            return f"Wrong values in the tensor{at}." if at else WRONG_TENSOR
        return None
    if isinstance(expected, dict):
        if not isinstance(got, dict) or set(got) != set(expected):
            keys = ", ".join(map(repr, expected))
            return f"Expected a dict with the keys {keys}{at}, got {got!r}."
        walked = (_walk(got[k], expected[k], relative, f"{where}[{k!r}]") for k in expected)
        return next(filter(None, walked), None)
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)):
            return f"Expected {_describe(expected)}{at}, got {got!r}."
        if len(got) != len(expected):
            return f"Expected {count(len(expected), 'item')}{at}, got {len(got)}: {_clip(got)}."
        pairs = zip(got, expected, strict=True)
        walked = (_walk(g, e, relative, f"{where}[{i}]") for i, (g, e) in enumerate(pairs))
        return next(filter(None, walked), None)
    if isinstance(expected, bool) or not isinstance(expected, (int, float)):
        # The reference's own ==, never one that the answer brought along.
        kind: Any = type(expected)
        same = kind.__eq__(expected, got) is True
        return None if same else f"Expected {expected!r}{at}, got {_clip(got)}."
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        return f"Expected a number{at}, got {_clip(got)}."
    close = math.isclose(got, expected, rel_tol=relative, abs_tol=0.0) or got == expected
    if isinstance(expected, int) and isinstance(got, int):
        close = got == expected
    shown = [f"{value:.6g}" for value in (expected, got)]
    if shown[0] == shown[1] or isinstance(expected, int):
        shown = [repr(expected), _clip(got)]
    return None if close else f"Expected {shown[0]}{at}, got {shown[1]}."


def _clip(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
