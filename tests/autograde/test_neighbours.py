"""One broken exercise costs its neighbours nothing."""

import pytest
from grading import Grader, solutions

from tritonbook.course.exercises import get

# The address lies 4 TiB behind the tensor: no GPU and no process has memory there.
FAULT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def far_outside_kernel(x_ptr):
    tl.store(x_ptr + tl.program_id(0).to(tl.int64) + (1 << 40), 1.0)


def rmsnorm_row(x, w, eps=1e-6):
    far_outside_kernel[(1,)](x)
    return torch.empty_like(x)
"""


@pytest.mark.slow
def test_a_fault_costs_its_own_exercise_only() -> None:
    """Kills: a crash that ends the other exercises; points for the answer that crashed."""
    grader = Grader(get("10"))
    keys = solutions(grader.exercise)
    found = {key: grader.grade(key, rmsnorm_row=FAULT) for key in keys}
    fault, spared = found.pop("rmsnorm_row"), found.values()
    assert (fault.points, fault.status) in ((0, "FAIL"), (0, "CUDA_FAULT")), fault
    assert spared and all(verdict.status == "PASS" for verdict in spared)
