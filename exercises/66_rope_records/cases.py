"""What the checks of 66_rope_records try: cases, references, and mistakes that have a name."""

import itertools

import numpy as np
import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import SAME_BITS, Check, case, rounded_once, tensor
from tritonbook.seeing.tiles import CannotShow, watch

from ..shared.rope import (
    NEVER,
    agree,
    formulas,
    given,
    halves_alike,
    heads_behind_tokens,
    into_other_memory,
    kernel,
    neighbours_alike,
    one_copy,
    over_its_inputs,
    right,
    right_columns,
    right_loads,
    right_turn,
    rope_case,
    suspects,
)
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
            f"The values are right, but lanes side by side {each.kind} elements that are apart: "
            f"each goes by itself, not 16 bytes at once. {mend}"
        )


def assert_each_place_once(found):
    """Does no store of a program go where another one of it goes?"""
    for program in {each.program for each in found}:
        stores = [each.active for each in found if each.program == program and each.kind == "store"]
        places = np.concatenate(stores) if stores else np.zeros(0)
        twice = len(places) - len(np.unique(places))
        assert not twice, (
            f"The values are right here, but two stores of a program go to {twice} elements, and "
            "nothing says which comes last on a GPU. Which lanes does the mask of each half let "
            "through?"
        )


# --- to_halves


def to_halves_ref(x):
    return torch.cat((x[:, 0::2], x[:, 1::2]), dim=1)


HALVES = [
    case("powers of two", x=tensor(4, 16)),
    case("3 pairs a row", x=tensor(5, 6)),
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


def halves(first=lambda even, odd: even, second=lambda even, odd: odd):
    """What stands on the left and on the right, of the even columns and of the odd ones."""

    def wrong(x):
        even, odd = x[:, 0::2], x[:, 1::2]
        return torch.cat([side(even, odd) for side in (first, second)], dim=1)

    return wrong


def unwritten(even, odd):
    return torch.full_like(even, NEVER)


def one_for_the_other(x):
    return x.unflatten(1, (-1, 2)).flip(2).flatten(1)


def half_loaded(x):
    """Columns from HALF on are masked, and hold 0."""
    inside = torch.arange(x.shape[1]) < x.shape[1] // 2
    return to_halves_ref(torch.where(inside, x, 0.0))


def half_a_row_apart(x):
    """A row of y begins HALF behind the one before it, over whose second half it is stored."""
    M, D = x.shape
    y = torch.full((M * D,), NEVER, dtype=x.dtype)
    if M:
        y[: D // 2] = x[0, 0::2]
        y[D // 2 : (M + 1) * (D // 2)] = x[:, 1::2].flatten()
    return y.reshape(M, D)


def added(table, number):
    """Rows of a table that lies in memory without gaps, where the number of the row is added to the
    stride in its address; NaN outside."""
    N = table.shape[1]
    place = number[:, None] + N + torch.arange(N)
    inside = place < table.numel()
    return torch.where(inside, table.flatten()[torch.where(inside, place, 0)], NEVER)


def halves_stored_once(fn):
    assert_each_place_once(accesses(fn, torch.randn(4, 20, device=DEVICE)))


def loads_whole_rows(fn):
    mend = "Load whole rows, take neighbours apart with `tl.split`, and store two halves."
    assert_side_by_side(accesses(fn, torch.randn(4, 16, device=DEVICE)), mend)


HALVES_MISTAKES = {
    "as-it-was": (
        lambda x: x,
        "The rows come out as they went in: neighbours were not parted, or joined again. "
        "`tl.split` of (BLOCK_M, BLOCK_P, 2) gives `first` for the left half, `second` for the "
        "right one.",
    ),
    "halves-exchanged": (
        halves(lambda even, odd: odd, lambda even, odd: even),
        "The halves have changed places: the even columns, `first`, belong on the left.",
    ),
    "neighbours-exchanged": (
        one_for_the_other,
        "Neighbours are exchanged, and stay neighbours: that is `exchange_kernel`.",
    ),
    "first-twice": (
        halves(second=lambda even, odd: even),
        "Both halves hold the even columns: `second` belongs on the right.",
    ),
    "second-twice": (
        halves(first=lambda even, odd: odd),
        "Both halves hold the odd columns: `first` belongs on the left.",
    ),
    "second-over-first": (
        halves(lambda even, odd: odd, unwritten),
        "The odd columns lie on the left, where the even ones belong, and the right half was never "
        "written: `second` belongs HALF columns further on.",
    ),
    "second-unwritten": (
        halves(second=unwritten),
        "The right half was never written: `second`, the odd columns, belongs there.",
    ),
    "first-unwritten": (
        halves(first=unwritten),
        "The left half was never written: `first`, the even columns, belongs there.",
    ),
    "half-loaded": (
        half_loaded,
        "Only the first HALF columns of x take part. A row has 2 * HALF of them: that is the mask "
        "of the load.",
    ),
    "row-added": (
        lambda x: to_halves_ref(added(x, torch.arange(x.shape[0]))),
        "The number of the row is added to `stride_xm`. Multiply it.",
    ),
    "half-a-row-apart": (
        half_a_row_apart,
        "The rows of y stand HALF elements apart, each over the end of the one before it. A row of "
        "y has 2 * HALF.",
    ),
}

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


def wide(values, *size):
    """Tables that hold each angle twice."""
    return {name: tensor(*size, values=values) for name in ("cos", "sin")}


CASES = [
    record("two tokens a program, powers of two", 2, 4, 4, 6, 16, pairs=64),
    record("interleaved, powers of two", 2, 2, 1, 6, 16, pairs=32, interleaved=True),
    record("10 pairs, the last program not full", 1, 6, 3, 5, 20),
    record("interleaved, 12 pairs", 2, 3, 1, 5, 24, pairs=128, interleaved=True),
    record("positions from 7 on", 1, 2, 2, 5, 16, positions=20, offset=7, pairs=32),
    record("tables of width D", 1, 2, 1, 5, 16, **wide(halves_alike, 5, 16)),
    record(
        "interleaved, tables of width D, offset",
        1,
        3,
        2,
        4,
        12,
        offset=2,
        interleaved=True,
        **wide(neighbours_alike, 7, 12),
    ),
    record("memory with gaps", 2, 2, 2, 3, 16, layout="strided", pairs=32),
    record(
        "interleaved, elements not side by side",
        1,
        3,
        3,
        5,
        12,
        layout="transposed",
        interleaved=True,
    ),
    record("only k's elements not side by side", 1, 3, 2, 5, 12, k_layout="transposed", pairs=64),
    record("the other way round", 1, 2, 2, 4, 14, layout="transposed", k_layout="contiguous"),
    record(
        "tables with gaps",
        1,
        2,
        2,
        4,
        16,
        cos=tensor(4, 8, layout="strided"),
        sin=tensor(4, 8, layout="transposed"),
    ),
    record("half precision", 2, 3, 1, 3, 40, dtype="float16"),
    record(
        "half precision, tables in float32",
        1,
        4,
        2,
        6,
        48,
        dtype="float16",
        cos=tensor(6, 24, dtype="float32"),
        sin=tensor(6, 24, dtype="float32"),
    ),
    record("a token with more pairs", 1, 5, 2, 3, 24, pairs=16, interleaved=True),
    record("positions that the tables lack", 1, 2, 2, 4, 16, offset=2, raises=ValueError),
    record("no tokens", 1, 2, 1, 0, 8, positions=3),
    record("an odd head dimension", 1, 2, 2, 3, 7, raises=ValueError),
    record("one batch repeated", 2, 2, 2, 3, 8, layout="expanded", interleaved=True),
]

HIDDEN_CASES = [
    record("one head, one token", 1, 1, 1, 1, 2),
    record("interleaved, one pair", 2, 3, 1, 5, 2, pairs=8, interleaved=True),
    record("one head, many tokens", 2, 1, 1, 37, 8, pairs=64),
    record("half precision, default", 3, 5, 1, 9, 40, dtype="float16"),
    record("bfloat16, interleaved", 1, 3, 2, 7, 12, pairs=64, dtype="bfloat16", interleaved=True),
    record("more pairs than a program has", 1, 12, 2, 3, 128),
    record("interleaved, 28 heads", 1, 28, 4, 2, 64, interleaved=True),
    record("more heads for k", 1, 2, 5, 6, 12, pairs=32),
    record(
        "interleaved, offset", 2, 2, 1, 7, 20, positions=13, offset=6, pairs=64, interleaved=True
    ),
    record(
        "half-split, tables of width D, offset",
        2,
        2,
        1,
        3,
        12,
        offset=2,
        **wide(halves_alike, 6, 12),
    ),
    record(
        "interleaved, other memory with gaps", 2, 4, 2, 5, 18, layout="strided", interleaved=True
    ),
    record("transposed memory", 1, 3, 3, 5, 22, layout="transposed", pairs=64),
    record("an odd start in memory", 1, 2, 3, 4, 16, layout="offset", interleaved=True),
    record(
        "interleaved, tables with gaps",
        1,
        2,
        2,
        4,
        16,
        interleaved=True,
        cos=tensor(4, 8, layout="transposed"),
        sin=tensor(4, 8, layout="strided"),
    ),
    record("large values", 1, 2, 2, 3, 16, cos=tensor(3, 8, scale=100.0)),
]


def rows_of(table, rows):
    """Those rows of a table; NaN for what lies outside."""
    inside = (rows >= 0) & (rows < len(table))
    return torch.where(inside[:, None], table[rows.clamp(0, len(table) - 1)], NEVER)


def positions(where, tables):
    """Positions where(token, pos_offset, tokens a program), in these tables."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0, *, pairs=512):
        token = torch.arange(q.shape[2])
        at = {"cos": pos_offset + token, "sin": pos_offset + token}
        at |= dict.fromkeys(tables, where(token, pos_offset, tokens_of_a_program(q, pairs)))
        return right(q, k, rows_of(cos, at["cos"]), rows_of(sin, at["sin"]), interleaved)

    return wrong


# Where a token's cos and sin are taken from, and what is wrong with it.
PLACES = {
    "no-offset": (
        lambda token, offset, n: token,
        "start at 0. Token l has the position `pos_offset + l`.",
    ),
    "first-token": (
        lambda token, offset, n: offset + token // n * n,
        "are those of the program's first token, for all its tokens. Each has its own.",
    ),
    "one-position": (
        lambda token, offset, n: offset + 0 * token,
        "are all that of the call's first token. Each token has its own.",
    ),
    "number-in-the-program": (
        lambda token, offset, n: offset + token % n,
        "start again in each program. `offs_l` knows the tokens before it.",
    ),
    "program-number": (
        lambda token, offset, n: offset + token // n,
        "count programs. A program has BLOCK_T tokens.",
    ),
    "offset-twice": (
        lambda token, offset, n: offset + offset + token,
        "have `pos_offset` added twice.",
    ),
}


def positions_added(tables):
    """The position is added to the stride of these tables' rows."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        token = pos_offset + torch.arange(q.shape[2])
        taken = {
            name: added(table, token) if name in tables else table[token]
            for name, table in (("cos", cos), ("sin", sin))
        }
        return right(q, k, **taken, interleaved=interleaved)

    return wrong


TABLES = {"": ("cos", "sin"), "-of-cos": ("cos",), "-of-sin": ("sin",)}


def interleaved_only(changed, form=True):
    """A wrong kernel whose half-split form is right; form=False: whose other form is."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        made = changed if interleaved == form else right
        return made(q, k, cos, sin, interleaved, pos_offset)

    return wrong


def half_split_only(changed):
    return interleaved_only(changed, form=False)


def as_halves(x, first, second):
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def as_neighbours(x, first, second):
    return x[..., 0::2], x[..., 1::2]


def stored_as_neighbours(q, k, cos, sin, interleaved=False, pos_offset=0):
    both = right(q, k, cos, sin, interleaved, pos_offset)
    return tuple(x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2) for x in both)


def stored_as_halves(q, k, cos, sin, interleaved=False, pos_offset=0):
    both = right(q, k, cos, sin, interleaved, pos_offset)
    return tuple(torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1) for x in both)


def first_half_loaded(x, first, second):
    """Columns from HALF on are masked, and hold 0."""
    half = x.shape[-1] // 2
    return tuple(torch.where(columns < half, x[..., columns], 0.0) for columns in (first, second))


def first_half_stored(q, k, cos, sin, interleaved=False, pos_offset=0):
    both = right(q, k, cos, sin, interleaved, pos_offset)
    inside = torch.arange(q.shape[-1]) < q.shape[-1] // 2
    return tuple(torch.where(inside, x, NEVER) for x in both)


def one_column(table):
    """The same number for all pairs."""
    return lambda g: g[table][:, :1].expand_as(g[table])


def side_by_side(tables):
    """Columns 0, 1, 2 and so on of these tables, which may hold each angle twice."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        half = q.shape[3] // 2
        taken = {"cos": cos, "sin": sin}
        taken |= {name: taken[name][:, :half] for name in tables}
        return right(q, k, **taken, interleaved=interleaved, pos_offset=pos_offset)

    return wrong


def heads_alike(x, like):
    """The heads of x as many as those of `like`; NaN where there are none."""
    if x.shape[1] == 1:
        return x.expand_as(like)
    missing = max(like.shape[1] - x.shape[1], 0)
    padded = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, missing), value=NEVER)
    return padded[:, : like.shape[1]]


def the_other(q, k, *rest):
    """What belongs to q stands in k's result, and the other way round."""
    turned_q, turned_k = right(q, k, *rest)
    return heads_alike(turned_k, q), heads_alike(turned_q, k)


def mixed(change, results):
    """In these results partners of the other tensor: change(a, b, other a, other b) -> a, b."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        L, D = q.shape[2:]
        c, s = (one_copy(t, D, interleaved)[pos_offset : pos_offset + L] for t in (cos, sin))
        columns = right_columns(torch.arange(D // 2), D // 2, interleaved)
        found = []
        for x, other in ((q, heads_alike(k, q)), (k, heads_alike(q, k))):
            a, b = right_loads(x, *columns)
            right_ones = right_turn(a, b, c, s)
            wrong_ones = right_turn(*change(a, b, *right_loads(other, *columns)), c, s)
            y = torch.empty_like(x)
            for n in (0, 1):
                y[..., columns[n]] = (wrong_ones if n in results else right_ones)[n]
            found.append(y)
        return tuple(found)

    return wrong


MIXED = {
    "first": lambda a, b, other_a, other_b: (other_a, b),
    "second": lambda a, b, other_a, other_b: (a, other_b),
}
FIRST, SECOND = formulas("first", "second")
PARTNERS = ("first partner", "second partner")

SUSPECTS = {
    "halves-loaded": (
        interleaved_only(kernel(loads=as_halves)),
        "Interleaved, the halves of a head are loaded as partners. `tl.split` takes the last "
        "dimension apart: there the two neighbours have to stand, (..., BLOCK_P, 2).",
    ),
    "halves-stored": (
        interleaved_only(stored_as_halves),
        "Interleaved, the results are stored as two halves. `tl.join` puts two partners side by "
        "side, and `tl.reshape` leaves them there.",
    ),
    "neighbours-loaded": (
        half_split_only(kernel(loads=as_neighbours)),
        "Half-split, neighbours are loaded as partners: that is the interleaved form.",
    ),
    "neighbours-stored": (
        half_split_only(stored_as_neighbours),
        "Half-split, the results are stored as neighbours: that is the interleaved form.",
    ),
    "interleaved-results-swapped": (
        interleaved_only(kernel(turn=lambda a, b, c, s: right_turn(a, b, c, s)[::-1])),
        "Interleaved, the two results have changed places: `tl.join` takes the even columns first.",
    ),
    "interleaved-partners-swapped": (
        interleaved_only(kernel(loads=lambda x, first, second: (x[..., second], x[..., first]))),
        "Interleaved, the partners are loaded in the wrong order: `tl.split` gives the even "
        "columns first.",
    ),
    "half-loaded": (
        interleaved_only(kernel(loads=first_half_loaded)),
        "Interleaved, only the first HALF columns of a head are loaded. A head has 2 * HALF.",
    ),
    "half-stored": (
        interleaved_only(first_half_stored),
        "Interleaved, only the first HALF columns of a head were written. A head has 2 * HALF.",
    ),
}
SUSPECTS |= {
    f"head-from-one-column-{n}": (
        interleaved_only(kernel(loads=lambda x, *_, n=n: 2 * [x[..., n : n + 1]])),
        "Interleaved, all columns of a head are the same number: its address lacks `offs_d`.",
    )
    for n in (0, 1)
}
SUSPECTS |= suspects(
    ("first", "second"), PARTNERS, [f"the columns of the {name}s" for name in PARTNERS]
)
# Where whole heads are stored, no partner is left out.
SUSPECTS |= {
    code: (half_split_only(SUSPECTS[code][0]), SUSPECTS[code][1])
    for code in ("first-unwritten", "second-unwritten", "second-into-first")
}
SUSPECTS |= {
    code: (SUSPECTS[code][0], sentence)
    for code, sentence in {
        "in-half-precision": (
            "Products and sums were rounded to half precision. `load_pairs` gives float32: take "
            "cos and sin there too, and leave all of them there. The store rounds, once."
        ),
        "partners-swapped": (
            "The partners have changed places: of the two columns the first partner has the lower "
            "one."
        ),
        "first-for-both": "Both partners are the first one: the second one is never used.",
        "second-for-both": "Both partners are the second one: the first one is never used.",
        "same-columns": "First and second partner have the same columns.",
        "a-one-further": (
            "The first partner was loaded one column further on. Multiply the number of the pair "
            "by the stride, and add nothing."
        ),
        "stored-one-further": (
            "The first result was stored one column further on. Multiply the number of the pair by "
            "the stride, and add nothing."
        ),
    }.items()
}
SUSPECTS |= {
    code + suffix: (positions(where, tables), f"The positions{suffix.replace('-', ' ')} {what}")
    for code, (where, what) in PLACES.items()
    for suffix, tables in TABLES.items()
}
SUSPECTS |= {
    f"{'-'.join(tables)}-of-one-pair": (
        given(**{table: one_column(table) for table in tables}),
        f"For all pairs of a token {' and '.join(tables)} {have} one number: `offs_p` belongs into "
        "the address.",
    )
    for tables, have in ((("cos",), "has"), (("sin",), "has"), (("cos", "sin"), "have"))
}
SUSPECTS |= {
    f"position-added{suffix}": (
        positions_added(tables),
        f"The position is added to the stride of {' and '.join(tables)}. Multiply it.",
    )
    for suffix, tables in TABLES.items()
}
SUSPECTS |= {
    f"{'-'.join(tables)}-side-by-side": (
        side_by_side(tables),
        f"The columns of {' and '.join(tables)} are taken side by side. In the table they stand "
        f"{' and '.join(f'`stride_{table[0]}d`' for table in tables)} apart.",
    )
    for tables in (("cos",), ("sin",), ("cos", "sin"))
}
SUSPECTS |= {
    "cos-for-both": (
        given(sin=lambda g: g["cos"]),
        "sin holds what cos holds. It comes from `sin_ptr`, at an address of its own.",
    ),
    "sin-for-both": (
        given(cos=lambda g: g["sin"]),
        "cos holds what sin holds. It comes from `cos_ptr`, at an address of its own.",
    ),
    "first-result-twice": (
        kernel(turn=lambda a, b, c, s: 2 * [a * c - b * s]),
        f"Both partners become {FIRST}. The second one becomes {SECOND}.",
    ),
    "second-result-twice": (
        kernel(turn=lambda a, b, c, s: 2 * [b * c + a * s]),
        f"Both partners become {SECOND}. The first one becomes {FIRST}.",
    ),
    "the-other": (
        the_other,
        "It holds the heads of the other tensor, turned: q stands where k belongs, or k where q "
        "does.",
    ),
}
SUSPECTS |= {
    f"{partner}-of-the-other-{code}": (
        mixed(change, results),
        f"{where}, the {partner} partner is that of the other tensor: q and k are mixed up.",
    )
    for partner, change in MIXED.items()
    for code, results, where in (
        ("first", (0,), f"In the first result, {FIRST}"),
        ("second", (1,), f"In the second result, {SECOND}"),
        ("both", (0, 1), f"In both results, {FIRST} and {SECOND}"),
    )
}


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


def rows_left_out(q, k, *rest, **options):
    """Every head of every token is the first head of the first token."""
    return right(*(x[:1, :1, :1].expand_as(x) for x in (q, k)), *rest, **options)


def offset_in_elements(q, k, cos, sin, interleaved=False, pos_offset=0):
    """The first position is `pos_offset` elements further on in the tables, not so many rows."""
    L, half = q.shape[2], q.shape[3] // 2
    place = pos_offset + torch.arange(L)[:, None] * half + torch.arange(half)
    tables = [one_copy(table, q.shape[3], interleaved).flatten()[place] for table in (cos, sin)]
    return right(q, k, *tables, interleaved=interleaved)


def tables_in_half(q, k, cos, sin, interleaved=False, pos_offset=0, *, dtype):
    tables = [table.to(dtype).double() for table in (cos, sin)]
    return right(q, k, *tables, interleaved, pos_offset)


SUSPECTS |= {
    "tables-in-half": (
        tables_in_half,
        "cos and sin were rounded to half precision. They may come in float32: take them as "
        "float32, and leave them there.",
    ),
    "rows-left-out": (
        rows_left_out,
        "Every head of every token is turned from the first head of the first token: `rows` "
        "belongs into the address.",
    ),
    "offset-in-elements": (
        offset_in_elements,
        "`pos_offset` is added as a number of elements. It counts rows of the tables: multiply it "
        "by their stride.",
    ),
}


def into_out(fn):
    """The results go into the tensors that come as `out`, and these are returned."""
    q, k = torch.randn(1, 4, 5, 8, device=DEVICE), torch.randn(1, 2, 5, 8, device=DEVICE)
    cos, sin = torch.randn(2, 5, 4, device=DEVICE).unbind(0)
    out = torch.zeros_like(q), torch.zeros_like(k)
    found = fn(q, k, cos, sin, out=out)
    assert all(one is two for one, two in zip(found, out, strict=True)), (
        "The tensors that came as `out` have to be returned."
    )
    assert agree(out, right(q, k, cos, sin)), "The results belong into the tensors of `out`."


def into_memory_with_gaps(fn):
    for interleaved in (False, True):
        into_other_memory(
            fn, interleaved, need="the loads need the strides of q and k, the stores those of `out`"
        )


def over_its_own_inputs(fn):
    for interleaved in (False, True):
        over_its_inputs(fn, interleaved)


def turned(fn, interleaved, D=16):
    q, k = torch.randn(2, 1, 1, 4, D, device=DEVICE).unbind(0)
    return accesses(fn, q, k, *torch.randn(2, 4, D // 2, device=DEVICE), interleaved=interleaved)


def stored_once(fn):
    for interleaved in (False, True):
        assert_each_place_once(turned(fn, interleaved, D=20))


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
        launches=1,
        tolerance=SAME_BITS,
        mistakes=HALVES_MISTAKES,
        also=[loads_whole_rows, halves_stored_once],
    ),
    "rope_record": Check(
        rope_record_ref,
        CASES,
        HIDDEN_CASES,
        results=("q_out", "k_out"),
        launches=1,
        programs=full_programs,
        tolerance=rounded_once(terms=2),
        mistakes=SUSPECTS,
        before=[tokens_in_a_program],
        also=[
            heads_behind_tokens,
            into_out,
            into_memory_with_gaps,
            over_its_own_inputs,
            loads_whole_heads,
            loads_come_first,
            stored_once,
        ],
    ),
}
