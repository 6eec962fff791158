"""What the checks of 11_rmsnorm_split try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor

from ..shared.rmsnorm import ROW_MISTAKES, exact, scaled
from .page import pieces, rmsnorm_ref

EPS = 1e-6


def rows(note, *shape, splits, eps=EPS, w=None, dtype="float32", raises=None, **how):
    """A case: x of this shape, w as long as its rows, in `splits` pieces a row."""
    return case(
        note,
        dtype=dtype,
        raises=raises,
        x=tensor(*shape, **how),
        w=w or tensor(shape[-1]),
        eps=eps,
        options={"num_splits": splits},
    )


def _sums(x, num_splits, first, last):
    """Sums of squares of columns first(p) to last(p) of each piece p: a list, [..., 1] each.

    first, last: functions of p, the size of a piece and the lanes of its tile.
    """
    size, block = pieces(x.shape[-1], num_splits)
    squares = x.pow(2)
    spans = [(first(p, size, block), last(p, size, block)) for p in range(num_splits)]
    return [squares[..., begin:end].sum(-1, keepdim=True) for begin, end in spans]


def _of_pieces(x, num_splits):
    return _sums(x, num_splits, lambda p, size, _: p * size, lambda p, size, _: (p + 1) * size)


def _own_piece_only(x, w, eps, *, num_splits=4):
    size, _ = pieces(x.shape[-1], num_splits)
    sums = [s.expand(*s.shape[:-1], size) for s in _of_pieces(x, num_splits)]
    return scaled(x, w, eps, torch.cat(sums, dim=-1)[..., : x.shape[-1]])


def _overlapping(x, w, eps, *, num_splits=4):
    ends = _sums(x, num_splits, lambda p, n, _: p * n, lambda p, n, block: p * n + block)
    return scaled(x, w, eps, sum(ends))


def _one_too_many(x, w, eps, *, num_splits=4):
    """Each piece with the first column of the next, if its tile has a lane for it."""
    ends = _sums(x, num_splits, lambda p, n, _: p * n, lambda p, n, b: p * n + min(n + 1, b))
    return scaled(x, w, eps, sum(ends))


def _apart_by_tiles(x, w, eps, *, num_splits=4):
    spans = _sums(x, num_splits, lambda p, n, b: p * b, lambda p, n, b: p * b + n)
    return scaled(x, w, eps, sum(spans))


def _rounded_down(x, w, eps, *, num_splits=4):
    whole = x.shape[-1] // num_splits * num_splits
    return scaled(x, w, eps, x[..., :whole].pow(2).sum(-1, keepdim=True))


def _masked_lanes_count(x, w, eps, *, num_splits=4):
    """Squares of ones in every lane that holds no column."""
    _, block = pieces(x.shape[-1], num_splits)
    masked = num_splits * block - x.shape[-1]
    return scaled(x, w, eps, x.pow(2).sum(-1, keepdim=True) + masked)


def _masked_sums_count(x, w, eps, *, num_splits=4):
    masked = triton.next_power_of_2(num_splits) - num_splits
    return scaled(x, w, eps, x.pow(2).sum(-1, keepdim=True) + masked)


def _columns_by_pid(x, w, eps, *, num_splits=4):
    """Program pid sums columns from pid * piece_size on: only those of row 0 exist."""
    total = x.pow(2).sum(-1, keepdim=True).reshape(-1, 1)
    total[1:] = 0
    return scaled(x, w, eps, total.reshape(*x.shape[:-1], 1))


def _sums_by_piece(x, w, eps, *, num_splits=4):
    """Place p holds the sum of piece p of all rows, and stands for row p."""
    sums = torch.stack(_of_pieces(x, num_splits)).reshape(num_splits, -1).sum(-1)
    total = torch.zeros(x.shape[:-1].numel()).double()
    count = min(num_splits, len(total))
    total[:count] = sums[:count]
    return scaled(x, w, eps, total.reshape(*x.shape[:-1], 1))


def _first_weights(x, w, eps, *, num_splits=4):
    size, _ = pieces(x.shape[-1], num_splits)
    return exact(x, w[torch.arange(x.shape[-1]) % size], eps)


def _half_buffer(x, w, eps, *, dtype, num_splits=4):
    """Each piece's sum, and what has been added so far, in the dtype of x."""
    total = torch.zeros_like(x[..., :1], dtype=dtype)
    for piece in _of_pieces(x, num_splits):
        total = total + piece.to(dtype)
    return scaled(x, w, eps, total)


def _mean_of_means(x, w, eps, *, num_splits=4):
    size, _ = pieces(x.shape[-1], num_splits)
    total = x.pow(2).sum(-1, keepdim=True) * x.shape[-1] / (size * num_splits)
    return scaled(x, w, eps, total)


def _each_by(x, w, eps, totals):
    """Every piece p scaled by its own entry of `totals` [..., pieces]."""
    size, _ = pieces(x.shape[-1], totals.shape[-1])
    return scaled(x, w, eps, totals.repeat_interleave(size, dim=-1)[..., : x.shape[-1]])


def _sums_by_piece_in_both(x, w, eps, *, num_splits=4):
    """Piece p of every row is scaled by the sum of all rows' pieces p."""
    sums = torch.stack(_of_pieces(x, num_splits)).reshape(num_splits, -1).sum(-1)
    return _each_by(x, w, eps, sums.expand(*x.shape[:-1], num_splits))


def _taken_by_piece(x, w, eps, *, num_splits=4):
    """Piece p of every row is scaled by the sum of row p."""
    totals = x.pow(2).sum(-1).flatten()
    if len(totals) < num_splits:
        return exact(x, w, eps)
    return _each_by(x, w, eps, totals[:num_splits].expand(*x.shape[:-1], num_splits))


def _sums_from_row_on(x, w, eps, *, num_splits=4):
    """Row m adds up the partial sums from place m on."""
    places = torch.stack(_of_pieces(x, num_splits), dim=-1).flatten()
    starts = range(x.shape[:-1].numel())
    totals = torch.stack([places[m : m + num_splits].sum() for m in starts])
    return scaled(x, w, eps, totals.reshape(*x.shape[:-1], 1))


MISTAKES = ROW_MISTAKES | {
    "own-piece-only": (
        _own_piece_only,
        "Each piece is normalised by its own sum. The root is taken over the whole row: the sums "
        "of all its pieces belong together.",
    ),
    "last-piece-only": (
        lambda x, w, eps, *, num_splits=4: scaled(x, w, eps, _of_pieces(x, num_splits)[-1]),
        "The row's sum holds its last piece only: the programs overwrite each other.",
    ),
    "first-piece-only": (
        lambda x, w, eps, *, num_splits=4: scaled(x, w, eps, _of_pieces(x, num_splits)[0]),
        "The row's sum holds its first piece only.",
    ),
    "first-piece-for-all": (
        lambda x, w, eps, *, num_splits=4: scaled(
            x, w, eps, num_splits * _of_pieces(x, num_splits)[0]
        ),
        "Every program of a row has summed its first piece. Do the columns begin at "
        "`piece * piece_size`?",
    ),
    "counted-twice": (
        _overlapping,
        "Some columns are counted twice. A tile can reach past its piece, into the next program's: "
        "mask these lanes too.",
    ),
    "one-column-twice": (
        _one_too_many,
        "Each piece counts one column more than it has, the first of the next one: `<`, not `<=`.",
    ),
    "pieces-apart-by-tiles": (
        _apart_by_tiles,
        "Pieces lie `piece_size` columns apart. Here they are `BLOCK_N` apart, and the columns "
        "between them belong to nobody.",
    ),
    "divided-by-piece": (
        lambda x, w, eps, *, num_splits=4: scaled(
            x,
            w,
            eps,
            x.pow(2).sum(-1, keepdim=True) * x.shape[-1] / pieces(x.shape[-1], num_splits)[0],
        ),
        "The sum is divided by the columns of a piece. The mean is over the N elements of the row.",
    ),
    "divided-by-tile": (
        lambda x, w, eps, *, num_splits=4: scaled(
            x,
            w,
            eps,
            x.pow(2).sum(-1, keepdim=True) * x.shape[-1] / pieces(x.shape[-1], num_splits)[1],
        ),
        "The sum is divided by the lanes of a tile. The mean is over the N elements of the row.",
    ),
    "tail-lost": (
        _rounded_down,
        "The last columns of the row are missing from its sum: N is not always a multiple of "
        "`num_splits`.",
    ),
    "last-column-lost": (
        lambda x, w, eps: scaled(x, w, eps, x[..., :-1].pow(2).sum(-1, keepdim=True)),
        "The last column of the row is missing from its sum. Is the mask one too short?",
    ),
    "masked-lanes-counted": (
        _masked_lanes_count,
        "Masked lanes hold 1 and take part in the sum. Let them hold 0.",
    ),
    "columns-by-pid": (
        _columns_by_pid,
        "Only the first row has its sum, the others have 0. Columns begin at `piece * piece_size` "
        "in every row, not at `pid * piece_size`.",
    ),
    "mean-of-means": (
        _mean_of_means,
        "This is the mean of the pieces' means. The last piece is shorter than the others: add up "
        "sums, and divide by N once.",
    ),
    "divided-twice": (
        lambda x, w, eps: scaled(x, w, eps, x.pow(2).mean(-1, keepdim=True)),
        "The sum is divided by N twice.",
    ),
    "first-weights": (
        _first_weights,
        "Every piece is multiplied by the weights of the first one. Load the piece's own.",
    ),
    "sums-in-half-precision": (
        _half_buffer,
        "The buffer of sums is in half precision, where sums lose digits. Make it float32.",
    ),
}

ATOMIC_MISTAKES = MISTAKES | {
    "sums-of-nothing": (
        lambda x, w, eps: x * torch.nan,
        "Every result is NaN. Whatever is added to NaN is NaN: what does `sums` hold before the "
        "first launch?",
    ),
    "sums-stay-zero": (
        lambda x, w, eps: scaled(x, w, eps, torch.zeros(())),
        "Every row's sum is 0 when the second kernel takes it. Does the first one add to `sums`?",
    ),
    "sums-by-piece": (
        _sums_by_piece,
        "The sums are kept for each piece. Keep one for each row: its place is `sums_ptr + row`.",
    ),
    "sums-by-piece-in-both": (
        _sums_by_piece_in_both,
        "The sums are kept for each piece. Keep one for each row: its place is `sums_ptr + row`.",
    ),
    "taken-by-piece": (
        _taken_by_piece,
        "Each program took the sum of another row, the one with the number of its piece. Its own "
        "is at `sums_ptr + row`.",
    ),
    "buffer-of-ones": (
        lambda x, w, eps: scaled(x, w, eps, x.pow(2).sum(-1, keepdim=True) + 1),
        "Each row's sum is too large by 1. Does the buffer begin with zeros?",
    ),
}

PLACE_MISTAKES = MISTAKES | {
    "places-of-nothing": (
        lambda x, w, eps: x * torch.nan,
        "Every result is NaN, as a sum is with one NaN in it. A place that no program has written "
        "holds NaN: does every program store, and is every place that is read written?",
    ),
    "masked-sums-counted": (
        _masked_sums_count,
        "The tile of partial sums has lanes without a piece. They hold 1 and take part in the sum: "
        "let them hold 0.",
    ),
    "largest-piece-only": (
        lambda x, w, eps, *, num_splits=4: scaled(
            x, w, eps, torch.stack(_of_pieces(x, num_splits)).amax(0)
        ),
        "The largest of the partial sums was taken, not their sum.",
    ),
    "sums-of-other-rows": (
        _sums_from_row_on,
        "Row m adds up the sums from place m on. Every row has `num_splits` places: where do its "
        "own begin?",
    ),
}

CASES = [
    rows("pieces that do not fit their tiles", 4, 101, splits=3),
    rows("pieces that do", 3, 256, splits=4),
    rows("rows with gaps", 3, 300, splits=2, layout="strided"),
    rows("transposed", 5, 90, splits=2, layout="transposed"),
    rows("tiny numbers", 2, 200, splits=3, scale=1e-3, eps=1e-5),
    rows("half precision, large", 2, 700, splits=5, dtype="float16", scale=300),
    rows("bfloat16", 2, 700, splits=5, dtype="bfloat16"),
    rows("three dimensions", 2, 2, 130, splits=3),
    rows("more pieces than there is work", 2, 17, splits=5),
    rows("no rows", 0, 64, splits=2),
    rows("a weight too short", 3, 64, splits=2, w=tensor(63), raises=ValueError),
    rows("a piece that fits no program", 1, 70_000, splits=1, raises=ValueError),
]

HIDDEN = [
    rows("one element", 1, 1, splits=1),
    rows("one column", 4, 1, splits=2),
    rows("one row of 17", 1, 17, splits=3),
    rows("one piece", 3, 255, splits=1),
    rows("seven pieces", 3, 1000, splits=7, dtype="bfloat16"),
    rows("tiny numbers", 2, 255, splits=2, scale=1e-3, eps=1e-5),
    rows("a large mean", 2, 1000, splits=4, mean=50),
    rows("rising rows", 2, 333, splits=3, values="rising", scale=9),
    rows("transposed", 7, 80, splits=3, layout="transposed"),
    rows("zeros", 2, 50, splits=2, values="zeros"),
    rows("three dimensions", 3, 1, 65, splits=2),
    rows("a very long row", 1, 262_144, splits=8),
]


def a_piece_each(x, w, eps, num_splits=4):
    """Programs of each launch."""
    return x.shape[:-1].numel() * num_splits


def a_piece(x, w, eps, num_splits=4):
    """Lanes of the widest tile."""
    return pieces(x.shape[-1], num_splits)[1]


def same_bits(fn):
    """On a GPU: programs come in another order each time, and the result is the same."""
    if DEVICE != "cuda":
        return
    x = torch.randn(2, 5000, device=DEVICE)
    w = torch.randn(5000, device=DEVICE)
    first = fn(x, w, EPS, 16)
    same = all(torch.equal(fn(x, w, EPS, 16), first) for _ in range(20))
    assert same, "20 calls on the same data do not agree to the last bit."


RULES = dict(
    launches=2,
    programs=a_piece_each,
    max_tile=a_piece,
    tolerance=rounded_once(terms=4096),
    timeout=10,
)

CHECKS = {
    "rmsnorm_split": Check(
        rmsnorm_ref,
        CASES,
        HIDDEN,
        mistakes=ATOMIC_MISTAKES,
        deterministic=DEVICE == "cpu",
        **RULES,
    ),
    "rmsnorm_split_det": Check(
        rmsnorm_ref,
        CASES,
        HIDDEN,
        mistakes=PLACE_MISTAKES,
        by_hand=("atomic_add",),
        also=[same_bits],
        **RULES,
    ),
}
