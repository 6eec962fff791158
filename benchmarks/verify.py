"""Nothing is timed before it is right, and nothing counts that launched no kernel.

A wrong kernel is often a fast one. The usual way to be fooled is memory: an output that was never
written may lie where the right answer lay a moment ago. So every output is filled with NaN before
it is freed, and so is what the allocator hands out next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from tritonbook.checking.guard import poison_
from tritonbook.port.compat import hook_launch
from tritonbook.port.dispatch import DispatchMode

from .op import Op

# Relative error of the whole result, ||got - exact|| / ||exact||, that one rounding at the end and
# float32 arithmetic (tf32 and half-precision operands where products are summed) stay under.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}


class _PoisonEmpty(DispatchMode):
    """Every `empty` tensor starts as NaN (integers: the largest value)."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name.startswith(("empty", "new_empty")) and isinstance(made, torch.Tensor):
            poison(made)
        return made


def poison(value: Any) -> None:
    """Overwrite every tensor in `value` with NaN, or the largest integer."""
    for tensor in tensors(value):
        poison_(tensor.detach())


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order; tuples and lists are opened."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def copied(value: Any) -> Any:
    """A tensor's copy with the same strides, or the value itself where there is none."""
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().clone(memory_format=torch.preserve_format)
    return copy if copy.stride() == value.stride() else value


def exact_result(op: Op, args: tuple[Any, ...]) -> list[torch.Tensor]:
    """The float64 result on float64 copies of the arguments.

    Raises ValueError for a result without a tensor: nothing could differ from it.
    """
    doubles = [
        arg.double() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
        for arg in args
    ]
    result = op.exact(*doubles)
    found = tensors(op.part(result) if op.part else result)
    if not found:
        raise ValueError(f"the exact result holds no tensor, but a {type(result).__name__}")
    return found


def verify(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    expected: list[torch.Tensor],
    op: Op,
    *,
    ours: bool,
) -> tuple[float | None, str | None]:
    """Call `fn` once on poisoned memory and compare with `expected` (float64): its error, and why
    it may not be timed, None where it may.

    It gets copies of `args`, where strides can be kept: some work in place. Our own solutions must
    launch at least one Triton kernel. The outputs are poisoned afterwards, so that the next
    candidate cannot find them in freed memory.
    """
    launched: list[str] = []

    def count(call, kernel, grid, call_args, kwargs):
        launched.append(getattr(kernel, "__name__", "kernel"))
        return call()

    args = tuple(copied(arg) for arg in args)
    for want in expected:  # what the allocator hands out next holds no answer
        for dtype in {want.dtype, *(tensor.dtype for tensor in tensors(args))}:
            poison(torch.empty_like(want, dtype=dtype))
    try:
        if ours:
            with hook_launch(count), _PoisonEmpty():
                result = fn(*args)
        else:
            result = fn(*args)
        got = tensors(op.part(result) if op.part else result)
        error, problem = _compare(got, expected, {**TOLERANCE, **op.tolerance})
    except Exception as failure:
        return None, f"raised {type(failure).__name__}: {str(failure)[:200]}"
    finally:
        if args and isinstance(args[0], torch.Tensor) and args[0].is_cuda:
            torch.cuda.synchronize()
    inputs = {tensor.data_ptr() for tensor in tensors(args)}
    poison([tensor for tensor in tensors(result) if tensor.data_ptr() not in inputs])
    if problem is None and ours and not launched:
        problem = "launched no Triton kernel"
    return error, problem


def _compare(
    got: list[torch.Tensor], expected: list[torch.Tensor], tolerance: dict[str, float]
) -> tuple[float | None, str | None]:
    if len(got) != len(expected):
        return None, f"gave {len(got)} tensors instead of {len(expected)}"
    worst = 0.0
    for have, want in zip(got, expected, strict=True):
        if have.shape != want.shape:
            return None, f"gave shape {tuple(have.shape)} instead of {tuple(want.shape)}"
        allowed = tolerance[str(have.dtype).removeprefix("torch.")]
        error = float((have.double() - want).norm() / want.norm().clamp_min(1e-300))
        if not error <= allowed:  # NaN is not
            return error, f"is off by {error:.1e} (allowed {allowed:.1e})"
        worst = max(worst, error)
    return worst, None
