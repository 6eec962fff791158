"""A process of its own, for what may crash, never end, or need another environment.

`Child("package.module:function")` calls that function there, once for each `ask`, with arguments
and a result of JSON. Questions go in by its standard input and answers out by its standard output,
behind a word that only whoever asked knows; what the function prints goes to `output`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .command import leave


class Ended(RuntimeError):
    """A process that gave no answer, with the reason in words."""


class Child:
    """One process; use it with `with`. It ends where it gave no answer.

    python, walls: what is started, and the start of a command line around it. output: where prints
    and errors go, as `subprocess` takes it; None: to our standard error. environment: variables
    that differ from ours.
    """

    def __init__(
        self,
        function: str,
        *,
        python: Path | str = sys.executable,
        walls: Sequence[str] = (),
        output: int | None = None,
        folder: Path | None = None,
        **environment: str,
    ) -> None:
        self._rest = b""
        self._process = subprocess.Popen(
            [*walls, str(python), "-m", __name__, function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=folder,
            env={**os.environ, **environment},
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent has no reader any more
                stream.close()

    def ask(self, *arguments: Any, seconds: float | None = None) -> Any:
        """What the function returns. Raises Ended where it raised, or the process came to an end
        or was stopped after so many seconds."""
        word = secrets.token_hex(8).encode()
        line = json.dumps([word.decode(), *arguments]).encode() + b"\n"
        end = None if seconds is None else time.monotonic() + seconds
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            while not (said := self._line(end)).startswith(word):
                continue
        except TimeoutError:
            self.close()
            raise Ended(f"stopped after {seconds:g} s") from None
        except OSError:
            status = self._process.wait()
            how = f"exit code {status}" if status >= 0 else f"signal {-status}"
            raise Ended(f"its process ended with {how}") from None
        return json.loads(said.removeprefix(word))

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


def serve(function: str) -> None:
    """The child's side: answer until nobody can ask any more."""
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # prints must not mix with the answers
    module, _, name = function.partition(":")
    work = getattr(importlib.import_module(module), name)
    for line in questions:
        word, *arguments = json.loads(line)
        answers.write(f"{word}{json.dumps(work(*arguments))}\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
    leave(0)
