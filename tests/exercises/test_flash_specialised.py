"""The stretch of notebook 14, which no check of the page grades: values and machine code."""

import pytest
import torch

from tritonbook import case, tensor, warp_jobs
from tritonbook.checking.check import run
from tritonbook.course.exercises import get, load
from tritonbook.seeing.compiled import compile_gate

pytestmark = pytest.mark.skipif(
    not warp_jobs.can_specialise_warps(), reason="this Triton cannot specialise warps"
)


@pytest.fixture(scope="module")
def page():
    return load(get("14_flash_attention"))


def _case(page, note, *shape, causal=True, k=None, **more):
    q, v = tensor(*shape), tensor(*shape)
    k = k or tensor(*shape, values=page.growing_keys)  # the largest score of a row comes late
    return case(note, q=q, k=k, v=v, causal=causal, options={"block": 16}, **more)


@pytest.mark.parametrize("programs", [1, 5, 18, 40])
def test_it_is_attention(page, programs, monkeypatch):
    """18 tiles. Kills: tiles left out or taken twice in a turn that goes backwards, a last turn
    that writes past the end, keys of another head, a diagonal that is off by one."""
    monkeypatch.setitem(page.flash_specialised.__globals__, "multiprocessors", lambda: programs)
    cases = [
        _case(page, "causal", 2, 3, 48, 16),
        _case(page, "all keys", 2, 3, 48, 16, causal=False),
        _case(page, "one tile, half precision", 1, 1, 16, 32, dtype="float16"),
        _case(page, "no multiple of the tile", 1, 1, 24, 16, raises=ValueError),
        _case(page, "fewer heads of k", 1, 4, 16, 16, k=tensor(1, 2, 16, 16), raises=ValueError),
        _case(
            page, "gaps in k", 1, 2, 16, 16, k=tensor(1, 2, 16, 16, layout="strided"),
            raises=ValueError,
        ),
    ]  # fmt: skip
    report = run(
        page.flash_specialised, page.attention_ref, cases, launches=1, tolerance=page.close_enough
    )
    assert report.passed, report.finding


def _compiled(page, arch):
    q, k, v = torch.empty(3, 2, 8, 1024, 128, dtype=torch.bfloat16, device="meta").unbind(0)
    found = compile_gate(page.flash_specialised, (q, k, v, True), {}, arch, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    return kernel


def test_its_warps_have_different_jobs_on_an_h100(page):
    """Kills: a loop that the compiler silently leaves as it is, with 4 warps instead of 12."""
    kernel = _compiled(page, 90)
    assert (kernel.name, kernel.warps, kernel.spills) == ("specialised_kernel", 12, 0)
    assert kernel.wgmma


def test_an_a100_gets_the_plain_kernel(page):
    assert _compiled(page, 80).name == "flash_fwd_kernel"
