"""What the checks of 23_fused_mlp try: cases and references."""

import dataclasses

import torch

from tritonbook import DEVICE, hook_launch, traffic
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import exact_float32, launches

from ..shared import products
from ..shared.looking import where_shown
from .page import mlp_swiglu_ref

silu = torch.nn.functional.silu


def silu_mul_ref(gate, up):
    return silu(gate) * up


def gate_up_ref(x, w_gate, w_up):
    return silu_mul_ref(x @ w_gate, x @ w_up)


# --- the gate


GATE_CASES = [
    case("less than a tile", gate=tensor(5, 100), up=tensor(5, 100)),
    case("several tiles in a row", dtype="float16", gate=tensor(3, 1300), up=tensor(3, 1300)),
    case("gate with gaps between rows", gate=tensor(7, 64, layout="strided"), up=tensor(7, 64)),
    case("up transposed", gate=tensor(20, 33), up=tensor(20, 33, layout="transposed")),
    case("gate transposed", gate=tensor(9, 600, layout="transposed"), up=tensor(9, 600)),
    # In half precision, whatever the others have: a float32 kernel's exp of 60 is 20 steps off.
    case(
        "large values",
        dtype="float16",
        gate=tensor(4, 80, dtype="float16", scale=60.0),
        up=tensor(4, 80, dtype="float16"),
    ),
    case("shapes differ", gate=tensor(4, 8), up=tensor(4, 9), raises=ValueError),
    case("no rows", gate=tensor(0, 16), up=tensor(0, 16)),
    case("rows differ", gate=tensor(4, 8), up=tensor(5, 8), raises=ValueError),
    case("one row repeated", gate=tensor(6, 40, layout="expanded"), up=tensor(6, 40)),
]

HIDDEN_GATE_CASES = [
    case("one element", gate=tensor(1, 1), up=tensor(1, 1)),
    case("one element more than a tile", gate=tensor(2, 1025), up=tensor(2, 1025)),
    case("a prime width", dtype="float16", gate=tensor(3, 4099), up=tensor(3, 4099)),
    case("bfloat16", dtype="bfloat16", gate=tensor(5, 700), up=tensor(5, 700)),
    case("negative gates", gate=tensor(3, 90, values="negative", scale=3.0), up=tensor(3, 90)),
    case("odd addresses", gate=tensor(9, 31, layout="offset"), up=tensor(9, 31, layout="offset")),
]

# --- two products and the gate


def two_products(dtype):
    """One rounding at the store; the errors of two float32 sums are multiplied by each other's."""
    eps = torch.finfo(dtype).eps / 2 if dtype != torch.float32 else 0.0
    because = "one rounding at the store, two float32 sums"
    return Tolerance(eps + 4e-6, 4e-5, 1e-6, because)


def launches_of(fn, *call):
    """What each launch of one call was given, as a list."""
    seen = []

    def note(run, kernel, grid, given, named):
        seen.append([*given, *named.values()])
        return run()

    with hook_launch(note):
        fn(*call)
    return seen


def launched_with(fn, *call):
    return [value for launch in launches_of(fn, *call) for value in launch]


@where_shown
def stored_once(fn):
    """In the interpreter, where every store is seen."""
    x, w = torch.ones(8, 300, device=DEVICE), torch.ones(300, 16, device=DEVICE)
    moved = traffic(fn, x, w, w).tensors
    times = sum(tensor.written for tensor in moved) / (8 * 16 * 4)
    of_x = max((tensor.read / tensor.nbytes for tensor in moved if tensor.name == "x"), default=1)
    assert of_x <= 1, (
        f"The values are right, but x is read {of_x:.3g} times. Both products take the same tiles "
        "of x: one walk along D is enough."
    )
    assert times <= 1, (
        f"The values are right, but each element is stored {times:.3g} times. Store out alone, "
        "once, after the loop, when the sums are whole."
    )


def returns_contiguous(fn):
    """Refuses a result that lies in memory as a transposed input does."""
    gate = torch.ones(9, 40, device=DEVICE).T
    assert fn(gate, gate).is_contiguous(), (
        "The values are right, but the result of transposed inputs is transposed too. The contract "
        "says contiguous: `torch.empty((M, N), ...)`."
    )


def gate_and_up(M, D, H, layout="contiguous"):
    """x, w_gate and w_up of these sizes."""
    w_gate, w_up = (tensor(D, H, scale=D**-0.5, layout=layout) for _ in range(2))
    return dict(x=tensor(M, D), w_gate=w_gate, w_up=w_up)


def turned(name, **arguments):
    """The arguments with the one of this name transposed in memory, as nn.Linear keeps a weight."""
    return arguments | {name: dataclasses.replace(arguments[name], layout="transposed")}


GATE_UP_CASES = [
    case("one tile", **gate_and_up(20, 32, 25)),
    case("several tiles, all ragged", **gate_and_up(70, 75, 50)),
    case("w_up as nn.Linear keeps it", **turned("w_up", **gate_and_up(20, 70, 40))),
    case("w_gate as nn.Linear keeps it", **turned("w_gate", **gate_and_up(20, 70, 40))),
    case("x transposed", **turned("x", **gate_and_up(20, 70, 40))),
    case("few rows, float16", dtype="float16", **gate_and_up(3, 300, 70)),
    case("many rows, float16", dtype="float16", **gate_and_up(140, 100, 40)),
    case("strong gates", **gate_and_up(20, 40, 24) | {"x": tensor(20, 40, scale=60.0)}),
    case("unequal weights", **gate_and_up(9, 16, 16) | {"w_up": tensor(16, 17)}, raises=ValueError),
    case("no rows", **gate_and_up(0, 16, 16)),
    case("x does not fit", **gate_and_up(16, 16, 16) | {"x": tensor(16, 15)}, raises=ValueError),
]

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
    case("several tiles, float16", dtype="float16", **gate_and_up(140, 150, 260)),
    case("bfloat16", dtype="bfloat16", **gate_and_up(65, 64, 40)),
    case("64 rows, bfloat16", dtype="bfloat16", **gate_and_up(64, 200, 40)),
    case("odd addresses", dtype="float16", **gate_and_up(20, 64, 64, "offset")),
    case("stronger gates", **gate_and_up(20, 40, 40) | {"x": tensor(20, 40, scale=90.0)}),
]

# --- the layer


def layer(M, D, H, layout="contiguous"):
    """Arguments of one case of an MLP with sizes M, D, H."""
    w_down = tensor(H, D, scale=H**-0.5, layout=layout)
    return dict(**gate_and_up(M, D, H, layout), w_down=w_down)


def without_copies(*weights):
    """A property: kernels get the weights at these places of the arguments where they lie."""

    def property(fn):
        x = torch.ones(8, 40, device=DEVICE)
        turned = [torch.ones(24, 40, device=DEVICE).T for _ in range(2)]
        call = [x, *turned, torch.ones(40, 24, device=DEVICE).T][: max(weights) + 1]
        read = {value.data_ptr() for value in launched_with(fn, *call) if torch.is_tensor(value)}
        names = ("x", "w_gate", "w_up", "w_down")
        copied = [names[i] for i in weights if call[i].data_ptr() not in read]
        assert not copied, (
            f"The values are right, but no kernel reads {copied[0]} where it lies: it was copied. "
            "Pass it as it is, with its strides."
        )

    return property


def two_launches(fn):
    """Once the product has been tuned."""
    sizes = [(5, 20), (20, 30), (20, 30), (30, 20)]
    call = [torch.ones(*size, device=DEVICE) for size in sizes]
    fn(*call)
    launched = len(launches_of(fn, *call))
    assert launched == 2, (
        f"{launched} kernel launches in one call; this task asks for 2: the two products with the "
        "gate, then the last product."
    )


MLP_CASES = [
    case("few rows, float16", dtype="float16", **layer(5, 64, 90)),
    case("ragged", dtype="float16", **layer(20, 45, 70)),
    case("weights as nn.Linear keeps them", dtype="float16", **layer(3, 40, 64, "transposed")),
    case(
        "w_up alone as nn.Linear keeps it", dtype="float16", **turned("w_up", **layer(3, 150, 64))
    ),
]

HIDDEN_MLP_CASES = [
    case("prime sizes", **layer(37, 41, 67)),
    case("one row", **layer(1, 40, 75)),
    case("few rows, long", dtype="float16", **layer(5, 64, 530)),
    case("many rows, float16", dtype="float16", **layer(70, 45, 100)),
    case("H smaller than D", **layer(33, 80, 20)),
    case("bfloat16", dtype="bfloat16", **layer(40, 64, 96)),
    case("rows with gaps", **layer(20, 40, 70, "strided")),
]

CHECKS = {
    "silu_mul": Check(
        silu_mul_ref,
        GATE_CASES,
        HIDDEN_GATE_CASES,
        asks=[launches(1), returns_contiguous],
        tolerance=rounded_once(terms=1),
    ),
    "gate_up_swiglu": Check(
        gate_up_ref,
        GATE_UP_CASES,
        HIDDEN_GATE_UP_CASES,
        asks=[launches(1), exact_float32(), stored_once, without_copies(1, 2)],
        tolerance=two_products,
    ),
    "mlp_swiglu": Check(
        mlp_swiglu_ref,
        MLP_CASES,
        HIDDEN_MLP_CASES,
        tolerance=products.rounded_between,
        # The product that is tuned may choose another order for its sums.
        deterministic=False,
        asks=[two_launches, without_copies(1, 2, 3)],
        timeout=120.0,
    ),
}
