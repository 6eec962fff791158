"""What the checks of 61_matmul_records try."""

import functools

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import launches, starts, stores_once
from tritonbook.port.compat import tensor_of
from tritonbook.seeing.compiled import compile_gate
from tritonbook.seeing.tiles import traffic

from ..shared import products
from ..shared.looking import names_beside, standing_in, where_shown
from ..shared.products import ceil_div
from .page import CUT, SUMMED, matmul_ref

WIDE = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "num_warps": 4, "num_stages": 2}
HIGH = WIDE | {"BLOCK_M": 32, "BLOCK_N": 16}
TURNED, GAPS = {"a": "transposed", "b": "transposed"}, {"b": "strided"}


def tiled(note, M, K, N, tile=WIDE, programs=3, parts=None, short=0, **how):
    """A product of [M, K] and [K, N]. short: rows that B lacks; how: layouts a and b, values."""
    options = {"tile": tile, "programs": programs} if tile else {}
    given = {"values": how.pop("values", "normal")}
    return case(
        note,
        options=options | ({"parts": parts} if parts else {}),
        a=tensor(M, K, layout=how.pop("a", "contiguous"), **given),
        b=tensor(K - short, N, layout=how.pop("b", "contiguous"), **given),
        **({"dtype": "float16"} | how),
    )


record = functools.partial(tiled, tile=None)


def corners(a, b, tile):
    """The part of c that each tile is, in the order of the page: groups of 8 rows of tiles."""
    BM, BN = tile["BLOCK_M"], tile["BLOCK_N"]
    grid_m, grid_n = ceil_div(a.shape[0], BM), ceil_div(b.shape[1], BN)
    places = []
    for first in range(0, grid_m, 8):
        for n in range(grid_n):
            for m in range(first, min(first + 8, grid_m)):
                places.append((slice(m * BM, (m + 1) * BM), slice(n * BN, (n + 1) * BN)))
    return places


STAYING = [
    tiled("odd sizes", 41, 37, 71, HIGH, 4),
    tiled("nine tiles, three programs, four steps", 48, 64, 96),
    tiled("more programs than tiles", 24, 40, 24, HIGH, 8),
    tiled("eleven rows of tiles", 168, 16, 40, WIDE, 5, dtype="bfloat16"),
    tiled("one program", 40, 48, 40, HIGH, 1),
    tiled("both transposed", 40, 32, 72, a="transposed", b="transposed"),
    tiled("B transposed", 40, 48, 72, b="transposed"),
    tiled("rows with gaps", 40, 48, 40, a="strided", b="strided"),
    tiled("A transposed, B with gaps, odd sizes", 37, 45, 38, a="transposed", b="strided"),
    tiled("float32", 40, 56, 72, dtype="float32"),
    tiled("a long sum of one sign", 8, 504, 40, values="positive"),
    tiled("one row, the default tile", 1, 100, 65, tile=None),
    tiled("no rows", 0, 16, 8),
    tiled("inner sizes differ", 16, 32, 16, short=1, raises=ValueError),
    tiled("one row repeated", 32, 40, 32, a="expanded", dtype="float32"),
]
HIDDEN_STAYING = [
    tiled("a single element", 1, 1, 1),
    tiled("two programs, seven tiles", 210, 24, 16, HIGH, 2),
    tiled("prime sizes", 67, 71, 97, WIDE, 7),
    tiled("A transposed, float32", 60, 44, 36, HIGH, a="transposed", dtype="float32"),
    tiled("B transposed, bfloat16", 40, 32, 80, b="transposed", dtype="bfloat16"),
    tiled("odd addresses", 40, 48, 40, a="offset", b="offset"),
    tiled("no sum", 8, 0, 8),
    tiled("no columns", 8, 16, 0),
    tiled("the default tile", 150, 72, 304, tile=None),
]


def halves(M, K, N):
    """A and B of a product in float16."""
    return [torch.ones(*size, dtype=torch.float16, device=DEVICE) for size in ((M, K), (K, N))]


def keeps_float32(fn, **options):
    """Looked at where it can be: a grader's answers run in another process."""
    a, b = torch.empty(64, 64, device=DEVICE), torch.empty(64, 64, device=DEVICE)
    tile = WIDE | {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    found = compile_gate(fn, (a, b), {"tile": tile} | options, 80, ptx=True)
    for kernel in found.kernels if found.ok else ():
        cut = kernel.tensor_cores and "sub.f32" not in kernel.ptx and "sub.rn.f32" not in kernel.ptx
        assert not cut, (
            "Compiled for an A100, your kernel cuts float32 tiles to TF32, three decimal digits. "
            "Hand `input_precision=PRECISION` to `tl.dot`."
        )
        multiplies = kernel.name in ("matmul_staying_kernel", "part_kernel")
        assert kernel.tensor_cores or not multiplies, (
            f"The values are right. But `{kernel.name}` multiplies float32 on the ordinary units: "
            "take `input_precision=PRECISION`. A later step of the page is about it."
        )


# --- the last wave in parts

SPLIT = [
    tiled("odd sizes, the last tile in three parts", 41, 107, 20, HIGH, parts=3),
    tiled("four tiles, three programs: the last in two parts", 32, 80, 64, parts=2),
    tiled("two tiles in three parts, seven steps", 16, 112, 64, WIDE, 6, 3),
    tiled("more parts than steps", 16, 24, 24, WIDE, 4, 3),
    tiled("full waves", 32, 48, 64, WIDE, 2, 3),
    tiled("nothing is cut", 16, 48, 160, parts=1),
    tiled("one tile that is not cut", 16, 48, 32, parts=1),
    tiled("float32, two of six tiles", 40, 56, 36, HIGH, 4, 2, dtype="float32"),
    tiled("both transposed, two of six tiles", 40, 40, 40, WIDE, 4, 2, **TURNED),
    tiled("A transposed, B with gaps, odd sizes", 37, 45, 38, HIGH, 4, 2, **TURNED | GAPS),
    tiled("a long sum of one sign", 8, 504, 40, WIDE, 4, 2, values="positive"),
    tiled("the default tile", 5, 150, 65, tile=None, parts=2, dtype="bfloat16"),
    tiled("A by rows, B by columns", 16, 112, 64, WIDE, 6, 3, b="transposed"),
    tiled("no rows", 0, 16, 8, parts=2),
    tiled("inner sizes differ", 16, 32, 16, parts=2, short=1, raises=ValueError),
]
HIDDEN_SPLIT = [
    tiled("odd sizes", 75, 75, 27, HIGH, 4, 2),
    tiled("one tile in five parts", 9, 200, 30, WIDE, 7, 5),
    tiled("eleven rows of tiles, six left", 170, 40, 70, WIDE, 9, 2),
    tiled("prime sizes", 67, 71, 41, HIGH, 5, 2),
    tiled("B transposed", 40, 88, 40, WIDE, 4, 3, b="transposed", dtype="bfloat16"),
    tiled("gaps", 40, 48, 40, HIGH, 4, 2, a="strided", b="strided", dtype="float32"),
    tiled("no sum", 8, 0, 8, WIDE, 4, 2),
    tiled("no columns", 8, 16, 0, WIDE, 4, 2),
]


def largest_launch(a, b, parts=1, tile=None, programs=132):
    """Programs of the largest launch."""
    tile = products.tile_of(tile, a.dtype)
    tiles = products.programs(a.shape[0], b.shape[1], tile)
    tail = tiles % programs if parts > 1 else 0
    return max(min(tiles - tail, programs), tail * parts, tail * tile["BLOCK_M"] // 8)


@where_shown
def computes_each_tile_once(fn, **parts):
    """Seven tiles of four steps on three programs; the last one may be cut."""
    flops = traffic(fn, *halves(16, 64, 224), **parts, tile=WIDE, programs=3).flops
    step = 2 * 16 * 32 * 16
    assert flops == 7 * 4 * step, (
        f"The values are right. But 7 tiles of 4 steps are 28 products of tiles, and "
        f"{flops // step} were made: a tile is computed more than once, or one that c has not. (Or "
        "the loop of Task 1 goes on behind the first `tiles` tiles.)"
    )


@where_shown
def parts_share_the_steps(fn):
    """Two tiles of seven steps, each in four parts: no part has more than two."""
    ledger = traffic(fn, *halves(16, 112, 64), parts=4, tile=WIDE, programs=8)
    step, stored = 2 * (16 * 16 + 16 * 32), 4 * 16 * 32  # bytes
    assert ledger.busiest < 3 * step + stored, (
        "The values are right. But of 7 steps in 4 parts one part has 3 or more, and the last wave "
        "takes as long as its longest part: none needs more than 2."
    )


class StandIn:
    """Stands where a kernel stands: its launches are launch(grid, ...)."""

    def __init__(self, launch):
        self.launch = launch

    def __getitem__(self, grid):
        return functools.partial(self.launch, grid)


def takes_the_first_tiles_alone(fn):
    """Looked at where it can be: a grader's answers run in another process."""
    names, (a, b) = names_beside(fn), halves(168, 16, 96)
    if (kernel := names.get("matmul_staying_kernel")) is None:
        return

    def for_13_tiles_less(grid, a, b, c, M, N, K, tiles, *rest, **named):
        tensor_of(c).fill_(torch.nan)
        kernel[grid](a, b, c, M, N, K, tiles - 13, *rest, **named)

    with standing_in(names, matmul_staying_kernel=StandIn(for_13_tiles_less)):
        c = fn(a, b, tile=WIDE, programs=2)
    computed = [not bool(c[m, n].isnan().any()) for m, n in corners(a, b, WIDE)]
    assert sum(computed) <= 20, (
        "The values are right. But the kernel's argument `tiles` says how many tiles it computes, "
        "and here it computed more: Task 2 leaves the last ones to another kernel."
    )
    assert all(computed[:20]), (
        "The values are right. But the tiles do not come in the order of `corner`. Task 2 leaves "
        "the last ones, in that order, to another kernel."
    )


# --- the wrapper: how many tiles are cut, how many go before


def look_at_the_wrapper(fn):
    """Gives what tells tail and whole of a call; None where nobody can look, as at a grader's."""
    names = names_beside(fn)
    kernels = ("matmul_staying_kernel", "part_kernel", "sum_kernel")
    if not set(kernels) <= names.keys():
        return None

    def tail_and_whole(tiles, programs, parts):
        noted = {name: [] for name in kernels}  # grid and arguments of launches that run nothing
        seen = {n: StandIn(lambda *call, to=to, **_: to.append(call)) for n, to in noted.items()}
        tile = WIDE | {"BLOCK_N": 16}
        try:
            with standing_in(names, **seen):
                fn(*halves(16, 16, 16 * tiles), parts, tile=tile, programs=programs)
        except Exception:  # the cases of the product say what, with the line
            return tail_and_whole_ref(tiles, programs, parts)
        staying, _, sums = noted.values()
        tail, whole = sums[0][0][0] if sums else 0, staying[0][7] if staying else 0
        return {"tail": tail, "whole": whole}

    return tail_and_whole


def tail_and_whole_ref(tiles, programs, parts):
    tail = tiles % programs if parts > 1 else 0
    return {"tail": tail, "whole": tiles - tail}


WAVES = [
    case("2 waves of 9 and 5 tiles", tiles=23, programs=9, parts=2),
    case("the same in 1 part", tiles=23, programs=9, parts=1),
    case("2 full waves", tiles=18, programs=9, parts=4),
    case("fewer tiles than programs", tiles=5, programs=9, parts=2),
    case("more tiles than multiprocessors", tiles=301, programs=9, parts=4),
]
WRAPPER = Check(tail_and_whole_ref, WAVES, look=look_at_the_wrapper, triton=False)


# --- which tile, how many parts


def estimate_ref(M, N, K, tile, step, ends, programs):
    BLOCK_M, BLOCK_N, BLOCK_K = tile[:3]
    tiles, steps = ceil_div(M, BLOCK_M) * ceil_div(N, BLOCK_N), ceil_div(K, BLOCK_K)
    waves, tail = divmod(tiles, programs)
    before = waves * (steps * step + ends)
    if tail == 0:
        return before, 1
    found = [(before + steps * step + ends, 1)]
    for parts in range(2, programs // tail + 1):
        last = ceil_div(steps, parts) * step + ends + CUT
        found.append((before + last + tail * parts * BLOCK_M * BLOCK_N / SUMMED, parts))
    return min(found)


def job(note, M, N, K, tile, step, ends, programs=132):
    return case(note, M=M, N=N, K=K, tile=tile, step=step, ends=ends, programs=programs)


LARGE, SQUARE, FLAT = (128, 256, 64, 8, 3), (64, 64, 128, 4, 4), (64, 128, 32, 4, 4)
# In 40 parts or 42, 44, ... 50 it takes as long: with 10,000 numbers a tile these sums are exact in
# whatever order they are computed. No tile of Triton's has so many.
EQUAL = (100, 100, 8, 4, 3)
JOBS = [
    job("a long last wave", 4608, 3072, 3072, LARGE, 600, 2900),
    job("a short last wave", 3072, 3072, 3072, LARGE, 600, 3000),
    job("less than a wave", 1000, 1000, 1000, SQUARE, 400, 1500),
    job("4 tiles, a long sum", 100, 100, 8000, SQUARE, 400, 1500),
    job("slow steps", 300, 300, 130, FLAT, 9000, 100),
    job("slow steps, many", 300, 300, 4000, FLAT, 9000, 100),
    job("one full wave", 768, 1408, 512, FLAT, 300, 1000),
    job("40 programs", 500, 900, 700, FLAT, 5000, 200, 40),
    job("16 programs", 1500, 1500, 300, LARGE, 600, 3000, 16),
    job("one tile, one step", 64, 64, 60, SQUARE, 400, 1500),
    job("two parts fill a wave to the last place", 768, 2816, 8192, LARGE, 800, 2000),
    job("equal times", 100, 100, 8000, EQUAL, 20, 1000, 50),
]
HIDDEN_JOBS = [
    job("108 programs", 4096, 4096, 4096, LARGE, 600, 3000, 108),
    job("72 programs", 700, 5000, 1111, SQUARE, 420, 1400, 72),
    job("58 programs", 129, 2000, 3333, FLAT, 4000, 100, 58),
    job("108 programs, a long sum", 65, 65, 7000, LARGE, 700, 2500, 108),
    job("two steps", 8000, 8000, 90, LARGE, 650, 2500),
]
ESTIMATE = Check(
    estimate_ref, JOBS, HIDDEN_JOBS, through="estimate", triton=False, tolerance=Tolerance(1e-6)
)

RECORD = [
    record("odd sizes", 101, 67, 203),
    record("one tile, a long sum", 40, 1000, 24, dtype="bfloat16"),
    record("float32", 70, 200, 90, dtype="float32"),
    record("float32, odd", 33, 45, 21, dtype="float32"),
    record("both transposed", 72, 80, 40, a="transposed", b="transposed"),
    record("odd addresses", 40, 48, 40, a="offset"),
    record("no rows", 0, 16, 8),
    record("inner sizes differ", 16, 32, 16, short=1, raises=ValueError),
    record("one row repeated", 32, 40, 32, a="expanded"),
]
HIDDEN_RECORD = [
    record("a single element", 1, 1, 1),
    record("rows with gaps", 50, 70, 30, a="strided", b="strided", dtype="float32"),
    record("A transposed", 65, 90, 130, a="transposed", dtype="bfloat16"),
    record("no sum", 8, 0, 8),
    case("one sign", dtype="float16", a=tensor(33, 600, values="positive"), b=tensor(600, 17)),
]

CHECKS = {
    "matmul_staying": Check(
        matmul_ref,
        STAYING,
        HIDDEN_STAYING,
        asks=[
            launches(1),
            starts(largest_launch),
            keeps_float32,
            stores_once(),
            computes_each_tile_once,
            takes_the_first_tiles_alone,
        ],
        tolerance=products.tolerance,
    ),
    "matmul_split": Check(
        matmul_ref,
        SPLIT,
        HIDDEN_SPLIT,
        asks=[
            WRAPPER,
            starts(largest_launch),
            lambda fn: keeps_float32(fn, parts=2),
            lambda fn: computes_each_tile_once(fn, parts=2),
            parts_share_the_steps,
            stores_once(),
        ],
        tolerance=products.tolerance,
    ),
    "matmul_record": Check(
        matmul_ref,
        RECORD,
        HIDDEN_RECORD,
        allow=("copy_",),
        tolerance=products.tolerance,
        asks=[ESTIMATE],
    ),
}
