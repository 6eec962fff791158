"""The compile gate for a submission: its launches as one file of vetted kernels, for the compiler.

The check's own gate exports the learner's function and runs it in a helper process. Here the
function is a proxy, and a student's Python must not run in a helper of the grader's. What the gate
needs of it is on the tape already: which kernel was launched on what.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tritonbook.export.values import expression
from tritonbook.seeing import compiled
from tritonbook.seeing.compile_errors import MACHINE, NEEDS_MEMORY
from tritonbook.words import later

from ..walls.kernels import KernelId, KernelLibrary
from .peer import Peer
from .player import Described, LaunchRecord, Layout


class CannotCompile(Exception):
    """This machine cannot compile, whatever is handed in: one sentence."""


Compiler = Callable[[dict[str, Any]], dict[str, Any]]  # the answer to a request


class Gate:
    """Stands for `compile_gate`: compiles what a proxy's calls launched. It makes no call itself,
    so that no kernel can be shown to it alone."""

    def __init__(self, peer: Peer, compiler: Compiler):
        self.peer, self.compiler = peer, compiler

    def __call__(
        self, fn: Any, args: Any, options: Any = None, arch: int = 80, **how: Any
    ) -> compiled.CompileResult:
        launches = self.peer.launched(fn.__name__, tuple(args), options or {})
        request = {
            "job": "compile",
            "source": program(self.peer.launcher.library, launches),
            "entry": "replay",
            "args": [],
            "options": {},
            "arch": arch,
            "ptx": False,
            "path": [],
        }
        answer = self.compiler(request)
        if "too_long" in answer:
            sentence = later(
                f"The compiler was not done with this kernel after {answer['too_long']:g} s. Has "
                "a tl.static_range very many turns? The compiler writes out each of them."
            )
            return compiled.CompileResult(False, sentence, code="timeout")
        if "too_large" in answer:
            return compiled.CompileResult(False, NEEDS_MEMORY, code="does-not-compile")
        if "unanswered" in answer:
            raise CannotCompile(str(answer["unanswered"]))
        found = compiled.compile_result(answer)
        if found.code == MACHINE:
            raise CannotCompile(
                later(
                    f"The grader's compiler does not work ({found.message}): see `tritonbook "
                    "doctor`, then run `autograde retry`."
                )
            )
        return found


def program(library: KernelLibrary, launches: list[LaunchRecord]) -> str:
    """The text of a Python file whose function `replay()` makes the same launches.

    Tensors are new ones of the same shape, strides, dtype and alignment.
    """
    definitions: list[str] = []

    @functools.cache
    def kernel(id: KernelId) -> str:
        """The name of a kernel in a module of its own: two may call helpers of one name."""
        helpers = "".join(f", {alias}={kernel(helper)}" for alias, helper in id.helpers)
        name = f"kernel_{len(definitions)}"
        text = f"{library.name(id)!r}, {library.source(id)!r}{helpers}"
        definitions.append(f"{name} = defined({text})")
        return name

    def call(launch: LaunchRecord) -> str:
        arguments = [_text(value, kernel) for value in launch.args]
        arguments += [f"{key}={_text(value, kernel)}" for key, value in launch.options.items()]
        return f"{kernel(launch.kernel)}[{launch.grid!r}]({', '.join(arguments)})"

    body = []
    for launch in launches:
        if launch.instead:
            tried = ", ".join(f"lambda: {call(each)}" for each in (launch, *launch.instead))
            body.append(f"    first_that_fits({tried})")
        else:
            body.append(f"    {call(launch)}")
    lines = ["import contextlib", "import torch", "import triton.language"]
    lines += ["from triton.compiler.errors import CompileTimeAssertionFailure"]
    lines += ["from triton.runtime.errors import OutOfResources, PTXASError"]
    lines += ["from tritonbook.port.source_file import module_of"]
    if any("TensorDescriptor(" in line for line in body):
        lines.append("from triton.tools.tensor_descriptor import TensorDescriptor")
    if any("laid_out(" in line for line in body):
        lines.append("from tritonbook.kernels.gluon import laid_out")
    lines += [
        _MAKE,
        *definitions,
        "",
        "",
        "def replay(*args, **options):",
        *(body or ["    pass"]),
    ]
    return "\n".join(lines) + "\n"


_MAKE = '''

def defined(name, text, /, **helpers):
    """The kernel `name` of a text. Triton reads its source by the name of the file."""
    file = f"<kernel {name} of {abs(hash(text))}>"
    return getattr(module_of(text, file, "kernels", helpers), name)


def make(shape, strides, dtype, shift):
    """A tensor in this layout, `shift` elements past an aligned address."""
    extent = 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides))
    return torch.zeros(extent + shift, dtype=dtype).as_strided(shape, strides, shift)


def first_that_fits(*launches):
    """What a tuner would launch on this GPU; the error of the first launch where none fits."""
    for launch in launches:
        with contextlib.suppress(OutOfResources, CompileTimeAssertionFailure, PTXASError):
            return launch()
    launches[0]()
'''


def _text(value: Any, kernel: Callable[[KernelId], str]) -> str:
    """A launch argument as Python text. kernel: gives one its name."""
    if isinstance(value, Layout):
        return f"make({value.shape!r}, {value.strides!r}, {value.dtype}, {value.shift})"
    if isinstance(value, Described):
        sizes = f"{value.shape!r}, {value.strides!r}, {value.block_shape!r}"
        made = "laid_out" if value.gluon else "TensorDescriptor"
        return f"{made}({_text(value.base, kernel)}, {sizes})"
    if isinstance(value, KernelId):
        return kernel(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_text(item, kernel) for item in value)
        return f"({inner},)" if isinstance(value, tuple) else f"[{inner}]"
    return expression(value) or repr(value)
