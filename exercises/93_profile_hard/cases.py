"""What the checks of 93_profile_hard try, and what speaks against each wrong cause."""

import torch

from tritonbook.checking import Speed, case, rounded_once, tensor
from tritonbook.checking.asks import compiled, moves

from ..shared.clinic import AGAINST_SLOWNESS, RIGHT, patient

# --- softmax_wide


def softmax_wide_ref(x):
    return x.softmax(-1)


def rows(note, M, N, layout="contiguous", **more):
    drawn = {name: more.pop(name) for name in ("values", "scale", "mean") if name in more}
    return case(note, x=tensor(M, N, layout=layout, **drawn), **more)


WIDEST = "16,384 columns"
ROWS = [
    rows("64 columns", 4, 64),
    rows("50 columns", 3, 50, mean=-3.0),
    rows("large numbers", 2, 40, scale=60.0),
    rows("all numbers at -1e30", 2, 50, values="zeros", mean=-1e30),
    rows("5,000 columns", 2, 5000),
    rows(WIDEST, 2, 16384),
    rows("half precision", 3, 100, dtype="float16"),
    rows("too many columns", 1, 16385, raises=ValueError),
    rows("rows with gaps", 3, 20, layout="strided", raises=ValueError),
]

HIDDEN_ROWS = [
    rows("9,000 columns", 2, 9000, scale=3.0),
    rows("one column", 5, 1),
    rows("one column more than a power of two", 3, 1025),
    rows("bfloat16", 2, 130, dtype="bfloat16"),
    rows("no rows", 0, 40),
]


def nothing_spills(kernels):
    spilled = {note: max(kernel.spills for kernel in found) for note, found in kernels.items()}
    worst = max(spilled, key=spilled.__getitem__)
    (warps, *_) = {kernel.warps for kernel in kernels[worst]}
    assert not spilled[worst], (
        f"The values are right, and registers still spill: {spilled[worst]} bytes per thread with "
        f"{worst}. With num_warps={warps} a program has {32 * warps} threads: how many numbers of "
        "a row does each hold?"
    )


SOFTMAX_AGAINST = AGAINST_SLOWNESS | {
    "spills": RIGHT,
    "masked loop": "16,384 is a power of two: no lane was masked.",
    "float64": "`facts` showed no float64 instruction.",
    "few programs": "there were 4,096 programs.",
    "repeated loads": "the kernel has one load for x, and it is in no loop.",
}


# --- half_matmul


def half_matmul_ref(a, b):
    return a @ b


def products(note, M, K, N, tile=32, dtype="float16", layout="contiguous", **more):
    scale = more.pop("scale", 0.5)
    a, b = tensor(M, K, scale=scale, layout=layout), tensor(K, N, scale=0.5)
    return case(note, a=a, b=b, options={"tile": tile} if tile else {}, dtype=dtype, **more)


ALIGNED = "128 by 128 by 128"
PRODUCTS = [
    products("one tile", 32, 32, 32),
    products("nothing is a multiple", 45, 50, 37),
    products("many tiles along K", 16, 200, 20),
    products(ALIGNED, 128, 128, 128, tile=None),
    products("bfloat16", 40, 64, 48, dtype="bfloat16"),
    products("bfloat16 beyond 65,504", 32, 32, 32, dtype="bfloat16", scale=1e5),
    products("rows with gaps", 32, 32, 32, layout="strided", raises=ValueError),
]

HIDDEN_PRODUCTS = [
    products("tiles of 16", 33, 70, 50, tile=16),
    products("one row", 1, 90, 64),
    products("one column", 80, 33, 1),
    products("bfloat16, the tile as it is", 70, 40, 90, tile=None, dtype="bfloat16"),
]


def on_tensor_cores(kernels):
    found = [kernel for launched in kernels.values() for kernel in launched]
    assert any(kernel.tensor_cores for kernel in found), (
        "The values are right, and the compiler's text still has no tensor core instruction: the "
        "tiles are multiplied number by number."
    )
    assert not any(kernel.tf32 for kernel in found), (
        "Now the tensor cores are at work, with TF32: half precision was made float32 first. That "
        "takes twice the bytes and has half the speed. Multiply the tiles as they are."
    )


PRODUCT_AGAINST = AGAINST_SLOWNESS | {
    "no tensor cores": RIGHT,
    "masked loop": "2,048 is a multiple of all tiles: no lane was masked.",
    "float64": "`facts` showed no float64 instruction.",
    "few programs": "there were 1,024 programs.",
    "repeated loads": "each tile was loaded once by a program, as in the mended kernel.",
}


# --- gelu_digits


def gelu_digits_ref(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def numbers(note, *shape, block=32, **more):
    x = {name: more.pop(name) for name in ("layout", "scale", "mean") if name in more}
    options = {"block": block} if block else {}
    return case(note, x=tensor(*shape, **x), options=options, **more)


NUMBERS = [
    numbers("45 numbers", 45),
    numbers("far from 0", 64, scale=5.0),
    numbers("a matrix", 7, 13),
    numbers("the block as it is", 2048, block=None),
    numbers("half precision", 50, dtype="float16"),
    numbers("every second number", 20, layout="strided", raises=ValueError),
]

HIDDEN_NUMBERS = [
    numbers("1,000 numbers", 1000, block=128),
    numbers("a single number", 1, mean=1.0),
    numbers("bfloat16", 6, 15, dtype="bfloat16"),
    numbers("no numbers", 0),
]


def no_float64(kernels):
    count = max(kernel.float64 for found in kernels.values() for kernel in found)
    assert not count, (
        f"The values are right, and float64 is left in what the compiler made, in {count} "
        "instructions. Which number is the first one that is wider than x?"
    )


GELU_AGAINST = AGAINST_SLOWNESS | {
    "float64": RIGHT,
    "masked loop": "2^26 is a multiple of the block: no lane was masked.",
    "few programs": "there were 65,536 programs.",
    "repeated loads": "each number was loaded once.",
}


# --- lower_matmul


def lower_matmul_ref(a, b):
    return a.tril() @ b


def triangles(note, T, N, tile=32, dtype="float16", layout="contiguous", **more):
    a, b = tensor(T, T, scale=0.5, layout=layout), tensor(T, N, scale=0.5)
    return case(note, a=a, b=b, options={"tile": tile} if tile else {}, dtype=dtype, **more)


TALLEST = "192 rows, the tile as it is"
TRIANGLES = [
    triangles("one tile", 32, 32),
    triangles("nothing is a multiple", 75, 37),
    triangles("six tiles of rows", 192, 32),
    triangles("tiles of 16 rows", 70, 20, tile=16),
    triangles("the tile as it is", 130, 64, tile=None),
    triangles(TALLEST, 192, 64, tile=None),
    triangles("bfloat16", 64, 48, dtype="bfloat16"),
    triangles("rows with gaps", 32, 32, layout="strided", raises=ValueError),
]

HIDDEN_TRIANGLES = [
    triangles("one row", 1, 40),
    triangles("one column", 100, 1),
    triangles("one row more than two tiles", 65, 33),
    triangles("bfloat16, tiles of 64", 140, 70, tile=64, dtype="bfloat16"),
]


def no_products_with_nothing(seen, a, b, tile=64):
    whole = 2 * a.shape[0] ** 2 * b.shape[1]
    share = seen.flops / max(whole, 1)
    assert a.shape[0] < 6 * tile or share < 0.8, (
        f"The values are right, and too much is multiplied: {seen.flops:,} FLOPs, "
        f"{share:.0%} of the full product's. Tiles above the diagonal are still multiplied."
    )


def loads_keep_together(kernels):
    (kernel, *_) = kernels[TALLEST]
    assert 2 * kernel.vector_loads >= kernel.loads, (
        f"The values are right, and {kernel.vector_loads} of {kernel.loads} loads are vectors: in "
        "most turns of the loop there is still a mask that is another one for each lane."
    )


TRIANGLE_AGAINST = AGAINST_SLOWNESS | {
    "masked loop": RIGHT,
    "no tensor cores": "`facts` counted 16 tensor core instructions, as in a full product.",
    "float64": "half precision was multiplied, and added in float32.",
    "uncoalesced": "neighbouring lanes do read side by side. Their masks differ.",
    "few programs": "4,096 rows have 64 programs for each 64 columns.",
    "repeated loads": "a program loaded each of its tiles once. The mask even spared half of a.",
}


CHECKS = {
    **patient(
        softmax_wide_ref,
        ROWS,
        HIDDEN_ROWS,
        SOFTMAX_AGAINST,
        asks=[compiled(nothing_spills, "5,000 columns", WIDEST)],
        tolerance=rounded_once(64),
        speed=Speed(
            case("2,048 by 16,384", x=tensor(2048, 16384)),
            softmax_wide_ref,
            at_least=0.5,
            name="torch.softmax",
        ),
    ),
    **patient(
        half_matmul_ref,
        PRODUCTS,
        HIDDEN_PRODUCTS,
        PRODUCT_AGAINST,
        asks=[compiled(on_tensor_cores, ALIGNED)],
        terms=lambda a, b: a.shape[1],
        speed=Speed(
            case("2,048 by 2,048", a=tensor(2048, 2048), b=tensor(2048, 2048), dtype="float16"),
            torch.matmul,
            at_least=0.3,
            name="a @ b",
        ),
    ),
    **patient(
        gelu_digits_ref,
        NUMBERS,
        HIDDEN_NUMBERS,
        GELU_AGAINST,
        asks=[compiled(no_float64, "the block as it is")],
        terms=8,
        speed=Speed(
            case("2^24 numbers", x=tensor(2**24)),
            gelu_digits_ref,
            at_least=0.7,
            name="gelu of PyTorch",
        ),
    ),
    **patient(
        lower_matmul_ref,
        TRIANGLES,
        HIDDEN_TRIANGLES,
        TRIANGLE_AGAINST,
        asks=[moves(no_products_with_nothing), compiled(loads_keep_together, TALLEST)],
        terms=lambda a, b: a.shape[1],
        speed=Speed(
            case("4,096 rows", a=tensor(4096, 4096), b=tensor(4096, 1024), dtype="float16"),
            lower_matmul_ref,
            at_least=0.4,
            name="a.tril() @ b",
        ),
    ),
}
