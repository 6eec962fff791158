"""Kernels compiled for a GPU that need not be there, in another process: this one may be the
interpreter's."""

import os
import subprocess
import sys
import textwrap

from tritonbook.seeing.compiled import KernelFacts, compile_gate

SCRIPT = """
import tritonbook.port.device
tritonbook.port.device.DEVICE = "cpu"
import torch
from tritonbook.port.compat import fake_gpu, hook_launch
from tritonbook.course.exercises import get, load

found = []

def around(call, fn, grid, args, kwargs):
    found.append(call())
    return found[-1]

page = load(get("{slug}"))
with fake_gpu(90), hook_launch(around):
{calls}
{look}
"""


def seen_after(slug: str, calls: str, look: str) -> str:
    """What `look` prints of `found`, the kernels that `calls` launched from the module `page`."""
    script = SCRIPT.format(slug=slug, calls=textwrap.indent(calls, "    "), look=look)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(fn, inputs, arch=90, options=None, ptx=False) -> tuple[KernelFacts, ...]:
    """The kernels that a call launches."""
    found = compile_gate(fn, inputs, options, arch, ptx=ptx)
    assert found.ok, found.message
    return found.kernels
