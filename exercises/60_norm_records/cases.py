"""What the checks of 60_norm_records try: cases, and sizes for the rules."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, asks, case, rounded_once, tensor
from tritonbook.kernels.cooperative import can_launch_cooperatively
from tritonbook.words import later

from ..shared.norms import rows, survives_a_large_mean
from .page import norm_ref


def norm(note, *shape, bias=False, dtype="float32", raises=None, **how):
    """A case of a function (x, w, b, eps): how holds options, w or b, and how x is drawn."""
    options = {name: how.pop(name) for name in KNOBS if name in how}
    given = {name: how.pop(name) for name in ("w", "b") if name in how}
    arguments = rows(*shape, **how) | ({} if bias else {"b": None}) | given
    return case(note, dtype=dtype, raises=raises, options=options, **arguments)


KNOBS = ("rows", "num_warps", "piece")


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
    norm("tiny numbers", 6, 100, rows=1, scale=1e-3, eps=3e-6),
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
    return rows * first_half(x.shape[-1])


def good_widths(fn, tile_widths):
    """Raise AssertionError for two tiles that do not hold a row, or hold more than they need."""
    for N in (1, 2, 3, 33, 96, 100, 1000):
        found = tile_widths(N)
        asked = later(f"tile_widths({N}) is {found!r}")
        pair = isinstance(found, tuple) and len(found) == 2
        assert pair, f"{asked}: it has to be `(BLOCK_A, BLOCK_B)`."
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


# --- programs that wait for each other

TOGETHER = [
    norm("4 pieces, the last one short", 3, 100, piece=32, mean=1.0),
    norm("4 pieces that fit", 2, 64, piece=16),
    norm("LayerNorm of them", 3, 100, piece=32, mean=2.0, bias=True),
    norm("a rising row, LayerNorm", 2, 70, piece=16, values="rising", scale=4.0, bias=True),
    norm("a last piece of 1", 2, 65, piece=16, bias=True, mean=5.0),
    norm("one piece", 4, 33, piece=64, bias=True),
    norm("rows with gaps", 3, 70, piece=16, layout="strided", bias=True),
    norm("tiny numbers", 2, 200, piece=64, scale=1e-3, eps=3e-6),
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


# --- the rules


def rms(note, *shape, **how):
    """A case of a function (x, w, eps)."""
    made = norm(note, *shape, **how)
    del made.arguments["b"]
    return made


RECORD = [
    rms("short rows", 70, 33),
    rms("rows that fill no tile", 3, 1500),
    rms("one long row of tiny numbers", 1, 33_000, scale=1e-3, eps=3e-6),
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


def on(num_sms, *sizes):
    """(M, N, num_sms) for each M rows of N elements."""
    return [(*size, num_sms) for size in sizes]


# On a GPU of so many multiprocessors: no size of a table, and none near a border.
SEEN = [
    *on(132, (1 << 20, 64), (200_000, 96), (10_000, 200), (20_000, 990), (40, 2000), (3, 300)),
    *on(132, (5000, 5120), (16_384, 10_001), (40, 10_000), (5000, 24_000), (700, 31_000)),
    *on(132, (150, 24_000), (80, 24_000), (500, 36_000), (8, 262_144), (30, 90_000)),
    *on(132, (1000, 131_072), (100, 70_000), (100, 40_000), (19, 110_000), (2, 70_000)),
    *on(132, (1, 20_000), (1 << 20, 1), (5, 25_000), (20, 24_000), (100, 60_000)),
    *on(108, (10_000, 700), (5000, 1300), (3, 1_000_000)),
    *on(40, (5, 200_000), (4000, 50_000), (60, 24_000)),
]
UNSEEN = [
    *on(132, (20, 6000), (3000, 2880), (160, 20_000), (8, 20_000), (2, 700_001), (90, 45_000)),
    *on(132, (2000, 262_144)),
    *on(108, (500_000, 17), (50, 13_500), (900, 9000), (800, 30_000), (2, 30_000)),
    *on(108, (50, 20_000), (17, 100_000)),
    *[(70_000, 300, 40), (1, 18_000, 148), (9, 60_000, 24)],
]


def good_plans(norm_plan, sizes):
    """Raise AssertionError for a plan that is not the page's, with the rule that it breaks."""
    for M, N, num_sms in sizes:
        plan = norm_plan(M, N, num_sms)
        asked = later(f"norm_plan({M:,}, {N:,}, {num_sms}) is {plan!r}")
        named = isinstance(plan, tuple) and plan and plan[0] in ("rows", "together", "loop")
        assert named and len(plan) == (1 if plan[0] == "loop" else 3), (
            f"{asked}: it has to be `('rows', rows, num_warps)`, `('together', piece, num_warps)` "
            "or `('loop',)`."
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


def a_program_a_piece(x, w, b, eps, piece=1024):
    return x.shape[:-1].numel() * -(-x.shape[-1] // piece)


CHECKS = {
    "norm_rows": Check(
        norm_ref,
        ROWS,
        HIDDEN_ROWS,
        asks=[
            asks.at_first(good_widths),
            asks.launches(1),
            asks.starts(rows_each),
            asks.tiles_of_at_most(widest),
            lambda fn, tile_widths: survives_a_large_mean(fn),
        ],
        tolerance=rounded_once(terms=1024),
        beside=("tile_widths",),
    ),
    "norm_together": Check(
        norm_ref,
        TOGETHER,
        HIDDEN_TOGETHER,
        asks=[
            asks.launches(1),
            *([asks.starts(a_program_a_piece)] if can_launch_cooperatively() else []),
            lambda fn: survives_a_large_mean(fn, 64),
        ],
        tolerance=rounded_once(terms=1024),
        nan=(
            "A number below 0 has no root: m2 knows the mean already, so nothing is subtracted "
            "from it. Or was something loaded before the others had stored it?"
        ),
    ),
    "rmsnorm_record": Check(
        rms_ref,
        RECORD,
        HIDDEN_RECORD,
        asks=[
            asks.at_first(lambda fn, norm_plan, other: good_plans(norm_plan, SEEN)),
            asks.launches(1),
            layernorm_too,
            asks.on_hidden(lambda fn, norm_plan, other: good_plans(norm_plan, UNSEEN)),
        ],
        tolerance=rounded_once(terms=4096),
        beside=("norm_plan", "layernorm_record"),
    ),
    "softmax_record": Check(
        lambda x: x.softmax(-1),
        SOFTMAX,
        HIDDEN_SOFTMAX,
        asks=[asks.by_hand("softmax"), asks.launches(1)],
        tolerance=rounded_once(terms=4096),
        nan=(
            "Does the row's largest number stand upright, `largest[:, None]`, do masked lanes "
            "hold minus infinity, and is each sum that of a row, `axis=1`?"
        ),
    ),
}
