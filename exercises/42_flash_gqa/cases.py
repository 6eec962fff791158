"""What the checks of 42_flash_gqa try: cases, and mistakes that have a name."""

import contextlib
import functools
import inspect

import torch
import triton

from tritonbook import DEVICE, INTERPRET
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.cases import arguments
from tritonbook.checking.kernel_text import refusal
from tritonbook.seeing.compiled import compile_gate
from tritonbook.seeing.meter import fenced

from ..shared.attention import (
    DEEP,
    LN_2,
    Tile,
    all_scores,
    attention_ref,
    careless_softmax_of,
    close_enough,
    counted,
    growing,
    hill,
    in_steps,
    kernel_mistakes,
    other_arguments,
    other_diagonal,
    scores_ref,
    softmax_of,
    with_a_text,
    with_lse,
    without,
)
from .page import attention_tile, flash_two_phases

START = -1e38  # of m

# --- walk_bounds


def bounds_ref(first, last, Lq, Lk, causal, BLOCK_N):
    if not causal:
        first = last = Lq - 1
    fewest = max(0, min(Lk, first + 1 + Lk - Lq))
    return fewest // BLOCK_N * BLOCK_N, max(0, min(Lk, last + 1 + Lk - Lq))


def bounds_with(full=None, end=None, seen=None, clamp=True):
    """The bounds with one thing done otherwise.

    full, end: of (keys that the first query sees, those of the last, Lk, N). seen: keys that a
    query at a position sees, of (position, Lq, Lk).
    """

    def wrong(first, last, Lq, Lk, causal, BLOCK_N):
        first, last = (first, last) if causal else (Lq - 1, Lq - 1)
        keys = [(seen or (lambda p, Lq, Lk: p + 1 + Lk - Lq))(p, Lq, Lk) for p in (first, last)]
        few, many = [max(0, min(Lk, n)) for n in keys] if clamp else keys
        return (
            (full or (lambda few, many, Lk, N: few // N * N))(few, many, Lk, BLOCK_N),
            (end or (lambda few, many, Lk, N: many))(few, many, Lk, BLOCK_N),
        )

    return wrong


def bounds_at_most_queries(first, last, Lq, Lk, causal, BLOCK_N):
    few, many = (
        max(0, min(Lq, position + 1 + Lk - Lq))
        for position in ((first, last) if causal else (Lq - 1, Lq - 1))
    )
    return few // BLOCK_N * BLOCK_N, many


BOUNDS_MISTAKES = {
    "causal-ignored": (
        lambda first, last, Lq, Lk, causal, N: bounds_ref(first, last, Lq, Lk, False, N),
        "causal makes no difference here. With it, query i sees i + 1 + Lk - Lq keys.",
    ),
    "always-causal": (
        lambda first, last, Lq, Lk, causal, N: bounds_ref(first, last, Lq, Lk, True, N),
        "Without causal each query sees all Lk keys, wherever it stands.",
    ),
    # before the next, which shows with a cache too
    "offset-not-below-zero": (
        bounds_with(seen=lambda p, Lq, Lk: p + 1 + max(0, Lk - Lq)),
        "With more queries than keys, Lk - Lq is negative and has to stay so: query i sees i + 1 + "
        "Lk - Lq keys, and the first queries see nothing.",
    ),
    "no-offset": (
        bounds_with(seen=lambda p, Lq, Lk: p + 1),
        "The last query sees the last key: query i sees i + 1 + Lk - Lq keys, not i + 1.",
    ),
    "offset-upside-down": (
        bounds_with(seen=lambda p, Lq, Lk: p + 1 + Lq - Lk),
        "The offset has the wrong sign: with a cache Lk is larger, and the queries see more.",
    ),
    "own-key-missing": (
        bounds_with(seen=lambda p, Lq, Lk: p + Lk - Lq),
        "A query sees its own key too: i + 1 + Lk - Lq of them, one more than here.",
    ),
    "end-one-key-too-many": (
        bounds_with(end=lambda few, many, Lk, N: min(Lk, many + 1)),
        "The walk ends one key too late: the last query sees i + 1 + Lk - Lq keys.",
    ),
    "end-without-own-key": (
        bounds_with(end=lambda few, many, Lk, N: max(0, many - 1)),
        "The walk ends one key too early: the last query sees its own key too.",
    ),
    "full-without-own-key": (
        bounds_with(full=lambda few, many, Lk, N: max(0, few - 1) // N * N),
        "`full` is a tile short where the first query's own key ends a tile: that query sees "
        "i + 1 + Lk - Lq keys, its own included.",
    ),
    "full-of-the-last-query": (
        bounds_with(full=lambda few, many, Lk, N: many // N * N),
        "`full` goes by the last query. The first one sees fewer keys: it would look into the "
        "future.",
    ),
    "end-of-the-first-query": (
        bounds_with(end=lambda few, many, Lk, N: few),
        "The walk ends where the first query ends. The last one sees more keys.",
    ),
    "nothing-is-full": (
        bounds_with(full=lambda few, many, Lk, N: 0),
        "No tile is full, so the whole walk is masked: that is page 41's. How many keys does even "
        "the first query see?",
    ),
    "full-not-in-tiles": (
        bounds_with(full=lambda few, many, Lk, N: few),
        "`full` has to be a multiple of BLOCK_N: the masked walk begins there with a tile.",
    ),
    "full-in-tiles": (
        bounds_with(full=lambda few, many, Lk, N: few // N),
        "`full` is a number of keys here and below. This counts tiles: multiply by BLOCK_N.",
    ),
    "both-in-tiles": (
        bounds_with(full=lambda few, many, Lk, N: few // N, end=lambda few, many, Lk, N: many // N),
        "Both are numbers of keys. These are numbers of tiles.",
    ),
    "full-one-key-too-many": (
        bounds_with(full=lambda few, many, Lk, N: min(Lk, few + 1) // N * N),
        "`full` counts one key too many for the first query: it sees i + 1 + Lk - Lq keys.",
    ),
    "full-rounded-up": (
        bounds_with(full=lambda few, many, Lk, N: -(-few // N) * N),
        "`full` is rounded up. In its last tile the first query does not see all keys: round down.",
    ),
    "end-rounded-up": (
        bounds_with(end=lambda few, many, Lk, N: -(-many // N) * N),
        "`end` is the number of keys that the last query sees, as it is. Nothing is rounded.",
    ),
    "end-is-everything": (
        bounds_with(end=lambda few, many, Lk, N: Lk),
        "The walk goes on to the last key. It may stop where the last query of the tile stops.",
    ),
    "above-the-last-key": (
        bounds_with(
            seen=lambda p, Lq, Lk: max(0, p + 1 + Lk - Lq),
            clamp=False,
        ),
        "More keys than there are: the last query of a tile may lie past Lq. At most Lk.",
    ),
    "below-zero": (
        bounds_with(seen=lambda p, Lq, Lk: min(Lk, p + 1 + Lk - Lq), clamp=False),
        "A negative number of keys: with more queries than keys the first ones see nothing. At "
        "least 0.",
    ),
    "full-below-zero": (
        bounds_with(
            full=lambda few, many, Lk, N: min(Lk, few) // N * N,
            end=lambda few, many, Lk, N: max(0, min(Lk, many)),
            clamp=False,
        ),
        "`full` is negative: with more queries than keys the first ones see nothing. At least 0.",
    ),
    "end-at-most-the-queries": (
        lambda first, last, Lq, Lk, causal, N: (
            bounds_ref(first, last, Lq, Lk, causal, N)[0],
            bounds_at_most_queries(first, last, Lq, Lk, causal, N)[1],
        ),
        "The walk goes over keys, so it ends at Lk at most. Here it ends at Lq at most.",
    ),
    "at-most-the-queries": (
        bounds_at_most_queries,
        "Both are numbers of keys: at most Lk. Here they are at most Lq.",
    ),
    "nothing-at-all": (
        lambda first, last, Lq, Lk, causal, N: (
            (0, 0) if causal else bounds_ref(first, last, Lq, Lk, causal, N)
        ),
        "Both are always 0, as min(0, ...) is. Between 0 and Lk lies max(0, min(Lk, ...)).",
    ),
    "first-still-causal": (
        lambda first, last, Lq, Lk, causal, N: (
            bounds_ref(first, last, Lq, Lk, True, N)[0],
            bounds_ref(first, last, Lq, Lk, causal, N)[1],
        ),
        "Without causal the first query too sees all keys, and `full` goes by it.",
    ),
    "in-the-other-order": (
        lambda *given: bounds_ref(*given)[::-1],
        "The pair is (full, end); full comes first.",
    ),
}


def bounds_case(note, first, last, Lq, Lk, causal=True, BLOCK_N=16):
    return case(note, first=first, last=last, Lq=Lq, Lk=Lk, causal=causal, BLOCK_N=BLOCK_N)


BOUNDS_CASES = [
    bounds_case("a first query that ends a tile", 31, 78, 160, 160),
    bounds_case("the second tile of 64 queries", 64, 127, 160, 160, BLOCK_N=32),
    bounds_case("queries at the end of a cache", 0, 31, 64, 112),
    bounds_case("the last tile, past the last query", 64, 127, 70, 70, BLOCK_N=32),
    bounds_case("more queries than keys", 0, 31, 36, 22),
    bounds_case("more queries than keys, a later tile", 32, 63, 64, 50),
    bounds_case("a tile that sees nothing", 0, 7, 40, 9),
    bounds_case("a first query just before the end of a tile", 30, 61, 160, 160),
    bounds_case("every key seen, a ragged end", 0, 31, 64, 100, False, 32),
    bounds_case("every key seen, whole tiles", 0, 31, 64, 96, False, 32),
    bounds_case("every key seen, more queries than keys", 0, 31, 50, 20, False),
    bounds_case("one query of a long text", 0, 15, 1, 40),
]
HIDDEN_BOUNDS_CASES = [
    bounds_case("the first tile", 0, 127, 512, 512, BLOCK_N=64),
    bounds_case("wide tiles", 128, 255, 512, 512, BLOCK_N=64),
    bounds_case("an odd first query", 21, 42, 50, 77),
    bounds_case("every key seen, past the end", 32, 63, 40, 40, False),
    bounds_case("one token", 0, 15, 1, 1),
]


def works_in_a_kernel(fn):
    """What is right in Python need not be Triton's language: a list comprehension, an `int(...)`.

    The solution's kernel is compiled with this function for its bounds.
    """
    fn = with_a_text(fn)
    if fn is None:
        return
    says = "As a part of a kernel, where task 2 needs it, this does not work. "
    refused = refusal(fn)  # by the oldest Triton's language; the compiler here may know more
    assert refused is None, says + refused.sentence
    names = flash_two_phases.__globals__
    kept = {name: names[name] for name in ("walk_bounds", "bounds")}
    names.update(walk_bounds=fn, bounds=triton.jit(fn))
    try:
        for causal in (True, False):
            given = arguments(heads("", 1, 1, 64, 16, causal))
            found = compile_gate(flash_two_phases, given, arch=80)
            assert found.ok is not False, says + found.message
    finally:
        names.update(kept)


# --- kernels


def tile_of(dtype, rows=10**6):
    sizes = attention_tile(torch.empty(0, dtype=dtype), rows)
    return Tile(sizes["BLOCK_M"], sizes["BLOCK_N"])


def attention_case(note, B, H, HK, Lq, Lk, D, causal=True, scale=None, **more):
    """A case of flash_gqa. queries, keys: how they are drawn. layouts: of q, k and v."""
    layouts = more.pop("layouts", ("contiguous",) * 3)
    q = tensor(B, H, Lq, D, layout=layouts[0], **more.pop("queries", {}))
    k = tensor(B, HK, Lk, D, layout=layouts[1], **more.pop("keys", {}))
    v = tensor(B, HK, Lk, D, layout=layouts[2])
    return case(note, q=q, k=k, v=v, causal=causal, scale=scale, **more)


def heads(note, B, H, L, D, causal=True, **more):
    """A case of flash_two_phases: contiguous, of equal shapes."""
    made = attention_case(note, B, H, H, L, L, D, causal, **more)
    arguments = {name: value for name, value in made.arguments.items() if name != "scale"}
    return case(note, dtype=made.dtype, **arguments)


# --- mistakes of the bounds and of the limit


class Program:
    """What the formulas know of the programs of a call: numbers for each query, [H, Lq, 1]."""

    def __init__(self, q, k, causal, tile):
        H, Lq, Lk = q.shape[1], q.shape[2], k.shape[2]
        self.Lq, self.Lk, self.offset = Lq, Lk, Lk - Lq
        self.group, self.causal, self.tile = H // k.shape[1], causal, tile
        self.position = torch.arange(Lq)[None, :, None].expand(H, Lq, 1)
        self.row = self.position * self.group + (torch.arange(H) % self.group)[:, None, None]
        self.pid = self.row // tile.M

    def seen(self, position, causal=None):
        """How many keys the query at a position sees."""
        causal = self.causal if causal is None else causal
        return (position + 1 + self.offset if causal else 0 * position + self.Lk).clamp(0, self.Lk)

    def seen_of(self, position, Lq, Lk):
        """The same with other lengths."""
        return (position + 1 + Lk - Lq if self.causal else 0 * position + Lk).clamp(0, Lk)

    def full(self, position, causal=None):
        return self.seen(position, causal) // self.tile.N * self.tile.N

    @property
    def mirrored(self):
        """The number of the tile counted from the last one."""
        return -(-self.Lq * self.group // self.tile.M) - 1 - self.pid

    @property
    def first(self):
        return self.pid * self.tile.M // self.group

    @property
    def last(self):
        return (self.pid * self.tile.M + self.tile.M - 1) // self.group


def phases(tile, full=None, end=None, limit=None, softmax=softmax_of, mask=None):
    """What attend computes with other bounds. full, end, limit: numbers from a Program.

    mask: what masked tiles let through, of (keys, limit, a Program). Keys that are not loaded are
    zeros, so their score is 0.
    """

    def wrong(q, k, v, causal=False, scale=None):
        it = Program(q, k, causal, tile)
        fulls = full(it) if full else it.full(it.first)
        ends = end(it) if end else it.seen(it.last)
        limits = limit(it) if limit else it.seen(it.position)
        rest = tile.rounded_up(k.shape[2]) - k.shape[2] + tile.N
        k, v = (torch.nn.functional.pad(x, (0, 0, 0, rest)) for x in (k, v))
        keys = torch.arange(k.shape[2])
        loaded = (keys < fulls) | (keys < ends)
        masked = mask(keys, limits, it) if mask else keys < limits
        counts = (keys < fulls) | (masked & (keys < tile.rounded_up(ends)))
        s = (all_scores(q, k, scale) * loaded).masked_fill(~counts, float("-inf"))
        lse = torch.logsumexp(s, dim=-1)
        p = torch.exp(s - torch.where(lse == float("-inf"), 0.0, lse)[..., None]) * loaded
        o = p @ v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
        nothing = lse == float("-inf")
        if softmax is careless_softmax_of:
            o = o.masked_fill(nothing[..., None], float("nan"))
        return o, lse.float() if q.dtype != torch.float64 else lse

    return wrong


def crosswise(keys, limit, it):
    """Key number n of a tile as the row, and row m as the key, where heads do not share and both
    sides of the tile are equal."""
    M, N = it.tile
    if M != N or it.group > 1:
        return keys < limit
    n = keys % N
    return (
        keys - n + it.row % M < it.pid * M + n + 1 if it.causal else keys - n + it.row % M < it.Lk
    )


def phase_mistakes(tile, empty):
    def of(sentence, **how):
        return phases(tile, softmax=empty, **how), sentence

    return {
        "limit-one-short": of(
            "In the masked tiles a row misses the last key that it should see: limit is a number "
            "of keys, one more than the position of the last.",
            limit=lambda it: it.seen(it.position) - int(it.causal),
        ),
        "limit-one-too-far": of(
            "In the masked tiles a row sees one key too many: limit is the number of keys that it "
            "sees, i + 1 + Lk - Lq.",
            limit=lambda it: it.seen(it.position) + int(it.causal),
        ),
        "limit-ignores-causal": of(
            "Without causal every row sees all keys: limit is Lk then.",
            limit=lambda it: it.position + 1 + it.offset,
        ),
        "limit-is-everything": of(
            "In the tiles at the diagonal, rows see keys that come after them: limit is the same "
            "for all rows. It grows with the position.",
            limit=lambda it: it.position * 0 + it.Lk,
        ),
        "limit-upside-down": of(
            "The comparison with limit is upside down: in masked tiles rows see the keys from "
            "limit on, not those below it.",
            mask=lambda keys, limit, it: keys >= limit,
        ),
        "mask-crosswise": of(
            "The mask has its axes exchanged: in `s` queries go down and keys across, so limit is "
            "limit[:, None] and the keys are cols[None, :].",
            mask=crosswise,
        ),
        "mask-of-the-first-tile": of(
            "The mask compares a key's number in its tile, 0 to BLOCK_N - 1, with limit. `cols` "
            "has the keys' own numbers.",
            mask=lambda keys, limit, it: keys % it.tile.N < limit,
        ),
        "full-of-the-last-row": of(
            "Full tiles go by the last row of the tile. The first one sees fewer keys: it looks "
            "into the future.",
            full=lambda it: it.full(it.last),
        ),
        "end-of-the-first-row": of(
            "The walk of a program ends where its first row ends. Its last row sees the most keys.",
            end=lambda it: it.seen(it.first),
        ),
        "last-is-the-width": of(
            "The last query of the tile is number first + BLOCK_M - 1. bounds is given the tile's "
            "width for it.",
            end=lambda it: it.seen(it.position * 0 + it.tile.M),
        ),
        "bounds-of-another-tile": of(
            "The bounds are those of tile program_id(0). The programs take the tiles from the last "
            "one on: this one's is `pid_m`.",
            full=lambda it: it.full(it.mirrored * it.tile.M // it.group),
            end=lambda it: it.seen((it.mirrored * it.tile.M + it.tile.M - 1) // it.group),
        ),
        "limit-of-the-first-tile": of(
            "The keys are compared with the row of the tile, 0 to BLOCK_M - 1, as if each tile "
            "were the first one. limit and `cols` both count from the first key of the text: take "
            "nothing off.",
            limit=lambda it: (
                it.row % it.tile.M // it.group + 1 + it.offset
                if it.causal
                else it.seen(it.position)
            ),
        ),
        "bounds-in-tiles": of(
            "bounds wants the first and the last query of the tile. This gives it the number of "
            "the tile: multiply by BLOCK_M.",
            full=lambda it: it.full(it.pid),
            end=lambda it: it.seen(it.pid + it.tile.M - 1),
        ),
        "bounds-always-causal": of(
            "The bounds are causal ones whatever is asked: hand on CAUSAL.",
            full=lambda it: it.full(it.first, True),
            end=lambda it: it.seen(it.last, True),
        ),
        "bounds-never-causal": of(
            "The bounds are those without causal: hand on CAUSAL. As it is, full tiles reach into "
            "the future.",
            full=lambda it: it.full(it.first, False),
            end=lambda it: it.seen(it.last, False),
        ),
        "second-phase-lost": of(
            "The keys of the masked tiles never take part: either the walk ends before them, or "
            "limit shuts them out.",
            end=lambda it: it.full(it.first),
        ),
        "first-phase-lost": (
            counted(tile, lambda keys, seen, walk: (keys >= walk().full) & (keys < seen), empty),
            "The keys of the full tiles never take part: l and acc start again with the masked "
            "ones, or with each tile.",
        ),
    } | stride_mistakes()


def stride_mistakes():
    """Those of the strides that attend is called with, played on contiguous heads."""

    def of(sentence, change):
        formula = other_arguments(lambda q, k, v, causal: (q, *change(k, v), causal))
        return formula, f"{sentence} In a contiguous head a row is D elements from the next."

    def swapped(x):
        return in_steps(x, 1, x.shape[-1])

    def near(x):
        return in_steps(x, 1, 1)

    return {
        "k-strides-swapped": of(
            "The row stride and the column stride of K are swapped in the call of attend.",
            lambda k, v: (swapped(k), v),
        ),
        "v-strides-swapped": of(
            "The row stride and the column stride of V are swapped in the call of attend.",
            lambda k, v: (k, swapped(v)),
        ),
        "strides-swapped": of(
            "Row strides and column strides are swapped in the call of attend.",
            lambda k, v: (swapped(k), swapped(v)),
        ),
        "k-rows-one-apart": of(
            "The rows of K are read as far apart as columns: its row stride comes first.",
            lambda k, v: (near(k), v),
        ),
        "v-rows-one-apart": of(
            "The rows of V are read as far apart as columns: its row stride comes first.",
            lambda k, v: (k, near(v)),
        ),
    }


def group_mistakes(tile):
    """Those of rows, positions and heads."""

    def of(sentence, **how):
        return phases(tile, **how), sentence

    def other_lengths(lengths):
        return of(
            "bounds takes the number of queries, Lq, and then that of keys, Lk. Here it is given "
            "something else for one of them.",
            full=lambda it: it.seen_of(it.first, *lengths(it.Lq, it.Lk)) // tile.N * tile.N,
            end=lambda it: it.seen_of(it.last, *lengths(it.Lq, it.Lk)),
        )

    return {
        "bounds-without-group": of(
            "The bounds of the tile are taken from rows where positions are meant: divide the "
            "first and the last row by GROUP. As it is, full tiles reach into the future.",
            full=lambda it: it.full(it.pid * it.tile.M),
            end=lambda it: it.seen(it.pid * it.tile.M + it.tile.M - 1),
        ),
        "full-without-group": of(
            "`first` is a row where a position is meant: divide it by GROUP. As it is, full tiles "
            "reach into the future.",
            full=lambda it: it.full(it.pid * it.tile.M),
        ),
        "last-position-missing": of(
            "The walk ends before the position of the tile's last row: that is (pid_m * BLOCK_M + "
            "BLOCK_M - 1) // GROUP, also where GROUP does not divide the tile.",
            end=lambda it: it.seen((it.pid + 1) * it.tile.M // it.group - 1),
        ),
        "group-does-not-divide-the-tile": of(
            "BLOCK_M // GROUP positions to a tile: that is right only where GROUP divides it. Take "
            "the first and the last row of the tile, then divide.",
            full=lambda it: it.full(it.pid * (it.tile.M // it.group)),
            end=lambda it: it.seen((it.pid + 1) * (it.tile.M // it.group) - 1),
        ),
        "bounds-lengths-swapped": other_lengths(lambda Lq, Lk: (Lk, Lq)),
        "bounds-of-keys-alone": other_lengths(lambda Lq, Lk: (Lk, Lk)),
        "bounds-of-queries-alone": other_lengths(lambda Lq, Lk: (Lq, Lq)),
        "diagonal-in-rows": of(
            "The diagonal goes by rows. It depends on the position: the heads of a group see the "
            "same keys.",
            limit=lambda it: it.row + 1 + it.offset if it.causal else it.seen(it.position),
        ),
        "limit-of-the-last-row": of(
            "limit is that of the tile's last row for all of its rows. It grows with the position.",
            limit=lambda it: it.last + 1 + it.offset if it.causal else it.seen(it.position),
        ),
        # before the next, which shows with a cache too
        "limit-not-below-zero": of(
            "With more queries than keys, Lk - Lq is negative and has to stay so: position i sees "
            "i + 1 + Lk - Lq keys, and the first ones see nothing.",
            limit=lambda it: (
                it.position + 1 + max(0, it.offset) if it.causal else it.seen(it.position)
            ),
        ),
        "diagonal-from-the-top-left": of(
            "limit lacks the offset, or has it with the wrong sign: the last query sees the last "
            "key, so position i sees i + 1 + Lk - Lq keys.",
            limit=lambda it: it.position + 1 if it.causal else it.seen(it.position),
        ),
        "limit-without-queries": of(
            "limit lacks - Lq: position i sees i + 1 + Lk - Lq keys.",
            limit=lambda it: it.position + 1 + it.Lk if it.causal else it.seen(it.position),
        ),
        "all-from-the-top-left": (
            other_diagonal(lambda Lq, Lk: Lq - Lk),
            "Where Lq and Lk differ, the last query sees the last key: j <= i + Lk - Lq.",
        ),
        "heads-modulo": (
            shared_by(lambda h, H, HK: h % HK),
            "Query head h reads key head h % HK. Heads of a group are neighbours: h // GROUP.",
        ),
        "queries-of-key-heads": (
            lambda q, k, v, causal=False, scale=None: attention_ref(
                q[:, torch.arange(q.shape[1]) // (q.shape[1] // k.shape[1])], k, v, causal, scale
            ),
            "All rows of a group read the queries of one head. In the address of q it is the query "
            "head that counts.",
        ),
        "heads-of-the-first-batch": (
            other_arguments(
                lambda q, k, v, causal: (q, *(x[:1].expand_as(x) for x in (k, v)), causal)
            ),
            "All batches read the keys and values of the first one.",
        ),
        "queries-of-the-first-batch": (
            other_arguments(lambda q, k, v, causal: (q[:1].expand_as(q), k, v, causal)),
            "All batches take the queries of the first one.",
        ),
        "query-rows-one-apart": (
            other_arguments(lambda q, k, v, causal: (in_steps(q, 1, 1), k, v, causal)),
            "The rows of q are read one element apart: a position counts stride_qm elements.",
        ),
        "first-column-of-q": (
            other_arguments(lambda q, k, v, causal: (in_steps(q, q.shape[-1], 0), k, v, causal)),
            "Every column of the tile q holds the first one: add offs_d times its stride.",
        ),
        "nothing-seen-is-nan": (
            lambda q, k, v, causal=False, scale=None: (
                careless_softmax_of(scores_ref(q, k, causal, scale), v)[0],
                attention_ref(q, k, v, causal, scale)[1],
            ),
            "A row that sees no key has l_i = 0, and 0 / 0 is NaN. Its o is 0.",
        ),
        "nothing-seen-has-an-lse": (
            with_lse(
                attention_ref,
                lambda lse: torch.where(lse == float("-inf"), START * LN_2, lse),
            ),
            "A row that sees no key has an lse of minus infinity, the log of 0. Here it is what "
            "m_i starts with.",
        ),
        "nothing-seen-has-lse-0": (
            with_lse(attention_ref, lambda lse: torch.where(lse == float("-inf"), 0.0, lse)),
            "A row that sees no key has an lse of minus infinity, the log of 0. Here it is 0.",
        ),
        "scaled-before-attend": (
            lambda q, k, v, causal=False, scale=None: attention_ref(
                q, k, v, causal, (q.shape[-1] ** -0.5 if scale is None else scale) ** 2 / LN_2
            ),
            "The scores are multiplied by qk_scale twice: attend does it, so q goes in as it is.",
        ),
        "lse-of-nothing": (
            with_lse(
                attention_ref,
                lambda lse: torch.where(lse == float("-inf"), START * LN_2, float("-inf")),
            ),
            "lse is minus infinity where rows have seen keys. That is for rows with l_i = 0 alone: "
            "look at the condition and the order of `tl.where`.",
        ),
        "lse-in-the-order-of-rows": (
            lse_by_rows,
            "The numbers of lse are right and lie in another order: by rows of the tile, where a "
            "position comes before its head. lse is (B, H, Lq).",
        ),
    }


def shared_by(pick):
    """Attention where query head h reads key head pick(h, H, HK)."""

    def wrong(q, k, v, causal=False, scale=None):
        H, HK = q.shape[1], k.shape[1]
        chosen = [pick(h, H, HK) for h in range(H)]
        return attention_ref(q, k[:, chosen], v[:, chosen], causal, scale)

    return wrong


def lse_by_rows(q, k, v, causal=False, scale=None):
    o, lse = attention_ref(q, k, v, causal, scale)
    B, H, Lq = lse.shape
    group = lse.view(B, k.shape[1], H // k.shape[1], Lq)
    return o, group.transpose(2, 3).reshape(B, H, Lq)


def scale_mistakes(tile):
    """Those of a scale that comes late, when m has it already."""
    return {
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


def rescaled_after(tile):
    """The factor meets what a tile adds to acc, too."""

    def wrong(q, k, v, causal=False, scale=None):
        s = scores_ref(q, k, causal, scale)
        o, lse = softmax_of(s, v)
        v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
        m, acc = torch.full_like(s[..., :1], float("-inf")), torch.zeros_like(o)
        for start in range(0, s.shape[-1], tile.N):
            here = slice(start, start + tile.N)
            m_new = torch.maximum(m, s[..., here].amax(-1, keepdim=True))
            alpha = torch.where(m_new == m, 1.0, torch.exp(m - m_new))
            p = torch.exp(s[..., here] - lse[..., None].to(s.dtype))  # divided by l already
            acc, m = (acc + p @ v[:, :, here]) * alpha, m_new
        return acc, lse

    return wrong


def of_acc(tile):
    return {
        "acc-rescaled-after": (
            rescaled_after(tile),
            "What a tile adds to acc is multiplied by alpha too, which is 0 in the first tile. "
            "alpha is for what was there before.",
        ),
    }


def of_two_phases(tile):
    known = kernel_mistakes(tile, careless_softmax_of, START)
    start = {"m-starts-at-zero": known["m-starts-at-zero"]}  # where all is NaN, the likeliest
    return (
        start
        | phase_mistakes(tile, careless_softmax_of)
        | scale_mistakes(tile)
        | of_acc(tile)
        | known
    )


def of_gqa(tile):
    known = kernel_mistakes(tile, softmax_of, START)
    start = {"m-starts-at-zero": known["m-starts-at-zero"]}
    return start | group_mistakes(tile) | phase_mistakes(tile, softmax_of) | known


def in_this_tile(mistakes, code, rows):
    """A known mistake in the tile that the page gives; rows: of a group, from q and k."""

    def wrong(q, k, v, causal=False, scale=None, *, dtype):
        return mistakes(tile_of(dtype, rows(q, k)))[code][0](q, k, v, causal, scale)

    return wrong


def all_of(mistakes, rows):
    return {
        code: (in_this_tile(mistakes, code, rows), sentence)
        for code, (_, sentence) in mistakes(Tile(16, 16)).items()
    }


def sum_of_rounded_weights(q, k, v, causal=False, scale=None, *, dtype):
    """P is rounded to half precision before l is summed, not only for the product."""
    s = scores_ref(q, k, causal, scale)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
    width = tile_of(dtype, q.shape[2] * q.shape[1] // k.shape[1]).N
    m, total, acc = torch.full_like(s[..., :1], START), 0.0, torch.zeros_like(q)
    for start in range(0, s.shape[-1], width):
        here = slice(start, start + width)
        m_new = torch.maximum(m, s[..., here].amax(-1, keepdim=True))
        p, alpha = torch.exp(s[..., here] - m_new).to(dtype).to(s.dtype), torch.exp(m - m_new)
        total = total * alpha + p.sum(dim=-1, keepdim=True)
        acc, m = acc * alpha + p @ v[:, :, here], m_new
    return acc / total, (m + torch.log(total))[..., 0].to(
        torch.promote_types(q.dtype, torch.float32)
    )


ROUNDED = {
    "sum-of-rounded-weights": (
        sum_of_rounded_weights,
        "l adds up weights that are rounded to half precision. Round p only for the product: m, l "
        "and acc are float32.",
    ),
}


# --- what is tried


TWO_PHASE_CASES = [
    heads("one tile, every key seen", 1, 2, 32, 16, causal=False),
    heads("three tiles and a rest, causal", 2, 2, 75, 32),
    heads("every key seen, a ragged end", 1, 2, 80, 16, causal=False),
    heads("large scores that grow", 1, 1, 100, 16, keys={"values": growing(150.0)}),
    heads(
        "large scores, the largest in the middle", 1, 1, 96, 16, False, keys={"values": hill(150.0)}
    ),
    heads("scores of -2^30 that grow", 1, 1, 40, 16, **DEEP),
    heads("half precision, causal", 1, 2, 150, 64, dtype="float16"),
    heads("bfloat16, causal", 1, 1, 40, 16, dtype="bfloat16"),
    heads("fewer tokens than a tile", 1, 3, 5, 16),
    heads("no tokens", 1, 2, 0, 16),
]
HIDDEN_TWO_PHASE_CASES = [
    heads("one token", 1, 1, 1, 16),
    heads("one token more than two tiles", 2, 1, 65, 64, causal=False),
    heads("large heads, half precision", 1, 1, 200, 128, dtype="float16"),
    heads("bfloat16, every key seen", 2, 1, 130, 32, causal=False, dtype="bfloat16"),
    heads("large scores, causal", 1, 2, 90, 16, keys={"values": hill(120.0)}),
]

GQA_CASES = [
    attention_case("four heads share one, every key seen", 1, 4, 1, 12, 40, 16, causal=False),
    attention_case("two groups of three, causal", 2, 6, 2, 11, 11, 16),
    attention_case("a group of four, longer than a tile", 1, 4, 1, 40, 40, 16),
    attention_case("a group of three, longer than a tile", 1, 3, 1, 33, 33, 16),
    attention_case("queries at the end of a cache", 1, 4, 2, 9, 70, 16),
    attention_case("one query of each head", 1, 8, 2, 1, 40, 16),
    attention_case(
        "no sharing, scores that grow", 1, 2, 2, 70, 70, 16, keys={"values": growing(90.0)}
    ),
    attention_case("scores of -2^30 that grow", 1, 2, 1, 9, 40, 16, **DEEP),
    attention_case("more queries than keys", 1, 2, 1, 20, 9, 16),
    attention_case("half precision, heads of 40", 1, 2, 1, 20, 150, 40, dtype="float16"),
    attention_case("memory with gaps", 1, 4, 2, 8, 20, 24, layouts=("strided",) * 3),
    attention_case(
        "q, k and v each in an order of its own",
        2,
        2,
        2,
        12,
        20,
        16,
        layouts=("expanded", "transposed", "strided"),
    ),
    attention_case(
        "q and v by columns",
        1,
        4,
        2,
        12,
        20,
        16,
        layouts=("transposed", "contiguous", "transposed"),
    ),
    attention_case("a scale of its own", 1, 2, 1, 5, 20, 32, scale=0.6),
    attention_case("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
    attention_case("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
    attention_case("no queries", 1, 2, 1, 0, 9, 16),
]
HIDDEN_GQA_CASES = [
    attention_case("groups of five", 1, 5, 1, 17, 20, 16),
    attention_case("many tiles, half precision", 1, 8, 2, 70, 90, 64, dtype="float16"),
    attention_case("bfloat16, heads of 80", 1, 4, 2, 9, 100, 80, dtype="bfloat16"),
    attention_case("transposed memory", 1, 4, 2, 4, 20, 16, layouts=("transposed",) * 3),
    attention_case(
        "other orders", 2, 2, 1, 9, 33, 16, layouts=("transposed", "strided", "expanded")
    ),
    attention_case("one token, three batches", 3, 2, 1, 1, 1, 16),
    attention_case("small heads", 1, 2, 1, 5, 20, 6, causal=False),
    attention_case(
        "every key seen, large scores", 1, 2, 1, 50, 60, 16, False, keys={"values": hill(120.0)}
    ),
    attention_case("longer than the keys", 2, 4, 2, 40, 30, 16),
]


def heads_behind_tokens(fn):
    """q, k and v as a model hands them over, (B, L, H, D) in memory; q with gaps in its rows."""
    q = torch.randn(1, 9, 4, 32, device=DEVICE).transpose(1, 2)[..., ::2]
    k, v = torch.randn(2, 1, 9, 2, 16, device=DEVICE).transpose(2, 3).unbind(0)
    want = attention_ref(q, k, v, True)[0]
    with fenced() if INTERPRET else contextlib.nullcontext():  # a wrong stride leaves the tensors
        close = torch.allclose(fn(q, k, v, True)[0], want, rtol=1e-3, atol=1e-4)
    assert close, "Wrong for q = x.transpose(1, 2)[..., ::2]: use the strides of each tensor."


def compiles(of):
    """An assertion that a case without causal compiles; the largest case may be a causal one."""

    def compiles_for_an_a100(fn):
        found = compile_gate(fn, arguments(of), of.options, arch=80)
        assert found.ok is not False, f"Without causal it does not compile: {found.message}"

    return compiles_for_an_a100


def with_attend(fn, other, *given):
    """fn(*given) where it calls other(attend, ...) for attend; None but in the interpreter."""
    names = getattr(inspect.unwrap(fn), "__globals__", {})
    if not INTERPRET or "attend" not in names:
        return None
    attend = names["attend"]
    names["attend"] = functools.partial(other, attend)
    try:
        return fn(*given)
    finally:
        names["attend"] = attend


def full_tiles_have_no_mask(fn):
    """Full tiles alone, and a limit of 0: who masks them too has nothing left.

    Values cannot tell otherwise: a full tile that is masked is right, and slower.
    """

    def limit_0(attend, q, k_ptr, v_ptr, full, end, limit, *rest):
        return attend(q, k_ptr, v_ptr, full, end, limit * 0, *rest)

    q, k, v = torch.randn(3, 1, 1, 64, 16).unbind(0)
    found = with_attend(fn, limit_0, q, k, v, False)
    want = attention_ref(q, k, v)[0]
    assert found is None or torch.allclose(found[0], want, rtol=1e-3, atol=1e-4), (
        "attend masks the full tiles too, or goes by `limit` in them. All rows see all of their "
        "keys: the mask belongs under `if MASKED:`."
    )


def rows_that_see_nothing(fn):
    """In masked tiles alone, and with a limit of 0. Every row of this task sees its own key; in the
    next one some see none, and attend is where that goes wrong."""

    def nothing(attend, q, k_ptr, v_ptr, full, end, limit, *rest):
        return attend(q, k_ptr, v_ptr, full * 0, end, limit * 0, *rest)

    q, k, v = torch.randn(3, 1, 1, 40, 16).unbind(0)
    found = with_attend(fn, nothing, q, k, v, True)
    if found is None:
        return
    lse = found[1].flatten()[0].item()
    assert lse == float("-inf"), "A row that sees no key has to leave attend with l_i = 0. " + (
        "Here it is NaN: does m start at minus infinity? Minus infinity less itself is NaN; "
        "m starts at -1e38, a number."
        if lse != lse
        else 'Here it is not: its masked scores count. Take float("-inf"), which is far below the '
        "m that the row starts with; any other number can become its m, and exp2(0) is 1."
    )


def hands_on(group):
    """An assertion about the bounds that each program gives to attend, where they can be seen.

    Values cannot tell: a full tile that is masked too is right, and slower.
    """

    def hands_on_the_bounds(fn):
        of_one_length(fn, torch.float32, 70, True)
        for causal in (True, False):  # where BLOCK_M is not BLOCK_N
            of_one_length(fn, torch.float16, 300 // group, causal)

    def of_one_length(fn, dtype, L, causal):
        seen = []

        def noting(attend, q, k_ptr, v_ptr, full, end, *rest):
            seen.append((int(full), int(end)))
            return attend(q, k_ptr, v_ptr, full, end, *rest)

        q, k = (torch.randn(1, heads, L, 16).to(dtype) for heads in (group, 1))
        with_attend(fn, noting, q, k, k, causal)
        if not seen:
            return
        tile = tile_of(dtype, L * group)
        for first in range(0, L * group, tile.M):
            full, end = bounds_ref(
                first // group, (first + tile.M - 1) // group, L, L, causal, tile.N
            )
            given = [pair for pair in seen if pair[1] == end]
            assert given, (
                f"The walk of the rows {first} to {first + tile.M - 1} ends at key {end}. "
                f"No program's does; they end at {sorted({pair[1] for pair in seen})}. Where a "
                "tile ends, one key more is a tile more."
            )
            assert any(pair[0] == full for pair in given), (
                f"All rows from {first} to {first + tile.M - 1} see the first {full} keys. "
                f"attend gets full={given[0][0]}: so many full tiles are masked for nothing."
            )

    return hands_on_the_bounds


CHECKS = {
    "walk_bounds": Check(
        bounds_ref,
        BOUNDS_CASES,
        HIDDEN_BOUNDS_CASES,
        triton=False,
        mistakes=BOUNDS_MISTAKES,
        also=[works_in_a_kernel],
    ),
    "flash_two_phases": Check(
        attention_ref,
        TWO_PHASE_CASES,
        HIDDEN_TWO_PHASE_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=all_of(of_two_phases, lambda q, k: q.shape[2]) | ROUNDED,
        no_tf32=True,
        also=[
            compiles(TWO_PHASE_CASES[0]),
            hands_on(1),
            full_tiles_have_no_mask,
            rows_that_see_nothing,
        ],
    ),
    "flash_gqa": Check(
        attention_ref,
        GQA_CASES,
        HIDDEN_GQA_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=all_of(of_gqa, lambda q, k: q.shape[2] * (q.shape[1] // k.shape[1])),
        also=[heads_behind_tokens, compiles(GQA_CASES[0]), hands_on(4)],
    ),
}
