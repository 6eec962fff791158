"""Page 23: what its tiles become at a real layer's size, on every GPU, in every layout."""

from __future__ import annotations

import needs
import pytest
import torch
from machine_code import compiled

from tritonbook import DEVICE

PAGE = "23_fused_mlp"
LAYOUTS = ("contiguous", "nn.Linear")


def layer(page, M, layout, arch):
    """gate_up_swiglu of M rows for Llama 3 8B."""
    D, H = 4096, 14336
    x = torch.empty(M, D, dtype=torch.bfloat16, device="meta")
    if layout == "nn.Linear":
        w = torch.empty(H, D, dtype=torch.bfloat16, device="meta").t()
    else:
        w = torch.empty(D, H, dtype=torch.bfloat16, device="meta")
    (kernel,) = compiled(page.gate_up_swiglu, (x, w, w), arch)
    return kernel


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("M", [4096, 64, 16])
def test_a_real_layer_is_loaded_in_wide_pieces_and_spills_nothing(page, M, arch, layout):
    """Kills: a tile with too many accumulators, weights loaded one at a time, no stages."""
    kernel = layer(page, M, layout, arch)
    assert kernel.spills <= (8 if M == 64 else 0)  # an address, for a tile that no page promises
    assert kernel.loads == kernel.wide_loads == kernel.async_copies > 0
    assert kernel.wgmma == (64 // 16 if arch == 90 and M == 4096 else kernel.wgmma)


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("arch", [75, 86, 89])
@pytest.mark.parametrize("M", [4096, 64])
def test_smaller_gpus_have_room_for_it(page, M, arch):
    """Kills: a tile for few rows that fits into an A100's shared memory alone."""
    assert layer(page, M, "nn.Linear", arch).registers


@needs.gpu
@pytest.mark.gpu
@pytest.mark.parametrize("layouts", [(a, b) for a in LAYOUTS for b in LAYOUTS])
@pytest.mark.parametrize(("M", "D", "H"), [(300, 512, 640), (5, 1000, 600), (129, 70, 91)])
def test_every_layout_gives_the_same_on_a_gpu(page, M, D, H, layouts):
    """Kills: a stage that is read too early, which the interpreter cannot see."""
    x = torch.randn(M, D, device=DEVICE).to(torch.bfloat16)
    weights = []
    for layout in layouts:
        shape = (H, D) if layout == "nn.Linear" else (D, H)
        w = (torch.randn(shape, device=DEVICE) * D**-0.5).to(torch.bfloat16)
        weights.append(w.t() if layout == "nn.Linear" else w)
    gate, up = (x.double() @ w.double() for w in weights)
    want = torch.nn.functional.silu(gate) * up
    got = page.gate_up_swiglu(x, *weights).double()
    assert ((got - want).norm() / want.norm()).item() < 4e-3
