"""The same bits at every call: twenty times what the checks of pages 11 and 42 to 44 ask thrice."""

import needs
import pytest
import torch

from tritonbook.course.exercises import get, load, reference
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


@pytest.mark.gpu
@needs.gpu
@pytest.mark.parametrize("N", [5000, 262_144])
def test_atomics_agree_within_noise_and_partials_to_the_bit(N):
    # Kills: atomics in the version that must repeat; a race that costs more than rounding.
    split, repeatable = reference("rmsnorm_split"), reference("rmsnorm_split_det")
    x, w = torch.randn(4, N, device=DEVICE), torch.randn(N, device=DEVICE)
    first = repeatable(x, w, 1e-6, 32)
    assert all(torch.equal(repeatable(x, w, 1e-6, 32), first) for _ in range(20))
    for _ in range(20):
        assert torch.allclose(split(x, w, 1e-6, 32), first, rtol=2e-6, atol=1e-7)
