"""Keep what a GPU run found: tests/gpu/results/<gpu>.json, with versions and date."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from tritonbook.device import INTERPRET, versions


def pytest_terminal_summary(terminalreporter):
    ran = {
        outcome: sorted(
            r.nodeid.partition("::")[2] for r in terminalreporter.stats.get(outcome, [])
        )
        for outcome in ("passed", "failed")
    }
    if INTERPRET or not (ran["passed"] or ran["failed"]):
        return
    found = versions()
    record = {"date": time.strftime("%Y-%m-%d"), "versions": found, **ran}
    name = re.sub(r"[^a-z0-9]+", "-", found["gpu"].lower()).strip("-")
    target = Path(__file__).parent / "results" / f"{name}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    terminalreporter.write_line(
        f"{found['gpu']}: {len(ran['passed'])} passed, {len(ran['failed'])} failed; {target}"
    )
