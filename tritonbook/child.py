"""A process of its own, for what may crash, never end, or need another environment.

`Child("package.module:function")` calls that function there, once for each `ask`, with arguments
and a result of JSON. Questions go in by its standard input and answers out by its standard output,
behind a word that only whoever asked knows; what the function prints goes to `output`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .command import leave
from .words import later

READY = b"ready"
LOAD_SECONDS = 300.0


class Ended(RuntimeError):
    """A process that gave no answer, with the reason in words."""


class TooSlow(Ended):
    """It was stopped: its time was up."""


class Child:
    """One process; use it with `with`. It ends where it gave no answer, and with its parent, and
    so does all that it has started (ptxas works for minutes): they are a session of their own.

    walls: the start of a command line around it. output: where prints and errors go, as
    `subprocess` takes it; None: to our standard error. environment: what differs from ours.
    """

    def __init__(
        self,
        function: str,
        *,
        walls: Sequence[str] = (),
        output: Any = None,
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        self._rest = b""
        self._ready = False
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

    def ask(self, *arguments: Any, seconds: float | None = None) -> Any:
        """What the function returns. Raises Ended where it raised, or the process came to an end;
        TooSlow where it was stopped after so many seconds."""
        self.wait()
        word = secrets.token_hex(8).encode()
        line = json.dumps([word.decode(), *arguments]).encode() + b"\n"
        with self._said(seconds):
            end = _end(seconds)
            self._process.stdin.write(line)
            self._process.stdin.flush()
            while not (said := self._line(end)).startswith(word):
                continue
        return json.loads(said.removeprefix(word))

    @contextlib.contextmanager
    def _said(self, seconds: float | None) -> Iterator[None]:
        """What goes wrong while something is waited for, in words; the process is ended."""
        try:
            yield
        except TimeoutError:
            self.close()
            raise TooSlow(f"stopped after {seconds:g} s") from None
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

    def _line(self, end: float | None) -> bytes:
        stream = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([stream], [], [], left)[0]:
                raise TimeoutError
            piece = os.read(stream, 1 << 16)
            if not piece:
                raise OSError("closed")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _end(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def serve(function: str) -> None:
    """The child's side: answer until nobody can ask any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is meant for the parent
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # prints must not mix with the answers
    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    gc.freeze()  # what was imported is not looked through for garbage again and again
    answers.write(READY + b"\n")
    for line in questions:
        word, *arguments = json.loads(line)
        answer = f"{word}{json.dumps(work(*arguments))}\n".encode()
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
