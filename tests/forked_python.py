"""Python programs in processes of their own that find torch and Triton imported.

Importing them takes 1.7 s of CPU, so one process does it once and forks for each program. A program
has its own arguments, environment, working directory, output and exit status, as after
`python PROGRAM`; it sees TRITON_INTERPRET as it was when the first one started.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SECONDS = 120.0


class ForkedPython:
    """Starts with the first program; `close` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Like `subprocess.run([python, *arguments], capture_output=True, text=True)`."""
        return self.run_all([arguments], env, cwd)[0]

    def run_all(
        self,
        programs: Sequence[Sequence[object]],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> list[subprocess.CompletedProcess[str]]:
        """Run these at the same time. A program: FILE, or -c TEXT, or -m MODULE, then arguments."""
        with TemporaryDirectory() as folder:
            asked = [
                {
                    "arguments": [str(argument) for argument in program],
                    "env": dict(os.environ if env is None else env),
                    "cwd": str(cwd or Path.cwd()),
                    "output": [f"{folder}/{number}.{name}" for name in ("out", "err")],
                }
                for number, program in enumerate(programs)
            ]
            return [
                subprocess.CompletedProcess(
                    request["arguments"], status, *(Path(p).read_text() for p in request["output"])
                )
                for request, status in zip(asked, self._ask(asked), strict=True)
            ]

    def _ask(self, asked: list[dict[str, Any]]) -> list[int]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            )
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            self.close()
            raise TimeoutError(f"no end within {SECONDS:g} s: {asked[0]['arguments']}")
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def _serve() -> dict[str, Any]:
    """Fork for each program; returns in the forks, with what they are to run."""
    import tritonbook  # noqa: F401  (torch and triton with it)

    for line in sys.stdin:
        children = []
        for request in json.loads(line):
            child = os.fork()
            if child == 0:
                return request
            children.append(child)
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        print(json.dumps(ended), flush=True)
    sys.exit()


def _become(request: dict[str, Any]) -> None:
    """Run the program here."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    outputs = [os.open(path, os.O_WRONLY | os.O_CREAT) for path in request["output"]]
    for number, descriptor in enumerate((nothing, *outputs)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    first, *rest = request["arguments"]
    if first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    code: object = 0
    try:
        _become(_serve())
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  (shown where Python shows it, in this program's output)
        traceback.print_exc()
        code = 1
    from tritonbook.command import leave

    if isinstance(code, str):
        print(code, file=sys.stderr)
    leave(code if isinstance(code, int) else int(code is not None))
