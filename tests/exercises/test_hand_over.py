"""Which attention of notebook 41 goes to the kernel of notebook 65, and what it gets there."""

import pytest
import torch

from tritonbook import warp_jobs
from tritonbook.course.exercises import get, load
from tritonbook.port.compat import hook_launch
from tritonbook.port.device import DEVICE
from tritonbook.seeing.compiled import compile_gate

HALF = torch.float16
LONG = 1024


@pytest.fixture
def page():
    return load(get("41_flash_attention"))


@pytest.fixture
def other(monkeypatch):
    """On an H100, a kernel that takes everything and notes what it got."""
    calls = []

    def kernel(*arguments):
        calls.append(arguments)
        return "o", "lse"

    page = load(get("65_gluon_attention"))
    monkeypatch.setattr(warp_jobs, "can_run_gluon", lambda: True)
    monkeypatch.setattr(page, "gluon_takes", lambda q, k, v: True)
    monkeypatch.setattr(page, "flash_gluon", kernel)
    return calls


def small(L, H=2, HK=2, D=16):
    """One token stands for all: nothing that is launched here is large."""
    return (torch.zeros(1, heads, 1, D).expand(1, heads, L, D) for heads in (H, HK, HK))


BOTH = pytest.mark.parametrize(("name", "H"), [("flash_fwd", 2), ("flash_gqa", 6)])


@BOTH
@pytest.mark.parametrize(("D", "causal"), [(64, True), (128, False)])
def test_long_texts_are_handed_over_as_they_came(page, other, name, H, D, causal):
    """Kills: an argument left out, the own kernel run beside it, one token too many, half heads
    that count as whole ones."""
    q, k, v = small(LONG * 128 // D, H, D=D)
    assert getattr(page, name)(q, k, v, causal, 0.3) == ("o", "lse")
    assert [a is b for a, b in zip(other[0], (q, k, v, causal, 0.3), strict=True)] == [True] * 5


@BOTH
@pytest.mark.parametrize(
    ("why", "L", "sizes", "least"),
    [
        ("a short text, of heads of 16", 40, (), 6),
        ("a size of one's own", 40, (16, None), 5),
        ("another one", 40, (None, 16), 5),
        ("nothing is handed over on the page so far", 40, (), None),
    ],
)
def test_what_stays(page, other, monkeypatch, name, H, why, L, sizes, least):
    """Kills: each condition left out."""
    assert page.HAND_OVER_FROM == LONG
    monkeypatch.setattr(page, "HAND_OVER_FROM", least)
    o, lse = getattr(page, name)(*small(L, H), True, None, *sizes)
    assert o.shape == (1, H, L, 16) and lse.shape == (1, H, L) and not other, why


@BOTH
def test_so_does_what_the_other_kernel_cannot_take(page, other, monkeypatch, name, H):
    """Kills: either question left out; each of the two is enough for a no."""
    gluon = load(get("65_gluon_attention"))
    monkeypatch.setattr(page, "HAND_OVER_FROM", 1)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(warp_jobs, "can_run_gluon", lambda: False)
        assert len(getattr(page, name)(*small(40, H))[0].shape) == 4
    monkeypatch.setattr(gluon, "gluon_takes", lambda q, k, v: False)
    assert len(getattr(page, name)(*small(40, H))[0].shape) == 4 and not other


def test_bad_input_is_refused_before(page, other):
    """Kills: a wrong scale, or heads that do not fit, that only one of the two kernels refuses."""
    for fn in (page.flash_fwd, page.flash_gqa):
        with pytest.raises(ValueError, match="scale"):
            fn(*small(8 * LONG), True, -1.0)
    with pytest.raises(ValueError, match="flash_gqa"):
        page.flash_fwd(*small(8 * LONG, 6), True)
    assert not other


@pytest.mark.skipif(not warp_jobs.triton_has_gluon(), reason="this Triton's Gluon has other words")
@pytest.mark.parametrize(
    ("name", "arch", "L", "D", "kernel"),
    [
        ("flash_fwd", 90, LONG, 128, "flash_gluon_kernel"),
        ("flash_gqa", 90, 2 * LONG, 64, "flash_gluon_kernel"),
        ("flash_fwd", 90, LONG - 1, 128, "flash_fwd_kernel"),
        ("flash_gqa", 90, 2 * LONG, 80, "flash_gqa_kernel"),
        ("flash_fwd", 80, LONG, 128, "flash_fwd_kernel"),
    ],
)
def test_which_kernel_is_launched(page, name, arch, L, D, kernel):
    """Kills: a function that cannot reach notebook 65 from a process of its own, a kernel for
    another GPU, two kernels that hand on to each other for ever."""
    q = torch.empty(1, 4, L, D, dtype=HALF, device="meta")
    k = q if name == "flash_fwd" else q[:, :2]
    found = compile_gate(getattr(page, name), (q, k, k, True), {}, arch, timeout=120)
    assert found.ok, found.message
    assert [one.name for one in found.kernels] == [kernel]


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
@pytest.mark.parametrize("scale", [None, 0.05])
def test_both_kernels_give_the_same(page, scale):
    """Kills: a scale that is not handed on, lse in other units."""
    q = torch.randn(2, 8, 1500, 128, device=DEVICE, dtype=HALF)
    k, v = torch.randn(2, 2, 2, 1500, 128, device=DEVICE, dtype=HALF).unbind(0)
    names = []

    def seen(launch, kernel, *_):
        names.append(kernel.__name__)
        return launch()

    with hook_launch(seen):
        handed = page.flash_gqa(q, k, v, True, scale)
        own = page.flash_gqa(q, k, v, True, scale, 64, 128)
    assert names == ["flash_gluon_kernel", "flash_gqa_kernel"]
    torch.testing.assert_close(handed[0], own[0], rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(handed[1], own[1], rtol=1e-5, atol=1e-3)
