"""What the checks of 03_gelu_fusion try: cases and references."""

from tritonbook.checking import Check, Tolerance, case, derive_tolerance, rounded_once, tensor
from tritonbook.checking.asks import launches, moves

from ..shared.walks import each_once, in_float32
from .page import bias_gelu_ref, gelu_backward_ref, gelu_tanh_ref, silu_ref


def near_zero(dtype):
    """Half a step for the only rounding to a half dtype, so that a second one shows; where the
    result nears zero for negative x, errors are absolute, not relative."""
    usual = rounded_once(terms=1)(dtype)
    because = f"{usual.because}; 1e-06 absolute near zero"
    return Tolerance(usual.relative, absolute=1e-6, because=because)


CASES = [
    case("exactly one tile", x=tensor(1024)),
    case("one element more than a tile", x=tensor(1025)),
    case("two dimensions", x=tensor(33, 50)),
    case("half precision", dtype="float16", x=tensor(3000)),
    case("large values", x=tensor(500, scale=3000.0)),
    case("one of them NaN", x=tensor(40, planted={7: float("nan")})),
    case("not contiguous", x=tensor(8, 9, layout="transposed"), raises=ValueError),
    case("nothing to do", x=tensor(0)),
]


BIAS_CASES = [
    case("one tile a row", x=tensor(5, 1024), bias=tensor(1024)),
    case("two tiles and a bit", x=tensor(4, 2100), bias=tensor(2100)),
    case("narrow rows", x=tensor(60, 50), bias=tensor(50)),
    case("rows with gaps between them", x=tensor(6, 300, layout="strided"), bias=tensor(300)),
    case("half precision", dtype="float16", x=tensor(7, 600), bias=tensor(600)),
    case("a transposed matrix", x=tensor(31, 40, layout="transposed"), bias=tensor(40)),
    case("a bias with gaps", x=tensor(5, 200), bias=tensor(200, layout="strided")),
    case("large values", x=tensor(3, 90, scale=2e3), bias=tensor(90, scale=2e3)),
    case("one of them NaN", x=tensor(3, 40, planted={(1, 7): float("nan")}), bias=tensor(40)),
    case("a bias that does not fit", x=tensor(4, 8), bias=tensor(9), raises=ValueError),
    case("one row repeated", x=tensor(6, 70, layout="expanded"), bias=tensor(70)),
]


HIDDEN_BIAS_CASES = [
    case("one row", x=tensor(1, 2500), bias=tensor(2500)),
    case("one column", x=tensor(13, 1), bias=tensor(1)),
    case("three tiles, the last ragged", x=tensor(3, 2051), bias=tensor(2051)),
    case("transposed", x=tensor(31, 40, layout="transposed"), bias=tensor(40)),
    case("a bias with gaps", x=tensor(5, 200), bias=tensor(200, layout="strided")),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 513), bias=tensor(513)),
    case("large values", x=tensor(3, 90, scale=2e3), bias=tensor(90, scale=2e3)),
    case("a shift", dtype="float16", x=tensor(4, 700, mean=-1.5), bias=tensor(700, mean=0.5)),
    case("a square matrix", x=tensor(64, 64), bias=tensor(64)),
]


def after_cancelling(dtype):
    """The two terms of the derivative cancel where it crosses zero."""
    usual = derive_tolerance(dtype)
    because = f"{usual.because}; 1e-05 absolute where two terms cancel"
    return Tolerance(usual.relative, absolute=1e-5, because=because)


BACKWARD_CASES = [
    case("exactly one tile", dy=tensor(1024), x=tensor(1024)),
    case("a ragged tail", dy=tensor(1500), x=tensor(1500)),
    case("half precision", dtype="float16", dy=tensor(2000), x=tensor(2000)),
    case("large values", dy=tensor(300), x=tensor(300, scale=3000.0)),
    case("shapes that differ", dy=tensor(8), x=tensor(9), raises=ValueError),
]

HIDDEN_BACKWARD_CASES = [
    case("one element", dy=tensor(1), x=tensor(1)),
    case("around zero", dy=tensor(999), x=tensor(999, scale=1e-3)),
    case("exactly zero", dy=tensor(64), x=tensor(64, values="zeros")),
    case("bfloat16", dtype="bfloat16", dy=tensor(1025), x=tensor(1025)),
    case("around its zero", dy=tensor(777), x=tensor(777, mean=-0.75, scale=0.2)),
    case("very large values", dy=tensor(8), x=tensor(8, planted={0: 1e4, 7: -1e4})),
    case("two dimensions", dy=tensor(31, 43), x=tensor(31, 43)),
]

# any contiguous tensor x
ELEMENTWISE = [
    case("one element", x=tensor(1)),
    case("a prime number of elements", x=tensor(4099)),
    case("bfloat16", dtype="bfloat16", x=tensor(2049, scale=2.0)),
    case("half precision, large", dtype="float16", x=tensor(1100, scale=300.0)),
    case("very large values", x=tensor(40, planted={0: 1e4, 1: -1e4, 39: -3e4})),
    case("around zero", x=tensor(3001, scale=0.05)),
    case("memory that starts at an odd place", x=tensor(2500, layout="offset")),
    case("three dimensions", x=tensor(3, 17, 40)),
]

CHECKS = {
    "silu": Check(
        silu_ref,
        CASES,
        ELEMENTWISE,
        asks=[launches(1), moves(each_once), in_float32(CASES[2])],
        tolerance=near_zero,
    ),
    "gelu_tanh": Check(
        gelu_tanh_ref,
        CASES,
        ELEMENTWISE,
        asks=[launches(1), moves(each_once), in_float32(CASES[2])],
        tolerance=near_zero,
    ),
    "bias_gelu": Check(
        bias_gelu_ref,
        BIAS_CASES,
        HIDDEN_BIAS_CASES,
        asks=[launches(1), moves(each_once), in_float32(BIAS_CASES[0])],
        tolerance=near_zero,
    ),
    "gelu_backward": Check(
        gelu_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        asks=[launches(1), moves(each_once), in_float32(BACKWARD_CASES[1])],
        tolerance=after_cancelling,
    ),
}
