"""The grader's compiler: it evaluates what a student wrote as `tl.constexpr`.

One process has torch and Triton loaded and starts others; nothing of a student's is ever in it.
Each exercise that is graded gets one, a fresh copy with no file, kernel or word of another's, which
goes behind walls before it reads a request: where there are none, within limits all the same. What
it compiles is gone with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import traceback
from pathlib import Path

from tritonbook.seeing import worker

from . import confine, forking, visible
from .wire import Line, PeerGone

LIMITS = confine.Limits(processor_seconds=3600.0)  # many kernels; who asks bounds each request
FIRST = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1.0)


def first():
    kernel[(1,)](torch.zeros(1))
"""


def serve(door: socket.socket) -> None:
    """Give each who comes in a process, for ever."""
    _load_all()
    forking.settle()
    while True:
        end, _ = door.accept()
        if os.fork() == 0:
            try:
                _answer(Line(end))
            except BaseException:  # noqa: BLE001  (it must not go on as the one that starts others)
                traceback.print_exc()
            os._exit(0)
        end.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue


def _load_all() -> None:
    """Compile a kernel, the course's: what is loaded late is there for all requests."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        told = {"job": "compile", "source": FIRST, "entry": "first", "args": [], "options": {}}
        worker.answer({**told, "arch": 80, "path": []})


def _answer(line: Line) -> None:
    """In an exercise's own process: answer until nobody asks any more."""
    setting = line.receive().body
    room = Path(setting["room"])  # an empty folder
    said = os.open(room / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(said, stream)
    confine.close_other_files([1, 2, line.socket.fileno()])
    confine.die_with_parent()
    line.send({"process": os.getpid()})
    confine.give_way()
    inside = visible.environment()  # which keeps some of what is there now
    os.environ.clear()
    os.environ.update(inside | {"TRITONBOOK_PROGRESS": "off"})
    if setting["walls"]:
        confine.enter_namespaces(room, LIMITS)
    else:
        os.environ["TRITON_CACHE_DIR"] = str(room / "kernels")
        os.setsid()
        confine.limit_resources(LIMITS.without_walls(), gpu=False)
    tempfile.tempdir = None  # found again, under the new root
    with contextlib.suppress(PeerGone):
        while True:
            line.send(worker.answer(line.receive().body))
