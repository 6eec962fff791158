"""What the checks of 13_layernorm try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import at_first, launches, starts, starts_at_most, tiles_of_at_most
from tritonbook.words import later

from ..shared.norms import (
    FULL,
    HALF,
    NAN,
    as_x,
    mean_of,
    rows,
    survives_a_large_mean,
    variance_of,
)
from .page import layernorm_ref


def with_zeros(generator, shape):
    """As after a ReLU: zeros among the elements, which are not padding."""
    return torch.randn(shape, generator=generator, dtype=torch.float64).clamp_min(0)


ZEROS_AND_NAN = {
    "values": with_zeros,
    "planted": {(1, 7): NAN},
    "w": {"planted": {20: NAN}},
    "b": {"planted": {30: NAN}},
}

CASES = [
    case("rows that fill their tile", **rows(32, 64, mean=2)),
    case("rows that do not", **rows(70, 17, mean=2)),
    case("tiny numbers", **rows(20, 50, mean=2e-3, scale=1e-3, eps=3e-6)),
    case("rows with gaps", **rows(11, 100, mean=-3, layout="strided")),
    case("transposed", **rows(20, 40, mean=2, layout="transposed")),
    case("half precision, large", dtype="float16", **rows(6, 255, mean=300, scale=300)),
    case("bfloat16, w and b in float32", dtype="bfloat16", **rows(6, 200, mean=2, w=FULL, b=FULL)),
    case("three dimensions, w and b in float16", **rows(2, 11, 33, mean=2, w=HALF, b=HALF)),
    case("long rows, one a program", **rows(3, 1030, mean=2)),
    case("zeros in the rows, a NaN in x, w and b", **rows(6, 50, **ZEROS_AND_NAN)),
    case("a large eps", **rows(4, 17, mean=2, eps=0.5)),
    case("no rows", **rows(0, 64)),
    case("a short weight", **rows(2, 8) | {"w": tensor(7)}, raises=ValueError),
    case("a short bias", **rows(2, 8) | {"b": tensor(7)}, raises=ValueError),
    case("a row too long", **rows(1, 16_385), raises=ValueError),
    case("one row repeated", **rows(12, 70, mean=2, layout="expanded")),
]

HIDDEN_ROWS = [
    case("one element", **rows(9, 1, mean=2)),
    case("more rows than a program has", **rows(130, 5, mean=2)),
    case("a long row", **rows(2, 4097, mean=2)),
    case("tiny numbers", **rows(5, 200, scale=1e-3, eps=1e-4)),
    case("bfloat16", dtype="bfloat16", **rows(9, 129, mean=2)),
    case("transposed", **rows(17, 33, mean=2, layout="transposed")),
    case("three dimensions", **rows(2, 3, 255, mean=2)),
    case("all the same", **rows(2, 50, values="ones", eps=0.01)),
]

TILES = [
    case("tiles that fit", **rows(3, 64, mean=2), options={"block": 16}),
    case("a last tile of 4", **rows(3, 100, mean=2), options={"block": 32}),
    case("less than a tile", **rows(3, 9, mean=2), options={"block": 32}),
    case("tiny numbers", **rows(3, 50, mean=2e-3, scale=1e-3, eps=3e-6), options={"block": 16}),
    case("rows with gaps", **rows(3, 40, mean=2, layout="strided"), options={"block": 16}),
    case("transposed", **rows(3, 40, mean=-2, layout="transposed"), options={"block": 16}),
    case("half precision, large", dtype="float16", **rows(2, 90, scale=400), options={"block": 32}),
    case(
        "bfloat16, w and b in float32",
        dtype="bfloat16",
        **rows(2, 70, mean=3, w=FULL, b=FULL),
        options={"block": 32},
    ),
    case(
        "three dimensions, w and b in float16",
        **rows(2, 2, 35, mean=2, w=HALF, b=HALF),
        options={"block": 16},
    ),
    case(
        "zeros in the rows, a NaN in x, w and b",
        **rows(4, 50, **ZEROS_AND_NAN),
        options={"block": 16},
    ),
    case("a tile of 3,001", **rows(2, 3001, mean=4)),
    case("no rows", **rows(0, 64)),
]


HIDDEN_TILES = [
    case("less than a tile", **rows(2, 17, mean=2), options={"block": 64}),
    case("one element", **rows(2, 1, mean=2), options={"block": 16}),
    case("one more than a tile", **rows(2, 33, mean=2), options={"block": 32}),
    case("tiny numbers", **rows(2, 90, scale=1e-3, eps=1e-4), options={"block": 32}),
    case("rising rows", **rows(2, 100, values="rising", scale=9), options={"block": 16}),
    case("bfloat16", dtype="bfloat16", **rows(2, 70, mean=2), options={"block": 32}),
    case("transposed", **rows(3, 50, mean=2, layout="transposed"), options={"block": 32}),
    case("three dimensions", **rows(2, 2, 40, mean=2), options={"block": 32}),
    case("many tiles", **rows(1, 3000, mean=2), options={"block": 128}),
]


def one_a_row(x, w, b, eps, block=4096):
    """Programs: one a row at most."""
    return x.shape[:-1].numel()


def a_tile(x, w, b, eps, block=4096):
    """Elements that the loop holds at once."""
    return block


def keeps_its_statistics(fn):
    """With stats=True: y as before, and the mean and 1 / root of every row, of halves too."""
    x = torch.randn(3, 40, generator=torch.Generator().manual_seed(3)) * 2 + 5
    w, b = torch.ones(40, device=DEVICE), torch.zeros(40, device=DEVICE)
    for given in x, x.bfloat16():
        _, mean, rstd = fn(given.to(DEVICE), w, b, 1e-3, stats=True)
        middle, variance = mean_of(given.double())[:, 0], variance_of(given.double())[:, 0]
        wanted = {
            "right": torch.rsqrt(variance + 1e-3),
            later("the root itself"): torch.sqrt(variance + 1e-3),
            later("the variance"): variance,
            later("the variance plus eps"): variance + 1e-3,
            later("1 / root without eps"): torch.rsqrt(variance),
            later("the mean"): middle,
            later("the right number, rounded to half precision"): torch.rsqrt(
                variance + 1e-3
            ).bfloat16(),
        }
        means = {
            "right": middle,
            later("1 / root"): wanted["right"],
            later("minus the mean"): -middle,
            later("the right number, rounded to half precision"): middle.bfloat16(),
        }
        for got, known, what, where in (
            (mean, means, later("the mean"), "mean_ptr"),
            (rstd, wanted, later("one over the root"), "rstd_ptr"),
        ):
            found = [name for name, value in known.items() if _near(got, value.double())]
            if not found and got.abs().max() < 1e-3:
                found = [later("about 0")]
            there = f"There is {found[0]}." if found else "Is it stored there?"
            assert "right" in found, (
                f"y is right, but with stats=True {what} of a row is not what {where} + offs_m "
                f"holds. {there}"
            )


def _near(got, want):
    got = got.double().cpu()
    return got.shape == want.shape and bool(((got - want).abs() <= 1e-5 * want.abs()).all())


# --- merging


def parts(size, low=1, high=50, mean=0.0, planted=None):
    """P parts as rows of counts, means and M2. Counts from low to high - 1; where a count is 0, so
    are the other two. mean: about which the means lie. planted: numbers at places of these rows."""

    def draw(generator, shape):
        n = torch.randint(low, high, shape[1:], generator=generator).double()
        means = torch.randn(shape[1:], generator=generator, dtype=torch.float64) + mean
        m2 = n * torch.rand(shape[1:], generator=generator, dtype=torch.float64)
        return torch.stack((n, means * (n > 0), m2 * (n > 0)))

    return tensor(3, size, dtype="float32", values=draw, planted=planted or {})


def merged(a, b):
    """n, mean, M2, delta and the shares of a and of b."""
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    n, delta = n_a + n_b, mean_b - mean_a
    share_a, share_b = n_a / n.clamp_min(1), n_b / n.clamp_min(1)
    m2 = m2_a + m2_b + delta * delta * n_a * share_b
    return n, mean_a + delta * share_b, m2, delta, share_a, share_b


def combine_ref(a, b):
    return merged(a, b)[:3]


def subtracts_before_it_squares(fn):
    """M2 around 10,000, where a difference of large squares is lost. What is wrong around 0 too is
    told by the cases."""
    means = torch.tensor([[-1.0, 0.5], [1.9, 0.3]])
    n, m2 = torch.tensor([5.0, 7.0]), torch.tensor([3.0, 4.0])
    found = []
    for shift in 0.0, 10_000.0:
        a, b = (torch.stack((n, each + shift, m2)).to(DEVICE) for each in means)
        wanted = combine_ref(a.double().cpu(), b.double().cpu())[2]
        try:
            _, _, got = fn(a, b)
        except Exception:
            return
        error = (got.double().cpu() - wanted).abs() / wanted
        found.append(error.nan_to_num(torch.inf).max().item())
    around_0, around_10_000 = found
    add = "Add M2 of a, M2 of b and delta² n_a n_b / n."
    assert around_0 > 1e-5 or around_10_000 < 0.05, (
        "M2 is right for means around 0, and lost around 10,000: it is a difference of large "
        f"squares. {add}"
    )
    assert around_0 > 1e-5 or around_10_000 < 5e-6, (
        "M2 is right for means around 0, and loses digits around 10,000. Is it a distance from the "
        f"merged mean, which is rounded there? {add}"
    )


PARTS = [
    case("two parts", a=parts(20), b=parts(20)),
    case(
        "parts of unlike size, and NaN",
        a=parts(33, 1000, 5000, planted={(1, 3): NAN, (2, 5): NAN}),
        b=parts(33, 1, 4, planted={(1, 7): NAN, (2, 9): NAN}),
    ),
    case("one element or none", a=parts(24, 0, 2), b=parts(24, 0, 2)),
    case("b is empty", a=parts(16), b=parts(16, 0, 1)),
    case("a is empty", a=parts(16, 0, 1), b=parts(16)),
    case("both are empty", a=parts(16, 0, 1), b=parts(16, 0, 1)),
    case("nothing and one element", a=parts(16, 0, 1), b=parts(16, 1, 2)),
    case("a large mean", a=parts(20, mean=1e4), b=parts(20, mean=1e4)),
]

HIDDEN_PARTS = [
    case("some are empty", a=parts(100, 0, 3), b=parts(100, 0, 3)),
    case("single elements", a=parts(65, 1, 2), b=parts(65, 1, 2)),
    case("many elements", a=parts(40, 1, 100_000), b=parts(40, 1, 100_000)),
    case("a mean of 3,000", a=parts(17, 0, 9, mean=3e3), b=parts(17, 0, 9, mean=3e3)),
]


# --- a row in tiles


CHECKS = {
    "layernorm": Check(
        as_x(layernorm_ref),
        CASES,
        HIDDEN_ROWS,
        asks=[launches(1), starts_at_most(one_a_row), survives_a_large_mean, keeps_its_statistics],
        tolerance=rounded_once(terms=4096),
    ),
    "welford_combine": Check(
        combine_ref,
        PARTS,
        HIDDEN_PARTS,
        through="combine",
        results=("n", "mean", "M2"),
        asks=[at_first(subtracts_before_it_squares), launches(1)],
        terms=4,
    ),
    "layernorm_welford": Check(
        as_x(layernorm_ref),
        TILES,
        HIDDEN_TILES,
        asks=[
            launches(1),
            starts(one_a_row),
            tiles_of_at_most(a_tile),
            lambda fn: survives_a_large_mean(fn, 64),
        ],
        tolerance=rounded_once(terms=4096),
    ),
}
