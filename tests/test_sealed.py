"""A shared cluster at its strictest: read-only install, no writable home, no network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOLVED = ROOT / "solutions" / "01_vector_add.ipynb"
TRITONBOOK = [sys.executable, "-m", "tritonbook.cli"]
# Everything is there and nothing can be written, but one folder for temporary files.
SEALED = ["bwrap", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
SEALED += ["--unshare-net", "--chdir", "/"]
SEALED_ENVIRONMENT = {"HOME": "/nowhere", "TMPDIR": "/dev/shm"}


def _can_seal() -> bool:
    if not shutil.which("bwrap"):
        return False
    return subprocess.run([*SEALED, "true"], capture_output=True).returncode == 0


needs_bwrap = pytest.mark.skipif(not _can_seal(), reason="bubblewrap cannot run here")


def environment(**changes):
    """This process's environment without what a person or another test has set."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON", "XDG_", "MPL"))}
    return {**kept, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", **changes}


@needs_bwrap
def test_notebook_01_passes_where_nothing_can_be_written_or_reached():
    """Kills: a cache beside the package or in the home; a module that must be fetched."""
    probe = "import socket, pathlib\n"
    probe += f"for p in ({str(ROOT)!r}, {sys.prefix!r}, '/tmp', '/nowhere'):\n"
    probe += (
        "    try: pathlib.Path(p, 'x').touch(); print('writable', p)\n    except OSError: pass\n"
    )
    probe += (
        "try: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError as e: print(e.errno)"
    )
    env = environment(**SEALED_ENVIRONMENT)
    command = [*SEALED, sys.executable, "-c", probe]
    said = subprocess.run(command, env=env, capture_output=True, text=True).stdout
    assert "writable" not in said and said.strip(), said  # the seal itself

    command = [*SEALED, *TRITONBOOK, "check", str(SOLVED), "--only", "add"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "add: passed" in done.stdout and "compiles for a GPU too" in done.stdout, done.stdout


@needs_bwrap
def test_the_doctor_says_where_progress_goes_without_a_home():
    command = [*SEALED, *TRITONBOOK, "doctor"]
    env = environment(**SEALED_ENVIRONMENT)
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert "your progress goes to a temporary folder" in done.stdout


# Every Python that starts imports this first: an address that is looked up or connected to is
# written down and refused. Sockets inside the machine (AF_UNIX) are no network.
TRAP = """
import os, socket
def refuse(*args, **kwargs):
    with open(os.environ["TRAP"], "a") as file:
        file.write(repr(args) + "\\n")
    raise OSError("this test has no network")
connect = socket.socket.connect
def local_only(self, address):
    return connect(self, address) if self.family == socket.AF_UNIX else refuse(address)
socket.socket.connect = socket.socket.connect_ex = local_only
socket.getaddrinfo = socket.create_connection = refuse
"""


def test_checking_a_notebook_asks_for_no_address(tmp_path):
    """Needs no namespaces, so it runs everywhere. Kills: a version check, a download, telemetry."""
    (tmp_path / "sitecustomize.py").write_text(TRAP)
    trap = tmp_path / "asked"
    env = environment(TRAP=str(trap), PYTHONPATH=str(tmp_path), TRITONBOOK_HOME=str(tmp_path))
    ask = "import socket; socket.create_connection(('127.0.0.1', 9))"
    assert subprocess.run([sys.executable, "-c", ask], env=env, capture_output=True).returncode
    assert "127.0.0.1" in trap.read_text()  # the trap itself
    trap.unlink()

    command = [*TRITONBOOK, "check", str(SOLVED), "--only", "add"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not trap.exists(), trap.read_text()


def test_a_home_that_may_not_be_searched_is_a_finding(tmp_path):
    """Kills: a traceback where root's rights end, as on a home that a file server guards."""
    home = tmp_path / "home"
    home.mkdir(mode=0)
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # else root sees it all
    done = subprocess.run(
        [*(drop if os.geteuid() == 0 else []), *TRITONBOOK, "doctor"],
        env=environment(HOME=str(home)),
        capture_output=True,
        text=True,
    )
    home.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.count("cannot be written") == 2  # Triton's cache and your progress
