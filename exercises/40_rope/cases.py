"""What the checks of 40_rope try: cases, references, and mistakes that have a name."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor

from .page import rope_ref


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
    rope_case("positions that the tables lack", 1, 2, 2, 4, 16, offset=2, raises=ValueError),
]


def _with(**changes):
    """The reference with one argument replaced: what a forgetful kernel would compute."""

    def wrong(q, k, cos, sin, interleaved=False, pos_offset=0):
        given = {"cos": cos, "sin": sin, "interleaved": interleaved, "pos_offset": pos_offset}
        return rope_ref(q, k, **(given | {name: new(given) for name, new in changes.items()}))

    return wrong


def _one_partner_for_both(q, k, cos, sin, interleaved=False, pos_offset=0):
    """b' computed from b alone."""
    right = rope_ref(q, k, cos, sin, interleaved, pos_offset)
    none = _with(sin=lambda g: 0 * g["sin"], cos=lambda g: g["cos"] + g["sin"])
    lost = none(q, k, cos, sin, interleaved, pos_offset)
    mixed = []
    for good, bad in zip(right, lost, strict=True):
        half = good.shape[-1] // 2
        column = torch.arange(2 * half)
        second = column % 2 == 1 if interleaved else column >= half
        mixed.append(torch.where(second, bad, good))
    return tuple(mixed)


SUSPECTS = {
    "turned-back": (
        _with(sin=lambda g: -g["sin"]),
        "The arrows turn the wrong way: a minus sign stands at the wrong sine.",
    ),
    "other-pairing": (
        _with(interleaved=lambda g: not g["interleaved"]),
        "These are the pairs of the other form: half-split and interleaved are swapped.",
    ),
    "no-offset": (
        _with(pos_offset=lambda g: 0),
        "The positions start at 0. Token l has the position `pos_offset + l`.",
    ),
    "sin-for-cos": (
        _with(cos=lambda g: g["sin"], sin=lambda g: g["cos"]),
        "cos and sin are swapped.",
    ),
    "one-partner-for-both": (
        _one_partner_for_both,
        "The second partner should be b cos + a sin. Its sine meets the wrong partner.",
    ),
}


def heads_behind_tokens(fn):
    """q and k as a model hands them over: (B, L, H, D) in memory."""
    q = torch.randn(2, 3, 4, 8, device=DEVICE).transpose(1, 2)
    k = torch.randn(2, 3, 2, 8, device=DEVICE).transpose(1, 2)
    cos, sin = torch.randn(2, 3, 4, device=DEVICE).unbind(0)
    wanted = rope_ref(q, k, cos, sin)
    for got, want in zip(fn(q, k, cos, sin), wanted, strict=True):
        close = torch.allclose(got, want, rtol=1e-5, atol=1e-5)
        assert close, "Wrong for q = x.transpose(1, 2): use the strides of each tensor."


def over_its_inputs(fn):
    """out=(q, k): the results lie where q and k lay."""
    q, k = torch.randn(2, 5, 4, 12, device=DEVICE), torch.randn(2, 2, 4, 12, device=DEVICE)
    cos, sin = torch.randn(2, 4, 6, device=DEVICE).unbind(0)
    wanted = rope_ref(q.clone(), k.clone(), cos, sin)
    q_out, k_out = fn(q, k, cos, sin, out=(q, k))
    assert q_out is q and k_out is k, "rope has to return the tensors that it got as out."
    for got, want in zip((q, k), wanted, strict=True):
        close = torch.allclose(got, want, rtol=1e-5, atol=1e-5)
        assert close, "Wrong over its inputs: load both partners before you store one."


HIDDEN_CASES = [
    rope_case("one head, one token", 1, 1, 1, 1, 2),
    rope_case("three batches, half precision", 3, 5, 1, 3, 40, dtype="float16"),
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
    rope_case("transposed memory", 1, 3, 3, 5, 12, layout="transposed"),
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


def _same_arguments(code):
    formula, sentence = SUSPECTS[code]
    return lambda dq, dk, cos, sin, *rest: formula(dq, dk, cos, -sin, *rest), sentence


BACKWARD_SUSPECTS = {
    "turned-forwards": (rope_ref, "This is the forward turn. The gradient turns back."),
    "other-pairing": _same_arguments("other-pairing"),
    "no-offset": _same_arguments("no-offset"),
    "swapped": (
        lambda dq, dk, *rest: rope_backward_ref(dq, dk, *rest)[::-1],
        "The two gradients are returned in the wrong order.",
    ),
}


def backward_case(note, *sizes, **more):
    made = rope_case(note, *sizes, **more)
    names = {"q": "dq", "k": "dk"}
    arguments = {names.get(name, name): value for name, value in made.arguments.items()}
    return case(note, dtype=made.dtype, raises=made.raises, **arguments)


def there_and_back(fn):
    """A rotation and its inverse: the identity, if cos and sin belong to real angles."""
    q = torch.randn(1, 2, 5, 16, device=DEVICE)
    k = torch.randn(1, 1, 5, 16, device=DEVICE)
    angle = torch.randn(5, 8, device=DEVICE)
    turned = rope_ref(q, k, angle.cos(), angle.sin())
    back = fn(*turned, angle.cos(), angle.sin())
    pairs = zip(back, (q, k), strict=True)
    close = all(torch.allclose(got, want, atol=1e-5) for got, want in pairs)
    assert close, "Turning there and back should give what you began with."


BACKWARD_CASES = [
    backward_case("equal head counts", 2, 2, 2, 3, 16),
    backward_case("fewer heads for dk", 1, 4, 2, 5, 12),
    backward_case("interleaved", 1, 2, 1, 3, 8, interleaved=True),
    backward_case("positions from 5 on", 1, 2, 2, 3, 8, positions=9, offset=5),
    backward_case("too few positions", 1, 2, 2, 3, 8, offset=1, raises=ValueError),
]

HIDDEN_BACKWARD_CASES = [
    backward_case("half precision", 1, 3, 1, 4, 40, dtype="float16"),
    backward_case("a gradient that was expanded", 2, 2, 2, 3, 8, layout="expanded"),
    backward_case("memory with gaps", 2, 2, 1, 3, 8, layout="strided"),
    backward_case("interleaved, offset", 1, 2, 1, 3, 12, positions=8, offset=4, interleaved=True),
    backward_case("one token", 1, 1, 1, 1, 4),
]

CHECKS = {
    "rope": Check(
        rope_ref,
        CASES,
        HIDDEN_CASES,
        launches=1,
        terms=2,
        mistakes=SUSPECTS,
        also=[heads_behind_tokens, over_its_inputs],
    ),
    "rope_backward": Check(
        rope_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        launches=1,
        terms=2,
        mistakes=BACKWARD_SUSPECTS,
        also=[there_and_back],
    ),
}
