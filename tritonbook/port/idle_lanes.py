"""Lanes that a load's mask switches off, where no `other=` fills them.

On a GPU such a lane holds what its register held before. Triton's interpreter yields zeros, so that
a sum without `other=` is right here and wrong there. Here they hold rubbish too: NaN, which spoils
sums and products, large numbers of both signs, which spoil maxima and minima, or large integers.
A byte may have all its bits set, which as a float of eight bits is NaN.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

_zeros: ContextVar[bool] = ContextVar("zeros", default=False)
# Was the load that is running given `other=`? Triton takes a single 0 there for none. Where nobody
# can be asked, a load of one element is taken for one that was.
_given = [True]
# What numpy keeps as bits: the patterns of a NaN and of large numbers.
_BITS = {
    "bf16": (0x7FC0, 0x7149, 0xF149),
    "fp8e4nv": (0x7F, 0x7E, 0xFE),
    "fp8e5": (0x7F, 0x7B, 0xFB),
}
_FLOATS = {2: (np.nan, 3e4, -3e4), 4: (np.nan, 1e30, -1e30), 8: (np.nan, 1e300, -1e300)}
_LARGE = {1: (101, 255), 2: (30_011,), 4: (2_000_000_011,), 8: (4_000_000_000_000_000_037,)}


@contextlib.contextmanager
def hold_zero(zero: bool = True) -> Iterator[None]:
    """Inside, they hold zeros: for whoever asks whether the rubbish is what spoils a result."""
    token = _zeros.set(zero)
    try:
        yield
    finally:
        _zeros.reset(token)


def they_hold_zero() -> bool:
    """Whether this is inside `hold_zero`."""
    return _zeros.get()


def filled(interp: Any, pointers: Any, mask: np.ndarray) -> Any:
    """What a load without `other=` takes for it. interp: `triton.runtime.interpreter`."""
    kind = pointers.get_element_ty()
    values = np.zeros(pointers.data.shape, dtype=interp._get_np_dtype(kind))
    if not (_zeros.get() or (_given[-1] and values.size == 1)):
        idle = np.broadcast_to(~np.asarray(mask, dtype=bool), values.shape)
        values[idle] = np.resize(_rubbish(str(kind), values.dtype), values.shape)[idle]
    return interp.TensorHandle(values, kind)


def _rubbish(kind: str, dtype: np.dtype) -> tuple[Any, ...]:
    """Values that idle lanes hold by turns."""
    if dtype.kind == "b":
        return (True,)
    known = _FLOATS.get(dtype.itemsize, ()) if dtype.kind == "f" else _BITS.get(kind, ())
    return known or _LARGE[dtype.itemsize]


def lanes_of(mask: Any) -> np.ndarray:
    """A mask's lanes. Block pointers and descriptors give a bare array as mask."""
    return mask if isinstance(mask, np.ndarray) else mask.data


def hold_rubbish(interp: Any) -> None:
    """Make it so for every load of the interpreter."""
    original = interp.InterpreterBuilder.create_masked_load

    def load(self: Any, pointers: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        if other is None and not (lanes := lanes_of(mask)).all():
            other = filled(interp, pointers, lanes)
        return original(self, pointers, mask, other, *rest, **named)

    interp.InterpreterBuilder.create_masked_load = load
    _note_who_is_given_other(interp)


def _note_who_is_given_other(interp: Any) -> None:
    semantic = getattr(interp, "TritonSemantic", None)
    if semantic is None:  # Triton 3.2 has functions in its place
        return
    original = semantic.load
    _given[0] = False

    def load(self: Any, pointer: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        _given.append(other is not None)
        try:
            return original(self, pointer, mask, other, *rest, **named)
        finally:
            _given.pop()

    semantic.load = load
