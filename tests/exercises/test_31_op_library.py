"""What notebook 31 cannot say in its checks: layouts of results, every dtype, what is replaced."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
import torch.nn.functional as F
from machine_code import seen_after

from tritonbook import DEVICE
from tritonbook.checking import replacement
from tritonbook.course.exercises import get, load
from tritonbook.seeing.dispatcher import (
    called_operators,
    implement,
    launches_by_operator,
    listed,
    restored,
)

LIBRARY = load(get("31_op_library"))
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def laid_out(shape, order, gap):
    """A tensor of this shape whose dimensions lie in memory in this order, with gaps."""
    sizes = [shape[d] for d in order]
    sizes[-1] += gap
    x = torch.randn(sizes, device=DEVICE)[..., : shape[order[-1]]]
    return x.permute([order.index(d) for d in range(len(shape))])


def test_results_lie_in_memory_as_pytorchs_do():
    """Kills: a permuted result after which a model's `.view` fails."""
    shape = (2, 3, 4)
    orders = list(itertools.permutations(range(3)))
    tensors = [laid_out(shape, order, gap) for order in orders for gap in (0, 2)]
    tensors += [tensors[0][:1].expand(shape), tensors[3][:, :, :1].expand(shape), tensors[0][0]]
    for x, y in itertools.product(tensors, repeat=2):
        if x.dim() == y.dim() == 2:
            continue
        got, want = LIBRARY.multiply(x, y), x * y
        assert got.stride() == want.stride(), (x.stride(), y.stride())
        assert torch.equal(got, want)


def test_promotion_is_pytorchs_for_every_triple():
    """Kills: a rule that holds for two operands and not for three."""
    from tritonbook.checking import promotion

    words = [f"{d} {s}" for d in ("float16", "int32", "bool", "float64") for s in ("[7]", "[]")]
    words += ["0.5", "3", "True"]
    for chosen in itertools.product(words, repeat=3):
        if "[" in "".join(chosen):
            text = ", ".join(chosen)
            assert str(LIBRARY.result_dtype(promotion.operands_of(text))) == promotion.promoted(
                text
            )


@pytest.mark.parametrize("dtype", [*FLOATING, *WHOLE], ids=str)
def test_every_dtype_computes_as_pytorch_does(dtype):
    """Kills: bytes that do not wrap round, a bool sum of 2, float64 computed in float32."""
    values = torch.tensor([0, 1, 3, 100, 127, 200, 255]) if dtype != torch.bool else torch.arange(7)
    x = values.to(DEVICE, dtype)
    for y in (x, x.flip(0), x[1], torch.tensor(0.1, dtype=torch.float64)):
        for ours, theirs in ((LIBRARY.add, torch.add), (LIBRARY.multiply, torch.mul)):
            torch.testing.assert_close(ours(x, y), theirs(x, y), rtol=1e-6, atol=0)


def test_numbers_keep_float64():
    """Kills: a number that goes through a kernel's float32 argument."""
    x = torch.randn(9, dtype=torch.float64, device=DEVICE)
    torch.testing.assert_close(LIBRARY.multiply(x, 0.1), x * 0.1, rtol=1e-15, atol=0)


def test_offsets_past_32_bits_are_refused():
    """Kills: a view with wide strides whose offsets wrap round and read elsewhere."""
    wide = torch.empty(2**31 + 1, dtype=torch.uint8, device=DEVICE)[:: 2**30]
    with pytest.raises(ValueError, match="32 bits"):
        LIBRARY.multiply(wide, wide)


def test_a_new_generator_gets_new_kernels(monkeypatch):
    """Kills: a cache that answers with kernels of the generator before the learner's last edit."""
    x = torch.arange(3.0, device=DEVICE)
    assert torch.equal(LIBRARY.add(x, x), 2 * x)
    old = LIBRARY.kernel_source
    wrong = lambda *how: old(*how).replace("formula(v0, v1)", "v0 * 0.0")  # noqa: E731
    monkeypatch.setattr(LIBRARY, "kernel_source", wrong)
    assert torch.equal(LIBRARY.add(x, x), 0 * x)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_takes_its_argument_and_stays_differentiable(approximate):
    """Kills: one formula for both forms; a replacement that autograd cannot see through."""
    x = torch.linspace(-6, 6, 97, device=DEVICE, requires_grad=True)
    want = F.gelu(x, approximate=approximate)
    (slope,) = torch.autograd.grad(want.sum(), x)
    with LIBRARY.use_workbook_ops(), launches_by_operator() as counts:
        got = F.gelu(x, approximate=approximate)
        (ours,) = torch.autograd.grad(got.sum(), x)
    assert counts["gelu"] == 1
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours, slope)


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_rms_norm_is_replaced_in_every_mode(mode):
    """Kills: a composite operator replaced on one floor of the dispatcher only."""
    x, w = torch.randn(2, 3, 32, device=DEVICE), torch.randn(32, device=DEVICE)
    with mode(), LIBRARY.use_workbook_ops(), launches_by_operator() as counts:
        got = F.rms_norm(x, (32,), w, 1e-6)
    assert counts == {"rms_norm": 1}
    torch.testing.assert_close(got, F.rms_norm(x, (32,), w, 1e-6), rtol=1e-5, atol=1e-6)


def test_rms_norm_gets_its_gradient():
    """Kills: a replacement below autograd, where a composite operator has no gradient."""
    x = torch.randn(5, 32, device=DEVICE, requires_grad=True)
    w = torch.randn(32, device=DEVICE, requires_grad=True)
    want = torch.autograd.grad(F.rms_norm(x, (32,), w, 1e-6).square().sum(), (x, w))
    with LIBRARY.use_workbook_ops():
        got = torch.autograd.grad(F.rms_norm(x, (32,), w, 1e-6).square().sum(), (x, w))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_what_a_replacement_cannot_do_is_an_error():
    """Kills: a replacement that returns something else instead of saying so."""
    x = torch.randn(3, 4, 4, device=DEVICE)
    with LIBRARY.use_workbook_ops():
        for call in (lambda: F.rms_norm(x, (4, 4)), lambda: x[0].double() @ x[0].double()):
            with pytest.raises(NotImplementedError):
                call()


def test_leaks_end_with_the_question():
    """Kills: a wrong answer that leaves its kernels behind for the next question."""
    kept = []

    def leaking(names=None):
        kept.append(torch.library.Library("aten", "IMPL"))
        implement(kept[-1], "silu", lambda x: LIBRARY.silu(x))
        return torch.no_grad()

    assert replacement.examine(leaking, "after", []) == "leaks"
    assert replacement.replaced_now() == []
    with restored():
        leaking()
        assert replacement.replaced_now() == ["silu"]
    assert replacement.replaced_now() == []


def test_called_operators_are_counted_also_backward():
    """Kills: a list of what stays with PyTorch that forgets the backward pass, or names views."""
    x = torch.randn(4, 4, device=DEVICE, requires_grad=True)
    with called_operators() as names:
        F.gelu(x.t()).sum().backward()
    assert names["gelu"] == names["gelu_backward"] == 1
    assert "t" not in names
    assert listed(names).split(", ")[0].endswith(" 1") and listed(type(names)()) == "none"


@pytest.mark.slow
def test_rows_with_gaps_are_loaded_four_at_a_time():
    """Kills: index arithmetic that hides neighbours from the compiler, or divides per element."""
    calls = "page.multiply(torch.empty(64, 96)[:, :64], torch.empty(64, 64))"
    ptx = seen_after("31_op_library", calls, 'print(found[0].asm["ptx"])')
    loads = re.findall(r"ld\.global\S*", ptx)
    assert loads and all(".v4." in load for load in loads)
    assert len(re.findall(r"\b(?:div|rem)\.[su]\d+", ptx)) <= 2  # a thread has 8 elements
