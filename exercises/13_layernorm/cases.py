"""What the checks of 13_layernorm try: cases, references, and mistakes that have a name."""

from tritonbook.checking import Check, case, tensor
from tritonbook.course.norm_backward import (
    backward_terms,
    layernorm_backward_ref,
    rmsnorm_backward_ref,
)
from tritonbook.course.norm_cases import backward_of, parts, rms_backward_of, survives_a_large_mean
from tritonbook.course.norm_mistakes import COMBINE_MISTAKES, LAYERNORM_MISTAKES

from .page import EPS, combine_ref, layernorm_ref


def row_length(x, *rest):
    """How many terms are summed: sets the tolerance of the check."""
    return x.shape[-1]


def rows(*shape, eps=EPS, **how):
    """The arguments x, w, b, eps of a case: x of this shape, w and b as long as its rows."""
    return {"x": tensor(*shape, **how), "w": tensor(shape[-1]), "b": tensor(shape[-1]), "eps": eps}


CASES = [
    case("rows that fill their tile", **rows(3, 64, mean=2)),
    case("rows that do not", **rows(4, 17, mean=2)),
    case("rows with gaps", **rows(3, 100, mean=-3, layout="strided")),
    case("half precision, large", dtype="float16", **rows(3, 255, mean=300, scale=300)),
]

LOOP_CASES = [
    case("tiles that fit", **rows(2, 64, mean=2), options={"block": 16}),
    case("a last tile of 4", **rows(2, 100, mean=2), options={"block": 32}),
    case("rows with gaps", **rows(3, 40, mean=2, layout="strided"), options={"block": 16}),
    case("half precision, large", dtype="float16", **rows(2, 90, scale=400), options={"block": 32}),
]

WELFORD_CASES = [
    case("four pieces that fit", **rows(2, 64, mean=2), num_splits=4),
    case("three pieces that do not", **rows(2, 100, mean=2), num_splits=3),
    case("an empty piece", **rows(2, 33, mean=2), num_splits=4),
    case("rows with gaps", **rows(3, 70, mean=2, layout="strided"), num_splits=2),
    case("half precision, large", dtype="float16", **rows(2, 300, scale=400), num_splits=4),
]

ONE_TILE = dict(
    launches=1, terms=row_length, mistakes=LAYERNORM_MISTAKES, also=[survives_a_large_mean]
)

HIDDEN_ROWS = [
    case("one element", **rows(3, 1, mean=2)),
    case("a long row", **rows(2, 4097, mean=2)),
    case("tiny numbers", **rows(4, 200, scale=1e-3, eps=1e-4)),
    case("bfloat16", dtype="bfloat16", **rows(4, 129, mean=2)),
    case("transposed", **rows(7, 33, mean=2, layout="transposed")),
    case("three dimensions", **rows(2, 3, 255, mean=2)),
    case("all the same", **rows(2, 50, values="ones", eps=0.01)),
    case("one row repeated", **rows(4, 70, mean=2, layout="expanded")),
    case("no rows", **rows(0, 64)),
    case("a short weight", **rows(2, 8) | {"w": tensor(7)}, raises=ValueError),
    case("a short bias", **rows(2, 8) | {"b": tensor(7)}, raises=ValueError),
]

COMBINE_CASES = [
    case("two parts", **parts(40)),
    case("parts of unlike size", **parts(70, a=(1000, 5000), b=(1, 3))),
    case("an empty part", **parts(20, b=(0, 1))),
    case("a large mean", **parts(30, mean=1e4)),
]

COMBINE_RULES = dict(launches=1, terms=4, mistakes=COMBINE_MISTAKES)

HIDDEN_PARTS = [
    case("the first part is empty", **parts(20, a=(0, 1))),
    case("both are empty", **parts(20, a=(0, 1), b=(0, 1))),
    case("some are empty", **parts(100, a=(0, 3), b=(0, 3))),
    case("single elements", **parts(65, a=(1, 2), b=(1, 2))),
]

LOOP_RULES = dict(
    launches=1, terms=row_length, mistakes=LAYERNORM_MISTAKES, also=[survives_a_large_mean]
)

HIDDEN_LOOPS = [
    case("less than a tile", **rows(2, 17, mean=2), options={"block": 64}),
    case("one element", **rows(2, 1, mean=2), options={"block": 16}),
    case("one more than a tile", **rows(2, 33, mean=2), options={"block": 32}),
    case("tiny numbers", **rows(2, 90, scale=1e-3, eps=1e-4), options={"block": 32}),
    case("rising rows", **rows(2, 100, values="rising", scale=9), options={"block": 16}),
    case("bfloat16", dtype="bfloat16", **rows(2, 70, mean=2), options={"block": 32}),
    case("transposed", **rows(3, 50, mean=2, layout="transposed"), options={"block": 32}),
    case("three dimensions", **rows(2, 2, 40, mean=2), options={"block": 32}),
    case("a long row", **rows(1, 9000, mean=2)),
    case("no rows", **rows(0, 64)),
]

WELFORD_RULES = dict(
    terms=row_length, mistakes=LAYERNORM_MISTAKES, also=[lambda fn: survives_a_large_mean(fn, 3)]
)

HIDDEN_WELFORD = [
    case("one element", **rows(2, 1, mean=2), num_splits=3),
    case("one piece", **rows(2, 255, mean=2), num_splits=1),
    case("seven pieces", dtype="bfloat16", **rows(2, 1000, mean=2), num_splits=7),
    case("tiny numbers", **rows(2, 200, scale=1e-3, eps=1e-4), num_splits=2),
    case("rising rows", **rows(2, 333, values="rising", scale=9), num_splits=3),
    case("transposed", **rows(3, 50, mean=2, layout="transposed"), num_splits=2),
    case("three dimensions", **rows(2, 2, 70, mean=2), num_splits=3),
    case("no rows", **rows(0, 64), num_splits=2),
    case("a very long row", **rows(1, 262_144, mean=2), num_splits=8),
    case("a short bias", **rows(2, 64) | {"b": tensor(63)}, num_splits=2, raises=ValueError),
]

WELFORD_RULES = dict(terms=row_length, mistakes=LAYERNORM_MISTAKES)

HIDDEN_JOINS = [
    case("one element", **rows(2, 1, mean=2), num_splits=3),
    case("seven pieces", dtype="bfloat16", **rows(2, 1000, mean=2), num_splits=7),
    case("transposed", **rows(3, 50, mean=2, layout="transposed"), num_splits=2),
    case("a mean of 20", **rows(2, 500, mean=20), num_splits=5),
    case("no rows", **rows(0, 64), num_splits=2),
]

BACKWARD_CASES = [
    case("a program for each row", **backward_of(4, 64, 4)),
    case("three programs, ten rows", **backward_of(10, 100, 3)),
    case("half precision", dtype="float16", **backward_of(6, 50, 2)),
    case("dy is one row repeated", **backward_of(5, 33, 2, layout="expanded")),
]

BACKWARD_RULES = dict(terms=backward_terms, launches=2)

HIDDEN_BACKWARD = [
    case("more programs than rows", **backward_of(3, 17, 8)),
    case("one element", **backward_of(3, 1, 2)),
    case("dy transposed", **backward_of(9, 40, 4, layout="transposed")),
    case("bfloat16", dtype="bfloat16", **backward_of(12, 255, 5)),
    case("many rows", **backward_of(200, 24, 70)),
]

RMS_BACKWARD = [
    case("a program for each row", **rms_backward_of(4, 64, 4)),
    case("three programs, ten rows", **rms_backward_of(10, 100, 3)),
    case("half precision", dtype="float16", **rms_backward_of(6, 50, 2)),
    case("dy is one row repeated", **rms_backward_of(5, 33, 2, layout="expanded")),
]

HIDDEN_RMS_BACKWARD = [
    case("more programs than rows", **rms_backward_of(3, 17, 8)),
    case("tiny numbers", **rms_backward_of(3, 40, 2, eps=1e-4, scale=1e-2)),
    case("dy transposed", **rms_backward_of(9, 40, 4, layout="transposed")),
    case("bfloat16", dtype="bfloat16", **rms_backward_of(12, 255, 5)),
]

CHECKS = {
    "layernorm": Check(
        layernorm_ref,
        CASES,
        HIDDEN_ROWS,
        **ONE_TILE,
    ),
    "welford_combine": Check(
        combine_ref,
        COMBINE_CASES,
        HIDDEN_PARTS,
        through="combine",
        **COMBINE_RULES,
    ),
    "layernorm_loop": Check(
        layernorm_ref,
        LOOP_CASES,
        HIDDEN_LOOPS,
        max_tile=lambda x, w, b, eps, block=4096: block,
        **LOOP_RULES,
    ),
    "layernorm_welford": Check(
        layernorm_ref,
        WELFORD_CASES,
        HIDDEN_WELFORD,
        launches=3,
        **WELFORD_RULES,
    ),
    "layernorm_split": Check(
        layernorm_ref,
        WELFORD_CASES,
        HIDDEN_JOINS,
        launches=2,
        **WELFORD_RULES,
    ),
    "layernorm_backward": Check(
        layernorm_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD,
        **BACKWARD_RULES,
    ),
    "rmsnorm_backward": Check(
        rmsnorm_backward_ref,
        RMS_BACKWARD,
        HIDDEN_RMS_BACKWARD,
        terms=backward_terms,
        launches=2,
    ),
}
