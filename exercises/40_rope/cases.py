"""What the checks of 40_rope try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, rounded_once
from tritonbook.checking.asks import launches, no_copies

from ..shared.rope import agree, heads_behind_tokens, into_other_memory, over_its_inputs, rope_case
from .page import rope_ref

GAPS = {"layout": "strided"}
CASES = [
    rope_case("all sizes powers of two", 2, 4, 4, 4, 16),
    rope_case("fewer heads for k, odd sizes", 1, 6, 3, 5, 20),
    rope_case("interleaved", 2, 3, 1, 3, 24, interleaved=True),
    rope_case("positions from 7 on", 1, 2, 2, 4, 16, positions=12, offset=7),
    rope_case("tables of width D", 1, 2, 1, 5, 16, wide=5),
    rope_case("memory with gaps", 2, 2, 2, 3, 16, layout="strided"),
    rope_case("a head's elements not side by side", 1, 3, 2, 5, 12, layout="transposed"),
    rope_case("half precision", 2, 3, 1, 3, 40, dtype="float16"),
    rope_case("positions that the tables lack", 1, 2, 2, 4, 16, offset=2, raises=ValueError),
    rope_case("no tokens", 1, 2, 1, 0, 8, positions=3),
    rope_case("an odd head dimension", 1, 2, 2, 3, 7, raises=ValueError),
    rope_case("one batch repeated", 2, 2, 2, 3, 8, layout="expanded"),
]


HIDDEN_CASES = [
    rope_case("one head, one token", 1, 1, 1, 1, 2),
    rope_case("three batches, half precision", 3, 5, 1, 3, 40, dtype="float16"),
    rope_case("bfloat16, interleaved", 1, 3, 2, 4, 12, dtype="bfloat16", interleaved=True),
    rope_case("eight heads to two, large head", 1, 8, 2, 3, 128),
    rope_case("interleaved, tables of width D", 1, 3, 2, 4, 12, interleaved=True, wide=4),
    rope_case("interleaved, offset", 1, 2, 1, 3, 20, positions=9, offset=6, interleaved=True),
    rope_case("half-split, tables of width D, offset", 2, 2, 1, 3, 12, offset=2, wide=6),
    rope_case(
        "transposed memory, interleaved", 1, 3, 3, 5, 12, layout="transposed", interleaved=True
    ),
    rope_case("an odd start in memory", 1, 2, 3, 4, 16, layout="offset"),
    rope_case("tables with gaps", 1, 2, 2, 4, 16, cos=GAPS, sin={"layout": "transposed"}),
    rope_case("large values", 1, 2, 2, 3, 16, cos={"scale": 100.0}),
]


def rope_backward_ref(dq, dk, cos, sin, interleaved=False, pos_offset=0):
    return rope_ref(dq, dk, cos, -sin, interleaved, pos_offset)


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
    backward_case("a gradient that was expanded", 2, 2, 2, 3, 8, layout="expanded"),
]

HIDDEN_BACKWARD_CASES = [
    backward_case("another half precision", 1, 3, 1, 4, 40, dtype="float16"),
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
        wide=[rope_case("65,536 tokens", 1, 1, 1, 65_536, 2)],
        results=("q_out", "k_out"),
        asks=[launches(1), no_copies(), heads_behind_tokens, into_other_memory, over_its_inputs],
        tolerance=rounded_once(terms=2),
    ),
    "rope_backward": Check(
        rope_backward_ref,
        BACKWARD_CASES,
        HIDDEN_BACKWARD_CASES,
        results=("dq_in", "dk_in"),
        asks=[launches(1), there_and_back],
        tolerance=rounded_once(terms=2),
    ),
}
