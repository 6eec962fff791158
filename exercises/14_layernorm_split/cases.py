"""What the checks of 14_layernorm_split try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor

from ..shared.norms import (
    MISTAKES,
    in_pieces,
    layernorm,
    mean_of,
    parts_of,
    rows,
    scaled,
    survives_a_large_mean,
    variance_of,
    whole,
)
from .page import layernorm_ref


def as_rows(x):
    return x.reshape(-1, x.shape[-1])


def piece_stats_ref(x, num_splits):
    return tuple(part.float() for part in parts_of(in_pieces(as_rows(x), num_splits), -1))


def exactly(x, num_splits):
    """The same in float64, for the formulas below."""
    return parts_of(in_pieces(as_rows(x), num_splits), -1)


def piece(x, num_splits):
    return in_pieces(as_rows(x), num_splits).shape[-1]


def tile(x, num_splits):
    return triton.next_power_of_2(piece(x, num_splits))


def otherwise(formula):
    """A mistake: formula(n, mean, m2, piece, tile) gives the three that are stored."""

    def wrong(x, num_splits):
        found = exactly(x, num_splits)
        return formula(*found, piece(x, num_splits), tile(x, num_splits))

    return wrong


def padded(n, mean, m2, piece, tile):
    """The lanes without an element hold minus the mean."""
    return n, mean, m2 + (tile - n) * mean.pow(2)


def over(size):
    """The mean divided by another count; the piece is centred with it."""

    def formula(n, mean, m2, piece, tile):
        other = mean * n / size(piece, tile)
        return n, other, m2 + n * (mean - other).pow(2)

    return formula


def empty_is_nan(n, mean, m2, piece, tile):
    return n, torch.where(n == 0, torch.nan, mean), m2


def over_the_row(x, num_splits):
    """The mean is the piece's sum divided by the elements of the row."""
    n, mean, m2 = exactly(x, num_splits)
    other = mean * n / x.shape[-1]
    return n, other, m2 + n * (mean - other).pow(2)


def counted_to_the_end(x, num_splits):
    """The count is what is left of the row, at most a piece: below 0 past the end."""
    n, mean, m2 = exactly(x, num_splits)
    left = x.shape[-1] - torch.arange(num_splits) * piece(x, num_splits)
    return left.clamp_max(piece(x, num_splits)).expand_as(n).double(), mean, m2


def into_the_next_piece(x, num_splits):
    """The mask knows the end of the row alone: a tile wider than a piece takes the next one's."""
    found, size, wide = as_rows(x), piece(x, num_splits), tile(x, num_splits)
    longer = torch.nn.functional.pad(found, (0, num_splits * size + wide), value=float("nan"))
    taken = [longer[:, s * size : s * size + wide] for s in range(num_splits)]
    return parts_of(torch.stack(taken, dim=1), -1)


def first_piece_again(x, num_splits):
    """Every piece takes as many elements as it has from the beginning of the row."""
    cut = in_pieces(as_rows(x), num_splits)
    return parts_of(torch.where(cut.isnan(), torch.nan, cut[:, :1]), -1)


def rows_in_the_other_order(x, num_splits):
    """Stored piece after piece, not row after row."""
    return tuple(part.T.reshape(part.shape) for part in exactly(x, num_splits))


PIECE_MISTAKES = {
    "empty-piece": (
        otherwise(empty_is_nan),
        "Right but for empty pieces: their mean is 0 / 0. Divide by something that is not 0.",
    ),
    "count-of-a-piece": (
        otherwise(lambda n, mean, m2, piece, tile: (torch.full_like(n, piece), mean, m2)),
        "Every piece counts piece_size elements. The last ones may have fewer: count with a mask "
        "that knows both ends, of the piece and of the row.",
    ),
    "count-below-none": (
        counted_to_the_end,
        "An empty piece that begins past the row's end counts fewer than 0 elements. Count with "
        "the mask.",
    ),
    "count-of-the-tile": (
        otherwise(lambda n, mean, m2, piece, tile: (torch.full_like(n, tile), mean, m2)),
        "Every piece counts the lanes of its tile. Count with the mask.",
    ),
    "mean-over-piece": (
        otherwise(over(lambda piece, tile: piece)),
        "The sum is divided by piece_size. A short piece has fewer elements: divide by its count.",
    ),
    "mean-over-tile": (
        otherwise(over(lambda piece, tile: tile)),
        "The sum is divided by the lanes of the tile. Divide by the count of the piece.",
    ),
    "mean-over-row": (
        over_the_row,
        "The sum is divided by N, the elements of the row. Divide by the count of the piece.",
    ),
    "sum-for-mean": (
        otherwise(lambda n, mean, m2, piece, tile: (n, n * mean, m2)),
        "The sum of the piece is stored. Its mean is asked for.",
    ),
    "padding-counted": (
        otherwise(padded),
        "Masked lanes are counted in M2: after the subtraction they hold minus the mean. Set them "
        "to 0 again.",
    ),
    "past-the-row-counted": (
        otherwise(lambda n, mean, m2, piece, tile: (n, mean, m2 + (piece - n) * mean.pow(2))),
        "Lanes past the end of the row are counted in M2: after the subtraction they hold minus "
        "the mean. Set all masked lanes to 0 again.",
    ),
    "zeros-not-counted": (
        lambda x, num_splits: (
            (in_pieces(as_rows(x), num_splits).nan_to_num(0.0) != 0).sum(-1).double(),
            *exactly(x, num_splits)[1:],
        ),
        "Elements that are 0 are not counted. Count the mask, not the values.",
    ),
    "count-and-mean-swapped": (
        otherwise(lambda n, mean, m2, piece, tile: (mean, n, m2)),
        "Count and mean have changed places.",
    ),
    "variance-for-m2": (
        otherwise(lambda n, mean, m2, piece, tile: (n, mean, m2 / n.clamp_min(1))),
        "The variance is stored. M2 is the sum of the squares: nothing divides it.",
    ),
    "squares-of-x": (
        otherwise(lambda n, mean, m2, piece, tile: (n, mean, m2 + n * mean.pow(2))),
        "M2 sums the squares of x. It should be those of the distances from the mean.",
    ),
    "root-for-m2": (
        otherwise(lambda n, mean, m2, piece, tile: (n, mean, (m2 / n.clamp_min(1)).sqrt())),
        "The standard deviation is stored. M2 is the plain sum of the squares.",
    ),
    "mean-and-m2-swapped": (
        otherwise(lambda n, mean, m2, piece, tile: (n, m2, mean)),
        "Mean and M2 have changed places.",
    ),
    "into-the-next-piece": (
        into_the_next_piece,
        "Pieces overlap: a tile is wider than a piece, and its mask lets the next piece in.",
    ),
    "first-piece-again": (
        first_piece_again,
        "Every program took the elements of the row's first piece. offs_n knows the piece.",
    ),
    "other-order": (
        rows_in_the_other_order,
        "The numbers are right, but not in their places: place is pid_m * num_splits + pid_s.",
    ),
}

ZEROS = {(0, 3): 0.0, (2, 20): 0.0}  # elements too

PIECES = [
    case("four pieces that fit", x=tensor(2, 64, mean=2), num_splits=4),
    case("three pieces that do not", x=tensor(3, 100, mean=2), num_splits=3),
    case("an empty piece, and zeros", x=tensor(3, 33, mean=-2, planted=ZEROS), num_splits=4),
    case("rows with gaps", x=tensor(3, 70, mean=2, layout="strided"), num_splits=2),
    case("transposed", x=tensor(5, 40, mean=2, layout="transposed"), num_splits=2),
    case(
        "half precision, large",
        dtype="float16",
        x=tensor(2, 90, mean=300, scale=300),
        num_splits=2,
    ),
    case("three dimensions", x=tensor(2, 2, 50, mean=2), num_splits=3),
    case("no rows", x=tensor(0, 64), num_splits=2),
    case("a piece too long", x=tensor(1, 40_000), num_splits=2, raises=ValueError),
]

HIDDEN_PIECES = [
    case("one element", x=tensor(3, 1, mean=2), num_splits=2),
    case("one piece", x=tensor(2, 255, mean=2), num_splits=1),
    case("seven pieces", dtype="bfloat16", x=tensor(2, 400, mean=2), num_splits=7),
    case("tiny numbers", x=tensor(2, 200, scale=1e-3), num_splits=3),
    case("mostly empty", x=tensor(2, 17, mean=2), num_splits=9),
    case("transposed", x=tensor(7, 50, mean=2, layout="transposed"), num_splits=3),
]


def keep_the_digits(fn):
    """Pieces around 10,000 have an M2 that the squares of x cannot show."""
    x = torch.randn(2, 100, generator=torch.Generator().manual_seed(5)) + 10_000
    _, _, m2 = fn(x.to(DEVICE), 2)
    _, _, wanted = exactly(x.double(), 2)
    error = ((m2.double().cpu() - wanted).abs() / wanted).nan_to_num(torch.inf).max().item()
    assert error < 0.01, (
        f"M2 of pieces around 10,000 is wrong by {error:.0%}, that of smaller numbers is right: "
        "its digits are lost. Subtract the mean before you square."
    )


# --- y


def from_parts(merge):
    """What comes out if merge(n, mean, m2) makes the row's mean and variance from its pieces."""

    def formula(x, w, b, eps, *, num_splits=64):
        mean, variance = merge(*parts_of(in_pieces(x, num_splits), -1))
        return scaled(x, w, b, eps, mean[..., None], variance[..., None])

    return formula


def weighted(n, mean):
    return (n * mean).sum(-1) / n.sum(-1)


def piece_by_piece(x, w, b, eps, *, num_splits=64):
    """Each piece normalised on its own."""
    cut = in_pieces(x, num_splits)
    n, mean, m2 = (part[..., None] for part in parts_of(cut, -1))
    y = (cut - mean) * torch.rsqrt(m2 / n.clamp_min(1) + eps)
    return y.flatten(-2)[..., : x.shape[-1]] * w + b


def swapped_statistics(x, w, b, eps):
    mean, variance = mean_of(x), x.var(dim=-1, keepdim=True, correction=0)
    return (x - torch.rsqrt(variance + eps)) * mean * w + b


def statistics_of_the_first_row(x, w, b, eps):
    first = as_rows(x)[:1]
    y = scaled(as_rows(x), w, b, eps, mean_of(first), first.var(-1, keepdim=True, correction=0))
    return y.reshape(x.shape)


def first_pieces_only(x, w, b, eps, *, num_splits=64):
    """The merge has as many lanes as the tile of a piece."""
    lanes = tile(x, num_splits)
    n, mean, m2 = (part[..., :lanes] for part in parts_of(in_pieces(x, num_splits), -1))
    common, m2 = whole(n, mean, m2)
    return scaled(x, w, b, eps, common, m2 / n.sum(-1, keepdim=True))


def idle_lanes_count(x, w, b, eps, *, num_splits=64):
    """A lane of the merge that has no piece is an element, 0."""
    idle = triton.next_power_of_2(num_splits) - num_splits
    n, mean, m2 = parts_of(in_pieces(x, num_splits), -1)
    n = torch.nn.functional.pad(n, (0, idle), value=1.0)
    mean, m2 = (torch.nn.functional.pad(part, (0, idle)) for part in (mean, m2))
    common, m2 = whole(n, mean, m2)
    return scaled(x, w, b, eps, common, m2 / n.sum(-1, keepdim=True))


def x_for_x_rows(x, w, b, eps):
    """x in the order of its memory, with the statistics of its rows: one matrix for several."""
    if x.dim() < 3:
        return layernorm(x, w, b, eps)
    in_memory = x.transpose(-1, -2).reshape(x.shape)
    return (in_memory - mean_of(x)) * torch.rsqrt(variance_of(x) + eps) * w + b


def first_row_merged(x, w, b, eps):
    """Nobody stored the statistics of the rows after the first."""
    y = layernorm(as_rows(x), w, b, eps)
    y[1:] = torch.nan
    return y.reshape(x.shape)


BY_SUMS = (
    "The pieces were merged by plain sums or averages. Pieces with different means, or different "
    "counts, need welford_combine: tl.reduce."
)

SPLIT_MISTAKES = MISTAKES | {
    "mean-of-means": (
        from_parts(
            lambda n, mean, m2: (
                mean.mean(-1),
                (m2 + n * (mean - weighted(n, mean)[..., None]).pow(2)).sum(-1) / n.sum(-1),
            )
        ),
        "The pieces' means are averaged. A piece of 1 element does not weigh as much as a full "
        "one.",
    ),
    "averages": (
        from_parts(lambda n, mean, m2: (mean.mean(-1), m2.sum(-1) / n.sum(-1))),
        BY_SUMS,
    ),
    "m2-summed": (
        from_parts(lambda n, mean, m2: (weighted(n, mean), m2.sum(-1) / n.sum(-1))),
        BY_SUMS,
    ),
    "means-summed": (
        from_parts(lambda n, mean, m2: (mean.sum(-1), m2.sum(-1) / n.sum(-1))),
        BY_SUMS,
    ),
    "buffers-swapped": (
        from_parts(
            lambda n, mean, m2: (
                weighted(n, m2),
                (mean + n * (m2 - weighted(n, m2)[..., None]).pow(2)).sum(-1) / n.sum(-1),
            )
        ),
        "Mean and M2 of the pieces have changed places, at a load or in a launch.",
    ),
    "m2-over-pieces": (
        from_parts(
            lambda n, mean, m2: (
                weighted(n, mean),
                (m2 + n * (mean - weighted(n, mean)[..., None]).pow(2)).sum(-1) / n.shape[-1],
            )
        ),
        "M2 is divided by the number of pieces. The variance is M2 divided by the count.",
    ),
    "first-pieces-only": (
        first_pieces_only,
        "Only the first pieces of a row are merged: there are more pieces than lanes. The merge "
        "has a lane for each piece, `BLOCK_S` of them.",
    ),
    "idle-lanes-count": (
        idle_lanes_count,
        "Lanes of the merge that have no piece count as one element. Their count is 0.",
    ),
    "x-for-x-rows": (
        x_for_x_rows,
        "The third kernel walks through x with the strides of x_rows. Where x is not contiguous, "
        "x_rows is a copy in another order: pass x_rows itself.",
    ),
    "first-row-merged": (
        first_row_merged,
        "Only the first row has its statistics, the others are NaN. One program merges one row: "
        "how many programs does the merge need?",
    ),
    "nothing-but-nan": (
        lambda x, w, b, eps: x * torch.nan,
        "Every result is NaN. Until the merge has stored a row's mean and one over its root, both "
        "are NaN: does it store the two, each at pid_m, and before the third kernel starts?",
    ),
    "piece-by-piece": (
        piece_by_piece,
        "Each piece was normalised by its own mean and variance. The pieces of a row share theirs.",
    ),
    "statistics-swapped": (
        swapped_statistics,
        "Mean and one over the root have changed places, at a store or in a launch.",
    ),
    "variance-for-rstd": (
        lambda x, w, b, eps: (
            (x - mean_of(x)) * (x.var(-1, keepdim=True, correction=0) + eps) * w + b
        ),
        "The row is multiplied by its variance. Store one over the root: `tl.rsqrt`.",
    ),
    "first-rows-statistics": (
        statistics_of_the_first_row,
        "Every row was normalised with the statistics of the first one.",
    ),
}


def split_rows(*shape, num_splits, **how):
    return rows(*shape, **how) | {"options": {"num_splits": num_splits}}


SPLITS = [
    case("four pieces that fit", **split_rows(3, 64, mean=2, num_splits=4)),
    case("three pieces that do not", **split_rows(3, 100, mean=2, num_splits=3)),
    case("an empty piece", **split_rows(3, 33, mean=2, num_splits=4)),
    case("tiny numbers", **split_rows(3, 50, mean=2e-3, scale=1e-3, eps=3e-6, num_splits=3)),
    case("rows with gaps", **split_rows(3, 70, mean=2, layout="strided", num_splits=2)),
    case("transposed", **split_rows(5, 40, mean=2, layout="transposed", num_splits=2)),
    case("pieces far apart", **split_rows(2, 80, values="rising", scale=50, num_splits=5)),
    case("half precision", dtype="float16", **split_rows(2, 90, scale=400, num_splits=4)),
    case("three dimensions", **split_rows(2, 2, 50, mean=2, num_splits=3)),
    case("transposed matrices", **split_rows(2, 3, 50, mean=2, layout="transposed", num_splits=3)),
    case("more pieces than lanes in one", **split_rows(1, 310, values="rising", num_splits=20)),
    case("no rows", **split_rows(0, 64, num_splits=2)),
    case(
        "a short weight", **(split_rows(2, 64, num_splits=2) | {"w": tensor(63)}), raises=ValueError
    ),
    case(
        "a short bias", **(split_rows(2, 64, num_splits=2) | {"b": tensor(63)}), raises=ValueError
    ),
]

HIDDEN_SPLITS = [
    case("one element", **split_rows(2, 1, mean=2, num_splits=3)),
    case("one piece", **split_rows(2, 255, mean=2, num_splits=1)),
    case("seven pieces", dtype="bfloat16", **split_rows(2, 400, mean=2, num_splits=7)),
    case("tiny numbers", **split_rows(2, 200, scale=1e-3, eps=1e-4, num_splits=2)),
    case("rising rows", **split_rows(2, 333, values="rising", scale=9, num_splits=3)),
    case("transposed", **split_rows(3, 50, mean=2, layout="transposed", num_splits=2)),
    case("three dimensions", **split_rows(2, 2, 70, mean=2, num_splits=3)),
    case("a very long row", **split_rows(1, 100_000, mean=2, num_splits=8)),
]

CHECKS = {
    "piece_stats": Check(
        piece_stats_ref,
        PIECES,
        HIDDEN_PIECES,
        results=("n", "mean", "M2"),
        launches=1,
        programs=lambda x, num_splits: as_rows(x).shape[0] * num_splits,
        terms=4096,
        mistakes=PIECE_MISTAKES,
        also=[keep_the_digits],
    ),
    "layernorm_split": Check(
        layernorm_ref,
        SPLITS,
        HIDDEN_SPLITS,
        launches=3,
        programs=lambda x, w, b, eps, num_splits: as_rows(x).shape[0] * num_splits,
        tolerance=rounded_once(terms=4096),
        mistakes=SPLIT_MISTAKES,
        also=[lambda fn: survives_a_large_mean(fn, 3)],
    ),
}
