"""What you have passed: one private JSON file on this machine, never sent anywhere.

The check calls `record` after each run. A pass keeps the source of your function, so that `mine`
can hand it to a later notebook. Nothing here may ever cost you a check: where the file cannot be
written, one sentence says so and the work goes on.

TRITONBOOK_PROGRESS=off in the environment keeps no record at all (the grader runs so).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..home import home, preferred_home
from ..port.device import versions
from ..port.source_file import written
from ..words import say

FILE_NAME = "progress.json"


@dataclass(frozen=True)
class Run:
    """One run of a check: what `record` was told."""

    key: str
    state: str
    reason: str


# What was recorded in this process, oldest first; `tritonbook check` reads it after a notebook ran.
runs: list[Run] = []


@functools.cache
def _say_once(sentence: str) -> None:
    print(say(sentence), file=sys.stderr)


def path() -> Path:
    """Where the progress file is."""
    return home() / FILE_NAME


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two open notebooks do not lose each other's passes."""
    with open(folder / ".lock", "w") as lock:
        # Some network file systems refuse locks; the atomic rename still keeps the file whole.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(file: Path) -> dict[str, Any]:
    """The progress file's content; a damaged file is set aside under another name and said once."""
    empty: dict[str, Any] = {"checks": {}}
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return empty
    except (OSError, ValueError):
        data = None
    checks = data.get("checks") if isinstance(data, dict) else None
    if isinstance(checks, dict) and all(isinstance(entry, dict) for entry in checks.values()):
        return data
    aside = file.with_name(f"progress.damaged-{int(time.time())}.json")
    with contextlib.suppress(OSError):
        file.replace(aside)
        _say_once(f"The progress file could not be read; it was kept as {aside} and begun anew.")
    return empty


@contextlib.contextmanager
def _changing() -> Iterator[dict[str, Any]]:
    """The entries of the progress file by key, written back after the block."""
    folder, preferred = home(), preferred_home()
    if folder != preferred:
        _say_once(
            f"Your progress is kept in {folder}, which may be emptied, because {preferred} cannot "
            "be written; set TRITONBOOK_HOME to a folder of yours to keep it."
        )
    with _locked(folder):
        data = _read(folder / FILE_NAME)
        yield data["checks"]
        data["written"] = _now()
        written(folder, FILE_NAME, json.dumps(data, indent=1, sort_keys=True))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def entries() -> dict[str, dict[str, Any]]:
    """What is known of each check key: state, reason, passed (or None)."""
    return {} if _off() else _read(path())["checks"]


def _off() -> bool:
    return os.environ.get("TRITONBOOK_PROGRESS", "").lower() in ("off", "0", "no", "false")


def _source_text(source: Any) -> str | None:
    """`source` as text: text stays, a function is exported with all that it uses."""
    if source is None or isinstance(source, str):
        return source
    from ..export.writer import export

    return export(source).text


def record(key: str, state: str, source: Any = None, *, reason: str = "") -> None:
    """Note one run of the check `key`. Raises nothing over a file that cannot be written.

    state: the report's state ("passed", "wrong", ...). source: on a pass, the function itself or
    its self-contained text, kept for `mine`. reason: the finding's sentence, shown on the map.
    A later failure never takes a pass away.
    """
    runs.append(Run(key, state, reason))
    if _off():
        return
    kept = None
    when = _now()
    if state == "passed":
        kept = {"when": when, "name": getattr(source, "__name__", key), "source": None}
        kept["versions"] = versions()
        with contextlib.suppress(Exception):  # a pass counts even where its source has no text
            kept["source"] = _source_text(source)
        if kept["source"]:
            kept["sha256"] = hashlib.sha256(kept["source"].encode()).hexdigest()

    try:
        with _changing() as checks:
            entry = checks.setdefault(key, {})
            passed = kept or entry.get("passed")
            entry.update(state=state, reason=reason, passed=passed, tried=when)
    except OSError as problem:
        _say_once(f"Your progress could not be written ({problem}); your result stands.")


def next_hint(key: str, hints: int) -> int | None:
    """Which of the hints of a check comes next, counted from 0; None once they are all told, and
    then from the first again."""
    if _off():
        return 0
    with _changing() as checks:
        entry = checks.setdefault(key, {"passed": None})
        told = entry.get("hints", 0)
        entry["hints"] = (told + 1) % (hints + 1)
    return told if told < hints else None


def reset(key: str | None = None) -> int:
    """Forget one check, or all of them with None. Returns how many were forgotten."""
    with _changing() as checks:
        keys = [each for each in checks if key in (None, each)]
        for each in keys:
            del checks[each]
    return len(keys)
