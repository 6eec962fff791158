"""What the checks of 92_debug_hard try, and what speaks against each wrong cause."""

import torch
import triton

from tritonbook import DEVICE, backwards
from tritonbook.checking import SAME_BITS, Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.trial import fence

from ..shared.clinic import diagnosis

STILL = "still-ill"  # the complaint as the patient came with it

# --- shift_gradient


def shift_gradient_ref(dy, a):
    after = torch.cat((dy[1:], torch.zeros_like(dy[:1])))
    return dy + a * after


def shifted(note, T, D, a=0.5, block=16, layout="contiguous", **more):
    return case(note, dy=tensor(T, D, layout=layout), a=a, options={"block": block}, **more)


SHIFTS = [
    shifted("one program", 10, 8),
    shifted("40 rows in pieces of 16", 40, 5),
    shifted("a row for each program", 6, 16, a=-2.0, block=1),
    shifted("one row more than a piece", 17, 3),
    shifted("half precision", 20, 12, a=0.25, dtype="float16"),
    shifted("rows with gaps", 6, 8, layout="strided", raises=ValueError),
]

HIDDEN_SHIFTS = [
    shifted("pieces of 8", 43, 7, a=1.5, block=8),
    shifted("one row", 1, 20),
    shifted("one column", 50, 1, a=-0.5),
    shifted("bfloat16", 33, 10, dtype="bfloat16"),
    shifted("no rows", 0, 4),
]


def any_order(fn, say):
    """The complaint itself: last program first, and on a GPU as it comes."""
    T, block = (70, 16) if DEVICE == "cpu" else (20_000, 64)
    given = torch.arange(float(T), device=DEVICE)[:, None].repeat(1, 4)
    want, dy = shift_gradient_ref(given, 0.5), given.clone()
    if DEVICE == "cpu":
        with fence():
            fn(dy, 0.5, block=block)
        if not torch.equal(dy, want):
            return  # wrong in the usual order too: the cases tell of it
        dy = given.clone()
    with backwards(), fence():
        fn(dy, 0.5, block=block)
    wrong = [int(t) for t in (dy != want).any(1).nonzero()]
    # Other rows, or the last one, are wrong for other reasons: the cases tell of these.
    borders = [t for t in wrong if (t + 1) % block == 0 and t + 1 < T]
    shown = ", ".join(map(str, wrong[:4])) + (" and others" if len(wrong) > 4 else "")
    how = "if the last program runs first, " if DEVICE == "cpu" else ""
    assert not wrong or borders != wrong, (
        f"The complaint is still there: {how}these of {T} rows are wrong: {shown}."
    )


def shifted_by(change):
    """A mistake: dy + a * change(dy)."""
    return lambda dy, a: dy + a * change(dy)


SHIFT_MISTAKES = {
    "row-before": (
        shifted_by(lambda dy: torch.cat((torch.zeros_like(dy[:1]), dy[:-1]))),
        "Each row got the row before it. In the gradient it is the row after it.",
    ),
    "own-row": (
        shifted_by(lambda dy: dy),
        "Each row got a times itself: the row after it is one row further on.",
    ),
    "nothing-added": (lambda dy, a: dy, "dy is as it was: was the result stored there?"),
    "first-row-after-the-last": (
        shifted_by(lambda dy: dy.roll(-1, 0)),
        "The last row got the first one. Nothing comes after it.",
    ),
    "borders-left-out": (
        lambda dy, a, *, block=16: (
            dy
            + a
            * torch.cat((dy[1:], torch.zeros_like(dy[:1])))
            * (torch.arange(1, len(dy) + 1) % block != 0)[:, None]
        ),
        "The last row of each piece got nothing. The row after it counts too, though it belongs to "
        "another program.",
    ),
    "a-left-out": (
        lambda dy, a: shift_gradient_ref(dy, 1.0),
        "The row after it was added as it is: `a` is missing.",
    ),
    "taken-off": (
        lambda dy, a: shift_gradient_ref(dy, -a),
        "The row after it was taken off, and not added: a sign is turned round.",
    ),
    "a-on-the-row-itself": (
        lambda dy, a: a * dy + torch.cat((dy[1:], torch.zeros_like(dy[:1]))),
        "`a` stands at the row itself. It belongs to the row after it.",
    ),
    "from-the-end": (
        lambda dy, a: _one_after_the_other(dy, a),
        "Each row got the new row after it, and not the old one.",
    ),
}


def _one_after_the_other(dy, a):
    new = dy.clone()
    for t in range(len(dy) - 2, -1, -1):
        new[t] += a * new[t + 1]
    return new


SHIFT_AGAINST = {
    "infinity": "no result was infinite or NaN.",
    "uninitialised": "only dy is read, and it was given.",
    "unchecked index": "no index comes from memory.",
    "endless loop": "it ended, in either order.",
    "grid": "first to last, all rows were right: each had its program.",
    "padding": "columns are not added up, and row 15 was wrong in all columns that exist.",
    "stale buffer": "dy was made anew for each call, and no other buffer was kept.",
    "narrow sum": "each result is the sum of two small numbers, and far off where it is wrong.",
    "overflow": "the largest number was below 60.",
    "deadlock": "no program waits for another one, and it ended.",
    "stride": "first to last, all rows were right, by the same addresses.",
}


# --- window_attend


def window_attend_ref(q, k, v, window):
    k, v = k[-window:], v[-window:]
    return (k @ q * q.shape[0] ** -0.5).softmax(0) @ v


def keys(note, T, D, window, block=16, raises=None, tilt=0.0, **more):
    """tilt: of q one way and of k the other, so that all scores are far below 0."""
    dtype = more.pop("dtype", "float32")
    return case(
        note,
        q=tensor(D, mean=tilt, **more),
        k=tensor(T, D, mean=-tilt, **more),
        v=tensor(T, D),
        window=window,
        options={"block": block},
        dtype=dtype,
        raises=raises,
    )


KEYS = [
    keys("fewer keys than the window", 20, 8, 48),
    keys("as many keys as the window", 32, 16, 32),
    keys("the window begins in the first tile", 40, 8, 30),
    keys("the first tile is not seen", 70, 8, 48),
    keys("a window of one key, many tiles", 90, 4, 1),
    keys("large scores", 50, 8, 20, scale=8.0),
    keys("all scores far below 0", 40, 8, 30, tilt=12.0),
    # powers of two: the last digit of such a score counts, and a GPU adds in an order of its own
    keys("one key, its score below -1e9", 1, 4, 1, tilt=2.0**16, values="zeros"),
    keys("half precision", 60, 16, 24, dtype="float16"),
    keys("no window", 8, 8, 0, raises=ValueError),
]

HIDDEN_KEYS = [
    keys("200 keys, a window of 33", 200, 8, 33),
    keys("one key", 1, 8, 5),
    keys("tiles of 64", 150, 16, 10, block=64),
    keys("bfloat16", 80, 32, 16, dtype="bfloat16"),
    keys("the window ends with a tile", 64, 8, 16),
    keys("a D that is no power of two", 8, 6, 4, raises=ValueError),
]


def first_tiles(q, k, v, window, *, block=16):
    whole = window_attend_ref(q, k, v, window)
    return torch.full_like(whole, torch.nan) if k.shape[0] - window >= block else whole


def padded_window(q, k, v, window, *, block=16):
    """Keys that are not seen take part with the score 0 and the value 0."""
    s = k[-window:] @ q * q.shape[0] ** -0.5
    unseen = triton.cdiv(k.shape[0], block) * block - len(s)
    total = s.exp().sum() + unseen
    return s.exp() @ v[-window:] / total


def tile_by_tile(of_sum, of_acc):
    """A mistake: what earlier tiles gave is not brought to the new maximum. of_sum, of_acc: where
    it is."""

    def wrong(q, k, v, window, *, block=16):
        T, m, total = len(k), -1e38, 0.0
        acc = torch.zeros_like(window_attend_ref(q, k, v, window))
        for start in range(0, T, block):
            first = max(start, T - window)
            s = k[first : start + block] @ q * q.shape[0] ** -0.5
            if len(s):
                new = max(m, s.max().item())
                p, old = (s - new).exp(), torch.exp(torch.tensor(m - new, dtype=s.dtype))
                total = total * (old if of_sum else 1) + p.sum()
                acc, m = acc * (old if of_acc else 1) + p @ v[first : start + block], new
        return acc / total

    return wrong


def from_zero(q, k, v, window):
    """float32, as a kernel has it: the exponentials vanish."""
    s = (k[-window:] @ q * q.shape[0] ** -0.5).float()
    p = torch.exp(s - s.max().clamp_min(0.0)).double()
    return p @ v[-window:] / p.sum()


WINDOW_MISTAKES = {
    STILL: (
        first_tiles,
        "The complaint is still there: NaN as soon as the query sees no key of the first tile.",
    ),
    "everything-seen": (
        lambda q, k, v, window: window_attend_ref(q, k, v, len(k)),
        "The query sees all keys. The window ends at the last `window` of them.",
    ),
    "one-key-too-few": (
        lambda q, k, v, window: window_attend_ref(q, k, v, max(window - 1, 1)),
        "The window is one key too short: the first one that counts is T - window.",
    ),
    "one-key-too-many": (
        lambda q, k, v, window: window_attend_ref(q, k, v, window + 1),
        "The window is one key too long: the first one that counts is T - window.",
    ),
    "unseen-keys-count": (
        padded_window,
        "Keys that are not seen take part, with the score 0 or another that is not far below the "
        "others. They must not take part at all.",
    ),
    "maximum-from-above": (
        from_zero,
        "All scores are far below 0 here, and below the number with which the maximum begins. So "
        "it stays where it is, and the exponentials vanish.",
    ),
    "sum-not-brought-along": (
        tile_by_tile(False, True),
        "The sum of earlier tiles belongs to their maximum. Where a tile brings a larger one, "
        "`l_i` is multiplied by exp(m_i - m_new) first.",
    ),
    "values-not-brought-along": (
        tile_by_tile(True, False),
        "What earlier tiles gave belongs to their maximum. Where a tile brings a larger one, `acc` "
        "is multiplied by exp(m_i - m_new) first.",
    ),
    "first-keys": (
        lambda q, k, v, window: window_attend_ref(q, k[:window], v[:window], window),
        "The query sees the first `window` keys. It sees the last ones.",
    ),
    "zero-for-NaN": (
        lambda q, k, v, window, *, block=16: (
            window_attend_ref(q, k, v, window) * (len(k) - window < block)
        ),
        "The NaN is gone, and the result with it: 0 is no better. The keys in the window count.",
    ),
}

WINDOW_AGAINST = {
    "race": "there is one program.",
    "uninitialised": "k and v were given, and o was written as a whole.",
    "unchecked index": "no index comes from memory.",
    "endless loop": "it ended.",
    "grid": "one program is enough for one query, and up to 63 keys it was right.",
    "padding": "up to 63 keys it was right, with masked lanes in the last tile and in the first.",
    "stale buffer": "the same 64 keys alone give NaN too, at a first call.",
    "narrow sum": "the sums are in float32, and 63 keys were right.",
    "overflow": "the scores were of the size of 1. No exponential of them is too large.",
    "deadlock": "there is one program, and it ended.",
    "stride": "63 keys were right, by the same addresses.",
}


def attention_digits(dtype):
    whole = rounded_once(64)(dtype)
    because = f"{whole.because}; scores of up to 400 in float32"
    return Tolerance(whole.relative + 1e-5, whole.of_row_max, 1e-4, because)


# --- row_squares


def row_squares_ref(x):
    return x.pow(2).sum(1).to(torch.promote_types(x.dtype, torch.float32))


def matrix(note, M, N, num_splits=8, layout="contiguous", **more):
    scale = more.pop("scale", 1.0)
    x = tensor(M, N, layout=layout, scale=scale)
    return case(note, x=x, options={"num_splits": num_splits}, **more)


MATRICES = [
    matrix("every piece is full", 3, 128),
    matrix("the last piece is shorter", 2, 120),
    matrix("the last piece is empty", 3, 100),
    matrix("six of eight pieces are empty", 4, 20),
    matrix("three pieces", 2, 50, num_splits=3),
    matrix("pieces of 48 columns, in tiles of 64", 2, 140, num_splits=3),
    matrix("half precision, squares beyond 65,504", 2, 70, dtype="float16", scale=400.0),
    matrix("rows with gaps", 3, 40, layout="strided", raises=ValueError),
]

HIDDEN_MATRICES = [
    matrix("16 pieces, most of them empty", 5, 33, num_splits=16),
    matrix("one piece", 3, 90, num_splits=1),
    matrix("one column", 4, 1),
    matrix("bfloat16", 2, 300, dtype="bfloat16"),
    matrix("no rows", 0, 50),
]


def piece_of(x, num_splits):
    return triton.cdiv(triton.cdiv(x.shape[1], num_splits), 16) * 16


def empty_pieces(x, *, num_splits=8):
    pieces = triton.cdiv(x.shape[1], piece_of(x, num_splits))
    found = row_squares_ref(x)
    return torch.full_like(found, torch.nan) if pieces < num_splits else found


def without_pieces(which):
    """A mistake: the sum without the pieces that `which` names, of all those with columns."""

    def wrong(x, *, num_splits=8):
        pieces = list(x.split(piece_of(x, num_splits), dim=1))
        kept = which(pieces)
        zero = row_squares_ref(x[:, :0])
        return sum((row_squares_ref(piece) for piece in kept), zero)

    return wrong


def into_the_next(x, *, num_splits=8):
    """Each piece as long as its tile, up to the end of the row."""
    piece = piece_of(x, num_splits)
    lanes = triton.next_power_of_2(piece)
    parts = (x[:, first : first + lanes] for first in range(0, x.shape[1], max(piece, 1)))
    return sum(map(row_squares_ref, parts), row_squares_ref(x[:, :0]))


def nothing_stays(fn, say):
    """`partials` that is kept from call to call holds the pieces of an earlier, longer row."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)  # fresh memory is full of NaN
    try:
        with fence():
            fn(torch.ones(3, 128, device=DEVICE))
            found = fn(torch.ones(3, 100, device=DEVICE))
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
    shown = found.tolist() if isinstance(found, torch.Tensor) else found
    assert shown != [116.0] * 3, (
        "After a call with 128 ones a row, rows of 100 ones give 116: a piece of the earlier call "
        "is still there. Memory that is kept has to be cleared at each call."
    )


def any_memory(fn, say):
    """What fresh memory holds may be a number, too: that of a tensor which is gone."""
    x = torch.ones(3, 100, device=DEVICE)
    for _ in range(20):
        gone = [torch.ones(3, 8, device=DEVICE) for _ in range(8)]
        del gone
        found = fn(x)
        assert bool((found == 100).all()), (
            f"Rows of 100 ones give {found.tolist()} where fresh memory holds ones. The check's "
            "NaN is one thing that it may hold: what nobody wrote must not be read."
        )


def ones_beside(x, *, num_splits=8):
    return row_squares_ref(x) + num_splits - triton.cdiv(x.shape[1], piece_of(x, num_splits))


ROWS_MISTAKES = {
    STILL: (
        empty_pieces,
        "The complaint is still there: the check fills fresh memory with NaN, and it comes out "
        "wherever a piece of a row is empty.",
    ),
    "last-piece-left-out": (
        without_pieces(lambda pieces: pieces[:-1]),
        "The last piece with columns is not in the sum.",
    ),
    "into-the-next-piece": (
        into_the_next,
        "The last lanes of a tile take columns of the next piece, which counts them too. The mask "
        "ends with the piece.",
    ),
    "full-pieces-only": (
        without_pieces(lambda pieces: [p for p in pieces if p.shape[1] == pieces[0].shape[1]]),
        "A last piece that is shorter is not in the sum. It counts as far as it goes.",
    ),
    "first-piece-only": (
        without_pieces(lambda pieces: pieces[:1]),
        "Only the first piece of each row is in the sum.",
    ),
    "not-squared": (
        lambda x: x.sum(1).to(torch.promote_types(x.dtype, torch.float32)),
        "These are the numbers themselves added up. Square them first.",
    ),
    "squared-in-half": (
        lambda x, *, dtype: x.to(dtype).pow(2).double().sum(1),
        "Squares, or sums of them, are beyond what half precision holds: float32 for both, and for "
        "`partials`.",
    ),
    "ones-beside": (
        ones_beside,
        "Each piece without columns adds a 1. Nothing is to be found in its place.",
    ),
}

ROWS_AGAINST = {
    "race": "each program writes to a place of its own, and the second launch waits for the first.",
    "infinity": "ones were squared and added. The NaN was there before.",
    "unchecked index": "no index comes from memory.",
    "endless loop": "it ended.",
    "grid": "each piece with columns has a program: 128 and 120 columns were right.",
    "padding": "120 columns were right, with masked lanes in the last piece.",
    "stale buffer": "no buffer outlives a call. What was read belonged to nobody of this page.",
    "narrow sum": "the sums are in float32, and 128 ones were right.",
    "overflow": "the right result is 100.",
    "deadlock": "every call ended.",
    "stride": "128 columns were right, and the NaN of fresh memory is nowhere in x.",
}


# --- cache_rows


def cache_rows_ref(cache, rows, slots):
    new = cache.clone()
    new[slots[slots >= 0]] = rows[slots >= 0]
    return new


def cached(note, S, D, slots, layout="contiguous", width=None, **more):
    planted = dict(enumerate(slots))
    return case(
        note,
        cache=tensor(S, D, layout=layout),
        rows=tensor(len(slots), width or D),
        slots=tensor(len(slots), dtype="int64", values="zeros", planted=planted),
        **more,
    )


CACHED = [
    cached("every token has a slot", 6, 8, (4, 0, 5)),
    cached("one padding token", 6, 8, (2, -1, 3)),
    cached("nearly nothing but padding", 3, 16, (-1, 1, -1)),
    cached("slot 0, and columns that are no power of two", 5, 11, (-1, 0, 4)),
    cached("another negative number", 5, 4, (-3, 1)),
    cached("half precision", 8, 20, (7, -1, 2, -1), dtype="float16"),
    cached("rows of another width", 6, 8, (1, 2), width=4, raises=ValueError),
]

HIDDEN_CACHED = [
    cached("padding at both ends", 9, 6, (-1, 8, 3, 0, -1)),
    cached("one slot", 1, 5, (-1, 0)),
    cached("bfloat16", 12, 33, (11, -1, 5), dtype="bfloat16"),
    cached("one column", 7, 1, (6, -1, 2)),
    cached("a cache with gaps", 4, 8, (1,), layout="strided", raises=ValueError),
]


def cached_with(change):
    """A mistake: cache with rows at slots, change(slots, S) where a slot is none (-1: nowhere)."""

    def wrong(cache, rows, slots):
        return cache_rows_ref(cache, rows, change(slots, len(cache)))

    return wrong


CACHE_MISTAKES = {
    "slot-0-left-out": (
        cached_with(lambda slots, S: torch.where(slots > 0, slots, -1)),
        "Slot 0 is a slot like any other: only negative ones are none.",
    ),
    "padding-in-slot-0": (
        cached_with(lambda slots, S: slots.clamp_min(0)),
        "A padding token went to slot 0. It goes nowhere.",
    ),
    "padding-by-its-size": (
        cached_with(lambda slots, S: torch.where(-slots < S, slots.abs(), slots)),
        "A padding token went to the slot of its number without the minus. It goes nowhere.",
    ),
    "padding-in-the-last-slot": (
        cached_with(lambda slots, S: torch.where(slots < 0, S - 1, slots)),
        "A padding token went to the last slot, as in Python. It goes nowhere.",
    ),
    "cleared": (
        lambda cache, rows, slots: cache_rows_ref(torch.zeros_like(cache), rows, slots),
        "Slots that get no row are 0 now. They keep what they held.",
    ),
    "nothing-stored": (lambda cache, rows, slots: cache, "No row was stored."),
}

CACHE_AGAINST = {
    "race": "each slot is given once, and the row that changed belongs to no token.",
    "infinity": "ones were stored, and ones arrived, at a wrong place.",
    "uninitialised": "all that was read had been given.",
    "endless loop": "it ended.",
    "grid": "each token had a program: layer 1 got its rows.",
    "padding": "the mask of the columns was right: no row was too long.",
    "stale buffer": "one call was enough, on memory full of zeros.",
    "narrow sum": "nothing is summed.",
    "overflow": "no number was larger than 1.",
    "deadlock": "each token was on its own, and the call ended.",
    "stride": "slots 0 and 2 were hit by the same formula.",
}


# --- expert_sums


def expert_sums_ref(x, ends):
    starts = [0, *ends.tolist()][:-1]
    sums = [x[start:end].sum(0) for start, end in zip(starts, ends.tolist(), strict=True)]
    return torch.stack(sums).to(torch.promote_types(x.dtype, torch.float32))


def experts(note, ends, D, block=16, layout="contiguous", **more):
    M = more.pop("M", ends[-1])
    return case(
        note,
        x=tensor(M, D, layout=layout),
        ends=tensor(len(ends), dtype="int64", values="zeros", planted=dict(enumerate(ends))),
        options={"block": block},
        **more,
    )


EXPERTS = [
    experts("32 and 16 rows", (32, 48), 8),
    experts("16 rows each", (16, 32), 8),
    experts("20 and 12 rows", (20, 32), 5),
    experts("an expert without rows", (7, 7, 40), 8),
    experts("one row", (1,), 3),
    experts("rows behind the last expert", (18, 30), 16, M=45),
    experts("half precision", (9, 50), 12, dtype="float16"),
    experts("rows with gaps", (4, 6), 8, layout="strided", raises=ValueError),
]

HIDDEN_EXPERTS = [
    experts("five experts", (3, 20, 20, 61, 64), 7),
    experts("tiles of 4", (5, 6, 19), 9, block=4),
    experts("the first one has none", (0, 33), 4),
    experts("bfloat16", (17, 35), 10, dtype="bfloat16"),
    experts("nobody has any", (0, 0), 8, M=2),
]


def of_the_parts(change):
    """A mistake: sums of change(rows of an expert, tile)."""

    def wrong(x, ends, *, block=16):
        starts = [0, *ends.tolist()][:-1]
        parts = [x[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
        return torch.stack([change(part, block).sum(0) for part in parts])

    return wrong


EXPERT_MISTAKES = {
    "first-tile-only": (
        of_the_parts(lambda rows, block: rows[:block]),
        "Only the first tile of each expert is in the sum.",
    ),
    "whole-tiles-only": (
        of_the_parts(lambda rows, block: rows[: len(rows) // block * block]),
        "A last tile that is not full is left out. It counts as far as it goes.",
    ),
    "last-tile-left-out": (
        of_the_parts(lambda rows, block: rows[: max(len(rows) - 1, 0) // block * block]),
        "The last tile of each expert is left out, whether it is full or not.",
    ),
    "last-row-left-out": (
        of_the_parts(lambda rows, block: rows[:-1]),
        "The last row of each expert is left out: rows go up to `end`, which is none of them.",
    ),
    "last-tile-only": (
        of_the_parts(lambda rows, block: rows[max(len(rows) - 1, 0) // block * block :]),
        "Only the last tile of each expert is in the sum. Where does `acc` begin, and how often?",
    ),
    "steps-of-one": (
        of_the_parts(
            lambda rows, block: torch.cat(
                [rows[:0], *(rows[m : m + block] for m in range(len(rows)))]
            )
        ),
        "A tile begins at every row, so rows are added many times. Step by BLOCK_M.",
    ),
    "from-row-0": (
        lambda x, ends: torch.stack([x[:end].sum(0) for end in ends.tolist()]),
        "Each expert begins at row 0. Its rows begin where those of the one before it end.",
    ),
    "rounded-up-to-tiles": (
        lambda x, ends, *, block=16: torch.stack(
            [
                x[start : start + triton.cdiv(end - start, block) * block].sum(0)
                for start, end in zip([0, *ends.tolist()][:-1], ends.tolist(), strict=True)
            ]
        ),
        "An expert's last tile counts rows of the next expert. The mask ends at `end`.",
    ),
}

EXPERT_AGAINST = {
    "race": "each program writes to its own row, and one expert alone hangs too.",
    "infinity": "no number was infinite. The loop went on.",
    "uninitialised": "x and ends were given.",
    "unchecked index": "`ends` was right. 20 is an allowed number of rows.",
    "grid": "each expert has a program: [32, 48] was right.",
    "padding": "a masked lane can spoil a sum. It cannot keep a loop going.",
    "stale buffer": "no buffer was kept, and the first call hangs.",
    "narrow sum": "a sum without digits is wrong. It does not hang.",
    "overflow": "the rows were ones. No number was large.",
    "deadlock": "one expert alone hangs too: there is no program that it could wait for.",
    "stride": "[32, 48] was right, by the same addresses.",
}


CHECKS = {
    "shift_gradient": Check(
        shift_gradient_ref,
        SHIFTS,
        HIDDEN_SHIFTS,
        inplace=("dy",),
        allow=("copy_",),
        tolerance=rounded_once(2),
        mistakes=SHIFT_MISTAKES,
        **diagnosis("shift_gradient", "race", SHIFT_AGAINST, first=[any_order]),
    ),
    "window_attend": Check(
        window_attend_ref,
        KEYS,
        HIDDEN_KEYS,
        tolerance=attention_digits,
        mistakes=WINDOW_MISTAKES,
        **diagnosis("window_attend", "infinity", WINDOW_AGAINST),
    ),
    "row_squares": Check(
        row_squares_ref,
        MATRICES,
        HIDDEN_MATRICES,
        deterministic=False,
        terms=lambda x: x.shape[1],
        mistakes=ROWS_MISTAKES,
        **diagnosis(
            "row_squares",
            "uninitialised",
            ROWS_AGAINST,
            first=[nothing_stays],
            then=[any_memory],
        ),
    ),
    "cache_rows": Check(
        cache_rows_ref,
        CACHED,
        HIDDEN_CACHED,
        inplace=("cache",),
        tolerance=SAME_BITS,
        mistakes=CACHE_MISTAKES,
        **diagnosis("cache_rows", "unchecked index", CACHE_AGAINST),
    ),
    "expert_sums": Check(
        expert_sums_ref,
        EXPERTS,
        HIDDEN_EXPERTS,
        terms=64,
        mistakes=EXPERT_MISTAKES,
        **diagnosis("expert_sums", "endless loop", EXPERT_AGAINST),
    ),
}
