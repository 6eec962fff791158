"""What the processes of an exercise have loaded before they begin: it is loaded once, in the
process that they are forked from.

No student's code ever runs there, and nothing is there that must not be behind the walls: no page's
cases, no secret. None of it touches a GPU: a process that opened the driver cannot fork.
"""

# ruff: noqa: F401  (loaded for those that are forked)

from __future__ import annotations

import atexit
import contextlib
import importlib
import os

from tritonbook.course import answer_check, progress
from tritonbook.port import device
from tritonbook.seeing import barriers, pictures, prediction, tiles

from ..walls import candidate, engine, forking, inside
from . import checker, execute

# What torch.autograd.grad imports at its first call: a third of a second, for pages that call it.
_GRADIENTS = ("torch._subclasses.schema_check_mode", "torch.fx.experimental.symbolic_shapes")
# What Triton imports at a first launch: 40 modules of Gluon among it, from 3.4 on. And what
# numpy.unique does, which looks through each launch's stores.
_LAUNCHES = ("triton.compiler.code_generator", "triton.experimental.gluon", "numpy.ma")
_asked = os.environ.pop("AUTOGRADE_GRADIENTS", "")
if device.INTERPRET:
    for name in (*_LAUNCHES, *(_GRADIENTS if _asked else ())):
        with contextlib.suppress(ImportError):  # another version has it not
            importlib.import_module(name)
forking.settle()
atexit.register(os._exit, 0)  # to take torch apart at the end is 0.8 s of work
