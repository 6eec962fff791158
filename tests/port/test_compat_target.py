"""Which GPU a kernel is compiled for, and its shared memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tritonbook.port import compat

SCRIPT = """
import sys
import torch
import triton
import triton.language as tl
from tritonbook.port.compat import (
    fake_gpu, hook_launch, launch_arguments, shared_memory_limit, target_arch
)
from tritonbook.seeing import compile_job

@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)

read, seen, x = [], [], torch.empty(16)
sys.addaudithook(lambda event, args: read.append(str(args[0])) if event == "open" else None)
with fake_gpu(80):
    kernel = fill[(1,)](x, 3, 16)
assert len(kernel.hash) == 64 and any("fill" in name for name in read)
print([name for name in read if "libtriton" in name])

limits = []
for arch in (75, 90, 80, 90):
    with fake_gpu(arch):
        limits.append((target_arch(), shared_memory_limit()))
print(limits)

def around(call, fn, grid, args, kwargs):
    seen.append((fn.__name__, grid, launch_arguments(fn, args, kwargs)["n"]))
    return call()

with fake_gpu(80), hook_launch(around):
    kept = fill[(2,)](x, 3, 16)
    assert kept[(4, 1, 1)](x, 5, 16) is kept
    fill.warmup(x, 3, 16, grid=(1,))[(6, 1, 1)](x, 7, 16)
kept[(8, 1, 1)]  # the hook is gone: Triton's own
print(seen)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """What a script that compiles prints; it is a file, since Triton reads kernels from files."""
    path = tmp_path_factory.mktemp("target") / "script.py"
    path.write_text(SCRIPT)
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(path.parent)}
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_interpreter_stands_for_an_a100():
    """Exercises choose their tiles by these. Kills: asking torch for a GPU that is not there."""
    if compat.INTERPRET:
        assert (compat.target_arch(), compat.shared_memory_limit()) == (80, 166912)
    else:
        assert compat.target_arch() >= 70 and compat.shared_memory_limit() >= 48 * 1024


def test_to_compile_reads_no_whole_library(printed):
    """Kills: 0.6 s of hashing in each process that compiles for `facts` and the A100's gate."""
    assert printed[0] == "[]"


def test_each_fake_gpu_answers_for_itself(printed):
    """Kills: a remembered limit that ignores the change of GPU."""
    assert printed[1] == str([(75, 65536), (90, 232448), (80, 166912), (90, 232448)])


def test_launches_of_a_kernel_that_was_kept_are_seen(printed):
    """As in Triton's tutorial on softmax. Kills: an honest answer called "no kernel launched", and
    one that hides its launches from the proof."""
    assert printed[2] == str([("fill", (2,), 3), ("fill", (4, 1, 1), 5), ("fill", (6, 1, 1), 7)])
