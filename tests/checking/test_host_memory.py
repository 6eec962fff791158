"""What a GPU's host would refuse, refused in the interpreter; and Triton's tutorials, taken."""

import os

import pytest
import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.checking.asks import launches
from tritonbook.checking.host_memory import no_default_device
from tritonbook.port.device import INTERPRET
from tritonbook.port.source_file import module_of

pytestmark = pytest.mark.skipif(not INTERPRET, reason="a GPU refuses by itself")

MODULE = """\
import numpy as np
import tritonbook
import torch
import triton
import triton.language as tl
from tritonbook import DEVICE


@triton.jit
def double_kernel(x_ptr, twos_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    twos = tl.load(twos_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * twos, mask=mask)


def double(x):
    n = x.numel()
    {lines}
    double_kernel[({grid},)](x, twos, out, n, BLOCK=64)
    return out
"""
CHECK = Check(
    lambda x: 2 * x,
    [case("ragged", x=tensor(150))],
    asks=[launches(1)],
    allow=("_to_copy", "arange", "mul"),
)
TWOS = "twos = torch.full_like(x, 2)"
OUT = "out = torch.empty_like(x)"


def checked(lines, grid="triton.cdiv(n, 64)"):
    text = MODULE.format(lines=lines.replace("\n", "\n    "), grid=grid)
    return run_check(module_of(text, "double.py", "_double", {}).double, CHECK, "double")


@pytest.mark.parametrize(
    "made",
    [
        "torch.full((n,), 2.0)",
        "torch.full((n,), 2.0, device='cpu')",
        "torch.full((n,), 2.0).view(n)",
        "torch.tensor([2.0] * n)",
        "torch.Tensor(n).fill_(2.0)",
        "torch.from_numpy(np.full(n, 2, np.float32))",
        "torch.full_like(x, 2).cpu()",
        "torch.full_like(x, 2).to('cpu')",
        "(torch.arange(n) * 0 + 2).to(torch.float32)",
    ],
)
def test_a_tensor_that_is_not_on_the_gpu_reaches_no_kernel(made):
    """Kills: `torch.empty(n)` that passes here and on no GPU."""
    finding = checked(f"{OUT}\ntwos = {made}").finding
    assert finding.code == "raised" and "`twos_ptr` is in the CPU's memory" in finding.sentence
    assert made in finding.sentence and "device=x.device" in finding.sentence
    assert made in finding.detail


@pytest.mark.parametrize(
    "made",
    [
        "torch.full((n,), 2.0, device=x.device)",
        "torch.full((n,), 2.0, device=DEVICE)",
        "torch.full((n,), 2.0).to(x.device)",
        "torch.full((n,), 2.0).to(x)",
        "x.new_full((n,), 2.0)",
        "x.new_tensor([2.0] * n)",
        "torch.full_like(x, 2)\nunused = torch.zeros(n)",
        "torch.full_like(x, 2)\nwith torch.device(x.device):\n    twos = torch.full((n,), 2.0)",
    ],
)
def test_what_a_gpu_takes_passes(made):
    report = checked(f"{OUT}\ntwos = {made}")
    assert report.passed, report.finding


def test_two_memories_do_not_meet_in_an_operator():
    finding = checked(f"{OUT}\ntwos = torch.full_like(x, 2) * torch.ones(n)").finding
    assert "`torch.mul` gets it beside one on the GPU" in finding.sentence


@pytest.mark.parametrize(
    "line",
    [
        "assert x.device == DEVICE",
        "assert not x.device != DEVICE and DEVICE == x.device",
        "assert x.is_cuda and out.is_cuda",
        "assert x.device == triton.runtime.driver.active.get_active_torch_device()",
    ],
)
def test_the_lines_of_tritons_tutorials_hold(line):
    report = checked(f"{OUT}\n{TWOS}\n{line}")
    assert report.passed, report.finding


def test_outside_of_a_check_nothing_pretends():
    assert DEVICE == "cpu" == DEVICE.type and DEVICE != "cuda" and not torch.ones(1).is_cuda


@pytest.fixture
def default_cuda():
    torch.set_default_device("cuda")
    yield
    torch.set_default_device(None)


def test_a_default_device_is_the_answers_alone(default_cuda):
    """Kills: the check's own tensors, made on a GPU that is not there; a refusal of what a GPU's
    notebook runs."""
    report = checked("out = torch.empty(n)\ntwos = torch.full((n,), 2.0)")
    assert report.passed, report.finding
    with no_default_device():
        assert torch.ones(1).device == torch.device("cpu")


def test_kernels_of_tl_are_not_called_in_a_wrapper():
    finding = checked(f"{OUT}\n{TWOS}", grid="tl.cdiv(n, 64)").finding
    assert "`triton.cdiv`" in finding.sentence


def test_a_grid_may_be_a_list():
    text = MODULE.replace("[({grid},)]", "[[{grid}]]").format(
        lines=f"{OUT}\n    {TWOS}", grid="triton.cdiv(n, 64)"
    )
    report = run_check(module_of(text, "double.py", "_double", {}).double, CHECK, "double")
    assert report.passed, report.finding


def test_a_cell_that_changes_the_variable_changes_nothing(monkeypatch):
    """Kills: kernels for a GPU that is not there, after `os.environ["TRITON_INTERPRET"] = "0"`."""
    monkeypatch.setitem(os.environ, "TRITON_INTERPRET", "0")
    report = checked(f"{OUT}\n{TWOS}")
    assert report.passed, report.finding
