"""What the checks of 60_norm_records try: cases, named mistakes, and sizes for the rules."""

import dataclasses

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.cooperative import can_launch_cooperatively

from ..shared.norms import (
    ONE_TILE_MISTAKES,
    mean_of,
    parts_of,
    scaled,
    survives_a_large_mean,
    variance_of,
)
from ..shared.rmsnorm import ROW_MISTAKES
from .page import norm_ref

EPS = 1e-6


def norm(note, *shape, bias=False, eps=EPS, dtype="float32", raises=None, w=None, b=None, **how):
    """A case of a function (x, w, b, eps): how holds options, and how x is drawn."""
    options = {name: how.pop(name) for name in KNOBS if name in how}
    vector = tensor(shape[-1])
    return case(
        note,
        dtype=dtype,
        raises=raises,
        options=options,
        x=tensor(*shape, **how),
        w=w or vector,
        b=b or (tensor(shape[-1]) if bias else None),
        eps=eps,
    )


KNOBS = ("rows", "num_warps", "piece")


def either(mistakes_without, mistakes_with):
    """Mistakes of RMSNorm (x, w, eps) and of LayerNorm (x, w, b, eps), as mistakes of both."""
    found = {}
    for code, (formula, sentence) in mistakes_without.items():
        found[code] = (_without(formula), sentence)
    for code, (formula, sentence) in mistakes_with.items():
        found[code if code not in found else f"{code}-layernorm"] = (_with(formula), sentence)
    return found


def _plain(formula):
    return {"dtype", "block"}.isdisjoint(formula.__code__.co_varnames)


def _without(formula):
    return lambda x, w, b, eps: formula(x, w, eps) if b is None else norm_ref(x, w, b, eps)


def _with(formula):
    return lambda x, w, b, eps: norm_ref(x, w, b, eps) if b is None else formula(x, w, b, eps)


def plain(mistakes):
    """Those whose formulas want nothing but the reference's arguments."""
    return {
        code: row for code, row in mistakes.items() if _plain(row[0]) and code != "row-added-twice"
    }


UNBIASED = {
    "unbiased": (
        lambda x, w, eps: (
            x * torch.rsqrt(x.pow(2).sum(-1, True) / max(x.shape[-1] - 1, 1) + eps) * w
        ),
        "The sum of squares is divided by N - 1. Divide it by N.",
    ),
}
NO_ROOT = {
    "no-root": (
        ROW_MISTAKES["no-root"][0],
        "This divides by the mean square, not by its root. Is the root missing, or was x "
        "multiplied by `rstd` already? `scale_and_store` does it.",
    ),
}
NORMS = either(plain(ROW_MISTAKES) | UNBIASED | NO_ROOT, plain(ONE_TILE_MISTAKES))


# --- rows in two tiles

ROWS = [
    norm("33 = 32 + 1, programs not full", 10, 33, rows=4),
    norm("LayerNorm of them", 10, 33, rows=4, bias=True, mean=3.0),
    norm("100 of 64 + 64 lanes, LayerNorm", 5, 100, rows=2, bias=True, mean=-2.0),
    norm("64 = 32 + 32", 3, 64, rows=1),
    norm("one element", 3, 1, rows=2),
    norm("two elements, LayerNorm", 5, 2, rows=4, bias=True),
    norm("as many rows as columns, LayerNorm", 32, 32, rows=32, bias=True),
    norm("rows with gaps", 9, 33, rows=2, layout="strided", bias=True),
    norm("transposed", 13, 21, rows=8, layout="transposed"),
    norm("tiny numbers", 6, 100, rows=1, scale=1e-3, eps=1e-5),
    norm("half precision, large", 5, 300, rows=2, dtype="float16", scale=400),
    norm("bfloat16, three dimensions", 2, 5, 48, rows=4, dtype="bfloat16", bias=True),
    norm("no rows", 0, 64),
    norm("a weight too short", 3, 64, w=tensor(63), raises=ValueError),
    norm("a bias with gaps", 3, 64, b=tensor(64, layout="strided"), raises=ValueError),
]

HIDDEN_ROWS = [
    norm("three elements", 7, 3, rows=2, bias=True),
    norm("rows of 17", 70, 17, rows=16),
    norm("a large mean", 9, 90, rows=4, mean=50, bias=True),
    norm("rows of 700", 7, 700, rows=1, dtype="bfloat16"),
    norm("four dimensions", 2, 3, 2, 24, rows=2, layout="strided"),
]


def rows_each(x, w, b, eps, rows=4):
    return -(-x.shape[:-1].numel() // rows)


def widest(x, w, b, eps, rows=4):
    """Lanes of the larger tile, all rows of it."""
    half = max(1 << (x.shape[-1] - 1).bit_length() >> 1, 1)
    return rows * half


def good_widths(fn, tile_widths):
    """Raise AssertionError for two tiles that do not hold a row, or hold more than they need."""
    for N in (1, 2, 3, 33, 96, 100, 1000):
        found = tile_widths(N)
        asked = f"tile_widths({N}) is {found!r}"
        pair = isinstance(found, tuple) and len(found) == 2
        assert pair, f"{asked}: it has to be (BLOCK_A, BLOCK_B)."
        assert all(isinstance(n, int) and n > 0 and n & (n - 1) == 0 for n in found), (
            f"{asked}: both are powers of two, 1 at least."
        )
        assert sum(found) >= N, f"{asked}: {sum(found)} lanes do not hold a row of {N}."
        assert found == (first_half(N), lanes_of(N) - first_half(N)), (
            f"{asked}. The first tile is half of the next power of two, and the second is for what "
            f"that leaves over: {lanes_of(N)} lanes in all."
        )


def first_half(N):
    return max(1 << (N - 1).bit_length() >> 1, 1)


def lanes_of(N):
    """Lanes of both tiles of a row."""
    return first_half(N) + (1 << (max(N - first_half(N), 1) - 1).bit_length())


def from_sums(change, layer=True):
    """Mistakes of who takes sums over one tile: change(x, A) gives mean and mean square."""

    def wrong(x, w, b, eps):
        A = first_half(x.shape[-1])
        if b is None:
            return scaled(x, w, torch.zeros_like(w), eps, 0.0, change(x.pow(2), A))
        mean = change(x, A) if layer else mean_of(x)
        return scaled(x, w, b, eps, mean, change((x - mean).pow(2), A))

    return wrong


def only(first):
    def change(values, A):
        part = values[..., :A] if first else values[..., A:]
        return part.sum(-1, keepdim=True) / values.shape[-1]

    return change


def each_by_itself(x, w, b, eps):
    """Each tile normalised by its own mean and root."""
    A = first_half(x.shape[-1])
    cut = (x[..., :A], x[..., A:])
    parts = [norm_ref(part, torch.ones_like(part), None if b is None else 0.0, eps) for part in cut]
    y = torch.cat(parts, -1) * w
    return y if b is None else y + b


def second_counts_padding(x, w, b, eps):
    """Masked lanes of the second tile hold minus the mean."""
    if b is None:
        return norm_ref(x, w, b, eps)
    N = x.shape[-1]
    idle = lanes_of(N) - N
    return scaled(x, w, b, eps, mean_of(x), variance_of(x) + idle / N * mean_of(x).pow(2))


def only_the_second_mean_divided(x, w, b, eps):
    """sum of the first tile + sum of the second / N."""
    if b is None:
        return norm_ref(x, w, b, eps)
    N, A = x.shape[-1], first_half(x.shape[-1])
    mean = x[..., :A].sum(-1, keepdim=True) + x[..., A:].sum(-1, keepdim=True) / N
    return scaled(x, w, b, eps, mean, (x - mean).pow(2).mean(-1, keepdim=True))


def with_mean(centre):
    """Mistakes of LayerNorm's first half: centre(x, A) is what is left of x, where A is the width
    of the first tile."""

    def wrong(x, w, b, eps):
        if b is None:
            return norm_ref(x, w, b, eps)
        left = centre(x, first_half(x.shape[-1]))
        return left * torch.rsqrt(left.pow(2).mean(-1, keepdim=True) + eps) * w + b

    return wrong


def own_mean(x, A):
    return torch.cat([part - mean_of(part) for part in (x[..., :A], x[..., A:])], -1)


def first_tile_centred(x, A):
    return torch.cat([x[..., :A] - mean_of(x), x[..., A:]], -1)


def over_lanes(x, w, b, eps):
    """Both sums divided by the lanes of the tiles."""
    share = x.shape[-1] / lanes_of(x.shape[-1])
    mean = torch.zeros_like(mean_of(x)) if b is None else mean_of(x) * share
    zero = torch.zeros_like(w) if b is None else b
    return scaled(x, w, zero, eps, mean, (x - mean).pow(2).mean(-1, keepdim=True) * share)


ROW_PAIR_MISTAKES = NORMS | {
    "mean-of-the-first-tile": (
        with_mean(lambda x, A: x - only(True)(x, A)),
        "The mean knows the first tile alone. A row's sum is that of both tiles.",
    ),
    "own-mean": (
        with_mean(own_mean),
        "From each tile its own mean is subtracted. The mean is that of the whole row.",
    ),
    "first-tile-centred": (
        with_mean(first_tile_centred),
        "The mean is subtracted from the first tile alone.",
    ),
    "divided-by-lanes": (
        over_lanes,
        "The sums are divided by the lanes of both tiles. A row has N elements.",
    ),
    "first-tile-alone": (
        from_sums(only(True)),
        "The sums know the first tile alone. A row's sum is that of both tiles.",
    ),
    "second-tile-alone": (
        from_sums(only(False)),
        "The sums know the second tile alone. A row's sum is that of both tiles.",
    ),
    "squares-of-the-first-tile": (
        from_sums(only(True), layer=False),
        "The squares are summed over the first tile alone. A row's sum is that of both tiles.",
    ),
    "each-tile-by-itself": (
        each_by_itself,
        "Each tile is normalised by itself. Mean and root are those of the whole row.",
    ),
    "second-tile-padding": (
        second_counts_padding,
        "Masked lanes of the second tile are counted: after the subtraction they hold minus the "
        "mean. Set them to 0 again.",
    ),
    "only-the-second-divided": (
        only_the_second_mean_divided,
        "For the mean only the second tile's sum is divided by N: brackets around both sums.",
    ),
}

# --- programs that wait for each other

TOGETHER = [
    norm("4 pieces, the last one short", 3, 100, piece=32, mean=1.0),
    norm("4 pieces that fit", 2, 64, piece=16),
    norm("LayerNorm of them", 3, 100, piece=32, mean=2.0, bias=True),
    norm("a rising row, LayerNorm", 2, 70, piece=16, values="rising", scale=4.0, bias=True),
    norm("a last piece of 1", 2, 65, piece=16, bias=True, mean=5.0),
    norm("one piece", 4, 33, piece=64, bias=True),
    norm("rows with gaps", 3, 70, piece=16, layout="strided", bias=True),
    norm("tiny numbers", 2, 200, piece=64, scale=1e-3, eps=1e-5),
    norm("half precision, large", 2, 90, piece=16, dtype="float16", scale=400),
    norm("bfloat16, three dimensions", 2, 2, 50, piece=16, dtype="bfloat16", bias=True),
    norm("no rows", 0, 64, piece=16),
    norm("a bias too long", 3, 64, piece=16, w=tensor(64), b=tensor(65), raises=ValueError),
]

HIDDEN_TOGETHER = [
    norm("one element", 1, 1, piece=16),
    norm("17 pieces", 1, 260, piece=16, bias=True, mean=-3.0),
    norm("7 rows", 7, 129, piece=32, mean=2.0),
    norm("a large mean", 2, 300, piece=64, mean=50.0, bias=True),
    norm("transposed", 5, 40, piece=16, layout="transposed", bias=True),
]


def pieces_of(x, piece):
    """x [..., N] as [..., pieces, piece], NaN past the end of the row."""
    short = -x.shape[-1] % piece
    return torch.nn.functional.pad(x, (0, short), value=float("nan")).unflatten(-1, (-1, piece))


def from_pieces(merge):
    """What comes out if merge(n, mean, m2, N) gives mean and variance; without b, means are 0."""

    def wrong(x, w, b, eps, *, piece=1024):
        cut = pieces_of(x, piece)
        n, mean, m2 = parts_of(cut, -1)
        if b is None:
            mean, m2 = torch.zeros_like(mean), cut.nan_to_num(0.0).pow(2).sum(-1)
        mean, variance = merge(n, mean, m2, x.shape[-1])
        zero = torch.zeros_like(w) if b is None else b
        return scaled(x, w, zero, eps, mean[..., None], variance[..., None])

    return wrong


def weighted(n, mean, N):
    return (n * mean).sum(-1) / N


def between(n, mean, common):
    return n * (mean - common[..., None]).pow(2)


def sums_for_means(x, w, b, eps, *, piece=1024):
    """Each piece stores its sum, with a bias or without, where its mean belongs."""
    cut = pieces_of(x, piece)
    n, mean, m2 = parts_of(cut, -1)
    m2 = cut.nan_to_num(0.0).pow(2).sum(-1) if b is None else m2
    of_row = weighted(n, n * mean, x.shape[-1])
    variance = (m2 + between(n, n * mean, of_row)).sum(-1) / x.shape[-1]
    zero = torch.zeros_like(w) if b is None else b
    return scaled(x, w, zero, eps, of_row[..., None], variance[..., None])


def own_statistics(x, w, b, eps, *, piece=1024):
    """Each piece normalised by itself."""
    cut = pieces_of(x, piece)
    n, mean, m2 = (part[..., None] for part in parts_of(cut, -1))
    if b is None:
        mean, m2 = torch.zeros_like(mean), cut.nan_to_num(0.0).pow(2).sum(-1, keepdim=True)
    y = (cut - mean) * torch.rsqrt(m2 / n + eps)
    y = y.flatten(-2)[..., : x.shape[-1]] * w
    return y if b is None else y + b


def own_means(x, w, b, eps, *, piece=1024):
    """y subtracts each piece's own mean; the root is the row's."""
    if b is None:
        return norm_ref(x, w, b, eps)
    cut = pieces_of(x, piece)
    centred = (cut - parts_of(cut, -1)[1][..., None]).flatten(-2)[..., : x.shape[-1]]
    return centred * torch.rsqrt(variance_of(x) + eps) * w + b


def _first_row(x, w, b, eps):
    """The sums of row 0 for every row."""
    first = x.reshape(-1, x.shape[-1])[:1]
    if b is None:
        return scaled(x, w, torch.zeros_like(w), eps, 0.0, first.pow(2).mean())
    return scaled(x, w, b, eps, first.mean(), variance_of(first))


TOGETHER_MISTAKES = NORMS | {
    "nan": (
        lambda x, w, b, eps: x * torch.nan,
        "A number below 0 has no root: m2 knows the mean already, so nothing is subtracted from "
        "it. Or was something loaded before the others had stored it?",
    ),
    "m2-of-pieces": (
        from_pieces(lambda n, mean, m2, N: (weighted(n, mean, N), m2.sum(-1) / N)),
        "The variance lacks what lies between the pieces: each adds n_s times the squared distance "
        "of its mean from that of the row.",
    ),
    "mean-of-means": (
        from_pieces(
            lambda n, mean, m2, N: (
                mean.mean(-1),
                (m2 + between(n, mean, mean.mean(-1))).sum(-1) / N,
            )
        ),
        "The pieces' means are averaged. A piece of 1 element weighs less than a full one: n_s.",
    ),
    "distance-not-weighted": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, mean, N),
                (m2 + (between(n, mean, weighted(n, mean, N)) / n)).sum(-1) / N,
            )
        ),
        "The squared distance of a piece's mean counts once. It counts for n_s elements.",
    ),
    "m2-times-n": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, mean, N),
                (n * m2 + between(n, mean, weighted(n, mean, N))).sum(-1) / N,
            )
        ),
        "m2 is multiplied by n_s, too. It is a sum already: n_s belongs to the squared distance.",
    ),
    "distance-not-squared": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, mean, N),
                (m2 + n * (mean - weighted(n, mean, N)[..., None])).sum(-1) / N,
            )
        ),
        "The distance of a piece's mean is not squared.",
    ),
    "stores-swapped": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, m2, N),
                (mean + between(n, m2, weighted(n, m2, N))).sum(-1) / N,
            )
        ),
        "mean_s and m2_s have changed places: which of the two goes where?",
    ),
    "sum-for-mean": (
        sums_for_means,
        "A piece's sum stands for its mean. n_s is multiplied with it, so store the mean.",
    ),
    "own-statistics": (
        own_statistics,
        "Each piece is normalised by itself. Mean and variance are those of the whole row.",
    ),
    "own-means": (
        own_means,
        "y subtracts the mean of the piece. Subtract that of the row: x is still there.",
    ),
    "first-row": (_first_row, "Every row has the sums of row 0: the places know the row."),
    "sum-not-divided": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, mean, N),
                (m2 + between(n, mean, weighted(n, mean, N))).sum(-1),
            )
        ),
        "The sum of squares is not divided by N.",
    ),
    "divided-by-pieces": (
        from_pieces(
            lambda n, mean, m2, N: (
                weighted(n, mean, N),
                (m2 + between(n, mean, weighted(n, mean, N))).mean(-1),
            )
        ),
        "The sum of squares is divided by the number of pieces. Divide it by N, the elements.",
    ),
    "mean-kept": (
        lambda x, w, b, eps: norm_ref(x, w, b, eps) if b is None else norm_ref(x, w, None, eps) + b,
        "The mean is not subtracted where there is a bias.",
    ),
}


# --- the rules


def rms(note, *shape, **how):
    """A case of a function (x, w, eps)."""
    made = norm(note, *shape, **how)
    return dataclasses.replace(
        made, arguments={k: v for k, v in made.arguments.items() if k != "b"}
    )


RECORD = [
    rms("short rows", 70, 33),
    rms("rows that fill no tile", 3, 1500),
    rms("one long row of tiny numbers", 1, 33_000, scale=1e-3, eps=1e-5),
    rms("three dimensions", 2, 3, 200, dtype="bfloat16"),
    rms("rows with gaps", 5, 300, dtype="float16", layout="strided"),
    rms("no rows", 0, 64),
    rms("a weight too short", 3, 64, w=tensor(63), raises=ValueError),
]
HIDDEN_RECORD = [
    rms("one element", 1, 1),
    rms("transposed", 7, 90, layout="transposed"),
    rms("two long rows", 2, 40_001, dtype="bfloat16"),
    rms("no long rows", 0, 70_000),
]


def rms_ref(x, w, eps):
    return norm_ref(x, w, None, eps)


# M rows, N elements, multiprocessors: no size of a table, and none near a border.
SEEN = [
    (1 << 20, 64, 132),
    (200_000, 96, 132),
    (10_000, 700, 108),
    (10_000, 200, 132),
    (20_000, 990, 132),
    (5000, 1300, 108),
    (40, 2000, 132),
    (3, 300, 132),
    (5000, 5120, 132),
    (16_384, 10_001, 132),
    (40, 10_000, 132),
    (5000, 24_000, 132),
    (700, 31_000, 132),
    (150, 24_000, 132),
    (80, 24_000, 132),
    (500, 36_000, 132),
    (8, 262_144, 132),
    (3, 1_000_000, 108),
    (30, 90_000, 132),
    (5, 200_000, 40),
    (1000, 131_072, 132),
    (4000, 50_000, 40),
    (100, 70_000, 132),
    (100, 40_000, 132),
    (19, 110_000, 132),
    (2, 70_000, 132),
    (1, 20_000, 132),
    (1 << 20, 1, 132),
    (5, 25_000, 132),
    (20, 24_000, 132),
    (60, 24_000, 40),
    (100, 60_000, 132),
]
UNSEEN = [
    (500_000, 17, 108),
    (70_000, 300, 40),
    (20, 6000, 132),
    (50, 13_500, 108),
    (3000, 2880, 132),
    (900, 9000, 108),
    (800, 30_000, 108),
    (160, 20_000, 132),
    (2, 30_000, 108),
    (8, 20_000, 132),
    (1, 18_000, 148),
    (50, 20_000, 108),
    (2, 700_001, 132),
    (17, 100_000, 108),
    (90, 45_000, 132),
    (9, 60_000, 24),
    (2000, 262_144, 132),
]


def good_plans(norm_plan, sizes):
    """Raise AssertionError for a plan that is not the page's, with the rule that it breaks."""
    for M, N, num_sms in sizes:
        plan = norm_plan(M, N, num_sms)
        asked = f"norm_plan({M:,}, {N:,}, {num_sms}) is {plan!r}"
        named = isinstance(plan, tuple) and plan and plan[0] in ("rows", "together", "loop")
        assert named and len(plan) == (1 if plan[0] == "loop" else 3), (
            f"{asked}: it has to be ('rows', rows, num_warps), ('together', piece, num_warps) or "
            "('loop',)."
        )
        way, *how = plan
        fits = N <= 16384 or (N <= 32768 and num_sms <= M)
        together = num_sms >= -(-N // 32768) * M
        best = "rows" if fits else "together" if together else "loop"
        assert way == best, f"{asked}. {WHY[best]}"
        if way == "rows":
            _rows(asked, N, *how)
        if way == "together":
            _pieces(asked, M, N, num_sms, *how)


WHY = {
    "rows": "A row of up to 16,384 goes to one program, and one of up to 32,768 where there are as "
    "many rows as multiprocessors.",
    "together": "Few long rows leave multiprocessors idle, and their pieces can all run at once.",
    "loop": "No program holds such a row, and pieces of 32,768 are too many to run at once.",
}
ONE_WARP = {
    True: "1 warp holds a row of 129 to 1,024: so no sum waits for another warp.",
    False: "1 warp is for rows of 129 to 1,024. Longer ones are too much for it, and of shorter "
    "ones several lie side by side.",
}


def _rows(asked, N, rows, num_warps):
    one_tile, lanes = 1 << (N - 1).bit_length(), lanes_of(N)
    within = 128 < N <= 1024
    most = 1 if within else 4
    while not within and lanes // (2 * most * 32) >= 32:
        most *= 2
    right = max(1, 1024 // one_tile), most
    assert (rows, num_warps) == right or (num_warps, rows) != right, (
        f"{asked}: the rows of a program come first, then its warps."
    )
    assert rows == right[0], (
        f"{asked}. A row has {one_tile:,} lanes in a single tile: how often do they fit into "
        "1,024? A program has one row at least."
    )
    assert within == (num_warps == 1), f"{asked}. {ONE_WARP[within]}"
    each = f"{lanes / (32 * num_warps):.3g}"
    assert num_warps == most, (
        f"{asked}. The two tiles have {lanes:,} lanes, {each} for a thread. From 4 on, warps "
        "double as long as a thread keeps 32 of them."
    )


def _pieces(asked, M, N, num_sms, piece, num_warps):
    assert isinstance(piece, int) and 256 <= piece <= 32768 and piece & (piece - 1) == 0, (
        f"{asked}: a piece has 256 to 32,768 elements, a power of two."
    )
    programs = M * -(-N // piece)
    assert programs <= num_sms, (
        f"{asked}: {programs:,} programs wait for each other. One for each multiprocessor is the "
        "most."
    )
    assert piece == 256 or M * -(-N // (piece // 2)) > num_sms, (
        f"{asked}: {programs:,} programs for {num_sms} multiprocessors. Smaller pieces give work "
        "to more of them."
    )
    assert num_warps == min(max(piece // 512, 1), 16), (
        f"{asked}. A warp has 512 elements of its piece, and a program 1 to 16 warps."
    )


def layernorm_too(fn, norm_plan, layernorm_record):
    """The other record, on few long and many short rows."""
    for M, N in ((40, 33), (2, 20_000)):
        x = torch.randn(M, N, generator=torch.Generator().manual_seed(M)) + 3
        w, b = torch.linspace(-1, 1, N), torch.linspace(2, 3, N)
        wanted = norm_ref(x.double(), w.double(), b.double(), 1e-3)
        got = layernorm_record(x.to(DEVICE), w.to(DEVICE), b.to(DEVICE), 1e-3)
        error = (got.double().cpu() - wanted).abs().max().item()
        assert error < 1e-4, f"layernorm_record of {M} rows of {N:,} is off by {error:.2g}."


# --- softmax of rows in two tiles

SOFTMAX = [
    case("33 = 32 + 1, programs not full", x=tensor(70, 33)),
    case("100 of 64 + 64 lanes, far below 0", x=tensor(5, 100, mean=-2e4)),
    case("all numbers at -1e30", x=tensor(2, 100, values="zeros", mean=-1e30)),
    case("the largest in the second tile", x=tensor(4, 100, values="rising", scale=60.0)),
    case("the largest in the first tile", x=tensor(4, 100, values="falling", scale=60.0)),
    case("one element", x=tensor(3, 1)),
    case("two elements", x=tensor(5, 2)),
    case("rows with gaps", x=tensor(9, 33, layout="strided")),
    case("transposed", x=tensor(13, 21, layout="transposed")),
    case("half precision, large", x=tensor(5, 300, scale=400), dtype="float16"),
    case("bfloat16, three dimensions", x=tensor(2, 5, 48), dtype="bfloat16"),
    case("float16, long sums", x=tensor(3, 3000, values="uniform"), dtype="float16"),
    case("a long row", x=tensor(1, 33_000)),
    case("no rows", x=tensor(0, 64)),
]
HIDDEN_SOFTMAX = [
    case("three elements", x=tensor(7, 3)),
    case("rows of 700", x=tensor(7, 700), dtype="bfloat16"),
    case("rising", x=tensor(6, 40, values="rising", scale=90.0)),
    case("below half precision", x=tensor(3, 100, mean=-1e5, scale=100), dtype="bfloat16"),
    case("four dimensions", x=tensor(2, 3, 2, 24, layout="strided")),
]


def shares(x, total):
    """Exponentials over total(exponentials, width of the first tile)."""
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / total(e, first_half(x.shape[-1]))


def padded_softmax(x):
    """Masked lanes of the second tile count as zeros."""
    N = x.shape[-1]
    return torch.nn.functional.pad(x, (0, lanes_of(N) - N)).softmax(-1)[..., :N]


LEFT_FLOAT32 = (
    "An exponential left float32. From both tiles the largest number of the row is subtracted, and "
    "that may stand in either tile."
)


def less(largest):
    """Something else subtracted than the row's largest number, in float32 as the kernel has it."""

    def wrong(x):
        e = torch.exp(x.float() - largest(x.float(), first_half(x.shape[-1])))
        return e / e.sum(-1, keepdim=True)

    return wrong


def own_largest(x):
    """exp(tile - the tile's own largest number), over one common sum."""
    parts = x.split(first_half(x.shape[-1]), -1)
    e = torch.cat([torch.exp(part - part.amax(-1, keepdim=True)) for part in parts], -1)
    return e / e.sum(-1, keepdim=True)


SOFTMAX_MISTAKES = {
    "nan": (
        lambda x: x * torch.nan,
        "Does the row's largest number stand upright, `largest[:, None]`, do masked lanes hold "
        "minus infinity, and is each sum that of a row, `axis=1`?",
    ),
    "first-largest": (less(lambda x, A: x[..., :A].amax(-1, keepdim=True)), LEFT_FLOAT32),
    "second-largest": (
        less(lambda x, A: x[..., A:].amax(-1, keepdim=True) if x.shape[-1] > A else x[..., :1]),
        LEFT_FLOAT32,
    ),
    "nothing-subtracted": (
        less(lambda x, A: 0.0),
        "The exponentials left float32. Is the row's largest number subtracted, and can a zero win "
        "it?",
    ),
    "first-tile-alone": (
        lambda x: shares(x, lambda e, A: e[..., :A].sum(-1, keepdim=True)),
        "The sum knows the first tile alone. A row's sum is that of both tiles.",
    ),
    "second-tile-alone": (
        lambda x: shares(x, lambda e, A: e[..., A:].sum(-1, keepdim=True)),
        "The sum knows the second tile alone. A row's sum is that of both tiles.",
    ),
    "each-tile-by-itself": (
        lambda x: torch.cat(
            [part.softmax(-1) for part in x.split(first_half(x.shape[-1]), -1)], -1
        ),
        "Each tile has a softmax of its own. Largest number and sum are those of the whole row.",
    ),
    "padding-counted": (
        padded_softmax,
        "Masked lanes took part. Which `other=` leaves a largest number and a sum of exponentials "
        "unchanged?",
    ),
    "own-largest": (
        own_largest,
        "From each tile its own largest number is subtracted, and both are divided by one sum. "
        "Largest number and sum are those of the whole row.",
    ),
    "sum-of-the-tile": (
        lambda x: shares(x, lambda e, A: e.flatten(0, -2).sum() if e.ndim > 1 else e.sum()),
        "The exponentials of all rows are in one sum: `axis=1` for each row's.",
    ),
    "not-normalised": (
        lambda x: shares(x, lambda e, A: torch.ones_like(e)),
        "The exponentials are right, but they were not divided by their sum.",
    ),
    "multiplied": (
        lambda x: shares(x, lambda e, A: 1.0 / e.sum(-1, keepdim=True)),
        "The exponentials are multiplied by their sum. They have to be divided by it.",
    ),
    "base-two": (
        lambda x: (x * 0.6931471805599453).softmax(-1),
        "This is a softmax to base 2: `tl.exp`, not `tl.exp2`.",
    ),
}


def a_program_a_piece(x, w, b, eps, piece=1024):
    return x.shape[:-1].numel() * -(-x.shape[-1] // piece)


CHECKS = {
    "norm_rows": Check(
        norm_ref,
        ROWS,
        HIDDEN_ROWS,
        launches=1,
        programs=rows_each,
        max_tile=widest,
        tolerance=rounded_once(terms=1024),
        mistakes=ROW_PAIR_MISTAKES,
        beside=("tile_widths",),
        before=[good_widths],
        also=[lambda fn, tile_widths: survives_a_large_mean(fn)],
    ),
    "norm_together": Check(
        norm_ref,
        TOGETHER,
        HIDDEN_TOGETHER,
        launches=1,
        programs=a_program_a_piece if can_launch_cooperatively() else None,
        tolerance=rounded_once(terms=1024),
        mistakes=TOGETHER_MISTAKES,
        also=[lambda fn: survives_a_large_mean(fn, 64)],
    ),
    "rmsnorm_record": Check(
        rms_ref,
        RECORD,
        HIDDEN_RECORD,
        launches=1,
        tolerance=rounded_once(terms=4096),
        mistakes=ROW_MISTAKES,
        beside=("norm_plan", "layernorm_record"),
        before=[lambda fn, norm_plan, other: good_plans(norm_plan, SEEN)],
        also=[layernorm_too],
        hidden_also=[lambda fn, norm_plan, other: good_plans(norm_plan, UNSEEN)],
    ),
    "softmax_record": Check(
        lambda x: x.softmax(-1),
        SOFTMAX,
        HIDDEN_SOFTMAX,
        launches=1,
        by_hand=("softmax",),
        tolerance=rounded_once(terms=4096),
        mistakes=SOFTMAX_MISTAKES,
    ),
}
