"""The compile gate repeats a submission's launches from a text: same kernels, same layouts."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
import torch
import triton.language as tl

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.judge.gate import CannotCompile, Gate, program
from autograde.judge.lending import Lending
from autograde.judge.peer import Peer
from autograde.judge.player import Described, LaunchRecord, laid_out
from autograde.walls.kernels import KernelId, KernelLibrary
from tritonbook.kernels.descriptors import describe
from tritonbook.port import source_file
from tritonbook.port.compat import triton_version
from tritonbook.seeing.compile_errors import MACHINE

TOLD = '[{"tl": {"path": "triton.language"}}, {}]'
HEAD = "import triton\nimport triton.language as tl\n\n\n"
COPY = f"""{HEAD}@triton.jit
def copy_kernel(x_desc, y_ptr):
    tile = x_desc.load([48, 0])
    at = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(y_ptr + at, tile + 1)
"""


def loaded(library: KernelLibrary, launches: list[LaunchRecord]) -> ModuleType:
    return source_file.module_of(program(library, launches), "<the program>", "gate", {})


def written(*arguments: Any) -> tuple[Any, ...]:
    """What a kernel gets that is launched with these, when the program is run."""
    launch = LaunchRecord(KernelId("cell", 5, TOLD), (1,), laid_out(arguments), {})
    module = loaded(KernelLibrary([("cell", COPY)]), [launch])
    seen: list[tuple[Any, ...]] = []
    module.kernel_0 = {(1,): lambda *args: seen.append(args)}
    module.replay()
    return seen[0]


@pytest.mark.skipif(triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6")
def test_descriptors_are_written() -> None:
    """Kills: a launch of descriptors that the gate cannot repeat."""
    view = torch.zeros(64, 32, dtype=torch.float16)[8:, 16:]
    desc, y = written(describe(view, [8, 16]), torch.empty(8, 16))
    assert (desc.shape, desc.strides, desc.block_shape) == ([56, 16], [32, 1], [8, 16])
    assert desc.base.shape == view.shape and desc.base.stride() == view.stride()
    assert y.shape == (8, 16)


def test_plain_arguments_are_written() -> None:
    """Kills: an argument whose text is no Python, so that nothing is compiled and the gate open."""
    dtypes = torch.float16, (tl.float32, [tl.bfloat16]), tl.float8e5
    arguments = 7, None, True, "x", 0.5, -math.inf, *dtypes
    assert written(*arguments) == arguments


@pytest.mark.parametrize("how", ["alone", "in a tuple", "as a descriptor"])
def test_variants_of_other_dtypes_are_not_compiled(how: str) -> None:
    """Kills: a kernel whose flag stands for half precision refused, for with float32 it does not
    compile; and a variant that other calls of these dtypes launch, compiled by nobody."""
    peer = Peer(Mock(), [], Mock(), 1.0, Lending({}, frozenset()))

    def call(dtype: torch.dtype, size: int, **flags: bool) -> torch.Tensor:
        x = torch.zeros(size, dtype=dtype)
        given: Any = laid_out(x)
        if how != "alone":
            given = (given,) if how == "in a tuple" else Described(given, [size], [1], [size])
        launch = LaunchRecord(KernelId("cell", 1), (1,), (given,), flags)
        peer._play = lambda *told: setattr(peer.player, "launched", [launch])
        peer.function("double", True)(x)
        return x

    x = call(torch.float32, 8, HALF=False)
    call(torch.float16, 8, HALF=True)
    call(torch.float32, 9, HALF=False, TAIL=True)
    flags = [launch.options for launch in peer.launched("double", (x,), {})]
    assert flags == [{"HALF": False}, {"HALF": False, "TAIL": True}]


@pytest.mark.parametrize(
    ("answer", "ok", "code", "words"),
    [
        ({"too_large": True}, False, "does-not-compile", "memory"),
        ({"too_long": 4.0}, False, "timeout", "after 4 s"),
    ],
)
def test_what_stops_the_compiler_is_the_kernels_failure(
    answer: dict, ok: bool, code: str, words: str
) -> None:
    """Kills: a kernel that passes because it ended the compiler, or took all its time."""
    found = _asked(answer)
    assert (found.ok, found.code) == (ok, code) and words in found.message


def _asked(answer: dict) -> Any:
    """What the gate makes of the compiler's answer."""
    peer = Mock(launcher=Mock(library=KernelLibrary([])), launched=lambda *told: [])
    return Gate(peer, lambda request: answer)(Mock(__name__="f"), ())


@pytest.mark.parametrize(
    "answer",
    [
        {"unanswered": "The compiler did not answer: x"},
        {"kernels": [], "error": {"code": MACHINE, "message": "x was killed", "caret": ""}},
    ],
)
def test_a_machine_that_cannot_compile_scores_nobody(answer: dict) -> None:
    """Kills: such a machine, held against a kernel; and a kernel that passes there unseen."""
    with pytest.raises(CannotCompile, match="did not answer|x was killed"):
        _asked(answer)
