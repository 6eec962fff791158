"""Cases that several hidden checks of one notebook share, kept off its learner's page."""

from __future__ import annotations

from ..checking.cases import case, tensor

MINUS_INFINITY = float("-inf")

# 03: any contiguous tensor x.
ELEMENTWISE = [
    case("one element", x=tensor(1)),
    case("a prime number of elements", x=tensor(4099)),
    case("bfloat16", dtype="bfloat16", x=tensor(2049, scale=2.0)),
    case("half precision, large", dtype="float16", x=tensor(1100, scale=300.0)),
    case("very large values", x=tensor(40, planted={0: 1e4, 1: -1e4, 39: -3e4})),
    case("around zero", x=tensor(3001, scale=0.05)),
    case("memory that starts at an odd place", x=tensor(2500, layout="offset")),
    case("three dimensions", x=tensor(3, 17, 40)),
    case("nothing to do", x=tensor(0)),
]

# 04: the rows of a matrix x, any strides.
SOFTMAX_ROWS = [
    case("one column", x=tensor(9, 1)),
    case("one element more than a power of two", x=tensor(3, 1025)),
    case("one row", x=tensor(1, 333)),
    case("many short rows", x=tensor(40, 3)),
    case("transposed", x=tensor(17, 40, layout="transposed")),
    case("one row repeated", x=tensor(6, 50, layout="expanded")),
    case("memory that starts at an odd place", x=tensor(5, 129, layout="offset")),
    case(
        "some entries are minus infinity",
        x=tensor(3, 40, planted={(0, 0): MINUS_INFINITY, (1, 39): MINUS_INFINITY}),
    ),
    case(
        "a whole row of minus infinity",
        x=tensor(2, 4, planted={(1, i): MINUS_INFINITY for i in range(4)}),
    ),
    case("half precision, large", dtype="float16", x=tensor(3, 500, scale=5000.0)),
    case("half precision, many small shares", dtype="float16", x=tensor(2, 4000, scale=0.1)),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 600)),
    case("all values alike", x=tensor(3, 1000, values="ones", mean=-7.0)),
    case("far above zero", x=tensor(3, 77, mean=800.0)),
    case("sorted, rising", x=tensor(3, 500, values="rising", scale=20.0)),
    case("no rows", x=tensor(0, 8)),
]
