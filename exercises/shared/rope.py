"""RoPE as pages 40 and 66 check it: cases, what a wrong kernel computes, mistakes with a name."""

from __future__ import annotations

import torch

from tritonbook import DEVICE
from tritonbook.checking import case, tensor

NEVER = float("nan")  # what an element holds that is never written


# --- cases


def halves_alike(generator, shape):
    """A table D wide for the half-split form: the second half repeats the first."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return torch.cat((half, half), dim=1)


def neighbours_alike(generator, shape):
    """A table D wide for the interleaved form: each column stands twice."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return half.repeat_interleave(2, dim=1)


def rope_case(note, B, H, HK, L, D, positions=None, **more):
    """A case with tables half as wide as D, unless `more` says otherwise.

    layout: of q, and of k unless k_layout is another.
    """
    layout = more.pop("layout", "contiguous")
    k_layout = more.pop("k_layout", layout)
    table = {"cos": tensor(positions or L, D // 2), "sin": tensor(positions or L, D // 2)}
    table |= {name: more.pop(name) for name in ("cos", "sin") if name in more}
    known = {"interleaved": more.pop("interleaved", False), "pos_offset": more.pop("offset", 0)}
    q, k = tensor(B, H, L, D, layout=layout), tensor(B, HK, L, D, layout=k_layout)
    return case(note, q=q, k=k, **table, **known, **more)


# --- what a kernel gives that is wrong. All take (q, k, cos, sin, interleaved, pos_offset).


def one_copy(table, D, interleaved):
    """The columns to use, (P, D/2), of a table that may hold each angle twice."""
    return table[:, :: table.shape[1] * 2 // D] if interleaved else table[:, : D // 2]


def right_columns(p, half, interleaved):
    return (2 * p, 2 * p + 1) if interleaved else (p, p + half)


def right_loads(x, first, second):
    return x[..., first], x[..., second]


def right_turn(a, b, c, s):
    return a * c - b * s, b * c + a * s


def kernel(columns=right_columns, loads=right_loads, turn=right_turn):
    """What a kernel gives that has another step: columns(pairs, D/2, interleaved) -> first, second;
    loads(x, first, second) -> a, b; turn(a, b, cos, sin) -> what goes into first, then second."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        L, D = q.shape[2:]
        c, s = (one_copy(t, D, interleaved)[pos_offset : pos_offset + L] for t in (cos, sin))
        pairs = torch.arange(D // 2, device=q.device)
        first, second = columns(pairs, D // 2, interleaved)
        turned = []
        for x in (q, k):
            y = torch.full_like(x, NEVER)
            y[..., first], y[..., second] = turn(*loads(x, first, second), c, s)
            turned.append(y)
        return tuple(turned)

    return wrong


right = kernel()


def given(**changes):
    """What is right for other arguments: what a kernel gives that takes the wrong ones."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        known = {"cos": cos, "sin": sin, "interleaved": interleaved, "pos_offset": pos_offset}
        return right(q, k, **(known | {name: new(known) for name, new in changes.items()}))

    return wrong


def in_half(*arguments, dtype):
    """Products and sums in the dtype of q."""

    def turn(*numbers):
        return [x.double() for x in right_turn(*(x.to(dtype) for x in numbers))]

    return kernel(turn=turn)(*arguments)


# What is stored, and what is wrong with it: in the first result, in the second, or in both.
TURNS = {
    "wrong-sign": (
        lambda a, b, c, s: (a * c + b * s, b * c - a * s),
        "the product with sin has the wrong sign",
    ),
    "sine-of-the-other": (
        lambda a, b, c, s: (a * c - a * s, b * c + b * s),
        "sin is multiplied by the wrong partner",
    ),
    "cosine-of-the-other": (
        lambda a, b, c, s: (b * c - b * s, a * c + a * s),
        "cos is multiplied by the wrong partner",
    ),
    "sin-for-cos": (
        lambda a, b, c, s: (a * s - b * c, b * s + a * c),
        "cos and sin have changed places",
    ),
    "no-sine": (lambda a, b, c, s: (a * c, b * c), "the product with sin is missing"),
    "no-cosine": (lambda a, b, c, s: (-b * s, a * s), "the product with cos is missing"),
    "cosine-left-out": (lambda a, b, c, s: (a - b * s, b + a * s), "the factor cos is missing"),
    "sine-left-out": (lambda a, b, c, s: (a * c - b, b * c + a), "the factor sin is missing"),
    "cosine-alone": (lambda a, b, c, s: (c - b * s, c + a * s), "nothing is multiplied by cos"),
    "sine-alone": (lambda a, b, c, s: (a * c - s, b * c + s), "nothing is multiplied by sin"),
    "cosine-added": (
        lambda a, b, c, s: (a + c - b * s, b + c + a * s),
        "cos is added, where a product is meant",
    ),
    "sine-added": (
        lambda a, b, c, s: (a * c - b + s, b * c + a + s),
        "sin is added, where a product is meant",
    ),
}


def interleaved_in(first, second):
    """Interleaved, with pair p in the columns first(p) and second(p)."""

    def columns(p, half, interleaved):
        return (first(p), second(p)) if interleaved else right_columns(p, half, False)

    return kernel(columns)


# First and second column of pair p, in wrong lines for the interleaved form.
INTERLEAVED = [
    (lambda p: p, lambda p: p + 1),
    (lambda p: p, lambda p: 2 * p),
    (lambda p: p, lambda p: 2 * p + 1),
    (lambda p: 2 * p, lambda p: p + 1),
    (lambda p: p + 2, lambda p: p + 3),
    (lambda p: p + 2, lambda p: 2 * p + 1),
    (lambda p: 2 * p, lambda p: p + 3),
    (lambda p: 0 * p, lambda p: 2 * p + 1),
    (lambda p: 2 * p, lambda p: 0 * p + 1),
]


def one_further(p, half, interleaved):
    first, second = right_columns(p, half, interleaved)
    return first + 1, second


def formulas(a, b):
    """Both results, as the page writes them."""
    return f"{a} cos - {b} sin", f"{b} cos + {a} sin"


def in_one_or_both(code, turn, what, first, second):
    """The three suspects of a wrong turn; first, second: the formulas of the results."""
    yield (
        f"{code}-first",
        lambda *abcs: (turn(*abcs)[0], right_turn(*abcs)[1]),
        f"In the first result, {first}, {what}.",
    )
    yield (
        f"{code}-second",
        lambda *abcs: (right_turn(*abcs)[0], turn(*abcs)[1]),
        f"In the second result, {second}, {what}.",
    )
    yield code, turn, f"In both results, {first} and {second}, {what}."


def suspects(partners, names, columns):
    """Mistakes of whoever turns both partners of each pair.

    Of the first partner and the second: what they are called in the page's formulas, how a sentence
    names them, and the columns where they lie.
    """
    first, second = formulas(*partners)
    (a, b), (first_columns, second_columns) = names, columns
    found = {
        name: (kernel(turn=formula), sentence)
        for code, (turn, what) in TURNS.items()
        for name, formula, sentence in in_one_or_both(code, turn, what, first, second)
    } | {
        "wrong-sign": (
            kernel(turn=TURNS["wrong-sign"][0]),
            "The arrows turn the wrong way. Either both products with sin have the wrong sign, or "
            "`first` and `second` have changed places.",
        ),
        "new-a": (
            kernel(turn=lambda a, b, c, s: (a * c - b * s, b * c + (a * c - b * s) * s)),
            f"The second result was computed from the new {a}. Both formulas need the {a} that was "
            "loaded.",
        ),
        "new-b": (
            kernel(turn=lambda a, b, c, s: (a * c - (b * c + a * s) * s, b * c + a * s)),
            f"The first result was computed from the new {b}. Both formulas need the {b} that was "
            "loaded.",
        ),
        "results-swapped": (
            kernel(turn=lambda a, b, c, s: (b * c + a * s, a * c - b * s)),
            f"The two results have changed places: {first} belongs into {first_columns}.",
        ),
        "first-unwritten": (
            kernel(turn=lambda a, b, c, s: (NEVER, b * c + a * s)),
            f"{first_columns.capitalize()} were never written: {first} belongs there.",
        ),
        "second-unwritten": (
            kernel(turn=lambda a, b, c, s: (a * c - b * s, NEVER)),
            f"{second_columns.capitalize()} were never written: {second} belongs there.",
        ),
        "second-into-first": (
            kernel(turn=lambda a, b, c, s: (b * c + a * s, NEVER)),
            f"Both results are stored into {first_columns}, the second one over the first.",
        ),
        "not-turned": (
            kernel(turn=lambda a, b, c, s: (a, b)),
            "It comes out as it went in: neither cos nor sin takes part.",
        ),
        "in-half-precision": (
            in_half,
            "Products and sums were rounded to half precision. Take a and b to float32, and leave "
            "cos and sin there: the store rounds, once.",
        ),
        "partners-swapped": (
            kernel(loads=lambda x, first, second: (x[..., second], x[..., first])),
            "a and b have changed places: a is the partner in the column `first`.",
        ),
        "first-for-both": (
            kernel(loads=lambda x, first, second: (x[..., first], x[..., first])),
            "b holds what a holds: the second partner was loaded from the columns `first`.",
        ),
        "second-for-both": (
            kernel(loads=lambda x, first, second: (x[..., second], x[..., second])),
            "a holds what b holds: the first partner was loaded from the columns `second`.",
        ),
        "same-columns": (
            kernel(lambda p, half, interleaved: 2 * [2 * p if interleaved else p]),
            "`first` and `second` are the same columns.",
        ),
        "a-one-further": (
            kernel(loads=lambda x, first, second: (x[..., first + 1], x[..., second])),
            "a was loaded one column further on. Multiply `first` by the stride, and add nothing.",
        ),
        "stored-one-further": (
            kernel(one_further, lambda x, first, second: (x[..., first - 1], x[..., second])),
            "The first result was stored one column further on. Multiply `first` by the stride, "
            "and add nothing.",
        ),
        "other-pairing": (
            given(interleaved=lambda g: not g["interleaved"]),
            "These are the pairs of the other form: half-split for interleaved, or the other way "
            "round.",
        ),
        "no-offset": (
            given(pos_offset=lambda g: 0),
            "The positions start at 0. Token l has the position `pos_offset + l`.",
        ),
    }
    found |= {
        f"interleaved-columns-{number}": (
            interleaved_in(*columns),
            "In the interleaved form pair p has the columns 2p and 2p + 1. Try your line with pair "
            "0, and with pair 1.",
        )
        for number, columns in enumerate(INTERLEAVED)
    }
    return found | {
        f"{tile}-from-one-column-{n}": (
            kernel(loads=pick),
            f"{f'The {name}' if ' ' in name else name} is the same number for all pairs of a head: "
            "its address lacks the columns.",
        )
        for n in (0, 1)
        for tile, name, pick in (
            ("a", a, lambda x, first, second, n=n: (x[..., n : n + 1], x[..., second])),
            ("b", b, lambda x, first, second, n=n: (x[..., first], x[..., n : n + 1])),
        )
    }


# --- what holds of every call


def agree(got, wanted):
    pairs = zip(got, wanted, strict=True)
    return all(torch.allclose(one, two, rtol=1e-5, atol=1e-5) for one, two in pairs)


def heads_behind_tokens(fn):
    """q and k as a model hands them over: (B, L, H, D) in memory."""
    q = torch.randn(2, 3, 4, 8, device=DEVICE).transpose(1, 2)
    k = torch.randn(2, 3, 2, 8, device=DEVICE).transpose(1, 2)
    cos, sin = torch.randn(2, 3, 4, device=DEVICE).unbind(0)
    assert agree(fn(q, k, cos, sin), right(q, k, cos, sin)), (
        "Wrong for q = x.transpose(1, 2): use the strides of each tensor."
    )


def into_other_memory(fn, *interleaved, need="the loads need `stride_xd`, the stores `stride_yd`"):
    """Elements of q and k lie side by side, those of `out` two apart. Rows have room for both, so
    that a stride taken for the other stays inside. need: of the loads and stores, for the card."""
    q, k, q_out, k_out = (torch.randn(1, H, 3, 24, device=DEVICE) for H in (4, 2, 4, 2))
    cos, sin = torch.randn(2, 3, 6, device=DEVICE).unbind(0)
    q, k, out = q[..., :12], k[..., :12], (q_out[..., ::2], k_out[..., ::2])
    wanted = right(q, k, cos, sin, *interleaved)
    fn(q, k, cos, sin, *interleaved, out=out)
    assert agree(out, wanted), (
        f"Wrong where the elements of q lie side by side and those of `out` two apart: {need}."
    )


def over_its_inputs(fn, *interleaved):
    """out=(q, k): the results lie where q and k lay."""
    q, k = torch.randn(2, 5, 4, 12, device=DEVICE), torch.randn(2, 2, 4, 12, device=DEVICE)
    cos, sin = torch.randn(2, 4, 6, device=DEVICE).unbind(0)
    wanted = right(q.clone(), k.clone(), cos, sin, *interleaved)
    q_out, k_out = fn(q, k, cos, sin, *interleaved, out=(q, k))
    assert q_out is q and k_out is k, "The tensors that came as `out` have to be returned."
    assert agree((q, k), wanted), "Wrong over its inputs: load both partners before you store one."
