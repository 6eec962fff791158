"""The stretch of notebook 14, which no check grades: its values, and what it compiles to."""

import pytest
import torch

from tritonbook import warp_jobs
from tritonbook.course.exercises import get, load
from tritonbook.seeing.compiled import compile_gate

pytestmark = pytest.mark.skipif(
    not warp_jobs.can_specialise_warps(), reason="this Triton cannot specialise warps"
)


@pytest.fixture(scope="module")
def page():
    return load(get("14_flash_attention"))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("programs", [1, 5, 18, 40])
def test_it_agrees_with_flash_fwd(page, causal, programs, monkeypatch):
    """18 tiles. Kills: tiles left out or taken twice in a turn that goes backwards, a last turn
    that writes past the end, keys of another head, a diagonal that is off by one."""
    monkeypatch.setitem(page.flash_specialised.__globals__, "multiprocessors", lambda: programs)
    q, k, v = torch.randn(3, 2, 3, 48, 16, generator=torch.manual_seed(0)).unbind(0)
    k *= torch.linspace(0.1, 3.0, 48)[:, None]  # the largest score of a row comes late
    for got, want in zip(
        page.flash_specialised(q, k, v, causal, block=16),
        page.flash_fwd(q, k, v, causal),
        strict=True,
    ):
        torch.testing.assert_close(got, want)


def _compiled(page, arch):
    q, k, v = torch.empty(3, 2, 8, 1024, 128, dtype=torch.bfloat16, device="meta").unbind(0)
    found = compile_gate(page.flash_specialised, (q, k, v, True), {}, arch, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    return kernel


def test_its_warps_have_different_jobs_on_an_h100(page):
    """Kills: a loop that the compiler does not specialise, in silence: then 4 warps remain of 12."""
    kernel = _compiled(page, 90)
    assert (kernel.name, kernel.warps, kernel.spills) == ("specialised_kernel", 12, 0)
    assert kernel.wgmma


def test_an_a100_gets_the_plain_kernel(page):
    assert _compiled(page, 80).name == "flash_fwd_kernel"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda q, k, v: (q[:, :, :24], k[:, :, :24], v[:, :, :24]), "multiple of 16"),
        (lambda q, k, v: (q, k[:, :2], v[:, :2]), "one shape"),
        (lambda q, k, v: (q, k, v.mT.contiguous().mT), "contiguous"),
    ],
)
def test_what_it_cannot_do_it_says(page, change, says):
    q, k, v = torch.randn(3, 1, 4, 32, 16).unbind(0)
    with pytest.raises(ValueError, match=says):
        page.flash_specialised(*change(q, k, v), block=16)
