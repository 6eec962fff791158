"""What the checks of 62_attention_records try: cases, and mistakes that have a name."""

import contextlib
import inspect

import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET, triton_version
from tritonbook.checking import SAME_BITS, Check, case, tensor
from tritonbook.checking.cases import arguments
from tritonbook.checking.kernel_text import refusal
from tritonbook.seeing.compiled import compile_gate
from tritonbook.seeing.meter import fenced

from ..shared.attention import (
    DEEP,
    Tile,
    attention_ref,
    careless_softmax_of,
    close_enough,
    growing,
    hill,
    in_visited_tiles,
    kernel_mistakes,
    keys_seen,
    scale_of,
    scores_ref,
    softmax_of,
    walk,
    with_a_text,
    without,
)
from .page import chosen, column_parts, which_tile_ref

START = -1e38  # of m
LOG2_E = 1.4426950408889634
NEVER = float("-inf")

# --- which_tile


def order_with(first_of=None, size=None, tile=None, head=None, at=None):
    """The order with one thing done otherwise.

    first_of: the group's first head, of (pid, tiles, at_once). size: heads of the group, of
    (at_once, heads left). at: the place, of (pid, size, tiles, at_once). tile, head: of (place,
    size, tiles, first).
    """

    def wrong(pid, tiles, heads, at_once):
        first_head = first_of or (lambda pid, tiles, n: pid // (n * tiles) * n)
        first = first_head(pid, tiles, at_once)
        of_group = (size or (lambda at_once, left: min(at_once, left)))(at_once, heads - first)
        place = at(pid, of_group, tiles, at_once) if at else pid - first * tiles
        return (
            (tile or (lambda place, size, tiles, first: tiles - 1 - place // size))(
                place, of_group, tiles, first
            ),
            (head or (lambda place, size, tiles, first: first + place % size))(
                place, of_group, tiles, first
            ),
        )

    return wrong


COUNTS_GROUPS = "A number of groups stands where heads are counted: times at_once."

ORDER_MISTAKES = {
    "shortest-first": (
        order_with(tile=lambda place, size, tiles, first: place // size),
        "The first tiles come first. They see the fewest keys: the last tile, tiles - 1, should "
        "start first.",
    ),
    "one-tile-too-far": (
        order_with(tile=lambda place, size, tiles, first: tiles - place // size),
        "A tile number is one too high. The last is tiles - 1, and it goes down by one for each "
        "whole group of heads: divide the place by the heads of the group.",
    ),
    "last-group-not-smaller": (
        order_with(size=lambda at_once, left: at_once),
        "The last group has fewer heads where at_once does not divide them: count those that are "
        "left.",
    ),
    "one-head-after-another": (
        order_with(
            tile=lambda place, size, tiles, first: tiles - 1 - place % tiles,
            head=lambda place, size, tiles, first: first + place // tiles,
        ),
        "In a group the heads come one after another. Each tile number comes for all heads of the "
        "group, then the next: the longest walks of all of them first.",
    ),
    "all-heads-at-once": (
        lambda pid, tiles, heads, at_once: which_tile_ref(pid, tiles, heads, heads),
        "All heads take part from the start: their keys do not fit in the cache together. at_once "
        "heads at a time.",
    ),
    "one-head-at-a-time": (
        lambda pid, tiles, heads, at_once: which_tile_ref(pid, tiles, heads, 1),
        "One head at a time: at_once of them share the GPU.",
    ),
    "heads-of-the-first-group": (
        order_with(head=lambda place, size, tiles, first: place % size),
        "Each group takes the heads 0, 1, ... again. Add the group's first head.",
    ),
    "number-of-the-group": (
        order_with(first_of=lambda pid, tiles, n: pid // (n * tiles)),
        COUNTS_GROUPS,
    ),
    "number-of-the-group-alone": (
        order_with(
            first_of=lambda pid, tiles, n: pid // (n * tiles),
            at=lambda pid, size, tiles, n: pid % (n * tiles),
        ),
        COUNTS_GROUPS,
    ),
    "place-by-this-group": (
        order_with(at=lambda pid, size, tiles, n: pid % (size * tiles)),
        "The place counts from the group's first program, pid - first * tiles. A smaller last "
        "group has another remainder.",
    ),
    "place-is-the-program": (
        order_with(at=lambda pid, size, tiles, n: pid),
        "The place counts within the group: its first program has place 0.",
    ),
    "quotient-for-remainder": (
        order_with(
            tile=lambda place, size, tiles, first: tiles - 1 - place % size,
            head=lambda place, size, tiles, first: first + place // size,
        ),
        "`//` and `%` have changed places. Neighbouring programs have neighbouring heads: the "
        "remainder by the heads of the group.",
    ),
    "fractions": (
        order_with(first_of=lambda pid, tiles, n: pid / (n * tiles) * n),
        "`/` makes fractions. Groups and heads are whole numbers: `//`.",
    ),
    "group-counted-in-groups": (
        order_with(head=lambda place, size, tiles, first: place % size + (first > 0)),
        "The group's first head is its number times at_once.",
    ),
    "head-comes-first": (
        lambda *given: which_tile_ref(*given)[::-1],
        "The pair is (tile, head); the tile comes first.",
    ),
    "head-by-the-program": (
        order_with(head=lambda place, size, tiles, first: first + (place + first * tiles) % size),
        "The head was taken by pid. Its place in the group says which: place % size.",
    ),
    "heads-backwards": (
        order_with(head=lambda place, size, tiles, first: first + size - 1 - place % size),
        "Tiles run backwards, heads do not.",
    ),
}


def order_case(note, tiles, heads, at_once, *pids):
    return [
        case(f"{note}: program {pid}", pid=pid, tiles=tiles, heads=heads, at_once=at_once)
        for pid in pids
    ]


ORDERS = [
    *order_case("4 tiles, 5 heads, 2 at once", 4, 5, 2, 0, 1, 2, 7, 8, 13, 16, 17, 19),
    *order_case("3 tiles, 7 heads, 3 at once", 3, 7, 3, 4, 8, 10, 17, 20),
    *order_case("4 tiles, 5 heads, 3 at once", 4, 5, 3, 11, 12, 13, 15, 18),
    *order_case("3 tiles, 5 heads, 3 at once", 3, 5, 3, 9, 14),
    *order_case("all heads at once", 5, 4, 4, 0, 3, 6, 19),
    *order_case("one head at a time", 6, 3, 1, 0, 5, 7, 17),
    *order_case("more at once than there are", 3, 2, 16, 0, 3, 5),
]
HIDDEN_ORDERS = [
    *order_case("7 tiles, 11 heads, 4 at once", 7, 11, 4, 0, 27, 30, 56, 58, 76),
    *order_case("3 tiles, 8 heads, 5 at once", 3, 8, 5, 14, 15, 16, 20, 23),
    *order_case("one tile", 1, 9, 2, 0, 3, 8),
    *order_case("one head", 8, 1, 1, 0, 7),
]


def write_order(out_ptr, tiles, heads, at_once):
    """out[0, pid], out[1, pid] = order(pid, tiles, heads, at_once)."""
    pid, programs = tl.program_id(0), tl.num_programs(0)
    tile, head = order(pid, tiles, heads, at_once)  # noqa: F821  (set where it is launched)
    tl.store(out_ptr + pid, tile)
    tl.store(out_ptr + programs + pid, head)


def works_in_a_kernel(fn):
    """What is right in Python need not be right in a kernel: no list comprehension, no divmod, and
    `//` and `%` of a negative number round towards 0."""
    fn = with_a_text(fn)
    if fn is None:
        return
    says = "As a part of a kernel, where task 3 needs it, this does not work. "
    refused = refusal(fn)
    assert refused is None, says + refused.sentence
    tiles, heads, at_once = 3, 5, 3
    found = torch.full((2, tiles * heads), -1, dtype=torch.int32, device=DEVICE)
    globals()["order"] = triton.jit(fn)
    try:
        triton.jit(write_order)[(tiles * heads,)](found, tiles, heads, at_once)
    except Exception as error:
        raise AssertionError(f"{says}{error}") from None
    for pid, got in enumerate(found.T.tolist()):
        want = which_tile_ref(pid, tiles, heads, at_once)
        assert tuple(got) == want, (
            f"Right in Python. In a kernel, of {tiles} tiles and {heads} heads, {at_once} at once, "
            f"program {pid} gets {tuple(got)}, not {want}: there `//` and `%` of a negative number "
            "round towards 0. Let nothing below 0 be divided."
        )


# --- take_columns


def columns_ref(x, first, width):
    """Columns first to first + width - 1 of x, zeros past its last one."""
    return torch.nn.functional.pad(x, (0, max(0, first + width - x.shape[-1])))[
        ..., first : first + width
    ]


def padded_with(value):
    """Columns past the last one hold `value`."""

    def wrong(x, first, width):
        past = max(0, first + width - x.shape[-1])
        wide = torch.nn.functional.pad(x, (0, past), value=value)
        return wide[..., first : first + width]

    return wrong


def heads_swapped(x):
    """What a descriptor finds at [head, batch]: zeros where there is no such one."""
    B, HK = x.shape[:2]
    found = torch.zeros_like(x)
    both = min(B, HK)
    found[:both, :both] = x[:both, :both].transpose(0, 1)
    return found


def of_tensor(change):
    return lambda x, first, width: columns_ref(change(x), first, width)


def in_tiles_of_32(change):
    """Every tile of 32 rows made by change(x, start)."""

    def wrong(x, first, width):
        starts = range(0, x.shape[2], 32)
        parts = [change(x, start)[:, :, : x.shape[2] - start] for start in starts]
        return columns_ref(torch.cat(parts, dim=2) if parts else x, first, width)

    return wrong


def rows_for_columns(x, first, width):
    """Tiles of 32 rows from `first` on and of columns from their start on."""
    L, padded = x.shape[2], torch.nn.functional.pad(x, (0, x.shape[2] + width, 0, first + 32))
    tiles = [
        padded[:, :, first : first + min(32, L - start), start : start + width]
        for start in range(0, L, 32)
    ]
    return torch.cat(tiles, dim=2)


PAST_THE_LAST = "Columns past the last one hold what `other=` says. It has to be 0."

COLUMN_MISTAKES = {
    "other-is-one": (padded_with(1.0), PAST_THE_LAST),
    "other-is-infinite": (padded_with(NEVER), PAST_THE_LAST),
    "rows-for-columns": (
        rows_for_columns,
        "A descriptor's indices follow the tensor's dimensions: batch, head, row, column. Here row "
        "and column are swapped.",
    ),
    "first-columns-always": (
        lambda x, first, width: columns_ref(x, 0, width),
        "The columns begin at 0 whatever FIRST is.",
    ),
    "first-rows-always": (
        in_tiles_of_32(lambda x, start: columns_ref(x, 0, x.shape[-1])[:, :, :32]),
        "Every tile holds the first rows. Its rows begin at `start`.",
    ),
    "heads-and-batches-swapped": (
        of_tensor(lambda x: heads_swapped(x)),
        "A descriptor's indices follow the tensor's dimensions: batch, head, row, column. Here "
        "batch and head are swapped.",
    ),
    "first-batch-only": (
        of_tensor(lambda x: x[:1].expand_as(x)),
        "All batches hold the first one's numbers.",
    ),
    "first-head-only": (
        of_tensor(lambda x: x[:, :1].expand_as(x)),
        "All heads of a batch hold the first one's numbers.",
    ),
    "one-head-for-all": (
        of_tensor(lambda x: x[:1, :1].expand_as(x)),
        "All heads hold the numbers of head 0 of batch 0.",
    ),
}


def columns_case(note, B, H, L, D, first, width, **more):
    layout = more.pop("layout", "contiguous")
    return case(note, x=tensor(B, H, L, D, layout=layout), first=first, width=width, **more)


COLUMNS = [
    columns_case("by addresses: float32, three tiles", 2, 3, 70, 32, 0, 32),
    columns_case("described: half precision", 2, 3, 70, 32, 0, 32, dtype="float16"),
    columns_case("columns from 32, 8 of them there", 1, 2, 40, 40, 32, 16),
    columns_case("described, 8 columns there", 1, 2, 40, 40, 32, 16, dtype="bfloat16"),
    columns_case("heads of 96: the last 32", 1, 2, 33, 96, 64, 32, dtype="float16"),
    columns_case("rows with gaps", 1, 2, 40, 24, 0, 32, layout="strided"),
    columns_case("columns first in memory", 2, 2, 35, 40, 16, 32, layout="transposed"),
]
HIDDEN_COLUMNS = [
    columns_case("heads of 72", 1, 3, 65, 72, 64, 16, dtype="float16"),
    columns_case("one row", 3, 1, 1, 16, 0, 16),
    columns_case(
        "rows with gaps, half precision", 1, 2, 20, 80, 64, 16, layout="strided", dtype="float16"
    ),  # fmt: skip
]


def compiles_as_a_descriptor(fn):
    """An assertion: only an H100's compiler sees the descriptor."""
    of = COLUMNS[4]
    found = compile_gate(fn, arguments(of), of.options, arch=90)
    assert found.ok is not False, (
        f"For an H100 it does not compile: {found.message} Does the second way stand under `else:`?"
    )


# --- flash_gqa_record


def attention_case(note, B, H, HK, Lq, Lk, D, causal=True, scale=None, **more):
    """A case of flash_gqa_record. queries, keys, values: how they are drawn. layouts: of all."""
    layouts = more.pop("layouts", ("contiguous",) * 3)
    q = tensor(B, H, Lq, D, layout=layouts[0], **more.pop("queries", {}))
    k = tensor(B, HK, Lk, D, layout=layouts[1], **more.pop("keys", {}))
    v = tensor(B, HK, Lk, D, layout=layouts[2], **more.pop("values", {}))
    return case(note, q=q, k=k, v=v, causal=causal, scale=scale, **more)


LATER = growing(1000.0)
OF_96 = attention_case("heads of 96: 64 and 32 columns", 2, 2, 2, 70, 300, 96, dtype="float16")
CASES = [
    attention_case("10 queries at the end of 75 keys", 1, 2, 2, 10, 75, 32),
    attention_case("scores that grow", 1, 1, 1, 40, 100, 40, False, keys={"values": growing(90.0)}),
    attention_case("causal, float32", 1, 2, 2, 40, 75, 48),
    attention_case("scores of -2^30 that grow", 1, 1, 1, 20, 50, 16, **DEEP),
    attention_case("half precision: described", 2, 2, 2, 70, 300, 32, dtype="float16"),
    OF_96,
    attention_case("heads of 40, float32", 1, 2, 1, 20, 70, 40),
    attention_case("heads of 80, bfloat16", 1, 4, 2, 40, 280, 80, False, dtype="bfloat16"),
    attention_case("a short text, half precision", 1, 4, 2, 20, 100, 80, dtype="float16"),
    attention_case(
        "scores that grow, half precision",
        1,
        2,
        1,
        40,
        300,
        72,
        False,
        keys={"values": growing(20.0)},
        dtype="float16",
    ),  # fmt: skip
    attention_case(
        "large scores, the largest in the middle",
        1,
        2,
        1,
        40,
        60,
        48,
        False,
        keys={"values": hill(120.0)},
    ),  # fmt: skip
    attention_case("far larger keys come later", 1, 1, 1, 40, 40, 40, keys={"values": LATER}),
    attention_case(
        "large values, a long sum",
        1,
        1,
        1,
        16,
        1000,
        72,
        False,
        keys={"scale": 0.01},
        values={"mean": 100.0},
        dtype="float16",
    ),  # fmt: skip
    attention_case("more queries than keys", 1, 2, 1, 20, 9, 24),
    attention_case("memory with gaps", 1, 4, 2, 20, 33, 40, layouts=("strided",) * 3),
    attention_case(
        "k and v by columns, half precision",
        1,
        4,
        2,
        12,
        150,
        96,
        layouts=("transposed",) * 3,
        dtype="float16",
    ),  # fmt: skip
    attention_case("a scale of its own", 1, 2, 1, 5, 20, 96, scale=0.6),
    attention_case("three heads, two at once", 1, 3, 3, 70, 70, 16, options={"at_once": 2}),
    attention_case("heads of 192", 1, 2, 1, 40, 260, 192, dtype="float16"),
    attention_case("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
    attention_case("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
    attention_case("no queries", 1, 2, 1, 0, 9, 16),
    attention_case(
        "other orders", 2, 2, 1, 9, 33, 40, layouts=("transposed", "strided", "expanded")
    ),
]
HIDDEN_CASES = [
    attention_case("groups of five", 1, 5, 1, 17, 20, 16),
    attention_case("heads of 256", 1, 2, 1, 33, 290, 256, dtype="bfloat16"),
    attention_case("heads of 112", 2, 4, 2, 65, 270, 112, dtype="float16"),
    attention_case("heads of 144", 2, 2, 2, 65, 270, 144, False, dtype="float16"),
    attention_case("one token of a text", 1, 8, 2, 1, 200, 80, dtype="float16"),
    attention_case(
        "large scores, bfloat16",
        1,
        2,
        1,
        70,
        200,
        96,
        dtype="bfloat16",
        keys={"values": hill(30.0)},
    ),  # fmt: skip
]

# --- mistakes of tiles and parts


def with_scores(scores):
    """Attention with other scores: `scores` of the two parts of q and of k, bare."""

    def wrong(q, k, v, causal=False, scale=None):
        D1, D2 = column_parts(q.shape[-1])
        if not D2:
            return attention_ref(q, k, v, causal, scale)
        q1, q2 = q[..., :D1], q[..., D1:]
        shared = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        k1, k2 = shared[..., :D1], shared[..., D1:]
        s = scores(q1, q2, k1, k2) * scale_of(q, scale)
        seen = torch.arange(k.shape[2]) < keys_seen(q, k, causal)[:, None]
        s = s.masked_fill(~seen, NEVER)
        return softmax_of(s, v)

    return wrong


def rest_by(formula):
    """The result with the columns of the second part from a formula."""

    def wrong(q, k, v, causal=False, scale=None):
        D1, D2 = column_parts(q.shape[-1])
        o, lse = attention_ref(q, k, v, causal, scale)
        if D2:
            o = torch.cat([o[..., :D1], formula(q, k, v, causal, scale)[0][..., D1:]], dim=-1)
        return o, lse

    return wrong


def zeros(q, k, v, causal, scale):
    return torch.zeros_like(q), None


def with_zeros(formula):
    """Where nothing is summed, the kernel divides by 1: o is 0."""

    def wrong(q, k, v, causal=False, scale=None):
        o, lse = formula(q, k, v, causal, scale)
        return o.nan_to_num(0.0), lse

    return wrong


def upside_down(tile):
    """In masked tiles a row sees the keys from its limit on."""

    def wrong(q, k, v, causal=False, scale=None):
        full = walk(q, k, causal, tile).full

        def score(s, keys, seen):
            return s.masked_fill((keys >= full) & (keys < seen), NEVER)

        return in_visited_tiles(tile, score)(q, k, v, causal, scale)

    return wrong


def own_position(tile):
    """In masked tiles a row sees the keys up to its own position, causal or not."""

    def wrong(q, k, v, causal=False, scale=None):
        full = walk(q, k, causal, tile).full
        own = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]

        def score(s, keys, seen):
            return s.masked_fill((keys >= full) & (keys > own), NEVER)

        return in_visited_tiles(tile, score)(q, k, v, causal, scale)

    return wrong


def rest_left_out(q, k, v, causal=False, scale=None):
    o, lse = with_scores(lambda q1, q2, k1, k2: q1 @ k1.mT)(q, k, v, causal, scale)
    D1, D2 = column_parts(q.shape[-1])
    return torch.cat([o[..., :D1], torch.zeros_like(o[..., D1:])], dim=-1) if D2 else o, lse


def part_mistakes(tile):
    return {
        "rest-not-in-scores": (
            with_scores(lambda q1, q2, k1, k2: q1 @ k1.mT),
            "The scores know the first D1 columns of the heads alone. Where D2 > 0, q2 and "
            "k2 add to them.",
        ),
        "rest-alone-in-scores": (
            with_scores(lambda q1, q2, k1, k2: q2 @ k2.mT),
            "The scores know the last columns of the heads alone: the second product takes the "
            "place of the first. Add to it.",
        ),
        "first-part-twice": (
            with_scores(lambda q1, q2, k1, k2: 2 * (q1 @ k1.mT) + q2 @ k2.mT),
            "The first D1 columns count twice in the scores. `tl.dot(a, b, s)` has added s "
            "already: assign, no `+=`.",
        ),
        "rest-of-o-is-zero": (
            rest_by(zeros),
            "The first D1 columns of o are right, the others 0: acc2 is never added to.",
        ),
        "rest-not-rescaled": (
            rest_by(without("acc", tile.N)),
            "The first D1 columns of o are right. acc2 is not rescaled by alpha when m grows.",
        ),
        "rest-starts-again": (
            rest_by(without("new acc", tile.N)),
            "The first D1 columns of o are right. acc2 holds what the last tile of keys adds.",
        ),
        "rest-counted-twice": (
            rest_by(without("acc twice", tile.N)),
            "The first D1 columns of o are right. The old acc2 is added twice (`+=`).",
        ),
        "rest-not-divided": (
            rest_by(without("division", tile.N)),
            "The first D1 columns of o are right. The others are not divided by the sum l.",
        ),
        "own-position-for-limit": (
            own_position(tile),
            "Without causal every row sees all keys. `limit` knows that: compare with it.",
        ),
        "natural-exponential": (
            without("natural p", tile.N),
            "p is an exponential to base e. qk_scale brings the scores to base 2: `tl.exp2`.",
        ),
        "rest-left-out": (
            rest_left_out,
            "q2, k2 and v2 are never used: the scores lack the last columns of the heads, and so "
            "does o.",
        ),
        "limit-upside-down": (
            upside_down(tile),
            "The comparison with limit is upside down: a row sees the keys below its limit.",
        ),
        "maximum-scaled-in-p": (
            without("scaled p", tile.N),
            "m_new is scaled when it is subtracted, and scaled again with the difference: s * "
            "qk_scale - m_new.",
        ),
        "factor-scaled": (
            without("scaled alpha", tile.N),
            "The factor is exp2(m_i - m_new), without qk_scale: both are scaled already.",
        ),
        "maximum-scaled-again": (
            without("scaled m", tile.N),
            "The old m is scaled again in every step. Only the largest score of this tile takes "
            "qk_scale: m_i has it already.",
        ),
    }


def blind_rows_right(formula):
    """A formula whose rows that see no key are right: o = 0."""

    def wrong(q, k, v, causal=False, scale=None):
        o, lse = formula(q, k, v, causal, scale)
        return o.masked_fill((keys_seen(q, k, causal) == 0)[:, None], 0.0), lse

    return wrong


def scaled_twice(q, k, v, causal=False, scale=None):
    return attention_ref(q, k, v, causal, LOG2_E * scale_of(q, scale) ** 2)


def mistakes(tile):
    shared = kernel_mistakes(tile, softmax_of, START)
    start = {"m-starts-at-zero": shared["m-starts-at-zero"]}  # where all is NaN, the likeliest
    known = start | part_mistakes(tile) | shared
    known = {code: (blind_rows_right(formula), said) for code, (formula, said) in known.items()}
    last_only, said_of_last = known["last-tile-only"]
    formula, said = known["maximum-in-other-units"]
    said = "m_new takes the largest bare product. It is in units of scaled scores: scale it."
    return known | {
        "maximum-in-other-units": (with_zeros(formula), said),
        "last-tile-only": (last_only, f"{said_of_last} Does m_i become m_new?"),
        "nan": (
            lambda q, k, v, causal=False, scale=None: (q * torch.nan, q[..., 0] * torch.nan),
            "Does an exponential overflow? No exponent is above 0: p subtracts m_new, and alpha is "
            "exp2(m_i - m_new).",
        ),
        "scaled-twice": (
            scaled_twice,
            "The scores are scaled twice: where s holds qk_scale already, m_new and p take s as it "
            "is.",
        ),
        "nothing-seen-is-nan": (
            lambda q, k, v, causal=False, scale=None: (
                careless_softmax_of(scores_ref(q, k, causal, scale), v)[0],
                attention_ref(q, k, v, causal, scale)[1],
            ),
            "A row that sees no key has l_i = 0, and 0 / 0 is NaN: divide by l_safe.",
        ),
    }


def in_this_tile(code):
    def wrong(q, k, v, causal=False, scale=None, *, dtype):
        tile = chosen(*(x.to(dtype) for x in (q, k, v)))["tile"]
        formula, _ = mistakes(Tile(tile["BLOCK_M"], tile["BLOCK_N"]))[code]
        return formula(q, k, v, causal, scale)

    return wrong


def sums_in_half(q, k, v, causal=False, scale=None, *, dtype):
    """acc is rounded to the dtype of q before it is divided by l."""
    s = scores_ref(q, k, causal, scale)
    top = s.amax(-1, keepdim=True).nan_to_num(neginf=0.0)
    total = torch.exp(s - top).sum(-1, keepdim=True)
    o, lse = attention_ref(q, k, v, causal, scale)
    return (o * total).to(dtype).to(o.dtype) / total.clamp(min=1e-30), lse


MISTAKES = {
    "sum-in-half": (
        sums_in_half,
        "acc went to half precision before it was divided by l: a long sum overflows. Divide "
        "first.",
    ),
} | {code: (in_this_tile(code), sentence) for code, (_, sentence) in mistakes(Tile(16, 16)).items()}


def compiles_for_an_h100(fn):
    """An assertion: arguments that only an H100 gets as descriptors, and two branches."""
    found = compile_gate(fn, arguments(OF_96), OF_96.options, arch=90)
    assert found.ok is not False, f"For an H100 it does not compile: {found.message}"


def full_tiles_have_no_mask(fn):
    """All tiles are called full: who masks them all the same sees less than all keys.

    Values cannot tell otherwise: a full tile that is masked is right, and slower.
    """
    names = getattr(inspect.unwrap(fn), "__globals__", {})
    if not INTERPRET or "bounds" not in names:
        return
    own = names["bounds"]
    names["bounds"] = lambda first, last, Lq, Lk, causal, BLOCK_N: (Lk, Lk)
    q, k, v = torch.randn(3, 1, 1, 64, 16).unbind(0)
    try:
        o = fn(q, k, v, True)[0]
    finally:
        names["bounds"] = own
    assert torch.allclose(o, attention_ref(q, k, v)[0], rtol=1e-3, atol=1e-4), (
        "Full tiles are masked too. All rows see all of their keys: the mask belongs under `if "
        "MASKED:`."
    )


def every_second_column(fn):
    """q whose columns are two apart: o is new, and has strides of its own."""
    q = torch.randn(1, 2, 9, 96, device=DEVICE)[..., ::2]
    k, v = torch.randn(2, 1, 1, 20, 48, device=DEVICE).unbind(0)
    want = attention_ref(q, k, v, True)[0]
    with fenced() if INTERPRET else contextlib.nullcontext():  # a wrong stride leaves the tensors
        close = torch.allclose(fn(q, k, v, True)[0], want, rtol=1e-3, atol=1e-4)
    assert close, "Wrong for q = x[..., ::2]: columns of o are stride_od apart, not stride_qd."


CHECKS = {
    "which_tile": Check(
        which_tile_ref,
        ORDERS,
        HIDDEN_ORDERS,
        triton=False,
        mistakes=ORDER_MISTAKES,
        also=[works_in_a_kernel],
    ),
    "take_columns": Check(
        columns_ref,
        COLUMNS,
        HIDDEN_COLUMNS,
        launches=1,
        tolerance=SAME_BITS,
        mistakes=COLUMN_MISTAKES,
        also=[compiles_as_a_descriptor] * (triton_version() >= (3, 6)),
    ),
    "flash_gqa_record": Check(
        attention_ref,
        CASES,
        HIDDEN_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=MISTAKES,
        no_tf32=True,
        also=[full_tiles_have_no_mask, every_second_column]
        + [compiles_for_an_h100] * (triton_version() >= (3, 6)),
    ),
}
