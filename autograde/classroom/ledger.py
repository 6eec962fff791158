"""Every verdict, one JSON line each, appended and never changed.

The ledger is what a run leaves behind when its driver is killed: whoever runs next reads it and
does what is not in it yet. One driver at a time holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from pydantic import ValidationError

from ..judge.work import ItemId, Known, Verdict

MAX_ATTEMPTS = 3  # of an item that the grader itself failed on


class LedgerBusy(RuntimeError):
    """Another driver is grading with this ledger."""


class Ledger:
    """The verdicts of one assignment, in a file. Use as a context manager to write."""

    def __init__(self, path: Path):
        self.path = path
        self._latest: dict[ItemId, Verdict] = {}
        self._attempts: dict[Known, int] = {}
        self._again: set[Known] = set()  # to be run once more
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                verdict = Verdict.model_validate_json(line)
            except ValidationError:
                continue  # a line that was being written when its writer was killed
            self._take(verdict)

    def _take(self, verdict: Verdict) -> None:
        before = self.latest(verdict.known)
        # Run again, and the grader failed: what was found before still holds.
        if verdict.final or before is None or not before.final:
            self._latest[verdict.item] = verdict
        if verdict.final:
            self._again.discard(verdict.known)
        self._attempts[verdict.known] = max(self.attempts(verdict.known), verdict.attempt)

    def __enter__(self) -> Ledger:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(0o600)
        self._file = self.path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise LedgerBusy(
                f"Another `autograde` writes {self.path}: wait until it has ended."
            ) from None
        if self.path.stat().st_size and not self.path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")  # end the torn line, so that the next one is whole
        return self

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):  # `append` has told of it
            self._file.close()

    def append(self, verdict: Verdict) -> None:
        """Write one verdict; it is on the disk when this returns."""
        try:
            self._file.write(verdict.model_dump_json().encode() + b"\n")
            self._file.flush()
            os.fsync(self._file)
        except OSError as problem:  # a full disk: of an open file nobody tells which
            raise OSError(problem.errno, problem.strerror, str(self.path)) from None
        self._take(verdict)

    def latest(self, known: Known) -> Verdict | None:
        """The last verdict of an item, if it is about this submission and this course."""
        verdict = self._latest.get(known[0])
        return verdict if verdict and verdict.known == known else None

    def attempts(self, known: Known) -> int:
        return self._attempts.get(known, 0)

    def reopen(self, known: Known) -> None:
        """Have an item run once more; until then, what is known of it counts."""
        self._again.add(known)
        self._attempts[known] = 0

    def open(self, known: Known) -> bool:
        """Whether an item still has to be run."""
        verdict = self.latest(known)
        if verdict is None:
            return True
        again = known in self._again
        return (again or not verdict.final) and self.attempts(known) < MAX_ATTEMPTS
