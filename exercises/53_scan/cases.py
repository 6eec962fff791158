"""What the checks of 53_scan try: cases, references, mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.compare import derive_tolerance

from ..shared.walks import whole_tiles
from .page import cumsum_ref, gated_scan_ref, linear_attention_ref

ABSURD = 1e30


def width(length, block):
    """How many lanes a tile has."""
    return min(block, triton.next_power_of_2(length))


def finite(x):
    """A wrong formula may be NaN or infinite where the answer is not."""
    return x.nan_to_num(ABSURD, ABSURD, -ABSURD)


def all_of(value):
    """A sampler: the same number everywhere."""
    return lambda generator, shape: torch.full(shape, value, dtype=torch.float64)


def rounded(x, dtype):
    """x as it is after a stay in `dtype`."""
    return x.to(dtype).to(x.dtype)


# --- cumsum_rows


def row_case(note, M, N, block=8, **x):
    dtype = x.pop("dtype", "float32")
    return case(note, x=tensor(M, N, **x), options={"block": block}, dtype=dtype)


# A large number first, then numbers that half precision cannot add to it one by one.
LOUD = {"values": all_of(1 / 16), "planted": {(0, 0): 4096.0, (1, 0): -4096.0}}

ROWS = [
    row_case("one tile", 3, 8),
    row_case("37 numbers in tiles of 8", 4, 37),
    row_case("numbers around 5", 3, 30, mean=5.0),
    row_case("rows with gaps", 3, 21, layout="strided"),
    row_case("half precision, a large number first", 2, 640, block=16, dtype="float16", **LOUD),
    row_case("half precision, one tile", 2, 300, block=512, dtype="float16", mean=4.0),
    row_case("fewer numbers than a tile", 2, 5, block=64),
    row_case("the block as it is", 1, 2100, block=2048),
    case("columns side by side", x=tensor(6, 4, layout="transposed"), raises=ValueError),
    row_case("no rows", 0, 20),
    case("three dimensions", x=tensor(2, 3, 4), raises=ValueError),
]

HIDDEN_ROWS = [
    row_case("a thousand numbers", 3, 1000, block=64),
    row_case("one number", 1, 1),
    row_case("the block as it is, 3000 numbers", 2, 3000, block=2048),
    row_case("bfloat16", 3, 130, block=32, dtype="bfloat16", mean=1.0),
    row_case("bfloat16, a large number first", 2, 400, block=16, dtype="bfloat16", **LOUD),
]


def tiles_of(x, block):
    return x.split(width(x.shape[1], block), dim=1)


def with_carries(next_carry, before=lambda carry, tile: carry):
    """Cumulative sums whose carry is next_carry(carry, tile, y of the tile)."""

    def wrong(x, *, block=2048):
        carry, out = torch.zeros_like(x[:, :1]), []
        for tile in tiles_of(x, block):
            out.append(before(carry, tile) + tile.cumsum(1))
            carry = next_carry(carry, tile, out[-1])
        return finite(torch.cat(out, dim=1))

    return wrong


def total(tile):
    return tile.sum(1, keepdim=True)


def before_each(x, block):
    """Each tile with the total of all tiles before it."""
    carry = torch.zeros_like(x[:, :1])
    for tile in tiles_of(x, block):
        yield carry, tile
        carry = carry + total(tile)


def half_carry(x, *, block=2048, dtype=torch.float32):
    plus = with_carries(lambda carry, tile, y: rounded(carry + total(tile), dtype))
    return plus(x, block=block)


def half_scan(x, *, block=2048, dtype=torch.float32):
    """The tile's own scan in the dtype of x, one number after the other."""
    carry, out = torch.zeros_like(x[:, 0]), []
    for tile in tiles_of(x, block):
        y = torch.zeros_like(carry)
        for n in range(tile.shape[1]):
            y = rounded(y + tile[:, n], dtype)
            out.append(y + carry)
        carry = carry + tile.sum(1)
    return torch.stack(out, dim=1)


def half_tiles(x, *, block=2048, dtype=torch.float32):
    """Scan and total of each tile in the dtype of x; the carry alone is wide."""
    carry, out = torch.zeros_like(x[:, :1]), []
    for tile in tiles_of(x, block):
        out.append(carry + half_scan(tile, block=block, dtype=dtype))
        carry = carry + rounded(total(tile), dtype)
    return rounded(torch.cat(out, dim=1), dtype)  # as the store does: other mistakes lie near


def carry_scanned(x, *, block=2048):
    """The carry enters the scan with every lane."""
    return torch.cat([(tile + carry).cumsum(1) for carry, tile in before_each(x, block)], dim=1)


def lanes_carried(keep):
    """The carry is a tile: each lane hands its own number to the same lane of the next tile."""

    def wrong(x, *, block=2048):
        carry, out = torch.zeros_like(x[:, :1]), []
        for tile in tiles_of(x, block):
            out.append(carry[:, : tile.shape[1]] + tile.cumsum(1))
            if tile.shape[1] == width(x.shape[1], block):
                carry = keep * carry + out[-1]
        return torch.cat(out, dim=1)

    return wrong


def steps_of_one(x, *, block=2048):
    """A tile begins at every number; the last one to write n begins there."""
    wide, carry, out = width(x.shape[1], block), torch.zeros_like(x[:, :1]), []
    for n in range(x.shape[1]):
        out.append(carry + x[:, n : n + 1])
        carry = carry + total(x[:, n : n + wide])
    return torch.cat(out, dim=1)


ROW_MISTAKES = {
    "carry-forgotten": (
        with_carries(lambda carry, tile, y: carry),
        "Every tile begins at 0 again. Add the carry: the total of all tiles before it.",
    ),
    "carry-overwritten": (
        with_carries(lambda carry, tile, y: total(tile)),
        "The carry knows the tile before alone. Add the tile's total to it, do not replace it.",
    ),
    "carry-too-early": (
        with_carries(
            lambda carry, tile, y: carry + total(tile), lambda carry, tile: carry + total(tile)
        ),
        "The carry holds the tile's own total already. It may change after the tile has used it.",
    ),
    "carry-doubled": (
        with_carries(lambda carry, tile, y: carry + y[:, -1:]),
        "The last y contains the old carry. Add the tile's own total, or replace the carry by y.",
    ),
    "carry-without-the-last": (
        with_carries(lambda carry, tile, y: carry + total(tile[:, :-1])),
        "The carry leaves out the last number of each tile. Take it after that number.",
    ),
    "carry-is-a-number": (
        with_carries(lambda carry, tile, y: carry + tile[:, -1:]),
        "The carry grew by one number of each tile, the last. It needs the sum of all of them.",
    ),
    "carry-is-the-maximum": (
        with_carries(lambda carry, tile, y: carry + tile.amax(1, keepdim=True)),
        "The carry grew by the largest number of each tile. It needs the sum.",
    ),
    "carry-is-the-largest-y": (
        with_carries(lambda carry, tile, y: y.amax(1, keepdim=True)),
        "The carry is the largest y of the tile. That is the last one only where no x is negative.",
    ),
    "carry-sums-y": (
        with_carries(lambda carry, tile, y: carry + y.sum(1, keepdim=True)),
        "The carry grew by the sum of the running sums, y. It needs the sum of x.",
    ),
    "steps-of-one": (
        steps_of_one,
        "The loop steps by 1, so tiles overlap and numbers are added many times. Step by BLOCK_N.",
    ),
    "exclusive": (
        lambda x: x.cumsum(1) - x,
        "y leaves out its own x: this scan is exclusive. The contract asks for x[0] to x[n].",
    ),
    "from-the-right": (
        lambda x: x.flip(1).cumsum(1).flip(1),
        "These are sums from the right end. Scan from the left, without `reverse`.",
    ),
    "carry-in-each-lane": (
        carry_scanned,
        "The carry was added to every lane before the scan, which adds it up again and again. "
        "Scan x alone, and add the carry then.",
    ),
    "carry-is-a-tile": (
        lanes_carried(0),
        "Each lane carries its own y on to the next tile. A carry is one number: the total so far.",
    ),
    "carry-adds-a-tile": (
        lanes_carried(1),
        "Each lane adds its own y to a carry of its own. A carry is one number: the total so far.",
    ),
    "carry-subtracted": (
        with_carries(lambda carry, tile, y: carry - total(tile)),
        "The carry is subtracted. Add it.",
    ),
    "not-scanned": (
        lambda x, *, block=2048: torch.cat(
            [before + tile for before, tile in before_each(x, block)], dim=1
        ),
        "Inside a tile nothing is added up: the carry plus x. `tl.cumsum` gives the running sums.",
    ),
    "total-everywhere": (
        lambda x, *, block=2048: torch.cat(
            [before + total(tile).expand_as(tile) for before, tile in before_each(x, block)], dim=1
        ),
        "Every lane has the tile's total. `tl.cumsum` keeps the totals on the way.",
    ),
    "loaded-in-float16": (
        lambda x: rounded(x, torch.float16).cumsum(1),
        "x was rounded to float16. Go to float32.",
    ),
    "stored-in-float16": (
        lambda x: rounded(x.cumsum(1), torch.float16),
        "y was rounded to float16, though it has the dtype of x. The store casts by itself.",
    ),
    "carry-in-half": (
        half_carry,
        "The carry is kept in half precision, and small numbers vanish in it. Carry float32.",
    ),
    "scan-in-half": (
        half_scan,
        "The tile was added up in half precision. Go to float32 before the scan.",
    ),
    "tile-in-half": (
        half_tiles,
        "The tile was added up in half precision. Go to float32 before the scan and the sum.",
    ),
}


# --- gated_scan


def gates(generator, shape):
    """Between 0.3 and 1.1, some below zero: the past matters, and the order of steps too."""
    drawn = 0.3 + 0.8 * torch.rand(shape, generator=generator, dtype=torch.float64)
    return torch.where(torch.rand(shape, generator=generator) < 0.2, -drawn, drawn)


def gated_case(note, M, T, block=8, **more):
    a = tensor(M, T, **more.pop("a", {"values": gates}))
    b = tensor(M, T, **more.pop("b", {}))
    return case(note, a=a, b=b, options={"block": block}, **more)


# Closed gates: a product of gates is 0 from there on, and so is what is divided by it.
SHUT = {"values": gates, "planted": {(0, 3): 0.0, (0, 13): 0.0, (1, 0): 0.0}}
LOUD_STEP = {
    "a": {"values": "ones"},
    "b": {"values": all_of(1 / 8), "planted": {(0, 0): 2048.0}},
}

GATES = [
    gated_case("one tile", 2, 8),
    gated_case("three tiles of 8", 2, 24),
    gated_case("21 steps in tiles of 8", 2, 21),
    gated_case("closed gates", 2, 18, a=SHUT),
    gated_case("fewer steps than a tile", 2, 5, block=32),
    gated_case("half precision, a large number first", 1, 200, dtype="float16", **LOUD_STEP),
    gated_case("bfloat16", 2, 21, dtype="bfloat16"),
    case("two shapes", a=tensor(2, 8), b=tensor(2, 9), raises=ValueError),
    case("a row too many", a=tensor(3, 8), b=tensor(2, 8), raises=ValueError),
    case("a with gaps", a=tensor(2, 8, layout="strided"), b=tensor(2, 8), raises=ValueError),
    case("b with gaps", a=tensor(2, 8), b=tensor(2, 8, layout="strided"), raises=ValueError),
    gated_case("no rows", 0, 12),
    case(
        "columns side by side",
        a=tensor(4, 6),
        b=tensor(4, 6, layout="transposed"),
        raises=ValueError,
    ),
    case("as many numbers", a=tensor(4, 6), b=tensor(3, 8), raises=ValueError),
]

HIDDEN_GATES = [
    gated_case("37 steps in tiles of 16", 2, 37, block=16),
    gated_case("one step", 1, 1),
    gated_case("the block as it is", 1, 70, block=2048),
    gated_case("half precision", 2, 27, dtype="float16"),
    gated_case("gates of 1/100", 1, 40, block=32, a={"values": all_of(0.01)}),
]


def by_steps(at_tile=lambda h: h, inclusive=True):
    """h step by step. at_tile: what h becomes where a tile begins; inclusive: h after the step."""

    def wrong(a, b, *, block=2048):
        wide, h, out = width(b.shape[1], block), torch.zeros_like(b[:, 0]), []
        for t in range(b.shape[1]):
            before = at_tile(h) if t % wide == 0 else h
            h = a[:, t] * before + b[:, t]
            out.append(h if inclusive else before)
        return finite(torch.stack(out, dim=1)), finite(h).to(torch.float32)

    return wrong


def right(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


def pairs(
    then=right,
    use=lambda A, B, carry, a, b: A * carry + B,
    carried=lambda h, B: h[:, -1:],
):
    """A scan of pairs by then(a1, b1, a2, b2) in each tile, neighbours first, as a warp does it."""

    def wrong(a, b, *, block=2048):
        wide, carry, out = width(b.shape[1], block), torch.zeros_like(b[:, :1]), []
        for given in zip(a.split(wide, dim=1), b.split(wide, dim=1), strict=True):
            tile, step = given, 1
            while step < tile[0].shape[1]:
                made = then(*(x[:, :-step] for x in tile), *(x[:, step:] for x in tile))
                old_and_new = zip(tile, made, strict=True)
                tile = [torch.cat((old[:, :step], new), dim=1) for old, new in old_and_new]
                step *= 2
            out.append(use(*tile, carry, *given))
            carry = carried(out[-1], tile[1])
        return finite(torch.cat(out, dim=1)), finite(carry[:, 0]).to(torch.float32)

    return wrong


def half_gates(a, b, *, block=2048, dtype=torch.float32):
    """The product of the gates is rounded to their dtype after each step."""
    return pairs(lambda a1, b1, a2, b2: (rounded(a1 * a2, dtype), a2 * b1 + b2))(a, b, block=block)


def half_pairs(a, b, *, block=2048, dtype=torch.float32):
    """Each pair of a tile is rounded to the dtype of its numbers."""
    return pairs(
        lambda a1, b1, a2, b2: (
            rounded(a1 * a2, dtype),
            rounded(rounded(a2 * b1, dtype) + b2, dtype),
        )
    )(a, b, block=block)


def half_state(a, b, *, block=2048, dtype=torch.float32):
    return by_steps(lambda h: rounded(h, dtype))(a, b, block=block)


def divided(a, b):
    """The closed form with two cumulative products, in float32 as a kernel would."""
    A = a.float().cumprod(1)
    h = (A * (b.float() / A).cumsum(1)).double()
    return finite(h), finite(h[:, -1]).to(torch.float32)


def one_carry(a, b, *, block=2048):
    """The carry reaches the second tile, and is 0 from there on."""
    wide, h, out = width(b.shape[1], block), torch.zeros_like(b[:, 0]), []
    for t in range(b.shape[1]):
        h = a[:, t] * (0 * h if t % wide == 0 and t > wide else h) + b[:, t]
        out.append(h)
    last = h if b.shape[1] <= wide else 0 * h
    return torch.stack(out, dim=1), last.to(torch.float32)


def gated_steps_of_one(a, b, *, block=2048):
    """A tile begins at every step, and hands on what its last lane holds."""
    length = b.shape[1]
    wide, carry, out = width(length, block), torch.zeros_like(b[:, 0]), []
    for t in range(length):
        h = carry
        for step in range(t, min(t + wide, length)):
            h = a[:, step] * h + b[:, step]
            if step == t:
                out.append(h)
        carry = h
    return torch.stack(out, dim=1), carry.to(torch.float32)


def last_of_padding(fill_a, fill_b):
    """`last` after the masked lanes have taken their steps too."""

    def wrong(a, b, *, block=2048):
        h, last = gated_scan_ref(a, b)
        last = h[:, -1]
        for _ in range(-b.shape[1] % width(b.shape[1], block)):
            last = fill_a * last + fill_b
        return h, last.to(torch.float32)

    return wrong


def last_is(pick):
    def wrong(a, b, *, block=2048):
        h, _ = gated_scan_ref(a, b)
        return h, pick(h, width(b.shape[1], block)).to(torch.float32)

    return wrong


def lane_0_carried(a, b, *, block=2048):
    """Each tile hands on the first lane of its h."""
    wide, out, carry = width(b.shape[1], block), [], torch.zeros_like(b[:, 0])
    for start in range(0, b.shape[1], wide):
        first, h = None, carry
        for t in range(start, min(start + wide, b.shape[1])):
            h = a[:, t] * h + b[:, t]
            out.append(h)
            first = h if first is None else first
        carry = first
    return torch.stack(out, dim=1), carry.to(torch.float32)


GATED_MISTAKES = {
    "carry-forgotten": (
        by_steps(lambda h: 0 * h),
        "Every tile begins at 0 again: the carry is missing, or it is 0. Does `tl.where` keep the "
        "last lane of the tile?",
    ),
    "carry-is-the-largest": (
        pairs(carried=lambda h, B: h.amax(1, keepdim=True)),
        "The carry is the largest h of the tile. It needs the last one.",
    ),
    "steps-of-one": (
        gated_steps_of_one,
        "The loop steps by 1, so tiles overlap and steps are taken many times. Step by the tile.",
    ),
    "arguments-mixed": (
        pairs(lambda a1, a2, b1, b2: (a2 * a1, a2 * b1 + b2)),
        "`then` gets a1, b1, a2, b2: a pair, then the next pair. Its arguments stand in another "
        "order.",
    ),
    "carry-not-gated": (
        pairs(use=lambda A, B, carry, a, b: carry + B),
        "The carry was added as it is. The pair (A, B) is a step: it takes the carry times A.",
    ),
    "carry-by-one-gate": (
        pairs(use=lambda A, B, carry, a, b: a * carry + B),
        "The carry went through each lane's own gate, a. It needs A, the product of all of them.",
    ),
    "carry-before-B": (
        pairs(use=lambda A, B, carry, a, b: A * (carry + B)),
        "A stands before carry and B. The pair (A, B) is the step h -> A h + B.",
    ),
    "b-for-B": (
        pairs(use=lambda A, B, carry, a, b: A * carry + b),
        "A times the carry is there, and then b alone. The scan's B holds the steps before it.",
    ),
    "carry-is-B": (
        pairs(carried=lambda h, B: B[:, -1:]),
        "The carry is the last lane of B, which begins at 0 in each tile. Carry that of h.",
    ),
    "all-lanes-but-the-last": (
        pairs(carried=lambda h, B: h[:, :-1].sum(1, keepdim=True)),
        "The carry is the sum of all lanes but the last. Are the two values of `tl.where` swapped?",
    ),
    "a-and-b-swapped": (
        lambda a, b: gated_scan_ref(b, a),
        "a and b have changed places: in the launch, at the loads, or in the scan.",
    ),
    "returned-backwards": (
        pairs(lambda a1, b1, a2, b2: (a2 * b1 + b2, a1 * a2)),
        "`then` returns its two values in the other order. The gate comes first, as in (a, b).",
    ),
    "gates-not-multiplied": (
        pairs(lambda a1, b1, a2, b2: (a2, a2 * b1 + b2)),
        "A is the last gate alone. The first value of `then` is the product of both gates.",
    ),
    "first-gate-kept": (
        pairs(lambda a1, b1, a2, b2: (a1, a2 * b1 + b2)),
        "A is the first gate alone. The first value of `then` is the product of both gates.",
    ),
    "gates-added": (
        pairs(lambda a1, b1, a2, b2: (a1 + a2, a2 * b1 + b2)),
        "`then` adds the gates. Work the prediction out again: what stands before h?",
    ),
    "order-swapped": (
        pairs(lambda a1, b1, a2, b2: (a1 * a2, a1 * b2 + b1)),
        "The steps are taken in the wrong order. The earlier pair is b1, and the later gate a2 "
        "acts on it.",
    ),
    "gate-of-the-first": (
        pairs(lambda a1, b1, a2, b2: (a1 * a2, a1 * b1 + b2)),
        "`then` multiplies b1 by a1. The earlier result goes through the later gate.",
    ),
    "inputs-not-gated": (
        pairs(lambda a1, b1, a2, b2: (a1 * a2, b1 + b2)),
        "b is added up without gates. In `then` the earlier one, b1, goes through the later gate.",
    ),
    "gate-of-the-second": (
        pairs(lambda a1, b1, a2, b2: (a1 * a2, a2 * b2 + b1)),
        "`then` multiplies b2 by a2. It is the earlier one, b1, that goes through the later gate.",
    ),
    "gate-of-both": (
        pairs(lambda a1, b1, a2, b2: (a1 * a2, a2 * (b1 + b2))),
        "`then` multiplies b2 by a2 too. Only the earlier one, b1, goes through the later gate.",
    ),
    "exclusive": (
        by_steps(inclusive=False),
        "h[t] is the state before step t. The contract asks for the one after it.",
    ),
    "gates-alone": (
        lambda a, b: (a.cumprod(1), a.prod(1).to(torch.float32)),
        "This is the product of the gates: A, not h.",
    ),
    "carry-too-early": (
        lane_0_carried,
        "The first lane of each tile was carried. Carry the last one.",
    ),
    "division-by-gates": (
        divided,
        "This is the form with a cumulative product and a sum. It divides by the product, which "
        "becomes 0. Scan the pairs.",
    ),
    "last-gate-of-padding": (
        last_of_padding(0.0, 0.0),
        "`last` is 0: masked lanes hold the gate 0, which forgets everything. Which gate keeps h?",
    ),
    "carry-of-one-tile": (
        one_carry,
        "The carry reaches the second tile and no other: it is 0 from then on. The lanes of a tile "
        "are 0 to BLOCK - 1 in every tile. Which one is the last?",
    ),
    "last-input-of-padding": (
        last_of_padding(1.0, 1.0),
        "Masked lanes went on adding 1 to `last`. Which b changes nothing?",
    ),
    "last-is-the-first": (
        last_is(lambda h, wide: h[:, 0]),
        "`last` is the first h of the row.",
    ),
    "last-of-the-tile-before": (
        last_is(lambda h, wide: h[:, (h.shape[1] - 1) // wide * wide - 1] * (h.shape[1] > wide)),
        "`last` is the carry from before the last tile. Store it when all tiles are done.",
    ),
    "last-is-a-sum": (
        last_is(lambda h, wide: h[:, (h.shape[1] - 1) // wide * wide :].sum(1)),
        "`last` is the sum of a tile's h. Keep its last lane, and 0 in the others.",
    ),
    "gates-in-half": (
        half_gates,
        "The gates are multiplied in half precision. Go to float32 before the scan.",
    ),
    "scan-in-half": (
        half_pairs,
        "The pairs were scanned in half precision. Take a and b to float32 before the scan.",
    ),
    "state-in-half": (
        half_state,
        "The carry is kept in half precision, and small inputs vanish in it. Carry float32.",
    ),
}


# --- linear_attention


def heads(note, B, H, T, D, chunk=16, **more):
    drawn = {name: tensor(B, H, T, D, **more.pop(name, {})) for name in ("q", "k", "v")}
    return case(note, **drawn, options={"chunk": chunk}, **more)


# The first token makes the state large. What a chunk adds later is less than bfloat16 keeps of it.
LOUD_TOKEN = {
    name: {
        "values": all_of(0.25),
        "planted": {(0, 0, 0, d): 16.0 for d in range(16)},
    }
    for name in ("k", "v")
} | {"q": {"values": "ones"}}

HEADS = [
    # As many tokens as columns would let a product turned the wrong way fit.
    heads("one chunk", 1, 2, 32, 16, chunk=32),
    heads("three chunks and a rest", 2, 2, 55, 32),
    heads("fewer tokens than a chunk", 1, 2, 5, 16, chunk=32),
    heads("two slices of columns", 1, 1, 70, 64, chunk=32),
    heads("bfloat16, a large first token", 1, 1, 320, 16, dtype="bfloat16", **LOUD_TOKEN),
    heads("half precision", 1, 2, 60, 32, dtype="float16"),
    heads("the chunk as it is", 1, 1, 80, 64, chunk=64, dtype="float16"),
    heads("no sequences", 0, 2, 20, 16),
    heads("D of 24", 1, 1, 20, 24, raises=ValueError),
    case(
        "memory with gaps",
        q=tensor(1, 2, 20, 16, layout="strided"),
        k=tensor(1, 2, 20, 16),
        v=tensor(1, 2, 20, 16),
        raises=ValueError,
    ),
    case(
        "v longer than k",
        q=tensor(1, 2, 20, 16),
        k=tensor(1, 2, 20, 16),
        v=tensor(1, 2, 24, 16),
        raises=ValueError,
    ),
]

HIDDEN_HEADS = [
    heads("one token", 1, 1, 1, 16),
    heads("100 tokens in chunks of 32", 2, 1, 100, 32, chunk=32),
    heads("D of 128", 1, 1, 40, 128),
    heads("bfloat16", 1, 3, 50, 64, chunk=32, dtype="bfloat16"),
]


def in_chunks(inside, old=lambda q, S, k, v: q @ S, grown=lambda S, k, v: S + k.mT @ v):
    """o = inside(scores) @ v + old(q, S, k, v) in each chunk; then S = grown(S, k, v)."""

    def wrong(q, k, v, *, chunk=64):
        out, S = [], torch.zeros_like(k.mT @ v)
        for start in range(0, q.shape[2], chunk):
            part = slice(start, start + chunk)
            q_c, k_c, v_c = q[:, :, part], k[:, :, part], v[:, :, part]
            out.append(inside(q_c @ k_c.mT) @ v_c + old(q_c, S, k_c, v_c))
            S = grown(S, k_c, v_c)
        return finite(torch.cat(out, dim=2)), finite(S).to(torch.float32)

    return wrong


def below(scores):
    return scores.tril()


def counted_on(turned):
    """The mask has `start` in one of its sides. turned: in that of the keys."""

    def wrong(q, k, v, *, chunk=64):
        out, S = [], torch.zeros_like(k.mT @ v)
        for start in range(0, q.shape[2], chunk):
            part = slice(start, start + chunk)
            q_c, k_c, v_c = q[:, :, part], k[:, :, part], v[:, :, part]
            scores = q_c @ k_c.mT
            out.append(scores.tril(-start if turned else start) @ v_c + q_c @ S)
            S = S + k_c.mT @ v_c
        return torch.cat(out, dim=2), S.to(torch.float32)

    return wrong


def half_matrix(q, k, v, *, chunk=64, dtype=torch.float32):
    return in_chunks(below, grown=lambda S, k, v: rounded(S + k.mT @ v, dtype))(
        q, k, v, chunk=chunk
    )


def scaled(q, k, v):
    o, state = linear_attention_ref(q, k, v)
    return o * q.shape[-1] ** -0.5, state


HEAD_MISTAKES = {
    "future-of-the-chunk": (
        in_chunks(lambda scores: scores),
        "Tokens see the later ones of their chunk. Mask the scores.",
    ),
    "mask-from-the-start": (
        counted_on(False),
        "From the second chunk on, tokens see the later ones of their chunk. The mask has `start` "
        "on one of its sides alone: count both rows and columns from the chunk's first token.",
    ),
    "mask-without-a-past": (
        counted_on(True),
        "From the second chunk on, a token sees none of its own chunk. The mask has `start` on one "
        "of its sides alone: count both rows and columns from the chunk's first token.",
    ),
    "past-masked": (
        in_chunks(lambda scores: scores.triu()),
        "The mask keeps the future of the chunk and drops its past.",
    ),
    "diagonal-missing": (
        in_chunks(lambda scores: scores.tril(-1)),
        "A token does not see itself: the diagonal of the scores is 0.",
    ),
    "future-only": (
        in_chunks(lambda scores: scores.triu(1)),
        "Inside a chunk only the future counts. Are the two values of `tl.where` swapped?",
    ),
    "scores-transposed": (
        in_chunks(lambda scores: scores.mT.tril()),
        "The scores are transposed: row t belongs to q, column s to k. Which of them is turned?",
    ),
    "exponentials": (
        in_chunks(lambda scores: scores.exp().tril()),
        "The scores went through an exponential. Without a softmax there is none.",
    ),
    "state-forgotten": (
        in_chunks(below, old=lambda q, S, k, v: 0 * q),
        "Only tokens of the same chunk count. Add q times the state.",
    ),
    "state-of-one-chunk": (
        in_chunks(below, grown=lambda S, k, v: k.mT @ v),
        "The state knows the chunk before alone. Add to it, do not replace it.",
    ),
    "state-never-grows": (
        lambda q, k, v, *, chunk=64: (
            in_chunks(below, old=lambda q, S, k, v: 0 * q)(q, k, v, chunk=chunk)[0],
            (0 * (k.mT @ v)).to(torch.float32),
        ),
        "The state stays 0. Add k transposed times v after each chunk.",
    ),
    "state-doubled": (
        in_chunks(below, grown=lambda S, k, v: 2 * S + k.mT @ v),
        "The old state is added twice: `+=`, and once more as what `tl.dot` adds to.",
    ),
    "inside-twice": (
        in_chunks(lambda scores: 2 * scores.tril()),
        "What comes from inside the chunk is added twice. `tl.dot(a, b, o)` has added o already.",
    ),
    "state-too-early": (
        in_chunks(below, old=lambda q, S, k, v: q @ (S + k.mT @ v)),
        "The state holds the chunk already when o takes it: its tokens count twice, and the "
        "future counts. Update it after o.",
    ),
    "diagonal-twice": (
        in_chunks(lambda scores: scores.tril() + scores.tril().triu()),
        "Each token counts itself twice: the diagonal comes from two places.",
    ),
    "chunk-forgotten": (
        in_chunks(lambda scores: 0 * scores),
        "Only the chunks before count. The scores inside the chunk are missing.",
    ),
    "state-transposed": (
        in_chunks(below, old=lambda q, S, k, v: q @ S.mT),
        "o took the state transposed.",
    ),
    "keys-for-queries": (
        in_chunks(below, old=lambda q, S, k, v: k @ S),
        "k times the state was added. The state is asked by q.",
    ),
    "state-from-the-right-side": (
        in_chunks(below, grown=lambda S, k, v: S + v.mT @ k),
        "The state is v transposed times k. Row d belongs to k, column e to v.",
    ),
    "softmax-kept": (
        in_chunks(
            lambda scores: scores.masked_fill(
                torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf")
            ).softmax(-1)
        ),
        "There is a softmax inside the chunk. Linear attention has none.",
    ),
    "scaled": (scaled, "The scores are scaled by 1/sqrt(D). The contract has no scale."),
    "state-in-half": (
        half_matrix,
        "The state is kept in half precision, and what later chunks add vanishes in it. Round a "
        "copy to enter the dot, and carry float32.",
    ),
}


def factors_rounded(dtype):
    """Scores and state are rounded once to the dtype before they enter a dot, and o once more.

    A first token has one score, which may be almost 0 by chance: hence the absolute part.
    """
    if dtype == torch.float32:
        return Tolerance(
            2e-5,
            of_row_max=2e-5,
            absolute=1e-5,
            because="a float32 sum of up to 320 x 128 products",
        )
    eps = torch.finfo(dtype).eps
    because = "scores and state are rounded to enter a dot, o once at its store"
    return Tolerance(1.5 * eps, of_row_max=1.5 * eps, absolute=1e-5, because=because)


def running_sum(dtype):
    """A float32 sum of up to 3,000 numbers, rounded once at the store."""
    return derive_tolerance(dtype, 3000) if dtype == torch.float32 else rounded_once(3000)(dtype)


def early_sums_keep_their_digits(scan):
    """An assertion on a scan in one tile: `scan(fn, x)` gives the sums of x, with numbers that come
    later and are 1e8 times as large."""

    def keeps(fn):
        x = torch.ones(1, 32, device=DEVICE)
        x[:, 16:] = 1e8
        got = scan(fn, x)[0, :16].tolist()
        assert got == list(range(1, 17)), (
            f"Sixteen ones, then numbers of 1e8: the sums begin with {got[0]:g}, {got[1]:g}, and "
            "not 1, 2. What comes later takes part in them: was it added, and subtracted again?"
        )

    return keeps


def gates_of_one(fn, x):
    return fn(torch.ones_like(x), x, block=32)[0]


CHECKS = {
    "cumsum_rows": Check(
        cumsum_ref,
        ROWS,
        HIDDEN_ROWS,
        launches=1,
        programs=lambda x, block=2048: x.shape[0],
        max_tile=lambda x, block=2048: block,
        tolerance=running_sum,
        mistakes=ROW_MISTAKES,
        also=[
            whole_tiles(ROWS[1]),
            early_sums_keep_their_digits(lambda fn, x: fn(x, block=32)),
        ],
    ),
    "gated_scan": Check(
        gated_scan_ref,
        GATES,
        HIDDEN_GATES,
        launches=1,
        programs=lambda a, b, block=2048: b.shape[0],
        max_tile=lambda a, b, block=2048: block,
        results=("h", "last"),
        terms=200,
        mistakes=GATED_MISTAKES,
        also=[whole_tiles(GATES[1]), early_sums_keep_their_digits(gates_of_one)],
    ),
    "linear_attention": Check(
        linear_attention_ref,
        HEADS,
        HIDDEN_HEADS,
        launches=1,
        results=("o", "state"),
        tolerance=factors_rounded,
        mistakes=HEAD_MISTAKES,
        no_tf32=True,
    ),
}
