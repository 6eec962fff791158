"""Python text that looks for holes from inside a candidate's walls, and what it must not find."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Leaves the outcome of every attempt in `found`: "done", or the name of the error.
PROBE = """
import json, os, socket, subprocess, sys, time
found = {}
def attempt(name, action):
    try:
        value = action()
        found[name] = value if isinstance(value, str) else "done"
    except BaseException as error:
        found[name] = type(error).__name__
def see_home():
    if not set(HOME) <= set(os.listdir("/root")):
        raise FileNotFoundError
attempt("gradebook", lambda: open(SECRET).read())
attempt("tests", lambda: os.listdir(os.path.dirname(os.path.abspath(GRADER)) + "/source"))
attempt("home", see_home)
attempt("write /usr", lambda: open("/usr/probe", "w"))
attempt("write package", lambda: open(GRADER, "a"))
attempt("write root", lambda: open("/probe", "w"))
attempt("write libraries", lambda: open(sys.modules["json"].__file__, "a"))
attempt("network", lambda: socket.create_connection(("127.0.0.1", PORT), 2))
attempt("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(ABSTRACT))
attempt("kill outside", lambda: os.kill(OUTSIDE, 9))
attempt("mount", lambda: subprocess.run(["mount", "-t", "tmpfs", "x", "/tmp"], check=True))
attempt("remount", lambda: subprocess.run(["mount", "-o", "remount,rw", "/usr"], check=True))
attempt("environment", lambda: os.environ["WORKBOOK_PROBE"])
pids = [n for n in os.listdir("/proc") if n.isdigit()] if os.path.isdir("/proc") else []
found["processes"] = len(pids)
attempt("temporary file", lambda: open("/tmp/mine", "w").write("x") and "ok")
"""

# Leaves a process with a session of its own behind; MARK is what it sleeps.
LEAVER = """
import os, time
found = {}
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", MARK])
    os._exit(0)
time.sleep(0.3)
"""


@contextlib.contextmanager
def _outside() -> Iterator[int]:
    """The number of a process that lives out here, larger than the few that exist inside."""
    while True:
        sleeper = subprocess.Popen(["sleep", "600"])
        if sleeper.pid > 99:
            break
        sleeper.kill()
        sleeper.wait()
    try:
        yield sleeper.pid
        assert sleeper.poll() is None, "killed from inside"
    finally:
        sleeper.kill()
        sleeper.wait()


@contextlib.contextmanager
def probe(secret: Path) -> Iterator[str]:
    """The text of PROBE with what it looks for: `secret`, and two sockets that are open meanwhile.

    The caller sets WORKBOOK_PROBE, which must not get in.
    """
    address = f"\0workbook-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        _outside() as outside,
    ):
        local.bind(address)
        local.listen()
        values = {
            "SECRET": str(secret),
            "GRADER": str(ROOT / "autograde" / "__init__.py"),
            "HOME": sorted(os.listdir("/root")) if os.access("/root", os.R_OK) else ["-"],
            "PORT": server.getsockname()[1],
            "ABSTRACT": address,
            "OUTSIDE": outside,
        }
        yield "\n".join(f"{k} = {v!r}" for k, v in values.items()) + PROBE


def assert_nothing_found(found: dict) -> None:
    """What PROBE left must say that there was no way out, and a place to write."""
    done = {name for name, value in found.items() if value == "done"}
    assert not done, found
    assert found["gradebook"] == "FileNotFoundError"
    assert found["environment"] == "KeyError"
    assert found["processes"] <= 3
    assert found["temporary file"] == "ok"


def sleeps(mark: str) -> bool:
    """Whether a process sleeps MARK."""
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return f"sleep {mark}" in lines.splitlines()


def assert_gone(mark: str, seconds: float = 120.0) -> None:
    """No process sleeps MARK any more, within `seconds`."""
    deadline = time.monotonic() + seconds
    while sleeps(mark):
        assert time.monotonic() < deadline, "the detached process is still there"
        time.sleep(0.1)
