"""A process of its own, for what may crash, never end, or need another environment.

`Child("package.module:function")` calls that function there, once for each `ask`, with arguments
and a result of JSON. Questions go in by its standard input and answers out by its standard output,
behind a word that only whoever asked knows; what the function prints goes to `output`.

It is a new interpreter, which has to import what the function needs, or a copy of this one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .command import leave
from .words import later

READY = b"ready"
LOAD_SECONDS = 300.0
ASK_SECONDS = 0.2  # between two questions whether to go on


class Ended(RuntimeError):
    """A process that gave no answer, with the reason in words."""


class TooSlow(Ended):
    """It was stopped: its time was up."""


class Child:
    """One process; use it with `with`. It ends where it gave no answer, and with its parent, and
    so does all that it has started (ptxas works for minutes): they are a session of their own.

    copy: of this process, as it is now: nothing is imported anew. Threads are not copied, and CUDA
    does not work there once it was used here. walls: the start of a command line around another
    one. output: where prints and errors go, as `subprocess` takes it (a copy: a descriptor); None:
    to our standard error. environment: what differs from ours.
    """

    def __init__(
        self,
        function: str,
        *,
        copy: bool = False,
        walls: Sequence[str] = (),
        output: Any = None,
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        self._rest = b""
        self._ready = False
        if copy:
            self._process: Any = _Copy(function, output, environment)
            return
        self._process = subprocess.Popen(
            [*walls, sys.executable, "-m", __name__, function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent has no reader any more
                stream.close()

    def wait(self, seconds: float = LOAD_SECONDS) -> None:
        """Until the function is loaded: what it imports is none of a question's time."""
        with self._said(seconds):
            while not self._ready:
                self._ready = self._line(_end(seconds)) == READY

    def ask(
        self,
        *arguments: Any,
        seconds: float | None = None,
        unless: Callable[[], bool] | None = None,
    ) -> Any:
        """What the function returns. Raises Ended where it raised, or the process came to an end;
        TooSlow where it was stopped after so many seconds, or because `unless`, which is asked
        again and again, was true."""
        self.wait()
        word = secrets.token_hex(8).encode()
        line = json.dumps([word.decode(), *arguments]).encode() + b"\n"
        with self._said(seconds):
            end = _end(seconds)
            self._process.stdin.write(line)
            self._process.stdin.flush()
            while not (said := self._line(end, unless)).startswith(word):
                continue
        return json.loads(said.removeprefix(word))

    @contextlib.contextmanager
    def _said(self, seconds: float | None) -> Iterator[None]:
        """What goes wrong while something is waited for, in words; the process is ended."""
        try:
            yield
        except TimeoutError:
            self.close()
            raise TooSlow(f"stopped after {seconds:g} s" if seconds else "stopped") from None
        except OSError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self.close()  # where it closed its end, and goes on
            status = self._process.returncode
            how = later(f"exit code {status}") if status >= 0 else later(f"signal {-status}")
            raise Ended(f"its process ended with {how}") from None
        except BaseException:  # an interrupt: the answer would meet the wrong question
            self.close()
            raise

    def _kill(self) -> None:
        """The process and what it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is not None:  # its number may be another's by now
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, 0)
                    return
            os.killpg(self.pid, signal.SIGKILL)

    def _line(self, end: float | None, unless: Callable[[], bool] | None = None) -> bytes:
        stream = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            left = None if end is None else max(0.0, end - time.monotonic())
            wait = left if unless is None else min(ASK_SECONDS, left or ASK_SECONDS)
            if not select.select([stream], [], [], wait)[0]:
                if left == 0 or unless is None or unless():
                    raise TimeoutError
                continue
            piece = os.read(stream, 1 << 16)
            if not piece:
                raise OSError("closed")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line


class _Copy:
    """A copy of this process that serves a function; it looks like a `subprocess.Popen`."""

    def __init__(self, function: str, output: int | None, environment: dict[str, str]) -> None:
        (asked, asks), (answer, answers) = os.pipe(), os.pipe()
        for stream in (sys.stdout, sys.stderr):  # what is in a buffer would be written twice
            stream.flush()
        self.returncode: int | None = None
        self.pid = os.fork()
        with contextlib.suppress(OSError):  # both do it: neither waits for the other
            os.setpgid(self.pid, self.pid)
        if not self.pid:
            try:
                os.environ.update(environment)
                for old, new in ((output or 2, 2), (asked, 0), (answers, 1)):
                    os.dup2(old, new)
                for each in (asked, asks, answer, answers):
                    os.close(each)
                serve(function)
            except BaseException:  # it must not go on as the one that started it
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(asked)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(asks, "wb"), os.fdopen(answer, "rb")

    def poll(self) -> int | None:
        if self.returncode is None and (found := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(found[1])
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = _end(timeout)
        while (code := self.poll()) is None:
            if end and time.monotonic() > end:
                raise subprocess.TimeoutExpired("", timeout or 0)
            time.sleep(0.005)
        return code


def _end(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def serve(function: str) -> None:
    """The child's side: answer until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the parent
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # prints must not mix with the answers
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    gc.freeze()  # what was imported is not looked through for garbage again and again
    answers.write(READY + b"\n")
    for line in questions:
        word, *arguments = json.loads(line)
        answer = f"{word}{json.dumps(work(*arguments))}\n".encode()
        sys.stdout.flush()  # before whoever asked goes on printing
        while answer:
            answer = answer[answers.write(answer) :]


def _end_with_parent(parent: int) -> None:
    """A function that never returns must not outlive who asked."""
    while os.getppid() == parent:
        time.sleep(2)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
    leave(0)
