"""A tool that is missing, a disk that is full: none of it is held against a kernel."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest
import torch
from triton.runtime.errors import PTXASError

from tests.seeing import kernels as k
from tritonbook.checking.errors import explain_error
from tritonbook.port.machine_faults import machines_fault
from tritonbook.seeing.compile_errors import MACHINE, explain
from tritonbook.seeing.compiled import CompileResult, compile_gate
from tritonbook.seeing.process import worker


def _ptxas(status: int, said: str) -> PTXASError:
    """As Triton raises it."""
    return PTXASError(
        f"`ptxas` failed with error code {status}\n`ptxas` stderr:\n{said}\n\nRepro command: x"
    )


FULL = OSError(errno.ENOSPC, "No space left on device")
READ_ONLY = OSError(errno.EROFS, "Read-only file system", "/c/HSG33")
GONE = FileNotFoundError(errno.ENOENT, "No such file or directory", "/t/nvidia/bin/cuobjdump")
NO_FORK = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_ptxas(-9, ""), "ended by signal 9"),
        (_ptxas(1, "ptxas fatal   : Memory allocation failure"), "Memory allocation failure"),
        (_ptxas(255, "ptxas a.ptx, line 5; fatal : Unsupported .version 8.8"), "is older than"),
        (RuntimeError("Cannot find ptxas"), "cannot be run here (it is not there)"),
        (subprocess.CalledProcessError(-11, ["/t/cuobjdump"], "", ""), "cuobjdump was ended by"),
        (GONE, "cuobjdump cannot be run here (No such file"),
        (FULL, "kept here (No space left on device): let TRITON_CACHE_DIR"),
        (READ_ONLY, "(Read-only file system: /c/HSG33)"),
        (NO_FORK, "cannot be started here"),
    ],
)
def test_what_the_machine_refuses_is_no_kernels_fault(error: Exception, words: str) -> None:
    """Kills: "does not compile" where the compiler's own tools do not work."""
    told = explain(error, launched=True, arch=80)
    assert told["code"] == MACHINE and words in told["message"]
    assert explain(error, launched=False, arch=80)["code"] == ""


@pytest.mark.parametrize(
    "said",
    [
        "ptxas a.ptx, line 30; error   : Unknown symbol 'x'\nptxas fatal   : Ptx assembly aborted",
        "ptxas error   : Entry function 'k' uses too much shared data",
        "ptxas fatal   : Unresolved extern function 'nowhere'",
    ],
)
def test_what_ptxas_says_of_a_kernel_is_the_kernels(said: str) -> None:
    """Kills: a kernel that no GPU takes, forgiven."""
    assert machines_fault(_ptxas(255, said)) == ""
    assert explain(_ptxas(255, said), launched=True, arch=80)["code"] == "does-not-compile"


def _compiled(cache: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> CompileResult:
    """What a helper process with this environment makes of a kernel that it has not met."""
    for name, value in {"TRITON_CACHE_DIR": str(cache), **environment}.items():
        monkeypatch.setenv(name, value)
    worker(interpret=False).stop()
    try:
        return compile_gate(k.add, [torch.ones(64), torch.ones(64)])
    finally:
        worker(interpret=False).stop()


def test_a_tool_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: the same, with a real compiler."""
    tool = tmp_path / "ptxas"
    version = "Cuda compilation tools, release 12.8, V12.8.93"
    tool.write_text(f'#!/bin/sh\ncase "$*" in *--version*) echo "{version}";; *) kill -9 $$;; esac')
    tool.chmod(0o755)
    found = _compiled(tmp_path / "cache", monkeypatch, TRITON_PTXAS_PATH=str(tool))
    assert found.ok is None and "ptxas was ended by signal 9" in found.message, found


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: the same, with a real disk."""
    (tmp_path / "file").touch()
    found = _compiled(tmp_path / "file" / "cache", monkeypatch)
    assert found.ok is None and "cannot be kept here" in found.message, found


def test_a_launch_that_compiles_on_a_gpu() -> None:
    """Kills: a full disk told as an error of the learner's function; and one that the function's
    own reading meets, told as the machine's."""
    names: dict[str, object] = {"error": FULL}
    file = os.path.join("site-packages", "triton", "compiler", "compiler.py")
    exec(compile("def compiled():\n    raise error", file, "exec"), names)
    with pytest.raises(OSError) as met:
        names["compiled"]()  # type: ignore[operator]
    assert explain_error(met.value).code == "not-run"
    with pytest.raises(OSError) as own:
        Path("/nowhere/at/all").read_text()
    assert explain_error(own.value).code == "raised"
