"""Notebook 23's wide tile: what is promised about the weights, and what becomes of it."""

from __future__ import annotations

import pytest
import torch

from tritonbook import DEVICE
from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.compiled import compile_gate

on_a_gpu = pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here")


@pytest.fixture(scope="module")
def page():
    return load(get("23_fused_mlp"))


def _weights(D, H, layout="contiguous", dtype=torch.bfloat16, device=DEVICE):
    """Two weights (D, H), kept in the way that `layout` names."""
    made = []
    for _ in range(2):
        if layout == "nn.Linear":
            made.append(torch.randn(H, D, device=device).to(dtype).t())
        elif layout == "odd address":
            made.append(torch.randn(D * H + 1, device=device).to(dtype)[1:].view(D, H))
        elif layout == "every second column":
            made.append(torch.randn(D, 2 * H, device=device).to(dtype)[:, ::2])
        elif layout == "part of wider rows":
            made.append(torch.randn(D, H + 3, device=device).to(dtype)[:, :H])
        elif layout == "part of rows of a multiple of 8":
            made.append(torch.randn(D, H + -H % 8, device=device).to(dtype)[:, :H])
        else:
            made.append(torch.randn(D, H, device=device).to(dtype))
    return made


@pytest.mark.parametrize(
    ("D", "H", "layout", "promised"),
    [
        (64, 96, "contiguous", (1, 8)),
        (64, 96, "nn.Linear", (8, 1)),
        (60, 96, "contiguous", (1, 8)),  # rows may end anywhere, columns may not
        (60, 96, "nn.Linear", (1, 1)),
        (64, 92, "contiguous", (1, 1)),
        (64, 92, "nn.Linear", (8, 1)),
        (64, 96, "odd address", (1, 1)),
        (64, 96, "every second column", (1, 1)),
        (64, 96, "part of wider rows", (1, 1)),
        (64, 92, "part of rows of a multiple of 8", (1, 1)),  # the end wraps around to the start
    ],
)
def test_neighbours_are_promised_only_where_they_are(page, D, H, layout, promised):
    """Kills: a promise for one weight from the other's layout, for odd rows, for odd addresses.

    A promise that does not hold is a misaligned load, or eight weights from the wrong place.
    """
    assert page.neighbours(*_weights(D, H, layout)) == promised
    plain, other = _weights(D, H), _weights(D, H, layout)
    both = tuple(map(min, promised, (1, 8) if H % 8 == 0 else (1, 1)))
    assert page.neighbours(plain[0], other[1]) == page.neighbours(other[0], plain[1]) == both


@pytest.mark.parametrize("layout", ["contiguous", "nn.Linear"])
def test_the_wide_tile_is_one_product_with_wide_loads(page, layout):
    """Kills: two products of half the width, weights loaded one at a time, spilled registers."""
    D, H = 4096, 14336
    x = torch.empty(4096, D, dtype=torch.bfloat16, device="meta")
    if layout == "nn.Linear":
        w = torch.empty(H, D, dtype=torch.bfloat16, device="meta").t()
    else:
        w = torch.empty(D, H, dtype=torch.bfloat16, device="meta")
    found = compile_gate(page.gate_up_swiglu, (x, w, w), {}, 90, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    assert kernel.wgmma == 64 // 16  # steps of 16 along D; two products would take twice as many
    assert kernel.loads == kernel.wide_loads == kernel.async_copies > 0
    assert kernel.spills == 0


def test_sizes_of_a_multiple_of_8_are_loaded_together_too(page):
    """Kills: the addresses' divisor left to Triton, which knows of multiples of 16 only."""
    x, w = (
        torch.empty(n, m, dtype=torch.bfloat16, device="meta") for n, m in [(64, 1000), (1000, 600)]
    )
    found = compile_gate(page.gate_up_swiglu, (x, w, w), {}, 90, timeout=120)
    assert found.ok and found.kernels[0].wide_loads > 0


@on_a_gpu
@pytest.mark.gpu
@pytest.mark.parametrize(
    "layout", ["contiguous", "nn.Linear", "odd address", "every second column"]
)
@pytest.mark.parametrize(("M", "D", "H"), [(300, 512, 640), (5, 1000, 600), (129, 70, 91)])
def test_every_layout_gives_the_same_on_a_gpu(page, M, D, H, layout):
    """Kills: a promise to the compiler that does not hold, which the interpreter cannot see."""
    x = torch.randn(M, D, device=DEVICE).to(torch.bfloat16)
    w_gate, w_up = (w.mul_(D**-0.5) for w in _weights(D, H, layout))
    gate, up = x.double() @ w_gate.double(), x.double() @ w_up.double()
    want = torch.nn.functional.silu(gate) * up
    got = page.gate_up_swiglu(x, w_gate, w_up).double()
    assert ((got - want).norm() / want.norm()).item() < 4e-3
