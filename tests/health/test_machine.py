"""The snapshot of this machine: it looks, and changes nothing."""

import os
import stat
import sys
from types import SimpleNamespace

from tritonbook.health import machine


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


def test_a_file_in_the_way_is_not_writable(tmp_path):
    (tmp_path / "file").write_text("")
    assert not machine.look_at(tmp_path / "file" / "cache").writable


def test_a_folders_file_system_is_known(tmp_path, monkeypatch):
    """Kills: the heading of a table for a type; noexec that is not noticed."""
    assert machine.look_at("/proc/self/none/below").kind == "proc"
    assert not machine.look_at(tmp_path).noexec
    found = SimpleNamespace(f_bavail=3, f_frsize=4096, f_flag=os.ST_NOEXEC | os.ST_NOSUID)
    monkeypatch.setattr(machine.os, "statvfs", lambda path: found)
    assert machine.look_at(tmp_path).noexec and machine.look_at(tmp_path).free == 3 * 4096


def test_triton_takes_gcc_or_clang_but_never_cc(tmp_path, monkeypatch):
    tool = tmp_path / "cc"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert machine._compiler() is None
    monkeypatch.setenv("CC", "cc")
    assert machine._compiler() == str(tool)


def test_the_driver_is_asked_even_when_torch_is_blind(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '550.54.15, NVIDIA L4'\necho '550.54.15, NVIDIA L4'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert machine._nvidia_smi() == ("550.54.15", ("NVIDIA L4", "NVIDIA L4"))
    tool.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    assert machine._nvidia_smi() == (None, ())


def test_the_drivers_library_is_found_where_containers_put_it(tmp_path, monkeypatch):
    """Kills: a false alarm in every container, where ldconfig knows nothing of the driver."""
    monkeypatch.delenv("TRITON_LIBCUDA_PATH", raising=False)
    monkeypatch.setattr(machine.ctypes.util, "find_library", lambda name: None)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    assert machine._libcuda() is None
    (tmp_path / "libcuda.so.1").write_text("")
    assert machine._libcuda() == str(tmp_path / "libcuda.so.1")
