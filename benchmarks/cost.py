"""`python -m benchmarks.cost [notebook...]`: what the course costs in seconds on this machine.

Measures the first passed check of notebook 01, from the start of a new Python with empty caches,
and each check of the course on its solution: first in a new process, then again. `--suite` measures
the test suite instead, and `--table` makes one table of all that is stored.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tritonbook.command import BAD_INPUT, Parser, sentence, writable
from tritonbook.course.exercises import exercises, get, load, run_check
from tritonbook.device import INTERPRET, versions

from . import cost_suite, cost_table, results
from .cost_machine import busy, machine

FIRST = "01_vector_add"
# A check that takes longer than this has hung; the slowest takes a small part of it.
LIMIT_S = 1800
_COLD = f"""
from tritonbook.course.exercises import get, load, run_check
run_check(load({FIRST!r}), next(iter(get({FIRST!r}).checks())), hidden=False)
print("passed")
"""
_WORKER = "from benchmarks.cost import worker; worker({slug!r}, {repeat})"


def cold_seconds(script: str = _COLD) -> float:
    """Seconds from starting Python until `script` has ended, with caches of its own, empty.

    Python's compiled files and the operating system's file cache stay as they are. Raises
    RuntimeError with the script's last line where it fails.
    """
    start = time.perf_counter()
    _python(script)
    return time.perf_counter() - start


def worker(slug: str, repeat: int) -> None:
    """Print the checks of one exercise as JSON: what a process of its own is started for."""
    with contextlib.redirect_stdout(io.StringIO()):
        module = load(slug)
        found = [
            {"exercise": slug, "key": key}
            | check_seconds(lambda key=key: run_check(module, key, hidden=False), repeat)
            for key in get(slug).checks()
        ]
    print(json.dumps(found))


def check_seconds(check: Callable[[], Any], repeat: int) -> dict[str, Any]:
    """Seconds of the `first` call of a check and of `again`, `repeat` more calls.

    `failed` is None, or the first line of why it did not pass; there are no seconds then.
    """
    times = []
    for _ in range(1 + repeat):
        start = time.perf_counter()
        try:
            check()
        except Exception as error:
            reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
            return {"first": None, "again": [], "failed": reason}
        times.append(time.perf_counter() - start)
    return {"first": times[0], "again": times[1:], "failed": None}


def measure(slugs: list[str], repeat: int, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Everything that the file holds: machine, versions, date, `cold` and `checks`."""
    before, cold = machine(), []
    for i in range(repeat):
        say(f"first check of {FIRST}, {i + 1} of {repeat}")
        cold.append(cold_seconds())
    checks = []
    for slug in slugs:
        say(slug)
        checks += json.loads(_python(_WORKER.format(slug=slug, repeat=repeat)).splitlines()[-1])
    return {
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "machine": before,
        "cold": cold,
        "checks": checks,
    }


def table(data: dict[str, Any]) -> str:
    """The figures as text: one line per check, with its medians; where they come from, last."""
    form = "{:<26}{:<24}{:>9}{:>9}  {}"
    lines = [form.format("notebook", "check", "first s", "again s", "spread s").rstrip()]
    for check in data["checks"]:
        name = check["exercise"], check["key"]
        if check["failed"]:
            lines.append(form.format(*name, "", "", f"failed: {check['failed']}"))
            continue
        again = check["again"]
        spread = f"{min(again):.2f} to {max(again):.2f}"
        median = f"{statistics.median(again):.2f}"
        lines.append(form.format(*name, f"{check['first']:.2f}", median, spread))
    passed = [check for check in data["checks"] if not check["failed"]]
    first = sum(check["first"] for check in passed)
    again = sum(statistics.median(check["again"]) for check in passed)
    total = f"{len(passed)} of {len(data['checks'])} passed"
    lines.append(form.format("all", total, f"{first:.2f}", f"{again:.2f}", "").rstrip())
    cold = data["cold"]
    lines.append(
        f"first passed check of {FIRST} from a new Python, empty caches: "
        f"{statistics.median(cold):.1f} s ({min(cold):.1f} to {max(cold):.1f}, {len(cold)} runs)"
    )
    place, found = data["machine"], data["versions"]
    lines.append(
        f"{found['gpu']}, {place['cpu']}, {place['cores']} cores; torch {found['torch']}, "
        f"Triton {found['triton']}, Python {found['python']}; {data['date']}"
    )
    if busy(place):
        lines.append(
            f"NOT QUIET: the load was {place['load_before']} before the run, so the seconds are "
            "too many; run again when nothing else runs."
        )
    return "\n".join(lines)


def _python(script: str) -> str:
    """What a new Python prints that runs `script` with empty caches. Raises RuntimeError."""
    with tempfile.TemporaryDirectory(prefix="tritonbook-cost-") as folder:
        names = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITONBOOK_HOME")
        own = {name: os.path.join(folder, name.lower()) for name in names}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **own},
            cwd=Path(__file__).resolve().parents[1],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RuntimeError(f"A measured process ended with exit code {done.returncode}: {last}")
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(prog="python -m benchmarks.cost", description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", help="slugs or numbers (default: the whole course)")
    parser.add_argument("--repeat", type=int, help="times each figure is taken (default: 3)")
    parser.add_argument(
        "--out",
        type=Path,
        help="file to write (default, for the whole course: results/cost_*.json)",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--suite", action="store_true", help="run `make test`, store what it took if it passed"
    )
    instead.add_argument(
        "--table", action="store_true", help="measure nothing: results/cost.md from what is stored"
    )
    options = parser.parse_args(arguments)
    if options.suite or options.table:
        if options.notebooks or options.repeat is not None:
            parser.error("--suite and --table take no notebooks and no --repeat")
        return (cost_suite if options.suite else cost_table).main(options.out)
    repeat = 3 if options.repeat is None else options.repeat
    try:
        if repeat < 1:
            raise ValueError(f"--repeat is {repeat}; give 1 or more.")
        if options.out:
            writable(options.out)
        chosen = [get(name).slug for name in options.notebooks]
    except (LookupError, ValueError) as error:
        print(sentence(error), file=sys.stderr)
        return BAD_INPUT
    data = measure(chosen or [exercise.slug for exercise in exercises()], repeat)
    print(table(data))
    out = options.out
    if out is None and not chosen:
        where = "interpreter" if INTERPRET else data["versions"]["gpu"]
        out = results.path_for(f"cost {where}")
    if out:
        out.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        print(f"written to {out}")
    return int(any(check["failed"] for check in data["checks"]))


if __name__ == "__main__":
    raise SystemExit(main())
