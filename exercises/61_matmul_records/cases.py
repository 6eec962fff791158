"""What the checks of 61_matmul_records try."""

import inspect

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import launches, starts, stores_once
from tritonbook.port.compat import tensor_of
from tritonbook.seeing.compiled import compile_gate
from tritonbook.seeing.tiles import CannotShow, traffic

from ..shared import products
from .page import CUT, SUMMED, matmul_ref

WIDE = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "num_warps": 4, "num_stages": 2}
HIGH = WIDE | {"BLOCK_M": 32, "BLOCK_N": 16}


def tiled(note, tile=WIDE, programs=3, parts=None, **more):
    options = {"tile": tile, "programs": programs} | ({"parts": parts} if parts else {})
    return case(note, options=options, **({"dtype": "float16"} | more))


def tiles_of(a, b, tile):
    return products.ceil_div(a.shape[0], tile["BLOCK_M"]) * products.ceil_div(
        b.shape[1], tile["BLOCK_N"]
    )


def corners(a, b, tile):
    """The part of c that each tile is, in the order of the page: groups of 8 rows of tiles."""
    BM, BN = tile["BLOCK_M"], tile["BLOCK_N"]
    grid_m, grid_n = products.ceil_div(a.shape[0], BM), products.ceil_div(b.shape[1], BN)
    places = []
    for first in range(0, grid_m, 8):
        for n in range(grid_n):
            for m in range(first, min(first + 8, grid_m)):
                places.append((slice(m * BM, (m + 1) * BM), slice(n * BN, (n + 1) * BN)))
    return places


STAYING = [
    tiled("odd sizes", HIGH, 4, a=tensor(41, 37), b=tensor(37, 71)),
    tiled("nine tiles, three programs, four steps", a=tensor(48, 64), b=tensor(64, 96)),
    tiled("more programs than tiles", HIGH, 8, a=tensor(24, 40), b=tensor(40, 24)),
    tiled("eleven rows of tiles", WIDE, 5, a=tensor(168, 16), b=tensor(16, 40), dtype="bfloat16"),
    tiled("one program", HIGH, 1, a=tensor(40, 48), b=tensor(48, 40)),
    tiled(
        "both transposed",
        a=tensor(40, 32, layout="transposed"),
        b=tensor(32, 72, layout="transposed"),
    ),
    tiled("B transposed", a=tensor(40, 48), b=tensor(48, 72, layout="transposed")),
    tiled("rows with gaps", a=tensor(40, 48, layout="strided"), b=tensor(48, 40, layout="strided")),
    tiled(
        "A transposed, B with gaps, odd sizes",
        a=tensor(37, 45, layout="transposed"),
        b=tensor(45, 38, layout="strided"),
    ),
    tiled("float32", dtype="float32", a=tensor(40, 56), b=tensor(56, 72)),
    tiled(
        "a long sum of one sign",
        a=tensor(8, 504, values="positive"),
        b=tensor(504, 40, values="positive"),
    ),
    case("one row, the default tile", dtype="float16", a=tensor(1, 100), b=tensor(100, 65)),
    tiled("no rows", a=tensor(0, 16), b=tensor(16, 8)),
    tiled("inner sizes differ", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
    tiled(
        "one row repeated", dtype="float32", a=tensor(32, 40, layout="expanded"), b=tensor(40, 32)
    ),
]
HIDDEN_STAYING = [
    tiled("a single element", a=tensor(1, 1), b=tensor(1, 1)),
    tiled("two programs, seven tiles", HIGH, 2, a=tensor(210, 24), b=tensor(24, 16)),
    tiled("prime sizes", WIDE, 7, a=tensor(67, 71), b=tensor(71, 97)),
    tiled(
        "A transposed, float32",
        HIGH,
        dtype="float32",
        a=tensor(60, 44, layout="transposed"),
        b=tensor(44, 36),
    ),
    tiled(
        "B transposed, bfloat16",
        dtype="bfloat16",
        a=tensor(40, 32),
        b=tensor(32, 80, layout="transposed"),
    ),
    tiled("odd addresses", a=tensor(40, 48, layout="offset"), b=tensor(48, 40, layout="offset")),
    tiled("no sum", a=tensor(8, 0), b=tensor(0, 8)),
    tiled("no columns", a=tensor(8, 16), b=tensor(16, 0)),
    case("the default tile", dtype="float16", a=tensor(150, 72), b=tensor(72, 304)),
]

FLOAT32 = (
    "Compiled for an A100, your kernel cuts float32 tiles to TF32, three decimal digits. Hand "
    "`input_precision=PRECISION` to `tl.dot`."
)

MULTIPLY = ("matmul_staying_kernel", "part_kernel")


def keeps_float32(fn, **options):
    """Looked at where it can be: a grader's answers run in another process."""
    a, b = torch.empty(64, 64, device=DEVICE), torch.empty(64, 64, device=DEVICE)
    tile = WIDE | {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    found = compile_gate(fn, (a, b), {"tile": tile} | options, 80, ptx=True)
    for kernel in found.kernels if found.ok else ():
        cut = kernel.tensor_cores and "sub.f32" not in kernel.ptx and "sub.rn.f32" not in kernel.ptx
        assert not cut, FLOAT32
        assert kernel.tensor_cores or kernel.name not in MULTIPLY, (
            f"The values are right. But `{kernel.name}` multiplies float32 on the ordinary units: "
            "take `input_precision=PRECISION`. A later step of the page is about it."
        )


# --- the last wave in parts

SPLIT = [
    tiled(
        "odd sizes, the last tile in three parts",
        HIGH,
        parts=3,
        a=tensor(41, 107),
        b=tensor(107, 20),
    ),
    tiled(
        "four tiles, three programs: the last in two parts",
        parts=2,
        a=tensor(32, 80),
        b=tensor(80, 64),
    ),
    tiled(
        "two tiles in three parts, seven steps", WIDE, 6, 3, a=tensor(16, 112), b=tensor(112, 64)
    ),
    tiled("more parts than steps", WIDE, 4, 3, a=tensor(16, 24), b=tensor(24, 24)),
    tiled("full waves", WIDE, 2, 3, a=tensor(32, 48), b=tensor(48, 64)),
    tiled("nothing is cut", WIDE, 3, 1, a=tensor(16, 48), b=tensor(48, 160)),
    tiled("one tile that is not cut", WIDE, 3, 1, a=tensor(16, 48), b=tensor(48, 32)),
    tiled(
        "float32, two of six tiles", HIGH, 4, 2, dtype="float32", a=tensor(40, 56), b=tensor(56, 36)
    ),
    tiled(
        "both transposed, two of six tiles",
        WIDE,
        4,
        2,
        a=tensor(40, 40, layout="transposed"),
        b=tensor(40, 40, layout="transposed"),
    ),
    tiled(
        "A transposed, B with gaps, odd sizes",
        HIGH,
        4,
        2,
        a=tensor(37, 45, layout="transposed"),
        b=tensor(45, 38, layout="strided"),
    ),
    tiled(
        "a long sum of one sign",
        WIDE,
        4,
        2,
        a=tensor(8, 504, values="positive"),
        b=tensor(504, 40, values="positive"),
    ),
    case(
        "the default tile",
        dtype="bfloat16",
        options={"parts": 2},
        a=tensor(5, 150),
        b=tensor(150, 65),
    ),
    tiled(
        "A by rows, B by columns",
        WIDE,
        6,
        3,
        a=tensor(16, 112),
        b=tensor(112, 64, layout="transposed"),
    ),
    tiled("no rows", parts=2, a=tensor(0, 16), b=tensor(16, 8)),
    tiled("inner sizes differ", parts=2, a=tensor(16, 32), b=tensor(31, 16), raises=ValueError),
]
HIDDEN_SPLIT = [
    tiled("odd sizes", HIGH, 4, 2, a=tensor(75, 75), b=tensor(75, 27)),
    tiled("one tile in five parts", WIDE, 7, 5, a=tensor(9, 200), b=tensor(200, 30)),
    tiled("eleven rows of tiles, six left", WIDE, 9, 2, a=tensor(170, 40), b=tensor(40, 70)),
    tiled("prime sizes", HIGH, 5, 2, a=tensor(67, 71), b=tensor(71, 41)),
    tiled(
        "B transposed",
        WIDE,
        4,
        3,
        dtype="bfloat16",
        a=tensor(40, 88),
        b=tensor(88, 40, layout="transposed"),
    ),
    tiled(
        "gaps",
        HIGH,
        4,
        2,
        dtype="float32",
        a=tensor(40, 48, layout="strided"),
        b=tensor(48, 40, layout="strided"),
    ),
    tiled("no sum", WIDE, 4, 2, a=tensor(8, 0), b=tensor(0, 8)),
    tiled("no columns", WIDE, 4, 2, a=tensor(8, 16), b=tensor(16, 0)),
]


def largest_launch(a, b, parts=1, tile=None, programs=132):
    """Programs of the largest launch."""
    tile = products.tile_of(tile, a.dtype)
    tiles = tiles_of(a, b, tile)
    tail = tiles % programs if parts > 1 else 0
    return max(min(tiles - tail, programs), tail * parts, tail * tile["BLOCK_M"] // 8)


def computes_each_tile_once(fn, **parts):
    """Seven tiles of four steps on three programs; the last one may be cut."""
    a, b = torch.randn(16, 64, device=DEVICE).half(), torch.randn(64, 224, device=DEVICE).half()
    try:
        flops = traffic(fn, a, b, **parts, tile=WIDE, programs=3).flops
    except CannotShow:  # a grader runs kernels elsewhere
        return
    step = 2 * 16 * 32 * 16
    assert flops == 7 * 4 * step, (
        f"The values are right. But 7 tiles of 4 steps are 28 products of tiles, and "
        f"{flops // step} were made: a tile is computed more than once, or one that c has not. (Or "
        "the loop of Task 1 goes on behind the first `tiles` tiles.)"
    )


def parts_share_the_steps(fn):
    """Two tiles of seven steps, each in four parts: no part has more than two."""
    a, b = torch.randn(16, 112, device=DEVICE).half(), torch.randn(112, 64, device=DEVICE).half()
    try:
        ledger = traffic(fn, a, b, parts=4, tile=WIDE, programs=8)
    except CannotShow:  # a grader runs kernels elsewhere
        return
    step, stored = 2 * (16 * 16 + 16 * 32), 4 * 16 * 32  # bytes
    assert ledger.busiest < 3 * step + stored, (
        "The values are right. But of 7 steps in 4 parts one part has 3 or more, and the last wave "
        "takes as long as its longest part: none needs more than 2."
    )


class FewerTiles:
    """Stands where the kernel stands: launches it for 13 tiles less, with NaN in all of c."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        def launch(a, b, c, M, N, K, tiles, *rest, **named):
            tensor_of(c).fill_(torch.nan)
            return self.kernel[grid](a, b, c, M, N, K, tiles - 13, *rest, **named)

        return launch


def takes_the_first_tiles_alone(fn):
    """Looked at where it can be: a grader's answers run in another process."""
    names, name = getattr(inspect.unwrap(fn), "__globals__", {}), "matmul_staying_kernel"
    if name not in names:
        return
    kernel, a = names[name], torch.ones(168, 16, dtype=torch.float16, device=DEVICE)
    b = torch.ones(16, 96, dtype=torch.float16, device=DEVICE)
    names[name] = FewerTiles(kernel)
    try:
        c = fn(a, b, tile=WIDE, programs=2)
    finally:
        names[name] = kernel
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


class Launches:
    """Stands where a kernel stands: notes grid and arguments, and runs nothing."""

    def __init__(self):
        self.noted = []

    def __getitem__(self, grid):
        return lambda *given, **named: self.noted.append((grid, given))


def look_at_the_wrapper(fn):
    """Gives what tells tail and whole of a call; None where nobody can look, as at a grader's."""
    names = getattr(inspect.unwrap(fn), "__globals__", {})
    kernels = ("matmul_staying_kernel", "part_kernel", "sum_kernel")
    if not set(kernels) <= names.keys():
        return None

    def tail_and_whole(tiles, programs, parts):
        kept, seen = {name: names[name] for name in kernels}, {name: Launches() for name in kernels}
        a = torch.empty(16, 16, dtype=torch.float16, device=DEVICE)
        b = torch.empty(16, 16 * tiles, dtype=torch.float16, device=DEVICE)
        names.update(seen)
        try:
            fn(a, b, parts, tile=WIDE | {"BLOCK_N": 16}, programs=programs)
        except Exception:  # the cases of the product say what, with the line
            return tail_and_whole_ref(tiles, programs, parts)
        finally:
            names.update(kept)
        staying, _, sums = (seen[name].noted for name in kernels)
        tail, whole = sums[0][0][0] if sums else 0, staying[0][1][6] if staying else 0
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


def ceil(size, part):
    return -(-size // part)


def estimate_ref(M, N, K, tile, step, ends, programs):
    BLOCK_M, BLOCK_N, BLOCK_K = tile[:3]
    tiles, steps = ceil(M, BLOCK_M) * ceil(N, BLOCK_N), ceil(K, BLOCK_K)
    waves, tail = divmod(tiles, programs)
    before = waves * (steps * step + ends)
    if tail == 0:
        return before, 1
    found = [(before + steps * step + ends, 1)]
    for parts in range(2, programs // tail + 1):
        last = ceil(steps, parts) * step + ends + CUT
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
    case("odd sizes", dtype="float16", a=tensor(101, 67), b=tensor(67, 203)),
    case("one tile, a long sum", dtype="bfloat16", a=tensor(40, 1000), b=tensor(1000, 24)),
    case("float32", a=tensor(70, 200), b=tensor(200, 90)),
    case("float32, odd", a=tensor(33, 45), b=tensor(45, 21)),
    case(
        "both transposed",
        dtype="float16",
        a=tensor(72, 80, layout="transposed"),
        b=tensor(80, 40, layout="transposed"),
    ),
    case("odd addresses", dtype="float16", a=tensor(40, 48, layout="offset"), b=tensor(48, 40)),
    case("no rows", dtype="float16", a=tensor(0, 16), b=tensor(16, 8)),
    case(
        "inner sizes differ", dtype="float16", a=tensor(16, 32), b=tensor(31, 16), raises=ValueError
    ),
    case(
        "one row repeated", dtype="float16", a=tensor(32, 40, layout="expanded"), b=tensor(40, 32)
    ),
]
HIDDEN_RECORD = [
    case("a single element", dtype="float16", a=tensor(1, 1), b=tensor(1, 1)),
    case("rows with gaps", a=tensor(50, 70, layout="strided"), b=tensor(70, 30, layout="strided")),
    case(
        "A transposed", dtype="bfloat16", a=tensor(65, 90, layout="transposed"), b=tensor(90, 130)
    ),
    case("no sum", dtype="float16", a=tensor(8, 0), b=tensor(0, 8)),
    case("one sign", dtype="float16", a=tensor(33, 600, values="positive"), b=tensor(600, 17)),
]

CHECKS = {
    "matmul_staying": Check(
        matmul_ref,
        STAYING,
        HIDDEN_STAYING,
        asks=[
            launches(1),
            starts(
                lambda a, b, tile=None, programs=132: min(
                    programs, tiles_of(a, b, products.tile_of(tile, a.dtype))
                )
            ),
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
