"""`python -m benchmarks.cost --suite`: runs `make test` and stores what it took, if it passed."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tritonbook.command import BAD_INPUT, sentence, writable

from . import results
from .cost_machine import busy, machine

ROOT = Path(__file__).resolve().parents[1]
FILE = "cost_suite.json"
# Run first and not timed: installing is no part of the suite.
SETUP = ("make", "setup")
SUITE = ("make", "test")
# The Python that the suite runs in, asked for its versions: it need not be this one.
PYTHON = ROOT / ".venv" / "bin" / "python"
_VERSIONS = "import json; from tritonbook.device import versions; print(json.dumps(versions()))"
INTERRUPTED = 130
PATIENCE_S = 20  # for the suite to end by itself once it was interrupted
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Failed(Exception):
    """The suite did not pass, in a sentence."""


def main(out: Path | None = None) -> int:
    """Run the suite; write `out` (default: results/cost_suite.json). Returns an exit code.

    0: passed and stored. 1: the suite failed. 2: it cannot be run, or `out` cannot be written.
    130: it was interrupted. Nothing is stored but for 0; a file that is there stays as it is.
    """
    try:
        out = writable(out or results.DIRECTORY / FILE)
        data = measure()
    except (Failed, KeyboardInterrupt) as problem:
        failed = isinstance(problem, Failed)
        why = str(problem) if failed else "The suite was interrupted"
        print(f"{why}: nothing is stored.", file=sys.stderr)
        return 1 if failed else INTERRUPTED
    except (OSError, ValueError) as error:
        print(sentence(error), file=sys.stderr)
        return BAD_INPUT
    out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(
        f"{data['command']}: {data['passed']} passed, {data['skipped']} skipped in "
        f"{data['seconds']:.0f} s, {data['cpu_seconds']:.0f} s of CPU; written to {out}"
    )
    if busy(data["machine"]):
        print(
            f"NOT QUIET: the load was {data['machine']['load_before']} before the run, so the "
            "seconds are too many; run again when nothing else runs."
        )
    return 0


def measure() -> dict[str, Any]:
    """What the file holds: command, date, versions, machine, seconds, cpu_seconds, passed, skipped.

    seconds: wall clock. cpu_seconds: user and system time of the suite's processes, but for those
    that nobody waited for. Raises Failed; OSError where a command cannot be started.
    """
    before = machine()
    code, _ = _run(SETUP)
    if code:
        raise Failed(f"`{' '.join(SETUP)}` ended with exit code {code}")
    asked = subprocess.run([PYTHON, "-c", _VERSIONS], cwd=ROOT, capture_output=True, text=True)
    if asked.returncode:
        raise Failed(f"{PYTHON} cannot import tritonbook")
    cpu, start = _children_seconds(), time.perf_counter()
    code, output = _run(SUITE)
    seconds, cpu = time.perf_counter() - start, _children_seconds() - cpu
    command = " ".join(SUITE)
    if code:
        raise Failed(f"`{command}` ended with exit code {code}")
    found = counts(output)
    if not found["passed"]:
        raise Failed(f"`{command}` ended well, but says of no test that it passed")
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "versions": json.loads(asked.stdout.splitlines()[-1]),
        "machine": before,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        **found,
    }


def counts(output: str) -> dict[str, int]:
    """`passed` and `skipped` of pytest's last line (`12 passed, 3 skipped in 4.5s`), or 0."""
    lines = _COLOURS.sub("", output).splitlines()
    last = next((line for line in reversed(lines) if re.search(r"\d+ \w+.* in [\d.]+s", line)), "")
    said = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)\b", last)}
    return {"passed": said.get("passed", 0), "skipped": said.get("skipped", 0)}


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Exit code and output of a command, which is also passed through as it comes.

    The command has a process group of its own, so that none of it outlives an interruption.
    """
    parts = []
    with (
        _terminate_as_interrupt(),
        subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            while chunk := process.stdout.read1():
                parts.append(chunk)
                sys.stdout.buffer.write(chunk)
                sys.stdout.flush()
            process.wait()
        except BaseException:
            _end(process)
            raise
    return process.returncode, b"".join(parts).decode(errors="replace")


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM, as `timeout` and batch systems send it, ends the suite as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the process's group, so that tests clean up; kill what is left of it."""
    try:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
