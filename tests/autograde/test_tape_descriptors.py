"""Tensor descriptors on a tape: an honest one arrives as it was, a made-up one is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.judge.gate import _text
from autograde.judge.player import laid_out
from autograde.walls import fence
from autograde.walls.tape import TapeError, decode, encode
from tritonbook.kernels import gluon
from tritonbook.kernels.descriptors import describe
from tritonbook.kernels.gluon import triton_has_gluon
from tritonbook.port.compat import triton_version
from tritonbook.port.device import INTERPRET

pytestmark = pytest.mark.skipif(
    triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6"
)

X = torch.arange(64 * 32, dtype=torch.float16).reshape(64, 32)
VIEW = X[8:, 16:]  # (56, 16), and 8 rows and 16 columns further on in its memory


def _written(base: object = VIEW, shape=(56, 16), strides=(32, 1), block=(8, 16)) -> dict:
    return {"described": [{"t": base}, list(shape), list(strides), list(block)]}


def test_one_of_gluons_keeps_its_layout() -> None:
    """Kills: a kernel that asks its descriptor for a layout, and the grader's has none."""
    if not triton_has_gluon():
        pytest.skip("this Triton's Gluon has other words")
    made = gluon.laid_out(VIEW, [56, 16], [32, 1], [8, 16])
    written = encode(made, lambda tensor: {"t": tensor})
    assert written == {"laid out": _written()["described"]}
    played = decode(written, _resolve)
    assert (played.base is VIEW, played.layout) == (True, made.layout)
    text = _text(laid_out(played), None)
    assert text.startswith("laid_out(make((56, 16), (32, 1), torch.float16, 0), [56, 16]"), text
    made.layout = gluon.layout_of((8, 32), VIEW.dtype)  # another one cannot be told
    with pytest.raises(TypeError, match="TensorDescriptor"):
        encode(made, _no_other)
    with pytest.raises(TapeError):
        decode({"laid out": _written(shape=(57, 16))["described"]}, _resolve)


def _resolve(data: dict) -> object:
    if "t" not in data:
        raise TapeError("not a value")
    return data["t"]


def test_a_descriptor_arrives_as_it_was() -> None:
    """Kills: the strides of a contiguous tensor, a block for a shape."""
    written = encode(describe(VIEW, [8, 16]), lambda tensor: {"t": tensor})
    assert written == _written()
    made = decode(written, _resolve)
    assert made.base is VIEW
    assert (made.shape, made.strides, made.block_shape) == ([56, 16], [32, 1], [8, 16])


@pytest.mark.parametrize(
    "written",
    [
        _written(base=3),
        _written(shape=(57, 16)),  # one row behind the end
        _written(shape=(56, 17)),
        _written(strides=(40, 1)),
        _written(strides=(-32, 1)),
        _written(shape=(8, 8), strides=(32, 2)),
        _written(shape=(8, 16), strides=(33, 1)),  # 66 bytes
        _written(shape=(0, 16)),
        _written(shape=(56.0, 16)),
        _written(shape=(True, 16)),
        _written(shape=(56,)),
        _written(block=(7, 16)),
        _written(block=(8, 16, 1)),
        _written(shape=(), strides=(), block=()),
        _written(shape=6 * (1,), strides=6 * (8,), block=6 * (1,)),
        _written(base=X[8:, 17:], shape=(8, 8)),  # an odd address
        {"described": [{"t": VIEW}, 56, [32, 1], [8, 16]]},
        {"described": [{"t": VIEW}, [56, 16], [32, 1]]},
        {"described": {"t": VIEW}},
    ],
)
def test_a_made_up_descriptor_is_refused(written: dict) -> None:
    """Kills: memory outside the tensor; an exception of Triton's that ends the checker."""
    with pytest.raises(TapeError):
        decode(written, _resolve)


def test_zeros_outside_are_all_that_can_be_asked_for() -> None:
    """Kills: NaN asked for, zeros played."""
    wanted = describe(VIEW, [8, 16])
    wanted.padding = "nan"
    with pytest.raises(TypeError, match="TensorDescriptor"):
        encode(wanted, _no_other)


def _no_other(value: object) -> None:
    raise TypeError(f"a {type(value).__name__} cannot be passed on")


@pytest.mark.skipif(not INTERPRET, reason="asks the interpreter")
def test_the_fence_stands_around_descriptors_too() -> None:
    """Kills: a mask that is a bare array, which the fence could not read."""
    from triton.language import float16, pointer_type
    from triton.runtime.interpreter import TensorHandle

    addresses = np.array([X.data_ptr() - 2, X.data_ptr(), X.data_ptr() + 2], dtype=np.uint64)
    try:
        fence.allow([X])
        pointers = TensorHandle(addresses, pointer_type(float16))
        kept = fence._inside(pointers, np.array([True, True, False]))
    finally:
        fence.allow([])
    assert kept.data.tolist() == [False, True, False]
