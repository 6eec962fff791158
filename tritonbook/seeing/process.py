"""The notebook's side of the worker process: start it once, ask it, replace it when it dies."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]


class WorkerError(RuntimeError):
    """The worker gave no answer. The text says why: it timed out, died, or could not start."""


class Worker:
    """One child process in the mode `interpret`; requests are answered one after another."""

    def __init__(self, interpret: bool):
        self.interpret = interpret
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started it; a fork must not share its pipes
        self._log: Any = None
        self._folder: Any = None  # the worker's files; removed with it
        self._served = 0
        self._rest = b""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def start(self) -> None:
        """Start the process if there is none; returns at once, it gets ready by itself."""
        if self._owner == os.getpid() and self._process and self._process.poll() is None:
            return
        if self._owner == os.getpid():
            self.stop()
        self._rest, self._served = b"", 0
        self._folder = tempfile.TemporaryDirectory(prefix="tritonbook-", ignore_cleanup_errors=True)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed in stop)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tritonbook.seeing.worker", self._folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=self._environment(),
                cwd=tempfile.gettempdir(),
            )
        except OSError as problem:
            raise WorkerError(f"the helper process could not start: {problem}") from problem
        self._owner = os.getpid()
        atexit.register(self.stop)

    def _environment(self) -> dict[str, str]:
        paths = [str(_PACKAGE_PARENT), *(place for place in sys.path if place)]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
            "TRITON_INTERPRET": "1" if self.interpret else "0",
            "CUDA_VISIBLE_DEVICES": "",  # compiles for a GPU by name, and uses none
            "TRITONBOOK_PROGRESS": "off",
        }
        environment.setdefault("OMP_NUM_THREADS", "1")
        home = Path(os.path.expanduser("~"))
        if "TRITON_CACHE_DIR" not in environment and not _writable(home / ".triton"):
            folder = Path(tempfile.gettempdir()) / f"tritonbook-cache-{os.getuid()}"
            environment["TRITON_CACHE_DIR"] = str(folder)
        return environment

    def stop(self) -> None:
        """End the process. The next request starts another."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, self._log):
            with contextlib.suppress(OSError):  # a broken pipe may complain when it is closed
                stream.close()
        self._folder.cleanup()

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The worker's answer to one request. Raises WorkerError; the next call works again."""
        with self._lock:
            answer = self._ask(request, timeout)
            if self._served > 1 and _spoilt(answer):
                self.stop()
                answer = self._ask(request, timeout)
        if "crash" in answer:
            raise WorkerError(answer["crash"])
        return answer

    def _ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        self.start()
        self._served += 1
        number = next(self._numbers)
        line = json.dumps({"id": number, **request}).encode() + b"\n"
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            answer = json.loads(self._read_line(time.monotonic() + timeout, timeout))
        except (OSError, ValueError) as problem:
            raise WorkerError(self._died()) from problem
        except BaseException:  # an interrupt: the answer would meet the wrong question
            self.stop()
            raise
        return answer

    def _read_line(self, deadline: float, timeout: float) -> bytes:
        stream = self._process.stdout.fileno()
        with selectors.DefaultSelector() as ready:
            ready.register(stream, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerError(f"no answer within {timeout:g} s")
                piece = os.read(stream, 1 << 16)
                if not piece:
                    raise OSError("closed")
                self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _died(self) -> str:
        status = self._process.wait() if self._process else None
        self._log.seek(0)
        said = self._log.read()[-4000:].decode(errors="replace").strip().splitlines()
        self.stop()
        return f"the helper process died (exit status {status}): {said[-1] if said else 'silent'}"


def _spoilt(answer: dict[str, Any]) -> bool:
    """An operator that an earlier request registered cannot be registered again in one process."""
    text = answer.get("crash") or answer.get("error", {}).get("message", "")
    return "regist" in text.lower()


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


_workers: dict[tuple[int, bool], Worker] = {}


def worker(interpret: bool) -> Worker:
    """The process-wide worker for compiling (False) or interpreting (True)."""
    return _workers.setdefault((os.getpid(), interpret), Worker(interpret))
