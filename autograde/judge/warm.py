"""Imports and first uses that every checker would pay for, done once in the process they fork from.

Interpreter only: on a GPU the first use opens the driver, and a process that did so cannot fork.
"""

import contextlib
import gc

from tritonbook import notebook, timing  # noqa: F401
from tritonbook.checking import battery, card, gates, runner  # noqa: F401
from tritonbook.port import device  # noqa: F401
from tritonbook.seeing import tiles  # noqa: F401

if device.INTERPRET:
    # torch.autograd.grad imports the second late, where there are no files to read any more.
    from torch._subclasses import schema_check_mode  # noqa: F401
    from torch.fx.experimental import symbolic_shapes  # noqa: F401

    from tritonbook.seeing import meter  # noqa: F401

    # What Triton imports at a first launch: 40 modules of Gluon among it, from 3.4 on.
    with contextlib.suppress(ImportError):
        import triton.compiler.code_generator
        import triton.experimental.gluon  # noqa: F401

# A collection in a forked process would write to, and so copy, all the memory that it shares.
gc.freeze()
