"""What the checks of 92_debug_hard try, and what speaks against each wrong cause."""

import torch

from tritonbook import DEVICE, backwards
from tritonbook.checking import SAME_BITS, Tolerance, case, rounded_once, tensor
from tritonbook.checking.trial import fence
from tritonbook.seeing.operators import new_memory_is_nan
from tritonbook.words import later

from ..shared.clinic import RIGHT, drawn, listed, patient

# --- shift_gradient


def shift_gradient_ref(dy, a):
    after = torch.cat((dy[1:], torch.zeros_like(dy[:1])))
    return dy + a * after


def shifted(note, T, D, a=0.5, block=16, **dy):
    return drawn(note, T, D, name="dy", also={"a": a}, options={"block": block}, **dy)


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
    want = shift_gradient_ref(given, 0.5)

    def wrong_rows():
        dy = given.clone()
        with fence():
            fn(dy, 0.5, block=block)
        return [int(t) for t in (dy != want).any(1).nonzero()]

    if DEVICE == "cpu" and wrong_rows():
        return  # in the usual order too: the cases tell of it
    with backwards():
        wrong = wrong_rows()
    # Other rows, or the last one, are wrong for other reasons: the cases tell of these.
    borders = [t for t in wrong if (t + 1) % block == 0 and t + 1 < T]
    shown = ", ".join([*map(str, wrong[:4]), *[later("others")] * (len(wrong) > 4)])
    how = later("if the last program runs first, ") if DEVICE == "cpu" else ""
    assert not wrong or borders != wrong, (
        f"The complaint is still there: {how}these of {T} rows are wrong: {shown}."
    )


SHIFT_AGAINST = {
    "race": RIGHT,
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


def keys(note, T, D, window, block=16, tilt=0.0, values="normal", scale=1.0, **more):
    """tilt: of q one way and of k the other, so that all scores are far below 0."""
    q = tensor(D, mean=tilt, values=values, scale=scale)
    k = tensor(T, D, mean=-tilt, values=values, scale=scale)
    return case(note, q=q, k=k, v=tensor(T, D), window=window, options={"block": block}, **more)


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
    keys("half precision, larger scores", 60, 16, 24, scale=2.0, dtype="float16"),
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
WINDOW_AGAINST = {
    "infinity": RIGHT,
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


def matrix(note, M, N, num_splits=8, **x):
    return drawn(note, M, N, options={"num_splits": num_splits}, **x)


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


def nothing_stays(fn, say):
    """`partials` that is kept from call to call holds the pieces of an earlier, longer row."""
    with new_memory_is_nan(), fence():
        fn(torch.ones(3, 128, device=DEVICE))
        shown = listed(fn(torch.ones(3, 100, device=DEVICE)))
    assert shown != [116.0] * 3, (
        "After a call with 128 ones a row, rows of 100 ones give 116: a piece of the earlier call "
        "is still there. Memory that is kept has to be cleared at each call."
    )


def any_memory(fn, say):
    """What fresh memory holds may be a number, too: that of a tensor which is gone."""
    x = torch.ones(3, 100, device=DEVICE)
    for _ in range(20):
        [torch.ones(3, 8, device=DEVICE) for _ in range(8)].clear()
        found = fn(x)
        assert bool((found == 100).all()), (
            f"Rows of 100 ones give {found.tolist()} where fresh memory holds ones. The check's "
            "NaN is one thing that it may hold: what nobody wrote must not be read."
        )


ROWS_AGAINST = {
    "uninitialised": RIGHT,
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
    return cache.index_put((slots[slots >= 0],), rows[slots >= 0])


def cached(note, S, D, slots, layout="contiguous", width=None, **more):
    cache = tensor(S, D, layout=layout)
    rows = tensor(len(slots), width or D, planted={(len(slots) - 1, 0): -0.0})
    return case(note, cache=cache, rows=rows, slots=whole(slots), **more)


def whole(numbers):
    """A tensor of these."""
    planted = dict(enumerate(numbers))
    return tensor(len(numbers), dtype="int64", values="zeros", planted=planted)


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

CACHE_AGAINST = {
    "unchecked index": RIGHT,
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
    sums = [part.sum(0) for part in x.tensor_split(ends)[:-1]]
    return torch.stack(sums).to(torch.promote_types(x.dtype, torch.float32))


def experts(note, ends, D, block=16, layout="contiguous", **more):
    x = tensor(more.pop("M", ends[-1]), D, layout=layout)
    return case(note, x=x, ends=whole(ends), options={"block": block}, **more)


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

EXPERT_AGAINST = {
    "endless loop": RIGHT,
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
    **patient(
        shift_gradient_ref,
        SHIFTS,
        HIDDEN_SHIFTS,
        SHIFT_AGAINST,
        first=[any_order],
        inplace=("dy",),
        allow=("copy_",),
        tolerance=rounded_once(2),
    ),
    **patient(window_attend_ref, KEYS, HIDDEN_KEYS, WINDOW_AGAINST, tolerance=attention_digits),
    **patient(
        row_squares_ref,
        MATRICES,
        HIDDEN_MATRICES,
        ROWS_AGAINST,
        first=[nothing_stays],
        then=[any_memory],
        deterministic=False,
        terms=lambda x: x.shape[1],
    ),
    **patient(
        cache_rows_ref,
        CACHED,
        HIDDEN_CACHED,
        CACHE_AGAINST,
        inplace=("cache",),
        tolerance=SAME_BITS,
    ),
    **patient(expert_sums_ref, EXPERTS, HIDDEN_EXPERTS, EXPERT_AGAINST, terms=64),
}
