"""What the checks of 03_gelu_fusion try: cases, references, and mistakes that have a name."""

import math

import torch
import torch.nn.functional as F

from tritonbook.checking import Check, Tolerance, case, derive_tolerance, tensor

from ..shared.walks import each_once, in_float32
from .page import (
    SQRT_2_OVER_PI,
    bias_gelu_ref,
    gelu_backward_ref,
    gelu_tanh_ref,
    silu_ref,
)


def gelu_u(x):
    return SQRT_2_OVER_PI.value * (x + 0.044715 * x**3)


def half(x):
    """x rounded to half precision on the way."""
    return x.half().to(x.dtype)


def rounded_once(dtype):
    """Half a step for the only rounding to a half dtype, so that a second one shows; where the
    result nears zero for negative x, errors are absolute, not relative."""
    usual = derive_tolerance(dtype)
    step = 0.0 if dtype in (torch.float32, torch.float64) else torch.finfo(dtype).eps
    because = f"{usual.because}; 1e-06 absolute near zero"
    if step:
        because = because.replace("one ", "half a ", 1)
    return Tolerance(usual.relative - step / 2, absolute=1e-6, because=because)


CASES = [
    case("exactly one tile", x=tensor(1024)),
    case("one element more than a tile", x=tensor(1025)),
    case("two dimensions", x=tensor(33, 50)),
    case("half precision", dtype="float16", x=tensor(3000)),
    case("large values", x=tensor(500, scale=3000.0)),
    case("not contiguous", x=tensor(8, 9, layout="transposed"), raises=ValueError),
    case("nothing to do", x=tensor(0)),
]

ROUNDED = (
    "A value between load and store is rounded to half precision. Convert to float32 right after "
    "the load, and stay there."
)

SILU_SUSPECTS = {
    "only-sigmoid": (torch.sigmoid, "This is the sigmoid alone. The factor x is missing."),
    "sigmoid-of-minus-x": (
        lambda x: x * torch.sigmoid(-x),
        "This is x sigmoid(-x). Look at the sign inside the exponential.",
    ),
    "tanh": (lambda x: x * torch.tanh(x), "This is x tanh(x)."),
    "unchanged": (lambda x: x, "This is x itself: the factor sigmoid(x) is missing."),
    "rounded-between": (lambda x: x * half(torch.sigmoid(x)), ROUNDED),
    "half-arithmetic": (lambda x: half(x * half(torch.sigmoid(x))), ROUNDED),
}

GELU_SUSPECTS = {
    "erf-form": (F.gelu, "This is GELU's other form, with erf. The task asks for the tanh form."),
    "sigmoid-of-u": (
        lambda x: x * torch.sigmoid(gelu_u(x)),
        "This is x sigmoid(u). tanh u is 2 sigmoid(2u) - 1: a factor of 2 is missing inside.",
    ),
    "half-missing": (lambda x: x * (1 + torch.tanh(gelu_u(x))), "The factor 1/2 is missing."),
    "one-missing": (lambda x: 0.5 * x * torch.tanh(gelu_u(x)), "The 1 before tanh is missing."),
    "square-for-cube": (
        lambda x: x * torch.sigmoid(2 * SQRT_2_OVER_PI.value * (x + 0.044715 * x * x)),
        "The polynomial has x squared where it should have x cubed.",
    ),
    "no-cubic-term": (
        lambda x: x * torch.sigmoid(2 * SQRT_2_OVER_PI.value * x),
        "The cubic term is missing from u.",
    ),
    "quick-gelu": (
        lambda x: x * torch.sigmoid(1.702 * x),
        "This is the quick approximation x sigmoid(1.702 x), not the tanh form.",
    ),
    "silu": (lambda x: x * torch.sigmoid(x), "This is SiLU."),
    "unchanged": (lambda x: x, "This is x itself: the sigmoid is missing."),
    "coefficient": (
        lambda x: x * torch.sigmoid(2 * SQRT_2_OVER_PI.value * (x + 0.44715 * x**3)),
        "The coefficient of the cube is 0.044715, not 0.44715.",
    ),
    "root-missing": (
        lambda x: x * torch.sigmoid(4 / math.pi * (x + 0.044715 * x**3)),
        "The root is missing: the factor of u is sqrt(2 / pi), not 2 / pi.",
    ),
    "factor-missing": (
        lambda x: x * torch.sigmoid(2 * (x + 0.044715 * x**3)),
        "The factor sqrt(2 / pi) is missing from u.",
    ),
    "rounded-between": (
        lambda x: x * torch.sigmoid(2 * SQRT_2_OVER_PI.value * (x + 0.044715 * half(x**3))),
        ROUNDED,
    ),
    "half-arithmetic": (lambda x: x * torch.sigmoid(2 * half(gelu_u(x))), ROUNDED),
}

BIAS_CASES = [
    case("one tile a row", x=tensor(5, 1024), bias=tensor(1024)),
    case("a tile and a bit", x=tensor(4, 1030), bias=tensor(1030)),
    case("narrow rows", x=tensor(20, 50), bias=tensor(50)),
    case("rows with gaps between them", x=tensor(6, 300, layout="strided"), bias=tensor(300)),
    case("half precision", dtype="float16", x=tensor(7, 600), bias=tensor(600)),
    case("a transposed matrix", x=tensor(31, 40, layout="transposed"), bias=tensor(40)),
    case("a bias with gaps", x=tensor(5, 200), bias=tensor(200, layout="strided")),
    case("large values", x=tensor(3, 90, scale=2e3), bias=tensor(90, scale=2e3)),
    case("a bias that does not fit", x=tensor(4, 8), bias=tensor(9), raises=ValueError),
    case("one row repeated", x=tensor(6, 70, layout="expanded"), bias=tensor(70)),
]


def after_the_bias(formula):
    return lambda x, bias: formula(x + bias)


GELU_MISTAKES = {
    code: (after_the_bias(formula), sentence) for code, (formula, sentence) in GELU_SUSPECTS.items()
}

BIAS_SUSPECTS = GELU_MISTAKES | {
    "bias-missing": (lambda x, bias: gelu_tanh_ref(x), "The bias was not added."),
    "bias-after": (
        lambda x, bias: gelu_tanh_ref(x) + bias,
        "The bias was added after the GELU instead of before it.",
    ),
    "first-bias-for-all": (
        lambda x, bias: gelu_tanh_ref(x + bias[0]),
        "Every column got bias[0]. The address of the bias needs the column.",
    ),
    "bias-by-row": (
        lambda x, bias: gelu_tanh_ref(x + bias[torch.arange(len(x)) % len(bias), None]),
        "Row m got bias[m]. The bias belongs to the columns.",
    ),
    "bias-only-in-u": (
        lambda x, bias: x * torch.sigmoid(2 * gelu_u(x + bias)),
        "The bias is in u but not in the factor before the sigmoid. Add it once, at the start.",
    ),
    "bias-not-in-u": (
        lambda x, bias: (x + bias) * torch.sigmoid(2 * gelu_u(x)),
        "The bias is in the factor before the sigmoid but not in u. Add it once, at the start.",
    ),
    "bias-subtracted": (lambda x, bias: gelu_tanh_ref(x - bias), "The bias was subtracted."),
    "rounded-between": (lambda x, bias: gelu_tanh_ref(half(x + bias)), ROUNDED),
}

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


def two_terms(
    dy,
    x,
    first=1,
    second=1,
    outer=2,
    slope=lambda s: s * (1 - s),
    inner=2,
    root=SQRT_2_OVER_PI.value,
    cube=3,
    power=2,
):
    """dy times both terms of the product rule, each with its factor."""
    s = torch.sigmoid(outer * gelu_u(x))
    du = root * (1 + cube * 0.044715 * x**power)
    return dy * (first * s + second * x * slope(s) * inner * du)


BACKWARD_SUSPECTS = {
    "dy-missing": (
        lambda dy, x: gelu_backward_ref(torch.ones_like(x), x),
        "This is the derivative itself. It has to be multiplied by dy.",
    ),
    "first-term-missing": (
        lambda dy, x: two_terms(dy, x, first=0),
        "The first term of the product rule, s, is missing.",
    ),
    "second-term-missing": (
        lambda dy, x: two_terms(dy, x, second=0),
        "This is dy times s. The second term of the product rule is missing.",
    ),
    "one-minus-s-missing": (
        lambda dy, x: two_terms(dy, x, slope=lambda s: s),
        "The factor 1 - s is missing from the second term.",
    ),
    "sigmoid-of-u": (
        lambda dy, x: two_terms(dy, x, outer=1),
        "s is the sigmoid of u here. It is that of 2u.",
    ),
    "factor-missing": (
        lambda dy, x: two_terms(dy, x, root=1),
        "The factor sqrt(2 / pi) is missing from du/dx.",
    ),
    "cube-for-square": (
        lambda dy, x: two_terms(dy, x, power=3),
        "du/dx has x cubed where it should have x squared.",
    ),
    "erf-form": (
        lambda dy, x: torch.ops.aten.gelu_backward(dy, x),
        "This is the derivative of GELU's other form, with erf.",
    ),
    "forward": (lambda dy, x: dy * gelu_tanh_ref(x), "This is dy times GELU, not its derivative."),
    "three-missing": (
        lambda dy, x: two_terms(dy, x, cube=1),
        "The 3 is missing from du/dx: the derivative of x^3 is 3 x^2.",
    ),
    "two-missing": (
        lambda dy, x: two_terms(dy, x, inner=1),
        "The 2 is missing: s is a function of 2u, so du/dx comes in twice.",
    ),
    "first-term-without-dy": (
        lambda dy, x: two_terms(1, x, second=0) + two_terms(dy, x, first=0),
        "dy multiplies only the second term. It multiplies the whole derivative.",
    ),
    "second-term-without-dy": (
        lambda dy, x: two_terms(dy, x, second=0) + two_terms(1, x, first=0),
        "dy multiplies only the first term. It multiplies the whole derivative.",
    ),
    "sign": (
        lambda dy, x: two_terms(dy, x, second=0) - two_terms(dy, x, first=0),
        "The second term has the wrong sign.",
    ),
}

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
        launches=1,
        traffic=each_once,
        facts=in_float32(CASES[2]),
        tolerance=rounded_once,
        mistakes=SILU_SUSPECTS,
    ),
    "gelu_tanh": Check(
        gelu_tanh_ref,
        CASES,
        ELEMENTWISE,
        launches=1,
        traffic=each_once,
        facts=in_float32(CASES[2]),
        tolerance=rounded_once,
        mistakes=GELU_SUSPECTS,
    ),
    "bias_gelu": Check(
        bias_gelu_ref,
        BIAS_CASES,
        HIDDEN_BIAS_CASES,
        launches=1,
        traffic=each_once,
        facts=in_float32(BIAS_CASES[0]),
        tolerance=rounded_once,
        mistakes=BIAS_SUSPECTS,
    ),
    "gelu_backward": Check(
        gelu_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        launches=1,
        traffic=each_once,
        facts=in_float32(BACKWARD_CASES[1]),
        tolerance=after_cancelling,
        mistakes=BACKWARD_SUSPECTS,
    ),
}
