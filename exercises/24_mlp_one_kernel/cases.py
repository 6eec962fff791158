"""What the checks of 24_mlp_one_kernel try: cases and references."""

import torch

from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import exact_float32, launches

from ..shared import products
from .page import COLUMNS_OF_A_TILE, ROWS_OF_A_TILE

# --- the ledger


def traffic_ledger_ref(M, D, H):
    rows = -(-M // ROWS_OF_A_TILE)
    columns = -(-D // COLUMNS_OF_A_TILE)
    both = 2 * 2 * D * H
    ends = 2 * 2 * M * D
    plain = 2 * 2 * M * D * H
    return {
        "separate": dict(
            activations=ends + 4 * 2 * M * H, weights=both, asked=rows * both, flops=plain
        ),
        "epilogue": dict(
            activations=ends + 2 * 2 * M * H, weights=both, asked=rows * both, flops=plain
        ),
        "fused": dict(
            activations=ends,
            weights=both,
            asked=rows * (columns + 1) * 2 * D * H,
            flops=2 * (columns + 1) * M * D * H,
        ),
    }


def whole_numbers(ledger):
    plans = ledger(1000, 700, 3000).values()
    broken = [name for plan in plans for name, value in plan.items() if not isinstance(value, int)]
    assert not broken, (
        f"`{broken[0]}` is a float. Count in whole numbers: `//` in place of `/`, `2` in place of "
        "`2.0`."
    )


LEDGER_CASES = [
    case("ragged", M=1000, D=700, H=3000),
    case("one token", M=1, D=4096, H=16384),
    case("a full row of tiles", M=128, D=4096, H=16384),
    case("many tokens, narrow", M=65536, D=128, H=512),
]

HIDDEN_LEDGER_CASES = [
    case("one more than a row of tiles", M=129, D=256, H=1024),
    case("one more than a column", M=128, D=257, H=1024),
    case("H smaller than D", M=4096, D=4096, H=1000),
    case("everything is one", M=1, D=1, H=1),
    case("long", M=1 << 20, D=8192, H=28672),
]

# --- the kernel


def gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def mlp_gelu_ref(x, w1, w2):
    return gelu(x @ w1) @ w2


def small_mlp(M, D, H, N, layout="contiguous"):
    return dict(
        x=tensor(M, D),
        w1=tensor(D, H, scale=D**-0.5, layout=layout),
        w2=tensor(H, N, scale=H**-0.5, layout=layout),
    )


FUSED_CASES = [
    case("one tile along D, three along H", **small_mlp(40, 24, 80, 24)),
    case("several tiles along D, ragged", **small_mlp(33, 70, 50, 70)),
    case("weights as nn.Linear keeps them", **small_mlp(20, 40, 70, 33, "transposed")),
    case("x transposed", **small_mlp(20, 40, 50, 20) | {"x": tensor(20, 40, layout="transposed")}),
    case("float16", dtype="float16", **small_mlp(70, 48, 90, 48)),
    case("one row", **small_mlp(1, 20, 33, 20)),
    case(
        "w2 does not fit", **small_mlp(16, 16, 32, 16) | {"w2": tensor(16, 16)}, raises=ValueError
    ),
    case("no rows", **small_mlp(0, 16, 32, 16)),
    case("x does not fit", **small_mlp(16, 16, 32, 16) | {"x": tensor(16, 15)}, raises=ValueError),
]

HIDDEN_FUSED_CASES = [
    case("prime sizes", **small_mlp(37, 41, 67, 43)),
    case("narrow, float16", dtype="float16", **small_mlp(130, 16, 100, 16)),
    case("wide, float16", dtype="float16", **small_mlp(20, 300, 70, 300)),
    case("bfloat16", dtype="bfloat16", **small_mlp(40, 64, 96, 64)),
    case("H of one", **small_mlp(20, 33, 1, 20)),
    case("other width out than in", **small_mlp(40, 20, 50, 70)),
    case("rows with gaps", **small_mlp(20, 40, 70, 33, "strided")),
]

CHECKS = {
    "traffic_ledger": Check(
        traffic_ledger_ref, LEDGER_CASES, HIDDEN_LEDGER_CASES, triton=False, asks=[whole_numbers]
    ),
    "mlp_gelu_fused": Check(
        mlp_gelu_ref,
        FUSED_CASES,
        HIDDEN_FUSED_CASES,
        asks=[launches(1), exact_float32()],
        tolerance=products.rounded_between,
    ),
}
