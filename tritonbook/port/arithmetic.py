"""Arithmetic at its edges: NaN, zeros with a sign, division by zero, numbers out of range, numbers
below 2**-126.

Triton's interpreter does what numpy does, and a GPU does something else. What stands here was
measured on an H100 (`tests/gpu/test_arithmetic.py` holds it against the GPU that is there), and an
A100's code for it is the same, but for one case: `tl.clamp` between two constants of opposite signs
takes a NaN for the upper one on an H100 and for the lower one on an A100, and here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_WARP = 32


def compute_as_a_gpu(interp: Any) -> None:
    """Make it so for the interpreter. interp: the module `triton.runtime.interpreter`."""
    _least_and_largest(interp)
    _reduce_to_one(interp)
    _divide_by_zero(interp)
    _cut_to_whole_numbers(interp)
    _take_tiny_for_zero(interp)
    _round_once(interp)
    _add_at_once(interp)


# --- the smaller and the larger


def _larger(one: np.ndarray, two: np.ndarray, pick: Any = np.fmax) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = pick(one, two)
        if not (found == 0).any():
            return np.asarray(found)
        # 0.0 is more than -0.0, as their sum says
        return np.where((one == 0) & (two == 0), one + two, found)


def _smaller(one: np.ndarray, two: np.ndarray, pick: Any = np.fmin) -> np.ndarray:
    return -_larger(-one, -two, np.fmax if pick is np.fmin else np.maximum)


def _least_and_largest(interp: Any) -> None:
    """`tl.minimum`, `tl.maximum` and `tl.clamp` drop a NaN, unless `propagate_nan=` is ALL."""
    import triton.language as tl

    builder = interp.InterpreterBuilder

    def binary(op: Any, **options: Any) -> Any:
        return lambda self, one, two: self.binary_op(one, two, lambda a, b: op(a, b, **options))

    builder.create_maxnumf, builder.create_minnumf = binary(_larger), binary(_smaller)
    builder.create_maximumf = binary(_larger, pick=np.maximum)
    builder.create_minimumf = binary(_smaller, pick=np.minimum)

    def clamp(self: Any, value: Any, low: Any, high: Any, propagate_nan: Any) -> Any:
        if propagate_nan == tl.PropagateNan.ALL:
            return self.create_minimumf(self.create_maximumf(value, low), high)
        return self.create_minnumf(self.create_maxnumf(value, low), high)

    builder.create_clampf = clamp


def _reduce_to_one(interp: Any) -> None:
    """`tl.max` and `tl.min` drop NaNs too; with an index (`tl.argmax`) they compare pairs."""
    import triton.language as tl

    def min_max(self: Any, tile: Any, val_reduce_op: Any, idx_reduce_op: Any = None) -> Any:
        tile = tile[0] if isinstance(tile, tuple) else tile
        data, largest = tile.handle.data, val_reduce_op in (np.max, np.nanmax)
        axis, keep = self.axis, {"axis": self.axis, "keepdims": self.keep_dims}
        if data.dtype.kind != "f":
            found = val_reduce_op(data, **keep)
        elif idx_reduce_op and np.isnan(data).any():
            flat = data.reshape(-1) if axis is None else np.moveaxis(data, axis, -1)
            found, places = _met_in_pairs(flat, largest)
            if self.keep_dims:
                shape = np.sum(data, **keep).shape
                found, places = found.reshape(shape), places.reshape(shape)
            return self.to_tensor(found, tile.dtype), self.to_tensor(places, tl.int32)
        else:
            found = (np.fmax if largest else np.fmin).reduce(data, **keep)
            if (found == 0).any():
                signs = np.any((data == 0) & (np.signbit(data) != largest), **keep)
                zero = np.where(signs, 0.0 if largest else -0.0, found)
                found = np.where(found == 0, zero, found).astype(data.dtype)
        made = self.to_tensor(found, tile.dtype)
        if idx_reduce_op is None:
            return made
        return made, self.to_tensor(idx_reduce_op(data, **keep), tl.int32)

    interp.ReduceOps.min_max = min_max


def _met_in_pairs(values: np.ndarray, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The winner along the last axis, and its lane. A NaN wins no comparison and loses none: the
    right one of two stays. So it matters who meets whom: the lanes of a warp by halves, then the
    warps. (That of a tile with several elements a lane depends on its layout.)"""
    lanes = values.shape[-1]
    places = np.broadcast_to(np.arange(lanes, dtype=np.int32), values.shape)
    for width in (min(lanes, _WARP), -(-lanes // _WARP)):
        values, places = (
            each.reshape(*each.shape[:-1], each.shape[-1] // width, width)
            for each in (values, places)
        )
        while (half := values.shape[-1] // 2) > 0:
            one, two = values[..., :half], values[..., half:]
            at, other = places[..., :half], places[..., half:]
            left = (one > two if largest else one < two) | ((one == two) & (at < other))
            values, places = np.where(left, one, two), np.where(left, at, other)
        values, places = values[..., 0], places[..., 0]
    return values[..., 0], places[..., 0]


# --- division


def _divide_by_zero(interp: Any) -> None:
    """By a whole 0, quotient and rest have all bits set; in 64 bits the lower 32 alone, where the
    dividend has no others. The rest of floats comes from their rounded quotient."""
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle

    def whole(original: Callable[..., Any]) -> Callable[..., Any]:
        def divide(self: Any, one: Any, two: Any) -> Any:
            zero = two.data == 0
            if not zero.any():
                return original(self, one, two)
            data = np.asarray(original(self, one, handle(two.data + zero, two.dtype)).data)
            every = ~np.zeros_like(data)
            if data.itemsize == 8:
                every = np.where(one.data >> 32 == 0, data.dtype.type(0xFFFFFFFF), every)
            return handle(np.where(zero, every, data).astype(data.dtype), one.dtype.scalar)

        return divide

    for name in ("create_sdiv", "create_udiv", "create_srem", "create_urem"):
        setattr(builder, name, whole(getattr(builder, name)))

    def rest(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        if one.dtype.itemsize == 8:
            return np.fmod(one, two)
        with np.errstate(all="ignore"):
            quotient = np.trunc(np.divide(one, two, dtype=np.float32)).astype(np.float64)
            left = np.where(np.isinf(two), one, one - quotient * two)
        return left.astype(one.dtype)

    builder.create_frem = lambda self, one, two: self.binary_op(one, two, rest)


# --- conversions


def _cut_to_whole_numbers(interp: Any) -> None:
    """A float out of range becomes the end of the range that it passes; NaN, 0, or in 64 bits, and
    from float64, the lowest number. For 8 bits it is a number of 16, cut to its lower half."""
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle

    def convert(self: Any, value: Any, kind: Any) -> Any:
        dtype = interp._get_np_dtype(kind)
        wide = np.dtype(f"{dtype.kind}{max(dtype.itemsize, 2)}")
        ends, data = np.iinfo(wide), value.data
        odd = 1 << (ends.bits - 1) if 8 in (wide.itemsize, data.itemsize) else 0
        nan, over = np.isnan(data), data >= float(ends.max)
        with np.errstate(all="ignore"):
            cut = np.maximum(np.where(nan | over, 0, data), float(ends.min)).astype(wide)
        cut = np.where(over, ends.max, np.where(nan, np.array(odd).astype(wide), cut))
        return handle(cut.astype(wide).astype(dtype), kind.scalar)

    builder.create_fp_to_si = builder.create_fp_to_ui = convert


def _take_tiny_for_zero(interp: Any) -> None:
    """In float32 some functions take numbers below 2**-126 for zero; `tl.exp2` gives none."""
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle

    def flushed(value: Any) -> Any:
        if value.data.dtype != np.float32:
            return value
        with np.errstate(all="ignore"):
            tiny = np.abs(value.data) < np.finfo(value.data.dtype).tiny
            if not (tiny & (value.data != 0)).any():
                return value
            data = np.where(tiny, np.copysign(0, value.data), value.data)
        return handle(data.astype(value.data.dtype), value.dtype.scalar)

    def of_flushed(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, value: original(self, flushed(value))

    for name in ("floor", "ceil", "sqrt", "rsqrt", "erf", "sin"):
        setattr(builder, f"create_{name}", of_flushed(getattr(builder, f"create_{name}")))
    power = builder.create_exp2

    def exp2(self: Any, value: Any) -> Any:
        made = power(self, value)
        return flushed(made)

    builder.create_exp2 = exp2


def _round_once(interp: Any) -> None:
    """`tl.fma` rounds the sum alone, not the product too."""
    builder, handle = interp.InterpreterBuilder, interp.TensorHandle
    original = builder.create_fma
    if hasattr(interp._interpreter, "fma_fp32"):  # 3.9 does so itself
        return

    def fma(self: Any, one: Any, two: Any, three: Any) -> Any:
        if three.data.dtype not in (np.float16, np.float32):
            return original(self, one, two, three)
        with np.errstate(all="ignore"):
            exact = np.multiply(one.data, two.data, dtype=np.float64) + three.data
            return handle(exact.astype(three.data.dtype), three.dtype.scalar)

    builder.create_fma = fma


# --- atomics


def _add_at_once(interp: Any) -> None:
    """`tl.atomic_add` of 16 bits and `tl.atomic_xchg` of floats: not every interpreter has them."""
    import triton.language as tl

    builder, handle = interp.InterpreterBuilder, interp.TensorHandle
    original, memory = builder.create_atomic_rmw, interp._interpreter

    def atomic(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        data, kind = value.data, value.dtype.scalar
        if op == interp._ir.ATOMIC_OP.XCHG and data.dtype.kind == "f":
            bits = handle(data.view(f"i{data.itemsize}"), getattr(tl, f"int{8 * data.itemsize}"))
            old = original(self, op, pointers, bits, mask, *rest)
            return handle(old.data.view(data.dtype), kind)
        if op != interp._ir.ATOMIC_OP.FADD or data.itemsize != 2:
            return original(self, op, pointers, value, mask, *rest)
        places = pointers.data.reshape(-1)
        lanes = np.broadcast_to(mask.data, pointers.data.shape).reshape(-1)
        added, old = np.ascontiguousarray(data).reshape(-1), np.zeros(places.size, data.dtype)
        on: np.ndarray = np.ones(1, dtype=bool)
        for lane in np.flatnonzero(lanes):  # one after the other: two may share an address
            at = places[lane : lane + 1]
            old[lane : lane + 1] = memory.load(at, on, old[lane : lane + 1], data.dtype)
            terms = (handle(each[lane : lane + 1], kind) for each in (old, added))
            memory.store(at, self.create_fadd(*terms).data, on)
        return handle(old.reshape(data.shape), kind)

    builder.create_atomic_rmw = atomic
