"""Page 24: what becomes of the loop along D, the ledger against the meter."""

from __future__ import annotations

import needs
import pytest
import torch
from machine_code import compiled

from tritonbook import traffic

PAGE = "24_mlp_one_kernel"


def layer(M, D):
    shapes = [(M, D), (D, 4 * D), (4 * D, D)]
    return [torch.empty(*shape, dtype=torch.bfloat16, device="meta") for shape in shapes]


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("D", [64, 128, 256, 1024])
def test_no_width_spills(page, D, arch):
    """Kills: a tile with more accumulators than a thread has registers."""
    (kernel,) = compiled(page.mlp_gelu_fused, layer(65536, D), arch)
    assert kernel.spills == 0


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("D", [64, 128, 256])
def test_a_narrow_layer_has_one_loop(page, D):
    """D is a constant to the compiler. Kills: a loop of one turn that stays, so that the loads of
    the next step along H cannot begin."""
    (kernel,) = compiled(page.mlp_gelu_fused, layer(4096, D), ptx=True)
    assert "Depth=2" not in kernel.ptx


@needs.interpreter
@pytest.mark.parametrize(("M", "D", "H"), [(64, 300, 64), (64, 128, 256), (130, 40, 70)])
def test_the_ledgers_weights_are_what_the_meter_counts(page, M, D, H, monkeypatch):
    """Kills: a ledger of w1 and w2 that another kernel asks for."""
    tile = page.mlp_tile(D, torch.float16)
    names = page.traffic_ledger.__globals__
    monkeypatch.setitem(names, "ROWS_OF_A_TILE", tile["BLOCK_M"])
    monkeypatch.setitem(names, "COLUMNS_OF_A_TILE", tile["BLOCK_N"])
    x, w1, w2 = (torch.randn(*shape).half() for shape in [(M, D), (D, H), (H, D)])
    seen = traffic(page.mlp_gelu_fused, x, w1, w2)
    asked = sum(each.read for each in (seen["w1"], seen["w2"]))
    assert asked == page.traffic_ledger(M, D, H)["fused"]["asked"]
