"""Page 43: gradients of attention as a layer asks for them."""

import pytest
import torch

from tritonbook.course.page_checks import load_cases
from tritonbook.port.device import DEVICE

PAGE = "43_flash_backward"


def heads_behind_tokens(H, L, D):
    """[2, H, L, D] as a layer hands it over: the heads of one token lie side by side."""
    return torch.randn(2, L, H, D, device=DEVICE).transpose(1, 2)


@pytest.mark.gpu
@pytest.mark.parametrize(("H", "HK", "Lq", "Lk", "D"), [(4, 2, 37, 70, 40), (2, 2, 150, 150, 64)])
def test_gradients_of_a_layers_tensors(page, H, HK, Lq, Lk, D):
    """Kills: an lse or a head of another layout between the two passes, tiles that do not fit."""
    q, do = heads_behind_tokens(H, Lq, D), heads_behind_tokens(H, Lq, D)
    k, v = heads_behind_tokens(HK, Lk, D), heads_behind_tokens(HK, Lk, D)
    got = page.attention_gradients(q, k, v, do, True)
    exact = [x.double().cpu() for x in (q, k, v, do)]
    want = load_cases("43_flash_backward").gradients_ref(*exact, True)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        assert (a.double().cpu() - b).abs().max() < 1e-4 * b.abs().max()


def test_a_query_that_sees_nothing_has_no_gradient(page):
    """Kills: NaN from the first pass that spreads to the keys, which other queries see."""
    q, do = torch.randn(2, 1, 1, 20, 16, device=DEVICE)
    k, v = torch.randn(2, 1, 1, 5, 16, device=DEVICE)
    _, dq, dk, dv = page.attention_gradients(q, k, v, do, True)
    assert (dq[0, 0, :15] == 0).all() and (dq[0, 0, 16:] != 0).any()
    assert torch.isfinite(dk).all() and torch.isfinite(dv).all() and (dv != 0).all()
