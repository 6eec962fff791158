"""The Gluon kernels of page 65: machine code here, bits on an H100."""

import needs
import pytest
import torch
from machine_code import compiled

from tritonbook import DEVICE
from tritonbook.course.exercises import get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import load_cases
from tritonbook.kernels import gluon
from tritonbook.port import compat
from tritonbook.seeing.compiled import compile_gate
from tritonbook.simulating import Fault, watch_products

PAGE = "65_gluon_attention"

if not gluon.triton_has_gluon():
    pytest.skip("this Triton's Gluon has other words", allow_module_level=True)

NAMES = ("two_products", "flash_ahead", "flash_gluon")
HALF = torch.float16


def _empty(B, H, L, D, dtype=HALF):
    return torch.empty(B, H, L, D, dtype=dtype, device="meta")


def _zeros(B=1, H=2, L=128, D=64):
    return torch.zeros(B, H, L, D, dtype=HALF, device=DEVICE)


@pytest.mark.page(PAGE)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("D", "HK", "dtype", "causal"),
    [
        (128, 8, HALF, True),
        (64, 8, torch.bfloat16, False),
        (128, 2, HALF, False),
        (16, 8, HALF, True),
    ],
)
def test_twelve_warps_use_the_tensor_cores_of_an_h100_without_spills(
    page, name, D, HK, dtype, causal
):
    """Kills: more registers than a group has, more shared memory than fits."""
    q, k = _empty(2, 8, 1000, D, dtype), _empty(2, HK, 1000, D, dtype)
    options = {} if name == "two_products" else {"causal": causal}
    (kernel,) = compiled(getattr(page, name), (q, k, k), options=options)
    assert (kernel.name, kernel.warps, kernel.spills) == (f"{name}_kernel", 12, 0)
    assert kernel.wgmma and kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@pytest.mark.page(PAGE)
def test_a_longer_ring_fits_for_heads_of_128(page):
    """Kills: what the page derives, three slots and no fourth."""
    q = _empty(1, 1, 1000, 128)
    for slots, fits in ((3, True), (4, False)):
        found = compile_gate(page.flash_gluon, (q, q, q), {"slots": slots}, 90)
        assert found.ok is fits


@pytest.mark.parametrize(
    ("q", "k"),
    [
        (_zeros().float(), _zeros().float()),
        (_zeros(D=40), _zeros(D=40)),
        (_zeros(L=100), _zeros()),
        (_zeros(), _zeros(H=3)),
        (_zeros(), _zeros(B=2)),
        (_zeros(), _zeros().bfloat16()),
        (_zeros(D=128)[..., ::2], _zeros()),
        (_zeros(D=68)[..., :64], _zeros()),
    ],
)
def test_what_the_copy_engine_or_the_kernel_cannot_take_is_refused(page, q, k):
    """Kills: heads that do not share evenly, rows of 136 bytes, read as they come."""
    with pytest.raises(ValueError):
        page.flash_gluon(q, k, k)


def test_heads_side_by_side_in_memory_are_taken_as_they_are(page):
    """Kills: strides that are not looked at."""
    torch.manual_seed(0)
    rows = torch.randn(2, 130, 8, 16, device=DEVICE).half().transpose(1, 2)
    q, k, v = rows.split((4, 2, 2), dim=1)
    wanted = page.attention_ref(q.double(), k.double(), v.double(), True)
    got = page.flash_gluon(q, k, v, True)
    torch.testing.assert_close(got.double(), wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.skipif(gluon.can_run_gluon(), reason="a GPU tells nobody of its products")
def test_the_simulator_tells_turns_from_products_that_are_ordered_freely(page):
    """Kills: a check of turns that every answer passes, or that one kernel in 20 orders fails."""
    cases = load_cases("65_gluon_attention")
    for _ in range(5):
        cases.in_turns(page.flash_gluon)
        cases.two_under_way(page.flash_ahead)
        with pytest.raises(AssertionError, match="at the same time"):
            cases.in_turns(page.flash_ahead)
    with pytest.raises(AssertionError, match="never has two"), watch_products():
        cases.two_under_way(lambda q, k, v: page.two_products(q, k, v))


IN_RELEASE = "`mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1)` in `release`"


@pytest.mark.skipif(gluon.can_run_gluon(), reason="a GPU tells nobody of its waits")
@pytest.mark.parametrize(
    ("key", "wrong", "said"),
    [
        (
            "two_products",
            "releases-twice",
            f"In that phase arrived multiply 0 × 2: {IN_RELEASE}",
        ),
        ("two_products", "takes-without-waiting", "multiply 0 has never waited for q_ring.full[0]"),
        ("two_products", "takes-the-phase-before", "`mbarrier.wait(full.index(number % SLOTS)"),
        ("two_products", "releases-full", "`mbarrier.arrive(full.index(number % tiles.shape[0])"),
        ("flash_ahead", "output-before-scores", "which was ordered after it"),
        ("flash_ahead", "keys-of-this-tile", "called by `k = take(k_ring, number)` in `order`"),
        (
            "flash_ahead",
            "values-of-the-next-tile",
            "had waited for the other copy, at v_ring.full[0]",
        ),
        (
            "flash_ahead",
            "keys-released-when-ordered",
            "by `release(k_ring, number + 1)` in `order`",
        ),
        (
            "flash_ahead",
            "released-in-both-gaps",
            "in `order` and by `release(k_ring, number + 1)` in `settle`",
        ),
        ("flash_ahead", "releases-swapped", "by `release(k_ring, number)` in `settle`"),
        (
            "flash_ahead",
            "two-may-be-unfinished",
            "`s = warpgroup_mma_wait(2, deps=[s])` in `settle`",
        ),
    ],
)
def test_a_fault_is_told_with_the_line_of_the_gap(key, wrong, said):
    """Kills: a sentence that names given code alone where the mistake is in a gap."""
    answers = wrong_answers("65_gluon_attention")
    (mutant,) = (each for each in answers.mutants[key] if each.name == wrong)
    broken = getattr(load(get("65_gluon_attention"), {key: answers.text(key, mutant)}), key)
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, 520, 16).half().unbind(0)
    with pytest.raises(Fault) as caught:
        broken(q, k, v)
    assert said in str(caught.value), caught.value


@pytest.mark.gpu
@needs.gluon
def test_two_hundred_calls_agree_to_the_bit(page):
    """Kills: a slot that is overwritten before both groups have read it, now and then."""
    q, k, v = torch.randn(3, 2, 16, 2048, 128, device="cuda", dtype=HALF).unbind(0)
    first = page.flash_gluon(q, k, v, True)
    for _ in range(200):
        assert torch.equal(page.flash_gluon(q, k, v, True), first)
