"""Plans of the interpreter: the same results as Triton's own way, for every kind of operand."""

import tritonbook  # noqa: F401  isort: skip

import itertools

import numpy as np
import pytest
import triton.language as tl
from triton.runtime import interpreter

semantic = getattr(interpreter, "interpreter_semantic", None)
pytestmark = pytest.mark.skipif(
    not tritonbook.INTERPRET or semantic is None, reason="nothing is planned here"
)
ARITHMETIC = [("add", (True,)), ("sub", (True,)), ("mul", (True,)), ("truediv", ())]
COMPARISONS = [(name, ()) for name in ("less_than", "greater_equal", "equal", "not_equal")]
SHAPES = [(), (4,), (4, 1), (1, 4)]
NUMBERS = [0, 0.0, -0.0, False, 1, 1.0, True, 2.5, 3]


def tile(dtype, shape=(4,), start=1):
    """A tile of values that are small and no two alike, or a scalar."""
    values = (np.arange(int(np.prod(shape))) + start).reshape(shape or (1,))
    if dtype == tl.bfloat16:  # kept as bits
        values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    data = values.astype(interpreter._get_np_dtype(dtype))
    kind = tl.block_type(dtype, list(shape)) if shape else dtype
    return tl.tensor(interpreter.TensorHandle(data, dtype), kind)


def same(planned, own):
    pairs = zip(planned, own, strict=True) if isinstance(planned, tuple) else [(planned, own)]
    for one, other in pairs:
        assert one.type == other.type and one.handle.dtype == other.handle.dtype
        assert one.handle.data.dtype == other.handle.data.dtype
        assert one.handle.data.tobytes() == other.handle.data.tobytes()
        assert one.handle.data.shape == other.handle.data.shape


def both(name, *args):
    """What the method gives as it is called now, and what Triton's own gives. Errors as text."""
    given = []
    own = type(semantic)(semantic.builder)  # only the interpreter's one object keeps plans
    for who in (semantic, own):
        try:
            given.append(getattr(who, name)(*args))
        except Exception as error:
            given.append(f"{type(error).__name__}: {error}")
    if any(isinstance(one, str) for one in given):
        assert given[0] == given[1]
    else:
        same(*given)


@pytest.mark.parametrize(("name", "more"), ARITHMETIC + COMPARISONS)
def test_every_pair_of_operands_gives_what_triton_gives(name, more):
    """Kills: a plan for other types, shapes or numbers (1 for True, 0.0 for -0.0); data of the
    call that wrote the plan; an error that is not raised again. Thrice: seen, written, followed."""
    dtypes = [tl.int1, tl.int32, tl.int64, tl.float16, tl.bfloat16, tl.float32]
    for turn in range(3):
        for left, right in itertools.product(dtypes, dtypes):
            both(name, tile(left, start=turn + 1), tile(right, start=turn + 2), *more)
        for left, right in itertools.product(SHAPES, SHAPES):
            one, other = tile(tl.float32, left, turn + 1), tile(tl.int32, right, turn + 3)
            both(name, one, other, *more)
        for number, dtype in itertools.product(NUMBERS, dtypes):
            both(name, tile(dtype, start=turn + 1), number, *more)
            both(name, number, tile(dtype, start=turn + 1), *more)


def test_a_square_is_not_the_plan_of_a_product():
    """Kills: `x * x`, noted as the first operand times itself and followed for `x * y`."""
    x, y = tile(tl.float64, start=2), tile(tl.float64, start=5)
    for one, other in ((x, x), (x, x), (x, y), (y, x), (x, y), (x, x)):
        both("mul", one, other, True)


def test_pointers_and_casts():
    """Kills: the step of another element's size; a cast that is forgotten, or made once."""
    for turn in range(3):
        for element in (tl.int8, tl.float16, tl.float32):
            pointer = tile(tl.pointer_type(element), start=1000 * turn)
            both("add", pointer, tile(tl.int32, start=turn), True)
            both("add", pointer, 3, True)
            both("add", pointer, pointer, True)  # an error
        for wanted in (tl.float16, tl.bfloat16, tl.float32, tl.int32, tl.int1):
            both("cast", tile(tl.float32, start=turn), wanted)
        both("expand_dims", tile(tl.float32, start=turn), 0)
        both("expand_dims", tile(tl.float32, start=turn), 1)


def test_what_is_never_asked_again_gets_no_plan_and_the_rest_is_followed(monkeypatch):
    """Kills: plans that are written and never used (each takes longer than the call)."""
    calls = []
    planned = semantic.mul
    monkeypatch.setattr(
        type(semantic), "integer_promote_impl", lambda self, a, b: calls.append(1) or a
    )
    for _ in range(5):
        planned(tile(tl.int64, (8,)), tile(tl.int64, (8,)), True)
    assert len(calls) == 2  # seen and written; then followed
