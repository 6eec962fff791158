"""What the checks of 24_mlp_one_kernel try: cases, references, and mistakes that have a name."""

import torch

from tritonbook.checking import Check, Tolerance, case, tensor

from .page import COLUMNS_OF_A_TILE, ROWS_OF_A_TILE, mlp_tile

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


def but(change):
    """The ledger with something wrong: change(ledger, M, D, H) spoils it."""

    def wrong(M, D, H):
        ledger = traffic_ledger_ref(M, D, H)
        change(ledger, M, D, H)
        return ledger

    return wrong


def tiles(M, D):
    return -(-M // ROWS_OF_A_TILE), -(-D // COLUMNS_OF_A_TILE)


def no_recomputation(ledger, M, D, H):
    ledger["fused"]["flops"] = 4 * M * D * H


def both_recomputed(ledger, M, D, H):
    ledger["fused"]["flops"] = tiles(M, D)[1] * 4 * M * D * H


def weights_once(ledger, M, D, H):
    ledger["fused"]["asked"] = ledger["epilogue"]["asked"]


def both_weights_again(ledger, M, D, H):
    rows, columns = tiles(M, D)
    ledger["fused"]["asked"] = rows * columns * 4 * D * H


def elements(ledger, M, D, H):
    for plan in ledger.values():
        for name in ("activations", "weights", "asked"):
            plan[name] //= 2


def gelu_forgotten(ledger, M, D, H):
    ledger["separate"]["activations"] -= 4 * M * H


def hidden_once(ledger, M, D, H):
    ledger["separate"]["activations"] -= 4 * M * H
    ledger["epilogue"]["activations"] -= 2 * M * H


def hidden_in_fused(ledger, M, D, H):
    ledger["fused"]["activations"] += 4 * M * H


def out_forgotten(ledger, M, D, H):
    for plan in ledger.values():
        plan["activations"] -= 2 * M * D


def one_row_of_tiles(ledger, M, D, H):
    for plan in ledger.values():
        plan["asked"] //= tiles(M, D)[0]


def rows_rounded_down(ledger, M, D, H):
    down = M // ROWS_OF_A_TILE
    for plan in ledger.values():
        plan["asked"] = plan["asked"] // tiles(M, D)[0] * down


def one_operation(ledger, M, D, H):
    for plan in ledger.values():
        plan["flops"] //= 2


def one_product(ledger, M, D, H):
    ledger["separate"]["flops"] = ledger["epilogue"]["flops"] = 2 * M * D * H


def second_product_forgotten(ledger, M, D, H):
    ledger["fused"]["flops"] = tiles(M, D)[1] * 2 * M * D * H


def x_for_each_column(ledger, M, D, H):
    ledger["fused"]["activations"] += (tiles(M, D)[1] - 1) * 2 * M * D


def weights_for_each_row(ledger, M, D, H):
    for plan in ledger.values():
        plan["weights"] *= tiles(M, D)[0]


def fused_asks_in_one_row(ledger, M, D, H):
    ledger["fused"]["asked"] //= tiles(M, D)[0]


def columns_everywhere(ledger, M, D, H):
    for name in ("separate", "epilogue"):
        ledger[name]["asked"] *= tiles(M, D)[1]


def four_bytes(ledger, M, D, H):
    for plan in ledger.values():
        for name in ("activations", "weights", "asked"):
            plan[name] *= 2


def hidden_is_four_times_d(ledger, M, D, H):
    ledger["separate"]["activations"] += 8 * M * (4 * D - H)
    ledger["epilogue"]["activations"] += 4 * M * (4 * D - H)


def hidden_written_only(ledger, M, D, H):
    ledger["epilogue"]["activations"] -= 2 * M * H


def whole_numbers(ledger):
    plans = ledger(1000, 700, 3000).values()
    broken = [name for plan in plans for name, value in plan.items() if not isinstance(value, int)]
    assert not broken, (
        f"`{broken[0]}` is a float. Count in whole numbers: `//` in place of `/`, `2` in place of "
        "`2.0`."
    )


def weights_again_as_weights(ledger, M, D, H):
    ledger["fused"]["weights"] = (tiles(M, D)[1] + 1) * 2 * D * H


def swapped(M, D, H):
    ledger = traffic_ledger_ref(M, D, H)
    return ledger | {"separate": ledger["epilogue"], "epilogue": ledger["separate"]}


LEDGER_MISTAKES = {
    "recomputation-forgotten": (
        but(no_recomputation),
        "The fused kernel computes the first product once for each column of output tiles. Its "
        "flops leave that out.",
    ),
    "both-products-recomputed": (
        but(both_recomputed),
        "In the fused plan's flops both products are done for each column of output tiles. The "
        "second one is not: each column computes its own part of it.",
    ),
    "weights-asked-once": (
        but(weights_once),
        "Each column of output tiles asks for w1 again. The fused plan's `asked` leaves that out.",
    ),
    "both-weights-asked-again": (
        but(both_weights_again),
        "In the fused plan's `asked` both weights are asked for by each column of output tiles. "
        "w2 is not: each column asks for its own part.",
    ),
    "weights-count-what-is-asked": (
        but(weights_again_as_weights),
        "`weights` counts each weight once, in each plan. What is asked for again belongs into "
        "`asked`.",
    ),
    "elements-for-bytes": (but(elements), "These are elements. One has 2 bytes."),
    "gelu-forgotten": (
        but(gelu_forgotten),
        "As a kernel of its own the GELU reads and writes the hidden values once more.",
    ),
    "hidden-counted-once": (
        but(hidden_once),
        "Between two kernels the hidden values are written and read: each of the two counts.",
    ),
    "hidden-in-memory-when-fused": (
        but(hidden_in_fused),
        "In the fused plan the hidden values are never in memory.",
    ),
    "out-forgotten": (but(out_forgotten), "`activations` leaves out x, or out. Both count."),
    "one-row-of-tiles": (
        but(one_row_of_tiles),
        "Each row of tiles asks for the weights. There are M / 128 rows, rounded up.",
    ),
    "rows-rounded-down": (
        but(rows_rounded_down),
        "The last row of tiles may be shorter, and asks for the weights all the same: round up.",
    ),
    "one-operation": (
        but(one_operation),
        "These are multiplications. Each comes with an addition: 2 operations.",
    ),
    "one-product": (
        but(one_product),
        "`flops` of the first two plans is that of one product. There are two of the same size.",
    ),
    "second-product-forgotten": (
        but(second_product_forgotten),
        "The fused plan's `flops` counts the first product alone, once for each column. The second "
        "one is done once.",
    ),
    "x-for-each-column": (
        but(x_for_each_column),
        "In `activations` a matrix counts once for each kernel that reads it, not for each program "
        "that asks for it. The fused plan has one kernel.",
    ),
    "weights-for-each-row": (
        but(weights_for_each_row),
        "`weights` counts each weight once. What the rows of tiles ask for belongs into `asked`.",
    ),
    "fused-asks-in-one-row": (
        but(fused_asks_in_one_row),
        "The fused plan's `asked` is that of one row of tiles. Each row asks for the weights.",
    ),
    "columns-everywhere": (
        but(columns_everywhere),
        "Only the fused plan asks for w1 once for each column of output tiles. In the other two "
        "`asked` knows nothing of columns.",
    ),
    "four-bytes": (but(four_bytes), "An element has 2 bytes here. This counts 4 for each."),
    "hidden-is-4-d": (
        but(hidden_is_four_times_d),
        "The hidden values are counted as M x 4 D. They are M x H: H need not be 4 D.",
    ),
    "hidden-written-only": (
        but(hidden_written_only),
        "In the epilogue plan the hidden values are written by one kernel and read by the next: "
        "twice.",
    ),
    "plans-swapped": (swapped, "`separate` and `epilogue` have changed places."),
}

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


def rounded_between(dtype):
    """The hidden values are rounded to dtype as well: that error enters the second sum."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 0.0
    because = "one rounding at the store and one of the hidden values, three float32 sums"
    return Tolerance(eps + 4e-6, eps + 5e-5, 1e-6, because)


def steps(size, block):
    """Where each step of a loop begins, and how long it is."""
    return [(start, min(block, size - start)) for start in range(0, size, block)]


def loops(x, w1, dtype):
    """The steps along H, and those along D."""
    tile = mlp_tile(x.shape[1], dtype)
    return steps(w1.shape[1], tile["BLOCK_H"]), steps(x.shape[1], tile["BLOCK_D"])


def not_reset(x, w1, w2, *, dtype):
    """The hidden sums of all steps so far, where the last step is full."""
    along_h, _ = loops(x, w1, dtype)
    block = along_h[0][1]
    hidden, out = x.new_zeros(len(x), block), 0
    for h, n in along_h:
        part = torch.nn.functional.pad(x @ w1[:, h : h + n], (0, block - n))
        hidden = hidden + part
        out = out + gelu(hidden)[:, :n] @ w2[h : h + n]
    return out


def gelu_in_the_loop(x, w1, w2, *, dtype):
    _, along_d = loops(x, w1, dtype)
    hidden = 0
    for d, n in along_d:
        hidden = gelu(hidden + x[:, d : d + n] @ w1[d : d + n])
    return hidden @ w2


def gelu_twice(x, w1, w2, *, dtype):
    _, along_d = loops(x, w1, dtype)
    hidden = 0
    for d, n in along_d:
        hidden = gelu(hidden + x[:, d : d + n] @ w1[d : d + n])
    return gelu(hidden) @ w2


def added_twice(hidden_twice=False, acc_twice=False):
    """Loops that add a sum so far to what tl.dot has added it to already."""

    def formula(x, w1, w2, *, dtype):
        along_h, along_d = loops(x, w1, dtype)
        hidden, out = 0, 0
        for d, n in along_d:
            hidden = hidden * (1 + hidden_twice) + x[:, d : d + n] @ w1[d : d + n]
        act = gelu(hidden)
        for h, n in along_h:
            out = out * (1 + acc_twice) + act[:, h : h + n] @ w2[h : h + n]
        return out

    return formula


def second_product_inside(x, w1, w2, *, dtype):
    """The second product of each step along D, with the hidden sums so far."""
    hidden, out = 0, 0
    for d, n in loops(x, w1, dtype)[1]:
        hidden = hidden + x[:, d : d + n] @ w1[d : d + n]
        out = out + gelu(hidden) @ w2
    return out


def inner_loop_by_one(x, w1, w2, *, dtype):
    block = loops(x, w1, dtype)[1][0][1]
    hidden = sum(x[:, d : d + block] @ w1[d : d + block] for d in range(x.shape[1]))
    return gelu(hidden) @ w2


def w1_by_h(x, w1, w2, *, dtype):
    """w1 moves on by 0, by one step, by two: it is h that is added."""
    out, at = 0, 0
    for h, n in loops(x, w1, dtype)[0]:
        at = min(at, w1.shape[1] - n)
        out, at = out + gelu(x @ w1[:, at : at + n]) @ w2[h : h + n], at + h
    return out


def part_of_h(which):
    def formula(x, w1, w2, *, dtype):
        h, n = loops(x, w1, dtype)[0][which]
        return gelu(x @ w1[:, h : h + n]) @ w2[h : h + n]

    return formula


def part_of_d(which):
    def formula(x, w1, w2, *, dtype):
        d, n = loops(x, w1, dtype)[1][which]
        return gelu(x[:, d : d + n] @ w1[d : d + n]) @ w2

    return formula


def right(step, h):
    return h


def still(step, h):
    return 0


def by_one(step, h):
    return step


def walked(w1_at=right, w2_at=right):
    """The loop along H with pointers that go their own ways: where each begins in a step."""

    def formula(x, w1, w2, *, dtype):
        out = 0
        for i, (h, n) in enumerate(loops(x, w1, dtype)[0]):
            one, two = w1_at(i, h), w2_at(i, h)
            out = out + gelu(x @ w1[:, one : one + n]) @ w2[two : two + n]
        return out

    return formula


def flat_from(w, start, rows):
    """Rows of a contiguous matrix that begin `start` elements after its first."""
    flat = torch.cat([w.flatten(), w.new_full((start,), float("nan"))])
    return flat[start : start + rows * w.shape[1]].view(rows, w.shape[1])


def w2_sideways(x, w1, w2, *, dtype):
    out = 0
    for h, n in loops(x, w1, dtype)[0]:
        out = out + gelu(x @ w1[:, h : h + n]) @ flat_from(w2, h, n)
    return out


def w1_sideways(x, w1, w2, *, dtype):
    hidden = 0
    for d, n in loops(x, w1, dtype)[1]:
        hidden = hidden + x[:, d : d + n] @ flat_from(w1, d, n)
    return gelu(hidden) @ w2


def inside(x_moves=True, w1_moves=True):
    """The loop along D with pointers that stay at their first tile."""

    def formula(x, w1, w2, *, dtype):
        hidden = 0
        for d, n in loops(x, w1, dtype)[1]:
            left, top = (d if x_moves else 0), (d if w1_moves else 0)
            hidden = hidden + x[:, left : left + n] @ w1[top : top + n]
        return gelu(hidden) @ w2

    return formula


FUSED_MISTAKES = {
    "no-gelu": (lambda x, w1, w2: (x @ w1) @ w2, "The GELU is missing."),
    "silu-for-gelu": (
        lambda x, w1, w2: torch.nn.functional.silu(x @ w1) @ w2,
        "This is SiLU, not GELU.",
    ),
    "relu-for-gelu": (
        lambda x, w1, w2: torch.relu(x @ w1) @ w2,
        "This is ReLU, not GELU.",
    ),
    "gelu-of-the-result": (
        lambda x, w1, w2: gelu(x @ w1 @ w2),
        "The GELU was taken of the result. It belongs between the products.",
    ),
    "gelu-of-the-result-too": (
        lambda x, w1, w2: gelu(gelu(x @ w1) @ w2),
        "The GELU was taken of the result, too. It belongs between the products alone.",
    ),
    "hidden-added-twice": (
        added_twice(hidden_twice=True),
        "The hidden sums so far are added twice in each step along D. `tl.dot(x, w1, hidden, ...)` "
        "has added them already: assign, no `+=`.",
    ),
    "acc-added-twice": (
        added_twice(acc_twice=True),
        "`acc` is added twice in each step along H. `tl.dot(act, w2, acc, ...)` has added it "
        "already: assign, no `+=`.",
    ),
    "second-product-inside": (
        second_product_inside,
        "The second product is done in each step along D, before the hidden sums are complete. It "
        "comes after the inner loop.",
    ),
    "inner-loop-by-one": (
        inner_loop_by_one,
        "The inner loop goes on by one, and its tiles overlap. It goes on by BLOCK_D.",
    ),
    "w1-by-h": (
        w1_by_h,
        "w1 moves on by h in a step along H: by 0 in the first, by ever more after it. A step is "
        "BLOCK_H long.",
    ),
    "hidden-not-reset": (
        not_reset,
        "The hidden sums go on from step to step along H. Each step starts its own at zero.",
    ),
    "gelu-in-the-loop": (
        gelu_in_the_loop,
        "The GELU was taken in each step along D, before the sum was complete. It comes after the "
        "inner loop.",
    ),
    "gelu-in-the-loop-too": (
        gelu_twice,
        "The GELU was taken in each step along D, before the sum was complete. It comes after the "
        "inner loop.",
    ),
    "last-step-of-h": (
        part_of_h(-1),
        "Only the last step along H counts. The second product is added to acc: "
        "`tl.dot(act, w2, acc, ...)`.",
    ),
    "first-step-of-h": (part_of_h(0), "Only the first step along H counts."),
    "last-step-of-d": (
        part_of_d(-1),
        "Only the last step along D counts. The first product is added to hidden: "
        "`tl.dot(x, w1, hidden, ...)`.",
    ),
    "first-step-of-d": (
        part_of_d(0),
        "Only the first step along D counts. Does the inner loop reach D?",
    ),
    "w1-stands-still": (
        walked(w1_at=still),
        "w1 stands still along H: every step uses its first columns.",
    ),
    "w2-stands-still": (
        walked(w2_at=still),
        "w2 stands still along H: every step uses its first rows.",
    ),
    "weights-stand-still": (
        walked(still, still),
        "Both weights stand still along H: every step uses the same hidden values.",
    ),
    "w1-by-one": (
        walked(w1_at=by_one),
        "w1 moves on by one column in each step along H. A step is BLOCK_H long.",
    ),
    "w2-by-one": (
        walked(w2_at=by_one),
        "w2 moves on by one row in each step along H. A step is BLOCK_H long.",
    ),
    "weights-by-one": (
        walked(by_one, by_one),
        "Both weights move on by one in each step along H. A step is BLOCK_H long.",
    ),
    "w2-sideways": (
        w2_sideways,
        "w2 moves on by BLOCK_H elements in each step. Its rows lie a stride apart: multiply.",
    ),
    "w1-sideways": (
        w1_sideways,
        "In the inner loop w1 lies d elements further, not d rows. Rows lie a stride apart: "
        "multiply.",
    ),
    "x-stands-still": (
        inside(x_moves=False),
        "x stands still in the inner loop. Its tile lies d columns further.",
    ),
    "w1-stands-still-along-d": (
        inside(w1_moves=False),
        "w1 stands still in the inner loop. Its tile lies d rows further.",
    ),
    "inner-loop-stands-still": (
        inside(False, False),
        "The inner loop stands still: every step multiplies the same tiles of x and w1. They lie d "
        "columns and d rows further.",
    ),
}


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
        traffic_ledger_ref,
        LEDGER_CASES,
        HIDDEN_LEDGER_CASES,
        triton=False,
        also=[whole_numbers],
        mistakes=LEDGER_MISTAKES,
    ),
    "mlp_gelu_fused": Check(
        mlp_gelu_ref,
        FUSED_CASES,
        HIDDEN_FUSED_CASES,
        launches=1,
        tolerance=rounded_between,
        mistakes=FUSED_MISTAKES,
        no_tf32=True,
    ),
}
