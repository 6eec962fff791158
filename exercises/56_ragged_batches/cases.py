"""What the checks of 56_ragged_batches try: cases and what they ask for besides values."""

import collections
import contextlib

import torch
import triton

from tritonbook import INTERPRET, backwards
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import (
    METER,
    Ask,
    at_first,
    exact_float32,
    launches,
    moves,
    offsets_of_64_bits,
    shares_work,
    starts_at_most,
)
from tritonbook.checking.report import Finding
from tritonbook.seeing.meter import fenced
from tritonbook.seeing.record import LOAD

from ..shared.attention import DEEP, by_token, close_enough, growing
from .page import flash_ragged_ref, locate_tokens_ref, tiles_of

MANY = 10_000
MORE = 70_000  # an index of 16 bits, and a search of 16 steps, end below it


def prefix_sums(lengths):
    ends = torch.tensor(lengths).cumsum(0)
    return torch.nn.functional.pad(ends, (1, 0))


def integers(numbers):
    return tensor(len(numbers), dtype="int32", values=lambda *_: numbers)


def one_in(every, count=MORE):
    """So many lengths, nearly all of them 0."""
    return [int(s % every == every - 1) for s in range(count)]


# --- locate_tokens


def located(note, lengths, block=16):
    return case(
        note, cu_seqlens=integers(prefix_sums(lengths)), T=sum(lengths), options={"block": block}
    )


LOCATED = [
    located("lengths 5, 2, 0 and 7", [5, 2, 0, 7]),
    located("11 sequences in tiles of 16", [9, 1, 4, 12, 3, 1, 7, 2, 30, 5, 8]),
    located("one sequence", [21]),
    located("two sequences", [3, 20]),
    located("one token each", [1] * 37),
    located("empty ones first, last and between", [0, 0, 4, 0, 0, 0, 13, 1, 0]),
    located("17 sequences, one more than a power of two", [2] * 17),
    located("one of 40,000 tokens, then short ones", [40_000, 1, 1, 1, 1], block=8192),
    located("10,000 sequences, of a token or of none", [1, 0, 1, 1, 0] * (MANY // 5), block=1024),
    located("70,000 sequences, 40 of them not empty", one_in(1750), block=64),
    case(
        "64-bit sums", cu_seqlens=tensor(3, dtype="int64", values="zeros"), T=0, raises=ValueError
    ),
]

HIDDEN_LOCATED = [
    located("33 sequences", [n % 5 for n in range(33)]),
    located("64 sequences, tiles of 32", [(7 * n) % 11 for n in range(64)], block=32),
    located("one token", [0, 1, 0]),
    located("10,000 tokens, one each", [1] * MANY, block=1024),
    located("no tokens", [0, 0, 0]),
]


def few_loads(call):
    """Two loads more than the search's steps for each lane: for who looks at B, or at both ends."""
    sequences = len(call.trial.values["cu_seqlens"]) - 1
    steps = (sequences - 1).bit_length()
    programs = collections.Counter(each.program for each in call.seen.accesses if each.kind == LOAD)
    loads = max(programs.values(), default=0)
    if loads <= steps + 3:
        return None
    return Finding(
        "slow",
        f"Each lane loads {loads} numbers of `cu_seqlens`. A binary search among "
        f"{sequences} sequences takes {steps}, and the token's position one more.",
    )


# --- flash_ragged


def ragged(note, lengths, H, HK, D, BLOCK_M=32, dtype="float32", queries=None, keys=None):
    """queries, keys: how rows of a head are drawn."""

    def rows(heads, values=None):
        return tensor(T, heads, D, values=by_token(values) if values else "normal")

    cu_seqlens, T = prefix_sums(lengths), sum(lengths)
    return case(
        note,
        q=rows(H, **queries or {}),
        k=rows(HK, **keys or {}),
        v=tensor(T, HK, D),
        cu_seqlens=integers(cu_seqlens),
        cu_tiles=integers(tiles_of(cu_seqlens, BLOCK_M)),
        BLOCK_M=BLOCK_M,
        dtype=dtype,
    )


# Sequences of such lengths that a mistake leaves other rows out than another one does.
RAGGED = [
    ragged("lengths 20, 0, 41 and 7", [20, 0, 41, 7], 1, 1, 16),
    ragged("one sequence, exactly two tiles", [64], 1, 1, 16),
    ragged("two heads", [19, 35], 2, 2, 16),
    ragged("four heads share two", [37, 3, 18], 4, 2, 16),
    ragged("three heads share one", [5, 33], 3, 1, 16),
    ragged("tiles of 16", [30, 16, 0, 3, 49], 1, 1, 16, BLOCK_M=16),
    ragged("many short ones", [1, 4, 2, 7, 0, 3, 1, 1, 9, 5, 0], 1, 1, 16, BLOCK_M=16),
    ragged("empty ones first and last", [0, 0, 17, 0, 6, 0], 1, 1, 16, BLOCK_M=16),
    # more sequences than tokens: a program for each would be too many, and 70,000 take long
    ragged("one token and two empty sequences", [0, 1, 0], 1, 1, 16),
    ragged("one token", [1], 1, 1, 16),
    ragged("large scores that grow", [50, 45], 1, 1, 16, keys={"values": growing(60.0)}),
    ragged("scores of -2^30 that grow", [40, 3], 2, 1, 16, **DEEP),
    ragged("half precision, tiles of 128", [150, 20, 260], 1, 1, 64, BLOCK_M=128, dtype="float16"),
    ragged("70,000 sequences, 20 of them of one token", one_in(3500), 1, 1, 16),
    ragged("no tokens", [0, 0], 1, 1, 16),
    case(
        "keys for other tokens",
        q=tensor(8, 2, 16),
        k=tensor(9, 2, 16),
        v=tensor(9, 2, 16),
        cu_seqlens=integers(torch.tensor([0, 8])),
        cu_tiles=integers(torch.tensor([0, 1])),
        BLOCK_M=32,
        raises=ValueError,
    ),
    case(
        "not contiguous",
        q=tensor(8, 2, 16, layout="strided"),
        k=tensor(8, 2, 16),
        v=tensor(8, 2, 16),
        cu_seqlens=integers(torch.tensor([0, 8])),
        cu_tiles=integers(torch.tensor([0, 1])),
        BLOCK_M=32,
        raises=ValueError,
    ),
]

HIDDEN_RAGGED = [
    ragged("six heads share three", [9, 40, 0, 22], 6, 3, 32),
    ragged("bfloat16, tiles of 64", [70, 64, 3], 2, 2, 32, BLOCK_M=64, dtype="bfloat16"),
    ragged("heads of 128, half precision", [33, 90], 1, 1, 128, BLOCK_M=64, dtype="float16"),
    ragged("lengths of whole tiles", [32, 64, 32], 2, 1, 16),
    ragged("one token each", [1] * 12, 1, 1, 16, BLOCK_M=16),
    ragged("nine sequences", [3, 18, 0, 33, 1, 7, 12, 0, 5], 1, 1, 16, BLOCK_M=16),
]


def most_programs(q, k, v, cu_seqlens, cu_tiles, BLOCK_M):
    T, H, _ = q.shape
    return (triton.cdiv(T, BLOCK_M) + min(len(cu_seqlens) - 1, T)) * H


def own_keys_alone(traffic, q, k, v, cu_seqlens, cu_tiles, BLOCK_M):
    """Each tile reads the keys from its sequence's first to its own last query."""
    if not len(q):
        return
    rows = sum(
        min(length, first + BLOCK_M)
        for length in cu_seqlens.diff().tolist()
        for first in range(0, length, BLOCK_M)
    )
    read = traffic["k"].read // (k.element_size() * k.shape[2] * q.shape[1])
    assert read <= rows, (
        f"{read} keys are read for each head, and {rows} are enough. A tile's walk begins at its "
        "sequence's first key and ends where its last query ends, or its sequence if that is "
        "earlier: `end`."
    )


def no_tile_crosses(fn):
    """In the interpreter programs run one after another, and the next sequence's own tile would
    hide what the one before stored into it: so from the first to the last, and back."""
    if not INTERPRET:
        return
    q, k, v = torch.randn(3, 10, 1, 16).unbind(0)
    cu_seqlens = torch.tensor([0, 5, 10], dtype=torch.int32)
    given = q, k, v, cu_seqlens, tiles_of(cu_seqlens, 16), 16
    want, right = flash_ragged_ref(*given), []
    for order in contextlib.nullcontext, backwards:
        try:
            with order(), fenced():
                close = torch.isclose(fn(*given), want, rtol=1e-3, atol=1e-4)
        except Exception:  # the cases say what is wrong with it
            return
        right.append((bool(close[:5].all()), bool(close[5:].all())))
    assert sorted(right) != [(True, False), (True, True)], (
        "A tile stores rows of the next sequence. Here are two of 5 tokens, in tiles of 16: the "
        "first tile's queries end with its own sequence. Mask them by that one's length, or by the "
        "token where it ends, not by T."
    )


def returns_without_a_tile(fn):
    """Three tiles in up to five programs. Whoever does not return walks past the last sequence, in
    `attend`, where the meter would say that a mask is missing."""
    if not INTERPRET:
        return
    q, k, v = torch.randn(3, 37, 1, 16).unbind(0)
    cu_seqlens = torch.tensor([0, 16, 32, 37], dtype=torch.int32)
    with fenced() as seen, contextlib.suppress(Exception):
        fn(q, k, v, cu_seqlens, tiles_of(cu_seqlens, 16), 16)
    astray = {max(access.program) for access in seen.accesses}
    assert not astray or min(astray) < 3, (
        f"Program {min(astray)} has no tile, and does not return: it reads past the last sequence. "
        "There are cu_tiles[B] tiles, from number 0 on, and the grid has more programs than that. "
        "Are cu_seqlens and cu_tiles in the kernel's order?"
    )


CHECKS = {
    "locate_tokens": Check(
        locate_tokens_ref,
        LOCATED,
        HIDDEN_LOCATED,
        asks=[launches(1), Ask(METER, few_loads)],
        results=("sequence", "position"),
    ),
    "flash_ragged": Check(
        flash_ragged_ref,
        RAGGED,
        HIDDEN_RAGGED,
        asks=[
            at_first(returns_without_a_tile),
            at_first(no_tile_crosses),
            launches(1),
            starts_at_most(most_programs),
            exact_float32(),
            offsets_of_64_bits("q", "k", "v"),
            moves(own_keys_alone),
            shares_work(),
        ],
        tolerance=close_enough,
    ),
}
