"""Keep what GPU runs found: tests/gpu/results/<gpu>.json, with versions and the date of each test.

A run replaces the outcomes of the tests that it ran and keeps the others, unless they come from
other versions: so a part of the course can be run again alone.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from gpu_record import merged

from tritonbook.port.device import INTERPRET, versions

RESULTS = Path(__file__).parent / "results"


def pytest_terminal_summary(terminalreporter):
    ran = {
        report.nodeid.partition("::")[2]: outcome
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    }
    if INTERPRET or not ran:
        return
    found = versions()
    target = RESULTS / (re.sub(r"[^a-z0-9]+", "-", found["gpu"].lower()).strip("-") + ".json")
    old = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    record = merged(old, ran, found, time.strftime("%Y-%m-%d"))
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    counts = {outcome: list(ran.values()).count(outcome) for outcome in ("passed", "failed")}
    terminalreporter.write_line(
        f"{found['gpu']}: {counts['passed']} passed, {counts['failed']} failed in this run; "
        f"{len(record['passed'])} and {len(record['failed'])} in {target}"
    )
