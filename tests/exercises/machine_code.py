"""Kernels compiled for an H100 in a process of their own: this one may be the interpreter's."""

import os
import subprocess
import sys
import textwrap

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
