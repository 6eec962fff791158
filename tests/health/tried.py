"""A machine made for a test: a namespace with mounts of its own, and the doctor, asked in it.

It is a fork of this process, which has torch imported already.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import tempfile
import traceback
from dataclasses import replace
from functools import cache
from pathlib import Path

from tritonbook.health.doctor import examine
from tritonbook.health.machine import Gpu, probe

NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
# What is a note without a GPU is a problem with one.
A_GPU = {
    "cuda_works": True,
    "gpus": (Gpu("NVIDIA A100", (8, 0)),),
    "torch_cuda": "12.6",
    "interpreting": False,
    "library_interpreted": False,
}


def _enter() -> None:
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.geteuid(), os.getegid()
    if libc.unshare(NEW_MOUNTS | (NEW_USER if user else 0)):
        raise OSError(ctypes.get_errno(), "no namespace with mounts of its own")
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def apart(work, out: Path):
    """What a function returns in such a namespace; its error where it raised."""
    if not (child := os.fork()):
        try:
            _enter()
            said = {"done": work()}
        except BaseException:
            said = {"error": traceback.format_exc()}
        (out / "said").write_text(json.dumps(said))
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads((out / "said").read_text())


@cache
def namespaces() -> bool:
    """Whether such a namespace can be had here."""
    with tempfile.TemporaryDirectory() as out:
        return "done" in apart(lambda: True, Path(out))


def _shell(script: str) -> dict[str, str]:
    """The environment that a shell has after a script."""
    command = ["/bin/sh", "-ec", f"{script}\n/usr/bin/env -0"]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    return dict(line.split("=", 1) for line in said.rstrip("\0").split("\0"))


def judged(out: Path, name: str, script: str = "true", **environment: str):
    """The judgement of that name on a machine that a script makes, and after the doctor's mend."""

    def ask():
        tempfile.tempdir = None  # it is chosen anew
        return examine(replace(probe(), **A_GPU)).judgements[name]

    def work():
        os.environ.pop("CC", None)
        os.environ |= {"USER": "somebody", "HOME": str(out), "OUT": str(out), **environment}
        _shell(script)
        before = ask()
        if before.fix.startswith(("export", "mkdir", "unset")):
            found = _shell(before.fix)
            os.environ.clear()
            os.environ.update(found)
        return before, ask()

    said = apart(work, out)
    assert "done" in said, said["error"]
    return said["done"]
