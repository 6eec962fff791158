"""Which GPU a kernel is compiled for, and its shared memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tritonbook import compat, interpreter

SCRIPT = """
import tritonbook
from tritonbook.compat import fake_gpu, shared_memory_limit, target_arch

for arch in (75, 90, 80, 90):
    with fake_gpu(arch):
        print(target_arch(), shared_memory_limit())
"""


def test_the_interpreter_stands_for_an_a100():
    """Exercises choose their tiles by these. Kills: asking torch for a GPU that is not there."""
    if compat.INTERPRET:
        assert (compat.target_arch(), compat.shared_memory_limit()) == (80, 166912)
    else:
        assert compat.target_arch() >= 70 and compat.shared_memory_limit() >= 48 * 1024


def test_each_fake_gpu_answers_for_itself():
    """Kills: a remembered limit that ignores the change of GPU."""
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["75", "65536", "90", "232448", "80", "166912", "90", "232448"]


def test_an_old_torch_wraps_interpreted_kernels(monkeypatch):
    """torch 2.6 and 2.9 refuse them; played here by a wrap_triton that refuses everything.

    Kills: notebook 11's last task, which cannot be solved on a CPU with the oldest pair.
    """
    import torch

    def refuses(kernel):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit")

    class Interpreted:
        pass

    monkeypatch.setattr(torch.library, "wrap_triton", refuses)
    interpreter._let_torch_wrap_interpreted_kernels(Interpreted)
    kernel = Interpreted()
    assert torch.library.wrap_triton(kernel) is kernel
    with pytest.raises(RuntimeError, match="wrap_triton only works"):
        torch.library.wrap_triton(object())


@pytest.mark.skipif(not compat.INTERPRET, reason="the mend is the interpreter's")
def test_a_real_interpreted_kernel_is_wrapped_as_it_is():
    import torch
    import triton

    @triton.jit
    def nothing_kernel(x_ptr):
        pass

    assert torch.library.wrap_triton(nothing_kernel) is nothing_kernel
