"""The same bits at every call: twenty times what the checks of pages 42 to 44 ask thrice."""

import pytest
import torch

from tritonbook.course.exercises import get, load
from tritonbook.port.device import DEVICE

CALLS = 20
L, DTYPE = (1000, torch.float16) if DEVICE == "cuda" else (35, torch.float32)


def _bits(result):
    return [t.clone() for t in (result if isinstance(result, tuple) else (result,))]


def _heads(count):
    return torch.randn(2, count, L, 64, device=DEVICE, dtype=DTYPE)


def _attention():
    page = load(get("42_flash_gqa"))
    q, k, v = _heads(4), _heads(2), _heads(2)
    return lambda: page.flash_gqa(q, k, v, True)


def _backward():
    forward = load(get("42_flash_gqa")).flash_gqa
    page = load(get("43_flash_backward"))
    q, k, v, do = _heads(4), _heads(2), _heads(2), _heads(4)
    o, lse = forward(q, k, v, True)
    return lambda: page.flash_bwd(do, q, k, v, o, lse, True)


def _layer():
    page = load(get("44_llama_block"))
    shapes = [(256,), (256, 512), (256, 256), (256,), (256, 320), (256, 320), (320, 256)]
    weights = [
        (torch.randn(*shape, device=DEVICE) * shape[0] ** -0.5).to(DTYPE) for shape in shapes
    ]
    x = torch.randn(2, L, 256, device=DEVICE, dtype=DTYPE)
    cos, sin = torch.randn(2, L, 32, device=DEVICE, dtype=DTYPE)
    return lambda: page.llama_block(x, *weights, cos, sin, 4, 2)


@pytest.mark.gpu
@pytest.mark.parametrize("made", [_attention, _backward, _layer])
def test_twenty_calls_agree_to_the_bit(made):
    """Kills: atomics, and tiles that are read before they are written, now and then."""
    call = made()
    first = _bits(call())
    assert all(torch.isfinite(t).all() for t in first)
    for _ in range(CALLS):
        assert all(torch.equal(*pair) for pair in zip(_bits(call()), first, strict=True))
