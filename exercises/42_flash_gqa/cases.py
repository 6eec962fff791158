"""What the checks of 42_flash_gqa try."""

import functools

import torch
import triton

from tritonbook import DEVICE, INTERPRET
from tritonbook.checking import Check, case
from tritonbook.checking.asks import exact_float32, launches, no_copies
from tritonbook.checking.cases import arguments
from tritonbook.seeing.compiled import compile_gate
from tritonbook.words import later

from ..shared import attention as shared
from ..shared.attention import DEEP, attention, attention_ref, growing, heads, hill
from ..shared.looking import for_a_kernel, names_beside, standing_in
from .page import attention_tile, flash_two_phases

# --- walk_bounds


def bounds_ref(first, last, Lq, Lk, causal, BLOCK_N):
    if not causal:
        first = last = Lq - 1
    fewest = max(0, min(Lk, first + 1 + Lk - Lq))
    return fewest // BLOCK_N * BLOCK_N, max(0, min(Lk, last + 1 + Lk - Lq))


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
    says = "As a part of a kernel, where task 2 needs it, this does not work. "
    fn = for_a_kernel(fn, says)
    if fn is None:
        return
    with standing_in(flash_two_phases.__globals__, walk_bounds=fn, bounds=triton.jit(fn)):
        for causal in (True, False):
            given = arguments(heads("", 1, 1, 64, 16, causal))
            found = compile_gate(flash_two_phases, given, arch=80)
            assert found.ok is not False, says + found.message


# --- kernels

TWO_PHASE_CASES = [
    heads("one tile, every key seen", 1, 2, 32, 16, causal=False),
    heads("three tiles and a rest, causal", 2, 2, 75, 32),
    heads("every key seen, a ragged end", 1, 2, 80, 16, causal=False),
    heads("large scores that grow", 1, 1, 100, 16, keys=growing(150.0)),
    heads("large scores, the largest in the middle", 1, 1, 96, 16, False, keys=hill(150.0)),
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
    heads("large scores, causal", 1, 2, 90, 16, keys=hill(120.0)),
]

ORDERS, COLUMNS = "expanded transposed strided", "transposed contiguous transposed"
GQA_CASES = [
    attention("four heads share one, every key seen", 1, 4, 1, 12, 40, 16, causal=False),
    attention("two groups of three, causal", 2, 6, 2, 11, 11, 16),
    attention("a group of four, longer than a tile", 1, 4, 1, 40, 40, 16),
    attention("a group of three, longer than a tile", 1, 3, 1, 33, 33, 16),
    attention("queries at the end of a cache", 1, 4, 2, 9, 70, 16),
    attention("one query of each head", 1, 8, 2, 1, 40, 16),
    attention("no sharing, scores that grow", 1, 2, 2, 70, 70, 16, keys=growing(90.0)),
    attention("scores of -2^30 that grow", 1, 2, 1, 9, 40, 16, **DEEP),
    attention("more queries than keys", 1, 2, 1, 20, 9, 16),
    attention("half precision, heads of 40", 1, 2, 1, 20, 150, 40, dtype="float16"),
    attention("memory with gaps", 1, 4, 2, 8, 20, 24, layouts="strided"),
    attention("q, k and v each in an order of its own", 2, 2, 2, 12, 20, 16, layouts=ORDERS),
    attention("q and v by columns", 1, 4, 2, 12, 20, 16, layouts=COLUMNS),
    attention("a scale of its own", 1, 2, 1, 5, 20, 32, scale=0.6),
    attention("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
    attention("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
    attention("no queries", 1, 2, 1, 0, 9, 16),
]
HIDDEN_GQA_CASES = [
    attention("groups of five", 1, 5, 1, 17, 20, 16),
    attention("many tiles, half precision", 1, 8, 2, 70, 90, 64, dtype="float16"),
    attention("bfloat16, heads of 80", 1, 4, 2, 9, 100, 80, dtype="bfloat16"),
    attention("transposed memory", 1, 4, 2, 4, 20, 16, layouts="transposed"),
    attention("other orders", 2, 2, 1, 9, 33, 16, layouts="transposed strided expanded"),
    attention("one token, three batches", 3, 2, 1, 1, 1, 16),
    attention("small heads", 1, 2, 1, 5, 20, 6, causal=False),
    attention("every key seen, large scores", 1, 2, 1, 50, 60, 16, False, keys=hill(120.0)),
    attention("longer than the keys", 2, 4, 2, 40, 30, 16),
]


def heads_behind_tokens(fn):
    """q, k and v as a model hands them over, (B, L, H, D) in memory; q with gaps in its rows."""
    q = torch.randn(1, 9, 4, 32, device=DEVICE).transpose(1, 2)[..., ::2]
    k, v = torch.randn(2, 1, 9, 2, 16, device=DEVICE).transpose(2, 3).unbind(0)
    assert shared.is_right_for(fn, q, k, v), (
        "Wrong for q = x.transpose(1, 2)[..., ::2]: use the strides of each tensor."
    )


def compiles(of):
    """An assertion that a case without causal compiles; the largest case may be a causal one."""

    def compiles_for_an_a100(fn):
        found = compile_gate(fn, arguments(of), of.options, arch=80)
        said = later("Without causal it does not compile:")
        assert found.ok is not False, f"{said} {found.message}"

    return compiles_for_an_a100


def with_attend(fn, other, *given):
    """fn(*given) where it calls other(attend, ...) for attend; None but in the interpreter."""
    names = names_beside(fn)
    if not INTERPRET or "attend" not in names:
        return None
    with standing_in(names, attend=functools.partial(other, names["attend"])):
        return fn(*given)


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
        tile = attention_tile(torch.empty(0, dtype=dtype), L * group)
        rows, width = tile["BLOCK_M"], tile["BLOCK_N"]
        for first in range(0, L * group, rows):
            last = first + rows - 1
            full, end = bounds_ref(first // group, last // group, L, L, causal, width)
            given = [pair for pair in seen if pair[1] == end]
            assert given, (
                f"The walk of the rows {first} to {last} ends at key {end}. "
                f"No program's does; they end at {sorted({pair[1] for pair in seen})}. Where a "
                "tile ends, one key more is a tile more."
            )
            assert any(pair[0] == full for pair in given), (
                f"All rows from {first} to {last} see the first {full} keys. "
                f"attend gets full={given[0][0]}: so many full tiles are masked for nothing."
            )

    return hands_on_the_bounds


CHECKS = {
    "walk_bounds": Check(
        bounds_ref, BOUNDS_CASES, HIDDEN_BOUNDS_CASES, triton=False, asks=[works_in_a_kernel]
    ),
    "flash_two_phases": Check(
        attention_ref,
        TWO_PHASE_CASES,
        HIDDEN_TWO_PHASE_CASES,
        asks=[
            launches(1),
            exact_float32(),
            compiles(TWO_PHASE_CASES[0]),
            hands_on(1),
            full_tiles_have_no_mask,
            rows_that_see_nothing,
        ],
        tolerance=shared.close_enough,
    ),
    "flash_gqa": Check(
        attention_ref,
        GQA_CASES,
        HIDDEN_GQA_CASES,
        asks=[launches(1), no_copies(), heads_behind_tokens, compiles(GQA_CASES[0]), hands_on(4)],
        tolerance=shared.close_enough,
    ),
}
