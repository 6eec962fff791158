"""The snapshot of this machine: it looks, and changes nothing."""

import os
import shutil
import subprocess
import sys
from unittest.mock import Mock

import pytest
import triton

from tritonbook.health import folders, gpus, hardware, machine
from tritonbook.port import assembler
from tritonbook.port.pairs import ASSEMBLED


def test_probe_fits_this_process():
    found = machine.probe()
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    assert found.system == "Linux" and found.triton
    assert found.library_interpreted in (found.interpreting, None)


def test_probe_creates_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "a" / "cache"))
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "b"))
    found = machine.probe()
    assert found.cache.path == str(tmp_path / "a" / "cache") and found.cache.writable
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_looked_at_is_unseen_and_the_rest_is_there(monkeypatch):
    """Kills: one question that fails, and no answer at all."""

    def fails():
        raise PermissionError(13, "Permission denied", "/proc")

    monkeypatch.setattr(machine.hardware, "node_gpus", fails)
    found = machine.probe()
    assert isinstance(found.node_gpus, machine.Unseen) and found.compiler
    with pytest.raises(PermissionError):
        bool(found.node_gpus)


def test_a_file_in_the_way_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("")
    found = folders.look_at(tmp_path / "file" / "cache")
    assert not found.writable and found.refused == "Not a directory"


def test_a_folders_file_system_is_known(tmp_path):
    """Kills: the heading of a table for a type."""
    assert folders.look_at("/proc/self/none/below").kind == "proc"
    found = folders.look_at(tmp_path)
    assert found.writable and not found.noexec and found.free > 0
    assert list(tmp_path.iterdir()) == []


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_triton_takes_gcc_or_clang_but_never_cc(tmp_path, monkeypatch):
    tool = program(tmp_path / "cc", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert hardware.compiler() is None
    monkeypatch.setenv("CC", "cc")
    assert hardware.compiler() == str(tool)
    assert hardware.compiler(other_than_named=True) is None


SMI = """
case "$*" in
*name*) echo '550.54.15, NVIDIA L4'; echo '550.54.15, NVIDIA L4';;
-L) echo 'GPU 0: NVIDIA L4 (UUID: GPU-1a-2)'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-3b-4)';;
*mig*) echo Disabled; echo Enabled;;
esac
"""


def test_the_driver_is_asked_even_when_torch_is_blind(tmp_path, monkeypatch):
    tool = program(tmp_path / "nvidia-smi", SMI)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    gpus = ("NVIDIA L4", "NVIDIA L4")
    assert hardware.ask_driver() == ("550.54.15", gpus, "", ("GPU-1a-2", "MIG-3b-4"), True)
    program(tool, "echo 'NVIDIA-SMI has failed.'; exit 9")
    assert hardware.ask_driver() == (None, (), "NVIDIA-SMI has failed", (), False)
    hangs = Mock(side_effect=subprocess.TimeoutExpired("nvidia-smi", 20))
    monkeypatch.setattr(subprocess, "run", hangs)
    assert hardware.ask_driver().complaint == "no answer within 20 s"


def test_gpus_that_a_container_or_a_job_was_not_given_are_known(tmp_path):
    """Kills: "No GPU" on a node that has one, for want of --nv or --gres."""
    assert hardware.node_gpus(tmp_path) == () and hardware.node_driver(tmp_path) is None
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).write_text("")
    assert hardware.node_gpus(tmp_path) == ("NVIDIA GPU",) * 2
    about = tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0"
    about.mkdir(parents=True)
    (about / "information").write_text("Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ: 1\n")
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\n"
    (tmp_path / "proc/driver/nvidia/version").write_text(version)
    assert hardware.node_gpus(tmp_path) == ("NVIDIA A100-SXM4-40GB",)
    assert hardware.node_driver(tmp_path) == "570.86.15"


@pytest.mark.parametrize(
    "mark, kind",
    [(".dockerenv", "Docker"), ("run/.containerenv", "Podman"), (".singularity.d/x", "Apptainer")],
)
def test_a_container_is_known_by_its_mark(tmp_path, monkeypatch, mark, kind):
    for name in ("KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        monkeypatch.delenv(name, raising=False)
    assert hardware.container(tmp_path) == ""
    (tmp_path / mark).parent.mkdir(exist_ok=True)
    (tmp_path / mark).write_text("")
    assert hardware.container(tmp_path) == kind and kind in gpus.GIVEN


def test_tritons_assembler_is_asked_what_it_knows():
    """Kills: a table that is a guess; "ready" on a GPU that Triton cannot assemble for."""
    cuda, known = assembler.about(8)
    assert cuda.startswith("1") and {"sm_75", "sm_80", "sm_90"} <= set(known)
    table = ASSEMBLED.get(".".join(triton.__version__.split(".")[:2]))
    assert table is None or set(table) <= set(known)


def test_a_link_name_that_is_missing_is_found_by_linking(tmp_path):
    """Kills: "ld: cannot find -lcuda" where libcuda.so.1 stands alone."""
    if not (gcc := shutil.which("gcc")):
        pytest.skip("no gcc here")
    source, library = tmp_path / "a.c", tmp_path / "libcuda.so.1"
    source.write_text("int cuInit(void) { return 0; }")
    subprocess.run([gcc, "-shared", source, "-o", library], check=True)
    assert not hardware.links(gcc, str(library))
    (tmp_path / "libcuda.so").symlink_to(library)
    assert hardware.links(gcc, str(library))
