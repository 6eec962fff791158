"""What the checks of 62_attention_records try: cases, and mistakes that have a name."""

import inspect

import torch

from tritonbook import INTERPRET, triton_version
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.cases import arguments
from tritonbook.seeing.compiled import compile_gate

from ..shared.attention import (
    Tile,
    all_scores,
    attention_ref,
    close_enough,
    growing,
    hill,
    kernel_mistakes,
    keys_seen,
    other_arguments,
    scale_of,
    softmax_of,
    without,
)
from .page import chosen, column_parts_ref, which_tile_ref

START = -1e38  # of m
NEVER = float("-inf")

# --- which_tile


def order_with(size=None, tile=None, head=None):
    """The order with one thing done otherwise.

    size: heads of the group, of (at_once, heads left). tile, head: of (place, size, tiles, first).
    """

    def wrong(pid, tiles, heads, at_once):
        first = pid // (at_once * tiles) * at_once
        of_group = (size or (lambda at_once, left: min(at_once, left)))(at_once, heads - first)
        place = pid - first * tiles
        return (
            (tile or (lambda place, size, tiles, first: tiles - 1 - place // size))(
                place, of_group, tiles, first
            ),
            (head or (lambda place, size, tiles, first: first + place % size))(
                place, of_group, tiles, first
            ),
        )

    return wrong


ORDER_MISTAKES = {
    "shortest-first": (
        order_with(tile=lambda place, size, tiles, first: place // size),
        "The first tiles come first. They see the fewest keys: the last tile, tiles - 1, should "
        "start first.",
    ),
    "one-tile-too-far": (
        order_with(tile=lambda place, size, tiles, first: tiles - place // size),
        "The last tile has the number tiles - 1.",
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
    "group-counted-in-groups": (
        order_with(head=lambda place, size, tiles, first: place % size + (first > 0)),
        "The group's first head is its number times at_once.",
    ),
    "head-comes-first": (
        lambda *given: which_tile_ref(*given)[::-1],
        "The pair is (tile, head); the tile comes first.",
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
    *order_case("all heads at once", 5, 4, 4, 0, 3, 6, 19),
    *order_case("one head at a time", 6, 3, 1, 0, 5, 7, 17),
    *order_case("more at once than there are", 3, 2, 16, 0, 3, 5),
]
HIDDEN_ORDERS = [
    *order_case("7 tiles, 11 heads, 4 at once", 7, 11, 4, 0, 27, 30, 56, 58, 76),
    *order_case("one tile", 1, 9, 2, 0, 3, 8),
    *order_case("one head", 8, 1, 1, 0, 7),
]

# --- column_parts


def parts_with(rest=None, way=None):
    """The parts with one thing done otherwise. rest: of (D, half). way: of (whole, half, rest)."""

    def wrong(D):
        whole = max(16, _power(D))
        half = whole // 2
        left = (rest or (lambda D, half: max(16, _power(D - half))))(D, half)
        pick = way or (
            lambda whole, half, left: (half, left) if half + left < whole else (whole, 0)
        )
        return pick(whole, half, left)

    return wrong


def _power(number):
    return 1 << max(0, number - 1).bit_length()


PARTS_MISTAKES = {
    "always-padded": (
        parts_with(way=lambda whole, half, left: (whole, 0)),
        "Every head is padded to one power of two. Heads of 96 fit in 64 + 32 columns.",
    ),
    "always-two": (
        parts_with(way=lambda whole, half, left: (half, left)),
        "Two tiles where one is as narrow: 64 columns are one tile of 64, not 32 + 32.",
    ),
    "two-where-as-wide": (
        parts_with(
            way=lambda whole, half, left: (half, left) if half + left <= whole else (whole, 0)
        ),
        "Two tiles that are as wide as one: one needs fewer products. Only where it is less.",
    ),
    "rest-no-power": (
        parts_with(rest=lambda D, half: max(16, D - half)),
        "The rest is not rounded up: a tile's width is a power of two.",
    ),
    "rest-too-narrow": (
        parts_with(rest=lambda D, half: _power(D - half)),
        "The rest is narrower than 16 columns: tensor cores take 16 at least.",
    ),
    "whole-too-narrow": (
        lambda D: (_power(D), 0) if D < 9 else column_parts_ref(D),
        "A head of a few columns gets a tile of fewer than 16.",
    ),
    "narrow-first": (
        lambda D: tuple(sorted(column_parts_ref(D))),
        "The wide tile comes first: (64, 32) for heads of 96.",
    ),
    "half-twice": (
        parts_with(way=lambda whole, half, left: (half, half)),
        "Two halves are as wide as the whole. The second tile holds the rest alone.",
    ),
    "whole-and-rest": (
        parts_with(
            way=lambda whole, half, left: (whole, left) if half + left < whole else (whole, 0)
        ),
        "The first of two tiles is the next power of two *below* D.",
    ),
}

PARTS = [
    case(f"heads of {D}", D=D) for D in (64, 96, 80, 128, 72, 40, 16, 8, 24, 112, 65, 256, 160, 200)
]
HIDDEN_PARTS = [case(f"heads of {D}", D=D) for D in (1, 17, 32, 48, 33, 81, 97, 100, 144, 192, 255)]

# --- flash_gqa_record


def attention_case(note, B, H, HK, Lq, Lk, D, causal=True, scale=None, **more):
    """A case of flash_gqa_record. keys: how they are drawn. layouts: of q, k and v."""
    layouts = more.pop("layouts", ("contiguous",) * 3)
    q = tensor(B, H, Lq, D, layout=layouts[0])
    k = tensor(B, HK, Lk, D, layout=layouts[1], **more.pop("keys", {}))
    v = tensor(B, HK, Lk, D, layout=layouts[2])
    return case(note, q=q, k=k, v=v, causal=causal, scale=scale, **more)


CASES = [
    attention_case("every key seen, float32", 1, 2, 2, 40, 75, 32, causal=False),
    attention_case("causal, float32", 1, 2, 2, 40, 75, 32),
    attention_case("half precision: described", 2, 2, 2, 70, 300, 32, dtype="float16"),
    attention_case("heads of 96: 64 and 32 columns", 2, 2, 2, 70, 200, 96, dtype="float16"),
    attention_case("heads of 40, float32", 1, 2, 1, 20, 70, 40),
    attention_case("heads of 80, bfloat16", 1, 4, 2, 20, 150, 80, False, dtype="bfloat16"),
    attention_case("scores that grow", 1, 1, 1, 40, 100, 40, False, keys={"values": growing(90.0)}),
    attention_case(
        "scores that grow, half precision",
        1, 2, 1, 40, 300, 72, False,
        keys={"values": growing(20.0)},
        dtype="float16",
    ),  # fmt: skip
    attention_case(
        "large scores, the largest in the middle",
        1, 2, 1, 40, 60, 48, False,
        keys={"values": hill(120.0)},
    ),  # fmt: skip
    attention_case("more queries than keys", 1, 2, 1, 20, 9, 24),
    attention_case("memory with gaps", 1, 4, 2, 20, 33, 40, layouts=("strided",) * 3),
    attention_case(
        "k and v by columns, half precision",
        1, 4, 2, 12, 150, 96,
        layouts=("transposed",) * 3,
        dtype="float16",
    ),  # fmt: skip
    attention_case("a scale of its own", 1, 2, 1, 5, 20, 96, scale=0.6),
    attention_case("heads of 192", 1, 2, 1, 20, 90, 192, dtype="float16"),
    attention_case("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
    attention_case("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
]
HIDDEN_CASES = [
    attention_case("groups of five", 1, 5, 1, 17, 20, 16),
    attention_case("heads of 256", 1, 2, 1, 33, 130, 256, dtype="bfloat16"),
    attention_case("heads of 112", 2, 4, 2, 65, 140, 112, dtype="float16"),
    attention_case("heads of 144", 2, 2, 2, 65, 140, 144, False, dtype="float16"),
    attention_case("one token of a text", 1, 8, 2, 1, 200, 80, dtype="float16"),
    attention_case("large scores, bfloat16", 1, 2, 1, 70, 200, 96, dtype="bfloat16",
                   keys={"values": hill(30.0)}),  # fmt: skip
    attention_case(
        "other orders", 2, 2, 1, 9, 33, 40, layouts=("transposed", "strided", "expanded")
    ),
    attention_case("no queries", 1, 2, 1, 0, 9, 16),
]

# --- mistakes of tiles and parts


def columns(scores=None, values=None):
    """Attention where the second part of the head goes otherwise.

    scores: of (q, k) of both parts, ((q1, q2), (k1, k2)), to the bare scores. values: of (v, D1,
    tile, s) to what is weighted, or to the whole result.
    """

    def wrong(q, k, v, causal=False, scale=None):
        D1, D2 = column_parts_ref(q.shape[-1])
        if not D2:
            return attention_ref(q, k, v, causal, scale)
        q1, q2 = q[..., :D1], q[..., D1:]
        shared = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        k1, k2 = shared[..., :D1], shared[..., D1:]
        s = all_scores(q, k, scale)
        if scores:
            s = scores(q1, q2, k1, k2) * scale_of(q, scale)
        seen = torch.arange(k.shape[2]) < keys_seen(q, k, causal)[:, None]
        s = s.masked_fill(~seen, NEVER)
        return softmax_of(s, values(v, D1) if values else v)

    return wrong


def first_columns_again(x, width):
    """The first columns of x as a tile of the rest, cut or padded to `width`."""
    return torch.nn.functional.pad(x[..., :width], (0, max(0, width - x.shape[-1])))


def rest_by(formula):
    """The result with the columns of the second part from a formula."""

    def wrong(q, k, v, causal=False, scale=None):
        D1, D2 = column_parts_ref(q.shape[-1])
        o, lse = attention_ref(q, k, v, causal, scale)
        if D2:
            o = torch.cat([o[..., :D1], formula(q, k, v, causal, scale)[0][..., D1:]], dim=-1)
        return o, lse

    return wrong


def zeros(q, k, v, causal, scale):
    return torch.zeros_like(q), None


def heads_swapped(x):
    """What a descriptor finds at [head, batch]: zeros where there is no such one."""
    B, HK = x.shape[:2]
    found = torch.zeros_like(x)
    both = min(B, HK)
    found[:both, :both] = x[:both, :both].transpose(0, 1)
    return found


def part_mistakes(tile):
    return {
        "rest-not-in-scores": (
            columns(scores=lambda q1, q2, k1, k2: q1 @ k1.mT),
            "The scores know the first D1 columns of the heads alone. Where D2 > 0, q_rest and "
            "k_rest add to them.",
        ),
        "rest-alone-in-scores": (
            columns(scores=lambda q1, q2, k1, k2: q2 @ k2.mT),
            "The scores know the last columns of the heads alone: the second product takes the "
            "place of the first. Add to it.",
        ),
        "rest-of-o-is-zero": (
            rest_by(zeros),
            "The first D1 columns of o are right, the others 0: acc_rest is never added to.",
        ),
        "rest-not-rescaled": (
            rest_by(without("acc", tile.N)),
            "The first D1 columns of o are right. acc_rest is not multiplied by alpha when m grows.",
        ),
        "rest-starts-again": (
            rest_by(without("new acc", tile.N)),
            "The first D1 columns of o are right. acc_rest holds what the last tile of keys adds.",
        ),
        "rest-counted-twice": (
            rest_by(without("acc twice", tile.N)),
            "The first D1 columns of o are right. The old acc_rest is added twice (`+=`).",
        ),
        "first-columns-again": (
            columns(
                scores=lambda q1, q2, k1, k2: (
                    q1 @ k1.mT + q2 @ first_columns_again(k1, q2.shape[-1]).mT
                ),
                values=lambda v, D1: torch.cat(
                    [v[..., :D1], v[..., : v.shape[-1] - D1]], dim=-1
                ),
            ),
            "The second tile of K and of V holds the head's first columns again: its columns begin "
            "at FIRST.",
        ),
        "heads-and-batches-swapped": (
            other_arguments(
                lambda q, k, v, causal: (q, heads_swapped(k), heads_swapped(v), causal)
            ),
            "A descriptor's indices follow the tensor's dimensions: batch, head, row, column. Here "
            "batch and head are swapped.",
        ),
        "limit-upside-down": (
            lambda q, k, v, causal=False, scale=None: softmax_of(
                all_scores(q, k, scale).masked_fill(
                    torch.arange(k.shape[2]) < keys_seen(q, k, causal)[:, None], NEVER
                ),
                v,
            ),
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


def mistakes(tile):
    return part_mistakes(tile) | kernel_mistakes(tile, softmax_of, START)


def in_this_tile(code):
    def wrong(q, k, v, causal=False, scale=None, *, dtype):
        tile = chosen(*(x.to(dtype) for x in (q, k, v)))["tile"]
        formula, _ = mistakes(Tile(tile["BLOCK_M"], tile["BLOCK_N"]))[code]
        return formula(q, k, v, causal, scale)

    return wrong


MISTAKES = {
    code: (in_this_tile(code), sentence) for code, (_, sentence) in mistakes(Tile(16, 16)).items()
}


def compiles_for_an_h100(fn):
    """An assertion: arguments that only an H100 gets as descriptors, and two branches."""
    of = CASES[3]
    found = compile_gate(fn, arguments(of), of.options, arch=90)
    assert found.ok is not False, (
        f"For an H100 it does not compile: {found.message} In load_tile, does the second way stand "
        "under `else:`?"
    )


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


CHECKS = {
    "which_tile": Check(
        which_tile_ref, ORDERS, HIDDEN_ORDERS, triton=False, mistakes=ORDER_MISTAKES
    ),
    "column_parts": Check(
        column_parts_ref, PARTS, HIDDEN_PARTS, triton=False, mistakes=PARTS_MISTAKES
    ),
    "flash_gqa_record": Check(
        attention_ref,
        CASES,
        HIDDEN_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=MISTAKES,
        no_tf32=True,
        also=[full_tiles_have_no_mask]
        + [compiles_for_an_h100] * (triton_version() >= (3, 6)),
    ),
}
