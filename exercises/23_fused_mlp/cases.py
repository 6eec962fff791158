"""What the checks of 23_fused_mlp try: cases, references, and mistakes that have a name."""

import dataclasses

import torch

from tritonbook import DEVICE, hook_launch, traffic
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.seeing.tiles import CannotShow

from .page import gate_up_tile, mlp_swiglu_ref

silu = torch.nn.functional.silu


def silu_mul_ref(gate, up):
    return silu(gate) * up


def gate_up_ref(x, w_gate, w_up):
    return silu_mul_ref(x @ w_gate, x @ w_up)


# --- the gate


def rounded(x, dtype):
    """x as it is after a rounding to dtype, in float64."""
    return x.to(dtype).double()


SWAPPED = "gate and up have changed places: the SiLU belongs to gate."
NO_SILU = "This is gate * up, without the SiLU."
SIGMOID = "This is sigmoid(gate) * up. SiLU is gate * sigmoid(gate)."
SIGN = "This is gate / (1 + exp(gate)) * up. The exponent of the sigmoid is -gate."
BASE_TWO = "The exponential has base 2. `tl.exp2` needs the factor log2(e) in its exponent."
NO_ONE = "This is gate / exp(-gate) * up. The sigmoid is 1 / (1 + exp(-gate))."
OF_THE_PRODUCT = "The SiLU was taken of gate * up. It belongs to gate alone."
LN_2 = 0.6931471805599453
ADDED = "This is silu(gate) + up. The two are multiplied."
NO_UP = "This is silu(gate): up is missing."
ROUNDED = (
    "gate, up, the SiLU or a sum was rounded to half precision on the way. Compute in float32, and "
    "round at the store."
)

GATE_MISTAKES = {
    "gate-and-up-swapped": (lambda gate, up: silu(up) * gate, SWAPPED),
    "no-silu": (lambda gate, up: gate * up, NO_SILU),
    "sigmoid-for-silu": (lambda gate, up: torch.sigmoid(gate) * up, SIGMOID),
    "no-up": (lambda gate, up: silu(gate), NO_UP),
    "added": (lambda gate, up: silu(gate) + up, ADDED),
    "silu-of-both": (
        lambda gate, up: silu(gate) * silu(up),
        "The SiLU was taken of both. It belongs to gate alone.",
    ),
    "silu-of-the-product": (
        lambda gate, up: silu(gate * up),
        OF_THE_PRODUCT,
    ),
    "sign-of-the-exponential": (lambda gate, up: gate * torch.sigmoid(-gate) * up, SIGN),
    "base-two": (lambda gate, up: gate * torch.sigmoid(gate * LN_2) * up, BASE_TWO),
    "one-forgotten": (lambda gate, up: gate * torch.exp(gate) * up, NO_ONE),
    "rounded-on-the-way": (
        lambda gate, up, *, dtype: (rounded(silu(gate), dtype) * up).to(dtype),
        ROUNDED,
    ),
}

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
    return Tolerance(eps + 4e-6, 4e-5, 1e-6, "one rounding at the store, two float32 sums")


def steps(x, dtype):
    """Where each step of the loop begins, and how long it is."""
    size = gate_up_tile(x.shape[0], dtype)["BLOCK_K"]
    return [(d, min(size, x.shape[1] - d)) for d in range(0, x.shape[1], size)]


def right(step, d):
    return d


def still(step, d):
    return 0


def by_one(step, d):
    return step


def by_d(step, d):
    """Where pointers are that move by d in each step."""
    return d * max(step - 1, 0) // 2


def walked(w=right, x=right):
    """A loop whose pointers go their own ways: where x and both weights begin a tile in a step."""

    def product(a, weight, dtype):
        walk = steps(a, dtype)
        far = a.shape[1] * len(walk)  # what lies out there is no number
        a = torch.nn.functional.pad(a, (0, far), value=torch.nan)
        weight = torch.nn.functional.pad(weight, (0, 0, 0, far), value=torch.nan)
        return sum(a[:, x(i, d) :][:, :n] @ weight[w(i, d) :][:n] for i, (d, n) in enumerate(walk))

    return of_both(product)


def of_both(product):
    """The formula with another product of x and a weight."""

    def formula(x, w_gate, w_up, *, dtype):
        return silu_mul_ref(product(x, w_gate, dtype), product(x, w_up, dtype))

    return formula


def sideways(x, w, dtype):
    """A weight's pointers move by BLOCK_K elements, not rows."""
    D, H = w.shape
    flat = torch.cat([w.flatten(), w.new_full((D,), float("nan"))])
    return sum(x[:, d : d + n] @ flat[d : d + n * H].view(n, H) for d, n in steps(x, dtype))


def cut(which):
    """Products over some of their steps alone: "last", "first", "whole"."""

    def part(x, w, dtype):
        every = steps(x, dtype)
        chosen = {
            "first": every[:1],
            "last": every[-1:],
            "whole": [step for step in every if step[1] == every[0][1]],
        }[which]
        return sum((x[:, d : d + n] @ w[d : d + n] for d, n in chosen), 0 * (x @ w))

    return of_both(part)


def doubled(x, w, dtype):
    """A sum so far is added to what tl.dot has added it to already."""
    total = 0
    for d, n in steps(x, dtype):
        total = 2 * total + x[:, d : d + n] @ w[d : d + n]
    return total


def in_each_step(x, w_gate, w_up, *, dtype):
    return sum(
        gate_up_ref(x[:, d : d + n], w_gate[d : d + n], w_up[d : d + n]) for d, n in steps(x, dtype)
    )


def as_stored(w):
    """The memory of a transposed matrix, read as if it were not."""
    return w.T.reshape(w.shape)


def as_if_turned(w):
    """The memory of a matrix, read as if it were transposed."""
    return w.reshape(w.shape[::-1]).T


def like_the_other(moves, turned):
    """One weight, "gate" or "up", moves on by the other's stride. turned: which is transposed."""

    def formula(x, w_gate, w_up, *, dtype):
        weights = {"gate": w_gate, "up": w_up}
        (D, H), w = w_gate.shape, weights[moves]
        memory, down, across, step = (w.T, 1, D, H) if moves == turned else (w, H, 1, 1)
        places = torch.arange(D)[:, None] * down + torch.arange(H) * across
        room = torch.cat([memory.flatten(), w.new_full((D * H,), float("nan"))])
        total = sum(x[:, d : d + n] @ room[d * step + places[:n]] for d, n in steps(x, dtype))
        products = {name: x @ weight for name, weight in weights.items()} | {moves: total}
        return silu_mul_ref(products["gate"], products["up"])

    return formula


def halves_by_turns(x, w_gate, w_up, *, dtype):
    """Of the wide tile's columns the even ones are taken for gate, the odd ones for up."""
    gate, up = x @ w_gate, x @ w_up
    size, H = gate_up_tile(x.shape[0], dtype)["BLOCK_N"], gate.shape[1]
    found = []
    for n in range(0, H, size):
        left, right = (
            torch.nn.functional.pad(m[:, n : n + size], (0, max(0, n + size - H)))
            for m in (gate, up)
        )
        wide = torch.cat([left, right], dim=1)
        found.append(silu_mul_ref(wide[:, ::2], wide[:, 1::2]))
    return torch.cat(found, dim=1)[:, :H]


def rounded_steps(half):
    """The product of each step is rounded before it is added."""

    def product(x, w, dtype):
        kind = dtype if half is None else half
        return sum(rounded(x[:, d : d + n] @ w[d : d + n], kind) for d, n in steps(x, dtype))

    return of_both(product)


def rounded_sums(x, w_gate, w_up, *, dtype):
    return silu_mul_ref(rounded(x @ w_gate, dtype), rounded(x @ w_up, dtype)).to(dtype)


ONE_STRIDE = "{} was read as if it lay in memory as {} does. Each weight has strides of its own."
OTHER_STEP = (
    "{} moves on by a step that is not its own: that of {}, or a row's length. Each column of the "
    "wide tile takes its own, `stride_wd`."
)
BY_D = "{} on by d in each step. A step is BLOCK_K long, and pointers keep where they have got to."
BY_ONE = "{} moves on by one {} in each step. A step is BLOCK_K long."

GATE_UP_MISTAKES = {
    "gate-and-up-swapped": (lambda x, w_gate, w_up: gate_up_ref(x, w_up, w_gate), SWAPPED),
    "no-silu": (lambda x, w_gate, w_up: (x @ w_gate) * (x @ w_up), NO_SILU),
    "sigmoid-for-silu": (
        lambda x, w_gate, w_up: torch.sigmoid(x @ w_gate) * (x @ w_up),
        SIGMOID,
    ),
    "no-up": (lambda x, w_gate, w_up: silu(x @ w_gate), NO_UP),
    "silu-of-both": (
        lambda x, w_gate, w_up: silu(x @ w_gate) * silu(x @ w_up),
        "The SiLU was taken of both. It belongs to gate alone.",
    ),
    "sign-of-the-exponential": (
        lambda x, w_gate, w_up: (x @ w_gate) * torch.sigmoid(-(x @ w_gate)) * (x @ w_up),
        SIGN,
    ),
    "base-two": (
        lambda x, w_gate, w_up: (x @ w_gate) * torch.sigmoid(x @ w_gate * LN_2) * (x @ w_up),
        BASE_TWO,
    ),
    "gate-weight-twice": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_gate, w_gate),
        "Both products use w_gate.",
    ),
    "up-weight-twice": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_up, w_up),
        "Both products use w_up.",
    ),
    "added": (lambda x, w_gate, w_up: silu(x @ w_gate) + x @ w_up, ADDED),
    "silu-of-the-product": (
        lambda x, w_gate, w_up: silu((x @ w_gate) * (x @ w_up)),
        OF_THE_PRODUCT,
    ),
    "one-forgotten": (
        lambda x, w_gate, w_up: (x @ w_gate) * torch.exp(x @ w_gate) * (x @ w_up),
        NO_ONE,
    ),
    "halves-by-turns": (
        halves_by_turns,
        "Neighbouring columns were told apart, not the two halves. `halves` does that.",
    ),
    "step-of-the-other": (like_the_other("up", "up"), OTHER_STEP.format("w_up", "w_gate")),
    "up-like-gate-turned": (like_the_other("up", "gate"), OTHER_STEP.format("w_up", "w_gate")),
    "gate-like-up": (like_the_other("gate", "gate"), OTHER_STEP.format("w_gate", "w_up")),
    "gate-like-up-turned": (like_the_other("gate", "up"), OTHER_STEP.format("w_gate", "w_up")),
    "x-moves-by-d": (walked(x=by_d), BY_D.format("x moves")),
    "weights-move-by-d": (walked(by_d), BY_D.format("The tile of weights moves")),
    "both-move-by-d": (walked(by_d, by_d), BY_D.format("Each pointer moves")),
    "last-column-left-out": (
        of_both(lambda x, w, dtype: x[:, :-1] @ w[:-1]),
        "The last column of x never entered the sums: the mask along D is one too short.",
    ),
    "steps-rounded": (
        rounded_steps(None),
        ROUNDED,
    ),
    "steps-rounded-to-float16": (rounded_steps(torch.float16), ROUNDED),
    "nothing-advances": (
        walked(still, still),
        "Every step multiplies the same tiles. Advance the pointers of x and of the weights along "
        "D.",
    ),
    "x-stands-still": (
        walked(x=still),
        "x stands still: every step multiplies its first tile. Advance its pointers along D.",
    ),
    "weights-stand-still": (
        walked(still),
        "The weights stand still: every step multiplies their first tile. Advance their pointers "
        "along D.",
    ),
    "x-advances-by-one": (walked(x=by_one), BY_ONE.format("x", "column")),
    "weights-advance-by-one": (walked(by_one), BY_ONE.format("The tile of weights", "row")),
    "all-advance-by-one": (walked(by_one, by_one), BY_ONE.format("Each pointer", "row or column")),
    "weights-move-sideways": (
        of_both(sideways),
        "The weights move on along a row, by BLOCK_K elements in each step. Along D their elements "
        "lie `stride_wd` apart.",
    ),
    "last-step-only": (
        cut("last"),
        "Only the last step of the loop counts. Is both made before the loop, and is it the third "
        "argument of `tl.dot(x, w, both, ...)`, which adds to it?",
    ),
    "sums-added-twice": (
        of_both(doubled),
        "The sum so far is added twice in each step. `tl.dot(x, w, both, ...)` has added both "
        "already: assign, no `+=`.",
    ),
    "first-step-only": (
        cut("first"),
        "Only the first step of the loop counts. Does the loop reach D, and does its mask let the "
        "later steps through?",
    ),
    "tail-left-out": (
        cut("whole"),
        "The last columns of x never entered the sums. The loop goes to D, range(0, D, BLOCK_K), "
        "and a mask cuts its last step.",
    ),
    "gated-in-each-step": (
        in_each_step,
        "The gate was applied in each step of the loop. It needs the whole sums: it comes after "
        "the loop.",
    ),
    "up-with-strides-of-gate": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_gate, as_stored(w_up)),
        ONE_STRIDE.format("w_up", "w_gate"),
    ),
    "up-turned-like-gate": (
        lambda x, w_gate, w_up: gate_up_ref(x, w_gate, as_if_turned(w_up)),
        ONE_STRIDE.format("w_up", "w_gate"),
    ),
    "gate-with-strides-of-up": (
        lambda x, w_gate, w_up: gate_up_ref(x, as_stored(w_gate), w_up),
        ONE_STRIDE.format("w_gate", "w_up"),
    ),
    "gate-turned-like-up": (
        lambda x, w_gate, w_up: gate_up_ref(x, as_if_turned(w_gate), w_up),
        ONE_STRIDE.format("w_gate", "w_up"),
    ),
    "rounded-on-the-way": (rounded_sums, ROUNDED),
}


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


def stored_once(fn):
    """In the interpreter, where every store is seen."""
    x, w = torch.ones(8, 300, device=DEVICE), torch.ones(300, 16, device=DEVICE)
    try:
        moved = traffic(fn, x, w, w).tensors
    except CannotShow:
        return
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


def rounded_between(dtype):
    """The hidden values are rounded to dtype as well: that error enters the second sum."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 0.0
    because = "one rounding at the store and one of the hidden values, three float32 sums"
    return Tolerance(eps + 4e-6, eps + 5e-5, 1e-6, because)


MLP_MISTAKES = {
    "gate-and-up-swapped": (
        lambda x, w_gate, w_up, w_down: mlp_swiglu_ref(x, w_up, w_gate, w_down),
        SWAPPED,
    ),
    "gate-weight-twice": (
        lambda x, w_gate, w_up, w_down: mlp_swiglu_ref(x, w_gate, w_gate, w_down),
        "Both products use w_gate.",
    ),
    "up-weight-twice": (
        lambda x, w_gate, w_up, w_down: mlp_swiglu_ref(x, w_up, w_up, w_down),
        "Both products use w_up.",
    ),
    "no-gate": (
        lambda x, w_gate, w_up, w_down: (x @ w_up) @ w_down,
        "The gate is missing: this is x @ w_up @ w_down.",
    ),
}


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
        launches=1,
        tolerance=rounded_once(terms=1),
        mistakes=GATE_MISTAKES,
        also=[returns_contiguous],
    ),
    "gate_up_swiglu": Check(
        gate_up_ref,
        GATE_UP_CASES,
        HIDDEN_GATE_UP_CASES,
        launches=1,
        tolerance=two_products,
        mistakes=GATE_UP_MISTAKES,
        no_tf32=True,
        also=[stored_once, without_copies(1, 2)],
    ),
    "mlp_swiglu": Check(
        mlp_swiglu_ref,
        MLP_CASES,
        HIDDEN_MLP_CASES,
        tolerance=rounded_between,
        mistakes=MLP_MISTAKES,
        # The product that is tuned may choose another order for its sums.
        deterministic=False,
        also=[two_launches, without_copies(1, 2, 3)],
        timeout=120.0,
    ),
}
