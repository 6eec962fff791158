"""The Gluon kernel of notebook 18: machine code here, values on an H100."""

import pytest
import torch

from tritonbook import case, compat, tensor, warp_jobs
from tritonbook.checking.check import run
from tritonbook.course.exercises import get, load
from tritonbook.seeing.compiled import compile_gate


@pytest.fixture(scope="module")
def page():
    return load(get("18_gluon_attention"))


@pytest.mark.skipif(
    not (3, 6) <= compat.triton_version() < (3, 9), reason="this Triton's Gluon has other words"
)
@pytest.mark.parametrize(("D", "dtype"), [(128, torch.float16), (64, torch.bfloat16)])
@pytest.mark.parametrize("causal", [True, False])
def test_twelve_warps_use_the_tensor_cores_of_an_h100_without_spills(page, D, dtype, causal):
    """Kills: a learner's function that cannot be compiled, more registers than a group has, more
    shared memory than fits."""
    q, k, v = torch.empty(3, 2, 8, 1024, D, dtype=dtype, device="meta").unbind(0)
    found = compile_gate(page.flash_gluon, (q, k, v, causal), {}, 90, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    assert (kernel.name, kernel.warps, kernel.spills) == ("flash_gluon_kernel", 12, 0)
    assert kernel.wgmma and kernel.shared_bytes <= compat.SHARED_MEMORY_LIMIT[90]


@pytest.mark.parametrize(("arch", "dtype"), [(80, torch.float16), (90, torch.float32)])
def test_what_it_is_not_made_for_gets_the_plain_kernel(page, arch, dtype):
    q, k, v = torch.empty(3, 1, 2, 256, 64, dtype=dtype, device="meta").unbind(0)
    found = compile_gate(page.flash_gluon, (q, k, v, True), {}, arch, timeout=120)
    assert found.ok, found.message
    assert found.kernels[0].name == "flash_fwd_kernel"


@pytest.mark.parametrize(
    ("shape", "changed"),
    [
        ((1, 2, 100, 64), lambda x: x),  # no multiple of the tile
        ((1, 2, 128, 40), lambda x: x),
        ((1, 2, 256, 64), lambda x: x[:, :, ::2]),
        ((1, 2, 128, 64), lambda x: x[:, :1]),  # fewer heads of k
    ],
)
def test_other_shapes_and_strides_are_refused(page, shape, changed):
    q = torch.randn(shape)
    with pytest.raises(ValueError):
        page.flash_gluon(q, changed(torch.randn(shape)), torch.randn(shape))


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
@pytest.mark.parametrize("programs", [1, 3, 7, 132])
def test_it_is_attention(page, programs, monkeypatch):
    """Kills: tiles left out or taken twice, keys of another head, a diagonal off by one, an acc
    that is not rescaled, a ring out of step after a turn, a result that the next one overwrites."""
    monkeypatch.setitem(page.flash_gluon.__globals__, "multiprocessors", lambda: programs)
    attention = load(get("14_flash_attention"))
    growing = {"values": attention.growing_keys}
    cases = [
        case(
            f"{B} x {H} heads, L {L}, D {D}, {dtype}{', causal' if causal else ''}",
            q=tensor(B, H, L, D),
            k=tensor(B, H, L, D, **growing),
            v=tensor(B, H, L, D),
            causal=causal,
            dtype=dtype,
        )
        for B, H, L, D in [(1, 1, 128, 128), (2, 3, 384, 64), (1, 5, 640, 128)]
        for dtype in ("float16", "bfloat16")
        for causal in (True, False)
    ]
    report = run(
        page.flash_gluon,
        attention.attention_ref,
        cases,
        launches=1,
        tolerance=attention.close_enough,
    )
    assert report.passed, report.finding


@pytest.mark.gpu
@pytest.mark.skipif(not warp_jobs.can_run_gluon(), reason="needs an H100 and Triton 3.6")
def test_two_hundred_calls_agree_to_the_bit(page):
    """Kills: a slot that is overwritten before both groups have read it, now and then."""
    q, k, v = torch.randn(3, 2, 16, 2048, 128, device="cuda", dtype=torch.float16).unbind(0)
    first = page.flash_gluon(q, k, v, True)
    for _ in range(200):
        for got, want in zip(page.flash_gluon(q, k, v, True), first, strict=True):
            assert torch.equal(got, want)
