"""The snapshot of this machine: it looks, and changes nothing."""

import os
import stat
import sys

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


def test_mount_table_is_read_by_longest_prefix(monkeypatch, tmp_path):
    """Kills: first match wins; prefix without the slash; escaped blanks."""
    table = (
        "/dev/a / ext4 rw 0 0\n"
        "srv:/home /home nfs4 rw 0 0\n"
        "tmpfs /home/me/my\\040tmp tmpfs rw,noexec 0 0\n"
    )
    real = machine.Path.read_text
    monkeypatch.setattr(
        machine.Path,
        "read_text",
        lambda self, *a, **k: table if str(self) == "/proc/mounts" else real(self, *a, **k),
    )
    assert machine._mount(machine.Path("/home/me/.triton")) == ("nfs4", False)
    assert machine._mount(machine.Path("/homework")) == ("ext4", False)
    assert machine._mount(machine.Path("/home/me/my tmp/x")) == ("tmpfs", True)


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
