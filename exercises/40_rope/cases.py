"""What the checks of 40_rope try: cases, references, and mistakes that have a name."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once, tensor

from .page import one_copy, rope_ref

NEVER = float("nan")  # what an element holds that is never written


def halves_alike(generator, shape):
    """A table D wide for the half-split form: the second half repeats the first."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return torch.cat((half, half), dim=1)


def neighbours_alike(generator, shape):
    """A table D wide for the interleaved form: each column stands twice."""
    half = torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
    return half.repeat_interleave(2, dim=1)


def rope_case(note, B, H, HK, L, D, positions=None, **more):
    """A case with tables half as wide as D, unless `more` says otherwise."""
    layout = more.pop("layout", "contiguous")
    table = {"cos": tensor(positions or L, D // 2), "sin": tensor(positions or L, D // 2)}
    table |= {name: more.pop(name) for name in ("cos", "sin") if name in more}
    options = {"interleaved": more.pop("interleaved", False), "pos_offset": more.pop("offset", 0)}
    q, k = tensor(B, H, L, D, layout=layout), tensor(B, HK, L, D, layout=layout)
    return case(note, q=q, k=k, **table, **options, **more)


CASES = [
    rope_case("all sizes powers of two", 2, 4, 4, 4, 16),
    rope_case("fewer heads for k, odd sizes", 1, 6, 3, 5, 20),
    rope_case("interleaved", 2, 3, 1, 3, 24, interleaved=True),
    rope_case("positions from 7 on", 1, 2, 2, 4, 16, positions=12, offset=7),
    rope_case(
        "tables of width D",
        1,
        2,
        1,
        5,
        16,
        cos=tensor(5, 16, values=halves_alike),
        sin=tensor(5, 16, values=halves_alike),
    ),
    rope_case("memory with gaps", 2, 2, 2, 3, 16, layout="strided"),
    rope_case("a head's elements not side by side", 1, 3, 2, 5, 12, layout="transposed"),
    rope_case("half precision", 2, 3, 1, 3, 40, dtype="float16"),
    rope_case("positions that the tables lack", 1, 2, 2, 4, 16, offset=2, raises=ValueError),
]


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
        first, second = columns(torch.arange(D // 2), D // 2, interleaved)
        turned = []
        for x in (q, k):
            y = torch.full_like(x, NEVER)
            y[..., first], y[..., second] = turn(*loads(x, first, second), c, s)
            turned.append(y)
        return tuple(turned)

    return wrong


def given(**changes):
    """The reference with other arguments: what a kernel gives that takes the wrong ones."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        known = {"cos": cos, "sin": sin, "interleaved": interleaved, "pos_offset": pos_offset}
        return rope_ref(q, k, **(known | {name: new(known) for name, new in changes.items()}))

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
FIRST, SECOND = "a cos - b sin", "b cos + a sin"


def in_one_or_both(code, turn, what):
    """The three suspects of a wrong turn."""
    yield (
        f"{code}-first",
        lambda *abcs: (turn(*abcs)[0], right_turn(*abcs)[1]),
        f"In the first result, {FIRST}, {what}.",
    )
    yield (
        f"{code}-second",
        lambda *abcs: (right_turn(*abcs)[0], turn(*abcs)[1]),
        f"In the second result, {SECOND}, {what}.",
    )
    yield code, turn, f"In both results, {FIRST} and {SECOND}, {what}."


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


SUSPECTS = {
    name: (kernel(turn=formula), sentence)
    for code, (turn, what) in TURNS.items()
    for name, formula, sentence in in_one_or_both(code, turn, what)
} | {
    "wrong-sign": (
        kernel(turn=TURNS["wrong-sign"][0]),
        "The arrows turn the wrong way. Either both products with sin have the wrong sign, or "
        "`first` and `second` have changed places.",
    ),
    "new-a": (
        kernel(turn=lambda a, b, c, s: (a * c - b * s, b * c + (a * c - b * s) * s)),
        "The second result was computed from the new a. Both formulas need the a that was loaded.",
    ),
    "new-b": (
        kernel(turn=lambda a, b, c, s: (a * c - (b * c + a * s) * s, b * c + a * s)),
        "The first result was computed from the new b. Both formulas need the b that was loaded.",
    ),
    "results-swapped": (
        kernel(turn=lambda a, b, c, s: (b * c + a * s, a * c - b * s)),
        f"The two results have changed places: {FIRST} belongs into the columns `first`.",
    ),
    "first-unwritten": (
        kernel(turn=lambda a, b, c, s: (NEVER, b * c + a * s)),
        f"The columns `first` were never written: {FIRST} belongs there.",
    ),
    "second-unwritten": (
        kernel(turn=lambda a, b, c, s: (a * c - b * s, NEVER)),
        f"The columns `second` were never written: {SECOND} belongs there.",
    ),
    "second-into-first": (
        kernel(turn=lambda a, b, c, s: (b * c + a * s, NEVER)),
        "Both results are stored into the columns `first`, the second one over the first.",
    ),
    "not-turned": (
        kernel(turn=lambda a, b, c, s: (a, b)),
        "It comes out as it went in: neither cos nor sin takes part.",
    ),
    "in-half-precision": (
        in_half,
        "Products and sums were rounded to half precision. Take a and b to float32, and leave cos "
        "and sin there: the store rounds, once.",
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
        "The first result was stored one column further on. Multiply `first` by the stride, and "
        "add nothing.",
    ),
    "other-pairing": (
        given(interleaved=lambda g: not g["interleaved"]),
        "These are the pairs of the other form: half-split and interleaved are swapped.",
    ),
    "no-offset": (
        given(pos_offset=lambda g: 0),
        "The positions start at 0. Token l has the position `pos_offset + l`.",
    ),
}
SUSPECTS |= {
    f"interleaved-columns-{number}": (
        interleaved_in(*columns),
        "In the interleaved form pair p has the columns 2p and 2p + 1. Try your line with pair 0, "
        "and with pair 1.",
    )
    for number, columns in enumerate(INTERLEAVED)
}
SUSPECTS |= {
    f"{tile}-from-one-column-{n}": (
        kernel(loads=pick),
        f"{tile} is the same number for all pairs of a head: its address lacks the columns.",
    )
    for n in (0, 1)
    for tile, pick in (
        ("a", lambda x, first, second, n=n: (x[..., n : n + 1], x[..., second])),
        ("b", lambda x, first, second, n=n: (x[..., first], x[..., n : n + 1])),
    )
}


def agree(got, wanted):
    pairs = zip(got, wanted, strict=True)
    return all(torch.allclose(one, two, rtol=1e-5, atol=1e-5) for one, two in pairs)


def heads_behind_tokens(fn):
    """q and k as a model hands them over: (B, L, H, D) in memory."""
    q = torch.randn(2, 3, 4, 8, device=DEVICE).transpose(1, 2)
    k = torch.randn(2, 3, 2, 8, device=DEVICE).transpose(1, 2)
    cos, sin = torch.randn(2, 3, 4, device=DEVICE).unbind(0)
    assert agree(fn(q, k, cos, sin), rope_ref(q, k, cos, sin)), (
        "Wrong for q = x.transpose(1, 2): use the strides of each tensor."
    )


def into_other_memory(fn):
    """Elements of q and k lie side by side, those of `out` two apart. Rows have room for both, so
    that a stride taken for the other stays inside."""
    q, k, q_out, k_out = (torch.randn(1, H, 3, 24, device=DEVICE) for H in (4, 2, 4, 2))
    cos, sin = torch.randn(2, 3, 6, device=DEVICE).unbind(0)
    q, k, out = q[..., :12], k[..., :12], (q_out[..., ::2], k_out[..., ::2])
    wanted = rope_ref(q, k, cos, sin)
    fn(q, k, cos, sin, out=out)
    assert agree(out, wanted), (
        "Wrong where the elements of q lie side by side and those of `out` two apart: the loads "
        "need `stride_xd`, the stores `stride_yd`."
    )


def over_its_inputs(fn):
    """out=(q, k): the results lie where q and k lay."""
    q, k = torch.randn(2, 5, 4, 12, device=DEVICE), torch.randn(2, 2, 4, 12, device=DEVICE)
    cos, sin = torch.randn(2, 4, 6, device=DEVICE).unbind(0)
    wanted = rope_ref(q.clone(), k.clone(), cos, sin)
    q_out, k_out = fn(q, k, cos, sin, out=(q, k))
    assert q_out is q and k_out is k, "rope has to return the tensors that it got as out."
    assert agree((q, k), wanted), "Wrong over its inputs: load both partners before you store one."


HIDDEN_CASES = [
    rope_case("one head, one token", 1, 1, 1, 1, 2),
    rope_case("no tokens", 1, 2, 1, 0, 8, positions=3),
    rope_case("three batches, half precision", 3, 5, 1, 3, 40, dtype="float16"),
    rope_case("bfloat16, interleaved", 1, 3, 2, 4, 12, dtype="bfloat16", interleaved=True),
    rope_case("eight heads to two, large head", 1, 8, 2, 3, 128),
    rope_case(
        "interleaved, tables of width D",
        1,
        3,
        2,
        4,
        12,
        interleaved=True,
        cos=tensor(4, 12, values=neighbours_alike),
        sin=tensor(4, 12, values=neighbours_alike),
    ),
    rope_case("interleaved, offset", 1, 2, 1, 3, 20, positions=9, offset=6, interleaved=True),
    rope_case(
        "half-split, tables of width D, offset",
        2,
        2,
        1,
        3,
        12,
        offset=2,
        cos=tensor(6, 12, values=halves_alike),
        sin=tensor(6, 12, values=halves_alike),
    ),
    rope_case(
        "transposed memory, interleaved", 1, 3, 3, 5, 12, layout="transposed", interleaved=True
    ),
    rope_case("an odd start in memory", 1, 2, 3, 4, 16, layout="offset"),
    rope_case(
        "tables with gaps",
        1,
        2,
        2,
        4,
        16,
        cos=tensor(4, 8, layout="strided"),
        sin=tensor(4, 8, layout="transposed"),
    ),
    rope_case("one batch repeated", 2, 2, 2, 3, 8, layout="expanded"),
    rope_case("large values", 1, 2, 2, 3, 16, cos=tensor(3, 8, scale=100.0)),
    rope_case("an odd head dimension", 1, 2, 2, 3, 7, raises=ValueError),
]


def rope_backward_ref(dq, dk, cos, sin, interleaved=False, pos_offset=0):
    return rope_ref(dq, dk, cos, -sin, interleaved, pos_offset)


def backwards(code):
    """A mistake of `rope` in the turn back."""
    formula, sentence = SUSPECTS[code]
    return lambda dq, dk, cos, sin, *rest: formula(dq, dk, cos, -sin, *rest), sentence


BACKWARD_SUSPECTS = {
    "turned-forwards": (rope_ref, "This is the forward turn. The gradient turns back."),
    "other-pairing": backwards("other-pairing"),
    "no-offset": backwards("no-offset"),
    "sin-for-cos": (
        given(cos=lambda g: g["sin"], sin=lambda g: -g["cos"]),
        "cos and sin have changed places.",
    ),
    "not-a-sign": (
        given(sin=lambda g: -2 * g["sin"]),
        "The angles are turned by more than their sign: `sign` is 1.0 or -1.0.",
    ),
    "unchanged": (
        lambda dq, dk, *rest: (dq, dk),
        "The gradients come back as they came in. Return the two new tensors.",
    ),
    "swapped": (
        lambda dq, dk, *rest: rope_backward_ref(dq, dk, *rest)[::-1],
        "The gradient of one stands where that of the other belongs, in the launch or in what is "
        "returned. Or are both one tensor?",
    ),
}


def backward_case(note, *sizes, **more):
    made = rope_case(note, *sizes, **more)
    names = {"q": "dq", "k": "dk"}
    arguments = {names.get(name, name): value for name, value in made.arguments.items()}
    return case(note, dtype=made.dtype, raises=made.raises, **arguments)


def there_and_back(fn):
    """A rotation and its inverse: the identity, if cos and sin belong to real angles."""
    q, k = torch.randn(1, 2, 5, 16, device=DEVICE), torch.randn(1, 1, 5, 16, device=DEVICE)
    angle = torch.randn(5, 8, device=DEVICE)
    turned = rope_ref(q, k, angle.cos(), angle.sin())
    assert agree(fn(*turned, angle.cos(), angle.sin()), (q, k)), (
        "Turning there and back should give what you began with."
    )


BACKWARD_CASES = [
    backward_case("equal head counts", 2, 2, 2, 3, 16),
    backward_case("fewer heads for dk", 1, 4, 2, 5, 12),
    backward_case("interleaved", 1, 2, 1, 3, 8, interleaved=True),
    backward_case("positions from 5 on", 1, 2, 2, 3, 8, positions=9, offset=5),
    backward_case("memory with gaps", 2, 2, 1, 3, 12, layout="strided"),
    backward_case("half precision", 1, 2, 1, 5, 24, dtype="float16"),
    backward_case("too few positions", 1, 2, 2, 3, 8, offset=1, raises=ValueError),
]

HIDDEN_BACKWARD_CASES = [
    backward_case("another half precision", 1, 3, 1, 4, 40, dtype="float16"),
    backward_case("a gradient that was expanded", 2, 2, 2, 3, 8, layout="expanded"),
    backward_case("other memory with gaps", 2, 2, 1, 3, 8, layout="strided"),
    backward_case("transposed memory", 1, 2, 1, 5, 8, layout="transposed"),
    backward_case("interleaved, offset", 1, 2, 1, 3, 12, positions=8, offset=4, interleaved=True),
    backward_case("one token", 1, 1, 1, 1, 4),
]

CHECKS = {
    "rope": Check(
        rope_ref,
        CASES,
        HIDDEN_CASES,
        results=("q_out", "k_out"),
        launches=1,
        tolerance=rounded_once(terms=2),
        mistakes=SUSPECTS,
        also=[heads_behind_tokens, into_other_memory, over_its_inputs],
    ),
    "rope_backward": Check(
        rope_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        results=("dq_in", "dk_in"),
        launches=1,
        tolerance=rounded_once(terms=2),
        mistakes=BACKWARD_SUSPECTS,
        also=[there_and_back],
    ),
}
