"""Right values, and slow: what a check asks of compiled facts, of bytes, and of time."""

import importlib

import pytest

import tritonbook
from tritonbook.checking import Facts, Speed, case, gates, run, tensor
from tritonbook.port import device

import torch  # isort: skip
import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def double_kernel(x_ptr, out_ptr, n, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) + tl.arange(0, BLOCK) * STRIDE
    if STRIDE == 1:
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)


def doubled(x, stride=1):
    out = torch.empty_like(x)
    double_kernel[(16,)](x, out, x.numel(), STRIDE=stride, BLOCK=64)
    return out


def scattered(x):
    return doubled(x, stride=16)


CASES = [case("1,024 numbers", x=tensor(1024)), case("other", x=tensor(90))]


def report(fn, **asked):
    return run(fn, lambda x: 2 * x, CASES, key="doubled", **asked)


def no_more_than_it_asks_for(seen, x):
    assert x.numel() < 1024 or seen.moved == seen.bytes, f"{seen.moved} for {seen.bytes}"


@pytest.mark.skipif(not tritonbook.INTERPRET, reason="only the interpreter sees addresses")
def test_the_bytes_moved_are_judged():
    found = report(scattered, traffic=no_more_than_it_asks_for)
    assert found.state == "wrong" and found.finding.code == "slow"
    assert found.finding.sentence.startswith("65536 for 8192")
    assert report(doubled, traffic=no_more_than_it_asks_for).state == "passed"


def test_compiled_facts_are_judged_by_the_case_s_note():
    """Kills: facts of another case, and a judgement of hidden cases, which have other notes."""

    def vectors(kernels):
        assert set(kernels) == {"1,024 numbers"}
        ((kernel,),) = kernels.values()
        assert kernel.vector_loads, "no vectors"

    asked = Facts(vectors, ("1,024 numbers",))
    found = report(scattered, facts=asked)
    assert found.finding.code == "slow" and found.finding.sentence.startswith("no vectors")
    assert found.gates["facts"] == "failed" and found.gates["values"] == "passed"
    wide = report(in_blocks_of_512, facts=asked)
    assert wide.finding is None and wide.gates["facts"] == "passed", wide.text()
    elsewhere = report(scattered, facts=Facts(vectors, ("a hidden case",)))
    assert elsewhere.finding is None and elsewhere.gates["facts"].startswith("not run")


def in_blocks_of_512(x):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 512),)
    double_kernel[grid](x, out, x.numel(), STRIDE=1, BLOCK=512)
    return out


def test_facts_come_before_what_is_asked_beside_the_values():
    """Kills: 'the kernel is mended' of one that is as slow as before."""

    def never(kernels):
        raise AssertionError("slow")

    def cause(fn):
        raise AssertionError("another cause")

    found = report(doubled, facts=Facts(never, ("other",)), also=[cause])
    assert found.finding.sentence == "slow"


def test_a_required_ratio_is_no_pass(monkeypatch):
    """Kills: 'correct but slow', which counts as passed, where a page is about speed."""
    monkeypatch.setattr(device, "INTERPRET", False)

    class Row:
        def __init__(self, name, ms):
            self.name, self.ms = name, ms

    class Result:
        rows = [Row("copy", 1.0), Row("doubled", 4.0)]

    module = importlib.import_module("tritonbook.timing.measure")
    monkeypatch.setattr(module, "bench", lambda calls, baseline: Result)
    timed = case("large", x=tensor(4096))
    for required in (False, True):
        speed = Speed(timed, lambda x: x, 0.5, "copy", required=required)
        finding, gate, figures = gates.measure_speed(lambda x: 2 * x, "doubled", speed, None)
        assert gate == "failed" and figures["ratio"] == 0.25
        assert (finding is not None) is required
    assert finding.code == "slow" and "0.25 times the speed of copy" in finding.sentence
