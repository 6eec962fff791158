"""What the checks of 13_layernorm try: cases, references, and mistakes that have a name."""

import torch

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
)
from .page import layernorm_ref

CASES = [
    case("rows that fill their tile", **rows(3, 64, mean=2)),
    case("rows that do not", **rows(4, 17, mean=2)),
    case("tiny numbers", **rows(4, 50, mean=2e-3, scale=1e-3, eps=3e-6)),
    case("rows with gaps", **rows(3, 100, mean=-3, layout="strided")),
    case("transposed", **rows(6, 40, mean=2, layout="transposed")),
    case("half precision, large", dtype="float16", **rows(3, 255, mean=300, scale=300)),
    case("bfloat16", dtype="bfloat16", **rows(3, 200, mean=2)),
    case("three dimensions", **rows(2, 3, 33, mean=2)),
]

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
    case("a row too long", **rows(1, 16_385), raises=ValueError),
]

TILES = [
    case("tiles that fit", **rows(2, 64, mean=2), options={"block": 16}),
    case("a last tile of 4", **rows(3, 100, mean=2), options={"block": 32}),
    case("less than a tile", **rows(3, 9, mean=2), options={"block": 32}),
    case("tiny numbers", **rows(2, 50, mean=2e-3, scale=1e-3, eps=3e-6), options={"block": 16}),
    case("rows with gaps", **rows(3, 40, mean=2, layout="strided"), options={"block": 16}),
    case("transposed", **rows(3, 40, mean=-2, layout="transposed"), options={"block": 16}),
    case("half precision, large", dtype="float16", **rows(2, 90, scale=400), options={"block": 32}),
    case("three dimensions", **rows(2, 2, 35, mean=2), options={"block": 16}),
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
    case("no rows", **rows(0, 64)),
]


def one_a_row(x, w, b, eps, block=4096):
    """Programs of both kernels."""
    return x.shape[:-1].numel()


def a_tile(x, w, b, eps, block=4096):
    """Elements that the loop holds at once."""
    return block


def keeps_its_statistics(fn):
    """With stats=True: y as before, and the mean and 1 / root of every row."""
    x = torch.randn(3, 40, generator=torch.Generator().manual_seed(3)) * 2 + 5
    w, b = torch.ones(40, device=DEVICE), torch.zeros(40, device=DEVICE)
    _, mean, rstd = fn(x.to(DEVICE), w, b, 1e-3, stats=True)
    variance = variance_of(x.double())[:, 0]
    wanted = {
        "right": torch.rsqrt(variance + 1e-3),
        "the root itself": torch.sqrt(variance + 1e-3),
        "the variance": variance,
        "the variance plus eps": variance + 1e-3,
        "1 / root without eps": torch.rsqrt(variance),
    }
    assert _near(mean, mean_of(x.double())[:, 0]), (
        "y is right, but with stats=True the mean of a row is not what mean_ptr + pid_m holds. Is "
        "it stored there?"
    )
    found = [name for name, value in wanted.items() if _near(rstd, value)]
    what = f"There is {found[0]}." if found else "Is it stored there?"
    assert "right" in found, (
        "y is right, but with stats=True one over the root of a row is not what rstd_ptr + pid_m "
        f"holds. {what}"
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


def unguarded(a, b):
    n = a[0] + b[0]
    share_b, delta = b[0] / n, b[1] - a[1]
    return n, a[1] + delta * share_b, a[2] + b[2] + delta * delta * a[0] * share_b


COMBINE_MISTAKES = {
    "two-empty-parts": (
        unguarded,
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
    "share-of-the-other": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1] + d * sa, m2)),
        "The mean moves from mean_a towards mean_b by the share of b, not of a.",
    ),
    "delta-the-wrong-way": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, a[1] - d * sb, m2)),
        "The mean moves away from b. delta is mean_b - mean_a.",
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
    "count-of-a": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (a[0], mean, m2)),
        "The count that is returned is that of part a alone.",
    ),
    "results-swapped": (
        wrongly(lambda a, b, n, mean, m2, d, sa, sb: (n, m2, mean)),
        "Mean and M2 have changed places. The order is n, mean, M2.",
    ),
}

PARTS = [
    case("two parts", a=parts(20), b=parts(20)),
    case("parts of unlike size", a=parts(33, 1000, 5000), b=parts(33, 1, 4)),
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


# --- the loop with a tile of statistics


def lane_by_lane(merge):
    """What comes out if the lanes' (n, mean, M2), [..., block], are merged by merge(n, mean, m2),
    into the mean and the variance of the row."""

    def formula(x, w, b, eps, *, block=4096):
        return scaled(x, w, b, eps, *merge(*parts_of(in_tiles(x, block), -2)))

    return formula


def not_merged(x, w, b, eps, *, block=4096):
    """Each lane normalises its own elements."""
    tiles = in_tiles(x, block)
    n, mean, m2 = (value.unsqueeze(-2) for value in parts_of(tiles, -2))
    y = (tiles - mean) * torch.rsqrt(m2 / n.clamp_min(1) + eps)
    return y.flatten(-2)[..., : x.shape[-1]] * w + b


def of_the_padded_row(x, w, b, eps, *, block=4096):
    padded = in_tiles(x, block, fill=0.0).flatten(-2)
    return scaled(x, w, b, eps, mean_of(padded), variance_of(padded))


def of_one_tile(which):
    def formula(x, w, b, eps, *, block=4096):
        n, mean, m2 = parts_of(in_tiles(x, block)[..., which, :], -1)
        return scaled(x, w, b, eps, mean[..., None], (m2 / n)[..., None])

    return formula


def with_squares_as_m2(x, w, b, eps):
    return scaled(x, w, b, eps, mean_of(x), variance_of(x) + mean_of(x.pow(2)))


def with_tile_counts(x, w, b, eps, *, block=4096):
    """Each lane of a tile counts for as many elements as the whole tile has."""
    tiles = in_tiles(x, block, fill=0.0)
    weight = parts_of(in_tiles(x, block), -1)[0][..., None].expand_as(tiles)
    weight = weight / weight.sum((-2, -1), keepdim=True)
    mean = (weight * tiles).sum((-2, -1), keepdim=True)
    variance = (weight * (tiles - mean).pow(2)).sum((-2, -1))[..., None]
    return scaled(x, w, b, eps, mean[..., 0], variance)


def with_first_weights(x, w, b, eps, *, block=4096):
    again = torch.arange(x.shape[-1]) % block
    return layernorm_ref(x, w[again], b[again], eps)


MERGED_BY_SUMS = (
    "The lanes were merged by plain sums. Lanes with different means, or different counts, need "
    "welford_combine: tl.reduce."
)

TILE_MISTAKES = MISTAKES | {
    "lanes-not-merged": (
        not_merged,
        "Each lane normalised with statistics of its own. After the loop the lanes still have to "
        "be merged: tl.reduce.",
    ),
    "masked-lanes-counted": (
        of_the_padded_row,
        "Masked lanes were merged as elements that are 0. A masked lane is an empty part: its "
        "count is 0.",
    ),
    "tile-counts": (
        with_tile_counts,
        "Each lane was given the count of its whole tile. A lane brings one element: its count is "
        "1, and 0 where it is masked.",
    ),
    "m2-of-an-element": (
        with_squares_as_m2,
        "A single element has no distance from its own mean: the M2 that it brings is 0, not its "
        "square.",
    ),
    "lanes-averaged": (
        lane_by_lane(
            lambda n, mean, m2: (
                mean.mean(-1, keepdim=True),
                (m2.sum(-1) / n.sum(-1).clamp_min(1)).unsqueeze(-1),
            )
        ),
        MERGED_BY_SUMS,
    ),
    "m2-summed": (
        lane_by_lane(
            lambda n, mean, m2: (
                (n * mean).sum(-1, keepdim=True) / n.sum(-1, keepdim=True).clamp_min(1),
                (m2.sum(-1) / n.sum(-1).clamp_min(1)).unsqueeze(-1),
            )
        ),
        MERGED_BY_SUMS,
    ),
    "lanes-summed": (
        lane_by_lane(
            lambda n, mean, m2: (
                mean.sum(-1, keepdim=True),
                (m2.sum(-1) / n.sum(-1).clamp_min(1)).unsqueeze(-1),
            )
        ),
        MERGED_BY_SUMS,
    ),
    "last-tile-only": (
        of_one_tile(-1),
        "Mean and variance are those of the last tile: what was there before is not merged.",
    ),
    "first-weights": (
        with_first_weights,
        "Every tile got the weights and biases of the first one. Load the tile's own.",
    ),
    "first-tile-only": (
        of_one_tile(0),
        "Mean and variance are those of the first tile. Does each round load its own tile?",
    ),
}

CHECKS = {
    "layernorm": Check(
        layernorm_ref,
        CASES,
        HIDDEN_ROWS,
        launches=1,
        programs=one_a_row,
        tolerance=rounded_once(terms=4096),
        mistakes=ONE_TILE_MISTAKES,
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
