"""Scans and reductions by a function of the learner's own, grouped as a GPU groups lanes.

Triton's interpreter combines one lane after the other, and so forgives a function that is not
associative. A GPU combines neighbours first, then pairs of pairs. Here it is so too, a whole tile
at each step: that also takes ten calls of the function for 1,024 lanes and not a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..words import later

_NOT_JITTED = later("the function of a scan or a reduction is defined under @triton.jit")
_AS_MANY = later("the function of a scan or a reduction returns as many values as tiles go in")


def combine_in_trees(interp: Any) -> None:
    """Make it so for the interpreter. interp: `triton.runtime.interpreter`."""
    interp.ScanOps.generic_scan = _scan
    interp.ReduceOps.generic_reduce = _reduce


def _scan(self: Any, inputs: Any) -> list[Any]:
    data, axis = [each.handle.data for each in inputs], self.axis % len(inputs[0].shape)
    lanes = data[0].shape[axis]
    lane = np.arange(lanes).reshape([-1 if d == axis else 1 for d in range(data[0].ndim)])
    step = 1
    while step < lanes:
        earlier = [np.roll(each, step, axis) for each in data]
        made = _combined(self, inputs, earlier, data)
        data = [np.where(lane < step, old, new) for old, new in zip(data, made, strict=True)]
        step *= 2
    return [self.to_tensor(each, one.dtype) for each, one in zip(data, inputs, strict=True)]


def _reduce(self: Any, inputs: Any) -> Any:
    data, axis = [each.handle.data for each in inputs], self.axis
    kept = [1] * data[0].ndim
    if axis is None:
        data, axis = [each.reshape(-1) for each in data], 0
    while data[0].shape[axis] > 1:
        halves = [
            [each.take(range(first, each.shape[axis], 2), axis) for each in data]
            for first in (0, 1)
        ]
        data = _combined(self, inputs, *halves)
    if self.keep_dims:
        data = [each.reshape(kept) if self.axis is None else each for each in data]
    else:
        data = [each.squeeze(axis) for each in data]
    made = [self.to_tensor(each, one.dtype) for each, one in zip(data, inputs, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _combined(self: Any, inputs: Any, left: Any, right: Any) -> list[np.ndarray]:
    """The function's results for arrays of left and of right arguments."""
    dtypes = [each.dtype for each in inputs] * 2
    tiles = [self.to_tensor(*each) for each in zip((*left, *right), dtypes, strict=True)]
    combine = getattr(self.combine_fn, "fn", None)
    if combine is None:
        raise TypeError(_NOT_JITTED)
    with np.errstate(all="ignore"):  # lanes whose result is not kept
        made = combine(*tiles)
    made = made if isinstance(made, tuple) else (made,)
    if len(made) != len(left):
        given, values = len(left), len(made)
        raise TypeError(later(f"{given} tiles and {values} values: {_AS_MANY}"))
    return [
        np.broadcast_to(getattr(getattr(new, "handle", None), "data", new), old.shape).astype(
            old.dtype
        )
        for new, old in zip(made, left, strict=True)
    ]
