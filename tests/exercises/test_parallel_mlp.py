"""Page 71: its layers are right in every order of programs, on 2 to 8 ranks."""

import pytest
import torch

from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET
from tritonbook.ranks.processes import Simulated, written
from tritonbook.simulating.rank_order import World
from tritonbook.simulating.ranks import run_on_ranks

pytestmark = pytest.mark.skipif(not INTERPRET, reason="ranks are simulated in the interpreter")
TWICE = ("parallel_mlp_twice", "fused_twice", "late_twice")


@pytest.fixture(scope="module")
def page():
    return load(get("71_parallel_mlp"))


def layer(ranks: int, M: int, D: int, H: int, seed: int = 0) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    shapes = ((M, D), (ranks, D, H), (ranks, D, H), (ranks, H, D))
    x, gate, up, down = (torch.randn(shape, generator=draw) for shape in shapes)
    return [x.expand(ranks, M, D), gate * D**-0.5, up * D**-0.5, down * H**-0.5]


def right(page, found, given):
    want = page.parallel_mlp_ref(*(each.double() for each in given))
    for got, wanted in zip(found, want, strict=True):
        for one, other, first in zip(got, wanted, found[0], strict=True):
            torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)
            assert torch.equal(one, first)


@pytest.mark.page("71_parallel_mlp")
@pytest.mark.timeout(1800)  # a hundred orders
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("name", TWICE)
def test_all_orders_give_the_layer_and_the_same_bits(page, orders, name: str, count: int):
    """Kills: an answer of the page's own that is right in the orders of its check alone."""
    given = layer(count, 5, 70 if count == 2 else 9, 11, seed=count)  # two tiles, or one
    world = World(count)
    for order in orders(max(2, 8 // count)):
        right(page, run_on_ranks(getattr(page, name), world, given, [order]), given)


def test_memory_of_one_size_serves_all_calls(page):
    """Kills: flags that are left up for a call of another size, or of another task."""
    world = World(2)
    for sizes in ((5, 9, 11), (5, 70, 11), (5, 9, 12)):
        given = layer(2, *sizes)
        for name in TWICE[1:]:
            right(page, run_on_ranks(getattr(page, name), world, given, range(2)), given)
    flags = [part for parts in world.parts.values() for part in parts if len(part.shape) == 3]
    assert flags and not any(part.tensor.any() for part in flags)


def test_a_layer_goes_to_processes_as_text(page):
    """As on GPUs. Kills: a kernel that leaves behind what it takes from other pages."""
    given, ranks = layer(2, 5, 9, 11), Simulated(2)
    try:
        right(page, ranks.call(page.late_twice, given), given)
    finally:
        ranks.close()
    assert "def gate_up_kernel" in written(page.parallel_mlp)["text"]
