"""Functions that are no kernels' wrappers can launch kernels too: those are fenced in."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE, INTERPRET
from tritonbook.checking import case

from .answers import run


@triton.jit
def far_away_kernel(x_ptr, shift, BLOCK: tl.constexpr):
    offs = shift + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) + 1.0)


def answers_after_a_launch(shift):
    far_away_kernel[(1,)](torch.zeros(64, device=DEVICE), shift, BLOCK=64)
    return "ok"


def answer(shift):
    return "ok"


@pytest.mark.skipif(not INTERPRET, reason="a GPU has no fence; it may stop the kernel instead")
def test_lanes_far_outside_are_kept_from_memory_and_named():
    """Unfenced, these addresses end the process."""
    far = [case("far", shift=1 << 40)]
    finding = run(answers_after_a_launch, answer, far, triton=False).finding
    assert finding.code == "out-of-bounds-store"
    assert "far_away_kernel" in finding.sentence


def test_a_launch_inside_its_tensors_is_left_alone():
    near = [case("near", shift=0)]
    assert run(answers_after_a_launch, answer, near, triton=False).passed
