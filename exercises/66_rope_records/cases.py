"""What the checks of 66_rope_records try: cases and references."""

import functools
import itertools

import numpy as np
import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import SAME_BITS, Check, case, rounded_once, tensor
from tritonbook.checking.asks import at_first, launches, starts, stores_once
from tritonbook.seeing.tiles import CannotShow, watch
from tritonbook.words import later

from ..shared import rope
from ..shared.rope import rope_case
from .page import rope_ref


def accesses(fn, *args, **options):
    """Loads and stores of a call, in order; none where nobody can watch: on a GPU."""
    try:
        return watch(fn, args, options).accesses
    except CannotShow:
        return []


def side_by_side_somewhere(access):
    """Do the active lanes of a tile ask for neighbours, along one of its axes?"""
    places = access.addresses.reshape(access.shape)
    active = (
        np.ones(access.shape, bool) if access.mask is None else access.mask.reshape(places.shape)
    )
    for axis in range(places.ndim):
        steps = np.diff(places, axis=axis)
        both = active.take(range(steps.shape[axis]), axis) & active.take(
            range(1, steps.shape[axis] + 1), axis
        )
        if both.any() and (steps[both] == access.itemsize).all():
            return True
    return False


def assert_side_by_side(found, mend):
    """Of tensors without gaps: does each load and store go to neighbours?"""
    for each in found:
        assert side_by_side_somewhere(each), (
            f"The values are right, but in a `tl.{each.kind}` lanes side by side have elements "
            f"that are apart: each goes by itself, not 16 bytes at once. {mend}"
        )


STORED_AGAIN = (
    "The values are right here, but two stores of a program go to the same elements, and nothing "
    "says which comes last on a GPU. Which lanes does the mask of each half let through?"
)


# --- to_halves


def to_halves_ref(x):
    return torch.cat((x[:, 0::2], x[:, 1::2]), dim=1)


HALVES = [
    case("powers of two", x=tensor(4, 16)),
    case("3 pairs a row", x=tensor(5, 6, planted={(1, 2): -0.0, (3, 1): -0.0})),
    case("10 pairs, more rows than a program takes", x=tensor(70, 20)),
    case("rows with gaps", x=tensor(9, 12, layout="strided")),
    case("transposed", x=tensor(6, 10, layout="transposed")),
    case("half precision, 11 pairs", x=tensor(3, 22), dtype="float16"),
    case("one pair", x=tensor(7, 2)),
    case("no rows", x=tensor(0, 8)),
    case("columns that do not make pairs", x=tensor(3, 7), raises=ValueError),
    case("one column", x=tensor(4, 1), raises=ValueError),
    case("one row repeated", x=tensor(6, 36, layout="expanded")),
]

HIDDEN_HALVES = [
    case("65 pairs, 3 programs", x=tensor(9, 130)),
    case("a row longer than a program's pairs", x=tensor(3, 1100)),
    case("one row", x=tensor(1, 48), dtype="bfloat16"),
    case("7 pairs, many rows", x=tensor(200, 14, layout="strided"), dtype="float16"),
    case("an odd start in memory", x=tensor(5, 24, layout="offset")),
    case("other memory, transposed", x=tensor(130, 18, layout="transposed")),
]


def loads_whole_rows(fn):
    mend = "Load whole rows, take neighbours apart with `tl.split`, and store two halves."
    assert_side_by_side(accesses(fn, torch.randn(4, 16, device=DEVICE)), mend)


# --- rope_record


def record(note, *sizes, pairs=None, **more):
    """A case of `rope_record`; pairs: of q in a program, where that is said."""
    return rope_case(note, *sizes, options={"pairs": pairs} if pairs else {}, **more)


def rope_record_ref(q, k, cos, sin, interleaved=False, pos_offset=0, pairs=512):
    """The reference, where tables of another dtype do not change that of the results."""
    both = rope_ref(q, k, cos, sin, interleaved, pos_offset)
    return tuple(y.to(x.dtype) for x, y in zip((q, k), both, strict=True))


def tokens_of_a_program(q, pairs):
    lanes = triton.next_power_of_2(q.shape[1]) * triton.next_power_of_2(q.shape[3] // 2)
    return max(1, pairs // lanes)


def full_programs(q, k, cos, sin, interleaved=False, pos_offset=0, pairs=512):
    return q.shape[0] * -(-q.shape[2] // tokens_of_a_program(q, pairs))


interleaved = functools.partial(record, interleaved=True)
GAPS, TURNED = {"layout": "strided"}, {"layout": "transposed"}
FLOAT32 = dict.fromkeys(("cos", "sin"), {"dtype": "float32"})
CASES = [
    record("two tokens a program, powers of two", 2, 4, 4, 6, 16, pairs=64),
    interleaved("interleaved, powers of two", 2, 2, 1, 6, 16, pairs=32),
    record("10 pairs, the last program not full", 1, 6, 3, 5, 20),
    interleaved("interleaved, 12 pairs", 2, 3, 1, 5, 24, pairs=128),
    record("positions from 7 on", 1, 2, 2, 5, 16, positions=20, offset=7, pairs=32),
    record("tables of width D", 1, 2, 1, 5, 16, wide=5),
    interleaved("interleaved, tables of width D, offset", 1, 3, 2, 4, 12, offset=2, wide=7),
    record("memory with gaps", 2, 2, 2, 3, 16, layout="strided", pairs=32),
    interleaved("interleaved, elements not side by side", 1, 3, 3, 5, 12, layout="transposed"),
    record("only k's elements not side by side", 1, 3, 2, 5, 12, k_layout="transposed", pairs=64),
    record("the other way round", 1, 2, 2, 4, 14, layout="transposed", k_layout="contiguous"),
    record("tables with gaps", 1, 2, 2, 4, 16, cos=GAPS, sin=TURNED),
    record("half precision", 2, 3, 1, 3, 40, dtype="float16"),
    record("half precision, tables in float32", 1, 4, 2, 6, 48, dtype="float16", **FLOAT32),
    interleaved("a token with more pairs", 1, 5, 2, 3, 24, pairs=16),
    record("positions that the tables lack", 1, 2, 2, 4, 16, offset=2, raises=ValueError),
    record("no tokens", 1, 2, 1, 0, 8, positions=3),
    record("an odd head dimension", 1, 2, 2, 3, 7, raises=ValueError),
    interleaved("one batch repeated", 2, 2, 2, 3, 8, layout="expanded"),
]

HIDDEN_CASES = [
    record("one head, one token", 1, 1, 1, 1, 2),
    interleaved("interleaved, one pair", 2, 3, 1, 5, 2, pairs=8),
    record("one head, many tokens", 2, 1, 1, 37, 8, pairs=64),
    record("half precision, default", 3, 5, 1, 9, 40, dtype="float16"),
    interleaved("bfloat16, interleaved", 1, 3, 2, 7, 12, pairs=64, dtype="bfloat16"),
    record("more pairs than a program has", 1, 12, 2, 3, 128),
    interleaved("interleaved, 28 heads", 1, 28, 4, 2, 64),
    record("more heads for k", 1, 2, 5, 6, 12, pairs=32),
    interleaved("interleaved, offset", 2, 2, 1, 7, 20, positions=13, offset=6, pairs=64),
    record("half-split, tables of width D, offset", 2, 2, 1, 3, 12, offset=2, wide=6),
    interleaved("interleaved, other memory with gaps", 2, 4, 2, 5, 18, layout="strided"),
    record("transposed memory", 1, 3, 3, 5, 22, layout="transposed", pairs=64),
    interleaved("an odd start in memory", 1, 2, 3, 4, 16, layout="offset"),
    interleaved("interleaved, tables with gaps", 1, 2, 2, 4, 16, cos=TURNED, sin=GAPS),
    record("large values", 1, 2, 2, 3, 16, cos={"scale": 100.0}),
]


def tokens_in_a_program(fn):
    """The rule for BLOCK_T on small calls, before cases on which a wrong one takes long."""
    for H, D, L, pairs in (2, 8, 20, 16), (3, 10, 12, 64), (3, 10, 4, 16), (1, 4, 64, 16):
        q, k = torch.randn(1, H, L, D, device=DEVICE), torch.randn(1, 1, L, D, device=DEVICE)
        tables = torch.randn(2, L, D // 2, device=DEVICE).unbind(0)
        try:
            started = watch(fn, (q, k, *tables), {"pairs": pairs}).launches[-1].grid[0]
        except CannotShow as error:
            assert "ZeroDivision" not in str(error), (
                f"BLOCK_T is 0 where a token of {H} heads of {D} has more pairs than `pairs`, "
                f"{pairs}. A program takes at least one token."
            )
            return
        wanted = full_programs(q, k, *tables, pairs=pairs)
        assert started == wanted, (
            f"With pairs={pairs}, {L} tokens of {H} heads of {D} make {wanted} programs, and "
            f"{started} were started. A program takes BLOCK_T tokens: as many as make `pairs` "
            "pairs of q, heads and pairs rounded up as their tile is."
        )


def into_out(fn):
    """The results go into the tensors that come as `out`, and these are returned."""
    q, k = torch.randn(1, 4, 5, 8, device=DEVICE), torch.randn(1, 2, 5, 8, device=DEVICE)
    cos, sin = torch.randn(2, 5, 4, device=DEVICE).unbind(0)
    out = torch.zeros_like(q), torch.zeros_like(k)
    found = fn(q, k, cos, sin, out=out)
    assert all(one is two for one, two in zip(found, out, strict=True)), (
        "The tensors that came as `out` have to be returned."
    )
    assert rope.agree(out, rope.right(q, k, cos, sin)), (
        "The results belong into the tensors of `out`."
    )


def into_memory_with_gaps(fn):
    for interleaved in (False, True):
        rope.into_other_memory(
            fn,
            interleaved,
            need=later("the loads need the strides of q and k, the stores those of `out`"),
        )


def over_its_own_inputs(fn):
    for interleaved in (False, True):
        rope.over_its_inputs(fn, interleaved)


def turned(fn, interleaved):
    q, k = torch.randn(2, 1, 1, 4, 16, device=DEVICE).unbind(0)
    return accesses(fn, q, k, *torch.randn(2, 4, 8, device=DEVICE), interleaved=interleaved)


def loads_whole_heads(fn):
    mend = "Load whole heads and `tl.split` them; `tl.join` the partners and store whole heads."
    assert_side_by_side(turned(fn, True), mend)


def loads_come_first(fn):
    kinds = [each.kind for each in turned(fn, False)]
    after = itertools.dropwhile(lambda kind: kind == "load", kinds)
    assert "load" not in after, (
        "The values are right, but a load stands below a store, and waits for what is stored. Load "
        "q and k first, then store both: step 2."
    )


CHECKS = {
    "to_halves": Check(
        to_halves_ref,
        HALVES,
        HIDDEN_HALVES,
        asks=[launches(1), loads_whole_rows, stores_once(STORED_AGAIN)],
        tolerance=SAME_BITS,
    ),
    "rope_record": Check(
        rope_record_ref,
        CASES,
        HIDDEN_CASES,
        results=("q_out", "k_out"),
        asks=[
            at_first(tokens_in_a_program),
            launches(1),
            starts(full_programs),
            rope.heads_behind_tokens,
            into_out,
            into_memory_with_gaps,
            over_its_own_inputs,
            loads_whole_heads,
            loads_come_first,
            stores_once(STORED_AGAIN),
        ],
        tolerance=rounded_once(terms=2),
    ),
}
