"""Every element of a result is stored by a kernel: what torch copied from an argument is none."""

import pytest
import torch
import triton
import triton.language as tl

import tritonbook
from tritonbook.checking import case, tensor
from tritonbook.checking.asks import launches

from .answers import run

pytestmark = pytest.mark.skipif(not tritonbook.INTERPRET, reason="the meter sees it")


@triton.jit
def copy_kernel(x_ptr, out_ptr, first, n, BLOCK: tl.constexpr):
    offs = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)


@triton.jit
def relu_kernel(out_ptr, n, ALL: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    out = tl.load(out_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, tl.maximum(out, 0.0), mask=mask & (ALL | (out < 0)))


def copied(x, out, first=0):
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 64),)](x, out, first, n, BLOCK=64)
    return out


def changed(out, **options):
    relu_kernel[(triton.cdiv(out.numel(), 64),)](out, out.numel(), **options, BLOCK=64)
    return out


def the_last_two(x):
    out = x.clone()
    out[-2:].fill_(7)
    return copied(x, out, x.numel() - 2)


def joined(x):
    end = torch.empty_like(x)
    return torch.cat([x[:-2], copied(x, end, x.numel() - 2)[-2:]])


HONEST = {
    "into_new_memory": lambda x: copied(x, torch.empty_like(x)),
    "of_a_copy": lambda x: copied(x.clone(), torch.empty_like(x)),
    "over_a_copy": lambda x: copied(x, x.clone().fill_(7)),
    "a_copy_of_it": lambda x: copied(x, torch.empty_like(x)).clone(),
}


def found(answer, reference, **asked):
    return run(answer, reference, [case("some", x=tensor(130))], **asked).finding


@pytest.mark.parametrize("answer", [the_last_two, joined])
def test_a_part_that_torch_copied_is_none_of_the_kernels(answer):
    """Kills: `clone()` for a copy, beside a kernel that stores two elements."""
    said = found(answer, torch.clone, allow=["cat"])
    assert said.code == "right-without-kernel" and "every element" in said.sentence, said


@pytest.mark.parametrize("name", HONEST)
def test_copies_on_the_way_are_nobodys_work(name):
    """Kills: honest wrappers taken for that, which copy what the kernel reads or has stored."""
    answer = HONEST[name]
    assert found(answer, torch.clone, asks=[launches(1)]) is None


def test_a_kernel_may_leave_values_as_they_are():
    """Kills: a result in place taken for torch's where the kernel stored what was there."""
    whole = lambda x: changed(x.clone(), ALL=True)  # noqa: E731
    assert found(whole, torch.relu) is None
    rest = lambda x: changed(x.clone(), ALL=False)  # noqa: E731
    assert found(rest, torch.relu).code == "right-without-kernel"


def test_an_argument_in_place_keeps_what_it_held():
    """Kills: a cache of which the kernel writes one place, refused for all others."""

    def appended(cache, x):
        copy_kernel[(1,)](x.clone(), cache, 0, 4, BLOCK=64)

    def reference(cache, x):
        return torch.cat([x, cache[4:]])

    cases = [case("some", cache=tensor(130), x=tensor(4))]
    assert run(appended, reference, cases, inplace=["cache"]).finding is None


def test_a_number_that_torch_computes_may_be_right_by_chance():
    """Kills: an honest answer, whose product torch may compute, for a value near the right one."""

    def answer(x):
        return (copied(x, torch.empty_like(x).fill_(9)).clone() + x).clone()

    cases = [case("some", x=tensor(130, values="integers"), dtype="int32")]
    assert run(answer, lambda x: 2 * x, cases, allow=["add"]).finding is None
