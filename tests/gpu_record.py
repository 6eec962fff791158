"""The stored record of runs on a GPU: what a new run changes in it."""

from __future__ import annotations

from typing import Any


def merged(
    old: dict[str, Any], ran: dict[str, str], found: dict[str, str], date: str
) -> dict[str, Any]:
    """The stored record with the outcomes of this run: {"versions", "passed", "failed"}.

    passed, failed: date by test. A record of other versions is dropped.
    """
    record: dict[str, Any] = {"versions": found, "passed": {}, "failed": {}}
    for outcome in ("passed", "failed"):
        if old.get("versions") == found:
            kept = {test: day for test, day in old[outcome].items() if test not in ran}
            record[outcome].update(kept)
        record[outcome].update({test: date for test, got in ran.items() if got == outcome})
        record[outcome] = dict(sorted(record[outcome].items()))
    return record
