"""What the compiler makes of your kernels, for a GPU that need not be here.

A wrapper is run in a helper process with the compiler in place of the interpreter: CPU tensors
stand for the GPU's, every launch is compiled, none is run.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import style
from ..export.values import ExportError
from ..words import later, say
from .arguments import request
from .compile_errors import MACHINE
from .occupancy import LIMITS
from .process import WorkerError, worker


class CompileError(Exception):
    """Kernels could not be compiled here. The text says why."""

    def _render_traceback_(self) -> list[str]:
        return [f"CompileError: {self}"]


@dataclass(frozen=True)
class KernelFacts:
    """One compiled kernel. Counts are of instructions in the program text, not of executions.

    registers: 32-bit, per thread (255 is the most). spills: bytes per thread of values that found
    no register. shared_bytes: per program. vector_loads: `ld.global` of 2, 4 or 8 values at once
    (and 16-byte asynchronous copies) among `loads`. tf32: those among `mma` that cut float32
    short. float64: arithmetic with such numbers. occupancy: part of a multiprocessor's warps
    that fit at once. grid: of the first launch.
    """

    name: str
    arch: int
    registers: int
    spills: int
    shared_bytes: int
    warps: int
    stages: int
    loads: int
    vector_loads: int
    wide_loads: int
    stores: int
    vector_stores: int
    async_copies: int
    mma: int
    wgmma: int
    atomics: int
    programs_per_sm: int
    occupancy: float
    limited_by: str
    tf32: int = 0
    float64: int = 0
    launches: int = 1
    constants: dict[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    text: str | None = field(default=None, repr=False)

    @property
    def ptx(self) -> str:
        """The program text. Raises LookupError where nobody asked for it."""
        if self.text is None:
            raise LookupError(
                later(f"{self.name}: its PTX was not kept; ask for it with ptx=True.")
            )
        return self.text

    @property
    def tensor_cores(self) -> int:
        """Matrix instructions of either kind."""
        return self.mma + self.wgmma

    def to_dict(self) -> dict[str, Any]:
        """Everything but the PTX text, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "text"}

    def rows(self) -> list[tuple[str, str]]:
        """(what, value) in plain words."""
        constants = ", ".join(f"{name}={value}" for name, value in self.constants.items())
        rows = [
            (later("constants"), constants or later("none")),
            ("grid of programs", " × ".join(f"{size:,}" for size in self.grid)),
            ("warps, stages", f"{self.warps}, {self.stages}"),
            ("registers per thread", f"{self.registers} of 255"),
            ("spilled to memory", f"{self.spills} bytes per thread" if self.spills else "none"),
            ("shared memory", f"{self.shared_bytes:,} bytes per program"),
            (later("loads"), f"{self.loads}, {self.vector_loads} of them vectors"),
            (later("stores"), f"{self.stores}, {self.vector_stores} of them vectors"),
            ("tensor core instructions", str(self.tensor_cores)),
            (
                later("occupancy"),
                f"{self.occupancy:.0%} ({self.programs_per_sm} programs per multiprocessor, "
                f"limited by {self.limited_by})",
            ),
        ]
        if self.atomics:
            rows.insert(8, ("atomic instructions", str(self.atomics)))
        if self.float64:
            rows.insert(-1, ("float64 instructions", str(self.float64)))
        return rows


class FactsList(list):
    """A list of KernelFacts that a notebook shows as a table.

    problem: one sentence when the compiler refused a kernel (the list holds those before it).
    """

    def __init__(self, kernels: Sequence[KernelFacts] = (), problem: str = ""):
        super().__init__(kernels)
        self.problem = problem

    def _problem(self) -> str:
        """The sentence in the reader's language; the kernel's lines below it stay as they are."""
        sentence, *lines = self.problem.split("\n")
        return "\n".join([say(sentence), *lines])

    def _table(self) -> list[list[str]]:
        """A column for each kernel; the headings first."""
        heads = [f"{kernel.name} (sm_{kernel.arch})" for kernel in self]
        labels = dict.fromkeys(label for kernel in self for label, _ in kernel.rows())
        found = [dict(kernel.rows()) for kernel in self]
        rows = [[say(label), *(say(row.get(label, "0")) for row in found)] for label in labels]
        return [["", *heads], *rows]

    def __str__(self) -> str:
        if not self:
            return self._problem() or say("No kernel was launched.")
        lines = [*style.columns(self._table()), self._problem()]
        return "\n".join(line for line in lines if line)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        problem = html.escape(self._problem()).replace("\n", "<br>")
        if not self:
            return f"<p>{problem or say('No kernel was launched.')}</p>"
        (_, *heads), *rows = [[html.escape(cell) for cell in row] for row in self._table()]
        table = style.table(rows, ["", *(f"<code>{head}</code>" for head in heads)])
        return table + (f"<p>{problem}</p>" if problem else "")


@dataclass(frozen=True)
class CompileResult:
    """Outcome of a compile. ok: True, False, or None when it could not be tried (message: why).

    code: "does-not-compile" or "out-of-resources" when ok is False; MACHINE where this machine is
    what cannot compile. caret: the kernel's line with a mark under the spot.
    """

    ok: bool | None
    message: str = ""
    caret: str = ""
    kernels: tuple[KernelFacts, ...] = ()
    code: str = ""


def warm() -> None:
    """Start the helper process now, in the background, so that the first question is quick."""
    try:
        worker(interpret=False).start()
    except WorkerError:
        return  # the first real request reports it


def compile_gate(
    fn: Callable[..., Any],
    args: Sequence[Any],
    options: dict[str, Any] | None = None,
    arch: int = 80,
    *,
    timeout: float | None = None,
    ptx: bool = False,
) -> CompileResult:
    """Compile every kernel that `fn(*args, **options)` launches for compute capability `arch`.

    Only shapes, strides, dtypes and alignment of tensors count. Raises nothing: what stands in the
    way (a source that cannot be exported, a wrapper that reads results) makes `ok` None.
    timeout: seconds for the answer; None: 60, or the environment's TRITONBOOK_COMPILE_SECONDS.
    """
    if timeout is None:
        timeout = float(os.environ.get("TRITONBOOK_COMPILE_SECONDS", "60"))
    try:
        asked = request("compile", fn, args, options or {}, arch=arch, ptx=ptx)
    except ExportError as problem:
        return CompileResult(None, str(problem))
    except Exception as problem:  # a gate that cannot be tried must not fail a learner's check
        return CompileResult(None, f"the source cannot be exported ({problem!r})")
    try:
        return compile_result(worker(interpret=False).ask(asked, timeout))
    except WorkerError as problem:
        return CompileResult(None, f"the compiler did not answer: {problem}")


def compile_result(answer: dict[str, Any]) -> CompileResult:
    """What the helper process found."""
    kernels = tuple(
        KernelFacts(
            **{name: value for name, value in kernel.items() if name not in ("grid", "ptx")},
            grid=tuple(kernel["grid"]),
            text=kernel.get("ptx"),
        )
        for kernel in answer["kernels"]
    )
    error = answer.get("error")
    if error is None:
        return CompileResult(True, kernels=kernels)
    ok = None if error["code"] in ("", MACHINE) else False
    return CompileResult(ok, error["message"], error["caret"], kernels, error["code"])


def facts(fn: Callable[..., Any], *args: Any, arch: int = 80, **options: Any) -> FactsList:
    """Compile `fn(*args, **options)` and list each kernel's facts. arch: 75, 80, 86, 89 or 90.

    Works without a GPU; nothing is run, so results are not looked at. An autotuned kernel appears
    with the first configuration that fits. What the compiler refuses becomes the list's `problem`.
    Raises CompileError, with a plain sentence, when there was nothing to compile or no way to.
    """
    if arch not in LIMITS:
        known = ", ".join(str(number) for number in LIMITS)
        raise CompileError(f"arch is one of {known}, not {arch}.")
    result = compile_gate(fn, args, options, arch, ptx=True)
    if result.ok is None:
        raise CompileError(f"There are no facts: {result.message}.")
    return FactsList(result.kernels, "\n".join(filter(None, (result.message, result.caret))))
