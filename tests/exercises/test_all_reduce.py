"""Page 70: its kernels are right in every order of programs, on 2 to 8 ranks."""

import pytest
import torch

from tritonbook import facts
from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET
from tritonbook.simulating.rank_order import World
from tritonbook.simulating.ranks import SimulatedRank, run_on_ranks

pytestmark = pytest.mark.skipif(not INTERPRET, reason="ranks are simulated in the interpreter")
TWICE = ("sum_ranks_twice", "all_reduce_twice", "all_reduce_large_twice")


@pytest.fixture(scope="module")
def page():
    return load(get("70_all_reduce"))


@pytest.mark.page("70_all_reduce")
@pytest.mark.timeout(1800)  # a hundred orders
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("name", TWICE)
def test_all_orders_give_the_sum_and_the_same_bits(page, orders, name: str, count: int):
    """Kills: an answer of the page's own that is right in the orders of its check alone."""
    size = 1100 if count == 2 else 40  # two programs, or one
    x = torch.randn(count, size, generator=torch.Generator().manual_seed(count))
    world = World(count)
    for order in orders(max(2, 12 // count)):
        found = run_on_ranks(getattr(page, name), world, [x], [order])
        for first, second in found:
            torch.testing.assert_close(first, x.sum(0), rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(second, count * x.sum(0), rtol=1e-5, atol=1e-4)
            assert torch.equal(first, found[0][0]) and torch.equal(second, found[0][1])


def test_memory_of_one_size_serves_all_calls(page):
    """Kills: flags that are left up for a call of another size or dtype."""
    world = World(2)
    for size, dtype in ((40, torch.float32), (1100, torch.float32), (40, torch.float16)):
        x = torch.ones(2, size, dtype=dtype)
        for name in TWICE:
            for first, second in run_on_ranks(getattr(page, name), world, [x], range(2)):
                assert bool((first == 2).all()) and bool((second == 4).all())
    flags = [part for parts in world.parts.values() for part in parts if len(part.shape) == 3]
    assert flags and not any(part.tensor.any() for part in flags)


def test_a_thread_moves_16_bytes_at_once(page):
    """Kills: a promise about addresses that the compiler does not hear, and counts in the text."""
    x = torch.empty(2, 2**20, dtype=torch.bfloat16)
    put, added = facts(page.summed_twice, x)
    assert (put.loads, put.vector_loads) == (1, 1)
    assert (added.loads, added.vector_loads) == (18, 0)
    for function in (page.reduced_twice, page.reduced_large_twice):
        for kernel in facts(function, x):  # two vectors each: x, and two parts
            assert (kernel.vector_loads, kernel.vector_stores) == (6, kernel.stores)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("size", [1, 5, 1025])
def test_symmetric_memory_begins_at_multiples_of_16_bytes(dtype: torch.dtype, size: int):
    """Kills: memory of an odd size that moves the next one to an address of its own."""
    rank = SimulatedRank(World(3), 0)
    for name in ("parts", "sums"):
        own, table = rank.symmetric(name, size, dtype)
        assert own.data_ptr() == table[0] and not (table % 16).any()
