"""One operation in a Python of its own, so that nobody's figures depend on who ran before.

What an earlier operation leaves in a process changes the next one's times: memory in pieces,
compiled programs, a large heap. `python -m benchmarks` therefore starts
`python -m benchmarks.isolated NAME FILE REP [PROVIDER...]` for each operation, one after the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import tritonbook  # noqa: F401  (must come before Triton)

from .op import all_ops
from .runner import measured_ceilings, run_op


class Ended(Exception):
    """A process that left no results, with the reason in words."""


def run(name: str, rep: float, only: Collection[str] | None = None) -> dict[str, Any]:
    """The results of one operation, as `run_op` gives them; its progress goes to our output.

    rep: milliseconds of timing per row and turn. only: names of the providers to run.
    Raises Ended for a process that failed.
    """
    with tempfile.TemporaryDirectory(prefix="tritonbook-benchmark-") as folder:
        file = Path(folder) / "entry.json"
        command = [sys.executable, "-m", __spec__.name, name, str(file), str(rep), *(only or ())]
        sys.stdout.flush()
        done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1])
        if done.returncode or not file.exists():
            raise Ended(f"{name}: its process ended with exit code {done.returncode}")
        return json.loads(file.read_text(encoding="utf-8"))


def main(name: str, file: str, rep: str, *only: str) -> None:
    # One compiled function must not wait for a pool of compile workers started by another.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
    # This GPU's rates beside the operation's times: a warm GPU has others than a cold one.
    entry = run_op(
        all_ops()[name], peaks=measured_ceilings(), only=set(only) or None, rep=float(rep)
    )
    Path(file).write_text(json.dumps(entry | {"isolated": True}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
