"""What the checks of 16_residual_norm try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, derive_tolerance, rounded_once, tensor
from tritonbook.checking.asks import launches, moves, starts

from .page import add_rmsnorm_ref

EPS = 1e-6


# --- add_rmsnorm


def rows(note, *shape, x=None, residual=None, w=None, eps=EPS, **how):
    """x and residual of this shape, a weight as long as a row."""
    return case(
        note,
        x=tensor(*shape, **(x or {})),
        residual=tensor(*shape, **(residual or {})),
        w=w or tensor(shape[-1]),
        eps=eps,
        **how,
    )


TINY = {"scale": 1e-3}
NAN_HERE, NAN_THERE = ({"planted": {at: float("nan")}} for at in ((0, 3), (1, 7)))
STRIDED, TRANSPOSED = {"layout": "strided"}, {"layout": "transposed"}

CASES = [
    rows("a row that fills its tile", 4, 128),
    rows("a row that does not", 5, 100),
    rows("tiny numbers", 4, 200, x=TINY, residual=TINY, eps=1e-5),
    rows("a residual much larger than x", 3, 80, residual={"scale": 50.0}),
    rows("rows of x with gaps", 6, 70, x=STRIDED),
    rows("rows of the residual with gaps", 6, 70, residual=STRIDED),
    rows("x transposed, the residual not", 6, 40, x=TRANSPOSED),
    rows("the residual transposed, x not", 6, 40, residual=TRANSPOSED),
    rows("half precision", 4, 700, dtype="float16"),
    rows("bfloat16, w in float32", 4, 700, dtype="bfloat16", w=tensor(700, dtype="float32")),
    rows("half precision, large", 3, 300, dtype="float16", x={"scale": 400}, residual=STRIDED),
    rows("three dimensions, w in float16", 2, 3, 65, w=tensor(65, dtype="float16")),
    rows("a NaN in x and one in the residual", 3, 40, x=NAN_HERE, residual=NAN_THERE),
    rows("no rows", 0, 64),
    rows("a weight of another length", 2, 8, w=tensor(9), raises=ValueError),
    case("a residual of another shape", x=tensor(2, 8), residual=tensor(1, 8), w=tensor(8), eps=EPS,
         raises=ValueError),
]  # fmt: skip

HIDDEN = [
    rows("one element", 1, 1),
    rows("rows of 17", 3, 17),
    rows("tiny numbers", 4, 255, x=TINY, residual=TINY, eps=1e-5),
    rows("a large mean", 3, 1000, residual={"mean": 50}),
    rows("both transposed", 7, 33, x=TRANSPOSED, residual=TRANSPOSED),
    rows("a long row", 2, 4097),
    rows("bfloat16, gaps", 4, 200, dtype="bfloat16", x=STRIDED, residual=STRIDED),
    rows("half precision, a full weight", 3, 90, dtype="float16", w=tensor(90, dtype="float32")),
    rows("zeros", 2, 50, x={"values": "zeros"}, residual={"values": "zeros"}),
]


def one_a_row(x, residual, w, eps):
    return x.shape[:-1].numel()


def nothing_twice(traffic, x, residual, w, eps):
    """One pass: what a row needs is loaded once, and nothing that was stored is loaded again."""
    for each in traffic.tensors:
        assert each.name not in ("x", "residual") or each.read <= each.read_distinct, (
            f"The values are right, but {each.name} is read more than once. The row is in "
            "registers: load it once, and use the tile again."
        )
        assert not (each.written and each.read), (
            "The values are right, but the kernel reads back what it has stored. That is a second "
            "pass over the row, and other threads may not have stored yet. Go on with the tile "
            "that is in registers."
        )


def of_what_is_stored(got_of, exact_of, tolerance):
    """Refuses a norm of the sum before it was rounded, and what is rounded once too often.

    got_of: the function's results -> what is looked at. exact_of: the same from an exact y.
    """

    def assertion(fn):
        generator = torch.Generator().manual_seed(0)
        x, residual = 20 * torch.randn(2, 16, 512, generator=generator).to(torch.bfloat16)
        w = 0.5 + torch.rand(512, generator=generator)
        results = fn(*(each.to(DEVICE) for each in (x, residual, w)), EPS)
        got, s = got_of(results).cpu().double(), results[-1].cpu().double()
        sums = {"stored": s, "exact": x.double() + residual.double()}
        off = {}
        for name, total in sums.items():
            y, _ = add_rmsnorm_ref(total, torch.zeros_like(total), w.double(), EPS)
            exact = exact_of(y)
            off[name] = bool(((got - exact).abs() > tolerance.bound(exact)).any())
        assert not off["stored"] or off["exact"], (
            "This is the norm of the sum before it was rounded, and s holds it rounded. The "
            "contract asks for the norm of the s that is returned: round to the dtype of s, then "
            "go on in float32 with what is left."
        )
        assert not off["stored"], (
            "The result is near, but has lost digits: something between s and the result is "
            "rounded to half precision. From s on all is float32, up to the one store."
        )

    return assertion


# --- add_rmsnorm_int8


def columns_of(N):
    """Weights of N columns, powers of 2 with signs; and where a row's largest number may be."""
    generator = torch.Generator().manual_seed(N)
    powers = 2.0 ** torch.randint(-1, 2, (N,), generator=generator).double()
    signs = 1 - 2 * torch.randint(0, 2, (N,), generator=generator).double()
    return powers * signs, (N - 1, 0, N // 2)


def residual_in_steps(shape):
    """Whole numbers, 0 in the columns that may be the largest."""
    generator = torch.Generator().manual_seed(sum(shape))
    drawn = torch.randint(-30, 31, shape, generator=generator).double()
    drawn[..., list(columns_of(shape[-1])[1])] = 0
    return drawn


def steps_case(
    note, *shape, steps=(0.0625, 2.0, 2.0**-9, 8.0), zeros=(), eighths=3, eps=EPS, **how
):
    """Rows whose y is q + u in steps of its scale, u at most `eighths` of 8: far from a tie.

    steps: one for each row of s, over and over. zeros: rows in which x and the residual cancel.
    """
    M, N = torch.Size(shape[:-1]).numel(), shape[-1]
    weights, places = columns_of(N)
    step = torch.tensor([steps[row % len(steps)] for row in range(M)], dtype=torch.float64)
    unit = step.view(*shape[:-1], 1) / weights

    def x(generator, _):
        q = torch.randint(-90, 91, (M, N), generator=generator).double()
        drawn = q + torch.randint(-eighths, eighths + 1, (M, N), generator=generator) / 8
        for row in range(M):
            drawn[row, places[row % 3]] = 127 * (-1) ** row
        drawn[list(zeros)] = -residual_in_steps((M, N))[list(zeros)]
        return drawn.view(shape) * unit

    def residual(*_):
        return residual_in_steps((M, N)).view(shape) * unit

    own = {"dtype": "float16"} if how.pop("half_weight", False) else {}  # it holds them exactly
    w = how.pop("w", None) or tensor(N, values=lambda *_: weights, **own)
    layouts = {name: how.pop(name, "contiguous") for name in ("x", "residual")}
    return case(
        note,
        x=tensor(*shape, values=x, layout=layouts["x"]),
        residual=tensor(*shape, values=residual, layout=layouts["residual"]),
        w=w,
        eps=eps,
        **how,
    )


INT8 = [
    steps_case("a row that fills its tile", 4, 64),
    steps_case("a row that does not", 5, 50),
    steps_case("odd steps, w in float16", 6, 100, steps=(0.0123, 3.7, 0.31), half_weight=True),
    steps_case("a row in which x and the residual cancel", 4, 40, zeros=(1,)),
    steps_case("a weight of zeros", 2, 40, w=tensor(40, values="zeros")),
    steps_case("numbers of the size of eps", 3, 60, steps=(2.0**-16, 2.0**-15), eps=1e-5),
    steps_case("rows of x with gaps", 3, 70, x="strided"),
    steps_case("rows of the residual with gaps", 3, 70, residual="strided"),
    steps_case("x transposed, the residual not", 6, 40, x="transposed"),
    steps_case("the residual transposed, x not", 6, 40, residual="transposed"),
    steps_case("half precision", 4, 300, dtype="float16"),
    steps_case("bfloat16", 4, 300, eighths=0, dtype="bfloat16"),
    steps_case("three dimensions", 2, 3, 65),
    steps_case("no rows", 0, 64),
    steps_case("a weight of another length", 2, 8, w=tensor(9), raises=ValueError),
]

HIDDEN_INT8 = [
    steps_case("three numbers", 3, 3),
    steps_case("rows of 17", 5, 17),
    steps_case("both transposed", 7, 33, x="transposed", residual="transposed"),
    steps_case("a long row", 2, 4097, steps=(0.7,)),
    steps_case("nothing but zeros", 3, 20, zeros=(0, 1, 2)),
    steps_case("bfloat16, gaps", 3, 130, eighths=0, dtype="bfloat16", x="strided"),
    steps_case("half precision, three dimensions", 2, 2, 200, dtype="float16"),
]


def add_rmsnorm_int8_ref(x, residual, w, eps):
    y, s = add_rmsnorm_ref(x, residual, w, eps)
    largest = y.abs().amax(dim=-1)
    scales = torch.where(largest > 0, largest / 127, 1.0).to(torch.float32)
    return torch.floor(y / scales[..., None] + 0.5).to(torch.int8), scales, s


CHECKS = {
    "add_rmsnorm": Check(
        add_rmsnorm_ref,
        CASES,
        HIDDEN,
        asks=[
            launches(1),
            starts(one_a_row),
            moves(nothing_twice),
            of_what_is_stored(
                lambda results: results[0], lambda y: y, rounded_once(512)(torch.bfloat16)
            ),
        ],
        results=("y", "s"),
        terms=4096,
    ),
    "add_rmsnorm_int8": Check(
        add_rmsnorm_int8_ref,
        INT8,
        HIDDEN_INT8,
        asks=[
            launches(1),
            starts(one_a_row),
            moves(nothing_twice),
            of_what_is_stored(
                lambda results: results[1],
                lambda y: y.abs().amax(dim=-1) / 127,
                derive_tolerance(torch.float32, 512),
            ),
        ],
        results=("q", "scales", "s"),
        terms=4096,
    ),
}
