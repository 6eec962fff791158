"""What the checks of 46_window_sinks try."""

import torch
import triton

from tritonbook import DEVICE, INTERPRET
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import METER, Ask, exact_float32, launches, moves
from tritonbook.checking.cases import arguments
from tritonbook.checking.report import Finding
from tritonbook.seeing.compiled import compile_gate
from tritonbook.seeing.record import LOAD
from tritonbook.words import later

from ..shared.attention import DEEP, close_enough, growing, hill
from ..shared.looking import for_a_kernel, names_beside, standing_in
from .page import flash_window, window_ref

# --- window_bounds


def bounds_ref(first, last, Lq, Lk, window, BLOCK_N):
    """By looking at each key: which of the tile's queries see it."""
    owns = [i + Lk - Lq for i in range(first, min(last, Lq - 1) + 1)]
    oldest = [max(0, j + 1 - window) for j in owns]
    inner = triton.cdiv(max(oldest), BLOCK_N) * BLOCK_N
    full = max(0, min(owns) + 1) // BLOCK_N * BLOCK_N
    return min(oldest) // BLOCK_N * BLOCK_N, inner, max(inner, full), max(0, max(owns) + 1)


def bounds_case(note, first, last, Lq, Lk, window, BLOCK_N=16):
    return case(note, first=first, last=last, Lq=Lq, Lk=Lk, window=window, BLOCK_N=BLOCK_N)


BOUNDS_CASES = [
    bounds_case("the picture's program 2", 64, 95, 160, 160, 50),
    bounds_case("full tiles between two edges", 128, 159, 400, 400, 100),
    bounds_case("a window that begins with a tile", 95, 127, 400, 400, 64),
    bounds_case("one key before a tile begins", 94, 126, 400, 400, 64),
    bounds_case("one key after a tile begins", 97, 128, 400, 400, 64),
    bounds_case("the first tile", 0, 31, 400, 400, 100),
    bounds_case("a window longer than the text", 64, 95, 160, 160, 1000),
    bounds_case("a window of one key", 64, 95, 160, 160, 1),
    bounds_case("a window smaller than a tile of queries", 96, 223, 400, 400, 40, 32),
    bounds_case("queries at the end of a cache", 0, 31, 32, 300, 100),
    bounds_case("the last tile, past the last query", 384, 511, 390, 390, 200, 32),
    bounds_case("more queries than keys", 0, 31, 60, 40, 8),
    bounds_case("a tile that sees nothing", 0, 15, 60, 40, 8),
]
HIDDEN_BOUNDS_CASES = [
    bounds_case("tiles of 64", 8192, 8319, 16384, 16384, 1024, 64),
    bounds_case("a first query that ends a tile", 63, 94, 500, 500, 77),
    bounds_case("one query of a long cache", 0, 127, 1, 5000, 100, 64),
    bounds_case("an odd window, a cache", 33, 65, 70, 200, 49),
    bounds_case("as many keys as the window", 0, 127, 128, 128, 128, 64),
    bounds_case("some queries of a tile see nothing", 16, 31, 60, 40, 3),
]


def works_in_a_kernel(fn):
    """What is right in Python need not be Triton's language, nor mean the same there.

    The solution's kernel is compiled with this function for its bounds, and run.
    """
    says = "As a part of a kernel, where task 2 needs it, this does not work. "
    fn = for_a_kernel(fn, says)
    if fn is None:
        return
    given = arguments(heads("", 1, 1, 1, 70, 70, 16, 50), DEVICE)
    with standing_in(flash_window.__globals__, window_bounds=fn, bounds=triton.jit(fn)):
        found = compile_gate(flash_window, given, arch=80)
        assert found.ok is not False, says + found.message
        close = torch.allclose(flash_window(*given), window_ref(*given), rtol=1e-3, atol=1e-4)
        assert close, says + (
            "All bounds are right in Python, and in a kernel they are others: there a division "
            "rounds towards 0, so `-(-x // n)` is not x rounded up."
        )


# --- flash_window


def sinks_of(H, sink):
    """One logit a head, about as large as scores are; or this one for all."""
    how = {} if sink is None else {"values": "zeros", "mean": sink}
    return tensor(H, dtype="float32", **how)


def heads(note, B, H, HK, Lq, Lk, D, window, cap=None, sink=None, **more):
    """A case of flash_window. queries, keys: how they are drawn."""
    sinks = sinks_of(H, sink)
    q = tensor(B, H, Lq, D, **more.pop("queries", {}))
    k = tensor(B, HK, Lk, D, **more.pop("keys", {}))
    v = tensor(B, HK, Lk, D)
    return case(note, q=q, k=k, v=v, sinks=sinks, window=window, cap=cap, **more)


NONE = {"sink": float("-inf")}
CASES = [
    heads("one tile, every key in the window, no sink", 1, 2, 2, 32, 32, 16, 32, **NONE),
    heads("a window of 40, no sink", 1, 1, 1, 150, 150, 16, 40, **NONE),
    heads("full tiles between two edges, no sink", 1, 1, 1, 180, 180, 16, 100, **NONE),
    heads("a sink for each head", 2, 4, 2, 40, 40, 16, 20),
    heads("a cap of 2, scores of some 20", 1, 2, 2, 50, 50, 16, 30, 2.0, keys={"scale": 20.0}),
    heads("a cap of 0.5", 1, 1, 1, 40, 40, 16, 20, 0.5),
    heads("window, sink and cap", 1, 2, 1, 130, 130, 32, 90, 5.0, keys={"scale": 5.0}),
    heads("a window of one key", 1, 2, 1, 70, 70, 16, 1),
    heads("a window longer than the text", 1, 1, 1, 75, 75, 32, 1000),
    heads("a tile that begins before its rows' windows", 1, 1, 1, 96, 96, 16, 5, **NONE),
    heads("queries at the end of a cache", 1, 4, 2, 20, 170, 16, 50),
    heads("one query a head", 1, 4, 1, 1, 100, 16, 33),
    heads("more queries than keys, no sink", 1, 2, 1, 70, 30, 16, 12, **NONE),
    heads("more queries than keys, a sink", 1, 2, 1, 40, 9, 16, 4),
    heads("scores that grow", 1, 1, 1, 100, 100, 16, 70, keys={"values": growing(150.0)}),
    heads("the largest score in the middle", 1, 1, 1, 96, 96, 16, 80, keys={"values": hill(150.0)}),
    heads("scores of -2^30 that grow, no sink", 1, 1, 1, 40, 40, 16, 30, **DEEP, **NONE),
    heads("a sink far above the scores", 1, 1, 1, 40, 40, 16, 20, sink=30.0, keys={"scale": 12.0}),
    heads("a sink of 100: its exponential overflows", 1, 1, 1, 40, 40, 16, 20, sink=100.0),
    heads("a sink of -200", 1, 1, 1, 40, 40, 16, 20, sink=-200.0),
    heads("scores of thousands, a cap of 30", 1, 1, 1, 70, 70, 16, 50, 30.0, keys={"scale": 2e3}),
    heads("half precision", 1, 2, 1, 300, 300, 64, 130, dtype="float16"),
    heads("half precision, a cap of 8", 1, 2, 1, 150, 150, 64, 40, 8.0, dtype="float16"),
    heads("bfloat16", 1, 2, 2, 40, 40, 16, 16, dtype="bfloat16"),
    heads("no queries", 1, 2, 1, 0, 9, 16, 4),
    heads("a window of nothing", 1, 1, 1, 16, 16, 16, 0, raises=ValueError),
    heads("a negative cap", 1, 1, 1, 16, 16, 16, 4, -1.0, raises=ValueError),
    heads("heads that do not share evenly", 1, 3, 2, 16, 16, 16, 4, raises=ValueError),
]
HIDDEN_CASES = [
    heads("one token", 1, 2, 1, 1, 1, 16, 1),
    heads("a window of 64, tiles of its size", 1, 2, 1, 256, 256, 16, 64),
    heads("large heads, half precision", 1, 2, 1, 260, 260, 128, 100, dtype="float16"),
    heads("bfloat16, a cap of 50", 2, 2, 1, 130, 130, 32, 70, 50.0, dtype="bfloat16"),
    heads("eight heads to one, a cache", 1, 8, 1, 33, 90, 32, 60),
    heads("more queries than keys, a cap", 2, 4, 2, 50, 30, 16, 9, 3.0),
    heads("large scores, a cap of 20", 1, 2, 1, 90, 90, 16, 45, 20.0, keys={"values": hill(400.0)}),
    heads("a window one short of the text", 1, 1, 1, 129, 129, 16, 128, **NONE),
]


def loads_of(call, name):
    """(program, row-major numbers of the elements) of each load at a line that loads this tensor;
    a load of which every lane is masked has no elements."""
    region = next(each for each in call.seen.regions if each.name == name)
    loads = [access for access in call.seen.accesses if access.kind == LOAD]
    found = [(each, region.elements(each.active)) for each in loads]
    lines = {each.line for each, elements in found if (elements >= 0).any()}
    return [
        (each.program, elements)
        for each, elements in found
        if each.line in lines and (elements >= 0).all()
    ]


def visits(call):
    """Each tile of keys that a program loads has a key that one of its queries sees."""
    given, of_program = call.trial.case.arguments, {}
    _, _, Lq, D = given["q"].shape
    Lk, window = given["k"].shape[2], given["window"]
    for program, elements in loads_of(call, "q"):
        rows = elements // D % Lq
        of_program[program] = int(rows.min()), int(rows.max())
    for program, elements in loads_of(call, "k"):
        first, last = of_program.get(program, (0, Lq - 1))
        low, high = max(0, first + 1 + Lk - Lq - window), last + Lk - Lq
        keys = elements // D % Lk
        if keys.size and keys.max() >= low and keys.min() <= high:
            continue
        loads = (
            f"the keys {keys.min()} to {keys.max()}" if keys.size else later("a tile without keys")
        )
        return Finding(
            "property",
            f"The values are right. But the queries {first} to {last} see the keys {low} to {high} "
            f"at most, and their program loads {loads}, of which none of them sees any. The walk "
            "goes from `begin` to `end`: is each of the four bounds that of task 1?",
        )
    return None


def full_tiles_have_no_mask(fn):
    """Values cannot tell: a full tile that is masked too is right, and slower."""
    names = names_beside(fn)
    if not INTERPRET or "attend" not in names:
        return
    attend, calls = names["attend"], []

    def noting(q, k, v, seen, *rest):
        MASKED = bool(rest[-2])
        calls.append((q.shape[0], k.shape[0], MASKED))
        return attend(q, k, v, seen if MASKED else seen & False, *rest)  # who masks has nothing

    q, k, v = torch.randn(3, 1, 1, 96, 16).unbind(0)
    given = q, k, v, torch.zeros(1), 96
    with standing_in(names, attend=noting):
        found = fn(*given)
    M, N, _ = (int(each) for each in calls[0])
    walks = [bounds_ref(first, first + M - 1, 96, 96, 96, N) for first in range(0, 96, M)]
    full = sum(full - inner for _, inner, full, _ in walks) // N
    free = sum(not masked for *_, masked in calls)
    assert free == full, (
        f"96 queries have {full} full tiles in all, and {free} are visited with MASKED false. In "
        "phase 1, and only there, each query sees each key."
    )
    assert torch.allclose(found, window_ref(*given), rtol=1e-3, atol=1e-4), (
        "attend masks the full tiles too: the mask belongs under `if MASKED:`."
    )


# --- window_decode


def decode_ref(q, k_cache, v_cache, lengths, sinks, window, cap=None):
    outs = []
    for b, length in enumerate(lengths.tolist()):
        k, v = (cache[b : b + 1, :, :length] for cache in (k_cache, v_cache))
        outs.append(window_ref(q[b : b + 1, :, None], k, v, sinks, window, cap)[:, :, 0])
    return torch.cat(outs)


def decode_case(note, lengths, H, HK, T, D, window, cap=None, sink=None, **more):
    """lengths: tokens of each sequence. What lies behind them is no number. queries, keys: how they
    are drawn."""
    B = len(lengths)

    def filled(values=None, scale=1.0):
        def cache(generator, shape):
            if values:
                drawn = values(generator, shape)
            else:
                drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
            for b, length in enumerate(lengths):
                drawn[b, :, length:] = float("nan")
            return drawn

        return cache

    return case(
        note,
        q=tensor(B, H, D, **more.pop("queries", {})),
        k_cache=tensor(B, HK, T, D, values=filled(**more.pop("keys", {}))),
        v_cache=tensor(B, HK, T, D, values=filled()),
        lengths=tensor(B, dtype="int32", values="zeros", planted=dict(enumerate(lengths))),
        sinks=sinks_of(H, sink),
        window=window,
        cap=cap,
        **more,
    )


DECODES = [
    decode_case("a window of one tile, no sink", [90], 2, 2, 96, 16, 32, **NONE),
    decode_case("a window of 50, no sink", [170], 4, 1, 170, 16, 50, **NONE),
    decode_case("a sink for each head", [70, 41], 4, 2, 80, 16, 20),
    decode_case("fewer tokens than the window", [9, 33], 2, 1, 40, 16, 64),
    decode_case("as many tokens as the window", [48], 2, 1, 48, 32, 48),
    decode_case("a window of one key", [77, 1], 4, 2, 80, 16, 1),
    decode_case("sequences of different lengths", [150, 3, 64], 6, 2, 160, 16, 70),
    decode_case("an empty cache, no sink", [0, 20], 2, 1, 24, 16, 8, **NONE),
    decode_case("an empty cache, a sink", [0], 2, 1, 24, 16, 8),
    decode_case("scores of -2^30 that grow, no sink", [40], 2, 1, 48, 16, 30, **DEEP, **NONE),
    decode_case("large scores", [140], 2, 1, 150, 16, 100, keys={"scale": 60.0}),
    decode_case(
        "all scores far from the sink", [60], 2, 1, 64, 16, 40, keys={"scale": 60.0}, sink=-50.0
    ),
    decode_case("a sink of 100: its exponential overflows", [60], 2, 1, 64, 16, 40, sink=100.0),
    decode_case(
        "scores of some 20, a cap of 2", [90], 4, 2, 100, 16, 60, 2.0, keys={"scale": 20.0}
    ),
    decode_case("half precision", [300], 8, 1, 310, 64, 128, dtype="float16"),
    decode_case("bfloat16, a cap", [100, 7], 4, 2, 110, 32, 64, 5.0, dtype="bfloat16"),
    decode_case("a window of nothing", [9], 2, 1, 12, 16, 0, raises=ValueError),
]
HIDDEN_DECODES = [
    decode_case("sixteen heads share one", [133, 20], 16, 1, 140, 64, 90),
    decode_case("three heads share one", [63], 6, 2, 64, 32, 63),
    decode_case("large heads, half precision", [500], 4, 2, 512, 128, 300, dtype="float16"),
    decode_case("a cap of 30, large scores", [111], 2, 1, 128, 16, 65, 30.0, keys={"scale": 300.0}),
    decode_case("one token", [1, 2], 2, 2, 2, 16, 5),
]


def each_key_once(moved, q, k_cache, v_cache, lengths, sinks, window, cap):
    """Bytes of both caches: those of the last keys, once."""
    HK, D = k_cache.shape[1], k_cache.shape[3]
    keys = int(lengths.clamp(max=window).sum())
    due = keys * HK * D * k_cache.element_size()
    for name in ("k_cache", "v_cache"):
        read = moved[name].read if due else 0
        assert read <= due, (
            f"The values are right, but {read:,} bytes of {name} are loaded, and the last "
            f"{window} keys are {due:,}. Load those, and once each: the walk begins at length - "
            "window."
        )


CHECKS = {
    "window_bounds": Check(
        bounds_ref, BOUNDS_CASES, HIDDEN_BOUNDS_CASES, triton=False, asks=[works_in_a_kernel]
    ),
    "flash_window": Check(
        window_ref,
        CASES,
        HIDDEN_CASES,
        wide=[heads("65,536 heads", 1, 65_536, 65_536, 1, 1, 16, 1)],
        asks=[
            launches(1),
            exact_float32(),
            Ask(METER, visits, "never visited"),
            full_tiles_have_no_mask,
        ],
        tolerance=close_enough,
        nan=(
            "Is m minus infinity, or l_i 0, where a row has seen nothing? m starts at the sink, "
            "and at -1e38 without one, and l_i at 1. Is tanh made from infinity over infinity?"
        ),
    ),
    "window_decode": Check(
        decode_ref,
        DECODES,
        HIDDEN_DECODES,
        wide=[decode_case("65,536 heads", [1] * 8, 8192, 8192, 1, 16, 1)],
        asks=[
            launches(1),
            exact_float32(),
            moves(each_key_once),
        ],
        tolerance=close_enough,
        nan=(
            "What lies behind a sequence's last token may be NaN, and 0 times NaN is NaN: are "
            "both loads masked, with `other=0.0`? Is m minus infinity, or l_i 0, where there is "
            "no sink?"
        ),
    ),
}
