"""Right values, and slow: what a check asks of compiled facts, of bytes, and of time."""

import importlib
from types import SimpleNamespace

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.checking import Speed, card, case, gates, tensor
from tritonbook.checking.asks import compiled
from tritonbook.port import device

from .answers import run


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


def test_compiled_facts_are_judged_by_the_case_s_note():
    """Kills: facts of another case, and a judgement of hidden cases, which have other notes."""

    def vectors(kernels):
        assert set(kernels) == {"1,024 numbers"}
        ((kernel,),) = kernels.values()
        assert kernel.vector_loads, "no vectors"

    asked = compiled(vectors, "1,024 numbers")
    found = report(scattered, asks=[asked])
    assert found.finding.code == "slow" and found.finding.sentence.startswith("no vectors")
    assert found.gates["facts"] == "failed" and found.gates["values"] == "passed"
    wide = report(in_blocks_of_512, asks=[asked])
    assert wide.finding is None and wide.gates["facts"] == "passed", card.as_text(wide)
    elsewhere = report(scattered, asks=[compiled(vectors, "a hidden case")])
    assert elsewhere.finding is None and elsewhere.gates["facts"].startswith("not run")


def in_blocks_of_512(x):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 512),)
    double_kernel[grid](x, out, x.numel(), STRIDE=1, BLOCK=512)
    return out


def fails(x):
    raise RuntimeError("too large for me")


@pytest.mark.parametrize(
    ("how", "gate", "code", "said"),
    [
        ({"ms": 4.0}, "failed", "slow", "0.25 times the speed of copy"),
        ({"ms": 2.0}, "passed", None, ""),
        # Kills: a traceback in place of the card, and no record, where only the timed case fails.
        ({"fn": fails}, "failed", "raised", "On the timed case (x 4096 float32)"),
        ({"fn": fails}, "failed", "raised", "too large for me"),
        # Kills: what is not the answer's fault, held against it.
        ({"baseline": fails}, "not run: copy raised RuntimeError here", None, ""),
    ],
)
def test_an_answer_is_timed_as_on_a_gpu(how, gate, code, said, monkeypatch):
    """By a clock on which `copy` takes a millisecond, `doubled` as told."""
    how = {"fn": lambda x: 2 * x, "baseline": lambda x: x, "ms": 1.0} | how
    rows = [SimpleNamespace(name="copy", ms=1.0), SimpleNamespace(name="doubled", ms=how["ms"])]
    module = importlib.import_module("tritonbook.timing.measure")
    monkeypatch.setattr(device, "INTERPRET", False)
    monkeypatch.setattr(module, "bench", lambda calls, baseline: SimpleNamespace(rows=rows))
    speed = Speed(case("large", x=tensor(4096)), how["baseline"], 0.5, "copy")
    finding, found = gates.measure_speed(how["fn"], "doubled", speed, None)
    assert (found, finding and finding.code) == (gate, code)
    assert finding is None or said in finding.sentence
