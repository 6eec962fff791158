"""What the checks of 23_fused_mlp try: cases, references, and mistakes that have a name."""

import torch

from tritonbook.checking import Check, Tolerance, case, tensor

from .page import (
    COLUMNS_OF_A_TILE,
    ROWS_OF_A_TILE,
    gate_up_ref,
    mlp_gelu_ref,
    mlp_swiglu_ref,
    silu_mul_ref,
)

GATE_SUSPECTS = {
    "gate-and-up-swapped": (
        lambda gate, up: torch.nn.functional.silu(up) * gate,
        "gate and up have changed places: the SiLU belongs to gate.",
    ),
    "no-silu": (lambda gate, up: gate * up, "This is gate * up, without the SiLU."),
    "sigmoid-for-silu": (
        lambda gate, up: torch.sigmoid(gate) * up,
        "This is sigmoid(gate) * up. SiLU is gate * sigmoid(gate).",
    ),
    "no-up": (lambda gate, up: torch.nn.functional.silu(gate), "up is missing."),
}

GATE_CASES = [
    case("less than a tile", gate=tensor(5, 100), up=tensor(5, 100)),
    case("several tiles in a row", dtype="float16", gate=tensor(3, 5000), up=tensor(3, 5000)),
    case("gate with gaps between rows", gate=tensor(7, 64, layout="strided"), up=tensor(7, 64)),
    case("up transposed", gate=tensor(20, 33), up=tensor(20, 33, layout="transposed")),
    case("large values", dtype="float16", gate=tensor(4, 80, scale=60.0), up=tensor(4, 80)),
    case("shapes differ", gate=tensor(4, 8), up=tensor(4, 9), raises=ValueError),
]


def two_products(dtype):
    """One rounding at the store; the errors of two float32 sums are multiplied by each other's."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 0.0
    return Tolerance(eps + 4e-6, 4e-5, 1e-6, "one rounding at the store, two float32 sums")


GATE_UP_SUSPECTS = {
    "gate-and-up-swapped": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_up, w_gate),
        "gate and up have changed places.",
    ),
    "no-silu": (
        lambda x, w_gate, w_up: (x @ w_gate) * (x @ w_up),
        "The SiLU is missing.",
    ),
    "same-weight-twice": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_gate, w_gate),
        "Both products use w_gate.",
    ),
    "up-weight-twice": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_up, w_up),
        "Both products use w_up.",
    ),
    "sigmoid-for-silu": (
        lambda x, w_gate, w_up: torch.sigmoid(x @ w_gate) * (x @ w_up),
        "This is sigmoid(gate) * up. SiLU is gate * sigmoid(gate).",
    ),
}


def gate_and_up(M, D, H, layout="contiguous"):
    """x, w_gate and w_up of these sizes."""
    w_gate, w_up = (tensor(D, H, scale=D**-0.5, layout=layout) for _ in range(2))
    return dict(x=tensor(M, D), w_gate=w_gate, w_up=w_up)


GATE_UP_CASES = [
    case("whole tiles", **gate_and_up(32, 64, 32)),
    case("D is no multiple of the tile", **gate_and_up(40, 70, 50)),
    case("few rows, float16", dtype="float16", **gate_and_up(3, 300, 70)),
    case("as nn.Linear keeps them", dtype="float16", **gate_and_up(70, 48, 90, "transposed")),
    case("unequal weights", **gate_and_up(9, 16, 16) | {"w_up": tensor(16, 17)}, raises=ValueError),
]


def rounded_between(dtype):
    """The hidden values are rounded to dtype as well: that error enters the second sum."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 0.0
    because = "one rounding at the store and one of the hidden values, three float32 sums"
    return Tolerance(eps + 4e-6, eps + 5e-5, 1e-6, because)


MLP_SUSPECTS = {
    "gate-and-up-swapped": (
        lambda x, w_gate, w_up, w_down: mlp_swiglu_ref(x, w_up, w_gate, w_down),
        "gate and up have changed places.",
    ),
    "gate-weight-twice": (
        lambda x, w_gate, w_up, w_down: mlp_swiglu_ref(x, w_gate, w_gate, w_down),
        "Both products use w_gate.",
    ),
}


def layer(M, D, H, layout="contiguous"):
    """Arguments of one case of an MLP with sizes M, D, H."""
    w_down = tensor(H, D, scale=H**-0.5, layout=layout)
    return dict(**gate_and_up(M, D, H, layout), w_down=w_down)


MLP_CASES = [
    case("whole tiles", **layer(32, 32, 64)),
    case("ragged, float16", dtype="float16", **layer(70, 45, 100)),
    case("one row", **layer(1, 40, 75)),
    case("weights as nn.Linear keeps them", dtype="float16", **layer(20, 64, 90, "transposed")),
]


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


def _ledger_with(**change):
    """The ledger with one formula wrong: change(M, D, H, ledger)."""

    def wrong(M, D, H):
        ledger = traffic_ledger_ref(M, D, H)
        change["how"](M, D, H, ledger)
        return ledger

    return wrong


def _no_recomputation(M, D, H, ledger):
    ledger["fused"]["flops"] = 2 * 2 * M * D * H


def _no_weights_again(M, D, H, ledger):
    ledger["fused"]["asked"] = ledger["epilogue"]["asked"]


def _elements(M, D, H, ledger):
    for plan in ledger.values():
        for name in ("activations", "weights", "asked"):
            plan[name] //= 2


def _hidden_once(M, D, H, ledger):
    ledger["separate"]["activations"] -= 4 * M * H


def _one_row_of_tiles(M, D, H, ledger):
    for plan in ledger.values():
        plan["asked"] //= -(-M // ROWS_OF_A_TILE)


LEDGER_SUSPECTS = {
    "recomputation-forgotten": (
        _ledger_with(how=_no_recomputation),
        "The fused kernel computes the first product once for each column of output tiles. Its "
        "flops leave that out.",
    ),
    "weights-asked-once": (
        _ledger_with(how=_no_weights_again),
        "Each column of output tiles asks for w1 again. The fused plan's `asked` leaves that out.",
    ),
    "elements-for-bytes": (_ledger_with(how=_elements), "These are elements. One has 2 bytes."),
    "gelu-reads-forgotten": (
        _ledger_with(how=_hidden_once),
        "As a kernel of its own the GELU reads and writes the hidden values once more.",
    ),
    "one-row-of-tiles": (
        _ledger_with(how=_one_row_of_tiles),
        "Each row of tiles asks for the weights. There are M / 128 rows, rounded up.",
    ),
}

LEDGER_CASES = [
    case("one token", M=1, D=4096, H=16384),
    case("a full row of tiles", M=128, D=4096, H=16384),
    case("many tokens, narrow", M=65536, D=128, H=512),
    case("ragged", M=1000, D=700, H=3000),
]

FUSED_SUSPECTS = {
    "no-gelu": (lambda x, w1, w2: (x @ w1) @ w2, "The GELU is missing."),
    "silu-for-gelu": (
        lambda x, w1, w2: torch.nn.functional.silu(x @ w1) @ w2,
        "This is SiLU, not GELU.",
    ),
    "relu-for-gelu": (
        lambda x, w1, w2: torch.relu(x @ w1) @ w2,
        "This is ReLU, not GELU.",
    ),
}


def small_mlp(M, D, H, N, layout="contiguous"):
    return dict(
        x=tensor(M, D),
        w1=tensor(D, H, scale=D**-0.5, layout=layout),
        w2=tensor(H, N, scale=H**-0.5, layout=layout),
    )


FUSED_CASES = [
    case("one tile along D", **small_mlp(40, 24, 64, 24)),
    case("several tiles along D", **small_mlp(33, 70, 50, 70)),
    case("float16", dtype="float16", **small_mlp(70, 48, 90, 48)),
    case("one row", **small_mlp(1, 20, 33, 20)),
    case("weights as nn.Linear keeps them", **small_mlp(20, 40, 70, 33, "transposed")),
]

GATE = dict(launches=1, mistakes=GATE_SUSPECTS)

HIDDEN_GATE_CASES = [
    case("one element", gate=tensor(1, 1), up=tensor(1, 1)),
    case("one element more than a tile", gate=tensor(2, 1025), up=tensor(2, 1025)),
    case("a prime width", dtype="float16", gate=tensor(3, 4099), up=tensor(3, 4099)),
    case("bfloat16", dtype="bfloat16", gate=tensor(5, 700), up=tensor(5, 700)),
    case("negative gates", gate=tensor(3, 90, values="negative", scale=3.0), up=tensor(3, 90)),
    case("one row repeated", gate=tensor(6, 40, layout="expanded"), up=tensor(6, 40)),
    case("odd addresses", gate=tensor(9, 31, layout="offset"), up=tensor(9, 31, layout="offset")),
    case("no rows", gate=tensor(0, 16), up=tensor(0, 16)),
]

GATE_UP = dict(launches=1, mistakes=GATE_UP_SUSPECTS, tolerance=two_products)

HIDDEN_GATE_UP_CASES = [
    case("one row", **gate_and_up(1, 40, 33)),
    case("one column", **gate_and_up(35, 40, 1)),
    case("D of one", **gate_and_up(20, 1, 40)),
    case(
        "strides of their own",
        x=tensor(20, 40, layout="strided"),
        w_gate=tensor(40, 33, layout="transposed"),
        w_up=tensor(40, 33, layout="strided"),
    ),
    case("several tiles, float16", dtype="float16", **gate_and_up(140, 50, 260)),
    case("bfloat16", dtype="bfloat16", **gate_and_up(65, 64, 40)),
    case("odd addresses", dtype="float16", **gate_and_up(20, 64, 64, "offset")),
    case("strong gates", **gate_and_up(20, 40, 40) | {"x": tensor(20, 40, scale=60.0)}),
    case("x does not fit", **gate_and_up(16, 16, 16) | {"x": tensor(16, 15)}, raises=ValueError),
]

LAYER = dict(launches=2, mistakes=MLP_SUSPECTS, tolerance=rounded_between)

HIDDEN_MLP_CASES = [
    case("prime sizes", **layer(37, 41, 67)),
    case("few rows, long", dtype="float16", **layer(5, 64, 530)),
    case("H smaller than D", **layer(33, 80, 20)),
    case("bfloat16", dtype="bfloat16", **layer(40, 64, 96)),
    case("rows with gaps", **layer(20, 40, 70, "strided")),
]

LEDGER = dict(triton=False, mistakes=LEDGER_SUSPECTS)

HIDDEN_LEDGER_CASES = [
    case("one more than a row of tiles", M=129, D=256, H=1024),
    case("one more than a column", M=128, D=257, H=1024),
    case("H smaller than D", M=4096, D=4096, H=1000),
    case("everything is one", M=1, D=1, H=1),
    case("long", M=1 << 20, D=8192, H=28672),
]

FUSED = dict(launches=1, mistakes=FUSED_SUSPECTS, tolerance=rounded_between)

HIDDEN_FUSED_CASES = [
    case("prime sizes", **small_mlp(37, 41, 67, 43)),
    case("narrow, float16", dtype="float16", **small_mlp(130, 16, 100, 16)),
    case("wide, float16", dtype="float16", **small_mlp(20, 300, 70, 300)),
    case("bfloat16", dtype="bfloat16", **small_mlp(40, 64, 96, 64)),
    case("H of one", **small_mlp(20, 33, 1, 20)),
    case("other width out than in", **small_mlp(40, 20, 50, 70)),
    case("rows with gaps", **small_mlp(20, 40, 70, 33, "strided")),
    case(
        "sizes that do not fit",
        x=tensor(16, 16),
        w1=tensor(16, 32),
        w2=tensor(16, 16),
        raises=ValueError,
    ),
]

CHECKS = {
    "silu_mul": Check(
        silu_mul_ref,
        GATE_CASES,
        HIDDEN_GATE_CASES,
        **GATE,
    ),
    "gate_up_swiglu": Check(
        gate_up_ref,
        GATE_UP_CASES,
        HIDDEN_GATE_UP_CASES,
        **GATE_UP,
    ),
    "mlp_swiglu": Check(
        mlp_swiglu_ref,
        MLP_CASES,
        HIDDEN_MLP_CASES,
        **LAYER,
    ),
    "traffic_ledger": Check(
        traffic_ledger_ref,
        LEDGER_CASES,
        HIDDEN_LEDGER_CASES,
        **LEDGER,
    ),
    "mlp_gelu_fused": Check(
        mlp_gelu_ref,
        FUSED_CASES,
        HIDDEN_FUSED_CASES,
        **FUSED,
    ),
}
