"""What the checks of 13_layernorm try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor

from ..shared.norms import (
    MISTAKES,
    ONE_TILE_MISTAKES,
    in_tiles,
    mean_of,
    parts_of,
    rows,
    scaled,
    survives_a_large_mean,
    variance_of,
    whole,
)
from .page import layernorm_ref


def with_zeros(generator, shape):
    """As after a ReLU: zeros among the elements, which are not padding."""
    return torch.randn(shape, generator=generator, dtype=torch.float64).clamp_min(0)


CASES = [
    case("rows that fill their tile", **rows(32, 64, mean=2)),
    case("rows that do not", **rows(70, 17, mean=2)),
    case("tiny numbers", **rows(20, 50, mean=2e-3, scale=1e-3, eps=3e-6)),
    case("rows with gaps", **rows(11, 100, mean=-3, layout="strided")),
    case("transposed", **rows(20, 40, mean=2, layout="transposed")),
    case("half precision, large", dtype="float16", **rows(6, 255, mean=300, scale=300)),
    case("bfloat16", dtype="bfloat16", **rows(6, 200, mean=2)),
    case("three dimensions", **rows(2, 11, 33, mean=2)),
    case("long rows, one a program", **rows(3, 1030, mean=2)),
    case("zeros in the rows", **rows(6, 50, values=with_zeros)),
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
    case("bfloat16", dtype="bfloat16", **rows(2, 70, mean=3), options={"block": 32}),
    case("three dimensions", **rows(2, 2, 35, mean=2), options={"block": 16}),
    case("zeros in the rows", **rows(4, 50, values=with_zeros), options={"block": 16}),
    case("a tile of 3,001", **rows(2, 3001, mean=4)),
    case("no rows", **rows(0, 64)),
]


def rows_of_a_tile(x):
    """Rows [tiles, rows, N], as programs take them; NaN past the last row."""
    N = x.shape[-1]
    count = max(1, 1024 // triton.next_power_of_2(N))
    flat = x.reshape(-1, N)
    missing = -len(flat) % count
    padded = torch.nn.functional.pad(flat, (0, 0, 0, missing), value=float("nan"))
    return padded.reshape(-1, count, N)


def over_a_tile(values, divisor):
    """The sum of all rows of a tile over divisor(rows of a tile, N), for each row of x."""
    tiles = rows_of_a_tile(values)
    total = tiles.nansum((1, 2), keepdim=True) / divisor(*tiles.shape[1:])
    return (
        total.expand(*tiles.shape[:2], 1)
        .reshape(-1, 1)[: values.shape[:-1].numel()]
        .reshape(*values.shape[:-1], 1)
    )


def rows_share(mean_of_rows, variance_of_rows=None):
    """Statistics that the rows of a tile share; where no variance is said, each row has its own,
    about that mean."""

    def formula(x, w, b, eps):
        mean = mean_of_rows(x)
        squares = (x - mean).pow(2)
        variance = variance_of_rows(squares) if variance_of_rows else mean_of(squares)
        return scaled(x, w, b, eps, mean, variance)

    return formula


def both_over_the_tile(x, w, b, eps):
    lanes = triton.next_power_of_2(x.shape[-1])
    mean = x.sum(-1, keepdim=True) / lanes
    return scaled(x, w, b, eps, mean, (x - mean).pow(2).sum(-1, keepdim=True) / lanes)


def mean_in_half(x, w, b, eps, *, dtype):
    mean = mean_of(x).to(dtype).double()
    return scaled(x, w, b, eps, mean, mean_of((x - mean).pow(2))).to(dtype)


def zeros_as_padding(x, w, b, eps):
    centred = torch.where(x == 0, 0.0, x - mean_of(x))
    return centred * torch.rsqrt(mean_of(centred.pow(2)) + eps) * w + b


def all_of(rows, N):
    return rows * N


ONE_MEAN = (
    "All rows of a tile share one mean. Each has its own: sum over `axis=1`, `keep_dims=True`."
)
TASK_1_MISTAKES = ONE_TILE_MISTAKES | {
    "rows-share-a-mean": (rows_share(lambda x: over_a_tile(x, all_of)), ONE_MEAN),
    "rows-share-a-sum": (rows_share(lambda x: over_a_tile(x, lambda rows, N: N)), ONE_MEAN),
    "rows-share-both-sums": (
        rows_share(*2 * [lambda x: over_a_tile(x, lambda rows, N: N)]),
        "All rows of a tile share one mean and one variance. Each has its own: sum over `axis=1`, "
        "`keep_dims=True`.",
    ),
    "both-over-tile": (
        both_over_the_tile,
        "Mean and variance are taken over the lanes of the tile. Divide both by N, the number of "
        "elements.",
    ),
    "mean-subtracted-twice": (
        lambda x, w, b, eps: (
            layernorm_ref(x, w, b, eps) - mean_of(x) * torch.rsqrt(variance_of(x) + eps) * w
        ),
        "The mean is subtracted twice in y. What is centred already needs no second one.",
    ),
    "mean-in-half": (
        mean_in_half,
        "The mean was rounded to half precision before it was subtracted. Keep it in float32.",
    ),
    "zeros-as-padding": (
        zeros_as_padding,
        "Elements that are 0 are taken for padding. Ask `mask_n` which lanes are elements.",
    ),
}

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
            "the root itself": torch.sqrt(variance + 1e-3),
            "the variance": variance,
            "the variance plus eps": variance + 1e-3,
            "1 / root without eps": torch.rsqrt(variance),
            "the mean": middle,
            "the right number, rounded to half precision": torch.rsqrt(variance + 1e-3).bfloat16(),
        }
        means = {
            "right": middle,
            "1 / root": wanted["right"],
            "minus the mean": -middle,
            "the right number, rounded to half precision": middle.bfloat16(),
        }
        for got, known, what, where in (
            (mean, means, "the mean", "mean_ptr"),
            (rstd, wanted, "one over the root", "rstd_ptr"),
        ):
            found = [name for name, value in known.items() if _near(got, value.double())]
            if not found and got.abs().max() < 1e-3:
                found = ["about 0"]
            there = f"There is {found[0]}." if found else "Is it stored there?"
            assert "right" in found, (
                f"y is right, but with stats=True {what} of a row is not what {where} + offs_m "
                f"holds. {there}"
            )


def _near(got, want):
    got = got.double().cpu()
    return got.shape == want.shape and bool(((got - want).abs() <= 1e-5 * want.abs()).all())


# --- merging


def parts(size, low=1, high=50, mean=0.0):
    """P parts as rows of counts, means and M2. Counts from low to high - 1; where a count is 0, so
    are the other two. mean: about which the means lie."""

    def draw(generator, shape):
        n = torch.randint(low, high, shape[1:], generator=generator).double()
        means = torch.randn(shape[1:], generator=generator, dtype=torch.float64) + mean
        m2 = n * torch.rand(shape[1:], generator=generator, dtype=torch.float64)
        return torch.stack((n, means * (n > 0), m2 * (n > 0)))

    return tensor(3, size, dtype="float32", values=draw)


def merged(a, b):
    """n, mean, M2, delta and the shares of a and of b."""
    (n_a, mean_a, m2_a), (n_b, mean_b, m2_b) = a, b
    n, delta = n_a + n_b, mean_b - mean_a
    share_a, share_b = n_a / n.clamp_min(1), n_b / n.clamp_min(1)
    m2 = m2_a + m2_b + delta * delta * n_a * share_b
    return n, mean_a + delta * share_b, m2, delta, share_a, share_b


def combine_ref(a, b):
    return merged(a, b)[:3]


def wrongly(formula):
    """A mistake in merging: formula(a, b, n, mean, m2, delta, share_a, share_b) gives the three."""
    return lambda a, b: formula(a, b, *merged(a, b))


def with_share(share):
    """A mistake in merging: share(n_b, n) stands for n_b / n."""

    def formula(a, b):
        n, delta = a[0] + b[0], b[1] - a[1]
        share_b = share(b[0], n)
        return n, a[1] + delta * share_b, a[2] + b[2] + delta * delta * a[0] * share_b

    return formula


COMBINE_MISTAKES = {
    "two-empty-parts": (
        with_share(lambda n_b, n: n_b / n),
        "Right but for two empty parts, which give 0 / 0. Divide by something that is n wherever "
        "n is not 0.",
    ),
    "delta-not-squared": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * a[0] * sb)),
        "M2 grows by delta *squared* times n_a n_b / n.",
    ),
    "no-delta-term": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2])),
        "M2 is the plain sum. The two parts have different means: the term with delta is missing.",
    ),
    "delta-term-not-divided": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * d * a[0] * b[0])),
        "In M2 the product n_a n_b has to be divided by n.",
    ),
    "delta-term-without-n-a": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * d * sb)),
        "In M2 the term with delta lacks the factor n_a.",
    ),
    "delta-term-with-n-b": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * d * b[0] * sb)),
        "In M2 the term with delta has n_b twice. It needs n_a n_b / n.",
    ),
    "delta-term-with-n": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * d * n * sb)),
        "In M2 the term with delta has n where it should have n_a.",
    ),
    "m2-averaged": (
        wrongly(
            lambda a, b, n, mean, m2, d, sa, sb: (n, mean, m2 + (sa - 1) * a[2] + (sb - 1) * b[2])
        ),
        "The two M2 are averaged as variances would be. They are sums: add them.",
    ),
    "two-shares": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, a[2] + b[2] + d * d * sa * sb)),
        "In M2 the product n_a n_b is divided by n twice.",
    ),
    "m2-divided": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, m2 / n.clamp_min(1))),
        "M2 is divided by n here. It stays a sum; only at the very end it becomes a variance.",
    ),
    "mean-of-means": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1] + d / 2, m2)),
        "This is the mean of the two means. A larger part weighs more.",
    ),
    "divided-by-n-plus-1": (
        with_share(lambda n_b, n: n_b / (n + 1)),
        "The share of b is divided by n + 1. The divisor is n, but for two empty parts.",
    ),
    "divided-by-the-minimum": (
        with_share(lambda n_b, n: n_b / n.clamp_max(1)),
        "n_b is divided by 1, not by n, where there are elements. The larger of the two divides.",
    ),
    "share-of-the-other": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1] + d * sa, m2)),
        "The mean moves from mean_a towards mean_b by the share of b, not of a.",
    ),
    "delta-the-wrong-way": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1] - d * sb, m2)),
        "The mean moves away from b. delta is mean_b - mean_a.",
    ),
    "from-mean-b": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, b[1] + d * sb, m2)),
        "The mean starts from mean_b. It goes from mean_a towards mean_b, by the share of b.",
    ),
    "mean-stays": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1], m2)),
        "The mean is still that of part a.",
    ),
    "m2-of-a-lost": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, m2 - a[2])),
        "M2 of part a is missing in the sum.",
    ),
    "m2-of-b-lost": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, m2 - b[2])),
        "M2 of part b is missing in the sum.",
    ),
    "delta-term-subtracted": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, mean, 2 * (a[2] + b[2]) - m2)),
        "In M2 the term with delta is subtracted. Add it.",
    ),
    "mean-of-a-forgotten": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, d * sb, m2)),
        "The mean is delta times the share of b. It begins at mean_a.",
    ),
    "share-over-n-a": (
        lambda a, b: with_share(lambda n_b, n: n_b / a[0].clamp_min(1))(a, b),
        "n_b is divided by n_a. Its share is that of n, the count of both.",
    ),
    "count-of-1": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n.clamp_min(1), mean, m2)),
        "Two empty parts give a count of 1. Guard the divisor, and return n as it is.",
    ),
    "count-of-a": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (a[0], mean, m2)),
        "The count that is returned is that of part a alone.",
    ),
    "mean-comes-first": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (mean, mean, m2)),
        "The mean comes back in the place of the count. The order is n, mean, M2.",
    ),
    "results-swapped": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, m2, mean)),
        "Mean and M2 have changed places. The order is n, mean, M2.",
    ),
}


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
    case("parts of unlike size", a=parts(33, 1000, 5000), b=parts(33, 1, 4)),
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


def from_tiles(change):
    """What comes out if change(n, mean, m2, block, N) is merged in place of the tiles' own."""

    def formula(x, w, b, eps, *, block=4096):
        block = min(block, triton.next_power_of_2(x.shape[-1]))
        n, mean, m2 = change(*parts_of(in_tiles(x, block), -1), block, x.shape[-1])
        common, m2 = whole(n, mean, m2)
        return scaled(x, w, b, eps, common, m2 / x.shape[-1])

    return formula


def over(size):
    """The tile's sum divided by size(n, block, N); it is centred with the result."""

    def change(n, mean, m2, block, N):
        other = n * mean / size(n, block, N)
        return n, other, m2 + n * (mean - other).pow(2)

    return change


def to_the_end(n, mean, m2, block, N):
    """Every tile counts all elements from its start to the end of the row."""
    rest = N - torch.arange(n.shape[-1]) * block
    other = n * mean / rest
    return rest.expand_as(n).double(), other, m2 + n * (mean - other).pow(2)


def by_the_mean_so_far(n, mean, m2, block, N):
    """Each tile is centred by the mean of the tiles before it, the first one by 0."""
    count, total = n.cumsum(-1) - n, (n * mean).cumsum(-1) - n * mean
    return n, mean, m2 + n * (mean - total / count.clamp_min(1)).pow(2)


def sums_in_half(x, w, b, eps, *, dtype, block=4096):
    """The sum of each tile rounded to the dtype of x."""

    def change(n, mean, m2, block, N):
        other = (n * mean).to(dtype).double() / n
        return n, other, m2 + n * (mean - other).pow(2)

    return from_tiles(change)(x, w, b, eps, block=block).to(dtype)


def count_in_half(n, mean, m2, block, N):
    count = n.half().double()
    return count, *over(lambda n, block, N: count)(n, mean, m2, block, N)[1:]


def all_full(n, mean, m2, block, N):
    """Count and divisor are those of a full tile."""
    _, other, m2 = over(lambda n, block, N: block)(n, mean, m2, block, N)
    return torch.full_like(n, block), other, m2


def by_sums(merge):
    """What comes out if merge(n, mean, m2) makes the row's mean and variance from its tiles."""

    def formula(x, w, b, eps, *, block=4096):
        mean, variance = merge(*parts_of(in_tiles(x, block), -1))
        return scaled(x, w, b, eps, mean[..., None], variance[..., None])

    return formula


def of_one_tile(which):
    def formula(x, w, b, eps, *, block=4096):
        n, mean, m2 = parts_of(in_tiles(x, block)[..., which, :], -1)
        return scaled(x, w, b, eps, mean[..., None], (m2 / x.shape[-1])[..., None])

    return formula


def mean_of_the_last_tile(x, w, b, eps, *, block=4096):
    _, mean, _ = parts_of(in_tiles(x, block)[..., -1, :], -1)
    return scaled(x, w, b, eps, mean[..., None], variance_of(x))


def tile_by_tile(x, w, b, eps, *, block=4096):
    """Each tile normalised on its own."""
    tiles = in_tiles(x, block)
    n, mean, m2 = (part[..., None] for part in parts_of(tiles, -1))
    y = (tiles - mean) * torch.rsqrt(m2 / n + eps)
    return y.flatten(-2)[..., : x.shape[-1]] * w + b


def with_first_weights(x, w, b, eps, *, block=4096):
    again = torch.arange(x.shape[-1]) % block
    return layernorm_ref(x, w[again], b[again], eps)


def with_first_biases(x, w, b, eps, *, block=4096):
    return layernorm_ref(x, w, b[torch.arange(x.shape[-1]) % block], eps)


def count_of_the_row(n, mean, m2, block, N):
    _, other, m2 = over(lambda n, block, N: N)(n, mean, m2, block, N)
    return torch.full_like(n, N), other, m2


def count_so_far(n, mean, m2, block, N):
    count = n.cumsum(-1)
    return count, *over(lambda n, block, N: count)(n, mean, m2, block, N)[1:]


def averaged_in_turn(from_zero):
    """The mean so far and that of the next tile, each time half of both."""

    def merge(n, mean, m2):
        common = torch.zeros_like(mean[..., 0]) if from_zero else mean[..., 0]
        for tile in range(0 if from_zero else 1, mean.shape[-1]):
            common = (common + mean[..., tile]) / 2
        return common, m2.sum(-1) / n.sum(-1)

    return by_sums(merge)


def zeros_not_counted(x, w, b, eps, *, block=4096):
    tiles = in_tiles(x, min(block, triton.next_power_of_2(x.shape[-1])))
    _, mean, _ = parts_of(tiles, -1)
    n = (tiles.nan_to_num(0) != 0).sum(-1).double()
    mean = tiles.nansum(-1) / n
    m2 = (tiles - mean[..., None]).pow(2).nansum(-1)
    common, m2 = whole(n, mean, m2)
    return scaled(x, w, b, eps, common, m2 / x.shape[-1])


def count_not_kept(x, w, b, eps, *, block=4096):
    """With 0 elements so far each tile's mean takes the place of the one before."""
    tiles = in_tiles(x, min(block, triton.next_power_of_2(x.shape[-1])))
    _, mean, m2 = parts_of(tiles, -1)
    return scaled(x, w, b, eps, mean[..., -1:], m2.sum(-1, keepdim=True) / x.shape[-1])


def first_tile_again(x, w, b, eps, *, block=4096):
    """The elements of the first tile, in each: the last one takes as many as it has."""
    N, block = x.shape[-1], min(block, triton.next_power_of_2(x.shape[-1]))
    again = x[..., torch.arange(N) % block]
    return scaled(x, w, b, eps, mean_of(again), variance_of(again))


MERGED_BY_SUMS = (
    "The tiles were merged by plain sums or averages. Tiles with different means, or different "
    "counts, need welford_combine."
)

TILE_MISTAKES = MISTAKES | {
    "padding-counted": (
        from_tiles(lambda n, mean, m2, block, N: (n, mean, m2 + (block - n) * mean.pow(2))),
        "Masked lanes are counted in the M2 of a tile: after the subtraction they hold minus the "
        "mean. Set them to 0 again.",
    ),
    "every-tile-full": (
        from_tiles(all_full),
        "Every tile counts as a full one. The last tile has fewer elements: count with its mask.",
    ),
    "sums-in-half": (
        sums_in_half,
        "The sums or means of the tiles were rounded to half precision. Stay in float32 from the "
        "load on.",
    ),
    "averaged-in-turn": (
        averaged_in_turn(from_zero=True),
        MERGED_BY_SUMS,
    ),
    "averaged-from-the-first": (
        averaged_in_turn(from_zero=False),
        MERGED_BY_SUMS,
    ),
    "zeros-as-padding": (
        zeros_not_counted,
        "Elements that are 0 are not counted. Count with `mask_n`.",
    ),
    "count-in-half": (
        from_tiles(count_in_half),
        "The count of a tile was summed in half precision, which holds no odd number above 2,048.",
    ),
    "count-of-the-row": (
        from_tiles(count_of_the_row),
        "Every tile counts as the whole row, N. Count its own elements.",
    ),
    "count-so-far": (
        from_tiles(count_so_far),
        "Every tile counts all elements up to its end. Count its own.",
    ),
    "count-not-kept": (
        count_not_kept,
        "Each tile's mean takes the place of the row's. Either n stays 0 (keep the count that "
        "welford_combine returns), or `mean` is overwritten before the merge.",
    ),
    "first-tile-again": (
        first_tile_again,
        "Each round loads the first tile again. Its columns are `offs_n`.",
    ),
    "count-to-the-end": (
        from_tiles(to_the_end),
        "Every tile counts the elements from its start to the end of the row. Count its own.",
    ),
    "centred-by-the-mean-so-far": (
        from_tiles(by_the_mean_so_far),
        "M2 sums distances from `mean`, that of the tiles before. Take them from the tile's own.",
    ),
    "count-of-a-full-tile": (
        from_tiles(lambda n, mean, m2, block, N: (torch.full_like(n, block), mean, m2)),
        "Every tile is merged with the count of a full one. Count the last one with its mask.",
    ),
    "mean-over-tile": (
        from_tiles(over(lambda n, block, N: block)),
        "The sum of a tile is divided by its lanes. Divide by the count of its elements.",
    ),
    "mean-over-row": (
        from_tiles(over(lambda n, block, N: N)),
        "The sum of a tile is divided by N. Divide by the count of the tile.",
    ),
    "variance-for-m2": (
        from_tiles(lambda n, mean, m2, block, N: (n, mean, m2 / n)),
        "The variance of a tile is merged as its M2. M2 is a sum: nothing divides it.",
    ),
    "m2-of-x": (
        from_tiles(lambda n, mean, m2, block, N: (n, mean, m2 + n * mean.pow(2))),
        "The M2 of a tile sums squares of x, or of what lost its mean twice. They should be those "
        "of the distances from the mean.",
    ),
    "averages": (
        by_sums(lambda n, mean, m2: (mean.mean(-1), m2.sum(-1) / n.sum(-1))),
        MERGED_BY_SUMS,
    ),
    "m2-summed": (
        by_sums(lambda n, mean, m2: ((n * mean).sum(-1) / n.sum(-1), m2.sum(-1) / n.sum(-1))),
        MERGED_BY_SUMS,
    ),
    "means-summed": (
        by_sums(lambda n, mean, m2: (mean.sum(-1), m2.sum(-1) / n.sum(-1))),
        MERGED_BY_SUMS,
    ),
    "nothing-merged": (
        lambda x, w, b, eps: scaled(x, w, b, eps, 0.0, torch.zeros_like(x[..., :1])),
        "Mean and M2 are still 0 after the loop. Is what welford_combine returns kept?",
    ),
    "last-tile-only": (
        of_one_tile(-1),
        "Mean and variance are those of the last tile: what was there before is not merged.",
    ),
    "first-tile-only": (
        of_one_tile(0),
        "Mean and variance are those of the first tile. Does each round load its own tile?",
    ),
    "mean-of-the-last-tile": (
        mean_of_the_last_tile,
        "The second walk subtracts the mean of the last tile. Subtract that of the row.",
    ),
    "tile-by-tile": (
        tile_by_tile,
        "Each tile was normalised by its own mean and variance. The tiles of a row share theirs.",
    ),
    "first-weights-alone": (
        lambda x, w, b, eps, *, block=4096: layernorm_ref(
            x, w[torch.arange(x.shape[-1]) % block], b, eps
        ),
        "Every tile got the weights of the first one. Load the tile's own.",
    ),
    "first-weights": (
        with_first_weights,
        "Every tile got the weights and biases of the first one. Load the tile's own.",
    ),
    "first-biases": (
        with_first_biases,
        "Every tile got the biases of the first one. Load the tile's own.",
    ),
}

CHECKS = {
    "layernorm": Check(
        layernorm_ref,
        CASES,
        HIDDEN_ROWS,
        launches=1,
        max_programs=one_a_row,
        tolerance=rounded_once(terms=4096),
        mistakes=TASK_1_MISTAKES,
        also=[survives_a_large_mean, keeps_its_statistics],
    ),
    "welford_combine": Check(
        combine_ref,
        PARTS,
        HIDDEN_PARTS,
        through="combine",
        results=("n", "mean", "M2"),
        launches=1,
        terms=4,
        mistakes=COMBINE_MISTAKES,
        before=[subtracts_before_it_squares],
    ),
    "layernorm_welford": Check(
        layernorm_ref,
        TILES,
        HIDDEN_TILES,
        launches=1,
        programs=one_a_row,
        max_tile=a_tile,
        tolerance=rounded_once(terms=4096),
        mistakes=TILE_MISTAKES,
        also=[lambda fn: survives_a_large_mean(fn, 64)],
    ),
}
